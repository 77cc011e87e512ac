/*
 * test_storage_audit.c - damage of each kind is found by the audit and named, and no damage breaks a reader; locks
 * left, likewise.
 */
#include "bytekey.h"
#include "schemadef.h"
#include "catalog_internal.h"
#include "contract_damage.h"
#include "loader_locks.h"
#include "plant.h"

/* ---- the audit finds damage ---- */

/* A pool with something of everything: two nodes, backups, overflow buckets, a deleted record. */
static const struct table *audited_pool(struct pool *pool, const struct contract_backend *backend)
{
    struct fabric_addr addr;
    pool_open(pool, backend, 2, 1);
    const struct table *table = table_make(pool, "t", 60, 0);
    load_range(pool, table, 0, 400);
    delete_record(pool, table, 3, &addr);
    audit_clean(pool);
    return table;
}

static void damaged_word(struct pool *pool, struct fabric_addr addr, uint64_t word, const char *invariant)
{
    uint64_t before;
    peek(pool, addr, &before, 8);
    poke_word(pool, addr, word);
    FAILS(pool, loader_audit(NULL, pool->loader, &pool->error), CELLAR_CORRUPT, invariant);
    poke_word(pool, addr, before);
    audit_clean(pool);
}

static void damaged_records_are_found(void **state)
{
    struct pool pool;
    struct fabric_addr addr, at;
    struct bucket_wire bucket;
    const struct table *table = audited_pool(&pool, *state);
    const struct schema *schema = &table->schema;
    for (uint64_t key = 10; key < 400; key += 97) {
        find_record(&pool, table, key, &addr, &bucket, &at);
        damaged_word(&pool, addr, 1, "INV-STORE-2");
        damaged_word(&pool, addr, LOCKWORD_DELETED, "INV-STORE-4");
        DAMAGED(&pool, addr, offsetof(struct record_wire, table_id), uint32_t, 2, "INV-STORE-5");
        DAMAGED(&pool, addr, offsetof(struct record_wire, table_id), uint32_t, 0, "INV-STORE-5");
        DAMAGED(&pool, addr, offsetof(struct record_wire, flags), uint32_t, 4, "INV-STORE-4");
        DAMAGED(&pool, addr, offsetof(struct record_wire, flags), uint32_t, LAYOUT_RECORD_DELETED, "INV-STORE-5");
        DAMAGED(&pool, addr, offsetof(struct record_wire, key), uint64_t, key + 1000, "INV-STORE-5");
        for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
            DAMAGED(&pool, addr, offsetof(struct record_wire, en) + 2 * cell, uint16_t, 9, "INV-STORE-3");
            uint32_t last = schema->cells[cell].line_count ? schema->cells[cell].line_count - 1 : 0;
            DAMAGED(&pool, addr, schema->cells[cell].offset + last * LAYOUT_LINE, uint64_t, layout_version_of(9, 1),
                    "INV-STORE-3");
        }
    }
    pool_close(&pool);
}

static void numbers_that_no_key_makes_are_found(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 2, 1);
    const struct table *table = typed_table_make(&pool, "t");
    struct row row = row_of(7);
    MUST(&pool, loader_load(NULL, pool.loader, table, UINT32_MAX, &row, &pool.error));
    audit_clean(&pool);
    MUST(&pool, loader_load(NULL, pool.loader, table, 1ull << 32, &row, &pool.error));
    FAILS(&pool, loader_audit(NULL, pool.loader, &pool.error), CELLAR_CORRUPT, "INV-ROW-1");
    pool_close(&pool);
}

