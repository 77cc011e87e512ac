/*
 * test_history_sessions.c - interactive transactions that read for update, insert and delete, beside procedures that
 * change the same few records, by threads at once: what all of them record is strictly serializable.
 */
#include "recorded.h"
#include "numbered.h"

#include "history_check.h"
#include "prng.h"
#include "sessions.h"

#include <pthread.h>

#define KEYS 6
#define ROUNDS 150
#define THREADS 4 /* every other one calls procedures */

struct actor {
    struct recorded *recorded;
    struct prng prng;
    pthread_t thread;
    uint32_t committed;
    int odd; /* a code that no transaction ends with */
};

static uint64_t some_key(struct actor *actor) { return prng_below(&actor->prng, KEYS); }

/* An end that others' changes, or a bound, may bring. */
static void ended(struct actor *actor, int rc)
{
    actor->committed += rc == 0;
    bool usual =
        rc == 0 || rc == CELLAR_RETRY || rc == CELLAR_DEADLINE || rc == CELLAR_EXISTS || rc == CELLAR_NOT_FOUND;
    if (!usual) actor->odd = rc;
}

static int change_locked(struct actor *actor, struct cellar_txn *txn)
{
    const struct cellar_table *items = actor->recorded->api.items;
    uint64_t a, b, key = some_key(actor);
    TRY(cellar_txn_get_for_update(txn, items, key, ITEM_A, &a));
    int rc = cellar_txn_get(txn, items, some_key(actor), ITEM_A, &b);
    if (rc && rc != CELLAR_NOT_FOUND) return rc;
    if (prng_below(&actor->prng, 3) == 0) return cellar_txn_delete(txn, items, key);
    a++;
    TRY(cellar_txn_put(txn, items, key, ITEM_A, &a));
    rc = cellar_txn_put(txn, items, some_key(actor), ITEM_B, &a); /* others have it, too: the commit begins again */
    return rc == CELLAR_NOT_FOUND ? 0 : rc;
}

static int insert_again(struct actor *actor, struct cellar_txn *txn)
{
    uint64_t key = some_key(actor);
    struct item item = item_of(prng_below(&actor->prng, 1000));
    return cellar_txn_insert(txn, actor->recorded->api.items, key, &item);
}

static void *interact(void *arg)
{
    struct actor *actor = arg;
    struct session *session;
    actor->odd = session_open(actor->recorded->api.db, &session, NULL);
    for (uint32_t i = 0; i < ROUNDS && actor->odd == 0; i++) {
        const struct session_options options = {.lock_ns = 1000000000}; /* a machine may be slow */
        struct cellar_txn *txn;
        int rc = session_begin(session, &options, &txn);
        if (rc == 0) rc = i % 3 == 2 ? insert_again(actor, txn) : change_locked(actor, txn);
        ended(actor, rc ? rc : session_commit(txn, NULL));
        if (rc) (void)session_abort(txn);
    }
    if (actor->odd == 0) session_close(session);
    return NULL;
}

static void *call(void *arg)
{
    struct actor *actor = arg;
    struct api *api = &actor->recorded->api;
    struct cellar_result result;
    for (uint32_t i = 0; i < ROUNDS && actor->odd == 0; i++) {
        struct add args = add_args(api, some_key(actor), some_key(actor));
        ended(actor, cellar_proc_run(api->db, api->any, &args, NULL, &result));
    }
    return NULL;
}

/* Is it strictly serializable? *verdict tells. `replicas`: backups, each on a memory node of its own. */
static bool played(const struct api_variant *variant, uint32_t replicas, struct history_verdict *verdict)
{
    const struct engine_config config = {.threads = 2, .coros = 2, .mns = replicas + 1, .replicas = replicas};
    const struct history_check_options options = {.realtime = true, .settled = true};
    struct recorded recorded;
    struct actor actors[THREADS];
    uint32_t committed[2] = {0, 0}; /* by sessions, and by procedures */
    record(&recorded, variant, config, (uint64_t)THREADS * ROUNDS * 64);
    for (uint32_t i = 0; i < THREADS; i++) {
        actors[i] = (struct actor){.recorded = &recorded};
        prng_seed(&actors[i].prng, i + 1);
        assert_int_equal(pthread_create(&actors[i].thread, NULL, i % 2 ? call : interact, &actors[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(actors[i].thread, NULL);
        assert_code(actors[i].odd, 0);
        committed[i % 2] += actors[i].committed;
    }
    assert_true(committed[0] > 0 && committed[1] > 0);
    stop(&recorded);
    bool right = history_check(&recorded.history, &options, verdict) == 0;
    api_audit_clean(&recorded.api);
    done(&recorded);
    return right;
}

static void sessions_beside_procedures_are_serializable(void **state)
{
    struct history_verdict verdict;
    if (!sessions_possible(*state)) skip();
    for (uint32_t round = 0; round < 6; round++)
        if (!played(*state, round % 2, &verdict)) fail_msg("%s: %s", verdict.kind, verdict.text);
}

#ifdef CELLAR_PLANTS
/* By chance: timing decides. The directed test is that of test_api_session_hold.c. */
static void lost_updates_are_seen(void **state)
{
    struct history_verdict verdict;
    uint64_t round = 0;
    bool met = false;
    if (!share_seeks() || !sessions_possible(*state)) skip();
    assert_true(plant_choose("hold_uncompared"));
    while (!met && round++ < 50) met = !played(*state, 0, &verdict);
    assert_true(plant_choose(NULL));
    share_tell("hold_uncompared", met ? round : 0, 50);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST_SHM(sessions_beside_procedures_are_serializable),
#ifdef CELLAR_PLANTS
        API_TEST_SHM(lost_updates_are_seen),
#endif
    };
    return api_main("history_sessions", tests, sizeof tests / sizeof *tests, argc, argv);
}
