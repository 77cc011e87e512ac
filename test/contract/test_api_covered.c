/*
 * test_api_covered.c - cellar.h: columns that an ordered index covers. What entries say of them is what the records
 * have, whoever changed those: against a plain array, in own changes, in sessions, in built and reopened indexes.
 */
#include "ordered.h"
#include "numbered.h"
#include "plant.h"
#include "sessions.h"

#include <unistd.h>

#define KEYS 700

static const struct cellar_schema_index_column a_covers[] = {
    {"a", CELLAR_SORT_UNSIGNED, false}, {"n", CELLAR_COVERED, false}, {"b", CELLAR_COVERED, false}};
static const struct cellar_schema_index_column a_alone[] = {{"a", CELLAR_COVERED, false}};
static const struct cellar_schema_index_column b_covers[] = {{"b", CELLAR_SORT_UNSIGNED, true},
                                                             {"a", CELLAR_COVERED, false}};

struct covered {
    struct ordered ordered;
    const struct cellar_index *by_a, *by_key, *by_b;
    uint64_t b[KEYS];
};

static void covered_indexes(struct covered *covered)
{
    struct api *api = &covered->ordered.api;
    covered->by_a = ordered_index(api, "by_a", a_covers, 3, 0);
    covered->by_key = ordered_index(api, "by_key", a_alone, 1, 0);
    covered->by_b = ordered_index(api, "by_b", b_covers, 2, CELLAR_UNIQUE);
}

static void covered_open(struct covered *covered, const struct api_variant *variant)
{
    memset(covered, 0, sizeof *covered);
    api_open_with(&covered->ordered.api, variant, (struct engine_config){.log_bytes = ORDERED_LOG_BYTES});
    covered_indexes(covered);
}

/* ---- scans ---- */

struct covered_scan {
    struct api_call call;
    const struct cellar_index *index;
    uint32_t flags, count;
    uint64_t keys[KEYS];
    struct item rows[KEYS];
};

static int scan(struct cellar_txn *txn, struct api_call *call)
{
    static const struct cellar_range all = {.high_key = UINT64_MAX};
    struct covered_scan *scan = (struct covered_scan *)call;
    int cursor = cellar_proc_cursor_open(txn, scan->index, &all, 0, 0, scan->flags, 0), got;
    TRY(cursor);
    for (scan->count = 0; (got = cellar_proc_cursor_next(txn, cursor, &scan->keys[scan->count], NULL)) == 1;) {
        TRY(cellar_proc_cursor_row(txn, cursor, &scan->rows[scan->count]));
        if (++scan->count == KEYS) return ERR_GIVEN_UP;
    }
    TRY(got);
    return cellar_proc_cursor_close(txn, cursor);
}

/* What `cells` of each row are is what the array says. */
static void compare(struct covered *covered, const struct cellar_index *index, cellar_cells cells, uint32_t flags)
{
    static struct covered_scan found;
    found.index = index;
    found.flags = flags;
    memset(found.rows, 0, sizeof found.rows);
    assert_code(api_run(&covered->ordered.api, scan, &found), 0);
    uint32_t there = 0;
    for (uint32_t key = 0; key < KEYS; key++) there += covered->ordered.there[key];
    assert_int_equal(found.count, there);
    for (uint32_t i = 0; i < found.count; i++) {
        uint64_t key = found.keys[i];
        struct item wanted = ordered_item(key, covered->ordered.a[key]);
        assert_true(covered->ordered.there[key]);
        assert_int_equal(found.rows[i].a, cells & CELL_A ? wanted.a : 0);
        assert_int_equal(found.rows[i].b, cells & CELL_B ? covered->b[key] : 0);
        assert_int_equal(found.rows[i].n, cells & CELL_N ? wanted.n : 0);
        assert_int_equal(found.rows[i].text[0], 0); /* which no index has: it stays */
    }
}

static void compare_all(struct covered *covered)
{
    for (uint32_t flags = 0; flags <= CELLAR_BACKWARD; flags += CELLAR_BACKWARD) {
        compare(covered, covered->by_a, CELL_A | CELL_N | CELL_B, flags);
        compare(covered, covered->by_key, CELL_A, flags);
        compare(covered, covered->by_b, CELL_B | CELL_A, flags);
    }
}

/* As ordered_draw, and b follows its key. */
static void change_some(struct covered *covered, struct prng *prng, uint64_t values)
{
    static struct ordered_change change;
    ordered_draw(prng, &change, KEYS - 1, values);
    ordered_call(&covered->ordered, &change);
    for (uint32_t i = 0; i < change.count; i++) covered->b[change.steps[i].key] = item_of(change.steps[i].key).b;
}

static void entries_have_what_records_have(void **state)
{
    static struct covered covered;
    struct prng prng;
    if (!ordered_supported(*state)) return;
    covered_open(&covered, *state);
    prng_seed(&prng, 11);
    for (uint32_t round = 0; round < 300; round++) {
        change_some(&covered, &prng, round % 2 ? 30 : 1000000);
        if (round % 50 == 0) compare_all(&covered);
        if (round % 100 == 0) api_audit_clean(&covered.ordered.api);
    }
    compare_all(&covered);
    ordered_close(&covered.ordered);
}

