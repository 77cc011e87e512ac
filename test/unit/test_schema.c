/* test_schema.c - every accepted schema obeys the rules of layout.h; every refused one says why. */
#include "random_schema.h"
#include "schemadef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RECORD_LINES_MAX (LAYOUT_RECORD_BYTES_MAX / LAYOUT_LINE)

/* Marks [first, end) as used; no byte may be used twice. */
static void use(uint8_t *used, uint32_t first, uint32_t end)
{
    assert_true(first <= end && end <= LAYOUT_RECORD_BYTES_MAX);
    for (uint32_t i = first; i < end; i++) {
        assert_int_equal(used[i], 0);
        used[i] = 1;
    }
}

static void check_cells(const struct schema *schema)
{
    static uint8_t used[LAYOUT_RECORD_BYTES_MAX];
    uint32_t value_bytes = 0, end_of_cells = LAYOUT_LINE;
    memset(used, 0, sizeof used);
    use(used, 0, LAYOUT_LINE);
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        const struct schema_cell *cell = &schema->cells[c];
        uint32_t end = cell->offset + (cell->line_count ? cell->line_count * LAYOUT_LINE : 8u + cell->padded_bytes);
        assert_int_equal(cell->offset % 8, 0);
        assert_int_equal(cell->padded_bytes, (cell->value_bytes + 7) / 8 * 8);
        assert_int_equal(cell->line_count > 0, cell->padded_bytes > LAYOUT_VALUE_PER_LINE);
        if (cell->line_count) {
            assert_int_equal(cell->offset % LAYOUT_LINE, 0);
            assert_true(cell->line_count * LAYOUT_VALUE_PER_LINE >= cell->padded_bytes);
            assert_true((cell->line_count - 1) * LAYOUT_VALUE_PER_LINE < cell->padded_bytes);
        } else {
            assert_int_equal(cell->offset / LAYOUT_LINE, (end - 1) / LAYOUT_LINE);
        }
        use(used, cell->offset, end);
        value_bytes += cell->padded_bytes;
        if (end > end_of_cells) end_of_cells = end;
    }
    assert_int_equal(schema->value_bytes, value_bytes);
    assert_int_equal(schema->record_bytes, (end_of_cells + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE);
}

/* First fit: a small cell starts a line only when none before it (but large cells') had room. */
static void check_first_fit(const struct schema *schema)
{
    uint32_t used[RECORD_LINES_MAX] = {0};
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        const struct schema_cell *cell = &schema->cells[c];
        uint32_t line = cell->offset / LAYOUT_LINE, bytes = 8u + cell->padded_bytes;
        for (uint32_t before = 1; !cell->line_count && before < line; before++)
            assert_true(used[before] + bytes > LAYOUT_LINE);
        if (!cell->line_count) used[line] += bytes;
        for (uint32_t i = 0; i < cell->line_count; i++) used[line + i] = LAYOUT_LINE;
    }
}

/* Where byte `at` of a cell's value lies in the record. */
static uint32_t value_place(const struct schema_cell *cell, uint32_t at)
{
    return cell->offset + at / LAYOUT_VALUE_PER_LINE * LAYOUT_LINE + 8 + at % LAYOUT_VALUE_PER_LINE;
}

static void check_columns(const struct random_schema *from, const struct schema *schema)
{
    uint32_t cells_seen = 0, filled[CELLAR_CELLS_MAX] = {0};
    assert_int_equal(schema->column_count, from->schema.column_count);
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        assert_string_equal(column->name, from->names[i]);
        assert_int_equal(column->row_offset, from->columns[i].offset);
        assert_int_equal(column->bytes, from->columns[i].bytes);
        assert_true(column->cell <= cells_seen); /* numbered in order of first column */
        if (column->cell == cells_seen) cells_seen++;
        assert_int_equal(column->value_offset, filled[column->cell]); /* packed in order of declaration */
        filled[column->cell] += column->bytes;
        assert_int_equal(column->offset, value_place(&schema->cells[column->cell], column->value_offset));
        assert_int_equal(column->split, column->offset % LAYOUT_LINE + column->bytes > LAYOUT_LINE);
        for (uint32_t k = 0; k < i; k++)
            assert_int_equal(schema->columns[k].cell == column->cell, from->columns[k].cell == from->columns[i].cell);
    }
    assert_int_equal(cells_seen, schema->cell_count);
    for (uint32_t c = 0; c < schema->cell_count; c++) assert_int_equal(schema->cells[c].value_bytes, filled[c]);
}

