#!/bin/bash
# test_bindings.sh - the Python module (python/cellar.py) against this build's shared library, and what it has left in a
# pool file. C++ is tested by test_install.sh.
set -u
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
build=${CELLAR_BUILD:?}
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
grep -qE '^(ASAN|TSAN|UBSAN):BOOL=ON' "$build/CMakeCache.txt" && { echo "Python does not load libraries with sanitizers"; exit 77; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
export CELLAR_LIBRARY=$build/libcellar.so PYTHONPATH=$source_folder/python PYTHONDONTWRITEBYTECODE=1

if command -v cc >/dev/null; then
    python3 -W error "$source_folder/test/cli/bindings_layout.py" "$source_folder/include" "$folder" >"$folder/out" 2>&1 && [ ! -s "$folder/out" ] ||
        { echo "the structs of cellar.py:"; cat "$folder/out"; exit 1; }
fi
timeout -k 5 240 python3 -W error "$source_folder/test/cli/bindings.py" "$folder/pool" >"$folder/out" 2>&1 || { echo "bindings.py:"; cat "$folder/out"; exit 1; }
timeout -k 5 240 python3 -X faulthandler -W error "$source_folder/test/cli/bindings_misuse.py" >>"$folder/out" 2>&1 || { echo "bindings_misuse.py:"; cat "$folder/out"; exit 1; }
[ -s "$folder/out" ] && { echo "the bindings say:"; cat "$folder/out"; exit 1; }
"$build/cellar" check "$folder/pool" >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
grep -qE "words +3 +2 +2 " "$folder/out" || { echo "not what was left:"; cat "$folder/out"; exit 1; }
