/*
 * test_durable_power.c - a simulated cluster of one to three memory nodes, with and without backups, each with a
 * simulated disk: the power fails at any operation of these disks, openings, commits, checkpoints and recoveries
 * included, life after life; syncs of one of them fail, its space ends. Memory is gone each time. What was acknowledged
 * is there, each transaction whole or not at all, and nothing of what was left out comes back (durable_run.h,
 * docs/durability.md). All of it in virtual time: same seed, same lives. And planted bugs, each of which is met.
 *
 * `test_durable_power FROM TO` tries those seeds; without arguments forty. With $DURABLE_POWER_LOG it shows what the
 * databases say.
 */
#include "db.h"
#include "durable_run.h"
#include "durable_sim.h"
#include "plant.h"
#include "prng.h"
#include "rivals.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIVES 6
#define CAPACITY (256ull << 20)
#define OPERATIONS 160 /* of a memory node's disk in one life, more or less */

static uint64_t from = 1, to = 40;

/* What happens to the disks in a life. */
struct mishap {
    enum { NONE, POWER_LOST, SYNC_FAILS, DISK_FULL, LOST = 8 } kind; /* | LOST: before it a memory node's disk is */
    uint64_t at; /* the life's operation, from 1 on; DISK_FULL: so many bytes are left */
};

struct lab {
    uint64_t seed;
    struct prng prng;
    struct durable_sim sim;
    struct durable_run_witness witness;
    struct durable_run run;
    struct mishap mishap; /* of this life */
    uint64_t before;      /* operations of the disk when it began */
    uint64_t epoch_ns;    /* 0: short */
    bool queued;          /* durable_run.h */
    bool whole;           /* an opening has returned: all memory nodes keep something */
    uint32_t lost;        /* 1 + the memory node that is to be filled; 0: none is */
    uint32_t losses;
};

static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL,  CELLAR_LAB_CC_CREST,
                                           CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_MOTOR, CELLAR_LAB_CC_TWOPL};
#define MODES (sizeof modes / sizeof *modes)

/* Each mode meets each of these clusters. */
static const struct shape {
    uint32_t nodes, replicas;
} shapes[] = {{1, 0}, {2, 1}, {3, 0}, {3, 2}};
#define SHAPES (sizeof shapes / sizeof *shapes)

static const struct shape *shape_of(uint64_t seed) { return &shapes[seed / MODES % SHAPES]; }

/* The seed of the same mode, and about the same place, whose cluster that is. */
static uint64_t shaped(uint64_t seed, uint64_t shape)
{
    return seed / (MODES * SHAPES) * (MODES * SHAPES) + shape * MODES + seed % MODES;
}

/* ---- one life ---- */

/* No mishap makes a folder one that is not to be believed. */
static bool excused(struct lab *lab, int rc)
{
    if (rc == 0 || (lab->mishap.kind != NONE && rc != CELLAR_CORRUPT && rc != CELLAR_MISMATCH)) return true;
    snprintf(lab->run.wrong, sizeof lab->run.wrong, "%s: %s", cellar_strerror(rc), lab->run.error.text);
    return false;
}

/* What the database says, where one looks for why a seed fails. */
static void said(void *arg, enum cellar_log_level level, const char *text)
{
    (void)arg;
    if (getenv("DURABLE_POWER_LOG")) print_message("  (%d) %s\n", (int)level, text);
}

