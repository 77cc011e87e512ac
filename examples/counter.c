/*
 * counter.c - one counter that all threads want: an interactive transaction beside a stored procedure.
 *
 *     cc counter.c -pthread $(pkg-config --cflags --libs cellar) -o counter && ./counter
 *
 * Half of the threads count interactively: they read, add and commit, and try again when another thread came between.
 * The other half call a procedure, which locks the counter while it adds. Both count right; the procedure tries less
 * often, which is when to write one.
 */
#include <cellar_proc.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define TURNS 1000

struct counter {
    uint64_t value;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct counter, value)};
enum { VALUE };

struct work {
    struct cellar *db;
    const struct cellar_table *table;
    const struct cellar_proc *proc;
    int number;
    uint64_t tries;
};

static int count(struct cellar_txn *txn, void *arg)
{
    struct work *work = arg;
    uint64_t value;
    work->tries++; /* a count of the runs; what is counted belongs into the transaction */
    int code = cellar_txn_get(txn, work->table, 1, VALUE, &value);
    if (code < 0) return code;
    value++;
    return cellar_txn_put(txn, work->table, 1, VALUE, &value);
}

static int count_proc(struct cellar_txn *txn, void *arg)
{
    const struct cellar_table *table = arg;
    uint64_t value;
    int ref = cellar_proc_access(txn, table, 1, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    if (ref < 0) return ref;
    int code = cellar_proc_fetch(txn);
    if (code == 0) code = cellar_proc_get(txn, ref, VALUE, &value);
    if (code < 0) return code;
    value++;
    return cellar_proc_put(txn, ref, VALUE, &value);
}

static _Noreturn void ends(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void *count_all(void *arg)
{
    struct work *work = arg;
    bool by_proc = work->number % 2;
    for (int i = 0; i < TURNS; i++) {
        struct cellar_result result = {.attempts = 0};
        int code = by_proc ? cellar_proc_run(work->db, work->proc, (void *)work->table, NULL, &result)
                           : cellar_run(work->db, count, work, NULL, NULL);
        if (code) ends(by_proc ? "a call" : "a transaction", cellar_strerror(code));
        work->tries += result.attempts;
    }
    return NULL;
}

int main(void)
{
    struct cellar *db;
    const struct cellar_table *table;
    const struct cellar_proc *proc;
    struct cellar_txn *txn;
    struct work works[THREADS];
    pthread_t threads[THREADS];
    uint64_t value, tries[2] = {0, 0};
    const struct cellar_schema schema = {"counters", sizeof(struct counter), columns, 1, 10, 0, 0, 0, 0, 0};
    const struct cellar_proc_def def = {.name = "count", .fn = count_proc, .records_max = 1, .writes_max = 1};

    if (cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20, .threads = 2), &db) ||
        cellar_table_create(db, &schema, &table) || cellar_proc_register(db, &def, &proc))
        ends("opening", cellar_last_error()->text);
    if (cellar_begin(db, NULL, &txn) || cellar_txn_insert(txn, table, 1, &(struct counter){0}) ||
        cellar_commit(txn, NULL))
        ends("the counter", "it could not be made");
    for (int i = 0; i < THREADS; i++) {
        works[i] = (struct work){db, table, proc, i, 0};
        if (pthread_create(&threads[i], NULL, count_all, &works[i])) ends("a thread", "it could not be started");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        tries[i % 2] += works[i].tries;
    }
    if (cellar_begin(db, NULL, &txn) || cellar_txn_get(txn, table, 1, VALUE, &value) || cellar_commit(txn, NULL))
        ends("the counter", "it could not be read");
    printf("counted to %" PRIu64 ": %" PRIu64 " tries of interactive transactions, %" PRIu64 " of the procedure\n",
           value, tries[0], tries[1]);
    cellar_close(db);
    return value == THREADS * TURNS ? 0 : 1;
}
