/*
 * durable_keeper.c - checkpoints: all stand still for a moment, when all that is logged is applied; then the memory of
 * one memory node after the other is copied while transactions run. Their heads are written when all copies are on the
 * disks, so that all of them are of one moment (INV-DURABLE-20).
 */
#include "batch.h"
#include "counter.h"
#include "db.h"
#include "db_plants.h"
#include "durable.h"

#define POLL_NS 500000 /* while a checkpoint is to be made, or to count */
#define CRAMPED_POLL_NS 20000000
#define IDLE_POLL_NS 100000000 /* while there is nothing to do */

_Static_assert(LAYOUT_CHUNK_BYTES == CHECKPOINT_PIECE, "heaps and areas begin with a piece");

/* What a checkpoint is of, seen while all stand still; and its files, as they are written. */
struct copy {
    uint64_t begin, loads;
    struct copy_node {
        uint64_t group, chunks;
        struct checkpoint_writer *writer;
    } nodes[FABRIC_NODES_MAX];
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
    for (uint32_t i = 0; i < durable->node_count; i++) copy->nodes[i].group = atomic_load(&durable->nodes[i].group);
    copy->begin = atomic_fetch_add(&epochs->word, 1);
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++)
        rc = catalog_chunks_used(co, thread->ep, db->catalog, i, (uint64_t *)(void *)thread->piece,
                                 &copy->nodes[i].chunks);
    for (uint32_t cn = 0; cn < turned; cn++) gate_turned(&db->nodes[cn].gate);
    return rc;
}

static int range_copy(struct coro *co, struct durable_thread *thread, struct fabric_addr first, uint64_t bytes,
                      struct checkpoint_writer *writer, struct cellar_error *error)
{
    int rc = 0;
    for (uint64_t at = 0; at < bytes && rc == 0; at += CHECKPOINT_PIECE) {
        struct fabric_addr addr = fabric_addr_plus(first, at);
        rc = batch_read(co, thread->ep, addr, thread->piece, CHECKPOINT_PIECE);
        if (rc == 0) rc = checkpoint_add(writer, fabric_addr_offset(addr), thread->piece, error);
    }
    return rc;
}

/*
 * Its own bytes, and those that it backs up. What lies before a heap first: space that it says is handed out was copied
 * after it.
 */
static int memory_copy(struct coro *co, struct durable_thread *thread, const struct durable_node *node,
                       const struct copy *copy, struct cellar_error *error)
{
    const struct catalog *catalog = thread->durable->db->catalog;
    struct checkpoint_writer *writer = copy->nodes[node->number].writer;
    uint64_t heap = catalog->heap_offset, spares = heap + catalog->chunk_count * LAYOUT_CHUNK_BYTES;
    int rc = 0;
    for (uint32_t i = 0; i <= catalog->replicas && rc == 0; i++) {
        struct fabric_addr base = fabric_addr_of(node->number, i * catalog->area_bytes);
        uint64_t chunks = copy->nodes[(node->number + catalog->mn_count - i) % catalog->mn_count].chunks;
        rc = range_copy(co, thread, base, heap + chunks * LAYOUT_CHUNK_BYTES, writer, error);
        if (rc == 0)
            rc = range_copy(co, thread, fabric_addr_plus(base, spares), catalog->spare_count * LAYOUT_CHUNK_BYTES,
                            writer, error);
    }
    return rc;
}

/* Rows that are loaded are in no log, and half of one may have been copied. */
static bool loaded_since(struct epochs *epochs, const struct copy *copy)
{
    uint64_t loads = atomic_load(&epochs->loads), over = atomic_load(&epochs->loads_over);
    return (loads != copy->loads || over != copy->loads);
}

