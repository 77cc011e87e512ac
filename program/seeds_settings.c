#include "seeds_settings.h"

#include "db.h"
#include "history_file.h"
#include "layout.h"
#include "must.h"
#include "partial.h"
#include "plant.h"
#include "style.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORKLOADS_MAX 64
#define SEEDS_MAX 100000000      /* their trace hashes are kept */
#define CLIENT_BYTES (80u << 10) /* of a coordinator: what it touches of its stack, its buffers and its log */

static const char *const schedules[] = {"random", "pct", "time", "preempt", NULL};
static const char *const reopens[] = {"never", "closed", "crashed", NULL};
static const char *const deciders[] = {"on", "off", NULL};
static const char *const en_bits[] = {"4", "16", NULL};

#define AT(field) offsetof(struct seeds_settings, field)

static const struct option_def defs[] = {
    {.group = "What to run",
     .name = "workload",
     .help = "whose transactions; all: drawn for each seed",
     .fallback = "all",
     .kind = OPTION_CHOICE,
     .offset = AT(workload)}, /* its choices: listing_make */
    {.name = "seeds",
     .argument = "A..B",
     .help = "seeds; each draws its cluster, load, schedule and faults",
     .fallback = "1..100",
     .kind = OPTION_TEXT,
     .offset = AT(seeds)},
    {.name = "seed", .argument = "N", .help = "this one only", .kind = OPTION_NUMBER, .offset = AT(seed), .min = 1},

    {.group = "What is not drawn",
     .name = "cc",
     .help = "concurrency control",
     .fallback = "drawn",
     .kind = OPTION_CHOICE,
     .offset = AT(cc),
     .choices = mode_table_names},
    {.name = "lock",
     .argument = "NAME",
     .help = "where records have locks: their algorithm",
     .fallback = "drawn",
     .kind = OPTION_TEXT,
     .offset = AT(plan.lock)},
    {.name = "cns",
     .argument = "N",
     .help = "compute nodes",
     .fallback = "drawn",
     .kind = OPTION_COUNT,
     .offset = AT(plan.cns),
     .min = 1,
     .max = FABRIC_CNS_MAX},
    {.name = "mns",
     .argument = "N",
     .help = "memory nodes",
     .fallback = "drawn",
     .kind = OPTION_COUNT,
     .offset = AT(plan.mns),
     .min = 1,
     .max = FABRIC_NODES_MAX},
    {.name = "threads",
     .argument = "N",
     .help = "worker threads of each compute node",
     .fallback = "drawn",
     .kind = OPTION_COUNT,
     .offset = AT(plan.threads),
     .min = 1,
     .max = 256},
    {.name = "coros",
     .argument = "N",
     .help = "coordinators of each thread",
     .fallback = "drawn",
     .kind = OPTION_COUNT,
     .offset = AT(plan.coros),
     .min = 1,
     .max = 256},
    {.name = "replicas",
     .argument = "F",
     .help = "backups of each record and log; fewer than --mns",
     .fallback = "drawn",
     .kind = OPTION_COUNT,
     .offset = AT(plan.replicas),
     .min = 0,
     .max = FABRIC_NODES_MAX - 1},
    {.name = "nic",
     .argument = "NAME",
     .help = "hardware profile (cellar list)",
     .fallback = "drawn",
     .kind = OPTION_TEXT,
     .offset = AT(nic)},
    {.name = "faults",
     .argument = "SPEC",
     .help = "swarm, none, or rates: reply_lost=0.001,delay=1e-4",
     .fallback = "swarm",
     .kind = OPTION_TEXT,
     .offset = AT(faults)},
    {.name = "schedule",
     .help = "what decides what happens next",
     .fallback = "drawn",
     .kind = OPTION_CHOICE,
     .offset = AT(schedule),
     .choices = schedules},
    {.name = "txns",
     .argument = "N",
     .help = "transactions of each client while there are faults",
     .fallback = "drawn",
     .kind = OPTION_COUNT,
     .offset = AT(plan.txns),
     .min = 1,
     .max = 1e9},
    {.name = "lease",
     .argument = "US",
     .help = "compute nodes notice losses by leases of so many us, or off",
     .fallback = "drawn",
     .kind = OPTION_TEXT,
     .offset = AT(lease)},
    {.name = "decider",
     .help = "a register outside of the pool decides which nodes are lost: late, lossy, away for a while",
     .fallback = "drawn",
     .kind = OPTION_CHOICE,
     .offset = AT(decider),
     .choices = deciders},
    {.name = "reopen",
     .help = "the pool is opened again: once it was closed, or all compute nodes crashed",
     .fallback = "drawn",
     .kind = OPTION_CHOICE,
     .offset = AT(reopen),
     .choices = reopens},
    {.name = "en-bits",
     .help = "bits of epoch numbers; 4 in builds with planted bugs",
     .fallback = "drawn",
     .kind = OPTION_CHOICE,
     .offset = AT(en_bits),
     .choices = en_bits},
    {.name = "plant",
     .argument = "NAME",
     .help = "a planted bug, in builds that have them",
     .kind = OPTION_TEXT,
     .offset = AT(plant)},

    {.group = "What is left out, in a line that replays a failure",
     .name = "drop-txns",
     .argument = "LIST",
     .help = "transactions, such as 0-5,9",
     .kind = OPTION_TEXT,
     .offset = AT(drop_txns)},
    {.name = "drop-faults",
     .argument = "LIST",
     .help = "faults, such as cn_crash:0,delay:3-5,reorder",
     .kind = OPTION_TEXT,
     .offset = AT(drop_faults)},
    {.name = "roll",
     .argument = "N",
     .help = "another draw of times and ties",
     .fallback = "0",
     .kind = OPTION_COUNT,
     .offset = AT(plan.roll),
     .max = 1 << 20},

    {.group = "How",
     .name = "jobs",
     .argument = "N",
     .help = "processes that run seeds side by side",
     .fallback = "the machine's cores",
     .kind = OPTION_COUNT,
     .offset = AT(jobs),
     .min = 1,
     .max = 1024},
    {.name = "keep-going",
     .help = "do not stop at the first seed that fails",
     .kind = OPTION_FLAG,
     .offset = AT(keep_going)},
    {.name = "no-shrink", .help = "report a failing seed as it is", .kind = OPTION_FLAG, .offset = AT(no_shrink)},
    {.name = "twice",
     .help = "run each seed twice; another trace hash is a failure",
     .kind = OPTION_FLAG,
     .offset = AT(twice)},
    {.name = "history",
     .argument = "FILE",
     .help = "of one --seed: write what its transactions did, for cellar check",
     .kind = OPTION_TEXT,
     .offset = AT(history)},
    {.name = "trace",
     .argument = "FILE",
     .help = "of one --seed: what its coordinators do and wait for, for Perfetto",
     .kind = OPTION_TEXT,
     .offset = AT(trace)},
    {.name = "trace-every",
     .argument = "N",
     .help = "trace one of so many transactions of each coordinator",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(trace_every),
     .min = 1,
     .max = 1000000000},
    {.name = "trace-hashes",
     .argument = "FILE",
     .help = "write the trace hash of each seed; - is stdout",
     .kind = OPTION_TEXT,
     .offset = AT(trace_hashes)},
    {.name = "json",
     .argument = "FILE",
     .help = "also write the summary as one JSON object; - is stdout",
     .kind = OPTION_TEXT,
     .offset = AT(json)},
};
static const struct options options = {.program = "cellar sim", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

/* The same options, with the workloads that are linked as choices of the first. */
struct listing {
    const char *workloads[WORKLOADS_MAX + 2];
    struct option_def defs[sizeof(defs) / sizeof(defs[0])];
    struct options options;
};

static void listing_make(struct listing *listing)
{
    const char *name;
    uint32_t count = 0;
    for (; (name = sim_plan_workload(count)); count++) {
        must(count < WORKLOADS_MAX);
        listing->workloads[count] = name;
    }
    listing->workloads[count] = "all";
    listing->workloads[count + 1] = NULL;
    memcpy(listing->defs, defs, sizeof defs);
    listing->defs[0].choices = listing->workloads;
    listing->options = options;
    listing->options.defs = listing->defs;
}

#define REFUSE(...) return err_set(error, CELLAR_INVALID, __VA_ARGS__)

/* "1..100" */
static int range_parse(const char *text, uint64_t *first, uint64_t *last, struct cellar_error *error)
{
    char *end = NULL;
    uint64_t low = strtoull(text, &end, 10), high = strncmp(end, "..", 2) == 0 ? strtoull(end + 2, NULL, 10) : 0;
    bool formed = strspn(text, "0123456789.") == strlen(text) && end != text && !strncmp(end, "..", 2) && end[2] &&
                  !strchr(end + 2, '.');
    if (!formed || strlen(text) > 40) REFUSE("--seeds needs a range such as 1..100, not '%.60s'", text);
    if (low < 1) REFUSE("--seeds %.60s: seeds begin at 1", text);
    if (high < low) REFUSE("--seeds %.60s: the second number is less than the first", text);
    if (high - low >= SEEDS_MAX) REFUSE("--seeds %.60s: at most %d seeds in one run", text, SEEDS_MAX);
    *first = low;
    *last = high;
    return 0;
}

static int seeds_resolve(struct seeds_settings *settings, uint64_t given, struct cellar_error *error)
{
    if (settings->seeds && settings->seed) REFUSE("--seed and --seeds exclude each other");
    settings->first = settings->last = settings->seed;
    if (!settings->seed)
        return range_parse(settings->seeds ? settings->seeds : "1..100", &settings->first, &settings->last, error);
    (void)given;
    return 0;
}

static int plant_resolve(const struct seeds_settings *settings, struct cellar_error *error)
{
    if (!settings->plant) return 0;
#ifdef CELLAR_PLANTS
    if (!plant_choose(settings->plant))
        REFUSE("there is no planted bug '%.60s' (*_plants.h in the rooms)", settings->plant);
    return 0;
#else
    return err_set(error, CELLAR_UNSUPPORTED,
                   "--plant %.60s: this build has no planted bugs (cmake -DPLANTS=ON makes one)", settings->plant);
#endif
}

static int hardware_resolve(struct seeds_settings *settings, struct cellar_error *error)
{
    struct sim_plan *plan = &settings->plan;
    plan->profile = settings->nic ? fabric_sim_profile_find(settings->nic) : NULL;
    if (settings->nic && !plan->profile) {
        char names[128] = "";
        for (uint32_t i = 0; fabric_sim_profile_at(i); i++)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
                     fabric_sim_profile_at(i)->name);
        REFUSE("--nic knows no '%.60s'; it takes one of: %s", settings->nic, names);
    }
    for (uint32_t i = 0; settings->schedule && schedules[i]; i++) {
        for (int schedule = SIM_SCHEDULE_RANDOM; schedule <= SIM_SCHEDULE_PREEMPT; schedule++)
            if (!strcmp(settings->schedule, sim_plan_schedule_name((enum sim_schedule)schedule)))
                plan->schedule = (enum sim_schedule)schedule;
    }
    return 0;
}

