#!/bin/bash
# Atomic instructions of a transaction, and the cache lines that it takes over from other threads which take turns with
# it, counted by cellar-lines: at most so many. In the process's own memory no line is written by all of them on the
# common path; in the pool there are the records that they have in common.
set -u
source "$(dirname "$0")/prelude.sh"
lines=${CELLAR_BUILD:?}/cellar-lines
[ -x "$lines" ] || { echo "cellar-lines is built by plain builds alone: skipped"; exit 77; }

# thousandths WORK BY THREADS: sets atomics, atomics_pool, taken, taken_pool
thousandths() {
    timeout -k 5 240 "$lines" --work "$1" --by "$2" --threads "$3" --txns 300 >"$folder/out" 2>"$folder/err" ||
        { fail "$*: exit $?"; cat "$folder/out" "$folder/err"; exit 1; }
    eval "$(awk '/atomic instr/ { printf "atomics=%d atomics_pool=%d\n", $3 * 1000 + 0.5, $8 * 1000 + 0.5 }
                 /lines taken/ { printf "taken=%d taken_pool=%d\n", $4 * 1000 + 0.5, $9 * 1000 + 0.5 }' "$folder/out")"
    echo "$*: thousandths of atomics $atomics + $atomics_pool, of lines $taken + $taken_pool"
}
most() { [ "$2" -le "$3" ] || fail "$1: $2 thousandths, more than $3"; }

# Work, by what, atomics in the process's memory (the gate; a fence where something is logged) and in the pool (a lock
# is taken and given back for each record that is written).
while read -r work by own pool; do
    thousandths "$work" "$by" 1
    most "$work $by, one thread, atomics" "$atomics" "$own"
    most "$work $by, one thread, atomics in the pool" "$atomics_pool" "$pool"
    most "$work $by, one thread, lines" $((taken + taken_pool)) 0
    thousandths "$work" "$by" 8
    most "$work $by, eight threads, atomics" $((atomics + atomics_pool)) $((own + pool + 50))
    most "$work $by, eight threads, lines of the process" "$taken" 30
    [ "$work" != read ] || most "read $by, eight threads, lines of the pool" "$taken_pool" 0
done <<'END'
smallbank cellar 1900 2600
ycsb cellar 2010 8000
read cellar 1010 0
smallbank session 9800 2600
read session 5300 0
END

# Where all write one record, its lines go from thread to thread: the model sees that.
timeout -k 5 240 "$lines" --work ycsb-1.9 --threads 4 --records 100 --sites 5 >"$folder/out" || fail "--sites: exit $?"
awk '/lines taken/ { exit !($9 > 4) }' "$folder/out" || { fail "no line is taken over where all write the same"; cat "$folder/out"; }
"$lines" --help | grep -q -- --threads || fail "--help"
"$lines" --work tpcc >"$folder/out" 2>"$folder/err" && fail "tpcc is no work"
grep -q 'no work is called "tpcc"' "$folder/err" || fail "tpcc is refused with other words"
[ $failures -eq 0 ]
