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
