#include "chaos_cluster.h"

#include "chaos_processes.h"
#include "chaos_witness.h"
#include "mode.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
#define START_NS (60 * SECOND_NS)
#define END_NS (30 * SECOND_NS)
#define LOOK_NS 10000000
#define SOCKET_NAME_MAX 100 /* of sun_path, what is left for the folder and "/mn0.sock" */
#define SPARES 2            /* indexes of compute nodes for this program: to replace memory nodes, and to judge */

static const char *const kinds[] = {"mn", "cn", "etcd"};

const char *chaos_cluster_path(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                               const char *suffix, char *text)
{
    snprintf(text, CHAOS_CLUSTER_PATH, "%s/%s%u.%s", cluster->folder, kinds[kind], index, suffix);
    return text;
}

const char *chaos_cluster_sockets(const struct chaos_cluster *cluster, char *text)
{
    char path[CHAOS_CLUSTER_PATH];
    size_t at = 0;
    for (uint32_t i = 0; i < cluster->memnodes; i++)
        at += (size_t)snprintf(text + at, CHAOS_CLUSTER_SOCKETS - at, "%s%s", i ? "," : "",
                               chaos_cluster_path(cluster, CHAOS_CLUSTER_MEMNODE, i, "sock", path));
    return text;
}

int chaos_cluster_check(const struct chaos_cluster *cluster, struct cellar_error *error)
{
    if (strlen(cluster->folder) + sizeof("/mn00.sock") > SOCKET_NAME_MAX || strpbrk(cluster->folder, ", \t\n"))
        return err_set(error, CELLAR_INVALID,
                       "--dir: sockets are made there: a name of %zu bytes at most, without commas and spaces",
                       SOCKET_NAME_MAX - sizeof("/mn00.sock"));
    if (cluster->replicas >= cluster->memnodes)
        return err_set(error, CELLAR_INVALID, "--replicas %u needs --memnodes %u or more", cluster->replicas,
                       cluster->replicas + 1);
    return 0;
}

struct engine_config chaos_cluster_config(const struct chaos_cluster *cluster, uint32_t cn, const char *sockets)
{
    return (struct engine_config){.cc = (enum cellar_lab_cc)mode_find(cluster->cc),
                                  .cn_index = cn,
                                  .replicas = cluster->replicas,
                                  .memnodes = sockets,
                                  .lease_ns = (uint64_t)(cluster->lease_s * 1e9)};
}

/* ---- one process ---- */

static char *text_of(char *text, size_t bytes, uint64_t number)
{
    snprintf(text, bytes, "%llu", (unsigned long long)number);
    return text;
}

static int start_memnode(const struct chaos_cluster *cluster, uint32_t index, const char *log, pid_t *pid,
                         struct cellar_error *error)
{
    char socket[CHAOS_CLUSTER_PATH], bytes[24], node[24], memnodes[24], cns[24];
    char *const arguments[] = {
        "cellar",   "memnode",
        "--socket", (char *)chaos_cluster_path(cluster, CHAOS_CLUSTER_MEMNODE, index, "sock", socket),
        "--bytes",  text_of(bytes, sizeof(bytes), cluster->bytes),
        "--node",   text_of(node, sizeof(node), index),
        "--mns",    text_of(memnodes, sizeof(memnodes), cluster->memnodes),
        "--cns",    text_of(cns, sizeof(cns), cluster->compute + SPARES),
        NULL};
    return chaos_processes_start(NULL, arguments, log, pid, error);
}

static int start_compute(const struct chaos_cluster *cluster, uint32_t index, const char *log, pid_t *pid,
                         struct cellar_error *error)
{
    char cn[24];
    char *const arguments[] = {
        "cellar", "cluster", "compute", "--dir", (char *)cluster->folder, "--cn", text_of(cn, sizeof(cn), index), NULL};
    return chaos_processes_start(NULL, arguments, log, pid, error);
}

int chaos_cluster_start(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                        struct cellar_error *error)
{
    char log[CHAOS_CLUSTER_PATH], path[CHAOS_CLUSTER_PATH];
    pid_t pid = 0;
    chaos_cluster_path(cluster, kind, index, "log", log);
    int code = kind == CHAOS_CLUSTER_MEMNODE   ? start_memnode(cluster, index, log, &pid, error)
               : kind == CHAOS_CLUSTER_COMPUTE ? start_compute(cluster, index, log, &pid, error)
                                               : chaos_cluster_etcd_start(cluster, index, log, &pid, error);
    if (code != 0) return code;
    FILE *file = fopen(chaos_cluster_path(cluster, kind, index, "pid", path), "w");
    bool failed = !file || fprintf(file, "%d\n", (int)pid) < 0;
    if (file && fclose(file) != 0) failed = true;
    return failed ? err_set(error, CELLAR_SYSTEM, "cannot write %.150s: %s", path, strerror(errno)) : 0;
}

