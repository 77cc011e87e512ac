/*
 * fabric_verbs_inbox.c - messages received, and the thread of a compute-node process that listens: for workers of
 * others that want to send, and for connections that end.
 *
 * A worker has one shared receive queue. Each sender may have FABRIC_VERBS_WINDOW messages under way; it learns how
 * many were taken by reading a counter of its own here (rdma READ), so a slow receiver costs the others nothing, and
 * no receive buffer is ever missing (INV-VERBS-6).
 */
#include "fabric_verbs_internal.h"
#include "descriptor.h"
#include "must.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RECEIVED (1ull << 63)
#define SLOTS_BITS 8 /* a slot as it travels: place | life */

static struct fabric_verbs *verbs_of(const struct fabric_verbs_ep *vep)
{
    return (struct fabric_verbs *)vep->ep.fabric;
}

/* ---- buffers ---- */

static int give_buffer(struct fabric_verbs_inbox *inbox, uint32_t buffer)
{
    struct ibv_sge sge = {.addr = (uintptr_t)&inbox->buffers[buffer],
                          .length = sizeof(struct fabric_verbs_message_wire),
                          .lkey = inbox->mr->lkey};
    struct ibv_recv_wr *bad, wr = {.wr_id = RECEIVED | buffer, .sg_list = &sge, .num_sge = 1};
    return ibv_post_srq_recv(inbox->srq, &wr, &bad) == 0 ? 0 : CELLAR_SYSTEM;
}

int fabric_verbs_inbox_open(struct fabric_verbs_ep *vep, struct cellar_error *error)
{
    struct fabric_verbs_inbox *inbox = &vep->inbox;
    struct fabric_verbs *verbs = verbs_of(vep);
    size_t messages = FABRIC_VERBS_RECEIVES * sizeof *inbox->buffers;
    size_t bytes = (messages + FABRIC_VERBS_SENDERS * sizeof *inbox->counters + 4095) & ~(size_t)4095;
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = FABRIC_VERBS_RECEIVES, .max_sge = 1}};

    inbox->buffers = aligned_alloc(4096, bytes);
    inbox->waiting = calloc(FABRIC_VERBS_RECEIVES, sizeof *inbox->waiting);
    if (!inbox->buffers || !inbox->waiting) return err_set(error, CELLAR_NOMEM, "no memory for messages");
    memset(inbox->buffers, 0, bytes);
    inbox->counters = (uint64_t *)(void *)((char *)inbox->buffers + messages);
    inbox->mr = ibv_reg_mr(verbs->pd, inbox->buffers, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    if (!inbox->mr) {
        fabric_verbs_register_failed(error, "message buffers", bytes);
        return CELLAR_NOMEM;
    }
    inbox->srq = ibv_create_srq(verbs->pd, &attr);
    if (!inbox->srq)
        return err_set(error, CELLAR_SYSTEM, "the device refuses a shared receive queue: %s", strerror(errno));
    return 0;
}

static void drop_sender(struct fabric_verbs_sender *sender)
{
    if (!sender->id) return;
    struct fabric_verbs_cm cm = {.id = sender->id, .qp = sender->qp};
    sender->id = NULL;
    fabric_verbs_cm_drop(&cm);
}

void fabric_verbs_inbox_close(struct fabric_verbs_ep *vep)
{
    struct fabric_verbs_inbox *inbox = &vep->inbox;
    for (uint32_t i = 0; i < FABRIC_VERBS_SENDERS; i++) drop_sender(&inbox->senders[i]);
    if (inbox->srq) ibv_destroy_srq(inbox->srq);
    if (inbox->mr) ibv_dereg_mr(inbox->mr);
    free(inbox->buffers);
    free(inbox->waiting);
}

/* ---- messages ---- */

