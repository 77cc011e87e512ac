#!/bin/bash
# test_misuse_cpp.sh - what a compiler can refuse of a program that misuses cellar.hpp: each case below, which compiles
# without its line, must not compile with it; where the header has words for it, with those.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
command -v c++ >/dev/null || { echo "no C++ compiler"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LC_ALL=C
cases=0 failures=0

# compiles LINE PLACE: with that line in a row struct's file (columns), or in a function (call).
compiles() {
    local column='' call=''
    [ "$2" = column ] && column=$1 || call=$1
    cat >"$folder/case.cc" <<CC
#include <cellar.hpp>
#include <memory>
#include <string>
#include <vector>
struct account {
    std::uint32_t id;
    std::int64_t cents;
    cellar_bytes owner;
};
constexpr cellarpp::definition account_columns{CELLARPP_COLUMN(account, id, .flags = CELLAR_KEY),
                                               CELLARPP_COLUMN(account, cents)};
struct person {
    std::uint32_t id;
    std::int64_t cents;
};
constexpr cellarpp::definition person_columns{CELLARPP_COLUMN(person, id, .flags = CELLAR_KEY),
                                              CELLARPP_COLUMN(person, cents)};
std::string name();
$column
int use(cellarpp::database &db, cellarpp::transaction &txn, cellarpp::table<account> accounts);
int use(cellarpp::database &db, cellarpp::transaction &txn, cellarpp::table<account> accounts)
{
    account its{}, some[2]{};
    person other{};
    cellarpp::error error;
    constexpr auto cents = account_columns.of<&account::cents>();
    auto rows = txn.scan(accounts);
    (void)db, (void)error, (void)other;
    int code = txn.get(accounts, its, cents) + rows.next(some);
    $call
    return code;
}
CC
    c++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -I"$here/include" -fsyntax-only "$folder/case.cc" 2>"$folder/out"
}
# misuse WHAT PLACE LINE [WORDS]
misuse() {
    cases=$((cases + 1))
    if compiles "$3" "$2"; then
        echo "$1: $3 compiles"
        failures=$((failures + 1))
    elif ! grep -qF -- "${4:-error: }" "$folder/out"; then
        echo "$1: $3 is refused without these words: ${4:-}" && cat "$folder/out"
        failures=$((failures + 1))
    fi
}
# member TYPE WORDS: as a column.
member() {
    misuse "a member as a column" column \
        "struct row { $1; }; constexpr cellarpp::definition columns{CELLARPP_COLUMN(row, it)};" "${2:-}"
}

compiles '' call || { echo "what all cases have does not compile:" && cat "$folder/out"; exit 1; }
compiles 'enum class e : short { a }; struct row { e it; }; constexpr cellarpp::definition columns{CELLARPP_COLUMN(row, it)};' column ||
    { echo "a column of an enum does not compile:" && cat "$folder/out"; exit 1; }
compiles 'std::string kept = name(); its.owner = cellarpp::text(kept); its.owner = cellarpp::text(std::string_view("a"));' call ||
    { echo "a text that lasts does not compile:" && cat "$folder/out"; exit 1; }

member 'const char *it' 'a pointer is no column: use cellar_bytes'
member 'void *it' 'a pointer is no column: use cellar_bytes'
member 'std::string it' 'use cellar_bytes instead of a string or container'
member 'std::vector<int> it' 'use cellar_bytes instead of a string or container'
member 'std::string_view it' 'a column is a number of at most 8 bytes, an enum, cellar_bytes, or an array'
member 'int it[4]' 'a column is a number of at most 8 bytes, an enum, cellar_bytes, or an array'
member 'long double it' 'a column is a number of at most 8 bytes, an enum, cellar_bytes, or an array'
member 'struct { int x; } it' 'a column is a number of at most 8 bytes, an enum, cellar_bytes, or an array'
member 'const int it' 'its member cannot be const'
member 'int it : 3'
member 'int &it'
member 'std::unique_ptr<int> other; int it' 'a row is a plain struct'
member 'virtual ~row(); int it' 'a row is a plain struct'
misuse "a column of another row" column \
    'constexpr cellarpp::definition columns{CELLARPP_COLUMN(account, id), CELLARPP_COLUMN(person, cents)};'
misuse "a member that is none" column 'constexpr cellarpp::definition columns{CELLARPP_COLUMN(account, name)};'
misuse "a member without a column" call 'constexpr auto owner = account_columns.of<&account::owner>(); (void)owner;' \
    'the definition has no column of this member'
misuse "a member of another row" call 'constexpr auto its = account_columns.of<&person::cents>(); (void)its;' \
    'the definition has no column of this member'
misuse "a row of another table, read" call 'code = txn.get(accounts, other);'
misuse "a row of another table, put" call 'code = txn.put(accounts, other);'
misuse "a row of another table, inserted" call 'code = txn.insert(accounts, other);'
misuse "a row of another table, deleted" call 'code = txn.remove(accounts, other);'
misuse "a row of another table, in a set" call 'auto read = cellarpp::read(accounts, other); (void)read;'
misuse "columns of another table" call 'code = txn.get(accounts, its, person_columns.of<&person::cents>());'
misuse "a set of columns as a number" call 'code = txn.get(accounts, its, 2);'
misuse "a row by pointer" call 'code = txn.get(accounts, &its);'
misuse "a row that is read, and const" call 'code = txn.get(accounts, static_cast<const account &>(its));'
misuse "a range of another table" call 'rows = txn.scan(accounts, {.from = &other, .from_columns = 1});'
misuse "a cursor into rows of another table" call 'person p[2]; code = rows.next(p);'
misuse "a cursor of another table" call 'cellarpp::cursor<person> p = txn.scan(accounts);'
misuse "a table of other rows" call 'cellarpp::table<person> p = db.open_table({.name = "p"}, account_columns, error);'
misuse "an index for a table" call 'code = txn.get(accounts.index("by_cents"), its);'
misuse "a transaction is copied" call 'auto copy = txn;'
misuse "a cursor is copied" call 'auto copy = rows;'
misuse "a database is copied" call 'auto copy = db;'
misuse "a text that goes at once" call 'its.owner = cellarpp::text(name());' 'deleted'
misuse "bytes that go at once" call 'its.owner = cellarpp::text(std::vector<std::byte>(3));' 'deleted'
misuse "a function without a code" call 'code = db.run([](cellarpp::transaction &) {});'
misuse "a function of something else" call 'code = db.run([](int) { return 0; });'
misuse "a result is ignored" call 'txn.put(accounts, its);'
misuse "a commit is ignored" call 'txn.commit();'
misuse "a cursor's rows are ignored" call 'rows.next(some);'

[ "$cases" -ge 41 ] && [ "$failures" -eq 0 ] && echo "$cases misuses are refused"
