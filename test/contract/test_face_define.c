/* test_face_define.c - tables of typed columns: what defines one, what does not match, and what calls refuse. */
#include "cellar_proc.h"
#include "numbered.h"
#include "typed_bank.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- definitions ---- */

static void one_definition_gives_one_handle(void **state)
{
    struct bank bank;
    const struct cellar_table *again;
    (void)state;
    bank_open(&bank);
    for (int i = 0; i < 3; i++) {
        ok(cellar_table_open(bank.db, CELLAR_TABLE(struct account, columns, .name = "accounts", .rows = 9), 0, &again));
        assert_ptr_equal(again, bank.accounts);
    }
    /* Columns of the same width that have changed places. */
    struct cellar_column turned[6];
    memcpy(turned, columns, sizeof turned);
    turned[CENTS].offset = columns[RATE].offset;
    turned[RATE].offset = columns[CENTS].offset;
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct account, turned, .name = "accounts"), 0, &again));
    assert_ptr_not_equal(again, bank.accounts);
    bank_close(&bank);
}

static void a_set_has_key_columns_alone(void **state)
{
    struct edge {
        uint32_t from, to;
    } edge = {1, 2};
    const struct cellar_column edges[] = {{CELLAR_FIELD(struct edge, to), .flags = CELLAR_KEY},
                                          {CELLAR_FIELD(struct edge, from), .flags = CELLAR_KEY}};
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct edge, edges, .name = "edges"), 0, &table));
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, table, CELLAR_ALL, &edge));
    ok(cellar_insert(txn, table, &(struct edge){2, 1}));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    ok(cellar_get(txn, table, 0, 0, &edge));
    ok(cellar_get(txn, table, 0, CELLAR_ALL, &(struct edge){2, 1}));
    refused(cellar_get(txn, table, 0, 0, &(struct edge){2, 2}), CELLAR_NOT_FOUND, "");
    ok(cellar_delete(txn, table, &edge));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    refused(cellar_get(txn, table, 0, 0, &edge), CELLAR_NOT_FOUND, "");
    cellar_abort(txn);
    bank_close(&bank);
}

/* More columns than there are cells: the last ones share one. */
static void wide_rows_share_cells(void **state)
{
    struct wide {
        uint64_t id, values[CELLAR_COLUMNS_MAX - 1];
    } row = {.id = 4}, found = {.id = 4};
    struct cellar_column wide[CELLAR_COLUMNS_MAX] = {{CELLAR_FIELD(struct wide, id), .flags = CELLAR_KEY}};
    char names[CELLAR_COLUMNS_MAX][8];
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    for (uint32_t i = 1; i < CELLAR_COLUMNS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "v%u", i);
        wide[i] = (struct cellar_column){names[i], i * 8, 8, CELLAR_INT, 0, 0, i % 7 == 0 ? 1 + i % 3 : 0};
        row.values[i - 1] = i * 1000;
    }
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct wide, wide, .name = "wide"), 0, &table));
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_put(txn, table, CELLAR_ALL, &row));
    ok(cellar_commit(txn, NULL));
    txn = begun(&bank);
    ok(cellar_put(txn, table, CELLAR_COL(63), &(struct wide){.id = 4, .values[62] = 5}));
    ok(cellar_commit(txn, NULL));
    row.values[62] = 5;
    txn = begun(&bank);
    ok(cellar_get(txn, table, CELLAR_ALL, 0, &found));
    assert_memory_equal(&found, &row, sizeof row);
    cellar_abort(txn);
    bank_close(&bank);
}

static void a_file_keeps_types(void **state)
{
    char path[] = "/tmp/cellar_rows_XXXXXX";
    struct account row = {.branch = -3, .id = 7};
    struct bank bank = {0};
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
    const struct cellar_options *options = CELLAR_OPTIONS(.bytes = BYTES, .durability = CELLAR_MEMORY);
    const struct cellar_table_def *def = CELLAR_TABLE(struct account, columns, .name = "accounts");
    ok(cellar_open(path, options, &bank.db));
    refused(cellar_table_open(bank.db, def, CELLAR_EXISTING, &bank.accounts), CELLAR_NOT_FOUND, "no table accounts");
    assert_null(bank.accounts);
    ok(cellar_table_open(bank.db, def, 0, &bank.accounts));
    inserted(&bank, &ada);
    ok(cellar_close(bank.db));
    ok(cellar_open(path, options, &bank.db));
    ok(cellar_table_open(bank.db, def, CELLAR_EXISTING, &bank.accounts));
    ok(now(&bank, &row));
    rows_are_equal(&row, &ada);
    struct cellar_column others[6];
    memcpy(others, columns, sizeof others);
    others[CENTS].type = CELLAR_UINT;
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct account, others, .name = "accounts"), 0, &bank.accounts),
            CELLAR_MISMATCH, "column cents: unsigned of 8 bytes here, signed of 8 there");
    ok(cellar_close(bank.db));
    unlink(path);
}

