#include "sim_sessions.h"

#include "client.h"
#include "catalog.h"
#include "coordinator.h"
#include "session.h"
#include "sim_dialog.h"

#include <stdlib.h>

#define STREAM_CLIENTS 0x73657373696f6eull
#define PROCEDURE_ATTEMPTS 8
#define GIVEN_UP 1      /* a number of a procedure's own */
#define THOUGHT_SHARE 4 /* a call may take this many times longer than its client thinks, and its own time */

struct sim_sessions {
    uint32_t count;
    uint8_t (*rows)[SIM_ACCESSES_MAX][SIM_CELLS_ROW_BYTES_MAX]; /* some for each: that it reads at once */
    struct sim_texts *texts;                                    /* one for each; NULL: the plan has no values */
    struct sim_people *people;                                  /* likewise */
    struct sim_herds *herds;                                    /* likewise */
    struct session sessions[];
};

/* ---- sessions ---- */

int sim_sessions_open(struct cells *cells, struct cellar_error *error)
{
    uint32_t count = sim_plan_clients(cells->load.plan);
    cells->sessions = calloc(1, sizeof *cells->sessions + count * sizeof cells->sessions->sessions[0]);
    if (!cells->sessions) return err_set(error, CELLAR_NOMEM, "no memory for sessions");
    cells->sessions->count = count;
    cells->sessions->rows = calloc(count, sizeof *cells->sessions->rows);
    if (!cells->sessions->rows) return err_set(error, CELLAR_NOMEM, "no memory for rows");
    const struct sim_plan *plan = cells->load.plan;
    if (plan->values) cells->sessions->texts = calloc(count, sizeof *cells->sessions->texts);
    if (plan->people) cells->sessions->people = calloc(count, sizeof *cells->sessions->people);
    if (plan->herds) cells->sessions->herds = calloc(count, sizeof *cells->sessions->herds);
    bool all = (cells->sessions->texts || !plan->values) && (cells->sessions->people || !plan->people) &&
               (cells->sessions->herds || !plan->herds);
    return all ? 0 : err_set(error, CELLAR_NOMEM, "no memory for values");
}

void sim_sessions_end(struct sim_sessions *sessions)
{
    for (uint32_t i = 0; sessions && i < sessions->count; i++)
        if (session_state(&sessions->sessions[i])) session_close_inside(&sessions->sessions[i]);
}

void sim_sessions_close(struct sim_sessions *sessions)
{
    sim_sessions_end(sessions);
    if (sessions) free(sessions->texts);
    if (sessions) free(sessions->people);
    if (sessions) free(sessions->herds);
    if (sessions) free(sessions->rows);
    free(sessions);
}

/* ---- a transaction ---- */

/* An end that a client tells of rests on what it has read, which is to have been true at one moment. */
static int told(struct sim_dialog *dialog, int code, struct cellar_result *result)
{
    int rc = code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS || code == ERR_GIVEN_UP ? cellar_check(dialog->txn) : 0;
    (void)session_abort(dialog->txn);
    return result->code = rc ? rc : code;
}

/* It goes away in the midst of it, and the next one takes its place. What it has locked is given back. */
static int leave(struct sim_dialog *dialog)
{
    hold_end(dialog->session);
    session_close_inside(dialog->session);
    return ERR_GIVEN_UP;
}

/* The coordinator behind its own, if that has no client; NULL: reads lock nothing. */
static struct coordinator *lender(const struct sim_dialog *dialog)
{
    const struct sim_plan *plan = dialog->cells->load.plan;
    struct coordinator *own = dialog->client->coordinator;
    uint32_t next = (own->index + 1) % plan->coros;
    return next && sim_plan_lends(plan, own->index + 1) ? own + 1 : NULL;
}

/* Some have a bound that passes while they think. */
static uint64_t lock_ns(struct sim_dialog *dialog)
{
    static const uint64_t bounds_ns[] = {0, 0, 1000000, 20000};
    return bounds_ns[prng_below(&dialog->prng, sizeof bounds_ns / sizeof *bounds_ns)];
}

static void begin(struct sim_dialog *dialog, bool procedure, bool locks)
{
    const struct sim_plan *plan = dialog->cells->load.plan;
    dialog->digest = dialog->complaint[0] = 0;
    dialog->found = false;
    dialog->procedure = procedure;
    dialog->locks = locks;
    if (dialog->people) {
        dialog->people->table = dialog->cells->people;
        dialog->people->locks = locks;
    }
    bool ring_only = procedure || mode_of(plan->cc)->undo || plan->holds;
    if (dialog->texts) dialog->texts->ring_only = ring_only;
    dialog->large = !ring_only;
}

static int procedure(struct cellar_txn *txn, void *arg)
{
    struct sim_dialog *dialog = arg;
    begin(dialog, true, true);
    dialog->txn = txn;
    int code = sim_dialog_play(dialog);
    return code == ERR_GIVEN_UP ? GIVEN_UP : code;
}

