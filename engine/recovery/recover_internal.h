/* recover_internal.h - what the files of recovery share: one run, its registered memory, its patience. */
#pragma once

#include "heap.h"
#include "record.h"
#include "recover.h"
#include "recover_log.h"

#include <stdbool.h>

/* Registered with the fabric; mapped for one run. */
struct recover_memory {
    struct heap_memory heap;
    uint8_t images[LAYOUT_NODES_MAX][LAYOUT_RECORD_BYTES_MAX]
        __attribute__((aligned(LAYOUT_LINE))); /* of each replica */
    struct bucket_wire buckets[LAYOUT_NODES_MAX];
    uint8_t piece[LAYOUT_CHUNK_BYTES] __attribute__((aligned(LAYOUT_LINE))); /* of a ring, or of what is copied */
    uint8_t other[LAYOUT_CHUNK_BYTES] __attribute__((aligned(LAYOUT_LINE))); /* compared with it */
    uint8_t zeros[LAYOUT_LINE];
};

/* What one replica has of a segment. */
struct recover_ring {
    uint8_t *local; /* the log's entries lie in it */
    uint64_t bytes;
    struct fabric_addr addr; /* in the primary */
    uint32_t replica;
};

struct recover {
    struct coro *co;
    const struct recover_home *home;
    struct fabric_ep *ep;
    const struct catalog *catalog;
    uint32_t dead;
    struct members_state claim; /* as the word says since our last move */
    bool claimed;               /* it is ours */
    uint32_t name;              /* so it says */
    struct recover_memory *memory;
    struct recover_ring *rings;
    uint32_t ring_count, ring_capacity;
    struct recover_log log;
    struct recover_report *report;
    struct cellar_error *error;
    bool trial;     /* nothing is written */
    uint32_t steps; /* counts to the next breath */
    bool signs;     /* this life has not joined, and shows in the name of the one that it recovers that it is at it */
    uint64_t signed_ns;       /* the last time */
    struct sched_share share; /* of the worker, while it breathes */
};

/* ---- recover.c ---- */

/* Memory for a run, and its end, whatever it holds then. */
NODISCARD int recover_open(struct recover *run);
void recover_close(struct recover *run);
/* What was gathered of one compute node. */
void recover_forget(struct recover *run);
/* What the word of that compute node says. */
NODISCARD int recover_look(struct recover *run, uint32_t cn, struct members_state *now);

/* ---- recover_steps.c ---- */

void recover_pause(struct recover *run, uint64_t ns);
/* Once in a while lets the worker's other coroutines run: where operations complete at once nothing else would. */
void recover_breathe(struct recover *run);
/*
 * EXISTS when the configuration changes: it does not wait for a recovery, which may take long. What dead nodes have
 * left is redone by the leader of the change, or later by the node that tries again; every step may be done twice.
 */
NODISCARD int recover_give_way(const struct recover *run);
/*
 * Waits a little; longer each time. `refusals` counts operations that surely did not run: false when the node must be
 * lost.
 */
bool recover_patience(struct recover *run, int status, uint32_t *tries, uint32_t *refusals);
/* Posts and awaits; again what had no effect or an unknown one: all that recovery does may be done twice. */
NODISCARD int recover_batch(struct recover *run, struct fabric_op *ops, uint32_t count);
/* The same bytes to all replicas. */
NODISCARD int recover_write(struct recover *run, struct fabric_addr addr, const void *local, uint32_t bytes);
/* Do those tags of a lock word belong to the dead node? */
static inline bool recover_owns(const struct recover *run, uint64_t word, uint32_t tag_bits, uint32_t cell)
{
    return lockword_owner(word, tag_bits, cell) == (int)run->dead;
}
/* The cells of a lock word with its tag. */
uint32_t recover_owned(const struct recover *run, uint64_t word, uint32_t tag_bits, uint32_t cells);

/* ---- recover_read.c ---- */

/* Reads the segments of `dead`, in its incarnation `claim.incarnation`, from every replica, and decides. */
NODISCARD int recover_gather(struct recover *run);
/* Does so, and copies what counts to those that lack it. */
NODISCARD int recover_read(struct recover *run);
/* Erases whole entries that do not count. */
NODISCARD int recover_erase(struct recover *run);
/* Calls fn at each run of a node's heap; a negative value from fn ends it. */
NODISCARD int recover_walk(struct recover *run, uint32_t node, int (*fn)(struct recover *run, struct heap_walk *walk));

/* ---- recover_redo.c ---- */

/* Redoes what is due, in TS order. */
NODISCARD int recover_redo(struct recover *run);

/* The same, without a write: CORRUPT when something cannot be redone. */
NODISCARD int recover_try(struct recover *run);

/* What all replicas have there: the i-th at first + i * stride; a record into memory->images. */
NODISCARD int recover_replicas_read(struct recover *run, struct fabric_addr addr, void *first, uint64_t stride,
                                    uint32_t bytes);
NODISCARD int recover_images_read(struct recover *run, struct fabric_addr addr, const struct schema *schema);
/* Is epoch number a the later one of two that are near each other? */
bool recover_en_later(uint16_t a, uint16_t b);
/* The table of a change in the log; NULL: none that is known. */
const struct table *recover_table_of(const struct recover *run, const struct log_write_wire *write);
/* The log changes what it cannot: CORRUPT, with the reason. */
NODISCARD int recover_alien(const struct recover *run, const struct log_write_wire *write, const char *what);
NODISCARD int recover_record_check(const struct recover *run, const struct log_write_wire *write,
                                   const struct schema *schema, uint32_t value_bytes);
/* Does the primary's image show the record of that change? */
bool recover_same_record(const struct recover *run, const struct log_write_wire *write);
/* Is there nothing to be learnt from the lock word? */
bool recover_tags_lost(const struct recover *run, struct fabric_addr addr);
/* All of the record but its lock word, with these versions, as the primary's image has it. */
NODISCARD int recover_whole_write(struct recover *run, struct fabric_addr addr, const struct schema *schema,
                                  const uint64_t *versions);
/* Sets or clears DELETED in the lock word, if that is as said. */
NODISCARD int recover_deleted_set(struct recover *run, struct fabric_addr addr, uint64_t compare, uint64_t compare_mask,
                                  bool deleted);

/* ---- of modes that log what was there (mode.h, undo) ---- */

/*
 * Undoes what the entry tells of, unless all of it was written; then the entry does not count. The table of modes that
 * is linked defines it; NULL: none of them logs what was there.
 */
typedef int recover_undo_fn(struct recover *run, struct recover_entry *entry);
extern recover_undo_fn *const recover_undo;

/* ---- recover_scrub.c ---- */

/* Clears the dead node's tags: those that its log names, then all others. */
NODISCARD int recover_scrub(struct recover *run);
