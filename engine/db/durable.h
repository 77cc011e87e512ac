/*
 * durable.h - a database whose bytes are kept in a folder (docs/durability.md): it is restored from there when it
 * opens, and kept by threads beside the workers. An *agent* is a memory node's: it takes entries out of log rings,
 * writes them to the journal, and closes epochs. The *keeper* makes checkpoints, of all memory nodes at one moment.
 *
 *     open    folders, checkpoint that counts, cut ─> memory: pieces, pages, entries in the order of TS ─> recovery of
 *             the compute nodes that died with it ─> journals' new life ─> a checkpoint of its own ─> calls
 *     close   the last call ─> the pool is left ─> a checkpoint ─> the journals' end
 *
 * INV-DURABLE-17: an entry is redone if its epoch is above the checkpoint's `begin` and not above the cut.
 * INV-DURABLE-18: no epoch is closed while rows were loaded, which no log has, that no written checkpoint has; and a
 *                 checkpoint amid which a row was loaded is made anew. The first epoch to be closed after that makes
 *                 the checkpoint count.
 * INV-DURABLE-20: no epoch that would make a checkpoint count is closed before the syncs of its heads have returned,
 *                 those of all memory nodes: a head whose sync has failed is shown by reads, and on no disk. So of a
 *                 checkpoint that counts all memory nodes have their parts.
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

/* An agent's thread or the keeper's, with what it runs on. */
struct durable_thread {
    struct durable *durable;
    struct durable_node *node; /* an agent's; the keeper has none */
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

/* A place's bytes on a memory node: its own, or the backup of another place's. Which of them its log has. */
struct durable_area {
    uint64_t chunks;                                      /* of the heap, whose runs' headers were logged, */
    uint64_t vacant;                                      /* ... when so many runs had been made of vacant chunks */
    struct durable_page pages[LAYOUT_CATALOG_TABLES_MAX]; /* of place 0 */
};

/* A memory node: its folder, its log and its agent. */
struct durable_node {
    struct durable *durable;
    uint32_t number;
    struct disk_real *real; /* NULL: the disk is another one */
    struct disk *disk;
    struct folder folder;
    struct wal_config wal;
    struct checkpoint heads[CHECKPOINT_FILES]; /* pieces_max 0: there is none, */
    bool broken[CHECKPOINT_FILES];             /* ... or not a whole one, and not blank */
    struct journal *journal;                   /* the agent's, once its thread runs */
    struct durable_thread agent;
    _Atomic uint64_t group;         /* journal_group; by the agent, for the keeper */
    _Atomic uint64_t below;         /* groups that a checkpoint has freed; by the keeper, for the agent */
    bool full;                      /* the agent's: its disk has no space */
    bool crowded;                   /* likewise: counted in epochs.crowded */
    struct cellar_lab_durable told; /* counters, the agent's */
    struct durable_area *areas;     /* replicas + 1; once its thread runs */
    uint64_t loads;                 /* epochs.loads, when it logged what areas say */
    _Atomic uint64_t closing;       /* the epoch that it may be about to end; by the agent, for the keeper. 0: none */
};

struct durable {
    struct cellar *db;
    const char *path;  /* the caller's, while it opens */
    bool look;         /* nothing of it is changed: once restored, the database goes on without it */
    uint32_t files;    /* as of the shape; */
    uint64_t log_most; /* ... so many bytes together */
    uint32_t slot;     /* where the checkpoint is that counts, */
    bool restores;     /* ... if one does */
    int32_t filled;    /* the memory node that has no part of it, and gets its bytes from copies; -1: all have parts */
    int32_t lost;      /* the memory node whose folder is empty, and to be filled; -1: none is */
    bool beside;       /* the other slot has a newer one, which does not count */
    uint64_t begun_ns; /* restoring */
    struct journal_cut cut;
    struct replay replay; /* what is to be done again, until the pool is open */
    struct epochs epochs;
    struct cellar_error why; /* for which epochs.refused is set */
    struct durable_thread keeper;
    struct cellar_lab_durable told; /* counters, the keeper's */
    _Atomic uint64_t raised_ns;     /* when an agent has moved the word on */
    atomic_uint full;               /* memory nodes whose disks have no space */
    struct disk_real *around;       /* the folder that those of several memory nodes lie in; NULL: of one, or none */
    uint32_t node_count;
    struct durable_node *nodes;
};

/* Bytes of the longest entry: its log is to have room for some, and for a while. */
static inline uint64_t durable_entry_most(const struct durable *durable)
{
    uint64_t part = durable->log_most / 4;
    return part < CELLAR_INTERACTIVE_LOG_BYTES ? part : CELLAR_INTERACTIVE_LOG_BYTES;
}
/* A memory node's part of the checkpoint that counts, if any does; the one that is filled has none. */
static inline const struct checkpoint *durable_found(const struct durable_node *node)
{
    return &node->heads[node->durable->slot];
}
/* What is the same in all parts: life, begin, last, incarnation, loads. */
static inline const struct checkpoint *durable_counts(const struct durable *durable)
{
    return durable_found(&durable->nodes[durable->filled == 0]);
}

/* How a log is cut into files. */
struct durable_shape {
    uint32_t group_bytes; /* with room for an entry of a ring, and a page */
    uint64_t file_bytes;
    uint32_t files; /* that it may have: then a checkpoint frees it, and what is in the rings alone makes it longer */
};

/* ---- durable_folder.c ---- */

/*
 * Reads a folder, which is made if there is none, and puts into *config what it says of the pool; no other process has
 * it then. Of several memory nodes each has a folder of its own in it, node-0, node-1, ... With pool_private it only
 * looks at one. INVALID, MISMATCH, CORRUPT, EXISTS, SYSTEM: nothing was changed.
 */
NODISCARD int durable_open(struct engine_config *config, struct durable **out, struct cellar_error *error);
/*
 * The same on any disks, one for each of config->mns memory nodes, which outlive it: one that is empty gets that
 * number, whose second part grows by one from node to node; no other one has these. For tests; config->durable is what
 * messages call it.
 */
NODISCARD int durable_open_on(struct disk *const *disks, const uint64_t number[2], const struct durable_shape *shape,
                              struct engine_config *config, struct durable **out, struct cellar_error *error);
/* Where a memory node's folder is. */
void durable_name(const struct durable_node *node, char *text, size_t bytes);
/* What was refused within it, with its name: a program may have several, and a database, too. 0: nothing was. */
int durable_named(const struct durable_node *node, int rc, const struct cellar_error *inner,
                  struct cellar_error *error);
/* Also of what has opened in part only. NULL is allowed. */
void durable_free(struct durable *durable);

/* ---- durable_restore.c ---- */

/* In the opener's coordinator, before the catalog is opened: the fresh memory gets what the folder has. */
NODISCARD int durable_restore(struct coro *co, struct fabric_ep *ep, struct durable *durable, bool *restored,
                              struct cellar_error *error);
/* Once it is: entries are redone. */
NODISCARD int durable_redo(struct coro *co, struct fabric_ep *ep, struct durable *durable,
                           const struct catalog *catalog, struct cellar_error *error);
/* ---- durable.c ---- */

/* The workers are open: the threads start, and a checkpoint is made. From outside. */
NODISCARD int durable_start(struct durable *durable, struct cellar_error *error);
/* All calls have ended, and the pool was left: a checkpoint, if `whole`; then the threads end. From outside. */
NODISCARD int durable_stop(struct durable *durable, bool whole, struct cellar_error *error);
/* Why nothing is written any more; or of space that is short. */
void durable_why(const struct durable *durable, struct cellar_error *error);
/* By its threads: what a memory node's disk has refused, with the node's number if there are several. Returns rc. */
int durable_which(const struct durable_node *node, int rc, struct cellar_error *error);
void durable_why_set(struct durable *durable, const struct cellar_error *why);

/*
 * Blocks a thread that is no worker's until that epoch is durable; or the code for which it may never be. If an agent
 * sleeps, the thread does that one's work meanwhile: one that is alone is not woken, and wakes nothing.
 */
NODISCARD int durable_await(struct durable *durable, uint64_t epoch);

/* ---- durable_agent.c, durable_keeper.c: the threads' tasks ---- */

void durable_agent_main(struct coro *co, void *thread);
void durable_keeper_main(struct coro *co, void *thread);
/* Logging is refused from now on, for this reason; FULL: until it is taken back. */
void durable_refuse(struct durable *durable, const struct cellar_error *why);

/* As cellar_sync. */
NODISCARD int db_sync(struct cellar *db, uint64_t epoch, struct cellar_error *error);
