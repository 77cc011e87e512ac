/*
 * test_api_values.c - columns of variable length (docs/values.md): what is put, read, replaced and deleted against a
 * plain array; by threads at once; its space; and in builds with planted bugs what an audit says of each.
 */
#include "bulk.h"
#include "numbered.h"
#include "db_drop.h"
#include "docs.h"
#include "plant.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define KEYS 12
#define LONG_MAX 40000 /* of what is drawn */
#define TXNS 120

/* ---- against an array ---- */

struct model {
    bool there[KEYS];
    struct {
        uint64_t bytes, seed; /* seed 0: as doc_of */
    } values[KEYS][DOC_COLUMNS];
};

static uint64_t length_draw(struct prng *prng)
{
    static const uint64_t edges[] = {0,   1,   7,   8,    9,     DOCS_ROOM - 1, DOCS_ROOM, DOCS_ROOM + 1,
                                     400, 416, 417, 1024, 14224, 14248,         14249};
    switch (prng_below(prng, 4)) {
    case 0:
        return edges[prng_below(prng, sizeof edges / sizeof *edges)];
    case 1:
        return prng_below(prng, 64);
    case 2:
        return prng_below(prng, 3000);
    default:
        return prng_below(prng, LONG_MAX);
    }
}

static bool value_is_right(struct docs *docs, struct cellar_txn *txn, const struct model *model, uint32_t i, int column)
{
    size_t bytes = 77;
    uint64_t count = model->values[i][column].bytes, seed = model->values[i][column].seed;
    if (seed)
        docs_fill(docs->want, count, seed);
    else
        memcpy(docs->want, "short", count);
    int rc = cellar_txn_get_bytes(txn, docs->table, i, column, docs->got, count, &bytes);
    if (!model->there[i]) return rc == CELLAR_NOT_FOUND;
    if (rc == CELLAR_TOO_LARGE && bytes > count) return false;
    return rc == 0 && bytes == count && memcmp(docs->want, docs->got, count) == 0;
}

static bool step_is_right(struct docs *docs, struct cellar_txn *txn, struct prng *prng, struct model *model)
{
    uint32_t i = (uint32_t)prng_below(prng, KEYS);
    int column = prng_below(prng, 2) ? DOC_TEXT : DOC_BLOB;
    if (!value_is_right(docs, txn, model, i, column)) return false;
    if (!model->there[i]) {
        struct doc doc = docs_row(i);
        model->there[i] = true;
        model->values[i][DOC_TEXT].bytes = 5;
        model->values[i][DOC_BLOB].bytes = model->values[i][DOC_TEXT].seed = model->values[i][DOC_BLOB].seed = 0;
        return cellar_txn_insert(txn, docs->table, i, &doc) == 0;
    }
    if (prng_below(prng, 6) == 0) {
        model->there[i] = false;
        return cellar_txn_delete(txn, docs->table, i) == 0;
    }
    model->values[i][column].seed = prng_next(prng) | 1;
    if (prng_below(prng, 3)) model->values[i][column].bytes = length_draw(prng);
    docs_fill(docs->want, model->values[i][column].bytes, model->values[i][column].seed);
    return cellar_txn_put_bytes(txn, docs->table, i, column, docs->want, model->values[i][column].bytes) == 0 &&
           value_is_right(docs, txn, model, i, column);
}

static bool txn_is_right(struct docs *docs, struct prng *prng, struct model *model)
{
    struct cellar_txn *txn;
    struct model now = *model, then;
    if (session_begin(docs->session, NULL, &txn)) return false;
    bool right = true;
    for (uint64_t steps = prng_between(prng, 1, 6); steps && right; steps--)
        right = step_is_right(docs, txn, prng, &now);
    if (right && prng_below(prng, 3) == 0) {
        int savepoint = cellar_savepoint(txn);
        then = now;
        for (uint64_t steps = prng_between(prng, 1, 4); steps && right; steps--)
            right = step_is_right(docs, txn, prng, &then);
        right = right && cellar_rollback_to(txn, savepoint) == 0;
    }
    if (!right || prng_below(prng, 5) == 0) return session_abort(txn) == 0 && right;
    *model = now;
    return session_commit(txn, NULL) == 0;
}

static bool docs_agree(struct docs *docs, uint64_t seed)
{
    struct prng prng;
    struct model model = {{false}, {{{0}}}};
    prng_seed(&prng, seed);
    for (int i = 0; i < TXNS; i++)
        if (!txn_is_right(docs, &prng, &model)) return false;
    return api_audit(&docs->api) == 0;
}

