/*
 * test_api_keys.c - tables whose keys are byte strings (docs/keys.md): what is added, found and removed against a plain
 * array, in sessions that come between each other; in builds with planted bugs also by hashes of four bits, so that
 * most keys have twins.
 */
#include "sessions.h"
#include "numbered.h"

#include "bytekey.h"
#include "db_index.h"
#include "plant.h"
#include "prng.h"
#include "rivals.h"

#include <pthread.h>
#include <stdlib.h>

#define KEYS 40
#define KEY_MAX 24
#define TXNS 250

struct word {
    CELLAR_KEY(KEY_MAX) key;
    uint64_t count;
    char note[70];
};
static const struct cellar_schema_column word_columns[] = {
    CELLAR_COLUMN(struct word, key), CELLAR_COLUMN(struct word, count), CELLAR_COLUMN(struct word, note)};
enum { WORD_KEY, WORD_COUNT, WORD_NOTE, WORD_COLUMNS };

struct words {
    struct api api;
    const struct cellar_table *table;
    struct session *session;
};

static struct cellar_schema words_schema(void)
{
    return (struct cellar_schema){.name = "words",
                                  .row_bytes = sizeof(struct word),
                                  .columns = word_columns,
                                  .column_count = WORD_COLUMNS,
                                  .records_max = 500,
                                  .key_bytes = KEY_MAX};
}

static bool words_open(struct words *words, const struct api_variant *variant)
{
    if (!sessions_possible(variant)) return false;
    struct cellar_schema schema = words_schema();
    api_open_with(&words->api, variant, (struct engine_config){.log_bytes = 1 << 20, .pool_bytes = 32 << 20});
    MUST(&words->api.error, db_table_create(words->api.db, &schema, &words->table, &words->api.error));
    words->session = sessions_opened(&words->api);
    return true;
}

static void words_close(struct words *words)
{
    session_close(words->session);
    api_close(&words->api);
    hash_bits(0);
}

/* Key number i: of 1 to KEY_MAX bytes, zeros among them; some are the beginning of others. */
static uint32_t key_of(uint32_t i, uint8_t *key)
{
    uint32_t bytes = 1 + i % KEY_MAX;
    memset(key, i % 3 ? 'a' : 0, KEY_MAX);
    key[0] = (uint8_t)(i / KEY_MAX);
    return bytes;
}

static struct word word_of(uint32_t i, uint64_t count)
{
    struct word word = {.count = count};
    uint8_t key[KEY_MAX];
    uint32_t bytes = key_of(i, key);
    if (cellar_key_set(&word.key, sizeof word.key, key, bytes)) abort();
    snprintf(word.note, sizeof word.note, "note %u of %llu", i, (unsigned long long)count);
    word.key.twins = 77; /* no affair of the caller's */
    return word;
}

/* ---- against an array ---- */

struct model {
    bool there[KEYS];
    uint64_t counts[KEYS];
};

/* One call on a drawn key says what the array says. */
static bool step_is_right(struct words *words, struct cellar_txn *txn, struct prng *prng, struct model *model)
{
    uint32_t i = (uint32_t)prng_below(prng, KEYS);
    uint8_t key[KEY_MAX];
    uint64_t record, count;
    uint32_t bytes = key_of(i, key);
    int found = cellar_txn_find(txn, words->table, key, bytes, &record);
    if (found != (model->there[i] ? 0 : CELLAR_NOT_FOUND)) return false;
    struct word word = word_of(i, prng_next(prng)), got;
    if (prng_below(prng, 2) == 0 || found) {
        int added = cellar_txn_add(txn, words->table, &word, &record);
        if (added != (found ? 0 : CELLAR_EXISTS)) return false;
        if (found) model->counts[i] = word.count;
        model->there[i] = true;
        return true;
    }
    if (cellar_txn_get(txn, words->table, record, WORD_COUNT, &count) || count != model->counts[i]) return false;
    if (cellar_txn_get(txn, words->table, record, WORD_NOTE, got.note)) return false;
    if (strcmp(got.note, word_of(i, count).note) != 0) return false;
    if (prng_below(prng, 2)) {
        model->there[i] = false;
        return cellar_txn_remove(txn, words->table, record) == 0;
    }
    model->counts[i] = word.count;
    return cellar_txn_put(txn, words->table, record, WORD_COUNT, &word.count) == 0 &&
           cellar_txn_put(txn, words->table, record, WORD_NOTE, word.note) == 0;
}

