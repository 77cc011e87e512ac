/*
 * etcd.h - the register that decides (cellar_cluster.h: struct cellar_decider) over etcd: one key, moved by
 * compare-and-swap (docs/membership.md).
 *
 *     begin ─> [slot] ─> its thread: read the key ─> is its epoch `from`? ─> txn (mod_revision) ─> [slot] ─> end
 *
 * The thread alone waits: for the network, for a server that does not answer, for a quorum. A question has a few
 * seconds; then its answer is UNREACHABLE, with what the servers said. One question of a process is under way at a
 * time.
 */
#pragma once

#include "cellar_cluster.h"
#include "err.h"

#include <stdbool.h>

struct etcd;

/*
 * `servers`: URLs, comma separated: http://10.0.0.1:2379. `prefix`: the key is PREFIX/ruling. Asks a server for its
 * version. INVALID: what was given; UNSUPPORTED: built without libcurl, or another version of etcd; UNREACHABLE: none
 * of the servers answers.
 */
NODISCARD int etcd_open(const char *servers, const char *prefix, struct etcd **out, struct cellar_error *error);
/*
 * What a command was asked: `servers` NULL: the pool's own words decide, *out NULL; `prefix` NULL: ETCD_PREFIX. Sets
 * *decider (NULL: none), which is closed after the database.
 */
NODISCARD int etcd_attach(const char *servers, const char *prefix, struct etcd **out,
                          const struct cellar_decider **decider, struct cellar_error *error);
#define ETCD_PREFIX "/cellar"
/* NULL is allowed. What is under way has its effect or not. */
void etcd_close(struct etcd *etcd);
/* Valid until it is closed. */
const struct cellar_decider *etcd_decider(const struct etcd *etcd);
