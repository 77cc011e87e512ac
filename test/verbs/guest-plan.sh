#!/bin/busybox sh
# guest-plan.sh - what runs in a guest on soft-RoCE: the contract suite, refusals, and the program as its users call it. $PLAN: quick or all.
# Prints one line for each step; the exit status is the number of steps that failed.
failures=0
fail() { echo "FAILED $*"; failures=$((failures + 1)); }

# step NAME SECONDS COMMAND...: must end well; its output is shown when it does not.
step() {
    local name=$1 seconds=$2 begin end
    shift 2
    read begin _ </proc/uptime
    timeout -s KILL "$seconds" "$@" >/tmp/out 2>/tmp/err </dev/null || { fail "$name: exit $?"; tail -n 30 /tmp/out /tmp/err; return 1; }
    read end _ </proc/uptime
    echo "ok $name, $(echo "$end $begin" | awk '{printf "%.1f", $1 - $2}') s"
}

# refused TEXT ARGUMENTS...: exit 2 and one line that contains TEXT.
refused() {
    local text=$1 status
    shift
    if [ "${unprivileged:-}" ]; then # root is not held to limits
        timeout -s KILL 30 su nobody -c "exec /t/cellar $*" >/tmp/out 2>/tmp/err </dev/null
    else
        timeout -s KILL 30 cellar "$@" >/tmp/out 2>/tmp/err </dev/null
    fi
    status=$?
    if [ $status -ne 2 ] || [ "$(wc -l </tmp/err)" -ne 1 ] || ! grep -qE "$text" /tmp/err; then
        fail "cellar $*: exit $status, wanted 2 and one line with '$text':"
        cat /tmp/err
        return
    fi
    echo "ok refused: $(cat /tmp/err)"
}

# memnode NAME PORT ARGUMENTS...: starts one, not as root, waits until it listens; its process is in the variable NAME.
memnode() {
    local name=$1 port=$2
    shift 2
    su nobody -c "exec /t/cellar memnode --fabric verbs --address 10.7.0.1:$port $*" >/tmp/$name.out 2>/tmp/$name.err </dev/null &
    eval "$name=$!"
    for _ in $(seq 50); do
        grep -q " listens at " /tmp/$name.err && return
        sleep 0.1
    done
    fail "memory node $name does not listen: $(cat /tmp/$name.err)"
}

# stops NAME PID...: a memory node ends in order.
stops() {
    for pid in "$@"; do
        kill $pid
        wait $pid || fail "memory node: exit $?"
    done
}

contract() {
    export CELLAR_VERBS_ADDRESS=10.7.0.1
    for program in test_fabric test_fabric_waiting test_fabric_wide; do step "$program" 90 $program 'verbs/*'; done
    [ -x /t/test_verbs_security ] && step test_verbs_security 60 test_verbs_security
}

refusals() {
    refused "no address of an RDMA device's interface" memnode --fabric verbs --address 127.0.0.1 --bytes 1M
    refused "no host has the name" memnode --fabric verbs --address nowhere --bytes 1M
    refused "cannot read the secret" memnode --fabric verbs --address 10.7.0.1 --bytes 1M --secret /tmp/none
    (ulimit -l 64 && unprivileged=1 refused "memlock limit is 64 KiB" memnode --fabric verbs --address 10.7.0.1 --bytes 8M)
    refused "nobody of this pool listens at 10.7.0.1:7999" bench smallbank --txns 10 --fabric verbs --memnodes 10.7.0.1:7999
    (umask 077 && echo "sixteen bytes at least" >/tmp/key && echo "another sixteen bytes" >/tmp/other && cp /tmp/key /tmp/key-mn)
    chown nobody /tmp/key-mn
    memnode a 7400 --bytes 64M --secret /tmp/key-mn
    refused "another process listens" memnode --fabric verbs --address 10.7.0.1:7400 --bytes 1M
    refused "the secret is another one" bench smallbank --txns 10 --fabric verbs --memnodes 10.7.0.1:7400 --secret /tmp/other
    refused "the secret is another one" bench smallbank --txns 10 --fabric verbs --memnodes 10.7.0.1:7400
    refused "is one of 1, but 2 were named" bench smallbank --txns 10 --fabric verbs --memnodes 10.7.0.1:7400,10.7.0.1:7401 --secret /tmp/key
    refused "needs atomics on 16 bytes" bench lock --lock shiftlock --ops 10 --fabric verbs --memnodes 10.7.0.1:7400 --secret /tmp/key
    stops $a
    /t/ip link set dummy0 down
    refused "(port 1 of device rxe0 is|no address of an RDMA)" memnode --fabric verbs --address 10.7.0.1 --bytes 1M
    /t/ip link set dummy0 up
}

