/*
 * test_journal.c - memory nodes with simulated disks, whose power fails all at once, at any operation, openings
 * included, life after life. Workers and agents follow the rules of docs/durability.md by a random schedule. What was
 * acknowledged is found in every later life; what is found has what it read; what one recovery has left out never comes
 * back (INV-DURABLE-9, 12, 13). And planted bugs, and logs that do not belong together.
 *
 * `test_journal N` tries N clusters.
 */
#include "disk_sim.h"
#include "journal.h"
#include "plant.h"
#include "prng.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES_MAX 3
#define WORKERS 3
#define TXNS 4096
#define ITEMS 4
#define LIVES 5
#define STEPS 400
#define RING 64

static uint64_t rounds = 400;

struct txn {
    uint64_t epoch;
    uint32_t read; /* the transaction whose value it saw; 0: none */
    bool made, acked, found, left_out;
};

struct worker {
    uint32_t txn; /* in flight; 0: none */
    uint32_t item, stage, placed;
    uint64_t bound, next_bound;
    bool idle;
};

struct node {
    struct disk_sim *sim;
    struct wal_config config;
    struct journal *journal;
    uint32_t ring[RING], taken, put; /* entries in rings that this node holds */
    uint64_t published;
};

struct cluster {
    struct prng prng;
    struct node nodes[NODES_MAX];
    struct worker workers[WORKERS];
    struct txn txns[TXNS];
    uint32_t node_count, txn_count, items[ITEMS], copies;
    uint64_t word, rows, cut, first; /* what this life began with, and the first of its epochs */
    bool off;
    const char *wrong;
    struct cellar_error error;
};

static void fails(struct cluster *cluster, const char *why)
{
    if (!cluster->wrong) cluster->wrong = why;
}

static bool one_of(struct cluster *cluster, uint64_t n) { return prng_below(&cluster->prng, n) == 0; }

/* An operation of a disk: if the power is lost there, it is lost everywhere. */
static bool lost_power(struct cluster *cluster, const struct node *node, int rc)
{
    if (rc && !disk_sim_power_is_lost(node->sim)) fails(cluster, "refused by a disk that works");
    if (rc) cluster->off = true;
    return rc != 0;
}

/* ---- workers ---- */

static void txn_ends(struct cluster *cluster, struct worker *worker)
{
    cluster->items[worker->item] = worker->txn; /* unlocked: others see it */
    worker->txn = 0;
}

/* In flight, the last fetch, the epoch, the entry on its nodes, not in flight. */
static void worker_step(struct cluster *cluster, struct worker *worker)
{
    struct txn *txn = &cluster->txns[worker->txn];
    if (!worker->txn) {
        if (cluster->txn_count + 1 == TXNS) return;
        worker->txn = ++cluster->txn_count;
        worker->stage = 0;
        worker->item = (uint32_t)prng_below(&cluster->prng, ITEMS);
    } else if (worker->stage == 0) {
        txn->read = cluster->items[prng_below(&cluster->prng, ITEMS)];
        worker->stage++;
    } else if (worker->stage == 1) {
        txn->epoch = cluster->word;
        worker->placed = 0;
        worker->stage++;
    } else {
        struct node *node = &cluster->nodes[(worker->txn + worker->placed) % cluster->node_count];
        if (node->put - node->taken == RING) return;
        node->ring[node->put++ % RING] = worker->txn;
        txn->made = true;
        if (++worker->placed == cluster->copies) txn_ends(cluster, worker);
    }
}

/* A READ of the word, the look at what is in flight, and the bound: one after the other. */
static void bound_step(struct cluster *cluster, struct worker *worker)
{
    if (!worker->next_bound) {
        worker->next_bound = cluster->word;
        worker->idle = false;
    } else if (!worker->idle) {
        worker->idle = !worker->txn;
        if (!worker->idle) worker->next_bound = 0;
    } else {
        worker->bound = worker->next_bound;
        worker->next_bound = 0;
    }
}

/* ---- agents ---- */

static void agent_take(struct cluster *cluster, struct node *node)
{
    while (node->taken < node->put && !cluster->off) {
        uint32_t number = node->ring[node->taken % RING];
        uint8_t bytes[300];
        uint32_t count = 4 + number % 290;
        memset(bytes, (int)number, sizeof bytes);
        memcpy(bytes, &number, sizeof number);
        if (journal_entry(node->journal, cluster->txns[number].epoch, bytes, count))
            node->taken++;
        else if (lost_power(cluster, node, journal_sync(node->journal, &cluster->error)))
            return;
    }
}

