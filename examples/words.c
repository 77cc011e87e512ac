/*
 * words.c - counts words: a table whose keys are strings, and an index that gives them in order.
 *
 *     cc words.c -pthread $(pkg-config --cflags --libs cellar) -o words && ./words
 */
#include <cellar.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 24

struct word {
    CELLAR_KEY(WORD_MAX) key;
    uint64_t count;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct word, key),
                                                      CELLAR_COLUMN(struct word, count)};
enum { KEY, COUNT };

static const char text[] = "the quick fox and the lazy dog and the other fox";

struct work {
    const struct cellar_table *words;
    const char *word;
    uint32_t bytes;
};

static _Noreturn void ends(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* One more of this word; a new one begins with 1. */
static int count(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    struct word row = {.count = 1};
    uint64_t record;
    int code = cellar_txn_find(txn, work->words, work->word, work->bytes, &record);
    if (code == CELLAR_NOT_FOUND) {
        code = cellar_key_set(&row.key, sizeof row.key, work->word, work->bytes);
        return code ? code : cellar_txn_add(txn, work->words, &row, NULL);
    }
    if (code == 0) code = cellar_txn_get(txn, work->words, record, COUNT, &row.count);
    row.count++;
    return code ? code : cellar_txn_put(txn, work->words, record, COUNT, &row.count);
}

/* Prints the words from one on, and adds up their counts. */
static int print(struct cellar *db, const struct cellar_table *words, const struct cellar_index *index, uint64_t *sum)
{
    struct cellar_txn *txn;
    struct cellar_range all = {.low = {0}};
    uint64_t records[64];
    int code = cellar_begin(db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn);
    if (code) return code;
    int found = cellar_txn_scan(txn, index, &all, CELLAR_ALL_CELLS, 0, records, 64);
    for (int i = 0; i < found && code == 0; i++) {
        struct word word = {.count = 0};
        code = cellar_txn_get(txn, words, records[i], KEY, &word.key);
        if (code == 0) code = cellar_txn_get(txn, words, records[i], COUNT, &word.count);
        printf("%3" PRIu64 "  %.*s\n", word.count, (int)word.key.bytes, (const char *)word.key.text);
        *sum += word.count;
    }
    int end = cellar_commit(txn, NULL);
    return found < 0 ? found : code ? code : end;
}

int main(void)
{
    struct cellar *db;
    const struct cellar_index *by_key;
    struct work work;
    uint64_t sum = 0, told = 0;
    const struct cellar_schema schema = {.name = "words",
                                         .row_bytes = sizeof(struct word),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = 1000,
                                         .key_bytes = WORD_MAX};
    const struct cellar_schema_index_column by[] = {{"key", CELLAR_SORT_BYTES, false}};
    const struct cellar_schema_index def = {.name = "by_key", .columns = by, .column_count = 1};

    if (cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20), &db) || cellar_table_create(db, &schema, &work.words) ||
        cellar_index_create(db, work.words, &def, &by_key))
        ends("opening", cellar_last_error()->text);
    for (const char *at = text; *at; at += work.bytes + (at[work.bytes] == ' ')) {
        work.word = at;
        work.bytes = (uint32_t)strcspn(at, " ");
        int code = cellar_run(db, count, &work, NULL, NULL);
        if (code) ends("a word", cellar_strerror(code));
        told++;
    }
    int code = print(db, work.words, by_key, &sum);
    if (code) ends("printing", cellar_strerror(code));
    cellar_close(db);
    return sum == told ? 0 : 1;
}
