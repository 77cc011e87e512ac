/*
 * shiftlock_recovery.c - what a worker does for ShiftLock besides its clients' own acquires and releases: messages,
 * places whose clients have given up, locks that stand still, and the worker's half of a reset.
 *
 * The server resets a lock only after each living worker has answered FROZEN: from its FREEZE on, a worker takes no
 * lock of that era any more (whatever an operation that was under way brings back), and it answers when none of its
 * clients holds the lock. So no holder is left, and no release is under way that would count in the new era: without
 * this a late reader's FAA would take a reader off that a later writer must wait for. A compute node that is dead and
 * fenced need not answer.
 */
#include "must.h"
#include "shiftlock.h"
#include "shiftlock_plants.h"

#include <stdlib.h>
#include <string.h>

#define DRIFT 10000        /* waits are longer by one part in so many: clocks differ (section 3.6) */
#define GHOST_POLL_NS 8000 /* between two looks of a ghost that waits for readers */
#define ACK_NS 2000        /* until it is looked again whether a client still holds */

/* ---- frozen locks ---- */

struct shiftlock_frozen *shiftlock_frozen_of(const struct lockmgr_worker *worker, struct fabric_addr lock)
{
    const struct shiftlock_worker *own = worker->own;
    for (uint32_t i = 0; i < own->frozen_count; i++)
        if (own->frozen[i].lock.bits == lock.bits) return &own->frozen[i];
    return NULL;
}

bool shiftlock_is_frozen(const struct lockmgr_worker *worker, struct fabric_addr lock, uint16_t era)
{
    const struct shiftlock_frozen *frozen = shiftlock_frozen_of(worker, lock);
    return frozen && !shiftlock_era_after(era, frozen->era);
}

/* Waiters for that lock look again. */
static void signal_waiters(struct lockmgr_worker *worker, struct fabric_addr lock)
{
    for (uint32_t i = 0; i < worker->client_count; i++)
        for (struct lockmgr_hold *hold = worker->clients[i].holds; hold; hold = hold->next)
            if (hold->lock.bits == lock.bits) lockmgr_signal(worker, &worker->clients[i]);
}

static void set_floor(struct shiftlock_place *place, uint16_t era)
{
    place->floored = true;
    place->floor = era;
}

void shiftlock_seen_era(struct lockmgr_worker *worker, struct fabric_addr lock, uint16_t era)
{
    struct shiftlock_worker *own = worker->own;
    struct shiftlock_frozen *frozen = shiftlock_frozen_of(worker, lock);
    if (!frozen || !shiftlock_era_after(era, frozen->era)) return;
    for (uint32_t i = 0; i < worker->client_count; i++)
        for (struct lockmgr_hold *hold = worker->clients[i].holds; hold; hold = hold->next)
            if (hold->lock.bits == lock.bits && !hold->held) set_floor(shiftlock_place(hold), frozen->era);
    *frozen = own->frozen[--own->frozen_count];
    signal_waiters(worker, lock);
    lockmgr_stir(worker);
}

static void freeze(struct lockmgr_worker *worker, struct fabric_addr lock, uint16_t era, uint32_t server_worker)
{
    struct shiftlock_worker *own = worker->own;
    struct shiftlock_frozen *frozen = shiftlock_frozen_of(worker, lock);
    if (!frozen && own->frozen_count == own->frozen_capacity) {
        own->frozen_capacity = own->frozen_capacity ? own->frozen_capacity * 2 : 8;
        own->frozen = realloc(own->frozen, own->frozen_capacity * sizeof *own->frozen);
        must(own->frozen);
    }
    if (!frozen) *(frozen = &own->frozen[own->frozen_count++]) = (struct shiftlock_frozen){.lock = lock, .era = era};
    if (!shiftlock_era_after(frozen->era, era)) frozen->era = era;
    frozen->server_worker = server_worker;
    frozen->told = false;
    signal_waiters(worker, lock);
}

static bool holds(const struct lockmgr_worker *worker, struct fabric_addr lock)
{
    for (uint32_t i = 0; i < worker->client_count; i++)
        for (const struct lockmgr_hold *hold = worker->clients[i].holds; hold; hold = hold->next)
            if (hold->lock.bits == lock.bits && hold->held) return true;
    return false;
}

