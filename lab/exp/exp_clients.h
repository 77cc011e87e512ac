/*
 * exp_clients.h - what the clients of exp_load.h do: the spin locks of the literature, and plain streams of
 * operations, as their papers describe them (each function names its own). Plans say with what parameters.
 */
#pragma once

#include "exp_load.h"

#include "zipf.h"

/* Locks are 8-byte words (of 16-byte entries, for pairs), chosen by popularity: the hottest lies first. */
struct exp_clients_locks {
    struct zipf zipf; /* over the locks */
    uint32_t stride;  /* bytes from one lock to the next */
    /* spin: truncated exponential backoff; `adapted`: from the bound on that a long run ends at */
    bool backoff, adapted;
    /* read_write */
    uint32_t read_percent;
    uint64_t objects; /* offset of the 8-byte objects that the locks protect */
};

/* Acquires by CAS until it succeeds, releases by CAS at once. A round is an acquisition and its release. */
void exp_clients_spin(struct coro *co, struct exp_load_client *client);
/* Wide FAA +1 and -1 on a lock's 16 bytes, as readers of ShiftLock do. A round is both. */
void exp_clients_pairs(struct coro *co, struct exp_load_client *client);
/* The reader-writer CAS lock, one READ or WRITE of its object while it is held. A round is all of it. */
void exp_clients_read_write(struct coro *co, struct exp_load_client *client);

struct exp_clients_stream {
    enum fabric_op_kind kind; /* READ, WRITE, CAS, FAA */
    uint32_t size_bytes;
    uint32_t batch;        /* operations behind one doorbell, all awaited */
    uint64_t stride_bytes; /* from an operation's address to the next one's, of all clients' batches; 0: all the same */
};
/* The same operation over and over. A round is one operation. */
void exp_clients_stream(struct coro *co, struct exp_load_client *client);

struct exp_clients_ping {
    uint32_t receivers; /* the first thread addresses them in turn, and each answers; 1 more threads in all */
    uint32_t size_bytes;
};
/* Messages to and fro. A round is both ways; its time goes to tally->acquire. */
void exp_clients_ping(struct coro *co, struct exp_load_client *client);
