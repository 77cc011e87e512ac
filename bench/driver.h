/*
 * driver.h - runs a workload on all coordinators of a database and measures it: a closed loop for each client, first
 * unmeasured (warm-up), then until the time is up or its share of the transactions is done.
 *
 * Each client writes only its own struct driver_session; others may read its counters while it runs (progress).
 */
#pragma once

#include "cellar_lab.h"
#include "hist.h"
#include "pending.h"
#include "workload.h"

struct driver_type {
    /* transactions that ended in the measured window; aborted attempts of all calls that began in it */
    uint64_t committed, aborted;
    uint64_t dropped; /* transactions that ended there by attempts_max; their attempts are aborted ones */
    struct hist latency_ns;
};

#define DRIVER_TICKS 50 /* of a window that is counted over time */

struct driver_session {
    _Alignas(64) uint64_t committed; /* measured; read by the progress line */
    uint64_t aborted;
    uint64_t clock_ns;   /* the client's time, a little behind the fabric's */
    uint64_t longest_ns; /* the longest call of all, warm-up included */
    uint64_t left_ns;    /* when its client was last left */
    uint64_t done;       /* since this client's window began, those after its end included */
    uint64_t window_start_ns, window_end_ns;
    uint32_t cn;
    uint32_t *ticks; /* NULL, or DRIVER_TICKS: measured in each tick of the window */
    /* With a durable folder the others are of acknowledgements, and this one is of commits. */
    struct hist commit_ns;
    struct driver_type *types;
    struct workload_client *client;
};

struct driver {
    /* set by the caller */
    const struct workload *workload;
    struct workload_run *run;
    struct cellar *db;
    uint64_t seed;
    uint64_t warmup_ns, measure_ns;
    uint64_t txns; /* 0: bounded by measure_ns, else by so many over all sessions */
    uint32_t client_first,
        client_count;    /* indexes of this driver's clients start there, of so many in all processes; 0: as sessions */
    bool exact;          /* the clock costs nothing: look at it after each transaction */
    uint64_t timeout_ns; /* 0: none; a transaction that takes longer ends the run */
    uint32_t inflight; /* 0: none; calls of a worker that are run, or wait for the disk, at most: see struct pending */
    uint32_t coros;    /* ... clients of a worker */
    uint32_t attempts_max; /* 0: none; a transaction that has had so many is dropped */
    /* leaves what a client has counted so far where others find it, each leave_every_ns; NULL: it does not */
    int (*leave)(void *arg, struct cellar_lab_client *self, const struct workload_client *client);
    void *leave_arg;
    uint64_t leave_every_ns;
    /*
     * Once, that long after the window's begin, by a client of another compute node than strike_cn; that one's
     * sessions end when they fail from then on, and their clients are lost. NULL: never
     */
    void (*strike)(void *arg);
    void *strike_arg;
    uint64_t strike_ns;
    int32_t strike_cn; /* -1: none */
    uint64_t tick_ns;  /* 0, or the window is counted over time, in such ticks; set before driver_init */
    struct history_recorder *recorder; /* NULL: nothing is recorded; the run ends when it is full */
    uint32_t *stop; /* a word that someone (a signal handler, or the driver on errors) sets to end the run early */
    /* set by driver_init */
    struct driver_session *sessions;
    struct workload_client **clients;
    uint32_t session_count;
    /* set while it runs */
    uint64_t start_ns;                /* when the first client began */
    uint32_t struck;                  /* 1 once that has happened */
    uint32_t begun;                   /* 1 once a client's window has begun */
    struct cellar_lab_stats baseline; /* the engine's counters when the first one did */
    struct cellar_lab_durable durable_baseline;
    struct pending *pending; /* of each worker, where there is --durable */
    uint64_t loaded_rows;
    uint32_t failed; /* the client that sets it to 1 owns *error */
    int failure;
    struct cellar_error error;
};

/* What all sessions together measured. */
struct driver_totals {
    uint64_t committed, aborted, dropped;
    uint64_t longest_ns;           /* of all sessions' calls */
    uint64_t done;                 /* transactions since the baseline */
    double elapsed_s;              /* of the window */
    double ticks[DRIVER_TICKS];    /* transactions of each tick; */
    uint64_t tick_ns;              /* 0: none are counted */
    double fairness;               /* Jain's index over committed transactions of compute nodes */
    struct cellar_lab_stats stats; /* since the baseline */
    struct cellar_lab_durable durable;
    struct hist commit_ns;
    struct driver_type all;
    struct driver_type types[WORKLOAD_TYPES_MAX];
};

/* Allocates for so many sessions. NOMEM. */
CELLAR_NODISCARD int driver_init(struct driver *driver, uint32_t session_count, struct cellar_error *error);
void driver_free(struct driver *driver);

CELLAR_NODISCARD int driver_load(struct driver *driver, struct cellar_error *error);
/* Runs to the end of the window. A run stopped early through *stop is no error. */
CELLAR_NODISCARD int driver_run(struct driver *driver, struct cellar_error *error);
void driver_totals(const struct driver *driver, struct driver_totals *totals);

typedef int (*driver_job_fn)(struct cellar_lab_client *self, void *arg, struct cellar_error *error);
/* Runs `job` on one client alone. */
CELLAR_NODISCARD int driver_alone(struct cellar *db, driver_job_fn job, void *arg, struct cellar_error *error);
