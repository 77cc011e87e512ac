#!/bin/bash
# test_shell.sh [CELLAR] - `cellar shell`, `dump` and `load` as their users call them: commands from a pipe and on a
# terminal, transactions that meet another process's, a million rows, files that are wrong, a dump beside transfers.
set -u
source "$(dirname "$0")/prelude.sh"
pool=$folder/bank.pool

# shell TEXT [OPTIONS...]: its commands; the status is left in $status.
shell() {
    local text=$1
    shift
    printf '%s\n' "$text" | timeout -k 5 240 "$cellar" shell "$@" >"$folder/out" 2>"$folder/err"
    status=$?
}

# run ARGUMENTS...
run() {
    timeout -k 5 240 "$cellar" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
}

# ends NAME STATUS TEXT...: and output and messages together have each line.
ends() {
    local name=$1 wanted=$2 text
    shift 2
    [ $status -eq "$wanted" ] || fail "$name: exit $status, wanted $wanted: $(cat "$folder/out" "$folder/err" | head -c 2000)"
    for text in "$@"; do
        cat "$folder/out" "$folder/err" | grep -qxE -- "$text" || fail "$name: wanted '$text', got: $(cat "$folder/out" "$folder/err" | head -c 2000)"
    done
}

# ---- commands ----

schema='create table accounts rows 20000 ordered key:u64:key cents:i64 owner:fixed32
create index accounts by_owner unique -owner
create index accounts by_cents cents covering owner
create table places rows 65536 lat:f64:key zone:i16:key code:fixed4 a:u16@3 b:bytes30@3 doc:bytes
create table words rows 1000 word:bytes64:key n:i32'
shell "$schema" "$pool" --create 64M
ends "create" 0
shell "schema" "$pool"
ends "schema" 0
[ "$(cat "$folder/out")" = "$schema" ] || fail "the schema is not what was created: $(cat "$folder/out")"

shell 'insert accounts 17 cents=-5 owner="Ada ""L"" \x00b"   # a comment
insert accounts 18 owner=Bob
get accounts 17
put accounts 18 cents=7
scan accounts by_owner from Bob to Ada limit 5
scan accounts from 18
scan accounts backward limit 1
delete accounts 17
scan accounts
insert words hello n=3
get words hello
put words hello n=4
scan words
delete words hello
insert places 1.5 -3 b="two words" doc=long
insert places -0.25 4 code=abc a=7
put places 1.5 -3 doc=longer
get places 1.5 -3
scan places
tables
stats
stats accounts' "$pool"
ends "commands" 0 '17: cents=-5 owner="Ada ""L"" \\x00b"' '18: cents=7 owner=Bob' '1 rows; there may be more: raise limit' \
    'hello: n=3' 'hello: n=4' '1.5 -3: code="" a=0 b="two words" doc=longer' '-0.25 4: code=abc a=7 b="" doc=""' \
    'accounts .*3 columns, key key, ordered, 2 indexes, for about 20000 rows' 'words .*key word, 0 indexes.*' \
    'places .*key lat, zone, 0 indexes.*' 'committed +[12][0-9], .*' 'memory .*of 64.0 MiB in use' 'records +1' \
    'read +[0-9]+ records here, [0-9]+ written, [1-9] inserted, [0-9] deleted'
[ "$(grep -c '^18:' "$folder/out")" -eq 4 ] || fail "scans: $(cat "$folder/out")"

shell 'begin
put accounts 18 cents=1
get accounts 18
abort
get accounts 18
begin read-only
get accounts 18
commit
explain get accounts 18
explain put accounts 18 cents=9
explain scan accounts by_owner' "$pool"
ends "transactions" 0 'aborted' 'committed' 'index +hash index of accounts' 'kept beside  key' 'index +ordered: by_owner' \
    'round trips  [1-9]' 'verbs .*READ.*'
[ "$(grep '^18' "$folder/out" | cut -d' ' -f2 | tr '\n' ' ')" = "cents=1 cents=7 cents=7 cents=7 cents=9 " ] || fail "what transactions show: $(cat "$folder/out")"

