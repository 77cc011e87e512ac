#!/bin/bash
# test_symbols.sh - engine/face/cellar.map gives out what the public headers declare and nothing else: under CELLAR_0
# what has a promise, under CELLAR_LAB what cellar_lab.h has. The shared library does that, and debian/libcellar0.symbols
# lists just that: a symbol that goes or changes its meaning is another SONAME, one that comes is a line more there.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${CELLAR_BUILD:?}
[ -e "$build/libcellar.so" ] || exit 77
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# declared VERSION HEADER...: the functions that these headers declare themselves, as VERSION name.
declared() {
    local version=$1 header
    shift
    for header; do
        grep -vE '^#(include|pragma)' "$here/include/$header"
    done | ${CC:-cc} -E -P -x c - | tr '\n' ' ' | grep -oE '\bcellar_[a-z0-9_]+ ?\(' | tr -d ' (' | sed "s/^/$version /"
}
{ declared CELLAR_0 cellar.h cellar_proc.h cellar_cluster.h && declared CELLAR_LAB cellar_lab.h; } | sort -u >"$folder/headers"
awk '/ \{$/ { version = $1 } /^ +cellar_[a-z0-9_]+;$/ { sub(";", "", $1); print version, $1 }' "$here/engine/face/cellar.map" |
    sort >"$folder/map"
nm -D --defined-only "$build/libcellar.so" | sed -n 's/^.* \(cellar_[a-z0-9_]*\)@@\(CELLAR_[A-Z0-9]*\)$/\2 \1/p' | sort >"$folder/library"
sed -n 's/^ \(cellar_[a-z0-9_]*\)@\(CELLAR_[A-Z0-9]*\) .*/\2 \1/p' "$here/debian/libcellar0.symbols" | sort >"$folder/list"
status=0
differ() {
    diff "$folder/$1" "$folder/$2" >"$folder/out" || { echo "$3 (<) and $4 (>) differ:" && cat "$folder/out"; status=1; }
}
[ "$(wc -l <"$folder/headers")" -ge 50 ] || { echo "the headers declare $(wc -l <"$folder/headers") functions"; exit 1; }
differ headers map "the public headers" engine/face/cellar.map
differ map library engine/face/cellar.map "the shared library"
differ list library debian/libcellar0.symbols "the shared library"
for header in "$here"/include/*.h "$here"/include/*.hpp; do
    name=$(basename "$header")
    grep -qx "usr/include/$name" "$here/debian/libcellar-dev.install" || { echo "debian/libcellar-dev.install does not have $name"; status=1; }
    [ "${name##*.}" = h ] || continue
    echo "#include <$name>" >"$folder/alone.c"
    for standard in "${CC:-cc} -std=c11 -x c" "c++ -std=c++11 -x c++" "c++ -std=c++20 -x c++"; do
        command -v "${standard%% *}" >/dev/null || continue
        # shellcheck disable=SC2086
        $standard -Wall -Wextra -Wpedantic -Werror -I"$here/include" -fsyntax-only "$folder/alone.c" ||
            { echo "$name alone: $standard refuses it"; status=1; }
    done
done
version=$(sed -n 's/^project(cellar VERSION \([0-9.]*\).*/\1/p' "$here/CMakeLists.txt")
grep -q "^cellar ($version)" "$here/debian/changelog" || { echo "debian/changelog is not of version $version"; status=1; }
exit $status
