/*
 * test_netlock_switch.c - NetLock's switch against a plain list of requests: random acquires, releases, renewals,
 * leases that run out, requests that overflow to a server and come back, moves; packets lost, doubled and in any
 * order, other packets between any two passes.
 *
 *     test_netlock_switch SEED [PLANT]    that run, with its verdict
 */
#include "lockmgr.h"
#include "netlock_switch.h"
#include "plant.h"
#include "prng.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCKS 3
#define SLOTS 40
#define REQUESTS 4000
#define FLIGHTS 4000
#define LEASE_NS 400000
#define FIRST_LOCK 4096u
#define RUNS 160

enum where { AT_SWITCH, AT_SERVER, HOLDS, OVER };

/* What the list knows of a request: its number is its order of arrival at the switch. */
struct request {
    enum where where;
    uint32_t lock, client, txn, slot, priority;
    bool exclusive;
    uint32_t time; /* of the lease, in the switch's units */
    uint64_t seq;  /* while the server has it */
};

struct flight {
    struct netlock_packet packet;
    bool forwarded; /* on its way to the server */
};

struct lock_state {
    uint32_t left, slots, move;
    bool closing, away;                    /* on its way out of the switch; out of it */
    uint64_t returned[NETLOCK_PRIORITIES]; /* as the server knows it */
};

struct world {
    struct netlock_switch *sw;
    struct netlock_shape shapes[NETLOCK_ARRAYS_MAX];
    uint32_t array_count, passes, touched[NETLOCK_ARRAYS_MAX], stage;
    uint64_t *cells[NETLOCK_ARRAYS_MAX], *last, seen;
    struct prng prng;
    uint64_t now_ns;
    struct request *requests;
    uint32_t request_count, moves, priorities;
    struct flight *flights;
    uint32_t flight_count;
    struct lock_state locks[LOCKS];
    bool lossy, ordered, idle; /* idle: holders renew more often than they release */
    char verdict[200];
};

static bool complain(struct world *world, const char *what, uint32_t number)
{
    if (!world->verdict[0]) snprintf(world->verdict, sizeof world->verdict, "%s: request %u", what, number);
    return false;
}

/* ---- registers, as hardware has them ---- */

static uint64_t *cell(void *arg, uint32_t array, uint32_t index)
{
    struct world *world = arg;
    if (array >= world->array_count || index >= world->shapes[array].cells) {
        complain(world, "there is no such register", array);
        return &world->seen;
    }
    if (world->touched[array] == world->passes) complain(world, "an array is touched twice in a pass", array);
    if (world->shapes[array].stage < world->stage) complain(world, "stages run backwards", array);
    if (world->last && *world->last != world->seen) complain(world, "a cell depends on a later one", array);
    world->touched[array] = world->passes;
    world->stage = world->shapes[array].stage;
    if (world->last) world->last = NULL;
    return &world->cells[array][index];
}
static uint64_t peek(void *arg, uint32_t array, uint32_t index) { return ((struct world *)arg)->cells[array][index]; }
static void poke(void *arg, uint32_t array, uint32_t index, uint64_t value)
{
    ((struct world *)arg)->cells[array][index] = value;
}

/* ---- what is under way ---- */

static void fly(struct world *world, const struct netlock_packet *packet, bool forwarded)
{
    if (world->flight_count == FLIGHTS) return;
    world->flights[world->flight_count++] = (struct flight){.packet = *packet, .forwarded = forwarded};
}

static bool within_switch(const struct netlock_packet *packet)
{
    return packet->op == NETLOCK_RETIRE || packet->op == NETLOCK_TAKE;
}

/* Takes the i-th away; packets of the fabric may be lost or come twice. */
static struct flight land(struct world *world, uint32_t i)
{
    struct flight flight = world->flights[i];
    bool datagram = !within_switch(&flight.packet) && world->lossy;
    if (datagram && prng_below(&world->prng, 12) == 0) return flight; /* and comes again */
    memmove(&world->flights[i], &world->flights[i + 1], (--world->flight_count - i) * sizeof flight);
    return flight;
}

/* ---- the list ---- */

