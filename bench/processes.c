#include "processes.h"

#include "db.h"
#include "db_recover.h"
#include "must.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_BYTES 512
#define POLL_NS 5000000
#define POLLS_TO_LOSE                                                                                                  \
    20 /* so many looks at one that gets no further before its memory nodes are asked whether it lives */
#define PART_BYTES 4096 /* of a client: rows that fit a record even where it keeps old versions */
#define PARTS_MAX 8

/* Of a process. */
struct row {
    uint32_t process;
    uint64_t stage;
    uint64_t run; /* process 0: when it joined, which no other run on this machine has */
    char plan[PLAN_BYTES];
};
enum { PROCESS, STAGE, RUN, PLAN };

/* Of a client, which is one row, or several where it is long. */
struct part {
    uint32_t client, part;
    uint8_t bytes[PART_BYTES];
};

/* ---- procedures ---- */

struct arrive_args {
    const struct processes *processes;
    struct row row;
};

static int join_proc(struct cellar_txn *txn, void *arg)
{
    const struct arrive_args *args = arg;
    return cellar_insert(txn, args->processes->stages, &args->row);
}

static int arrive_proc(struct cellar_txn *txn, void *arg)
{
    const struct arrive_args *args = arg;
    return cellar_put(txn, args->processes->stages, CELLAR_COL(STAGE), &args->row);
}

struct look_args {
    const struct processes *processes;
    uint32_t of;
    bool found;
    struct row row;
};

static int look_proc(struct cellar_txn *txn, void *arg)
{
    struct look_args *args = arg;
    args->row = (struct row){.process = args->of};
    int code = cellar_get(txn, args->processes->stages, CELLAR_ALL, 0, &args->row);
    args->found = code == 0;
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

static uint64_t part_bytes(const struct processes *processes, uint32_t part)
{
    uint64_t left = processes->client_bytes - (uint64_t)part * PART_BYTES;
    return left < PART_BYTES ? left : PART_BYTES;
}

struct leave_args {
    const struct processes *processes;
    const struct workload_client *client;
};

/* All parts at once, in place of what it left before. */
static int leave_proc(struct cellar_txn *txn, void *arg)
{
    const struct leave_args *args = arg;
    const struct processes *processes = args->processes;
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < processes->client_parts; i++) {
        struct part row = {.client = args->client->index, .part = i};
        memcpy(row.bytes, (const uint8_t *)args->client + (uint64_t)i * PART_BYTES, part_bytes(processes, i));
        code = cellar_put(txn, processes->clients, CELLAR_ALL, &row);
    }
    return code;
}

struct take_args {
    const struct processes *processes;
    uint32_t index;
    struct workload_client *client;
};

/* NOT_FOUND: it has left nothing. */
static int take_proc(struct cellar_txn *txn, void *arg)
{
    const struct take_args *args = arg;
    const struct processes *processes = args->processes;
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < processes->client_parts; i++) {
        struct part row = {.client = args->index, .part = i};
        code = cellar_get(txn, processes->clients, CELLAR_ALL, 0, &row);
        if (code == 0) memcpy((uint8_t *)args->client + (uint64_t)i * PART_BYTES, row.bytes, part_bytes(processes, i));
    }
    return code;
}

static int failed(int code, struct cellar_error *error, const char *what)
{
    if (code == 0) return 0;
    return err_set(error, code, "%s: %s", what, cellar_strerror(code));
}

/* ---- opening ---- */

/* What all processes must have been given alike, its workload's options last. False: it does not fit. */
static bool plan_write(const struct settings *settings, char plan[PLAN_BYTES])
{
    const struct workload *workload = settings->workload;
    const struct engine_config *db = &settings->db;
    char values[PLAN_BYTES];
    options_values(workload->options, workload->option_count, &settings->room, values, sizeof values);
    memset(plan, 0, PLAN_BYTES);
    int bytes =
        snprintf(plan, PLAN_BYTES, "%s %u %s %u %u %u %u %g %" PRIu64 " %g %" PRIu64 " %d %d %s%s", workload->name,
                 settings->processes, settings->cc, db->cns, db->threads, db->coros, db->replicas, settings->seconds,
                 settings->txns, settings->warmup_s, db->seed, settings->history != NULL, settings->survive,
                 settings->lease_text ? settings->lease_text : "", values);
    return bytes < PLAN_BYTES; /* values that were cut are as long as that alone */
}

