/*
 * fabric_verbs_post.c - operations become work requests, and completions become results. The hot path.
 *
 * A link keeps its operations in a ring, in post order: [head, sent) are the device's, [sent, tail) wait. One post of
 * the device takes as many as fit (one doorbell), and asks for a completion of the last of them only: it says that
 * all before it are done too. A masked atomic that must be a loop stands alone at `sent`, with everything before it
 * posted and nothing after it, until it is decided (INV-VERBS-2).
 */
#include "fabric_verbs_internal.h"
#include "must.h"

#include <string.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define RECEIVED (1ull << 63) /* in a work request's id: a message; else link | life | place in the ring */
#define TOUCHED_MAX 8
#define SEND_AGAIN_NS 10000000 /* after a connection to a worker was refused */

static struct fabric_verbs *verbs_of(const struct fabric_verbs_ep *vep)
{
    return (struct fabric_verbs *)vep->ep.fabric;
}

/* Whose it is: the linking thread may give it back at any moment. */
static enum fabric_verbs_state given_state(const struct fabric_verbs_link *link)
{
    return (enum fabric_verbs_state)__atomic_load_n(&link->state, __ATOMIC_ACQUIRE);
}

/*
 * INV-VERBS-9. A link that was given back stays broken until what it had before is settled: new operations must not
 * run into that.
 */
static enum fabric_verbs_state state_of(const struct fabric_verbs_link *link)
{
    return link->failure != 0 ? FABRIC_VERBS_BROKEN : given_state(link);
}

static struct fabric_verbs_entry *entry_at(const struct fabric_verbs_link *link, uint32_t at)
{
    return &link->ring[at & (link->ring_size - 1)];
}

static void *slot_at(const struct fabric_verbs_link *link, uint32_t at)
{
    return link->slots + (size_t)(at & (link->ring_size - 1)) * link->slot_bytes;
}

/* ---- completing ---- */

/* Only poll lets a wait's pending drop: until then its owner may rely on it, and it stays where it is. */
static void complete(struct fabric_verbs_ep *vep, const struct fabric_verbs_entry *entry, int status)
{
    struct fabric_wait *wait = entry->wait;

    entry->op->status = status;
    wait->failed += status != 0;
    must(wait->answered < wait->pending);
    if (wait->answered++ > 0 || wait == &vep->bulk) return;
    wait->next = NULL;
    *vep->answered_last = wait;
    vep->answered_last = &wait->next;
}

/* All before `end` were executed. */
static void complete_until(struct fabric_verbs_link *link, uint32_t end)
{
    must(end - link->head <= link->tail - link->head);
    for (; link->head != end; link->head++) {
        const struct fabric_verbs_entry *entry = entry_at(link, link->head);
        if (fabric_is_atomic(entry->op)) memcpy(entry->op->local, slot_at(link, link->head), entry->op->size_bytes);
        complete(link->vep, entry, 0);
    }
}

static void fail_until(struct fabric_verbs_link *link, uint32_t end, int status)
{
    must(end - link->head <= link->tail - link->head);
    for (; link->head != end; link->head++) complete(link->vep, entry_at(link, link->head), status);
}

/* ---- giving the device what waits ---- */

static uint64_t id_of(const struct fabric_verbs_link *link, uint32_t at)
{
    return (uint64_t)link->index << 48 | (uint64_t)link->life << 32 | at;
}

static void atomic_request(struct ibv_send_wr *wr, const struct fabric_verbs_link *link, const struct fabric_op *op)
{
    bool loops = fabric_verbs_loops(op);

    wr->opcode = op->kind == FABRIC_FAA ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
    wr->wr.atomic.remote_addr = link->base + fabric_addr_offset(op->addr);
    wr->wr.atomic.rkey = link->rkey;
    if (op->kind == FABRIC_FAA) {
        wr->wr.atomic.compare_add = op->swap;
    } else {
        wr->wr.atomic.compare_add = loops ? link->loop.expected : op->compare;
        wr->wr.atomic.swap = loops ? link->loop.desired : op->swap;
    }
}