/* ---- misuse ---- */

static void what_is_no_definition(void **state)
{
    static const struct {
        const char *says;
        struct cellar_column column; /* beside a key */
    } cases[] = {
        {"it has no type", {"p", 8, 8, CELLAR_NO_TYPE, 0, 0, 0}},
        {"no type 9 has 8 bytes", {"p", 8, 8, 9, 0, 0, 0}},
        {"no type 1 has 3 bytes", {"p", 8, 3, CELLAR_UINT, 0, 0, 0}},
        {"no type 3 has 2 bytes", {"p", 8, 2, CELLAR_FLOAT, 0, 0, 0}},
        {"no type 4 has 0 bytes", {"p", 8, 0, CELLAR_FIXED, 0, 0, 0}},
        {"column number 1: a name", {NULL, 8, 8, CELLAR_UINT, 0, 0, 0}},
        {"column number 1: a name", {"", 8, 8, CELLAR_UINT, 0, 0, 0}},
        {"column number 1: a name", {"a name of thirty-two characters.", 8, 8, CELLAR_UINT, 0, 0, 0}},
        {"two columns named id", {"id", 8, 8, CELLAR_UINT, 0, 0, 0}},
        {"overlap in the row", {"p", 4, 8, CELLAR_UINT, 0, 0, 0}},
        {"outside the row", {"p", 17, 8, CELLAR_UINT, 0, 0, 0}},
        {"outside the row", {"p", UINT32_MAX, 8, CELLAR_UINT, 0, 0, 0}},
        {"outside the row", {"p", 8, UINT32_MAX, CELLAR_FIXED, 0, 0, 0}},
        {"flags 0x20", {"p", 8, 8, CELLAR_UINT, 32, 0, 0}},
        {"cell 21", {"p", 8, 8, CELLAR_UINT, 0, 0, 21}},
        {"cell 1", {"p", 8, 8, CELLAR_UINT, CELLAR_KEY, 0, 1}},
        {"no type 5 has 8 bytes", {"p", 8, 8, CELLAR_BYTES, CELLAR_KEY, 4, 0}},
        {"bytes_max 4: it is of BYTES", {"p", 8, 8, CELLAR_UINT, CELLAR_KEY, 4, 0}},
        {"bytes_max 0: of BYTES in a key it is 1 to 512", {"p", 8, 16, CELLAR_BYTES, CELLAR_KEY, 0, 0}},
        {"bytes_max 513", {"p", 8, 16, CELLAR_BYTES, CELLAR_KEY, 513, 0}},
        {"more than 16 columns, or 512 bytes", {"p", 8, 16, CELLAR_BYTES, CELLAR_KEY, 505, 0}},
    };
    struct row {
        uint64_t id, p, more;
    };
    struct cellar_column pair[] = {{CELLAR_FIELD(struct row, id), .flags = CELLAR_KEY}, {0}};
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pair[1] = cases[i].column;
        refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t"), 0, &table), CELLAR_INVALID,
                cases[i].says);
        assert_null(table);
    }
    pair[0].flags = 0;
    pair[1] = (struct cellar_column){CELLAR_FIELD(struct row, p)};
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t"), 0, &table), CELLAR_INVALID,
            "has no key");
    pair[0].flags = CELLAR_KEY;
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair), 0, &table), CELLAR_INVALID, "table's name");
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t"), 8, &table), CELLAR_INVALID,
            "EXISTING and ADD are what there is");
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct row, pair, .name = "t", .cluster_bits = 9), 0, &table),
            CELLAR_INVALID, "cluster_bits is 9");
    struct cellar_table_def def = *CELLAR_TABLE(struct row, pair, .name = "t");
    def.size = 0;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "cellar_table_def.size is 0");
    def.size = sizeof def;
    def.column_count = 65;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "65 columns");
    def.column_count = 2;
    def.row_bytes = 0;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "rows of 0 bytes");
    def.row_bytes = sizeof(struct row);
    def.columns = NULL;
    refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_INVALID, "0 columns");
    refused(cellar_table_open(bank.db, NULL, 0, &table), CELLAR_INVALID, "NULL");
    refused(cellar_table_open(bank.db, &def, 0, NULL), CELLAR_INVALID, "no place for the table's handle");
    refused(cellar_table_open(NULL, CELLAR_TABLE(struct row, pair, .name = "t"), 0, &table), CELLAR_INVALID, "");
    bank_close(&bank);
}

