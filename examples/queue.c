/*
 * queue.c - a queue that several threads fill and empty, by interactive transactions and an ordered index of its keys.
 *
 *     cc queue.c -pthread $(pkg-config --cflags --libs cellar) -o queue && ./queue
 *
 * A producer scans for the last key and inserts the next one; a consumer scans for the first and deletes it. A scan is
 * part of the transaction: two producers never take the same place, and no item is handed out twice.
 * docs/interactive.md says how.
 */
#include <cellar.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define EMPTY 1 /* what taking ends with: a positive number of its own */
#define PRODUCERS 2
#define CONSUMERS 2
#define ITEMS 200 /* of each producer */

struct item {
    uint64_t number;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct item, number)};
enum { NUMBER };

struct work {
    struct cellar *db;
    const struct cellar_table *items;
    const struct cellar_index *by_key;
    bool produces;
    struct item item; /* the one that goes in, or came out */
    uint64_t sum, count;
    uint64_t *left; /* items that are not taken yet, of all */
};

static const struct cellar_range all = {.low_key = 0, .high_key = UINT64_MAX};

static int append(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    uint64_t last = 0;
    int found = cellar_txn_scan(txn, work->by_key, &all, 0, CELLAR_BACKWARD, &last, 1);
    return found < 0 ? found : cellar_txn_insert(txn, work->items, last + 1, &work->item);
}

static int take(struct cellar_txn *txn, void *arg)
{
    struct work *work = arg;
    uint64_t first;
    int found = cellar_txn_scan(txn, work->by_key, &all, CELLAR_ALL_CELLS, 0, &first, 1);
    if (found <= 0) return found < 0 ? found : EMPTY;
    int code = cellar_txn_get(txn, work->items, first, NUMBER, &work->item.number);
    return code ? code : cellar_txn_delete(txn, work->items, first);
}

static void ends(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void *run(void *arg)
{
    struct work *work = arg;
    while (work->produces ? work->count < ITEMS : __atomic_load_n(work->left, __ATOMIC_SEQ_CST) > 0) {
        if (work->produces) work->item.number = work->count + 1;
        int code = cellar_run(work->db, work->produces ? append : take, work, NULL, NULL);
        if (code == EMPTY) continue;
        if (code) ends("a transaction", cellar_strerror(code));
        work->sum += work->item.number;
        work->count++;
        if (!work->produces) __atomic_sub_fetch(work->left, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int main(void)
{
    struct cellar *db;
    const struct cellar_table *items;
    const struct cellar_index *by_key;
    struct work works[PRODUCERS + CONSUMERS];
    pthread_t threads[PRODUCERS + CONSUMERS];
    uint64_t left = PRODUCERS * ITEMS, in = 0, out = 0;
    const struct cellar_schema schema = {"items", sizeof(struct item), columns, 1, 1000, 0, 0, 0, 0, 0};
    const struct cellar_schema_index def = {.name = "by_key"}; /* no columns: of the keys alone */

    if (cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20), &db) || cellar_table_create(db, &schema, &items) ||
        cellar_index_create(db, items, &def, &by_key))
        ends("opening", cellar_last_error()->text);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
        works[i] = (struct work){db, items, by_key, i < PRODUCERS, {0}, 0, 0, &left};
        if (pthread_create(&threads[i], NULL, run, &works[i])) ends("a thread", "it could not be started");
    }
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
        pthread_join(threads[i], NULL);
        *(works[i].produces ? &in : &out) += works[i].sum;
    }
    printf("%d items in, their numbers sum up to %" PRIu64 "; taken out: %" PRIu64 "\n", PRODUCERS * ITEMS, in, out);
    cellar_close(db);
    return in == out ? 0 : 1;
}