static void agent_step(struct cluster *cluster, struct node *node)
{
    uint64_t below = cluster->word;
    for (uint32_t i = 0; i < WORKERS; i++)
        if (cluster->workers[i].bound < below) below = cluster->workers[i].bound;
    uint64_t epoch = below ? below - 1 : 0;
    bool closes = epoch > node->published && !one_of(cluster, 3);
    agent_take(cluster, node);
    if (cluster->off) return;
    uint64_t known = node->published;
    for (uint32_t n = 0; n < cluster->node_count; n++)
        if (cluster->nodes[n].published < known) known = cluster->nodes[n].published;
    if (known < cluster->first) known = cluster->cut;
    if (closes && !journal_close_epoch(node->journal, epoch, known)) {
        if (lost_power(cluster, node, journal_sync(node->journal, &cluster->error))) return;
        closes = journal_close_epoch(node->journal, epoch, known);
    }
    if (one_of(cluster, 2)) node->published = journal_closed(node->journal);
    if (lost_power(cluster, node, journal_sync(node->journal, &cluster->error))) return;
    node->published = journal_closed(node->journal);
}

static void acknowledge(struct cluster *cluster)
{
    for (uint32_t t = 1; t <= cluster->txn_count; t++) {
        struct txn *txn = &cluster->txns[t];
        bool durable = txn->made && !txn->left_out;
        for (uint32_t i = 0; i < WORKERS; i++) durable = durable && cluster->workers[i].txn != t;
        for (uint32_t n = 0; n < cluster->node_count; n++)
            durable = durable && cluster->nodes[n].published >= txn->epoch;
        txn->acked = txn->acked || durable;
    }
}

/* ---- lives ---- */

static int entry_found(void *arg, const struct journal_item *item)
{
    uint64_t epoch = item->epoch;
    const uint8_t *bytes = item->bytes;
    uint32_t count = item->count;
    struct cluster *cluster = arg;
    uint32_t number = 0;
    if (count >= sizeof number) memcpy(&number, bytes, sizeof number);
    if (!number || number > cluster->txn_count || count != 4 + number % 290 || cluster->txns[number].epoch != epoch ||
        (count > 4 && bytes[count - 1] != (uint8_t)number))
        return fails(cluster, "an entry that was never made"), 0;
    cluster->txns[number].found = true;
    return 0;
}

static void found_judge(struct cluster *cluster)
{
    for (uint32_t t = 1; t <= cluster->txn_count; t++) {
        struct txn *txn = &cluster->txns[t];
        if (txn->acked && !txn->found) fails(cluster, "what was acknowledged is lost");
        if (txn->left_out && txn->found) fails(cluster, "what was left out has come back");
        if (txn->found && txn->read && !cluster->txns[txn->read].found) fails(cluster, "what was read is lost");
    }
}

/* Look, cut, open, begin: true when every node has begun the new life. */
static bool recover(struct cluster *cluster)
{
    struct journal_found found[NODES_MAX];
    struct journal_cut cut;
    for (uint32_t t = 1; t <= cluster->txn_count; t++) cluster->txns[t].found = false;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];
        if (lost_power(cluster, node, journal_look(&node->config, &found[n], &cluster->error))) return false;
    }
    if (journal_cut_of(found, cluster->node_count, &cut, &cluster->error)) {
        fails(cluster, "logs of one moment are refused");
        return false;
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];
        int rc = journal_open(&node->config, &cut, entry_found, cluster, &node->journal, &cluster->error);
        if (lost_power(cluster, node, rc)) return false;
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];
        if (lost_power(cluster, node, journal_begin(node->journal, &cluster->error))) return false;
        node->published = cut.last;
    }
    cluster->cut = cut.epoch;
    cluster->first = cut.last + 1;
    found_judge(cluster);
    cluster->word = cut.last + 1;
    return true;
}

/* The pool's bytes are what was found. */
static void life_begins(struct cluster *cluster)
{
    memset(cluster->workers, 0, sizeof cluster->workers);
    memset(cluster->items, 0, sizeof cluster->items);
    for (uint32_t t = 1; t <= cluster->txn_count; t++) {
        struct txn *txn = &cluster->txns[t];
        txn->left_out = !txn->found;
        txn->acked = txn->found; /* others see it now: it may not be lost any more */
        if (txn->found) cluster->items[t % ITEMS] = t;
    }
    for (uint32_t n = 0; n < cluster->node_count; n++) cluster->nodes[n].taken = cluster->nodes[n].put = 0;
}

