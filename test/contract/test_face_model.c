/*
 * test_face_model.c - random transactions on a table of typed columns, by two structs, against an array: what each call
 * returns and fills, savepoints, and what is there after each commit and abort; in all modes, with keys that are
 * numbers and wide ones, in builds with planted bugs also by hashes of four bits, so that nearly all are twins; with
 * strings in rows and beside them; ranges by the key and by two indexes. And by threads that meet.
 */
#include "cellar_lab.h"
#include "face_calls.h"
#include "face_model.h"
#include "face_model_scan.h"
#include "hash_bits.h"
#include "rivals.h"
#include "share.h"

#include <pthread.h>
#include <stdio.h>

#define BYTES (16u << 20)
#define TXNS 20000
#define LOG_BYTES (512 << 10) /* some modes have all of an entry there: long values, and nodes of indexes */
#define CALLS_MAX 12
#define WRITES_MAX 90 /* of procedures */
#define GIVEN_UP 77

/* ---- calls ---- */

static int get(struct play *play, bool some, uint64_t own, struct all *row)
{
    struct some shown;
    to_some(row, &shown);
    bool many = drawn(play, 2);
    uint64_t lock = play->runs && !play->locks && drawn(play, 2) ? drawn(play, 2) ? CELLAR_ALL : own : 0;
    struct cellar_read reads[] = {some ? CELLAR_READ(play->some, &shown, .columns = own, .lock = lock)
                                       : CELLAR_READ(play->all, row, .columns = own, .lock = lock),
                                  CELLAR_READ(play->some, &shown, .columns = CELLAR_COL(S_LOW))};
    int rc = many   ? cellar_get_many(play->txn, reads, 1 + drawn(play, 2))
             : some ? cellar_get(play->txn, play->some, own, lock, &shown)
                    : cellar_get(play->txn, play->all, own, lock, row);
    if (some) of_some(&shown, row);
    if (many && rc == 0) rc = reads[0].code;
    return rc;
}

static void get_call(struct play *play, uint32_t key)
{
    bool some = drawn(play, 2);
    uint64_t own, columns = drawn_columns(play, some, &own);
    struct all row = drawn_row(play, key), expected = row;
    if (play->now.there[key]) columns_copy(&expected, &play->now.rows[key], columns & ~KEY_COLUMNS);
    int rc = get(play, some, own, &row);
    if (retried(play, rc)) return;
    assert_int_equal(rc, play->now.there[key] ? 0 : CELLAR_NOT_FOUND);
    columns_are_equal(&row, &expected);
    play->known[key] = true;
}

/* What a call that changes a row has come to, and should have; true: it has had its effect. */
static bool done(struct play *play, uint32_t key, int rc, int expected)
{
    if (retried(play, rc)) return false;
    if (expected == 0 || play->known[key])
        assert_int_equal(rc, expected);
    else
        assert_int_equal(rc, 0);
    if (rc == 0 && expected) owe(play, expected);
    return rc == 0 && expected == 0;
}

static void put_call(struct play *play, uint32_t key)
{
    bool some = drawn(play, 2);
    uint64_t own, columns = drawn_columns(play, some, &own), all = 0;
    for (uint32_t i = 0; i < play->shapes[some].count; i++) all |= CELLAR_COL(play->shapes[some].as_all[i]);
    struct all row = drawn_row(play, key), *model = &play->now.rows[key];
    struct some shown;
    to_some(&row, &shown);
    bool makes = columns == all;
    int rc = some ? cellar_put(play->txn, play->some, own, &shown) : cellar_put(play->txn, play->all, own, &row);
    if (!done(play, key, rc, makes || play->now.there[key] ? 0 : CELLAR_NOT_FOUND)) return;
    if (!play->now.there[key]) *model = (struct all){0};
    columns_copy(model, &row, columns | KEY_COLUMNS);
    play->now.there[key] = true;
    play->known[key] = true;
}