/* True: some are still to be told. */
static bool tell_server(struct lockmgr_worker *worker)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct shiftlock_worker *own = worker->own;
    bool left = false;
    for (uint32_t i = 0; i < own->frozen_count; i++) {
        struct shiftlock_frozen *frozen = &own->frozen[i];
        if (frozen->told) continue;
        if (holds(worker, frozen->lock) && !PLANT(shiftlock_frozen_at_once)) {
            left = true;
            continue;
        }
        struct lockmgr_message_wire wire = {
            .lock = frozen->lock.bits, .client = LOCKMGR_NO_CLIENT, .kind = SHIFTLOCK_FROZEN, .words = {frozen->era}};
        lockmgr_queue(worker, config->server_cn, frozen->server_worker, &wire);
        frozen->told = true;
    }
    return left;
}

/* ---- standing still ---- */

void shiftlock_watch(struct lockmgr_client *client, struct fabric_addr lock, struct shiftlock_watch *watch,
                     struct shiftlock_entry entry)
{
    const struct lockmgr_config *config = &client->worker->lockmgr->config;
    uint64_t now_ns = lockmgr_now_ns(client), lease_ns = shiftlock_lease_ns(config), epoch = entry.word[0] & 1;
    lease_ns += lease_ns / DRIFT;
    if (watch->since_ns == 0 || watch->word != entry.word[1] || watch->epoch != epoch) {
        *watch = (struct shiftlock_watch){.word = entry.word[1], .epoch = epoch, .since_ns = now_ns};
        return;
    }
    if (config->server_workers == 0 || now_ns - watch->since_ns < 3 * lease_ns) return;
    if (watch->asked_ns && now_ns - watch->asked_ns < lease_ns) return;
    watch->asked_ns = now_ns;
    struct lockmgr_message_wire wire = {
        .lock = lock.bits, .client = LOCKMGR_NO_CLIENT, .kind = SHIFTLOCK_RECOVER, .words = {entry.word[1], epoch}};
    client->stats.resets++;
    lockmgr_queue(client->worker, config->server_cn, lockmgr_server_of(config, lock), &wire);
}

/* ---- ghosts ---- */

struct shiftlock_ghost *shiftlock_ghost_new(struct lockmgr_client *client, struct fabric_addr lock, uint64_t tail,
                                            const struct shiftlock_place *place)
{
    struct shiftlock_worker *own = client->worker->own;
    struct shiftlock_ghost *ghost = calloc(1, sizeof *ghost);
    if (!ghost) return NULL;
    *ghost = (struct shiftlock_ghost){
        .next = own->ghosts, .lock = lock, .client = client->number, .tail = tail, .place = *place};
    own->ghosts = ghost;
    lockmgr_stir(client->worker);
    return ghost;
}

static struct shiftlock_place *ghost_place(const struct shiftlock_worker *own, uint32_t client, uint64_t lock,
                                           uint16_t ticket)
{
    struct shiftlock_ghost *ghost = own->ghosts;
    while (ghost && (ghost->client != client || ghost->lock.bits != lock || ghost->place.ticket != ticket))
        ghost = ghost->next;
    return ghost ? &ghost->place : NULL;
}

enum ghost_is { GHOST_WAITS, GHOST_GONE };

static void pass_on(struct lockmgr_worker *worker, const struct shiftlock_ghost *ghost)
{
    struct lockmgr_message_wire wire;
    uint32_t cn, to;
    if (shiftlock_pass(&worker->lockmgr->config, ghost->lock, &ghost->place, &cn, &to, &wire))
        lockmgr_queue(worker, cn, to, &wire);
}

/* It has the lock, and knows of no successor. */
static enum ghost_is leave(struct coro *co, struct lockmgr_worker *worker, struct shiftlock_ghost *ghost)
{
    struct shiftlock_entry old;
    int code = shiftlock_leave(co, &worker->tender, ghost->lock, ghost->tail, &ghost->place, &old);
    if (code) return code == CELLAR_FENCED ? GHOST_GONE : GHOST_WAITS;
    if (shiftlock_era(old) != ghost->place.era || shiftlock_tail(old) == ghost->tail) return GHOST_GONE;
    ghost->tried = true;
    return GHOST_WAITS;
}

/*
 * Whether anything moves, since no other client may want the lock; and, having the turn to wait for readers, whether
 * they are gone. It must not leave before they are: its flip of the epoch would be the second one for a reader that
 * the first one let in and that has not seen that.
 */
