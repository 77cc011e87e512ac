/*
 * test_api_space.c - cellar.h: pools and tables that fill up, loading, scanning, measuring, and what the audit finds.
 */
#include "api.h"
#include "numbered.h"

#include "bulk.h"
#include "plant.h"
#include "sessions.h"

#include <inttypes.h>

struct rows {
    struct api_call call;
    uint64_t first;
    uint32_t count;
};

static int insert_rows(struct cellar_txn *txn, struct api_call *call)
{
    const struct rows *args = (const struct rows *)call;
    for (uint32_t i = 0; i < args->count; i++) {
        struct item item = item_of(args->first + i);
        TRY(cellar_proc_insert(txn, call->items, args->first + i, &item));
    }
    return cellar_proc_fetch(txn);
}

static int update_row(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int ref = cellar_proc_access(txn, call->items, ((const struct rows *)call)->first, 0, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &a));
    a += 1;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

static int delete_row(struct cellar_txn *txn, struct api_call *call)
{
    TRY(cellar_proc_access(txn, call->items, ((const struct rows *)call)->first, 0, 0, CELLAR_DELETE));
    return cellar_proc_fetch(txn);
}

static int run_rows(struct api *api, api_body body, uint64_t first, uint32_t count)
{
    struct rows args = {.call = {.body = body, .items = api->items}, .first = first, .count = count};
    return cellar_proc_run(api->db, api->any, &args, NULL, &api->result);
}

static uint64_t sum_to(uint64_t count) { return 3 * count * (count - 1) / 2; }

/* ---- full ---- */

#define TOGETHER 7

/* An interactive transaction that looks for a key, and inserts it where there is no room: its commit ends. */
static int look_and_insert(struct api *api, struct session *session, uint64_t key)
{
    const struct session_options options = {.timeout_ns = 500000000};
    struct item item = item_of(key);
    struct cellar_txn *txn;
    uint64_t a;
    assert_code(session_begin(session, &options, &txn), 0);
    assert_code(cellar_txn_get(txn, api->items, key, ITEM_A, &a), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_insert(txn, api->items, key, &item), 0);
    return session_commit(txn, NULL);
}

static void a_commit_without_room_ends(void **state)
{
    struct api api;
    uint64_t key = 0;
    int rc = 0;
    if (!sessions_possible(*state)) skip();
    api_open_with(&api, *state, (struct engine_config){.pool_bytes = 2 << 20, .coros = 1});
    struct session *session = sessions_opened(&api);
    for (; rc == 0 && key < 100000; key++) rc = look_and_insert(&api, session, key);
    assert_code(rc, CELLAR_FULL);
    assert_code(look_and_insert(&api, session, key), CELLAR_FULL);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("draft_insert_unread"));
    assert_code(look_and_insert(&api, session, key), CELLAR_DEADLINE);
    assert_true(plant_choose(NULL));
#endif
    session_close(session);
    api_audit_clean(&api);
    api_close(&api);
}

static void a_full_pool_loses_nothing(void **state)
{
    struct api api;
    uint64_t rows = 0;
    int rc = 0;
    api_open_with(&api, *state, (struct engine_config){.pool_bytes = 2 << 20, .coros = 1});
    for (; rc == 0 && rows < 100000; rows += rc ? 0 : TOGETHER) rc = run_rows(&api, insert_rows, rows, TOGETHER);
    assert_code(rc, CELLAR_FULL);
    assert_int_equal(api.result.attempts, 1);
    assert_true(rows > 1000);
    for (int again = 0; again < 3; again++) {
        assert_code(run_rows(&api, insert_rows, rows, TOGETHER), CELLAR_FULL);
        struct api_range totals = api_totals(&api);
        assert_int_equal(totals.seen, rows);
        assert_int_equal(totals.sum_a, sum_to(rows));
        api_audit_clean(&api);
    }
    /* Single rows fit until the last slot is taken, and what is there can be worked with. */
    while ((rc = run_rows(&api, insert_rows, rows, 1)) == 0) rows++;
    assert_code(rc, CELLAR_FULL);
    for (uint64_t key = 0; key < 100; key++) assert_code(run_rows(&api, update_row, key, 1), 0);
    assert_code(run_rows(&api, delete_row, rows - 1, 1), 0);
    assert_code(run_rows(&api, insert_rows, rows - 1, 1), 0); /* into the slot that is free again */
    assert_code(run_rows(&api, insert_rows, rows, 1), CELLAR_FULL);
    struct api_range totals = api_totals(&api);
    assert_int_equal(totals.seen, rows);
    assert_int_equal(totals.sum_a, sum_to(rows) + 100);
    struct cellar_schema schema = {"more", sizeof(struct item), item_columns, ITEM_COLUMNS, 100000, 0, 0, 0, 0, 0};
    const struct cellar_table *table;
    FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_FULL, "table more");
    api_audit_clean(&api);
    api_close(&api);
}

