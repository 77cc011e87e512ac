/*
 * test_face_large.c - many rows in one transaction, in a folder: they are there after a process that did not close, and
 * one that is too long for the folder's log is refused before anything is done. docs/large.md.
 */
#include "face_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS 5000
#define LOG_BYTES (64u << 20) /* an entry takes a quarter of it */

struct row {
    uint64_t id;
    int64_t n;
    char text[120];
};
enum { ID, N, TEXT };
static const struct cellar_index_def by_n = {.name = "by_n", .columns = "n, -id"};
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct row, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct row, n)},
                                               {CELLAR_FIELD(struct row, text)}};

struct place {
    char folder[40], path[64];
    struct cellar *db;
    const struct cellar_table *rows;
};

static void place_open(struct place *place)
{
    ok(cellar_open(place->path, CELLAR_OPTIONS(.bytes = 128u << 20, .log_bytes = LOG_BYTES), &place->db));
    ok(cellar_table_open(
        place->db,
        CELLAR_TABLE(struct row, columns, .name = "rows", .flags = CELLAR_ORDERED, .indexes = &by_n, .index_count = 1),
        0, &place->rows));
}

static struct cellar_txn *rows_put(const struct place *place, uint64_t count, int64_t n)
{
    struct row row = {.n = n};
    struct cellar_txn *txn = face_begun(place->db);
    memset(row.text, 'a' + (int)n, sizeof row.text);
    for (row.id = 0; row.id < count; row.id++) ok(cellar_put(txn, place->rows, CELLAR_ALL, &row));
    return txn;
}

/* Does that order show all of them, once, from the first or the last one on? */
static bool are_in(const struct place *place, const struct cellar_index *index, int64_t n)
{
    static struct row rows[512];
    struct cellar_txn *txn = face_begun(place->db);
    struct cellar_cursor *cursor;
    uint64_t seen = 0;
    bool all = true;
    int got = cellar_cursor_open(
        txn, CELLAR_SCAN(struct row, place->rows, .index = index, .columns = CELLAR_COL(ID) | CELLAR_COL(N)), &cursor);
    ok(got);
    while ((got = cellar_cursor_next(cursor, 512, rows)) > 0)
        for (int i = 0; i < got; i++, seen++)
            all = all && rows[i].n == n && rows[i].id == (index ? ROWS - 1 - seen : seen);
    ok(got);
    cellar_abort(txn);
    return all && seen == ROWS;
}

/* Has each row that number, and no other one is there? */
static bool are_there(const struct place *place, int64_t n)
{
    struct cellar_txn *txn = face_begun(place->db);
    bool all = are_in(place, NULL, n) && are_in(place, cellar_index_find(place->rows, "by_n"), n);
    for (uint64_t id = 0; id < ROWS && all; id++) {
        struct row row = {.id = id};
        all = cellar_get(txn, place->rows, CELLAR_ALL, 0, &row) == 0 && row.n == n && row.text[119] == 'a' + (int)n;
    }
    all = all && cellar_get(txn, place->rows, CELLAR_ALL, 0, &(struct row){.id = ROWS}) == CELLAR_NOT_FOUND;
    cellar_abort(txn);
    return all;
}

/* Its process ends with the commit. */
static void commit_and_die(struct place *place, int64_t n)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        place_open(place);
        _exit(cellar_commit(rows_put(place, ROWS, n), NULL) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void many_rows_are_there(void **state)
{
    struct place place = {.folder = "/tmp/cellar-large-XXXXXX"};
    char command[64];
    (void)state;
    assert_non_null(mkdtemp(place.folder));
    snprintf(place.path, sizeof place.path, "%s/folder", place.folder);
    for (int64_t n = 1; n <= 2; n++) { /* inserted, then changed */
        commit_and_die(&place, n);
        place_open(&place);
        assert_true(are_there(&place, n));
        face_close(place.db);
    }
    place_open(&place);
    refused(cellar_commit(rows_put(&place, 16 * ROWS, 3), NULL), CELLAR_TOO_LARGE,
            "a quarter of the folder's log: raise log_bytes, 16777216");
    assert_true(are_there(&place, 2));
    ok(cellar_commit(rows_put(&place, ROWS, 3), NULL)); /* in an extent that there is already */
    assert_true(are_there(&place, 3));
    face_close(place.db);
    snprintf(command, sizeof command, "rm -rf %s", place.folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_rows_are_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
