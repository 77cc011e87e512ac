#!/bin/bash
# test_replace.sh [CELLAR] - `cellar replace`: each of two memory-node processes is killed while two processes work, and
# once while none does; a fresh one is filled in its place, and in the end every check of what is left holds:
# SmallBank's sums, no lock left, replicas equal.
set -u
source "$(dirname "$0")/prelude.sh"
nodes="$folder/0,$folder/1"

# memnode NODE: starts one of two and waits for its socket.
memnode() {
    "$cellar" memnode --socket "$folder/$1" --bytes 64M --node "$1" --mns 2 --cns 4 >"$folder/$1.out" 2>"$folder/$1.err" &
    memnodes[$1]=$!
    started+=("$!")
    disown $!
    until_true 60 test -S "$folder/$1" && return
    fail "no socket of memory node $1: $(cat "$folder/$1.err")"
}

# lose NODE: its process is killed.
lose() {
    kill -9 "${memnodes[$1]}"
    while kill -0 "${memnodes[$1]}" 2>/dev/null; do sleep 0.05; done
    rm -f "$folder/$1"
}

# replace NODE STATUS TEXT: the command ends so, and says that.
replace() {
    "$cellar" replace --memnodes "$nodes" --mn "$1" --cn 3 >"$folder/replace" 2>&1 </dev/null
    local status=$?
    [ $status -eq "$2" ] && grep -q "$3" "$folder/replace" || fail "cellar replace --mn $1 ends with $status, not $2 and '$3': $(cat "$folder/replace")"
}

# wrong TEXT ARGUMENTS...: refused in one line that says so.
wrong() {
    local text=$1
    shift
    "$cellar" replace "$@" >"$folder/wrong.out" 2>"$folder/wrong.err" </dev/null
    local status=$?
    [ $status -eq 2 ] && [ ! -s "$folder/wrong.out" ] && [ "$(wc -l <"$folder/wrong.err")" -eq 1 ] && grep -q "^cellar replace: .*$text" "$folder/wrong.err" ||
        fail "cellar replace $*: status $status, not 2 and '$text': $(cat "$folder/wrong.out" "$folder/wrong.err")"
}

declare -a memnodes
memnode 0
memnode 1
for i in 0 1; do
    "$cellar" bench smallbank --accounts 200 --threads 1 --cc cellar --replicas 1 --memnodes "$nodes" --process "$i/2" \
        --survive --seconds 600 --lease 10 --json "$folder/$i.json" >"$folder/b$i.out" 2>"$folder/b$i.err" </dev/null &
    pids[i]=$!
    started+=("$!")
done
until_true 60 grep -qs "all 2 processes run" "$folder/b0.err"
wrong "choose other indexes" --memnodes "$nodes" --mn 1 --cn 0
wrong "name the pool" --mn 1 --cn 3
wrong "name the memory node that was lost" --memnodes "$nodes" --cn 3
wrong "index that is not in use" --memnodes "$nodes" --mn 1
wrong "memory node 2 is unknown" --memnodes "$nodes" --mn 2 --cn 3
wrong "replicas 2 needs at least 3 memory nodes" --memnodes "$nodes" --mn 1 --cn 3 --replicas 2
wrong "memory node 1 was not replaced: it is not away" --memnodes "$nodes" --mn 1 --cn 3
for node in 1 0; do
    lose $node
    sleep 0.3
    replace $node 2 "no memory node listens in its place"
    memnode $node
    replace $node 0 "memory node $node has all that the lost one had"
done
kill -INT "${pids[@]}" # they would work for ten minutes
for i in 0 1; do
    wait "${pids[i]}" || fail "process $i: $(cat "$folder/b$i.err" "$folder/b$i.out")"
    grep -q '"consistent": true' "$folder/$i.json" || fail "process $i has no consistent report"
done
grep -q '"pool audit": "ok"' "$folder"/[01].json || fail "the pool was not audited"
# No process has the pool open, so none notices.
lose 0
replace 0 2 "no memory node listens in its place"
grep -q "memory node 0 is lost: its backups have taken over" "$folder/replace" ||
    fail "the process that opens a pool does not notice that a memory node is lost"
memnode 0
replace 0 0 "memory node 0 has all that the lost one had"
lose 1
memnode 1 # before a process notices
replace 1 0 "memory node 1 has all that the lost one had"
# A pool that is full has room for the log of one that is new to it.
lose 0
lose 1
memnode 0
memnode 1
"$cellar" bench tpcc --warehouses 3 --scale small --seconds 2 --threads 1 --replicas 1 --memnodes "$nodes" >"$folder/full" 2>&1 </dev/null &&
    fail "three warehouses fit into a pool of 64 MiB"
grep -q "no space left" "$folder/full" || fail "the pool should be full: $(cat "$folder/full")"
lose 1
memnode 1
replace 1 0 "memory node 1 has all that the lost one had"
# One with an index of wide columns, whose nodes take more log than the least.
lose 0
lose 1
memnode 0
memnode 1
"$cellar" bench smallbank --accounts 100 --txns 100 --threads 1 --replicas 1 --memnodes "$nodes" >"$folder/bench" 2>&1 </dev/null ||
    fail "a bench: $(cat "$folder/bench")"
"$cellar" shell --memnodes "$nodes" --replicas 1 >"$folder/shell" 2>&1 <<<'create table t rows 100 id:u64:key wide:fixed88
create index t by_wide wide' || fail "a wide index: $(cat "$folder/shell")"
"$cellar" recover --memnodes "$nodes" --replicas 1 --cn 3 >"$folder/recover" 2>&1 || fail "recover with a wide index: $(cat "$folder/recover")"
lose 1
memnode 1
replace 1 0 "memory node 1 has all that the lost one had"
[ $failures -eq 0 ] && echo "all as it should be"
exit $((failures > 0))
