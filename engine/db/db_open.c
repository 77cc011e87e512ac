/* db_open.c - opening and closing a database (cellar.h). */
#include "db_index.h"

#include "locktable.h"
#include "plant.h"
#include "seal.h"
#include "session.h"
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (256u << 10)
#define ADDRCACHE_ENTRIES_MAX (1u << 20)
#define ADDRCACHE_ENTRIES_MIN (1u << 14)
#define ADDRCACHE_BYTES_MAX (4ull << 30) /* of all workers: many only in a simulated cluster */
#define POOL_BYTES_LARGE (256ull << 20)

struct worker_start {
    struct worker *worker;
    struct cellar_error *error;
};

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
    return rc ? err_set(error, err_code(rc), "no memory for a coordinator's buffers") : 0;
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
    return rc ? err_set(error, CELLAR_ERR_NOMEM, "no memory for a coordinator's buffers") : 0;
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

static int space_make(struct coro *co, struct worker *worker, const struct worker *beside, struct cellar_error *error)
{
    const struct cellar *db = worker->db;
    if (beside)
        return space_open_beside(worker->ep, db->catalog, worker->cn, beside->home.space, &worker->home.space, error);
    return space_open(co, worker->ep, db->catalog, worker->cn, worker->thread, db->config.threads, db->fabric->fresh,
                      &worker->home.space, error);
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
                                     .mode = mode_of(db->config.cc),
                                     .addrs = addrs_make(db)};
    if (!worker->home.addrs) return err_set(error, CELLAR_ERR_NOMEM, "no memory for an address cache");
    worker->ep->bulk = true;
    int rc = space_make(co, worker, beside, error);
    if (rc == 0) {
        rc = loader_open(worker->ep, db->catalog, worker->home.space, worker->cn, &worker->loader);
        if (rc) err_set(error, err_code(rc), "a worker's loader: %s", cellar_error_text(rc));
    }
    uint32_t count = beside ? 1 : worker->coordinator_count; /* a session's second one is opened when it is needed */
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = log_open(co, &worker->coordinators[i], error);
    worker->ep->bulk = false;
    return rc ? rc : mode_join(worker, count, error);
}

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

