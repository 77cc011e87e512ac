#!/bin/bash
# test_bench_lock.sh - `cellar bench lock`: every algorithm and policy excludes and leaves idle locks behind, on both
# fabrics; figures of a simulated run are repeatable; bad input is refused with one line and exit 2.
set -u
source "$(dirname "$0")/../../../test/cli/prelude.sh"
subcommand=(bench lock)

# runs ARGUMENTS...: exit 0, and the JSON report in $folder/json.
runs() {
    timeout -k 5 240 "$cellar" bench lock "$@" --json "$folder/json" >"$folder/out" 2>"$folder/err" </dev/null
    local status=$?
    [ $status -eq 0 ] && [ ! -s "$folder/err" ] && return 0
    fail "cellar bench lock $*: exit $status"
    cat "$folder/out" "$folder/err"
    return 1
}

# value NAME: of the JSON report, a number.
value() { sed -n "s/^  \"$1\": \([-0-9.e+]*\),*$/\1/p" "$folder/json"; }
# holds A OP B...: an awk condition
holds() { awk "BEGIN { exit !($*) }"; }

# ---- bad input -----------------------------------------------------------------------------------------------------

"$cellar" bench lock --help | grep -q "Usage: cellar bench lock" || fail "bench lock --help does not say how it is used"
refused "no lock algorithm is called 'mutex'" --lock mutex
refused "has no policy 'fair'" --lock declock --policy fair
refused "lock algorithm cas has no policies" --lock cas --policy fair
refused "room for 3 tickets" --lock dslr --policy plain --cns 2 --capacity 3
"$cellar" list --json >"$folder/list" || fail "cellar list --json"
sed -n '/"locks": \[/,/^  \],/p' "$folder/list" >"$folder/locks"
names=$(sed -n 's/^      "name": "\(.*\)",*$/\1/p' "$folder/locks")
[ "$(wc -w <<<"$names")" -ge 15 ] || fail "cellar list names too few locks: $names"
# Of every lock: a policy that is none, a lease that no client could renew; room for fewer than there are nodes, or no
# room to choose.
for lock in $names; do
    refused "polic" --lock "$lock" --policy fairest
    refused "shorter than a round trip" --lock "$lock" --lease-ns 100
    case $lock in
    declock | declock-flat | rpc | netlock) why="below the number of compute nodes, 8" ;;
    *) why="has no queue that a capacity would bound" ;;
    esac
    refused "$why" --lock "$lock" --capacity 7
done
for lock in dslr dslr+; do refused "below the number of compute nodes, 8" --lock $lock --policy plain --capacity 7; done
for policy in reorder try; do refused "capacity" --lock rpc --policy $policy --capacity 7; done
refused "has no queue" --lock netlock --policy server --capacity 7
refused "too few for eight questions" --lock rpc --silence 0.00001
refused "locks that have a server" --lock cas --lose-server 0.001
refused "not a multiple of the 128 threads" --clients 100
refused "--theta must be from 0 to 8" --theta 8.1
for option in switch-slots tenants tenant-cns tenant-rate writers-in-a-row full-wait-ns slots; do
    refused "--$option: lock algorithm cas has no use for it" --lock cas --$option 5
done
refused "--tenant-rate: lock algorithm netlock, policy fcfs has no use for it" --lock netlock --policy fcfs --tenant-rate 1000
refused "--full-wait-ns: lock algorithm dslr has no use for it" --lock dslr --full-wait-ns 1000
refused "leases of up to 9 slots: at most 8" --lock dslr --slots 9
refused "more tickets than counters of 10 bits tell apart" --lock dslr --policy update --clients 512
refused "--read-ratio must be from 0 to 1" --read-ratio 1.1
refused "--object-bytes must be from 1 to" --object-bytes 100000
refused "--mix knows no 'ycsb'" --mix ycsb
refused "--ops and --seconds exclude each other" --ops 10 --seconds 1
refused "--nic is for --fabric sim" --fabric shm --nic cx4
refused "--rtt-ns is for --fabric shm" --rtt-ns 10
refused "unexpected argument" cas

