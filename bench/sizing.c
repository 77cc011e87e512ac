#include "sizing.h"

#include "err.h"
#include "layout.h"
#include "mode.h"
#include "style.h"

/*
 * Transactions per second that are hardly exceeded by workloads that grow, times their pace: of a core in real time, of
 * a coordinator in virtual time.
 */
#define TXNS_PER_CORE 100000
#define TXNS_PER_SIM_COORDINATOR 50000

#define LOG_BYTES_DEFAULT (128u << 10)
#define CHUNKS_PER_TABLE 3 /* that a worker may have begun: of records, of index buckets, of overflow buckets */
#define TABLES_ASSUMED 10
#define POOL_BYTES_MIN (64ull << 20)
#define RECORD_GROWTH 2.5 /* TPC-C: 2.2, SmallBank: 2, YCSB-T: 1.8 */
#define MEMORY_SHARE 0.75 /* of the machine's memory that a default may take */

static uint64_t expected_txns(const struct settings *settings, const struct machine *machine)
{
    uint64_t threads = (uint64_t)settings->db.cns * settings->db.threads;
    if (threads > machine->cores) threads = machine->cores; /* more take turns */
    double rate = settings->sim ? (double)settings_coordinators(settings) * TXNS_PER_SIM_COORDINATOR
                                : (double)threads * TXNS_PER_CORE;
    if (settings->workload->pace) rate *= settings->workload->pace;
    double seconds = settings->warmup_s + (settings->txns ? 0 : settings->seconds);
    return settings->txns + (uint64_t)(rate * seconds);
}

/* Of one area (layout.h): what is there whatever the tables hold. */
static double fixed_bytes(const struct settings *settings)
{
    uint64_t log_bytes = settings->db.log_bytes ? settings->db.log_bytes : LOG_BYTES_DEFAULT;
    return LAYOUT_HEAP_OFFSET + (double)settings_coordinators(settings) * (double)(log_bytes + LAYOUT_CHUNK_BYTES);
}

static double begun_bytes(const struct settings *settings)
{
    return (double)settings->db.cns * settings->db.threads * TABLES_ASSUMED * CHUNKS_PER_TABLE * LAYOUT_CHUNK_BYTES;
}

/*
 * How much larger a record is with its old versions, at most; and what is beside it, as large as ever. Or with its
 * share of the table of locks.
 */
static double growth(const struct settings *settings)
{
    const struct mode *mode = mode_of(settings->db.cc);
    const uint64_t area_bytes = 1 << 20;
    if (mode->locks) return 1 + 2.0 * (double)mode->locks_bytes(&settings->db, area_bytes) / (double)area_bytes;
    return mode->versions ? RECORD_GROWTH : 1;
}

/* Bytes of each node for so many transactions. */
static double run_bytes(const struct settings *settings, double txns)
{
    double areas = settings->db.replicas + 1.0;
    double tables = (double)settings->workload->pool_bytes(&settings->room.config) +
                    settings->workload->growth_bytes(&settings->room.config) * txns;
    return areas *
           (fixed_bytes(settings) + begun_bytes(settings) + 1.25 * growth(settings) * tables / settings->db.mns);
}

static void estimate(const struct settings *settings, const struct machine *machine, struct sizing *sizing)
{
    double areas = settings->db.replicas + 1.0;
    double tables = (double)settings->workload->pool_bytes(&settings->room.config);
    sizing->expected_txns = expected_txns(settings, machine);
    sizing->load_bytes = (uint64_t)(areas * (fixed_bytes(settings) + growth(settings) * tables / settings->db.mns));
    sizing->run_bytes = (uint64_t)run_bytes(settings, (double)sizing->expected_txns);
}

static uint64_t round_up(uint64_t bytes)
{
    const uint64_t step = 1ull << 20;
    uint64_t rounded = (bytes + step - 1) / step * step;
    return rounded < POOL_BYTES_MIN ? POOL_BYTES_MIN : rounded;
}

/* Takes transactions off the estimate until it fits into `limit` bytes of each node. */
static void cut(const struct settings *settings, struct sizing *sizing, uint64_t limit)
{
    double none = run_bytes(settings, 0), all = (double)sizing->run_bytes;
    double share = all > none ? ((double)limit - none) / (all - none) : 0;
    if (share < 0) share = 0;
    sizing->expected_txns = (uint64_t)((double)sizing->expected_txns * share);
    sizing->run_bytes = limit;
}

int sizing_apply(struct settings *settings, const struct machine *machine, struct sizing *sizing,
                 struct cellar_error *error)
{
    char need[STYLE_BYTES], have[STYLE_BYTES];
    estimate(settings, machine, sizing);
    if (settings->db.memnodes) return 0; /* theirs: known once attached */
    double mns = settings->db.mns;
    uint64_t limit = (uint64_t)((double)machine->memory_bytes * MEMORY_SHARE / mns);
    if (settings->db.pool_bytes) {
        if (settings->db.pool_bytes < sizing->load_bytes)
            return err_set(
                error, CELLAR_TOO_LARGE, "--pool-bytes %s is too small: loading needs about %s on each memory node",
                style_bytes(have, (double)settings->db.pool_bytes), style_bytes(need, (double)sizing->load_bytes));
        if (machine->memory_bytes && (double)settings->db.pool_bytes * mns > (double)machine->memory_bytes)
            return err_set(error, CELLAR_TOO_LARGE,
                           "%u memory nodes of %s exceed the machine's %s (loading needs about %s each)",
                           settings->db.mns, style_bytes(need, (double)settings->db.pool_bytes),
                           style_bytes(have, (double)machine->memory_bytes),
                           style_bytes((char[STYLE_BYTES]){0}, (double)sizing->load_bytes));
        if (settings->db.pool_bytes < sizing->run_bytes) cut(settings, sizing, settings->db.pool_bytes);
        return 0;
    }
    if (machine->memory_bytes && sizing->load_bytes > limit)
        return err_set(error, CELLAR_TOO_LARGE, "loading needs about %s of memory; the machine has %s",
                       style_bytes(need, (double)sizing->load_bytes * mns),
                       style_bytes(have, (double)machine->memory_bytes));
    if (machine->memory_bytes && sizing->run_bytes > limit) cut(settings, sizing, limit);
    settings->db.pool_bytes = round_up(sizing->run_bytes);
    return 0;
}

int sizing_accept(const struct sizing *sizing, uint64_t mn_bytes, struct cellar_error *error)
{
    char need[STYLE_BYTES], have[STYLE_BYTES];
    if (mn_bytes >= sizing->load_bytes) return 0;
    return err_set(error, CELLAR_TOO_LARGE, "the memory nodes have %s each; loading needs about %s",
                   style_bytes(have, (double)mn_bytes), style_bytes(need, (double)sizing->load_bytes));
}
