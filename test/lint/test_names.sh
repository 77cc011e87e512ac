#!/bin/bash
# Names that documents cite exist: steps of the models in proof/spec/*.pml, functions in the code, planted bugs
# (*_plants.h) and their searches. And each of these bugs is in the code of the folder that lists it.
set -eu
cd "$(dirname "$0")/../.."
failed=0
plant_lists() { find "$1" -path "$1/build*" -prune -o -path "$1/.git" -prune -o -name '*_plants.h' -print | sort; }
plants_in() { sed -n 's/^    X(\([a-z_0-9]*\),.*/\1/p' "$@"; }
missing() { echo "$1 names $2, which $3 does not have"; failed=1; }

# The table of proof/spec/README.md: | steps of the model | functions |
while IFS='|' read -r _ steps functions _; do
    for name in $(grep -o '`[a-z_]*`' <<<"$steps" | tr -d '\`'); do
        grep -qw "$name" proof/spec/*.pml || missing proof/spec/README.md "$name" "proof/spec/*.pml"
    done
    for name in $(grep -o '`[a-z_]*`' <<<"$functions" | tr -d '\`'); do
        grep -rqE --include='*.[ch]' "\b$name\(" engine storage lockmgr lab || missing proof/spec/README.md "$name" "the code"
    done
done < <(sed -n '/^| step of the model/,/^$/p' proof/spec/README.md)

# storage/layout.c: the fingerprint has every constant of layout.h (fields it has from the tables there). Epoch numbers
# are fewer in tests only.
for name in $(sed 's|/[*].*||' storage/layout.h | awk '/^#define LAYOUT_[A-Z_0-9]+ / { print $2 } /^enum/ { within = 1 }
    within { line = $0; while (match(line, /LAYOUT_[A-Z_0-9]+/)) { print substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH) } }
    /}/ { within = 0 }' | grep -vx LAYOUT_EN_BITS | sort -u); do
    grep -q "^    $name,$" storage/layout.c || missing storage/layout.h "$name" "the fingerprint of storage/layout.c"
done

plants=$(plants_in $(plant_lists .))
[ -n "$plants" ] || { echo "no *_plants.h lists a planted bug"; failed=1; }

# docs/testing.md: what stands for what
for name in $(sed -n '/^### What stands for what/,/^##/p' docs/testing.md | grep -o '`[a-z_]*`' | tr -d '\`' | sort -u); do
    grep -qx "$name" <<<"$plants" || missing docs/testing.md "$name" "*_plants.h"
done

# *_plants.h: each plant has a search or a test, or docs/testing.md says why none.
unsearched=$(sed -n '/^[*][*]Plants without a search/,/^|/p' docs/testing.md | sed -n 's/^- `\([a-z_]*\)`.*/\1/p')
for name in $plants; do
    grep -rqw --include='*.[ch]' --include='*.sh' "$name" test/unit test/contract test/interleave test/fault test/sim test/xfail test/cli test/*.[ch] lab/test 2>/dev/null ||
        grep -qx "$name" <<<"$unsearched" || missing '*_plants.h' "$name" "test/ or docs/testing.md (plants without a search)"
done

# What a list of plants says twice, or no code of its folder has.
misplaced() {
    local list
    plants_in $(plant_lists "$1") | sort | uniq -d | sed 's/$/ is listed twice/'
    for list in $(plant_lists "$1"); do
        comm -23 <(plants_in "$list" | sort) <(cat "${list%/*}"/*.[ch] | grep -o '\bPLANT([a-z_0-9]*)' | sed 's/PLANT(//; s/)//' | sort -u) |
            sed "s|.*|$list names &, which the code beside it does not have|"
    done
}
found=$(misplaced .)
[ -z "$found" ] || { echo "$found"; failed=1; }
# ... and that is seen: one bug without code, and one that its neighbour lists, too.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy"/{lower,upper}
printf '    X(here, "")\n    X(elsewhere, "")\n' >"$copy/lower/lower_plants.h"
printf '    X(here, "")\n' >"$copy/upper/upper_plants.h"
printf 'if (PLANT(here)) return;\n' | tee "$copy/lower/lower.c" >"$copy/upper/upper.c"
printf 'if (PLANT(elsewhere)) return;\n' >>"$copy/upper/upper.c"
[ "$(misplaced "$copy" | sed "s|$copy/||; s/,.*//")" = "here is listed twice
lower/lower_plants.h names elsewhere" ] || { echo "plants in the wrong list are not seen:"; misplaced "$copy"; failed=1; }

# lab/docs/rivals.md, bugs of prototypes: `plant`, `plant` [suite, suite]: one of these has a search for each.
while read -r row; do
    suites=$(sed 's/.*\[//; s/[],]//g' <<<"$row")
    for name in $(grep -o '`[a-z_]*`' <<<"$row" | tr -d '\`'); do
        found=0
        for suite in $suites; do grep -qs "\"$name\"" {,lab/}"test/xfail/test_plants_$suite.c" && found=1; done
        [ $found = 1 ] || missing lab/docs/rivals.md "$name" "test_plants_{$suites}.c"
    done
done < <(sed -n '/^## The known bugs/,/^## `/p' lab/docs/rivals.md | grep -oE '(`[a-z_]+`(, | and others )?)+ \[[a-z_, ]+\]')

exit $failed
