#!/bin/bash
# test.sh [quick] - installs what is missing, builds, runs the tests; exit 0 only if all builds and all tests are good.
#
# All of it: release with gcc; release with clang and the planted bugs; ASan + UBSan; TSan. Warnings are errors
# everywhere.
# The tests of all four run under one ctest, whose summary ends the output. `quick`: release only, the tests of `check`.
set -eu
cd "$(dirname "$0")/.."
bash scripts/install-deps.sh test
jobs=$(nproc)
mode=${1:-all}

# build NAME FOLDER options...
build() {
    local name=$1 folder=$2
    shift 2
    echo "== build: $name"
    cmake -G Ninja -S . -B "$folder" -DWERROR=ON -DBUILD_TESTS=ON "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
    cmake --build "$folder" -j "$jobs" >"$folder.log" 2>&1 || { tail -n 60 "$folder.log"; echo "build failed: $name"; exit 1; }
    rm -f "$folder.log"
}

case $mode in
quick)
    build "release, gcc" build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc
    exec ctest --test-dir build -j "$jobs" --output-on-failure -L '^(lint|unit|contract|interleave|fault|cli|sqlite|example)$'
    ;;
all) ;;
*)
    echo "usage: scripts/test.sh [quick]" >&2
    exit 2
    ;;
esac

# Without these, verbs.guest is skipped: there may be no network here, or no right to install.
bash scripts/install-deps.sh guest || echo "no packages for guests: verbs.guest will be skipped"
bash scripts/install-deps.sh browser || echo "no browser: cli.exp_page will be skipped"

build "release, gcc" build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc
build "release, clang, planted bugs" build-clang-planted -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang -DPLANTS=ON \
    -DTEST_PREFIX=clang: "-DTEST_MATCH=^(unit|contract|interleave|sim|xfail)/|^fault/test_two_lost"
build "ASan and UBSan" build-asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc -DASAN=ON -DUBSAN=ON \
    -DTEST_PREFIX=asan: "-DTEST_MATCH=^(unit|contract|interleave|fault|cli|sqlite|sim|example)/"
# Of what has threads. It is also the build of a machine without libibverbs: nothing here that TSan watches needs a
# device.
build "TSan" build-tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc -DTSAN=ON -DWITH_VERBS=OFF \
    -DTEST_PREFIX=tsan: "-DTEST_MATCH=^(contract|example)/|^sqlite/test_sqlite_transactions|^unit/test_(coro|smallbank|tpcc_|ycsb)|^sim/seeds_cells_crest|stress|without_verbs"

mkdir -p build-all
for folder in build build-clang-planted build-asan build-tsan; do
    echo "subdirs(\"$PWD/$folder\")"
done >build-all/CTestTestfile.cmake
# Sanitizers of gcc 12 and clang 14 do not find their memory map where addresses are randomized by more than 28 bits.
runner=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ] && setarch -R true 2>/dev/null; then
    runner=(setarch -R)
fi
exec "${runner[@]}" ctest --test-dir build-all -j "$jobs" --output-on-failure
