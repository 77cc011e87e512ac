/*
 * cluster.h - the cluster file of `cellar bench --cluster FILE`: what all processes of a pool over verbs have in
 * common, in JSON.
 *
 *     {"memnodes": ["10.0.0.1", "10.0.0.2:7472"], "secret": "/etc/cellar/secret", "replicas": 1,
 *      "etcd": ["http://10.0.0.8:2379", "http://10.0.0.9:2379"], "prefix": "/cellar/bank"}
 *
 * memnodes: addresses in the order of their numbers. All others may be left out; etcd: its servers decide which nodes
 * are lost (docs/membership.md).
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster {
    char memnodes[64 * 80]; /* comma separated */
    char secret[256];       /* empty: none */
    char etcd[16 * 80];     /* comma separated; empty: none */
    char prefix[200];       /* empty: the usual one */
    uint32_t count, replicas;
    bool has_replicas;
};

/* Refuses what it does not know, too. */
NODISCARD int cluster_read(const char *path, struct cluster *cluster, struct cellar_error *error);
