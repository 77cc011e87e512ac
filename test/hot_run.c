#include "hot_run.h"

#include "numbered.h"
#include "batch.h"
#include "bulk.h"
#include "coordinator.h"
#include "db.h"
#include "db_open.h"
#include "hot.h"
#include "lockmgr.h"
#include "locktable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define RECORDS_MAX 4
#define CLIENTS_PER_CN 6
#define MORE_MAX 6 /* records of each client's own */
#define ALL_RECORDS (RECORDS_MAX + HOT_RUN_CNS * CLIENTS_PER_CN * MORE_MAX)
#define CROWD_NS 6000000
#define REST_NS 3000000
#define LOCK_BYTES_MAX 256

const struct hot_run_plan hot_run_plans[] = {
    {.name = "one record", .records = 1, .alone_ns = 4000000, .fairness = 0.95, .busy_max = 40, .met_max = 12},
    {.name = "two, in two orders",
     .records = 2,
     .reversed = true,
     .hot = "tries=1,losses=3,lock-nodes=4", /* two locks */
     .fairness = 0.95,
     .busy_max = 60,
     .met_max = 24,
     .cooled_max = 8},
    {.name = "long transactions", .records = 1, .more_blocks = 6, .fairness = 0.95, .busy_max = 60, .met_max = 40},
    {.name = "long readers",
     .records = 1,
     .more_blocks = 6,
     .reader_cns = 1,
     .fairness = 0.95,
     .busy_max = 60,
     .met_max = 40,
     .invalid_max = 40},
    {.name = "readers",
     .records = 1,
     .reader_cns = 1,
     .fairness = 0.9,
     .busy_max = 40,
     .met_max = 24,
     .invalid_max = 40},
};
const uint32_t hot_run_count = sizeof hot_run_plans / sizeof *hot_run_plans;

struct crowd {
    const struct hot_run_plan *plan;
    struct cellar *db;
    const struct cellar_table *table;
    const struct cellar_proc *proc;
    struct hot_run_report *report;
    uint64_t length_ns;
    uint32_t cns; /* that take part */
    uint64_t done[HOT_RUN_CNS], writes;
    uint64_t sum; /* as read at the end */
};

struct work {
    const struct crowd *crowd;
    bool writes, reversed;
    uint64_t own; /* the first of the records that no other client uses */
    uint64_t sum;
};

static int body(struct cellar_txn *txn, void *arg)
{
    struct work *work = arg;
    uint32_t records = work->crowd->plan->records;
    int refs[RECORDS_MAX];
    work->sum = 0;
    for (uint32_t i = 0; i < records; i++) {
        uint64_t key = work->reversed ? records - 1 - i : i;
        refs[i] = cellar_proc_access(txn, work->crowd->table, key, 1, work->writes, 0);
        if (refs[i] < 0) return refs[i];
    }
    int rc = cellar_proc_fetch(txn);
    for (uint32_t i = 0; i < records && rc == 0; i++) {
        uint64_t value;
        rc = cellar_proc_get(txn, refs[i], 0, &value);
        work->sum += value++;
        if (rc == 0 && work->writes) rc = cellar_proc_put(txn, refs[i], 0, &value);
    }
    for (uint32_t i = 0; i < work->crowd->plan->more_blocks && rc == 0 && work->own; i++) {
        int ref = cellar_proc_access(txn, work->crowd->table, work->own + i, 1, 0, 0);
        rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    }
    return rc;
}

static int client(struct cellar_lab_client *self, void *arg)
{
    struct crowd *crowd = arg;
    uint32_t cn = cellar_lab_cn(self);
    if (cn >= crowd->cns) return 0;
    struct work work = {.crowd = crowd,
                        .own = RECORDS_MAX + cellar_lab_index(self) * MORE_MAX,
                        .writes = cn < HOT_RUN_CNS - crowd->plan->reader_cns,
                        .reversed = crowd->plan->reversed && cellar_lab_index(self) % 2};
    uint64_t until_ns = cellar_lab_now_ns(self) + crowd->length_ns;
    while (cellar_lab_now_ns(self) < until_ns) {
        struct cellar_result result;
        if (cellar_lab_exec(self, crowd->proc, &work, NULL, &result)) return result.code;
        crowd->done[cn]++;
        crowd->writes += work.writes;
    }
    return 0;
}

static int load(struct cellar_lab_client *self, void *arg)
{
    const struct crowd *crowd = arg;
    uint64_t zero = 0, own = RECORDS_MAX + cellar_lab_index(self) * MORE_MAX;
    int rc = 0;
    for (uint32_t i = 0; i < MORE_MAX && rc == 0; i++) rc = db_load(self, crowd->table, own + i, &zero, NULL);
    for (uint32_t i = 0; i < RECORDS_MAX && rc == 0 && cellar_lab_index(self) == 0; i++)
        rc = db_load(self, crowd->table, i, &zero, NULL);
    return rc;
}

/* After a rest: are the locks in the memory node free? */
static int locks_idle(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct cellar_error *error = arg;
    struct worker *worker = coordinator->worker;
    const struct catalog *catalog = worker->home.catalog;
    const struct lockmgr_config config = {
        .algorithm = "declock", .cn_count = catalog->cn_count, .workers_per_cn = 1, .clients_per_worker = HOT_KEEPERS};
    struct locktable table = locktable_of(catalog, lockmgr_lock_bytes(&config), 1);
    static uint64_t words[LOCK_BYTES_MAX / 8];
    sched_sleep(co, &worker->sched, &coordinator->task, REST_NS);
    int rc = fabric_register_local(worker->ep->fabric, words, sizeof words);
    for (uint32_t i = 0; i < locktable_count(&table) && rc == 0; i++) {
        rc = batch_read(co, worker->ep, locktable_addr(&table, i), words, (uint32_t)lockmgr_lock_bytes(&config));
        if (rc == 0) rc = lockmgr_audit(&config, words, error);
    }
    return rc;
}

