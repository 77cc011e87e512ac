/* exp_nic_rates.c - groups whose clients repeat one operation: rates by word, address and connection, and latencies. */
#include "exp_nic.h"

static const char *const READ = "READ", *const WRITE = "WRITE";

#define US 1000ull
#define MS 1000000ull

static struct exp_nic_point *plan_stream(struct exp_nic *nic, const char *series, double x, const char *profile,
                                         uint32_t threads, struct exp_clients_stream stream)
{
    struct exp_nic_point *point = exp_nic_plan(nic, series, x);
    point->load.profile = profile;
    point->load.threads = threads;
    point->load.clients_per_thread = 1;
    point->load.mn_bytes = 64ull << 20;
    point->load.client = exp_clients_stream;
    point->plan.stream = stream;
    return point;
}

static double m_per_s(const struct exp_nic_result *result) { return result->per_s / 1e6; }
static double rate(const struct exp_nic *nic, const char *series, double x)
{
    return m_per_s(exp_nic_at(nic, series, x));
}
static double atomic_us(const struct exp_nic_result *result) { return result->atomic_us; }

/* ---- one word for all, a word for each ---- */

/* The programs of the notes: 12 threads, 32 operations each before they look for completions. */
#define NOTE_THREADS 12
#define NOTE_BATCH 32
#define IPADS_THREADS 36 /* on three machines */
#define FEW_THREADS 32   /* few enough connections for READs at full speed */
#define SHIFTLOCK_CLIENTS 240
#define SHIFTLOCK_CORES 48

/* On one word the rate is low, and one batch more or less in the window would show. */
static uint64_t words_window(const struct exp_nic *nic, uint64_t stride)
{
    return (nic->exp->quick ? 500 * US : 5 * MS) * (stride ? 1 : 20);
}

static void plan_note(struct exp_nic *nic, const char *series, enum fabric_op_kind kind, uint64_t stride)
{
    struct exp_nic_point *point = plan_stream(
        nic, series, NOTE_THREADS, "cx6", NOTE_THREADS,
        (struct exp_clients_stream){.kind = kind, .size_bytes = 64, .batch = NOTE_BATCH, .stride_bytes = stride});
    exp_nic_window(point, words_window(nic, stride));
}

static void plan_cx5(struct exp_nic *nic, const char *series, uint32_t threads, enum fabric_op_kind kind,
                     uint64_t stride)
{
    struct exp_nic_point *point =
        plan_stream(nic, series, threads, "cx5", threads,
                    (struct exp_clients_stream){.kind = kind,
                                                .size_bytes = 8,
                                                .batch = threads < SHIFTLOCK_CLIENTS ? NOTE_BATCH : 1,
                                                .stride_bytes = stride});
    point->load.threads_per_cn = SHIFTLOCK_CORES;
    exp_nic_window(point, words_window(nic, stride));
}

/* Of 36 threads on three machines, 32 operations behind a doorbell. */
static void plan_ipads(struct exp_nic *nic, const char *series, enum fabric_op_kind kind)
{
    plan_cx5(nic, series, IPADS_THREADS, kind, 8);
    nic->points[nic->point_count - 1].load.threads_per_cn = IPADS_THREADS / 3;
}

static void plan_words(struct exp_nic *nic)
{
    plan_note(nic, "CX-6 CAS, one word", FABRIC_CAS, 0);
    plan_note(nic, "CX-6 FAA, one word", FABRIC_FAA, 0);
    plan_note(nic, "CX-6 WRITE 64 B, one address", FABRIC_WRITE, 0);
    plan_note(nic, "CX-6 WRITE 64 B", FABRIC_WRITE, 64);
    plan_note(nic, "CX-6 READ 64 B", FABRIC_READ, 64);
    plan_cx5(nic, "CX-5 CAS, one word", SHIFTLOCK_CLIENTS, FABRIC_CAS, 0);
    plan_cx5(nic, "CX-5 FAA, one word", SHIFTLOCK_CLIENTS, FABRIC_FAA, 0);
    plan_cx5(nic, "CX-5 FAA", FEW_THREADS, FABRIC_FAA, 8);
    plan_cx5(nic, "CX-5 READ", FEW_THREADS, FABRIC_READ, 8);
    plan_ipads(nic, "CX-5 READ", FABRIC_READ);
    plan_ipads(nic, "CX-5 WRITE", FABRIC_WRITE);
    plan_ipads(nic, "CX-5 FAA", FABRIC_FAA);
}

