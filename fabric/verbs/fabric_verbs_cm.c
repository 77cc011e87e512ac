/*
 * fabric_verbs_cm.c - librdmacm, one request at a time: asking, accepting, rejecting; and what can be wrong with a
 * device.
 *
 * Queue pairs are made and moved through their states here and not by librdmacm, so that those of direct verbs take
 * the same way.
 */
#include "fabric_verbs_internal.h"
#include "descriptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define RESOLVE_MS 2000
#define GIVE_UP_MS 50  /* a waiter looks so often whether it should */
#define ACK_TIMEOUT 16 /* 4.096 us x 2^16: 0.27 s for a lost packet, and as often as retry_cnt says */

/* ---- small things ---- */

uint64_t fabric_verbs_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint32_t fabric_verbs_now_ms(void) { return (uint32_t)(fabric_verbs_now_ns() / 1000000); }

int fabric_verbs_random(void *bytes, size_t count, struct cellar_error *error)
{
    if (getrandom(bytes, count, 0) == (ssize_t)count) return 0;
    return err_set(error, CELLAR_SYSTEM, "the kernel has no random numbers: %s", strerror(errno));
}

/* The usual reason is a limit; its remedy depends on how the program was started. */
void fabric_verbs_register_failed(struct cellar_error *error, const char *what, uint64_t bytes)
{
    struct rlimit limit = {0};
    int reason = errno;

    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if ((reason == ENOMEM || reason == EPERM) && limit.rlim_cur != RLIM_INFINITY)
        (void)err_set(error, CELLAR_NOMEM,
                      "cannot register %s, %" PRIu64 " bytes: the memlock limit is %" PRIu64
                      " KiB; raise it (ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit)",
                      what, bytes, (uint64_t)limit.rlim_cur / 1024);
    else
        (void)err_set(error, CELLAR_NOMEM, "cannot register %s, %" PRIu64 " bytes: %s", what, bytes, strerror(reason));
}

/* ---- addresses ---- */

void fabric_verbs_address_bytes(const struct sockaddr *address, uint8_t bytes[16])
{
    memset(bytes, 0, 16);
    if (address->sa_family == AF_INET6) {
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    } else if (address->sa_family == AF_INET) {
        bytes[10] = bytes[11] = 0xff;
        memcpy(bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    }
}

void fabric_verbs_target_of(struct fabric_verbs_target *target, const uint8_t bytes[16], uint16_t port)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&target->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&target->address;
    char text[INET6_ADDRSTRLEN] = "?";

    memset(target, 0, sizeof *target);
    if (memcmp(bytes, mapped, sizeof mapped) == 0) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, bytes + 12, 4);
        (void)inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    } else {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        memcpy(&v6->sin6_addr, bytes, 16);
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    }
    snprintf(target->text, sizeof target->text, "%s port %u", text, port);
}

/* Cuts "HOST:PORT" or "[HOST]:PORT" or "HOST" in place; the port, or 0 when it is none. */
static uint32_t cut_port(char *text, char **host)
{
    char *colon = strrchr(text, ':'), *end;
    *host = text;
    if (*text == '[') {
        char *close_bracket = strchr(text, ']');
        if (!close_bracket) return 0;
        *host = text + 1;
        colon = close_bracket[1] == ':' ? close_bracket + 1 : NULL;
        if (!colon && close_bracket[1]) return 0;
        *close_bracket = 0;
    } else if (colon && strchr(text, ':') != colon) {
        colon = NULL; /* a bare IPv6 address */
    }
    if (!colon) return FABRIC_VERBS_PORT;
    *colon = 0;
    unsigned long port = strtoul(colon + 1, &end, 10);
    return end == colon + 1 || *end || port > 65535 ? 0 : (uint32_t)port;
}

