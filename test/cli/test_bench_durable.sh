#!/bin/bash
# test_bench_durable.sh [CELLAR] - `cellar bench --durable DIR`: each workload, its report, and the folder that is left;
# what is refused, with nothing touched.
set -u
source "$(dirname "$0")/prelude.sh"

dir=$folder/pool

# runs ARGUMENTS...: a durable run that ends well; its JSON report is left in $folder/json, on one line in $report.
runs() {
    rm -rf "$dir"
    timeout -k 5 240 "$cellar" bench "$@" --durable "$dir" --json "$folder/json" >"$folder/out" 2>"$folder/err" </dev/null
    local status=$?
    if [ $status -ne 0 ] || [ -s "$folder/err" ]; then
        fail "cellar bench $* --durable: exit $status: $(cat "$folder/err")"
    fi
    report=$(tr -d '\n ' <"$folder/json")
    grep -q '"consistent": true' "$folder/json" || fail "cellar bench $* --durable: not consistent"
    [ "$(awk 'length > 100' "$folder/out" | wc -l)" -eq 0 ] || fail "cellar bench $*: lines of more than 100 columns"
    grep -q "^Durability$" "$folder/out" || fail "cellar bench $*: the report has no part on durability"
    timeout -k 5 240 "$cellar" check "$dir" >"$folder/checked" 2>&1 || fail "what $* left: $(cat "$folder/checked")"
}

# number NAME: a number of the report's part on durability.
number() { grep -oE "\"durable\":\{.*" <<<"$report" | grep -oE "\"$1\":[0-9.]+" | head -1 | cut -d: -f2; }

# at_least NAME BOUND, at_most NAME BOUND
at_least() { awk -v a="$(number "$1")" -v b="$2" 'BEGIN { exit !(a != "" && a >= b) }' || fail "$1 is $(number "$1"), at least $2 wanted"; }
at_most() { awk -v a="$(number "$1")" -v b="$2" 'BEGIN { exit !(a != "" && a <= b) }' || fail "$1 is $(number "$1"), at most $2 wanted"; }

runs smallbank --accounts 500 --txns 3000
at_least inflight 4096
at_least entries 1000
runs ycsb --records 2000 --txns 2000 --inflight 64
at_least entries 2000
at_least log_bytes_per_entry_byte 1
runs tpcc --warehouses 1 --scale small --txns 1000 --threads 2
at_least entries 500
runs ycsb --records 2000 --core A --txns 1000 --epoch-ns 500000 --durable-bytes 64M
runs smallbank --accounts 500 --seconds 0.3 --warmup 0.1 --threads 1 --html "$folder/page.html"
grep -q '"elapsed_s": 0.3' "$folder/json" || fail "a run of 0.3 s lasted $(grep elapsed_s "$folder/json")"

runs smallbank --accounts 500 --txns 2000 --mns 3 --replicas 1
[ "$(ls "$dir")" = "$(printf 'node-%d\n' 0 1 2)" ] || fail "three memory nodes have these folders: $(ls "$dir")"

# With one call in flight each commit waits for an epoch of its own, and its latency is that of the disk.
runs ycsb --records 2000 --txns 40 --threads 1 --inflight 1
at_least epochs 40
at_least syncs 40
at_least entries 40
awk -v least="$(grep -oE '"acknowledged_us":\{[^}]*' <<<"$report" | grep -oE '"p50":[0-9.]+' | cut -d: -f2)" \
    -v commit="$(grep -oE '"commit_us":\{[^}]*' <<<"$report" | grep -oE '"p50":[0-9.]+' | cut -d: -f2)" \
    'BEGIN { exit !(least > commit && commit > 0) }' || fail "acknowledged before it was on the disk: $(grep -A8 acknowledged_us "$folder/json")"
grep -q '"coros": 1,' "$folder/json" || fail "one call in flight, and more coordinators"

# Few bytes beside the redo entries, where many go together: a thousand in one epoch.
runs smallbank --accounts 500 --txns 20000 --threads 1 --epoch-ns 1000000000
at_most log_bytes_per_entry_byte 1.5

# state: names, sizes, times and bytes of $dir.
state() { (cd "$dir" && stat -c '%a %y' . && ls -lAn --full-time && cat ./* | sha256sum) 2>/dev/null; }

# untouched TEXT ARGUMENTS...: refused, and $dir is as it was.
untouched() {
    local before
    before=$(state)
    refused "$@"
    [ "$(state)" = "$before" ] || fail "bench $*: the folder has changed"
}

subcommand=(bench)
small="smallbank --accounts 500 --txns 100"
# shellcheck disable=SC2086
{
    untouched "holds data already" $small --durable "$dir"
    untouched "--inflight needs --durable DIR" $small --inflight 10
    untouched "--epoch-ns needs --durable DIR" $small --epoch-ns 1000000
    untouched "--durable-bytes needs --durable DIR" $small --durable-bytes 1G
    untouched "--durable is for --fabric shm, not sim" $small --fabric sim --durable "$dir"
    untouched "--durable and --pool exclude each other" $small --pool "$folder/file" --durable "$dir"
    untouched "--durable and --memnodes exclude each other" $small --memnodes /tmp/none --durable "$dir"
    untouched "--inflight 3 is less than --coros 4" $small --coros 4 --inflight 3 --durable "$dir"
    rm -rf "$dir"
    for mode in $(modes ford); do untouched "mode $mode" $small --cc "$mode" --durable "$dir"; done
    mkdir "$dir"
    echo "not ours" >"$dir/file"
    untouched "$dir" $small --durable "$dir"
    rm -rf "$dir"
    echo "a file" >"$dir"
    untouched "$dir" $small --durable "$dir"
    untouched "$folder/none/pool" $small --durable "$folder/none/pool"
}

[ $failures -eq 0 ] && echo "all durable runs are as they should be"
[ $failures -eq 0 ]
