/*
 * test_face_model.c - random transactions on a table of typed columns, by two structs, against an array: what each call
 * returns and fills, savepoints, and what is there after each commit and abort; in all modes, with keys that are
 * numbers and wide ones, in builds with planted bugs also by hashes of four bits, so that nearly all are twins; with
 * strings in rows and beside them. And by threads that meet.
 */
#include "cellar_lab.h"
#include "face_calls.h"
#include "hash_bits.h"
#include "prng.h"
#include "rivals.h"
#include "share.h"

#include <pthread.h>
#include <stdio.h>

#define BYTES (16u << 20)
#define KEYS 24
#define TXNS 20000
#define CALLS_MAX 12
#define SAVEPOINTS 3
#define NOTE_MAX 70 /* more than a line */

struct all {
    uint8_t text[13];
    int16_t high;
    uint32_t low;
    bool flag;
    double real;
    int64_t number;
    float small;
    struct cellar_bytes word, note, body;
};
/* The last two are of wide keys, and of long values. */
enum { A_TEXT, A_HIGH, A_LOW, A_FLAG, A_REAL, A_NUMBER, A_NOTE, A_SMALL, A_WORD, A_BODY, A_COLUMNS };
static const struct cellar_column all_columns[A_COLUMNS] = {
    {CELLAR_FIELD(struct all, text)},
    {CELLAR_FIELD(struct all, high), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct all, low), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct all, flag), .cell = 2},
    {CELLAR_FIELD(struct all, real), .cell = 2},
    {CELLAR_FIELD(struct all, number)},
    {CELLAR_FIELD(struct all, note), .bytes_max = NOTE_MAX},
    {CELLAR_FIELD(struct all, small)},
    {CELLAR_FIELD(struct all, word), .bytes_max = 8, .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct all, body)},
};

struct some {
    int64_t number;
    int16_t high;
    bool flag;
    struct cellar_bytes word, note;
    uint32_t low;
};
enum { S_HIGH, S_LOW, S_NUMBER, S_NOTE, S_FLAG, S_WORD, S_COLUMNS };
static const struct cellar_column some_columns[S_COLUMNS] = {
    {CELLAR_FIELD(struct some, high), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct some, low), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct some, number)},
    {CELLAR_FIELD(struct some, note), .bytes_max = NOTE_MAX},
    {CELLAR_FIELD(struct some, flag)},
    {CELLAR_FIELD(struct some, word), .bytes_max = 8, .flags = CELLAR_KEY},
};
/* Of each column of `some` the number that it has in `all`. */
static const uint32_t as_all[S_COLUMNS] = {A_HIGH, A_LOW, A_NUMBER, A_NOTE, A_FLAG, A_WORD};

/* The columns that a table has of one of these structs. */
struct shape {
    uint32_t count, as_all[A_COLUMNS];
    struct cellar_column columns[A_COLUMNS];
};
#define KEY_COLUMNS (CELLAR_COL(A_HIGH) | CELLAR_COL(A_LOW) | CELLAR_COL(A_WORD))

struct model {
    bool there[KEYS];
    struct all rows[KEYS];
};

struct play {
    struct prng prng;
    struct cellar *db;
    const struct cellar_table *all, *some;
    bool wide, longs, places_meet; /* those of long values, by short hashes: then a commit draws another one */
    struct shape shapes[2];        /* of all, and of some */
    struct cellar_txn *txn;
    struct model committed, now, saved[SAVEPOINTS];
    int savepoints;
    bool known[KEYS]; /* the transaction has looked, or has written: what a call takes for granted is told at once */
    int owes;         /* a call has returned 0 that the commit will refuse, with this code */
};

static uint32_t drawn(struct play *play, uint32_t below) { return (uint32_t)prng_below(&play->prng, below); }

static void key_of(const struct play *play, uint32_t key, struct all *row)
{
    static const char *const words[] = {"", "a", "ab", "b", "abcdefgh"};
    if (play->wide) {
        row->word = CELLAR_TEXT(words[key % 5]);
        key /= 5;
    }
    row->high = (int16_t)((int)(key % 5) - 2);
    row->low = key / 5 * 0x33333333u;
}

static uint8_t blob[1 << 18]; /* what texts are pieces of: they stay where they are */

static struct cellar_bytes drawn_text(struct play *play, uint32_t most)
{
    uint32_t bytes = drawn(play, drawn(play, 3) ? 50 : most + 1);
    if (bytes > most) bytes = most;
    return (struct cellar_bytes){blob + drawn(play, (uint32_t)sizeof blob - bytes), bytes};
}

