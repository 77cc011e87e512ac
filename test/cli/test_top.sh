#!/bin/bash
# test_top.sh [CELLAR] - `cellar bench --metrics` and `cellar top`: what a running process tells of itself; and that
# the dashboard in dist/ asks for nothing that no process tells.
set -u
source "$(dirname "$0")/prelude.sh"
"$cellar" bench smallbank --txns 1 --accounts 100 --metrics 1 >/dev/null 2>"$folder/err" </dev/null
grep -q "this build has no metrics" "$folder/err" && { echo "no libmicrohttpd"; exit 77; }
port=$((20000 + RANDOM % 20000))

"$cellar" bench smallbank --theta 0.99 --accounts 1000 --threads 2 --seconds 600 --metrics $port >"$folder/bench.out" 2>&1 </dev/null &
bench=$!
started+=("$bench")
until_true 60 busy "$bench" || fail "no transactions: $(cat "$folder/bench.out")"

timeout -k 5 120 "$cellar" top $port "127.0.0.1:$port" --count 2 --every 0.5 >"$folder/out" 2>"$folder/err" </dev/null || fail "top: $(cat "$folder/err")"
for text in "^$port$" "^127.0.0.1:$port$" '^  transactions +[0-9.]+ [kM]? ?/s   aborted [0-9.]+ %   round trips [1-9]' \
    '^    lock_busy .* /s$' '^    account +[0-9]+ +[0-9.k ]+/s$' '^    write +apply ' '^  memory +1 nodes of .*, [0-9.]+ [KMG]?i?B in use \([0-9.]+ %\)' '^  logs +[0-9.]+ [KMG]?i?B, ' '^  members +1 compute nodes'; do
    grep -qE -- "$text" "$folder/out" || fail "top lacks '$text': $(head -c 1500 "$folder/out")"
done
[ "$(grep -c '^  transactions' "$folder/out")" -eq 4 ] || fail "two looks at two places: $(grep -c transactions "$folder/out")"

# what the dashboard asks for is there: of memory nodes on verbs by the table of their numbers
exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3 >"$folder/metrics"
grep -q 'text/plain; version=0.0.4' "$folder/metrics" || fail "no content type: $(head -5 "$folder/metrics")"
dist=$(dirname "$0")/../../dist
grep -oE 'cellar_[a-z_]+' "$dist/cellar-grafana.json" | sort -u | while read -r name; do
    grep -q "^# TYPE $name " "$folder/metrics" || grep -q "\"$name\"" "$dist/../program/memnode_metrics.c" || echo "$name"
done >"$folder/missing"
[ -s "$folder/missing" ] && fail "the dashboard asks for $(cat "$folder/missing")"
exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /else HTTP/1.0\r\n\r\n' >&3 && head -1 <&3 | grep -q 404 || fail "another page"
if command -v python3 >/dev/null; then python3 -m json.tool "$dist/cellar-grafana.json" >/dev/null || fail "the dashboard is no JSON"; fi

kill -INT "$bench"
wait "$bench" || fail "bench: $(tail -5 "$folder/bench.out")"
subcommand=(top)
refused "does a process give metrics there?" $port
refused "is no PORT or HOST:PORT" nonsense
refused "name a PORT" --count 1
refused "--every" $port --every 0
subcommand=()
refused "not for --fabric sim" bench smallbank --fabric sim --metrics $port
exit $((failures > 0))