/*
 * The runs of each cell cover its value once, each on one line and no shorter than need be, and map it to the row as
 * its columns do.
 */
static void check_runs(const struct schema *schema)
{
    uint32_t next_run = 0;
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        const struct schema_cell *cell = &schema->cells[c];
        uint32_t at = 0;
        assert_int_equal(cell->first_run, next_run);
        for (uint32_t r = cell->first_run; r < (uint32_t)cell->first_run + cell->run_count; r++) {
            const struct schema_run *run = &schema->runs[r], *before = r > cell->first_run ? run - 1 : NULL;
            assert_int_equal(run->offset, value_place(cell, at));
            assert_true(run->offset % LAYOUT_LINE + run->bytes <= LAYOUT_LINE);
            at += run->bytes;
            if (before && before->row_offset + before->bytes == run->row_offset)
                assert_int_equal(run->offset % LAYOUT_LINE, 8);
        }
        assert_int_equal(at, cell->value_bytes);
        next_run += cell->run_count;
        for (uint32_t i = 0; i < schema->column_count; i++) {
            const struct schema_column *column = &schema->columns[i];
            const struct schema_run *run = &schema->runs[cell->first_run];
            if (column->cell != c) continue;
            for (uint32_t byte = 0; byte < column->bytes; byte++) {
                uint32_t offset = value_place(cell, column->value_offset + byte);
                while (run->offset + run->bytes <= offset) run++;
                assert_int_equal(run->row_offset + (offset - run->offset), column->row_offset + byte);
            }
        }
    }
    assert_int_equal(schema->run_count, next_run);
}

static void random_schemas_are_laid_out_soundly(void **state)
{
    (void)state;
    struct prng prng;
    uint32_t built = 0, refused = 0, large = 0;
    prng_seed(&prng, 3);
    for (int i = 0; i < 2000; i++) {
        struct random_schema from;
        struct schema schema;
        struct cellar_error error = {0};
        random_schema_make(&from, &prng);
        if (schema_build(&from.schema, 1, &schema, &error) != 0) {
            assert_non_null(strstr(error.text, "would take more than"));
            refused++;
            continue;
        }
        built++;
        check_cells(&schema);
        check_first_fit(&schema);
        check_columns(&from, &schema);
        check_runs(&schema);
        large += schema.record_bytes > 1024;
        assert_int_equal(schema.tag_bits, lockword_tag_bits(schema.cell_count));
        assert_int_equal(schema.all_cells, (1u << schema.cell_count) - 1);
        assert_int_equal(schema.all_ones, lockword_ones(schema.tag_bits, schema.all_cells));
        assert_int_equal(schema.tag_mask, (1u << schema.tag_bits) - 1);
    }
    assert_true(built > 1000 && refused > 0 && large > 50);
}

/* The catalog stores cells as numbered; building from those again must change nothing. */
static void numbered_cells_build_the_same_schema(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 4);
    for (int i = 0; i < 500; i++) {
        struct random_schema from;
        struct schema schema, again;
        random_schema_make(&from, &prng);
        if (schema_build(&from.schema, 1, &schema, NULL) != 0) continue;
        for (uint32_t k = 0; k < schema.column_count; k++) from.columns[k].cell = schema.columns[k].cell;
        assert_int_equal(schema_build(&from.schema, 1, &again, NULL), 0);
        assert_memory_equal(&schema, &again, sizeof schema);
    }
}

