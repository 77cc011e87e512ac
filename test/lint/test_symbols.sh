#!/bin/bash
# test_symbols.sh - the shared library gives out what cellar.h declares and nothing else, and debian/libcellar0.symbols
# lists just that: a symbol that goes or changes its meaning is another SONAME, one that comes is a line more there.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${CELLAR_BUILD:?}
[ -e "$build/libcellar.so" ] || exit 77
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nm -D --defined-only "$build/libcellar.so" | awk '$3 ~ /^cellar_/ { print $3 }' | sort >"$folder/library"
echo '#include <cellar.h>' | ${CC:-cc} -E -P -I"$here/include" - | tr '\n' ' ' | grep -oE '\bcellar_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u >"$folder/header"
sed -n 's/^ \(cellar_[a-z0-9_]*\)@Base .*/\1/p' "$here/debian/libcellar0.symbols" | sort >"$folder/list"
status=0
diff "$folder/header" "$folder/library" >"$folder/out" || { echo "cellar.h (<) and the shared library (>) differ:" && cat "$folder/out"; status=1; }
diff "$folder/list" "$folder/library" >"$folder/out" || { echo "debian/libcellar0.symbols (<) and the shared library (>) differ:" && cat "$folder/out"; status=1; }
version=$(sed -n 's/^project(cellar VERSION \([0-9.]*\).*/\1/p' "$here/CMakeLists.txt")
grep -q "^cellar ($version)" "$here/debian/changelog" || { echo "debian/changelog is not of version $version"; status=1; }
exit $status
