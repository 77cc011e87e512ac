#!/bin/bash
# test_traces.sh [CELLAR] - the same run gives the same trace: twice in one process, in processes with another
# environment, memory map and number of jobs, and in each other build that $CELLAR_BESIDE names (folders, separated by
# colons): another compiler, a sanitizer, another processor. No trace is written down anywhere: a change may alter all.
set -u
source "$(dirname "$0")/../share.sh"
source "$(dirname "$0")/../modes.sh"
cellar=$(realpath "${1:-${CELLAR_BUILD:?}/cellar}")
IFS=: read -r -a beside <<<"${CELLAR_BESIDE:-}"
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0 compared=0 runs=0

# traced NAME COMMAND...: leaves the hashes of the run in $folder/NAME; the command is a program and its first words.
traced() {
    local name=$1
    shift
    rm -f "$folder/$name"
    case $kind in
    sim) timeout -k 5 300 "$@" --trace-hashes "$folder/$name" >"$folder/said" 2>&1 </dev/null ;;
    bench) timeout -k 5 300 "$@" --json "$folder/json" >"$folder/said" 2>&1 </dev/null &&
        sed -n 's/^  "trace_hash": "\([0-9a-f]\{16\}\)".*/\1/p' "$folder/json" >"$folder/$name" ;;
    esac
    local status=$?
    [ $status -eq 0 ] && [ -s "$folder/$name" ] && return
    echo "$name: exit $status: ${what[*]}"
    tail -5 "$folder/said"
    failures=$((failures + 1))
}

# same NAME COMMAND...: that run has the trace of the plain one.
same() {
    traced "$@"
    compared=$((compared + 1))
    cmp -s "$folder/plain" "$folder/$1" && return
    echo "$1: another trace than the plain run: ${what[*]}"
    diff "$folder/plain" "$folder/$1"
    failures=$((failures + 1))
}

# alike ARGUMENTS...: the run with these is the same wherever it runs. Sanitizers are slow, and what surrounds a process
# is tried in the build beside: they make each fifth.
alike() {
    kind=$1 what=("$@") runs=$((runs + 1))
    [ "$share" -ge 10 ] || [ $((runs % 5)) -eq 1 ] || return
    traced plain "$cellar" "$@"
    [ ${#beside[@]} -gt 0 ] || same surroundings env -i PADDING="$(printf '%2000s' x)" "${elsewhere[@]}" "$cellar" "$@"
    for build in "${beside[@]}"; do same "$(basename "$build")" "$build/cellar" "$@"; done
}

# The memory map is the same each time, where it may be: else it is another one each time.
elsewhere=()
if setarch -R true 2>/dev/null; then elsewhere=(setarch -R); fi

number=0
for workload in cells smallbank ycsb tpcc sessions ranges; do
    for mode in $(modes record cell crest cellar ford motor 2pl); do
        number=$((number + 1))
        case $workload-$mode in sessions-2pl | ranges-motor) continue ;; esac # which do without
        [ "$workload" != tpcc ] || [ "$share" -ge 40 ] || [ $mode = cellar ] || continue
        schedules=(random pct preempt time)
        seeds=$((1 + (share - 1) / 40))
        alike sim --workload $workload --cc $mode --seeds "$number..$((number + seeds - 1))" --jobs 1 --en-bits 16 \
            --schedule "${schedules[number % 4]}"
    done
done
alike sim --workload cells --cc cellar --seeds 4..4 --replicas 1 --mns 3 --decider on --en-bits 16 --jobs 1
for mode in $(modes cell cellar motor); do
    alike bench smallbank --accounts 200 --theta 0.99 --txns 500 --fabric sim --nic cx5 --cns 3 --mns 2 --threads 2 --cc $mode
done
alike bench tpcc --warehouses 1 --scale small --txns 100 --fabric sim --nic cx6 --cns 2 --mns 2 --replicas 1 --threads 2

# One process that runs several seeds, in several threads of control, each of them twice.
kind=sim what=(sim --workload cells --seeds 1..12 --en-bits 16)
traced plain "$cellar" "${what[@]}" --jobs 1
same jobs "$cellar" "${what[@]}" --jobs 3
same twice "$cellar" "${what[@]}" --jobs 2 --twice

echo "$compared traces compared, $failures differ or failed"
[ $failures -eq 0 ]
