/*
 * exp_load.h - closed-loop clients on a simulated fabric, without the engine: what experiments on the fabric itself
 * are made of.
 *
 * Threads spread over compute nodes; each owns one connection to the only memory node and runs several clients, which
 * are coroutines. All go on until virtual time is over; what they count within the window [warm-up, end) is added up.
 */
#pragma once

#include "coro.h"
#include "fabric.h"
#include "hist.h"
#include "zipf.h"

#define EXP_LOAD_OPS 32        /* of one batch */
#define EXP_LOAD_BYTES 4096    /* of one operation */
#define EXP_LOAD_BASE 4096     /* where clients' words begin: address 0 is no address */
#define EXP_LOAD_THREADS 65535 /* at most */

struct exp_load_client;
typedef void (*exp_load_fn)(struct coro *co, struct exp_load_client *client);

struct exp_load_config {
    const char *profile;
    uint32_t threads, clients_per_thread;
    uint32_t threads_per_cn; /* 0: all on one */
    uint64_t mn_bytes;
    uint64_t warmup_ns, window_ns, seed;
    exp_load_fn client; /* each one's whole life */
    const void *plan;   /* what that function wants to know */
    uint64_t *clock_ns; /* NULL, or is told how far the run is; atomically */
};

/* What clients have counted; times are in nanoseconds. */
struct exp_load_tally {
    uint64_t rounds; /* whatever the client calls one */
    uint64_t atomics, reads, writes, sends;
    uint64_t retries;    /* atomics and READs that had to be done again */
    struct hist atomic;  /* of an operation: from post to completion (of a round's first, where there are several) */
    struct hist acquire; /* of a lock, retries included */
};

struct exp_load_client {
    /* read-only for the client's function */
    const void *plan;
    struct fabric_ep *ep;
    const struct exp_load *load;
    uint32_t number; /* of all clients */
    uint64_t start_ns, end_ns;
    /* its own */
    struct prng prng;
    struct exp_load_tally *tally;
    uint64_t words[EXP_LOAD_OPS]; /* local memory of atomics */
    uint8_t *buffer;              /* EXP_LOAD_BYTES of local memory of READs and WRITEs */
    /* its thread's */
    struct coro *co;
    uint64_t wake_ns; /* asleep until then; UINT64_MAX: not asleep */
    bool listening;   /* for a message */
};

/* Runs it all; *tally must be zero. An operation that fails is an error, so none did. */
NODISCARD int exp_load_run(const struct exp_load_config *config, struct exp_load_tally *tally,
                           struct cellar_error *error);

/* ---- for clients ---- */

static inline uint64_t exp_load_now_ns(struct exp_load_client *client) { return fabric_now_ns(client->ep); }
static inline bool exp_load_counts(const struct exp_load_client *client, uint64_t now_ns)
{
    return now_ns >= client->start_ns && now_ns < client->end_ns;
}
/* One batch, awaited. */
void exp_load_do(struct coro *co, struct exp_load_client *client, struct fabric_op *ops, uint32_t count);
void exp_load_sleep(struct coro *co, struct exp_load_client *client, uint64_t until_ns);
/* The next message to this thread, which has one client only; false when time is over. */
bool exp_load_receive(struct coro *co, struct exp_load_client *client, struct fabric_message *message);
/* The address of the thread's inbox. */
struct fabric_addr exp_load_inbox(const struct exp_load *load, uint32_t thread);
