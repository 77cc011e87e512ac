#!/bin/bash
# measure-sim.sh [--quick] [--build DIR] [--update] - how fast the simulator is, and how much memory a large cluster
# takes: the tables of "The simulator" in docs/performance.md, on standard output. Builds the release build that it
# measures.
#
#   --quick       each rate once, and only the smaller of the memory runs
#   --build DIR   the build folder (build-measure)
#   --update      also put the tables into docs/performance.md
#
# Rates are the best of three runs, of processor time: on a busy machine they suffer less than those of the wall, which
# are printed beside.
# Memory is what the kernel says of the process (VmHWM), looked at each fifth of a second. Exit 1: a run failed, or a
# check after it.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C

say() { printf 'measure-sim: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
rounds=3 quick='' build=build-measure update=''
while [ $# -gt 0 ]; do
    case $1 in
    --help) sed -n '2,11s/^# \{0,1\}//p' scripts/measure-sim.sh; exit 0 ;;
    --quick) rounds=1 quick=1 ;;
    --update) update=1 ;;
    --build) [ -n "${2:-}" ] || { say "--build needs a folder"; exit 2; }; build=$2; shift ;;
    *) say "unknown option '$1': see --help"; exit 2 ;;
    esac
    shift
done

work=$(mktemp -d)
child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

say "building in $build"
{ cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTS=OFF && cmake --build "$build" --target cellar -j 2; } \
    >"$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; fail "the build failed"; }

# The reports are indented JSON, one field a line; a field of the outermost.
field() { awk -v name="\"$2\":" '/^  "/ && $1 == name { sub(/,$/, "", $2); print $2; exit }' "$1"; }
millions() { awk -v v="$1" 'BEGIN { printf "%.2f M\n", v / 1e6 }'; }
gib() { awk -v kib="$1" 'BEGIN { printf "%.2f\n", kib / 1048576 }'; }
run() { # arguments of `cellar bench`, behind the fabric
    timeout -k 5 1200 "$build/cellar" bench "$@" --fabric sim --nic cx5 --json "$work/report" >"$work/log" 2>&1 </dev/null
}

# ---- verbs per second
# --------------------------------------------------------------------------------------------------

rate_row() { # TITLE, arguments
    local title=$1 best=0 wall=0 round cpu
    shift
    for round in $(seq "$rounds"); do
        say "round $round of $rounds: $title"
        run "$@" --seed "$round" || { tail -20 "$work/log" >&2; fail "cellar bench $* failed"; }
        cpu=$(field "$work/report" verbs_per_cpu_s)
        wall=$(awk -v a="$wall" -v b="$(field "$work/report" verbs_per_wall_s)" 'BEGIN { print (a > b ? a : b) }')
        best=$(awk -v a="$best" -v b="$cpu" 'BEGIN { print (a > b ? a : b) }')
    done
    echo "| $title | $(millions "$best") | $(millions "$wall") | \`cellar bench $* --fabric sim --nic cx5\` |"
}

rate_table() {
    echo "| simulated verbs, best of $rounds | per second of processor time | per second on the wall | command |"
    echo "|---|---:|---:|---|"
    rate_row "SmallBank, 3 CN x 2 MN" smallbank --cns 3 --mns 2 --threads 4 --coros 2 --seconds 0.05
    rate_row "TPC-C, 3 CN x 2 MN" tpcc --warehouses 3 --cns 3 --mns 2 --threads 4 --coros 2 --seconds 0.05
    rate_row "SmallBank, 100 CN x 8 MN" smallbank --cns 100 --mns 8 --threads 2 --coros 2 --seconds 0.01
}

# ---- memory
# ------------------------------------------------------------------------------------------------------------

memory_row() { # REPLICAS GIB-NEEDED
    local title="TPC-C, 40 warehouses at full size, 3 CN x 2 MN, backups: $1" have peak=0 now large=0 began=$SECONDS
    have=$(awk '$1 == "MemAvailable:" { print int($2 / 1048576) }' /proc/meminfo)
    if [ "$have" -lt "$2" ]; then
        echo "| $title | not measured: it needs $2 GiB, and the machine has $have | | | |"
        return
    fi
    say "$title"
    "$build/cellar" bench tpcc --warehouses 40 --cns 3 --mns 2 --threads 4 --coros 2 --replicas "$1" --seconds 0.01 --fabric sim --nic cx5 \
        --json "$work/report" >"$work/log" 2>&1 </dev/null &
    child=$!
    while now=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$child/status" 2>/dev/null) && [ -n "$now" ]; do
        peak=$now
        now=$(awk '$1 == "AnonHugePages:" { print $2 }' "/proc/$child/smaps_rollup" 2>/dev/null || true)
        [ "${now:-0}" -lt "$large" ] || large=${now:-0}
        sleep 0.2
    done
    wait "$child" || { tail -20 "$work/log" >&2; fail "TPC-C with 40 warehouses failed"; }
    child=
    echo "| $title | $(gib "$peak") | $(gib "$large") | 16 | $((SECONDS - began)) s |"
}

memory_table() {
    echo "| memory of the whole process | peak, GiB | in large pages, GiB | limit | load, run and checks, on the wall |"
    echo "|---|---:|---:|---:|---:|"
    memory_row 0 8
    [ -n "$quick" ] || memory_row 1 14
}

machine() {
    local model
    model=$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
    echo "Commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown); ${model:-unknown processor}, $(nproc) cores, load average at the end" \
        "$(cut -d ' ' -f 1 /proc/loadavg)."
}

rate_table >"$work/rates"
memory_table >"$work/memory"
{ machine && echo && cat "$work/rates" && echo && cat "$work/memory"; } >"$work/tables"
cat "$work/tables"
[ -z "$update" ] || {
    awk -v tables="$work/tables" '
        /^<!-- end of sim -->/ { skip = 0 }
        !skip
        /^<!-- measured sim -->/ { print ""; while ((getline line < tables) > 0) print line; print ""; skip = 1 }' docs/performance.md >"$work/page"
    cat "$work/page" >docs/performance.md
}
