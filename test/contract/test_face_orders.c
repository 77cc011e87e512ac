/*
 * test_face_orders.c - indexes in definitions of typed columns (docs/rows.md): what is refused, what is added, what is
 * found again, and bytes of a catalog that say nonsense.
 */
#include "cellar_lab.h"
#include "numbered.h"
#include "db_order.h"
#include "face_calls.h"
#include "prng.h"
#include "rivals.h"
#include "typed_people.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- definitions ---- */

static void definitions_are_refused(void **state)
{
    static const struct {
        struct cellar_index_def def;
        int code;
        const char *says;
    } cases[] = {
        {{.name = "x", .columns = "town"}, CELLAR_INVALID, "index x of table people: the table has no column town"},
        {{.name = "x", .columns = "city,"}, CELLAR_INVALID, "a column's name is missing"},
        {{.name = "x", .columns = ""}, CELLAR_INVALID, "a column's name is missing"},
        {{.name = "x", .columns = "-"}, CELLAR_INVALID, "a column's name is missing"},
        {{.name = "x", .columns = "city, -city"}, CELLAR_INVALID, "column city twice"},
        {{.name = "x", .columns = "city", .covers = "city"}, CELLAR_INVALID, "column city twice"},
        {{.name = "x", .columns = "city", .covers = "-age"}, CELLAR_INVALID, "no column -age"},
        {{.name = "x", .columns = "city", .covers = "id"}, CELLAR_INVALID, "the key without a word"},
        {{.name = "x", .columns = "note"}, CELLAR_INVALID, "have 102 bytes together; at most 96"},
        {{.name = "x", .columns = "city", .covers = "note"}, CELLAR_INVALID, "have 116 bytes together"},
        {{.name = "x", .columns = "city", 0, 4}, CELLAR_INVALID, "flags 0x4: UNIQUE"},
        {{.name = "x", .columns = "city", 0, 0, 1}, CELLAR_INVALID, "reserved is 1"},
        {{.name = "a/b", .columns = "city"}, CELLAR_INVALID, "no slash"},
        {{.name = "a_name_of_30_bytes_with_table", .columns = "city"}, CELLAR_INVALID, "at most 30 bytes"},
        {{.name = "(key)"}, CELLAR_INVALID, "no bracket first"},
        {{.name = ""}, CELLAR_INVALID, "a name has 1 to 31 bytes"},
        {{0}, CELLAR_INVALID, "a name has 1 to 31 bytes"},
        {{.name = "x", .columns = "age"}, CELLAR_MISMATCH, "there is none: CELLAR_ADD makes it"},
        {{.name = "by_city", .columns = "city, age"}, CELLAR_MISMATCH, "other columns or flags"},
        {{.name = "by_city", .columns = "city, -age", .covers = "score"}, CELLAR_MISMATCH, "other columns or flags"},
        {{.name = "by_city", .columns = "city, -age", .flags = CELLAR_UNIQUE}, CELLAR_MISMATCH, "other columns"},
    };
    struct place place;
    const struct cellar_table *table;
    (void)state;
    place_open(&place);
    struct cellar_table_def def = *people_def();
    def.index_count = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        def.indexes = &cases[i].def;
        refused(cellar_table_open(place.db, &def, cases[i].code == CELLAR_INVALID ? CELLAR_ADD : 0, &table),
                cases[i].code, cases[i].says);
    }
    const struct cellar_index_def twice[] = {indexes[0], indexes[0]};
    def.indexes = twice;
    def.index_count = 2;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "two indexes named by_city");
    def.index_count = CELLAR_INDEXES_MAX + 1;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "9 indexes; 0 to 8");
    def.index_count = 0;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "indexes, and index_count 0");
    def.index_count = 1;
    def.indexes = NULL;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "0 indexes; 0 to 8");
    def.index_count = 0;
    def.flags = CELLAR_UNIQUE;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "ORDERED is what there is");
    struct cellar_column body[] = {columns[ID], {CELLAR_FIELD(struct person, note)}};
    const struct cellar_index_def by_note = {.name = "by_note", .columns = "note"};
    refused(cellar_table_open(place.db,
                              CELLAR_TABLE(struct person, body, .name = "t", .indexes = &by_note, .index_count = 1), 0,
                              &table),
            CELLAR_INVALID, "BYTES that lie beside the row");
    assert_null(cellar_table_find(place.db, "t")); /* nothing is left of it */
    refused(cellar_table_open(place.db,
                              CELLAR_TABLE(struct person, body, .name = "t", .indexes = &by_note, .index_count = 1),
                              CELLAR_EXISTING, &table),
            CELLAR_NOT_FOUND, "no table t");
    struct cellar_index_def eight[CELLAR_INDEXES_MAX];
    static const char *const names[CELLAR_INDEXES_MAX] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (uint32_t i = 0; i < CELLAR_INDEXES_MAX; i++)
        eight[i] = (struct cellar_index_def){.name = names[i], .columns = "age"};
    def = *people_def();
    def.name = "t";
    def.indexes = eight;
    def.index_count = CELLAR_INDEXES_MAX;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_FULL, "8 indexes, no more are possible");
    assert_null(cellar_table_find(place.db, "t"));
    def.flags = 0;
    ok(cellar_table_open(place.db, &def, 0, &table));
    face_close(place.db);
}