static void loading_into_a_full_pool_ends_clearly(void **state)
{
    struct api api;
    api_open_with(&api, *state, (struct engine_config){.pool_bytes = 2 << 20, .coros = 1});
    struct api_range range = {.table = api.items, .count = 100000};
    FAILS(&api.error, api_alone(&api, api_load_job, &range), CELLAR_FULL, "table items");
    assert_true(range.seen > 1000);
    struct api_range totals = api_totals(&api);
    assert_int_equal(totals.seen, range.seen);
    assert_int_equal(totals.sum_a, sum_to(range.seen));
    assert_code(run_rows(&api, update_row, 0, 1), 0);
    api_audit_clean(&api);
    api_close(&api);
}

/* Far more records than records_max: some more go in, then it is full, and stays whole. */
static void a_table_far_beyond_its_size_is_full(void **state)
{
    struct api api;
    uint64_t rows = 0;
    int rc = 0;
    api_open_bare(&api, *state, (struct engine_config){.coros = 1});
    api.items = api_table(&api, "items", 4);
    api_procs(&api);
    for (; rc == 0 && rows < 5000; rows += rc == 0) rc = run_rows(&api, insert_rows, rows, 1);
    assert_code(rc, CELLAR_FULL);
    assert_true(rows > 16);
    assert_code(run_rows(&api, update_row, rows - 1, 1), 0);
    assert_code(run_rows(&api, update_row, 0, 1), 0);
    struct api_range totals = api_totals(&api);
    assert_int_equal(totals.seen, rows);
    assert_int_equal(totals.sum_a, sum_to(rows) + 2);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- loading, scanning, measuring ---- */

static void a_key_is_loaded_once(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 100);
    struct api_range range = {.table = api.items, .first = 42, .count = 1};
    FAILS(&api.error, api_alone(&api, api_load_job, &range), CELLAR_EXISTS, "key 42");
    assert_int_equal(api_totals(&api).seen, 100);
    api_close(&api);
}

struct ending {
    const struct cellar_table *table;
    uint32_t seen, end_at;
    int code;
};

static int end_scan(void *arg, uint64_t key, const void *row)
{
    struct ending *ending = arg;
    (void)key, (void)row;
    return ++ending->seen == ending->end_at ? ending->code : 1;
}

static int ending_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct ending *ending = arg;
    return db_scan(client, ending->table, end_scan, ending, error);
}

static void a_scan_ends_when_it_is_told(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 100);
    struct ending ending = {.table = api.items, .end_at = 3, .code = -4711};
    assert_int_equal(api_alone(&api, ending_job, &ending), -4711);
    assert_int_equal(ending.seen, 3);
    ending = (struct ending){.table = api.items, .end_at = 3, .code = 4711}; /* only negative values end it */
    assert_int_equal(api_alone(&api, ending_job, &ending), 0);
    assert_int_equal(ending.seen, 100);
    ending = (struct ending){.table = api_table(&api, "empty", 100)};
    assert_int_equal(api_alone(&api, ending_job, &ending), 0);
    assert_int_equal(ending.seen, 0);
    api_close(&api);
}

struct measure {
    const struct cellar_table *table;
    struct cellar_lab_space space;
};

static int measure_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct measure *measure = arg;
    return db_space_read(client, measure->table, &measure->space, error);
}

