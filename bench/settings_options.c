#include "settings_options.h"

#include "fabric.h"
#include "mode.h"
#include "must.h"
#include "shared_options.h"

#include <string.h>

#define HISTORY_MAX 1000000000

#define AT(field) offsetof(struct settings, field)

static const struct option_def defs[] = {
    {.group = "Engine", SHARED_OPTIONS_FABRIC(AT(db.fabric), "shm")},
    {SHARED_OPTIONS_NIC(AT(nic))},
    {.name = "cc",
     .help = "concurrency control: locks on records; on cells; cells shared in a node; and queues",
     .fallback = "cellar",
     .kind = OPTION_CHOICE,
     .offset = AT(cc),
     .choices = mode_table_names},
    {.name = "lock",
     .argument = "NAME",
     .help = "where records have locks: their algorithm (cellar list)",
     .fallback = "declock",
     .kind = OPTION_TEXT,
     .offset = AT(db.lock)},
    {SHARED_OPTIONS_POLICY(AT(db.lock_policy))},
    {.name = "hot",
     .argument = "NAME=N,...",
     .help = "rules of mode cellar's hot records (docs/hot-records.md)",
     .kind = OPTION_TEXT,
     .offset = AT(db.hot)},
    {.name = "way",
     .argument = "NAME=N,...",
     .help = "rules by which mode cellar goes the plain way or shares (docs/plain-way.md)",
     .kind = OPTION_TEXT,
     .offset = AT(db.way)},

    {.name = "backoff-cap-ns",
     .argument = "N",
     .help = "before it tries again a coordinator waits at random, up to this",
     .fallback = "1024000",
     .kind = OPTION_NUMBER,
     .offset = AT(db.backoff_cap_ns),
     .min = 1000,
     .max = 100000000},
    {.name = "attempts-max",
     .argument = "N",
     .help = "drop a transaction when so many attempts have been aborted",
     .fallback = "never",
     .kind = OPTION_COUNT,
     .offset = AT(attempts_max),
     .min = 1,
     .max = 1000000},

    {.group = "Cluster",
     .name = "cns",
     .argument = "N",
     .help = "compute nodes, all in this process",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(db.cns),
     .min = 1,
     .max = FABRIC_CNS_MAX},
    {.name = "mns",
     .argument = "N",
     .help = "memory nodes",
     .fallback = "1",
     .kind = OPTION_COUNT,
     .offset = AT(db.mns),
     .min = 1,
     .max = FABRIC_NODES_MAX},
    {SHARED_OPTIONS_THREADS(AT(db.threads), "the machine's cores")},
    {.name = "coros",
     .argument = "N",
     .help = "coordinators (coroutines) of each thread",
     .fallback = "4",
     .kind = OPTION_COUNT,
     .offset = AT(db.coros),
     .min = 1,
     .max = 1024},
    {.name = "replicas",
     .argument = "F",
     .help = "backups of each record and log; fewer than --mns",
     .fallback = "0",
     .kind = OPTION_COUNT,
     .offset = AT(db.replicas),
     .min = 0,
     .max = FABRIC_NODES_MAX - 1},

    {.group = "Length", SHARED_OPTIONS_SECONDS(AT(seconds), "5; sim 0.1")},
    {.name = "txns",
     .argument = "N",
     .help = "measure so many transactions instead, shared out evenly",
     .kind = OPTION_NUMBER,
     .offset = AT(txns),
     .min = 1,
     .max = 1e15},
    {SHARED_OPTIONS_WARMUP(AT(warmup_s), "1; sim 0.01; 0 with --txns")},
    {SHARED_OPTIONS_SEED(AT(db.seed))},

    {.group = "Memory",
     .name = "pool-bytes",
     .argument = "SIZE",
     .help = "of each memory node (suffixes K, M, G)",
     .fallback = "estimated",
     .kind = OPTION_SIZE,
     .offset = AT(db.pool_bytes),
     .min = 1 << 20,
     .max = 1ull << 47},
    {.name = "pool",
     .argument = "FILE",
     .help = "keep the memory in a new file; needs --mns 1",
     .kind = OPTION_TEXT,
     .offset = AT(db.pool_path)},
    {.name = "durable",
     .argument = "DIR",
     .help = "keep it in a folder, too: a call is done when it is on the disk (docs/durability.md)",
     .kind = OPTION_TEXT,
     .offset = AT(db.durable)},
    {.name = "inflight",
     .argument = "N",
     .help = "--durable: calls of a thread that run, or wait for the disk, at most",
     .fallback = "4096",
     .kind = OPTION_COUNT,
     .offset = AT(inflight),
     .min = 1,
     .max = 1 << 20},
    {.name = "epoch-ns",
     .argument = "N",
     .help = "--durable: what no call waits for goes to the disk so often",
     .fallback = "2000000",
     .kind = OPTION_NUMBER,
     .offset = AT(db.epoch_ns),
     .min = 100000,
     .max = 1000000000},
    {.name = "durable-bytes",
     .argument = "SIZE",
     .help = "--durable: of the log, which a checkpoint frees when it is half full",
     .fallback = "as the pool, 256M to 4G",
     .kind = OPTION_SIZE,
     .offset = AT(db.durable_bytes),
     .min = 64 << 20,
     .max = 32ull << 30},
    {.name = "memnodes",
     .argument = "A,B",
     .help = "sockets of `cellar memnode` processes to use; verbs: ADDRESS[:PORT]",
     .kind = OPTION_TEXT,
     .offset = AT(db.memnodes)},
    {.name = "cluster",
     .argument = "FILE",
     .help = "verbs: a JSON file with the memory nodes, the secret, the replicas, etcd",
     .kind = OPTION_TEXT,
     .offset = AT(cluster_path)},
    {SHARED_OPTIONS_SECRET(AT(db.secret_path))},
    {SHARED_OPTIONS_ETCD(AT(etcd))},
    {SHARED_OPTIONS_ETCD_PREFIX(AT(etcd_prefix))},
    {.name = "process",
     .argument = "I/N",
     .help = "run together with others on --memnodes, as number I (0 first) of N",
     .kind = OPTION_TEXT,
     .offset = AT(process_text)},
    {.name = "survive",
     .help = "with --process: go on, and check, without those that die",
     .kind = OPTION_FLAG,
     .offset = AT(survive)},
    {.name = "lease",
     .argument = "S",
     .help = "declare a compute node dead that shows no sign of life for so long, or off",
     .fallback = "1 with --memnodes",
     .kind = OPTION_TEXT,
     .offset = AT(lease_text)},
    {SHARED_OPTIONS_RTT_NS(AT(db.rtt_ns))},

    {.group = "Operations of ycsb --core as a file",
     .name = "write-operations",
     .argument = "FILE",
     .help = "with --txns: write the operations to a file (docs/ycsb.md)",
     .kind = OPTION_TEXT,
     .offset = AT(write_operations)},
    {.name = "replay",
     .argument = "FILE",
     .help = "the operations, core and records of such a file",
     .kind = OPTION_TEXT,
     .offset = AT(replay)},

    {.group = "Report", SHARED_OPTIONS_JSON(AT(json))},

    {.name = "html",
     .argument = "FILE",
     .help = "also write the report as a page with charts",
     .kind = OPTION_TEXT,
     .offset = AT(html)},
    {.name = "metrics",
     .argument = "PORT",
     .help = "serve http://127.0.0.1:PORT/metrics while it runs; not in sim",
     .kind = OPTION_COUNT,
     .offset = AT(metrics_port),
     .min = 1,
     .max = 65535},
    {.name = "history",
     .argument = "FILE",
     .help = "record what every transaction reads and writes, and judge it",
     .kind = OPTION_TEXT,
     .offset = AT(history)},
    {.name = "history-max",
     .argument = "N",
     .help = "transactions to record; the run ends with them",
     .fallback = "1000000, or what --txns says",
     .kind = OPTION_NUMBER,
     .offset = AT(history_max),
     .min = 1,
     .max = HISTORY_MAX},

    {SHARED_OPTIONS_TRACE(AT(trace), "coordinators")},
    {SHARED_OPTIONS_TRACE_EVERY(AT(trace_every), "transactions of each coordinator")},
    {SHARED_OPTIONS_TRACE_EVENTS(AT(trace_events))},

    {.group = "Deaths, in sim",
     .name = "kill-cn",
     .argument = "I",
     .help = "this compute node dies; with --lease the others recover it",
     .kind = OPTION_TEXT,
     .offset = AT(kill_cn_text)},
    {.name = "kill-mn",
     .argument = "I",
     .help = "this memory node dies, and its backups take over",
     .kind = OPTION_TEXT,
     .offset = AT(kill_mn_text)},
    {.name = "kill-at",
     .argument = "S",
     .help = "so long after the warm-up",
     .kind = OPTION_REAL,
     .offset = AT(kill_at_s),
     .min = 0.000001,
     .max = SHARED_OPTIONS_SECONDS_MAX},

    {.group = "Tests",
     .name = "plant",
     .argument = "NAME",
     .help = "a planted bug, in builds that have them",
     .kind = OPTION_TEXT,
     .offset = AT(plant)},

    {.name = "faults", .absent = true},
};
#define COUNT (sizeof(defs) / sizeof(defs[0]))

