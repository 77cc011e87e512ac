#!/bin/bash
# compare-modes.sh [BUILD [ROUNDS [SECONDS]]] - is the default mode best on shm of this machine? Each mode, with the
# usual coordinators and with one a thread, beside mode cellar: ROUNDS (5) rounds of runs of SECONDS (0.5), in turn. A
# cell is the median over the rounds of a mode's throughput divided by cellar's of the same round, which another load of
# the machine changes less than either; in brackets the median of its p99 in us. Uniform means theta 0. MODES (names
# with commas between), THREADS and WORKLOADS (numbers of the list below) choose fewer.
set -eu
cellar=$(realpath "${1:-build}")/cellar
rounds=${2:-5} seconds=${3:-0.5}
IFS=, read -ra modes <<<"${MODES:-cellar,cellar --coros 1,record,cell,cell --coros 1,crest,ford,ford --coros 1}"
read -ra threads <<<"${THREADS:-1 2 8}"
names=("TPC-C, 2 warehouses" "SmallBank uniform" "SmallBank .99" "YCSB-T uniform" "YCSB-T .99")
lines=("tpcc --warehouses 2 --scale small"
    "smallbank --accounts 20000 --theta 0" "smallbank --accounts 20000 --theta 0.99"
    "ycsb --records 20000 --theta 0" "ycsb --records 20000 --theta 0.99")
read -ra chosen <<<"${WORKLOADS:-0 1 2 3 4}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # ROUND MODE ARGUMENTS...: a line "round, mode, throughput, p99"
    local round=$1 mode=$2
    shift 2
    # shellcheck disable=SC2086
    "$cellar" bench "$@" --seconds "$seconds" --warmup 0.1 --cc $mode --json "$work/json" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log" >&2; exit 2; }
    awk -F '[:,]' -v round="$round" -v mode="$mode" '
        $1 ~ /^  "tps"/ { tps = $2 }
        $1 ~ /^  "latency_us"/ { all = 1 }
        all && $1 ~ /"p99"/ { p99 = $2; all = 0 }
        END { printf "%s;%s;%s;%s\n", round, mode, tps, p99 }' "$work/json" >>"$work/runs"
}

table() { # NAME: a row, of what $work/runs has
    awk -F ';' -v name="$1" -v list="$(IFS=,; echo "${modes[*]}")" -v rounds="$rounds" '
        function median(values, count,   i, j, t) {
            for (i = 2; i <= count; i++)
                for (j = i; j > 1 && values[j] < values[j - 1]; j--) {
                    t = values[j]
                    values[j] = values[j - 1]
                    values[j - 1] = t
                }
            return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
        }
        { tps[$1, $2] = $3; p99[$1, $2] = $4 }
        END {
            count = split(list, modes, ",")
            printf "| %s |", name
            for (m = 1; m <= count; m++) {
                for (r = 1; r <= rounds; r++) {
                    ratio[r] = tps[r, modes[m]] / tps[r, modes[1]]
                    late[r] = p99[r, modes[m]] + 0
                }
                printf " %.2f (%.1f) |", median(ratio, rounds), median(late, rounds)
            }
            print ""
        }' "$work/runs"
}

printf '| ratio to %s (p99) |' "${modes[0]}" && printf ' %s |' "${modes[@]}" && echo
printf '|---|' && printf -- '---:|%.0s' "${modes[@]}" && echo
for i in "${chosen[@]}"; do
    read -ra line <<<"${lines[i]}"
    for thread in "${threads[@]}"; do
        : >"$work/runs"
        for round in $(seq "$rounds"); do
            for mode in "${modes[@]}"; do run "$round" "$mode" "${line[@]}" --threads "$thread"; done
        done
        table "${names[i]}, $thread threads"
    done
done
