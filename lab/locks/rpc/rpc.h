/*
 * rpc.h - locks kept by a server: a queue for each lock in its memory, messages to and from it (DSLR's baseline
 * "Traditional"; with the policy `try` ShiftLock's "RPC").
 *
 *     client ── ACQUIRE ──> server: grant, queue or refuse ── GRANT | REFUSED ──> client ── RELEASE ──> server: next
 *
 * A request is named by its client and a ticket, which counts that client's calls: messages may come late and twice.
 * What a worker sends arrives in order (fabric.h, rule 1), so nothing asks for a lock after its own RELEASE; a
 * RELEASE that has to be sent again may arrive after the next call's ACQUIRE.
 *   INV-RPC-1  the server grants no request beside one that excludes it, whatever was said twice
 *   INV-RPC-2  a request is over when its RELEASE has come, or its compute node is dead
 *   INV-RPC-3  policy fifo: while a request waits, none that came later is granted
 */
#pragma once

#include "lockmgr_algorithm.h"

enum rpc_policy { RPC_FIFO, RPC_REORDER, RPC_TRY };

/*
 * words[0]: the client's id; words[1]: its ticket; words[2]: of an ACQUIRE, enum lockmgr_mode; of a GRANT, did it
 * wait?
 */
/* QUEUED: of an ACQUIRE that has come before, and waits. */
enum rpc_kind { RPC_ACQUIRE = 1, RPC_RELEASE, RPC_GRANT, RPC_REFUSED, RPC_QUEUED };

int rpc_server_open(struct lockmgr_worker *worker, struct cellar_error *error);
void rpc_server_close(struct lockmgr_worker *worker);
void rpc_server_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                        const struct lockmgr_message_wire *wire);
uint64_t rpc_server_tend(struct coro *co, struct lockmgr_worker *worker);
int rpc_server_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);
