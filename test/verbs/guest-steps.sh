#!/bin/busybox sh
# guest-steps.sh - what the plans of guests have in common: steps, each of which prints one line, refusals, memory
# nodes. All limits grow with the time that the guest took to begin ($slow): an emulated processor of a loaded machine
# may be ten times slower than usual.
failures=0
read up _ </proc/uptime
slow=$((${up%.*} / 8 + 1))
[ $slow -le 20 ] || slow=20
lease=$((2 + slow)) # of compute nodes that die
[ $lease -le 15 ] || lease=15
fail() { echo "FAILED $*"; failures=$((failures + 1)); }

# crash PROGRAM: where it was, if it has died of a fault, or hung; its core goes to the host, which shows the stacks
# (guest.sh). The first one has to do.
crash() {
    dmesg | grep -E "segfault|general protection|traps:" | tail -n 3
    [ -e /tmp/core ] && [ ! -e /tmp/core.sent ] || return 0
    echo "GUEST-CORE $1"
    stty raw -F /dev/ttyS1
    gzip -1 </tmp/core >/dev/ttyS1
    touch /tmp/core.sent
}

# step NAME SECONDS COMMAND...: must end well; its output is shown when it does not.
step() {
    local name=$1 seconds=$2 begin end
    shift 2
    read begin _ </proc/uptime
    timeout -s ABRT -k 60 $((seconds * slow)) "$@" >/tmp/out 2>/tmp/err </dev/null || { fail "$name: exit $?"; tail -n 30 /tmp/out /tmp/err; crash "$1"; return 1; }
    read end _ </proc/uptime
    echo "ok $name, $(echo "$end $begin" | awk '{printf "%.1f", $1 - $2}') s"
}

# refused TEXT ARGUMENTS...: exit 2 and one line that contains TEXT. With $memlock: under that limit, and not as root,
# who is not held to it.
refused() {
    local text=$1 status
    shift
    if [ "${memlock:-}" ]; then
        timeout -s KILL $((30 * slow)) su nobody -c "ulimit -l $memlock; exec /t/cellar $*" >/tmp/out 2>/tmp/err </dev/null
    else
        timeout -s KILL $((30 * slow)) cellar "$@" >/tmp/out 2>/tmp/err </dev/null
    fi
    status=$?
    told "$text" $status "cellar $*"
}

# told TEXT STATUS WHAT: what ended with that status said why in one line.
told() {
    local text=$1 status=$2
    if [ $status -ne 2 ] || [ "$(wc -l </tmp/err)" -ne 1 ] || ! grep -qE "$text" /tmp/err; then
        fail "$3: exit $status, wanted 2 and one line with '$text':"
        cat /tmp/err
        return
    fi
    echo "ok refused: $(cat /tmp/err)"
}

# await SECONDS COMMAND...: tries it until it ends well.
await() {
    local tries=$(($1 * 5))
    shift
    while [ $tries -gt 0 ]; do
        "$@" && return
        tries=$((tries - 1))
        sleep 0.2
    done
    return 1
}

# memnode NAME PORT ARGUMENTS...: starts one, not as root, waits until it listens; its process is in the variable NAME.
memnode() {
    local name=$1 port=$2
    shift 2
    rm -f /tmp/$name.err # an earlier one of that name listened, too
    su nobody -c "exec /t/cellar memnode --fabric verbs --address 10.7.0.1:$port $*" >/tmp/$name.out 2>/tmp/$name.err </dev/null &
    eval "$name=$!"
    await $((10 * slow)) grep -qs " listens at " /tmp/$name.err || fail "memory node $name does not listen: $(cat /tmp/$name.err)"
}

# stops NAME PID...: a memory node ends in order.
stops() {
    for pid in "$@"; do
        kill $pid
        wait $pid || fail "memory node: exit $?"
    done
}

