/*
 * test_schema_beside.c - tables, columns and indexes that come and go beside threads at work (cellar.h): each waits for
 * what is under way, and what begins meanwhile waits for it. Transactions that were open begin again.
 */
#include "db.h"
#include "face_calls.h"
#include "observe.h"
#include "plant.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { ROWS = 64, THREADS = 4, ROUNDS = 12, COINS = 100 };

struct purse {
    uint64_t id, city;
    int64_t coins;
};
enum { CITY = 1 };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct purse, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct purse, city)},
                                               {CELLAR_FIELD(struct purse, coins)}};
/* The same struct, of a table that has both in one cell. */
static const struct cellar_column joined[] = {{CELLAR_FIELD(struct purse, id), .flags = CELLAR_KEY},
                                              {CELLAR_FIELD(struct purse, coins), .cell = 1},
                                              {CELLAR_FIELD(struct purse, city), .cell = 1}};
static const struct cellar_index_def indexes[] = {{.name = "by_city", .columns = "city"}};

struct town {
    struct cellar *db;
    const struct cellar_table *_Atomic purses;
    atomic_bool over;
    atomic_ulong transfers;
};

static int purses_fill(struct cellar_txn *txn, void *purses)
{
    int rc = 0;
    for (uint64_t id = 0; id < ROWS && rc == 0; id++)
        rc = cellar_put(txn, purses, 0, &(struct purse){id, id % 7, COINS});
    return rc;
}

/* False: this build does not have that mode. */
static bool town_open_as(struct town *town, const struct cellar_lab *lab)
{
    const struct cellar_table *purses;
    memset(town, 0, sizeof *town);
    int rc = cellar_open(NULL, CELLAR_OPTIONS(.bytes = 32u << 20, .lab = lab), &town->db);
    if (rc == CELLAR_UNSUPPORTED) return false;
    ok(rc);
    ok(cellar_table_open(town->db, CELLAR_TABLE(struct purse, columns, .name = "purses"), 0, &purses));
    ok(cellar_run(town->db, purses_fill, (void *)(uintptr_t)purses, NULL, NULL));
    town->purses = purses;
    return true;
}

static void town_open(struct town *town) { assert_true(town_open_as(town, NULL)); }

static void index_add(struct town *town)
{
    const struct cellar_table *same;
    ok(cellar_table_open(town->db, CELLAR_TABLE(struct purse, columns, .name = "purses", CELLAR_INDEXES(indexes)),
                         CELLAR_ADD, &same));
    assert_ptr_equal(same, town->purses);
}

/* By an index, all rows: 0, and how many coins they have. */
static int count_all(struct cellar_txn *txn, const struct cellar_table *purses, const struct cellar_index *index,
                     int64_t *coins)
{
    struct cellar_cursor *cursor;
    struct purse found[ROWS + 1];
    uint64_t city = 0;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct purse, purses, .index = index), &cursor);
    if (rc) return rc;
    int count = cellar_cursor_next(cursor, ROWS + 1, found);
    *coins = 0;
    for (int i = 0; i < count; i++) {
        if (found[i].city < city) return CELLAR_CORRUPT;
        city = found[i].city;
        *coins += found[i].coins;
    }
    return count < 0 ? count : count == ROWS ? 0 : CELLAR_CORRUPT;
}

/* ---- threads at work ---- */

struct work {
    struct town *town;
    uint64_t random;
    int rc; /* what it has ended with */
};