static double fairness_of(const struct crowd *crowd)
{
    double sum = 0, squares = 0;
    for (uint32_t cn = 0; cn < HOT_RUN_CNS; cn++) {
        sum += (double)crowd->done[cn];
        squares += (double)crowd->done[cn] * (double)crowd->done[cn];
    }
    return squares > 0 ? sum * sum / (HOT_RUN_CNS * squares) : 0;
}

static void judge(const struct crowd *crowd, const struct cellar_error *idle, struct hot_run_report *report)
{
    const struct hot_run_plan *plan = crowd->plan;
    const struct cellar_lab_stats *stats = &report->stats;
    uint64_t busy = stats->aborts[CELLAR_ABORT_LOCK_BUSY], expected = crowd->writes * plan->records;
    uint64_t invalid = stats->aborts[CELLAR_ABORT_VALIDATION] + stats->aborts[CELLAR_ABORT_READ_LOCKED];
    char *verdict = report->verdict;
    const size_t bytes = sizeof report->verdict;
#define TEXT(number) ((unsigned long long)(number))
    if (crowd->sum != expected)
        snprintf(verdict, bytes, "updates lost: %llu, not %llu", TEXT(crowd->sum), TEXT(expected));
    else if (stats->hot[CELLAR_HOT_GIVEN_UP])
        snprintf(verdict, bytes, "%llu waits came to their bound", TEXT(stats->hot[CELLAR_HOT_GIVEN_UP]));
    else if (fairness_of(crowd) < plan->fairness)
        snprintf(verdict, bytes, "unfair: %llu, %llu, %llu", TEXT(crowd->done[0]), TEXT(crowd->done[1]),
                 TEXT(crowd->done[2]));
    else if (busy > plan->busy_max)
        snprintf(verdict, bytes, "%llu attempts met tags", TEXT(busy));
    else if (invalid > plan->invalid_max)
        snprintf(verdict, bytes, "the reads of %llu attempts did not hold", TEXT(invalid));
    else if (stats->hot[CELLAR_HOT_MET] > plan->met_max)
        snprintf(verdict, bytes, "%llu tags met under a lock", TEXT(stats->hot[CELLAR_HOT_MET]));
    else if (stats->hot[CELLAR_HOT_COOLED] > plan->cooled_max)
        snprintf(verdict, bytes, "%llu records cooled down amid a crowd", TEXT(stats->hot[CELLAR_HOT_COOLED]));
    else if (plan->alone_ns && report->after.hot[CELLAR_HOT_COOLED] != plan->records)
        snprintf(verdict, bytes, "%llu records cooled down of %u", TEXT(report->after.hot[CELLAR_HOT_COOLED]),
                 plan->records);
    else if (idle->code)
        snprintf(verdict, bytes, "a lock is not free at rest: %.200s", idle->text);
}

static void run(struct crowd *crowd, struct hot_run_report *report)
{
    struct cellar_error idle = {0};
    crowd->length_ns = CROWD_NS;
    crowd->cns = HOT_RUN_CNS;
    assert_int_equal(cellar_lab_run(crowd->db, client, crowd), 0);
    memcpy(report->done, crowd->done, sizeof report->done);
    cellar_lab_stats_read(crowd->db, &report->stats);
    cellar_lab_stats_reset(crowd->db);
    uint64_t done[HOT_RUN_CNS];
    memcpy(done, crowd->done, sizeof done);
    crowd->length_ns = crowd->plan->alone_ns;
    crowd->cns = 1;
    if (crowd->length_ns) assert_int_equal(cellar_lab_run(crowd->db, client, crowd), 0);
    memcpy(crowd->done, done, sizeof done);
    cellar_lab_stats_read(crowd->db, &report->after);
    (void)!db_run_on(crowd->db, 0, locks_idle, &idle);
    struct work all = {.crowd = crowd};
    assert_int_equal(cellar_proc_run(crowd->db, crowd->proc, &all, NULL, NULL), 0);
    crowd->sum = all.sum;
    judge(crowd, &idle, report);
}

bool hot_run(const struct hot_run_plan *plan, struct hot_run_report *report)
{
    const struct cellar_schema_column column = {.name = "value", .bytes = 8};
    struct cellar_schema schema = {
        .name = "hot", .row_bytes = 8, .columns = &column, .column_count = 1, .records_max = ALL_RECORDS};
    const struct cellar_proc_def def = {.name = "all",
                                        .fn = body,
                                        .records_max = RECORDS_MAX + MORE_MAX,
                                        .writes_max = RECORDS_MAX,
                                        .log_bytes_max = 4096};
    struct engine_config config = {.fabric = "sim",
                                   .cc = CELLAR_LAB_CC_CELLAR,
                                   .cns = HOT_RUN_CNS,
                                   .mns = 4,
                                   .coros = CLIENTS_PER_CN,
                                   .pool_bytes = 8 << 20,
                                   .hot = plan->hot ? plan->hot : "tries=1,losses=3"};
    struct cellar_error error = {0};
    struct crowd crowd = {.plan = plan, .report = report};
    memset(report, 0, sizeof *report);
    if (db_open(&config, &crowd.db, &error)) fail_msg("%s", error.text);
    if (db_table_create(crowd.db, &schema, &crowd.table, &error)) fail_msg("%s", error.text);
    if (db_proc_register(crowd.db, &def, &crowd.proc, &error)) fail_msg("%s", error.text);
    assert_int_equal(cellar_lab_run(crowd.db, load, &crowd), 0);
    run(&crowd, report);
    cellar_close(crowd.db);
    return report->verdict[0] == 0;
}
