#!/bin/bash
# From a bare Debian machine to a checked TPC-C run: installs what is missing, builds all that `cmake --install build`
# puts in place, runs two warehouses at full size.
# Options are passed on to `cellar bench tpcc`.
set -eu
cd "$(dirname "$0")/.."
bash scripts/install-deps.sh
cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc -DBUILD_TESTS=OFF >/dev/null # as test.sh does: with another compiler CMake forgets the rest
cmake --build build
[ $# -gt 0 ] || set -- --fabric shm --warehouses 2 --seconds 10
exec build/cellar bench tpcc "$@"
