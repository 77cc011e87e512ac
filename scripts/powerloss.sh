#!/bin/bash
# powerloss.sh [ROUNDS [SEED]] - databases on a file system that forgets what was not synced (FUSE), whose processes are
# all killed, round after round; a witness outside judges what is left (test/powerloss/powerloss.c, docs/testing.md).
# Installs what is missing, builds into build-powerloss, runs; 100 rounds with seed 1 unless told otherwise. The seed
# gives all draws, and what the processes do by then depends on the machine, so two runs of a seed differ.
#
# Exit 0: nothing was lost, and something was forgotten. 77: nothing can be mounted here. Else 1 or 2, with a line.
set -eu
rounds=${1:-100} seed=${2:-1}
if [[ $# -gt 2 || ! $rounds =~ ^[1-9][0-9]*$ || ! $seed =~ ^[0-9]+$ ]]; then
    echo "usage: scripts/powerloss.sh [ROUNDS [SEED]]" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
if [ ! -c /dev/fuse ]; then
    echo "powerloss: no /dev/fuse here: load the module fuse, or give the container the device and the right to mount" >&2
    exit 77
fi
bash scripts/install-deps.sh powerloss || exit 2
launcher=()
if command -v ccache >/dev/null; then
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 # what another clone has compiled serves this one
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
log=build-powerloss.log
built=1
cmake -G Ninja -S . -B build-powerloss -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTS=ON "${launcher[@]}" >"$log" 2>&1 ||
    built=0
[ $built -eq 0 ] || cmake --build build-powerloss --target powerloss >"$log" 2>&1 || built=0
[ $built -eq 1 ] || { tail -n 40 "$log"; echo "powerloss: the build failed"; exit 2; }
rm -f "$log"
exec build-powerloss/powerloss "$rounds" "$seed"
