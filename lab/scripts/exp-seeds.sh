#!/bin/bash
# exp-seeds.sh BUILD SEEDS A B ARGUMENTS... - throughput of mode A over mode B's in `cellar bench ARGUMENTS` on the
# cluster of the experiments (lab/docs/evaluation.md), for seeds 1 to SEEDS: ratios, their mean and standard deviation.
# ARGUMENTS name the workload and the threads: smallbank --theta 0.99 --threads 40
set -eu
[ $# -ge 6 ] && [ -x "$1/cellar" ] || { sed -n '2,3s/^# //p' "$0" >&2 && exit 2; }
cellar=$1/cellar seeds=$2 a=$3 b=$4
shift 4
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# tps MODE SEED ARGUMENTS...
tps() {
    local mode=$1 seed=$2
    shift 2
    "$cellar" bench "$@" --fabric sim --nic cx5 --cns 3 --mns 2 --coros 2 --warmup 0.004 --seconds 0.01 --cc "$mode" --seed "$seed" --json "$report" >/dev/null </dev/null
    awk -F"[ :,]+" '$2 == "\"tps\"" { print $3 }' "$report"
}

for ((seed = 1; seed <= seeds; seed++)); do
    echo "$(tps "$a" $seed "$@") $(tps "$b" $seed "$@")"
done | awk -v what="$a / $b, $*" '
    { ratio = $1 / $2; sum += ratio; squares += ratio * ratio; all = all sprintf(" %.3f", ratio) }
    END {
        mean = sum / NR
        deviation = NR > 1 && squares > NR * mean * mean ? sqrt((squares - NR * mean * mean) / (NR - 1)) : 0
        printf "%s: mean %.3f, standard deviation %.3f of %d seeds:%s\n", what, mean, deviation, NR, all
    }'
