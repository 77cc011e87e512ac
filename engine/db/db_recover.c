/* db_recover.c - recovery as a database does it: at open, for a caller, or because somebody was found dead. */
#include "db.h"

#include "plant.h"

#define JOIN_WAIT_NS 1000000ull /* between two looks at a recovery that is under way */
#define JOIN_WAITS_MAX 5000

static struct recover_home home_of(struct worker *worker, struct sched_task *task)
{
    const struct cellar *db = worker->db;
    return (struct recover_home){.ep = worker->ep,
                                 .catalog = worker->db->catalog,
                                 .member = &worker->db->member,
                                 .sched = &worker->sched,
                                 .task = task,
                                 .vigil = db->vigils ? db->vigils[worker->cn - db->config.cn_index] : NULL,
                                 .cn = worker->cn};
}

static void tell(struct cellar *db, uint32_t by, uint32_t dead, const struct recover_report *report)
{
    db_log(db, CELLAR_LOG_WARNING,
           "compute node %u was recovered by compute node %u: %llu log entries, %llu redone in %llu changes, %llu "
           "erased, %llu tags cleared",
           dead, by, (unsigned long long)report->entries, (unsigned long long)report->due,
           (unsigned long long)report->redone, (unsigned long long)report->erased,
           (unsigned long long)report->tags_cleared);
}

/* A memory node does not answer. Those who would meet it may all wait for this recovery: its loss is noticed here, or by nobody. */
static void suspect_all(struct cellar *db, uint32_t own)
{
    if (!db->catalog->replicas || PLANT(recover_silence_ignored)) return;
    for (uint32_t node = 0; node < db->catalog->mn_count; node++) halt_suspect(&db->halts[own], node);
}

int db_recover(struct coro *co, struct worker *worker, struct sched_task *task, uint32_t dead, uint64_t life,
               enum recover_how how, struct recover_report *report, struct cellar_error *error)
{
    struct cellar *db = worker->db;
    uint32_t own = worker->cn - db->config.cn_index;
    struct recover_home home = home_of(worker, task);
    home.life = life;
    home.watching = home.vigil && task == &home.vigil->watcher;
    home.halting = &db->gates[own].halted;

