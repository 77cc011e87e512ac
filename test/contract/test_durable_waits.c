/*
 * test_durable_waits.c - how long a durable call waits: for the disk, whatever the length of an epoch; that calls which
 * wait together share a sync; and that a folder at rest costs no processor time. On a simulated disk, in
 * virtual time, and on a real one.
 */
#include "counter.h"
#include "db.h"
#include "durable.h"
#include "plant.h"
#include "purses.h"
#include "why.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CALLS 20

static int seen(struct cellar_txn *txn, void *arg)
{
    const struct lab *lab = arg;
    return cellar_get(txn, lab->purses, 0, 0, &(struct purse){.id = FIRST});
}

/* The same as paid, with a lock: the attempt that holds it commits. */
static int paid_locked(struct cellar_txn *txn, void *arg)
{
    const struct lab *lab = arg;
    struct purse purse = {.id = FIRST};
    int rc = cellar_get(txn, lab->purses, CELLAR_COL(COINS), CELLAR_COL(COINS), &purse);
    purse.coins++;
    return rc ? rc : cellar_put(txn, lab->purses, CELLAR_COL(COINS), &purse);
}

static uint64_t now_ns(const struct lab *lab) { return fabric_now_ns(lab->sim.durable->nodes[0].agent.ep); }

/* ---- one that is alone ---- */

/* One of those that call; each has a purse of its own. */
struct client {
    struct cellar *db;
    const struct cellar_table *purses;
    uint64_t id;
    /* of a thread */
    pthread_t thread;
    const struct cellar_proc *proc; /* NULL: it makes interactive transactions */
    int rc;
};

static int added(struct cellar_txn *txn, void *arg)
{
    const struct client *client = arg;
    struct purse purse = {.id = client->id};
    int rc = cellar_get(txn, client->purses, 0, 0, &purse);
    purse.coins++;
    return rc == CELLAR_NOT_FOUND || !rc ? cellar_put(txn, client->purses, CELLAR_ALL, &purse) : rc;
}

static const struct cellar_proc *added_register(struct cellar *db)
{
    const struct cellar_proc_def def = {.name = "added", .fn = added, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *proc;
    ok(cellar_proc_register(db, &def, &proc));
    return proc;
}

/* The longest of some calls. Each of them is on the disk when it returns. */
static uint64_t slowest_ns(struct lab *lab, int (*fn)(struct cellar_txn *txn, void *arg), bool syncs)
{
    uint64_t most_ns = 0;
    for (int i = 0; i < CALLS; i++) {
        struct cellar_result result;
        uint64_t begin_ns = now_ns(lab);
        ok(cellar_run(lab->sim.db, fn, lab, syncs ? CELLAR_TXN(.durability = CELLAR_MEMORY) : NULL, &result));
        if (syncs) ok(cellar_sync(lab->sim.db, result.epoch));
        uint64_t ns = now_ns(lab) - begin_ns;
        assert_true(cellar_durable_epoch(lab->sim.db) >= result.epoch);
        assert_true(fn == seen || syncs || result.latency_ns >= SYNC_NS); /* it tells of its wait */
        if (ns > most_ns) most_ns = ns;
    }
    return most_ns;
}

static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                           CELLAR_LAB_CC_CELLAR};

/* A sync may be under way when it comes. */
static void a_call_waits_for_the_disk_alone(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct lab lab;
        lab_open(&lab, modes[i]);
        uint64_t writer_ns = slowest_ns(&lab, paid, false), syncer_ns = slowest_ns(&lab, paid, true);
        assert_in_range(writer_ns, SYNC_NS, 3 * SYNC_NS);
        assert_in_range(slowest_ns(&lab, paid_locked, false), SYNC_NS, 3 * SYNC_NS);
        assert_in_range(syncer_ns, SYNC_NS, 3 * SYNC_NS);
        assert_in_range(slowest_ns(&lab, seen, false), 0, SYNC_NS / 3); /* what it has seen is there already */
        lab_close(&lab);
    }
}

/* ... and its procedure counts it with its wait. */
static void a_procedure_s_call_counts_its_wait(void **state)
{
    struct lab lab;
    struct cellar_lab_tally tally;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    const struct cellar_proc *proc = added_register(lab.sim.db);
    struct client client = {.purses = lab.purses, .id = FIRST};
    for (int i = 0; i < CALLS; i++) {
        struct cellar_result result;
        ok(cellar_proc_run(lab.sim.db, proc, &client, NULL, &result));
        assert_in_range(result.latency_ns, SYNC_NS, 3 * SYNC_NS);
        assert_true(cellar_durable_epoch(lab.sim.db) >= result.epoch);
    }
    cellar_lab_proc_read(lab.sim.db, proc, &tally);
    assert_int_equal(tally.committed, CALLS);
    assert_int_equal(tally.calls, CALLS);
    assert_true(cellar_lab_latency_ns(&tally, 0.01) >= SYNC_NS);
    lab_close(&lab);
}