static void memory_is_measured(void **state)
{
    struct api api;
    struct cellar_lab_pool_space before, after;
    api_open_with(&api, *state, (struct engine_config){.mns = 2, .replicas = 1});
    struct measure empty = {.table = api.items};
    MUST(&api.error, api_alone(&api, measure_job, &empty));
    assert_int_equal(empty.space.records, 0);
    cellar_lab_pool_space_read(api.db, &before);
    api_load(&api, 0, 3000);
    for (uint64_t key = 0; key < 100; key++) assert_code(run_rows(&api, delete_row, key, 1), 0);
    struct measure measure = {.table = api.items};
    MUST(&api.error, api_alone(&api, measure_job, &measure));
    assert_int_equal(measure.space.records, 2900);
    assert_int_equal(measure.space.payload_bytes, 2900 * (8 + 8 + 8 + 150 + 4));
    assert_int_equal(measure.space.record_bytes, 2900 * api.items->table->schema.record_bytes);
    assert_true(measure.space.slot_bytes >= 3000ull * api.items->table->schema.record_bytes);
    assert_true(measure.space.index_bytes >= 4000 * 8);
    cellar_lab_pool_space_read(api.db, &after);
    assert_int_equal(after.fixed_bytes, before.fixed_bytes);
    assert_int_equal(after.pool_bytes, 2 * api.config.pool_bytes);
    uint64_t grown = measure.space.slot_bytes + measure.space.index_bytes - empty.space.index_bytes;
    assert_int_equal(after.used_bytes - before.used_bytes, 2 * grown); /* of both replicas */
    assert_true(after.used_bytes <= after.pool_bytes);
    api_close(&api);
}

/* ---- the audit ---- */

enum damage {
    TAG_LEFT,
    DELETED_BIT,
    EPOCH_NUMBER,
    CELL_VERSION,
    TORN_LINE,
    KEY_CHANGED,
    TABLE_CHANGED,
    FLAGS_CHANGED,
    BUCKET_TAG_LEFT,
    ENTRY_LOST,
    ENTRY_ASTRAY,
    ENTRY_TWICE,
    FINGERPRINT,
    DAMAGES
};

static const char *const damage_words[DAMAGES] = {
    [TAG_LEFT] = "INV-STORE-2",      [DELETED_BIT] = "INV-STORE-4",   [EPOCH_NUMBER] = "INV-STORE-3",
    [CELL_VERSION] = "INV-STORE-3",  [TORN_LINE] = "INV-STORE-3",     [KEY_CHANGED] = "INV-STORE-5",
    [TABLE_CHANGED] = "INV-STORE-5", [FLAGS_CHANGED] = "INV-STORE-4", [BUCKET_TAG_LEFT] = "INV-STORE-2",
    [ENTRY_LOST] = "INV-STORE-6",    [ENTRY_ASTRAY] = "INV-STORE-5",  [ENTRY_TWICE] = "INV-STORE-6",
    [FINGERPRINT] = "INV-STORE-5",
};

static void flip(struct api *api, struct fabric_addr addr, uint64_t bits)
{
    uint64_t word;
    api_peek(api, addr, &word, sizeof word);
    word ^= bits;
    api_poke(api, addr, &word, sizeof word);
}

/* Where in the bucket the entry of that record is; and a free one. */
static void entries_of(struct api *api, struct fabric_addr head, struct fabric_addr addr, struct fabric_addr *entry,
                       struct fabric_addr *unused)
{
    struct bucket_wire bucket;
    api_peek(api, head, &bucket, sizeof bucket);
    entry->bits = unused->bits = 0;
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++) {
        struct fabric_addr at = fabric_addr_plus(head, offsetof(struct bucket_wire, entries) + 8ull * i);
        if ((bucket.entries[i] & INDEX_OFFSET_MASK) == fabric_addr_offset(addr))
            *entry = at;
        else if (!bucket.entries[i])
            *unused = at;
    }
    assert_true(entry->bits && unused->bits);
}

/* Does the damage to the record of key 42; a second time undoes it. */
static void damage(struct api *api, enum damage kind, struct fabric_addr head, struct fabric_addr addr)
{
    const struct schema *schema = &api->items->table->schema;
    struct fabric_addr entry = {0}, unused = {0};
    uint64_t word;
    if (kind >= ENTRY_LOST) entries_of(api, head, addr, &entry, &unused);
    switch (kind) {
    case TAG_LEFT:
        api_poke_word(api, addr, lockword_tags(1, 0), api_tag_mask(api->items));
        break;
    case DELETED_BIT:
        api_poke_word(api, addr, LOCKWORD_DELETED, LOCKWORD_DELETED);
        break;
    case EPOCH_NUMBER:
        flip(api, fabric_addr_plus(addr, 24), 1);
        break;
    case CELL_VERSION:
        flip(api, fabric_addr_plus(addr, schema->cells[ITEM_B].offset), 1ull << 50);
        break;
    case TORN_LINE:
        flip(api, fabric_addr_plus(addr, schema->cells[ITEM_TEXT].offset + LAYOUT_LINE), 2);
        break;
    case KEY_CHANGED:
        flip(api, fabric_addr_plus(addr, 8), 1ull << 40);
        break;
    case TABLE_CHANGED:
        flip(api, fabric_addr_plus(addr, 16), 3);
        break;
    case FLAGS_CHANGED:
        flip(api, fabric_addr_plus(addr, 16), 1ull << 36);
        break;
    case BUCKET_TAG_LEFT:
        api_poke_word(api, head, lockword_tags(1, 2), 255);
        break;
    case ENTRY_TWICE:
        api_peek(api, entry, &word, sizeof word);
        api_poke(api, unused, &word, sizeof word);
        break;
    case ENTRY_LOST:
        word = 0;
        api_poke(api, entry, &word, sizeof word);
        break;
    case ENTRY_ASTRAY:
        flip(api, entry, LAYOUT_LINE);
        break;
    case FINGERPRINT:
        flip(api, entry, 1ull << 50);
        break;
    case DAMAGES:
        break;
    }
}