void fabric_verbs_inbox_take(struct fabric_verbs_ep *vep, uint32_t buffer)
{
    struct fabric_verbs_inbox *inbox = &vep->inbox;
    must(buffer < FABRIC_VERBS_RECEIVES);
    inbox->waiting[inbox->waiting_tail++ % FABRIC_VERBS_RECEIVES] = (uint16_t)buffer;
}

/* Copies what was written by another process: sizes are checked. */
static void deliver(struct fabric_verbs_ep *vep, const struct fabric_verbs_message_wire *from)
{
    if (from->size_bytes > FABRIC_MESSAGE_BYTES) return;
    struct fabric_message *to = &vep->ep.inbox[vep->ep.inbox_tail % FABRIC_INBOX_MESSAGES];
    to->from_cn = from->from_cn;
    to->from_worker = from->from_worker;
    to->size_bytes = from->size_bytes;
    memcpy(to->bytes, from->bytes, from->size_bytes);
    vep->ep.inbox_tail++;
}

/* Its sender may have another one on its way. */
static void count_taken(struct fabric_verbs_ep *vep, uint32_t slot)
{
    struct fabric_verbs_inbox *inbox = &vep->inbox;
    uint32_t place = slot % (1u << SLOTS_BITS), life = slot >> SLOTS_BITS;
    if (place >= FABRIC_VERBS_SENDERS || __atomic_load_n(&inbox->senders[place].life, __ATOMIC_ACQUIRE) != life) return;
    __atomic_store_n(&inbox->counters[place], inbox->counters[place] + 1, __ATOMIC_RELEASE);
}

void fabric_verbs_inbox_move(struct fabric_verbs_ep *vep)
{
    struct fabric_verbs_inbox *inbox = &vep->inbox;

    while (inbox->waiting_head != inbox->waiting_tail &&
           vep->ep.inbox_tail - vep->ep.inbox_head < FABRIC_INBOX_MESSAGES) {
        uint32_t buffer = inbox->waiting[inbox->waiting_head % FABRIC_VERBS_RECEIVES];
        uint32_t slot = inbox->buffers[buffer].slot;
        deliver(vep, &inbox->buffers[buffer]);
        inbox->waiting_head++;
        int code = give_buffer(inbox, buffer);
        must(code == 0);
        count_taken(vep, slot);
    }
}

/* ---- senders ---- */

static struct fabric_verbs_ep *find_endpoint(const struct fabric_verbs *verbs, uint32_t cn, uint32_t worker)
{
    struct fabric_verbs_ep *vep = verbs->endpoints;
    while (vep && (vep->ep.cn != cn || vep->ep.worker != worker)) vep = vep->next;
    return vep;
}

/* A place for it: that of its own earlier life, or a free one. */
static struct fabric_verbs_sender *find_place(struct fabric_verbs_inbox *inbox, uint32_t cn, uint32_t worker)
{
    struct fabric_verbs_sender *free_one = NULL;
    for (uint32_t i = 0; i < FABRIC_VERBS_SENDERS; i++) {
        struct fabric_verbs_sender *sender = &inbox->senders[i];
        if (sender->id && sender->cn == cn && sender->worker == worker) {
            drop_sender(sender);
            return sender;
        }
        if (!sender->id && !free_one) free_one = sender;
    }
    return free_one;
}

static struct ibv_qp *make_sender_qp(const struct fabric_verbs *verbs, const struct fabric_verbs_ep *vep)
{
    struct ibv_qp_init_attr attr = {.send_cq = vep->cq,
                                    .recv_cq = vep->cq,
                                    .srq = vep->inbox.srq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 1, .max_send_sge = 1}};
    return ibv_create_qp(verbs->pd, &attr);
}

static int refuse(struct fabric_verbs_reply_wire *reply, int code, const char *text)
{
    reply->code = (int16_t)code;
    snprintf(reply->text, sizeof reply->text, "%s", text);
    return code;
}

