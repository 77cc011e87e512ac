/*
 * fabric_verbs_link.c - connections of a compute-node process: to its memory nodes, and from worker to worker.
 *
 * Making one takes milliseconds and several steps, so a thread of its own does it, one after the other. A link is
 * either its worker's or, while BROKEN, that thread's: its state says whose (INV-VERBS-4). The worker goes on with
 * its other links meanwhile.
 */
#include "fabric_verbs_internal.h"
#include "must.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_TRIES 2
#define RECALL_NS 3000000000ull /* between two tries to find a memory node that is away */
#define MESSAGE_RING 512
#define QUEUE (FABRIC_VERBS_DEPTH + FABRIC_VERBS_CHAIN)

static struct fabric_verbs *verbs_of(const struct fabric_verbs_link *link)
{
    return (struct fabric_verbs *)link->vep->ep.fabric;
}

/* ---- fenced compute nodes ---- */

bool fabric_verbs_is_fenced(const struct fabric_verbs *verbs, uint32_t cn)
{
    return __atomic_load_n(&verbs->fenced[cn / 32], __ATOMIC_ACQUIRE) >> cn % 32 & 1;
}

void fabric_verbs_set_fenced(struct fabric_verbs *verbs, uint32_t cn)
{
    __atomic_fetch_or(&verbs->fenced[cn / 32], 1u << cn % 32, __ATOMIC_ACQ_REL);
}

/* ---- queue pairs ---- */

/* Devices differ in what they take inline: the most of a few sizes. */
static struct ibv_qp *plain_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    static const uint32_t sizes[] = {128, sizeof(struct fabric_verbs_message_wire), 32, 0};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ibv_qp_init_attr try = *attr;
        try.cap.max_inline_data = sizes[i];
        struct ibv_qp *qp = ibv_create_qp(pd, &try);
        if (qp) {
            *attr = try;
            return qp;
        }
    }
    return NULL;
}

static struct ibv_qp *make_link_qp(void *arg, struct ibv_context *device)
{
    struct fabric_verbs_link *link = arg;
    struct fabric_verbs *verbs = verbs_of(link);
    struct ibv_qp_init_attr attr = {
        .send_cq = link->vep->cq,
        .recv_cq = link->vep->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = QUEUE, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

    if (device != verbs->device) {
        errno = EXDEV; /* all connections of a process are those of one device */
        return NULL;
    }
    struct ibv_qp *qp = link->native ? fabric_verbs_native_qp(device, &attr, verbs->pd) : plain_qp(verbs->pd, &attr);
    if (qp) link->max_inline = attr.cap.max_inline_data;
    return qp;
}

/* The first connection says which device this process uses. */
static int take_device(struct fabric_verbs *verbs, struct ibv_context *device)
{
    if (ibv_query_device(device, &verbs->attr) != 0) return -1;
    verbs->device = device;
    verbs->pd = ibv_alloc_pd(device);
    verbs->attach_cq = ibv_create_cq(device, 4 * FABRIC_NODES_MAX, NULL, NULL, 0);
    verbs->scratch = aligned_alloc(4096, 4096);
    if (!verbs->pd || !verbs->attach_cq || !verbs->scratch) return -1;
    verbs->scratch_mr = ibv_reg_mr(verbs->pd, verbs->scratch, 4096, IBV_ACCESS_LOCAL_WRITE);
    return verbs->scratch_mr ? 0 : -1;
}

static struct ibv_qp *make_attach_qp(void *arg, struct ibv_context *device)
{
    struct fabric_verbs *verbs = arg;
    if (!verbs->device && take_device(verbs, device) != 0) return NULL;
    if (device != verbs->device) {
        errno = EXDEV;
        return NULL;
    }
    struct ibv_qp_init_attr attr = {.send_cq = verbs->attach_cq,
                                    .recv_cq = verbs->attach_cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    return ibv_create_qp(verbs->pd, &attr);
}

/* ---- asking ---- */

static struct fabric_verbs_request_wire request_of(const struct fabric_verbs *verbs, enum fabric_verbs_kind kind)
{
    return (struct fabric_verbs_request_wire){.kind = (uint8_t)kind,
                                              .cn = (uint8_t)verbs->cn_first,
                                              .fingerprint = verbs->fingerprint,
                                              .incarnation = verbs->incarnation};
}

int fabric_verbs_attach(struct fabric_verbs *verbs, struct fabric_verbs_node *node,
                        struct fabric_verbs_reply_wire *reply, struct cellar_error *error)
{
    struct fabric_verbs_request_wire request = request_of(verbs, FABRIC_VERBS_ATTACH);
    struct fabric_verbs_target target = node->target;
    struct fabric_verbs_cm cm;