static void what_does_not_match(void **state)
{
    static const struct {
        const char *says;
        uint32_t at, count;
        struct cellar_column column;
    } cases[] = {
        {"has no column sum", CENTS, 6, {"sum", 8, 8, CELLAR_INT, 0, 0, 0}},
        {"cents: signed of 4 bytes here, signed of 8 there", CENTS, 6, {"cents", 8, 4, CELLAR_INT, 0, 0, 0}},
        {"owner: fixed of 10 bytes here, fixed of 11 there", OWNER, 6, {"owner", 24, 10, CELLAR_FIXED, 0, 0, 0}},
        {"id: not in the key here, in it there", ID, 6, {CELLAR_FIELD(struct account, id)}},
        {"its key has column id, too", ID, 1, {0}},
    };
    struct bank bank;
    const struct cellar_table *table;
    (void)state;
    bank_open(&bank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cellar_column others[6];
        memcpy(others, columns, sizeof others);
        others[cases[i].at] = cases[i].column;
        struct cellar_table_def def = *CELLAR_TABLE(struct account, others, .name = "accounts");
        def.column_count = cases[i].count;
        refused(cellar_table_open(bank.db, &def, 0, &table), CELLAR_MISMATCH, cases[i].says);
        assert_null(table);
    }
    struct cellar_column turned[2] = {columns[ID], columns[BRANCH]};
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct account, turned, .name = "accounts"), 0, &table),
            CELLAR_MISMATCH, "column id: in another place of the key there");
    /* The two kinds of tables are not taken for each other. */
    struct plain {
        uint64_t n;
    };
    const struct cellar_schema_column plain[] = {CELLAR_COLUMN(struct plain, n)};
    struct cellar_schema schema = {"plain", sizeof(struct plain), plain, 1, 10, 0, 0, 0, 0, 0};
    ok(cellar_table_create(bank.db, &schema, &table));
    struct account row = ada;
    struct cellar_txn *txn = begun(&bank);
    refused(cellar_get(txn, table, 0, 0, &row), CELLAR_INVALID, "table plain: cellar_table_open did not give");
    refused(cellar_get(txn, cellar_table_find(bank.db, "accounts"), 0, 0, &row), CELLAR_INVALID, "did not give");
    cellar_abort(txn);
    const struct cellar_column plain_columns[] = {{CELLAR_FIELD(struct plain, n), .flags = CELLAR_KEY}};
    refused(cellar_table_open(bank.db, CELLAR_TABLE(struct plain, plain_columns, .name = "plain"), 0, &table),
            CELLAR_MISMATCH, "table plain has no typed columns");
    schema.name = "accounts";
    refused(cellar_table_create(bank.db, &schema, &table), CELLAR_MISMATCH,
            "table accounts exists, with typed columns");
    ok(cellar_table_create(bank.db,
                           &(struct cellar_schema){.name = "plain",
                                                   .columns = schema.columns,
                                                   .column_count = schema.column_count,
                                                   .row_bytes = schema.row_bytes,
                                                   .records_max = schema.records_max},
                           &table));
    refused(
        cellar_table_alter(bank.db, table, CELLAR_TABLE(struct plain, plain_columns, .name = "plain"), NULL, &table),
        CELLAR_INVALID, "no typed columns");
    bank_close(&bank);
}

/* ---- calls by number ---- */

struct small {
    uint32_t id;
    int64_t n;
};
static const struct cellar_column small_columns[] = {{CELLAR_FIELD(struct small, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct small, n)}};

struct by_number {
    const struct cellar_table *table;
    uint64_t number;
    const void *row;
};

static int inserts_by_number(struct cellar_txn *txn, void *arg)
{
    const struct by_number *call = arg;
    int ref = cellar_proc_insert(txn, call->table, call->number, call->row);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}
static int deletes_by_number(struct cellar_txn *txn, void *arg)
{
    const struct by_number *call = arg;
    int ref = cellar_proc_access(txn, call->table, call->number, 0, 0, CELLAR_DELETE);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}
