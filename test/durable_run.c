#include "durable_run.h"

#include "bulk.h"
#include "db_open.h"
#include "db_schema.h"
#include "durable.h"
#include "mode.h"
#include "numbered.h"
#include "prng.h"
#include "session.h"

#include <stdio.h>
#include <string.h>

#define CLIENTS DURABLE_RUN_CLIENTS
#define ACCOUNTS 40
#define KEPT 30
#define CENTS 1000
#define LIVES_MAX 400
#define PARTS DURABLE_RUN_PARTS
#define PART_ROWS(part) ((part) ? 450u : 160u) /* more than half a ring; with the other one more than a log's file */
#define PART_EVERY(part) (16ull << (part))     /* so many-th transaction of the first client sets all of them */

struct row {
    int64_t value;
    uint64_t life;
    uint8_t more[112]; /* with them a cell on lines of its own */
};
enum { VALUE, LIFE, MORE };

struct step {
    struct durable_run *run;
    uint64_t client, number, life, from, to;
};

static uint64_t history_key(uint64_t client, uint64_t number) { return client << 40 | number; }
static uint64_t many_key(uint64_t part, uint64_t i) { return part << 32 | i; }
static uint64_t loaded_key(uint64_t life, uint64_t client) { return life * CLIENTS + client; }

static void row_fill(struct row *row, int64_t value, uint64_t life)
{
    row->value = value;
    row->life = life;
    memset(row->more, (int)(value % 251), sizeof row->more);
}

static bool row_whole(const struct row *row)
{
    struct row other;
    row_fill(&other, row->value, row->life);
    return memcmp(row, &other, sizeof other) == 0;
}

/* ---- procedures ---- */

