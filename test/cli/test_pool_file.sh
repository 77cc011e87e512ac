#!/bin/bash
# test_pool_file.sh [CELLAR] - `cellar check POOL`, `cellar inspect POOL` and `cellar snapshot POOL`: pools of all modes, closed, killed and
# damaged; the file is never changed; files that are no pools.
set -u
source "$(dirname "$0")/prelude.sh"

pool=$folder/pool

# made OPTIONS...: a pool of 500 accounts, closed.
made() {
    rm -f "$pool"
    "$cellar" bench smallbank --accounts 500 --txns 3000 --pool "$pool" --pool-bytes 32M "$@" >"$folder/out" 2>"$folder/err" </dev/null ||
        fail "bench $*: $(cat "$folder/err")"
    sum=$(sha256sum <"$pool")
}

# run NAME ARGUMENTS...: the status is left in $status; the pool is as it was.
run() {
    name=$1
    shift
    timeout -k 5 240 "$cellar" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    [ ! -s "$pool" ] || [ "$(sha256sum <"$pool")" = "$sum" ] || fail "$name: the file has changed"
}

# copied NAME: a snapshot of the pool has what the pool has.
copied() {
    rm -f "$folder/copy"
    run "snapshot $1" snapshot "$pool" --out "$folder/copy"
    told 0
    run "check a snapshot $1" check "$folder/copy"
    told 0 "account +500 +2 +0 " "^ok "
}

# poke OFFSET BYTES: into the pool; what is there now is what must stay.
poke() {
    printf "$2" | dd of="$pool" bs=1 seek="$1" conv=notrunc status=none
    sum=$(sha256sum <"$pool")
}

for mode in $(modes cellar motor ford 2pl) ""; do
    options="--cc $mode"
    [ "$mode" != 2pl ] || options="--cc 2pl --lock dslr"
    [ -n "$mode" ] || options="--cns 2"
    # shellcheck disable=SC2086
    made $options
    run "check $options" check "$pool"
    told 0 "account +500 +2 +0 " "^ok "
    run "inspect $options" inspect "$pool"
    told 0 ", closed;" "0  free +incarnation 1" "1  account .*2 columns in 2 cells"
    [ "${options#*2pl}" != "$options" ] || copied "$options"
done
for mode in $(modes 2pl); do
    made --cc "$mode" --lock dslr
    refused "mode 2pl locks what it reads" snapshot "$pool" --out "$folder/more"
done

made
refused "copy is there already" snapshot "$pool" --out "$folder/copy"
refused "cannot write $folder/nowhere/more" snapshot "$pool" --out "$folder/nowhere/more"
run "as JSON" check "$pool" --json "$folder/json"
told 0 "^ok "
for part in '"ok":true' '"recovered":[]' '"pool_bytes":33554432' '"tables":[{"name":"account","records":500,' '"payload_bytes":12000,'; do
    tr -d ' \n' <"$folder/json" | grep -qF -- "$part" || fail "the JSON verdict lacks $part: $(cat "$folder/json")"
done
run "a table" inspect "$pool" --table account
told 0 "column savings +8 bytes  cell 0" "column checking +8 bytes  cell 1"
run "a record" inspect "$pool" --table account --key 17
told 0 "record 17 of table account at 0x[0-9a-f]+: live, lock word 0$" "cell  0  EN [0-9]+  TS [0-9]+$" "savings +[0-9a-f]{16}  = [0-9]+"
at=$(sed -n 's/^record 17 .* at \(0x[0-9a-f]*\):.*/\1/p' "$folder/out")
run "its log" inspect "$pool" --log 0
told 0 "coordinator [0-9]+  incarnation 1  sequence [0-9]+  TS [0-9]+  [12] changes" "cell +account key [0-9]+ cell [01], 8 bytes" "[1-9][0-9]* whole entries in [0-9]+ segments of compute node 0"
run "a log of nobody" inspect "$pool" --log 7
told 0 "^0 whole entries in 0 segments"

# bytes that are wrong: a cell that is locked, a header that does not agree
poke "$((at))" '\003'
refused "which is, or is in, what is read" check "$pool" --json "$pool"
run "a lock" inspect "$pool" --table account --key 17
told 0 "lock word 0x3$" "cell  0 .* locked by compute node 2$"
poke "$((at + 24))" '\377\377'
run "an epoch number" inspect "$pool" --table account --key 17
told 0 "cell  0 .* EN in the header: 65535"
run "damaged" check "$pool"
told 1 "INV-STORE-10: .*damaged since it was closed"
run "damaged, as JSON" check "$pool" --json -
told 1 '"ok": false' "INV-STORE-10"

# indexes
rm -f "$pool"
"$cellar" bench ycsb --core E --records 2000 --txns 500 --pool "$pool" --pool-bytes 64M >"$folder/out" 2>&1 </dev/null || fail "ycsb: $(cat "$folder/out")"
sum=$(sha256sum <"$pool")
run "an index" check "$pool"
told 0 "coretable +2,[0-9]+ +10 +1 " "^ok "
run "an index's definition" inspect "$pool" --table coretable
told 0 "index by_key: keys$"
run "its nodes" inspect "$pool"
told 0 "coretable/by_key .* nodes of an index of table 1$"