/* A coin goes from one to another, and that moves. The index may be there, and may go meanwhile. */
static int transfer(struct cellar_txn *txn, void *arg)
{
    struct work *work = arg;
    const struct cellar_table *purses = work->town->purses;
    const struct cellar_index *index = cellar_index_find(purses, "by_city");
    struct purse from = {.id = work->random % ROWS}, to = {.id = (from.id + 1 + work->random % (ROWS - 1)) % ROWS};
    int64_t coins = ROWS * COINS;
    int rc = cellar_get(txn, purses, 0, 0, &from);
    if (rc == 0) rc = cellar_get(txn, purses, 0, 0, &to);
    from.coins--;
    to.coins++;
    to.city = work->random % 11;
    if (rc == 0) rc = cellar_put(txn, purses, 0, &from);
    if (rc == 0) rc = cellar_put(txn, purses, 0, &to);
    if (rc == 0 && index && work->random % 5 == 0) rc = count_all(txn, purses, index, &coins);
    if (rc == CELLAR_DROPPED) return 0; /* the index: the transfer stands; or the table, and then it does not */
    return rc == 0 && coins != ROWS * COINS ? CELLAR_CORRUPT : rc;
}

static void *work_main(void *arg)
{
    struct work *work = arg;
    while (!atomic_load(&work->town->over) && work->rc == 0) {
        work->random = work->random * 6364136223846793005u + 1442695040888963407u;
        work->rc = cellar_run(work->town->db, transfer, work, NULL, NULL);
        atomic_fetch_add(&work->town->transfers, 1);
    }
    return NULL;
}

/* One table is made with indexes, filled, emptied, and dropped. */
static void another_comes_and_goes(struct town *town, int round)
{
    const struct cellar_table *other;
    struct purse one = {.id = 3};
    ok(cellar_table_open(town->db,
                         CELLAR_TABLE(struct purse, columns, .name = round % 2 ? "odd" : "even",
                                      .flags = CELLAR_ORDERED, CELLAR_INDEXES(indexes)),
                         0, &other));
    ok(cellar_run(town->db, purses_fill, (void *)(uintptr_t)other, NULL, NULL));
    ok(cellar_table_truncate(town->db, other));
    struct cellar_txn *txn = face_begun(town->db);
    assert_int_equal(cellar_get(txn, other, 0, 0, &one), CELLAR_NOT_FOUND);
    cellar_abort(txn);
    ok(cellar_table_drop(town->db, other));
    txn = face_begun(town->db);
    refused(cellar_get(txn, other, 0, 0, &one), CELLAR_DROPPED, "");
    cellar_abort(txn);
}

/* They are written anew, with the index that there is; numbers of columns are another definition's now and then. */
static void columns_change(struct town *town, int round)
{
    const struct cellar_table *old = town->purses, *altered, *shown;
    struct purse one = {.id = 3};
    const struct cellar_table_def *def = round % 2 ? CELLAR_TABLE(struct purse, columns, .name = "purses")
                                                   : CELLAR_TABLE(struct purse, joined, .name = "purses", .rows = 99);
    ok(cellar_table_alter(town->db, old, def, NULL, &altered));
    ok(cellar_table_open(town->db, CELLAR_TABLE(struct purse, columns, .name = "purses"), 0, &shown));
    town->purses = shown;
    assert_non_null(cellar_index_find(shown, "by_city"));
    assert_int_equal(shown->table->schema.cell_count, round % 2 ? 2 : 1);
    struct cellar_txn *txn = face_begun(town->db);
    refused(cellar_get(txn, old, 0, 0, &one), CELLAR_DROPPED, "");
    cellar_abort(txn);
}

static int all_counted(struct cellar_txn *txn, void *arg)
{
    const struct town *town = arg;
    int64_t coins;
    int rc = count_all(txn, town->purses, cellar_index_find(town->purses, "by_city"), &coins);
    return rc == 0 && coins != ROWS * COINS ? CELLAR_CORRUPT : rc;
}

