#!/bin/bash
# test_lock_processes.sh [CELLAR] - `cellar bench lock` in several processes on one memory node: every algorithm
# excludes between processes, and all locks are idle at the end; processes that do not fit are refused, and an interrupt
# ends a run early, in order.
set -u
source "$(dirname "$0")/../../../test/cli/prelude.sh"

# memnode NAME ARGUMENTS...: starts one and waits for its socket.
memnode() {
    local name=$1
    shift
    "$cellar" memnode --socket "$folder/$name" --bytes 16M "$@" >"$folder/$name.out" 2>"$folder/$name.err" &
    started+=("$!")
    until_true 60 test -S "$folder/$name" && return
    fail "no socket of $name: $(cat "$folder/$name.err")"
}

# starts NAME ARGUMENTS...: in the background, its process is $pid.
starts() {
    local name=$1
    shift
    timeout -k 5 200 "$cellar" bench lock --fabric shm --cns 1 --threads 1 --clients 3 "$@" --json "$folder/$name.json" \
        >"$folder/$name.out" 2>"$folder/$name.err" </dev/null &
    pid=$!
    started+=("$pid")
}

# ends PID STATUS NAME [TEXT]
ends() {
    wait "$1"
    local status=$?
    [ $status -eq "$2" ] || fail "$3: exit $status, wanted $2: $(cat "$folder/$3.err" "$folder/$3.out")"
    if [ "$2" -ne 0 ]; then
        [ "$(wc -l <"$folder/$3.err")" -eq 1 ] && grep -qF -- "$4" "$folder/$3.err" || fail "$3: wanted one line with '$4': $(cat "$folder/$3.err")"
    fi
}

value() { sed -n "s/^  \"$2\": \([-0-9.e+]*\),*$/\1/p" "$folder/$1.json"; }

# ---- every algorithm, three processes -----------------------------------------------------------------------------

names=$("$cellar" list --json | sed -n '/"locks": \[/,/^  \],/p' | sed -n 's/^      "name": "\(.*\)",*$/\1/p')
[ "$(wc -w <<<"$names")" -ge 12 ] || fail "cellar list names too few locks: $names"
for name in $names; do
    memnode "$name" --cns 8
    for i in 0 1 2; do
        starts "$name$i" --lock "$name" --locks 40 --ops 450 --memnodes "$folder/$name" --process $i/3
        pids[i]=$pid
    done
    for i in 0 1 2; do ends "${pids[i]}" 0 "$name$i"; done
    rounds=$(($(value "${name}0" rounds) + $(value "${name}1" rounds) + $(value "${name}2" rounds)))
    [ "$rounds" = 450 ] || fail "$name: $rounds rounds of 450 in all processes"
done

# ---- what does not fit ---------------------------------------------------------------------------------------------

starts again --lock cas --locks 40 --ops 450 --memnodes "$folder/cas" --process 0/3
ends $pid 2 again "has been here already"
memnode other --cns 6
starts other0 --lock cas --ops 300 --memnodes "$folder/other" --process 0/2
one=$pid
starts other1 --lock mcs --ops 300 --memnodes "$folder/other" --process 1/2
ends $pid 2 other1 "other options than this one"
ends $one 2 other0 "process"
starts alone --lock cas --locks 40 --ops 10 --process 0/2
ends $pid 2 alone "--process needs --memnodes"
starts wrong --lock cas --ops 10 --memnodes "$folder/other" --process 2/2
ends $pid 2 wrong "--process needs I/N"
starts crowd --lock cas --ops 10 --memnodes "$folder/other" --process 0/5
ends $pid 2 crowd "allows 6"
starts small --lock cas --locks 10000000 --ops 10 --memnodes "$folder/other" --process 0/2
ends $pid 2 small "locks and objects need"

# ---- both are interrupted ------------------------------------------------------------------------------------------

memnode cut --cns 6
starts cut0 --lock mcs --locks 40 --seconds 100 --memnodes "$folder/cut" --process 0/2
one=$pid
starts cut1 --lock mcs --locks 40 --seconds 100 --memnodes "$folder/cut" --process 1/2
until_true 60 child "$pid" busy && until_true 60 child "$one" busy || fail "they do not run"
pkill -INT -P "$pid"
pkill -INT -P "$one"
ends "$pid" 0 cut1
ends $one 0 cut0

exit $((failures > 0))
