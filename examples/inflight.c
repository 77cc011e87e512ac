/*
 * inflight.c - one thread keeps many calls in flight: a completion queue.
 *
 *     cc inflight.c -pthread $(pkg-config --cflags --libs cellar) -o inflight && ./inflight
 *
 * A server's loop would look like this: requests come in and are submitted, calls that have ended are answered. It
 * never waits for a single call, and as many are under way as the queue has room for; then it reaps first. Here the
 * requests are numbers, and each adds one to a counter.
 */
#include <cellar_proc.h>

#include <inttypes.h>
#include <stdio.h>

#define COUNTERS 100
#define REQUESTS 20000
#define IN_FLIGHT 64

struct counter {
    uint32_t id;
    uint64_t count;
};
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct counter, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct counter, count)}};

/* Of each request in flight; its arguments live here until it is reaped. */
struct request {
    const struct cellar_table *counters;
    uint32_t id;
    uint64_t count; /* result */
    struct request *next;
};

/* Reads a counter, locked at once, and puts it: it is made where there is none. */
static int count_one(struct cellar_txn *txn, void *args)
{
    struct request *request = args;
    struct counter counter = {.id = request->id};
    int code = cellar_get(txn, request->counters, CELLAR_ALL, CELLAR_ALL, &counter);
    if (code && code != CELLAR_NOT_FOUND) return code;
    request->count = ++counter.count;
    return cellar_put(txn, request->counters, CELLAR_ALL, &counter);
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

static int serve(struct server *server, const struct cellar_table *counters)
{
    int code = 0;
    for (uint64_t i = 0; i < IN_FLIGHT; i++) {
        server->requests[i].next = server->free;
        server->free = &server->requests[i];
    }
    for (uint32_t i = 0; i < REQUESTS && code >= 0; i++) {
        while (!server->free && code >= 0) code = answer(server, true); /* full: back-pressure */
        if (code < 0) break;
        struct request *request = server->free;
        server->free = request->next;
        request->counters = counters;
        request->id = i % COUNTERS;
        code = cellar_proc_submit(server->queue, server->proc, request, NULL, request);
        if (code == 0) code = answer(server, false);
    }
    while (code >= 0 && server->answered < REQUESTS) code = answer(server, true);
    return code < 0 ? code : 0;
}

struct total {
    const struct cellar_table *counters;
    uint64_t sum;
};

/* The same kind of function, run on this thread. */
static int total(struct cellar_txn *txn, void *arg)
{
    struct total *total = arg;
    struct counter counters[COUNTERS];
    struct cellar_cursor *cursor;
    int count = cellar_cursor_open(txn, CELLAR_SCAN(struct counter, total->counters, .columns = CELLAR_ALL), &cursor);
    if (count == 0) count = cellar_cursor_next(cursor, COUNTERS, counters);
    total->sum = 0;
    for (int i = 0; i < count; i++) total->sum += counters[i].count;
    return count < 0 ? count : 0;
}

int main(void)
{
    const struct cellar_proc_def def = {.name = "count_one", .fn = count_one, .records_max = 1, .writes_max = 1};
    static struct server server;
    struct total all = {0};
    struct cellar *db;

    int code = cellar_open(NULL, CELLAR_OPTIONS(.threads = 2), &db);
    if (code == 0)
        code = cellar_table_open(db, CELLAR_TABLE(struct counter, columns, .name = "counters", .flags = CELLAR_ORDERED),
                                 0, &all.counters);
    if (code == 0) code = cellar_proc_register(db, &def, &server.proc);
    if (code == 0) code = cellar_proc_queue_open(db, IN_FLIGHT, NULL, NULL, &server.queue);
    if (code < 0) {
        fprintf(stderr, "%s\n", cellar_last_error()->text);
        return 1;
    }
    code = serve(&server, all.counters);
    cellar_proc_queue_close(server.queue);
    if (code == 0) code = cellar_run(db, total, &all, NULL, NULL);
    cellar_close(db);
    printf("%" PRIu64 " calls answered, %" PRIu64 " failed; the counters' sum is %" PRIu64 "\n", server.answered,
           server.failed, all.sum);
    return code == 0 && server.failed == 0 && all.sum == REQUESTS ? 0 : 1;
}
