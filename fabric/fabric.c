/* fabric.c - the calls that all backends share: waiting, the inbox, and the control calls by name. */
#include "fabric.h"

#include "fabric_plants.h"
#include "must.h"

#define LOCK_TRIES 64 /* held for some ten instructions: longer only by a thread that does not run */

int fabric_endpoint_open(struct fabric *fabric, uint32_t cn, uint32_t worker, struct fabric_ep **out,
                         struct cellar_error *error)
{
    struct fabric_control control = {.kind = FABRIC_ENDPOINT_OPEN, .cn = cn, .worker = worker};
    int code = fabric->ops->control(fabric, &control, error);

    *out = code == 0 ? control.ep : NULL;
    return code;
}

void fabric_endpoint_close(struct fabric_ep *ep)
{
    if (!ep) return;
    struct fabric_control control = {.kind = FABRIC_ENDPOINT_CLOSE, .ep = ep};
    int code = ep->fabric->ops->control(ep->fabric, &control, NULL);
    must(code == 0);
}

int fabric_register_local(struct fabric *fabric, void *base, uint64_t bytes)
{
    struct fabric_control control = {.kind = FABRIC_REGISTER_LOCAL, .base = base, .bytes = bytes};
    return fabric->ops->control(fabric, &control, NULL);
}

bool fabric_fence_concerns(uint64_t fence, uint64_t life)
{
    return fence == 0 || (life && life <= fence) || PLANT(fence_any_life);
}

void fabric_forget_local(struct fabric *fabric, void *base, uint64_t bytes)
{
    struct fabric_control control = {.kind = FABRIC_FORGET_LOCAL, .base = base, .bytes = bytes};
    (void)!fabric->ops->control(fabric, &control,
                                NULL); /* without memory it stays registered, and what is registered anew counts */
}

/* The compute node stands where an operation has its memory node, the worker where it has its offset. */
struct fabric_addr fabric_endpoint_addr(uint32_t cn, uint32_t worker) { return fabric_addr_of(cn, worker); }

void fabric_suspend(struct coro *co, struct fabric_wait *wait)
{
    must(wait->co == co);
    do coro_yield(co);
    while (wait->pending > 0);
}

/*
 * inbox_head and inbox_tail run freely: messages [head, tail) are waiting, message i lies in slot i mod
 * FABRIC_INBOX_MESSAGES.
 */
bool fabric_recv(struct fabric_ep *ep, struct fabric_message *message)
{
    if (ep->inbox_head == ep->inbox_tail) return false;
    *message = ep->inbox[ep->inbox_head % FABRIC_INBOX_MESSAGES];
    ep->inbox_head++;
    return true;
}

/* ---- the helm ---- */

/*
 * INV-FABRIC-10. A helm that the worker's thread waits for is handed to it: else threads that borrow it in turn could
 * keep it away for good. And whatever came for the worker while its helm was borrowed is seen by the thread that
 * gives it back, or wakes the worker's thread: a wake counts `rung` and then looks at the helm, the borrower gives
 * the helm back and then looks at `rung`.
 */
void fabric_helm_take(struct fabric_ep *ep)
{
    for (;;) {
        uint32_t helm = FABRIC_HELM_FREE;
        if (__atomic_compare_exchange_n(&ep->helm, &helm, FABRIC_HELM_WORKER, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return;
        must(helm == FABRIC_HELM_BORROWED);
        if (__atomic_compare_exchange_n(&ep->helm, &helm, FABRIC_HELM_BORROWED | FABRIC_WAITED, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            break;
    }
    int rc = ep->fabric->ops->wait(ep->fabric, &ep->helm, UINT64_MAX); /* until it is FABRIC_HELM_WORKER */
    must(rc == 0);
}

void fabric_helm_return(struct fabric_ep *ep, bool more, uint32_t seen)
{
    struct fabric *fabric = ep->fabric;
    uint32_t helm = FABRIC_HELM_BORROWED;
    if (!__atomic_compare_exchange_n(&ep->helm, &helm, FABRIC_HELM_FREE, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&ep->helm, FABRIC_HELM_WORKER, __ATOMIC_SEQ_CST);
        fabric->ops->wake(fabric, NULL, &ep->helm);
        return;
    }
    bool rung = __atomic_load_n(&ep->rung, __ATOMIC_SEQ_CST) != seen;
    if (more || rung) fabric->ops->wake(fabric, ep, NULL);
}

/* ---- locks ---- */

void fabric_lock(struct fabric *fabric, uint32_t *lock)
{
    for (uint32_t tries = 0;; tries++) {
        uint32_t free = 0;
        if (__atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return;
        if (tries < LOCK_TRIES) continue;
        int rc = fabric->ops->wait(fabric, lock, UINT64_MAX);
        must(rc == 0);
    }
}
