/*
 * lockword.h - the algebra of owner-tagged cell locks (protocol.md section 1): pure functions on a 64-bit word.
 *
 *     63       62    61..60   59 .................. 0
 *     DELETED  HOT   zero     tag of cell c at bits [c*w, c*w + w),  w = min(8, 60 / cells)
 *
 * A tag is 0 when the cell is free, else CN index + 1. One masked CAS takes any set of a record's cells: INV-LOCK-1 (a
 * tag is only set where it was 0, only cleared by its owner).
 */
#pragma once

#include <stdint.h>

#define LOCKWORD_DELETED (1ull << 63)
#define LOCKWORD_HOT (1ull << 62)
#define LOCKWORD_FLAGS (LOCKWORD_DELETED | LOCKWORD_HOT) /* what is no tag */

static inline uint32_t lockword_tag_bits(uint32_t cell_count)
{
    uint32_t bits = 60 / cell_count;
    return bits < 8 ? bits : 8;
}
/* How many CNs a table of that many cells can tell apart. */
static inline uint32_t lockword_cns_max(uint32_t cell_count) { return (1u << lockword_tag_bits(cell_count)) - 1; }

/* Bit 0 of the tag of each cell in `cells`. */
static inline uint64_t lockword_ones(uint32_t tag_bits, uint32_t cells)
{
    uint64_t ones = 0;
    for (; cells; cells &= cells - 1) ones |= 1ull << ((uint32_t)__builtin_ctz(cells) * tag_bits);
    return ones;
}
/* All bits of the tags of those cells, given their ones. */
static inline uint64_t lockword_mask(uint32_t tag_bits, uint64_t ones) { return ones * ((1ull << tag_bits) - 1); }
/* The tags of those cells set to the owner cn, given their ones. */
static inline uint64_t lockword_tags(uint64_t ones, uint32_t cn) { return ones * (cn + 1); }
/* The CN that holds `cell`, or -1. */
static inline int lockword_owner(uint64_t word, uint32_t tag_bits, uint32_t cell)
{
    return (int)(word >> (cell * tag_bits) & ((1ull << tag_bits) - 1)) - 1;
}