static enum ghost_is ghost_judge(struct coro *co, struct lockmgr_worker *worker, struct shiftlock_ghost *ghost)
{
    struct shiftlock_place *place = &ghost->place;
    struct shiftlock_entry entry;
    uint64_t now_ns = fabric_now_ns(worker->ep), period_ns = shiftlock_lease_ns(&worker->lockmgr->config) / 2;
    if (now_ns < ghost->look_ns) return GHOST_WAITS;
    ghost->look_ns =
        now_ns + (place->grant == SHIFTLOCK_DRAIN && period_ns > GHOST_POLL_NS ? GHOST_POLL_NS : period_ns);
    int code = shiftlock_read(co, &worker->tender, ghost->lock, &entry);
    if (code) return code == CELLAR_FENCED ? GHOST_GONE : GHOST_WAITS;
    shiftlock_seen_era(worker, ghost->lock, shiftlock_era(entry));
    if (shiftlock_era(entry) != place->era) return GHOST_GONE;
    bool drained = shiftlock_released(entry) == place->expected || PLANT(shiftlock_ghost_hurries);
    if (place->grant == SHIFTLOCK_DRAIN && drained) {
        place->grant = SHIFTLOCK_HANDOVER;
        lockmgr_stir(worker);
    }
    shiftlock_watch(&worker->tender, ghost->lock, &ghost->watch, entry);
    return GHOST_WAITS;
}

static enum ghost_is tend_ghost(struct coro *co, struct lockmgr_worker *worker, struct shiftlock_ghost *ghost)
{
    const struct shiftlock_place *place = &ghost->place;
    if (shiftlock_is_frozen(worker, ghost->lock, place->era)) return GHOST_GONE;
    if (place->grant && place->successor) {
        pass_on(worker, ghost);
        return GHOST_GONE;
    }
    if (place->grant == SHIFTLOCK_HANDOVER && !ghost->tried && leave(co, worker, ghost) == GHOST_GONE)
        return GHOST_GONE;
    return ghost_judge(co, worker, ghost);
}

/* New ones come at the head while an operation of this one is awaited. */
static void bury(struct shiftlock_worker *own, struct shiftlock_ghost *ghost)
{
    struct shiftlock_ghost **at = &own->ghosts;
    while (*at != ghost) at = &(*at)->next;
    *at = ghost->next;
    free(ghost);
}

uint64_t shiftlock_tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct shiftlock_worker *own = worker->own;
    uint64_t next_ns = UINT64_MAX;
    if (tell_server(worker)) next_ns = fabric_now_ns(worker->ep) + ACK_NS;
    for (struct shiftlock_ghost *ghost = own->ghosts, *next; ghost; ghost = next) {
        enum ghost_is is = tend_ghost(co, worker, ghost);
        next = ghost->next;
        if (is == GHOST_GONE)
            bury(own, ghost);
        else if (ghost->look_ns < next_ns)
            next_ns = ghost->look_ns;
    }
    return next_ns;
}

/* ---- messages ---- */

/* For the place in the queue that the message names: what came too late, or twice, names one that is gone. */
static void deliver_to_place(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    struct fabric_addr lock = {wire->lock};
    uint16_t ticket = (uint16_t)wire->words[SHIFTLOCK_TO], era = (uint16_t)(wire->words[SHIFTLOCK_TO] >> 16);
    struct shiftlock_place *place = shiftlock_place_of(worker, wire->client, wire->lock, ticket);
    bool held_by_client = place != NULL;
    if (!place) place = ghost_place(worker->own, wire->client, wire->lock, ticket);
    if (!place || (place->era_known && place->era != era)) return;
    if (shiftlock_is_frozen(worker, lock, era)) return;
    if (wire->kind == SHIFTLOCK_SUCCESSOR) {
        place->successor = wire->words[SHIFTLOCK_FROM];
    } else if (!place->grant) {
        place->in_a_row = (uint32_t)wire->words[SHIFTLOCK_IN_A_ROW];
        place->expected = wire->words[SHIFTLOCK_EXPECTED] & SHIFTLOCK_RELEASED;
        place->epoch = wire->words[SHIFTLOCK_THEN_EPOCH] & SHIFTLOCK_EPOCH;
        place->grant = (uint8_t)wire->kind;
    }
    if (held_by_client) lockmgr_signal(worker, &worker->clients[wire->client]);
}

void shiftlock_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                       const struct lockmgr_message_wire *wire)
{
    struct fabric_addr lock = {wire->lock};
    uint16_t era = (uint16_t)wire->words[0];
    switch (wire->kind) {
    case SHIFTLOCK_SUCCESSOR:
    case SHIFTLOCK_HANDOVER:
    case SHIFTLOCK_DRAIN:
        deliver_to_place(worker, wire);
        break;
    case SHIFTLOCK_FREEZE:
        freeze(worker, lock, era, message->from_worker);
        break;
    case SHIFTLOCK_THAW:
        shiftlock_seen_era(worker, lock, era);
        break;
    default:
        break;
    }
}
