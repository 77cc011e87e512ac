#!/bin/bash
# Instructions of an interactive transaction that reads, changes and writes one record, by its number and as a row, and
# of a procedure that speaks rows, against the same as a procedure of declared cells by cellar_lab_exec, of which the
# first is wanted to be twice as many at most (and is not yet), and by cellar_proc_run. Counted by callgrind as the
# difference of two lengths of run, on one thread.
set -u
source "$(dirname "$0")/prelude.sh"
MOST_THOUSANDTHS=2330 # of cellar_lab_exec; 2,320 at most with gcc 12
MOST_ROWS=2600        # the same of rows; 2,566 at most
MOST_PROCEDURE=1285   # of a procedure that speaks rows; 1,247

cache=${CELLAR_BUILD:?}/CMakeCache.txt
if ! command -v valgrind >/dev/null || ! grep -q '^CMAKE_BUILD_TYPE:.*=Release' "$cache" ||
    grep -qE '^(PLANTS|ASAN|UBSAN|TSAN):BOOL=(ON|1|TRUE)|^CMAKE_C_COMPILER:.*clang' "$cache"; then
    echo "needs valgrind, and a release build by gcc as it is meant to be used: skipped"
    exit 77
fi
cost=$CELLAR_BUILD/session-cost
cmake --build "$CELLAR_BUILD" --target session-cost >"$folder/log" 2>&1 || { tail "$folder/log" && exit 1; }

# KIND TURNS: instructions of the whole run, the least of five: callgrind counts the database's other threads, too, and
# these look the more often for work the longer the run lasts.
total() {
    local round count least=
    for round in 1 2 3 4 5; do
        timeout -k 5 240 valgrind --tool=callgrind --callgrind-out-file="$folder/$1.$2" "$cost" "$1" "$2" >"$folder/log" 2>&1 ||
            { tail -n 5 "$folder/log" >&2; return 1; }
        count=$(awk '/^(summary|totals):/ { print $2; exit }' "$folder/$1.$2")
        [ -n "$least" ] && [ "$count" -ge "$least" ] || least=$count
    done
    echo "$least"
}

declare -A each
for kind in exec exec-rows call session rows; do
    few=$(total $kind 1000) && many=$(total $kind 4000) || { fail "counting $kind failed"; exit 1; }
    each[$kind]=$(((many - few) / 3000))
    [ "${each[$kind]}" -gt 500 ] || fail "$kind: ${each[$kind]} instructions cannot be"
done
ratio=$((each[session] * 1000 / each[exec]))
ratio_rows=$((each[rows] * 1000 / each[exec]))
ratio_procedure=$((each[exec-rows] * 1000 / each[exec]))
echo "instructions of a change of one record: cellar_lab_exec ${each[exec]}, cellar_proc_run ${each[call]}, interactive ${each[session]}:" \
    "$ratio thousandths of cellar_lab_exec, wanted 2000"
echo "... as a row ${each[rows]}: $ratio_rows thousandths; in a procedure ${each[exec-rows]}: $ratio_procedure"
[ $ratio -le $MOST_THOUSANDTHS ] || fail "more than $MOST_THOUSANDTHS thousandths"
[ $ratio_rows -le $MOST_ROWS ] || fail "rows: more than $MOST_ROWS thousandths"
[ $ratio_procedure -le $MOST_PROCEDURE ] || fail "rows in a procedure: more than $MOST_PROCEDURE thousandths"
[ $failures -eq 0 ]