static void values_agree_with_an_array(void **state)
{
    struct docs docs;
    if (!docs_open(&docs, *state)) skip();
    if (!docs_agree(&docs, 3)) {
        struct cellar_error error;
        error = *cellar_last_error();
        fail_msg("it does not; the session: %s; the audit: %s", error.text, docs.api.error.text);
    }
    docs_close(&docs);
}

/* ---- at once ---- */

struct thread {
    struct docs *docs;
    uint64_t seed, number;
    int code;
    bool torn;
    uint8_t *bytes;
};

/* All bytes of a value say who wrote it, and so does its length. */
static int turn(struct cellar_txn *txn, void *arg)
{
    struct thread *thread = arg;
    uint64_t key = thread->number % 3;
    size_t bytes;
    int rc = cellar_txn_get_bytes(txn, thread->docs->table, key, DOC_TEXT, thread->bytes, LONG_MAX, &bytes);
    if (rc) return rc;
    bool torn = false;
    for (size_t i = 1; i < bytes; i++) torn = torn || thread->bytes[i] != thread->bytes[0];
    torn = torn || (bytes && bytes % 251 != thread->bytes[0]);
    if (torn && (rc = cellar_check(txn)) != 0) return rc; /* two moments: another try */
    thread->torn = thread->torn || torn;
    if (thread->seed == 0) return 0;
    bytes = (thread->number * 1777 + thread->seed) % LONG_MAX;
    memset(thread->bytes, (int)(bytes % 251), bytes);
    return cellar_txn_put_bytes(txn, thread->docs->table, key, DOC_TEXT, thread->bytes, bytes);
}

static void *thread_run(void *arg)
{
    struct thread *thread = arg;
    struct session *session;
    struct cellar_error error;
    thread->bytes = malloc(LONG_MAX);
    thread->code = thread->bytes ? session_open(thread->docs->api.db, &session, &error) : CELLAR_NOMEM;
    if (thread->code) return NULL;
    for (; thread->number < 150 && thread->code == 0; thread->number++)
        thread->code = session_transact(session, turn, thread);
    session_close(session);
    free(thread->bytes);
    return NULL;
}