static struct all drawn_row(struct play *play, uint32_t key)
{
    struct all row = {.flag = drawn(play, 2), .real = drawn(play, 1000) / 8.0, .small = (float)drawn(play, 99)};
    row.number = (int64_t)prng_next(&play->prng);
    for (size_t i = 0; i < sizeof row.text; i++) row.text[i] = (uint8_t)drawn(play, 256);
    row.note = drawn_text(play, NOTE_MAX);
    if (play->longs) row.body = drawn_text(play, drawn(play, 50) ? 3000 : 60000);
    key_of(play, key, &row);
    return row;
}

static void column_copy(struct all *to, const struct all *from, uint32_t column)
{
    const struct cellar_column *at = &all_columns[column];
    memcpy((uint8_t *)to + at->offset, (const uint8_t *)from + at->offset, at->bytes);
}

static void columns_copy(struct all *to, const struct all *from, uint64_t columns)
{
    for (uint32_t i = 0; i < A_COLUMNS; i++)
        if (columns >> i & 1) column_copy(to, from, i);
}

static void texts_are_equal(struct cellar_bytes a, struct cellar_bytes b)
{
    assert_int_equal(a.bytes, b.bytes);
    if (a.bytes) assert_memory_equal(a.data, b.data, a.bytes);
}

static void columns_are_equal(const struct all *a, const struct all *b)
{
    texts_are_equal(a->note, b->note);
    texts_are_equal(a->body, b->body);
    for (uint32_t i = 0; i < A_COLUMNS; i++) {
        const struct cellar_column *at = &all_columns[i];
        if (i != A_NOTE && i != A_BODY)
            assert_memory_equal((const uint8_t *)a + at->offset, (const uint8_t *)b + at->offset, at->bytes);
    }
}

/* A set of a struct's columns, by their numbers in `all`; *own as the call takes it. */
static uint64_t drawn_columns(struct play *play, bool some, uint64_t *own)
{
    const struct shape *shape = &play->shapes[some];
    uint64_t columns = 0, all = 0;
    *own = drawn(play, 3) ? drawn(play, 1u << shape->count) : drawn(play, 2) ? CELLAR_ALL : 0;
    for (uint32_t i = 0; i < shape->count; i++) {
        uint64_t bit = CELLAR_COL(shape->as_all[i]);
        all |= bit;
        if (*own >> i & 1) columns |= bit;
    }
    return *own == 0 ? all : columns;
}

static void to_some(const struct all *row, struct some *some)
{
    *some = (struct some){row->number, row->high, row->flag, row->word, row->note, row->low};
}
static void of_some(const struct some *some, struct all *row)
{
    row->number = some->number;
    row->high = some->high;
    row->flag = some->flag;
    row->low = some->low;
    row->word = some->word;
    row->note = some->note;
}

/* ---- calls ---- */

static int get(struct play *play, bool some, uint64_t own, struct all *row)
{
    struct some shown;
    to_some(row, &shown);
    bool many = drawn(play, 2);
    struct cellar_read reads[] = {some ? CELLAR_READ(play->some, &shown, .columns = own)
                                       : CELLAR_READ(play->all, row, .columns = own),
                                  CELLAR_READ(play->some, &shown, .columns = CELLAR_COL(S_LOW))};
    int rc = many   ? cellar_get_many(play->txn, reads, 1 + drawn(play, 2))
             : some ? cellar_get(play->txn, play->some, own, 0, &shown)
                    : cellar_get(play->txn, play->all, own, 0, row);
    if (some) of_some(&shown, row);
    if (many && rc == 0) rc = reads[0].code;
    return rc;
}

static void get_call(struct play *play, uint32_t key)
{
    bool some = drawn(play, 2);
    uint64_t own, columns = drawn_columns(play, some, &own);
    struct all row = drawn_row(play, key), expected = row;
    if (play->now.there[key]) columns_copy(&expected, &play->now.rows[key], columns & ~KEY_COLUMNS);
    int rc = get(play, some, own, &row);
    if (play->places_meet && rc == CELLAR_RETRY) {
        play->owes = rc;
        return;
    }
    assert_int_equal(rc, play->now.there[key] ? 0 : CELLAR_NOT_FOUND);
    columns_are_equal(&row, &expected);
    play->known[key] = true;
}

