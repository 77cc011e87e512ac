#!/bin/bash
# test_damaged.sh - planted bugs in how damaged pools are met: contract/test_damage or test_recover_input must fail with
# each, and hold without one.
# Needs a build with planted bugs.
set -u
build=${CELLAR_BUILD:?}
failures=0
[ -x "$build/test_damage" ] && [ -x "$build/test_recover_input" ] || exit 77

# holds PROGRAM ARGUMENTS...: status 0.
holds() {
    timeout -k 5 300 "$build/$1" "${@:2}" >/dev/null 2>&1 && return
    echo "without a plant $*: status $?"
    failures=$((failures + 1))
}

# fails PLANT PROGRAM ARGUMENTS...: some test of it does.
fails() {
    timeout -k 5 300 "$build/$2" "${@:3}" "$1" >/dev/null 2>&1
    local status=$?
    [ $status -ne 0 ] && [ $status -ne 64 ] && [ $status -ne 124 ] && return
    echo "planted $1: status $status"
    failures=$((failures + 1))
}

holds test_damage 60
holds test_recover_input
fails seal_unchecked test_damage 60
fails recover_untried test_recover_input
fails tag_orphan_awaited test_damage 0
[ $failures -eq 0 ] && echo "all found"
exit $((failures > 0))