int processes_accept(const struct settings *settings, struct cellar_error *error)
{
    char plan[PLAN_BYTES];
    if (settings->processes < 2 || plan_write(settings, plan)) return 0;
    return err_set(error, CELLAR_TOO_LARGE,
                   "--process: the options of %s take more than %d bytes, and could not be compared with the others'",
                   settings->workload->name, PLAN_BYTES - 1);
}

static int stages_open(struct processes *processes, struct cellar_error *error)
{
    static const struct cellar_column columns[] = {[PROCESS] = {CELLAR_FIELD(struct row, process), .flags = CELLAR_KEY},
                                                   [STAGE] = {CELLAR_FIELD(struct row, stage)},
                                                   [RUN] = {CELLAR_FIELD(struct row, run)},
                                                   [PLAN] = {CELLAR_FIELD(struct row, plan)}};
    const struct cellar_table_def *def =
        CELLAR_TABLE(struct row, columns, .name = "bench_processes", .rows = processes->count);
    return err_last(error, cellar_table_open(processes->db, def, 0, &processes->stages));
}

static int clients_open(struct processes *processes, uint32_t clients, struct cellar_error *error)
{
    struct cellar_column columns[] = {{CELLAR_FIELD(struct part, client), .flags = CELLAR_KEY},
                                      {CELLAR_FIELD(struct part, part), .flags = CELLAR_KEY},
                                      {CELLAR_FIELD(struct part, bytes)}};
    columns[2].bytes = (uint32_t)part_bytes(processes, 0);
    const struct cellar_table_def *def = CELLAR_TABLE(struct part, columns, .name = "bench_clients",
                                                      .rows = (uint64_t)clients * processes->client_parts);
    return err_last(error, cellar_table_open(processes->db, def, 0, &processes->clients));
}

static int procs_register(struct processes *processes, struct cellar_error *error)
{
    const uint32_t parts = processes->client_parts;
    const struct {
        struct cellar_proc_def def;
        const struct cellar_proc **proc;
    } procs[] = {
        {{.name = "bench.join", .fn = join_proc, .records_max = 1, .writes_max = 1}, &processes->join},
        {{.name = "bench.arrive", .fn = arrive_proc, .records_max = 1, .writes_max = 1}, &processes->arrive},
        {{.name = "bench.look", .fn = look_proc, .records_max = 1}, &processes->look},
        {{.name = "bench.leave", .fn = leave_proc, .records_max = parts, .writes_max = parts}, &processes->leave},
        {{.name = "bench.take", .fn = take_proc, .records_max = parts}, &processes->take},
    };
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < sizeof(procs) / sizeof(procs[0]); i++)
        code = err_last(error, cellar_proc_register(processes->db, &procs[i].def, procs[i].proc));
    return code;
}

static int look(struct processes *processes, uint32_t of, struct look_args *args, struct cellar_error *error)
{
    *args = (struct look_args){.processes = processes, .of = of};
    return failed(cellar_proc_run(processes->db, processes->look, args, &processes->options, NULL), error,
                  "looking for the other processes");
}

static int join(struct processes *processes, const struct settings *settings, struct cellar_error *error)
{
    struct arrive_args args = {
        .processes = processes,
        .row = {.process = processes->index, .stage = PROCESSES_OPEN, .run = processes->watch->now_ns()}};
    bool fits = plan_write(settings, args.row.plan);
    must(fits); /* processes_accept */
    for (uint32_t i = 0; i < processes->count; i++) {
        struct look_args other;
        int code = look(processes, i, &other, error);
        if (code < 0) return code;
        if (other.found && memcmp(other.row.plan, args.row.plan, PLAN_BYTES) != 0)
            return err_set(error, CELLAR_MISMATCH,
                           "process %u of %u was given other options than this one; only --process may differ", i,
                           processes->count);
    }
    int code = cellar_proc_run(processes->db, processes->join, &args, &processes->options, NULL);
    if (code == CELLAR_EXISTS)
        return err_set(error, CELLAR_EXISTS,
                       "process %u of %u has been here already: %s holds an earlier run; a run needs fresh memory",
                       processes->index, processes->count, settings->db.memnodes);
    processes->joined = code == 0;
    return failed(code, error, "joining the other processes");
}

