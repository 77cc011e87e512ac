/*
 * inflight.c - one thread keeps many calls in flight: a completion queue.
 *
 *     cc inflight.c -pthread $(pkg-config --cflags --libs cellar) -o inflight && ./inflight
 *
 * A server's loop would look like this: requests come in and are submitted, calls that have ended are answered. It
 * never waits for a single call, and as many are under way as the queue has room for; then it reaps first. Here the
 * requests are numbers, and each adds one to a counter.
 */
#include <cellar_lab.h>

#include <inttypes.h>
#include <stdio.h>

#define COUNTERS 100
#define REQUESTS 20000
#define IN_FLIGHT 64

struct row {
    uint64_t count;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, count)};

/* Of each request in flight; its arguments live here until it is reaped. */
struct request {
    const struct cellar_table *table;
    uint64_t key;
    uint64_t count; /* result */
    struct request *next;
};

/* Looks a counter up, and makes it where there is none: one record, and one write. */
static int count_one(struct cellar_txn *txn, void *args)
{
    struct request *request = args;
    int ref = cellar_proc_access(txn, request->table, request->key, 0, CELLAR_ALL_CELLS, CELLAR_OPTIONAL);
    if (ref < 0) return ref;
    int code = cellar_proc_fetch(txn);
    if (code < 0) return code;
    request->count = 1;
    if (!cellar_proc_found(txn, ref)) {
        const struct row row = {1};
        ref = cellar_proc_insert(txn, request->table, request->key, &row);
        return ref < 0 ? ref : cellar_proc_fetch(txn);
    }
    code = cellar_proc_get(txn, ref, 0, &request->count);
    request->count++;
    return code < 0 ? code : cellar_proc_put(txn, ref, 0, &request->count);
}

struct server {
    struct cellar_queue *queue;
    const struct cellar_proc *proc;
    struct request requests[IN_FLIGHT], *free;
    uint64_t answered, failed;
};

/* Answers what has ended; waits for one at least if `wait`. */
static int answer(struct server *server, bool wait)
{
    struct cellar_completion completions[16];
    int count = cellar_proc_reap(server->queue, completions, 16, wait ? UINT64_MAX : 0);
    for (int i = 0; i < count; i++) {
        struct request *request = completions[i].user;
        struct cellar_error error;
        cellar_proc_error(&completions[i].result, &error);
        if (error.code) fprintf(stderr, "%s\n", error.text);
        server->failed += error.code != 0;
        server->answered++;
        request->next = server->free;
        server->free = request;
    }
    return count;
}

static int serve(struct server *server, const struct cellar_table *table)
{
    int code = 0;
    for (uint64_t i = 0; i < IN_FLIGHT; i++) {
        server->requests[i].next = server->free;
        server->free = &server->requests[i];
    }
    for (uint64_t i = 0; i < REQUESTS && code >= 0; i++) {
        while (!server->free && code >= 0) code = answer(server, true); /* full: back-pressure */
        if (code < 0) break;
        struct request *request = server->free;
        server->free = request->next;
        request->table = table;
        request->key = i % COUNTERS;
        code = cellar_proc_submit(server->queue, server->proc, request, NULL, request);
        if (code == 0) code = answer(server, false);
    }
    while (code >= 0 && server->answered < REQUESTS) code = answer(server, true);
    return code < 0 ? code : 0;
}

static int sum_rows(void *arg, uint64_t key, const void *row)
{
    (void)key;
    *(uint64_t *)arg += ((const struct row *)row)->count;
    return 0;
}

struct total {
    const struct cellar_table *table;
    uint64_t sum;
};

static int total(struct cellar_lab_client *client, void *arg)
{
    struct total *total = arg;
    if (cellar_lab_index(client) > 0) return 0;
    return cellar_lab_scan(client, total->table, sum_rows, &total->sum);
}

int main(void)
{
    const struct cellar_schema schema = {.name = "counter",
                                         .row_bytes = sizeof(struct row),
                                         .columns = columns,
                                         .column_count = 1,
                                         .records_max = COUNTERS};
    const struct cellar_proc_def def = {.name = "count_one", .fn = count_one, .records_max = 1, .writes_max = 1};
    static struct server server;
    struct total all = {0};
    struct cellar *db;
    struct cellar_error error;

    int code = cellar_open(NULL, CELLAR_OPTIONS(.threads = 2), &db);
    if (code == 0) code = cellar_table_create(db, &schema, &all.table);
    if (code == 0) code = cellar_proc_register(db, &def, &server.proc);
    if (code == 0) code = cellar_proc_queue_open(db, IN_FLIGHT, NULL, NULL, &server.queue);
    if (code < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    code = serve(&server, all.table);
    cellar_proc_queue_close(server.queue);
    if (code == 0) code = cellar_lab_run(db, total, &all);
    cellar_close(db);
    printf("%" PRIu64 " calls answered, %" PRIu64 " failed; the counters' sum is %" PRIu64 "\n", server.answered,
           server.failed, all.sum);
    return code == 0 && server.failed == 0 && all.sum == REQUESTS ? 0 : 1;
}