static void judge_note(struct exp_nic *nic)
{
    exp_nic_judge(nic, "CX-6, 12 threads: CAS, one word", rate(nic, "CX-6 CAS, one word", NOTE_THREADS));
    exp_nic_judge(nic, "CX-6, 12 threads: FAA, one word", rate(nic, "CX-6 FAA, one word", NOTE_THREADS));
    exp_nic_judge(nic, "CX-6, 12 threads: WRITE 64 B, one address",
                  rate(nic, "CX-6 WRITE 64 B, one address", NOTE_THREADS));
    exp_nic_judge(nic, "CX-6, 12 threads: WRITE 64 B", rate(nic, "CX-6 WRITE 64 B", NOTE_THREADS));
    exp_nic_judge(nic, "CX-6, 12 threads: READ 64 B", rate(nic, "CX-6 READ 64 B", NOTE_THREADS));
}

static void judge_hot_word(struct exp_nic *nic)
{
    exp_nic_judge(nic, "CX-5, 240 clients: FAA, one word", rate(nic, "CX-5 FAA, one word", SHIFTLOCK_CLIENTS));
    exp_nic_judge(nic, "CX-5, 240 clients: CAS, one word", rate(nic, "CX-5 CAS, one word", SHIFTLOCK_CLIENTS));
}

static void judge_many_words(struct exp_nic *nic)
{
    exp_nic_judge(nic, "CX-5, 32 threads: READs / atomics, many words",
                  rate(nic, "CX-5 READ", FEW_THREADS) / rate(nic, "CX-5 FAA", FEW_THREADS));
    exp_nic_judge(nic, "CX-5, 36 threads: READ", rate(nic, "CX-5 READ", IPADS_THREADS));
    exp_nic_judge(nic, "CX-5, 36 threads: WRITE", rate(nic, "CX-5 WRITE", IPADS_THREADS));
    exp_nic_judge(nic, "CX-5, 36 threads: FAA", rate(nic, "CX-5 FAA", IPADS_THREADS));
}

static void judge_words(struct exp_nic *nic)
{
    judge_note(nic);
    judge_hot_word(nic);
    judge_many_words(nic);
}

const struct exp_nic_group exp_nic_rates_words = {
    .name = "words", .title = "Rates on one word and on many", .plan = plan_words, .judge = judge_words};

/* ---- words that share slots ---- */

#define FUSA_THREADS 128

static const char *const CX6 = "ConnectX-6", *const CX5 = "ConnectX-5";

static void plan_stride(struct exp_nic *nic)
{
    for (uint32_t profile = 0; profile < 2; profile++)
        for (uint32_t stride = 8; stride <= 8192; stride *= 2) {
            struct exp_nic_point *point =
                plan_stream(nic, profile ? CX5 : CX6, stride, profile ? "cx5" : "cx6", FUSA_THREADS,
                            (struct exp_clients_stream){.kind = FABRIC_CAS, .batch = 1, .stride_bytes = stride});
            point->load.threads_per_cn = FUSA_THREADS / 4;
            exp_nic_window(point, nic->exp->quick ? 500 * US : 5 * MS);
        }
}

static void judge_stride(struct exp_nic *nic)
{
    double apart = rate(nic, CX6, 8);
    exp_nic_judge(nic, "CX-6, 128 threads: CAS, words 8 B apart", apart);
    exp_nic_judge(nic, "CX-6, 128 threads: CAS, fall when all share a slot", (1 - rate(nic, CX6, 8192) / apart) * 100);
    exp_nic_judge(nic, "CX-5, 128 threads: CAS, words 128 B / 8 B apart", rate(nic, CX5, 128) / rate(nic, CX5, 8));
}

const struct exp_nic_group exp_nic_rates_stride = {.name = "stride",
                                                   .title = "CAS by 128 threads, each on a word of its own",
                                                   .x_label = "bytes between the words (512 slots of 8 bytes)",
                                                   .y_label = "M/s",
                                                   .chart = true,
                                                   .log_x = true,
                                                   .value = m_per_s,
                                                   .plan = plan_stride,
                                                   .judge = judge_stride};

/* ---- connections ---- */

#define IN_FLIGHT 1024 /* of all connections together, at least */

static const uint32_t scaling[] = {32, 64, 512, 4096};
#define SCALING (sizeof scaling / sizeof *scaling)

static void plan_connections(struct exp_nic *nic)
{
    for (uint32_t i = 0; i < SCALING; i++)
        for (uint32_t write = 0; write < 2; write++) {
            uint32_t batch = IN_FLIGHT / scaling[i];
            struct exp_nic_point *point =
                plan_stream(nic, write ? WRITE : READ, scaling[i], "cx6", scaling[i],
                            (struct exp_clients_stream){.kind = write ? FABRIC_WRITE : FABRIC_READ,
                                                        .size_bytes = 64,
                                                        .batch = batch < 1    ? 1
                                                                 : batch > 16 ? 16
                                                                              : batch,
                                                        .stride_bytes = 64});
            point->load.clients_per_thread = batch > 16 ? 2 : 1;
            exp_nic_window(point, nic->exp->quick ? 500 * US : 5 * MS);
            point->load.warmup_ns = 500 * US;
        }
}

