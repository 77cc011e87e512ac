#!/bin/bash
# test_install.sh - an embedder's way: install into a prefix of his own, build examples/transfer.c with what pkg-config
# says, against the shared and the static library, run it, build and run a C++ program, and run the installed `cellar`.
set -u
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
build=${CELLAR_BUILD:?}
command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
cc=${CC:-cc}

fail() {
    echo "$*"
    failures=$((failures + 1))
}

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

# A build with sanitizers needs them at the link too.
sanitizers=$(sed -n 's/^\(ASAN\|TSAN\|UBSAN\):BOOL=ON/\1/p' "$build/CMakeCache.txt" |
    sed 's/^ASAN/-fsanitize=address/;s/^TSAN/-fsanitize=thread/;s/^UBSAN/-fsanitize=undefined/')
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

# The header is C++ too, macros for columns included.
cat >"$folder/embed.cc" <<'CC'
#include <cellar_proc.h>
#include <cstdio>

struct point {
    double x, y;
};

static int move(cellar_txn *txn, void *arg)
{
    const cellar_table *points = static_cast<const cellar_table *>(arg);
    const point to = {1, 2};
    int ref = cellar_proc_insert(txn, points, 7, &to);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}

int main()
{
    const cellar_schema_column columns[] = {CELLAR_COLUMN(point, x), CELLAR_COLUMN_IN(3, point, y)};
    cellar_options options = {};
    cellar_schema schema = {};
    cellar_proc_def def = {};
    cellar *db = nullptr;
    const cellar_table *points = nullptr;
    const cellar_proc *proc = nullptr;

    schema.name = "point";
    schema.row_bytes = sizeof(point);
    schema.columns = columns;
    schema.column_count = 2;
    schema.records_max = 100;
    def.name = "move";
    def.fn = move;
    def.records_max = def.writes_max = 1;
    options.size = sizeof(options);
    int code = cellar_open(nullptr, &options, &db);
    if (code == 0) code = cellar_table_create(db, &schema, &points);
    if (code == 0) code = cellar_proc_register(db, &def, &proc);
    if (code == 0) code = cellar_proc_run(db, proc, const_cast<cellar_table *>(points), nullptr, nullptr);
    if (code == 0 && cellar_proc_run(db, proc, const_cast<cellar_table *>(points), nullptr, nullptr) != CELLAR_EXISTS) code = 1;
    cellar_close(db);
    if (code != 0) std::fprintf(stderr, "%d: %s\n", code, cellar_last_error()->text);
    return code != 0;
}
CC
# The owners of cellar.hpp: what is not committed is aborted, what is moved is closed once, codes and errors come through.
cat >"$folder/owners.cc" <<'CC'
#include <cellar.hpp>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string_view>

#define WANTS(what)                                                                                                    \
    if (!(what)) {                                                                                                     \
        std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what);                                                \
        return 1;                                                                                                      \
    }

struct pair_of {
    double x;
    std::uint32_t y;
};

/* Owners that go before what they have given. */
static int outlived()
{
    cellarpp::error error{};
    const cellar_schema_column column = {"x", 0, sizeof(double), -1};
    cellar_schema schema{};
    schema.name = "numbers";
    schema.row_bytes = sizeof(double);
    schema.columns = &column;
    schema.column_count = 1;
    schema.records_max = 100;
    std::optional<cellarpp::database> db = cellarpp::database::open(nullptr, {}, error);
    WANTS(*db);
    cellarpp::table numbers = db->create(schema, error);
    WANTS(numbers);
    WANTS(db->run([&](cellarpp::transaction &txn) { return txn.insert(numbers, 1, 1.5); }) == 0);
    {
        auto txn = db->begin();
        db.reset();
        WANTS(txn.get<double>(numbers, 1, 0).value == 1.5 && txn.put(numbers, 1, 0, 2.5) == 0);
        WANTS(txn.commit() == 0 && txn.get<double>(numbers, 1, 0).code == CELLAR_INVALID);
        WANTS(txn.commit() == CELLAR_INVALID);
    }
    auto first = cellarpp::database::open(nullptr, {}, error), second = cellarpp::database::open(nullptr, {}, error);
    auto begun = first.begin();
    first = std::move(second);
    WANTS(begun && first.begin() && begun.commit() == 0 && !second && !second.begin());
    WANTS(cellar_last_error()->code == CELLAR_INVALID);
    WANTS(second.run([](cellarpp::transaction &) { return 0; }) == CELLAR_INVALID);
    numbers = first.create(schema, error);
    WANTS(first.run([&](cellarpp::transaction &txn) {
        first = cellarpp::database::open(nullptr, {}, error);
        return txn.insert(numbers, 1, 1.5);
    }) == 0 && first);
    return 0;
}

