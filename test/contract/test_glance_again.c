/*
 * test_glance_again.c - transactions that have read at several moments (engine/txn/glance.h): their check reads the
 * headers of all that they have noted, once, and leaves to an attempt what is not plain.
 */
#include "hoard.h"

static int left_got(struct cellar_txn *txn, struct hoard *hoard)
{
    struct pot left = {.id = LEFT};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &left);
    hoard->left = left.coins;
    return rc;
}

static int right_got(struct cellar_txn *txn, struct hoard *hoard)
{
    struct pot right = {.id = RIGHT};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &right);
    hoard->right = right.coins;
    return rc;
}

/* A transaction that has read both, one after the other, and no coin may be missed or seen twice. */
static struct cellar_txn *reader_begun(struct hoard *hoard, const struct cellar_txn_options *options)
{
    struct cellar_txn *txn;
    know(hoard);
    ok(cellar_begin(hoard->db, options, &txn));
    ok(left_got(txn, hoard));
    ok(right_got(txn, hoard));
    assert_int_equal(session_of(txn)->draft.blocks, 2);
    return txn;
}

/* Either it is told to begin again, or what it has read is of one moment. */
static bool is_right(struct hoard *hoard, int code)
{
    if (code == CELLAR_RETRY) return true;
    ok(code);
    return is_whole(hoard);
}

/* ---- what it takes ---- */

struct cost {
    uint64_t batches;
    uint32_t calls;
};

static struct cost cost_of(const struct cellar_txn *txn)
{
    return (struct cost){session_of(txn)->worker->ep->counters.batches, calls_of(txn)};
}

/* Of a check, and of the commit behind it. */
static struct cost checked(struct hoard *hoard, struct cellar_txn *txn)
{
    struct cost before = cost_of(txn);
    ok(cellar_check(txn));
    struct cost after = cost_of(txn);
    ok(cellar_commit(txn, NULL));
    assert_true(is_whole(hoard));
    return (struct cost){after.batches - before.batches, after.calls - before.calls};
}

/* One round trip; without the coordinator, once the worker lends its helm. */
static void a_check_takes_no_attempt(struct hoard *hoard)
{
    struct cost cost = {.calls = 1};
    for (uint32_t tries = TRIES; cost.calls && tries; tries--) {
        cost = checked(hoard, reader_begun(hoard, NULL));
        assert_int_equal(cost.batches, 1);
        if (cost.calls) usleep(100);
    }
    assert_int_equal(cost.calls, 0);
    cost = checked(hoard, reader_begun(hoard, CELLAR_TXN(.timeout_us = 1000000000)));
    assert_int_equal(cost.batches, 1);
    assert_int_equal(cost.calls, 1);
}

/* What epoch numbers do not tell: an attempt compares it, which validates what it reads. */
static bool by_an_attempt(struct hoard *hoard, struct cellar_txn *txn) { return checked(hoard, txn).batches > 1; }

static bool notes_of_another_way_are_compared(struct hoard *hoard)
{
    struct cellar_txn *txn = reader_begun(hoard, NULL);
    assert_true(session_of(txn)->draft.of_pool);
    session_of(txn)->draft.of_pool = false;
    return by_an_attempt(hoard, txn);
}

static bool notes_of_another_configuration_are_compared(struct hoard *hoard)
{
    struct cellar_txn *txn = reader_begun(hoard, NULL);
    session_of(txn)->draft.configuration += 2;
    return by_an_attempt(hoard, txn);
}

static bool reads_no_pool(const struct txn_home *home)
{
    (void)home;
    return false;
}

/* The first one was read as if records were shared within the compute node. */
static bool notes_of_a_shared_way_are_compared(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    struct txn_home *home = &session_of(txn)->worker->home;
    const struct mode *real = home->mode;
    struct mode sharing = *real;
    sharing.reads_pool = reads_no_pool;
    home->mode = &sharing;
    ok(left_got(txn, hoard));
    home->mode = real;
    ok(right_got(txn, hoard));
    return by_an_attempt(hoard, txn);
}

/* ---- changes between reads, and before the check ---- */

static bool changed_between_reads_is_seen(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(left_got(txn, hoard));
    change(hoard);
    ok(right_got(txn, hoard));
    return is_right(hoard, cellar_commit(txn, NULL));
}

static void changed_since_is_seen(struct hoard *hoard)
{
    struct cellar_txn *txn = reader_begun(hoard, NULL);
    change(hoard);
    assert_int_equal(cellar_check(txn), CELLAR_RETRY);
    cellar_abort(txn);
}

/* What changes while the headers are read has come behind them, or is seen. */
static void changed_meanwhile_is_harmless(struct hoard *hoard)
{
    struct cellar_txn *txn = reader_begun(hoard, NULL);
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_VALIDATE, change, hoard);
    int code = cellar_commit(txn, NULL);
    assert_true(cut_end());
    assert_true(is_right(hoard, code));
}

