/*
 * test_durable_nodes.c - a folder that keeps several memory nodes, each in a folder of its own: what is there when it
 * is opened again, and what is refused, with nothing changed (docs/durability.md).
 */
#include "cellar_lab.h"
#include "bulk.h"
#include "durable_place.h"
#include "plant.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 200, BYTES = 16 << 20 };

struct purse {
    uint64_t id, coins;
};
static const struct cellar_column purse_columns[] = {{CELLAR_FIELD(struct purse, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct purse, coins)}};

static int opened(const struct place *place, uint32_t mns, uint32_t replicas, struct cellar **db)
{
    return cellar_open(place->folder,
                       CELLAR_OPTIONS(.bytes = BYTES, .lab = CELLAR_LAB(.mns = mns, .replicas = replicas)), db);
}

static const struct cellar_table *purses_of(struct cellar *db)
{
    const struct cellar_table *purses;
    ok(cellar_table_open(db, CELLAR_TABLE(struct purse, purse_columns, .name = "purses"), 0, &purses));
    return purses;
}

static int filled(struct cellar_txn *txn, void *arg)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++)
        rc = cellar_put(txn, arg, 0, &(struct purse){.id = id, .coins = id * id});
    return rc;
}

static int looked(struct cellar_txn *txn, void *arg)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++) {
        struct purse purse = {.id = id};
        rc = cellar_get(txn, arg, 0, 0, &purse);
        if (rc == 0 && purse.coins != id * id) rc = CELLAR_CORRUPT;
    }
    return rc;
}

/* All rows are there; it is closed. */
static void judge_rows(struct cellar *db)
{
    ok(cellar_run(db, looked, (void *)purses_of(db), NULL, NULL));
    ok(cellar_close(db));
}

static void make(const struct place *place, uint32_t mns, uint32_t replicas)
{
    struct cellar *db;
    ok(opened(place, mns, replicas, &db));
    ok(cellar_run(db, filled, (void *)purses_of(db), NULL, NULL));
    ok(cellar_close(db));
}

/* ---- what is kept ---- */

static void what_was_put_is_there(void **state)
{
    (void)state;
    for (uint32_t replicas = 0; replicas < 3; replicas++) {
        struct place place;
        struct cellar *db;
        place_make(&place);
        make(&place, 3, replicas);
        for (int opening = 0; opening < 3; opening++) { /* as it is; as it was asked for; only to look */
            const struct cellar_lab *lab = opening == 1 ? CELLAR_LAB(.mns = 3, .replicas = replicas) : NULL;
            uint32_t flags = CELLAR_EXISTING | (opening == 2 ? (uint32_t)CELLAR_PRIVATE : 0);
            ok(cellar_open(place.folder, CELLAR_OPTIONS(.flags = flags, .lab = lab), &db));
            judge_rows(db);
        }
        place_end(&place);
    }
}

/* Power failed, or the process was killed, before there was a log: nothing was ever kept. */
static void a_first_use_that_was_cut_off_begins_anew(void **state)
{
    struct place place;
    struct cellar *db;
    (void)state;
    place_make(&place);
    make(&place, 3, 1);
    shell(&place, "rm $d/node-0/* $d/node-[12]/wal-* $d/node-[12]/checkpoint-*");
    assert_int_equal(
        cellar_open(place.folder, CELLAR_OPTIONS(.flags = CELLAR_PRIVATE, .lab = CELLAR_LAB(.mns = 3)), &db),
        CELLAR_NOT_FOUND);
    make(&place, 3, 2);
    shell(&place, "cp $d/node-2/cellar of_two && rm $d/node-*/wal-* $d/node-*/checkpoint-* $d/node-[02]/cellar");
    make(&place, 3, 1);
    shell(&place, "rm $d/node-*/wal-* $d/node-*/checkpoint-* && cp of_two $d/node-2/cellar"); /* of two makings */
    make(&place, 3, 1);
    ok(cellar_open(place.folder, NULL, &db));
    judge_rows(db);
    place_end(&place);
}

/* ---- parts ---- */

/* In a process that ends without a close, so that only logs have what it did. */
static void left(const struct place *place, int (*fn)(struct cellar_txn *txn, void *arg))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct cellar *db;
        int rc = opened(place, 0, 0, &db);
        _exit(rc || cellar_run(db, fn, (void *)purses_of(db), NULL, NULL));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int emptied(struct cellar_txn *txn, void *arg)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++) rc = cellar_delete(txn, arg, &(struct purse){.id = id});
    return rc;
}

static int audited(struct cellar_lab_client *client, void *error)
{
    return cellar_lab_index(client) ? 0 : db_audit(client, error);
}

/* Opens it to look at it, and judges all replicas. */
static int judged(const struct place *place)
{
    struct cellar *db;
    struct cellar_error error;
    int rc = cellar_open(place->folder, CELLAR_OPTIONS(.flags = CELLAR_PRIVATE), &db);
    if (rc == 0) rc = cellar_lab_run(db, audited, &error);
    if (rc == 0) rc = cellar_run(db, looked, (void *)purses_of(db), NULL, NULL);
    ok(cellar_close(db));
    return rc;
}

/* What is in the logs alone is redone on primaries and backups. */
static void entries_are_redone_on_all_replicas(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    make(&place, 3, 2);
    left(&place, emptied);
    left(&place, filled);
    ok(judged(&place));
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("replay_backups_kept"));
    assert_int_equal(judged(&place), CELLAR_CORRUPT);
    assert_true(plant_choose(NULL));
#endif
    place_end(&place);
}

