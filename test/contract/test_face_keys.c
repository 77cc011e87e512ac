/*
 * test_face_keys.c - tables whose keys are wide: strings, tuples, floats. Which keys are one, what calls say of them,
 * what is refused, rows that are found again by another process, and twins of one hash.
 */
#include "numbered.h"
#include "cellar_proc.h"
#include "hash_bits.h"
#include "session.h"
#include "virtual_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES (16u << 20)

/* A word of a language, and how often it was seen. */
struct word {
    uint32_t seen;
    struct cellar_bytes text;
    char language[2];
};
enum { LANGUAGE, TEXT, SEEN };
static const struct cellar_column columns[] = {
    {CELLAR_FIELD(struct word, language), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct word, text), .bytes_max = 20, .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct word, seen)},
};

struct words {
    struct cellar *db;
    const struct cellar_table *words;
};

static struct word word_of(const char *text, uint32_t seen) { return (struct word){seen, CELLAR_TEXT(text), "en"}; }

static void words_make(struct words *words)
{
    ok(cellar_table_open(words->db, CELLAR_TABLE(struct word, columns, .name = "words"), 0, &words->words));
}

static void words_open(struct words *words)
{
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &words->db));
    words_make(words);
}

/* What a transaction of its own finds: the count, or its code. */
static int seen(struct words *words, const char *text)
{
    struct word word = word_of(text, 0);
    struct cellar_txn *txn = face_begun(words->db);
    int rc = cellar_get(txn, words->words, CELLAR_ALL, 0, &word);
    cellar_abort(txn);
    return rc ? rc : (int)word.seen;
}

/* ---- calls ---- */

static void rows_are_written_and_read(void **state)
{
    struct words words;
    struct word pear = word_of("pear", 3), none = word_of("none", 7), row;
    (void)state;
    words_open(&words);
    struct cellar_txn *txn = face_begun(words.db);
    ok(cellar_insert(txn, words.words, &pear));
    ok(cellar_put(txn, words.words, CELLAR_ALL, &none));
    row = word_of("pear", 0);
    ok(cellar_get(txn, words.words, CELLAR_ALL, 0, &row)); /* its own */
    assert_int_equal(row.seen, 3);
    refused(cellar_insert(txn, words.words, &pear), CELLAR_EXISTS, "table words, language en, text pear");
    ok(cellar_commit(txn, NULL));
    assert_int_equal(seen(&words, "pear"), 3);
    assert_int_equal(seen(&words, "none"), 7);
    assert_int_equal(seen(&words, "pea"), CELLAR_NOT_FOUND);
    assert_int_equal(seen(&words, "pears"), CELLAR_NOT_FOUND);
    assert_int_equal(seen(&words, ""), CELLAR_NOT_FOUND);

    txn = face_begun(words.db);
    row = word_of("plum", 1);
    refused(cellar_put(txn, words.words, CELLAR_COL(SEEN + 1), &row), CELLAR_INVALID, "does not have");
    refused(cellar_put(txn, words.words, CELLAR_COL(SEEN), &row), CELLAR_NOT_FOUND, "text plum"); /* that is not all */
    ok(cellar_put(txn, words.words, CELLAR_COL(LANGUAGE) | CELLAR_COL(TEXT) | CELLAR_COL(SEEN), &row));
    ok(cellar_put(txn, words.words, CELLAR_COL(SEEN), &(struct word){4, CELLAR_TEXT("pear"), "en"}));
    ok(cellar_delete(txn, words.words, &none));
    ok(cellar_delete(txn, words.words, &none));
    row = word_of("none", 9);
    refused(cellar_get(txn, words.words, 0, 0, &row), CELLAR_NOT_FOUND, "text none");
    assert_int_equal(row.seen, 9);
    ok(cellar_commit(txn, NULL));
    assert_int_equal(seen(&words, "plum"), 1);
    assert_int_equal(seen(&words, "pear"), 4);
    assert_int_equal(seen(&words, "none"), CELLAR_NOT_FOUND);

    /* What it has deleted it puts anew. */
    txn = face_begun(words.db);
    ok(cellar_delete(txn, words.words, &pear));
    ok(cellar_insert(txn, words.words, &pear));
    ok(cellar_commit(txn, NULL));
    assert_int_equal(seen(&words, "pear"), 3);
    face_close(words.db);
}

