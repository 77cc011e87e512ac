/* record.c - moving columns, cells and rows between a row struct and a record's image. */
#include "record.h"

#include <string.h>

/*
 * At most a line's worth. Spelt out, the last bytes overlapping those before, since a call of memcpy costs more than
 * the few words that most columns are, and a loop as much again.
 */
static inline void move(void *to, const void *from, uint32_t bytes)
{
    if (bytes == 8) {
        memcpy(to, from, 8);
    } else if (bytes == 4) {
        memcpy(to, from, 4);
    } else if (bytes > 32) {
        memcpy(to, from, 32);
        memcpy((uint8_t *)to + bytes - 32, (const uint8_t *)from + bytes - 32, 32);
    } else if (bytes > 16) {
        memcpy(to, from, 16);
        memcpy((uint8_t *)to + bytes - 16, (const uint8_t *)from + bytes - 16, 16);
    } else if (bytes > 8) {
        memcpy(to, from, 8);
        memcpy((uint8_t *)to + bytes - 8, (const uint8_t *)from + bytes - 8, 8);
    } else {
        memcpy(to, from, bytes);
    }
}

/* Where byte `at` of a large cell's value lies in the record. */
static inline uint32_t line_offset(const struct schema_cell *cell, uint32_t at)
{
    uint32_t line = at / LAYOUT_VALUE_PER_LINE, in_line = at % LAYOUT_VALUE_PER_LINE;
    return cell->offset + line * LAYOUT_LINE + LAYOUT_LINE - LAYOUT_VALUE_PER_LINE + in_line;
}

/*
 * Out of the way of the many values that lie within one line. The rest of the first line, then whole lines, of a size
 * that the compiler knows, then the beginning of the last one.
 */
static __attribute__((noinline)) void lines_get(const struct schema_cell *cell, const uint8_t *image, uint32_t at,
                                                uint32_t bytes, uint8_t *value)
{
    const uint8_t *from = image + line_offset(cell, at);
    uint32_t rest = LAYOUT_VALUE_PER_LINE - at % LAYOUT_VALUE_PER_LINE;
    if (rest < LAYOUT_VALUE_PER_LINE && rest < bytes) {
        move(value, from, rest);
        value += rest;
        from += rest + LAYOUT_LINE - LAYOUT_VALUE_PER_LINE;
        bytes -= rest;
    }
    for (; bytes >= LAYOUT_VALUE_PER_LINE; bytes -= LAYOUT_VALUE_PER_LINE) {
        memcpy(value, from, LAYOUT_VALUE_PER_LINE);
        value += LAYOUT_VALUE_PER_LINE;
        from += LAYOUT_LINE;
    }
    if (bytes) move(value, from, bytes);
}

static __attribute__((noinline)) void lines_put(const struct schema_cell *cell, uint8_t *image, uint32_t at,
                                                uint32_t bytes, const uint8_t *value)
{
    uint8_t *to = image + line_offset(cell, at);
    uint32_t rest = LAYOUT_VALUE_PER_LINE - at % LAYOUT_VALUE_PER_LINE;
    if (rest < LAYOUT_VALUE_PER_LINE && rest < bytes) {
        move(to, value, rest);
        value += rest;
        to += rest + LAYOUT_LINE - LAYOUT_VALUE_PER_LINE;
        bytes -= rest;
    }
    for (; bytes >= LAYOUT_VALUE_PER_LINE; bytes -= LAYOUT_VALUE_PER_LINE) {
        memcpy(to, value, LAYOUT_VALUE_PER_LINE);
        value += LAYOUT_VALUE_PER_LINE;
        to += LAYOUT_LINE;
    }
    if (bytes) move(to, value, bytes);
}

void record_column_get(const struct schema *schema, const uint8_t *image, uint32_t column, void *value)
{
    const struct schema_column *from = &schema->columns[column];
    if (from->split)
        lines_get(&schema->cells[from->cell], image, from->value_offset, from->bytes, value);
    else
        move(value, image + from->offset, from->bytes);
}

void record_column_put(const struct schema *schema, uint8_t *image, uint32_t column, const void *value)
{
    const struct schema_column *to = &schema->columns[column];
    if (to->split)
        lines_put(&schema->cells[to->cell], image, to->value_offset, to->bytes, value);
    else
        move(image + to->offset, value, to->bytes);
}

void record_row_get(const struct schema *schema, const uint8_t *image, uint32_t cells, void *row)
{
    for (cells &= schema->all_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        const struct schema_run *run = &schema->runs[cell->first_run], *end = run + cell->run_count;
        for (; run < end; run++) move((uint8_t *)row + run->row_offset, image + run->offset, run->bytes);
    }
}

void record_row_put(const struct schema *schema, uint8_t *image, uint32_t cells, const void *row)
{
    for (cells &= schema->all_cells; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        const struct schema_run *run = &schema->runs[cell->first_run], *end = run + cell->run_count;
        for (; run < end; run++) move(image + run->offset, (const uint8_t *)row + run->row_offset, run->bytes);
    }
}

void record_value_get(const struct schema *schema, const uint8_t *image, uint32_t cell, void *value)
{
    const struct schema_cell *from = &schema->cells[cell];
    if (from->line_count)
        lines_get(from, image, 0, from->padded_bytes, value);
    else
        move(value, image + from->offset + 8, from->padded_bytes);
}

void record_value_put(const struct schema *schema, uint8_t *image, uint32_t cell, const void *value)
{
    const struct schema_cell *to = &schema->cells[cell];
    if (to->line_count)
        lines_put(to, image, 0, to->padded_bytes, value);
    else
        move(image + to->offset + 8, value, to->padded_bytes);
}

void record_tail_clear(const struct schema *schema, uint8_t *image, uint32_t number)
{
    const struct schema_cell *cell = &schema->cells[number];
    uint32_t behind = cell->line_count ? line_offset(cell, cell->value_bytes) : cell->offset + 8u + cell->value_bytes;
    memset(image + behind, 0, cell->end - behind);
}

void record_init(const struct schema *schema, uint8_t *image, uint32_t table_id, uint64_t key, const void *row)
{
    memset(image, 0, schema->record_bytes);
    record_header(image)->key = key;
    record_header(image)->table_id = table_id;
    record_row_put(schema, image, schema->all_cells, row);
}

bool record_epochs_settle(const struct schema *schema, uint8_t *image)
{
    struct record_wire *header = record_header(image);
    bool changed = false;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        uint16_t en = layout_version_en(record_version(schema, image, cell));
        changed = changed || header->en[cell] != en;
        header->en[cell] = en;
    }
    return changed;
}
