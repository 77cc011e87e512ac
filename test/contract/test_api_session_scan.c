/*
 * test_api_session_scan.c - cellar.h: ranges of ordered indexes in interactive transactions. What a scan says agrees
 * with a plain array, the transaction's own changes included; and no other transaction brings a record into a range
 * that was scanned, or takes one out of it, before the commit.
 */
#include "ordered.h"
#include "numbered.h"
#include "plant.h"
#include "sessions.h"

#include <pthread.h>

#define ROUNDS 120
#define KEYS 600
#define SCAN_MAX CELLAR_TXN_RECORDS_MAX

static bool possible(const struct api_variant *variant)
{
    return ordered_supported(variant) && sessions_possible(variant);
}

struct pair {
    struct ordered ordered;
    struct session *one, *two;
};

/* Rows 0, 10, 20 ... 90: a as the key. */
static bool pair_open(struct pair *pair, const struct api_variant *variant)
{
    static struct ordered_change change;
    if (!possible(variant)) return false;
    ordered_open(&pair->ordered, variant);
    change.count = 10;
    for (uint32_t i = 0; i < 10; i++) {
        change.steps[i].key = change.steps[i].a = 10ull * i;
        change.steps[i].kind = ORDERED_PUT;
    }
    ordered_call(&pair->ordered, &change);
    pair->one = sessions_opened(&pair->ordered.api);
    pair->two = sessions_opened(&pair->ordered.api);
    return true;
}

static void pair_close(struct pair *pair)
{
    session_close(pair->one);
    session_close(pair->two);
    ordered_close(&pair->ordered);
}

/* Keys of the rows whose a is in [low, high). */
static int scan(struct pair *pair, struct cellar_txn *txn, uint64_t low, uint64_t high, cellar_cells cells,
                uint32_t flags, uint64_t *keys, uint64_t limit)
{
    struct item low_row = {.a = low}, high_row = {.a = high};
    struct cellar_range range = {.low = {&low_row, 1, false}, .high = {&high_row, 1, true}};
    return cellar_txn_scan(txn, pair->ordered.by_a, &range, cells, flags, keys, limit);
}

static void insert(struct pair *pair, struct cellar_txn *txn, uint64_t key, uint64_t a)
{
    struct item item = ordered_item(key, a);
    assert_code(cellar_txn_insert(txn, pair->ordered.api.items, key, &item), 0);
}

static void put(struct pair *pair, struct cellar_txn *txn, uint64_t key, uint64_t a)
{
    sessions_put(&pair->ordered.api, txn, key, a);
}

/* ---- one client ---- */

