/*
 * rpc.c - a client of the lock server: asks, waits, asks again when refused, and lets go of what it no longer
 * wants.
 */
#include "rpc.h"

#include "must.h"

#define ASK_AGAIN_NS 1000000 /* messages are delivered, unless the fabric says otherwise: only a reply can be missing */
#define ASK_AGAIN_MAX_NS 16000000
#define SERVER "the lock server"

enum { TICKET, STATE, WAITED, SILENT_NS }; /* hold->words */
enum { WAITING, GRANTED, REFUSED };        /* STATE */

static uint64_t lock_bytes(const struct lockmgr_config *config)
{
    (void)config;
    return 0;
}

static struct lockmgr_message_wire message_of(uint64_t lock, enum rpc_kind kind, uint32_t id, uint64_t ticket)
{
    return (struct lockmgr_message_wire){
        .lock = lock, .client = LOCKMGR_NO_CLIENT, .kind = (uint16_t)kind, .words = {id, ticket}};
}

static void let_go(struct lockmgr_worker *worker, uint64_t lock, uint32_t id, uint64_t ticket)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct lockmgr_message_wire wire = message_of(lock, RPC_RELEASE, id, ticket);
    uint32_t server = lockmgr_server_of(config, (struct fabric_addr){lock});
    lockmgr_queue(worker, config->server_cn, server, &wire);
}

/* The reply may be there before this returns. */
static int ask(struct coro *co, struct lockmgr_hold *hold)
{
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    struct lockmgr_message_wire wire = message_of(hold->lock.bits, RPC_ACQUIRE, hold->client->id, hold->words[TICKET]);
    wire.words[2] = hold->mode;
    if (hold->words[STATE] == REFUSED) hold->words[STATE] = WAITING;
    int code = lockmgr_send(co, hold->client, config->server_cn, lockmgr_server_of(config, hold->lock), &wire);
    bool perhaps = code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE; /* it is asked again */
    return perhaps ? 0 : code;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

/* Until there is a reply, it is time to ask again, or the deadline has come. */
static void await_reply(struct coro *co, struct lockmgr_hold *hold, uint64_t patience_ns, uint64_t deadline_ns)
{
    uint64_t until_ns = earlier(deadline_ns, lockmgr_now_ns(hold->client) + patience_ns);
    while (hold->words[STATE] == WAITING && lockmgr_now_ns(hold->client) < until_ns)
        (void)lockmgr_wait(co, hold->client, until_ns);
}

/* 0: to be asked again, after longer than last time. */
static int unanswered(struct lockmgr_hold *hold, uint64_t asked_ns, uint64_t *patience_ns)
{
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    int code = lockmgr_declared(hold->client, SERVER, config->server_cn);
    *patience_ns = earlier(earlier(2 * *patience_ns, ASK_AGAIN_MAX_NS), lockmgr_ask_again_ns(config));
    return code ? code : lockmgr_unanswered(hold->client, SERVER, asked_ns, &hold->words[SILENT_NS]);
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    bool tries = client->worker->lockmgr->policy == RPC_TRY;
    hold->words[TICKET] = ++client->words[0];
    uint64_t lease_ns = lockmgr_config_of(hold)->lease_ns, patience_ns = lease_ns ? lease_ns / 2 : ASK_AGAIN_NS;
    patience_ns = earlier(patience_ns, lockmgr_ask_again_ns(lockmgr_config_of(hold)));
    for (;; client->stats.retries++, hold->words[WAITED] = true) {
        uint64_t asked_ns = lockmgr_now_ns(client);
        int code = ask(co, hold);
        if (code) return code;
        await_reply(co, hold, patience_ns, deadline_ns);
        if (hold->words[STATE] == GRANTED) break;
        if (hold->words[STATE] == WAITING) code = unanswered(hold, asked_ns, &patience_ns);
        if (code == 0 && lockmgr_now_ns(client) >= deadline_ns) code = CELLAR_DEADLINE;
        if (code) {
            let_go(client->worker, hold->lock.bits, client->id, hold->words[TICKET]);
            return code;
        }
        /* No room in the queue: those in it need about a round trip each. */
        if (hold->words[STATE] == REFUSED && !tries)
            lockmgr_sleep(co, client, 1 + lockmgr_below(client, 4 * lockmgr_config_of(hold)->rtt_ns));
    }
    client->stats.immediate += !hold->words[WAITED];
    return 0;
}

/* The client does not wait for it: until the server has it, no other client gets the lock. */
static int release(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    (void)co;
    let_go(client->worker, hold->lock.bits, client->id, hold->words[TICKET]);
    return lockmgr_declared(client, SERVER, lockmgr_config_of(hold)->server_cn);
}

static void deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                    const struct lockmgr_message_wire *wire)
{
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    (void)message;
    if (!hold || hold->held || hold->words[TICKET] != wire->words[1] || hold->words[STATE] == GRANTED) return;
    hold->words[SILENT_NS] = 0;
    if (wire->kind == RPC_GRANT) {
        hold->words[STATE] = GRANTED; /* perhaps after a refusal that another copy of the request met */
        hold->words[WAITED] |= wire->words[2];
    } else if (wire->kind == RPC_REFUSED) {
        hold->words[STATE] = REFUSED;
    }
    lockmgr_signal(worker, hold->client);
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    (void)config, (void)bytes, (void)error;
    return 0;
}

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    if (config->server_workers) return 0;
    return err_set(error, CELLAR_INVALID, "lock algorithm rpc needs a lock server");
}

/* A client that was refused comes again after those that came meanwhile. */
static uint32_t policy_promises(const struct lockmgr_config *config)
{
    uint64_t clients = (uint64_t)config->cn_count * config->workers_per_cn * config->clients_per_worker;
    bool room = config->capacity == 0 || config->capacity >= clients;
    return lockmgr_policy(config) == RPC_FIFO && room ? LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED : 0;
}

static const char *const policies[] = {[RPC_FIFO] = "fifo", [RPC_REORDER] = "reorder", [RPC_TRY] = "try", NULL};

const struct lockmgr_algorithm lockmgr_algorithm_rpc = {
    .name = "rpc",
    .about = "a lock server's queues; reorder: readers overtake; try: it refuses, clients ask again (Traditional, RPC)",
    .policies = policies,
    .room_policies = 1u << RPC_FIFO | 1u << RPC_REORDER,
    .promises = LOCKMGR_SHARES | LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS | LOCKMGR_OVERFLOWS,
    .policy_promises = policy_promises,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .release = release,
    .audit = audit,
    .check = check,
    .deliver = deliver,
    .server_open = rpc_server_open,
    .server_close = rpc_server_close,
    .server_deliver = rpc_server_deliver,
    .server_tend = rpc_server_tend,
    .server_audit = rpc_server_audit,
};
