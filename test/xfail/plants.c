#include "plants.h"

#include "lock_run.h"
#include "logseg.h"
#include "plant.h"
#include "plants_adversary.h"
#include "plants_scenarios.h"
#include "recover_log.h"
#include "sim_run.h"
#include "sim_scenarios.h"
#include "sim_templates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PCT_DEPTH 3
#define CRASH_BEHIND 4   /* operations behind a standstill */
#define SUSPECT_NS 60000 /* by then a small transaction or three have ended */
#define BOTH_STEPS_MAX 4000000
#define CRASH_OPS 80           /* of a small transaction or three, with a few that are tried again */
#define LOCK_STEPS_MAX 1500000 /* of clusters of lock clients: seeds that take longer are few, and none is needed */
#define SEARCH_SECONDS 300     /* of a search that goes round in circles: not caught */

/* What a search has found. In memory that its process shares with this one: a bug may end it. */
struct found {
    uint64_t seed; /* the one at work, or the last */
    bool caught;
    char checker[32], verdict[256];
};

/* ---- one seed ---- */

static void find(struct found *found, const char *checker, const char *verdict)
{
    found->caught = true;
    snprintf(found->checker, sizeof found->checker, "%s", checker);
    snprintf(found->verdict, sizeof found->verdict, "%s", verdict);
}

/* Which of a scenario's checkers has this to say? */
static const char *checker_of(const char *verdict)
{
    if (strstr(verdict, "for ever") || strstr(verdict, "never end")) return "progress";
    if (strstr(verdict, "INV-") || strstr(verdict, "table scenario")) return "audit";
    if (strstr(verdict, "only the history")) return "history";
    return strstr(verdict, "torn") ? "value" : "serial order";
}

static struct sim_template template_of(const struct plants_search *search)
{
    struct sim_template own;
    if (plants_scenarios_find(search->template, &own)) return own;
    for (uint32_t i = 0; i < sim_templates_count(); i++) {
        struct sim_template template = sim_templates_at(i);
        if (strcmp(template.name, search->template) == 0) return template;
    }
    fail_msg("no template %s", search->template);
    return sim_templates_at(0);
}

/* All of them at once, so that PCT may learn how long a schedule is. */
static void run_template(const struct plants_search *search, uint64_t last, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_templates_result result;
    int code = search->method == PLANTS_PCT       ? sim_templates_pct(&template, PCT_DEPTH, 1, last, &result)
               : search->method == PLANTS_EXHAUST ? sim_templates_exhaust(&template, 2, last, &result)
                                                  : sim_templates_preempt(&template, 1, last, &result);
    found->seed = result.schedules;
    if (code) find(found, checker_of(result.verdict), result.verdict);
}

static void run_faulty(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct sim_scenario_report report;
    struct sim_schedule_state schedule;
    struct plants_striking striking;
    plants_strike(&striking, seed);
    sim_schedule_preempt(&schedule, seed, 4ull << seed % 3);
    options.choose = schedule.choose;
    options.choose_arg = &schedule;
    options.fault = plants_striking_fault;
    options.fault_arg = &striking;
    const char *verdict = sim_scenario_run(&template.scenario, &options, &report);
    if (verdict) find(found, checker_of(verdict), verdict);
}

/* A scenario of which some workers stand still for a while, as options say what else befalls it. */
static void run_held(const struct sim_template *template, struct sim_scenario_options *options,
                     struct plants_holding *holding, struct found *found)
{
    struct sim_scenario_report report;
    options->choose = plants_holding_choose;
    options->choose_arg = holding;
    options->unheld = true;
    options->history = !options->ends_only;
    const char *verdict = sim_scenario_run(&template->scenario, options, &report);
    if (verdict) find(found, checker_of(verdict), verdict);
}

static void run_standing(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct plants_holding holding;
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    plants_hold(&holding, seed, &template.scenario, &options);
    run_held(&template, &options, &holding, found);
}

