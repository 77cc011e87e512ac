/* test_api_session_misuse.c - cellar.h: what calls of sessions are refused for, a code and a line each. */
#include "sessions.h"
#include "numbered.h"

#include <pthread.h>
#include <unistd.h>

static int end_itself(struct cellar_txn *txn, void *arg)
{
    (void)arg;
    return session_abort(txn);
}

static void misuse_is_told(void **state)
{
    struct sessions_pair pair;
    struct cellar_txn *txn, *none;
    uint64_t a = 0;
    if (!sessions_pair_open(&pair, *state)) skip();
    const struct cellar_table *items = pair.api.items;
    struct item item = item_of(1);
    struct session_options options = {.flags = 2};
    assert_code(session_begin(pair.one, &options, &txn), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "unknown flags", "");
    assert_null(txn);
    txn = sessions_begun(pair.one);
    assert_code(session_begin(pair.one, NULL, &none), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "has not ended", "");
    assert_code(cellar_txn_get(txn, NULL, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "the table is NULL", "");
    for (int column = -1; column <= ITEM_COLUMNS; column += ITEM_COLUMNS + 1) {
        assert_code(cellar_txn_get(txn, items, 1, column, &a), CELLAR_INVALID);
        sessions_assert_line(CELLAR_INVALID, "table items, key 1, column", "no column of this number");
        assert_code(cellar_txn_put(txn, items, 1, column, &a), CELLAR_INVALID);
        sessions_assert_line(CELLAR_INVALID, "table items, key 1, column", "no column of this number");
    }
    assert_code(cellar_rollback_to(txn, 0), CELLAR_INVALID);
    assert_code(cellar_rollback_to(txn, -1), CELLAR_INVALID);
    /* A procedure's calls know an interactive transaction. */
    assert_code(cellar_proc_access(txn, items, 1, CELL_A, 0, 0), CELLAR_INVALID);
    assert_code(cellar_proc_insert(txn, items, 1, &item), CELLAR_INVALID);
    assert_code(cellar_proc_fetch(txn), CELLAR_INVALID);
    assert_code(cellar_proc_get(txn, 0, ITEM_A, &a), CELLAR_INVALID);
    assert_code(cellar_proc_put(txn, 0, ITEM_A, &a), CELLAR_INVALID);
    assert_false(cellar_proc_found(txn, 0));
    assert_int_equal(sessions_got(&pair.api, txn, 1), 3); /* it goes on */
    assert_code(session_commit(txn, NULL), 0);
    /* After its end. */
    assert_code(cellar_txn_get(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "has ended", "");
    assert_code(cellar_txn_put(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    assert_code(cellar_txn_insert(txn, items, 1, &item), CELLAR_INVALID);
    assert_code(cellar_txn_delete(txn, items, 1), CELLAR_INVALID);
    assert_code(cellar_prefetch(txn, NULL, 0), CELLAR_INVALID);
    assert_int_equal(cellar_savepoint(txn), CELLAR_INVALID);
    assert_code(cellar_rollback_to(txn, 0), CELLAR_INVALID);
    assert_code(cellar_check(txn), CELLAR_INVALID);
    assert_code(session_commit(txn, NULL), CELLAR_INVALID);
    assert_code(session_abort(txn), CELLAR_INVALID);
    assert_code(session_commit(NULL, NULL), CELLAR_INVALID);
    session_close(pair.one);
    assert_code(session_begin(pair.one, NULL, &txn), CELLAR_CLOSED);
    sessions_assert_line(CELLAR_CLOSED, "is closed", "");
    sessions_pair_close(&pair);
}

/* A pointer that must not be NULL is refused, and the transaction goes on. */
static void nothing_where_something_is_wanted(void **state)
{
    struct sessions_pair pair;
    struct cellar_txn *txn;
    uint64_t a = 7, keys[2];
    if (!sessions_pair_open(&pair, *state)) skip();
    const struct cellar_table *items = pair.api.items;
    const struct session_options level = {.level = (enum cellar_durability)77};
    assert_code(session_begin(pair.one, &level, &txn), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "no such level", "");
    assert_code(session_begin(pair.one, NULL, NULL), CELLAR_INVALID);
    txn = sessions_begun(pair.one);
    assert_code(cellar_txn_get(txn, items, 1, ITEM_A, NULL), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "is NULL", "");
    assert_code(cellar_txn_get_for_update(txn, items, 1, ITEM_A, NULL), CELLAR_INVALID);
    assert_code(cellar_txn_put(txn, items, 1, ITEM_A, NULL), CELLAR_INVALID);
    assert_code(cellar_txn_insert(txn, items, 100, NULL), CELLAR_INVALID);
    assert_code(cellar_prefetch(txn, NULL, 1), CELLAR_INVALID);
    assert_code(cellar_prefetch(txn, NULL, 0), 0);
    assert_code(cellar_txn_scan(txn, NULL, NULL, 0, 0, keys, 2), CELLAR_INVALID);
    assert_code(cellar_txn_put(txn, items, 1, ITEM_A, &a), 0);
    assert_code(session_commit(txn, NULL), 0);
    assert_code(session_transact(pair.one, NULL, NULL), CELLAR_INVALID);
    txn = sessions_begun(pair.two);
    assert_int_equal(sessions_got(&pair.api, txn, 1), 7);
    assert_code(session_commit(txn, NULL), 0);
    assert_code(cellar_column_of(items, NULL), CELLAR_INVALID);
    assert_null(cellar_table_find(pair.api.db, NULL));
    assert_int_equal(cellar_cells_of(items, NULL), CELLAR_CELLS_UNKNOWN);
    FAILS(&pair.api.error, db_table_create(pair.api.db, NULL, NULL, &pair.api.error), CELLAR_INVALID, "schema");
    FAILS(&pair.api.error, db_open(NULL, NULL, &pair.api.error), CELLAR_INVALID, "no place");
    assert_code(cellar_proc_run(pair.api.db, NULL, NULL, NULL, NULL), CELLAR_INVALID);
    assert_code(cellar_lab_run(pair.api.db, NULL, NULL), CELLAR_INVALID);
    sessions_pair_close(&pair);
}

/* A procedure's own transaction is none of a session's: it ends when that returns. */
static int mistaken(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int code = cellar_txn_get(txn, call->items, 1, ITEM_A, &a);
    bool ends = session_commit(txn, NULL) != CELLAR_INVALID || session_abort(txn) != CELLAR_INVALID;
    return code || ends ? -1000 : 1000;
}

static void read_only_transactions_and_bounds(void **state)
{
    struct sessions_pair pair;
    struct cellar_txn *txn;
    struct api_call call;
    uint64_t a;
    uint32_t cancel = 0;
    if (!sessions_pair_open(&pair, *state)) skip();
    const struct cellar_table *items = pair.api.items;
    struct item item = item_of(50);
    struct session_options options = {.flags = CELLAR_READ_ONLY};
    assert_code(api_run(&pair.api, mistaken, &call), 1000);
    assert_code(session_begin(pair.one, &options, &txn), 0);
    assert_code(cellar_txn_put(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "begun read-only", "");
    assert_code(cellar_txn_insert(txn, items, 50, &item), CELLAR_INVALID);
    assert_code(cellar_txn_delete(txn, items, 1), CELLAR_INVALID);
    assert_int_equal(sessions_got(&pair.api, txn, 1), 3);
    assert_int_equal(sessions_got(&pair.api, txn, 2), 6);
    assert_code(session_commit(txn, NULL), 0);
    options = (struct session_options){.timeout_ns = 1};
    assert_code(session_begin(pair.one, &options, &txn), 0);
    if (pair.api.variant->threads) usleep(10);
    if (pair.api.variant->threads) assert_code(cellar_txn_get(txn, items, 1, ITEM_A, &a), CELLAR_DEADLINE);
    if (pair.api.variant->threads) sessions_assert_line(CELLAR_DEADLINE, "its timeout, in nanoseconds, 1", "");
    assert_code(session_abort(txn), 0);
    options = (struct session_options){.cancel = &cancel};
    assert_code(session_begin(pair.one, &options, &txn), 0);
    sessions_put(&pair.api, txn, 1, 99);
    cancel = 1;
    assert_code(session_commit(txn, NULL), CELLAR_CANCELLED);
    assert_int_equal(look_at(&pair.api, 1).item.a, 3);
    sessions_pair_close(&pair);
}

static void sizes_have_limits(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    uint64_t key = 0, a = 1;
    int rc = 0;
    for (; key <= CELLAR_INTERACTIVE_RECORDS_MAX && rc == 0; key++)
        rc = cellar_txn_put(txn, pair.api.items, key, ITEM_A, &a);
    assert_code(rc, CELLAR_TOO_LARGE);
    assert_int_equal(key, CELLAR_INTERACTIVE_RECORDS_MAX + 1);
    sessions_assert_line(CELLAR_TOO_LARGE, "more records", "131072");
    assert_code(session_abort(txn), 0);
    assert_int_equal(sessions_sum_of(&pair.api), 3 * 45);
    sessions_pair_close(&pair);
}

struct stranger {
    struct sessions_pair *pair;
    struct cellar_txn *txn;
    int codes[6];
    struct cellar_error error;
};

static void *use_anothers(void *arg)
{
    struct stranger *stranger = arg;
    uint64_t a;
    stranger->codes[0] = cellar_txn_get(stranger->txn, stranger->pair->api.items, 1, ITEM_A, &a);
    stranger->codes[1] = cellar_txn_put(stranger->txn, stranger->pair->api.items, 1, ITEM_A, &a);
    stranger->codes[2] = session_commit(stranger->txn, NULL);
    stranger->codes[3] = session_abort(stranger->txn);
    stranger->codes[4] = session_begin(stranger->pair->one, NULL, &stranger->txn);
    stranger->codes[5] = session_transact(stranger->pair->one, end_itself, NULL);
    stranger->error = *cellar_last_error();
    session_close(stranger->pair->one);
    return NULL;
}

static void other_threads_are_refused(void **state)
{
    struct sessions_pair pair;
    pthread_t thread;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct stranger stranger = {.pair = &pair, .txn = sessions_begun(pair.one)};
    struct cellar_txn *txn = stranger.txn;
    assert_int_equal(pthread_create(&thread, NULL, use_anothers, &stranger), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 6; i++) assert_code(stranger.codes[i], CELLAR_INVALID);
    assert_non_null(strstr(stranger.error.text, "belongs to another thread"));
    sessions_put(&pair.api, txn, 1, 4);
    assert_code(session_commit(txn, NULL), 0);
    sessions_pair_close(&pair);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(misuse_is_told),
        API_TEST(nothing_where_something_is_wanted),
        API_TEST(read_only_transactions_and_bounds),
        API_TEST(sizes_have_limits),
        API_TEST(other_threads_are_refused),
    };
    return api_main("api_session_misuse", tests, sizeof tests / sizeof *tests, argc, argv);
}
