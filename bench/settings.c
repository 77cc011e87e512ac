#include "settings.h"

#include "db.h"
#include "err.h"
#include "fabric.h"
#include "partial.h"
#include "plant.h"
#include "settings_options.h"
#include "shared_options.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define COORDINATORS_MAX 65536
#define HISTORY_MAX_DEFAULT 1000000
#define CORE_RECORDS 100000
#define NAMES_BYTES 200
#define CORE_SCAN_MAX 100
#define PATIENCE_NS 10000000000ull
#define INFLIGHT_DEFAULT 4096
#define INFLIGHT_ENTRY_BYTES 512 /* a redo entry, twice: a ring's half is used again when the other one is logged */
#define INFLIGHT_LOG_MIN (128u << 10) /* of a coordinator's log ring, with --durable */
#define INFLIGHT_LOG_MAX (8u << 20)

/* All workloads' names, a separator between two. */
static void names_list(const char *separator, char *names, size_t bytes)
{
    names[0] = 0;
    for (uint32_t i = 0; workload_table[i]; i++)
        snprintf(names + strlen(names), bytes - strlen(names), "%s%s", i ? separator : "", workload_table[i]->name);
}

static int workload_take(const char *name, const struct workload **workload, struct cellar_error *error)
{
    char names[NAMES_BYTES];
    *workload = workload_find(name);
    if (*workload) return 0;
    names_list(", ", names, sizeof names);
    return err_set(error, CELLAR_INVALID, "unknown workload '%.60s'; one of: %s", name, names);
}

static uint32_t paths_count(const char *list)
{
    uint32_t count = 1;
    for (const char *p = list; *p; p++) count += *p == ',';
    return count;
}

static int process_parse(struct settings *settings, struct cellar_error *error)
{
    struct shared_options_process process;
    if (!settings->process_text && settings->survive)
        return err_set(error, CELLAR_INVALID, "--survive needs --process: there is no other process to survive");
    int code = shared_options_process(settings->process_text, settings->db.memnodes, settings->db.cns, FABRIC_CNS_MAX,
                                      &process, error);
    if (code) return code;
    settings->process = process.index;
    settings->processes = process.count;
    if (!settings->process_text) return 0;
    settings->db.cn_index = settings->process * settings->db.cns;
    return 0;
}

/* "2", of so many; *into stays what it is without. */
static int node_parse(const char *option, const char *text, uint32_t first, uint32_t count, int32_t *into,
                      struct cellar_error *error)
{
    char *end = NULL;
    if (!text) return 0;
    unsigned long node = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : count;
    if (!end || *end || node >= count || node < first)
        return err_set(error, CELLAR_INVALID, "--%s needs a number from %u to %u, not '%.60s'", option, first,
                       count - 1, text);
    *into = (int32_t)node;
    return 0;
}

/* Compute node 0 judges in the end. */
static int death_parse(struct settings *settings, struct cellar_error *error)
{
    const struct engine_config *db = &settings->db;
    settings->kill_cn = settings->kill_mn = -1;
    if (!settings->kill_cn_text && !settings->kill_mn_text) {
        if (settings->kill_at_s > 0) return err_set(error, CELLAR_INVALID, "--kill-at needs --kill-cn or --kill-mn");
        return 0;
    }
    if (!settings->sim) return err_set(error, CELLAR_INVALID, "--kill-cn and --kill-mn are for --fabric sim");
    if (settings->kill_cn_text && settings->kill_mn_text)
        return err_set(error, CELLAR_INVALID, "--kill-cn and --kill-mn exclude each other");
    if (settings->kill_cn_text && db->cns < 2)
        return err_set(error, CELLAR_INVALID, "--kill-cn needs --cns 2 or more: compute node 0 judges in the end");
    if (settings->kill_mn_text && db->replicas == 0)
        return err_set(error, CELLAR_INVALID, "--kill-mn needs --replicas 1 or more: else records are lost");
    if (settings->txns || settings->kill_at_s <= 0 || settings->kill_at_s >= settings->seconds)
        return err_set(error, CELLAR_INVALID, "--kill-at must lie within --seconds");
    int code = node_parse("kill-cn", settings->kill_cn_text, 1, db->cns, &settings->kill_cn, error);
    return code < 0 ? code : node_parse("kill-mn", settings->kill_mn_text, 0, db->mns, &settings->kill_mn, error);
}