/* A node dies at any operation, or at one of the first behind the standstill. */
static void run_standing_crash(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct plants_dying dying = {.client_cns = plants_client_cns(&template.scenario, &options), .spare_at = UINT64_MAX};
    struct plants_holding holding;
    struct prng prng;
    prng_seed(&prng, seed);
    options.spares = 1;
    plants_hold(&holding, seed, &template.scenario, &options);
    bool behind = prng_below(&prng, 2);
    dying.behind = behind ? &holding : NULL;
    dying.at = prng_below(&prng, behind ? CRASH_BEHIND : CRASH_OPS);
    dying.how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)prng_below(&prng, 3);
    options.fault = plants_dying_fault;
    options.fault_arg = &dying;
    run_held(&template, &options, &holding, found);
}

static void run_muted(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct plants_holding holding;
    struct plants_muting muting;
    plants_mute(&muting, seed, &options);
    options.fault = plants_muting_fault;
    options.fault_arg = &muting;
    options.spares = 1;
    plants_hold(&holding, seed, &template.scenario, &options);
    run_held(&template, &options, &holding, found);
}

/* Faults and schedule are made by one who steers towards what the plant breaks. */
struct steering {
    fabric_sim_fault_fn fault;
    fabric_sim_choose_fn choose;
    void *arg;
    uint32_t spares;
};

static void run_steered(const struct sim_template *template, uint64_t seed, const struct steering *steering,
                        struct found *found)
{
    struct sim_scenario_options options = template->variant->options;
    struct sim_scenario_report report;
    options.seed = seed;
    options.fault = steering->fault;
    options.choose = steering->choose;
    options.fault_arg = options.choose_arg = steering->arg;
    options.unheld = options.history = true;
    options.spares = steering->spares;
    const char *verdict = sim_scenario_run(&template->scenario, &options, &report);
    if (verdict) find(found, checker_of(verdict), verdict);
}

static void run_reused(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct plants_reusing reusing = {.choices = 0};
    const struct steering steering = {plants_reusing_fault, plants_reusing_choose, &reusing, 1};
    run_steered(&template, seed, &steering, found);
}

static void run_overtaken(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct plants_overtaking overtaking;
    options.spares = 1;
    plants_overtake(&overtaking, seed, &template.scenario, &options);
    options.fault = plants_overtaking_fault;
    options.fault_arg = &overtaking;
    run_held(&template, &options, &overtaking.holding, found);
}

static void run_refused(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct plants_holding holding;
    struct plants_refusing refusing;
    options.spares = 1;
    plants_refuse(&refusing, seed, &template.scenario, &options);
    options.fault = plants_refusing_fault;
    options.fault_arg = &refusing;
    plants_hold(&holding, seed, &template.scenario, &options);
    run_held(&template, &options, &holding, found);
}

static void run_met_again(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct plants_meeting meeting = {.applied = seed % 2 == 0};
    const struct steering steering = {plants_meeting_fault, plants_meeting_choose, &meeting, 1};
    run_steered(&template, seed, &steering, found);
}

static void run_passing(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct plants_passing passing = {.primary = 0};
    const struct steering steering = {plants_passing_fault, plants_passing_choose, &passing,
                                      template.variant->options.spares};
    run_steered(&template, seed, &steering, found);
}

static void run_supplanted(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct plants_supplanting supplanting;
    plants_supplant(&supplanting, seed, &template.scenario, &options);
    const struct steering steering = {plants_supplanting_fault, plants_supplanting_choose, &supplanting, 2};
    run_steered(&template, seed, &steering, found);
}

static void run_outlasted(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct plants_outlasting outlasting;
    options.spares = 1;
    plants_outlast(&outlasting, seed);
    options.fault = plants_outlasting_fault;
    options.fault_arg = &outlasting;
    run_held(&template, &options, &outlasting.holding, found);
}

