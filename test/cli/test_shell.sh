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

schema='create table accounts records 20000 cents:8@0 owner:32@1
create index accounts by_key
create index accounts by_owner unique owner:bytes:desc
create index accounts by_cents cents:signed covering owner
create table words records 1000 key word:64 n:4@1'
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
tables
stats
stats accounts' "$pool"
ends "commands" 0 '17: cents=-5 owner="Ada ""L"" \\x00b"' '18: cents=7 owner=Bob' '1 records; there may be more: raise limit' \
    'hello: n=3' 'hello: n=4' 'accounts .*numbers, 3 indexes.*' 'words .*byte strings, 0 indexes.*' \
    'committed +1[0-9], .*' 'memory .*of 64.0 MiB in use' 'records +1' \
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
ends "transactions" 0 'aborted' 'committed' 'index +hash index of accounts' 'kept beside  by_key' 'index +ordered: by_owner' \
    'round trips  [1-9]' 'verbs .*READ.*'
[ "$(grep '^18' "$folder/out" | cut -d' ' -f2 | tr '\n' ' ')" = "cents=1 cents=7 cents=7 cents=7 cents=9 " ] || fail "what transactions show: $(cat "$folder/out")"

# other columns
shell 'create table plain records 50 a:8 b:4
insert plain 1 a=5 b=6
alter table plain add column name:12 "no name"
alter table plain add column n:4 -7
get plain 1
alter table plain drop column b
put plain 1 name=x
get plain 1
schema plain
create table indexed records 50 a:8 b:4
create index indexed by_a a' "$folder/altered.pool" --create 16M
ends "alter" 0 '1: a=5 b=6 name="no name" n=-7' '1: a=5 name=x n=-7' 'create table plain records 50 a:8@0 name:12@1 n:4@2'
for line in 'alter table plain drop column nose' 'alter table plain add column a:8' 'alter table plain add column x:8 y' \
    'alter table plain add column x' 'alter table nothing drop column a' 'alter index plain drop column a' \
    'alter table plain keep column a' 'alter table plain drop row a' 'alter table plain drop column a b' \
    'alter table indexed drop column b' 'alter table plain'; do
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
scan accounts nowhere
scan accounts limit 0
scan words from a
commit
begin twice
get nothing 1
get accounts "18
create table t cents
create table accounts records 5 cents:4
create index accounts by_nothing nothing
create index accounts by_key_again covering key
explain explain get accounts 18
begin read-only
put accounts 18 cents=5
get accounts 18' "$pool" --keep-going
ends "wrong commands" 2 "cellar shell: line 1: unknown command 'nonsense' .see help." 'cellar shell: line 2: wanted: get TABLE KEY' \
    "cellar shell: line 3: 'cents' is not COLUMN=VALUE" 'cellar shell: line 4: cents is given twice' \
    "cellar shell: line 5: no column 'cent': there is key, cents, owner" "cellar shell: line 6: cents: '1.5' is no whole number" \
    'cellar shell: line 7: key is the key: .*' 'cellar shell: line 8: a record .*exists already.*' "cellar shell: line 9: key: '-1' .*" \
    "cellar shell: line 10: 'nowhere' is no index.*" 'cellar shell: line 11: limit: 1 to 2048' 'cellar shell: line 12: .*no index.*' \
    'cellar shell: line 13: no transaction is open' "cellar shell: line 14: 'twice' is not read-only" \
    "cellar shell: line 15: there is no table 'nothing'" 'cellar shell: line 16: a quote is not closed' \
    "cellar shell: line 17: 'cents' is not COLUMN:BYTES.*" 'cellar shell: line 18: .*' "cellar shell: line 19: no column 'nothing'.*" \
    "cellar shell: line 20: 'key' is not a column: .*" 'cellar shell: line 21: .*' 'cellar shell: line 23: .*read-only.*' '18: cents=9 owner=Bob'
[ "$(wc -l <"$folder/err")" -eq 23 ] || fail "23 commands are wrong: $(cat "$folder/err")"
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
run dump "$pool" accounts --index by_key --out "$folder/rows.jsonl"
ends "dump by an index" 0 '5001 rows'
run dump "$pool" accounts --index by_owner --out "$folder/owners.csv"
ends "dump by a unique index" 0 '5001 rows'
cmp <(sort "$folder/rest.csv") <(sort "$folder/owners.csv") || fail "dumps by index and at rest differ"
shell "$schema" "$folder/other.pool" --create 64M
timeout 60 "$cellar" dump "$pool" accounts --format json | timeout 60 "$cellar" load "$folder/other.pool" accounts --format json 2>"$folder/err" || fail "through a pipe: $(cat "$folder/err")"
run dump "$folder/other.pool" accounts --index by_key --out "$folder/again.jsonl"
cmp "$folder/rows.jsonl" "$folder/again.jsonl" || fail "a table that was dumped and loaded is another one"
shell 'explain get accounts 100' "$folder/other.pool"
ends "after a load" 0 '100: .*'

