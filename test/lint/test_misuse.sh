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
    struct cellar *made = NULL;
    (void)cents;
    (void)made;'
    cases=$((cases + 1))
    compiles "$good" || { echo "what all cases have does not compile:" && cat "$folder/out"; exit 1; }
    if compiles "$good
    $2"; then
        echo "$1: $2 compiles"
        failures=$((failures + 1))
    fi
}

misuse "a result is ignored" 'cellar_open(NULL, NULL, &made);'
misuse "a result is ignored" 'cellar_commit(txn, NULL);'
misuse "a result is ignored" 'cellar_txn_put(txn, accounts, 7, 0, &cents);'
misuse "a result is ignored" 'cellar_sync(db, 0);'
misuse "an index for a table" 'code = cellar_txn_get(txn, by_city, 7, 0, &cents);'
misuse "a database for a transaction" 'code = cellar_commit(db, NULL);'
misuse "a transaction for a database" 'code = cellar_run(txn, use, NULL, NULL, NULL);'
misuse "a transaction of a session" 'struct cellar_txn *t; code = cellar_begin(queue, NULL, &t);'
misuse "a function for a procedure" 'code = cellar_proc_run(db, use, NULL, NULL, NULL);'
misuse "a procedure for a queue" 'code = cellar_proc_submit(proc, proc, NULL, NULL, NULL);'
misuse "options of another call" 'struct cellar_txn *t; code = cellar_begin(db, CELLAR_OPTIONS(.threads = 2), &t);'
misuse "a cluster for a laboratory" 'code = cellar_open(NULL, CELLAR_OPTIONS(.lab = CELLAR_CLUSTER(.node = 1)), &made);'
misuse "options for a path" 'code = cellar_open(CELLAR_OPTIONS(.threads = 2), &made);'
misuse "a member that is none" 'code = cellar_open(NULL, CELLAR_OPTIONS(.pool_bytes = 7), &made);'
misuse "a table of another database's kind" 'code = cellar_proc_access(txn, db, 7, 1, 1, 0);'
misuse "a key by pointer" 'code = cellar_txn_get(txn, accounts, &cents, 0, &cents);'
misuse "an error where there is none any more" 'struct cellar_error e; code = cellar_table_create(db, NULL, &accounts, &e);'
misuse "a database by value" 'code = cellar_close(*db);'

[ "$cases" -ge 18 ] && [ "$failures" -eq 0 ] && echo "$cases misuses are refused"
