/*
 * netchain.c - a client of NetChain's locks: swaps its number into the register, tries again while another
 * one's is there.
 */
#include "netchain.h"

#include "netchain_plants.h"

#include <stdlib.h>

#define PATIENCE_NS 10000 /* and so many round trips: then a packet counts as lost; twice as long each time, up to */
#define PATIENCE_RTTS 16
#define PATIENCE_DOUBLINGS 5

enum {
    HOLDER,
    STATE,
    OTHER,
    WATCHED,
    SINCE_NS,
    SILENT_NS
}; /* hold->words; OTHER: the client that was there instead, WATCHED: since when */
enum { ASKING, GRANTED, REFUSED, RELEASING, OVER }; /* STATE */

/* What a worker knows of the chain. */
struct view {
    uint32_t epoch, head; /* epoch 0: nothing yet */
};

static uint64_t lock_bytes(const struct lockmgr_config *config)
{
    (void)config;
    return 0;
}

static int worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    worker->own = calloc(1, sizeof(struct view));
    return worker->own ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a client of netchain");
}

static void worker_close(struct lockmgr_worker *worker) { free(worker->own); }

/* ---- packets ---- */

static struct lockmgr_message_wire swap_of(const struct lockmgr_worker *worker, uint32_t client, uint64_t lock,
                                           uint32_t from, uint32_t to)
{
    const struct view *view = worker->own;
    return (struct lockmgr_message_wire){
        .lock = lock,
        .client = client,
        .kind = NETCHAIN_SWAP,
        .words = {netchain_route(view->epoch, worker->lockmgr->cn, worker->number), netchain_change(from, to)}};
}

static void ask_which(struct lockmgr_worker *worker)
{
    struct lockmgr_message_wire wire = {.client = LOCKMGR_NO_CLIENT, .kind = NETCHAIN_WHICH};
    lockmgr_queue(worker, worker->lockmgr->config.server_cn, 0, &wire);
}

/*
 * The client does not wait for the answer: if this is lost, the next client that wants the lock will ask for it
 * (NETCHAIN_QUERY).
 */
static void take_back(struct lockmgr_worker *worker, uint32_t client, uint64_t lock, uint32_t holder)
{
    const struct view *view = worker->own;
    struct lockmgr_message_wire wire = swap_of(worker, client, lock, holder, 0);
    if (view->epoch && !PLANT(netchain_orphan_kept))
        lockmgr_queue(worker, worker->lockmgr->config.switch_cn + view->head, 0, &wire);
}