/* INV-DURABLE-20. Agents look at the word, then at what ends; here what ends comes first (Dekker). */
static int heads_write(struct durable *durable, struct copy *copy, uint64_t *last, struct cellar_error *error)
{
    struct epochs *epochs = &durable->epochs;
    uint64_t bytes = 0;
    int rc = 0;
    atomic_store(&epochs->ending, 1);
    *last = PLANT(durable_last_first) ? copy->begin : atomic_load(&epochs->word);
    atomic_store(&epochs->ending, *last);
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        struct durable_node *node = &durable->nodes[i];
        struct copy_node *of = &copy->nodes[i];
        struct checkpoint head = {.folder = {node->folder.number[0], node->folder.number[1]},
                                  .life = journal_life(node->journal),
                                  .begin = copy->begin,
                                  .last = *last,
                                  .group = of->group,
                                  .incarnation = durable->db->opening.incarnation,
                                  .loads = copy->loads};
        bytes += checkpoint_added(of->writer);
        rc = durable_which(node, checkpoint_end(of->writer, &head, error), error);
        of->writer = NULL;
    }
    if (rc) return rc; /* it is the disk's end */
    atomic_store(&epochs->ending, 0);
    counter_add(&durable->told.checkpoints, 1);
    counter_add(&durable->told.checkpoint_bytes, bytes);
    return 0;
}

static int files_begin(struct durable *durable, struct copy *copy, struct cellar_error *error)
{
    const struct catalog *catalog = durable->db->catalog;
    int rc = 0;
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        uint64_t pieces = 0;
        for (uint32_t area = 0; area <= catalog->replicas; area++)
            pieces += catalog->heap_offset / CHECKPOINT_PIECE + catalog->spare_count +
                      copy->nodes[(i + catalog->mn_count - area) % catalog->mn_count].chunks;
        struct durable_node *node = &durable->nodes[i];
        rc = checkpoint_begin(node->disk, 1 - durable->slot, pieces, &copy->nodes[i].writer, error);
        rc = durable_which(node, rc, error);
    }
    return rc;
}

/* RETRY: rows were loaded meanwhile. */
static int write_all(struct coro *co, struct durable_thread *thread, struct copy *copy, uint64_t *last,
                     struct cellar_error *error)
{
    struct durable *durable = thread->durable;
    int rc = files_begin(durable, copy, error);
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++)
        rc = durable_which(&durable->nodes[i], memory_copy(co, thread, &durable->nodes[i], copy, error), error);
    if (rc == 0 && loaded_since(&durable->epochs, copy)) rc = CELLAR_RETRY;
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++)
        rc = durable_which(&durable->nodes[i], checkpoint_sync(copy->nodes[i].writer, error), error);
    if (rc == 0) rc = heads_write(durable, copy, last, error);
    for (uint32_t i = 0; i < durable->node_count; i++) checkpoint_drop(copy->nodes[i].writer);
    return rc;
}

/* INV-DURABLE-11: all memory nodes have their parts of it. */
static void logs_free(struct durable *durable, const struct copy *copy)
{
    for (uint32_t i = 0; i < durable->node_count; i++) atomic_store(&durable->nodes[i].below, copy->nodes[i].group);
}

/*
 * INV-DURABLE-27: rows were loaded since, so no agent ends an epoch before there is another checkpoint; but what one is
 * amid of may make this one count.
 */
static bool outdated(struct durable *durable, const struct copy *copy, uint64_t last)
{
    bool loaded = atomic_load(&durable->epochs.loads) != copy->loads;
    for (uint32_t i = 0; i < durable->node_count && loaded && !PLANT(durable_given_up_early); i++)
        loaded = atomic_load(&durable->nodes[i].closing) < last;
    return loaded;
}

/* 0: that epoch is on all disks. RETRY; SYSTEM. Where space is short it waits for some. */
static int await(struct coro *co, struct durable_thread *thread, const struct copy *copy, uint64_t last)
{
    struct durable *durable = thread->durable;
    for (;;) {
        bool old = outdated(durable, copy, last); /* before it looks what the agents have published */
        int rc = epochs_reached(&durable->epochs, last);
        if (rc == 1) return 0;
        if (rc == CELLAR_SYSTEM) return rc;
        if (old || atomic_load(&thread->stop)) return CELLAR_RETRY;
        if (PLANT(durable_freed_uncounted)) logs_free(durable, copy);
        sleep_some(co, thread);
    }
}

/* 0: it counts, and the logs are freed up to its beginning. RETRY; or a code: no checkpoint can be made any more. */
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
    rc = await(co, thread, &copy, last);
    if (rc) return rc;
    durable->slot = 1 - durable->slot;
    logs_free(durable, &copy);
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
        if (wanted) epochs_call_agents(epochs, 0, &thread->sched); /* they free the logs, and tell those that wait */
        sleep_some(co, thread);
    }
    atomic_store(&thread->over, true);
    sched_park(co, &thread->task);
}
