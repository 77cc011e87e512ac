/*
 * test_verbs.c - what a transaction costs that no other disturbs: exact round trips and operations by phase. A lost
 * optimisation turns red here without a network card; a new one changes the table.
 */
#include "mode.h"
#include "rivals.h"
#include "sim_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define A 1u /* cells: A and B share a line, C spans several */
#define B 2u
#define ALL 7u
#define READ(k, cells)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells                                                           \
    }
#define LOOK(k, cells)                                                                                                 \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .optional = true                                         \
    }
#define UPDATE(k, reads, writes)                                                                                       \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = reads, .write = writes                                          \
    }
#define INSERT(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_INSERT, .key = k                                                                          \
    }
#define DELETE(k)                                                                                                      \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_DELETE, .key = k                                                                          \
    }
#define THEN_READ(k, cells)                                                                                            \
    {                                                                                                                  \
        .kind = SIM_SCENARIO_ACCESS, .key = k, .read = cells, .block = true                                            \
    }

enum setting { WARM, COLD, WORDS, REPLICA, SETTINGS };
static const char *const setting_names[SETTINGS] = {"warm", "cold", "words", "replica"};

struct cost {
    uint32_t round_trips;
    uint32_t execute_reads, execute_locks, validate_reads, log_writes, apply_writes, apply_unlocks;
};

struct expectation {
    struct sim_scenario scenario; /* its last transaction is the one that is counted */
    struct cost costs[SETTINGS];
};

static const struct expectation expectations[] = {
    {{"read one record", 1, {{0, {READ(0, A)}}}},
     {{1, 1, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {1, 1, 0, 0, 0, 0, 0}}},
    {{"read all of one record", 1, {{0, {READ(0, ALL)}}}},
     {{1, 1, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {1, 1, 0, 0, 0, 0, 0}}},
    {{"read three records", 7, {{0, {READ(0, A), READ(1, A), READ(2, A)}}}},
     {{2, 3, 0, 3, 0, 0, 0}, {3, 6, 0, 3, 0, 0, 0}, {2, 3, 0, 3, 0, 0, 0}, {2, 3, 0, 3, 0, 0, 0}}},
    {{"read two records in two blocks", 3, {{0, {READ(0, A), THEN_READ(1, A)}}}},
     {{3, 2, 0, 2, 0, 0, 0}, {5, 4, 0, 2, 0, 0, 0}, {3, 2, 0, 2, 0, 0, 0}, {3, 2, 0, 2, 0, 0, 0}}},
    {{"look for an absent key", 0, {{0, {LOOK(0, A)}}}},
     {{2, 1, 0, 1, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}}},
    {{"update one cell", 1, {{0, {UPDATE(0, A, A)}}}},
     {{3, 1, 1, 0, 1, 2, 1}, {4, 2, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 1, 2, 1}, {4, 1, 1, 0, 2, 3, 1}}},
    {{"update a cell, read its neighbour", 1, {{0, {UPDATE(0, A | B, A)}}}},
     {{3, 1, 1, 0, 1, 2, 1}, {4, 2, 1, 0, 1, 2, 1}, {4, 1, 1, 1, 1, 2, 1}, {4, 1, 1, 0, 2, 3, 1}}},
    {{"update two records", 3, {{0, {UPDATE(0, A, A), UPDATE(1, A, A)}}}},
     {{3, 2, 2, 0, 1, 4, 2}, {4, 4, 2, 0, 1, 4, 2}, {3, 2, 2, 0, 1, 4, 2}, {4, 2, 2, 0, 2, 6, 2}}},
    {{"update one record, read another", 3, {{0, {READ(0, A), UPDATE(1, A, A)}}}},
     {{4, 2, 1, 1, 1, 2, 1}, {5, 4, 1, 1, 1, 2, 1}, {4, 2, 1, 1, 1, 2, 1}, {5, 2, 1, 1, 2, 3, 1}}},
    {{"insert",
      0,
      {{0, {INSERT(0)}}, {0, {INSERT(1)}}, {0, {INSERT(2)}}, {0, {INSERT(3)}}}}, /* the first ones take chunks */
     {{3, 1, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 1, 3, 1}, {4, 1, 1, 0, 2, 4, 1}}},
    {{"delete", 1, {{0, {DELETE(0)}}}},
     {{4, 2, 2, 0, 1, 2, 2}, {4, 2, 2, 0, 1, 2, 2}, {4, 2, 2, 0, 1, 3, 2}, {5, 2, 2, 0, 2, 4, 2}}},
};

static struct sim_scenario_options options_of(enum cellar_lab_cc cc, enum setting setting)
{
    struct sim_scenario_options options = {.cc = cc, .seed = 1, .warm = setting != COLD, .words = setting == WORDS};
    if (setting == REPLICA) options.mns = 2;
    if (setting == REPLICA) options.replicas = 1;
    return options;
}

/* Counts of the scenario's first `txns` transactions. */
static void count(const struct sim_scenario *scenario, uint32_t txns, enum cellar_lab_cc cc, enum setting setting,
                  struct cellar_lab_stats *stats)
{
    struct sim_scenario_options options = options_of(cc, setting);
    struct sim_scenario_report report;
    struct sim_scenario part = *scenario;
    for (uint32_t txn = txns; txn < SIM_SCENARIO_TXNS; txn++) part.txns[txn] = (struct sim_scenario_txn){0};
    *stats = (struct cellar_lab_stats){0};
    if (txns == 0) return;
    const char *verdict = sim_scenario_run(&part, &options, &report);
    if (verdict) fail_msg("%s, %s: %s", scenario->name, setting_names[setting], verdict);
    for (uint32_t txn = 0; txn < txns; txn++) assert_int_equal(report.outcomes[txn].attempts, 1);
    *stats = report.stats;
}

static struct cost cost_of(const struct cellar_lab_stats *stats)
{
    const uint64_t(*ops)[CELLAR_VERBS] = stats->ops;
    return (struct cost){.round_trips = (uint32_t)stats->round_trips,
                         .execute_reads = (uint32_t)ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ],
                         .execute_locks = (uint32_t)ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_MASKED_CAS],
                         .validate_reads = (uint32_t)ops[CELLAR_PHASE_VALIDATE][CELLAR_VERB_READ],
                         .log_writes = (uint32_t)ops[CELLAR_PHASE_LOG][CELLAR_VERB_WRITE],
                         .apply_writes = (uint32_t)ops[CELLAR_PHASE_APPLY][CELLAR_VERB_WRITE],
                         .apply_unlocks = (uint32_t)ops[CELLAR_PHASE_APPLY][CELLAR_VERB_MASKED_CAS]};
}

