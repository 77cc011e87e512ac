/* failover_words.c - words that WRITEs do not reach, so that backups lack them: counts, members, lock words. */
#include "cluster_plants.h"
#include "failover_internal.h"
#include "must.h"

#include <string.h>

#define WORDS_MAX 8
#define CLEARS_MAX 16 /* pieces of a table of locks, at once */

static struct fabric_addr superblock_at(uint32_t node, uint64_t field) { return fabric_addr_of(node, field); }

static int word_get(struct failover *failover, struct fabric_addr addr, uint8_t flags, uint64_t *word)
{
    struct fabric_op op = fabric_op_faa(addr, word, 0);
    op.flags = flags;
    return recover_batch(&failover->run, &op, 1);
}

/* No other is at it; a CAS whose reply was lost shows that it has run when it runs again. */
static int word_set(struct failover *failover, struct fabric_addr addr, uint8_t flags, uint64_t word)
{
    uint64_t old = 0, seen = 0;
    int rc = word_get(failover, addr, flags, &seen);
    while (rc == 0 && seen != word) {
        struct fabric_op op = fabric_op_cas(addr, &old, seen, word);
        op.flags = flags;
        rc = recover_batch(&failover->run, &op, 1);
        if (rc == 0 && old == seen) break;
        seen = old;
    }
    return rc;
}

static struct fabric_addr member_at(uint32_t node, uint32_t cn, uint64_t field)
{
    return fabric_addr_of(node, LAYOUT_MEMBERS_OFFSET + cn * sizeof(struct member_wire) + field);
}

/* Of a word of a member, the newest copy becomes what is there, unless that is newer: *newest. */
static int member_raise(struct failover *failover, uint32_t cn, uint64_t field, uint64_t *newest)
{
    const struct catalog *catalog = failover->run.catalog;
    uint64_t there = 0;
    int rc = word_get(failover, member_at(0, cn, field), 0, &there);
    *newest = there;
    for (uint32_t node = 1; node <= catalog->replicas && rc == 0; node++) {
        uint64_t word = 0;
        rc = word_get(failover, member_at(node, cn, field), FABRIC_DIRECT, &word);
        if (word > *newest) *newest = word;
    }
    return rc || *newest == there ? rc : word_set(failover, member_at(0, cn, field), 0, *newest);
}

/*
 * Incarnations go on from the largest that any member had: a process that drew a larger one and did not join has used
 * it for nothing.
 */
int failover_members_rebuild(struct failover *failover)
{
    uint64_t incarnation = 0;
    int rc = 0;
    if (failover->now.away != 0) return 0;
    for (uint32_t cn = 0; cn < failover->run.catalog->cn_count && rc == 0; cn++) {
        uint64_t newest = 0, lease = 0;
        rc = member_raise(failover, cn, offsetof(struct member_wire, word), &newest);
        if (rc == 0) rc = member_raise(failover, cn, offsetof(struct member_wire, lease), &lease);
        if (members_state_of(newest).incarnation > incarnation) incarnation = members_state_of(newest).incarnation;
    }
    if (rc == 0)
        rc = word_set(failover, superblock_at(0, offsetof(struct superblock_wire, incarnation)), 0, incarnation);
    if (rc == 0) rc = word_set(failover, superblock_at(0, offsetof(struct superblock_wire, catalog_lock)), 0, 0);
    return rc;
}

/*
 * Up to the end of the last run: a compute node that had taken more had not written its header, and has used it for
 * nothing.
 */
int failover_chunks_rebuild(struct failover *failover)
{
    struct recover *run = &failover->run;
    uint32_t node = (uint32_t)failover->now.away;
    struct fabric_addr next = superblock_at(node, offsetof(struct superblock_wire, chunk_next));
    struct heap_walk walk;
    uint64_t end = 0;
    int rc = word_set(failover, next, 0, run->catalog->chunk_count), more = 1;
    if (rc) return rc;
    uint32_t tries = 0, refusals = 0;
    do rc = heap_walk_begin(run->co, &walk, run->ep, run->catalog, node, &run->memory->heap);
    while (rc && recover_patience(run, rc, &tries, &refusals));
    while (rc == 0 && more) {
        more = heap_walk_next(run->co, &walk, run->error);
        if (more < 0 && !recover_patience(run, more, &tries, &refusals)) rc = more;
        if (more > 0 && walk.chunk <= run->catalog->chunk_count) end = walk.chunk; /* else it is a spare */
    }
    if (PLANT(failover_chunks_lost)) end = 0;
    return rc ? rc : word_set(failover, next, 0, end);
}