# nothing of a file that is wrong is loaded; what is there already is told by line
run load "$pool" accounts --in "$folder/in.csv"
ends "twice" 2 "cellar load: $folder/in.csv:2: .*exists already.*; 0 rows before are loaded"
{ echo "key,cents,owner"; for i in $(seq 30000 30999); do echo "$i,1,new $i"; done; echo "31000,1,Bob"; } >"$folder/bob.csv"
run load "$pool" accounts --in "$folder/bob.csv"
ends "a unique index" 2 "cellar load: $folder/bob.csv:[0-9]+: .*; [0-9]+ rows before are loaded"
head -c 3000 "$folder/in.csv" >"$folder/cut.csv"
run load "$folder/other.pool" words --in "$folder/in.csv"
ends "another table's" 2 "cellar load: $folder/in.csv:1: no column 'owner': there is word, n"
run load "$pool" accounts --in "$folder/cut.csv" --check
ends "cut off" 2 "cellar load: $folder/cut.csv:[0-9]+: .*"
sed 's/"key":300,/"key":-300,/' "$folder/rows.jsonl" >"$folder/bad.jsonl"
shell "$schema" "$folder/third.pool" --create 64M
run load "$folder/third.pool" accounts --in "$folder/bad.jsonl"
ends "a bad row" 2 "cellar load: $folder/bad.jsonl:[0-9]+: key: '-300' is no whole number from 0 on"
run dump "$folder/third.pool" accounts
ends "nothing was loaded" 0 'key,cents,owner'
[ "$(wc -l <"$folder/out")" -eq 1 ] || fail "rows of a file that was refused are there"
run load "$folder/third.pool" accounts --in "$folder/none.csv"
ends "no file" 2 "cellar load: --in .*: No such file or directory"
run dump "$pool" accounts --out "$folder/none/x.csv"
ends "no folder" 2 "cellar dump: .*x.csv.*: No such file or directory"
run dump "$pool" accounts --index nothing
ends "no index" 2 "cellar dump: the table has no index 'nothing'"
run dump "$pool" accounts --kinds cents:real --format json
ends "kinds" 0 '\{"key":18,"cents":[0-9.]+e-32[0-9],.*'
run dump "$pool" accounts --kinds owner:real
ends "a kind that does not fit" 2 "cellar dump: owner has 32 bytes, and is not real"
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
shell "create table accounts records $rows cents:8 owner:32" "$folder/many.pool" --create 512M
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
"$cellar" bench ycsb --core E --records 3000 --seconds 100 --memnodes "$folder/mn" >"$folder/bench.out" 2>&1 </dev/null &
bench=$!
started+=("$bench")
until_true 60 busy "$bench" || fail "no transactions: $(cat "$folder/bench.out")"
run dump coretable --memnodes "$folder/mn" --cn 3
ends "at rest, beside transactions" 2 "cellar dump: transactions change the pool: name an index with --index, to read in batches beside them"
[ -s "$folder/out" ] && fail "a dump that failed has written"
run dump coretable --memnodes "$folder/mn" --cn 3 --index by_key --out "$folder/beside.jsonl"
ends "in batches, beside transactions" 0 '[0-9]+ rows'
cut -d, -f1 "$folder/beside.jsonl" | sort >"$folder/keys"
[ "$(wc -l <"$folder/keys")" -ge 3000 ] || fail "a dump beside inserts lacks rows: $(wc -l <"$folder/keys")"
[ "$(wc -l <"$folder/keys")" -eq "$(sort -u "$folder/keys" | wc -l)" ] || fail "a dump beside inserts has a row twice: $(uniq -d "$folder/keys" | head -3)"
shell "begin
scan coretable by_key limit 3
commit" --memnodes "$folder/mn" --cn 3
[ $status -eq 0 ] || grep -q "the transaction is over, without effect\|commit" "$folder/err" || fail "beside transactions: $(cat "$folder/out" "$folder/err")"
kill -INT "$bench"
wait "$bench" || fail "bench beside a shell: $(cat "$folder/bench.out")"

exit $((failures > 0))
