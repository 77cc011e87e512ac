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
    const char *source = "ShiftLock section 2.3";
    const struct exp_nic_result *one = exp_nic_at(nic, NO_BACKOFF, 1);
    const struct exp_nic_result *plain = exp_nic_at(nic, NO_BACKOFF, SHIFTLOCK_CLIENTS);
    const struct exp_nic_result *adapted = exp_nic_at(nic, BACKOFF, SHIFTLOCK_CLIENTS);
    struct exp_report *report = &nic->report;
    exp_report_add(report, (struct exp_report_row){"CX-5, one CAS lock: 1 client", source, "K/s", 278.3, 0.95, 1.05,
                                                   .model = k_per_s(one), .fitted = true});
    exp_report_add(report, (struct exp_report_row){"CX-5, one CAS lock: 240 clients, no backoff", source, "K/s", 15.5,
                                                   0.90, 1.11, .model = k_per_s(plain), .fitted = true});
    exp_report_add(report,
                   (struct exp_report_row){"CX-5, one CAS lock: 240 clients / 1 client", source, "%", 5.57, 0.90, 1.11,
                                           .model = plain->per_s / one->per_s * 100, .fitted = true});
    exp_report_add(report, (struct exp_report_row){"CX-5, one CAS lock: 240 clients, retries among CASes", source, "%",
                                                   99.4, 0.996, 1.006, .model = plain->retry_share * 100});
    exp_report_add(report, (struct exp_report_row){"CX-5, one CAS lock: 240 clients, backoff / none: at least", source,
                                                   "x", 9.1, 0.88, 3, .model = adapted->per_s / plain->per_s});
    if (nic->exp->quick) return;
    const struct exp_nic_result *cold = exp_nic_at(nic, COLD, SHIFTLOCK_CLIENTS);
    exp_report_add(report, (struct exp_report_row){"CX-5, one CAS lock: 240 clients, backoff, first 10 s", source,
                                                   "K/s", 141.4, 0.5, 2, .model = k_per_s(cold)});
    exp_report_add(report, (struct exp_report_row){"CX-5, one CAS lock: the same, retries among CASes", source, "%",
                                                   87.1, 0.95, 1.06, .model = cold->retry_share * 100});
}

static const struct exp_nic_dot dots_one[] = {{1, 278.3}, {240, 15.5}, {240, 141.4}};

const struct exp_nic_group exp_nic_locks_one = {.name = "one-lock",
                                                .title = "One CAS lock, ConnectX-5",
                                                .x_label = "clients",
                                                .y_label = "acquisitions and releases, K/s",
                                                .chart = true,
                                                .log_x = true,
                                                .log_y = true,
                                                .value = k_per_s,
                                                .dots_name = "ShiftLock section 2.3",
                                                .dots = dots_one,
                                                .dot_count = sizeof dots_one / sizeof *dots_one,
                                                .plan = plan_one,
                                                .judge = judge_one};

/* ---- readers only: pairs of FAA on 16 bytes ---- */

static const char *const PAIRS = "FAA pairs, 16 bytes";
static const struct exp_nic_dot dots_pairs[] = {{5, 2.32},   {20, 2.41},  {40, 2.49},  {80, 2.68},
                                                {120, 3.44}, {160, 4.52}, {200, 5.79}, {240, 6.95}};

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

static const struct {
    uint32_t clients;
    double us;
    const char *figure;
} latencies[] = {
    {5, 2.32, "CX-5, FAA pairs: latency, 5 clients"},     {20, 2.41, "CX-5, FAA pairs: latency, 20 clients"},
    {40, 2.49, "CX-5, FAA pairs: latency, 40 clients"},   {80, 2.68, "CX-5, FAA pairs: latency, 80 clients"},
    {120, 3.44, "CX-5, FAA pairs: latency, 120 clients"}, {160, 4.52, "CX-5, FAA pairs: latency, 160 clients"},
    {200, 5.79, "CX-5, FAA pairs: latency, 200 clients"}, {240, 6.95, "CX-5, FAA pairs: latency, 240 clients"}};

static void judge_pairs(struct exp_nic *nic)
{
    const struct exp_nic_result *most = exp_nic_at(nic, PAIRS, SHIFTLOCK_CLIENTS);
    struct exp_report *report = &nic->report;
    exp_report_add(report, (struct exp_report_row){"CX-5, FAA pairs: plateau", "ShiftLock Table 3, RI, derived", "M/s",
                                                   14.7, 0.90, 1.10, .model = m_per_s(most), .fitted = true});
    exp_report_add(report,
                   (struct exp_report_row){"CX-5, FAA pairs: atomics", "the same, 2.01 a pair (section 4.2)", "M/s",
                                           29.5, 0.90, 1.10, .model = m_per_s(most) * most->atomics, .fitted = true});
    exp_report_add(report, (struct exp_report_row){"CX-5, FAA pairs: latency, 5 clients, write-intensive",
                                                   "ShiftLock Table 3, WI", "us", 2.05, 0.95, 1.05,
                                                   .model = exp_nic_at(nic, PAIRS, 5)->atomic_us, .fitted = true});
    for (uint32_t i = 0; i < sizeof latencies / sizeof *latencies; i++)
        exp_report_add(
            report, (struct exp_report_row){latencies[i].figure, "ShiftLock Table 3, RI", "us", latencies[i].us, 0.75,
                                            1.25, .model = exp_nic_at(nic, PAIRS, latencies[i].clients)->atomic_us});
}

