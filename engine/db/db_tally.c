/*
 * db_tally.c - what calls of each procedure came to, and what was done with the records of each table (cellar_lab.h):
 * each worker counts in lines of its own, and who reads adds them up.
 */
#include "db_tally.h"

#include "counter.h"
#include "db.h"
#include "lazy.h"
#include "session.h"
#include "worker.h"

_Static_assert(CELLAR_LATENCY_BUCKETS == (64 - DB_TALLY_SUB_BITS + 1) << DB_TALLY_SUB_BITS, "as buckets need them");
_Static_assert(sizeof(struct cellar_lab_tally) % sizeof(uint64_t) == 0, "counts only");

/* The largest of a bucket's. */
static uint64_t bucket_end(uint32_t bucket)
{
    if (bucket < 2u << DB_TALLY_SUB_BITS) return bucket;
    uint32_t shift = (bucket >> DB_TALLY_SUB_BITS) - 1;
    return ((uint64_t)(bucket - (shift << DB_TALLY_SUB_BITS)) << shift) + ((1ull << shift) - 1);
}

static uint32_t workers_of_node(const struct cellar *db) { return db->config.threads + db->config.sessions; }
static uint64_t workers_most(const struct cellar *db) { return (uint64_t)db->config.cns * workers_of_node(db); }
/* One for each worker; and the last, for all threads that have none. */
static uint64_t tally_count(const struct cellar *db) { return workers_most(db) + 1; }

/* Lazily: most sessions never call it. */
int db_tallies_make(const struct cellar *db, struct cellar_proc *proc)
{
    proc->tallies = lazy_map(tally_count(db) * sizeof(struct tally));
    return proc->tallies ? 0 : CELLAR_NOMEM;
}

void db_tallies_free(const struct cellar *db, struct cellar_proc *proc)
{
    lazy_unmap(proc->tallies, tally_count(db) * sizeof(struct tally));
}

void db_tally_place(struct worker *worker)
{
    const struct cellar *db = worker->db;
    worker->tally = (worker->cn - db->config.cn_index) * workers_of_node(db) + worker->thread;
}

static void count_beside(uint64_t *count, uint64_t by) { __atomic_fetch_add(count, by, __ATOMIC_RELAXED); }

void db_tally_end_beside(const struct cellar *db, const struct cellar_proc *proc, const struct cellar_result *result)
{
    if (!proc->tallies) return;
    struct cellar_lab_tally *counts = &proc->tallies[workers_most(db)].counts;
    if (result->attempts > 1) count_beside(&counts->attempts, result->attempts - 1);
    count_beside(result->code ? &counts->calls : &counts->latency[db_tally_bucket(result->latency_ns)], 1);
}

/* ---- cellar_lab.h ---- */

const struct cellar_proc *cellar_lab_proc_next(struct cellar *db, const struct cellar_proc *after)
{
    uint32_t *counted;
    if (after) return after->next; /* of one of a database that was closed: NULL */
    if (db_look_begin(db, &counted, NULL)) return NULL;
    const struct cellar_proc *first = __atomic_load_n(&db->procs, __ATOMIC_ACQUIRE);
    db_call_end(db, counted);
    return first;
}

const char *cellar_lab_proc_name(const struct cellar_proc *proc) { return proc->name; }

void cellar_lab_proc_read(struct cellar *db, const struct cellar_proc *proc, struct cellar_lab_tally *tally)
{
    uint64_t *sum = (uint64_t *)tally;
    uint32_t *counted;
    *tally = (struct cellar_lab_tally){0};
    if (db_look_begin(db, &counted, NULL)) return;
    uint64_t count = proc && proc->db == db ? tally_count(db) : 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *counts = (const uint64_t *)&proc->tallies[i].counts;
        for (uint64_t k = 0; k < sizeof *tally / sizeof *sum; k++) sum[k] += counter_read(&counts[k]);
    }
    /* Counted so far are calls that failed, and attempts after a call's first. */
    for (uint32_t i = 0; i < CELLAR_LATENCY_BUCKETS; i++) tally->committed += tally->latency[i];
    tally->calls += tally->committed;
    tally->attempts += tally->calls;
    db_call_end(db, counted);
}

/* Its parts, too: what is written there is the engine's doing, but who meets another transaction there is told. */
static void table_add(const struct cellar *db, const struct worker *worker, const struct table *table,
                      struct cellar_lab_table_tally *sum)
{
    const struct tabletally *tallies = worker->home.tallies;
    tabletally_add(tallies, table->id, 0, sum);
    catalog_each(db->catalog, part) if (catalog_part_of(part) == table->id)
        tabletally_add(tallies, part->id, TABLETALLY_DIDS, sum);
}

static void table_read(struct cellar *db, const struct table *table, struct cellar_lab_table_tally *tally)
{
    for (uint32_t i = 0; i < db->worker_count; i++) table_add(db, &db->workers[i], table, tally);
    fabric_lock(db->fabric, &db->sessions_lock);
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->ready) table_add(db, db->sessions[i]->worker, table, tally);
    fabric_unlock(db->fabric, &db->sessions_lock);
}

void cellar_lab_table_read(struct cellar *db, const struct cellar_table *handle, struct cellar_lab_table_tally *tally)
{
    uint32_t *counted;
    *tally = (struct cellar_lab_table_tally){0};
    if (db_look_begin(db, &counted, NULL)) return;
    const struct table *table = catalog_table_of(db->catalog, handle);
    if (table) table_read(db, table, tally);
    db_call_end(db, counted);
}

uint64_t cellar_lab_latency_ns(const struct cellar_lab_tally *tally, double share)
{
    uint64_t count = 0, seen = 0;
    for (uint32_t i = 0; i < CELLAR_LATENCY_BUCKETS; i++) count += tally->latency[i];
    for (uint32_t i = 0; i < CELLAR_LATENCY_BUCKETS; i++) {
        seen += tally->latency[i];
        if (seen > 0 && (double)seen >= share * (double)count) return bucket_end(i);
    }
    return 0;
}
