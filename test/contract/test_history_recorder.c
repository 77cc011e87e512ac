/*
 * test_history_recorder.c - what a recorder takes down: each kind of access, with its exact versions in the modes in
 * which these can be foretold; what ends without effect; what is unknown; and the pool's final versions.
 */
#include "api.h"
#include "history_digest.h"
#include "history_check.h"
#include "history_journal.h"
#include "history_recorder.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- transactions as scripts ---- */

enum step_kind { END, ACCESS, OPTIONAL, DELETE, INSERT, FETCH, PUT, ABORT };

struct step {
    enum step_kind kind;
    uint64_t key;
    cellar_cells read, write; /* PUT: the column is that of `write` */
    uint64_t value;
};

struct script {
    struct api_call call;
    const struct step *steps;
    int refs[16]; /* by key */
};

static int step_run(struct cellar_txn *txn, struct script *script, const struct step *step)
{
    uint32_t flags = step->kind == OPTIONAL ? CELLAR_OPTIONAL : step->kind == DELETE ? CELLAR_DELETE : 0;
    struct item item = item_of(step->value);
    int rc;

    switch (step->kind) {
    case INSERT:
        rc = cellar_insert(txn, script->call.items, step->key, &item);
        script->refs[step->key] = rc;
        return rc < 0 ? rc : 0;
    case FETCH:
        return cellar_fetch(txn);
    case PUT:
        return cellar_put(txn, script->refs[step->key], __builtin_ctz(step->write), &step->value);
    case ABORT:
        return CELLAR_USER_ABORT;
    default:
        rc = cellar_access(txn, script->call.items, step->key, step->read, step->write, flags);
        script->refs[step->key] = rc;
        return rc < 0 ? rc : 0;
    }
}

static int script_body(struct cellar_txn *txn, struct api_call *call)
{
    struct script *script = (struct script *)call;
    int rc = 0;
    for (const struct step *step = script->steps; rc == 0 && step->kind != END; step++)
        rc = step_run(txn, script, step);
    return rc;
}

static int run(struct api *api, const struct step *steps)
{
    struct script script = {.steps = steps};
    return api_run(api, script_body, &script);
}
#define RUN(api, ...) run(api, (const struct step[]){__VA_ARGS__, {END, 0, 0, 0, 0}})

/* ---- expectations ---- */

struct expect {
    enum history_kind kind;
    uint64_t key;
    uint16_t cell;
    uint64_t en, ts, over_en, over_ts;
    uint64_t value; /* A, B, N: the number; TEXT: the byte that fills it */
    bool no_value;
};

/* The digest of a cell of `items` with that value. */
static uint64_t digest_of(uint16_t cell, uint64_t value)
{
    uint8_t bytes[152] = {0};
    if (cell == ITEM_TEXT) {
        memset(bytes, (int)value, 150);
        return history_digest(bytes, 152);
    }
    memcpy(bytes, &value, 8);
    return history_digest(bytes, 8);
}

static void assert_access(const struct history_access *got, const struct expect *wanted)
{
    bool read = wanted->kind == HISTORY_READ && wanted->cell != HISTORY_PRESENCE && !wanted->no_value;
    bool valued = read || (wanted->kind == HISTORY_WRITE && !wanted->no_value);
    uint64_t digest = valued ? digest_of(wanted->cell, wanted->value) : 0;

    if (got->kind != wanted->kind || got->key != wanted->key || got->cell != wanted->cell || got->table_id != 1 ||
        got->version != layout_version_of((uint16_t)wanted->en, wanted->ts) ||
        got->over != layout_version_of((uint16_t)wanted->over_en, wanted->over_ts) || got->digest != digest)
        fail_msg("kind %u of table %u, key %llu, cell %u: version (%u, %llu) over (%u, %llu), digest %llx; wanted kind "
                 "%u of key %llu, cell %u: (%llu, %llu) over (%llu, %llu), digest %llx",
                 got->kind, got->table_id, (unsigned long long)got->key, got->cell, layout_version_en(got->version),
                 (unsigned long long)layout_version_ts(got->version), layout_version_en(got->over),
                 (unsigned long long)layout_version_ts(got->over), (unsigned long long)got->digest, wanted->kind,
                 (unsigned long long)wanted->key, wanted->cell, (unsigned long long)wanted->en,
                 (unsigned long long)wanted->ts, (unsigned long long)wanted->over_en,
                 (unsigned long long)wanted->over_ts, (unsigned long long)digest);
}