static bool inserted_since_is_seen(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db), *writer = face_begun(hoard->db);
    struct pot nowhere = {.id = NOWHERE};
    assert_int_equal(cellar_get(txn, hoard->pots, CELLAR_ALL, 0, &nowhere), CELLAR_NOT_FOUND);
    ok(left_got(txn, hoard));
    uint32_t calls = calls_of(txn);
    ok(cellar_check(txn));
    assert_true(calls_of(txn) - calls <= 1);
    ok(cellar_insert(writer, hoard->pots, &(struct pot){NOWHERE, COINS_EACH, 0}));
    ok(cellar_commit(writer, NULL));
    int code = cellar_commit(txn, NULL);
    writer = face_begun(hoard->db);
    ok(cellar_delete(writer, hoard->pots, &nowhere));
    ok(cellar_commit(writer, NULL));
    return code == CELLAR_RETRY;
}

/* It has gone, and come again elsewhere: what is read of it then is of another record. */
static void what_has_moved_is_compared(struct hoard *hoard)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db), *writer = face_begun(hoard->db);
    struct pot pot = {.id = LEFT};
    ok(left_got(txn, hoard));
    ok(cellar_delete(writer, hoard->pots, &pot));
    ok(cellar_commit(writer, NULL));
    writer = face_begun(hoard->db);
    ok(cellar_insert(writer, hoard->pots, &(struct pot){NOWHERE, 0, 0})); /* where it was */
    ok(cellar_insert(writer, hoard->pots, &(struct pot){LEFT, hoard->left, 0}));
    ok(cellar_commit(writer, NULL));
    ok(cellar_get(txn, hoard->pots, CELLAR_COL(STAMP), 0, &pot));
    assert_false(session_of(txn)->draft.of_pool);
    assert_int_equal(cellar_commit(txn, NULL), CELLAR_RETRY);
    writer = face_begun(hoard->db);
    ok(cellar_delete(writer, hoard->pots, &(struct pot){.id = NOWHERE}));
    ok(cellar_commit(writer, NULL));
}

/* ---- a change that is half applied ---- */

/* What a reader notes before the change, and what when a part of it is there. */
struct half {
    int (*before)(struct cellar_txn *txn, struct hoard *hoard);
    int (*amid)(struct cellar_txn *txn, struct hoard *hoard);
    struct cellar_txn *reader;
    int code;
};
static struct half half;

static void *end_between(void *hoard)
{
    half.code = half.amid(half.reader, hoard);
    if (half.code == 0)
        half.code = cellar_commit(half.reader, NULL);
    else
        cellar_abort(half.reader);
    return NULL;
}

/* What one has read before the change, and the other one amid it: of one moment, or it is told to begin again. */
static bool half_is_right(struct hoard *hoard, struct half of)
{
    struct cellar_txn *writer = face_begun(hoard->db);
    know(hoard); /* in the other slot */
    half = of;
    ok(cellar_begin(hoard->db, CELLAR_TXN(.timeout_us = 50000), &half.reader)); /* the writer outlasts it */
    ok(half.before(half.reader, hoard));
    ok(hoard->changed(writer, hoard));
    cut_apart(writer, CELLAR_PHASE_APPLY, end_between, hoard);
    ok(cellar_commit(writer, NULL));
    assert_true(cut_end());
    undo(hoard);
    return half.code == CELLAR_DEADLINE || is_right(hoard, half.code);
}

static bool half_applied_is_seen(struct hoard *hoard)
{
    bool holds = true;
    for (node_first = 0; node_first < 2; node_first++) {
        holds = half_is_right(hoard, (struct half){right_got, left_got, NULL, 0}) && holds;
        holds = half_is_right(hoard, (struct half){left_got, right_got, NULL, 0}) && holds;
    }
    return holds;
}

/* ---- an insert that is half applied ---- */

static uint64_t nowhere; /* a key that no pot has, whose bucket is not on the node of the left one */

static int nowhere_got(struct cellar_txn *txn, struct hoard *hoard)
{
    struct pot pot = {.id = nowhere};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &pot);
    hoard->right = rc == CELLAR_NOT_FOUND ? 0 : pot.coins;
    return rc == CELLAR_NOT_FOUND ? 0 : rc;
}

static int nowhere_and_left_got(struct cellar_txn *txn, struct hoard *hoard)
{
    int rc = nowhere_got(txn, hoard);
    return rc ? rc : left_got(txn, hoard);
}

static int left_moved(struct cellar_txn *txn, const struct hoard *hoard, int64_t coins)
{
    struct pot left = {.id = LEFT};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &left);
    left.coins += coins;
    return rc ? rc : cellar_put(txn, hoard->pots, CELLAR_COL(COINS), &left);
}

