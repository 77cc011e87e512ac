/*
 * test_api_exhausted.c - a record cache without memory left: attempts are aborted and tried again, others go on,
 * nothing is lost, and what never fits ends TOO_LARGE. Of the modes that have such a cache.
 */
#include "api.h"
#include "numbered.h"

#include "crest.h"

#define CLASS_BYTES 8192u /* 16 blocks for images of `items`, 64 for objects and versions */
#define FITS 5u           /* records of one transaction: three at a time fit, four do not */
#define TOO_MANY 24u
#define KEYS 40u
#define ROUNDS 60u

struct growth {
    struct api_call call;
    uint64_t first, count;
};

static int grow_column(struct cellar_txn *txn, const struct growth *growth, int column, cellar_cells cell)
{
    uint64_t value;
    int refs[TOO_MANY];
    for (uint64_t i = 0; i < growth->count; i++) {
        refs[i] = cellar_proc_access(txn, growth->call.items, growth->first + i, 0, cell, 0);
        TRY(refs[i]);
    }
    TRY(cellar_proc_fetch(txn));
    for (uint64_t i = 0; i < growth->count; i++) {
        TRY(cellar_proc_get(txn, refs[i], column, &value));
        value++;
        TRY(cellar_proc_put(txn, refs[i], column, &value));
    }
    return 0;
}

/*
 * A transaction that wants more of a record than its earlier block did shares it: it takes memory of the cache, be
 * others there or not.
 */
static int grow(struct cellar_txn *txn, struct api_call *call)
{
    const struct growth *growth = (const struct growth *)call;
    TRY(grow_column(txn, growth, ITEM_A, CELL_A));
    return grow_column(txn, growth, ITEM_B, CELL_B);
}

static struct growth growth_of(const struct api *api, uint64_t first, uint64_t count)
{
    return (struct growth){.call = {.body = grow, .items = api->items}, .first = first, .count = count};
}

static void open_small(struct api *api, const struct api_variant *variant)
{
    api_open_with(api, variant, (struct engine_config){.coros = 4, .rtt_ns = variant->threads ? 2000 : 0});
    api_load(api, 0, KEYS);
    crest_local_of(&api->db->nodes[0])->arena.class_bytes = CLASS_BYTES;
}

static void assert_nothing_kept(struct api *api)
{
    assert_int_equal(arena_in_use(&crest_local_of(&api->db->nodes[0])->arena), 0);
    api_audit_clean(api);
}

static void one_alone_is_told(void **state)
{
    struct api api;
    struct cellar_lab_stats stats;
    open_small(&api, *state);
    for (int round = 0; round < 2; round++) {
        struct growth much = growth_of(&api, 0, TOO_MANY), little = growth_of(&api, 0, FITS);
        assert_code(cellar_proc_run(api.db, api.any, &much, NULL, &api.result), CELLAR_TOO_LARGE);
        assert_int_equal(much.call.runs, 3);
        assert_nothing_kept(&api);
        assert_code(cellar_proc_run(api.db, api.any, &little, NULL, &api.result), 0);
        assert_int_equal(little.call.runs, 1);
    }
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(stats.aborts[CELLAR_ABORT_CACHE_FULL], 6);
    assert_nothing_kept(&api);
    api_close(&api);
}

struct crowd {
    struct api *api;
    uint32_t done; /* transactions of all */
};

/* The first wants too much all the while; the others want what fits, but not all at once. */
static int crowd_client(struct cellar_lab_client *client, void *arg)
{
    struct crowd *crowd = arg;
    uint32_t index = cellar_lab_index(client);
    struct cellar_result result;

    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct growth growth = index ? growth_of(crowd->api, (index * 11 + round * 3) % (KEYS - FITS), FITS)
                                     : growth_of(crowd->api, 0, TOO_MANY);
        int rc = cellar_lab_exec(client, crowd->api->any, &growth, NULL, &result);
        if (index == 0 && rc != CELLAR_TOO_LARGE) return rc ? rc : CELLAR_INVALID;
        if (index && rc) return rc;
        crowd->done += index > 0;
    }
    return 0;
}

struct sums {
    struct api_call call;
    uint64_t a, b;
};

static int sum(struct cellar_txn *txn, struct api_call *call)
{
    struct sums *sums = (struct sums *)call;
    int refs[KEYS];
    struct item item;
    for (uint64_t key = 0; key < KEYS; key++) {
        refs[key] = cellar_proc_access(txn, call->items, key, CELLAR_ALL_CELLS, 0, 0);
        TRY(refs[key]);
    }
    TRY(cellar_proc_fetch(txn));
    sums->a = sums->b = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        TRY(cellar_proc_get_row(txn, refs[key], &item));
        sums->a += item.a;
        sums->b += item.b;
    }
    return 0;
}

static void others_go_on(void **state)
{
    struct api api;
    struct sums before, after;
    struct cellar_lab_stats stats;
    open_small(&api, *state);
    struct crowd crowd = {.api = &api};
    assert_code(api_run(&api, sum, &before), 0);
    assert_code(cellar_lab_run(api.db, crowd_client, &crowd), 0);
    assert_code(api_run(&api, sum, &after), 0);
    assert_int_equal(crowd.done, 3 * ROUNDS);
    assert_int_equal(after.a - before.a, 3 * ROUNDS * FITS);
    assert_int_equal(after.b - before.b, 3 * ROUNDS * FITS);
    cellar_lab_stats_read(api.db, &stats);
    assert_true(stats.aborts[CELLAR_ABORT_CACHE_FULL] >= 3 * ROUNDS);
    assert_nothing_kept(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST_SHARED(one_alone_is_told), API_TEST_SHARED(others_go_on)};
    return api_main("api_exhausted", tests, sizeof tests / sizeof *tests, argc, argv);
}
