/* declock.c - acquire and release; see declock.h for the whole, docs/declock.md for the protocol and its races. */
#include "declock.h"

#include "declock_plants.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define LOCKS_PER_CLIENT 16
#define STALL_ROUND_TRIPS 128
#define SEATS_MAX (1u << 22)
#define CAPACITY_MAX (1u << 16)

struct declock_client *declock_client_of(const struct lockmgr_client *client)
{
    const struct declock_worker *own = client->worker->own;
    uint32_t tender = client->worker->lockmgr->config.clients_per_worker;
    return &own->clients[client->number == LOCKMGR_NO_CLIENT ? tender : client->number];
}

static uint32_t owner_of(const struct declock *declock, const struct lockmgr_client *client)
{
    return declock->flat ? client->id : 0;
}

/* ---- acquire ---- */

/* The agent goes without the lock: another local waiter takes its part. */
static void resign(struct lockmgr_hold *hold, struct declock_seat *seat)
{
    struct declock *declock = declock_of(hold->client->worker);
    seat->agent = NULL;
    declock_local_appoint(declock, seat, hold->client->worker);
    declock_seat_drop(declock, seat, hold->client->worker->ep);
}

static int fail(struct lockmgr_hold *hold, int code)
{
    struct declock *declock = declock_of(hold->client->worker);
    declock_lock(declock, hold->lock.bits, hold->client->worker->ep);
    resign(hold, declock_seat_of(hold));
    declock_unlock(declock, hold->lock.bits);
    return code;
}

/* Until a grant or an abort may have come. */
static int await_grant(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, uint8_t generation)
{
    struct lockmgr_client *client = hold->client;
    uint64_t stall_ns = lockmgr_now_ns(client) + declock_of(client->worker)->stall_ns;
    bool stalls = stall_ns < deadline_ns;
    if (lockmgr_wait(co, client, stalls ? stall_ns : deadline_ns) || !stalls) return 0;
    return declock_reset_stalled(co, client, hold->lock, generation, deadline_ns);
}

enum drive_step { DRIVE_TAKEN, DRIVE_EXPIRED, DRIVE_POLL, DRIVE_ENTER, DRIVE_AWAIT, DRIVE_GIVE_BACK };

/* Under the slot's lock: what the agent does next. */
static enum drive_step drive_step(struct lockmgr_hold *hold, bool expired, bool poll)
{
    struct declock *declock = declock_of(hold->client->worker);
    struct declock_seat *seat = declock_seat_of(hold);
    if (seat->state == DECLOCK_WAITING && seat->granted) seat->state = DECLOCK_HELD;
    if (seat->state == DECLOCK_HELD) {
        /* A place that was given up may be of the other mode. */
        if (!declock_void(seat) && (hold->mode == LOCKMGR_SHARED || seat->place_mode == LOCKMGR_EXCLUSIVE)) {
            declock_local_take(declock, seat, hold);
            return DRIVE_TAKEN;
        }
        seat->state = DECLOCK_BUSY;
        seat->ticketed = false;
        return DRIVE_GIVE_BACK;
    }
    if (expired) {
        resign(hold, seat);
        return DRIVE_EXPIRED;
    }
    if (seat->state == DECLOCK_WAITING) return DRIVE_AWAIT;
    if (poll) return DRIVE_POLL;
    seat->state = DECLOCK_BUSY;
    seat->place_mode = hold->mode;
    return DRIVE_ENTER;
}

