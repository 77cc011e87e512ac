#!/bin/bash
# Instructions of a transaction that reads, changes and writes one row, interactive, and as a procedure by
# cellar_lab_exec and cellar_proc_run, and of an interactive one that only reads it, against a procedure of declared
# cells that changes it, which is what the engine itself takes. Counted by callgrind as the difference of two lengths of
# run, on the thread that does the work: the other one looks for some now and then, on a busy machine more often.
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

# counted FILES: instructions of these threads.
counted() { awk '/^(summary|totals):/ { sum += $2; nextfile } END { print sum + 0 }' "$@"; }

# KIND TURNS: instructions of a whole run, the least of three each: of the worker's thread, the second one; and of the
# others, the caller's and one that helps to open the database.
total() {
    local round worker others least_worker= least_others= out=$folder/$1.$2
    for round in 1 2 3; do
        rm -f "$out"-*
        timeout -k 5 240 valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file="$out" "$cost" "$1" "$2" \
            >"$folder/log" 2>&1 || { tail -n 5 "$folder/log" >&2; return 1; }
        worker=$(counted "$out"-02) others=$(counted "$out"-01 "$out"-0[3-9])
        [ -n "$least_worker" ] && [ "$worker" -ge "$least_worker" ] || least_worker=$worker
        [ -n "$least_others" ] && [ "$others" -ge "$least_others" ] || least_others=$others
    done
    echo "$least_worker $least_others"
}

# each_of KIND: instructions of one turn, into each[KIND].
each_of() {
    local few many worker others
    few=$(total "$1" 1000) && many=$(total "$1" 4000) || { fail "counting $1 failed"; exit 1; }
    worker=$(((${many% *} - ${few% *}) / 3000)) others=$(((${many#* } - ${few#* }) / 3000))
    [ $worker -gt $others ] || { local swapped=$worker; worker=$others others=$swapped; }
    each[$1]=$worker
    [ "$worker" -gt 500 ] && [ $((others * 5)) -lt "$worker" ] ||
        fail "$1: $worker instructions, and $others on another thread, cannot be"
}

declare -A each
for kind in cells exec call rows read; do each_of $kind; done
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