/* A district as TPC-C has it: two hot numbers with cells of their own, the rest in one. */
struct district {
    uint64_t next_order, ytd;
    char name[10], street[20], city[20], state[2], zip[9];
    uint32_t tax;
};

static const struct cellar_schema_column district_columns[] = {
    CELLAR_COLUMN(struct district, next_order), CELLAR_COLUMN(struct district, ytd),
    CELLAR_COLUMN_IN(7, struct district, name), CELLAR_COLUMN_IN(7, struct district, street),
    CELLAR_COLUMN_IN(7, struct district, city), CELLAR_COLUMN_IN(7, struct district, state),
    CELLAR_COLUMN_IN(7, struct district, zip),  CELLAR_COLUMN(struct district, tax),
};
static const struct cellar_schema district = {"district", sizeof(struct district), district_columns, 8, 10, 0, 0, 0, 0,
                                              0};

static void known_schema_comes_out_as_drawn(void **state)
{
    (void)state;
    struct schema schema;
    assert_int_equal(schema_build(&district, 31, &schema, NULL), 0);
    assert_int_equal(schema.cell_count, 4);
    assert_int_equal(schema.cells[0].offset, 64);
    assert_int_equal(schema.cells[1].offset, 80);
    assert_int_equal(schema.cells[2].value_bytes, 61); /* two lines of its own */
    assert_int_equal(schema.cells[2].offset, 128);
    assert_int_equal(schema.cells[2].line_count, 2);
    assert_int_equal(schema.cells[2].run_count, 2); /* the text columns are neighbours in the row: one run a line */
    assert_int_equal(schema.cells[3].offset, 96);   /* back on the first line */
    assert_int_equal(schema.record_bytes, 256);
    assert_int_equal(schema.value_bytes, 8 + 8 + 64 + 8);
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    struct schema schema;
    assert_int_equal(schema_build(&district, 1, &schema, NULL), 0);
    assert_int_equal(schema_column_find(&schema, "next_order, ytd", 10), 0);
    assert_int_equal(schema_column_find(&schema, "tax", 3), 7);
    assert_int_equal(schema_column_find(&schema, "ta", 2), -1);
    assert_int_equal(schema_column_find(&schema, "taxx", 4), -1);
    assert_int_equal(schema_column_find(&schema, "", 0), -1);
}

/* Builds a changed copy of the district: must be refused with a message that holds both words. */
static void refused(struct cellar_schema schema, const char *word, const char *other)
{
    struct schema built;
    struct cellar_error error = {0};
    assert_int_equal(schema_build(&schema, 3, &built, &error), CELLAR_INVALID);
    assert_int_equal(error.code, CELLAR_INVALID);
    if (!strstr(error.text, word) || !strstr(error.text, other))
        fail_msg("\"%s\" lacks %s or %s", error.text, word, other);
}

static void with_column(uint32_t i, struct cellar_schema_column column, const char *word, const char *other)
{
    struct cellar_schema_column columns[8];
    struct cellar_schema schema = district;
    memcpy(columns, district_columns, sizeof columns);
    columns[i] = column;
    schema.columns = columns;
    refused(schema, word, other);
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    struct cellar_schema schema = district;
    schema.name = NULL;
    refused(schema, "name", "31");
    schema.name = "";
    refused(schema, "name", "31");
    schema.name = "a name of more than 31 bytes, which is too long";
    refused(schema, "name", "31");
    schema = district;
    schema.column_count = 0;
    refused(schema, "district", "0 columns");
    schema.column_count = CELLAR_COLUMNS_MAX + 1;
    refused(schema, "district", "65 columns");
    schema = district;
    schema.columns = NULL;
    refused(schema, "district", "columns");
    schema = district;
    schema.row_bytes = 0;
    refused(schema, "district", "row");
    schema.row_bytes = SCHEMA_ROW_BYTES_MAX + 1;
    refused(schema, "district", "65537");
}

