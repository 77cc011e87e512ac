/* test_history_check.c - hand-made histories: one for each verdict, and beside each one that only nearly deserves it. */
#include "history_check.h"
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
static struct history_access rd(uint64_t key, uint16_t cell, uint64_t version)
{
    return (struct history_access){
        .kind = HISTORY_READ, .table_id = 1, .key = key, .cell = cell, .version = version, .digest = DIGEST(version)};
}

static struct history_access wr(uint64_t key, uint16_t cell, uint64_t over, uint64_t version)
{
    return (struct history_access){.kind = HISTORY_WRITE,
                                   .table_id = 1,
                                   .key = key,
                                   .cell = cell,
                                   .version = version,
                                   .over = over,
                                   .digest = DIGEST(version)};
}

static struct history_access presence(enum history_kind kind, uint64_t key, uint64_t ts)
{
    return (struct history_access){
        .kind = (uint8_t)kind, .table_id = 1, .key = key, .cell = HISTORY_PRESENCE, .version = ts};
}

static struct history_access ins(uint64_t key, uint64_t ts) { return presence(HISTORY_INSERT, key, ts); }
static struct history_access del(uint64_t key, uint64_t ts) { return presence(HISTORY_DELETE, key, ts); }
static struct history_access absent(uint64_t key, uint64_t ts) { return presence(HISTORY_ABSENT, key, ts); }
static struct history_access present(uint64_t key, uint64_t ts) { return presence(HISTORY_READ, key, ts); }

/* A deleted cell has no value. */
static struct history_access wr0(uint64_t key, uint16_t cell, uint64_t over, uint64_t version)
{
    struct history_access access = wr(key, cell, over, version);
    access.digest = 0;
    return access;
}

static void add(struct history *history, uint64_t id, uint64_t begin_ns, uint64_t end_ns, enum history_outcome outcome,
                const struct history_access *accesses, uint32_t count)
{
    struct history_txn txn = {.id = id,
                              .cn = (uint32_t)id % 2,
                              .coordinator = (uint32_t)id % 4,
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

static void rest(struct history *history, uint64_t key, uint16_t cell, uint64_t version, uint64_t digest)
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
static void shuffle(struct history *history, struct prng *prng)
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

static void expect(struct history *history, const struct history_check_options *options, const char *kind,
                   const char *text)
{
    struct history_verdict verdict, again;
    struct prng prng;

    assert_int_equal(history_table_add(history, 1, "accounts"), 0);
    int rc = history_check(history, options, &verdict);
    if (strcmp(verdict.kind, kind) != 0) fail_msg("%s instead of %s: %s", verdict.kind, kind, verdict.text);
    assert_int_equal(rc, strcmp(kind, "ok") ? -CELLAR_ERR_CORRUPT : 0);
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
    history_free(history);
}

/* ---- cycles of items ---- */
static void nothing_is_in_order(void **state)
{
    struct history history = {0};
    (void)state;
    expect(&history, &strict, "ok", "strictly serializable");
}

static void dirty_write(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(2, 11), V(3, 12)));
    TXN(2, 0, 1000, wr(1, 0, V(2, 10), V(3, 11)), wr(2, 0, V(1, 5), V(2, 11)));
    expect(
        &history, &strict, "G0",
        "G0 (dirty write): a cycle of 2 transactions\n"
        "T1 (cn 1, coordinator 1, 0..1000 ns) wrote accounts[1].cell 0 version EN 2 TS 10, which T2 overwrote (EN 3 TS "
        "11): T1 -> T2\n"
        "T2 (cn 0, coordinator 2, 0..1000 ns) wrote accounts[2].cell 0 version EN 2 TS 11, which T1 overwrote (EN 3 TS "
        "12): T2 -> T1\n");
}

static void circular_flow(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), rd(2, 0, V(2, 11)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)), wr(2, 0, V(1, 5), V(2, 11)));
    expect(
        &history, &strict, "G1c",
        "T1 (cn 1, coordinator 1, 0..1000 ns) wrote accounts[1].cell 0 version EN 2 TS 10, which T2 read: T1 -> T2\n");
}

