/*
 * face_model.h - a table of typed columns, shown by two structs, and the array that random transactions on it are
 * compared with.
 */
#pragma once

#include "cellar_proc.h"
#include "face_calls.h"
#include "prng.h"

#include <stdbool.h>

#define KEYS 24
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

/* How rows are ordered: by columns, the first so many of which count at the ends of ranges; no two rows are equal. */
struct order {
    const struct cellar_index *index; /* NULL: by the key */
    uint32_t count, total;
    struct {
        uint32_t column;
        bool down;
    } columns[A_COLUMNS];
};
#define ORDERS 3

struct play {
    struct prng prng;
    struct cellar *db;
    const struct cellar_table *all, *some;
    bool wide, longs, places_meet; /* those of long values, by short hashes: then a commit draws another one */
    struct shape shapes[2];        /* of all, and of some */
    bool locks;                    /* the mode locks what it reads: procedures only */
    bool runs;                     /* a procedure does, whose reads may lock: it puts such rows at once */
    bool ordered;                  /* the table has indexes */
    struct order orders[ORDERS];
    uint32_t cursors; /* that the transaction has open */
    bool scanned;     /* ... and it has read nodes of indexes, which its own changes may have to be made room in */
    uint64_t scans, retries;
    struct cellar_txn *txn;
    const struct cellar_proc *procedure;
    struct model committed, now, saved[SAVEPOINTS];
    int savepoints, rolled_to, saved_owes[SAVEPOINTS];
    bool known[KEYS];   /* the transaction has looked, or has written: what a call takes for granted is told at once */
    int owes, owes_too; /* a call has returned 0 that the commit will refuse, with this code; or with another's */
};

static inline uint32_t drawn(struct play *play, uint32_t below) { return (uint32_t)prng_below(&play->prng, below); }

static inline void key_of(const struct play *play, uint32_t key, struct all *row)
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

static inline struct cellar_bytes drawn_text(struct play *play, uint32_t most)
{
    uint32_t bytes = drawn(play, drawn(play, 3) ? 50 : most + 1);
    if (bytes > most) bytes = most;
    return (struct cellar_bytes){blob + drawn(play, (uint32_t)sizeof blob - bytes), bytes};
}

static inline struct all drawn_row(struct play *play, uint32_t key)
{
    struct all row = {.flag = drawn(play, 2), .real = drawn(play, 9) / 8.0 - 0.5, .small = (float)drawn(play, 99)};
    row.number = (int64_t)prng_next(&play->prng);
    for (size_t i = 0; i < sizeof row.text; i++) row.text[i] = (uint8_t)drawn(play, 256);
    row.note = drawn_text(play, NOTE_MAX);
    if (play->longs) row.body = drawn_text(play, drawn(play, 50) ? 3000 : 60000);
    key_of(play, key, &row);
    return row;
}

static inline void column_copy(struct all *to, const struct all *from, uint32_t column)
{
    const struct cellar_column *at = &all_columns[column];
    memcpy((uint8_t *)to + at->offset, (const uint8_t *)from + at->offset, at->bytes);
}

static inline void columns_copy(struct all *to, const struct all *from, uint64_t columns)
{
    for (uint32_t i = 0; i < A_COLUMNS; i++)
        if (columns >> i & 1) column_copy(to, from, i);
}

static inline void texts_are_equal(struct cellar_bytes a, struct cellar_bytes b)
{
    assert_int_equal(a.bytes, b.bytes);
    if (a.bytes) assert_memory_equal(a.data, b.data, a.bytes);
}

static inline void columns_are_equal(const struct all *a, const struct all *b)
{
    texts_are_equal(a->note, b->note);
    texts_are_equal(a->body, b->body);
    texts_are_equal(a->word, b->word);
    for (uint32_t i = 0; i < A_COLUMNS; i++) {
        const struct cellar_column *at = &all_columns[i];
        if (at->type != CELLAR_BYTES)
            assert_memory_equal((const uint8_t *)a + at->offset, (const uint8_t *)b + at->offset, at->bytes);
    }
}

/* A set of a struct's columns, by their numbers in `all`; *own as the call takes it. */
static inline uint64_t drawn_columns(struct play *play, bool some, uint64_t *own)
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

static inline void to_some(const struct all *row, struct some *some)
{
    *some = (struct some){row->number, row->high, row->flag, row->word, row->note, row->low};
}
static inline void of_some(const struct some *some, struct all *row)
{
    row->number = some->number;
    row->high = some->high;
    row->flag = some->flag;
    row->low = some->low;
    row->word = some->word;
    row->note = some->note;
}

/* A call may end with RETRY, though no other transaction runs. */
static inline bool may_retry(struct play *play)
{
    play->retries += play->scanned;
    return play->scanned || play->places_meet;
}

static inline void owe(struct play *play, int code)
{
    play->owes_too = play->owes;
    play->owes = code;
}

/* A call has come to RETRY: so will the commit. */
static inline bool retried(struct play *play, int rc)
{
    if (rc == CELLAR_RETRY && may_retry(play)) owe(play, rc);
    return rc && play->owes == rc;
}
