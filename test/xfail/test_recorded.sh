#!/bin/bash
# test_recorded.sh [CELLAR] - planted bugs on shm, in real time: a recorded run of real threads must show each of these
# within a few runs, and none without a bug. Needs a build with planted bugs.
set -u
cellar=${1:-${CELLAR_BUILD:?}/cellar}
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0

# run SEED ARGUMENTS...: exit 0 the history is in order, 1 it is not, and cellar check says so of the file too; else 2.
run() {
    local seed=$1
    shift
    timeout -k 5 300 "$cellar" bench "$@" --cc cell --threads 2 --rtt-ns 3000 --seed "$seed" \
        --history "$folder/h" --json "$folder/json" >"$folder/out" 2>"$folder/err" </dev/null
    if grep -q '"history strictly serializable": "ok"' "$folder/json" 2>/dev/null; then return 0; fi
    grep -q '"history strictly serializable": ' "$folder/json" 2>/dev/null || return 2
    timeout -k 5 300 "$cellar" check --history "$folder/h" >"$folder/verdict" 2>&1
    [ $? -eq 1 ] && return 1
    return 2
}

# What has no lock to wait for shows only where a transaction fetches several times, with others between.
ycsb="ycsb --records 64 --write-ratio 0.5 --txns 4000"
tpcc="tpcc --warehouses 1 --scale small --txns 1000"
for plant in validation_skipped lock_ignored unlock_early; do
    workload=$ycsb
    [ $plant = validation_skipped ] && workload=$tpcc
    result=0
    for seed in 1 2 3 4 5 6 7 8; do
        rm -f "$folder/json"
        # shellcheck disable=SC2086
        run $seed $workload --plant $plant
        result=$?
        [ $result -eq 0 ] || break
    done
    if [ $result -eq 1 ]; then
        echo "$plant, run $seed: $(head -n 4 "$folder/verdict" | tail -n 1)"
    else
        echo "$plant was not caught (result $result): $(head -n 3 "$folder/err")"
        failures=$((failures + 1))
    fi
done
# The history that a seed of the simulator leaves is judged as the simulator has judged it.
for plant in validation_skipped lock_ignored; do
    timeout -k 5 300 "$cellar" sim --workload cells --seeds 1..60 --cc cell --plant $plant --no-shrink --keep-going >"$folder/out" 2>&1 </dev/null
    seed=$(sed -n 's/.* seed \([0-9]*\): history$/\1/p' "$folder/out" | head -n 1) # others show in other ways
    [ -n "$seed" ] || { echo "no seed shows $plant: $(head -n 3 "$folder/out")" && failures=$((failures + 1)) && continue; }
    timeout -k 5 300 "$cellar" sim --workload cells --seed "$seed" --cc cell --plant $plant --no-shrink --history "$folder/h" >"$folder/out" 2>&1 </dev/null
    timeout -k 5 300 "$cellar" check --history "$folder/h" --json "$folder/verdict" >/dev/null 2>&1
    result=$?
    kind=$(sed -n 's/^  "kind": "\(.*\)",*$/\1/p' "$folder/verdict")
    if [ $result -ne 1 ] || ! grep -q "^  $kind: " "$folder/out"; then
        echo "$plant, seed $seed: cellar check ends with $result and '$kind': $(head -n 2 "$folder/out")"
        failures=$((failures + 1))
    else
        echo "$plant, seed $seed: $kind"
    fi
done
for workload in "$ycsb" "$tpcc"; do
    rm -f "$folder/json"
    # shellcheck disable=SC2086
    run 1 $workload || { echo "without a planted bug: $(tail -n 5 "$folder/out" "$folder/err")" && failures=$((failures + 1)); }
done
[ $failures -eq 0 ]
