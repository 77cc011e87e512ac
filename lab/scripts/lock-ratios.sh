#!/bin/bash
# lock-ratios.sh [BUILD [ROUNDS [SECONDS]]] - goodput of all locks between threads and between processes of this
# machine, as ratios to `retry`, for lab/docs/locks.md. All locks are measured in each round, one after the other, and
# divided by that round's `retry`; the table has the median of the rounds' ratios, so that what else the machine does
# meanwhile falls on all of them.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cellar=${1:-$root/build}/cellar rounds=${2:-7} seconds=${3:-0.5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
locks=(retry cas cas-backoff drtm dslr dslr+ declock-flat declock mcs ncosed rmarw rpc netchain shiftlock netlock lotus)
bench() { # JSON LOCK OPTIONS...
    local json=$1 lock=$2
    shift 2
    "$cellar" bench lock --fabric shm --locks 1000 --seconds "$seconds" --lock "$lock" --json "$work/$json" "$@" >/dev/null ||
        { echo "$lock $*: a check has failed" >&2 && exit 1; }
}
note() { echo "$1 $2 $3 $(sed -n "s/^  \"$4\": \([0-9.e+]*\),*$/\1/p" "$work/json")" >>"$work/all"; } # ROUND LOCK COLUMN FIGURE
measure() {                                                                                        # ROUND LOCK COLUMN OPTIONS...
    local round=$1 lock=$2 column=$3
    shift 3
    bench json "$lock" "$@"
    note "$round" "$lock" "$column" goodput
}
# Two processes of one thread each, on the memory of a third.
measure_processes() { # ROUND LOCK
    local memnode other status=0
    "$cellar" memnode --socket "$work/mn" --bytes 16M --cns 8 >/dev/null &
    memnode=$!
    while [ ! -S "$work/mn" ]; do sleep 0.01; done
    bench other "$2" --cns 1 --threads 1 --clients 4 --memnodes "$work/mn" --process 1/2 &
    other=$!
    bench json "$2" --cns 1 --threads 1 --clients 4 --memnodes "$work/mn" --process 0/2 || status=1
    wait $other || status=1
    kill $memnode
    wait $memnode || true
    rm -f "$work/mn"
    [ $status -eq 0 ] || exit 1
    note "$1" "$2" processes goodput_all
}
for ((round = 0; round < rounds; round++)); do
    for lock in "${locks[@]}"; do
        measure "$round" "$lock" one --cns 1 --clients 4
        measure "$round" "$lock" two
        measure_processes "$round" "$lock"
    done
done
echo "| of retry's goodput | one thread | two threads | two processes |"
echo "|---|---:|---:|---:|"
awk '
    { rate[$1, $2, $3] = $4; if ($1 > last) last = $1; if ($1 == 0 && $3 == "one") order[count++] = $2 }
    function median(lock, column,    n, i, j, list, swap) {
        for (i = 0; i <= last; i++) list[i] = rate[i, lock, column] / rate[i, "retry", column]
        for (i = 0; i <= last; i++) for (j = i; j > 0 && list[j] < list[j - 1]; j--) { swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap }
        n = last + 1
        return n % 2 ? list[(n - 1) / 2] : (list[n / 2 - 1] + list[n / 2]) / 2
    }
    END { for (i = 0; i < count; i++) printf "| %s | %.2g | %.2g | %.2g |\n", order[i], median(order[i], "one"), median(order[i], "two"), median(order[i], "processes") }' "$work/all"