static void the_struct_is_not_written_beside_columns(void **state)
{
    struct words words;
    struct word pear = word_of("pear", 3), row;
    (void)state;
    words_open(&words);
    struct cellar_txn *txn = face_begun(words.db);
    ok(cellar_insert(txn, words.words, &pear));
    ok(cellar_commit(txn, NULL));
    txn = face_begun(words.db);
    row = word_of("pear", 8);
    const void *data = row.text.data;
    ok(cellar_get(txn, words.words, CELLAR_COL(LANGUAGE), 0, &row));
    assert_int_equal(row.seen, 8);
    cellar_abort(txn);
    txn = face_begun(words.db);
    ok(cellar_get(txn, words.words, CELLAR_ALL, 0, &row));
    assert_int_equal(txn->txn.session->draft.blocks, 1); /* the key and what was wanted, at once */
    assert_int_equal(row.seen, 3);
    assert_ptr_equal(row.text.data, data);
    cellar_abort(txn);
    face_close(words.db);
}

static void many_are_read_at_once(void **state)
{
    static const char *const texts[] = {"a", "b", "", "c", "a"};
    struct words words;
    struct word rows[5];
    struct cellar_read reads[5];
    (void)state;
    for (uint32_t bits = 0; bits < 2; bits++) {
        hash_bits(bits);
        words_open(&words);
        struct cellar_txn *txn = face_begun(words.db);
        for (uint32_t i = 0; i < 3; i++) {
            rows[i] = word_of(texts[i], i + 1);
            ok(cellar_put(txn, words.words, CELLAR_ALL, &rows[i]));
        }
        ok(cellar_commit(txn, NULL));
        txn = face_begun(words.db);
        for (uint32_t i = 0; i < 5; i++) {
            rows[i] = word_of(texts[i], 0);
            reads[i] = CELLAR_READ(words.words, &rows[i], .lock = i == 1 ? CELLAR_COL(SEEN) : 0);
        }
        ok(cellar_get_many(txn, reads, 5));
        /* One read of all, but for twins and for the locked one. */
        if (!bits) assert_true(txn->txn.session->draft.blocks <= 2);
        for (uint32_t i = 0; i < 5; i++) assert_int_equal(reads[i].code, i == 3 ? CELLAR_NOT_FOUND : 0);
        for (uint32_t i = 0; i < 5; i++) assert_int_equal(rows[i].seen, i == 3 ? 0 : i % 4 + 1);
        cellar_abort(txn);
        face_close(words.db);
    }
    hash_bits(0);
}

/* A put of some columns, of a row that is not there, is refused at once: the key had to be looked for. */
struct tally {
    struct cellar_bytes name;
    int64_t a, b;
};
enum { T_NAME, T_A, T_B };
static const struct cellar_column tallies[] = {{CELLAR_FIELD(struct tally, name), .bytes_max = 33, .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct tally, a)},
                                               {CELLAR_FIELD(struct tally, b)}};

static void a_put_of_some_columns_needs_a_row(void **state)
{
    struct words words;
    struct tally row = {CELLAR_TEXT("one"), 1, 2};
    const struct cellar_table *table;
    (void)state;
    words_open(&words);
    ok(cellar_table_open(words.db, CELLAR_TABLE(struct tally, tallies, .name = "tallies"), 0, &table));
    struct cellar_txn *txn = face_begun(words.db);
    refused(cellar_put(txn, table, CELLAR_COL(T_A), &row), CELLAR_NOT_FOUND, "table tallies, name one");
    ok(cellar_put(txn, table, CELLAR_ALL, &row));
    row.a = 5;
    row.b = 9;
    ok(cellar_put(txn, table, CELLAR_COL(T_A), &row));
    ok(cellar_commit(txn, NULL));
    txn = face_begun(words.db);
    ok(cellar_get(txn, table, 0, 0, &row));
    assert_int_equal(row.a, 5);
    assert_int_equal(row.b, 2);
    /* A row without a name is one, too. */
    row = (struct tally){{NULL, 0}, 7, 8};
    refused(cellar_get(txn, table, 0, 0, &row), CELLAR_NOT_FOUND, "table tallies");
    ok(cellar_insert(txn, table, &row));
    row.a = 0;
    ok(cellar_get(txn, table, 0, 0, &row));
    assert_int_equal(row.a, 7);
    ok(cellar_commit(txn, NULL));
    face_close(words.db);
}

