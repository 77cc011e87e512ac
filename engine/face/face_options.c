/* face_options.c - what a user asks for becomes the engine's configuration. */
#include "face_options.h"

#include "disk_real.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define STRUCT_BYTES_MAX 4096 /* no struct ever has more: a size beyond is none */
#define NS_PER_US 1000

static int size_read(const void *from, const char *name, uint32_t *size, struct cellar_error *error)
{
    memcpy(size, from, sizeof *size);
    if (*size >= sizeof *size && *size <= STRUCT_BYTES_MAX) return 0;
    return err_set(error, CELLAR_INVALID, "%s.size is %u: the macro beside the struct sets it", name, *size);
}

int face_options_struct(void *own, uint32_t bytes, const void *from, const char *name, struct cellar_error *error)
{
    uint32_t size = bytes;
    memset(own, 0, bytes);
    int rc = from ? size_read(from, name, &size, error) : 0;
    if (rc) return rc;
    if (from) memcpy(own, from, size < bytes ? size : bytes);
    for (uint32_t i = bytes; i < size; i++)
        if (((const unsigned char *)from)[i])
            return err_set(error, CELLAR_INVALID,
                           "%s has %u bytes, this library knows %u of them: it is older than the header", name, size,
                           bytes);
    return 0;
}

int face_options_give(void *to, const void *own, uint32_t bytes, const char *name, struct cellar_error *error)
{
    uint32_t size;
    int rc = size_read(to, name, &size, error);
    if (rc) return rc;
    memset(to, 0, size);
    memcpy(to, own, size < bytes ? size : bytes);
    memcpy(to, &size, sizeof size);
    return 0;
}

/* ---- cluster and laboratory ---- */

static int cluster_read(struct engine_config *config, const struct cellar_cluster *from, struct cellar_error *error)
{
    struct cellar_cluster cluster;
    int rc = face_options_struct(&cluster, sizeof cluster, from, "cellar_cluster", error);
    if (rc) return rc;
    if (!cluster.memnodes)
        return err_set(error, CELLAR_INVALID, "cellar_cluster.memnodes is NULL: it names the memory nodes");
    if (cluster.verbs > 1) return err_set(error, CELLAR_INVALID, "cellar_cluster.verbs %u: 0 or 1", cluster.verbs);
    if (cluster.lease_us != CELLAR_LEASE_NONE && cluster.lease_us > UINT64_MAX / NS_PER_US - 1)
        return err_set(error, CELLAR_INVALID, "cellar_cluster.lease_us %llu is too long",
                       (unsigned long long)cluster.lease_us);
    config->fabric = cluster.verbs ? "verbs" : "shm";
    config->memnodes = cluster.memnodes;
    config->secret_path = cluster.secret_path;
    config->replicas = cluster.replicas;
    config->cn_index = cluster.node;
    config->lease_ns = cluster.lease_us == CELLAR_LEASE_NONE ? CELLAR_LEASE_NONE : cluster.lease_us * NS_PER_US;
    config->decider = cluster.decider;
    return 0;
}

static int lab_read(struct engine_config *config, const struct cellar_lab *from, struct cellar_error *error)
{
    struct cellar_lab lab;
    int rc = face_options_struct(&lab, sizeof lab, from, "cellar_lab", error);
    if (rc) return rc;
    if (lab.sim > 1) return err_set(error, CELLAR_INVALID, "cellar_lab.sim %u: 0 or 1", lab.sim);
    if (lab.sim && config->memnodes)
        return err_set(error, CELLAR_INVALID, "cellar_lab.sim: memory nodes of a cluster are in no virtual time");
    if (config->memnodes && (lab.mns || lab.replicas))
        return err_set(error, CELLAR_INVALID,
                       "cellar_lab.mns, replicas: the memory nodes are the cluster's, cellar_cluster.replicas its "
                       "backups");
    if (lab.sim) config->fabric = "sim";
    if (!config->memnodes) config->replicas = lab.replicas;
    config->cc = lab.cc;
    config->cns = lab.cns;
    config->mns = lab.mns;
    config->lost = lab.lost;
    config->coros = lab.coros;
    config->seed = lab.seed;
    config->log_bytes = lab.log_bytes;
    config->rtt_ns = lab.rtt_ns;
    config->backoff_cap_ns = lab.backoff_cap_ns;
    config->hot = lab.hot;
    config->way = lab.way;
    config->lock = lab.lock;
    config->lock_policy = lab.lock_policy;
    return 0;
}