const struct exp_nic_group exp_nic_locks_pairs = {.name = "pairs",
                                                  .title = "Latency of a reader's FAA, ConnectX-5",
                                                  .x_label = "clients",
                                                  .y_label = "us",
                                                  .chart = true,
                                                  .value = atomic_us,
                                                  .dots_name = "ShiftLock Table 3, RI",
                                                  .dots = dots_pairs,
                                                  .dot_count = sizeof dots_pairs / sizeof *dots_pairs,
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

static const char *const TABLE = "ShiftLock Table 4, WI", *const DERIVED = "ShiftLock Table 4, WI, derived",
                         *const CASES = "ShiftLock section 4.2, derived";

static void judge_zipf_backoff(struct exp_report *report, const struct exp_nic_result *backoff)
{
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, backoff: CASes a pair", CASES, "",
                                                   2.36, 0.93, 1.10, .model = backoff->atomics});
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, backoff: first CAS", TABLE, "us",
                                                   2.48, 0.70, 1.30, .model = backoff->atomic_us});
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, backoff: acquisition", TABLE, "us",
                                                   39.71, 0.75, 1.33, .model = backoff->acquire_us});
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, backoff: pairs", DERIVED, "M/s",
                                                   5.7, 0.75, 1.33, .model = m_per_s(backoff)});
}

/* The known ones are as far off as the failed CAS explains (fabric_sim_profile.c). */
static void judge_zipf_plain(struct exp_report *report, const struct exp_nic_result *plain)
{
    const char *why = "The published rates without backoff pull in opposite directions. A failed CAS that holds its "
                      "slot for 0.27 us, as long as any, gives the 15.5 K/s of one lock, and these rows; "
                      "0.20 us would come nearer to these rows, but give 20 K/s there. The profile has the former.";
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, no backoff: CASes a pair", CASES,
                                                   "", 8.77, 0.75, 1.33, .model = plain->atomics, .why = why,
                                                   .known_low = 1.45, .known_high = 1.60});
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, no backoff: first CAS", TABLE,
                                                   "us", 38.5, 0.75, 1.33, .model = plain->atomic_us, .why = why,
                                                   .known_low = 1.3, .known_high = 1.5});
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, no backoff: acquisition", TABLE,
                                                   "us", 451.5, 0.75, 1.33, .model = plain->acquire_us, .why = why,
                                                   .known_low = 1.45, .known_high = 1.60});
    exp_report_add(report, (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99, no backoff: pairs", DERIVED, "M/s",
                                                   0.49, 0.75, 1.33, .model = m_per_s(plain), .why = why,
                                                   .known_low = 0.60, .known_high = 0.75});
}

static void judge_zipf(struct exp_nic *nic)
{
    if (nic->exp->quick) return;
    const struct exp_nic_result *plain = exp_nic_at(nic, NO_BACKOFF, SHIFTLOCK_CLIENTS);
    const struct exp_nic_result *backoff = exp_nic_at(nic, BACKOFF, SHIFTLOCK_CLIENTS);
    judge_zipf_backoff(&nic->report, backoff);
    judge_zipf_plain(&nic->report, plain);
    exp_report_add(&nic->report,
                   (struct exp_report_row){"CX-5, 10 M CAS locks, Zipf 0.99: pairs, no backoff / backoff", DERIVED, "",
                                           0.086, 0.41, 1.36, .model = plain->per_s / backoff->per_s});
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
    const char *source = "DecLock section 2.2, Fig. 3";
    const struct exp_nic_result *last = exp_nic_at(nic, CASLOCK, DECLOCK_CLIENTS), *best = last;
    struct exp_report *report = &nic->report;
    for (uint32_t i = 0; i < nic->point_count; i++)
        if (nic->points[i].group == nic->group && nic->points[i].result.per_s > best->per_s)
            best = &nic->points[i].result;
    exp_report_add(report, (struct exp_report_row){"CX-4, 100 k reader-writer CAS locks: peak", source, "M/s", 1.61,
                                                   0.85, 1.15, .model = m_per_s(best), .fitted = true});
    exp_report_add(report, (struct exp_report_row){"CX-4, 100 k reader-writer CAS locks: 256 clients", source, "M/s",
                                                   0.20, 0.85, 1.15, .model = m_per_s(last), .fitted = true});
    exp_report_add(report, (struct exp_report_row){
                               "CX-4, 100 k reader-writer CAS locks: 24 / 256 clients", source, "x", 8.05, 0.75, 1.24,
                               .model = exp_nic_at(nic, CASLOCK, 24)->per_s / last->per_s, .fitted = true});
    exp_report_add(report, (struct exp_report_row){"CX-4, 100 k reader-writer CAS locks: retries, 256 clients", source,
                                                   "", 37.8, 0.75, 1.15, .model = last->retries, .fitted = true});
}

static const struct exp_nic_dot dots_declock[] = {{24, 1.61}, {256, 0.20}};

const struct exp_nic_group exp_nic_locks_declock = {.name = "rw-locks",
                                                    .title = "100 k reader-writer CAS locks, ConnectX-4",
                                                    .x_label = "clients",
                                                    .y_label = "locked operations, M/s",
                                                    .chart = true,
                                                    .log_x = true,
                                                    .value = m_per_s,
                                                    .dots_name = "DecLock: peak, 256",
                                                    .dots = dots_declock,
                                                    .dot_count = sizeof dots_declock / sizeof *dots_declock,
                                                    .plan = plan_declock,
                                                    .judge = judge_declock};
