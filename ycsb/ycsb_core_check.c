/* ycsb_core_check.c - loading the core workloads' records, and judging what is left of them. */
#include "err.h"
#include "ycsb_core.h"

#include <inttypes.h>

#define LOAD_STEP 64 /* rows between two updates of the shared progress word */

int ycsb_core_load(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress,
                   struct cellar_error *error)
{
    uint32_t index = cellar_lab_index(self), count = cellar_lab_count(self);
    uint64_t first = run->records * index / count, end = run->records * (index + 1) / count;
    uint64_t reported = first;
    for (uint64_t number = first; number < end; number++) {
        struct ycsb_core_row row;
        uint64_t key = ycsb_core_key(number);
        for (uint32_t i = 0; i < YCSB_CORE_FIELDS; i++) ycsb_core_fill(&row.fields[i], key, i, YCSB_CORE_LOADER, 0, 0);
        int code = err_last(error, cellar_lab_load(self, run->table, key, &row));
        if (code < 0) return code;
        if (number + 1 - reported >= LOAD_STEP || number + 1 == end) {
            __atomic_fetch_add(progress, number + 1 - reported, __ATOMIC_RELAXED);
            reported = number + 1;
            cellar_lab_yield(self);
        }
    }
    return 0;
}

/* One kind of violation: how many, and the key where it was first met. */
struct finding {
    uint64_t count, key;
};

struct tally {
    uint64_t loaded; /* as configured */
    struct workload_client *const *clients;
    uint32_t client_count;
    uint64_t loaded_found, inserted_found, modified;
    struct finding torn, unknown, uncommitted;
};

static void find(struct finding *finding, uint64_t key)
{
    if (finding->count++ == 0) finding->key = key;
}

static const struct ycsb_core_client *client_of(const struct tally *tally, uint32_t index)
{
    return (const struct ycsb_core_client *)tally->clients[index];
}

static bool writer_known(const struct tally *tally, const struct ycsb_core_field *field)
{
    if (field->writer == YCSB_CORE_LOADER) return field->counter == 0 && field->modified == 0;
    if (field->writer >= tally->client_count || field->counter == 0) return false;
    const struct ycsb_core_client *client = client_of(tally, field->writer);
    return field->counter <= client->writes || client->base.lost;
}

/* Is a record of that number loaded, or inserted by a transaction that committed? */
static bool number_known(struct tally *tally, uint64_t number)
{
    if (number < tally->loaded) {
        tally->loaded_found++;
        return true;
    }
    uint64_t place = number - tally->loaded;
    const struct ycsb_core_client *client = client_of(tally, (uint32_t)(place % tally->client_count));
    tally->inserted_found++;
    return place / tally->client_count < client->committed[YCSB_CORE_INSERT] || client->base.lost;
}

static int scan_record(void *arg, uint64_t key, const void *bytes)
{
    struct tally *tally = arg;
    const struct ycsb_core_row *row = bytes;
    if (!number_known(tally, ycsb_core_number(key))) find(&tally->unknown, key);
    for (uint32_t i = 0; i < YCSB_CORE_FIELDS; i++) {
        if (!ycsb_core_intact(&row->fields[i], key, i)) {
            find(&tally->torn, key);
            continue;
        }
        tally->modified += row->fields[i].modified;
        if (!writer_known(tally, &row->fields[i])) find(&tally->uncommitted, key);
    }
    return 0;
}

static void judge_finding(struct workload_report *report, const char *name, const struct finding *finding)
{
    if (finding->count)
        workload_report_check(report, name, "not so %" PRIu64 " times; first of key %" PRIu64, finding->count,
                              finding->key);
    else
        workload_report_check(report, name, NULL);
}

/* `exact`: no client died, which may have done more than it has counted. */
static void judge_count(struct workload_report *report, const char *name, uint64_t found, uint64_t committed,
                        bool exact)
{
    if (found < committed || (found > committed && exact))
        workload_report_check(report, name, "%" PRIu64 " are there, but %" PRIu64 " were committed", found, committed);
    else
        workload_report_check(report, name, NULL);
}

static void judge_shares(const struct workload_run *run, const uint64_t committed[YCSB_CORE_TYPES],
                         struct workload_report *report)
{
    static const char *const names[YCSB_CORE_TYPES] = {"share of Read", "share of Update", "share of Insert",
                                                       "share of Scan", "share of Read-modify-write"};
    uint64_t all = 0;
    for (uint32_t t = 0; t < YCSB_CORE_TYPES; t++) all += committed[t];
    for (uint32_t t = 0; all && t < YCSB_CORE_TYPES; t++) {
        double share = ycsb_core_share(run, (enum ycsb_core_type)t);
        if (share > 0) workload_report_rate(report, names[t], (double)committed[t] / (double)all, share, share);
    }
}

int ycsb_core_check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                    uint32_t client_count, struct workload_report *report, struct cellar_error *error)
{
    struct tally tally = {.loaded = run->records, .clients = clients, .client_count = client_count};
    uint64_t committed[YCSB_CORE_TYPES] = {0}, foreign = 0;
    bool exact = true;
    int code = err_last(error, cellar_lab_scan(self, run->table, scan_record, &tally));
    if (code < 0) return code;
    for (uint32_t i = 0; i < client_count; i++) {
        const struct ycsb_core_client *client = client_of(&tally, i);
        for (uint32_t t = 0; t < YCSB_CORE_TYPES; t++) committed[t] += client->committed[t];
        foreign += client->foreign;
        exact = exact && !client->base.lost;
    }
    judge_count(report, "records loaded", tally.loaded_found, run->records, true);
    judge_count(report, "records inserted", tally.inserted_found, committed[YCSB_CORE_INSERT], exact);
    judge_finding(report, "records are of committed inserts", &tally.unknown);
    judge_finding(report, "fields are whole and in place", &tally.torn);
    judge_finding(report, "fields are of committed transactions", &tally.uncommitted);
    judge_count(report, "no update lost", tally.modified, committed[YCSB_CORE_MODIFY], exact);
    if (foreign)
        workload_report_check(report, "reads and scans saw their own", "%" PRIu64 " fields were of other records",
                              foreign);
    else
        workload_report_check(report, "reads and scans saw their own", NULL);
    judge_shares(run, committed, report);
    return 0;
}
