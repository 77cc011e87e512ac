/*
 * fabric_verbs_memnode.c - the memory-node process: registers its memory, admits compute nodes, and throws them out.
 *
 * It runs no transaction, and after its start its processor touches no byte of the region but the first page, to see
 * whether it was ever written. Every compute node has a protection domain and a registration of its own: to fence it
 * is to destroy its queue pairs and then to withdraw its key, which no other one ever gets (INV-VERBS-1). One thread
 * serves all requests, one after the other; each is answered at once.
 */
#include "fabric_verbs_internal.h"
#include "must.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONNECTIONS_MAX 8192
#define POLL_MS 200
#define STATUS_NS 1000000000ull
#define HUGE_PAGE_BYTES (2ull << 20)
#define PAGE_BYTES 4096

/* A compute node, as long as its process is attached. */
struct member {
    bool claimed, told_fresh;
    uint64_t incarnation; /* of its process */
    uint64_t life;        /* as its process said; 0: it has not yet (INV-FABRIC-12) */
    uint64_t fenced;      /* the last life that was: a process that comes back as one up to it is not let in */
    uint64_t ended;       /* of the last one that died or was fenced: it is not let in again */
    struct ibv_pd *pd;
    struct ibv_mr *mr, *directory_mr;
};

struct connection {
    struct rdma_cm_id *id;
    struct ibv_qp *qp;
    uint32_t cn, worker;
    uint64_t process; /* the incarnation whose attach connection this is; 0: a worker's */
};

struct memnode {
    const struct fabric_verbs_memnode_config *config;
    struct fabric_verbs_target target;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listen_id;
    struct ibv_context *device;
    struct ibv_cq *cq;
    unsigned char *region, *directory;
    uint64_t mapped;
    uint32_t flags; /* of ATTACH's answer */
    struct fabric_verbs_judge judge;
    struct member members[FABRIC_CNS_MAX + 1];
    struct connection *connections;
    uint32_t count;
    struct fabric_verbs_memnode_status status;
};

static void CELLAR_PRINTF(3, 4) say(const struct memnode *memnode, enum cellar_log_level level, const char *format, ...)
{
    char text[256];
    va_list args;

    if (!memnode->config->log) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memnode->config->log(memnode->config->log_arg, level, text);
}

static int CELLAR_PRINTF(3, 4) refuse(struct fabric_verbs_reply_wire *reply, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reply->text, sizeof reply->text, format, args);
    va_end(args);
    reply->code = (int16_t)code;
    return code;
}

/* ---- compute nodes ---- */

static struct fabric_verbs_directory_wire *directory_of(const struct memnode *memnode, uint32_t cn)
{
    return (struct fabric_verbs_directory_wire *)(void *)memnode->directory + cn;
}

static void drop_connection(struct memnode *memnode, uint32_t index)
{
    struct fabric_verbs_cm cm = {.id = memnode->connections[index].id, .qp = memnode->connections[index].qp};
    fabric_verbs_cm_drop(&cm);
    memnode->connections[index] = memnode->connections[--memnode->count];
}

/*
 * From the return on nothing of that compute node is executed here: first its queue pairs go, then what they could
 * have named.
 */
static void drop_member(struct memnode *memnode, uint32_t cn)
{
    struct member *member = &memnode->members[cn];

    for (uint32_t i = memnode->count; i-- > 0;)
        if (memnode->connections[i].cn == cn) drop_connection(memnode, i);
    if (member->mr) ibv_dereg_mr(member->mr);
    if (member->directory_mr) ibv_dereg_mr(member->directory_mr);
    if (member->pd) ibv_dealloc_pd(member->pd);
    memset(directory_of(memnode, cn), 0, sizeof(struct fabric_verbs_directory_wire));
    if (member->claimed) memnode->status.cns_attached--;
    *member =
        (struct member){.ended = member->incarnation ? member->incarnation : member->ended, .fenced = member->fenced};
}

