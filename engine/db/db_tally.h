/* db_tally.h - what each worker counts of each procedure. */
#pragma once

#include "counter.h"
#include "db_schema.h"
#include "worker.h"

/* One worker's, written by the thread that has its helm. */
struct tally {
    _Alignas(64) struct cellar_lab_tally counts;
};
#define DB_TALLY_SUB_BITS 2 /* a bucket's width is a quarter of its power of two */
/* As hist_bucket_of (hist.h), coarser: a worker has one of these for each procedure. */
static inline uint32_t db_tally_bucket(uint64_t ns)
{
    uint32_t shift = 63 - DB_TALLY_SUB_BITS - (uint32_t)__builtin_clzll(ns | 1ull << DB_TALLY_SUB_BITS);
    return (shift << DB_TALLY_SUB_BITS) + (uint32_t)(ns >> shift);
}
/* Where its tallies are among those of a procedure; before it makes a call. */
void db_tally_place(struct worker *worker);
NODISCARD int db_tallies_make(const struct cellar *db, struct cellar_proc *proc);
void db_tallies_free(const struct cellar *db, struct cellar_proc *proc);
/* That worker's of this procedure, which is counted. */
static inline struct tally *db_tally_of(const struct worker *worker, const struct cellar_proc *proc)
{
    return &proc->tallies[worker->tally];
}
/*
 * Of a call that has ended, so many attempts of which were told by db_tally_abort. A call that commits at its first
 * attempt is counted among the latencies and nowhere else: who reads makes the sums (cellar_lab_proc_read).
 */
static inline void db_tally_end(const struct worker *worker, const struct cellar_proc *proc,
                                const struct cellar_result *result)
{
    if (!proc->tallies) return;
    struct cellar_lab_tally *counts = &db_tally_of(worker, proc)->counts;
    if (__builtin_expect(result->attempts > 1, 0)) counter_add(&counts->attempts, result->attempts - 1);
    if (__builtin_expect(result->code != 0, 0))
        counter_add(&counts->calls, 1);
    else
        counter_add(&counts->latency[db_tally_bucket(result->latency_ns)], 1);
}
/* Likewise, by a thread that has no worker's helm. */
void db_tally_end_beside(const struct cellar *db, const struct cellar_proc *proc, const struct cellar_result *result);
static inline void db_tally_abort(const struct worker *worker, const struct cellar_proc *proc,
                                  enum cellar_abort_reason reason)
{
    if (!proc->tallies || reason >= CELLAR_ABORT_REASONS) return; /* that one never began */
    counter_add(&db_tally_of(worker, proc)->counts.aborts[reason], 1);
}
