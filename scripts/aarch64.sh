#!/bin/bash
# aarch64.sh [TESTS] - builds for aarch64 on another machine, in build-aarch64, and runs under QEMU the tests whose
# names match the regular expression TESTS; by default the unit and contract suites, the examples and the traces (beside
# those of build/, if that is built), and then SmallBank on shm with its checks.
#
# Debian: the compiler and the emulator are installed if they are missing (as root, or through sudo); the libraries are
# Debian's own for arm64, taken apart into build-aarch64/sysroot: nothing that is installed changes for them.
#
# All runs on one processor. On two of x86-64, QEMU (7.2) lets a load-acquire pass a store-release before it, which
# aarch64 forbids, and threads that tell each other so lose wake-ups. What is right on a processor that orders less is
# argued in docs/fabric.md, not shown here.
set -eu
cd "$(dirname "$0")/.."
tests=${1:-'^(unit|contract|example)[.]|^sim[.]traces$'}
libraries=(libc6-dev libxxhash-dev libjansson-dev libsodium-dev libjemalloc-dev libcmocka-dev)
work=$PWD/build-aarch64

# apt gets lists, a cache and a status of its own, in which nothing is installed: so it fetches what the libraries need,
# too.
make_sysroot() { # FOLDER, in which all of it happens
    local folder=$1 package
    local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= -o Acquire::Languages=none
        -o Dir::State="$folder/state" -o Dir::State::status="$folder/status" -o Dir::Cache="$folder/cache")
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial" "$folder/sysroot"
    : >"$folder/status"
    "${apt[@]}" update
    "${apt[@]}" install -y --download-only --no-install-recommends "${libraries[@]}" >/dev/null
    for package in "$folder"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/sysroot"; done
    [ -e "$folder/sysroot/lib" ] || ln -s usr/lib "$folder/sysroot/lib"
}

bash scripts/install-deps.sh aarch64
if [ ! -d "$work/sysroot" ]; then
    echo "== libraries for aarch64"
    rm -rf "$work/packages"
    make_sysroot "$work/packages"
    mv "$work/packages/sysroot" "$work/sysroot" # whole, or not at all
    rm -rf "$work/packages"
fi
echo "== build: release, gcc, aarch64"
beside=
[ ! -x build/cellar ] || beside=$PWD/build
cmake --preset aarch64 -DBESIDE="$beside" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work" -j "$(nproc)" >"$work/log" 2>&1 || { tail -n 60 "$work/log"; exit 1; }
rm -f "$work/log"
one=(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')")
"${one[@]}" ctest --test-dir "$work" --output-on-failure -R "$tests"
[ $# -gt 0 ] || "${one[@]}" "$work/emulated/cellar" bench smallbank --accounts 1000 --theta 0.9 --txns 20000 --threads 2
