/* sim_plan.c - draws a plan from a seed, and judges whether its parts fit together. */
#include "sim_plan.h"

#include "db.h"
#include "fabric.h"
#include "layout.h"
#include "plant.h"
#include "prng.h"
#include "rivals.h"
#include "workload.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_CHUNKS 48          /* of the table of values, its companions, their indexes, */
#define VALUES_CHUNKS_WORKER 40   /* ... and of one worker's extents, of values and of the log */
#define STREAM_PLAN 0x706c616eull /* apart from every other use of the seed */
#define STREAM_WORKLOAD 0x776f726bull
#define STREAM_HOT 0x686f74ull
#define STREAM_RIVALS 0x726976ull
#define STREAM_LOCKS 0x6c6f636bull
#define STREAM_REOPEN 0x72656f70ull
#define STREAM_UPSERTS 0x75707365ull
#define STREAM_WAYS 0x77617973ull
#define STREAM_DECIDES 0x64656373ull
#define STREAM_PARTITIONS 0x70617274ull
#define STREAM_SESSIONS 0x73657373ull
#define STREAM_VALUES 0x76616c75ull
#define STREAM_ORDERED 0x6f726465726564ull
#define STREAM_PEOPLE 0x70656f706c65ull
#define STREAM_HERDS 0x6865726473ull
#define STREAM_HOLDS 0x686f6c6473ull
#define STREAM_REMAKES 0x72656d616b6573ull
#define STREAM_SIZE 0x73697a65ull
#define WEIGHTS 20              /* of `all`: what other workloads leave is cells' */
#define SESSIONS_ONE_IN 10      /* seeds that would run cells; and ranges, likewise */
#define HERDS_CHUNKS 512        /* of the table of herds and its orders, */
#define HERDS_CHUNKS_WORKER 256 /* ... and of one worker's rows and extents of the log */
#define HERDS_TXNS 160          /* of all clients together, where there are herds */
#define RANGES_CHUNKS 256
#define ORDERED_CHUNKS_WORKER 16
#define RANGES_LOG_BYTES (512u << 10)
#define DECIDES_ONE_IN 4 /* seeds with a register that decides */
#define WAYS_ONE_IN 4    /* seeds whose compute nodes turn from way to way */
#define RIVALS_ONE_IN 10 /* seeds: what they cost must not be missing elsewhere */
#define TWOPL_ONE_IN 3   /* of them */
#define CNS_DRAWN 6      /* 20 cells leave tags of 3 bits: 7 compute nodes */
#define MNS_DRAWN 4
#define THREADS_DRAWN 3
#define COROS_DRAWN 8
#define CREST_CNS_DRAWN 3 /* mode crest: few nodes, with many coordinators that meet in one record cache */
#define CREST_THREADS_DRAWN 4
#define CREST_COROS_DRAWN 12
#define REPLICAS_DRAWN 2
#define CLIENTS_MAX 65536
#define TOTAL_TXNS_DRAWN 2500    /* of all clients, so that every one of them has a number that can be left out */
#define ROW_VALUE_BYTES_MAX 2800 /* so that SIM_ACCESSES_MAX of them fit half of the smallest log */
#define RECORD_GROWTH 3          /* of a record that keeps old versions, at most */
#define LOG_BYTES_BIG (128u << 10)

#define DRAW(prng, table) ((table)[prng_below(prng, sizeof(table) / sizeof((table)[0]))])

/* ---- workloads ---- */

static const char *const own_workloads[] = {"cells", "sessions", "ranges"};
#define OWN_WORKLOADS (sizeof own_workloads / sizeof *own_workloads)

/* Of the table, the one at that place among the plan's draws; NULL: there is none. */
static const struct workload *workload_at(uint32_t place)
{
    for (uint32_t i = 0; workload_table[i]; i++)
        if (workload_table[i]->sim && workload_table[i]->sim->place == place) return workload_table[i];
    return NULL;
}

/* NULL: it is the simulator's own, or none that it runs. */
static const struct workload *workload_of(const struct sim_plan *plan)
{
    const struct workload *workload = workload_find(plan->workload);
    return workload && workload->sim ? workload : NULL;
}

