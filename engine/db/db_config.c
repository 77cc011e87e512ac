/* db_config.c - what a configuration may be, and the fabric that it asks for. */
#include "db_config.h"

#include "catalog.h"
#include "db.h"
#include "descriptor.h"
#include "fabric_shm.h"
#include "fabric_sim.h"
#include "fabric_verbs.h"
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A millisecond: with less, hundreds of coordinators keep the NIC of a hot lock word busy with failures. */
#define BACKOFF_CAP_NS_DEFAULT 1024000ull
#define BACKOFF_CAP_NS_MIN 1000ull
#define BACKOFF_CAP_NS_MAX 100000000ull
#define RTT_NS_MAX 1000000000ull
#define POOL_BYTES_MIN (1ull << 20)
#define CNS_MAX_DEFAULT 7 /* of a pool file: what tables of any number of cells allow */
#define LOG_BYTES_DEFAULT (128ull << 10)
#define LOG_BYTES_MIN LAYOUT_CHUNK_BYTES
/* Longer than a process that is there may go without the processor on a busy machine. */
#define LEASE_NS_DEFAULT 1000000000ull
#define LEASE_NS_MIN 20000ull
#define LEASE_NS_MAX (LAYOUT_LEASE_US_MAX * 1000ull)
#define SESSIONS_DEFAULT 64
#define EPOCH_NS_DEFAULT 2000000ull
#define EPOCH_NS_MIN 100000ull
#define EPOCH_NS_MAX 1000000000ull
#define DURABLE_THREADS(mns) ((mns) + 1u) /* which have endpoints, as workers have */
#define WORKERS_MAX (CELLAR_TXNS_MAX + 1) /* of a compute node, with those of sessions: what fabrics have room for */
/* Of coordinators and workers: Linux lets a process map 65,530 areas, and a stack takes 2 to 3. */
#define STACKS_MAX 21000

static void defaults_set(struct engine_config *config)
{
    config->fabric = config->fabric ? config->fabric : "shm";
    config->cns = config->cns ? config->cns : 1;
    config->mns = config->mns ? config->mns : 1;
    config->threads = config->threads ? config->threads : 1;
    config->coros = config->coros ? config->coros : 4;
    uint32_t workers_max = WORKERS_MAX - (config->durable ? DURABLE_THREADS(config->mns) : 0);
    uint32_t room = config->threads < workers_max ? workers_max - config->threads : 0;
    if (config->sessions == 0) config->sessions = room < SESSIONS_DEFAULT ? room : SESSIONS_DEFAULT;
    config->pool_bytes = config->pool_bytes ? config->pool_bytes : CONFIG_POOL_BYTES_DEFAULT;
    config->log_bytes = config->log_bytes ? config->log_bytes : LOG_BYTES_DEFAULT;
    config->backoff_cap_ns = config->backoff_cap_ns ? config->backoff_cap_ns : BACKOFF_CAP_NS_DEFAULT;
    config->seed = config->seed ? config->seed : 1;
    config->epoch_ns = config->epoch_ns ? config->epoch_ns : EPOCH_NS_DEFAULT;
    bool shares = config->memnodes || (config->pool_path && !config->pool_private);
    if (config->lease_ns == 0) config->lease_ns = shares ? LEASE_NS_DEFAULT : CELLAR_LEASE_NONE;
    if (config->cns_max == 0) config->cns_max = config->cns > CNS_MAX_DEFAULT ? config->cns : CNS_MAX_DEFAULT;
}

static int nodes_check(const struct engine_config *config, struct cellar_error *error)
{
    if (config->cns > FABRIC_CNS_MAX || config->cn_index > FABRIC_CNS_MAX - config->cns)
        return err_set(error, CELLAR_INVALID, "compute nodes %u..%u: at most %u can exist", config->cn_index,
                       config->cn_index + config->cns - 1, FABRIC_CNS_MAX);
    if (config->cn_index && !config->memnodes && !config->pool_path)
        return err_set(error, CELLAR_INVALID, "a compute-node index other than 0 needs memory nodes that others share");
    if (config->cns_max > FABRIC_CNS_MAX || config->cns_max < config->cns)
        return err_set(error, CELLAR_INVALID, "cns_max %u: from cns, which is %u, to %d", config->cns_max, config->cns,
                       FABRIC_CNS_MAX);
    if (config->mns > FABRIC_NODES_MAX)
        return err_set(error, CELLAR_INVALID, "%u memory nodes: at most %u", config->mns, FABRIC_NODES_MAX);
    if (config->replicas >= config->mns && !config->memnodes)
        return err_set(error, CELLAR_INVALID, "%u backups need %u memory nodes, there are %u", config->replicas,
                       config->replicas + 1, config->mns);
    return 0;
}

