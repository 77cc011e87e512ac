/*
 * cellar.hpp - cellar.h for C++20: owners that close what they own, spans for bytes, codes instead of exceptions. Adds
 * no behaviour: what a call promises is in cellar.h, under its name there.
 *
 *     auto db = cellarpp::database::open("bank", {}, error);
 *     int code = db.run([&](cellarpp::transaction &txn) {
 *         auto cents = txn.get<int64_t>(accounts, 7, CENTS);
 *         return cents ? txn.put(accounts, 7, CENTS, cents.value - 100) : cents.code;
 *     });
 *
 * Each call returns a code, 0 or more when it went well. An owner that could not be opened is false, and `error` says
 * why. Owners may go in any order: a transaction keeps its database open. The function handed to `run`
 * may run several times; an exception that leaves it aborts, and comes out of `run`.
 */
#pragma once

#include "cellar_lab.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace cellarpp
{ /* `cellar` is the database's type in C */

using error = ::cellar_error;
using table = const ::cellar_table *;
using index = const ::cellar_index *;
using bytes = std::span<const std::byte>;

/* What cellar_open takes. */
struct options : ::cellar_options {
    options() : ::cellar_options{} { size = sizeof(::cellar_options); }
};

/* Returns the code; `why` says of one that is negative what it was about. */
inline int told(int code, error &why)
{
    if (code < 0) why = *::cellar_last_error();
    return code;
}

/* A value, or why there is none. */
template <typename T> struct result {
    int code;
    T value;
    explicit operator bool() const { return code >= 0; }
};

/* What lies in a column as it is. */
template <typename T>
concept column_value = std::is_trivially_copyable_v<T>;

/* An owner of a handle that is closed by `close`; moved, not copied. */
template <typename T, auto close> class owner
{
  public:
    owner() = default;
    explicit owner(T *handle) : handle_(handle) {}
    owner(owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) reset(std::exchange(other.handle_, nullptr));
        return *this;
    }
    ~owner() { reset(nullptr); }
    explicit operator bool() const { return handle_ != nullptr; }
    T *get() const { return handle_; }
    T *release() { return std::exchange(handle_, nullptr); }
    void reset(T *handle)
    {
        if (handle_) (void)close(handle_);
        handle_ = handle;
    }

  private:
    T *handle_ = nullptr;
};

class transaction;
struct txn_options;

class database
{
  public:
    /* path: nullptr, or as of cellar_open. */
    static database open(const char *path, const options &settings, error &why)
    {
        ::cellar *db = nullptr;
        return told(::cellar_open(path, &settings, &db), why) == 0 ? database({db, ::cellar_close}) : database({});
    }
    database(database &&) noexcept = default;
    database &operator=(database &&) noexcept = default;
    explicit operator bool() const { return static_cast<bool>(handle_); }
    ::cellar *get() const { return handle_.get(); }
    /* NULL, with the error: it cannot be. */
    table create(const ::cellar_schema &schema, error &why) const
    {
        table made = nullptr;
        return told(::cellar_table_create(get(), &schema, &made), why) == 0 ? made : nullptr;
    }
    /* The same table with another schema; `row` has the values of new columns. NULL, with the error, likewise. */
    table alter(table of, const ::cellar_schema &schema, const void *row, error &why) const
    {
        table altered = nullptr;
        (void)told(::cellar_table_alter(get(), of, &schema, row, &altered), why);
        return altered;
    }
    table find(const char *name) const { return ::cellar_table_find(get(), name); }
    index create(table of, const ::cellar_schema_index &def, error &why) const
    {
        index made = nullptr;
        return told(::cellar_index_create(get(), of, &def, &made), why) == 0 ? made : nullptr;
    }
    /* What transactions of this process did with the table's records. */
    ::cellar_lab_table_tally tally(table of) const
    {
        ::cellar_lab_table_tally counts;
        ::cellar_lab_table_read(get(), of, &counts);
        return counts;
    }

    /* False: it could not begin; cellar_last_error says why. */
    transaction begin(const txn_options &options) const;
    transaction begin() const;
    /*
     * Runs `work`, int(transaction &), until it commits; another code, or a positive number, ends it without effect. So
     * does an exception, which is thrown again once all that `work` has read was true at one moment.
     */
    template <std::invocable<transaction &> F> int run(F &&work, const txn_options &options) const;
    template <std::invocable<transaction &> F> int run(F &&work) const;

  private:
    template <typename F> struct called;
    explicit database(std::shared_ptr<::cellar> db) : handle_(std::move(db)) {}
    std::shared_ptr<::cellar> handle_;
};

/*
 * Aborts when it goes, unless it was committed. Lent by `run`, it does neither, and does not move from there. It keeps
 * its database open.
 */
class transaction
{
  public:
    explicit transaction(::cellar_txn *txn, bool lent = false) : txn_(txn), lent_(lent) {}
    transaction(::cellar_txn *txn, std::shared_ptr<::cellar> db) : db_(std::move(db)), txn_(txn), lent_(false) {}
    transaction(transaction &&other) noexcept
        : db_(std::move(other.db_)), txn_(other.lent_ ? nullptr : std::exchange(other.txn_, nullptr)),
          lent_(other.lent_)
    {
    }
    transaction &operator=(transaction &&) = delete;
    ~transaction()
    {
        if (txn_ && !lent_) ::cellar_abort(txn_);
    }
    explicit operator bool() const { return txn_ != nullptr; }
    ::cellar_txn *get() const { return txn_; }

