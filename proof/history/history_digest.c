#include "history_digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t history_digest(const void *value, uint32_t bytes)
{
    uint64_t digest = XXH3_64bits(value, bytes);
    return digest ? digest : 1;
}

uint64_t history_digest_cell(const struct schema *schema, const uint8_t *image, uint32_t cell)
{
    uint64_t value[LAYOUT_RECORD_BYTES_MAX / 8];
    record_value_get(schema, image, cell, value);
    return history_digest(value, schema->cells[cell].padded_bytes);
}
