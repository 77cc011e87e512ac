#!/bin/bash
# test_processes.sh [CELLAR] - several bench processes as compute nodes of the same memory-node processes: run together
# and checked as one, refused when they do not fit, told of when one of them is killed.
set -u
source "$(dirname "$0")/prelude.sh"

# memnode NAME ARGUMENTS...: starts one, of $bytes, and waits for its socket; its process is $pid.
memnode() {
    local name=$1
    shift
    "$cellar" memnode --socket "$folder/$name" --bytes "${bytes:-96M}" "$@" >"$folder/$name.out" 2>"$folder/$name.err" &
    pid=$!
    started+=("$pid")
    until_true 60 test -S "$folder/$name" && return
    fail "no socket of $name: $(cat "$folder/$name.err")"
}

# starts NAME ARGUMENTS...: a bench run in the background; its output is in $folder/NAME.{out,err,json}, its process is
# $pid.
starts() {
    local name=$1
    shift
    "$cellar" bench "$@" --threads 1 --json "$folder/$name.json" >"$folder/$name.out" 2>"$folder/$name.err" </dev/null &
    pid=$!
    started+=("$pid")
}

# ends PID STATUS NAME [TEXT]: waits for that exit status; if it is 2, for one line with TEXT on stderr, else for none.
ends() {
    until_true 120 ended "$1" || { fail "$3 did not end" && kill -9 "$1"; }
    wait "$1" 2>/dev/null
    local status=$?
    [ $status -eq "$2" ] || fail "$3: exit $status, wanted $2: $(cat "$folder/$3.err") $(grep -A1 FAIL "$folder/$3.out")"
    if [ "$2" -eq 2 ]; then
        [ "$(wc -l <"$folder/$3.err")" -eq 1 ] && grep -q "^cellar bench: .*${4:-}" "$folder/$3.err" ||
            fail "$3: wanted one line with '${4:-}': $(cat "$folder/$3.err")"
    else
        [ -s "$folder/$3.err" ] && fail "$3 wrote: $(cat "$folder/$3.err")"
    fi
}

# together NAME COUNT ARGUMENTS...: so many processes at once, the last one first; all end well, and number 0 has
# checked.
together() {
    local name=$1 count=$2 pids=() i
    shift 2
    for ((i = count - 1; i >= 0; i--)); do
        starts "$name$i" "$@" --lease 10 --process "$i/$count" # on a loaded machine a process that lives may stand still for a second
        pids[i]=$pid
    done
    for ((i = 0; i < count; i++)); do
        ends "${pids[i]}" 0 "$name$i"
        grep -q '"consistent": true' "$folder/$name$i.json" || fail "$name$i: not consistent"
        grep -q "\"process\": $i," "$folder/$name$i.json" && grep -q "\"processes\": $count," "$folder/$name$i.json" ||
            fail "$name$i: not number $i of $count"
        grep -q '^  "committed": 0,' "$folder/$name$i.json" && fail "$name$i has done nothing"
        grep -q "number $i of $count that ran together" "$folder/$name$i.out" || fail "$name$i: its report does not say what it was"
        [ $i -eq 0 ] || grep -q '"checked by process 0": "ok"' "$folder/$name$i.json" || fail "$name$i: no verdict of process 0"
    done
    grep -q '"pool audit": "ok"' "$folder/${name}0.json" || fail "${name}0: the pool was not audited"
}

# A killed process first, since its end takes longest: the memory node notices, and the others do not wait for ever.
# Leases are off: the survivor must not recover it before the operator does.
memnode killed
starts k1 ycsb --records 2000 --seconds 10 --warmup 0 --lease off --memnodes "$folder/killed" --process 1/2
victim=$pid
disown "$victim" # its end is no news for the shell
starts k0 ycsb --records 2000 --seconds 10 --warmup 0 --lease off --memnodes "$folder/killed" --process 0/2
survivor=$pid
until_true 60 busy $victim || fail "k1 has not begun"
kill -9 $victim
until_true 60 grep -q "compute nodes 1..1 (process $victim) died" "$folder/killed.err" || fail "the memory node says: $(cat "$folder/killed.err")"

# Its place is alive no more, and can be recovered; the survivor's is not, and cannot.
"$cellar" recover --memnodes "$folder/killed" --cn 1 >"$folder/recover.out" 2>&1 || fail "recover: $(cat "$folder/recover.out")"
grep -q "compute node 1 was recovered by compute node 1" "$folder/recover.out" || fail "recover says: $(cat "$folder/recover.out")"
"$cellar" recover --memnodes "$folder/killed" --cn 1 >"$folder/recover.out" 2>&1 || fail "recover again: $(cat "$folder/recover.out")"
grep -q "nothing was left" "$folder/recover.out" || fail "recover says again: $(cat "$folder/recover.out")"
"$cellar" recover --memnodes "$folder/killed" --cn 0 >"$folder/recover.out" 2>&1
[ $? -eq 2 ] && grep -q "^cellar recover: compute nodes 0..0 are process $survivor already" "$folder/recover.out" ||
    fail "recovery of a living node: $(cat "$folder/recover.out")"

