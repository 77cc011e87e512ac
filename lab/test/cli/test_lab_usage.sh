#!/bin/bash
# test_lab_usage.sh [CELLAR] - what the laboratory adds to the program's options: which locks mode 2pl runs, what is
# refused with one line and exit 2, and runs that end.
set -u
source "$(dirname "$0")/../../../test/cli/prelude.sh"

refused "no lock algorithm is called 'nosuch'" bench smallbank --cc 2pl --lock nosuch
refused "lock algorithm netlock locks in a switch" bench smallbank --cc 2pl --lock netlock
refused "lock algorithm rpc needs a lock server" bench smallbank --cc 2pl --lock rpc
refused "lock algorithm declock has no policy 'nix'" bench smallbank --cc 2pl --policy nix
"$cellar" list --json | sed -n '/"locks": \[/,/^  \],/p' | sed -n 's/^      "name": "\(.*\)",*$/\1/p' >"$folder/locks"
[ "$(wc -l <"$folder/locks")" -ge 15 ] || fail "cellar list names too few locks: $(cat "$folder/locks")"
while read -r lock; do
    case $lock in
    netlock | netchain) why="lock algorithm $lock locks in a switch" ;;
    lotus) why="lock algorithm lotus numbers its locks" ;;
    rpc | ncosed) why="lock algorithm $lock needs a lock server" ;;
    dslr | dslr+ | declock | shiftlock) why="lock algorithm $lock has no policy 'fairest'; it has" ;;
    *) why="lock algorithm $lock has no policies" ;;
    esac
    refused "$why" bench smallbank --cc 2pl --lock "$lock" --policy fairest
    refused "--lease needs seconds from" bench smallbank --cc 2pl --lock "$lock" --memnodes "$folder/none" --lease 0.0000001
done <"$folder/locks"
refused "--lock needs a value that is not empty" bench smallbank --cc 2pl --lock ""
refused "unknown option '--capacity'" bench smallbank --cc 2pl --lock dslr --policy plain --capacity 1
refused "not for --cc motor" bench tpcc --access index --cc motor
refused "not for --cc motor" bench index --records 10 --cc motor
refused "not for --cc motor" bench ycsb --core E --records 10 --cc motor
refused "leases of lock drtm rest on clocks that do not jump" sim --cc 2pl --lock drtm --faults clock_skew=0.01

# bench lock and exp: what another mix, lock or experiment has
refused "--fabric verbs needs --memnodes ADDRESS" bench lock --fabric verbs
refused "--secret is for --fabric verbs" bench lock --secret x
for option in --theta --read-ratio --update-ratio; do
    for mix in tatp tpcc; do refused "$option is for --mix micro and objects, not $mix" bench lock --mix $mix $option 0.5; done
done
refused "--warehouses is for --mix tpcc, not micro" bench lock --warehouses 3
refused "--warehouses is for --mix tpcc, not tatp" bench lock --mix tatp --warehouses 3
refused "--scan-ns is for --scan-ratio" bench lock --mix tpcc --scan-ns 10
refused "--lose-server is after the window's end" bench lock --lock rpc --seconds 0.001 --lose-server 5
refused "--silence: lock algorithm cas has no server" bench lock --lock cas --silence 1
refused "--jobs: experiment nic has nothing to share out" exp nic --jobs 2 --out "$folder/exp"
refused "--json /no/such/folder/j" bench lock --json /no/such/folder/j

timeout -k 5 240 "$cellar" bench index --records 500 --txns 500 --cc 2pl --lock shiftlock --operation update-heavy --fabric sim \
    >"$folder/out" 2>&1 || fail "mode 2pl, shiftlock: exit $?: $(tail -3 "$folder/out")"
# Where a queue for a lock takes longer than one waits for it, all get through in the end: after a wait in vain the next
# one is longer.
timeout -k 5 240 "$cellar" bench ycsb --records 4 --cc 2pl --lock dslr+ --cns 2 --threads 1 --coros 3 --rtt-ns 1000000 --txns 60 >"$folder/out" 2>&1 ||
    fail "mode 2pl, slow locks: exit $?: $(tail -3 "$folder/out")"

[ $failures -eq 0 ]
