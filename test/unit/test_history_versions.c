/*
 * test_history_versions.c - hand-made histories: versions that cannot be, reads of what no transaction wrote,
 * transactions whose end is unknown.
 */
#include "history_cases.h"

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

static void over_what_none_wrote(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(2, 9), V(3, 11)));
    expect(&history, &strict, "version-gap", "");
}

/* ---- reads of what no transaction wrote ---- */

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

/*
 * With nodes lost it may be half done, as long as the other half is still locked: which the audit of the pool judges.
 */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_twice),
        cmocka_unit_test(version_twice_with_other_en),
        cmocka_unit_test(two_items_may_share_a_version),
        cmocka_unit_test(overwritten_unseen),
        cmocka_unit_test(epoch_number_skipped),
        cmocka_unit_test(epoch_number_kept),
        cmocka_unit_test(epoch_numbers_come_round),
        cmocka_unit_test(timestamp_not_later),
        cmocka_unit_test(over_what_none_wrote),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
