#!/bin/bash
# run.sh [quick|all|hosts|sanitized] - the verbs fabric on real verbs without the hardware: guests under QEMU with
# soft-RoCE (rdma_rxe).
#
#   quick      one guest: refusals, locks, SmallBank, the death of a process, the contract suite
#   all        besides mode crest, a process that is stopped and fenced, a small TPC-C; then `hosts`
#   hosts      two guests as two hosts: memory nodes in one, compute nodes in the other, which dies
#   sanitized for a build with sanitizers: the contract suite and SmallBank, and nothing that a sanitizer complains
#   about
#
# $CELLAR_BUILD has the programs, $CELLAR_GUEST_SECONDS is the most that a guest may take. Exit 77 and a reason where no
# guest can be had; scripts/install-deps.sh guest installs what it needs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${CELLAR_BUILD:?}
plan=${1:-quick}
case $plan in quick | all | hosts | sanitized) ;; *) echo "usage: run.sh [quick|all|hosts|sanitized]" >&2; exit 2 ;; esac
. "$here/guest.sh"

programs=("$build/cellar")
for name in fabric fabric_waiting fabric_wide verbs_security; do
    [ -x "$build/test_$name" ] && programs+=("$build/test_$name")
done
"$build/cellar" memnode --fabric verbs --address 127.0.0.1 --bytes 1M 2>&1 | grep -q "has no verbs fabric" && { echo "this build has no verbs fabric"; exit 77; }
mkdir -p "$build/guest" && cd "$build/guest" || exit 2
reason=$(guest_need) || { echo "no guest: $reason"; exit 77; }
guest_root "${programs[@]}"
guests=()
trap 'kill "${guests[@]}" 2>/dev/null' EXIT
seconds=${CELLAR_GUEST_SECONDS:-900} # on a loaded machine

# script NAME FILE...: the plan of that name, out of these parts.
script() {
    local name=$1
    shift
    { echo "export PLAN=$plan"; for part in "$@"; do cat "$here/$part"; done; } >"$name"
}

one_guest() {
    script plan guest-steps.sh guest-plan.sh
    guest_boot guest1 2 "$seconds" plan
    guests+=("$guest_pid")
    guest_wait guest1 "$guest_pid"
    grep -q "^GUEST-RESULT 0" guest1.log
}

# The first one leads; the second does what the first asks it to.
two_guests() {
    local wire=addr.type=unix,addr.path=wire first
    script plan1 guest-steps.sh guest-hosts.sh
    echo 'nc -ll -p 999 -e sh & sleep 100000' >plan2
    rm -f wire
    guest_boot guest1 1 "$seconds" plan1 -netdev stream,id=n0,server=on,$wire -device e1000,netdev=n0,mac=52:54:00:07:00:01
    first=$guest_pid
    guests+=("$first")
    for _ in $(seq 100); do [ -S wire ] && break; sleep 0.1; done
    guest_boot guest2 1 "$seconds" plan2 -netdev stream,id=n0,server=off,$wire -device e1000,netdev=n0,mac=52:54:00:07:00:02
    guests+=("$guest_pid")
    guest_wait guest1 "$first"
    kill "$guest_pid" 2>/dev/null
    grep -q "^GUEST-RESULT 0" guest1.log
}

case $plan in
hosts) two_guests ;;
all)
    one_guest
    one=$?
    two_guests && [ $one -eq 0 ]
    ;;
sanitized) guest_megabytes=2048; one_guest ;;
*) one_guest ;;
esac