static void read_skew(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    expect(
        &history, &strict, "G-single",
        "G-single (read skew or lost update): a cycle of 2 transactions\n"
        "T1 (cn 1, coordinator 1, 0..1000 ns) read accounts[1].cell 0 version EN 1 TS 5, which T2 overwrote (EN 2 TS "
        "10): T1 -> T2\n"
        "T2 (cn 0, coordinator 2, 0..1000 ns) wrote accounts[2].cell 0 version EN 2 TS 10, which T1 read: T2 -> T1\n");
}

static void snapshot_is_no_read_skew(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(1, 5)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(3, 0, 1000, rd(1, 0, V(2, 10)), rd(2, 0, V(2, 10)));
    expect(&history, &strict, "ok", "");
}

static void lost_update(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)), wr(1, 0, V(2, 10), V(3, 11)));
    expect(&history, &strict, "G-single", "T2 -> T1\n");
}

static void unrepeatable_read(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), rd(1, 0, V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "G-single", "");
}

static void write_skew(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(1, 5)), wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(1, 5)), wr(2, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "G2-item", "G2-item (write skew): a cycle of 2 transactions\n");
}

static void serial_is_no_write_skew(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(1, 5)), wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)), rd(2, 0, V(1, 5)), wr(2, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "ok", "");
}

/* A reader that sees the one write but not the other, although these came in this order. */
static void read_only_anomaly(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(3, 0, 1000, rd(1, 0, V(2, 10)), rd(2, 0, V(1, 5)));
    expect(&history, &strict, "G2-item", "a cycle of 3 transactions\n");
}

/* Of several cycles the worst is told, though others are shorter. */
static void the_worst_class_is_told(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(1, 5)), wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(1, 5)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(3, 0, 1000, wr(3, 0, V(1, 5), V(2, 10)), wr(5, 0, V(2, 9), V(3, 20)));
    TXN(4, 0, 1000, wr(3, 0, V(2, 10), V(3, 11)), wr(4, 0, V(1, 5), V(2, 11)));
    TXN(5, 0, 1000, wr(4, 0, V(2, 11), V(3, 12)), wr(5, 0, V(1, 5), V(2, 9)));
    expect(&history, &strict, "G0", "a cycle of 3 transactions\n");
}

static void failed_reads_count(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_FAILED, 1, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "G-single", "ns, failed) read");
}

/* ---- real time ---- */
static void stale_read(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(1, 5)));
    expect(&history, &strict, "G-single-realtime",
           "G-single-realtime (stale read): a cycle of 2 transactions\n"
           "T2 (cn 0, coordinator 2, 20..30 ns) read accounts[1].cell 0 version EN 1 TS 5, which T1 overwrote (EN 2 TS "
           "10): T2 -> T1\n"
           "T1 (cn 1, coordinator 1, 0..10 ns) ended before T2 began (at 20 ns): T1 -> T2\n");
}

static void stale_read_is_serializable(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(1, 5)));
    expect(&history, &plain, "ok", "serializable");
}

static void overlapping_is_not_stale(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 20, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(1, 5)));
    expect(&history, &strict, "ok", "");
}

static void clocks_may_err(void **state)
{
    struct history history = {0};
    (void)state;
    const struct history_check_options erring = {.realtime = true, .clock_error_ns = 10, .settled = true};
    TXN(1, 0, 10, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(1, 5)));
    expect(&history, &erring, "ok", "");
}

static void clocks_err_no_further(void **state)
{
    struct history history = {0};
    (void)state;
    const struct history_check_options erring = {.realtime = true, .clock_error_ns = 9, .settled = true};
    TXN(1, 0, 10, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(1, 5)));
    expect(&history, &erring, "G-single-realtime", "clocks apart by at most 9 ns");
}

static void writes_against_time(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 20, 30, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 10, wr(1, 0, V(2, 10), V(3, 11)));
    expect(&history, &strict, "G0-realtime", "");
}

static void read_from_the_future(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 20, 30, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 10, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "G1c-realtime", "");
}

