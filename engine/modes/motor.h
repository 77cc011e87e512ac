/*
 * motor.h - mode `motor`: records keep old versions, writers are ordered by a clock, and who declares no writes reads a snapshot (docs/rivals.md).
 *
 * INV-MOTOR-1: a writer's TS is drawn after all its locks were taken and before any of its reads is checked.
 * INV-MOTOR-2: a reader's snapshot is drawn after it began and before its first read; it takes nothing of a record that shows a tag.
 * INV-MOTOR-3: old values count if a READ posted behind theirs shows no tag, and the tuple that leads to them.
 * INV-MOTOR-4: under a record's lock its bar is written first, then its cells, then epoch numbers and tuples.
 */
#pragma once

#include "txn.h"

#define MOTOR_LOCKED_READS_MAX 16 /* of a record that stays locked, in a row */

/* Of a coordinator (mode.h). */
NODISCARD int motor_attach(struct txn *txn, uint32_t index);

/* A reader's begin: its snapshot. 0 or RETRY. */
NODISCARD int motor_begin(struct coro *co, struct txn *txn);
/* A writer's TS, when it has fetched all; nothing if it writes nothing. 0 or RETRY. */
NODISCARD int motor_stamp(struct coro *co, struct txn *txn);

/* ---- fetching ---- */

/*
 * Before and behind a reader's READ of a record: header and tuples once more. Nothing where lines are not torn, and epoch numbers tell old lines
 * from new ones; what takes so long that these may come full circle is read again with both. False without memory.
 */
NODISCARD bool motor_read_before(struct coro *co, struct txn *txn, struct cache_object *object);
void motor_read_behind(struct coro *co, struct txn *txn, struct cache_object *object);
/* Did nobody change it meanwhile? */
bool motor_unchanged(const struct txn *txn, const struct cache_object *object);
/* What was just fetched is whole: what becomes of it. */
void motor_fetched(struct txn *txn, struct cache_object *object);
/* Puts old values back where what was fetched is newer than the snapshot. 0 or RETRY. */
NODISCARD int motor_undo(struct coro *co, struct txn *txn);
/* Is that bucket, which lacks a key, older than the snapshot? */
bool motor_bucket_old(const struct txn *txn, const struct bucket_wire *bucket);
/* A reader's bucket lacked a key at its snapshot: is that all that was read, in one piece? What was read behind it may be newer. */
bool motor_absence_known(const struct txn *txn, const struct cache_object *object, const struct cache_bucket *bucket);

/* ---- writing ---- */

/* Its tuple, and what goes into its bar. */
void motor_displace(struct cache_object *object, uint64_t ts);