/* The agent brings its seat to HELD. */
static int drive(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    struct declock *declock = declock_of(client->worker);
    struct declock_seat *seat = declock_seat_of(hold);
    uint32_t entered = 0, waited = 0;
    bool poll = false; /* a place was lost to a reset: its end comes first */
    for (;;) {
        declock_lock(declock, hold->lock.bits, client->worker->ep);
        bool expired = entered + waited > 0 && lockmgr_now_ns(client) >= deadline_ns;
        enum drive_step step = drive_step(hold, expired, poll);
        uint8_t generation = seat->ticket.generation;
        declock_unlock(declock, hold->lock.bits);
        int code = 0;
        switch (step) {
        case DRIVE_TAKEN:
            client->stats.immediate += entered == 1 && waited == 0;
            return 0;
        case DRIVE_EXPIRED:
            return CELLAR_DEADLINE;
        case DRIVE_POLL:
            code = declock_reset_await(co, client, hold->lock, deadline_ns);
            poll = false;
            break;
        case DRIVE_ENTER:
            entered++;
            code = declock_place_enter(co, hold, deadline_ns);
            poll = true;
            break;
        case DRIVE_AWAIT:
            waited++;
            code = await_grant(co, hold, deadline_ns, generation);
            break;
        case DRIVE_GIVE_BACK:
            code = declock_place_leave(co, client, seat, &(struct declock_waiter){0}, false);
            break;
        }
        if (code) return fail(hold, code);
    }
}

/*
 * A client that begins to wait for a holder of its CN looks which clients wait in other CNs, and since when. Under
 * the slot's lock, which it leaves.
 */
static void prefetch(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    struct declock *declock = declock_of(client->worker);
    struct declock_seat *seat = declock_seat_of(hold);
    uint32_t tenure = seat->tenure;
    enum lockmgr_mode mode = seat->place_mode;
    uint16_t stamp = 0;
    seat->prefetching = true;
    declock_unlock(declock, hold->lock.bits);
    bool known = declock_fetch(co, client, hold->lock) == 0 &&
                 cql_earliest(&declock->cql, declock_client_of(client)->words, mode, &stamp);
    declock_lock(declock, hold->lock.bits, client->worker->ep);
    seat->prefetching = false;
    if (!known || seat->tenure != tenure || seat->state != DECLOCK_HELD || seat->remote_known) return;
    seat->remote_known = true;
    seat->remote_stamp = stamp;
}

/* In the local queue until it is given a role; QUEUED: the deadline has come. */
static enum declock_role await_role(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    struct declock *declock = declock_of(client->worker);
    struct declock_seat *seat = declock_seat_of(hold);
    bool asks = declock->policy != DECLOCK_LOCAL_PREFER && declock->policy != DECLOCK_LOCAL_BOUND;
    if (asks && seat->state == DECLOCK_HELD && !seat->remote_known && !seat->prefetching) prefetch(co, hold);
    for (;;) {
        enum declock_role role = (enum declock_role)hold->words[DECLOCK_ROLE];
        bool expired = role == DECLOCK_QUEUED && lockmgr_now_ns(client) >= deadline_ns;
        if (expired) declock_local_remove(seat, hold);
        if (expired || role != DECLOCK_QUEUED) {
            declock_seat_drop(declock, seat, client->worker->ep);
            declock_unlock(declock, hold->lock.bits);
            return role;
        }
        declock_unlock(declock, hold->lock.bits);
        lockmgr_wait(co, client, deadline_ns);
        declock_lock(declock, hold->lock.bits, client->worker->ep);
    }
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    struct declock *declock = declock_of(client->worker);
    struct fabric_ep *ep = client->worker->ep;
    declock_lock(declock, hold->lock.bits, ep);
    struct declock_seat *seat = declock_seat_make(declock, hold->lock.bits, owner_of(declock, client), ep);
    if (!seat) {
        declock_unlock(declock, hold->lock.bits);
        return CELLAR_FULL;
    }
    hold->words[DECLOCK_SEAT] = (uintptr_t)seat;
    hold->words[DECLOCK_STAMP] = declock_stamp(declock, lockmgr_now_ns(client));
    enum declock_role role = DECLOCK_AGENT;
    bool quiet = !seat->agent && !seat->first;
    if (declock_local_joins(declock, seat, hold)) {
        seat->holders++;
        seat->joins++;
        client->stats.immediate++;
        role = DECLOCK_GRANTED;
    } else if (quiet && (seat->state == DECLOCK_IDLE || seat->state == DECLOCK_WAITING)) {
        seat->agent = hold; /* a place may be there already, of one that gave up */
    } else {
        declock_local_append(seat, hold);
        role = DECLOCK_QUEUED;
    }
    if (role != DECLOCK_QUEUED)
        declock_unlock(declock, hold->lock.bits);
    else
        role = await_role(co, hold, deadline_ns);
    client->stats.local += role == DECLOCK_GRANTED;
    if (role == DECLOCK_AGENT) return drive(co, hold, deadline_ns);
    return role == DECLOCK_GRANTED ? 0 : CELLAR_DEADLINE;
}

