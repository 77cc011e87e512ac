#!/bin/bash
# test_twopl.sh [CELLAR] - planted bugs of mode 2pl: a seed that meets each, and the same seed without it. Needs a build with planted bugs.
set -u
cellar=${1:-${CELLAR_BUILD:?}/cellar}
failures=0

# met PLANT LOCK SEED
met() {
    local said
    said=$(timeout -k 5 60 "$cellar" sim --workload cells --cc 2pl --lock "$2" --seed "$3" --no-shrink --plant "$1" 2>&1)
    if [ $? -ne 1 ] || ! grep -q "FAIL seed $3: history" <<<"$said"; then
        echo "$1 was not caught: $(head -n 1 <<<"$said")"
        failures=1
    else
        echo "$1: $(sed -n 2p <<<"$said")"
    fi
    said=$(timeout -k 5 60 "$cellar" sim --workload cells --cc 2pl --lock "$2" --seed "$3" --no-shrink 2>&1) && return
    echo "seed $3 fails without $1, too: $(head -n 1 <<<"$said")"
    failures=1
}

met twopl_shared_for_write retry 2
met twopl_reads_unlocked retry 1
met twopl_upgrade_assumed retry 22
met twopl_released_early retry 2
met twopl_stopped_goes_on cas 33
exit $failures
