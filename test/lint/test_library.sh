#!/bin/bash
# test_library.sh - the shared library has nothing of the laboratory: no name of a mode or lock algorithm that the program
# has besides the library's own. Planted bugs have such names: 77 in a build that has them, or has no laboratory.
set -eu
build=${CELLAR_BUILD:?}
export LC_ALL=C
[ -e "$build/libcellar.so" ] && [ -x "$build/cellar" ] || exit 77
texts=$(strings -n 3 -d "$build/libcellar.so")
! grep -qx plant_choice <<<"$texts" && ! grep -q hot_order_ignored <<<"$texts" || { echo "a build with planted bugs"; exit 77; }
# Not those that are words of other things, too.
names=$("$build/cellar" list --json | tr -d '\n' | grep -oE '"(modes|locks)": *\[[^]]*(\[[^]]*\][^]]*)*\]' |
    grep -oE '"modes": *\[[^]]*\]|"name": *"[^"]*"' | grep -oE '"[a-z0-9+-]+"' | tr -d '"' |
    grep -vxE 'modes|name|record|cell|crest|cellar|declock|declock-flat|cas|cas-backoff|retry' || true)
[ "$(wc -w <<<"$names")" -ge 10 ] || { echo "without a laboratory there is nothing to look for: $names"; exit 77; }
status=0
for name in $names twopl; do
    found=$(grep -E -m 3 "(^|[ '\`(])${name//+/[+]}($|[ '\`,:;.)])" <<<"$texts") || continue
    echo "the library says '$name': $found"
    status=1
done
exit $status