const char *sim_plan_workload(uint32_t number)
{
    const struct workload *one;
    if (number < OWN_WORKLOADS) return own_workloads[number];
    number -= OWN_WORKLOADS;
    for (uint32_t place = 1; (one = workload_at(place)); place++)
        if (number-- == 0) return one->name;
    for (uint32_t i = 0; workload_table[i]; i++)
        if (workload_table[i]->sim && !workload_table[i]->sim->place && number-- == 0) return workload_table[i]->name;
    return NULL;
}

/* ---- drawing ---- */

static void draw_shape(struct sim_plan *plan, struct prng *prng, uint32_t fixed)
{
    bool crest = mode_of(plan->cc)->shares;
    uint32_t cns = (uint32_t)prng_between(prng, 1, crest ? CREST_CNS_DRAWN : CNS_DRAWN);
    uint32_t mns = (uint32_t)prng_between(prng, 1, MNS_DRAWN);
    uint32_t threads = (uint32_t)prng_between(prng, 1, crest ? CREST_THREADS_DRAWN : THREADS_DRAWN);
    uint32_t coros = (uint32_t)prng_between(prng, 1, crest ? CREST_COROS_DRAWN : COROS_DRAWN);
    uint32_t replicas = (uint32_t)prng_between(prng, 0, REPLICAS_DRAWN);

    if (!(fixed & SIM_FIXED_CNS)) plan->cns = cns;
    if (!(fixed & SIM_FIXED_THREADS)) plan->threads = threads;
    if (!(fixed & SIM_FIXED_COROS)) plan->coros = coros;
    if (!(fixed & SIM_FIXED_MNS))
        plan->mns = fixed & SIM_FIXED_REPLICAS && mns <= plan->replicas ? plan->replicas + 1 : mns;
    if (!(fixed & SIM_FIXED_REPLICAS)) plan->replicas = replicas < plan->mns ? replicas : plan->mns - 1;
}

static void draw_hardware(struct sim_plan *plan, struct prng *prng, uint32_t fixed)
{
    static const enum sim_schedule schedules[] = {SIM_SCHEDULE_RANDOM, SIM_SCHEDULE_RANDOM,  SIM_SCHEDULE_RANDOM,
                                                  SIM_SCHEDULE_PCT,    SIM_SCHEDULE_PREEMPT, SIM_SCHEDULE_TIME};
    uint32_t profiles = 0;
    while (fabric_sim_profile_at(profiles)) profiles++;
    const struct fabric_sim_profile *profile = fabric_sim_profile_at((uint32_t)prng_below(prng, profiles));
    enum sim_schedule schedule = DRAW(prng, schedules);
    bool torn = prng_below(prng, 2);

    if (!(fixed & SIM_FIXED_PROFILE)) plan->profile = profile;
    if (!(fixed & SIM_FIXED_SCHEDULE)) plan->schedule = schedule;
    plan->pct_depth = (uint32_t)prng_between(prng, 2, 3);
    plan->words = prng_below(prng, 4) == 0;
    plan->torn = plan->schedule == SIM_SCHEDULE_RANDOM || (plan->schedule != SIM_SCHEDULE_TIME && torn);
}

/* Compute nodes that the tags of a table of so many cells can name (cellar.h). */
static uint32_t nodes_nameable(uint32_t cells)
{
    uint32_t bits = 60 / cells < 8 ? 60 / cells : 8;
    return (1u << bits) - 1;
}

/* Of a whole workload. Those that have a place are drawn whichever is run, and in this order. */
static void draw_size(struct sim_plan *plan, struct prng *prng)
{
    const struct workload *workload = workload_of(plan), *one;
    for (uint32_t place = 1; (one = workload_at(place)); place++) {
        uint32_t size = one->sim->sizes[prng_below(prng, one->sim->size_count)];
        if (one == workload) plan->keys = size;
    }
    if (!workload || workload->sim->place) return;
    struct prng own;
    prng_seed_stream(&own, plan->seed, STREAM_SIZE);
    plan->keys = workload->sim->sizes[prng_below(&own, workload->sim->size_count)];
}

