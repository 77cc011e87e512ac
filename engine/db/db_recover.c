/* db_recover.c - recovery as a database does it: at open, for a caller, or because a compute node was found dead. */
#include "db_recover.h"

#include "coordinator.h"
#include "db.h"
#include "db_failover.h"
#include "worker.h"

#define JOIN_WAIT_NS 1000000ull /* between two looks at a recovery that is under way */
#define JOIN_WAITS_MAX 5000
#define JOIN_MAX_NS 5000000000ull

struct recover_call {
    uint32_t dead;
    bool done; /* by this call */
    struct cellar_error *error;
};

static int recover_fn(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct recover_call *call = arg;
    struct worker *worker = coordinator->worker;
    struct recover_report report;

    const atomic_bool *recovering = &worker->node->recovering;
    const atomic_uint *halted = &worker->node->gate.halted;
    int rc = CELLAR_EXISTS;

    /* This compute node may be at it by itself, because it has noticed; or must stand still for a moment. */
    for (uint32_t waits = 0; waits < JOIN_WAITS_MAX && rc == CELLAR_EXISTS; waits++) {
        bool last = waits + 1 == JOIN_WAITS_MAX;
        if (last || (!atomic_load(recovering) && !atomic_load(halted))) {
            rc =
                node_recover(co, &worker->by, &coordinator->task, call->dead, 0, RECOVER_IF_DEAD, &report, call->error);
            call->done = rc == 0 && report.done;
            if (!atomic_load(halted)) break;
        }
        sched_sleep(co, &worker->sched, &coordinator->task, JOIN_WAIT_NS);
    }
    return rc;
}

int db_recover_dead(struct cellar *db, uint32_t cn, bool *done, struct cellar_error *error)
{
    struct recover_call call = {.dead = cn, .error = error};
    int rc = db_call_on(db, 0, recover_fn, &call, error);
    *done = call.done;
    return rc;
}

int db_recover_left(struct cellar *db, uint32_t cn, struct cellar_error *error)
{
    struct recover_call call = {.dead = cn, .error = error};
    return db_run_on(db, 0, recover_fn, &call);
}

int db_recover(struct cellar *db, uint32_t cn, struct cellar_error *error)
{
    bool done;
    return db_recover_dead(db, cn, &done, error);
}

static int watch_fn(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct worker *worker = coordinator->worker;
    (void)co;
    if (worker->home.vigil) vigil_watch(worker->home.vigil, &worker->sched, *(const uint32_t *)arg);
    return 0;
}

void db_watch(struct cellar *db, uint32_t cn)
{
    if (cn < db->catalog->cn_count) (void)!db_call_on(db, 0, watch_fn, &cn, NULL);
}

/* ---- what became of a call ---- */

int db_outcome(struct coro *co, struct coordinator *coordinator, const uint64_t txn_id[2], enum cellar_fate *fate,
               struct cellar_error *error)
{
    const struct recover_home home = node_recover_home(&coordinator->worker->by, &coordinator->task);
    const struct recover_name name = {.cn = (uint32_t)(txn_id[0] >> 48),
                                      .coordinator = (uint32_t)(txn_id[0] >> 32) & 0xffff,
                                      .incarnation = txn_id[0] & 0xffffffff,
                                      .sequence = txn_id[1]};
    return recover_outcome(co, &home, &name, fate, error);
}

struct outcome_call {
    const uint64_t *txn_id;
    enum cellar_fate *fate;
    struct cellar_error *error;
};

static int outcome_fn(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct outcome_call *call = arg;
    return db_outcome(co, coordinator, call->txn_id, call->fate, call->error);
}

int db_outcome_ask(struct cellar *db, const uint64_t txn_id[2], enum cellar_fate *fate, struct cellar_error *error)
{
    struct outcome_call call = {txn_id, fate, error};
    if (!txn_id || !fate) return err_set(error, CELLAR_INVALID, "the transaction's number, or its fate, is NULL");
    *fate = CELLAR_FATE_UNKNOWN;
    return db_call_on(db, 0, outcome_fn, &call, error);
}

/* ---- at open ---- */

int db_examine(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    worker->db->opening.member = member_builtin(worker->db->catalog);
    const struct recover_home home = node_recover_home(&worker->by, &coordinator->task);
    return recover_examine(co, &home, error);
}

