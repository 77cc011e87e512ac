#!/bin/bash
# test_crowd.sh - many coordinators whose transactions all want the same 4 to 10 records: once all faults have ended
# each of them must get through.
# With a backoff that stops growing too early each meets another one for ever, and the seeds fail with `progress`.
set -u
cellar=${CELLAR_BUILD:?}/cellar
status=0
for seed in 110 173 179; do
    timeout -k 5 300 "$cellar" sim --workload ycsb --seed $seed --en-bits 16 --no-shrink </dev/null || status=1
done
exit $status
