/*
 * recover_examine.c - a pool at rest that a process did not close, looked at before the first write: words, logs,
 * tags (INV-RECOVER-11).
 *
 * Values of records are not covered: only what a clean close left has checksums (seal.h). A damaged entry of a log
 * cannot be told from one that was being written.
 */
#include "configuration.h"
#include "recover_internal.h"
#include "recovery_plants.h"

#define AHEAD 16 /* chunks after those handed out that must have no header */
#define TEXT(number) ((unsigned long long)(number))

struct examine {
    struct recover run; /* first */
    struct recover_report report;
    struct members_state members[LAYOUT_MEMBERS_MAX];
};

static int corrupt(struct recover *run, const char *what, uint64_t found)
{
    return err_set(run->error, CELLAR_CORRUPT, "the pool was not closed, and is damaged: %s: %#llx", what, TEXT(found));
}

/* ---- words ---- */

static int word_read(struct recover *run, uint64_t field, uint64_t *word)
{
    struct fabric_op op = fabric_op_read(fabric_addr_of(0, field), &run->memory->heap.word, sizeof *word);
    int rc = recover_batch(run, &op, 1);
    *word = run->memory->heap.word;
    return rc ? err_set(run->error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

static bool is_dirty(const struct examine *examine, uint32_t cn)
{
    return cn < LAYOUT_MEMBERS_MAX && !members_is_free(&examine->members[cn]);
}

static int members_check(struct examine *examine)
{
    struct recover *run = &examine->run;
    uint64_t newest = 0;
    int rc = word_read(run, offsetof(struct superblock_wire, incarnation), &newest);
    for (uint32_t cn = 0; rc == 0 && cn < LAYOUT_MEMBERS_MAX; cn++) {
        struct members_state *now = &examine->members[cn];
        rc = recover_look(run, cn, now);
        if (rc) break;
        bool never = now->state == LAYOUT_MEMBER_NEVER;
        if (never ? members_word(now) != members_word(&(struct members_state){.recoverer = now->recoverer})
                  : now->incarnation == 0 || now->incarnation > newest || cn >= run->catalog->cn_count)
            rc = corrupt(run, "the word of a member that cannot be", members_word(now));
    }
    return rc;
}

/* A memory node of this process is never away; a table that was being made is its maker's. */
static int words_check(struct examine *examine)
{
    struct recover *run = &examine->run;
    struct configuration now;
    uint64_t lock = 0;
    int rc = members_check(examine);
    if (rc == 0) rc = word_read(run, offsetof(struct superblock_wire, catalog_lock), &lock);
    if (rc) return rc;
    if (lock && !is_dirty(examine, lock > LAYOUT_MEMBERS_MAX ? LAYOUT_MEMBERS_MAX : (uint32_t)lock - 1))
        return corrupt(run, "the catalog's lock names no member", lock);
    if (run->catalog->replicas) return 0;
    rc = configuration_look(run->co, run->ep, run->catalog, -1, &now);
    if (rc == CELLAR_CORRUPT || (rc == 0 && (configuration_changing(&now) || now.state != CONFIGURATION_STEADY)))
        return corrupt(run, "the configuration", rc ? 0 : configuration_word(&now));
    return rc ? err_set(run->error, rc, "memory node 0: %s", cellar_strerror(rc)) : 0;
}

/* ---- logs ---- */

static int log_check(struct examine *examine, uint32_t cn)
{
    struct recover *run = &examine->run;
    run->dead = cn;
    run->claim = examine->members[cn];
    int rc = recover_gather(run);
    if (rc == 0 && run->log.alien)
        rc = err_set(
            run->error, CELLAR_CORRUPT,
            "the log of compute node %u is damaged: it holds entries of another coordinator, or of a later life", cn);
    if (rc == 0 && is_dirty(examine, cn)) rc = recover_try(run);
    recover_forget(run);
    return rc;
}

/* ---- runs, and the tags in them ---- */

static int tags_check(struct examine *examine, uint64_t word, uint32_t tag_bits, uint32_t cells, uint64_t flags,
                      const struct heap_walk *walk, uint64_t offset)
{
    uint64_t tags = lockword_mask(tag_bits, lockword_ones(tag_bits, cells));
    bool right = (word & ~(tags | flags)) == 0;
    if (word == 0) return 0;
    for (uint32_t rest = cells; rest && right; rest &= rest - 1) {
        int owner = lockword_owner(word, tag_bits, (uint32_t)__builtin_ctz(rest));
        right = owner < 0 || is_dirty(examine, (uint32_t)owner);
    }
    if (right) return 0;
    const struct table *table = examine->run.catalog->tables[walk->memory->run.table_id - 1];
    return err_set(
        examine->run.error, CELLAR_CORRUPT,
        "INV-STORE-2: table %s, node %u, offset %#llx: a lock word names no member that could hold it: %#llx",
        table->name, walk->node, TEXT(offset), TEXT(word));
}

static int slots_check(struct examine *examine, struct heap_walk *walk)
{
    const struct chunk_wire *header = &walk->memory->run;
    const struct table *table = examine->run.catalog->tables[header->table_id - 1];
    bool record = header->kind == LAYOUT_RUN_RECORDS, head = header->kind == LAYOUT_RUN_BUCKETS;
    uint8_t *slot;
    uint64_t offset;
    int rc;
    while ((rc = heap_slot_next(examine->run.co, walk, &slot, &offset, examine->run.error)) > 0) {
        recover_breathe(&examine->run);
        rc = tags_check(examine, record_word(slot, 0), record ? table->schema.tag_bits : 8,
                        record ? table->schema.all_cells : head, record ? LOCKWORD_FLAGS : 0, walk, offset);
        if (rc) return rc;
    }
    return rc;
}

static int run_check(struct recover *run, struct heap_walk *walk)
{
    struct examine *examine = (struct examine *)(void *)run;
    const struct chunk_wire *header = &walk->memory->run;
    if (header->owner_cn >= run->catalog->cn_count) return corrupt(run, "a run's owner", header->owner_cn);
    if (walk->chunk > walk->chunk_end && walk->chunk <= run->catalog->chunk_count)
        return corrupt(run, "a run ends after the chunks handed out, at", walk->offset);
    if (header->kind == LAYOUT_RUN_LOG) return 0;
    if (catalog_is_going(run->catalog, header->table_id)) return 0;
    if (!run->catalog->tables[header->table_id - 1])
        return corrupt(run, "a run of a table that is not in the catalog", header->table_id);
    return slots_check(examine, walk);
}

/* What the count of chunks has lost would be handed out again. */
static int ahead_check(struct examine *examine, uint32_t node)
{
    struct recover *run = &examine->run;
    struct chunk_wire *header = &run->memory->heap.run;
    uint64_t chunk = 0;
    int rc = catalog_chunks_used(run->co, run->ep, run->catalog, node, &run->memory->heap.word, &chunk);
    for (uint64_t end = chunk + AHEAD; rc == 0 && chunk < end && chunk < run->catalog->chunk_count; chunk++) {
        uint64_t offset = run->catalog->heap_offset + chunk * LAYOUT_CHUNK_BYTES;
        struct fabric_op op = fabric_op_read(fabric_addr_of(node, offset), header, sizeof *header);
        rc = recover_batch(run, &op, 1);
        if (rc == 0 && header->magic) return corrupt(run, "a run after the chunks handed out, at", offset);
    }
    return rc ? err_set(run->error, rc, "memory node %u: %s", node, cellar_strerror(rc)) : 0;
}

int recover_examine(struct coro *co, const struct recover_home *home, struct cellar_error *error)
{
    struct cellar_error unused;
    struct examine examine = {
        .run = {.co = co, .home = home, .ep = home->ep, .catalog = home->catalog, .error = error ? error : &unused}};
    struct recover *run = &examine.run;
    run->report = &examine.report;
    if (PLANT(recover_untried)) return 0;
    int rc = recover_open(run);
    if (rc == 0) rc = words_check(&examine);
    for (uint32_t cn = 0; rc == 0 && cn < home->catalog->cn_count; cn++) rc = log_check(&examine, cn);
    for (uint32_t node = 0; rc == 0 && node < home->catalog->mn_count; node++) {
        rc = recover_walk(run, node, run_check);
        if (rc == 0) rc = ahead_check(&examine, node);
    }
    recover_close(run);
    return rc;
}
