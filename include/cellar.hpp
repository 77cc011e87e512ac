/*
 * cellar.hpp - cellar.h for C++20: owners that close what they own, tables that know the type of their rows, codes
 * instead of exceptions. Adds no behaviour: what a call promises is in cellar.h, under its name there.
 *
 *     struct account {
 *         std::uint32_t id;
 *         std::int64_t cents;
 *     };
 *     constexpr cellarpp::definition account_columns{CELLARPP_COLUMN(account, id, .flags = CELLAR_KEY),
 *                                                    CELLARPP_COLUMN(account, cents)};
 *     constexpr auto cents = account_columns.of<&account::cents>();
 *
 *     auto db = cellarpp::database::open("bank", {}, error);
 *     auto accounts = db.open_table({.name = "accounts"}, account_columns, error);
 *     int code = db.run([&](cellarpp::transaction &txn) {
 *         account its{.id = 7, .cents = 0};
 *         if (int code = txn.get(accounts, its)) return code;
 *         its.cents -= 100;
 *         return txn.put(accounts, its, cents);
 *     });
 *
 * Each call returns a code, 0 or more when it went well; cellar_last_error has the line to one that is negative. An
 * owner that could not be opened is false; calls on it, and on one that was moved from, are INVALID. Owners may go in
 * any order: a transaction keeps its database open, and a cursor knows when its transaction has ended. The function
 * handed to `run` may run several times; an exception that leaves it aborts, and comes out of `run`.
 */
#pragma once

#include "cellar_lab.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cellarpp
{ /* `cellar` is the database's type in C */

using error = ::cellar_error;

/* What cellar_open takes. */
struct options : ::cellar_options {
    options() : ::cellar_options{} { size = sizeof(::cellar_options); }
};

/* What cellar_begin and cellar_run take. */
struct txn_options : ::cellar_txn_options {
    txn_options() : ::cellar_txn_options{} { size = sizeof(::cellar_txn_options); }
};

/* Returns the code; `why` says of one that is negative what it was about. */
inline int told(int code, error &why)
{
    if (code < 0) why = *::cellar_last_error();
    return code;
}

/* ---- strings ---- */

/* A text, or bytes, as a field of a row, which refers to them: a literal without its terminating zero. */
inline ::cellar_bytes text(std::string_view of) { return {of.data(), of.size()}; }
inline ::cellar_bytes text(std::span<const std::byte> of) { return {of.data(), of.size()}; }
/* Of what goes at once, as a std::string that a function returns: the field would lead nowhere. */
template <typename T>
    requires(std::is_class_v<T> && !std::ranges::borrowed_range<T>)
::cellar_bytes text(T &&) = delete;

/* The reverse, for as long as the field is lent. */
inline std::string_view view(const ::cellar_bytes &of) { return {static_cast<const char *>(of.data), of.bytes}; }
inline std::span<const std::byte> bytes(const ::cellar_bytes &of)
{
    return {static_cast<const std::byte *>(of.data), of.bytes};
}

/* ---- columns ---- */

template <typename T> inline constexpr bool is_character = false;
template <> inline constexpr bool is_character<char> = true;
template <> inline constexpr bool is_character<signed char> = true;
template <> inline constexpr bool is_character<unsigned char> = true;
template <> inline constexpr bool is_character<char8_t> = true;
template <> inline constexpr bool is_character<std::byte> = true;
template <typename T> inline constexpr bool is_characters = false;
template <typename T, std::size_t n> inline constexpr bool is_characters<T[n]> = is_character<T>;
template <typename T, std::size_t n> inline constexpr bool is_characters<std::array<T, n>> = is_character<T> && n != 0;

/* The enum cellar_type of a member: as CELLAR_FIELD has it. */
template <typename T> consteval std::uint32_t type_of()
{
    if constexpr (std::is_enum_v<T>) {
        return type_of<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, ::cellar_bytes>) {
        return CELLAR_BYTES;
    } else if constexpr (is_characters<T> || std::is_same_v<T, char> || std::is_same_v<T, char8_t>) {
        return CELLAR_FIXED;
    } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
        return std::is_unsigned_v<T> ? CELLAR_UINT : CELLAR_INT;
    } else if constexpr (std::is_floating_point_v<T> && sizeof(T) <= 8) {
        return CELLAR_FLOAT;
    } else {
        static_assert(!std::is_pointer_v<T>,
                      "a pointer is no column: use cellar_bytes for what it leads to (cellarpp::text)");
        static_assert(std::is_pointer_v<T> || std::is_trivially_copyable_v<T>,
                      "a column is bytes in the row: use cellar_bytes instead of a string or container");
        static_assert(std::is_pointer_v<T> || !std::is_trivially_copyable_v<T>,
                      "a column is a number of at most 8 bytes, an enum, cellar_bytes, or an array of characters or "
                      "bytes: make it one of these, or leave it out");
        return CELLAR_NO_TYPE;
    }
}

