/*
 * test_drop_ordered.c - a process dies at each operation of the making of a table of typed columns with its indexes,
 * and of the opening that follows: the table is there with all of them, or not at all, and its space is used again
 * (INV-RECLAIM-1..3, 6). And an index that is refused when it is made.
 */
#include "drops.h"
#include "numbered.h"
#include "db_schema.h"

static void the_making_of_an_ordered_table_is_cut_off(void **state)
{
    (void)state;
    sweep(TABLE_ORDERED, 1);
    sweep(TABLE_ORDERED, 2);
}

/* Another process has the pool open: it has to be there first, or to come later. */
static void another_process_is_in_the_way(void **state)
{
    struct dropping run = {.what = TABLE_ORDERED, .mns = 1, .again_at = UINT64_MAX, .kill_at = UINT64_MAX};
    struct cellar *other;
    (void)state;
    assert_true(begin(&run));
    assert_int_equal(open_as(&run, 1, &other), 0);
    assert_int_equal(act(&run), CELLAR_BUSY);
    assert_non_null(strstr(run.error.text, "compute node 1"));
    assert_null(cellar_table_find(run.db, "more"));
    cellar_close(other);
    assert_int_equal(act(&run), 0);
    assert_int_equal(open_as(&run, 1, &other), 0);
    struct cellar *own = run.db;
    run.db = other;
    assert_int_equal(ordered_make(&run, CELLAR_EXISTING), 0); /* the other process finds it, with its indexes */
    run.db = own;
    cellar_close(other);
    cellar_close(run.db);
    fabric_close(run.fabric);
}

static int rows_write(struct cellar_txn *txn, void *arg)
{
    (void)txn, (void)arg;
    return 0;
}

/* Refused when its nodes are there: so the pool is not to have it, now or when it is opened again. */
static void an_index_that_a_procedure_has_no_room_for(void **state)
{
    struct dropping run = {.what = INDEX_CREATE, .mns = 1, .again_at = UINT64_MAX, .kill_at = UINT64_MAX};
    const struct cellar_proc_def def = {.name = "much", .fn = rows_write, .records_max = 60, .writes_max = 60};
    const struct cellar_proc *proc;
    (void)state;
    assert_true(begin(&run));
    assert_int_equal(db_proc_register(run.db, &def, &proc, &run.error), 0);
    assert_int_equal(act(&run), CELLAR_TOO_LARGE);
    assert_non_null(strstr(run.error.text, "much"));
    assert_true(judge(&run, false) && run.old);
    assert_int_equal(cellar_lab_run(run.db, row_more, &run), 0); /* an index that is there unseen would lack it */
    cellar_close(run.db);
    run.used_before = UINT64_MAX;
    assert_true(open_again(&run));
    assert_true(judge(&run, false) && run.old);
    assert_int_equal(act(&run), 0);
    assert_true(judge(&run, true));
    cellar_close(run.db);
    fabric_close(run.fabric);
}

#ifdef CELLAR_PLANTS
static void a_table_is_there_before_its_indexes(void **state)
{
    bool any = true, met = false;
    (void)state;
    assert_true(plant_choose("table_before_indexes"));
    for (uint64_t at = 0; any && !met; at++) {
        struct dropping run = {.what = TABLE_ORDERED, .mns = 1, .kill_at = at, .again_at = UINT64_MAX};
        any = play(&run);
        met = strstr(run.verdict, "a table that is there");
    }
    assert_true(plant_choose(NULL));
    assert_true(met);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_making_of_an_ordered_table_is_cut_off),
        cmocka_unit_test(another_process_is_in_the_way),
        cmocka_unit_test(an_index_that_a_procedure_has_no_room_for),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(a_table_is_there_before_its_indexes),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
