/* loader_extents.c - tallies of long values and of their extents. */
#include "loader_extents.h"

#include "record.h"

static struct loader_extents_tally *tally_of(struct loader_extents *extents, const struct table *table)
{
    return &extents->of[table->id - 1];
}

static bool value_tell(struct loader_extents *extents, const struct table *table, const struct extent_value *value,
                       uint32_t room)
{
    struct extent_cut cut;
    if (!extent_sane(value, room)) return false;
    tally_of(extents, table)->sum += value->sum;
    extent_cut(extent_rest(value->bytes, room), &cut);
    for (uint32_t piece = 0; piece < cut.count; piece++) {
        struct loader_extents_tally *tally = tally_of(extents, table->extents[cut.sizes[piece]]);
        tally->told++;
        tally->told_numbers += index_hash(value->place + piece);
    }
    return true;
}

bool loader_extents_tell(struct loader_extents *extents, const struct table *table, const uint8_t *image)
{
    for (uint64_t columns = table->variable; columns; columns &= columns - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(columns);
        struct extent_value value;
        record_column_get(&table->schema, image, column, &value);
        if (!value_tell(extents, table, &value, table->schema.columns[column].bytes - EXTENT_HEAD_BYTES)) return false;
    }
    return true;
}

void loader_extents_meet(struct loader_extents *extents, const struct table *table, uint64_t number,
                         const uint8_t *image, uint8_t *row)
{
    struct loader_extents_tally *tally = tally_of(extents, table);
    record_row_get(&table->schema, image, table->schema.all_cells, row);
    tally->met++;
    tally->met_numbers += index_hash(number);
    tally->sum += extent_sum(number, row, table->schema.row_bytes);
}

const char *loader_extents_judge(const struct loader_extents *extents, const struct table *table,
                                 const struct table **where, uint64_t *met, uint64_t *told)
{
    uint32_t sum = 0;
    for (uint32_t size = 0; size < EXTENT_SIZES; size++) {
        const struct loader_extents_tally *tally = &extents->of[table->extents[size]->id - 1];
        *where = table->extents[size];
        *met = tally->met;
        *told = tally->told;
        sum += tally->sum;
        if (*met != *told) return "extents, and those that values have";
        if (tally->met_numbers != tally->told_numbers)
            return "extents have other numbers than those of values: so many";
    }
    *where = table;
    *met = sum;
    *told = extents->of[table->id - 1].sum;
    return *met == *told ? NULL : "sum of the bytes in extents, and that of values";
}
