/*
 * test_ordered_crowd.c - ordered indexes under many transactions at once, in simulated clusters: records come and go in
 * pairs, so each scan counts an even number of them; and the pool is audited at the end. Then the same with planted
 * bugs, each of which must be seen.
 */
#include "ordered.h"
#include "numbered.h"

#define PAIRS 150
#define PARTNER 1000
#define CLUB 5000
#define CLUB_KEYS 2500
#define CLUB_MEMBERS 3
#define SEEDS 6
#define SEEDS_PLANTED 60

struct crowd {
    struct api api;
    const struct cellar_index *by_a, *by_b;
    uint64_t seed;
    uint32_t calls;
};

struct step {
    struct api_call call;
    const struct crowd *crowd;
    uint64_t key, a, b;
    uint32_t count, flags;
};

/* Two records that were not there; EXISTS when another one has one of their b. */
static int pair_insert(struct cellar_txn *txn, struct api_call *call)
{
    const struct step *step = (const struct step *)call;
    int refs[2];
    for (uint64_t i = 0; i < 2; i++) {
        refs[i] = cellar_proc_access(txn, call->items, step->key + i * PARTNER, 0, 0, CELLAR_OPTIONAL);
        TRY(refs[i]);
    }
    TRY(cellar_proc_fetch(txn));
    if (cellar_proc_found(txn, refs[0])) return 0;
    for (uint64_t i = 0; i < 2; i++) {
        struct item item = item_of(step->key + i * PARTNER);
        item.a = i ? step->a ^ 0x3ff : step->a;
        item.b = step->b + i * PARTNER;
        TRY(cellar_proc_insert(txn, call->items, step->key + i * PARTNER, &item));
    }
    return cellar_proc_fetch(txn);
}

static int pair_delete(struct cellar_txn *txn, struct api_call *call)
{
    const struct step *step = (const struct step *)call;
    for (uint64_t i = 0; i < 2; i++)
        TRY(cellar_proc_access(txn, call->items, step->key + i * PARTNER, 0, 0, CELLAR_OPTIONAL | CELLAR_DELETE));
    return cellar_proc_fetch(txn);
}

/* The first pair from some place on: read by a scan, and taken out of the very data cell. */
static int pair_take(struct cellar_txn *txn, struct api_call *call)
{
    const struct step *step = (const struct step *)call;
    struct item low = {.a = step->a % 1024};
    struct cellar_range range = {.low = {&low, 1, false}};
    uint64_t key;
    int cursor = cellar_proc_cursor_open(txn, step->crowd->by_a, &range, 0, 0, step->flags, 1), got;
    TRY(cursor);
    TRY(got = cellar_proc_cursor_next(txn, cursor, &key, NULL));
    if (got == 0) return 0;
    key %= PARTNER;
    for (uint64_t i = 0; i < 2; i++)
        TRY(cellar_proc_access(txn, call->items, key + i * PARTNER, 0, 0, CELLAR_OPTIONAL | CELLAR_DELETE));
    return cellar_proc_fetch(txn);
}

/* Both of a pair, by their columns. */
static int pair_move(struct cellar_txn *txn, struct api_call *call)
{
    const struct step *step = (const struct step *)call;
    int refs[2];
    for (uint64_t i = 0; i < 2; i++) {
        refs[i] = cellar_proc_access(txn, call->items, step->key + i * PARTNER, 0, CELL_A, CELLAR_OPTIONAL);
        TRY(refs[i]);
    }
    TRY(cellar_proc_fetch(txn));
    for (uint64_t i = 0; i < 2 && cellar_proc_found(txn, refs[0]); i++)
        TRY(cellar_proc_put(txn, refs[i], ITEM_A, &step->a));
    return 0;
}