/* Sizes of the workload; the records of cells are so few that all clients meet. */
static void draw_load(struct sim_plan *plan, struct prng *prng)
{
    static const uint32_t keys[] = {1, 2, 3, 4, 6, 8, 12, 20, 40}, hot_keys[] = {1, 2, 2, 3, 4, 6, 12, 40};
    static const uint32_t widths[] = {8, 8, 16, 40, 56, 64, 120, 300, 1000};

    plan->keys = mode_of(plan->cc)->shares ? DRAW(prng, hot_keys) : DRAW(prng, keys);
    plan->tables = (uint32_t)prng_between(prng, 1, SIM_TABLES_MAX);
    plan->cells = (uint32_t)prng_between(prng, 1, CELLAR_CELLS_MAX);
    while (nodes_nameable(plan->cells) < plan->cns) plan->cells--;
    plan->cell_bytes = DRAW(prng, widths);
    if (plan->cells * plan->cell_bytes > ROW_VALUE_BYTES_MAX)
        plan->cell_bytes = ROW_VALUE_BYTES_MAX / plan->cells / 8 * 8;
    plan->accesses_max = (uint32_t)prng_between(prng, 1, SIM_ACCESSES_MAX);
    plan->theta = (double)prng_below(prng, 6) / 4;
    draw_size(plan, prng);
}

static void draw_txns(struct sim_plan *plan, struct prng *prng, uint32_t fixed)
{
    static const uint32_t totals[] = {30, 60, 120, 250, 500, 1000, TOTAL_TXNS_DRAWN};
    uint32_t total = DRAW(prng, totals), clients = sim_plan_clients(plan);
    const struct workload *workload = workload_of(plan);
    if (workload && workload->sim->txns_max && total > workload->sim->txns_max) total = workload->sim->txns_max;
    uint32_t txns = total / clients;
    if (!(fixed & SIM_FIXED_TXNS)) plan->txns = txns < 2 ? 2 : txns;
}

/* The same tables and transactions, whether clients think between two calls or not. */
static bool has_cells(const struct sim_plan *plan)
{
    return !strcmp(plan->workload, "cells") || !strcmp(plan->workload, "sessions");
}

/* Can that mode run it? */
static bool is_run_by(const struct sim_plan *plan, enum cellar_lab_cc cc)
{
    if (!strcmp(plan->workload, "ranges")) return !mode_of(cc)->versions;
    return strcmp(plan->workload, "sessions") != 0 || !mode_of(cc)->locks;
}

/* ---- memory ---- */

/* Of one memory node's area: spares and the seal (storage/layout.h). */
static uint64_t chunks_aside(const struct sim_plan *plan) { return 1 + (plan->cns + plan->mns) / plan->mns; }

/*
 * Chunks of one memory node's primary area that the run needs at least: what is set aside, logs, indexes, and what is
 * loaded.
 */
static uint64_t chunks_least(const struct sim_plan *plan)
{
    uint64_t per_cn = (plan->threads * plan->coros + plan->mns - 1) / plan->mns;
    uint64_t chunks =
        1 + chunks_aside(plan) + plan->cns * per_cn * ((plan->log_bytes + LAYOUT_CHUNK_BYTES - 1) / LAYOUT_CHUNK_BYTES);
    if (has_cells(plan)) {
        uint64_t rows = (uint64_t)plan->keys * (3 * ROW_VALUE_BYTES_MAX), workers = plan->cns * plan->threads;
        if (plan->values) chunks += VALUES_CHUNKS + workers * VALUES_CHUNKS_WORKER;
        if (plan->ordered) chunks += plan->tables * (RANGES_CHUNKS + workers * ORDERED_CHUNKS_WORKER);
        if (plan->people) /* of three orders; and one that comes and goes, and as many of another table */
            chunks += (plan->remakes ? 8 : 3) * (RANGES_CHUNKS + workers * ORDERED_CHUNKS_WORKER);
        if (plan->herds) chunks += HERDS_CHUNKS + workers * HERDS_CHUNKS_WORKER;
        return chunks + plan->tables * (6 + rows / LAYOUT_CHUNK_BYTES);
    }
    return chunks;
}

/* Of a whole workload, in as few tables as it can have. */
static uint64_t loaded_bytes(const struct sim_plan *plan)
{
    const struct workload_sim_load load = {.size = plan->keys, .tables = 1, .accesses_max = 1};
    const struct workload *workload = workload_of(plan);
    union workload_room room;
    workload_defaults(workload, plan->seed, &room);
    workload->sim->configure(&room.config, &load);
    return workload->pool_bytes(&room.config);
}

