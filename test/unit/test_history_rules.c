/*
 * test_history_rules.c - hand-made histories: what was loaded, rules for single transactions, ranges, and histories
 * that break off. Each has the harmless one beside it.
 */
#include "history_cases.h"

static void loaded(struct history *history, uint64_t key, uint16_t cell, uint64_t version, uint64_t digest)
{
    const struct history_final state = {.table_id = 1, .key = key, .cell = cell, .version = version, .digest = digest};
    assert_int_equal(history_loaded_add(history, &state), 0);
    history->has_loaded = true;
}

#define LOADED(key, cell, version) loaded(&history, key, cell, version, DIGEST(version))
#define LOADED_PRESENT(key) loaded(&history, key, HISTORY_PRESENCE, 0, 1)

/* ---- what was loaded ---- */

static void loaded_and_read(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    LOADED(2, 0, V(1, 1));
    LOADED_PRESENT(3);
    TXN(1, 0, 10, rd(1, 0, V(1, 1)), absent(4, 1), present(3, 1));
    TXN(2, 20, 30, rd(2, 0, V(1, 1)), wr(2, 0, V(1, 1), V(2, 10)), ins(4, 10), wr(4, 0, V(7, 9), V(8, 10)));
    TXN(3, 40, 50, del(1, 20), wr0(1, 0, V(1, 1), V(2, 20)));
    expect(&history, &strict, "ok", "");
}

/* Only one transaction saw it: without what was loaded nothing contradicts it. */
static void invented_version(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN(1, 0, 10, rd(1, 0, V(1, 7)));
    expect(&history, &strict, "G1a",
           "read accounts[1].cell 0 version EN 1 TS 7, which no transaction wrote, and which was not loaded\n"
           "what was loaded is another version: accounts[1].cell 0 was loaded as version EN 1 TS 1\n");
}

static void invented_record(void **state)
{
    struct history history = {.has_loaded = true};
    (void)state;
    TXN(1, 0, 10, rd(1, 0, V(1, 1)));
    expect(&history, &strict, "G1a", "which was not loaded");
}

static void invented_bytes(void **state)
{
    struct history history = {0};
    struct history_access read = rd(1, 0, V(1, 1));
    (void)state;
    LOADED(1, 0, V(1, 1));
    read.digest = 99;
    TXN(1, 0, 10, read);
    expect(&history, &strict, "value", "accounts[1].cell 0 was loaded as version EN 1 TS 1 as bytes of digest");
}

/* A dirty write that one transaction saw, and that was overwritten by another one. */
static void dirty_write_seen_once(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN(1, 0, 10, rd(1, 0, V(2, 5)), wr(1, 0, V(2, 5), V(3, 10)));
    expect(&history, &strict, "G1a", "");
}

static void overwritten_but_not_loaded(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN(1, 0, 10, wr(1, 0, V(2, 5), V(3, 10)));
    expect(&history, &strict, "version-gap", "but what was there is another version: accounts[1].cell 0 was loaded");
}

static void found_but_not_loaded(void **state)
{
    struct history history = {.has_loaded = true};
    (void)state;
    TXN(1, 0, 10, present(1, 1));
    expect(&history, &strict, "absent", "it was not loaded, and no transaction had inserted it");
}

static void loaded_but_found_absent(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED_PRESENT(1);
    TXN(1, 0, 10, absent(1, 1));
    expect(&history, &strict, "absent", "accounts[1] was loaded\n");
}

static void inserted_though_loaded(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED_PRESENT(1);
    TXN(1, 0, 10, ins(1, 10), wr(1, 0, 0, V(1, 10)));
    expect(&history, &strict, "absent", "");
}

/* An indeterminate write of what was read explains it. */
static void not_loaded_but_meant(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN_AS(HISTORY_INDETERMINATE, 1, 0, 10, wr(1, 0, V(1, 1), V(2, 5)));
    TXN(2, 0, 10, rd(1, 0, V(2, 5)));
    expect(&history, &strict, "ok", "");
}

/* The pool at rest tells of what was only read, too. */
static void read_and_changed_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN(1, 0, 10, rd(1, 0, V(1, 1)));
    REST(1, 0, V(2, 5));
    expect(&history, &strict, "final", "accounts[1].cell 0 in the pool at rest is version EN 2 TS 5");
}

/* ---- single transactions ---- */

/* T2 did not see what T1 wrote, and says that it read its own write: a lost update. */
static void read_of_its_own_write(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 1)), wr(1, 0, V(1, 1), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(3, 11)), wr(1, 0, V(2, 10), V(3, 11)));
    expect(&history, &strict, "own-read",
           "T2 (cn 0, coordinator 2, 0..1000 ns) read accounts[1].cell 0 version EN 3 TS 11");
}

