#!/bin/bash
# test_exp.sh - `cellar exp`: its quick form gives, to the last digit, the figures of exp_nic.csv, in all its files and
# on every machine; bad input is refused with one line and exit 2. After a change to the model that is meant:
#   cellar exp nic --quick --out DIR; cp DIR/nic.csv lab/test/cli/exp_nic.csv
set -u
here=$(cd "$(dirname "$0")" && pwd)
source "$(dirname "$0")/../../../test/cli/prelude.sh"

# ---- bad input -----------------------------------------------------------------------------------------------------

"$cellar" exp --help | grep -q "Usage: cellar exp NAME|all" || fail "cellar exp --help does not say how it is used"
"$cellar" list | grep -qE "^  nic " || fail "cellar list does not show the experiment nic"
"$cellar" list --json | grep -q '"experiments"' || fail "cellar list --json does not name the experiments"
"$cellar" exp --help | grep -qE "^  all +[0-9]+ min +[0-9]+ min " || fail "cellar exp --help does not tell what all experiments take"
for study in throughput skew declock; do
    "$cellar" exp --help | grep -qE "^    $study +[0-9]+ (s|min) +[0-9]+ min " || fail "cellar exp --help does not tell what $study takes"
    "$cellar" exp --help | grep -qE "^    $study " || fail "cellar exp --help does not name $study"
    "$cellar" list | grep -qE "^    $study " || fail "cellar list does not name $study"
done
out=$folder/unused
refused "the experiment comes first" exp
refused "the experiment comes first" exp --out "$out"
refused "unknown experiment 'nics'" exp nics --out "$out"
refused "unknown experiment ''" exp "" --out "$out"
refused "--only nosuch: experiment skew has no sweep" exp skew --only nosuch --out "$out"
refused "--only skew: experiment nic has no sweep" exp nic --only skew --out "$out"
refused "--out DIR is missing" exp nic
refused "--out DIR is missing" exp all --quick
refused "--out needs a value" exp nic --out
refused "--out needs a value that is not empty" exp nic --out ""
refused "--out /no/such/folder/nic: No such file" exp nic --out /no/such/folder/nic
refused "is not a directory" exp nic --out "$cellar"
refused "--json /no/such/file: No such file" exp nic --out "$out" --json /no/such/file
refused "--quick takes no value" exp nic --out "$out" --quick=1
refused "given twice" exp nic --out "$out" --out "$out"
refused "unknown option '--nic'" exp nic --out "$out" --nic cx9
refused "unexpected argument 'locks'" exp nic locks --out "$out"
mkdir "$folder/full" && mkdir "$folder/full/nic.csv"
refused "nic.csv cannot be written" exp nic --quick --out "$folder/full"
refused "--gate knows no 'none'" exp nic --out "$out" --gate none
refused "--record FILE takes all figures of one experiment: not of all" exp all --quick --out "$out" --record x.json
refused "--record FILE takes all figures of one experiment: not with --one" exp locks --one --out "$out" --record x.json
refused "--one: experiment nic is more than sweeps" exp nic --one --out "$out"
refused "--record FILE takes all figures of one experiment: not with --only" exp locks --only declock-12 --out "$out" --record x.json
"$cellar" exp --help | head -1 | grep -qE "^[0-9]+ of [0-9]+ published figures within a quarter, [0-9]+ of [0-9]+ targets reached" ||
    fail "the first line of cellar exp --help does not count the misses"

# The first line of README.md tells the same, of the same figures.
told=$("$cellar" exp --help | head -1 | grep -oE "^[0-9]+ of [0-9]+ published figures within a quarter, [0-9]+ of [0-9]+ targets reached")
grep -qF "$told" "$here/../../../README.md" || fail "README.md does not say '$told'"

# ---- the figures ---------------------------------------------------------------------------------------------------