/*
 * Every worker takes chunks of its own for the records that it inserts: with few to spare some inserts find the pool
 * FULL.
 */
static void draw_memory(struct sim_plan *plan, struct prng *prng)
{
    static const uint32_t logs[] = {64, 64, 80, 128, 256}, spare[] = {0, 1, 2, 4, 16, 64, 256};
    uint64_t chunks = DRAW(prng, spare);

    plan->log_bytes = (uint64_t)DRAW(prng, logs) << 10;
    if (plan->ordered || plan->people || plan->herds) plan->log_bytes = RANGES_LOG_BYTES;
    if (!strcmp(plan->workload, "ranges")) {
        plan->log_bytes = RANGES_LOG_BYTES;
        chunks = RANGES_CHUNKS + plan->cns * plan->threads * 16;
    } else if (!has_cells(plan)) {
        if (plan->log_bytes < LOG_BYTES_BIG) plan->log_bytes = LOG_BYTES_BIG;
        uint64_t workers = (uint64_t)plan->cns * plan->threads;
        chunks = 64 + loaded_bytes(plan) * 2 / LAYOUT_CHUNK_BYTES + workers * 16;
    }
    chunks += chunks_least(plan);
    if (mode_of(plan->cc)->versions) chunks *= RECORD_GROWTH;
    if (mode_of(plan->cc)->locks) chunks += chunks / 8 + 1; /* the table of locks */
    plan->pool_bytes = (LAYOUT_HEAP_OFFSET + (chunks + 1) * LAYOUT_CHUNK_BYTES) / LAYOUT_CHUNK_BYTES *
                       LAYOUT_CHUNK_BYTES * (plan->replicas + 1);
    if (plan->pool_bytes < 1 << 20) plan->pool_bytes = 1 << 20;
}

/* ---- faults ---- */

/* Those after which a node is missing for good. */
static bool loses_node(enum fabric_sim_fault_kind kind)
{
    return kind == FABRIC_SIM_FAULT_cn_crash || kind == FABRIC_SIM_FAULT_cn_suspect ||
           kind == FABRIC_SIM_FAULT_mn_crash;
}

/*
 * Half of the kinds, each at a rate of its own; in half of the runs no node is lost, and so nothing is hidden from
 * the checkers.
 */
static void draw_faults(struct sim_plan *plan, struct prng *prng, uint32_t fixed)
{
    static const double rates[] = {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2};
    static const uint64_t lengths_us[] = {5, 20, 20, 100, 100, 1000, 10000, 10000000}, retries_us[] = {10, 100, 1000};
    static const uint32_t each[] = {1, 5, 20, 100};
    bool losses = prng_below(prng, 2), quiet = prng_below(prng, 8) == 0;
    struct fabric_sim_faults *faults = &plan->faults;

    for (uint32_t kind = 0; kind <= FABRIC_SIM_FAULT_preempt; kind++) { /* behind it: draw_partitions */
        bool on = prng_below(prng, 2);
        double rate = DRAW(prng, rates);
        if (quiet || (loses_node((enum fabric_sim_fault_kind)kind) && !losses)) on = false;
        if (!(fixed & SIM_FIXED_FAULTS)) faults->rate[kind] = on ? rate : 0;
    }
    uint32_t cn_losses = (uint32_t)prng_between(prng, 1, CNS_DRAWN - 1), mn_losses = (uint32_t)prng_between(prng, 1, 2);
    faults->cn_losses_max = cn_losses < plan->cns ? cn_losses : plan->cns - 1;
    faults->mn_losses_max = mn_losses < plan->mns ? mn_losses : plan->mns - 1;
    faults->length_max_ns = DRAW(prng, lengths_us) * 1000;
    faults->retry_ns = DRAW(prng, retries_us) * 1000;
    faults->each_max = DRAW(prng, each);
    plan->heal = prng_below(prng, 3) != 0;
}

