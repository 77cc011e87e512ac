#!/bin/bash
# test_check.sh [CELLAR] - `cellar check` and `bench --history`: histories written by hand for each class of anomaly,
# files that are no histories, files with bytes flipped and cut off, and runs of all workloads recorded and judged.
set -u
source "$(dirname "$0")/prelude.sh"

# check FILE...: its exit status is left in $status.
check() {
    timeout -k 5 240 "$cellar" check --history "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
}

# says TEXT...: each is in the output.
says() {
    local text
    for text in "$@"; do grep -qF -- "$text" "$folder/out" || fail "$name: wanted '$text', got: $(cat "$folder/out")"; done
}

# refuses TEXT: exit 2 with one line of that text, and nothing else.
refuses() {
    [ $status -eq 2 ] && [ ! -s "$folder/out" ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -qF -- "$1" "$folder/err" ||
        fail "$name: exit $status, wanted 2 and one line with '$1': $(head -c 500 "$folder/out" "$folder/err")"
}

# judged STATUS TEXT...: the history on standard input is judged so, and the output has each text.
judged() {
    local wanted=$1
    shift
    { echo '{"cellar_history":2,"tables":{"1":"accounts"},"cells":{"1":'"${cells:-1}"'}}' && cat && echo '{"end":true,"txns":'"$txns"'}'; } >"$folder/hand"
    check "$folder/hand"
    [ $status -eq "$wanted" ] && [ ! -s "$folder/err" ] || fail "$name: exit $status, wanted $wanted: $(cat "$folder/out" "$folder/err")"
    says "$@"
}

# ---- each class, by hand: x is record 1, y record 2; "write" is [table, key, cell, EN, TS, EN and TS below, digest]
# ----

name="in order" txns=2
judged 0 "strictly serializable" "2 transactions: 2 committed" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":5,"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":30,"end":40,"outcome":"committed","ts":0,"read":[[1,"1",0,2,5,"a1"]]}
{"final":[[1,"1",0,2,5,"a1"]]}
END

name=G0
judged 1 "G0" "a cycle of 2 transactions" "T1" "T2" "accounts[1]" "accounts[2]" "T1 -> T2" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":8,"write":[[1,"1",0,2,5,1,1,"a1"],[1,"2",0,3,8,2,7,"b2"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":7,"write":[[1,"1",0,3,6,2,5,"a2"],[1,"2",0,2,7,1,1,"b1"]]}
END

name=G1a
judged 1 "G1a" "T2" "accounts[1]" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":5,"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":30,"end":40,"outcome":"committed","ts":0,"read":[[1,"1",0,3,6,"a2"]]}
END

name="G1b, an intermediate read"
judged 1 "value" "T2" "T1" "accounts[1]" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":5,"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":0,"read":[[1,"1",0,2,5,"a0"]]}
END

name=G1c
judged 1 "G1c" "a cycle of 2 transactions" "T1 -> T2" "T2 -> T1" "accounts[1]" "accounts[2]" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":5,"read":[[1,"2",0,2,6,"b1"]],"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":6,"read":[[1,"1",0,2,5,"a1"]],"write":[[1,"2",0,2,6,1,1,"b1"]]}
END

name=G-single
judged 1 "G-single (read skew or lost update)" "a cycle of 2 transactions" "T1 -> T2" "T2 -> T1" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":5,"write":[[1,"1",0,2,5,1,1,"a1"],[1,"2",0,2,5,1,1,"b1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":0,"read":[[1,"1",0,2,5,"a1"],[1,"2",0,1,1,"b0"]]}
END

name=G2-item
judged 1 "G2-item (write skew)" "a cycle of 2 transactions" "T1 -> T2" "T2 -> T1" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":5,"read":[[1,"2",0,1,1,"b0"]],"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":6,"read":[[1,"1",0,1,1,"a0"]],"write":[[1,"2",0,2,6,1,1,"b1"]]}
END

stale='{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":5,"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":30,"end":40,"outcome":"committed","ts":0,"read":[[1,"1",0,1,1,"a0"]]}'
name="real time"
judged 1 "G-single-realtime (stale read)" "T1" "T2" "accounts[1]" <<<"$stale"
check "$folder/hand" --no-realtime
[ $status -eq 0 ] || fail "--no-realtime: exit $status: $(cat "$folder/out")"
check "$folder/hand" --json "$folder/json"
[ $status -eq 1 ] && grep -q '"kind": "G-single-realtime"' "$folder/json" && grep -q '"ok": false' "$folder/json" ||
    fail "--json of a violation: exit $status: $(cat "$folder/json")"

