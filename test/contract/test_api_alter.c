/*
 * test_api_alter.c - cellar.h: tables that get another schema. Records keep what both schemas have, in every mode; what
 * is refused changes nothing.
 */
#include "db_alter.h"
#include "numbered.h"
#include "db_drop.h"
#include "db_index.h"
#include "rivals.h"
#include "sessions.h"

static const struct engine_config roomy = {.log_bytes = 512 << 10, .pool_bytes = 32 << 20};

struct wide {
    struct item item;
    uint64_t more;
};

struct seen {
    uint64_t count, right, more;
    uint32_t more_offset; /* 0: the column is not looked at */
};

static int seen(void *arg, uint64_t key, const void *row)
{
    struct seen *seen = arg;
    const struct item *item = row;
    struct item wanted = item_of(key);
    uint64_t more = seen->more;
    if (seen->more_offset) memcpy(&more, (const uint8_t *)row + seen->more_offset, sizeof more);
    seen->count++;
    seen->right += item->a == wanted.a && !memcmp(item->text, wanted.text, sizeof item->text) && item->n == wanted.n &&
                   more == seen->more;
    return 0;
}

struct looking {
    const struct cellar_table *table;
    struct seen seen;
};

static int look_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct looking *looking = arg;
    return db_scan(client, looking->table, seen, &looking->seen, error);
}

static void assert_records(struct api *api, uint64_t count, uint64_t more, uint32_t more_offset)
{
    struct looking looking = {api->items, {.more = more, .more_offset = more_offset}};
    MUST(&api->error, api_alone(api, look_job, &looking));
    assert_int_equal(looking.seen.count, count);
    assert_int_equal(looking.seen.right, count);
    api_audit_clean(api);
}

static void a_column_comes_and_goes(void **state)
{
    struct api api;
    const struct cellar_table *table, *old;
    uint64_t more = 4711;
    bool found;
    api_open_with(&api, *state, roomy);
    api_load(&api, 0, 500);
    old = api.items;
    MUST(&api.error, db_column_add(api.db, old, "more", 8, &more, &table, &api.error));
    assert_true(old->table->dropped && table != old);
    assert_ptr_equal(cellar_table_find(api.db, "items"), table);
    assert_ptr_equal(cellar_schema_next(api.db, NULL), table);
    assert_null(cellar_schema_next(api.db, table));
    api.items = table;
    assert_int_equal(cellar_column_of(table, "more"), ITEM_COLUMNS);
    assert_records(&api, 500, more, offsetof(struct wide, more));
    /* transactions go on with it */
    assert_code(run_upsert(&api, erase, 7, &found), 0);
    assert_true(found);
    struct add pair = add_args(&api, 1, 2);
    assert_code(cellar_proc_run(api.db, api.any, &pair, NULL, &api.result), 0);
    pair.keys[0] = 2, pair.keys[1] = 1;
    assert_code(cellar_proc_run(api.db, api.any, &pair, NULL, &api.result), 0);
    assert_records(&api, 499, more, offsetof(struct wide, more));

    MUST(&api.error, db_column_drop(api.db, api.items, "more", &table, &api.error));
    MUST(&api.error, db_column_drop(api.db, table, "b", &api.items, &api.error));
    assert_int_equal(cellar_column_of(api.items, "b"), CELLAR_NOT_FOUND);
    assert_int_equal(cellar_column_of(api.items, "n"), 2);
    assert_records(&api, 499, 0, 0);
    api_close(&api);
}