# What a memory node held that is blank now is lost, and no pool is made in its place.
memnode blank
"$cellar" recover --memnodes "$folder/blank" --cn 1 >"$folder/recover.out" 2>"$folder/recover.err"
[ $? -eq 2 ] && [ ! -s "$folder/recover.out" ] && [ "$(wc -l <"$folder/recover.err")" -eq 1 ] &&
    grep -q "^cellar recover: memory node 0 is blank: there is no pool; what it held, if it held one, is lost" "$folder/recover.err" ||
    fail "recovery where nothing is left: $(cat "$folder/recover.out" "$folder/recover.err")"

# Two and three at once, each workload; with a backup of everything.
memnode a --node 0 --mns 2
memnode b --node 1 --mns 2
together ycsb 2 ycsb --records 2000 --theta 1.1 --write-ratio 0.7 --seconds 1 --warmup 0.2 --replicas 1 --memnodes "$folder/a,$folder/b"
grep -q '"no update lost": "ok"' "$folder/ycsb0.json" || fail "updates of two processes were not counted together"

# Once they have run, the memory nodes hold data: neither together nor alone can they be used again.
starts again ycsb --records 2000 --theta 1.1 --write-ratio 0.7 --seconds 1 --warmup 0.2 --lease 10 --replicas 1 --memnodes "$folder/a,$folder/b" --process 0/2
ends "$pid" 2 again "process 0 of 2 has been here already"
starts alone ycsb --records 2000 --replicas 1 --txns 10 --memnodes "$folder/a,$folder/b"
ends "$pid" 2 alone "holds data already"

memnode c
together bank 3 smallbank --accounts 300 --txns 2000 --memnodes "$folder/c"
grep -q '"total balance": "ok"' "$folder/bank0.json" || fail "the deltas of three processes were not added up"
memnode d
together tpcc 2 tpcc --warehouses 2 --scale small --txns 400 --memnodes "$folder/d"
for mode in $(modes motor); do # its records keep old versions: a client of TPC-C takes several rows
    memnode m
    together motor 2 tpcc --cc "$mode" --warehouses 2 --scale small --txns 200 --memnodes "$folder/m"
done

# A process that dies amid its load ends those that wait for it, without leases, too.
bytes=800M memnode f
starts f1 tpcc --warehouses 2 --txns 10 --lease off --memnodes "$folder/f" --process 1/2
waiting=$pid
starts f0 tpcc --warehouses 2 --txns 10 --lease off --memnodes "$folder/f" --process 0/2
victim=$pid
disown "$victim"
until_true 60 busy "$victim" 5 || fail "f0 has not begun to load"
kill -9 "$victim"
until_true 60 ended "$waiting" || fail "f1 waits for one that is dead"
wait "$waiting"
[ $? -eq 2 ] && grep -q "^cellar bench: process 0 of 2 died before all were ready; start all 2 again, on fresh memory nodes" "$folder/f1.err" ||
    fail "f1 says: $(cat "$folder/f1.err")" # after a line that names its recoverer

# Its first thread has slept so often: it looks for another process every 5 ms.
polls() { awk '/^voluntary/ { sleeps = $2 } END { exit sleeps < 300 }' "/proc/$1/status"; }

# What does not fit. The first process waits for its peer, meanwhile others try its place, and it is interrupted in the
# end.
memnode e --cns 2
starts waiting smallbank --accounts 300 --txns 100 --lease 10 --memnodes "$folder/e" --process 0/2
waiting=$pid
until_true 60 polls $waiting || fail "the first process does not wait for its peer"
starts same smallbank --accounts 300 --txns 100 --lease 10 --memnodes "$folder/e" --process 0/2
ends "$pid" 2 same
starts other smallbank --accounts 400 --txns 100 --lease 10 --memnodes "$folder/e" --process 1/2
ends "$pid" 2 other "process 0 of 2 was given other options"
starts third smallbank --accounts 300 --txns 100 --lease 10 --memnodes "$folder/e" --process 2/3
ends "$pid" 2 third
kill -INT $waiting
ends $waiting 2 waiting "interrupted while waiting for process 1 of 2"
starts late smallbank --accounts 300 --txns 100 --lease 10 --memnodes "$folder/e" --process 1/2
ends "$pid" 2 late "process 0 of 2 ended with an error"
for bad in 2/2 1 x/2 -1/2 0/0 1/ /2 0/2/3 0/300 "1 /2" 99999999999999999999/2; do
    starts bad smallbank --memnodes "$folder/e" --process "$bad"
    ends "$pid" 2 bad
done
starts bad smallbank --process 0/2
ends "$pid" 2 bad "needs --memnodes"
starts bad smallbank --fabric sim --process 0/2
ends "$pid" 2 bad "for --fabric shm"

ends $survivor 2 k0
grep -qE "overdue; it must have died|did not commit within" "$folder/k0.err" || fail "the survivor says: $(cat "$folder/k0.err")"
for name in a b c d; do [ -s "$folder/$name.err" ] && fail "memory node $name says: $(cat "$folder/$name.err")"; done
[ $failures -eq 0 ] && echo "processes run together as they should"
[ $failures -eq 0 ]