static void insert_call(struct play *play, uint32_t key)
{
    bool some = drawn(play, 2);
    struct all row = drawn_row(play, key);
    struct some shown;
    to_some(&row, &shown);
    int rc = some ? cellar_insert(play->txn, play->some, &shown) : cellar_insert(play->txn, play->all, &row);
    bool had = done(play, key, rc, play->now.there[key] ? CELLAR_EXISTS : 0), unseen = rc == 0 && !had;
    if (!had && !unseen) return;
    if (some) {
        row = (struct all){0};
        of_some(&shown, &row);
    }
    play->now.rows[key] = row;
    play->now.there[key] = play->known[key] = true;
}

static void delete_call(struct play *play, uint32_t key)
{
    struct all row = drawn_row(play, key);
    struct some shown;
    to_some(&row, &shown);
    if (!done(play, key,
              drawn(play, 2) ? cellar_delete(play->txn, play->some, &shown) : cellar_delete(play->txn, play->all, &row),
              0))
        return;
    play->now.there[key] = false;
    play->known[key] = true;
}

/* What was looked at stays known; what was changed since is known all the same: it was before, or the model is back. */
static void savepoint_call(struct play *play)
{
    if (play->savepoints < SAVEPOINTS && drawn(play, 2)) {
        assert_int_equal(cellar_savepoint(play->txn), play->savepoints);
        play->saved_owes[play->savepoints] = play->owes;
        play->saved[play->savepoints++] = play->now;
    } else if (play->savepoints) {
        int to = (int)drawn(play, (uint32_t)play->savepoints);
        ok(cellar_rollback_to(play->txn, to));
        play->now = play->saved[to];
        play->owes = play->owes_too = play->saved_owes[to];
        play->savepoints = to + 1;
        play->rolled_to = to;
        all_known(play); /* changes of keys that it had not looked at are gone, and with them what it knew */
    }
}

/* While a cursor is open. */
static void change_call(struct play *play)
{
    uint32_t key = drawn(play, KEYS), what = drawn(play, 8);
    if (!play->known[key] || what < 3)
        delete_call(play, key);
    else if (what < 5)
        put_call(play, key);
    else if (what < 7)
        insert_call(play, key);
    else
        savepoint_call(play);
}

/* What the commit is to refuse is there all the same until then, for the transaction itself. */
static bool goes_on(const struct play *play) { return !play->owes || play->owes == CELLAR_EXISTS; }

static void calls(struct play *play, struct cellar_txn *txn)
{
    play->txn = txn;
    play->now = play->committed;
    memset(play->known, play->wide || play->longs, sizeof play->known); /* each call looks then */
    play->savepoints = play->owes = play->owes_too = 0;
    play->cursors = 0;
    play->scanned = false;
    for (uint32_t calls = drawn(play, CALLS_MAX); calls > 0 && goes_on(play); calls--) {
        uint32_t key = drawn(play, KEYS), what = drawn(play, play->ordered ? 24 : 20);
        if (what < 6)
            get_call(play, key);
        else if (what < 11)
            put_call(play, key);
        else if (what < 14)
            insert_call(play, key);
        else if (what < 17)
            delete_call(play, key);
        else if (what < 20)
            savepoint_call(play);
        else if (what < 23)
            scan_call(play, change_call);
        else
            find_call(play);
    }
}

static void ended(struct play *play, int rc)
{
    if (rc != play->owes && (!rc || rc != play->owes_too))
        fail_msg("%d, not %d: %s", rc, play->owes, cellar_last_error()->text);
    if (!play->owes) play->committed = play->now;
}

static void interactive_transaction(struct play *play)
{
    struct cellar_txn *txn;
    ok(cellar_begin(play->db, NULL, &txn));
    calls(play, txn);
    if (!play->owes && drawn(play, 5) == 0) {
        cellar_abort(txn);
        return;
    }
    int rc = cellar_commit(txn, NULL);
    if (rc != CELLAR_RETRY || !may_retry(play)) ended(play, rc);
}

