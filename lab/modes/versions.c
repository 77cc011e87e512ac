#include "versions.h"

#include "modes_plants.h"

#include <string.h>

bool versions_lay_out(struct schema *schema)
{
    uint32_t bar_bytes = (versions_bytes(schema, schema->all_cells) + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
    if (schema->record_bytes + LAYOUT_LINE + bar_bytes > LAYOUT_RECORD_BYTES_MAX) return false;
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        schema->cells[cell].offset = (uint16_t)(schema->cells[cell].offset + LAYOUT_LINE);
        schema->cells[cell].end = (uint16_t)(schema->cells[cell].end + LAYOUT_LINE);
    }
    schema_place_columns(schema);
    schema->head_bytes = LAYOUT_LINE + (uint32_t)sizeof(struct versions_wire);
    schema->cells_end = schema->record_bytes + LAYOUT_LINE;
    schema->bar_bytes = bar_bytes;
    schema->versions = &versions_rules;
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

/* ---- a record at rest ---- */

static bool flawed(struct schema_flaw *flaw, const char *what, uint64_t found, uint64_t expected)
{
    *flaw = (struct schema_flaw){what, found, expected};
    return false;
}

/* The version of that cell, one of the tuple's, that it displaced. */
static uint64_t displaced_ts(const struct schema *schema, const struct tuple_wire *tuple, const uint8_t *image,
                             uint32_t cell)
{
    uint32_t before = versions_bytes(schema, tuple->cells & ((1u << cell) - 1));
    return layout_version_ts(record_word(image, schema->cells_end + tuple_start(tuple) + before));
}

/* Against those in front of it in the line. */
static bool tuple_alone(const struct versions_wire *versions, uint32_t number, struct schema_flaw *flaw)
{
    const struct tuple_wire *tuple = &versions->tuples[number];
    uint32_t start = tuple_start(tuple), end = start + 8u * tuple->words;
    for (uint32_t i = 0; i < number; i++) {
        const struct tuple_wire *other = &versions->tuples[i];
        uint32_t other_start = tuple_start(other), other_end = other_start + 8u * other->words;
        if (tuple_ts(other) == tuple_ts(tuple)) return flawed(flaw, "two tuples of one TS", tuple_ts(tuple), 0);
        if (start < other_end && other_start < end)
            return flawed(flaw, "a tuple's place in the bar, where another one's ends", start, other_end);
    }
    return true;
}

static bool tuple_ordered(const struct schema *schema, const struct versions_wire *versions,
                          const struct tuple_wire *tuple, const uint8_t *image, struct schema_flaw *flaw)
{
    for (uint32_t cells = tuple->cells; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        uint64_t newest = layout_version_ts(record_version(schema, image, cell));
        uint64_t before = displaced_ts(schema, tuple, image, cell);
        if (newest < tuple_ts(tuple))
            return flawed(flaw, "the newest TS of a cell, which a tuple's writer wrote", newest, tuple_ts(tuple));
        if (before >= tuple_ts(tuple))
            return flawed(flaw, "the TS of what a tuple's writer displaced", before, tuple_ts(tuple) - 1);
        for (uint32_t i = 0; i < LAYOUT_TUPLES; i++) {
            const struct tuple_wire *other = &versions->tuples[i];
            if ((other->cells >> cell & 1) && tuple_ts(other) < tuple_ts(tuple) && tuple_ts(other) > before)
                return flawed(flaw, "the TS of what was displaced, behind an earlier tuple", before, tuple_ts(other));
        }
    }
    return true;
}

bool versions_sound(const struct schema *schema, const uint8_t *image, struct schema_flaw *flaw)
{
    const struct versions_wire *versions = (const struct versions_wire *)(const void *)(image + LAYOUT_LINE);
    static const struct tuple_wire unused;
    for (uint32_t i = 0; i < LAYOUT_TUPLES; i++) {
        const struct tuple_wire *tuple = &versions->tuples[i];
        if (tuple_ts(tuple) == 0 && memcmp(tuple, &unused, sizeof unused) == 0) continue;
        if (tuple_ts(tuple) == 0 || tuple->pad || !plausible(schema, tuple))
            return flawed(flaw, "a tuple that cannot be; its cells", tuple->cells, schema->all_cells);
        if (!tuple_alone(versions, i, flaw)) return false;
    }
    for (uint32_t i = 0; i < LAYOUT_TUPLES; i++)
        if (!tuple_ordered(schema, versions, &versions->tuples[i], image, flaw)) return false;
    return true;
}

const struct schema_versions versions_rules = {.lay_out = versions_lay_out, .sound = versions_sound};