int processes_open(struct processes *processes, struct cellar *db, struct watch *watch, const struct settings *settings,
                   struct cellar_error *error)
{
    *processes = (struct processes){.db = db,
                                    .watch = watch,
                                    .index = settings->process,
                                    .count = settings->processes,
                                    .survive = settings->survive,
                                    .cns = settings->db.cns,
                                    .options = {.timeout_ns = settings_patience_ns(settings)},
                                    .client_bytes = (settings->workload->client_bytes + 7) / 8 * 8};
    processes->client_parts = (uint32_t)((processes->client_bytes + PART_BYTES - 1) / PART_BYTES);
    must(processes->client_parts <= PARTS_MAX);
    int code = stages_open(processes, error);
    if (code == 0) code = clients_open(processes, (uint32_t)settings_coordinators(settings) * processes->count, error);
    if (code == 0) code = procs_register(processes, error);
    return code == 0 ? join(processes, settings, error) : code;
}

/* ---- stages ---- */

int processes_arrive(struct processes *processes, enum processes_stage stage, struct cellar_error *error)
{
    struct arrive_args args = {.processes = processes, .row = {.process = processes->index, .stage = (uint64_t)stage}};
    return failed(cellar_proc_run(processes->db, processes->arrive, &args, &processes->options, NULL), error,
                  "telling the other processes");
}

int processes_run(struct processes *processes, uint64_t *run, struct cellar_error *error)
{
    struct look_args first;
    int code = look(processes, 0, &first, error);
    *run = code == 0 && first.found ? first.row.run : 0;
    return code;
}

struct waiting {
    uint32_t of, count; /* of: the one waited for; atomically */
};

static void draw_waiting(void *arg, double elapsed_s, char *line, size_t bytes)
{
    struct waiting *waiting = arg;
    snprintf(line, bytes, "  waiting for process %u of %u for %.0f s", __atomic_load_n(&waiting->of, __ATOMIC_RELAXED),
             waiting->count, elapsed_s);
}

/* Has its process died? Then what it left is recovered, by whomever. */
static bool dead(struct processes *processes, uint32_t of, bool working, bool known)
{
    bool dead = true, done, any = known;
    for (uint32_t i = 0; i < processes->cns; i++) {
        uint32_t cn = of * processes->cns + i;
        if (working) db_watch(processes->db, cn); /* it may be there, and stand still for ever */
        dead = db_recover_dead(processes->db, cn, &done, NULL) == 0 && dead;
        any |= done;
    }
    return dead && any;
}

/*
 * One that is waited for in vain, and will be for ever. A process that ends in order is DONE before it leaves, which
 * is looked at once more. One that has not told its stage yet, and that left nothing, was refused or has yet to be
 * started.
 */
static bool lose(struct processes *processes, uint32_t of, bool working, struct look_args *args)
{
    if (!dead(processes, of, working, args->found) || look(processes, of, args, NULL) < 0) return false;
    if (!processes->lost[of]) processes->cut_off[of] = args->row.stage < PROCESSES_DONE;
    processes->lost[of] = true;
    return true;
}

uint32_t processes_judge(const struct processes *processes)
{
    uint32_t judge = 0;
    while (judge < processes->index && processes->lost[judge]) judge++;
    return judge;
}

static int gone(const struct processes *processes, uint32_t of, struct cellar_error *error)
{
    return err_set(error, CELLAR_CANCELLED, "process %u of %u ended with an error; see its message", of,
                   processes->count);
}

/* No other process can take its place: what it has told the others of itself stays in the pool. */
static int died(const struct processes *processes, uint32_t of, enum processes_stage stage, struct cellar_error *error)
{
    return err_set(error, CELLAR_CANCELLED, "process %u of %u died%s; start all %u again, on fresh memory nodes", of,
                   processes->count, stage <= PROCESSES_READY ? " before all were ready" : "", processes->count);
}

/* It stands in the way of the stage, and lives or not: *over when it is not waited for any longer. */
static int ask_after(struct processes *processes, uint32_t of, enum processes_stage stage, struct look_args *args,
                     bool *over, struct cellar_error *error)
{
    /* While it runs transactions it shows signs of life, but a load or a check may take longer than a lease. */
    *over = lose(processes, of, stage == PROCESSES_DONE, args) && args->row.stage < stage;
    bool survived = processes->survive && stage >= PROCESSES_DONE;
    return *over && !survived ? died(processes, of, stage, error) : 0;
}

/* While one is waited for that has yet to come, another may end. */
static int others_gone(struct processes *processes, struct cellar_error *error)
{
    int code = 0;
    for (uint32_t i = 0; i < processes->count && code == 0; i++) {
        struct look_args args;
        code = look(processes, i, &args, error);
        if (code == 0 && args.row.stage == PROCESSES_GONE) code = gone(processes, i, error);
    }
    return code;
}

/*
 * Until that one has reached the stage, or, if it is asked after, is found dead. A process that is not there has yet
 * to be started.
 */
