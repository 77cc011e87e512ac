/*
 * test_api_large.c - interactive transactions of more records, or more bytes, than a coordinator has memory and log for
 * (docs/large.md): a hundred thousand records, 64 MiB; what is too large all the same, and says so.
 */
#include "sessions.h"
#include "numbered.h"
#include "share.h"

#include "db_index.h"
#include "logseg.h"
#include "rivals.h"
#include "tree.h"

#include <stdlib.h>

#define MANY 100000
#define SOME 3000 /* more than a procedure may have, and more than half a ring */
#define VALUES 64

struct doc {
    uint64_t stamp;
    CELLAR_VALUE(8) text;
};
static const struct cellar_schema_column doc_columns[] = {CELLAR_COLUMN(struct doc, stamp),
                                                          CELLAR_COLUMN(struct doc, text)};
enum { DOC_STAMP, DOC_TEXT };

struct large_place {
    struct api api;
    const struct cellar_table *items, *docs;
    struct session *session;
    struct cellar_txn *txn;
};

/* What takes time, and does not depend on the mode, is asked in one, or of more there than elsewhere. */
static bool in_one_mode(const struct api_variant *variant) { return variant->cc == CELLAR_LAB_CC_CELLAR; }

/* Where extents of the log are used; else an entry has half a ring (docs/large.md). */
static bool has_extents(const struct api_variant *variant) { return !mode_of(variant->cc)->undo; }

/* `log_bytes`: a segment's; 0: as usual. */
static bool bulk_open_with(struct large_place *bulk, const struct api_variant *variant, uint64_t pool_bytes,
                           uint64_t log_bytes)
{
    if (!sessions_possible(variant)) return false;
    struct cellar_schema schema = {.name = "many",
                                   .row_bytes = sizeof(struct item),
                                   .columns = item_columns,
                                   .column_count = ITEM_COLUMNS,
                                   .records_max = 2 * MANY};
    struct cellar_schema docs = {.name = "docs",
                                 .row_bytes = sizeof(struct doc),
                                 .columns = doc_columns,
                                 .column_count = 2,
                                 .records_max = 2 * VALUES,
                                 .variable = CELLAR_BIT(DOC_TEXT),
                                 .long_bytes = 2 * VALUES << 20};
    api_open_with(&bulk->api, variant,
                  (struct engine_config){.pool_bytes = pool_bytes, .log_bytes = log_bytes, .coros = 1});
    MUST(&bulk->api.error, db_table_create(bulk->api.db, &schema, &bulk->items, &bulk->api.error));
    bulk->docs = NULL;
    if (variant->cc != CELLAR_LAB_CC_MOTOR)
        MUST(&bulk->api.error, db_table_create(bulk->api.db, &docs, &bulk->docs, &bulk->api.error));
    bulk->session = sessions_opened(&bulk->api);
    return true;
}

static bool bulk_open(struct large_place *bulk, const struct api_variant *variant, uint64_t pool_bytes)
{
    return bulk_open_with(bulk, variant, pool_bytes, 0);
}

static void bulk_close(struct large_place *bulk)
{
    session_close(bulk->session);
    api_audit_clean(&bulk->api);
    api_close(&bulk->api);
}

static void begin(struct large_place *bulk) { bulk->txn = sessions_begun(bulk->session); }
static void commit(struct large_place *bulk) { assert_code(session_commit(bulk->txn, NULL), 0); }

static void insert_all(struct large_place *bulk, uint64_t count)
{
    begin(bulk);
    for (uint64_t key = 0; key < count; key++) {
        struct item item = item_of(key);
        assert_code(cellar_txn_insert(bulk->txn, bulk->items, key, &item), 0);
    }
}

static void prefetch_all(struct large_place *bulk, uint64_t count)
{
    struct cellar_txn_read *reads = calloc(count, sizeof *reads);
    assert_non_null(reads);
    for (uint64_t key = 0; key < count; key++)
        reads[key] = (struct cellar_txn_read){.table = bulk->items, .key = key, .cells = CELL_A};
    assert_code(cellar_prefetch(bulk->txn, reads, (uint32_t)count), 0);
    free(reads);
}

/* Each has `add` more than item_of says; or is not there. */
static void all_are(struct large_place *bulk, uint64_t count, bool there, uint64_t add)
{
    begin(bulk);
    prefetch_all(bulk, count);
    for (uint64_t key = 0; key < count; key++) {
        uint64_t a = 0;
        int rc = cellar_txn_get(bulk->txn, bulk->items, key, ITEM_A, &a);
        assert_code(rc, there ? 0 : CELLAR_NOT_FOUND);
        if (there) assert_int_equal(a, item_of(key).a + add);
    }
    commit(bulk);
}

