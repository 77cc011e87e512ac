/*
 * test_durable_tables.c - tables and indexes of a durable folder that go, are emptied, or get another row: what was
 * decided stays so when the folder is opened again, though its log still has what was there before (INV-DURABLE-26).
 */
#include "cellar_lab.h"
#include "durable_place.h"
#include "plant.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 800, BYTES = 16 << 20 };

struct purse {
    uint64_t id, coins;
    struct cellar_bytes note;
};
static const struct cellar_column purse_columns[] = {{CELLAR_FIELD(struct purse, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct purse, coins)},
                                                     {CELLAR_FIELD(struct purse, note)}};
static const struct cellar_index_def by_coins = {.name = "by_coins", .columns = "coins"};

/* With a column more. */
struct wide {
    uint64_t id, coins;
    struct cellar_bytes note;
    int64_t debts;
};
static const struct cellar_column wide_columns[] = {{CELLAR_FIELD(struct wide, id), .flags = CELLAR_KEY},
                                                    {CELLAR_FIELD(struct wide, coins)},
                                                    {CELLAR_FIELD(struct wide, note)},
                                                    {CELLAR_FIELD(struct wide, debts)}};

#define PURSES(...) CELLAR_TABLE(struct purse, purse_columns, .name = "purses", .rows = ROWS, __VA_ARGS__)
#define INDEXED .indexes = &by_coins, .index_count = 1
#define WIDES CELLAR_TABLE(struct wide, wide_columns, .name = "purses", .rows = ROWS, INDEXED)

enum what { DROPPED, DROPPED_AND_MADE, EMPTIED, UNINDEXED, ALTERED, WHATS };

struct scene {
    struct place place;
    uint32_t mns, replicas;
    enum what what;
    bool closed; /* the process that does it closes the folder; else it just ends */
};

static struct cellar *opened(const struct scene *scene)
{
    struct cellar *db;
    const struct cellar_lab *lab = CELLAR_LAB(.mns = scene->mns, .replicas = scene->replicas);
    ok(cellar_open(scene->place.folder, CELLAR_OPTIONS(.bytes = BYTES, .lab = lab), &db));
    return db;
}

/* ---- rows ---- */

static struct purse purse_of(uint64_t id)
{
    static const char text[400] = {'n'};
    return (struct purse){id, id % 7, {text, id % 5 ? 8 : sizeof text}};
}

static int rows_put(struct cellar_txn *txn, void *arg)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++) {
        struct purse purse = purse_of(id);
        rc = cellar_put(txn, arg, 0, &purse);
    }
    return rc;
}

static int rows_look(struct cellar_txn *txn, void *arg)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++) {
        struct purse purse = {.id = id}, right = purse_of(id);
        rc = cellar_get(txn, arg, 0, 0, &purse);
        bool same = rc == 0 && purse.coins == right.coins && purse.note.bytes == right.note.bytes &&
                    memcmp(purse.note.data, right.note.data, right.note.bytes) == 0;
        if (rc == 0 && !same) rc = CELLAR_CORRUPT;
    }
    return rc;
}

static int wides_look(struct cellar_txn *txn, void *arg)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++) {
        struct wide wide = {.id = id};
        rc = cellar_get(txn, arg, 0, 0, &wide);
        if (rc == 0 && (wide.debts != -3 || wide.coins != id % 7)) rc = CELLAR_CORRUPT;
    }
    return rc;
}

static int none_look(struct cellar_txn *txn, void *arg)
{
    struct purse purse = {.id = 1};
    return cellar_get(txn, arg, 0, 0, &purse) == CELLAR_NOT_FOUND ? 0 : CELLAR_CORRUPT;
}

/* Rows of a table beside it, in the order in which they were put: the log has something after the table's change. */
static const struct cellar_table *beside(struct cellar *db)
{
    const struct cellar_table *table;
    ok(cellar_table_open(db, CELLAR_TABLE(struct purse, purse_columns, .name = "beside", .rows = ROWS), 0, &table));
    return table;
}

/* ---- what is done ---- */