static int register_member(struct memnode *memnode, struct member *member)
{
    static const int all =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    struct cellar_error error = {0};

    member->pd = ibv_alloc_pd(memnode->device);
    if (member->pd) member->mr = ibv_reg_mr(member->pd, memnode->region, memnode->config->bytes, all);
    if (member->mr)
        member->directory_mr = ibv_reg_mr(member->pd, memnode->directory, 2 * PAGE_BYTES, IBV_ACCESS_REMOTE_READ);
    if (member->directory_mr) return 0;
    fabric_verbs_register_failed(&error, "the region for another compute node", memnode->config->bytes);
    say(memnode, CELLAR_LOG_ERROR, "%s", error.text);
    return CELLAR_NOMEM;
}

static void take_member(struct memnode *memnode, uint32_t cn, const struct fabric_verbs_request_wire *request,
                        const uint8_t address[16])
{
    struct fabric_verbs_directory_wire *entry = directory_of(memnode, cn);

    memnode->members[cn].claimed = true;
    memnode->members[cn].incarnation = request->incarnation;
    memcpy(entry->address, address, sizeof entry->address);
    entry->port = request->port;
    memnode->status.cns_attached++;
}

/* ---- connections ---- */

static struct ibv_qp *make_qp(const struct memnode *memnode, struct ibv_pd *pd)
{
    struct ibv_qp_init_attr attr = {.send_cq = memnode->cq,
                                    .recv_cq = memnode->cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    return ibv_create_qp(pd, &attr);
}

static int accept_one(struct memnode *memnode, struct rdma_cm_id *id, const struct fabric_verbs_request_wire *request,
                      uint64_t process, struct fabric_verbs_reply_wire *reply)
{
    struct member *member = &memnode->members[request->cn];

    if (memnode->count == CONNECTIONS_MAX) return refuse(reply, CELLAR_FULL, "too many connections");
    struct ibv_qp *qp = make_qp(memnode, member->pd);
    if (!qp) return refuse(reply, CELLAR_SYSTEM, "no queue pair: %s", strerror(errno));
    fabric_verbs_sign(&memnode->judge, request, reply);
    if (fabric_verbs_accept(id, qp, reply) != 0) {
        ibv_destroy_qp(qp);
        return refuse(reply, CELLAR_SYSTEM, "accepting failed: %s", strerror(errno));
    }
    memnode->connections[memnode->count++] =
        (struct connection){.id = id, .qp = qp, .cn = request->cn, .worker = request->worker, .process = process};
    return 0;
}

/* Was it admitted, and not thrown out since? */
static int check_member(const struct memnode *memnode, const struct fabric_verbs_request_wire *request,
                        struct fabric_verbs_reply_wire *reply)
{
    const struct member *member = &memnode->members[request->cn];
    if (member->claimed && member->incarnation == request->incarnation) return 0;
    return refuse(reply, CELLAR_FENCED, "compute node %u was declared dead", request->cn);
}

static int check_claim(const struct memnode *memnode, const struct fabric_verbs_request_wire *request,
                       struct fabric_verbs_reply_wire *reply)
{
    uint32_t end = (uint32_t)request->cn + request->other;

