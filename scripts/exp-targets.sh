#!/bin/bash
# exp-targets.sh FULL - puts the tables of docs/evaluation.md there, after their lines <!-- targets -->, <!-- published -->, <!-- rules --> and <!-- verbs -->, from a
# folder that `cellar exp txn --out FULL` has filled: all of one commit and one command.
set -eu
[ $# -eq 1 ] && [ -e "$1/txn-throughput.csv" ] || { sed -n '2,3s/^# //p' "$0" >&2 && exit 2; }
page=$(cd "$(dirname "$0")/.." && pwd)/docs/evaluation.md
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

# table KIND: a line for each study and what it compares. Of targets those missed are bold, of what is published those off by more than a quarter.
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
table target >"$work/targets"
table published >"$work/published"
sed -n '/^| throughput, mean of seeds/,$p' "$1/txn-rules.md" >"$work/rules"
cat "$1/txn-tails-240-reads-and-on.md" >"$work/verbs"
awk -v work="$work" '
    /^<!-- end -->/ { skip = 0 }
    !skip
    /^<!-- (targets|published|rules|verbs) -->/ { print ""; while ((getline line < (work "/" $2)) > 0) print line; print ""; skip = 1 }
' "$page" >"$work/page"
cat "$work/page" >"$page"
