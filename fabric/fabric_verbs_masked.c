/*
 * fabric_verbs_masked.c - masked atomics in two ways.
 *
 * The loop begins with a guess: the bits that the caller compares are what he says, the others zero. That is right for a lock that nobody
 * holds, the common case, so one round trip does. A CAS that finds other foreign bits is tried again with these.
 */
#include "fabric_verbs_masked.h"

#include <endian.h>
#include <string.h>

static uint64_t after(const struct fabric_op *op, uint64_t word)
{
    if (op->kind == FABRIC_FIELD_FAA) return fabric_field_add(word, op->swap, op->swap_mask);
    return (word & ~op->swap_mask) | (op->swap & op->swap_mask);
}

static void expect(struct fabric_verbs_loop *loop, const struct fabric_op *op, uint64_t word)
{
    loop->expected = word;
    loop->desired = after(op, word);
}

void fabric_verbs_loop_begin(struct fabric_verbs_loop *loop, const struct fabric_op *op)
{
    loop->tries = 1;
    expect(loop, op, op->kind == FABRIC_FIELD_FAA ? 0 : op->compare & op->compare_mask);
}

/* INV-VERBS-3 */
bool fabric_verbs_loop_step(struct fabric_verbs_loop *loop, const struct fabric_op *op, uint64_t old)
{
    if (old == loop->expected) return true;
    if (op->kind == FABRIC_MASKED_CAS && ((old ^ op->compare) & op->compare_mask)) return true;
    loop->tries++;
    expect(loop, op, old);
    return false;
}

/* ---- the entry, in units of 16 bytes: control, remote address, operands (one or two), data ---- */

#define OPCODE_MASKED_CAS 0x14
#define OPCODE_MASKED_FAA 0x15
#define OPMOD_EXTENDED_8 0x09 /* 8: extended; 1: operands of 8 bytes (log2 of the bytes, less 2) */
#define CONTROL_SIGNAL 0x08   /* a completion is wanted */

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    uint32_t big = htobe32(value);
    memcpy(at, &big, sizeof big);
    return at + sizeof big;
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    uint64_t big = htobe64(value);
    memcpy(at, &big, sizeof big);
    return at + sizeof big;
}

uint32_t fabric_verbs_wqe_encode(const struct fabric_verbs_wqe *wqe, const struct fabric_op *op,
                                 uint8_t bytes[FABRIC_VERBS_WQE_BYTES])
{
    bool adds = op->kind == FABRIC_FIELD_FAA;
    uint32_t units = adds ? 4 : 5;
    uint8_t *at = bytes;

    memset(bytes, 0, FABRIC_VERBS_WQE_BYTES);
    at = put32(at, (uint32_t)OPMOD_EXTENDED_8 << 24 | (adds ? OPCODE_MASKED_FAA : OPCODE_MASKED_CAS));
    at = put32(at, wqe->qpn << 8 | units);
    at = put32(at, wqe->signal ? CONTROL_SIGNAL : 0); /* signature, stream, and the flags in the last byte */
    at = put32(at, 0);
    at = put64(at, wqe->remote);
    at = put32(at, wqe->rkey);
    at = put32(at, 0);
    if (adds) {
        at = put64(at, op->swap);
        at = put64(at, op->swap_mask); /* a set bit ends a field: its carry is lost */
    } else {
        at = put64(at, op->swap);
        at = put64(at, op->compare);
        at = put64(at, op->swap_mask);
        at = put64(at, op->compare_mask);
    }
    at = put32(at, sizeof(uint64_t));
    at = put32(at, wqe->lkey);
    at = put64(at, wqe->local);
    return (uint32_t)(at - bytes);
}
