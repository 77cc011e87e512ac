/*
 * db_failover.c - memory nodes that are lost and replaced, as a database does it: agents of its compute nodes,
 * leaving meanwhile, and calls from outside.
 */
#include "db_failover.h"

#include "coordinator.h"
#include "db.h"
#include "db_plants.h"
#include "settle.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#define REPLACE_POLL_NS 100000ull
#define LEAVE_PAUSE_NS 20000ull

void db_halts_open(struct cellar *db)
{
    for (uint32_t i = 0; i < db->config.cns; i++) {
        struct node *node = &db->nodes[i];
        struct halt *halt = &node->halt;
        node->catalog = db->catalog;
        halt->gate = &node->gate;
        halt->recovering = &node->recovering;
        halt->eps = node->eps;
        halt->ep_count = db->config.threads;
        halt->catalog = db->catalog;
        halt->agent_ep = halt->eps[0];
        halt->now.away = halt->now.leader = -1;
    }
}

void db_halts_serve(struct cellar *db)
{
    for (uint32_t i = 0; i < db->config.cns; i++) atomic_store(&db->nodes[i].halt.open, true);
}

/* Each for itself: one that has stopped may hold tags, and stays for its recoverer. */
static int leave_all(struct coro *co, struct worker *worker)
{
    struct cellar *db = worker->db;
    int rc = 0;
    for (uint32_t i = 0; i < db->config.cns; i++) {
        bool stopped = atomic_load(&db->nodes[i].gate.failed);
        int left = stopped ? CELLAR_FENCED
                           : members_leave(co, worker->ep, db->catalog, db->nodes[i].cn, 1, db->opening.incarnation);
        if (rc == 0 || left == CELLAR_UNREACHABLE) rc = left;
    }
    return rc;
}

/* As an attempt it enters the gate: where members' words are does not change meanwhile (INV-FAILOVER-2). */
int db_leave(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct cellar *db = arg;
    struct worker *worker = coordinator->worker;
    struct gate *gate = &worker->node->gate;
    uint64_t begin_ns = fabric_now_ns(worker->ep);
    uint64_t patience_ns = db->catalog->replicas ? SETTLE_FAILOVER_STALLS * db->fabric->stall_max_ns : 0;
    for (;;) {
        bool in = PLANT(close_ungated) || gate_enter(co, gate, worker->thread, &worker->sched, &coordinator->task);
        if (!in) return CELLAR_FENCED;
        int rc = leave_all(co, worker);
        if (!PLANT(close_ungated)) gate_leave(gate, worker->thread, &worker->sched);
        if (rc != CELLAR_UNREACHABLE || fabric_now_ns(worker->ep) - begin_ns >= patience_ns) return rc;
        for (uint32_t node = 0; node <= db->catalog->replicas; node++) halt_suspect(&db->nodes[0].halt, node);
        sched_sleep(co, &worker->sched, &coordinator->task, LEAVE_PAUSE_NS);
    }
}

static int refused(struct cellar_error *error, uint32_t node, int rc)
{
    const char *text = cellar_strerror(rc);
    if (rc == CELLAR_NOT_FOUND) text = "it is not away; only one whose loss was noticed can be replaced";
    if (rc == CELLAR_UNREACHABLE)
        text = "no memory node listens in its place; start a fresh one there first (cellar memnode)";
    if (rc == CELLAR_MISMATCH)
        text =
            "what is in its place is of another shape, or not blank: it may be the lost one, healed; end it and start "
            "it anew (cellar memnode)";
    return err_set(error, rc, "memory node %u was not replaced: %s", node, text);
}

int db_replace(struct coro *co, struct coordinator *coordinator, uint32_t node, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    struct halt *halt = worker->home.halt;
    int none = 0;
    if (node >= worker->db->catalog->mn_count)
        return err_set(error, CELLAR_INVALID, "memory node %u is unknown: there are %u, numbered from 0", node,
                       worker->db->catalog->mn_count);
    if (!atomic_compare_exchange_strong(&halt->rejoin, &none, (int)node + 1))
        return err_set(error, CELLAR_EXISTS, "compute node %u fills memory node %d already", worker->cn, none - 1);
    fabric_wake(worker->db->fabric, halt->agent_ep);
    while (atomic_load(&halt->rejoin) == (int)node + 1)
        sched_sleep(co, &worker->sched, &coordinator->task, REPLACE_POLL_NS);
    int rc = atomic_load(&halt->rejoined);
    return rc ? refused(error, node, rc) : 0;
}

struct replace_call {
    uint32_t node;
    struct cellar_error *error;
};

static int replace_fn(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct replace_call *call = arg;
    return db_replace(co, coordinator, call->node, call->error);
}

int db_node_replace(struct cellar *db, uint32_t node, struct cellar_error *error)
{
    struct replace_call call = {node, error};
    return db_call_on(db, 0, replace_fn, &call, error);
}
