#!/bin/bash
# lock-figures.sh [BUILD] - runs `cellar exp locks --quick` and puts its tables into lab/docs/lock-figures.md. About two
# minutes; every machine gets the same.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cellar=${1:-$root/build}/cellar
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cellar" exp locks --quick --out "$work" || [ $? -eq 1 ]

# Of a sweep: some columns, by their names, as a table.
columns() {
    awk -F, -v wanted="$2" '
        NR == 1 { n = split(wanted, name, " "); for (i = 1; i <= NF; i++) at[$i] = i
                  line = "| us more |"; rule = "|---:|"
                  for (i = 1; i <= n; i++) { line = line " " name[i] " |"; rule = rule "---:|" }
                  print line; print rule; next }
        { line = "| " $2 " |"; for (i = 1; i <= n; i++) line = line " " $at[name[i]] " |"; print line }' "$1"
}

columns "$work/locks-shiftlock-messages.csv" "goodput_m_per_s reads_per_pair w_ia_us wp_us wr_us ww_us rel_ia_us nic_percent" >"$work/messages.md"
echo "| published | 8.5 | 0.36 | 2.50 | 42.63 | 0.09 | 2.87 | 2.51 | |" >>"$work/messages.md"
for table in declock shiftlock dslr netlock; do cp "$work/locks-$table.md" "$work/$table.md"; done
awk -v work="$work" '
    /^<!-- end -->/ { skip = 0 }
    !skip { print }
    /^<!-- [a-z]+ -->$/ && $2 != "end" { file = work "/" $2 ".md"; while ((getline line <file) > 0) print line; skip = 1 }
' "$root/lab/docs/lock-figures.md" >"$work/page.md"
cp "$work/page.md" "$root/lab/docs/lock-figures.md"