static int decider_check(const struct engine_config *config, struct cellar_error *error)
{
    bool shares = config->memnodes || strcmp(config->fabric, "sim") == 0;
    if (!config->decider || shares) return 0;
    return err_set(
        error, CELLAR_INVALID,
        "a register that decides is for compute nodes of several processes, on memory nodes that they share");
}

static int lease_check(const struct engine_config *config, struct cellar_error *error)
{
    if (config->lease_ns == CELLAR_LEASE_NONE) return 0;
    if (config->lease_ns < LEASE_NS_MIN || config->lease_ns > LEASE_NS_MAX)
        return err_set(error, CELLAR_INVALID, "a lease of %llu ns: %llu to %llu", (unsigned long long)config->lease_ns,
                       (unsigned long long)LEASE_NS_MIN, (unsigned long long)LEASE_NS_MAX);
    if (!config->memnodes && !config->pool_path && strcmp(config->fabric, "shm") == 0)
        return err_set(error, CELLAR_INVALID,
                       "leases are for compute nodes of several processes, on memory nodes or a pool file that they "
                       "share");
    return 0;
}

static int backoff_check(const struct engine_config *config, struct cellar_error *error)
{
    if (config->backoff_cap_ns >= BACKOFF_CAP_NS_MIN && config->backoff_cap_ns <= BACKOFF_CAP_NS_MAX) return 0;
    return err_set(error, CELLAR_INVALID, "a backoff of up to %llu ns: %llu to %llu",
                   (unsigned long long)config->backoff_cap_ns, BACKOFF_CAP_NS_MIN, BACKOFF_CAP_NS_MAX);
}

static int stacks_check(const struct engine_config *config, struct cellar_error *error)
{
    uint64_t workers = (uint64_t)config->cns * config->threads, stacks = workers * (config->coros + 1ull) + config->cns;
    if (config->lease_ns != CELLAR_LEASE_NONE) stacks += 2ull * config->cns;
    const struct mode *mode = mode_of(config->cc);
    if (mode->stacks) stacks += mode->stacks(config);
    if (stacks <= STACKS_MAX) return 0;
    return err_set(error, CELLAR_INVALID,
                   "%llu coordinators on %llu threads are too many: one process can have at most %d of both",
                   (unsigned long long)(stacks - workers), (unsigned long long)workers, STACKS_MAX);
}

/* What a folder can keep: durable.c. */
static int durable_check(const struct engine_config *config, struct cellar_error *error)
{
    if (config->epoch_ns < EPOCH_NS_MIN || config->epoch_ns > EPOCH_NS_MAX)
        return err_set(error, CELLAR_INVALID, "epochs of %llu ns: %llu to %llu", (unsigned long long)config->epoch_ns,
                       EPOCH_NS_MIN, EPOCH_NS_MAX);
    if (config->level > CELLAR_DURABLE) return err_set(error, CELLAR_INVALID, "no such level: %d", (int)config->level);
    if (!config->durable && (config->level == CELLAR_DURABLE || config->durable_bytes))
        return err_set(error, CELLAR_INVALID, "nothing can be durable: the database has no folder");
    if (config->durable && config->pool_private && config->level == CELLAR_DURABLE)
        return err_set(error, CELLAR_INVALID, "nothing can be durable: pool_private only looks at the folder");
    if (config->lost && (!config->durable || config->pool_private))
        return err_set(error, CELLAR_INVALID, "lost: a memory node is filled where its folder is %s",
                       config->durable ? "opened, not only looked at" : "named");
    if (config->durable && config->pool_path)
        return err_set(error, CELLAR_INVALID, "durable: a folder and a pool file are one too many");
    if (config->durable && config->threads + config->sessions > WORKERS_MAX - DURABLE_THREADS(config->mns))
        return err_set(error, CELLAR_INVALID, "durable: %u threads and txns_max %u: at most %d together",
                       config->threads, config->sessions, WORKERS_MAX - DURABLE_THREADS(config->mns));
    return 0;
}