int fabric_verbs_target_parse(struct fabric_verbs_target *target, const char *text, struct cellar_error *error)
{
    char copy[sizeof target->text], *host, service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;

    memset(target, 0, sizeof *target);
    if (strlen(text) >= sizeof copy) return err_set(error, CELLAR_INVALID, "an address is too long: %.80s", text);
    snprintf(target->text, sizeof target->text, "%s", text);
    snprintf(copy, sizeof copy, "%s", text);
    uint32_t port = cut_port(copy, &host);
    if (port == 0 || !*host)
        return err_set(error, CELLAR_INVALID, "not an address with an optional port: '%s' (10.0.0.1:%d)", text,
                       FABRIC_VERBS_PORT);
    snprintf(service, sizeof service, "%u", port);
    int code = getaddrinfo(host, service, &hints, &found);
    if (code != 0)
        return err_set(error, CELLAR_INVALID, "no host has the name or address '%s': %s", host, gai_strerror(code));
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

/* ---- devices ---- */

int fabric_verbs_devices_check(struct cellar_error *error)
{
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    if (devices) ibv_free_device_list(devices);
    if (devices && count > 0) return 0;
    return err_set(error, CELLAR_UNSUPPORTED,
                   "this machine has no RDMA device; load its driver, or make a soft-RoCE one: "
                   "modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth0");
}

int fabric_verbs_port_check(struct rdma_cm_id *id, struct cellar_error *error)
{
    struct ibv_port_attr port;
    const char *name = ibv_get_device_name(id->verbs->device);
    if (ibv_query_port(id->verbs, id->port_num, &port) != 0)
        return err_set(error, CELLAR_SYSTEM, "port %u of device %s cannot be asked: %s", id->port_num, name,
                       strerror(errno));
    if (port.state == IBV_PORT_ACTIVE) return 0;
    return err_set(error, CELLAR_UNREACHABLE,
                   "port %u of device %s is %s, not active; set its network interface up, check the cable",
                   id->port_num, name, ibv_port_state_str(port.state));
}

/* ---- queue pairs ---- */

static uint8_t at_most(int wanted, int limit) { return (uint8_t)(wanted < limit ? wanted : limit); }

static int move_to(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state,
                   const struct ibv_device_attr *device)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = 0;

    if (rdma_init_qp_attr(id, &attr, &mask) != 0) return CELLAR_SYSTEM;
    if (state == IBV_QPS_INIT)
        attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if (state == IBV_QPS_RTR) attr.max_dest_rd_atomic = at_most(FABRIC_VERBS_READS, device->max_qp_rd_atom);
    if (state == IBV_QPS_RTS) {
        attr.max_rd_atomic = at_most(FABRIC_VERBS_READS, device->max_qp_init_rd_atom);
        attr.timeout = ACK_TIMEOUT;
        attr.retry_cnt = attr.rnr_retry = 7;
    }
    return ibv_modify_qp(qp, &attr, mask) == 0 ? 0 : CELLAR_SYSTEM;
}

int fabric_verbs_qp_ready(struct rdma_cm_id *id, struct ibv_qp *qp)
{
    struct ibv_device_attr device;
    if (ibv_query_device(id->verbs, &device) != 0) return CELLAR_SYSTEM;
    int code = move_to(id, qp, IBV_QPS_INIT, &device);
    if (code == 0) code = move_to(id, qp, IBV_QPS_RTR, &device);
    return code == 0 ? move_to(id, qp, IBV_QPS_RTS, &device) : code;
}

void fabric_verbs_qp_stop(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    (void)!ibv_modify_qp(qp, &attr, IBV_QP_STATE); /* it may be there already */
}

/* ---- the asking side ---- */

static int system_failed(struct cellar_error *error, const char *what)
{
    return err_set(error, CELLAR_SYSTEM, "%s: %s", what, strerror(errno));
}

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel, const struct fabric_verbs_target *target,
                                        int patience_ms)
{
    struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event = NULL;
    int came = 0;

    for (; patience_ms > 0 && came != 1; patience_ms -= GIVE_UP_MS) {
        if (target->given_up && __atomic_load_n(target->given_up, __ATOMIC_ACQUIRE)) return NULL;
        came = poll(&fd, 1, patience_ms < GIVE_UP_MS ? patience_ms : GIVE_UP_MS);
    }
    return came == 1 && rdma_get_cm_event(channel, &event) == 0 ? event : NULL;
}

static int no_device_to(const struct fabric_verbs_target *target, const char *why, struct cellar_error *error)
{
    return err_set(error, CELLAR_UNREACHABLE,
                   "no RDMA device of this machine leads to %s: %s; see: ip route get; rdma link", target->text, why);
}