    target.given_up = &verbs->ending;
    request.other = (uint8_t)verbs->cns;
    request.port = verbs->port;
    int code = fabric_verbs_ask(&target, &verbs->secret, &request, make_attach_qp, verbs, &cm, reply, error);
    if (code != 0) return code;
    __atomic_store_n(&node->suspect, 0, __ATOMIC_RELEASE);
    if (fabric_verbs_cm_move(&cm, verbs->events, &node->suspect) != 0) {
        fabric_verbs_cm_drop(&cm);
        return err_set(error, CELLAR_SYSTEM, "the connection manager moves no events: %s", strerror(errno));
    }
    pthread_mutex_lock(&verbs->directory_lock);
    struct fabric_verbs_cm old = node->attach;
    node->attach = cm;
    node->instance = reply->instance;
    node->directory = reply->directory;
    node->directory_rkey = reply->directory_rkey;
    node->flags = reply->flags;
    pthread_mutex_unlock(&verbs->directory_lock);
    fabric_verbs_cm_drop(&old);
    return 0;
}

/* Of FENCE and LIFE, which are answered by a rejection. */
static int ask_apart(struct fabric_verbs *verbs, const struct fabric_verbs_node *node,
                     struct fabric_verbs_request_wire request, struct cellar_error *error)
{
    struct fabric_verbs_target target = node->target;
    int code = CELLAR_UNREACHABLE;

