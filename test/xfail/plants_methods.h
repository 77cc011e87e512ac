/* plants_methods.h - the methods of plants.h: what a search does with one seed, and what it finds. */
#pragma once

#include "plants.h"

/* What a search has found. In memory that its process shares with the one that started it: a bug may end it. */
struct plants_found {
    uint64_t seed; /* the one at work, or the last */
    bool caught;
    char checker[32], verdict[256]; /* which checker complains, and of what */
};
void plants_find(struct plants_found *found, const char *checker, const char *verdict);

/*
 * Runs that seed; what is found goes to `found`. Methods up to PLANTS_EXHAUST run all schedules up to the `seed`-th
 * at once, and set found->seed to the last one.
 */
typedef void (*plants_method_fn)(const struct plants_search *search, uint64_t seed, struct plants_found *found);

/* ---- on scenarios, one template or any (plants_on_scenarios.c) ---- */

void plants_run_template(const struct plants_search *search, uint64_t last, struct plants_found *found);
void plants_run_faulty(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_standing(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_standing_crash(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_muted(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_overtaken(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_refused(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_outlasted(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_suspected(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_reused(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_met_again(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_passing(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_half_seen(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_supplanted(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_lagging(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_crash(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_both_lost(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_template_crash(const struct plants_search *search, uint64_t seed, struct plants_found *found);

/* ---- on clusters and on bytes of the log (plants_on_clusters.c) ---- */

void plants_run_cluster(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_locks(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_entry(const struct plants_search *search, uint64_t seed, struct plants_found *found);
void plants_run_ring(const struct plants_search *search, uint64_t seed, struct plants_found *found);
