/*
 * peer_cellar.c - Cellar in its default mode: each transaction is one call of a stored procedure by a coordinator
 * (cellar_lab_exec), the one of its thread. In memory there is a thread for each client. Durable there are two threads
 * at most, and clients are calls in flight: one is made at level memory, and acknowledged when its epoch is on the
 * disk; as many as there are clients wait for that.
 */
#include "peer.h"
#include "peer_cells.h"
#include "peer_run.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_DURABLE 2
#define REFUSED 1 /* the transaction's own answer: no effect */

struct ours {
    struct cells cells;
    const struct cellar_proc *proc;
};

struct args {
    const struct ours *db;
    const struct peer_draw *draw;
    uint64_t at;
    uint32_t writer;
    struct peer_outcome outcome;
};

struct waiting {
    uint64_t epoch, begin_ns;
};

struct session { /* of a coordinator */
    const struct ours *db;
    struct cellar_lab_client *self;
    struct peer_client *client;
    uint64_t at;
    uint32_t window, first, count; /* of `waiting`; window 0: in memory */
    struct waiting *waiting;
};

/* ---- one transaction ---- */

static int rows_put(struct cellar_txn *txn, const struct cells *cells, const struct peer_plan *plan,
                    struct cells_row *rows)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < plan->count; i++)
        if (plan->parts[i].write) code = cellar_put(txn, cells->table, cells_columns(plan->parts[i].write), &rows[i]);
    return code;
}

static int transaction(struct cellar_txn *txn, void *argument)
{
    struct args *args = argument;
    const struct cells *cells = &args->db->cells;
    struct cells_row rows[PEER_PER_TXN];
    struct cellar_read reads[PEER_PER_TXN];
    union peer_row values[PEER_PER_TXN];
    struct peer_plan plan;

    peer_work_plan(cells->setup.work, args->draw, &plan);
    for (uint32_t i = 0; i < plan.count; i++) {
        const struct peer_part *part = &plan.parts[i];
        rows[i].key = part->key;
        reads[i] = CELLAR_READ(cells->table, &rows[i], .columns = part->read ? cells_columns(part->read) : CELLS_KEY,
                               .lock = cells_columns(part->write));
    }
    int code = cellar_get_many(txn, reads, plan.count);
    for (uint32_t i = 0; code == 0 && i < plan.count; i++) {
        code = reads[i].code;
        peer_work_copy(cells->setup.work, plan.parts[i].read, &values[i], &rows[i].row);
    }
    if (code < 0) return code;
    if (!peer_work_compute(cells->setup.work, args->draw, args->writer, args->at, values, &args->outcome))
        return REFUSED;
    for (uint32_t i = 0; i < plan.count; i++)
        peer_work_copy(cells->setup.work, plan.parts[i].write, &rows[i].row, &values[i]);
    return rows_put(txn, cells, &plan, rows);
}

/* Acknowledges what is durable; waits until no more than `most` are left. */
static int acknowledge(struct session *session, uint32_t most)
{
    while (session->count) {
        struct waiting *oldest = &session->waiting[session->first];
        bool durable = oldest->epoch <= cellar_durable_epoch(session->db->cells.db);
        if (!durable && session->count <= most) break;
        if (!durable && cellar_lab_wait_durable(session->self, oldest->epoch))
            return peer_fail("Cellar: the folder does not become durable");
        peer_client_acknowledge(session->client, oldest->begin_ns);
        session->first = (session->first + 1) % session->window;
        session->count--;
    }
    return 0;
}

static int settle(void *session) { return acknowledge(session, 0); }

static int pending_add(struct session *session, uint64_t epoch)
{
    session->waiting[(session->first + session->count++) % session->window] =
        (struct waiting){epoch, session->client->begin_ns};
    int rc = acknowledge(session, session->window - 1);
    return rc ? rc : PEER_PENDING;
}

static int call(void *arg, const struct peer_draw *draw, struct peer_outcome *outcome, uint64_t *retries)
{
    struct session *session = arg;
    struct args args = {
        .db = session->db, .draw = draw, .at = session->at++, .writer = cellar_lab_index(session->self)};
    static const struct cellar_call_options memory = {.level = CELLAR_MEMORY};
    struct cellar_result result;
    int code = cellar_lab_exec(session->self, session->db->proc, &args, &memory, &result);
    if (code < 0) return cells_fail(&result);
    *outcome = args.outcome;
    *retries += result.attempts - 1;
    return session->window ? pending_add(session, result.epoch) : 0;
}

/* ---- clients ---- */

static void turn(void *arg) { cellar_lab_yield(((struct session *)arg)->self); }

struct driving {
    struct ours *db;
    struct peer_client *clients;
    uint32_t count;
};

static int client_run(struct cellar_lab_client *self, void *arg)
{
    struct driving *driving = arg;
    const struct peer_setup *setup = &driving->db->cells.setup;
    uint32_t index = cellar_lab_index(self);
    struct session session = {.db = driving->db, .self = self, .client = &driving->clients[index]};
    if (setup->durable) session.window = (setup->clients + driving->count - 1) / driving->count;
    session.waiting = calloc(session.window + 1, sizeof *session.waiting);
    if (!session.waiting) return peer_fail("no memory");
    int rc = peer_client_run(session.client, &session);
    free(session.waiting);
    return rc;
}

static int drive(void *db, struct peer_client *clients, uint32_t count)
{
    struct driving driving = {db, clients, count};
    return cellar_lab_run(driving.db->cells.db, client_run, &driving);
}

/* ---- the database ---- */

static uint32_t loops(const struct peer_setup *setup)
{
    return setup->durable && setup->clients > THREADS_DURABLE ? THREADS_DURABLE : setup->clients;
}

static int db_open(const struct peer_setup *setup, void **out)
{
    struct ours *db = calloc(1, sizeof *db);
    if (!db) return peer_fail("no memory");
    int rc = cells_open(&db->cells, setup, loops(setup), 0);
    if (rc == 0) {
        const struct cellar_proc_def def = {
            .name = "peer.transaction", .fn = transaction, .records_max = PEER_PER_TXN, .writes_max = PEER_PER_TXN};
        if (cellar_proc_register(db->cells.db, &def, &db->proc)) rc = cells_refused();
        if (rc) cells_close(&db->cells);
    }
    if (rc) {
        free(db);
        return rc;
    }
    *out = db;
    return 0;
}

static void db_close(void *db)
{
    cells_close(db);
    free(db);
}

const struct peer_ops peer_cellar = {
    .title = "Cellar, procedures",
    .version = PEER_VERSION,
    .isolation = "strictly serializable",
    .memory = "mode cellar, its own memory; a thread with one coordinator for each client",
    .durable = "epochs of 2 ms; two threads, and clients are calls in flight, acknowledged when durable",
    .clients_max = 96,
    .in_flight_max = 16384,
    .open = db_open,
    .load = cells_load,
    .each = cells_each,
    .close = db_close,
    .drive = drive,
    .loops = loops,
    .settle = settle,
    .turn = turn,
    .call = call,
};