static int await_event(struct fabric_verbs_cm *cm, enum rdma_cm_event_type wanted,
                       const struct fabric_verbs_target *target, struct cellar_error *error)
{
    struct rdma_cm_event *event = next_event(cm->channel, target, RESOLVE_MS + 500);
    if (!event)
        return err_set(error, CELLAR_UNREACHABLE, "no way to %s was found in time; see: ip route get; ip neigh",
                       target->text);
    enum rdma_cm_event_type got = event->event;
    int status = event->status < 0 ? -event->status : event->status;
    rdma_ack_cm_event(event);
    if (got == wanted) return 0;
    if (got == RDMA_CM_EVENT_ADDR_ERROR && status == ENODEV) return no_device_to(target, strerror(status), error);
    return err_set(error, CELLAR_UNREACHABLE,
                   "%s cannot be reached over RDMA: %s (%s); try rping to it, and see: ip route get; rdma link",
                   target->text, rdma_event_str(got), strerror(status));
}

static struct rdma_event_channel *event_channel(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    if (channel) channel->fd = descriptor_high(channel->fd);
    return channel;
}

/* The device and the way to the target: the same route as that of IP. */
static int resolve(struct fabric_verbs_cm *cm, const struct fabric_verbs_target *target, struct cellar_error *error)
{
    struct sockaddr_storage address = target->address;

    cm->channel = event_channel();
    if (!cm->channel) return system_failed(error, "no connection manager (is the module rdma_ucm loaded?)");
    if (rdma_create_id(cm->channel, &cm->id, NULL, RDMA_PS_TCP) != 0)
        return system_failed(error, "the connection manager refuses an id");
    if (rdma_resolve_addr(cm->id, NULL, (struct sockaddr *)(void *)&address, RESOLVE_MS) != 0)
        return no_device_to(target, strerror(errno), error);
    int code = await_event(cm, RDMA_CM_EVENT_ADDR_RESOLVED, target, error);
    if (code != 0) return code;
    if (rdma_resolve_route(cm->id, RESOLVE_MS) != 0) return system_failed(error, "no route");
    code = await_event(cm, RDMA_CM_EVENT_ROUTE_RESOLVED, target, error);
    return code == 0 ? fabric_verbs_port_check(cm->id, error) : code;
}

static int send_request(struct fabric_verbs_cm *cm, const struct fabric_verbs_request_wire *request,
                        struct cellar_error *error)
{
    struct ibv_device_attr device;
    if (ibv_query_device(cm->id->verbs, &device) != 0) return system_failed(error, "the device cannot be asked");
    struct rdma_conn_param param = {
        .private_data = request,
        .private_data_len = sizeof *request,
        .responder_resources = at_most(FABRIC_VERBS_READS, device.max_qp_rd_atom),
        .initiator_depth = at_most(FABRIC_VERBS_READS, device.max_qp_init_rd_atom),
        .retry_count = 7,
        .rnr_retry_count = 7,
        /*
         * Two requests with one number at a time look like a connection that was lost: the kernel rejects the second.
         */
        .qp_num = cm->qp ? cm->qp->qp_num : (request->nonce & 0xffffff) | 2,
    };
    return rdma_connect(cm->id, &param) == 0 ? 0 : system_failed(error, "a connection cannot be asked for");
}

/* Copies the private data of an answer; false when it is not one of ours. */
static bool copy_reply(const struct rdma_cm_event *event, struct fabric_verbs_reply_wire *reply)
{
    const struct rdma_conn_param *param = &event->param.conn;
    if (!param->private_data || param->private_data_len < sizeof *reply) return false;
    memcpy(reply, param->private_data, sizeof *reply);
    for (uint32_t i = 0; i < sizeof reply->text; i++)
        if (reply->text[i] && (reply->text[i] < ' ' || reply->text[i] > '~')) reply->text[i] = '?';
    reply->text[sizeof reply->text - 1] = 0;
    return reply->magic == FABRIC_VERBS_WIRE_MAGIC;
}