    if (request->other == 0 || end > memnode->config->cn_count)
        return refuse(reply, CELLAR_INVALID, "there are %u compute nodes, from 0 on", memnode->config->cn_count);
    for (uint32_t cn = request->cn; cn < end; cn++) {
        const struct member *member = &memnode->members[cn];
        if (member->ended == request->incarnation)
            return refuse(reply, CELLAR_FENCED, "compute node %u was declared dead", cn);
        if (member->claimed && member->incarnation != request->incarnation)
            return refuse(reply, CELLAR_EXISTS, "compute node %u is another process", cn);
    }
    return 0;
}

/* A node in use has its superblock in the first page. */
static bool region_is_blank(const struct memnode *memnode)
{
    for (uint32_t i = 0; i < PAGE_BYTES && i < memnode->config->bytes; i++)
        if (((const volatile unsigned char *)memnode->region)[i]) return false;
    return true;
}

/* Fresh: blank, and no process that is attached has been told so. */
static bool region_is_fresh(const struct memnode *memnode, uint64_t asker)
{
    for (uint32_t cn = 0; cn < memnode->config->cn_count; cn++)
        if (memnode->members[cn].told_fresh && memnode->members[cn].incarnation != asker) return false;
    return region_is_blank(memnode);
}

static void describe(const struct memnode *memnode, const struct member *member, struct fabric_verbs_reply_wire *reply)
{
    const struct fabric_verbs_memnode_config *config = memnode->config;

    reply->bytes = config->bytes;
    reply->seed = config->seed;
    reply->node = (uint16_t)config->node;
    reply->mn_count = (uint16_t)config->mn_count;
    reply->cn_count = (uint16_t)config->cn_count;
    reply->flags = (uint16_t)(memnode->flags | (member->told_fresh ? FABRIC_VERBS_FRESH : 0) |
                              (region_is_blank(memnode) ? FABRIC_VERBS_BLANK : 0));
    reply->directory = (uintptr_t)memnode->directory;
    reply->directory_rkey = member->directory_mr->rkey;
}

static int attach(struct memnode *memnode, struct rdma_cm_id *id, const struct fabric_verbs_request_wire *request,
                  const uint8_t address[16], struct fabric_verbs_reply_wire *reply)
{
    uint32_t first = request->cn, end = first + request->other;
    int code = check_claim(memnode, request, reply);

    if (code != 0) return code;
    bool again = memnode->members[first].claimed;
    for (uint32_t cn = first; cn < end && code == 0; cn++) {
        if (memnode->members[cn].claimed) continue;
        code = register_member(memnode, &memnode->members[cn]);
        take_member(memnode, cn, request, address);
    }
    memnode->members[first].told_fresh = code == 0 && region_is_fresh(memnode, request->incarnation);
    if (code == 0) describe(memnode, &memnode->members[first], reply);
    if (code != 0)
        code = refuse(reply, CELLAR_NOMEM, "no memory can be registered; see its log");
    else
        code = accept_one(memnode, id, request, request->incarnation, reply);
    if (code != 0 && !again) {
        for (uint32_t cn = first; cn < end; cn++) {
            drop_member(memnode, cn);
            memnode->members[cn].ended = 0; /* it may try again */
        }
        return code;
    }
    if (code == 0) say(memnode, CELLAR_LOG_INFO, "compute nodes %u..%u attached", first, end - 1);
    return code;
}

/*
 * A worker's queue pair. One of the same worker that is still here is of an earlier try: nothing of it may come late.
 */
static int connect_worker(struct memnode *memnode, struct rdma_cm_id *id,
                          const struct fabric_verbs_request_wire *request, struct fabric_verbs_reply_wire *reply)
{
    int code = check_member(memnode, request, reply);

    if (code != 0) return code;
    for (uint32_t i = memnode->count; i-- > 0;) {
        const struct connection *old = &memnode->connections[i];
        if (old->cn == request->cn && old->worker == request->worker && !old->process) drop_connection(memnode, i);
    }
    if (request->worker >= FABRIC_VERBS_WORKERS_MAX) return refuse(reply, CELLAR_INVALID, "no such worker");
    reply->base = (uintptr_t)memnode->region;
    reply->rkey = memnode->members[request->cn].mr->rkey;
    return accept_one(memnode, id, request, 0, reply);
}

/* Before any process can read of that life in the pool. */
static int begin_life(struct memnode *memnode, const struct fabric_verbs_request_wire *request,
                      struct fabric_verbs_reply_wire *reply)
{
    uint32_t end = (uint32_t)request->cn + request->other;
    int code = check_member(memnode, request, reply);

    if (code != 0) return code;
    if (end > memnode->config->cn_count) return refuse(reply, CELLAR_INVALID, "no such compute nodes");
    for (uint32_t cn = request->cn; cn < end; cn++) {
        struct member *member = &memnode->members[cn];
        if (!member->claimed || member->incarnation != request->incarnation) continue;
        member->life = fabric_verbs_life(request);
        if (member->life > member->fenced) continue;
        drop_member(memnode, cn);
        code = refuse(reply, CELLAR_FENCED, "compute node %u was declared dead", cn);
    }
    return code;
}

static int fence(struct memnode *memnode, const struct fabric_verbs_request_wire *request,
                 struct fabric_verbs_reply_wire *reply)
{
    struct member *victim = &memnode->members[request->other];
    int code = check_member(memnode, request, reply);

