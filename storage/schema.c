/* schema.c - from a table's public schema to its record layout. */
#include "schema.h"

#include "schemadef.h"

#include <string.h>

static uint32_t round_up8(uint32_t bytes) { return (bytes + 7) & ~7u; }

/* Length of a name, or 0 when it is missing, empty or does not fit with its terminator. */
static uint32_t name_length(const char *name)
{
    if (!name) return 0;
    size_t length = strnlen(name, CELLAR_NAME_BYTES);
    return length < CELLAR_NAME_BYTES ? (uint32_t)length : 0;
}

static int check_table(const struct cellar_schema *from, struct cellar_error *error)
{
    if (!name_length(from->name))
        return err_set(error, CELLAR_INVALID, "a table's name must have 1 to %d bytes", CELLAR_NAME_BYTES - 1);
    if (!from->columns) return err_set(error, CELLAR_INVALID, "table %s: columns is NULL", from->name);
    if (from->column_count == 0 || from->column_count > CELLAR_COLUMNS_MAX)
        return err_set(error, CELLAR_INVALID, "table %s has %u columns; 1 to %d are possible", from->name,
                       from->column_count, CELLAR_COLUMNS_MAX);
    if (from->row_bytes == 0 || from->row_bytes > SCHEMA_ROW_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, "table %s: a row of %u bytes; 1 to %d are possible", from->name,
                       from->row_bytes, SCHEMA_ROW_BYTES_MAX);
    return 0;
}

static int check_column(const struct cellar_schema *from, uint32_t i, struct cellar_error *error)
{
    const struct cellar_schema_column *column = &from->columns[i];
    if (!name_length(column->name))
        return err_set(error, CELLAR_INVALID, "table %s, column number %u: a name must have 1 to %d bytes", from->name,
                       i, CELLAR_NAME_BYTES - 1);
    if (column->bytes == 0 || column->bytes > CELLAR_COLUMN_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, "table %s, column %s has %u bytes; 1 to %d are possible", from->name,
                       column->name, column->bytes, CELLAR_COLUMN_BYTES_MAX);
    if (column->offset > from->row_bytes || column->bytes > from->row_bytes - column->offset)
        return err_set(error, CELLAR_INVALID, "table %s, column %s: bytes %u to %llu lie outside the row of %u bytes",
                       from->name, column->name, column->offset, (unsigned long long)column->offset + column->bytes - 1,
                       from->row_bytes);
    if (column->cell < CELLAR_OWN_CELL)
        return err_set(error, CELLAR_INVALID,
                       "table %s, column %s: cell %d; a cell number is 0 or more, or CELLAR_OWN_CELL", from->name,
                       column->name, column->cell);
    for (uint32_t k = 0; k < i; k++) {
        const struct cellar_schema_column *other = &from->columns[k];
        if (strcmp(other->name, column->name) == 0)
            return err_set(error, CELLAR_INVALID, "table %s has two columns named %s", from->name, column->name);
        if (other->offset < column->offset + column->bytes && column->offset < other->offset + other->bytes)
            return err_set(error, CELLAR_INVALID, "table %s: columns %s and %s overlap in the row", from->name,
                           other->name, column->name);
    }
    return 0;
}

/* Copies the columns and numbers the cells in order of their first column; the count may exceed CELLAR_CELLS_MAX. */
static void number_cells(const struct cellar_schema *from, struct schema *schema)
{
    schema->column_count = from->column_count;
    for (uint32_t i = 0; i < from->column_count; i++) {
        const struct cellar_schema_column *column = &from->columns[i];
        struct schema_column *to = &schema->columns[i];
        memcpy(to->name, column->name, name_length(column->name));
        to->row_offset = column->offset;
        to->bytes = column->bytes;
        to->place = (uint8_t)i;
        uint32_t k = i;
        if (column->cell != CELLAR_OWN_CELL)
            for (k = 0; k < i && from->columns[k].cell != column->cell; k++) continue;
        to->cell = (uint16_t)(k < i ? schema->columns[k].cell : schema->cell_count++);
    }
}

/* Packs each cell's columns into its value, in order of declaration. False: too large. */
static bool pack_values(struct schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        struct schema_column *column = &schema->columns[i];
        struct schema_cell *cell = &schema->cells[column->cell];
        if (cell->value_bytes + column->bytes > LAYOUT_RECORD_BYTES_MAX) return false;
        column->value_offset = cell->value_bytes;
        cell->value_bytes = (uint16_t)(cell->value_bytes + column->bytes);
    }
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        schema->cells[c].padded_bytes = (uint16_t)round_up8(schema->cells[c].value_bytes);
        schema->value_bytes += schema->cells[c].padded_bytes;
    }
    return true;
}

