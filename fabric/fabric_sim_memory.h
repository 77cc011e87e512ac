/*
 * fabric_sim_memory.h - what an operation does to the bytes of a simulated memory node, and whether it may.
 *
 * An operation has one or more pieces: itself, or (torn) its 64-byte lines, or (torn, without line_atomic) its 8-byte words.
 */
#pragma once

#include "fabric_sim_cluster.h"

/* 0, or -INVALID: no such node or kind, out of bounds, misaligned, or local memory that was never registered. */
NODISCARD int fabric_sim_memory_check(const struct fabric_sim *sim, const struct fabric_op *op);
uint32_t fabric_sim_memory_pieces(const struct fabric_sim *sim, const struct fabric_op *op);
/* Executes one piece of a READ, WRITE or atomic; `answer`: fill the local buffer of a READ or atomic. Returns a word of its result. */
uint64_t fabric_sim_memory_execute(struct fabric_sim *sim, const struct fabric_op *op, uint32_t piece, bool answer);
/* Would a CAS with that word find what it compares? Others always do. And what an atomic makes of it. */
bool fabric_sim_memory_matches(const struct fabric_op *op, uint64_t old);
uint64_t fabric_sim_memory_atomic(const struct fabric_op *op, uint64_t old);
/* An atomic in two steps: its word as it is now; and what becomes of a word read earlier written over whatever is there now. */
uint64_t fabric_sim_memory_word(const struct fabric_sim *sim, const struct fabric_op *op);
void fabric_sim_memory_swap(struct fabric_sim *sim, const struct fabric_op *op, uint64_t old, bool answer);