/* Another order, other cells, room for more records: all in one. */
static void a_schema_changes_as_a_whole(void **state)
{
    struct other {
        uint32_t n;
        char text[150];
        uint64_t a, fresh;
    } row = {.fresh = 9};
    const struct cellar_schema_column columns[] = {
        CELLAR_COLUMN_IN(0, struct other, n), CELLAR_COLUMN_IN(0, struct other, a), CELLAR_COLUMN(struct other, text),
        CELLAR_COLUMN(struct other, fresh)};
    const struct cellar_schema schema = {.name = "items",
                                         .row_bytes = sizeof row,
                                         .columns = columns,
                                         .column_count = 4,
                                         .records_max = 20000,
                                         .cluster_bits = 2};
    struct cellar_schema described;
    struct cellar_schema_column all[CELLAR_COLUMNS_MAX];
    const struct cellar_table *table, *again;
    struct api api;
    api_open_with(&api, *state, roomy);
    api_load(&api, 0, 300);
    MUST(&api.error, db_table_alter(api.db, api.items, &schema, &row, &table, &api.error));
    cellar_schema_describe(table, &described, all);
    assert_true(described.records_max == 20000 && described.cluster_bits == 2 && described.column_count == 4);
    MUST(&api.error, db_table_create(api.db, &schema, &again, &api.error)); /* as who opens it next will ask */
    assert_ptr_equal(again, table);
    struct session *session = sessions_possible(*state) ? sessions_opened(&api) : NULL;
    struct cellar_txn *txn = session ? sessions_begun(session) : NULL;
    for (uint64_t key = 0; key < 300 && txn; key += 37) {
        struct item item = item_of(key);
        struct other got;
        assert_code(cellar_txn_get(txn, table, key, 0, &got.n), 0);
        assert_code(cellar_txn_get(txn, table, key, 1, &got.a), 0);
        assert_code(cellar_txn_get(txn, table, key, 2, got.text), 0);
        assert_code(cellar_txn_get(txn, table, key, 3, &got.fresh), 0);
        assert_true(got.n == item.n && got.a == item.a && got.fresh == 9);
        assert_memory_equal(got.text, item.text, sizeof got.text);
    }
    if (txn) assert_code(session_commit(txn, NULL), 0);
    if (session) session_close(session);
    api_audit_clean(&api);
    api_close(&api);
}

/* The old one's space is used again: a small pool, and many times. */
static void space_is_used_again(void **state)
{
    struct api api;
    struct cellar_lab_pool_space space;
    uint64_t used = 0;
    api_open_with(&api, *state, (struct engine_config){.pool_bytes = 16 << 20, .coros = 1});
    api_load(&api, 0, 2000);
    for (int round = 0; round < 12; round++) {
        MUST(&api.error, db_column_add(api.db, api.items, "more", 8, NULL, &api.items, &api.error));
        MUST(&api.error, db_column_drop(api.db, api.items, "more", &api.items, &api.error));
        cellar_lab_pool_space_read(api.db, &space);
        if (round == 0) used = space.used_bytes;
        assert_int_equal(space.used_bytes, used);
    }
    assert_records(&api, 2000, 0, 0);
    api_close(&api);
}

/* What has no room for both stays as it is, and what was taken is given back. */
static void a_full_pool_keeps_what_it_has(void **state)
{
    struct api api;
    struct cellar_lab_pool_space before, after;
    const struct cellar_table *table;
    api_open_with(&api, *state, (struct engine_config){.pool_bytes = 8 << 20, .coros = 1});
    api_load(&api, 0, 8000);
    cellar_lab_pool_space_read(api.db, &before);
    FAILS(&api.error, db_column_add(api.db, api.items, "more", 2000, NULL, &table, &api.error), CELLAR_FULL, "");
    assert_null(table);
    cellar_lab_pool_space_read(api.db, &after);
    assert_int_equal(after.used_bytes, before.used_bytes);
    assert_ptr_equal(cellar_table_find(api.db, "items"), api.items);
    assert_records(&api, 8000, 0, 0);
    api_close(&api);
}

