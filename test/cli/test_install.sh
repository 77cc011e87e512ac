#!/bin/bash
# test_install.sh - an embedder's way: install into a prefix of his own, build examples/transfer.c with what pkg-config
# says, against the shared and the static library, run it, build and run a C++ program, and run the installed `cellar`.
set -u
source "$(dirname "$0")/prelude.sh"
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
build=${CELLAR_BUILD:?}
command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
cc=${CC:-cc}

timeout -k 5 240 cmake --install "$build" --prefix "$folder/usr" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
pc=$(find "$folder/usr" -name cellar.pc)
[ -n "$pc" ] || { fail "no cellar.pc was installed"; exit 1; }
export PKG_CONFIG_PATH=${pc%/*}
flags() { pkg-config "$@" cellar; }
libraries=$(flags --variable=libdir)

[ "$(flags --modversion)" = "$("$folder/usr/bin/cellar" --version | sed 's/^cellar //')" ] ||
    fail "pkg-config says $(flags --modversion), the program $("$folder/usr/bin/cellar" --version)"
headers=$(find "$folder/usr" -name '*.h*' -printf '%f\n' | sort | tr '\n' ' ')
[ "$headers" = "cellar.h cellar.hpp cellar_cluster.h cellar_lab.h cellar_proc.h " ] || fail "these headers were installed: $headers"

sanitizers=$(sanitizer_flags "$build")
warnings="-Wall -Wextra -Wpedantic -Werror"

# embeds WHAT COMMAND...: builds, runs from an empty folder, wants no line on stderr.
embeds() {
    local what=$1
    shift
    if ! timeout -k 5 240 "$@" -o "$folder/program" >"$folder/log" 2>&1; then
        fail "$what does not build: $*"
        cat "$folder/log"
        return
    fi
    (cd "$folder" && LD_LIBRARY_PATH=$libraries timeout -k 5 240 ./program >"$folder/out" 2>"$folder/err") ||
        fail "$what: exit $?: $(cat "$folder/out" "$folder/err")"
    [ -s "$folder/err" ] && fail "$what wrote: $(cat "$folder/err")"
}

# shellcheck disable=SC2086,SC2046
{
    embeds "transfer, shared" "$cc" -std=c11 $warnings $sanitizers "$source_folder/examples/transfer.c" -pthread \
        $(flags --cflags --libs)
    grep -q "after opening again: 1000 accounts with 10000000 cents: as it should be" "$folder/out" || fail "no verdict: $(cat "$folder/out")"
    readelf -d "$folder/program" | grep -q 'NEEDED.*libcellar\.so\.0' || fail "the program does not ask for libcellar.so.0"

    # Only the archive to be found: what it needs besides is pkg-config's to say.
    mkdir "$folder/static" && cp "$libraries/libcellar.a" "$folder/static"
    embeds "transfer, static" "$cc" -std=c11 $warnings $sanitizers "$source_folder/examples/transfer.c" $(flags --cflags) \
        -L"$folder/static" $(flags --static --libs | sed "s|-L$libraries||")
    grep -q "as it should be" "$folder/out" || fail "no verdict: $(cat "$folder/out")"
    readelf -d "$folder/program" | grep -q 'NEEDED.*libcellar' && fail "the static program asks for libcellar.so"
}

# The header is C++ too, macros that take rows included.
cat >"$folder/embed.cc" <<'CC'
#include <cellar_proc.h>
#include <cstdio>

struct point {
    uint64_t id;
    double x, y;
};
static const cellar_table *points;

static int place(cellar_txn *txn, void *)
{
    const point at = {7, 1, 2};
    return cellar_insert(txn, points, &at);
}

static int move(cellar_txn *txn, void *)
{
    point at = {7, 0, 0};
    int code = cellar_get(txn, points, CELLAR_COL(1), CELLAR_COL(1), &at);
    at.x += 2;
    return code ? code : cellar_put(txn, points, CELLAR_COL(1), &at);
}

int main()
{
    const cellar_column columns[] = {{"id", offsetof(point, id), sizeof(uint64_t), CELLAR_UINT, CELLAR_KEY, 0, 0},
                                     {"x", offsetof(point, x), sizeof(double), CELLAR_FLOAT, 0, 0, 0},
                                     {"y", offsetof(point, y), sizeof(double), CELLAR_FLOAT, 0, 0, 0}};
    cellar_options options = {};
    cellar_table_def table = {};
    cellar_proc_def def = {};
    cellar *db = nullptr;
    const cellar_proc *proc = nullptr;
    cellar_txn *txn = nullptr;
    point at = {7, 0, 0};

    table.size = sizeof(table);
    table.name = "point";
    table.row_bytes = sizeof(point);
    table.columns = columns;
    table.column_count = 3;
    def.name = "move";
    def.fn = move;
    def.records_max = def.writes_max = 1;
    options.size = sizeof(options);
    int code = cellar_open(nullptr, &options, &db);
    if (code == 0) code = cellar_table_open(db, &table, 0, &points);
    if (code == 0) code = cellar_proc_register(db, &def, &proc);
    if (code == 0) code = cellar_run(db, place, nullptr, nullptr, nullptr);
    if (code == 0 && cellar_run(db, place, nullptr, nullptr, nullptr) != CELLAR_EXISTS) code = 1;
    if (code == 0) code = cellar_proc_run(db, proc, nullptr, nullptr, nullptr);
    if (code == 0) code = cellar_begin(db, nullptr, &txn);
    if (code == 0) code = cellar_get(txn, points, CELLAR_ALL, 0, &at);
    if (code == 0 && (at.x != 3 || at.y != 2)) code = 2;
    cellar_abort(txn);
    cellar_close(db);
    if (code != 0) std::fprintf(stderr, "%d: %s\n", code, cellar_last_error()->text);
    return code != 0;
}
CC
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    case $cc:$cxx in *clang*:g++ | *gcc*:clang++ | */cc:clang++ | cc:clang++) [ -n "$sanitizers" ] && continue ;; esac
    # shellcheck disable=SC2086,SC2046
    embeds "C++ with $cxx" $cxx -std=c++11 $warnings -Wno-missing-field-initializers $sanitizers "$folder/embed.cc" $(flags --cflags --libs)
    embeds "owners with $cxx" $cxx -std=c++20 $warnings $sanitizers "$source_folder/test/cli/owners.cc" -pthread $(flags --cflags --libs)
    embeds "bank.cpp with $cxx" $cxx -std=c++20 $warnings $sanitizers "$source_folder/examples/bank.cpp" -pthread $(flags --cflags --libs)
    grep -q "^20000 cents in all" "$folder/out" || fail "no sum: $(cat "$folder/out")"
done

timeout -k 5 240 "$folder/usr/bin/cellar" bench smallbank --accounts 100 --txns 200 >"$folder/out" 2>&1 ||
    fail "the installed program: $(cat "$folder/out")"

[ $failures -eq 0 ] && echo "what is installed is enough to embed"
[ $failures -eq 0 ]
