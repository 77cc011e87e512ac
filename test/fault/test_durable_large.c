/*
 * test_durable_large.c - entries that are longer than their ring, on simulated disks (docs/large.md): what was told to
 * be on the disk is there when the power has failed, with one memory node or with backups; an extent is written again
 * when the agents have what was in it; and how long an entry may be. With planted bugs, each of which is met.
 */
#include "bulk.h"
#include "db.h"
#include "db_schema.h"
#include "durable.h"
#include "durable_sim.h"
#include "numbered.h"
#include "plant.h"
#include "rivals.h"
#include "session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 300  /* an entry of them is longer than half a ring, */
#define MANY 1300 /* ... and of these than a quarter of the log */
#define CAPACITY (64ull << 20)

struct row {
    int64_t value;
    uint8_t more[120];
};
enum { VALUE, MORE };

struct scene {
    struct durable_sim sim;
    const struct cellar_table *rows;
    /* of one call of rows_set */
    int64_t value;
    uint64_t first, count; /* of rows */
    enum cellar_durability level;
    bool adds;
    struct cellar_result result;
    /* what is there */
    uint64_t found;
    int64_t least, most;
};

static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                           CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_MOTOR};
#define MODES (sizeof modes / sizeof *modes)

/* ---- a database ---- */

static void scene_begin(struct scene *scene, uint64_t seed)
{
    *scene = (struct scene){.sim = {.seed = seed,
                                    .fabric_seed = seed,
                                    .sync_ns = 20000000, /* much longer than a transaction takes */
                                    .epoch_ns = 100000,
                                    .cc = modes[seed % MODES],
                                    .coros = 1,
                                    .torn = true,
                                    .nodes = seed / MODES % 2 ? 2 : 1,
                                    .replicas = seed / MODES % 2}};
    assert_non_null(scene->sim.disk = disk_sim_open(seed, CAPACITY));
    if (scene->sim.nodes == 2)
        assert_non_null(scene->sim.others[0] = disk_sim_open_beside(scene->sim.disk, seed + 100, CAPACITY));
}

static void scene_open(struct scene *scene)
{
    static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, value),
                                                          CELLAR_COLUMN(struct row, more)};
    const struct cellar_schema schema = {
        .name = "rows", .row_bytes = sizeof(struct row), .columns = columns, .column_count = 2, .records_max = MANY};
    struct cellar_error error = {0};
    int rc = durable_sim_open(&scene->sim, &error);
    if (rc == 0) rc = db_table_create(scene->sim.db, &schema, &scene->rows, &error);
    if (rc) fail_msg("%d: %s", rc, error.text);
}

/* What the process does from now on reaches no disk. */
static void power_fails(struct scene *scene)
{
    disk_sim_off(scene->sim.disk, true);
    cellar_close(scene->sim.db);
    disk_sim_off(scene->sim.disk, false);
    fabric_close(scene->sim.fabric);
    disk_sim_power_cycle(scene->sim.disk);
}

static void scene_end(struct scene *scene)
{
    power_fails(scene);
    disk_sim_close(scene->sim.disk);
}

/* ---- rows ---- */

static int row_set(struct cellar_txn *txn, const struct scene *scene, uint64_t key)
{
    struct row row = {.value = scene->value};
    memset(row.more, (int)scene->value, sizeof row.more);
    if (scene->adds) return cellar_txn_insert(txn, scene->rows, key, &row);
    int rc = cellar_txn_put(txn, scene->rows, key, VALUE, &row.value);
    return rc ? rc : cellar_txn_put(txn, scene->rows, key, MORE, row.more);
}

static int all_set(struct session *session, struct scene *scene)
{
    const struct session_options options = {.level = scene->level};
    struct cellar_txn *txn;
    int rc = session_begin(session, &options, &txn);
    for (uint64_t i = 0; i < scene->count && rc == 0; i++) rc = row_set(txn, scene, scene->first + i);
    return rc ? rc : session_commit(txn, &scene->result);
}

static int set_main(struct cellar_lab_client *client, void *arg)
{
    struct session session = {0};
    if (cellar_lab_index(client)) return 0;
    int rc = session_open_inside(client, &session);
    if (rc == 0) rc = all_set(&session, arg);
    session_close_inside(&session);
    return rc;
}

static int rows_set(struct scene *scene, int64_t value, uint64_t count, enum cellar_durability level)
{
    scene->adds = value == 1;
    scene->value = value;
    scene->count = count;
    scene->level = level;
    return cellar_lab_run(scene->sim.db, set_main, scene);
}

static int row_see(void *arg, uint64_t key, const void *bytes)
{
    struct scene *scene = arg;
    const struct row *row = bytes;
    (void)key;
    if (!scene->found++ || row->value < scene->least) scene->least = row->value;
    if (row->value > scene->most) scene->most = row->value;
    return row->more[0] == (uint8_t)row->value && row->more[119] == row->more[0] ? 0 : CELLAR_CORRUPT;
}

