/*
 * test_api_session_unseen.c - cellar.h: a session changes a record unseen, then reads it; another transaction changes
 * it; the commit tells what has become of it, and does not try what can only fail (INV-DRAFT-5).
 */
#include "sessions.h"
#include "numbered.h"

#define BOUND_NS 30000000000ull /* more than a slow machine takes */
#define SOON_NS 1000000000ull
#define ATTEMPTS_MAX 20

enum how { PUT, INSERT, DELETE, HOWS };
enum met { NOTHING, CHANGE, TURN, METS }; /* what the other transaction did; TURN: what is there goes, or comes */

/* A record that is there, or is not; what the session does to it, and what the other one does. */
struct unseen {
    enum how how;
    enum met met;
    bool there;
};

static uint64_t key_of(bool there) { return there ? 3 : 13; }

static int change(struct api *api, struct cellar_txn *txn, enum how how, uint64_t key)
{
    struct item item = item_of(key + 100);
    if (how == PUT) return cellar_txn_put(txn, api->items, key, ITEM_A, &item.a);
    if (how == INSERT) return cellar_txn_insert(txn, api->items, key, &item);
    return cellar_txn_delete(txn, api->items, key);
}

static bool is_changed(const struct unseen *unseen)
{
    return unseen->met == TURN || (unseen->met == CHANGE && unseen->there);
}

static void change_meanwhile(struct sessions_pair *pair, const struct unseen *unseen)
{
    enum how how = unseen->met == CHANGE ? PUT : unseen->there ? DELETE : INSERT;
    struct cellar_txn *txn = sessions_begun(pair->two);
    if (is_changed(unseen)) assert_code(change(&pair->api, txn, how, key_of(unseen->there)), 0);
    assert_code(session_commit(txn, NULL), 0);
}

static int expected(const struct unseen *unseen)
{
    if (is_changed(unseen)) return CELLAR_RETRY;
    if (unseen->how == INSERT) return unseen->there ? CELLAR_EXISTS : 0;
    return unseen->there ? 0 : CELLAR_NOT_FOUND;
}

/* Does the commit end as it should, within a few attempts? */
static bool ends_right(struct sessions_pair *pair, const struct unseen *unseen, uint64_t bound_ns)
{
    struct api *api = &pair->api;
    uint64_t key = key_of(unseen->there);
    const struct session_options options = {.timeout_ns = bound_ns};
    const struct cellar_txn_read reads[] = {{api->items, key, CELLAR_ALL_CELLS}, {api->items, 4, CELL_A}};
    struct cellar_result result = {0};
    struct cellar_txn *txn;
    assert_code(session_begin(pair->one, &options, &txn), 0);
    assert_code(change(api, txn, unseen->how, key), 0);
    assert_code(cellar_prefetch(txn, reads, 2), 0);
    change_meanwhile(pair, unseen);
    int rc = session_commit(txn, &result);
    if (rc == expected(unseen) && result.attempts <= ATTEMPTS_MAX) return true;
    print_message("change %d, there %d, met %d: %d, %u attempts\n", unseen->how, unseen->there, unseen->met, rc,
                  result.attempts);
    return false;
}

static bool all_end_right(const struct api_variant *variant, uint64_t bound_ns)
{
    bool right = true;
    for (int i = 0; i < HOWS * METS * 2 && right; i++) {
        const struct unseen unseen = {(enum how)(i % HOWS), (enum met)(i / HOWS % METS), i / HOWS / METS};
        struct sessions_pair pair;
        assert_true(sessions_pair_open(&pair, variant));
        right = ends_right(&pair, &unseen, bound_ns);
        sessions_pair_close(&pair);
    }
    return right;
}

static void what_is_changed_unseen_ends_at_once(void **state)
{
    if (!sessions_possible(*state)) skip();
    assert_true(all_end_right(*state, BOUND_NS));
}

#ifdef CELLAR_PLANTS
/* In other modes an insert that takes a slot has read what was there. */
static void its_plant_is_met(void **state)
{
    const struct api_variant *variant = *state;
    if (variant->cc != CELLAR_LAB_CC_CREST) skip();
    assert_true(plant_choose("draft_insert_over_read"));
    bool right = all_end_right(variant, SOON_NS);
    assert_true(plant_choose(NULL));
    assert_false(right);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(what_is_changed_unseen_ends_at_once),
#ifdef CELLAR_PLANTS
        API_TEST_SHM(its_plant_is_met),
#endif
    };
    return api_main("api_session_unseen", tests, sizeof tests / sizeof *tests, argc, argv);
}
