/*
 * bank.cpp - transfers between accounts, in C++20: owners, typed tables and codes of cellar.hpp.
 *
 *     c++ -std=c++20 bank.cpp -pthread $(pkg-config --cflags --libs cellar) -o bank && ./bank
 */
#include <cellar.hpp>

#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace
{

constexpr std::uint32_t accounts_count = 20, transfers = 500;
constexpr std::int64_t cents_each = 1000;

struct account {
    std::uint32_t id;
    std::int64_t cents;
};
constexpr cellarpp::definition account_columns{CELLARPP_COLUMN(account, id, .flags = CELLAR_KEY),
                                               CELLARPP_COLUMN(account, cents)};
constexpr auto cents_alone = account_columns.of<&account::cents>();

struct person {
    cellar_bytes name;
    std::uint32_t account;
};
constexpr cellarpp::definition person_columns{CELLARPP_COLUMN(person, name, .flags = CELLAR_KEY, .bytes_max = 16),
                                              CELLARPP_COLUMN(person, account)};

int ends(const char *what, const char *why)
{
    std::fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

/* From one account to another, if there is enough. */
int transfer(cellarpp::transaction &txn, cellarpp::table<account> accounts, std::uint32_t from, std::uint32_t to,
             std::int64_t cents)
{
    account source{from, 0}, target{to, 0};
    cellar_read both[] = {cellarpp::read(accounts, source), cellarpp::read(accounts, target)};
    int code = txn.get_many(both);
    if (code || source.cents < cents) return code;
    source.cents -= cents;
    target.cents += cents;
    code = txn.put(accounts, source, cents_alone);
    return code ? code : txn.put(accounts, target, cents_alone);
}

int work(const cellarpp::database &db, cellarpp::table<account> accounts, std::uint32_t first)
{
    for (std::uint32_t i = 0; i < transfers; i++) {
        std::uint32_t from = (first + 7 * i) % accounts_count, to = (from + 1 + i % 5) % accounts_count;
        int code = db.run([&](cellarpp::transaction &txn) { return transfer(txn, accounts, from, to, 10); });
        if (code) return ends("a transfer", ::cellar_last_error()->text);
    }
    return 0;
}

/* All accounts, as of one moment; a code, or how many. */
int sum_all(cellarpp::transaction &txn, cellarpp::table<account> accounts, std::int64_t &sum)
{
    account some[8];
    int all = 0, count = 8;
    sum = 0;
    for (auto rows = txn.scan(accounts); count == 8; all += count) {
        count = rows.next(some);
        if (count < 0) return count;
        for (int i = 0; i < count; i++) sum += some[i].cents;
    }
    return all;
}

} // namespace

int main()
{
    cellarpp::error error;
    cellarpp::options options{};
    options.bytes = 16u << 20;
    auto db = cellarpp::database::open(nullptr, options, error);
    if (!db) return ends("opening", error.text);
    auto accounts = db.open_table({.name = "accounts", .flags = CELLAR_ORDERED}, account_columns, error);
    auto owners = db.open_table({.name = "owners"}, person_columns, error);
    if (!accounts || !owners) return ends("a table", error.text);

    auto txn = db.begin();
    for (std::uint32_t i = 0; i < accounts_count; i++)
        if (txn.insert(accounts, account{i, cents_each})) return ends("an account", ::cellar_last_error()->text);
    if (txn.insert(owners, person{cellarpp::text("ada"), 3})) return ends("ada", ::cellar_last_error()->text);
    if (txn.commit()) return ends("the commit", ::cellar_last_error()->text);

    std::vector<std::thread> threads;
    int codes[3] = {};
    for (std::uint32_t i = 0; i < 3; i++) threads.emplace_back([&, i] { codes[i] = work(db, accounts, 5 * i); });
    for (auto &thread : threads) thread.join();

    std::int64_t sum = 0;
    person ada{cellarpp::text("ada"), 0};
    account hers{};
    cellarpp::txn_options read_only;
    read_only.flags = CELLAR_READ_ONLY;
    int code = db.run(
        [&](cellarpp::transaction &reading) {
            int rc = sum_all(reading, accounts, sum);
            if (rc >= 0) rc = reading.get(owners, ada);
            hers.id = ada.account;
            return rc ? rc : reading.get(accounts, hers);
        },
        read_only);
    if (code) return ends("reading", ::cellar_last_error()->text);
    std::printf("%lld cents in all, %lld of them ada's\n", (long long)sum, (long long)hers.cents);
    for (int failed : codes)
        if (failed) return failed;
    return sum == (std::int64_t)accounts_count * cents_each ? 0 : 1;
}