refused "lock algorithm mcs does not survive dead compute nodes" --lock mcs --kill-cn 1
refused "there are 8 compute nodes, and one must be left" --kill-cn 8
refused "--kill-at and --detect are for --kill-cn" --kill-at 0.001
refused "must lie within the window" --kill-cn 0 --kill-at 1
refused "--ops excludes it" --kill-cn 0 --ops 10
refused "--kill-cn is for --fabric sim" --fabric shm --kill-cn 0

# ---- every algorithm -----------------------------------------------------------------------------------------------

small="--cns 3 --threads 2 --clients 12 --locks 20 --seed 3"
for name in $names; do
    # shellcheck disable=SC2086
    runs --lock "$name" $small --seconds 0.002 || continue
    holds "$(value goodput) > 1000" || fail "$name in sim: goodput $(value goodput)"
    holds "$(value ops_per_acquire) < 60" || fail "$name in sim: $(value ops_per_acquire) operations an acquire"
    # shellcheck disable=SC2086
    runs --lock "$name" $small --fabric shm --ops 600 || continue
    [ "$(value rounds)" = 600 ] || fail "$name on shm: $(value rounds) rounds of 600"
done
policies=$(sed -n 's/^        "\(.*\)",*$/\1/p' "$folder/locks" | sort -u)
for policy in $policies; do
    for name in declock dslr dslr+; do
        "$cellar" bench lock --lock $name --policy "$policy" --ops 1 >"$folder/out" 2>&1 || continue
        # shellcheck disable=SC2086
        runs --lock $name --policy "$policy" $small --seconds 0.001
    done
done

# ---- mixes, figures ------------------------------------------------------------------------------------------------

for mix in objects-small objects-large tatp tpcc; do
    runs --lock dslr --mix $mix --cns 2 --threads 4 --clients 8 --seconds 0.001
    runs --lock cas-backoff --mix $mix --fabric shm --ops 400 --locks 1000
done
runs --lock dslr --cns 2 --threads 1 --clients 2 --locks 1000 --theta 0 --ops 500
holds "$(value ops_per_pair) < 2.1 && $(value ops_per_pair) >= 2" || fail "two clients of 1000 locks: $(value ops_per_pair) operations a pair"
first=$(grep trace_hash "$folder/json")
runs --lock dslr --cns 2 --threads 1 --clients 2 --locks 1000 --theta 0 --ops 500
[ "$first" = "$(grep trace_hash "$folder/json")" ] || fail "the same run gave another trace"
runs --lock dslr --cns 2 --threads 1 --clients 2 --locks 1000 --theta 0 --ops 500 --seed 2
[ "$first" != "$(grep trace_hash "$folder/json")" ] || fail "another seed gave the same trace"

# What the mixes lock: published traces have 80.6 % (TATP) and 13.5 % (TPC-C) shared locks (lab/docs/locks.md).
runs --lock dslr --mix tatp --cns 2 --threads 4 --clients 16 --cs-ops 0 --subscribers 10000 --seconds 0.005
holds "$(value shared_share) > 0.79 && $(value shared_share) < 0.83" || fail "tatp: $(value shared_share) of the locks are shared"
runs --lock dslr --mix tatp --nurand --cns 2 --threads 4 --clients 16 --cs-ops 0 --subscribers 10000 --seconds 0.002
runs --lock dslr --mix tpcc --cns 2 --threads 4 --clients 16 --cs-ops 0 --locks 1000000 --seconds 0.01
holds "$(value shared_share) > 0.06 && $(value shared_share) < 0.14" || fail "tpcc: $(value shared_share) of the locks are shared"
runs --lock dslr --mix tpcc --scan-ratio 0.05 --scan-ns 100000 --slots 8 --pause-ns 1000 --cns 2 --threads 4 --clients 16 --seconds 0.005
refused "--scan-ratio is for --mix tpcc" --scan-ratio 0.1
refused "--nurand is for --mix tatp" --mix tpcc --nurand

# Clients that leave their locks for ever: others recover them. Only of algorithms that can.
for name in dslr shiftlock; do
    runs --lock $name --forget 0.01 --lease-ns 100000 --cns 2 --threads 4 --clients 16 --locks 1000 --seconds 0.005
    holds "$(value resets) > 0 && $(value rounds) > 100" || fail "$name with failed clients: $(value resets) resets, $(value rounds) rounds"
done
refused "does not find out that a client has failed" --lock cas --forget 0.1