static void power_cycle(struct cluster *cluster)
{
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];
        disk_sim_off(node->sim, true);
        (void)!journal_end(node->journal, NULL);
        disk_sim_off(node->sim, false);
        node->journal = NULL;
        disk_sim_power_cycle(node->sim);
    }
    cluster->off = false;
}

static void live(struct cluster *cluster)
{
    struct node *victim = &cluster->nodes[prng_below(&cluster->prng, cluster->node_count)];
    uint64_t in = 1 + prng_below(&cluster->prng, one_of(cluster, 3) ? 12 : 250);
    disk_sim_set(victim->sim,
                 (struct disk_sim_faults){.power_lost_at = disk_sim_operations(victim->sim) + in, .garbled = 0.2});
    if (recover(cluster)) {
        life_begins(cluster);
        for (uint32_t step = 0; step < STEPS && !cluster->off; step++) {
            uint64_t what = prng_below(&cluster->prng, 16);
            struct worker *worker = &cluster->workers[prng_below(&cluster->prng, WORKERS)];
            if (what < 7)
                worker_step(cluster, worker);
            else if (what < 11)
                bound_step(cluster, worker);
            else if (what < 13)
                cluster->word++;
            else
                agent_step(cluster, &cluster->nodes[prng_below(&cluster->prng, cluster->node_count)]);
            acknowledge(cluster);
        }
    }
    power_cycle(cluster);
}

static const char *cluster_run(uint64_t seed, uint64_t *acked)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster) abort();
    prng_seed_stream(&cluster->prng, seed, 11);
    cluster->node_count = 1 + (uint32_t)prng_below(&cluster->prng, NODES_MAX);
    cluster->copies = cluster->node_count > 1 ? 1 + (uint32_t)prng_below(&cluster->prng, 2) : 1;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        struct node *node = &cluster->nodes[n];
        node->sim = disk_sim_open(seed * NODES_MAX + n, 16u << 20);
        if (!node->sim) abort();
        node->config = (struct wal_config){.disk = disk_sim_disk(node->sim),
                                           .directory = {seed, n},
                                           .fingerprint = 1,
                                           .node = n,
                                           .group_bytes = 4000,
                                           .file_bytes = 8 * 4096,
                                           .files_max = 40,
                                           .from = 1};
    }
    for (uint32_t i = 0; i < LIVES && !cluster->wrong; i++) live(cluster);
    if (!cluster->wrong && !recover(cluster)) fails(cluster, "refused by disks that work");
    for (uint32_t t = 1; t <= cluster->txn_count && acked; t++) *acked += cluster->txns[t].acked;
    power_cycle(cluster);
    const char *wrong = cluster->wrong;
    if (wrong && cluster->error.code && !PLANT_BUILD) print_message("%s\n", cluster->error.text);
    for (uint32_t n = 0; n < cluster->node_count; n++) disk_sim_close(cluster->nodes[n].sim);
    free(cluster);
    return wrong;
}

/* ---- tests ---- */

static void what_is_acknowledged_outlasts_power(void **state)
{
    uint64_t acked = 0;
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        const char *wrong = cluster_run(seed, &acked);
        if (wrong) print_error("test_journal, seed %llu: %s\n", (unsigned long long)seed, wrong);
        assert_null(wrong);
    }
    print_message("%llu acknowledged\n", (unsigned long long)acked);
    assert_true(acked > 20 * rounds); /* not empty */
}

/* Life, cut before it, closed, last, known. */
static void logs_of_other_moments_are_refused(void **state)
{
    struct journal_cut cut;
    struct cellar_error error;
    struct journal_found same[] = {{2, 5, 9, 12, 7}, {2, 5, 8, 10, 8}}, amid[] = {{3, 8, 8, 12, 7}, {2, 5, 9, 12, 8}},
                         older[] = {{3, 8, 8, 12, 5}, {2, 5, 7, 12, 6}}, ran[] = {{3, 8, 9, 12, 7}, {2, 5, 8, 12, 7}},
                         blank[] = {{2, 5, 9, 12, 7}, {0}}, first[] = {{1, 0, 0, 0, 0}, {0}};
    assert_int_equal(journal_cut_of(same, 2, &cut, &error), 0);
    assert_int_equal(cut.epoch, 8);
    assert_int_equal(cut.last, 12);
    assert_int_equal(cut.life, 2);
    assert_int_equal(journal_cut_of(amid, 2, &cut, &error), 0);
    assert_int_equal(cut.epoch, 8);
    assert_int_equal(cut.life, 2);
    assert_int_equal(journal_cut_of(first, 2, &cut, &error), 0);
    assert_int_equal(cut.life, 0);
    assert_int_equal(journal_cut_of(older, 2, &cut, &error), CELLAR_CORRUPT);
    assert_int_equal(journal_cut_of(ran, 2, &cut, &error), CELLAR_CORRUPT);
    assert_int_equal(journal_cut_of(blank, 2, &cut, &error), CELLAR_CORRUPT);
}

