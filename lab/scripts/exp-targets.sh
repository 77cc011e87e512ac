#!/bin/bash
# exp-targets.sh FULL [CELLAR] - puts the tables of evaluation.md and crest-figures.md (lab/docs/) there, after their
# lines <!-- targets -->, <!-- published -->, <!-- rules -->, <!-- verbs --> and <!-- factors -->, from a folder that
# `cellar exp txn --out FULL` has filled: all of one commit and one command. A table whose study the folder does not
# have stays as it is. CELLAR, a program that was built with what --record wrote into exp/data: what README.md counts,
# too.
set -eu
[ $# -ge 1 ] && [ $# -le 2 ] && compgen -G "$1/txn-*.csv" >/dev/null ||
    { sed -n '2,/^[^#]/s/^# //p' "$0" >&2 && exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# rows: study, kind (target, published), what is compared, where, published or wanted, ours, ratio, verdict
for file in "$1"/txn-*.csv; do
    head -n 1 "$file" | grep -q ',reason$' || continue
    study=${file##*/txn-}
    awk -F '"' -v study="${study%.csv}" -v OFS='\t' 'NR > 1 {
        kind = $4 ~ /^target/ ? "target" : "published"
        at = index($2, ": ")
        split($7, n, ",")
        print study, kind, substr($2, at + 2) ($4 == "target: at most" && $2 !~ /at most/ ? ", at most" : ""), substr($2, 1, at - 1), n[2], n[3], n[4], n[8]
    }' "$file"
done >"$work/rows"

# table KIND: a line for each study and what it compares. Of targets those missed are bold, of what is published those
# off by more than a quarter.
table() {
    awk -F '\t' -v kind="$1" '
        function short(x) { return x >= 100 || x <= -100 ? sprintf("%.0f", x) : sprintf("%.3g", x) }
        $2 == kind {
            key = "`" $1 "` " $3
            if (!(key in line)) order[++count] = key
            off = kind == "target" ? $8 != "reached" : $7 < 0.75 || $7 > 1.3333
            bad[key] += off
            all[key]++
            line[key] = line[key] (line[key] ? "; " : "") $4 " " (off ? "**" : "") short($6) (off ? "**" : "") " (" short($5) ")"
        }
        END {
            print kind == "target" ? "| target | reached (wanted) | |" : "| figure | here (published) | off by more than a quarter |"
            print "|---|---|---|"
            for (i = 1; i <= count; i++) {
                key = order[i]
                verdict = !bad[key] ? (kind == "target" ? "reached" : "") : kind == "target" ? (bad[key] == all[key] ? "**missed**" : bad[key] " of " all[key] " **missed**") : bad[key] " of " all[key]
                print "| " key " | " line[key] " | " verdict " |"
            }
        }' "$work/rows"
}
# factors FULL: of txn-factors-modes.csv a line for each case: throughput of each mode, what each step adds here and as
# published, and what else was counted.
factors() {
    awk -F '"' -v OFS=, 'FNR == 1 { file++ }
        file == 1 && FNR > 1 && $4 !~ /^target/ {
            split($7, n, ",")
            at = index($2, ": ")
            published[substr($2, 1, at - 1) substr($2, at + 1)] = n[2]
        }
        file == 2 && FNR == 1 { count = split($0, names, ","); for (i = 1; i <= count; i++) column[names[i]] = i - 1 }
        file == 2 && FNR > 1 { split($3, v, ","); for (name in column) value[$2, v[2], name] = v[column[name] + 1] }
        function percent(ratio) { return sprintf("%+.1f %%", 100 * (ratio - 1)) }
        function add(a, b, x) { return percent(value[a, x, "k_txn_per_s"] / value[b, x, "k_txn_per_s"]) }
        function said(what, x,    figure) {
            figure = short[x] " " what
            return figure in published ? percent(published[figure]) : "-"
        }
        function all(name, format, x,    line, i) {
            for (i = 1; i <= 4; i++) line = line sprintf(" " format " |", value[modes[i], x, name])
            return line
        }
        END {
            split("record cell crest cellar", modes, " ")
            split("TPC-C 40;SmallBank .99;YCSB .99;TPC-C 100;SmallBank .1;YCSB .1", short, ";")
            split("TPC-C, 40 warehouses;SmallBank, theta 0.99;YCSB, theta 0.99;" \
                  "TPC-C, 100 warehouses;SmallBank, theta 0.1;YCSB, theta 0.1", long, ";")
            split("1 4 2 5 3 6", order, " ")
            head = "record | cell | crest | cellar"
            print "| workload | record, k txn/s | cell | crest | cellar | cells add | published" \
                " | localized execution adds | published | aborts per txn: " head \
                " | verbs per txn: " head " | NIC busy, %: " head " |"
            line = "|---|"
            for (i = 1; i <= 20; i++) line = line "---:|"
            print line
            for (i = 1; i <= 6; i++) {
                x = order[i]
                print "| " long[x] " |" all("k_txn_per_s", "%.0f", x) " " \
                    add("cell", "record", x) " | " said("cell / record", x) " | " \
                    add("crest", "cell", x) " | " said("crest / cell", x) " |" \
                    all("aborts_per_txn", "%.2f", x) all("verbs_per_txn", "%.1f", x) all("nic_percent", "%.0f", x)
            }
        }' "$1/txn-factors.csv" "$1/txn-factors-modes.csv"
}

# fill PAGE: tables that are there
fill() {
    awk -v work="$work" '
        /^<!-- end -->/ { skip = 0 }
        !skip
        /^<!-- [a-z]+ -->/ && (getline line < (work "/" $2)) > 0 {
            print ""
            do print line; while ((getline line < (work "/" $2)) > 0)
            print ""
            skip = 1
        }' "$1" >"$work/page"
    cat "$work/page" >"$1"
}

if [ -e "$1/txn-throughput.csv" ]; then
    table target >"$work/targets"
    table published >"$work/published"
fi
[ ! -e "$1/txn-rules.md" ] || sed -n '/^| throughput, mean of seeds/,$p' "$1/txn-rules.md" >"$work/rules"
[ ! -e "$1/txn-tails-240-reads-and-on.md" ] || cp "$1/txn-tails-240-reads-and-on.md" "$work/verbs"
[ ! -e "$1/txn-factors.csv" ] || factors "$1" >"$work/factors"
fill "$root/lab/docs/evaluation.md"
fill "$root/lab/docs/crest-figures.md"
if [ $# -eq 2 ]; then
    counts="[0-9]+ of [0-9]+ published figures within a quarter, [0-9]+ of [0-9]+ targets reached"
    sed -i -E "s|^$counts|$("$2" exp --help | head -1 | grep -oE "^$counts")|" "$root/README.md"
fi