/* ---- release ---- */

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    struct declock *declock = declock_of(client->worker);
    struct declock_seat *seat = declock_seat_of(hold);
    declock_lock(declock, hold->lock.bits, client->worker->ep);
    must(seat->state == DECLOCK_HELD && seat->holders > 0);
    bool last = --seat->holders == 0, is_void = declock_void(seat);
    bool kept = last && !is_void && declock_local_hand_over(declock, seat, client->worker);
    struct declock_waiter next = {0};
    bool alone = seat->alone && !seat->remote_known;
    if (last && !kept) {
        seat->state = DECLOCK_BUSY;
        seat->ticketed = false;
        next = declock_local_next(declock, seat);
    }
    declock_unlock(declock, hold->lock.bits);
    if (!last || kept) return 0;
    /* The queue that the place is in will be cleared: nothing is taken off it. */
    if (!is_void) return declock_place_leave(co, client, seat, &next, alone);
    declock_place_idle(co, client, seat);
    return 0;
}

static bool followed(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    struct declock *declock = declock_of(client->worker);
    struct declock_seat *seat = declock_seat_of(hold);
    uint16_t stamp;
    declock_lock(declock, hold->lock.bits, client->worker->ep);
    bool known = seat->remote_known;
    enum lockmgr_mode mode = seat->place_mode;
    declock_unlock(declock, hold->lock.bits);
    if (known) return true;
    if (declock_fetch(co, client, hold->lock)) return true;
    return cql_earliest(&declock->cql, declock_client_of(client)->words, mode, &stamp);
}

/* ---- messages, and what is due without them ---- */

static void granted(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    struct declock *declock = declock_of(worker);
    struct declock_worker *own = worker->own;
    if (wire->client >= worker->lockmgr->config.clients_per_worker) return;
    uint32_t owner = owner_of(declock, &worker->clients[wire->client]);
    declock_lock(declock, wire->lock, worker->ep);
    struct declock_seat *seat = declock_seat_find(declock, wire->lock, owner);
    bool ours = seat && seat->ticketed && !seat->granted && seat->ticket.index == wire->words[0] &&
                seat->ticket.generation == (uint8_t)wire->words[1];
    if (ours) {
        seat->granted = true;
        seat->remote_known = wire->words[2] == 1;
        seat->remote_stamp = (uint16_t)wire->words[3];
        if (seat->agent) {
            lockmgr_signal(worker, seat->agent->client);
        } else if (!seat->passing && !PLANT(declock_abandoned_kept)) {
            seat->passing = true;
            seat->pass_next = own->passes;
            own->passes = seat;
            lockmgr_signal(worker, &worker->tender);
        }
    }
    declock_unlock(declock, wire->lock);
}

static void deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                    const struct lockmgr_message_wire *wire)
{
    if (wire->kind == DECLOCK_GRANT) granted(worker, wire);
    bool reset = wire->kind == DECLOCK_RESET || wire->kind == DECLOCK_ACK || wire->kind == DECLOCK_NAMED;
    if (reset) declock_reset_deliver(worker, message, wire);
}

