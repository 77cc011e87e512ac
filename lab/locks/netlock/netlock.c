/*
 * netlock.c - NetLock's client, and the algorithm's place in the table. A client sends its request to the switch and
 * waits for a grant, from switch or server; what it does not want (any more) it gives back.
 *
 * A grant may come late, so a lease counts from the request (INV-NETLOCK-8). A client that has waited for an eighth
 * of a lease renews it before it believes that it holds: one round trip more, after a wait.
 */
#include "netlock.h"

#include "fabric_switch.h"
#include "must.h"
#include "netlock_plants.h"

#include <string.h>

#define BELIEVE_PART 8  /* of a lease: older grants are renewed first, */
#define BELIEVE_TRIES 2 /* ... so often; then they may be so many times as old */
#define BELIEVE_LATE 3
#define REJECTED_RTTS 4 /* until a client that was beyond its quota asks again, at least */
#define DOUBLINGS_MAX 6
#define TENANT_RATE 1000000 /* of each tenant, a second, unless the configuration says otherwise */

/* In the hold. */
struct want {
    uint32_t txn, slot;
    uint32_t asked; /* how often for the same lease: the answer names it */
    uint8_t state;  /* enum want_state */
    bool renewed, denied;
    uint64_t since_ns;  /* the lease begins, at the latest */
    uint64_t silent_ns; /* see lockmgr_unanswered */
};
_Static_assert(sizeof(struct want) <= LOCKMGR_HOLD_WORDS * sizeof(uint64_t), "fits a hold");
enum want_state { NO_WANT, WAITS, GRANTED, REJECTED };

static struct want *want_of(struct lockmgr_hold *hold) { return (struct want *)(void *)hold->words; }

/* ---- options ---- */

static const char *const policies[] = {"fcfs", "priority", "quota", "random", "server", NULL};

struct netlock_switch_config netlock_switch_config_of(const struct lockmgr_config *config)
{
    uint32_t policy = lockmgr_policy(config), tenants = lockmgr_tenants(config);
    uint32_t slots = config->switch_slots ? config->switch_slots : NETLOCK_SLOTS;
    struct netlock_switch_config out = {.slots = slots, .tenants = tenants, .burst = NETLOCK_BURST};
    out.priorities = policy == NETLOCK_PRIORITY ? tenants : 1;
    out.locks = slots < NETLOCK_LOCKS_MAX ? slots : NETLOCK_LOCKS_MAX;
    if (policy == NETLOCK_QUOTA) out.quota_ns = 1000000000 / (config->tenant_rate ? config->tenant_rate : TENANT_RATE);
    return out;
}

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    uint32_t tenants = lockmgr_tenants(config), policy = lockmgr_policy(config);
    uint32_t most = FABRIC_SWITCH_STAGE_BYTES / 8;
    if (config->server_workers == 0 || config->server_workers > NETLOCK_SERVERS)
        return err_set(error, CELLAR_INVALID, "netlock needs a lock server of 1 to %d workers, not %u", NETLOCK_SERVERS,
                       config->server_workers);
    if (config->switch_slots > most)
        return err_set(error, CELLAR_INVALID, "%u slots: a stage of the switch has room for %u", config->switch_slots,
                       most);
    if (tenants > NETLOCK_TENANTS || (policy == NETLOCK_PRIORITY && tenants > NETLOCK_PRIORITIES))
        return err_set(error, CELLAR_INVALID, "%u tenants: netlock tells %d apart, and has %d priorities", tenants,
                       NETLOCK_TENANTS, NETLOCK_PRIORITIES);
    if (config->tenant_cns > config->cn_count)
        return err_set(error, CELLAR_INVALID, "the first tenant's %u compute nodes are more than there are: %u",
                       config->tenant_cns, config->cn_count);
    if (config->tenant_rate > 1000000000)
        return err_set(error, CELLAR_INVALID, "a tenant's rate of %llu a second: netlock counts to 1000000000",
                       (unsigned long long)config->tenant_rate);
    return 0;
}

static uint32_t policy_promises(const struct lockmgr_config *config)
{
    uint32_t policy = lockmgr_policy(config);
    return policy == NETLOCK_PRIORITY || policy == NETLOCK_QUOTA ? 0 : LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED;
}

static uint64_t lock_bytes(const struct lockmgr_config *config) { return 0; }

