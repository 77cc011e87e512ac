/* lotus.c - a client of Lotus's locks: takes the lock at home, or asks its home, and again when refused. */
#include "lotus.h"

#include "lotus_plants.h"

#define ASK_AGAIN_NS 1000000 /* messages are delivered, unless the fabric says otherwise: only a reply can be missing */
#define ASK_AGAIN_MAX_NS 16000000
#define BACKOFF_DOUBLINGS 6 /* from a round trip on, at most */

static uint64_t lock_bytes(const struct lockmgr_config *config)
{
    (void)config;
    return 0;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

static uint64_t index_of(const struct lockmgr_hold *hold)
{
    return lockmgr_index_of(lockmgr_config_of(hold), hold->lock.bits);
}

static uint32_t worker_of(const struct lockmgr_hold *hold)
{
    return lotus_worker_of(lockmgr_config_of(hold), index_of(hold));
}

static struct lockmgr_message_wire message_of(const struct lockmgr_hold *hold, enum lotus_kind kind)
{
    return (struct lockmgr_message_wire){.lock = hold->lock.bits,
                                         .client = LOCKMGR_NO_CLIENT,
                                         .kind = (uint16_t)kind,
                                         .words = {hold->client->id, hold->words[LOTUS_TICKET]}};
}

/* ---- acquire ---- */

static void take_here(struct lockmgr_hold *hold, uint32_t shard)
{
    struct lockmgr_client *client = hold->client;
    const struct lotus_node *node = client->worker->lockmgr->shared;
    bool taken = atomic_load(&node->serves[shard]) &&
                 lotus_take(client->worker, index_of(hold), client->id, hold->words[LOTUS_TICKET]);
    hold->words[LOTUS_STATE] = taken ? LOTUS_GRANTED : LOTUS_BUSY;
    hold->words[LOTUS_SILENT_NS] = 0;
}

/* The reply may be there before this returns. */
static int ask(struct coro *co, struct lockmgr_hold *hold, uint32_t home)
{
    struct lockmgr_message_wire wire = message_of(hold, LOTUS_ACQUIRE);
    int code = lockmgr_send(co, hold->client, home, worker_of(hold), &wire);
    bool perhaps = code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE; /* it is asked again */
    return perhaps ? 0 : code;
}

/* Until there is a reply, it is time to ask again, or the deadline has come. */
static void await_reply(struct coro *co, struct lockmgr_hold *hold, uint64_t patience_ns, uint64_t deadline_ns)
{
    uint64_t until_ns = earlier(deadline_ns, lockmgr_now_ns(hold->client) + patience_ns);
    while (hold->words[LOTUS_STATE] == LOTUS_ASKING && lockmgr_now_ns(hold->client) < until_ns)
        (void)lockmgr_wait(co, hold->client, until_ns);
}

/* 0: granted, refused, or to be asked again, after longer than last time. */
static int ask_home(struct coro *co, struct lockmgr_hold *hold, uint32_t home, uint64_t *patience_ns,
                    uint64_t deadline_ns)
{
    uint64_t asked_ns = lockmgr_now_ns(hold->client);
    hold->words[LOTUS_STATE] = LOTUS_ASKING;
    int code = ask(co, hold, home);
    if (code) return code;
    await_reply(co, hold, *patience_ns, deadline_ns);
    if (hold->words[LOTUS_STATE] != LOTUS_ASKING) return 0;
    *patience_ns = earlier(earlier(2 * *patience_ns, ASK_AGAIN_MAX_NS), lockmgr_ask_again_ns(lockmgr_config_of(hold)));
    return lockmgr_unanswered(hold->client, "the lock's home", asked_ns, &hold->words[LOTUS_SILENT_NS]);
}

static void let_go(struct lockmgr_hold *hold)
{
    struct lockmgr_worker *worker = hold->client->worker;
    struct lockmgr_message_wire wire = message_of(hold, LOTUS_RELEASE);
    if (hold->words[LOTUS_HOME] != worker->lockmgr->cn)
        lockmgr_queue(worker, (uint32_t)hold->words[LOTUS_HOME], worker_of(hold), &wire);
}

static void back_off(struct coro *co, struct lockmgr_client *client, uint32_t tries)
{
    uint64_t bound_ns = client->worker->lockmgr->config.rtt_ns;
    bound_ns <<= tries < BACKOFF_DOUBLINGS ? tries : BACKOFF_DOUBLINGS;
    lockmgr_sleep(co, client, 1 + lockmgr_below(client, bound_ns + 1));
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    struct lockmgr_worker *worker = client->worker;
    uint64_t index = index_of(hold), patience_ns = ASK_AGAIN_NS;
    if (index == UINT64_MAX) return err_set(&client->reason, CELLAR_INVALID, "lotus knows no such lock");
    uint32_t shard = lotus_shard(worker->lockmgr, index);
    hold->words[LOTUS_TICKET] = ++client->words[0];
    patience_ns = earlier(patience_ns, lockmgr_ask_again_ns(lockmgr_config_of(hold)));
    for (uint32_t tries = 0;; tries++, client->stats.retries++) {
        int code = 0;
        uint32_t home = lotus_home(worker->lockmgr, shard);
        hold->words[LOTUS_HOME] = home;
        if (home == worker->lockmgr->cn)
            take_here(hold, shard);
        else
            code = ask_home(co, hold, home, &patience_ns, deadline_ns);
        if (hold->words[LOTUS_STATE] == LOTUS_GRANTED && code == 0) {
            client->stats.immediate += tries == 0;
            client->stats.local += home == worker->lockmgr->cn;
            return 0;
        }
        if (code == 0 && lockmgr_now_ns(client) >= deadline_ns) code = CELLAR_DEADLINE;
        if (code) {
            let_go(hold);
            return code;
        }
        if (hold->words[LOTUS_STATE] == LOTUS_BUSY) back_off(co, client, tries);
    }
}

/* The client does not wait for it: until the home has it, no other client gets the lock. A dead home needs none. */
static int release(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    (void)co;
    if (hold->words[LOTUS_HOME] == client->worker->lockmgr->cn) {
        bool mine = lotus_clear(client->worker, index_of(hold), client->id, hold->words[LOTUS_TICKET]);
        return mine ? 0 : CELLAR_FENCED;
    }
    let_go(hold);
    return 0;
}

/* ---- what comes in ---- */

static void note_answer(struct lockmgr_worker *worker, const struct fabric_message *message,
                        const struct lockmgr_message_wire *wire)
{
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    if (!hold || hold->held || (uint32_t)hold->words[LOTUS_TICKET] != (uint32_t)wire->words[1]) return;
    if (hold->words[LOTUS_STATE] != LOTUS_ASKING) return;
    hold->words[LOTUS_SILENT_NS] = 0;
    hold->words[LOTUS_HOME] = message->from_cn;
    hold->words[LOTUS_STATE] = wire->kind == LOTUS_GRANT ? LOTUS_GRANTED : LOTUS_BUSY;
    lockmgr_signal(worker, hold->client);
}

/* One that an earlier home has granted; NULL: there is none. */
static struct lockmgr_hold *unreported(const struct lockmgr_worker *worker, uint32_t shard, uint32_t home)
{
    for (uint32_t i = 0; i < worker->client_count; i++)
        for (struct lockmgr_hold *hold = worker->clients[i].holds; hold; hold = hold->next)
            if (hold->words[LOTUS_STATE] == LOTUS_GRANTED && hold->words[LOTUS_HOME] != home &&
                lotus_shard(worker->lockmgr, index_of(hold)) == shard)
                return hold;
    return NULL;
}

static void report_next(struct lockmgr_worker *worker, uint32_t shard, uint32_t home)
{
    struct lockmgr_message_wire wire = {.client = LOCKMGR_NO_CLIENT, .kind = LOTUS_REPORTED, .words = {shard}};
    const struct lockmgr_hold *hold = unreported(worker, shard, home);
    if (hold) wire = message_of(hold, LOTUS_HELD);
    lockmgr_queue(worker, home, 0, &wire);
}

static void report(struct lockmgr_worker *worker, const struct fabric_message *message, uint64_t shard)
{
    uint32_t home = message->from_cn, cns = worker->lockmgr->config.cn_count;
    if (shard < cns && home < cns && message->from_worker == 0) report_next(worker, (uint32_t)shard, home);
}

/* A home has that hold's word. If the hold is over by now, so is the word. */
static void note_kept(struct lockmgr_worker *worker, const struct fabric_message *message,
                      const struct lockmgr_message_wire *wire)
{
    uint64_t index = lockmgr_index_of(&worker->lockmgr->config, wire->lock);
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    if (index == UINT64_MAX || message->from_cn >= worker->lockmgr->config.cn_count) return;
    bool there = hold && hold->words[LOTUS_STATE] == LOTUS_GRANTED &&
                 (uint32_t)hold->words[LOTUS_TICKET] == (uint32_t)wire->words[1];
    if (there) {
        hold->words[LOTUS_HOME] = message->from_cn;
    } else if (!PLANT(lotus_ghost_kept)) {
        struct lockmgr_message_wire letter = {.lock = wire->lock,
                                              .client = LOCKMGR_NO_CLIENT,
                                              .kind = LOTUS_RELEASE,
                                              .words = {wire->words[0], wire->words[1]}};
        lockmgr_queue(worker, message->from_cn, lotus_worker_of(&worker->lockmgr->config, index), &letter);
    }
    report_next(worker, lotus_shard(worker->lockmgr, index), message->from_cn);
}

static void deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                    const struct lockmgr_message_wire *wire)
{
    if (wire->kind == LOTUS_REPORT)
        report(worker, message, wire->words[0]);
    else if (wire->kind == LOTUS_KEPT)
        note_kept(worker, message, wire);
    else if (wire->kind == LOTUS_GRANT || wire->kind == LOTUS_REFUSED)
        note_answer(worker, message, wire);
    else
        lotus_home_deliver(worker, message, wire);
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    (void)config, (void)bytes, (void)error;
    return 0;
}

static const char *const policies[] = {[LOTUS_HASH] = "hash", [LOTUS_RANGE] = "range", NULL};

const struct lockmgr_algorithm lockmgr_algorithm_lotus = {
    .name = "lotus",
    .about = "words in compute nodes, sharded: a CAS at home, a message elsewhere; refused at once (Lotus)",
    .policies = policies,
    .promises = LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS,
    .numbered = true,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .release = release,
    .audit = audit,
    .open = lotus_open,
    .close = lotus_close,
    .worker_open = lotus_worker_open,
    .worker_close = lotus_worker_close,
    .deliver = deliver,
    .tend = lotus_tend,
    .quiet = lotus_quiet,
    .worker_forget = lotus_worker_forget,
    .forget = lotus_forget,
    .worker_audit = lotus_worker_audit,
};
