/*
 * durable_agent.c - a memory node's agent: out of the rings, into the journal, epoch by epoch.
 *
 * INV-DURABLE-7: an epoch is closed below the word only, when none in flight is at or below it, and the rings are
 *                emptied after that was seen.
 * INV-DURABLE-19: an epoch's end comes behind the headers of all runs, and the catalog's entries, that its entries
 *                 need: those of the memory node, and those that it backs up. They count from the first epoch on that
 *                 was not closed here: others may have closed less.
 * INV-DURABLE-26: pages that come before an epoch's end were read while no load began, and name how many were over. A
 *                 checkpoint of a later moment has what became of them: then they do not count.
 */
#include "batch.h"
#include "cluster_plants.h"
#include "counter.h"
#include "db.h"
#include "db_plants.h"
#include "durable.h"
#include "durable_plants.h"
#include "lazy.h"
#include "must.h"
#include "vacant.h"

#include <string.h>

#define POLL_NS 200000         /* while an epoch is to be closed, */
#define URGED_POLL_NS 50000    /* ... and a call waits for it: those in flight may have landed */
#define FULL_POLL_NS 10000000  /* while the disk has no space */
#define IDLE_POLL_NS 100000000 /* while there is nothing to do */
#define LINE_READ 64
#define RUN_READ 16384 /* of a ring that has something, at a time */

