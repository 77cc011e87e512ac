/* sim_plan_numbers.c - a plan's transactions by number, and the numbers of what it leaves out. */
#include "sim_plan.h"

#include "err.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers of transactions ---- */

uint32_t sim_plan_clients(const struct sim_plan *plan) { return plan->cns * plan->threads * plan->coros; }

uint32_t sim_plan_heal_txns(const struct sim_plan *plan) { return plan->heal ? (plan->txns + 3) / 4 : 0; }

uint32_t sim_plan_txn(const struct sim_plan *plan, uint32_t client, uint32_t index)
{
    if (index < plan->txns) return client * plan->txns + index;
    return sim_plan_clients(plan) * plan->txns + client * sim_plan_heal_txns(plan) + index - plan->txns;
}

/* Every other one of a worker. */
bool sim_plan_lends(const struct sim_plan *plan, uint32_t client)
{
    return plan->holds && client % plan->coros % 2 == 1;
}

bool sim_plan_dropped(const struct sim_plan *plan, uint32_t txn)
{
    uint32_t low = 0, high = plan->dropped_txn_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->dropped_txns[middle] < txn)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->dropped_txn_count && plan->dropped_txns[low] == txn;
}

/* ---- lists of numbers: "0-5,9" ---- */

/* Calls add(plan, kind, number) for each; false at the first thing that is no such list. *text moves after it. */
static bool numbers_parse(struct sim_plan *plan, uint32_t kind, const char **text,
                          bool (*add)(struct sim_plan *plan, uint32_t kind, uint32_t number))
{
    char *end;
    unsigned long first = strtoul(*text, &end, 10), last = first;
    if (**text < '0' || **text > '9' || first > UINT32_MAX - 1) return false;
    if (*end == '-') {
        const char *second = end + 1;
        last = strtoul(second, &end, 10);
        if (*second < '0' || *second > '9' || last < first || last > UINT32_MAX - 1) return false;
    }
    for (unsigned long number = first; number <= last; number++)
        if (!add(plan, kind, (uint32_t)number)) return false;
    *text = end;
    return true;
}

static bool txn_add(struct sim_plan *plan, uint32_t kind, uint32_t number)
{
    uint32_t count = plan->dropped_txn_count;
    (void)kind;
    if (count == SIM_DROPS_MAX || (count > 0 && plan->dropped_txns[count - 1] >= number)) return false;
    plan->dropped_txns[plan->dropped_txn_count++] = number;
    return true;
}

static bool fault_add(struct sim_plan *plan, uint32_t kind, uint32_t number)
{
    if (plan->dropped_fault_count == SIM_DROPS_MAX) return false;
    plan->dropped_faults[plan->dropped_fault_count++] =
        (struct fabric_sim_fault_id){.kind = (uint8_t)kind, .number = number};
    return true;
}

int sim_plan_drop_txns(struct sim_plan *plan, const char *text, struct cellar_error *error)
{
    const char *at = text;
    plan->dropped_txn_count = 0;
    while (numbers_parse(plan, 0, &at, txn_add)) {
        if (*at == 0) return 0;
        if (*at++ != ',') break;
    }
    return err_set(error, CELLAR_INVALID, "--drop-txns needs at most %d ascending numbers such as 0-5,9, not '%.60s'",
                   SIM_DROPS_MAX, text);
}

/* The kind whose name stands at *text before a colon, a comma or the end; KINDS when there is none. */
static uint32_t kind_parse(const char **text)
{
    size_t bytes = strcspn(*text, ":,");
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        const char *name = fabric_sim_fault_name((enum fabric_sim_fault_kind)kind);
        if (strlen(name) != bytes || memcmp(name, *text, bytes) != 0) continue;
        *text += bytes;
        return kind;
    }
    return FABRIC_SIM_FAULT_KINDS;
}

/* What follows a kind: ":3-5", or nothing, which means all of them. */
static bool fault_numbers_parse(struct sim_plan *plan, uint32_t kind, const char **text)
{
    if (**text != ':') return fault_add(plan, kind, FABRIC_SIM_FAULT_ALL);
    ++*text;
    return numbers_parse(plan, kind, text, fault_add);
}

int sim_plan_drop_faults(struct sim_plan *plan, const char *text, struct cellar_error *error)
{
    const char *at = text;
    plan->dropped_fault_count = 0;
    for (;;) {
        uint32_t kind = kind_parse(&at);
        if (kind == FABRIC_SIM_FAULT_KINDS || !fault_numbers_parse(plan, kind, &at)) break;
        if (*at == 0) return 0;
        if (*at++ != ',') break;
    }
    return err_set(error, CELLAR_INVALID,
                   "--drop-faults needs names and numbers such as cn_crash:0,delay:3-5,reorder, not '%.60s'", text);
}
