#!/bin/bash
# test_bench.sh [CELLAR] - small runs of each workload on each fabric and mode: exit 0, every check holds, and the
# reports have what they promise.
set -u
source "$(dirname "$0")/prelude.sh"

# runs ARGUMENTS...: a run that ends well; its JSON report is left in $folder/json.
runs() {
    timeout -k 5 240 "$cellar" bench "$@" --json "$folder/json" >"$folder/out" 2>"$folder/err" </dev/null
    local status=$?
    if [ $status -ne 0 ] || [ -s "$folder/err" ]; then
        fail "cellar bench $*: exit $status:"
        cat "$folder/err"
        tail -5 "$folder/out"
        return
    fi
    grep -q '"consistent": true' "$folder/json" || fail "cellar bench $*: not consistent"
    grep -qE '^all [0-9]+ checks hold$' "$folder/out" || fail "cellar bench $*: no verdict in the last line"
    grep -q '"pool audit": "ok"' "$folder/json" || fail "cellar bench $*: the pool was not audited"
    if LC_ALL=C grep -q '[^ -~]' "$folder/out"; then fail "cellar bench $*: a file got colours or symbols"; fi
    [ "$(awk 'length > 100' "$folder/out" | wc -l)" -eq 0 ] || fail "cellar bench $*: lines of more than 100 columns"
}

field() { grep -q "^  \"$1\": $2,*$" "$folder/json" || fail "wanted \"$1\": $2, got: $(grep "^  \"$1\"" "$folder/json")"; }

small_bank="smallbank --accounts 500 --txns 3000"
small_ycsb="ycsb --records 2000 --txns 2000"
small_tpcc="tpcc --warehouses 2 --scale small --txns 1000"

for cc in record cell; do
    for fabric in shm sim; do
        # shellcheck disable=SC2086
        {
            runs $small_bank --threads 2 --cc $cc --fabric $fabric
            field workload '"smallbank"' && field cc "\"$cc\"" && field fabric "\"$fabric\"" && field committed 3000
            runs $small_bank --threads 2 --cc $cc --fabric $fabric --two-tables --theta 0.99
            runs $small_ycsb --threads 2 --cc $cc --fabric $fabric --write-ratio 0.5
            field committed 2000
            runs $small_tpcc --threads 2 --cc $cc --fabric $fabric
            field committed 1000 && field access '"hash"'
        }
    done
done
# shellcheck disable=SC2086
{
    runs $small_bank --cns 2 --threads 2 --mns 3 --replicas 2
    field cns 2 && field mns 3 && field replicas 2 && field threads 2 && field coros 4 && field cc '"cellar"' && field lock '"declock"'
    runs $small_bank --rtt-ns 2000
    runs $small_ycsb --cns 3 --mns 2 --replicas 1 --fabric sim --per-txn 64
    runs smallbank --accounts 500 --seconds 0.3 --warmup 0.1 --threads 1
    grep -q '"elapsed_s": 0.3' "$folder/json" || fail "a run of 0.3 s lasted $(grep elapsed_s "$folder/json")"
    runs $small_bank --threads 4 --pool "$folder/pool" --pool-bytes 40M
    "$cellar" recover --pool "$folder/pool" 2>&1 | grep -qx "nothing was left to be recovered" || fail "cellar recover of a whole pool file"
    timeout -k 5 240 "$cellar" bench $small_bank --pool "$folder/pool" >"$folder/out" 2>"$folder/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] || fail "a pool file with data was accepted: $(cat "$folder/err")"
}

# Operations on an ordered index, each kind of them; and its leaves under another lock.
for operation in mixed lookup insert update delete scan; do
    runs index --operation $operation --records 500 --txns 1000 --scan-max 30 --fabric sim --cns 2 --threads 2
    field workload '"index"' && field operation "\"$operation\"" && field committed 1000
done
runs index --records 500 --txns 500 --threads 2 --sorted --rows --theta 0 --history "$folder/index.jsonl"

# TPC-C by ordered indexes, in all modes that have them; judged for strict serializability, too.
for cc in $(modes record cell crest cellar ford 2pl); do
    runs tpcc --warehouses 1 --scale small --txns 300 --access index --cc $cc --fabric sim
    field committed 300 && field access '"index"'
done
runs tpcc --warehouses 1 --scale small --txns 2000 --access index --cns 2 --mns 2 --replicas 1 --threads 1

# YCSB's core workloads, one operation a transaction; judged for strict serializability, too.
cd "$folder" # where the history's name is short
for core in A B C D E F; do
    runs ycsb --core $core --records 2000 --txns 2000 --threads 2
    field workload '"ycsb"' && field core "\"$core\"" && field committed 2000
    runs ycsb --core $core --records 500 --txns 1000 --fabric sim --cns 2 --mns 2 --replicas 1 --history history
    field committed 1000
done
cd - >/dev/null

