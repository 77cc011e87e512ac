/*
 * motor.h - mode `motor`: records keep old versions, writers are ordered by a clock, and a transaction that declares
 * no writes reads a snapshot (docs/rivals.md).
 *
 * INV-MOTOR-1: a writer's TS is drawn after all its locks were taken and before any of its reads is checked.
 * INV-MOTOR-2: a reader's snapshot is drawn after it began and before its first read; it takes nothing of a record
 *              that shows a tag.
 * INV-MOTOR-3: old values count if a READ posted after theirs shows no tag, and the tuple that leads to them.
 * INV-MOTOR-4: under a record's lock its bar is written first, then its cells, then epoch numbers and tuples.
 */
#pragma once

#include "txn.h"

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