/* A text of at most 4 bytes, and a number: `bytes` is what the record says of it. */
static void packed_keys_that_no_row_makes_are_found(void **state)
{
    static const struct {
        uint8_t packed[11];
        uint8_t bytes;
        bool sane;
    } cases[] = {{{'a', 'b', 0, 0, 0, 2, 0, 0, 0, 7}, 10, true},
                 {{'a', 'b', 'c', 'd', 0, 4, 0, 0, 0, 7}, 10, true},
                 {{'a', 'b', 'c', 0, 0, 2, 0, 0, 0, 7}, 10, false},   /* more than its length */
                 {{'a', 'b', 'c', 'd', 0, 5, 0, 0, 0, 7}, 10, false}, /* a longer one than there may be */
                 {{'a', 'b', 0, 0, 0, 2, 0, 0, 0}, 9, false}};
    const struct cellar_schema_column own[] = {{"(key)", 0, 14, CELLAR_OWN_CELL}, {"n", 16, 8, CELLAR_OWN_CELL}};
    const struct cellar_schema schema = {
        .name = "w", .row_bytes = 24, .columns = own, .column_count = 2, .records_max = 60, .key_bytes = 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pool pool;
        const struct table *table = NULL;
        struct catalog_typing typing = {
            .key = {.count = 2,
                    .parts = {{.name = "text", .type = CELLAR_BYTES, .bytes = 4, .place = 1},
                              {.name = "id", .type = CELLAR_UINT, .bytes = 4, .place = 2}}},
            .types = {CELLAR_NO_TYPE, CELLAR_UINT},
            .places = {0, 3}};
        uint8_t row[24] = {cases[i].bytes};
        memcpy(row + BYTEKEY_HEAD_BYTES, cases[i].packed, 10);
        pool_open(&pool, *state, 2, 1);
        assert_true(rowkey_lay_out(&typing.key));
        MUST(&pool, catalog_typed_open(NULL, pool.ep, pool.catalog, &schema, &typing, &table, &pool.error));
        uint64_t number = bytekey_number(cases[i].packed, cases[i].bytes);
        MUST(&pool, loader_load(NULL, pool.loader, table, number, row, &pool.error));
        if (cases[i].sane)
            audit_clean(&pool);
        else
            FAILS(&pool, loader_audit(NULL, pool.loader, &pool.error), CELLAR_CORRUPT, "INV-ROW-1");
        pool_close(&pool);
    }
}

static void damaged_buckets_are_found(void **state)
{
    struct pool pool;
    struct fabric_addr addr, at;
    struct bucket_wire bucket;
    const struct table *table = audited_pool(&pool, *state);
    uint32_t overflow = 0;
    for (uint64_t key = 10; key < 400; key += 31) {
        find_record(&pool, table, key, &addr, &bucket, &at);
        uint32_t e = 0;
        uint64_t entry = (uint64_t)index_fingerprint(key) << 48 | fabric_addr_offset(addr);
        while (bucket.entries[e] != entry) e++;
        const uint32_t offset = 16 + 8 * e;
        damaged_word(&pool, at, 2, "INV-STORE-2");
        DAMAGED(&pool, at, offset, uint64_t, 0, "INV-STORE-6");                   /* record unreachable */
        DAMAGED(&pool, at, offset, uint64_t, entry ^ 1ull << 50, "INV-STORE-5");  /* another fingerprint */
        DAMAGED(&pool, at, offset, uint64_t, entry + LAYOUT_LINE, "INV-STORE-5"); /* between two slots */
        DAMAGED(&pool, at, offset, uint64_t, entry | 1ull << 47, "INV-STORE-5");  /* outside the node */
        DAMAGED(&pool, at, offset, uint64_t, entry + 8, "INV-STORE-5");           /* not on a line */
        DAMAGED(&pool, at, offset, uint64_t, bucket.entries[e ? 0 : 1] ? bucket.entries[e ? 0 : 1] : entry + 8,
                "INV-STORE-");
        if (index_next(&bucket)) {
            uint64_t self = fabric_addr_offset(at) | INDEX_ENTRY_LINK;
            struct fabric_addr next = fabric_addr_of(fabric_addr_node(at), index_next(&bucket));
            DAMAGED(&pool, at, 56, uint64_t, self, "comes back");
            DAMAGED(&pool, at, 56, uint64_t, fabric_addr_offset(addr) | INDEX_ENTRY_LINK,
                    "INV-STORE-5"); /* leads to a record, whose words are no entries */
            DAMAGED(&pool, at, 56, uint64_t,
                    (fabric_addr_offset(addr) + table->schema.record_bytes - 64) | INDEX_ENTRY_LINK,
                    "INV-STORE-"); /* or to its last line */
            DAMAGED(&pool, at, 56, uint64_t, (pool.catalog->area_bytes - 64) | INDEX_ENTRY_LINK,
                    "INV-STORE-7"); /* unused chunk */
            DAMAGED(&pool, next, 8, uint64_t, 1, "INV-STORE-2");
            damaged_word(&pool, next, 1, "INV-STORE-2");
            overflow++;
        }
    }
    assert_true(overflow > 3);
    pool_close(&pool);
}

struct locks {
    uint32_t count;
    int answer; /* what the reader returns */
    struct loader_lock last;
};

static int lock_noted(void *arg, const struct loader_lock *lock)
{
    struct locks *locks = arg;
    locks->count++;
    locks->last = *lock;
    return locks->answer;
}

/* The one lock that stands in the pool. */
static struct loader_lock only_lock(struct pool *pool)
{
    struct locks locks = {0};
    assert_int_equal(loader_locks(NULL, pool->loader, lock_noted, &locks, &pool->error), 0);
    assert_int_equal(locks.count, 1);
    return locks.last;
}

