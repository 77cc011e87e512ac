/* durable_restore.c - the memory of a database from its folder: pieces, pages, entries. */
#include "batch.h"
#include "db.h"
#include "db_plants.h"
#include "durable.h"
#include "fill.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_NS 1000000000

struct restoring {
    struct coro *co;
    struct fabric_ep *ep;
    struct durable *durable;
    const struct durable_node *node; /* whose bytes are being read */
    struct replay_shape shape;
    uint8_t *piece; /* registered */
    struct cellar_error *error;
    uint64_t pieces, piece_count, entries, told_ns; /* done so far, of so many; when that was said */
};

/* Once a second. */
static void progress_tell(struct restoring *run, uint64_t done, uint64_t all, const char *what)
{
    const struct durable *durable = run->durable;
    uint64_t now_ns = fabric_now_ns(run->ep);
    if (!durable->db || now_ns - run->told_ns < PROGRESS_NS) return; /* or none is there to tell it */
    run->told_ns = now_ns;
    node_log(&durable->db->opening, CELLAR_LOG_INFO, "restoring %.100s: %llu of %llu %s", durable->db->config.durable,
             (unsigned long long)done, (unsigned long long)all, what);
}

static void redone(void *arg, uint64_t done)
{
    struct restoring *run = arg;
    progress_tell(run, done, run->durable->replay.count, "entries of the log");
}

/* ---- pieces ---- */

static int piece_write_at(struct restoring *run, struct fabric_addr addr)
{
    struct fabric_op op = fabric_op_write(addr, run->piece, CHECKPOINT_PIECE);
    int rc = batch_run(run->co, run->ep, &op, 1);
    return rc ? err_set(run->error, rc, "memory node %u: %s", fabric_addr_node(addr), cellar_strerror(rc)) : 0;
}

static int piece_write(void *arg, uint64_t offset, const uint8_t *bytes)
{
    struct restoring *run = arg;
    if (offset > run->node->folder.memory_bytes - CHECKPOINT_PIECE || offset % CHECKPOINT_PIECE)
        return err_set(run->error, CELLAR_CORRUPT, "a checkpoint has a piece at %#llx", (unsigned long long)offset);
    progress_tell(run, run->pieces++, run->piece_count, "pieces of the checkpoint");
    struct fabric_addr filled;
    memcpy(run->piece, bytes, CHECKPOINT_PIECE);
    int rc = piece_write_at(run, fabric_addr_of(run->node->number, offset));
    bool fills = replay_fills(&run->shape, run->node->number, offset, &filled);
    return rc || !fills ? rc : piece_write_at(run, filled);
}

static uint64_t pieces_of(const struct durable *durable)
{
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < durable->node_count; i++) pieces += durable_found(&durable->nodes[i])->pieces;
    return pieces;
}

static int pieces_restore(struct restoring *run)
{
    struct durable *durable = run->durable;
    run->piece_count = pieces_of(durable);
    run->piece = aligned_alloc(LAYOUT_LINE, CHECKPOINT_PIECE);
    if (!run->piece) return err_set(run->error, CELLAR_NOMEM, "no memory to read a checkpoint");
    int rc = fabric_register_local(run->ep->fabric, run->piece, CHECKPOINT_PIECE);
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        struct cellar_error inner = {0}, *error = run->error;
        if ((int32_t)i == durable->filled) continue;
        run->node = &durable->nodes[i];
        run->error = &inner;
        rc = checkpoint_read(run->node->disk, durable->slot, durable_found(run->node), piece_write, run, &inner);
        run->error = error;
        rc = durable_named(run->node, rc, &inner, error);
    }
    fabric_forget_local(run->ep->fabric, run->piece, CHECKPOINT_PIECE);
    free(run->piece);
    return rc;
}

/* ---- logs ---- */

/* INV-DURABLE-26: it is not older than the checkpoint. */
static bool page_counts(const struct journal_item *item, const struct checkpoint *found)
{
    const struct replay_page *page = (const struct replay_page *)(const void *)item->bytes;
    if (PLANT(durable_pages_outdated)) return true;
    return item->life > found->life || (item->life == found->life && page->loads >= found->loads);
}

/* INV-DURABLE-17. What is neither entry nor page is for replay_add to judge. */
static bool is_needed(const struct durable *durable, const struct journal_item *item)
{
    if (!durable->restores) return true;
    const struct checkpoint *found = durable_counts(durable);
    return replay_is_page(item->bytes, item->count) ? page_counts(item, found)
                                                    : item->epoch > found->begin || PLANT(durable_begin_ignored);
}

static int entry_see(void *arg, const struct journal_item *item)
{
    struct restoring *run = arg;
    struct durable *durable = run->durable;
    if (!is_needed(durable, item)) return 0;
    run->entries++;
    progress_tell(run, run->entries, run->entries, "entries of the log read");
    int rc = replay_add(&durable->replay, run->node->number, item->epoch, item->bytes, item->count);
    return rc ? err_set(run->error, rc, "log of memory node %u: %s", run->node->number, cellar_strerror(rc)) : 0;
}