static void run_lagging(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct sim_scenario_report report;
    struct plants_lagging lagging;
    plants_lag(&lagging, seed);
    options.seed = seed;
    options.fault = plants_lagging_fault;
    options.fault_arg = &lagging;
    options.history = options.refill = true;
    options.spares = 1;
    options.steps_max = BOTH_STEPS_MAX;
    const char *verdict = sim_scenario_run(&template.scenario, &options, &report);
    if (verdict) find(found, checker_of(verdict), verdict);
}

/* Node 0 is taken for dead while it is alive. */
static void run_suspected(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct plants_holding holding;
    struct prng prng;
    prng_seed(&prng, seed);
    options.spares = 1;
    options.suspect_ns = 1 + prng_below(&prng, SUSPECT_NS);
    plants_hold(&holding, seed, &template.scenario, &options);
    run_held(&template, &options, &holding, found);
}

static void run_crash(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct prng prng;
    struct sim_template template = search->template ? template_of(search) : sim_templates_at(0);
    prng_seed(&prng, seed);
    const struct sim_scenario *drawn = &sim_scenarios_all[prng_below(&prng, sim_scenarios_quick)];
    const struct sim_scenario *scenario = search->template ? &template.scenario : drawn;
    struct sim_scenario_options options =
        sim_scenarios_variants[prng_below(&prng, sim_scenarios_variants_quick)].options;
    if (search->template) options = template.variant->options;
    struct sim_scenario_report report;
    struct plants_dying dying = {.at = prng_below(&prng, 30),
                                 .spare_at = prng_below(&prng, 2) ? prng_below(&prng, 150) : UINT64_MAX,
                                 .how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)prng_below(&prng, 3)};
    dying.client_cns = plants_client_cns(scenario, &options);
    options.spares = 2;
    options.history = true;
    options.fault = plants_dying_fault;
    options.fault_arg = &dying;
    const char *verdict = sim_scenario_run(scenario, &options, &report);
    if (verdict) find(found, checker_of(verdict), verdict);
}

static void run_both_lost(uint64_t seed, struct found *found)
{
    struct prng prng;
    prng_seed(&prng, seed);
    const struct sim_scenario *scenario = &sim_scenarios_all[prng_below(&prng, sim_scenarios_quick)];
    struct sim_scenario_options options = {.cc = CELLAR_CC_CELL,
                                           .seed = seed,
                                           .torn = true,
                                           .warm = true,
                                           .mns = 2,
                                           .replicas = 1,
                                           .spares = 2,
                                           .refill = true,
                                           .history = true,
                                           .steps_max = BOTH_STEPS_MAX};
    struct plants_both_dying both = {
        .dying = {.at = prng_below(&prng, CRASH_OPS),
                  .spare_at = UINT64_MAX,
                  .how = FABRIC_SIM_CRASH_AMID + (enum fabric_sim_fault)prng_below(&prng, 2)},
        .node = (uint32_t)prng_below(&prng, 2)};
    struct sim_scenario_report report;
    both.dying.client_cns = plants_client_cns(scenario, &options);
    options.fault = plants_both_dying_fault;
    options.fault_arg = &both;
    const char *verdict = sim_scenario_run(scenario, &options, &report);
    if (verdict) find(found, checker_of(verdict), verdict);
}

static void run_template_crash(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct sim_template template = template_of(search);
    struct sim_scenario_options options = template.variant->options;
    struct sim_scenario_report report;
    struct sim_schedule_state schedule;
    struct plants_dying dying = {.client_cns = plants_client_cns(&template.scenario, &options), .spare_at = UINT64_MAX};
    struct prng prng;
    prng_seed(&prng, seed);
    dying.at = prng_below(&prng, CRASH_OPS);
    dying.how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)prng_below(&prng, 3);
    sim_schedule_preempt(&schedule, seed, 4ull << seed % 3);
    options.choose = schedule.choose;
    options.choose_arg = &schedule;
    options.fault = plants_dying_fault;
    options.fault_arg = &dying;
    options.spares = 1;
    options.history = true;
    const char *verdict = sim_scenario_run(&template.scenario, &options, &report);
    if (verdict) find(found, checker_of(verdict), verdict);
}

