#!/bin/bash
# test_exp_txn.sh - `cellar exp txn --quick`: what each technique adds, and throughput around deaths, where the targets are reached; the same
# numbers whoever measures beside whom. In the plain build only. The targets that are missed, and why: docs/evaluation.md.
set -u
source "$(dirname "$0")/prelude.sh"

[ "$share" -eq 100 ] || { echo "measured in the plain build only" && exit 77; }

# measure NAME SWEEPS [OPTIONS...]
measure() {
    local name=$1 only=$2
    shift 2
    timeout -k 5 600 "$cellar" exp txn --quick --only "$only" --out "$folder/$name" "$@" >"$folder/$name.txt" 2>&1 </dev/null
    local status=$?
    [ $status -eq 0 ] || { fail "cellar exp txn --quick --only $only: exit $status; 1 says that a figure has moved, or missed its band without a cause:" && cat "$folder/$name.txt"; }
}

# value FILE SERIES X COLUMN
value() {
    awk -F, -v series="\"$2\"" -v x="$3" -v column="$4" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
        $1 == series && $2 == x { print $at }' "$1"
}
# holds TEXT A OP B...: an awk condition
holds() {
    local text=$1
    shift
    awk "BEGIN { exit !($*) }" || fail "$text: not $*"
}

# A gate that can fail: Jain's index of 2 ms is below the targets, and only the gate decides what the exit status says of that.
timeout -k 5 600 "$cellar" exp txn --quick --only fairness --gate targets --out "$folder/fairness" >"$folder/fairness.txt" 2>&1 </dev/null
status=$?
[ $status -eq 1 ] || fail "five missed targets, --gate targets: exit $status"
[ "$(tail -1 "$folder/fairness.txt")" = "5 of 5 targets missed" ] || fail "the last line is not '5 of 5 targets missed': $(tail -1 "$folder/fairness.txt")"
grep -q "<li>fairness: TPC-C 20: cellar" "$folder/fairness/index.html" || fail "the page does not list the missed targets at its top"
measure fairness-held fairness

measure factors factors-modes
points=$folder/factors/txn-factors-modes.csv
tps() { value "$points" "$1" "$2" k_txn_per_s; }
[ "$(tail -n +2 "$points" | cut -d, -f3 | sort -u)" = ok ] || fail "a check of a run does not hold"
holds "TPC-C: cells add" "$(tps cell 1) >= 1.5 * $(tps record 1)"
holds "SmallBank: localized execution adds" "$(tps crest 2) >= 1.78 * $(tps cell 2)"
holds "TPC-C: hot records add" "$(tps cellar 1) >= $(tps crest 1)"
holds "SmallBank, theta 0.99: hot records add" "$(tps cellar 2) >= 1.25 * $(tps crest 2)"
holds "YCSB, theta 0.99: hot records add" "$(tps cellar 3) >= 1.25 * $(tps crest 3)" # crest is not yet one node's
holds "SmallBank, theta 0.1: nothing is lost" "$(tps cellar 5) >= 0.99 * $(tps crest 5)"
holds "YCSB, theta 0.1: nothing is lost" "$(tps cellar 6) >= 0.99 * $(tps crest 6)"

# Where rules of hot records decide (docs/hot-records.md): many that are a little warm, few coordinators, steep skew, TPC-C of few warehouses.
# sum_tps MODE SEEDS ARGUMENTS...: into $sum, throughputs of seeds 1 to SEEDS
sum_tps() {
    local mode=$1 seeds=$2 seed tps
    shift 2
    sum=0
    for ((seed = 1; seed <= seeds; seed++)); do
        timeout -k 5 600 "$cellar" bench "$@" --fabric sim --nic cx5 --cns 3 --mns 2 --coros 2 --cc "$mode" --warmup 0.002 --seconds 0.004 \
            --seed $seed --json "$folder/run.json" >"$folder/run.txt" 2>&1 </dev/null || fail "$mode $*, seed $seed: exit $?"
        tps=$(awk -F"[ :,]+" '$2 == "\"tps\"" { printf "%.0f", $3 }' "$folder/run.json")
        sum=$((sum + tps))
    done
}
# gains RATIO SEEDS ARGUMENTS...: of cellar over crest, at least
gains() {
    local ratio=$1 seeds=$2 ours
    shift 2
    sum_tps cellar "$seeds" "$@" && ours=$sum
    sum_tps crest "$seeds" "$@"
    holds "cellar / crest, $*, seeds 1 to $seeds" "$ours >= $ratio * $sum"
}
gains 1.00 1 smallbank --theta 0.8 --threads 40
gains 1.50 1 smallbank --theta 1.11 --threads 40
# With 24 coordinators a few turns decide: a seed's ratio strays by some 0.03. The means of six are 1.021 and 1.049; the bounds are at least three deviations of
# such a mean below these. With any three losses, and turns of 100 us, it was 0.67 and 0.76.
gains 0.965 6 smallbank --theta 0.99 --threads 4
gains 1.00 6 ycsb --records 100000 --theta 0.99 --threads 4

# Turns that end when few are inside: SmallBank's are short then, YCSB's are not.
# turns WORKLOAD RULES: into $tps and $p99
turns() {
    timeout -k 5 600 "$cellar" bench $1 --theta 0.99 --fabric sim --nic cx5 --cns 3 --mns 2 --threads 40 --coros 2 --cc cellar ${2:+--hot "$2"} \
        --warmup 0.002 --seconds 0.004 --json "$folder/run.json" >"$folder/run.txt" 2>&1 </dev/null || fail "$1 --hot $2: exit $?"
    read -r tps p99 < <(awk -F"[ :,]+" '$2 == "\"tps\"" { tps = $3 } $2 == "\"p99\"" && !p99 { p99 = $3 } END { print tps, p99 }' "$folder/run.json")
}
turns smallbank "" && usual_tps=$tps usual_p99=$p99
turns smallbank tries=6,inside=20
holds "SmallBank, turns until few are inside" "$p99 <= 0.4 * $usual_p99 && $tps >= 0.85 * $usual_tps"
turns "ycsb --records 100000" "" && usual_tps=$tps
turns "ycsb --records 100000" tries=6,inside=20
holds "YCSB, turns until few are inside" "$tps >= 0.95 * $usual_tps"

measure deaths recovery --jobs 2
measure again recovery --jobs 1
for dead in cn mn; do
    points=$folder/deaths/txn-recovery-$dead.csv
    diff "$points" "$folder/again/txn-recovery-$dead.csv" >/dev/null || fail "the same runs, and other numbers: recovery-$dead"
    [ "$(tail -n +2 "$points" | cut -d, -f3 | sort -u)" = ok ] || fail "a check of a run with a death does not hold"
    for mode in record cell crest cellar; do
        holds "$mode, $dead: goes on" "$(value "$points" $mode 1 kept_percent) >= 70"
        holds "$mode, $dead: stands still" "$(value "$points" $mode 1 below_half_ms) <= 7"
    done
done
[ "$(find "$folder/deaths" -name '*over-time.svg' | wc -l)" -eq 2 ] || fail "charts over time are missing"
exit $((failures > 0))
