/*
 * durable.h - a database whose bytes are kept in a folder (docs/durability.md): it is restored from there when it
 * opens, and kept by two threads beside the workers. The *agent* is the memory node's: it takes entries out of log
 * rings, writes them to the journal, and closes epochs. The *keeper* makes checkpoints.
 *
 *     open    folder, checkpoint that counts, cut ─> memory: pieces, pages, entries in the order of TS ─> recovery of
 *             the compute nodes that died with it ─> journal's new life ─> a checkpoint of its own ─> calls
 *     close   the last call ─> the pool is left ─> a checkpoint ─> the journal's end
 *
 * INV-DURABLE-17: an entry is redone if its epoch is above the checkpoint's `begin` and not above the cut.
 * INV-DURABLE-18: no epoch is closed while rows were loaded, which no log has, that no written checkpoint has; and a
 *                 checkpoint amid which a row was loaded is made anew. The first epoch to be closed after that makes
 *                 the checkpoint count.
 * INV-DURABLE-20: no epoch that would make a checkpoint count is closed before the sync of its head has returned: a
 *                 head whose sync has failed is shown by reads, and on no disk.
 */
#pragma once

#include "checkpoint.h"
#include "disk_real.h"
#include "engine_config.h"
#include "epochs.h"
#include "folder.h"
#include "journal.h"
#include "replay.h"
#include "sched.h"

struct cellar;
struct durable;

/* One of the two threads, with what it runs on. */
struct durable_thread {
    struct durable *durable;
    struct fabric_ep *ep;
    struct sched sched;
    struct sched_task task;
    struct epochs_sleeper sleeper;
    uint8_t *piece; /* registered memory */
    uint32_t piece_bytes;
    uint32_t running;  /* atomically: 1 until its thread has ended */
    uint64_t until_ns; /* it sleeps no longer than until then */
    bool lent;         /* a thread that waits has its helm, for one step; */
    uint64_t lendings; /* ... so often */
    atomic_bool stop, over;
};

/* A table's entry in the catalog, as it was logged last. */
struct durable_page {
    uint64_t id, checksum, state;
};

struct durable {
    struct cellar *db;
    struct disk_real *real; /* NULL: the disk is another one */
    struct disk *disk;
    struct folder folder;
    bool first; /* the folder has never been used */
    bool look;  /* nothing of it is changed: once restored, the database goes on without it */
    struct wal_config wal;
    uint32_t files;                /* as of the shape */
    struct checkpoint found;       /* the one that counts; pieces_max 0: none does */
    uint32_t slot;                 /* where it is */
    bool broken[CHECKPOINT_FILES]; /* heads that are not whole, and not blank */
    bool beside;                   /* the other slot has a newer one, which does not count */
    uint64_t begun_ns;             /* restoring */
    struct journal_cut cut;
    struct replay replay; /* what is to be done again, until the pool is open */
    struct epochs epochs;
    struct journal *journal; /* the agent's, once its thread runs */
    struct cellar_error why; /* for which epochs.refused is set */
    struct durable_thread agent, keeper;
    _Atomic uint64_t group;         /* journal_group; by the agent, for the keeper */
    _Atomic uint64_t below;         /* groups that a checkpoint has freed; by the keeper, for the agent */
    struct cellar_lab_durable told; /* counters: those of checkpoints are the keeper's, the others the agent's */
    /* the agent's */
    uint64_t raised_ns;
    uint64_t chunks; /* of the heap, whose runs' headers were logged, */
    uint64_t vacant; /* ... when so many runs had been made of vacant chunks */
    struct durable_page pages[LAYOUT_CATALOG_TABLES_MAX];
};

/* How its log is cut into files. */
struct durable_shape {
    uint32_t group_bytes; /* with room for an entry, and a page */
    uint64_t file_bytes;
    uint32_t files; /* that it may have: then a checkpoint frees it, and what is in the rings alone makes it longer */
};

/*
 * Reads a folder, which is made if there is none, and puts into *config what it says of the pool; no other process has
 * it then. With pool_private it only looks at one. INVALID, MISMATCH, CORRUPT, EXISTS, SYSTEM: nothing was changed.
 */
NODISCARD int durable_open(struct engine_config *config, struct durable **out, struct cellar_error *error);
/*
 * The same on any disk, which outlives it: a folder that is empty gets that number, which no other one has. For tests;
 * config->durable is what messages call it.
 */
NODISCARD int durable_open_on(struct disk *disk, const uint64_t number[2], const struct durable_shape *shape,
                              struct engine_config *config, struct durable **out, struct cellar_error *error);
/* Also of what has opened in part only. NULL is allowed. */
void durable_free(struct durable *durable);

/* In the opener's coordinator, before the catalog is opened: the fresh memory gets what the folder has. */
NODISCARD int durable_restore(struct coro *co, struct fabric_ep *ep, struct durable *durable, bool *restored,
                              struct cellar_error *error);
/* Once it is: entries are redone. */
NODISCARD int durable_redo(struct coro *co, struct fabric_ep *ep, struct durable *durable,
                           const struct catalog *catalog, struct cellar_error *error);
/* The workers are open: the threads start, and a checkpoint is made. From outside. */
NODISCARD int durable_start(struct durable *durable, struct cellar_error *error);
/* All calls have ended, and the pool was left: a checkpoint, if `whole`; then the threads end. From outside. */
NODISCARD int durable_stop(struct durable *durable, bool whole, struct cellar_error *error);
/* Why nothing is written any more; or of space that is short. */
void durable_why(const struct durable *durable, struct cellar_error *error);
/* By its two threads. */
void durable_why_set(struct durable *durable, const struct cellar_error *why);

/*
 * Blocks a thread that is no worker's until that epoch is durable; or the code for which it may never be. If the agent
 * sleeps, the thread does the agent's work meanwhile: one that is alone is not woken, and wakes nothing.
 */
NODISCARD int durable_await(struct durable *durable, uint64_t epoch);

/* ---- durable_agent.c, durable_keeper.c: the two threads' tasks ---- */

void durable_agent_main(struct coro *co, void *thread);
void durable_keeper_main(struct coro *co, void *thread);
/* Logging is refused from now on, for this reason; FULL: until it is taken back. */
void durable_refuse(struct durable *durable, const struct cellar_error *why);

/* As cellar_sync. */
NODISCARD int db_sync(struct cellar *db, uint64_t epoch, struct cellar_error *error);
