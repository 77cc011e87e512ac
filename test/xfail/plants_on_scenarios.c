#include "plants_methods.h"

#include "plants_adversary.h"
#include "plants_scenarios.h"
#include "sim_scenarios.h"
#include "sim_templates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define PCT_DEPTH 3
#define CRASH_AFTER 4    /* operations after a standstill */
#define SUSPECT_NS 60000 /* by then a small transaction or three have ended */
#define BOTH_STEPS_MAX 4000000
#define CLIENT_OPS 30    /* a first transaction has at most so many operations */
#define RECOVERY_OPS 150 /* of 100 recoveries after such a crash 94 have no more */
#define REDO_OPS 60      /* by then a recovery has redone what the log of a small transaction says */
#define CRASH_OPS 80     /* of a small transaction or three, with a few that are tried again */

/* What runs: a scenario, and what befalls it. */
struct setting {
    struct sim_template template;
    struct sim_scenario_options options;
};

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

static struct setting setting_of(const struct plants_search *search)
{
    struct setting setting = {.template = template_of(search)};
    setting.options = setting.template.variant->options;
    if (search->apart) setting.options.clients_per_cn = 0;
    return setting;
}

static void judge(const struct sim_scenario *scenario, const struct sim_scenario_options *options,
                  struct plants_found *found)
{
    struct sim_scenario_report report;
    const char *verdict = sim_scenario_run(scenario, options, &report);
    if (verdict) plants_find(found, checker_of(verdict), verdict);
}

static void befall(struct setting *setting, fabric_sim_fault_fn fault, void *arg)
{
    setting->options.fault = fault;
    setting->options.fault_arg = arg;
}

/* ---- preempted ---- */

/* All of them at once, so that PCT may learn how long a schedule is. */
void plants_run_template(const struct plants_search *search, uint64_t last, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct sim_scenarios_variant variant = {setting.template.variant->name, setting.options};
    struct sim_template template = setting.template;
    struct sim_templates_result result;
    template.variant = &variant;
    int code = search->method == PLANTS_PCT       ? sim_templates_pct(&template, PCT_DEPTH, 1, last, &result)
               : search->method == PLANTS_EXHAUST ? sim_templates_exhaust(&template, 1, last, &result)
                                                  : sim_templates_preempt(&template, 1, last, &result);
    found->seed = result.schedules;
    if (code) plants_find(found, checker_of(result.verdict), result.verdict);
}

static void run_preempted(struct setting *setting, uint64_t seed, struct plants_found *found)
{
    struct sim_schedule_state schedule;
    sim_schedule_preempt(&schedule, seed, 4ull << seed % 3);
    setting->options.choose = schedule.choose;
    setting->options.choose_arg = &schedule;
    judge(&setting->template.scenario, &setting->options, found);
}

void plants_run_faulty(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_striking striking;
    plants_strike(&striking, seed);
    befall(&setting, plants_striking_fault, &striking);
    run_preempted(&setting, seed, found);
}

void plants_run_template_crash(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_dying dying = {.client_cns = plants_client_cns(&setting.template.scenario, &setting.options),
                                 .spare_at = UINT64_MAX};
    struct prng prng;
    prng_seed(&prng, seed);
    dying.at = prng_below(&prng, CRASH_OPS);
    dying.how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)prng_below(&prng, 3);
    befall(&setting, plants_dying_fault, &dying);
    setting.options.spares = 1;
    setting.options.history = true;
    run_preempted(&setting, seed, found);
}

/* ---- some workers stand still for a while ---- */

/* As the options say what else befalls it. */
static void run_held(struct setting *setting, struct plants_holding *holding, struct plants_found *found)
{
    setting->options.choose = plants_holding_choose;
    setting->options.choose_arg = holding;
    setting->options.unheld = true;
    setting->options.history = !setting->options.ends_only;
    judge(&setting->template.scenario, &setting->options, found);
}

static void run_held_anywhere(struct setting *setting, uint64_t seed, struct plants_found *found)
{
    struct plants_holding holding;
    plants_hold(&holding, seed, &setting->template.scenario, &setting->options);
    run_held(setting, &holding, found);
}

void plants_run_standing(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    run_held_anywhere(&setting, seed, found);
}

/* A node dies at any operation, or at one of the first after the standstill. */
void plants_run_standing_crash(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_dying dying = {.client_cns = plants_client_cns(&setting.template.scenario, &setting.options),
                                 .spare_at = UINT64_MAX};
    struct plants_holding holding;
    struct prng prng;
    prng_seed(&prng, seed);
    setting.options.spares = 1;
    plants_hold(&holding, seed, &setting.template.scenario, &setting.options);
    bool after = prng_below(&prng, 2);
    dying.after = after ? &holding : NULL;
    dying.at = prng_below(&prng, after ? CRASH_AFTER : CRASH_OPS);
    dying.how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)prng_below(&prng, 3);
    befall(&setting, plants_dying_fault, &dying);
    run_held(&setting, &holding, found);
}

void plants_run_muted(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_muting muting;
    plants_mute(&muting, seed, &setting.options);
    befall(&setting, plants_muting_fault, &muting);
    setting.options.spares = 1;
    run_held_anywhere(&setting, seed, found);
}

void plants_run_overtaken(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_overtaking overtaking;
    setting.options.spares = 1;
    plants_overtake(&overtaking, seed, &setting.template.scenario, &setting.options);
    befall(&setting, plants_overtaking_fault, &overtaking);
    run_held(&setting, &overtaking.holding, found);
}

