/* lock_run_plan.c - what a seed stands for. */
#include "lock_run.h"

#include "prng.h"

#define STREAM_PLAN 0x10c4b1a2ull
#define STREAM_SWITCHES 0x5317c4e5ull
#define CLIENTS_MAX 24
#define RTT_NS 1500
#define STREAM_LOSSES 0x1055e5ull
#define STREAM_LINGERS 0x11496e5ull
#define STREAM_JOINS 0x10135ull
#define SILENCE_NS 20000000
#define LEASE_PROMPT_NS 200000     /* where virtual time is true */
#define LEASE_CHOSEN_NS 2000000ull /* where choosers hold clients up for tenths of a millisecond at a time */

void lock_run_server(const struct lock_run_plan *plan, struct lockmgr_config *config)
{
    if (lockmgr_has_server(plan->algorithm)) {
        config->server_cn = plan->cns + 1; /* behind the membership service's */
        config->server_workers = 1 + (uint32_t)(plan->seed % 2);
    }
    config->switch_cn = plan->cns + 2;
    config->switches = plan->switches;
    config->first_lock = fabric_addr_of(0, LOCK_RUN_BASE);
    config->lock_stride = LOCKMGR_LOCK_ALIGN;
    config->lock_count = LOCK_WATCH_LOCKS;
    config->switch_slots = plan->switch_slots;
    config->tenants = 2 + (uint32_t)(plan->seed % 3);
    config->tenant_rate = 200000;
}

/* False: no such algorithm, policy or capacity. */
static bool promises_of(const struct lock_run_plan *plan, uint32_t *promises)
{
    struct lockmgr_config config = {.algorithm = plan->algorithm,
                                    .policy = plan->policy,
                                    .cn_count = plan->cns,
                                    .workers_per_cn = plan->workers,
                                    .clients_per_worker = plan->clients,
                                    .capacity = plan->capacity,
                                    .version_bits = plan->version_bits,
                                    .slots_max = plan->slots_max,
                                    .rtt_ns = RTT_NS};
    struct cellar_error error;
    lock_run_server(plan, &config);
    if (lockmgr_check(&config, &error)) return false;
    *promises = lockmgr_promises(&config);
    return true;
}

static void draw_shape(struct lock_run_plan *plan, struct prng *prng)
{
    plan->cns = 1 + (uint32_t)prng_below(prng, 4);
    plan->workers = 1 + (uint32_t)prng_below(prng, 3);
    plan->clients = 1 + (uint32_t)prng_below(prng, 4);
    while (plan->cns * plan->workers * plan->clients > CLIENTS_MAX) plan->clients--;
    if (plan->cns * plan->workers * plan->clients == 1) plan->cns = 2;
}

static void draw_load(struct lock_run_plan *plan, struct prng *prng)
{
    static const uint32_t read_percents[] = {0, 20, 50, 80, 95};
    plan->locks = 1 + (uint32_t)prng_below(prng, prng_below(prng, 2) ? 1 : 4);
    plan->rounds = 4 + (uint32_t)prng_below(prng, 20);
    plan->healed_rounds = 1 + plan->rounds / 4;
    plan->read_percent = read_percents[prng_below(prng, 5)];
    plan->pair_percent = plan->locks > 1 && prng_below(prng, 2) ? 30 : 0;
    plan->cs_ops = (uint32_t)prng_below(prng, 4);
    plan->think_ns = prng_below(prng, 2) ? prng_below(prng, 20000) : 0;
}

static void draw_schedule(struct lock_run_plan *plan, struct prng *prng)
{
    static const enum sim_schedule schedules[] = {SIM_SCHEDULE_RANDOM, SIM_SCHEDULE_PCT, SIM_SCHEDULE_TIME,
                                                  SIM_SCHEDULE_PREEMPT};
    plan->schedule = schedules[prng_below(prng, 4)];
    plan->pct_depth = 1 + (uint32_t)prng_below(prng, 5);
}

/* Faults that take a node away. */
static const uint8_t deadly[] = {FABRIC_SIM_FAULT_cn_crash, FABRIC_SIM_FAULT_cn_suspect, FABRIC_SIM_FAULT_reply_lost,
                                 FABRIC_SIM_FAULT_request_lost};

static double draw_rate(struct prng *prng) { return 1.0 / (double)(20ull << prng_below(prng, 6)); }

/*
 * Each kind is off in half of the seeds at least. Of those that take a node away, only what the algorithm says it
 * survives.
 */
