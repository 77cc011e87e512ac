/* fabric_sim_run.h - a cluster of the simulated fabric and its workers, each of which runs one function of a test. */
#pragma once

#include "fabric_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define WORKERS_MAX 8
#define RTT 1000
#define ATOMIC 200
#define SERVICE 50
#define MESSAGE 700
#define POST 100
#define OP 10

struct cluster;

struct worker {
    struct cluster *cluster;
    struct fabric_ep *ep;
    uint32_t index;
    void (*body)(struct worker *worker);
    struct fabric_op ops[16];
    struct fabric_wait wait;
    uint64_t words[16];
    uint8_t buffer[1024];
    uint64_t times[16];
    struct fabric_message message;
};

struct cluster {
    struct fabric_sim_config config;
    struct fabric *fabric;
    struct worker workers[WORKERS_MAX];
    uint32_t worker_count, running;
};

static inline void setup(struct cluster *cluster, uint64_t seed)
{
    memset(cluster, 0, sizeof *cluster);
    fabric_sim_config_default(&cluster->config);
    cluster->config.mn_count = 2;
    cluster->config.cn_count = WORKERS_MAX;
    cluster->config.mn_bytes = 1 << 20;
    cluster->config.seed = seed;
    cluster->config.profile = (struct fabric_sim_profile){.rtt_ns = RTT,
                                                          .atomic_ns = ATOMIC,
                                                          .miss_ns = ATOMIC,
                                                          .read_ns = SERVICE,
                                                          .write_ns = SERVICE,
                                                          .message_ns = MESSAGE,
                                                          .post_ns = POST,
                                                          .op_ns = OP};
}

static inline void worker_entry(void *arg)
{
    struct worker *worker = arg;
    worker->body(worker);
    worker->cluster->running--;
}

static inline void start(struct cluster *cluster, uint32_t count, void (*const bodies[])(struct worker *worker))
{
    struct cellar_error error = {0};
    assert_int_equal(fabric_sim_open(&cluster->config, &cluster->fabric, &error), 0);
    assert_int_equal(fabric_register_local(cluster->fabric, cluster, sizeof *cluster), 0);
    cluster->worker_count = cluster->running = count;
    for (uint32_t i = 0; i < count; i++) {
        struct worker *worker = &cluster->workers[i];
        worker->cluster = cluster;
        worker->index = i;
        worker->body = bodies[i];
        assert_int_equal(fabric_endpoint_open(cluster->fabric, i, 0, &worker->ep, &error), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(
            cluster->fabric->ops->spawn(cluster->fabric, cluster->workers[i].ep, worker_entry, &cluster->workers[i]),
            0);
    }
}

static inline int finish(struct cluster *cluster)
{
    return cluster->fabric->ops->wait(cluster->fabric, &cluster->running, UINT64_MAX);
}

static inline void run(struct cluster *cluster, uint32_t count, void (*const bodies[])(struct worker *worker))
{
    start(cluster, count, bodies);
    assert_int_equal(finish(cluster), 0);
}

/* Posts the first `count` operations of the worker and waits for all; returns how many failed. */
static inline uint32_t perform(struct worker *worker, uint32_t count)
{
    fabric_post(worker->ep, worker->ops, count, &worker->wait);
    while (worker->wait.pending) {
        if (!fabric_poll(worker->ep)) fabric_idle(worker->ep, UINT64_MAX);
    }
    uint32_t failed = worker->wait.failed;
    worker->wait.failed = 0;
    return failed;
}

static inline uint64_t faa(struct worker *worker, uint64_t offset, uint64_t addend)
{
    worker->ops[0] = fabric_op_faa(fabric_addr_of(0, offset), &worker->words[0], addend);
    assert_int_equal(perform(worker, 1), 0);
    return worker->words[0];
}

/* Virtual time without the cost of asking for it (a few ns a call). */
static inline bool near(uint64_t value, uint64_t expected) { return value >= expected && value <= expected + 80; }