#define FIX(field, bit) (shape->field ? (plan->field = shape->field, (uint32_t)(bit)) : 0)

static void plan_draw(const struct plants_shape *shape, uint64_t seed, struct sim_plan *plan)
{
    struct cellar_error error = {0};
    uint32_t fixed = SIM_FIXED_WORKLOAD | SIM_FIXED_EN | FIX(cns, SIM_FIXED_CNS) | FIX(threads, SIM_FIXED_THREADS) |
                     FIX(coros, SIM_FIXED_COROS) | FIX(mns, SIM_FIXED_MNS) | FIX(replicas, SIM_FIXED_REPLICAS) |
                     FIX(txns, SIM_FIXED_TXNS) | (shape->faults ? (uint32_t)SIM_FIXED_FAULTS : 0) |
                     (shape->timely ? (uint32_t)SIM_FIXED_SCHEDULE : 0) | SIM_FIXED_LEASE;
    plan->schedule = SIM_SCHEDULE_TIME;
    plan->lease_ns = shape->lease_us * 1000ull;
    plan->workload = "cells";
    plan->cc = shape->cellar  ? CELLAR_CC_CELLAR
               : shape->motor ? CELLAR_CC_MOTOR
               : shape->ford  ? CELLAR_CC_FORD
                              : CELLAR_CC_CREST;
    if (shape->crest || shape->cellar || shape->motor || shape->ford) fixed |= SIM_FIXED_CC;
    plan->en_small = shape->en_small;
    if (shape->faults) assert_int_equal(fabric_sim_faults_parse(shape->faults, &plan->faults, &error), 0);
    sim_plan_draw(plan, seed, fixed);
    FIX(keys, 0);
    FIX(cells, 0);
    FIX(cell_bytes, 0);
    if (shape->accesses) plan->accesses_max = shape->accesses;
}

static void run_cluster(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct cellar_error error = {0};
    struct sim_plan *plan = calloc(1, sizeof *plan);
    struct sim_report *report = calloc(1, sizeof *report);
    assert_true(plan && report);
    plan_draw(&search->shape, seed, plan);
    int code = sim_run(plan, report, &error);
    if (code == -CELLAR_ERR_CORRUPT)
        find(found, report->checker, report->verdict);
    else if (code != 0)
        fail_msg("seed %llu cannot be run: %s", (unsigned long long)seed, error.text);
    free(plan);
    free(report);
}

/* An entry as it stands after a crash amid its WRITE: of its lines some are what was there before. */
static void run_entry(uint64_t seed, struct found *found)
{
    uint8_t buffer[8 * LAYOUT_LINE] __attribute__((aligned(8))) = {0};
    struct logseg seg;
    struct logseg_entry entry;
    struct prng prng;
    struct fabric_addr at;
    prng_seed(&prng, seed);
    logseg_init(&seg, fabric_addr_of(0, 1 << 20), 1 << 16, 0, 0, 1);
    logseg_entry_begin(&entry, buffer, sizeof buffer);
    uint8_t *value = logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, LAYOUT_LINE), 1, 1, 0, 256);
    assert_non_null(value);
    memset(value, 0xff, 256);
    assert_int_equal(logseg_entry_finish(&seg, &entry, 1, 0, &at), 0);
    uint64_t line = prng_below(&prng, entry.bytes / LAYOUT_LINE);
    memset(buffer + line * LAYOUT_LINE, (int)prng_below(&prng, 2), LAYOUT_LINE);
    if (logseg_parse(buffer, entry.bytes))
        find(found, "log", "an entry counts although a line of it was never written");
}

#define RING_BYTES 4096