static int work_fn(struct cellar_txn *txn, void *args)
{
    const struct step *step = args;
    const struct durable_run *run = step->run;
    struct row row, from, to;
    row_fill(&row, (int64_t)step->number, step->life);
    int counter = cellar_proc_access(txn, run->counters, step->client, 0, CELLAR_ALL_CELLS, 0);
    int mine = cellar_proc_access(txn, run->loaded, loaded_key(step->life, step->client), 0, CELLAR_ALL_CELLS, 0);
    int a = cellar_proc_access(txn, run->accounts, step->from, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    int b = cellar_proc_access(txn, run->accounts, step->to, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    int rc = cellar_proc_insert(txn, run->history, history_key(step->client, step->number), &row);
    if (rc >= 0 && step->number > KEPT)
        rc = cellar_proc_access(txn, run->history, history_key(step->client, step->number - KEPT), CELLAR_ALL_CELLS, 0,
                                CELLAR_DELETE);
    if (rc < 0) return rc;
    if ((rc = cellar_proc_fetch(txn)) || (rc = cellar_proc_put_row(txn, counter, &row)) ||
        (rc = cellar_proc_put_row(txn, mine, &row)) || (rc = cellar_proc_get_row(txn, a, &from)) ||
        (rc = cellar_proc_get_row(txn, b, &to)))
        return rc;
    row_fill(&from, from.value - 1, 0);
    row_fill(&to, to.value + 1, 0);
    return (rc = cellar_proc_put_row(txn, a, &from)) ? rc : cellar_proc_put_row(txn, b, &to);
}

static int look_fn(struct cellar_txn *txn, void *args)
{
    struct step *step = args;
    struct row row;
    int a = cellar_proc_access(txn, step->run->counters, step->client, CELLAR_ALL_CELLS, 0, 0);
    int rc = a < 0 ? a : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get_row(txn, a, &row);
    if (rc == 0) step->number = (uint64_t)row.value;
    return rc;
}

/* ---- the pool ---- */

int durable_run_open(struct durable_run *run, const char *folder, enum cellar_lab_cc cc)
{
    struct engine_config config = {.durable = folder,
                                   .cc = cc,
                                   .mns = run->mns,
                                   .replicas = run->replicas,
                                   .threads = 2,
                                   .coros = CLIENTS / 2,
                                   .log_bytes = 64u << 10,
                                   .pool_bytes = 32u << 20,
                                   .durable_bytes = 64u << 20};
    int rc = db_open(&config, &run->db, &run->error);
    return rc ? rc : durable_run_tables(run);
}

static int table_make(struct durable_run *run, const char *name, uint64_t records, const struct cellar_table **table)
{
    static const struct cellar_schema_column columns[] = {
        CELLAR_COLUMN(struct row, value), CELLAR_COLUMN(struct row, life), CELLAR_COLUMN(struct row, more)};
    struct cellar_schema schema = {
        .name = name, .row_bytes = sizeof(struct row), .columns = columns, .column_count = 3, .records_max = records};
    return db_table_create(run->db, &schema, table, &run->error);
}

int durable_run_tables(struct durable_run *run)
{
    struct cellar_proc_def work = {.name = "work", .fn = work_fn, .records_max = 6, .writes_max = 6};
    struct cellar_proc_def look = {.name = "look", .fn = look_fn, .records_max = 1};
    int rc = table_make(run, "accounts", ACCOUNTS, &run->accounts);
    if (rc == 0) rc = table_make(run, "counters", CLIENTS, &run->counters);
    if (rc == 0) rc = table_make(run, "history", CLIENTS * (KEPT + 2), &run->history);
    if (rc == 0) rc = table_make(run, "loaded", CLIENTS * LIVES_MAX, &run->loaded);
    if (rc == 0) rc = table_make(run, "many", PART_ROWS(0) + PART_ROWS(1), &run->many);
    if (rc == 0) rc = db_proc_register(run->db, &work, &run->work, &run->error);
    return rc ? rc : db_proc_register(run->db, &look, &run->look, &run->error);
}

static int rows_load(struct cellar_lab_client *client, void *arg)
{
    struct durable_run *run = arg;
    struct row row;
    int rc = 0;
    if (cellar_lab_index(client)) return 0;
    row_fill(&row, CENTS, 0);
    for (uint64_t i = 0; i < ACCOUNTS && rc == 0 && !run->found; i++)
        rc = db_load(client, run->accounts, i, &row, &run->error);
    row_fill(&row, 0, 0);
    for (uint64_t i = 0; i < CLIENTS && rc == 0 && !run->found; i++)
        rc = db_load(client, run->counters, i, &row, &run->error);
    for (uint64_t i = 0; i < CLIENTS && rc == 0; i++)
        rc = db_load(client, run->loaded, loaded_key(run->witness->life, i), &row, &run->error);
    return rc;
}

int durable_run_load(struct durable_run *run)
{
    run->witness->life++;
    return cellar_lab_run(run->db, rows_load, run);
}

/* ---- work ---- */

/* The next transaction of its client. */
static void step_go_on(struct step *step, struct prng *prng)
{
    step->number++;
    step->from = prng_below(prng, ACCOUNTS);
    step->to = (step->from + 1 + prng_below(prng, ACCOUNTS - 1)) % ACCOUNTS;
    step->run->witness->begun[step->client] = step->number;
}

/* It was told. */
static void step_ended(const struct step *step, uint64_t epoch)
{
    step->run->ended[step->client].number = step->number;
    step->run->ended[step->client].epoch = epoch;
}

static void shown(struct durable_run_witness *witness, uint64_t client, uint64_t number)
{
    if (number > witness->shown[client]) witness->shown[client] = number;
}

static int look(struct cellar_lab_client *client, struct durable_run *run, struct prng *prng)
{
    struct step other = {.run = run, .client = prng_below(prng, CLIENTS - 1)};
    int rc = cellar_lab_exec(client, run->look, &other, NULL, NULL);
    if (rc == 0) shown(run->witness, other.client, other.number);
    return rc;
}

/* An interactive transaction of up to three reads. It tells nothing before it has committed. */
static int look_by_calls(struct session *session, struct durable_run *run, struct prng *prng)
{
    uint64_t clients[3], count = 1 + prng_below(prng, 3);
    int64_t values[3];
    struct cellar_txn *txn;
    int rc = session_begin(session, NULL, &txn), ended;
    if (rc) return rc;
    for (uint64_t i = 0; i < count && rc == 0; i++) {
        clients[i] = prng_below(prng, CLIENTS - 1);
        rc = cellar_txn_get(txn, run->counters, clients[i], VALUE, &values[i]);
    }
    ended = rc ? session_abort(txn) : session_commit(txn, NULL);
    for (uint64_t i = 0; i < count && rc == 0 && ended == 0; i++) shown(run->witness, clients[i], (uint64_t)values[i]);
    rc = rc ? rc : ended;
    return rc == CELLAR_RETRY ? 0 : rc;
}

static int reader(struct cellar_lab_client *client, struct durable_run *run, struct session *session, struct prng *prng)
{
    bool by_calls = !mode_of(run->db->config.cc)->locks && prng_below(prng, 2);
    return by_calls ? look_by_calls(session, run, prng) : look(client, run, prng);
}

/* ---- long entries ---- */

/* Has it transactions of many rows? */
static bool has_many(const struct durable_run *run) { return !run->queued && !mode_of(run->db->config.cc)->locks; }

static bool sets_many(const struct step *step)
{
    return step->client == 0 && step->number % PART_EVERY(0) == 0 && has_many(step->run);
}

/* It is about to. */
static void many_begun(struct durable_run_witness *witness, const struct step *step)
{
    for (uint64_t part = 0; part < PARTS; part++) {
        uint64_t count = witness->set_count[part];
        if (step->number % PART_EVERY(part)) continue;
        if (count == DURABLE_RUN_SETS) {
            for (uint64_t i = 1; i < count; i++) witness->sets[part][i - 1] = witness->sets[part][i];
            witness->set_count[part] = --count;
        }
        witness->sets[part][count] = step->number;
        witness->set_count[part] = count + 1;
    }
}

/* The last one that is there; 0: none is. Those behind it are lost. */
static uint64_t many_there(struct durable_run_witness *witness, uint64_t part, uint64_t number)
{
    while (witness->set_count[part] && witness->sets[part][witness->set_count[part] - 1] > number)
        witness->set_count[part]--;
    return witness->set_count[part] ? witness->sets[part][witness->set_count[part] - 1] : 0;
}

static int row_put(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key, const struct row *row)
{
    int rc = cellar_txn_put(txn, table, key, VALUE, &row->value);
    if (rc == 0) rc = cellar_txn_put(txn, table, key, LIFE, &row->life);
    return rc ? rc : cellar_txn_put(txn, table, key, MORE, row->more);
}

static int part_set(struct cellar_txn *txn, const struct step *step, uint64_t part, const struct row *row)
{
    int rc = 0;
    bool first = step->run->witness->set_count[part] == 1;
    for (uint64_t i = 0; i < PART_ROWS(part) && rc == 0; i++)
        rc = first ? cellar_txn_insert(txn, step->run->many, many_key(part, i), row)
                   : row_put(txn, step->run->many, many_key(part, i), row);
    return rc;
}

/* As work_fn, but for the accounts. */
static int many_set(struct cellar_txn *txn, const struct step *step)
{
    const struct durable_run *run = step->run;
    struct row row;
    row_fill(&row, (int64_t)step->number, step->life);
    int rc = row_put(txn, run->counters, step->client, &row);
    if (rc == 0) rc = row_put(txn, run->loaded, loaded_key(step->life, step->client), &row);
    if (rc == 0) rc = cellar_txn_insert(txn, run->history, history_key(step->client, step->number), &row);
    if (rc == 0 && step->number > KEPT)
        rc = cellar_txn_delete(txn, run->history, history_key(step->client, step->number - KEPT));
    for (uint64_t part = 0; part < PARTS && rc == 0; part++)
        if (step->number % PART_EVERY(part) == 0) rc = part_set(txn, step, part, &row);
    return rc;
}

static int work_by_calls(struct session *session, const struct step *step, enum cellar_durability level,
                         struct cellar_result *result)
{
    const struct session_options options = {.level = level};
    int rc = CELLAR_RETRY;
    many_begun(step->run->witness, step);
    while (rc == CELLAR_RETRY) {
        struct cellar_txn *txn;
        rc = session_begin(session, &options, &txn);
        if (rc) return rc;
        rc = many_set(txn, step);
        int ended = rc ? session_abort(txn) : session_commit(txn, result);
        rc = rc ? rc : ended;
    }
    return rc;
}

/* ---- clients ---- */

/* A call whose acknowledgement waits, while its client makes others. */
struct later {
    uint64_t number, epoch; /* number 0: there is none */
};

/* One call at a time is acknowledged, once it is on the disk; `waits`: the newest, which is waited for. */
static int acknowledge_later(struct cellar_lab_client *client, struct durable_run *run, struct later *later,
                             const struct later *newest, bool waits)
{
    if (!later->number) *later = *newest;
    int rc = waits ? cellar_lab_wait_durable(client, newest->epoch) : 0;
    if (rc) return rc;
    if (waits) *later = *newest;
    if (cellar_durable_epoch(run->db) < later->epoch) return 0;
    run->witness->acked[cellar_lab_index(client)] = later->number;
    later->number = 0;
    return 0;
}

/* Its own counter first: what the life before has left. */
static int client_work(struct cellar_lab_client *client, void *arg)
{
    struct durable_run *run = arg;
    struct durable_run_witness *witness = run->witness;
    struct step own = {.run = run, .client = cellar_lab_index(client), .life = witness->life};
    struct later later = {0};
    struct cellar_result result;
    struct session session = {0};
    struct prng prng;
    prng_seed_stream(&prng, witness->life, own.client);
    int rc = cellar_lab_exec(client, run->look, &own, NULL, NULL);
    bool by_calls = own.client == CLIENTS - 1 || (own.client == 0 && has_many(run));
    if (rc == 0 && by_calls) rc = session_open_inside(client, &session);
    for (uint64_t i = 0; rc == 0 && (i < run->calls || !run->calls); i++) {
        if (own.client == CLIENTS - 1) {
            rc = run->unawaited ? 0 : reader(client, run, &session, &prng);
            continue;
        }
        step_go_on(&own, &prng);
        /* Some at level memory, which others then rest on. */
        bool memory = run->unawaited || own.client % 2 || i % run->every;
        struct cellar_call_options options = {.level = memory ? CELLAR_MEMORY : CELLAR_DURABLE};
        rc = sets_many(&own) ? work_by_calls(&session, &own, options.level, &result)
                             : cellar_lab_exec(client, run->work, &own, &options, &result);
        if (rc == 0 && !memory) witness->acked[own.client] = own.number;
        if (rc == 0) step_ended(&own, result.epoch);
        struct later newest = {own.number, result.epoch};
        if (rc == 0 && own.client % 2)
            rc = acknowledge_later(client, run, &later, &newest, !run->unawaited && i % run->every == 0);
    }
    if (session.has_draft) session_close_inside(&session);
    return rc;
}

/* A client's calls of a queue. */
struct caller {
    struct step step;
    uint64_t made;
    bool memory; /* the one in flight is of that level */
};

/* 1: it has one in flight; 0: it has made all of its calls; or a code. */
static int caller_go_on(struct caller *caller, struct cellar_queue *queue, struct prng *prng)
{
    struct durable_run *run = caller->step.run;
    if (run->calls && caller->made == run->calls) return 0;
    caller->memory = run->unawaited || (caller->step.client % 2 && caller->made % run->every);
    caller->made++;
    step_go_on(&caller->step, prng);
    const struct cellar_call_options options = {.level = caller->memory ? CELLAR_MEMORY : CELLAR_DURABLE};
    int rc = cellar_proc_submit(queue, run->work, &caller->step, &options, caller);
    return rc ? rc : 1;
}

/* It has ended. */
static int caller_told(const struct caller *caller, const struct cellar_result *result)
{
    const struct step *step = &caller->step;
    if (result->code) return result->code;
    if (!caller->memory) step->run->witness->acked[step->client] = step->number;
    step_ended(step, result->epoch);
    return 0;
}

/* Until all calls have ended: the code of the first that ended badly. */
static int callers_work(struct durable_run *run, struct caller *callers, struct cellar_queue *queue)
{
    int rc = 0, in_flight = 0;
    struct cellar_completion done;
    struct prng prng;
    prng_seed_stream(&prng, run->witness->life, CLIENTS);
    for (int i = 0; i < CLIENTS - 1 && rc >= 0; i++) {
        rc = caller_go_on(&callers[i], queue, &prng);
        in_flight += rc > 0;
    }
    while (in_flight && cellar_proc_reap(queue, &done, 1, UINT64_MAX) == 1) {
        int told = caller_told(done.user, &done.result);
        if (rc >= 0 && told) rc = told;
        in_flight--;
        if (rc >= 0) rc = caller_go_on(done.user, queue, &prng);
        in_flight += rc > 0;
    }
    return rc < 0 ? rc : 0;
}

static int queue_work(struct durable_run *run)
{
    struct caller callers[CLIENTS - 1];
    struct cellar_queue *queue;
    int rc = cellar_proc_queue_open(run->db, CLIENTS, NULL, NULL, &queue);
    if (rc) return rc;
    for (uint64_t i = 0; i < CLIENTS - 1 && rc == 0; i++) {
        callers[i] = (struct caller){.step = {.run = run, .client = i, .life = run->witness->life}};
        rc = cellar_proc_run(run->db, run->look, &callers[i].step, NULL, NULL);
    }
    if (rc == 0) rc = callers_work(run, callers, queue);
    cellar_proc_queue_close(queue);
    return rc;
}

int durable_run_work(struct durable_run *run)
{
    return run->queued ? queue_work(run) : cellar_lab_run(run->db, client_work, run);
}

int durable_run_sync(struct durable_run *run)
{
    int rc = 0;
    for (int i = 0; i < CLIENTS && rc == 0; i++) {
        if (!run->ended[i].number) continue;
        rc = db_sync(run->db, run->ended[i].epoch, &run->error);
        if (rc == 0) run->witness->acked[i] = run->ended[i].number;
    }
    return rc;
}

/* ---- judging ---- */

struct sum {
    struct durable_run *run;
    int64_t cents;
    uint64_t accounts, rows[CLIENTS], low[CLIENTS], high[CLIENTS];
    struct row counters[CLIENTS];
    uint64_t many[PARTS];
    int64_t least[PARTS], most[PARTS]; /* values of these */
    uint64_t counted, matched; /* counters; of these, with a row that was loaded in their life and says the same */
    bool whole;
};

static int account_see(void *arg, uint64_t key, const void *bytes)
{
    struct sum *sum = arg;
    const struct row *row = bytes;
    (void)key;
    sum->accounts++;
    sum->cents += row->value;
    sum->whole = sum->whole && row_whole(row);
    return 0;
}

static int counter_see(void *arg, uint64_t key, const void *bytes)
{
    struct sum *sum = arg;
    sum->counted++;
    sum->counters[key % CLIENTS] = *(const struct row *)bytes;
    sum->whole = sum->whole && row_whole(bytes);
    return 0;
}

static int history_see(void *arg, uint64_t key, const void *bytes)
{
    struct sum *sum = arg;
    const struct row *row = bytes;
    uint64_t client = key >> 40, number = key & ((1ull << 40) - 1);
    sum->whole = sum->whole && row_whole(row) && row->value == (int64_t)number;
    if (!sum->rows[client]++ || number < sum->low[client]) sum->low[client] = number;
    if (number > sum->high[client]) sum->high[client] = number;
    return 0;
}

static int loaded_see(void *arg, uint64_t key, const void *bytes)
{
    struct sum *sum = arg;
    const struct row *row = bytes, *counter = &sum->counters[key % CLIENTS];
    sum->whole = sum->whole && row_whole(row);
    if (counter->value && key == loaded_key(counter->life, key % CLIENTS)) sum->matched += row->value == counter->value;
    return 0;
}

static int many_see(void *arg, uint64_t key, const void *bytes)
{
    struct sum *sum = arg;
    const struct row *row = bytes;
    uint64_t part = key >> 32;
    sum->whole = sum->whole && row_whole(row) && part < PARTS;
    if (!sum->whole) return 0;
    if (!sum->many[part]++ || row->value < sum->least[part]) sum->least[part] = row->value;
    if (row->value > sum->most[part]) sum->most[part] = row->value;
    return 0;
}

static int all_see(struct cellar_lab_client *client, void *arg)
{
    struct sum *sum = arg;
    struct durable_run *run = sum->run;
    if (cellar_lab_index(client)) return 0;
    int rc = db_audit(client, &run->error);
    if (rc == 0) rc = db_scan(client, run->accounts, account_see, sum, &run->error);
    if (rc == 0) rc = db_scan(client, run->counters, counter_see, sum, &run->error);
    if (rc == 0) rc = db_scan(client, run->history, history_see, sum, &run->error);
    if (rc == 0) rc = db_scan(client, run->loaded, loaded_see, sum, &run->error);
    return rc ? rc : db_scan(client, run->many, many_see, sum, &run->error);
}

#define WRONG(...) (snprintf(run->wrong, sizeof run->wrong, __VA_ARGS__), false)
#define TEXT(number) ((unsigned long long)(number))

static bool client_judge(struct durable_run *run, const struct sum *sum, int i)
{
    struct durable_run_witness *witness = run->witness;
    uint64_t number = (uint64_t)sum->counters[i].value, rows = sum->rows[i];
    uint64_t told = witness->acked[i] > witness->shown[i] ? witness->acked[i] : witness->shown[i];
    if (number < told) return WRONG("client %d: %llu were told, %llu are there", i, TEXT(told), TEXT(number));
    if (number > witness->begun[i])
        return WRONG("client %d: %llu are there, and %llu were begun", i, TEXT(number), TEXT(witness->begun[i]));
    bool fits = rows == (number < KEPT ? number : KEPT) &&
                (!number || (sum->high[i] == number && sum->low[i] == number - rows + 1));
    if (!fits)
        return WRONG("client %d: %llu in its counter, and %llu rows from %llu to %llu", i, TEXT(number), TEXT(rows),
                     TEXT(sum->low[i]), TEXT(sum->high[i]));
    witness->shown[i] = witness->begun[i] = number; /* what is there now never goes back, nor does more come */
    return true;
}

/* Each part is as the last transaction that sets it has left it. */
static bool many_judge(struct durable_run *run, const struct sum *sum)
{
    uint64_t number = (uint64_t)sum->counters[0].value;
    for (uint64_t part = 0; part < PARTS; part++) {
        int64_t value = (int64_t)many_there(run->witness, part, number);
        if (sum->many[part] != (value ? PART_ROWS(part) : 0) || sum->least[part] != value || sum->most[part] != value)
            return WRONG("%llu in the counter, and %llu of many rows have %lld to %lld", TEXT(number),
                         TEXT(sum->many[part]), (long long)sum->least[part], (long long)sum->most[part]);
    }
    return true;
}

bool durable_run_judge(struct durable_run *run)
{
    struct sum sum = {.run = run, .whole = true};
    uint64_t active = 0;
    int rc = cellar_lab_run(run->db, all_see, &sum);
    if (rc) return WRONG("%s", run->error.text);
    run->found = sum.accounts > 0;
    if (!sum.whole) return WRONG("a row is half one and half another");
    if (sum.accounts % ACCOUNTS || sum.counted % CLIENTS || !sum.accounts != !sum.counted)
        return WRONG("%llu accounts and %llu counters", TEXT(sum.accounts), TEXT(sum.counted));
    if (run->found && sum.cents != ACCOUNTS * CENTS) return WRONG("the sum is %lld", (long long)sum.cents);
    for (int i = 0; i < CLIENTS - 1; i++) {
        if (!client_judge(run, &sum, i)) return false;
        active += sum.counters[i].value > 0;
    }
    if (sum.matched != active)
        return WRONG("%llu of %llu clients have what was loaded", TEXT(sum.matched), TEXT(active));
    return many_judge(run, &sum);
}
