#!/bin/bash
# test_trace.sh [CELLAR] - `--trace` of `cellar sim` and `cellar bench`: the file is JSON, spans nest, every committed
# transaction of a simulated run has its span; a trace changes nothing, and twice it is the same; sampled and bounded;
# bad input.
set -u
source "$(dirname "$0")/prelude.sh"
command -v python3 >/dev/null || { echo "needs python3: skipped"; exit 77; }

cat >"$folder/judge.py" <<'P'
# judge.py TRACE [HISTORY]: complaints, and with --counts NAME... what is there.
import json, sys
from collections import defaultdict

with open(sys.argv[1]) as file:
    trace = json.load(file)
lanes, starts, ends, names = defaultdict(list), {}, {}, defaultdict(set)
# The format's own rules: what each kind of event has to have, so that chrome://tracing and Perfetto take it.
fields = {"X": {"ts": (int, float), "dur": (int, float), "name": str, "cat": str},
          "s": {"ts": (int, float), "id": int, "name": str, "cat": str},
          "f": {"ts": (int, float), "id": int, "name": str, "cat": str, "bp": str}, "M": {"name": str, "args": dict}}
for event in trace["traceEvents"]:
    wanted = {"pid": int, "tid": int, **fields.get(event.get("ph"), {"ph of a known kind": str})}
    for field, kind in wanted.items():
        value = event.get(field)
        if not isinstance(value, kind) or isinstance(value, bool) or value == "" or (field in ("ts", "dur") and value < 0):
            sys.exit("%s is wrong in %s" % (field, event))
    if not isinstance(event.get("args", {}), dict):
        sys.exit("args are no object in %s" % event)
    lane = event["pid"], event["tid"]
    if event["ph"] == "M":
        if event["name"] not in ("process_name", "thread_name") or list(event["args"]) != ["name"]:
            sys.exit("metadata that nothing knows: %s" % event)
        names[event["name"]].add(lane if event["name"] == "thread_name" else lane[0])
    if event["ph"] == "X":
        begin = round(event["ts"] * 1000)
        lanes[lane].append((begin, begin + round(event["dur"] * 1000), event))
    elif event["ph"] in "sf":
        (starts if event["ph"] == "s" else ends)[event["id"]] = lane, event["ts"]
for lane in lanes:
    if lane not in names["thread_name"] or lane[0] not in names["process_name"]:
        print("lane", lane, "has no name")
parents = {"attempt": "transaction", "phase": "attempt", "step": "transaction"}
for lane, spans in lanes.items():
    inside = []
    for begin, end, event in spans:
        while inside and inside[-1][1] <= begin and not (begin == end == inside[-1][1]):
            inside.pop()
        if inside and end > inside[-1][1]:
            print("lane", lane, "a span leaves the one around it:", event, "leaves", inside[-1][2])
        category = event["cat"]
        while inside and category in parents and inside[-1][2]["cat"] != parents[category]:
            inside.pop() # of no length, at its end
        if category in parents and not inside:
            print("lane", lane, category, "is in no", parents[category], event)
        inside.append((begin, end, event))
    for (_, end, before), (begin, _, after) in zip(*[[s for s in spans if s[2]["cat"] == "transaction"][i:] for i in (0, 1)]):
        if begin < end:
            print("lane", lane, "two transactions at a time:", before, after)
if starts.keys() != ends.keys():
    print("an arrow has one end")
for number in starts.keys() & ends.keys():
    (source, at), (target, then) = starts[number], ends[number]
    hot = source[1] > 1000000  # a hot lock's own line of each compute node
    if (source[0] == target[0] or source[1] != target[1] if hot else source == target) or then < at:
        print("arrow", number, "leads from", source, at, "to", target, then)