/* What a call owes is found when it has returned. */
static int procedure(struct cellar_txn *txn, void *arg)
{
    struct play *play = arg;
    play->runs = true;
    calls(play, txn);
    play->runs = false;
    if (play->owes == CELLAR_RETRY) return CELLAR_RETRY;
    return play->owes || drawn(play, 5) ? 0 : GIVEN_UP;
}

static void procedure_transaction(struct play *play)
{
    int rc = cellar_proc_run(play->db, play->procedure, play, NULL, NULL);
    if (rc != GIVEN_UP) ended(play, rc);
}

static void transaction(struct play *play)
{
    if (!play->locks && drawn(play, 2))
        interactive_transaction(play);
    else
        procedure_transaction(play);
}

/* ---- in all modes, on real threads and in virtual time ---- */

static const uint32_t modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST,
                                 CELLAR_LAB_CC_FORD,   CELLAR_LAB_CC_MOTOR,  CELLAR_LAB_CC_TWOPL};
#define MODES (sizeof modes / sizeof *modes)

/* False: this build does not have the mode. */
static bool database_open(struct cellar **db, uint32_t mode, uint32_t sim)
{
    const struct cellar_lab *lab =
        CELLAR_LAB(.cc = mode, .sim = sim, .mns = 2, .replicas = sim, .log_bytes = LOG_BYTES);
    int rc = cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES, .lab = lab), db);
    if (rc != CELLAR_UNSUPPORTED) ok(rc);
    return rc == 0;
}

static void shape_make(const struct play *play, bool some, struct shape *shape)
{
    for (uint32_t i = 0; i < (some ? (uint32_t)S_COLUMNS : (uint32_t)A_COLUMNS); i++) {
        uint32_t of_all = some ? as_all[i] : i;
        if ((of_all == A_WORD && !play->wide) || (of_all == A_BODY && !play->longs)) continue;
        shape->as_all[shape->count] = of_all;
        shape->columns[shape->count++] = some ? some_columns[i] : all_columns[i];
    }
}

/* Modes that keep old versions have no long values. */
static bool tables_open(struct play *play)
{
    struct cellar_table_def all = *CELLAR_TABLE(struct all, play->shapes[0].columns, .name = "rows", .rows = 1000);
    struct cellar_table_def some = *CELLAR_TABLE(struct some, play->shapes[1].columns, .name = "rows");
    shape_make(play, false, &play->shapes[0]);
    shape_make(play, true, &play->shapes[1]);
    all.column_count = play->shapes[0].count;
    some.column_count = play->shapes[1].count;
    all.indexes = model_indexes;
    all.index_count = MODEL_INDEXES;
    all.flags = CELLAR_ORDERED;
    int rc = cellar_table_open(play->db, &all, 0, &play->all);
    play->ordered = rc == 0;
    if (rc == CELLAR_UNSUPPORTED) { /* nor any order */
        if (play->longs) return false;
        all.indexes = NULL;
        all.index_count = all.flags = 0;
        rc = cellar_table_open(play->db, &all, 0, &play->all);
    }
    ok(rc);
    orders_make(play);
    ok(cellar_table_open(play->db, &some, 0, &play->some));
    return true;
}

