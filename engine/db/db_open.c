/* db_open.c - opening and closing a database (cellar.h). */
#include "db_open.h"

#include "coordinator.h"
#include "db_config.h"
#include "db_failover.h"
#include "db_define.h"
#include "db_index.h"
#include "db_plants.h"
#include "db_queue.h"
#include "db_recover.h"
#include "db_schema.h"
#include "db_snapshot.h"
#include "db_tally.h"
#include "db_worker.h"
#include "durable.h"
#include "handle.h"
#include "locktable.h"
#include "must.h"
#include "seal.h"
#include "session.h"
#include "tree.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES CELLAR_STACK_BYTES
#define CALLS_LOOK_NS 1000000

struct worker_start {
    struct worker *worker;
    struct cellar_error *error;
};

static int worker_open(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct worker_start *start = arg;
    (void)coordinator;
    return db_worker_open(co, start->worker, NULL, start->error);
}

struct catalog_start {
    struct cellar *db;
    struct cellar_error *error;
};

/* What splitting a node of the pool's widest index takes, if more than was asked for. db_index.c refuses less. */
static void logs_widen(struct cellar *db)
{
    uint64_t least = 2 * tree_work_log_bytes(db->catalog, mode_of(db->config.cc)->undo);
    least = (least + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES * LAYOUT_CHUNK_BYTES;
    if (db->config.log_bytes < least && least <= CONFIG_LOG_BYTES_MAX) db->config.log_bytes = least;
}

/* Refused before the first of them is taken: chunks are never given back. */
static int logs_fit(const struct cellar *db, struct cellar_error *error)
{
    uint64_t chunks = (db->config.log_bytes + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES;
    uint64_t per_node = (db->coordinator_count + db->catalog->mn_count - 1) / db->catalog->mn_count * chunks;

    if (per_node <= db->catalog->chunk_count) return 0;
    return err_set(error, CELLAR_FULL,
                   "log segments of %u coordinators take %llu bytes of each memory node, which has %llu for data",
                   db->coordinator_count, (unsigned long long)per_node * LAYOUT_CHUNK_BYTES,
                   (unsigned long long)db->catalog->chunk_count * LAYOUT_CHUNK_BYTES);
}

/* Is it all there, as it was left? A pool of its own whose memory stayed; nothing is written before that is known. */
static int pool_check(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    struct fabric_ep *ep = coordinator->worker->ep;
    if (db->opening.shared || db->fabric->fresh || !db->fabric->kept) return 0;
    ep->bulk = true;
    int rc = db->catalog->closed ? seal_check(co, ep, db->catalog, error) : db_examine(co, coordinator, error);
    ep->bulk = false;
    return rc;
}

/* The first byte that an open may write. */
static int pool_use(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    struct fabric_ep *ep = coordinator->worker->ep;
    if (db->opening.shared || !db->catalog->closed) return 0;
    ep->bulk = true;
    int rc = seal_break(co, ep, db->catalog);
    ep->bulk = false;
    db->unsealed = rc == 0;
    return rc ? err_set(error, rc, "the pool: %s", cellar_strerror(rc)) : 0;
}

static int pool_open(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct catalog_start *start = arg;
    struct cellar *db = start->db;
    const struct mode *mode = mode_of(db->config.cc);
    uint64_t area_bytes = db->fabric->mn_bytes / (db->config.replicas + 1);
    struct catalog_shape shape = {.mn_count = db->fabric->mn_count,
                                  .replicas = db->config.replicas,
                                  .cn_count = db->fabric->cn_count,
                                  .existing = db->config.existing,
                                  .versions = mode->versions != NULL,
                                  .known_versions = mode_versions(),
                                  .locks_bytes = mode->locks_bytes ? mode->locks_bytes(&db->config, area_bytes) : 0,
                                  .mn_bytes = db->fabric->mn_bytes};
    struct fabric_ep *ep = coordinator->worker->ep;

    ep->bulk = true;
    bool restored = false;
    int rc = db->durable ? durable_restore(co, ep, db->durable, &restored, start->error) : 0;
    if (restored) db->fabric->fresh = false;
    if (rc == 0) rc = catalog_open(co, ep, &shape, db->fabric->fresh, db->opening.shared, &db->catalog, start->error);
    if (rc == 0 && restored) rc = durable_redo(co, ep, db->durable, db->catalog, start->error);
    if (rc == 0 && db->config.pool_private) db->durable = NULL; /* a folder that was looked at */
    ep->bulk = false;
    if (rc == 0 && db->catalog->away >= 0)
        db->fabric->fresh = false; /* blank memory is a fresh node's, not a fresh pool's */
    if (rc == 0) db_halts_open(db);
    if (rc == 0) logs_widen(db);
    if (rc == 0) rc = logs_fit(db, start->error);
    if (rc == 0) rc = pool_check(co, coordinator, start->error);
    if (rc == 0) rc = pool_use(co, coordinator, start->error);
    if (rc == 0) rc = db_join(co, coordinator, start->error);
    if (rc == 0) rc = db_drops_settle(co, coordinator, start->error);
    /* A pool of its own may have been left with locks in use. */
    bool stale = rc == 0 && !db->opening.shared && !db->fabric->fresh;
    ep->bulk = true;
    int cleared = stale && !PLANT(reopen_locks_kept) ? locktable_clear(co, ep, db->catalog) : 0;
    ep->bulk = false;
    if (rc == 0) db->opening.shared = db->opening.shared || db->fabric->joint; /* from when the door is open */
    return cleared ? err_set(start->error, cleared, "locks could not be cleared: %s", cellar_strerror(cleared)) : rc;
}

static int worker_start(struct cellar *db, uint32_t index, struct cellar_error *error)
{
    struct worker *worker = &db->workers[index];

    worker->db = db;
    worker->index = index;
    worker->node = &db->nodes[index / db->config.threads];
    worker->cn = worker->node->cn;
    worker->thread = index % db->config.threads;
    db_tally_place(worker);
    int rc = fabric_endpoint_open(db->fabric, worker->cn, worker->thread, &worker->ep, error);
    if (rc) return rc;
    worker->node->eps[worker->thread] = worker->ep;
    sched_init(&worker->sched, worker->ep);
    worker->by = (struct node_worker){worker->node, worker->ep, &worker->sched, &worker->stop};
    if (worker->thread == 0) {
        worker->agent = &worker->node->agent;
        if (agent_open(worker->agent, &worker->by, &worker->node->halt, STACK_BYTES))
            return err_set(error, CELLAR_NOMEM, "no memory for an agent");
    }
    rc =
        db_coordinators_make(db, worker, db->config.coros, index * db->config.coros, worker->thread * db->config.coros);
    if (rc) return err_set(error, CELLAR_NOMEM, "no memory for %u coordinators", db->config.coros);
    rc = db->fabric->ops->spawn(db->fabric, worker->ep, db_worker_thread, worker);
    if (rc) return err_set(error, CELLAR_SYSTEM, "cannot start worker %u: %s", index, cellar_strerror(rc));
    __atomic_add_fetch(&db->running, 1, __ATOMIC_SEQ_CST);
    worker->started = true;
    return 0;
}

/* ---- compute nodes ---- */

static int nodes_make(struct cellar *db, struct cellar_error *error)
{
    const struct mode *mode = mode_of(db->config.cc);
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns; i++) {
        struct node *node = &db->nodes[i];
        node->cn = db->config.cn_index + i;
        node->gate.worker_count = db->config.threads;
        node->eps = &db->eps[i * (db->config.threads + db->config.sessions)];
        node->config = &db->config;
        node->fabric = db->fabric;
        node->opening = &db->opening;
    }
    for (uint32_t i = 0; i < db->config.cns && rc == 0 && mode->open; i++) rc = mode->open(&db->nodes[i], error);
    return rc;
}

static int nodes_start(struct cellar *db, struct cellar_error *error)
{
    const struct mode *mode = mode_of(db->config.cc);
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns && rc == 0 && mode->start; i++) rc = mode->start(&db->nodes[i], error);
    return rc;
}

