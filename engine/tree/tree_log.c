/*
 * tree_log.c - how many bytes of redo log changes of trees take at most.
 */
#include "tree.h"

#include "logseg.h"

uint64_t tree_work_log_bytes(const struct catalog *catalog, bool undo)
{
    uint64_t most = 0;
    catalog_each(catalog, table)
    {
        const struct schema *schema = &table->schema;
        uint64_t change = sizeof(struct log_write_wire) + (undo ? sizeof(uint64_t) : 0);
        uint64_t bytes = schema->value_bytes + schema->cell_count * change +
                         2ull * logseg_write_bytes(LAYOUT_BUCKET_CELL_BYTES + (undo ? 8 : 0));
        if (table->orders.of && bytes > most) most = bytes;
    }
    return sizeof(struct log_entry_wire) + (TREE_NEW_MAX + 3) * most;
}

uint64_t tree_row_log_bytes(const struct table *table, bool moves, bool undo)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < table->ordered_count; k++)
        bytes += (uint64_t)logseg_write_bytes(table->ordered[k]->data_bytes + (undo ? 8 : 0)) << moves;
    return bytes;
}

/* Of a data cell that is taken into use, in the widest index of a table. */
static uint64_t tree_open_log_bytes(const struct table *table, bool undo)
{
    uint64_t most = 0;
    for (uint32_t k = 0; k < table->ordered_count; k++) {
        const struct cellar_index *index = table->ordered[k];
        uint64_t bytes = logseg_write_bytes(index->data_bytes + (undo ? 8 : 0)) +
                         logseg_write_bytes(index->shape_bytes + (undo ? 8 : 0));
        most = bytes > most ? bytes : most;
    }
    return most;
}

uint64_t tree_room_log_bytes(const struct catalog *catalog, bool undo)
{
    uint64_t most = 0;
    catalog_each(catalog, table)
    {
        uint64_t bytes = tree_open_log_bytes(table, undo);
        most = bytes > most ? bytes : most;
    }
    return TREE_OPENS_MAX * most;
}

uint64_t tree_log_bytes(const struct catalog *catalog, uint32_t writes_max, bool undo)
{
    uint64_t most = 0;
    catalog_each(catalog, table)
    {
        uint64_t bytes = tree_row_log_bytes(table, true, undo);
        most = bytes > most ? bytes : most;
    }
    return writes_max ? writes_max * most + tree_room_log_bytes(catalog, undo) : 0;
}
