/*
 * test_drop_alter.c - a process dies at each operation by which a table gets a column, and of the opening that follows:
 * what is found is the old table or the new one, with its rows, its long values and its indexes, and the other one's
 * space is used again (INV-RECLAIM-1, 5).
 */
#include "drops.h"

static void a_new_column_is_cut_off(void **state)
{
    (void)state;
    sweep(ALTER, 1);
    sweep(ALTER, 2);
}

/* BUSY while it has the pool open, and nothing has changed. */
static void another_process_is_in_the_way(void **state)
{
    struct dropping run = {.what = ALTER, .mns = 1, .again_at = UINT64_MAX, .kill_at = UINT64_MAX};
    struct cellar *other;
    (void)state;
    assert_true(begin(&run));
    assert_int_equal(open_as(&run, 1, &other), 0);
    const struct cellar_table *before = run.typed;
    assert_int_equal(act(&run), CELLAR_BUSY);
    assert_null(run.typed);
    assert_non_null(strstr(run.error.text, "compute node 1"));
    cellar_close(other);
    run.typed = before;
    uint64_t used_before = used(&run);
    assert_int_equal(act(&run), 0);
    assert_true(used(&run) <= used_before + (128 << 10));
    assert_true(judge(&run, true));
    cellar_close(run.db);
    fabric_close(run.fabric);
}

#ifdef CELLAR_PLANTS
/* Dies between the decision and the entry that says WHOLE. */
static void what_replaces_is_taken_for_unfinished(void **state)
{
    bool any = true, right = true;
    (void)state;
    assert_true(plant_choose("replaced_forgotten"));
    for (uint64_t at = 0; any && right && at < KILLS_MAX; at++) {
        struct dropping run = {.what = ALTER, .mns = 1, .kill_at = at, .again_at = UINT64_MAX};
        right = begin(&run);
        run.armed = true;
        (void)!act(&run);
        run.armed = false;
        any = run.dead;
        cellar_close(run.db);
        if (any) fabric_sim_cn_again(run.fabric, 0);
        right = right && open_again(&run) && judge(&run, false);
        if (run.db) cellar_close(run.db);
        fabric_close(run.fabric);
    }
    assert_true(plant_choose(NULL));
    assert_false(right);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_column_is_cut_off),
        cmocka_unit_test(another_process_is_in_the_way),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(what_replaces_is_taken_for_unfinished),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
