/*
 * test_view.c - which nodes a compute node takes for dead, and how many lives it knows to be over (INV-VIEW-2): what
 * one has counted is compared with what another one counts, so both count the same of the same words, their own
 * included; and a node that looks after a death counts more than all that looked before it.
 */
#include "plant.h"
#include "txn.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CNS 4
#define DEAD 3

/* A membership service of four words. */
struct service {
    struct member member; /* first */
    struct members_state states[CNS];
};

static int service_look(struct coro *co, const struct member *member, struct fabric_ep *ep, uint32_t cn,
                        struct members_state *now)
{
    (void)co, (void)ep;
    *now = ((const struct service *)member)->states[cn];
    return 0;
}

struct cluster {
    struct service service;
    struct catalog catalog;
    struct fabric_ep eps[CNS];
    struct view views[CNS];
};

static void cluster_begin(struct cluster *cluster)
{
    static const struct member_ops ops = {.name = "test", .look = service_look};
    static const uint64_t incarnations[CNS] = {
        3, 40, 7, 2}; /* numbers of a pool that compute nodes opened in turn, again and again */
    *cluster = (struct cluster){.catalog = {.cn_count = CNS}};
    cluster->service.member = (struct member){.ops = &ops, .catalog = &cluster->catalog};
    for (uint32_t cn = 0; cn < CNS; cn++) {
        cluster->eps[cn].cn = cn;
        cluster->service.states[cn] =
            (struct members_state){.state = LAYOUT_MEMBER_LIVE, .incarnation = incarnations[cn], .recoverer = -1};
        cluster->views[cn].member = &cluster->service.member;
    }
}

static uint64_t deaths_seen(struct cluster *cluster, uint32_t by)
{
    view_renew(NULL, &cluster->views[by], &cluster->eps[by], NULL);
    return view_deaths(&cluster->views[by]);
}

/* All see the same words. */
static bool all_count_alike(struct cluster *cluster)
{
    bool alike = true;
    for (uint32_t by = 1; by < DEAD; by++) alike = alike && deaths_seen(cluster, by) == deaths_seen(cluster, 0);
    return alike;
}

static void dies(struct cluster *cluster) { cluster->service.states[DEAD].state = LAYOUT_MEMBER_REDONE; }

static void comes_back(struct cluster *cluster, uint64_t incarnation)
{
    cluster->service.states[DEAD] =
        (struct members_state){.state = LAYOUT_MEMBER_LIVE, .incarnation = incarnation, .recoverer = -1};
}

/*
 * One node notes what it has counted where it empties a queue; any other one that waits there after a death must
 * find that it has counted more.
 */
static bool a_death_shows(struct cluster *cluster)
{
    bool shows = true;
    for (uint64_t life = 0; life < 4; life++) {
        uint64_t noted[DEAD];
        for (uint32_t by = 0; by < DEAD; by++) noted[by] = deaths_seen(cluster, by);
        dies(cluster);
        for (uint32_t by = 0; by < DEAD; by++)
            for (uint32_t i = 0; i < DEAD; i++) shows = shows && deaths_seen(cluster, by) > noted[i];
        for (uint32_t by = 0; by < DEAD; by++) shows = shows && view_dead(&cluster->views[by], DEAD);
        comes_back(cluster, 50 + 10 * life);
    }
    return shows;
}

static void who_has_seen_the_same_words_counts_the_same(void **state)
{
    struct cluster cluster;
    (void)state;
    cluster_begin(&cluster);
    assert_true(all_count_alike(&cluster));
    dies(&cluster);
    assert_true(all_count_alike(&cluster));
    comes_back(&cluster, 60);
    assert_true(all_count_alike(&cluster));
}

static void a_look_after_a_death_counts_it(void **state)
{
    struct cluster cluster;
    (void)state;
    cluster_begin(&cluster);
    assert_true(a_death_shows(&cluster));
}

/* Its state is declared: a look at an older word does not undo it. */
static void words_only_grow(void **state)
{
    struct cluster cluster;
    (void)state;
    cluster_begin(&cluster);
    dies(&cluster);
    uint64_t before = deaths_seen(&cluster, 0);
    cluster.service.states[DEAD].state = LAYOUT_MEMBER_LIVE;
    assert_int_equal(deaths_seen(&cluster, 0), before);
    assert_true(view_dead(&cluster.views[0], DEAD));
}

#ifdef CELLAR_PLANTS
static void its_plant_is_met(void **state)
{
    struct cluster cluster;
    (void)state;
    assert_true(plant_choose("view_own_uncounted"));
    cluster_begin(&cluster);
    assert_false(a_death_shows(&cluster));
    cluster_begin(&cluster);
    assert_false(all_count_alike(&cluster));
    assert_true(plant_choose(NULL));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_seen_the_same_words_counts_the_same),
        cmocka_unit_test(a_look_after_a_death_counts_it),
        cmocka_unit_test(words_only_grow),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plant_is_met),
#endif
    };
    return cmocka_run_group_tests_name("unit.view", tests, NULL, NULL);
}
