/*
 * twopl_worker.c - locks of mode `2pl` in a compute node: its lock manager, and in each worker a tender for what nobody waits for; the first one's
 * watcher looks who is dead, and has those watched who may be in the way, while somebody waits for long.
 */
#include "twopl.h"

#include "lockmgr.h"
#include "txn.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (64u << 10)
#define VIEW_NS 500000    /* between two looks at who is dead, while a lock is waited for */
#define STOP_NS 4000000   /* so long a node that closes waits for others that may owe it a message */
#define RTT_NS 2000       /* about: of no known fabric it is much more */
#define LOCKS_TYPICAL 128 /* of a coordinator: tables of a compute node have room for so many of each */

/* ---- what can be run ---- */

static const char *algorithm_of(const struct cellar_config *config) { return config->lock ? config->lock : "declock"; }

static struct lockmgr_config config_of(const struct cellar_config *config, uint32_t cn_count, struct twopl *twopl);

int twopl_check(const struct cellar_config *config, struct cellar_error *error)
{
    const struct mode *mode = mode_of(config->cc);
    bool queues = mode->queues && config->lock && strcmp(config->lock, "declock") == 0 && !config->lock_policy;
    if (!mode->locks && !queues && (config->lock || config->lock_policy))
        return err_set(error, CELLAR_ERR_INVALID, "lock algorithms and policies are chosen in mode 2pl; mode %s has %s",
                       mode->name, mode->queues ? "declock for hot records" : "locks of its own");
    if (!mode->locks) return 0;
    const char *name = algorithm_of(config);
    if (lockmgr_switches_max(name))
        return err_set(error, CELLAR_ERR_UNSUPPORTED,
                       "lock algorithm %s locks in a switch, which a database does not run: `cellar bench lock` does",
                       name);
    if (strcmp(name, "rpc") == 0 || strcmp(name, "ncosed") == 0)
        return err_set(error, CELLAR_ERR_UNSUPPORTED,
                       "lock algorithm %s needs a lock server, which a database does not run: `cellar bench lock` does",
                       name);
    if (config->replicas && config->memnodes)
        return err_set(
            error, CELLAR_ERR_UNSUPPORTED,
            "mode 2pl has locks in one memory node each, and does not outlive it: no backups with --memnodes");
    struct lockmgr_config lock = config_of(config, config->cn_index + config->cns, NULL);
    return lockmgr_check(&lock, error);
}

uint64_t twopl_stacks(const struct cellar_config *config)
{
    return (uint64_t)config->cns * config->threads + config->cns;
}

bool twopl_recovers(const char *algorithm)
{
    const struct lockmgr_config config = {
        .algorithm = algorithm, .cn_count = 1, .workers_per_cn = 1, .clients_per_worker = 1, .rtt_ns = RTT_NS};
    struct cellar_error unused;
    if (lockmgr_check(&config, &unused)) return false;
    uint32_t promises = lockmgr_promises(&config);
    return promises & LOCKMGR_RECOVERS && !(promises & LOCKMGR_PROMPT);
}

uint64_t twopl_table_bytes(const struct cellar_config *config, uint64_t area_bytes)
{
    if (!mode_of(config->cc)->locks) return 0;
    uint64_t share = area_bytes / TWOPL_TABLE_SHARE;
    return share < TWOPL_TABLE_BYTES ? share : TWOPL_TABLE_BYTES;
}

/* ---- who is dead ---- */

static bool dead(void *arg, uint32_t cn)
{
    const struct twopl *twopl = arg;
    /* A node that closes or has stopped waits for nobody's acknowledgement. */
    if (cn == twopl->cn) return atomic_load(&twopl->stopping) || atomic_load(&twopl->gate->failed);
    if (atomic_load_explicit(&twopl->abandons, memory_order_relaxed)) return true;
    return view_dead(&twopl->view, cn);
}

static bool stopped(void *arg) { return atomic_load(&((const struct twopl *)arg)->gate->failed); }

