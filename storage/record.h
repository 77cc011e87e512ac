/*
 * record.h - reading and writing a record's image: its bytes as they are in the memory node (layout.h), in local memory.
 * Pure functions; hot. Images are 8-byte aligned and record_bytes long, but only the header and the lines of fetched cells hold data.
 */
#pragma once

#include "schema.h"

#include <stdbool.h>

static inline uint64_t record_word(const uint8_t *image, uint32_t offset)
{
    return *(const uint64_t *)(const void *)(image + offset);
}
static inline void record_word_set(uint8_t *image, uint32_t offset, uint64_t word) { *(uint64_t *)(void *)(image + offset) = word; }
static inline struct record_wire *record_header(uint8_t *image) { return (struct record_wire *)(void *)image; }

/* The version of a cell (of its first line). */
static inline uint64_t record_version(const struct schema *schema, const uint8_t *image, uint32_t cell)
{
    return record_word(image, schema->cells[cell].offset);
}
/* Is each line of these cells at the header's EN, with equal versions on all lines of a cell? False: torn, read again. */
bool record_whole(const struct schema *schema, const uint8_t *image, uint32_t cells);
/* Sets EN and TS of a cell on all its lines and EN in the header image. */
void record_version_set(const struct schema *schema, uint8_t *image, uint32_t cell, uint64_t version);
/* The bytes [*first, *end) that hold these cells (header not included); cells must not be empty. */
void record_span(const struct schema *schema, uint32_t cells, uint32_t *first, uint32_t *end);

/* Columns and rows. */
void record_column_get(const struct schema *schema, const uint8_t *image, uint32_t column, void *value);
void record_column_put(const struct schema *schema, uint8_t *image, uint32_t column, const void *value);
void record_row_get(const struct schema *schema, const uint8_t *image, uint32_t cells, void *row);
void record_row_put(const struct schema *schema, uint8_t *image, uint32_t cells, const void *row);
/* A cell's value, padded_bytes of it, gathered from (scattered to) its lines. */
void record_value_get(const struct schema *schema, const uint8_t *image, uint32_t cell, void *value);
void record_value_put(const struct schema *schema, uint8_t *image, uint32_t cell, const void *value);
/* A whole new image from a row: key, table, no flags, versions and lock zero, padding zero. */
void record_init(const struct schema *schema, uint8_t *image, uint32_t table_id, uint64_t key, const void *row);
