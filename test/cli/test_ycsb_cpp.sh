#!/bin/bash
# test_ycsb_cpp.sh - the binding for YCSB-cpp (contrib/ycsb-cpp) over a stand-in for its interface: workloads A to F
# against a std::map, and by several threads; in both shapes that a field has there.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
build=${CELLAR_BUILD:?}
command -v c++ >/dev/null || { echo "no C++ compiler"; exit 77; }
grep -qE '^(ASAN|TSAN|UBSAN):BOOL=ON' "$build/CMakeCache.txt" 2>/dev/null && { echo "the plain build's library is meant"; exit 77; }
[ -e "$build/libcellar.so" ] || { echo "no shared library here"; exit 77; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
contrib=$here/contrib/ycsb-cpp
for shape in -DFIELD_IS_STRUCT -DFIELD_IS_PAIR; do
    c++ -std=c++17 -O1 -Wall -Wextra -Werror $shape -I"$here/include" -I"$contrib/interface" -I"$contrib" "$contrib/cellar_db.cc" "$contrib/interface/run.cc" \
        -L"$build" -lcellar -pthread -o "$folder/run" >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
    LD_LIBRARY_PATH=$build timeout -k 5 240 "$folder/run" >"$folder/out" 2>&1 || { tail -20 "$folder/out"; exit 1; }
    [ "$(grep -c 'operations alone' "$folder/out")" -eq 6 ] || { cat "$folder/out"; exit 1; }
done