static int look(void *arg, struct coro *co, struct fabric_ep *ep, uint32_t cn)
{
    struct twopl *twopl = arg;
    return view_look(co, &twopl->view, ep, cn);
}

static uint64_t deaths(void *arg) { return view_deaths(&((const struct twopl *)arg)->view); }

/* No tag tells who holds a lock: any of them may be the one that does not answer any more. */
static void look_at_all(struct coro *co, struct twopl_worker *own)
{
    struct twopl *twopl = own->twopl;
    const struct txn_home *home = own->home;
    view_renew(co, &twopl->view, home->ep, home->halt);
    for (uint32_t cn = 0; home->vigil && cn < home->catalog->cn_count; cn++)
        if (cn != twopl->cn && !view_dead(&twopl->view, cn)) vigil_watch(home->vigil, home->sched, cn);
}

static void watcher_main(struct coro *co, void *arg)
{
    struct twopl_worker *own = arg;
    struct twopl *twopl = own->twopl;
    struct txn_home *home = own->home;
    bool before = false; /* somebody waited when it looked last */
    for (;;) {
        bool asked = atomic_load(&twopl->asked) != 0;
        own->watcher_busy = true;
        if (asked && before) look_at_all(co, own);
        own->watcher_busy = false;
        atomic_store(&twopl->watched, asked || before);
        before = asked;
        bool rests = !atomic_load(&twopl->watched) && atomic_load(&twopl->asked) == 0;
        uint64_t until_ns = rests ? UINT64_MAX : fabric_now_ns(home->ep) + VIEW_NS;
        (void)sched_wait(co, home->sched, &own->watcher, &own->watch, until_ns);
    }
}

void twopl_asked_begin(struct twopl *twopl, struct sched *from)
{
    struct twopl_worker *first = twopl->first;
    atomic_fetch_add(&twopl->asked, 1);
    if (first && !atomic_load(&twopl->watched)) sched_signal(from, first->home->sched, &first->watcher, &first->watch);
}

void twopl_asked_end(struct twopl *twopl) { atomic_fetch_sub(&twopl->asked, 1); }

/* ---- a worker ---- */

/* The tender waits for others by itself, perhaps long after the last client has gone. */
static void tender_asks(struct twopl_worker *own)
{
    bool asks = lockmgr_awaits(own->lockmgr);
    if (asks && !own->tender_asks) twopl_asked_begin(own->twopl, own->home->sched);
    if (!asks && own->tender_asks) twopl_asked_end(own->twopl);
    own->tender_asks = asks;
}

static void tender_main(struct coro *co, void *arg)
{
    struct twopl_worker *own = arg;
    /* Who has much to look after comes to no end by himself: what he waits for may be left to a worker that has gone. */
    while (!atomic_load(&own->twopl->abandons) || PLANT(twopl_tends_for_ever)) {
        own->tender_busy = true;
        uint64_t until_ns = lockmgr_tend(co, own->lockmgr);
        own->tender_busy = false;
        tender_asks(own);
        lockmgr_tend_wait(co, own->lockmgr, until_ns);
    }
    sched_park(co, &own->tender);
}

int twopl_worker_open(struct txn_home *home, struct cellar_error *error)
{
    struct twopl *twopl = home->node->shared;
    struct twopl_worker *own = home->own = calloc(1, sizeof *own);
    if (!own) return err_set(error, CELLAR_ERR_NOMEM, "no memory for a worker's locks");
    home->twopl = own->twopl = twopl;
    own->home = home;
    home->receives = true;
    own->tender.co = coro_new(STACK_BYTES, tender_main, own);
    bool first = home->gate_worker == 0;
    if (first) own->watcher.co = coro_new(STACK_BYTES, watcher_main, own);
    if (!own->tender.co || (first && !own->watcher.co))
        return err_set(error, CELLAR_ERR_NOMEM, "no memory for a worker's locks");
    int rc = lockmgr_worker_open(twopl->lockmgr, home->gate_worker, home->ep, home->sched, &own->lockmgr, error);
    if (rc) return rc;
    sched_ready(home->sched, &own->tender);
    if (first) {
        sched_ready(home->sched, &own->watcher);
        twopl->first = own;
    }
    return 0;
}

