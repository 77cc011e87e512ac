/* test_face_describe.c - tables that a program does not know: their names, their definitions, and rows of these. */
#include "cellar_lab.h"
#include "numbered.h"
#include "typed_people.h"

static struct cellar_table_def described(struct cellar *db, const struct cellar_table *table)
{
    struct cellar_table_def def = {.size = sizeof def};
    ok(cellar_table_describe(db, table, &def));
    assert_int_equal(def.size, sizeof def);
    return def;
}

static const struct cellar_table *opened_whole(struct cellar *db, const char *name)
{
    const struct cellar_table_def whole = {.size = sizeof whole, .name = name};
    const struct cellar_table *table;
    ok(cellar_table_open(db, &whole, 0, &table));
    return table;
}

static void texts_are(const char *a, const char *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a) assert_string_equal(a, b);
}

static void definitions_are_equal(const struct cellar_table_def *a, const struct cellar_table_def *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->row_bytes, b->row_bytes);
    assert_int_equal(a->column_count, b->column_count);
    assert_int_equal(a->cluster_bits, b->cluster_bits);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->index_count, b->index_count);
    for (uint32_t i = 0; i < a->column_count; i++) {
        const struct cellar_column *x = &a->columns[i], *y = &b->columns[i];
        assert_string_equal(x->name, y->name);
        assert_true(x->offset == y->offset && x->bytes == y->bytes && x->type == y->type && x->flags == y->flags &&
                    x->bytes_max == y->bytes_max && x->cell == y->cell);
    }
    for (uint32_t i = 0; i < a->index_count; i++) {
        const struct cellar_index_def *x = &a->indexes[i], *y = &b->indexes[i];
        assert_string_equal(x->name, y->name);
        texts_are(x->columns, y->columns);
        texts_are(x->covers, y->covers);
        assert_int_equal(x->flags, y->flags);
    }
}

/* What a program has defined it is told, but for spaces. */
static void a_definition_is_told(void **state)
{
    struct place place;
    (void)state;
    place_open(&place);
    struct cellar_table_def wanted = *people_def(), told = described(place.db, place.people);
    const struct cellar_index_def trimmed[] = {indexes[0], {"by_score", "score", "age, city", 0, 0}};
    wanted.rows = 65536;
    wanted.indexes = trimmed;
    definitions_are_equal(&told, &wanted);

    wanted = *words_def(2);
    wanted.rows = 65536;
    told = described(place.db, place.words);
    definitions_are_equal(&told, &wanted);
    /* An index that is added is told, too, and what was told before stays. */
    ok(cellar_table_open(place.db, words_def(3), CELLAR_ADD, &place.words));
    struct cellar_table_def more = *words_def(3), then = told;
    more.rows = 65536;
    told = described(place.db, place.words);
    definitions_are_equal(&told, &more);
    definitions_are_equal(&then, &wanted);
    /* The same again is no other memory. */
    const struct cellar_table_def again = described(place.db, place.words);
    assert_ptr_equal(again.columns, told.columns);
    ok(cellar_index_drop(place.db, cellar_index_find(place.words, "by_seen")));
    told = described(place.db, place.words);
    assert_int_equal(told.index_count, 2);
    assert_string_equal(told.indexes[0].name, "by_text");
    face_close(place.db);
}

/* ---- rows that the library lays out ---- */

struct all {
    struct cellar_bytes text;
    int8_t tiny;
    bool flag;
    uint16_t small;
    float ratio;
    uint8_t raw[3];
    int64_t big;
    uint64_t id;
    struct cellar_bytes note, body;
};
enum { TEXT_KEY, TINY, FLAG, SMALL, RATIO, RAW, BIG, ID_KEY, SHORT, LONG, COLUMNS };
static const struct cellar_column all_columns[] = {
    {CELLAR_FIELD(struct all, text), .flags = CELLAR_KEY, .bytes_max = 30},
    {CELLAR_FIELD(struct all, tiny), .cell = 4},
    {CELLAR_FIELD(struct all, flag), .cell = 4},
    {CELLAR_FIELD(struct all, small)},
    {CELLAR_FIELD(struct all, ratio)},
    {CELLAR_FIELD(struct all, raw)},
    {CELLAR_FIELD(struct all, big)},
    {CELLAR_FIELD(struct all, id), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct all, note), .bytes_max = 7},
    {CELLAR_FIELD(struct all, body), .bytes_max = 5000},
};

static const void *field(const struct cellar_table_def *def, const void *row, uint32_t column)
{
    return (const uint8_t *)row + def->columns[column].offset;
}