/* What leaves the function of run comes out, without effect. */
static int thrown(const cellarpp::database &db, cellarpp::table pairs)
{
    int runs = 0;
    auto throws = [&](cellarpp::transaction &txn) -> int {
        runs++;
        if (txn.put(pairs, 2, 0, 9.5) == 0) throw std::runtime_error("on purpose");
        return 0;
    };
    for (int i = 1; i <= 3; i++) {
        bool caught = false;
        try {
            (void)db.run(throws);
        } catch (const std::runtime_error &error) {
            caught = std::string_view(error.what()) == "on purpose";
        }
        WANTS(caught && runs == i);
        auto txn = db.begin();
        WANTS(txn && txn.get<double>(pairs, 2, 0).value == 2.5 && txn.commit() == 0);
    }
    try {
        auto txn = db.begin();
        WANTS(txn.put(pairs, 2, 0, 9.5) == 0);
        throw 7;
    } catch (int number) {
        WANTS(number == 7);
    }
    auto txn = db.begin();
    WANTS(txn && txn.get<double>(pairs, 2, 0).value == 2.5 && txn.commit() == 0);
    /* One that was thrown over what is no longer so was for nothing: it is run again. */
    runs = 0;
    auto doubts = [&](cellarpp::transaction &going) -> int {
        auto y = going.get<std::uint32_t>(pairs, 2, 1);
        auto change = [&](cellarpp::transaction &its) { return its.put(pairs, 2, 1, y.value + 1); };
        if (runs++ == 0) (void)db.run(change);
        throw y.value;
    };
    try {
        (void)db.run(doubts);
        WANTS(false);
    } catch (std::uint32_t y) {
        WANTS(runs == 2 && y == 5);
    }
    std::optional<cellarpp::transaction> kept;
    WANTS(db.run([&](cellarpp::transaction &lent) { return kept.emplace(std::move(lent)) ? -1 : 0; }) == 0);
    auto later = db.begin();
    WANTS(kept->put(pairs, 2, 0, 9.5) == CELLAR_INVALID);
    kept.reset();
    WANTS(later.get<double>(pairs, 2, 0).value == 2.5 && later.commit() == 0);
    return 0;
}

/* Sizes that C has in 32 bits are not cut. */
static int sizes(const cellarpp::database &db, cellarpp::table pairs)
{
    auto txn = db.begin();
    const std::byte byte{};
    const cellar_txn_read read{};
    WANTS(txn.find(pairs, {&byte, (std::size_t{1} << 32) + 1}).code == CELLAR_TOO_LARGE);
    WANTS(txn.prefetch({&read, std::size_t{1} << 32}) == CELLAR_TOO_LARGE);
    return 0;
}

