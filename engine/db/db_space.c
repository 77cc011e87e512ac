/*
 * db_space.c - what a worker may take for free in an old pool (space.h). A process that has others beside it must not
 * take what they have freed: so it looks, before and after it has scanned the pool, whether it is alone (INV-SPACE-1).
 */
#include "db_space.h"

#include "db_company.h"
#include "worker.h"

static int found(struct coro *co, struct worker *worker, bool alone, struct cellar_error *error)
{
    const struct cellar *db = worker->db;
    const struct space_find find = {.part = worker->thread,
                                    .parts = db->config.threads,
                                    .nothing = db->fabric->fresh,
                                    .alone = alone,
                                    .first = db->opening.cn_first,
                                    .count = db->opening.cn_count};
    return space_open(co, worker->ep, db->catalog, worker->cn, &find, &worker->home.space, error);
}

/* What it has found is nobody's if nobody came meanwhile; else it looks again for what is its own. */
static int old_found(struct coro *co, struct worker *worker, struct cellar_error *error)
{
    struct db_company before, after;
    int rc = db_company_look(co, worker, &before, error);
    if (rc == 0) rc = found(co, worker, before.other < 0, error);
    if (rc || before.other >= 0) return rc;
    rc = db_company_look(co, worker, &after, error);
    if (rc || db_company_none(&before, &after)) return rc;
    space_free(worker->home.space);
    worker->home.space = NULL;
    return found(co, worker, false, error);
}

int db_space_open(struct coro *co, struct worker *worker, const struct worker *beside, struct cellar_error *error)
{
    const struct cellar *db = worker->db;
    if (beside)
        return space_open_beside(worker->ep, db->catalog, worker->cn, beside->home.space, &worker->home.space, error);
    int rc = db->fabric->fresh ? found(co, worker, true, error) : old_found(co, worker, error);
    if (rc == 0) space_share(worker->home.space);
    return rc;
}