static struct fabric_addr clock_at(const struct failover *failover, uint32_t replica)
{
    return catalog_replica(failover->run.catalog, superblock_at(0, offsetof(struct superblock_wire, clock)), replica);
}

/*
 * A backup's clock may lack what was added where its node did not answer: it goes on above all that can have been
 * drawn.
 */
int failover_clock_rebuild(struct failover *failover)
{
    uint64_t word = 0;
    if (failover->now.away != 0 || PLANT(failover_clock_kept)) return 0;
    int rc = word_get(failover, clock_at(failover, 0), 0, &word);
    return rc ? rc : word_set(failover, clock_at(failover, 0), 0, word + LAYOUT_CLOCK_STEP);
}

/* The fresh node has a copy of it, whether it is its own or a backup's. */
static int clock_copy(struct failover *failover)
{
    uint64_t word = 0;
    int rc = word_get(failover, clock_at(failover, 0), 0, &word);
    for (uint32_t i = 0; i <= failover->run.catalog->replicas && rc == 0; i++)
        if (fabric_addr_node(clock_at(failover, i)) == (uint32_t)failover->now.away)
            rc = word_set(failover, clock_at(failover, i), FABRIC_DIRECT, word);
    return rc;
}

static int word_copy(struct failover *failover, struct fabric_addr addr)
{
    uint64_t word = 0;
    int rc = word_get(failover, addr, 0, &word);
    return rc ? rc : word_set(failover, addr, FABRIC_DIRECT, word);
}

/*
 * Those of node 0 are the truth, those of nodes 1 .. f copies: which nodes take over tags, and which stand still, is
 * written nowhere else.
 */
static int members_copy(struct failover *failover)
{
    static const uint64_t fields[] = {offsetof(struct member_wire, word), offsetof(struct member_wire, lease)};
    uint32_t node = (uint32_t)failover->now.away;
    int rc = 0;
    for (uint32_t i = 0; i < 2 * failover->run.catalog->cn_count && rc == 0; i++) {
        uint64_t word = 0;
        rc = word_get(failover, member_at(0, i / 2, fields[i % 2]), 0, &word);
        if (rc == 0) rc = word_set(failover, member_at(node, i / 2, fields[i % 2]), FABRIC_DIRECT, word);
    }
    return rc;
}

int failover_words_copy(struct failover *failover)
{
    const uint64_t fields[] = {offsetof(struct superblock_wire, chunk_next),
                               offsetof(struct superblock_wire, incarnation),
                               offsetof(struct superblock_wire, catalog_lock), offsetof(struct superblock_wire, epoch)};
    uint32_t node = (uint32_t)failover->now.away;
    int rc = 0;
    for (uint32_t i = 0; i < sizeof fields / sizeof *fields && rc == 0; i++)
        rc = word_copy(failover, superblock_at(node, fields[i]));
    if (rc == 0) rc = clock_copy(failover);
    if (rc == 0 && failover->run.catalog->cluster)
        rc = word_set(failover, superblock_at(node, offsetof(struct superblock_wire, cluster)), FABRIC_DIRECT,
                      failover->run.catalog->cluster);
    return rc || node > failover->run.catalog->replicas ? rc : members_copy(failover);
}

/* ---- lock words ---- */

static uint64_t lock_of(const struct chunk_wire *header, const uint8_t *slot)
{
    if (header->kind != LAYOUT_RUN_RECORDS || PLANT(failover_deleted_lost)) return 0;
    return record_word_at_rest(slot);
}

/* Of neighbouring records: a failover has all transactions wait, so their WRITEs go together. */
#define EPOCHS_BATCH 16

struct epochs {
    struct fabric_op ops[EPOCHS_BATCH];
    uint32_t count;
};

/* INV-COMMIT-11: backups' headers lack epoch numbers; the lines have them, and what was due is redone by now. */
static void epochs_rebuild(struct epochs *epochs, const struct schema *schema, struct fabric_addr addr, uint8_t *slot)
{
    const uint32_t first = offsetof(struct record_wire, en);
    if (!record_epochs_settle(schema, slot) || PLANT(failover_en_kept)) return;
    epochs->ops[epochs->count++] = fabric_op_write(fabric_addr_plus(addr, first), slot + first, 2 * schema->cell_count);
}