int main()
{
    constexpr cellar_schema_column columns[] = {{"x", offsetof(pair_of, x), sizeof(double), -1},
                                         {"y", offsetof(pair_of, y), sizeof(std::uint32_t), -1}};
    cellarpp::error error{};
    WANTS(!cellarpp::database::open("nowhere/at/all", {}, error) && error.code != 0 && error.text[0]);
    auto opened = cellarpp::database::open(nullptr, {}, error);
    WANTS(opened);
    auto db = std::move(opened);
    WANTS(!opened && db);
    cellar_schema schema{};
    schema.name = "pairs";
    schema.row_bytes = sizeof(pair_of);
    schema.columns = columns;
    schema.column_count = 2;
    WANTS(!db.create(schema, error) && error.code == CELLAR_INVALID);
    schema.records_max = 100;
    cellarpp::table pairs = db.create(schema, error);
    WANTS(pairs && db.find("pairs") == pairs && !db.find("others"));
    cellar_schema_index def{};
    constexpr cellar_schema_index_column covered[] = {{"y", CELLAR_COVERED, false}};
    def.name = "by_key";
    def.columns = covered;
    def.column_count = 1;
    cellarpp::index by_key = db.create(pairs, def, error);
    WANTS(by_key);

    {
        auto dropped = db.begin();
        WANTS(dropped.insert(pairs, 1, pair_of{1.5, 2}) == 0);
        WANTS(db.begin().get<double>(pairs, 1, 0).code == CELLAR_NOT_FOUND);
    }
    auto txn = db.begin();
    WANTS(txn.get<double>(pairs, 1, 0).code == CELLAR_NOT_FOUND);
    WANTS(txn.insert(pairs, 1, pair_of{1.5, 2}) == 0 && txn.insert(pairs, 2, pair_of{2.5, 3}) == 0);
    int savepoint = txn.savepoint();
    WANTS(txn.remove(pairs, 1) == 0 && txn.rollback_to(savepoint) == 0);
    auto moved = std::move(txn);
    WANTS(!txn && moved.commit() == 0);
    int runs = 0;
    WANTS(db.run([&](cellarpp::transaction &going) {
        auto y = going.get_for_update<std::uint32_t>(pairs, 2, 1);
        return ++runs == 1 ? CELLAR_RETRY : y ? going.put(pairs, 2, 1, y.value + 1) : y.code;
    }) == 0 && runs == 2);
    WANTS(db.run([&](cellarpp::transaction &) { return 7; }) == 7);
    cellarpp::txn_options options;
    options.attempts_max = 3;
    WANTS(db.run([&](cellarpp::transaction &) { return runs++, CELLAR_RETRY; }, options) == CELLAR_RETRY && runs == 5);
    options.flags = CELLAR_READ_ONLY;
    WANTS(db.begin(options).put(pairs, 2, 0, 9.5) == CELLAR_INVALID);
    auto last = db.begin();
    std::uint64_t keys[4];
    const cellar_txn_read reads[] = {{pairs, 1, CELLAR_ALL_CELLS}, {pairs, 2, CELLAR_ALL_CELLS}};
    WANTS(last.prefetch(reads) == 0 && last.check() == 0);
    cellar_range all{};
    all.high_key = UINT64_MAX;
    WANTS(last.scan(by_key, all, keys) == 2 && keys[0] == 1 && keys[1] == 2);
    pair_of rows[4] = {};
    WANTS(last.scan_rows<pair_of>(by_key, all, keys, rows) == 2 && rows[0].y == 2 && rows[1].y == 4 && rows[1].x == 0);
    WANTS(last.get<std::uint32_t>(pairs, 2, 1).value == 4 && last.commit() == 0);
    return outlived() || thrown(db, pairs) || sizes(db, pairs);
}
CC
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    case $cc:$cxx in *clang*:g++ | *gcc*:clang++ | */cc:clang++ | cc:clang++) [ -n "$sanitizers" ] && continue ;; esac
    # shellcheck disable=SC2086,SC2046
    embeds "C++ with $cxx" $cxx -std=c++11 $warnings -Wno-missing-field-initializers $sanitizers "$folder/embed.cc" $(flags --cflags --libs)
    embeds "owners with $cxx" $cxx -std=c++20 $warnings $sanitizers "$folder/owners.cc" -pthread $(flags --cflags --libs)
    embeds "bank.cpp with $cxx" $cxx -std=c++20 $warnings $sanitizers "$source_folder/examples/bank.cpp" -pthread $(flags --cflags --libs)
    grep -q "^20000 cents in all" "$folder/out" || fail "no sum: $(cat "$folder/out")"
done

timeout -k 5 240 "$folder/usr/bin/cellar" bench smallbank --accounts 100 --txns 200 >"$folder/out" 2>&1 ||
    fail "the installed program: $(cat "$folder/out")"

[ $failures -eq 0 ] && echo "what is installed is enough to embed"
[ $failures -eq 0 ]
