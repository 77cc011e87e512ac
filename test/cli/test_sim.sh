#!/bin/bash
# test_sim.sh [CELLAR] - `cellar sim` as its users call it: wrong usage, impossible plans, replay of a seed, interrupts,
# a process that crashes.
set -u
source "$(dirname "$0")/prelude.sh"
subcommand=(sim)

# ---- names and numbers
refused "--workload knows no 'tpcd'" --workload tpcd
refused "--schedule knows no 'fifo'" --schedule fifo
refused "--nic knows no 'cx9'; it takes one of: cx" --nic cx9
refused "--cc knows no 'mvcc'" --cc mvcc
refused "--en-bits knows no '5'" --en-bits 5
refused "unknown option '--histories'" --histories x
refused "unexpected argument 'now'" now
refused "--keep-going takes no value" --keep-going=yes
refused "--jobs must be from 1" --jobs 0
refused "--roll needs a whole number" --roll -1
refused "lightning" --plant lightning

# ---- seeds
for seeds in 5 5.. ..5 a..b 1...5 -1..5 1..5x 99999999999999999999999..99999999999999999999999; do
    refused "--seeds needs a range such as 1..100, not '$seeds'" --seeds=$seeds
done
refused "the second number is less" --seeds 5..1
refused "seeds begin at 1" --seeds 0..5
refused "at most 100000000 seeds" --seeds 1..100000001
refused "--seed must be at least 1" --seed 0
refused "--seed needs a whole number" --seed one
refused "--seed and --seeds exclude each other" --seed 1 --seeds 1..2

# ---- faults
for faults in rain=0.1 delay=0.1,rain=0.1 delay= =0.1 delay delay=0.1,,not_run=0.1 delay=0.1, delay=2 delay=-1 delay=nan delay=1e999 delay=0.1x \
    delay=+0.1 cn_crash_of_a_name_that_is_longer_than_any_name_of_a_fault_can_be=0.1; do
    refused "faults are none, or NAME=RATE,... with a rate from 0 to 1 and names that cellar sim --help lists, or all" --faults "$faults"
done
refused "--faults needs a value that is not empty" --faults ""

# ---- impossible clusters
refused "--replicas 2 needs at least 3 memory nodes; there are 2" --replicas 2 --mns 2
refused "--cns must be from 1 to 255, not 0" --cns 0
refused "--cns must be from 1 to 255" --cns 256
refused "--mns must be from 1 to 64, not 0" --mns 0
refused "--mns must be from 1 to 64" --mns 65
refused "--threads must be from 1" --threads 0
refused "--coros must be from 1" --coros 257
refused "coordinators (--cns x --threads x --coros) are too many" --cns 255 --threads 256 --coros 256
refused "--txns must be from 1" --txns 0
refused "fewer than 2^31 in all" --txns 1000000000
grep -q "^MemTotal: *[0-9]\{9\}" /proc/meminfo || # below 95 GiB
    refused "of memory; the machine has" --workload tpcc --mns 64 --replicas 63 --seed 1

# ---- lists of what is left out
for list in x 1,x 1, ,1 5-3 3,3 5,4 1- 0-5000 -1 99999999999; do
    refused "--drop-txns needs at most 4096 ascending numbers" --seed 1 --drop-txns="$list"
done
refused "--drop-txns names transaction 99999999; this seed has" --seed 1 --drop-txns 99999999
for list in rain delay: delay:x delay:1- delay:5-3 delay,, ,delay delay:1,rain:2; do
    refused "--drop-faults needs names and numbers" --seed 1 --drop-faults "$list"
done
refused "belong to one --seed" --seeds 1..2 --drop-txns 0
refused "belong to one --seed" --seeds 1..2 --drop-faults delay

# ---- files
refused "/no/such/folder/x cannot be written" --json /no/such/folder/x
refused "/no/such/folder/x cannot be written" --trace-hashes /no/such/folder/x
refused "cannot both go to '-'" --json - --trace-hashes -

# ---- a seed, and what is reported of it
timeout -k 5 240 "$cellar" sim --workload cells --seed 1 --en-bits 16 --json - >"$folder/json" 2>"$folder/err" </dev/null ||
    fail "seed 1: exit $?: $(cat "$folder/err")"
for name in workload first last seeds failed committed without_effect indeterminate verbs elapsed_s virtual_s faults failures interrupted trace_hash; do
    grep -q "^  \"$name\": " "$folder/json" || fail "the JSON summary lacks $name"
done
timeout -k 5 240 "$cellar" sim --workload cells --seed 1 --en-bits 16 --trace-hashes "$folder/hashes" >"$folder/out" 2>&1 </dev/null
hash=$(sed 's/^1 //' "$folder/hashes")
grep -q "^  \"trace_hash\": \"$hash\"" "$folder/json" && grep -q "^trace hash    $hash$" "$folder/out" ||
    fail "three trace hashes of one seed: $hash, $(grep trace "$folder/json" "$folder/out")"

