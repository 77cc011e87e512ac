/*
 * test_api_snapshot.c - db_backup: a copy of the pool as of one moment, made while transactions run. Opened, it
 * has the sums that every moment has, what was acknowledged before, and passes the audit.
 */
#include "db_snapshot.h"
#include "numbered.h"
#include "rivals.h"
#include "session.h"
#include "sessions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define ACCOUNTS 4000
#define CENTS 1000
#define MOVERS 2
#define POOL_BYTES (24u << 20)

struct place {
    char folder[48], path[80], part[96];
};

static void place_make(struct place *place)
{
    strcpy(place->folder, "/tmp/cellar-snapshot-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/copy", place->folder);
    snprintf(place->part, sizeof place->part, "%s.part", place->path);
}

static void place_remove(struct place *place)
{
    unlink(place->path);
    assert_int_equal(rmdir(place->folder), 0); /* nothing else is there */
}

static bool possible(const struct api_variant *variant) { return variant->cc != CELLAR_LAB_CC_TWOPL; }

static struct engine_config config_of(uint32_t threads)
{
    return (struct engine_config){.pool_bytes = POOL_BYTES, .threads = threads, .coros = 2};
}

/* The copy, opened like any pool; the variant's fabric may be another, a file is memory here. */
static void copy_open(struct api *copy, const struct place *place, const struct api *of)
{
    static struct api_variant variant;
    variant = (struct api_variant){"copy", "shm", of->variant->cc, true};
    api_open_with(
        copy, &variant,
        (struct engine_config){.pool_path = place->path, .pool_bytes = POOL_BYTES, .coros = 2, .existing = true});
}

/* ---- movers: cents go from one account to another, and records come and go in pairs ---- */

static _Atomic uint64_t transfers; /* that have committed */

struct mover {
    struct api_call call; /* first */
    struct api *api;
    pthread_t thread;
    atomic_bool *stop;
    uint64_t from, to;
    int odd; /* a code that no transfer ends with */
};

static int move(struct cellar_txn *txn, struct api_call *call)
{
    struct mover *mover = (struct mover *)call;
    uint64_t a, b;
    int from = cellar_proc_access(txn, call->items, mover->from, CELL_A, CELL_A, 0);
    TRY(from);
    int to = cellar_proc_access(txn, call->items, mover->to, CELL_A, CELL_A, 0);
    TRY(to);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, from, ITEM_A, &a));
    TRY(cellar_proc_get(txn, to, ITEM_A, &b));
    a--, b++;
    TRY(cellar_proc_put(txn, from, ITEM_A, &a));
    return cellar_proc_put(txn, to, ITEM_A, &b);
}

/* An account is there under one of two keys, with its cents. */
static int rename_body(struct cellar_txn *txn, struct api_call *call)
{
    struct mover *mover = (struct mover *)call;
    struct item item;
    int one = cellar_proc_access(txn, call->items, mover->from, CELLAR_ALL_CELLS, 0, CELLAR_OPTIONAL | CELLAR_DELETE);
    TRY(one);
    TRY(cellar_proc_fetch(txn));
    if (!cellar_proc_found(txn, one)) return 0;
    memset(&item, 0, sizeof item);
    TRY(cellar_proc_get_row(txn, one, &item));
    TRY(cellar_proc_insert(txn, call->items, mover->to, &item));
    return cellar_proc_fetch(txn);
}

static void *mover_main(void *arg)
{
    struct mover *mover = arg;
    struct api *api = mover->api;
    struct cellar_result result;
    uint64_t x = mover->from + 1;
    for (uint64_t i = 0; !atomic_load(mover->stop) && mover->odd == 0; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        bool renames = i % 8 == 0;
        uint64_t account = ACCOUNTS + (x >> 40) % 64;
        mover->from = renames ? account * (1 + (x >> 62 & 1) * 7) : (x >> 33) % ACCOUNTS;
        mover->to =
            renames ? account * 8 - account * 7 * (x >> 62 & 1) : (mover->from + 1 + (x >> 20) % 100) % ACCOUNTS;
        mover->call = (struct api_call){.body = renames ? rename_body : move, .items = api->items};
        int rc = cellar_proc_run(api->db, api->any, mover, NULL, &result);
        if (rc && rc != CELLAR_EXISTS) mover->odd = rc;
        if (rc == 0) atomic_fetch_add(&transfers, 1);
    }
    return NULL;
}

static int accounts_load(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct api *api = arg;
    int rc = 0;
    for (uint64_t key = 0; key < ACCOUNTS + 64 && rc == 0; key++) {
        struct item item = item_of(key);
        item.a = CENTS;
        rc = db_load(client, api->items, key, &item, error);
    }
    return rc;
}

/* Makes a snapshot now: has it the sum that is always there, and does it pass the audit? */
static bool snapshot_holds(struct api *api)
{
    struct place place;
    struct api copy;
    struct cellar_error error;
    place_make(&place);
    MUST(&error, db_backup(api->db, place.path, &error));
    copy_open(&copy, &place, api);
    struct api_range range = {.table = copy.items};
    bool right = api_alone(&copy, api_scan_job, &range) == 0 && range.seen == ACCOUNTS + 64 &&
                 range.sum_a == (uint64_t)CENTS * (ACCOUNTS + 64) && api_audit(&copy) == 0;
    api_close(&copy);
    place_remove(&place);
    return right;
}

struct movers {
    struct mover each[MOVERS];
    atomic_bool stop;
};