static uint64_t ops_sum(const struct cellar_lab_stats *stats)
{
    uint64_t sum = 0;
    for (int phase = 0; phase < CELLAR_PHASES; phase++) {
        for (int verb = 0; verb < CELLAR_VERBS; verb++) sum += stats->ops[phase][verb];
    }
    return sum;
}

/* Mode `motor`, a writer: one addition to the clock, and one to each backup of it. */
static uint32_t clock_adds(enum cellar_lab_cc cc, enum setting setting, const struct cost *want)
{
    if (!mode_of(cc)->versions || want->apply_writes == 0) return 0;
    return setting == REPLICA ? 2 : 1;
}

/* Mode `2pl`: a lock is an addition, and so is its release, for each record that is not new. */
static uint32_t lock_adds(enum cellar_lab_cc cc, const struct sim_scenario_txn *txn)
{
    uint32_t adds = 0;
    for (uint32_t i = 0; i < SIM_SCENARIO_ACCESSES && mode_of(cc)->locks; i++) {
        const struct sim_scenario_access *access = &txn->accesses[i];
        bool locked = access->kind == SIM_SCENARIO_DELETE || (access->kind == SIM_SCENARIO_ACCESS && access->read);
        adds += locked ? 2 : 0;
    }
    return adds;
}

static uint64_t adds_sum(const struct cellar_lab_stats *stats)
{
    uint64_t sum = 0;
    for (int phase = 0; phase < CELLAR_PHASES; phase++) sum += stats->ops[phase][CELLAR_VERB_FAA];
    return sum;
}

