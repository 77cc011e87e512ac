/*
 * test_catalog.c - two processes meet over the catalog's entries, one operation at a time, under every schedule with
 * three switches: whatever one of them makes, drops or frees while the other one joins, all replicas of an entry say
 * the same in the end, and what is made is there (INV-STORE-8, INV-RECLAIM-2, 6).
 */
#include "coro.h"
#include "schemadef.h"
#include "fabric_sim.h"
#include "plant.h"
#include "reclaim.h"
#include "vacant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define MNS 2
#define NODE_BYTES (2u << 20)
#define STACK_BYTES (128u << 10)
#define TURNS 3
#define VERDICT_BYTES 256

struct process;
typedef int (*work_fn)(struct process *process);

struct process {
    struct fabric_ep *ep; /* in bulk mode: each operation is executed when it is posted */
    struct catalog *catalog;
    struct coro *co;
    work_fn work;
    const struct process *other;
    const struct table *more; /* NULL: it made none */
    uint32_t ops, left;       /* executed; until it stands still */
    int rc;
    struct cellar_error error;
};

struct meeting {
    struct fabric *fabric;
    struct process processes[2];
    struct process *running; /* NULL: none of the two works */
    char verdict[160];
};

static const struct cellar_schema_column columns[] = {{.name = "value", .bytes = 8}};
static const struct cellar_schema schema = {
    .name = "rows", .row_bytes = 8, .columns = columns, .column_count = 1, .records_max = 100};

/* To take the catalog's lock, which the other one holds: it would ask for it for ever. */
static bool is_in_vain(const struct meeting *meeting, const struct fabric_op *op)
{
    const uint64_t at = offsetof(struct superblock_wire, catalog_lock);
    uint64_t lock;
    memcpy(&lock, fabric_sim_bytes(meeting->fabric, 0) + at, sizeof lock);
    return op->kind == FABRIC_CAS && op->addr.bits == fabric_addr_of(0, at).bits && op->compare == 0 && lock;
}

static enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    const struct meeting *meeting = arg;
    struct process *process = meeting->running;
    (void)index, (void)ep;
    if (!process) return FABRIC_SIM_NONE;
    while (process->left == 0 || is_in_vain(meeting, op)) coro_yield(process->co);
    process->left--;
    process->ops++;
    return FABRIC_SIM_NONE;
}

/* ---- what they do ---- */

static int make(struct process *process)
{
    const struct table *table;
    return catalog_table_create(NULL, process->ep, process->catalog, &schema, &table, &process->error);
}

static int join(struct process *process)
{
    return reclaim_joined(NULL, process->ep, process->catalog, &process->error);
}

static int move(struct process *process, uint64_t from, uint64_t to)
{
    return reclaim_state_move(NULL, process->ep, process->catalog, 1, from, to, &process->error);
}

/* A drop that finds that another process has come. */
static int ask(struct process *process)
{
    int rc = move(process, LAYOUT_TABLE_WHOLE, LAYOUT_TABLE_ASKED);
    if (rc == 0) (void)!move(process, LAYOUT_TABLE_ASKED, LAYOUT_TABLE_WHOLE); /* the other one may have done it */
    return rc;
}

static int make_and_drop(struct process *process)
{
    int rc = make(process);
    if (rc == 0) rc = move(process, LAYOUT_TABLE_WHOLE, LAYOUT_TABLE_ASKED);
    if (rc == 0) rc = move(process, LAYOUT_TABLE_ASKED, LAYOUT_TABLE_GONE);
    return rc ? rc : join(process);
}

/* The other one's first operation makes it a member. */
static bool none_came(struct coro *co, void *arg)
{
    const struct process *process = arg;
    (void)co;
    return process->other->ops == 0;
}

/* It was alone when it began; the number is another table's then. */
static int free_and_make(struct process *process)
{
    const struct reclaim_company company = {none_came, process};
    int rc = reclaim_sweep(NULL, process->ep, process->catalog, &company, &process->error);
    return rc ? rc : make(process);
}

static int join_and_make_more(struct process *process)
{
    struct cellar_schema more = schema;
    more.name = "more";
    int rc = join(process);
    for (uint32_t node = 0; node < MNS; node++) /* as a look at all runs would have it */
        for (uint64_t chunk = 0; chunk < 4; chunk++) vacant_note(process->catalog, node, chunk);
    return rc ? rc : catalog_table_create(NULL, process->ep, process->catalog, &more, &process->more, &process->error);
}

static bool none_is_there(struct coro *co, void *arg)
{
    (void)co, (void)arg;
    return true;
}