/* Of a client function, whose coordinator waits with it. */
struct inside {
    struct client client;
    uint64_t most_ns;
};

static int calls_inside(struct cellar_lab_client *self, void *arg)
{
    struct inside *inside = arg;
    struct cellar_result result;
    int rc = 0;
    for (int i = 0; i < CALLS && rc == 0 && cellar_lab_index(self) == 0; i++) {
        uint64_t begin_ns = cellar_lab_now_ns(self);
        rc = cellar_lab_exec(self, inside->client.proc, &inside->client, NULL, &result);
        uint64_t ns = cellar_lab_now_ns(self) - begin_ns;
        if (ns > inside->most_ns) inside->most_ns = ns;
        if (rc == 0 && cellar_durable_epoch(inside->client.db) < result.epoch) rc = CELLAR_CORRUPT;
    }
    return rc;
}

static uint64_t slowest_inside_ns(struct lab *lab, const struct cellar_proc *proc)
{
    struct inside inside = {.client = {.db = lab->sim.db, .purses = lab->purses, .id = FIRST, .proc = proc}};
    ok(cellar_lab_run(lab->sim.db, calls_inside, &inside));
    return inside.most_ns;
}

static void a_client_function_waits_for_the_disk(void **state)
{
    struct lab lab;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    assert_in_range(slowest_inside_ns(&lab, added_register(lab.sim.db)), SYNC_NS, 3 * SYNC_NS);
    lab_close(&lab);
}

/* The next one has not changed anything. */
static void a_lost_disk_ends_a_call(void **state)
{
    (void)state;
    for (int by_procedure = 0; by_procedure < 2; by_procedure++) {
        struct lab lab;
        struct cellar_result result;
        lab_open(&lab, CELLAR_LAB_CC_CELLAR);
        const struct cellar_proc *proc = added_register(lab.sim.db);
        struct client client = {.purses = lab.purses, .id = FIRST};
        disk_sim_off(lab.sim.disk, true);
        for (int i = 0; i < 2; i++) {
            int rc = by_procedure ? cellar_proc_run(lab.sim.db, proc, &client, NULL, &result)
                                  : cellar_run(lab.sim.db, added, &client, NULL, &result);
            assert_int_equal(rc, i ? CELLAR_SYSTEM : CELLAR_INDETERMINATE);
            assert_int_equal(result.code, rc);
            assert_int_equal(result.detail.why, WHY_DISK);
        }
        lab_close(&lab);
    }
}

/* No call waits: an epoch is as long as the options say. */
static void calls_of_memory_share_an_epoch(void **state)
{
    struct lab lab;
    struct cellar_result result;
    struct cellar_lab_durable before, after;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    ok(cellar_lab_durable_read(lab.sim.db, &before));
    for (int i = 0; i < CALLS; i++)
        ok(cellar_run(lab.sim.db, paid, &lab, CELLAR_TXN(.durability = CELLAR_MEMORY), &result));
    ok(cellar_lab_durable_read(lab.sim.db, &after));
    assert_true(after.epochs <= before.epochs + 1);
    ok(cellar_sync(lab.sim.db, result.epoch));
    lab_close(&lab);
}

/* ... and no longer, though nothing waits for its end. */
static void an_epoch_of_memory_ends_in_its_time(void **state)
{
    struct lab lab;
    struct cellar_result result;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    lab.sim.db->config.epoch_ns = 10 * SYNC_NS;
    for (int i = 0; i < 10; i++) {
        uint32_t nothing = 1;
        ok(cellar_run(lab.sim.db, paid, &lab, CELLAR_TXN(.durability = CELLAR_MEMORY), &result));
        assert_int_equal(lab.sim.fabric->ops->wait(lab.sim.fabric, &nothing, 20 * SYNC_NS), CELLAR_DEADLINE);
        assert_true(cellar_durable_epoch(lab.sim.db) >= result.epoch);
    }
    lab_close(&lab);
}