/* All compute nodes of this process, as the configuration is now. */
static int configuration_follow(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns && rc == 0; i++) {
        struct agent own = {.by = coordinator->worker->by, .halt = &db->nodes[i].halt};
        rc = agent_join(co, &own, &coordinator->task);
        if (rc && own.why.code) return err_set(error, own.why.code, "the configuration: %s", own.why.text);
    }
    return rc ? err_set(error, rc, "the configuration: %s", cellar_strerror(rc)) : 0;
}

/*
 * An index of ours that another node recovers just now will soon be free. The opener of the pool has no agent yet:
 * called, it looks at the configuration itself, and stands still as others do.
 */
static int join_recover(struct coro *co, struct coordinator *coordinator, uint32_t dead, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    atomic_bool *called = &worker->db->nodes[0].halt.called;
    struct recover_home home = node_recover_home(&worker->by, &coordinator->task);
    struct recover_report report;
    uint64_t begin_ns = fabric_now_ns(worker->ep);
    int rc;
    home.called = called;
    home.known = &worker->db->nodes[0].halt.now;
    while ((rc = recover_run(co, &home, dead, RECOVER_OWN, &report, error)) == CELLAR_EXISTS) {
        if (!atomic_load(called) && fabric_now_ns(worker->ep) - begin_ns > JOIN_MAX_NS) break;
        int followed = atomic_exchange(called, false) ? configuration_follow(co, coordinator, error) : 0;
        if (followed) return followed;
        sched_sleep(co, home.sched, home.task, JOIN_WAIT_NS);
    }
    if (rc == 0 && report.done) node_recover_tell(&worker->db->opening, home.cn, dead, &report);
    return rc;
}

/* No compute node that had the pool open has noticed that a memory node was lost: its backups take over now. */
static int away_lose(struct coro *co, struct coordinator *coordinator, uint32_t node, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    struct cellar *db = worker->db;
    struct fabric_control leave = {.kind = FABRIC_NODE_LEAVE, .cn = worker->cn, .node = node};
    const struct failover_home home = {.recover = node_recover_home(&worker->by, &coordinator->task),
                                       .halt = &db->nodes[0].halt};
    struct failover_report report = {0};
    for (uint32_t waits = 0; waits < JOIN_WAITS_MAX && db->nodes[0].halt.now.state == CONFIGURATION_STEADY; waits++) {
        int rc = db->fabric->ops->control(db->fabric, &leave, error);
        if (rc == 0) rc = failover_lose(co, &home, leave.node, &report, error);
        if (rc && rc != CELLAR_EXISTS) return rc;
        if (rc) sched_sleep(co, &worker->sched, &coordinator->task, JOIN_WAIT_NS);
        if (rc) rc = configuration_follow(co, coordinator, error);
        if (rc) return rc;
    }
    node_log(&db->opening, CELLAR_LOG_WARNING, "memory node %u is lost: its backups have taken over", leave.node);
    return 0;
}

/*
 * Was it left where it is by a change of the configuration that did not know of it, and had copied the words already?
 */
static int joined_check(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    const struct cellar *db = coordinator->worker->db;
    int rc = 0;
    for (uint32_t cn = db->config.cn_index; cn < db->config.cn_index + db->config.cns && rc == 0; cn++) {
        struct members_state now;
        rc = members_look(co, coordinator->worker->ep, cn, &now);
        if (rc == 0 && (now.state != LAYOUT_MEMBER_LIVE || now.incarnation != db->opening.incarnation)) rc = ERR_DIRTY;
    }
    return rc ? err_set(error, rc, "joining the pool: %s", cellar_strerror(rc)) : 0;
}

/* Members; then as the configuration is. ERR_DIRTY: *dirty first. */
static int join_once(struct coro *co, struct coordinator *coordinator, uint32_t *dirty, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    *dirty = db->config.cn_index;
    int rc = members_join(co, coordinator->worker->ep, db->catalog, db->config.cn_index, db->config.cns,
                          !db->opening.shared, &db->opening.incarnation, dirty, error);
    db->opening.joined = rc == 0;
    /* A leader that changed it before the word said so has not waited for us; one that does so from now on will. */
    if (rc == 0) db_halts_serve(db);
    if (rc == 0) rc = configuration_follow(co, coordinator, error);
    if (rc == 0) rc = joined_check(co, coordinator, error);
    return rc;
}

