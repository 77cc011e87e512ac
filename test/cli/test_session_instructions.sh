#!/bin/bash
# Instructions of a transaction that reads, changes and writes one row, interactive, and as a procedure by
# cellar_lab_exec and cellar_proc_run, and of an interactive one that only reads it, against a procedure of declared
# cells that changes it, which is what the engine itself takes. Counted by callgrind as the difference of two lengths of
# run, on one thread.
set -u
source "$(dirname "$0")/prelude.sh"
MOST_ROWS=2060      # thousandths of declared cells; 2,000
MOST_PROCEDURE=1260 # 1,222
MOST_READ=600       # 570

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
for kind in cells exec call rows read; do
    few=$(total $kind 1000) && many=$(total $kind 4000) || { fail "counting $kind failed"; exit 1; }
    each[$kind]=$(((many - few) / 3000))
    [ "${each[$kind]}" -gt 500 ] || fail "$kind: ${each[$kind]} instructions cannot be"
done
ratio_rows=$((each[rows] * 1000 / each[cells]))
ratio_procedure=$((each[exec] * 1000 / each[cells]))
ratio_read=$((each[read] * 1000 / each[cells]))
echo "instructions of a change of one row: declared cells ${each[cells]}; cellar_lab_exec ${each[exec]}: $ratio_procedure thousandths;" \
    "cellar_proc_run ${each[call]}; interactive ${each[rows]}: $ratio_rows thousandths;" \
    "of a read of one ${each[read]}: $ratio_read thousandths"
[ $ratio_rows -le $MOST_ROWS ] || fail "interactive: more than $MOST_ROWS thousandths"
[ $ratio_procedure -le $MOST_PROCEDURE ] || fail "a procedure: more than $MOST_PROCEDURE thousandths"
[ $ratio_read -le $MOST_READ ] || fail "a read: more than $MOST_READ thousandths"
[ $failures -eq 0 ]
