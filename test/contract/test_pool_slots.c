/*
 * test_pool_slots.c - who hands out the slot of a record that was deleted (storage/space.h): none that another process
 * has in its list, and any worker of the compute node. So a table that stays small stays small.
 */
#include "pool_shared.h"
#include "numbered.h"

#include "plant.h"
#include "session.h"

#include <pthread.h>

#define ROWS 1500

struct sharer {
    struct bank bank;
    struct session *session;
    const struct cellar_proc *insert;
};

struct rows {
    const struct cellar_table *table;
    uint64_t first, count;
    int64_t cents;
};

static int insert_rows(struct cellar_txn *txn, void *arg)
{
    const struct rows *rows = arg;
    int rc = 0;
    for (uint64_t i = 0; i < rows->count && rc == 0; i++)
        rc = cellar_txn_insert(txn, rows->table, rows->first + i, &(struct shared_row){rows->cents});
    return rc;
}

static int delete_rows(struct cellar_txn *txn, void *arg)
{
    const struct rows *rows = arg;
    int rc = 0;
    for (uint64_t i = 0; i < rows->count && rc == 0; i++) rc = cellar_txn_delete(txn, rows->table, rows->first + i);
    return rc;
}

/* By a procedure: a worker that was there at the opening has the slots that were found then. */
static int insert_one(struct cellar_txn *txn, void *arg)
{
    const struct rows *rows = arg;
    int ref = cellar_proc_insert(txn, rows->table, rows->first, &(struct shared_row){rows->cents});
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}

static int sharer_open(struct sharer *sharer, const struct engine_config *config)
{
    const struct cellar_proc_def insert = {.name = "insert", .fn = insert_one, .records_max = 1, .writes_max = 1};
    struct bank *bank = &sharer->bank;
    int rc = bank_open(bank, config);
    if (rc == 0) rc = db_proc_register(bank->db, &insert, &sharer->insert, &bank->error);
    return rc ? rc : session_open(bank->db, &sharer->session, &bank->error);
}

static int sharer_transact(const struct sharer *sharer, cellar_txn_fn fn, uint64_t first, int64_t cents)
{
    struct rows rows = {sharer->bank.rows, first, ROWS, cents};
    return session_transact(sharer->session, fn, &rows);
}

static int sharer_insert_each(const struct sharer *sharer, uint64_t first, int64_t cents)
{
    struct rows rows = {sharer->bank.rows, first, ROWS, cents};
    int rc = 0;
    for (; rows.count && rc == 0; rows.count--, rows.first++)
        rc = cellar_proc_run(sharer->bank.db, sharer->insert, &rows, NULL, NULL);
    return rc;
}

/* Are they all there, as they were inserted? */
static int found_fn(struct cellar_txn *txn, void *arg)
{
    const struct rows *rows = arg;
    int64_t cents = 0;
    int rc = 0;
    for (uint64_t i = 0; i < rows->count && rc == 0; i++) {
        rc = cellar_txn_get(txn, rows->table, rows->first + i, 0, &cents);
        if (rc == 0 && cents != rows->cents) rc = CELLAR_CORRUPT;
    }
    return rc;
}

/* ---- processes ---- */

/* What a process is told: a byte comes. */
struct line {
    int ends[2];
};

static void line_open(struct line *line) { assert_int_equal(pipe(line->ends), 0); }
static void line_say(const struct line *line)
{
    if (write(line->ends[1], "x", 1) != 1) _exit(8);
}
static void line_wait(const struct line *line)
{
    char byte;
    if (read(line->ends[0], &byte, 1) != 1) _exit(9);
}

struct meeting {
    struct place place;
    struct line there, deleted, joined, left, inserted, end;
};

/* The one whose index is free again. It leaves by closing, or without. */
static int first_life(const struct meeting *meeting, const struct engine_config *config, bool killed)
{
    struct sharer sharer;
    int rc = sharer_open(&sharer, config);
    if (rc == 0) rc = sharer_transact(&sharer, insert_rows, 1000, 1);
    line_say(&meeting->there);
    line_wait(&meeting->left);
    if (rc == 0 && killed) raise(SIGKILL);
    cellar_close(sharer.bank.db);
    return rc;
}

/* Deletes what the first one has inserted, and inserts after that one's next life has come. */
static int other_one(const struct meeting *meeting, const struct engine_config *config)
{
    struct sharer sharer;
    int rc = sharer_open(&sharer, config);
    if (rc == 0) rc = sharer_transact(&sharer, delete_rows, 1000, 0);
    line_say(&meeting->deleted);
    line_wait(&meeting->joined);
    if (rc == 0) rc = sharer_transact(&sharer, insert_rows, 10000, 2);
    line_say(&meeting->inserted);
    line_wait(&meeting->end);
    cellar_close(sharer.bank.db);
    return rc;
}

/* Its next life, while the other one goes on. */
static int next_life(const struct meeting *meeting, const struct engine_config *config)
{
    struct sharer sharer;
    int rc = sharer_open(&sharer, config);
    if (rc == 0) rc = sharer_insert_each(&sharer, 20000, 3);
    line_say(&meeting->joined);
    line_wait(&meeting->inserted);
    if (rc == 0) rc = sharer_transact(&sharer, found_fn, 20000, 3);
    if (rc == 0) rc = sharer_transact(&sharer, found_fn, 10000, 2);
    line_say(&meeting->end);
    cellar_close(sharer.bank.db);
    return rc;
}