static bool is_text(const void *from, const char *text)
{
    struct cellar_bytes bytes;
    memcpy(&bytes, from, sizeof bytes);
    return text_is(bytes, text);
}

static void layout_is_sane(const struct cellar_table_def *def)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < def->column_count; i++) {
        const struct cellar_column *column = &def->columns[i];
        uint32_t align = column->type == CELLAR_FIXED ? 1 : column->type == CELLAR_BYTES ? 8 : column->bytes;
        assert_true(column->offset >= end && column->offset - end < align && column->offset % align == 0);
        end = column->offset + column->bytes;
    }
    assert_true(def->row_bytes % 8 == 0 && def->row_bytes >= end && def->row_bytes - end < 8);
}

/* A row that was put by the program's struct, by the library's; and the reverse. */
static void rows_are_laid_out(void **state)
{
    struct all row = {.text = CELLAR_TEXT("a key"),
                      .tiny = -5,
                      .flag = true,
                      .small = 60000,
                      .ratio = 0.25F,
                      .raw = {1, 0, 3},
                      .big = -(1LL << 40),
                      .id = 9,
                      .note = CELLAR_TEXT("seven b"),
                      .body = CELLAR_TEXT("longer than forty bytes, so that it lies beside the row of the table")};
    struct place place;
    const struct cellar_table *table;
    (void)state;
    place_open(&place);
    ok(cellar_table_open(place.db, CELLAR_TABLE(struct all, all_columns, .name = "all", .rows = 100), 0, &table));
    struct cellar_txn *txn = face_begun(place.db);
    ok(cellar_insert(txn, table, &row));
    committed(txn);

    const struct cellar_table *whole = opened_whole(place.db, "all");
    assert_ptr_equal(opened_whole(place.db, "all"), whole);
    struct cellar_table_def def = described(place.db, whole);
    layout_is_sane(&def);
    assert_int_equal(def.column_count, COLUMNS);
    for (uint32_t i = 0; i < COLUMNS; i++) assert_string_equal(def.columns[i].name, all_columns[i].name);
    assert_true(def.columns[TINY].cell && def.columns[TINY].cell == def.columns[FLAG].cell && !def.columns[BIG].cell);
    assert_int_equal(def.columns[LONG].bytes_max, CELLAR_VALUE_BYTES_MAX);

    uint64_t space[32] = {0};
    assert_true(def.row_bytes <= sizeof space);
    memcpy((uint8_t *)space + def.columns[TEXT_KEY].offset, &row.text, sizeof row.text);
    memcpy((uint8_t *)space + def.columns[ID_KEY].offset, &row.id, sizeof row.id);
    txn = face_begun(place.db);
    ok((cellar_get)(txn, whole, CELLAR_ALL, 0, space, def.row_bytes));
    assert_memory_equal(field(&def, space, TINY), &row.tiny, 1);
    assert_memory_equal(field(&def, space, FLAG), &row.flag, 1);
    assert_memory_equal(field(&def, space, SMALL), &row.small, 2);
    assert_memory_equal(field(&def, space, RATIO), &row.ratio, 4);
    assert_memory_equal(field(&def, space, RAW), row.raw, 3);
    assert_memory_equal(field(&def, space, BIG), &row.big, 8);
    assert_true(is_text(field(&def, space, SHORT), "seven b") && is_text(field(&def, space, LONG), row.body.data));
    int64_t big = 77;
    memcpy((uint8_t *)space + def.columns[BIG].offset, &big, sizeof big);
    ok((cellar_put)(txn, whole, CELLAR_COL(BIG), space, def.row_bytes));
    committed(txn);
    txn = face_begun(place.db);
    ok(cellar_get(txn, table, CELLAR_COL(BIG), 0, &row));
    assert_int_equal(row.big, 77);
    cellar_abort(txn);
    face_close(place.db);
}

