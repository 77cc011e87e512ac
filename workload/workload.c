#include "workload.h"

#include "must.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void workload_client_begin(struct workload_client *client, uint64_t seed, uint32_t index, uint32_t count)
{
    prng_seed_stream(&client->prng, seed, index);
    client->index = index;
    client->count = count;
}

const struct workload *workload_find(const char *name)
{
    for (uint32_t i = 0; workload_table[i]; i++)
        if (!strcmp(name, workload_table[i]->name)) return workload_table[i];
    return NULL;
}

void workload_defaults(const struct workload *workload, uint64_t seed, union workload_room *room)
{
    must(workload->config_bytes <= sizeof *room);
    memset(room, 0, sizeof *room);
    workload->defaults(&room->config);
    room->config.seed = seed;
}

void workload_report_check(struct workload_report *report, const char *name, const char *violation, ...)
{
    must(report->check_count < WORKLOAD_CHECKS_MAX);
    uint32_t i = report->check_count++;
    snprintf(report->checks[i].name, sizeof(report->checks[i].name), "%s", name);
    report->checks[i].ok = !violation;
    if (!violation) {
        snprintf(report->checks[i].text, sizeof(report->checks[i].text), "ok");
        return;
    }
    va_list arguments;
    va_start(arguments, violation);
    vsnprintf(report->checks[i].text, sizeof(report->checks[i].text), violation, arguments);
    va_end(arguments);
}

void workload_report_rate(struct workload_report *report, const char *name, double value, double low, double high)
{
    must(report->rate_count < WORKLOAD_RATES_MAX);
    uint32_t i = report->rate_count++;
    snprintf(report->rates[i].name, sizeof(report->rates[i].name), "%s", name);
    report->rates[i].value = value;
    report->rates[i].low = low;
    report->rates[i].high = high;
}