/* One transaction of some steps, some of which are rolled back; it commits, or not. */
static bool txn_is_right(struct words *words, struct prng *prng, struct model *model)
{
    struct cellar_txn *txn;
    struct model now = *model, then;
    if (session_begin(words->session, NULL, &txn)) return false;
    bool right = true;
    for (uint64_t steps = prng_between(prng, 1, 8); steps && right; steps--)
        right = step_is_right(words, txn, prng, &now);
    if (right && prng_below(prng, 3) == 0) {
        int savepoint = cellar_savepoint(txn);
        then = now;
        for (uint64_t steps = prng_between(prng, 1, 4); steps && right; steps--)
            right = step_is_right(words, txn, prng, &then);
        right = right && cellar_rollback_to(txn, savepoint) == 0;
    }
    if (!right || prng_below(prng, 5) == 0) return session_abort(txn) == 0 && right;
    *model = now;
    return session_commit(txn, NULL) == 0;
}

static int audit(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    (void)arg;
    return db_audit(client, error);
}

static bool words_agree(struct words *words, uint64_t seed)
{
    struct prng prng;
    struct model model = {.there = {false}};
    bool right = true;
    prng_seed(&prng, seed);
    for (int i = 0; i < TXNS && right; i++) right = txn_is_right(words, &prng, &model);
    return right && api_alone(&words->api, audit, NULL) == 0;
}

static void keys_agree_with_an_array(void **state)
{
    struct words words;
    for (uint32_t bits = 0; bits <= 4; bits += 4) {
        hash_bits(bits);
        if (!words_open(&words, *state)) skip();
        assert_true(words_agree(&words, 1 + bits));
        words_close(&words);
    }
}

/* ---- at once ---- */

struct thread {
    struct words *words;
    uint64_t seed, added, removed;
    int code;
};

struct turn {
    struct thread *thread;
    uint32_t i;
    bool was_there;
};

static int turn(struct cellar_txn *txn, void *arg)
{
    struct turn *turn = arg;
    uint8_t key[KEY_MAX];
    uint64_t record;
    uint32_t bytes = key_of(turn->i, key);
    int code = cellar_txn_find(txn, turn->thread->words->table, key, bytes, &record);
    turn->was_there = code == 0;
    if (code == 0) return cellar_txn_remove(txn, turn->thread->words->table, record);
    if (code != CELLAR_NOT_FOUND) return code;
    struct word word = word_of(turn->i, turn->i);
    return cellar_txn_add(txn, turn->thread->words->table, &word, &record);
}

static void *thread_run(void *arg)
{
    struct thread *thread = arg;
    struct session *session;
    struct cellar_error error;
    struct prng prng;
    prng_seed(&prng, thread->seed);
    thread->code = session_open(thread->words->api.db, &session, &error);
    for (int i = 0; i < 400 && thread->code == 0; i++) {
        struct turn args = {.thread = thread, .i = (uint32_t)prng_below(&prng, 10)};
        thread->code = session_transact(session, turn, &args);
        thread->added += thread->code == 0 && !args.was_there;
        thread->removed += thread->code == 0 && args.was_there;
    }
    session_close(session);
    return NULL;
}

static int record_count(void *arg, uint64_t key, const void *row)
{
    (void)key;
    (void)row;
    ++*(uint64_t *)arg;
    return 0;
}

struct counting {
    const struct cellar_table *table;
    uint64_t records;
};