/* Two readers disagree about which of two writes came first; only time says who is wrong. */
static void long_fork_in_time(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 100, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 100, rd(1, 0, V(1, 5)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(3, 150, 200, rd(2, 0, V(1, 5)));
    expect(&history, &strict, "G-single-realtime", "a cycle of 2 transactions\n");
}

static void two_antidependencies_in_time(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 60, 100, rd(1, 0, V(1, 5)));
    TXN(2, 40, 80, wr(1, 0, V(1, 5), V(2, 10)), rd(2, 0, V(1, 5)));
    TXN(3, 0, 50, wr(2, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "G2-item-realtime", "a cycle of 3 transactions\n");
}

/* A longer way round is told, because it needs one antidependency less. */
static void the_worst_class_in_time_is_told(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 60, 100, rd(1, 0, V(1, 5)));
    TXN(2, 40, 80, wr(1, 0, V(1, 5), V(2, 10)), rd(2, 0, V(1, 5)));
    TXN(3, 0, 50, wr(2, 0, V(1, 5), V(2, 10)));
    TXN(4, 60, 100, rd(3, 0, V(1, 5)));
    TXN(5, 30, 100, wr(3, 0, V(1, 5), V(2, 10)), wr(4, 0, V(1, 5), V(2, 10)));
    TXN(6, 30, 100, rd(4, 0, V(2, 10)), wr(5, 0, V(1, 5), V(2, 10)));
    TXN(7, 30, 50, rd(5, 0, V(2, 10)));
    expect(&history, &strict, "G-single-realtime", "a cycle of 4 transactions\n");
}

/* Nobody knows when it had its effect: perhaps after the reader that missed it. */
static void indeterminate_has_no_end(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 10, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(1, 5)));
    TXN(3, 40, 50, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "ok", "");
}

static void indeterminate_has_a_beginning(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 20, 30, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 10, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "G1c-realtime", "");
}

/* ---- versions ---- */
static void version_twice(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "version-twice", "the same timestamp");
}

static void version_twice_with_other_en(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(2, 10), V(3, 10)));
    expect(&history, &strict, "version-twice", "");
}

static void two_items_may_share_a_version(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 1, V(1, 5), V(2, 10)));
    expect(&history, &strict, "ok", "");
}

static void overwritten_unseen(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 11)));
    expect(&history, &strict, "version-gap",
           "version-gap (lost update)\n"
           "T2 (cn 0, coordinator 2, 0..1000 ns) wrote accounts[1].cell 0 version EN 2 TS 11 over version EN 1 TS 5\n"
           "but below it is what another one wrote, and is lost thereby: T1 (cn 1, coordinator 1, 0..1000 ns) wrote "
           "accounts[1].cell 0 version EN 2 TS 10\n");
}

static void epoch_number_skipped(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(3, 10)));
    expect(&history, &strict, "version-gap", "not the next epoch number");
}

static void epoch_number_kept(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(1, 10)));
    expect(&history, &strict, "version-gap", "");
}

static void epoch_numbers_come_round(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(65535, 5), V(0, 10)));
    TXN(2, 0, 1000, wr(1, 1, V(15, 5), V(0, 10)));
    expect(&history, &strict, "ok", "");
}

static void timestamp_not_later(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 10), V(2, 10)));
    expect(&history, &strict, "version-gap", "");
}

static void over_what_nobody_wrote(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(2, 9), V(3, 11)));
    expect(&history, &strict, "version-gap", "");
}

/* ---- reads of what nobody wrote ---- */
static void invented_read(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(3, 11)));
    expect(&history, &strict, "G1a",
           "read accounts[1].cell 0 version EN 3 TS 11, which no transaction wrote\n"
           "the last version up to then: T1 (cn 1, coordinator 1, 0..1000 ns) wrote accounts[1].cell 0 version EN 2 TS "
           "10\n");
}

static void read_of_another_epoch(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 10)));
    expect(&history, &strict, "G1a", "");
}

static void two_loaded_versions(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 6)));
    expect(&history, &strict, "G1a", "what was loaded is another version: T1");
}

static void loaded_version_is_the_one_overwritten(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 6), V(2, 10)));
    expect(&history, &strict, "G1a", "version EN 2 TS 10 over version EN 1 TS 6");
}

