/* sim_templates.c - the product of scenarios and variants, and the ways to search through it. */
#include "sim_templates.h"

#include "must.h"
#include "sim_programs.h"

#include <stdio.h>
#include <string.h>

#define WINDOW_FIRST 64 /* steps of the first schedule by PCT; then as many as the longest one so far had */

#define MODES 3 /* the first variants are one for each mode */

struct runner {
    const struct sim_template *template;
    struct sim_templates_result *result;
    struct sim_scenario_report report;
    bool unheld;
};

static uint32_t written_out(void) { return sim_scenarios_count * sim_scenarios_variant_count(); }

uint32_t sim_templates_pairs(void) { return sim_programs_pairs() * MODES; }

uint32_t sim_templates_triples(void) { return (sim_programs_count() - sim_programs_pairs()) * MODES; }

uint32_t sim_templates_count(void) { return written_out() + sim_programs_count() * MODES; }

struct sim_template sim_templates_at(uint32_t i)
{
    must(i < sim_templates_count());
    bool by_rule = i >= written_out();
    uint32_t variants = by_rule ? MODES : sim_scenarios_variant_count();
    if (by_rule) i -= written_out();
    struct sim_template template = {.variant = &sim_scenarios_variants[i % variants]};
    template.scenario = by_rule ? sim_programs_at(i / variants) : sim_scenarios_all[i / variants];
    template.txns = sim_scenario_txn_count(&template.scenario);
    int wrote = snprintf(template.name, sizeof template.name, "%s/%s", template.scenario.name, template.variant->name);
    must(wrote > 0 && wrote < (int)sizeof template.name);
    return template;
}

bool sim_templates_match(const struct sim_template *template, const char *name)
{
    if (!name) return true;
    if (name[0] == '/') return strcmp(name + 1, template->variant->name) == 0;
    return strcmp(name, template->name) == 0 || strcmp(name, template->scenario.name) == 0;
}

static const char *run_schedule(void *arg, fabric_sim_choose_fn choose, void *choose_arg)
{
    struct runner *runner = arg;
    struct sim_scenario_options options = runner->template->variant->options;
    options.choose = choose;
    options.choose_arg = choose_arg;
    options.unheld = runner->unheld;
    options.history = true;
    const char *verdict = sim_scenario_run(&runner->template->scenario, &options, &runner->report);
    const struct sim_scenario_judges *judges = &runner->report.judges;
    bool both = judges->model_asked && judges->history_asked;
    runner->result->judged_twice += both;
    runner->result->history_alone += both && judges->model_holds && !judges->history_holds;
    runner->result->history_missed += both && !judges->model_holds && judges->history_holds;
    return verdict;
}

/* ---- every schedule ---- */

static int report_exploration(int code, const struct sim_explore_result *explored, struct sim_templates_result *result)
{
    result->schedules = explored->schedules;
    result->choices_max = explored->choices_max;
    result->complete = explored->complete;
    result->failed = explored->failed;
    memcpy(result->verdict, explored->verdict, sizeof result->verdict);
    memcpy(result->failing, explored->failing, sizeof result->failing);
    return code;
}

int sim_templates_exhaust(const struct sim_template *template, uint32_t preemptions, uint64_t schedules_max,
                          struct sim_templates_result *result)
{
    *result = (struct sim_templates_result){0};
    struct runner runner = {.template = template, .result = result};
    struct sim_explore_config config = {
        .scenario = run_schedule, .arg = &runner, .max_preemptions = preemptions, .max_schedules = schedules_max};
    struct sim_explore_result explored;
    int code = sim_explore_run(&config, &explored);
    return report_exploration(code, &explored, result);
}

/* ---- many of them ---- */

/* Runs one schedule; true when it is well. */
static bool run_one(const struct sim_template *template, struct sim_schedule_state *schedule,
                    struct sim_templates_result *result)
{
    struct runner runner = {.template = template, .result = result, .unheld = schedule->hold_round_trips == 0};
    const char *verdict = run_schedule(&runner, schedule->choose, schedule);
    result->schedules++;
    if (schedule->steps > result->choices_max) result->choices_max = schedule->steps;
    if (!verdict) return true;
    result->failed = true;
    snprintf(result->verdict, sizeof result->verdict, "%s", verdict);
    return false;
}

int sim_templates_pct(const struct sim_template *template, uint32_t depth, uint64_t seed, uint64_t schedules,
                      struct sim_templates_result *result)
{
    *result = (struct sim_templates_result){0};
    if (depth < 1 || depth > SIM_SCHEDULE_DEPTH_MAX) return CELLAR_INVALID;
    bool well = true;
    for (uint64_t i = 0; well && i < schedules; i++, seed++) {
        struct sim_schedule_state schedule;
        uint64_t window = result->choices_max ? result->choices_max : WINDOW_FIRST;
        uint32_t this_depth = 1 + (uint32_t)(i % depth);
        sim_schedule_pct(&schedule, seed, this_depth, window, false);
        well = run_one(template, &schedule, result);
        if (!well)
            snprintf(result->failing, sizeof result->failing, "pct %llu %u %llu", (unsigned long long)seed, this_depth,
                     (unsigned long long)window);
    }
    return well ? 0 : CELLAR_CORRUPT;
}

int sim_templates_preempt(const struct sim_template *template, uint64_t seed, uint64_t schedules,
                          struct sim_templates_result *result)
{
    *result = (struct sim_templates_result){0};
    bool well = true;
    for (uint64_t i = 0; well && i < schedules; i++, seed++) {
        struct sim_schedule_state schedule;
        uint64_t stride = 4ull << i % 4;
        sim_schedule_preempt(&schedule, seed, stride);
        well = run_one(template, &schedule, result);
        if (!well)
            snprintf(result->failing, sizeof result->failing, "preempt %llu %llu", (unsigned long long)seed,
                     (unsigned long long)stride);
    }
    return well ? 0 : CELLAR_CORRUPT;
}

/* ---- one of them again ---- */

static bool parse_schedule(const char *text, struct sim_schedule_state *schedule)
{
    unsigned long long seed, window, stride;
    unsigned depth;
    int end = 0;
    if (sscanf(text, "pct %llu %u %llu%n", &seed, &depth, &window, &end) == 3 && text[end] == 0) {
        if (depth < 1 || depth > SIM_SCHEDULE_DEPTH_MAX || window < 1) return false;
        sim_schedule_pct(schedule, seed, depth, window, false);
        return true;
    }
    if (sscanf(text, "preempt %llu %llu%n", &seed, &stride, &end) != 2 || text[end] != 0 || stride < 1) return false;
    sim_schedule_preempt(schedule, seed, stride);
    return true;
}

int sim_templates_replay(const struct sim_template *template, const char *text, struct sim_templates_result *result)
{
    *result = (struct sim_templates_result){0};
    if (text[0] == 'p') {
        struct sim_schedule_state schedule;
        if (!parse_schedule(text, &schedule)) return CELLAR_INVALID;
        bool well = run_one(template, &schedule, result);
        snprintf(result->failing, sizeof result->failing, "%s", well ? "" : text);
        return well ? 0 : CELLAR_CORRUPT;
    }
    struct runner runner = {.template = template, .result = result};
    struct sim_explore_config config = {
        .scenario = run_schedule, .arg = &runner, .max_preemptions = SIM_EXPLORE_PREEMPTIONS_MAX, .max_schedules = 1};
    struct sim_explore_result explored;
    int code = sim_explore_replay(&config, text, &explored);
    return report_exploration(code, &explored, result);
}