/* True when the last transaction costs what is wanted, and nothing that its table has no column for. */
static bool check(const struct expectation *expectation, enum cellar_lab_cc cc, enum setting setting, struct cost want)
{
    struct cellar_lab_stats before, with;
    uint32_t txns = sim_scenario_txn_count(&expectation->scenario);
    count(&expectation->scenario, txns - 1, cc, setting, &before);
    count(&expectation->scenario, txns, cc, setting, &with);
    struct cost a = cost_of(&before), b = cost_of(&with);
    struct cost cost = {b.round_trips - a.round_trips,     b.execute_reads - a.execute_reads,
                        b.execute_locks - a.execute_locks, b.validate_reads - a.validate_reads,
                        b.log_writes - a.log_writes,       b.apply_writes - a.apply_writes,
                        b.apply_unlocks - a.apply_unlocks};
    uint64_t listed = (uint64_t)want.execute_reads + want.execute_locks + want.validate_reads + want.log_writes +
                      want.apply_writes + want.apply_unlocks;
    uint64_t adds = clock_adds(cc, setting, &want) + lock_adds(cc, &expectation->scenario.txns[txns - 1]);
    listed += adds;
    bool same = cost.round_trips == want.round_trips && cost.execute_reads == want.execute_reads &&
                cost.execute_locks == want.execute_locks && cost.validate_reads == want.validate_reads &&
                cost.log_writes == want.log_writes && cost.apply_writes == want.apply_writes &&
                cost.apply_unlocks == want.apply_unlocks && adds_sum(&with) - adds_sum(&before) == adds &&
                ops_sum(&with) - ops_sum(&before) == listed;
    if (!same) {
        printf("mode %d, %s, %s: {%u, %u, %u, %u, %u, %u, %u}, %llu operations\n", cc, expectation->scenario.name,
               setting_names[setting], cost.round_trips, cost.execute_reads, cost.execute_locks, cost.validate_reads,
               cost.log_writes, cost.apply_writes, cost.apply_unlocks,
               (unsigned long long)(ops_sum(&with) - ops_sum(&before)));
    }
    return same;
}

/* Of all scenarios, in their order; NULL: as they say themselves. */
static void costs_are(enum cellar_lab_cc cc, const struct cost (*costs)[SETTINGS])
{
    uint32_t wrong = 0;
    if (!mode_of(cc)) skip(); /* of the laboratory, which is not linked */
    for (uint32_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        for (int setting = 0; setting < SETTINGS; setting++) {
            struct cost want = costs ? costs[i][setting] : expectations[i].costs[setting];
            wrong += !check(&expectations[i], cc, (enum setting)setting, want);
        }
    }
    assert_int_equal(wrong, 0);
}

static void transactions_cost_what_the_table_says(void **state) { costs_are(CELLAR_LAB_CC_CELL, NULL); }

/* Sharing costs nothing to a transaction that meets no other. */
static void transactions_of_mode_crest_cost_the_same(void **state) { costs_are(CELLAR_LAB_CC_CREST, NULL); }

/* Nor does watching for hot records. */
static void transactions_of_mode_cellar_cost_the_same(void **state) { costs_are(CELLAR_LAB_CC_CELLAR, NULL); }

/*
 * Mode `ford`, whose transactions are told after their writes: of the same scenarios, in their order. The check and
 * the log cost a round trip together, or none: FORD's budget is 2 for records written, 3 with others read, 2 to read
 * several, 1 to read one, and the unlock.
 */
