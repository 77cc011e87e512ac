/*
 * sim_sessions.c - interactive transactions of simulated clients (sim_sessions.h).
 *
 * What a client is shown while its transaction goes on must agree with itself, whatever others do: a cell that it has
 * read does not change, and what it has put it reads. So that is judged at once. What it has read of others may be of
 * different moments until the commit: values are judged once it has committed, and versions by the history.
 */
#include "sim_sessions.h"

#include "schemadef.h"
#include "client.h"
#include "coordinator.h"
#include "prng.h"
#include "session.h"
#include "sim_people.h"
#include "sim_texts.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_CLIENTS 0x73657373696f6eull
#define PROCEDURE_ATTEMPTS 8
#define GIVEN_UP 1      /* a number of a procedure's own */
#define THOUGHT_SHARE 4 /* a call may take this many times longer than its client thinks, and its own time */

struct sim_sessions {
    uint32_t count;
    uint8_t (*rows)[SIM_ACCESSES_MAX][SIM_CELLS_ROW_BYTES_MAX]; /* some for each: that it reads at once */
    struct sim_texts *texts;                                    /* one for each; NULL: the plan has no values */
    struct sim_people *people;                                  /* likewise */
    struct session sessions[];
};

/* One transaction of a client, made anew until it commits. */
struct dialog {
    struct cells *cells;
    struct cellar_lab_client *client;
    struct session *session;
    const struct cells_txn *todo;
    struct sim_texts *texts;   /* NULL: the plan has no values */
    struct sim_people *people; /* NULL: it has no people */
    uint8_t (*rows)[SIM_CELLS_ROW_BYTES_MAX];
    struct cellar_txn *txn;
    bool procedure;      /* its calls are those of one that runs */
    bool locks;          /* ... may lock what they read */
    struct prng prng;    /* of the client's manners: drawn anew by each try */
    uint32_t writer;     /* its number, from 1 */
    uint64_t thought_ns; /* so far */
    uint64_t digest;     /* of all that this try has read */
    bool found;          /* by the last access that looked */
    char complaint[120]; /* about a value read; counts if it commits */
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
    bool all = (cells->sessions->texts || !plan->values) && (cells->sessions->people || !plan->people);
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
    if (sessions) free(sessions->rows);
    free(sessions);
}

/* ---- manners ---- */

/*
 * Most clients go on at once, some stop for a moment, a few for so long that leases end and nodes are replaced. A
 * procedure does not wait.
 */
static void think(struct dialog *dialog)
{
    static const uint64_t lengths_ns[] = {500, 2000, 2000, 10000, 10000, 50000, 300000, 2000000, 8000000};
    uint64_t at = prng_below(&dialog->prng, 3 * sizeof lengths_ns / sizeof *lengths_ns);
    if (at >= sizeof lengths_ns / sizeof *lengths_ns) return;
    if (dialog->procedure) return;
    struct coordinator *coordinator = dialog->client->coordinator;
    dialog->thought_ns += lengths_ns[at];
    sched_sleep(dialog->client->co, &coordinator->worker->sched, &coordinator->task, lengths_ns[at]);
}

static bool once_in(struct dialog *dialog, uint32_t count) { return prng_below(&dialog->prng, count) == 0; }

static void complain(struct dialog *dialog, const struct cells_access *access, uint32_t cell, const char *what)
{
    sim_load_complain(&dialog->cells->load, "transaction %u, interactive: table %s, key %u, cell %u: %s",
                      dialog->writer - 1, dialog->cells->tables[access->table].name, access->key, cell, what);
}

/*
 * What does not agree with itself: at once; of a procedure, which is told what never was, if it commits.
 */
static void contradicted(struct dialog *dialog, const char *what)
{
    if (dialog->procedure)
        snprintf(dialog->complaint, sizeof dialog->complaint, "%s", what);
    else
        sim_load_complain(&dialog->cells->load, "transaction %u, interactive: %s", dialog->writer - 1, what);
}

/* ---- rows, by the client's own struct: the key, and the cells behind it (sim_cells.h) ---- */

