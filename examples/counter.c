/*
 * counter.c - one counter that all threads want: three ways to count, and how often each has to try.
 *
 *     cc -O2 counter.c $(pkg-config --cflags --libs cellar) -pthread -o counter && ./counter
 *
 * Two threads read, add and commit, and try again when another one came between. Two lock the counter as they read it:
 * others wait. Two have the engine run the same function as a stored procedure, in one step. All count right, beside
 * each other; a lock, or a procedure, is for what many want at once.
 */
#include <cellar_proc.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum way { OPTIMISTIC, LOCKED, PROCEDURE, WAYS };
enum { THREADS = 2 * WAYS, TURNS = 1000, HITS = 1 };

struct counter {
    uint64_t id, value;
};
enum { ID, VALUE };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct counter, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct counter, value)}};

struct work {
    struct cellar *db;
    const struct cellar_table *counters;
    const struct cellar_proc *proc;
    enum way way;
    uint64_t tries;
};

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

/* All three ways. What is locked as it is read takes a procedure no step of its own. */
static int count(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    struct counter counter = {.id = HITS};
    uint64_t lock = work->way == OPTIMISTIC ? 0 : CELLAR_COL(VALUE);
    int rc = cellar_get(txn, work->counters, CELLAR_COL(VALUE), lock, &counter);
    if (rc) return rc;
    counter.value++;
    return cellar_put(txn, work->counters, CELLAR_COL(VALUE), &counter);
}

static void *count_all(void *arg)
{
    struct work *work = arg;
    for (int i = 0; i < TURNS; i++) {
        struct cellar_result result;
        check(work->way == PROCEDURE ? cellar_proc_run(work->db, work->proc, work, NULL, &result)
                                     : cellar_run(work->db, count, work, NULL, &result),
              "counting");
        work->tries += result.attempts;
    }
    return NULL;
}

static int make(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    return cellar_insert(txn, work->counters, &(struct counter){.id = HITS});
}

static int look(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    struct counter counter = {.id = HITS};
    int rc = cellar_get(txn, work->counters, CELLAR_COL(VALUE), 0, &counter);
    if (rc) return rc;
    return counter.value == THREADS * TURNS ? 0 : 1;
}

int main(void)
{
    const struct cellar_proc_def def = {.name = "count", .fn = count, .records_max = 1, .writes_max = 1};
    struct work work = {.way = OPTIMISTIC}, works[THREADS];
    pthread_t threads[THREADS];
    int tries[WAYS] = {0};

    check(cellar_open(NULL, CELLAR_OPTIONS(.threads = 2), &work.db), "open");
    check(cellar_table_open(work.db, CELLAR_TABLE(struct counter, columns, .name = "counters"), 0, &work.counters),
          "the table");
    check(cellar_proc_register(work.db, &def, &work.proc), "the procedure");
    check(cellar_run(work.db, make, &work, NULL, NULL), "the counter");
    for (int i = 0; i < THREADS; i++) {
        works[i] = work;
        works[i].way = i % WAYS;
        if (pthread_create(&threads[i], NULL, count_all, &works[i])) return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        tries[works[i].way] += (int)works[i].tries;
    }
    int rc = cellar_run(work.db, look, &work, NULL, NULL);
    check(rc, "the sum");
    check(cellar_close(work.db), "close");
    printf("counted to %d: %s; %d tries without a lock, %d with one, %d of the procedure\n", THREADS * TURNS,
           rc == 0 ? "yes" : "no", tries[OPTIMISTIC], tries[LOCKED], tries[PROCEDURE]);
    return rc;
}