/* They come, are changed by what was read of them, and go. */
static void records_come_and_go(struct large_place *bulk, uint64_t count)
{
    insert_all(bulk, count);
    commit(bulk);
    all_are(bulk, count, true, 0);
    begin(bulk);
    prefetch_all(bulk, count);
    for (uint64_t key = 0; key < count; key++) {
        uint64_t a;
        assert_code(cellar_txn_get(bulk->txn, bulk->items, key, ITEM_A, &a), 0);
        a += 7;
        assert_code(cellar_txn_put(bulk->txn, bulk->items, key, ITEM_A, &a), 0);
    }
    commit(bulk);
    all_are(bulk, count, true, 7);
    begin(bulk);
    for (uint64_t key = 0; key < count; key++) assert_code(cellar_txn_delete(bulk->txn, bulk->items, key), 0);
    commit(bulk);
    all_are(bulk, count, false, 0);
    begin(bulk); /* a small one after it */
    struct item item = item_of(1);
    assert_code(cellar_txn_insert(bulk->txn, bulk->items, count, &item), 0);
    commit(bulk);
}

static void a_hundred_thousand_records_commit(void **state)
{
    struct large_place bulk;
    const struct api_variant *variant = *state;
    if (!has_extents(variant) || !bulk_open(&bulk, variant, 1ull << 30)) skip();
    records_come_and_go(&bulk, in_one_mode(variant) ? MANY : MANY / 8);
    bulk_close(&bulk);
}

static void some_thousands_commit(void **state)
{
    struct large_place bulk;
    if (!has_extents(*state) || !bulk_open(&bulk, *state, 96 << 20)) skip();
    records_come_and_go(&bulk, SOME);
    records_come_and_go(&bulk, SOME / 2); /* in the extent that there is */
    bulk_close(&bulk);
}

/* ---- bytes ---- */

static void values_put(struct large_place *bulk, uint8_t *bytes, uint32_t turn)
{
    begin(bulk);
    for (uint64_t key = 0; key < VALUES; key++) {
        struct doc doc = {.stamp = turn};
        memset(bytes, (int)(key + turn), CELLAR_VALUE_BYTES_MAX);
        if (turn == 0) assert_code(cellar_txn_insert(bulk->txn, bulk->docs, key, &doc), 0);
        assert_code(cellar_txn_put_bytes(bulk->txn, bulk->docs, key, DOC_TEXT, bytes, CELLAR_VALUE_BYTES_MAX), 0);
    }
    commit(bulk);
}

static void sixty_four_mebibytes_commit(void **state)
{
    struct large_place bulk;
    const struct api_variant *variant = *state;
    if (!has_extents(variant) || variant->cc == CELLAR_LAB_CC_MOTOR || !bulk_open(&bulk, variant, 1ull << 30)) skip();
    uint8_t *bytes = malloc(CELLAR_VALUE_BYTES_MAX);
    assert_non_null(bytes);
    for (uint32_t turn = 0; turn < 2; turn++) {
        values_put(&bulk, bytes, turn);
        begin(&bulk);
        for (uint64_t key = 0; key < VALUES; key++) {
            size_t count;
            assert_code(cellar_txn_get_bytes(bulk.txn, bulk.docs, key, DOC_TEXT, bytes, CELLAR_VALUE_BYTES_MAX, &count),
                        0);
            assert_int_equal(count, CELLAR_VALUE_BYTES_MAX);
            for (size_t i = 0; i < count; i++)
                if (bytes[i] != (uint8_t)(key + turn)) fail_msg("value %u, byte %zu", (unsigned)key, i);
        }
        commit(&bulk);
    }
    free(bytes);
    bulk_close(&bulk);
}

/* ---- beside others ---- */

/* What another transaction has changed of so many is met, and named. */
static void a_change_of_one_of_many_is_met(void **state)
{
    struct large_place bulk;
    uint64_t a = 5;
    if (!has_extents(*state) || !bulk_open(&bulk, *state, 96 << 20)) skip();
    insert_all(&bulk, SOME);
    commit(&bulk);
    struct session *other = sessions_opened(&bulk.api);
    begin(&bulk);
    prefetch_all(&bulk, SOME);
    struct cellar_txn *txn = sessions_begun(other);
    assert_code(cellar_txn_put(txn, bulk.items, 1234, ITEM_A, &a), 0);
    assert_code(session_commit(txn, NULL), 0);
    for (uint64_t key = 0; key < SOME; key++) assert_code(cellar_txn_put(bulk.txn, bulk.items, key, ITEM_A, &a), 0);
    assert_code(session_commit(bulk.txn, NULL), CELLAR_RETRY);
    sessions_assert_line(CELLAR_RETRY, "many, key 1234", "changed by another");
    session_close(other);
    bulk_close(&bulk);
}