static int life_open(struct lab *lab)
{
    static const uint64_t syncs_ns[] = {20000, 300000, 3000000};
    enum cellar_lab_cc cc = modes[lab->seed % MODES];
    struct durable_sim *sim = &lab->sim;
    uint64_t fabric_seed = prng_next(&lab->prng), sync_ns = syncs_ns[prng_below(&lab->prng, 3)];
    *sim = (struct durable_sim){.seed = lab->seed,
                                .fabric_seed = fabric_seed,
                                .sync_ns = sync_ns,
                                .epoch_ns = lab->epoch_ns ? lab->epoch_ns : 100000,
                                .cc = mode_of(cc) ? cc : CELLAR_LAB_CC_CELLAR,
                                .coros = DURABLE_RUN_CLIENTS / 2,
                                .torn = lab->seed % 2,
                                .log = said,
                                .nodes = shape_of(lab->seed)->nodes,
                                .replicas = shape_of(lab->seed)->replicas,
                                .lost = lab->lost,
                                .disk = sim->disk,
                                .others = {sim->others[0], sim->others[1]}};
    int rc = durable_sim_open(sim, &lab->run.error);
    if (rc == CELLAR_EXISTS && sim->lost) { /* an opening that was cut off had come so far */
        fabric_close(sim->fabric);
        sim->lost = 0;
        rc = durable_sim_open(sim, &lab->run.error);
    }
    lab->run.db = sim->db;
    if (rc == 0) lab->lost = 0;
    lab->whole = lab->whole || rc == 0;
    return rc;
}

/* A checkpoint that begins as rows are loaded, or before, or amid. */
static void checkpoint_ask(struct lab *lab)
{
    if (prng_below(&lab->prng, 2)) (void)epochs_ask(&lab->sim.durable->epochs);
}

/* What happens between opening and end. False: something is wrong. */
static bool life_lead(struct lab *lab)
{
    struct durable_run *run = &lab->run;
    int rc = durable_run_tables(run);
    if (rc) return excused(lab, rc);
    if (!durable_run_judge(run)) return false;
    checkpoint_ask(lab);
    rc = durable_run_load(run);
    checkpoint_ask(lab);
    if (rc == 0 && prng_below(&lab->prng, 2)) rc = db_sync(run->db, 0, &run->error);
    if (rc == 0) rc = durable_run_work(run);
    return excused(lab, rc);
}

static struct disk_sim *disk_of(struct lab *lab, uint32_t node)
{
    return node ? lab->sim.others[node - 1] : lab->sim.disk;
}

/* One at a time. */
static void disk_lose(struct lab *lab)
{
    if (!lab->whole || lab->lost || shape_of(lab->seed)->replicas == 0) return;
    uint32_t node = (uint32_t)(lab->seed + lab->losses++) % shape_of(lab->seed)->nodes;
    disk_sim_blank(disk_of(lab, node));
    lab->lost = node + 1;
}

static void mishap_set(struct lab *lab, struct mishap mishap, double garbled)
{
    lab->before = disk_sim_operations(lab->sim.disk);
    uint64_t at = lab->before + mishap.at;
    struct disk_sim_faults faults = {.garbled = garbled};
    if (mishap.kind == POWER_LOST) faults.power_lost_at = at;
    if (mishap.kind == SYNC_FAILS) faults.sync_fails_at = at;
    for (uint32_t i = 0; i < shape_of(lab->seed)->nodes; i++) disk_sim_resize(disk_of(lab, i), CAPACITY);
    struct disk_sim *full = disk_of(lab, (uint32_t)(lab->seed % shape_of(lab->seed)->nodes));
    if (mishap.kind == DISK_FULL) disk_sim_resize(full, disk_sim_used(full) + mishap.at);
    disk_sim_set(lab->sim.disk, faults);
    lab->mishap = mishap;
}

/*
 * Half of those to which nothing happens close; the others' process just ends, or the power fails then. After a sync
 * that failed the next one often sees what no disk has.
 */