static const struct cost ford_costs[][SETTINGS] = {
    /* read one record */
    {{1, 1, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {1, 1, 0, 0, 0, 0, 0}},
    /* read all of one record */
    {{1, 1, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {1, 1, 0, 0, 0, 0, 0}},
    /* read three records */
    {{2, 3, 0, 3, 0, 0, 0}, {3, 6, 0, 3, 0, 0, 0}, {2, 3, 0, 3, 0, 0, 0}, {2, 3, 0, 3, 0, 0, 0}},
    /* read two records in two blocks */
    {{3, 2, 0, 2, 0, 0, 0}, {5, 4, 0, 2, 0, 0, 0}, {3, 2, 0, 2, 0, 0, 0}, {3, 2, 0, 2, 0, 0, 0}},
    /* look for an absent key */
    {{2, 1, 0, 1, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}},
    /* update one cell */
    {{3, 1, 1, 0, 1, 2, 1}, {4, 2, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 2, 4, 1}},
    /* update a cell, read its neighbour */
    {{3, 1, 1, 0, 1, 2, 1}, {4, 2, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 2, 4, 1}},
    /* update two records */
    {{3, 2, 2, 0, 1, 4, 2}, {4, 4, 2, 0, 1, 4, 2}, {3, 2, 2, 0, 1, 4, 2}, {3, 2, 2, 0, 2, 8, 2}},
    /* update one record, read another */
    {{4, 2, 1, 1, 1, 2, 1}, {5, 4, 1, 1, 1, 2, 1}, {4, 2, 1, 1, 1, 2, 1}, {4, 2, 1, 1, 2, 4, 1}},
    /* insert */
    {{3, 1, 1, 0, 1, 2, 3}, {3, 1, 1, 0, 1, 2, 3}, {3, 1, 1, 0, 1, 3, 3}, {3, 1, 1, 0, 2, 4, 3}},
    /* delete */
    {{4, 2, 2, 0, 1, 2, 2}, {4, 2, 2, 0, 1, 2, 2}, {4, 2, 2, 0, 1, 3, 2}, {4, 2, 2, 0, 2, 4, 2}},
};

static void transactions_of_mode_ford_keep_to_its_budget(void **state) { costs_are(CELLAR_LAB_CC_FORD, ford_costs); }

/*
 * Mode `motor`: a reader pays a READ and a round trip for its snapshot, and nothing for validation; a writer a round
 * trip for its TS. Of a record are written what is displaced, the cells, and epoch numbers with tuples. Its
 * budget: 2 to read, 3 to the acknowledgement, 4 with others read.
 */
static const struct cost motor_costs[][SETTINGS] = {
    /* read one record */
    {{2, 2, 0, 0, 0, 0, 0}, {3, 3, 0, 0, 0, 0, 0}, {2, 3, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}},
    /* read all of one record */
    {{2, 2, 0, 0, 0, 0, 0}, {3, 3, 0, 0, 0, 0, 0}, {2, 3, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}},
    /* read three records */
    {{2, 4, 0, 0, 0, 0, 0}, {3, 7, 0, 0, 0, 0, 0}, {2, 7, 0, 0, 0, 0, 0}, {2, 4, 0, 0, 0, 0, 0}},
    /* read two records in two blocks */
    {{3, 3, 0, 0, 0, 0, 0}, {5, 5, 0, 0, 0, 0, 0}, {3, 5, 0, 0, 0, 0, 0}, {3, 3, 0, 0, 0, 0, 0}},
    /* look for an absent key */
    {{2, 2, 0, 0, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}, {3, 2, 0, 1, 0, 0, 0}, {2, 2, 0, 0, 0, 0, 0}},
    /* update one cell */
    {{4, 1, 1, 0, 1, 3, 1}, {5, 2, 1, 0, 1, 3, 1}, {4, 1, 1, 0, 1, 3, 1}, {5, 1, 1, 0, 2, 6, 1}},
    /* update a cell, read its neighbour */
    {{4, 1, 1, 0, 1, 3, 1}, {5, 2, 1, 0, 1, 3, 1}, {4, 1, 1, 0, 1, 3, 1}, {5, 1, 1, 0, 2, 6, 1}},
    /* update two records */
    {{4, 2, 2, 0, 1, 6, 2}, {5, 4, 2, 0, 1, 6, 2}, {4, 2, 2, 0, 1, 6, 2}, {5, 2, 2, 0, 2, 12, 2}},
    /* update one record, read another */
    {{5, 2, 1, 1, 1, 3, 1}, {6, 4, 1, 1, 1, 3, 1}, {5, 2, 1, 1, 1, 3, 1}, {6, 2, 1, 1, 2, 6, 1}},
    /* insert */
    {{4, 1, 1, 0, 1, 2, 1}, {4, 1, 1, 0, 1, 2, 1}, {4, 1, 1, 0, 1, 3, 1}, {5, 1, 1, 0, 2, 4, 1}},
    /* delete */
    {{5, 2, 2, 0, 1, 2, 2}, {5, 2, 2, 0, 1, 2, 2}, {5, 2, 2, 0, 1, 3, 2}, {6, 2, 2, 0, 2, 4, 2}},
};

static void transactions_of_mode_motor_keep_to_its_budget(void **state) { costs_are(CELLAR_LAB_CC_MOTOR, motor_costs); }

/*
 * Mode `2pl`: two round trips for each lock, the second one after the acknowledgement, one after the other; nothing
 * that was read under a lock is validated, and none of it torn on a fabric that writes by words. What is new has no
 * lock.
 */
static const struct cost twopl_costs[][SETTINGS] = {
    /* read one record */
    {{3, 1, 0, 0, 0, 0, 0}, {4, 2, 0, 0, 0, 0, 0}, {3, 1, 0, 0, 0, 0, 0}, {3, 1, 0, 0, 0, 0, 0}},
    /* read all of one record */
    {{3, 1, 0, 0, 0, 0, 0}, {4, 2, 0, 0, 0, 0, 0}, {3, 1, 0, 0, 0, 0, 0}, {3, 1, 0, 0, 0, 0, 0}},
    /* read three records */
    {{7, 3, 0, 0, 0, 0, 0}, {8, 6, 0, 0, 0, 0, 0}, {7, 3, 0, 0, 0, 0, 0}, {7, 3, 0, 0, 0, 0, 0}},
    /* read two records in two blocks */
    {{6, 2, 0, 0, 0, 0, 0}, {8, 4, 0, 0, 0, 0, 0}, {6, 2, 0, 0, 0, 0, 0}, {6, 2, 0, 0, 0, 0, 0}},
    /* look for an absent key */
    {{4, 1, 0, 1, 0, 0, 0}, {4, 1, 0, 1, 0, 0, 0}, {4, 1, 0, 1, 0, 0, 0}, {4, 1, 0, 1, 0, 0, 0}},
    /* update one cell */
    {{5, 1, 1, 0, 1, 2, 1}, {6, 2, 1, 0, 1, 2, 1}, {5, 1, 1, 0, 1, 2, 1}, {6, 1, 1, 0, 2, 3, 1}},
    /* update a cell, read its neighbour */
    {{5, 1, 1, 0, 1, 2, 1}, {6, 2, 1, 0, 1, 2, 1}, {5, 1, 1, 0, 1, 2, 1}, {6, 1, 1, 0, 2, 3, 1}},
    /* update two records */
    {{7, 2, 2, 0, 1, 4, 2}, {8, 4, 2, 0, 1, 4, 2}, {7, 2, 2, 0, 1, 4, 2}, {8, 2, 2, 0, 2, 6, 2}},
    /* update one record, read another */
    {{7, 2, 1, 0, 1, 2, 1}, {8, 4, 1, 0, 1, 2, 1}, {7, 2, 1, 0, 1, 2, 1}, {8, 2, 1, 0, 2, 3, 1}},
    /* insert */
    {{3, 1, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 1, 2, 1}, {3, 1, 1, 0, 1, 3, 1}, {4, 1, 1, 0, 2, 4, 1}},
    /* delete */
    {{6, 2, 2, 0, 1, 2, 2}, {6, 2, 2, 0, 1, 2, 2}, {6, 2, 2, 0, 1, 3, 2}, {7, 2, 2, 0, 2, 4, 2}},
};

static void transactions_of_mode_2pl_keep_to_its_budget(void **state) { costs_are(CELLAR_LAB_CC_TWOPL, twopl_costs); }

/* Apply and unlock come after the acknowledgement: one batch, or with backups two. */
static void acknowledgements_take_so_many_round_trips(void **state)
{
    static const struct {
        const char *name;
        uint32_t round_trips;
    } acknowledged[] = {{"read one record", 1},
                        {"read three records", 2},
                        {"update one cell", 2},
                        {"update two records", 2},
                        {"update one record, read another", 3}};
    for (uint32_t i = 0; i < sizeof acknowledged / sizeof *acknowledged; i++) {
        const struct expectation *found = expectations;
        while (strcmp(found->scenario.name, acknowledged[i].name) != 0) found++;
        const struct cost *warm = &found->costs[WARM], *replica = &found->costs[REPLICA];
        assert_int_equal(warm->round_trips - (warm->apply_writes ? 1 : 0), acknowledged[i].round_trips);
        assert_int_equal(replica->round_trips - (replica->apply_writes ? 2 : 0), acknowledged[i].round_trips);
    }
}

/* ---- transactions of one compute node that meet ---- */

static const struct meeting {
    struct sim_scenario scenario;
    /*
     * It matters which client comes first, or which worker's address cache is warm: one fetched for all then. In
     * coroutines it is the first one.
     */
    bool ordered;
    struct cost warm, replica; /* of all its transactions together */
} meetings[] = {
    {{"two write a cell", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, A, A)}}}},
     false,
     {4, 1, 1, 0, 2, 2, 1},
     {5, 1, 1, 0, 4, 3, 1}},
    {{"three write a cell", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, A, A)}}, {2, {UPDATE(0, A, A)}}}},
     false,
     {5, 1, 1, 0, 3, 2, 1},
     {6, 1, 1, 0, 6, 3, 1}},
    {{"two write neighbours", 1, {{0, {UPDATE(0, A, A)}}, {1, {UPDATE(0, B, B)}}}},
     false,
     {5, 2, 2, 0, 2, 2, 1},
     {6, 2, 2, 0, 4, 3, 1}},
    {{"one writes, another reads", 1, {{0, {UPDATE(0, A, A)}}, {1, {READ(0, A)}}}},
     true,
     {3, 1, 1, 0, 1, 2, 1},
     {4, 1, 1, 0, 2, 3, 1}},
    {{"two read", 1, {{0, {READ(0, A)}}, {1, {READ(0, A)}}}}, false, {2, 1, 0, 1, 0, 0, 0}, {2, 1, 0, 1, 0, 0, 0}},
    {{"two write two records", 3, {{0, {UPDATE(0, A, A), UPDATE(1, A, A)}}, {1, {UPDATE(1, A, A), UPDATE(0, A, A)}}}},
     true,
     {4, 2, 2, 0, 2, 4, 2},
     {5, 2, 2, 0, 4, 6, 2}},
};

