/*
 * twopl.c - an attempt's locks in mode `2pl`: taken before the records of a block are read, released when all is over.
 *
 * The race it is built around: two attempts that each want what the other one holds. Blocks ask in ascending order,
 * so that within a block, and as long as each block's locks are above the earlier ones', no waits form a cycle. A
 * lock that is not above is asked for, too, since most often it is free; but not for long. An attempt that gives up
 * then, or would need a lock stronger than it holds it, remembers all that it held and wanted, and the next attempt
 * of the call asks for it at once, in order.
 */
#include "twopl.h"

#include "counter.h"
#include "fetch.h"
#include "lazy.h"
#include "lockmgr.h"
#include "modes_plants.h"
#include "must.h"

#include <string.h>

/* ---- lists ---- */

/* Where that lock is, or belongs. */
static uint32_t list_at(const struct twopl_list *list, uint32_t lock)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (list->wants[middle].lock < lock)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct twopl_want *list_find(const struct twopl_list *list, uint32_t lock)
{
    uint32_t at = list_at(list, lock);
    return at < list->count && list->wants[at].lock == lock ? &list->wants[at] : NULL;
}

/* Once, in the stronger mode; false: there are too many. */
static bool list_add(struct twopl_list *list, uint32_t lock, bool exclusive)
{
    uint32_t at = list_at(list, lock);
    if (at < list->count && list->wants[at].lock == lock) {
        list->wants[at].exclusive = list->wants[at].exclusive || exclusive;
        return true;
    }
    if (list->count == TWOPL_LOCKS_MAX) return false;
    memmove(&list->wants[at + 1], &list->wants[at], (list->count++ - at) * sizeof *list->wants);
    list->wants[at] = (struct twopl_want){.lock = lock, .exclusive = exclusive};
    return true;
}

static bool list_join(struct twopl_list *list, const struct twopl_list *more)
{
    bool all = true;
    for (uint32_t i = 0; i < more->count && all; i++)
        all = list_add(list, more->wants[i].lock, more->wants[i].exclusive);
    return all;
}

/* ---- life ---- */

int twopl_attach(struct txn *txn, uint32_t index)
{
    struct twopl_set *set = twopl_set(txn);
    struct twopl_list *lists[] = {&set->held, &set->wanted, &set->learnt};
    set->holds = lazy_map(TWOPL_LOCKS_MAX * sizeof *set->holds);
    bool all = set->holds;
    for (uint32_t i = 0; i < 3; i++) {
        lists[i]->wants = lazy_map(TWOPL_LOCKS_MAX * sizeof *lists[i]->wants);
        all = all && lists[i]->wants;
    }
    set->own = txn->home->own;
    set->client = lockmgr_client_of(set->own->lockmgr, index, txn->task);
    return all ? 0 : CELLAR_NOMEM;
}

void twopl_detach(struct txn *txn)
{
    struct twopl_set *set = twopl_set(txn);
    struct twopl_list *lists[] = {&set->held, &set->wanted, &set->learnt};
    lazy_unmap(set->holds, TWOPL_LOCKS_MAX * sizeof *set->holds);
    for (uint32_t i = 0; i < 3; i++) lazy_unmap(lists[i]->wants, TWOPL_LOCKS_MAX * sizeof *lists[i]->wants);
    *set = (struct twopl_set){0};
}

/* ---- an attempt ---- */

int twopl_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts)
{
    struct twopl_set *set = twopl_set(txn);
    (void)co;
    (void)log_bytes;
    set->left = false;
    if (attempts > 1) return 0;
    set->learnt.count = set->forgotten = 0;
    if (set->doublings) set->doublings--;
    return 0;
}

/* Do its locks alone keep what it has read? */
static inline bool keeps(const struct txn *txn)
{
    return !(twopl_shared(txn->home)->promises & LOCKMGR_LEASES) || PLANT(twopl_lease_trusted);
}

/*
 * Were its locks released early, or may they have been taken? Then nothing that it has read counts. A node that has
 * stopped counts as dead among its own coordinators, too: they may have taken each other's locks.
 */