/* Gives each cell its place behind the header line. False: the record gets too large. */
static bool place_cells(struct schema *schema)
{
    uint8_t used[SCHEMA_LINES_MAX] = {LAYOUT_LINE};
    uint32_t lines = 1;
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        struct schema_cell *cell = &schema->cells[c];
        bool large = cell->padded_bytes > LAYOUT_VALUE_PER_LINE;
        uint32_t filled = large ? LAYOUT_VALUE_PER_LINE : 8;
        if (cell->value_bytes % filled) schema->tailed_cells |= 1u << c;
        if (large) {
            uint32_t count = (cell->padded_bytes + LAYOUT_VALUE_PER_LINE - 1) / LAYOUT_VALUE_PER_LINE;
            if (count > SCHEMA_LINES_MAX - lines) return false;
            cell->line_count = (uint16_t)count;
            cell->offset = (uint16_t)(lines * LAYOUT_LINE);
            cell->end = (uint16_t)(cell->offset + count * LAYOUT_LINE);
            memset(used + lines, LAYOUT_LINE, count);
            lines += count;
            continue;
        }
        uint32_t line = 1, bytes = 8u + cell->padded_bytes;
        while (line < lines && used[line] + bytes > LAYOUT_LINE) line++;
        if (line == SCHEMA_LINES_MAX) return false;
        if (line == lines) lines++;
        cell->offset = (uint16_t)(line * LAYOUT_LINE + used[line]);
        cell->end = (uint16_t)(cell->offset + bytes);
        used[line] = (uint8_t)(used[line] + bytes);
    }
    schema->head_bytes = LAYOUT_LINE;
    schema->cells_end = schema->record_bytes = lines * LAYOUT_LINE;
    return true;
}

/* A run of its own, or more of the cell's last one. */
static void add_run(struct schema *schema, struct schema_cell *cell, uint32_t row_offset, uint32_t offset,
                    uint32_t bytes)
{
    struct schema_run *last = cell->run_count ? &schema->runs[schema->run_count - 1] : NULL;
    if (last && last->row_offset + last->bytes == row_offset && last->offset + last->bytes == offset) {
        last->bytes = (uint16_t)(last->bytes + bytes);
        return;
    }
    schema->runs[schema->run_count++] = (struct schema_run){row_offset, (uint16_t)offset, (uint16_t)bytes};
    cell->run_count++;
}

void schema_place_columns(struct schema *schema)
{
    schema->run_count = 0;
    for (uint32_t c = 0; c < schema->cell_count; c++) {
        struct schema_cell *cell = &schema->cells[c];
        cell->first_run = (uint16_t)schema->run_count;
        cell->run_count = 0;
        for (uint32_t i = 0; i < schema->column_count; i++) {
            struct schema_column *column = &schema->columns[i];
            if (column->cell != c) continue;
            for (uint32_t done = 0, bytes; done < column->bytes; done += bytes) {
                uint32_t at = column->value_offset + done, in_line = at % LAYOUT_VALUE_PER_LINE;
                uint32_t offset = cell->offset + at / LAYOUT_VALUE_PER_LINE * LAYOUT_LINE + 8 + in_line;
                bytes = column->bytes - done;
                if (bytes > LAYOUT_VALUE_PER_LINE - in_line) bytes = LAYOUT_VALUE_PER_LINE - in_line;
                add_run(schema, cell, column->row_offset + done, offset, bytes);
                if (done == 0) column->offset = (uint16_t)offset;
                column->split = bytes < column->bytes;
            }
        }
    }
}

int schema_build(const struct cellar_schema *from, uint32_t cn_count, struct schema *schema, struct cellar_error *error)
{
    memset(schema, 0, sizeof(*schema));
    int rc = check_table(from, error);
    for (uint32_t i = 0; rc == 0 && i < from->column_count; i++) rc = check_column(from, i, error);
    if (rc) return rc;
    number_cells(from, schema);
    if (schema->cell_count > CELLAR_CELLS_MAX)
        return err_set(
            error, CELLAR_INVALID,
            "table %s has %u cells; at most %d are possible: let columns that are written together share one",
            from->name, schema->cell_count, CELLAR_CELLS_MAX);
    if (cn_count > lockword_cns_max(schema->cell_count))
        return err_set(
            error, CELLAR_INVALID,
            "table %s: locks of %u cells can name %u compute nodes, but there may be %u: let columns share cells",
            from->name, schema->cell_count, lockword_cns_max(schema->cell_count), cn_count);
    schema->row_bytes = from->row_bytes;
    if (!pack_values(schema) || !place_cells(schema))
        return err_set(error, CELLAR_INVALID, "table %s: a record would take more than %d bytes", from->name,
                       LAYOUT_RECORD_BYTES_MAX);
    schema_place_columns(schema);
    schema->tag_bits = lockword_tag_bits(schema->cell_count);
    schema->all_cells = (1u << schema->cell_count) - 1;
    schema->all_ones = lockword_ones(schema->tag_bits, schema->all_cells);
    schema->tag_mask = lockword_mask(schema->tag_bits, 1);
    return 0;
}

bool schema_type_sane(uint32_t type, uint32_t bytes)
{
    bool width = bytes == 4 || bytes == 8;
    switch (type) {
    case CELLAR_UINT:
    case CELLAR_INT:
        return width || bytes == 1 || bytes == 2;
    case CELLAR_FLOAT:
        return width;
    case CELLAR_FIXED:
    case CELLAR_BYTES:
        return bytes > 0;
    default:
        return false;
    }
}

int schema_column_find(const struct schema *schema, const char *name, uint32_t name_bytes)
{
    if (name_bytes == 0 || name_bytes >= CELLAR_NAME_BYTES) return -1;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const char *have = schema->columns[i].name;
        if (strnlen(have, CELLAR_NAME_BYTES) == name_bytes && memcmp(have, name, name_bytes) == 0) return (int)i;
    }
    return -1;
}

void schema_forget_versions(const struct schema *schema, uint8_t *image)
{
    memset(image + LAYOUT_LINE, 0, schema->head_bytes - LAYOUT_LINE);
}
