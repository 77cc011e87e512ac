/*
 * bank.cpp - transfers between accounts, in C++20: owners, spans and codes of cellar.hpp.
 *
 *     c++ -std=c++20 bank.cpp -pthread $(pkg-config --cflags --libs cellar) -o bank && ./bank
 */
#include <cellar.hpp>

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

namespace
{

constexpr std::uint64_t accounts_count = 20, transfers = 500;
constexpr std::int64_t cents_each = 1000;

struct account {
    std::int64_t cents;
};
struct person {
    CELLAR_KEY(16) name;
    std::uint64_t account;
};
constexpr cellar_schema_column account_columns[] = {{"cents", offsetof(account, cents), sizeof(account::cents), 0}};
constexpr cellar_schema_column owner_columns[] = {{"name", offsetof(person, name), sizeof(person::name), 0},
                                           {"account", offsetof(person, account), sizeof(person::account), 1}};

int ends(const char *what, const char *why)
{
    std::fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

/* From one account to another, if there is enough. */
int transfer(cellarpp::transaction &txn, cellarpp::table accounts, std::uint64_t from, std::uint64_t to,
             std::int64_t cents)
{
    auto source = txn.get<std::int64_t>(accounts, from, 0);
    auto target = txn.get<std::int64_t>(accounts, to, 0);
    if (!source || !target) return source ? target.code : source.code;
    if (source.value < cents) return 0;
    int code = txn.put(accounts, from, 0, source.value - cents);
    return code ? code : txn.put(accounts, to, 0, target.value + cents);
}

int work(const cellarpp::database &db, cellarpp::table accounts, std::uint64_t first)
{
    for (std::uint64_t i = 0; i < transfers; i++) {
        std::uint64_t from = (first + 7 * i) % accounts_count, to = (from + 1 + i % 5) % accounts_count;
        int code = db.run([&](cellarpp::transaction &txn) { return transfer(txn, accounts, from, to, 10); });
        if (code) return ends("a transfer", ::cellar_last_error()->text);
    }
    return 0;
}

} // namespace

int main()
{
    using namespace std::string_view_literals;
    cellarpp::error error;
    cellarpp::options options{};
    options.bytes = 16u << 20;
    auto db = cellarpp::database::open(nullptr, options, error);
    if (!db) return ends("opening", error.text);
    cellarpp::table accounts = db.create({.name = "accounts",
                                          .row_bytes = sizeof(account),
                                          .columns = account_columns,
                                          .column_count = 1,
                                          .records_max = 100,
                                          .cluster_bits = 0,
                                          .key_bytes = 0,
                                          .variable = 0,
                                          .long_bytes = 0,
                                          .typed = 0},
                                         error);
    cellarpp::table owners = db.create({.name = "owners",
                                        .row_bytes = sizeof(person),
                                        .columns = owner_columns,
                                        .column_count = 2,
                                        .records_max = 100,
                                        .cluster_bits = 0,
                                        .key_bytes = 16,
                                        .variable = 0,
                                        .long_bytes = 0,
                                        .typed = 0},
                                       error);
    if (!accounts || !owners) return ends("a table", error.text);

    auto txn = db.begin();
    for (std::uint64_t i = 0; i < accounts_count; i++)
        if (txn.insert(accounts, i, account{cents_each})) return ends("an account", ::cellar_last_error()->text);
    person ada{.name = {}, .account = 3};
    if (cellar_key_set(&ada.name, sizeof ada.name, "ada", 3) || !txn.add(owners, ada)) return ends("an owner", "ada");
    if (txn.commit()) return ends("the commit", ::cellar_last_error()->text);

    std::vector<std::thread> threads;
    int codes[3] = {};
    for (int i = 0; i < 3; i++) threads.emplace_back([&, i] { codes[i] = work(db, accounts, 5u * (unsigned)i); });
    for (auto &thread : threads) thread.join();

    std::int64_t sum = 0, hers = 0;
    cellarpp::txn_options read_only;
    read_only.flags = CELLAR_READ_ONLY;
    auto reading = db.begin(read_only);
    for (std::uint64_t i = 0; i < accounts_count; i++) sum += reading.get<std::int64_t>(accounts, i, 0).value;
    auto record = reading.find(owners, cellarpp::key_of("ada"sv));
    if (record) {
        auto number = reading.get<std::uint64_t>(owners, record.value, 1);
        hers = reading.get<std::int64_t>(accounts, number.value, 0).value;
    }
    if (!record || reading.commit()) return ends("reading", ::cellar_last_error()->text);
    std::printf("%lld cents in all, %lld of them ada's\n", (long long)sum, (long long)hers);
    for (int code : codes)
        if (code) return code;
    return sum == (std::int64_t)accounts_count * cents_each ? 0 : 1;
}
