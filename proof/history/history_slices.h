/*
 * history_slices.h - a history that is too large for memory: its transactions are held, and what they did to records
 * lies in a file without a name, cut into slices by record. All that was done to a record is in one slice, so records
 * can be judged slice by slice (history_check_slices).
 */
#pragma once

#include "history.h"

struct history_slices;

/* So many slices, empty, in a file in $TMPDIR or /var/tmp. SYSTEM, NOMEM. */
NODISCARD int history_slices_open(uint32_t count, struct history_slices **out, struct cellar_error *error);
/* NULL is allowed. */
void history_slices_close(struct history_slices *slices);
/*
 * Puts down what a transaction did, which has that number among those of the history: each must follow the one
 * before. SYSTEM, NOMEM.
 */
NODISCARD int history_slices_txn(struct history_slices *slices, uint64_t txn, const struct history_access *accesses,
                                 uint32_t count);
/* A state of the pool at rest, or loaded. */
NODISCARD int history_slices_state(struct history_slices *slices, bool final, const struct history_final *state);
uint32_t history_slices_count(const struct history_slices *slices);
uint64_t history_slices_accesses(const struct history_slices *slices);
/*
 * One of them as a history of its own: all transactions of `whole`, each with what it did there. *slice is empty, or
 * was loaded here before; history_free is due. SYSTEM, NOMEM.
 */
NODISCARD int history_slices_load(struct history_slices *slices, uint32_t number, const struct history *whole,
                                  struct history *slice, struct cellar_error *error);
