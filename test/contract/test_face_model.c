/*
 * test_face_model.c - random transactions on a table of typed columns, by two structs, against an array: what each call
 * returns and fills, savepoints, and what is there after each commit and abort.
 */
#include "cellar_cluster.h"
#include "face_calls.h"
#include "prng.h"
#include "share.h"

#include <stdio.h>

#define BYTES (16u << 20)
#define KEYS 24
#define TXNS 20000
#define CALLS_MAX 12
#define SAVEPOINTS 3

struct all {
    uint8_t text[13];
    int16_t high;
    uint32_t low;
    bool flag;
    double real;
    int64_t number;
    float small;
};
enum { A_TEXT, A_HIGH, A_LOW, A_FLAG, A_REAL, A_NUMBER, A_SMALL, A_COLUMNS };
static const struct cellar_column all_columns[A_COLUMNS] = {
    {CELLAR_FIELD(struct all, text)},
    {CELLAR_FIELD(struct all, high), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct all, low), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct all, flag), .cell = 2},
    {CELLAR_FIELD(struct all, real), .cell = 2},
    {CELLAR_FIELD(struct all, number)},
    {CELLAR_FIELD(struct all, small)},
};

struct some {
    int64_t number;
    int16_t high;
    bool flag;
    uint32_t low;
};
enum { S_HIGH, S_LOW, S_NUMBER, S_FLAG, S_COLUMNS };
static const struct cellar_column some_columns[S_COLUMNS] = {
    {CELLAR_FIELD(struct some, high), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct some, low), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct some, number)},
    {CELLAR_FIELD(struct some, flag)},
};
/* Of each column of `some` the number that it has in `all`. */
static const uint32_t as_all[S_COLUMNS] = {A_HIGH, A_LOW, A_NUMBER, A_FLAG};
#define KEY_COLUMNS (CELLAR_COL(A_HIGH) | CELLAR_COL(A_LOW))

struct model {
    bool there[KEYS];
    struct all rows[KEYS];
};

struct play {
    struct prng prng;
    struct cellar *db;
    const struct cellar_table *all, *some;
    struct cellar_txn *txn;
    struct model committed, now, saved[SAVEPOINTS];
    int savepoints;
    bool known[KEYS]; /* the transaction has looked, or has written: what a call takes for granted is told at once */
    int owes;         /* a call has returned 0 that the commit will refuse, with this code */
};

static uint32_t drawn(struct play *play, uint32_t below) { return (uint32_t)prng_below(&play->prng, below); }

static void key_of(uint32_t key, struct all *row)
{
    row->high = (int16_t)((int)(key % 5) - 2);
    row->low = key / 5 * 0x33333333u;
}

static struct all drawn_row(struct play *play, uint32_t key)
{
    struct all row = {.flag = drawn(play, 2), .real = drawn(play, 1000) / 8.0, .small = (float)drawn(play, 99)};
    row.number = (int64_t)prng_next(&play->prng);
    for (size_t i = 0; i < sizeof row.text; i++) row.text[i] = (uint8_t)drawn(play, 256);
    key_of(key, &row);
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

static void columns_are_equal(const struct all *a, const struct all *b)
{
    for (uint32_t i = 0; i < A_COLUMNS; i++) {
        const struct cellar_column *at = &all_columns[i];
        assert_memory_equal((const uint8_t *)a + at->offset, (const uint8_t *)b + at->offset, at->bytes);
    }
}

/* A set of a struct's columns, by their numbers in `all`; *own as the call takes it. */
static uint64_t drawn_columns(struct play *play, bool some, uint64_t *own)
{
    uint64_t columns = 0, all = 0;
    uint32_t count = some ? S_COLUMNS : A_COLUMNS;
    *own = drawn(play, 3) ? drawn(play, 1u << count) : drawn(play, 2) ? CELLAR_ALL : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bit = CELLAR_COL(some ? as_all[i] : i);
        all |= bit;
        if (*own >> i & 1) columns |= bit;
    }
    return *own == 0 ? all : columns;
}

static void to_some(const struct all *row, struct some *some)
{
    *some = (struct some){row->number, row->high, row->flag, row->low};
}
static void of_some(const struct some *some, struct all *row)
{
    row->number = some->number;
    row->high = some->high;
    row->flag = some->flag;
    row->low = some->low;
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
    uint64_t own, columns = drawn_columns(play, some, &own), all = some ? 0 : CELLAR_COL(A_COLUMNS) - 1;
    for (uint32_t i = 0; i < S_COLUMNS && some; i++) all |= CELLAR_COL(as_all[i]);
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
    memset(play->known, 0, sizeof play->known);
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
    assert_int_equal(cellar_commit(play->txn, NULL), play->owes);
    if (!play->owes) play->committed = play->now;
}

static void rows_are_those_of_the_array(void **state)
{
    struct play play = {0};
    uint32_t txns = share_rounds(TXNS);
    (void)state;
    prng_seed(&play.prng, 20);
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &play.db));
    ok(cellar_table_open(play.db, CELLAR_TABLE(struct all, all_columns, .name = "rows"), 0, &play.all));
    ok(cellar_table_open(play.db, CELLAR_TABLE(struct some, some_columns, .name = "rows"), 0, &play.some));
    for (uint32_t i = 0; i < txns; i++) transaction(&play);
    ok(cellar_cluster_audit(play.db));
    ok(cellar_close(play.db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_those_of_the_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