static bool check_meeting(const struct meeting *meeting, enum setting setting, bool threads)
{
    struct sim_scenario_options options = options_of(CELLAR_LAB_CC_CREST, setting);
    struct sim_scenario_report report;
    options.clients_per_cn = sim_scenario_txn_count(&meeting->scenario); /* each has a client of its own */
    options.threads = threads;
    const char *verdict = sim_scenario_run(&meeting->scenario, &options, &report);
    if (verdict) fail_msg("%s, %s: %s", meeting->scenario.name, setting_names[setting], verdict);
    uint32_t txns = sim_scenario_txn_count(&meeting->scenario);
    for (uint32_t txn = 0; txn < txns; txn++) assert_int_equal(report.outcomes[txn].attempts, 1);
    struct cost cost = cost_of(&report.stats), want = setting == WARM ? meeting->warm : meeting->replica;
    bool same = !memcmp(&cost, &want, sizeof cost);
    if (!same)
        printf("%s, %s, %s: {%u, %u, %u, %u, %u, %u, %u}\n", meeting->scenario.name, setting_names[setting],
               threads ? "threads" : "coroutines", cost.round_trips, cost.execute_reads, cost.execute_locks,
               cost.validate_reads, cost.log_writes, cost.apply_writes, cost.apply_unlocks);
    return same;
}

/*
 * One fetches and locks for all, each logs, the last one applies and unlocks for all: a transaction that finds the
 * object held posts its log alone.
 */
static void who_finds_an_object_held_posts_its_log_alone(void **state)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < sizeof meetings / sizeof *meetings; i++) {
        for (int threads = 0; threads < (meetings[i].ordered ? 1 : 2); threads++) {
            wrong += !check_meeting(&meetings[i], WARM, threads);
            wrong += !check_meeting(&meetings[i], REPLICA, threads);
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(transactions_cost_what_the_table_says),
                                       cmocka_unit_test(transactions_of_mode_crest_cost_the_same),
                                       cmocka_unit_test(transactions_of_mode_cellar_cost_the_same),
                                       cmocka_unit_test(transactions_of_mode_ford_keep_to_its_budget),
                                       cmocka_unit_test(transactions_of_mode_motor_keep_to_its_budget),
                                       cmocka_unit_test(transactions_of_mode_2pl_keep_to_its_budget),
                                       cmocka_unit_test(acknowledgements_take_so_many_round_trips),
                                       cmocka_unit_test(who_finds_an_object_held_posts_its_log_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