    target.given_up = &verbs->ending;
    for (int i = 0; i < NODE_TRIES && code == CELLAR_UNREACHABLE; i++) {
        struct fabric_verbs_reply_wire reply;
        struct fabric_verbs_cm cm;
        code = fabric_verbs_ask(&target, &verbs->secret, &request, NULL, NULL, &cm, &reply, error);
    }
    return code;
}

static int ask_fence(struct fabric_verbs *verbs, const struct fabric_verbs_node *node, uint32_t cn, uint64_t life,
                     bool only_dead, struct cellar_error *error)
{
    struct fabric_verbs_request_wire request = request_of(verbs, FABRIC_VERBS_FENCE);

    request.other = (uint8_t)cn;
    request.flags = only_dead ? FABRIC_VERBS_ONLY_DEAD : 0;
    fabric_verbs_life_set(&request, life);
    return ask_apart(verbs, node, request, error);
}

int fabric_verbs_life_tell(struct fabric_verbs *verbs, const struct fabric_verbs_node *node, struct cellar_error *error)
{
    struct fabric_verbs_request_wire request = request_of(verbs, FABRIC_VERBS_LIFE);
    uint64_t life = __atomic_load_n(&verbs->life, __ATOMIC_ACQUIRE);

    if (life == 0) return 0;
    request.other = (uint8_t)verbs->cns;
    fabric_verbs_life_set(&request, life);
    return ask_apart(verbs, node, request, error);
}

/* One that is away is told when it is back (come_back), before this process uses it. */
int fabric_verbs_life_begin(struct fabric_verbs *verbs, uint64_t life, struct cellar_error *error)
{
    __atomic_store_n(&verbs->life, life, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < verbs->fabric.mn_count; i++) {
        int code = fabric_verbs_presence(&verbs->nodes[i]) == FABRIC_VERBS_THERE
                       ? fabric_verbs_life_tell(verbs, &verbs->nodes[i], error)
                       : 0;
        if (code == CELLAR_UNREACHABLE) fabric_verbs_node_stop(verbs, i, FABRIC_VERBS_AWAY);
        if (code != 0 && code != CELLAR_UNREACHABLE) return code;
    }
    return 0;
}

/* Of two lives the later one: a fence concerns all before it, too. 0: whichever it is then. */
static uint64_t later(uint64_t life, uint64_t other) { return life && other ? life > other ? life : other : 0; }

/* INV-VERBS-8. It could not be asked: this process does not use it before it was. */
static void fence_later(struct fabric_verbs *verbs, uint32_t index, uint32_t cn, uint64_t life)
{
    struct fabric_verbs_node *node = &verbs->nodes[index];

    pthread_mutex_lock(&verbs->lock);
    bool more = node->unfenced[cn / 32] >> cn % 32 & 1;
    node->unfenced_life[cn] = more ? later(node->unfenced_life[cn], life) : life;
    node->unfenced[cn / 32] |= 1u << cn % 32;
    pthread_mutex_unlock(&verbs->lock);
    fabric_verbs_node_stop(verbs, index, FABRIC_VERBS_AWAY);
}

/* Every memory node is asked: each has queue pairs of its own to destroy. */
int fabric_verbs_fence(struct fabric_verbs *verbs, const struct fabric_control *control, struct cellar_error *error)
{
    uint32_t cn = control->cn;
    bool missed[FABRIC_NODES_MAX] = {false};
    uint32_t fenced = 0;

    for (uint32_t i = 0; i < verbs->fabric.mn_count; i++) {
        const struct fabric_verbs_node *node = &verbs->nodes[i];
        enum fabric_verbs_presence presence = fabric_verbs_presence(node);
        if (presence == FABRIC_VERBS_GONE) continue;
        int code = CELLAR_UNREACHABLE;
        if (presence == FABRIC_VERBS_THERE) code = ask_fence(verbs, node, cn, control->life, control->only_dead, error);
        missed[i] = code == CELLAR_UNREACHABLE; /* it serves no longer, or this process is cut off */
        if (code != 0 && !missed[i]) return code;
        fenced += code == 0;
    }
    if (fenced == 0) return err_set(error, CELLAR_UNREACHABLE, "no memory node answers to fence compute node %u", cn);
    for (uint32_t i = 0; i < verbs->fabric.mn_count; i++)
        if (missed[i]) fence_later(verbs, i, cn, control->life);
    bool own = cn - verbs->cn_first < verbs->cns;
    if (own && fabric_fence_concerns(control->life, __atomic_load_n(&verbs->life, __ATOMIC_ACQUIRE)))
        fabric_verbs_set_fenced(verbs, cn);
    return 0;
}

/* One READ over an attach connection, by the holder of directory_lock; in the scratch page. */
static int read_directory(struct fabric_verbs *verbs, const struct fabric_verbs_node *node, uint32_t cn,
                          const uint32_t *given_up)
{
    static const uint32_t bytes = sizeof(struct fabric_verbs_directory_wire);
    struct ibv_sge sge = {.addr = (uintptr_t)verbs->scratch, .length = bytes, .lkey = verbs->scratch_mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = ++verbs->scratch[511], /* not what was asked before and came late */
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_RDMA_READ,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .wr.rdma = {node->directory + (uint64_t)cn * bytes, node->directory_rkey}};
    uint64_t end_ns = fabric_verbs_now_ns() + FABRIC_VERBS_PATIENCE_MS * 1000000ull;
    struct ibv_wc wc;

    if (!node->attach.qp || ibv_post_send(node->attach.qp, &wr, &bad) != 0) return CELLAR_UNREACHABLE;
    while (fabric_verbs_now_ns() < end_ns && !__atomic_load_n(given_up, __ATOMIC_ACQUIRE)) {
        int count = ibv_poll_cq(verbs->attach_cq, 1, &wc);
        if (count == 1 && wc.wr_id == wr.wr_id) return wc.status == IBV_WC_SUCCESS ? 0 : CELLAR_UNREACHABLE;
        if (count == 0) usleep(20);
    }
    return CELLAR_UNREACHABLE;
}

/* Where that compute node takes messages: any memory node knows. */
static int find_cn(struct fabric_verbs *verbs, uint32_t cn, const uint32_t *given_up,
                   struct fabric_verbs_target *target)
{
    struct fabric_verbs_directory_wire entry = {.port = 0};
    int code = CELLAR_UNREACHABLE;