static const struct cells_table *row_begin(const struct dialog *dialog, const struct cells_access *access, uint8_t *row)
{
    const uint64_t key = sim_cells_key(access->key);
    memcpy(row, &key, sizeof key);
    return &dialog->cells->tables[access->table];
}

static int get(struct dialog *dialog, const struct cells_access *access, uint32_t cell, uint8_t *value)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_begin(dialog, access, row);
    const uint64_t lock = dialog->locks && once_in(dialog, 4) ? CELLAR_COL(cell + 1) : 0;
    int code = (cellar_get)(dialog->txn, table->table, CELLAR_COL(cell + 1), lock, row, table->client_bytes);
    if (code == 0) memcpy(value, row + table->offsets[cell], table->columns[cell].bytes);
    return code;
}

static int row_put(struct dialog *dialog, const struct cells_access *access, uint32_t cell, const uint8_t *value)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_begin(dialog, access, row);
    memcpy(row + table->offsets[cell], value, table->columns[cell].bytes);
    return (cellar_put)(dialog->txn, table->table, CELLAR_COL(cell + 1), row, table->client_bytes);
}

/* All of it, from an engine's row. */
static const struct cells_table *row_of(const struct dialog *dialog, const struct cells_access *access,
                                        const uint8_t *from, uint8_t *row)
{
    const struct cells_table *table = row_begin(dialog, access, row);
    for (uint32_t cell = 0; cell < table->cells; cell++)
        memcpy(row + table->offsets[cell], from + table->columns[cell].offset, table->columns[cell].bytes);
    return table;
}

/* It is made where there is none. */
static int row_put_all(struct dialog *dialog, const struct cells_access *access, const uint8_t *from)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_of(dialog, access, from, row);
    return (cellar_put)(dialog->txn, table->table, CELLAR_ALL, row, table->client_bytes);
}

static int row_insert(struct dialog *dialog, const struct cells_access *access, const uint8_t *from)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_of(dialog, access, from, row);
    return (cellar_insert)(dialog->txn, table->table, row, table->client_bytes);
}

/* Whether there is such a row, or not. */
static int row_delete(struct dialog *dialog, const struct cells_access *access)
{
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    const struct cells_table *table = row_begin(dialog, access, row);
    return (cellar_delete)(dialog->txn, table->table, row, table->client_bytes);
}

/* ---- reading ---- */

/* What it has been shown it is shown again. */
static int look_again(struct dialog *dialog, const struct cells_access *access, uint32_t cell, const uint8_t *value)
{
    uint8_t again[SIM_CELLS_VALUE_BYTES_MAX];
    int code = get(dialog, access, cell, again);
    if (code == CELLAR_NOT_FOUND)
        complain(dialog, access, cell, "it has read a record that it does not find again");
    else if (code == 0 && memcmp(again, value, dialog->cells->tables[access->table].columns[cell].bytes) != 0)
        complain(dialog, access, cell, "it does not read the same twice");
    return code;
}

/* Savepoints take back what is behind them: bytes that no client may ever see. */
static int change_mind(struct dialog *dialog, const struct cells_access *access, uint32_t cell, const uint8_t *value)
{
    uint8_t never[SIM_CELLS_ROW_BYTES_MAX];
    int savepoint = cellar_savepoint(dialog->txn), code;
    if (savepoint < 0) return savepoint;
    memset(never, 0xee, sizeof never);
    if (once_in(dialog, 3))
        code = row_delete(dialog, access);
    else if (once_in(dialog, 3))
        code = row_put_all(dialog, access, never);
    else
        code = row_put(dialog, access, cell, never);
    if (code) return code;
    think(dialog);
    code = cellar_rollback_to(dialog->txn, savepoint);
    return code ? code : look_again(dialog, access, cell, value);
}