/* ---- which keys are one ---- */

struct point {
    double x;
    float y;
    uint32_t n;
};
static const struct cellar_column points[] = {{CELLAR_FIELD(struct point, x), .flags = CELLAR_KEY},
                                              {CELLAR_FIELD(struct point, y), .flags = CELLAR_KEY},
                                              {CELLAR_FIELD(struct point, n)}};
struct level {
    double height;
    uint32_t n;
};
static const struct cellar_column levels[] = {{CELLAR_FIELD(struct level, height), .flags = CELLAR_KEY},
                                              {CELLAR_FIELD(struct level, n)}};

static void floats_that_are_equal_are_one_key(void **state)
{
    struct words words;
    const struct cellar_table *wide, *narrow;
    (void)state;
    words_open(&words);
    ok(cellar_table_open(words.db, CELLAR_TABLE(struct point, points, .name = "points"), 0, &wide));
    ok(cellar_table_open(words.db, CELLAR_TABLE(struct level, levels, .name = "levels"), 0, &narrow));
    struct cellar_txn *txn = face_begun(words.db);
    ok(cellar_insert(txn, wide, &(struct point){0.0, NAN, 1}));
    ok(cellar_insert(txn, narrow, &(struct level){-0.0, 2}));
    ok(cellar_insert(txn, narrow, &(struct level){NAN, 3}));
    ok(cellar_commit(txn, NULL));
    struct point point = {-0.0, -NAN, 0};
    struct level zero = {0.0, 0}, nan = {-NAN, 0}, none = {-0.5, 0};
    txn = face_begun(words.db);
    ok(cellar_get(txn, wide, 0, 0, &point));
    ok(cellar_get(txn, narrow, 0, 0, &zero));
    ok(cellar_get(txn, narrow, 0, 0, &nan));
    assert_true(point.n == 1 && zero.n == 2 && nan.n == 3);
    assert_true(signbit(point.x)); /* the caller's, as it was */
    refused(cellar_get(txn, narrow, 0, 0, &none), CELLAR_NOT_FOUND, "table levels, height -0.5");
    refused(cellar_insert(txn, narrow, &(struct level){0.0, 0}), CELLAR_EXISTS, "height 0");
    refused(cellar_txn_insert(txn, narrow, 7, &zero.n), CELLAR_INVALID,
            "typed columns"); /* no float's number, perhaps */
    cellar_abort(txn);
    face_close(words.db);
}

/* A table may have nothing but its key. */
static void a_set_has_key_columns_alone(void **state)
{
    struct edge {
        uint64_t from, to;
    } edge = {1, 2}, other = {2, 1};
    const struct cellar_column edges[] = {{CELLAR_FIELD(struct edge, from), .flags = CELLAR_KEY},
                                          {CELLAR_FIELD(struct edge, to), .flags = CELLAR_KEY}};
    struct words words;
    const struct cellar_table *table;
    (void)state;
    words_open(&words);
    ok(cellar_table_open(words.db, CELLAR_TABLE(struct edge, edges, .name = "edges"), 0, &table));
    struct cellar_txn *txn = face_begun(words.db);
    ok(cellar_put(txn, table, 0, &edge));
    ok(cellar_put(txn, table, 0, &edge));
    ok(cellar_insert(txn, table, &other));
    ok(cellar_commit(txn, NULL));
    txn = face_begun(words.db);
    ok(cellar_put(txn, table, 0, &edge));
    ok(cellar_get(txn, table, 0, CELLAR_ALL, &edge));
    ok(cellar_delete(txn, table, &other));
    ok(cellar_commit(txn, NULL));
    txn = face_begun(words.db);
    ok(cellar_get(txn, table, 0, 0, &edge));
    refused(cellar_get(txn, table, 0, 0, &other), CELLAR_NOT_FOUND, "table edges, from 2, to 1");
    cellar_abort(txn);
    face_close(words.db);
}