static int bytes_check(const struct engine_config *config, struct cellar_error *error)
{
    if (config->pool_bytes < POOL_BYTES_MIN)
        return err_set(error, CELLAR_INVALID, "a pool of %llu bytes: at least %llu",
                       (unsigned long long)config->pool_bytes, (unsigned long long)POOL_BYTES_MIN);
    if (config->log_bytes < LOG_BYTES_MIN || config->log_bytes > CONFIG_LOG_BYTES_MAX)
        return err_set(error, CELLAR_INVALID, "log segments of %llu bytes: %d to %llu",
                       (unsigned long long)config->log_bytes, LOG_BYTES_MIN, (unsigned long long)CONFIG_LOG_BYTES_MAX);
    if (config->rtt_ns > RTT_NS_MAX)
        return err_set(error, CELLAR_INVALID, "a delay of %llu ns of each completion: at most %llu",
                       (unsigned long long)config->rtt_ns, (unsigned long long)RTT_NS_MAX);
    if (config->pool_private && !config->pool_path && !config->durable)
        return err_set(error, CELLAR_INVALID, "pool_private is for a pool file or a folder: none is named");
    if (config->pool_path && (config->mns != 1 || config->memnodes))
        return err_set(error, CELLAR_INVALID, "a pool file holds one memory node of this process: %u were asked for",
                       config->mns);
    return 0;
}

/* What begins as a pool has another size than it says: tells whose. */
static int pool_file_size_check(const struct superblock_wire *head, uint64_t bytes, struct cellar_error *error)
{
    if (head->fingerprint != layout_fingerprint() || head->checksum != catalog_superblock_checksum(head)) return 0;
    unsigned long long have = bytes, want = head->mn_bytes;
    if (have < want)
        return err_set(error, CELLAR_CORRUPT,
                       "the file was cut short, or is a copy that ended early: it has %llu of the pool's %llu bytes; "
                       "restore a copy",
                       have, want);
    if (have > want)
        return err_set(error, CELLAR_CORRUPT,
                       "the file goes on behind the pool's end: it has %llu bytes, the pool %llu; cut it to its size",
                       have, want);
    return 0;
}