static int records_count(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct counting *counting = arg;
    return db_scan(client, counting->table, record_count, &counting->records, error);
}

static void threads_add_and_remove(void **state)
{
    struct words words;
    for (uint32_t bits = 0; bits <= 4; bits += 4) {
        pthread_t ids[3];
        struct thread threads[3];
        struct counting counting = {0};
        uint64_t added = 0, removed = 0;
        hash_bits(bits);
        if (!words_open(&words, *state)) skip();
        for (uint32_t i = 0; i < 3; i++) {
            threads[i] = (struct thread){.words = &words, .seed = i + 1};
            assert_int_equal(pthread_create(&ids[i], NULL, thread_run, &threads[i]), 0);
        }
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(pthread_join(ids[i], NULL), 0);
            assert_code(threads[i].code, 0);
            added += threads[i].added;
            removed += threads[i].removed;
        }
        counting.table = words.table;
        assert_code(api_alone(&words.api, records_count, &counting), 0);
        assert_int_equal(counting.records, added - removed);
        assert_true(added > 10);
        api_audit_clean(&words.api);
        words_close(&words);
    }
}

/* A record of a string key is locked for update, with its key, where modes lock whole records. */
static void a_word_is_locked_for_update(void **state)
{
    struct words words;
    uint64_t record, count;
    if (!words_open(&words, *state)) skip();
    struct cellar_txn *txn = sessions_begun(words.session);
    struct word word = word_of(3, 5);
    assert_code(cellar_txn_add(txn, words.table, &word, &record), 0);
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(words.session);
    assert_code(cellar_txn_get_for_update(txn, words.table, record, WORD_COUNT, &count), 0);
    count++;
    assert_code(cellar_txn_put(txn, words.table, record, WORD_COUNT, &count), 0);
    assert_code(session_commit(txn, NULL), 0);
    words_close(&words);
}

/* ---- in order ---- */

static int keys_compare(const void *a, const void *b)
{
    return memcmp(((const struct word *)a)->key.text, ((const struct word *)b)->key.text, KEY_MAX);
}

/* An index over the key gives records in the order of their bytes, and those with a beginning in common as a range. */
static void an_index_orders_keys(void **state)
{
    static const char *const texts[] = {"pear", "apple", "plum", "apricot", "peach", "app", "fig", "p"};
    const struct cellar_schema_index_column by_key[] = {{"key", CELLAR_SORT_BYTES, false}};
    const struct cellar_schema_index def = {
        .name = "by_key", .columns = by_key, .column_count = 1, .flags = CELLAR_UNIQUE};
    const struct cellar_schema_index_column numbers[] = {{"key", CELLAR_SORT_UNSIGNED, false}};
    const struct cellar_schema_index wrong = {.name = "wrong", .columns = numbers, .column_count = 1};
    const uint32_t count = sizeof texts / sizeof *texts;
    const struct cellar_index *index, *none;
    struct words words;
    struct word rows[8];
    uint64_t records[8];
    const struct api_variant *variant = *state;
    if (variant->cc == CELLAR_LAB_CC_MOTOR) skip();
    for (uint32_t bits = 0; bits <= 4; bits += 4) {
        hash_bits(bits);
        if (!words_open(&words, variant)) skip();
        MUST(&words.api.error, db_index_create(words.api.db, words.table, &def, &index, &words.api.error));
        FAILS(&words.api.error, db_index_create(words.api.db, words.table, &wrong, &none, &words.api.error),
              CELLAR_INVALID, "8 bytes");
        struct cellar_txn *txn = sessions_begun(words.session);
        for (uint32_t i = 0; i < count; i++) {
            rows[i] = (struct word){.count = i};
            assert_code(cellar_key_set(&rows[i].key, sizeof rows[i].key, texts[i], strlen(texts[i])), 0);
            assert_code(cellar_txn_add(txn, words.table, &rows[i], NULL), 0);
        }
        assert_code(session_commit(txn, NULL), 0);
        qsort(rows, count, sizeof *rows, keys_compare);
        txn = sessions_begun(words.session);
        struct cellar_range all = {.low = {0}};
        assert_int_equal(cellar_txn_scan(txn, index, &all, 0, 0, records, 8), count);
        for (uint32_t i = 0; i < count; i++) {
            struct word got = {.count = 99};
            assert_code(cellar_txn_get(txn, words.table, records[i], WORD_KEY, &got.key), 0);
            assert_int_equal(got.key.bytes, rows[i].key.bytes);
            assert_memory_equal(got.key.text, rows[i].key.text, KEY_MAX);
        }
        struct word low = {.count = 0}, high = low;
        assert_code(cellar_key_set(&low.key, sizeof low.key, "p", 1), 0);
        assert_code(cellar_key_set(&high.key, sizeof high.key, "q", 1), 0);
        struct cellar_range with_p = {.low = {&low, 1, false}, .high = {&high, 1, true}};
        assert_int_equal(cellar_txn_scan(txn, index, &with_p, 0, 0, records, 8), 4);
        assert_code(session_abort(txn), 0);
        api_audit_clean(&words.api);
        words_close(&words);
    }
}

