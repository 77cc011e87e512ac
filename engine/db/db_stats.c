/* db_stats.c - what the workers of a database have counted (cellar_lab.h). */
#include "db_stats.h"

#include "coordinator.h"
#include "counter.h"
#include "db.h"
#include "loader.h"
#include "session.h"
#include "worker.h"

/* Kinds after SEND are none of the engine's. */
_Static_assert((int)CELLAR_VERBS == (int)FABRIC_SEND + 1 && (int)CELLAR_VERB_MASKED_CAS == (int)FABRIC_MASKED_CAS,
               "verbs are counted by kind");

static void stats_add(struct cellar_lab_stats *stats, const struct worker *worker)
{
    const struct txn_stats *from = &worker->home.stats;

    stats->committed += counter_read(&from->committed);
    stats->aborted += counter_read(&from->aborted);
    for (int i = 0; i < CELLAR_ABORT_REASONS; i++) stats->aborts[i] += counter_read(&from->aborts[i]);
    stats->round_trips += counter_read(&from->round_trips);
    for (int i = 0; i < CELLAR_PHASES; i++) stats->phase_ns[i] += counter_read(&from->phase_ns[i]);
    stats->phase_samples += counter_read(&from->phase_samples);
    stats->cache_bytes += counter_read(&from->cache_bytes);
    stats->copy_bytes += counter_read(&from->copy_bytes);
    for (int i = 0; i < CELLAR_HOT_COUNTERS; i++) stats->hot[i] += counter_read(&from->hot[i]);
    uint64_t tag_wait_ns = counter_read(&from->tag_wait_ns);
    if (tag_wait_ns > stats->tag_wait_ns) stats->tag_wait_ns = tag_wait_ns;
    for (uint32_t node = 0; node < worker->db->fabric->mn_count; node++)
        for (int phase = 0; phase < CELLAR_PHASES; phase++)
            for (int verb = 0; verb < CELLAR_VERBS; verb++)
                stats->ops[phase][verb] += counter_read(&worker->ep->counters.ops[node][phase][verb]);
}

void db_stats(struct cellar *db, struct cellar_lab_stats *stats)
{
    *stats = (struct cellar_lab_stats){0};
    for (uint32_t i = 0; i < db->worker_count; i++) stats_add(stats, &db->workers[i]);
    fabric_lock(db->fabric, &db->sessions_lock);
    for (uint32_t i = 0; i < db->config.sessions; i++)
        if (db->sessions[i] && db->sessions[i]->ready) stats_add(stats, db->sessions[i]->worker);
    fabric_unlock(db->fabric, &db->sessions_lock);
}

/* All members are 64-bit counts: a difference of structs is one of words. */
_Static_assert(sizeof(struct cellar_lab_stats) % sizeof(uint64_t) == 0, "counts only");

void cellar_lab_stats_read(struct cellar *db, struct cellar_lab_stats *stats)
{
    uint32_t *counted;
    *stats = (struct cellar_lab_stats){0};
    if (db_look_begin(db, &counted, NULL)) return;
    db_stats(db, stats);
    uint64_t *now = (uint64_t *)stats;
    const uint64_t *then = (const uint64_t *)&db->stats_then;
    for (size_t i = 0; i < sizeof *stats / sizeof *now; i++) now[i] -= then[i];
    db_call_end(db, counted);
}

void cellar_lab_stats_reset(struct cellar *db)
{
    uint32_t *counted;
    if (db_look_begin(db, &counted, NULL)) return;
    db_stats(db, &db->stats_then);
    db_call_end(db, counted);
}

uint64_t cellar_lab_cache_bytes(struct cellar *db)
{
    uint32_t *counted;
    uint64_t bytes = 0;
    if (db_look_begin(db, &counted, NULL)) return 0;
    const struct mode *mode = mode_of(db->config.cc);
    for (uint32_t i = 0; mode->bytes_touched && i < db->config.cns; i++) bytes += mode->bytes_touched(&db->nodes[i]);
    db_call_end(db, counted);
    return bytes;
}

void cellar_lab_way_read(struct cellar *db, struct cellar_lab_way *way)
{
    uint32_t *counted;
    *way = (struct cellar_lab_way){0};
    if (db_look_begin(db, &counted, NULL)) return;
    const struct mode *mode = mode_of(db->config.cc);
    for (uint32_t i = 0; mode->way && i < db->config.cns; i++) mode->way(&db->nodes[i], way);
    db_call_end(db, counted);
}

static int pool_space_read(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct worker *worker = coordinator->worker;

    worker->ep->bulk = true;
    int rc = loader_pool_space(co, worker->loader, arg);
    worker->ep->bulk = false;
    return rc;
}

void cellar_lab_pool_space_read(struct cellar *db, struct cellar_lab_pool_space *space)
{
    *space = (struct cellar_lab_pool_space){0};
    int rc = db_call_on(db, 0, pool_space_read, space, NULL);
    if (rc && rc != CELLAR_CLOSED && rc != CELLAR_INVALID)
        node_log(&db->opening, CELLAR_LOG_WARNING, "the pool's space could not be read: %s", cellar_strerror(rc));
}