int db_pool_file_look(const char *path, uint32_t *cn_count, struct cellar_error *error)
{
    struct superblock_wire head = {0};
    struct stat status = {0}, after = {0};
    int fd = descriptor_high(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t got = regular ? pread(fd, &head, sizeof head, 0) : 0;
    /* Without the door: another process may be making it, or beginning it anew. */
    bool still = got > 0 && fstat(fd, &after) == 0 && after.st_size == status.st_size && got <= status.st_size;
    if (fd >= 0) close(fd);
    *cn_count = 0;
    if (!still) return 0; /* the opening that follows, which has the door, says why it cannot be read */
    if (head.magic != LAYOUT_MAGIC && (uint64_t)status.st_size < POOL_BYTES_MIN)
        return err_set(error, CELLAR_INVALID, "it is no pool: it has %llu bytes, a pool has at least %llu",
                       (unsigned long long)status.st_size, (unsigned long long)POOL_BYTES_MIN);
    if (head.magic != LAYOUT_MAGIC) return 0;
    int code = pool_file_size_check(&head, (uint64_t)status.st_size, error);
    if (code == 0 && head.cn_count <= FABRIC_CNS_MAX) *cn_count = head.cn_count;
    return code;
}

int db_config_check(struct engine_config *config, struct cellar_error *error)
{
    defaults_set(config);
    if (!mode_of(config->cc)) return err_set(error, CELLAR_INVALID, "no such concurrency control: %d", (int)config->cc);
    int rc = nodes_check(config, error);
    if (rc == 0 && (config->threads > GATE_WORKERS_MAX || config->coros > 256))
        rc = err_set(error, CELLAR_INVALID, "%u threads of %u coordinators: at most 256 of each", config->threads,
                     config->coros);
    if (rc == 0 && config->sessions &&
        (config->sessions > WORKERS_MAX || config->threads + config->sessions > WORKERS_MAX))
        rc = err_set(error, CELLAR_INVALID, "%u threads and txns_max %u: at most %d together", config->threads,
                     config->sessions, WORKERS_MAX);
    if (rc == 0) rc = lease_check(config, error);
    if (rc == 0) rc = decider_check(config, error);
    if (rc == 0) rc = backoff_check(config, error);
    if (rc == 0) rc = stacks_check(config, error);
    if (rc == 0) rc = mode_check(config, error);
    if (rc == 0) rc = durable_check(config, error);
    uint32_t unused;
    if (rc == 0 && config->pool_path) rc = db_pool_file_look(config->pool_path, &unused, error);
    return rc ? rc : bytes_check(config, error);
}

static int fabric_open_verbs(const struct engine_config *config, struct fabric **out, struct cellar_error *error)
{
    if (config->pool_path || config->rtt_ns)
        return err_set(error, CELLAR_INVALID, "the verbs fabric has no pool file and no delay of its own");
    struct fabric_verbs_config verbs = {.memnodes = config->memnodes,
                                        .secret_path = config->secret_path,
                                        .cn_index = config->cn_index,
                                        .cns = config->cns,
                                        .fingerprint = layout_fingerprint()};
    return fabric_verbs_open(&verbs, out, error);
}

static uint32_t cn_count_of(const struct engine_config *config)
{
    if (!config->pool_path) return config->cn_index + config->cns;
    uint32_t made = 0;
    if (config->pool_private || db_pool_file_look(config->pool_path, &made, NULL)) return config->cns;
    return made ? made : config->cns_max;
}

/* An empty file is none, and none is made. */
static int pool_file_missing(const struct engine_config *config, struct cellar_error *error)
{
    struct stat status;
    if (!config->existing || !config->pool_path) return 0;
    if (stat(config->pool_path, &status) ? errno != ENOENT : status.st_size != 0 || !S_ISREG(status.st_mode)) return 0;
    return err_set(error, CELLAR_NOT_FOUND, "%.160s: there is no pool", config->pool_path);
}

static int fabric_open_shm(const struct engine_config *config, struct fabric **out, struct cellar_error *error)
{
    int missing = pool_file_missing(config, error);
    if (missing) return missing;
    if (config->pool_path && config->cn_index)
        return err_set(error, CELLAR_INVALID,
                       "compute-node index %u: of a pool file free ones are found, none is asked for",
                       config->cn_index);
    struct fabric_shm_config shm = {.mn_count = config->mns,
                                    .cn_count = cn_count_of(config),
                                    .mn_bytes = config->pool_bytes,
                                    .pool_path = config->pool_path,
                                    .pool_private = config->pool_private,
                                    .memnode_paths = config->memnodes,
                                    .one_may_miss = config->replicas > 0,
                                    .cn_index = config->cn_index,
                                    .cns = config->cns,
                                    .rtt_ns = config->rtt_ns,
                                    .seed = config->seed};
    return fabric_shm_open(&shm, out, error);
}

static int fabric_open_sim(const struct engine_config *config, struct fabric **out, struct cellar_error *error)
{
    struct fabric_sim_config sim;
    if (config->pool_path || config->memnodes || config->rtt_ns)
        return err_set(error, CELLAR_INVALID,
                       "the sim fabric has no pool file, memory-node processes or --rtt-ns of its own");
    fabric_sim_config_default(&sim);
    sim.mn_count = config->mns;
    sim.cn_count = config->cns;
    sim.mn_bytes = config->pool_bytes;
    sim.seed = config->seed;
    return fabric_sim_open(&sim, out, error);
}

int db_fabric_open(const struct engine_config *config, struct fabric **out, struct cellar_error *error)
{
    if (strcmp(config->fabric, "verbs") == 0) return fabric_open_verbs(config, out, error);
    if (config->secret_path)
        return err_set(error, CELLAR_INVALID, "a secret is for the verbs fabric, not %s", config->fabric);
    if (strcmp(config->fabric, "shm") == 0) return fabric_open_shm(config, out, error);
    if (strcmp(config->fabric, "sim") == 0) return fabric_open_sim(config, out, error);
    return err_set(error, CELLAR_INVALID, "no fabric \"%s\": shm, sim or verbs", config->fabric);
}
