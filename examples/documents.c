/*
 * documents.c - texts of any length under numbers, each with how often it was changed: values of variable length.
 *
 *     cc documents.c -pthread $(pkg-config --cflags --libs cellar) -o documents && ./documents
 */
#include <cellar.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENTS 8
#define LONGEST 300000

struct document {
    uint64_t changes;
    CELLAR_VALUE(40) text; /* short ones stay in the row */
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct document, changes),
                                                      CELLAR_COLUMN(struct document, text)};
enum { CHANGES, TEXT };

struct work {
    const struct cellar_table *documents;
    uint64_t number;
    char *text; /* LONGEST bytes */
    size_t bytes;
};

static _Noreturn void ends(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static int begin_one(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    struct document row = {.changes = 0};
    int code = cellar_value_set(&row.text, sizeof row.text, "once ", 5);
    return code ? code : cellar_txn_insert(txn, work->documents, work->number, &row);
}

/* Twice as long as it was, and one change more: both, or neither. */
static int double_one(struct cellar_txn *txn, void *arg)
{
    struct work *work = arg;
    uint64_t changes;
    int code = cellar_txn_get_bytes(txn, work->documents, work->number, TEXT, work->text, LONGEST / 2, &work->bytes);
    if (code == 0) code = cellar_txn_get(txn, work->documents, work->number, CHANGES, &changes);
    if (code) return code;
    memcpy(work->text + work->bytes, work->text, work->bytes);
    changes++;
    code = cellar_txn_put_bytes(txn, work->documents, work->number, TEXT, work->text, 2 * work->bytes);
    return code ? code : cellar_txn_put(txn, work->documents, work->number, CHANGES, &changes);
}

/* The text is "once " as often as its changes say. */
static int check_one(struct cellar_txn *txn, void *arg)
{
    struct work *work = arg;
    uint64_t changes;
    int code = cellar_txn_get_bytes(txn, work->documents, work->number, TEXT, work->text, LONGEST, &work->bytes);
    if (code == 0) code = cellar_txn_get(txn, work->documents, work->number, CHANGES, &changes);
    if (code) return code;
    bool right = work->bytes == (size_t)5 << changes;
    for (size_t at = 0; at < work->bytes && right; at += 5) right = memcmp(work->text + at, "once ", 5) == 0;
    return right ? 0 : CELLAR_USER_ABORT;
}

static int delete_one(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    return cellar_txn_delete(txn, work->documents, work->number);
}

static void run(struct cellar *db, cellar_txn_fn fn, struct work *work, const char *what)
{
    if (cellar_run(db, fn, work, NULL, NULL) == 0) return;
    ends(what, cellar_last_error()->text);
}

int main(void)
{
    struct cellar *db;
    struct work work = {.text = malloc(LONGEST)};
    const struct cellar_schema schema = {.name = "documents",
                                         .row_bytes = sizeof(struct document),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = 100,
                                         .variable = CELLAR_BIT(TEXT),
                                         .long_bytes = DOCUMENTS * LONGEST};

    if (!work.text) ends("a buffer", "no memory");
    if (cellar_open(NULL, CELLAR_OPTIONS(.bytes = 64u << 20), &db) || cellar_table_create(db, &schema, &work.documents))
        ends("opening", cellar_last_error()->text);
    for (work.number = 0; work.number < DOCUMENTS; work.number++) {
        run(db, begin_one, &work, "a new document");
        for (uint64_t i = 0; i < 2 * work.number; i++) run(db, double_one, &work, "a longer one");
    }
    for (work.number = 0; work.number < DOCUMENTS; work.number++) {
        run(db, check_one, &work, "a document");
        printf("document %d has %zu bytes\n", (int)work.number, work.bytes);
        run(db, delete_one, &work, "deleting");
    }
    cellar_close(db);
    free(work.text);
    return 0;
}