/* What it knows of entries is from its opening; the other process has gone since. */
static int join_and_sweep_late(struct process *process)
{
    const struct reclaim_company company = {none_is_there, NULL};
    int rc = join(process);
    while (!coro_done(process->other->co)) coro_yield(process->co);
    return rc ? rc : reclaim_sweep(NULL, process->ep, process->catalog, &company, &process->error);
}

/* ---- a schedule ---- */

static void process_main(struct coro *co, void *arg)
{
    struct process *process = arg;
    (void)co;
    process->rc = process->work(process);
}

static void rc_is_0(const struct process *process, const char *what, int rc)
{
    if (rc) fail_msg("%s: %d: %s", what, rc, process->error.text);
}

static void enter(struct meeting *meeting, uint32_t cn, bool fresh, work_fn work)
{
    const struct catalog_shape shape = {.mn_count = MNS, .replicas = MNS - 1, .cn_count = 2, .mn_bytes = NODE_BYTES};
    struct process *process = &meeting->processes[cn];
    rc_is_0(process, "an endpoint", fabric_endpoint_open(meeting->fabric, cn, 0, &process->ep, &process->error));
    process->ep->bulk = true;
    rc_is_0(process, "opening",
            catalog_open(NULL, process->ep, &shape, fresh, true, &process->catalog, &process->error));
    process->work = work;
    process->other = &meeting->processes[1 - cn];
    process->co = coro_new(STACK_BYTES, process_main, process);
    assert_non_null(process->co);
}

static void begin(struct meeting *meeting)
{
    struct fabric_sim_config sim;
    struct cellar_error error;
    *meeting = (struct meeting){0};
    fabric_sim_config_default(&sim);
    sim.mn_count = MNS;
    sim.cn_count = 2;
    sim.mn_bytes = NODE_BYTES;
    sim.bulk_fault = watch;
    sim.fault_arg = meeting;
    assert_int_equal(fabric_sim_open(&sim, &meeting->fabric, &error), 0);
}

static void go_on(struct meeting *meeting, uint32_t i, uint32_t ops)
{
    struct process *process = &meeting->processes[i];
    if (coro_done(process->co)) return;
    process->left = ops;
    meeting->running = process;
    coro_resume(process->co);
    meeting->running = NULL;
}

static const uint8_t *entries(const struct meeting *meeting, uint32_t replica)
{
    const struct catalog *catalog = meeting->processes[0].catalog;
    struct fabric_addr at = catalog_replica(catalog, fabric_addr_of(0, LAYOUT_CATALOG_ENTRY_BYTES), replica);
    return fabric_sim_bytes(meeting->fabric, fabric_addr_node(at)) + fabric_addr_offset(at);
}

static bool buckets_are_there(struct meeting *meeting, const struct table *table)
{
    for (uint32_t node = 0; node < MNS; node++) {
        struct chunk_wire run;
        memcpy(&run, fabric_sim_bytes(meeting->fabric, node) + table->index.base[node] - sizeof run, sizeof run);
        if (run.magic == LAYOUT_CHUNK_MAGIC && run.kind == LAYOUT_RUN_BUCKETS && run.table_id == table->id) continue;
        snprintf(meeting->verdict, sizeof meeting->verdict, "buckets of table %u are in a run of kind %u, table %u",
                 table->id, run.kind, run.table_id);
        return false;
    }
    return true;
}

static bool judge(struct meeting *meeting)
{
    const uint64_t bytes = (uint64_t)LAYOUT_CATALOG_TABLES_MAX * LAYOUT_CATALOG_ENTRY_BYTES;
    const uint8_t *primary = entries(meeting, 0), *backup = entries(meeting, 1);
    const struct table *rows = catalog_table_find(meeting->processes[0].catalog, "rows");
    struct catalog_entry_wire entry;
    for (uint32_t i = 0; i < 2; i++) {
        if (!meeting->processes[i].rc) continue;
        snprintf(meeting->verdict, sizeof meeting->verdict, "process %u: %.120s", i, meeting->processes[i].error.text);
        return false;
    }
    for (uint64_t i = 0; i < bytes; i++) {
        if (primary[i] == backup[i]) continue;
        snprintf(meeting->verdict, sizeof meeting->verdict,
                 "byte %llu of the entries: the primary has %#x, the backup %#x", (unsigned long long)i, primary[i],
                 backup[i]);
        return false;
    }
    if (rows) memcpy(&entry, primary + (rows->id - 1) * sizeof entry, sizeof entry);
    if (!rows || entry.table_id != rows->id || entry.state != LAYOUT_TABLE_WHOLE) {
        snprintf(meeting->verdict, sizeof meeting->verdict, "the table rows is lost");
        return false;
    }
    return buckets_are_there(meeting, rows) &&
           (!meeting->processes[1].more || buckets_are_there(meeting, meeting->processes[1].more));
}

