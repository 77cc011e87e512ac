#include "bulk_rows.h"

#include "extent.h"
#include "loader.h"
#include "worker.h"

#include <stdlib.h>

struct rows {
    const struct bulk *bulk;
    const struct rowview *view;
    cellar_lab_row_fn fn;
    void *arg;
    uint8_t *row;    /* the program's */
    uint8_t *values; /* long ones of a row, one behind the other */
    size_t values_room;
    uint8_t extent[EXTENT_BYTES_MAX];
    struct cellar_error *error;
};

static int contradicted(const struct rows *rows, uint64_t number)
{
    return err_set(rows->error, CELLAR_CORRUPT,
                   "table %s, record %llu: its bytes are no row, or a long value contradicts its extents",
                   rows->view->handle.table->name, (unsigned long long)number);
}

/* ---- long values ---- */

/* What does not lie in the row: all of it, or not. */
static int rest_read(struct rows *rows, const struct extent_value *value, uint32_t rest, uint64_t number, uint8_t *to)
{
    const struct table *table = rows->view->handle.table;
    struct worker *worker = rows->bulk->worker;
    struct extent_cut cut;
    uint32_t sum = 0;
    extent_cut(rest, &cut);
    for (uint32_t i = 0; i < cut.count; i++) {
        const struct table *extents = table->extents[cut.sizes[i]];
        int rc = loader_find(rows->bulk->co, worker->loader, extents, value->place + i, rows->extent, rows->error);
        if (rc <= 0) return rc ? rc : contradicted(rows, number);
        uint32_t all = extent_bytes(cut.sizes[i]), count = all < rest ? all : rest;
        sum += extent_sum(value->place + i, rows->extent, all);
        memcpy(to, rows->extent, count);
        to += count;
        rest -= count;
    }
    return sum == value->sum ? 0 : contradicted(rows, number);
}

static int value_read(struct rows *rows, const struct extent_value *value, uint32_t room, uint64_t number, uint8_t *to)
{
    uint32_t rest = extent_rest(value->bytes, room), head = value->bytes - rest;
    if (head) memcpy(to, value->head, head);
    return rest ? rest_read(rows, value, rest, number, to + head) : 0;
}

/* One column of a record's row. False: it is no value. */
static bool value_of(const struct rows *rows, const uint8_t *from, uint32_t stored, struct extent_value *value,
                     uint32_t *room)
{
    const struct schema_column *column = &rows->view->handle.table->schema.columns[stored];
    memcpy(value, from + column->row_offset, column->bytes);
    *room = column->bytes - EXTENT_HEAD_BYTES;
    return extent_sane(value, *room);
}

/* Room for the long values of one row. */
static int values_make(struct rows *rows, const uint8_t *from, uint64_t number)
{
    struct extent_value value;
    uint32_t room;
    size_t bytes = 0;
    for (uint64_t longs = rows->view->longs; longs; longs &= longs - 1) {
        if (!value_of(rows, from, rows->view->columns[__builtin_ctzll(longs)].stored, &value, &room))
            return contradicted(rows, number);
        bytes += value.bytes;
    }
    if (bytes <= rows->values_room) return 0;
    uint8_t *more = realloc(rows->values, bytes);
    if (!more) return err_set(rows->error, CELLAR_NOMEM, "no memory for values of %zu bytes", bytes);
    rows->values = more;
    rows->values_room = bytes;
    return 0;
}

static int values_show(struct rows *rows, const uint8_t *from, uint64_t number)
{
    struct extent_value value;
    uint32_t room;
    size_t at = 0;
    int rc = values_make(rows, from, number);
    for (uint64_t longs = rows->view->longs; longs && rc == 0; longs &= longs - 1) {
        const struct rowview_column *column = &rows->view->columns[__builtin_ctzll(longs)];
        (void)value_of(rows, from, column->stored, &value, &room);
        if (value.bytes > column->bytes_max) return contradicted(rows, number);
        const struct cellar_bytes text = {rows->values + at, value.bytes};
        memcpy(rows->row + column->offset, &text, sizeof text);
        rc = value_read(rows, &value, room, number, rows->values + at);
        at += value.bytes;
    }
    return rc;
}

/* ---- rows ---- */

static int row_show(void *arg, uint64_t number, const void *stored)
{
    struct rows *rows = arg;
    if (!rowview_show(rows->view, number, stored, rows->row)) return contradicted(rows, number);
    int rc = values_show(rows, stored, number);
    return rc ? rc : rows->fn(rows->arg, 0, rows->row);
}

int bulk_rows_scan(const struct bulk *bulk, const struct cellar_table *handle, cellar_lab_row_fn fn, void *arg,
                   struct cellar_error *error)
{
    struct rows *rows = calloc(1, sizeof *rows + handle->view->row_bytes);
    if (!rows) return err_set(error, CELLAR_NOMEM, "no memory for a row of table %s", handle->table->name);
    *rows = (struct rows){
        .bulk = bulk, .view = handle->view, .fn = fn, .arg = arg, .row = (uint8_t *)(rows + 1), .error = error};
    int rc = loader_scan(bulk->co, bulk->worker->loader, handle->table, row_show, rows, error);
    free(rows->values);
    free(rows);
    return rc;
}

int bulk_rows_take(const struct worker *worker, const struct cellar_table *handle, const void *row, uint64_t *number,
                   const void **stored, struct cellar_error *error)
{
    const struct rowview *view = handle->view;
    const struct table *table = handle->table;
    uint8_t *to = loader_row(worker->loader);
    if (table->key.wide)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "table %s has a key of BYTES, or of more than 8 bytes: insert its rows in transactions",
                       table->name);
    int rc = rowview_check(view, view->all, row, error);
    if (rc) return rc;
    memset(to, 0, table->schema.row_bytes);
    rowview_row(view, view->all, row, to);
    *number = rowview_number(view, row);
    *stored = to;
    return 0;
}