    if (atomic_load(&db->gates[own].failed))
        return err_set(error, CELLAR_ERR_FENCED, "compute node %u has stopped", worker->cn);
    if (atomic_load(home.halting)) /* what is dead is recovered there, if that cannot wait */
        return err_set(error, CELLAR_ERR_EXISTS, "the configuration changes; compute node %u stands still", worker->cn);
    /* A claim names a compute node: two coordinators of one could not tell theirs apart. */
    if (atomic_exchange(&db->recovering[own], true))
        return err_set(error, CELLAR_ERR_EXISTS, "compute node %u is busy with a recovery", worker->cn);
    int rc = recover_run(co, &home, dead, how, report, error);
    atomic_store(&db->recovering[own], false);
    if (rc == -CELLAR_ERR_UNREACHABLE) suspect_all(db, own);
    if (rc == 0 && report->done) tell(db, worker->cn, dead, report);
    if (rc == 0 && db->recovered.fn) db->recovered.fn(db->recovered.arg, worker->cn, dead);
    return rc;
}

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

    uint32_t own = worker->cn - worker->db->config.cn_index;
    const atomic_bool *recovering = &worker->db->recovering[own];
    const atomic_uint *halted = &worker->db->gates[own].halted;
    int rc = -CELLAR_ERR_EXISTS;

    /* This compute node may be at it by itself, because it has noticed; or must stand still for a moment. */
    for (uint32_t waits = 0; waits < JOIN_WAITS_MAX && rc == -CELLAR_ERR_EXISTS; waits++) {
        bool last = waits + 1 == JOIN_WAITS_MAX;
        if (last || (!atomic_load(recovering) && !atomic_load(halted))) {
            rc = db_recover(co, worker, &coordinator->task, call->dead, 0, RECOVER_IF_DEAD, &report, call->error);
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

int cellar_recover(struct cellar *db, uint32_t cn, struct cellar_error *error)
{
    bool done;
    return db_recover_dead(db, cn, &done, error);
}

static int watch_fn(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct worker *worker = coordinator->worker;
    (void)co;
    if (worker->home.vigil) vigil_watch(worker->home.vigil, worker, *(const uint32_t *)arg);
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
    const struct recover_home home = home_of(coordinator->worker, &coordinator->task);
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

int cellar_outcome(struct cellar *db, const uint64_t txn_id[2], enum cellar_fate *fate, struct cellar_error *error)
{
    struct outcome_call call = {txn_id, fate, error};
    *fate = CELLAR_FATE_UNKNOWN;
    return db_call_on(db, 0, outcome_fn, &call, error);
}

/* ---- at open ---- */

/* An index of ours that somebody recovers just now will soon be free. */
static int join_recover(struct coro *co, struct coordinator *coordinator, uint32_t dead, struct cellar_error *error)
{
    const struct recover_home home = home_of(coordinator->worker, &coordinator->task);
    struct recover_report report;
    int rc = 0;
    for (uint32_t waits = 0; waits < JOIN_WAITS_MAX; waits++) {
        rc = recover_run(co, &home, dead, RECOVER_OWN, &report, error);
        if (rc != -CELLAR_ERR_EXISTS) break;
        sched_sleep(co, home.sched, home.task, JOIN_WAIT_NS);
    }
    if (rc == 0 && report.done) tell(coordinator->worker->db, home.cn, dead, &report);
    return rc;
}

int db_examine(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    worker->db->member = member_builtin(worker->db->catalog);
    const struct recover_home home = home_of(worker, &coordinator->task);
    return recover_examine(co, &home, error);
}

/* All compute nodes of this process, as the configuration is now. */
static int configuration_follow(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns && rc == 0; i++) {
        struct agent own = {.worker = coordinator->worker, .halt = &db->halts[i]};
        rc = agent_join(co, &own, &coordinator->task);
    }
    return rc ? err_set(error, (enum cellar_error_code)(-rc), "the configuration: %s", cellar_error_text(rc)) : 0;
}

/* Nobody who had the pool open has noticed that a memory node was lost: its backups take over now. */
static int away_lose(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    struct cellar *db = worker->db;
    struct fabric_control leave = {.kind = FABRIC_NODE_LEAVE, .cn = worker->cn, .node = (uint32_t)db->catalog->away};
    const struct failover_home home = {.recover = home_of(worker, &coordinator->task), .halt = &db->halts[0]};
    struct failover_report report = {0};
    for (uint32_t waits = 0; waits < JOIN_WAITS_MAX && db->halts[0].now.state == CONFIGURATION_STEADY; waits++) {
        int rc = db->fabric->ops->control(db->fabric, &leave, error);
        if (rc == 0) rc = failover_lose(co, &home, leave.node, &report, error);
        if (rc && rc != -CELLAR_ERR_EXISTS) return rc;
        if (rc) sched_sleep(co, &worker->sched, &coordinator->task, JOIN_WAIT_NS);
        if (rc) rc = configuration_follow(co, coordinator, error);
        if (rc) return rc;
    }
    db_log(db, CELLAR_LOG_WARNING, "memory node %u is lost: its backups have taken over", leave.node);
    return 0;
}

int db_join(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct cellar *db = coordinator->worker->db;
    struct fabric_ep *ep = coordinator->worker->ep;
    uint32_t dirty = 0;

    db->member = member_builtin(db->catalog);
    int joined = configuration_follow(co, coordinator, error);
    if (joined == 0 && db->catalog->away >= 0 && db->halts[0].now.state == CONFIGURATION_STEADY)
        joined = away_lose(co, coordinator, error);
    if (joined) return joined;
    for (uint32_t recovered = 0;; recovered++) {
        int rc = members_join(co, ep, db->catalog, db->config.cn_index, db->config.cns, !db->shared, &db->incarnation,
                              &dirty, error);
        db->joined = rc == 0;
        /* Who changed it before the word said so has not waited for us; who does so from now on will. */
        if (rc == 0) rc = configuration_follow(co, coordinator, error);
        if (rc != -CELLAR_ERR_DIRTY || recovered == LAYOUT_MEMBERS_MAX) return rc;
        rc = join_recover(co, coordinator, dirty, error);
        if (rc) return rc;
    }
}
