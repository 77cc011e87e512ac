#!/bin/bash
# test_damaged.sh - planted bugs in how damaged pools are met: contract/test_damage must fail with each, and hold without one. Needs a build with
# planted bugs.
set -u
program=${CELLAR_BUILD:?}/test_damage
failures=0
[ -x "$program" ] || exit 77

# fails PLANT: some test of it does.
fails() {
    timeout -k 5 600 "$program" 60 "$1" >/dev/null 2>&1
    local status=$?
    [ $status -ne 0 ] && [ $status -ne 2 ] && [ $status -ne 124 ] && return
    echo "planted $1: status $status"
    failures=$((failures + 1))
}

timeout -k 5 600 "$program" 60 >/dev/null 2>&1 || { echo "without a plant: status $?" && failures=1; }
for plant in seal_unchecked recover_untried tag_orphan_awaited; do fails $plant; done
[ $failures -eq 0 ] && echo "all found"
exit $((failures > 0))
