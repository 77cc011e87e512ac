/*
 * test_api_values_misuse.c - columns of variable length (docs/values.md): calls that are refused, and what is too
 * large.
 */
#include "db_index.h"
#include "numbered.h"
#include "docs.h"
#include "rivals.h"

/* ---- bad input ---- */

struct raw {
    struct api_call call;
    const struct cellar_table *table;
    int how;
    struct doc got;
};

static int raw_change(struct cellar_txn *txn, struct api_call *call)
{
    struct raw *raw = (struct raw *)call;
    struct doc doc = docs_row(1);
    if (raw->how == 0) return cellar_proc_insert(txn, raw->table, 512, &doc);
    if (raw->how == 1) return cellar_proc_access(txn, raw->table, 1, 0, 0, CELLAR_DELETE);
    if (raw->how == 2) return cellar_proc_access(txn, raw->table, 1, 0, CELLAR_ALL_CELLS, 0);
    int ref = cellar_proc_access(txn, raw->table, 1, CELLAR_ALL_CELLS & ~1u & 7u, 1, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, DOC_TEXT, &raw->got.text));
    return cellar_proc_put(txn, ref, DOC_STAMP, &doc.stamp);
}

static int row_load(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct doc doc = docs_row(1);
    return db_load(client, arg, 256, &doc, error);
}

