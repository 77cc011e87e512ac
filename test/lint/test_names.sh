#!/bin/bash
# Names that documents cite exist: steps of the models in proof/spec/*.pml, functions in the code, planted bugs in
# base/plant.h and their searches.
set -eu
cd "$(dirname "$0")/../.."
failed=0
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

# docs/testing.md: what stands for what
for name in $(sed -n '/^### What stands for what/,/^##/p' docs/testing.md | grep -o '`[a-z_]*`' | tr -d '\`' | sort -u); do
    grep -q "^    X($name," base/plant.h || missing docs/testing.md "$name" base/plant.h
done

# base/plant.h: each plant has a search or a test, or docs/testing.md says why none.
unsearched=$(sed -n '/^[*][*]Plants without a search/,/^|/p' docs/testing.md | sed -n 's/^- `\([a-z_]*\)`.*/\1/p')
for name in $(sed -n 's/^    X(\([a-z_0-9]*\),.*/\1/p' base/plant.h); do
    grep -rqw --include='*.[ch]' --include='*.sh' "$name" test/unit test/contract test/interleave test/fault test/sim test/xfail test/cli test/*.[ch] lab/test 2>/dev/null ||
        grep -qx "$name" <<<"$unsearched" || missing base/plant.h "$name" "test/ or docs/testing.md (plants without a search)"
done

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