void twopl_worker_close(struct txn_home *home)
{
    struct twopl_worker *own = home->own;
    if (!own) return;
    lockmgr_worker_close(own->lockmgr);
    coro_free(own->tender.co);
    coro_free(own->watcher.co);
    free(own);
}

bool twopl_receive(struct txn_home *home)
{
    const struct twopl_worker *own = home->own;
    struct fabric_message message;
    bool others = false;
    uint64_t due = own->lockmgr ? lockmgr_due(own->lockmgr) : 0;
    while (fabric_recv(home->ep, &message))
        if (!own->lockmgr || !lockmgr_deliver(own->lockmgr, &message)) others = true;
    if (due) lockmgr_begin(own->lockmgr, due);
    return others;
}

bool twopl_rests(struct txn_home *home)
{
    struct twopl_worker *own = home->own;
    struct twopl *twopl = own->twopl;
    if (!own->lockmgr) return true;
    uint64_t now_ns = fabric_now_ns(home->ep);
    if (!own->stop_ns) own->stop_ns = now_ns;
    bool abandons = now_ns - own->stop_ns >= STOP_NS;
    atomic_store(&twopl->stopping, true);
    if (abandons) atomic_store(&twopl->abandons, true);
    /* Whatever they have posted is still to come back. */
    if (own->watcher_busy || own->tender_busy) return false;
    if (!lockmgr_quiet(own->lockmgr) && !abandons) return false;
    lockmgr_leave(own->lockmgr);
    return true;
}

/* ---- birth and death ---- */

static struct lockmgr_config config_of(const struct cellar_config *config, uint32_t cn_count, struct twopl *twopl)
{
    uint32_t clients = config->threads * config->coros, least = TWOPL_LOCKS_MAX / clients + 1;
    return (struct lockmgr_config){
        .algorithm = algorithm_of(config),
        .policy = config->lock_policy,
        .cn_count = cn_count,
        .workers_per_cn = config->threads,
        .clients_per_worker = config->coros,
        .locks_per_client = least > LOCKS_TYPICAL ? least : LOCKS_TYPICAL,
        .rtt_ns = RTT_NS + config->rtt_ns,
        .view = {.dead = dead, .arg = twopl, .look = look, .deaths = deaths, .stopped = stopped}};
}

int twopl_start(struct node *node, struct cellar_error *error)
{
    struct twopl *twopl = node->shared = calloc(1, sizeof *twopl);
    if (!twopl) return err_set(error, CELLAR_ERR_NOMEM, "no memory for locks");
    twopl->cn = node->cn;
    twopl->gate = &node->gate;
    twopl->away = -1;
    twopl->view.member = node->member;
    struct lockmgr_config config = config_of(node->config, node->catalog->cn_count, twopl);
    int rc = lockmgr_check(&config, error);
    if (rc) return rc;
    twopl->promises = lockmgr_promises(&config);

    twopl->table = locktable_of(node->catalog, lockmgr_lock_bytes(&config), UINT32_MAX);
    if (twopl->table.per_node == 0)
        return err_set(error, CELLAR_ERR_TOO_LARGE,
                       "a lock of %s takes %llu bytes: more than a memory node has for them", config.algorithm,
                       (unsigned long long)lockmgr_lock_bytes(&config));
    return lockmgr_open(&config, node->fabric, node->cn, &twopl->lockmgr, error);
}

void twopl_follow(struct node *node)
{
    static const struct halt_follower follower = {
        .halt = twopl_halt, .still = twopl_still, .go_on = twopl_go_on, .in_pool = true};
    halt_follow(&node->halt, &follower, node->shared);
}

void twopl_close(struct node *node)
{
    struct twopl *twopl = node->shared;
    if (!twopl) return;
    lockmgr_close(twopl->lockmgr);
    free(twopl);
}