/* All processes of a pool have one register decide which nodes are lost, or the pool is not opened. */
static int member_choose(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    struct cellar *db = worker->db;
    struct opening *opening = &db->opening;
    opening->member = member_builtin(db->catalog);
    if (!opening->decisions && db->catalog->cluster == 0) return 0;
    if (!opening->decisions)
        return err_set(
            error, CELLAR_MISMATCH,
            "which nodes of this pool are lost is decided outside of it (cluster %016llx): name the register, as its "
            "other processes do",
            (unsigned long long)db->catalog->cluster);
    opening->member = member_decided(db->catalog, db->config.decider, opening->decisions, opening->cn_first);
    const struct recover_home home = node_recover_home(&worker->by, &coordinator->task);
    const struct decision_asker asker = member_asker(&opening->member, &home, NULL);
    return decision_bind(co, &asker, &db->catalog->cluster, error);
}

static int join(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    uint32_t dirty = 0;

    int joined = member_choose(co, coordinator, error);
    if (joined == 0) joined = configuration_follow(co, coordinator, error);
    if (joined == 0 && db->catalog->away >= 0 && db->nodes[0].halt.now.state == CONFIGURATION_STEADY)
        joined = away_lose(co, coordinator, (uint32_t)db->catalog->away, error);
    if (joined) return joined;
    for (uint32_t recovered = 0;; recovered++) {
        int rc = join_once(co, coordinator, &dirty, error);
        if (rc != ERR_DIRTY) return rc;
        if (recovered == LAYOUT_MEMBERS_MAX)
            return err_set(error, CELLAR_BUSY,
                           "compute node %u was in the way each time that others had been recovered: other processes "
                           "open the pool, and end, or change its configuration",
                           dirty);
        rc = join_recover(co, coordinator, dirty, error);
        if (rc) return rc;
    }
}

/* A memory node that was there when it began, and is lost; -1: none. */
static int32_t lost_now(const struct worker *worker)
{
    const struct cellar *db = worker->db;
    for (uint32_t node = 0; node < db->catalog->mn_count && db->catalog->replicas; node++) {
        struct fabric_control ask = {.kind = FABRIC_NODE_GONE, .cn = worker->cn, .node = node};
        if ((int32_t)node != db->nodes[0].halt.now.away && db->fabric->ops->control(db->fabric, &ask, NULL) == 0)
            return (int32_t)node;
    }
    return -1;
}

int db_join(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    int rc = join(co, coordinator, error);
    /*
     * Amid it: with no other compute node there its backups take over here, or nowhere. One can be away at a time, so
     * this ends.
     */
    for (int32_t node; rc == CELLAR_UNREACHABLE && (node = lost_now(coordinator->worker)) >= 0;) {
        bool steady = db->nodes[0].halt.now.state == CONFIGURATION_STEADY;
        rc = steady ? away_lose(co, coordinator, (uint32_t)node, error) : CELLAR_UNREACHABLE;
        if (rc || !steady) return rc;
        rc = join(co, coordinator, error);
    }
    return rc;
}

/* ---- watching other compute nodes ---- */

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
    return rc ? err_set(error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

int db_vigils_open(struct cellar *db, struct cellar_error *error)
{
    int rc = 0;
    if (db->config.lease_ns == CELLAR_LEASE_NONE) return promises_end(db, error);
    for (uint32_t i = 0; i < db->config.cns; i++)
        if (!(db->nodes[i].vigil = vigil_new(&db->workers[i * db->config.threads].by, db->config.lease_ns)))
            return err_set(error, CELLAR_NOMEM, "no memory to watch other compute nodes");
    for (uint32_t i = 0; i < db->config.cns && rc == 0; i++)
        rc = db_run_on(db, i * db->config.threads * db->config.coros, vigil_start, db->nodes[i].vigil);
    for (uint32_t i = 0; i < db->worker_count; i++) db->workers[i].home.vigil = db->workers[i].node->vigil;
    for (uint32_t i = 0; i < db->config.cns; i++) db->nodes[i].halt.vigil = db->nodes[i].vigil;
    return rc ? err_set(error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

static int vigil_stop(struct coro *co, struct coordinator *coordinator, void *arg)
{
    vigil_end(co, arg, &coordinator->task);
    return 0;
}

void db_vigils_stop(struct cellar *db)
{
    for (uint32_t i = 0; i < db->config.cns; i++) {
        struct vigil *vigil = db->nodes[i].vigil;
        if (vigil) (void)!db_run_on(db, i * db->config.threads * db->config.coros, vigil_stop, vigil);
    }
}