# indexes and orders that come later, and what is dropped
shell 'create table plain rows 50 id:i32:key a:u8 b:bytes
insert plain -7 a=5 b=x
insert plain 3 a=4
scan plain limit 2
create order plain
create index plain by_a a
scan plain
scan plain by_a backward
drop index plain by_a
schema plain
drop table plain
tables' "$folder/altered.pool" --create 16M
ends "later" 0 '-7: a=5 b=x' '3: a=4 b=""' 'create table plain rows 50 ordered id:i32:key a:u8 b:bytes'
[ "$(grep -c '^-7' "$folder/out")" -eq 3 ] && ! grep -q '^plain' "$folder/out" || fail "later: $(cat "$folder/out")"
odd='create table "two words" rows 50 "a key:u8:key" b:c:i64 -d:bytes10 "e e:u8"
create index "two words" "by d" b:c covering "e e"'
shell "$odd" "$folder/altered.pool"
shell schema "$folder/altered.pool"
[ "$(cat "$folder/out")" = "$odd" ] || fail "odd names: $(cat "$folder/out" "$folder/err")"
shell 'insert "two words" 3 b:c=-4 "-d=x y" "e e=1"
get "two words" 3' "$folder/altered.pool"
ends "odd names" 0 '3: b:c=-4 -d="x y" e e=1'
shell "create table plain id:i32:key a:u8" "$folder/altered.pool"
for line in 'create table t a:u8' 'create table t a:u7:key' 'create table t a:bytes' 'create table t a:fixed:key' 'create table t a:bytes0:key' \
    'create table t a:u64:key b:u8@21' 'create table t a:u64:key a:u8' 'create table t a:u64:key b:f16' 'create table plain id:i32:key a:u16' \
    'create index plain i' 'create index plain i nose' 'create index plain i b covering' 'create order nothing' 'create view plain' \
    'drop table nothing' 'drop index plain i' 'drop index plain' 'drop table plain i' 'drop view plain'; do
    shell "$line" "$folder/altered.pool"
    ends "$line" 2 'cellar shell: line 1: .*'
done

# what is wrong ends the shell, unless it is to go on; nothing of an open transaction stays
shell 'begin
put accounts 18 cents=2
get accounts 99' "$pool"
ends "a failure" 2 'cellar shell: line 3: no record has this key: table accounts, key 99'
shell 'begin
put accounts 18 cents=2' "$pool"
ends "an open end" 2 'cellar shell: the last transaction was not committed, and is undone'
shell 'nonsense
get accounts
put accounts 18 cents
put accounts 18 cents=1 cents=2
put accounts 18 cent=1
put accounts 18 cents=1.5
put accounts 18 key=3
insert accounts 18
insert accounts -1
get places 1.5
get accounts 18 19
put accounts 18
delete accounts 99
scan accounts nowhere
scan accounts limit 0
scan words from a
commit
begin twice
get nothing 1
get accounts "18
create table t cents
create table accounts rows 5 key:u64:key cents:i32
create index accounts by_nothing nothing
scan places from 1
explain explain get accounts 18
begin read-only
put accounts 18 cents=5
get accounts 18' "$pool" --keep-going
ends "wrong commands" 2 "cellar shell: line 1: unknown command 'nonsense' .see help." 'cellar shell: line 2: wanted: get TABLE KEY .*' \
    "cellar shell: line 3: 'cents' is not COLUMN=VALUE" 'cellar shell: line 4: cents is given twice' \
    "cellar shell: line 5: no column 'cent': there is key, cents, owner" "cellar shell: line 6: cents: '1.5' is no whole number" \
    'cellar shell: line 7: key is in the key: .*' 'cellar shell: line 8: a record .*exists already.*' "cellar shell: line 9: key: '-1' is below zero" \
    'cellar shell: line 10: the key of places has 2 columns' 'cellar shell: line 11: more words than the key of accounts has columns' \
    'cellar shell: line 12: wanted: put .*' 'cellar shell: line 13: no record has this key: table accounts, key 99' \
    "cellar shell: line 14: 'nowhere' is no index.*" 'cellar shell: line 15: limit: 1 to 65536' 'cellar shell: line 16: .*no order: no range' \
    'cellar shell: line 17: no transaction is open' "cellar shell: line 18: 'twice' is not read-only" \
    "cellar shell: line 19: there is no table 'nothing'" 'cellar shell: line 20: a quote is not closed' \
    "cellar shell: line 21: 'cents' is not COLUMN:TYPE.*" 'cellar shell: line 22: table accounts, column cents.*' "cellar shell: line 23: .*nothing.*" \
    'cellar shell: line 24: .*no order: no range' 'cellar shell: line 25: .*' 'cellar shell: line 27: .*read-only.*' '18: cents=9 owner=Bob'
[ "$(wc -l <"$folder/err")" -eq 27 ] || fail "27 commands are wrong: $(cat "$folder/err")"
run shell "$pool" --command 'get accounts 18'
ends "--command" 0 '18: cents=9 owner=Bob'

subcommand=(shell)
refused "name a pool file"
refused "No such file" "$folder/none"
refused "is there already" "$pool" --create 16M
refused "--cn is for --memnodes" "$pool" --cn 3
refused "unexpected argument 'more'" "$pool" more
refused "no regular file" /dev/null
subcommand=()