/* In the agent's thread. */
static int node_follow(struct coro *co, struct coordinator *coordinator, void *node)
{
    (void)co;
    coordinator->worker->home.mode->follow(node);
    return 0;
}

static void nodes_close(struct cellar *db)
{
    const struct mode *mode = mode_of(db->config.cc);
    for (uint32_t i = 0; i < db->worker_count && mode->worker_close; i++) mode->worker_close(&db->workers[i].home);
    session_workers_leave(db);
    for (uint32_t i = 0; i < db->config.cns; i++) {
        agent_close(&db->nodes[i].agent);
        if (mode->close) mode->close(&db->nodes[i]);
    }
}

static int open_all(struct cellar *db, struct cellar_error *error)
{
    struct catalog_start start = {db, error};
    int rc = 0;

    for (uint32_t i = 0; i < db->worker_count && rc == 0; i++) rc = worker_start(db, i, error);
    if (rc == 0) rc = db_run_on(db, 0, pool_open, &start);
    if (rc == 0) rc = nodes_start(db, error);
    for (uint32_t i = 0; i < db->worker_count && rc == 0; i++) {
        struct worker_start worker = {&db->workers[i], error};
        rc = db_run_on(db, i * db->config.coros, worker_open, &worker);
    }
    for (uint32_t i = 0; i < db->config.cns && rc == 0 && mode_of(db->config.cc)->follow; i++)
        rc = db_run_on(db, i * db->config.threads * db->config.coros, node_follow, &db->nodes[i]);
    if (rc == 0) rc = db_vigils_open(db, error);
    if (rc == 0) rc = db_index_open(db, error);
    return rc == 0 && db->durable ? durable_start(db->durable, error) : rc;
}