/* INV-DURABLE-23. */
static int logs_read(struct restoring *run)
{
    struct durable *durable = run->durable;
    int rc = 0;
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        struct durable_node *node = &durable->nodes[i];
        struct cellar_error inner = {0}, *error = run->error;
        run->node = node;
        run->error = &inner;
        rc = durable->look ? journal_show(&node->wal, &durable->cut, entry_see, run, &inner)
                           : journal_open(&node->wal, &durable->cut, entry_see, run, &node->journal, &inner);
        run->error = error;
        rc = durable_named(node, rc, &inner, error);
    }
    uint64_t *last = &durable->replay.incarnation_last;
    uint64_t found = durable->restores ? durable_counts(durable)->incarnation : 0;
    if (*last < found) *last = found;
    return rc;
}

/* INV-DURABLE-12: the cluster goes on when all memory nodes are in the new life. */
static int life_begin(struct durable *durable, struct cellar_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++) {
        struct durable_node *node = &durable->nodes[i];
        struct cellar_error inner = {0};
        rc = durable_named(node, journal_begin(node->journal, &inner), &inner, error);
        atomic_store(&node->group, journal_group(node->journal));
    }
    return rc;
}

/* What does not count now must not count later, when the cut of this life is past it: on no memory node. */
static int others_remove(struct durable *durable, struct cellar_error *error)
{
    bool beside = durable->beside || PLANT(durable_older_removed);
    int rc = 0;
    for (uint32_t i = 0; i < durable->node_count && rc == 0; i++)
        for (uint32_t slot = 0; slot < CHECKPOINT_FILES && rc == 0; slot++)
            if (!durable->restores || (beside && slot != durable->slot)) {
                struct cellar_error inner = {0};
                rc = checkpoint_remove(durable->nodes[i].disk, slot, &inner);
                rc = durable_named(&durable->nodes[i], rc, &inner, error);
            }
    return rc;
}

static struct replay_shape shape_of(const struct durable *durable)
{
    const struct folder *first = &durable->nodes[0].folder;
    return (struct replay_shape){first->nodes, first->replicas, first->memory_bytes,
                                 catalog_area_bytes(first->memory_bytes, first->replicas), durable->filled};
}

/* ---- restoring ---- */

/* It may have been the newest, and rows that were loaded before it are in no log. */
static void broken_tell(const struct durable *durable)
{
    if (!durable->db) return; /* a command that looks at files has its own line for each */
    for (uint32_t i = 0; i < durable->node_count; i++)
        for (uint32_t slot = 0; slot < CHECKPOINT_FILES; slot++) {
            char name[160];
            durable_name(&durable->nodes[i], name, sizeof name);
            if (durable->nodes[i].broken[slot])
                node_log(
                    &durable->db->opening, CELLAR_LOG_WARNING,
                    "%.100s: checkpoint-%u: its head is damaged, or power failed as it was written: %s", name, slot + 1,
                    durable->restores ? "the other one is restored, with the log since" : "no checkpoint is there");
        }
}

static uint64_t last_used(const struct durable *durable)
{
    uint64_t last = durable->cut.last > durable->cut.epoch ? durable->cut.last : durable->cut.epoch;
    uint64_t found = durable->restores ? durable_counts(durable)->last : 0;
    return last > found ? last : found;
}

int durable_restore(struct coro *co, struct fabric_ep *ep, struct durable *durable, bool *restored,
                    struct cellar_error *error)
{
    struct restoring run = {.co = co,
                            .ep = ep,
                            .durable = durable,
                            .shape = shape_of(durable),
                            .error = error,
                            .told_ns = fabric_now_ns(ep)};
    durable->begun_ns = run.told_ns;
    broken_tell(durable);
    durable->replay.copies = durable->nodes[0].folder.replicas > 0;
    *restored = durable->restores;
    if (durable->look && !*restored)
        return err_set(error, CELLAR_NOT_FOUND, "the folder has no pool: none was ever whole");
    int rc = *restored ? pieces_restore(&run) : 0;
    if (rc == 0 && !durable->look) rc = others_remove(durable, error);
    if (rc == 0) rc = logs_read(&run);
    if (rc == 0 && !durable->look) rc = life_begin(durable, error);
    if (rc) return rc;
    epochs_open(&durable->epochs, ep->fabric, durable->node_count, last_used(durable) + 1);
    if (!*restored) { /* INV-DURABLE-18: what a pool begins with is no log's, either */
        atomic_store(&durable->epochs.loads, 1);
        atomic_store(&durable->epochs.loads_over, 1);
    }
    return *restored ? replay_pages(co, ep, &durable->replay, &run.shape, error) : 0;
}

int durable_redo(struct coro *co, struct fabric_ep *ep, struct durable *durable, const struct catalog *catalog,
                 struct cellar_error *error)
{
    struct restoring run = {.durable = durable, .ep = ep, .told_ns = fabric_now_ns(ep)};
    durable->replay.progress = redone;
    durable->replay.progress_arg = &run;
    int rc = replay_entries(co, ep, catalog, &durable->replay, error);
    if (rc == 0 && durable->filled >= 0) rc = fill_words(co, ep, catalog, (uint32_t)durable->filled, error);
    if (rc == 0 && durable->db && durable->filled >= 0)
        node_log(&durable->db->opening, CELLAR_LOG_WARNING, "memory node %d was filled from backups", durable->filled);
    if (rc == 0 && durable->db)
        node_log(&durable->db->opening, CELLAR_LOG_INFO, "restored %.100s: %llu pieces, %llu entries, in %.1f s",
                 durable->db->config.durable, (unsigned long long)pieces_of(durable),
                 (unsigned long long)durable->replay.count, (double)(fabric_now_ns(ep) - durable->begun_ns) * 1e-9);
    replay_free(&durable->replay);
    return rc;
}