static void changed(struct cellar *db, enum what what)
{
    const struct cellar_table *table;
    ok(cellar_table_open(db, PURSES(INDEXED), CELLAR_EXISTING, &table));
    if (what == DROPPED || what == DROPPED_AND_MADE) ok(cellar_table_drop(db, table));
    if (what == DROPPED_AND_MADE) ok(cellar_table_open(db, PURSES(INDEXED), 0, &table));
    if (what == EMPTIED) ok(cellar_table_truncate(db, table));
    if (what == UNINDEXED) ok(cellar_index_drop(db, cellar_index_find(table, "by_coins")));
    if (what == ALTERED) ok(cellar_table_alter(db, table, WIDES, &(struct wide){.debts = -3}, &table));
}

/* In a process of its own: the rows are on the disk before, and what follows is. */
static void done_elsewhere(const struct scene *scene)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const struct cellar_table *table;
        struct cellar *db = opened(scene);
        ok(cellar_table_open(db, PURSES(INDEXED), 0, &table));
        ok(cellar_run(db, rows_put, (void *)table, NULL, NULL));
        changed(db, scene->what);
        ok(cellar_run(db, rows_put, (void *)beside(db), NULL, NULL));
        if (scene->closed) ok(cellar_close(db));
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- what is there ---- */

static int judged(struct cellar *db, enum what what)
{
    const struct cellar_table *table = NULL;
    int rc = what == ALTERED     ? cellar_table_open(db, WIDES, CELLAR_EXISTING, &table)
             : what == UNINDEXED ? cellar_table_open(db, PURSES(), CELLAR_EXISTING, &table)
                                 : cellar_table_open(db, PURSES(INDEXED), CELLAR_EXISTING, &table);
    if (what == DROPPED) return rc == CELLAR_NOT_FOUND ? 0 : CELLAR_CORRUPT;
    if (rc) return rc;
    if (what == UNINDEXED && cellar_index_find(table, "by_coins")) return CELLAR_CORRUPT;
    int (*look)(struct cellar_txn * txn, void *arg) = what == ALTERED     ? wides_look
                                                      : what == UNINDEXED ? rows_look
                                                                          : none_look;
    return cellar_run(db, look, (void *)table, NULL, NULL);
}

/* Twice: the second opening has the log of the first one, too. */
static int found(const struct scene *scene)
{
    int rc = 0;
    for (int opening = 0; opening < 2 && rc == 0; opening++) {
        struct cellar *db;
        rc = cellar_open(scene->place.folder, NULL, &db);
        if (rc) return rc;
        rc = judged(db, scene->what);
        if (rc == 0) rc = cellar_run(db, rows_look, (void *)beside(db), NULL, NULL);
        if (rc == 0) rc = cellar_cluster_audit(db);
        if (rc == 0 && scene->what == DROPPED) { /* where it was others lie */
            const struct cellar_table *table;
            rc = cellar_table_open(db, CELLAR_TABLE(struct wide, wide_columns, .name = "wides", .rows = ROWS), 0,
                                   &table);
            if (rc == 0) rc = cellar_cluster_audit(db);
        }
        int ended = cellar_close(db);
        if (rc == 0) rc = ended;
    }
    return rc;
}

static const struct scene shapes[] = {{.mns = 1}, {.mns = 2}, {.mns = 2, .replicas = 1}};
#define SHAPES (sizeof shapes / sizeof *shapes)

static void what_went_stays_gone(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES * WHATS; i++) {
        struct scene scene = shapes[i % SHAPES];
        scene.what = i / SHAPES;
        scene.closed = i % 2; /* each change, and each shape, both ways */
        place_make(&scene.place);
        done_elsewhere(&scene);
        int rc = found(&scene);
        if (rc) fail_msg("shape %u, change %d, closed %d: %d", i % (unsigned)SHAPES, scene.what, scene.closed, rc);
        place_end(&scene.place);
    }
}

#ifdef CELLAR_PLANTS
static bool met(const struct scene *scene)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(found(scene) ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return !WIFEXITED(status) || WEXITSTATUS(status);
}

static void a_planted_bug_is_met(void **state)
{
    static const enum what whats[] = {DROPPED, ALTERED}; /* the log has entries of the catalog that are gone */
    (void)state;
    for (uint32_t i = 0; i < sizeof whats / sizeof *whats; i++) {
        struct scene scene = {.mns = 1, .what = whats[i]};
        place_make(&scene.place);
        done_elsewhere(&scene);
        assert_true(plant_choose("durable_pages_outdated"));
        if (!met(&scene)) fail_msg("change %d is not undone", scene.what);
        assert_true(plant_choose(NULL));
        place_end(&scene.place);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_went_stays_gone),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(a_planted_bug_is_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