# ---- its history, which a checker judges as the simulator did: of each workload, and where compute nodes and memory
# nodes are lost for good
refused "--history belongs to one --seed" --history "$folder/h"
refused "/no/such/folder/x" --seed 1 --history /no/such/folder/x
# history ARGUMENTS...
history() {
    rm -f "$folder/h"
    timeout -k 5 240 "$cellar" sim "$@" --txns 40 --en-bits 16 --history "$folder/h" --json "$folder/json" >"$folder/out" 2>&1 </dev/null ||
        fail "sim $* --history: exit $?: $(cat "$folder/out")"
    timeout -k 5 240 "$cellar" check --history "$folder/h" --json "$folder/verdict" >"$folder/out" 2>&1 </dev/null ||
        fail "check of sim $*: exit $?: $(cat "$folder/out")"
    [ "$(sed -n 's/^  "committed": \([0-9]*\),*$/\1/p' "$folder/json")" -le "$(sed -n 's/^  "txns": \([0-9]*\),*$/\1/p' "$folder/verdict")" ] ||
        fail "sim $*: not all transactions are in its history"
}
for workload in cells smallbank ycsb; do history --workload $workload --seed 3; done
history --workload cells --seed 8 --cc cell --cns 3 --threads 2 --coros 2 --faults cn_crash=2e-3
grep -q '"cn_crash": [1-9]' "$folder/json" && grep -q '"indeterminate"' "$folder/h" || fail "no crash in the history: $(cat "$folder/json")"
history --workload cells --seed 4 --cns 2 --replicas 0 --mns 2 --faults mn_crash=1e-3
grep -q '"mn_crash": [1-9]' "$folder/json" && grep -q '"nodes_lost":true' "$folder/h" || fail "no memory node was lost: $(cat "$folder/json")"
first=$(cksum <"$folder/h")
history --workload cells --seed 4 --cns 2 --replicas 0 --mns 2 --faults mn_crash=1e-3
[ "$first" = "$(cksum <"$folder/h")" ] || fail "a seed has left two histories"

# ---- Ctrl-C and crashes: a seed that lasts
children() { cat /proc/"$1"/task/"$1"/children 2>/dev/null; }
begun() { child=$(children $pid) && [ -n "$child" ]; }
start() { # ARGUMENTS...: in the background; its process is $pid, one of its children $child
    "$cellar" sim --workload cells --seeds 1..3 --no-shrink --txns 500000 --faults none --schedule time --en-bits 16 "$@" \
        >"$folder/out" 2>"$folder/err" </dev/null &
    pid=$! child=
    until_true 60 begun
    sleep 1
    [ -n "$child" ] || fail "no child process was started"
}
gone() {
    until_true 60 ended "$1" && return
    fail "process $1 outlives cellar sim"
    kill -9 "$1"
}

start --jobs 2
kill -INT $pid
wait $pid
status=$?
[ $status -eq 0 ] && [ ! -s "$folder/err" ] && grep -q "^ *interrupted$" "$folder/out" && grep -q "^transactions " "$folder/out" ||
    fail "interrupted: exit $status: $(cat "$folder/out" "$folder/err")"
if grep -q "^trace hash" "$folder/out"; then fail "an interrupted run has a trace hash"; fi
for process in $child; do gone "$process"; done

start --jobs 2
kill -KILL $pid
wait $pid 2>/dev/null
for process in $child; do gone "$process"; done

start --jobs 1
kill -SEGV $child
wait $pid
status=$?
[ $status -eq 1 ] && grep -q "seed 1: crash" "$folder/out" && grep -q "the process ended with " "$folder/out" &&
    grep -q "^  replay   cellar sim --workload cells --seed 1 .*--txns 500000" "$folder/out" && grep -q ", 1 failed$" "$folder/out" ||
    fail "a child was killed: exit $status: $(cat "$folder/out" "$folder/err")"

# What it had recorded stays, and is judged.
"$cellar" sim --workload cells --seed 1 --no-shrink --txns 500000 --faults none --schedule time --en-bits 16 --history "$folder/dead" \
    >"$folder/out" 2>&1 </dev/null &
pid=$! child=
until_true 60 begun && until_true 60 test -s "$folder/dead.recording"
sleep 1
kill -SEGV "$child"
wait $pid
[ ! -e "$folder/dead" ] || fail "a seed that crashed has a history"
timeout -k 5 240 "$cellar" check --history "$folder/dead.recording" >"$folder/out" 2>&1 </dev/null && grep -q "1 process that died" "$folder/out" ||
    fail "what a crashed seed has left: exit $?: $(cat "$folder/out")"

# ---- on a terminal: how far, how fast, how long still
if ! command -v script >/dev/null || ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    echo "no pseudo-terminal is to be had: the line of progress is not looked at"
else
    script -qec "$cellar sim --workload cells --seeds 1..120 --jobs 1 --en-bits 16 --faults none --cns 2 --threads 1 --coros 2 --txns 200" "$folder/typescript" >/dev/null 2>&1 </dev/null ||
        fail "on a terminal: exit $?"
    grep -qaE 'seeds [0-9,]+ / 120   [0-9.]+ seeds/s   .* verbs/s   .* committed   .* faults   ETA ([0-9]+ s|-)' "$folder/typescript" ||
        fail "no progress on a terminal: $(cat "$folder/typescript")"
    # A narrow one: no line is wider than it.
    script -qec "stty cols 30; $cellar sim --workload cells --seeds 1..120 --jobs 1 --en-bits 16 --faults none --cns 2 --threads 1 --coros 2 --txns 200" \
        "$folder/typescript" >/dev/null 2>&1 </dev/null || fail "on a narrow terminal: exit $?"
    widest=$(tr '\r' '\n' <"$folder/typescript" | grep -a '^ *seeds .*\[K' | sed 's/\x1b\[K.*//' | awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }')
    [ "$widest" -gt 10 ] && [ "$widest" -le 29 ] || fail "on a terminal of 30 columns the line has $widest"
fi

[ $failures -eq 0 ] && echo "cellar sim is as it should be"
[ $failures -eq 0 ]
