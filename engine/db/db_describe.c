#include "db_describe.h"

#include "coordinator.h"
#include "db_order.h"
#include "handle.h"

#include <stdio.h>

/* ---- columns ---- */

/* A column that has its cell to itself asks for none. */
static uint32_t cell_of(const struct table *table, uint32_t stored)
{
    const struct schema *schema = &table->schema;
    uint32_t cell = schema->columns[stored].cell, sharers = 0;
    for (uint32_t i = 0; i < schema->column_count; i++)
        sharers += schema->columns[i].cell == cell && schema->columns[i].type != CELLAR_NO_TYPE;
    return sharers > 1 ? cell + 1 : 0;
}

static struct cellar_column column_of_part(const struct rowkey_part *part)
{
    bool bytes = part->type == CELLAR_BYTES;
    return (struct cellar_column){.name = part->name,
                                  .bytes = bytes ? sizeof(struct cellar_bytes) : part->bytes,
                                  .type = part->type,
                                  .flags = CELLAR_KEY,
                                  .bytes_max = bytes ? part->bytes : 0};
}

static struct cellar_column column_of_stored(const struct table *table, uint32_t stored)
{
    const struct schema_column *from = &table->schema.columns[stored];
    struct cellar_column column = {
        .name = from->name, .bytes = from->bytes, .type = from->type, .cell = cell_of(table, stored)};
    if (from->type != CELLAR_BYTES) return column;
    column.bytes = sizeof(struct cellar_bytes);
    column.bytes_max = table->variable >> stored & 1 ? CELLAR_VALUE_BYTES_MAX : from->bytes - SCHEMA_LENGTH_BYTES;
    return column;
}

static uint32_t alignment_of(const struct cellar_column *column)
{
    if (column->type == CELLAR_FIXED) return 1;
    return column->type == CELLAR_BYTES ? (uint32_t) _Alignof(struct cellar_bytes) : column->bytes;
}

static void column_place(struct db_layout *layout, struct cellar_column column)
{
    uint32_t align = alignment_of(&column);
    column.offset = (layout->def.row_bytes + align - 1) / align * align;
    layout->def.row_bytes = column.offset + column.bytes;
    layout->columns[layout->def.column_count++] = column;
}

/* The column of that place in the table's definition. */
static bool column_find(const struct table *table, uint32_t place, struct cellar_column *column)
{
    for (uint32_t i = 0; i < table->key.count; i++) {
        if (table->key.parts[i].place != place) continue;
        *column = column_of_part(&table->key.parts[i]);
        return true;
    }
    for (uint32_t i = 0; i < table->schema.column_count; i++) {
        const struct schema_column *stored = &table->schema.columns[i];
        if (stored->type == CELLAR_NO_TYPE || stored->place != place) continue;
        *column = column_of_stored(table, i);
        return true;
    }
    return false;
}

void db_layout_make(const struct table *table, struct db_layout *layout)
{
    struct cellar_column column;
    layout->def =
        (struct cellar_table_def){.size = sizeof layout->def, .name = table->name, .columns = layout->columns};
    for (uint32_t place = 0; place <= CELLAR_COLUMNS_MAX; place++) /* a wide key's own column moves all others by one */
        if (column_find(table, place, &column)) column_place(layout, column);
    layout->def.row_bytes = (layout->def.row_bytes + 7) / 8 * 8;
}

/* ---- what was told of a view, and may still be looked at ---- */

struct described {
    struct described *before;
    uint32_t index_count;
    const struct cellar_index *of[CELLAR_INDEXES_MAX];
    struct cellar_table_def def;
    struct cellar_column columns[CELLAR_COLUMNS_MAX];
    struct cellar_index_def indexes[CELLAR_INDEXES_MAX];
    char texts[CELLAR_INDEXES_MAX][2][DB_ORDER_TEXT_BYTES];
};

static void column_describe(const struct rowview *view, uint32_t number, struct cellar_column *column)
{
    const struct rowview_column *from = &view->columns[number];
    const struct table *table = view->handle.table;
    *column = from->part >= 0 ? column_of_part(&table->key.parts[from->part]) : column_of_stored(table, from->stored);
    column->offset = from->offset;
    if (column->type == CELLAR_BYTES) column->bytes_max = from->bytes_max;
}

static void index_describe(struct described *described, const struct cellar_index *index)
{
    uint32_t i = described->def.index_count;
    if (strcmp(index->name, ORDER_BY_KEY) == 0) {
        described->def.flags |= CELLAR_ORDERED;
        return;
    }
    char(*texts)[DB_ORDER_TEXT_BYTES] = described->texts[i];
    db_order_print(index, texts[0], texts[1]);
    described->indexes[i] = (struct cellar_index_def){.name = index->name,
                                                      .columns = texts[0][0] ? texts[0] : NULL,
                                                      .covers = texts[1][0] ? texts[1] : NULL,
                                                      .flags = index->flags};
    described->def.index_count++;
}

static void describe(const struct rowview *view, struct described *described)
{
    const struct table *table = view->handle.table;
    described->def = (struct cellar_table_def){.size = sizeof described->def,
                                               .row_bytes = view->row_bytes,
                                               .name = table->name,
                                               .columns = described->columns,
                                               .column_count = view->column_count,
                                               .cluster_bits = table->index.cluster_bits,
                                               .rows = table->records_max};
    for (uint32_t i = 0; i < view->column_count; i++) column_describe(view, i, &described->columns[i]);
    described->index_count = table->ordered_count;
    for (uint32_t i = 0; i < table->ordered_count; i++) {
        described->of[i] = table->ordered[i];
        index_describe(described, table->ordered[i]);
    }
    if (described->def.index_count) described->def.indexes = described->indexes;
}

/* Has the table the indexes that it had then? Nothing else of it changes. */
static bool still_so(const struct described *described, const struct table *table)
{
    return described && described->index_count == table->ordered_count &&
           memcmp(described->of, table->ordered, table->ordered_count * sizeof(*table->ordered)) == 0;
}

struct table_describe {
    const struct cellar_table *handle;
    struct cellar_table_def *def;
    struct cellar_error *error;
};

/* Calls on one database never overlap here. */
static int table_describe(struct coro *co, struct coordinator *coordinator, void *arg)
{
    const struct table_describe *call = arg;
    (void)co;
    int rc = catalog_table_check(coordinator->worker->db->catalog, call->handle, call->error);
    if (rc) return rc;
    struct rowview *view = (struct rowview *)call->handle->view;
    if (!view)
        return err_set(call->error, CELLAR_INVALID, "table %s: cellar_table_open has not given this handle",
                       call->handle->table->name);
    if (!still_so(view->described, call->handle->table)) {
        struct described *described = handle_new(sizeof *described);
        if (!described) return err_set(call->error, CELLAR_NOMEM, "no memory for a description");
        describe(view, described);
        described->before = view->described;
        view->described = described;
    }
    *call->def = view->described->def;
    return 0;
}

int db_table_describe(struct cellar *db, const struct cellar_table *handle, struct cellar_table_def *def,
                      struct cellar_error *error)
{
    struct table_describe call = {handle, def, error};
    return db_call_on(db, 0, table_describe, &call, error);
}

void db_described_free(struct described *described)
{
    while (described) {
        struct described *before = described->before;
        handle_drop(described, sizeof *described);
        described = before;
    }
}
