/*
 * fabric_sim_memory.h - what an operation does to the bytes of a simulated memory node, and whether it may.
 *
 * An operation has one or more pieces: itself, or (torn) its 64-byte lines, or (torn, without line_atomic) its 8-byte
 * words.
 */
#pragma once

#include "fabric_sim_cluster.h"

/* 0, or -INVALID: no such node or kind, out of bounds, misaligned, or local memory that was never registered. */
NODISCARD int fabric_sim_memory_check(const struct fabric_sim *sim, const struct fabric_op *op);
uint32_t fabric_sim_memory_pieces(const struct fabric_sim *sim, const struct fabric_op *op);
/*
 * Executes one piece of a READ, WRITE or atomic; `answer`: fill the local buffer of a READ or atomic. Returns a word
 * of its result.
 */
uint64_t fabric_sim_memory_execute(struct fabric_sim *sim, const struct fabric_op *op, uint32_t piece, bool answer);
/* How many words an atomic acts on. */
static inline uint32_t fabric_sim_memory_words(const struct fabric_op *op) { return fabric_is_wide(op) ? 2 : 1; }
/* Would a CAS with these words find what it compares? Others always do. And what an atomic makes of them. */
bool fabric_sim_memory_matches(const struct fabric_op *op, const uint64_t old[2]);
void fabric_sim_memory_atomic(const struct fabric_op *op, const uint64_t old[2], uint64_t new[2]);
/*
 * An atomic in two steps: its words as they are now; and what becomes of words read earlier written over whatever is
 * there now.
 */
void fabric_sim_memory_fetch(const struct fabric_sim *sim, const struct fabric_op *op, uint64_t old[2]);
void fabric_sim_memory_swap(struct fabric_sim *sim, const struct fabric_op *op, const uint64_t old[2], bool answer);
/* What the trace says of an atomic's words. */
static inline uint64_t fabric_sim_memory_digest(const uint64_t old[2]) { return old[0] ^ (old[1] << 1 | old[1] >> 63); }