/* "0.5", "off" */
static int lease_parse(struct settings *settings, struct cellar_error *error)
{
    const char *text = settings->lease_text;
    char *end = NULL;
    if (!text) return 0;
    if (!settings->db.memnodes && !settings->sim)
        return err_set(error, CELLAR_INVALID, "--lease needs --memnodes: leases are between processes");
    double seconds = strtod(text, &end);
    bool number = *text >= '0' && *text <= '9' && !*end && seconds >= 0.001 && seconds <= 16;
    if (!number && strcmp(text, "off") != 0)
        return err_set(error, CELLAR_INVALID, "--lease needs seconds from 0.001 to 16, or off, not '%.60s'", text);
    settings->db.lease_ns = number ? (uint64_t)(seconds * 1e9) : CELLAR_LEASE_NONE;
    return 0;
}

#define CONFLICT(...) return err_set(error, CELLAR_INVALID, __VA_ARGS__)

static int refuse_sim_conflicts(uint64_t given, struct cellar_error *error)
{
    static const char *const shm_only[] = {"rtt-ns", "pool", "durable", "memnodes", "secret", "process"};
    for (uint32_t i = 0; i < sizeof(shm_only) / sizeof(shm_only[0]); i++)
        if (options_given(&settings_options, given, shm_only[i]))
            CONFLICT("--%s is for --fabric shm, not sim", shm_only[i]);
    return 0;
}

/* What verbs has not, and what only it has. */
static int refuse_verbs_conflicts(const struct settings *settings, uint64_t given, struct cellar_error *error)
{
    if (strcmp(settings->db.fabric, "verbs") != 0) {
        if (settings->db.secret_path) CONFLICT("--secret is for --fabric verbs, not %s", settings->db.fabric);
        return 0;
    }
    if (options_given(&settings_options, given, "rtt-ns") || settings->db.pool_path)
        CONFLICT("--rtt-ns and --pool are for --fabric shm, not verbs");
    if (!settings->db.memnodes)
        CONFLICT("--fabric verbs needs --memnodes ADDRESS,ADDRESS: where cellar memnode --fabric verbs listens");
    if (settings->history && settings->processes > 1)
        CONFLICT("--history needs one clock, and the processes of --fabric verbs may be on several machines");
    return 0;
}

/* Other processes take part, and modes that keep versions have none. */
static int refuse_index_conflicts(const struct settings *settings, struct cellar_error *error)
{
    const struct workload *workload = settings->workload;
    const char *option = NULL;
    uint32_t count = workload->indexes ? workload->indexes(&settings->room.config, &option) : 0;
    if (!count) return 0;
    if (settings->processes > 1)
        CONFLICT("%s has %s made before other processes take part: not with --process", option,
                 count > 1 ? "ordered indexes, which are" : "an ordered index, which is");
    if (mode_of(settings->db.cc)->versions)
        CONFLICT("%s is not for --cc %s, which has no ordered indexes", option, mode_of(settings->db.cc)->name);
    return 0;
}

static int refuse_history_conflicts(const struct settings *settings, uint64_t given, struct cellar_error *error)
{
    if (!settings->history && options_given(&settings_options, given, "history-max"))
        CONFLICT("--history-max needs --history FILE, which it bounds");
    if (settings->history && settings->txns > settings->history_max)
        CONFLICT("--txns %llu are more than --history-max %llu allows to record", (unsigned long long)settings->txns,
                 (unsigned long long)settings->history_max);
    if (settings->history && !strcmp(settings->history, "-")) CONFLICT("--history needs a file of its own: - is none");
    return 0;
}

static int refuse_durable_conflicts(const struct settings *settings, uint64_t given, struct cellar_error *error)
{
    static const char *const durable_only[] = {"inflight", "epoch-ns", "durable-bytes"};
    const struct engine_config *db = &settings->db;
    for (uint32_t i = 0; !db->durable && i < sizeof durable_only / sizeof *durable_only; i++)
        if (options_given(&settings_options, given, durable_only[i]))
            CONFLICT("--%s needs --durable DIR", durable_only[i]);
    if (!db->durable) return 0;
    if (strcmp(db->fabric, "shm") != 0) CONFLICT("--durable is for --fabric shm, not %s", db->fabric);
    if (db->pool_path) CONFLICT("--durable and --pool exclude each other");
    if (db->memnodes) CONFLICT("--durable and --memnodes exclude each other");
    if (settings->inflight < db->coros)
        CONFLICT("--inflight %u is less than --coros %u: each of them has a call in flight", settings->inflight,
                 db->coros);
    return 0;
}