locks() {
    for lock in declock dslr; do
        memnode a $1 --bytes 64M --cns 8
        step "bench lock $lock" 60 cellar bench lock --lock $lock --fabric verbs --memnodes 10.7.0.1:$1 --cns 2 --locks 50 --ops 500
        stops $a
        set -- $(($1 + 1))
    done
}

smallbank() {
    memnode a $1 --bytes 64M --node 0 --mns 2 --metrics 9000
    memnode b $(($1 + 1)) --bytes 64M --node 1 --mns 2
    step "smallbank $2" 90 cellar bench smallbank --cc $2 --fabric verbs --memnodes 10.7.0.1:$1,10.7.0.1:$(($1 + 1)) \
        --accounts 200 --txns 1000 --replicas 1 --threads 2 --coros 2
    wget -q -O /tmp/metrics http://127.0.0.1:9000/metrics && grep -q '^cellar_memnode_admitted_total{node="0"} [1-9]' /tmp/metrics || fail "no metrics"
    stops $a $b
}

# One of two processes dies amid its work, by SIGKILL or stopped for longer than its lease; the other recovers it, and all checks hold.
kill_one() {
    local signal=$1 port=$2
    memnode a $port --bytes 64M --node 0 --mns 2
    memnode b $((port + 1)) --bytes 64M --node 1 --mns 2
    for i in 0 1; do
        cellar bench smallbank --fabric verbs --memnodes 10.7.0.1:$port,10.7.0.1:$((port + 1)) --accounts 200 --txns 4000 --replicas 1 \
            --threads 1 --coros 2 --process $i/2 --survive --lease 3 --json /tmp/p$i.json >/tmp/p$i.out 2>/tmp/p$i.err </dev/null &
        eval "p$i=$!"
    done
    for _ in $(seq 200); do
        grep -q "all 2 processes run" /tmp/p1.err && break
        sleep 0.1
    done
    sleep 1
    kill -$signal $p1 || fail "SIG$signal: the process was gone already: $(cat /tmp/p1.err)"
    wait $p0 || fail "SIG$signal: the survivor: exit $?: $(cat /tmp/p0.err)"
    grep -q '"consistent": true' /tmp/p0.json || fail "SIG$signal: the survivor has no consistent report"
    grep -q "compute node 1 was recovered by compute node 0" /tmp/p0.err || fail "SIG$signal: nobody recovered: $(cat /tmp/p0.err)"
    if [ $signal = STOP ]; then
        grep -q "compute node 1 was fenced at the request" /tmp/a.err || fail "SIGSTOP: not fenced"
        kill -CONT $p1
    fi
    wait $p1 && fail "SIG$signal: the dead process ended well"
    echo "ok SIG$signal: $(grep recovered /tmp/p0.err | head -n 1)"
    stops $a $b
}

tpcc() {
    memnode a $1 --bytes 300M
    step "tpcc, small" 150 cellar bench tpcc --scale small --warehouses 1 --fabric verbs --memnodes 10.7.0.1:$1 --txns 200 --threads 1 --coros 2
    tail -n 1 /tmp/out
    stops $a
}

refusals
locks 7410
smallbank 7420 cell
kill_one KILL 7430
if [ "$PLAN" = all ]; then
    smallbank 7440 crest
    kill_one STOP 7450
    tpcc 7460
fi
contract
exit $failures
