/* locks_settings.c - defaults, what a mix is unless the user says otherwise, and what excludes each other. */
#include "locks_settings.h"

#include "locks_txn.h"
#include "shared_options.h"

#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 16384
#define TPCC_WAREHOUSES 100 /* of ShiftLock's traces */
#define DETECT_NS 1000000
#define SCAN_NS 70000000 /* DSLR's figure 10: 1,400 transactions a second where one in a hundred is a scan */

static const char *const mixes[] = {"micro", "objects-small", "objects-large", "tatp", "tpcc", "trace", NULL};

#define AT(field) offsetof(struct locks_settings, field)

static const struct option_def defs[] = {
    {.group = "Lock",
     .name = "lock",
     .argument = "NAME",
     .help = "the algorithm: see cellar list",
     .fallback = "declock",
     .kind = OPTION_TEXT,
     .offset = AT(plan.lock.algorithm)},
    {SHARED_OPTIONS_POLICY(AT(plan.lock.policy))},
    {.name = "capacity",
     .argument = "N",
     .help = "waiters that a lock has room for",
     .fallback = "what it needs",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.capacity),
     .min = 1},
    {.name = "lease-ns",
     .argument = "N",
     .help = "after so long without progress a holder counts as dead",
     .fallback = "the algorithm's",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.lock.lease_ns),
     .min = 1,
     .max = 1e12},
    {.name = "writers-in-a-row",
     .argument = "N",
     .help = "of algorithms that then let readers in",
     .fallback = "the algorithm's",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.writers_in_a_row),
     .min = 1},

    {.name = "slots",
     .argument = "N",
     .help = "leases that a holder asks for at once, of algorithms that have long ones",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.slots_max),
     .min = 1},

    {.name = "full-wait-ns",
     .argument = "N",
     .help = "between two looks at counters that are full, at most, of algorithms that clear them",
     .fallback = "the algorithm's",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.lock.full_wait_ns),
     .min = 1,
     .max = 1e9},

    {.group = "Load",
     .name = "mix",
     .help = "one lock and its object; an object store; transactions' locks",
     .fallback = "micro",
     .kind = OPTION_CHOICE,
     .offset = AT(mix),
     .choices = mixes},
    {.name = "think-ns",
     .argument = "N",
     .help = "while the locks are held, besides what is done with their objects",
     .fallback = "0; tatp 2800, tpcc 7000",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.think_ns),
     .max = 1e9},
    {.name = "history",
     .argument = "FILE",
     .help = "of --mix trace: a history that cellar bench --history has written",
     .kind = OPTION_TEXT,
     .offset = AT(history_path)},
    {.name = "locks",
     .argument = "N",
     .help = "locks, each with an object",
     .fallback = "100000; tatp 21 a subscriber, tpcc 60490",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.locks),
     .min = 1,
     .max = 1e9},
    {.name = "theta",
     .argument = "T",
     .help = "skew of the Zipf distribution, 0 (uniform) to 8: a power law",
     .fallback = "0.99",
     .kind = OPTION_REAL,
     .offset = AT(plan.theta),
     .max = ZIPF_THETA_MAX},
    {.name = "read-ratio",
     .argument = "R",
     .help = "share of shared locks",
     .fallback = "0.5; objects 0.65 and 0.89",
     .kind = OPTION_REAL,
     .offset = AT(plan.read_ratio),
     .max = 1},
    {.name = "update-ratio",
     .argument = "R",
     .help = "of those that are not shared: first for update, upgraded after a READ",
     .fallback = "0",
     .kind = OPTION_REAL,
     .offset = AT(plan.update_ratio),
     .max = 1},
    {.name = "cs-ops",
     .argument = "N",
     .help = "READs or WRITEs of the object while the lock is held",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(plan.cs_ops),
     .max = 1000},
    {.name = "warehouses",
     .argument = "N",
     .help = "of the mix tpcc",
     .fallback = "100",
     .kind = OPTION_COUNT,
     .offset = AT(plan.warehouses),
     .min = 1,
     .max = 1000000},
    {.name = "scan-ratio",
     .argument = "R",
     .help = "tpcc: share of transactions that read all customers under one lock, which others then take, too",
     .fallback = "0: no such lock",
     .kind = OPTION_REAL,
     .offset = AT(plan.scan_ratio),
     .max = 1},
    {.name = "scan-ns",
     .argument = "N",
     .help = "... for so long, with the leases of --slots",
     .fallback = "70000000",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.scan_ns),
     .max = 1e10},
    {.name = "subscribers",
     .argument = "N",
     .help = "of the mix tatp",
     .fallback = "100000",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.subscribers),
     .min = 1,
     .max = 40000000},
    {.name = "nurand",
     .help = "tatp: subscribers with the specification's skew instead of uniformly",
     .kind = OPTION_FLAG,
     .offset = AT(plan.nurand)},
    {.name = "pause-ns",
     .argument = "N",
     .help = "between two rounds of a client",
     .fallback = "0",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.pause_ns),
     .max = 1e10},
    {.name = "forget",
     .argument = "R",
     .help = "share of rounds whose client leaves its locks for ever, for others to recover",
     .fallback = "0",
     .kind = OPTION_REAL,
     .offset = AT(plan.forget_ratio),
     .max = 1},
    {.name = "object-bytes",
     .argument = "N",
     .help = "of each",
     .fallback = "8; objects 414 and 9213; transactions 64",
     .kind = OPTION_COUNT,
     .offset = AT(plan.object_bytes),
     .min = 1,
     .max = LOCKS_OBJECT_MAX},

    {.group = "Cluster",
     .name = "cns",
     .argument = "N",
     .help = "compute nodes",
     .fallback = "8; shm 2",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.cn_count),
     .min = 1,
     .max = FABRIC_CNS_MAX - 2},
    {SHARED_OPTIONS_THREADS(AT(plan.lock.workers_per_cn), "16; shm 1")},
    {.name = "clients",
     .argument = "N",
     .help = "of all threads together, a multiple of their number",
     .fallback = "two a thread; shm four",
     .kind = OPTION_COUNT,
     .offset = AT(clients),
     .min = 1,
     .max = CLIENTS_MAX},
    {.name = "server-threads",
     .argument = "N",
     .help = "of the lock server; idle where a lock has none",
     .fallback = "8; shm 1",
     .kind = OPTION_COUNT,
     .offset = AT(plan.server_workers),
     .min = 1,
     .max = 64},
    {.name = "silence",
     .argument = "S",
     .help = "so long without an answer, and a lock server or switch counts as lost",
     .fallback = "sim 1, else 10",
     .kind = OPTION_REAL,
     .offset = AT(silence),
     .min = 1e-6,
     .max = 1e6},
    {.name = "switches",
     .argument = "N",
     .help = "programmable ones, of locks that live in them",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.switches),
     .min = 1,
     .max = 16},
    {.name = "switch-slots",
     .argument = "N",
     .help = "for requests in a switch's queues, of locks that queue there",
     .fallback = "100000",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.switch_slots),
     .min = 1,
     .max = 163840},
    {.name = "tenants",
     .argument = "N",
     .help = "that share the compute nodes, of policies that tell them apart",
     .fallback = "2",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.tenants),
     .min = 1,
     .max = 16},
    {.name = "tenant-cns",
     .argument = "N",
     .help = "compute nodes of the first tenant",
     .fallback = "as many as of each other one",
     .kind = OPTION_COUNT,
     .offset = AT(plan.lock.tenant_cns),
     .min = 1,
     .max = FABRIC_CNS_MAX},
    {.name = "tenant-rate",
     .argument = "N",
     .help = "locks that each tenant may ask for in a second",
     .fallback = "1000000",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.lock.tenant_rate),
     .min = 1,
     .max = 1e9},
    {SHARED_OPTIONS_FABRIC(AT(fabric), "sim")},
    {SHARED_OPTIONS_SECRET(AT(plan.secret_path))},
    {SHARED_OPTIONS_NIC(AT(plan.nic))},
    {SHARED_OPTIONS_RTT_NS(AT(plan.rtt_ns))},
    {.name = "peer-ns",
     .argument = "N",
     .help = "sim: so much longer is the way of a message",
     .fallback = "0",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.peer_ns),
     .max = 1e9},
    {.name = "memnodes",
     .argument = "PATH",
     .help = "the socket of a cellar memnode; verbs: its ADDRESS[:PORT]",
     .kind = OPTION_TEXT,
     .offset = AT(plan.memnodes)},
    {.name = "process",
     .argument = "I/N",
     .help = "run together with others on --memnodes, as number I (0 first) of N, each with --cns",
     .fallback = "0/1",
     .kind = OPTION_TEXT,
     .offset = AT(process)},

    {.group = "Run", SHARED_OPTIONS_SECONDS(AT(seconds), "sim 0.02, shm 2")},
    {.name = "ops",
     .argument = "N",
     .help = "measure so many rounds of all clients instead",
     .kind = OPTION_NUMBER,
     .offset = AT(plan.ops),
     .min = 1,
     .max = 1e12},
    {SHARED_OPTIONS_WARMUP(AT(warmup), "a tenth of --seconds; 0 with --ops")},
    {.name = "kill-cn",
     .argument = "I",
     .help = "sim: compute node I dies amid the window",
     .kind = OPTION_COUNT,
     .offset = AT(plan.kill_cn),
     .max = FABRIC_CNS_MAX},
    {.name = "fail-switch",
     .argument = "S",
     .help = "so long after the window's beginning the switch loses all it knows",
     .kind = OPTION_REAL,
     .offset = AT(fail_at),
     .max = 1e6},
    {.name = "switch-down",
     .argument = "S",
     .help = "... and is away for so long",
     .fallback = "0.001",
     .kind = OPTION_REAL,
     .offset = AT(switch_down),
     .max = 1e6},
    {.name = "lose-server",
     .argument = "S",
     .help = "sim: so long after the window's beginning the lock server is gone for good",
     .kind = OPTION_REAL,
     .offset = AT(lose_at),
     .max = 1e6},
    {.name = "kill-at",
     .argument = "S",
     .help = "so long after the window's beginning",
     .fallback = "half of it",
     .kind = OPTION_REAL,
     .offset = AT(kill_at),
     .max = SHARED_OPTIONS_SECONDS_MAX},
    {.name = "detect",
     .argument = "S",
     .help = "so long later the others know that it is dead",
     .fallback = "0.001",
     .kind = OPTION_REAL,
     .offset = AT(detect),
     .max = SHARED_OPTIONS_SECONDS_MAX},
    {SHARED_OPTIONS_SEED(AT(plan.seed))},
    {SHARED_OPTIONS_JSON(AT(json))},
    {SHARED_OPTIONS_TRACE(AT(spans), "clients")},
    {SHARED_OPTIONS_TRACE_EVERY(AT(spans_every), "rounds of each client")},
    {SHARED_OPTIONS_TRACE_EVENTS(AT(spans_events))},
};
const struct options locks_settings_options = {
    .program = "cellar bench lock", .defs = defs, .count = sizeof defs / sizeof defs[0]};