/* Options that are each in order, but not together. */
static int refuse_conflicts(struct settings *settings, uint64_t given, struct cellar_error *error)
{
    const struct engine_config *db = &settings->db;
    if (options_given(&settings_options, given, "seconds") && settings->txns)
        CONFLICT("--seconds and --txns exclude each other");
    if (!settings->sim && options_given(&settings_options, given, "nic"))
        CONFLICT("--nic is for --fabric sim, not %s", settings->db.fabric);
    if (settings->html && !strcmp(settings->html, "-")) CONFLICT("--html needs a file of its own: - is none");
    if (settings->sim && settings->metrics_port)
        return err_set(error, CELLAR_INVALID, "--metrics is for runs in real time, not for --fabric sim");
    if (settings->sim) {
        int refused = refuse_sim_conflicts(given, error);
        if (refused < 0) return refused;
    }
    if (db->hot && !mode_of(db->cc)->queues) CONFLICT("--hot is for --cc cellar, not %s", mode_of(db->cc)->name);
    if (settings->etcd && !db->memnodes) CONFLICT("--etcd is for --memnodes, which several processes share");
    if (db->way && !mode_of(db->cc)->way) CONFLICT("--way is for --cc cellar, not %s", mode_of(db->cc)->name);
    int code = refuse_history_conflicts(settings, given, error);
    if (code == 0) code = shared_options_trace(&settings_options, given, settings->trace, error);
    if (code == 0) code = refuse_durable_conflicts(settings, given, error);
    if (code == 0) code = refuse_verbs_conflicts(settings, given, error);
    if (code < 0) return code;
    if (db->memnodes) {
        if (db->pool_path) CONFLICT("--pool and --memnodes exclude each other");
        if (db->pool_bytes) CONFLICT("--pool-bytes is set by the memory nodes themselves when --memnodes is given");
        if (options_given(&settings_options, given, "mns") && db->mns != paths_count(db->memnodes))
            CONFLICT("--mns %u, but --memnodes names %u", db->mns, paths_count(db->memnodes));
    } else if (db->pool_path && db->mns > 1) {
        CONFLICT("--pool holds one memory node; --mns is %u", db->mns);
    }
    uint32_t mns = db->memnodes ? paths_count(db->memnodes) : db->mns;
    if (mns > FABRIC_NODES_MAX)
        CONFLICT("--memnodes names %u memory nodes; at most %d are possible", mns, FABRIC_NODES_MAX);
    if (db->replicas >= mns)
        CONFLICT("--replicas %u needs at least %u memory nodes; there are %u", db->replicas, db->replicas + 1, mns);
    if (settings_coordinators(settings) > COORDINATORS_MAX)
        CONFLICT("%llu coordinators (--cns x --threads x --coros) are too many; at most %d are possible",
                 (unsigned long long)settings_coordinators(settings), COORDINATORS_MAX);
    return 0;
}

static void fill_defaults(struct settings *settings, uint32_t cores)
{
    settings->db = (struct engine_config){.fabric = "shm", .cns = 1, .mns = 1, .threads = cores, .coros = 4, .seed = 1};
    settings->cc = "cellar";
    settings->nic = "cx5";
    settings->trace_every = 64;
    settings->trace_events = TRACE_EVENTS_MAX;
    workload_defaults(settings->workload, 0, &settings->room);
}

/* A cluster file stands for --fabric verbs, --memnodes and --secret, and for --replicas unless that is given. */
static int cluster_take(struct settings *settings, uint64_t given, struct cellar_error *error)
{
    struct cluster *cluster = &settings->cluster;
    if (!settings->cluster_path) return 0;
    if (settings->db.memnodes || settings->db.secret_path)
        CONFLICT("--cluster and --memnodes, --secret exclude each other: the file has both");
    if (options_given(&settings_options, given, "fabric") && strcmp(settings->db.fabric, "verbs") != 0)
        CONFLICT("--cluster is for --fabric verbs, not %s", settings->db.fabric);
    int code = cluster_read(settings->cluster_path, cluster, error);
    if (code < 0) return code;
    settings->db.fabric = "verbs";
    settings->db.memnodes = cluster->memnodes;
    if (cluster->etcd[0] && !settings->etcd) settings->etcd = cluster->etcd;
    if (cluster->prefix[0] && !settings->etcd_prefix) settings->etcd_prefix = cluster->prefix;
    if (cluster->secret[0]) settings->db.secret_path = cluster->secret;
    if (cluster->has_replicas && !options_given(&settings_options, given, "replicas"))
        settings->db.replicas = cluster->replicas;
    return 0;
}

