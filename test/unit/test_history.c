/* test_history.c - the arrays of a history. */
#include "history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void transactions_keep_their_accesses(void **state)
{
    struct history history = {0};
    (void)state;
    for (uint64_t id = 0; id < 1000; id++) {
        struct history_access accesses[7];
        memset(accesses, 0, sizeof accesses);
        for (uint32_t i = 0; i < 7; i++) accesses[i].key = id * 10 + i;
        const struct history_txn txn = {.id = id, .count = (uint32_t)(id % 8), .first = 12345};
        assert_int_equal(history_txn_add(&history, &txn, id % 8 ? accesses : NULL), 0);
        const struct history_final final = {.key = id};
        assert_int_equal(history_final_add(&history, &final), 0);
    }
    assert_int_equal(history.txn_count, 1000);
    assert_int_equal(history.final_count, 1000);
    uint64_t first = 0;
    for (uint64_t id = 0; id < 1000; id++) {
        const struct history_txn *txn = &history.txns[id];
        assert_int_equal(txn->id, id);
        assert_int_equal(txn->first, first);
        assert_int_equal(history.finals[id].key, id);
        for (uint32_t i = 0; i < txn->count; i++) assert_int_equal(history.accesses[first + i].key, id * 10 + i);
        first += txn->count;
    }
    assert_int_equal(history.access_count, first);
    history_free(&history);
    assert_null(history.txns);
    assert_int_equal(history.txn_count, 0);
}

static void more_than_memory_is_refused(void **state)
{
    struct history history = {.access_count = UINT64_MAX - 2};
    const struct history_txn txn = {.count = 5};
    const struct history_access accesses[5] = {{0}};
    (void)state;
    assert_int_equal(history_txn_add(&history, &txn, accesses), CELLAR_NOMEM);
    history.access_count = UINT64_MAX / sizeof *accesses;
    assert_int_equal(history_txn_add(&history, &txn, accesses), CELLAR_NOMEM);
}

static void tables_have_names(void **state)
{
    struct history history = {0};
    char buffer[CELLAR_NAME_BYTES];
    (void)state;
    assert_int_equal(history_table_add(&history, 1, 0, "accounts"), 0);
    assert_int_equal(history_table_add(&history, 7, 0, "a name that is far longer than names may be"), 0);
    assert_string_equal(history_table_name(&history, 1, buffer), "accounts");
    assert_string_equal(history_table_name(&history, 7, buffer), "a name that is far longer than ");
    assert_string_equal(history_table_name(&history, 2, buffer), "table 2");
    history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transactions_keep_their_accesses),
        cmocka_unit_test(more_than_memory_is_refused),
        cmocka_unit_test(tables_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