static bool life(struct lab *lab, struct mishap mishap)
{
    if (mishap.kind & LOST) disk_lose(lab);
    mishap.kind &= ~(unsigned)LOST;
    mishap_set(lab, mishap, prng_below(&lab->prng, 3) ? 0.1 : 0);
    lab->run = (struct durable_run){.witness = &lab->witness,
                                    .calls = 10 + prng_below(&lab->prng, prng_below(&lab->prng, 4) ? 40 : 160),
                                    .every = prng_below(&lab->prng, 2) ? 3 : 60,
                                    .queued = lab->queued};
    int rc = life_open(lab);
    bool well = excused(lab, rc);
    if (rc == 0) {
        well = life_lead(lab);
        if (prng_below(&lab->prng, 2)) disk_sim_off(lab->sim.disk, true);
        cellar_close(lab->run.db);
        disk_sim_off(lab->sim.disk, false);
    }
    fabric_close(lab->sim.fabric);
    if (disk_sim_power_is_lost(lab->sim.disk) || prng_below(&lab->prng, mishap.kind == SYNC_FAILS ? 8 : 2) == 1)
        disk_sim_power_cycle(lab->sim.disk);
    else
        disk_sim_process_ends(lab->sim.disk);
    return well;
}

static void lab_open(struct lab *lab, uint64_t seed, bool queued)
{
    *lab = (struct lab){.seed = seed, .queued = queued, .sim.disk = disk_sim_open(seed, CAPACITY)};
    assert_non_null(lab->sim.disk);
    for (uint32_t i = 1; i < shape_of(seed)->nodes; i++)
        assert_non_null(lab->sim.others[i - 1] =
                            disk_sim_open_beside(lab->sim.disk, seed + (uint64_t)i * 1000000, CAPACITY));
    prng_seed_stream(&lab->prng, seed, 19);
}

/* Lives with mishaps, and another one that finds all that it was told; *operations: of the disk, in each. */
static bool lives(uint64_t seed, bool queued, const struct mishap *mishaps, uint32_t count, uint64_t *operations)
{
    struct lab lab;
    bool well = true;
    lab_open(&lab, seed, queued);
    for (uint32_t i = 0; i <= count && well; i++) {
        well = life(&lab, i < count ? mishaps[i] : (struct mishap){NONE, 0});
        if (i < count) operations[i] = disk_sim_operations(lab.sim.disk) - lab.before;
        if (!well) print_message("seed %llu, life %u: %s\n", (unsigned long long)seed, i, lab.run.wrong);
    }
    disk_sim_close(lab.sim.disk);
    return well;
}

/* ---- chance ---- */

static bool lives_by_chance(uint64_t seed, bool queued)
{
    struct mishap mishaps[LIVES];
    struct prng prng;
    uint64_t operations[LIVES];
    prng_seed_stream(&prng, seed, 20);
    for (int i = 0; i < LIVES; i++) {
        uint64_t kind = prng_below(&prng, 8);
        mishaps[i] = (struct mishap){
            kind < 4    ? POWER_LOST
            : kind == 4 ? SYNC_FAILS
            : kind == 5 ? DISK_FULL
                        : NONE,
            1 + prng_below(&prng, kind == 5 ? 10 * DURABLE_SIM_FILE_BYTES : OPERATIONS * shape_of(seed)->nodes)};
    }
    return lives(seed, queued, mishaps, LIVES, operations);
}

static bool cluster_lives(uint64_t seed) { return lives_by_chance(seed, false); }
static bool queue_lives(uint64_t seed) { return lives_by_chance(seed, true); }

static void power_fails(void **state)
{
    (void)state;
    for (uint64_t seed = from; seed <= to; seed++)
        if (share_has(seed)) assert_true(cluster_lives(seed));
}

static void power_fails_amid_calls_of_a_queue(void **state)
{
    (void)state;
    for (uint64_t seed = from; seed <= to; seed++)
        if (share_has(seed)) assert_true(queue_lives(seed));
}

/* ---- every operation ---- */

/* One of the mishaps at each operation of its life, up to its end; the modes in turn. False: something is wrong. */
static bool at_each_operation(uint64_t seed, struct mishap *mishaps, uint32_t count, uint32_t which)
{
    uint64_t operations[LIVES] = {0};
    bool well = true;
    for (uint64_t at = 1 + seed % MODES; well && operations[which] + MODES >= at; at += MODES) {
        mishaps[which].at = at;
        operations[which] = at; /* of one that this build leaves out */
        if (share_has(at)) well = lives(seed, false, mishaps, count, operations);
    }
    return well;
}