/*
 * Calls wait for room in their log ring, with what they have locked, until the agent has taken what is there: rings
 * hold what is in flight, each all of its thread's, since one coordinator of a thread may run most of its calls.
 */
static void durable_resolve(struct settings *settings, uint64_t given)
{
    struct engine_config *db = &settings->db;
    if (!options_given(&settings_options, given, "inflight"))
        settings->inflight = db->coros > INFLIGHT_DEFAULT ? db->coros : INFLIGHT_DEFAULT;
    if (!options_given(&settings_options, given, "coros") && settings->inflight < db->coros)
        db->coros = settings->inflight;
    uint64_t bytes = INFLIGHT_LOG_MIN, wanted = (uint64_t)settings->inflight * INFLIGHT_ENTRY_BYTES;
    while (bytes < wanted && bytes < INFLIGHT_LOG_MAX) bytes *= 2;
    if (db->log_bytes < bytes) db->log_bytes = bytes;
}

/* The workload's part: which one it is, and what follows from its own options. */
static int workload_resolve(struct settings *settings, uint64_t given, struct cellar_error *error)
{
    struct workload_config *config = &settings->room.config;
    config->seed = settings->db.seed;
    if (settings->workload->variant) settings->workload = settings->workload->variant(config);
    if (!settings->workload->resolve) return 0;
    return settings->workload->resolve(config, settings_options_own(given), error);
}

/* What follows from the options given. */
static void resolve(struct settings *settings, uint64_t given)
{
    const struct workload *workload = settings->workload;
    settings->db.cc = (enum cellar_lab_cc)mode_find(settings->cc);
    if (workload->log_bytes) settings->db.log_bytes = workload->log_bytes(&settings->room.config);
    settings->sim = !strcmp(settings->db.fabric, "sim");
    if (!options_given(&settings_options, given, "seconds") && !settings->txns)
        settings->seconds = settings->sim ? 0.1 : 5;
    if (settings->db.durable) durable_resolve(settings, given);
    if (!options_given(&settings_options, given, "history-max"))
        settings->history_max = settings->txns > HISTORY_MAX_DEFAULT ? settings->txns : HISTORY_MAX_DEFAULT;
    /* A recording has no room for what is not measured. */
    if (!options_given(&settings_options, given, "warmup"))
        settings->warmup_s = settings->txns || settings->history ? 0 : settings->sim ? 0.01 : 1;
    if (settings->db.memnodes && !options_given(&settings_options, given, "mns"))
        settings->db.mns = paths_count(settings->db.memnodes);
    if (settings->db.pool_path) settings->db.cns_max = settings->db.cns; /* tables are loaded while no other is there */
}

static int plant_resolve(const struct settings *settings, struct cellar_error *error)
{
    if (!settings->plant) return 0;
#ifdef CELLAR_PLANTS
    if (!plant_choose(settings->plant))
        CONFLICT("there is no planted bug '%.60s' (*_plants.h in the rooms)", settings->plant);
    return 0;
#else
    return err_set(error, CELLAR_UNSUPPORTED,
                   "--plant %.60s: this build has no planted bugs (cmake -DPLANTS=ON makes one)", settings->plant);
#endif
}

static int operate(struct settings *settings, uint64_t given, struct cellar_error *error)
{
    return settings->workload->operate(&settings->room.config, settings_options_own(given), &settings->operations,
                                       error);
}

/* A file says which operations there are, of which workload: before it counts which one that is. */
static int replay_take(struct settings *settings, uint64_t given, struct cellar_error *error)
{
    static const char *const said[] = {"txns", "seconds", "warmup", "write-operations"};
    if (!settings->replay) return 0;
    if (!settings->workload->operate) CONFLICT("--replay is no option of %s", settings->workload->name);
    for (uint32_t i = 0; i < sizeof said / sizeof *said; i++)
        if (options_given(&settings_options, given, said[i])) CONFLICT("--replay and --%s exclude each other", said[i]);
    if (settings->process_text) CONFLICT("--replay is of one process: not with --process");
    int code = operations_read(settings->replay, &settings->operations, error);
    if (code == 0) code = operate(settings, given, error);
    settings->txns = settings->operations.count;
    return code;
}

