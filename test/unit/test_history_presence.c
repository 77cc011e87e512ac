/* test_history_presence.c - hand-made histories: records that come and go, and the pool at rest. */
#include "history_cases.h"

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

/* One found the record and inserted another one; the other found that one absent, and deleted the record. */
static void existence_skew(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, present(1, 1), ins(2, 10), wr(2, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, absent(2, 5), del(1, 10), wr0(1, 0, V(1, 1), V(2, 10)));
    expect(&history, &strict, "G2-item", "");
}

static void existence_before_the_delete(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, present(1, 1), ins(2, 10), wr(2, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, absent(2, 5));
    TXN(3, 0, 1000, del(1, 12), wr0(1, 0, V(1, 1), V(2, 12)));
    expect(&history, &strict, "ok", "");
}

static void stale_existence(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, del(1, 10), wr0(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 20, 30, present(1, 5));
    expect(&history, &strict, "G-single-realtime", "");
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

/* No reader saw a version of the delete, but the absence needs it. */
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

/* One of the two must have been, but which is unknown: the one that would be wrong is not blamed. */
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

/* One of the two was, and which is unknown (either_delete_would_do). */
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

/* Its node died amid the first line: the record has its key, and still the version of what was in its slot. */
static void begun_insert_at_rest(const struct history_check_options *options, const char *kind)
{
    struct history history = {0};
    history.has_loaded = true;
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 1000, ins(1, 10), wr(1, 0, V(3, 5), V(4, 10)));
    REST_PRESENT(1);
    rest(&history, 1, 0, V(3, 5), 99);
    expect(&history, options, kind, "");
}

static void begun_insert_at_rest_with_nodes_lost(void **state)
{
    (void)state;
    begun_insert_at_rest(&unsettled, "ok");
    begun_insert_at_rest(&strict, "final");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(existence_skew),
        cmocka_unit_test(existence_before_the_delete),
        cmocka_unit_test(stale_existence),
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
        cmocka_unit_test(begun_insert_at_rest_with_nodes_lost),
        cmocka_unit_test(hidden_at_rest_with_nodes_lost),
        cmocka_unit_test(still_there_at_rest),
        cmocka_unit_test(gone_at_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