static void assert_accesses(const struct history *history, uint64_t txn, const struct expect *wanted, uint32_t count)
{
    assert_true(txn < history->txn_count);
    assert_int_equal(history->txns[txn].count, count);
    for (uint32_t i = 0; i < count; i++) assert_access(&history->accesses[history->txns[txn].first + i], &wanted[i]);
}
#define EXPECT(history, txn, ...)                                                                                      \
    do {                                                                                                               \
        const struct expect expect_list[] = {__VA_ARGS__};                                                             \
        assert_accesses(history, txn, expect_list, sizeof expect_list / sizeof *expect_list);                          \
    } while (0)

/* .. as the table's loaded rows have it: EN 1, TS 1. */
#define LOADED(key_, cell_, value_)                                                                                    \
    {                                                                                                                  \
        .kind = HISTORY_READ, .key = (key_), .cell = (cell_), .en = 1, .ts = 1, .value = (value_)                      \
    }
#define READ(key_, cell_, en_, ts_, value_)                                                                            \
    {                                                                                                                  \
        .kind = HISTORY_READ, .key = (key_), .cell = (cell_), .en = (en_), .ts = (ts_), .value = (value_)              \
    }
#define WRITE(key_, cell_, en_, ts_, over_ts_, value_)                                                                 \
    {                                                                                                                  \
        .kind = HISTORY_WRITE, .key = (key_), .cell = (cell_), .en = (en_), .ts = (ts_), .over_en = (en_)-1,           \
        .over_ts = (over_ts_), .value = (value_)                                                                       \
    }
#define GONE(key_, cell_, en_, ts_, over_ts_)                                                                          \
    {                                                                                                                  \
        .kind = HISTORY_WRITE, .key = (key_), .cell = (cell_), .en = (en_), .ts = (ts_), .over_en = (en_)-1,           \
        .over_ts = (over_ts_), .no_value = true                                                                        \
    }
#define PRESENCE(kind_, key_, ts_)                                                                                     \
    {                                                                                                                  \
        .kind = (kind_), .key = (key_), .cell = HISTORY_PRESENCE, .ts = (ts_)                                          \
    }
#define ABSENT(key_, en_, ts_)                                                                                         \
    {                                                                                                                  \
        .kind = HISTORY_ABSENT, .key = (key_), .cell = HISTORY_PRESENCE, .en = (en_), .ts = (ts_)                      \
    }

/* The version of the bucket that the key belongs to. */
static uint64_t bucket_version(struct api *api, uint64_t key)
{
    struct bucket_wire bucket;
    api_peek(api, index_bucket_addr(&api->items->index, key), &bucket, sizeof bucket);
    return bucket.version;
}

static const struct history_final *final_of(const struct history *history, uint64_t key, uint16_t cell)
{
    const struct history_final *found = NULL;
    for (uint64_t i = 0; i < history->final_count; i++) {
        const struct history_final *final = &history->finals[i];
        if (final->key != key || final->cell != cell) continue;
        assert_null(found);
        found = final;
    }
    return found;
}

static void assert_final(const struct history *history, uint64_t key, uint16_t cell, uint64_t en, uint64_t ts,
                         uint64_t value)
{
    const struct history_final *final = final_of(history, key, cell);
    assert_non_null(final);
    assert_true(final->version == layout_version_of((uint16_t)en, ts));
    assert_true(final->digest == digest_of(cell, value));
}

static void assert_presence(const struct history *history, uint64_t key, uint64_t present)
{
    const struct history_final *final = final_of(history, key, HISTORY_PRESENCE);
    assert_non_null(final);
    assert_int_equal(final->version, 0);
    assert_int_equal(final->digest, present);
}

/* ---- a recorded database ---- */

struct recorded {
    struct api api;
    struct history_recorder *recorder;
    struct history history;
};