static void movers_begin(struct movers *movers, struct api *api)
{
    MUST(&api->error, api_alone(api, accounts_load, api));
    atomic_store(&movers->stop, false);
    for (int i = 0; i < MOVERS; i++) {
        movers->each[i] = (struct mover){.api = api, .stop = &movers->stop, .from = (uint64_t)i * 77};
        assert_int_equal(pthread_create(&movers->each[i].thread, NULL, mover_main, &movers->each[i]), 0);
    }
}

static void movers_end(struct movers *movers)
{
    atomic_store(&movers->stop, true);
    for (int i = 0; i < MOVERS; i++) {
        assert_int_equal(pthread_join(movers->each[i].thread, NULL), 0);
        assert_code(movers->each[i].odd, 0);
    }
}

static void a_copy_is_of_one_moment(void **state)
{
    struct api api;
    struct movers movers;
    uint64_t then = atomic_load(&transfers);
    if (!possible(*state)) skip();
    api_open_with(&api, *state, config_of(2));
    movers_begin(&movers, &api);
    for (int round = 0; round < (share_threads_only() ? 1 : 3); round++) assert_true(snapshot_holds(&api));
    movers_end(&movers);
    assert_true(atomic_load(&transfers) > then);
    api_audit_clean(&api);
    api_close(&api);
}

#ifdef CELLAR_PLANTS
/*
 * The copier posts each operation after some more transfers: however busy the machine is, they come between what it
 * reads. Not while the compute node rests for it, when none can come.
 */
static struct fabric_ops slow_ops;
static const struct fabric_ops *own_ops;
static const struct gate *slow_gate;

static void slow_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    uint64_t then = atomic_load(&transfers);
    while (atomic_load(&transfers) < then + 2 && !(atomic_load(&slow_gate->closed) & GATE_RESTING)) usleep(20);
    own_ops->post(ep, ops, count, wait);
}

/* Another snapshot is made by the same thread: in the place of a session that it had before. */
static void copier_slow(struct cellar *db)
{
    assert_true(db->sessions[0] && db->sessions[0]->worker);
    struct fabric_ep *ep = db->sessions[0]->worker->ep;
    slow_gate = &db->nodes[0].gate;
    own_ops = ep->ops;
    slow_ops = *own_ops;
    slow_ops.post = slow_post;
    ep->ops = &slow_ops;
}

static bool torn(const char *plant, int rounds)
{
    struct api api;
    struct movers movers;
    bool right = true;
    api_open_with(&api, &api_variants[2], config_of(2));
    movers_begin(&movers, &api);
    assert_true(snapshot_holds(&api));
    assert_true(plant_choose(plant));
    copier_slow(api.db);
    for (int round = 0; round < rounds && right; round++) right = snapshot_holds(&api);
    assert_true(plant_choose(NULL));
    movers_end(&movers);
    api_close(&api);
    return !right;
}

static void a_copy_that_tears_is_seen(void **state)
{
    (void)state;
    assert_false(torn(NULL, 3));
    assert_true(torn("snapshot_torn", 20));
    assert_true(torn("snapshot_running", 20));
}
#endif

/* ---- what it has, and what it is refused for ---- */

static void it_has_what_was_acknowledged(void **state)
{
    struct api api, copy;
    struct place place;
    if (!possible(*state)) skip();
    api_open_with(&api, *state, config_of(1));
    for (uint64_t round = 0; round < 3; round++) {
        api_load(&api, 100 * round, 100);
        place_make(&place);
        MUST(&api.error, db_backup(api.db, place.path, &api.error));
        api_load(&api, 1000 + round, 1);
        copy_open(&copy, &place, &api);
        assert_int_equal(api_totals(&copy).seen, 100 * (round + 1) + round);
        api_audit_clean(&copy);
        api_load(&copy, 5000, 200); /* it is a pool like any other */
        api_audit_clean(&copy);
        api_close(&copy);
        copy_open(&copy, &place, &api); /* and was closed as one */
        api_close(&copy);
        place_remove(&place);
    }
    api_close(&api);
}

static void what_cannot_be_is_refused(void **state)
{
    struct api api;
    struct place place;
    place_make(&place);
    api_open_with(&api, *state, config_of(1));
    FAILS(&api.error, db_backup(api.db, NULL, &api.error), CELLAR_INVALID, "path");
    if (possible(*state)) {
        FAILS(&api.error, db_backup(api.db, "/nowhere/at/all", &api.error), CELLAR_SYSTEM, "/nowhere");
        MUST(&api.error, db_backup(api.db, place.path, &api.error));
        FAILS(&api.error, db_backup(api.db, place.path, &api.error), CELLAR_EXISTS, "there already");
    } else {
        FAILS(&api.error, db_backup(api.db, place.path, &api.error), CELLAR_UNSUPPORTED, "2pl");
    }
    api_close(&api);
    api_open_with(&api, *state, (struct engine_config){.mns = 2, .pool_bytes = 8 << 20});
    FAILS(&api.error, db_backup(api.db, place.part, &api.error), CELLAR_UNSUPPORTED, "one memory node");
    api_close(&api);
    place_remove(&place);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST_SHM(a_copy_is_of_one_moment),
        API_TEST(it_has_what_was_acknowledged),
        API_TEST(what_cannot_be_is_refused),
#ifdef CELLAR_PLANTS
        API_TEST_ONCE(a_copy_that_tears_is_seen),
#endif
    };
    return api_main("api_snapshot", tests, sizeof tests / sizeof *tests, argc, argv);
}
