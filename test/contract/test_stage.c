/*
 * test_stage.c - few coordinators of a worker run calls at a time where a reply is hardly waited for
 * (engine/db/stage.c): they follow one another in long turns, each of them gets its own, and one that backs off for
 * long holds up no other.
 */
#include "api_items.h"
#include "numbered.h"
#include "plant.h"

#include <stdlib.h>
#include <unistd.h>

#define COROS 4
#define CALLS_MIN 2000          /* of each client */
#define GIVEN_UP_NS 3000000000u /* far above COROS times a turn */
#define HELD_US 200000

static const struct api_variant cellar_on_shm = {"shm_cellar", "shm", CELLAR_LAB_CC_CELLAR, true};

/* What clients have done; of all workers. */
struct crowd {
    struct api *api;
    atomic_uint calls[2 * COROS], switches, last, failed;
    atomic_bool holds, amid, released, let_in;
};

struct visit {
    struct api_call call;
    struct crowd *crowd;
    uint64_t key;
    bool holds;
};

static int add_to_one(struct cellar_txn *txn, struct api_call *call)
{
    struct visit *visit = (struct visit *)call;
    uint64_t a = 0;
    int ref = cellar_proc_access(txn, call->items, visit->key, CELL_A, CELL_A, 0);
    TRY(ref);
    if (visit->key == 1 && !visit->holds) atomic_store(&visit->crowd->amid, true);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &a));
    if (visit->holds) {
        atomic_store(&visit->crowd->holds, true);
        usleep(HELD_US);
        atomic_store(&visit->crowd->released, true);
    }
    a++;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

static void visit_once(struct cellar_lab_client *client, struct crowd *crowd, uint64_t key, bool holds)
{
    struct visit visit = {{add_to_one, crowd->api->items, 0}, crowd, key, holds};
    if (cellar_lab_exec(client, crowd->api->any, &visit, NULL, NULL)) atomic_fetch_add(&crowd->failed, 1);
}

static bool all_have_come(struct crowd *crowd, uint32_t count)
{
    bool all = true;
    for (uint32_t i = 0; i < count; i++) all = all && atomic_load(&crowd->calls[i]) >= CALLS_MIN;
    return all;
}

/* Goes on until each of them has made its calls, and never yields. */
static int come_often(struct cellar_lab_client *client, void *arg)
{
    struct crowd *crowd = arg;
    uint32_t index = cellar_lab_index(client), count = cellar_lab_count(client);
    uint64_t until_ns = cellar_lab_now_ns(client) + GIVEN_UP_NS;
    while (!all_have_come(crowd, count) && cellar_lab_now_ns(client) < until_ns) {
        visit_once(client, crowd, index, false);
        if (atomic_exchange(&crowd->last, index) != index) atomic_fetch_add(&crowd->switches, 1);
        atomic_fetch_add(&crowd->calls[index], 1);
    }
    return 0;
}

static struct cellar_lab_way open_crowd(struct api *api, struct crowd *crowd, struct engine_config config)
{
    struct cellar_lab_way way;
    api_open_with(api, &cellar_on_shm, config);
    api_load(api, 0, 2 * COROS);
    *crowd = (struct crowd){.api = api};
    MUST(&api->error, cellar_lab_run(api->db, come_often, crowd)); /* it has chosen its way */
    assert_true(all_have_come(crowd, config.threads * config.coros));
    *crowd = (struct crowd){.api = api};
    cellar_lab_way_read(api->db, &way);
    return way;
}

/* How often another one went on, a million calls. */
static uint64_t switches_of(const char *rules, uint32_t coros)
{
    struct api api;
    struct crowd crowd;
    uint64_t calls = 0;
    const struct engine_config config = {.threads = 1, .coros = COROS, .way = rules};
    struct cellar_lab_way way = open_crowd(&api, &crowd, config);
    assert_int_equal(way.plain, 1);
    assert_int_equal(way.coros, coros);
    MUST(&api.error, cellar_lab_run(api.db, come_often, &crowd));
    assert_true(all_have_come(&crowd, COROS));
    assert_int_equal(crowd.failed, 0);
    for (uint32_t i = 0; i < COROS; i++) calls += crowd.calls[i];
    api_close(&api);
    return crowd.switches * 1000000ull / calls;
}

static void they_follow_one_another_in_long_turns(void **state)
{
    (void)state;
    uint64_t usual = switches_of(NULL, 1), all = switches_of("coros=0", COROS), two = switches_of("coros=2", 2);
    printf("switches in a million calls: one at a time %llu, two %llu, all %llu\n", (unsigned long long)usual,
           (unsigned long long)two, (unsigned long long)all);
    assert_true(2 * usual < all);
    assert_true(2 * usual < two);
}

/* The first worker's first client holds record 1; of the second worker one wants it, and another one another record. */
static int meet(struct cellar_lab_client *client, void *arg)
{
    struct crowd *crowd = arg;
    uint32_t index = cellar_lab_index(client);
    if (index == 0) visit_once(client, crowd, 1, true);
    if (index < 2) return 0;
    while (!atomic_load(index == 2 ? &crowd->holds : &crowd->amid)) cellar_lab_yield(client);
    visit_once(client, crowd, index == 2 ? 1 : 2, false);
    if (index == 3) atomic_store(&crowd->let_in, !atomic_load(&crowd->released));
    return 0;
}

static void who_backs_off_for_long_lets_others_in(void **state)
{
    struct api api;
    struct crowd crowd;
    (void)state;
    struct cellar_lab_way way = open_crowd(&api, &crowd, (struct engine_config){.threads = 2, .coros = 2});
    assert_int_equal(way.coros, 1);
    MUST(&api.error, cellar_lab_run(api.db, meet, &crowd));
    assert_int_equal(crowd.failed, 0);
    assert_true(crowd.let_in);
    api_close(&api);
}

#ifdef CELLAR_PLANTS
static void its_plant_is_met(void **state)
{
    struct api api;
    struct crowd crowd;
    (void)state;
    (void)open_crowd(&api, &crowd, (struct engine_config){.threads = 1, .coros = COROS});
    assert_true(plant_choose("stage_kept"));
    MUST(&api.error, cellar_lab_run(api.db, come_often, &crowd));
    assert_true(plant_choose(NULL));
    assert_false(all_have_come(&crowd, COROS));
    api_close(&api);
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_follow_one_another_in_long_turns),
        cmocka_unit_test(who_backs_off_for_long_lets_others_in),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plant_is_met),
#endif
    };
    return cmocka_run_group_tests_name("contract.stage", tests, NULL, NULL);
}
