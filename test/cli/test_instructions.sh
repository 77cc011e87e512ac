#!/bin/bash
# Instructions for each transaction of uniform SmallBank: in modes cell and cellar (both its ways: on shm the plain one,
# and "shared" where that is ruled out) at most so many, and in mode crest at most 15 % more than in mode cell, where no two meet. Counted by callgrind as docs/performance.md does it, in an
# optimized build without planted bugs and sanitizers. One thread: run again it takes the same to one or two. With two,
# the thread that the valgrind lock lets run decides which meet, and on a loaded machine one waits for the other's turn
# and polls, which was counted as up to a fourth of a transaction.
set -u
source "$(dirname "$0")/prelude.sh"
MORE_PERCENT=15
# A tenth above what gcc 12 makes of it: room for another gcc, and less than crept in once unseen. With clang no whole
# program is optimized, so that only the modes are compared there.
declare -A most=([cell]=3450 [cellar]=3575 [shared]=3975)
TXNS=2000

cache=${CELLAR_BUILD:?}/CMakeCache.txt
if ! command -v valgrind >/dev/null || ! grep -q '^CMAKE_BUILD_TYPE:.*=Release' "$cache" ||
    grep -qE '^(PLANTS|ASAN|UBSAN|TSAN):BOOL=(ON|1|TRUE)' "$cache"; then
    echo "needs valgrind, and a release build as it is meant to be used: skipped"
    exit 77
fi
! grep -q '^CMAKE_C_COMPILER:.*clang' "$cache" || most=()

total() { # MODE TRANSACTIONS: instructions of the run, without its load (the program's first cellar_run) and its checks (the third)
    local cc=(--cc "$1")
    [ "$1" != shared ] || cc=(--cc cellar --way plain-ns=0)
    timeout -k 5 240 valgrind --tool=callgrind --callgrind-out-file="$folder/$1.$2" --dump-before='cellar_run*' \
        "$cellar" bench smallbank --accounts $TXNS --threads 1 "${cc[@]}" --txns "$2" >"$folder/log" 2>&1 ||
        { tail -n 5 "$folder/log" >&2; return 1; }
    awk '/^(summary|totals):/ { print $2; exit }' "$folder/$1.$2.3"
}

declare -A each
for mode in cell crest cellar shared; do
    few=$(total $mode $TXNS) && many=$(total $mode $((3 * TXNS))) || { fail "counting mode $mode failed"; exit 1; }
    each[$mode]=$(((many - few) / (2 * TXNS)))
    [ "${each[$mode]}" -gt 1000 ] || fail "mode $mode: ${each[$mode]} instructions cannot be"
done
echo "instructions for each transaction: cell ${each[cell]}, cellar ${each[cellar]}, its shared way ${each[shared]}, crest ${each[crest]}," \
    "$(((each[crest] - each[cell]) * 1000 / each[cell])) thousandths more than cell"
[ $((each[crest] * 100)) -le $((each[cell] * (100 + MORE_PERCENT))) ] || fail "mode crest: that is more than $MORE_PERCENT %"
for mode in "${!most[@]}"; do
    [ "${each[$mode]}" -le "${most[$mode]}" ] || fail "mode $mode: ${each[$mode]} instructions, more than ${most[$mode]}"
done
[ $failures -eq 0 ]