static bool given_is(uint64_t given, const char *name) { return options_given(&locks_settings_options, given, name); }

/* What a mix is, unless the user says otherwise. */
/* The locks are the trace's records, or so many that these fall together. */
static int apply_trace(struct locks_settings *settings, uint64_t given, struct cellar_error *error)
{
    struct locks_plan *plan = &settings->plan;
    bool traced = !strcmp(settings->mix, "trace");
    if (traced != (settings->history_path != NULL))
        return err_set(error, CELLAR_INVALID, "--mix trace and --history FILE go together");
    if (!traced) return 0;
    int code = locks_trace_read(settings->history_path, LOCKS_TXN_MAX, &settings->trace, error);
    if (code) return code;
    plan->mix = LOCKS_TRACE;
    plan->trace = &settings->trace;
    plan->lock.locks_per_client = settings->trace.most;
    if (!given_is(given, "locks")) plan->locks = settings->trace.locks;
    if (!given_is(given, "object-bytes")) plan->object_bytes = 64;
    if (!given_is(given, "think-ns")) plan->think_ns = 7000;
    return 0;
}

static void apply_mix(struct locks_settings *settings, uint64_t given)
{
    struct locks_plan *plan = &settings->plan;
    bool small = !strcmp(settings->mix, "objects-small"), large = !strcmp(settings->mix, "objects-large");
    uint64_t locks = 100000;
    uint32_t bytes = small ? 414 : large ? 9213 : 8;
    double ratio = small ? 0.65 : large ? 0.89 : 0.5;
    uint64_t think_ns = 0;
    if (!plan->subscribers) plan->subscribers = LOCKS_TATP_SUBSCRIBERS;
    if (!strcmp(settings->mix, "tatp"))
        plan->mix = LOCKS_TATP, locks = plan->subscribers * LOCKS_TATP_ROWS, think_ns = 2800;
    if (!strcmp(settings->mix, "tpcc")) {
        plan->mix = LOCKS_TPCC, locks = LOCKS_TPCC_LOCKS, think_ns = 7000;
        plan->lock.locks_per_client = LOCKS_TXN_MAX; /* a Delivery has some 130 */
    }
    plan->scans = given_is(given, "scan-ratio");
    if (!given_is(given, "scan-ns")) plan->scan_ns = SCAN_NS;
    if (plan->mix != LOCKS_MICRO) bytes = 64;
    if (!given_is(given, "think-ns")) plan->think_ns = think_ns;
    if (!plan->warehouses) plan->warehouses = TPCC_WAREHOUSES;
    if (!given_is(given, "locks")) plan->locks = locks;
    if (!given_is(given, "object-bytes")) plan->object_bytes = bytes;
    if (!given_is(given, "read-ratio")) plan->read_ratio = ratio;
}