static uint64_t line_up(uint64_t bytes) { return (bytes + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE; }

/* Of an epoch whose end found no space at first it is here that it is on the disk. */
static void published(struct durable_node *node)
{
    struct epochs *epochs = &node->durable->epochs;
    uint64_t closed = journal_closed(node->journal);
    if (closed <= atomic_load(&epochs->nodes[node->number].published)) return;
    epochs_publish(epochs, node->number, closed);
    counter_add(&node->told.epochs, 1);
}

static void sync_tell(struct durable_node *node, uint64_t before, uint64_t begin_ns)
{
    struct cellar_lab_durable *told = &node->told;
    uint64_t ns = fabric_now_ns(node->agent.ep) - begin_ns;
    counter_add(&told->log_bytes, journal_written(node->journal) - before);
    counter_add(&told->syncs, 1);
    counter_add(&told->sync_ns, ns);
    if (ns > told->sync_most_ns) __atomic_store_n(&told->sync_most_ns, ns, __ATOMIC_RELAXED);
}

static void full_set(struct durable_node *node, bool full)
{
    if (node->full != full) atomic_fetch_add(&node->durable->full, full ? 1u : -1u);
    node->full = full;
}

/* This disk has space, and the others. */
static void go_on(struct durable *durable)
{
    if (atomic_load(&durable->epochs.refused) != CELLAR_FULL || epochs_cramped(&durable->epochs) ||
        atomic_load(&durable->full))
        return;
    atomic_store(&durable->epochs.refused, 0);
    node_log(&durable->db->opening, CELLAR_LOG_WARNING, "the log has space again");
}

/* What the disk refuses ends it all, or, for lack of space, until there is some. */
static int sync_now(struct durable_node *node)
{
    struct cellar_error error = {0};
    uint64_t before = journal_written(node->journal), begin_ns = fabric_now_ns(node->agent.ep);
    int rc = journal_sync(node->journal, &error);
    if (journal_written(node->journal) > before) sync_tell(node, before, begin_ns);
    if (rc == CELLAR_SYSTEM && PLANT(wal_sync_retried)) rc = journal_sync(node->journal, &error);
    atomic_store(&node->group, journal_group(node->journal));
    full_set(node, rc == CELLAR_FULL);
    if (rc == 0) go_on(node->durable);
    if (durable_which(node, rc, &error)) durable_refuse(node->durable, &error);
    if (rc == 0) published(node);
    return rc;
}

static int put(struct durable_node *node, uint64_t epoch, const void *bytes, uint32_t count)
{
    while (!journal_entry(node->journal, epoch, bytes, count)) {
        int rc = sync_now(node);
        if (rc) return rc;
    }
    return 0;
}

/* ---- entries ---- */

/* The copy of a ring that lies on a memory node; -1: none does. */
static int copy_of(const struct epochs_ring *ring, const struct durable_node *node)
{
    uint32_t nodes = node->durable->node_count, behind = (node->number + nodes - ring->node) % nodes;
    return behind < ring->copy_count ? (int)behind : -1;
}

static bool is_next(const struct epochs_ring *ring, uint32_t copy, const struct log_entry_wire *entry)
{
    return entry->magic == LAYOUT_LOG_MAGIC && entry->cn == ring->cn && entry->coordinator == ring->coordinator &&
           entry->incarnation == (uint32_t)ring->incarnation &&
           entry->sequence == atomic_load_explicit(&ring->copies[copy].taken, memory_order_relaxed) + 1;
}

/* Are they the entry's first bytes? Else it is not there yet. */
static bool begins(const struct epochs_ring *ring, uint32_t copy, const struct log_entry_wire *entry, uint64_t room)
{
    return is_next(ring, copy, entry) && entry->bytes >= LINE_READ && entry->bytes <= room;
}

/* The journal has it. */
static void entry_taken(struct durable_node *node, struct epochs_copy *from, const struct log_entry_wire *entry)
{
    counter_add(&node->told.entries, 1);
    counter_add(&node->told.entry_bytes, entry->bytes);
    atomic_store_explicit(&from->taken, entry->sequence, memory_order_release);
}

/* Entries one behind the other from that offset on, as far as they are whole: how many were taken. */
static int run_take(struct coro *co, struct durable_thread *thread, struct epochs_ring *ring, uint32_t copy,
                    uint64_t at)
{
    const struct log_entry_wire *entry = (const struct log_entry_wire *)(const void *)thread->piece;
    struct epochs_copy *from = &ring->copies[copy];
    struct fabric_addr addr = fabric_addr_plus(from->addr, at);
    uint64_t room = ring->bytes - at, read = RUN_READ;
    int taken = 0, rc = room < LINE_READ ? 0 : batch_read(co, thread->ep, addr, thread->piece, LINE_READ);
    if (rc || room < LINE_READ || !begins(ring, copy, entry, room)) return rc;
    if (read < entry->bytes) read = entry->bytes;
    if (read > room) read = room;
    rc = batch_read(co, thread->ep, addr, thread->piece, (uint32_t)read);
    for (uint64_t next = 0; rc == 0 && next + LINE_READ <= read; next = from->tail - at) {
        entry = (const struct log_entry_wire *)(const void *)(thread->piece + next);
        if (!begins(ring, copy, entry, read - next) || !logseg_parse(thread->piece + next, read - next)) break;
        rc = put(thread->node, entry->epoch, entry, entry->bytes);
        if (rc) break;
        from->tail = at + next + line_up(entry->bytes);
        entry_taken(thread->node, from, entry);
        taken++;
    }
    return rc ? rc : taken;
}

/* ---- entries in extents (docs/large.md) ---- */

/* False: it may still be on its way, which takes long. It is not read again and again meanwhile. */
static bool has_landed(const struct epochs_ring *ring, uint64_t epoch)
{
    uint64_t flight = atomic_load_explicit(&ring->flight, memory_order_acquire);
    return !flight || epoch < flight;
}

static int whole_read(struct coro *co, struct durable_thread *thread, struct fabric_addr addr, uint8_t *to,
                      uint32_t bytes)
{
    int rc = 0;
    for (uint32_t at = 0, part; at < bytes && rc == 0; at += part) {
        part = bytes - at < CHECKPOINT_PIECE ? bytes - at : CHECKPOINT_PIECE;
        rc = batch_read(co, thread->ep, fabric_addr_plus(addr, at), to + at, part);
    }
    return rc;
}

/* An entry of so many bytes, into that memory: 1; 0: it is not whole yet. */
static int whole_take(struct coro *co, struct durable_thread *thread, struct epochs_copy *from, struct fabric_addr addr,
                      uint8_t *memory, uint32_t bytes)
{
    const struct log_entry_wire *entry = (const struct log_entry_wire *)(const void *)memory;
    int rc = whole_read(co, thread, addr, memory, bytes);
    if (rc) return rc;
    if (entry->bytes != bytes || (!logseg_parse(memory, bytes) && !PLANT(durable_extent_unwhole))) return 0;
    rc = put(thread->node, entry->epoch, memory, bytes);
    if (rc == 0) entry_taken(thread->node, from, entry);
    return rc ? rc : 1;
}

/* The entry in the ring's extent, if it is the next one: as whole_take. Without memory no epoch ends before it. */
static int extent_take(struct coro *co, struct durable_thread *thread, struct epochs_ring *ring, uint32_t copy)
{
    const struct log_entry_wire *entry = (const struct log_entry_wire *)(const void *)thread->piece;
    struct fabric *fabric = thread->ep->fabric;
    struct fabric_addr addr = {atomic_load_explicit(&ring->extent, memory_order_acquire)};
    uint64_t room = atomic_load_explicit(&ring->extent_bytes, memory_order_relaxed);
    if (!addr.bits) return 0;
    addr = catalog_replica(thread->durable->db->catalog, addr, copy);
    int rc = batch_read(co, thread->ep, addr, thread->piece, LINE_READ);
    if (rc || !begins(ring, copy, entry, room)) return rc;
    if (!has_landed(ring, entry->epoch) && !PLANT(durable_extent_unwhole)) return 0;
    uint32_t bytes = entry->bytes;
    uint8_t *memory = lazy_map(bytes);
    if (!memory) return CELLAR_NOMEM;
    rc = fabric_register_local(fabric, memory, bytes);
    if (rc == 0) {
        rc = whole_take(co, thread, &ring->copies[copy], addr, memory, bytes);
        fabric_forget_local(fabric, memory, bytes);
    }
    lazy_unmap(memory, bytes);
    return rc;
}

/* ---- rings ---- */

static int ring_take(struct coro *co, struct durable_thread *thread, struct epochs_ring *ring)
{
    uint64_t half = logseg_half(ring->bytes);
    int copy = copy_of(ring, thread->node), taken = copy >= 0;
    while (taken > 0) {
        uint64_t tail = ring->copies[copy].tail;
        taken = tail < 2 * half ? run_take(co, thread, ring, (uint32_t)copy, tail) : 0;
        if (taken == 0) taken = run_take(co, thread, ring, (uint32_t)copy, tail < half ? half : 0);
        if (taken == 0 && !PLANT(durable_extent_unread)) taken = extent_take(co, thread, ring, (uint32_t)copy);
    }
    return taken;
}

static int rings_take(struct coro *co, struct durable_thread *thread)
{
    int rc = 0;
    struct epochs_ring *ring = atomic_load(&thread->durable->epochs.rings);
    for (; ring && rc == 0; ring = ring->next) rc = ring_take(co, thread, ring);
    return rc;
}

/* ---- pages: INV-DURABLE-19 ---- */

static int page_put(struct coro *co, struct durable_thread *thread, uint64_t epoch, uint64_t offset, uint32_t bytes)
{
    struct replay_page *page = (struct replay_page *)(void *)thread->piece;
    *page = (struct replay_page){
        .magic = REPLAY_PAGE_MAGIC, .bytes = bytes, .offset = offset, .loads = thread->node->loads};
    int rc = batch_read(co, thread->ep, fabric_addr_of(thread->node->number, offset), page + 1, bytes);
    return rc ? rc : put(thread->node, epoch, page, (uint32_t)sizeof *page + bytes);
}

/*
 * Of runs that were taken since, at the place whose bytes this area has. Where a header is not there yet no entry can
 * lead to that run, but to runs behind it: next time it goes on from there once more. Vacant chunks that became a run
 * may be anywhere.
 */
static int runs_put(struct coro *co, struct durable_thread *thread, uint64_t epoch, uint32_t place, uint64_t base,
                    struct durable_area *area)
{
    const struct catalog *catalog = thread->durable->db->catalog;
    uint64_t count, *word = (uint64_t *)(void *)thread->piece;
    bool gap = false;
    uint64_t vacant = vacant_runs(catalog);
    if (vacant != area->vacant) area->chunks = 0;
    area->vacant = vacant;
    int rc = catalog_chunks_used(co, thread->ep, catalog, place, word, &count);
    for (uint64_t chunk = area->chunks, runs = 1; chunk < count && rc == 0; chunk += runs) {
        const struct chunk_wire *run =
            (const struct chunk_wire *)(const void *)(thread->piece + sizeof(struct replay_page));
        uint64_t offset = base + catalog->heap_offset + chunk * LAYOUT_CHUNK_BYTES;
        rc = batch_read(co, thread->ep, fabric_addr_of(thread->node->number, offset),
                        thread->piece + sizeof(struct replay_page), sizeof *run);
        bool there = run->magic == LAYOUT_CHUNK_MAGIC, idle = there && catalog_run_is_idle(run);
        runs = there && !idle && run->chunk_count ? run->chunk_count : 1;
        if (rc == 0 && there && !idle && !PLANT(durable_runs_unlogged))
            rc = page_put(co, thread, epoch, offset, sizeof(struct chunk_wire));
        gap = gap || !there;
        if (!gap && rc == 0) area->chunks = chunk + runs;
    }
    return rc;
}

static int catalog_put(struct coro *co, struct durable_thread *thread, uint64_t epoch, uint64_t base,
                       struct durable_page *pages)
{
    uint64_t *word = (uint64_t *)(void *)thread->piece;
    int rc = 0;
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX && rc == 0; i++) {
        uint64_t end = (LAYOUT_CATALOG_TABLES_MAX - i) * (uint64_t)LAYOUT_CATALOG_ENTRY_BYTES;
        struct fabric_addr at = fabric_addr_of(thread->node->number, base + LAYOUT_MEMBERS_OFFSET - end);
        struct fabric_op ops[2] = {
            fabric_op_read(at, word, 16),
            fabric_op_read(fabric_addr_plus(at, offsetof(struct catalog_entry_wire, state)), word + 2, 8)};
        rc = batch_run(co, thread->ep, ops, 2);
        struct durable_page now = {word[0], word[1], word[2]};
        /* What comes or goes without a transaction is in the checkpoint that follows. */
        bool comes = now.state == LAYOUT_TABLE_MAKING || now.state == LAYOUT_TABLE_BUILDING;
        bool there = now.id && (comes || now.state == LAYOUT_TABLE_WHOLE);
        if (rc || !there || memcmp(&now, &pages[i], sizeof now) == 0) continue;
        pages[i] = now;
        rc = page_put(co, thread, epoch, fabric_addr_offset(at), LAYOUT_CATALOG_ENTRY_BYTES);
    }
    return rc;
}