/* Puts back what was there: whole record, whole bucket, both lock words. */
static void repair(struct api *api, struct fabric_addr at, const uint64_t *words, uint32_t count)
{
    api_poke_word(api, at, words[0], UINT64_MAX);
    api_poke(api, fabric_addr_plus(at, 8), words + 1, 8 * (count - 1));
}

static void the_audit_names_what_is_damaged(void **state)
{
    struct api api;
    struct fabric_addr head;
    uint64_t record[128], bucket[8];
    api_open(&api, *state);
    api_load(&api, 0, 500);
    struct fabric_addr addr = api_find(&api, 42, &head);
    uint32_t words = api.items->table->schema.record_bytes / 8;
    assert_true(words <= sizeof record / 8);
    api_peek(&api, addr, record, words * 8);
    api_peek(&api, head, bucket, sizeof bucket);
    for (int kind = 0; kind < DAMAGES; kind++) {
        damage(&api, (enum damage)kind, head, addr);
        api.error = (struct cellar_error){0};
        int rc = api_audit(&api);
        char where[32];
        snprintf(where, sizeof where, "%#" PRIx64, fabric_addr_offset(addr) & ~(uint64_t)0xfff);
        where[strlen(where) - 3] = 0; /* of a record or a bucket nearby: the address up to its page */
        bool named = strstr(api.error.text, where) || kind == BUCKET_TAG_LEFT;
        if (rc != CELLAR_CORRUPT || !strstr(api.error.text, damage_words[kind]) || !named ||
            !strstr(api.error.text, "table items"))
            fail_msg("damage %d: %d, \"%s\"; wanted %s near %s", kind, rc, api.error.text, damage_words[kind], where);
        repair(&api, addr, record, words);
        repair(&api, head, bucket, 8);
        api_audit_clean(&api);
    }
    api_close(&api);
}

static void backups_are_equal_and_audited(void **state)
{
    struct api api;
    struct fabric_addr head;
    api_open_with(&api, *state, (struct engine_config){.mns = 3, .replicas = 2});
    api_load(&api, 0, 300);
    for (uint64_t key = 0; key < 100; key++) {
        assert_code(run_rows(&api, update_row, key, 1), 0);
        assert_code(run_rows(&api, delete_row, key + 100, 1), 0);
        assert_code(run_rows(&api, insert_rows, key + 1000, 1), 0);
    }
    api_audit_clean(&api);
    struct fabric_addr addr = api_find(&api, 42, &head);
    for (uint32_t i = 1; i <= 2; i++) {
        struct fabric_addr backup = catalog_replica(api.db->catalog, addr, i);
        flip(&api, fabric_addr_plus(backup, 96), 1);
        FAILS(&api.error, api_audit(&api), CELLAR_CORRUPT, "INV-STORE-8");
        flip(&api, fabric_addr_plus(backup, 96), 1);
        backup = catalog_replica(api.db->catalog, head, i);
        flip(&api, fabric_addr_plus(backup, 16), 1);
        FAILS(&api.error, api_audit(&api), CELLAR_CORRUPT, "INV-STORE-8");
        flip(&api, fabric_addr_plus(backup, 16), 1);
    }
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(a_full_pool_loses_nothing),
        API_TEST(a_commit_without_room_ends),
        API_TEST(loading_into_a_full_pool_ends_clearly),
        API_TEST(a_table_far_beyond_its_size_is_full),
        API_TEST(a_key_is_loaded_once),
        API_TEST(a_scan_ends_when_it_is_told),
        API_TEST(memory_is_measured),
        API_TEST(the_audit_names_what_is_damaged),
        API_TEST(backups_are_equal_and_audited),
    };
    return api_main("api_space", tests, sizeof tests / sizeof *tests, argc, argv);
}
