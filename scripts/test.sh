#!/bin/bash
# test.sh [all] - installs what is missing, builds, runs the tests; exit 0 only if all builds and all tests are good.
#
# Without an argument, what a change must pass: a build with gcc -O2 and the planted bugs; one with ASan and UBSan;
# one with TSan. It takes some twelve minutes on two idle cores. `all` adds the release build, clang, one without the
# laboratory, whole searches, planted bugs by search, models, guests, a browser and experiments: hours, so it prints
# what failed and goes on. Warnings are errors everywhere. The summary of ctest ends the output.
set -u
cd "$(dirname "$0")/.." || exit 2
jobs=$(($(nproc) + 1)) # tests wait for each other and for the disk, too
mode=${1:-gate}
case $mode in
gate | all) ;;
*)
    echo "usage: scripts/test.sh [all]" >&2
    exit 2
    ;;
esac

bash scripts/install-deps.sh test || exit 1
launcher=()
if command -v ccache >/dev/null; then
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 # what another clone has compiled serves this one
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
folders=()
times=()
unbuilt=0

# build NAME FOLDER options...: a build that fails ends the run; in `all` the others go on.
build() {
    local name=$1 folder=$2 begin=$SECONDS
    shift 2
    echo "== build: $name"
    if cmake -G Ninja -S . -B "$folder" -DWERROR=ON -DBUILD_TESTS=ON "${launcher[@]}" "$@" >"$folder.log" 2>&1 &&
        cmake --build "$folder" -j "$jobs" --target "$target" >"$folder.log" 2>&1; then
        rm -f "$folder.log"
        folders+=("$PWD/$folder")
        times+=("$(printf '%6d s  build: %s' $((SECONDS - begin)) "$name")")
        return
    fi
    tail -n 60 "$folder.log"
    echo "build failed: $name"
    unbuilt=$((unbuilt + 1))
    [ "$mode" = all ] || exit 1
}

# tests MATCH...: those that a build registers.
quick='-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG'
sanitized='-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG'
threads="^(contract|example)/|^sqlite/test_sqlite_transactions|^unit/test_(coro|smallbank|tpcc_|ycsb)|^sim/seeds_cells_crest|stress|without_verbs"

if [ "$mode" = gate ]; then
    target=test_programs
    build "gcc -O2, planted bugs" build-test -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc "$quick" -DPLANTS=ON -DSHARE=6
    # It compares traces with the build before it.
    build "ASan and UBSan" build-asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc "$sanitized" -DSHARE=3 \
        -DASAN=ON -DUBSAN=ON "-DBESIDE=$PWD/build-test" -DTEST_PREFIX=asan: \
        "-DTEST_MATCH=^(unit|contract|fault)/|^cli/test_(usage|check|sim|pool_file)|^lint/test_library|^sim/test_traces|^sqlite/test_sqlite_(values|tables)"
    watched="api_(call|client|closed|queue|session|session_hold|session_life|metrics|snapshot|large)"
    watched+="|glance(_[a-z]+)?|face_(txn|run|locks|large)|proc_rows|history_sessions|shm_[a-z]+|sched_signal|pool_[a-z]+"
    watched+="|fabric[a-z_]*|ordered_sessions|storage_load|schema_beside|outcome|durable_(waits|nodes|tables)"
    # What has threads, but for the long ones. It is also the build of a machine without libibverbs: nothing here that
    # TSan watches needs a device.
    build "TSan" build-tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc "$sanitized" -DSHARE=3 \
        -DTSAN=ON -DWITH_VERBS=OFF -DTEST_PREFIX=tsan: \
        "-DTEST_MATCH=^contract/test_($watched)$|^example/|^unit/test_(coro|smallbank)|stress|without_verbs"
    filter=(-LE '^all$')
else
    # Without these, verbs.guest and cli.exp_page are skipped, and fault.powerloss is not built: there may be no network
    # here, or no right to install.
    bash scripts/install-deps.sh guest || echo "no packages for guests: verbs.guest will be skipped"
    bash scripts/install-deps.sh powerloss || echo "no libfuse: fault.powerloss is left out"
    bash scripts/install-deps.sh browser || echo "no browser: cli.exp_page will be skipped"
    target=all
    build "release, gcc" build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc
    build "release, clang, planted bugs" build-clang-planted -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang -DPLANTS=ON \
        "-DBESIDE=$PWD/build" -DTEST_PREFIX=clang: "-DTEST_MATCH=^(unit|contract|interleave|fault|sim|xfail)/"
    build "ASan and UBSan" build-asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc -DASAN=ON -DUBSAN=ON \
        "-DBESIDE=$PWD/build" -DTEST_PREFIX=asan: "-DTEST_MATCH=^(unit|contract|interleave|fault|cli|sqlite|sim|example)/"
    build "TSan" build-tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc -DTSAN=ON -DWITH_VERBS=OFF \
        -DTEST_PREFIX=tsan: "-DTEST_MATCH=$threads"
    filter=()
    build "gcc, without the laboratory" build-product -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=gcc "$quick" \
        -DLAB=OFF -DSHARE=6 -DTEST_PREFIX=product: \
        "-DTEST_MATCH=^(unit|contract|interleave|fault|sim)/|^cli/test_(usage|bench|check|pool_file|sim)"
    echo "== aarch64: traces"
    if bash scripts/install-deps.sh aarch64 && ! bash scripts/aarch64.sh '^sim[.]traces$'; then unbuilt=$((unbuilt + 1)); fi
fi

mkdir -p build-all
for folder in "${folders[@]}"; do echo "subdirs(\"$folder\")"; done >build-all/CTestTestfile.cmake
# Sanitizers of gcc 12 and clang 14 do not find their memory map where addresses are randomized by more than 28 bits.
runner=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ] && setarch -R true 2>/dev/null; then
    runner=(setarch -R)
fi

# What ctest says is shown as it comes, but for its summary, which waits for the slowest tests and the builds' times.
log=build-all/log
begin=$SECONDS
"${runner[@]}" ctest --test-dir build-all -j "$jobs" --output-on-failure --no-tests=error "${filter[@]}" 2>&1 |
    tee "$log" | sed -u '/^[0-9]*% tests passed/,$d'
status=${PIPESTATUS[0]}
echo "The ten slowest tests:"
sed -nE 's|^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*$|\2 s  \1|p' "$log" | sort -rn | head -10 | sed 's/^/  /'
echo "Times:"
printf '%s\n' "${times[@]}"
printf '%6d s  tests\n%6d s  in all\n' $((SECONDS - begin)) $SECONDS
[ $unbuilt -eq 0 ] || echo "builds that failed: $unbuilt"
if [ "$mode" = all ]; then
    echo "Planted bugs:"
    grep -h '^plant ' build-all/Testing/Temporary/LastTest.log | sort -u | cut -c1-120
fi
sed -n '/^[0-9]*% tests passed/,$p' "$log"
exit $((status ? status : unbuilt > 0))