/* How far into a half the agent has met entries, in parts of a hundred. */
static uint64_t walked(const struct lab *lab)
{
    uint64_t most = 0;
    const struct epochs_ring *ring = atomic_load(&lab->sim.durable->epochs.rings);
    for (; ring; ring = ring->next) {
        uint64_t half = logseg_half(ring->bytes), tail = ring->copies[0].tail,
                 within = tail < half ? tail : tail - half;
        if (within * 100 / half > most) most = within * 100 / half;
    }
    return most;
}

/* What the agent has taken is used again soon, though a ring has room for all of these calls. */
static void a_ring_stays_in_few_lines(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct lab lab;
        uint64_t most = 0;
        lab_open(&lab, modes[i]);
        for (int call = 0; call < 300; call++) {
            ok(cellar_run(lab.sim.db, paid, &lab, NULL, NULL));
            if (walked(&lab) > most) most = walked(&lab);
        }
        assert_in_range(most, 20, 35); /* a quarter, and an entry */
        lab_close(&lab);
    }
}

/* ---- many at once ---- */

enum { IN_FLIGHT = 64 };

struct flight {
    struct client clients[IN_FLIGHT];
    struct cellar_completion completions[IN_FLIGHT];
    struct cellar_queue *queue;
    const struct cellar_proc *proc;
};

static void flight_begin(struct lab *lab, struct flight *flight)
{
    flight->proc = added_register(lab->sim.db);
    ok(cellar_proc_queue_open(lab->sim.db, IN_FLIGHT, NULL, NULL, &flight->queue));
    for (uint64_t i = 0; i < IN_FLIGHT; i++) {
        flight->clients[i] = (struct client){.purses = lab->purses, .id = FIRST + i};
        ok(cellar_proc_submit(flight->queue, flight->proc, &flight->clients[i], NULL, NULL));
    }
}

/* Of each completion, as it comes: is what it tells on the disk? */
static bool flight_end(struct lab *lab, struct flight *flight)
{
    bool durable = true;
    for (int ended = 0, count; ended < IN_FLIGHT; ended += count) {
        count = cellar_proc_reap(flight->queue, flight->completions + ended, IN_FLIGHT, UINT64_MAX);
        assert_true(count > 0);
        for (int i = ended; i < ended + count; i++)
            durable &= flight->completions[i].result.epoch <= cellar_durable_epoch(lab->sim.db);
    }
    cellar_proc_queue_close(flight->queue);
    return durable;
}

/* There are four coordinators, and a call that waits for the disk keeps none. */
static void calls_in_flight_share_a_sync(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct lab lab;
        struct flight flight;
        struct cellar_lab_durable before, after;
        struct cellar_lab_tally tally;
        lab_open(&lab, modes[i]);
        ok(cellar_lab_durable_read(lab.sim.db, &before));
        uint64_t begin_ns = now_ns(&lab);
        flight_begin(&lab, &flight);
        assert_true(flight_end(&lab, &flight));
        assert_in_range(now_ns(&lab) - begin_ns, SYNC_NS, IN_FLIGHT / 4 * SYNC_NS);
        ok(cellar_lab_durable_read(lab.sim.db, &after));
        assert_in_range(after.syncs - before.syncs, 1, IN_FLIGHT / 8);
        cellar_lab_proc_read(lab.sim.db, flight.proc, &tally);
        assert_int_equal(tally.committed, IN_FLIGHT);
        assert_true(cellar_lab_latency_ns(&tally, 0.01) >= SYNC_NS);
        for (int call = 0; call < IN_FLIGHT; call++) assert_int_equal(flight.completions[call].result.code, 0);
        lab_close(&lab);
    }
}

/* Those that have changed something are in doubt; those that began later have changed nothing. */
static void a_lost_disk_ends_calls_in_flight(void **state)
{
    struct lab lab;
    struct flight flight;
    uint32_t unsure = 0, refused = 0;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    flight_begin(&lab, &flight);
    disk_sim_off(lab.sim.disk, true);
    (void)flight_end(&lab, &flight);
    for (int i = 0; i < IN_FLIGHT; i++) {
        const struct cellar_result *result = &flight.completions[i].result;
        unsure += result->code == CELLAR_INDETERMINATE;
        refused += result->code == CELLAR_SYSTEM;
        assert_int_equal(result->detail.why, WHY_DISK);
    }
    assert_true(unsure > 0);
    assert_int_equal(unsure + refused, IN_FLIGHT);
    lab_close(&lab);
}

