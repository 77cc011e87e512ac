/*
 * hoard.h - of tests of glances: pots of coins, and an endpoint whose posts are cut in two: first the operations up to
 * the one that a test names, then whatever it does, then the others.
 */
#pragma once

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
    /* what a reader reads: left and right of one moment, whose sum stays; and a change of both, and its undoing */
    int (*got)(struct cellar_txn *txn, struct hoard *hoard);
    cellar_txn_fn changed, undone; /* undone NULL: need not be */
    int64_t sum;
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

static void *change(void *arg)
{
    struct hoard *hoard = arg;
    ok(cellar_run(hoard->db, hoard->changed, hoard, NULL, NULL));
    return NULL;
}

static void undo(struct hoard *hoard)
{
    if (hoard->undone) ok(cellar_run(hoard->db, hoard->undone, hoard, NULL, NULL));
}

/* Until the pool is what is read, as it is in shared memory: mode cellar measures that first. */
static void settle(struct hoard *hoard)
{
    struct cellar_lab_way way = {.nodes = 1};
    while (way.plain < way.nodes) {
        ok(cellar_run(hoard->db, moved, hoard, NULL, NULL));
        usleep(1000);
        cellar_lab_way_read(hoard->db, &way);
    }
}

static inline int both_got(struct cellar_txn *txn, struct hoard *hoard)
{
    struct pot left = {.id = LEFT}, right = {.id = RIGHT};
    struct cellar_read reads[] = {CELLAR_READ(hoard->pots, &left, .columns = CELLAR_COL(COINS)),
                                  CELLAR_READ(hoard->pots, &right, .columns = CELLAR_COL(COINS))};
    int rc = cellar_get_many(txn, reads, 2);
    hoard->left = left.coins;
    hoard->right = right.coins;
    return rc;
}

static bool hoard_open_with(struct hoard *hoard, uint32_t mode, uint32_t mns, uint32_t replicas)
{
    *hoard = (struct hoard){.got = both_got, .changed = moved, .sum = 2 * COINS_EACH};
    const struct cellar_lab *lab = CELLAR_LAB(.cc = mode, .mns = mns, .replicas = replicas);
    int rc = cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20, .txns_max = SLOTS, .lab = lab), &hoard->db);
    if (rc == CELLAR_UNSUPPORTED) return false; /* this build does not have it */
    ok(rc);
    hoard->db->fabric->apply_min_ns = APPLY_SLOW_NS;
    ok(cellar_table_open(hoard->db, CELLAR_TABLE(struct pot, columns, .name = "pots"), 0, &hoard->pots));
    ok(cellar_run(hoard->db, filled, hoard, NULL, NULL));
    if (mode == CELLAR_LAB_CC_CELLAR) settle(hoard);
    return true;
}

/* As many backups as there can be. */
static bool hoard_open(struct hoard *hoard, uint32_t mode, uint32_t mns)
{
    return hoard_open_with(hoard, mode, mns, mns - 1);
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

/*
 * An endpoint's post, as if memory nodes were apart: of the first batch that goes to both of two, and has operations of
 * that phase, all that goes to `node_first` is done before the rest.
 */
static uint32_t node_first;

static inline void post_apart(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    enum { OPS = 64 };
    struct fabric_op parts[2][OPS];
    uint32_t counts[2] = {0, 0}, met = 0;
    for (uint32_t i = 0; i < count; i++) met += ops[i].phase == cut.phase;
    for (uint32_t i = 0; i < count && met && count <= OPS && cut.between; i++) {
        uint32_t part = fabric_addr_node(ops[i].addr) != node_first;
        parts[part][counts[part]++] = ops[i];
    }
    cut.batches++;
    if (!counts[0] || !counts[1]) {
        cut.real->post(ep, ops, count, wait);
        return;
    }
    pthread_t thread;
    void *(*between)(void *hoard) = cut.between;
    cut.between = NULL;
    cut.real->post(ep, parts[0], counts[0], wait);
    assert_int_equal(pthread_create(&thread, NULL, between, cut.hoard), 0);
    pthread_join(thread, NULL);
    cut.real->post(ep, parts[1], counts[1], wait);
    counts[0] = counts[1] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t part = fabric_addr_node(ops[i].addr) != node_first;
        ops[i].status = parts[part][counts[part]++].status;
    }
}

