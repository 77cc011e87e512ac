#!/bin/bash
# test_shrinking.sh [CELLAR] - failing plans of planted bugs are made small by `cellar sim`: at most 4 transactions and
# 3 faults are left, within a bounded time; and the line that it prints, run as it stands, fails by the same checker
# with the same verdict.
set -u
cellar=${1:-${CELLAR_BUILD:?}/cellar}
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0

complain() {
    echo "$plant: $1"
    cat "$folder/out"
    failures=$((failures + 1))
}

# verdict FILE: the checker and its words, up to the cluster's description.
verdict() { sed -n '/^.*seed [0-9]*: /,/^  cluster /p' "$1" | sed '$d'; }

# faults_left FILE: how many took part.
faults_left() { sed -n 's/^  faults  //p' "$1" | tr ',' '\n' | awk '$NF ~ /^[0-9]+$/ { sum += $NF } END { print sum + 0 }'; }

# Shrinks the first seed from $2 on that fails with plant $1; sets seed (that seed), txns and faults (what is left).
shrink() {
    timeout -k 5 600 "$cellar" sim --workload cells --plant "$1" --seeds "$2..300" --jobs 1 >"$folder/out" 2>&1
    local status=$?
    [ $status -eq 1 ] || { complain "exit $status, wanted 1: caught, and made small in time" && return 1; }
    seed=$(sed -n 's/^FAIL seed \([0-9]*\): .*/\1/p' "$folder/out")
    txns=$(sed -n 's/^  shrunk   to \([0-9]*\) of .*/\1/p' "$folder/out")
    faults=$(faults_left "$folder/out")
    [ -n "$seed" ] && [ -n "$txns" ] || { complain "no seed, or nothing shrunk" && return 1; }
}

# Some plans resist: 600 runs end while dozens of transactions are left, because all of them are needed for the timing.
# So of the first six seeds that fail one must become small; the replay line of each must hold.
for plant in lock_ignored insert_unlocked absence_unchecked; do
    small= first=1
    for _ in 1 2 3 4 5 6; do
        shrink "$plant" "$first" || break
        line=$(sed -n 's/^  replay   cellar //p' "$folder/out")
        read -ra arguments <<<"$line"
        timeout -k 5 300 "$cellar" "${arguments[@]}" >"$folder/again" 2>&1
        status=$?
        verdict "$folder/out" >"$folder/verdict"
        verdict "$folder/again" >"$folder/verdict_again"
        if [ $status -ne 1 ] || [ ! -s "$folder/verdict" ] || ! cmp -s "$folder/verdict" "$folder/verdict_again"; then
            complain "its replay line ends with $status and another verdict:"
            cat "$folder/again"
        fi
        echo "$plant, seed $seed: $txns transactions, $faults faults: cellar $line"
        [ "$txns" -le 4 ] && [ "$faults" -le 3 ] && small=1 && break
        first=$((seed + 1))
    done
    [ -n "$small" ] || complain "none of its seeds was made small: wanted at most 4 transactions and 3 faults"
done
exit $((failures > 0))
