#!/bin/bash
# Instructions for each transaction of uniform SmallBank, YCSB-T and TPC-C: in modes cell and cellar (both its ways:
# on shm the plain one, and "shared" where that is ruled out) at most so many, and in mode crest at most 15 % more
# than in mode cell for SmallBank, where no two meet, and with a trace (--trace) 3 % more than without, of YCSB-T, too.
# Counted by callgrind as docs/performance.md does it, in an optimized build without planted bugs and sanitizers. One
# thread: run again it takes the same to one or two. With two, the thread that the valgrind lock lets run decides which
# meet, and on a loaded machine one waits for the other's turn and polls, which was counted as up to a fourth of a
# transaction.
set -u
source "$(dirname "$0")/prelude.sh"
MORE_PERCENT=15
# Two percent above what gcc 12 makes of it, one for SmallBank, five for TPC-C, where a slow machine adds READs:
# room for another gcc, and less than crept in once unseen. With clang no whole program is optimized, so that only the
# modes are compared there.
declare -A most=(
    [smallbank-cell]=3310 [smallbank-cellar]=3420 [smallbank-shared]=3800
    [ycsb-cell]=8130 [ycsb-cellar]=8210 [ycsb-shared]=8990
    [tpcc-cell]=60800 [tpcc-cellar]=60600 [tpcc-shared]=72400
)
declare -A txns=([smallbank]=2000 [ycsb]=2000 [tpcc]=400)
declare -A arguments=(
    [smallbank]="--accounts 2000" [ycsb]="--theta 0.1 --records 2000" [tpcc]="--warehouses 1 --scale small"
)

cache=${CELLAR_BUILD:?}/CMakeCache.txt
if ! command -v valgrind >/dev/null || ! grep -q '^CMAKE_BUILD_TYPE:.*=Release' "$cache" ||
    grep -qE '^(PLANTS|ASAN|UBSAN|TSAN):BOOL=(ON|1|TRUE)' "$cache"; then
    echo "needs valgrind, and a release build as it is meant to be used: skipped"
    exit 77
fi
! grep -q '^CMAKE_C_COMPILER:.*clang' "$cache" || most=()

total() { # WORKLOAD MODE TRANSACTIONS: instructions of the run, without its load (the program's first cellar_lab_run) and its checks (the third)
    local cc=(--cc "$2") file=$folder/$1.$2.$3
    [ "$2" != shared ] || cc=(--cc cellar --way plain-ns=0)
    [ "$2" != traced ] || cc=(--cc cellar --trace "$folder/trace.json")
    # shellcheck disable=SC2086
    timeout -k 5 240 valgrind --tool=callgrind --callgrind-out-file="$file" --dump-before='cellar_lab_run*' \
        "$cellar" bench "$1" ${arguments[$1]} --threads 1 "${cc[@]}" --txns "$3" >"$folder/log" 2>&1 ||
        { tail -n 5 "$folder/log" >&2; return 1; }
    awk '/^(summary|totals):/ { print $2; exit }' "$file.3"
}

declare -A each
count() { # WORKLOAD MODE
    local few many n=${txns[$1]}
    few=$(total "$1" "$2" "$n") && many=$(total "$1" "$2" $((3 * n))) || { fail "counting $1 in mode $2 failed"; exit 1; }
    each[$1-$2]=$(((many - few) / (2 * n)))
    [ "${each[$1-$2]}" -gt 1000 ] || fail "$1, mode $2: ${each[$1-$2]} instructions cannot be"
}

for workload in smallbank ycsb tpcc; do
    for mode in cell cellar shared; do count $workload $mode; done
    echo "instructions for each transaction of $workload: cell ${each[$workload-cell]}, cellar ${each[$workload-cellar]}," \
        "its shared way ${each[$workload-shared]}"
done
count smallbank crest
for workload in smallbank ycsb; do
    count $workload traced
    plain=${each[$workload-cellar]} traced=${each[$workload-traced]}
    echo "... of $workload with a trace $traced, $(((traced - plain) * 1000 / plain)) thousandths more than without"
    [ $((traced * 100)) -le $((plain * 103)) ] || fail "$workload: a trace as usual takes more than 3 %"
done
cell=${each[smallbank-cell]} crest=${each[smallbank-crest]}
echo "... of smallbank in mode crest $crest, $(((crest - cell) * 1000 / cell)) thousandths more than cell"
[ $((crest * 100)) -le $((cell * (100 + MORE_PERCENT))) ] || fail "mode crest: that is more than $MORE_PERCENT %"
for what in "${!most[@]}"; do
    [ "${each[$what]}" -le "${most[$what]}" ] || fail "$what: ${each[$what]} instructions, more than ${most[$what]}"
done
[ $failures -eq 0 ]