/* What one column has more than another has less. */
static void columns_of_a_key_do_not_run_together(void **state)
{
    struct pair {
        struct cellar_bytes a, b;
        uint32_t n;
    };
    const struct cellar_column pairs[] = {{CELLAR_FIELD(struct pair, a), .bytes_max = 6, .flags = CELLAR_KEY},
                                          {CELLAR_FIELD(struct pair, b), .bytes_max = 6, .flags = CELLAR_KEY},
                                          {CELLAR_FIELD(struct pair, n)}};
    static const struct cellar_bytes texts[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1}, {"a\0", 2}, {"ab", 2}};
    struct words words;
    const struct cellar_table *table;
    (void)state;
    words_open(&words);
    ok(cellar_table_open(words.db, CELLAR_TABLE(struct pair, pairs, .name = "pairs"), 0, &table));
    for (int reads = 0; reads < 2; reads++) {
        struct cellar_txn *txn = face_begun(words.db);
        for (uint32_t i = 0; i < 36; i++) {
            struct pair pair = {texts[i / 6], texts[i % 6], reads ? 99 : i};
            ok(reads ? cellar_get(txn, table, 0, 0, &pair) : cellar_insert(txn, table, &pair));
            assert_int_equal(pair.n, i);
        }
        ok(cellar_commit(txn, NULL));
    }
    face_close(words.db);
}

static void rows_are_found_by_the_next_process(void **state)
{
    char path[] = "/tmp/cellar-face-keys-XXXXXX";
    const struct cellar_options *options = CELLAR_OPTIONS(.bytes = BYTES, .durability = CELLAR_MEMORY);
    struct words words;
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    for (int life = 0; life < 2; life++) {
        ok(cellar_open(path, options, &words.db));
        ok(cellar_table_open(words.db, CELLAR_TABLE(struct word, columns, .name = "words"), life ? CELLAR_EXISTING : 0,
                             &words.words));
        struct cellar_txn *txn = face_begun(words.db);
        struct word row = word_of("pear", 3);
        ok(life ? cellar_get(txn, words.words, 0, 0, &row) : cellar_insert(txn, words.words, &row));
        ok(cellar_commit(txn, NULL));
        assert_int_equal(row.seen, 3);
        /* Another width is another key. */
        struct cellar_column wider[3];
        const struct cellar_table *other;
        memcpy(wider, columns, sizeof wider);
        wider[TEXT].bytes_max = 21;
        refused(cellar_table_open(words.db, CELLAR_TABLE(struct word, wider, .name = "words"), 0, &other),
                CELLAR_MISMATCH, "column text: bytes of 21 bytes here, bytes of 20 there");
        face_close(words.db);
    }
    unlink(path);
}

/* ---- what is refused ---- */

