/*
 * test_durable_lost.c - a folder of several memory nodes with backups, one of which loses its disk: the empty folder in
 * its place is filled from the others, when that is asked for (docs/durability.md, "A lost disk").
 */
#include "cellar_lab.h"
#include "bulk.h"
#include "durable_place.h"
#include "mode.h"
#include "plant.h"
#include "rivals.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 300, ROWS_AT_ONCE = 10, OWNERS = 7, BYTES = 16 << 20 };

struct purse {
    uint64_t id, coins, owner;
};
static const struct cellar_column purse_columns[] = {{CELLAR_FIELD(struct purse, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct purse, coins)},
                                                     {CELLAR_FIELD(struct purse, owner)}};
static const struct cellar_index_def purse_indexes[] = {{.name = "owners", .columns = "owner"}};

/* A pool, and what it is opened with; `lost`: 1 + the memory node that an opening is to fill. */
struct pool {
    struct place place;
    enum cellar_lab_cc cc;
    uint32_t mns, replicas, lost, flags;
    uint64_t life;     /* the last one that has written its rows */
    const char *table; /* ... to that one */
    bool indexed;
};

struct work {
    const struct cellar_table *purses;
    uint64_t life, from;
    bool indexed;
};

static int opened(const struct pool *pool, struct cellar **db)
{
    const struct cellar_lab *lab =
        CELLAR_LAB(.cc = pool->cc, .mns = pool->mns, .replicas = pool->replicas, .lost = pool->lost);
    return cellar_open(pool->place.folder,
                       CELLAR_OPTIONS(.bytes = BYTES, .log_bytes = 64u << 20, .flags = pool->flags, .lab = lab), db);
}

static struct work work_of(const struct pool *pool, struct cellar *db)
{
    struct work work = {.life = pool->life, .indexed = pool->indexed};
    struct cellar_table_def def = *CELLAR_TABLE(struct purse, purse_columns, .name = pool->table);
    def.indexes = pool->indexed ? purse_indexes : NULL;
    def.index_count = pool->indexed;
    ok(cellar_table_open(db, &def, 0, &work.purses));
    return work;
}

/* ---- rows of a life ---- */

/* A fifth of them is deleted, another one in each life. */
static bool is_there(uint64_t id, uint64_t life) { return (id + life) % 5 != 0; }

static struct purse purse_of(uint64_t id, uint64_t life)
{
    return (struct purse){.id = id, .coins = id * life, .owner = (id + life) % OWNERS};
}

static int written(struct cellar_txn *txn, void *arg)
{
    const struct work *work = arg;
    int rc = 0;
    for (uint64_t id = work->from; id < work->from + ROWS_AT_ONCE && rc == 0; id++) {
        struct purse purse = purse_of(id, work->life), before = {.id = id};
        if (is_there(id, work->life))
            rc = cellar_put(txn, work->purses, 0, &purse);
        else if ((rc = cellar_get(txn, work->purses, 0, 0, &before)) == 0)
            rc = cellar_delete(txn, work->purses, &before);
        if (rc == CELLAR_NOT_FOUND) rc = 0;
    }
    return rc;
}

static int write_all(struct cellar *db, struct work *work)
{
    int rc = 0;
    for (work->from = 0; work->from < ROWS && rc == 0; work->from += ROWS_AT_ONCE)
        rc = cellar_run(db, written, work, NULL, NULL);
    return rc;
}

static int rows_read(struct cellar_txn *txn, const struct work *work)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++) {
        struct purse want = purse_of(id, work->life), purse = {.id = id};
        rc = cellar_get(txn, work->purses, 0, 0, &purse);
        if (rc && rc != CELLAR_NOT_FOUND) return rc;
        bool right = is_there(id, work->life) ? rc == 0 && purse.coins == want.coins && purse.owner == want.owner
                                              : rc == CELLAR_NOT_FOUND;
        rc = right ? 0 : CELLAR_CORRUPT;
    }
    return rc;
}

static int owners_read(struct cellar_txn *txn, const struct work *work)
{
    const struct cellar_index *owners = cellar_index_find(work->purses, "owners");
    struct purse purses[ROWS + 1];
    struct cellar_cursor *cursor;
    int wanted = 0, rows;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct purse, work->purses, .index = owners), &cursor);
    if (rc) return rc;
    rows = cellar_cursor_next(cursor, ROWS + 1, purses);
    cellar_cursor_close(cursor);
    for (int i = 0; i < rows; i++) {
        struct purse want = purse_of(purses[i].id, work->life);
        bool ordered = i == 0 || purses[i - 1].owner <= purses[i].owner;
        if (!ordered || purses[i].coins != want.coins || purses[i].owner != want.owner) return CELLAR_CORRUPT;
    }
    for (uint64_t id = 0; id < ROWS; id++) wanted += is_there(id, work->life);
    if (rows < 0) return rows;
    return rows == wanted ? 0 : CELLAR_CORRUPT;
}