static void misuse_is_refused(void **state)
{
    struct docs docs;
    size_t bytes = 0;
    if (!docs_open(&docs, *state)) skip();
    struct session *session = docs.session;
    const struct cellar_table *table = docs.table;
    docs_insert(&docs, 1);
    docs_put(&docs, 1, 100);
    struct cellar_txn *txn = sessions_begun(session);
    struct doc doc = docs_row(2);
    assert_code(cellar_txn_put(txn, table, 1, DOC_TEXT, &doc.text), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "variable length", "text");
    assert_code(cellar_txn_put_bytes(txn, table, 1, DOC_STAMP, "x", 1), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "fixed length", "stamp");
    assert_code(cellar_txn_get_bytes(txn, table, 1, 3, docs.got, 1, NULL), CELLAR_INVALID);
    assert_code(cellar_txn_get_bytes(txn, table, 1, -1, docs.got, 1, NULL), CELLAR_INVALID);
    assert_code(cellar_txn_get_bytes(txn, NULL, 1, 1, docs.got, 1, NULL), CELLAR_INVALID);
    assert_code(cellar_txn_get_bytes(txn, docs.api.items, 1, 1, docs.got, 1, NULL), CELLAR_INVALID);
    assert_code(cellar_txn_put_bytes(txn, table, 1, DOC_TEXT, docs.got, CELLAR_VALUE_BYTES_MAX + 1), CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "1048576", "text");
    assert_code(cellar_txn_get_bytes(txn, table, 1, DOC_TEXT, docs.got, 99, &bytes), CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "99", "text");
    assert_int_equal(bytes, 100);
    assert_code(cellar_txn_get_bytes(txn, table, 9, DOC_TEXT, docs.got, 99, &bytes), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_put_bytes(txn, table, 9, DOC_TEXT, docs.got, 99), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_delete(txn, table, 9), CELLAR_NOT_FOUND);
    doc.text.bytes = DOCS_ROOM + 1;
    assert_code(cellar_txn_insert(txn, table, 2, &doc), CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "room", "text");
    assert_code(cellar_value_set(&doc.text, sizeof doc.text, docs.got, DOCS_ROOM), 0);
    assert_code(cellar_value_set(&doc.text, sizeof doc.text, docs.got, DOCS_ROOM + 1), CELLAR_TOO_LARGE);
    assert_code(cellar_value_set(&doc.text, 3, docs.got, 0), CELLAR_TOO_LARGE);
    assert_code(session_commit(txn, NULL), 0);
    assert_code(cellar_txn_put_bytes(txn, table, 1, DOC_TEXT, docs.got, 9), CELLAR_INVALID);
    for (int how = 0; how < 4; how++) {
        struct raw raw = {.table = table, .how = how};
        assert_code(api_run(&docs.api, raw_change, &raw), how < 3 ? CELLAR_INVALID : 0);
        if (how == 3) assert_int_equal(raw.got.text.bytes, 100);
    }
    FAILS(&docs.api.error, api_alone(&docs.api, row_load, (void *)(uintptr_t)table), CELLAR_UNSUPPORTED,
          "variable length");
    struct session_options read_only = {.flags = CELLAR_READ_ONLY};
    assert_code(session_begin(session, &read_only, &txn), 0);
    assert_code(cellar_txn_get_bytes(txn, table, 1, DOC_TEXT, docs.got, 100, NULL), 0);
    assert_code(cellar_txn_put_bytes(txn, table, 1, DOC_TEXT, docs.got, 9), CELLAR_INVALID);
    assert_code(session_commit(txn, NULL), 0);
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

/* A transaction that has no room for a change goes on as if it had not been made. */
/* Each put with a savepoint before it takes the value's bytes twice; then there is no room for its copies any more. */
static void what_does_not_fit_changes_nothing(void **state)
{
    struct docs docs;
    size_t bytes;
    int rc = 0;
    uint64_t key = 1, puts = 0;
    if (!docs_open(&docs, *state)) skip();
    for (key = 1; key < 4; key++) docs_insert(&docs, key);
    struct cellar_txn *txn = sessions_begun(docs.session);
    docs_fill(docs.want, CELLAR_VALUE_BYTES_MAX, 1);
    assert_int_equal(cellar_savepoint(txn), 0);
    for (; rc == 0 && puts < 400; puts++)
        rc = cellar_txn_put_bytes(txn, docs.table, 1, DOC_TEXT, docs.want, CELLAR_VALUE_BYTES_MAX - puts % 2);
    assert_code(rc, CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "copies", "268435456");
    assert_code(cellar_txn_get_bytes(txn, docs.table, 1, DOC_TEXT, docs.got, CELLAR_VALUE_BYTES_MAX, &bytes), 0);
    assert_int_equal(bytes, CELLAR_VALUE_BYTES_MAX - puts % 2);
    assert_code(cellar_rollback_to(txn, 0), 0);
    assert_code(cellar_txn_get_bytes(txn, docs.table, 1, DOC_TEXT, docs.got, 5, &bytes), 0);
    assert_int_equal(bytes, 5);
    assert_code(session_abort(txn), 0);
    txn = sessions_begun(docs.session);
    for (key = 1; key < 4; key++)
        assert_code(cellar_txn_put_bytes(txn, docs.table, key, DOC_TEXT, docs.want, CELLAR_VALUE_BYTES_MAX), 0);
    assert_code(session_commit(txn, NULL), 0);
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

/* What is full is told, and what to raise: no other transaction came between. */
static void what_is_full_is_told(void **state)
{
    struct docs docs;
    if (!docs_open(&docs, *state)) skip();
    int rc = 0;
    docs_fill(docs.want, CELLAR_VALUE_BYTES_MAX, 1);
    for (uint64_t key = 1; key < 200 && rc == 0; key++) {
        struct doc doc = docs_row(key);
        struct cellar_txn *txn = sessions_begun(docs.session);
        assert_code(cellar_txn_insert(txn, docs.table, key, &doc), 0);
        assert_code(cellar_txn_put_bytes(txn, docs.table, key, DOC_TEXT, docs.want, CELLAR_VALUE_BYTES_MAX), 0);
        rc = session_commit(txn, NULL);
    }
    assert_code(rc, CELLAR_FULL);
    sessions_assert_line(CELLAR_FULL, "more rows than it was made for", "docs//");
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

static void bad_schemas_are_refused(void **state)
{
    static const struct cellar_schema_column shared[] = {
        CELLAR_COLUMN(struct doc, stamp), CELLAR_COLUMN_IN(1, struct doc, text), CELLAR_COLUMN_IN(1, struct doc, blob)};
    const struct api_variant *variant = *state;
    struct api api;
    const struct cellar_table *table;
    struct cellar_schema schema = docs_schema();
    api_open(&api, variant);
    if (variant->cc == CELLAR_LAB_CC_MOTOR) {
        FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_UNSUPPORTED, "old versions");
        api_close(&api);
        return;
    }
    schema.variable = CELLAR_BIT(DOC_STAMP);
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_INVALID, "number 0");
    schema.variable = CELLAR_BIT(DOC_COLUMNS);
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_INVALID, "number 3");
    schema.variable = CELLAR_BIT(DOC_TEXT);
    schema.columns = shared;
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_INVALID, "a cell of its own");
    schema = docs_schema();
    schema.variable = 0;
    schema.long_bytes = 5;
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_INVALID, "long_bytes");
    schema = docs_schema();
    schema.name = "a_name_of_twenty_nine_letters";
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_INVALID, "at most 28");
    schema = docs_schema();
    MUST(&api.error, db_table_create(api.db, &schema, &table, &api.error));
    schema.variable = CELLAR_BIT(DOC_BLOB);
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_MISMATCH, "variable");
    schema = docs_schema();
    schema.long_bytes = 1 << 20;
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_MISMATCH, "long values");
    const struct cellar_schema_index_column by[] = {{"text", CELLAR_SORT_BYTES, false}};
    const struct cellar_schema_index def = {.name = "by_text", .columns = by, .column_count = 1};
    const struct cellar_index *index;
    table = cellar_table_find(api.db, "docs");
    FAILS(&api.error, db_index_create(api.db, table, &def, &index, &api.error), CELLAR_INVALID, "variable length");
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(misuse_is_refused),
        API_TEST(what_does_not_fit_changes_nothing),
        API_TEST(what_is_full_is_told),
        API_TEST(bad_schemas_are_refused),
    };
    return api_main("api_values_misuse", tests, sizeof tests / sizeof *tests, argc, argv);
}