/* A table that is made by what was told of another is told likewise; of narrow keys and of key columns alone, too. */
static void what_is_told_makes_another(void **state)
{
    struct pair {
        uint16_t a;
        int32_t b;
    };
    const struct cellar_column pair[] = {{CELLAR_FIELD(struct pair, a), .flags = CELLAR_KEY},
                                         {CELLAR_FIELD(struct pair, b), .flags = CELLAR_KEY}};
    static const char *const names[] = {"all", "pairs", "people", "words"};
    const struct cellar_table *table;
    struct place place, other;
    const char *name = NULL;
    (void)state;
    place_open(&place);
    place_open(&other);
    ok(cellar_table_drop(other.db, other.people));
    ok(cellar_table_drop(other.db, other.words));
    ok(cellar_table_open(place.db, CELLAR_TABLE(struct all, all_columns, .name = "all", .rows = 100), 0, &table));
    ok(cellar_table_open(place.db, CELLAR_TABLE(struct pair, pair, .name = "pairs", .cluster_bits = 3), 0, &table));
    for (uint32_t i = 0; i < 4; i++) {
        name = cellar_table_next(place.db, name);
        assert_string_equal(name, names[i]);
        struct cellar_table_def def = described(place.db, opened_whole(place.db, name));
        layout_is_sane(&def);
        ok(cellar_table_open(other.db, &def, 0, &table));
        const struct cellar_table_def there = described(other.db, table);
        definitions_are_equal(&def, &there);
        const struct cellar_table_def whole = described(other.db, opened_whole(other.db, name));
        definitions_are_equal(&def, &whole);
    }
    assert_null(cellar_table_next(place.db, name));
    /* Names go on behind one that is not there any more. */
    ok(cellar_table_drop(other.db, opened_whole(other.db, "pairs")));
    assert_string_equal(cellar_table_next(other.db, "pairs"), "people");
    face_close(place.db);
    face_close(other.db);
}

/* ---- misuse ---- */

static void wrong_calls_are_refused(void **state)
{
    struct plain {
        uint64_t n;
    };
    const struct cellar_schema_column plain[] = {CELLAR_COLUMN(struct plain, n)};
    const struct cellar_schema schema = {"plain", sizeof(struct plain), plain, 1, 10, 0, 0, 0, 0, 0};
    struct cellar_table_def def = {.size = sizeof def, .name = "nothing"};
    const struct cellar_table *table;
    struct place place, other;
    (void)state;
    place_open(&place);
    place_open(&other);
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_NOT_FOUND, "there is no table nothing");
    refused(cellar_table_open(place.db, &def, CELLAR_EXISTING, &table), CELLAR_NOT_FOUND, "there is no table nothing");
    def.name = NULL;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "a table's name");
    def.name = "people";
    def.row_bytes = 8;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "0 columns");
    def.row_bytes = 0;
    def.flags = 1;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "ORDERED is what there is");
    def.flags = 0;
    def.index_count = 1;
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_INVALID, "0 indexes");
    def.indexes = &(const struct cellar_index_def){.name = "by_age", .columns = "age"};
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_MISMATCH, "CELLAR_ADD makes it");
    ok(cellar_table_open(place.db, &def, CELLAR_ADD, &table));
    assert_non_null(cellar_index_find(table, "by_age"));

    refused(cellar_table_describe(place.db, NULL, &def), CELLAR_INVALID, "NULL");
    refused(cellar_table_describe(place.db, place.people, NULL), CELLAR_INVALID, "NULL");
    refused(cellar_table_describe(NULL, place.people, &def), CELLAR_INVALID, "");
    refused(cellar_table_describe(place.db, other.people, &def), CELLAR_INVALID, "of another database");
    def.size = 0;
    refused(cellar_table_describe(place.db, place.people, &def), CELLAR_INVALID, "cellar_table_def.size is 0");
    /* A struct of an older header gets as much as it has, one of a later header zeros behind. */
    struct {
        struct cellar_table_def def;
        uint64_t more[2];
    } sized = {.def = {.size = offsetof(struct cellar_table_def, columns), .columns = columns}, .more = {1, 1}};
    ok(cellar_table_describe(place.db, place.people, &sized.def));
    assert_string_equal(sized.def.name, "people");
    assert_ptr_equal(sized.def.columns, columns);
    sized.def.size = sizeof sized;
    ok(cellar_table_describe(place.db, place.people, &sized.def));
    assert_true(sized.def.column_count == 5 && sized.more[0] == 0 && sized.more[1] == 0);

    ok(cellar_table_create(place.db, &schema, &table));
    def = (struct cellar_table_def){.size = sizeof def};
    refused(cellar_table_describe(place.db, table, &def), CELLAR_INVALID, "cellar_table_open has not given");
    def.name = "plain";
    refused(cellar_table_open(place.db, &def, 0, &table), CELLAR_MISMATCH, "table plain has no typed columns");

    ok(cellar_table_drop(place.db, place.words));
    refused(cellar_table_describe(place.db, place.words, &def), CELLAR_DROPPED, "words");
    face_close(other.db);
    refused(cellar_table_describe(other.db, other.people, &def), CELLAR_CLOSED, "");
    refused(cellar_table_describe(place.db, other.people, &def), CELLAR_INVALID, "");
    assert_null(cellar_table_next(other.db, NULL));
    assert_null(cellar_table_next(NULL, NULL));
    face_close(place.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_is_told),
        cmocka_unit_test(rows_are_laid_out),
        cmocka_unit_test(what_is_told_makes_another),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