static int take_cell(struct dialog *dialog, const struct cells_access *access, uint32_t cell)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    uint64_t id;
    int code = get(dialog, access, cell, value);
    dialog->found = code == 0;
    if (code) return code;
    memcpy(&id, value, sizeof id);
    dialog->digest = sim_cells_mix(dialog->digest, id);
    if (!sim_cells_value_sound(value, table->columns[cell].bytes, access->table, access->key, cell))
        snprintf(dialog->complaint, sizeof dialog->complaint,
                 "table %s, key %u, cell %u: a value that no client wrote so, beginning with %#llx", table->name,
                 access->key, cell, (unsigned long long)id);
    if (once_in(dialog, 8)) think(dialog);
    if (once_in(dialog, 8)) code = look_again(dialog, access, cell, value);
    if (code == 0 && once_in(dialog, 12)) code = change_mind(dialog, access, cell, value);
    return code;
}

/* That a record is there is seen by a cell of it. */
static int take(struct dialog *dialog, const struct cells_access *access)
{
    cellar_cells cells = access->read ? access->read : access->kind == CELLS_READ ? 1 : 0;
    int code = 0;
    for (; cells && code == 0; cells &= cells - 1) code = take_cell(dialog, access, (uint32_t)__builtin_ctz(cells));
    return code;
}

/* What it was shown of many rows it is shown again, and what was not there is not. */
static int many_again(struct dialog *dialog, const struct cells_access *access, const struct cellar_read *read)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint32_t cell = (uint32_t)__builtin_ctz(access->read);
    uint8_t again[SIM_CELLS_VALUE_BYTES_MAX];
    if (read->code == 0) return look_again(dialog, access, cell, (uint8_t *)read->row + table->offsets[cell]);
    int code = get(dialog, access, cell, again);
    if (code == 0) complain(dialog, access, cell, "it finds a record that it has not found");
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

/* All rows that it will read, at once. */
static int many_get(struct dialog *dialog)
{
    struct cellar_read reads[SIM_ACCESSES_MAX];
    const struct cells_access *accesses[SIM_ACCESSES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < dialog->todo->count; i++) {
        const struct cells_access *access = &dialog->todo->accesses[i];
        if (!access->read) continue;
        const struct cells_table *table = row_begin(dialog, access, dialog->rows[count]);
        accesses[count] = access;
        reads[count] = (struct cellar_read){.table = table->table,
                                            .row = dialog->rows[count],
                                            .row_bytes = table->client_bytes,
                                            .columns = (uint64_t)access->read << 1}; /* behind the key */
        if (dialog->locks && once_in(dialog, 4)) reads[count].lock = reads[count].columns;
        count++;
    }
    int code = cellar_get_many(dialog->txn, reads, count);
    for (uint32_t i = 0; i < count && code == 0; i++)
        if (once_in(dialog, 3)) code = many_again(dialog, accesses[i], &reads[i]);
    return code;
}

/* ---- ranges ---- */

/* What a cursor has shown of a row, cell by cell. */
static int shown_again(struct dialog *dialog, uint32_t t, uint32_t key, const uint8_t *row)
{
    const struct cells_table *table = &dialog->cells->tables[t];
    const struct cells_access access = {.table = t, .key = key};
    int code = 0;
    for (uint32_t cell = 0; cell < table->cells && code == 0; cell++) {
        const uint8_t *value = row + table->offsets[cell];
        if (!sim_cells_value_sound(value, table->columns[cell].bytes, t, key, cell))
            snprintf(dialog->complaint, sizeof dialog->complaint,
                     "table %s, key %u, cell %u: no such value, by a cursor", table->name, key, cell);
        if (once_in(dialog, 4)) code = look_again(dialog, &access, cell, value);
    }
    return code;
}

