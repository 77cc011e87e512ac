/*
 * fabric_route.h - where operations go while one memory node is away (docs/failover.md).
 *
 * Addresses name a node's *place*, and the i-th replica of (n, offset) is at ((n + i) mod nodes, offset + i * area).
 * The node at place `away` is dead, or a fresh one that is still being filled. Then
 *
 *     its primary bytes are the first backup's      (away, offset)            -> (away + 1, offset + area)
 *     what it backs up is at its primary             (away, offset + i * area) -> (away - i, offset)
 *
 * A WRITE to a dead node goes where the primary is, which gets the same bytes twice and not less; one to a fresh node
 * goes there. READs and atomics never go to either. So code that writes all replicas, and reads the first, need not
 * know which node is away.
 *
 * INV-FAILOVER-1: routing an operation twice is routing it once: operations may be posted again as they are.
 */
#pragma once

#include "fabric.h"

/*
 * Which pieces of a memory node's region were written, by what this process posts: a snapshot copies them again. A mark
 * is the generation in which the last such operation was posted, which may be before it has had its effect.
 */
#define FABRIC_WATCH_BYTES 512 /* what one mark is of */
struct fabric_watch {
    uint8_t *marks; /* one for each piece */
    uint64_t count;
    _Atomic uint8_t generation; /* from 1 on */
};

struct fabric_route {
    struct fabric_watch *watch; /* else NULL; then it routes nothing, and is for pools of one memory node */
    uint32_t mn_count;
    uint32_t away;
    uint64_t area_bytes;
    bool fresh;    /* a new node is there: it is written */
    bool promoted; /* the first backup is the primary now; until then the primary bytes cannot be reached */
};

/* The address that an operation on `addr` of this kind goes to. */
struct fabric_addr fabric_route_addr(const struct fabric_route *route, enum fabric_op_kind kind,
                                     struct fabric_addr addr);