# Locks of transactions that have run: TPC-C's records, as many rounds as the trace has transactions, each its own once.
"$cellar" bench tpcc --warehouses 1 --scale small --txns 150 --threads 1 --history "$folder/trace" >"$folder/out" 2>&1 || fail "no history of tpcc: $(cat "$folder/out")"
for name in shiftlock ncosed declock; do
    runs --lock $name --mix trace --history "$folder/trace" --cns 2 --threads 2 --clients 8 --ops 150
    holds "$(value acquires) > 150 * 3 && $(value locks) > 300" || fail "trace: $(value acquires) acquires of $(value locks) locks"
done
traced=$(value acquires)
runs --lock cas --mix trace --history "$folder/trace" --cns 2 --threads 1 --clients 2 --ops 150 --fabric shm
[ "$(value acquires)" = "$traced" ] || fail "the same trace took $(value acquires) locks, then $traced"
refused "--mix trace and --history FILE go together" --mix trace
refused "--mix trace and --history FILE go together" --history "$folder/trace"
echo "no history" >"$folder/broken"
refused "broken" --mix trace --history "$folder/broken"

# Where an algorithm has update locks, readers that were there go on: fewer wait, and none writes beside them.
update="--cns 2 --threads 4 --clients 16 --locks 4 --theta 3 --read-ratio 0.5 --update-ratio 1 --seconds 0.002"
# shellcheck disable=SC2086
runs --lock dslr --policy update $update && holds "$(value order_inversions) >= 0" || fail "update locks"
# shellcheck disable=SC2086
runs --lock dslr --policy update --fabric shm --cns 2 --locks 4 --update-ratio 0.5 --ops 400
# shellcheck disable=SC2086
runs --lock mcs $update

# ---- a compute node dies -------------------------------------------------------------------------------------------

# A quarter of the clients is gone; what they left locked is taken over, so the others get on, and all locks are idle at
# the end.
for name in cas drtm dslr declock shiftlock; do
    runs --lock $name --cns 4 --threads 1 --clients 8 --locks 400 --theta 0 --lease-ns 200000 --seconds 0.02 --kill-cn 2 --kill-at 0.004 || continue
    before=$(sed -n 's/^    "goodput_before": \(.*\),$/\1/p' "$folder/json") after=$(sed -n 's/^    "goodput_after": \(.*\),$/\1/p' "$folder/json")
    holds "$after > 0.5 * $before && $after < 0.96 * $before" || fail "$name without a quarter of its clients: $before, then $after rounds a second"
done
# No client is told of the death for 8 ms: sooner or later all stand before a lock of the dead.
runs --lock cas --cns 4 --threads 1 --clients 8 --locks 20 --theta 0 --cs-ops 20 --seconds 0.02 --kill-cn 1 --kill-at 0.004 --detect 0.008
sed -n '/"goodput": \[/,/\]/p' "$folder/json" | tr -d ' ,' >"$folder/slices"
holds "$(sed -n 52,61p "$folder/slices" | paste -sd +) == 0" ||
    fail "locks of the dead were taken before a client knew of the death"
holds "$(sed -n 72,101p "$folder/slices" | paste -sd +) > 0" || fail "locks of the dead were never taken"

# ---- interrupted: what ran is reported, over the time that it ran --------------------------------------------------

timeout -k 5 240 "$cellar" bench lock --fabric shm --seconds 100 --warmup 0 --locks 1000 --json "$folder/json" >"$folder/out" 2>&1 &
interrupted=$!
until_true 60 child $interrupted busy || fail "no process to interrupt"
pkill -INT -P $interrupted
wait $interrupted || fail "an interrupted run: exit $?"
grep -q 'goodput.*, interrupted$' "$folder/out" && grep -q '"interrupted": true' "$folder/json" &&
    holds "$(value elapsed_s) < 90" || fail "an interrupted run reports: $(cat "$folder/out")"

# ---- a lock server is lost ------------------------------------------------------------------------------------------

small="--cns 4 --threads 2 --clients 16 --locks 20 --lose-server 0.001 --silence 0.01"
# shellcheck disable=SC2086
{
    refused "the lock server has not answered for" --lock rpc $small
    refused "the lock server, or the switch before it, has not answered for" --lock netlock --policy server $small
    runs --lock netchain $small # its controller: the chain grants without it
}

exit $((failures > 0))