static void a_scan_reads_what_it_names(void **state)
{
    static struct pair pair;
    struct cellar_lab_stats stats;
    uint64_t keys[8];
    if (!pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    assert_int_equal(scan(&pair, txn, 20, 60, CELL_A, 0, keys, 8), 4);
    for (uint64_t i = 0; i < 4; i++) assert_int_equal(keys[i], 20 + 10 * i);
    cellar_lab_stats_reset(pair.ordered.api.db);
    for (uint64_t i = 0; i < 4; i++) assert_int_equal(sessions_got(&pair.ordered.api, txn, keys[i]), keys[i]);
    cellar_lab_stats_read(pair.ordered.api.db, &stats);
    assert_int_equal(stats.round_trips, 0); /* their values came with the scan */
    assert_int_equal(scan(&pair, txn, 20, 60, 0, CELLAR_BACKWARD, keys, 3), 3);
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(keys[i], 50 - 10 * i);
    assert_int_equal(scan(&pair, txn, 61, 70, CELLAR_ALL_CELLS, 0, keys, 8), 0);
    assert_code(cellar_check(txn), 0);
    assert_code(session_commit(txn, NULL), 0);
    pair_close(&pair);
}

/* From there on by CELLAR_AFTER, two at a time, to the other end of the range: how many, and which. */
static uint32_t read_on(struct pair *pair, struct cellar_txn *txn, uint32_t flags, uint64_t *keys)
{
    struct item ends[2] = {{.a = 4}, {.a = 7}}, at;
    struct cellar_range range = {.low = {&ends[0], 1, false}, .high = {&ends[1], 1, false}};
    uint32_t count = 0;
    for (int got = 2; got == 2; count += (uint32_t)got) {
        got =
            cellar_txn_scan(txn, pair->ordered.by_a, &range, 0, count ? flags | CELLAR_AFTER : flags, keys + count, 2);
        assert_in_range(got, 0, 2);
        if (!got) return count;
        uint64_t last = keys[count + (uint32_t)got - 1];
        at.a = sessions_got(&pair->ordered.api, txn, last);
        *(flags & CELLAR_BACKWARD ? &range.high : &range.low) = (struct cellar_bound){&at, 1, false};
        *(flags & CELLAR_BACKWARD ? &range.high_key : &range.low_key) = last;
    }
    return count;
}

/* Rows of equal columns are told from each other by their keys, the transaction's own ones, too. */
static void a_scan_goes_on_behind_a_record(void **state)
{
    static struct pair pair;
    uint64_t keys[16];
    if (!pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    for (uint64_t key = 0; key < 70; key += 10) put(&pair, txn, key, 7);
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(pair.one);
    for (int own = 0; own < 2; own++) {
        const uint64_t wanted[2][10] = {{0, 10, 20, 30, 40, 50, 60}, {30, 0, 10, 20, 25, 50, 60, UINT64_MAX}};
        uint32_t count = own ? 8 : 7;
        assert_int_equal(read_on(&pair, txn, 0, keys), count);
        for (uint32_t i = 0; i < count; i++) assert_int_equal(keys[i], wanted[own][i]);
        assert_int_equal(read_on(&pair, txn, CELLAR_BACKWARD, keys), count);
        for (uint32_t i = 0; i < count; i++) assert_int_equal(keys[i], wanted[own][count - 1 - i]);
        if (own) break;
        put(&pair, txn, 30, 4);
        insert(&pair, txn, 25, 7);
        insert(&pair, txn, UINT64_MAX, 7);
        assert_code(cellar_txn_delete(txn, pair.ordered.api.items, 40), 0);
    }
    struct item row = {.a = 7};
    const struct cellar_range no_bound = {.high = {&row, 1, false}}, of_keys = {.high_key = 9};
    assert_code(cellar_txn_scan(txn, pair.ordered.by_a, &no_bound, 0, CELLAR_AFTER, keys, 2), CELLAR_INVALID);
    assert_code(cellar_txn_scan(txn, pair.ordered.by_key, &of_keys, 0, CELLAR_AFTER, keys, 2), CELLAR_INVALID);
    assert_code(session_abort(txn), 0);
    pair_close(&pair);
}

static void own_changes_are_seen(void **state)
{
    static struct pair pair;
    uint64_t keys[8];
    if (!pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    put(&pair, txn, 30, 5);  /* out of the range, unread */
    put(&pair, txn, 90, 41); /* into it */
    assert_code(cellar_txn_delete(txn, pair.ordered.api.items, 20), 0);
    int savepoint = cellar_savepoint(txn);
    uint64_t unread;
    assert_code(cellar_txn_get(txn, pair.ordered.api.items, 301, ITEM_A, &unread), CELLAR_NOT_FOUND);
    insert(&pair, txn, 301, 59); /* looked for before */
    insert(&pair, txn, 302, 60);
    assert_int_equal(scan(&pair, txn, 20, 60, CELL_A, 0, keys, 8), 4);
    const uint64_t wanted[] = {40, 90, 50, 301};
    for (int i = 0; i < 4; i++) assert_int_equal(keys[i], wanted[i]);
    assert_int_equal(sessions_got(&pair.ordered.api, txn, 90), 41);
    assert_int_equal(scan(&pair, txn, 20, 60, CELL_A, CELLAR_BACKWARD, keys, 2), 2); /* the limit counts what is seen */
    assert_int_equal(keys[0], 301);
    assert_int_equal(keys[1], 50);
    assert_int_equal(scan(&pair, txn, 20, 60, 0, 0, keys, 1), 1);
    assert_int_equal(keys[0], 40);
    assert_code(cellar_rollback_to(txn, savepoint), 0);
    assert_int_equal(scan(&pair, txn, 20, 60, 0, 0, keys, 8), 3);
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(pair.two);
    assert_int_equal(scan(&pair, txn, 20, 60, CELL_A, 0, keys, 8), 3);
    for (int i = 0; i < 3; i++) assert_int_equal(keys[i], wanted[i]);
    assert_code(session_abort(txn), 0);
    pair_close(&pair);
}

/* Changes in the draft and in the model; then ranges of both. */
static void draft_and_model_agree(struct pair *pair, struct cellar_txn *txn, const struct ordered_change *change,
                                  struct prng *prng)
{
    static uint64_t wanted[ORDERED_KEYS], keys[SCAN_MAX];
    const struct cellar_table *items = pair->ordered.api.items;
    for (uint32_t i = 0; i < change->count; i++) {
        uint64_t key = change->steps[i].key, a = change->steps[i].a;
        bool there = pair->ordered.there[key], goes = change->steps[i].kind == ORDERED_DELETE;
        struct item item = ordered_item(key, a);
        if (!there && goes) continue;
        if (goes) assert_code(cellar_txn_delete(txn, items, key), 0);
        if (!there) insert(pair, txn, key, a);
        if (goes || !there) continue;
        put(pair, txn, key, a);
        assert_code(cellar_txn_put(txn, items, key, ITEM_N, &item.n), 0);
    }
    ordered_apply(&pair->ordered, change);
    for (int turn = 0; turn < 4; turn++) {
        uint64_t low = prng_below(prng, 1000), high = prng_between(prng, low, 1000), limit = prng_between(prng, 1, 300);
        bool backward = turn % 2;
        uint32_t count = ordered_wanted(&pair->ordered, low, high, backward, wanted);
        if (count > limit) count = (uint32_t)limit;
        int got = scan(pair, txn, low, high, turn & 2 ? CELL_A : 0, backward ? CELLAR_BACKWARD : 0, keys, limit);
        assert_int_equal(got, count);
        for (uint32_t i = 0; i < count; i++) assert_int_equal(keys[i], wanted[i]);
    }
}

static void scans_agree_with_an_array(void **state)
{
    static struct pair pair;
    static struct ordered_change change;
    struct prng prng;
    if (!pair_open(&pair, *state)) skip();
    prng_seed(&prng, 18);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct cellar_txn *txn = sessions_begun(pair.one);
        for (int step = 0; step < 2; step++) {
            ordered_draw(&prng, &change, KEYS, 1000);
            draft_and_model_agree(&pair, txn, &change, &prng);
        }
        /* Its own commit may have to split a leaf that it has scanned: then it has to begin again. */
        int code = session_commit(txn, NULL);
        if (code == 0) continue;
        assert_code(code, CELLAR_RETRY);
        memset(pair.ordered.there, 0, sizeof pair.ordered.there);
        txn = sessions_begun(pair.two);
        static uint64_t keys[SCAN_MAX];
        int count = scan(&pair, txn, 0, UINT64_MAX, CELL_A, 0, keys, SCAN_MAX);
        assert_true(count >= 0);
        for (int i = 0; i < count; i++) {
            pair.ordered.there[keys[i]] = true;
            pair.ordered.a[keys[i]] = sessions_got(&pair.ordered.api, txn, keys[i]);
        }
        assert_code(session_abort(txn), 0);
    }
    pair_close(&pair);
}

static void what_was_put_unseen_may_be_absent(void **state)
{
    static struct pair pair;
    uint64_t keys[8], b;
    if (!pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    put(&pair, txn, 500, 25); /* there is none: the commit would say so */
    assert_int_equal(scan(&pair, txn, 20, 40, 0, 0, keys, 8), 2);
    assert_code(cellar_txn_get(txn, pair.ordered.api.items, 500, ITEM_B, &b), CELLAR_NOT_FOUND);
    assert_code(session_commit(txn, NULL), CELLAR_NOT_FOUND);
    pair_close(&pair);
}

/* An insert that the commit would refuse, taken back by a delete: scans show what gets do, until it is rolled back. */
static void what_was_inserted_unseen_goes_with_its_delete(void **state)
{
    static struct pair pair;
    uint64_t keys[8], b;
    if (!pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    int savepoint = cellar_savepoint(txn);
    insert(&pair, txn, 30, 35); /* there is one: the commit would say so */
    insert(&pair, txn, 300, 36);
    assert_code(cellar_txn_delete(txn, pair.ordered.api.items, 30), 0);
    assert_code(cellar_txn_delete(txn, pair.ordered.api.items, 300), 0);
    assert_code(cellar_txn_get(txn, pair.ordered.api.items, 30, ITEM_B, &b), CELLAR_NOT_FOUND);
    for (uint32_t way = 0; way < 4; way++) {
        uint32_t flags = way & 1 ? CELLAR_BACKWARD : 0;
        assert_int_equal(scan(&pair, txn, 20, 50, way & 2 ? CELL_A : 0, flags, keys, 8), 2);
        assert_true(keys[0] + keys[1] == 60 && keys[way & 1] == 20);
        assert_int_equal(scan(&pair, txn, 30, 50, 0, flags, keys, 1), 1); /* the limit counts what is seen */
        assert_int_equal(keys[0], 40);
    }
    insert(&pair, txn, 30, 45);
    assert_int_equal(scan(&pair, txn, 20, 50, CELL_A, 0, keys, 8), 3);
    assert_true(keys[0] == 20 && keys[1] == 40 && keys[2] == 30);
    assert_code(cellar_txn_delete(txn, pair.ordered.api.items, 30), 0);
    assert_int_equal(scan(&pair, txn, 20, 50, CELL_A, 0, keys, 8), 2);
    assert_code(cellar_rollback_to(txn, savepoint), 0);
    assert_int_equal(scan(&pair, txn, 20, 50, CELL_A, 0, keys, 8), 3);
    assert_int_equal(keys[1], 30);
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(pair.one);
    insert(&pair, txn, 30, 35);
    assert_code(cellar_txn_delete(txn, pair.ordered.api.items, 30), 0);
    assert_int_equal(scan(&pair, txn, 30, 40, CELL_A, 0, keys, 8), 0);
    assert_code(session_commit(txn, NULL), CELLAR_EXISTS);
    pair_close(&pair);
}

/* ---- two clients ---- */

enum phantom { PHANTOM_INSERT, PHANTOM_DELETE, PHANTOM_COMES, PHANTOM_GOES, PHANTOMS };

static void phantom(struct pair *pair, enum phantom kind)
{
    struct cellar_txn *txn = sessions_begun(pair->two);
    if (kind == PHANTOM_INSERT) insert(pair, txn, 300, 45);
    if (kind == PHANTOM_DELETE) assert_code(cellar_txn_delete(txn, pair->ordered.api.items, 40), 0);
    if (kind == PHANTOM_COMES) put(pair, txn, 90, 45);
    if (kind == PHANTOM_GOES) put(pair, txn, 40, 95);
    assert_code(session_commit(txn, NULL), 0);
}

/* A range is scanned, with or without a record in it, and another transaction changes what is in it. */
static bool phantom_is_met(struct pair *pair, enum phantom kind, bool writes)
{
    uint64_t keys[8];
    bool empty = kind == PHANTOM_INSERT || kind == PHANTOM_COMES;
    struct cellar_txn *txn = sessions_begun(pair->one);
    assert_int_equal(scan(pair, txn, empty ? 41 : 40, 50, 0, 0, keys, 8), empty ? 0 : 1);
    (void)sessions_got(&pair->ordered.api, txn, 10); /* more than one moment */
    phantom(pair, kind);
    if (writes) put(pair, txn, 10, 10);
    int code = session_commit(txn, NULL);
    if (code == CELLAR_RETRY) sessions_assert_line(CELLAR_RETRY, "by_a", "was changed");
    return code == CELLAR_RETRY;
}

static void no_record_comes_or_goes_in_between(void **state)
{
    static struct pair pair;
    for (int writes = 0; writes < 2; writes++)
        for (int kind = 0; kind < PHANTOMS; kind++) {
            if (!pair_open(&pair, *state)) skip();
            assert_true(phantom_is_met(&pair, (enum phantom)kind, writes));
            pair_close(&pair);
        }
}

static void a_second_scan_ends_what_another_has_changed(void **state)
{
    static struct pair pair;
    uint64_t keys[8];
    if (!pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    assert_int_equal(scan(&pair, txn, 40, 50, CELL_A, 0, keys, 8), 1);
    phantom(&pair, PHANTOM_INSERT);
    assert_int_equal(scan(&pair, txn, 40, 50, CELL_A, 0, keys, 8), CELLAR_RETRY);
    sessions_assert_line(CELLAR_RETRY, "by_a", "was changed");
    assert_code(session_commit(txn, NULL), CELLAR_RETRY);
    pair_close(&pair);
}

/* Another range of the same leaf, in another data cell, is another affair. */
static void other_ranges_do_not_matter(void **state)
{
    static struct pair pair;
    static struct ordered_change change;
    uint64_t keys[8];
    if (!pair_open(&pair, *state)) skip();
    for (uint64_t key = 100; key < 1500; key += 10) {
        change = (struct ordered_change){.count = 1};
        change.steps[0].key = change.steps[0].a = key;
        ordered_call(&pair.ordered, &change);
    }
    struct cellar_txn *txn = sessions_begun(pair.one), *other = sessions_begun(pair.two);
    assert_int_equal(scan(&pair, txn, 40, 50, CELL_A, 0, keys, 8), 1);
    put(&pair, other, 1490, 1491);
    assert_code(session_commit(other, NULL), 0);
    put(&pair, txn, 40, 41);
    assert_code(session_commit(txn, NULL), 0);
    pair_close(&pair);
}

/* ---- many ---- */

#define CLUBS 5
#define CLUB_MEMBERS 3

struct joining {
    struct pair *pair;
    uint64_t first;
    uint32_t joined;
    int failed;
};

struct application {
    struct joining *joining;
    uint64_t club, key;
};

/* Joins a club that is not full: only a scan can tell. */
static int join(struct cellar_txn *txn, void *arg)
{
    const struct application *application = arg;
    const struct pair *pair = application->joining->pair;
    uint64_t keys[CLUB_MEMBERS];
    uint64_t a = 1000 + application->club * 10;
    struct item low = {.a = a}, high = {.a = a + 10}, item = ordered_item(application->key, a + application->key % 10);
    struct cellar_range range = {.low = {&low, 1, false}, .high = {&high, 1, true}};
    int members = cellar_txn_scan(txn, pair->ordered.by_a, &range, 0, 0, keys, CLUB_MEMBERS);
    if (members < 0) return members;
    if (members == CLUB_MEMBERS) return ERR_GIVEN_UP;
    return cellar_txn_insert(txn, pair->ordered.api.items, application->key, &item);
}

static void *join_on(void *arg)
{
    struct joining *joining = arg;
    struct session *session;
    joining->failed = session_open(joining->pair->ordered.api.db, &session, NULL);
    for (uint64_t i = 0; i < 40 && joining->failed == 0; i++) {
        struct application application = {joining, i % CLUBS, joining->first + i};
        int rc = session_transact(session, join, &application);
        joining->joined += rc == 0;
        if (rc != ERR_GIVEN_UP) joining->failed = rc;
    }
    return NULL;
}

static void clubs_are_never_overfull(void **state)
{
    static struct pair pair;
    uint64_t keys[64];
    pthread_t threads[3];
    struct joining joinings[3];
    if (!pair_open(&pair, *state)) skip();
    for (uint64_t i = 0; i < 3; i++) {
        joinings[i] = (struct joining){.pair = &pair, .first = 1000 + 100 * i};
        assert_int_equal(pthread_create(&threads[i], NULL, join_on, &joinings[i]), 0);
    }
    uint32_t joined = 0;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_code(joinings[i].failed, 0);
        joined += joinings[i].joined;
    }
    struct cellar_txn *txn = sessions_begun(pair.one);
    for (uint64_t club = 0; club < CLUBS; club++)
        assert_int_equal(scan(&pair, txn, 1000 + 10 * club, 1010 + 10 * club, 0, 0, keys, 64), CLUB_MEMBERS);
    assert_int_equal(joined, CLUBS * CLUB_MEMBERS);
    assert_code(session_abort(txn), 0);
    pair_close(&pair);
}

/* ---- bad input ---- */

static void bad_scans_are_refused(void **state)
{
    static struct pair pair;
    uint64_t keys[8];
    int ref;
    if (!pair_open(&pair, *state)) skip();
    struct item low = {.a = 5}, high = {.a = 4};
    struct cellar_range range = {.low = {&low, 1, false}};
    const struct cellar_index *by_a = pair.ordered.by_a;
    struct cellar_txn *txn = sessions_begun(pair.one);
    assert_int_equal(cellar_txn_scan(txn, NULL, &range, 0, 0, keys, 8), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "the index is NULL", "");
    assert_int_equal(cellar_txn_scan(txn, by_a, NULL, 0, 0, keys, 8), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "ends of the range", "");
    assert_int_equal(cellar_txn_scan(txn, by_a, &range, 1u << 19, 0, keys, 8), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "cells that the table does not have", "");
    assert_int_equal(cellar_txn_scan(txn, by_a, &range, 0, 4, keys, 8), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "unknown flags", "");
    for (uint64_t limit = 0; limit <= SCAN_MAX + 1; limit += SCAN_MAX + 1) {
        assert_int_equal(cellar_txn_scan(txn, by_a, &range, 0, 0, keys, limit), CELLAR_INVALID);
        sessions_assert_line(CELLAR_INVALID, "1 to 2,048 keys", "");
    }
    range.low.columns = 2; /* by_a has one */
    assert_int_equal(cellar_txn_scan(txn, by_a, &range, 0, 0, keys, 8), CELLAR_INVALID);
    range = (struct cellar_range){.low = {&low, 1, false}, .high = {&high, 1, false}};
    assert_int_equal(cellar_txn_scan(txn, by_a, &range, 0, 0, keys, 8), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "reversed", "");
    /* A procedure's cursor knows an interactive transaction. */
    assert_int_equal(cellar_proc_cursor_open(txn, by_a, &range, 0, 0, 0, 0), CELLAR_INVALID);
    assert_int_equal(cellar_proc_cursor_next(txn, 0, keys, &ref), CELLAR_INVALID);
    assert_int_equal(cellar_proc_lookup(txn, by_a, &low, keys), CELLAR_INVALID);
    assert_int_equal(scan(&pair, txn, 0, 20, 0, 0, keys, 8), 2); /* it goes on */
    assert_code(session_commit(txn, NULL), 0);
    assert_int_equal(scan(&pair, txn, 0, 20, 0, 0, keys, 8), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "has ended", "");
    pair_close(&pair);
}

/* More than a transaction may read: told, and the transaction goes on. */
static void a_scan_has_the_transactions_limit(void **state)
{
    static struct pair pair;
    static uint64_t keys[SCAN_MAX];
    if (!pair_open(&pair, *state)) skip();
    for (uint64_t key = 0; key < 2000; key += 40) {
        struct cellar_txn *txn = sessions_begun(pair.one);
        for (uint64_t i = key; i < key + 40; i++)
            if (i % 10 || i >= 100) insert(&pair, txn, i, i);
        assert_code(session_commit(txn, NULL), 0);
    }
    struct cellar_txn *txn = sessions_begun(pair.one);
    assert_int_equal(scan(&pair, txn, 0, UINT64_MAX, 0, 0, keys, SCAN_MAX), 2000); /* keys alone */
    assert_int_equal(scan(&pair, txn, 0, UINT64_MAX, CELL_A, 0, keys, SCAN_MAX), CELLAR_TOO_LARGE);
    sessions_assert_line(CELLAR_TOO_LARGE, "more records", "2048");
    assert_int_equal(scan(&pair, txn, 0, 1000, CELL_A, 0, keys, SCAN_MAX), 1000);
    assert_code(session_commit(txn, NULL), 0);
    pair_close(&pair);
}

#ifdef CELLAR_PLANTS
static void its_plant_is_met(void **state)
{
    static struct pair pair;
    if (!pair_open(&pair, *state)) skip();
    assert_true(plant_choose("draft_gap_unnoted"));
    assert_false(phantom_is_met(&pair, PHANTOM_INSERT, true));
    assert_true(plant_choose(NULL));
    pair_close(&pair);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(a_scan_reads_what_it_names),
        API_TEST(a_scan_goes_on_behind_a_record),
        API_TEST(own_changes_are_seen),
        API_TEST(scans_agree_with_an_array),
        API_TEST(what_was_put_unseen_may_be_absent),
        API_TEST(what_was_inserted_unseen_goes_with_its_delete),
        API_TEST(no_record_comes_or_goes_in_between),
        API_TEST(a_second_scan_ends_what_another_has_changed),
        API_TEST(other_ranges_do_not_matter),
        API_TEST_SHM(clubs_are_never_overfull),
        API_TEST(bad_scans_are_refused),
        API_TEST(a_scan_has_the_transactions_limit),
#ifdef CELLAR_PLANTS
        API_TEST_SHM(its_plant_is_met),
#endif
    };
    return api_main("api_session_scan", tests, sizeof tests / sizeof *tests, argc, argv);
}
