#!/bin/bash
# test_durable_folder.sh - `cellar check DIR` and `cellar inspect DIR`: durable folders that were closed, killed, damaged
# in each of their files, mixed up, in use, read-only; they are never changed. durable_folder.c makes them.
set -u
source "$(dirname "$0")/prelude.sh"
build=${CELLAR_BUILD:?} source_folder=$(cd "$(dirname "$0")/../.." && pwd)

[ -e "$build/libcellar.so" ] || { echo "needs the shared library of this machine: skipped"; exit 77; }
maker=$folder/durable_folder
${CC:-cc} -std=gnu11 -O1 -Wall -Wextra $(sanitizer_flags "$build") -I"$source_folder/include" "$source_folder/test/cli/durable_folder.c" \
    -o "$maker" -L"$build" -lcellar -Wl,-rpath,"$build" -pthread || exit 1

# state: names, sizes, times and bytes of $dir.
state() { (cd "$dir" && stat -c '%a %y' . && ls -lAn --full-time && cat ./* | sha256sum) 2>/dev/null; }

made() { timeout -k 5 240 "$maker" "$@" >"$folder/made" 2>&1 || { fail "durable_folder $*: $(cat "$folder/made")"; exit 1; }; }

# run NAME ARGUMENTS...: the status is left in $status; $dir is as it was.
run() {
    name=$1
    shift
    local before
    before=$(state)
    timeout -k 5 240 "$cellar" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    [ "$(state)" = "$before" ] || fail "$name: the folder has changed"
}

# work FOLDER: a copy of it in $dir, for one damage.
work() {
    dir=$folder/work
    rm -rf "$dir"
    cp -a "$1" "$dir"
}

flip() { # FILE OFFSET: one bit, in $dir
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$dir/$1")
    printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$dir/$1" bs=1 seek="$2" conv=notrunc status=none
}

# damaged NAME FOLDER FILE OFFSET TEXT: a flipped bit is a violation, told in one line with file and offset.
damaged() {
    work "$2"
    flip "$3" "$4"
    run "$1" check "$dir"
    told 1 "^FAIL .*$5"
}

# killed COMMAND...: a process with the folder, killed when it is ready; before that it is in use.
killed() {
    rm -f "$folder/ready"
    "$maker" "$@" >"$folder/ready" 2>&1 &
    local victim=$!
    started+=("$victim")
    until_true 200 grep -qs ^ready "$folder/ready" || fail "$*: $(cat "$folder/ready")"
    refused "$2 is in use by another process" check "$2"
    refused "$2 is in use by another process" inspect "$2"
    kill -9 "$victim"
    wait "$victim" 2>/dev/null
}

# ---- whole ones ----

closed=$folder/closed
made make "$closed" 50
made add "$closed" 50
dir=$closed
run "closed" check "$closed"
told 0 "^ok " "accounts +50 +1 +0 " "^  cellar .*memory node 0 of 16.0 MiB" "wal-0+2 +8.0 MiB  groups [0-9]+ to [0-9]+ up to offset .*; life 2, epochs" \
    "checkpoint-[12] .* does not count: life 2" "checkpoint-[12] .* counts: life 2, .*incarnations to 2" "^  closed; what counts ends with epoch"
run "as JSON" check "$closed" --json "$folder/json"
told 0 "^ok "
for part in '"ok":true' '"files":[{"name":"cellar","bytes":4096,' '"pool_bytes":16777216' '"tables":[{"name":"accounts","records":50,'; do
    tr -d ' \n' <"$folder/json" | grep -qF -- "$part" || fail "the JSON verdict lacks $part: $(cat "$folder/json")"
done
run "inspect" inspect "$closed"
told 0 "16.0 MiB, as an opening restores it" "^  closed; " "checkpoint-[12] .* counts: " "0  free +incarnation 2" "1  accounts .*1 columns in 1 cells"
run "a record" inspect "$closed" --table accounts --key 17
told 0 "record 17 of table accounts at 0x[0-9a-f]+: live" "cents .* = 101$"
run "its log" inspect "$closed" --log 0
told 0 "^  group [0-9]+  life 2  epoch [0-9]+$" "cell +accounts key 17 cell 0, 8 bytes" "^50 entries of compute node 0 in the log"
run "a log of nobody" inspect "$closed" --log 7
told 0 "^0 entries of compute node 7"
before=$(state)
made look "$closed" 50
[ "$(state)" = "$before" ] || fail "pool_private has changed the folder"
grep -q "account 50 has 102" "$folder/made" || fail "looked at: $(cat "$folder/made")"

chmod 400 "$closed"/* && chmod 500 "$closed"
run "rows" dump "$closed" accounts
told 0 "^50,"
refused "which is, or is in, what is read" check "$closed" --json "$closed/verdict"
run "read-only" check "$closed"
told 0 "^ok "
run "inspect a read-only one" inspect "$closed" --table accounts --key 50
told 0 "cents .* = 101$"
chmod 700 "$closed" && chmod 600 "$closed"/*

other=$folder/other
made make "$other" 10
crashed=$folder/crashed
made make "$crashed" 50
killed stay "$crashed" 50
dir=$crashed
run "killed" check "$crashed"
told 0 "^ok " "^  not closed; what counts ends with epoch" "not closed: compute node 0 was recovered" "accounts +50 "
run "inspect a killed one" inspect "$crashed"
told 0 "^  not closed; " "0  live +incarnation 2"
run "what its log has" inspect "$crashed" --table accounts --key 50
told 0 "cents .* = 101$"
made look "$crashed" 50
grep -q "account 50 has 102" "$folder/made" || fail "looked at after a kill: $(cat "$folder/made")"
long=$folder/long
made make "$long" 50
killed fill "$long" 50
dir=$long
run "a long log" check "$long"
told 0 "^ok " "accounts +50 "
[ "$(grep -c " wal-" "$folder/out")" -ge 2 ] || fail "a long log is one file: $(cat "$folder/out")"

# ---- damage: bits in each file ----

wal=wal-0000000000000002
end=$(cd "$closed" && "$cellar" check . | sed -n "s/.*$wal .* up to offset \([0-9]*\);.*/\1/p")
counts=$("$cellar" check "$closed" | sed -n 's/.*\(checkpoint-[12]\) .* counts: .*/\1/p')
beside=checkpoint-$((3 - ${counts#checkpoint-}))
damaged "folder head" "$closed" cellar 20 "cellar, offset 0: "
damaged "head of the log" "$closed" $wal 60 "$wal, offset (0|4096): "
damaged "first group" "$closed" $wal 4200 "$wal, offset 4096: "
damaged "a group amid" "$closed" $wal 40970 "$wal, offset 40960: "
damaged "behind the end" "$closed" $wal $((end + 8192)) "$wal, offset $((end + 8192)): there are bytes behind the end"
for file in "$counts" "$beside"; do
    damaged "head of $file" "$closed" "$file" 40 "$file, offset 0: its head is damaged"
    damaged "table of $file" "$closed" "$file" 4100 "$file, offset 4096: the table of pieces is damaged"
    damaged "a piece of $file" "$closed" "$file" 100000 "$file, offset [0-9]+: a piece is damaged"
done

# The head of the newest checkpoint, which has what was loaded: the other one is restored, and that is said.
loaded=$folder/loaded
made make "$loaded" 50
killed load "$loaded" 50
dir=$loaded
run "loaded" check "$dir"
told 0 "^ok " "accounts +100 "
work "$loaded"
newest=$("$cellar" check "$dir" | sed -n 's/.*\(checkpoint-[12]\) .* counts: .*/\1/p')
flip "$newest" 40
run "a broken head" check "$dir"
told 0 "^ok " "accounts +50 " "$newest .* does not count: its head is damaged, or power failed as it was written" \
    "checkpoint-[12] .* counts: "
run "inspect a broken head" inspect "$dir"
told 0 "$newest .* does not count: its head is damaged"
made add "$dir" 50
grep -qE "^warning: .*$newest: its head is damaged, .*: the other one is restored" "$folder/made" ||
    fail "an older checkpoint is restored, and nothing tells: $(cat "$folder/made")"
grep -qE "^info: restored $dir: [1-9][0-9]* pieces, [0-9]+ entries, in [0-9.]+ s" "$folder/made" ||
    fail "no line says what was restored: $(cat "$folder/made")"
made add "$dir" 50
if grep -q warning "$folder/made"; then fail "a head is called broken that was written since: $(cat "$folder/made")"; fi

# The last group of one that was not closed is a torn tail; of one that was closed, the empty group of its close.
for whole in "$crashed" "$closed"; do
    work "$whole"
    last=$("$cellar" check "$dir" | sed -n "s/.*\(wal-[0-9a-f]*\) .* up to offset \([0-9]*\);.*/\1 \2/p" | tail -n 1)
    flip "${last% *}" $((${last#* } - 4000))
    run "torn tail of $whole" check "$dir"
    told 0 "^ok " "^  not closed: a torn tail" "; 1 blocks behind that do not count"
done

# ---- holes, cuts, what is missing ----

work "$closed"
dd if=/dev/zero of="$dir/$wal" bs=4096 seek=10 count=1 conv=notrunc status=none
run "a hole" check "$dir"
told 1 "$wal, offset 40960: a group is not whole, and later ones are there"
work "$closed"
truncate -s -4096 "$dir/$wal"
run "a log that is cut" check "$dir"
told 1 "$wal, offset [0-9]+: the file has not the length"
work "$closed"
truncate -s 5000 "$dir/$wal"
run "a log that is cut amid a block" check "$dir"
told 1 "$wal, offset 4096: the file is cut off"
work "$closed"
truncate -s 100000 "$dir/$counts"
run "a checkpoint that is cut" check "$dir"
told 1 "$counts, offset 0: the file has not the length"
work "$closed"
truncate -s 100 "$dir/cellar"
run "a head that is cut" check "$dir"
told 1 "cellar has not 4096 bytes"
work "$closed"
rm "$dir/$wal"
run "no log" check "$dir"
told 1 "^FAIL "
work "$closed"
rm "$dir"/checkpoint-*
run "no checkpoint" check "$dir"
told 1 "no checkpoint is whole|is needed"
files=("$long"/wal-*)
middle=$(basename "${files[1]}")
work "$long"
rm "$dir/$(basename "${files[0]}")"
run "the first file is missing" check "$dir"
told 1 "is needed|are missing"
work "$long"
flip "$middle" 30
run "head of a later file" check "$dir"
told 1 "^FAIL .*wal-[0-9a-f]+, offset "

# ---- what is another's ----

work "$closed"
cp "$other/checkpoint-1" "$dir/checkpoint-1"
refused "checkpoint-1 belongs to another folder" check "$dir"
work "$closed"
cp "$other"/wal-* "$dir/$wal"
refused "$wal belongs to another pool or memory node" check "$dir"
work "$closed"
made older "$dir"
refused "written by a build with another layout" check "$dir"
refused "written by a build with another layout" inspect "$dir"
work "$closed"
echo hello >"$dir/notes"
run "a file beside" check "$dir"
told 0 "^ok " "notes .*no file of a folder's"
mkdir "$folder/empty" "$folder/strange"
echo hello >"$folder/strange/notes"
dir=$folder/strange
run "a strange folder" check "$folder/strange"
refused "it is not empty, and no folder of Cellar's" check "$folder/strange"
refused "it is not empty, and no folder of Cellar's" inspect "$folder/strange"
refused "$folder/empty: it has no pool" check "$folder/empty"
refused "$folder/empty: it has no pool" inspect "$folder/empty"
[ -z "$(ls -A "$folder/empty")" ] || fail "an empty folder has files now"
work "$closed"
flip "$counts" 100000
refused "$counts, offset " inspect "$dir"

# ---- several memory nodes ----

three=$folder/three
made make "$three" 50 3 1
killed stay "$three" 50
dir=$three/node-1 # whose bytes `state` looks at
run "three" check "$three"
told 0 "^ok " "^  not closed; what counts ends with epoch" "accounts +50 " \
    "^  node-2/cellar .*memory node 2 of 16.0 MiB, one of 3, with 1 backup$" "^  node-1/wal-0+[12] .* groups " \
    "^  node-0/checkpoint-[12] .* counts: life 2"
run "three, inspected" inspect "$three" --table accounts --key 17
told 0 "memory node [012]: record 17 of table accounts" "cents .* = 101$"
run "three logs" inspect "$three" --log 0
told 0 "^memory node 0$" "^memory node 2$" "cell +accounts key 17 cell 0, 8 bytes"
made add "$three" 50
run "three, closed" check "$three"
told 0 "^ok " "^  closed; what counts ends with epoch"
for node in 0 1 2; do
    work "$three"
    flip "node-$node/cellar" 20
    refused "work/node-$node: durable folder: cellar, offset 0" inspect "$dir"
    work "$three"
    rm -r "$dir/node-$node/"*
    run "three, without node $node" check "$dir"
    told 1 "^FAIL .*/node-$node is empty: if its disk is lost, cellar replace --durable DIR --mn $node fills it"
    work "$three"
    counts=$("$cellar" check "$three" | sed -n "s/.*node-$node.\(checkpoint-[12]\) .* counts: .*/\1/p")
    flip "node-$node/$counts" 100000
    refused "work/node-$node: $counts, offset " inspect "$dir"
    run "three, a flipped bit" check "$dir"
    told 1 "^FAIL .*work/node-$node: $counts, offset "
    work "$three"
    rm "$dir/node-$node/"wal-*
    run "three, without a log" check "$dir"
    told 1 "^FAIL .*/work.*"
done
work "$three"
rm -r "$dir/node-0/"*
refused "node-0 is empty" replace --durable "$dir" --mn 1
name="node 0, filled"
timeout -k 5 240 "$cellar" replace --durable "$dir" --mn 0 >"$folder/out" 2>"$folder/err" </dev/null
status=$?
told 0 "^memory node 0 was filled from backups" "^memory node 0 has all that the lost one had$"
run "three, node 0 filled" check "$dir"
told 0 "^ok " "^  closed; what counts ends with epoch" "accounts +50 "
run "three, node 0 filled, inspected" inspect "$dir" --table accounts --key 17
told 0 "memory node [012]: record 17 of table accounts" "cents .* = 102$"
refused "node-0 keeps memory node 0: only an empty folder is filled" replace --durable "$dir" --mn 0
dir=$three
refused "memory node 3 is unknown: there are 3" replace --durable "$three" --mn 3
refused "name the memory node that was lost: --mn I" replace --durable "$three"
refused "name the pool: --memnodes PATHS, or --durable DIR" replace --durable "$three" --memnodes "$three" --mn 1
refused "--cn is for --memnodes: a folder is opened by one process" replace --durable "$three" --mn 1 --cn 0
refused "memory node 0: only an empty folder is filled" replace --durable "$closed" --mn 0

[ $failures -eq 0 ]