/* In the first life of all, and in a later one. */
static bool power_losses(uint64_t seed)
{
    struct mishap mishaps[] = {{NONE, 0}, {POWER_LOST, 0}};
    return at_each_operation(seed, mishaps + 1, 1, 0) && at_each_operation(seed + 100 * MODES, mishaps, 2, 1);
}

/* In a recovery from another one. */
static bool recoveries(uint64_t seed)
{
    struct mishap mishaps[] = {{NONE, 0}, {POWER_LOST, 60 + 7 * (seed % MODES)}, {POWER_LOST, 0}};
    return at_each_operation(seed, mishaps, 3, 2);
}

/* What the next process sees is in a cache only; then the power fails. */
static bool lost_syncs(uint64_t seed)
{
    struct mishap mishaps[] = {{NONE, 0}, {SYNC_FAILS, 0}, {POWER_LOST, 1 + 3 * (seed % MODES)}};
    return at_each_operation(seed, mishaps + 1, 2, 0) && at_each_operation(seed + 100 * MODES, mishaps, 3, 1);
}

/* ---- lost disks ---- */

static bool lost_lives(uint64_t seed)
{
    struct mishap mishaps[LIVES];
    struct prng prng;
    uint64_t operations[LIVES];
    prng_seed_stream(&prng, seed, 21);
    for (int i = 0; i < LIVES; i++) {
        static const int kinds[] = {NONE, NONE, POWER_LOST, POWER_LOST, SYNC_FAILS, DISK_FULL};
        int kind = kinds[prng_below(&prng, 6)], lost = prng_below(&prng, 2) ? LOST : 0;
        uint64_t most = kind == DISK_FULL ? 10 * DURABLE_SIM_FILE_BYTES : OPERATIONS * shape_of(seed)->nodes;
        mishaps[i] = (struct mishap){kind | lost, 1 + prng_below(&prng, most)};
    }
    return lives(seed, seed % 2, mishaps, LIVES, operations);
}

static bool fillings(uint64_t seed)
{
    struct mishap mishaps[] = {{NONE, 0}, {POWER_LOST | LOST, 0}};
    return at_each_operation(seed, mishaps, 2, 1);
}

/* Then the power fails. */
static bool fillings_unsynced(uint64_t seed)
{
    struct mishap mishaps[] = {{NONE, 0}, {SYNC_FAILS | LOST, 0}, {POWER_LOST, 1 + 3 * (seed % MODES)}};
    return at_each_operation(seed, mishaps, 3, 1);
}

static void disks_are_lost(void **state)
{
    (void)state;
    for (uint64_t seed = from; seed <= to; seed++)
        if (share_has(seed)) assert_true(lost_lives(shaped(8000 + seed, seed % 4 < 2 ? 1 : 3)));
}

static void in_each_mode(bool (*search)(uint64_t seed), uint64_t first)
{
    for (uint64_t mode = 0; mode < MODES; mode++) {
        assert_true(search(shaped(first + mode, 0)));
        assert_true(search(shaped(first + mode, 1 + mode % (SHAPES - 1))));
    }
}

static void power_fails_at_each_operation(void **state) { (void)state, in_each_mode(power_losses, 1000); }
static void power_fails_amid_a_recovery(void **state) { (void)state, in_each_mode(recoveries, 2000); }
static void syncs_fail_at_each_operation(void **state) { (void)state, in_each_mode(lost_syncs, 3000); }

static void power_fails_as_a_disk_is_filled(void **state)
{
    (void)state;
    for (uint64_t mode = 0; mode < MODES; mode++) assert_true(fillings(shaped(9000 + mode, mode % 2 ? 3 : 1)));
    for (uint64_t mode = 0; mode < MODES; mode += 3) /* of either shape */
        assert_true(fillings_unsynced(shaped(9600 + mode, mode % 2 ? 3 : 1)));
}