static void no_version_is_half_visible(void **state)
{
    struct docs docs;
    pthread_t ids[3];
    struct thread threads[3];
    if (!docs_open(&docs, *state)) skip();
    struct cellar_txn *txn = sessions_begun(docs.session);
    for (uint64_t key = 0; key < 3; key++) {
        struct doc doc = docs_row(key);
        doc.text.bytes = 0;
        assert_code(cellar_txn_insert(txn, docs.table, key, &doc), 0);
    }
    assert_code(session_commit(txn, NULL), 0);
    for (uint32_t i = 0; i < 3; i++) { /* the first one only reads */
        threads[i] = (struct thread){.docs = &docs, .seed = i};
        assert_int_equal(pthread_create(&ids[i], NULL, thread_run, &threads[i]), 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(ids[i], NULL), 0);
        assert_code(threads[i].code, 0);
        assert_false(threads[i].torn);
    }
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

/* What is locked for update is replaced by the transaction that has locked it. */
static void a_locked_value_is_replaced(void **state)
{
    struct docs docs;
    struct doc doc;
    if (!docs_open(&docs, *state)) skip();
    struct cellar_txn *txn = sessions_begun(docs.session);
    doc = docs_row(3);
    assert_code(cellar_txn_insert(txn, docs.table, 3, &doc), 0);
    assert_code(session_commit(txn, NULL), 0);
    for (size_t bytes = 10; bytes < 100000; bytes *= 10) {
        txn = sessions_begun(docs.session);
        assert_code(cellar_txn_get_for_update(txn, docs.table, 3, DOC_TEXT, &doc.text), 0);
        assert_int_equal(doc.text.bytes, bytes == 10 ? 5 : bytes / 10);
        docs_fill(docs.want, bytes, bytes);
        assert_code(cellar_txn_put_bytes(txn, docs.table, 3, DOC_TEXT, docs.want, bytes), 0);
        assert_code(session_commit(txn, NULL), 0);
    }
    txn = sessions_begun(docs.session);
    assert_code(cellar_txn_get_for_update(txn, docs.table, 3, DOC_STAMP, &doc.stamp), 0);
    assert_code(cellar_txn_delete(txn, docs.table, 3), 0);
    assert_code(session_commit(txn, NULL), 0);
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

/* ---- space ---- */

struct measuring {
    const struct cellar_table *table;
    struct cellar_lab_space space;
};

static int space_measure(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct measuring *measuring = arg;
    return db_space_read(client, measuring->table, &measuring->space, error);
}

static struct cellar_lab_space space_of(struct docs *docs)
{
    struct measuring measuring = {.table = docs->table};
    MUST(&docs->api.error, api_alone(&docs->api, space_measure, &measuring));
    return measuring.space;
}

static void text_is(struct docs *docs, uint64_t key, size_t bytes)
{
    size_t have;
    struct cellar_txn *txn = sessions_begun(docs->session);
    docs_fill(docs->want, bytes, bytes);
    assert_code(cellar_txn_get_bytes(txn, docs->table, key, DOC_TEXT, docs->got, bytes, &have), 0);
    assert_int_equal(have, bytes);
    assert_memory_equal(docs->got, docs->want, bytes);
    assert_code(session_commit(txn, NULL), 0);
}

static void doc_delete(struct docs *docs, uint64_t key)
{
    struct cellar_txn *txn = sessions_begun(docs->session);
    assert_code(cellar_txn_delete(txn, docs->table, key), 0);
    assert_code(session_commit(txn, NULL), 0);
}

/* Longest values, what they take, and that what was freed is used again. */
static void a_mebibyte_takes_little_more(void **state)
{
    static const size_t lengths[] = {2500, 4096, 10000, 65536, 300000, CELLAR_VALUE_BYTES_MAX};
    struct docs docs;
    if (!docs_open(&docs, *state)) skip();
    docs_insert(&docs, 1);
    uint64_t empty = space_of(&docs).record_bytes;
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        docs_put(&docs, 1, lengths[i]);
        text_is(&docs, 1, lengths[i]);
        struct cellar_lab_space space = space_of(&docs);
        assert_int_equal(space.records, 1);
        assert_true(space.payload_bytes >= lengths[i]);
        assert_true((double)(space.record_bytes - empty) <= 1.25 * (double)lengths[i]);
    }
    uint64_t slots = space_of(&docs).slot_bytes;
    for (int i = 0; i < 40; i++) {
        doc_delete(&docs, 1);
        docs_insert(&docs, 1);
        docs_put(&docs, 1, CELLAR_VALUE_BYTES_MAX - (size_t)i % 2 * 500000);
    }
    assert_true(space_of(&docs).slot_bytes <= slots + (2 << 20));
    doc_delete(&docs, 1);
    assert_int_equal(space_of(&docs).record_bytes, 0);
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

/* ---- in a file ---- */

static void a_file_keeps_them(void **state)
{
    const struct api_variant *variant = *state;
    struct docs docs;
    char path[64];
    snprintf(path, sizeof path, "/tmp/cellar-values-%d.pool", (int)getpid());
    if (strcmp(variant->fabric, "shm") != 0) skip();
    struct engine_config config = {.pool_path = path};
    if (!docs_open_with(&docs, variant, config)) skip();
    docs_insert(&docs, 5);
    docs_put(&docs, 5, 70000);
    docs_close(&docs);
    assert_true(docs_open_with(&docs, variant, config));
    text_is(&docs, 5, 70000);
    docs_put(&docs, 5, 90000);
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    uint32_t tables = 0;
    for (const struct cellar_table *table = NULL; (table = cellar_schema_next(docs.api.db, table)) != NULL;) tables++;
    assert_int_equal(tables, 2); /* items, docs, and no extents */
    assert_null(cellar_table_find(docs.api.db, "docs//1"));
    cellar_schema_describe(docs.table, &schema, columns);
    assert_int_equal(schema.variable, docs_schema().variable);
    assert_true(schema.long_bytes > 0);
    MUST(&docs.api.error, db_table_create(docs.api.db, &schema, &docs.table, &docs.api.error));
    api_audit_clean(&docs.api);
    docs_close(&docs);
    unlink(path);
}

/* ---- tables that go ---- */

static uint64_t pool_used(struct docs *docs)
{
    struct cellar_lab_pool_space space;
    cellar_lab_pool_space_read(docs->api.db, &space);
    return space.used_bytes;
}

/* Extents go with the table, and their space is used again. */
static void a_table_takes_them_along(void **state)
{
    struct docs docs;
    struct cellar_schema schema = docs_schema();
    if (!docs_open(&docs, *state)) skip();
    uint64_t used = 0;
    for (int i = 0; i < 6; i++) {
        docs_insert(&docs, 1);
        docs_put(&docs, 1, 900000);
        if (i % 2) {
            MUST(&docs.api.error, db_table_truncate(docs.api.db, docs.table, &docs.api.error));
            assert_int_equal(space_of(&docs).record_bytes, 0);
            docs_insert(&docs, 1);
            docs_put(&docs, 1, 900000);
            text_is(&docs, 1, 900000);
        }
        MUST(&docs.api.error, db_table_drop(docs.api.db, docs.table, &docs.api.error));
        api_audit_clean(&docs.api);
        schema.long_bytes = 100000u * (uint64_t)(i + 1); /* other indexes */
        MUST(&docs.api.error, db_table_create(docs.api.db, &schema, &docs.table, &docs.api.error));
        if (i == 1) used = pool_used(&docs);
    }
    assert_true(pool_used(&docs) <= used + (1 << 20));
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

/* ---- with byte strings for keys ---- */

struct note {
    CELLAR_KEY(8) key;
    CELLAR_VALUE(16) text;
};
static const struct cellar_schema_column note_columns[] = {CELLAR_COLUMN(struct note, key),
                                                           CELLAR_COLUMN(struct note, text)};

/* Twins that move into each other's places take their extents along. */
static void twins_keep_their_values(void **state)
{
    struct docs docs;
    const struct cellar_table *notes;
    const struct cellar_schema schema = {.name = "notes",
                                         .row_bytes = sizeof(struct note),
                                         .columns = note_columns,
                                         .column_count = 2,
                                         .records_max = 64,
                                         .key_bytes = 8,
                                         .variable = CELLAR_BIT(1)};
    if (!docs_open(&docs, *state)) skip();
    MUST(&docs.api.error, db_table_create(docs.api.db, &schema, &notes, &docs.api.error));
    for (uint32_t round = 0; round < 3; round++)
        for (uint64_t i = 0; i < 24; i++) {
            uint64_t record;
            struct note note = {.text = {.bytes = 3}};
            struct cellar_txn *txn = sessions_begun(docs.session);
            hash_bits(3);
            assert_code(cellar_key_set(&note.key, sizeof note.key, &i, 1 + i % 8), 0);
            int found = cellar_txn_find(txn, notes, note.key.text, note.key.bytes, &record);
            if (found) assert_code(cellar_txn_add(txn, notes, &note, &record), 0);
            hash_bits(0); /* places differ */
            docs_fill(docs.want, 500 * i, i + 1);
            if (found) {
                assert_code(cellar_txn_put_bytes(txn, notes, record, 1, docs.want, 500 * i), 0);
            } else {
                size_t bytes;
                assert_code(cellar_txn_get_bytes(txn, notes, record, 1, docs.got, 500 * i, &bytes), 0);
                assert_int_equal(bytes, 500 * i);
                assert_memory_equal(docs.got, docs.want, bytes);
                hash_bits(3);
                if (i % 3 == round) assert_code(cellar_txn_remove(txn, notes, record), 0);
                hash_bits(0);
            }
            assert_code(session_commit(txn, NULL), 0);
        }
    hash_bits(3);
    api_audit_clean(&docs.api);
    hash_bits(0);
    docs_close(&docs);
}

/* ---- plants ---- */

#ifdef CELLAR_PLANTS
/* Few places there are: whoever draws one that is taken draws again. */
static void places_that_are_taken_are_drawn_again(void **state)
{
    struct docs docs;
    if (!docs_open(&docs, *state)) skip();
    hash_bits(4);
    for (uint64_t key = 0; key < 8; key++) {
        docs_insert(&docs, key);
        struct cellar_txn *txn;
        int rc = CELLAR_RETRY;
        for (int tries = 0; rc == CELLAR_RETRY && tries < 200; tries++) {
            txn = sessions_begun(docs.session);
            docs_fill(docs.want, 400, key);
            rc = cellar_txn_put_bytes(txn, docs.table, key, DOC_TEXT, docs.want, 400);
            int end = session_commit(txn, NULL);
            if (rc == 0) rc = end;
        }
        assert_code(rc, 0);
    }
    hash_bits(0);
    api_audit_clean(&docs.api);
    docs_close(&docs);
}

static void its_plants_are_met(void **state)
{
    static const char *const plants[] = {"extent_leaked", "extent_freed_early", "extent_written_apart"};
    for (uint32_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct docs docs;
        if (!docs_open(&docs, *state)) skip();
        assert_true(plant_choose(plants[i]));
        bool right = docs_agree(&docs, 5);
        assert_true(plant_choose(NULL));
        if (right) fail_msg("%s: not met", plants[i]);
        docs_close(&docs);
    }
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(values_agree_with_an_array),
        API_TEST_SHM(no_version_is_half_visible),
        API_TEST(a_locked_value_is_replaced),
        API_TEST(a_mebibyte_takes_little_more),
        API_TEST(a_file_keeps_them),
        API_TEST(a_table_takes_them_along),
        API_TEST(twins_keep_their_values),
#ifdef CELLAR_PLANTS
        API_TEST(places_that_are_taken_are_drawn_again),
        API_TEST(its_plants_are_met),
#endif
    };
    return api_main("api_values", tests, sizeof tests / sizeof *tests, argc, argv);
}