/* A stream of its own, so that all else stays what it was. */
static void draw_reopen(struct sim_plan *plan, uint64_t seed, uint32_t fixed)
{
    static const enum sim_reopen ways[] = {SIM_REOPEN_NEVER, SIM_REOPEN_NEVER, SIM_REOPEN_NEVER,  SIM_REOPEN_NEVER,
                                           SIM_REOPEN_NEVER, SIM_REOPEN_NEVER, SIM_REOPEN_CLOSED, SIM_REOPEN_CRASHED};
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_REOPEN);
    enum sim_reopen reopen = DRAW(&prng, ways);
    plan->reopen_txn = (uint32_t)prng_below(&prng, plan->txns + 1);
    if (!(fixed & SIM_FIXED_REOPEN)) plan->reopen = reopen;
}

/* Likewise; in half of the runs. */
static void draw_upserts(struct sim_plan *plan, uint64_t seed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_UPSERTS);
    plan->upserts = prng_below(&prng, 2);
}

/* Likewise; of sessions, where the mode has them. */
static void draw_values(struct sim_plan *plan, uint64_t seed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_VALUES);
    plan->values = prng_below(&prng, 2) && !strcmp(plan->workload, "sessions") && !mode_of(plan->cc)->versions;
}

/* Likewise; in a third of the runs. */
static void draw_ordered(struct sim_plan *plan, uint64_t seed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_ORDERED);
    plan->ordered = !prng_below(&prng, 3) && !strcmp(plan->workload, "sessions") && !mode_of(plan->cc)->versions;
}

/* Likewise; in half of the runs. */
static void draw_people(struct sim_plan *plan, uint64_t seed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_PEOPLE);
    plan->people = prng_below(&prng, 2) && !strcmp(plan->workload, "sessions") && !mode_of(plan->cc)->versions;
}

/* Likewise; in half of the runs that have people. */
static void draw_remakes(struct sim_plan *plan, uint64_t seed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_REMAKES);
    uint64_t kind = prng_below(&prng, 4);
    plan->remakes = plan->people && kind > 1 ? (uint32_t)kind - 1 : SIM_REMAKES_NOTHING;
}

/* Likewise, where there are coordinators for it; in half of the runs. */
static void draw_holds(struct sim_plan *plan, uint64_t seed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_HOLDS);
    plan->holds = prng_below(&prng, 2) && !strcmp(plan->workload, "sessions") && plan->coros > 1;
}

/* Likewise, where it may; in a sixth of the runs, which have fewer transactions. */
static void draw_herds(struct sim_plan *plan, uint64_t seed, uint32_t fixed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_HERDS);
    plan->herds = !prng_below(&prng, 6) && !strcmp(plan->workload, "sessions") && !mode_of(plan->cc)->versions &&
                  !mode_of(plan->cc)->undo && !plan->holds;
    uint32_t most = HERDS_TXNS / sim_plan_clients(plan);
    if (plan->herds && !(fixed & SIM_FIXED_TXNS) && plan->txns > most) plan->txns = most < 2 ? 2 : most;
}

/*
 * Likewise. Each wait that is measured is short enough for the plain way and too long to stay there, so compute nodes
 * turn at each sample, or at each few; or go the plain way only, or some of them.
 */
static void draw_ways(struct sim_plan *plan, uint64_t seed)
{
    static const char *const rules[] = {"plain-ns=1000000000,shared-ns=0,samples=1,every=1,coros=0",
                                        "plain-ns=1000000000,shared-ns=0,samples=1,every=1,coros=0",
                                        "plain-ns=1000000000,shared-ns=0,samples=2,every=3,coros=2",
                                        "plain-ns=1000000000,shared-ns=0,samples=12,every=1",
                                        "plain-ns=3000,shared-ns=3000,samples=4,every=2,coros=0",
                                        "plain-ns=1000000000,shared-ns=1000000000,samples=1,every=1"};
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_WAYS);
    bool drawn = prng_below(&prng, WAYS_ONE_IN) == 0;
    const char *way = DRAW(&prng, rules);
    plan->way = drawn && mode_of(plan->cc)->way ? way : NULL;
}

/* Half of the runs. Under `pct` time means too little: a node that is not chosen for long would be suspected by all. */
static void draw_lease(struct sim_plan *plan, struct prng *prng, uint32_t fixed)
{
    static const uint32_t leases_us[] = {100, 500, 2000, 2000, 10000};
    bool on = prng_below(prng, 2);
    uint64_t lease_ns = (uint64_t)DRAW(prng, leases_us) * 1000;
    if (!(fixed & SIM_FIXED_LEASE)) plan->lease_ns = on && plan->schedule != SIM_SCHEDULE_PCT ? lease_ns : 0;
}