static void read_of_a_failed_write(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_FAILED, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "G1a", "which had no effect");
}

static void failed_writes_are_not_there(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_FAILED, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)));
    TXN(3, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(4, 0, 1000, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "ok", "");
}

static void other_bytes(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    struct history_access torn = rd(1, 0, V(2, 10));
    torn.digest = 99;
    TXN(2, 0, 1000, torn);
    expect(&history, &strict, "value", "read accounts[1].cell 0 version EN 2 TS 10 as bytes of digest 63\n");
}

static void other_bytes_of_what_was_loaded(void **state)
{
    struct history history = {0};
    (void)state;
    struct history_access torn = rd(1, 0, V(1, 5));
    torn.digest = 99;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)));
    TXN(2, 0, 1000, torn);
    expect(&history, &strict, "value", "");
}

static void unknown_bytes(void **state)
{
    struct history history = {0};
    (void)state;
    struct history_access blind = rd(1, 0, V(2, 10));
    blind.digest = 0;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, blind);
    expect(&history, &strict, "ok", "");
}

/* ---- indeterminate transactions ---- */
static void unseen_is_left_out(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, rd(2, 0, V(7, 70)), rd(2, 0, V(8, 80)), wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 11)));
    expect(&history, &strict, "ok", "");
}

static void read_is_counted_in(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)), rd(2, 0, V(1, 5)));
    expect(&history, &strict, "G-single", "ns, indeterminate) wrote");
}

static void overwritten_is_counted_in(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(2, 10), V(3, 11)));
    TXN(3, 0, 1000, wr(2, 0, V(1, 5), V(2, 12)));
    expect(&history, &strict, "version-gap", "is lost thereby: T1");
}

static void at_rest_is_counted_in(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    REST(1, 0, V(2, 10));
    REST(2, 0, V(1, 5));
    expect(&history, &strict, "final", "accounts[2].cell 0 in the pool at rest is version EN 1 TS 5, but");
}

static void all_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    REST(1, 0, V(2, 10));
    REST(2, 0, V(2, 10));
    expect(&history, &strict, "ok", "");
}

static void nothing_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    REST(1, 0, V(1, 5));
    REST(2, 0, V(1, 5));
    expect(&history, &strict, "ok", "");
}

/* With nodes lost it may be half done, as long as the other half is still locked: which the audit of the pool judges. */
static void half_at_rest_with_nodes_lost(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)));
    rest(&history, 1, 0, V(2, 10), 1234); /* not all its lines are written */
    REST(2, 0, V(1, 5));
    expect(&history, &unsettled, "ok", "");
}

static void committed_at_rest_with_nodes_lost(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 1, V(1, 5), V(2, 10)));
    REST(1, 0, V(2, 10));
    REST(1, 1, V(1, 5));
    expect(&history, &unsettled, "final", "T2");
}

/* One that is seen itself saw another one, and so on. */
static void counted_in_one_through_the_other(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(4, 0, V(1, 5), V(2, 10)));
    TXN_AS(HISTORY_INDETERMINATE, 2, 0, 1000, rd(1, 0, V(2, 10)), wr(2, 0, V(1, 5), V(2, 20)));
    TXN_AS(HISTORY_INDETERMINATE, 3, 0, 1000, rd(2, 0, V(2, 20)), wr(3, 0, V(1, 5), V(2, 30)));
    TXN(4, 0, 1000, rd(3, 0, V(2, 30)), rd(4, 0, V(1, 5)));
    expect(&history, &strict, "G-single", "a cycle of 4 transactions");
}

/* A version that a committed transaction wrote says nothing of one that meant to write the same. */
static void the_same_version_was_meant(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(3, 0, 1000, rd(1, 0, V(2, 10)), rd(2, 0, V(1, 5)));
    expect(&history, &strict, "ok", "");
}

