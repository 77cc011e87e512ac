/* lotus_home.c - a compute node as the home of a shard of locks: its words, and taking over a dead one's shard. */
#include "lotus.h"
#include "lotus_plants.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS 1000000 /* for the dead, without a lease to go by */
#define REPORT_NS 10000 /* and so many round trips: between two questions to a worker that has not reported all */
#define REPORT_RTTS 8

static struct lotus_node *node_of(const struct lockmgr *lockmgr) { return lockmgr->shared; }

/* ---- words ---- */

static uint64_t word_of(uint32_t id, uint64_t ticket) { return (uint64_t)id << 32 | (uint32_t)ticket; }

/* May that call replace what is there? An older call of the same client is over: its RELEASE is on its way. */
static bool gives_way(const struct lockmgr_worker *worker, uint64_t word, uint32_t id, uint64_t ticket)
{
    uint32_t cn, at, client, holder = (uint32_t)(word >> 32);
    if (word == 0) return true;
    if (holder == id) return (int32_t)((uint32_t)ticket - (uint32_t)word) > 0;
    bool there = lockmgr_locate(&worker->lockmgr->config, holder, &cn, &at, &client);
    must(there);
    return lockmgr_dead(worker->lockmgr, cn) && !PLANT(lotus_dead_hold);
}

bool lotus_take(struct lockmgr_worker *worker, uint64_t index, uint32_t id, uint64_t ticket)
{
    _Atomic uint64_t *word = &node_of(worker->lockmgr)->words[index];
    uint64_t mine = word_of(id, ticket), old = atomic_load(word);
    fabric_work(worker->ep, 1);
    do {
        fabric_preempt(worker->ep);
        if (old == mine) return true;
        if (!gives_way(worker, old, id, ticket)) return false;
    } while (!atomic_compare_exchange_strong(word, &old, mine));
    return true;
}

/* INV-LOTUS-1 */
bool lotus_clear(struct lockmgr_worker *worker, uint64_t index, uint32_t id, uint64_t ticket)
{
    _Atomic uint64_t *word = &node_of(worker->lockmgr)->words[index];
    uint64_t mine = word_of(id, ticket);
    fabric_work(worker->ep, 1);
    if (PLANT(lotus_cleared_blindly)) mine = atomic_load(word);
    return atomic_compare_exchange_strong(word, &mine, 0);
}

/* ---- requests of other nodes ---- */

static void reply(struct lockmgr_worker *worker, const struct fabric_message *to, uint32_t client,
                  const struct lockmgr_message_wire *wire, enum lotus_kind kind)
{
    struct lockmgr_message_wire letter = {
        .lock = wire->lock, .client = client, .kind = (uint16_t)kind, .words = {wire->words[0], wire->words[1]}};
    lockmgr_queue(worker, to->from_cn, to->from_worker, &letter);
}

static void note_reported(struct lockmgr_worker *worker, const struct fabric_message *message, uint64_t shard)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct lotus_worker *own = worker->own;
    uint64_t workers = (uint64_t)config->cn_count * config->workers_per_cn;
    uint64_t number = (uint64_t)message->from_cn * config->workers_per_cn + message->from_worker;
    bool known = message->from_worker < config->workers_per_cn && message->from_cn < config->cn_count;
    if (own->reported && shard < config->cn_count && known) own->reported[shard * workers + number] = true;
}

/*
 * The word of a lock that an earlier home has granted. One that has been released meanwhile is cleared by its worker.
 */
static void keep(struct lockmgr_worker *worker, const struct fabric_message *message, uint32_t client, uint64_t index,
                 const struct lockmgr_message_wire *wire)
{
    if (!lotus_take(worker, index, (uint32_t)wire->words[0], wire->words[1])) return; /* it came late */
    reply(worker, message, client, wire, LOTUS_KEPT);
}

void lotus_home_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                        const struct lockmgr_message_wire *wire)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint32_t cn, from, client, id = (uint32_t)wire->words[0];
    if (wire->kind == LOTUS_REPORTED) {
        note_reported(worker, message, wire->words[0]);
        return;
    }
    uint64_t index = lockmgr_index_of(config, wire->lock);
    bool theirs = lockmgr_locate(config, id, &cn, &from, &client) && cn == message->from_cn &&
                  from == message->from_worker && index != UINT64_MAX;
    /* What it said before it died may be read after its locks were taken from it. */
    if (!theirs || lockmgr_dead(worker->lockmgr, cn)) return;
    bool serves = atomic_load(&node_of(worker->lockmgr)->serves[lotus_shard(worker->lockmgr, index)]);
    if (wire->kind == LOTUS_HELD) keep(worker, message, client, index, wire);
    if (wire->kind == LOTUS_RELEASE) (void)lotus_clear(worker, index, id, wire->words[1]);
    if (wire->kind != LOTUS_ACQUIRE) return;
    bool taken = serves && lotus_take(worker, index, id, wire->words[1]);
    reply(worker, message, client, wire, taken ? LOTUS_GRANT : LOTUS_REFUSED);
}

/* ---- a dead home's shard ---- */

