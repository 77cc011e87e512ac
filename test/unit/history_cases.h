/*
 * history_cases.h - histories made by hand, in a few words a transaction: rd, wr, ins, del ... of accesses, TXN,
 * REST, expect.
 */
#pragma once

#include "history_check.h"
#include "history_sliced.h"
#include "layout.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- making histories ---- */

#define V(en, ts) layout_version_of(en, ts)
#define DIGEST(version) ((version)*31 + 7)

/* Reads and writes of table 1; the bytes follow from the version unless a test says otherwise. */
static inline struct history_access rd(uint64_t key, uint16_t cell, uint64_t version)
{
    return (struct history_access){
        .kind = HISTORY_READ, .table_id = 1, .key = key, .cell = cell, .version = version, .digest = DIGEST(version)};
}

static inline struct history_access wr(uint64_t key, uint16_t cell, uint64_t over, uint64_t version)
{
    return (struct history_access){.kind = HISTORY_WRITE,
                                   .table_id = 1,
                                   .key = key,
                                   .cell = cell,
                                   .version = version,
                                   .over = over,
                                   .digest = DIGEST(version)};
}

static inline struct history_access presence(enum history_kind kind, uint64_t key, uint64_t ts)
{
    return (struct history_access){
        .kind = (uint8_t)kind, .table_id = 1, .key = key, .cell = HISTORY_PRESENCE, .version = ts};
}

static inline struct history_access ins(uint64_t key, uint64_t ts) { return presence(HISTORY_INSERT, key, ts); }
static inline struct history_access del(uint64_t key, uint64_t ts) { return presence(HISTORY_DELETE, key, ts); }
static inline struct history_access absent(uint64_t key, uint64_t ts) { return presence(HISTORY_ABSENT, key, ts); }
static inline struct history_access present(uint64_t key, uint64_t ts) { return presence(HISTORY_READ, key, ts); }

/* A deleted cell has no value. */
static inline struct history_access wr0(uint64_t key, uint16_t cell, uint64_t over, uint64_t version)
{
    struct history_access access = wr(key, cell, over, version);
    access.digest = 0;
    return access;
}

static inline void add(struct history *history, uint64_t id, uint64_t begin_ns, uint64_t end_ns,
                       enum history_outcome outcome, const struct history_access *accesses, uint32_t count)
{
    struct history_txn txn = {.id = id,
                              .cn = (uint32_t)id % 2,
                              .coordinator = (uint32_t)id,
                              .begin_ns = begin_ns,
                              .end_ns = end_ns,
                              .outcome = (uint8_t)outcome,
                              .count = count};
    for (uint32_t i = 0; i < count; i++)
        if (accesses[i].kind == HISTORY_WRITE || accesses[i].kind == HISTORY_INSERT ||
            accesses[i].kind == HISTORY_DELETE)
            txn.ts = layout_version_ts(accesses[i].version);
    assert_int_equal(history_txn_add(history, &txn, accesses), 0);
}

/* Where order in time does not matter, all run at once: 0..1000 ns. */
#define TXN_AS(outcome, id, begin, end, ...)                                                                           \
    add(&history, id, begin, end, outcome, (struct history_access[]){__VA_ARGS__},                                     \
        sizeof((struct history_access[]){__VA_ARGS__}) / sizeof(struct history_access))
#define TXN(id, begin, end, ...) TXN_AS(HISTORY_COMMITTED, id, begin, end, __VA_ARGS__)

static inline void rest(struct history *history, uint64_t key, uint16_t cell, uint64_t version, uint64_t digest)
{
    const struct history_final final = {.table_id = 1, .key = key, .cell = cell, .version = version, .digest = digest};
    assert_int_equal(history_final_add(history, &final), 0);
    history->has_final = true;
}

#define REST(key, cell, version) rest(&history, key, cell, version, DIGEST(version))
#define REST_PRESENT(key) rest(&history, key, HISTORY_PRESENCE, 0, 1)
#define REST_ABSENT(key) rest(&history, key, HISTORY_PRESENCE, 0, 0)

/* ---- judging them ---- */

static const struct history_check_options strict = {.realtime = true, .settled = true};
static const struct history_check_options plain = {.settled = true};
static const struct history_check_options unsettled = {.realtime = true};

/* The same history in another order. */
static inline void shuffle(struct history *history, struct prng *prng)
{
    for (uint64_t i = history->txn_count; i > 1; i--) {
        uint64_t j = prng_below(prng, i);
        struct history_txn kept = history->txns[i - 1];
        history->txns[i - 1] = history->txns[j];
        history->txns[j] = kept;
    }
    for (uint64_t t = 0; t < history->txn_count; t++)
        for (uint64_t first = history->txns[t].first, i = history->txns[t].count; i > 1; i--) {
            uint64_t j = prng_below(prng, i);
            struct history_access kept = history->accesses[first + i - 1];
            history->accesses[first + i - 1] = history->accesses[first + j];
            history->accesses[first + j] = kept;
        }
    for (uint64_t i = history->final_count; i > 1; i--) {
        uint64_t j = prng_below(prng, i);
        struct history_final kept = history->finals[i - 1];
        history->finals[i - 1] = history->finals[j];
        history->finals[j] = kept;
    }
}

static inline void expect(struct history *history, const struct history_check_options *options, const char *kind,
                          const char *text)
{
    struct history_verdict verdict, again;
    struct prng prng;

    assert_int_equal(history_table_add(history, 1, 0, "accounts"), 0);
    int rc = history_check(history, options, &verdict);
    if (strcmp(verdict.kind, kind) != 0) fail_msg("%s instead of %s: %s", verdict.kind, kind, verdict.text);
    assert_int_equal(rc, strcmp(kind, "ok") ? CELLAR_CORRUPT : 0);
    if (!strstr(verdict.text, text)) fail_msg("no '%s' in:\n%s", text, verdict.text);
    prng_seed(&prng, 1);
    for (int i = 0; i < 8; i++) {
        shuffle(history, &prng);
        assert_int_equal(history_check(history, options, &again), rc);
        assert_string_equal(again.text, verdict.text);
        assert_int_equal(again.cycle_count, verdict.cycle_count);
        assert_memory_equal(again.cycle, verdict.cycle, verdict.cycle_count * sizeof *verdict.cycle);
        assert_int_equal(again.edges, verdict.edges);
    }
    for (uint32_t count = 1; count < 8; count += 3) assert_sliced(history, count, options, &verdict);
    history_free(history);
}
