/*
 * test_glance_sought.c - glances (engine/txn/glance.h) at rows whose places the worker does not know, and at rows that
 * are not there: their buckets are read first.
 */
#include "hoard.h"

#include "index.h"

enum { NEW = NOWHERE, CROWD = 200 };

/* ---- a pot that comes and goes ---- */

/* It gets one coin of the left pot's. */
static int split(struct cellar_txn *txn, void *arg)
{
    const struct hoard *hoard = arg;
    struct pot left = {.id = LEFT};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &left);
    left.coins--;
    if (rc == 0) rc = cellar_put(txn, hoard->pots, CELLAR_COL(COINS), &left);
    return rc ? rc : cellar_insert(txn, hoard->pots, &(struct pot){NEW, 1, 0});
}

static int merged(struct cellar_txn *txn, void *arg)
{
    const struct hoard *hoard = arg;
    struct pot left = {.id = LEFT}, new = {.id = NEW};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &left);
    if (rc == 0) rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &new);
    if (rc) return rc == CELLAR_NOT_FOUND ? 0 : rc; /* it was not split */
    left.coins += new.coins;
    rc = cellar_put(txn, hoard->pots, CELLAR_COL(COINS), &left);
    return rc ? rc : cellar_delete(txn, hoard->pots, &new);
}

/* The new one first, so that its bucket is what is read first. */
static int left_and_new_got(struct cellar_txn *txn, struct hoard *hoard)
{
    struct pot left = {.id = LEFT}, new = {.id = NEW};
    struct cellar_read reads[] = {CELLAR_READ(hoard->pots, &new, .columns = CELLAR_COL(COINS)),
                                  CELLAR_READ(hoard->pots, &left, .columns = CELLAR_COL(COINS))};
    int rc = cellar_get_many(txn, reads, 2);
    hoard->left = left.coins;
    hoard->right = reads[0].code == 0 ? new.coins : 0;
    return rc;
}

/* It alone. Once its insert is committed a reader finds it, though the pool may not show it yet. */
static int new_got(struct cellar_txn *txn, struct hoard *hoard)
{
    struct pot new = {.id = NEW};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &new);
    hoard->left = 0;
    hoard->right = rc == 0 ? new.coins : 0;
    return rc == CELLAR_NOT_FOUND ? 0 : rc;
}

static bool committed_is_not_missed(struct hoard *hoard)
{
    struct hoard alone = *hoard;
    alone.got = new_got;
    alone.sum = 1;
    return half_applied_is_not_read(&alone);
}

static bool splits_open(struct hoard *hoard, uint32_t mode, uint32_t mns)
{
    if (!hoard_open(hoard, mode, mns)) return false;
    hoard->got = left_and_new_got;
    hoard->changed = split;
    hoard->undone = merged;
    know(hoard);
    hoard->sum = hoard->left;
    return true;
}

/* ---- without an attempt ---- */

/* The calls that the coordinator has run, and *batches. */
static uint32_t read_one(struct hoard *hoard, uint64_t id, int code, uint64_t *batches)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    uint32_t calls = calls_of(txn);
    struct pot pot = {.id = id};
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, NULL, hoard);
    assert_int_equal(cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &pot), code);
    (void)cut_end();
    *batches = cut.batches;
    calls = calls_of(txn) - calls;
    ok(cellar_commit(txn, NULL));
    return calls;
}

/* Its bucket, and its bucket again. */
static void a_row_that_is_not_there_takes_no_attempt(struct hoard *hoard)
{
    uint32_t tries = TRIES;
    uint64_t batches;
    while (read_one(hoard, NEW, CELLAR_NOT_FOUND, &batches) && --tries) {
        assert_int_equal(batches, 2);
        usleep(100);
    }
    assert_true(tries);
    assert_int_equal(batches, 2);
}

/* Its bucket, and then as one that is known; which it is from then on. */
static void a_row_is_sought_once(struct hoard *hoard)
{
    uint64_t batches, id = LEFT;
    struct cellar_txn *first = face_begun(hoard->db); /* the slot that has made the rows; the other one knows of none */
    (void)read_one(hoard, id, 0, &batches);
    while (batches < 2 && ++id <= POTS) (void)read_one(hoard, id, 0, &batches);
    assert_int_equal(batches, 2);
    (void)read_one(hoard, id, 0, &batches);
    assert_int_equal(batches, 1);
    cellar_abort(first);
}