static void the_same_version_was_meant_twice(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN_AS(HISTORY_INDETERMINATE, 2, 500, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(3, 0, 1000, rd(1, 0, V(2, 10)), rd(2, 0, V(1, 5)));
    expect(&history, &strict, "ok", "");
}

/* ---- presence ---- */
static void a_life(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, absent(1, 5));
    TXN(2, 20, 30, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    TXN(3, 40, 50, rd(1, 0, V(1, 10)), present(1, 12));
    TXN(4, 60, 70, wr(1, 0, V(1, 10), V(2, 20)));
    TXN(5, 80, 90, del(1, 30), wr0(1, 0, V(2, 20), V(3, 30)));
    TXN(6, 100, 110, absent(1, 30));
    /* Into a slot where another key had been, whose epoch numbers were further. */
    TXN(7, 120, 130, ins(1, 40), wr(1, 0, V(9, 35), V(10, 40)));
    TXN(8, 140, 150, wr(1, 0, V(10, 40), V(11, 50)));
    REST(1, 0, V(11, 50));
    REST_PRESENT(1);
    expect(&history, &strict, "ok", "");
}

static void overlooked(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, absent(1, 12));
    expect(
        &history, &strict, "absent",
        "T2 (cn 0, coordinator 2, 0..1000 ns) found accounts[1] absent (bucket TS 12), and so found it absent; but it "
        "was there:\n"
        "T1 (cn 1, coordinator 1, 0..1000 ns) inserted accounts[1] (TS 10)\n");
}

static void looked_before(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, absent(1, 9));
    expect(&history, &strict, "ok", "");
}

static void loaded_and_overlooked(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, absent(1, 12));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)));
    expect(&history, &strict, "absent", "");
}

static void deleted_later_and_overlooked(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, absent(1, 7));
    TXN(2, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "absent", "");
}

static void inserted_twice(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, ins(1, 11), wr(1, 0, 0, V(1, 11)));
    expect(&history, &strict, "absent", "T1 (cn 1, coordinator 1, 0..1000 ns) inserted accounts[1] (TS 10)");
}

static void inserted_over_what_was_loaded(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)));
    expect(&history, &strict, "absent", "");
}

static void deleted_twice(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, del(1, 11), wr0(1, 0, V(2, 10), V(3, 11)));
    expect(&history, &strict, "absent", "");
}

static void read_after_its_delete(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "absent", "in deleting it");
}

static void written_after_its_delete(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(2, 10), V(3, 11)));
    expect(&history, &strict, "absent", "");
}

static void found_present_too_early(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, present(1, 8));
    TXN(2, 0, 1000, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    expect(&history, &strict, "absent", "and so found a record");
}

/* Both found the other's key absent: a write skew of keys. */
static void phantom_skew(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, absent(1, 5), ins(2, 10), wr(2, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, absent(2, 5), ins(1, 10), wr(1, 0, 0, V(1, 10)));
    expect(&history, &strict, "G2-item",
           "found accounts[1] absent (bucket TS 5), which T2 inserted (TS 10): T1 -> T2\n");
}

static void stale_absence(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    TXN(2, 20, 30, absent(1, 5));
    expect(&history, &strict, "G-single-realtime", "");
}

static void stale_read_of_a_deleted_record(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(1, 5)));
    expect(&history, &strict, "G-single-realtime", "which T1 deleted (EN 2 TS 10): T2 -> T1\n");
}

/* Nobody saw a version of the delete, but the absence needs it. */
static void indeterminate_delete_is_needed(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)), rd(2, 0, V(1, 5)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)));
    TXN(3, 0, 1000, absent(1, 12), wr(2, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "ok", "");
}

static void indeterminate_delete_is_not_needed(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(1, 5)), present(1, 12));
    expect(&history, &strict, "ok", "");
}

/* One of the two must have been, but nobody knows which: the one that would be wrong is not blamed. */
static void either_delete_would_do(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    TXN_AS(HISTORY_INDETERMINATE, 2, 0, 1000, del(1, 11), wr0(1, 0, V(1, 5), V(2, 11)), rd(2, 0, V(2, 12)));
    TXN(3, 0, 1000, ins(1, 12), wr(1, 0, 0, V(1, 12)), wr(2, 0, V(1, 5), V(2, 12)));
    TXN(4, 0, 1000, rd(1, 0, V(1, 5)));
    expect(&history, &strict, "ok", "");
}