    if (code != 0) return code;
    if (request->other >= memnode->config->cn_count) return refuse(reply, CELLAR_INVALID, "no such compute node");
    bool last = !(request->flags & FABRIC_VERBS_ONLY_DEAD) && fabric_verbs_life(request) > victim->fenced;
    if (last) victim->fenced = fabric_verbs_life(request);
    bool concerned = victim->claimed && fabric_fence_concerns(fabric_verbs_life(request), victim->life);
    if (concerned && (request->flags & FABRIC_VERBS_ONLY_DEAD))
        return refuse(reply, CELLAR_EXISTS, "compute node %u is alive", request->other);
    if (concerned) {
        say(memnode, CELLAR_LOG_WARNING, "compute node %u was fenced at the request of compute node %u", request->other,
            request->cn);
        drop_member(memnode, request->other);
        memnode->status.fenced++;
    }
    return 0;
}

/* ---- requests ---- */

/* Returns whether the id lives on. */
static bool answer(struct memnode *memnode, struct rdma_cm_id *id, const struct fabric_verbs_request_wire *request,
                   uint32_t bytes)
{
    struct fabric_verbs_reply_wire reply = {.magic = FABRIC_VERBS_WIRE_MAGIC};
    uint32_t now_ms = fabric_verbs_now_ms();
    uint8_t address[16];

    fabric_verbs_address_bytes(rdma_get_peer_addr(id), address);
    if (bytes >= sizeof *request && request->magic == FABRIC_VERBS_WIRE_MAGIC && request->kind == FABRIC_VERBS_HELLO) {
        fabric_verbs_challenge(&memnode->judge, address, now_ms, &reply);
        fabric_verbs_reject(id, &reply);
        return false;
    }
    int code = fabric_verbs_admit(&memnode->judge, request, bytes, address, now_ms, &reply);
    if (code == 0 && id->verbs != memnode->device) code = refuse(&reply, CELLAR_INVALID, "came in at another device");
    if (code == 0 && request->kind == FABRIC_VERBS_ATTACH)
        code = attach(memnode, id, request, address, &reply);
    else if (code == 0 && request->kind == FABRIC_VERBS_CONNECT)
        code = connect_worker(memnode, id, request, &reply);
    else if (code == 0 && request->kind == FABRIC_VERBS_FENCE)
        code = fence(memnode, request, &reply);
    else if (code == 0 && request->kind == FABRIC_VERBS_LIFE)
        code = begin_life(memnode, request, &reply);
    else if (code == 0)
        code = refuse(&reply, CELLAR_INVALID, "not asked of memory nodes");
    if (code == 0) memnode->status.admitted++;
    bool stays = request->kind != FABRIC_VERBS_FENCE && request->kind != FABRIC_VERBS_LIFE;
    if (code == 0 && stays) return true;
    if (code != 0) {
        memnode->status.refused++;
        bool asked = request->kind == FABRIC_VERBS_FENCE && code == CELLAR_EXISTS; /* watchers do so all the time */
        if (!asked)
            say(memnode, CELLAR_LOG_WARNING, "refused a request for compute node %u: %s", request->cn, reply.text);
    }
    fabric_verbs_sign(&memnode->judge, request, &reply);
    fabric_verbs_reject(id, &reply);
    return false;
}

/* A connection has ended. A process whose attach connection has is dead, or as good as that. */
static void hang_up(struct memnode *memnode, const struct rdma_cm_id *id)
{
    uint32_t index = 0;
    while (index < memnode->count && memnode->connections[index].id != id) index++;
    if (index == memnode->count) return;
    uint64_t process = memnode->connections[index].process;
    uint32_t cn = memnode->connections[index].cn;
    drop_connection(memnode, index);
    if (!process || memnode->members[cn].incarnation != process) return;
    for (uint32_t i = 0; i < memnode->count; i++)
        if (memnode->connections[i].process == process) return; /* it has attached anew */
    say(memnode, CELLAR_LOG_INFO, "the process of compute node %u is gone", cn);
    for (uint32_t i = 0; i < memnode->config->cn_count; i++)
        if (memnode->members[i].claimed && memnode->members[i].incarnation == process) drop_member(memnode, i);
}

static void take_event(struct memnode *memnode, struct rdma_cm_event *event)
{
    struct fabric_verbs_request_wire request = {0};
    enum rdma_cm_event_type type = event->event;
    struct rdma_cm_id *id = event->id;
    uint32_t bytes = 0;

    if (type == RDMA_CM_EVENT_CONNECT_REQUEST && event->param.conn.private_data) {
        bytes = event->param.conn.private_data_len;
        if (bytes > sizeof request) bytes = sizeof request;
        memcpy(&request, event->param.conn.private_data, bytes);
    }
    rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        if (!answer(memnode, id, &request, bytes)) rdma_destroy_id(id);
    } else if (type != RDMA_CM_EVENT_ESTABLISHED && type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
        hang_up(memnode, id);
    }
}

