/*
 * queue.c - a queue that several threads fill and empty: a table in the order of its key, and cursors.
 *
 *     cc -O2 queue.c $(pkg-config --cflags --libs cellar) -pthread -o queue && ./queue
 *
 * A producer looks for the last place and inserts the next one; a consumer locks the first item and deletes it. What a
 * cursor has said is part of the transaction: no two producers take the same place, and no item is handed out twice.
 */
#include <cellar.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRODUCERS = 2, CONSUMERS = 2, ITEMS = 200, SHARE = PRODUCERS * ITEMS / CONSUMERS };
enum { EMPTY = 1 }; /* what taking may end with: a positive code of our own */

struct item {
    uint64_t place;
    uint32_t producer, number; /* numbers of each producer begin with 0 */
};
enum { PLACE, PRODUCER, NUMBER };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct item, place), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct item, producer)},
                                               {CELLAR_FIELD(struct item, number)}};

struct worker {
    struct cellar *db;
    const struct cellar_table *items;
    struct item item; /* the one that goes in, or has come out */
    uint64_t sum;     /* of the numbers of its items */
    int runs;         /* of its transactions, in vain ones included: they met another one, or found nothing */
};

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

/* The first item of a scan: 1, 0 if there is none, or a code. */
static int first(struct cellar_txn *txn, const struct cellar_scan *scan, struct item *item)
{
    struct cellar_cursor *cursor;
    int rc = cellar_cursor_open(txn, scan, &cursor);
    if (rc) return rc;
    rc = cellar_cursor_next(cursor, 1, item);
    cellar_cursor_close(cursor);
    return rc;
}

static int append(struct cellar_txn *txn, void *arg)
{
    struct worker *worker = arg;
    struct item last = {.place = 0};
    worker->runs++;
    int found = first(txn, CELLAR_SCAN(struct item, worker->items, .flags = CELLAR_BACKWARD), &last);
    if (found < 0) return found;
    worker->item.place = last.place + 1;
    return cellar_insert(txn, worker->items, &worker->item);
}

/* A consumer that comes second waits for the lock, instead of doing in vain what the first one does. */
static int take(struct cellar_txn *txn, void *arg)
{
    struct worker *worker = arg;
    worker->runs++;
    int found = first(txn, CELLAR_SCAN(struct item, worker->items, .lock = CELLAR_COL(NUMBER)), &worker->item);
    if (found < 0) return found;
    return found ? cellar_delete(txn, worker->items, &worker->item) : EMPTY;
}

static void *produce(void *arg)
{
    struct worker *worker = arg;
    for (; worker->item.number < ITEMS; worker->item.number++) {
        check(cellar_run(worker->db, append, worker, NULL, NULL), "appending");
        worker->sum += worker->item.number;
    }
    return NULL;
}

/* Takes its share, and looks that the items of each producer come in their order. */
static void *consume(void *arg)
{
    struct worker *worker = arg;
    uint32_t next[PRODUCERS] = {0};
    for (int count = 0; count < SHARE;) {
        int rc = cellar_run(worker->db, take, worker, NULL, NULL);
        check(rc, "taking");
        if (rc == EMPTY) {
            sched_yield();
            continue;
        }
        if (worker->item.number < next[worker->item.producer]) {
            fprintf(stderr, "an item came late, or twice\n");
            exit(1);
        }
        next[worker->item.producer] = worker->item.number + 1;
        worker->sum += worker->item.number;
        count++;
    }
    return NULL;
}

int main(void)
{
    struct worker workers[PRODUCERS + CONSUMERS], sums[2] = {{.sum = 0}, {.sum = 0}};
    pthread_t threads[PRODUCERS + CONSUMERS];
    struct cellar *db;
    const struct cellar_table *items;
    check(cellar_open(NULL, NULL, &db), "open");
    check(
        cellar_table_open(db, CELLAR_TABLE(struct item, columns, .name = "items", .flags = CELLAR_ORDERED), 0, &items),
        "the table");
    for (uint32_t i = 0; i < PRODUCERS + CONSUMERS; i++) {
        workers[i] = (struct worker){.db = db, .items = items, .item = {.producer = i}};
        if (pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume, &workers[i])) return 1;
    }
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
        pthread_join(threads[i], NULL);
        sums[i >= PRODUCERS].sum += workers[i].sum;
        sums[i >= PRODUCERS].runs += workers[i].runs;
    }
    check(cellar_close(db), "close");
    printf("%d items in by %d runs, out by %d; their numbers sum up to %d and %d\n", PRODUCERS * ITEMS, sums[0].runs,
           sums[1].runs, (int)sums[0].sum, (int)sums[1].sum);
    return sums[0].sum == sums[1].sum ? 0 : 1;
}
