/*
 * test_api_drop.c - cellar.h: tables and indexes that are dropped, tables that are emptied. Their space is used again,
 * their handles say so, and what has read of them begins again.
 */
#include "bulk.h"
#include "numbered.h"
#include "db_drop.h"
#include "db_index.h"
#include "rivals.h"
#include "sessions.h"

static const struct cellar_schema_index_column by_b[] = {{"b", CELLAR_SORT_UNSIGNED, false}};
static const struct cellar_schema_index def_b = {.name = "by_b", .columns = by_b, .column_count = 1};

static const struct engine_config roomy = {.log_bytes = 512 << 10, .pool_bytes = 32 << 20};

static bool has_indexes(const struct api_variant *variant) { return variant->cc != CELLAR_LAB_CC_MOTOR; }

struct touch {
    struct api_call call;
    const struct cellar_index *index; /* NULL: the table is touched */
    uint64_t key, a;
};

static int row_add(struct cellar_txn *txn, struct api_call *call)
{
    const struct touch *touch = (const struct touch *)call;
    struct item item = item_of(touch->key);
    TRY(cellar_proc_insert(txn, call->items, touch->key, &item));
    return cellar_proc_fetch(txn);
}

static int touch_body(struct cellar_txn *txn, struct api_call *call)
{
    struct touch *touch = (struct touch *)call;
    struct item row = {.b = touch->key + 7};
    if (touch->index) return cellar_proc_lookup(txn, touch->index, &row, &touch->key) < 0 ? CELLAR_DROPPED : 0;
    TRY(cellar_proc_access(txn, call->items, touch->key, CELL_A, 0, 0));
    return cellar_proc_fetch(txn);
}

static void rows_add(struct api *api, uint64_t first, uint64_t count)
{
    for (uint64_t key = first; key < first + count; key++) {
        struct touch touch = {.key = key};
        assert_code(api_run(api, row_add, &touch), 0);
    }
}

static uint64_t used_bytes(struct api *api)
{
    struct cellar_lab_pool_space space;
    cellar_lab_pool_space_read(api->db, &space);
    return space.used_bytes;
}

/* Each round takes a third of the pool. */
static void space_is_used_again(void **state)
{
    struct api api;
    api_open_with(&api, *state, (struct engine_config){.pool_bytes = 8 << 20, .coros = 1});
    const struct cellar_table *other = api_table(&api, "other", 200);
    MUST(&api.error, db_table_drop(api.db, api.items, &api.error));
    uint64_t used = used_bytes(&api);
    for (int round = 0; round < 12; round++) {
        api.items = api_table(&api, "items", 4000);
        api_load(&api, 0, 6000);
        assert_int_equal(api_totals(&api).seen, 6000);
        rows_add(&api, 7000, 50);
        MUST(&api.error, db_table_drop(api.db, api.items, &api.error));
        assert_int_equal(used_bytes(&api), used);
        assert_null(cellar_table_find(api.db, "items"));
        assert_ptr_equal(cellar_schema_next(api.db, NULL), other);
        api_audit_clean(&api);
    }
    api_close(&api);
}

/* More tables, one after the other, than there may be at once. */
static void names_and_numbers_are_used_again(void **state)
{
    struct api api;
    api_open_bare(&api, *state, (struct engine_config){.coros = 1});
    for (int round = 0; round < 200; round++) {
        api.items = api_table(&api, round % 2 ? "odd" : "even", 10);
        api_load(&api, 0, 5);
        MUST(&api.error, db_table_drop(api.db, api.items, &api.error));
    }
    api_audit_clean(&api);
    api_close(&api);
}

static int gone_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct api *api = arg;
    struct cellar_lab_space space;
    struct item item = item_of(1);
    if (db_load(client, api->items, 1, &item, error) != CELLAR_DROPPED) return -1;
    if (db_space_read(client, api->items, &space, error) != CELLAR_DROPPED) return -1;
    return db_scan(client, api->items, api_sum, NULL, error) == CELLAR_DROPPED ? 0 : -1;
}

