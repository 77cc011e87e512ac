/* extent.c - how long values are cut, numbered and summed. */
#include "extent.h"

#include "schemadef.h"
#include "plant.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(offsetof(struct extent_value, head) == EXTENT_HEAD_BYTES, "CELLAR_VALUE declares the same");

/*
 * Lines of value. Found by search: of six sizes with a large one these take 1.25 x the bytes at most from the smallest
 * length on (2,464). Four records of the largest fill a chunk.
 */
static const uint16_t lines_of[EXTENT_SIZES] = {7, 8, 13, 38, 49, 254};
#define LARGEST (EXTENT_SIZES - 1)
#define LARGEST_LINES 254
_Static_assert(EXTENT_BYTES_MAX == LARGEST_LINES * LAYOUT_VALUE_PER_LINE, "of the largest size");
#define QUARTERS(lines) (4 * (lines) + 5) /* of lines: with an extent's header, and its share of an index bucket */

uint32_t extent_bytes(uint32_t size) { return lines_of[size] * (uint32_t)LAYOUT_VALUE_PER_LINE; }

/* Of up to LARGEST_LINES lines: the least space, and with which size to begin. */
struct cheapest {
    uint32_t quarters[LARGEST_LINES + 1];
    uint8_t size[LARGEST_LINES + 1];
};

static void cheapest_find(uint32_t lines, struct cheapest *cheapest)
{
    cheapest->quarters[0] = 0;
    for (uint32_t n = 1; n <= lines; n++) {
        cheapest->quarters[n] = UINT32_MAX;
        for (uint32_t size = 0; size < EXTENT_SIZES; size++) {
            uint32_t left = n > lines_of[size] ? n - lines_of[size] : 0;
            uint32_t all = cheapest->quarters[left] + QUARTERS(lines_of[size]);
            if (all >= cheapest->quarters[n]) continue;
            cheapest->quarters[n] = all;
            cheapest->size[n] = (uint8_t)size;
        }
    }
}

void extent_cut(uint32_t bytes, struct extent_cut *cut)
{
    struct cheapest cheapest;
    uint32_t lines = (bytes + LAYOUT_VALUE_PER_LINE - 1) / LAYOUT_VALUE_PER_LINE;
    for (cut->count = 0; lines >= LARGEST_LINES; lines -= LARGEST_LINES) cut->sizes[cut->count++] = LARGEST;
    cheapest_find(lines, &cheapest);
    while (lines) {
        uint32_t size = cheapest.size[lines];
        cut->sizes[cut->count++] = (uint8_t)size;
        lines = lines > lines_of[size] ? lines - lines_of[size] : 0;
    }
}

uint64_t extent_place(const uint64_t numbers[3])
{
    uint64_t hash = PLANT_KEY_HASH(XXH3_64bits(numbers, 3 * sizeof *numbers));
    return (hash & ~EXTENT_PIECE_MASK) | (EXTENT_PIECE_MASK + 1);
}

uint32_t extent_sum(uint64_t number, const void *bytes, uint32_t count)
{
    return (uint32_t)XXH3_64bits_withSeed(bytes, count, number);
}

bool extent_sane(const struct extent_value *value, uint32_t room)
{
    if (value->bytes <= room) return !value->place && !value->sum;
    return value->bytes <= CELLAR_VALUE_BYTES_MAX && value->place && !(value->place & EXTENT_PIECE_MASK);
}

uint32_t extent_columns(uint32_t size, struct cellar_schema_column *columns)
{
    static const char *const names[EXTENT_COLUMNS_MAX] = {"a", "b", "c", "d"};
    uint32_t count = 0, all = extent_bytes(size);
    for (uint32_t offset = 0; offset < all; count++) {
        uint32_t bytes = all - offset < CELLAR_COLUMN_BYTES_MAX ? all - offset : CELLAR_COLUMN_BYTES_MAX;
        columns[count] =
            (struct cellar_schema_column){.name = names[count], .offset = offset, .bytes = bytes, .cell = 0};
        offset += bytes;
    }
    return count;
}

uint64_t extent_records_max(uint32_t size, uint64_t values, uint64_t bytes)
{
    uint64_t by_bytes = bytes / extent_bytes(size) + 1;
    uint64_t by_values = values * 2; /* few have more of one of the smaller sizes */
    return size < LARGEST && by_values < by_bytes ? by_values : by_bytes;
}