# Which way transactions go follows from what a reply is waited for, not from the fabric's name.
way() { # PLAIN-NODES ARGUMENTS...
    local nodes=$1
    shift
    # shellcheck disable=SC2086
    runs $small_bank --cns 2 "$@"
    grep -q "^    \"plain_nodes\": $nodes," "$folder/json" || fail "bench $*: not $nodes compute nodes went the plain way"
    grep -qE '^    "wait_ns": [1-9][0-9]*,$' "$folder/json" || fail "bench $*: no wait was measured"
}
way 2 --way samples=4
grep -q '"chosen": "plain"' "$folder/json" || fail "the JSON report does not say which way was chosen"
grep -qE "compute nodes that go the plain way +2$" "$folder/out" || fail "the report does not say which way was chosen"
grep -q '^    "coros": 1$' "$folder/json" || fail "the JSON report does not say that one coordinator runs at a time"
grep -qE "coordinators of a thread that run at a time +1$" "$folder/out" || fail "the report does not say that one coordinator runs at a time"
way 0 --way plain-ns=0
grep -q '^    "coros": 4$' "$folder/json" || fail "the JSON report does not say that all coordinators run"
way 0 --rtt-ns 20000
way 0 --fabric sim
way 2 --fabric sim --way plain-ns=100000000,shared-ns=100000000

for name in workload fabric cc lock cns mns threads coros replicas seed elapsed_s committed aborted abort_reasons tps abort_rate \
    latency_us types mn_ops_per_txn rtts_per_txn mn_nic_utilization fairness_jain phases_us checks consistent; do
    grep -q "^  \"$name\": " "$folder/json" || fail "the JSON report lacks $name"
done

# The same seed in sim is the same run, to the last verb; another seed is not.
for seed in 5 5 6; do
    # shellcheck disable=SC2086
    runs $small_bank --fabric sim --cns 2 --threads 2 --seed $seed
    for name in virtual_s verbs_per_wall_s verbs_per_cpu_s; do grep -q "^  \"$name\": " "$folder/json" || fail "the JSON report of sim lacks $name"; done
    grep '"trace_hash"' "$folder/json" >>"$folder/hashes"
done
[ "$(sort -u "$folder/hashes" | wc -l)" -eq 2 ] && [ "$(head -2 "$folder/hashes" | sort -u | wc -l)" -eq 1 ] ||
    fail "trace hashes of seeds 5, 5, 6: $(cat "$folder/hashes")"

# What is dropped after its attempts is counted, and has had no effect: all checks hold. Waits between attempts decide
# how many there are.
dropped() {
    timeout -k 5 240 "$cellar" bench ycsb --records 50 --theta 0.99 --fabric sim --cc record --cns 2 --threads 4 --seconds 0.002 --warmup 0 \
        --json "$folder/json" "$@" >"$folder/out" 2>&1 || fail "bench ycsb $*: exit $?: $(tail -3 "$folder/out")"
    dropped=$(sed -n 's/^  "dropped": \([0-9]*\),$/\1/p' "$folder/json")
}
dropped --backoff-cap-ns 1000
[ "$dropped" -eq 0 ] || fail "$dropped transactions dropped where none may be"
dropped --backoff-cap-ns 1000 --attempts-max 3
soon=$dropped
grep -q " transactions dropped, each when 3 attempts had been aborted" "$folder/out" || fail "the report does not count dropped transactions"
dropped --backoff-cap-ns 1000 --attempts-max 10
[ "$dropped" -gt 0 ] && [ "$soon" -gt "$dropped" ] || fail "dropped with 3 and 10 attempts: $soon, $dropped"

# With --json -, stdout is the JSON alone and people read stderr.
# shellcheck disable=SC2086
timeout -k 5 240 "$cellar" bench $small_bank --json - >"$folder/out" 2>"$folder/err" || fail "--json - failed"
[ "$(head -c 1 "$folder/out")" = "{" ] && [ "$(tail -n 1 "$folder/out")" = "}" ] || fail "--json - put more than JSON on stdout"
grep -q "checks hold" "$folder/err" || fail "--json - printed no report on stderr"
# shellcheck disable=SC2086
timeout -k 5 240 "$cellar" bench $small_bank --json /no/such/folder/x >"$folder/out" 2>"$folder/err"
[ $? -eq 2 ] && grep -q "No such file" "$folder/err" || fail "a JSON file that cannot be written went unnoticed"

# A table that fills up ends the run with one line.
timeout -k 5 240 "$cellar" bench tpcc --warehouses 1 --scale small --pool-bytes 48M --seconds 60 --warmup 0 --threads 1 \
    >"$folder/out" 2>"$folder/err"
[ $? -eq 2 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q "no space left.*--pool-bytes" "$folder/err" ||
    fail "a full pool: $(tail -n 3 "$folder/out"; tail -n 3 "$folder/err")"

[ $failures -eq 0 ] && echo "all runs are as they should be"
[ $failures -eq 0 ]