static void draw_faults(struct lock_run_plan *plan, struct prng *prng, uint32_t promises)
{
    static const uint8_t harmless[] = {
        FABRIC_SIM_FAULT_cn_pause,        FABRIC_SIM_FAULT_delay,         FABRIC_SIM_FAULT_reorder,
        FABRIC_SIM_FAULT_late_completion, FABRIC_SIM_FAULT_partition,     FABRIC_SIM_FAULT_partition_request,
        FABRIC_SIM_FAULT_partition_reply, FABRIC_SIM_FAULT_partition_cns, FABRIC_SIM_FAULT_clock_drift,
        FABRIC_SIM_FAULT_preempt,         FABRIC_SIM_FAULT_clock_skew};
    bool any = prng_below(prng, 3) != 0;
    for (uint32_t i = 0; i < sizeof harmless; i++) {
        double rate = draw_rate(prng);
        bool on = prng_below(prng, 2) && any;
        bool able = harmless[i] != FABRIC_SIM_FAULT_clock_skew || !(promises & LOCKMGR_CLOCKS);
        plan->faults.rate[harmless[i]] = on && able ? rate : 0;
    }
    for (uint32_t i = 0; i < sizeof deadly; i++) {
        double rate = draw_rate(prng) / 4;
        bool on = prng_below(prng, 2) && any && promises & LOCKMGR_RECOVERS;
        plan->faults.rate[deadly[i]] = on ? rate : 0;
    }
    plan->faults.cn_losses_max = plan->cns > 1 ? 1 + (uint32_t)prng_below(prng, plan->cns - 1) : 0;
    plan->faults.length_max_ns = 10000ull << prng_below(prng, 8);
    if (promises & LOCKMGR_PROMPT && plan->faults.length_max_ns > plan->lease_ns / 16)
        plan->faults.length_max_ns = plan->lease_ns / 16;
    plan->faults.retry_ns = 1000000000;
    plan->faults.each_max = 20;
}

/* Each is off in half of the seeds, and all in a third. */
static void draw_switch_faults(struct lock_run_plan *plan, uint32_t promises)
{
    struct prng prng;
    prng_seed_stream(&prng, plan->seed, STREAM_SWITCHES);
    bool any = prng_below(&prng, 3) != 0, fails = promises & LOCKMGR_RECOVERS;
    plan->loss_ppm = any && prng_below(&prng, 2) ? 1000u << prng_below(&prng, 7) : 0;
    plan->twice_ppm = any && prng_below(&prng, 2) ? 1000u << prng_below(&prng, 7) : 0;
    plan->fail_ppm = any && fails && prng_below(&prng, 2) ? 1000u << prng_below(&prng, 4) : 0;
    plan->down_ns = 1000ull << prng_below(&prng, 9);
}

/* Rings that are too small, and versions that soon come to their end, for algorithms that make that good. */
static void draw_room(struct lock_run_plan *plan, struct prng *prng, uint32_t promises)
{
    uint32_t clients = plan->cns * plan->workers * plan->clients, capacity = plan->capacity;
    if (!(promises & LOCKMGR_OVERFLOWS) || prng_below(prng, 3)) return;
    plan->version_bits = prng_below(prng, 3) ? 4 + (uint32_t)prng_below(prng, 4) : 0;
    if (prng_below(prng, 2)) plan->capacity = plan->cns + (uint32_t)prng_below(prng, clients);
    if (promises_of(plan, &promises)) return;
    plan->version_bits = 0;
    plan->capacity = capacity;
}

bool lock_run_draw(struct lock_run_plan *plan, const char *algorithm, const char *policy, uint64_t seed)
{
    struct prng prng;
    uint32_t promises;
    prng_seed_stream(&prng, seed, STREAM_PLAN);
    *plan = (struct lock_run_plan){.seed = seed, .algorithm = algorithm, .policy = policy};
    draw_shape(plan, &prng);
    plan->switch_slots = 4 + (uint32_t)(seed * 2654435761u >> 16 & 31); /* too few for all, of most seeds */
    if (lockmgr_switches_max(algorithm)) plan->switches = 1 + (uint32_t)(seed / 2 % lockmgr_switches_max(algorithm));
    if (!promises_of(plan, &promises)) return false;
    draw_load(plan, &prng);
    draw_schedule(plan, &prng);
    bool chosen = plan->schedule == SIM_SCHEDULE_PCT || plan->schedule == SIM_SCHEDULE_PREEMPT;
    plan->lease_ns = (chosen ? LEASE_CHOSEN_NS : LEASE_PROMPT_NS) << prng_below(&prng, 3);
    plan->timeout_ns = 2000 + prng_below(&prng, chosen ? 2000000 : 100000);
    plan->timeout_percent = prng_below(&prng, 3) ? 0 : 40;
    plan->detect_ns = prng_below(&prng, 200000);
    plan->dawdle_percent = prng_below(&prng, 3) == 0 && promises & LOCKMGR_LEASES ? 3 : 0;
    uint32_t clients = plan->cns * plan->workers * plan->clients;
    plan->capacity = prng_below(&prng, 2) ? 0 : clients + (uint32_t)prng_below(&prng, 2 * clients);
    if (!promises_of(plan, &promises)) plan->capacity = 0; /* it has its own idea of room */
    draw_faults(plan, &prng, promises);
    draw_room(plan, &prng, promises);
    if (plan->switches) draw_switch_faults(plan, promises);
    if (promises & LOCKMGR_UPDATES) plan->update_percent = 20 * (uint32_t)prng_below(&prng, 5);
    if (promises & LOCKMGR_SLOTS && prng_below(&prng, 2)) plan->slots_max = 1 + (uint32_t)prng_below(&prng, 4);
    plan->phase_bound = 17;
    plan->bound = 32 + clients * 8;
    return true;
}