static void come_and_go_beside_threads(const struct cellar_lab *lab)
{
    struct town town;
    pthread_t threads[THREADS];
    struct work work[THREADS];
    if (!town_open_as(&town, lab)) return;
    for (uint64_t i = 0; i < THREADS; i++) {
        work[i] = (struct work){.town = &town, .random = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work_main, &work[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        unsigned long before = atomic_load(&town.transfers);
        while (atomic_load(&town.transfers) < before + THREADS) sched_yield(); /* all are at work again */
        index_add(&town);
        ok(cellar_run(town.db, all_counted, &town, NULL, NULL));
        another_comes_and_goes(&town, round);
        columns_change(&town, round);
        ok(cellar_index_drop(town.db, cellar_index_find(town.purses, "by_city")));
    }
    atomic_store(&town.over, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(work[i].rc, 0);
    index_add(&town);
    ok(cellar_run(town.db, all_counted, &town, NULL, NULL));
    face_close(town.db);
}

static void tables_and_indexes_come_and_go_beside_threads(void **state)
{
    (void)state;
    come_and_go_beside_threads(NULL);
    come_and_go_beside_threads(CELLAR_LAB(.mns = 2, .replicas = 1));
    come_and_go_beside_threads(CELLAR_LAB(.cns = 2));
    come_and_go_beside_threads(CELLAR_LAB(.cc = CELLAR_LAB_CC_CREST));
    come_and_go_beside_threads(CELLAR_LAB(.cc = CELLAR_LAB_CC_RECORD));
}

/* ---- waiting ---- */

/* As an attempt would be counted that is under way, until the test takes it back: by a worker that there is not. */
static void attempt_is_under_way(struct town *town, bool is)
{
    struct gate *gate = &town->db->nodes[0].gate;
    atomic_store(&gate->workers[GATE_WORKERS_MAX - 1].active, is);
    if (is) atomic_store(&gate->worker_count, GATE_WORKERS_MAX);
}

struct adding {
    struct town *town;
    atomic_bool done;
};

static void *add_main(void *arg)
{
    struct adding *adding = arg;
    index_add(adding->town);
    atomic_store(&adding->done, true);
    return NULL;
}

static bool rests_now(const struct town *town) { return atomic_load(&town->db->nodes[0].gate.closed) & GATE_RESTING; }

static int rich(struct cellar_txn *txn, void *arg)
{
    const struct town *town = arg;
    return cellar_put(txn, town->purses, 0, &(struct purse){5, 9, COINS});
}

static void *put_main(void *arg)
{
    struct town *town = arg;
    ok(cellar_run(town->db, rich, town, NULL, NULL));
    return NULL;
}

/* A first index is made: it waits for an attempt, and others wait for it, which then have to write to that index. */
static void a_first_index_waits_and_is_waited_for(void **state)
{
    struct town town;
    pthread_t adds, puts;
    (void)state;
    town_open(&town);
    struct adding adding = {.town = &town};
    struct cellar_txn *open = face_begun(town.db);
    ok(cellar_put(open, town.purses, 0, &(struct purse){6, 9, COINS}));
    attempt_is_under_way(&town, true);
    assert_int_equal(pthread_create(&adds, NULL, add_main, &adding), 0);
    while (!rests_now(&town)) sched_yield();
    assert_int_equal(pthread_create(&puts, NULL, put_main, &town), 0);
    usleep(2000); /* it has come to the gate by now, most likely */
    assert_false(atomic_load(&adding.done));
    attempt_is_under_way(&town, false);
    pthread_join(adds, NULL);
    pthread_join(puts, NULL);
    refused(cellar_commit(open, NULL), CELLAR_RETRY, "");
    ok(cellar_run(town.db, all_counted, &town, NULL, NULL));
    face_close(town.db);
}

/* ---- transactions that are open ---- */

static const struct cellar_table *other_filled(struct town *town)
{
    const struct cellar_table *other;
    ok(cellar_table_open(town->db, CELLAR_TABLE(struct purse, columns, .name = "other"), 0, &other));
    ok(cellar_run(town->db, purses_fill, (void *)(uintptr_t)other, NULL, NULL));
    return other;
}

/* What a read shows after that would not agree with what it has shown, and a commit was measured before. */
static void open_transactions_begin_again(void **state)
{
    struct town town;
    struct purse purse = {.id = 3};
    (void)state;
    town_open(&town);
    const struct cellar_table *other = other_filled(&town);
    struct cellar_txn *txn = face_begun(town.db);
    ok(cellar_get(txn, other, 0, 0, &purse));
    ok(cellar_table_truncate(town.db, other));
    purse.id = 4;
    refused(cellar_get(txn, other, 0, 0, &purse), CELLAR_RETRY, "emptied");
    cellar_abort(txn);
    txn = face_begun(town.db);
    ok(cellar_put(txn, other, 0, &purse));
    ok(cellar_table_drop(town.db, other));
    refused(cellar_commit(txn, NULL), CELLAR_RETRY, "dropped");
    face_close(town.db);
}

/* ---- between two attempts ---- */

struct meeting {
    struct town *town;
    atomic_bool ready, watched, inside;
    int rc;
};

/* The attempt has begun, and goes on when the index is about to go. */
static bool begun(void *arg, const struct txn *txn)
{
    struct meeting *meeting = arg;
    (void)txn;
    if (!atomic_exchange(&meeting->inside, true))
        while (!rests_now(meeting->town)) sched_yield();
    return false;
}

static void unseen(void *arg, const struct txn *txn) { (void)arg, (void)txn; }
static void logged(void *arg, const struct txn *txn, uint64_t ts) { (void)arg, (void)txn, (void)ts; }
static void over(void *arg, const struct txn *txn, int code, uint64_t ts)
{
    (void)arg, (void)txn, (void)code, (void)ts;
}

static int look(struct cellar_txn *txn, void *arg)
{
    const struct town *town = arg;
    struct purse found = {.id = 5};
    int rc = cellar_get(txn, town->purses, 0, 0, &found);
    return rc ? rc : (int)found.city;
}

static void *meet_main(void *arg)
{
    struct meeting *meeting = arg;
    struct town *town = meeting->town;
    assert_int_equal(cellar_run(town->db, look, town, NULL, NULL), 5); /* this thread has a place by now */
    atomic_store(&meeting->ready, true);
    while (!atomic_load(&meeting->watched)) sched_yield();
    meeting->rc = cellar_run(town->db, rich, town, NULL, NULL);
    return NULL;
}

/* A commit does not know the way to a leaf: its next attempt is to, and then the index is gone. What the run says. */
static int way_into_one_that_goes(void)
{
    struct town town;
    pthread_t thread;
    town_open(&town);
    index_add(&town);
    struct meeting meeting = {.town = &town};
    const struct observer observer = {
        .arg = &meeting, .begun = begun, .fetched = unseen, .serialized = unseen, .logging = logged, .ended = over};
    assert_int_equal(pthread_create(&thread, NULL, meet_main, &meeting), 0);
    while (!atomic_load(&meeting.ready)) sched_yield();
    db_observe(town.db, &observer);
    atomic_store(&meeting.watched, true);
    while (!atomic_load(&meeting.inside)) sched_yield();
    ok(cellar_index_drop(town.db, cellar_index_find(town.purses, "by_city")));
    pthread_join(thread, NULL);
    db_observe(town.db, NULL);
    if (meeting.rc == 0) assert_int_equal(cellar_run(town.db, look, &town, NULL, NULL), 9);
    face_close(town.db);
    return meeting.rc;
}

static void an_index_goes_between_two_attempts(void **state)
{
    (void)state;
    assert_int_equal(way_into_one_that_goes(), 0);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("tree_work_of_before"));
    assert_int_equal(way_into_one_that_goes(), CELLAR_CORRUPT);
    assert_true(plant_choose(NULL));
#endif
}

#ifdef CELLAR_PLANTS
static void waiting_for_none_is_seen(void **state)
{
    struct town town;
    (void)state;
    town_open(&town);
    assert_true(plant_choose("way_ungated"));
    attempt_is_under_way(&town, true);
    index_add(&town); /* at once */
    attempt_is_under_way(&town, false);
    assert_true(plant_choose(NULL));
    face_close(town.db);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_index_waits_and_is_waited_for),
        cmocka_unit_test(open_transactions_begin_again),
        cmocka_unit_test(an_index_goes_between_two_attempts),
        cmocka_unit_test(tables_and_indexes_come_and_go_beside_threads),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(waiting_for_none_is_seen),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
