/* exp_nic_locks.c - groups whose clients take locks, as those of the papers did. */
#include "exp_nic.h"

#include "must.h"

/* ShiftLock's testbed: one server, five client machines of 48 cores, a client on each (section 4.1). */
#define SHIFTLOCK_CLIENTS 240
#define SHIFTLOCK_CORES 48
#define SHIFTLOCK_LOCKS 10000000
#define SHIFTLOCK_ENTRY_BYTES 16 /* of its own locks; CAS locks have 8 */
/* DecLock's: eight compute nodes of 16 cores, two clients on each core (section 6.1 and its code). */
#define DECLOCK_CLIENTS 256
#define DECLOCK_CORES 16
#define DECLOCK_LOCKS 100000
#define MS 1000000ull

static uint64_t region_bytes(uint64_t end) { return (end + 0xffff) / 0x10000 * 0x10000; }

static struct exp_nic_point *plan_shiftlock(struct exp_nic *nic, const char *series, uint32_t clients, uint64_t locks,
                                            double theta, uint32_t stride)
{
    struct exp_nic_point *point = exp_nic_plan(nic, series, clients);
    point->load.profile = "cx5";
    point->load.threads = clients;
    point->load.clients_per_thread = 1;
    point->load.threads_per_cn = SHIFTLOCK_CORES;
    point->load.mn_bytes = region_bytes(EXP_LOAD_BASE + locks * stride);
    point->plan.locks = (struct exp_clients_locks){.stride = stride};
    must(zipf_init(&point->plan.locks.zipf, locks, theta) == 0);
    return point;
}

static double k_per_s(const struct exp_nic_result *result) { return result->per_s / 1e3; }
static double m_per_s(const struct exp_nic_result *result) { return result->per_s / 1e6; }
static double atomic_us(const struct exp_nic_result *result) { return result->atomic_us; }

/* ---- one lock ---- */

static const char *const NO_BACKOFF = "no backoff", *const BACKOFF = "backoff, adapted",
                         *const COLD = "backoff, first 10 s";

static void plan_one(struct exp_nic *nic)
{
    static const uint32_t all[] = {1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 240}, few[] = {1, 8, 64, 240};
    bool quick = nic->exp->quick;
    const uint32_t *clients = quick ? few : all;
    for (uint32_t i = 0; i < (quick ? sizeof few : sizeof all) / sizeof *all; i++) {
        struct exp_nic_point *plain = plan_shiftlock(nic, NO_BACKOFF, clients[i], 1, 0, 8);
        plain->load.client = exp_clients_spin;
        exp_nic_window(plain, quick ? 40 * MS : 500 * MS);
        struct exp_nic_point *adapted = plan_shiftlock(nic, BACKOFF, clients[i], 1, 0, 8);
        adapted->load.client = exp_clients_spin;
        adapted->plan.locks.backoff = adapted->plan.locks.adapted = true;
        exp_nic_window(adapted, quick ? 40 * MS : 500 * MS);
    }
    if (quick) return;
    struct exp_nic_point *cold = plan_shiftlock(nic, COLD, SHIFTLOCK_CLIENTS, 1, 0, 8);
    cold->load.client = exp_clients_spin;
    cold->plan.locks.backoff = true;
    cold->load.window_ns = 10000 * MS;
}

static void judge_one(struct exp_nic *nic)
{
    const struct exp_nic_result *one = exp_nic_at(nic, NO_BACKOFF, 1);
    const struct exp_nic_result *plain = exp_nic_at(nic, NO_BACKOFF, SHIFTLOCK_CLIENTS);
    const struct exp_nic_result *adapted = exp_nic_at(nic, BACKOFF, SHIFTLOCK_CLIENTS);
    exp_nic_judge(nic, "CX-5, one CAS lock: 1 client", k_per_s(one));
    exp_nic_judge(nic, "CX-5, one CAS lock: 240 clients, no backoff", k_per_s(plain));
    exp_nic_judge(nic, "CX-5, one CAS lock: 240 clients / 1 client", plain->per_s / one->per_s * 100);
    exp_nic_judge(nic, "CX-5, one CAS lock: 240 clients, retries among CASes", plain->retry_share * 100);
    exp_nic_judge(nic, "CX-5, one CAS lock: 240 clients, backoff / none: at least", adapted->per_s / plain->per_s);
    if (nic->exp->quick) return;
    const struct exp_nic_result *cold = exp_nic_at(nic, COLD, SHIFTLOCK_CLIENTS);
    exp_nic_judge(nic, "CX-5, one CAS lock: 240 clients, backoff, first 10 s", k_per_s(cold));
    exp_nic_judge(nic, "CX-5, one CAS lock: the same, retries among CASes", cold->retry_share * 100);
}