/* ---- the path ---- */

/* A folder, if one is there; a file, if one is, of its own size. Where nothing is, what the durability asks for. */
static int path_read(struct engine_config *config, const char *path, struct cellar_error *error)
{
    if (!path) return 0;
    if (!*path) return err_set(error, CELLAR_INVALID, "the path is empty");
    if (config->memnodes)
        return err_set(error, CELLAR_INVALID, "%.160s: the memory nodes of a cluster keep the pool, and no path", path);
    struct stat status = {0};
    bool there = stat(path, &status) == 0, folder = there && disk_real_is_folder(path);
    if (!there && errno == ENOENT && (config->existing || config->pool_private))
        return err_set(error, CELLAR_NOT_FOUND, "%.160s: there is no pool", path);
    if (there && !folder && config->level == CELLAR_DURABLE)
        return err_set(error, CELLAR_INVALID, "%.160s: a file keeps memory; what is durable is kept in a folder", path);
    if (folder || (!there && config->level != CELLAR_MEMORY))
        config->durable = path;
    else
        config->pool_path = path;
    if (there && !folder && status.st_size > 0) config->pool_bytes = (uint64_t)status.st_size;
    return 0;
}

int face_options_read(struct engine_config *config, const char *path, const struct cellar_options *from,
                      struct cellar_error *error)
{
    struct cellar_options options;
    *config = (struct engine_config){0};
    int rc = face_options_struct(&options, sizeof options, from, "cellar_options", error);
    if (rc) return rc;
    if (options.flags & ~(uint32_t)(CELLAR_EXISTING | CELLAR_PRIVATE))
        return err_set(error, CELLAR_INVALID, "cellar_options.flags %#x: EXISTING and PRIVATE are what there is",
                       options.flags);
    if (options.epoch_us > UINT64_MAX / NS_PER_US)
        return err_set(error, CELLAR_INVALID, "cellar_options.epoch_us %llu is too long",
                       (unsigned long long)options.epoch_us);
    config->pool_bytes = options.bytes;
    config->level = options.durability;
    config->sessions = options.txns_max;
    config->threads = options.threads;
    config->epoch_ns = options.epoch_us * NS_PER_US;
    config->durable_bytes = options.log_bytes;
    config->existing = options.flags & CELLAR_EXISTING;
    config->pool_private = options.flags & CELLAR_PRIVATE;
    config->log = options.log;
    config->log_arg = options.log_arg;
    if (options.cluster) rc = cluster_read(config, options.cluster, error);
    if (rc == 0 && options.lab) rc = lab_read(config, options.lab, error);
    uint64_t cns_max = (uint64_t)options.processes_max * (config->cns ? config->cns : 1);
    config->cns_max = cns_max < UINT32_MAX ? (uint32_t)cns_max : UINT32_MAX;
    return rc ? rc : path_read(config, path, error);
}

int face_options_txn(struct session_options *to, const struct cellar_txn_options *from, struct cellar_error *error)
{
    struct cellar_txn_options options;
    int rc = face_options_struct(&options, sizeof options, from, "cellar_txn_options", error);
    if (rc) return rc;
    if (options.flags & ~(uint32_t)CELLAR_READ_ONLY)
        return err_set(error, CELLAR_INVALID, "cellar_txn_options.flags %#x: READ_ONLY is what there is",
                       options.flags);
    if (options.lock_us > HOLD_BOUND_MAX_NS / NS_PER_US)
        return err_set(error, CELLAR_INVALID, "cellar_txn_options.lock_us %llu: at most %llu",
                       (unsigned long long)options.lock_us, (unsigned long long)HOLD_BOUND_MAX_NS / NS_PER_US);
    uint64_t most_us = UINT64_MAX / NS_PER_US;
    *to = (struct session_options){.flags = options.flags,
                                   .attempts_max = options.attempts_max,
                                   .timeout_ns =
                                       (options.timeout_us < most_us ? options.timeout_us : most_us) * NS_PER_US,
                                   .cancel = options.cancel,
                                   .lock_ns = options.lock_us * NS_PER_US,
                                   .level = options.durability};
    return 0;
}
