/*
 * api.h - what the tests of cellar.h share: a database on one fabric in one mode, a table of four cells, one
 * procedure that runs whatever it is handed, and remote bytes to look at and to damage.
 *
 * A body runs on a coordinator's stack, perhaps of another thread: it must not use cmocka's assertions, which jump.
 * It notes what it met in its arguments, and the test asserts after the call.
 */
#pragma once

#include "batch.h"
#include "schemadef.h"
#include "bulk.h"
#include "cellar.h"
#include "coordinator.h"
#include "db.h"
#include "db_open.h"
#include "engine_config.h"
#include "index.h"
#include "mode.h"
#include "record.h"
#include "rivals.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct api_variant {
    const char *name, *fabric;
    enum cellar_lab_cc cc;
    bool threads; /* workers run at once, in real time */
};

static const struct api_variant api_variants[] = {
    {"shm_record", "shm", CELLAR_LAB_CC_RECORD, true}, {"sim_record", "sim", CELLAR_LAB_CC_RECORD, false},
    {"shm_cell", "shm", CELLAR_LAB_CC_CELL, true},     {"sim_cell", "sim", CELLAR_LAB_CC_CELL, false},
    {"shm_crest", "shm", CELLAR_LAB_CC_CREST, true},   {"sim_crest", "sim", CELLAR_LAB_CC_CREST, false},
    {"shm_cellar", "shm", CELLAR_LAB_CC_CELLAR, true}, {"sim_cellar", "sim", CELLAR_LAB_CC_CELLAR, false},
    {"shm_motor", "shm", CELLAR_LAB_CC_MOTOR, true},   {"sim_motor", "sim", CELLAR_LAB_CC_MOTOR, false},
    {"shm_2pl", "shm", CELLAR_LAB_CC_TWOPL, true},     {"sim_2pl", "sim", CELLAR_LAB_CC_TWOPL, false},
#ifndef API_REDO_LOGS /* tests of redo entries: mode ford logs what was there */
    {"shm_ford", "shm", CELLAR_LAB_CC_FORD, true},     {"sim_ford", "sim", CELLAR_LAB_CC_FORD, false},
#endif
};
#define API_VARIANTS (sizeof api_variants / sizeof *api_variants)

struct item {
    uint64_t a, b;
    char text[150]; /* a cell of several lines */
    uint32_t n;
};

static const struct cellar_schema_column item_columns[] = {
    CELLAR_COLUMN(struct item, a),
    CELLAR_COLUMN(struct item, b),
    CELLAR_COLUMN(struct item, text),
    CELLAR_COLUMN(struct item, n),
};
enum { ITEM_A, ITEM_B, ITEM_TEXT, ITEM_N, ITEM_COLUMNS }; /* columns; the cells have the same numbers */
#define CELL_A 1u
#define CELL_B 2u
#define CELL_TEXT 4u
#define CELL_N 8u

struct api {
    const struct api_variant *variant;
    struct engine_config config;
    struct cellar *db;
    const struct cellar_table *items;
    const struct cellar_proc *any; /* runs a struct api_call */
    struct cellar_result result;   /* of the last call */
    struct cellar_error error;
    uint8_t local[1024] __attribute__((aligned(64))); /* for looking at remote bytes */
};

/* ---- errors ---- */

static inline void api_fail(const struct cellar_error *error, const char *what, int rc)
{
    fail_msg("%s: %d (%s): %s", what, rc, cellar_strerror(rc), error->text);
}

