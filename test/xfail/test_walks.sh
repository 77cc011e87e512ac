#!/bin/bash
# test_walks.sh - planted bugs of whole-table work: test_api_walks, whose walks go on beside writers of real threads and
# processes, must fail with each, and must not without. Needs a build with planted bugs.
set -u
walks=${CELLAR_BUILD:?}/test_api_walks
failures=0

timeout -k 5 120 "$walks" >/dev/null 2>&1 || { echo "test_api_walks fails without a planted bug" && failures=1; }
for plant in walk_beside_attempts walk_unwatched; do
    said=$(timeout -k 5 120 "$walks" --plant $plant 2>&1)
    result=$?
    if [ $result -gt 0 ] && [ $result -lt 124 ] && grep -q '^\[  FAILED  \]' <<<"$said"; then
        echo "$plant: $(grep -m 1 'FAILED' <<<"$said")"
    else
        echo "$plant was not caught (result $result)"
        failures=$((failures + 1))
    fi
done
exit $((failures > 0))