/* Before the slots that they are written from are read anew. */
static int epochs_post(struct recover *run, const struct heap_walk *walk, struct epochs *epochs)
{
    uint32_t count = epochs->count;
    if (count == 0 || (count < EPOCHS_BATCH && walk->slot != walk->read_end)) return 0;
    epochs->count = 0;
    return recover_batch(run, epochs->ops, count);
}

static int word_rebuild(struct recover *run, const struct chunk_wire *header, struct fabric_addr addr, uint8_t *slot)
{
    uint64_t lock = lock_of(header, slot);
    if (record_word(slot, 0) == lock || PLANT(failover_tags_kept)) return 0;
    failover_of(run)->report->locks_rebuilt++;
    return word_set(failover_of(run), addr, 0, lock);
}

static int run_rebuild(struct recover *run, struct heap_walk *walk)
{
    const struct chunk_wire *header = &walk->memory->run;
    const struct table *table = NULL;
    struct epochs epochs = {.count = 0};
    uint32_t tries = 0, refusals = 0;
    uint8_t *slot;
    uint64_t offset;
    int rc;
    if (header->kind == LAYOUT_RUN_LOG) return 0;
    if (header->kind == LAYOUT_RUN_RECORDS && !(table = run->catalog->tables[header->table_id - 1])) {
        if (catalog_is_going(run->catalog, header->table_id)) return 0; /* nobody uses it any more */
        return err_set(run->error, CELLAR_CORRUPT,
                       "table %u was created after this process opened the pool: a later one must lead this failover",
                       header->table_id);
    }
    while ((rc = heap_slot_next(run->co, walk, &slot, &offset, run->error)) != 0) {
        if (rc < 0 && !recover_patience(run, rc, &tries, &refusals)) return rc;
        if (rc < 0) continue;
        tries = refusals = 0;
        struct fabric_addr addr = fabric_addr_of(walk->node, offset);
        rc = word_rebuild(run, header, addr, slot);
        if (rc == 0 && table) epochs_rebuild(&epochs, &table->schema, addr, slot);
        if (rc == 0) rc = epochs_post(run, walk, &epochs);
        if (rc) return rc;
    }
    must(epochs.count == 0);
    return 0;
}

int failover_locks_rebuild(struct failover *failover)
{
    return recover_walk(&failover->run, (uint32_t)failover->now.away, run_rebuild);
}

/* ---- locks in the pool ---- */

/* Of the memory node at that place, to the end of the table. */
static int table_clear(struct failover *failover, uint32_t place, int32_t away)
{
    struct recover *run = &failover->run;
    uint64_t bytes = run->catalog->heap_offset - LAYOUT_LOCKS_OFFSET;
    struct fabric_addr table = fabric_addr_of(place, LAYOUT_LOCKS_OFFSET);
    int rc = 0;
    if ((int32_t)place == away) table = catalog_replica(run->catalog, table, 1);
    for (uint64_t at = 0; at < bytes && rc == 0;) {
        struct fabric_op ops[CLEARS_MAX];
        uint32_t count = 0;
        for (; count < CLEARS_MAX && at < bytes; count++) {
            uint64_t left = bytes - at, piece = left < sizeof run->memory->piece ? left : sizeof run->memory->piece;
            ops[count] = fabric_op_write(fabric_addr_plus(table, at), run->memory->piece, (uint32_t)piece);
            at += piece;
        }
        rc = recover_batch(run, ops, count);
    }
    return rc;
}

int failover_locks_clear(struct failover *failover)
{
    int32_t away = failover->now.state == CONFIGURATION_STEADY ? -1 : failover->now.away;
    int rc = 0;
    const struct halt_follower *follower = atomic_load(&failover->home->halt->follower);
    if (!follower || !follower->in_pool || PLANT(twopl_lost_locks_kept)) return 0;
    memset(failover->run.memory->piece, 0, sizeof failover->run.memory->piece);
    for (uint32_t place = 0; place < failover->run.catalog->mn_count && rc == 0; place++)
        rc = table_clear(failover, place, away);
    return rc;
}