static int seal_fn(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct cellar *db = arg;
    struct fabric_ep *ep = coordinator->worker->ep;
    ep->bulk = true;
    int rc = seal_set(co, ep, db->catalog);
    ep->bulk = false;
    return rc;
}

static int flush(struct cellar *db)
{
    struct fabric_control sync = {.kind = FABRIC_SYNC};
    return db->config.pool_path ? db->fabric->ops->control(db->fabric, &sync, NULL) : 0;
}

static int door(struct cellar *db, enum fabric_control_kind kind)
{
    struct cellar_error error = {0};
    struct fabric_control control = {.kind = kind};
    int rc = db->fabric->joint ? db->fabric->ops->control(db->fabric, &control, &error) : 0;
    if (rc) node_log(&db->opening, CELLAR_LOG_WARNING, "%s", error.text);
    return rc;
}

/* INV-POOL-5. The door is held, so it stays the last one. What died beside it, and was in no process's way, is
 * recovered: a pool that is closed has no member. */
static bool last_one(struct cellar *db)
{
    if (!db->opening.joined || !db->fabric->joint) return db->fabric->kept && !db->opening.shared;
    if (PLANT(pool_last_blind)) db->fabric->alone = true;
    if (!db->fabric->alone || PLANT(pool_last_blind)) return db->fabric->alone;
    for (uint32_t cn = 0; cn < db->catalog->cn_count; cn++) {
        struct cellar_error error = {0};
        int rc = cn - db->opening.cn_first < db->opening.cn_count ? 0 : db_recover_left(db, cn, &error);
        if (rc && rc != CELLAR_NOT_FOUND) {
            node_log(&db->opening, CELLAR_LOG_WARNING, "the pool is left as it is: %s", error.text);
            return false;
        }
    }
    return true;
}