static void message_request(struct ibv_send_wr *wr, struct fabric_verbs_link *link, const struct fabric_op *op,
                            struct fabric_verbs_message_wire *message)
{
    message->slot = link->slot;
    message->from_cn = (uint8_t)link->vep->ep.cn;
    message->from_worker = (uint16_t)link->vep->ep.worker;
    message->size_bytes = (uint8_t)op->size_bytes;
    if (op->size_bytes) memcpy(message->bytes, op->local, op->size_bytes);
    wr->sg_list->length = (uint32_t)offsetof(struct fabric_verbs_message_wire, bytes) + op->size_bytes;
    wr->opcode = IBV_WR_SEND;
    link->told++;
}

/* The work request of the operation at that place of the ring. */
static void request(struct fabric_verbs_link *link, uint32_t at, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
    const struct fabric_op *op = entry_at(link, at)->op;

    *sge = (struct ibv_sge){.addr = (uintptr_t)slot_at(link, at), .length = 8, .lkey = link->slots_mr->lkey};
    memset(wr, 0, sizeof *wr);
    wr->wr_id = id_of(link, at);
    wr->sg_list = sge;
    wr->num_sge = 1;
    if (op->flags & FABRIC_FENCE) wr->send_flags = IBV_SEND_FENCE;
    if (op->kind == FABRIC_SEND) {
        message_request(wr, link, op, slot_at(link, at));
    } else if (fabric_is_atomic(op)) {
        atomic_request(wr, link, op);
    } else {
        wr->opcode = op->kind == FABRIC_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
        wr->wr.rdma.remote_addr = link->base + fabric_addr_offset(op->addr);
        wr->wr.rdma.rkey = link->rkey;
        *sge = (struct ibv_sge){.addr = (uintptr_t)op->local, .length = op->size_bytes, .lkey = op->priv};
    }
    bool carries = wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_SEND;
    if (carries && sge->length <= link->max_inline) wr->send_flags |= IBV_SEND_INLINE;
}

/* No room for another message, as far as is known: the receiver's counter is read. */
static void room_request(struct fabric_verbs_link *link, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
    *sge = (struct ibv_sge){.addr = (uintptr_t)slot_at(link, link->sent), .length = 8, .lkey = link->slots_mr->lkey};
    memset(wr, 0, sizeof *wr);
    wr->wr_id = id_of(link, link->sent);
    wr->sg_list = sge;
    wr->num_sge = 1;
    wr->opcode = IBV_WR_RDMA_READ;
    wr->wr.rdma.remote_addr = link->base;
    wr->wr.rdma.rkey = link->rkey;
    link->looping = link->asked = true;
}

static void lose(struct fabric_verbs_link *link, int failure)
{
    link->failure = failure;
    link->broke_tail = link->tail;
    if (link->vep->posting) link->cut = link->vep->batch;
    fabric_verbs_link_break(link);
}

static void post_native(struct fabric_verbs_link *link)
{
    const struct fabric_op *op = entry_at(link, link->sent)->op;
    int code =
        fabric_verbs_native_post(link->cm.qp, id_of(link, link->sent), op, link->base + fabric_addr_offset(op->addr),
                                 link->rkey, slot_at(link, link->sent), link->slots_mr->lkey);
    link->sent++;
    if (code != 0) lose(link, CELLAR_INDETERMINATE);
}

/* Fills one chain; returns its length. Ends after an operation that holds up the others. */
static uint32_t fill_chain(struct fabric_verbs_link *link)
{
    struct fabric_verbs_ep *vep = link->vep;
    uint32_t count = 0;

    while (link->sent != link->tail && link->sent - link->head < FABRIC_VERBS_DEPTH && count < FABRIC_VERBS_CHAIN &&
           !link->looping) {
        const struct fabric_op *op = entry_at(link, link->sent)->op;
        if (op->kind == FABRIC_SEND && link->told - link->consumed >= FABRIC_VERBS_WINDOW) {
            room_request(link, &vep->wrs[count], &vep->sges[count]);
            count++;
            break;
        }
        if (fabric_verbs_loops(op) || fabric_is_wide(op)) {
            if (link->native) break;
            fabric_verbs_loop_begin(&link->loop, op);
            link->looping = true;
        }
        request(link, link->sent, &vep->wrs[count], &vep->sges[count]);
        count++;
        if (!link->looping) link->sent++;
    }
    return count;
}