static struct request *request_of(struct world *world, uint32_t client, uint32_t txn)
{
    for (uint32_t i = world->request_count; i-- > 0;)
        if (world->requests[i].client == client && world->requests[i].txn == txn) return &world->requests[i];
    return NULL;
}

static bool conflict(const struct request *a, const struct request *b)
{
    return a->lock == b->lock && (a->exclusive || b->exclusive);
}

static void judge_grant(struct world *world, const struct netlock_packet *packet)
{
    struct request *granted = request_of(world, packet->client, packet->txn);
    if (!granted || granted->where != AT_SWITCH) {
        complain(world, "granted, though it does not wait at the switch", packet->txn);
        return;
    }
    for (uint32_t i = 0; i < world->request_count; i++) {
        const struct request *other = &world->requests[i];
        if (other == granted || !conflict(other, granted)) continue;
        if (other->where == HOLDS) complain(world, "granted beside a holder", packet->txn);
        bool waits = other->where == AT_SWITCH || (other->where == AT_SERVER && world->ordered);
        if (waits && other->priority == granted->priority && other < granted)
            complain(world, "granted before an earlier one", packet->txn);
        if (other->where == AT_SWITCH && other->priority < granted->priority)
            complain(world, "granted before one of a higher priority", packet->txn);
    }
    granted->where = HOLDS;
    granted->slot = packet->slot;
    granted->time = (uint32_t)(world->now_ns >> 10);
}

static struct lock_state *lock_of(struct world *world, uint64_t lock) { return &world->locks[lock - FIRST_LOCK]; }

/* ---- the lock server ---- */

/* The requests that the switch has not got back come again, in their order; what was lost on its way is passed over. */
static void push_some(struct world *world, const struct netlock_packet *packet)
{
    struct lock_state *lock = lock_of(world, packet->lock);
    uint32_t priority = packet->priority, room = packet->slot;
    if (lock->away || lock->closing || packet->move != lock->move) return;
    uint64_t at = packet->prev, sent = packet->seq;
    if (at < lock->returned[priority]) return; /* it is old */
    lock->returned[priority] = at;
    while (room > 0 && at < sent) {
        struct netlock_packet push = {.op = NETLOCK_PUSH, .lock = packet->lock, .priority = (uint8_t)priority};
        const struct request *next = NULL;
        push.move = lock->move;
        push.incarnation = 1;
        push.prev = at;
        for (uint32_t i = 0; i < world->request_count; i++) {
            const struct request *request = &world->requests[i];
            if (request->lock != packet->lock - FIRST_LOCK || request->priority != priority) continue;
            if (request->seq > at && (!next || request->seq < next->seq)) next = request;
        }
        push.seq = next ? next->seq : sent;
        if (next) push.client = next->client, push.txn = next->txn;
        if (next) push.mode = next->exclusive ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED;
        fly(world, &push, false);
        at = push.seq;
        room -= next != NULL;
    }
}

static void probe(struct world *world, uint32_t lock, uint32_t priority)
{
    struct netlock_packet packet = {.op = NETLOCK_PROBE,
                                    .lock = FIRST_LOCK + lock,
                                    .priority = (uint8_t)priority,
                                    .move = world->locks[lock].move,
                                    .incarnation = 1};
    fly(world, &packet, false);
}

/* What the server holds back of a lock that is away is numbered anew, below the first number of those to come. */
static uint32_t number_waiting(struct world *world, uint32_t lock, uint32_t priority)
{
    uint32_t count = 0;
    for (uint32_t i = world->request_count; i-- > 0;) {
        struct request *request = &world->requests[i];
        if (request->lock != lock || request->priority != priority) continue;
        request->seq = 0; /* of the numbers before */
        if (request->where == AT_SERVER) request->seq = (NETLOCK_BASE_SEQ - count++) << NETLOCK_SEQ_SHIFT;
    }
    world->locks[lock].returned[priority] = (NETLOCK_BASE_SEQ - count) << NETLOCK_SEQ_SHIFT;
    return count;
}

static void control(struct world *world, struct netlock_packet *packet, struct netlock_out *out)
{
    packet->incarnation = 1;
    netlock_switch_control(world->sw, packet, out);
}