/* What was logged before may be of something half done, or no more: all is logged once more. */
static void loads_see(struct durable_node *node, uint64_t loads)
{
    if (node->loads == loads) return;
    memset(node->areas, 0, (node->durable->db->catalog->replicas + 1) * sizeof *node->areas);
    node->loads = loads;
}

/* Of what it has itself, and of what it backs up. */
static int pages_put(struct coro *co, struct durable_thread *thread, uint64_t epoch, uint64_t loads)
{
    const struct catalog *catalog = thread->durable->db->catalog;
    int rc = 0;
    loads_see(thread->node, loads);
    for (uint32_t i = 0; i <= catalog->replicas && rc == 0; i++) {
        uint32_t place = (thread->node->number + catalog->mn_count - i) % catalog->mn_count;
        struct durable_area *area = &thread->node->areas[i];
        rc = runs_put(co, thread, epoch, place, i * catalog->area_bytes, area);
        if (rc == 0 && place == 0) rc = catalog_put(co, thread, epoch, i * catalog->area_bytes, area->pages);
    }
    return rc;
}

/* ---- epochs ---- */

/* INV-DURABLE-18: a checkpoint first, if there was a load; no epoch ends before the one that makes it count. */
static bool loads_wait(struct epochs *epochs, uint64_t loads, uint64_t epoch)
{
    if (PLANT(durable_loads_ignored)) return false;
    if (loads == atomic_load(&epochs->loads_covered))
        return epoch < atomic_load(&epochs->loads_epoch) && !PLANT(durable_loads_written);
    if (atomic_load(&epochs->asked) == atomic_load(&epochs->checkpoints)) epochs_ask(epochs);
    return true;
}