static void locks_left_are_told(void **state)
{
    struct pool pool;
    struct fabric_addr addr, at;
    struct bucket_wire bucket;
    struct locks locks = {0};
    const struct table *table = audited_pool(&pool, *state);
    const uint32_t bits = table->schema.tag_bits, last = table->schema.cell_count - 1;

    find_record(&pool, table, 10, &addr, &bucket, &at);
    at = index_bucket_addr(&table->index, 10);
    assert_int_equal(loader_locks(NULL, pool.loader, lock_noted, &locks, &pool.error), 0);
    assert_int_equal(locks.count, 0); /* a deleted record's mark is no lock */

    poke_word(&pool, addr, lockword_tags(lockword_ones(bits, 1u << last), 2));
    struct loader_lock lock = only_lock(&pool);
    assert_ptr_equal(lock.table, table);
    assert_int_equal(lock.addr.bits, addr.bits);
    assert_false(lock.bucket);
    assert_int_equal(lock.cell, last);
    assert_int_equal(lock.cn, 2);

    poke_word(&pool, addr, 0);
    poke_word(&pool, at, lockword_tags(1, 5));
    lock = only_lock(&pool);
    assert_int_equal(lock.addr.bits, at.bits);
    assert_true(lock.bucket);
    assert_int_equal(lock.cn, 5);

    poke_word(&pool, addr, lockword_tags(1, 0));
    locks = (struct locks){.answer = CELLAR_CANCELLED};
    assert_int_equal(loader_locks(NULL, pool.loader, lock_noted, &locks, &pool.error), CELLAR_CANCELLED);
    assert_int_equal(locks.count, 1);
    pool_close(&pool);
}

/* An entry that is right in itself, but in another key's chain. */
static void misplaced_entries_are_found(void **state)
{
    struct pool pool;
    struct fabric_addr addr, at, other;
    struct bucket_wire bucket, target;
    uint64_t key = 10, empty = 0;
    const struct table *table = audited_pool(&pool, *state);
    find_record(&pool, table, key, &addr, &bucket, &at);
    uint64_t entry = (uint64_t)index_fingerprint(key) << 48 | fabric_addr_offset(addr);
    /* It moves to the first free place of another chain. */
    uint32_t e = 0, free_place = LAYOUT_BUCKET_ENTRIES;
    while (bucket.entries[e] != entry) e++;
    for (uint64_t k = 11; free_place == LAYOUT_BUCKET_ENTRIES && k < 400; k++) {
        other = index_bucket_addr(&table->index, k);
        if (fabric_addr_node(other) != fabric_addr_node(at) || other.bits == index_bucket_addr(&table->index, key).bits)
            continue;
        do {
            peek(&pool, other, &target, sizeof target);
            for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++)
                if (target.entries[i] == 0) free_place = i;
            other =
                free_place < LAYOUT_BUCKET_ENTRIES ? other : fabric_addr_of(fabric_addr_node(at), index_next(&target));
        } while (free_place == LAYOUT_BUCKET_ENTRIES && fabric_addr_offset(other));
    }
    assert_true(free_place < LAYOUT_BUCKET_ENTRIES);
    for (uint32_t i = 0; i <= 1; i++)
        poke(&pool, catalog_replica(pool.catalog, fabric_addr_plus(at, 16 + 8 * e), i), &empty, 8);
    for (uint32_t i = 0; i <= 1; i++)
        poke(&pool, catalog_replica(pool.catalog, fabric_addr_plus(other, 16 + 8 * free_place), i), &entry, 8);
    FAILS(&pool, loader_audit(NULL, pool.loader, &pool.error), CELLAR_CORRUPT, "an entry in the chain");
    pool_close(&pool);
}

static void unequal_backups_are_found(void **state)
{
    struct pool pool;
    struct fabric_addr addr, at;
    struct bucket_wire bucket;
    const struct table *table = audited_pool(&pool, *state);
    find_record(&pool, table, 50, &addr, &bucket, &at);
    const struct fabric_addr places[] = {
        fabric_addr_plus(addr, 8),
        fabric_addr_plus(addr, table->schema.record_bytes - 8),
        fabric_addr_plus(at, 8),
        fabric_addr_of(0, 40),
        fabric_addr_of(1, 8),
        fabric_addr_of(0, 4096 + 100),
        fabric_addr_of(0, pool.catalog->heap_offset + 16),
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct fabric_addr backup = catalog_replica(pool.catalog, places[i], 1);
        uint8_t byte;
        peek(&pool, backup, &byte, 1);
        byte ^= 16;
        poke(&pool, backup, &byte, 1);
        FAILS(&pool, loader_audit(NULL, pool.loader, &pool.error), CELLAR_CORRUPT, "INV-STORE-8");
        byte ^= 16;
        poke(&pool, backup, &byte, 1);
        audit_clean(&pool);
    }
    /* Lock words of backups mean nothing. */
    poke_word(&pool, catalog_replica(pool.catalog, addr, 1), 5);
    poke_word(&pool, catalog_replica(pool.catalog, at, 1), 5);
    audit_clean(&pool);
    pool_close(&pool);
}

