/*
 * settings_options.h - the options of `cellar bench` as data: what each is named, takes, may be, and does when it is
 * left out; those of a workload are its own (workload.h). settings.c makes of them what a run needs.
 */
#pragma once

#include "settings.h"

/* Those that all workloads have; parsed into a struct settings. */
extern const struct options settings_options;

/* The same and, behind them, those of one workload. */
struct settings_options_all {
    struct options options;
    struct option_def defs[OPTIONS_MAX];
};
void settings_options_make(const struct workload *workload, struct settings_options_all *all);
/* Of all that were given: the workload's own, as struct workload has them. */
uint64_t settings_options_own(uint64_t given);
/* All, with those of every workload. */
void settings_options_print(FILE *out);
