/*
 * record.h - reading and writing a record's image: its bytes as they are in the memory node (layout.h), in local
 * memory. Pure functions; hot. Images are 8-byte aligned and record_bytes long, but only the header and the lines of
 * fetched cells hold data.
 */
#pragma once

#include "schema.h"

#include <stdbool.h>
#include <string.h>

static inline uint64_t record_word(const uint8_t *image, uint32_t offset)
{
    return *(const uint64_t *)(const void *)(image + offset);
}
static inline void record_word_set(uint8_t *image, uint32_t offset, uint64_t word)
{
    *(uint64_t *)(void *)(image + offset) = word;
}
static inline struct record_wire *record_header(uint8_t *image) { return (struct record_wire *)(void *)image; }

/* The version of a cell (of its first line). */
static inline uint64_t record_version(const struct schema *schema, const uint8_t *image, uint32_t cell)
{
    return record_word(image, schema->cells[cell].offset);
}
/* Bytes that a cell takes in the record, versions included. */
static inline uint32_t record_cell_bytes(const struct schema_cell *cell) { return (uint32_t)cell->end - cell->offset; }
/*
 * Is each line of these cells at the header's EN, with equal versions on all lines of a cell? False: torn, read again.
 */
static inline bool record_whole(const struct schema *schema, const uint8_t *image, uint32_t cells)
{
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    for (cells &= schema->all_cells; cells; cells &= cells - 1) {
        uint32_t c = (uint32_t)__builtin_ctz(cells);
        uint32_t offset = schema->cells[c].offset;
        uint64_t version = record_word(image, offset);
        if (layout_version_en(version) != header->en[c]) return false;
        /* Further lines: a small cell ends on its first one. */
        for (offset += LAYOUT_LINE; offset < schema->cells[c].end; offset += LAYOUT_LINE)
            if (record_word(image, offset) != version) return false;
    }
    return true;
}
/* The header's epoch numbers become those of the lines, which a backup has, too. Returns whether one was another. */
bool record_epochs_settle(const struct schema *schema, uint8_t *image);
/* The lock word of a record that no transaction uses. */
static inline uint64_t record_word_at_rest(const uint8_t *image)
{
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    return header->flags & LAYOUT_RECORD_DELETED ? LOCKWORD_DELETED : 0;
}
/* Sets EN and TS of a cell on all its lines and EN in the header image. */
static inline void record_version_set(const struct schema *schema, uint8_t *image, uint32_t cell, uint64_t version)
{
    uint32_t offset = schema->cells[cell].offset;
    record_header(image)->en[cell] = layout_version_en(version);
    record_word_set(image, offset, version);
    for (uint32_t line = 1; line < schema->cells[cell].line_count; line++)
        record_word_set(image, offset + line * LAYOUT_LINE, version);
}
/* The bytes [*first, *end) that hold these cells (header not included); cells must not be empty. */
static inline void record_span(const struct schema *schema, uint32_t cells, uint32_t *first, uint32_t *end)
{
    *first = UINT32_MAX;
    *end = 0;
    for (; cells; cells &= cells - 1) {
        const struct schema_cell *cell = &schema->cells[__builtin_ctz(cells)];
        if (cell->offset < *first) *first = cell->offset;
        if (cell->end > *end) *end = cell->end;
    }
}

/* Columns and rows. */
void record_column_get(const struct schema *schema, const uint8_t *image, uint32_t column, void *value);
void record_column_put(const struct schema *schema, uint8_t *image, uint32_t column, const void *value);
/* The first two bytes of a column that has so many: the length of one of BYTES. */
static inline uint16_t record_column_word(const struct schema *schema, const uint8_t *image, uint32_t column)
{
    const struct schema_column *from = &schema->columns[column];
    const uint8_t *first = image + from->offset;
    bool apart = from->offset % LAYOUT_LINE == LAYOUT_LINE - 1;
    uint8_t bytes[2] = {first[0], first[apart ? 1 + LAYOUT_LINE - LAYOUT_VALUE_PER_LINE : 1]};
    uint16_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}
/*
 * So many bytes of a column, from `at` on, which is less than LAYOUT_VALUE_PER_LINE. What a line has of them is moved
 * with a whole line's bytes, of a size that the compiler knows: so many more are read, and written.
 */
#define RECORD_SPILL LAYOUT_LINE
static inline void record_column_spill(const struct schema *schema, const uint8_t *image, uint32_t column, uint32_t at,
                                       uint32_t bytes, uint8_t *part)
{
    const struct schema_column *of = &schema->columns[column];
    const uint8_t *from = image + of->offset + at;
    uint32_t in_line = of->offset % LAYOUT_LINE + at;
    if (in_line >= LAYOUT_LINE) from += LAYOUT_LINE - LAYOUT_VALUE_PER_LINE;
    if (in_line >= LAYOUT_LINE) in_line -= LAYOUT_VALUE_PER_LINE;
    for (uint32_t share = LAYOUT_LINE - in_line; bytes > share; share = LAYOUT_VALUE_PER_LINE) {
        memcpy(part, from, RECORD_SPILL);
        part += share;
        bytes -= share;
        from += share + LAYOUT_LINE - LAYOUT_VALUE_PER_LINE;
    }
    memcpy(part, from, RECORD_SPILL);
}
void record_row_get(const struct schema *schema, const uint8_t *image, uint32_t cells, void *row);
void record_row_put(const struct schema *schema, uint8_t *image, uint32_t cells, const void *row);
/* A cell's value, padded_bytes of it, gathered from (scattered to) its lines. */
void record_value_get(const struct schema *schema, const uint8_t *image, uint32_t cell, void *value);
void record_value_put(const struct schema *schema, uint8_t *image, uint32_t cell, const void *value);
/* Clears what follows the value of a cell, which is one of schema.tailed_cells, up to the cell's end. */
void record_tail_clear(const struct schema *schema, uint8_t *image, uint32_t cell);
/* A whole new image from a row: key, table, no flags, versions and lock zero, padding zero. */
void record_init(const struct schema *schema, uint8_t *image, uint32_t table_id, uint64_t key, const void *row);
