#!/bin/bash
# test_etcd.sh [CELLAR] - three etcd servers decide which nodes of a pool are lost: rounds of `cellar chaos --etcd` hold;
# what etcd cannot decide waits, in one clear line, and nothing is changed by it.
set -u
source "$(dirname "$0")/prelude.sh"
command -v etcd >/dev/null || { echo "no etcd here (Debian: etcd-server)"; exit 77; }
"$cellar" recover --memnodes none --etcd http://127.0.0.1:1 2>&1 | grep -q "libcurl was missing" &&
    { echo "built without libcurl"; exit 77; }

# Seed 3 kills an etcd server, then stops all of them, then kills a compute node while they stand still.
rounds=14
[ "$share" -eq 100 ] || rounds=4
"$cellar" chaos --etcd --memnodes 3 --compute 3 --replicas 1 --bytes 64M --lease 4 --rounds $rounds --seed 3 \
    --dir "$folder/chaos" >"$folder/out" 2>"$folder/err" </dev/null ||
    fail "chaos: exit $?: $(cat "$folder/out" "$folder/err") $(tail -n 3 "$folder"/chaos/*.log 2>/dev/null)"
grep -q "nothing acknowledged is lost" "$folder/out" || fail "chaos says: $(cat "$folder/out")"
[ "$share" -ne 100 ] || for event in "an etcd server is killed" "transactions go on" "it is not declared dead"; do
    grep -q "$event" "$folder/out" || fail "no round in which $event: $(cat "$folder/out")"
done
[ ! -e "$folder/chaos" ] || fail "the folder of a run that held is left: $(ls "$folder/chaos")"

cluster="$folder/c"
"$cellar" cluster up --dir "$cluster" --memnodes 2 --compute 2 --bytes 64M --lease 8 --etcd \
    >"$folder/out" 2>"$folder/err" </dev/null || fail "up: $(cat "$folder/err" "$cluster"/*.log)"
for pid in "$cluster"/*.pid; do started+=("$(cat "$pid")"); done
grep -q "three etcd servers" "$folder/out" || fail "up says: $(cat "$folder/out")"
servers=$(grep -o 'http://127.0.0.1:[0-9]*' "$cluster/cluster.json" | paste -sd,)
first=${servers%%,*}
pool=(--memnodes "$cluster/mn0.sock,$cluster/mn1.sock" --replicas 1 --cn 3) # one that is not in use
dead=(--memnodes "$cluster/mn0.sock,$cluster/mn1.sock" --replicas 1 --cn 1)

# What the key holds, or a new value for it: python stands in for a client of etcd.
ruling() {
    python3 - "$first" "/cellar/ruling" "$@" <<'PY'
import base64, json, sys, urllib.request
server, key = sys.argv[1:3]
coded = lambda text: base64.b64encode(text.encode()).decode()
ask = {"key": coded(key)}
path = "range"
if len(sys.argv) > 3:
    ask["key"], ask["value"], path = coded(sys.argv[3]), coded(sys.argv[4]), "put"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
answer = json.load(opener.open(server + "/v3/kv/" + path, json.dumps(ask).encode()))
for pair in answer.get("kvs", []):
    print(base64.b64decode(pair["value"]).decode())
PY
}

subcommand=(recover)
before=$(ruling)
grep -q '"epoch":1' <<<"$before" || fail "the first ruling is: $before"
refused "is no server" "${pool[@]}" --etcd 127.0.0.1:2379
refused "of no use without --etcd" "${pool[@]}" --etcd-prefix /x
refused "without spaces names a cluster" "${pool[@]}" --etcd "$servers" --etcd-prefix /
refused "etcd at http://127.0.0.1:1:" "${pool[@]}" --etcd http://127.0.0.1:1
refused "decided outside of it" "${pool[@]}"
refused "another register than etcd" "${pool[@]}" --etcd "$servers" --etcd-prefix /elsewhere
ruling /junk/ruling '{"cellar": 2}'
refused "something else than decisions of Cellar" "${pool[@]}" --etcd "$servers" --etcd-prefix /junk

# Another version, and what is no etcd at all.
cat >"$folder/fake.py" <<'PY'
import http.server, sys
class Fake(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[1].encode())
    def log_message(self, *rest): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Fake)
print(server.server_port, flush=True)
server.serve_forever()
PY
for fake in '{"etcdserver":"3.3.10","etcdcluster":"3.3.0"}|is version 3.3.0: 3.4 or a later' '{}|is not etcd' \
    'hello|is not etcd'; do
    rm -f "$folder/port"
    python3 "$folder/fake.py" "${fake%%|*}" >"$folder/port" &
    started+=("$!")
    has_port() { [ -s "$folder/port" ]; }
    until_true 60 has_port || fail "no fake server: $fake"
    refused "${fake#*|}" "${pool[@]}" --etcd "http://127.0.0.1:$(cat "$folder/port")"
done

# Two pools with one prefix: the second one is refused, whole.
for i in 0 1; do
    "$cellar" memnode --socket "$folder/other$i" --bytes 64M --node $i --mns 2 --cns 4 >"$folder/other$i.log" 2>&1 &
    started+=("$!")
done
others() { [ -S "$folder/other0" ] && [ -S "$folder/other1" ]; }
until_true 100 others || fail "no other memory nodes: $(cat "$folder"/other*.log)"
subcommand=(bench smallbank)
refused "decisions of another cluster" --memnodes "$folder/other0,$folder/other1" --replicas 1 --accounts 100 \
    --seconds 1 --etcd "$servers"
refused "is for --memnodes" --accounts 100 --seconds 1 --etcd "$servers"

# Its quorum is lost before a compute node can be declared dead: that waits, in one line. All etcd servers stopped:
# likewise, and transactions go on.
subcommand=(recover)
etcds() { for i in 0 1 2; do kill "-$1" "$(cat "$cluster/etcd$i.pid")"; done; }
kill -9 "$(cat "$cluster/cn1.pid")"
gone() { ended "$(cat "$cluster/cn1.pid")" || grep -q '^State:.Z' "/proc/$(cat "$cluster/cn1.pid")/status"; }
until_true 100 gone || fail "compute node 1 does not end"
for i in 1 2; do kill -STOP "$(cat "$cluster/etcd$i.pid")"; done
refused "etcd at" "${dead[@]}" --etcd "$servers"
etcds STOP
refused "etcd at" "${dead[@]}" --etcd "$servers"
lines=$(stat -c %s "$cluster/cn0.witness")
more() { [ "$(stat -c %s "$cluster/cn0.witness")" -gt $((lines + 4000)) ]; }
until_true 100 more || fail "compute node 0 does nothing without etcd: $(cat "$cluster/cn0.log")"
etcds CONT
known() { ruling >"$folder/ruling" 2>/dev/null; }
until_true 100 known || fail "etcd does not come back"
"$cellar" recover "${dead[@]}" --etcd "$servers" >"$folder/out" 2>&1 || fail "recover: $(cat "$folder/out")"
ruling | grep -q '"dead":{"1":' || fail "the ruling after it: $(ruling)"

"$cellar" cluster down --dir "$cluster" >"$folder/out" 2>&1 || fail "down: $(cat "$folder/out")"
[ ! -e "$cluster" ] || fail "down has left $(ls "$cluster")"

[ $failures -eq 0 ] && echo "etcd decides, and what it cannot decide waits"
[ $failures -eq 0 ]
