/*
 * batch.h - one batch, posted and awaited: for the code of this room that does one thing at a time.
 */
#pragma once

#include "fabric.h"
#include "must.h"

/* 0, or the status of the first operation that failed. */
static inline int batch_run(struct coro *co, struct fabric_ep *ep, struct fabric_op *ops, uint32_t count)
{
    struct fabric_wait wait = {.co = co};
    fabric_post(ep, ops, count, &wait);
    if (__builtin_expect(fabric_await(co, &wait) == 0, 1)) return 0;
    uint32_t i = 0;
    while (i < count && ops[i].status == 0) i++;
    must(i < count);
    return ops[i].status;
}
static inline int batch_read(struct coro *co, struct fabric_ep *ep, struct fabric_addr addr, void *local,
                             uint32_t size_bytes)
{
    struct fabric_op op = fabric_op_read(addr, local, size_bytes);
    return batch_run(co, ep, &op, 1);
}
static inline int batch_faa(struct coro *co, struct fabric_ep *ep, struct fabric_addr addr, uint64_t addend,
                            uint64_t *old)
{
    struct fabric_op op = fabric_op_faa(addr, old, addend);
    return batch_run(co, ep, &op, 1);
}
static inline int batch_cas(struct coro *co, struct fabric_ep *ep, struct fabric_addr addr, uint64_t compare,
                            uint64_t swap, uint64_t *old)
{
    struct fabric_op op = fabric_op_cas(addr, old, compare, swap);
    return batch_run(co, ep, &op, 1);
}

/* Switches the endpoint to bulk mode; returns what batch_bulk_leave restores. */
static inline bool batch_bulk_enter(struct fabric_ep *ep)
{
    bool before = ep->bulk;
    ep->bulk = true;
    return before;
}
static inline void batch_bulk_leave(struct fabric_ep *ep, bool before) { ep->bulk = before; }