/* What the sums are of is on the disk before they are. */
static void pool_close(struct cellar *db)
{
    bool last = last_one(db);
    int rc =
        db->opening.joined ? db_run_on(db, 0, db_leave, db) : 0; /* or it would look as if this process had crashed */
    if (rc)
        node_log(&db->opening, CELLAR_LOG_WARNING, "the pool could not be marked as closed: %s", cellar_strerror(rc));
    struct cellar_error error = {0};
    if (db->durable && durable_stop(db->durable, rc == 0, &error))
        node_log(&db->opening, CELLAR_LOG_WARNING, "the folder could not be closed: %s", error.text);
    bool seals = rc == 0 && (db->opening.joined || db->unsealed) && last;
    if (db->fabric->joint && !db->fabric->alone) return; /* others go on, and the last of them flushes it */
    rc = flush(db);
    if (rc == 0 && seals) rc = db_run_on(db, 0, seal_fn, db);
    if (rc == 0 && seals) rc = flush(db);
    if (rc) node_log(&db->opening, CELLAR_LOG_WARNING, "the pool file could not be flushed: %s", cellar_strerror(rc));
}

static void db_free(struct cellar *db)
{
    free(db->opening.decisions);
    free(db->eps);
    free(db->nodes);
    free(db->workers);
    handle_drop(db, sizeof *db);
}

/* Stops the workers, then frees. The fabric is closed first when it is ours: that joins its threads. */
static void close_all(struct cellar *db)
{
    for (uint32_t i = 0; i < db->worker_count; i++) {
        if (!db->workers[i].started) continue;
        atomic_store(&db->workers[i].stop, true);
        fabric_wake(db->fabric, db->workers[i].ep);
    }
    session_workers_stop(db);
    db_wait(db, &db->running);
    for (uint32_t i = 0; i < db->worker_count; i++)
        if (db->workers[i].ep) fabric_endpoint_close(db->workers[i].ep);
    session_workers_close(db);
    if (db->owns_fabric) fabric_close(db->fabric);
    for (uint32_t i = 0; i < db->worker_count; i++) db_worker_free(&db->workers[i]);
    session_workers_free(db);
    db_queues_free(db);
    db_snapshot_free(db);
    while (db->procs) {
        struct cellar_proc *proc = db->procs;
        db->procs = proc->next;
        db_proc_free(db, proc);
    }
    db_index_close(db);
    db_views_close(db);
    for (uint32_t i = 0; i < db->config.cns; i++) vigil_free(db->nodes[i].vigil);
    catalog_free(db->catalog);
    nodes_close(db);
    db_free(db);
}

int db_open_durable(struct fabric *fabric, const struct engine_config *config, struct durable *durable,
                    struct cellar **out, struct cellar_error *error)
{
    *out = NULL;
    struct cellar *db = handle_new(sizeof *db);
    if (!db) return err_set(error, CELLAR_NOMEM, "no memory for a database");
    db->config = *config;
    int rc = db_config_check(&db->config, error);
    if (rc) {
        handle_drop(db, sizeof *db);
        return rc;
    }
    db->fabric = fabric;
    db->durable = durable;
    if (durable) durable->db = db;
    db->opening.shared = config->memnodes || (fabric->joint && !fabric->alone);
    db->opening.cn_first = db->config.cn_index;
    db->opening.cn_count = db->config.cns;
    db->opening.log.fn = db->config.log;
    db->opening.log.arg = db->config.log_arg;
    db->worker_count = db->config.cns * db->config.threads;
    db->coordinator_count = db->worker_count * db->config.coros;
    session_spread(db);
    atomic_flag_clear(&db->opening.log.busy);
    db->workers = calloc(db->worker_count, sizeof *db->workers);
    db->nodes = aligned_alloc(64, db->config.cns * sizeof *db->nodes);
    db->eps = calloc(db->config.cns * (db->config.threads + db->config.sessions), sizeof(struct fabric_ep *));
    if (config->decider) db->opening.decisions = calloc(db->config.cns, sizeof(struct decision));
    bool decides = !config->decider || db->opening.decisions;
    if (!db->workers || !db->nodes || !db->eps || !decides) {
        db_free(db);
        return err_set(error, CELLAR_NOMEM, "no memory for the workers");
    }
    memset(db->nodes, 0, db->config.cns * sizeof *db->nodes);
    rc = nodes_make(db, error);
    if (rc == 0) rc = open_all(db, error);
    if (rc) {
        db_vigils_stop(db);
        if (db->opening.joined || db->unsealed) pool_close(db);
        close_all(db);
        return rc;
    }
    (void)door(db, FABRIC_DOOR_GIVE);
    node_log(&db->opening, CELLAR_LOG_INFO,
             "open: %u compute nodes, %u threads of %u coordinators each, %u memory nodes, %u backups", db->config.cns,
             db->config.threads, db->config.coros, fabric->mn_count, db->config.replicas);
    atomic_store(&db->open, true);
    *out = db;
    return 0;
}

