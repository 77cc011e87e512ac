#!/bin/busybox sh
# guest-hosts.sh - two guests as two hosts: the memory nodes and one compute node here (10.7.0.1), other compute nodes
# there (10.7.0.2), over a network that a frame needs to pass. The exit status is the number of steps that failed.

# there COMMANDS: a shell of the other host runs them; their output.
there() { echo "$1" | nc -w $((30 * slow)) 10.7.0.2 999; }

# there_step NAME SECONDS COMMAND: must end well there.
there_step() {
    local begin end
    read begin _ </proc/uptime
    echo "timeout -s KILL $(($2 * slow)) $3 >/tmp/out 2>/tmp/err </dev/null; echo \$? >/tmp/status" | nc 10.7.0.2 999 >/dev/null
    read end _ </proc/uptime
    [ "$(there 'cat /tmp/status')" = 0 ] || { fail "$1: $(there 'cat /tmp/status; tail -n 20 /tmp/out /tmp/err')"; return 1; }
    echo "ok $1, $(echo "$end $begin" | awk '{printf "%.1f", $1 - $2}') s"
}

pool() {
    memnode a $1 --bytes 64M --node 0 --mns 2 --cns 8
    memnode b $(($1 + 1)) --bytes 64M --node 1 --mns 2 --cns 8
    nodes=10.7.0.1:$1,10.7.0.1:$(($1 + 1))
}

greet() { [ "$(there 'echo ready')" = ready ]; }

# Two processes, one on each host; the one there is number 1.
together() {
    local run="bench smallbank --fabric verbs --memnodes $nodes --accounts 200 --txns $1 --replicas 1 --threads 1 --coros 2 --survive --lease $lease"
    timeout -s ABRT $((100 * slow)) cellar $run --process 0/2 --json /tmp/p0.json >/tmp/p0.out 2>/tmp/p0.err </dev/null &
    p0=$!
    there "cellar $run --process 1/2 >/tmp/p1.out 2>/tmp/p1.err </dev/null & echo \$! >/tmp/p1"
    await $((60 * slow)) grep -q "all 2 processes run" /tmp/p0.err || fail "they do not run: $(cat /tmp/p0.err) $(there 'cat /tmp/p1.err')"
}

# The process here goes on without the other one, and all checks hold.
survives() {
    wait $p0 || { fail "$1: the survivor: exit $?: $(cat /tmp/p0.err)"; crash cellar; }
    grep -q '"consistent": true' /tmp/p0.json || fail "$1: the survivor has no consistent report"
    grep -q "compute node 1 was recovered by compute node 0" /tmp/p0.err ||
        fail "$1: it was not recovered: $(cat /tmp/p0.err)"
    echo "ok $1: $(grep recovered /tmp/p0.err | head -n 1)"
}

await $((30 * slow)) greet || fail "the other host does not answer"
pool 7500
there_step "smallbank, memory nodes on another host" 90 \
    "cellar bench smallbank --fabric verbs --memnodes $nodes --accounts 200 --txns 1000 --replicas 1 --threads 1 --coros 2"
stops $a $b
memnode a 7510 --bytes 64M --cns 8
there_step "declock, its memory node on another host" 60 \
    "cellar bench lock --lock declock --fabric verbs --memnodes 10.7.0.1:7510 --cns 2 --locks 50 --ops 500"
stops $a
pool 7520
together 400
wait $p0 || { fail "two hosts: exit $?: $(cat /tmp/p0.err)"; crash cellar; }
grep -q '"consistent": true' /tmp/p0.json && echo "ok one process on each of two hosts"
stops $a $b
pool 7530
together 4000
sleep 0.3
there 'kill -KILL $(cat /tmp/p1)'
survives "SIGKILL on another host"
stops $a $b
pool 7540
together 4000
sleep 0.3
echo 'echo o >/proc/sysrq-trigger' | timeout 10 nc -w 2 10.7.0.2 999 # it may wait for ever for a host that is off; no process says good-bye: the lease runs out
survives "another host is gone"
stops $a $b
exit $failures
