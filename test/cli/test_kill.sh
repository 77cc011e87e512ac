#!/bin/bash
# test_kill.sh [CELLAR] - one of three processes dies amid a TPC-C load on memory-node processes: killed (SIGKILL), or
# stopped for too long (SIGSTOP). The others go on, it is recovered by one of them, or by an operator with `cellar
# recover`, and in the end every check of what is left holds: TPC-C's twelve conditions, whatever the dead one had been
# told of included, the audit of the pool (no lock left, replicas equal).
set -u
source "$(dirname "$0")/prelude.sh"

# Long enough for a death amid it; sanitizers make it so by themselves.
txns=60000
[ "${CELLAR_SHARE:-100}" -gt 12 ] || txns=9000

# memnode NAME NODE: starts one of two and waits for its socket.
memnode() {
    "$cellar" memnode --socket "$folder/$1" --bytes 400M --node "$2" --mns 2 >"$folder/$1.out" 2>"$folder/$1.err" &
    started+=("$!")
    until_true 60 test -S "$folder/$1" && return
    fail "no socket of $1: $(cat "$folder/$1.err")"
}

# Waits for a process, and tells whether it ended with that status.
ends() {
    until_true 200 ended "$1" || kill -9 "$1"
    wait "$1" 2>/dev/null
    [ $? -eq "$2" ]
}

# The number behind a name in a report.
number() { sed -n "s/^ *\"$2\": \([0-9]*\).*/\1/p" "$folder/$1.json"; }

recovers() { "$cellar" recover --memnodes "$nodes" --replicas "$replicas" --cn "$victim" >"$folder/$name.recover" 2>&1; }

# dies NAME CC REPLICAS LEASE SIGNAL VICTIM: one run. Leases are long: on a loaded machine a live process may stand
# still for seconds.
dies() {
    local name=$1 cc=$2 replicas=$3 lease=$4 signal=$5 victim=$6 pids=() i nodes="$folder/$1-a,$folder/$1-b"
    memnode "$name-a" 0
    memnode "$name-b" 1
    for i in 0 1 2; do
        "$cellar" bench tpcc --warehouses 1 --scale small --txns $txns --cc "$cc" --threads 1 --replicas "$replicas" \
            --memnodes "$nodes" --process "$i/3" --survive --lease "$lease" --json "$folder/$name$i.json" \
            >"$folder/$name$i.out" 2>"$folder/$name$i.err" </dev/null &
        pids[i]=$!
        started+=("$!")
    done
    disown "${pids[victim]}" # its end is no news for the shell
    until_true 100 grep -qs "all 3 processes run" "$folder/$name$victim.err"
    sleep 0.2
    kill "-$signal" "${pids[victim]}" || fail "$name: process $victim was gone already: $(cat "$folder/$name$victim.err")"
    if [ "$lease" = off ]; then
        until_true 60 recovers # its memory nodes may take a moment to see that it is gone
        grep -q "compute node $victim was recovered by" "$folder/$name.recover" || fail "$name: cellar recover says: $(cat "$folder/$name.recover")"
    fi
    for i in 0 1 2; do
        [ $i -eq $victim ] && continue
        ends "${pids[i]}" 0 || fail "$name: process $i: $(cat "$folder/$name$i.err" "$folder/$name$i.out")"
        grep -q '"consistent": true' "$folder/$name$i.json" || fail "$name: process $i has no consistent report"
        tr -d ' \n' <"$folder/$name$i.json" | grep -q "\"lost_processes\":\[$victim\]" || fail "$name: process $i has not lost process $victim"
        echo "$name: process $i: longest call $(number "$name$i" longest_call_us) us, longest wait for one node's locks $(number "$name$i" longest_lock_wait_us) us"
    done
    grep -q '"pool audit": "ok"' "$folder/$name"[0-2].json || fail "$name: the pool was not audited"
    if [ "$lease" != off ]; then
        grep -q "compute node $victim was recovered by compute node" "$folder/$name"[0-2].err || fail "$name: no process says that it recovered number $victim"
    fi
    kill -CONT "${pids[victim]}" 2>/dev/null # too late: the node that declared it dead has ended it first
    case $(sed 's/.*) //' "/proc/${pids[victim]}/stat" 2>/dev/null) in
    "" | Z*) ;;
    *) fail "$name: process $victim came back after it had been declared dead" ;;
    esac
    rm -f "$folder/$name"-[ab]
    [ $failures -eq 0 ]
}

dies backed cellar 1 10 KILL 2 || exit 1
dies operator crest 0 off KILL 1 || exit 1
if [ "$share" -eq 100 ]; then # the plain build makes all of it
    dies killed cell 0 10 KILL 1 || exit 1
    dies judge cell 1 off KILL 0 || exit 1
    dies zombie cellar 1 10 STOP 1 || exit 1
fi

# A process that dies while it loads takes the others with it.
memnode loading-a 0
memnode loading-b 1
for i in 0 1; do
    "$cellar" bench tpcc --warehouses 2 --txns 10 --threads 1 --lease 10 --memnodes "$folder/loading-a,$folder/loading-b" --process "$i/2" --survive \
        >"$folder/loading$i.out" 2>"$folder/loading$i.err" </dev/null &
    pids[i]=$!
    started+=("$!")
done
disown "${pids[0]}"
until_true 60 busy "${pids[0]}" 5 # it has begun to load
kill -KILL "${pids[0]}"
ends "${pids[1]}" 2 || fail "loading: process 1 did not end with 2"
grep -q "process 0 of 2 died before all were ready" "$folder/loading1.err" || fail "loading: $(cat "$folder/loading1.err")"

# What does not fit.
subcommand=(bench tpcc)
refused "needs --process" --survive
refused "needs --memnodes" --lease 1
refused "seconds from 0.001 to 16, or off" --memnodes "$folder/x" --lease soon
refused "seconds from 0.001 to 16, or off" --memnodes "$folder/x" --lease 17

[ $failures -eq 0 ] && echo "the others go on, whichever process dies"
[ $failures -eq 0 ]