/* The lock was granted to one that had given up: it goes to the next. */
static int pass_on(struct coro *co, struct lockmgr_client *tender, struct declock_seat *seat)
{
    struct declock *declock = declock_of(tender->worker);
    uint64_t lock = seat->record->lock;
    declock_lock(declock, lock, tender->worker->ep);
    seat->passing = false;
    bool mine = seat->state == DECLOCK_WAITING && seat->granted && !seat->agent;
    if (mine) {
        seat->state = DECLOCK_BUSY;
        seat->ticketed = false;
    }
    declock_seat_drop(declock, seat, tender->worker->ep);
    declock_unlock(declock, lock);
    return mine ? declock_place_leave(co, tender, seat, &(struct declock_waiter){0}, false) : 0;
}

static uint64_t tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct declock_worker *own = worker->own;
    declock_reset_answer_all(co, &worker->tender);
    while (own->passes) {
        struct declock_seat *seat = own->passes;
        own->passes = seat->pass_next;
        worker->tender.stats.failures += pass_on(co, &worker->tender, seat) != 0;
        declock_reset_answer_all(co, &worker->tender);
    }
    uint64_t left_ns = declock_reset_tend(co, &worker->tender), clock_ns = declock_clock_tend(co, &worker->tender);
    worker->awaits = own->left;
    return left_ns < clock_ns ? left_ns : clock_ns;
}

/* Not while the CN has a place anywhere: of one that gave up, the grant is yet to come. */
static bool quiet(const struct lockmgr_worker *worker)
{
    const struct declock_worker *own = worker->own;
    return !own->passes && own->ack_count == 0 && atomic_load(&declock_of(worker)->used) == 0;
}

/* ---- birth and death ---- */

static bool is_flat(const struct lockmgr_config *config) { return strcmp(config->algorithm, "declock-flat") == 0; }

static uint64_t clients_of(const struct lockmgr_config *config)
{
    return (uint64_t)config->cn_count * config->workers_per_cn * config->clients_per_worker;
}

static bool shape_of(const struct lockmgr_config *config, struct cql *cql)
{
    uint64_t places = is_flat(config) ? clients_of(config) : config->cn_count;
    uint64_t capacity = config->capacity ? config->capacity : places;
    if (capacity > CAPACITY_MAX || places > CQL_CLIENTS_MAX) return false;
    return cql_shape(cql, (uint32_t)capacity, (uint32_t)places, config->version_bits);
}

static uint64_t seats_of(const struct lockmgr_config *config)
{
    uint32_t locks = config->locks_per_client ? config->locks_per_client : LOCKS_PER_CLIENT;
    /* As many again for places of waiters that gave up. */
    return 2ull * locks * config->workers_per_cn * config->clients_per_worker + 64;
}

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    struct cql cql;
    if (config->cn_count > CQL_CNS_MAX || clients_of(config) >= CQL_CLIENTS_MAX || seats_of(config) > SEATS_MAX)
        return err_set(error, CELLAR_INVALID, "too many compute nodes, clients or locks of a client for %s",
                       config->algorithm);
    if (!shape_of(config, &cql))
        return err_set(error, CELLAR_INVALID, "a lock's header has no room for a queue of %u with versions of %u bits",
                       config->capacity, config->version_bits);
    return 0;
}

static uint64_t lock_bytes(const struct lockmgr_config *config)
{
    struct cql cql;
    must(shape_of(config, &cql));
    return cql_bytes(&cql);
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    struct cql cql;
    must(shape_of(config, &cql));
    struct cql_header header = cql_header_of(&cql, *(const uint64_t *)bytes);
    if (header.resetter)
        return err_set(error, CELLAR_CORRUPT, "node %u has not finished a reset", header.resetter - 1u);
    if (header.size || header.writers)
        return err_set(error, CELLAR_CORRUPT, "%u hold or wait, %u of them writers", header.size, header.writers);
    return 0;
}

static void close_declock(struct lockmgr *lockmgr)
{
    struct declock *declock = lockmgr->shared;
    declock_table_close(declock);
    free(declock);
}