static void end(struct meeting *meeting)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct process *process = &meeting->processes[i];
        coro_free(process->co);
        catalog_free(process->catalog);
        fabric_endpoint_close(process->ep);
    }
    fabric_close(meeting->fabric);
}

struct encounter {
    work_fn before; /* what process 0 does, alone, before the other one opens the pool; NULL: nothing */
    work_fn work[2];
    uint32_t step; /* of the last turn's lengths each so many is tried */
};

/*
 * Turns of process 0, process 1, process 0; then each to its end. Returns whether all is right then, and how many
 * operations each one made.
 */
static bool play(const struct encounter *encounter, const uint32_t *turns, uint32_t *ops, char *verdict)
{
    struct meeting meeting;
    begin(&meeting);
    enter(&meeting, 0, true, encounter->work[0]);
    if (encounter->before) rc_is_0(&meeting.processes[0], "before", encounter->before(&meeting.processes[0]));
    enter(&meeting, 1, false, encounter->work[1]);
    for (uint32_t i = 0; i < TURNS; i++) go_on(&meeting, i % 2, turns[i]);
    for (uint32_t i = 1; i < 4; i++) go_on(&meeting, i % 2, UINT32_MAX);
    for (uint32_t i = 0; i < 2; i++) ops[i] = meeting.processes[i].ops;
    bool right = judge(&meeting);
    if (!right)
        snprintf(verdict, VERDICT_BYTES, "turns of %u, %u and %u operations: %s", turns[0], turns[1], turns[2],
                 meeting.verdict);
    end(&meeting);
    return right;
}

/* Until one goes wrong. */
static bool every_schedule(const struct encounter *encounter, char *verdict)
{
    uint32_t ops[2], most[2] = {0}, turns[TURNS] = {UINT32_MAX, 0, 0}, schedules = 0, step = encounter->step;
    bool right = play(encounter, turns, most, verdict);
    for (turns[0] = 0; turns[0] <= most[0]; turns[0]++)
        for (turns[1] = 0; turns[1] <= most[1] + 2; turns[1]++)
            for (turns[2] = turns[0] % step; right && turns[0] + turns[2] <= most[0]; turns[2] += step, schedules++)
                right = play(encounter, turns, ops, verdict);
    printf("%u schedules of %u and %u operations\n", schedules, most[0], most[1]);
    return right;
}

static void goes_right(const struct encounter *encounter)
{
    char verdict[VERDICT_BYTES];
    if (!every_schedule(encounter, verdict)) fail_msg("%s", verdict);
}

static const struct encounter make_join = {.work = {make, join}, .step = 1},
                              ask_join = {.before = make, .work = {ask, join}, .step = 1},
                              free_join = {.before = make_and_drop, .work = {free_and_make, join}, .step = 37},
                              free_make = {.before = make_and_drop,
                                           .work = {free_and_make, join_and_make_more},
                                           .step = 61},
                              sweep_late = {.work = {join_and_sweep_late, make}, .step = 1};

static void one_makes_a_table_and_one_joins(void **state)
{
    (void)state;
    goes_right(&make_join);
}

static void one_asks_and_one_joins(void **state)
{
    (void)state;
    goes_right(&ask_join);
}

static void one_frees_an_entry_and_one_joins(void **state)
{
    (void)state;
    goes_right(&free_join);
}

static void one_gives_back_space_and_one_makes_a_table(void **state)
{
    (void)state;
    goes_right(&free_make);
}

static void one_gives_back_space_when_a_maker_has_gone(void **state)
{
    (void)state;
    goes_right(&sweep_late);
}

#ifdef CELLAR_PLANTS
static void plant_is_met(const char *plant, const struct encounter *encounter, const char *text)
{
    char verdict[VERDICT_BYTES] = "";
    assert_true(plant_choose(plant));
    bool right = every_schedule(encounter, verdict);
    assert_true(plant_choose(NULL));
    if (right || !strstr(verdict, text)) fail_msg("%s: %s", plant, right ? "all went right" : verdict);
}

static void plants_are_met(void **state)
{
    (void)state;
    plant_is_met("catalog_backups_follow_all", &make_join, "the backup 0x4d");
    plant_is_met("sweep_strays_of_others", &free_make, "in a run of kind");
    plant_is_met("vacant_too_early", &free_make, "in a run of kind");
    plant_is_met("entry_freed_late", &free_make, "catalog entry 0 (id 1)");
    plant_is_met("sweep_entries_stale", &sweep_late, "the table rows is lost");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_makes_a_table_and_one_joins),
        cmocka_unit_test(one_asks_and_one_joins),
        cmocka_unit_test(one_frees_an_entry_and_one_joins),
        cmocka_unit_test(one_gives_back_space_and_one_makes_a_table),
        cmocka_unit_test(one_gives_back_space_when_a_maker_has_gone),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