static void post_chain(struct fabric_verbs_link *link, uint32_t count)
{
    struct fabric_verbs_ep *vep = link->vep;
    struct ibv_send_wr *bad;

    for (uint32_t i = 0; i + 1 < count; i++) vep->wrs[i].next = &vep->wrs[i + 1];
    vep->wrs[count - 1].next = NULL;
    vep->wrs[count - 1].send_flags |= IBV_SEND_SIGNALED;
    if (ibv_post_send(link->cm.qp, vep->wrs, &bad) != 0) lose(link, CELLAR_INDETERMINATE);
}

static void pump(struct fabric_verbs_link *link)
{
    while (state_of(link) == FABRIC_VERBS_READY && !link->looping) {
        uint32_t count = fill_chain(link);
        if (count > 0) {
            post_chain(link, count);
        } else if (link->native && link->sent != link->tail && link->sent - link->head < FABRIC_VERBS_DEPTH) {
            post_native(link);
        } else {
            return;
        }
    }
}

/* ---- completions ---- */

/* What held up the others has an answer. */
static void decide(struct fabric_verbs_link *link)
{
    const struct fabric_verbs_entry *entry = entry_at(link, link->sent);
    uint64_t word;

    memcpy(&word, slot_at(link, link->sent), sizeof word);
    link->looping = false;
    if (link->asked) {
        link->asked = false;
        link->consumed = word;
        if (link->told - word < FABRIC_VERBS_WINDOW) return;
        complete(link->vep, entry, CELLAR_FULL);
    } else if (fabric_verbs_loop_step(&link->loop, entry->op, word)) {
        memcpy(entry->op->local, &word, sizeof word);
        complete(link->vep, entry, 0);
    } else if (link->loop.tries > FABRIC_VERBS_TRIES_MAX) {
        lose(link, CELLAR_UNREACHABLE);
        return;
    } else {
        link->looping = true;
        request(link, link->sent, &link->vep->wrs[0], &link->vep->sges[0]);
        post_chain(link, 1);
        return;
    }
    link->head = ++link->sent;
}

/* Of the operation that failed and, since the queue pair stands still from then on, of those after it. */
static int failure_of(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
        return CELLAR_INVALID;
    case IBV_WC_REM_ACCESS_ERR: /* the other side refused: it was not executed */
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return CELLAR_UNREACHABLE;
    default:
        return CELLAR_INDETERMINATE;
    }
}

static void take_completion(struct fabric_verbs_ep *vep, const struct ibv_wc *wc)
{
    if (wc->wr_id & RECEIVED) {
        if (wc->status == IBV_WC_SUCCESS) fabric_verbs_inbox_take(vep, (uint32_t)wc->wr_id);
        return;
    }
    uint32_t index = (uint32_t)(wc->wr_id >> 48), at = (uint32_t)wc->wr_id;
    must(index < vep->link_count);
    struct fabric_verbs_link *link = vep->links[index];
    if (state_of(link) != FABRIC_VERBS_READY || link->life != (uint16_t)(wc->wr_id >> 32))
        return; /* of an earlier life */
    bool held = link->looping && at == link->sent, good = wc->status == IBV_WC_SUCCESS;
    complete_until(link, good && !held ? at + 1 : at);
    if (!good)
        lose(link, failure_of(wc->status));
    else if (held)
        decide(link);
    pump(link);
}

/* INV-VERBS-4. A link was given back: its queue pair of then is gone, so what was in flight is done with. */
static void settle(struct fabric_verbs_link *link)
{
    enum fabric_verbs_state state = given_state(link);
    bool fenced = state == FABRIC_VERBS_FENCED, first = link->failure == CELLAR_INVALID;
    uint32_t head = link->head;

    if (state == FABRIC_VERBS_BROKEN || link->failure == 0) return;
    uint32_t in_flight = link->sent + (link->looping && !link->asked);
    link->looping = link->asked = false;
    if (first && !fenced && link->head != in_flight) fail_until(link, link->head + 1, CELLAR_INVALID);
    int failure = fenced ? CELLAR_FENCED : first ? CELLAR_UNREACHABLE : link->failure;
    if (link->head != in_flight) fail_until(link, in_flight, failure);
    /* Never given to the device: of the batches that were under way nothing more runs. */
    uint32_t end = state == FABRIC_VERBS_READY ? link->broke_tail : link->tail;
    fail_until(link, end, fenced ? CELLAR_FENCED : CELLAR_UNREACHABLE);
    if (state != FABRIC_VERBS_READY && link->head != head && link->vep->posting) link->cut = link->vep->batch;
    link->sent = link->head;
    link->failure = 0;
    if (state == FABRIC_VERBS_DEAD && link->messages) {
        link->again_ns = fabric_verbs_now_ns() + SEND_AGAIN_NS;
        __atomic_store_n(&link->state, FABRIC_VERBS_IDLE, __ATOMIC_RELEASE);
    }
    pump(link);
}