timeout -k 5 600 "$cellar" exp all --quick --only declock-16-resets --out "$folder/nic" --json - >"$folder/json" 2>"$folder/err" </dev/null
status=$?
if [ $status -ne 0 ]; then
    fail "cellar exp all --quick: exit $status; 1 says that a figure has moved, or missed its band without a cause:"
    grep -v "^  ok" "$folder/err"
fi
if ! diff "$here/exp_nic.csv" "$folder/nic/nic.csv"; then
    fail "figures differ from lab/test/cli/exp_nic.csv, above; if that is meant, see the head of test_exp.sh"
fi
rows=$(tail -n +2 "$folder/nic/nic.csv" | wc -l)
known=$(grep -c ',known,' "$folder/nic/nic.csv")
[ "$rows" -ge 40 ] || fail "only $rows published figures"
for figure in '278\.3' '15\.5' '29\.5' '1\.61' '0\.2'; do
    grep -qE ",$figure,[0-9.e+]*," "$folder/nic/nic.csv" || fail "no published figure $figure"
done

# What decides the exit status is asked for; the last line counts missed targets, whatever that is.
tail -1 "$folder/err" | grep -qE "^[0-9]+ of [0-9]+ targets missed$" || fail "the last line does not count missed targets: $(tail -1 "$folder/err")"
grep -q '"gate": "regression"' "$folder/json" || fail "the JSON report does not name the gate"
gate() {
    timeout -k 5 600 "$cellar" exp nic --quick --gate "$1" --out "$folder/gate" >"$folder/gate.txt" 2>&1 </dev/null
    status=$?
    [ $status -eq "$2" ] || fail "cellar exp nic --quick --gate $1: exit $status instead of $2"
}
if [ "$share" -eq 100 ]; then
    gate published $((known > 0))
    gate targets 0 # it has none
fi

# The page about the model has the profiles as they are, and a table of all these figures (of the long runs, so other
# values).
page=$here/../../docs/nic-model.md
table() { awk -v name="$1" '/^<!-- end -->/ { on = 0 } on && /^[|]/; $0 == "<!-- " name " -->" { on = 1 }' "$page"; }
diff <(table nic-profiles) "$folder/nic/nic-profiles.md" || fail "lab/docs/nic-model.md has other profiles: lab/scripts/nic-model.sh"
while read -r figure; do
    table nic | grep -qF "| $figure |" || fail "lab/docs/nic-model.md lacks $figure: lab/scripts/nic-model.sh"
done < <(sed -n '2,$s/^"\([^"]*\)".*/\1/p' "$here/exp_nic.csv")

# All forms hold the same figures, and besides them the few of the experiment locks that were asked for
# (test_exp_locks.sh has the others).
locks=$(tail -n +2 "$folder/nic/locks-declock.csv" | wc -l)
[ "$(grep -c '"figure":' "$folder/json")" -eq $((rows + locks)) ] || fail "the JSON report has not $rows + $locks figures"
grep -q "\"known\": $known," "$folder/json" || fail "the JSON report does not count $known known misses"
grep -q "$rows published figures: $((rows - known)) within their bands, $known known not to be, 0 outside" "$folder/err" ||
    fail "the report for people does not count $rows figures, $known of them known misses"
[ "$(grep -c '^| C' "$folder/nic/nic.md")" -eq "$rows" ] || fail "nic.md has not $rows figures"
[ "$(grep -cE '^<tr class="(within|known)">' "$folder/nic/index.html")" -eq $((rows + locks)) ] || fail "index.html has not $rows + $locks figures"
charts=$(find "$folder/nic" -name '*.svg' | wc -l)
[ "$(grep -c '^</svg>' "$folder/nic/index.html")" -eq "$charts" ] || fail "index.html has not $charts whole charts"
grep -E '(src|href)="[^d]' "$folder/nic/index.html" && fail "index.html needs other files"
[ "$(find "$folder/nic" -name '*.svg' | wc -l)" -ge 5 ] || fail "charts are missing"

[ $failures -eq 0 ] && echo "$rows figures are as they should be"
[ $failures -eq 0 ]
