/* indexload_check.c - what is left, against what the clients have counted. */
#include "err.h"
#include "indexload.h"

#include <inttypes.h>

struct tally {
    uint64_t records, updates, foreign, foreign_key;
};

static int scan_record(void *arg, uint64_t key, const void *row)
{
    struct tally *tally = arg;
    const uint64_t value = *(const uint64_t *)row;
    tally->records++;
    tally->updates += value & INDEXLOAD_UPDATES_MASK;
    if ((value & ~INDEXLOAD_UPDATES_MASK) == indexload_value(key)) return 0;
    if (!tally->foreign++) tally->foreign_key = key;
    return 0;
}

/* `exact`: no client died, which may have done more than it has counted. */
static void judge_count(struct workload_report *report, const char *name, uint64_t found, uint64_t wanted, bool exact)
{
    if (found != wanted && exact)
        workload_report_check(report, name, "%" PRIu64 " are there, not %" PRIu64, found, wanted);
    else
        workload_report_check(report, name, NULL);
}

static void judge_shares(const struct workload_run *run, const struct indexload_client *all,
                         struct workload_report *report)
{
    static const char *const names[INDEXLOAD_TYPES] = {"share of Lookup", "share of Insert", "share of Update",
                                                       "share of Delete", "share of Scan"};
    uint64_t sum = 0;
    for (uint32_t t = 0; t < INDEXLOAD_TYPES; t++) sum += all->committed[t];
    for (uint32_t t = 0; sum && t < INDEXLOAD_TYPES; t++) {
        double share = run->percent[t] / 100.0;
        if (run->percent[t])
            workload_report_rate(report, names[t], (double)all->committed[t] / (double)sum, share, share);
    }
    if (all->committed[INDEXLOAD_LOOKUP])
        workload_report_rate(report, "lookups that found their record",
                             (double)all->found[INDEXLOAD_LOOKUP] / (double)all->committed[INDEXLOAD_LOOKUP], 0, 1);
}

int indexload_check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                    uint32_t client_count, struct workload_report *report, struct cellar_error *error)
{
    struct tally tally = {0};
    struct indexload_client all = {.base = {.lost = 0}};
    int code = err_last(error, cellar_lab_scan(self, run->table, scan_record, &tally));
    if (code < 0) return code;
    for (uint32_t i = 0; i < client_count; i++) {
        const struct indexload_client *client = (const struct indexload_client *)clients[i];
        for (uint32_t t = 0; t < INDEXLOAD_TYPES; t++) {
            all.committed[t] += client->committed[t];
            all.found[t] += client->found[t];
        }
        all.foreign += client->foreign;
        all.dropped += client->dropped;
        all.base.lost += client->base.lost;
    }
    const bool exact = !all.base.lost;
    judge_count(report, "records loaded and inserted, not deleted", tally.records,
                run->records + all.found[INDEXLOAD_INSERT] - all.found[INDEXLOAD_DELETE], exact);
    judge_count(report, "no update lost", tally.updates + all.dropped, all.found[INDEXLOAD_UPDATE], exact);
    if (tally.foreign)
        workload_report_check(report, "values are of their keys", "not so %" PRIu64 " times; first of key %" PRIu64,
                              tally.foreign, tally.foreign_key);
    else
        workload_report_check(report, "values are of their keys", NULL);
    if (all.foreign)
        workload_report_check(report, "lookups and scans saw their own, in order", "not so %" PRIu64 " times",
                              all.foreign);
    else
        workload_report_check(report, "lookups and scans saw their own, in order", NULL);
    judge_shares(run, &all, report);
    return 0;
}
