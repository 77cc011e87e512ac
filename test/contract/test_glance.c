/*
 * test_glance.c - reads without an attempt (engine/txn/glance.h): when they are made, and what they note when another
 * transaction comes in between two operations of one. An endpoint's posts are cut in two there: first the operations up
 * to the one that a test names, then whatever it does, then the others.
 */
#include "cellar_lab.h"
#include "coordinator.h"
#include "face_calls.h"
#include "plant.h"
#include "session.h"
#include "worker.h"

#include <pthread.h>
#include <unistd.h>

struct pot {
    uint64_t id;
    int64_t coins;
    uint64_t stamp;
};
enum { ID, COINS, STAMP };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct pot, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct pot, coins)},
                                               {CELLAR_FIELD(struct pot, stamp)}};
enum { LEFT = 1, RIGHT, POTS = 16, NOWHERE = 1000, COINS_EACH = 100 };
enum { TRIES = 100000 }; /* until a worker lends its helm: ten seconds at least */
enum { SLOTS = 2 };      /* one transaction and another one: each knows which slot it has */
/* However long a thread stands still here, epoch numbers have not come full circle; but where that is the test. */
enum { APPLY_SLOW_NS = 1000000 };

struct hoard {
    struct cellar *db;
    const struct cellar_table *pots;
    int64_t left, right; /* as read last */
    int code;
};

static int filled(struct cellar_txn *txn, void *arg)
{
    const struct hoard *hoard = arg;
    int rc = 0;
    for (uint64_t id = LEFT; id <= POTS && rc == 0; id++)
        rc = cellar_insert(txn, hoard->pots, &(struct pot){id, COINS_EACH, 0});
    return rc;
}

/* One coin from one pot to the other. */
static int moved(struct cellar_txn *txn, void *arg)
{
    const struct hoard *hoard = arg;
    struct pot left = {.id = LEFT}, right = {.id = RIGHT};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &left);
    if (rc == 0) rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &right);
    left.coins--;
    right.coins++;
    if (rc == 0) rc = cellar_put(txn, hoard->pots, CELLAR_COL(COINS), &left);
    return rc ? rc : cellar_put(txn, hoard->pots, CELLAR_COL(COINS), &right);
}

static void *move(void *arg)
{
    struct hoard *hoard = arg;
    ok(cellar_run(hoard->db, moved, hoard, NULL, NULL));
    return NULL;
}

/* Until the pool is what is read, as it is in shared memory: mode cellar measures that first. */
static void settle(struct hoard *hoard)
{
    struct cellar_lab_way way = {.nodes = 1};
    while (way.plain < way.nodes) {
        move(hoard);
        usleep(1000);
        cellar_lab_way_read(hoard->db, &way);
    }
}

static bool hoard_open(struct hoard *hoard, uint32_t mode, uint32_t mns)
{
    *hoard = (struct hoard){0};
    const struct cellar_lab *lab = CELLAR_LAB(.cc = mode, .mns = mns, .replicas = mns - 1);
    int rc = cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20, .txns_max = SLOTS, .lab = lab), &hoard->db);
    if (rc == CELLAR_UNSUPPORTED) return false; /* this build does not have it */
    ok(rc);
    hoard->db->fabric->apply_min_ns = APPLY_SLOW_NS;
    ok(cellar_table_open(hoard->db, CELLAR_TABLE(struct pot, columns, .name = "pots"), 0, &hoard->pots));
    ok(cellar_run(hoard->db, filled, hoard, NULL, NULL));
    if (mode == CELLAR_LAB_CC_CELLAR) settle(hoard);
    return true;
}

/* ---- a transaction's endpoint ---- */

static struct session *session_of(const struct cellar_txn *txn) { return txn->txn.session; }
static uint32_t calls_of(const struct cellar_txn *txn) { return session_of(txn)->coordinator->calls; }

/* Its worker's thread uses it, too, but while it lends its helm. */
static void ops_set(struct worker *worker, const struct fabric_ops *ops)
{
    uint32_t seen;
    while (!worker_visit(worker, &seen)) usleep(100);
    worker->ep->ops = ops;
    worker_visited(worker, seen);
}

/* Of that endpoint: the first post that has so many operations of that kind and phase is cut behind the last one. */
static struct {
    struct worker *worker;
    const struct fabric_ops *real;
    struct fabric_ops ops;
    enum fabric_op_kind kind;
    enum cellar_phase phase;
    uint32_t behind;
    void *(*between)(void *hoard); /* in a thread of its own; NULL: nothing is cut */
    struct hoard *hoard;
    uint64_t batches;
} cut;