static void what_calls_refuse(void **state)
{
    struct words words;
    char long_text[22] = "012345678901234567890";
    uint64_t number;
    uint8_t raw[200] = {3, 0, 0, 0, 'e', 'n', 'x'};
    struct word row = word_of(long_text, 1);
    (void)state;
    words_open(&words);
    struct cellar_txn *txn = face_begun(words.db);
    const char *line = "table words, column text: 21 bytes; it has room for 20";
    refused(cellar_get(txn, words.words, 0, 0, &row), CELLAR_TOO_LARGE, line);
    refused(cellar_put(txn, words.words, 0, &row), CELLAR_TOO_LARGE, line);
    refused(cellar_insert(txn, words.words, &row), CELLAR_TOO_LARGE, line);
    refused(cellar_delete(txn, words.words, &row), CELLAR_TOO_LARGE, line);
    struct cellar_read read = CELLAR_READ(words.words, &row);
    refused(cellar_get_many(txn, &read, 1), CELLAR_TOO_LARGE, line);
    row.text = (struct cellar_bytes){NULL, 1};
    refused(cellar_get(txn, words.words, 0, 0, &row), CELLAR_INVALID, "column text: its data is NULL");
    refused(cellar_insert(txn, words.words, &row), CELLAR_INVALID, "its data is NULL");
    /* Rows come and go by their columns alone. */
    refused(cellar_txn_add(txn, words.words, raw, &number), CELLAR_INVALID, "typed columns");
    refused(cellar_txn_remove(txn, words.words, 0), CELLAR_INVALID, "typed columns");
    refused(cellar_txn_insert(txn, words.words, 7, raw), CELLAR_INVALID, "byte strings");
    refused(cellar_txn_put(txn, words.words, 7, 0, raw), CELLAR_INVALID, "byte strings");
    refused(cellar_txn_delete(txn, words.words, 7), CELLAR_INVALID, "byte strings");
    ok(cellar_commit(txn, NULL));
    /* The whole width is one, too. */
    long_text[20] = 0;
    row = word_of(long_text, 5);
    txn = face_begun(words.db);
    ok(cellar_insert(txn, words.words, &row));
    ok(cellar_commit(txn, NULL));
    assert_int_equal(seen(&words, long_text), 5);
    refused(cellar_table_open(words.db, CELLAR_TABLE(struct word, columns, .name = "more", .cluster_bits = 1), 0,
                              &(const struct cellar_table *){NULL}),
            CELLAR_INVALID, "cluster_bits 1");
    face_close(words.db);
}

/* The key has a cell of its own, however many the other columns ask for. */
static void groups_take_the_cells_that_are_left(void **state)
{
    struct row {
        struct cellar_bytes key;
        int64_t of[62];
    } row = {.key = CELLAR_TEXT("key")}, found = {.key = CELLAR_TEXT("key")};
    static char names[62][8];
    struct cellar_column many[63] = {{CELLAR_FIELD(struct row, key), .bytes_max = 9, .flags = CELLAR_KEY}};
    struct words words;
    const struct cellar_table *table;
    (void)state;
    words_open(&words);
    for (uint32_t groups = 0; groups <= 20; groups++) {
        char name[16];
        for (uint32_t i = 0; i < 62; i++) {
            snprintf(names[i], sizeof names[i], "c%u", i);
            many[i + 1] =
                (struct cellar_column){.name = names[i], .offset = 16 + i * 8, .bytes = 8, .type = CELLAR_INT};
            if (i < groups) many[i + 1].cell = i + 1;
            row.of[i] = i * 100;
        }
        snprintf(name, sizeof name, "many%u", groups);
        int rc = cellar_table_open(words.db, CELLAR_TABLE(struct row, many, .name = name, .rows = 64), 0, &table);
        if (groups > 18) { /* one for the key, and one for the other columns */
            refused(rc, CELLAR_INVALID, "cells");
            continue;
        }
        ok(rc);
        struct cellar_txn *txn = face_begun(words.db);
        ok(cellar_insert(txn, table, &row));
        ok(cellar_commit(txn, NULL));
        txn = face_begun(words.db);
        ok(cellar_get(txn, table, 0, 0, &found));
        assert_memory_equal(found.of, row.of, sizeof row.of);
        ok(cellar_commit(txn, NULL));
    }
    static char all_names[64][8];
    struct cellar_column all[64] = {many[0]};
    for (uint32_t i = 1; i < 64; i++) {
        snprintf(all_names[i], sizeof all_names[i], "c%u", i);
        all[i] = (struct cellar_column){.name = all_names[i], .offset = 16 + i, .bytes = 1, .type = CELLAR_UINT};
    }
    refused(cellar_table_open(words.db, CELLAR_TABLE(struct row, all, .name = "all"), 0, &table), CELLAR_INVALID,
            "at most 63 columns");
    face_close(words.db);
}

