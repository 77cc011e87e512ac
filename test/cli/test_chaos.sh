#!/bin/bash
# test_chaos.sh [CELLAR] - `cellar chaos` and `cellar cluster`: rounds on real processes hold; what was started is
# shown, a compute node that was killed is missed and comes back, and nothing is left in the end.
set -u
source "$(dirname "$0")/prelude.sh"

rounds=6
[ "$share" -eq 100 ] || rounds=2
# Leases are long: on a loaded machine a live process may stand still for seconds.
"$cellar" chaos --rounds $rounds --lease 8 --dir "$folder/chaos" --json "$folder/chaos.json" \
    >"$folder/out" 2>"$folder/err" </dev/null ||
    fail "chaos: exit $?: $(cat "$folder/out" "$folder/err") $(tail -n 3 "$folder"/chaos/*.log 2>/dev/null)"
grep -q "nothing acknowledged is lost" "$folder/out" || fail "chaos says: $(cat "$folder/out")"
grep -q "\"rounds\": $rounds" "$folder/chaos.json" || fail "chaos.json: $(cat "$folder/chaos.json")"
acknowledged=$(sed -n 's/^ *"acknowledged": \([0-9]*\).*/\1/p' "$folder/chaos.json")
[ "$acknowledged" -gt 100 ] || fail "hardly anything committed: $(cat "$folder/chaos.json")"
[ ! -e "$folder/chaos" ] || fail "the folder of a run that held is left: $(ls "$folder/chaos")"

cluster="$folder/c"
"$cellar" cluster up --dir "$cluster" --memnodes 2 --compute 2 --bytes 64M --lease 8 \
    >"$folder/out" 2>"$folder/err" </dev/null || fail "up: $(cat "$folder/err" "$cluster"/*.log)"
for pid in "$cluster"/*.pid; do started+=("$(cat "$pid")"); done
"$cellar" cluster status --dir "$cluster" >"$folder/out" 2>&1 || fail "status: $(cat "$folder/out")"
grep -q "all run" "$folder/out" || fail "status says: $(cat "$folder/out")"
# a shell joins it as one more compute node, and leaves
timeout -k 5 120 "$cellar" shell --memnodes "$cluster/mn0.sock,$cluster/mn1.sock" --replicas 1 --cn 3 \
    --command "explain get account 3" >"$folder/out" 2>&1 </dev/null || fail "shell: $(cat "$folder/out")"
grep -q '^3: cents=' "$folder/out" && grep -q '^round trips  [1-9]' "$folder/out" || fail "shell: $(cat "$folder/out")"
kill -9 "$(cat "$cluster/cn1.pid")"
"$cellar" cluster status --dir "$cluster" >"$folder/out" 2>&1
[ $? -eq 1 ] && grep -q "compute node 1 *has ended" "$folder/out" || fail "status after a death says: $(cat "$folder/out")"
"$cellar" cluster compute --dir "$cluster" --cn 1 >"$folder/again" 2>&1 </dev/null &
started+=("$!")
lines=$(stat -c %s "$cluster/cn1.witness")
more() { [ "$(stat -c %s "$cluster/cn1.witness")" -gt "$lines" ]; }
until_true 100 more || fail "compute node 1 did not come back: $(cat "$folder/again")"
kill -TERM "$!"
wait "$!" || fail "compute node 1 did not end well: $(cat "$folder/again")"
subcommand=(cluster up)
refused "in use, or not empty" --dir "$cluster"
"$cellar" cluster down --dir "$cluster" >"$folder/out" 2>&1 || fail "down: $(cat "$folder/out")"
[ ! -e "$cluster" ] || fail "down has left $(ls "$cluster")"
# One that has ended may wait for its parent to ask how.
gone() { ended "$1" || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
for pid in "${started[@]}"; do gone "$pid" || fail "process $pid is left"; done

refused "needs --memnodes 3" --dir "$folder/x" --memnodes 2 --replicas 2
refused "without commas" --dir "$folder/a,b"
subcommand=(cluster status)
refused "no cluster was started" --dir "$folder"
if [ "$(id -u)" -eq 0 ]; then
    mkdir "$folder/theirs" && chown 65534 "$folder/theirs"
    refused "belongs to another user" --dir "$folder/theirs"
fi
mkdir "$folder/foreign" && echo '{"memnodes": []}' >"$folder/foreign/cluster.json"
refused "is not what" --dir "$folder/foreign"
subcommand=(cluster)
refused "say what: up, status, down or compute"
refused "say what" sideways
subcommand=(chaos)
refused "--rounds" --rounds 0
refused "in use, or not empty" --dir "$folder"

[ $failures -eq 0 ] && echo "clusters of processes survive what happens to them"
[ $failures -eq 0 ]