if len(sys.argv) > 2:
    committed = 0
    for line in open(sys.argv[2]):
        txn = json.loads(line)
        if txn.get("outcome") != "committed":
            continue
        committed += 1
        lane = txn["cn"] + 1, txn["coordinator"] + 1
        if not any(begin == txn["begin"] and end >= txn["end"] and event["cat"] == "attempt" and event["args"]["outcome"] == "ended"
                   for begin, end, event in lanes[lane]):
            print("transaction", txn["txn"], "has no span of its attempt")
    if committed < 20:
        print("only", committed, "transactions committed")
P

judge() { # NAME HISTORY...
    python3 "$folder/judge.py" "$folder/$1.json" "${@:2}" >"$folder/complaints" 2>&1 || echo "no JSON" >>"$folder/complaints"
    [ ! -s "$folder/complaints" ] || fail "$1: $(wc -l <"$folder/complaints") complaints, first $(head -3 "$folder/complaints")"
}
has() { # NAME TEXT
    grep -qF -- "$2" "$folder/$1.json" || fail "$1 lacks $2"
}
bench() { timeout -k 5 240 "$cellar" bench "$@" >"$folder/out" 2>&1 </dev/null || fail "bench $*: $(tail -5 "$folder/out")"; }
events() { grep -c '"ph":"X"' "$folder/$1.json"; }

# ---- sim: with crashes and failovers, pools opened again, sessions, ranges, in all modes
for seed in 1 3 9 10; do
    for run in first again; do
        "$cellar" sim --seed $seed --trace "$folder/$run.json" --history "$folder/history" --trace-hashes "$folder/$run" >"$folder/out" ||
            fail "seed $seed: $(tail -3 "$folder/out")"
    done
    cmp "$folder/first.json" "$folder/again.json" || fail "seed $seed: another file when run again"
    "$cellar" sim --seed $seed --trace-hashes "$folder/without" >"$folder/out" || fail "seed $seed without a trace"
    cmp "$folder/first" "$folder/without" || fail "seed $seed: the trace changed the run"
    judge first "$folder/history"
done
for workload in sessions ranges smallbank; do
    "$cellar" sim --workload $workload --seed 7 --trace "$folder/$workload.json" --history "$folder/history" >"$folder/out" || fail "$workload: $(tail -3 "$folder/out")"
    judge $workload "$folder/history"
done

# ---- hot records: turns of locks, handed over between compute nodes, and waits for them; beside a history
hot=(ycsb --fabric sim --cns 3 --mns 2 --threads 4 --coros 2 --records 1000 --theta 0.99 --warmup 0.001 --seconds 0.003 --hot "tries=1,losses=3")
bench "${hot[@]}" --trace "$folder/hot.json" --trace-every 1 --history "$folder/hot.jsonl"
judge hot "$folder/hot.jsonl"
for text in '"name":"hot lock"' '"name":"turn"' '"name":"hand-over"' '"name":"back-off"' '"outcome":"committed"' '"table":"usertable"' masked\ CAS; do has hot "$text"; done

# ---- sampled and bounded: whole transactions are left out
bench "${hot[@]}" --trace "$folder/some.json" --trace-every 8
judge some
all=$(grep -c '"cat":"transaction"' "$folder/hot.json") some=$(grep -c '"cat":"transaction"' "$folder/some.json")
[ $((some * 7)) -lt "$all" ] && [ $((some * 9)) -gt "$all" ] || fail "one of 8 transactions of $all: $some"
bench "${hot[@]}" --trace "$folder/few.json" --trace-every 1 --trace-events 10000
judge few
[ "$(events few)" -lt 10000 ] && [ "$(events few)" -gt 1000 ] || fail "at most 10000 events: $(events few)"

# ---- in real time, with two threads, in a mode that shares and one that does not, and with locks of the lock manager
for mode in $(modes cellar cell 2pl); do
    bench smallbank --accounts 200 --theta 0.99 --threads 2 --txns 20000 --cc $mode --trace "$folder/$mode.json" --trace-every 4 --trace-events 4000000 --json "$folder/json"
    judge $mode
    grep -q "5,000 of 20,000 transactions" "$folder/out" || fail "$mode: $(grep transactions, "$folder/out")"