/* Whose WRITEs a backup did not answer gives its claim back, and has written a part of a header to the others. */
static void a_run_is_blank_whatever_was_given_up(void **state)
{
    struct pool pool;
    const struct table *table = audited_pool(&pool, *state);
    uint64_t chunk = chunks_used(&pool, 0), offset;
    struct fabric_addr second = fabric_addr_of(0, pool.catalog->heap_offset + (chunk + 1) * LAYOUT_CHUNK_BYTES + 8);
    struct chunk_wire *run = &catalog_home_of(pool.catalog)->chunk;
    *run = (struct chunk_wire){
        .kind = LAYOUT_RUN_RECORDS, .table_id = table->id, .chunk_count = 3, .slot_bytes = table->schema.record_bytes};
    for (uint32_t i = 0; i < 2; i++) poke_word(&pool, catalog_replica(pool.catalog, second, i), 3);
    assert_int_equal(catalog_run_take(NULL, pool.ep, pool.catalog, 0, run, &offset), 0);
    assert_int_equal(offset, pool.catalog->heap_offset + chunk * LAYOUT_CHUNK_BYTES);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t word;
        peek(&pool, catalog_replica(pool.catalog, second, i), &word, sizeof word);
        assert_int_equal(word, 0);
    }
    audit_clean(&pool);
    pool_close(&pool);
}

/* Posts of one endpoint: which memory nodes a header's first word goes to, and by which batch. */
static struct {
    struct fabric_ops ops;
    const struct fabric_ops *inner;
    uint64_t offset; /* of the header, in the area */
    uint64_t area_bytes;
    uint32_t batches, count, nodes[4], batch[4];
} watched;

static void watching_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    watched.batches++;
    for (uint32_t i = 0; i < count; i++) {
        bool word = ops[i].kind == FABRIC_WRITE && ops[i].size_bytes == 8;
        if (!word || fabric_addr_offset(ops[i].addr) % watched.area_bytes != watched.offset) continue;
        assert_true(watched.count < 4);
        watched.nodes[watched.count] = fabric_addr_node(ops[i].addr);
        watched.batch[watched.count++] = watched.batches;
    }
    watched.inner->post(ep, ops, count, wait);
}

/* Takes a run of node 0: does each replica get its first word by a batch of its own, the primary last? */
static bool shows_in_order(struct pool *pool, const struct table *table)
{
    uint64_t offset;
    struct chunk_wire *run = &catalog_home_of(pool->catalog)->chunk;
    *run = (struct chunk_wire){
        .kind = LAYOUT_RUN_RECORDS, .table_id = table->id, .chunk_count = 1, .slot_bytes = table->schema.record_bytes};
    memset(&watched, 0, sizeof watched);
    watched.inner = pool->ep->ops;
    watched.ops = *pool->ep->ops;
    watched.ops.post = watching_post;
    watched.area_bytes = pool->catalog->area_bytes;
    watched.offset = pool->catalog->heap_offset + chunks_used(pool, 0) * LAYOUT_CHUNK_BYTES;
    pool->ep->ops = &watched.ops;
    int rc = catalog_run_take(NULL, pool->ep, pool->catalog, 0, run, &offset);
    pool->ep->ops = watched.inner;
    assert_int_equal(rc, 0);
    assert_int_equal(offset, watched.offset);
    assert_int_equal(watched.count, 3);
    bool apart = watched.batch[0] < watched.batch[1] && watched.batch[1] < watched.batch[2];
    return apart && watched.nodes[0] == 2 && watched.nodes[1] == 1 && watched.nodes[2] == 0;
}

static void a_run_shows_from_the_last_backup_on(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 3, 2);
    const struct table *table = table_make(&pool, "t", 60, 0);
    assert_true(shows_in_order(&pool, table));
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("run_shown_at_once"));
    assert_false(shows_in_order(&pool, table));
    assert_true(plant_choose(NULL));
#endif
    audit_clean(&pool);
    pool_close(&pool);
}