/* The receive queue grows with its senders: as many buffers as they may have messages under way. */
static int make_room(struct fabric_verbs_inbox *inbox, uint32_t place)
{
    int code = 0;
    uint32_t wanted = (place + 1) * FABRIC_VERBS_WINDOW;
    for (; inbox->posted < wanted && code == 0; inbox->posted += code == 0) code = give_buffer(inbox, inbox->posted);
    return code;
}

static int admit_sender(struct fabric_verbs *verbs, struct rdma_cm_id *id,
                        const struct fabric_verbs_request_wire *request, struct fabric_verbs_reply_wire *reply)
{
    struct fabric_verbs_ep *vep = find_endpoint(verbs, request->other, request->port);
    if (!vep || id->verbs != verbs->device) return refuse(reply, CELLAR_UNREACHABLE, "no such worker");
    struct fabric_verbs_inbox *inbox = &vep->inbox;
    struct fabric_verbs_sender *sender = find_place(inbox, request->cn, request->worker);
    if (!sender) return refuse(reply, CELLAR_FULL, "too many senders");
    uint32_t place = (uint32_t)(sender - inbox->senders);
    if (make_room(inbox, place) != 0 || !(sender->qp = make_sender_qp(verbs, vep)))
        return refuse(reply, CELLAR_SYSTEM, "the device refuses a queue pair");
    uint32_t life = (sender->life + 1) & ((1u << (32 - SLOTS_BITS)) - 1);
    __atomic_store_n(&sender->life, life, __ATOMIC_RELEASE);
    __atomic_store_n(&inbox->counters[place], 0, __ATOMIC_RELEASE);
    sender->cn = request->cn;
    sender->worker = request->worker;
    reply->slot = life << SLOTS_BITS | place;
    reply->base = (uintptr_t)&inbox->counters[place];
    reply->rkey = inbox->mr->rkey;
    fabric_verbs_sign(&verbs->judge, request, reply);
    if (fabric_verbs_accept(id, sender->qp, reply) != 0) {
        ibv_destroy_qp(sender->qp);
        return refuse(reply, CELLAR_SYSTEM, "the connection manager refuses");
    }
    sender->id = id;
    return 0;
}

/* ---- events ---- */

/* Returns whether the id lives on. */
static bool answer(struct fabric_verbs *verbs, struct rdma_cm_id *id, const struct fabric_verbs_request_wire *request,
                   uint32_t bytes)
{
    struct fabric_verbs_reply_wire reply = {.magic = FABRIC_VERBS_WIRE_MAGIC};
    uint32_t now_ms = fabric_verbs_now_ms();
    uint8_t address[16];
    int code;

    fabric_verbs_address_bytes(rdma_get_peer_addr(id), address);
    if (bytes >= sizeof *request && request->magic == FABRIC_VERBS_WIRE_MAGIC && request->kind == FABRIC_VERBS_HELLO) {
        fabric_verbs_challenge(&verbs->judge, address, now_ms, &reply);
        fabric_verbs_reject(id, &reply);
        return false;
    }
    code = fabric_verbs_admit(&verbs->judge, request, bytes, address, now_ms, &reply);
    if (code == 0 && request->kind != FABRIC_VERBS_MESSAGES) code = refuse(&reply, CELLAR_INVALID, "not here");
    pthread_mutex_lock(&verbs->lock);
    if (code == 0) code = admit_sender(verbs, id, request, &reply);
    pthread_mutex_unlock(&verbs->lock);
    if (code == 0) return true;
    fabric_verbs_sign(&verbs->judge, request, &reply);
    fabric_verbs_reject(id, &reply);
    return false;
}

/*
 * A sender that is gone. Its queue pair goes under the lock, before the queues of an endpoint that is closed
 * meanwhile.
 */