static void handles_say_that_they_lead_nowhere(void **state)
{
    struct api api;
    const struct cellar_index *index = NULL;
    struct cellar_schema told;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    struct touch touch = {.key = 3};
    api_open_with(&api, *state, roomy);
    api_load(&api, 0, 20);
    if (has_indexes(*state)) MUST(&api.error, db_index_create(api.db, api.items, &def_b, &index, &api.error));
    MUST(&api.error, db_table_drop(api.db, api.items, &api.error));
    FAILS(&api.error, db_table_drop(api.db, api.items, &api.error), CELLAR_DROPPED, "items");
    FAILS(&api.error, db_table_truncate(api.db, api.items, &api.error), CELLAR_DROPPED, "items");
    FAILS(&api.error, db_table_drop(api.db, NULL, &api.error), CELLAR_INVALID, "NULL");
    FAILS(&api.error, db_index_drop(api.db, NULL, &api.error), CELLAR_INVALID, "NULL");
    assert_code(api_run(&api, touch_body, &touch), CELLAR_DROPPED);
    assert_code(api_run(&api, row_add, &touch), CELLAR_DROPPED);
    assert_code(api_alone(&api, gone_job, &api), 0);
    cellar_schema_describe(api.items, &told, columns); /* what it was can still be asked */
    assert_string_equal(told.name, "items");
    if (index) {
        const struct cellar_index *again;
        FAILS(&api.error, db_index_drop(api.db, index, &api.error), CELLAR_DROPPED, "by_b");
        FAILS(&api.error, db_index_create(api.db, api.items, &def_b, &again, &api.error), CELLAR_DROPPED, "");
        touch.index = index;
        assert_code(api_run(&api, touch_body, &touch), CELLAR_DROPPED);
        assert_null(cellar_index_next(api.items, NULL));
    }
    api_audit_clean(&api);
    api_close(&api);
}

static void an_emptied_table_is_as_if_new(void **state)
{
    struct api api;
    const struct cellar_index *index = NULL;
    api_open_with(&api, *state, roomy);
    if (has_indexes(*state)) MUST(&api.error, db_index_create(api.db, api.items, &def_b, &index, &api.error));
    uint64_t used = 0;
    for (uint64_t round = 0; round < 4; round++) {
        rows_add(&api, 100 * round, 300);
        assert_int_equal(api_totals(&api).seen, 300);
        api_audit_clean(&api);
        MUST(&api.error, db_table_truncate(api.db, api.items, &api.error));
        assert_int_equal(api_totals(&api).seen, 0);
        assert_ptr_equal(cellar_table_find(api.db, "items"), api.items);
        assert_ptr_equal(cellar_index_find(api.items, "by_b"), index);
        api_audit_clean(&api);
        if (round) assert_int_equal(used_bytes(&api), used);
        used = used_bytes(&api);
    }
    if (!index) api_load(&api, 0, 100);
    api_audit_clean(&api);
    api_close(&api);
}

static void an_index_goes_alone(void **state)
{
    struct api api;
    const struct cellar_index *index, *again;
    struct touch touch = {.key = 3};
    if (!has_indexes(*state)) skip();
    api_open_with(&api, *state, roomy);
    for (int round = 0; round < 5; round++) {
        MUST(&api.error, db_index_create(api.db, api.items, &def_b, &index, &api.error));
        rows_add(&api, 1000 * round, 200);
        MUST(&api.error, db_index_drop(api.db, index, &api.error));
        assert_null(cellar_index_find(api.items, "by_b"));
        touch.index = index;
        assert_code(api_run(&api, touch_body, &touch), CELLAR_DROPPED);
        rows_add(&api, 1000 * round + 500, 10);
        api_audit_clean(&api);
    }
    api_load(&api, 9000, 10); /* no index stands in the way of a load any more */
    MUST(&api.error, db_index_create(api.db, api.items, &def_b, &again, &api.error));
    assert_ptr_not_equal(again, index);
    api_audit_clean(&api);
    api_close(&api);
}

/* A build that fails leaves neither its name nor its space taken. */
static void a_build_that_fails_leaves_nothing(void **state)
{
    const struct cellar_schema_index_column by_text[] = {{"n", CELLAR_SORT_UNSIGNED, false}};
    struct cellar_schema_index def = {.name = "by_n", .columns = by_text, .column_count = 1, .flags = CELLAR_UNIQUE};
    struct api api;
    const struct cellar_index *index;
    struct touch touch = {.key = 3};
    if (!has_indexes(*state)) skip();
    api_open_with(&api, *state, roomy);
    api_load(&api, 0, 50);
    struct api_range one = {api.items, 1ull << 32, 1, 0, 0}; /* its low bits are those of key 0 */
    MUST(&api.error, api_alone(&api, api_load_job, &one));
    uint64_t used = used_bytes(&api);
    FAILS(&api.error, db_index_create(api.db, api.items, &def, &index, &api.error), CELLAR_EXISTS, "by_n");
    assert_int_equal(used_bytes(&api), used);
    api_audit_clean(&api);
    def.flags = 0;
    MUST(&api.error, db_index_create(api.db, api.items, &def, &index, &api.error));
    touch.index = NULL;
    assert_code(api_run(&api, touch_body, &touch), 0);
    api_audit_clean(&api);
    api_close(&api);
}

