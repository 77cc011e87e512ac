/*
 * fabric_verbs_masked.c - masked atomics in two ways.
 *
 * The loop begins with a guess: the bits that the caller compares are what it says, the others zero. That is right
 * for a lock that no client holds, the common case, so one round trip does. A CAS that finds other foreign bits is
 * tried again with these.
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

/* ---- the entry, in units of 16 bytes: control, remote address, operands (one to four), data ---- */

#define OPCODE_MASKED_CAS 0x14
#define OPCODE_MASKED_FAA 0x15
#define OPMOD_EXTENDED_8 0x09 /* 8: extended; 1: operands of 8 bytes (log2 of the bytes, less 2) */
#define OPMOD_EXTENDED_16 0x0a
#define CONTROL_SIGNAL 0x08 /* a completion is wanted */
#define CONTROL_FENCE 0x80  /* after all READs and atomics before it */

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

/* One operand: of a pair the word at the lower address comes first. */
static uint8_t *put_operand(uint8_t *at, const uint64_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) at = put64(at, words[i]);
    return at;
}

static uint8_t *put_operands(uint8_t *at, const struct fabric_op *op, bool adds)
{
    const struct fabric_wide *wide = fabric_is_wide(op) ? op->local : NULL;
    uint32_t count = wide ? 2 : 1;

    at = put_operand(at, wide ? wide->swap : &op->swap, count);
    if (!adds) at = put_operand(at, wide ? wide->compare : &op->compare, count);
    /* Of an addition: a set bit ends a field, and its carry is lost. */
    at = put_operand(at, wide ? wide->swap_mask : &op->swap_mask, count);
    return adds ? at : put_operand(at, wide ? wide->compare_mask : &op->compare_mask, count);
}

uint32_t fabric_verbs_wqe_encode(const struct fabric_verbs_wqe *wqe, const struct fabric_op *op,
                                 uint8_t bytes[FABRIC_VERBS_WQE_BYTES])
{
    bool adds = op->kind == FABRIC_FIELD_FAA || op->kind == FABRIC_WIDE_FAA, wide = fabric_is_wide(op);
    uint32_t operands = (adds ? 1 : 2) * (wide ? 2 : 1), units = 2 + operands + 1;
    uint32_t flags = (wqe->signal ? CONTROL_SIGNAL : 0) | (op->flags & FABRIC_FENCE ? CONTROL_FENCE : 0);
    uint8_t *at = bytes;

    memset(bytes, 0, FABRIC_VERBS_WQE_BYTES);
    at = put32(at, (uint32_t)(wide ? OPMOD_EXTENDED_16 : OPMOD_EXTENDED_8) << 24 |
                       (adds ? OPCODE_MASKED_FAA : OPCODE_MASKED_CAS));
    at = put32(at, wqe->qpn << 8 | units);
    at = put32(at, flags); /* signature, stream, and the flags in the last byte */
    at = put32(at, 0);
    at = put64(at, wqe->remote);
    at = put32(at, wqe->rkey);
    at = put32(at, 0);
    at = put_operands(at, op, adds);
    at = put32(at, op->size_bytes);
    at = put32(at, wqe->lkey);
    at = put64(at, wqe->local);
    return (uint32_t)(at - bytes);
}
