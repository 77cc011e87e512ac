/*
 * reclaim.h - tables that go, or are emptied, and the space that they leave (docs/storage.md).
 *
 *     MAKING ──> WHOLE or BUILDING, when its buckets are there; or, its maker dead, runs vacant ──> the entry is free
 *     WHOLE ──> ASKED ──> GONE ──> runs vacant ──> the entry is free
 *                    └──> EMPTYING ──> runs vacant, buckets zero ──> WHOLE
 *     WHOLE ──> ASKED ──> REPLACED by another, BUILDING until then ──> that one WHOLE ──> GONE
 *     BUILDING ──> WHOLE, when an index's nodes are there; or GONE
 *
 * What is done here is done by ordinary operations, not in the fabric's bulk mode: it can be cut off at each of them.
 *
 * INV-RECLAIM-1: what becomes of a table is decided by one CAS of its entry's last word, from ASKED or BUILDING, and
 *                is on all replicas before the first byte of its space changes. A process that dies leaves the table as
 *                it was, or one that is gone, or empty: the next one that is alone with the pool goes on.
 * INV-RECLAIM-2: nothing is given back while another process is a member. Who decides has found itself alone after it
 *                asked; who comes reads the entries after it has joined, and takes an ASKED or BUILDING back. So either
 *                the first sees the second, or loses its CAS, or the second sees what was decided.
 * INV-RECLAIM-5: a table that takes another's place has all of its records before one CAS, of the other's entry, says
 *                so; whoever comes then makes it WHOLE before an entry that says BUILDING goes.
 * INV-RECLAIM-4: when it is decided no entry of any log that names the table is due: logs of other members were
 *                recovered or left, and those of this process say in their segments that all has had its effect.
 * INV-RECLAIM-3: runs that no table claims are all given back by a process that stays alone: those of tables that are
 *                gone, of a table that a process died making, chunks that it had taken for no run.
 * INV-RECLAIM-6: a run of a table is not there before its entry, which says MAKING until all of the first runs are.
 * INV-RECLAIM-7: the process that moves a primary's state writes it to the backups. Another process does so only with
 *                a state that stays: WHOLE, while it is a member; GONE or EMPTYING, when it is alone.
 * INV-RECLAIM-9: whoever decides and lives on knows what was decided, or stops. What is decided is done: what is still
 *                to be done then, a sweep or the next opening does.
 * INV-RECLAIM-8: chunks that no table and no log seems to have are given back only if no other process has come between
 *                the reading of the entries and the end of the walk: it may have taken them for a run that is still to
 *                be written.
 */
#pragma once

#include "catalog.h"

/*
 * From one enum layout_table_state to another, on all replicas. BUSY: it is in another one, which somebody chose.
 * INDETERMINATE: it may be in either, since too many replies were lost.
 */
NODISCARD int reclaim_state_move(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint32_t table_id,
                                 uint64_t from, uint64_t to, struct cellar_error *error);
/* That table is REPLACED: the other one is WHOLE, and it is GONE. Several processes may do it. */
NODISCARD int reclaim_replaced_settle(struct coro *co, struct fabric_ep *ep, struct catalog *catalog, uint32_t table_id,
                                      struct cellar_error *error);
/*
 * By a process that has joined, before it uses a table: the entries as they are now; what others asked for is taken
 * back (INV-RECLAIM-2).
 */
NODISCARD int reclaim_joined(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                             struct cellar_error *error);
/* Is there anything to be given back, as far as entries tell? */
bool reclaim_is_due(const struct catalog *catalog);
/* All of a log up to that entry has had its effect: its segment's header says so, on all replicas. */
NODISCARD int reclaim_log_settle(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog,
                                 struct fabric_addr ring, uint64_t incarnation, uint64_t sequence);
/* What the caller knows of other processes. */
struct reclaim_company {
    /* Returns whether no other process was a member at any time since just before the sweep; unknown: false. */
    bool (*none_came)(struct coro *co, void *arg);
    void *arg;
};

/*
 * Alone with the pool, at rest: gives back the runs that no table claims, and the records of those that are `emptying`
 * (which they stay: then their indexes are to be built); frees the entries of those that are gone.
 */
NODISCARD int reclaim_sweep(struct coro *co, struct fabric_ep *ep, struct catalog *catalog,
                            const struct reclaim_company *company, struct cellar_error *error);
