#!/bin/bash
# test_misuse.sh - what a compiler can refuse of a program that misuses the public headers: each case below, which
# compiles when its last line is left out, must not compile with -Wall -Werror.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LC_ALL=C
cases=0 failures=0

compiles() {
    printf '%s\n' "$1" '    return code;' '}' >"$folder/case.c"
    ${CC:-cc} -std=c11 -Wall -Werror -I"$here/include" -c -o "$folder/case.o" "$folder/case.c" 2>"$folder/out"
}
# misuse WHAT LINE: in a function that has these.
misuse() {
    local good='#include <cellar_cluster.h>
#include <cellar_lab.h>
extern const struct cellar_table *accounts;
extern const struct cellar_index *by_city;
extern const struct cellar_proc *proc;
extern struct cellar *db;
extern struct cellar_txn *txn;
extern struct cellar_queue *queue;
int use(struct cellar_txn *txn, void *arg);
int misuse(void);
int misuse(void)
{
    int code = 0;
    int64_t cents = 0;
    struct row {
        uint64_t id;
    } row = {7};
    struct cellar *made = NULL;
    (void)cents;
    (void)row;
    (void)made;'
    cases=$((cases + 1))
    compiles "$good" || { echo "what all cases have does not compile:" && cat "$folder/out"; exit 1; }
    if compiles "$good
    $2"; then
        echo "$1: $2 compiles"
        failures=$((failures + 1))
    fi
}

# What macros take at the least compiles, by the letter of C11.
cat >"$folder/least.c" <<'C'
#include <cellar_lab.h>
struct row {
    uint64_t id;
};
int least(struct cellar_txn *txn, const struct cellar_table *table, struct row *row);
int least(struct cellar_txn *txn, const struct cellar_table *table, struct row *row)
{
    struct cellar_read read = CELLAR_READ(table, row);
    struct cellar_cursor *cursor;
    int code = cellar_get_many(txn, &read, 1);
    if (code == 0) code = cellar_cursor_open(txn, CELLAR_SCAN(struct row, table), &cursor);
    if (code == 0) code = cellar_put(txn, table, 0, &(struct row){.id = 7});
    return code;
}
C
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$here/include" -c -o "$folder/least.o" "$folder/least.c" || exit 1

misuse "a result is ignored" 'cellar_open(NULL, NULL, &made);'
misuse "a result is ignored" 'cellar_commit(txn, NULL);'
misuse "a result is ignored" 'cellar_put(txn, accounts, 0, &row);'
misuse "a result is ignored" 'cellar_sync(db, 0);'
misuse "an index for a table" 'code = cellar_get(txn, by_city, 0, 0, &row);'
misuse "a database for a transaction" 'code = cellar_commit(db, NULL);'
misuse "a transaction for a database" 'code = cellar_run(txn, use, NULL, NULL, NULL);'
misuse "a transaction of a session" 'struct cellar_txn *t; code = cellar_begin(queue, NULL, &t);'
misuse "a function for a procedure" 'code = cellar_proc_run(db, use, NULL, NULL, NULL);'
misuse "a procedure for a queue" 'code = cellar_proc_submit(proc, proc, NULL, NULL, NULL);'
misuse "options of another call" 'struct cellar_txn *t; code = cellar_begin(db, CELLAR_OPTIONS(.threads = 2), &t);'
misuse "a cluster for a laboratory" 'code = cellar_open(NULL, CELLAR_OPTIONS(.lab = CELLAR_CLUSTER(.node = 1)), &made);'
misuse "options for a path" 'code = cellar_open(CELLAR_OPTIONS(.threads = 2), &made);'
misuse "a member that is none" 'code = cellar_open(NULL, CELLAR_OPTIONS(.pool_bytes = 7), &made);'
misuse "a database for a table" 'code = cellar_insert(txn, db, &row);'
misuse "columns by pointer" 'code = cellar_get(txn, accounts, &cents, 0, &row);'
misuse "a key where a row is wanted" 'code = cellar_get(txn, accounts, 0, 0, 7);'
misuse "a scan for a cursor" 'struct row r[2]; code = cellar_cursor_next(CELLAR_SCAN(struct row, accounts, .columns = 0), 2, r);'
misuse "a cursor for a transaction" 'struct cellar_cursor *c = NULL; code = cellar_get(c, accounts, 0, 0, &row);'
misuse "an error where there is none any more" 'struct cellar_error e; code = cellar_table_open(db, NULL, 0, &accounts, &e);'
misuse "a database by value" 'code = cellar_close(*db);'

[ "$cases" -ge 21 ] && [ "$failures" -eq 0 ] && echo "$cases misuses are refused"
