/* db_company.c - looking for other processes by their words in the pool. */
#include "db_company.h"

#include "db_plants.h"
#include "member.h"
#include "reclaim.h"
#include "worker.h"

#define SWEEPS_MAX 4 /* where operations fail: a sweep begun anew finds what is left */

int db_company_look(struct coro *co, struct worker *worker, struct db_company *company, struct cellar_error *error)
{
    struct cellar *db = worker->db;
    *company = (struct db_company){.other = -1};
    for (uint32_t cn = 0; cn < db->catalog->cn_count; cn++) {
        struct members_state state;
        int rc = member_look(co, &db->opening.member, worker->ep, cn, &state);
        if (rc) return err_set(error, rc, "memory node 0: %s", cellar_strerror(rc));
        company->lives += state.incarnation;
        bool own = cn - db->opening.cn_first < db->opening.cn_count;
        if (!own && company->other < 0 && !members_is_free(&state)) company->other = (int32_t)cn;
    }
    return 0;
}

int db_alone_check(struct coro *co, struct worker *worker, struct cellar_error *error)
{
    struct db_company company;
    int rc = db_company_look(co, worker, &company, error);
    if (rc || company.other < 0) return rc;
    return err_set(error, CELLAR_BUSY,
                   "compute node %d of another process uses the pool: indexes are made, and tables and indexes go, "
                   "while no other one does",
                   company.other);
}

/* ---- deciding ---- */

static int told(struct worker *worker, int rc, struct cellar_error *error)
{
    struct cellar *db = worker->db;
    if (rc != CELLAR_INDETERMINATE || PLANT(decision_unknown)) return rc;
    for (uint32_t cn = 0; cn < db->config.cns; cn++) gate_stop(&db->nodes[cn].gate, &worker->sched);
    return err_set(error, rc,
                   "it is not known whether tables or indexes have changed: memory node 0 does not answer. The next "
                   "opening of the pool finds out");
}

int db_state_decide(struct coro *co, struct worker *worker, uint32_t table_id, uint64_t from, uint64_t to,
                    struct cellar_error *error)
{
    return told(worker, reclaim_state_move(co, worker->ep, worker->db->catalog, table_id, from, to, error), error);
}

int db_replaced_settle(struct coro *co, struct worker *worker, uint32_t table_id, struct cellar_error *error)
{
    int rc = reclaim_replaced_settle(co, worker->ep, worker->db->catalog, table_id, error);
    return told(worker, rc == CELLAR_UNREACHABLE ? CELLAR_INDETERMINATE : rc, error);
}

/* ---- giving back space ---- */

struct watch {
    struct worker *worker;
    struct db_company before;
};

static bool none_came(struct coro *co, void *arg)
{
    const struct watch *watch = arg;
    struct db_company now;
    return db_company_look(co, watch->worker, &now, NULL) == 0 && db_company_none(&watch->before, &now);
}

static int sweep(struct coro *co, struct worker *worker, struct cellar_error *error)
{
    struct watch watch = {.worker = worker};
    int rc = db_company_look(co, worker, &watch.before, error);
    return rc ? rc
              : reclaim_sweep(co, worker->ep, worker->db->catalog, &(struct reclaim_company){none_came, &watch}, error);
}

int db_company_sweep(struct coro *co, struct worker *worker, struct cellar_error *error)
{
    int rc = CELLAR_UNREACHABLE;
    for (uint32_t tries = 0; tries < SWEEPS_MAX && (rc == CELLAR_UNREACHABLE || rc == CELLAR_INDETERMINATE); tries++)
        rc = sweep(co, worker, error);
    return rc;
}
