#include "plants_methods.h"

#include "lock_run.h"
#include "logseg.h"
#include "recover_log.h"
#include "rivals.h"
#include "sim_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of clusters of lock clients. A bug that lets them run for ever is told by it, so it is twice what any seed of these
 * searches takes without a bug: 1.52 million (declock, seed 229), the next 1.16.
 */
#define LOCK_STEPS_MAX 3000000
#define LOCK_STEPS_CHAIN 500000 /* ... with a chain of switches, whose clients spin: TSan must get through, too */

#define FIX(field, bit) (shape->field ? (plan->field = shape->field, (uint32_t)(bit)) : 0)

static void plan_draw(const struct plants_shape *shape, uint64_t seed, struct sim_plan *plan)
{
    struct cellar_error error = {0};
    uint32_t fixed = SIM_FIXED_WORKLOAD | SIM_FIXED_EN | FIX(cns, SIM_FIXED_CNS) | FIX(threads, SIM_FIXED_THREADS) |
                     FIX(coros, SIM_FIXED_COROS) | FIX(mns, SIM_FIXED_MNS) | FIX(replicas, SIM_FIXED_REPLICAS) |
                     FIX(txns, SIM_FIXED_TXNS) | (shape->faults ? (uint32_t)SIM_FIXED_FAULTS : 0) |
                     (shape->timely || shape->words ? (uint32_t)SIM_FIXED_SCHEDULE : 0) | SIM_FIXED_LEASE |
                     SIM_FIXED_REOPEN | SIM_FIXED_DECIDER;
    plan->decides = shape->decides;
    plan->reopen = (enum sim_reopen)shape->reopen;
    plan->schedule = shape->words ? SIM_SCHEDULE_RANDOM : SIM_SCHEDULE_TIME;
    plan->lease_ns = shape->lease_us * 1000ull;
    plan->workload = shape->workload ? shape->workload : "cells";
    plan->cc = shape->cellar  ? CELLAR_LAB_CC_CELLAR
               : shape->motor ? CELLAR_LAB_CC_MOTOR
               : shape->ford  ? CELLAR_LAB_CC_FORD
               : shape->twopl ? CELLAR_LAB_CC_TWOPL
                              : CELLAR_LAB_CC_CREST;
    if (shape->crest || shape->cellar || shape->motor || shape->ford || shape->twopl) fixed |= SIM_FIXED_CC;
    plan->lock = shape->twopl;
    if (shape->twopl) fixed |= SIM_FIXED_LOCK;
    plan->en_small = shape->en_small;
    if (shape->faults) assert_int_equal(fabric_sim_faults_parse(shape->faults, &plan->faults, &error), 0);
    sim_plan_draw(plan, seed, fixed);
    plan->upserts = false;
    plan->values = plan->values && shape->values;
    plan->people = plan->people && shape->people;
    if (!plan->people || !shape->remakes) plan->remakes = SIM_REMAKES_NOTHING;
    plan->holds = plan->holds && shape->holds;
    plan->way = shape->way;
    if (shape->words) plan->words = true;
    FIX(keys, 0);
    FIX(cells, 0);
    FIX(cell_bytes, 0);
    if (shape->accesses) plan->accesses_max = shape->accesses;
    plan->steps_max = shape->steps_max;
}

void plants_run_cluster(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct cellar_error error = {0};
    struct sim_plan *plan = calloc(1, sizeof *plan);
    struct sim_report *report = calloc(1, sizeof *report);
    assert_true(plan && report);
    plan_draw(&search->shape, seed, plan);
    int code = sim_run(plan, report, &error);
    if (code == CELLAR_CORRUPT)
        plants_find(found, report->checker, report->verdict);
    else if (code != 0)
        fail_msg("seed %llu cannot be run: %s", (unsigned long long)seed, error.text);
    free(plan);
    free(report);
}

/* An entry as it stands after a crash amid its WRITE: of its lines some are what was there before. */
void plants_run_entry(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    uint8_t buffer[8 * LAYOUT_LINE] __attribute__((aligned(8))) = {0};
    struct logseg seg;
    struct logseg_entry entry;
    struct prng prng;
    struct fabric_addr at;
    prng_seed(&prng, seed);
    logseg_init(&seg, fabric_addr_of(0, 1 << 20), 1 << 16, 0, 0, 1);
    logseg_entry_begin(&entry, buffer, sizeof buffer);
    uint8_t *value = logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, LAYOUT_LINE), 1, 1, 0, 256);
    assert_non_null(value);
    memset(value, 0xff, 256);
    assert_int_equal(logseg_entry_finish(&seg, &entry, 1, 0, &at), 0);
    uint64_t line = prng_below(&prng, entry.bytes / LAYOUT_LINE);
    memset(buffer + line * LAYOUT_LINE, (int)prng_below(&prng, 2), LAYOUT_LINE);
    if (logseg_parse(buffer, entry.bytes))
        plants_find(found, "log", "an entry counts although a line of it was never written");
}

#define RING_BYTES 4096