static void damaged_runs_are_found(void **state)
{
    struct pool pool;
    audited_pool(&pool, *state);
    uint32_t chunks = 0;
    for (uint32_t node = 0; node < 2; node++) {
        uint64_t used = chunks_used(&pool, node);
        for (uint64_t chunk = 0; chunk < used; chunk++, chunks++) {
            struct fabric_addr addr = fabric_addr_of(node, pool.catalog->heap_offset + chunk * LAYOUT_CHUNK_BYTES);
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, magic), uint32_t, 1, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, kind), uint32_t, 9, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, table_id), uint32_t, 0, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, table_id), uint32_t, UINT32_MAX, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, table_id), uint32_t, 2, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, chunk_count), uint32_t, 0, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, chunk_count), uint32_t, UINT32_MAX, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, slot_bytes), uint32_t, 8, "INV-STORE-1");
            DAMAGED(&pool, addr, offsetof(struct chunk_wire, rest), uint64_t, 8, "INV-STORE-1");
        }
    }
    assert_true(chunks > 5);
    pool_close(&pool);
}

/* Any bytes anywhere in the heap: audit, scan, measuring and the next open report or accept them, and never break. */
static void random_damage_never_breaks_a_reader(void **state)
{
    const int rounds = (int)share_rounds(400);
    struct pool pool;
    struct prng prng;
    uint32_t found = 0;
    const struct table *table = audited_pool(&pool, *state);
    prng_seed(&prng, 33);
    for (int i = 0; i < rounds; i++) {
        uint64_t used, words[8], value[8];
        uint32_t node = (uint32_t)prng_below(&prng, 2), calls = 0;
        used = chunks_used(&pool, node);
        uint64_t line = prng_below(&prng, used * LAYOUT_CHUNK_BYTES / LAYOUT_LINE);
        if (prng_below(&prng, 3)) line = line / 1024 * 1024 + prng_below(&prng, 60); /* the busy part of a chunk */
        struct fabric_addr addr = fabric_addr_of(node, pool.catalog->heap_offset + line * LAYOUT_LINE);
        peek(&pool, addr, words, sizeof words);
        memcpy(value, words, sizeof value);
        for (int k = 0; k < 8; k++)
            if (prng_below(&prng, 4) == 0)
                value[k] = prng_below(&prng, 2) ? prng_next(&prng) >> prng_below(&prng, 64)
                                                : words[k] ^ 1ull << prng_below(&prng, 64);
        poke(&pool, addr, value, sizeof value);
        struct cellar_lab_space space;
        struct cellar_lab_pool_space all;
        struct space *again = NULL;
        struct row row = row_of(i);
        int rc = loader_audit(NULL, pool.loader, &pool.error);
        assert_true(rc == 0 || rc == CELLAR_CORRUPT || rc == CELLAR_FULL);
        found += rc != 0;
        (void)!loader_scan(NULL, pool.loader, table, stop_at_3, &(int){0}, &pool.error);
        (void)!loader_space(NULL, pool.loader, table, &space, &pool.error);
        (void)!loader_pool_space(NULL, pool.loader, &all);
        if (space_open(NULL, pool.ep, pool.catalog, 0,
                       &(struct space_find){.parts = 1, .alone = true, .count = LAYOUT_MEMBERS_MAX}, &again,
                       &pool.error) == 0)
            space_free(again);
        /*
         * A load of a key that exists changes nothing, whatever its chain looks like, unless the damage hides the key.
         */
        if (rc == 0)
            assert_int_equal(loader_load(NULL, pool.loader, table, (uint64_t)(i + 4) % 396 + 4, &row, &pool.error),
                             CELLAR_EXISTS);
        assert_int_equal(calls, 0);
        poke(&pool, addr, words, sizeof words);
        audit_clean(&pool);
    }
    assert_true(found > (uint32_t)rounds / 4);
    pool_close(&pool);
}

int main(int argc, char **argv)
{
    const struct contract_entry tests[] = {
        ENTRY(damaged_records_are_found),
        ENTRY(damaged_buckets_are_found),
        ENTRY(locks_left_are_told),
        ENTRY(numbers_that_no_key_makes_are_found),
        ENTRY(packed_keys_that_no_row_makes_are_found),
        ENTRY(misplaced_entries_are_found),
        ENTRY(unequal_backups_are_found),
        ENTRY(damaged_runs_are_found),
        ENTRY(a_run_is_blank_whatever_was_given_up),
        ENTRY(a_run_shows_from_the_last_backup_on),
        ENTRY(random_damage_never_breaks_a_reader),
    };
    return contract_main("storage_audit", tests, sizeof tests / sizeof *tests, argc, argv);
}