static bool is_lost(const struct txn *txn)
{
    return twopl_set(txn)->left || (atomic_load(&txn->home->gate->failed) && !PLANT(twopl_stopped_goes_on));
}

/* ---- a block ---- */

static void leave(struct coro *co, struct txn *txn)
{
    struct twopl *twopl = twopl_shared(txn->home);
    struct twopl_set *set = twopl_set(txn);
    uint64_t before = lockmgr_client_ops(set->client);
    lockservice_asked_begin(&twopl->service,
                            txn->home->sched); /* a release may have to wait until the dead are known */
    while (set->held.count) {
        struct lockmgr_hold *hold = &set->holds[set->held.wants[--set->held.count].hold];
        int code = lockmgr_release(co, hold);
        bool lost = code == CELLAR_FENCED && !keeps(txn); /* by a lease, and nothing rested on it */
        if (code && !lost) set->doubtful = hold->lock;
    }
    lockservice_asked_end(&twopl->service);
    /* INV-2PL-5. It waits with no lock in hand. */
    if (set->doubtful.bits && !twopl_doubt_ends(co, txn)) gate_fail(txn->home->gate);
    set->doubtful.bits = 0;
    counter_add(&txn->home->stats.round_trips, lockmgr_client_ops(set->client) - before);
}

/*
 * What the block needs and the attempt does not hold. `learnt` beside it, of an attempt that holds nothing yet.
 * False: too many.
 */
static bool gather(struct txn *txn)
{
    const struct twopl *twopl = twopl_shared(txn->home);
    struct twopl_set *set = twopl_set(txn);
    bool all = true;

    set->wanted.count = 0;
    if (set->held.count == 0) all = list_join(&set->wanted, &set->learnt);
    for (uint32_t i = 0; i < txn->block_count && all; i++) {
        const struct cache_object *object = txn->block[i];
        if (object->kind == CACHE_INSERT)
            continue; /* its bucket is locked, and it cannot be reached before that is free */
        bool exclusive = object->write_cells || object->kind == CACHE_DELETE;
        if (PLANT(twopl_shared_for_write)) exclusive = false;
        if (PLANT(twopl_reads_unlocked) && !exclusive) continue;
        uint32_t lock = locktable_find(&twopl->table, object->table, object->key, 0);
        const struct twopl_want *held = list_find(&set->held, lock);
        if (!held || (exclusive && !held->exclusive && !PLANT(twopl_upgrade_assumed)))
            all = list_add(&set->wanted, lock, exclusive);
    }
    return all;
}

/* Ends the attempt; the next one of this call asks first for all that this one held and wanted. */
static int end_wiser(struct coro *co, struct txn *txn, enum cellar_abort_reason reason)
{
    struct twopl_set *set = twopl_set(txn);
    if (!list_join(&set->learnt, &set->held) || !list_join(&set->learnt, &set->wanted)) set->learnt.count = 0;
    return txn_abort(co, txn, reason);
}

/*
 * What earlier attempts have learnt may be what makes them too many, where each attempt goes another way: then the next
 * one begins without it.
 */
static int too_many(struct coro *co, struct txn *txn)
{
    struct twopl_set *set = twopl_set(txn);
    if (set->learnt.count == 0 || set->forgotten == TWOPL_FORGETS_MAX)
        return txn_error(txn, CELLAR_TOO_LARGE, WHY_LOCKS, TWOPL_LOCKS_MAX);
    set->learnt.count = 0;
    set->forgotten++;
    return txn_abort(co, txn, CELLAR_ABORT_LOCK_UPGRADE);
}

static struct fabric_addr addr_of(const struct txn *txn, uint32_t lock)
{
    const struct twopl *twopl = twopl_shared(txn->home);
    int32_t away = atomic_load_explicit(&twopl->away, memory_order_relaxed);
    return twopl_addr(&twopl->table, txn->home->catalog, lock, away);
}

/* Its memory node may be lost; whether the lock is held may be unknown. */
static void failed(struct txn *txn, struct fabric_addr addr, int code)
{
    bool silent = code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE;
    if (silent && txn->home->catalog->replicas) halt_suspect(txn->home->halt, fabric_addr_node(addr));
    if (code == CELLAR_INDETERMINATE) twopl_set(txn)->doubtful = addr;
}

