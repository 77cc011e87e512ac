#!/bin/bash
# test_exception.sh - a C++ exception that leaves a procedure ends the program before anything is unwound, as cellar.h
# says; one that is caught within it does not.
set -u
source "$(dirname "$0")/prelude.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
cache=${CELLAR_BUILD:?}/CMakeCache.txt
if ! command -v g++ >/dev/null || grep -qE '^(ASAN|UBSAN|TSAN):BOOL=(ON|1|TRUE)' "$cache" || grep -q '^CMAKE_CROSSCOMPILING_EMULATOR' "$cache"; then
    echo "needs g++, and a build without sanitizers for this machine: skipped"
    exit 77
fi
cat >"$folder/throws.cpp" <<'END'
#include <cellar_proc.h>
#include <cstdio>
#include <stdexcept>

struct noisy {
    ~noisy() { std::puts("unwound"); std::fflush(stdout); }
};

static int procedure(cellar_txn *, void *arg)
{
    try {
        throw std::runtime_error("caught");
    } catch (const std::runtime_error &) {
    }
    if (!arg) return 1;
    noisy noisy;
    throw std::runtime_error("left the procedure");
}

int main(int count, char **)
{
    cellar *db;
    cellar_options options{};
    options.size = sizeof options;
    options.bytes = 8 << 20;
    cellar_proc_def def{};
    def.name = "throws";
    def.fn = procedure;
    def.records_max = 1;
    const cellar_proc *proc;
    if (cellar_open(nullptr, &options, &db) || cellar_proc_register(db, &def, &proc)) return 3;
    try {
        int code = cellar_proc_run(db, proc, count > 1 ? &count : nullptr, nullptr, nullptr);
        cellar_close(db);
        return code == 1 ? 0 : 4;
    } catch (...) {
        return 5;
    }
}
END
g++ -std=c++20 -I "$here/include" "$folder/throws.cpp" -o "$folder/throws" "$CELLAR_BUILD/libcellar.so" \
    -Wl,-rpath,"$CELLAR_BUILD" || { fail "it does not compile"; exit 1; }
"$folder/throws" >"$folder/out" 2>&1 || fail "an exception that is caught within: exit $?: $(cat "$folder/out")"
(ulimit -c 0; exec "$folder/throws" leave) >"$folder/out" 2>&1
status=$?
[ $status -eq 134 ] || fail "an exception that leaves: exit $status: $(cat "$folder/out")"
grep -q "left the procedure" "$folder/out" || fail "it does not say what was thrown: $(cat "$folder/out")"
! grep -q unwound "$folder/out" || fail "something was unwound"
[ $failures -eq 0 ]