/* A club of three at most: who counts fewer joins, into the data cell that was counted; else the first one leaves. */
static int club(struct cellar_txn *txn, struct api_call *call)
{
    struct step *step = (struct step *)call;
    struct item low = {.a = CLUB + 3}, high = {.a = CLUB};
    struct cellar_range range = {.low = {&low, 1, false}, .high = {&high, 1, false}};
    uint64_t key, first = 0, own = CLUB_KEYS + step->key;
    int cursor = cellar_proc_cursor_open(txn, step->crowd->by_a, &range, 0, 0, step->flags, 0), got;
    TRY(cursor);
    for (step->count = 0; (got = cellar_proc_cursor_next(txn, cursor, &key, NULL)) == 1; step->count++)
        first = step->count ? first : key;
    TRY(got);
    if (step->count >= CLUB_MEMBERS) {
        TRY(cellar_proc_access(txn, call->items, first, 0, 0, CELLAR_OPTIONAL | CELLAR_DELETE));
        return cellar_proc_fetch(txn);
    }
    int ref = cellar_proc_access(txn, call->items, own, 0, 0, CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    if (cellar_proc_found(txn, ref)) return 0;
    struct item item = item_of(own);
    item.a = CLUB + step->a % 4;
    item.b = own;
    TRY(cellar_proc_insert(txn, call->items, own, &item));
    return cellar_proc_fetch(txn);
}

static int count(struct cellar_txn *txn, struct api_call *call)
{
    struct step *step = (struct step *)call;
    struct item low = {.a = 1023};
    struct cellar_range pairs = {.low = {&low, 1, false}};
    uint64_t key;
    int cursor = cellar_proc_cursor_open(txn, step->crowd->by_a, &pairs, 0, 0, step->flags, 0), got;
    TRY(cursor);
    for (step->count = 0; (got = cellar_proc_cursor_next(txn, cursor, &key, NULL)) == 1;)
        if (++step->count > 4 * PAIRS) return ERR_GIVEN_UP;
    return got;
}

static int crowd_client(struct cellar_lab_client *client, void *arg)
{
    static const api_body bodies[] = {pair_insert, pair_insert, pair_insert, pair_delete,
                                      pair_take,   pair_move,   count,       club};
    struct crowd *crowd = arg;
    const struct cellar_call_options options = {.attempts_max = 300};
    struct prng prng;
    prng_seed(&prng, crowd->seed * 1000 + cellar_lab_index(client));
    for (uint32_t i = 0; i < crowd->calls; i++) {
        struct cellar_result result;
        uint32_t which = (uint32_t)prng_below(&prng, 8);
        struct step step = {.call = {.body = bodies[which], .items = crowd->api.items},
                            .crowd = crowd,
                            .key = prng_below(&prng, PAIRS),
                            .a = prng_below(&prng, 1024),
                            .b = prng_below(&prng, PAIRS),
                            .flags = prng_below(&prng, 2) ? CELLAR_BACKWARD : 0};
        int rc = cellar_lab_exec(client, crowd->api.any, &step, &options, &result);
        if (rc == CELLAR_RETRY || (rc == CELLAR_EXISTS && bodies[which] == pair_insert)) continue;
        if (rc) return rc;
        if (bodies[which] == count && step.count % 2) return CELLAR_NOT_FOUND;
        if (bodies[which] == club && step.count > CLUB_MEMBERS) return CELLAR_NOT_FOUND;
    }
    return 0;
}

/* 0, or what went wrong. */
static int crowd_run(const struct api_variant *variant, uint64_t seed, uint32_t replicas, struct cellar_error *error)
{
    static const struct cellar_schema_index_column a[] = {{"a", CELLAR_SORT_UNSIGNED, true}};
    static const struct cellar_schema_index_column b[] = {{"b", CELLAR_SORT_UNSIGNED, false}};
    static struct crowd crowd;
    memset(&crowd, 0, sizeof crowd);
    struct engine_config config = {
        .cns = 2, .threads = 2, .coros = 2, .mns = 2, .replicas = replicas, .seed = seed, .log_bytes = 512u << 10};
    api_open_with(&crowd.api, variant, config);
    crowd.by_a = ordered_index(&crowd.api, "by_a", a, 1, 0);
    crowd.by_b = ordered_index(&crowd.api, "by_b", b, 1, CELLAR_UNIQUE);
    crowd.seed = seed;
    crowd.calls = 80;
    int rc = cellar_lab_run(crowd.api.db, crowd_client, &crowd);
    int audited = api_audit(&crowd.api);
    *error = crowd.api.error;
    api_close(&crowd.api);
    return rc ? rc : audited;
}

static void crowds_keep_indexes_whole(void **state)
{
    const struct api_variant *variant = *state;
    if (!ordered_supported(variant)) return;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct cellar_error error;
        int rc = crowd_run(variant, seed, seed % 2, &error);
        if (rc) fail_msg("seed %llu: %d: %s", (unsigned long long)seed, rc, error.text);
    }
}

#ifdef CELLAR_PLANTS
static void planted_bugs_are_seen(void **state)
{
    static const char *const plants[] = {"tree_fence_kept", "tree_hint_trusted", "tree_unique_unlooked"};
    const struct api_variant *variant = *state;
    if (strcmp(variant->name, "sim_cell") != 0) return;
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct cellar_error error;
        uint64_t seed = 1;
        assert_true(plant_choose(plants[i]));
        while (seed <= SEEDS_PLANTED && crowd_run(variant, seed, 0, &error) == 0) seed++;
        assert_true(plant_choose(NULL));
        if (seed > SEEDS_PLANTED) fail_msg("%s: not seen in %d seeds", plants[i], SEEDS_PLANTED);
        print_message("%s: seed %llu: %s\n", plants[i], (unsigned long long)seed, error.text);
        assert_int_equal(crowd_run(variant, seed, 0, &error), 0);
    }
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(crowds_keep_indexes_whole),
#ifdef CELLAR_PLANTS
        API_TEST(planted_bugs_are_seen),
#endif
    };
    return api_main("ordered_crowd", tests, sizeof tests / sizeof *tests, argc, argv);
}