/* A key that a cursor has passed, and not shown: there is no such row; one that came since, and no commit then. */
static int passed_again(struct dialog *dialog, uint32_t t, uint32_t key)
{
    const struct cells_access access = {.table = t, .key = key};
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    int code = get(dialog, &access, 0, value);
    if (code == 0)
        snprintf(dialog->complaint, sizeof dialog->complaint, "table %s, key %u, which its cursor had left out",
                 dialog->cells->tables[t].name, key);
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

/* A scan of all of a table, and how far it has come. */
struct walk {
    uint32_t table;
    bool backward, first;
    uint64_t at; /* the last key that was shown, unless it is the first */
};

/* The next key of all that the clients have; its number. False: none is left. */
static bool key_next(const struct dialog *dialog, const struct walk *walk, uint32_t *number)
{
    bool found = false;
    for (uint32_t i = 0; i < dialog->cells->load.plan->keys; i++) {
        uint64_t key = sim_cells_key(i), best = found ? sim_cells_key(*number) : 0;
        bool behind = walk->first || (walk->backward ? key < walk->at : key > walk->at);
        if (!behind || (found && (walk->backward ? key < best : key > best))) continue;
        *number = i;
        found = true;
    }
    return found;
}

/* Keys that the cursor has left out up to that one (all: up to the end); false: it is none that comes next. */
static bool left_out(struct dialog *dialog, struct walk *walk, bool all, uint64_t key, uint32_t *number, int *code)
{
    while (*code == 0 && key_next(dialog, walk, number)) {
        if (!all && sim_cells_key(*number) == key) return true;
        if (once_in(dialog, 3)) *code = passed_again(dialog, walk->table, *number);
        walk->at = sim_cells_key(*number);
        walk->first = false;
    }
    return *code != 0;
}

/* A row is the next one that gets know of. */
static int row_again(struct dialog *dialog, struct walk *walk, const uint8_t *row)
{
    uint64_t key;
    uint32_t number;
    int code = 0;
    memcpy(&key, row, sizeof key);
    if (!left_out(dialog, walk, false, key, &number, &code))
        contradicted(dialog, "a cursor shows a key out of its order, or one that no client has");
    else if (code == 0)
        code = shown_again(dialog, walk->table, number, row);
    walk->at = key;
    walk->first = false;
    return code;
}

#define SCAN_PAGE 4

/* In pages, between which the client thinks, and changes nothing. */
static int scan(struct dialog *dialog)
{
    struct walk walk = {.table = (uint32_t)prng_below(&dialog->prng, dialog->cells->load.plan->tables), .first = true};
    const struct cells_table *table = &dialog->cells->tables[walk.table];
    uint8_t rows[SCAN_PAGE * SIM_CELLS_ROW_BYTES_MAX];
    struct cellar_cursor *cursor;
    walk.backward = once_in(dialog, 2);
    const struct cellar_scan all = {.size = sizeof all,
                                    .flags = walk.backward ? CELLAR_BACKWARD : 0,
                                    .table = table->table,
                                    .row_bytes = table->client_bytes};
    int code = cellar_cursor_open(dialog->txn, &all, &cursor), count = 0, most = 0;
    while (code == 0 && count == most) {
        most = 1 + (int)prng_below(&dialog->prng, SCAN_PAGE);
        count = (cellar_cursor_next)(cursor, (uint32_t)most, rows, table->client_bytes);
        code = count < 0 ? count : 0;
        for (int i = 0; i < count && code == 0; i++)
            code = row_again(dialog, &walk, rows + (size_t)i * table->client_bytes);
        if (once_in(dialog, 3)) break;
        if (once_in(dialog, 3)) think(dialog);
    }
    uint32_t unused;
    if (code == 0 && count < most) (void)left_out(dialog, &walk, true, 0, &unused, &code);
    cellar_cursor_close(cursor);
    return code;
}

/* ---- writing ---- */

/* A whole row, whether there is one or not. */
static int put_all(struct dialog *dialog, const struct cells_access *access)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    sim_cells_row_make(table, access->table, access->key, dialog->writer, dialog->digest, row);
    int code = row_put_all(dialog, access, row);
    if (code == 0 && once_in(dialog, 6)) code = look_again(dialog, access, 0, row + table->columns[0].offset);
    return code;
}

static int put(struct dialog *dialog, const struct cells_access *access)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t value[SIM_CELLS_VALUE_BYTES_MAX];
    int code = 0;
    if (access->write == table->all && once_in(dialog, 2)) return put_all(dialog, access);
    for (cellar_cells cells = access->write; cells && code == 0; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        sim_cells_value_make(value, table->columns[cell].bytes,
                             sim_cells_identity(dialog->writer, access->table, access->key, cell), dialog->digest);
        code = row_put(dialog, access, cell, value);
        if (code == 0 && once_in(dialog, 6)) code = look_again(dialog, access, cell, value);
    }
    return code;
}