static int lease_resolve(struct seeds_settings *settings, struct cellar_error *error)
{
    char *end = NULL;
    if (!settings->lease || !strcmp(settings->lease, "off")) return 0;
    unsigned long us = strtoul(settings->lease, &end, 10);
    if (*settings->lease < '0' || *settings->lease > '9' || *end || us < 20 || us > LAYOUT_LEASE_US_MAX)
        REFUSE("--lease needs microseconds from 20 to %u, or off, not '%.60s'", LAYOUT_LEASE_US_MAX, settings->lease);
    settings->plan.lease_ns = us * 1000ull;
    return 0;
}

static uint32_t fixed_by(const struct seeds_settings *settings, uint64_t given)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } fixing[] = {
        {"cc", SIM_FIXED_CC},           {"cns", SIM_FIXED_CNS},           {"mns", SIM_FIXED_MNS},
        {"threads", SIM_FIXED_THREADS}, {"coros", SIM_FIXED_COROS},       {"replicas", SIM_FIXED_REPLICAS},
        {"nic", SIM_FIXED_PROFILE},     {"schedule", SIM_FIXED_SCHEDULE}, {"txns", SIM_FIXED_TXNS},
        {"en-bits", SIM_FIXED_EN},      {"lease", SIM_FIXED_LEASE},       {"lock", SIM_FIXED_LOCK},
        {"reopen", SIM_FIXED_REOPEN},   {"decider", SIM_FIXED_DECIDER},
    };
    uint32_t fixed = 0;
    for (uint32_t i = 0; i < sizeof(fixing) / sizeof(fixing[0]); i++)
        if (options_given(&options, given, fixing[i].name)) fixed |= fixing[i].bit;
    if (settings->workload && strcmp(settings->workload, "all") != 0) fixed |= SIM_FIXED_WORKLOAD;
    if (settings->faults && strcmp(settings->faults, "swarm") != 0) fixed |= SIM_FIXED_FAULTS;
    return fixed;
}