    template <column_value T> result<T> get(table of, std::uint64_t key, int column) const
    {
        result<T> got{};
        got.code = ::cellar_txn_get(txn_, of, key, column, &got.value);
        return got;
    }
    template <column_value T> result<T> get_for_update(table of, std::uint64_t key, int column) const
    {
        result<T> got{};
        got.code = ::cellar_txn_get_for_update(txn_, of, key, column, &got.value);
        return got;
    }
    template <column_value T> int put(table of, std::uint64_t key, int column, const T &value) const
    {
        return ::cellar_txn_put(txn_, of, key, column, &value);
    }
    template <column_value Row> int insert(table of, std::uint64_t key, const Row &row) const
    {
        return ::cellar_txn_insert(txn_, of, key, &row);
    }
    /* Columns of variable length: how many bytes the value has; its bytes are in `to`, if they fit. */
    result<std::size_t> get_bytes(table of, std::uint64_t key, int column, std::span<std::byte> to) const
    {
        result<std::size_t> got{};
        got.code = ::cellar_txn_get_bytes(txn_, of, key, column, to.data(), to.size(), &got.value);
        return got;
    }
    int put_bytes(table of, std::uint64_t key, int column, bytes value) const
    {
        return ::cellar_txn_put_bytes(txn_, of, key, column, value.data(), value.size());
    }
    int remove(table of, std::uint64_t key) const { return ::cellar_txn_delete(txn_, of, key); }
    int prefetch(std::span<const ::cellar_txn_read> reads) const
    {
        if (reads.size() > UINT32_MAX) return CELLAR_TOO_LARGE;
        return ::cellar_prefetch(txn_, reads.data(), static_cast<std::uint32_t>(reads.size()));
    }
    /* How many keys were found; their first ones are in `keys`. */
    int scan(index of, const ::cellar_range &range, std::span<std::uint64_t> keys, ::cellar_cells cells = 0,
             std::uint32_t flags = 0) const
    {
        return ::cellar_txn_scan(txn_, of, &range, cells, flags, keys.data(), keys.size());
    }
    /* With the index's columns in `rows`, of which there are as many as keys; no record is read. */
    template <column_value Row>
    int scan_rows(index of, const ::cellar_range &range, std::span<std::uint64_t> keys, std::span<Row> rows,
                  std::uint32_t flags = 0) const
    {
        return ::cellar_txn_scan_rows(txn_, of, &range, flags, keys.data(), rows.data(),
                                      std::min(keys.size(), rows.size()));
    }

    /* Tables whose keys are byte strings. */
    result<std::uint64_t> find(table of, bytes key) const
    {
        result<std::uint64_t> record{CELLAR_TOO_LARGE, 0};
        if (key.size() > UINT32_MAX) return record;
        record.code = ::cellar_txn_find(txn_, of, key.data(), static_cast<std::uint32_t>(key.size()), &record.value);
        return record;
    }
    template <column_value Row> result<std::uint64_t> add(table of, const Row &row) const
    {
        result<std::uint64_t> record{};
        record.code = ::cellar_txn_add(txn_, of, &row, &record.value);
        return record;
    }
    int remove_record(table of, std::uint64_t record) const { return ::cellar_txn_remove(txn_, of, record); }

    int savepoint() const { return ::cellar_savepoint(txn_); }
    int rollback_to(int savepoint) const { return ::cellar_rollback_to(txn_, savepoint); }
    int release(int savepoint) const { return ::cellar_release(txn_, savepoint); }
    int check() const { return ::cellar_check(txn_); }
    int commit() { return ::cellar_commit(std::exchange(txn_, nullptr), nullptr); }

  private:
    std::shared_ptr<::cellar> db_;
    ::cellar_txn *txn_;
    bool lent_;
};

/* What cellar_begin and cellar_run take. */
struct txn_options : ::cellar_txn_options {
    txn_options() : ::cellar_txn_options{} { size = sizeof(::cellar_txn_options); }
};

inline transaction database::begin() const { return begin(txn_options{}); }
inline transaction database::begin(const txn_options &options) const
{
    ::cellar_txn *txn = nullptr;
    if (::cellar_begin(get(), &options, &txn)) return transaction(nullptr);
    return transaction(txn, handle_);
}

template <typename F> struct database::called {
    F &work;
    std::exception_ptr thrown;
    /* What the engine calls; exceptions do not cross it. */
    static int call(::cellar_txn *txn, void *arg)
    {
        auto *call = static_cast<called *>(arg);
        transaction lent(txn, true);
#ifdef __cpp_exceptions
        call->thrown = nullptr;
        try {
            return call->work(lent);
        } catch (...) {
            call->thrown = std::current_exception();
            return CELLAR_USER_ABORT;
        }
#else
        return call->work(lent);
#endif
    }
};

template <std::invocable<transaction &> F> int database::run(F &&work) const
{
     return run(std::forward<F>(work), txn_options{}); }
template <std::invocable<transaction &> F> int database::run(F &&work, const txn_options &options) const
{
    auto db = handle_; /* whatever `work` does with this owner */
    called<std::remove_reference_t<F>> called{work, nullptr};
    int code = ::cellar_run(db.get(), called.call, &called, &options, nullptr);
    if (called.thrown) std::rethrow_exception(called.thrown);
    return code;
}

/* The bytes of a text, as a key. */
inline bytes key_of(std::span<const char> text) { return std::as_bytes(text); }

} // namespace cellarpp
