#include "locks_trace.h"

#include "history_file.h"

#include <stdlib.h>
#include <string.h>

/* An access to a record, with the number of its transaction. */
struct touch {
    uint64_t key, txn;
    uint32_t table, lock;
    bool write, own; /* own: the transaction inserted it */
};

static int by_record(const void *a, const void *b)
{
    const struct touch *x = a, *y = b;
    if (x->table != y->table) return x->table < y->table ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->txn < y->txn ? -1 : x->txn > y->txn;
}

static int by_txn(const void *a, const void *b)
{
    const struct touch *x = a, *y = b;
    if (x->txn != y->txn) return x->txn < y->txn ? -1 : 1;
    return x->lock < y->lock ? -1 : x->lock > y->lock;
}

static bool same_record(const struct touch *a, const struct touch *b)
{
    return a->table == b->table && a->key == b->key;
}

/* All accesses of committed transactions. */
static uint64_t collect(const struct history *history, struct touch *touches)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < history->txn_count; i++) {
        const struct history_txn *txn = &history->txns[i];
        for (uint32_t j = 0; txn->outcome == HISTORY_COMMITTED && j < txn->count; j++) {
            const struct history_access *access = &history->accesses[txn->first + j];
            touches[count++] = (struct touch){.key = access->key,
                                              .txn = i,
                                              .table = access->table_id,
                                              .write = access->kind == HISTORY_WRITE || access->kind == HISTORY_DELETE,
                                              .own = access->kind == HISTORY_INSERT};
        }
    }
    return count;
}

/*
 * One for each record of each transaction, numbered; those of its own inserts are left out. Sorted by record before
 * and after.
 */
static uint64_t merge(struct touch *touches, uint64_t count, uint64_t *locks)
{
    uint64_t merged = 0, end;
    *locks = 0;
    for (uint64_t i = 0; i < count; i = end) {
        struct touch touch = touches[i];
        for (end = i; end < count && by_record(&touches[end], &touches[i]) == 0; end++) {
            touch.write = touch.write || touches[end].write;
            touch.own = touch.own || touches[end].own;
        }
        if (touch.own) continue;
        *locks += merged == 0 || !same_record(&touches[merged - 1], &touch);
        touch.lock = (uint32_t)(*locks - 1);
        touches[merged++] = touch;
    }
    return merged;
}

static int too_many(const char *path, const struct touch *touch, uint32_t most, struct cellar_error *error)
{
    return err_set(error, CELLAR_INVALID, "%s: transaction %llu takes more than %u locks", path,
                   (unsigned long long)touch->txn, most);
}

static int fill(struct locks_trace *trace, const struct touch *touches, uint64_t count, const char *path, uint32_t most,
                struct cellar_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        if (i == 0 || touches[i].txn != touches[i - 1].txn) trace->first[trace->txns++] = i;
        uint64_t length = i - trace->first[trace->txns - 1] + 1;
        if (length > most) return too_many(path, &touches[i], most, error);
        if (length > trace->most) trace->most = (uint32_t)length;
        trace->accesses[i] = (struct locks_trace_access){.lock = touches[i].lock,
                                                         .mode = touches[i].write ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED};
    }
    trace->first[trace->txns] = count;
    if (trace->txns) return 0;
    return err_set(error, CELLAR_INVALID, "%s: no transaction of it takes a lock", path);
}

int locks_trace_read(const char *path, uint32_t most, struct locks_trace *trace, struct cellar_error *error)
{
    struct history history = {0};
    *trace = (struct locks_trace){0};
    int code = history_read(&history, path, error);
    struct touch *touches = code ? NULL : calloc(history.access_count + 1, sizeof *touches);
    if (code == 0) {
        trace->accesses = calloc(history.access_count + 1, sizeof *trace->accesses);
        trace->first = calloc(history.txn_count + 1, sizeof *trace->first);
        if (!touches || !trace->accesses || !trace->first)
            code = err_set(error, CELLAR_NOMEM, "no memory for the locks of %s", path);
    }
    if (code == 0) {
        uint64_t count = collect(&history, touches);
        qsort(touches, count, sizeof *touches, by_record);
        count = merge(touches, count, &trace->locks);
        qsort(touches, count, sizeof *touches, by_txn);
        code = fill(trace, touches, count, path, most, error);
    }
    free(touches);
    history_free(&history);
    if (code) locks_trace_free(trace);
    return code;
}

void locks_trace_free(struct locks_trace *trace)
{
    free(trace->accesses);
    free(trace->first);
    *trace = (struct locks_trace){0};
}