static void install(struct world *world, uint32_t lock)
{
    struct netlock_out out;
    struct netlock_packet packet = {.op = NETLOCK_PREPARE, .lock = FIRST_LOCK + lock, .move = ++world->moves};
    struct lock_state *state = &world->locks[lock];
    packet.slot = state->left;
    packet.seq = state->slots;
    control(world, &packet, &out);
    if (out.count != 1) complain(world, "not prepared", lock);
    uint32_t waiting[4] = {0};
    for (uint32_t i = 0; i < world->priorities; i++) waiting[i] = number_waiting(world, lock, i);
    packet.op = NETLOCK_INSTALL;
    packet.prev = (uint64_t)waiting[1] << 32 | waiting[0];
    packet.seq = (uint64_t)waiting[3] << 32 | waiting[2];
    control(world, &packet, &out);
    control(world, &packet, &out); /* it may come twice */
    if (out.count != 1) complain(world, "not installed", lock);
    *state = (struct lock_state){.left = state->left, .slots = state->slots, .move = world->moves};
    for (uint32_t i = 0; i < world->priorities; i++) {
        state->returned[i] = (NETLOCK_BASE_SEQ - waiting[i]) << NETLOCK_SEQ_SHIFT;
        probe(world, lock, i);
    }
}

/* Moves a lock out: no push of it may be under way. */
static void move_out(struct world *world, uint32_t number)
{
    struct lock_state *lock = &world->locks[number];
    struct netlock_out out;
    for (uint32_t i = 0; i < world->flight_count; i++) {
        const struct netlock_packet *packet = &world->flights[i].packet;
        if (packet->op == NETLOCK_PUSH && packet->lock == FIRST_LOCK + number) return;
    }
    lock->closing = true;
    struct netlock_packet packet = {.op = NETLOCK_CLOSE, .lock = FIRST_LOCK + number, .move = lock->move};
    control(world, &packet, &out);
    if (out.count) lock->away = true, lock->closing = false;
}

/* ---- passes ---- */

static void note_acquire(struct world *world, const struct netlock_packet *packet, const struct netlock_out *out)
{
    struct request *request = request_of(world, packet->client, packet->txn);
    if (!request) {
        if (world->request_count == REQUESTS) return;
        request = &world->requests[world->request_count++];
        *request = (struct request){.lock = (uint32_t)packet->lock - FIRST_LOCK,
                                    .client = packet->client,
                                    .txn = packet->txn,
                                    .priority = packet->priority,
                                    .exclusive = packet->mode == LOCKMGR_EXCLUSIVE};
    }
    bool forwarded = out->count && out->to[0] == NETLOCK_TO_SERVER;
    request->where = forwarded ? AT_SERVER : AT_SWITCH;
    if (forwarded) request->seq = out->packets[0].seq;
}

/* A packet that gives a slot back, or renews it: does the list agree? */
static void note_slot(struct world *world, const struct netlock_packet *packet, const struct netlock_out *out)
{
    struct request *request = request_of(world, packet->client, packet->txn);
    bool holds = request && request->where == HOLDS && request->slot == packet->slot;
    if (packet->op == NETLOCK_RENEW) {
        bool renewed = out->count && out->packets[0].op == NETLOCK_RENEWED;
        if (renewed && !holds) complain(world, "renewed, though it is over", packet->txn);
        if (renewed && holds) request->time = (uint32_t)(world->now_ns >> 10);
        return;
    }
    if (holds && (packet->op == NETLOCK_RELEASE || request->time == packet->prev)) request->where = OVER;
}

static void take_out(struct world *world, const struct netlock_out *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        const struct netlock_packet *packet = &out->packets[i];
        if (out->to[i] == NETLOCK_AGAIN) fly(world, packet, false);
        if (packet->op == NETLOCK_GRANT) judge_grant(world, packet);
        if (packet->op == NETLOCK_NOTIFY) fly(world, packet, true);
    }
}