static void settle_all(struct fabric_verbs_ep *vep)
{
    uint32_t resolved = __atomic_load_n(&vep->resolved, __ATOMIC_ACQUIRE);
    if (LIKELY(resolved == vep->resolved_seen)) return;
    vep->resolved_seen = resolved;
    for (uint32_t i = 0; i < vep->link_count; i++) {
        struct fabric_verbs_link *link = vep->links[i];
        settle(link);
        if (state_of(link) == FABRIC_VERBS_READY && __atomic_load_n(&link->hung_up, __ATOMIC_ACQUIRE))
            lose(link, CELLAR_INDETERMINATE);
    }
}

void fabric_verbs_reap(struct fabric_verbs_ep *vep)
{
    struct ibv_wc wcs[16];
    int count;

    settle_all(vep);
    do {
        count = ibv_poll_cq(vep->cq, 16, wcs);
        must(count >= 0);
        for (int i = 0; i < count; i++) take_completion(vep, &wcs[i]);
    } while (count == 16);
}

struct fabric_wait *fabric_verbs_poll(struct fabric_ep *ep)
{
    struct fabric_verbs_ep *vep = (struct fabric_verbs_ep *)ep;

    fabric_verbs_reap(vep);
    fabric_verbs_inbox_move(vep);
    struct fabric_wait *done = NULL, **last = &done, *wait = vep->answered, *next;
    vep->answered = NULL;
    vep->answered_last = &vep->answered;
    for (; wait; wait = next) {
        next = wait->next;
        wait->pending -= wait->answered;
        wait->answered = 0;
        if (wait->pending > 0) continue;
        wait->next = NULL;
        *last = wait;
        last = &wait->next;
    }
    return done;
}

/* ---- posting ---- */

/* INV-VERBS-5. Nothing is asked of a remote key that is not within what it stands for. */
static int check(struct fabric_verbs_ep *vep, struct fabric_op *op)
{
    struct fabric_verbs *verbs = verbs_of(vep);
    uint64_t offset = fabric_addr_offset(op->addr), bytes = verbs->fabric.mn_bytes;
    uint32_t node = fabric_addr_node(op->addr);

    if (op->kind == FABRIC_SEND)
        return node < verbs->fabric.cn_count && offset < FABRIC_VERBS_WORKERS_MAX &&
                       op->size_bytes <= FABRIC_MESSAGE_BYTES
                   ? 0
                   : CELLAR_INVALID;
    if (op->kind >= FABRIC_KINDS || node >= verbs->fabric.mn_count || op->phase >= CELLAR_PHASES) return CELLAR_INVALID;
    if (op->size_bytes == 0 || op->size_bytes > bytes || offset > bytes - op->size_bytes) return CELLAR_INVALID;
    if (fabric_is_wide(op) && (offset % 16 || op->size_bytes != 16)) return CELLAR_INVALID;
    if (fabric_is_wide(op)) return verbs->fabric.wide_atomics ? 0 : CELLAR_UNSUPPORTED;
    if (fabric_is_atomic(op)) return offset % 8 || op->size_bytes != 8 ? CELLAR_INVALID : 0;
    return fabric_verbs_local_key(&verbs->local, &vep->pieces, op->local, op->size_bytes, &op->priv) ? 0
                                                                                                     : CELLAR_INVALID;
}

static struct fabric_verbs_link *message_link(struct fabric_verbs_ep *vep, const struct fabric_op *op)
{
    uint32_t cn = fabric_addr_node(op->addr);
    uint64_t worker = fabric_addr_offset(op->addr);
    struct fabric_verbs_link *link;

    for (uint32_t i = verbs_of(vep)->fabric.mn_count; i < vep->link_count; i++)
        if (vep->links[i]->node == cn && vep->links[i]->worker == worker) return vep->links[i];
    return fabric_verbs_link_new(vep, cn, (uint16_t)worker, true, &link, NULL) == 0 ? link : NULL;
}

