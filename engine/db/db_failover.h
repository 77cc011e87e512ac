/* db_failover.h - what an open database does when memory nodes are lost, and when it leaves. */
#pragma once

#include "err.h"

struct coordinator;
struct coro;

/* The halts of this process's compute nodes, when the catalog is known. */
void db_halts_open(struct cellar *db);
/* They are members: from now on their agents follow the configuration. */
void db_halts_serve(struct cellar *db);
/*
 * All compute nodes of this process leave the pool; `db`: of the coordinator. A memory node that is lost is noticed
 * by the one that needs it: its failover is waited for, as by a transaction that ends.
 */
NODISCARD int db_leave(struct coro *co, struct coordinator *coordinator, void *db);
/* A fresh memory node was put in the place of a lost one: fills it. Waits. As cellar_cluster_replace. */
NODISCARD int db_replace(struct coro *co, struct coordinator *coordinator, uint32_t node, struct cellar_error *error);

/* The same, from outside. */
NODISCARD int db_node_replace(struct cellar *db, uint32_t node, struct cellar_error *error);
