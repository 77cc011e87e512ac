/*
 * peer_session.c - Cellar in its default mode by interactive transactions: each client begins, reads its rows in
 * one go, puts them one by one and commits, from its own thread.
 */
#include "peer.h"
#include "peer_cells.h"

#include <inttypes.h>
#include <stdlib.h>

struct session {
    const struct cells *cells;
    struct cellar_txn *txn;
    const struct peer_plan *plan;
    struct cells_row rows[PEER_PER_TXN]; /* of the plan's parts */
};

static int judged(int code)
{
    if (code >= 0) return 0;
    if (cellar_retryable(code)) return PEER_RETRY;
    return cells_refused();
}

static int db_open(const struct peer_setup *setup, void **out)
{
    struct cells *cells = calloc(1, sizeof *cells);
    if (!cells) return peer_fail("no memory");
    int rc = cells_open(cells, setup, 0, setup->clients);
    if (rc) {
        free(cells);
        return rc;
    }
    *out = cells;
    return 0;
}

static void db_close(void *cells)
{
    cells_close(cells);
    free(cells);
}

static int session_open(void *arg, void **out)
{
    struct cells *cells = arg;
    struct session *session = calloc(1, sizeof *session);
    if (!session) return peer_fail("no memory");
    session->cells = cells;
    *out = session;
    return 0;
}

static void session_close(void *arg) { free(arg); }

static int begin(void *arg, bool writes)
{
    struct session *session = arg;
    const struct cellar_txn_options *reads = CELLAR_TXN(.flags = CELLAR_READ_ONLY);
    return judged(cellar_begin(session->cells->db, writes ? NULL : reads, &session->txn));
}

/* All that is asked for row by row afterwards. */
static int prefetch(void *arg, const struct peer_plan *plan)
{
    struct session *session = arg;
    struct cellar_read reads[PEER_PER_TXN];
    session->plan = plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        session->rows[i].key = plan->parts[i].key;
        reads[i] = CELLAR_READ(session->cells->table, &session->rows[i], .columns = cells_columns(plan->parts[i].read));
    }
    int rc = judged(cellar_get_many(session->txn, reads, plan->count));
    for (uint32_t i = 0; rc == 0 && i < plan->count; i++)
        if (reads[i].code) rc = peer_fail("Cellar: no record %" PRIu32, plan->parts[i].key);
    return rc;
}

static struct cells_row *row_of(struct session *session, const struct peer_part *part)
{
    return &session->rows[part - session->plan->parts];
}

static int get(void *arg, const struct peer_part *part, union peer_row *row)
{
    struct session *session = arg;
    peer_work_copy(session->cells->setup.work, part->read, row, &row_of(session, part)->row);
    return 0;
}

static int put(void *arg, const struct peer_part *part, const union peer_row *row)
{
    struct session *session = arg;
    struct cells_row *changed = row_of(session, part);
    peer_work_copy(session->cells->setup.work, part->write, &changed->row, row);
    return judged(cellar_put(session->txn, session->cells->table, cells_columns(part->write), changed));
}

static int end(void *arg, enum peer_end end)
{
    struct session *session = arg;
    if (end == PEER_COMMIT) return judged(cellar_commit(session->txn, NULL));
    int rc = end == PEER_REFUSED ? judged(cellar_check(session->txn)) : 0;
    cellar_abort(session->txn);
    return rc;
}

const struct peer_ops peer_session = {
    .title = "Cellar, interactive",
    .version = PEER_VERSION,
    .isolation = "strictly serializable",
    .memory = "mode cellar, its own memory; a thread for each client",
    .durable = "level durable, epochs of 2 ms; a thread for each client",
    .clients_max = 125,
    .open = db_open,
    .load = cells_load,
    .each = cells_each,
    .close = db_close,
    .session_open = session_open,
    .session_close = session_close,
    .begin = begin,
    .prefetch = prefetch,
    .get = get,
    .put = put,
    .end = end,
};