/*
 * May an operation go into the ring? 0, or what becomes of it at once. A link that cannot be used is mended if there
 * is a way. Rule 5: when what a batch had in the ring has failed, the rest of it does not run either.
 */
static int usable(struct fabric_verbs_link *link)
{
    struct fabric_verbs *verbs = verbs_of(link->vep);
    struct fabric_verbs_node *node = link->messages ? NULL : &verbs->nodes[link->node];

    if (fabric_verbs_is_fenced(verbs, link->vep->ep.cn)) return CELLAR_FENCED;
    if (node && fabric_verbs_presence(node) != FABRIC_VERBS_THERE) {
        fabric_verbs_node_recall(verbs, node);
        return CELLAR_UNREACHABLE;
    }
    enum fabric_verbs_state state = state_of(link);
    if (state == FABRIC_VERBS_BROKEN) return 0;
    if (link->cut == link->vep->batch) return CELLAR_UNREACHABLE;
    if (state == FABRIC_VERBS_FENCED) return CELLAR_FENCED;
    if (state == FABRIC_VERBS_IDLE && fabric_verbs_now_ns() < link->again_ns) return CELLAR_UNREACHABLE;
    bool hung_up = state == FABRIC_VERBS_READY && __atomic_load_n(&link->hung_up, __ATOMIC_ACQUIRE);
    if (state == FABRIC_VERBS_READY && !hung_up) return 0;
    lose(link, CELLAR_INDETERMINATE);
    if (!hung_up) link->cut = 0; /* nothing is in flight: a connection is asked for, and the batch waits for it */
    return 0;
}

static struct fabric_verbs_link *link_for(struct fabric_verbs_ep *vep, const struct fabric_op *op)
{
    return op->kind == FABRIC_SEND ? message_link(vep, op) : vep->links[fabric_addr_node(op->addr)];
}

static void make_room(struct fabric_verbs_link *link)
{
    settle(link);
    while (link->tail - link->head == link->ring_size) {
        pump(link);
        fabric_verbs_reap(link->vep);
    }
}

static struct fabric_verbs_link *enqueue(struct fabric_verbs_ep *vep, struct fabric_op *op, struct fabric_wait *wait)
{
    struct fabric_verbs_link *link = NULL;
    int code = check(vep, op);

    fabric_count(&vep->ep, op);
    if (code == 0 && !(link = link_for(vep, op))) code = CELLAR_UNREACHABLE;
    if (code == 0) make_room(link);
    if (code == 0) code = usable(link);
    if (code != 0) {
        op->status = code;
        wait->failed++;
        return NULL;
    }
    wait->pending++;
    *entry_at(link, link->tail++) = (struct fabric_verbs_entry){op, wait};
    if (link->cut == vep->batch) link->broke_tail = link->tail;
    return link;
}

static void post_all(struct fabric_verbs_ep *vep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    struct fabric_verbs_link *touched[TOUCHED_MAX];
    uint32_t touched_count = 0;

    vep->posting = true;
    vep->batch++;
    for (uint32_t i = 0; i < count; i++) {
        struct fabric_verbs_link *link = enqueue(vep, &ops[i], wait);
        bool known = !link;
        for (uint32_t k = 0; k < touched_count && k < TOUCHED_MAX && !known; k++) known = touched[k] == link;
        if (known) continue;
        if (touched_count < TOUCHED_MAX) touched[touched_count] = link;
        touched_count++;
    }
    if (touched_count <= TOUCHED_MAX)
        for (uint32_t k = 0; k < touched_count; k++) pump(touched[k]);
    else
        for (uint32_t i = 0; i < vep->link_count; i++) pump(vep->links[i]);
    vep->posting = false;
}

void fabric_verbs_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    struct fabric_verbs_ep *vep = (struct fabric_verbs_ep *)ep;

    if (LIKELY(!ep->bulk)) {
        post_all(vep, ops, count, wait);
        return;
    }
    post_all(vep, ops, count, &vep->bulk);
    while (vep->bulk.pending > vep->bulk.answered) fabric_verbs_reap(vep);
    wait->failed += vep->bulk.failed;
    vep->bulk = (struct fabric_wait){0};
}