/* What a call that changes a row has come to, and should have; true: it has had its effect. */
static bool done(struct play *play, uint32_t key, int rc, int expected)
{
    if (expected == 0 || play->known[key])
        assert_int_equal(rc, expected);
    else
        assert_int_equal(rc, 0);
    if (rc == 0 && expected) play->owes = expected;
    return rc == 0 && expected == 0;
}

static void put_call(struct play *play, uint32_t key)
{
    bool some = drawn(play, 2);
    uint64_t own, columns = drawn_columns(play, some, &own), all = KEY_COLUMNS;
    for (uint32_t i = 0; i < play->shapes[some].count; i++) all |= CELLAR_COL(play->shapes[some].as_all[i]);
    struct all row = drawn_row(play, key), *model = &play->now.rows[key];
    struct some shown;
    to_some(&row, &shown);
    bool makes = (columns | KEY_COLUMNS) == all;
    int rc = some ? cellar_put(play->txn, play->some, own, &shown) : cellar_put(play->txn, play->all, own, &row);
    if (!done(play, key, rc, makes || play->now.there[key] ? 0 : CELLAR_NOT_FOUND)) return;
    if (!play->now.there[key]) *model = (struct all){0};
    columns_copy(model, &row, columns | KEY_COLUMNS);
    play->now.there[key] = true;
    play->known[key] = true;
}

static void insert_call(struct play *play, uint32_t key)
{
    bool some = drawn(play, 2);
    struct all row = drawn_row(play, key);
    struct some shown;
    to_some(&row, &shown);
    int rc = some ? cellar_insert(play->txn, play->some, &shown) : cellar_insert(play->txn, play->all, &row);
    if (!done(play, key, rc, play->now.there[key] ? CELLAR_EXISTS : 0)) return;
    if (some) {
        row = (struct all){0};
        of_some(&shown, &row);
    }
    play->now.rows[key] = row;
    play->now.there[key] = play->known[key] = true;
}

static void delete_call(struct play *play, uint32_t key)
{
    struct all row = drawn_row(play, key);
    struct some shown;
    to_some(&row, &shown);
    ok(drawn(play, 2) ? cellar_delete(play->txn, play->some, &shown) : cellar_delete(play->txn, play->all, &row));
    play->now.there[key] = false;
    play->known[key] = true;
}

/* What was looked at stays known; what was changed since is known all the same: it was before, or the model is back. */
static void savepoint_call(struct play *play)
{
    if (play->savepoints < SAVEPOINTS && drawn(play, 2)) {
        assert_int_equal(cellar_savepoint(play->txn), play->savepoints);
        play->saved[play->savepoints++] = play->now;
    } else if (play->savepoints) {
        int to = (int)drawn(play, (uint32_t)play->savepoints);
        ok(cellar_rollback_to(play->txn, to));
        play->now = play->saved[to];
        play->savepoints = to + 1;
        /* Changes of keys that it had not looked at are gone, and with them what it knew. */
        for (uint32_t key = 0; key < KEYS; key++) {
            struct all row = drawn_row(play, key);
            (void)!cellar_get(play->txn, play->all, CELLAR_COL(A_LOW), 0, &row);
            play->known[key] = true;
        }
    }
}

static void transaction(struct play *play)
{
    ok(cellar_begin(play->db, NULL, &play->txn));
    play->now = play->committed;
    memset(play->known, play->wide || play->longs, sizeof play->known); /* each call looks then */
    play->savepoints = play->owes = 0;
    for (uint32_t calls = drawn(play, CALLS_MAX); calls > 0 && !play->owes; calls--) {
        uint32_t key = drawn(play, KEYS), what = drawn(play, 20);
        if (what < 6)
            get_call(play, key);
        else if (what < 11)
            put_call(play, key);
        else if (what < 14)
            insert_call(play, key);
        else if (what < 17)
            delete_call(play, key);
        else
            savepoint_call(play);
    }
    if (!play->owes && drawn(play, 5) == 0) {
        cellar_abort(play->txn);
        return;
    }
    int rc = cellar_commit(play->txn, NULL);
    if (play->places_meet && rc == CELLAR_RETRY) return;
    assert_int_equal(rc, play->owes);
    if (!play->owes) play->committed = play->now;
}

/* ---- in all modes that have interactive transactions, on real threads and in virtual time ---- */

static const uint32_t modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL,
                                 CELLAR_LAB_CC_CREST,  CELLAR_LAB_CC_FORD,   CELLAR_LAB_CC_MOTOR};