static int insert(struct dialog *dialog, const struct cells_access *access)
{
    const struct cells_table *table = &dialog->cells->tables[access->table];
    uint8_t row[SIM_CELLS_ROW_BYTES_MAX];
    if (once_in(dialog, 3)) return put_all(dialog, access);
    sim_cells_row_make(table, access->table, access->key, dialog->writer, dialog->digest, row);
    int code = row_insert(dialog, access, row);
    if (code == 0 && once_in(dialog, 6)) code = look_again(dialog, access, 0, row + table->columns[0].offset);
    return code;
}

/* ---- a transaction ---- */

static int step(struct dialog *dialog, const struct cells_access *access)
{
    if (access->block) think(dialog);
    if (access->kind == CELLS_INSERT) return access->if_absent && dialog->found ? 0 : insert(dialog, access);
    int code = take(dialog, access);
    if (code == 0 && access->kind == CELLS_DELETE) return row_delete(dialog, access);
    return code ? code : put(dialog, access);
}

/* What a client does with a record that is not there, or is. */
static bool goes_on(const struct cells_access *access, int code)
{
    return access->optional && (code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS);
}

/* Half of the transactions. */
static int texts(struct dialog *dialog)
{
    struct sim_texts *texts = dialog->texts;
    uint32_t steps = once_in(dialog, 2) ? sim_texts_begin(texts, dialog->txn, &dialog->prng, dialog->writer) : 0;
    int code = 0;
    for (uint32_t i = 0; i < steps && code == 0; i++) {
        think(dialog);
        code = sim_texts_step(texts);
    }
    if (texts->complaint[0]) snprintf(dialog->complaint, sizeof dialog->complaint, "%s", texts->complaint);
    if (texts->contradiction[0]) contradicted(dialog, texts->contradiction);
    return code;
}

/* Two of three transactions. */
static int people(struct dialog *dialog)
{
    struct sim_people *people = dialog->people;
    uint32_t steps = once_in(dialog, 3) ? 0 : sim_people_begin(people, dialog->txn, &dialog->prng, dialog->writer);
    int code = 0;
    for (uint32_t i = 0; i < steps && code == 0; i++) {
        if (once_in(dialog, 3)) think(dialog);
        code = sim_people_step(people);
    }
    if (steps && people->complaint[0]) snprintf(dialog->complaint, sizeof dialog->complaint, "%s", people->complaint);
    if (steps && people->contradiction[0]) contradicted(dialog, people->contradiction);
    return code;
}

static int play(struct dialog *dialog)
{
    const struct cells_txn *todo = dialog->todo;
    int code = once_in(dialog, 3) ? many_get(dialog) : 0;
    if (code == 0 && dialog->cells->load.plan->ordered && once_in(dialog, 3)) code = scan(dialog);
    for (uint32_t i = 0; i < todo->count && code == 0; i++) {
        code = step(dialog, &todo->accesses[i]);
        if (goes_on(&todo->accesses[i], code)) code = 0;
        if (code == 0 && once_in(dialog, 24)) code = cellar_check(dialog->txn);
    }
    if (code == 0 && dialog->texts) code = texts(dialog);
    if (code == 0 && dialog->people) code = people(dialog);
    think(dialog);
    return code == 0 && todo->user_abort ? ERR_GIVEN_UP : code;
}

/* An end that a client tells of rests on what it has read, which is to have been true at one moment. */
static int told(struct dialog *dialog, int code, struct cellar_result *result)
{
    int rc = code == CELLAR_NOT_FOUND || code == CELLAR_EXISTS || code == ERR_GIVEN_UP ? cellar_check(dialog->txn) : 0;
    (void)session_abort(dialog->txn);
    return result->code = rc ? rc : code;
}

/* It goes away in the midst of it, and the next one takes its place. What it has locked is given back. */
static int leave(struct dialog *dialog)
{
    hold_end(dialog->session);
    session_close_inside(dialog->session);
    return ERR_GIVEN_UP;
}

