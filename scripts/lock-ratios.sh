#!/bin/bash
# lock-ratios.sh [BUILD [ROUNDS [SECONDS]]] - goodput of all locks between threads of this machine, as ratios to `retry`, for docs/locks.md. All locks are measured in
# each round, one after the other, and divided by that round's `retry`; the table has the median of the rounds' ratios, so that what else the machine does
# meanwhile falls on all of them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cellar=${1:-$root/build}/cellar rounds=${2:-7} seconds=${3:-0.5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
locks=(retry cas cas-backoff drtm dslr dslr+ declock-flat declock mcs ncosed rmarw rpc netchain shiftlock netlock)
measure() { # ROUND LOCK COLUMN OPTIONS...
    local round=$1 lock=$2 column=$3
    shift 3
    "$cellar" bench lock --fabric shm --locks 1000 --seconds "$seconds" --lock "$lock" --json "$work/json" "$@" >/dev/null ||
        { echo "$lock $*: a check has failed" >&2 && exit 1; }
    echo "$round $lock $column $(sed -n 's/^  "goodput": \([0-9.e+]*\),$/\1/p' "$work/json")" >>"$work/all"
}
for ((round = 0; round < rounds; round++)); do
    for lock in "${locks[@]}"; do
        measure "$round" "$lock" one --cns 1 --clients 4
        measure "$round" "$lock" two
    done
done
echo "| of retry's goodput | one thread | two threads |"
echo "|---|---:|---:|"
awk '
    { rate[$1, $2, $3] = $4; if ($1 > last) last = $1; if ($1 == 0 && $3 == "one") order[count++] = $2 }
    function median(lock, column,    n, i, j, list, swap) {
        for (i = 0; i <= last; i++) list[i] = rate[i, lock, column] / rate[i, "retry", column]
        for (i = 0; i <= last; i++) for (j = i; j > 0 && list[j] < list[j - 1]; j--) { swap = list[j]; list[j] = list[j - 1]; list[j - 1] = swap }
        n = last + 1
        return n % 2 ? list[(n - 1) / 2] : (list[n / 2 - 1] + list[n / 2]) / 2
    }
    END { for (i = 0; i < count; i++) printf "| %s | %.2g | %.2g |\n", order[i], median(order[i], "one"), median(order[i], "two") }' "$work/all"