done
bench tpcc --warehouses 1 --scale small --txns 2000 --trace "$folder/tpcc.json"
judge tpcc
has tpcc '"name":"NewOrder"'

# ---- clients of locks: rounds and their steps, hand-overs; a trace changes nothing, and twice it is the same
clients_of_locks() {
    locks=(lock --fabric sim --cns 3 --threads 2 --clients 24 --locks 5 --ops 600)
    for lock in declock shiftlock rpc dslr mcs; do
        for run in first again; do
            bench "${locks[@]}" --lock $lock --trace "$folder/$run.json" --trace-every 1 --json "$folder/$run"
        done
        cmp "$folder/first.json" "$folder/again.json" || fail "$lock: another file when run again"
        bench "${locks[@]}" --lock $lock --json "$folder/without"
        [ "$(grep trace_hash "$folder/first")" = "$(grep trace_hash "$folder/without")" ] || fail "$lock: the trace changed the run"
        judge first
        for step in acquire use release; do
            [ "$(grep -c "\"name\":\"$step\"" "$folder/first.json")" -eq 600 ] || fail "$lock: $step of 600 rounds"
        done
        has first '"name":"hand-over"'
        has first '"mode":"exclusive"'
    done
    bench "${locks[@]}" --trace "$folder/some.json" --trace-every 10
    judge some
    rounds=$(grep -c '"name":"round"' "$folder/some.json")
    [ "$rounds" -ge 48 ] && [ "$rounds" -le 72 ] || fail "one of 10 rounds of 600: $rounds"
    grep -q 'hand-over' "$folder/some.json" && fail "hand-overs between rounds of which some are left out"
    bench lock --cns 3 --threads 2 --clients 24 --locks 20 --seconds 0.006 --kill-cn 1 --trace "$folder/killed.json" --trace-every 1
    judge killed
    has killed '"outcome":"unfinished"'
    bench lock --fabric shm --cns 2 --threads 1 --clients 4 --locks 3 --mix tatp --ops 400 --trace "$folder/shm.json" --trace-every 1
    judge shm
    refused "$folder/none/x.json: no file can be made in its folder: No such file" bench lock --ops 10 --trace "$folder/none/x.json"
    refused "--trace-every needs --trace FILE" bench lock --ops 10 --trace-every 5
    refused "--trace needs a file of its own" bench lock --ops 10 --trace -
    refused "cannot both go to" bench lock --ops 10 --trace "$folder/x" --json "$folder/x"
}
! has_laboratory || clients_of_locks

# ---- bad input
refused "$folder/none/x.json: no file can be made in its folder: No such file" bench smallbank --txns 10 --trace "$folder/none/x.json"
mkfifo "$folder/pipe"
refused "$folder/pipe is there already, and no regular file" bench smallbank --txns 10 --trace "$folder/pipe"
rm "$folder/pipe"
refused "--trace needs a file of its own" bench smallbank --txns 10 --trace -
refused "--trace-every must be from 1" bench smallbank --txns 10 --trace "$folder/x" --trace-every 0
refused "--trace-every needs --trace FILE" bench smallbank --txns 10 --trace-every 5
refused "--trace-events needs --trace FILE" bench smallbank --txns 10 --trace-events 50000
refused "cannot both go to" bench smallbank --txns 10 --trace "$folder/x" --json "$folder/x"
subcommand=(sim)
refused "$folder/none/x.json: no file can be made in its folder: No such file" --seed 1 --trace "$folder/none/x.json"
refused "--trace belongs to one --seed" --seeds 1..2 --trace "$folder/x"
refused "--trace needs a file of its own" --seed 1 --trace -
refused "--trace-every must be from 1" --seed 1 --trace "$folder/x" --trace-every 0
refused "--trace-every needs --trace FILE" --seed 1 --trace-every 2
[ -z "$(ls "$folder" | grep partial)" ] || fail "what was not finished stays: $(ls "$folder")"
[ $failures -eq 0 ]