/* The coordinator behind its own, if that has no client; NULL: reads lock nothing. */
static struct coordinator *lender(const struct dialog *dialog)
{
    const struct sim_plan *plan = dialog->cells->load.plan;
    struct coordinator *own = dialog->client->coordinator;
    uint32_t next = (own->index + 1) % plan->coros;
    return next && sim_plan_lends(plan, own->index + 1) ? own + 1 : NULL;
}

/* Some have a bound that passes while they think. */
static uint64_t lock_ns(struct dialog *dialog)
{
    static const uint64_t bounds_ns[] = {0, 0, 1000000, 20000};
    return bounds_ns[prng_below(&dialog->prng, sizeof bounds_ns / sizeof *bounds_ns)];
}

static void begin(struct dialog *dialog, bool procedure, bool locks)
{
    const struct sim_plan *plan = dialog->cells->load.plan;
    dialog->digest = dialog->complaint[0] = 0;
    dialog->found = false;
    dialog->procedure = procedure;
    dialog->locks = locks;
    if (dialog->people) dialog->people->locks = locks;
    if (dialog->texts) dialog->texts->ring_only = procedure || mode_of(plan->cc)->undo || plan->holds;
}

static int procedure(struct cellar_txn *txn, void *arg)
{
    struct dialog *dialog = arg;
    begin(dialog, true, true);
    dialog->txn = txn;
    int code = play(dialog);
    return code == ERR_GIVEN_UP ? GIVEN_UP : code;
}

static int procedure_once(struct dialog *dialog, uint64_t left_ns, struct cellar_result *result)
{
    const struct cellar_proc proc = {
        .def = {.fn = procedure, .records_max = CELLAR_TXN_RECORDS_MAX, .writes_max = CELLAR_TXN_RECORDS_MAX},
        .log_bytes = (uint32_t)(dialog->cells->load.plan->log_bytes / 2)};
    const struct cellar_call_options options = {.timeout_ns = left_ns, .attempts_max = PROCEDURE_ATTEMPTS};
    struct cellar_lab_client *client = dialog->client;
    int code = coordinator_exec(client->co, client->coordinator, &proc, dialog, &options, 0, result);
    return result->code = code == GIVEN_UP ? ERR_GIVEN_UP : code;
}

static int session_once(struct dialog *dialog, uint64_t left_ns, struct cellar_result *result)
{
    const struct session_options options = {.timeout_ns = left_ns, .lock_ns = lock_ns(dialog)};
    bool leaves = once_in(dialog, 16);
    int code = session_state(dialog->session) ? 0 : session_open_inside(dialog->client, dialog->session);
    dialog->session->holder = lender(dialog);
    begin(dialog, false, dialog->session->holder);
    if (code == 0) code = session_begin(dialog->session, &options, &dialog->txn);
    if (code) return result->code = code;
    code = play(dialog);
    if (leaves) return result->code = leave(dialog);
    return code ? told(dialog, code, result) : session_commit(dialog->txn, result);
}

/* One transaction of three by a procedure. */
static int try_once(struct dialog *dialog, uint64_t left_ns, struct cellar_result *result)
{
    return once_in(dialog, 3) ? procedure_once(dialog, left_ns, result) : session_once(dialog, left_ns, result);
}

static uint64_t gone_ns(const struct dialog *dialog, uint64_t begin_ns)
{
    return fabric_now_ns(dialog->client->coordinator->worker->ep) - begin_ns;
}

int sim_sessions_next(struct cells *cells, struct cellar_lab_client *client, uint32_t index,
                      const struct cellar_call_options *options, struct cellar_result *result)
{
    const struct sim_plan *plan = cells->load.plan;
    uint32_t number = cellar_lab_index(client), tries = 0;
    uint64_t begin_ns = fabric_now_ns(client->coordinator->worker->ep), left_ns = options->timeout_ns;
    struct cells_txn todo;
    struct dialog dialog = {.cells = cells,
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
    if (cells->people) {
        dialog.people = &cells->sessions->people[number];
        dialog.people->table = cells->people;
    }
    sim_cells_draw(cells, number, index, &todo);
    prng_seed_stream(&dialog.prng, plan->seed ^ STREAM_CLIENTS, (uint64_t)index << 32 | (number + 1));
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
