/* chaos_etcd.c - three etcd servers on loopback that decide which nodes of a cluster are lost of this host. */
#include "chaos_cluster.h"
#include "chaos_processes.h"
#include "etcd.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_NS 50000000
#define URL 64

const char *chaos_cluster_etcd_urls(const struct chaos_cluster *cluster, char *text)
{
    size_t at = 0;
    if (!cluster->etcd) return NULL;
    for (uint32_t i = 0; i < CHAOS_CLUSTER_ETCDS; i++)
        at += (size_t)snprintf(text + at, CHAOS_CLUSTER_ETCD_URLS - at, "%shttp://127.0.0.1:%u", i ? "," : "",
                               cluster->etcd_ports[i][0]);
    return text;
}

/* Held until all are found, so that they differ. */
int chaos_cluster_etcd_ports(struct chaos_cluster *cluster, struct cellar_error *error)
{
    int held[CHAOS_CLUSTER_ETCDS * 2];
    uint32_t count = 0;
    bool found = true;
    for (; count < CHAOS_CLUSTER_ETCDS * 2 && found; count++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        held[count] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        found = held[count] >= 0 && bind(held[count], (struct sockaddr *)&address, sizeof address) == 0 &&
                getsockname(held[count], (struct sockaddr *)&address, &length) == 0;
        cluster->etcd_ports[count / 2][count % 2] = ntohs(address.sin_port);
    }
    while (count-- > 0)
        if (held[count] >= 0) close(held[count]);
    return found ? 0 : err_set(error, CELLAR_SYSTEM, "no free ports on loopback for etcd");
}

int chaos_cluster_etcd_start(const struct chaos_cluster *cluster, uint32_t index, const char *log, pid_t *pid,
                             struct cellar_error *error)
{
    char client[URL], peer[URL], name[8], all[CHAOS_CLUSTER_ETCDS * (URL + 8)], data[CHAOS_CLUSTER_PATH];
    size_t at = 0;
    snprintf(name, sizeof name, "e%u", index);
    snprintf(client, sizeof client, "http://127.0.0.1:%u", cluster->etcd_ports[index][0]);
    snprintf(peer, sizeof peer, "http://127.0.0.1:%u", cluster->etcd_ports[index][1]);
    for (uint32_t i = 0; i < CHAOS_CLUSTER_ETCDS; i++)
        at += (size_t)snprintf(all + at, sizeof all - at, "%se%u=http://127.0.0.1:%u", i ? "," : "", i,
                               cluster->etcd_ports[i][1]);
    char *const arguments[] = {"etcd",
                               "--name",
                               name,
                               "--data-dir",
                               (char *)chaos_cluster_path(cluster, CHAOS_CLUSTER_ETCD, index, "data", data),
                               "--listen-client-urls",
                               client,
                               "--advertise-client-urls",
                               client,
                               "--listen-peer-urls",
                               peer,
                               "--initial-advertise-peer-urls",
                               peer,
                               "--initial-cluster",
                               all,
                               "--initial-cluster-token",
                               (char *)cluster->folder,
                               NULL};
    struct cellar_error why = {0};
    if (chaos_processes_start("etcd", arguments, log, pid, &why) == 0) return 0;
    return err_set(error, CELLAR_SYSTEM, "--etcd needs the program etcd (Debian: etcd-server): %s", why.text);
}

int chaos_cluster_etcd_answers(const struct chaos_cluster *cluster, struct watch *watch, uint64_t bound_ns,
                               struct cellar_error *error)
{
    char urls[CHAOS_CLUSTER_ETCD_URLS];
    struct etcd *etcd = NULL;
    uint64_t end = watch->now_ns() + bound_ns;
    if (!cluster->etcd) return 0;
    int code;
    while ((code = etcd_open(chaos_cluster_etcd_urls(cluster, urls), ETCD_PREFIX, &etcd, error)) ==
               CELLAR_UNREACHABLE &&
           watch->now_ns() < end)
        watch->pause(LOOK_NS);
    etcd_close(etcd);
    return code;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void chaos_cluster_etcd_remove(const struct chaos_cluster *cluster)
{
    char path[CHAOS_CLUSTER_PATH];
    for (uint32_t i = 0; i < CHAOS_CLUSTER_ETCDS; i++)
        (void)nftw(chaos_cluster_path(cluster, CHAOS_CLUSTER_ETCD, i, "data", path), remove_one, 16,
                   FTW_DEPTH | FTW_PHYS);
}