/* Its process just ends: what it does from now on reaches no disk. */
static void power_cut(struct lab *lab)
{
    disk_sim_off(lab->sim.disk, true);
    cellar_close(lab->run.db);
    disk_sim_off(lab->sim.disk, false);
    fabric_close(lab->sim.fabric);
    disk_sim_power_cycle(lab->sim.disk);
}

/* ---- syncs ---- */

/* Calls of level MEMORY, a sync to their epochs, and at once the power fails. False: what was synced is not there. */
static bool synced_lives(uint64_t seed)
{
    struct lab lab;
    lab_open(&lab, seed, false);
    mishap_set(&lab, (struct mishap){NONE, 0}, 0);
    lab.epoch_ns = 100000000; /* only what is waited for is on the disk soon */
    lab.run = (struct durable_run){.witness = &lab.witness, .calls = 20, .every = 60, .unawaited = true};
    assert_int_equal(life_open(&lab), 0);
    assert_true(life_lead(&lab));
    assert_int_equal(durable_run_sync(&lab.run), 0);
    power_cut(&lab);
    bool well = life(&lab, (struct mishap){NONE, 0});
    if (!well) print_message("seed %llu: %s\n", (unsigned long long)seed, lab.run.wrong);
    disk_sim_close(lab.sim.disk);
    return well;
}

static void what_is_synced_is_there(void **state)
{
    (void)state;
    in_each_mode(synced_lives, 6000);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("durable_sync_early"));
    for (uint64_t mode = 0; mode < MODES; mode++) assert_false(synced_lives(6000 + mode));
    assert_true(plant_choose(NULL));
#endif
}

/* ---- space ---- */

/* Virtual time passes. */
static void pass(struct lab *lab, uint64_t ns)
{
    uint32_t never = 1;
    assert_int_equal(lab->sim.fabric->ops->wait(lab->sim.fabric, &never, ns), CELLAR_DEADLINE);
}

/* Calls end with FULL, or in doubt; and commit again when there is space, in the same process. */
static void space_ends_and_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 5000; seed < 5000 + MODES * SHAPES; seed++) {
        struct lab lab;
        lab_open(&lab, seed, false);
        mishap_set(&lab, (struct mishap){NONE, 0}, 0);
        lab.run = (struct durable_run){.witness = &lab.witness, .calls = 20, .every = 3};
        assert_int_equal(life_open(&lab), 0);
        assert_true(life_lead(&lab));
        struct disk_sim *full = disk_of(&lab, (uint32_t)(seed % shape_of(seed)->nodes));
        disk_sim_resize(full, 0);
        lab.run.calls = 0;
        int rc = durable_run_work(&lab.run);
        assert_true(rc == CELLAR_FULL || rc == CELLAR_INDETERMINATE);
        disk_sim_resize(full, CAPACITY);
        pass(&lab, 100000000);
        lab.run.calls = 20;
        assert_int_equal(durable_run_work(&lab.run), 0);
        power_cut(&lab);
        if (!life(&lab, (struct mishap){NONE, 0})) fail_msg("seed %llu: %s", (unsigned long long)seed, lab.run.wrong);
        disk_sim_close(lab.sim.disk);
    }
}

/* A close makes a checkpoint, and goes without where there is no space: all is in the log. */
static void a_full_disk_is_closed(void **state)
{
    (void)state;
    for (uint64_t seed = 7000; seed < 7000 + MODES * SHAPES; seed++) {
        struct lab lab;
        lab_open(&lab, seed, seed % 2);
        mishap_set(&lab, (struct mishap){NONE, 0}, 0);
        lab.run = (struct durable_run){.witness = &lab.witness, .calls = 5, .every = 1};
        assert_int_equal(life_open(&lab), 0);
        assert_true(life_lead(&lab));
        assert_int_equal(db_sync(lab.run.db, 0, &lab.run.error), 0);
        struct disk_sim *full = disk_of(&lab, (uint32_t)(seed % shape_of(seed)->nodes));
        disk_sim_resize(full, disk_sim_used(full));
        assert_int_equal(cellar_close(lab.run.db), 0);
        fabric_close(lab.sim.fabric);
        disk_sim_power_cycle(lab.sim.disk);
        if (!life(&lab, (struct mishap){NONE, 0})) fail_msg("seed %llu: %s", (unsigned long long)seed, lab.run.wrong);
        disk_sim_close(lab.sim.disk);
    }
}

