/* ycsb_check.c - loading the records, and judging what is left of them. */
#include "err.h"
#include "ycsb.h"

#include <inttypes.h>

#define LOAD_STEP 256 /* rows between two updates of the shared progress word */

uint64_t ycsb_checksum(const struct ycsb_value *value)
{
    const uint64_t words[4] = {value->key, (uint64_t)value->cell << 32 | value->writer, value->counter, value->writes};
    uint64_t sum = 0x8a5cd789635d2dffull;
    for (int i = 0; i < 4; i++) {
        sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ull;
        sum ^= sum >> 32;
    }
    return sum;
}

int ycsb_load(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress, struct cellar_error *error)
{
    uint32_t index = cellar_lab_index(self), count = cellar_lab_count(self);
    uint64_t first = run->records * index / count, end = run->records * (index + 1) / count;
    uint64_t reported = first;
    for (uint64_t key = first; key < end; key++) {
        struct ycsb_row row;
        for (uint32_t i = 0; i < YCSB_CELLS; i++) {
            row.cells[i] = (struct ycsb_value){.key = key, .cell = i, .writer = YCSB_LOADER};
            row.cells[i].checksum = ycsb_checksum(&row.cells[i]);
        }
        int code = err_last(error, cellar_lab_load(self, run->table, key, &row));
        if (code < 0) return code;
        if (key + 1 - reported >= LOAD_STEP || key + 1 == end) {
            __atomic_fetch_add(progress, key + 1 - reported, __ATOMIC_RELAXED);
            reported = key + 1;
            cellar_lab_yield(self);
        }
    }
    return 0;
}

/* One kind of violation: how many, and the cell where it was first met. */
struct finding {
    uint64_t count, key;
    uint32_t cell;
};

struct tally {
    uint64_t record_count;
    struct workload_client *const *clients;
    uint32_t client_count;
    uint64_t records, writes;
    struct finding checksum, place, writer;
};

static void find(struct finding *finding, uint64_t key, uint32_t cell)
{
    if (finding->count++) return;
    finding->key = key;
    finding->cell = cell;
}

static bool writer_known(const struct tally *tally, const struct ycsb_value *value)
{
    if (value->writer == YCSB_LOADER) return value->counter == 0 && value->writes == 0;
    if (value->writer >= tally->client_count || value->counter == 0) return false;
    const struct ycsb_client *client = (const struct ycsb_client *)tally->clients[value->writer];
    return value->counter <= client->committed[YCSB_UPDATE] || client->base.lost;
}

static int scan_record(void *arg, uint64_t key, const void *row)
{
    struct tally *tally = arg;
    tally->records++;
    for (uint32_t i = 0; i < YCSB_CELLS; i++) {
        const struct ycsb_value *value = &((const struct ycsb_row *)row)->cells[i];
        if (value->checksum != ycsb_checksum(value)) {
            find(&tally->checksum, key, i);
            continue;
        }
        tally->writes += value->writes;
        if (value->key != key || value->cell != i || key >= tally->record_count) find(&tally->place, key, i);
        if (!writer_known(tally, value)) find(&tally->writer, key, i);
    }
    return 0;
}

static void judge_finding(struct workload_report *report, const char *name, const struct finding *finding)
{
    if (finding->count)
        workload_report_check(report, name, "not so in %" PRIu64 " cells; the first is cell %u of key %" PRIu64,
                              finding->count, finding->cell, finding->key);
    else
        workload_report_check(report, name, NULL);
}

int ycsb_check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
               uint32_t client_count, struct workload_report *report, struct cellar_error *error)
{
    struct tally tally = {.record_count = run->records, .clients = clients, .client_count = client_count};
    int code = err_last(error, cellar_lab_scan(self, run->table, scan_record, &tally));
    if (code < 0) return code;

    uint64_t committed[YCSB_TYPES] = {0}, foreign = 0;
    bool any_lost = false; /* clients that died may have done more than they counted */
    for (uint32_t i = 0; i < client_count; i++) {
        const struct ycsb_client *client = (const struct ycsb_client *)clients[i];
        for (uint32_t t = 0; t < YCSB_TYPES; t++) committed[t] += client->committed[t];
        foreign += client->foreign;
        any_lost = any_lost || clients[i]->lost;
    }
    if (tally.records != run->records)
        workload_report_check(report, "records", "%" PRIu64 " of %" PRIu64, tally.records, run->records);
    else
        workload_report_check(report, "records", NULL);
    judge_finding(report, "values match their checksums", &tally.checksum);
    judge_finding(report, "values lie in their own cells", &tally.place);
    judge_finding(report, "values are of committed transactions", &tally.writer);
    uint64_t written = committed[YCSB_UPDATE] * run->per_txn;
    if (tally.writes < written || (tally.writes > written && !any_lost))
        workload_report_check(report, "no update lost",
                              "cells count %" PRIu64 " writes, but %" PRIu64 " were committed", tally.writes, written);
    else
        workload_report_check(report, "no update lost", NULL);
    if (foreign)
        workload_report_check(report, "reads saw their own cells",
                              "%" PRIu64 " values read in transactions were foreign", foreign);
    else
        workload_report_check(report, "reads saw their own cells", NULL);

    uint64_t all = committed[YCSB_READ] + committed[YCSB_UPDATE];
    double ratio = run->update_always ? 1 : (double)run->update_below * 0x1p-64;
    if (all)
        workload_report_rate(report, "share of Update", (double)committed[YCSB_UPDATE] / (double)all, ratio, ratio);
    return 0;
}