#define MUST(error, call)                                                                                              \
    do {                                                                                                               \
        int must_rc = (call);                                                                                          \
        if (must_rc != 0) api_fail(error, #call, must_rc);                                                             \
    } while (0)

/* The call fails with that code, and says so in a text that holds the word. */
#define FAILS(error, call, wanted, word)                                                                               \
    do {                                                                                                               \
        *(error) = (struct cellar_error){0};                                                                           \
        int fails_rc = (call);                                                                                         \
        if (fails_rc != (wanted) || (error)->code != (wanted) || !strstr((error)->text, word))                         \
            fail_msg("%s: %d (%d, \"%s\"), not %d with \"%s\"", #call, fails_rc, (error)->code, (error)->text,         \
                     (wanted), word);                                                                                  \
    } while (0)

#define assert_code(got, wanted)                                                                                       \
    do {                                                                                                               \
        int code_rc = (got);                                                                                           \
        if (code_rc != (wanted))                                                                                       \
            fail_msg("%s:%d: %s: %d (%s), not %d (%s)", __FILE__, __LINE__, #got, code_rc, cellar_strerror(code_rc),   \
                     (wanted), cellar_strerror(wanted));                                                               \
    } while (0)

/* For procedures: ends one with what went wrong. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_rc = (call);                                                                                           \
        if (try_rc < 0) return try_rc;                                                                                 \
    } while (0)

/* ---- calls ---- */

struct api_call;
typedef int (*api_body)(struct cellar_txn *txn, struct api_call *call);

/* Arguments of the procedure `any`; tests put it first in what else they need. */
struct api_call {
    api_body body;
    const struct cellar_table *items;
    uint32_t runs; /* attempts so far */
};

static int api_any(struct cellar_txn *txn, void *args)
{
    struct api_call *call = args;
    call->runs++;
    return call->body(txn, call);
}

static inline int api_run_with(struct api *api, api_body body, void *args, const struct cellar_call_options *options)
{
    struct api_call *call = args;
    *call = (struct api_call){.body = body, .items = api->items};
    return cellar_proc_run(api->db, api->any, args, options, &api->result);
}

/* One call; `args` begins with a struct api_call, which is set here. */
static inline int api_run(struct api *api, api_body body, void *args) { return api_run_with(api, body, args, NULL); }

/*
 * Of a call that was to try until its deadline: a loaded machine stops a thread for as long, so that it tried once.
 * Then it takes a longer one.
 */
static inline bool api_longer(const struct api *api, uint32_t attempts, uint64_t timeout_ns)
{
    return api->variant->threads && attempts == 1 && timeout_ns < 4000000000;
}

/* ---- opening ---- */

static inline const struct cellar_table *api_table(struct api *api, const char *name, uint64_t records_max)
{
    const struct cellar_table *table;
    struct cellar_schema schema = {.name = name,
                                   .row_bytes = sizeof(struct item),
                                   .columns = item_columns,
                                   .column_count = ITEM_COLUMNS,
                                   .records_max = records_max};
    MUST(&api->error, db_table_create(api->db, &schema, &table, &api->error));
    return table;
}

/* A database of that variant, without a table. */
static inline void api_open_bare(struct api *api, const struct api_variant *variant, struct engine_config config)
{
    *api = (struct api){.variant = variant, .config = config};
    api->config.fabric = variant->fabric;
    api->config.cc = variant->cc;
    if (!config.pool_bytes) api->config.pool_bytes = 16u << 20;
    MUST(&api->error, db_open(&api->config, &api->db, &api->error));
    MUST(&api->error, fabric_register_local(db_fabric(api->db), api->local, sizeof api->local));
}

static inline void api_procs(struct api *api)
{
    struct cellar_proc_def def = {
        .name = "any", .fn = api_any, .records_max = 64, .writes_max = 64, .log_bytes_max = 32 << 10};
    MUST(&api->error, db_proc_register(api->db, &def, &api->any, &api->error));
}

/* With the table `items` and the procedure `any`. */
static inline void api_open_with(struct api *api, const struct api_variant *variant, struct engine_config config)
{
    api_open_bare(api, variant, config);
    api->items = api_table(api, "items", 4000);
    api_procs(api);
}

static inline void api_open(struct api *api, const struct api_variant *variant)
{
    api_open_with(api, variant, (struct engine_config){0});
}

static inline void api_close(struct api *api)
{
    assert_code(cellar_close(api->db), 0);
    api->db = NULL;
}

/* ---- one client alone ---- */

typedef int (*api_job)(struct cellar_lab_client *client, void *arg, struct cellar_error *error);

struct api_alone {
    api_job job;
    void *arg;
    struct cellar_error *error;
};

static int api_alone_client(struct cellar_lab_client *client, void *arg)
{
    struct api_alone *alone = arg;
    return cellar_lab_index(client) == 0 ? alone->job(client, alone->arg, alone->error) : 0;
}

static inline int api_alone(struct api *api, api_job job, void *arg)
{
    struct api_alone alone = {job, arg, &api->error};
    api->error = (struct cellar_error){0};
    return cellar_lab_run(api->db, api_alone_client, &alone);
}

/* A row that tells its key in all columns. */
static inline struct item item_of(uint64_t key)
{
    struct item item;
    memset(&item, 0, sizeof item);
    item.a = key * 3;
    item.b = key + 7;
    memset(item.text, (int)(key % 251), sizeof item.text);
    item.n = (uint32_t)key;
    return item;
}

struct api_range {
    const struct cellar_table *table;
    uint64_t first, count, sum_a, seen;
};

static int api_load_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct api_range *range = arg;
    int rc = 0;
    for (; rc == 0 && range->seen < range->count; range->seen += rc == 0) {
        struct item item = item_of(range->first + range->seen);
        rc = db_load(client, range->table, range->first + range->seen, &item, error);
    }
    return rc;
}

