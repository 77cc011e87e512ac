/* face_model_scan.h - ranges of the model's table by its orders: cursors, and reads by an index, against the array. */
#pragma once

#include "face_model.h"

#define MODEL_INDEXES 2
static const struct cellar_index_def model_indexes[MODEL_INDEXES] = {
    {.name = "by_flag", .columns = "flag, -note"},
    {.name = "by_real", .columns = "-real,low", .covers = "text, small"}};

static inline void order_add(struct order *order, uint32_t column, bool down)
{
    order->columns[order->total].column = column;
    order->columns[order->total++].down = down;
}

static inline void orders_make(struct play *play)
{
    struct order *by_flag = &play->orders[1], *by_real = &play->orders[2];
    if (!play->ordered) return;
    by_flag->index = cellar_index_find(play->all, "by_flag");
    by_real->index = cellar_index_find(play->all, "by_real");
    assert_true(by_flag->index && by_real->index);
    order_add(by_flag, A_FLAG, false);
    order_add(by_flag, A_NOTE, true);
    order_add(by_real, A_REAL, true);
    order_add(by_real, A_LOW, false);
    by_flag->count = by_real->count = 2;
    play->orders[0].count = play->wide ? 3 : 2;
    for (uint32_t i = 0; i < ORDERS; i++) { /* and then by the key */
        order_add(&play->orders[i], A_HIGH, false);
        if (i != 2) order_add(&play->orders[i], A_LOW, false);
        if (play->wide) order_add(&play->orders[i], A_WORD, false);
    }
}

/* It looks at all keys. */
static inline void all_known(struct play *play)
{
    for (uint32_t key = 0; key < KEYS; key++) {
        struct all row = drawn_row(play, key);
        (void)!cellar_get(play->txn, play->all, CELLAR_COL(A_LOW), 0, &row);
        play->known[key] = true;
    }
}

/* ---- what is in a range ---- */

