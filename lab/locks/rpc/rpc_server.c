/*
 * rpc_server.c - the lock server's side: for each lock a list of requests, those that hold in front of those that
 * wait. A worker owns the locks whose address is its; what limits it is its CPU, which a request costs as much as an
 * access to a record.
 */
#include "must.h"
#include "rpc.h"
#include "rpc_plants.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS 1000000  /* for the dead, without a lease to go by */
#define BUCKETS_MIN 1024 /* a power of two */

struct request {
    struct request *next;
    uint64_t ticket;
    uint32_t id;
    uint8_t mode; /* enum lockmgr_mode */
    bool waited, granted;
};

struct lock {
    struct lock *next; /* in its bucket */
    uint64_t bits;
    struct request *first;
    uint32_t readers, writers, waiting; /* of the requests */
};

struct server {
    struct lock **buckets;
    uint32_t bucket_count, lock_count;
    struct request *spare;
    uint64_t look_ns;            /* when to look for the dead */
    bool buried[FABRIC_CNS_MAX]; /* by compute node: it is dead, and nothing of it is left */
};

/* ---- locks by address ---- */

static struct lock **bucket_of(const struct server *server, uint64_t bits)
{
    return &server->buckets[(bits * 0x9e3779b97f4a7c15ull >> 32) & (server->bucket_count - 1)];
}

static struct lock *find_lock(const struct server *server, uint64_t bits)
{
    struct lock *lock = *bucket_of(server, bits);
    while (lock && lock->bits != bits) lock = lock->next;
    return lock;
}

static void grow(struct server *server)
{
    struct lock **old = server->buckets;
    uint32_t count = server->bucket_count;
    server->bucket_count = count ? count * 2 : BUCKETS_MIN;
    server->buckets = calloc(server->bucket_count, sizeof *server->buckets);
    must(server->buckets);
    for (uint32_t i = 0; i < count; i++) {
        for (struct lock *lock = old[i], *next; lock; lock = next) {
            struct lock **bucket = bucket_of(server, lock->bits);
            next = lock->next;
            lock->next = *bucket;
            *bucket = lock;
        }
    }
    free(old);
}

static struct lock *lock_of(struct server *server, uint64_t bits)
{
    struct lock *lock = find_lock(server, bits);
    if (lock) return lock;
    if (server->lock_count == server->bucket_count) grow(server);
    lock = calloc(1, sizeof *lock);
    must(lock);
    struct lock **bucket = bucket_of(server, bits);
    *lock = (struct lock){.next = *bucket, .bits = bits};
    server->lock_count++;
    return *bucket = lock;
}

int rpc_server_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    struct server *server = worker->own = calloc(1, sizeof *server);
    if (!server) return err_set(error, CELLAR_NOMEM, "no memory for a lock server");
    grow(server);
    return 0;
}

static void free_requests(struct request *request)
{
    while (request) {
        struct request *next = request->next;
        free(request);
        request = next;
    }
}

void rpc_server_close(struct lockmgr_worker *worker)
{
    struct server *server = worker->own;
    for (uint32_t i = 0; i < server->bucket_count; i++) {
        while (server->buckets[i]) {
            struct lock *lock = server->buckets[i];
            server->buckets[i] = lock->next;
            free_requests(lock->first);
            free(lock);
        }
    }
    free_requests(server->spare);
    free(server->buckets);
    free(server);
}

/* ---- requests ---- */

static struct request **find_request(struct lock *lock, uint32_t id, uint64_t ticket)
{
    struct request **at = &lock->first;
    while (*at && ((*at)->id != id || ((*at)->ticket != ticket && !PLANT(rpc_release_unmatched)))) at = &(*at)->next;
    return at;
}

static struct request *new_request(struct server *server)
{
    struct request *request = server->spare;
    if (!request)
        request = malloc(sizeof *request);
    else
        server->spare = request->next;
    must(request);
    return request;
}

static void reply(struct lockmgr_worker *worker, uint64_t lock, enum rpc_kind kind, const struct request *request)
{
    uint32_t cn, to, client;
    bool there = lockmgr_locate(&worker->lockmgr->config, request->id, &cn, &to, &client);
    must(there);
    struct lockmgr_message_wire wire = {.lock = lock,
                                        .client = client,
                                        .kind = (uint16_t)kind,
                                        .words = {request->id, request->ticket, request->waited}};
    lockmgr_queue(worker, cn, to, &wire);
}

/* INV-RPC-1 */
static bool compatible(const struct lock *lock, enum lockmgr_mode mode)
{
    if (mode == LOCKMGR_SHARED && PLANT(rpc_reader_unasked)) return true;
    return lock->writers == 0 && (mode == LOCKMGR_SHARED || lock->readers == 0);
}

static void grant(struct lockmgr_worker *worker, struct lock *lock, struct request *request)
{
    request->granted = true;
    if (request->mode == LOCKMGR_SHARED)
        lock->readers++;
    else
        lock->writers++;
    reply(worker, lock->bits, RPC_GRANT, request);
}

