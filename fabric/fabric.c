/* fabric.c - the calls that all backends share: counting, waiting, the inbox, and the control calls by name. */
#include "counter.h"
#include "fabric.h"
#include "must.h"

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

/* The compute node stands where an operation has its memory node, the worker where it has its offset. */
struct fabric_addr fabric_endpoint_addr(uint32_t cn, uint32_t worker) { return fabric_addr_of(cn, worker); }

/* A SEND names no memory node: it is counted under node 0. What has no counter (and will fail as INVALID) is not counted. */
static inline void count_op(struct fabric_counters *counters, const struct fabric_op *op)
{
    uint64_t node = fabric_addr_node(op->addr);

    if (op->phase >= CELLAR_PHASES) return;
    if (__builtin_expect(op->kind >= FABRIC_SEND, 0)) {
        if (op->kind == FABRIC_SEND) counters->ops[0][op->phase][FABRIC_SEND]++;
    } else if (node < FABRIC_NODES_MAX) {
        counters->ops[node][op->phase][op->kind]++;
    }
}

void fabric_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    if (count == 0) return;
    ep->counters.batches++;
    for (uint32_t i = 0; i < count; i++) count_op(&ep->counters, &ops[i]);
    ep->ops->post(ep, ops, count, wait);
}

uint32_t fabric_await(struct coro *co, struct fabric_wait *wait)
{
    if (wait->pending > 0) {
        must(wait->co == co);
        do coro_yield(co);
        while (wait->pending > 0);
    }
    uint32_t failed = wait->failed;
    wait->failed = 0;
    return failed;
}

/* inbox_head and inbox_tail run freely: messages [head, tail) are waiting, message i lies in slot i mod FABRIC_INBOX_MESSAGES. */
bool fabric_recv(struct fabric_ep *ep, struct fabric_message *message)
{
    if (ep->inbox_head == ep->inbox_tail) return false;
    *message = ep->inbox[ep->inbox_head % FABRIC_INBOX_MESSAGES];
    ep->inbox_head++;
    return true;
}
