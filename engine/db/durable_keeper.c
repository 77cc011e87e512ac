/*
 * durable_keeper.c - checkpoints: all stand still for a moment, when all that is logged is applied; then the memory is
 * copied while transactions run.
 */
#include "batch.h"
#include "counter.h"
#include "db.h"
#include "db_plants.h"
#include "durable.h"

#define POLL_NS 500000 /* while a checkpoint is to be made, or to count */
#define CRAMPED_POLL_NS 20000000
#define IDLE_POLL_NS 100000000 /* while there is nothing to do */

/* What a checkpoint is of, seen while all stand still. */
struct copy {
    uint64_t begin, group, loads, chunks;
};

/* Where space is short there may be some later, as long as the log has room; but nothing opens without a checkpoint. */
static void refuse(struct durable *durable, uint64_t asked, int rc, const struct cellar_error *error)
{
    struct cellar_error why = *error;
    if (rc == CELLAR_FULL && atomic_load(&durable->epochs.checkpoints)) {
        durable_why_set(durable, &why);
        atomic_store(&durable->epochs.put_off, asked);
        if (!atomic_exchange(&durable->epochs.cramped, true))
            node_log(&durable->db->opening, CELLAR_LOG_WARNING, "a checkpoint is put off: %s", why.text);
        if (epochs_cramped(&durable->epochs)) durable_refuse(durable, &why);
        return;
    }
    if (!why.code) (void)err_set(&why, CELLAR_SYSTEM, "a checkpoint: %s", cellar_strerror(rc));
    why.code = CELLAR_SYSTEM; /* whatever it was: the log cannot be freed any more */
    durable_refuse(durable, &why);
}

static void sleep_some(struct coro *co, struct durable_thread *thread)
{
    struct epochs *epochs = &thread->durable->epochs;
    bool asked = atomic_load(&epochs->asked) != atomic_load(&epochs->checkpoints);
    uint64_t pause_ns = atomic_load(&epochs->cramped) ? CRAMPED_POLL_NS : asked ? POLL_NS : IDLE_POLL_NS;
    epochs_rest(co, &thread->sleeper, pause_ns);
}

/* All that has an epoch up to begin is applied: its attempt has ended, and so have all that shared with it. */
static int stand_still(struct coro *co, struct durable_thread *thread, struct copy *copy)
{
    struct durable *durable = thread->durable;
    struct cellar *db = durable->db;
    struct epochs *epochs = &durable->epochs;
    uint32_t turned = 0;
    int rc = 0;
    while (turned < db->config.cns && rc == 0) {
        rc = gate_turn(co, &db->nodes[turned].gate, &thread->sched, &thread->task) ? 0 : CELLAR_FENCED;
        turned += rc == 0;
    }
    copy->loads = atomic_load(&epochs->loads);
    copy->group = atomic_load(&durable->group);
    copy->begin = atomic_fetch_add(&epochs->word, 1);
    if (rc == 0)
        rc = catalog_chunks_used(co, thread->ep, db->catalog, 0, (uint64_t *)(void *)thread->piece, &copy->chunks);
    for (uint32_t cn = 0; cn < turned; cn++) gate_turned(&db->nodes[cn].gate);
    return rc;
}

static int range_copy(struct coro *co, struct durable_thread *thread, struct checkpoint_writer *writer, uint64_t first,
                      uint64_t end, struct cellar_error *error)
{
    int rc = 0;
    for (uint64_t at = first; at < end && rc == 0; at += CHECKPOINT_PIECE) {
        rc = batch_read(co, thread->ep, fabric_addr_of(0, at), thread->piece, CHECKPOINT_PIECE);
        if (rc == 0) rc = checkpoint_add(writer, at, thread->piece, error);
    }
    return rc;
}

/* What lies before the heap first: space that it says is handed out was copied after it. */
static int memory_copy(struct coro *co, struct durable_thread *thread, struct checkpoint_writer *writer,
                       const struct copy *copy, struct cellar_error *error)
{
    const struct catalog *catalog = thread->durable->db->catalog;
    uint64_t heap = catalog->heap_offset, spares = heap + catalog->chunk_count * LAYOUT_CHUNK_BYTES;
    int rc = range_copy(co, thread, writer, 0, heap + copy->chunks * LAYOUT_CHUNK_BYTES, error);
    return rc ? rc : range_copy(co, thread, writer, spares, spares + catalog->spare_count * LAYOUT_CHUNK_BYTES, error);
}

/* Rows that are loaded are in no log, and half of one may have been copied. */
static bool loaded_since(struct epochs *epochs, const struct copy *copy)
{
    uint64_t loads = atomic_load(&epochs->loads), over = atomic_load(&epochs->loads_over);
    return (loads != copy->loads || over != copy->loads);
}

