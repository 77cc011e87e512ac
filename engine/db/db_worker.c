/* db_worker.c - what a worker and its coordinators have of their own, made and freed. */
#include "db_worker.h"

#include "coordinator.h"
#include "db.h"
#include "db_space.h"
#include "durable.h"
#include "loader.h"
#include "plant.h"
#include "procedure.h"
#include "tree.h"
#include "worker.h"

#include <stdlib.h>

#define ADDRCACHE_ENTRIES_MAX (1u << 20)
#define ADDRCACHE_ENTRIES_MIN (1u << 14)
#define ADDRCACHE_BYTES_MAX (4ull << 30) /* of all workers: many only in a simulated cluster */
#define POOL_BYTES_LARGE (256ull << 20)

/* ---- their memory ---- */

int db_coordinators_make(struct cellar *db, struct worker *worker, uint32_t count, uint32_t index, uint32_t cn_index)
{
    worker->coordinator_count = count;
    worker->coordinators = calloc(worker->coordinator_count, sizeof *worker->coordinators);
    if (!worker->coordinators) return CELLAR_NOMEM;
    for (uint32_t i = 0; i < worker->coordinator_count; i++) {
        struct coordinator *coordinator = &worker->coordinators[i];
        coordinator->worker = worker;
        coordinator->index = index + i;
        coordinator->cn_index = cn_index + i;
        coordinator->txn = txn_new(mode_of(db->config.cc));
        coordinator->task.co = coro_new(CELLAR_STACK_BYTES, coordinator_main, coordinator);
        if (!coordinator->txn || !coordinator->task.co) return CELLAR_NOMEM;
    }
    return 0;
}

void db_worker_thread(void *arg)
{
    struct worker *worker = arg;
    struct cellar *db = worker->db;

    worker_main(worker);
    fabric_done(db->fabric, &db->running);
}

void db_worker_free(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->coordinator_count && worker->coordinators; i++) {
        if (worker->coordinators[i].txn) tree_close(worker->coordinators[i].txn);
        if (worker->coordinators[i].txn) procedure_close(worker->coordinators[i].txn->session);
        txn_free(worker->coordinators[i].txn);
        coro_free(worker->coordinators[i].task.co);
    }
    free(worker->coordinators);
    loader_free(worker->loader);
    tree_hints_free(worker->home.hints);
    space_free(worker->home.space);
    addrcache_free(worker->home.addrs);
    tabletally_free(worker->home.tallies);
}

/* ---- their logs, and what their mode has ---- */

/* Each copy of it is for the agent of the memory node that it lies on. */
static int ring_join(struct coordinator *coordinator, const struct logseg *log)
{
    struct worker *worker = coordinator->worker;
    const struct catalog *catalog = worker->db->catalog;
    struct fabric_addr copies[FABRIC_NODES_MAX];
    for (uint32_t i = 0; i <= catalog->replicas; i++) copies[i] = catalog_replica(catalog, log->addr, i);
    coordinator->txn->ring = epochs_join(&worker->db->durable->epochs, &worker->sched, &coordinator->task, log, copies,
                                         catalog->replicas + 1);
    return coordinator->txn->ring ? 0 : CELLAR_NOMEM;
}

static int log_open(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    struct cellar *db = worker->db;
    struct fabric_addr addr;
    struct logseg log;

    uint32_t node = (worker->cn + coordinator->cn_index) % db->catalog->mn_count;
    int rc = space_log_take(co, worker->home.space, node, coordinator->cn_index, db->config.log_bytes, &addr, error);
    if (rc) return rc;
    logseg_init(&log, addr, PLANT_RING_BYTES(db->config.log_bytes - sizeof(struct chunk_wire)), worker->cn,
                coordinator->cn_index, worker->db->opening.incarnation);
    rc = txn_open(coordinator->txn, &worker->home, &coordinator->task, &log);
    if (rc == 0 && db->durable) rc = ring_join(coordinator, &log);
    return rc ? err_set(error, rc, "no memory for a coordinator's buffers") : 0;
}

static struct addrcache *addrs_make(const struct cellar *db)
{
    uint64_t entries = ADDRCACHE_ENTRIES_MAX, bytes = sizeof(struct addrcache_entry) * db->worker_count;
    while (entries > ADDRCACHE_ENTRIES_MIN && entries * bytes > ADDRCACHE_BYTES_MAX) entries /= 2;
    return addrcache_new(entries, db->fabric->mn_count * db->fabric->mn_bytes >= POOL_BYTES_LARGE);
}

/* What its mode has for a coordinator. */
static int coordinator_join(struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    const struct mode *mode = worker->home.mode;
    int rc = mode->attach ? mode->attach(coordinator->txn, (uint32_t)(coordinator - worker->coordinators)) : 0;
    return rc ? err_set(error, CELLAR_NOMEM, "no memory for a coordinator's buffers") : 0;
}

int db_coordinator_open(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    worker->home.mode = mode_of(worker->db->config.cc); /* its next attempt chooses its way anew */
    worker->ep->bulk = true;
    int rc = log_open(co, coordinator, error);
    worker->ep->bulk = false;
    return rc ? rc : coordinator_join(coordinator, error);
}

/* What the mode has of its own in a worker, and for its first `count` coordinators. */
static int mode_join(struct worker *worker, uint32_t count, struct cellar_error *error)
{
    const struct mode *mode = worker->home.mode;
    int rc = mode->worker_open ? mode->worker_open(&worker->home, error) : 0;
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = coordinator_join(&worker->coordinators[i], error);
    return rc;
}

int db_worker_open(struct coro *co, struct worker *worker, const struct worker *beside, struct cellar_error *error)
{
    struct cellar *db = worker->db;

    worker->home = (struct txn_home){.ep = worker->ep,
                                     .catalog = db->catalog,
                                     .node = worker->node,
                                     .gate = &worker->node->gate,
                                     .halt = &worker->node->halt,
                                     .gate_worker = worker->thread,
                                     .vigil = beside ? worker->node->vigil : NULL,
                                     .observer = beside ? beside->home.observer : NULL,
                                     .sched = &worker->sched,
                                     .owner = worker->cn,
                                     .epochs = db->durable ? &db->durable->epochs : NULL,
                                     .mode = mode_of(db->config.cc),
                                     .tallies = tabletally_make(),
                                     .addrs = addrs_make(db)};
    if (!worker->home.addrs || !worker->home.tallies)
        return err_set(error, CELLAR_NOMEM, "no memory for an address cache");
    if (db->durable && acks_open(worker)) return err_set(error, CELLAR_NOMEM, "no memory for a worker");
    worker->ep->bulk = true;
    int rc = db_space_open(co, worker, beside, error);
    if (rc == 0) {
        rc = loader_open(worker->ep, db->catalog, worker->home.space, worker->cn, &worker->loader);
        if (rc) err_set(error, rc, "a worker's loader: %s", cellar_strerror(rc));
    }
    uint32_t count = beside ? 1 : worker->coordinator_count; /* a session's second one is opened when it is needed */
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = log_open(co, &worker->coordinators[i], error);
    worker->ep->bulk = false;
    return rc ? rc : mode_join(worker, count, error);
}