/* ---- messages ---- */

void netlock_encode(const struct netlock_packet *packet, uint32_t client, struct lockmgr_message_wire *wire)
{
    *wire = (struct lockmgr_message_wire){
        .lock = packet->lock, .client = client, .kind = packet->op, .magic = LOCKMGR_MAGIC};
    wire->words[0] = (uint64_t)packet->client << 32 | packet->txn;
    wire->words[1] = (uint64_t)packet->slot << 32 | packet->incarnation;
    wire->words[2] = packet->prev;
    wire->words[3] = packet->seq;
    wire->words[4] = (uint64_t)packet->move << 32 | (uint64_t)packet->mode << 24 | (uint64_t)packet->priority << 16 |
                     (uint64_t)packet->tag << 8 | packet->tenant;
    wire->words[5] = (uint64_t)packet->requests << 32 | packet->peak;
}

bool netlock_decode(const struct lockmgr_message_wire *wire, struct netlock_packet *packet)
{
    *packet = (struct netlock_packet){.lock = wire->lock, .op = (uint8_t)wire->kind};
    packet->client = (uint32_t)(wire->words[0] >> 32);
    packet->txn = (uint32_t)wire->words[0];
    packet->slot = (uint32_t)(wire->words[1] >> 32);
    packet->incarnation = (uint32_t)wire->words[1];
    packet->prev = wire->words[2];
    packet->seq = wire->words[3];
    packet->move = (uint32_t)(wire->words[4] >> 32);
    packet->mode = (uint8_t)(wire->words[4] >> 24);
    packet->priority = (uint8_t)(wire->words[4] >> 16);
    packet->tag = (wire->words[4] >> 8) & 15;
    packet->tenant = wire->words[4] & 15;
    packet->requests = (uint32_t)(wire->words[5] >> 32);
    packet->peak = (uint32_t)wire->words[5];
    return wire->magic == LOCKMGR_MAGIC && wire->kind < NETLOCK_OPS && packet->priority < NETLOCK_PRIORITIES;
}

void netlock_to_switch(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct lockmgr_message_wire wire;
    netlock_encode(packet, LOCKMGR_NO_CLIENT, &wire);
    lockmgr_queue(worker, worker->lockmgr->config.switch_cn, 0, &wire);
}

void netlock_to_client(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct lockmgr_message_wire wire;
    uint32_t cn, to, client;
    if (!lockmgr_locate(&worker->lockmgr->config, packet->client, &cn, &to, &client)) return;
    netlock_encode(packet, client, &wire);
    lockmgr_queue(worker, cn, to, &wire);
}

/* ---- acquire ---- */

static struct netlock_packet packet_of(struct lockmgr_hold *hold, enum netlock_op op)
{
    const struct lockmgr *lockmgr = hold->client->worker->lockmgr;
    const struct want *want = want_of(hold);
    struct netlock_packet packet = {.op = (uint8_t)op,
                                    .lock = hold->lock.bits,
                                    .client = hold->client->id,
                                    .txn = want->txn,
                                    .slot = op == NETLOCK_ACQUIRE ? 0 : want->slot,
                                    .seq = want->asked,
                                    .mode = hold->mode == LOCKMGR_SHARED ? LOCKMGR_SHARED : LOCKMGR_EXCLUSIVE};
    uint32_t tenant = lockmgr_tenant_of(&lockmgr->config, lockmgr->cn);
    packet.tenant = tenant & 15;
    packet.priority = (uint8_t)(lockmgr->policy == NETLOCK_PRIORITY ? tenant : 0);
    return packet;
}

/* A datagram: whether it arrived is not known, but an error of the sender's own node is told. */
static int send(struct coro *co, struct lockmgr_hold *hold, enum netlock_op op)
{
    struct netlock_packet packet = packet_of(hold, op);
    struct lockmgr_message_wire wire;
    netlock_encode(&packet, LOCKMGR_NO_CLIENT, &wire);
    int code = lockmgr_send(co, hold->client, lockmgr_config_of(hold)->switch_cn, 0, &wire);
    return code == CELLAR_INDETERMINATE || code == CELLAR_UNREACHABLE ? 0 : code;
}