static inline void api_load(struct api *api, uint64_t first, uint64_t count)
{
    struct api_range range = {api->items, first, count, 0, 0};
    MUST(&api->error, api_alone(api, api_load_job, &range));
}

static int api_sum(void *arg, uint64_t key, const void *row)
{
    struct api_range *range = arg;
    (void)key;
    range->seen++;
    range->sum_a += ((const struct item *)row)->a;
    return 0;
}

static int api_scan_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct api_range *range = arg;
    return db_scan(client, range->table, api_sum, range, error);
}

/* How many items there are, and the sum of their column a. */
static inline struct api_range api_totals(struct api *api)
{
    struct api_range range = {.table = api->items};
    MUST(&api->error, api_alone(api, api_scan_job, &range));
    return range;
}

static int api_audit_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    (void)arg;
    return db_audit(client, error);
}

static inline int api_audit(struct api *api) { return api_alone(api, api_audit_job, NULL); }
static inline void api_audit_clean(struct api *api) { MUST(&api->error, api_audit(api)); }

/* ---- remote bytes ---- */

struct api_op {
    struct api *api;
    struct fabric_op op;
};

static int api_op_job(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct api_op *job = arg;
    struct fabric_ep *ep = coordinator->worker->ep;
    bool before = batch_bulk_enter(ep);
    int rc = batch_run(co, ep, &job->op, 1);
    batch_bulk_leave(ep, before);
    return rc;
}

static inline void api_op(struct api *api, struct fabric_op op)
{
    struct api_op job = {api, op};
    assert_code(db_run_on(api->db, 0, api_op_job, &job), 0);
}

static inline void api_peek(struct api *api, struct fabric_addr addr, void *bytes, uint32_t size)
{
    assert_true(size <= sizeof api->local);
    api_op(api, fabric_op_read(addr, api->local, size));
    memcpy(bytes, api->local, size);
}

static inline void api_poke(struct api *api, struct fabric_addr addr, const void *bytes, uint32_t size)
{
    assert_true(size <= sizeof api->local);
    memcpy(api->local, bytes, size);
    api_op(api, fabric_op_write(addr, api->local, size));
}

/* A word that only atomics touch: sets the bits of `mask` to those of `word`. */
static inline void api_poke_word(struct api *api, struct fabric_addr addr, uint64_t word, uint64_t mask)
{
    api_op(api, fabric_op_masked_cas(addr, (uint64_t *)(void *)api->local, 0, 0, word, mask));
}

/* Where the record of that key is, and which bucket leads to it; its key is in a head bucket. */
static inline struct fabric_addr api_find(struct api *api, uint64_t key, struct fabric_addr *head)
{
    struct bucket_wire bucket;
    uint32_t at = 0;
    uint64_t offset = 0;

    *head = index_bucket_addr(&api->items->table->index, key);
    api_peek(api, *head, &bucket, sizeof bucket);
    while (index_find(&bucket, index_fingerprint(key), &at, &offset)) {
        struct record_wire header;
        struct fabric_addr addr = fabric_addr_of(fabric_addr_node(*head), offset);
        api_peek(api, addr, &header, sizeof header);
        if (header.key == key && header.table_id == api->items->table->id) return addr;
    }
    fail_msg("key %llu is in no head bucket", (unsigned long long)key);
    return (struct fabric_addr){0};
}

