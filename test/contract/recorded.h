/*
 * recorded.h - a database that is recorded: transactions as scripts, and what a history is expected to say of them.
 */
#pragma once

#include "api.h"
#include "numbered.h"
#include "engine_config.h"
#include "history_digest.h"
#include "history_recorder.h"

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

static inline int step_run(struct cellar_txn *txn, struct script *script, const struct step *step)
{
    uint32_t flags = step->kind == OPTIONAL ? CELLAR_OPTIONAL : step->kind == DELETE ? CELLAR_DELETE : 0;
    struct item item = item_of(step->value);
    int rc;

    switch (step->kind) {
    case INSERT:
        rc = cellar_proc_insert(txn, script->call.items, step->key, &item);
        script->refs[step->key] = rc;
        return rc < 0 ? rc : 0;
    case FETCH:
        return cellar_proc_fetch(txn);
    case PUT:
        return cellar_proc_put(txn, script->refs[step->key], __builtin_ctz(step->write), &step->value);
    case ABORT:
        return ERR_GIVEN_UP;
    default:
        rc = cellar_proc_access(txn, script->call.items, step->key, step->read, step->write, flags);
        script->refs[step->key] = rc;
        return rc < 0 ? rc : 0;
    }
}

static inline int script_body(struct cellar_txn *txn, struct api_call *call)
{
    struct script *script = (struct script *)call;
    int rc = 0;
    for (const struct step *step = script->steps; rc == 0 && step->kind != END; step++)
        rc = step_run(txn, script, step);
    return rc;
}

static inline int run(struct api *api, const struct step *steps)
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
static inline uint64_t digest_of(uint16_t cell, uint64_t value)
{
    uint8_t bytes[152] = {0};
    if (cell == ITEM_TEXT) {
        memset(bytes, (int)value, 150);
        return history_digest(bytes, 152);
    }
    memcpy(bytes, &value, 8);
    return history_digest(bytes, 8);
}

static inline void assert_access(const struct history_access *got, const struct expect *wanted)
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

static inline void assert_accesses(const struct history *history, uint64_t txn, const struct expect *wanted,
                                   uint32_t count)
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

#define CELLS_WRITTEN(key, en, ts, over_ts, of)                                                                        \
    WRITE(key, ITEM_A, en, ts, over_ts, 3 * (of)), WRITE(key, ITEM_B, en, ts, over_ts, (of) + 7),                      \
        WRITE(key, ITEM_TEXT, en, ts, over_ts, of), WRITE(key, ITEM_N, en, ts, over_ts, of)
#define CELLS_GONE(key, en, ts, over_ts)                                                                               \
    GONE(key, ITEM_A, en, ts, over_ts), GONE(key, ITEM_B, en, ts, over_ts), GONE(key, ITEM_TEXT, en, ts, over_ts),     \
        GONE(key, ITEM_N, en, ts, over_ts)

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
static inline uint64_t bucket_version(struct api *api, uint64_t key)
{
    struct bucket_wire bucket;
    api_peek(api, index_bucket_addr(&api->items->table->index, key), &bucket, sizeof bucket);
    return bucket.version;
}

static inline const struct history_final *final_of(const struct history *history, uint64_t key, uint16_t cell)
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

static inline void assert_final(const struct history *history, uint64_t key, uint16_t cell, uint64_t en, uint64_t ts,
                                uint64_t value)
{
    const struct history_final *final = final_of(history, key, cell);
    assert_non_null(final);
    assert_true(final->version == layout_version_of((uint16_t)en, ts));
    assert_true(final->digest == digest_of(cell, value));
}

static inline void assert_presence(const struct history *history, uint64_t key, uint64_t present)
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

static inline void record(struct recorded *recorded, const struct api_variant *variant, struct engine_config config,
                          uint64_t txns_max)
{
    recorded->history = (struct history){0};
    api_open_with(&recorded->api, variant, config);
    api_load(&recorded->api, 0, 10);
    MUST(&recorded->api.error,
         history_recorder_open(recorded->api.db, NULL, txns_max, NULL, &recorded->recorder, &recorded->api.error));
    history_recorder_start(recorded->recorder);
}

static inline void stop(struct recorded *recorded)
{
    MUST(&recorded->api.error, history_recorder_close(recorded->recorder, &recorded->history, &recorded->api.error));
}

static inline void done(struct recorded *recorded)
{
    history_free(&recorded->history);
    api_close(&recorded->api);
}