static void forget_sender(struct fabric_verbs *verbs, const struct rdma_cm_id *id)
{
    pthread_mutex_lock(&verbs->lock);
    for (struct fabric_verbs_ep *vep = verbs->endpoints; vep; vep = vep->next)
        for (uint32_t i = 0; i < FABRIC_VERBS_SENDERS; i++)
            if (vep->inbox.senders[i].id == id) drop_sender(&vep->inbox.senders[i]);
    pthread_mutex_unlock(&verbs->lock);
}

/* One of our own connections has ended: its owner is told, and looks for itself. */
static void tell(struct fabric_verbs *verbs, uint32_t *flag)
{
    pthread_mutex_lock(&verbs->lock);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    verbs->suspects = true;
    pthread_cond_broadcast(&verbs->changed);
    for (struct fabric_verbs_ep *vep = verbs->endpoints; vep; vep = vep->next) fabric_verbs_ring(vep, true);
    pthread_mutex_unlock(&verbs->lock);
}

static void take_event(struct fabric_verbs *verbs, struct rdma_cm_event *event)
{
    struct rdma_cm_id *id = event->id;
    struct fabric_verbs_request_wire request = {0};
    bool gone = false;
    uint32_t bytes = 0;

    switch (event->event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        bytes = event->param.conn.private_data ? event->param.conn.private_data_len : 0;
        if (bytes > sizeof request) bytes = sizeof request;
        if (bytes > 0) memcpy(&request, event->param.conn.private_data, bytes);
        id->context = NULL;
        rdma_ack_cm_event(event);
        if (!answer(verbs, id, &request, bytes)) rdma_destroy_id(id);
        return;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        gone = !id->context;
        if (!gone) tell(verbs, id->context); /* its owner cannot destroy it before the event is acknowledged */
        break;
    default:
        break;
    }
    rdma_ack_cm_event(event);
    if (gone) forget_sender(verbs, id);
}

static void *listener_main(void *arg)
{
    struct fabric_verbs *verbs = arg;
    struct pollfd fds[2] = {{.fd = verbs->events->fd, .events = POLLIN}, {.fd = verbs->stop_fd, .events = POLLIN}};
    struct rdma_cm_event *event;

    for (;;) {
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[1].revents) return NULL;
        if (fds[0].revents && rdma_get_cm_event(verbs->events, &event) == 0) take_event(verbs, event);
    }
}

int fabric_verbs_listener_start(struct fabric_verbs *verbs, struct cellar_error *error)
{
    struct sockaddr_storage any = {.ss_family = verbs->nodes[0].target.address.ss_family};

    verbs->events = fabric_verbs_watched_channel();
    verbs->stop_fd = descriptor_high(eventfd(0, EFD_CLOEXEC));
    if (!verbs->events || verbs->stop_fd < 0)
        return err_set(error, CELLAR_SYSTEM, "no connection manager (is the module rdma_ucm loaded?): %s",
                       strerror(errno));
    if (rdma_create_id(verbs->events, &verbs->listen_id, NULL, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(verbs->listen_id, (struct sockaddr *)(void *)&any) != 0 ||
        rdma_listen(verbs->listen_id, 128) != 0)
        return err_set(error, CELLAR_SYSTEM, "cannot listen for messages: %s", strerror(errno));
    verbs->port = be16toh(rdma_get_src_port(verbs->listen_id));
    if (fabric_verbs_thread(&verbs->listener, listener_main, verbs) != 0)
        return err_set(error, CELLAR_SYSTEM, "cannot start a thread");
    verbs->listening = true;
    return 0;
}

/* All endpoints are closed: no connections are left but those to memory nodes. */
void fabric_verbs_listener_end(struct fabric_verbs *verbs)
{
    uint64_t one = 1;
    if (verbs->listening) {
        ssize_t written = write(verbs->stop_fd, &one, sizeof one);
        must(written == (ssize_t)sizeof one);
        pthread_join(verbs->listener, NULL);
    }
    if (verbs->listen_id) rdma_destroy_id(verbs->listen_id);
    if (verbs->stop_fd >= 0) close(verbs->stop_fd);
}
