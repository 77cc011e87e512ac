/*
 * test_ordered_sessions.c - interactive transactions keep ordered indexes as procedures do: leaves split and are merged
 * for commits of sessions, whose notes the transactions that do so do not serve; and an index that is scanned by
 * procedures meanwhile agrees with the rows.
 */
#include "ordered.h"
#include "numbered.h"
#include "rivals.h"
#include "session.h"

#define ROUNDS 300
#define KEYS 1500

static bool possible(const struct api_variant *variant)
{
    return ordered_supported(variant) && variant->cc != CELLAR_LAB_CC_TWOPL; /* mode 2pl has no sessions */
}

/* Puts a row, new or not, or takes one out; each key is read first, so that there is a note of it. */
static int change_one(struct ordered *ordered, struct cellar_txn *txn, uint64_t key, uint64_t a, enum ordered_kind kind)
{
    const struct cellar_table *items = ordered->api.items;
    struct item item = ordered_item(key, a);
    uint64_t before;
    int rc = cellar_txn_get(txn, items, key, ITEM_A, &before);
    bool found = rc == 0;
    if (rc != 0 && rc != CELLAR_NOT_FOUND) return rc;
    assert_int_equal(found, ordered->there[key]);
    if (found) assert_true(before == ordered->a[key]);
    if (kind == ORDERED_DELETE) return found ? cellar_txn_delete(txn, items, key) : 0;
    if (!found) return cellar_txn_insert(txn, items, key, &item);
    TRY(cellar_txn_put(txn, items, key, ITEM_A, &item.a));
    return cellar_txn_put(txn, items, key, ITEM_N, &item.n);
}

/* Commits; alone in the database, so nothing it has read is changed by others. */
static void change_by(struct ordered *ordered, struct session *session, const struct ordered_change *change)
{
    struct cellar_result result;
    struct cellar_txn *txn;
    assert_int_equal(session_begin(session, NULL, &txn), 0);
    for (uint32_t i = 0; i < change->count; i++)
        assert_int_equal(change_one(ordered, txn, change->steps[i].key, change->steps[i].a, change->steps[i].kind), 0);
    assert_int_equal(session_commit(txn, &result), 0);
    ordered_apply(ordered, change);
}

static void sessions_keep_the_indexes(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change;
    struct session *session;
    struct prng prng;
    if (!possible(*state)) skip();
    ordered_open(&ordered, *state);
    MUST(&ordered.api.error, session_open(ordered.api.db, &session, &ordered.api.error));
    prng_seed(&prng, 11);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        ordered_draw(&prng, &change, KEYS, round % 2 ? 40 : 1000000);
        if (round >= ROUNDS / 2) /* the leaves empty again */
            for (uint32_t i = 0; i < change.count; i++)
                if (prng_below(&prng, 3)) change.steps[i].kind = ORDERED_DELETE;
        if (round % 3)
            change_by(&ordered, session, &change);
        else
            ordered_call(&ordered, &change);
        if (round % 60 == 59) {
            api_audit_clean(&ordered.api);
            ordered_compare(&ordered, 0, UINT64_MAX, round % 120 == 59 ? CELLAR_BACKWARD : 0, 0, 0);
        }
    }
    session_close(session);
    ordered_close(&ordered);
}

/* What a session has not committed is in no index, and a rollback takes its changes of them with it. */
static void what_is_given_up_is_in_no_index(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change;
    struct session *session;
    struct cellar_txn *txn;
    uint64_t a = 77;
    if (!possible(*state)) skip();
    ordered_open(&ordered, *state);
    change.count = 1;
    change.steps[0].key = 5;
    change.steps[0].a = 5;
    ordered_call(&ordered, &change);
    MUST(&ordered.api.error, session_open(ordered.api.db, &session, &ordered.api.error));
    assert_int_equal(session_begin(session, NULL, &txn), 0);
    assert_int_equal(cellar_txn_put(txn, ordered.api.items, 5, ITEM_A, &a), 0);
    session_abort(txn);
    ordered_compare(&ordered, 0, UINT64_MAX, 0, 0, CELL_A);
    assert_int_equal(session_begin(session, NULL, &txn), 0);
    int savepoint = cellar_savepoint(txn);
    assert_true(savepoint >= 0);
    assert_int_equal(cellar_txn_delete(txn, ordered.api.items, 5), 0);
    assert_int_equal(cellar_rollback_to(txn, savepoint), 0);
    assert_int_equal(session_commit(txn, NULL), 0);
    ordered_compare(&ordered, 0, UINT64_MAX, 0, 0, CELL_A);
    session_close(session);
    ordered_close(&ordered);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST(sessions_keep_the_indexes), API_TEST(what_is_given_up_is_in_no_index)};
    return api_main("ordered_sessions", tests, sizeof tests / sizeof *tests, argc, argv);
}