/* ---- limits ---- */

/* With a mebibyte each. */
static void docs_insert(struct large_place *bulk, uint64_t count)
{
    uint8_t *bytes = calloc(1, CELLAR_VALUE_BYTES_MAX);
    assert_non_null(bytes);
    begin(bulk);
    for (uint64_t key = 0; key < count; key++) {
        struct doc doc = {.stamp = key};
        assert_code(cellar_txn_insert(bulk->txn, bulk->docs, key, &doc), 0);
        assert_code(cellar_txn_put_bytes(bulk->txn, bulk->docs, key, DOC_TEXT, bytes, CELLAR_VALUE_BYTES_MAX), 0);
    }
    free(bytes);
}

static void what_is_too_large_says_so(void **state)
{
    struct large_place bulk;
    uint64_t a = 1, key = 0;
    char limit[32];
    int rc = 0;
    if (!bulk_open(&bulk, *state, 96 << 20)) skip();
    begin(&bulk);
    for (; key <= CELLAR_INTERACTIVE_RECORDS_MAX && rc == 0; key++)
        rc = cellar_txn_put(bulk.txn, bulk.items, key, ITEM_A, &a);
    assert_code(rc, CELLAR_TOO_LARGE);
    assert_int_equal(key, CELLAR_INTERACTIVE_RECORDS_MAX + 1);
    sessions_assert_line(CELLAR_TOO_LARGE, "interactive transaction may read or change", "131072");
    assert_code(session_abort(bulk.txn), 0);
    if (!bulk.docs) {
        bulk_close(&bulk);
        return;
    }
    docs_insert(&bulk, 130);
    snprintf(limit, sizeof limit, "%u", CELLAR_INTERACTIVE_LOG_BYTES);
    assert_code(session_commit(bulk.txn, NULL), CELLAR_TOO_LARGE);
    if (has_extents(*state))
        sessions_assert_line(CELLAR_TOO_LARGE, "an interactive transaction's may", limit);
    else
        sessions_assert_line(CELLAR_TOO_LARGE, "half of log_bytes", "65536");
    bulk_close(&bulk);
}

/* A pool without room for the entry. */
static void a_full_pool_says_so(void **state)
{
    struct large_place bulk;
    struct item item = item_of(1);
    const struct api_variant *variant = *state;
    bool possible = has_extents(variant) && variant->cc != CELLAR_LAB_CC_MOTOR;
    if (!possible || !bulk_open(&bulk, variant, 48 << 20)) skip();
    docs_insert(&bulk, 40);
    assert_code(session_commit(bulk.txn, NULL), CELLAR_FULL);
    sessions_assert_line(CELLAR_FULL, "redo-log entry", "");
    begin(&bulk);
    assert_code(cellar_txn_insert(bulk.txn, bulk.items, 1, &item), 0);
    commit(&bulk);
    bulk_close(&bulk);
}

/*
 * What is locked for update commits as the attempt that has locked it: with half a ring of log. On a busy machine the
 * lock's bound may pass before.
 */
static void what_is_locked_keeps_to_the_ring(void **state)
{
    const struct session_options options = {.lock_ns = 1000000000};
    struct large_place bulk;
    uint64_t a;
    if (!has_extents(*state) || !bulk_open(&bulk, *state, 96 << 20)) skip();
    insert_all(&bulk, 10);
    commit(&bulk);
    assert_code(session_begin(bulk.session, &options, &bulk.txn), 0);
    for (uint64_t key = 10; key < SOME; key++) {
        struct item item = item_of(key);
        assert_code(cellar_txn_insert(bulk.txn, bulk.items, key, &item), 0);
    }
    int rc = cellar_txn_get_for_update(bulk.txn, bulk.items, 1, ITEM_A, &a);
    if (rc != CELLAR_RETRY) assert_code(rc, 0);
    rc = session_commit(bulk.txn, NULL);
    if (rc != CELLAR_RETRY) {
        assert_code(rc, CELLAR_TOO_LARGE);
        sessions_assert_line(CELLAR_TOO_LARGE, "half of log_bytes", "65536");
    }
    bulk_close(&bulk);
}