static inline int texts_compare(struct cellar_bytes a, struct cellar_bytes b)
{
    size_t both = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = both ? memcmp(a.data, b.data, both) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static inline int column_compare(const struct all *a, const struct all *b, uint32_t column)
{
    switch (column) {
    case A_HIGH:
        return (a->high > b->high) - (a->high < b->high);
    case A_LOW:
        return (a->low > b->low) - (a->low < b->low);
    case A_FLAG:
        return a->flag - b->flag;
    case A_REAL:
        return (a->real > b->real) - (a->real < b->real);
    case A_WORD:
        return texts_compare(a->word, b->word);
    default:
        return texts_compare(a->note, b->note);
    }
}

static inline int rows_compare(const struct order *order, uint32_t count, const struct all *a, const struct all *b)
{
    for (uint32_t i = 0; i < count; i++) {
        int side = column_compare(a, b, order->columns[i].column);
        if (side) return order->columns[i].down ? -side : side;
    }
    return 0;
}

/* The same, of a row and an end whose last column is a prefix: what begins so is equal. */
static inline int end_compare(const struct order *order, uint32_t count, bool prefix, struct all row,
                              const struct all *end)
{
    if (count && prefix) {
        bool word = order->columns[count - 1].column == A_WORD;
        struct cellar_bytes *text = word ? &row.word : &row.note;
        const struct cellar_bytes *begins = word ? &end->word : &end->note;
        bool so = text->bytes >= begins->bytes && !memcmp(text->data, begins->data, begins->bytes);
        if (so) text->bytes = begins->bytes;
    }
    return rows_compare(order, count, &row, end);
}

struct range {
    const struct order *order;
    bool some, backward, prefix, follows;
    uint32_t low_count, high_count;
    bool low_excluded, high_excluded;
    struct all low, high, after;
    uint64_t own, columns;
};

static inline bool range_has(const struct range *range, const struct all *row)
{
    int low = end_compare(range->order, range->low_count, range->prefix, *row, &range->low);
    int high = end_compare(range->order, range->high_count, range->prefix, *row, &range->high);
    if (range->low_count && (low < 0 || (low == 0 && range->low_excluded))) return false;
    if (range->high_count && (high > 0 || (high == 0 && range->high_excluded))) return false;
    int side = range->follows ? rows_compare(range->order, range->order->total, row, &range->after) : 0;
    return !range->follows || (range->backward ? side < 0 : side > 0);
}

/* Keys of a model's rows in the range, in the scan's order. */
static inline uint32_t keys_in(const struct model *model, const struct range *range, uint32_t keys[KEYS])
{
    uint32_t count = 0;
    for (uint32_t key = 0; key < KEYS; key++) {
        if (!model->there[key] || !range_has(range, &model->rows[key])) continue;
        uint32_t at = count++;
        for (; at > 0; at--) {
            int side = rows_compare(range->order, range->order->total, &model->rows[key], &model->rows[keys[at - 1]]);
            if (range->backward ? side < 0 : side > 0) break;
            keys[at] = keys[at - 1];
        }
        keys[at] = key;
    }
    return count;
}

/* ---- drawing ---- */

/* One that is there, or not; texts that others begin with. */
static inline struct all row_near(struct play *play)
{
    uint32_t key = drawn(play, KEYS);
    struct all row = drawn_row(play, key);
    if (play->now.there[key] && drawn(play, 3)) row = play->now.rows[key];
    if (row.note.bytes && drawn(play, 2)) row.note.bytes = drawn(play, 3);
    return row;
}

static inline void ends_draw(struct play *play, struct range *range)
{
    const struct order *order = range->order;
    uint32_t kind = drawn(play, 5), most = order->count;
    range->low = row_near(play);
    range->high = kind == 4 ? range->low : row_near(play);
    range->low_count = kind == 1 || kind == 3 ? 1 + drawn(play, most) : 0;
    range->high_count = kind == 2 || kind == 3 ? 1 + drawn(play, most) : 0;
    if (kind == 4) range->low_count = range->high_count = 1 + drawn(play, most);
    uint32_t both = range->low_count < range->high_count ? range->low_count : range->high_count;
    if (kind == 3 && rows_compare(order, both, &range->low, &range->high) > 0) {
        struct all row = range->low;
        range->low = range->high;
        range->high = row;
    }
    uint32_t count = range->low_count > range->high_count ? range->low_count : range->high_count;
    uint32_t last = count ? order->columns[count - 1].column : A_HIGH;
    range->prefix = kind != 3 && (last == A_NOTE || last == A_WORD) && drawn(play, 2);
    range->low_excluded = drawn(play, 4) == 0;
    range->high_excluded = drawn(play, 4) == 0;
    range->follows = drawn(play, 3) == 0;
    if (range->follows) range->after = row_near(play);
}

/* ---- calls ---- */

static inline uint64_t order_columns(const struct order *order)
{
    uint64_t columns = 0;
    for (uint32_t i = 0; i < order->count; i++) columns |= CELLAR_COL(order->columns[i].column);
    return columns;
}

static inline struct cellar_scan scan_of(struct play *play, const struct range *range, struct some shown[3])
{
    struct cellar_scan scan = {
        .size = sizeof scan, .table = play->all, .index = range->order->index, .row_bytes = sizeof(struct all)};
    scan.flags = (range->backward ? CELLAR_BACKWARD : 0) | (range->prefix ? CELLAR_PREFIX : 0) |
                 (range->low_excluded ? CELLAR_FROM_EXCLUDED : 0) | (range->high_excluded ? CELLAR_TO_EXCLUDED : 0);
    scan.from = &range->low;
    scan.to = &range->high;
    scan.from_columns = range->low_count;
    scan.to_columns = range->high_count;
    scan.after = range->follows ? &range->after : NULL;
    scan.columns = range->own;
    if (!range->some) return scan;
    to_some(&range->low, &shown[0]);
    to_some(&range->high, &shown[1]);
    to_some(&range->after, &shown[2]);
    scan.table = play->some;
    scan.row_bytes = sizeof(struct some);
    scan.from = &shown[0];
    scan.to = &shown[1];
    if (range->follows) scan.after = &shown[2];
    return scan;
}

/* A page of a cursor, whose range is behind what it has given; how many rows, or a code. */
static inline int page_call(struct play *play, struct cellar_cursor *cursor, struct range *range,
                            const struct model *model)
{
    struct all rows[KEYS], before[KEYS];
    struct some shown[KEYS];
    uint32_t keys[KEYS], left = keys_in(model, range, keys), max = 1 + drawn(play, drawn(play, 3) ? 4 : KEYS);
    for (uint32_t i = 0; i < max; i++) {
        before[i] = rows[i] = drawn_row(play, drawn(play, KEYS));
        to_some(&rows[i], &shown[i]);
    }
    int count = range->some ? cellar_cursor_next(cursor, max, shown) : cellar_cursor_next(cursor, max, rows);
    if (count < 0) return count;
    assert_int_equal(count, left < max ? left : max);
    for (int i = 0; i < count; i++) {
        if (range->some) of_some(&shown[i], &rows[i]);
        columns_copy(&before[i], &model->rows[keys[i]],
                     range->columns | order_columns(range->order) |
                         (KEY_COLUMNS & ~(play->wide ? 0 : CELLAR_COL(A_WORD))));
        columns_are_equal(&rows[i], &before[i]);
    }
    if (count) range->after = model->rows[keys[count - 1]];
    range->follows = range->follows || count;
    return (uint32_t)count < max ? 0 : count;
}

/* A cursor, from which some rows are taken while `change` changes others. */
static inline void scan_call(struct play *play, void (*change)(struct play *))
{
    static struct model model;
    struct range range = {.order = &play->orders[drawn(play, ORDERS)], .backward = drawn(play, 2)};
    struct some shown[3];
    struct cellar_cursor *cursor;
    range.some = range.order->columns[0].column != A_REAL && drawn(play, 2);
    range.columns = drawn_columns(play, range.some, &range.own);
    ends_draw(play, &range);
    const struct cellar_scan scan = scan_of(play, &range, shown);
    int rc = cellar_cursor_open(play->txn, &scan, &cursor), savepoints = play->savepoints;
    if (play->cursors == CELLAR_CURSORS_MAX) {
        refused(rc, CELLAR_TOO_LARGE, "more cursors than may be open at once");
        return;
    }
    ok(rc);
    play->cursors++;
    play->scans += !play->scanned;
    play->scanned = true;
    model = play->now;
    do {
        rc = page_call(play, cursor, &range, &model);
        if (retried(play, rc)) return;
        ok(rc);
        for (uint32_t changes = drawn(play, 3) ? 0 : drawn(play, 4); changes && !play->owes; changes--) {
            play->rolled_to = SAVEPOINTS;
            change(play);
            if (play->rolled_to >= savepoints) continue;
            savepoints = play->rolled_to + 1; /* of before the cursor was opened: what it shows is of then */
            model = play->now;
        }
    } while (rc && !play->owes && drawn(play, 8));
    if (drawn(play, 8)) {
        cellar_cursor_close(cursor);
        play->cursors--;
    }
    if (!play->owes) all_known(play);
}

/* The first row that is equal in an index's columns. */
static inline void find_call(struct play *play)
{
    struct range range = {.order = &play->orders[1 + drawn(play, 2)]};
    range.columns = drawn_columns(play, false, &range.own);
    range.low = range.high = row_near(play);
    range.low_count = range.high_count = range.order->count;
    uint32_t keys[KEYS], count = keys_in(&play->now, &range, keys);
    struct all row = range.low, expected = row;
    struct cellar_read read = CELLAR_READ(play->all, &row, .index = range.order->index, .columns = range.own);
    int rc = cellar_get_many(play->txn, &read, 1);
    play->scans += !play->scanned;
    play->scanned = true;
    if (retried(play, rc)) return;
    ok(rc);
    assert_int_equal(read.code, count ? 0 : CELLAR_NOT_FOUND);
    if (count)
        columns_copy(&expected, &play->now.rows[keys[0]],
                     range.columns | order_columns(range.order) |
                         (KEY_COLUMNS & ~(play->wide ? 0 : CELLAR_COL(A_WORD))));
    columns_are_equal(&row, &expected);
    all_known(play);
}