/* So many loads had begun before, all of which were over. */
static int epoch_close(struct coro *co, struct durable_thread *thread, uint64_t epoch, uint64_t loads)
{
    struct durable_node *node = thread->node;
    struct epochs *epochs = &thread->durable->epochs;
    int rc = PLANT(durable_rings_first) ? 0 : rings_take(co, thread);
    /* The cut may be at any epoch since its last one, if another memory node's log ends there: INV-DURABLE-19. */
    uint64_t first = PLANT(durable_pages_late) ? epoch : journal_closed(node->journal) + 1;
    if (rc == 0) rc = pages_put(co, thread, first, loads);
    if (rc == 0 && atomic_load(&epochs->loads) != loads && !PLANT(durable_pages_torn)) return 0; /* INV-DURABLE-26 */
    uint64_t known = atomic_load(&epochs->durable); /* of this life; before its first epoch, the cut */
    if (known < epochs->first) known = thread->durable->cut.epoch;
    while (rc == 0 && !journal_close_epoch(node->journal, epoch, known)) rc = sync_now(node);
    if (rc == 0 && PLANT(durable_acked_early)) epochs_publish(epochs, node->number, epoch);
    return rc ? rc : sync_now(node);
}

/* The word moves on when its epoch is in use, and a call waits for that, or it was in use for so long. */
static void word_raise(struct durable_thread *thread)
{
    struct durable *durable = thread->durable;
    struct epochs *epochs = &durable->epochs;
    uint64_t word = atomic_load(&epochs->word), now_ns = fabric_now_ns(thread->ep);
    bool urged = atomic_load(&epochs->urged) >= word,
         is_long = now_ns - atomic_load(&durable->raised_ns) >= durable->db->config.epoch_ns;
    if (atomic_load(&epochs->drawn) < word || (!urged && !is_long)) return;
    if (atomic_compare_exchange_strong(&epochs->word, &word, word + 1)) atomic_store(&durable->raised_ns, now_ns);
}

