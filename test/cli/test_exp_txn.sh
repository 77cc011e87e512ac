#!/bin/bash
# test_exp_txn.sh - `cellar exp txn`: one point of each sweep; what each technique adds, in the windows of the page;
# throughput around deaths, the same numbers however many processes measure. In the plain build only. The targets that
# are missed, and why: docs/evaluation.md.
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

# One point of each sweep, those of the long form, too: that all can be run, and end with their checks.
timeout -k 5 600 "$cellar" exp txn --one --out "$folder/one" >"$folder/one.txt" 2>&1 </dev/null || fail "cellar exp txn --one: exit $?: $(tail -5 "$folder/one.txt")"
for sweep in rules-tpcc rules-smallbank rules-ycsb rules-no-backups load-tpcc load-smallbank load-ycsb tails-240 breakdown-phases factors-modes skew-tpcc \
    skew-smallbank skew-ycsb records-99 records-10 writes-99 writes-10 costs costs-single scale-smallbank scale-ycsb fairness-nodes recovery-cn \
    recovery-mn policies-heat policies-turns; do
    [ "$(tail -n +2 "$folder/one/txn-$sweep.csv" | cut -d, -f3)" = ok ] || fail "$sweep: not one point, all checks of which hold"
done
[ "$(find "$folder/one" -name 'txn-*.csv' -exec grep -l '^series,' {} + | wc -l)" -eq 26 ] || fail "there are other sweeps than these 26"

# What an operation was for is what it was: all purposes together are all verbs, and what a mode never does is 0.
points=$folder/one/txn-tails-240.csv
all() { value "$points" cellar 1 "$1"; }
purposes="find_reads fetch_reads lock_cases validate_reads log_writes log_backup_writes cell_writes header_writes index_writes backup_writes unlock_cases"
sum=0
for purpose in $purposes queue_verbs messages rest_verbs; do
    sum="$sum + $(all $purpose)"
    [[ $purpose == queue_verbs || $purpose == messages || $purpose == rest_verbs ]] || holds "$purpose" "$(all $purpose) > 0"
done
holds "the verbs of a transaction" "$sum > 0.99 * $(all verbs_per_txn) && $sum < 1.01 * $(all verbs_per_txn)"
holds "a log entry goes to its backup" "$(all log_backup_writes) > 0.99 * $(all log_writes) && $(all log_backup_writes) < 1.01 * $(all log_writes)"
holds "so does what is applied" "$(all backup_writes) > 0.98 * ($(all cell_writes) + $(all header_writes) + $(all index_writes))"
[ "$(value "$folder/one/txn-costs-single.csv" cellar 3 backup_writes)" = 0 ] || fail "backups are written where there are none"

# A gate that can fail: in the 2 ms of --quick compute nodes have few turns, and only the gate decides what the exit
# status says of that.
timeout -k 5 600 "$cellar" exp txn --quick --only fairness --gate targets --out "$folder/fairness" >"$folder/fairness.txt" 2>&1 </dev/null
status=$?
last=$(tail -1 "$folder/fairness.txt")
[ $status -eq 1 ] || fail "missed targets, --gate targets: exit $status"
[[ "$last" =~ ^[1-5]" of 5 targets missed"$ ]] || fail "the last line is not 'N of 5 targets missed': $last"
[ "$(grep -c "<li>fairness: " "$folder/fairness/index.html")" -eq "${last%% *}" ] || fail "the page does not list the missed targets at its top"
[ "$(grep -n "<h2>Missed targets" "$folder/fairness/index.html" | cut -d: -f1)" -lt "$(grep -n "<figure" "$folder/fairness/index.html" | head -1 | cut -d: -f1)" ] ||
    fail "the missed targets are not above all charts"
grep -q "one backup of each record and log" "$folder/fairness/index.html" || fail "the page does not name its rules"
grep -q "backups 1, back-off up to 1024000 ns, seed 1;" "$folder/fairness/index.html" || fail "a chart does not name its rules"
measure fairness-held fairness

# What moves is seen here; whether targets are reached is asked of the windows of the page alone, below.
measure factors factors-modes
points=$folder/factors/txn-factors-modes.csv
[ "$(tail -n +2 "$points" | cut -d, -f3 | sort -u)" = ok ] || fail "a check of a run does not hold"
grep -q 'class="published"' "$folder/factors"/txn-factors-modes-*.svg && fail "shares have marks, whose first is 1"

# sum_tps MODE SEEDS ARGUMENTS...: into $sum, throughputs of seeds 1 to SEEDS, in the cluster and the windows of the
# page
sum_tps() {
    local mode=$1 seeds=$2 seed tps
    shift 2
    sum=0
    for ((seed = 1; seed <= seeds; seed++)); do
        timeout -k 5 600 "$cellar" bench "$@" --fabric sim --nic cx5 --cns 3 --mns 2 --replicas 1 --coros 2 --cc "$mode" --warmup 0.004 --seconds 0.01 \
            --seed $seed --json "$folder/run.json" >"$folder/run.txt" 2>&1 </dev/null || fail "$mode $*, seed $seed: exit $?"
        tps=$(awk -F"[ :,]+" '$2 == "\"tps\"" { printf "%.0f", $3 }' "$folder/run.json")
        sum=$((sum + tps))
    done
}
# gains RATIO A B SEEDS ARGUMENTS...: of mode A over mode B, at least
gains() {
    local ratio=$1 a=$2 b=$3 seeds=$4 ours
    shift 4
    sum_tps "$a" "$seeds" "$@" && ours=$sum
    sum_tps "$b" "$seeds" "$@"
    holds "$a / $b, $*, seeds 1 to $seeds" "$ours >= $ratio * $sum"
}
# Localized execution adds; hot records cost nothing where one compute node has all hot ones in mode crest, nor where
# nothing is hot.
gains 1.78 crest cell 1 smallbank --theta 0.99 --threads 40
gains 0.99 cellar crest 1 smallbank --theta 0.99 --threads 40
gains 0.99 cellar crest 1 smallbank --theta 0.1 --threads 40
# With 24 coordinators a few turns decide, and a seed's ratio strays by some 0.02: of six seeds together 0.983 and
# 0.953. The target of 0.99 is missed (docs/evaluation.md); with any three losses, and turns of 100 us, it was 0.67 and
# 0.76 without backups.
gains 0.96 cellar crest 6 smallbank --theta 0.99 --threads 4
gains 0.93 cellar crest 6 ycsb --records 100000 --theta 0.99 --threads 4

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
