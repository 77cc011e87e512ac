/*
 * netlock_server.c - NetLock's lock server: the locks that it grants itself, their queues, holders and leases. Each
 * worker looks after the locks whose number falls to it, and after a part of the switch's slots.
 */
#include "must.h"
#include "netlock.h"
#include "netlock_plants.h"

#include <stdlib.h>
#include <string.h>

#define LOOKS_A_LEASE 8
#define DEALS_A_LEASE 2
#define MOVE_ROUND_TRIPS 16 /* between two questions to the switch's control plane */

/* ---- requests ---- */

struct netlock_request *netlock_request_new(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct netlock_server *server = netlock_server_of(worker);
    struct netlock_request *request = server->spare;
    if (request)
        server->spare = request->next;
    else
        request = malloc(sizeof *request);
    must(request);
    *request = (struct netlock_request){.client = packet->client,
                                        .txn = packet->txn,
                                        .mode = packet->mode,
                                        .priority = packet->priority,
                                        .tenant = packet->tenant,
                                        .since_ns = fabric_now_ns(worker->ep)};
    return request;
}

void netlock_request_free(struct lockmgr_worker *worker, struct netlock_request *request)
{
    request->next = netlock_server_of(worker)->spare;
    netlock_server_of(worker)->spare = request;
}

void netlock_queue_add(struct netlock_queue *queue, struct netlock_request *request)
{
    request->next = NULL;
    if (queue->last)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
}

struct netlock_request *netlock_queue_take(struct netlock_queue *queue)
{
    struct netlock_request *request = queue->first;
    if (!request) return NULL;
    queue->first = request->next;
    if (!queue->first) queue->last = NULL;
    return request;
}

static struct netlock_request *find(struct netlock_request *request, uint32_t client, uint32_t txn)
{
    while (request && (request->client != client || request->txn != txn)) request = request->next;
    return request;
}

/* ---- locks ---- */

static struct netlock_lock **bucket_of(const struct netlock_server *server, uint64_t lock)
{
    return &server->buckets[(lock * 0x9e3779b97f4a7c15ull >> 24) & (server->bucket_count - 1)];
}

static void grow(struct netlock_server *server)
{
    struct netlock_server old = *server;
    server->bucket_count = old.bucket_count * 2;
    server->buckets = calloc(server->bucket_count, sizeof *server->buckets);
    must(server->buckets);
    for (uint32_t i = 0; i < old.bucket_count; i++)
        for (struct netlock_lock *lock = old.buckets[i], *next; lock; lock = next) {
            struct netlock_lock **bucket = bucket_of(server, lock->lock);
            next = lock->next;
            lock->next = *bucket;
            *bucket = lock;
        }
    free(old.buckets);
}

static struct netlock_lock *lock_of(struct netlock_server *server, uint64_t number, bool make)
{
    struct netlock_lock *lock = *bucket_of(server, number);
    while (lock && lock->lock != number) lock = lock->next;
    if (lock || !make) return lock;
    if (server->lock_count++ == server->bucket_count) grow(server);
    lock = calloc(1, sizeof *lock);
    must(lock);
    lock->lock = number;
    struct netlock_lock **bucket = bucket_of(server, number);
    lock->next = *bucket;
    *bucket = lock;
    return lock;
}

/* ---- granting ---- */

static void send_grant(struct lockmgr_worker *worker, const struct netlock_lock *lock,
                       const struct netlock_request *request)
{
    struct netlock_packet packet = {.op = NETLOCK_GRANT,
                                    .lock = lock->lock,
                                    .client = request->client,
                                    .txn = request->txn,
                                    .slot = request->number | NETLOCK_AT_SERVER,
                                    .incarnation = netlock_server_of(worker)->incarnation};
    netlock_to_client(worker, &packet);
}

static void grant(struct lockmgr_worker *worker, struct netlock_lock *lock, struct netlock_request *request)
{
    request->number = ++netlock_server_of(worker)->numbers & ~NETLOCK_AT_SERVER;
    request->since_ns = fabric_now_ns(worker->ep);
    request->next = lock->held;
    lock->held = request;
    lock->exclusive += request->mode == LOCKMGR_EXCLUSIVE;
    lock->shared += request->mode != LOCKMGR_EXCLUSIVE;
    send_grant(worker, lock, request);
}

void netlock_serve(struct lockmgr_worker *worker, struct netlock_lock *lock)
{
    bool serves = lock->place == NETLOCK_OWNED || lock->place == NETLOCK_PAUSING;
    if (!serves) return;
    if (lock->not_before_ns > fabric_now_ns(worker->ep) && !PLANT(netlock_takes_back_at_once)) return;
    for (uint32_t i = 0; i < NETLOCK_PRIORITIES; i++) {
        struct netlock_queue *queue = &lock->waiting[i];
        while (queue->first) {
            bool exclusive = queue->first->mode == LOCKMGR_EXCLUSIVE;
            if (lock->exclusive || (exclusive && lock->shared)) return;
            grant(worker, lock, netlock_queue_take(queue));
        }
    }
}

