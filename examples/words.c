/*
 * words.c - counts words: rows whose key is a string, all of them in order, and those with a common beginning.
 *
 *     cc -O2 words.c $(pkg-config --cflags --libs cellar) -pthread -o words && ./words
 */
#include <cellar.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS_MAX = 64 };

struct word {
    struct cellar_bytes text;
    uint64_t count;
};
enum { TEXT, COUNT };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct word, text), .flags = CELLAR_KEY, .bytes_max = 24},
                                               {CELLAR_FIELD(struct word, count)}};

static const char text[] = "the quick fox and the lazy dog and the other fox then";

struct work {
    struct cellar *db;
    const struct cellar_table *words;
    struct cellar_bytes word;
};

static void check(int rc, const char *what)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", what, cellar_last_error()->text);
    exit(1);
}

/* One more of this word. A put of all columns makes the row where there is none. */
static int count(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    struct word word = {.text = work->word};
    int rc = cellar_get(txn, work->words, CELLAR_COL(COUNT), 0, &word);
    if (rc && rc != CELLAR_NOT_FOUND) return rc;
    word.count++;
    return cellar_put(txn, work->words, CELLAR_ALL, &word);
}

/* Prints the words that begin so, in order; returns the sum of their counts. */
static uint64_t print(const struct work *work, const char *prefix)
{
    struct word words[WORDS_MAX], begin = {.text = CELLAR_TEXT(prefix)};
    struct cellar_txn *txn;
    struct cellar_cursor *cursor;
    uint64_t sum = 0;
    check(cellar_begin(work->db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn), "begin");
    check(cellar_cursor_open(
              txn, CELLAR_SCAN(struct word, work->words, .flags = CELLAR_PREFIX, CELLAR_EQUAL(1, &begin)), &cursor),
          "opening a cursor");
    int found = cellar_cursor_next(cursor, WORDS_MAX, words);
    check(found, "reading");
    printf("words with \"%s\":\n", prefix);
    for (int i = 0; i < found; i++) {
        printf("%5" PRIu64 "  %.*s\n", words[i].count, (int)words[i].text.bytes, (const char *)words[i].text.data);
        sum += words[i].count;
    }
    check(cellar_commit(txn, NULL), "commit"); /* the texts were lent until now */
    return sum;
}

int main(void)
{
    struct work work;
    uint64_t told = 0;
    check(cellar_open(NULL, NULL, &work.db), "open");
    check(cellar_table_open(work.db, CELLAR_TABLE(struct word, columns, .name = "words", .flags = CELLAR_ORDERED), 0,
                            &work.words),
          "the table");
    for (const char *at = text; *at; at += work.word.bytes + (at[work.word.bytes] == ' ')) {
        work.word = (struct cellar_bytes){at, strcspn(at, " ")};
        check(cellar_run(work.db, count, &work, NULL, NULL), "a word");
        told++;
    }
    bool right = print(&work, "") == told && print(&work, "the") == 4 && print(&work, "x") == 0;
    check(cellar_close(work.db), "close");
    return right ? 0 : 1;
}