/* Whole groups that say what cannot be: a mark of a life, and the same with one byte changed. */
static void groups_of_other_bytes_are_refused(void **state)
{
    static const struct {
        uint32_t at;
        uint8_t byte;
    } changes[] = {{0, 1}, {3, 255}, {4, 0}, {4, 9}, {6, 1}, {8, 7}, {4, 1}};
    uint32_t refused = 0;
    for (size_t i = 0; i <= sizeof changes / sizeof *changes; i++) {
        struct disk_sim *sim = disk_sim_open(1, 1u << 20);
        struct wal_config config = {.disk = disk_sim_disk(sim),
                                    .directory = {1, 1},
                                    .group_bytes = 4000,
                                    .file_bytes = 8 * 4096,
                                    .files_max = 4,
                                    .from = 1};
        uint8_t mark[24] = {0, 0, 0, 0, 3, 0, 0, 0, 1};
        struct journal_found found;
        struct cellar_error error = {0};
        struct wal *wal;
        uint64_t group;
        if (i) mark[changes[i - 1].at] = changes[i - 1].byte;
        assert_int_equal(wal_open(&config, NULL, NULL, &wal, NULL, &error), 0);
        assert_true(wal_append(wal, mark, sizeof mark));
        assert_int_equal(wal_sync(wal, &group, &error), 0);
        assert_int_equal(wal_close(wal, &error), 0);
        int rc = journal_look(&config, &found, &error);
        assert_true(rc == 0 || rc == CELLAR_CORRUPT);
        if (!i) assert_int_equal(found.life, 1);
        refused += rc != 0;
        disk_sim_close(sim);
    }
    assert_int_equal(refused, 6); /* another life may begin a log that a checkpoint has cut off; it is no damage */
}

/* Marks of lives in one log: which may follow each other. */
static void lives_follow_each_other(void **state)
{
    static const struct {
        uint64_t life, cut, next_life, next_cut;
        int code;
    } pairs[] = {{1, 0, 1, 0, 0},
                 {1, 0, 2, 0, 0},
                 {1, 0, 3, 0, 0},
                 {1, 0, 1, 5, CELLAR_CORRUPT},
                 {1, 0, 2, 5, CELLAR_CORRUPT},
                 {2, 0, 1, 0, CELLAR_CORRUPT}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct disk_sim *sim = disk_sim_open(1, 1u << 20);
        struct wal_config config = {.disk = disk_sim_disk(sim),
                                    .directory = {1, 1},
                                    .group_bytes = 4000,
                                    .file_bytes = 8 * 4096,
                                    .files_max = 4,
                                    .from = 1};
        const uint64_t marks[] = {3ull << 32, pairs[i].life,      pairs[i].cut,
                                  3ull << 32, pairs[i].next_life, pairs[i].next_cut};
        struct journal_found found;
        struct cellar_error error = {0};
        struct wal *wal;
        assert_int_equal(wal_open(&config, NULL, NULL, &wal, NULL, &error), 0);
        assert_true(wal_append(wal, marks, sizeof marks));
        assert_int_equal(wal_close(wal, &error), 0);
        assert_int_equal(journal_look(&config, &found, &error), pairs[i].code);
        if (!pairs[i].code) assert_int_equal(found.life, pairs[i].next_life);
        disk_sim_close(sim);
    }
}

static int entry_count(void *arg, const struct journal_item *item)
{
    *(uint64_t *)arg += item->bytes[0] == item->epoch && item->count == 1;
    return 0;
}