static inline void cut_apart(const struct cellar_txn *txn, enum cellar_phase phase, void *(*between)(void *hoard),
                             struct hoard *hoard)
{
    cut_begin(txn, FABRIC_KINDS, phase, between, hoard);
    cut.ops.post = post_apart;
}

/* Whether it was cut. */
static bool cut_end(void)
{
    ops_set(cut.worker, cut.real);
    return cut.between == NULL;
}

/* ---- reads ---- */

static bool is_whole(const struct hoard *hoard) { return hoard->left + hoard->right == hoard->sum; }

/* The slot's worker has met both pots, and knows where they are. */
static void know(struct hoard *hoard)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(hoard->got(txn, hoard));
    ok(cellar_commit(txn, NULL));
}

/* Both are changed between the first READ and the others. */
static inline bool changed_between_is_seen(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, change, hoard);
    ok(hoard->got(txn, hoard));
    assert_true(cut_end());
    ok(cellar_commit(txn, NULL));
    undo(hoard);
    return is_whole(hoard);
}

/* Both are changed when one memory node has done all that it is asked for, headers too, and another one nothing. */
static inline bool changed_apart_is_seen(struct hoard *hoard)
{
    bool holds = true;
    for (node_first = 0; node_first < 2; node_first++) {
        know(hoard);
        struct cellar_txn *txn = face_begun(hoard->db);
        cut_apart(txn, CELLAR_PHASE_VALIDATE, change, hoard);
        ok(hoard->got(txn, hoard));
        assert_true(cut_end());
        ok(cellar_commit(txn, NULL));
        undo(hoard);
        holds = is_whole(hoard) && holds;
    }
    return holds;
}

/* ---- a change that is half applied ---- */

static inline void *read_beside(void *arg)
{
    struct hoard *hoard = arg;
    struct cellar_txn *txn;
    hoard->code = cellar_begin(hoard->db, CELLAR_TXN(.timeout_us = 50000), &txn); /* which the writer outlasts */
    if (hoard->code == 0) hoard->code = hoard->got(txn, hoard);
    if (hoard->code == 0) hoard->code = cellar_commit(txn, NULL);
    return NULL;
}

/* A reader comes when so many WRITEs of a change are done. False: it has seen a part. *cut_there: there are so many. */
static inline bool half_applied(struct hoard *hoard, uint32_t writes, bool *cut_there)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    know(hoard); /* in the other slot */
    ok(hoard->changed(txn, hoard));
    cut_begin(txn, FABRIC_WRITE, CELLAR_PHASE_APPLY, read_beside, hoard);
    cut.behind = writes;
    ok(cellar_commit(txn, NULL));
    *cut_there = cut_end();
    undo(hoard);
    if (!*cut_there) return true;
    if (hoard->code == 0) return is_whole(hoard);
    assert_int_equal(hoard->code, CELLAR_DEADLINE);
    return true;
}

static inline bool half_applied_is_not_read(struct hoard *hoard)
{
    bool holds = true, cut_there = true;
    uint32_t writes = 0;
    while (cut_there) holds = half_applied(hoard, ++writes, &cut_there) && holds;
    assert_true(writes > 2);
    return holds;
}

/* ---- all of them ---- */

static const uint32_t hoard_modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_RECORD};
#define HOARD_MODES (sizeof hoard_modes / sizeof *hoard_modes)

#ifdef CELLAR_PLANTS
struct hoard_plant {
    const char *plant;
    bool (*holds)(struct hoard *hoard); /* not with it */
};

static void hoard_plants_met(const struct hoard_plant *plants, size_t count,
                             bool (*open)(struct hoard *hoard, uint32_t mode, uint32_t mns))
{
    for (size_t i = 0; i < count; i++) {
        struct hoard hoard;
        assert_true(open(&hoard, CELLAR_LAB_CC_CELL, 1));
        assert_true(plant_choose(plants[i].plant));
        if (plants[i].holds(&hoard)) fail_msg("%s is not met", plants[i].plant);
        assert_true(plant_choose(NULL));
        face_close(hoard.db);
    }
}
#endif
