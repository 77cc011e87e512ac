/*
 * netlock_move.c - locks move between the server and the switch while clients use them (netlock.h draws the way);
 * which ones, the knapsack says; and all of them come back when the switch has lost its registers.
 *
 * Numbers keep the order: from PREPARED on the switch numbers all requests and passes them on, and a request that
 * came to the server before has the numbers below. The switch does not know them until INSTALL tells how many there
 * are.
 */
#include "must.h"
#include "netlock.h"
#include "netlock_plants.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HEADROOM 2    /* slots for each request that was seen at once: a queue that overflows is slow */
#define MOVING_MAX 64 /* locks on their way at once: more would drown the switch's control plane */
#define ASKED_MIN 7   /* a question is repeated after 2 to the power of that round trips, */
#define ASKED_MAX 10  /* ... then twice as long each time, up to 2 to the power of that; */
#define ASKED_LEASE                                                                                                    \
    8 /* ... or so small a part of a lease. The control plane is slow: sooner, it would drown in questions */
#define KEEP_PERCENT 300 /* what a lock in the switch counts, 100 of another: moves cost much, and rates are noisy */
#define GROW_MISSES 100  /* per mille of requests */
#define FORGET_MISSES                                                                                                  \
    16 /* of what a lock's requests missed in the switch, so little is forgotten each time it is not there */

static struct netlock_lock *lock_of(struct netlock_demand *demand)
{
    return (struct netlock_lock *)(void *)((char *)demand - offsetof(struct netlock_lock, demand));
}

static uint32_t priorities_of(const struct lockmgr_worker *worker)
{
    return netlock_switch_config_of(&worker->lockmgr->config).priorities;
}

/* ---- questions ---- */

static uint64_t patience_ns(const struct lockmgr_config *config, const struct netlock_lock *lock)
{
    uint64_t patience_ns = netlock_rtt_ns(config) << (ASKED_MIN - 1 + lock->asked);
    uint64_t most_ns = netlock_lease_ns(config) / ASKED_LEASE;
    return patience_ns < most_ns ? patience_ns : most_ns;
}

static void ask(struct lockmgr_worker *worker, struct netlock_lock *lock)
{
    uint64_t now_ns = fabric_now_ns(worker->ep);
    if (lock->asked && now_ns - lock->asked_ns < patience_ns(&worker->lockmgr->config, lock)) return;
    lock->asked_ns = now_ns;
    lock->asked += lock->asked < ASKED_MAX - ASKED_MIN + 1;
    struct netlock_packet packet = {.lock = lock->lock, .move = lock->move};
    packet.incarnation = netlock_server_of(worker)->incarnation;
    if (lock->place == NETLOCK_PAUSING) {
        packet.op = NETLOCK_PREPARE;
        packet.slot = lock->left;
        packet.seq = lock->slots;
    } else if (lock->place == NETLOCK_INSTALLING) {
        packet.op = NETLOCK_INSTALL;
        packet.prev = (uint64_t)lock->waits[1] << 32 | lock->waits[0];
        packet.seq = (uint64_t)lock->waits[3] << 32 | lock->waits[2];
    } else {
        packet.op = NETLOCK_CLOSE;
    }
    netlock_to_switch(worker, &packet);
}

/* ---- in ---- */

static void begin_move(struct lockmgr_worker *worker, struct netlock_lock *lock, enum netlock_place place)
{
    struct netlock_server *server = netlock_server_of(worker);
    lock->place = place;
    lock->asked = 0;
    lock->moving = server->moving;
    server->moving = lock;
    server->moving_count++;
    lockmgr_stir(worker);
}

static void end_move(struct lockmgr_worker *worker, struct netlock_lock *lock, enum netlock_place place)
{
    struct netlock_server *server = netlock_server_of(worker);
    struct netlock_lock **at = &server->moving;
    while (*at && *at != lock) at = &(*at)->moving;
    if (*at) {
        *at = lock->moving;
        server->moving_count--;
    }
    lock->place = place;
}

static bool move_in(struct lockmgr_worker *worker, struct netlock_lock *lock, uint32_t slots)
{
    struct netlock_server *server = netlock_server_of(worker);
    if (!netlock_regions_take(&server->regions, slots, &lock->left)) return false;
    lock->slots = slots;
    lock->move = ++server->moves;
    for (uint32_t i = 0; i < NETLOCK_PRIORITIES; i++)
        lock->returned[i] = lock->sent[i] = lock->high[i] = NETLOCK_BASE_SEQ << NETLOCK_SEQ_SHIFT;
    server->preparing = lock;
    server->away++;
    begin_move(worker, lock, NETLOCK_PAUSING);
    ask(worker, lock);
    return true;
}