static void rows_are_compared(bool wide, bool longs, uint32_t bits, uint32_t share)
{
    static struct play play; /* models of all savepoints */
    hash_bits(bits);
    for (uint32_t variant = 0; variant < 2 * MODES; variant++) {
        uint32_t txns = share_rounds(variant < 2 ? TXNS / share : TXNS / 10 / share);
        play = (struct play){.wide = wide, .longs = longs, .places_meet = longs && bits};
        play.locks = modes[variant / 2] == CELLAR_LAB_CC_TWOPL;
        prng_seed(&play.prng, 20 + variant);
        for (uint32_t i = 0; i < sizeof blob; i++) blob[i] = (uint8_t)prng_next(&play.prng);
        if (!database_open(&play.db, modes[variant / 2], variant % 2)) continue;
        bool opened = tables_open(&play);
        ok(cellar_proc_register(play.db,
                                &(struct cellar_proc_def){.name = "calls",
                                                          .fn = procedure,
                                                          .records_max = CELLAR_TXN_RECORDS_MAX,
                                                          .writes_max = WRITES_MAX,
                                                          .stack_bytes = 1 << 20},
                                &play.procedure));
        for (uint32_t i = 0; i < txns && opened; i++) transaction(&play);
        assert_true(play.retries <= play.scans / 4);
        face_close(play.db);
    }
    hash_bits(0);
}

static void rows_are_those_of_the_array(void **state)
{
    (void)state;
    rows_are_compared(false, false, 0, 1);
}

static void rows_of_wide_keys_are_too(void **state)
{
    (void)state;
    rows_are_compared(true, false, 0, 2);
    rows_are_compared(true, false, 4, 2);
    rows_are_compared(true, false, 1, 8);
}

static void rows_with_long_values_are_too(void **state)
{
    (void)state;
    rows_are_compared(false, true, 0, 4);
    rows_are_compared(true, true, 0, 8);
    rows_are_compared(true, true, 6, 8);
}

/* ---- by threads that meet: rows come and go, and what they count does not ---- */

#define THREADS 4
#define THREAD_TXNS 400
#define COUNTERS 3

struct counter {
    uint32_t id;
    int64_t n;
    int32_t thread; /* whose it is; -1: all threads' */
    char kind[3];
};
enum { C_ID, C_THREAD, C_N, C_KIND }; /* the last one is of wide keys only */
static const struct cellar_column counter_columns[] = {
    {CELLAR_FIELD(struct counter, id), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct counter, thread), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct counter, n)},
    {CELLAR_FIELD(struct counter, kind), .flags = CELLAR_KEY},
};

struct meeting {
    struct cellar *db;
    const struct cellar_table *counters;
    int32_t thread;
    uint64_t seed;
    uint32_t id;
    bool takes;
    int64_t blind;                          /* what this thread has put last, without a look */
    const struct cellar_proc *count, *find; /* NULL: by interactive transactions */
};

/* The same function, in either kind of transaction. */
static int run(const struct meeting *meeting, const struct cellar_proc *proc, cellar_txn_fn fn, void *arg)
{
    return proc ? cellar_proc_run(meeting->db, proc, arg, NULL, NULL) : cellar_run(meeting->db, fn, arg, NULL, NULL);
}

/* One more; or the row goes, and what it has counted is added to another one. */
static int count(struct cellar_txn *txn, void *arg)
{
    struct meeting *meeting = arg;
    struct counter counter = {.id = meeting->id, .thread = -1}, sum = {.id = COUNTERS, .thread = -1};
    struct counter own = {.id = meeting->id, .thread = meeting->thread, .n = meeting->blind + 1};
    int rc = cellar_get(txn, meeting->counters, CELLAR_COL(C_N), 0, &counter);
    if (rc && rc != CELLAR_NOT_FOUND) return rc;
    if (rc) counter.n = 0;
    if (!meeting->takes) {
        counter.n++;
        rc = cellar_put(txn, meeting->counters, CELLAR_ALL, &counter);
        return rc ? rc : cellar_put(txn, meeting->counters, CELLAR_ALL, &own);
    }
    rc = cellar_get(txn, meeting->counters, CELLAR_COL(C_N), 0, &sum);
    if (rc && rc != CELLAR_NOT_FOUND) return rc;
    sum.n = (rc ? 0 : sum.n) + counter.n;
    rc = cellar_put(txn, meeting->counters, CELLAR_ALL, &sum);
    if (rc == 0) rc = cellar_delete(txn, meeting->counters, &own);
    return rc ? rc : cellar_delete(txn, meeting->counters, &counter);
}