static void indeterminate_insert_is_needed_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, ins(1, 10), wr(1, 0, 0, V(1, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, absent(1, 4));
    REST_PRESENT(1);
    REST(2, 0, V(1, 5));
    expect(&history, &strict, "final", "");
}

/* ---- the pool at rest ---- */
static void as_written(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, del(2, 10), wr0(2, 0, V(1, 5), V(2, 10)));
    REST(1, 0, V(2, 10));
    REST_ABSENT(2);
    expect(&history, &strict, "ok", "and the pool at rest");
}

static void lost_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    REST(1, 0, V(1, 5));
    expect(&history, &strict, "final",
           "accounts[1].cell 0 in the pool at rest is version EN 1 TS 5, but the last to change it was another\n"
           "T1 (cn 1, coordinator 1, 0..1000 ns) wrote accounts[1].cell 0 version EN 2 TS 10\n");
}

static void unexplained_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    REST(1, 0, V(3, 11));
    expect(&history, &unsettled, "final", "");
}

static void damaged_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    rest(&history, 1, 0, V(2, 10), 99);
    expect(&history, &unsettled, "final", "with other bytes");
}

static void missing_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    history.has_final = true;
    expect(&history, &strict, "final", "accounts[1].cell 0 is not in the pool at rest, but should be\n");
}

/* One of the two was, and nobody knows which (either_delete_would_do). */
static void deleted_at_rest_by_either(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN_AS(HISTORY_INDETERMINATE, 2, 0, 1000, del(1, 11), wr0(1, 0, V(2, 10), V(3, 11)));
    TXN_AS(HISTORY_INDETERMINATE, 3, 0, 1000, del(1, 11), wr0(1, 0, V(2, 10), V(3, 11)));
    REST_ABSENT(1);
    expect(&history, &strict, "ok", "");
}

static void hidden_at_rest_with_nodes_lost(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    history.has_final = true;
    expect(&history, &unsettled, "ok", "");
}

static void still_there_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    REST(1, 0, V(1, 5));
    REST_PRESENT(1);
    expect(&history, &strict, "final", "accounts[1] is in the pool at rest, but should not be\n");
}

static void gone_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    REST(1, 0, V(1, 10));
    REST_ABSENT(1);
    expect(&history, &strict, "final", "accounts[1] is not in the pool at rest, but should be\n");
}

/* ---- size ---- */

/* A cycle of 40 transactions: more than the verdict has room for. And a chain so long that recursion would not survive it. */
static void long_cycle(void **state)
{
    struct history history = {0};
    (void)state;
    for (uint64_t i = 0; i < 40; i++) TXN(i, 0, 1000, rd(i, 0, V(1, 5)), wr((i + 1) % 40, 0, V(1, 5), V(2, 10 + i)));
    expect(&history, &strict, "G2-item", "a cycle of 40 transactions\n");
}