static void judge_connections(struct exp_nic *nic)
{
    for (uint32_t i = 0; i < SCALING; i++) {
        exp_nic_judge_number(nic, "CX-6: READ 64 B, %u connections", scaling[i], rate(nic, READ, scaling[i]));
        exp_nic_judge_number(nic, "CX-6: WRITE 64 B, %u connections", scaling[i], rate(nic, WRITE, scaling[i]));
    }
}

const struct exp_nic_group exp_nic_rates_connections = {.name = "connections",
                                                        .title = "64-byte operations by connections, ConnectX-6",
                                                        .x_label = "connections",
                                                        .y_label = "M/s",
                                                        .chart = true,
                                                        .log_x = true,
                                                        .value = m_per_s,
                                                        .plan = plan_connections,
                                                        .judge = judge_connections};

/* ---- latencies ---- */

static const char *const CAS = "CAS";

static void plan_latency(struct exp_nic *nic)
{
    static const uint32_t sizes[] = {8, 64, 256, 1024, 2048, 4096};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct exp_clients_stream stream = {.kind = FABRIC_READ, .size_bytes = sizes[i], .batch = 1};
        exp_nic_window(plan_stream(nic, READ, sizes[i], "cx5", 1, stream), 1 * MS);
        stream.kind = FABRIC_WRITE;
        exp_nic_window(plan_stream(nic, WRITE, sizes[i], "cx5", 1, stream), 1 * MS);
    }
    exp_nic_window(plan_stream(nic, CAS, 8, "cx5", 1, (struct exp_clients_stream){.kind = FABRIC_CAS, .batch = 1}), MS);
}

static void judge_latency(struct exp_nic *nic)
{
    exp_nic_judge(nic, "CX-5, one client: CAS", exp_nic_at(nic, CAS, 8)->atomic_us);
    exp_nic_judge(nic, "CX-5, one client: READ 4 KB", exp_nic_at(nic, READ, 4096)->atomic_us);
}

const struct exp_nic_group exp_nic_rates_latency = {.name = "latency",
                                                    .title = "Latency of one operation, ConnectX-5",
                                                    .x_label = "bytes",
                                                    .y_label = "us",
                                                    .chart = true,
                                                    .value = atomic_us,
                                                    .plan = plan_latency,
                                                    .judge = judge_latency};

/* ---- messages, and what a link carries ---- */

#define MESSAGE_BYTES 32

static const char *const MANY = "READ, 12 threads", *const PING = "message, both ways",
                         *const TURNS = "message to two in turn, both ways";

static void plan_ping(struct exp_nic *nic, const char *series, uint32_t receivers)
{
    struct exp_nic_point *point = exp_nic_plan(nic, series, MESSAGE_BYTES);
    point->load.profile = "cx5";
    point->load.threads = 1 + receivers;
    point->load.clients_per_thread = point->load.threads_per_cn = 1;
    point->load.mn_bytes = 1 << 20;
    point->load.client = exp_clients_ping;
    point->plan.ping = (struct exp_clients_ping){.receivers = receivers, .size_bytes = MESSAGE_BYTES};
    exp_nic_window(point, 1 * MS);
}

static void plan_messages(struct exp_nic *nic)
{
    exp_nic_window(plan_stream(nic, MANY, 4096, "cx5", 12,
                               (struct exp_clients_stream){
                                   .kind = FABRIC_READ, .size_bytes = 4096, .batch = 8, .stride_bytes = 4096}),
                   1 * MS);
    plan_ping(nic, PING, 1);
    plan_ping(nic, TURNS, 2);
}

static void judge_messages(struct exp_nic *nic)
{
    double both_ways = exp_nic_at(nic, PING, MESSAGE_BYTES)->acquire_us;
    double in_turn = exp_nic_at(nic, TURNS, MESSAGE_BYTES)->acquire_us;
    exp_nic_judge(nic, "CX-5: message of 32 B, one way", both_ways / 2);
    exp_nic_judge(nic, "CX-5: more when the receiver changes", in_turn - both_ways);
    exp_nic_judge(nic, "CX-5, 12 threads: READ 4 KB, payload", rate(nic, MANY, 4096) * 4096 / 1e3);
}

const struct exp_nic_group exp_nic_rates_messages = {
    .name = "messages", .title = "Messages and links, ConnectX-5", .plan = plan_messages, .judge = judge_messages};