static int looked(struct cellar_txn *txn, void *arg)
{
    int rc = rows_read(txn, arg);
    return rc || !((struct work *)arg)->indexed ? rc : owners_read(txn, arg);
}

/* In a process that ends without a close: the logs alone have it. */
static void killed_after(struct pool *pool)
{
    int status;
    pid_t pid = fork();
    pool->life++;
    if (pid == 0) {
        struct cellar *db;
        int rc = opened(pool, &db);
        struct work work = rc ? (struct work){0} : work_of(pool, db);
        if (rc == 0) rc = write_all(db, &work);
        if (rc) print_error("%s\n", cellar_last_error()->text);
        _exit(rc != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* 0: it opens, all rows are there, and copies agree; it is closed. */
static int judged(const struct pool *pool)
{
    struct cellar *db;
    int rc = opened(pool, &db);
    if (rc) return rc;
    struct work work = work_of(pool, db);
    rc = cellar_run(db, looked, &work, NULL, NULL);
    int audit = cellar_cluster_audit(db);
    ok(cellar_close(db));
    return rc ? rc : audit;
}

static void disk_lose(const struct pool *pool, uint32_t node)
{
    char line[64];
    snprintf(line, sizeof line, "rm -r $d/node-%u && mkdir $d/node-%u", node, node);
    shell(&pool->place, line);
}

static void pool_make(struct pool *pool, enum cellar_lab_cc cc, uint32_t mns, uint32_t replicas)
{
    *pool = (struct pool){
        .cc = mode_of(cc) ? cc : CELLAR_LAB_CC_CELLAR, .mns = mns, .replicas = replicas, .table = "purses"};
    pool->indexed = cc != CELLAR_LAB_CC_MOTOR; /* which has no indexes */
    place_make(&pool->place);
    killed_after(pool);
    ok(judged(pool));
}

/* ---- what is filled ---- */

/* One after the other, so that the last ones are filled from those that were; with logs, or closed. */
static void each_loses_its_disk(enum cellar_lab_cc cc, uint32_t mns, uint32_t replicas)
{
    struct pool pool;
    pool_make(&pool, cc, mns, replicas);
    for (uint32_t i = 0; i < mns; i++) {
        uint32_t node = mns - 1 - i;
        killed_after(&pool);
        if (i == 1) ok(judged(&pool));
        disk_lose(&pool, node);
        pool.lost = node + 1;
        ok(judged(&pool));
        pool.lost = 0;
        ok(judged(&pool));
    }
    place_end(&pool.place);
}

static void a_lost_disk_is_filled(void **state)
{
    static const struct {
        enum cellar_lab_cc cc;
        uint32_t mns, replicas;
    } pools[] = {{CELLAR_LAB_CC_CELLAR, 2, 1},
                 {CELLAR_LAB_CC_CELLAR, 3, 2},
                 {CELLAR_LAB_CC_RECORD, 2, 1},
                 {CELLAR_LAB_CC_CREST, 3, 1},
                 {CELLAR_LAB_CC_MOTOR, 3, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        each_loses_its_disk(pools[i].cc, pools[i].mns, pools[i].replicas);
}

/* What is left of memory node 0's clock is the backup's, which must not lie behind what lives after power loss drew. */
static void a_clock_goes_on(void **state)
{
    struct pool pool;
    (void)state;
    pool_make(&pool, CELLAR_LAB_CC_MOTOR, 2, 1);
    for (int life = 0; life < 3; life++) killed_after(&pool);
    ok(judged(&pool));
    disk_lose(&pool, 0);
    pool.lost = 1;
    ok(judged(&pool));
    pool.lost = 0;
    killed_after(&pool);
    ok(judged(&pool));
    place_end(&pool.place);
}

/* Power failed when the folder was there, and neither its log nor anything of the others'. */
static void a_filling_that_was_cut_off_goes_on(void **state)
{
    struct pool pool;
    (void)state;
    pool_make(&pool, CELLAR_LAB_CC_CELLAR, 2, 1);
    killed_after(&pool);
    disk_lose(&pool, 1);
    shell(&pool.place, "cp -r $d before");
    pool.lost = 2;
    ok(judged(&pool));
    shell(&pool.place, "cp $d/node-1/cellar before/node-1 && rm -r $d && mv before $d");
#ifdef CELLAR_PLANTS
    shell(&pool.place, "cp -r $d before");
    assert_true(plant_choose("durable_blank_counted"));
    assert_int_equal(judged(&pool), CELLAR_CORRUPT);
    assert_true(plant_choose(NULL));
    shell(&pool.place, "rm -r $d && mv before $d");
#endif
    pool.lost = 0; /* it need not be asked for again */
    pool.flags = CELLAR_PRIVATE;
    ok(judged(&pool));
    pool.flags = 0;
    ok(judged(&pool));
    place_end(&pool.place);
}

/* What of it counts is asked of the others, so none may be in doubt. */
static void what_cannot_be_filled_is_refused(void **state)
{
    struct pool pool;
    (void)state;
    pool_make(&pool, CELLAR_LAB_CC_CELLAR, 3, 1);
    const struct cellar_lab *none = CELLAR_LAB(.mns = 3, .replicas = 1);
    const struct cellar_lab *second = CELLAR_LAB(.mns = 3, .replicas = 1, .lost = 2);
    turned_away(&pool.place, second, BYTES, CELLAR_EXISTS, "node-1 keeps memory node 1: only an empty folder");
    turned_away(&pool.place, CELLAR_LAB(.lost = 4), BYTES, CELLAR_INVALID, "memory node 3 is unknown: there are 3");
    shell(&pool.place, "mv $d/node-1 kept && mkdir $d/node-1");
    turned_away(&pool.place, none, BYTES, CELLAR_CORRUPT,
                "node-1 is empty: if its disk is lost, cellar replace --durable DIR --mn 1");
    turned_away(&pool.place, CELLAR_LAB(.lost = 1), BYTES, CELLAR_CORRUPT, "node-1 is empty: if its disk is lost");
    shell(&pool.place, "mv $d/node-2 also && mkdir $d/node-2");
    turned_away(&pool.place, second, BYTES, CELLAR_CORRUPT, "2 of its 3 folders are empty: what they kept is gone");
    shell(&pool.place, "rmdir $d/node-2 && mv also $d/node-2 && echo ours >$d/node-1/letter");
    turned_away(&pool.place, second, BYTES, CELLAR_INVALID, "node-1: durable folder: it is not empty");
    shell(&pool.place, "rm $d/node-1/letter");
    pool.lost = 2;
    ok(judged(&pool));
    turned_away(&pool.place, second, BYTES, CELLAR_EXISTS, "node-1 keeps memory node 1");
    shell(&pool.place, "mv $d/node-1 filled && mv kept $d/node-1"); /* the old disk is found again */
    turned_away(&pool.place, none, BYTES, CELLAR_CORRUPT, "are not of one moment");
    shell(&pool.place, "mv $d/node-1 kept && mv filled $d/node-1");
    pool.lost = 0;
    ok(judged(&pool));
    shell(&pool.place, "rm -r $d && mkdir $d"); /* nor is one made where none was */
    turned_away(&pool.place, second, BYTES, CELLAR_SYSTEM, "node-0: No such file or directory");
    shell(&pool.place, "mkdir $d/node-0 $d/node-1 $d/node-2");
    turned_away(&pool.place, second, BYTES, CELLAR_NOT_FOUND, "it has no pool");
    place_end(&pool.place);
}

static void without_backups_it_is_gone(void **state)
{
    struct pool pool;
    (void)state;
    pool_make(&pool, CELLAR_LAB_CC_CELLAR, 2, 0);
    disk_lose(&pool, 1);
    turned_away(&pool.place, CELLAR_LAB(.lost = 2), BYTES, CELLAR_CORRUPT,
                "node-1 is empty: what memory node 1 kept is gone");
    place_end(&pool.place);
}

/* ---- planted bugs ---- */

#ifdef CELLAR_PLANTS
/* In a process of its own: what a bug leaves may end it. */
static bool met(const struct pool *pool, const char *plant)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct cellar *db;
        if (!plant_choose(plant)) _exit(0);
        if (opened(pool, &db)) _exit(1);
        struct work work = work_of(pool, db);
        int rc = cellar_run(db, looked, &work, NULL, NULL);
        if (rc == 0) rc = cellar_cluster_audit(db);
        work.life++;
        if (rc == 0) rc = write_all(db, &work);
        if (rc == 0) rc = cellar_run(db, looked, &work, NULL, NULL);
        _exit(rc != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Of a table that the log alone has; or a checkpoint has it, with what was deleted. */
static void a_bug_in_filling_is_met(const char *plant, bool closed)
{
    struct pool pool;
    pool_make(&pool, CELLAR_LAB_CC_CELLAR, 2, 1);
    pool.table = "later";
    pool.indexed = false;
    killed_after(&pool);
    if (closed) killed_after(&pool);
    if (closed) ok(judged(&pool));
    disk_lose(&pool, 0);
    pool.lost = 1;
    shell(&pool.place, "cp -r $d again");
    if (met(&pool, NULL)) fail_msg("plant %s is met where it is not planted", plant);
    shell(&pool.place, "rm -r $d && mv again $d");
    if (!met(&pool, plant)) fail_msg("plant %s is not met", plant);
    place_end(&pool.place);
}

static void planted_bugs_are_met(void **state)
{
    (void)state;
    a_bug_in_filling_is_met("fill_locks_left", true);
    a_bug_in_filling_is_met("fill_chunks_lost", true);
    a_bug_in_filling_is_met("replay_pages_unfilled", false);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_disk_is_filled),
        cmocka_unit_test(a_clock_goes_on),
        cmocka_unit_test(a_filling_that_was_cut_off_goes_on),
        cmocka_unit_test(what_cannot_be_filled_is_refused),
        cmocka_unit_test(without_backups_it_is_gone),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(planted_bugs_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