static int moved_to_nowhere(struct cellar_txn *txn, void *hoard)
{
    int rc = left_moved(txn, hoard, -1);
    return rc ? rc : cellar_insert(txn, ((struct hoard *)hoard)->pots, &(struct pot){nowhere, 1, 0});
}

static int moved_back(struct cellar_txn *txn, void *hoard)
{
    int rc = left_moved(txn, hoard, 1);
    return rc ? rc : cellar_delete(txn, ((struct hoard *)hoard)->pots, &(struct pot){.id = nowhere});
}

static bool are_apart(struct hoard *hoard)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(nowhere_and_left_got(txn, hoard));
    const struct draft_record *records = session_of(txn)->draft.records;
    bool apart = fabric_addr_node(records[0].addr) != fabric_addr_node(records[1].addr);
    ok(cellar_commit(txn, NULL));
    return apart;
}

static bool half_inserted_is_seen(struct hoard *hoard)
{
    const struct hoard usual = *hoard;
    bool holds = true;
    for (nowhere = NOWHERE; !are_apart(hoard);) nowhere++;
    hoard->got = nowhere_and_left_got;
    hoard->changed = moved_to_nowhere;
    hoard->undone = moved_back;
    hoard->sum = hoard->left;
    for (node_first = 0; node_first < 2; node_first++)
        holds = half_is_right(hoard, (struct half){nowhere_got, left_got, NULL, 0}) && holds;
    *hoard = usual;
    return holds;
}

/* ---- epoch numbers that have come full circle ---- */

static bool a_full_circle_is_noticed(struct hoard *hoard)
{
    const uint64_t usual_ns = 10; /* as shm has it */
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(left_got(txn, hoard));
    for (uint32_t i = 0; i < 1u << LAYOUT_EN_BITS; i++) change(hoard);
    hoard->db->fabric->apply_min_ns = usual_ns;
    ok(right_got(txn, hoard)); /* by a glance, or an attempt, which find nothing amiss */
    int code = cellar_commit(txn, NULL);
    hoard->db->fabric->apply_min_ns = APPLY_SLOW_NS;
    return code == CELLAR_RETRY;
}

/* ---- modes ---- */

static void checks_in_each_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOARD_MODES; i++) {
        struct hoard hoard;
        if (!hoard_open(&hoard, hoard_modes[i], 1)) continue;
        a_check_takes_no_attempt(&hoard);
        assert_true(notes_of_another_way_are_compared(&hoard));
        assert_true(notes_of_another_configuration_are_compared(&hoard));
        if (hoard_modes[i] != CELLAR_LAB_CC_CELLAR) /* which chooses its way itself */
            assert_true(notes_of_a_shared_way_are_compared(&hoard));
        assert_true(changed_between_reads_is_seen(&hoard));
        changed_since_is_seen(&hoard);
        changed_meanwhile_is_harmless(&hoard);
        assert_true(inserted_since_is_seen(&hoard));
        assert_true(a_full_circle_is_noticed(&hoard));
        what_has_moved_is_compared(&hoard);
        face_close(hoard.db);
    }
}

/* At two nodes, with one of them on each, and no backups: then a record is unlocked in the batch that changes it. */
static bool open_apart(struct hoard *hoard, uint32_t mode, uint32_t mns)
{
    (void)mns;
    if (!hoard_open_with(hoard, mode, 2, 0)) return false;
    struct cellar_txn *txn = reader_begun(hoard, NULL);
    const struct draft_record *records = session_of(txn)->draft.records;
    assert_int_not_equal(fabric_addr_node(records[0].addr), fabric_addr_node(records[1].addr));
    ok(cellar_commit(txn, NULL));
    return true;
}

static void checks_at_several_nodes(void **state)
{
    struct hoard hoard;
    (void)state;
    assert_true(open_apart(&hoard, CELLAR_LAB_CC_CELL, 2));
    a_check_takes_no_attempt(&hoard);
    assert_true(changed_between_reads_is_seen(&hoard));
    assert_true(inserted_since_is_seen(&hoard));
    assert_true(half_applied_is_seen(&hoard));
    assert_true(half_inserted_is_seen(&hoard));
    what_has_moved_is_compared(&hoard);
    face_close(hoard.db);
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    static const struct hoard_plant met[] = {{"notes_unread", changed_between_reads_is_seen},
                                             {"notes_unread", inserted_since_is_seen},
                                             {"notes_of_all_ways", notes_of_another_way_are_compared},
                                             {"notes_of_all_ways", notes_of_another_configuration_are_compared},
                                             {"glance_tags_ignored", half_applied_is_seen},
                                             {"glance_tags_ignored", half_inserted_is_seen},
                                             {"en_wrap_unchecked", a_full_circle_is_noticed}};
    (void)state;
    hoard_plants_met(met, sizeof met / sizeof *met, open_apart);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_in_each_mode),
        cmocka_unit_test(checks_at_several_nodes),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