struct found {
    const struct cellar_table *counters;
    struct counter counter;
};

static int find(struct cellar_txn *txn, void *arg)
{
    struct found *found = arg;
    return cellar_get(txn, found->counters, CELLAR_ALL, 0, &found->counter);
}

static void *counts(void *arg)
{
    struct meeting *meeting = arg;
    struct prng prng;
    int64_t committed = 0, last[COUNTERS] = {0};
    prng_seed(&prng, meeting->seed);
    for (uint32_t i = 0; i < share_rounds(THREAD_TXNS); i++) {
        meeting->id = (uint32_t)prng_below(&prng, COUNTERS);
        meeting->takes = prng_below(&prng, 4) == 0;
        meeting->blind = last[meeting->id];
        if (run(meeting, meeting->count, count, meeting)) return meeting;
        committed += !meeting->takes;
        last[meeting->id] = meeting->takes ? 0 : meeting->blind + 1;
    }
    /* Other threads do not write its own rows: what it has put last is there, and nothing that it has deleted. */
    for (uint32_t id = 0; id < COUNTERS; id++) {
        struct found found = {meeting->counters, {.id = id, .thread = meeting->thread}};
        int rc = run(meeting, meeting->find, find, &found);
        if (rc != (last[id] ? 0 : CELLAR_NOT_FOUND) || (rc == 0 && found.counter.n != last[id])) return meeting;
    }
    meeting->blind = committed;
    return NULL;
}

static const struct cellar_proc *registered(struct cellar *db, cellar_txn_fn fn, uint32_t writes_max)
{
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {
        .name = writes_max ? "count" : "find", .fn = fn, .records_max = 64, .writes_max = writes_max};
    ok(cellar_proc_register(db, &def, &proc));
    return proc;
}

/* Half of the threads by procedures; where the mode locks what it reads, all. */
static void counted(bool wide, uint32_t bits)
{
    struct cellar_table_def def = *CELLAR_TABLE(struct counter, counter_columns, .name = "counters");
    def.column_count -= !wide;
    hash_bits(bits);
    for (uint32_t mode = 0; mode < MODES; mode++) {
        struct meeting meetings[THREADS] = {{0}};
        pthread_t threads[THREADS];
        int64_t committed = 0, there = 0;
        int wrong = 0;
        struct cellar *db;
        const struct cellar_table *counters;
        if (!database_open(&db, modes[mode], 0)) continue;
        ok(cellar_table_open(db, &def, 0, &counters));
        const struct cellar_proc *counting = registered(db, count, 64), *finding = registered(db, find, 0);
        bool locks = modes[mode] == CELLAR_LAB_CC_TWOPL;
        for (int32_t i = 0; i < THREADS; i++) {
            meetings[i] = (struct meeting){.db = db, .counters = counters, .thread = i, .seed = (uint64_t)i + mode};
            if (locks || i % 2) meetings[i].count = counting;
            if (locks || i % 2) meetings[i].find = finding;
            assert_int_equal(pthread_create(&threads[i], NULL, counts, &meetings[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            wrong += failed != NULL;
            committed += meetings[i].blind;
        }
        assert_int_equal(wrong, 0);
        for (uint32_t id = 0; id <= COUNTERS; id++) {
            struct found found = {counters, {.id = id, .thread = -1}};
            int rc = cellar_proc_run(db, finding, &found, NULL, NULL);
            if (rc != CELLAR_NOT_FOUND) ok(rc);
            if (rc == 0) there += found.counter.n;
        }
        assert_int_equal(there, committed);
        face_close(db);
    }
    hash_bits(0);
}

static void what_rows_count_is_not_lost(void **state)
{
    (void)state;
    counted(false, 0);
    counted(true, 0);
    counted(true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_array), cmocka_unit_test(rows_of_wide_keys_are_too),
        cmocka_unit_test(rows_with_long_values_are_too), cmocka_unit_test(what_rows_count_is_not_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