static int apply_process(struct locks_settings *settings, struct cellar_error *error)
{
    struct locks_plan *plan = &settings->plan;
    struct shared_options_process process;
    int code =
        shared_options_process(settings->process, plan->memnodes, plan->lock.cn_count, FABRIC_CNS_MAX, &process, error);
    if (code) return code;
    plan->process = process.index;
    plan->processes = process.count;
    plan->lock.cn_count *= plan->processes;
    return 0;
}

static int apply_shape(struct locks_settings *settings, uint64_t given, struct cellar_error *error)
{
    struct locks_plan *plan = &settings->plan;
    struct lockmgr_config *lock = &plan->lock;
    plan->sim = !strcmp(settings->fabric, "sim");
    plan->verbs = !strcmp(settings->fabric, "verbs");
    if (plan->verbs && !plan->memnodes)
        return err_set(error, CELLAR_INVALID,
                       "--fabric verbs needs --memnodes ADDRESS: where cellar memnode --fabric verbs listens");
    if (!plan->verbs && plan->secret_path)
        return err_set(error, CELLAR_INVALID, "--secret is for --fabric verbs, not %s", settings->fabric);
    if (plan->verbs && given_is(given, "rtt-ns"))
        return err_set(error, CELLAR_INVALID, "--rtt-ns is for --fabric shm: verbs has its network's");
    if (!plan->sim && given_is(given, "nic"))
        return err_set(error, CELLAR_INVALID, "--nic is for --fabric sim: shm is this machine");
    if (plan->sim && given_is(given, "rtt-ns"))
        return err_set(error, CELLAR_INVALID, "--rtt-ns is for --fabric shm: sim has the times of its --nic");
    if (!plan->sim && given_is(given, "peer-ns"))
        return err_set(error, CELLAR_INVALID, "--peer-ns is for --fabric sim");
    if (!lock->cn_count) lock->cn_count = plan->sim ? 8 : plan->memnodes ? 1 : 2;
    if (!lock->workers_per_cn) lock->workers_per_cn = plan->sim ? 16 : 1;
    if (!plan->server_workers) plan->server_workers = plan->sim ? 8 : 1;
    uint32_t threads = lock->cn_count * lock->workers_per_cn;
    if (!settings->clients) settings->clients = threads * (plan->sim ? 2 : 4);
    if (settings->clients % threads)
        return err_set(error, CELLAR_INVALID, "--clients %u is not a multiple of the %u threads (--cns x --threads)",
                       settings->clients, threads);
    lock->clients_per_worker = settings->clients / threads;
    return apply_process(settings, error);
}