void plants_run_refused(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_refusing refusing;
    setting.options.spares = 1;
    plants_refuse(&refusing, seed, &setting.template.scenario, &setting.options);
    befall(&setting, plants_refusing_fault, &refusing);
    run_held_anywhere(&setting, seed, found);
}

void plants_run_outlasted(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_outlasting outlasting;
    setting.options.spares = 1;
    plants_outlast(&outlasting, seed);
    befall(&setting, plants_outlasting_fault, &outlasting);
    run_held(&setting, &outlasting.holding, found);
}

/* Node 0 is taken for dead while it is alive. */
void plants_run_suspected(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct prng prng;
    prng_seed(&prng, seed);
    setting.options.spares = 1;
    setting.options.suspect_ns = 1 + prng_below(&prng, SUSPECT_NS);
    run_held_anywhere(&setting, seed, found);
}

/* ---- steered ---- */

/* Faults and schedule are made so that they steer towards what the plant breaks. */
struct steering {
    fabric_sim_fault_fn fault;
    fabric_sim_choose_fn choose;
    void *arg;
    uint32_t spares;
};

static void run_steered(struct setting *setting, uint64_t seed, const struct steering *steering,
                        struct plants_found *found)
{
    befall(setting, steering->fault, steering->arg);
    setting->options.seed = seed;
    setting->options.choose = steering->choose;
    setting->options.choose_arg = steering->arg;
    setting->options.unheld = setting->options.history = true;
    setting->options.spares = steering->spares;
    judge(&setting->template.scenario, &setting->options, found);
}

void plants_run_reused(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_reusing reusing = {.choices = 0};
    const struct steering steering = {plants_reusing_fault, plants_reusing_choose, &reusing, 1};
    run_steered(&setting, seed, &steering, found);
}

void plants_run_met_again(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_meeting meeting = {.applied = seed % 2 == 0};
    const struct steering steering = {plants_meeting_fault, plants_meeting_choose, &meeting, 1};
    run_steered(&setting, seed, &steering, found);
}

void plants_run_passing(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_passing passing = {.primary = 0};
    const struct steering steering = {plants_passing_fault, plants_passing_choose, &passing, setting.options.spares};
    run_steered(&setting, seed, &steering, found);
}

void plants_run_half_seen(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_half_seeing half = {.unlocks = 0};
    const struct steering steering = {plants_half_seeing_fault, plants_half_seeing_choose, &half,
                                      setting.options.spares};
    run_steered(&setting, seed, &steering, found);
}

void plants_run_supplanted(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_supplanting supplanting;
    plants_supplant(&supplanting, seed, &setting.template.scenario, &setting.options);
    const struct steering steering = {plants_supplanting_fault, plants_supplanting_choose, &supplanting, 2};
    run_steered(&setting, seed, &steering, found);
}

/* ---- by the simulator's own schedule ---- */

void plants_run_lagging(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct setting setting = setting_of(search);
    struct plants_lagging lagging;
    plants_lag(&lagging, seed);
    befall(&setting, plants_lagging_fault, &lagging);
    setting.options.seed = seed;
    setting.options.history = setting.options.refill = true;
    setting.options.spares = 1;
    setting.options.steps_max = BOTH_STEPS_MAX;
    judge(&setting.template.scenario, &setting.options, found);
}

/* Where a client dies, and in half of all runs the node that recovers it. */
static struct plants_dying deaths_drawn(struct prng *prng)
{
    return (struct plants_dying){.at = prng_below(prng, CLIENT_OPS),
                                 .spare_at = prng_below(prng, 2) ? prng_below(prng, RECOVERY_OPS) : UINT64_MAX,
                                 .how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)prng_below(prng, 3)};
}

/* Runs of one template differ in nothing else, so all pairs of deaths are tried in turn, and none is met by luck. */
static struct plants_dying deaths_in_turn(uint64_t seed)
{
    return (struct plants_dying){.at = seed / REDO_OPS / 3,
                                 .spare_at = seed % REDO_OPS,
                                 .how = FABRIC_SIM_CRASH_BEFORE + (enum fabric_sim_fault)(seed / REDO_OPS % 3)};
}

void plants_run_crash(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct prng prng;
    struct sim_template template = search->template ? template_of(search) : sim_templates_at(0);
    prng_seed(&prng, seed);
    const struct sim_scenario *drawn = &sim_scenarios_all[prng_below(&prng, sim_scenarios_quick)];
    const struct sim_scenario *scenario = search->template ? &template.scenario : drawn;
    struct sim_scenario_options options =
        sim_scenarios_variants[prng_below(&prng, sim_scenarios_variants_quick)].options;
    if (search->template) options = template.variant->options;
    struct plants_dying dying = search->template ? deaths_in_turn(seed) : deaths_drawn(&prng);
    dying.client_cns = plants_client_cns(scenario, &options);
    options.spares = 2;
    options.history = true;
    options.fault = plants_dying_fault;
    options.fault_arg = &dying;
    judge(scenario, &options, found);
}

void plants_run_both_lost(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    (void)search;
    struct prng prng;
    prng_seed(&prng, seed);
    const struct sim_scenario *scenario = &sim_scenarios_all[prng_below(&prng, sim_scenarios_quick)];
    struct sim_scenario_options options = {.cc = CELLAR_LAB_CC_CELL,
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
    both.dying.client_cns = plants_client_cns(scenario, &options);
    options.fault = plants_both_dying_fault;
    options.fault_arg = &both;
    judge(scenario, &options, found);
}