static inline struct record_wire api_header(struct api *api, uint64_t key)
{
    struct fabric_addr head;
    struct record_wire header;
    api_peek(api, api_find(api, key, &head), &header, sizeof header);
    return header;
}

/* The tags of all cells of a record, as compute node 6 would set them: none here owns those. */
static inline uint64_t api_foreign_tags(const struct cellar_table *table)
{
    return lockword_tags(table->table->schema.all_ones, 6);
}
static inline uint64_t api_tag_mask(const struct cellar_table *table)
{
    return lockword_mask(table->table->schema.tag_bits, table->table->schema.all_ones);
}

/* ---- the program around a list of tests ---- */

struct api_entry {
    const char *name;
    CMUnitTestFunction fn;
    bool shm_only; /* files, foreign threads: real time */
    bool once;     /* the variants make no difference */
    bool exact;    /* of exact versions: epoch numbers, and TS that are one above the last */
    bool shared;   /* of records that transactions of a compute node share */
};
#define API_TEST_OF(test, ...)                                                                                         \
    {                                                                                                                  \
        .name = #test, .fn = test, __VA_ARGS__                                                                         \
    }
#define API_TEST(test) API_TEST_OF(test, )
#define API_TEST_SHM(test) API_TEST_OF(test, .shm_only = true)
#define API_TEST_ONCE(test) API_TEST_OF(test, .shm_only = true, .once = true)
#define API_TEST_EXACT(test) API_TEST_OF(test, .exact = true)
#define API_TEST_SHARED(test) API_TEST_OF(test, .shared = true)
#define API_TESTS_MAX 32

/* A small share has each mode once: with threads those that have most of a kind to themselves. */
static inline bool api_left_out(const struct api_variant *variant)
{
    bool threads = variant->cc == CELLAR_LAB_CC_RECORD || variant->cc == CELLAR_LAB_CC_CREST ||
                   variant->cc == CELLAR_LAB_CC_CELLAR || variant->cc == CELLAR_LAB_CC_TWOPL;
    return share_least() && variant->threads != threads;
}

/*
 * Is that test one of that variant? Of exact versions not where records are shared, whose histories have no epoch
 * numbers, nor where a TS names its worker (ford) or comes from a clock (motor).
 */
static inline bool api_applies(const struct api_entry *test, const struct api_variant *variant)
{
    const struct mode *mode = mode_of(variant->cc);
    if (!mode) return false; /* of the laboratory, which is not linked */
    if ((test->shm_only || share_threads_only()) && !variant->threads) return false;
    if (test->once && variant != &api_variants[0]) return false;
    if (api_left_out(variant)) return false;
    if (test->exact && (mode->shares || mode->undo || mode->versions)) return false;
    return !test->shared || mode->shares;
}

/* Runs each test on each variant, as "variant/test". Optional argument: a pattern of such names. */
static inline int api_main(const char *group, const struct api_entry *tests, size_t count, int argc, char **argv)
{
    static struct CMUnitTest suite[API_TESTS_MAX * API_VARIANTS];
    static char names[API_TESTS_MAX * API_VARIANTS][80];
    size_t size = 0;

    for (size_t v = 0; v < API_VARIANTS; v++) {
        for (size_t t = 0; t < count && t < API_TESTS_MAX; t++) {
            if (!api_applies(&tests[t], &api_variants[v])) continue;
            snprintf(names[size], sizeof names[size], "%s/%s", api_variants[v].name, tests[t].name);
            suite[size] = (struct CMUnitTest){
                .name = names[size], .test_func = tests[t].fn, .initial_state = (void *)(uintptr_t)&api_variants[v]};
            size++;
        }
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(group, suite, size, NULL, NULL);
}