/* ---- bad input ---- */

struct raw {
    struct api_call call;
    const struct cellar_table *table;
    uint64_t record;
    int how;
};

static int raw_change(struct cellar_txn *txn, struct api_call *call)
{
    const struct raw *raw = (const struct raw *)call;
    struct word word = word_of(1, 1);
    if (raw->how == 0) return cellar_proc_insert(txn, raw->table, 512, &word);
    if (raw->how == 1) return cellar_proc_access(txn, raw->table, raw->record, 0, 0, CELLAR_DELETE);
    if (raw->how == 2) return cellar_proc_access(txn, raw->table, raw->record, 0, CELLAR_ALL_CELLS, 0);
    int ref = cellar_proc_access(txn, raw->table, raw->record, 0, cellar_cells_of(raw->table, "count"), 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_put(txn, ref, WORD_COUNT, &word.count);
}

static int row_load(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct word word = word_of(1, 1);
    return db_load(client, arg, 256, &word, error);
}

static void misuse_is_refused(void **state)
{
    struct words words;
    uint64_t record, other, count;
    uint8_t key[KEY_MAX + 1] = {0};
    if (!words_open(&words, *state)) skip();
    struct session *session = words.session;
    struct cellar_txn *txn = sessions_begun(session);
    struct word word = word_of(3, 5), bad = word;
    assert_code(cellar_txn_add(txn, words.table, &word, &record), 0);
    assert_code(cellar_txn_find(txn, words.table, key, 0, &other), CELLAR_TOO_LARGE);
    assert_code(cellar_txn_find(txn, words.table, key, KEY_MAX + 1, &other), CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "key_bytes", "words");
    bad.key.bytes = 60000;
    assert_code(cellar_txn_add(txn, words.table, &bad, &other), CELLAR_TOO_LARGE);
    bad.key.bytes = 0;
    assert_code(cellar_txn_add(txn, words.table, &bad, &other), CELLAR_TOO_LARGE);
    assert_code(cellar_txn_add(txn, words.table, &word, &other), CELLAR_EXISTS);
    assert_code(cellar_txn_put(txn, words.table, record, WORD_KEY, &word.key), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "byte strings", "words");
    assert_code(cellar_txn_insert(txn, words.table, record + 256, &word), CELLAR_INVALID);
    assert_code(cellar_txn_delete(txn, words.table, record), CELLAR_INVALID);
    assert_code(cellar_txn_remove(txn, words.table, record + 256), CELLAR_NOT_FOUND);
    assert_code(cellar_txn_find(txn, words.api.items, key, 1, &other), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "integers", "items");
    assert_code(cellar_txn_add(txn, words.api.items, &word, &other), CELLAR_INVALID);
    assert_code(cellar_txn_remove(txn, words.api.items, 1), CELLAR_INVALID);
    assert_code(cellar_txn_find(txn, NULL, key, 1, &other), CELLAR_INVALID);
    assert_code(session_commit(txn, NULL), 0);
    for (int how = 0; how < 4; how++) {
        struct raw raw = {.table = words.table, .record = record, .how = how};
        assert_code(api_run(&words.api, raw_change, &raw), how < 3 ? CELLAR_INVALID : 0);
    }
    FAILS(&words.api.error, api_alone(&words.api, row_load, (void *)(uintptr_t)words.table), CELLAR_UNSUPPORTED,
          "byte strings");
    struct session_options read_only = {.flags = CELLAR_READ_ONLY};
    assert_code(session_begin(session, &read_only, &txn), 0);
    assert_code(cellar_txn_find(txn, words.table, word.key.text, word.key.bytes, &other), 0);
    assert_int_equal(other, record);
    assert_code(cellar_txn_get(txn, words.table, record, WORD_COUNT, &count), 0);
    assert_int_equal(count, 1); /* what the procedure has put */
    assert_code(cellar_txn_remove(txn, words.table, record), CELLAR_INVALID);
    assert_code(session_commit(txn, NULL), 0);
    api_audit_clean(&words.api);
    words_close(&words);
}

static void bad_schemas_are_refused(void **state)
{
    static const struct cellar_schema_column shared[] = {CELLAR_COLUMN_IN(1, struct word, key),
                                                         CELLAR_COLUMN_IN(1, struct word, count)};
    static const struct cellar_schema_column no_key[] = {CELLAR_COLUMN(struct word, count)};
    struct words words;
    const struct cellar_table *none;
    if (!words_open(&words, *state)) skip();
    struct cellar_schema schema = words_schema();
    schema.name = "others";
    for (uint32_t key_bytes = KEY_MAX + 1; key_bytes < 2000; key_bytes *= 3) {
        schema.key_bytes = key_bytes;
        FAILS(&words.api.error, db_table_create(words.api.db, &schema, &none, &words.api.error), CELLAR_INVALID,
              "CELLAR_KEY");
    }
    schema.key_bytes = KEY_MAX;
    schema.columns = shared;
    schema.column_count = 2;
    FAILS(&words.api.error, db_table_create(words.api.db, &schema, &none, &words.api.error), CELLAR_INVALID,
          "a cell of its own");
    schema.columns = no_key;
    schema.column_count = 1;
    FAILS(&words.api.error, db_table_create(words.api.db, &schema, &none, &words.api.error), CELLAR_INVALID,
          "CELLAR_KEY");
    schema = words_schema();
    schema.key_bytes = KEY_MAX - 1;
    FAILS(&words.api.error, db_table_create(words.api.db, &schema, &none, &words.api.error), CELLAR_MISMATCH,
          "bytes of a key");
    words_close(&words);
}

/* ---- plants ---- */

#ifdef CELLAR_PLANTS
static void its_plants_are_met(void **state)
{
    static const char *const plants[] = {"bytekey_twin_taken", "bytekey_twins_uncounted", "bytekey_gap"};
    for (uint32_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct words words;
        hash_bits(4);
        if (!words_open(&words, *state)) skip();
        assert_true(plant_choose(plants[i]));
        bool right = words_agree(&words, 5);
        assert_true(plant_choose(NULL));
        if (right) fail_msg("%s: not met", plants[i]);
        words_close(&words);
    }
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(keys_agree_with_an_array),    API_TEST_SHM(threads_add_and_remove), API_TEST(an_index_orders_keys),
        API_TEST(a_word_is_locked_for_update), API_TEST(misuse_is_refused),          API_TEST(bad_schemas_are_refused),
#ifdef CELLAR_PLANTS
        API_TEST(its_plants_are_met),
#endif
    };
    return api_main("api_keys", tests, sizeof tests / sizeof *tests, argc, argv);
}