/* Files are opened when all is over: a user who misspelt a name should not have to wait for that. */
static int files_check(const struct seeds_settings *settings, struct cellar_error *error)
{
    const char *const paths[] = {settings->json, settings->trace_hashes};
    for (uint32_t i = 0; i < 2; i++) {
        if (!paths[i] || !strcmp(paths[i], "-")) continue;
        FILE *file = fopen(paths[i], "a");
        if (!file) return err_set(error, CELLAR_SYSTEM, "%s cannot be written: %s", paths[i], strerror(errno));
        fclose(file);
    }
    int code = settings->history ? partial_accept(settings->history, error) : 0;
    return code == 0 && settings->trace ? partial_accept(settings->trace, error) : code;
}

/* Of one run they say what it did. */
static int run_files_check(const struct seeds_settings *settings, uint64_t given, struct cellar_error *error)
{
    const char *const names[] = {"history", "trace"}, *const paths[] = {settings->history, settings->trace};
    for (uint32_t i = 0; i < 2; i++) {
        if (!paths[i]) continue;
        if (settings->first != settings->last) REFUSE("--%s belongs to one --seed", names[i]);
        if (!strcmp(paths[i], "-")) REFUSE("--%s needs a file of its own: - is none", names[i]);
    }
    if (!settings->trace && options_given(&options, given, "trace-every")) REFUSE("--trace-every needs --trace FILE");
    return files_check(settings, error);
}