static void post_cut(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    uint32_t first = 0, met = 0;
    cut.batches++;
    for (; first < count && met < cut.behind; first++)
        met += ops[first].kind == cut.kind && ops[first].phase == cut.phase;
    if (met < cut.behind || !cut.between) {
        cut.real->post(ep, ops, count, wait);
        return;
    }
    pthread_t thread;
    void *(*between)(void *hoard) = cut.between;
    cut.between = NULL;
    cut.real->post(ep, ops, first, wait);
    assert_int_equal(pthread_create(&thread, NULL, between, cut.hoard), 0);
    pthread_join(thread, NULL);
    if (first < count) cut.real->post(ep, ops + first, count - first, wait);
}

static void cut_begin(const struct cellar_txn *txn, enum fabric_op_kind kind, enum cellar_phase phase,
                      void *(*between)(void *hoard), struct hoard *hoard)
{
    cut.worker = session_of(txn)->worker;
    cut.real = cut.worker->ep->ops;
    cut.ops = *cut.real;
    cut.ops.post = post_cut;
    cut.kind = kind;
    cut.phase = phase;
    cut.behind = 1;
    cut.between = between;
    cut.hoard = hoard;
    cut.batches = 0;
    ops_set(cut.worker, &cut.ops);
}

/* Whether it was cut. */
static bool cut_end(void)
{
    ops_set(cut.worker, cut.real);
    return cut.between == NULL;
}

/* ---- reads ---- */

static int both_got(struct cellar_txn *txn, struct hoard *hoard)
{
    struct pot left = {.id = LEFT}, right = {.id = RIGHT};
    struct cellar_read reads[] = {CELLAR_READ(hoard->pots, &left, .columns = CELLAR_COL(COINS)),
                                  CELLAR_READ(hoard->pots, &right, .columns = CELLAR_COL(COINS))};
    int rc = cellar_get_many(txn, reads, 2);
    hoard->left = left.coins;
    hoard->right = right.coins;
    return rc;
}

static bool is_whole(const struct hoard *hoard) { return hoard->left + hoard->right == 2 * COINS_EACH; }

/* The slot's worker has met both pots, and knows where they are. */
static void know(struct hoard *hoard)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(both_got(txn, hoard));
    ok(cellar_commit(txn, NULL));
}

/* One and then both, in a round trip each: the second one for the other pot. The calls that the coordinator has run. */
static uint32_t read_by_glances(struct hoard *hoard)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    uint32_t calls = calls_of(txn);
    struct pot pot = {.id = LEFT};
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, NULL, hoard);
    ok(cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &pot));
    ok(both_got(txn, hoard));
    (void)cut_end();
    assert_int_equal(cut.batches, 2);
    assert_int_equal(pot.coins, hoard->left);
    assert_true(is_whole(hoard));
    calls = calls_of(txn) - calls;
    ok(cellar_commit(txn, NULL));
    return calls;
}

/* Once the worker lends its helm, this thread makes them without the coordinator. */
static void a_known_row_takes_no_attempt(struct hoard *hoard)
{
    know(hoard);
    uint32_t tries = TRIES;
    while (read_by_glances(hoard) && --tries) usleep(100);
    assert_true(tries);
}

/* One that has a time limit, or may be cancelled, makes it on its coordinator. */
static void with_a_limit_it_is_the_same(struct hoard *hoard)
{
    struct cellar_txn *txn;
    know(hoard);
    ok(cellar_begin(hoard->db, CELLAR_TXN(.timeout_us = 1000000000), &txn));
    uint64_t batches = session_of(txn)->worker->ep->counters.batches;
    ok(both_got(txn, hoard));
    assert_int_equal(session_of(txn)->worker->ep->counters.batches, batches + 1); /* an attempt takes two */
    assert_true(is_whole(hoard));
    ok(cellar_commit(txn, NULL));
}

/* Both are changed between the READ of one and the READ of the other. */
static bool changed_between_is_seen(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, move, hoard);
    ok(both_got(txn, hoard));
    assert_true(cut_end());
    ok(cellar_commit(txn, NULL));
    return is_whole(hoard);
}

/* All of a read, or none of it, is a glance's: one row is not there. */
static void a_row_that_is_not_there_is_left_to_an_attempt(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct pot left = {.id = LEFT}, none = {.id = NOWHERE};
    struct cellar_read reads[] = {CELLAR_READ(hoard->pots, &left), CELLAR_READ(hoard->pots, &none)};
    ok(cellar_get_many(txn, reads, 2));
    assert_int_equal(reads[0].code, 0);
    assert_int_equal(reads[1].code, CELLAR_NOT_FOUND);
    assert_int_equal(session_of(txn)->draft.blocks, 1); /* of one moment */
    ok(cellar_commit(txn, NULL));
}