pid_t chaos_cluster_alive(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index)
{
    char path[CHAOS_CLUSTER_PATH];
    int pid = 0;
    FILE *file = fopen(chaos_cluster_path(cluster, kind, index, "pid", path), "r");
    if (!file) return 0;
    int read = fscanf(file, "%d", &pid);
    fclose(file);
    return read == 1 && chaos_processes_alive(pid, cluster->folder, NULL) ? pid : 0;
}

bool chaos_cluster_signal(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index, int signal)
{
    pid_t pid = chaos_cluster_alive(cluster, kind, index);
    return pid > 0 && kill(pid, signal) == 0;
}

bool chaos_cluster_ended(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                         struct watch *watch, uint64_t bound_ns)
{
    uint64_t end = watch->now_ns() + bound_ns;
    while (chaos_cluster_alive(cluster, kind, index)) {
        if (watch->now_ns() > end) return false;
        watch->pause(LOOK_NS);
    }
    return true;
}

/* ---- all of them ---- */

static int wait_for_sockets(const struct chaos_cluster *cluster, struct watch *watch, struct cellar_error *error)
{
    char path[CHAOS_CLUSTER_PATH];
    uint64_t end = watch->now_ns() + START_NS;
    for (uint32_t i = 0; i < cluster->memnodes; i++) {
        chaos_cluster_path(cluster, CHAOS_CLUSTER_MEMNODE, i, "sock", path);
        while (access(path, F_OK) != 0) {
            if (!chaos_cluster_alive(cluster, CHAOS_CLUSTER_MEMNODE, i) || watch->now_ns() > end)
                return err_set(error, CELLAR_UNREACHABLE, "memory node %u did not start: see %s", i,
                               chaos_cluster_path(cluster, CHAOS_CLUSTER_MEMNODE, i, "log", path));
            watch->pause(LOOK_NS);
        }
    }
    return 0;
}

int chaos_cluster_start_all(const struct chaos_cluster *cluster, struct watch *watch, struct cellar_error *error)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && cluster->etcd && i < CHAOS_CLUSTER_ETCDS; i++)
        code = chaos_cluster_start(cluster, CHAOS_CLUSTER_ETCD, i, error);
    for (uint32_t i = 0; code == 0 && i < cluster->memnodes; i++)
        code = chaos_cluster_start(cluster, CHAOS_CLUSTER_MEMNODE, i, error);
    if (code == 0) code = chaos_cluster_etcd_answers(cluster, watch, START_NS, error);
    if (code == 0) code = wait_for_sockets(cluster, watch, error);
    /* One after the other: the first one makes the tables. */
    for (uint32_t i = 0; code == 0 && i < cluster->compute; i++) {
        code = chaos_cluster_start(cluster, CHAOS_CLUSTER_COMPUTE, i, error);
        if (code == 0) code = chaos_cluster_works(cluster, i, watch, START_NS, error);
    }
    return code;
}

static void stop_kind(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t count,
                      struct watch *watch)
{
    for (uint32_t i = 0; i < count; i++) {
        chaos_cluster_signal(cluster, kind, i, SIGTERM);
        chaos_cluster_signal(cluster, kind, i, SIGCONT);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!chaos_cluster_ended(cluster, kind, i, watch, END_NS)) {
            chaos_cluster_signal(cluster, kind, i, SIGKILL);
            (void)chaos_cluster_ended(cluster, kind, i, watch, END_NS);
        }
}

void chaos_cluster_stop_compute(const struct chaos_cluster *cluster, struct watch *watch)
{
    stop_kind(cluster, CHAOS_CLUSTER_COMPUTE, cluster->compute, watch);
}

void chaos_cluster_stop_all(const struct chaos_cluster *cluster, struct watch *watch)
{
    chaos_cluster_stop_compute(cluster, watch);
    stop_kind(cluster, CHAOS_CLUSTER_MEMNODE, cluster->memnodes, watch);
    if (cluster->etcd) stop_kind(cluster, CHAOS_CLUSTER_ETCD, CHAOS_CLUSTER_ETCDS, watch);
}

/* ---- at work ---- */