static void long_chain(void **state)
{
    struct history history = {0};
    (void)state;
    struct history_verdict verdict;
    for (uint64_t i = 0; i < 300000; i++) TXN(i, i, i, wr(1, 0, V((uint16_t)i, i), V((uint16_t)(i + 1), i + 1)));
    assert_int_equal(history_check(&history, &strict, &verdict), 0);
    assert_int_equal(verdict.edges, 299999);
    assert_int_equal(verdict.items, 1);
    assert_int_equal(verdict.txns, 300000);
    /* The first is told to have been after the last. */
    history.txns[0].begin_ns = history.txns[0].end_ns = 400000;
    assert_int_equal(history_check(&history, &strict, &verdict), -CELLAR_ERR_CORRUPT);
    assert_string_equal(verdict.kind, "G0-realtime");
    assert_int_equal(verdict.cycle_count, 2);
    history_free(&history);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_in_order),
        cmocka_unit_test(dirty_write),
        cmocka_unit_test(circular_flow),
        cmocka_unit_test(read_skew),
        cmocka_unit_test(snapshot_is_no_read_skew),
        cmocka_unit_test(lost_update),
        cmocka_unit_test(unrepeatable_read),
        cmocka_unit_test(write_skew),
        cmocka_unit_test(serial_is_no_write_skew),
        cmocka_unit_test(read_only_anomaly),
        cmocka_unit_test(the_worst_class_is_told),
        cmocka_unit_test(failed_reads_count),
        cmocka_unit_test(stale_read),
        cmocka_unit_test(stale_read_is_serializable),
        cmocka_unit_test(overlapping_is_not_stale),
        cmocka_unit_test(clocks_may_err),
        cmocka_unit_test(clocks_err_no_further),
        cmocka_unit_test(writes_against_time),
        cmocka_unit_test(read_from_the_future),
        cmocka_unit_test(long_fork_in_time),
        cmocka_unit_test(two_antidependencies_in_time),
        cmocka_unit_test(the_worst_class_in_time_is_told),
        cmocka_unit_test(indeterminate_has_no_end),
        cmocka_unit_test(indeterminate_has_a_beginning),
        cmocka_unit_test(version_twice),
        cmocka_unit_test(version_twice_with_other_en),
        cmocka_unit_test(two_items_may_share_a_version),
        cmocka_unit_test(overwritten_unseen),
        cmocka_unit_test(epoch_number_skipped),
        cmocka_unit_test(epoch_number_kept),
        cmocka_unit_test(epoch_numbers_come_round),
        cmocka_unit_test(timestamp_not_later),
        cmocka_unit_test(over_what_nobody_wrote),
        cmocka_unit_test(invented_read),
        cmocka_unit_test(read_of_another_epoch),
        cmocka_unit_test(two_loaded_versions),
        cmocka_unit_test(loaded_version_is_the_one_overwritten),
        cmocka_unit_test(read_of_a_failed_write),
        cmocka_unit_test(failed_writes_are_not_there),
        cmocka_unit_test(other_bytes),
        cmocka_unit_test(other_bytes_of_what_was_loaded),
        cmocka_unit_test(unknown_bytes),
        cmocka_unit_test(unseen_is_left_out),
        cmocka_unit_test(read_is_counted_in),
        cmocka_unit_test(overwritten_is_counted_in),
        cmocka_unit_test(at_rest_is_counted_in),
        cmocka_unit_test(all_at_rest),
        cmocka_unit_test(nothing_at_rest),
        cmocka_unit_test(half_at_rest_with_nodes_lost),
        cmocka_unit_test(committed_at_rest_with_nodes_lost),
        cmocka_unit_test(counted_in_one_through_the_other),
        cmocka_unit_test(the_same_version_was_meant),
        cmocka_unit_test(the_same_version_was_meant_twice),
        cmocka_unit_test(a_life),
        cmocka_unit_test(overlooked),
        cmocka_unit_test(looked_before),
        cmocka_unit_test(loaded_and_overlooked),
        cmocka_unit_test(deleted_later_and_overlooked),
        cmocka_unit_test(inserted_twice),
        cmocka_unit_test(inserted_over_what_was_loaded),
        cmocka_unit_test(deleted_twice),
        cmocka_unit_test(read_after_its_delete),
        cmocka_unit_test(written_after_its_delete),
        cmocka_unit_test(found_present_too_early),
        cmocka_unit_test(phantom_skew),
        cmocka_unit_test(stale_absence),
        cmocka_unit_test(stale_read_of_a_deleted_record),
        cmocka_unit_test(indeterminate_delete_is_needed),
        cmocka_unit_test(indeterminate_delete_is_not_needed),
        cmocka_unit_test(either_delete_would_do),
        cmocka_unit_test(indeterminate_insert_is_needed_at_rest),
        cmocka_unit_test(as_written),
        cmocka_unit_test(lost_at_rest),
        cmocka_unit_test(unexplained_at_rest),
        cmocka_unit_test(damaged_at_rest),
        cmocka_unit_test(missing_at_rest),
        cmocka_unit_test(deleted_at_rest_by_either),
        cmocka_unit_test(hidden_at_rest_with_nodes_lost),
        cmocka_unit_test(still_there_at_rest),
        cmocka_unit_test(gone_at_rest),
        cmocka_unit_test(long_cycle),
        cmocka_unit_test(long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
