/*
 * recover_scrub.c - clearing the dead node's tags: those that its log names first, as others wait for them most; then
 * whatever is left.
 */
#include "recover_internal.h"
#include "recovery_plants.h"

/*
 * Until the word shows none: others take over single ones of them meanwhile, and then what was read is not there any
 * more.
 */
static int tags_clear(struct recover *run, struct fabric_addr addr, uint64_t word, uint32_t tag_bits, uint32_t cells)
{
    uint32_t owned;
    while ((owned = recover_owned(run, word, tag_bits, cells)) != 0) {
        uint64_t ones = lockword_ones(tag_bits, owned), mask = lockword_mask(tag_bits, ones);
        uint64_t tags = lockword_tags(ones, run->dead), old = 0;
        struct fabric_op op = fabric_op_masked_cas(addr, &old, tags, mask, 0, mask);
        int rc = recover_batch(run, &op, 1);
        if (rc) return rc;
        bool cleared = ((old ^ tags) & mask) == 0;
        if (cleared) run->report->tags_cleared += (uint32_t)__builtin_popcount(owned);
        if (cleared || PLANT(scrub_once)) return 0;
        word = old;
    }
    return 0;
}

static int word_clear(struct recover *run, struct fabric_addr addr, uint32_t tag_bits, uint32_t cells)
{
    uint64_t word;
    struct fabric_op op = fabric_op_faa(addr, &word, 0);
    int rc = recover_batch(run, &op, 1);
    return rc ? rc : tags_clear(run, addr, word, tag_bits, cells);
}

/* ---- those that the log names ---- */

/* What the redo of this entry has found plausible. */
static int entry_clear(struct recover *run, const struct log_entry_wire *wire)
{
    int rc = 0;
    for (const struct log_write_wire *write = NULL; rc == 0 && (write = logseg_next_write(wire, write));) {
        struct fabric_addr addr = {write->addr};
        if (write->kind == LAYOUT_LOG_BUCKET || write->kind == LAYOUT_LOG_UNDO_BUCKET) {
            if (write->cell) rc = word_clear(run, addr, 8, 1);
            continue;
        }
        const struct schema *schema = &run->catalog->tables[write->table_id - 1]->schema;
        rc = word_clear(run, addr, schema->tag_bits, schema->all_cells);
    }
    return rc;
}

/* ---- all others ---- */

static int slots_clear(struct recover *run, struct heap_walk *walk, uint32_t tag_bits, uint32_t cells)
{
    uint32_t tries = 0, refusals = 0;
    uint8_t *slot;
    uint64_t offset;
    int rc;
    while ((rc = heap_slot_next(run->co, walk, &slot, &offset, run->error)) != 0) {
        if (rc < 0 && !recover_patience(run, rc, &tries, &refusals)) return rc;
        if (rc < 0) continue;
        tries = refusals = 0;
        recover_breathe(run);
        rc = recover_give_way(run);
        if (rc) return rc;
        rc = tags_clear(run, fabric_addr_of(walk->node, offset), record_word(slot, 0), tag_bits, cells);
        if (rc) return rc;
    }
    return 0;
}

static int run_clear(struct recover *run, struct heap_walk *walk)
{
    const struct chunk_wire *header = &walk->memory->run;
    if (header->kind == LAYOUT_RUN_BUCKETS) return slots_clear(run, walk, 8, 1);
    if (header->kind != LAYOUT_RUN_RECORDS) return 0;
    const struct table *table = run->catalog->tables[header->table_id - 1];
    if (!table && catalog_is_going(run->catalog, header->table_id)) return 0;
    if (!table)
        return err_set(
            run->error, CELLAR_MISMATCH,
            "table %u was created after this process opened the pool: recover from one that was opened later",
            header->table_id);
    return slots_clear(run, walk, table->schema.tag_bits, table->schema.all_cells);
}

int recover_scrub(struct recover *run)
{
    int rc = 0;
    for (uint32_t i = 0; i < run->log.count && rc == 0; i++)
        if (run->log.entries[i].due) rc = entry_clear(run, run->log.entries[i].wire);
    for (uint32_t node = 0; node < run->catalog->mn_count && rc == 0; node++) rc = recover_walk(run, node, run_clear);
    return rc;
}
