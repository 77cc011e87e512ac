/*
 * settings_options.h - the options of `cellar bench` as data: what each is named, takes, may be, and does when it is
 * left out. settings.c makes of them what a run needs.
 */
#pragma once

#include "settings.h"

/* Sets of workloads, for option_def.only. */
enum { TPCC = 1, SMALLBANK = 2, YCSB = 4, INDEX = 8 };

/* Its options are parsed into a struct settings. */
extern const struct options settings_options;
