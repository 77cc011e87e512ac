#!/bin/bash
# test_trace_hashes.sh [CELLAR] - a run's trace is that of the committed file, whatever compiled it; and what surrounds
# a process (its memory map, its environment, its fellow processes, what it ran before) does not change it.
set -u
cellar=$(realpath "${1:-${CELLAR_BUILD:?}/cellar}")
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0

bash "$(dirname "$0")/../../scripts/trace_hashes.sh" "$cellar" || failures=1

# same NAME COMMAND...: the trace hashes of these seeds are as before.
same() {
    local name=$1
    shift
    "$@" sim --workload cells --seeds 1..12 --en-bits 16 --trace-hashes "$folder/$name" $options >"$folder/out" 2>&1 </dev/null
    local status=$?
    if [ $status -ne 0 ] || [ "$(wc -l <"$folder/$name")" -ne 12 ] || ! cmp -s "$folder/$name" "$folder/plain"; then
        echo "$name: exit $status; other trace hashes:"
        diff "$folder/plain" "$folder/$name"
        failures=$((failures + 1))
    fi
}

options="--jobs 1"
same plain "$cellar"
same environment env PADDING="$(printf '%20000s' x)" "$cellar"
same no_environment env -i "$cellar"
if setarch -R true 2>/dev/null; then same fixed_addresses setarch -R "$cellar"; fi
options="--jobs 3"
same jobs "$cellar"
options="--jobs 2 --twice"
same twice "$cellar"

[ $failures -eq 0 ] && echo "the traces are what they were"
[ $failures -eq 0 ]
