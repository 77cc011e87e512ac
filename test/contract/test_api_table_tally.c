/*
 * test_api_table_tally.c - cellar_lab_table_read: what transactions did with the records of each table, against what
 * they were told to do.
 */
#include "db_drop.h"
#include "numbered.h"
#include "sessions.h"

#include <pthread.h>

#define THREADS 3
#define CALLS 2000

static struct cellar_lab_table_tally tally_of(struct api *api, const struct cellar_table *table)
{
    struct cellar_lab_table_tally tally;
    memset(&tally, 0xff, sizeof tally);
    cellar_lab_table_read(api->db, table, &tally);
    return tally;
}

static void assert_tally(struct api *api, const struct cellar_table *table, uint64_t read, uint64_t written,
                         uint64_t inserted, uint64_t deleted)
{
    struct cellar_lab_table_tally tally = tally_of(api, table);
    assert_int_equal(tally.read, read);
    assert_int_equal(tally.written, written);
    assert_int_equal(tally.inserted, inserted);
    assert_int_equal(tally.deleted, deleted);
}

static uint64_t conflicts_of(const struct cellar_lab_table_tally *tally)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) sum += tally->conflicts[i];
    return sum;
}

static int touch_and_refuse(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(77);
    TRY(cellar_proc_access(txn, call->items, 1, CELL_A, CELL_B, 0));
    TRY(cellar_proc_insert(txn, call->items, 77, &item));
    TRY(cellar_proc_fetch(txn));
    return ERR_GIVEN_UP;
}

/* Each kind of use, of one table and not of the other. */
static void each_use_counts(void **state)
{
    struct api api;
    struct api_call call;
    bool found;
    api_open(&api, *state);
    const struct cellar_table *other = api_table(&api, "other", 100);
    api_load(&api, 0, 10); /* without transactions */
    assert_tally(&api, api.items, 0, 0, 0, 0);
    (void)look_at(&api, 3);
    (void)look_at(&api, 99); /* and is not there */
    assert_tally(&api, api.items, 2, 0, 0, 0);
    struct add pair = add_args(&api, 1, 2), one = add_args(&api, 4, 4);
    assert_code(cellar_proc_run(api.db, api.any, &pair, NULL, &api.result), 0);
    assert_code(cellar_proc_run(api.db, api.any, &one, NULL, &api.result), 0);
    assert_tally(&api, api.items, 2, 3, 0, 0);
    assert_code(run_upsert(&api, insert_absent, 50, &found), 0); /* looks first: one record, one use */
    assert_tally(&api, api.items, 2, 3, 1, 0);
    assert_code(run_upsert(&api, insert_absent, 50, &found), 0);
    assert_tally(&api, api.items, 3, 3, 1, 0);
    assert_code(run_upsert(&api, erase, 50, &found), 0);
    assert_tally(&api, api.items, 3, 3, 1, 1);
    assert_code(run_upsert(&api, erase, 50, &found), 0); /* there is none any more */
    assert_tally(&api, api.items, 4, 3, 1, 1);
    assert_code(api_run(&api, touch_and_refuse, &call), ERR_GIVEN_UP);
    assert_tally(&api, api.items, 4, 3, 1, 1);
    assert_tally(&api, other, 0, 0, 0, 0);
    api_close(&api);
}

struct caller {
    struct api *api;
    uint32_t number;
};

static void *call_often(void *arg)
{
    const struct caller *caller = arg;
    for (uint32_t i = 0; i < CALLS; i++) {
        struct add args = add_args(caller->api, 1, 2 + (i + caller->number) % 3);
        struct cellar_result result;
        assert_int_equal(cellar_proc_run(caller->api->db, caller->api->any, &args, NULL, &result), 0);
    }
    return NULL;
}

/* Several workers, one hot record: what commits counts once, however often it was tried. */
static void what_many_workers_do_adds_up(void **state)
{
    struct api api;
    const struct api_variant *variant = *state;
    pthread_t threads[THREADS];
    struct caller callers[THREADS];
    uint64_t seen = 0;
    api_open_with(&api, variant, (struct engine_config){.threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    for (uint32_t i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){&api, i};
        if (variant->threads)
            assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
        else
            call_often(&callers[i]);
    }
    while (variant->threads && seen < 2 * THREADS * CALLS) { /* beside them: it only grows */
        struct cellar_lab_table_tally tally = tally_of(&api, api.items);
        assert_true(tally.written >= seen && tally.written <= 2 * THREADS * CALLS + 16);
        seen = tally.written;
    }
    for (uint32_t i = 0; i < THREADS && variant->threads; i++) pthread_join(threads[i], NULL);
    assert_tally(&api, api.items, 0, 2 * THREADS * CALLS, 0, 0);
    struct cellar_lab_table_tally tally = tally_of(&api, api.items);
    struct cellar_lab_stats stats;
    cellar_lab_stats_read(api.db, &stats);
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) assert_true(tally.conflicts[i] <= stats.aborts[i]);
    if (variant->cc == CELLAR_LAB_CC_CELL) assert_int_equal(conflicts_of(&tally), stats.aborted);
    api_close(&api);
}

/* Interactive: one reads what another then writes. */
static void a_conflict_names_its_table(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) return;
    const struct cellar_table *other = api_table(&pair.api, "other", 100);
    struct cellar_txn *first = sessions_begun(pair.one), *second = sessions_begun(pair.two);
    (void)sessions_got(&pair.api, first, 3);
    sessions_put(&pair.api, first, 4, 1);
    sessions_put(&pair.api, second, 3, 1);
    struct cellar_lab_table_tally before = tally_of(&pair.api, pair.api.items);
    assert_true(before.read >= 1 && before.written == 0 && conflicts_of(&before) == 0);
    assert_code(session_commit(second, NULL), 0);
    assert_code(session_commit(first, NULL), CELLAR_RETRY);
    struct cellar_lab_table_tally after = tally_of(&pair.api, pair.api.items), none = tally_of(&pair.api, other);
    assert_int_equal(after.written, 1);
    assert_int_equal(after.conflicts[CELLAR_ABORT_VALIDATION], 1);
    assert_int_equal(conflicts_of(&after), 1);
    assert_true(conflicts_of(&none) == 0 && none.read == 0 && none.written == 0);
    sessions_pair_close(&pair);
}

/* Another table with the number of one that was dropped begins with nothing; an emptied one goes on. */
static void numbers_are_used_again(void **state)
{
    struct api api;
    struct cellar_error error;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    (void)look_at(&api, 3);
    assert_code(db_table_truncate(api.db, api.items, &error), 0);
    (void)look_at(&api, 3);
    assert_tally(&api, api.items, 2, 0, 0, 0);
    const struct cellar_table *gone = api.items;
    assert_code(db_table_drop(api.db, api.items, &error), 0);
    assert_tally(&api, gone, 0, 0, 0, 0);
    api.items = api_table(&api, "items", 100);
    assert_int_equal(api.items->table->id, gone->table->id);
    assert_tally(&api, api.items, 0, 0, 0, 0);
    (void)look_at(&api, 3);
    assert_tally(&api, api.items, 1, 0, 0, 0);
    assert_tally(&api, gone, 0, 0, 0, 0);
    assert_tally(&api, NULL, 0, 0, 0, 0);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(each_use_counts),
        API_TEST(what_many_workers_do_adds_up),
        API_TEST(a_conflict_names_its_table),
        API_TEST(numbers_are_used_again),
    };
    return api_main("api_table_tally", tests, sizeof tests / sizeof *tests, argc, argv);
}