/* Both are of the first plan; the others are drawn alike. */
static int plan_check(const struct seeds_settings *settings, const struct machine *machine, struct cellar_error *error)
{
    struct sim_plan *plan = malloc(sizeof(*plan));
    if (!plan) return err_set(error, CELLAR_NOMEM, "no memory for a plan");
    seeds_settings_plan(settings, settings->first, plan);
    int code = sim_plan_check(plan, error);
    uint64_t bytes = plan->mns * plan->pool_bytes + sim_plan_clients(plan) * CLIENT_BYTES;
    if (code == 0 && bytes > machine->memory_bytes) {
        char wanted[STYLE_BYTES], there[STYLE_BYTES];
        code = err_set(error, CELLAR_TOO_LARGE, "seed %llu needs about %s of memory; the machine has %s",
                       (unsigned long long)settings->first, style_bytes(wanted, bytes),
                       style_bytes(there, machine->memory_bytes));
    }
    free(plan);
    return code;
}

static int drops_resolve(struct seeds_settings *settings, struct cellar_error *error)
{
    int code = 0;
    if ((settings->drop_txns || settings->drop_faults) && settings->first != settings->last)
        REFUSE("--drop-txns and --drop-faults belong to one --seed");
    if (settings->drop_txns) code = sim_plan_drop_txns(&settings->plan, settings->drop_txns, error);
    if (code == 0 && settings->drop_faults) code = sim_plan_drop_faults(&settings->plan, settings->drop_faults, error);
    return code;
}