static void pass(struct world *world, const struct netlock_packet *packet)
{
    struct netlock_out out;
    world->passes++;
    world->stage = 0;
    world->last = NULL;
    struct request *pushed = packet->op == NETLOCK_PUSH ? request_of(world, packet->client, packet->txn) : NULL;
    uint64_t dropped = netlock_switch_stats(world->sw)->dropped;
    if (pushed && pushed->where != AT_SERVER) pushed = NULL;
    if (pushed) pushed->where = AT_SWITCH;
    netlock_switch_pass(world->sw, packet, world->now_ns, &out);
    if (pushed && netlock_switch_stats(world->sw)->dropped != dropped) pushed->where = AT_SERVER;
    if (packet->op == NETLOCK_ACQUIRE) note_acquire(world, packet, &out);
    if (packet->op == NETLOCK_RELEASE || packet->op == NETLOCK_RENEW || packet->op == NETLOCK_EXPIRE)
        note_slot(world, packet, &out);
    take_out(world, &out);
}

/* ---- what happens ---- */

static void new_request(struct world *world)
{
    uint32_t txn = world->request_count + 1;
    struct netlock_packet packet = {.op = NETLOCK_ACQUIRE,
                                    .lock = FIRST_LOCK + prng_below(&world->prng, LOCKS),
                                    .client = 1 + (uint32_t)prng_below(&world->prng, 9),
                                    .txn = txn,
                                    .priority = (uint8_t)prng_below(&world->prng, world->priorities),
                                    .mode = prng_below(&world->prng, 2) ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED};
    if (world->request_count < REQUESTS) pass(world, &packet);
}

/* Some holder gives back, or renews; the packet may come again much later. */
static void use_slot(struct world *world, enum netlock_op op)
{
    uint32_t held = 0, nth;
    for (uint32_t i = 0; i < world->request_count; i++) held += world->requests[i].where == HOLDS;
    if (held == 0) return;
    nth = (uint32_t)prng_below(&world->prng, held);
    for (uint32_t i = 0; i < world->request_count; i++) {
        const struct request *request = &world->requests[i];
        if (request->where != HOLDS || nth-- > 0) continue;
        struct netlock_packet packet = {.op = (uint8_t)op,
                                        .lock = FIRST_LOCK + request->lock,
                                        .client = request->client,
                                        .txn = request->txn,
                                        .slot = request->slot};
        fly(world, &packet, false);
        return;
    }
}

static void expire(void *arg, const struct netlock_packet *packet)
{
    struct world *world = arg;
    const struct request *request = request_of(world, packet->client, packet->txn);
    uint64_t age_ns = ((uint64_t)(uint32_t)(world->now_ns >> 10) - packet->prev) << 10;
    if (request && request->where == HOLDS && age_ns < LEASE_NS) complain(world, "a lease ends early", packet->txn);
    fly(world, packet, false);
}

static void arrive(struct world *world, uint32_t i)
{
    struct flight flight = land(world, i);
    if (flight.forwarded)
        push_some(world, &flight.packet);
    else
        pass(world, &flight.packet);
}

static void step(struct world *world, bool winding_up)
{
    uint64_t draw = prng_below(&world->prng, 100);
    struct lock_state *lock = &world->locks[draw % LOCKS];
    world->now_ns += prng_below(&world->prng, world->idle ? 40000 : 3000);
    if (draw < 50 && world->flight_count)
        arrive(world, (uint32_t)prng_below(&world->prng, world->flight_count));
    else if (draw < 70 && !winding_up)
        new_request(world);
    else if (draw < 85)
        use_slot(world, world->idle && prng_below(&world->prng, 8) ? NETLOCK_RENEW : NETLOCK_RELEASE);
    else if (draw < 88)
        use_slot(world, NETLOCK_RENEW);
    else if (draw < 92)
        netlock_switch_poll(
            world->sw, &(struct netlock_poll){
                           .now_ns = world->now_ns, .lease_ns = LEASE_NS, .cells = 64, .expire = expire, .arg = world});
    else if (draw < 96)
        probe(world, (uint32_t)(draw % LOCKS), (uint32_t)prng_below(&world->prng, world->priorities));
    else if (lock->away)
        install(world, (uint32_t)(draw % LOCKS));
    else if (lock->closing || (!winding_up && prng_below(&world->prng, 4) == 0))
        move_out(world, (uint32_t)(draw % LOCKS));
}