/* ---- a covered column alone ---- */

struct put {
    struct api_call call;
    const struct cellar_index *index;
    uint64_t key, b;
    struct item seen;
};

/* Another b of a record; and what a scan of by_a then says of it. */
static int put_then_scan(struct cellar_txn *txn, struct api_call *call)
{
    static const struct cellar_range all;
    struct put *put = (struct put *)call;
    uint64_t key;
    int ref = cellar_proc_access(txn, call->items, put->key, 0, CELL_B, 0), got;
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_put(txn, ref, ITEM_B, &put->b));
    int cursor = cellar_proc_cursor_open(txn, put->index, &all, 0, 0, 0, 0);
    TRY(cursor);
    while ((got = cellar_proc_cursor_next(txn, cursor, &key, NULL)) == 1)
        if (key == put->key) TRY(cellar_proc_cursor_row(txn, cursor, &put->seen));
    return got;
}

static void puts_of_covered_columns_are_seen(void **state)
{
    static struct covered covered;
    struct prng prng;
    if (!ordered_supported(*state)) return;
    covered_open(&covered, *state);
    prng_seed(&prng, 12);
    for (uint32_t round = 0; round < 40; round++) change_some(&covered, &prng, 1000);
    for (uint64_t key = 0; key < KEYS; key++) {
        if (!covered.ordered.there[key]) continue;
        struct put put = {.index = covered.by_a, .key = key, .b = 90000 + key};
        assert_code(api_run(&covered.ordered.api, put_then_scan, &put), 0);
        assert_int_equal(put.seen.b, 90000 + key); /* its own, not committed yet */
        covered.b[key] = 90000 + key;
        if (key == KEYS / 2) compare_all(&covered);
    }
    compare_all(&covered);
    ordered_close(&covered.ordered);
}

/* ---- sessions ---- */

static int rows_of(struct cellar_txn *txn, const struct cellar_index *index, uint32_t flags, uint64_t *keys,
                   struct item *rows)
{
    static const struct cellar_range all = {.high_key = UINT64_MAX};
    memset(rows, 0, 8 * sizeof *rows);
    return cellar_txn_scan_rows(txn, index, &all, flags, keys, rows, 8);
}

static void sessions_read_no_records(void **state)
{
    static struct covered covered;
    static struct ordered_change change;
    struct item rows[8];
    uint64_t keys[8], b = 77;
    const struct api_variant *variant = *state;
    if (!ordered_supported(variant) || !sessions_possible(variant)) skip();
    covered_open(&covered, variant);
    change.count = 5;
    for (uint32_t i = 0; i < 5; i++) {
        change.steps[i].key = i;
        change.steps[i].a = 100 - 10 * i;
        change.steps[i].kind = ORDERED_PUT;
    }
    ordered_call(&covered.ordered, &change);
    struct session *one = sessions_opened(&covered.ordered.api), *two = sessions_opened(&covered.ordered.api);
    struct cellar_txn *txn = sessions_begun(one), *other = sessions_begun(two);
    assert_int_equal(rows_of(txn, covered.by_a, 0, keys, rows), 5);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(keys[i], 4 - i);
        assert_int_equal(rows[i].a, 60 + 10 * i);
        assert_int_equal(rows[i].b, item_of(keys[i]).b);
        assert_int_equal(rows[i].text[0], 0);
    }
    /* own changes, to the entry's place and to what it covers */
    assert_code(cellar_txn_put(txn, covered.ordered.api.items, 2, ITEM_B, &b), 0);
    sessions_put(&covered.ordered.api, txn, 0, 5);
    assert_int_equal(rows_of(txn, covered.by_a, CELLAR_BACKWARD, keys, rows), 5);
    assert_int_equal(keys[4], 0);
    assert_int_equal(rows[4].a, 5);
    assert_int_equal(keys[1], 2);
    assert_int_equal(rows[1].b, 77);
    assert_int_equal(rows_of(txn, covered.by_key, 0, keys, rows), 5);
    assert_int_equal(rows[0].a, 5);
    assert_int_equal(rows[1].a, 90);
    /* a commit that changes what entries cover ends a transaction that has scanned them */
    assert_int_equal(rows_of(other, covered.by_key, 0, keys, rows), 5);
    assert_code(cellar_txn_put(other, covered.ordered.api.items, 4, ITEM_TEXT, &(char[150]){"x"}), 0);
    assert_code(session_commit(txn, NULL), 0);
    assert_code(session_commit(other, NULL), CELLAR_RETRY);
    session_close(one);
    session_close(two);
    ordered_close(&covered.ordered);
}

/* ---- built, and found again ---- */