void seeds_settings_plan(const struct seeds_settings *settings, uint64_t seed, struct sim_plan *plan)
{
    *plan = settings->plan;
    sim_plan_draw(plan, seed, settings->fixed);
}

int seeds_settings_parse(int count, char *const *arguments, const struct machine *machine,
                         struct seeds_settings *settings, struct cellar_error *error)
{
    uint64_t given;
    memset(settings, 0, sizeof(*settings));
    settings->jobs = machine->cores;
    settings->trace_every = 1;
    struct listing listing;
    listing_make(&listing);
    int code = options_parse(&listing.options, count, arguments, settings, &given, error);
    if (code != 0) return code;
    settings->fixed = fixed_by(settings, given);
    if (settings->fixed & SIM_FIXED_WORKLOAD) settings->plan.workload = settings->workload;
    if (settings->cc) settings->plan.cc = (enum cellar_lab_cc)mode_find(settings->cc);
    for (int reopen = SIM_REOPEN_NEVER; settings->reopen && reopen <= SIM_REOPEN_CRASHED; reopen++)
        if (!strcmp(settings->reopen, sim_plan_reopen_name((enum sim_reopen)reopen)))
            settings->plan.reopen = (enum sim_reopen)reopen;
    settings->plan.decides = settings->decider && !strcmp(settings->decider, "on");
    settings->plan.en_small = settings->en_bits && !strcmp(settings->en_bits, "4");
    if (settings->cc && settings->plan.lock && !mode_of(settings->plan.cc)->locks)
        REFUSE("--lock is for modes whose records have locks, not --cc %s", settings->cc);
    code = seeds_resolve(settings, given, error);
    if (code == 0) code = plant_resolve(settings, error);
    if (code == 0) code = hardware_resolve(settings, error);
    if (code == 0 && settings->fixed & SIM_FIXED_FAULTS)
        code = fabric_sim_faults_parse(settings->faults, &settings->plan.faults, error);
    if (code == 0) code = lease_resolve(settings, error);
    if (code == 0) code = drops_resolve(settings, error);
    if (code == 0) code = plan_check(settings, machine, error);
    return code == 0 ? run_files_check(settings, given, error) : code;
}

void seeds_settings_print_help(FILE *out)
{
    struct listing listing;
    listing_make(&listing);
    fputs("Usage: cellar sim [options]\n\n"
          "Runs whole clusters in virtual time, with faults, each drawn from a seed, and checks all they do. A seed "
          "that\n"
          "fails is made small and printed with one line that replays it.\n",
          out);
    options_print(&listing.options, out);
    fputs("\nFaults\n", out);
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        fprintf(out, "  %-26s %s\n", fabric_sim_fault_name((enum fabric_sim_fault_kind)kind),
                fabric_sim_fault_text((enum fabric_sim_fault_kind)kind));
    fputs("\nExamples\n"
          "  cellar sim --seeds 1..1000\n"
          "  cellar sim --workload cells --seed 17 --cc cell\n"
          "  cellar sim --seed 17 --history run.jsonl; cellar check --history run.jsonl\n"
          "  cellar sim --workload smallbank --seeds 1..50 --faults reply_lost=0.01,cn_pause=1e-4\n"
          "\nExit status: 0 every check of every seed holds, 1 one does not, 2 wrong usage or an error.\n",
          out);
}