/* Reads a record, which goes and comes again with the same versions, and commits what follows from it. */
static int commit_across(struct sessions_pair *pair)
{
    struct cellar_txn *txn = sessions_begun(pair->one);
    uint64_t a = sessions_got(&pair->api, txn, 3);
    MUST(&pair->api.error, db_table_truncate(pair->api.db, pair->api.items, &pair->api.error));
    api_load(&pair->api, 0, 10);
    sessions_put(&pair->api, txn, 4, a);
    return session_commit(txn, NULL);
}

/* INV-DRAFT-6. The same key with the same versions is there again: only the count of changes tells. */
static void open_transactions_begin_again(void **state)
{
    struct sessions_pair pair;
    struct cellar_txn *txn;
    uint64_t a;
    if (!sessions_pair_open(&pair, *state)) skip();
    assert_code(commit_across(&pair), CELLAR_RETRY);
    sessions_assert_line(CELLAR_RETRY, "emptied", "");
    txn = sessions_begun(pair.one);
    sessions_put(&pair.api, txn, 4, sessions_got(&pair.api, txn, 3));
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(pair.one);
    sessions_put(&pair.api, txn, 4, 1);
    MUST(&pair.api.error, db_table_drop(pair.api.db, pair.api.items, &pair.api.error));
    assert_code(cellar_txn_get(txn, pair.api.items, 3, ITEM_A, &a), CELLAR_DROPPED);
    sessions_assert_line(CELLAR_DROPPED, "items", "");
    int rc = session_commit(txn, NULL);
    assert_true(rc == CELLAR_RETRY || rc == CELLAR_DROPPED);
    api_audit_clean(&pair.api);
    api_close(&pair.api);
}

#ifdef CELLAR_PLANTS
static void what_was_emptied_is_not_noticed(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    assert_true(plant_choose("truncate_unnoticed"));
    int rc = commit_across(&pair);
    assert_true(plant_choose(NULL));
    assert_code(rc, 0); /* the bug is there, and open_transactions_begin_again would see it */
    api_close(&pair.api);
}
#endif

/* What is locked for update is given back. */
static void a_hold_gives_way(void **state)
{
    struct sessions_pair pair;
    struct cellar_txn *txn;
    uint64_t a;
    if (!sessions_pair_open(&pair, *state)) skip();
    assert_code(session_begin(pair.one, &(struct session_options){.lock_ns = 900000000}, &txn), 0);
    assert_code(cellar_txn_get_for_update(txn, pair.api.items, 3, ITEM_A, &a), 0);
    MUST(&pair.api.error, db_table_truncate(pair.api.db, pair.api.items, &pair.api.error));
    assert_code(session_commit(txn, NULL), CELLAR_RETRY);
    assert_code(session_begin(pair.one, &(struct session_options){.lock_ns = 900000000}, &txn), 0);
    assert_code(cellar_txn_get_for_update(txn, pair.api.items, 3, ITEM_A, &a), CELLAR_NOT_FOUND);
    MUST(&pair.api.error, db_table_drop(pair.api.db, pair.api.items, &pair.api.error));
    assert_code(session_abort(txn), 0);
    api_close(&pair.api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(space_is_used_again),
        API_TEST(names_and_numbers_are_used_again),
        API_TEST(handles_say_that_they_lead_nowhere),
        API_TEST(an_emptied_table_is_as_if_new),
        API_TEST(an_index_goes_alone),
        API_TEST(a_build_that_fails_leaves_nothing),
        API_TEST(open_transactions_begin_again),
        API_TEST(a_hold_gives_way),
#ifdef CELLAR_PLANTS
        API_TEST_ONCE(what_was_emptied_is_not_noticed),
#endif
    };
    return api_main("api_drop", tests, sizeof tests / sizeof *tests, argc, argv);
}