/* ---- start and end ---- */

static int map_region(struct memnode *memnode, struct cellar_error *error)
{
    uint64_t bytes = (memnode->config->bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0); /* reserved, or refused */

    memnode->status.huge_pages = base != MAP_FAILED;
    if (base == MAP_FAILED) {
        bytes = (memnode->config->bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (base == MAP_FAILED)
            return err_set(error, CELLAR_NOMEM, "cannot map %" PRIu64 " bytes: %s", bytes, strerror(errno));
        (void)madvise(base, bytes, MADV_HUGEPAGE);
    }
    memnode->region = base;
    memnode->mapped = bytes;
    memnode->directory = aligned_alloc(PAGE_BYTES, 2 * PAGE_BYTES);
    if (!memnode->directory) return err_set(error, CELLAR_NOMEM, "no memory for a directory");
    memset(memnode->directory, 0, 2 * PAGE_BYTES);
    return 0;
}
_Static_assert((FABRIC_CNS_MAX + 1) * sizeof(struct fabric_verbs_directory_wire) <= 2 * PAGE_BYTES, "all in two pages");

static int look_at_device(struct memnode *memnode, struct cellar_error *error)
{
    struct ibv_device_attr attr;

    memnode->device = memnode->listen_id->verbs;
    memnode->status.device = ibv_get_device_name(memnode->device->device);
    if (ibv_query_device(memnode->device, &attr) != 0)
        return err_set(error, CELLAR_SYSTEM, "device %s cannot be asked: %s", memnode->status.device, strerror(errno));
    if (attr.atomic_cap == IBV_ATOMIC_NONE)
        return err_set(error, CELLAR_UNSUPPORTED, "device %s has no RDMA atomics, which everything here rests on",
                       memnode->status.device);
    memnode->flags = attr.vendor_id == FABRIC_VERBS_SOFTWARE_VENDOR ? FABRIC_VERBS_SOFTWARE : FABRIC_VERBS_LINE_ATOMIC;
    if (memnode->config->masked == FABRIC_VERBS_MASKED_AUTO)
        memnode->flags |= fabric_verbs_native_device(memnode->device);
    memnode->status.native_masked = (memnode->flags & FABRIC_VERBS_NATIVE) != 0;
    memnode->status.wide_atomics = (memnode->flags & FABRIC_VERBS_WIDE) != 0;
    memnode->cq = ibv_create_cq(memnode->device, 16, NULL, NULL, 0);
    if (!memnode->cq) return err_set(error, CELLAR_SYSTEM, "the device refuses a queue: %s", strerror(errno));
    return 0;
}

/* So that a limit is met at the start, and not when the first compute node comes. It also brings all pages in. */
static int try_registration(struct memnode *memnode, struct cellar_error *error)
{
    struct ibv_pd *pd = ibv_alloc_pd(memnode->device);
    struct ibv_mr *mr = pd ? ibv_reg_mr(pd, memnode->region, memnode->config->bytes, IBV_ACCESS_LOCAL_WRITE) : NULL;

    if (!mr) fabric_verbs_register_failed(error, "the region", memnode->config->bytes);
    if (mr) ibv_dereg_mr(mr);
    if (pd) ibv_dealloc_pd(pd);
    return mr ? 0 : CELLAR_NOMEM;
}

static int check_config(const struct fabric_verbs_memnode_config *config, struct cellar_error *error)
{
    if (config->mn_count < 1 || config->mn_count > FABRIC_NODES_MAX || config->node >= config->mn_count)
        return err_set(error, CELLAR_INVALID, "memory node %u of %u: there must be 1 to %d, numbered from 0",
                       config->node, config->mn_count, FABRIC_NODES_MAX);
    if (config->cn_count < 1 || config->cn_count > FABRIC_CNS_MAX)
        return err_set(error, CELLAR_INVALID, "%u compute nodes: there must be 1 to %d", config->cn_count,
                       FABRIC_CNS_MAX);
    if (config->bytes == 0 || config->bytes > 1ull << 48)
        return err_set(error, CELLAR_INVALID, "a memory node of %" PRIu64 " bytes: there must be 1 to 2^48",
                       config->bytes);
    return fabric_verbs_devices_check(error);
}

static int start(struct memnode *memnode, struct cellar_error *error)
{
    const struct fabric_verbs_memnode_config *config = memnode->config;
    int code = check_config(config, error);

    if (code == 0) code = fabric_verbs_target_parse(&memnode->target, config->address, error);
    if (code == 0) code = fabric_verbs_secret_read(&memnode->judge.secret, config->secret_path, error);
    if (code == 0) code = fabric_verbs_random(memnode->judge.key, sizeof memnode->judge.key, error);
    if (code == 0) code = fabric_verbs_random(&memnode->judge.instance, sizeof memnode->judge.instance, error);
    memnode->judge.fingerprint = fabric_verbs_fold(config->fingerprint);
    memnode->status.bytes = config->bytes;
    memnode->connections = calloc(CONNECTIONS_MAX, sizeof *memnode->connections);
    if (code == 0 && !memnode->connections) code = err_set(error, CELLAR_NOMEM, "no memory for connections");
    if (code == 0) code = map_region(memnode, error);
    if (code == 0) code = fabric_verbs_listen(&memnode->target, &memnode->channel, &memnode->listen_id, error);
    if (code == 0) code = look_at_device(memnode, error);
    return code == 0 ? try_registration(memnode, error) : code;
}

static void end(struct memnode *memnode)
{
    for (uint32_t cn = 0; memnode->directory && cn <= FABRIC_CNS_MAX; cn++) drop_member(memnode, cn);
    if (memnode->listen_id) rdma_destroy_id(memnode->listen_id);
    if (memnode->cq) ibv_destroy_cq(memnode->cq);
    if (memnode->channel) rdma_destroy_event_channel(memnode->channel);
    if (memnode->region) munmap(memnode->region, memnode->mapped);
    free(memnode->directory);
    free(memnode->connections);
    free(memnode);
}

static void serve_until(struct memnode *memnode, const volatile int *stop,
                        void (*status)(void *arg, const struct fabric_verbs_memnode_status *status), void *arg)
{
    struct pollfd fd = {.fd = memnode->channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    uint64_t told_ns = 0;

    while (!*stop) {
        if (poll(&fd, 1, POLL_MS) == 1 && rdma_get_cm_event(memnode->channel, &event) == 0) take_event(memnode, event);
        uint64_t now_ns = fabric_verbs_now_ns();
        if (!status || now_ns - told_ns < STATUS_NS) continue;
        memnode->status.queue_pairs = memnode->count;
        status(arg, &memnode->status);
        told_ns = now_ns;
    }
}

int fabric_verbs_memnode_run(const struct fabric_verbs_memnode_config *config, const volatile int *stop,
                             void (*status)(void *arg, const struct fabric_verbs_memnode_status *status), void *arg,
                             struct cellar_error *error)
{
    struct memnode *memnode = calloc(1, sizeof *memnode);

    if (!memnode) return err_set(error, CELLAR_NOMEM, "no memory for a memory node");
    memnode->config = config;
    int code = start(memnode, error);
    if (code == 0) {
        say(memnode, CELLAR_LOG_INFO,
            "memory node %u of %u listens at %s on device %s, masked CAS %s, atomics on 16 bytes %s", config->node,
            config->mn_count, memnode->target.text, memnode->status.device,
            memnode->status.native_masked ? "native" : "by plain CAS",
            memnode->status.wide_atomics ? "native" : "none");
        serve_until(memnode, stop, status, arg);
    }
    end(memnode);
    return code;
}