static void record(struct recorded *recorded, const struct api_variant *variant, struct cellar_config config,
                   uint64_t txns_max)
{
    recorded->history = (struct history){0};
    api_open_with(&recorded->api, variant, config);
    api_load(&recorded->api, 0, 10);
    MUST(&recorded->api.error,
         history_recorder_open(recorded->api.db, NULL, txns_max, NULL, &recorded->recorder, &recorded->api.error));
    history_recorder_start(recorded->recorder);
}

static void stop(struct recorded *recorded)
{
    MUST(&recorded->api.error, history_recorder_close(recorded->recorder, &recorded->history, &recorded->api.error));
}

static void done(struct recorded *recorded)
{
    history_free(&recorded->history);
    api_close(&recorded->api);
}

/* ---- tests ---- */

static void reads_and_writes(void **state)
{
    struct recorded r;
    record(&r, *state, (struct cellar_config){0}, 100);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_A | CELL_TEXT, CELL_A | CELL_B | CELL_N, 0}, {FETCH, 0, 0, 0, 0},
                    {PUT, 3, 0, CELL_A, 500}, {PUT, 3, 0, CELL_N, 77}),
                0);
    assert_code(RUN(&r.api, {ACCESS, 3, CELLAR_ALL, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    /* Never put: locked, and read. A write of the same value is a write. */
    assert_code(RUN(&r.api, {ACCESS, 3, 0, CELL_A, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {ACCESS, 3, 0, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_A, 500}), 0);
    assert_int_equal(history_recorder_count(r.recorder), 4);
    stop(&r);

    assert_int_equal(r.history.txn_count, 4);
    EXPECT(&r.history, 0, LOADED(3, ITEM_A, 9), LOADED(3, ITEM_B, 10), LOADED(3, ITEM_TEXT, 3), LOADED(3, ITEM_N, 3),
           WRITE(3, ITEM_A, 2, 2, 1, 500), WRITE(3, ITEM_N, 2, 2, 1, 77));
    EXPECT(&r.history, 1, READ(3, ITEM_A, 2, 2, 500), LOADED(3, ITEM_B, 10), LOADED(3, ITEM_TEXT, 3),
           READ(3, ITEM_N, 2, 2, 77));
    EXPECT(&r.history, 2, READ(3, ITEM_A, 2, 2, 500));
    EXPECT(&r.history, 3, READ(3, ITEM_A, 2, 2, 500), WRITE(3, ITEM_A, 3, r.history.txns[3].ts, 2, 500));
    assert_int_equal(r.history.txns[0].ts, 2);
    assert_int_equal(r.history.txns[1].ts, 0);
    for (uint64_t i = 0; i < 4; i++) {
        const struct history_txn *txn = &r.history.txns[i];
        assert_int_equal(txn->id, i);
        assert_int_equal(txn->outcome, HISTORY_COMMITTED);
        assert_int_equal(txn->cn, 0);
        assert_true(txn->begin_ns <= txn->end_ns);
        assert_true(i == 0 || txn->begin_ns >= r.history.txns[i - 1].end_ns);
    }
    assert_int_equal(r.history.table_count, 1);
    assert_string_equal(r.history.tables[0].name, "items");
    assert_true(r.history.has_final);
    assert_int_equal(r.history.final_count, 4); /* what was only read, too */
    assert_final(&r.history, 3, ITEM_B, 1, 1, 10);
    assert_final(&r.history, 3, ITEM_A, 3, r.history.txns[3].ts, 500);
    assert_final(&r.history, 3, ITEM_N, 2, 2, 77);
    done(&r);
}

/* What a later block brings is taken down then; what was changed meanwhile stays as it was read. */
static void blocks(void **state)
{
    struct recorded r;
    record(&r, *state, (struct cellar_config){0}, 100);
    assert_code(RUN(&r.api, {ACCESS, 4, CELL_A, CELL_B, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 4, 0, CELL_B, 900},
                    {ACCESS, 5, CELL_A, 0, 0}, {ACCESS, 4, CELL_N, CELL_TEXT, 0}, {FETCH, 0, 0, 0, 0},
                    {PUT, 4, 0, CELL_B, 901}),
                0);
    stop(&r);
    EXPECT(&r.history, 0, LOADED(4, ITEM_A, 12), LOADED(4, ITEM_B, 11), LOADED(4, ITEM_TEXT, 4), LOADED(4, ITEM_N, 4),
           LOADED(5, ITEM_A, 15), WRITE(4, ITEM_B, 2, 2, 1, 901));
    done(&r);
}

#define CELLS_WRITTEN(key, en, ts, over_ts, of)                                                                        \
    WRITE(key, ITEM_A, en, ts, over_ts, 3 * (of)), WRITE(key, ITEM_B, en, ts, over_ts, (of) + 7),                      \
        WRITE(key, ITEM_TEXT, en, ts, over_ts, of), WRITE(key, ITEM_N, en, ts, over_ts, of)
#define CELLS_GONE(key, en, ts, over_ts)                                                                               \
    GONE(key, ITEM_A, en, ts, over_ts), GONE(key, ITEM_B, en, ts, over_ts), GONE(key, ITEM_TEXT, en, ts, over_ts),     \
        GONE(key, ITEM_N, en, ts, over_ts)

static void inserts_and_deletes(void **state)
{
    struct recorded r;
    record(&r, *state, (struct cellar_config){.coros = 1}, 100);
    uint64_t bucket = bucket_version(&r.api, 12);
    uint16_t en = layout_version_en(bucket);
    uint64_t ts = layout_version_ts(bucket);

    /* Looks, then inserts into a new slot; deletes; inserts again, into that slot: its versions go on. */
    assert_code(
        RUN(&r.api, {OPTIONAL, 12, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}, {INSERT, 12, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {DELETE, 12, CELL_N, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 12, 0, 0, 30}, {FETCH, 0, 0, 0, 0}, {PUT, 12, 0, CELL_A, 5}), 0);
    assert_code(RUN(&r.api, {DELETE, 7, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    stop(&r);

    const struct history_txn *txns = r.history.txns;
    assert_int_equal(r.history.txn_count, 4);
    uint64_t a = txns[0].ts, b = txns[1].ts, c = txns[2].ts, d = txns[3].ts;
    assert_true(a < b && b < c && c < d);
    EXPECT(&r.history, 0, ABSENT(12, en, ts), PRESENCE(HISTORY_INSERT, 12, a), CELLS_WRITTEN(12, 1, a, 0, 20));
    EXPECT(&r.history, 1, READ(12, ITEM_N, 1, a, 20), PRESENCE(HISTORY_DELETE, 12, b), CELLS_GONE(12, 2, b, a));
    EXPECT(&r.history, 2, PRESENCE(HISTORY_INSERT, 12, c), WRITE(12, ITEM_A, 3, c, b, 5),
           WRITE(12, ITEM_B, 3, c, b, 37), WRITE(12, ITEM_TEXT, 3, c, b, 30), WRITE(12, ITEM_N, 3, c, b, 30));
    EXPECT(&r.history, 3, PRESENCE(HISTORY_DELETE, 7, d), CELLS_GONE(7, 2, d, 1));
    assert_presence(&r.history, 12, 1);
    assert_presence(&r.history, 7, 0);
    assert_final(&r.history, 12, ITEM_A, 3, c, 5);
    assert_final(&r.history, 12, ITEM_TEXT, 3, c, 30);
    assert_null(final_of(&r.history, 7, ITEM_A));
    assert_int_equal(r.history.final_count, 6);
    done(&r);
}

/* Asked for without a cell: its presence, by the version that showed it; and the cell once it is asked for. */
static void presence_without_cells(void **state)
{
    struct recorded r;
    record(&r, *state, (struct cellar_config){.coros = 1}, 100);
    assert_code(RUN(&r.api, {OPTIONAL, 4, 0, 0, 0}, {ACCESS, 5, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 12, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(
        RUN(&r.api, {ACCESS, 12, 0, 0, 0}, {FETCH, 0, 0, 0, 0}, {ACCESS, 12, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    stop(&r);
    uint64_t ts = r.history.txns[1].ts;
    EXPECT(&r.history, 0, PRESENCE(HISTORY_READ, 4, 1), PRESENCE(HISTORY_READ, 5, 1));
    EXPECT(&r.history, 2, PRESENCE(HISTORY_READ, 12, ts), READ(12, ITEM_A, 1, ts, 60));
    done(&r);
}

static void what_fails_has_read(void **state)
{
    struct recorded r;
    record(&r, *state, (struct cellar_config){0}, 100);
    uint64_t bucket = bucket_version(&r.api, 13), bucket_of_2 = bucket_version(&r.api, 2);
    assert_code(
        RUN(&r.api, {ACCESS, 1, CELL_A, CELL_B, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 1, 0, CELL_B, 4}, {ABORT, 0, 0, 0, 0}),
        CELLAR_USER_ABORT);
    assert_code(RUN(&r.api, {ACCESS, 2, CELL_A, 0, 0}, {ACCESS, 13, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}),
                -CELLAR_ERR_NOT_FOUND);
    assert_code(RUN(&r.api, {ACCESS, 6, CELL_N, 0, 0}, {INSERT, 2, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), -CELLAR_ERR_EXISTS);
    stop(&r);
    assert_int_equal(r.history.txn_count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(r.history.txns[i].outcome, HISTORY_FAILED);
        assert_int_equal(r.history.txns[i].ts, 0);
    }
    EXPECT(&r.history, 0, LOADED(1, ITEM_A, 3), LOADED(1, ITEM_B, 8));
    EXPECT(&r.history, 1, LOADED(2, ITEM_A, 6), ABSENT(13, layout_version_en(bucket), layout_version_ts(bucket)));
    EXPECT(&r.history, 2, LOADED(6, ITEM_N, 6),
           {.kind = HISTORY_READ,
            .key = 2,
            .cell = HISTORY_PRESENCE,
            .en = layout_version_en(bucket_of_2),
            .ts = layout_version_ts(bucket_of_2),
            .no_value = true});
    assert_true(r.history.has_final);
    assert_int_equal(r.history.final_count, 6);
    assert_final(&r.history, 1, ITEM_B, 1, 1, 8);
    assert_presence(&r.history, 2, 1);
    assert_presence(&r.history, 13, 0);
    assert_true(r.history.has_loaded);
    assert_int_equal(r.history.loaded_count, 5); /* as the finals, but of key 13, which was not there */
    done(&r);
}

/* Attempts that abort leave nothing, even when the call ends with the last of them. */
static void what_aborts_is_not_there(void **state)
{
    struct recorded r;
    struct fabric_addr head;
    const struct step steps[] = {{ACCESS, 2, CELL_B, 0, 0},
                                 {ACCESS, 3, CELL_A, CELL_A, 0},
                                 {FETCH, 0, 0, 0, 0},
                                 {PUT, 3, 0, CELL_A, 1},
                                 {END, 0, 0, 0, 0}};
    struct script script = {.steps = steps};
    struct cellar_call_options options = {.timeout_ns = 1000000};
    record(&r, *state, (struct cellar_config){0}, 100);
    struct fabric_addr addr = api_find(&r.api, 3, &head);
    api_poke_word(&r.api, addr, api_foreign_tags(r.api.items), api_tag_mask(r.api.items));
    do {
        options.timeout_ns *= 2;
        assert_code(api_run_with(&r.api, script_body, &script, &options), -CELLAR_ERR_DEADLINE);
    } while (api_longer(&r.api, script.call.runs, options.timeout_ns));
    assert_true(script.call.runs > 1);
    api_poke_word(&r.api, addr, 0, api_tag_mask(r.api.items));
    assert_int_equal(history_recorder_count(r.recorder), 0);
    assert_code(run(&r.api, steps), 0);
    stop(&r);
    assert_int_equal(r.history.txn_count, 1);
    EXPECT(&r.history, 0, LOADED(2, ITEM_B, 9), LOADED(3, ITEM_A, 9), WRITE(3, ITEM_A, 2, 2, 1, 1));
    done(&r);
}

/* Two replicas of the log do not answer, more than can be away at a time: its end is unknown. */
static void what_is_unknown(void **state)
{
    struct recorded r;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 1}, also = {.kind = FABRIC_NODE_KILL, .node = 2};
    record(&r, *state, (struct cellar_config){.mns = 3, .replicas = 2, .coros = 1}, 100);
    uint64_t key = 0;
    while (fabric_addr_node(index_bucket_addr(&r.api.items->index, key)) != 0) key++;
    const struct step steps[] = {
        {ACCESS, key, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, key, 0, CELL_A, 1}, {END, 0, 0, 0, 0}};
    assert_code(run(&r.api, steps), 0);
    MUST(&r.api.error, db_fabric(r.api.db)->ops->control(db_fabric(r.api.db), &kill, &r.api.error));
    MUST(&r.api.error, db_fabric(r.api.db)->ops->control(db_fabric(r.api.db), &also, &r.api.error));
    assert_code(run(&r.api, steps), -CELLAR_ERR_INDETERMINATE);
    stop(&r);
    assert_int_equal(r.history.txn_count, 2);
    assert_int_equal(r.history.txns[1].outcome, HISTORY_INDETERMINATE);
    assert_int_equal(r.history.txns[1].ts, 3);
    EXPECT(&r.history, 1, READ(key, ITEM_A, 2, 2, 1), WRITE(key, ITEM_A, 3, 3, 2, 1));
    assert_false(r.history.has_final); /* a node's records cannot be read */
    done(&r);
}

/* Two transactions that write and two that read, on the compute node of the session: cellar_call would choose one. */
static int told_client(struct cellar_session *session, void *arg)
{
    struct recorded *r = arg;
    uint32_t cn = cellar_session_cn(session);
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < 4; i++) {
        uint64_t key = 2 * cn + i % 2;
        const struct step writes[] = {
            {ACCESS, key, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, key, 0, CELL_A, 1}, {END, 0, 0, 0, 0}};
        const struct step reads[] = {{ACCESS, key, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}, {END, 0, 0, 0, 0}};
        struct script script = {.call = {.body = script_body, .items = r->api.items}, .steps = i < 2 ? writes : reads};
        struct cellar_result result;
        rc = cellar_exec(session, r->api.any, &script, NULL, &result);
    }
    return rc;
}

/* A node lost at some moment: what its callers were told later is void. */
static void what_a_lost_node_told(void **state)
{
    struct recorded r;
    record(&r, *state, (struct cellar_config){.cns = 2, .coros = 1}, 100);
    assert_code(cellar_run(r.api.db, told_client, &r), 0);
    assert_int_equal(history_recorder_count(r.recorder), 8);
    history_recorder_lost(r.recorder, 1, 0);
    stop(&r);
    uint64_t unknown = 0, committed = 0;
    for (uint64_t i = 0; i < r.history.txn_count; i++) {
        const struct history_txn *txn = &r.history.txns[i];
        assert_int_equal(txn->id, i);
        assert_int_equal(txn->outcome, txn->cn == 1 ? HISTORY_INDETERMINATE : HISTORY_COMMITTED);
        unknown += txn->cn == 1;
        committed += txn->cn == 0;
    }
    assert_int_equal(unknown, 2); /* those that wrote; of the others nothing is known */
    assert_int_equal(committed, 4);
    done(&r);
}

/* A body that ends its process, amid a transaction. */
static int die_body(struct cellar_txn *txn, struct api_call *call)
{
    (void)!cellar_access(txn, call->items, 1, CELL_A, CELL_A, 0);
    (void)!cellar_fetch(txn);
    raise(SIGKILL);
    return 0;
}

static char journal[] = "/tmp/cellar-recorder-XXXXXX";

/* In a process of its own: it never returns. */
static void record_and_die(const struct api_variant *variant)
{
    const struct history_recorder_file file = {.path = journal, .part = 2, .parts = 4, .run = 5};
    struct recorded r = {0};

    api_open_with(&r.api, variant, (struct cellar_config){0});
    api_load(&r.api, 0, 10);
    MUST(&r.api.error, history_recorder_open(r.api.db, NULL, 100, &file, &r.recorder, &r.api.error));
    history_recorder_start(r.recorder);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_A, 500}), 0);
    assert_code(RUN(&r.api, {DELETE, 7, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {ACCESS, 13, CELL_A, 0, 0}, {FETCH, 0, 0, 0, 0}), -CELLAR_ERR_NOT_FOUND);
    struct script script = {.steps = NULL};
    api_run(&r.api, die_body, &script);
}

/* Killed amid a transaction: those before it are in its journal, as they would be in its history. */
static void what_outlives_its_process(void **state)
{
    struct history history = {0};
    struct history_verdict verdict;
    struct cellar_error error = {0};
    int status, file = mkstemp(journal);

    assert_true(file >= 0);
    close(file);
    pid_t pid = fork();
    if (pid == 0) {
        record_and_die(*state);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    MUST(&error, history_journal_read(&history, journal, &error));
    unlink(journal);
    strcpy(journal + strlen(journal) - 6, "XXXXXX");
    assert_int_equal(history.txn_count, 3);
    EXPECT(&history, 0, LOADED(3, ITEM_A, 9), WRITE(3, ITEM_A, 2, history.txns[0].ts, 1, 500));
    EXPECT(&history, 1, PRESENCE(HISTORY_DELETE, 7, history.txns[1].ts), CELLS_GONE(7, 2, history.txns[1].ts, 1));
    assert_int_equal(history.txns[2].outcome, HISTORY_FAILED);
    assert_int_equal(history.loaded_count, 6); /* a cell of 3; of 7 four, and that it was there */
    assert_int_equal(history.died, 1);
    assert_int_equal(history.part, 2);
    assert_int_equal(history.run, 5);
    assert_false(history.has_final);
    const struct history_check_options options = {.realtime = true, .settled = true};
    if (history_check(&history, &options, &verdict)) fail_msg("%s: %s", verdict.kind, verdict.text);
    history_free(&history);
}

/* Of a process that died there are no finals: another one says of all that is not as it was how that was left. */
static void what_another_one_covers(void **state)
{
    struct recorded r;
    record(&r, *state, (struct cellar_config){0}, 100);
    history_recorder_stop(r.recorder);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_A, CELL_A, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_A, 500}), 0);
    assert_code(RUN(&r.api, {DELETE, 7, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 12, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {INSERT, 13, 0, 0, 20}, {FETCH, 0, 0, 0, 0}), 0);
    assert_code(RUN(&r.api, {DELETE, 13, 0, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    history_recorder_start(r.recorder);
    assert_code(RUN(&r.api, {ACCESS, 3, CELL_B, CELL_B, 0}, {FETCH, 0, 0, 0, 0}, {PUT, 3, 0, CELL_B, 501}), 0);
    assert_code(RUN(&r.api, {ACCESS, 5, CELL_N, 0, 0}, {FETCH, 0, 0, 0, 0}), 0);
    history_recorder_cover(r.recorder);
    stop(&r);
    assert_true(r.history.final_all);
    assert_int_equal(r.history.final_count,
                     9); /* two cells of 3, one of 5; 7 is gone; 12 is there with its four cells */
    assert_true(final_of(&r.history, 3, ITEM_A)->digest == digest_of(ITEM_A, 500));
    assert_true(final_of(&r.history, 3, ITEM_B)->digest == digest_of(ITEM_B, 501));
    assert_final(&r.history, 5, ITEM_N, 1, 1, 5);
    assert_presence(&r.history, 7, 0);
    assert_presence(&r.history, 12, 1);
    assert_true(final_of(&r.history, 12, ITEM_TEXT)->digest == digest_of(ITEM_TEXT, 20));
    assert_null(final_of(&r.history, 13, HISTORY_PRESENCE));
    done(&r);
}

static int add_one(struct cellar_txn *txn, struct api_call *call)
{
    struct script *script = (struct script *)call;
    uint64_t a = 0;
    int ref = cellar_access(txn, call->items, script->steps->key, CELL_A, CELL_A, 0);
    if (ref < 0) return ref;
    int rc = cellar_fetch(txn);
    if (rc == 0) rc = cellar_get(txn, ref, ITEM_A, &a);
    a++;
    return rc ? rc : cellar_put(txn, ref, ITEM_A, &a);
}

#define ADDS 200

static int add_client(struct cellar_session *session, void *arg)
{
    struct recorded *r = arg;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < ADDS; i++) {
        const struct step step = {.key = i % 2};
        struct script script = {.call = {.body = add_one, .items = r->api.items}, .steps = &step};
        struct cellar_result result;
        rc = cellar_exec(session, r->api.any, &script, NULL, &result);
    }
    return rc;
}

/* Two counters, all coordinators: one unbroken chain of versions and values each, and nothing in the wrong order. */
static void many_at_once(void **state)
{
    const struct api_variant *variant = *state;
    struct recorded r;
    struct {
        uint64_t version, value;
    } *chain = calloc(2 * 8 * ADDS, sizeof *chain);
    uint64_t last[2] = {layout_version_of(1, 1), layout_version_of(1, 1)}, count[2] = {0, 0};

    record(&r, variant, (struct cellar_config){.threads = 2, .coros = 4}, 8 * ADDS);
    assert_false(history_recorder_full(r.recorder));
    assert_code(cellar_run(r.api.db, add_client, &r), 0);
    assert_true(history_recorder_full(r.recorder));
    stop(&r);
    assert_int_equal(r.history.txn_count, 8 * ADDS);
    bool progress = true;
    while (progress) { /* recorded in the order of ends, which need not be that of versions */
        progress = false;
        for (uint64_t i = 0; i < r.history.txn_count; i++) {
            const struct history_access *access = &r.history.accesses[r.history.txns[i].first];
            if (access[0].version != last[access[0].key]) continue;
            uint64_t key = access[0].key;
            assert_int_equal(r.history.txns[i].count, 2);
            assert_true(access[0].digest == digest_of(ITEM_A, 3 * key + count[key]));
            assert_true(access[1].digest == digest_of(ITEM_A, 3 * key + count[key] + 1));
            assert_true(access[1].over == last[key]);
            assert_true(layout_version_ts(access[1].version) == r.history.txns[i].ts);
            last[key] = access[1].version;
            count[key]++;
            progress = true;
        }
    }
    assert_int_equal(count[0], 4 * ADDS);
    assert_int_equal(count[1], 4 * ADDS);
    for (uint64_t i = 1; i < r.history.txn_count; i++)
        assert_true(r.history.txns[i - 1].end_ns <= r.history.txns[i].end_ns);
    assert_true(final_of(&r.history, 0, ITEM_A)->version == last[0]);
    assert_true(final_of(&r.history, 1, ITEM_A)->digest == digest_of(ITEM_A, 3 + 4 * ADDS));
    free(chain);
    done(&r);
}

/* In sim the same seed gives the same history, to the byte. */
static void the_same_again(void **state)
{
    const struct api_variant *variant = *state;
    struct recorded r[2];
    if (variant->threads) skip();
    for (int i = 0; i < 2; i++) {
        record(&r[i], variant, (struct cellar_config){.cns = 2, .threads = 2, .coros = 2, .seed = 9}, 10);
        assert_code(cellar_run(r[i].api.db, add_client, &r[i]), 0);
        stop(&r[i]);
    }
    const struct history *a = &r[0].history, *b = &r[1].history;
    assert_int_equal(a->txn_count, 8 * ADDS); /* more than txns_max: nothing is left out */
    assert_int_equal(a->txn_count, b->txn_count);
    assert_int_equal(a->access_count, b->access_count);
    assert_int_equal(a->final_count, b->final_count);
    assert_memory_equal(a->txns, b->txns, a->txn_count * sizeof *a->txns);
    for (uint64_t i = 0; i < a->access_count; i++) {
        assert_true(a->accesses[i].version == b->accesses[i].version);
        assert_true(a->accesses[i].digest == b->accesses[i].digest);
    }
    for (int i = 0; i < 2; i++) done(&r[i]);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST_EXACT(reads_and_writes),
        API_TEST_EXACT(blocks),
        API_TEST_EXACT(inserts_and_deletes),
        API_TEST_EXACT(presence_without_cells),
        API_TEST_EXACT(what_fails_has_read),
        API_TEST_EXACT(what_aborts_is_not_there),
        API_TEST_EXACT(what_is_unknown),
        API_TEST(what_a_lost_node_told),
        API_TEST_EXACT(many_at_once),
        API_TEST(the_same_again),
        API_TEST_EXACT(what_outlives_its_process),
        API_TEST_EXACT(what_another_one_covers),
    };
    return api_main("history_recorder", tests, sizeof tests / sizeof *tests, argc, argv);
}