static pid_t starts(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static int ends(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGKILL ? 0 : 100 + WTERMSIG(status);
}

/* Is each record of both in a slot of its own? */
static bool slots_are_apart(bool killed, enum cellar_lab_cc cc)
{
    struct meeting meeting;
    place_make(&meeting.place);
    const struct engine_config config = {.pool_path = meeting.place.path, .pool_bytes = POOL_BYTES, .cc = cc};
    for (struct line *line = &meeting.there; line <= &meeting.end; line++) line_open(line);
    pid_t first = starts();
    if (first == 0) _exit(first_life(&meeting, &config, killed) ? 1 : 0);
    line_wait(&meeting.there);
    pid_t other = starts();
    if (other == 0) _exit(other_one(&meeting, &config) ? 1 : 0);
    line_wait(&meeting.deleted);
    line_say(&meeting.left);
    bool good = ends(first) == 0;
    pid_t next = starts();
    if (next == 0) _exit(next_life(&meeting, &config) ? 1 : 0);
    good = (ends(next) == 0) & good;
    good = (ends(other) == 0) & good;
    for (struct line *line = &meeting.there; line <= &meeting.end; line++) close(line->ends[0]), close(line->ends[1]);
    unlink(meeting.place.roll);
    place_remove(&meeting.place);
    return good;
}

static void who_joins_leaves_slots_that_others_have_freed(void **state)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_RECORD};
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) assert_true(slots_are_apart(false, modes[i]));
    assert_true(slots_are_apart(true, CELLAR_LAB_CC_CELLAR));
}

/* ---- one process ---- */

static uint64_t bytes_used(const struct sharer *sharer)
{
    struct cellar_lab_pool_space space;
    cellar_lab_pool_space_read(sharer->bank.db, &space);
    return space.used_bytes;
}

struct consumer {
    struct sharer *sharer;
    pthread_barrier_t turn;
    uint64_t next; /* ROWS rows from there on go; UINT64_MAX: there are no more */
    int rc;
};

static void *consume(void *arg)
{
    struct consumer *consumer = arg;
    struct sharer own = *consumer->sharer;
    consumer->rc = session_open(own.bank.db, &own.session, &own.bank.error);
    for (;;) {
        pthread_barrier_wait(&consumer->turn);
        if (consumer->next == UINT64_MAX) break;
        if (consumer->rc == 0) consumer->rc = sharer_transact(&own, delete_rows, consumer->next, 0);
        pthread_barrier_wait(&consumer->turn);
    }
    session_close(own.session);
    return NULL;
}

/* Rows come by one session and go by another, more of them than the pool has room for. */
static int queue_stays_small(void)
{
    struct sharer sharer;
    struct consumer consumer = {.sharer = &sharer};
    pthread_t thread;
    assert_int_equal(sharer_open(&sharer, &(struct engine_config){.pool_bytes = POOL_BYTES}), 0);
    pthread_barrier_init(&consumer.turn, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, consume, &consumer), 0);
    int rc = 0;
    for (uint64_t i = 0; i < share_rounds(200) && rc == 0; i++) {
        rc = sharer_transact(&sharer, insert_rows, consumer.next = 1000 + i * ROWS, 1);
        pthread_barrier_wait(&consumer.turn);
        pthread_barrier_wait(&consumer.turn);
        if (rc == 0) rc = consumer.rc;
    }
    consumer.next = UINT64_MAX;
    pthread_barrier_wait(&consumer.turn);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&consumer.turn);
    cellar_close(sharer.bank.db);
    return rc;
}

static void what_one_session_frees_another_uses(void **state)
{
    (void)state;
    assert_int_equal(queue_stays_small(), 0);
}

/* A session uses what the opening has found. */
static void slots_that_were_freed_are_used_after_a_reopening(void **state)
{
    struct place place;
    uint64_t used = 0;
    (void)state;
    place_make(&place);
    for (int life = 0; life < 12; life++) {
        struct sharer sharer;
        assert_int_equal(
            sharer_open(&sharer, &(struct engine_config){.pool_path = place.path, .pool_bytes = POOL_BYTES}), 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(sharer_transact(&sharer, insert_rows, 1000, 1), 0);
            assert_int_equal(sharer_transact(&sharer, delete_rows, 1000, 1), 0);
        }
        if (life == 2) used = bytes_used(&sharer);
        if (life > 2 && bytes_used(&sharer) > used) fail_msg("life %d takes more", life);
        cellar_close(sharer.bank.db);
    }
    place_remove(&place);
}

#ifdef CELLAR_PLANTS
static void planted_bugs_are_met(void **state)
{
    (void)state;
    assert_true(plant_choose("slots_of_others"));
    assert_false(slots_are_apart(false, CELLAR_LAB_CC_CELLAR));
    assert_true(plant_choose("stock_unshared"));
    assert_int_equal(queue_stays_small(), CELLAR_FULL);
    assert_true(plant_choose(NULL));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_joins_leaves_slots_that_others_have_freed),
        cmocka_unit_test(what_one_session_frees_another_uses),
        cmocka_unit_test(slots_that_were_freed_are_used_after_a_reopening),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(planted_bugs_are_met),
#endif
    };
    return cmocka_run_group_tests_name("contract.pool_slots", tests, NULL, NULL);
}