/* Refused before the first of them is taken: chunks are never given back. */
static int logs_fit(const struct cellar *db, struct cellar_error *error)
{
    uint64_t chunks = (db->config.log_bytes + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES;
    uint64_t per_node = (db->coordinator_count + db->catalog->mn_count - 1) / db->catalog->mn_count * chunks;

    if (per_node <= db->catalog->chunk_count) return 0;
    return err_set(error, CELLAR_ERR_FULL,
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
    return rc ? err_set(error, err_code(rc), "the pool: %s", cellar_error_text(rc)) : 0;
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
                                  .versions = mode->versions,
                                  .locks_bytes = mode->locks_bytes ? mode->locks_bytes(&db->config, area_bytes) : 0,
                                  .mn_bytes = db->fabric->mn_bytes};
    struct fabric_ep *ep = coordinator->worker->ep;

    ep->bulk = true;
    int rc = catalog_open(co, ep, &shape, db->fabric->fresh, db->opening.shared, &db->catalog, start->error);
    ep->bulk = false;
    if (rc == 0 && db->catalog->away >= 0)
        db->fabric->fresh = false; /* blank memory is a fresh node's, not a fresh pool's */
    if (rc == 0) db_halts_open(db);
    if (rc == 0) rc = logs_fit(db, start->error);
    if (rc == 0) rc = pool_check(co, coordinator, start->error);
    if (rc == 0) rc = pool_use(co, coordinator, start->error);
    if (rc == 0) rc = db_join(co, coordinator, start->error);
    /* A pool of its own may have been left with locks in use. */
    bool stale = rc == 0 && !db->opening.shared && !db->fabric->fresh;
    ep->bulk = true;
    int cleared = stale && !PLANT(reopen_locks_kept) ? locktable_clear(co, ep, db->catalog) : 0;
    ep->bulk = false;
    return cleared
               ? err_set(start->error, err_code(cleared), "locks could not be cleared: %s", cellar_error_text(cleared))
               : rc;
}

int db_coordinators_make(struct cellar *db, struct worker *worker, uint32_t count, uint32_t index, uint32_t cn_index)
{
    worker->coordinator_count = count;
    worker->coordinators = calloc(worker->coordinator_count, sizeof *worker->coordinators);
    if (!worker->coordinators) return -CELLAR_ERR_NOMEM;
    for (uint32_t i = 0; i < worker->coordinator_count; i++) {
        struct coordinator *coordinator = &worker->coordinators[i];
        coordinator->worker = worker;
        coordinator->index = index + i;
        coordinator->cn_index = cn_index + i;
        coordinator->txn = txn_new(mode_of(db->config.cc));
        coordinator->task.co = coro_new(STACK_BYTES, coordinator_main, coordinator);
        if (!coordinator->txn || !coordinator->task.co) return -CELLAR_ERR_NOMEM;
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

static int worker_start(struct cellar *db, uint32_t index, struct cellar_error *error)
{
    struct worker *worker = &db->workers[index];

    worker->db = db;
    worker->index = index;
    worker->node = &db->nodes[index / db->config.threads];
    worker->cn = worker->node->cn;
    worker->thread = index % db->config.threads;
    int rc = fabric_endpoint_open(db->fabric, worker->cn, worker->thread, &worker->ep, error);
    if (rc) return rc;
    worker->node->eps[worker->thread] = worker->ep;
    sched_init(&worker->sched, worker->ep);
    worker->by = (struct node_worker){worker->node, worker->ep, &worker->sched, &worker->stop};
    if (worker->thread == 0) {
        worker->agent = &worker->node->agent;
        if (agent_open(worker->agent, &worker->by, &worker->node->halt, STACK_BYTES))
            return err_set(error, CELLAR_ERR_NOMEM, "no memory for an agent");
    }
    rc =
        db_coordinators_make(db, worker, db->config.coros, index * db->config.coros, worker->thread * db->config.coros);
    if (rc) return err_set(error, CELLAR_ERR_NOMEM, "no memory for %u coordinators", db->config.coros);
    rc = db->fabric->ops->spawn(db->fabric, worker->ep, db_worker_thread, worker);
    if (rc) return err_set(error, CELLAR_ERR_SYSTEM, "cannot start worker %u: %s", index, cellar_error_text(rc));
    __atomic_add_fetch(&db->running, 1, __ATOMIC_SEQ_CST);
    worker->started = true;
    return 0;
}

/* ---- watching other compute nodes ---- */

static struct worker *first_worker(struct cellar *db, uint32_t cn) { return &db->workers[cn * db->config.threads]; }

static int vigil_start(struct coro *co, struct coordinator *coordinator, void *arg)
{
    (void)coordinator;
    return vigil_begin(co, arg);
}

/* An earlier life of this compute node may have promised signs of life. */
static int promise_none(struct coro *co, struct coordinator *coordinator, void *arg)
{
    (void)arg;
    return member_promise(co, &coordinator->worker->db->opening.member, coordinator->worker->ep, 0);
}

static int promises_end(struct cellar *db, struct cellar_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns && rc == 0; i++)
        rc = db_run_on(db, i * db->config.threads * db->config.coros, promise_none, NULL);
    return rc ? err_set(error, err_code(rc), "memory node 0: %s", cellar_error_text(rc)) : 0;
}

static int vigils_open(struct cellar *db, struct cellar_error *error)
{
    int rc = 0;
    if (db->config.lease_ns == CELLAR_LEASE_NONE) return promises_end(db, error);
    for (uint32_t i = 0; i < db->config.cns; i++)
        if (!(db->nodes[i].vigil = vigil_new(&first_worker(db, i)->by, db->config.lease_ns)))
            return err_set(error, CELLAR_ERR_NOMEM, "no memory to watch other compute nodes");
    for (uint32_t i = 0; i < db->config.cns && rc == 0; i++)
        rc = db_run_on(db, i * db->config.threads * db->config.coros, vigil_start, db->nodes[i].vigil);
    for (uint32_t i = 0; i < db->worker_count; i++) db->workers[i].home.vigil = db->workers[i].node->vigil;
    for (uint32_t i = 0; i < db->config.cns; i++) db->nodes[i].halt.vigil = db->nodes[i].vigil;
    return rc ? err_set(error, err_code(rc), "memory node 0: %s", cellar_error_text(rc)) : 0;
}

static int vigil_stop(struct coro *co, struct coordinator *coordinator, void *arg)
{
    vigil_end(co, arg, &coordinator->task);
    return 0;
}

static void vigils_stop(struct cellar *db)
{
    for (uint32_t i = 0; i < db->config.cns; i++) {
        struct vigil *vigil = db->nodes[i].vigil;
        if (vigil) (void)!db_run_on(db, i * db->config.threads * db->config.coros, vigil_stop, vigil);
    }
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
    if (rc == 0) rc = vigils_open(db, error);
    return rc ? rc : db_index_open(db, error);
}

void db_worker_free(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->coordinator_count && worker->coordinators; i++) {
        if (worker->coordinators[i].txn) tree_close(worker->coordinators[i].txn);
        txn_free(worker->coordinators[i].txn);
        coro_free(worker->coordinators[i].task.co);
    }
    free(worker->coordinators);
    loader_free(worker->loader);
    tree_hints_free(worker->home.hints);
    space_free(worker->home.space);
    addrcache_free(worker->home.addrs);
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

/* What the sums are of is on the disk before they are. */
static void pool_close(struct cellar *db)
{
    int rc =
        db->opening.joined ? db_run_on(db, 0, db_leave, db) : 0; /* or it would look as if this process had crashed */
    if (rc)
        node_log(&db->opening, CELLAR_LOG_WARNING, "the pool could not be marked as closed: %s", cellar_error_text(rc));
    bool seals = rc == 0 && (db->opening.joined || db->unsealed) && db->fabric->kept && !db->opening.shared;
    rc = flush(db);
    if (rc == 0 && seals) rc = db_run_on(db, 0, seal_fn, db);
    if (rc == 0 && seals) rc = flush(db);
    if (rc) node_log(&db->opening, CELLAR_LOG_WARNING, "the pool file could not be flushed: %s", cellar_error_text(rc));
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
    while (db->procs) {
        struct cellar_proc *proc = db->procs;
        db->procs = proc->next;
        free(proc);
    }
    db_index_close(db);
    for (uint32_t i = 0; i < db->config.cns; i++) vigil_free(db->nodes[i].vigil);
    catalog_free(db->catalog);
    nodes_close(db);
    free(db->eps);
    free(db->sessions);
    free(db->nodes);
    free(db->workers);
    free(db);
}

int db_open_on(struct fabric *fabric, const struct cellar_config *config, struct cellar **out,
               struct cellar_error *error)
{
    *out = NULL;
    struct cellar *db = calloc(1, sizeof *db);
    if (!db) return err_set(error, CELLAR_ERR_NOMEM, "no memory for a database");
    db->config = *config;
    int rc = db_config_check(&db->config, error);
    if (rc) {
        free(db);
        return rc;
    }
    db->fabric = fabric;
    db->opening.shared = config->memnodes != NULL;
    db->opening.cn_first = db->config.cn_index;
    db->opening.cn_count = db->config.cns;
    db->opening.log.fn = db->config.log;
    db->opening.log.arg = db->config.log_arg;
    db->worker_count = db->config.cns * db->config.threads;
    db->coordinator_count = db->worker_count * db->config.coros;
    atomic_flag_clear(&db->opening.log.busy);
    db->workers = calloc(db->worker_count, sizeof *db->workers);
    db->nodes = aligned_alloc(64, db->config.cns * sizeof *db->nodes);
    db->eps = calloc(db->config.cns * (db->config.threads + db->config.sessions), sizeof(struct fabric_ep *));
    db->sessions = calloc(db->config.sessions + 1u, sizeof(struct cellar_session *));
    if (!db->workers || !db->nodes || !db->eps || !db->sessions) {
        free(db->workers);
        free(db->nodes);
        free(db->eps);
        free(db->sessions);
        free(db);
        return err_set(error, CELLAR_ERR_NOMEM, "no memory for the workers");
    }
    memset(db->nodes, 0, db->config.cns * sizeof *db->nodes);
    rc = nodes_make(db, error);
    if (rc == 0) rc = open_all(db, error);
    if (rc) {
        vigils_stop(db);
        if (db->opening.joined || db->unsealed) pool_close(db);
        close_all(db);
        return rc;
    }
    node_log(&db->opening, CELLAR_LOG_INFO,
             "open: %u compute nodes, %u threads of %u coordinators each, %u memory nodes, %u backups", db->config.cns,
             db->config.threads, db->config.coros, fabric->mn_count, db->config.replicas);
    *out = db;
    return 0;
}

int cellar_open(const struct cellar_config *config, struct cellar **out, struct cellar_error *error)
{
    struct cellar_config checked = config ? *config : (struct cellar_config){0};
    struct fabric *fabric = NULL;

    *out = NULL;
    int rc = db_config_check(&checked, error);
    if (rc == 0) rc = db_fabric_open(&checked, &fabric, error);
    if (rc) return rc;
    rc = db_open_on(fabric, &checked, out, error);
    if (rc)
        fabric_close(fabric);
    else
        (*out)->owns_fabric = true;
    return rc;
}

void cellar_close(struct cellar *db)
{
    if (!db) return;
    atomic_store(&db->closing, true);
    for (uint32_t i = 0; i < db->worker_count; i++) db_wait(db, &db->workers[i].calls);
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->worker) db_wait(db, &db->sessions[i]->worker->calls);
    vigils_stop(db);
    pool_close(db);
    close_all(db);
}
