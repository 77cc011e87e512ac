/* locks_fairness.c - how much of the goodput each came to: clients, compute nodes, tenants. */
#include "locks.h"
#include "must.h"

#include <stdlib.h>

double locks_jain(const uint64_t *numbers, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)numbers[i];
        squares += (double)numbers[i] * (double)numbers[i];
    }
    return squares > 0 ? sum * sum / (count * squares) : 1;
}

/* Its share of all rounds. */
static double first_tenant(const struct locks_run *run, const uint64_t *cns)
{
    const struct lockmgr_config *config = &run->config;
    uint32_t firsts = config->tenant_cns ? config->tenant_cns : config->cn_count / 2;
    uint64_t first = 0, all = 0;
    for (uint32_t i = 0; i < config->cn_count; i++) {
        all += cns[i];
        first += i < firsts ? cns[i] : 0;
    }
    return all ? (double)first / (double)all : 0;
}

void locks_fairness(const struct locks_run *run, struct locks_result *result)
{
    uint64_t *rounds = calloc(run->client_count, sizeof *rounds), cns[FABRIC_CNS_MAX] = {0};
    must(rounds);
    for (uint32_t i = 0; i < run->client_count; i++) {
        rounds[i] = run->clients[i].rounds;
        cns[run->clients[i].worker->cn] += rounds[i];
        result->tenant_rounds[lockmgr_tenant_of(&run->config, run->clients[i].worker->cn)] += rounds[i];
    }
    result->jain_clients = locks_jain(rounds, run->client_count);
    result->jain_cns = locks_jain(cns + run->first_cn, run->own_cns);
    result->first_tenant = first_tenant(run, cns);
    free(rounds);
}