/* Does one of these lines say that a transfer committed which was tried after `since_ns`? */
static bool committed_since(const struct chaos_witness_line *lines, uint64_t count, uint64_t since_ns)
{
    for (uint64_t i = 0; i < count; i++) {
        if (lines[i].kind != CHAOS_WITNESS_TOLD || lines[i].code != 0) continue;
        for (uint64_t j = i; j-- > 0;)
            if (lines[j].kind == CHAOS_WITNESS_TRIED && lines[j].receipt.number == lines[i].receipt.number) {
                if (lines[j].at_ns >= since_ns) return true;
                break;
            }
    }
    return false;
}

int chaos_cluster_works(const struct chaos_cluster *cluster, uint32_t cn, struct watch *watch, uint64_t bound_ns,
                        struct cellar_error *error)
{
    char path[CHAOS_CLUSTER_PATH];
    struct stat status;
    struct chaos_witness_line *lines = NULL;
    uint64_t count = 0, since = watch->now_ns(), at = 0;
    bool works = false;
    int code = 0;
    if (stat(chaos_cluster_path(cluster, CHAOS_CLUSTER_COMPUTE, cn, "witness", path), &status) == 0)
        at = (uint64_t)status.st_size / sizeof(*lines) * sizeof(*lines); /* what is there was tried before now */
    while (code == 0 && !works && watch->now_ns() < since + bound_ns &&
           chaos_cluster_alive(cluster, CHAOS_CLUSTER_COMPUTE, cn)) {
        code = chaos_witness_read(path, &at, &lines, &count, error);
        works = committed_since(lines, count, since);
        if (!works) watch->pause(LOOK_NS);
    }
    free(lines);
    if (code != 0 || works) return code;
    return err_set(error, CELLAR_UNREACHABLE, "compute node %u commits nothing for %llu s: see %s", cn,
                   (unsigned long long)((watch->now_ns() - since) / SECOND_NS),
                   chaos_cluster_path(cluster, CHAOS_CLUSTER_COMPUTE, cn, "log", path));
}

int chaos_cluster_replace(const struct chaos_cluster *cluster, uint32_t memnode, struct watch *watch, uint64_t bound_ns,
                          struct cellar_error *error)
{
    char sockets[CHAOS_CLUSTER_SOCKETS], log[CHAOS_CLUSTER_PATH], mn[24], cn[24], replicas[24];
    char urls[CHAOS_CLUSTER_ETCD_URLS];
    char *const arguments[] = {"cellar",
                               "replace",
                               "--memnodes",
                               (char *)chaos_cluster_sockets(cluster, sockets),
                               "--mn",
                               text_of(mn, sizeof(mn), memnode),
                               "--cn",
                               text_of(cn, sizeof(cn), cluster->compute),
                               "--replicas",
                               text_of(replicas, sizeof(replicas), cluster->replicas),
                               cluster->etcd ? "--etcd" : NULL,
                               (char *)chaos_cluster_etcd_urls(cluster, urls),
                               NULL};
    uint64_t end = watch->now_ns() + bound_ns;
    chaos_cluster_path(cluster, CHAOS_CLUSTER_MEMNODE, memnode, "replace.log", log);
    while (watch->now_ns() < end) {
        pid_t pid;
        int status = -1;
        int code = chaos_processes_start(NULL, arguments, log, &pid, error);
        if (code != 0) return code;
        while (chaos_processes_alive(pid, cluster->folder, &status) && watch->now_ns() < end) watch->pause(LOOK_NS);
        if (status == 0) return 0;
        if (status == -1) kill(pid, SIGKILL);
        watch->pause(10 * LOOK_NS); /* the loss may not have been noticed yet */
    }
    return err_set(error, CELLAR_UNREACHABLE, "memory node %u was not filled within %llu s: see %s", memnode,
                   (unsigned long long)(bound_ns / SECOND_NS), log);
}

uint64_t chaos_cluster_recoveries(const struct chaos_cluster *cluster, uint32_t cn)
{
    char path[CHAOS_CLUSTER_PATH], line[512], told[64];
    uint64_t count = 0;
    snprintf(told, sizeof told, "compute node %u was recovered by", cn);
    for (uint32_t i = 0; i < cluster->compute; i++) {
        FILE *log = fopen(chaos_cluster_path(cluster, CHAOS_CLUSTER_COMPUTE, i, "log", path), "r");
        while (log && fgets(line, sizeof line, log)) count += strstr(line, told) != NULL;
        if (log) fclose(log);
    }
    return count;
}
