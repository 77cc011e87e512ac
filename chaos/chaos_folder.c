/* chaos_folder.c - the folder of a cluster: made, described, read again, removed. */
#include "chaos_cluster.h"

#include "mode.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *description(const struct chaos_cluster *cluster, char *path)
{
    snprintf(path, CHAOS_CLUSTER_PATH, "%s/cluster.json", cluster->folder);
    return path;
}

/* As a cluster file has it, and what only this host needs besides. */
static int describe_etcd(const struct chaos_cluster *cluster, json_t *root)
{
    json_t *servers = json_array(), *peers = json_array();
    char url[40];
    for (uint32_t i = 0; i < CHAOS_CLUSTER_ETCDS; i++) {
        snprintf(url, sizeof url, "http://127.0.0.1:%u", cluster->etcd_ports[i][0]);
        json_array_append_new(servers, json_string(url));
        json_array_append_new(peers, json_integer(cluster->etcd_ports[i][1]));
    }
    int failed = json_object_set_new(root, "etcd", servers);
    return json_object_set_new(json_object_get(root, "host"), "etcd_peers", peers) || failed;
}

/* False: it is not what describe_etcd writes. */
static bool load_etcd(struct chaos_cluster *cluster, const json_t *root)
{
    const json_t *servers = json_object_get(root, "etcd");
    const json_t *peers = json_object_get(json_object_get(root, "host"), "etcd_peers");
    bool whole = true;
    cluster->etcd = servers != NULL;
    for (uint32_t i = 0; i < CHAOS_CLUSTER_ETCDS && servers; i++) {
        const char *url = json_string_value(json_array_get(servers, i));
        whole = whole && url && sscanf(url, "http://127.0.0.1:%u", &cluster->etcd_ports[i][0]) == 1;
        cluster->etcd_ports[i][1] = (uint32_t)json_integer_value(json_array_get(peers, i));
        whole = whole && cluster->etcd_ports[i][0] < 65536 && cluster->etcd_ports[i][1] < 65536;
    }
    return whole;
}

int chaos_cluster_make(struct chaos_cluster *cluster, struct cellar_error *error)
{
    char path[CHAOS_CLUSTER_PATH];
    if (mkdir(cluster->folder, 0700) != 0 && errno != EEXIST)
        return err_set(error, CELLAR_SYSTEM, "--dir %.150s: %s", cluster->folder, strerror(errno));
    if (rmdir(cluster->folder) != 0 || mkdir(cluster->folder, 0700) != 0)
        return err_set(error, CELLAR_EXISTS,
                       "--dir %.150s is in use, or not empty: `cellar cluster down` ends what runs there",
                       cluster->folder);
    int code = cluster->etcd ? chaos_cluster_etcd_ports(cluster, error) : 0;
    if (code) return code;
    json_t *memnodes = json_array();
    for (uint32_t i = 0; i < cluster->memnodes; i++)
        json_array_append_new(memnodes,
                              json_string(chaos_cluster_path(cluster, CHAOS_CLUSTER_MEMNODE, i, "sock", path)));
    json_t *root = json_pack("{s:o, s:i, s:{s:i, s:I, s:f, s:s}}", "memnodes", memnodes, "replicas",
                             (int)cluster->replicas, "host", "compute", (int)cluster->compute, "bytes",
                             (json_int_t)cluster->bytes, "lease_s", cluster->lease_s, "cc", cluster->cc);
    if (!root || (cluster->etcd && describe_etcd(cluster, root))) {
        json_decref(root);
        return err_set(error, CELLAR_NOMEM, "no memory for cluster.json");
    }
    code = json_dump_file(root, description(cluster, path), JSON_INDENT(2));
    json_decref(root);
    return code ? err_set(error, CELLAR_SYSTEM, "cannot write %.150s: %s", path, strerror(errno)) : 0;
}

int chaos_cluster_load(struct chaos_cluster *cluster, char *text, struct cellar_error *error)
{
    char path[CHAOS_CLUSTER_PATH];
    json_error_t where;
    json_t *memnodes = NULL;
    int replicas = 0, compute = 0;
    json_int_t bytes = 0;
    const char *cc = NULL;
    struct stat folder;
    /* What it says is killed, and removed. */
    if (stat(cluster->folder, &folder) == 0 && folder.st_uid != getuid())
        return err_set(error, CELLAR_INVALID, "--dir %.150s belongs to another user", cluster->folder);
    if (access(description(cluster, path), F_OK) != 0)
        return err_set(error, CELLAR_NOT_FOUND, "no cluster was started in %.150s", cluster->folder);
    json_t *root = json_load_file(path, 0, &where);
    bool whole =
        root && json_unpack(root, "{s:o, s:i, s:{s:i, s:I, s:F, s:s}}", "memnodes", &memnodes, "replicas", &replicas,
                            "host", "compute", &compute, "bytes", &bytes, "lease_s", &cluster->lease_s, "cc", &cc) == 0;
    whole = whole && json_array_size(memnodes) >= 1 && json_array_size(memnodes) <= CHAOS_CLUSTER_MEMNODES_MAX &&
            compute >= 1 && compute <= CHAOS_CLUSTER_COMPUTE_MAX && replicas >= 0 && bytes > 0 && strlen(cc) < 16 &&
            mode_find(cc) >= 0 && load_etcd(cluster, root);
    if (whole) {
        cluster->memnodes = (uint32_t)json_array_size(memnodes);
        cluster->compute = (uint32_t)compute;
        cluster->replicas = (uint32_t)replicas;
        cluster->bytes = (uint64_t)bytes;
        snprintf(text, 16, "%s", cc);
        cluster->cc = text;
    }
    json_decref(root);
    return whole ? 0 : err_set(error, CELLAR_INVALID, "%.150s is not what `cellar cluster up` writes", path);
}

void chaos_cluster_remove(const struct chaos_cluster *cluster)
{
    static const char *const suffixes[] = {"sock", "pid", "log", "witness", "replace.log"};
    char path[CHAOS_CLUSTER_PATH];
    for (uint32_t i = 0; i < CHAOS_CLUSTER_COMPUTE_MAX; i++)
        for (size_t s = 0; s < sizeof(suffixes) / sizeof(suffixes[0]); s++) {
            (void)unlink(chaos_cluster_path(cluster, CHAOS_CLUSTER_MEMNODE, i, suffixes[s], path));
            (void)unlink(chaos_cluster_path(cluster, CHAOS_CLUSTER_COMPUTE, i, suffixes[s], path));
            (void)unlink(chaos_cluster_path(cluster, CHAOS_CLUSTER_ETCD, i, suffixes[s], path));
        }
    chaos_cluster_etcd_remove(cluster);
    (void)unlink(description(cluster, path));
    (void)rmdir(cluster->folder);
}