/* A few entries of random sizes by one incarnation, from the ring's start on; the number of the last one. */
static uint64_t ring_write(uint8_t *ring, uint64_t incarnation, struct prng *prng)
{
    uint64_t count = 2 + prng_below(prng, 6);
    struct logseg seg;
    logseg_init(&seg, fabric_addr_of(0, 1 << 20), RING_BYTES, 0, 0, incarnation);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t buffer[8 * LAYOUT_LINE] __attribute__((aligned(8))) = {0};
        struct logseg_entry entry;
        struct fabric_addr at;
        uint32_t bytes = 8 * (uint32_t)(1 + prng_below(prng, 40));
        logseg_entry_begin(&entry, buffer, sizeof buffer);
        uint8_t *value = logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, LAYOUT_LINE), 1, 1, 0, bytes);
        assert_non_null(value);
        assert_int_equal(logseg_entry_finish(&seg, &entry, i + 1, i, &at), 0);
        memcpy(ring + (fabric_addr_offset(at) - (1 << 20)), buffer, entry.bytes);
    }
    return seg.sequence;
}

/* Two incarnations of a node wrote to one ring, and the later one has died: nothing but its own entries are in question. */
static void run_ring(uint64_t seed, struct found *found)
{
    uint8_t ring[RING_BYTES] __attribute__((aligned(8))) = {0};
    struct recover_log log;
    struct cellar_error error = {0};
    struct prng prng;
    prng_seed(&prng, seed);
    (void)ring_write(ring, 1, &prng);
    uint64_t last = ring_write(ring, 2, &prng);
    recover_log_init(&log, 0, 2);
    int code = recover_log_add(&log, ring, RING_BYTES, fabric_addr_of(0, 1 << 20), 0, 0);
    if (code == 0) code = recover_log_decide(&log, &error);
    if (code) find(found, "log", error.text);
    for (uint32_t i = 0; i < log.count && !found->caught; i++)
        if (log.entries[i].due != (log.entries[i].wire->sequence == last) || log.entries[i].wire->incarnation != 2)
            find(found, "log", "an entry counts that another incarnation wrote");
    recover_log_free(&log);
}

/*
 * Packets of a chain are lost, and its head fails while somebody holds: either it is back before anybody has missed it, and the chain is
 * told what is held; or it is away for long, and the others go on with what they know.
 */
static void shape_chain(struct lock_run_plan *plan)
{
    plan->schedule = SIM_SCHEDULE_TIME;
    plan->cns = plan->workers = plan->clients = 2;
    plan->switches = 3;
    plan->locks = 1;
    plan->read_percent = plan->pair_percent = 0;
    plan->rounds = 5;
    plan->healed_rounds = 1;
    plan->cs_ops = 200;
    plan->lease_ns = 200000;
    plan->loss_ppm = 60000;
    plan->fail_ppm = 300;
    plan->down_ns = plan->seed % 2 ? plan->lease_ns / 2 : 8 * plan->lease_ns;
    plan->faults = (struct fabric_sim_faults){0};
}

/* Its checker is what stands before the colon. */
static void run_locks(const struct plants_search *search, uint64_t seed, struct found *found)
{
    struct lock_run_plan plan;
    struct lock_run_report report;
    char checker[32];
    assert_true(lock_run_draw(&plan, search->lock, search->policy, seed));
    if (search->lock_late) {
        plan.dawdle_percent = 3;
        plan.schedule = SIM_SCHEDULE_TIME;
        plan.lease_ns = 100000;
        plan.rounds = 10;
        plan.faults =
            (struct fabric_sim_faults){.length_max_ns = 4 * plan.lease_ns, .each_max = 100, .retry_ns = 1000000000};
        plan.faults.rate[FABRIC_SIM_FAULT_late_completion] = 0.2;
    }
    if (search->lock_one || search->lock_late) {
        plan.locks = 1;
        plan.pair_percent = 0;
        plan.read_percent = 50;
    }
    if (search->lock_long) {
        plan.slots_max = 4;
        plan.dawdle_percent = 20;
        plan.faults = (struct fabric_sim_faults){0};
    }
    if (search->lock_chain) shape_chain(&plan);
    if (search->lock_lose) lock_run_lose(&plan);
    if (!search->lock_lose && !search->lock_long) plan.steps_max = LOCK_STEPS_MAX;
    if (lock_run(&plan, &report)) return;
    snprintf(checker, sizeof checker, "%.*s", (int)strcspn(report.verdict, ":"), report.verdict);
    find(found, checker, report.verdict);
}