/* ---- with an ordered index ---- */

#define INDEXED 65536
#define SCANNED 2000
#define AWAY (1ull << 32)
#define ATTEMPTS_FEW 4 /* all that the first one lacks is done before the second one; others may come between */

/* Another order than that of the keys, which are below INDEXED. */
static uint64_t a_of(uint64_t key) { return key * 40503 % INDEXED; }

static const struct cellar_index *index_by(struct large_place *bulk, const char *name, const char *column)
{
    const struct cellar_schema_index_column columns[] = {{column, CELLAR_SORT_UNSIGNED, false}};
    const struct cellar_schema_index def = {name, columns, 1, 0};
    const struct cellar_index *index;
    MUST(&bulk->api.error, db_index_create(bulk->api.db, bulk->items, &def, &index, &bulk->api.error));
    return index;
}

static bool indexes_possible(const struct api_variant *variant)
{
    return has_extents(variant) && variant->cc != CELLAR_LAB_CC_MOTOR;
}

/* It has those of the keys below `count`, by what a_of says and `add`, and no other one. */
static void index_has(struct large_place *bulk, const struct cellar_index *index, uint64_t count, uint64_t add)
{
    uint64_t keys[SCANNED], found = 0, last = 0;
    struct item low = {.a = 0};
    struct cellar_range range = {.low = {&low, 1, false}};
    int got;
    do {
        begin(bulk);
        got = cellar_txn_scan(bulk->txn, index, &range, 0, 0, keys, SCANNED);
        assert_true(got >= 0);
        for (int i = 0; i < got; i++) {
            uint64_t a = a_of(keys[i]) + add;
            assert_true(keys[i] < count && (found == 0 || a > last));
            last = a;
            found++;
        }
        commit(bulk);
        low.a = last + 1;
    } while (got == SCANNED);
    assert_int_equal(found, count);
}

static void commit_soon(struct large_place *bulk)
{
    struct cellar_result result;
    assert_code(session_commit(bulk->txn, &result), 0);
    assert_in_range(result.attempts, 1, ATTEMPTS_FEW);
}

static void entries_come(struct large_place *bulk, uint64_t first, uint64_t count)
{
    begin(bulk);
    for (uint64_t key = first; key < first + count; key++) {
        struct item item = item_of(key);
        item.a = a_of(key);
        item.b = a_of(3 * key);
        assert_code(cellar_txn_insert(bulk->txn, bulk->items, key, &item), 0);
    }
    commit_soon(bulk);
}

static void entries_move(struct large_place *bulk, uint64_t count)
{
    begin(bulk);
    for (uint64_t key = 0; key < count; key++) {
        uint64_t a = a_of(key) + AWAY;
        assert_code(cellar_txn_put(bulk->txn, bulk->items, key, ITEM_A, &a), 0);
    }
    commit_soon(bulk);
}

/* Nothing is in it, and a scan of all of it reads a few leaves: those that were emptied are gone. */
static void index_is_small(struct large_place *bulk, const struct cellar_index *index)
{
    struct cellar_lab_stats before, after;
    cellar_lab_stats_read(bulk->api.db, &before);
    index_has(bulk, index, 0, 0);
    cellar_lab_stats_read(bulk->api.db, &after);
    uint64_t reads =
        after.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ] - before.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ];
    assert_in_range(reads, 1, 60);
}

/* They come in an index, all move in it, and go. */
static void entries_come_and_go(struct large_place *bulk, uint64_t count)
{
    const struct cellar_index *index = index_by(bulk, "by_a", "a");
    entries_come(bulk, 0, count);
    index_has(bulk, index, count, 0);
    entries_move(bulk, count);
    index_has(bulk, index, count, AWAY);
    begin(bulk);
    for (uint64_t key = 0; key < count; key++) assert_code(cellar_txn_delete(bulk->txn, bulk->items, key), 0);
    commit_soon(bulk);
    index_is_small(bulk, index);
}

static void many_entries_commit(void **state)
{
    struct large_place bulk;
    const struct api_variant *variant = *state;
    if (!indexes_possible(variant) || !bulk_open(&bulk, variant, 1ull << 30)) skip();
    entries_come_and_go(&bulk, in_one_mode(variant) ? INDEXED : INDEXED / 8);
    bulk_close(&bulk);
}

static void some_entries_commit(void **state)
{
    struct large_place bulk;
    if (!indexes_possible(*state) || !bulk_open(&bulk, *state, 96 << 20)) skip();
    entries_come_and_go(&bulk, SOME);
    bulk_close(&bulk);
}