    pthread_mutex_lock(&verbs->directory_lock);
    for (uint32_t i = 0; i < verbs->fabric.mn_count && code != 0; i++)
        if (fabric_verbs_presence(&verbs->nodes[i]) == FABRIC_VERBS_THERE)
            code = read_directory(verbs, &verbs->nodes[i], cn, given_up);
    if (code == 0) memcpy(&entry, verbs->scratch, sizeof entry);
    pthread_mutex_unlock(&verbs->directory_lock);
    if (entry.port == 0) return CELLAR_UNREACHABLE;
    fabric_verbs_target_of(target, entry.address, entry.port);
    return 0;
}

/* ---- one link ---- */

int fabric_verbs_link_new(struct fabric_verbs_ep *vep, uint32_t node, uint16_t worker, bool messages,
                          struct fabric_verbs_link **out, struct cellar_error *error)
{
    struct fabric_verbs *verbs = (struct fabric_verbs *)vep->ep.fabric;
    struct fabric_verbs_link *link = calloc(1, sizeof *link);

    *out = NULL;
    if (!link || vep->link_count == vep->links_max) {
        free(link);
        return err_set(error, CELLAR_NOMEM, "no room for another connection");
    }
    link->vep = vep;
    link->index = vep->link_count;
    link->node = node;
    link->worker = worker;
    link->messages = messages;
    link->native = !messages && (verbs->nodes[node].flags & FABRIC_VERBS_NATIVE);
    link->ring_size = messages ? MESSAGE_RING : FABRIC_VERBS_RING;
    link->slot_bytes = messages                     ? sizeof(struct fabric_verbs_message_wire)
                       : verbs->fabric.wide_atomics ? 2 * sizeof(uint64_t)
                                                    : sizeof(uint64_t);
    link->ring = calloc(link->ring_size, sizeof *link->ring);
    link->slots = calloc(link->ring_size, link->slot_bytes);
    if (link->ring && link->slots)
        link->slots_mr =
            ibv_reg_mr(verbs->pd, link->slots, (size_t)link->ring_size * link->slot_bytes, IBV_ACCESS_LOCAL_WRITE);
    if (!link->slots_mr) {
        fabric_verbs_register_failed(error, "a connection's buffers", (uint64_t)link->ring_size * link->slot_bytes);
        fabric_verbs_link_free(link);
        return CELLAR_NOMEM;
    }
    vep->links[vep->link_count++] = *out = link;
    return 0;
}

/* A queue pair that is being destroyed is not stopped: see fabric_verbs_node_stop. */
static void disconnect(struct fabric_verbs_link *link)
{
    struct fabric_verbs *verbs = verbs_of(link);
    pthread_mutex_lock(&verbs->lock);
    struct fabric_verbs_cm cm = link->cm;
    link->cm = (struct fabric_verbs_cm){0};
    pthread_mutex_unlock(&verbs->lock);
    fabric_verbs_cm_drop(&cm);
}

void fabric_verbs_link_free(struct fabric_verbs_link *link)
{
    if (!link) return;
    disconnect(link);
    if (link->slots_mr) ibv_dereg_mr(link->slots_mr);
    free(link->slots);
    free(link->ring);
    free(link);
}

static int link_connect(struct fabric_verbs_link *link, struct cellar_error *error)
{
    struct fabric_verbs *verbs = verbs_of(link);
    struct fabric_verbs_node *node = link->messages ? NULL : &verbs->nodes[link->node];
    struct fabric_verbs_request_wire request = request_of(verbs, node ? FABRIC_VERBS_CONNECT : FABRIC_VERBS_MESSAGES);
    struct fabric_verbs_target target = {.text = ""};
    struct fabric_verbs_reply_wire reply;
    struct fabric_verbs_cm cm;

    request.cn = (uint8_t)link->vep->ep.cn;
    request.worker = (uint16_t)link->vep->ep.worker;
    request.other = (uint8_t)link->node;
    request.port = link->worker;
    if (node) target = node->target;
    int code = node ? 0 : find_cn(verbs, link->node, &link->vep->closing, &target);
    target.given_up = &link->vep->closing;
    if (code == 0) code = fabric_verbs_ask(&target, &verbs->secret, &request, make_link_qp, link, &cm, &reply, error);
    if (code != 0) return code;
    if (node && reply.instance != node->instance)
        code = err_set(error, CELLAR_MISMATCH, "another memory node is at %s", node->target.text);
    else if (fabric_verbs_cm_move(&cm, verbs->events, &link->hung_up) != 0)
        code = err_set(error, CELLAR_SYSTEM, "the connection manager moves no events: %s", strerror(errno));
    if (code != 0) {
        fabric_verbs_cm_drop(&cm);
        return code;
    }
    link->base = reply.base;
    link->rkey = reply.rkey;
    link->slot = reply.slot;
    link->told = link->consumed = 0;
    pthread_mutex_lock(&verbs->lock);
    link->cm = cm;
    pthread_mutex_unlock(&verbs->lock);
    return 0;
}

int fabric_verbs_link_open(struct fabric_verbs_link *link, struct cellar_error *error)
{
    int code = link_connect(link, error);
    if (code == 0) __atomic_store_n(&link->state, FABRIC_VERBS_READY, __ATOMIC_RELEASE);
    return code;
}

/* ---- memory nodes that are lost, and found again ---- */

/*
 * A queue pair in error sends nothing more; what it had sent may still be on its way to a node that is not dead after
 * all.
 */
void fabric_verbs_node_stop(struct fabric_verbs *verbs, uint32_t index, enum fabric_verbs_presence presence)
{
    struct fabric_verbs_node *node = &verbs->nodes[index];

    __atomic_store_n(&node->again_ns, fabric_verbs_now_ns() + RECALL_NS, __ATOMIC_RELEASE);
    pthread_mutex_lock(&verbs->lock);
    if (node->presence < presence) __atomic_store_n(&node->presence, presence, __ATOMIC_RELEASE);
    for (struct fabric_verbs_ep *vep = verbs->endpoints; vep; vep = vep->next) {
        struct fabric_verbs_link *link = vep->links[index];
        if (link->cm.qp) fabric_verbs_qp_stop(link->cm.qp);
        __atomic_store_n(&link->hung_up, 1, __ATOMIC_RELEASE);
        fabric_verbs_ring(vep, true);
    }
    pthread_mutex_unlock(&verbs->lock);
}

void fabric_verbs_node_recall(struct fabric_verbs *verbs, struct fabric_verbs_node *node)
{
    uint64_t again_ns = __atomic_load_n(&node->again_ns, __ATOMIC_ACQUIRE), now_ns = fabric_verbs_now_ns();

    if (now_ns < again_ns || fabric_verbs_presence(node) != FABRIC_VERBS_AWAY) return;
    if (!__atomic_compare_exchange_n(&node->again_ns, &again_ns, now_ns + RECALL_NS, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return; /* another thread was quicker */
    pthread_mutex_lock(&verbs->lock);
    __atomic_store_n(&node->suspect, 1, __ATOMIC_RELEASE);
    verbs->suspects = true;
    pthread_cond_broadcast(&verbs->changed);
    pthread_mutex_unlock(&verbs->lock);
}

/*
 * Compute nodes that were fenced without it are fenced there first. Workers connect when they next have something for
 * it.
 */
static void come_back(struct fabric_verbs *verbs, struct fabric_verbs_node *node)
{
    int told = fabric_verbs_life_tell(verbs, node, NULL);
    if (told == CELLAR_FENCED)
        for (uint32_t i = 0; i < verbs->cns; i++) fabric_verbs_set_fenced(verbs, verbs->cn_first + i);
    if (told != 0) return;
    for (;;) {
        uint32_t cn = 0;
        pthread_mutex_lock(&verbs->lock);
        while (cn < FABRIC_CNS_MAX && !(node->unfenced[cn / 32] >> cn % 32 & 1)) cn++;
        bool all = cn == FABRIC_CNS_MAX;
        uint64_t life = all ? 0 : node->unfenced_life[cn];
        if (all && node->presence == FABRIC_VERBS_AWAY)
            __atomic_store_n(&node->presence, FABRIC_VERBS_THERE, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&verbs->lock);
        if (all || ask_fence(verbs, node, cn, life, false, NULL) != 0) return;
        pthread_mutex_lock(&verbs->lock);
        if (node->unfenced_life[cn] == life) node->unfenced[cn / 32] &= ~(1u << cn % 32);
        pthread_mutex_unlock(&verbs->lock);
    }
}

/*
 * Its connection has hung up, since it died or has thrown us out; or it was away for some time. It tells if it is
 * there.
 */
static void look_at(struct fabric_verbs *verbs, uint32_t index)
{
    struct fabric_verbs_node *node = &verbs->nodes[index];
    struct fabric_verbs_reply_wire reply;
    uint64_t instance = node->instance;

    __atomic_store_n(&node->suspect, 0, __ATOMIC_RELEASE);
    if (fabric_verbs_presence(node) == FABRIC_VERBS_GONE) return;
    int code = fabric_verbs_attach(verbs, node, &reply, NULL);
    if (code == 0 && reply.instance == instance) {
        come_back(verbs, node);
        return;
    }
    node->instance = instance;
    if (code == CELLAR_FENCED)
        for (uint32_t i = 0; i < verbs->cns; i++) fabric_verbs_set_fenced(verbs, verbs->cn_first + i);
    bool answered = code == 0 || code == CELLAR_FENCED;
    fabric_verbs_node_stop(verbs, index, answered ? FABRIC_VERBS_GONE : FABRIC_VERBS_AWAY);
}

/* ---- the linking thread ---- */

void fabric_verbs_link_break(struct fabric_verbs_link *link)
{
    struct fabric_verbs *verbs = verbs_of(link);

    must(__atomic_load_n(&link->state, __ATOMIC_RELAXED) != FABRIC_VERBS_BROKEN);
    __atomic_store_n(&link->state, FABRIC_VERBS_BROKEN, __ATOMIC_RELEASE);
    pthread_mutex_lock(&verbs->lock);
    link->next_broken = NULL;
    *verbs->broken_last = link;
    verbs->broken_last = &link->next_broken;
    pthread_cond_broadcast(&verbs->changed);
    pthread_mutex_unlock(&verbs->lock);
}

void fabric_verbs_links_withdraw(struct fabric_verbs_ep *vep)
{
    struct fabric_verbs *verbs = (struct fabric_verbs *)vep->ep.fabric;
    struct fabric_verbs_link *link;

    pthread_mutex_lock(&verbs->lock);
    __atomic_store_n(&vep->closing, 1, __ATOMIC_RELEASE);
    verbs->broken_last = &verbs->broken;
    while ((link = *verbs->broken_last)) {
        if (link->vep == vep) {
            *verbs->broken_last = link->next_broken;
            __atomic_store_n(&link->state, FABRIC_VERBS_DEAD, __ATOMIC_RELEASE);
        } else {
            verbs->broken_last = &link->next_broken;
        }
    }
    pthread_mutex_unlock(&verbs->lock);
}

static enum fabric_verbs_state mend(struct fabric_verbs_link *link)
{
    struct fabric_verbs *verbs = verbs_of(link);
    uint32_t cn = link->vep->ep.cn, tries = link->messages ? 1 : NODE_TRIES;
    struct fabric_verbs_node *node = link->messages ? NULL : &verbs->nodes[link->node];
    int code = 0;

    disconnect(link);
    link->life++;
    __atomic_store_n(&link->hung_up, 0, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < tries; i++) {
        if (fabric_verbs_is_fenced(verbs, cn)) return FABRIC_VERBS_FENCED;
        if (__atomic_load_n(&link->vep->closing, __ATOMIC_ACQUIRE) ||
            (node && fabric_verbs_presence(node) != FABRIC_VERBS_THERE))
            return FABRIC_VERBS_DEAD;
        code = link_connect(link, NULL);
        if (code == CELLAR_FENCED) fabric_verbs_set_fenced(verbs, cn);
        if (code == 0) return FABRIC_VERBS_READY;
    }
    if (fabric_verbs_is_fenced(verbs, cn)) return FABRIC_VERBS_FENCED;
    bool another = code == CELLAR_MISMATCH;
    if (node && !__atomic_load_n(&link->vep->closing, __ATOMIC_ACQUIRE))
        fabric_verbs_node_stop(verbs, link->node, another ? FABRIC_VERBS_GONE : FABRIC_VERBS_AWAY);
    return FABRIC_VERBS_DEAD;
}

/* A node that was stopped meanwhile must not be reached by a queue pair that its killer did not see. */
static void give_back(struct fabric_verbs *verbs, struct fabric_verbs_link *link, enum fabric_verbs_state state)
{
    pthread_mutex_lock(&verbs->lock);
    if (state == FABRIC_VERBS_READY && !link->messages &&
        fabric_verbs_presence(&verbs->nodes[link->node]) != FABRIC_VERBS_THERE) {
        fabric_verbs_qp_stop(link->cm.qp);
        state = FABRIC_VERBS_DEAD;
    }
    __atomic_store_n(&link->state, state, __ATOMIC_RELEASE);
    fabric_verbs_ring(link->vep, true);
    pthread_mutex_unlock(&verbs->lock);
}

static void look_at_suspects(struct fabric_verbs *verbs)
{
    for (uint32_t i = 0; i < verbs->fabric.mn_count; i++)
        if (__atomic_load_n(&verbs->nodes[i].suspect, __ATOMIC_ACQUIRE)) look_at(verbs, i);
}

static void *linker_main(void *arg)
{
    struct fabric_verbs *verbs = arg;

    pthread_mutex_lock(&verbs->lock);
    while (!verbs->ending) {
        struct fabric_verbs_link *link = verbs->broken;
        if (verbs->suspects) {
            verbs->suspects = false;
            pthread_mutex_unlock(&verbs->lock);
            look_at_suspects(verbs);
            pthread_mutex_lock(&verbs->lock);
        } else if (link) {
            verbs->broken = link->next_broken;
            if (!verbs->broken) verbs->broken_last = &verbs->broken;
            pthread_mutex_unlock(&verbs->lock);
            give_back(verbs, link, mend(link));
            pthread_mutex_lock(&verbs->lock);
        } else {
            pthread_cond_wait(&verbs->changed, &verbs->lock);
        }
    }
    pthread_mutex_unlock(&verbs->lock);
    return NULL;
}

int fabric_verbs_linker_start(struct fabric_verbs *verbs, struct cellar_error *error)
{
    if (fabric_verbs_thread(&verbs->linker, linker_main, verbs) != 0)
        return err_set(error, CELLAR_SYSTEM, "cannot start a thread");
    verbs->linking = true;
    return 0;
}

void fabric_verbs_linker_end(struct fabric_verbs *verbs)
{
    if (!verbs->linking) return;
    pthread_mutex_lock(&verbs->lock);
    __atomic_store_n(&verbs->ending, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&verbs->changed);
    pthread_mutex_unlock(&verbs->lock);
    pthread_join(verbs->linker, NULL);
    verbs->linking = false;
}