/* A few entries of random sizes by one incarnation, from the ring's start on; the number of the last one. */
static uint64_t ring_write(uint8_t *ring, uint64_t incarnation, struct prng *prng)
{
    uint64_t count = 2 + prng_below(prng, 6);
    struct logseg seg;
    logseg_init(&seg, fabric_addr_of(0, 1 << 20), RING_BYTES, 0, 0, incarnation);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t buffer[8 * LAYOUT_LINE] __attribute__((aligned(8))) = {0};
        struct logseg_entry entry;
        struct fabric_addr at;
        uint32_t bytes = 8 * (uint32_t)(1 + prng_below(prng, 40));
        logseg_entry_begin(&entry, buffer, sizeof buffer);
        uint8_t *value = logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, LAYOUT_LINE), 1, 1, 0, bytes);
        assert_non_null(value);
        assert_int_equal(logseg_entry_finish(&seg, &entry, i + 1, i, &at), 0);
        memcpy(ring + (fabric_addr_offset(at) - (1 << 20)), buffer, entry.bytes);
    }
    return seg.sequence;
}

/*
 * Two incarnations of a node wrote to one ring, and the later one has died: nothing but its own entries are in
 * question.
 */
void plants_run_ring(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    uint8_t ring[RING_BYTES] __attribute__((aligned(8))) = {0};
    struct recover_log log;
    struct cellar_error error = {0};
    struct prng prng;
    prng_seed(&prng, seed);
    (void)ring_write(ring, 1, &prng);
    uint64_t last = ring_write(ring, 2, &prng);
    recover_log_init(&log, 0, 2);
    int code = recover_log_add(&log, ring, RING_BYTES, fabric_addr_of(0, 1 << 20), 0, 0);
    if (code == 0) code = recover_log_decide(&log, &error);
    if (code) plants_find(found, "log", error.text);
    for (uint32_t i = 0; i < log.count && !found->caught; i++)
        if (log.entries[i].due != (log.entries[i].wire->sequence == last) || log.entries[i].wire->incarnation != 2)
            plants_find(found, "log", "an entry counts that another incarnation wrote");
    recover_log_free(&log);
}

/*
 * Packets of a chain are lost, and its head fails while a client holds: either it is back before any has missed it,
 * and the chain is told what is held; or it is away for long, and the others go on with what they know.
 */
static void shape_chain(struct lock_run_plan *plan)
{
    plan->schedule = SIM_SCHEDULE_TIME;
    plan->cns = plan->workers = plan->clients = 2;
    plan->switches = 3;
    plan->locks = 1;
    plan->read_percent = plan->pair_percent = 0;
    plan->rounds = 5;
    plan->healed_rounds = 1;
    plan->cs_ops = 200;
    plan->lease_ns = 200000;
    plan->loss_ppm = 60000;
    plan->fail_ppm = 300;
    plan->down_ns = plan->seed % 2 ? plan->lease_ns / 2 : 8 * plan->lease_ns;
    plan->faults = (struct fabric_sim_faults){0};
}

/*
 * Homes die while clients hold one of their locks and wait for another one, which they soon give up: what they hold is
 * released while it is reported to the next home.
 */
static void shape_heirs(struct lock_run_plan *plan)
{
    plan->schedule = SIM_SCHEDULE_TIME;
    plan->cns = 3;
    plan->workers = 1;
    plan->clients = 3;
    plan->locks = 3;
    plan->read_percent = 0;
    plan->pair_percent = 100;
    plan->rounds = 12;
    plan->cs_ops = 4;
    plan->detect_ns = 1000;
    plan->timeout_percent = 80;
    plan->timeout_ns = 15000;
    plan->faults = (struct fabric_sim_faults){.cn_losses_max = 1, .each_max = 1, .retry_ns = 1000000000};
    plan->faults.rate[FABRIC_SIM_FAULT_cn_crash] = 0.003;
}

/* Its checker is what stands before the colon. */
void plants_run_locks(const struct plants_search *search, uint64_t seed, struct plants_found *found)
{
    struct lock_run_plan plan;
    struct lock_run_report report;
    char checker[32];
    assert_true(lock_run_draw(&plan, search->lock, search->policy, seed));
    if (search->lock_late) {
        plan.dawdle_percent = 3;
        plan.schedule = SIM_SCHEDULE_TIME;
        plan.lease_ns = 100000;
        plan.rounds = 10;
        plan.faults =
            (struct fabric_sim_faults){.length_max_ns = 4 * plan.lease_ns, .each_max = 100, .retry_ns = 1000000000};
        plan.faults.rate[FABRIC_SIM_FAULT_late_completion] = 0.2;
    }
    if (search->lock_one || search->lock_late) {
        plan.locks = 1;
        plan.pair_percent = 0;
        plan.read_percent = 50;
    }
    if (search->lock_long) {
        plan.slots_max = 4;
        plan.dawdle_percent = 20;
        plan.faults = (struct fabric_sim_faults){0};
    }
    if (search->lock_chain) shape_chain(&plan);
    if (search->lock_heirs) shape_heirs(&plan);
    if (search->lock_lose) lock_run_lose(&plan);
    if (search->lock_join) lock_run_join(&plan);
    bool chain = lockmgr_switches_max(search->lock) > 1;
    if (!search->lock_lose && !search->lock_long) plan.steps_max = chain ? LOCK_STEPS_CHAIN : LOCK_STEPS_MAX;
    if (lock_run(&plan, &report)) return;
    snprintf(checker, sizeof checker, "%.*s", (int)strcspn(report.verdict, ":"), report.verdict);
    plants_find(found, checker, report.verdict);
}
