#!/bin/bash
# cpu-work.sh [BUILD] - the instructions of one unit of fabric_work, as lab/docs/nic-model.md reports them: YCSB-T
# transactions of 1, 4 and 16 records on shm, counted by callgrind, those of fabric/ left out. What 6,000 transactions
# cost more than 2,000, for each of the 4,000, and from that for each record. Needs valgrind; BUILD is a folder with a
# release build of `cellar` (build).
set -eu
cellar=$(realpath "${1:-build}")/cellar
[ -x "$cellar" ] || { echo "cpu-work: no program $cellar" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# count PER_TXN TXNS: instructions outside fabric/.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$work/out" "$cellar" bench ycsb --threads 1 --coros 2 --records 20000 \
        --theta 0 --write-ratio 0.5 --per-txn "$1" --txns "$2" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 2; }
    callgrind_annotate --threshold=100 --auto=no "$work/out" | awk '
        /file:function/ { listed = 1; next }
        !listed || !/^ *[0-9,]+ \(/ { next }
        { own = $1; gsub(",", "", own); sub(/^[^)]*\) */, "") }
        !/(^|\/)fabric\/[^\/ ]*:/ { sum += own }
        END { printf "%.0f\n", sum }'
}

for per_txn in 1 4 16; do
    few=$(count $per_txn 2000)
    many=$(count $per_txn 6000)
    echo "$per_txn $(((many - few) / 4000))"
done | awk '
    { records[NR] = $1; instructions[NR] = $2; printf "%2d records: %6d instructions a transaction\n", $1, $2 }
    END {
        each = (instructions[NR] - instructions[1]) / (records[NR] - records[1])
        printf "each record %.0f, the transaction itself %.0f; at 2 a cycle and 3 GHz: %.0f ns a record\n", each,
               instructions[1] - each * records[1], each / 6
    }'