/* The answer may be there before this returns. */
static int swap(struct coro *co, struct lockmgr_hold *hold, uint32_t from, uint32_t to)
{
    struct lockmgr_worker *worker = hold->client->worker;
    const struct view *view = worker->own;
    if (view->epoch == 0) return 0;
    struct lockmgr_message_wire wire = swap_of(worker, hold->client->number, hold->lock.bits, from, to);
    int code = lockmgr_send(co, hold->client, worker->lockmgr->config.switch_cn + view->head, 0, &wire);
    return code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE ? 0 : code; /* lost, perhaps */
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

/* Until the state is another one. False: a packet was lost, or the deadline has come. */
static bool await_answer(struct coro *co, struct lockmgr_hold *hold, uint32_t losses, uint64_t deadline_ns)
{
    uint64_t state = hold->words[STATE], now_ns = lockmgr_now_ns(hold->client);
    uint64_t patience_ns = PATIENCE_NS + PATIENCE_RTTS * lockmgr_config_of(hold)->rtt_ns;
    patience_ns <<= losses < PATIENCE_DOUBLINGS ? losses : PATIENCE_DOUBLINGS;
    uint64_t until_ns = earlier(deadline_ns, now_ns + patience_ns);
    while (hold->words[STATE] == state && lockmgr_now_ns(hold->client) < until_ns)
        (void)lockmgr_wait(co, hold->client, until_ns);
    return hold->words[STATE] != state;
}

/* No switch of the chain has answered. 0: asked which chain it is, by now, and to be tried again. */
static int unanswered(struct lockmgr_hold *hold, uint64_t asked_ns)
{
    ask_which(hold->client->worker);
    return lockmgr_unanswered(hold->client, "the chain of switches, or its controller,", asked_ns,
                              &hold->words[SILENT_NS]);
}

/* ---- acquire ---- */

/* Another client's number that stays there for long: does that client still hold it? */
static void ask_holder(struct lockmgr_hold *hold, uint32_t holder)
{
    struct lockmgr_client *client = hold->client;
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    uint64_t now_ns = lockmgr_now_ns(client);
    uint32_t cn, worker, number;
    if (holder != hold->words[WATCHED]) {
        hold->words[WATCHED] = holder;
        hold->words[SINCE_NS] = now_ns;
    }
    if (now_ns - hold->words[SINCE_NS] < netchain_lease_ns(config) / 8) return;
    hold->words[SINCE_NS] = now_ns;
    if (!lockmgr_locate(config, netchain_client(holder), &cn, &worker, &number)) return;
    struct lockmgr_message_wire wire = {
        .lock = hold->lock.bits, .client = number, .kind = NETCHAIN_QUERY, .words = {0, holder}};
    lockmgr_queue(client->worker, cn, worker, &wire);
}

/* Which number may be replaced besides 0: a dead client's; and one's own, of a call that is over. */
static uint32_t replaceable(struct lockmgr_hold *hold, uint32_t holder)
{
    const struct lockmgr_client *client = hold->client;
    uint32_t cn, worker, number;
    if (netchain_client(holder) == client->id) return holder;
    bool there = lockmgr_locate(lockmgr_config_of(hold), netchain_client(holder), &cn, &worker, &number);
    return there && lockmgr_dead(client->worker->lockmgr, cn) && !PLANT(netchain_dead_hold) ? holder : 0;
}

static int give_up(struct lockmgr_hold *hold, int code)
{
    take_back(hold->client->worker, hold->client->number, hold->lock.bits, (uint32_t)hold->words[HOLDER]);
    return code;
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    uint32_t from = 0, losses = 0;
    uint64_t began = client->stats.retries;
    hold->words[HOLDER] = netchain_holder_of(client->id, ++client->words[0]);
    for (;; client->stats.retries++) {
        uint64_t asked_ns = lockmgr_now_ns(client);
        if (hold->words[STATE] != GRANTED) hold->words[STATE] = ASKING;
        int code = swap(co, hold, from, (uint32_t)hold->words[HOLDER]);
        if (code) return code;
        if (hold->words[STATE] == ASKING && !await_answer(co, hold, losses, deadline_ns)) {
            losses++;
            code = unanswered(hold, asked_ns);
        }
        if (hold->words[STATE] == GRANTED) break;
        if (code == 0 && lockmgr_now_ns(client) >= deadline_ns) code = CELLAR_DEADLINE;
        if (code) return give_up(hold, code);
        if (hold->words[STATE] != REFUSED) continue;
        losses = 0;
        from = replaceable(hold, (uint32_t)hold->words[OTHER]);
        ask_holder(hold, (uint32_t)hold->words[OTHER]);
    }
    client->stats.immediate += client->stats.retries == began;
    return 0;
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    hold->words[STATE] = RELEASING;
    hold->words[SILENT_NS] = 0;
    for (uint32_t losses = 0;; losses++) {
        uint64_t asked_ns = lockmgr_now_ns(hold->client);
        int code = swap(co, hold, (uint32_t)hold->words[HOLDER], 0);
        if (code) return code;
        if (hold->words[STATE] == OVER || await_answer(co, hold, losses, UINT64_MAX)) return 0;
        hold->client->stats.retries++;
        code = unanswered(hold, asked_ns);
        if (code) return code;
    }
}

/* ---- what comes in ---- */

/* Into an epoch: grants of older ones are void from now on (INV-NETCHAIN-3). False: it is over itself. */
static bool enter(struct lockmgr_worker *worker, uint64_t word)
{
    struct view *view = worker->own;
    uint32_t epoch = (uint32_t)(word >> 32);
    if (epoch < view->epoch) return false;
    if (epoch > view->epoch) *view = (struct view){.epoch = epoch, .head = (uint32_t)word};
    return true;
}

static void note_answer(struct lockmgr_worker *worker, struct lockmgr_hold *hold,
                        const struct lockmgr_message_wire *wire)
{
    const struct view *view = worker->own;
    uint32_t from = netchain_from(wire->words[1]), to = netchain_to(wire->words[1]);
    bool done = wire->kind == NETCHAIN_DONE;
    bool mine = hold && hold->words[HOLDER] == (to ? to : from);
    if (mine) hold->words[SILENT_NS] = 0;
    if (!mine && done && to) take_back(worker, wire->client, wire->lock, to);
    if (!mine || (uint32_t)(wire->words[0] >> 32) != view->epoch) return;
    if (to == 0 && hold->words[STATE] == RELEASING) {
        hold->words[STATE] = OVER; /* done; or another one's number is there: an earlier copy did it */
    } else if (to && done && (hold->words[STATE] == ASKING || hold->words[STATE] == REFUSED)) {
        hold->words[STATE] = GRANTED;
    } else if (to && hold->words[STATE] == ASKING) {
        hold->words[STATE] = REFUSED;
        hold->words[OTHER] = netchain_holder(wire->words[2]);
    }
    lockmgr_signal(worker, hold->client);
}

/*
 * The first hold after that client and lock; NULL: there is none. Not one that is being released: the switches may
 * have done that, and granted the lock to another one, without an answer. What is told last would be what they know.
 */
static struct lockmgr_hold *hold_behind(struct lockmgr_worker *worker, uint64_t client, uint64_t lock)
{
    for (uint32_t i = (uint32_t)client; i < worker->client_count; i++) {
        struct lockmgr_hold *first = NULL;
        for (struct lockmgr_hold *hold = worker->clients[i].holds; hold; hold = hold->next) {
            bool held =
                hold->words[STATE] == GRANTED || (hold->words[STATE] == RELEASING && PLANT(netchain_reports_released));
            bool behind = i > client || hold->lock.bits > lock;
            if (held && behind && (!first || hold->lock.bits < first->lock.bits)) first = hold;
        }
        if (first) return first;
    }
    return NULL;
}

static void report(struct lockmgr_worker *worker, const struct lockmgr_message_wire *question)
{
    if (!enter(worker, question->words[0])) return;
    uint64_t client = question->words[1], lock = question->lock;
    struct lockmgr_hold *hold = client < worker->client_count ? hold_behind(worker, client, lock) : NULL;
    struct lockmgr_message_wire wire = {.client = LOCKMGR_NO_CLIENT,
                                        .kind = hold ? NETCHAIN_HOLD : NETCHAIN_END,
                                        .words = {question->words[0], 0, 0, client, lock}};
    if (hold) {
        wire.lock = hold->lock.bits;
        wire.words[1] = hold->client->number;
        wire.words[2] = hold->words[HOLDER];
    }
    lockmgr_queue(worker, worker->lockmgr->config.server_cn, 0, &wire);
}

static void deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                    const struct lockmgr_message_wire *wire)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    bool controls = message->from_cn == config->server_cn && message->from_worker == 0;
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    bool known = wire->client < worker->client_count;
    if ((wire->kind == NETCHAIN_DONE || wire->kind == NETCHAIN_BUSY) && known) note_answer(worker, hold, wire);
    if (wire->kind == NETCHAIN_VIEW && controls) (void)enter(worker, wire->words[0]);
    if (wire->kind == NETCHAIN_REPORT && controls) report(worker, wire);
    if (wire->kind != NETCHAIN_QUERY || !known) return;
    bool mine = netchain_client((uint32_t)wire->words[1]) == worker->clients[wire->client].id;
    if (mine && (!hold || hold->words[HOLDER] != wire->words[1]))
        take_back(worker, wire->client, wire->lock, (uint32_t)wire->words[1]);
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    (void)config, (void)bytes, (void)error;
    return 0;
}

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    uint64_t clients = (uint64_t)config->cn_count * config->workers_per_cn * config->clients_per_worker;
    if (config->lock_count > NETCHAIN_LOCKS)
        return err_set(error, CELLAR_INVALID, "%llu locks: netchain has registers for %d",
                       (unsigned long long)config->lock_count, NETCHAIN_LOCKS);
    if (clients > 0xffff)
        return err_set(error, CELLAR_INVALID, "%llu clients: netchain can tell 65535 apart",
                       (unsigned long long)clients);
    if (config->server_workers) return 0;
    return err_set(error, CELLAR_INVALID, "lock algorithm netchain needs a lock server: its controller");
}

const struct lockmgr_algorithm lockmgr_algorithm_netchain = {
    .name = "netchain",
    .about = "a register in a chain of programmable switches; a client that does not get it tries again (NetChain)",
    .promises = LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .release = release,
    .audit = audit,
    .check = check,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .deliver = deliver,
    .server_open = netchain_controller_open,
    .server_close = netchain_controller_close,
    .server_deliver = netchain_controller_deliver,
    .server_tend = netchain_controller_tend,
    .switches_max = NETCHAIN_SWITCHES,
    .switch_open = netchain_switch_open,
    .switch_close = netchain_switch_close,
    .switch_deliver = netchain_switch_deliver,
    .switch_tend = netchain_switch_tend,
    .switch_quiet = netchain_switch_quiet,
    .switch_fail = netchain_switch_fail,
    .switch_audit = netchain_switch_audit,
};