#ifdef CELLAR_PLANTS
static void planted_bugs_are_met(void **state)
{
    struct lab lab;
    (void)state;
    lab_open(&lab, CELLAR_LAB_CC_CELLAR);
    const struct cellar_proc *proc = added_register(lab.sim.db);
    static const char *const plants[] = {"epochs_unurged", "epochs_waiter_late"};
    for (int i = 0; i < 2; i++) {
        assert_true(plant_choose(plants[i]));
        assert_true(slowest_ns(&lab, paid, false) > 10 * SYNC_NS);
        assert_true(slowest_inside_ns(&lab, proc) > 10 * SYNC_NS);
    }
    assert_true(plant_choose(NULL));
    lab_close(&lab);
}
#endif

/* ---- on a real disk ---- */

struct place {
    char folder[32];
    struct cellar *db;
    const struct cellar_table *purses;
};

static void place_open(struct place *place)
{
    strcpy(place->folder, "/tmp/cellar-waits-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    ok(cellar_open(place->folder, CELLAR_OPTIONS(.bytes = 16u << 20, .threads = 2), &place->db));
    ok(cellar_table_open(place->db, CELLAR_TABLE(struct purse, purse_columns, .name = "purses"), 0, &place->purses));
}

static void place_close(struct place *place)
{
    char command[64];
    ok(cellar_close(place->db));
    snprintf(command, sizeof command, "rm -r %s", place->folder);
    assert_int_equal(system(command), 0);
}

/* Only looks that were not asked for: ten a second of each thread. More of them is what polling takes. */
static void a_folder_at_rest_sleeps(void **state)
{
    struct place place;
    struct rusage before, after;
    (void)state;
    place_open(&place);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_nvcsw - before.ru_nvcsw < 200);
    place_close(&place);
}

enum { THREADS = 4, TURNS = 30, TRIES = 50 };

static void *client_main(void *arg)
{
    struct client *client = arg;
    struct cellar *db = client->db;
    for (int i = 0; i < TURNS && client->rc == 0; i++) {
        struct cellar_result result = {0};
        client->rc = client->proc ? cellar_proc_run(db, client->proc, client, NULL, &result)
                                  : cellar_run(db, added, client, NULL, &result);
        if (client->rc == 0 && cellar_durable_epoch(db) < result.epoch) client->rc = CELLAR_CORRUPT;
    }
    return NULL;
}

/* All that wait are woken, each by its own epoch, and what it has told is on the disk. */
static void threads_wait_together(void **state)
{
    struct place place;
    struct client clients[THREADS];
    (void)state;
    place_open(&place);
    const struct cellar_proc *proc = added_register(place.db);
    for (int i = 0; i < THREADS; i++) {
        clients[i] = (struct client){place.db, place.purses, (uint64_t)i, .proc = i % 2 ? proc : NULL};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, client_main, &clients[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
        assert_int_equal(clients[i].rc, 0);
    }
    place_close(&place);
}

/* How often they do the agent's work themselves, of TURNS calls. */
static uint64_t lendings(struct client *client)
{
    const uint64_t *count = &client->db->durable->nodes[0].agent.lendings;
    uint64_t before = counter_read(count);
    client_main(client);
    assert_int_equal(client->rc, 0);
    return counter_read(count) - before;
}

/*
 * It does the agent's work itself, unless that is just looking around, as it does now and then, or has not yet got the
 * processor for that: on a busy machine some turns are like that.
 */
static void one_that_is_alone_wakes_nothing(void **state)
{
    struct place place;
    (void)state;
    place_open(&place);
    struct client client = {place.db, place.purses, 0, .proc = added_register(place.db)};
    for (int turn = 0; turn < 2; turn++) {
        int tries = 1;
        while (lendings(&client) <= TURNS / 2 && tries < TRIES) tries++;
        assert_true(tries < TRIES);
        client.proc = NULL; /* interactive ones, then */
    }
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_for_the_disk_alone),
        cmocka_unit_test(a_procedure_s_call_counts_its_wait),
        cmocka_unit_test(a_client_function_waits_for_the_disk),
        cmocka_unit_test(a_lost_disk_ends_a_call),
        cmocka_unit_test(calls_of_memory_share_an_epoch),
        cmocka_unit_test(an_epoch_of_memory_ends_in_its_time),
        cmocka_unit_test(a_ring_stays_in_few_lines),
        cmocka_unit_test(calls_in_flight_share_a_sync),
        cmocka_unit_test(a_lost_disk_ends_calls_in_flight),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(planted_bugs_are_met),
#endif
        cmocka_unit_test(a_folder_at_rest_sleeps),
        cmocka_unit_test(threads_wait_together),
        cmocka_unit_test(one_that_is_alone_wakes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
