/*
 * test_twopl_learnt.c - mode 2pl: an attempt asks first for the locks of those before it. A call whose attempts go
 * other ways learns more than one may hold, and goes on.
 */
#include "api.h"
#include "numbered.h"
#include "rivals.h"

#define READS 200
#define ATTEMPTS 12 /* READS * ATTEMPTS is more than a transaction's locks */

struct wanderer {
    const struct cellar_table *items;
    uint32_t attempts;
};

/* Reads a part of the table of its own, and wants to change what it has read: that ends all attempts but the last. */
static int wander(struct cellar_txn *txn, void *arg)
{
    struct wanderer *wanderer = arg;
    uint64_t first = wanderer->attempts++ % ATTEMPTS * READS, b = 0;
    for (uint64_t i = 0; i < READS; i++) TRY(cellar_proc_access(txn, wanderer->items, first + i, CELL_A, 0, 0));
    TRY(cellar_proc_fetch(txn));
    if (wanderer->attempts >= ATTEMPTS) return 0;
    int ref = cellar_proc_access(txn, wanderer->items, first, 0, CELL_B, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_put(txn, ref, ITEM_B, &b);
}

static void what_was_learnt_is_forgotten_when_it_is_too_much(void **state)
{
    struct api api;
    const struct api_variant *variant = *state;
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {.name = "wander", .fn = wander, .records_max = READS + 1, .writes_max = 1};
    if (variant->cc != CELLAR_LAB_CC_TWOPL) skip();
    api_open_with(&api, variant, (struct engine_config){.threads = 1, .coros = 1});
    api_load(&api, 0, READS * ATTEMPTS);
    MUST(&api.error, db_proc_register(api.db, &def, &proc, &api.error));
    struct wanderer wanderer = {.items = api.items};
    assert_code(cellar_proc_run(api.db, proc, &wanderer, NULL, NULL), 0);
    assert_true(wanderer.attempts >= ATTEMPTS);
    api_audit_clean(&api);
    api_close(&api);
}

#define UPGRADES 60
#define ATTEMPT_NS 1000000 /* of virtual time: with a back-off an attempt takes seven times as long */

/* Reads records, and changes one after the other: each change ends an attempt, and no other transaction is why. */
static int upgrade(struct cellar_txn *txn, struct api_call *call)
{
    const uint64_t b = 1;
    for (uint64_t key = 0; key < UPGRADES; key++) TRY(cellar_proc_access(txn, call->items, key, CELL_A, 0, 0));
    TRY(cellar_proc_fetch(txn));
    for (uint64_t key = 0; key < UPGRADES; key++) {
        int ref = cellar_proc_access(txn, call->items, key, 0, CELL_B, 0);
        TRY(ref);
        TRY(cellar_proc_fetch(txn));
        TRY(cellar_proc_put(txn, ref, ITEM_B, &b));
    }
    return 0;
}

static void who_knows_more_tries_again_at_once(void **state)
{
    struct api api;
    const struct api_variant *variant = *state;
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {
        .name = "upgrade", .fn = api_any, .records_max = UPGRADES, .writes_max = UPGRADES};
    if (variant->cc != CELLAR_LAB_CC_TWOPL || variant->threads) skip();
    api_open_with(&api, variant, (struct engine_config){.threads = 1, .coros = 1});
    api_load(&api, 0, UPGRADES);
    MUST(&api.error, db_proc_register(api.db, &def, &proc, &api.error));
    struct api_call call = {.body = upgrade, .items = api.items};
    assert_code(cellar_proc_run(api.db, proc, &call, NULL, &api.result), 0);
    assert_int_equal(api.result.attempts, UPGRADES + 1);
    assert_true(api.result.latency_ns < (UPGRADES + 1) * (uint64_t)ATTEMPT_NS);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(what_was_learnt_is_forgotten_when_it_is_too_much),
        API_TEST(who_knows_more_tries_again_at_once),
    };
    return api_main("twopl_learnt", tests, sizeof tests / sizeof *tests, argc, argv);
}