/* Asks those workers that have not reported yet. True: there are none. */
static bool all_reported(struct lockmgr_worker *worker, uint32_t shard)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    const struct lotus_worker *own = worker->own;
    uint32_t workers = config->cn_count * config->workers_per_cn;
    bool all = true;
    for (uint32_t number = 0; number < workers; number++) {
        uint32_t cn = number / config->workers_per_cn;
        if (lockmgr_dead(worker->lockmgr, cn) || own->reported[(uint64_t)shard * workers + number]) continue;
        struct lockmgr_message_wire wire = {.client = LOCKMGR_NO_CLIENT, .kind = LOTUS_REPORT, .words = {shard}};
        lockmgr_queue(worker, cn, number % config->workers_per_cn, &wire);
        all = false;
    }
    return all;
}

/* INV-LOTUS-2. By the first worker of each node, which looks for shards that have come to it. */
uint64_t lotus_tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct lockmgr *lockmgr = worker->lockmgr;
    const struct lockmgr_config *config = &lockmgr->config;
    struct lotus_worker *own = worker->own;
    uint64_t now_ns = fabric_now_ns(worker->ep), next_ns = config->lease_ns ? config->lease_ns / 4 : LOOK_NS;
    (void)co;
    if (!own->reported) return UINT64_MAX;
    if (now_ns < own->look_ns) return own->look_ns;
    worker->awaits = false;
    for (uint32_t shard = 0; shard < config->cn_count; shard++) {
        atomic_bool *serves = &node_of(lockmgr)->serves[shard];
        if (atomic_load(serves) || lotus_home(lockmgr, shard) != lockmgr->cn) continue;
        if (PLANT(lotus_unreported) || all_reported(worker, shard)) {
            atomic_store(serves, true);
            continue;
        }
        worker->awaits = true;
        next_ns = REPORT_NS + REPORT_RTTS * config->rtt_ns;
    }
    return own->look_ns = now_ns + next_ns;
}

/* Does a living client hold that lock, as its home has it? Its id, or 0. */
static uint32_t living_holder(const struct lockmgr *lockmgr, uint64_t index)
{
    uint32_t cn, at, client, holder = (uint32_t)(atomic_load(&node_of(lockmgr)->words[index]) >> 32);
    bool dead = holder && lockmgr_locate(&lockmgr->config, holder, &cn, &at, &client) && lockmgr_dead(lockmgr, cn);
    return dead || lockmgr_dead(lockmgr, lockmgr->cn) ? 0 : holder; /* a dead home's words mean nothing */
}

/* Releases of the locks that are this worker's may lie in its inbox. */
bool lotus_quiet(const struct lockmgr_worker *worker)
{
    const struct lockmgr *lockmgr = worker->lockmgr;
    for (uint64_t index = 0; index < lockmgr->config.lock_count; index++)
        if (lotus_worker_of(&lockmgr->config, index) == worker->number && living_holder(lockmgr, index)) return false;
    return !worker->awaits;
}

/* ---- birth and death ---- */

void lotus_forget(struct lockmgr *lockmgr)
{
    struct lotus_node *node = node_of(lockmgr);
    for (uint64_t i = 0; i < lockmgr->config.lock_count; i++) atomic_store(&node->words[i], 0);
    for (uint32_t shard = 0; shard < lockmgr->config.cn_count; shard++)
        atomic_store(&node->serves[shard], shard == lockmgr->cn);
}

void lotus_close(struct lockmgr *lockmgr)
{
    struct lotus_node *node = lockmgr->shared;
    if (node) free(node->words);
    free(node);
}

int lotus_open(struct lockmgr *lockmgr, struct cellar_error *error)
{
    struct lotus_node *node = lockmgr->shared = calloc(1, sizeof *node);
    if (node) node->words = calloc(lockmgr->config.lock_count, sizeof *node->words);
    if (node && node->words) {
        lotus_forget(lockmgr);
        return 0;
    }
    lotus_close(lockmgr);
    lockmgr->shared = NULL;
    return err_set(error, CELLAR_NOMEM, "no memory for the words of %llu locks",
                   (unsigned long long)lockmgr->config.lock_count);
}

static uint64_t reported_bytes(const struct lockmgr_config *config)
{
    return (uint64_t)config->cn_count * config->cn_count * config->workers_per_cn;
}

void lotus_worker_close(struct lockmgr_worker *worker)
{
    struct lotus_worker *own = worker->own;
    if (own) free(own->reported);
    free(own);
}

int lotus_worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct lotus_worker *own = worker->own = calloc(1, sizeof *own);
    bool looks = worker->number == 0 && config->view.dead;
    if (own && looks) own->reported = calloc(1, reported_bytes(config));
    if (own && (!looks || own->reported)) return 0;
    lotus_worker_close(worker);
    worker->own = NULL;
    return err_set(error, CELLAR_NOMEM, "no memory for a worker of lotus");
}

void lotus_worker_forget(struct lockmgr_worker *worker)
{
    struct lotus_worker *own = worker->own;
    bool *reported = own->reported;
    if (reported) memset(reported, 0, reported_bytes(&worker->lockmgr->config));
    *own = (struct lotus_worker){.reported = reported};
    worker->awaits = false;
}

int lotus_worker_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error)
{
    const struct lockmgr *lockmgr = worker->lockmgr;
    uint64_t index = lockmgr_index_of(&lockmgr->config, lock.bits);
    uint32_t holder = index == UINT64_MAX ? 0 : living_holder(lockmgr, index);
    if (!holder) return 0; /* free, or a dead one's, which the next client takes */
    return err_set(error, CELLAR_CORRUPT, "its home has client %u holding it", holder);
}
