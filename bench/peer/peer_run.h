/*
 * peer_run.h - one run of one store, in a process of its own, which opens, loads, lets clients run, reads the memory it
 * takes, checks, and closes. The clients are closed loops over shares of the same draws.
 */
#pragma once

#include "hist.h"
#include "peer.h"

struct peer_order {
    const struct peer *peer;
    uint32_t loops;          /* peer_run sets it */
    struct peer_setup setup; /* its folder: where a new one is made */
    const struct peer_draw *draws;
    uint64_t draw_count;
    bool once; /* all draws once; else again and again, for so long: */
    double warmup_s, seconds;
};

struct peer_result {
    bool done, holds;
    uint32_t clients;
    char wrong[80]; /* the check's verdict, if it does not hold */
    double load_s, tps;
    uint64_t ended, retries, measured; /* of all; latencies in the histogram */
    double p50_ns, p99_ns;
    double cpu_ns;         /* of the whole process, for each that ended */
    uint64_t memory_bytes; /* resident, beyond what the program had before it opened the store */
    uint64_t files_bytes;  /* in its folder */
};

/* `apart`: in a process of its own. 0, or a negative number: it could not be run, and has said why. */
int peer_run(const struct peer_order *order, bool apart, struct peer_result *result);

struct peer_client {
    const struct peer_order *order;
    void *db;
    const uint32_t *phase;
    uint32_t *gone; /* set, if it ends before it was told to */
    uint32_t index;
    uint64_t begin_ns;       /* of the transaction that runs; 0: it is not timed */
    uint64_t ended, retries; /* ended: is read while it runs */
    struct peer_outcome outcome;
    struct hist latency;
    int rc;
} __attribute__((aligned(128)));

/* One that began then has ended. */
void peer_client_acknowledge(struct peer_client *client, uint64_t begin_ns);
/* The client's loop, until the run is over. Returns client->rc. */
int peer_client_run(struct peer_client *client, void *session);