static void judge_end(struct world *world)
{
    struct cellar_error error;
    for (uint32_t i = 0; i < world->request_count; i++)
        if (world->requests[i].where != OVER) complain(world, "never granted, or never given back", i);
    if (!world->verdict[0] && netlock_switch_audit(world->sw, 0, &error))
        snprintf(world->verdict, sizeof world->verdict, "at rest: %s", error.text);
}

static bool busy(const struct world *world)
{
    if (world->flight_count) return true;
    for (uint32_t i = 0; i < LOCKS; i++)
        if (world->locks[i].away || world->locks[i].closing) return true;
    for (uint32_t i = 0; i < world->request_count; i++)
        if (world->requests[i].where != OVER) return true;
    return false;
}

static void begin(struct world *world, uint64_t seed)
{
    prng_seed_stream(&world->prng, seed, 0x5317c4);
    world->priorities = seed % 3 ? 1 : 2 + (uint32_t)prng_below(&world->prng, 3);
    world->lossy = seed % 4 == 1;
    world->idle = seed % 5 == 2;
    world->ordered = true;
    struct netlock_switch_config config = {
        .slots = SLOTS, .locks = LOCKS, .priorities = world->priorities, .tenants = 1};
    struct netlock_registers registers = {.cell = cell, .peek = peek, .poke = poke, .arg = world};
    world->array_count = netlock_switch_shape(&config, world->shapes);
    for (uint32_t i = 0; i < world->array_count; i++) {
        world->cells[i] = calloc(world->shapes[i].cells, sizeof(uint64_t));
        assert_non_null(world->cells[i]);
    }
    world->sw = netlock_switch_new(&config, &registers);
    world->requests = calloc(REQUESTS, sizeof *world->requests);
    world->flights = calloc(FLIGHTS, sizeof *world->flights);
    assert_true(world->sw && world->requests && world->flights);
    for (uint32_t lock = 0, left = 0; lock < LOCKS; lock++) {
        world->locks[lock].left = left;
        world->locks[lock].slots = world->priorities * (1 + (uint32_t)prng_below(&world->prng, 3));
        left += world->locks[lock].slots;
        install(world, lock);
    }
}

/* True: nothing was wrong. */
static bool run(uint64_t seed, char *verdict, size_t bytes)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    begin(world, seed);
    for (uint32_t i = 0; i < 1200 && !world->verdict[0]; i++) step(world, false);
    for (uint32_t i = 0; i < 60000 && !world->verdict[0] && busy(world); i++) step(world, true);
    judge_end(world);
    bool well = !world->verdict[0];
    snprintf(verdict, bytes, "%s", world->verdict);
    netlock_switch_free(world->sw);
    for (uint32_t i = 0; i < world->array_count; i++) free(world->cells[i]);
    free(world->requests);
    free(world->flights);
    free(world);
    return well;
}

static void it_does_what_the_list_does(void **state)
{
    char verdict[200];
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        if (share_has(seed) && !run(seed, verdict, sizeof verdict))
            fail_msg("seed %llu: %s", (unsigned long long)seed, verdict);
}

/* How many requests of tenants that ask for 4.5 and 0.5 a us get in, with a quota of one. */
static void quota_run(uint32_t admitted[2])
{
    struct world *world = calloc(1, sizeof *world);
    struct netlock_switch_config config = {
        .slots = 1, .locks = 1, .priorities = 1, .tenants = 2, .quota_ns = 1000, .burst = 4};
    struct netlock_registers registers = {.cell = cell, .peek = peek, .poke = poke, .arg = world};
    struct netlock_out out;
    assert_non_null(world);
    world->array_count = netlock_switch_shape(&config, world->shapes);
    for (uint32_t i = 0; i < world->array_count; i++) world->cells[i] = calloc(world->shapes[i].cells, 8);
    world->sw = netlock_switch_new(&config, &registers);
    assert_non_null(world->sw);
    for (uint32_t i = 0; i < 20000; i++) {
        struct netlock_packet packet = {.op = NETLOCK_ACQUIRE, .lock = 99, .tenant = i % 10 == 0 ? 1 : 0};
        world->passes++;
        world->stage = 0;
        netlock_switch_pass(world->sw, &packet, 5000000 + i * 200ull, &out);
        assert_int_equal(out.count, 1);
        admitted[packet.tenant] += out.packets[0].op == NETLOCK_ACQUIRE;
    }
    assert_int_equal(world->verdict[0], 0);
    netlock_switch_free(world->sw);
    for (uint32_t i = 0; i < world->array_count; i++) free(world->cells[i]);
    free(world);
}