static const char *workload_draw(uint64_t seed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_WORKLOAD);
    uint64_t at = prng_below(&prng, WEIGHTS), from = WEIGHTS;
    const struct workload *one;
    for (uint32_t place = 1; (one = workload_at(place)); place++) from -= one->sim->weight;
    for (uint32_t place = 1; (one = workload_at(place)); from += one->sim->weight, place++)
        if (at >= from && at < from + one->sim->weight) return one->name;
    prng_seed_stream(&prng, seed, STREAM_SESSIONS);
    uint64_t other = prng_below(&prng, SESSIONS_ONE_IN);
    return other == 0 ? "sessions" : other == 1 ? "ranges" : "cells";
}

static void draw_decides(struct sim_plan *plan, uint64_t seed, uint32_t fixed)
{
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_DECIDES);
    bool decides = prng_below(&prng, DECIDES_ONE_IN) == 0;
    if (!(fixed & SIM_FIXED_DECIDER)) plan->decides = decides;
}

/* Between nodes and the register, and one way between compute nodes: where a register decides. */
static void draw_partitions(struct sim_plan *plan, uint64_t seed, uint32_t fixed)
{
    static const double rates[] = {1e-4, 5e-4, 1e-3, 5e-3};
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_PARTITIONS);
    for (uint32_t kind = FABRIC_SIM_FAULT_preempt + 1; kind < FABRIC_SIM_FAULT_KINDS; kind++) {
        bool on = prng_below(&prng, 2);
        double rate = DRAW(&prng, rates);
        if (fixed & SIM_FIXED_FAULTS) continue;
        plan->faults.rate[kind] = on && plan->decides && !mode_of(plan->cc)->locks ? rate : 0;
    }
}

/* Mode 2pl: do leases of its lock hold by clocks that all compute nodes share? */
static bool clocks_trusted(const struct sim_plan *plan) { return strcmp(plan->lock, "drtm") == 0; }

/*
 * Mode 2pl: what can be survived depends on the lock. All locks of a memory node are lost with it, which only its
 * backups are told of. A holder that cannot tell whether it holds a lock stops, and leaves it locked: where a lock
 * does not survive its holder no client may lose a reply, or be suspected. DecLock's waiters reset a dead holder's
 * lock, and wait until that is recovered: by leases, since clients that are told of a loss recover between their
 * transactions.
 */
static bool outlived(const struct sim_plan *plan, uint32_t kind)
{
    static const uint8_t harmless[] = {FABRIC_SIM_FAULT_preempt,     FABRIC_SIM_FAULT_late_completion,
                                       FABRIC_SIM_FAULT_clock_drift, FABRIC_SIM_FAULT_masked_cas_fails,
                                       FABRIC_SIM_FAULT_clock_skew,  FABRIC_SIM_FAULT_delay,
                                       FABRIC_SIM_FAULT_reorder,     FABRIC_SIM_FAULT_cn_pause};
    bool late = strcmp(plan->lock, "dslr") != 0; /* which rests on operations that are executed soon or never */
    if (!mode_of(plan->cc)->locks) return true;
    if (kind == FABRIC_SIM_FAULT_clock_skew && clocks_trusted(plan)) return false;
    bool told = plan->lease_ns == 0 && strncmp(plan->lock, "declock", 7) == 0;
    if (kind == FABRIC_SIM_FAULT_mn_crash) return plan->replicas > 0;
    if (mode_of(plan->cc)->lock_recovers(plan->lock) && !told) return true;
    return memchr(harmless, (int)kind, late ? sizeof harmless : sizeof harmless / 2) != NULL;
}