/* ---- many, in a process of their own ---- */

static void run_seed(const struct plants_search *search, uint64_t seed, struct found *found)
{
    switch (search->method) {
    case PLANTS_CLUSTER:
        run_cluster(search, seed, found);
        break;
    case PLANTS_FAULTY:
        run_faulty(search, seed, found);
        break;
    case PLANTS_CRASH:
        run_crash(search, seed, found);
        break;
    case PLANTS_BOTH_LOST:
        run_both_lost(seed, found);
        break;
    case PLANTS_TEMPLATE_CRASH:
        run_template_crash(search, seed, found);
        break;
    case PLANTS_STANDING:
        run_standing(search, seed, found);
        break;
    case PLANTS_STANDING_CRASH:
        run_standing_crash(search, seed, found);
        break;
    case PLANTS_MUTED:
        run_muted(search, seed, found);
        break;
    case PLANTS_OVERTAKEN:
        run_overtaken(search, seed, found);
        break;
    case PLANTS_REFUSED:
        run_refused(search, seed, found);
        break;
    case PLANTS_MET_AGAIN:
        run_met_again(search, seed, found);
        break;
    case PLANTS_PASSING:
        run_passing(search, seed, found);
        break;
    case PLANTS_SUPPLANTED:
        run_supplanted(search, seed, found);
        break;
    case PLANTS_OUTLASTED:
        run_outlasted(search, seed, found);
        break;
    case PLANTS_LAGGING:
        run_lagging(search, seed, found);
        break;
    case PLANTS_REUSED:
        run_reused(search, seed, found);
        break;
    case PLANTS_SUSPECTED:
        run_suspected(search, seed, found);
        break;
    case PLANTS_RING:
        run_ring(seed, found);
        break;
    case PLANTS_LOCKS:
        run_locks(search, seed, found);
        break;
    default:
        run_entry(seed, found);
        break;
    }
}

static void run_seeds(const struct plants_search *search, uint64_t last, struct found *found)
{
    bool one_by_one = search->method > PLANTS_EXHAUST;
    if (search->en_bits) plant_choice.en_bits = search->en_bits;
    plant_choice.ring_bytes = search->ring_bytes;
    alarm(SEARCH_SECONDS);
    found->seed = last;
    if (!one_by_one) run_template(search, last, found);
    for (uint64_t seed = 1; one_by_one && seed <= last && !found->caught; seed++) {
        found->seed = seed;
        run_seed(search, seed, found);
        if (search->checker && strcmp(found->checker, search->checker) != 0) found->caught = false;
    }
}

/* A bug may crash: that ends this process, and cmocka is not asked. */
static void signals_reset(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (uint32_t i = 0; i < sizeof signals / sizeof *signals; i++) (void)signal(signals[i], SIG_DFL);
}

/* Seeds 1 to `last`, with that bug or (NULL) none. */
static struct found search_seeds(const struct plants_search *search, const char *plant, uint64_t last)
{
    int status;
    struct found *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    assert_true(plant_choose(plant));
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signals_reset();
        run_seeds(search, last, shared);
        _exit(0);
    }
    assert_true(plant_choose(NULL));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM && !shared->caught) {
        char text[64];
        snprintf(text, sizeof text, "the process ended with signal %d", WTERMSIG(status));
        find(shared, "crash", text);
    } else {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct found found = *shared;
    munmap(shared, sizeof *shared);
    return found;
}