static void a_quota_is_kept_and_restored(void **state)
{
    uint32_t admitted[2] = {0};
    quota_run(admitted);
    assert_in_range(admitted[0], 4000, 4004);
    assert_int_equal(admitted[1], 2000);
}

/* What the server's packets say is checked: regions beyond the slots, old moves, other lives of the switch. */
static void control_packets_are_checked(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    struct netlock_out out;
    assert_non_null(world);
    begin(world, 1);
    struct netlock_packet packet = {.op = NETLOCK_PREPARE, .lock = 77, .move = 100, .slot = SLOTS - 1, .seq = 2};
    control(world, &packet, &out);
    assert_int_equal(out.count, 0);
    packet.slot = UINT32_MAX, packet.seq = UINT64_MAX;
    control(world, &packet, &out);
    assert_int_equal(out.count, 0);
    packet.slot = 0, packet.seq = 1, packet.move = 1;
    control(world, &packet, &out);
    assert_int_equal(out.count, 0);
    packet.move = 100;
    control(world, &packet, &out);
    assert_int_equal(out.count, 0); /* the table is full */
    packet.incarnation = 2;
    netlock_switch_control(world->sw, &packet, &out);
    assert_int_equal(out.count, 0);
    struct netlock_packet release = {.op = NETLOCK_RELEASE, .lock = FIRST_LOCK, .slot = 0x7fffffff, .client = 1};
    pass(world, &release);
    release.priority = 200;
    pass(world, &release);
    assert_int_equal(world->verdict[0], 0);
    netlock_switch_free(world->sw);
    for (uint32_t i = 0; i < world->array_count; i++) free(world->cells[i]);
    free(world->requests);
    free(world->flights);
    free(world);
}

#ifdef CELLAR_PLANTS
static const char *const plants[] = {
    "netlock_bound_beyond",      "netlock_reader_overtakes",   "netlock_overtakes_overflow", "netlock_pushed_twice",
    "netlock_release_unmatched", "netlock_expires_renewed",    "netlock_given_back_twice",   "netlock_renews_anything",
    "netlock_told_uncounted",    "netlock_last_reader_missed", "netlock_priority_inverted",  "netlock_takes_held",
    "netlock_moved_undrained",   "netlock_lease_halved",
};

static void each_planted_bug_is_seen(void **state)
{
    char verdict[200];
    for (uint32_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        uint64_t seed = 1;
        assert_true(plant_choose(plants[i]));
        while (seed <= 5000 && run(seed, verdict, sizeof verdict)) seed++;
        assert_true(plant_choose(NULL));
        if (seed > 5000) fail_msg("the model does not see %s", plants[i]);
        printf("%-28s seed %4llu: %s\n", plants[i], (unsigned long long)seed, verdict);
    }
}

static void a_quota_that_is_not_restored_is_seen(void **state)
{
    uint32_t admitted[2] = {0};
    assert_true(plant_choose("netlock_quota_unrestored"));
    quota_run(admitted);
    assert_true(plant_choose(NULL));
    assert_true(admitted[0] < 4000 && admitted[1] < 2000);
}
#endif

static int run_one(uint64_t seed, const char *plant)
{
    char verdict[200];
#ifdef CELLAR_PLANTS
    if (plant && !plant_choose(plant)) return 2;
#endif
    bool well = run(seed, verdict, sizeof verdict);
    printf("seed %llu: %s\n", (unsigned long long)seed, well ? "well" : verdict);
    return !well;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_does_what_the_list_does),  cmocka_unit_test(a_quota_is_kept_and_restored),
        cmocka_unit_test(control_packets_are_checked),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(each_planted_bug_is_seen),    cmocka_unit_test(a_quota_that_is_not_restored_is_seen),
#endif
    };
    if (argc > 1) return run_one(strtoull(argv[1], NULL, 10), argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests_name("netlock_switch", tests, NULL, NULL);
}