static void draw_lock(struct sim_plan *plan, uint64_t seed, uint32_t fixed)
{
    static const char *const locks[] = {"declock", "declock", "cas", "dslr", "mcs", "shiftlock", "retry", "rmarw"};
    struct prng prng;
    prng_seed_stream(&prng, seed, STREAM_LOCKS);
    if (!(fixed & SIM_FIXED_LOCK)) plan->lock = DRAW(&prng, locks);
    if (!mode_of(plan->cc)->locks) return;
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        if (!(fixed & SIM_FIXED_FAULTS) && !outlived(plan, kind)) plan->faults.rate[kind] = 0;
    if (!(fixed & SIM_FIXED_LEASE) && !mode_of(plan->cc)->lock_recovers(plan->lock)) plan->lease_ns = 0;
    /*
     * By priorities a crowd that polls goes before the holder, for up to a millisecond at each of its steps: then
     * no call ends in time, which tells nothing.
     */
    bool polls = strcmp(plan->lock, "dslr") == 0 || strcmp(plan->lock, "shiftlock") == 0;
    if (!(fixed & SIM_FIXED_SCHEDULE) && polls && plan->schedule == SIM_SCHEDULE_PCT)
        plan->schedule = SIM_SCHEDULE_RANDOM;
}

/*
 * Its draw is the last of its stream, so that the other rivals stay what they were. Not every lock bears all faults,
 * leases and numbers of clients (lock_check): where one of them is fixed, the mode is run when it is asked for only.
 */
static bool is_twopl(struct prng *rivals, uint32_t fixed)
{
    const uint32_t bearing =
        SIM_FIXED_FAULTS | SIM_FIXED_LEASE | SIM_FIXED_LOCK | SIM_FIXED_CNS | SIM_FIXED_THREADS | SIM_FIXED_COROS;
    return prng_below(rivals, TWOPL_ONE_IN) == 1 && !(fixed & bearing);
}

static enum cellar_lab_cc cc_draw(struct prng *prng, uint64_t seed, uint32_t fixed)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                               CELLAR_LAB_CC_CREST};
    struct prng own;
    enum cellar_lab_cc cc = DRAW(prng, modes);
    prng_seed_stream(&own, seed, STREAM_HOT);
    if (cc == CELLAR_LAB_CC_CREST && prng_below(&own, 2)) cc = CELLAR_LAB_CC_CELLAR;
    prng_seed_stream(&own, seed, STREAM_RIVALS);
    if (prng_below(&own, RIVALS_ONE_IN)) return cc;
    enum cellar_lab_cc rival = prng_below(&own, 2) ? CELLAR_LAB_CC_MOTOR : CELLAR_LAB_CC_FORD;
    if (is_twopl(&own, fixed)) rival = CELLAR_LAB_CC_TWOPL;
    return mode_of(rival) ? rival : cc; /* the laboratory's may not be linked */
}

void sim_plan_draw(struct sim_plan *plan, uint64_t seed, uint32_t fixed)
{
    struct prng prng;
    plan->seed = seed;
    if (!(fixed & SIM_FIXED_WORKLOAD)) plan->workload = workload_draw(seed);
    prng_seed_stream(&prng, seed, STREAM_PLAN);
    enum cellar_lab_cc cc = cc_draw(&prng, seed, fixed);
    if (!is_run_by(plan, cc)) cc = CELLAR_LAB_CC_FORD; /* a rival of which another one runs all */
    if (!(fixed & SIM_FIXED_CC)) plan->cc = cc;
    draw_shape(plan, &prng, fixed);
    draw_hardware(plan, &prng, fixed);
    draw_load(plan, &prng);
    draw_txns(plan, &prng, fixed);
    draw_values(plan, seed);
    draw_ordered(plan, seed);
    draw_people(plan, seed);
    draw_remakes(plan, seed);
    draw_holds(plan, seed);
    draw_herds(plan, seed, fixed);
    draw_memory(plan, &prng);
    draw_faults(plan, &prng, fixed);
    bool en_small = prng_below(&prng, 2);
    if (!(fixed & SIM_FIXED_EN)) plan->en_small = PLANT_BUILD && en_small;
    draw_lease(plan, &prng, fixed);
    static const uint64_t refills_us[] = {0, 50, 500, 5000};
    plan->refill = prng_below(&prng, 4) != 0;
    plan->refill_ns = DRAW(&prng, refills_us) * 1000;
    draw_lock(plan, seed, fixed);
    draw_reopen(plan, seed, fixed);
    draw_upserts(plan, seed);
    draw_ways(plan, seed);
    draw_decides(plan, seed, fixed);
    draw_partitions(plan, seed, fixed);
}

/* ---- judging ---- */

#define REFUSE(...) return err_set(error, CELLAR_INVALID, __VA_ARGS__)