/* No node dies of anything else. */
static void spare_nodes(struct lock_run_plan *plan)
{
    for (uint32_t i = 0; i < sizeof deadly; i++) plan->faults.rate[deadly[i]] = 0;
}

void lock_run_lose(struct lock_run_plan *plan)
{
    struct prng prng;
    prng_seed_stream(&prng, plan->seed, STREAM_LOSSES);
    spare_nodes(plan);
    plan->loses_server = !plan->switches || prng_below(&prng, 3);
    plan->loses_switch = !plan->loses_server;
    plan->tells_loss = prng_below(&prng, 2);
    plan->lose_ns = 5000ull << prng_below(&prng, 12);
    plan->silence_ns = SILENCE_NS;
    plan->dawdle_percent = 0;
    plan->rounds = 4 + plan->rounds / 2;
    plan->healed_rounds = 1;
}

void lock_run_linger(struct lock_run_plan *plan)
{
    struct prng prng;
    prng_seed_stream(&prng, plan->seed, STREAM_LINGERS);
    plan->workers = 1 + (uint32_t)prng_below(&prng, 2);
    plan->clients = 1 + (uint32_t)prng_below(&prng, 2);
    plan->cns = 2 + (uint32_t)prng_below(&prng, 2);
    plan->locks = 1 + (uint32_t)prng_below(&prng, 2);
    plan->capacity = 0;
    plan->slots_max = 0; /* or dslr's last holder may forget its ticket, and no waiter comes that would pass over it */
    plan->rounds = 4 + (uint32_t)prng_below(&prng, 4);
    plan->healed_rounds = 1;
    plan->cs_ops = 25u << prng_below(&prng, 4);
    if (plan->locks == 1) plan->pair_percent = 0;
    if (prng_below(&prng, 2)) spare_nodes(plan);
    if (plan->faults.cn_losses_max) plan->faults.cn_losses_max = 1 + (uint32_t)prng_below(&prng, plan->cns - 1);
    plan->bound = 32 + plan->cns * plan->workers * plan->clients * 8;
    if (!plan->switches) return;
    plan->loss_ppm = 4000u << prng_below(&prng, 5);
    if (plan->fail_ppm) plan->fail_ppm = 100u << prng_below(&prng, 4);
    plan->down_ns = prng_below(&prng, 2) ? plan->lease_ns / 2 : 8 * plan->lease_ns;
}

void lock_run_join(struct lock_run_plan *plan)
{
    struct prng prng;
    prng_seed_stream(&prng, plan->seed, STREAM_JOINS);
    if (plan->cns == 1) plan->cns = 2;
    plan->locks = 1;
    plan->pair_percent = 0;
    plan->capacity = 0;
    plan->cs_ops = 4u << prng_below(&prng, 3);
    plan->join_ns = 4000ull << prng_below(&prng, 6);
    plan->faults.cn_losses_max = plan->cns > 2 ? 1 : 0; /* another node is there before */
    plan->bound = 32 + plan->cns * plan->workers * plan->clients * 8;
}

void lock_run_print(const struct lock_run_plan *plan, FILE *out)
{
    fprintf(out,
            "test_locks %s %s %llu: %u x %u x %u clients, %u locks, %u rounds, %u%% read, %u%% pairs, %u ops, room %u, "
            "versions of %u bits, %u%% for update, %u slots, schedule %s",
            plan->algorithm, plan->policy ? plan->policy : "-", (unsigned long long)plan->seed, plan->cns,
            plan->workers, plan->clients, plan->locks, plan->rounds, plan->read_percent, plan->pair_percent,
            plan->cs_ops, plan->capacity, plan->version_bits, plan->update_percent, plan->slots_max,
            sim_plan_schedule_name(plan->schedule));
    if (plan->switches)
        fprintf(out, ", %u switches of %u slots, of a million packets %u lost, %u twice, %u with a failure",
                plan->switches, plan->switch_slots, plan->loss_ppm, plan->twice_ppm, plan->fail_ppm);
    if (plan->loses_server || plan->loses_switch)
        fprintf(out, ", the %s lost after %llu ns, %s", plan->loses_server ? "server is" : "switches are",
                (unsigned long long)plan->lose_ns, plan->tells_loss ? "which all are told" : "which none is told");
    for (int kind = 0; kind < FABRIC_SIM_FAULT_KINDS; kind++)
        if (plan->faults.rate[kind] > 0)
            fprintf(out, ", %s=%.5f", fabric_sim_fault_name((enum fabric_sim_fault_kind)kind), plan->faults.rate[kind]);
    fprintf(out, "\n");
}