static void presence_of_its_own_insert(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, present(1, 10), ins(1, 10), wr(1, 0, 0, V(1, 10)));
    expect(&history, &strict, "own-read", "");
}

static void read_of_what_it_overwrites(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 1)), wr(1, 0, V(1, 1), V(2, 10)));
    TXN(2, 0, 1000, rd(1, 0, V(2, 10)), wr(1, 0, V(2, 10), V(3, 11)));
    expect(&history, &strict, "ok", "");
}

static void write_of_another_time(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 1), V(2, 10)), wr(2, 0, V(1, 1), V(2, 11)));
    expect(&history, &strict, "timestamp", "wrote accounts[1].cell 0 version EN 2 TS 10, but its own timestamp is 11");
}

static void two_at_once(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 20, rd(1, 0, V(1, 1)));
    TXN(2, 10, 30, rd(1, 0, V(1, 1)));
    history.txns[1].cn = history.txns[0].cn;
    history.txns[1].coordinator = history.txns[0].coordinator;
    expect(&history, &strict, "overlap", "had not ended\nwhen T2 (cn 1, coordinator 1, 10..30 ns) began");
}

static void within_a_longer_one(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 100, rd(1, 0, V(1, 1)));
    TXN(3, 10, 20, rd(1, 0, V(1, 1)));
    TXN(5, 30, 40, rd(1, 0, V(1, 1)));
    history.txns[2].coordinator = history.txns[0].coordinator;
    expect(&history, &strict, "overlap", "T1");
}

static void one_after_the_other(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 20, rd(1, 0, V(1, 1)));
    TXN(3, 20, 30, rd(1, 0, V(1, 1)));
    TXN_AS(HISTORY_INDETERMINATE, 5, 30, INT64_MAX, wr(2, 0, V(1, 1), V(2, 10)));
    TXN(7, 40, 50, rd(1, 0, V(1, 1))); /* by one that came in its place */
    for (int i = 1; i < 4; i++) history.txns[i].coordinator = history.txns[0].coordinator;
    expect(&history, &strict, "ok", "");
}

/* ---- whole records ---- */

static void two_cells(struct history *history) { assert_int_equal(history_table_add(history, 1, 2, "accounts"), 0); }

static void insert_of_one_cell(void **state)
{
    struct history history = {0};
    (void)state;
    two_cells(&history);
    TXN(1, 0, 1000, ins(1, 10), wr(1, 1, 0, V(1, 10)));
    expect(&history, &strict, "partial", "inserted accounts[1] (TS 10), but wrote not all of its 2 cells");
}

static void delete_of_one_cell(void **state)
{
    struct history history = {0};
    (void)state;
    two_cells(&history);
    TXN(1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 1), V(2, 10)));
    expect(&history, &strict, "partial", "");
}

static void insert_and_delete_of_all(void **state)
{
    struct history history = {0};
    (void)state;
    two_cells(&history);
    TXN(1, 0, 10, ins(1, 10), wr(1, 0, 0, V(1, 10)), wr(1, 1, 0, V(1, 10)));
    TXN(2, 20, 30, del(1, 20), wr0(1, 0, V(1, 10), V(2, 20)), wr0(1, 1, V(1, 10), V(2, 20)));
    expect(&history, &strict, "ok", "");
}

static void presence_missing_at_rest(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, del(1, 10), wr0(1, 0, V(1, 1), V(2, 10)));
    history.has_final = true;
    expect(&history, &strict, "final", "accounts[1] is not in the pool at rest, but should be");
}

/* ---- aborted attempts ---- */

static void aborted_is_not_judged(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, wr(1, 0, V(1, 1), V(2, 10)));
    TXN_AS(HISTORY_ABORTED, 2, 20, 30, rd(1, 0, V(1, 1)), rd(1, 0, V(9, 99)), rd(2, 0, 0));
    TXN(3, 40, 50, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "ok", "");
}

static void aborted_has_no_effect(void **state)
{
    struct history history = {0};
    (void)state;
    TXN_AS(HISTORY_ABORTED, 1, 0, 10, wr(1, 0, V(1, 1), V(2, 10)));
    TXN(2, 20, 30, rd(1, 0, V(2, 10)));
    expect(&history, &strict, "G1a", "which had no effect");
}

/* ---- ranges ---- */

static struct history_access range(uint64_t first, uint64_t last, uint64_t ts)
{
    struct history_access access = presence(HISTORY_RANGE, first, ts);
    access.over = last;
    return access;
}

