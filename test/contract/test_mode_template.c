/*
 * test_mode_template.c - the example of docs/modes.md, "An eighth mode", as it stands there: two files and a row of
 * the table make a mode that can be chosen, and keeps what it promises: attempts of one compute node never abort each
 * other. (tests.cmake takes it out of the page.)
 */
#include "api.h"
#include "numbered.h"

#define TURNS ((enum cellar_lab_cc)4)
#define CALLS 40 /* of each coordinator */
#define HOTTEST 3

static const struct api_variant turns[] = {{"shm_turns", "shm", TURNS, true}, {"sim_turns", "sim", TURNS, false}};
static const struct api_variant cell = {"sim_cell", "sim", CELLAR_LAB_CC_CELL, false};

static int add(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int ref = cellar_proc_access(txn, call->items, HOTTEST, CELL_A, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &a));
    a++;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

static int client(struct cellar_lab_client *self, void *arg)
{
    struct api *api = arg;
    for (int i = 0; i < CALLS; i++) {
        struct api_call call = {.body = add, .items = api->items};
        struct cellar_result result;
        int rc = cellar_lab_exec(self, api->any, &call, NULL, &result);
        if (rc) return rc;
    }
    return 0;
}

/* All coordinators add to one record: how many attempts aborted. */
static uint64_t crowd(const struct api_variant *variant)
{
    struct api api;
    struct cellar_lab_stats stats;
    api_open_with(&api, variant, (struct engine_config){.threads = 2, .coros = 4});
    api_load(&api, 0, 10);
    uint64_t before = api_totals(&api).sum_a;
    cellar_lab_stats_reset(api.db);
    MUST(&api.error, cellar_lab_run(api.db, client, &api));
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(api_totals(&api).sum_a - before, 2 * 4 * CALLS);
    api_audit_clean(&api);
    api_close(&api);
    return stats.aborted;
}

static void it_is_in_the_table(void **state)
{
    assert_int_equal(mode_find("turns"), TURNS);
    assert_string_equal(mode_of(TURNS)->name, "turns");
    assert_null(mode_of((enum cellar_lab_cc)(TURNS + 1)));
}

static void its_attempts_take_turns(void **state)
{
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) assert_int_equal(crowd(&turns[i]), 0);
    assert_true(crowd(&cell) > 0); /* there is something to be kept from */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_in_the_table),
        cmocka_unit_test(its_attempts_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