/* The row's first column, which is a number, by the one that its key makes. */
static int reads_by_number(struct cellar_txn *txn, void *arg)
{
    const struct by_number *call = arg;
    int64_t n = 0;
    int ref = cellar_proc_access(txn, call->table, call->number, CELLAR_ALL_CELLS, 0, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get(txn, ref, 0, &n);
    return rc ? rc : n == 100 ? 0 : 1;
}

static int run(struct bank *bank, const char *name, cellar_txn_fn fn, struct by_number *call)
{
    const struct cellar_proc *proc;
    ok(cellar_proc_register(
        bank->db, &(struct cellar_proc_def){.name = name, .fn = fn, .records_max = 1, .writes_max = 1}, &proc));
    return cellar_proc_run(bank->db, proc, call, NULL, NULL);
}

/* Where not each number is a key, rows come and go by their keys alone: INV-ROW-1. */
static void numbers_that_are_no_keys_are_refused(void **state)
{
    const uint64_t low = (uint64_t)(INT32_MAX - 2) << 32 | 7; /* of branch -3, account 7 */
    const struct small one = {5, 100};
    struct small found = {.id = 5};
    struct bank bank;
    const struct cellar_table *small;
    (void)state;
    bank_open(&bank);
    inserted(&bank, &ada);
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct small, small_columns, .name = "small"), 0, &small));
    struct cellar_txn *txn = begun(&bank);
    ok(cellar_insert(txn, small, &one));
    refused(cellar_txn_insert(txn, small, 7, &one.n), CELLAR_INVALID, "typed columns");
    ok(cellar_commit(txn, NULL));
    struct by_number call = {small, 1ull << 32, &one.n};
    refused(run(&bank, "insert", inserts_by_number, &call), CELLAR_INVALID, "typed columns");
    call.number = 5;
    refused(run(&bank, "delete", deletes_by_number, &call), CELLAR_INVALID, "typed columns");
    ok(run(&bank, "read", reads_by_number, &call));
    txn = begun(&bank);
    ok(cellar_get(txn, small, CELLAR_ALL, 0, &found));
    assert_int_equal(found.n, 100);
    cellar_abort(txn);
    /* Where each is: the row's number and its key are one thing. */
    call = (struct by_number){bank.accounts, low, NULL};
    ok(run(&bank, "read_wide", reads_by_number, &call));
    ok(run(&bank, "delete_wide", deletes_by_number, &call));
    assert_int_equal(now(&bank, &(struct account){.branch = -3, .id = 7}), CELLAR_NOT_FOUND);
    bank_close(&bank);
}

static void what_calls_refuse(void **state)
{
    struct bank bank, other;
    struct account row = ada;
    struct balance balance = {0};
    (void)state;
    bank_open(&bank);
    bank_open(&other);
    struct cellar_txn *txn = begun(&bank);
    refused(cellar_get(txn, bank.accounts, 0, 0, &balance), CELLAR_INVALID,
            "table accounts: rows of 40 bytes, this one");
    refused(cellar_put(txn, bank.balances, 0, &row), CELLAR_INVALID, "rows of 24 bytes, this one has 40");
    refused(cellar_insert(txn, bank.balances, &row), CELLAR_INVALID, "rows of 24 bytes");
    refused(cellar_delete(txn, bank.balances, &row), CELLAR_INVALID, "rows of 24 bytes");
    refused(cellar_get(txn, bank.accounts, CELLAR_COL(6), 0, &row), CELLAR_INVALID,
            "columns that its definition, of 6");
    refused(cellar_get(txn, bank.accounts, 0, CELLAR_COL(9), &row), CELLAR_INVALID,
            "columns that its definition, of 6");
    refused(cellar_put(txn, bank.accounts, CELLAR_COL(63), &row), CELLAR_INVALID, "columns that its definition, of 6");
    refused(cellar_get(txn, other.accounts, 0, 0, &row), CELLAR_INVALID, "of another database");
    refused(cellar_put(txn, NULL, 0, &row), CELLAR_INVALID, "the table is NULL");
    refused(cellar_get(txn, bank.accounts, 0, 0, (struct account *)NULL), CELLAR_INVALID, "NULL");
    refused(cellar_put(txn, bank.accounts, 0, (struct account *)NULL), CELLAR_INVALID, "NULL");
    refused(cellar_get((struct cellar_txn *)NULL, bank.accounts, 0, 0, &row), CELLAR_INVALID, "");
    ok(cellar_insert(txn, bank.accounts, &row)); /* it goes on */
    ok(cellar_commit(txn, NULL));
    refused(cellar_get(txn, bank.accounts, 0, 0, &row), CELLAR_INVALID, "has ended");
    const struct cellar_table *closed = other.accounts;
    bank_close(&other);
    txn = begun(&bank);
    refused(cellar_get(txn, closed, 0, 0, &row), CELLAR_INVALID, "one that was closed");
    cellar_abort(txn);
    ok(cellar_table_drop(bank.db, bank.accounts)); /* by any of its handles */
    txn = begun(&bank);
    refused(cellar_get(txn, bank.balances, 0, 0, &balance), CELLAR_DROPPED, "");
    cellar_abort(txn);
    ok(cellar_table_open(bank.db, CELLAR_TABLE(struct account, columns, .name = "accounts"), 0, &bank.accounts));
    assert_int_equal(now(&bank, &row), CELLAR_NOT_FOUND);
    bank_close(&bank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_definition_gives_one_handle),
        cmocka_unit_test(a_set_has_key_columns_alone),
        cmocka_unit_test(wide_rows_share_cells),
        cmocka_unit_test(a_file_keeps_types),
        cmocka_unit_test(what_is_no_definition),
        cmocka_unit_test(what_does_not_match),
        cmocka_unit_test(numbers_that_are_no_keys_are_refused),
        cmocka_unit_test(what_calls_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
