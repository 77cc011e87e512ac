#!/bin/bash
# What mode crest costs where nobody meets: at most 15 % more instructions for each transaction of uniform SmallBank than mode cell, on
# two threads. Counted by callgrind as docs/performance.md does it, in an optimized build without planted bugs and sanitizers.
set -u
source "$(dirname "$0")/prelude.sh"
MORE_PERCENT=15
TXNS=2000

cache=${CELLAR_BUILD:?}/CMakeCache.txt
if ! command -v valgrind >/dev/null || ! grep -q '^CMAKE_BUILD_TYPE:.*=Release' "$cache" ||
    grep -qE '^(PLANTS|ASAN|UBSAN|TSAN):BOOL=(ON|1|TRUE)' "$cache"; then
    echo "needs valgrind, and a release build as it is meant to be used: skipped"
    exit 77
fi

total() { # MODE TRANSACTIONS: instructions of the run, without its load (the program's first cellar_run) and its checks (the third)
    timeout -k 5 240 valgrind --tool=callgrind --callgrind-out-file="$folder/$1.$2" --dump-before='cellar_run*' \
        "$cellar" bench smallbank --accounts $TXNS --threads 2 --cc "$1" --txns "$2" >"$folder/log" 2>&1 ||
        { tail -n 5 "$folder/log" >&2; return 1; }
    awk '/^(summary|totals):/ { print $2; exit }' "$folder/$1.$2.3"
}

declare -A each
for mode in cell crest; do
    few=$(total $mode $TXNS) && many=$(total $mode $((3 * TXNS))) || { fail "counting mode $mode failed"; exit 1; }
    each[$mode]=$(((many - few) / (2 * TXNS)))
    [ "${each[$mode]}" -gt 1000 ] || fail "mode $mode: ${each[$mode]} instructions cannot be"
done
echo "instructions for each transaction: cell ${each[cell]}, crest ${each[crest]}," \
    "$(((each[crest] - each[cell]) * 1000 / each[cell])) thousandths more"
[ $((each[crest] * 100)) -le $((each[cell] * (100 + MORE_PERCENT))) ] || fail "that is more than $MORE_PERCENT %"
[ $failures -eq 0 ]