/* Takes any holder away. */
static void drop(struct lockmgr_worker *worker, struct netlock_lock *lock, struct netlock_request *request)
{
    struct netlock_request **at = &lock->held;
    while (*at != request) at = &(*at)->next;
    *at = request->next;
    lock->exclusive -= request->mode == LOCKMGR_EXCLUSIVE;
    lock->shared -= request->mode != LOCKMGR_EXCLUSIVE;
    netlock_request_free(worker, request);
}

/* ---- what clients want ---- */

static void note_load(struct netlock_lock *lock)
{
    uint32_t busy = lock->shared + lock->exclusive;
    for (uint32_t i = 0; i < NETLOCK_PRIORITIES; i++)
        for (const struct netlock_request *request = lock->waiting[i].first; request; request = request->next) busy++;
    lock->requests++;
    if (busy > lock->peak) lock->peak = busy;
}

/* To the server's own queue; the same request twice is granted once. */
static void acquire(struct lockmgr_worker *worker, struct netlock_lock *lock, const struct netlock_packet *packet)
{
    const struct netlock_request *held = find(lock->held, packet->client, packet->txn);
    if (held) send_grant(worker, lock, held);
    if (held || find(lock->waiting[packet->priority].first, packet->client, packet->txn)) return;
    netlock_queue_add(&lock->waiting[packet->priority], netlock_request_new(worker, packet));
    note_load(lock);
    netlock_serve(worker, lock);
}

/* Between OWNED and AWAY numbered requests come after those without a number, whichever comes first. */
static void arrive(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct netlock_lock *lock = lock_of(netlock_server_of(worker), packet->lock, true);
    bool numbered = packet->tag & NETLOCK_SECONDARY && packet->move == lock->move &&
                    packet->incarnation == netlock_server_of(worker)->incarnation && lock->place != NETLOCK_OWNED;
    if (numbered)
        netlock_over_arrive(worker, lock, packet);
    else if (lock->place <= NETLOCK_DRAINING)
        acquire(worker, lock, packet);
}

static struct netlock_request *holder(struct netlock_lock *lock, const struct netlock_packet *packet)
{
    struct netlock_request *request = lock ? find(lock->held, packet->client, packet->txn) : NULL;
    return request && (request->number | NETLOCK_AT_SERVER) == packet->slot ? request : NULL;
}

static void release(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct netlock_lock *lock = lock_of(netlock_server_of(worker), packet->lock, false);
    struct netlock_request *request = holder(lock, packet);
    if (!request) return;
    drop(worker, lock, request);
    netlock_serve(worker, lock);
    if (lock->place == NETLOCK_DRAINING) netlock_move_step(worker, lock);
}

static void renew(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct netlock_request *request = holder(lock_of(netlock_server_of(worker), packet->lock, false), packet);
    struct netlock_packet answer = *packet;
    answer.op = request ? NETLOCK_RENEWED : NETLOCK_DENIED;
    if (request) request->since_ns = fabric_now_ns(worker->ep);
    netlock_to_client(worker, &answer);
}

static void say_here(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct netlock_packet answer = *packet;
    answer.op = NETLOCK_HERE;
    netlock_to_client(worker, &answer);
}

/* ---- messages ---- */

/* False: the packet is of a life of the switch that is over, and says nothing of this one. */
static bool note_incarnation(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct netlock_server *server = netlock_server_of(worker);
    if ((int32_t)(packet->incarnation - server->incarnation) > 0) netlock_move_all_back(worker, packet->incarnation);
    return packet->incarnation == server->incarnation;
}

void netlock_server_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                            const struct lockmgr_message_wire *wire)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct netlock_packet packet;
    if (!netlock_decode(wire, &packet) || message->from_cn - config->switch_cn >= config->switches) return;
    bool now = note_incarnation(worker, &packet);
    if (packet.op == NETLOCK_HELLO) {
        struct netlock_packet heard = {.op = NETLOCK_HEARD, .incarnation = packet.incarnation};
        netlock_to_switch(worker, &heard);
        return;
    }
    if (packet.op == NETLOCK_ACQUIRE) arrive(worker, &packet);
    if (packet.op == NETLOCK_RELEASE) release(worker, &packet);
    if (packet.op == NETLOCK_RENEW) renew(worker, &packet);
    if (packet.op == NETLOCK_ASK) say_here(worker, &packet);
    struct netlock_lock *lock = lock_of(netlock_server_of(worker), packet.lock, false);
    if (!now || !lock || packet.move != lock->move) return;
    if (packet.op == NETLOCK_NOTIFY) netlock_over_told(worker, lock, &packet);
    if (packet.op == NETLOCK_PREPARED || packet.op == NETLOCK_INSTALLED || packet.op == NETLOCK_REMOVED)
        netlock_move_answer(worker, lock, &packet);
}

/* ---- time ---- */

