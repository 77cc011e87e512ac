#!/bin/bash
# cellar-peers, without a look at its rates: each store that was built runs a few thousand transactions of each work, in
# memory and durable, and what they leave is checked; a check that fails is told; JSON; bad flags and help. What is left
# in its folders afterwards: nothing.
set -u
source "$(dirname "$0")/prelude.sh"
peers=${CELLAR_BUILD:?}/cellar-peers
grep -qE '^TSAN:BOOL=(ON|1|TRUE)' "$CELLAR_BUILD/CMakeCache.txt" && { echo "TSan knows nothing of the stores' libraries: skipped"; exit 77; }
[ -x "$peers" ] || { echo "cellar-peers is not built"; exit 1; }
mkdir "$folder/memory" "$folder/disk" || exit 2
few=(--rounds 1 --records 500 --dir "$folder/memory")

# Every store is there, or says which package it wants; and those which scripts/install-deps.sh installs are there.
"$peers" --list >"$folder/list" || fail "--list: exit $?"
built=$(awk '/^[a-z]/ && !/not built/ { print $1 }' "$folder/list")
for name in $(awk '/not built/ { print $1 }' "$folder/list"); do
    echo "without $name"
    "$peers" read --peers "$name" "${few[@]}" --txns 10 >"$folder/out" 2>"$folder/err"
    [ $? -eq 2 ] && grep -q "Debian's lib[a-z0-9]*-dev was missing" "$folder/err" || fail "$name: its package is not named"
done
for name in cellar session; do grep -qx "$name" <<<"$built" || fail "$name is missing"; done

run() { # ARGUMENTS...: must succeed; its JSON in $folder/json
    timeout -k 5 240 "$peers" "$@" --json "$folder/json" >"$folder/out" 2>"$folder/err" ||
        { fail "$*: exit $?"; tail -n 5 "$folder/err"; cat "$folder/out"; }
}
holding() { # COUNT: so many stores and works have passed their checks, none failed
    [ "$(grep -c '"holds": true' "$folder/json")" -eq "$1" ] && ! grep -q '"holds": false' "$folder/json" ||
        fail "not $1 checks that hold"
}
count=$(wc -w <<<"$built")
run smallbank smallbank-0.99 ycsb-0.99 read --txns 3000 --clients 1,3 "${few[@]}"
holding $((4 * count))
for name in $built; do grep -q "\"name\": \"$name\"" "$folder/json" || fail "the report lacks $name"; done
run smallbank --txns 150 --clients 6 --durable "$folder/disk" --rounds 1 --records 500
holding "$count"
run ycsb --peers cellar --seconds 0.05 --warmup 0.01 --clients 2 "${few[@]}"
holding 1
[ -z "$(find "$folder/memory" "$folder/disk" -mindepth 1)" ] || fail "files are left: $(find "$folder/memory" "$folder/disk" -mindepth 1)"

# Many clients on few records meet each other: a store that loses an update is found.
run ycsb-1.5 smallbank-1.5 --txns 4000 --clients 4 --rounds 2 --records 100 --dir "$folder/memory"
holding $((2 * count))

"$peers" --help >"$folder/out" && grep -q -- --durable "$folder/out" || fail "--help"
bad() { # TEXT ARGUMENTS...: exit 2, one line
    local text=$1
    shift
    timeout -k 5 60 "$peers" "$@" >"$folder/out" 2>"$folder/err"
    [ $? -eq 2 ] && [ ! -s "$folder/out" ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -qF -- "$text" "$folder/err" ||
        { fail "$*: not refused with \"$text\""; cat "$folder/err"; }
}
bad 'no work is called "tpcc"' tpcc
bad 'no work is called "ycsb-"' ycsb-
bad 'no work is called "ycsb-2"' ycsb-2
bad 'there is no "oracle"' --peers oracle
bad 'cellar twice' --peers cellar,cellar
bad 'there is no ""' --peers ,
bad 'is not among the stores' --peers cellar --base lmdb
bad '--clients' --peers cellar --clients 0
bad '--clients' --peers cellar --clients 1,x
bad 'takes at most' --peers session --clients 500
bad 'is no folder' --peers cellar --dir "$folder/none"
bad 'is no folder' --peers cellar --durable "$folder/none"
bad '--seconds' --peers cellar --seconds 0
bad 'goes without' --peers cellar --txns 5 --seconds 1
bad '--records' --peers cellar --records 3
bad '--json' --peers cellar --json "$folder/none/x"
[ $failures -eq 0 ]
