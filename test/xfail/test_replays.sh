#!/bin/bash
# test_replays.sh - the line that test_sim_templates prints of a planted bug, run as it stands, fails again with the
# same verdict, and does not fail without the bug; a bug of no such name is refused.
set -u
program=${CELLAR_BUILD:?}/test_sim_templates
[ -x "$program" ] || exit 77
failures=0

complain() {
    echo "$1"
    failures=$((failures + 1))
}

for plant in lock_ignored unlock_early; do
    found=$(timeout -k 5 300 "$program" --plant $plant lost_update/cell 1 | grep ': test_sim_templates --plant ')
    line=${found##*: test_sim_templates }
    verdict=${found%: test_sim_templates *}
    read -r _ _ template schedule <<<"$line"
    schedule=${schedule//\"/}
    again=$(timeout -k 5 300 "$program" --plant $plant "$template" "$schedule")
    [ $? -eq 1 ] && [ "$template: $again" = "$verdict" ] || complain "$plant: '$line' gives '$again', not '$verdict'"
    again=$(timeout -k 5 300 "$program" "$template" "$schedule") || complain "without $plant: $again"
done
timeout -k 5 300 "$program" --plant no_such_bug lost_update/cell "" 2>/dev/null
[ $? -eq 2 ] || complain "a bug that is none is not refused"
exit $((failures > 0))
