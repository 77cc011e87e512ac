/*
 * contract.h - one suite over every fabric: how a test opens a backend, and runs workers on it.
 *
 * A worker's body is the main loop of an endpoint: a thread in shm, a coroutine in sim. It must not use cmocka's
 * assertions, which jump out of the thread: it uses CHECK, and contract_close asserts what the checks found.
 */
#pragma once

#include "coro.h"
#include "fabric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONTRACT_WORKERS_MAX 8
#define CONTRACT_LOCAL_BYTES 65536 /* registered local memory of each worker */

struct contract_shape {
    uint32_t mn_count, cn_count;
    uint64_t mn_bytes;
};

struct contract_backend {
    const char *name;
    int (*open)(const struct contract_backend *backend, const struct contract_shape *shape, struct fabric **out,
                struct cellar_error *error);
    void (*after)(void); /* once the fabric is closed; or NULL */
    bool threads;        /* workers run at once, in real time */
    bool delays;         /* operations are pending for some time */
    bool no_wide;        /* it has no atomics on 16 bytes */
    uint64_t variant;    /* of the backend's own */
};

struct contract_worker {
    struct contract_cluster *cluster;
    struct fabric_ep *ep;
    uint32_t index;
    void (*body)(struct contract_worker *worker);
    uint8_t *local; /* CONTRACT_LOCAL_BYTES, registered */
    uint64_t olds[64];
    uint64_t results[8];
    char failure[160];
};

struct contract_cluster {
    const struct contract_backend *backend;
    struct contract_shape shape;
    struct fabric *fabric;
    struct contract_worker workers[CONTRACT_WORKERS_MAX];
    uint32_t worker_count, running;
    uint8_t *local;
};

#define CHECK(worker, fact)                                                                                            \
    do {                                                                                                               \
        if (!(fact)) {                                                                                                 \
            snprintf((worker)->failure, sizeof(worker)->failure, "%.60s:%d: %.80s", __FILE__, __LINE__, #fact);        \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Opens the backend with that many workers, worker i being the only one of compute node i. */
static inline void contract_open(struct contract_cluster *cluster, const struct contract_backend *backend,
                                 struct contract_shape shape, uint32_t worker_count)
{
    struct cellar_error error = {0};

    memset(cluster, 0, sizeof *cluster);
    cluster->backend = backend;
    cluster->shape = shape;
    cluster->worker_count = worker_count;
    if (backend->open(backend, &shape, &cluster->fabric, &error) != 0) fail_msg("%s: %s", backend->name, error.text);
    cluster->local = calloc(worker_count, CONTRACT_LOCAL_BYTES);
    assert_non_null(cluster->local);
    assert_int_equal(
        fabric_register_local(cluster->fabric, cluster->local, (uint64_t)worker_count * CONTRACT_LOCAL_BYTES), 0);
    for (uint32_t i = 0; i < worker_count; i++) {
        struct contract_worker *worker = &cluster->workers[i];
        worker->cluster = cluster;
        worker->index = i;
        worker->local = cluster->local + (size_t)i * CONTRACT_LOCAL_BYTES;
        if (fabric_endpoint_open(cluster->fabric, i, 0, &worker->ep, &error) != 0) fail_msg("%s", error.text);
    }
}

/* Ends everything first, so that a failure leaves nothing behind, and only then says what the workers' checks found. */
static inline void contract_close(struct contract_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->worker_count; i++) fabric_endpoint_close(cluster->workers[i].ep);
    fabric_close(cluster->fabric);
    free(cluster->local);
    if (cluster->backend->after) cluster->backend->after();
    for (uint32_t i = 0; i < cluster->worker_count; i++)
        if (cluster->workers[i].failure[0])
            fail_msg("%s, worker %u: %s", cluster->backend->name, i, cluster->workers[i].failure);
}

static inline void contract_worker_main(void *arg)
{
    struct contract_worker *worker = arg;

    worker->body(worker);
    fabric_done(worker->cluster->fabric, &worker->cluster->running);
}

/* Runs worker i with bodies[i] until all have returned; what CHECK found is kept until contract_close. */
static inline void contract_run(struct contract_cluster *cluster, void (*const *bodies)(struct contract_worker *))
{
    struct fabric *fabric = cluster->fabric;

    __atomic_store_n(&cluster->running, cluster->worker_count, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        struct contract_worker *worker = &cluster->workers[i];
        worker->body = bodies[i];
        assert_int_equal(fabric->ops->spawn(fabric, worker->ep, contract_worker_main, worker), 0);
    }
    assert_int_equal(fabric->ops->wait(fabric, &cluster->running, UINT64_MAX), 0);
}

/* The common case: one test, all workers with the same body. */
static inline void contract_test(const struct contract_backend *backend, struct contract_shape shape, uint32_t workers,
                                 void (*body)(struct contract_worker *))
{
    struct contract_cluster cluster;
    void (*bodies[CONTRACT_WORKERS_MAX])(struct contract_worker *);

    for (uint32_t i = 0; i < workers; i++) bodies[i] = body;
    contract_open(&cluster, backend, shape, workers);
    contract_run(&cluster, bodies);
    contract_close(&cluster);
}

/* Inside a worker: polls until nothing of `wait` is pending. Returns how many failed. */
static inline uint32_t contract_reap(struct contract_worker *worker, struct fabric_wait *wait)
{
    while (wait->pending > 0)
        if (!fabric_poll(worker->ep) && wait->pending > 0) fabric_idle(worker->ep, UINT64_MAX);
    uint32_t failed = wait->failed;
    wait->failed = 0;
    return failed;
}

/* Inside a worker: one batch, start to end. */
static inline uint32_t contract_do(struct contract_worker *worker, struct fabric_op *ops, uint32_t count)
{
    struct fabric_wait wait = {0};

    fabric_post(worker->ep, ops, count, &wait);
    return contract_reap(worker, &wait);
}

static inline int contract_one(struct contract_worker *worker, struct fabric_op op)
{
    contract_do(worker, &op, 1);
    return op.status;
}

/* One word; all ones when that failed. Uses the last word of the worker's local memory. */
static inline uint64_t contract_word(struct contract_worker *worker, struct fabric_addr addr)
{
    uint64_t *word = (uint64_t *)(void *)(worker->local + CONTRACT_LOCAL_BYTES - 8);

    *word = ~0ull;
    struct fabric_op op = fabric_op_read(addr, word, 8);
    contract_do(worker, &op, 1);
    return op.status == 0 ? *word : ~0ull;
}