/* ---- planted bugs ---- */

#ifdef CELLAR_PLANTS
#define HUNT_SEEDS 20

/* Which search meets it, from which seed on. */
static const struct hunt {
    const char *plant;
    bool (*search)(uint64_t seed);
    uint64_t first;
} hunts[] = {
    {"durable_acked_early", queue_lives, 1},       {"durable_acked_early", cluster_lives, 2},
    {"epochs_cached", cluster_lives, 1},           {"epochs_closed_at_word", cluster_lives, 1},
    {"epochs_ring_reused", cluster_lives, 23},     {"durable_rings_first", cluster_lives, 23},
    {"durable_loads_ignored", cluster_lives, 1},   {"durable_freed_uncounted", cluster_lives, 30},
    {"durable_begin_ignored", cluster_lives, 27},  {"replay_counters_kept", cluster_lives, 1},
    {"journal_cut_ignored", cluster_lives, 13},    {"checkpoint_head_unsynced", cluster_lives, 1},
    {"wal_sync_retried", cluster_lives, 18},       {"durable_runs_unlogged", cluster_lives, 1},
    {"replay_as_logged", cluster_lives, 1},        {"journal_life_unsynced", cluster_lives, 2},
    {"durable_reads_unawaited", cluster_lives, 5}, {"durable_last_first", cluster_lives, 461},
    {"durable_loads_written", power_losses, 500},  {"durable_older_removed", lost_syncs, 3009},
    {"durable_epoch_early", cluster_lives, 1},     {"durable_pages_late", power_losses, 1020},
    {"fill_members_left", lost_lives, 8040},       {"durable_extent_unwhole", cluster_lives, 1},
};

/* In a process of its own, which may end by an assertion: then the bug is met, too. */
static bool met_by(const struct hunt *hunt, uint64_t seed)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(hunt->search(seed) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return !WIFEXITED(status) || WEXITSTATUS(status);
}

static void planted_bugs_are_met(void **state)
{
    (void)state;
    if (!share_seeks()) skip();
    setenv("CELLAR_SHARE", "100", 1); /* a search that leaves something out may miss it */
    for (uint32_t i = 0; i < sizeof hunts / sizeof *hunts; i++) {
        uint64_t seed = hunts[i].first, end = seed + HUNT_SEEDS;
        assert_true(plant_choose(hunts[i].plant));
        while (seed < end && !met_by(&hunts[i], seed)) seed++;
        assert_true(plant_choose(NULL));
        share_tell(hunts[i].plant, seed < end ? seed : 0, end - 1);
    }
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_fails),
        cmocka_unit_test(power_fails_amid_calls_of_a_queue),
        cmocka_unit_test(power_fails_at_each_operation),
        cmocka_unit_test(power_fails_amid_a_recovery),
        cmocka_unit_test(syncs_fail_at_each_operation),
        cmocka_unit_test(disks_are_lost),
        cmocka_unit_test(power_fails_as_a_disk_is_filled),
        cmocka_unit_test(what_is_synced_is_there),
        cmocka_unit_test(space_ends_and_comes_back),
        cmocka_unit_test(a_full_disk_is_closed),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(planted_bugs_are_met),
#endif
    };
    const struct CMUnitTest seeds[] = {cmocka_unit_test(power_fails),
                                       cmocka_unit_test(power_fails_amid_calls_of_a_queue),
                                       cmocka_unit_test(disks_are_lost)};
    if (argc > 2) {
        from = strtoull(argv[1], NULL, 10);
        to = strtoull(argv[2], NULL, 10);
        return cmocka_run_group_tests(seeds, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
