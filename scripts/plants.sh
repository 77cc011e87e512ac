#!/usr/bin/env bash
# plants.sh - meets each planted bug by chance alone: seeds of `cellar sim` from 1 on (of one workload; the rest as it
# is drawn), until a checker complains. The same seed without the bug must pass; else the search goes on after it.
#
#     scripts/plants.sh BUILD [SECONDS] [NAME...] a build with PLANTS=ON; for each bug so long at most [20]; these only
#
# Prints the rows of a table for docs/testing.md. Bugs of mode crest are looked for in that mode, the others in whatever
# mode is drawn.
set -euo pipefail

SEEDS=5000
JOBS=${JOBS:-2}
WORKLOAD=${WORKLOAD:-cells}

build=${1:?usage: scripts/plants.sh BUILD [SECONDS] [NAME...]}
seconds=${2:-20}
shift $(($# < 2 ? $# : 2))
root=$(cd "$(dirname "$0")/.." && pwd)
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    mapfile -t names < <(find "$root" -path "$root/build*" -prune -o -name '*_plants.h' -print | sort |
        xargs sed -n 's/^    X(\([a-z_0-9]*\),.*/\1/p')
fi

# The failing seed and its checker, or nothing; what it printed is in $log.
first_failure() { # from mode... -> "SEED CHECKER"
    local from=$1
    shift
    timeout -s INT -k 20 "$seconds" "$build/cellar" sim --seeds "$from..$SEEDS" --workload "$WORKLOAD" --jobs "$JOBS" --no-shrink "$@" >"$log" 2>&1 || true
    sed -n 's/^FAIL seed \([0-9]*\): \(.*\)$/\1 \2/p' "$log" | head -1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
caught=0
for name in "${names[@]}"; do
    mode=()
    case $name in crest_*) mode=(--cc crest) ;; esac
    from=1
    row=
    while [ -z "$row" ]; do
        read -r seed checker < <(first_failure "$from" "${mode[@]}" --plant "$name") || true
        if [ -z "${seed:-}" ]; then
            row="| $name | $(sed -n 's/^seeds *\([0-9,]*\) run.*/none of \1/p' "$log") | |"
        elif "$build/cellar" sim --seed "$seed" --workload "$WORKLOAD" --jobs 1 --no-shrink "${mode[@]}" >/dev/null 2>&1; then
            row="| $name | $seed | $checker |"
            caught=$((caught + 1))
        else
            from=$((seed + 1)) # not the plant's doing
        fi
    done
    echo "$row"
    unset seed checker
done
echo "$caught of ${#names[@]} bugs are met by chance within $seconds s" >&2