/* 0: accepted, not yet established. 1: rejected by one of ours, with an answer. */
static int await_answer(struct fabric_verbs_cm *cm, const struct fabric_verbs_target *target,
                        struct fabric_verbs_reply_wire *reply, struct cellar_error *error)
{
    struct rdma_cm_event *event = next_event(cm->channel, target, FABRIC_VERBS_PATIENCE_MS);
    if (!event)
        return err_set(error, CELLAR_UNREACHABLE,
                       "%s did not answer within %d s; see whether it still runs, and try rping to its host",
                       target->text, FABRIC_VERBS_PATIENCE_MS / 1000);
    enum rdma_cm_event_type got = event->event;
    bool ours = (got == RDMA_CM_EVENT_REJECTED || got == RDMA_CM_EVENT_CONNECT_RESPONSE) && copy_reply(event, reply);
    rdma_ack_cm_event(event);
    if (ours) return got == RDMA_CM_EVENT_REJECTED;
    if (got == RDMA_CM_EVENT_REJECTED)
        return err_set(error, CELLAR_UNREACHABLE,
                       "no memory node of this pool listens at %s; start cellar memnode there first", target->text);
    return err_set(error, CELLAR_UNREACHABLE, "%s cannot be reached over RDMA: %s", target->text, rdma_event_str(got));
}

static int get_cookie(const struct fabric_verbs_target *target, struct fabric_verbs_request_wire *request,
                      struct cellar_error *error)
{
    struct fabric_verbs_request_wire hello = *request;
    struct fabric_verbs_reply_wire reply;
    struct fabric_verbs_cm cm = {0};

    hello.kind = FABRIC_VERBS_HELLO;
    int code = resolve(&cm, target, error);
    if (code == 0) code = send_request(&cm, &hello, error);
    if (code == 0) code = await_answer(&cm, target, &reply, error);
    fabric_verbs_cm_drop(&cm);
    if (code < 0) return code;
    if (code == 0 || reply.kind != FABRIC_VERBS_HELLO)
        return err_set(error, CELLAR_MISMATCH, "what listens at %s answers out of turn", target->text);
    request->cookie = reply.cookie;
    request->cookie_ms = reply.cookie_ms;
    return 0;
}

/*
 * What a rejection says. Without a proof it may be of any sender: it is passed on, but no compute node is fenced for
 * it.
 */
static int rejected(const struct fabric_verbs_target *target, const struct fabric_verbs_reply_wire *reply,
                    bool is_signed, struct cellar_error *error)
{
    if (reply->code == 0) return 0;
    int code = reply->code < 0 && reply->code >= -64 ? reply->code : CELLAR_INVALID;
    if (!is_signed && code == CELLAR_FENCED) code = CELLAR_INVALID;
    return err_set(error, code, "%s refuses: %s", target->text, reply->text);
}

static int finish(struct fabric_verbs_cm *cm, const struct fabric_verbs_target *target, struct cellar_error *error)
{
    if (fabric_verbs_qp_ready(cm->id, cm->qp) != 0) return system_failed(error, "a queue pair cannot be made ready");
    if (rdma_establish(cm->id) == 0) return 0;
    return err_set(error, CELLAR_UNREACHABLE, "%s cannot be reached over RDMA: %s", target->text, strerror(errno));
}

int fabric_verbs_ask(const struct fabric_verbs_target *target, const struct fabric_verbs_secret *secret,
                     struct fabric_verbs_request_wire *request, fabric_verbs_make_fn make, void *arg,
                     struct fabric_verbs_cm *cm, struct fabric_verbs_reply_wire *reply, struct cellar_error *error)
{
    *cm = (struct fabric_verbs_cm){0};
    request->magic = FABRIC_VERBS_WIRE_MAGIC;
    int code = fabric_verbs_random(&request->nonce, sizeof request->nonce, error);
    if (code == 0) code = get_cookie(target, request, error);
    if (code == 0) code = resolve(cm, target, error);
    if (code == 0 && make && !(cm->qp = make(arg, cm->id->verbs)))
        code = system_failed(error, "the device refuses a queue pair");
    fabric_verbs_prove(secret, request);
    if (code == 0) code = send_request(cm, request, error);
    if (code == 0) code = await_answer(cm, target, reply, error);
    bool was_rejected = code == 1, is_signed = code >= 0 && fabric_verbs_signed(secret, request, reply);
    if (was_rejected) code = rejected(target, reply, is_signed, error);
    if (code == 0 && !is_signed) code = err_set(error, CELLAR_INVALID, "%s does not know the secret", target->text);
    if (code == 0 && was_rejected && make)
        code = err_set(error, CELLAR_MISMATCH, "%s answers out of turn", target->text);
    if (code == 0 && !was_rejected) code = finish(cm, target, error);
    if (code != 0 || was_rejected) fabric_verbs_cm_drop(cm);
    return code;
}