/* Options of one mix, and of locks that can do what they ask for. */
static int check_load(const struct locks_settings *settings, uint64_t given, struct cellar_error *error)
{
    const struct locks_plan *plan = &settings->plan;
    static const struct {
        const char *option, *mixes;
        enum locks_mix mix;
    } uses[] = {
        {"theta", "micro and objects", LOCKS_MICRO},
        {"read-ratio", "micro and objects", LOCKS_MICRO},
        {"update-ratio", "micro and objects", LOCKS_MICRO},
        {"warehouses", "tpcc", LOCKS_TPCC},
        {"scan-ratio", "tpcc", LOCKS_TPCC},
        {"scan-ns", "tpcc", LOCKS_TPCC},
        {"subscribers", "tatp", LOCKS_TATP},
        {"nurand", "tatp", LOCKS_TATP},
    };
    for (uint32_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (given_is(given, uses[i].option) && plan->mix != uses[i].mix)
            return err_set(error, CELLAR_INVALID, "--%s is for --mix %s, not %s", uses[i].option, uses[i].mixes,
                           settings->mix);
    if (given_is(given, "scan-ns") && !plan->scans)
        return err_set(error, CELLAR_INVALID, "--scan-ns is for --scan-ratio: nothing else scans");
    if (plan->forget_ratio == 0) return 0;
    if (plan->memnodes) return err_set(error, CELLAR_INVALID, "--forget is for one process, without --memnodes");
    if (lockmgr_promises(&plan->lock) & LOCKMGR_ABANDONS) return 0;
    return err_set(error, CELLAR_INVALID, "--forget: lock algorithm %s%s%s does not find out that a client has failed",
                   plan->lock.algorithm, plan->lock.policy ? ", policy " : "",
                   plan->lock.policy ? plan->lock.policy : "");
}

static int apply_time(struct locks_settings *settings, uint64_t given, struct cellar_error *error)
{
    struct locks_plan *plan = &settings->plan;
    if (plan->ops && given_is(given, "seconds"))
        return err_set(error, CELLAR_INVALID, "--ops and --seconds exclude each other");
    if (plan->ops && settings->warmup > 0)
        return err_set(error, CELLAR_INVALID, "--ops and --warmup exclude each other");
    if (!given_is(given, "seconds")) settings->seconds = plan->sim ? 0.02 : 2;
    if (!given_is(given, "warmup")) settings->warmup = plan->ops ? 0 : settings->seconds / 10;
    plan->window_ns = (uint64_t)(settings->seconds * 1e9);
    plan->warmup_ns = (uint64_t)(settings->warmup * 1e9);
    plan->kills = given_is(given, "kill-cn");
    if (!plan->kills && (given_is(given, "kill-at") || given_is(given, "detect")))
        return err_set(error, CELLAR_INVALID, "--kill-at and --detect are for --kill-cn");
    plan->kill_ns = given_is(given, "kill-at") ? (uint64_t)(settings->kill_at * 1e9) : plan->window_ns / 2;
    plan->switch_fails = given_is(given, "fail-switch");
    if (!plan->switch_fails && given_is(given, "switch-down"))
        return err_set(error, CELLAR_INVALID, "--switch-down is for --fail-switch");
    if (plan->switch_fails && !lockmgr_switches_max(plan->lock.algorithm))
        return err_set(error, CELLAR_INVALID, "--fail-switch is for locks that live in switches: see cellar list");
    if (plan->kills && plan->switch_fails)
        return err_set(error, CELLAR_INVALID, "--kill-cn and --fail-switch exclude each other");
    plan->loses_server = given_is(given, "lose-server");
    plan->lose_ns = (uint64_t)(settings->lose_at * 1e9);
    if (plan->loses_server && (!plan->sim || !lockmgr_has_server(plan->lock.algorithm)))
        return err_set(error, CELLAR_INVALID, "--lose-server is for --fabric sim, and locks that have a server");
    if (plan->loses_server && !plan->ops && plan->lose_ns >= plan->window_ns)
        return err_set(error, CELLAR_INVALID, "--lose-server is after the window's end");
    if (plan->kills && plan->loses_server)
        return err_set(error, CELLAR_INVALID, "--kill-cn and --lose-server exclude each other");
    plan->lock.silence_ns = (uint64_t)(settings->silence * 1e9);
    plan->switch_fail_ns = (uint64_t)(settings->fail_at * 1e9);
    if (plan->switch_fails && plan->switch_fail_ns >= plan->window_ns)
        return err_set(error, CELLAR_INVALID, "--fail-switch is after the window's end");
    plan->switch_down_ns = given_is(given, "switch-down") ? (uint64_t)(settings->switch_down * 1e9) : DETECT_NS;
    plan->detect_ns = given_is(given, "detect") ? (uint64_t)(settings->detect * 1e9) : DETECT_NS;
    return 0;
}

int locks_settings_parse(int count, char *const *arguments, struct locks_settings *settings, struct cellar_error *error)
{
    uint64_t given;
    *settings =
        (struct locks_settings){.fabric = "sim", .mix = "micro", .spans_every = 64, .spans_events = TRACE_EVENTS_MAX};
    settings->plan =
        (struct locks_plan){.nic = "cx5", .seed = 1, .theta = 0.99, .cs_ops = 1, .lock.algorithm = "declock"};
    int code = options_parse(&locks_settings_options, count, arguments, settings, &given, error);
    if (code) return code;
    apply_mix(settings, given);
    code = apply_trace(settings, given, error);
    if (code == 0) code = apply_shape(settings, given, error);
    if (code == 0) code = apply_time(settings, given, error);
    if (code == 0) code = locks_check(&settings->plan, error);
    if (code == 0) code = shared_options_trace(&locks_settings_options, given, settings->spans, error);
    if (code == 0) code = locks_settings_check_lock(&settings->plan.lock, given, error);
    return code ? code : check_load(settings, given, error);
}