const struct options settings_options = {.program = "cellar bench", .defs = defs, .count = COUNT};

static bool has(const struct option_def *list, size_t count, const char *name, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i].name) == bytes && !memcmp(list[i].name, name, bytes)) return true;
    return false;
}

/* Whose is it? */
static int refuse_foreign(const void *into, const char *name, size_t bytes, struct cellar_error *error)
{
    const struct settings *settings = into;
    char owners[160] = "";
    for (uint32_t i = 0; workload_table[i]; i++)
        if (has(workload_table[i]->options, workload_table[i]->option_count, name, bytes))
            snprintf(owners + strlen(owners), sizeof owners - strlen(owners), "%s%s", owners[0] ? ", " : "",
                     workload_table[i]->name);
    if (!owners[0]) return 0;
    return err_set(error, CELLAR_INVALID, "--%.*s is no option of %s, but of %s", (int)bytes, name,
                   settings->workload->name, owners);
}

void settings_options_make(const struct workload *workload, struct settings_options_all *all)
{
    must(COUNT + workload->option_count <= OPTIONS_MAX);
    memcpy(all->defs, defs, sizeof defs);
    for (uint32_t i = 0; i < workload->option_count; i++) {
        must(!has(defs, COUNT, workload->options[i].name, strlen(workload->options[i].name)));
        all->defs[COUNT + i] = workload->options[i];
        all->defs[COUNT + i].offset += AT(room);
    }
    all->options = (struct options){.program = settings_options.program,
                                    .defs = all->defs,
                                    .count = COUNT + workload->option_count,
                                    .unknown = refuse_foreign};
}

uint64_t settings_options_own(uint64_t given) { return given >> COUNT; }

void settings_options_print(FILE *out)
{
    uint32_t first = 0; /* behind the workloads' */
    while (!defs[first].group || strcmp(defs[first].group, "Report") != 0) first++;
    options_print_some(defs, first, out);
    for (uint32_t i = 0; workload_table[i]; i++) {
        if (workload_table[i]->option_count) fprintf(out, "\n%s\n", workload_table[i]->name);
        options_print_some(workload_table[i]->options, workload_table[i]->option_count, out);
    }
    const struct options rest = {.program = settings_options.program, .defs = &defs[first], .count = COUNT - first};
    options_print(&rest, out);
}
