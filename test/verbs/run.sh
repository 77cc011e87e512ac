#!/bin/bash
# run.sh [quick|all] - the verbs fabric on real verbs without the hardware: a guest under QEMU, emulated, with soft-RoCE (rdma_rxe), on two
# processors. quick: the contract suite, refusals, locks, SmallBank, the death of a process. all: besides mode crest, a process that is stopped and
# fenced, and a small TPC-C. $CELLAR_BUILD has the programs, $CELLAR_GUEST_SECONDS is the most that it may take. Exit 77 and a reason where no guest
# can be had; scripts/install-deps.sh guest installs what it needs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${CELLAR_BUILD:?}
plan=${1:-quick}
case $plan in quick | all) ;; *) echo "usage: run.sh [quick|all]" >&2; exit 2 ;; esac
. "$here/guest.sh"

programs=("$build/cellar")
for name in fabric fabric_waiting fabric_wide verbs_security; do
    [ -x "$build/test_$name" ] && programs+=("$build/test_$name")
done
"$build/cellar" memnode --fabric verbs --address 127.0.0.1 --bytes 1M 2>&1 | grep -q "has no verbs fabric" && { echo "this build has no verbs fabric"; exit 77; }
mkdir -p "$build/guest" && cd "$build/guest" || exit 2
reason=$(guest_need) || { echo "no guest: $reason"; exit 77; }
guest_root "${programs[@]}"
{
    echo "export PLAN=$plan"
    cat "$here/guest-plan.sh"
} >plan
guest_run guest1 2 "${CELLAR_GUEST_SECONDS:-$([ "$plan" = all ] && echo 600 || echo 300)}" plan
cat guest1.log
grep -q "^GUEST-RESULT 0" guest1.log