/* All of a read are of one moment, those that are sought, and that are not there, among them. */
static void a_read_of_all_kinds_is_one(struct hoard *hoard)
{
    struct cellar_txn *first = face_begun(hoard->db), *txn = face_begun(hoard->db);
    struct pot known = {.id = LEFT}, sought = {.id = POTS}, none = {.id = NEW};
    struct cellar_read reads[] = {CELLAR_READ(hoard->pots, &sought), CELLAR_READ(hoard->pots, &none),
                                  CELLAR_READ(hoard->pots, &known)};
    uint64_t committed = counter_read(&session_of(txn)->worker->home.stats.committed);
    ok(cellar_get_many(txn, reads, 3));
    assert_int_equal(reads[0].code, 0);
    assert_int_equal(reads[1].code, CELLAR_NOT_FOUND);
    assert_int_equal(reads[2].code, 0);
    assert_int_equal(sought.coins, COINS_EACH);
    assert_int_equal(session_of(txn)->draft.blocks, 1);
    assert_int_equal(counter_read(&session_of(txn)->worker->home.stats.committed), committed + 1);
    ok(cellar_commit(txn, NULL));
    cellar_abort(first);
}

/* What was not there is compared by the commit. */
static void an_absence_stands(struct hoard *hoard)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    struct pot new = {.id = NEW}, left = {.id = LEFT};
    assert_int_equal(cellar_get(txn, hoard->pots, 0, 0, &new), CELLAR_NOT_FOUND);
    change(hoard);
    assert_int_equal(cellar_get(txn, hoard->pots, 0, 0, &new), CELLAR_NOT_FOUND);
    ok(cellar_get(txn, hoard->pots, 0, 0, &left));
    assert_int_equal(cellar_commit(txn, NULL), CELLAR_RETRY);
    undo(hoard);
}

/* ---- another key's entry ---- */

/* A key whose bucket and fingerprint are the left pot's. */
static uint64_t look_alike(const struct hoard *hoard)
{
    const struct index_geometry *index = &hoard->pots->table->index;
    struct fabric_addr bucket = index_bucket_addr(index, LEFT);
    uint64_t key = NEW + 1;
    while (index_fingerprint(key) != index_fingerprint(LEFT) || index_bucket_addr(index, key).bits != bucket.bits)
        key++;
    return key;
}

static bool anothers_entry_is_not_its_own(struct hoard *hoard)
{
    struct cellar_txn *txn = face_begun(hoard->db);
    struct pot pot = {.id = look_alike(hoard)};
    int rc = cellar_get(txn, hoard->pots, CELLAR_ALL, 0, &pot);
    cellar_abort(txn);
    return rc == CELLAR_NOT_FOUND;
}

/* ---- chains ---- */

/* Far more rows than the table was made for. */
static bool all_of_a_chain_is_found(struct hoard *hoard)
{
    const struct cellar_table *crowd;
    uint64_t found = 0;
    ok(cellar_table_open(hoard->db, CELLAR_TABLE(struct pot, columns, .name = "crowd", .rows = 1), 0, &crowd));
    for (uint64_t id = LEFT; id <= CROWD; id++) {
        struct cellar_txn *txn = face_begun(hoard->db);
        ok(cellar_insert(txn, crowd, &(struct pot){id, 0, 0}));
        ok(cellar_commit(txn, NULL));
    }
    struct cellar_txn *first = face_begun(hoard->db), *txn = face_begun(hoard->db);
    for (uint64_t id = LEFT; id <= CROWD; id++) found += cellar_get(txn, crowd, 0, 0, &(struct pot){.id = id}) == 0;
    cellar_abort(txn);
    cellar_abort(first);
    return found == CROWD;
}

/* ---- modes ---- */

static void rows_are_sought_in_each_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOARD_MODES; i++)
        for (uint32_t mns = 1; mns <= 2; mns++) {
            struct hoard hoard;
            if (!splits_open(&hoard, hoard_modes[i], mns)) continue;
            a_row_is_sought_once(&hoard);
            a_row_that_is_not_there_takes_no_attempt(&hoard);
            a_read_of_all_kinds_is_one(&hoard);
            an_absence_stands(&hoard);
            assert_true(changed_between_is_seen(&hoard));
            assert_true(half_applied_is_not_read(&hoard));
            assert_true(committed_is_not_missed(&hoard));
            assert_true(anothers_entry_is_not_its_own(&hoard));
            assert_true(all_of_a_chain_is_found(&hoard));
            face_close(hoard.db);
        }
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    static const struct hoard_plant met[] = {{"glance_absence_unchecked", changed_between_is_seen},
                                             {"glance_tags_ignored", half_applied_is_not_read},
                                             {"glance_tags_ignored", committed_is_not_missed},
                                             {"glance_key_unasked", anothers_entry_is_not_its_own},
                                             {"glance_chain_unread", all_of_a_chain_is_found}};
    (void)state;
    hoard_plants_met(met, sizeof met / sizeof *met, splits_open);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sought_in_each_mode),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
