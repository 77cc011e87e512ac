/*
 * sessions.h - what tests of sessions share: a table with ten items, and two sessions of this thread.
 */
#pragma once

#include "api_items.h"
#include "numbered.h"
#include "hash_bits.h"
#include "plant.h"
#include "session.h"

static inline bool sessions_possible(const struct api_variant *variant) { return variant->cc != CELLAR_LAB_CC_TWOPL; }

static inline struct session *sessions_opened(struct api *api)
{
    struct session *session;
    MUST(&api->error, session_open(api->db, &session, &api->error));
    return session;
}

static inline struct cellar_txn *sessions_begun(struct session *session)
{
    const struct session_options options = {.lock_ns = 1000000000}; /* this thread may stand still for long */
    struct cellar_txn *txn;
    assert_code(session_begin(session, &options, &txn), 0);
    return txn;
}

static inline uint64_t sessions_got(struct api *api, struct cellar_txn *txn, uint64_t key)
{
    uint64_t a = 0;
    assert_code(cellar_txn_get(txn, api->items, key, ITEM_A, &a), 0);
    return a;
}

static inline void sessions_put(struct api *api, struct cellar_txn *txn, uint64_t key, uint64_t a)
{
    assert_code(cellar_txn_put(txn, api->items, key, ITEM_A, &a), 0);
}

/* The last call of this thread failed so, and its line has these words. */
static inline void sessions_assert_line(int code, const char *word, const char *other)
{
    const struct cellar_error *error = cellar_last_error();
    if (error->code != code || !strstr(error->text, word) || !strstr(error->text, other))
        fail_msg("%d \"%s\": not %d with \"%s\" and \"%s\"", error->code, error->text, code, word, other);
}

static inline uint64_t sessions_sum_of(struct api *api)
{
    struct api_range totals = api_totals(api);
    return totals.sum_a;
}

/* With ten items and two sessions; false where there are none. */
struct sessions_pair {
    struct api api;
    struct session *one, *two;
};

static inline bool sessions_pair_open(struct sessions_pair *pair, const struct api_variant *variant)
{
    if (!sessions_possible(variant)) return false;
    api_open(&pair->api, variant);
    api_load(&pair->api, 0, 10);
    pair->one = sessions_opened(&pair->api);
    pair->two = sessions_opened(&pair->api);
    return true;
}

static inline void sessions_pair_close(struct sessions_pair *pair)
{
    session_close(pair->one);
    session_close(pair->two);
    api_audit_clean(&pair->api);
    api_close(&pair->api);
}

#ifdef CELLAR_PLANTS
/* With that bug, is what is good no longer so? */
static inline bool sessions_show(struct sessions_pair *pair, const char *plant,
                                 bool (*good)(struct sessions_pair *pair))
{
    assert_true(plant_choose(plant));
    bool met = good(pair);
    assert_true(plant_choose(NULL));
    return !met;
}
#endif