static int procedure_once(struct sim_dialog *dialog, uint64_t left_ns, struct cellar_result *result)
{
    const struct cellar_proc proc = {
        .def = {.fn = procedure, .records_max = CELLAR_TXN_RECORDS_MAX, .writes_max = CELLAR_TXN_RECORDS_MAX},
        .log_bytes = (uint32_t)(dialog->cells->load.plan->log_bytes / 2)};
    const struct cellar_call_options options = {.timeout_ns = left_ns, .attempts_max = PROCEDURE_ATTEMPTS};
    struct cellar_lab_client *client = dialog->client;
    int code = coordinator_exec(client->co, client->coordinator, &proc, dialog, &options, 0, result);
    return result->code = code == GIVEN_UP ? ERR_GIVEN_UP : code;
}

static int session_once(struct sim_dialog *dialog, uint64_t left_ns, struct cellar_result *result)
{
    const struct session_options options = {.timeout_ns = left_ns, .lock_ns = lock_ns(dialog)};
    bool leaves = sim_dialog_once_in(dialog, 16);
    int code = session_state(dialog->session) ? 0 : session_open_inside(dialog->client, dialog->session);
    dialog->session->holder = lender(dialog);
    begin(dialog, false, dialog->session->holder);
    if (code == 0) code = session_begin(dialog->session, &options, &dialog->txn);
    if (code) return result->code = code;
    code = sim_dialog_play(dialog);
    if (leaves) return result->code = leave(dialog);
    return code ? told(dialog, code, result) : session_commit(dialog->txn, result);
}

/* Another table takes the place of the one that it began with: it begins anew, with that, or will. */
static bool replaced(const struct sim_dialog *dialog)
{
    return dialog->people && dialog->people->table->table->dropped;
}

/* One transaction of three by a procedure. */
static int try_once(struct sim_dialog *dialog, uint64_t left_ns, struct cellar_result *result)
{
    int code =
        sim_dialog_once_in(dialog, 3) ? procedure_once(dialog, left_ns, result) : session_once(dialog, left_ns, result);
    return code == CELLAR_DROPPED && replaced(dialog) ? (result->code = CELLAR_RETRY) : code;
}

static uint64_t gone_ns(const struct sim_dialog *dialog, uint64_t begin_ns)
{
    return fabric_now_ns(dialog->client->coordinator->worker->ep) - begin_ns;
}

/* Where no node is lost: of what a lost one has left half done neither table nor index can be made. */
static bool remakes(struct sim_dialog *dialog)
{
    const struct sim_plan *plan = dialog->cells->load.plan;
    if (!plan->remakes || plan->faults.cn_losses_max || plan->faults.mn_losses_max) return false;
    return cellar_lab_index(dialog->client) == 0 && sim_dialog_once_in(dialog, 3);
}

/* BUSY: whole tables are looked at. Operations may fail, and then nothing has changed; or its node crashes amid it. */
static void remake(struct sim_dialog *dialog)
{
    struct cellar_error error = {0};
    struct cells *cells = dialog->cells;
    bool column = cells->load.plan->remakes == SIM_REMAKES_TABLE && sim_dialog_once_in(dialog, 2);
    int code = column ? sim_people_alter(dialog->client, &cells->people, &error)
                      : sim_people_reindex(dialog->client, cells->people, &error);
    bool failed = code == CELLAR_UNREACHABLE || code == CELLAR_INDETERMINATE || code == CELLAR_FENCED;
    if (code && code != CELLAR_BUSY && !failed)
        sim_load_complain(&cells->load, "%s comes or goes: %d, %s", column ? "a column" : "an index", code, error.text);
}

int sim_sessions_next(struct cells *cells, struct cellar_lab_client *client, uint32_t index,
                      const struct cellar_call_options *options, struct cellar_result *result)
{
    const struct sim_plan *plan = cells->load.plan;
    uint32_t number = cellar_lab_index(client), tries = 0;
    uint64_t begin_ns = fabric_now_ns(client->coordinator->worker->ep), left_ns = options->timeout_ns;
    struct cells_txn todo;
    struct sim_dialog dialog = {.cells = cells,
                                .client = client,
                                .session = &cells->sessions->sessions[number],
                                .rows = cells->sessions->rows[number],
                                .todo = &todo,
                                .writer = sim_plan_txn(plan, number, index) + 1};
    int code;
    if (cells->texts) {
        dialog.texts = &cells->sessions->texts[number];
        dialog.texts->table = cells->texts;
        dialog.texts->half_bytes = plan->log_bytes / 2;
    }
    if (cells->people) dialog.people = &cells->sessions->people[number];
    if (cells->herds) {
        dialog.herds = &cells->sessions->herds[number];
        dialog.herds->table = cells->herds;
    }
    sim_cells_draw(cells, number, index, &todo);
    prng_seed_stream(&dialog.prng, plan->seed ^ STREAM_CLIENTS, (uint64_t)index << 32 | (number + 1));
    if (remakes(&dialog)) remake(&dialog);
    for (;;) {
        code = try_once(&dialog, left_ns, result);
        result->attempts = ++tries;
        if (code != CELLAR_RETRY || tries == options->attempts_max) break;
        coordinator_pause(client->co, client->coordinator, tries);
        uint64_t gone = gone_ns(&dialog, begin_ns), most_ns = options->timeout_ns + THOUGHT_SHARE * dialog.thought_ns;
        if (gone >= most_ns) return result->code = CELLAR_DEADLINE;
        left_ns = most_ns - gone;
    }
    if (code == 0 && dialog.complaint[0])
        sim_load_complain(&cells->load, "transaction %u read %s", dialog.writer - 1, dialog.complaint);
    return code;
}