static int ask(struct coro *co, struct txn *txn, const struct twopl_want *want, uint64_t wait_ns)
{
    struct twopl *twopl = twopl_shared(txn->home);
    struct twopl_set *set = twopl_set(txn);
    uint64_t before = lockmgr_client_ops(set->client);
    struct fabric_addr addr = addr_of(txn, want->lock);
    twopl_await_begin(co, txn);
    lockservice_asked_begin(&twopl->service, txn->home->sched);
    int code = lockmgr_acquire(co, set->client, &set->holds[set->held.count], addr,
                               want->exclusive ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED, wait_ns);
    lockservice_asked_end(&twopl->service);
    if (code) failed(txn, addr, code);
    counter_add(&txn->home->stats.round_trips, lockmgr_client_ops(set->client) - before);
    return code;
}

/* How long for one lock. */
static uint64_t patience_ns(const struct twopl_set *set, bool late)
{
    if (late && !PLANT(twopl_waits_in_cycles)) return TWOPL_WAIT_LATE_NS;
    return (uint64_t)TWOPL_WAIT_NS << set->doublings;
}

/* One that was not granted. */
static int refused(struct coro *co, struct txn *txn, int code, bool late)
{
    struct twopl_set *set = twopl_set(txn);
    if (code == CELLAR_DEADLINE && !late && set->doublings < TWOPL_WAIT_DOUBLINGS) set->doublings++;
    if (code == CELLAR_DEADLINE && late) return end_wiser(co, txn, CELLAR_ABORT_LOCK_WAIT);
    if (code == CELLAR_DEADLINE || code == CELLAR_NOMEM) return txn_abort(co, txn, CELLAR_ABORT_LOCK_WAIT);
    return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
}

static int enter(struct coro *co, struct txn *txn)
{
    struct twopl_set *set = twopl_set(txn);
    if (is_lost(txn)) return txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED);
    if (PLANT(twopl_released_early)) leave(co, txn);
    if (!gather(txn)) return too_many(co, txn);
    for (uint32_t i = 0; i < set->wanted.count; i++) {
        if (!list_find(&set->held, set->wanted.wants[i].lock)) continue;
        txn->at_once = true; /* no other transaction is why */
        return end_wiser(co, txn, CELLAR_ABORT_LOCK_UPGRADE);
    }
    for (uint32_t i = 0; i < set->wanted.count; i++) {
        const struct twopl_want *want = &set->wanted.wants[i];
        if (set->held.count == TWOPL_LOCKS_MAX) return too_many(co, txn);
        bool late = set->held.count && set->held.wants[set->held.count - 1].lock > want->lock;
        int code = ask(co, txn, want, patience_ns(set, late));
        if (code) return refused(co, txn, code, late);
        uint32_t hold = set->held.count;
        must(list_add(&set->held, want->lock, want->exclusive));
        list_find(&set->held, want->lock)->hold = hold;
    }
    return 0;
}

static int rounds(struct coro *co, struct txn *txn)
{
    static const struct fetch_rules rules = {.keeps = keeps};
    return fetch_rounds(co, txn, &rules);
}

int twopl_fetch(struct coro *co, struct txn *txn)
{
    int rc = enter(co, txn);
    return rc ? rc : rounds(co, txn);
}

/* ---- the end ---- */

int twopl_fail(struct coro *co, struct txn *txn)
{
    return is_lost(txn) ? txn_abort(co, txn, CELLAR_ABORT_NODE_FAILED) : 0;
}

int twopl_commit(struct coro *co, struct txn *txn)
{
    int rc = twopl_fail(co, txn);
    return rc ? rc : txn_commit_own(co, txn);
}

void twopl_end(struct coro *co, struct txn *txn)
{
    if (twopl_set(txn)->held.count || twopl_set(txn)->doubtful.bits) leave(co, txn);
}

/* Others wait for them, and are waited for; what is to be settled stays marked. */
bool twopl_settle(struct coro *co, struct txn *txn)
{
    twopl_set(txn)->left = true;
    leave(co, txn);
    return false;
}
