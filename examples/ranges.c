/*
 * ranges.c - rows in the order of their columns: the first of an index, ranges of it, and a row by a secondary key.
 *
 *     cc -O2 ranges.c $(pkg-config --cflags --libs cellar) -pthread -o ranges && ./ranges
 *
 * Bids come in at random prices. One transaction matches the best bid: a cursor gives it the highest price, earliest
 * first, and it takes that bid out of the book; the indexes follow by themselves. The same function runs on this
 * thread, and as a stored procedure. docs/ordered.md says how.
 */
#include <cellar_proc.h>

#include <stdio.h>
#include <stdlib.h>

enum { BIDS = 1000, MATCHED = 500, BATCH = 100, EMPTY = 1 };

struct bid {
    uint32_t number; /* the order in which they came */
    int32_t price;
    char ticket[12];
};
enum { NUMBER, PRICE, TICKET };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct bid, number), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct bid, price)},
                                               {CELLAR_FIELD(struct bid, ticket)}};
/* The highest price first; bids of one price are in the order of the key. */
static const struct cellar_index_def indexes[] = {{.name = "by_price", .columns = "-price"},
                                                  {.name = "by_ticket", .columns = "ticket", .flags = CELLAR_UNIQUE}};

static struct cellar *db;
static const struct cellar_table *bids;
static const struct cellar_index *by_price, *by_ticket;

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

static void want(bool fact, const char *what)
{
    if (fact) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}

static int place_all(struct cellar_txn *txn, void *unused)
{
    (void)unused;
    int rc = 0;
    for (uint32_t i = 0; i < BIDS && rc == 0; i++) {
        struct bid bid = {.number = i, .price = (int32_t)(i * 7919 % 401) - 200};
        snprintf(bid.ticket, sizeof bid.ticket, "T%04d", (int)(i * 7 % BIDS));
        rc = cellar_insert(txn, bids, &bid);
    }
    return rc;
}

/* The best bid, out of the book; locked as it is read, since it will be deleted. */
static int match(struct cellar_txn *txn, void *arg)
{
    struct bid *best = arg;
    struct cellar_cursor *cursor;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct bid, bids, .index = by_price, .lock = CELLAR_ALL), &cursor);
    if (rc == 0) rc = cellar_cursor_next(cursor, 1, best);
    if (rc <= 0) return rc < 0 ? rc : EMPTY;
    return cellar_delete(txn, bids, best);
}

struct range {
    const struct cellar_scan *scan;
    int count;
};

static int count(struct cellar_txn *txn, void *arg)
{
    struct range *range = arg;
    struct bid rows[BATCH];
    struct cellar_cursor *cursor;
    int got = cellar_cursor_open(txn, range->scan, &cursor);
    if (got < 0) return got;
    range->count = 0;
    do {
        got = cellar_cursor_next(cursor, BATCH, rows);
        if (got < 0) return got;
        range->count += got;
    } while (got == BATCH);
    return 0;
}

static int count_of(const struct cellar_scan *scan)
{
    struct range range = {.scan = scan};
    check(cellar_run(db, count, &range, NULL, NULL), "counting");
    return range.count;
}

/* By a secondary key: the first row that is equal in the index's columns. */
static int find(struct cellar_txn *txn, void *arg)
{
    struct bid *bid = arg;
    struct cellar_read read = CELLAR_READ(bids, bid, .index = by_ticket);
    int rc = cellar_get_many(txn, &read, 1);
    return rc ? rc : read.code;
}

static void book_open(const struct cellar_proc **proc)
{
    const struct cellar_table_def *def =
        CELLAR_TABLE(struct bid, columns, .name = "bids", CELLAR_INDEXES(indexes), .flags = CELLAR_ORDERED);
    const struct cellar_proc_def match_def = {.name = "match", .fn = match, .records_max = 1, .writes_max = 1};
    check(cellar_open(NULL, NULL, &db), "open");
    check(cellar_table_open(db, def, 0, &bids), "the table");
    check(cellar_proc_register(db, &match_def, proc), "the procedure");
    by_price = cellar_index_find(bids, "by_price");
    by_ticket = cellar_index_find(bids, "by_ticket");
}

/* Half of them on this thread, half as a procedure. Returns the last price. */
static int trade(const struct cellar_proc *proc)
{
    struct bid best, last = {.price = INT32_MAX};
    for (int i = 0; i < MATCHED; i++, last = best) {
        int rc = i % 2 ? cellar_run(db, match, &best, NULL, NULL) : cellar_proc_run(db, proc, &best, NULL, NULL);
        check(rc, "matching");
        want(rc == 0 && best.price <= last.price, "the best bid is matched first");
        want(best.price < last.price || best.number > last.number, "of one price the earliest is");
    }
    return last.price;
}

int main(void)
{
    const struct cellar_proc *proc;
    struct bid mine = {.ticket = "T0021"}, middle = {.price = -100};
    book_open(&proc);
    check(cellar_run(db, place_all, NULL, NULL, NULL), "placing bids");
    check(cellar_run(db, find, &mine, NULL, NULL), "a ticket");
    want(mine.number == 3, "a ticket leads to its bid");
    int last = trade(proc);

    /* Ends of a range are rows of which the first so many columns count, in the order of the index: downward here. */
    int left = count_of(CELLAR_SCAN(struct bid, bids, .columns = CELLAR_COL(NUMBER)));
    int above = count_of(CELLAR_SCAN(struct bid, bids, .index = by_price, .columns = CELLAR_COL(PRICE), .to = &middle,
                                     .to_columns = 1, .flags = CELLAR_TO_EXCLUDED));
    int equal = count_of(
        CELLAR_SCAN(struct bid, bids, .index = by_price, .columns = CELLAR_COL(PRICE), CELLAR_EQUAL(1, &middle)));
    int below = count_of(CELLAR_SCAN(struct bid, bids, .index = by_price, .columns = CELLAR_COL(PRICE), .from = &middle,
                                     .from_columns = 1, .flags = CELLAR_FROM_EXCLUDED | CELLAR_BACKWARD));
    check(cellar_close(db), "close");
    want(left == BIDS - MATCHED && left == above + equal + below, "ranges that meet have all that is left");
    printf("%d of %d bids are left, at most %d: %d above %d, %d at it, %d below\n", left, BIDS, last, above,
           middle.price, equal, below);
    return 0;
}
