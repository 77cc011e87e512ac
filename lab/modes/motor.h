/*
 * motor.h - mode `motor`: records keep old versions, writers are ordered by a clock, and a transaction that declares
 * no writes reads a snapshot (lab/docs/rivals.md).
 *
 * INV-MOTOR-1: a writer's TS is drawn after all its locks were taken and before any of its reads is checked.
 * INV-MOTOR-2: a reader's snapshot is drawn after it began and before its first read; it takes nothing of a record
 *              that shows a tag.
 * INV-MOTOR-3: old values count if a READ of the header posted after theirs shows no tag, and a READ of the tuples
 *              posted after that the tuple that leads to them.
 * INV-MOTOR-4: under a record's lock its bar is written first, then its cells, then epoch numbers and tuples.
 */
#pragma once

#include "txn.h"

struct motor_txn {
    struct txn txn;          /* first */
    uint64_t snapshot_ts;    /* of a reader: it sees what was committed at that TS; 0: it is none */
    uint64_t commit_ts;      /* of a writer, once the clock has shown it */
    uint64_t clock_words[2]; /* reply buffers: of the clock, and of its backups */
    uint32_t undo_count;     /* objects with undo_cells */
};

struct motor_object {
    struct cache_object object; /* first */
    /* zeroed by cache_pin */
    uint8_t *head;              /* header and tuples as read under the lock, or by a reader */
    uint32_t bar_at, bar_bytes; /* where in the record what it displaces goes, and in slot_image is */
    uint32_t undo_cells;        /* fetched, but newer than the snapshot */
    /* set in each round before they are used */
    bool again_before;
    uint8_t *again; /* header and tuples, read once more after the record; and before */
};

#define MOTOR_OBJECT_ZEROED (offsetof(struct motor_object, again_before) - sizeof(struct cache_object))
_Static_assert(sizeof(struct motor_object) <= CACHE_OBJECT_BYTES, "room behind each object");

/* Of a coordinator (mode.h). */
NODISCARD int motor_attach(struct txn *txn, uint32_t index);

/* A reader's snapshot. */
NODISCARD int motor_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts);
NODISCARD int motor_commit(struct coro *co, struct txn *txn);
uint64_t motor_ts(const struct txn *txn, uint64_t below);
enum mode_absence motor_absent(const struct txn *txn, const struct cache_object *object,
                               const struct cache_bucket *bucket);

/* A reader puts old values back where what was fetched is newer than its snapshot. */
NODISCARD int motor_fetch(struct coro *co, struct txn *txn);

/* A writer: its tuple, and what goes into the bar; and how that is written (INV-MOTOR-4). */
void motor_displace(struct cache_object *object, uint64_t ts);
void motor_apply(struct coro *co, struct txn *txn, struct cache_object *object);
