#!/bin/bash
# test_operations.sh [CELLAR] - `cellar bench ycsb --write-operations` and `--replay`: what was written is what is done
# again, of each core workload, with as many clients and with others; files that are cut, damaged, or of another version.
set -u
source "$(dirname "$0")/prelude.sh"
bench() { timeout -k 5 240 "$cellar" bench ycsb "$@" >"$folder/out" 2>&1 </dev/null || fail "bench $*: $(tail -5 "$folder/out")"; }
counts() { # what was committed, by type
    python3 -c 'import json, sys; print({name: type["committed"] for name, type in json.load(open(sys.argv[1]))["types"].items() if name != "all"})' "$1"
}
sim=(--fabric sim --cns 2 --threads 2 --coros 2)
for core in A B C D E F; do
    bench "${sim[@]}" --core $core --records 500 --txns 2000 --write-operations "$folder/$core" --json "$folder/$core.json"
    [ "$(wc -l <"$folder/$core")" -eq 2001 ] || fail "$core: $(wc -l <"$folder/$core") lines"
    head -1 "$folder/$core" | grep -qx "cellar-operations 1 core=$core records=500 scan-max=100 operations=2000" || fail "$core: $(head -1 "$folder/$core")"
    bench "${sim[@]}" --replay "$folder/$core" --json "$folder/again.json" --seed 7
    [ "$(counts "$folder/$core.json")" = "$(counts "$folder/again.json")" ] || fail "$core: $(counts "$folder/$core.json"), but again $(counts "$folder/again.json")"
    bench --threads 1 --coros 3 --replay "$folder/$core" --json "$folder/again.json" # in real time, by other clients
    [ "$(counts "$folder/$core.json")" = "$(counts "$folder/again.json")" ] || fail "$core by others: $(counts "$folder/again.json")"
done
# One client, whose operations are known: these and no others reach the records.
printf 'cellar-operations 1 core=A records=20 scan-max=5 operations=5\nread 3\nupdate 4 9\ninsert\nmodify 4 9\nread 20\n' >"$folder/few"
bench --threads 1 --coros 1 --replay "$folder/few" --history "$folder/history"
[ "$(grep -c '"outcome":"committed"' "$folder/history")" -eq 5 ] || fail "five operations: $(cut -c1-200 "$folder/history")"
key=$((4 * 0x9e3779b97f4a7c15 & 0xffffffffffffff))
[ "$(grep -c "\"write\":\[\[1,\"$key\",9," "$folder/history")" -eq 2 ] || fail "record 4, field 9 is not written twice: $(cut -c1-200 "$folder/history")"
grep -q 'no update lost' "$folder/out" || fail "no check of what was replayed"
# Twice the same in sim, to the byte.
for run in one two; do
    bench "${sim[@]}" --core D --records 500 --txns 1000 --write-operations "$folder/$run"
done
cmp "$folder/one" "$folder/two" || fail "another file of the same run"

bad() { # TEXT LINES...
    printf '%b' "$2" >"$folder/bad"
    refused "$1" bench ycsb --replay "$folder/bad"
}
head='cellar-operations 1 core=A records=10 scan-max=5 operations=2\n'
bad "$folder/bad:1: the file is empty" ""
bad "$folder/bad:1: no operations of cellar bench" 'read 1\n'
bad "$folder/bad:1: version 2 of operations; this program has version 1" 'cellar-operations 2 core=A\n'
bad "$folder/bad:1: core, records, scan-max and operations are wanted here" 'cellar-operations 1 core=A records=x\n'
bad "$folder/bad:1: core is A to F" 'cellar-operations 1 core=Z records=10 scan-max=5 operations=2\n'
bad "$folder/bad:2: the file ends here: 1 of 2 operations" "${head}read 1\n"
bad "$folder/bad:3: the line has no end: the file was cut" "${head}read 1\nread 12"
bad "$folder/bad:4: the first line says 2 operations" "${head}read 1\nread 2\nread 3\n"
bad "$folder/bad:2: read, update, insert, scan or modify is wanted, not 'erase 1'" "${head}erase 1\nread 2\n"
bad "$folder/bad:2: update has 2 numbers, not as in 'update 1'" "${head}update 1\nread 2\n"
bad "$folder/bad:2: read has 1 numbers" "${head}read 1 2\nread 2\n"
bad "$folder/bad:2: fields are 0 to 9" "${head}update 1 10\nread 2\n"
bad "$folder/bad:2: scans are of core E, not A" "${head}scan 1 5\nread 2\n"
bad "$folder/bad:2: a scan is of 1 to 5 records" "cellar-operations 1 core=E records=10 scan-max=5 operations=1\nscan 1 6\n"
refused "$folder/none cannot be read" bench ycsb --replay "$folder/none"
refused "--replay and --records exclude each other" bench ycsb --replay "$folder/A" --records 5
refused "--replay is no option of tpcc" bench tpcc --replay "$folder/A"
refused "--write-operations is for --core" bench ycsb --txns 10 --write-operations "$folder/x"
refused "--write-operations needs --txns" bench ycsb --core A --seconds 1 --write-operations "$folder/x"
refused "$folder/none/x: no file can be made in its folder: No such file" bench ycsb --core A --txns 10 --write-operations "$folder/none/x"
mkfifo "$folder/pipe"
refused "$folder/pipe is there already, and no regular file" bench ycsb --core A --txns 10 --write-operations "$folder/pipe"
[ $failures -eq 0 ]