static void an_index_is_built_with_what_it_covers(void **state)
{
    static struct covered covered;
    if (!ordered_supported(*state)) return;
    memset(&covered, 0, sizeof covered);
    api_open_with(&covered.ordered.api, *state, (struct engine_config){.log_bytes = ORDERED_LOG_BYTES});
    struct prng prng;
    prng_seed(&prng, 13);
    for (uint32_t round = 0; round < 60; round++) change_some(&covered, &prng, 1000);
    covered_indexes(&covered);
    compare_all(&covered);
    for (uint32_t round = 0; round < 60; round++) change_some(&covered, &prng, 1000);
    compare_all(&covered);
    ordered_close(&covered.ordered);
}

static void definitions_are_there_again(void **state)
{
    static struct covered covered;
    const struct api_variant *variant = *state;
    char path[] = "/tmp/cellar_covered_XXXXXX";
    if (!ordered_supported(variant) || !variant->threads) return;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct prng prng;
    prng_seed(&prng, 14);
    memset(&covered, 0, sizeof covered);
    for (uint32_t life = 0; life < 2; life++) {
        struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
        struct cellar_schema_index def;
        api_open_with(&covered.ordered.api, variant,
                      (struct engine_config){.pool_path = path, .log_bytes = ORDERED_LOG_BYTES});
        covered_indexes(&covered); /* of the same definitions the same indexes */
        cellar_index_describe(covered.by_a, &def, columns);
        assert_int_equal(def.column_count, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_string_equal(columns[i].column, a_covers[i].column);
            assert_int_equal(columns[i].sort, a_covers[i].sort);
        }
        compare_all(&covered);
        for (uint32_t round = 0; round < 40; round++) change_some(&covered, &prng, 100);
        compare_all(&covered);
        ordered_close(&covered.ordered);
    }
    unlink(path);
}

/* ---- what is refused ---- */

static int row_of_nothing(struct cellar_txn *txn, struct api_call *call)
{
    static const struct cellar_range all = {.high_key = UINT64_MAX};
    struct covered_scan *scan = (struct covered_scan *)call;
    int cursor = cellar_proc_cursor_open(txn, scan->index, &all, 0, 0, 0, 0);
    TRY(cursor);
    return cellar_proc_cursor_row(txn, cursor, scan->rows);
}

static void what_cannot_be_is_refused(void **state)
{
    static struct covered_scan scan;
    struct api api;
    const struct cellar_index *index;
    if (!ordered_supported(*state)) return;
    api_open(&api, *state);
    struct cellar_schema_index_column columns[] = {{"a", CELLAR_COVERED, false}, {"b", CELLAR_SORT_UNSIGNED, false}};
    struct cellar_schema_index def = {"x", columns, 2, 0};
#define CREATE db_index_create(api.db, api.items, &def, &index, &api.error)
    FAILS(&api.error, CREATE, CELLAR_INVALID, "behind all others");
    columns[1] = (struct cellar_schema_index_column){"a", CELLAR_COVERED, false};
    FAILS(&api.error, CREATE, CELLAR_INVALID, "twice");
    columns[1] = (struct cellar_schema_index_column){"b", CELLAR_COVERED, true};
    FAILS(&api.error, CREATE, CELLAR_INVALID, "no order");
    columns[1] = (struct cellar_schema_index_column){"text", CELLAR_COVERED, false};
    FAILS(&api.error, CREATE, CELLAR_INVALID, "at most 96 are possible");
    columns[1] = (struct cellar_schema_index_column){"b", CELLAR_COVERED, false};
    MUST(&api.error, CREATE);
    def.column_count = 1;
    FAILS(&api.error, CREATE, CELLAR_MISMATCH, "items/x");
    scan.index = cellar_index_find(api.items, "x");
    assert_code(api_run(&api, row_of_nothing, &scan), CELLAR_INVALID); /* before the first record */
    assert_int_equal(api.result.detail.why, WHY_CURSOR);
    api_audit_clean(&api);
    api_close(&api);
#undef CREATE
}

#ifdef CELLAR_PLANTS
static void an_entry_left_old_is_found(void **state)
{
    static struct covered covered;
    static struct ordered_change change;
    if (!ordered_supported(*state)) return;
    covered_open(&covered, *state);
    change.count = 1;
    change.steps[0].key = 5;
    ordered_call(&covered.ordered, &change);
    assert_true(plant_choose("tree_covered_kept"));
    struct put put = {.index = covered.by_a, .key = 5, .b = 6};
    assert_code(api_run(&covered.ordered.api, put_then_scan, &put), 0);
    assert_true(plant_choose(NULL));
    FAILS(&covered.ordered.api.error, api_audit(&covered.ordered.api), CELLAR_CORRUPT, "INV-TREE-10");
    api_close(&covered.ordered.api);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(entries_have_what_records_have), API_TEST(puts_of_covered_columns_are_seen),
        API_TEST(sessions_read_no_records),       API_TEST(an_index_is_built_with_what_it_covers),
        API_TEST(definitions_are_there_again),    API_TEST(what_cannot_be_is_refused),
#ifdef CELLAR_PLANTS
        API_TEST(an_entry_left_old_is_found),
#endif
    };
    return api_main("covered", tests, sizeof tests / sizeof *tests, argc, argv);
}
