#!/bin/busybox sh
# guest-plan.sh - what runs in one guest on soft-RoCE: the contract suite, refusals, and the program as its users call
# it. $PLAN: quick, all or sanitized. The exit status is the number of steps that failed.

contract() {
    export CELLAR_VERBS_ADDRESS=10.7.0.1
    for program in test_fabric test_fabric_waiting test_fabric_wide; do step "$program" 90 $program 'verbs/*'; done
    step test_verbs_security 60 test_verbs_security
}

# What is wrong with this machine.
refusals_here() {
    local any="10.7.0.1 --bytes 1M"
    rdma link delete rxe0
    refused "this machine has no RDMA device; load its driver" memnode --fabric verbs --address $any
    refused "this machine has no RDMA device; load its driver" bench smallbank --txns 10 --fabric verbs --memnodes 10.7.0.1
    rdma link add rxe0 type rxe netdev dummy0
    /t/ip link add dummy1 type dummy && /t/ip addr add 10.8.0.1/24 dev dummy1 && /t/ip link set dummy1 up # no device of RDMA has its address
    refused "10.8.0.1 is no address of an RDMA device's interface" memnode --fabric verbs --address 10.8.0.1 --bytes 1M
    refused "no RDMA device of this machine leads to 10.8.0.2" bench smallbank --txns 10 --fabric verbs --memnodes 10.8.0.2
    refused "127.0.0.1 is no address of an RDMA device's interface" memnode --fabric verbs --address 127.0.0.1 --bytes 1M
    refused "no host has the name" memnode --fabric verbs --address nowhere --bytes 1M
    refused "cannot read the secret" memnode --fabric verbs --address $any --secret /tmp/none
    memlock=64 refused "memlock limit is 64 KiB" memnode --fabric verbs --address 10.7.0.1 --bytes 8M
    /t/ip link set dummy0 down
    refused "port 1 of device rxe0 is down, not active; set its network interface up" memnode --fabric verbs --address $any
    refused "(port 1 of device rxe0 is down|no RDMA device of this machine leads to)" bench smallbank --txns 10 --fabric verbs --memnodes 10.7.0.1
    /t/ip link set dummy0 up
}

# What is wrong with the memory node.
refusals_there() {
    local bench="bench smallbank --txns 10 --accounts 100 --fabric verbs --memnodes 10.7.0.1:7400"
    refused "no memory node of this pool listens at 10.7.0.1:7400; start cellar memnode there first" $bench
    (umask 077 && echo "sixteen bytes at least" >/tmp/key && echo "another sixteen bytes" >/tmp/other && cp /tmp/key /tmp/key-mn)
    chown nobody /tmp/key-mn
    memnode a 7400 --bytes 64M --secret /tmp/key-mn
    refused "another process listens" memnode --fabric verbs --address 10.7.0.1:7400 --bytes 1M
    refused "the secret is another one" $bench --secret /tmp/other
    refused "the secret is another one" $bench
    refused "is one of 1, but 2 were named" $bench,10.7.0.1:7401 --secret /tmp/key
    refused "needs atomics on 16 bytes" bench lock --lock shiftlock --ops 10 --fabric verbs --memnodes 10.7.0.1:7400 --secret /tmp/key
    memlock=64 refused "memlock limit is 64 KiB" $bench --secret /tmp/key-mn
    kill -STOP $a # amid the handshake: the kernel has the request, and the process does not answer
    refused "10.7.0.1:7400 did not answer within 6 s" $bench --secret /tmp/key
    cellar $bench --secret /tmp/key >/tmp/out 2>/tmp/err </dev/null &
    sleep $((2 * slow))
    kill -KILL $a
    wait $!
    told "10.7.0.1:7400" $? "bench, whose memory node dies"
    wait $a
}

locks() {
    for lock in declock dslr; do
        memnode a $1 --bytes 64M --cns 8
        step "bench lock $lock" 60 cellar bench lock --lock $lock --fabric verbs --memnodes 10.7.0.1:$1 --cns 2 --locks 50 --ops 500
        stops $a
        set -- $(($1 + 1))
    done
}

metrics() { wget -q -O /tmp/metrics http://127.0.0.1:9000/metrics && grep -q "$1" /tmp/metrics; }

smallbank() {
    memnode a $1 --bytes 64M --node 0 --mns 2 --metrics 9000
    memnode b $(($1 + 1)) --bytes 64M --node 1 --mns 2
    step "smallbank $2" 90 cellar bench smallbank --cc $2 --fabric verbs --memnodes 10.7.0.1:$1,10.7.0.1:$(($1 + 1)) \
        --accounts 200 --txns 1000 --replicas 1 --threads 2 --coros 2
    await $((10 * slow)) metrics '^cellar_memnode_admitted_total{node="0"} [1-9]' || fail "no metrics: $(cat /tmp/metrics)" # renewed once a second
    stops $a $b
}

# One of two processes dies amid its work, by SIGKILL or stopped for longer than its lease; the other recovers it, and
# all checks hold.
kill_one() {
    local signal=$1 port=$2
    memnode a $port --bytes 64M --node 0 --mns 2
    memnode b $((port + 1)) --bytes 64M --node 1 --mns 2
    for i in 0 1; do
        timeout -s ABRT $((100 * slow)) cellar bench smallbank --fabric verbs --memnodes 10.7.0.1:$port,10.7.0.1:$((port + 1)) --accounts 200 --txns 4000 --replicas 1 \
            --threads 1 --coros 2 --process $i/2 --survive --lease $lease --json /tmp/p$i.json >/tmp/p$i.out 2>/tmp/p$i.err </dev/null &
        eval "p$i=$!"
    done
    await $((40 * slow)) grep -qs "all 2 processes run" /tmp/p1.err || fail "SIG$signal: they do not run: $(cat /tmp/p1.err)"
    sleep 0.3
    kill -$signal $p1 || fail "SIG$signal: the process was gone already: $(cat /tmp/p1.err)"
    wait $p0 || { fail "SIG$signal: the survivor: exit $?: $(cat /tmp/p0.err)"; crash cellar; }
    grep -q '"consistent": true' /tmp/p0.json || fail "SIG$signal: the survivor has no consistent report"
    grep -q "compute node 1 was recovered by compute node 0" /tmp/p0.err ||
        fail "SIG$signal: it was not recovered: $(cat /tmp/p0.err)"
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

if [ "$PLAN" != sanitized ]; then
    refusals_here
    refusals_there
    locks 7410
    kill_one KILL 7430
fi
smallbank 7420 cell
if [ "$PLAN" = all ]; then
    smallbank 7440 crest
    kill_one STOP 7450
    tpcc 7460
fi
contract
exit $failures
