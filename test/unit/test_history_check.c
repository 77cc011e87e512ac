/*
 * test_history_check.c - hand-made histories: one for each cycle of transactions, and beside each one that only
 * nearly is one.
 */
#include "history_cases.h"

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

/* When it had its effect is unknown: perhaps after the reader that missed it. */
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

/* ---- size ---- */

/*
 * A cycle of 40 transactions: more than the verdict has room for. And a chain so long that recursion would not
 * survive it.
 */
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
    assert_int_equal(history_check(&history, &strict, &verdict), CELLAR_CORRUPT);
    assert_string_equal(verdict.kind, "G0-realtime");
    assert_int_equal(verdict.cycle_count, 2);
    history_free(&history);
}

static struct history_access of_table(uint32_t table_id, struct history_access access)
{
    access.table_id = table_id;
    return access;
}

/* A cycle over a table that came and went is none of the others', one over these stays, and so do states of them. */
static void tables_that_pass_are_left_out(void **state)
{
    struct history history = {0};
    struct history_verdict verdict;
    (void)state;
    TXN(1, 0, 1000, of_table(3, wr(1, 0, V(1, 5), V(2, 10))), rd(7, 0, V(1, 5)), of_table(2, rd(2, 0, V(2, 11))));
    TXN(2, 0, 1000, of_table(3, rd(1, 0, V(2, 10))), of_table(2, wr(2, 0, V(1, 5), V(2, 11))), rd(8, 0, V(1, 5)));
    REST(7, 0, V(1, 5));
    rest(&history, 1, 0, V(9, 9), 1);
    REST(2, 0, V(2, 11));
    history.finals[1].table_id = 3;
    history.finals[2].table_id = 2;
    assert_int_equal(history_check(&history, &strict, &verdict), CELLAR_CORRUPT);
    history_leave_out(&history, 3);
    assert_true(history.access_count == 4 && history.final_count == 2 && history.passing == 3);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(history.txns[i].count == 2 && history.accesses[history.txns[i].first].table_id < 3);
    expect(&history, &strict, "ok", "strictly serializable");

    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), of_table(4, rd(9, 0, V(1, 5))), rd(2, 0, V(2, 11)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)), wr(2, 0, V(1, 5), V(2, 11)));
    history_leave_out(&history, 3);
    expect(&history, &strict, "G1c", "which T2 read: T1 -> T2");
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
        cmocka_unit_test(long_cycle),
        cmocka_unit_test(long_chain),
        cmocka_unit_test(tables_that_pass_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
