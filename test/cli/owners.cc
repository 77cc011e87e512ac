// owners.cc - cellar.hpp as a program uses it: what is not committed is aborted, what is moved is closed once, what is
// empty, has ended or is closed says so, codes and errors come through. test_install.sh builds and runs it.
#include <cellar.hpp>

#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#define WANTS(what)                                                                                                    \
    do                                                                                                                 \
        if (!(what)) {                                                                                                 \
            std::fprintf(stderr, "line %d: not so: %s: %s\n", __LINE__, #what, ::cellar_last_error()->text);           \
            return 1;                                                                                                  \
        }                                                                                                              \
    while (0)

namespace
{

enum class kind : std::uint16_t { plain, fancy };

struct item {
    std::uint32_t id;
    std::int64_t cents;
    double weight;
    kind sort;
    bool sold;
    char code;
    std::array<std::byte, 3> mark;
    char label[8];
    cellar_bytes note;
    int scratch; /* no column */
};
constexpr cellarpp::definition item_columns{
    CELLARPP_COLUMN(item, id, .flags = CELLAR_KEY), CELLARPP_COLUMN(item, cents),
    CELLARPP_COLUMN(item, weight),                  CELLARPP_COLUMN(item, sort, .cell = 3),
    CELLARPP_COLUMN(item, sold, .cell = 3),         CELLARPP_COLUMN(item, code),
    CELLARPP_COLUMN(item, mark),                    CELLARPP_COLUMN(item, label),
    CELLARPP_COLUMN(item, note)};
constexpr auto cents = item_columns.of<&item::cents>();
constexpr auto sort_and_note = item_columns.of<&item::sort, &item::note>();
static_assert(cents.bits == 2 && sort_and_note.bits == (1 << 3 | 1 << 8));
static_assert((cents | sort_and_note).bits == (1 << 1 | 1 << 3 | 1 << 8));
static_assert(item_columns.as_c[0].type == CELLAR_UINT && item_columns.as_c[0].bytes == 4);
static_assert(item_columns.as_c[1].type == CELLAR_INT && item_columns.as_c[1].offset == offsetof(item, cents));
static_assert(item_columns.as_c[2].type == CELLAR_FLOAT && item_columns.as_c[3].type == CELLAR_UINT);
static_assert(item_columns.as_c[4].type == CELLAR_UINT && item_columns.as_c[4].cell == 3);
static_assert(item_columns.as_c[5].type == CELLAR_FIXED && item_columns.as_c[6].type == CELLAR_FIXED);
static_assert(item_columns.as_c[7].type == CELLAR_FIXED && item_columns.as_c[7].bytes == 8);
static_assert(item_columns.as_c[8].type == CELLAR_BYTES && std::string_view(item_columns.as_c[8].name) == "note");

/* The same table for who needs no more of it. */
struct price {
    std::uint32_t id;
    std::int64_t cents;
};
constexpr cellarpp::definition price_columns{CELLARPP_COLUMN(price, id, .flags = CELLAR_KEY),
                                             CELLARPP_COLUMN(price, cents)};

struct word {
    cellar_bytes text;
    std::uint64_t count;
};
constexpr cellarpp::definition word_columns{
    CELLARPP_COLUMN(word, text, .flags = CELLAR_KEY, .bytes_max = 20),
    CELLARPP_COLUMN(word, count),
};

constexpr cellarpp::index_def orders[] = {{.name = "by_cents", .columns = "-cents", .covers = "sort"},
                                          {.name = "by_label", .columns = "label, id", .flags = CELLAR_UNIQUE}};

item made(std::uint32_t id, std::int64_t cents)
{
    item its{};
    its.id = id;
    its.cents = cents;
    its.sort = kind::fancy;
    std::snprintf(its.label, sizeof its.label, "l%u", id);
    its.note = cellarpp::text("a note");
    return its;
}

struct shop {
    cellarpp::database db;
    cellarpp::table<item> items;
    cellarpp::table<price> prices;
    cellarpp::table<word> words;
};

std::int64_t price_of(const shop &all, std::uint32_t id)
{
    price its{id, -1};
    return all.db.begin().get(all.prices, its) ? -1 : its.cents;
}

int opened(shop &all)
{
    cellarpp::error error{};
    WANTS(!cellarpp::database::open("nowhere/at/all", {}, error) && error.code != 0 && error.text[0]);
    auto first = cellarpp::database::open(nullptr, {}, error);
    WANTS(first);
    all.db = std::move(first);
    WANTS(!first && all.db);
    WANTS(!all.db.open_table({.name = "items"}, item_columns, error, CELLAR_EXISTING));
    WANTS(error.code == CELLAR_NOT_FOUND);
    WANTS(!all.db.open_table({.name = "items", .flags = CELLAR_ADD}, item_columns, error) &&
          error.code == CELLAR_INVALID);
    all.items = all.db.open_table({.name = "items", .flags = CELLAR_ORDERED, .indexes = orders, .rows = 1000},
                                  item_columns, error);
    WANTS(all.items);
    all.prices = all.db.open_table({.name = "items", .flags = CELLAR_ORDERED}, price_columns, error);
    WANTS(all.prices && all.prices.get() != all.items.get());
    auto again = all.db.open_table({.name = "items", .flags = CELLAR_ORDERED}, price_columns, error, CELLAR_EXISTING);
    WANTS(again.get() == all.prices.get());
    WANTS(!all.db.open_table({.name = "items"}, word_columns, error) && error.code == CELLAR_MISMATCH);
    std::vector<cellarpp::index_def> many(20, {.name = "x", .columns = "cents"});
    WANTS(!all.db.open_table({.name = "many", .indexes = many}, item_columns, error) && error.code == CELLAR_INVALID);
    all.words = all.db.open_table({.name = "words", .flags = CELLAR_ORDERED}, word_columns, error);
    WANTS(all.words && all.items.index("by_cents") && !all.items.index("by_nothing") && !all.words.index("by_cents"));
    return 0;
}

int rows(const shop &all)
{
    {
        auto dropped = all.db.begin();
        WANTS(dropped.insert(all.items, made(1, 150)) == 0);
        WANTS(price_of(all, 1) == -1);
    }
    auto txn = all.db.begin();
    item its{};
    its.id = 1;
    WANTS(txn.get(all.items, its) == CELLAR_NOT_FOUND);
    for (std::uint32_t id = 1; id <= 4; id++) WANTS(txn.insert(all.items, made(id, 100 * id)) == 0);
    WANTS(txn.insert(all.items, made(4, 1)) == CELLAR_EXISTS);
    int savepoint = txn.savepoint();
    WANTS(savepoint >= 0 && txn.remove(all.items, made(1, 0)) == 0 && txn.rollback_to(savepoint) == 0);
    WANTS(txn.release(savepoint) == 0 && txn.release(savepoint) == CELLAR_INVALID);
    cellarpp::transaction moved;
    WANTS(!moved);
    moved = std::move(txn);
    WANTS(!txn && moved && moved.commit() == 0 && !moved);

    auto reading = all.db.begin();
    its.scratch = 77;
    WANTS(reading.get(all.items, its) == 0 && its.cents == 100 && its.sort == kind::fancy && its.scratch == 77);
    WANTS(std::string_view(its.label) == "l1" && cellarpp::view(its.note) == "a note");
    WANTS(cellarpp::bytes(its.note).size() == 6 && cellarpp::bytes(its.note)[0] == std::byte{'a'});
    item part = made(2, -1);
    part.weight = -1;
    WANTS(reading.get(all.items, part, cents) == 0 && part.cents == 200 && part.weight == -1);
    item one = made(3, 0), none = made(9, 0), dearest = made(0, 400);
    word nobody{cellarpp::text("nobody"), 0};
    cellar_read reads[] = {cellarpp::read(all.items, one), cellarpp::read(all.items, none, cents),
                           cellarpp::read(all.words, nobody),
                           cellarpp::read(all.items.index("by_cents"), dearest, cents)};
    WANTS(reading.get_many(reads) == 0 && one.cents == 300 && dearest.id == 4);
    WANTS(reads[0].code == 0 && reads[1].code == CELLAR_NOT_FOUND && reads[2].code == CELLAR_NOT_FOUND);
    WANTS(reading.get_many({reads, std::size_t{1} << 32}) == CELLAR_TOO_LARGE);
    WANTS(reading.check() == 0 && reading.commit() == 0);

    WANTS(all.db.run([&](cellarpp::transaction &going) {
        price its{2, 0};
        int code = going.get(all.prices, its, {}, price_columns.of<&price::cents>());
        its.cents++;
        return code ? code : going.put(all.prices, its);
    }) == 0);
    WANTS(price_of(all, 2) == 201);
    cellarpp::txn_options options;
    options.flags = CELLAR_READ_ONLY;
    WANTS(all.db.begin(options).put(all.prices, {2, 7}) == CELLAR_INVALID);
    WANTS(all.db.tally(all.items).inserted == 4 && all.db.tally(cellarpp::table<item>()).read == 0);
    return 0;
}

int texts(const shop &all)
{
    static_assert(sizeof "pear" == 5);
    const std::byte raw[] = {std::byte{'p'}, std::byte{0}, std::byte{'r'}};
    const std::string lasting = "apple";
    WANTS(cellarpp::text("pear").bytes == 4 && cellarpp::text(std::string_view("pear", 2)).bytes == 2);
    WANTS(cellarpp::text(raw).bytes == 3 && cellarpp::text(lasting).data == lasting.data());
    WANTS(cellarpp::text(std::span<const std::byte>(raw, 1)).bytes == 1 && cellarpp::text("").bytes == 0);
    auto txn = all.db.begin();
    WANTS(txn.insert(all.words, {cellarpp::text("pear"), 1}) == 0);
    WANTS(txn.insert(all.words, {cellarpp::text(lasting), 2}) == 0);
    WANTS(txn.insert(all.words, {cellarpp::text(raw), 3}) == 0 && txn.commit() == 0);
    txn = all.db.begin();
    word its{cellarpp::text(std::string_view("pear and more", 4)), 0}, other{cellarpp::text({"pear\0", 5}), 0};
    WANTS(txn.get(all.words, its) == 0 && its.count == 1 && txn.get(all.words, other) == CELLAR_NOT_FOUND);
    const word p{cellarpp::text("p"), 0};
    auto begins = txn.scan(all.words, {.from = &p,
                                       .to = &p,
                                       .from_columns = 1,
                                       .to_columns = 1,
                                       .flags = CELLAR_PREFIX | CELLAR_BACKWARD});
    word found[4];
    WANTS(begins.next(found) == 2 && cellarpp::view(found[0].text) == "pear" && found[1].count == 3);
    return 0;
}

/* Cursors: in order, by an index, moved, empty, and after their transaction. */
int cursors(const shop &all)
{
    item some[3];
    auto txn = all.db.begin();
    auto rows = txn.scan(all.items);
    WANTS(rows && rows.code() == 0 && rows.next({some, 2}) == 2 && some[0].id == 1 && some[1].id == 2);
    auto moved = std::move(rows);
    WANTS(!rows && rows.next(some) == CELLAR_INVALID && moved && moved.next(some) == 2 && some[1].id == 4);
    WANTS(moved.next(some) == 0 && moved.next({}) == CELLAR_INVALID);
    const item low = made(2, 250), high = made(3, 150);
    rows = txn.scan(all.items.index("by_cents"),
                    {.from = &low, .to = &high, .from_columns = 1, .to_columns = 1, .columns = cents});
    WANTS(rows.next(some) == 1 && some[0].id == 2);
    price behind{2, 0}, prices[4];
    auto rest = txn.scan(all.prices, {.after = &behind});
    WANTS(rest.next(prices) == 2 && prices[0].id == 3);
    auto equal = txn.scan(all.prices, cellarpp::equal(behind, 1));
    WANTS(equal.next(prices) == 1 && prices[0].cents == 201);
    auto refused = txn.scan(all.prices, {.from = &behind, .from_columns = 2});
    WANTS(!refused && refused.code() == CELLAR_INVALID && refused.next(prices) == CELLAR_INVALID);
    WANTS(std::string_view(::cellar_last_error()->text).find("2 columns of an order that has 1") != std::string::npos);
    WANTS(txn.scan(all.items.index("by_nothing")).next(some) == CELLAR_INVALID);
    WANTS(txn.scan(cellarpp::table<item>()).next(some) == CELLAR_INVALID);
    std::vector<cellarpp::cursor<price>> many;
    while (many.empty() || many.back()) many.push_back(txn.scan(all.prices));
    WANTS(many.back().code() == CELLAR_TOO_LARGE && many.back().next(prices) == CELLAR_TOO_LARGE);
    many.clear();
    WANTS(txn.scan(all.prices).next(prices) == 4);
    WANTS(txn.commit() == 0 && !moved && moved.next(some) == CELLAR_INVALID && rest.next(prices) == CELLAR_INVALID);
    WANTS(txn.scan(all.prices).next(prices) == CELLAR_INVALID);

    /* What was a cursor of another transaction takes nothing from one that has its place. */
    std::optional<cellarpp::cursor<price>> old = std::move(rest), lent;
    auto next = all.db.begin();
    auto its = next.scan(all.prices);
    WANTS(its.next({prices, 1}) == 1 && old->next(prices) == CELLAR_INVALID);
    old.reset();
    WANTS(its.next({prices, 1}) == 1 && prices[0].id == 2);
    cellarpp::transaction holder = std::move(next);
    WANTS(its.next({prices, 1}) == 1 && prices[0].id == 3);
    holder.abort();
    WANTS(!its && its.next(prices) == CELLAR_INVALID && !holder);
    its.reset();
    WANTS(all.db.run([&](cellarpp::transaction &going) {
        lent = going.scan(all.prices);
        int count = lent->next(prices);
        return count == 4 ? 0 : -1;
    }) == 0 && lent && !*lent && lent->next(prices) == CELLAR_INVALID);
    WANTS(all.db.run([&](cellarpp::transaction &going) {
        if (lent->next(prices) != CELLAR_INVALID) return 8;
        auto first = going.scan(all.prices);
        lent.reset();
        return first.next(prices) == 4 ? 0 : 9;
    }) == 0);
    return 0;
}

int empty_ones(const shop &all)
{
    item its = made(1, 1), some[2];
    cellarpp::database db;
    cellarpp::table<item> none;
    cellarpp::error error{};
    WANTS(!db && !db.begin() && ::cellar_last_error()->code == CELLAR_INVALID);
    WANTS(db.run([](cellarpp::transaction &) { return 0; }) == CELLAR_INVALID);
    WANTS(!db.open_table({.name = "items"}, item_columns, error) && error.code == CELLAR_INVALID);
    WANTS(db.close() == 0 && !none.index("by_cents"));
    db.reset();
    cellarpp::transaction txn;
    cellar_read read = cellarpp::read(all.items, its);
    WANTS(txn.get(all.items, its) == CELLAR_INVALID && txn.put(all.items, its) == CELLAR_INVALID);
    WANTS(txn.insert(all.items, its) == CELLAR_INVALID && txn.remove(all.items, its) == CELLAR_INVALID);
    WANTS(txn.get_many({&read, 1}) == CELLAR_INVALID && txn.savepoint() == CELLAR_INVALID);
    WANTS(txn.rollback_to(0) == CELLAR_INVALID && txn.release(0) == CELLAR_INVALID);
    WANTS(txn.check() == CELLAR_INVALID && txn.commit() == CELLAR_INVALID);
    WANTS(txn.scan(all.items).next(some) == CELLAR_INVALID);
    txn.abort();
    txn = all.db.begin();
    read = cellarpp::read(none, its);
    WANTS(txn.get(none, its) == CELLAR_INVALID && txn.put(none, its) == CELLAR_INVALID);
    WANTS(txn.insert(none, its) == CELLAR_INVALID && txn.remove(none, its) == CELLAR_INVALID);
    WANTS(txn.get_many({&read, 1}) == CELLAR_INVALID && txn.get_many({}) == 0);
    cellarpp::cursor<item> cursor;
    WANTS(!cursor && cursor.next(some) == CELLAR_INVALID && cursor.code() == 0);
    cursor.reset();
    return 0;
}

/* A table with other columns: the handle that there was is of no table any more. */
struct old_price {
    std::uint32_t id;
    std::int64_t cents;
    std::uint16_t year;
};
constexpr cellarpp::definition old_price_columns{CELLARPP_COLUMN(old_price, id, .flags = CELLAR_KEY),
                                                 CELLARPP_COLUMN(old_price, cents), CELLARPP_COLUMN(old_price, year)};

int altered()
{
    cellarpp::error error{};
    auto db = cellarpp::database::open(nullptr, {}, error);
    auto prices = db.open_table({.name = "prices"}, price_columns, error);
    WANTS(db.run([&](cellarpp::transaction &txn) { return txn.insert(prices, {1, 150}); }) == 0);
    WANTS(!db.alter(prices, {.name = "words"}, old_price_columns, {}, error) && error.code == CELLAR_INVALID);
    WANTS(!db.alter(cellarpp::table<price>(), {.name = "prices"}, old_price_columns, {}, error));
    auto dated = db.alter(prices, {.name = "prices"}, old_price_columns, {0, 0, 1999}, error);
    WANTS(dated && db.run([&](cellarpp::transaction &txn) {
        old_price its{1, 0, 0};
        price was{1, 0};
        if (txn.get(prices, was) != CELLAR_DROPPED) return 1;
        if (int code = txn.get(dated, its)) return code;
        return its.cents == 150 && its.year == 1999 ? 0 : 2;
    }) == 0);
    return 0;
}

/* Owners that go before what they have given, and databases that are closed. */
int outlived()
{
    cellarpp::error error{};
    std::optional<cellarpp::database> db = cellarpp::database::open(nullptr, {}, error);
    WANTS(*db);
    auto prices = db->open_table({.name = "prices", .flags = CELLAR_ORDERED}, price_columns, error);
    WANTS(prices && db->run([&](cellarpp::transaction &txn) { return txn.insert(prices, {1, 150}); }) == 0);
    price its{1, 0}, rows[2];
    cellarpp::cursor<price> cursor;
    {
        auto txn = db->begin();
        WANTS(db->close() == CELLAR_BUSY);
        cursor = txn.scan(prices);
        db.reset();
        WANTS(txn.get(prices, its) == 0 && its.cents == 150 && txn.put(prices, {1, 250}) == 0);
        WANTS(cursor.next(rows) == 1 && txn.commit() == 0 && txn.get(prices, its) == CELLAR_INVALID);
        WANTS(txn.commit() == CELLAR_INVALID);
    }
    WANTS(cursor.next(rows) == CELLAR_INVALID);
    auto first = cellarpp::database::open(nullptr, {}, error), second = cellarpp::database::open(nullptr, {}, error);
    auto begun = first.begin();
    WANTS(begun.get(prices, its) == CELLAR_INVALID && begun.insert(prices, its) == CELLAR_INVALID);
    first = std::move(second);
    WANTS(begun && first.begin() && begun.commit() == 0 && !second && !second.begin());
    prices = first.open_table({.name = "prices"}, price_columns, error);
    WANTS(prices && first.run([&](cellarpp::transaction &txn) {
        first = cellarpp::database::open(nullptr, {}, error);
        return txn.insert(prices, {1, 150});
    }) == 0 && first);
    auto closed = cellarpp::database::open(nullptr, {}, error);
    prices = closed.open_table({.name = "prices"}, price_columns, error);
    WANTS(prices && closed.close() == 0 && closed.close() == CELLAR_CLOSED);
    WANTS(!closed.begin() && ::cellar_last_error()->code == CELLAR_CLOSED);
    WANTS(closed.run([&](cellarpp::transaction &txn) { return txn.get(prices, its); }) == CELLAR_CLOSED);
    WANTS(!closed.open_table({.name = "prices"}, price_columns, error) && error.code == CELLAR_CLOSED);
    WANTS(!prices.index("by_cents"));
    return 0;
}

int counts_of_run(const shop &all)
{
    int runs = 0;
    WANTS(all.db.run([&](cellarpp::transaction &) { return ++runs == 1 ? CELLAR_RETRY : 0; }) == 0 && runs == 2);
    WANTS(all.db.run([&](cellarpp::transaction &) { return 7; }) == 7);
    cellarpp::txn_options options;
    options.attempts_max = 3;
    WANTS(all.db.run([&](cellarpp::transaction &) { return runs++, CELLAR_RETRY; }, options) == CELLAR_RETRY);
    WANTS(runs == 5);
    /* Lent: it neither ends nor moves there. */
    std::optional<cellarpp::transaction> kept;
    WANTS(all.db.run([&](cellarpp::transaction &lent) {
        kept.emplace(std::move(lent));
        if (*kept || lent.commit() != CELLAR_INVALID || lent.put(all.prices, {3, 333})) return 8;
        return lent ? 0 : 9;
    }) == 0);
    WANTS(kept->put(all.prices, {3, 334}) == CELLAR_INVALID && price_of(all, 3) == 333);
    return 0;
}

/* What leaves the function of run comes out, without effect. */
int thrown(const shop &all)
{
    int runs = 0;
    auto throws = [&](cellarpp::transaction &txn) -> int {
        runs++;
        if (txn.put(all.prices, {2, 950}) == 0) throw std::runtime_error("on purpose");
        return 0;
    };
    for (int i = 1; i <= 3; i++) {
        bool caught = false;
        try {
            (void)all.db.run(throws);
        } catch (const std::runtime_error &error) {
            caught = std::string_view(error.what()) == "on purpose";
        }
        WANTS(caught && runs == i && price_of(all, 2) == 201);
    }
    try {
        auto txn = all.db.begin();
        auto rows = txn.scan(all.prices);
        WANTS(rows && txn.put(all.prices, {2, 950}) == 0);
        throw 7;
    } catch (int number) {
        WANTS(number == 7);
    }
    WANTS(price_of(all, 2) == 201);
    /* One that was thrown over what is no longer so was for nothing: it is run again. */
    runs = 0;
    auto doubts = [&](cellarpp::transaction &going) -> int {
        price its{2, 0};
        if (going.get(all.prices, its)) return 8;
        auto change = [&](cellarpp::transaction &txn) { return txn.put(all.prices, {2, its.cents + 1}); };
        if (runs++ == 0) (void)all.db.run(change);
        throw its.cents;
    };
    try {
        (void)all.db.run(doubts);
        WANTS(false);
    } catch (std::int64_t seen) {
        WANTS(runs == 2 && seen == 202);
    }
    return 0;
}

/* Several threads, by one owner; and a transaction that another thread goes on with. */
int threads(const shop &all)
{
    std::vector<std::thread> threads;
    int codes[3] = {};
    std::int64_t before = price_of(all, 4);
    for (int &code : codes)
        threads.emplace_back([&] {
            for (int i = 0; i < 100 && code == 0; i++)
                code = all.db.run([&](cellarpp::transaction &txn) {
                    price its{4, 0};
                    int rc = txn.get(all.prices, its);
                    its.cents++;
                    return rc ? rc : txn.put(all.prices, its);
                });
        });
    for (auto &thread : threads) thread.join();
    WANTS(codes[0] == 0 && codes[1] == 0 && codes[2] == 0 && price_of(all, 4) == before + 300);
    auto txn = all.db.begin();
    WANTS(txn.put(all.prices, {4, 1}) == 0);
    std::thread([its = std::move(txn), &code = codes[0]]() mutable { code = its.commit(); }).join();
    WANTS(codes[0] == 0 && price_of(all, 4) == 1);
    return 0;
}

} // namespace

int main()
{
    shop all;
    return opened(all) || rows(all) || texts(all) || cursors(all) || empty_ones(all) || outlived() ||
           altered() || counts_of_run(all) || thrown(all) || threads(all);
}