/* A request under a new number: whatever comes of earlier ones is given back. */
static void begin(struct lockmgr_hold *hold)
{
    struct want *want = want_of(hold);
    uint64_t *numbers = &hold->client->words[0];
    *want = (struct want){.txn = (uint32_t)++ * numbers, .state = WAITS, .since_ns = lockmgr_now_ns(hold->client)};
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

/*
 * A client that does not know where the lock is cannot tell which of the two is silent; a server that is dead does
 * not stop the switch's locks.
 */
static int unanswered(struct lockmgr_hold *hold, uint64_t asked_ns)
{
    return lockmgr_unanswered(hold->client, "the lock server, or the switch before it,", asked_ns,
                              &want_of(hold)->silent_ns);
}

/* 0: the lease has begun anew; 1: it is over; or an error. */
static int renew(struct coro *co, struct lockmgr_hold *hold)
{
    struct want *want = want_of(hold);
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    uint64_t asked_ns = lockmgr_now_ns(hold->client), sent_ns = asked_ns;
    uint64_t again_ns = sooner(netlock_lease_ns(config) / 2, lockmgr_ask_again_ns(config));
    want->renewed = want->denied = false;
    want->asked++;
    want->silent_ns = 0;
    for (;; sent_ns = lockmgr_now_ns(hold->client)) { /* the same question: an answer may be late */
        int code = send(co, hold, NETLOCK_RENEW);
        if (code) return code;
        uint64_t until_ns = lockmgr_now_ns(hold->client) + again_ns;
        while (!want->renewed && !want->denied && lockmgr_wait(co, hold->client, until_ns)) {
        }
        if (want->renewed || want->denied) break;
        code = unanswered(hold, sent_ns);
        if (code) return code;
    }
    if (want->renewed) want->since_ns = asked_ns;
    return !want->renewed;
}

/* 0: the lease is young, by the client's clock; else as renew. */
static int confirm(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t young_ns = netlock_lease_ns(lockmgr_config_of(hold)) / BELIEVE_PART;
    if (PLANT(netlock_lease_from_grant)) return 0;
    for (uint32_t tries = 0;; tries++) {
        /*
         * Where answers take long, three eighths of a lease have to do: half of one that is left is enough to hold
         * it.
         */
        uint64_t most_ns = tries < BELIEVE_TRIES ? young_ns : young_ns * BELIEVE_LATE;
        if (lockmgr_now_ns(hold->client) - want_of(hold)->since_ns <= most_ns) return 0;
        hold->client->stats.retries++;
        /* So many ask that the answers are too old: fewer must ask. */
        if (tries) lockmgr_sleep(co, hold->client, lockmgr_below(hold->client, young_ns << (tries < 6 ? tries : 6)));
        int code = renew(co, hold);
        if (code) return code;
    }
}

/*
 * Waits until a grant, a rejection, or until_ns; asks meanwhile whether the server or switch that has the request is
 * still there.
 */
static int wait(struct coro *co, struct lockmgr_hold *hold, uint64_t until_ns)
{
    const struct want *want = want_of(hold);
    uint64_t ask_ns = lockmgr_ask_again_ns(lockmgr_config_of(hold)), asked_ns = lockmgr_now_ns(hold->client);
    for (;;) {
        uint64_t next_ns = sooner(until_ns, asked_ns + ask_ns);
        while (want->state == WAITS && lockmgr_wait(co, hold->client, next_ns)) {
        }
        if (want->state != WAITS || lockmgr_now_ns(hold->client) >= until_ns) return 0;
        int code = unanswered(hold, asked_ns);
        asked_ns = lockmgr_now_ns(hold->client);
        if (code == 0) code = send(co, hold, NETLOCK_ASK);
        if (code) return code;
    }
}

static void give_back_own(struct lockmgr_hold *hold)
{
    struct netlock_packet packet = packet_of(hold, NETLOCK_RELEASE);
    netlock_to_switch(hold->client->worker, &packet);
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    struct want *want = want_of(hold);
    uint64_t again_ns = 2 * netlock_lease_ns(config);
    begin(hold);
    for (uint32_t tries = 0;; tries++) {
        int code = send(co, hold, NETLOCK_ACQUIRE);
        if (code) return code;
        uint64_t sent_ns = lockmgr_now_ns(client);
        code = wait(co, hold,
                    sooner(deadline_ns, sent_ns + (again_ns << (tries < DOUBLINGS_MAX ? tries : DOUBLINGS_MAX))));
        if (code) return code;
        if (want->state == GRANTED) {
            code = confirm(co, hold);
            client->stats.immediate += code == 0 && tries == 0 && want->asked == 0;
            if (code < 0) give_back_own(hold);
            if (code != 1) return code;
            begin(hold);
        }
        if (lockmgr_now_ns(client) >= deadline_ns) return CELLAR_DEADLINE;
        client->stats.retries++;
        if (want->state != REJECTED) {
            client->stats.resets++; /* its place in the queue is lost, or may be */
            continue;
        }
        lockmgr_sleep(co, client,
                      REJECTED_RTTS * (netlock_rtt_ns(config) + lockmgr_below(client, netlock_rtt_ns(config))));
        begin(hold);
        tries = 0;
    }
}

/* ---- release ---- */

static void give_back(struct lockmgr_worker *worker, const struct netlock_packet *packet)
{
    struct netlock_packet back = *packet;
    back.op = NETLOCK_RELEASE;
    if (!PLANT(netlock_unwanted_kept)) netlock_to_switch(worker, &back);
}

/*
 * Others may have had it since the lease was over, not before: clocks run an eighth too fast or too slow, at most.
 * The switch is not asked whether they have: a copy of the request, come twice or sent again, may have been granted
 * in that slot since, under the same number.
 */
static int release(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t lease_ns = netlock_lease_ns(lockmgr_config_of(hold));
    uint64_t held_ns = lockmgr_now_ns(hold->client) - want_of(hold)->since_ns;
    (void)co;
    give_back_own(hold);
    return held_ns > lease_ns - lease_ns / 4 && !PLANT(netlock_overrun_unsaid) ? CELLAR_FENCED : 0;
}

/* ---- what comes ---- */

static void note_grant(struct lockmgr_worker *worker, struct lockmgr_hold *hold, const struct netlock_packet *packet)
{
    struct want *want = hold ? want_of(hold) : NULL;
    bool mine = want && want->txn == packet->txn;
    if (mine && want->state == GRANTED && want->slot == packet->slot) return;
    if (!mine || want->state != WAITS) {
        give_back(worker, packet);
        return;
    }
    want->state = GRANTED;
    want->slot = packet->slot;
    lockmgr_signal(worker, hold->client);
}

static void deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                    const struct lockmgr_message_wire *wire)
{
    struct netlock_packet packet;
    if (!netlock_decode(wire, &packet) || wire->client >= worker->client_count) return;
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    if (packet.client != worker->clients[wire->client].id) return;
    if (packet.op == NETLOCK_GRANT) {
        note_grant(worker, hold, &packet);
        return;
    }
    struct want *want = hold ? want_of(hold) : NULL;
    if (!want || want->txn != packet.txn) return;
    want->silent_ns = 0;
    bool answers = want->state == GRANTED && packet.seq == want->asked;
    if (packet.op == NETLOCK_RENEWED && answers) want->renewed = true;
    if (packet.op == NETLOCK_DENIED && answers) want->denied = true;
    if (packet.op == NETLOCK_REJECT && want->state == WAITS) want->state = REJECTED;
    lockmgr_signal(worker, hold->client);
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error) { return 0; }

const struct lockmgr_algorithm lockmgr_algorithm_netlock = {
    .name = "netlock",
    .about = "NetLock (SIGCOMM '20): queues in a programmable switch, those that do not fit at a lock server",
    .policies = policies,
    .room_policies = ~(1u << NETLOCK_SERVER),
    .promises =
        LOCKMGR_SHARES | LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS | LOCKMGR_LEASES | LOCKMGR_CLOCKS | LOCKMGR_OVERFLOWS,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .release = release,
    .audit = audit,
    .policy_promises = policy_promises,
    .check = check,
    .deliver = deliver,
    .server_open = netlock_server_open,
    .server_close = netlock_server_close,
    .server_deliver = netlock_server_deliver,
    .server_tend = netlock_server_tend,
    .server_audit = netlock_server_audit,
    .server_quiet = netlock_server_idle,
    .switches_max = 1,
    .switch_open = netlock_node_open,
    .switch_close = netlock_node_close,
    .switch_deliver = netlock_node_deliver,
    .switch_tend = netlock_node_tend,
    .switch_quiet = netlock_node_quiet,
    .switch_fail = netlock_node_fail,
    .switch_audit = netlock_node_audit,
};
