/*
 * peer.h - what a store has to offer to be measured beside the others (cellar-peers): a table of functions.
 *
 * A run opens it in an empty folder, loads records 0 .. n-1, lets clients run transactions side by side, each with a
 * session of its own, reads all records for the check, and closes it. Each run is a process of its own. Functions
 * return 0, PEER_RETRY where one says so, or what peer_fail has given them.
 */
#pragma once

#include "peer_work.h"

#include <stdbool.h>
#include <stdint.h>

#define PEER_RETRY 1   /* another transaction came between: end this one, and begin anew */
#define PEER_PENDING 2 /* of a call: it has ended, and peer_client_acknowledge is called when it is durable */

struct peer_setup {
    const struct peer_work *work;
    uint64_t records;
    uint32_t clients;
    bool durable; /* a transaction has ended when power may fail */
    const char *folder;
    const char *way; /* Cellar's rules by which it chooses how transactions go; NULL: the usual ones */
};

struct peer_client; /* peer_run.h */

enum peer_end { PEER_COMMIT, PEER_REFUSED /* by its own rules, as of what it has read */, PEER_AGAIN };

struct peer_ops {
    const char *title, *version;
    const char *isolation;
    const char *memory, *durable; /* its settings of either form, in words */
    uint32_t clients_max;
    uint32_t in_flight_max; /* durable; 0: as many as clients_max */
    bool whole;             /* a record is one value: to write a cell, all of them are read */

    int (*open)(const struct peer_setup *setup, void **db);
    int (*load)(void *db); /* rows as peer_work_load makes them */
    /* Calls fn for each record, with nothing else running. */
    int (*each)(void *db, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *arg);
    void (*close)(void *db);

    /* NULL: threads of the program, with session_open. Else runs peer_client_run for each, side by side. */
    int (*drive)(void *db, struct peer_client *clients, uint32_t count);
    int (*session_open)(void *db, void **session);
    void (*session_close)(void *session);
    uint32_t (*loops)(const struct peer_setup *setup); /* NULL: one for each client. Else so many serve all clients */
    int (*settle)(void *session);                      /* NULL, or waits for what is pending */
    void (*turn)(void *session);                       /* NULL, or called now and then between transactions */

    /*
     * A whole transaction, tried until it has ended; adds what was aborted to *retries. PEER_PENDING. NULL: by the
     * functions below.
     */
    int (*call)(void *session, const struct peer_draw *draw, struct peer_outcome *outcome, uint64_t *retries);

    int (*begin)(void *session, bool writes);
    /* NULL, or is told first of all that get will ask for; what only reads, or changes. PEER_RETRY. */
    int (*prefetch)(void *session, const struct peer_plan *plan);
    /* Reads the cells of part->read; the record is put later if part->write is not empty. PEER_RETRY. */
    int (*get)(void *session, const struct peer_part *part, union peer_row *row);
    /* Writes the cells that the part says. PEER_RETRY. */
    int (*put)(void *session, const struct peer_part *part, const union peer_row *row);
    int (*end)(void *session, enum peer_end end); /* PEER_RETRY: of COMMIT and REFUSED */
};

struct peer {
    const char *name, *package;
    const struct peer_ops *ops; /* NULL: its library is missing */
};
extern const struct peer peer_table[];
extern const uint32_t peer_count;

/* Says on standard error what went wrong; returns a negative number. */
int peer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