/* The worker has seen nothing of the index, which was made of what there was: it looks for all ways at once. */
static void entries_move_where_no_way_is_known(void **state)
{
    struct large_place bulk;
    const uint64_t count = INDEXED / 8; /* below a dozen inner nodes */
    if (!in_one_mode(*state) || !bulk_open(&bulk, *state, 96 << 20)) skip();
    entries_come(&bulk, 0, count);
    const struct cellar_index *index = index_by(&bulk, "by_a", "a");
    entries_move(&bulk, count);
    index_has(&bulk, index, count, AWAY);
    bulk_close(&bulk);
}

/*
 * Of a tree that grows everywhere, what the worker has seen is old in many places. Few rows that lie in other leaves of
 * two indexes each are more records than a small transaction has room for.
 */
static void entries_come_where_ways_are_old(void **state)
{
    struct large_place bulk;
    const uint64_t parts = 32, some = 1024;
    if (!in_one_mode(*state) || !bulk_open_with(&bulk, *state, 96 << 20, 2 << 20)) skip();
    const struct cellar_index *index = index_by(&bulk, "by_a", "a");
    (void)index_by(&bulk, "by_b", "b");
    for (uint64_t i = 0; i < parts; i++) entries_come(&bulk, i * some, some);
    index_has(&bulk, index, parts * some, 0);
    begin(&bulk);
    for (uint64_t key = 0; key < parts * some; key += parts + 1)
        assert_code(cellar_txn_delete(bulk.txn, bulk.items, key), 0);
    commit_soon(&bulk);
    bulk_close(&bulk);
}

/*
 * A scan before the commit sees what it will insert. The room that is made for that is another transaction's change of
 * what the scan has noted; it stays for the next try.
 */
static void a_scan_sees_them_before(void **state)
{
    const struct cellar_range all = {.low = {.columns = 0}};
    uint64_t keys[4];
    struct large_place bulk;
    int rc = CELLAR_RETRY;
    if (!indexes_possible(*state) || !bulk_open(&bulk, *state, 96 << 20)) skip();
    const struct cellar_index *index = index_by(&bulk, "by_a", "a");
    for (int turn = 0; turn < 3 && rc == CELLAR_RETRY; turn++) {
        insert_all(&bulk, SOME);
        assert_int_equal(cellar_txn_scan(bulk.txn, index, &all, 0, 0, keys, 4), 4);
        rc = session_commit(bulk.txn, NULL);
    }
    assert_code(rc, 0);
    bulk_close(&bulk);
}

/* More entries come than one transaction may add; nothing of it is done. */
static void entries_have_a_limit(void **state)
{
    static const char *const columns[] = {"a", "b", "n"};
    char name[16];
    struct large_place bulk;
    const struct api_variant *variant = *state;
    if (!in_one_mode(variant) || !bulk_open_with(&bulk, variant, 1ull << 30, 512 << 10)) skip();
    for (uint32_t i = 0; i < CELLAR_INDEXES_MAX; i++) {
        snprintf(name, sizeof name, "by_%u", i);
        (void)index_by(&bulk, name, columns[i % 3]);
    }
    insert_all(&bulk, TREE_CHANGES_MAX / CELLAR_INDEXES_MAX + 1);
    assert_code(session_commit(bulk.txn, NULL), CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "entries of ordered indexes", "524288");
    all_are(&bulk, 3, false, 0);
    bulk_close(&bulk);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(some_thousands_commit),
        API_TEST(a_change_of_one_of_many_is_met),
        API_TEST(some_entries_commit),
        API_TEST_SHM(a_hundred_thousand_records_commit),
        API_TEST_SHM(sixty_four_mebibytes_commit),
        API_TEST_SHM(what_is_too_large_says_so),
        API_TEST_SHM(a_full_pool_says_so),
        API_TEST_SHM(what_is_locked_keeps_to_the_ring),
        API_TEST_SHM(many_entries_commit),
        API_TEST_SHM(entries_move_where_no_way_is_known),
        API_TEST_SHM(entries_come_where_ways_are_old),
        API_TEST_SHM(a_scan_sees_them_before),
        API_TEST_SHM(entries_have_a_limit),
    };
    /* ThreadSanitizer keeps its shadow of what was unmapped: the others would take 23 GiB of it. */
    uint32_t count = share_threads_only() ? 3 : sizeof tests / sizeof *tests;
    return api_main("api_large", tests, count, argc, argv);
}