const struct exp_nic_group exp_nic_locks_one = {.name = "one-lock",
                                                .title = "One CAS lock, ConnectX-5",
                                                .x_label = "clients",
                                                .y_label = "acquisitions and releases, K/s",
                                                .chart = true,
                                                .log_x = true,
                                                .log_y = true,
                                                .value = k_per_s,
                                                .plan = plan_one,
                                                .judge = judge_one};

/* ---- readers only: pairs of FAA on 16 bytes ---- */

static const char *const PAIRS = "FAA pairs, 16 bytes";
static void plan_pairs(struct exp_nic *nic)
{
    static const uint32_t clients[] = {1, 5, 20, 40, 60, 80, 100, 120, 160, 200, 240};
    for (uint32_t i = 0; i < sizeof clients / sizeof *clients; i++) {
        struct exp_nic_point *point =
            plan_shiftlock(nic, PAIRS, clients[i], SHIFTLOCK_LOCKS, 0.99, SHIFTLOCK_ENTRY_BYTES);
        point->load.client = exp_clients_pairs;
        exp_nic_window(point, nic->exp->quick ? 1 * MS : 20 * MS);
    }
}

static const uint32_t latencies[] = {5, 20, 40, 80, 120, 160, 200, 240};

static void judge_pairs(struct exp_nic *nic)
{
    const struct exp_nic_result *most = exp_nic_at(nic, PAIRS, SHIFTLOCK_CLIENTS);
    exp_nic_judge(nic, "CX-5, FAA pairs: plateau", m_per_s(most));
    exp_nic_judge(nic, "CX-5, FAA pairs: atomics", m_per_s(most) * most->atomics);
    exp_nic_judge(nic, "CX-5, FAA pairs: latency, 5 clients, write-intensive", exp_nic_at(nic, PAIRS, 5)->atomic_us);
    for (uint32_t i = 0; i < sizeof latencies / sizeof *latencies; i++)
        exp_nic_judge_number(nic, "CX-5, FAA pairs: latency, %u clients", latencies[i],
                             exp_nic_at(nic, PAIRS, latencies[i])->atomic_us);
}

const struct exp_nic_group exp_nic_locks_pairs = {.name = "pairs",
                                                  .title = "Latency of a reader's FAA, ConnectX-5",
                                                  .x_label = "clients",
                                                  .y_label = "us",
                                                  .chart = true,
                                                  .value = atomic_us,
                                                  .plan = plan_pairs,
                                                  .judge = judge_pairs};

/* ---- many locks, some hot: takes long, so not with --quick ---- */

static void plan_zipf(struct exp_nic *nic)
{
    if (nic->exp->quick) return;
    struct exp_nic_point *plain = plan_shiftlock(nic, NO_BACKOFF, SHIFTLOCK_CLIENTS, SHIFTLOCK_LOCKS, 0.99, 8);
    plain->load.client = exp_clients_spin;
    exp_nic_window(plain, 1000 * MS);
    struct exp_nic_point *backoff = plan_shiftlock(nic, BACKOFF, SHIFTLOCK_CLIENTS, SHIFTLOCK_LOCKS, 0.99, 8);
    backoff->load.client = exp_clients_spin;
    backoff->plan.locks.backoff = true;
    backoff->load.warmup_ns = 2000 * MS;
    backoff->load.window_ns = 500 * MS;
}