/* The next of those that memory was dealt to, as far as there is room. */
static void move_next_in(struct lockmgr_worker *worker)
{
    struct netlock_server *server = netlock_server_of(worker);
    uint32_t away_max =
        netlock_switch_config_of(&worker->lockmgr->config).locks / worker->lockmgr->config.server_workers;
    while (!server->preparing && server->next_in < server->order_count && server->away < away_max &&
           server->moving_count < MOVING_MAX) {
        struct netlock_lock *lock = lock_of(server->order[server->next_in++]);
        bool quiet = lock->not_before_ns <= fabric_now_ns(worker->ep);
        if (lock->place == NETLOCK_OWNED && lock->demand.slots && quiet)
            (void)move_in(worker, lock, lock->demand.slots);
    }
}

/* Those that came before the switch numbered any get the numbers below. */
static void number_waiting(struct netlock_lock *lock, uint32_t priority)
{
    struct netlock_queue *queue = &lock->waiting[priority], *over = &lock->over[priority];
    uint32_t count = 0, at = 0;
    for (const struct netlock_request *request = queue->first; request; request = request->next) count++;
    must(count < NETLOCK_BASE_SEQ);
    for (struct netlock_request *request = queue->first; request; request = request->next)
        request->seq = (NETLOCK_BASE_SEQ - count + ++at) << NETLOCK_SEQ_SHIFT;
    lock->waits[priority] = count;
    lock->returned[priority] = lock->high[priority] = (NETLOCK_BASE_SEQ - count) << NETLOCK_SEQ_SHIFT;
    if (!queue->last) return;
    queue->last->next = over->first;
    over->first = queue->first;
    if (!over->last) over->last = queue->last;
    *queue = (struct netlock_queue){0};
}

static void install(struct lockmgr_worker *worker, struct netlock_lock *lock)
{
    for (uint32_t i = 0; i < NETLOCK_PRIORITIES; i++) number_waiting(lock, i);
    lock->place = NETLOCK_INSTALLING;
    lock->asked = 0;
    ask(worker, lock);
}

/* ---- out ---- */

/* The lock is the server's again. */
static void take_back(struct lockmgr_worker *worker, struct netlock_lock *lock)
{
    struct netlock_server *server = netlock_server_of(worker);
    struct netlock_request *request;
    netlock_regions_give(&server->regions, lock->left, lock->slots);
    server->away--;
    for (uint32_t i = 0; i < NETLOCK_PRIORITIES; i++)
        while ((request = netlock_queue_take(&lock->over[i]))) {
            if (request->client)
                netlock_queue_add(&lock->waiting[i], request);
            else
                netlock_request_free(worker, request);
        }
    end_move(worker, lock, NETLOCK_OWNED);
}

void netlock_move_all_back(struct lockmgr_worker *worker, uint32_t incarnation)
{
    struct netlock_server *server = netlock_server_of(worker);
    uint64_t lease_ns = netlock_lease_ns(&worker->lockmgr->config), now_ns = fabric_now_ns(worker->ep);
    server->incarnation = incarnation;
    server->preparing = NULL;
    server->order_count = 0;
    for (uint32_t i = 0; i < server->bucket_count; i++)
        for (struct netlock_lock *lock = server->buckets[i]; lock; lock = lock->next) {
            if (lock->place == NETLOCK_OWNED) continue;
            /* Clocks differ, by an eighth at most. */
            if (lock->place >= NETLOCK_INSTALLING) lock->not_before_ns = now_ns + lease_ns + lease_ns / 2;
            take_back(worker, lock);
            worker->tender.stats.resets++;
            netlock_serve(worker, lock);
        }
}

/* ---- each on its way ---- */

void netlock_move_step(struct lockmgr_worker *worker, struct netlock_lock *lock)
{
    uint32_t priorities = priorities_of(worker);
    switch (lock->place) {
    case NETLOCK_OWNED:
        break;
    case NETLOCK_DRAINING:
        if (!lock->held || PLANT(netlock_installed_at_once)) install(worker, lock);
        break;
    case NETLOCK_PAUSING:
    case NETLOCK_INSTALLING:
    case NETLOCK_CLOSING:
        ask(worker, lock);
        break;
    case NETLOCK_AWAY:
        for (uint32_t i = 0; i < priorities; i++)
            if (lock->over[i].first || lock->sent[i] > lock->returned[i]) netlock_over_probe(worker, lock, i);
        break;
    case NETLOCK_SETTLING:
        if (netlock_over_settled(worker, lock)) {
            lock->place = NETLOCK_CLOSING;
            lock->asked = 0;
            ask(worker, lock);
            break;
        }
        for (uint32_t i = 0; i < priorities; i++)
            if (lock->returned[i] < lock->high[i]) netlock_over_probe(worker, lock, i);
        break;
    }
}

void netlock_move_steps(struct lockmgr_worker *worker)
{
    for (struct netlock_lock *lock = netlock_server_of(worker)->moving, *next; lock; lock = next) {
        next = lock->moving;
        netlock_move_step(worker, lock);
    }
}