/* A checkpoint frees a log that is full, and transactions that would log more wait for that. */
static void log_bound(struct durable_node *node)
{
    struct durable *durable = node->durable;
    struct epochs *epochs = &durable->epochs;
    uint32_t files = journal_files(node->journal), most = durable->files;
    uint64_t below = atomic_exchange(&node->below, 0);
    struct cellar_error error = {0};
    int rc = below ? journal_free(node->journal, below, &error) : 0;
    if (durable_which(node, rc, &error)) durable_refuse(durable, &error);
    if (below) files = journal_files(node->journal);
    bool idle = atomic_load(&epochs->asked) == atomic_load(&epochs->checkpoints);
    if (files > most / 2 && idle) epochs_ask(epochs);
    bool crowded = files > most / 4 * 3;
    if (crowded != node->crowded) atomic_fetch_add(&epochs->crowded, crowded ? 1u : -1u);
    node->crowded = crowded;
}

static void step(struct coro *co, struct durable_thread *thread)
{
    struct durable_node *node = thread->node;
    struct epochs *epochs = &thread->durable->epochs;
    if (atomic_load(&epochs->refused) == CELLAR_SYSTEM) return;
    log_bound(node);
    int rc = node->full || atomic_load(&epochs->refused) ? sync_now(node) : 0;
    if (rc == 0) atomic_store(&node->closing, 0); /* an end that waited for space is on the disk */
    word_raise(thread);
    if (rc == 0) rc = rings_take(co, thread);
    uint64_t epoch = atomic_load(&epochs->drawn), word = atomic_load(&epochs->word);
    if (epoch >= word) epoch = PLANT(epochs_closed_at_word) ? word : word - 1;
    uint64_t ending = atomic_load(&epochs->ending); /* after the word */
    if (ending && epoch >= ending) epoch = ending - 1;
    if (rc || epoch <= journal_closed(node->journal) || epoch <= atomic_load(&epochs->nodes[node->number].published))
        return;
    atomic_store(&node->closing, epoch); /* before it looks what was loaded: INV-DURABLE-27 */
    uint64_t loads = atomic_load(&epochs->loads);
    if (epochs_settled(epochs, epoch) && !loads_wait(epochs, loads, epoch)) rc = epoch_close(co, thread, epoch, loads);
    if (rc == 0) atomic_store(&node->closing, 0); /* else its end may wait for space */
}

/* Until it looks again, if it is not called. */
static uint64_t rest_ns(const struct durable_node *node)
{
    const struct epochs *epochs = &node->durable->epochs;
    uint64_t part_ns = node->durable->db->config.epoch_ns / 8;
    uint64_t published = atomic_load(&epochs->nodes[node->number].published);
    if (atomic_load(&epochs->refused) == CELLAR_FULL) return FULL_POLL_NS;
    if (atomic_load(&epochs->refused) || atomic_load(&epochs->drawn) <= published) return IDLE_POLL_NS;
    if (atomic_load(&epochs->urged) > published) return URGED_POLL_NS;
    return part_ns < POLL_NS ? POLL_NS : part_ns;
}

void durable_agent_main(struct coro *co, void *arg)
{
    struct durable_thread *thread = arg;
    struct epochs *epochs = &thread->durable->epochs;
    while (!atomic_load(&thread->stop)) {
        step(co, thread);
        epochs_tell(epochs, &thread->sched);
        if (thread->lent && atomic_load(&thread->sleeper.called)) sched_yield_task(co, &thread->sched, &thread->task);
        epochs_rest(co, &thread->sleeper, rest_ns(thread->node));
    }
    if (atomic_load(&epochs->refused) != CELLAR_SYSTEM) log_bound(thread->node); /* of the last checkpoint */
    epochs_tell(epochs, &thread->sched);
    atomic_store(&thread->over, true);
    sched_park(co, &thread->task);
}
