#!/bin/bash
# test_memnode.sh [CELLAR] - memory nodes of their own, killed and interrupted: clear errors, and nothing is left
# behind.
set -u
source "$(dirname "$0")/prelude.sh"

# memnode NAME ARGUMENTS...: starts one and waits for its socket; its process is $pid.
memnode() {
    local name=$1
    shift
    "$cellar" memnode --socket "$folder/$name" --bytes 64M "$@" >"$folder/$name.out" 2>"$folder/$name.err" &
    pid=$!
    started+=("$pid")
    until_true 60 test -S "$folder/$name" && return
    fail "no socket of $name: $(cat "$folder/$name.err")"
}

# ends PID STATUS WHAT: waits for an end with that status.
ends() {
    until_true 120 ended "$1" || { fail "$3 did not end" && kill -9 "$1"; }
    wait "$1" 2>/dev/null
    local status=$?
    [ $status -eq "$2" ] || fail "$3: exit $status, wanted $2"
}

# nameless PID WHAT: the process has no memory with a name in /dev/shm, which would outlive it when it is killed.
# (Comparing the folder before and after would blame this test for what others do there.)
nameless() {
    kill -0 "$1" 2>/dev/null || fail "$2 does not run"
    if grep -qs /dev/shm/ "/proc/$1/maps" || ls -l "/proc/$1/fd" | grep -q /dev/shm/; then fail "$2 has memory in /dev/shm"; fi
}

# two memory nodes, a run over both, a clean stop
memnode a --node 0 --mns 2
first=$pid
memnode b --node 1 --mns 2
second=$pid
timeout -k 5 240 "$cellar" bench smallbank --accounts 500 --txns 2000 --threads 4 --replicas 1 --memnodes "$folder/a,$folder/b" \
    >"$folder/out" 2>"$folder/err" || fail "a run over two memory nodes failed: $(cat "$folder/err")"
grep -q "checks hold" "$folder/out" || fail "no verdict of a run over two memory nodes"
timeout -k 5 240 "$cellar" bench smallbank --accounts 500 --txns 2000 --threads 4 --replicas 1 --memnodes "$folder/a,$folder/b" \
    >"$folder/out" 2>"$folder/err"
[ $? -eq 2 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] || fail "memory nodes with data were accepted: $(cat "$folder/err")"
timeout -k 5 240 "$cellar" memnode --socket "$folder/a" --bytes 64M >"$folder/out" 2>"$folder/err"
[ $? -eq 2 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] || fail "a second memory node took a live socket: $(cat "$folder/err")"
kill -INT "$first"
kill -TERM "$second"
ends "$first" 0 "a memory node after SIGINT"
ends "$second" 0 "a memory node after SIGTERM"
[ -e "$folder/a" ] || [ -e "$folder/b" ] && fail "a socket was left behind"
[ -s "$folder/a.err" ] && fail "a memory node wrote to a pipe: $(cat "$folder/a.err")"

# An operator who stops it may be in a hurry: a second signal while it takes its socket away.
for round in 1 2 3 4 5 6; do
    memnode hurried
    kill -TERM "$pid"
    kill -TERM "$pid" 2>/dev/null
    ends "$pid" 0 "a memory node after two SIGTERMs"
    [ -e "$folder/hurried" ] && fail "a socket was left behind by two SIGTERMs in round $round" && rm -f "$folder/hurried"
done

# a memory node dies in the middle of a run
memnode c
"$cellar" bench smallbank --accounts 500 --threads 2 --seconds 100 --memnodes "$folder/c" >"$folder/out" 2>"$folder/err" &
run=$!
started+=("$run")
until_true 60 busy $run
nameless "$pid" "a memory node"
nameless $run "a run over a memory node"
kill -9 "$pid"
ends $run 2 "a run whose memory node was killed"
[ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q "^cellar bench: .*memory node" "$folder/err" ||
    fail "a killed memory node gave: $(cat "$folder/err")"

# a dead socket is replaced
dead=$(stat -c "%i %z" "$folder/c")
replaced() { local now && now=$(stat -c "%i %z" "$folder/c" 2>/dev/null) && [ "$now" != "$dead" ]; }
memnode c
until_true 60 replaced # the socket that memnode waits for was there before
sleep 0.2
kill -INT "$pid"
ends "$pid" 0 "a memory node at a dead socket"

# an interrupted run is checked and reported
"$cellar" bench smallbank --accounts 500 --threads 2 --seconds 100 --json "$folder/json" >"$folder/out" 2>"$folder/err" &
run=$!
started+=("$run")
until_true 60 busy $run
nameless $run "an embedded run"
kill -INT $run
ends $run 0 "an interrupted run"
grep -q '"interrupted": true' "$folder/json" && grep -q '"consistent": true' "$folder/json" && grep -q "interrupted" "$folder/out" ||
    fail "an interrupted run gave: $(cat "$folder/err")"

# interrupted while loading
"$cellar" bench ycsb --records 4000000 --threads 1 >"$folder/out" 2>"$folder/err" &
run=$!
started+=("$run")
until_true 60 works $run
kill -INT $run
ends $run 2 "a run interrupted while loading"
[ "$(cat "$folder/err")" = "cellar bench: interrupted" ] || fail "an interrupt while loading gave: $(cat "$folder/err")"

[ $failures -eq 0 ] && echo "memory nodes and interrupts are as they should be"
[ $failures -eq 0 ]