static void indexes_are_added(void **state)
{
    struct place place;
    const struct cellar_table *words, *same;
    struct word row;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &place.db));
    ok(cellar_table_open(place.db, CELLAR_TABLE(struct word, word_columns, .name = "words"), 0, &words));
    place.words = words;
    words_insert(&place);
    refused(cellar_table_open(place.db, words_def(1), 0, &same), CELLAR_MISMATCH, "index (key) of table words");
    struct cellar_txn *txn = face_begun(place.db);
    refused(cellar_cursor_open(txn, CELLAR_SCAN(struct word, words), &(struct cellar_cursor *){NULL}), CELLAR_INVALID,
            "table words: it has no order of its keys: open it with CELLAR_ORDERED");
    row = word_of("en", "x", 0);
    ok(cellar_get_many(txn, &CELLAR_READ(words, &row), 1));
    ok(cellar_table_open(place.db, words_def(0), CELLAR_ADD, &same)); /* a transaction that is between two calls */
    cellar_abort(txn);
    ok(cellar_table_open(place.db, words_def(2), CELLAR_ADD, &same));
    assert_ptr_equal(same, words);
    refused(cellar_table_open(place.db, words_def(3), CELLAR_ADD, &same), CELLAR_EXISTS, "");
    assert_null(cellar_index_find(words, "one"));
    ok(cellar_table_open(place.db, words_def(2), 0, &same));
    struct word found[20];
    txn = face_begun(place.db);
    assert_int_equal(all_of(txn, CELLAR_SCAN(struct word, words), 4, found), 15);
    cellar_abort(txn);
    face_close(place.db);
}

static void definitions_are_described(void **state)
{
    struct place place;
    struct cellar_schema_index def;
    struct cellar_schema_index_column described[CELLAR_INDEX_COLUMNS_MAX];
    (void)state;
    place_open(&place);
    cellar_index_describe(place.by_city, &def, described);
    assert_true(def.column_count == 2 && !strcmp(described[0].column, "city") && !strcmp(described[1].column, "age"));
    assert_true(!described[0].descending && described[1].descending && described[1].sort == CELLAR_SORT_SIGNED);
    cellar_index_describe(place.by_score, &def, described);
    assert_true(def.column_count == 3 && !strcmp(described[2].column, "city"));
    assert_int_equal(described[2].sort, CELLAR_COVERED);
    const struct cellar_index *first = cellar_index_next(place.words, NULL);
    cellar_index_describe(first, &def, described);
    assert_true(!strcmp(def.name, "(key)") && def.column_count == 0);
    face_close(place.db);
}