static void what_cannot_be_is_refused(void **state)
{
    struct api api;
    const struct cellar_table *out;
    const struct cellar_index *index;
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    const struct cellar_schema_index def = {.name = "by_key"};
    api_open_with(&api, *state, roomy);
    api_load(&api, 0, 10);
    cellar_schema_describe(api.items, &schema, columns);
#define REFUSES(call, code, word)                                                                                      \
    FAILS(&api.error, call, code, word);                                                                               \
    assert_null(out)
    REFUSES(db_column_add(api.db, NULL, "x", 8, NULL, &out, &api.error), CELLAR_INVALID, "NULL");
    REFUSES(db_column_add(api.db, api.items, NULL, 8, NULL, &out, &api.error), CELLAR_INVALID, "NULL");
    REFUSES(db_column_add(api.db, api.items, "a", 8, NULL, &out, &api.error), CELLAR_EXISTS, "column a");
    REFUSES(db_column_add(api.db, api.items, "x", 0, NULL, &out, &api.error), CELLAR_INVALID, "0 bytes");
    REFUSES(db_column_add(api.db, api.items, "x", CELLAR_COLUMN_BYTES_MAX + 1, NULL, &out, &api.error), CELLAR_INVALID,
            "4097");
    REFUSES(db_column_add(api.db, api.items, "", 8, NULL, &out, &api.error), CELLAR_INVALID, "");
    REFUSES(db_column_add(api.db, api.items, "a_name_of_more_than_thirty_one_bytes", 8, NULL, &out, &api.error),
            CELLAR_INVALID, "");
    REFUSES(db_column_drop(api.db, api.items, "nose", &out, &api.error), CELLAR_NOT_FOUND, "nose");
    REFUSES(db_column_drop(api.db, NULL, "a", &out, &api.error), CELLAR_INVALID, "NULL");
    REFUSES(db_table_alter(api.db, api.items, NULL, NULL, &out, &api.error), CELLAR_INVALID, "NULL");
    schema.name = "others";
    REFUSES(db_table_alter(api.db, api.items, &schema, NULL, &out, &api.error), CELLAR_INVALID, "others");
    schema.name = "items";
    columns[ITEM_B].bytes = 4;
    REFUSES(db_table_alter(api.db, api.items, &schema, NULL, &out, &api.error), CELLAR_MISMATCH, "column b");
    columns[ITEM_B].bytes = 8;
    schema.key_bytes = 20;
    REFUSES(db_table_alter(api.db, api.items, &schema, NULL, &out, &api.error), CELLAR_MISMATCH, "20");
    schema.key_bytes = 0;
    schema.records_max = 0;
    REFUSES(db_table_alter(api.db, api.items, &schema, NULL, &out, &api.error), CELLAR_INVALID, "records_max");
    schema.records_max = 1000;
    schema.column_count = 0;
    REFUSES(db_table_alter(api.db, api.items, &schema, NULL, &out, &api.error), CELLAR_INVALID, "");
    if (api.variant->cc != CELLAR_LAB_CC_MOTOR) {
        MUST(&api.error, db_index_create(api.db, api.items, &def, &index, &api.error));
        REFUSES(db_column_drop(api.db, api.items, "b", &out, &api.error), CELLAR_UNSUPPORTED, "by_key");
        MUST(&api.error, db_index_drop(api.db, index, &api.error));
    }
    assert_records(&api, 10, 0, 0);
    const struct cellar_table *old = api.items;
    MUST(&api.error, db_column_drop(api.db, old, "b", &api.items, &api.error));
    REFUSES(db_column_drop(api.db, old, "a", &out, &api.error), CELLAR_DROPPED, "items");
    MUST(&api.error, db_column_drop(api.db, api.items, "text", &api.items, &api.error));
    MUST(&api.error, db_column_drop(api.db, api.items, "n", &api.items, &api.error));
    REFUSES(db_column_drop(api.db, api.items, "a", &out, &api.error), CELLAR_INVALID, "only column");
    api_close(&api);
}

/* What an interactive transaction has read is of a table that is no more. */
static void open_transactions_begin_again(void **state)
{
    struct sessions_pair pair;
    const struct cellar_table *table;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    sessions_put(&pair.api, txn, 5, sessions_got(&pair.api, txn, 3));
    MUST(&pair.api.error, db_column_add(pair.api.db, pair.api.items, "more", 8, NULL, &table, &pair.api.error));
    uint64_t a;
    assert_code(cellar_txn_get(txn, pair.api.items, 4, ITEM_A, &a), CELLAR_DROPPED);
    int rc = session_commit(txn, NULL);
    assert_true(rc == CELLAR_RETRY || rc == CELLAR_DROPPED);
    pair.api.items = table;
    txn = sessions_begun(pair.one);
    (void)sessions_got(&pair.api, txn, 3);
    assert_code(session_commit(txn, NULL), 0);
    sessions_pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(a_column_comes_and_goes),   API_TEST(a_schema_changes_as_a_whole),
        API_TEST(space_is_used_again),       API_TEST(a_full_pool_keeps_what_it_has),
        API_TEST(what_cannot_be_is_refused), API_TEST(open_transactions_begin_again),
    };
    return api_main("api_alter", tests, sizeof tests / sizeof *tests, argc, argv);
}
