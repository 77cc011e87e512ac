#!/bin/bash
# test_bench_death.sh [CELLAR] - one of three simulated compute nodes dies amid a load, in every mode: its lease tells,
# another one recovers it, the others go on to the end of the run, and every check of what is left holds.
set -u
source "$(dirname "$0")/prelude.sh"

for cc in $(modes record cell crest cellar ford motor); do
    timeout -s KILL 240 "$cellar" bench smallbank --fabric sim --cc $cc --cns 3 --threads 2 --coros 2 --mns 3 --replicas 1 --accounts 500 --theta 0.9 \
        --warmup 0.0005 --seconds 0.008 --kill-cn 2 --kill-at 0.002 --lease 0.001 >"$folder/out" 2>"$folder/err" </dev/null ||
        fail "$cc: status $?: $(tail -n 3 "$folder/err")"
    grep -q "compute node 2 was recovered by compute node [01]" "$folder/err" ||
        fail "$cc: it was not recovered: $(cat "$folder/err")"
    grep -q "all 3 checks hold" "$folder/out" || fail "$cc: $(grep -A 5 "^Checks" "$folder/out")"
done

[ $failures -eq 0 ]