#define MODES (sizeof modes / sizeof *modes)

/* False: this build does not have the mode. */
static bool database_open(struct cellar **db, uint32_t mode, uint32_t sim)
{
    int rc = cellar_open(
        NULL, CELLAR_OPTIONS(.bytes = BYTES, .lab = CELLAR_LAB(.cc = mode, .sim = sim, .mns = 2, .replicas = sim)), db);
    if (rc != CELLAR_UNSUPPORTED) ok(rc);
    return rc == 0;
}

static void shape_make(const struct play *play, bool some, struct shape *shape)
{
    for (uint32_t i = 0; i < (some ? (uint32_t)S_COLUMNS : (uint32_t)A_COLUMNS); i++) {
        uint32_t of_all = some ? as_all[i] : i;
        if ((of_all == A_WORD && !play->wide) || (of_all == A_BODY && !play->longs)) continue;
        shape->as_all[shape->count] = of_all;
        shape->columns[shape->count++] = some ? some_columns[i] : all_columns[i];
    }
}

/* Modes that keep old versions have no long values. */
static bool tables_open(struct play *play)
{
    struct cellar_table_def all = *CELLAR_TABLE(struct all, play->shapes[0].columns, .name = "rows", .rows = 1000);
    struct cellar_table_def some = *CELLAR_TABLE(struct some, play->shapes[1].columns, .name = "rows");
    shape_make(play, false, &play->shapes[0]);
    shape_make(play, true, &play->shapes[1]);
    all.column_count = play->shapes[0].count;
    some.column_count = play->shapes[1].count;
    int rc = cellar_table_open(play->db, &all, 0, &play->all);
    if (rc == CELLAR_UNSUPPORTED && play->longs) return false;
    ok(rc);
    ok(cellar_table_open(play->db, &some, 0, &play->some));
    return true;
}

static void rows_are_compared(bool wide, bool longs, uint32_t bits, uint32_t share)
{
    static struct play play; /* models of all savepoints */
    hash_bits(bits);
    for (uint32_t variant = 0; variant < 2 * MODES; variant++) {
        uint32_t txns = share_rounds(variant < 2 ? TXNS / share : TXNS / 10 / share);
        play = (struct play){.wide = wide, .longs = longs, .places_meet = longs && bits};
        prng_seed(&play.prng, 20 + variant);
        for (uint32_t i = 0; i < sizeof blob; i++) blob[i] = (uint8_t)prng_next(&play.prng);
        if (!database_open(&play.db, modes[variant / 2], variant % 2)) continue;
        bool opened = tables_open(&play);
        for (uint32_t i = 0; i < txns && opened; i++) transaction(&play);
        face_close(play.db);
    }
    hash_bits(0);
}

static void rows_are_those_of_the_array(void **state)
{
    (void)state;
    rows_are_compared(false, false, 0, 1);
}

static void rows_of_wide_keys_are_too(void **state)
{
    (void)state;
    rows_are_compared(true, false, 0, 2);
    rows_are_compared(true, false, 4, 2);
    rows_are_compared(true, false, 1, 8);
}

static void rows_with_long_values_are_too(void **state)
{
    (void)state;
    rows_are_compared(false, true, 0, 4);
    rows_are_compared(true, true, 0, 8);
    rows_are_compared(true, true, 6, 8);
}

/* ---- by threads that meet: rows come and go, and what they count does not ---- */

#define THREADS 4
#define THREAD_TXNS 400
#define COUNTERS 3

struct counter {
    uint32_t id;
    int64_t n;
    int32_t thread; /* whose it is; -1: all threads' */
    char kind[3];
};
enum { C_ID, C_THREAD, C_N, C_KIND }; /* the last one is of wide keys only */
static const struct cellar_column counter_columns[] = {
    {CELLAR_FIELD(struct counter, id), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct counter, thread), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct counter, n)},
    {CELLAR_FIELD(struct counter, kind), .flags = CELLAR_KEY},
};

struct meeting {
    struct cellar *db;
    const struct cellar_table *counters;
    int32_t thread;
    uint64_t seed;
    uint32_t id;
    bool takes;
    int64_t blind; /* what this thread has put last, without a look */
};

