/*
 * ranges.c - records in the order of their columns: an ordered index, a range of it, and its two ends.
 *
 *     cc ranges.c -pthread $(pkg-config --cflags --libs cellar) -o ranges && ./ranges
 *
 * Bids come in at random prices. One transaction matches the best bid: it finds the highest price, earliest first, and
 * takes that bid out; the index follows by itself. docs/ordered.md says how.
 */
#include <cellar_proc.h>

#include <inttypes.h>
#include <stdio.h>

#define BIDS 1000

struct bid {
    int64_t price;
    uint64_t time;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct bid, price),
                                                      CELLAR_COLUMN(struct bid, time)};
enum { PRICE, TIME };

struct book {
    struct cellar *db;
    const struct cellar_table *bids;
    const struct cellar_index *by_price; /* the highest first, then the earliest */
    const struct cellar_proc *place, *match, *count;
};

struct order {
    const struct book *book;
    uint64_t key;
    struct bid bid;
    uint32_t count;
};

static int place(struct cellar_txn *txn, void *arg)
{
    const struct order *order = arg;
    int code = cellar_proc_insert(txn, order->book->bids, order->key, &order->bid);
    return code < 0 ? code : cellar_proc_fetch(txn);
}

/* The best bid, out of the book. */
static int match(struct cellar_txn *txn, void *arg)
{
    struct order *order = arg;
    static const struct cellar_range all;
    int cursor = cellar_proc_cursor_open(txn, order->book->by_price, &all, 0, 0, 0, 1);
    if (cursor < 0) return cursor;
    int got = cellar_proc_cursor_next(txn, cursor, &order->key, NULL);
    if (got <= 0) return got < 0 ? got : CELLAR_USER_ABORT;
    int ref = cellar_proc_access(txn, order->book->bids, order->key, CELLAR_ALL_CELLS, 0, CELLAR_DELETE);
    int code = ref < 0 ? ref : cellar_proc_fetch(txn);
    return code < 0 ? code : cellar_proc_get_row(txn, ref, &order->bid);
}

/* Bids of at least that price. */
static int count(struct cellar_txn *txn, void *arg)
{
    struct order *order = arg;
    struct cellar_range range = {.high = {.row = &order->bid, .columns = 1}}; /* the index goes downwards */
    uint64_t key;
    int got, cursor = cellar_proc_cursor_open(txn, order->book->by_price, &range, 0, 0, 0, 0);
    if (cursor < 0) return cursor;
    for (order->count = 0; (got = cellar_proc_cursor_next(txn, cursor, &key, NULL)) == 1;) order->count++;
    return got;
}

static int book_open(struct book *book)
{
    const struct cellar_schema schema = {"bids", sizeof(struct bid), columns, 2, BIDS, 0, 0, 0, 0, 0};
    const struct cellar_schema_index_column order[] = {{"price", CELLAR_SORT_SIGNED, true},
                                                       {"time", CELLAR_SORT_UNSIGNED, false}};
    const struct cellar_schema_index index = {.name = "by_price", .columns = order, .column_count = 2};
    const struct cellar_proc_def defs[] = {{.name = "place", .fn = place, .records_max = 1, .writes_max = 1},
                                           {.name = "match", .fn = match, .records_max = 1, .writes_max = 1},
                                           {.name = "count", .fn = count, .records_max = 1}};
    int code = cellar_open(NULL, CELLAR_OPTIONS(.bytes = 8u << 20), &book->db);
    if (code == 0) code = cellar_table_create(book->db, &schema, &book->bids);
    if (code == 0) code = cellar_index_create(book->db, book->bids, &index, &book->by_price);
    if (code == 0) code = cellar_proc_register(book->db, &defs[0], &book->place);
    if (code == 0) code = cellar_proc_register(book->db, &defs[1], &book->match);
    if (code == 0) code = cellar_proc_register(book->db, &defs[2], &book->count);
    return code;
}

/* Places all bids, then matches half of them: each price is at most the one before. */
static int trade(struct book *book, struct order *order)
{
    struct cellar_result result;
    int code = 0;
    for (uint64_t i = 0; i < BIDS && code == 0; i++) {
        order->key = i;
        order->bid = (struct bid){.price = (int64_t)(i * 7919 % 401) - 200, .time = i};
        code = cellar_proc_run(book->db, book->place, order, NULL, &result);
    }
    int64_t last = INT64_MAX;
    for (uint64_t i = 0; i < BIDS / 2 && code == 0; i++) {
        code = cellar_proc_run(book->db, book->match, order, NULL, &result);
        if (code == 0 && order->bid.price > last) code = CELLAR_CORRUPT;
        last = order->bid.price;
    }
    order->bid.price = -200;
    if (code == 0) code = cellar_proc_run(book->db, book->count, order, NULL, &result);
    return code;
}

int main(void)
{
    struct book book = {0};
    int code = book_open(&book);
    struct order order = {.book = &book};
    if (code == 0) code = trade(&book, &order);
    if (code == 0) printf("%" PRIu32 " of %d bids are left\n", order.count, BIDS);
    if (code < 0) fprintf(stderr, "ranges: %s: %s\n", cellar_strerror(code), cellar_last_error()->text);
    cellar_close(book.db);
    return code == 0 && order.count == BIDS / 2 ? 0 : 1;
}