/* INV-RPC-3. By `reorder` readers go with the first one that may. */
static void grant_next(struct lockmgr_worker *worker, struct lock *lock)
{
    bool reorders = worker->lockmgr->policy == RPC_REORDER, behind = false;
    for (struct request *request = lock->first; request; request = request->next) {
        if (request->granted) continue;
        bool may = compatible(lock, request->mode) && !(behind && (!reorders || request->mode == LOCKMGR_EXCLUSIVE));
        if (!may && !reorders) return;
        behind = behind || !may;
        if (!may) continue;
        lock->waiting--;
        grant(worker, lock, request);
    }
}

static void end_request(struct lockmgr_worker *worker, struct lock *lock, struct request **at)
{
    struct server *server = worker->own;
    struct request *request = *at;
    *at = request->next;
    if (!request->granted)
        lock->waiting--;
    else if (request->mode == LOCKMGR_SHARED)
        lock->readers--;
    else
        lock->writers--;
    request->next = server->spare;
    server->spare = request;
    if (lock->waiting) grant_next(worker, lock);
}

/* May it go to the front: is there no request whose turn is before? */
static bool in_turn(const struct lockmgr_worker *worker, const struct lock *lock, enum lockmgr_mode mode)
{
    if (worker->lockmgr->policy == RPC_FIFO && !PLANT(rpc_overtakes)) return lock->waiting == 0;
    return lock->waiting == 0 || mode == LOCKMGR_SHARED;
}

static bool has_room(const struct lockmgr_worker *worker, const struct lock *lock)
{
    uint32_t capacity = worker->lockmgr->config.capacity;
    if (worker->lockmgr->policy == RPC_TRY) return false;
    return capacity == 0 || lock->waiting < capacity;
}

static void begin_request(struct lockmgr_worker *worker, struct lock *lock, const struct request *wanted)
{
    enum lockmgr_mode mode = (enum lockmgr_mode)wanted->mode;
    struct request **at = find_request(lock, wanted->id, wanted->ticket);
    if (*at) { /* the same again */
        reply(worker, lock->bits, (*at)->granted ? RPC_GRANT : RPC_QUEUED, *at);
        return;
    }
    bool now = in_turn(worker, lock, mode) && compatible(lock, mode);
    if (!now && !has_room(worker, lock)) {
        reply(worker, lock->bits, RPC_REFUSED, wanted);
        return;
    }
    *at = new_request(worker->own);
    **at = *wanted;
    (*at)->waited = !now;
    if (now)
        grant(worker, lock, *at);
    else
        lock->waiting++;
}

void rpc_server_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                        const struct lockmgr_message_wire *wire)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint32_t cn, from, client, id = (uint32_t)wire->words[0];
    fabric_work(worker->ep, 1);
    if (!lockmgr_locate(config, id, &cn, &from, &client) || cn != message->from_cn || from != message->from_worker)
        return;
    if (wire->words[2] > LOCKMGR_EXCLUSIVE) return;
    /* What it said before it died may be read after its burial. */
    if (lockmgr_dead(worker->lockmgr, cn)) return;
    struct lock *lock = lock_of(worker->own, wire->lock);
    struct request wanted = {.id = id, .ticket = wire->words[1], .mode = (uint8_t)wire->words[2]};
    if (wire->kind == RPC_ACQUIRE) begin_request(worker, lock, &wanted);
    if (wire->kind != RPC_RELEASE) return;
    struct request **at = find_request(lock, id, wire->words[1]);
    if (*at) end_request(worker, lock, at);
}

/* ---- the dead ---- */

static void bury_in(struct lockmgr_worker *worker, struct lock *lock, uint32_t dead)
{
    uint32_t cn, from, client;
    for (struct request **at = &lock->first; *at;) {
        bool there = lockmgr_locate(&worker->lockmgr->config, (*at)->id, &cn, &from, &client);
        must(there);
        if (cn == dead)
            end_request(worker, lock, at);
        else
            at = &(*at)->next;
    }
}

static void bury(struct lockmgr_worker *worker, uint32_t cn)
{
    struct server *server = worker->own;
    server->buried[cn] = true;
    for (uint32_t i = 0; i < server->bucket_count; i++)
        for (struct lock *lock = server->buckets[i]; lock; lock = lock->next) bury_in(worker, lock, cn);
}

uint64_t rpc_server_tend(struct coro *co, struct lockmgr_worker *worker)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct server *server = worker->own;
    uint64_t now_ns = fabric_now_ns(worker->ep);
    (void)co;
    if (!config->view.dead || PLANT(rpc_dead_hold)) return UINT64_MAX;
    if (now_ns < server->look_ns) return server->look_ns;
    for (uint32_t cn = 0; cn < config->cn_count; cn++)
        if (!server->buried[cn] && lockmgr_dead(worker->lockmgr, cn)) bury(worker, cn);
    return server->look_ns = now_ns + (config->lease_ns ? config->lease_ns / 4 : LOOK_NS);
}

int rpc_server_audit(const struct lockmgr_worker *worker, struct fabric_addr bits, struct cellar_error *error)
{
    const struct lock *lock = find_lock(worker->own, bits.bits);
    if (!lock || !lock->first) return 0;
    return err_set(error, CELLAR_CORRUPT, "the server has client %u %s it", lock->first->id,
                   lock->first->granted ? "holding" : "waiting for");
}