/* One more; or the row goes, and what it has counted is added to another one. */
static int count(struct cellar_txn *txn, void *arg)
{
    struct meeting *meeting = arg;
    struct counter counter = {.id = meeting->id, .thread = -1}, sum = {.id = COUNTERS, .thread = -1};
    struct counter own = {.id = meeting->id, .thread = meeting->thread, .n = meeting->blind + 1};
    int rc = cellar_get(txn, meeting->counters, CELLAR_COL(C_N), 0, &counter);
    if (rc && rc != CELLAR_NOT_FOUND) return rc;
    if (rc) counter.n = 0;
    if (!meeting->takes) {
        counter.n++;
        rc = cellar_put(txn, meeting->counters, CELLAR_ALL, &counter);
        return rc ? rc : cellar_put(txn, meeting->counters, CELLAR_ALL, &own);
    }
    rc = cellar_get(txn, meeting->counters, CELLAR_COL(C_N), 0, &sum);
    if (rc && rc != CELLAR_NOT_FOUND) return rc;
    sum.n = (rc ? 0 : sum.n) + counter.n;
    rc = cellar_put(txn, meeting->counters, CELLAR_ALL, &sum);
    if (rc == 0) rc = cellar_delete(txn, meeting->counters, &own);
    return rc ? rc : cellar_delete(txn, meeting->counters, &counter);
}

struct found {
    const struct cellar_table *counters;
    struct counter counter;
};

static int find(struct cellar_txn *txn, void *arg)
{
    struct found *found = arg;
    return cellar_get(txn, found->counters, CELLAR_ALL, 0, &found->counter);
}

static void *counts(void *arg)
{
    struct meeting *meeting = arg;
    struct prng prng;
    int64_t committed = 0, last[COUNTERS] = {0};
    prng_seed(&prng, meeting->seed);
    for (uint32_t i = 0; i < share_rounds(THREAD_TXNS); i++) {
        meeting->id = (uint32_t)prng_below(&prng, COUNTERS);
        meeting->takes = prng_below(&prng, 4) == 0;
        meeting->blind = last[meeting->id];
        if (cellar_run(meeting->db, count, meeting, NULL, NULL)) return meeting;
        committed += !meeting->takes;
        last[meeting->id] = meeting->takes ? 0 : meeting->blind + 1;
    }
    /* Other threads do not write its own rows: what it has put last is there, and nothing that it has deleted. */
    for (uint32_t id = 0; id < COUNTERS; id++) {
        struct found found = {meeting->counters, {.id = id, .thread = meeting->thread}};
        int rc = cellar_run(meeting->db, find, &found, NULL, NULL);
        if (rc != (last[id] ? 0 : CELLAR_NOT_FOUND) || (rc == 0 && found.counter.n != last[id])) return meeting;
    }
    meeting->blind = committed;
    return NULL;
}

static void counted(bool wide, uint32_t bits)
{
    struct cellar_table_def def = *CELLAR_TABLE(struct counter, counter_columns, .name = "counters");
    def.column_count -= !wide;
    hash_bits(bits);
    for (uint32_t mode = 0; mode < MODES; mode++) {
        struct meeting meetings[THREADS] = {{0}};
        pthread_t threads[THREADS];
        struct cellar_txn *txn;
        int64_t committed = 0, there = 0;
        int wrong = 0;
        struct cellar *db;
        const struct cellar_table *counters;
        if (!database_open(&db, modes[mode], 0)) continue;
        ok(cellar_table_open(db, &def, 0, &counters));
        for (int32_t i = 0; i < THREADS; i++) {
            meetings[i] = (struct meeting){.db = db, .counters = counters, .thread = i, .seed = (uint64_t)i + mode};
            assert_int_equal(pthread_create(&threads[i], NULL, counts, &meetings[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            wrong += failed != NULL;
            committed += meetings[i].blind;
        }
        assert_int_equal(wrong, 0);
        ok(cellar_begin(db, NULL, &txn));
        for (uint32_t id = 0; id <= COUNTERS; id++) {
            struct counter counter = {.id = id, .thread = -1};
            int rc = cellar_get(txn, counters, CELLAR_ALL, 0, &counter);
            if (rc != CELLAR_NOT_FOUND) ok(rc);
            if (rc == 0) there += counter.n;
        }
        cellar_abort(txn);
        assert_int_equal(there, committed);
        face_close(db);
    }
    hash_bits(0);
}

static void what_rows_count_is_not_lost(void **state)
{
    (void)state;
    counted(false, 0);
    counted(true, 0);
    counted(true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_array), cmocka_unit_test(rows_of_wide_keys_are_too),
        cmocka_unit_test(rows_with_long_values_are_too), cmocka_unit_test(what_rows_count_is_not_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