static void expire(struct lockmgr_worker *worker, struct netlock_lock *lock, uint64_t now_ns)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    for (struct netlock_request *request = lock->held, *next; request; request = next) {
        uint32_t cn, at, client;
        next = request->next;
        bool over = now_ns - request->since_ns > netlock_lease_ns(config);
        bool gone = lockmgr_locate(config, request->client, &cn, &at, &client) && lockmgr_dead(worker->lockmgr, cn);
        if (over || gone) drop(worker, lock, request);
    }
    netlock_serve(worker, lock);
}

static void locks_expire(struct lockmgr_worker *worker, uint64_t now_ns)
{
    struct netlock_server *server = netlock_server_of(worker);
    for (uint32_t i = 0; i < server->bucket_count; i++)
        for (struct netlock_lock *lock = server->buckets[i]; lock; lock = lock->next) {
            expire(worker, lock, now_ns);
            if (lock->place == NETLOCK_AWAY) netlock_move_step(worker, lock);
        }
}

uint64_t netlock_server_tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct netlock_server *server = netlock_server_of(worker);
    uint64_t now_ns = fabric_now_ns(worker->ep), lease_ns = netlock_lease_ns(&worker->lockmgr->config);
    /* Each again so long after its end: where it takes longer than that, messages would never be looked at. */
    if (now_ns >= server->look_ns) {
        locks_expire(worker, now_ns);
        server->look_ns = fabric_now_ns(worker->ep) + lease_ns / LOOKS_A_LEASE;
    }
    if (server->moving && now_ns >= server->move_ns) {
        netlock_move_steps(worker);
        server->move_ns = fabric_now_ns(worker->ep) + MOVE_ROUND_TRIPS * netlock_rtt_ns(&worker->lockmgr->config);
    }
    if (now_ns >= server->deal_ns) {
        netlock_deal(worker);
        server->deal_ns = fabric_now_ns(worker->ep) + lease_ns / DEALS_A_LEASE;
    }
    uint64_t next_ns = server->look_ns < server->deal_ns ? server->look_ns : server->deal_ns;
    return server->moving && server->move_ns < next_ns ? server->move_ns : next_ns;
}

/* ---- birth, death, rest ---- */

int netlock_server_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint32_t slots = netlock_switch_config_of(config).slots, workers = config->server_workers;
    uint32_t left = (uint32_t)((uint64_t)slots * worker->number / workers);
    uint32_t right = (uint32_t)((uint64_t)slots * (worker->number + 1) / workers);
    struct netlock_server *server = worker->own = calloc(1, sizeof *server);
    if (!server) goto no_memory;
    server->bucket_count = 64;
    server->buckets = calloc(server->bucket_count, sizeof *server->buckets);
    if (config->policy && strcmp(config->policy, "server") == 0) right = left;
    if (!server->buckets || !netlock_regions_open(&server->regions, left, right - left)) goto no_memory;
    return 0;
no_memory:
    netlock_server_close(worker);
    return err_set(error, CELLAR_NOMEM, "no memory for netlock's lock server");
}

static void free_requests(struct netlock_request *request)
{
    for (struct netlock_request *next; request; request = next) {
        next = request->next;
        free(request);
    }
}

void netlock_server_close(struct lockmgr_worker *worker)
{
    struct netlock_server *server = netlock_server_of(worker);
    if (!server) return;
    for (uint32_t i = 0; server->buckets && i < server->bucket_count; i++)
        for (struct netlock_lock *lock = server->buckets[i], *next; lock; lock = next) {
            next = lock->next;
            free_requests(lock->held);
            for (uint32_t j = 0; j < NETLOCK_PRIORITIES; j++) {
                free_requests(lock->waiting[j].first);
                free_requests(lock->over[j].first);
            }
            free(lock);
        }
    free_requests(server->spare);
    netlock_regions_close(&server->regions);
    free(server->buckets);
    free(server->order);
    free(server);
    worker->own = NULL;
}

int netlock_server_audit(const struct lockmgr_worker *worker, struct fabric_addr addr, struct cellar_error *error)
{
    const struct netlock_lock *lock = lock_of(netlock_server_of(worker), addr.bits, false);
    if (!lock) return 0;
    if (lock->held)
        return err_set(error, CELLAR_CORRUPT, "the server says that client %u holds it", lock->held->client);
    for (uint32_t i = 0; i < NETLOCK_PRIORITIES; i++) {
        const struct netlock_request *request = lock->waiting[i].first ? lock->waiting[i].first : lock->over[i].first;
        while (request && request->client == 0) request = request->next;
        if (request &&
            lockmgr_locate(&worker->lockmgr->config, request->client, &(uint32_t){0}, &(uint32_t){0}, &(uint32_t){0}))
            return err_set(error, CELLAR_CORRUPT, "client %u waits at the server, in place %d", request->client,
                           (int)lock->place);
    }
    return 0;
}

bool netlock_server_idle(const struct lockmgr_worker *worker)
{
    const struct netlock_server *server = netlock_server_of(worker);
    struct cellar_error error;
    for (uint32_t i = 0; i < server->bucket_count; i++)
        for (const struct netlock_lock *lock = server->buckets[i]; lock; lock = lock->next)
            if (netlock_server_audit(worker, (struct fabric_addr){lock->lock}, &error)) return false;
    return true;
}
