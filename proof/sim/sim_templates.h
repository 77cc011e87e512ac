/*
 * sim_templates.h - two or three small transactions, written out (sim_scenarios.h) on each shape of cluster, and by
 * rule (sim_programs.h) in both modes, searched through: under every schedule up to a number of preemptions, or under
 * many by PCT or by chance. A template's name is "scenario/variant".
 *
 * A schedule as text is "12:1 40:3" (sim_explore.h), or "pct SEED DEPTH WINDOW", or "preempt SEED STRIDE"; each
 * replays exactly.
 */
#pragma once

#include "sim_explore.h"
#include "sim_scenarios.h"
#include "sim_schedule.h"

#define SIM_TEMPLATES_NAME_BYTES 80

struct sim_template {
    struct sim_scenario scenario;
    const struct sim_scenarios_variant *variant;
    char name[SIM_TEMPLATES_NAME_BYTES];
    uint32_t txns;
};

struct sim_templates_result {
    uint64_t schedules;   /* that were run */
    uint64_t choices_max; /* in the longest of them */
    bool complete;        /* all schedules within the bound were run */
    bool failed;
    /*
     * Schedules of which both judges had their say: the search for a serial order, and the history's. Of these: only
     * the history complained, as it may where values do not tell versions apart; only the search did, so that the
     * history's checker is too weak.
     */
    uint64_t judged_twice, history_alone, history_missed;
    char verdict[256];                    /* of the failing schedule */
    char failing[SIM_EXPLORE_TEXT_BYTES]; /* as text */
};

uint32_t sim_templates_count(void);
/* Of these, the ones by rule, which come last: pairs, then triples. */
uint32_t sim_templates_pairs(void);
uint32_t sim_templates_triples(void);
/* i < count. */
struct sim_template sim_templates_at(uint32_t i);
/* Does `name` mean it: its whole name, its scenario, or "/variant"? NULL means all. */
bool sim_templates_match(const struct sim_template *template, const char *name);

/* 0: no schedule failed; -CORRUPT: one did; -INVALID: a bound beyond SIM_EXPLORE_PREEMPTIONS_MAX. */
int sim_templates_exhaust(const struct sim_template *template, uint32_t preemptions, uint64_t schedules_max,
                          struct sim_templates_result *result);
/*
 * `schedules` of them, each from a seed of its own, the first of which is `seed`: PCT of depths 1 to `depth`, in
 * turn.
 */
int sim_templates_pct(const struct sim_template *template, uint32_t depth, uint64_t seed, uint64_t schedules,
                      struct sim_templates_result *result);
/* The same, at one of 4, 8, 16 or 32 choices another candidate. */
int sim_templates_preempt(const struct sim_template *template, uint64_t seed, uint64_t schedules,
                          struct sim_templates_result *result);
/* Runs one schedule; -INVALID when `text` is none. */
int sim_templates_replay(const struct sim_template *template, const char *text, struct sim_templates_result *result);