int fabric_verbs_cm_move(struct fabric_verbs_cm *cm, struct rdma_event_channel *channel, void *context)
{
    cm->id->context = context;
    if (rdma_migrate_id(cm->id, channel) != 0) return CELLAR_SYSTEM;
    rdma_destroy_event_channel(cm->channel);
    cm->channel = NULL;
    return 0;
}

void fabric_verbs_cm_drop(struct fabric_verbs_cm *cm)
{
    if (cm->qp) ibv_destroy_qp(cm->qp);
    if (cm->id) rdma_destroy_id(cm->id);
    if (cm->channel) rdma_destroy_event_channel(cm->channel);
    *cm = (struct fabric_verbs_cm){0};
}

/* ---- the answering side ---- */

int fabric_verbs_accept(struct rdma_cm_id *id, struct ibv_qp *qp, const struct fabric_verbs_reply_wire *reply)
{
    struct ibv_device_attr device;
    if (fabric_verbs_qp_ready(id, qp) != 0 || ibv_query_device(id->verbs, &device) != 0) return CELLAR_SYSTEM;
    struct rdma_conn_param param = {
        .private_data = reply,
        .private_data_len = sizeof *reply,
        .responder_resources = at_most(FABRIC_VERBS_READS, device.max_qp_rd_atom),
        .initiator_depth = at_most(FABRIC_VERBS_READS, device.max_qp_init_rd_atom),
        .rnr_retry_count = 7,
        .qp_num = qp->qp_num,
    };
    return rdma_accept(id, &param) == 0 ? 0 : CELLAR_SYSTEM;
}

void fabric_verbs_reject(struct rdma_cm_id *id, const struct fabric_verbs_reply_wire *reply)
{
    (void)!rdma_reject(id, reply, sizeof *reply); /* an asker that does not hear it asks again */
}

static int bind_failed(const struct fabric_verbs_target *at, struct cellar_error *error)
{
    if (errno == EADDRINUSE) return err_set(error, CELLAR_EXISTS, "another process listens at %s already", at->text);
    if (errno == EADDRNOTAVAIL || errno == ENODEV)
        return err_set(error, CELLAR_INVALID,
                       "%s is no address of an RDMA device's interface here; see: rdma link; ip addr", at->text);
    return err_set(error, CELLAR_SYSTEM, "cannot listen at %s: %s", at->text, strerror(errno));
}

struct rdma_event_channel *fabric_verbs_watched_channel(void)
{
    struct rdma_event_channel *channel = event_channel();
    if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0) return channel;
    rdma_destroy_event_channel(channel);
    return NULL;
}

int fabric_verbs_listen(const struct fabric_verbs_target *at, struct rdma_event_channel **channel,
                        struct rdma_cm_id **id, struct cellar_error *error)
{
    struct sockaddr_storage address = at->address;

    *id = NULL;
    *channel = fabric_verbs_watched_channel();
    if (!*channel) return system_failed(error, "no connection manager (is the module rdma_ucm loaded?)");
    if (rdma_create_id(*channel, id, NULL, RDMA_PS_TCP) != 0)
        return system_failed(error, "the connection manager refuses an id");
    if (rdma_bind_addr(*id, (struct sockaddr *)(void *)&address) != 0) return bind_failed(at, error);
    if (!(*id)->verbs) {
        errno = ENODEV;
        return bind_failed(at, error);
    }
    int code = fabric_verbs_port_check(*id, error);
    if (code != 0) return code;
    return rdma_listen(*id, 128) == 0 ? 0 : bind_failed(at, error);
}