/* INV-DURABLE-20. The agent looks at the word, then at what ends; here what ends comes first (Dekker). */
static int head_write(struct durable *durable, struct checkpoint_writer *writer, const struct copy *copy,
                      uint64_t *last, struct cellar_error *error)
{
    struct epochs *epochs = &durable->epochs;
    atomic_store(&epochs->ending, 1);
    *last = PLANT(durable_last_first) ? copy->begin : atomic_load(&epochs->word);
    atomic_store(&epochs->ending, *last);
    struct checkpoint head = {.folder = {durable->folder.number[0], durable->folder.number[1]},
                              .life = journal_life(durable->journal),
                              .begin = copy->begin,
                              .last = *last,
                              .group = copy->group,
                              .incarnation = durable->db->opening.incarnation};
    uint64_t bytes = checkpoint_added(writer);
    int rc = checkpoint_end(writer, &head, error);
    if (rc) return rc; /* it is the disk's end */
    atomic_store(&epochs->ending, 0);
    counter_add(&durable->told.checkpoints, 1);
    counter_add(&durable->told.checkpoint_bytes, bytes);
    return 0;
}

/* RETRY: rows were loaded meanwhile. */
static int write_all(struct coro *co, struct durable_thread *thread, const struct copy *copy, uint64_t *last,
                     struct cellar_error *error)
{
    struct durable *durable = thread->durable;
    const struct catalog *catalog = durable->db->catalog;
    uint64_t pieces = catalog->heap_offset / CHECKPOINT_PIECE + copy->chunks + catalog->spare_count;
    struct checkpoint_writer *writer;
    int rc = checkpoint_begin(durable->disk, 1 - durable->slot, pieces, &writer, error);
    if (rc) return rc;
    rc = memory_copy(co, thread, writer, copy, error);
    if (rc == 0 && loaded_since(&durable->epochs, copy)) rc = CELLAR_RETRY;
    if (rc == 0) rc = checkpoint_sync(writer, error);
    if (rc == 0) return head_write(durable, writer, copy, last, error);
    checkpoint_drop(writer);
    return rc;
}

/* 0: it counts, and the log is freed up to its beginning. RETRY; or a code: no checkpoint can be made any more. */
static int checkpoint_make(struct coro *co, struct durable_thread *thread, struct cellar_error *error)
{
    struct durable *durable = thread->durable;
    struct epochs *epochs = &durable->epochs;
    struct copy copy = {0};
    uint64_t last = 0;
    int rc = stand_still(co, thread, &copy);
    if (rc == 0 && loaded_since(epochs, &copy)) rc = CELLAR_RETRY;
    if (rc == 0) rc = write_all(co, thread, &copy, &last, error);
    if (rc) return rc;
    atomic_store(&epochs->cramped, false);
    epochs_want(epochs, last, &thread->sched);
    if (copy.loads != atomic_load(&epochs->loads_covered)) atomic_store(&epochs->loads_epoch, last);
    atomic_store(&epochs->loads_covered, copy.loads);
    /* For lack of space it waits: the epoch is in the log when there is some. */
    while ((rc = epochs_reached(epochs, last)) != 1 && rc != CELLAR_SYSTEM && !atomic_load(&thread->stop)) {
        if (PLANT(durable_freed_uncounted)) atomic_store(&durable->below, copy.group);
        sleep_some(co, thread);
    }
    if (rc != 1) return rc == CELLAR_SYSTEM ? rc : CELLAR_RETRY;
    durable->slot = 1 - durable->slot;
    atomic_store(&durable->below, copy.group);
    return 0;
}

void durable_keeper_main(struct coro *co, void *arg)
{
    struct durable_thread *thread = arg;
    struct durable *durable = thread->durable;
    struct epochs *epochs = &durable->epochs;
    while (!atomic_load(&thread->stop)) {
        struct cellar_error error = {0};
        uint64_t asked = atomic_load(&epochs->asked);
        bool wanted = asked != atomic_load(&epochs->checkpoints) && atomic_load(&epochs->refused) != CELLAR_SYSTEM;
        int rc = wanted ? checkpoint_make(co, thread, &error) : 0;
        if (rc == 0 && wanted) atomic_store(&epochs->checkpoints, asked);
        if (rc && rc != CELLAR_RETRY && atomic_load(&epochs->refused) != CELLAR_SYSTEM)
            refuse(durable, asked, rc, &error);
        if (wanted) epochs_call(&epochs->agent, &thread->sched); /* it frees the log, and tells those that wait */
        sleep_some(co, thread);
    }
    atomic_store(&thread->over, true);
    sched_park(co, &thread->task);
}