void netlock_move_answer(struct lockmgr_worker *worker, struct netlock_lock *lock, const struct netlock_packet *packet)
{
    struct netlock_server *server = netlock_server_of(worker);
    if (packet->op == NETLOCK_PREPARED && lock->place == NETLOCK_PAUSING) {
        lock->place = NETLOCK_DRAINING;
        server->preparing = NULL;
        netlock_move_step(worker, lock);
        move_next_in(worker);
    }
    if (packet->op == NETLOCK_INSTALLED && lock->place == NETLOCK_INSTALLING) {
        end_move(worker, lock, NETLOCK_AWAY);
        move_next_in(worker);
        for (uint32_t i = 0; i < priorities_of(worker); i++) netlock_over_probe(worker, lock, i);
    }
    if (packet->op == NETLOCK_REMOVED && lock->place == NETLOCK_CLOSING) {
        take_back(worker, lock);
        netlock_serve(worker, lock);
        move_next_in(worker);
    }
}

/* ---- dealing ---- */

/*
 * What of its requests the switch does not serve itself: seen while it is there, and forgotten slowly after that.
 * When it has just come, those that came before it say nothing.
 */
static void note_misses(struct netlock_lock *lock)
{
    uint32_t passed = lock->passed_on < lock->requests ? lock->passed_on : lock->requests;
    bool was_away = lock->was_away;
    lock->was_away = lock->place == NETLOCK_AWAY;
    if (lock->was_away && was_away && lock->requests)
        lock->missed = (lock->missed + (uint32_t)((uint64_t)passed * 1000 / lock->requests)) / 2;
    else if (lock->place == NETLOCK_OWNED)
        lock->missed -= lock->missed / FORGET_MISSES;
    lock->passed_on = 0;
}

/* How much it was asked for, and by how many at once; what it was before counts less and less. */
static void measure(struct lockmgr_worker *worker, struct netlock_lock *lock)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint32_t clients = config->cn_count * config->workers_per_cn * config->clients_per_worker;
    uint32_t before = lock->demand.contention - lock->demand.contention / 4, peak = lock->peak * HEADROOM;
    note_misses(lock);
    uint64_t rate = (uint64_t)lock->requests * (lock->place == NETLOCK_AWAY ? KEEP_PERCENT : 100);
    rate = rate * (1000 - lock->missed) / 1000;
    if (peak < before) peak = before;
    if (peak > clients) peak = clients;
    /* The strawman of section 6.4: some locks, whichever. */
    if (worker->lockmgr->policy == NETLOCK_RANDOM) rate = (lock->lock * 0x9e3779b97f4a7c15ull >> 48) * peak;
    lock->demand.rate = rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
    lock->demand.contention = config->capacity && peak > config->capacity ? config->capacity : peak;
    lock->requests = lock->peak = 0;
}

static void collect(struct lockmgr_worker *worker)
{
    struct netlock_server *server = netlock_server_of(worker);
    server->order_count = server->next_in = 0;
    if (server->order_capacity < server->lock_count) {
        free(server->order);
        server->order_capacity = server->lock_count * 2;
        server->order = calloc(server->order_capacity, sizeof(struct netlock_demand *));
        must(server->order);
    }
    for (uint32_t i = 0; i < server->bucket_count; i++)
        for (struct netlock_lock *lock = server->buckets[i]; lock; lock = lock->next) {
            bool wanted = lock->requests > 0;
            measure(worker, lock);
            if (wanted || lock->place == NETLOCK_AWAY) server->order[server->order_count++] = &lock->demand;
        }
}

/*
 * Out of the switch: for good; or to come back with more room, where so much does not fit that it is worth the two
 * moves.
 */
static bool leaves(const struct netlock_lock *lock)
{
    uint32_t wanted = lock->demand.slots;
    return wanted == 0 || (wanted >= 2 * lock->slots && lock->missed >= GROW_MISSES);
}

void netlock_deal(struct lockmgr_worker *worker)
{
    struct netlock_server *server = netlock_server_of(worker);
    if (server->incarnation == 0) return;
    uint32_t slots = 0;
    for (uint32_t i = 0; i < server->regions.count; i++) slots += server->regions.free[i].slots;
    collect(worker);
    for (uint32_t i = 0; i < server->order_count; i++) {
        const struct netlock_lock *lock = lock_of(server->order[i]);
        if (lock->place != NETLOCK_OWNED) slots += lock->slots;
    }
    netlock_deal_slots(server->order, server->order_count, slots, priorities_of(worker));
    for (uint32_t i = 0; i < server->order_count; i++) {
        struct netlock_lock *lock = lock_of(server->order[i]);
        if (lock->place != NETLOCK_AWAY) continue;
        netlock_over_probe(worker, lock, 0); /* for its load */
        if (leaves(lock)) begin_move(worker, lock, NETLOCK_SETTLING);
    }
    netlock_move_steps(worker);
    move_next_in(worker);
}
