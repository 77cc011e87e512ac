#!/bin/bash
# A scan's instructions are in proportion to its rows: of each row, among many, about as many as of each among few.
# Counted by callgrind as the difference of two lengths, on the connection's thread, which does the work.
set -u
source "$(dirname "$0")/prelude.sh" sqlite3
command -v valgrind >/dev/null || exit 77
MOST=220 # percent; 160

{
    echo ".load $cellar"
    echo "CREATE VIRTUAL TABLE t USING cellar(pool='$folder/pool', size='128M', rows=80000, a INTEGER PRIMARY KEY, b INTEGER);"
    echo "WITH RECURSIVE c(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM c WHERE i < 63999) INSERT INTO t SELECT i, i FROM c;"
} | sqlite3 || fail "the table was not filled"

# total ROWS: instructions of a run that sums up so many.
total() {
    rm -f count-*
    {
        echo ".load $cellar"
        echo "CREATE VIRTUAL TABLE t USING cellar(pool='$folder/pool');"
        echo "SELECT sum(b) FROM t WHERE a < $1;"
    } | timeout -k 5 240 valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file=count sqlite3 \
        >sum 2>log || fail "$(tail -n 5 log)"
    [ "$(cat sum)" = "$(($1 * ($1 - 1) / 2))" ] || fail "the sum of $1 rows is $(cat sum)"
    awk '/^(summary|totals):/ { print $2; exit }' count-01
}

few=$(total 4000) && some=$(total 16000) && many=$(total 64000) || fail "counting failed: $few"
of_some=$(((some - few) / 12000)) of_many=$(((many - some) / 48000))
echo "instructions of a row: $of_some of up to 16,000 rows, $of_many of up to 64,000"
[ $of_some -gt 1000 ] || fail "$of_some instructions of a row cannot be"
[ $((of_many * 100)) -le $((of_some * MOST)) ] || fail "more than $MOST percent"
