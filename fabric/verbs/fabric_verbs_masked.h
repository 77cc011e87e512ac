/*
 * fabric_verbs_masked.h - masked CAS and field FAA on devices of both kinds: as a loop of plain CASes, and as the
 * work-queue entry of devices that have masked atomics (docs/verbs.md); on 16 bytes as the latter only. Pure: no
 * verbs, tested against an oracle without a device.
 */
#pragma once

#include "fabric.h"

/* ---- by plain CAS ---- */

#define FABRIC_VERBS_TRIES_MAX 65536 /* each lost try is another operation's success */

struct fabric_verbs_loop {
    uint64_t expected, desired; /* of the CAS to post next */
    uint32_t tries;
};

/* Does this operation need the loop where the device has plain atomics only? */
static inline bool fabric_verbs_loops(const struct fabric_op *op)
{
    return op->kind == FABRIC_MASKED_CAS || op->kind == FABRIC_FIELD_FAA;
}
void fabric_verbs_loop_begin(struct fabric_verbs_loop *loop, const struct fabric_op *op);
/*
 * After a CAS that found `old`: true when the operation is done, and old is what it returns; else another try is to
 * be posted.
 */
bool fabric_verbs_loop_step(struct fabric_verbs_loop *loop, const struct fabric_op *op, uint64_t old);

/* ---- natively (mlx5) ---- */

#define FABRIC_VERBS_WQE_BYTES 112 /* at most */

struct fabric_verbs_wqe {
    uint32_t qpn, rkey, lkey;
    uint64_t remote, local; /* addresses: of the word or pair; of the 8 or 16 bytes that receive what it was */
    bool signal;
};

/* The entry of a masked CAS (80 bytes), field FAA (64), or of these on 16 bytes (112 and 80): returns its length. */
uint32_t fabric_verbs_wqe_encode(const struct fabric_verbs_wqe *wqe, const struct fabric_op *op,
                                 uint8_t bytes[FABRIC_VERBS_WQE_BYTES]);
