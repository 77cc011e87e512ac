/*
 * seeds_settings.h - what `cellar sim` was asked to do: which seeds, what of their plans is fixed, and how to go
 * about it.
 */
#pragma once

#include "machine.h"
#include "options.h"
#include "sim_plan.h"

struct seeds_settings {
    uint64_t first, last;
    struct sim_plan plan; /* what is fixed of every seed's plan; the rest is drawn */
    uint32_t fixed;       /* enum sim_fixed */
    uint32_t jobs;
    bool keep_going, no_shrink, twice;
    const char *trace_hashes, *json, *history, *trace;
    uint32_t trace_every;
    /* as written on the command line, before they become the above */
    const char *workload, *seeds, *cc, *nic, *faults, *schedule, *en_bits, *lease, *reopen, *decider, *plant,
        *drop_txns, *drop_faults;
    uint64_t seed;
};

/* Parses the arguments behind `cellar sim`. Returns 0, OPTIONS_HELP, or a negative code with one line. */
NODISCARD int seeds_settings_parse(int count, char *const *arguments, const struct machine *machine,
                                   struct seeds_settings *settings, struct cellar_error *error);
void seeds_settings_print_help(FILE *out);
/* The plan of one seed. */
void seeds_settings_plan(const struct seeds_settings *settings, uint64_t seed, struct sim_plan *plan);