static int write_operations_take(struct settings *settings, uint64_t given, struct cellar_error *error)
{
    if (!settings->write_operations) return 0;
    if (!settings->workload->operate) CONFLICT("--write-operations is no option of %s", settings->workload->name);
    settings->operations = (struct workload_operations){.count = settings->txns, .fills = true};
    int code = operate(settings, given, error);
    if (code < 0) return code;
    if (!settings->txns || settings->warmup_s > 0)
        CONFLICT("--write-operations needs --txns, and no --warmup: so many are written");
    if (settings->process_text) CONFLICT("--write-operations is of one process: not with --process");
    if (!strcmp(settings->write_operations, "-")) CONFLICT("--write-operations needs a file of its own: - is none");
    code = partial_accept(settings->write_operations, error);
    return code < 0 ? code : operations_make(&settings->operations, error);
}

int settings_parse(int count, char *const *arguments, uint32_t cores, struct settings *settings,
                   struct cellar_error *error)
{
    memset(settings, 0, sizeof(*settings));
    if (count > 0 && (!strcmp(arguments[0], "--help") || !strcmp(arguments[0], "-h"))) return OPTIONS_HELP;
    if (count == 0 || arguments[0][0] == '-') {
        char names[NAMES_BYTES];
        names_list("|", names, sizeof names);
        return err_set(error, CELLAR_INVALID, "the workload comes first: cellar bench %s|lock [options]", names);
    }
    int code = workload_take(arguments[0], &settings->workload, error);
    if (code < 0) return code;
    fill_defaults(settings, cores);
    struct settings_options_all all;
    uint64_t given;
    settings_options_make(settings->workload, &all);
    code = options_parse(&all.options, count - 1, arguments + 1, settings, &given, error);
    if (code == 0) code = cluster_take(settings, given, error);
    if (code == 0) code = replay_take(settings, given, error);
    if (code == 0) code = workload_resolve(settings, given, error);
    if (code != 0) return code;
    resolve(settings, given);
    code = refuse_conflicts(settings, given, error);
    if (code == 0) code = process_parse(settings, error);
    if (code == 0) code = refuse_index_conflicts(settings, error);
    if (code == 0) code = lease_parse(settings, error);
    if (code == 0) code = death_parse(settings, error);
    if (code == 0) code = plant_resolve(settings, error);
    if (code == 0) code = write_operations_take(settings, given, error);
    if (code < 0) return code;
    return settings->workload->validate(&settings->room.config, error);
}

const char *settings_lock(const struct settings *settings)
{
    const struct mode *mode = mode_of(settings->db.cc);
    if (mode->locks && settings->db.lock) return settings->db.lock;
    return mode->locks || mode->queues ? "declock" : NULL;
}

uint64_t settings_coordinators(const struct settings *settings)
{
    return (uint64_t)settings->db.cns * settings->db.threads * settings->db.coros;
}

uint64_t settings_patience_ns(const struct settings *settings)
{
    uint64_t lease_ns = settings->db.lease_ns;
    return PATIENCE_NS + (lease_ns == CELLAR_LEASE_NONE ? 0 : lease_ns);
}

void settings_print_help(FILE *out)
{
    fputs("Usage: cellar bench WORKLOAD [options]\n\n"
          "Runs a workload, reads the memory pool back to check it, and reports both.\n\n"
          "Workloads\n",
          out);
    for (uint32_t i = 0; workload_table[i]; i++)
        fprintf(out, "  %-26s %s\n", workload_table[i]->name, workload_table[i]->summary);
    settings_options_print(out);
    fputs("\nExamples\n"
          "  cellar bench smallbank                             five seconds on all cores of this machine\n"
          "  cellar bench index --operation scan --fabric sim --cns 4 --coros 60\n"
          "  cellar bench ycsb --theta 1.2 --write-ratio 0.5 --json -\n"
          "  cellar bench tpcc --fabric sim --cns 3 --mns 2 --replicas 1 --threads 8 --warehouses 8\n"
          "  cellar bench smallbank --txns 100000 --history run.jsonl\n"
          "  cellar bench ycsb --durable /var/tmp/ycsb --inflight 1024\n"
          "\nExit status: 0 the run was made and every check holds, 1 a check failed, 2 wrong usage or an error.\n",
          out);
}
