/*
 * chaos_cluster.h - the processes of a cluster on this host and their folder: a socket and a log of each memory node, a
 * witness and a log of each compute node, a file with the number of each process, and what the cluster is
 * (cluster.json).
 */
#pragma once

#include "engine_config.h"
#include "err.h"
#include "watch.h"

#include <sys/types.h>

#define CHAOS_CLUSTER_PATH 160
#define CHAOS_CLUSTER_MEMNODES_MAX 8
#define CHAOS_CLUSTER_COMPUTE_MAX 16
#define CHAOS_CLUSTER_ETCDS 3

struct chaos_cluster {
    const char *folder;
    uint32_t memnodes, compute, replicas;
    uint64_t bytes; /* of each memory node */
    double lease_s;
    const char *cc;
    bool etcd;                                   /* servers of its own decide which nodes are lost, */
    uint32_t etcd_ports[CHAOS_CLUSTER_ETCDS][2]; /* ... which listen there on loopback, for clients and each other */
};

enum chaos_cluster_kind { CHAOS_CLUSTER_MEMNODE, CHAOS_CLUSTER_COMPUTE, CHAOS_CLUSTER_ETCD };

/* DIR/mn0.sock, DIR/cn0.witness, ...; `text` has CHAOS_CLUSTER_PATH bytes and is returned. */
const char *chaos_cluster_path(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                               const char *suffix, char *text);
/* The memory nodes' sockets, comma separated; (CHAOS_CLUSTER_PATH + 1) * CHAOS_CLUSTER_MEMNODES_MAX bytes. */
const char *chaos_cluster_sockets(const struct chaos_cluster *cluster, char *text);
#define CHAOS_CLUSTER_SOCKETS ((CHAOS_CLUSTER_PATH + 1) * CHAOS_CLUSTER_MEMNODES_MAX)

/* The etcd servers' URLs, comma separated, into CHAOS_CLUSTER_ETCD_URLS bytes; NULL: it has none. */
const char *chaos_cluster_etcd_urls(const struct chaos_cluster *cluster, char *text);
#define CHAOS_CLUSTER_ETCD_URLS 96

/* INVALID: the folder's name is too long for sockets, or the numbers do not fit together. */
NODISCARD int chaos_cluster_check(const struct chaos_cluster *cluster, struct cellar_error *error);
/* How the compute nodes (and, with cn >= compute, this process) open the pool; `sockets` must stay valid. */
struct engine_config chaos_cluster_config(const struct chaos_cluster *cluster, uint32_t cn, const char *sockets);

/* Makes the folder, which must not be there or be empty, and writes cluster.json; draws etcd's ports. */
NODISCARD int chaos_cluster_make(struct chaos_cluster *cluster, struct cellar_error *error);
/*
 * Fills the rest of *cluster from DIR/cluster.json; `cc` points into `text`, of 16 bytes. NOT_FOUND, INVALID.
 */
NODISCARD int chaos_cluster_load(struct chaos_cluster *cluster, char *text, struct cellar_error *error);

/* Starts that process of this program; what it prints goes to its log. */
NODISCARD int chaos_cluster_start(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                                  struct cellar_error *error);
/* ---- chaos_etcd.c ---- */

/* Finds ports that are free. */
NODISCARD int chaos_cluster_etcd_ports(struct chaos_cluster *cluster, struct cellar_error *error);
/* Starts one server, for the first time or again. */
NODISCARD int chaos_cluster_etcd_start(const struct chaos_cluster *cluster, uint32_t index, const char *log, pid_t *pid,
                                       struct cellar_error *error);
/* Waits until they answer; UNREACHABLE after bound_ns. */
NODISCARD int chaos_cluster_etcd_answers(const struct chaos_cluster *cluster, struct watch *watch, uint64_t bound_ns,
                                         struct cellar_error *error);
/* Removes what they have stored. */
void chaos_cluster_etcd_remove(const struct chaos_cluster *cluster);

/*
 * Starts etcd's servers and memory nodes, waits for them, then the compute nodes; each must be at work within a minute.
 */
NODISCARD int chaos_cluster_start_all(const struct chaos_cluster *cluster, struct watch *watch,
                                      struct cellar_error *error);
/* The process's number, or 0 when it has ended. */
pid_t chaos_cluster_alive(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index);
/* Sends a signal; false: it has ended. */
bool chaos_cluster_signal(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                          int signal);
/* Waits until it has ended, for `bound_ns` at most. */
bool chaos_cluster_ended(const struct chaos_cluster *cluster, enum chaos_cluster_kind kind, uint32_t index,
                         struct watch *watch, uint64_t bound_ns);
/* Asks all compute nodes to end, then all memory nodes, and kills what has not ended after a while. */
void chaos_cluster_stop_compute(const struct chaos_cluster *cluster, struct watch *watch);
void chaos_cluster_stop_all(const struct chaos_cluster *cluster, struct watch *watch);
/* Removes the folder with all that this program has put there. */
void chaos_cluster_remove(const struct chaos_cluster *cluster);

/*
 * Waits until a transfer of that compute node commits that was tried after now. UNREACHABLE when none does within
 * bound_ns, or it has ended.
 */
NODISCARD int chaos_cluster_works(const struct chaos_cluster *cluster, uint32_t cn, struct watch *watch,
                                  uint64_t bound_ns, struct cellar_error *error);
/* How often the compute nodes' logs say that this one was recovered. */
uint64_t chaos_cluster_recoveries(const struct chaos_cluster *cluster, uint32_t cn);
/* Runs `cellar replace` for that memory node until it has succeeded; UNREACHABLE after bound_ns. */
NODISCARD int chaos_cluster_replace(const struct chaos_cluster *cluster, uint32_t memnode, struct watch *watch,
                                    uint64_t bound_ns, struct cellar_error *error);