int db_open_on(struct fabric *fabric, const struct engine_config *config, struct cellar **out,
               struct cellar_error *error)
{
    return db_open_durable(fabric, config, NULL, out, error);
}

int db_open(const struct engine_config *config, struct cellar **out, struct cellar_error *error)
{
    struct engine_config checked = config ? *config : (struct engine_config){0}, unused;
    struct fabric *fabric = NULL;
    struct durable *durable = NULL;

    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the database's handle");
    *out = NULL;
    if (checked.pool_path && !checked.durable && disk_real_is_folder(checked.pool_path)) {
        checked.durable = checked.pool_path;
        checked.pool_path = NULL;
    }
    unused = checked;
    int rc = db_config_check(&unused, error); /* before a folder is touched */
    if (rc == 0 && checked.durable) rc = durable_open(&checked, &durable, error);
    if (rc == 0) rc = db_config_check(&checked, error);
    if (rc == 0) rc = db_fabric_open(&checked, &fabric, error);
    if (rc == 0 && checked.pool_path) {
        checked.cn_index = fabric->cn_first;
        if (!fabric->joint) checked.lease_ns = CELLAR_LEASE_NONE; /* no other will ever watch it */
    }
    if (rc == 0) rc = db_open_durable(fabric, &checked, durable, out, error);
    if (rc == 0)
        (*out)->owns_fabric = true;
    else
        fabric_close(fabric);
    if (rc || checked.pool_private) durable_free(durable);
    return err_about(error, rc, checked.durable ? checked.durable : checked.pool_path);
}

/* Looks again by itself: a call that is refused says nothing (db_look_begin). */
static void calls_await(struct cellar *db, uint32_t *count)
{
    int rc = CELLAR_DEADLINE;
    while (rc) {
        rc = db->fabric->ops->wait(db->fabric, count, CALLS_LOOK_NS);
        must(rc == 0 || rc == CELLAR_DEADLINE);
    }
}

/* From now on calls are refused: 0; CLOSED: they were; BUSY: and no longer, a transaction has not ended. */
static int shut(struct cellar *db)
{
    if (!atomic_exchange(&db->open, false)) return CELLAR_CLOSED;
    if (!session_any_entered(db)) return 0;
    atomic_store(&db->open, true);
    return CELLAR_BUSY;
}

/* Asks before anything is refused. What begins after that is found by `shut`, which refuses calls for a moment. */
static int close_begin(struct cellar *db, struct cellar_error *error)
{
    uint32_t *counted;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    if (session_any_entered(db))
        rc =
            err_set(error, CELLAR_BUSY, "the database stays open: a transaction has not ended, of a thread that lives");
    if (rc) node_log(&db->opening, CELLAR_LOG_WARNING, "%s", error->text);
    db_call_end(db, counted);
    return rc ? rc : shut(db);
}

int cellar_close(struct cellar *db)
{
    struct cellar_error error = {0};
    int rc = db ? close_begin(db, &error) : 0;
    if (!db || rc) return err_last_is(rc, &error);
    atomic_store(&db->closing, true);
    for (uint32_t i = 0; i < DB_CALLS; i++) calls_await(db, &db->calls[i].count);
    /* It shows signs of life until it has the door. Without that it goes as one of several. */
    if (door(db, FABRIC_DOOR_TAKE)) db->fabric->alone = false;
    db_vigils_stop(db);
    pool_close(db);
    struct durable *durable = db->durable;
    close_all(db);
    durable_free(durable);
    return 0;
}
