/*
 * twopl_worker.c - locks of mode `2pl` in a compute node: which can be run, and their lock service, whose watcher has
 * all compute nodes watched while a lock is waited for long.
 */
#include "twopl.h"

#include "lockmgr.h"
#include "must.h"
#include "txn.h"

#include <stdlib.h>
#include <string.h>

#define LOCKS_TYPICAL 128 /* of a coordinator: tables of a compute node have room for so many of each */

/* ---- what can be run ---- */

static const char *algorithm_of(const struct engine_config *config) { return config->lock ? config->lock : "declock"; }

static struct lockmgr_config config_of(const struct engine_config *config, uint32_t cn_count,
                                       struct lockservice *service);

int twopl_check(const struct engine_config *config, struct cellar_error *error)
{
    const struct mode *mode = mode_of(config->cc);
    if (!mode->locks) return 0;
    const char *name = algorithm_of(config);
    if (lockmgr_switches_max(name))
        return err_set(error, CELLAR_UNSUPPORTED,
                       "lock algorithm %s locks in a switch, which a database does not run: `cellar bench lock` does",
                       name);
    if (lockmgr_numbered(name))
        return err_set(error, CELLAR_UNSUPPORTED,
                       "lock algorithm %s numbers its locks, which a database does not: `cellar bench lock` does",
                       name);
    if (strcmp(name, "rpc") == 0 || strcmp(name, "ncosed") == 0)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "lock algorithm %s needs a lock server, which a database does not run: `cellar bench lock` does",
                       name);
    if (config->replicas && config->memnodes)
        return err_set(
            error, CELLAR_UNSUPPORTED,
            "mode 2pl has locks in one memory node each, and does not outlive it: no backups with --memnodes");
    struct lockmgr_config lock = config_of(config, config->cn_index + config->cns, NULL);
    return lockmgr_check(&lock, error);
}

uint64_t twopl_stacks(const struct engine_config *config)
{
    return (uint64_t)config->cns * config->threads + config->cns;
}

bool twopl_recovers(const char *algorithm)
{
    const struct lockmgr_config config = {.algorithm = algorithm,
                                          .cn_count = 1,
                                          .workers_per_cn = 1,
                                          .clients_per_worker = 1,
                                          .rtt_ns = LOCKSERVICE_RTT_NS};
    struct cellar_error unused;
    if (lockmgr_check(&config, &unused)) return false;
    uint32_t promises = lockmgr_promises(&config);
    return promises & LOCKMGR_RECOVERS && !(promises & LOCKMGR_PROMPT);
}

uint64_t twopl_table_bytes(const struct engine_config *config, uint64_t area_bytes)
{
    if (!mode_of(config->cc)->locks) return 0;
    uint64_t share = area_bytes / TWOPL_TABLE_SHARE;
    return share < TWOPL_TABLE_BYTES ? share : TWOPL_TABLE_BYTES;
}

/* ---- the watcher ---- */

/* No tag tells which node holds a lock: any of them may be the one that does not answer any more. */
static void look_at_all(struct coro *co, struct lockservice_worker *first)
{
    const struct txn_home *home = first->home;
    lockservice_look(co, first);
    for (uint32_t cn = 0; home->vigil && cn < home->catalog->cn_count; cn++)
        if (cn != first->service->cn && !view_dead(&first->service->view, cn))
            vigil_watch(home->vigil, home->sched, cn);
}

static uint64_t watch(struct coro *co, struct lockservice_worker *first)
{
    struct twopl *twopl = twopl_shared(first->home);
    struct lockservice *service = first->service;
    bool asked = atomic_load(&service->asked) != 0, before = twopl->asked_before;
    if (asked && before) look_at_all(co, first);
    atomic_store(&service->watched, asked || before);
    twopl->asked_before = asked;
    bool rests = !atomic_load(&service->watched) && atomic_load(&service->asked) == 0;
    return rests ? UINT64_MAX : fabric_now_ns(first->home->ep) + LOCKSERVICE_VIEW_NS;
}

/* ---- a worker ---- */

int twopl_worker_open(struct txn_home *home, struct cellar_error *error)
{
    struct twopl *twopl = home->node->shared;
    struct lockservice_worker *own = home->own = calloc(1, sizeof *own);
    if (!own) return err_set(error, CELLAR_NOMEM, "no memory for a worker's locks");
    int rc = lockservice_worker_open(&twopl->service, own, home->gate_worker, home, error);
    if (rc) return rc;
    lockservice_worker_start(own);
    return 0;
}

void twopl_worker_close(struct txn_home *home)
{
    if (home->own) lockservice_worker_close(home->own);
    free(home->own);
}

bool twopl_receive(struct txn_home *home) { return lockservice_receive(home->own, home->ep); }

bool twopl_rests(struct txn_home *home)
{
    struct lockservice_worker *own = home->own;
    if (!own->lockmgr) return true;
    bool rests = lockservice_rests(own);
    if (rests) lockmgr_leave(own->lockmgr);
    return rests;
}

/* ---- birth and death ---- */

static struct lockmgr_config config_of(const struct engine_config *config, uint32_t cn_count,
                                       struct lockservice *service)
{
    uint32_t clients = config->threads * config->coros, least = TWOPL_LOCKS_MAX / clients + 1;
    return (struct lockmgr_config){.algorithm = algorithm_of(config),
                                   .policy = config->lock_policy,
                                   .cn_count = cn_count,
                                   .workers_per_cn = config->threads,
                                   .clients_per_worker = config->coros,
                                   .locks_per_client = least > LOCKS_TYPICAL ? least : LOCKS_TYPICAL,
                                   .rtt_ns = LOCKSERVICE_RTT_NS + config->rtt_ns,
                                   .view = lockservice_view(service)};
}

int twopl_start(struct node *node, struct cellar_error *error)
{
    struct twopl *twopl = node->shared = calloc(1, sizeof *twopl);
    if (!twopl) return err_set(error, CELLAR_NOMEM, "no memory for locks");
    lockservice_init(&twopl->service, node, watch);
    twopl->away = -1;
    struct lockmgr_config config = config_of(node->config, node->catalog->cn_count, &twopl->service);
    int rc = lockmgr_check(&config, error);
    if (rc) return rc;
    twopl->promises = lockmgr_promises(&config);

    twopl->table = locktable_of(node->catalog, lockmgr_lock_bytes(&config), UINT32_MAX);
    if (twopl->table.per_node == 0)
        return err_set(error, CELLAR_TOO_LARGE, "a lock of %s takes %llu bytes: more than a memory node has for them",
                       config.algorithm, (unsigned long long)lockmgr_lock_bytes(&config));
    return lockservice_open(&twopl->service, &config, node, error);
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
    lockservice_close(&twopl->service);
    free(twopl);
}