static int open_declock(struct lockmgr *lockmgr, struct cellar_error *error)
{
    const struct lockmgr_config *config = &lockmgr->config;
    struct declock *declock = lockmgr->shared = calloc(1, sizeof *declock);
    if (!declock) return err_set(error, CELLAR_NOMEM, "no memory for a table of locks");
    declock->lockmgr = lockmgr;
    declock->flat = is_flat(config);
    declock->policy = declock->flat ? DECLOCK_TS_TF : (enum declock_policy)lockmgr->policy;
    declock->stall_ns =
        config->lease_ns ? config->lease_ns : STALL_ROUND_TRIPS * (config->rtt_ns ? config->rtt_ns : 1000);
    must(shape_of(config, &declock->cql));
    if (declock_table_open(declock, (uint32_t)seats_of(config)) == 0) return 0;
    close_declock(lockmgr);
    return err_set(error, CELLAR_NOMEM, "no memory for a table of locks");
}

static void worker_close(struct lockmgr_worker *worker)
{
    struct declock_worker *own = worker->own;
    free(own->memory);
    free(own->clients);
    free(own);
}

static void worker_forget(struct lockmgr_worker *worker)
{
    struct declock_worker *own = worker->own;
    own->ack_count = 0;
    own->passes = NULL;
    own->left = NULL;
}

static void forget(struct lockmgr *lockmgr) { declock_table_clear(lockmgr->shared); }

static int worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct declock *declock = declock_of(worker);
    uint32_t count = worker->lockmgr->config.clients_per_worker + 1;
    uint64_t words_bytes = (cql_bytes(&declock->cql) + 63) / 64 * 64;
    uint64_t bytes = words_bytes + DECLOCK_MESSAGES * sizeof(struct lockmgr_message_wire);
    struct declock_worker *own = worker->own = calloc(1, sizeof *own);
    if (own) own->clients = calloc(count, sizeof *own->clients);
    if (own) own->memory = aligned_alloc(64, bytes * count);
    if (!own || !own->clients || !own->memory) {
        if (own) worker_close(worker);
        return err_set(error, CELLAR_NOMEM, "no memory for %u clients of locks", count);
    }
    memset(own->memory, 0, bytes * count);
    for (uint32_t i = 0; i < count; i++) {
        own->clients[i].words = (uint64_t *)(void *)(own->memory + i * bytes);
        own->clients[i].messages = (struct lockmgr_message_wire *)(void *)(own->memory + i * bytes + words_bytes);
    }
    worker->tender.releasing = true;
    int code = fabric_register_local(worker->lockmgr->fabric, own->memory, bytes * count);
    if (code == 0) return 0;
    worker_close(worker);
    return err_set(error, code, "the fabric refused the lock clients' buffers");
}

static uint32_t policy_promises(const struct lockmgr_config *config)
{
    return lockmgr_policy(config) == DECLOCK_LOCAL_PREFER ? 0 : LOCKMGR_BOUNDED;
}

static const char *const policies[] = {"ts-pf", "ts-tf", "remote-prefer", "local-prefer", "local-bound", NULL};

#define DECLOCK_CALLS                                                                                                  \
    .lock_bytes = lock_bytes, .acquire = acquire, .release = release, .audit = audit, .check = check,                  \
    .open = open_declock, .close = close_declock, .worker_open = worker_open, .worker_close = worker_close,            \
    .deliver = deliver, .tend = tend, .quiet = quiet, .followed = followed, .worker_forget = worker_forget,            \
    .forget = forget

const struct lockmgr_algorithm lockmgr_algorithm_declock = {
    .name = "declock",
    .about = "cooperative queue of compute nodes, local queues within them (DecLock)",
    .policies = policies,
    .room_policies = ~0u,
    .promises = LOCKMGR_SHARES | LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS | LOCKMGR_OVERFLOWS,
    .policy_promises = policy_promises,
    DECLOCK_CALLS};

const struct lockmgr_algorithm lockmgr_algorithm_declock_flat = {
    .name = "declock-flat",
    .about = "cooperative queue of clients (DecLock without its hierarchy)",
    .room_policies = ~0u,
    .promises =
        LOCKMGR_SHARES | LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED | LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS | LOCKMGR_OVERFLOWS,
    DECLOCK_CALLS};