static int see_main(struct cellar_lab_client *client, void *arg)
{
    struct scene *scene = arg;
    if (cellar_lab_index(client)) return 0;
    int rc = db_audit(client, NULL);
    return rc ? rc : db_scan(client, scene->rows, row_see, scene, NULL);
}

/* Have all the rows that value, after a power loss? */
static bool are_there(struct scene *scene, int64_t value)
{
    power_fails(scene);
    scene_open(scene);
    scene->found = 0;
    scene->least = scene->most = 0;
    return cellar_lab_run(scene->sim.db, see_main, scene) == 0 && scene->found == ROWS && scene->least == value &&
           scene->most == value;
}

/* ---- what is told is there ---- */

static bool is_kept(uint64_t seed)
{
    struct scene scene;
    scene_begin(&scene, seed);
    scene_open(&scene);
    bool kept = true;
    for (int64_t value = 1; value <= 3 && kept; value++)
        kept = rows_set(&scene, value, ROWS, CELLAR_DURABLE) == 0 && are_there(&scene, value);
    scene_end(&scene);
    return kept;
}

/* Each is in the extent before the agents, which wait for a disk, have taken the one before it, if it does not wait. */
static bool are_kept_one_after_the_other(uint64_t seed)
{
    struct scene scene;
    scene_begin(&scene, seed);
    scene_open(&scene);
    bool kept = true;
    for (int64_t value = 1; value <= 5 && kept; value++) kept = rows_set(&scene, value, ROWS, CELLAR_MEMORY) == 0;
    kept = kept && db_sync(scene.sim.db, scene.result.epoch, NULL) == 0 && are_there(&scene, 5);
    scene_end(&scene);
    return kept;
}

static void in_each_cluster(bool (*good)(uint64_t seed), const char *plant)
{
    for (uint64_t seed = 0; seed < 2 * MODES; seed++) assert_true(good(seed));
#ifdef CELLAR_PLANTS
    assert_true(plant_choose(plant));
    for (uint64_t seed = 0; seed < 2 * MODES; seed++) assert_false(good(seed));
    assert_true(plant_choose(NULL));
#else
    (void)plant;
#endif
}

static void what_was_told_is_there(void **state) { (void)state, in_each_cluster(is_kept, "durable_extent_unread"); }

static void an_extent_is_written_again(void **state)
{
    (void)state;
    in_each_cluster(are_kept_one_after_the_other, "epochs_extent_reused");
}

/* ---- a full disk ---- */

static int all_read(struct session *session, const struct scene *scene)
{
    const struct session_options options = {.level = CELLAR_MEMORY};
    struct cellar_txn *txn;
    int64_t value;
    int rc = session_begin(session, &options, &txn);
    for (uint64_t key = 0; key < 4 * ROWS && rc == 0; key++) rc = cellar_txn_get(txn, scene->rows, key, VALUE, &value);
    return rc ? rc : session_commit(txn, NULL);
}

/* Each client has rows of its own; an agent that has one's entry, and finds no space, leaves the other's. */
static int fill_main(struct cellar_lab_client *client, void *arg)
{
    const struct scene *all = arg;
    struct scene own = *all;
    struct session session = {0};
    own.first = cellar_lab_index(client) * ROWS;
    int rc = session_open_inside(client, &session);
    for (own.value = 2; rc == 0; own.value++) rc = all_set(&session, &own);
    if (rc == CELLAR_FULL && own.result.detail.why == WHY_DISK) rc = all_read(&session, &own);
    session_close_inside(&session);
    return rc;
}

/* Nothing that is long commits, then; as many rows, and more, are read. */
static void a_full_disk_is_read(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2 * MODES; seed++) {
        struct scene scene;
        scene_begin(&scene, seed);
        scene_open(&scene);
        for (scene.first = 0; scene.first < 4 * ROWS; scene.first += ROWS)
            assert_int_equal(rows_set(&scene, 1, ROWS, CELLAR_DURABLE), 0);
        disk_sim_resize(scene.sim.disk, 0);
        scene.level = CELLAR_MEMORY;
        scene.adds = false;
        assert_int_equal(cellar_lab_run(scene.sim.db, fill_main, &scene), 0);
        disk_sim_resize(scene.sim.disk, CAPACITY);
        scene_end(&scene);
    }
}

/* ---- limits ---- */

static void an_entry_is_too_long(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2 * MODES; seed++) {
        struct scene scene;
        scene_begin(&scene, seed);
        scene_open(&scene);
        assert_int_equal(rows_set(&scene, 1, MANY, CELLAR_DURABLE), CELLAR_TOO_LARGE);
        assert_int_equal(scene.result.detail.why, WHY_DURABLE_LOG_BYTES);
        assert_int_equal(scene.result.detail.limit, durable_entry_most(scene.sim.durable));
        assert_int_equal(rows_set(&scene, 1, ROWS, CELLAR_DURABLE), 0);
        assert_true(are_there(&scene, 1));
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_is_there),
        cmocka_unit_test(an_extent_is_written_again),
        cmocka_unit_test(a_full_disk_is_read),
        cmocka_unit_test(an_entry_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
