#!/bin/bash
# test_rivals.sh [CELLAR] - the modes that the laboratory adds, by the program's options: which locks mode 2pl runs, what
# is refused with one line and exit 2, and runs that end.
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
refused "mode motor has none" bench index --records 10 --cc motor
refused "mode motor has none" bench ycsb --core E --records 10 --cc motor
refused "leases of lock drtm rest on clocks that do not jump" sim --cc 2pl --lock drtm --faults clock_skew=0.01

timeout -k 5 240 "$cellar" bench index --records 500 --txns 500 --cc 2pl --lock shiftlock --operation update-heavy --fabric sim \
    >"$folder/out" 2>&1 || fail "mode 2pl, shiftlock: exit $?: $(tail -3 "$folder/out")"
# Where a queue for a lock takes longer than one waits for it, all get through in the end: after a wait in vain the next
# one is longer.
timeout -k 5 240 "$cellar" bench ycsb --records 4 --cc 2pl --lock dslr+ --cns 2 --threads 1 --coros 3 --rtt-ns 1000000 --txns 60 >"$folder/out" 2>&1 ||
    fail "mode 2pl, slow locks: exit $?: $(tail -3 "$folder/out")"

[ $failures -eq 0 ]
