#!/bin/bash
# FAMILY=txn|locks exp-expected.sh QUICK|- FULL|- [SEEDS...] - writes exp/exp_FAMILY_expected.c (txn without it) from folders that `cellar exp FAMILY --quick --out QUICK`
# and `cellar exp FAMILY --out FULL` have filled; - keeps that column. SEEDS: folders of --quick runs with other seeds. A figure may differ by a
# tenth, or by half more than it does among seeds.
set -eu
[ $# -ge 2 ] || { sed -n '2,4s/^# //p' "$0" >&2 && exit 2; }
family=${FAMILY:-txn}
table=$(cd "$(dirname "$0")/.." && pwd)/exp/exp_${family}_expected.c
[ -e "$table" ] || touch "$table"
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# rows COLUMN FOLDER: COLUMN, study, figure, value; of a study's CSV, which has a column of reasons
rows() {
    [ "$2" = - ] || for file in "$2/$family"-*.csv; do
        head -n 1 "$file" | grep -q ',reason$' || continue
        study=${file##*/"$family"-}
        sed -n "2,\$s/^\"\([^\"]*\)\",\"[^\"]*\",\"[^\"]*\",[^,]*,\([^,]*\),.*/$1\t${study%.csv}\t\1\t\2/p" "$file"
    done
}

{
    sed -n 's/^    {"\([^"]*\)", "\([^"]*\)", \([^,]*\), \([^,]*\), \([^}]*\)},$/old\t\1\t\2\t\3\t\4\t\5/p' "$table"
    rows quick "$1"
    rows full "$2"
    for folder in "${@:3}"; do rows seed "$folder"; done
} | awk -F '\t' -v seeds=$(($# - 2)) -v family="$family" '
    { at = $2 FS $3 }
    !(at in known) { known[at] = 1; order[++count] = at; quick[at] = full[at] = "EXP_SWEEP_NOT_MADE"; slack[at] = 0.1; low[at] = high[at] = "" }
    $1 == "old" { quick[at] = $4; full[at] = $5; slack[at] = $6 }
    $1 == "quick" { quick[at] = sprintf("%.4g", $4) }
    $1 == "full" { full[at] = sprintf("%.4g", $4) }
    $1 == "quick" || $1 == "seed" { low[at] = low[at] == "" || $4 + 0 < low[at] ? $4 + 0 : low[at]; high[at] = high[at] == "" || $4 + 0 > high[at] ? $4 + 0 : high[at] }
    END {
        printf "/* exp_%s_expected.c - what the claims of `cellar exp %s` come to. Made by scripts/exp-expected.sh. */\n#include \"exp_%s.h\"\n\n", family, family, family
        printf "/* clang-format off: one line each, for the script */\nconst struct exp_sweep_expected exp_%s_expected[] = {\n", family
        for (i = 1; i <= count; i++) {
            at = order[i]
            size = quick[at] < 0 ? -quick[at] : quick[at]
            if (seeds && size > 0) {
                spread = 1.5 * (high[at] - low[at]) / size
                slack[at] = spread > 0.1 ? sprintf("%.2g", spread) : 0.1
            }
            split(at, name, FS)
            printf "    {\"%s\", \"%s\", %s, %s, %s},\n", name[1], name[2], quick[at], full[at], slack[at]
        }
        print "    {.study = NULL},\n};\n/* clang-format on */"
    }' >"$new"
cp "$new" "$table"
