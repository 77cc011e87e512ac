#!/bin/bash
# test_other_build.sh [CELLAR] - a pool that a mode of the laboratory has left, by a process that was killed, in the hands
# of a program that links the library: it is refused with one line that says why, and no byte of it changes. One of a
# mode that the library has is recovered, and opens.
set -u
source "$(dirname "$0")/../../../test/cli/prelude.sh"
here=$(cd "$(dirname "$0")/../../.." && pwd)
build=$(cd "$(dirname "$cellar")" && pwd)
[ -e "$build/libcellar.so" ] || exit 77
bytes=$((64 << 20)) pool=$folder/pool
"${CC:-cc}" $(sanitizer_flags "$build") -I"$here/include" "$here/lab/test/cli/other_build.c" -L"$build" -lcellar "-Wl,-rpath,$build" \
    -o "$folder/other" >"$folder/out" 2>&1 || { cat "$folder/out" && exit 1; }

# left MODE: a process of that mode is killed at work.
left() {
    rm -f "$pool"
    "$cellar" bench smallbank --cc "$1" --accounts 100 --pool "$pool" --pool-bytes $bytes --threads 1 --seconds 600 --warmup 0 \
        >"$folder/out" 2>&1 </dev/null &
    started+=("$!")
    disown $! # its end is no news for the shell
    until_true 100 busy $! || fail "$1: the bench does not work: $(cat "$folder/out")"
    kill -9 $!
    until_true 100 ended $!
    sum=$(sha256sum <"$pool")
}

# refuses MODE TEXT
refuses() {
    left "$1"
    "$folder/other" "$pool" $bytes >"$folder/out" 2>&1
    [ $? -eq 1 ] && [ "$(wc -l <"$folder/out")" -eq 1 ] && grep -qF -- "$2" "$folder/out" ||
        fail "a pool of mode $1: wanted '$2', got: $(cat "$folder/out")"
    [ "$(sha256sum <"$pool")" = "$sum" ] || fail "a pool of mode $1 was refused, and yet changed"
}

refuses ford "logged what was there before its changes: no mode of this build can undo them"
refuses motor "table account keeps old versions of its records, which no mode of this build does"
refuses 2pl "its pool was formatted with locks of records: open it in a mode that locks records there"
left record
"$folder/other" "$pool" $bytes >"$folder/out" 2>&1 && grep -qx open "$folder/out" || fail "mode record: $(cat "$folder/out")"
[ $failures -eq 0 ]
