/* typed_people.h - tables of typed columns with orders, for tests of cursors and of definitions. */
#pragma once

#include "face_calls.h"

#include <stdbool.h>

#define BYTES (32u << 20)

struct person {
    uint64_t id;
    struct cellar_bytes city, note;
    int32_t age;
    double score;
};
enum { ID, CITY, AGE, SCORE, NOTE };
static const struct cellar_column columns[] = {
    {CELLAR_FIELD(struct person, id), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct person, city), .bytes_max = 12},
    {CELLAR_FIELD(struct person, age)},
    {CELLAR_FIELD(struct person, score)},
    {CELLAR_FIELD(struct person, note), .bytes_max = 100},
};
static const struct cellar_index_def indexes[] = {{.name = "by_city", .columns = "city, -age"},
                                                  {.name = "by_score", .columns = " score ", .covers = "age, city"}};

/* A word of a language. */
struct word {
    char language[2];
    struct cellar_bytes text;
    uint32_t seen;
};
enum { LANGUAGE, TEXT, SEEN };
static const struct cellar_column word_columns[] = {
    {CELLAR_FIELD(struct word, language), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct word, text), .bytes_max = 20, .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct word, seen)},
};
static const struct cellar_index_def word_indexes[] = {
    {.name = "by_seen", .columns = "-seen"},
    {.name = "by_text", .columns = "text"},
    {.name = "one", .columns = "seen, language", .flags = CELLAR_UNIQUE}};

struct place {
    struct cellar *db;
    const struct cellar_table *people, *words;
    const struct cellar_index *by_city, *by_score, *by_seen, *by_text, *one;
};

static const struct cellar_table_def *people_def(void)
{
    static struct cellar_table_def def;
    def = *CELLAR_TABLE(struct person, columns, .name = "people", CELLAR_INDEXES(indexes), .flags = CELLAR_ORDERED);
    return &def;
}

static const struct cellar_table_def *words_def(uint32_t index_count)
{
    static struct cellar_table_def def;
    def = *CELLAR_TABLE(struct word, word_columns, .name = "words", .indexes = index_count ? word_indexes : NULL,
                        .index_count = index_count, .flags = CELLAR_ORDERED);
    return &def;
}

static inline void tables_open(struct place *place)
{
    ok(cellar_table_open(place->db, people_def(), 0, &place->people));
    ok(cellar_table_open(place->db, words_def(2), 0, &place->words));
    place->by_city = cellar_index_find(place->people, "by_city");
    place->by_score = cellar_index_find(place->people, "by_score");
    place->by_seen = cellar_index_find(place->words, "by_seen");
    place->by_text = cellar_index_find(place->words, "by_text");
    assert_true(place->by_city && place->by_score && place->by_seen && place->by_text);
}

static inline void place_open(struct place *place)
{
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &place->db));
    tables_open(place);
}

static inline struct person person_of(uint64_t id, const char *city, int32_t age)
{
    return (struct person){.id = id, .city = CELLAR_TEXT(city), .age = age, .score = (double)age / 2};
}

static inline struct word word_of(const char *language, const char *text, uint32_t seen)
{
    struct word word = {.text = CELLAR_TEXT(text), .seen = seen};
    memcpy(word.language, language, sizeof word.language);
    return word;
}

static inline void committed(struct cellar_txn *txn) { ok(cellar_commit(txn, NULL)); }

static inline void people_insert(const struct place *place)
{
    static const char *const cities[] = {"Bonn", "Bo", "", "Rome", "Bonn"};
    struct cellar_txn *txn = face_begun(place->db);
    for (uint64_t id = 1; id <= 20; id++) {
        struct person person = person_of(id, cities[id % 5], (int32_t)(id % 3) - 1);
        ok(cellar_insert(txn, place->people, &person));
    }
    committed(txn);
}

static inline void words_insert(const struct place *place)
{
    static const char *const texts[] = {"pear", "pea", "", "pears", "plum"};
    struct cellar_txn *txn = face_begun(place->db);
    for (uint32_t i = 0; i < 15; i++) {
        struct word word = word_of(i % 3 ? "en" : "de", texts[i / 3], i % 4);
        if (i % 3 == 2) word.language[1] = 'o';
        ok(cellar_insert(txn, place->words, &word));
    }
    committed(txn);
}

/* All rows of a scan, in pages of so many; how many. Rows are of row_bytes. */
static inline int all_of(struct cellar_txn *txn, const struct cellar_scan *scan, uint32_t page, void *rows)
{
    struct cellar_cursor *cursor;
    int all = 0, count = (int)page;
    ok(cellar_cursor_open(txn, scan, &cursor));
    while (count == (int)page) {
        ok(count =
               (cellar_cursor_next)(cursor, page, (uint8_t *)rows + (size_t)all * scan->row_bytes, scan->row_bytes));
        all += count;
    }
    cellar_cursor_close(cursor);
    return all;
}

static inline bool text_is(struct cellar_bytes text, const char *is)
{
    return text.bytes == strlen(is) && !memcmp(text.data, is, text.bytes);
}
