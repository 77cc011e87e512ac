#!/bin/bash
# trace_hashes.sh [--update] [CELLAR [MATCH]] - runs each line of test/sim/trace_hashes.txt (those that match the
# regular expression MATCH) and compares the trace hash; --update writes those that it finds. CELLAR is the program:
# $CELLAR_BUILD/cellar, or build/cellar.
#
# A trace changes whenever the engine, the fabric or a workload does something else, or at another time: then update,
# and commit the file with the change. It must not change with the compiler, its options, the sanitizers or the machine.
set -u
cd "$(dirname "$0")/.." || exit 2
file=test/sim/trace_hashes.txt
update=
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
cellar=${1:-${CELLAR_BUILD:-build}/cellar}
match=${2:-.}
fresh=$(mktemp) && json=$(mktemp) && said=$(mktemp) || exit 2
trap 'rm -f "$fresh" "$json" "$said"' EXIT
count=0 changed=0 failed=0 line=0
# Sanitizers are slow, and what they see in one line they see in the others: each eighth.
every=1
source test/share.sh
[ -n "$update" ] || [ "$share" -ge 40 ] || every=8

while read -r hash arguments; do
    line=$((line + 1))
    if [ "$hash" = "#" ] || [ $((line % every)) -ne 0 ] || ! [[ $arguments =~ $match ]]; then
        echo "$hash $arguments" >>"$fresh"
        continue
    fi
    # shellcheck disable=SC2086
    timeout -k 5 600 "$cellar" $arguments --json "$json" >"$said" 2>&1 </dev/null
    status=$?
    found=$(sed -n 's/^  "trace_hash": "\([0-9a-f]\{16\}\)".*/\1/p' "$json")
    count=$((count + 1))
    if [ $status -ne 0 ] || [ -z "$found" ]; then
        echo "cellar $arguments: exit $status"
        tail -5 "$said"
        failed=$((failed + 1))
        found=$hash
    elif [ "$found" != "$hash" ]; then
        echo "cellar $arguments: trace hash $found, expected $hash"
        changed=$((changed + 1))
    fi
    echo "$found $arguments" >>"$fresh"
done <"$file"

if [ $count -eq 0 ]; then
    echo "$file has no line that matches '$match'"
    exit 2
fi
if [ -n "$update" ] && [ $failed -eq 0 ]; then
    cat "$fresh" >"$file"
    echo "$count trace hashes, $changed written anew"
    exit 0
fi
echo "$count trace hashes: $changed differ, $failed failed"
[ $((changed + failed)) -eq 0 ]