/* What is noted stands, whatever is read beside it later; and the commit knows of the change. */
static void a_note_stands(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct pot first = {.id = LEFT}, again = {.id = LEFT};
    ok(cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &first));
    move(hoard);
    ok(cellar_get(txn, hoard->pots, CELLAR_ALL, 0, &again));
    assert_int_equal(again.coins, first.coins);
    assert_int_equal(cellar_commit(txn, NULL), CELLAR_RETRY);
}

/* ---- a change that is half applied ---- */

static void *read_beside(void *arg)
{
    struct hoard *hoard = arg;
    struct cellar_txn *txn;
    hoard->code = cellar_begin(hoard->db, CELLAR_TXN(.timeout_us = 50000), &txn); /* which the writer outlasts */
    if (hoard->code == 0) hoard->code = both_got(txn, hoard);
    if (hoard->code == 0) hoard->code = cellar_commit(txn, NULL);
    return NULL;
}

/* A reader comes when so many WRITEs of a change are done. False: it has seen a part. *cut_there: there are so many. */
static bool half_applied(struct hoard *hoard, uint32_t writes, bool *cut_there)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    know(hoard); /* in the other slot */
    ok(moved(txn, hoard));
    cut_begin(txn, FABRIC_WRITE, CELLAR_PHASE_APPLY, read_beside, hoard);
    cut.behind = writes;
    ok(cellar_commit(txn, NULL));
    *cut_there = cut_end();
    if (hoard->code == 0) return is_whole(hoard);
    assert_int_equal(hoard->code, CELLAR_DEADLINE);
    return true;
}

static bool half_applied_is_not_read(struct hoard *hoard)
{
    bool holds = true, cut_there = true;
    uint32_t writes = 0;
    while (cut_there) holds = half_applied(hoard, ++writes, &cut_there) && holds;
    assert_true(writes > 2);
    return holds;
}

/* ---- a place that another row has come to ---- */

/* The row that was there is gone, and one of another key has its slot. */
static bool what_came_to_the_place_is_not_read(struct hoard *hoard)
{
    struct cellar_txn *reader = face_begun(hoard->db), *writer = face_begun(hoard->db);
    struct pot pot = {.id = POTS};
    ok(cellar_get(reader, hoard->pots, CELLAR_ALL, 0, &pot)); /* where it is */
    ok(cellar_delete(writer, hoard->pots, &pot));
    ok(cellar_commit(writer, NULL));
    writer = face_begun(hoard->db);
    ok(cellar_insert(writer, hoard->pots, &(struct pot){POTS + 1, 1, 1}));
    ok(cellar_commit(writer, NULL));
    ok(cellar_commit(reader, NULL));
    reader = face_begun(hoard->db);
    int rc = cellar_get(reader, hoard->pots, CELLAR_ALL, 0, &pot);
    cellar_abort(reader);
    writer = face_begun(hoard->db);
    ok(cellar_delete(writer, hoard->pots, &(struct pot){.id = POTS + 1}));
    ok(cellar_insert(writer, hoard->pots, &(struct pot){POTS, COINS_EACH, 0}));
    ok(cellar_commit(writer, NULL));
    return rc == CELLAR_NOT_FOUND;
}

/* ---- the gate ---- */

static uint32_t asked_outside, asked;

/* Is it asked when its transaction counts in the gate? */
static bool reads_pool_asked(const struct txn_home *home)
{
    asked++;
    asked_outside += atomic_load(&home->gate->workers[home->gate_worker].active) == 0;
    return true;
}

static bool asks_inside_the_gate(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct txn_home *home = &session_of(txn)->worker->home;
    const struct mode *real = home->mode;
    struct mode asking = *real;
    asking.reads_pool = reads_pool_asked;
    home->mode = &asking;
    asked = asked_outside = 0;
    ok(both_got(txn, hoard));
    home->mode = real;
    ok(cellar_commit(txn, NULL));
    assert_int_equal(asked, 1);
    return asked_outside == 0;
}

struct rest {
    struct session *session;
    atomic_bool over;
};

/* Until an attempt waits at the gate, or nothing does. */
static void *rest_ended(void *arg)
{
    struct rest *rest = arg;
    while (counter_read(&rest->session->worker->busy) == 0 && !atomic_load(&rest->over)) usleep(100);
    gate_rested(rest->session->worker->home.gate);
    return NULL;
}