static bool workload_known(const char *name)
{
    const char *one;
    for (uint32_t i = 0; (one = sim_plan_workload(i)); i++)
        if (!strcmp(name, one)) return true;
    return false;
}

static int shape_check(const struct sim_plan *plan, struct cellar_error *error)
{
    if (plan->cns < 1 || plan->cns > FABRIC_CNS_MAX)
        REFUSE("%u compute nodes: from 1 to %d are possible", plan->cns, FABRIC_CNS_MAX);
    if (plan->mns < 1 || plan->mns > FABRIC_NODES_MAX)
        REFUSE("%u memory nodes: from 1 to %d are possible", plan->mns, FABRIC_NODES_MAX);
    if (plan->replicas >= plan->mns)
        REFUSE("--replicas %u needs at least %u memory nodes; there are %u", plan->replicas, plan->replicas + 1,
               plan->mns);
    if (plan->threads < 1 || plan->coros < 1 || plan->threads > 256 || plan->coros > 256)
        REFUSE("%u threads of %u coordinators: from 1 to 256 of each are possible", plan->threads, plan->coros);
    uint64_t clients = (uint64_t)plan->cns * plan->threads * plan->coros;
    if (clients > CLIENTS_MAX)
        REFUSE("%llu coordinators (--cns x --threads x --coros) are too many; at most %d are possible",
               (unsigned long long)clients, CLIENTS_MAX);
    return 0;
}

/* The lock itself is judged when the cluster is opened. */
static int lock_check(const struct sim_plan *plan, struct cellar_error *error)
{
    if (!mode_of(plan->cc)->locks) return 0;
    if (plan->faults.rate[FABRIC_SIM_FAULT_clock_skew] > 0 && clocks_trusted(plan))
        REFUSE("the leases of lock %s rest on clocks that do not jump: no clock_skew in mode 2pl", plan->lock);
    for (uint32_t kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        if (plan->faults.rate[kind] > 0 && !outlived(plan, kind))
            REFUSE("mode 2pl on lock %s does not survive %s", plan->lock,
                   fabric_sim_fault_name((enum fabric_sim_fault_kind)kind));
    if (plan->lease_ns && !mode_of(plan->cc)->lock_recovers(plan->lock))
        REFUSE("lock %s does not survive its holder: no --lease in mode 2pl", plan->lock);
    return 0;
}

int sim_plan_check(const struct sim_plan *plan, struct cellar_error *error)
{
    if (!workload_known(plan->workload)) REFUSE("unknown workload '%.60s': see cellar sim --help", plan->workload);
    if (!is_run_by(plan, plan->cc))
        REFUSE("mode %s has no %s: not --workload %s", mode_of(plan->cc)->name,
               strcmp(plan->workload, "ranges") ? "sessions" : "ordered indexes", plan->workload);
    int code = shape_check(plan, error);
    if (code < 0) return code;
    if (plan->txns < 1 || (uint64_t)plan->txns * sim_plan_clients(plan) > UINT32_MAX / 2)
        REFUSE("%u transactions of each of %u clients: at least 1, and fewer than 2^31 in all", plan->txns,
               sim_plan_clients(plan));
    if (plan->cells < 1 || plan->cells > CELLAR_CELLS_MAX || plan->cell_bytes < 8 || plan->keys < 1 ||
        plan->tables < 1 || plan->tables > SIM_TABLES_MAX)
        REFUSE("a table of %u cells of %u bytes and %u records cannot be made", plan->cells, plan->cell_bytes,
               plan->keys);
    if (plan->en_small && !PLANT_BUILD)
        REFUSE("--en-bits 4: this build has epoch numbers of 16 bits only (cmake -DPLANTS=ON makes one that has both)");
    code = lock_check(plan, error);
    if (code < 0) return code;
    for (uint32_t i = 0; i < plan->dropped_txn_count; i++)
        if (plan->dropped_txns[i] >=
            sim_plan_txn(plan, 0, plan->txns) + (uint64_t)sim_plan_clients(plan) * sim_plan_heal_txns(plan))
            REFUSE("--drop-txns names transaction %u; this seed has %u", plan->dropped_txns[i],
                   sim_plan_txn(plan, 0, plan->txns) + sim_plan_clients(plan) * sim_plan_heal_txns(plan));
    return 0;
}
