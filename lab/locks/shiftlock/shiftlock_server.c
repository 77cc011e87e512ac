/*
 * shiftlock_server.c - ShiftLock's server: resets a lock that stands still (section 3.6), once for each era, after
 * every living worker has let go of it (shiftlock_recovery.c says why).
 *
 *     waiter ── RECOVER: nothing moves ──> server ── FREEZE ──> every worker ── FROZEN: no holder here ──> server
 *     server: CAS of the whole entry to { era + 1, none } ── THAW ──> every worker: begin again
 *
 * A request of an era that is over, or that has seen other words than are there now, is void: another client has
 * asked, or something moves.
 */
#include "must.h"
#include "shiftlock.h"
#include "shiftlock_plants.h"

#include <stdlib.h>
#include <string.h>

/* A lock that is asked about (era unknown: requested), or that is being reset. */
struct recovery {
    struct recovery *next;
    struct fabric_addr lock;
    uint64_t word, epoch; /* as the request has it */
    bool asking;          /* FREEZE was sent */
    uint16_t era;
    uint64_t ask_ns; /* when to ask again those that have not answered */
    bool answered[]; /* by cn * workers_per_cn + worker */
};

struct server {
    struct recovery *recoveries;
};

static uint32_t worker_count(const struct lockmgr_config *config) { return config->cn_count * config->workers_per_cn; }

static struct recovery *recovery_of(const struct server *server, uint64_t lock)
{
    struct recovery *recovery = server->recoveries;
    while (recovery && recovery->lock.bits != lock) recovery = recovery->next;
    return recovery;
}

int shiftlock_server_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    worker->own = calloc(1, sizeof(struct server));
    return worker->own ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a server of shiftlock");
}

void shiftlock_server_close(struct lockmgr_worker *worker)
{
    struct server *server = worker->own;
    while (server->recoveries) {
        struct recovery *recovery = server->recoveries;
        server->recoveries = recovery->next;
        free(recovery);
    }
    free(server);
}

/* ---- requests and answers ---- */

static void note_request(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    struct server *server = worker->own;
    if (recovery_of(server, wire->lock)) return;
    struct recovery *recovery = calloc(1, sizeof *recovery + worker_count(&worker->lockmgr->config) * sizeof(bool));
    must(recovery);
    recovery->lock.bits = wire->lock;
    recovery->word = wire->words[0];
    recovery->epoch = wire->words[1];
    recovery->next = server->recoveries;
    server->recoveries = recovery;
}

static void note_answer(struct lockmgr_worker *worker, const struct fabric_message *message,
                        const struct lockmgr_message_wire *wire)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct recovery *recovery = recovery_of(worker->own, wire->lock);
    if (!recovery || !recovery->asking || (uint16_t)wire->words[0] != recovery->era) return;
    if (message->from_cn >= config->cn_count || message->from_worker >= config->workers_per_cn) return;
    recovery->answered[message->from_cn * config->workers_per_cn + message->from_worker] = true;
}

void shiftlock_server_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                              const struct lockmgr_message_wire *wire)
{
    if (wire->kind == SHIFTLOCK_RECOVER) note_request(worker, wire);
    if (wire->kind == SHIFTLOCK_FROZEN) note_answer(worker, message, wire);
}

/* ---- resets ---- */

static void tell(struct lockmgr_worker *worker, const struct recovery *recovery, enum shiftlock_kind kind, uint16_t era)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct lockmgr_message_wire wire = {
        .lock = recovery->lock.bits, .client = LOCKMGR_NO_CLIENT, .kind = (uint16_t)kind, .words = {era}};
    for (uint32_t i = 0; i < worker_count(config); i++) {
        uint32_t cn = i / config->workers_per_cn;
        bool spare = kind == SHIFTLOCK_FREEZE && recovery->answered[i];
        if (!spare && !lockmgr_dead(worker->lockmgr, cn)) lockmgr_queue(worker, cn, i % config->workers_per_cn, &wire);
    }
}

static bool all_answered(const struct lockmgr_worker *worker, const struct recovery *recovery)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    for (uint32_t i = 0; i < worker_count(config); i++)
        if (!recovery->answered[i] && !lockmgr_dead(worker->lockmgr, i / config->workers_per_cn)) return false;
    return true;
}

/* Is the request still about what is there? Then all are asked. */
static bool begin(struct coro *co, struct lockmgr_worker *worker, struct recovery *recovery)
{
    struct shiftlock_entry entry;
    if (shiftlock_read(co, &worker->tender, recovery->lock, &entry)) return false;
    bool same = entry.word[1] == recovery->word && (entry.word[0] & SHIFTLOCK_EPOCH) == recovery->epoch;
    if (!same || shiftlock_tail(entry) == 0) return false;
    recovery->era = shiftlock_era(entry);
    recovery->asking = true;
    return true;
}

static void ask(struct lockmgr_worker *worker, struct recovery *recovery, uint64_t now_ns)
{
    recovery->ask_ns = now_ns + shiftlock_lease_ns(&worker->lockmgr->config);
    tell(worker, recovery, SHIFTLOCK_FREEZE, recovery->era);
}

/* No client holds or takes it: only operations that change nothing are still under way. False: the fabric failed. */
static bool reset(struct coro *co, struct lockmgr_worker *worker, const struct recovery *recovery)
{
    struct shiftlock_entry entry, old;
    if (shiftlock_read(co, &worker->tender, recovery->lock, &entry)) return false;
    for (;; entry = old) {
        if (shiftlock_era(entry) != recovery->era) return true;
        uint64_t era = (uint16_t)(recovery->era + 1);
        struct fabric_wide wide = {
            .compare = {entry.word[0], entry.word[1]},
            .compare_mask = {~0ull, ~0ull},
            .swap = {entry.word[0] & SHIFTLOCK_EPOCH, (entry.word[1] & ~SHIFTLOCK_ERA) | era << SHIFTLOCK_ERA_SHIFT},
            .swap_mask = {~0ull, ~0ull}};
        if (shiftlock_wide(co, &worker->tender, recovery->lock, FABRIC_WIDE_CAS, &wide, &old)) return false;
        if (memcmp(&old, &entry, sizeof old) == 0) return true;
    }
}

/* True: it is over. */
static bool tend_one(struct coro *co, struct lockmgr_worker *worker, struct recovery *recovery)
{
    uint64_t now_ns = fabric_now_ns(worker->ep);
    if (!recovery->asking && !begin(co, worker, recovery)) return true;
    if (!PLANT(shiftlock_resets_unasked)) {
        if (now_ns >= recovery->ask_ns) ask(worker, recovery, now_ns);
        if (!all_answered(worker, recovery)) return false;
    }
    if (reset(co, worker, recovery)) {
        tell(worker, recovery, SHIFTLOCK_THAW, (uint16_t)(recovery->era + 1));
        return true;
    }
    return false;
}

uint64_t shiftlock_server_tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct server *server = worker->own;
    uint64_t next_ns = UINT64_MAX;
    for (struct recovery *recovery = server->recoveries, *next; recovery; recovery = next) {
        bool over = tend_one(co, worker, recovery);
        next = recovery->next;
        if (!over) { /* a client may die without a message */
            uint64_t look_ns = fabric_now_ns(worker->ep) + shiftlock_lease_ns(&worker->lockmgr->config) / 4;
            if (look_ns < next_ns) next_ns = look_ns;
            continue;
        }
        struct recovery **at = &server->recoveries;
        while (*at != recovery) at = &(*at)->next;
        *at = next;
        free(recovery);
    }
    return next_ns;
}
