#!/bin/bash
# shm-modes.sh [BUILD [ROUNDS [SECONDS]]] - all modes on shm of this machine, two threads: the table of
# lab/docs/evaluation.md. Throughput is the best of ROUNDS (3) runs of SECONDS (2), modes in turn, so that what else the
# machine does meets all of them; 0 rounds: none. Instructions of a transaction are counted by callgrind with one
# thread, what 6,000 transactions take more than 2,000. Needs valgrind; some ten minutes.
set -eu
cellar=$(realpath "${1:-build}")/cellar
rounds=${2:-3} seconds=${3:-2}
read -ra modes <<<"${MODES:-record cell crest cellar ford motor 2pl}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names=("TPC-C, 2 warehouses at a tenth" "SmallBank, theta 0.9" "YCSB-T, theta 0.9")
lines=("tpcc --warehouses 2 --scale small" "smallbank --accounts 20000 --theta 0.9" "ycsb --records 5000 --theta 0.9")

run() { # ARGUMENTS...: its JSON report
    "$cellar" bench "$@" --json "$work/json" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 2; }
}

instructions() { # MODE TXNS WORKLOAD...
    local mode=$1 txns=$2
    shift 2
    valgrind --tool=callgrind --callgrind-out-file="$work/out" "$cellar" bench "$@" --threads 1 --coros 2 --txns "$txns" --cc "$mode" \
        >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 2; }
    awk '/^(summary|totals):/ { print $2; exit }' "$work/out"
}

row() { # NAME CELLS...
    printf '| %s |' "$1" && shift && printf ' %s |' "$@" && echo
}

row "" "${modes[@]}"
row "---" "${modes[@]/*/---:}"
for i in "${!lines[@]}"; do
    read -ra line <<<"${lines[i]}"
    declare -A best=()
    for _ in $(seq "$rounds"); do
        for mode in "${modes[@]}"; do
            run "${line[@]}" --threads 2 --seconds "$seconds" --warmup 0.3 --cc "$mode"
            tps=$(awk -F '[:,]' '$1 ~ /^ *"tps"/ { printf "%.0f", $2 }' "$work/json")
            [ "${best[$mode]:-0}" -ge "$tps" ] || best[$mode]=$tps
        done
    done
    [ "$rounds" -eq 0 ] || row "${names[i]}: k txn/s" $(for mode in "${modes[@]}"; do awk "BEGIN { printf \"%.1f \", ${best[$mode]} / 1000 }"; done)
    row "${names[i]}: instructions" $(for mode in "${modes[@]}"; do
        few=$(instructions "$mode" 2000 "${line[@]}") && many=$(instructions "$mode" 6000 "${line[@]}")
        echo $(((many - few) / 4000))
    done)
done