/* ---- tests ---- */

static const char *where(const struct plants_search *search)
{
    bool any = search->method == PLANTS_CRASH || search->method == PLANTS_BOTH_LOST;
    if (any && !search->template) return "crashes";
    if (search->method == PLANTS_LOCKS) return search->lock;
    return search->method == PLANTS_CLUSTER ? "cells"
           : search->method == PLANTS_ENTRY ? "entry"
           : search->method == PLANTS_RING  ? "ring"
                                            : search->template;
}

static void plant_is_caught(void **state)
{
    const struct plants_search *search = *state;
    struct found found = search_seeds(search, search->plant, PLANTS_SEEDS_MAX);
    printf("%-26s seeds %4llu, %s: %s: %s\n", search->plant, (unsigned long long)found.seed, where(search),
           found.caught ? found.checker : "not caught", found.verdict);
    assert_true(found.caught);
    found = search_seeds(search, NULL, found.seed);
    if (found.caught)
        fail_msg("%s, seed %llu, without a bug: %s: %s", where(search), (unsigned long long)found.seed, found.checker,
                 found.verdict);
}

static const char *text_of(const char *plant)
{
#define X(name, text)                                                                                                  \
    if (strcmp(plant, #name) == 0) return text;
    PLANT_MAP(X)
#undef X
    return "";
}

static int print_table(const struct plants_search *searches, uint32_t count)
{
    static const char *const methods[] = {
        [PLANTS_PREEMPT] = "preempted",
        [PLANTS_PCT] = "PCT",
        [PLANTS_EXHAUST] = "all schedules",
        [PLANTS_FAULTY] = "preempted, with faults",
        [PLANTS_CLUSTER] = "whole clusters",
        [PLANTS_CRASH] = "recovered",
        [PLANTS_BOTH_LOST] = "a memory node too",
        [PLANTS_TEMPLATE_CRASH] = "a node dies",
        [PLANTS_STANDING] = "some stand still",
        [PLANTS_STANDING_CRASH] = "some stand still, a node dies",
        [PLANTS_MUTED] = "log WRITEs without replies",
        [PLANTS_OVERTAKEN] = "its recoverer overtaken",
        [PLANTS_REFUSED] = "a log not shown for a while",
        [PLANTS_MET_AGAIN] = "an old address in use, replies lost",
        [PLANTS_PASSING] = "its WRITEs ahead of its tag",
        [PLANTS_SUPPLANTED] = "its recovery taken over",
        [PLANTS_OUTLASTED] = "one stands still, a node dies",
        [PLANTS_LAGGING] = "a clock's backup misses additions",
        [PLANTS_REUSED] = "log space used again",
        [PLANTS_SUSPECTED] = "taken for dead",
        [PLANTS_RING] = "two incarnations",
        [PLANTS_ENTRY] = "cut short",
        [PLANTS_LOCKS] = "lock clients",
    };
    int code = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct plants_search *search = &searches[i];
        struct found found = search_seeds(search, search->plant, PLANTS_SEEDS_MAX);
        printf("| %s | %s | %s, %s | %llu | %s |\n", search->plant, text_of(search->plant), where(search),
               methods[search->method], (unsigned long long)found.seed, found.caught ? found.checker : "not caught");
        code |= !found.caught;
    }
    return code;
}

int plants_main(int argc, char **argv, const struct plants_search *searches, uint32_t count)
{
    if (argc > 1 && strcmp(argv[1], "--table") == 0) return print_table(searches, count);
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (!tests) return 1;
    for (uint32_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){searches[i].plant, plant_is_caught, NULL, NULL, (void *)&searches[i]};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = _cmocka_run_group_tests("plants", tests, count, NULL, NULL);
    free(tests);
    return failed;
}
