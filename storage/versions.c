#include "versions.h"

#include <string.h>

bool versions_lay_out(struct schema *schema)
{
    uint32_t bar_bytes = (versions_bytes(schema, schema->all_cells) + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
    if (schema->record_bytes + LAYOUT_LINE + bar_bytes > LAYOUT_RECORD_BYTES_MAX) return false;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        schema->cells[cell].offset = (uint16_t)(schema->cells[cell].offset + LAYOUT_LINE);
        schema->cells[cell].end = (uint16_t)(schema->cells[cell].end + LAYOUT_LINE);
    }
    schema->head_bytes = LAYOUT_LINE + (uint32_t)sizeof(struct versions_wire);
    schema->cells_end = schema->record_bytes + LAYOUT_LINE;
    schema->bar_bytes = bar_bytes;
    schema->record_bytes = schema->cells_end + bar_bytes;
    return true;
}

uint32_t versions_bytes(const struct schema *schema, uint32_t cells)
{
    uint32_t bytes = 0;
    for (; cells; cells &= cells - 1) bytes += 8u + schema->cells[__builtin_ctz(cells)].padded_bytes;
    return bytes;
}

/* ---- tuples ---- */

static uint64_t tuple_ts(const struct tuple_wire *tuple) { return layout_version_ts(tuple->writer); }
static uint32_t tuple_start(const struct tuple_wire *tuple) { return 8u * layout_version_en(tuple->writer); }

static struct tuple_wire *newest_of(struct versions_wire *versions)
{
    struct tuple_wire *newest = &versions->tuples[0];
    for (uint32_t i = 1; i < LAYOUT_TUPLES; i++)
        if (tuple_ts(&versions->tuples[i]) > tuple_ts(newest)) newest = &versions->tuples[i];
    return newest;
}

static struct tuple_wire *oldest_of(struct versions_wire *versions)
{
    struct tuple_wire *oldest = &versions->tuples[0];
    for (uint32_t i = 1; i < LAYOUT_TUPLES; i++)
        if (tuple_ts(&versions->tuples[i]) < tuple_ts(oldest)) oldest = &versions->tuples[i];
    return oldest;
}

uint64_t versions_newest(const struct versions_wire *versions)
{
    return tuple_ts(newest_of((struct versions_wire *)(uintptr_t)versions));
}

static bool plausible(const struct schema *schema, const struct tuple_wire *tuple)
{
    uint32_t bytes = 8u * tuple->words;
    return tuple->cells && (tuple->cells & ~schema->all_cells) == 0 && bytes == versions_bytes(schema, tuple->cells) &&
           bytes <= schema->bar_bytes && tuple_start(tuple) <= schema->bar_bytes - bytes;
}

/* Where the room behind the newest tuple's begins, if that is plausible. */
static uint32_t room_start(const struct schema *schema, struct versions_wire *versions, uint32_t bytes)
{
    const struct tuple_wire *newest = newest_of(versions);
    if (tuple_ts(newest) == 0 || !plausible(schema, newest)) return 0;
    uint32_t start = tuple_start(newest) + 8u * newest->words;
    return start + bytes <= schema->bar_bytes ? start : 0;
}

uint32_t versions_push(const struct schema *schema, struct versions_wire *versions, uint64_t ts, uint32_t cells)
{
    uint32_t bytes = versions_bytes(schema, cells), start = room_start(schema, versions, bytes);
    for (uint32_t i = 0; i < LAYOUT_TUPLES; i++) {
        struct tuple_wire *tuple = &versions->tuples[i];
        uint32_t tuple_end = tuple_start(tuple) + 8u * tuple->words;
        bool clear = tuple_end <= start || tuple_start(tuple) >= start + bytes;
        if (!clear && !PLANT(motor_bar_overlaps)) *tuple = (struct tuple_wire){0};
    }
    *oldest_of(versions) = (struct tuple_wire){
        .writer = layout_version_of((uint16_t)(start / 8), ts), .cells = cells, .words = (uint16_t)(bytes / 8)};
    return schema->cells_end + start;
}

void versions_pack(const struct schema *schema, const uint8_t *image, uint32_t cells, uint8_t *packed)
{
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        record_word_set(packed, 0, record_version(schema, image, cell));
        record_value_get(schema, image, cell, packed + 8);
        packed += 8u + schema->cells[cell].padded_bytes;
    }
}

const struct tuple_wire *versions_find(const struct schema *schema, const struct versions_wire *versions, uint64_t ts)
{
    for (uint32_t i = 0; i < LAYOUT_TUPLES; i++)
        if (tuple_ts(&versions->tuples[i]) == ts && plausible(schema, &versions->tuples[i]))
            return &versions->tuples[i];
    return NULL;
}

void versions_undo(const struct schema *schema, const struct tuple_wire *tuple, const uint8_t *bar, uint8_t *image,
                   uint32_t cells)
{
    const uint8_t *packed = bar + tuple_start(tuple);
    for (uint32_t rest = tuple->cells; rest; rest &= rest - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(rest);
        if ((cells >> cell & 1) && layout_version_ts(record_version(schema, image, cell)) == tuple_ts(tuple)) {
            record_value_put(schema, image, cell, packed + 8);
            record_version_set(schema, image, cell, record_word(packed, 0));
        }
        packed += 8u + schema->cells[cell].padded_bytes;
    }
}