static void range_of_what_was_there(void **state)
{
    struct history history = {.has_loaded = true};
    (void)state;
    LOADED_PRESENT(5);
    TXN(1, 0, 10, ins(7, 10), wr(7, 0, 0, V(1, 10)));
    TXN(2, 20, 30, range(1, 9, 12), present(5, 12), rd(7, 0, V(1, 10)));
    TXN(3, 40, 50, ins(8, 20), wr(8, 0, 0, V(1, 20)));
    TXN(4, 60, 70, range(6, 7, 22), rd(7, 0, V(1, 10)));
    expect(&history, &strict, "ok", "");
}

static void range_that_overlooks(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, ins(7, 10), wr(7, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, range(1, 9, 12));
    expect(&history, &strict, "absent", "T2 (cn 0, coordinator 2, 0..1000 ns) found accounts[7] absent (bucket TS 12)");
}

static void range_ends_before_it(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, ins(7, 10), wr(7, 0, 0, V(1, 10)), ins(3, 10), wr(3, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, range(4, 6, 12));
    expect(&history, &strict, "ok", "");
}

/* Each inserts what the other one's range would have had to show. */
static void phantoms(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 1000, range(1, 5, 1), ins(7, 10), wr(7, 0, 0, V(1, 10)));
    TXN(2, 0, 1000, range(6, 9, 1), ins(3, 11), wr(3, 0, 0, V(1, 11)));
    expect(&history, &strict, "G2-item", "a cycle of 2 transactions");
}

static void stale_range(void **state)
{
    struct history history = {0};
    (void)state;
    TXN(1, 0, 10, ins(7, 10), wr(7, 0, 0, V(1, 10)));
    TXN(2, 20, 30, range(1, 9, 5));
    expect(&history, &strict, "G-single-realtime", "");
}

/* ---- histories that break off ---- */

static void torn_excuses_what_may_be_missing(void **state)
{
    struct history history = {.torn = true, .has_loaded = true};
    (void)state;
    LOADED(1, 0, V(1, 1));
    TXN(1, 0, 10, rd(1, 0, V(2, 5)), wr(1, 0, V(2, 5), V(3, 10)), absent(2, 3), rd(3, 0, V(4, 4)));
    TXN(2, 20, 30, rd(2, 0, V(1, 9)));
    expect(&history, &strict, "ok", "as far as the history goes");
}

static void torn_is_still_a_cycle(void **state)
{
    struct history history = {.torn = true};
    (void)state;
    TXN(1, 0, 1000, rd(1, 0, V(1, 5)), rd(2, 0, V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)), wr(2, 0, V(1, 5), V(2, 10)));
    expect(&history, &strict, "G-single", "");
}

static void torn_is_still_a_lost_update(void **state)
{
    struct history history = {.torn = true};
    (void)state;
    TXN(1, 0, 1000, wr(1, 0, V(1, 5), V(2, 10)));
    TXN(2, 0, 1000, wr(1, 0, V(1, 5), V(2, 11)));
    expect(&history, &strict, "version-gap", "is lost thereby");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loaded_and_read),
        cmocka_unit_test(invented_version),
        cmocka_unit_test(invented_record),
        cmocka_unit_test(invented_bytes),
        cmocka_unit_test(dirty_write_seen_once),
        cmocka_unit_test(overwritten_but_not_loaded),
        cmocka_unit_test(found_but_not_loaded),
        cmocka_unit_test(loaded_but_found_absent),
        cmocka_unit_test(inserted_though_loaded),
        cmocka_unit_test(not_loaded_but_meant),
        cmocka_unit_test(read_and_changed_at_rest),
        cmocka_unit_test(read_of_its_own_write),
        cmocka_unit_test(presence_of_its_own_insert),
        cmocka_unit_test(read_of_what_it_overwrites),
        cmocka_unit_test(write_of_another_time),
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(within_a_longer_one),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(insert_of_one_cell),
        cmocka_unit_test(delete_of_one_cell),
        cmocka_unit_test(insert_and_delete_of_all),
        cmocka_unit_test(presence_missing_at_rest),
        cmocka_unit_test(aborted_is_not_judged),
        cmocka_unit_test(aborted_has_no_effect),
        cmocka_unit_test(range_of_what_was_there),
        cmocka_unit_test(range_that_overlooks),
        cmocka_unit_test(range_ends_before_it),
        cmocka_unit_test(phantoms),
        cmocka_unit_test(stale_range),
        cmocka_unit_test(torn_excuses_what_may_be_missing),
        cmocka_unit_test(torn_is_still_a_cycle),
        cmocka_unit_test(torn_is_still_a_lost_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
