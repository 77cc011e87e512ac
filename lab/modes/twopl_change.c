/*
 * twopl_change.c - mode `2pl` while the configuration changes (lab/docs/rivals.md): all compute nodes stand still, so
 * no lock is held, and all locks begin anew.
 */
#include "configuration.h"
#include "lockmgr.h"
#include "modes_plants.h"
#include "settle.h"
#include "twopl.h"
#include "txn.h"

#define BEGIN_LOOK_NS 1000
#define DOUBT_PAUSE_NS 10000

void twopl_halt(void *arg, struct sched *from)
{
    const struct twopl *twopl = arg;
    if (!PLANT(twopl_waits_unhurried)) lockmgr_halt(twopl->service.lockmgr, from);
}

bool twopl_still(void *arg)
{
    const struct twopl *twopl = arg;
    return PLANT(twopl_waits_unhurried) || lockmgr_rests(twopl->service.lockmgr);
}

void twopl_go_on(void *arg, const struct configuration *now)
{
    struct twopl *twopl = arg;
    atomic_store(&twopl->away, now->state == CONFIGURATION_STEADY ? -1 : now->away);
    lockmgr_resume(twopl->service.lockmgr);
}

struct fabric_addr twopl_addr(const struct locktable *table, const struct catalog *catalog, uint32_t lock, int32_t away)
{
    struct fabric_addr addr = locktable_addr(table, lock);
    return (int32_t)fabric_addr_node(addr) == away ? catalog_replica(catalog, addr, 1) : addr;
}

void twopl_await_begin(struct coro *co, struct txn *txn)
{
    while (lockmgr_due(twopl_set(txn)->own->lockmgr)) sched_sleep(co, txn->home->sched, txn->task, BEGIN_LOOK_NS);
}

bool twopl_doubt_ends(struct coro *co, struct txn *txn)
{
    struct txn_home *home = txn->home;
    uint64_t begin_ns = fabric_now_ns(home->ep), word;
    uint64_t patience_ns = home->catalog->replicas ? SETTLE_FAILOVER_STALLS * home->ep->fabric->stall_max_ns : 0;
    txn->op_count = 0;
    while (!atomic_load(&home->gate->halted)) {
        if (atomic_load(&home->halt->unmended)) return false;
        if (atomic_load(&home->gate->failed) || fabric_now_ns(home->ep) - begin_ns >= patience_ns) return false;
        if (settle_look(co, txn, twopl_set(txn)->doubtful, &word)) return false;
        halt_suspect(home->halt, fabric_addr_node(twopl_set(txn)->doubtful));
        sched_sleep(co, home->sched, txn->task, DOUBT_PAUSE_NS);
    }
    return true;
}