/* ---- locks, and twins ---- */

#define LOCK_US 20000

/* A put of `text` by another transaction, and its commit: microseconds that these took. */
static uint64_t put_by_another(struct words *words, const char *text)
{
    struct cellar_txn *other = face_begun(words->db);
    struct word word = word_of(text, 9);
    ok(cellar_put(other, words->words, CELLAR_COL(SEEN), &word));
    uint64_t before_us = virtual_us(words->db);
    ok(cellar_commit(other, NULL));
    return virtual_us(words->db) - before_us;
}

static void a_lock_is_on_the_row(void **state)
{
    struct words words;
    (void)state;
    for (uint32_t bits = 0; bits < 2; bits++) { /* of one bit: at least two of the three are twins */
        static const char *const texts[] = {"a", "b", "c"};
        hash_bits(bits);
        virtual_open(BYTES, &words.db);
        words_make(&words);
        struct cellar_txn *txn = face_begun(words.db);
        for (uint32_t i = 0; i < 3; i++) {
            struct word word = word_of(texts[i], i);
            ok(cellar_insert(txn, words.words, &word));
        }
        ok(cellar_commit(txn, NULL));
        for (uint32_t i = 0; i < 3; i++) {
            struct word word = word_of(texts[i], 0);
            ok(cellar_begin(words.db, CELLAR_TXN(.lock_us = LOCK_US), &txn));
            ok(cellar_get(txn, words.words, CELLAR_COL(SEEN), CELLAR_COL(SEEN), &word));
            assert_int_equal(word.seen, i);
            assert_true(put_by_another(&words, texts[i]) > LOCK_US / 2);
            refused(cellar_get(txn, words.words, CELLAR_COL(SEEN), 0, &word), CELLAR_RETRY, "lock_us has passed");
            cellar_abort(txn);
        }
        struct word none = word_of("none", 0);
        ok(cellar_begin(words.db, NULL, &txn));
        refused(cellar_get(txn, words.words, 0, CELLAR_COL(SEEN), &none), CELLAR_NOT_FOUND, "text none");
        ok(cellar_commit(txn, NULL));
        face_close(words.db);
    }
    hash_bits(0);
}

#ifdef CELLAR_PLANTS
/* Two insert different keys of one hash at once: the second one to commit begins again, and finds its place. */
static void twins_that_meet_are_both_there(void **state)
{
    struct words words;
    (void)state;
    hash_bits(1);
    words_open(&words);
    struct cellar_txn *one = face_begun(words.db), *two = face_begun(words.db);
    struct word a = word_of("a", 1), c = word_of("c", 3);
    ok(cellar_insert(one, words.words, &a));
    ok(cellar_insert(two, words.words, &c));
    ok(cellar_commit(one, NULL));
    int rc = cellar_commit(two, NULL);
    assert_true(rc == 0 || rc == CELLAR_RETRY); /* 0: their hashes differ */
    if (rc) {
        two = face_begun(words.db);
        ok(cellar_insert(two, words.words, &c));
        ok(cellar_commit(two, NULL));
    }
    assert_int_equal(seen(&words, "a"), 1);
    assert_int_equal(seen(&words, "c"), 3);
    face_close(words.db);
    hash_bits(0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_written_and_read),
        cmocka_unit_test(the_struct_is_not_written_beside_columns),
        cmocka_unit_test(many_are_read_at_once),
        cmocka_unit_test(a_put_of_some_columns_needs_a_row),
        cmocka_unit_test(floats_that_are_equal_are_one_key),
        cmocka_unit_test(a_set_has_key_columns_alone),
        cmocka_unit_test(columns_of_a_key_do_not_run_together),
        cmocka_unit_test(rows_are_found_by_the_next_process),
        cmocka_unit_test(what_calls_refuse),
        cmocka_unit_test(groups_take_the_cells_that_are_left),
        cmocka_unit_test(a_lock_is_on_the_row),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(twins_that_meet_are_both_there),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
