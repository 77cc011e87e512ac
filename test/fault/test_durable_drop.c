/*
 * test_durable_drop.c - the power fails at each operation of the disks while a table or an index of a durable folder
 * goes, is emptied, changes, or comes: what is found is the state before or the state after, whole; and once it was
 * synced, the state after (INV-DURABLE-18, 26). In virtual time.
 */
#include "drops.h"
#include "durable.h"
#include "durable_sim.h"

#define CAPACITY (256ull << 20)
#define SYNC_NS 20000
#define LONG_SYNC_NS 10000000 /* longer than a change takes, */
#define STEP_NS 2500000       /* ... so it begins amid a sync, */
#define STEPS 40              /* ... of each that there is */

struct cut {
    struct dropping run;
    struct durable_sim sim;
    uint64_t steps; /* so long after calls, whose epoch is to end, the change begins; 0: there are none */
};

static bool opened(struct cut *cut)
{
    struct durable_sim *sim = &cut->sim;
    int rc = durable_sim_open(sim, &cut->run.error);
    cut->run.db = rc ? NULL : sim->db;
    cut->run.fabric = sim->fabric;
    return held(&cut->run, "opening", rc);
}

/* The process ends, and with it what no disk has. */
static void ended(struct cut *cut)
{
    disk_sim_off(cut->sim.disk, true);
    if (cut->run.db) cellar_close(cut->run.db);
    cut->run.db = NULL;
    disk_sim_off(cut->sim.disk, false);
    fabric_close(cut->sim.fabric);
    disk_sim_power_cycle(cut->sim.disk);
    cut->run.typed = NULL;
}

static bool made(struct cut *cut)
{
    struct dropping *run = &cut->run;
    run->used_after = used(run);
    bool good = run->what == ALTER ? typed_make(run) : table_make(run);
    if (good && run->what != ALTER && run->what != INDEX_CREATE) good = held(run, "an index", index_make(run));
    run->used_before = good ? used(run) : 0;
    return good && held(run, "a sync", db_sync(run->db, 0, &run->error));
}

/* ---- an agent amid the pages of an epoch ---- */

static int rows_put(struct cellar_txn *txn, void *arg)
{
    struct dropping *run = arg;
    int rc = 0;
    for (uint64_t id = 0; id < 60 && rc == 0; id++) {
        struct typed row = typed_of(id);
        rc = cellar_put(txn, run->typed, 0, &row);
    }
    return rc;
}

/*
 * Calls whose epoch is to end: their entries, and the entries of tables, of which there is one more, are longer than a
 * group of the log, so an agent that logs the latter waits for the disk amid that.
 */
static bool agent_begins(struct cut *cut)
{
    struct dropping *run = &cut->run;
    uint32_t never = 1;
    bool good = held(run, "one more table", ordered_make(run, 0)) &&
                held(run, "calls", cellar_run(run->db, rows_put, run, CELLAR_TXN(.durability = CELLAR_MEMORY), NULL));
    run->used_before = used(run);
    cut->sim.timed[0].sync_ns = LONG_SYNC_NS;
    if (good) (void)!cut->sim.fabric->ops->wait(cut->sim.fabric, &never, cut->steps * STEP_NS);
    return good;
}

/* ---- lives ---- */

/* The power fails at that operation from now on, or when all was synced. True: it was. */
static bool changed(struct cut *cut, uint64_t at)
{
    struct dropping *run = &cut->run;
    const struct disk_sim_faults faults = {.power_lost_at = disk_sim_operations(cut->sim.disk) + at};
    if (!cut->steps) disk_sim_set(cut->sim.disk, faults);
    int rc = act(run);
    if (cut->steps) disk_sim_set(cut->sim.disk, faults);
    cut->sim.timed[0].sync_ns = SYNC_NS;
    if (rc == 0) rc = db_sync(run->db, 0, &run->error);
    holds(run, rc == 0 || disk_sim_power_is_lost(cut->sim.disk), run->error.text);
    return rc == 0;
}

/* False: it did not come to that operation. The verdict is in the run. */
static bool play_cut(struct cut *cut, uint64_t at)
{
    bool done = true;
    if (opened(cut) && made(cut) && (!cut->steps || agent_begins(cut))) done = changed(cut, at);
    bool any = disk_sim_power_is_lost(cut->sim.disk);
    ended(cut);
    for (int opening = 0; opening < 2 && !cut->run.verdict[0]; opening++) { /* the second one has the first one's log */
        if (opened(cut) && judge(&cut->run, done) && opening) (void)goes_on(&cut->run);
        ended(cut);
    }
    return any;
}

static bool right_at(enum what what, uint32_t nodes, uint64_t at, uint64_t steps, bool *any)
{
    struct cut cut = {.run = {.what = what, .mns = nodes}, .steps = steps};
    cut.sim = (struct durable_sim){.seed = at,
                                   .fabric_seed = at,
                                   .sync_ns = SYNC_NS,
                                   .epoch_ns = 100000,
                                   .cc = CELLAR_LAB_CC_CELL,
                                   .threads = 1,
                                   .coros = 1,
                                   .torn = true,
                                   .nodes = nodes,
                                   .replicas = nodes - 1,
                                   .disk = disk_sim_open(at, CAPACITY)};
    assert_non_null(cut.sim.disk);
    if (nodes > 1) assert_non_null(cut.sim.others[0] = disk_sim_open_beside(cut.sim.disk, at + 1000000, CAPACITY));
    *any = play_cut(&cut, at);
    disk_sim_close(cut.sim.disk);
    if (cut.run.verdict[0])
        print_message("%d, %u memory nodes, power fails at %llu: %s\n", (int)what, nodes, (unsigned long long)at,
                      cut.run.verdict);
    return !cut.run.verdict[0];
}

/* At each operation of a change, up to its end. */
static bool right(enum what what, uint32_t nodes)
{
    bool well = true, any = true;
    for (uint64_t at = 1; any && well; at++)
        if (share_has(at)) well = right_at(what, nodes, at, 0, &any);
    return well;
}

/* The power fails soon after it; all of these, or the build's share. */
static bool right_amid(bool all)
{
    bool well = true, any;
    for (uint64_t i = 0; i < STEPS * 3 && well; i++)
        if (all || share_has(i)) well = right_at(ALTER, 1, 1 + i % 3 * 2, 1 + i / 3, &any);
    return well;
}

static void power_fails_amid_a_change(void **state)
{
    (void)state;
    for (int what = 0; what < WHATS; what++)
        for (uint32_t nodes = 1; nodes <= 2; nodes++) assert_true(right((enum what)what, nodes));
}

/* An epoch may end as it begins. */
static void an_agent_reads_amid_a_change(void **state)
{
    (void)state;
    assert_true(right_amid(false));
#ifdef CELLAR_PLANTS
    static const char *const plants[] = {"durable_pages_torn", "durable_given_up_early"};
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(plant_choose(plants[i]));
        if (right_amid(true)) fail_msg("plant %s is not met", plants[i]);
        assert_true(plant_choose(NULL));
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_fails_amid_a_change),
        cmocka_unit_test(an_agent_reads_amid_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