static void a_closed_gate_is_left_to_an_attempt(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct rest rest = {.session = session_of(txn)};
    uint32_t calls = calls_of(txn);
    pthread_t thread;
    atomic_fetch_or(&rest.session->worker->home.gate->closed, GATE_RESTING);
    assert_int_equal(pthread_create(&thread, NULL, rest_ended, &rest), 0);
    ok(both_got(txn, hoard));
    atomic_store(&rest.over, true);
    pthread_join(thread, NULL);
    assert_int_equal(calls_of(txn), calls + 1);
    assert_true(is_whole(hoard));
    ok(cellar_commit(txn, NULL));
}

/* ---- epoch numbers that have come full circle ---- */

static void *move_round(void *hoard)
{
    for (uint32_t i = 0; i < 1u << LAYOUT_EN_BITS; i++) move(hoard);
    return NULL;
}

static bool a_full_circle_is_noticed(struct hoard *hoard)
{
    const uint64_t usual_ns = 10; /* as shm has it */
    hoard->db->fabric->apply_min_ns = usual_ns;
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, move_round, hoard);
    ok(both_got(txn, hoard));
    assert_true(cut_end());
    hoard->db->fabric->apply_min_ns = APPLY_SLOW_NS;
    ok(cellar_commit(txn, NULL));
    return is_whole(hoard);
}

/* ---- modes ---- */

static const uint32_t modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_RECORD};

static void glances_in_each_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct hoard hoard;
        if (!hoard_open(&hoard, modes[i], 1)) continue;
        a_known_row_takes_no_attempt(&hoard);
        with_a_limit_it_is_the_same(&hoard);
        assert_true(changed_between_is_seen(&hoard));
        a_row_that_is_not_there_is_left_to_an_attempt(&hoard);
        a_note_stands(&hoard);
        assert_true(half_applied_is_not_read(&hoard));
        assert_true(what_came_to_the_place_is_not_read(&hoard));
        assert_true(asks_inside_the_gate(&hoard));
        a_closed_gate_is_left_to_an_attempt(&hoard);
        assert_true(a_full_circle_is_noticed(&hoard));
        face_close(hoard.db);
    }
}

/* Pots lie on both, each with a backup on the other: their headers are read when all of them have come. */
static void glances_at_several_nodes(void **state)
{
    struct hoard hoard;
    (void)state;
    assert_true(hoard_open(&hoard, CELLAR_LAB_CC_CELL, 2));
    struct pot pots[POTS];
    struct cellar_read reads[POTS];
    for (uint64_t i = 0; i < POTS; i++) {
        pots[i] = (struct pot){.id = LEFT + i};
        reads[i] = CELLAR_READ(hoard.pots, &pots[i]);
    }
    for (int known = 0; known < 2; known++) {
        struct cellar_txn *txn = face_begun(hoard.db);
        cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, NULL, &hoard);
        ok(cellar_get_many(txn, reads, POTS));
        (void)cut_end();
        if (known) assert_int_equal(cut.batches, 2);
        ok(cellar_commit(txn, NULL));
    }
    for (uint64_t i = 0; i < POTS; i++) assert_int_equal(pots[i].coins, COINS_EACH);
    assert_true(changed_between_is_seen(&hoard));
    assert_true(half_applied_is_not_read(&hoard));
    assert_true(what_came_to_the_place_is_not_read(&hoard));
    assert_true(a_full_circle_is_noticed(&hoard));
    face_close(hoard.db);
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    static const struct {
        const char *plant;
        bool (*holds)(struct hoard *hoard);
    } met[] = {{"glance_unchecked", changed_between_is_seen},
               {"glance_tags_ignored", half_applied_is_not_read},
               {"glance_key_unasked", what_came_to_the_place_is_not_read},
               {"glance_ungated", asks_inside_the_gate},
               {"en_wrap_unchecked", a_full_circle_is_noticed}};
    (void)state;
    for (size_t i = 0; i < sizeof met / sizeof *met; i++) {
        struct hoard hoard;
        assert_true(hoard_open(&hoard, CELLAR_LAB_CC_CELL, 1));
        assert_true(plant_choose(met[i].plant));
        if (met[i].holds(&hoard)) fail_msg("%s is not met", met[i].plant);
        assert_true(plant_choose(NULL));
        face_close(hoard.db);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glances_in_each_mode),
        cmocka_unit_test(glances_at_several_nodes),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
