/*
 * session_cost.c - for test_session_instructions.sh: reads, changes and writes one row, N times. Arguments: `cells`, a
 * procedure of declared cells by cellar_lab_exec; `exec` and `call`, one that speaks rows by cellar_lab_exec and
 * cellar_proc_run; `rows`, interactive transactions; or `read`, those that read it and no more; and N.
 */
#include "numbered.h"

#include "cellar_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 1000
#define SETTLE_TURNS 10000
#define PLAIN "plain-ns=1000000000,shared-ns=1000000000" /* whatever else the machine does */

struct row {
    uint64_t key, value;
};
enum { KEY, VALUE };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct row, key), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct row, value)}};

struct work {
    const struct cellar_table *table;
    const struct cellar_proc *proc;
    uint64_t turns, key;
    bool reads; /* and no more */
};

static int fill(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    int code = 0;
    for (uint64_t key = 0; key < RECORDS && code == 0; key++)
        code = cellar_insert(txn, work->table, &(struct row){key, key});
    return code;
}

static int add_cells(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    uint64_t value = 0;
    int ref = cellar_proc_access(txn, work->table, work->key, 1, 1, 0);
    if (ref < 0) return ref;
    int code = cellar_proc_fetch(txn);
    if (code == 0) code = cellar_proc_get(txn, ref, 0, &value);
    value++;
    return code ? code : cellar_proc_put(txn, ref, 0, &value);
}

/* The same as a row. */
static int add_row(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    struct row row = {.key = work->key};
    int code = cellar_get(txn, work->table, CELLAR_COL(VALUE), CELLAR_COL(VALUE), &row);
    row.value++;
    return code ? code : cellar_put(txn, work->table, CELLAR_COL(VALUE), &row);
}

static int exec_all(struct cellar_lab_client *client, void *arg)
{
    struct work *work = arg;
    int code = 0;
    for (uint64_t i = 0; i < work->turns && code == 0; i++) {
        work->key = i * 7 % RECORDS;
        code = cellar_lab_exec(client, work->proc, work, NULL, NULL);
    }
    return code;
}

static int call_all(struct cellar *db, struct work *work)
{
    int code = 0;
    for (uint64_t i = 0; i < work->turns && code == 0; i++) {
        work->key = i * 7 % RECORDS;
        code = cellar_proc_run(db, work->proc, work, NULL, NULL);
    }
    return code;
}

/* An interactive one. */
static int add_session(struct cellar *db, const struct work *work, uint64_t key)
{
    struct cellar_txn *txn;
    struct row row = {.key = key};
    int code = cellar_begin(db, NULL, &txn);
    if (code) return code;
    code = cellar_get(txn, work->table, CELLAR_COL(VALUE), 0, &row);
    row.value++;
    if (code == 0 && !work->reads) code = cellar_put(txn, work->table, CELLAR_COL(VALUE), &row);
    return code ? code : cellar_commit(txn, NULL);
}

/*
 * Turns one after the other, with a pause, until calls go the plain way, as they do in shared memory where no thread
 * waits for a processor: a worker turns them, and callgrind lets one thread run at a time.
 */
static int settle(struct cellar *db, const struct work *work)
{
    struct cellar_lab_way way = {0};
    for (uint64_t i = 0; i < SETTLE_TURNS; i++) {
        int code = add_session(db, work, i % RECORDS);
        if (code) return code;
        cellar_lab_way_read(db, &way);
        if (way.plain == way.nodes) return 0;
        usleep(1000);
    }
    fprintf(stderr, "calls do not go the plain way\n");
    return CELLAR_DEADLINE;
}

/* Places of all rows are known by then. */
static int session_all(struct cellar *db, const struct work *work)
{
    int code = 0;
    for (uint64_t key = 0; key < RECORDS && code == 0; key++) code = add_session(db, work, key);
    for (uint64_t i = 0; i < work->turns && code == 0; i++) code = add_session(db, work, i * 7 % RECORDS);
    return code;
}

int main(int argc, char **argv)
{
    struct cellar *db;
    struct work work = {.turns = argc == 3 ? strtoull(argv[2], NULL, 10) : 0};
    bool cells = argc == 3 && strcmp(argv[1], "cells") == 0;
    const struct cellar_proc_def def = {
        .name = "add", .fn = cells ? add_cells : add_row, .records_max = 1, .writes_max = 1};
    if (!work.turns) return 2;
    work.reads = strcmp(argv[1], "read") == 0;
    int code = cellar_open(NULL, CELLAR_OPTIONS(.lab = CELLAR_LAB(.coros = 1, .way = PLAIN)), &db);
    if (code == 0)
        code =
            cellar_table_open(db, CELLAR_TABLE(struct row, columns, .name = "rows", .rows = RECORDS), 0, &work.table);
    if (code == 0) code = cellar_proc_register(db, &def, &work.proc);
    if (code == 0) code = cellar_run(db, fill, &work, NULL, NULL);
    if (code == 0) code = settle(db, &work);
    if (code == 0)
        code = strcmp(argv[1], "call") == 0                 ? call_all(db, &work)
               : work.reads || strcmp(argv[1], "rows") == 0 ? session_all(db, &work)
                                                            : cellar_lab_run(db, exec_all, &work);
    if (code) fprintf(stderr, "%s: %s %s\n", argv[1], cellar_strerror(code), cellar_last_error()->text);
    cellar_close(db);
    return code != 0;
}
