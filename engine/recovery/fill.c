/* fill.c - counts, members and lock words of a memory node that was filled from copies. */
#include "fill.h"

#include "batch.h"
#include "heap.h"
#include "record.h"
#include "recovery_plants.h"

#include <stdlib.h>

struct filling {
    struct coro *co;
    struct fabric_ep *ep;
    const struct catalog *catalog;
    uint32_t node;
    struct heap_memory *memory; /* registered */
    struct cellar_error *error;
};

/* ---- words ---- */

static int word_get(struct filling *run, struct fabric_addr addr, uint64_t *word)
{
    return batch_faa(run->co, run->ep, addr, 0, word);
}

/* No other is at it. */
static int word_set(struct filling *run, struct fabric_addr addr, uint64_t word)
{
    uint64_t seen;
    int rc = word_get(run, addr, &seen);
    return rc || seen == word ? rc : batch_faa(run->co, run->ep, addr, word - seen, &seen);
}

static struct fabric_addr own(const struct filling *run, uint64_t field) { return fabric_addr_of(run->node, field); }

/* The largest that nodes [first, end) show but the one that is filled. */
static int newest_of(struct filling *run, uint32_t first, uint32_t end, uint64_t field, uint64_t *newest)
{
    int rc = 0;
    *newest = 0;
    for (uint32_t node = first; node < end && rc == 0; node++) {
        uint64_t word = 0;
        if (node != run->node) rc = word_get(run, fabric_addr_of(node, field), &word);
        if (word > *newest) *newest = word;
    }
    return rc;
}

static int configuration_fill(struct filling *run)
{
    const uint64_t field = offsetof(struct superblock_wire, configuration);
    uint64_t word;
    int rc = newest_of(run, 0, run->catalog->mn_count, field, &word);
    return rc ? rc : word_set(run, own(run, field), word);
}

/* Those of node 0 are the truth, those of nodes 1 .. f copies. */
static int members_fill(struct filling *run)
{
    static const uint64_t fields[] = {offsetof(struct member_wire, word), offsetof(struct member_wire, lease)};
    uint32_t first = run->node ? 0 : 1, end = run->node ? 1 : run->catalog->replicas + 1;
    int rc = 0;
    if (run->node > run->catalog->replicas || PLANT(fill_members_left)) return 0;
    for (uint32_t i = 0; i < 2 * LAYOUT_MEMBERS_MAX && rc == 0; i++) {
        uint64_t word, field = LAYOUT_MEMBERS_OFFSET + i / 2 * sizeof(struct member_wire) + fields[i % 2];
        rc = newest_of(run, first, end, field, &word);
        if (rc == 0) rc = word_set(run, own(run, field), word);
    }
    return rc;
}

/* What creates a table has died with all others. The clock goes on above all that can have been drawn. */
static int first_fill(struct filling *run)
{
    const struct fabric_addr at = own(run, offsetof(struct superblock_wire, clock));
    uint64_t clock = 0;
    if (run->node) return 0;
    int rc = word_set(run, own(run, offsetof(struct superblock_wire, catalog_lock)), 0);
    if (rc == 0) rc = word_get(run, at, &clock);
    for (uint32_t i = 0; i <= run->catalog->replicas && rc == 0; i++)
        rc = word_set(run, catalog_replica(run->catalog, at, i), clock + LAYOUT_CLOCK_STEP);
    return rc;
}

/* Up to the end of the last run: what had taken more and written no header has used it for nothing. */
static int chunks_fill(struct filling *run)
{
    const struct fabric_addr next = own(run, offsetof(struct superblock_wire, chunk_next));
    struct heap_walk walk;
    uint64_t end = 0;
    int more = 1, rc = word_set(run, next, run->catalog->chunk_count);
    if (rc == 0) rc = heap_walk_begin(run->co, &walk, run->ep, run->catalog, run->node, run->memory);
    while (rc == 0 && more > 0) {
        more = heap_walk_next(run->co, &walk, run->error);
        if (more < 0) rc = more;
        if (more > 0 && walk.chunk <= run->catalog->chunk_count) end = walk.chunk; /* else it is a spare */
    }
    if (PLANT(fill_chunks_lost)) end = 0;
    return rc ? rc : word_set(run, next, end);
}

/* ---- slots ---- */

/* INV-COMMIT-11: the lines have the epoch numbers. */
static int epochs_fill(struct filling *run, const struct schema *schema, struct fabric_addr addr, uint8_t *slot)
{
    const uint32_t first = offsetof(struct record_wire, en);
    if (!record_epochs_settle(schema, slot)) return 0;
    struct fabric_op op = fabric_op_write(fabric_addr_plus(addr, first), slot + first, 2 * schema->cell_count);
    return batch_run(run->co, run->ep, &op, 1);
}

static int slot_fill(struct filling *run, const struct table *table, struct fabric_addr addr, uint8_t *slot)
{
    int rc = PLANT(fill_locks_left) ? 0 : word_set(run, addr, table ? record_word_at_rest(slot) : 0);
    return rc || !table ? rc : epochs_fill(run, &table->schema, addr, slot);
}

/* None uses what is of a table that is not there. */
static int run_fill(struct filling *run, struct heap_walk *walk)
{
    const struct chunk_wire header = walk->memory->run;
    const struct table *table = header.kind == LAYOUT_RUN_RECORDS ? run->catalog->tables[header.table_id - 1] : NULL;
    int more = 1, rc = 0;
    if (header.kind == LAYOUT_RUN_LOG || (header.kind == LAYOUT_RUN_RECORDS && !table)) return 0;
    while (rc == 0 && more > 0) {
        uint8_t *slot;
        uint64_t offset;
        more = heap_slot_next(run->co, walk, &slot, &offset, run->error);
        if (more < 0) rc = more;
        if (more > 0) rc = slot_fill(run, table, own(run, offset), slot);
    }
    return rc;
}

static int slots_fill(struct filling *run)
{
    struct heap_walk walk;
    int more = 1, rc = heap_walk_begin(run->co, &walk, run->ep, run->catalog, run->node, run->memory);
    while (rc == 0 && more > 0) {
        more = heap_walk_next(run->co, &walk, run->error);
        if (more < 0) rc = more;
        if (more > 0) rc = run_fill(run, &walk);
    }
    return rc;
}

int fill_words(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t node,
               struct cellar_error *error)
{
    struct filling run = {.co = co, .ep = ep, .catalog = catalog, .node = node, .error = error};
    run.memory = aligned_alloc(LAYOUT_LINE, (sizeof *run.memory + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE);
    int rc = run.memory ? fabric_register_local(ep->fabric, run.memory, sizeof *run.memory) : CELLAR_NOMEM;
    if (rc) {
        free(run.memory);
        return err_set(error, rc, "no memory to fill memory node %u", node);
    }
    rc = configuration_fill(&run);
    if (rc == 0) rc = members_fill(&run);
    if (rc == 0) rc = first_fill(&run);
    if (rc == 0) rc = chunks_fill(&run);
    if (rc == 0) rc = slots_fill(&run);
    fabric_forget_local(ep->fabric, run.memory, sizeof *run.memory);
    free(run.memory);
    return rc && !error->code ? err_set(error, rc, "memory node %u: %s", node, cellar_strerror(rc)) : rc;
}