# on a terminal: completion of commands, tables, columns; errors end nothing
if command -v python3 >/dev/null; then
    ldd "$cellar" 2>/dev/null | grep -q libedit && edits=1 || edits=0
    CELLAR_EDITS=$edits timeout -k 5 120 python3 "$(dirname "$0")/terminal.py" "$cellar" "$pool" "$folder" >"$folder/out" 2>&1 || fail "on a terminal: $(cat "$folder/out")"
fi

# ---- dump and load ----

awk 'BEGIN { print "owner,cents,key"; for (i = 0; i < 5000; i++) printf "\"%d, \"\"q\"\"\nnext\",%d,%d\n", i, i * 7 - 9999, i + 100 }' >"$folder/in.csv"
run load "$pool" accounts --in "$folder/in.csv"
ends "load" 0 '5000 rows loaded'
run dump "$pool" accounts --out "$folder/rest.csv"
ends "dump" 0 '5001 rows'
run dump "$pool" accounts --index key --out "$folder/rows.jsonl"
ends "dump by an index" 0 '5001 rows'
run dump "$pool" accounts --index by_owner --out "$folder/owners.csv"
ends "dump by a unique index" 0 '5001 rows'
run dump "$pool" accounts --index by_cents --out "$folder/cents.csv"
ends "dump by an index with equals" 0 '5001 rows'
cmp <(sort "$folder/rest.csv") <(sort "$folder/cents.csv") || fail "dumps by an index with equals and at rest differ"
cmp <(sort "$folder/rest.csv") <(sort "$folder/owners.csv") || fail "dumps by index and at rest differ"
shell "$schema" "$folder/other.pool" --create 64M
timeout 60 "$cellar" dump "$pool" accounts --format json | timeout 60 "$cellar" load "$folder/other.pool" accounts --format json 2>"$folder/err" || fail "through a pipe: $(cat "$folder/err")"
run dump "$folder/other.pool" accounts --index key --out "$folder/again.jsonl"
cmp "$folder/rows.jsonl" "$folder/again.jsonl" || fail "a table that was dumped and loaded is another one"
shell 'explain get accounts 100' "$folder/other.pool"
ends "after a load" 0 '100: .*'

# nothing of a file that is wrong is loaded; what is there already is told by line
run load "$pool" accounts --in "$folder/in.csv"
ends "twice" 2 "cellar load: $folder/in.csv:2: .*exists already.*; 0 rows before are loaded"
run dump "$pool" places --format json --out "$folder/places.jsonl"
shell "$schema" "$folder/places.pool" --create 64M
run load "$folder/places.pool" places --in "$folder/places.jsonl"
ends "a wide key, long values" 0 '2 rows loaded'
run dump "$folder/places.pool" places --format json
cmp <(sort "$folder/out") <(sort "$folder/places.jsonl") || fail "a wide key, long values: $(cat "$folder/out")"
{ echo "key,cents,owner"; for i in $(seq 30000 30999); do echo "$i,1,new $i"; done; echo "31000,1,Bob"; } >"$folder/bob.csv"
run load "$pool" accounts --in "$folder/bob.csv"
ends "a unique index" 2 "cellar load: $folder/bob.csv:1002: .*; 1000 rows before are loaded"
head -c 3000 "$folder/in.csv" >"$folder/cut.csv"
run load "$folder/other.pool" words --in "$folder/in.csv"
ends "another table's" 2 "cellar load: $folder/in.csv:1: no column 'owner': there is word, n"
run load "$pool" accounts --in "$folder/cut.csv" --check
ends "cut off" 2 "cellar load: $folder/cut.csv:[0-9]+: .*"
sed 's/"key":300,/"key":-300,/' "$folder/rows.jsonl" >"$folder/bad.jsonl"
shell "$schema" "$folder/third.pool" --create 64M
run load "$folder/third.pool" accounts --in "$folder/bad.jsonl"
ends "a bad row" 2 "cellar load: $folder/bad.jsonl:[0-9]+: key: '-300' is below zero"
run dump "$folder/third.pool" accounts
ends "nothing was loaded" 0 'key,cents,owner'
[ "$(wc -l <"$folder/out")" -eq 1 ] || fail "rows of a file that was refused are there"
run load "$folder/third.pool" accounts --in "$folder/none.csv"
ends "no file" 2 "cellar load: --in .*: No such file or directory"
run dump "$pool" accounts --out "$folder/none/x.csv"
ends "no folder" 2 "cellar dump: .*x.csv.*: No such file or directory"
run dump "$pool" accounts --index nothing
ends "no index" 2 "cellar dump: the table has no index 'nothing'"
run dump "$pool" accounts --kinds owner:hex --format json
ends "kinds" 0 '\{"key":18,"cents":[0-9]+,"owner":"426f62[0]+"\}'
run dump "$pool" accounts --kinds owner:real
ends "a kind that does not fit" 2 "cellar dump: a value of owner is not real"
run dump "$pool" accounts --out "$pool"
ends "onto the pool" 2 "cellar dump: --out cannot be '.*', which is, or is in, what is read"
mkdir -p "$folder/empty"
run dump "$folder/empty" accounts
ends "an empty folder" 2 "cellar dump: .*: it has no pool"
printf '\xef\xbb\xbfkey,cents,owner\r\n77,1,marked\r\n' >"$folder/marked.csv"
run load "$pool" accounts --in "$folder/marked.csv"
ends "a mark before the names" 0 "1 rows loaded"
(ulimit -f 8; run dump "$pool" accounts --out "$folder/full.csv"; ends "a full disk" 2 "cellar dump: .*full.csv: File too large") || fail "a full disk"
mkfifo "$folder/pipe"
run dump "$pool" accounts --out "$folder/pipe"
ends "a pipe" 2 "cellar dump: .*pipe is there already, and no regular file"
[ ! -e "$folder/full.csv" ] && [ ! -e "$folder/full.csv.partial" ] || fail "a dump that failed has left its file"