static void bad_columns_are_refused(void **state)
{
    (void)state;
    uint32_t end = sizeof(struct district);
    with_column(7, (struct cellar_schema_column){NULL, 0, 4, 0}, "district", "column number 7");
    with_column(7, (struct cellar_schema_column){"", end - 4, 4, 0}, "district", "column number 7");
    with_column(7, (struct cellar_schema_column){"tax", end - 4, 0, 0}, "tax", "0 bytes");
    with_column(7, (struct cellar_schema_column){"tax", 0, CELLAR_COLUMN_BYTES_MAX + 1, 0}, "tax", "4097");
    with_column(7, (struct cellar_schema_column){"tax", end - 3, 4, 0}, "tax", "outside");
    with_column(7, (struct cellar_schema_column){"tax", UINT32_MAX, 4, 0}, "tax", "outside");
    with_column(7, (struct cellar_schema_column){"tax", end - 4, 4, -2}, "tax", "cell -2");
    with_column(7, (struct cellar_schema_column){"ytd", end - 4, 4, 0}, "two columns", "ytd");
    with_column(7, (struct cellar_schema_column){"tax", 8, 4, 0}, "overlap", "ytd");
}

static void too_many_cells_or_nodes_are_refused(void **state)
{
    (void)state;
    struct random_schema from = {0};
    struct schema schema;
    struct cellar_error error;
    for (uint32_t i = 0; i < CELLAR_CELLS_MAX + 1; i++) {
        snprintf(from.names[i], CELLAR_NAME_BYTES, "c%u", i);
        from.columns[i] = (struct cellar_schema_column){from.names[i], i * 8, 8, CELLAR_OWN_CELL};
    }
    from.schema = (struct cellar_schema){"wide", 8 * 21, from.columns, CELLAR_CELLS_MAX + 1, 10, 0, 0, 0, 0, 0};
    assert_int_equal(schema_build(&from.schema, 1, &schema, &error), CELLAR_INVALID);
    assert_non_null(strstr(error.text, "21 cells"));
    for (uint32_t cells = 1; cells <= CELLAR_CELLS_MAX; cells++) {
        uint32_t cns = lockword_cns_max(cells);
        from.schema.column_count = cells;
        assert_int_equal(schema_build(&from.schema, cns, &schema, &error), 0);
        assert_int_equal(schema_build(&from.schema, cns + 1, &schema, &error), CELLAR_INVALID);
        assert_non_null(strstr(error.text, "compute nodes"));
    }
}

static void record_may_fill_its_limit_and_no_more(void **state)
{
    (void)state;
    /* 255 lines behind the header hold 14,280 bytes of one cell. */
    struct cellar_schema_column columns[] = {
        {"a", 0, 4096, 0}, {"b", 4096, 4096, 0}, {"c", 8192, 4096, 0}, {"d", 12288, 1992, 0}};
    struct cellar_schema from = {"large", 20000, columns, 4, 10, 0, 0, 0, 0, 0};
    struct schema schema;
    assert_int_equal(schema_build(&from, 1, &schema, NULL), 0);
    assert_int_equal(schema.record_bytes, LAYOUT_RECORD_BYTES_MAX);
    columns[3].bytes++;
    assert_int_equal(schema_build(&from, 1, &schema, NULL), CELLAR_INVALID);
    columns[3].bytes = 4096;
    assert_int_equal(schema_build(&from, 1, &schema, NULL), CELLAR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schemas_are_laid_out_soundly),
        cmocka_unit_test(numbered_cells_build_the_same_schema),
        cmocka_unit_test(known_schema_comes_out_as_drawn),
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(bad_columns_are_refused),
        cmocka_unit_test(too_many_cells_or_nodes_are_refused),
        cmocka_unit_test(record_may_fill_its_limit_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