name=final txns=1
judged 1 "final" "accounts[1]" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":5,"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"final":[[1,"1",0,1,1,"a0"]]}
END

name="what was loaded"
judged 1 "G1a" "which was not loaded" "accounts[1].cell 0 was loaded as version EN 1 TS 1" <<'END'
{"loaded":[[1,"1",0,1,1,"a0"]]}
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":0,"read":[[1,"1",0,1,4,"a0"]]}
END
name="a range"
judged 1 "absent" "T1" "found accounts[7] absent" <<'END'
{"loaded":[[1,"7",65535,0,0,"1"]]}
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":0,"range":[[1,"5","9",1]]}
END
name="an aborted attempt"
judged 0 "1 attempts that were aborted" <<'END'
{"loaded":[[1,"1",0,1,1,"a0"]]}
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"aborted","ts":0,"read":[[1,"1",0,1,4,"a0"]]}
END
cells=2
name="an insert of some cells"
judged 1 "partial" "wrote not all of its 2 cells" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":5,"insert":[[1,"1"]],"write":[[1,"1",0,1,5,0,0,"a1"]]}
END
name="a write of another time"
judged 1 "timestamp" "its own timestamp is 6" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":20,"outcome":"committed","ts":6,"write":[[1,"1",0,2,5,1,1,"a1"]]}
END
txns=2
name="a read of its own write"
judged 1 "own-read" "T2" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":5,"write":[[1,"1",0,2,5,1,1,"a1"]]}
{"txn":2,"cn":1,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":6,"read":[[1,"1",0,3,6,"a2"]],"write":[[1,"1",0,3,6,2,5,"a2"]]}
END
name="a coordinator twice at once"
judged 1 "overlap" "T1" "T2" <<'END'
{"txn":1,"cn":0,"coordinator":0,"begin":10,"end":40,"outcome":"committed","ts":0,"read":[[1,"1",0,1,1,"a0"]]}
{"txn":2,"cn":0,"coordinator":0,"begin":30,"end":50,"outcome":"committed","ts":0,"read":[[1,"1",0,1,1,"a0"]]}
END

# ---- runs of every workload, recorded and judged ----

# records ARGUMENTS...: a run that ends well, with its history judged in it and once more out of the file $folder/h.
records() {
    name="bench $*"
    timeout -k 5 240 "$cellar" bench "$@" --history "$folder/h" --json "$folder/json" >"$folder/bench" 2>"$folder/err" </dev/null
    status=$?
    [ $status -eq 0 ] && [ ! -s "$folder/err" ] || fail "$name: exit $status: $(tail -5 "$folder/bench" "$folder/err")"
    for check in "history strictly serializable" "redo logs as the history has it"; do
        grep -q "\"$check\": \"ok\"" "$folder/json" || fail "$name: no verdict '$check'"
    done
    grep -q '"judged": true' "$folder/json" && grep -q '"kind": "ok"' "$folder/json" || fail "$name: no verdict in the JSON"
    recorded=$(sed -n 's/^    "txns": \([0-9]*\),*$/\1/p' "$folder/json")
    check "$folder/h"
    [ $status -eq 0 ] || fail "$name: its file: exit $status: $(cat "$folder/out" "$folder/err")"
    [ "$(grep -c '^{"txn":' "$folder/h")" -eq "$recorded" ] || fail "$name: $recorded transactions, the file has others"
}

for fabric in "shm --threads 3" "sim --cns 2 --threads 2 --mns 2 --replicas 1"; do
    # shellcheck disable=SC2086
    {
        records smallbank --accounts 300 --txns 2000 --fabric $fabric
        [ "$recorded" -eq 2000 ] || fail "2,000 transactions were run, $recorded recorded"
        records ycsb --records 500 --theta 1.1 --write-ratio 0.5 --txns 1500 --fabric $fabric --cc record
        records tpcc --warehouses 1 --scale small --txns 400 --fabric $fabric
    }
done
records smallbank --accounts 300 --history-max 1000 --seconds 60 --threads 2
grep -q '"full": true' "$folder/json" && [ "$recorded" -ge 1000 ] && [ "$recorded" -le 1008 ] ||
    fail "--history-max 1000 recorded $recorded"
grep -q "ended when --history-max 1,000 was reached" "$folder/bench" || fail "nothing says that the history was full"
timeout -k 5 240 "$cellar" bench smallbank --accounts 300 --txns 100 --json "$folder/json" >"$folder/out" && grep -q '"history": null' "$folder/json" ||
    fail "without --history the JSON has one"

# ---- a file that needs more memory than it may take: the same verdict, from slices on disk ----

records tpcc --warehouses 1 --scale small --txns 400
for memory in 1G 1M 64K; do
    name="--memory $memory" && check "$folder/h" --memory $memory --json "$folder/json.$memory"
    [ $status -eq 0 ] || fail "$name: exit $status: $(cat "$folder/out" "$folder/err")"
    cmp -s "$folder/json.1G" "$folder/json.$memory" || fail "$name: another verdict: $(diff "$folder/json.1G" "$folder/json.$memory")"
done
name="no room for slices" && TMPDIR=/no/such/folder check "$folder/h" --memory 64K && refuses "TMPDIR may name a folder with room"
name="--memory nothing" && check "$folder/h" --memory 0 && refuses "--memory must be"

# ---- one of several processes ----

"$cellar" memnode --socket "$folder/mn" --bytes 96M >"$folder/mn.out" 2>&1 &
started+=($!)
until_true 60 test -S "$folder/mn" || fail "no socket of a memory node: $(cat "$folder/mn.out")"
for process in 1 0; do
    timeout -k 5 240 "$cellar" bench smallbank --accounts 100 --txns 1000 --threads 1 --memnodes "$folder/mn" --process $process/2 --lease 10 \
        --history "$folder/part$process" --json "$folder/json$process" >"$folder/bench$process" 2>&1 &
    processes[process]=$!
done
for process in 0 1; do
    wait "${processes[process]}" || fail "process $process: $(tail -3 "$folder/bench$process")"
    grep -q "part $process of 2" "$folder/bench$process" && grep -q '"judged": false' "$folder/json$process" ||
        fail "process $process does not say that its history is a part"
done
name="two parts" && check "$folder/part1,$folder/part0"
[ $status -eq 0 ] || fail "two parts: exit $status: $(cat "$folder/out" "$folder/err")"
says "2,000 transactions" "strictly serializable"
name="one part of two" && check "$folder/part0" && refuses "part 0 of 2 of a run"
name="a part twice" && check "$folder/part0,$folder/part0" && refuses "part 0 of 2 is there twice"
name="a part and a whole" && check "$folder/part0,$folder/h" && refuses "no part of a run"
sed 's/bench_clients/others/;s/,"checksum":"[0-9a-f]*"//' "$folder/part1" >"$folder/other"
name="parts with other tables" && check "$folder/part0,$folder/other" && refuses "their tables differ"
sed 's/"run":"[0-9a-f]*"/"run":"1"/;s/,"checksum":"[0-9a-f]*"//' "$folder/part1" >"$folder/other"
name="parts of two runs" && check "$folder/part0,$folder/other" && refuses "their run numbers differ"

# ---- of processes that die ----

# The bug of a run that is alone: what it had recorded is there, and is in order; the next run of that name is.
timeout -k 5 240 "$cellar" bench smallbank --accounts 300 --seconds 60 --threads 2 --history "$folder/dead" >"$folder/bench" 2>&1 </dev/null &
pid=$!
until_true 60 child $pid busy || fail "a run to be ended does not begin: $(cat "$folder/bench")"
sleep 0.5
child $pid kill -ABRT
wait $pid 2>/dev/null
[ ! -e "$folder/dead" ] || fail "a run that died has a history"
name="a run that died" && check "$folder/dead.recording" --json "$folder/json"
[ $status -eq 0 ] && grep -q '"died": 1' "$folder/json" || fail "$name: exit $status: $(cat "$folder/out" "$folder/err")"
says "of 1 process that died: what was recorded until then" "strictly serializable"
name="the history of a run that died" && check "$folder/dead" && refuses "but its process left $folder/dead.recording"
head -c 20000 "$folder/dead.recording" >"$folder/bad"
name="a recording cut off" && check "$folder/bad" && refuses "a recording that is damaged"
timeout -k 5 240 "$cellar" bench smallbank --accounts 300 --txns 100 --history "$folder/dead" >"$folder/bench" 2>&1 </dev/null || fail "after it: $(cat "$folder/bench")"
[ ! -e "$folder/dead.recording" ] || fail "a recording outlives its history"

# One of three is killed, and the others go on: its part is what it had recorded, and the pool at rest tells of its
# writes, too.
"$cellar" memnode --socket "$folder/mn3" --bytes 300M >"$folder/mn.out" 2>&1 &
started+=($!)
until_true 60 test -S "$folder/mn3" || fail "no socket of a memory node: $(cat "$folder/mn.out")"
for process in 0 1 2; do
    timeout -k 5 240 "$cellar" bench smallbank --accounts 300 --seconds 2 --threads 1 --memnodes "$folder/mn3" --process $process/3 --survive \
        --lease 10 --history "$folder/of$process" --json "$folder/json$process" >"$folder/bench$process" 2>&1 </dev/null &
    processes[process]=$!
done
until_true 100 grep -qs "all 3 processes run" "$folder/bench1" || fail "three processes do not begin: $(cat "$folder"/bench[012])"
sleep 0.2
child "${processes[1]}" kill -KILL
wait "${processes[1]}" 2>/dev/null
for process in 0 2; do
    wait "${processes[process]}" || fail "process $process: $(tail -3 "$folder/bench$process")"
done
name="one of three was killed" && check "$folder/of0,$folder/of1.recording,$folder/of2" --json "$folder/json"
[ $status -eq 0 ] || fail "$name: exit $status: $(cat "$folder/out" "$folder/err")"
says "of 1 process that died" "strictly serializable, and the pool at rest is what the last versions say"
sed 's/"run":"[0-9a-f]*"/"run":"1"/;s/,"checksum":"[0-9a-f]*"//' "$folder/of2" >"$folder/other"
name="a recording of another run" && check "$folder/of0,$folder/of1.recording,$folder/other" && refuses "their run numbers differ"

# ---- files that are none ----

records smallbank --accounts 20 --txns 40 --threads 1
lines=$(wc -l <"$folder/h") bytes=$(wc -c <"$folder/h")

# bad NAME TEXT: the file $folder/bad is refused with that text.
bad() {
    name=$1
    check "$folder/bad"
    refuses "$2"
}
# torn NAME: the file $folder/bad breaks off, which is said, and is in order up to there.
torn() {
    name=$1
    check "$folder/bad" --json "$folder/json"
    [ $status -eq 0 ] && [ ! -s "$folder/err" ] && grep -q '"torn": true' "$folder/json" || fail "$name: exit $status: $(cat "$folder/out" "$folder/err")"
    says "the file breaks off at line" "as far as the history goes"
}
head -n $((lines - 1)) "$folder/h" >"$folder/bad" && torn "the end cut off"
head -n 5 "$folder/h" >"$folder/bad" && torn "lines cut off"
head -c $((bytes / 2)) "$folder/h" >"$folder/bad" && torn "cut within a line"
head -c 20 "$folder/h" >"$folder/bad" && bad "cut within the header" "not a history of Cellar"
: >"$folder/bad" && bad "an empty file" "the file is empty"
head -c 100000 "$cellar" >"$folder/bad" && bad "a program" "not a history of Cellar"
echo '{"results":[1,2,3]}' >"$folder/bad" && bad "foreign JSON" "not a history of Cellar"
echo '[]' >"$folder/bad" && bad "a JSON list" "not a history of Cellar"
{ head -n 3 "$folder/h" && echo '{"txn":nonsense' && tail -n 1 "$folder/h"; } >"$folder/bad" && bad garbage ":4: not a JSON object"
sed '1s/"cellar_history":2/"cellar_history":7/' "$folder/h" >"$folder/bad" && bad "a newer version" "version 7 of the format"
sed '4s/committed/maybe/' "$folder/h" >"$folder/bad" && bad "an unknown outcome" ":4: \"outcome\" must be"
sed '4d' "$folder/h" >"$folder/bad" && bad "a line missing" "the end says 40"
sed '4s/"begin":/"begin":-/' "$folder/h" >"$folder/bad" && bad "a negative time" "\"begin\" must be a whole number"
sed 's/"coordinator":0/"coordinator":1/' "$folder/h" >"$folder/bad" && bad "an edited file" "the checksum is wrong"
head -c 20000000 /dev/zero >"$folder/bad" && bad "zeros" "not a history of Cellar"
name="a folder" && check "$folder" && refuses "$folder"

# ---- bytes flipped and cut off, at places that differ but are the same each time ----

RANDOM=7
for round in $(seq 60); do
    at=$(((RANDOM * 32768 + RANDOM) % bytes))
    name="round $round, byte $at"
    if [ $((round % 2)) -eq 0 ]; then
        head -c $at "$folder/h" >"$folder/bad"
    else
        { head -c $at "$folder/h" && printf '%b' "\\x$(printf %02x $((RANDOM % 256)))" && tail -c +$((at + 2)) "$folder/h"; } >"$folder/bad"
        cmp -s "$folder/h" "$folder/bad" && continue
    fi
    check "$folder/bad"
    if [ $((round % 2)) -eq 0 ] && [ "$(wc -l <"$folder/bad")" -gt 0 ]; then torn "$name"; else refuses "cellar check: "; fi
done

[ $failures -eq 0 ] && echo "histories are recorded, read and judged as they should be"
[ $failures -eq 0 ]