/* A log of many lives, each of which leaves one entry beyond its cut and one before it. */
static void lives_are_many(void **state)
{
    struct disk_sim *sim = disk_sim_open(1, 16u << 20);
    struct wal_config config = {.disk = disk_sim_disk(sim),
                                .directory = {1, 1},
                                .group_bytes = 4000,
                                .file_bytes = 8 * 4096,
                                .files_max = 4,
                                .from = 1};
    for (uint64_t life = 0; life < 60; life++) {
        struct journal_found found;
        struct journal_cut cut;
        struct journal *journal;
        struct cellar_error error = {0};
        uint64_t shown = 0;
        assert_int_equal(journal_look(&config, &found, &error), 0);
        assert_int_equal(journal_cut_of(&found, 1, &cut, &error), 0);
        assert_int_equal(cut.life, life);
        assert_int_equal(journal_open(&config, &cut, entry_count, &shown, &journal, &error), 0);
        assert_int_equal(journal_begin(journal, &error), 0);
        assert_int_equal(shown, life);
        uint8_t before = (uint8_t)(cut.last + 1), beyond = (uint8_t)(cut.last + 2);
        assert_true(journal_entry(journal, before, &before, 1) && journal_close_epoch(journal, before, 0) &&
                    journal_entry(journal, beyond, &beyond, 1));
        assert_int_equal(journal_end(journal, &error), 0);
    }
    disk_sim_close(sim);
}

/* One disk goes back to what it was at some time; the other one says how far all disks had been. */
static const char *disk_goes_back(uint64_t seed)
{
    struct journal_found found[2];
    struct journal_cut cut;
    struct journal *journals[2];
    struct wal_config config[2];
    struct disk_sim *sim[2];
    struct cellar_error error = {0};
    const uint64_t lost_from = 2 + seed % 6, ends = 9;
    for (uint32_t n = 0; n < 2; n++) {
        sim[n] = disk_sim_open(seed, 1u << 20);
        config[n] = (struct wal_config){.disk = disk_sim_disk(sim[n]),
                                        .directory = {1, n},
                                        .node = n,
                                        .group_bytes = 4000,
                                        .file_bytes = 40 * 4096,
                                        .files_max = 4,
                                        .from = 1};
        cut = (struct journal_cut){0};
        assert_int_equal(journal_open(&config[n], &cut, NULL, NULL, &journals[n], &error), 0);
        assert_int_equal(journal_begin(journals[n], &error), 0);
        for (uint64_t epoch = 1; epoch <= (n ? ends : lost_from); epoch++) {
            assert_true(journal_close_epoch(journals[n], epoch, epoch - 1));
            assert_int_equal(journal_sync(journals[n], &error), 0);
        }
        assert_int_equal(journal_end(journals[n], &error), 0);
        assert_int_equal(journal_look(&config[n], &found[n], &error), 0);
    }
    int rc = journal_cut_of(found, 2, &cut, &error);
    for (uint32_t n = 0; n < 2; n++) disk_sim_close(sim[n]);
    return rc == CELLAR_CORRUPT && strstr(error.text, "epoch 8 was on all disks") ? NULL : "a disk that went back";
}

static void disks_that_go_back_are_noticed(void **state)
{
    for (uint64_t seed = 1; seed <= 6; seed++) assert_null(disk_goes_back(seed));
}

#ifdef CELLAR_PLANTS
static const char *cluster_loses(uint64_t seed) { return cluster_run(seed, NULL); }
#endif

static void planted_bugs_are_seen(void **state)
{
#ifdef CELLAR_PLANTS
    static const struct {
        const char *plant;
        const char *(*scenario)(uint64_t seed);
    } hunts[] = {{"journal_published_early", cluster_loses},
                 {"journal_cut_own", cluster_loses},
                 {"journal_life_unsynced", cluster_loses},
                 {"journal_life_ignored", cluster_loses},
                 {"journal_known_ignored", disk_goes_back}};
    for (size_t i = 0; i < sizeof hunts / sizeof *hunts; i++) {
        const char *wrong = NULL;
        uint64_t seed = 0;
        assert_true(plant_choose(hunts[i].plant));
        while (!wrong && seed < 2000) wrong = hunts[i].scenario(++seed);
        if (!wrong) print_error("planted %s: not seen\n", hunts[i].plant);
        assert_true(plant_choose(NULL));
        assert_non_null(wrong);
        print_message("planted %s: seed %llu, %s\n", hunts[i].plant, (unsigned long long)seed, wrong);
    }
#else
    skip();
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_acknowledged_outlasts_power),
        cmocka_unit_test(logs_of_other_moments_are_refused),
        cmocka_unit_test(lives_follow_each_other),
        cmocka_unit_test(lives_are_many),
        cmocka_unit_test(disks_that_go_back_are_noticed),
        cmocka_unit_test(groups_of_other_bytes_are_refused),
        cmocka_unit_test(planted_bugs_are_seen),
    };
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : rounds * share_percent() / 100;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