/* A file's tables have their indexes when it is opened again; a drop takes them along. */
static void orders_are_found_again(void **state)
{
    struct place place;
    char path[] = "/tmp/cellar-face-scans-XXXXXX";
    struct person found[32];
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0 && unlink(path) == 0);
    ok(cellar_open(path, CELLAR_OPTIONS(.bytes = BYTES, .durability = CELLAR_MEMORY), &place.db));
    tables_open(&place);
    people_insert(&place);
    ok(cellar_close(place.db));
    ok(cellar_open(path, NULL, &place.db));
    ok(cellar_table_open(place.db, people_def(), CELLAR_EXISTING, &place.people));
    struct cellar_txn *txn = face_begun(place.db);
    place.by_city = cellar_index_find(place.people, "by_city");
    assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_city), 32, found), 20);
    cellar_abort(txn);
    ok(cellar_index_drop(place.db, place.by_city));
    refused(cellar_table_open(place.db, people_def(), CELLAR_EXISTING, &place.people), CELLAR_MISMATCH, "by_city");
    ok(cellar_table_open(place.db, people_def(), CELLAR_EXISTING | CELLAR_ADD, &place.people));
    ok(cellar_table_drop(place.db, place.people));
    face_close(place.db);
    unlink(path);
}

/* A mode of the laboratory that has no orders says so, and makes no table. */
static void motor_has_none(void **state)
{
    struct cellar *db;
    const struct cellar_table *table;
    (void)state;
    int rc = cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES, .lab = CELLAR_LAB(.cc = CELLAR_LAB_CC_MOTOR)), &db);
    if (rc == CELLAR_UNSUPPORTED) skip();
    ok(rc);
    refused(cellar_table_open(db, people_def(), 0, &table), CELLAR_UNSUPPORTED, "mode motor has none");
    assert_null(cellar_table_find(db, "people"));
    face_close(db);
}

/* Words of a catalog as they come: an index is none, or one whose entries are of the bytes that it says. */
static void words_are_untrusted(void **state)
{
    struct place place;
    struct prng prng;
    uint32_t sane = 0;
    (void)state;
    place_open(&place);
    prng_seed(&prng, 7);
    for (uint32_t round = 0; round < 20000; round++) {
        const struct table *base = prng_below(&prng, 2) ? place.people->table : place.words->table;
        struct catalog_index words = {.of = base->id,
                                      .flags = prng_below(&prng, 2) ? CELLAR_UNIQUE : 0,
                                      .column_count = (uint32_t)prng_below(&prng, LAYOUT_INDEX_COLUMNS_MAX + 2)};
        for (uint32_t i = 0; i < LAYOUT_INDEX_COLUMNS_MAX; i++) {
            words.columns[i] = (uint32_t)prng_below(&prng, 7);
            if (prng_below(&prng, 3) == 0) words.columns[i] |= (uint32_t)CELLAR_COVERED << 16;
            if (prng_below(&prng, 3) == 0) words.columns[i] |= 1u << 24;
            if (prng_below(&prng, 20) == 0) words.columns[i] = (uint32_t)prng_next(&prng);
        }
        struct cellar_index index;
        uint8_t row[512] = {0}, entry[TREENODE_KEY_BYTES_MAX];
        uint64_t image[LAYOUT_RECORD_BYTES_MAX / 8] = {0};
        if (!db_order_decode(base, &words, &index, NULL)) continue;
        sane++;
        assert_true(index.entry_bytes <= sizeof entry && base->schema.row_bytes <= sizeof row);
        for (uint32_t i = 0; i < sizeof row; i++) row[i] = (uint8_t)prng_next(&prng);
        memset(entry, 0x5a, sizeof entry);
        treenode_entry_of_row(&index, row, prng_next(&prng), entry);
        treenode_entry_of_image(&index, (const uint8_t *)image, prng_next(&prng), entry);
        for (uint32_t i = index.entry_bytes; i < sizeof entry; i++) assert_int_equal(entry[i], 0x5a);
        treenode_row_of_entry(&index, entry, row);
    }
    assert_true(sane > 100);
    face_close(place.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_are_refused),
        cmocka_unit_test(indexes_are_added),
        cmocka_unit_test(definitions_are_described),
        cmocka_unit_test(orders_are_found_again),
        cmocka_unit_test(motor_has_none),
        cmocka_unit_test(words_are_untrusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