/* As in struct cellar_column. */
struct column_options {
    std::uint32_t flags = 0, bytes_max = 0, cell = 0;
};

/* The column of one member, made by CELLARPP_COLUMN. */
template <typename Row, auto Member> struct column {
    static_assert(std::is_standard_layout_v<Row> && std::is_trivially_copyable_v<Row>,
                  "a row is a plain struct: no virtual functions, no members of classes that own memory");
    using field = std::remove_reference_t<decltype(std::declval<Row &>().*Member)>;
    static_assert(!std::is_const_v<field>, "a column is written when its row is read: its member cannot be const");
    ::cellar_column as_c;
    constexpr column(const char *name, std::size_t offset, const column_options &options)
        : as_c{name,
               static_cast<std::uint32_t>(offset),
               static_cast<std::uint32_t>(sizeof(field)),
               type_of<field>(),
               options.flags,
               options.bytes_max,
               options.cell}
    {
    }
};
/* CELLARPP_COLUMN(account, owner, .bytes_max = 60): of that name, with those column_options. */
#define CELLARPP_COLUMN(row, field, ...)                                                                               \
    ::cellarpp::column<row, &row::field>(#field, offsetof(row, field), ::cellarpp::column_options{__VA_ARGS__})

/* A set of columns of the definition by which a table was opened. None: all, of those to read or put. */
template <typename Row> struct columns {
    std::uint64_t bits = 0;
    friend constexpr columns operator|(columns one, columns other) { return {one.bits | other.bits}; }
};

/* The columns of a row struct; it may leave some of the table's out. */
template <typename Row, auto... Members> struct definition {
    std::array<::cellar_column, sizeof...(Members)> as_c;
    constexpr definition(const column<Row, Members> &...of) : as_c{of.as_c...} {}
    /* account_columns.of<&account::cents, &account::owner>() */
    template <auto... Wanted> static consteval columns<Row> of() { return {(number_bit<Wanted>() | ... | 0)}; }

  private:
    template <auto Wanted> struct named {
    };
    template <auto Wanted> static consteval std::uint64_t number_bit()
    {
        constexpr bool same[] = {std::is_same_v<named<Wanted>, named<Members>>...};
        constexpr std::size_t number = static_cast<std::size_t>(std::ranges::find(same, true) - std::begin(same));
        static_assert(number < sizeof...(Members), "the definition has no column of this member");
        return std::uint64_t{1} << number;
    }
};
template <typename Row, auto... Members> definition(const column<Row, Members> &...) -> definition<Row, Members...>;

/* As struct cellar_index_def. */
struct index_def {
    const char *name, *columns;
    const char *covers = nullptr;
    std::uint32_t flags = 0;
};
/* As struct cellar_table_def. */
struct table_def {
    const char *name;
    std::uint32_t flags = 0;
    std::span<const index_def> indexes = {};
    std::uint64_t rows = 0;
    std::uint32_t cluster_bits = 0;
};

/* ---- handles of rows of one type ---- */

template <typename Row> class index;

/* Goes with its database, and owns nothing. */
template <typename Row> class table
{
  public:
    table() = default;
    explicit table(const ::cellar_table *handle) : handle_(handle) {}
    explicit operator bool() const { return handle_ != nullptr; }
    const ::cellar_table *get() const { return handle_; }
    /* False: the table has no such index. */
    cellarpp::index<Row> index(const char *name) const
    {
        const ::cellar_index *found = ::cellar_index_find(handle_, name);
        return found ? cellarpp::index<Row>(*this, found) : cellarpp::index<Row>();
    }

  private:
    const ::cellar_table *handle_ = nullptr;
};

template <typename Row> class index
{
  public:
    index() = default;
    explicit index(table<Row> of, const ::cellar_index *handle) : table_(of), handle_(handle) {}
    explicit operator bool() const { return handle_ != nullptr; }
    const ::cellar_index *get() const { return handle_; }
    table<Row> of() const { return table_; }

  private:
    table<Row> table_;
    const ::cellar_index *handle_ = nullptr;
};

/* A row to read, for get_many. `row` has the key, or what is looked for in the index. */
template <typename Row>
::cellar_read read(table<Row> of, Row &row, columns<std::type_identity_t<Row>> wanted = {},
                   columns<std::type_identity_t<Row>> lock = {})
{
    return {of.get(), nullptr, &row, wanted.bits, lock.bits, sizeof(Row), 0};
}
template <typename Row>
::cellar_read read(index<Row> by, Row &row, columns<std::type_identity_t<Row>> wanted = {},
                   columns<std::type_identity_t<Row>> lock = {})
{
    return {by.of().get(), by.get(), &row, wanted.bits, lock.bits, sizeof(Row), 0};
}

/* A range, as in struct cellar_scan. */
template <typename Row> struct range {
    const Row *from = nullptr, *to = nullptr;
    std::uint32_t from_columns = 0, to_columns = 0;
    const Row *after = nullptr;
    std::uint32_t flags = 0;
    cellarpp::columns<Row> columns = {}, lock = {};
};
/* Rows that are equal to this one in the first so many columns of the order. */
template <typename Row> range<Row> equal(const Row &row, std::uint32_t count)
{
    return {.from = &row, .to = &row, .from_columns = count, .to_columns = count};
}

/* ---- owners ---- */

/* Closes when it goes. Knows when its transaction has ended, which has closed it. */
template <typename Row> class cursor
{
  public:
    cursor() = default;
    cursor(cursor &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), code_(std::exchange(other.code_, 0)),
          over_(std::move(other.over_))
    {
    }
    cursor &operator=(cursor &&other) noexcept
    {
        if (this == &other) return *this;
        reset();
        handle_ = std::exchange(other.handle_, nullptr);
        code_ = std::exchange(other.code_, 0);
        over_ = std::move(other.over_);
        return *this;
    }
    ~cursor() { reset(); }
    explicit operator bool() const { return get() != nullptr; }
    ::cellar_cursor *get() const { return over_ && !*over_ ? handle_ : nullptr; }
    /* 0; of one that could not be opened, why: cellar_last_error has the line. */
    int code() const { return code_; }
    /* How many rows, fewer than asked for at the end; or a code: `code`, if it could not be opened. */
    [[nodiscard]] int next(std::span<Row> rows)
    {
        if (code_) return code_;
        auto most = static_cast<std::uint32_t>(std::min<std::size_t>(rows.size(), INT32_MAX));
        return (::cellar_cursor_next)(get(), most, rows.data(), sizeof(Row));
    }
    void reset()
    {
        ::cellar_cursor_close(get());
        handle_ = nullptr;
        code_ = 0;
        over_.reset();
    }

  private:
    friend class transaction;
    ::cellar_cursor *handle_ = nullptr;
    int code_ = 0;
    std::shared_ptr<const bool> over_; /* has the transaction ended? */
};

/*
 * Aborts when it goes, unless it was committed. Lent by `run`, it does neither, and does not move from there. It keeps
 * its database open.
 */
class transaction
{
  public:
    transaction() = default;
    transaction(transaction &&other) noexcept { take(other); }
    transaction &operator=(transaction &&other) noexcept
    {
        if (this == &other) return *this;
        reset();
        take(other);
        return *this;
    }
    ~transaction() { reset(); }
    explicit operator bool() const { return txn_ != nullptr; }
    ::cellar_txn *get() const { return txn_; }

    /* `row` has the key. */
    template <typename Row>
    [[nodiscard]] int get(table<Row> of, Row &row, columns<std::type_identity_t<Row>> wanted = {},
            columns<std::type_identity_t<Row>> lock = {}) const
    {
        return (::cellar_get)(txn_, of.get(), wanted.bits, lock.bits, &row, sizeof(Row));
    }
    [[nodiscard]] int get_many(std::span<::cellar_read> reads) const
    {
        if (reads.size() > UINT32_MAX) return CELLAR_TOO_LARGE;
        return ::cellar_get_many(txn_, reads.data(), static_cast<std::uint32_t>(reads.size()));
    }
    template <typename Row>
    [[nodiscard]] int put(table<Row> of, const Row &row, columns<std::type_identity_t<Row>> changed = {}) const
    {
        return (::cellar_put)(txn_, of.get(), changed.bits, &row, sizeof(Row));
    }
    template <typename Row> [[nodiscard]] int insert(table<Row> of, const Row &row) const
    {
        return (::cellar_insert)(txn_, of.get(), &row, sizeof(Row));
    }
    /* cellar_delete */
    template <typename Row> [[nodiscard]] int remove(table<Row> of, const Row &row) const
    {
        return (::cellar_delete)(txn_, of.get(), &row, sizeof(Row));
    }

    /* By the key. One that could not be opened has the code, and its `next` returns it. */
    template <typename Row>
    [[nodiscard]] cursor<Row> scan(table<Row> of, const range<std::type_identity_t<Row>> &wanted = {})
    {
        return open(of, nullptr, wanted);
    }
    /* By an index. */
    template <typename Row>
    [[nodiscard]] cursor<Row> scan(index<Row> by, const range<std::type_identity_t<Row>> &wanted = {})
    {
        return open(by.of(), by.get(), wanted);
    }

    [[nodiscard]] int savepoint() const { return ::cellar_savepoint(txn_); }
    [[nodiscard]] int rollback_to(int savepoint) const { return ::cellar_rollback_to(txn_, savepoint); }
    [[nodiscard]] int release(int savepoint) const { return ::cellar_release(txn_, savepoint); }
    [[nodiscard]] int check() const { return ::cellar_check(txn_); }
    /* Ends it, whatever it returns; INVALID, and it goes on, when `run` has lent it. */
    [[nodiscard]] int commit(::cellar_result *result = nullptr)
    {
        int code = ::cellar_commit(txn_, result);
        if (!lent_) over();
        return code;
    }
    void abort() { reset(); }
    void reset()
    {
        if (txn_ && !lent_) ::cellar_abort(txn_);
        over();
    }

  private:
    friend class database;
    transaction(::cellar_txn *txn, std::shared_ptr<::cellar> db) : db_(std::move(db)), txn_(txn) {}
    explicit transaction(::cellar_txn *lent) : txn_(lent), lent_(true) {}
    /* Nothing leads to the C transaction any more. */
    void over()
    {
        if (over_) *over_ = true;
        over_.reset();
        txn_ = nullptr;
        lent_ = false;
        db_.reset();
    }
    void take(transaction &other)
    {
        if (other.lent_) return;
        db_ = std::move(other.db_);
        txn_ = std::exchange(other.txn_, nullptr);
        over_ = std::move(other.over_);
    }
    template <typename Row>
    cursor<Row> open(table<Row> of, const ::cellar_index *by, const range<Row> &wanted)
    {
        const ::cellar_scan scan = {sizeof(::cellar_scan), wanted.flags,        of.get(),          by,
                                    wanted.from,           wanted.to,           wanted.from_columns, wanted.to_columns,
                                    wanted.after,          wanted.columns.bits, wanted.lock.bits,  sizeof(Row),
                                    0};
        cursor<Row> opened;
        if (!over_) over_ = std::make_shared<bool>(false);
        opened.code_ = ::cellar_cursor_open(txn_, &scan, &opened.handle_);
        opened.over_ = over_;
        return opened;
    }
    std::shared_ptr<::cellar> db_;
    std::shared_ptr<bool> over_; /* for its cursors; made by the first of them */
    ::cellar_txn *txn_ = nullptr;
    bool lent_ = false;
};

/* What `run` takes: int(transaction &). */
template <typename F>
concept transacting = requires(F &work, transaction &txn) {
    { work(txn) } -> std::convertible_to<int>;
};

/* Closes when it, and all transactions of it, have gone. */
class database
{
  public:
    /* path: nullptr, or as of cellar_open. */
    static database open(const char *path, const options &settings, error &why)
    {
        ::cellar *db = nullptr;
        database opened;
        if (told(::cellar_open(path, &settings, &db), why) == 0) opened.handle_ = {db, ::cellar_close};
        return opened;
    }
    database() = default;
    database(database &&) noexcept = default;
    database &operator=(database &&) noexcept = default;
    explicit operator bool() const { return static_cast<bool>(handle_); }
    ::cellar *get() const { return handle_.get(); }
    void reset() { handle_.reset(); }
    /* cellar_close, at once, for its code: calls that follow are CLOSED. BUSY: a transaction has not ended. */
    int close() const { return ::cellar_close(get()); }

    /* flags: EXISTING, ADD. False, with the error: it cannot be. */
    template <typename Row, auto... Members>
    [[nodiscard]] table<Row> open_table(const table_def &def, const definition<Row, Members...> &columns, error &why,
                          std::uint32_t flags = 0) const
    {
        indexes_in_c indexes;
        const ::cellar_table_def as_c = in_c<Row>(def, columns.as_c, indexes);
        const ::cellar_table *opened = nullptr;
        return told(::cellar_table_open(get(), &as_c, flags, &opened), why) == 0 ? table<Row>(opened) : table<Row>();
    }
    /* The table with those columns; `fresh`: what the new ones have in rows that are there. False, with the error. */
    template <typename Old, typename Row, auto... Members>
    [[nodiscard]] table<Row> alter(table<Old> of, const table_def &def, const definition<Row, Members...> &columns,
                                   const Row &fresh, error &why) const
    {
        indexes_in_c indexes;
        const ::cellar_table_def as_c = in_c<Row>(def, columns.as_c, indexes);
        const ::cellar_table *altered = nullptr;
        int code = told(::cellar_table_alter(get(), of.get(), &as_c, &fresh, &altered), why);
        return code == 0 ? table<Row>(altered) : table<Row>();
    }
    /* What transactions of this process did with the table's rows. */
    template <typename Row> ::cellar_lab_table_tally tally(table<Row> of) const
    {
        ::cellar_lab_table_tally counts{};
        ::cellar_lab_table_read(get(), of.get(), &counts);
        return counts;
    }

    /* False: it could not begin; cellar_last_error says why. */
    [[nodiscard]] transaction begin(const txn_options &options = {}) const
    {
        ::cellar_txn *txn = nullptr;
        return ::cellar_begin(get(), &options, &txn) ? transaction() : transaction(txn, handle_);
    }
    /*
     * Runs `work` until it commits; another code, or a positive number, ends it without effect. So
     * does an exception, which is thrown again once all that `work` has read was true at one moment.
     */
    template <transacting F> [[nodiscard]] int run(F &&work, const txn_options &options = {}) const
    {
        auto db = handle_; /* whatever `work` does with this owner */
        called<std::remove_reference_t<F>> frame{work, nullptr};
        int code = ::cellar_run(db.get(), frame.call, &frame, &options, nullptr);
        if (frame.thrown) std::rethrow_exception(frame.thrown);
        return code;
    }

  private:
    using indexes_in_c = std::array<::cellar_index_def, CELLAR_INDEXES_MAX + 1>;

    template <typename Row, std::size_t N>
    static ::cellar_table_def in_c(const table_def &def, const std::array<::cellar_column, N> &columns,
                                   indexes_in_c &indexes)
    {
        std::size_t count = std::min(def.indexes.size(), indexes.size());
        for (std::size_t i = 0; i < count; i++) {
            const index_def &its = def.indexes[i];
            indexes[i] = {its.name, its.columns, its.covers, its.flags, 0};
        }
        return {sizeof(::cellar_table_def),
                sizeof(Row),
                def.name,
                columns.data(),
                static_cast<std::uint32_t>(N),
                def.cluster_bits,
                def.rows,
                count ? indexes.data() : nullptr,
                static_cast<std::uint32_t>(count),
                def.flags};
    }
    template <typename F> struct called {
        F &work;
        std::exception_ptr thrown;
        /* What the engine calls; exceptions do not cross it. */
        static int call(::cellar_txn *txn, void *arg)
        {
            auto *call = static_cast<called *>(arg);
            transaction lent(txn);
#ifdef __cpp_exceptions
            call->thrown = nullptr;
            try {
                return call->work(lent);
            } catch (...) {
                call->thrown = std::current_exception();
                return 1;
            }
#else
            return call->work(lent);
#endif
        }
    };
    std::shared_ptr<::cellar> handle_;
};

} // namespace cellarpp