/* Power failed when one memory node had its part of the newest checkpoint, and the other had not. */
static void a_checkpoint_of_some_does_not_count(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    make(&place, 2, 1);
    shell(&place, "cp -r $d older");
    left(&place, filled); /* its checkpoint is one more */
    shell(&place, "mv $d newer && mv older $d && for c in 1 2; do cmp -s newer/node-0/checkpoint-$c "
                  "$d/node-0/checkpoint-$c || cp newer/node-0/checkpoint-$c $d/node-0; done");
    ok(judged(&place));
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("durable_parts_mixed"));
    assert_int_not_equal(judged(&place), 0);
    assert_true(plant_choose(NULL));
#endif
    place_end(&place);
}

/* ---- what is refused ---- */

static void another_shape_is_refused(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    make(&place, 3, 1);
    turned_away(&place, CELLAR_LAB(.mns = 1, .replicas = 0), BYTES, CELLAR_MISMATCH,
                "keeps 3 memory nodes, and 1 were asked for");
    turned_away(&place, CELLAR_LAB(.mns = 2, .replicas = 1), BYTES, CELLAR_MISMATCH,
                "keeps 3 memory nodes, and 2 were asked for");
    turned_away(&place, CELLAR_LAB(.mns = 3, .replicas = 0), BYTES, CELLAR_MISMATCH,
                "keeps 1 backups of each byte, and 0 were asked for");
    shell(&place, "rm -r $d");
    make(&place, 1, 0);
    turned_away(&place, CELLAR_LAB(.mns = 3, .replicas = 1), BYTES, CELLAR_MISMATCH,
                "keeps 1 memory nodes, and 3 were asked for");
    place_end(&place);
}

static void folders_that_do_not_belong_together_are_refused(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    make(&place, 3, 1);
    shell(&place, "mv $d other");
    make(&place, 3, 1);
    shell(&place, "mv $d/node-1 kept && cp -r other/node-1 $d/node-1");
    turned_away(&place, CELLAR_LAB(.mns = 0, .replicas = 0), BYTES, CELLAR_MISMATCH,
                "node-1 is memory node 1's of another pool");
    shell(&place, "rm -r $d/node-1 && cp -r $d/node-2 $d/node-1");
    turned_away(&place, CELLAR_LAB(.mns = 0, .replicas = 0), BYTES, CELLAR_MISMATCH,
                "node-1 is memory node 2's of this or another pool");
    shell(&place, "rm -r $d/node-1 && ln -s node-2 $d/node-1");
    turned_away(&place, CELLAR_LAB(.mns = 0, .replicas = 0), BYTES, CELLAR_EXISTS, "node-2 is in use");
    shell(&place, "rm $d/node-1 && mkdir $d/node-1");
    turned_away(&place, CELLAR_LAB(.mns = 0, .replicas = 0), BYTES, CELLAR_CORRUPT,
                "node-1 is empty: if its disk is lost, cellar replace --durable DIR --mn 1");
    shell(&place, "rmdir $d/node-1 && mv $d/node-0 first && mkdir $d/node-0 && cp -r kept $d/node-1");
    turned_away(&place, CELLAR_LAB(.mns = 3, .replicas = 1), BYTES, CELLAR_CORRUPT,
                "node-0 is empty: if its disk is lost");
    shell(&place,
          "rmdir $d/node-0 && mv first $d/node-0 && rm -r $d/node-1 && mv kept disk && ln -s ../disk $d/node-1");
    struct cellar *db;
    ok(opened(&place, 3, 1, &db)); /* as another disk is mounted there */
    judge_rows(db);
    place_end(&place);
}

/* An older copy of one memory node's folder: of one moment they are not. */
static void an_older_copy_of_one_is_refused(void **state)
{
    struct place place;
    struct cellar *db;
    (void)state;
    place_make(&place);
    make(&place, 2, 0);
    shell(&place, "cp -r $d/node-1 older");
    for (int i = 0; i < 2; i++) make(&place, 2, 0);
    shell(&place, "mv $d/node-1 newer && mv older $d/node-1");
    turned_away(&place, CELLAR_LAB(.mns = 0, .replicas = 0), BYTES, CELLAR_CORRUPT,
                "are not of one moment, or are damaged");
    shell(&place, "rm -r $d/node-1 && mv newer $d/node-1");
    ok(opened(&place, 2, 0, &db));
    ok(cellar_close(db));
    place_end(&place);
}

static void what_is_no_folder_of_ours_is_refused(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    shell(&place, "mkdir $d && echo ours >$d/letter");
    turned_away(&place, CELLAR_LAB(.mns = 2, .replicas = 1), BYTES, CELLAR_INVALID,
                "it is not empty, and no folder of Cellar's");
    shell(&place, "rm $d/letter && mkdir -p $d/node-1 && echo ours >$d/node-1/letter");
    shell(&place, "mkdir $d/node-0");
    turned_away(&place, CELLAR_LAB(.mns = 2, .replicas = 1), BYTES, CELLAR_INVALID,
                "node-1: durable folder: it is not empty");
    place_end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_there),
        cmocka_unit_test(a_first_use_that_was_cut_off_begins_anew),
        cmocka_unit_test(entries_are_redone_on_all_replicas),
        cmocka_unit_test(a_checkpoint_of_some_does_not_count),
        cmocka_unit_test(another_shape_is_refused),
        cmocka_unit_test(folders_that_do_not_belong_together_are_refused),
        cmocka_unit_test(an_older_copy_of_one_is_refused),
        cmocka_unit_test(what_is_no_folder_of_ours_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
