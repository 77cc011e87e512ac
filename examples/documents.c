/*
 * documents.c - texts of any length, each with how often it was changed: strings that lie beside their rows.
 *
 *     cc -O2 documents.c $(pkg-config --cflags --libs cellar) -pthread -o documents && ./documents
 */
#include <cellar.h>

#include <stdio.h>
#include <stdlib.h>

enum { DOCUMENTS = 8, SYLLABLE = 5 };

struct document {
    uint64_t number, changes;
    struct cellar_bytes text;
};
enum { NUMBER, CHANGES, TEXT };
/* Without bytes_max a text has up to CELLAR_VALUE_BYTES_MAX bytes. */
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct document, number), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct document, changes)},
                                               {CELLAR_FIELD(struct document, text)}};

struct work {
    struct cellar *db;
    const struct cellar_table *documents;
    uint64_t number;
    size_t bytes; /* of the text, as it was read */
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void check(int rc, const char *what)
{
    if (rc < 0) fail(what, cellar_last_error()->text);
}

static int begin_one(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    return cellar_insert(txn, work->documents,
                         &(struct document){.number = work->number, .text = CELLAR_TEXT("once ")});
}

/* Twice as long as it was, and one change more: both, or neither. What is put is copied, what is got is lent. */
static int double_one(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    struct document document = {.number = work->number};
    int rc = cellar_get(txn, work->documents, CELLAR_ALL, 0, &document);
    if (rc) return rc;
    size_t bytes = document.text.bytes;
    char *twice = malloc(2 * bytes);
    if (!twice) fail("a longer text", "no memory");
    memcpy(twice, document.text.data, bytes);
    memcpy(twice + bytes, document.text.data, bytes);
    document.text = (struct cellar_bytes){twice, 2 * bytes};
    document.changes++;
    rc = cellar_put(txn, work->documents, CELLAR_COL(CHANGES) | CELLAR_COL(TEXT), &document);
    free(twice);
    return rc;
}

/* The text is "once " as often as its changes say. */
static int take_one(struct cellar_txn *txn, void *arg)
{
    struct work *work = arg;
    struct document document = {.number = work->number};
    int rc = cellar_get(txn, work->documents, CELLAR_ALL, 0, &document);
    if (rc) return rc;
    work->bytes = document.text.bytes;
    bool right = work->bytes == (size_t)SYLLABLE << document.changes;
    const char *text = document.text.data;
    for (size_t at = 0; at < work->bytes && right; at += SYLLABLE) right = memcmp(text + at, "once ", SYLLABLE) == 0;
    return right ? cellar_delete(txn, work->documents, &document) : 1;
}

int main(void)
{
    struct work work = {.number = 0};
    check(cellar_open(NULL, NULL, &work.db), "open");
    check(cellar_table_open(work.db, CELLAR_TABLE(struct document, columns, .name = "documents", .rows = 100), 0,
                            &work.documents),
          "the table");
    for (; work.number < DOCUMENTS; work.number++) {
        check(cellar_run(work.db, begin_one, &work, NULL, NULL), "a new document");
        for (uint64_t i = 0; i < 2 * work.number; i++)
            check(cellar_run(work.db, double_one, &work, NULL, NULL), "a longer text");
    }
    for (work.number = 0; work.number < DOCUMENTS; work.number++) {
        int rc = cellar_run(work.db, take_one, &work, NULL, NULL);
        check(rc, "taking a document out");
        if (rc) fail("a document", "its text is not as long as its changes say");
        printf("document %d has %zu bytes\n", (int)work.number, work.bytes);
    }
    check(cellar_close(work.db), "close");
    return 0;
}