# many rows: batches, both passes
rows=$((10000 * share))
seq 1 "$rows" | awk 'BEGIN { print "key,cents,owner" } { print $1 ",-" $1 ",owner " $1 }' >"$folder/many.csv"
shell "create table accounts rows $rows key:u64:key cents:i64 owner:fixed32" "$folder/many.pool" --create 512M
run load "$folder/many.pool" accounts --in "$folder/many.csv"
ends "many rows" 0 "$rows rows loaded"
run dump "$folder/many.pool" accounts --out "$folder/back.csv"
ends "many rows" 0 "$rows rows"
cmp <(sort "$folder/many.csv") <(sort "$folder/back.csv") || fail "many rows: not what was loaded"
run check "$folder/many.pool"
[ $status -eq 0 ] || fail "check: $(cat "$folder/out" "$folder/err")"

# ---- beside transactions of another process ----

"$cellar" memnode --socket "$folder/mn" --bytes 512M >"$folder/mn.out" 2>&1 &
started+=($!)
until_true 20 test -S "$folder/mn" || fail "no memory node: $(cat "$folder/mn.out")"
run bench smallbank --accounts 100 --txns 100 --threads 1 --memnodes "$folder/mn"
ends "a pool in memory nodes" 0
shell "tables" --memnodes "$folder/mn" --cn 3
ends "a benchmark's tables" 0 '[a-z]+ has no typed columns: its program alone can read it'
shell 'create table coretable rows 20000 ordered id:u64:key n:i64
create table unordered rows 100 id:u64:key' --memnodes "$folder/mn" --cn 3
seq 3000 | awk 'BEGIN { print "id,n" } { print $1 ",0" }' >"$folder/core.csv"
run load coretable --memnodes "$folder/mn" --cn 3 --in "$folder/core.csv"
ends "rows in memory nodes" 0 '3000 rows loaded'
seq 3001 2000000 | awk '{ print "insert coretable " $1; print "put coretable " 1 + $1 % 3000 " n=" $1 }' |
    "$cellar" shell --memnodes "$folder/mn" --cn 1 >"$folder/writer.out" 2>&1 &
writer=$!
started+=("$writer")
until_true 60 busy "$writer" || fail "no transactions: $(cat "$folder/writer.out")"
# It is torn whenever the other process writes meanwhile, which that one may not always come to.
torn() {
    run dump coretable --memnodes "$folder/mn" --cn 3
    [ $status -ne 0 ]
}
until_true 100 torn
ends "at rest, beside transactions" 2 "cellar dump: transactions change the pool: name an index with --index, to read in batches beside them"
[ -s "$folder/out" ] && fail "a dump that failed has written"
run dump unordered --memnodes "$folder/mn" --cn 3 --index key
ends "no order" 2 "cellar dump: the table has no index 'key'"
run dump coretable --memnodes "$folder/mn" --cn 3 --index key --out "$folder/beside.jsonl"
ends "in batches, beside transactions" 0 '[0-9]+ rows'
cut -d, -f1 "$folder/beside.jsonl" | sort >"$folder/keys"
[ "$(wc -l <"$folder/keys")" -ge 3000 ] || fail "a dump beside inserts lacks rows: $(wc -l <"$folder/keys")"
[ "$(wc -l <"$folder/keys")" -eq "$(sort -u "$folder/keys" | wc -l)" ] || fail "a dump beside inserts has a row twice: $(uniq -d "$folder/keys" | head -3)"
shell "begin
scan coretable limit 3
commit" --memnodes "$folder/mn" --cn 3
[ $status -eq 0 ] || grep -q "the transaction is over, without effect\|commit" "$folder/err" || fail "beside transactions: $(cat "$folder/out" "$folder/err")"
kill -0 "$writer" || fail "who wrote meanwhile has ended: $(cat "$folder/writer.out")"

exit $((failures > 0))