# a process that is killed
rm -f "$pool"
"$cellar" bench smallbank --accounts 500 --seconds 100 --pool "$pool" --pool-bytes 32M >"$folder/bench.out" 2>&1 </dev/null &
victim=$!
started+=("$victim")
until_true 60 busy "$victim" || fail "no transactions: $(cat "$folder/bench.out")"
refused "in use by another database" check "$pool"
refused "in use by another database" inspect "$pool"
kill -9 "$victim"
wait "$victim" 2>/dev/null
sum=$(sha256sum <"$pool")
copied "a killed process"
run "a killed process" inspect "$pool"
told 0 ", not closed;" "0  live +incarnation 1"
for round in 1 2; do
    run "recovered in memory, $round" check "$pool"
    told 0 "not closed: compute node 0 was recovered" "a copy that was made while its pool was in use may lack" "^ok "
done
chmod 400 "$pool"
run "read-only" check "$pool"
told 0 "not closed: compute node 0 was recovered" "^ok "

# an index of wide columns, whose nodes take more log than the least
rm -f "$pool"
"$cellar" shell "$pool" --create 32M >"$folder/out" 2>&1 <<<'create table t rows 100 id:u64:key wide:fixed88
create index t by_wide wide
begin
insert t 1 wide=one
commit' || fail "a wide index: $(cat "$folder/out")"
sum=$(sha256sum <"$pool")
run "check a wide index" check "$pool"
told 0 "^ok "
run "snapshot of a wide index" snapshot "$pool" --out "$folder/copy.wide"
told 0
timeout -k 5 60 "$cellar" recover --pool "$pool" >"$folder/out" 2>&1 || fail "recover with a wide index: $(cat "$folder/out")"
rm -f "$folder/copy.wide"

# a copy with holes, on a file system where a load from a hole takes a block: none may be taken where none is free
rm -f "$pool"
made
copied "with holes"
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
    shm=$(mktemp -p /dev/shm)
    cp --sparse=always "$folder/copy" "$shm"
    blocks=$(stat -c %b "$shm")
    run "check a file with holes" check "$shm"
    told 0 "account +500 +2 +0 " "^ok "
    run "inspect a file with holes" inspect "$shm"
    told 0 "1  account .*2 columns in 2 cells"
    [ "$(stat -c %b "$shm")" -eq "$blocks" ] || fail "looking at a file with holes has taken blocks"
    rm -f "$shm"
fi

# a copy that ended early
for bytes in 1M 100K 10M; do
    head -c "$bytes" "$pool" >"$folder/cut"
    run "check $bytes of a pool" check "$folder/cut"
    told 1 "$folder/cut: the file was cut short, or is a copy that ended early: it has .* of the pool's 33554432 bytes"
    refused "cut short, or is a copy that ended early" inspect "$folder/cut"
done

# bad input
refused "name what is to be checked" check
refused "$folder/none: No such file" check "$folder/none"
refused "it is not empty, and no folder of Cellar's" check "$folder"
refused "unknown option '--speed'" check "$pool" --speed 1
refused "unexpected argument 'x'" check "$pool" x
refused "name a pool file or a durable folder" inspect
refused "name a pool file or a durable folder" inspect --log 0
refused "$folder/none: No such file" inspect "$folder/none"
refused "no table nobody is in" inspect "$pool" --table nobody
refused "no slot holds key 12345" inspect "$pool" --table account --key 12345
refused "--key N is a record's of a table" inspect "$pool" --key 1
refused "--out FILE is missing" snapshot "$pool"
refused "$folder/none: No such file" snapshot "$folder/none" --out "$folder/more"
refused "name a pool file" snapshot --out "$folder/more"
[ ! -e "$folder/more" ] || fail "a snapshot that was refused left a file"
refused "exclude each other" inspect "$pool" --table account --log 0
refused "--log must be from" inspect "$pool" --log 256
: >"$folder/empty"
refused "an empty file, not a pool" check "$folder/empty"
refused "an empty file, not a pool" inspect "$folder/empty"
head -c 1000 /dev/zero >"$folder/short"
refused "$folder/short: it is no pool: it has 1000 bytes, a pool has at least" check "$folder/short"
head -c 1000 "$0" >"$folder/text"
refused "$folder/text: it is no pool: it has 1000 bytes, a pool has at least" check "$folder/text"
refused "$folder/text: it is no pool: it has 1000 bytes, a pool has at least" inspect "$folder/text"
refused "$folder/text: it is no pool: it has 1000 bytes, a pool has at least" recover --pool "$folder/text"
refused "a pool has at least" inspect "$folder/short"
head -c 2M /dev/urandom >"$folder/noise"
refused "holds no pool" inspect "$folder/noise"
timeout -k 5 60 "$cellar" check "$folder/noise" >"$folder/out" 2>&1
[ $? -eq 1 ] || fail "noise: $(cat "$folder/out")"
grep -q "holds no pool" "$folder/out" || fail "noise: $(cat "$folder/out")"

[ $failures -eq 0 ]