static void judge_zipf_backoff(struct exp_nic *nic, const struct exp_nic_result *backoff)
{
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, backoff: CASes a pair", backoff->atomics);
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, backoff: first CAS", backoff->atomic_us);
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, backoff: acquisition", backoff->acquire_us);
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, backoff: pairs", m_per_s(backoff));
}

static void judge_zipf_plain(struct exp_nic *nic, const struct exp_nic_result *plain)
{
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, no backoff: CASes a pair", plain->atomics);
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, no backoff: first CAS", plain->atomic_us);
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, no backoff: acquisition", plain->acquire_us);
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99, no backoff: pairs", m_per_s(plain));
}

static void judge_zipf(struct exp_nic *nic)
{
    if (nic->exp->quick) return;
    const struct exp_nic_result *plain = exp_nic_at(nic, NO_BACKOFF, SHIFTLOCK_CLIENTS);
    const struct exp_nic_result *backoff = exp_nic_at(nic, BACKOFF, SHIFTLOCK_CLIENTS);
    judge_zipf_backoff(nic, backoff);
    judge_zipf_plain(nic, plain);
    exp_nic_judge(nic, "CX-5, 10 M CAS locks, Zipf 0.99: pairs, no backoff / backoff", plain->per_s / backoff->per_s);
}

const struct exp_nic_group exp_nic_locks_zipf = {
    .name = "zipf", .title = "10 M CAS locks, Zipf 0.99, ConnectX-5", .plan = plan_zipf, .judge = judge_zipf};

/* ---- reader-writer CAS locks ---- */

static const char *const CASLOCK = "reader-writer CAS lock";
static const uint32_t declock_all[] = {2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256}, declock_few[] = {8, 24, 256};

static void plan_declock(struct exp_nic *nic)
{
    bool quick = nic->exp->quick;
    const uint32_t *clients = quick ? declock_few : declock_all;
    for (uint32_t i = 0; i < (quick ? sizeof declock_few : sizeof declock_all) / sizeof *declock_all; i++) {
        struct exp_nic_point *point = exp_nic_plan(nic, CASLOCK, clients[i]);
        point->load.profile = "cx4";
        point->load.threads = clients[i] / 2;
        point->load.clients_per_thread = 2;
        point->load.threads_per_cn = DECLOCK_CORES;
        point->load.client = exp_clients_read_write;
        point->plan.locks =
            (struct exp_clients_locks){.stride = 8, .read_percent = 50, .objects = EXP_LOAD_BASE + DECLOCK_LOCKS * 8};
        point->load.mn_bytes = region_bytes(point->plan.locks.objects + DECLOCK_LOCKS * 8);
        must(zipf_init(&point->plan.locks.zipf, DECLOCK_LOCKS, 0.99) == 0);
        exp_nic_window(point, quick ? 50 * MS : 500 * MS);
    }
}

static void judge_declock(struct exp_nic *nic)
{
    const struct exp_nic_result *last = exp_nic_at(nic, CASLOCK, DECLOCK_CLIENTS), *best = last;
    for (uint32_t i = 0; i < nic->point_count; i++)
        if (nic->points[i].group == nic->group && nic->points[i].result.per_s > best->per_s)
            best = &nic->points[i].result;
    exp_nic_judge(nic, "CX-4, 100 k reader-writer CAS locks: peak", m_per_s(best));
    exp_nic_judge(nic, "CX-4, 100 k reader-writer CAS locks: 256 clients", m_per_s(last));
    exp_nic_judge(nic, "CX-4, 100 k reader-writer CAS locks: 24 / 256 clients",
                  exp_nic_at(nic, CASLOCK, 24)->per_s / last->per_s);
    exp_nic_judge(nic, "CX-4, 100 k reader-writer CAS locks: retries, 256 clients", last->retries);
}

const struct exp_nic_group exp_nic_locks_declock = {.name = "rw-locks",
                                                    .title = "100 k reader-writer CAS locks, ConnectX-4",
                                                    .x_label = "clients",
                                                    .y_label = "locked operations, M/s",
                                                    .chart = true,
                                                    .log_x = true,
                                                    .value = m_per_s,
                                                    .plan = plan_declock,
                                                    .judge = judge_declock};
