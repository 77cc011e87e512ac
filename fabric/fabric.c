/* fabric.c - the calls that all backends share: waiting, the inbox, and the control calls by name. */
#include "fabric.h"
#include "must.h"
#include "plant.h"

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

/* inbox_head and inbox_tail run freely: messages [head, tail) are waiting, message i lies in slot i mod FABRIC_INBOX_MESSAGES. */
bool fabric_recv(struct fabric_ep *ep, struct fabric_message *message)
{
    if (ep->inbox_head == ep->inbox_tail) return false;
    *message = ep->inbox[ep->inbox_head % FABRIC_INBOX_MESSAGES];
    ep->inbox_head++;
    return true;
}