static int await_one(struct processes *processes, uint32_t of, enum processes_stage stage, bool interruptible,
                     uint64_t end_ns, enum processes_stage *reached, struct cellar_error *error)
{
    bool asks = processes->survive || end_ns == 0, over = false; /* else there is a time to keep */
    for (uint32_t polls = 1;; polls++) {
        struct look_args args;
        int code = look(processes, of, &args, error);
        bool asked = code == 0 && asks && args.row.stage < stage && polls % POLLS_TO_LOSE == 0;
        if (asked) code = ask_after(processes, of, stage, &args, &over, error);
        if (asked && code == 0 && !args.found) code = others_gone(processes, error);
        if (code < 0) return code;
        if (args.row.stage == PROCESSES_GONE) return gone(processes, of, error);
        *reached = (enum processes_stage)args.row.stage;
        if (over || *reached >= stage) return 0;
        if (interruptible && __atomic_load_n(&processes->watch->stop, __ATOMIC_RELAXED))
            return err_set(error, CELLAR_CANCELLED, "interrupted while waiting for process %u of %u", of,
                           processes->count);
        if (end_ns && processes->watch->now_ns() > end_ns)
            return err_set(error, CELLAR_DEADLINE, "process %u of %u is overdue; it must have died", of,
                           processes->count);
        processes->watch->pause(POLL_NS);
    }
}

int processes_await(struct processes *processes, uint32_t first, uint32_t count, enum processes_stage stage,
                    bool interruptible, uint64_t patience_ns, enum processes_stage *reached, struct cellar_error *error)
{
    struct watch *watch = processes->watch;
    struct waiting waiting = {first, processes->count};
    enum processes_stage stage_met = PROCESSES_NONE;
    uint64_t end_ns = patience_ns ? watch->now_ns() + patience_ns : 0;
    int code = 0;
    watch->begin(watch, &(struct watch_phase){.interruptible = interruptible, .draw = draw_waiting, .arg = &waiting});
    for (uint32_t of = first; code == 0 && of < first + count; of++) {
        __atomic_store_n(&waiting.of, of, __ATOMIC_RELAXED);
        code = await_one(processes, of, stage, interruptible, end_ns, &stage_met, error);
        if (reached && of == first) *reached = stage_met;
    }
    watch->end(watch);
    return code;
}

/* ---- clients ---- */

int processes_leave_one(void *arg, struct cellar_lab_client *self, const struct workload_client *client)
{
    struct processes *processes = arg;
    struct leave_args args = {processes, client};
    struct cellar_result result;
    return cellar_lab_exec(self, processes->leave, &args, &processes->options, &result);
}

int processes_leave_clients(struct processes *processes, struct workload_client *const *clients, uint32_t count,
                            struct cellar_error *error)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        struct leave_args args = {processes, clients[i]};
        code = cellar_proc_run(processes->db, processes->leave, &args, &processes->options, NULL);
    }
    return failed(code, error, "leaving the counters of this process");
}

/* A client of another process: as it was left, or with nothing. */
static int take_one(struct processes *processes, struct cellar_lab_client *self, uint32_t index, bool cut_off,
                    struct workload_client **client)
{
    *client = calloc(1, processes->client_bytes);
    if (!*client) return CELLAR_NOMEM;
    struct take_args args = {processes, index, *client};
    int code = cellar_lab_exec(self, processes->take, &args, &processes->options, NULL);
    (*client)->lost = cut_off;
    return code == CELLAR_NOT_FOUND ? 0 : code;
}

int processes_take_clients(struct processes *processes, struct cellar_lab_client *self,
                           struct workload_client *const *clients, uint32_t count, struct workload_client ***all,
                           struct cellar_error *error)
{
    uint32_t first = processes->index * count;
    int code = 0;
    *all = calloc((size_t)count * processes->count, sizeof(**all));
    if (!*all) return failed(CELLAR_NOMEM, error, "the counters of all processes");
    memcpy(*all + first, clients, count * sizeof(clients[0]));
    for (uint32_t i = 0; code == 0 && i < count * processes->count; i++)
        if (i - first >= count) code = take_one(processes, self, i, processes->cut_off[i / count], &(*all)[i]);
    return failed(code, error, "reading the counters of the other processes");
}

void processes_free_clients(const struct processes *processes, struct workload_client **all, uint32_t count)
{
    for (uint32_t i = 0; all && i < count * processes->count; i++)
        if (i - processes->index * count >= count) free(all[i]);
    free(all);
}
