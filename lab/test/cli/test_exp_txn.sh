#!/bin/bash
# test_exp_txn.sh - `cellar exp txn`: one point of each sweep; what each technique adds, in the windows of the page;
# throughput around deaths, the same numbers however many processes measure. In the plain build only. The targets that
# are missed, and why: lab/docs/evaluation.md.
set -u
source "$(dirname "$0")/../../../test/cli/prelude.sh"

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
holds "so does what is applied, but for epoch numbers" "$(all backup_writes) > 0.98 * ($(all cell_writes) + $(all index_writes)) &&
    $(all backup_writes) < 0.9 * ($(all cell_writes) + $(all header_writes) + $(all index_writes))"
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

# run MODE SEED ARGUMENTS...: throughput and p99 into $tps and $p99, in the cluster and the windows of the page;
# $backups says of how many. Each once.
declare -A known
backups=1
run() {
    local mode=$1 seed=$2
    shift 2
    local key="$mode $seed $backups $*"
    if [ -z "${known[$key]-}" ]; then
        timeout -k 5 600 "$cellar" bench "$@" --fabric sim --nic cx5 --cns 3 --mns 2 --replicas "$backups" --coros 2 --cc "$mode" --warmup 0.004 --seconds 0.01 \
            --seed "$seed" --json "$folder/run.json" >"$folder/run.txt" 2>&1 </dev/null || fail "$key: exit $?"
        known[$key]=$(awk -F"[ :,]+" '$2 == "\"tps\"" { tps = $3 } $2 == "\"p99\"" && !p99 { p99 = $3 } END { printf "%.0f %s", tps, p99 }' "$folder/run.json")
    fi
    read -r tps p99 <<<"${known[$key]}"
}
# gains RATIO A B SEEDS ARGUMENTS...: throughputs of seeds 1 to SEEDS together, of mode A over mode B, at least
gains() {
    local ratio=$1 a=$2 b=$3 seeds=$4 seed ours=0 theirs=0
    shift 4
    for ((seed = 1; seed <= seeds; seed++)); do
        run "$a" $seed "$@" && ours=$((ours + tps))
        run "$b" $seed "$@" && theirs=$((theirs + tps))
    done
    holds "$a / $b, $*, seeds 1 to $seeds, $backups backups" "$ours >= $ratio * $theirs"
}
tpcc="tpcc --scale small --mix crest --warehouses 40 --threads 40"
ycsb="ycsb --records 100000 --theta 0.99"

# What each technique adds: of several seeds together where one strays by more than the bound leaves.
gains 1.5 cell record 1 $tpcc
gains 1.78 crest cell 1 smallbank --theta 0.99 --threads 40
gains 1.05 cellar crest 1 $tpcc
gains 1.25 cellar crest 3 smallbank --theta 0.99 --threads 40
gains 1.5 cellar crest 3 smallbank --theta 1.11 --threads 40
# 1.25 is wanted and missed, with backups (1.09) and without: the memory nodes' NICs are 84 % busy. One seed in twelve
# is a tenth off, in either mode: of three together one such was more than the bound leaves.
gains 1.05 cellar crest 6 $ycsb --threads 40
# Many records that are a little warm, and nothing that is hot: nothing is lost.
gains 1.00 cellar crest 1 smallbank --theta 0.8 --threads 40
gains 0.99 cellar crest 1 smallbank --theta 0.1 --threads 40
gains 0.99 cellar crest 1 ycsb --records 100000 --theta 0.1 --threads 40

# With 24 coordinators a few turns decide, and a seed's ratio strays by some 0.02: six seeds together are 0.995 and
# 0.951, and YCSB's 1.033 without backups. Bounds are three deviations of such a mean below these; of YCSB with backups
# 0.99 is wanted and missed. With any three losses, and turns of 100 us, it was 0.67 and 0.76 without backups.
gains 0.975 cellar crest 6 smallbank --theta 0.99 --threads 4
gains 0.93 cellar crest 6 $ycsb --threads 4
backups=0
gains 1.00 cellar crest 6 $ycsb --threads 4
backups=1

# Turns that end when few are inside: SmallBank's are short then, YCSB's are not.
run cellar 1 smallbank --theta 0.99 --threads 40 && usual_tps=$tps usual_p99=$p99
run cellar 1 smallbank --theta 0.99 --threads 40 --hot tries=6,inside=20
holds "SmallBank, turns until few are inside" "$p99 <= 0.4 * $usual_p99 && $tps >= 0.82 * $usual_tps"
run cellar 1 $ycsb --threads 40 && usual_tps=$tps
run cellar 1 $ycsb --threads 40 --hot tries=6,inside=20
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
