#!/bin/bash
# lock-costs.sh [BUILD] - what each lock costs, simulated, for docs/locks.md: alone, and with 64 clients of 8 compute
# nodes that all want the same one.
# The same on every machine; some seconds of a processor.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cellar=${1:-$root/build}/cellar
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
locks=(cas cas-backoff retry drtm dslr dslr+ declock-flat declock mcs rmarw ncosed shiftlock rpc netchain netlock lotus)
# run LOCK OPTIONS...: sets ops, pair, messages (of one acquire, or of a pair), us (acquiring, median), round (median),
# rate
run() {
    local lock=$1 warmup=0.002
    shift
    [ "$lock" != netlock ] || warmup=0.05 # its locks move into the switch first
    "$cellar" bench lock --lock "$lock" --theta 0 --warmup $warmup "$@" >"$work/out" || { echo "$lock $*: a check has failed" >&2 && exit 1; }
    read -r ops pair messages < <(sed -n 's/^  ops per acquire *\([0-9.]*\) .*; \([0-9.]*\) a pair; \([0-9.]*\) messages$/\1 \2 \3/p' "$work/out")
    us=$(awk '$1 == "acquire" { print $3 }' "$work/out")
    round=$(awk '$1 == "whole" { print $4 }' "$work/out")
    rate=$(sed -n 's/^  goodput *\([0-9.]* [kM]*\) *rounds.*/\1/p' "$work/out")
}
alone() { run "$1" --cns 1 --threads 1 --clients 1 --locks 16 --cs-ops 0 --read-ratio "$2" --seconds 0.002; }
together() { run "$1" --cns 8 --threads 4 --clients 64 --locks 1 --cs-ops 1 --read-ratio "$2" --seconds 0.005; }
fine() { awk -v value="$1" 'BEGIN { printf value < 10 ? "%.2g" : "%.0f", value }'; }
counts() { echo "$(fine "$pair") + $(fine "$messages")"; }
echo "| verbs + messages a pair | alone, exclusive | acquire, pair: us | alone, shared | acquire, pair: us | 64 writers | rounds/s | 64, half readers | rounds/s |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
for lock in "${locks[@]}"; do
    line="| $lock |"
    for share in 0 1; do
        alone "$lock" $share
        line="$line $(counts) | $us, $round |"
    done
    for share in 0 0.5; do
        together "$lock" $share
        line="$line $(counts) | $rate |"
    done
    echo "$line"
done
