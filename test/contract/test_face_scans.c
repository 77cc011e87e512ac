/*
 * test_face_scans.c - cursors over rows of typed columns, and reads by an index (docs/rows.md): orders, what is read,
 * what others bring into a range, and what a cursor shows of its own transaction.
 */
#include "cellar_proc.h"
#include "face_calls.h"
#include "plant.h"
#include "session.h"
#include "typed_people.h"

#include <math.h>
#include <stdio.h>

/* ---- orders ---- */

static void rows_come_in_order(void **state)
{
    struct place place;
    struct person found[32];
    (void)state;
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    for (uint32_t page = 1; page <= 21; page++) { /* of every size: each row once */
        assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people), page, found), 20);
        for (uint64_t i = 0; i < 20; i++) assert_int_equal(found[i].id, i + 1);
        assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_city), page, found),
                         20);
        for (int i = 1; i < 20; i++) {
            size_t a = found[i - 1].city.bytes, b = found[i].city.bytes;
            int order = memcmp(found[i - 1].city.data, found[i].city.data, a < b ? a : b);
            if (order == 0) order = (a > b) - (a < b);
            if (order == 0) order = (found[i - 1].age < found[i].age) - (found[i - 1].age > found[i].age);
            assert_true(order < 0 || (order == 0 && found[i - 1].id < found[i].id));
        }
        struct person backward[32];
        assert_int_equal(
            all_of(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_city, .flags = CELLAR_BACKWARD),
                   page, backward),
            20);
        for (int i = 0; i < 20; i++) assert_int_equal(backward[i].id, found[19 - i].id);
    }
    /* Resumed by a row, with a cursor of its own for each page, even when that row has gone. */
    struct person last = {0}, one[3];
    const struct person *after = NULL;
    int count = 3, all = 0;
    while (count == 3) {
        struct cellar_cursor *cursor;
        ok(cellar_cursor_open(txn,
                              CELLAR_SCAN(struct person, place.people, .index = place.by_city, .after = after,
                                          CELLAR_EQUAL(1, &(struct person){.city = CELLAR_TEXT("Bonn")})),
                              &cursor));
        ok(count = cellar_cursor_next(cursor, 3, one));
        for (int i = 0; i < count; i++) assert_true(text_is(one[i].city, "Bonn") && one[i].id != last.id);
        if (count) last = one[count - 1];
        after = &last;
        all += count;
        cellar_cursor_close(cursor);
        if (count) ok(cellar_delete(txn, place.people, &last));
    }
    assert_int_equal(all, 8);
    cellar_abort(txn);
    face_close(place.db);
}

static void prefixes_are_exact(void **state)
{
    static const struct cellar_bytes texts[] = {{"a", 1},      {"a\0", 2},        {"a\0b", 3}, {"ab", 2},
                                                {"ab\xff", 3}, {"ab\xff\xff", 4}, {"b", 1},    {"", 0}};
    struct place place;
    struct word found[16];
    (void)state;
    place_open(&place);
    struct cellar_txn *txn = face_begun(place.db);
    for (uint32_t i = 0; i < 8; i++) ok(cellar_insert(txn, place.words, &(struct word){"en", texts[i], i}));
    committed(txn);
    txn = face_begun(place.db);
    for (uint32_t down = 0; down < 2; down++)
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t expected = 0, above = 0, below = 0;
            for (uint32_t k = 0; k < 8; k++) {
                bool begins = texts[k].bytes >= texts[i].bytes && !memcmp(texts[k].data, texts[i].data, texts[i].bytes);
                size_t both = texts[k].bytes < texts[i].bytes ? texts[k].bytes : texts[i].bytes;
                int order = memcmp(texts[k].data, texts[i].data, both);
                if (order == 0) order = texts[k].bytes > texts[i].bytes ? 1 : -1;
                expected += begins;
                above += !begins && order > 0;
                below += !begins && order < 0;
            }
            const struct word end = {.language = "en", .text = texts[i]};
            const uint32_t flags = CELLAR_PREFIX | (down ? CELLAR_BACKWARD : 0);
            struct cellar_scan scan = *CELLAR_SCAN(struct word, place.words, .flags = flags, CELLAR_EQUAL(2, &end));
            assert_int_equal(all_of(txn, &scan, 3, found), expected);
            scan.to_columns = 0;
            assert_int_equal(all_of(txn, &scan, 3, found), expected + above);
            scan.flags |= CELLAR_FROM_EXCLUDED;
            assert_int_equal(all_of(txn, &scan, 3, found), above);
            scan.flags = flags;
            scan.from_columns = 1;
            scan.to_columns = 2;
            refused(cellar_cursor_open(txn, &scan, &(struct cellar_cursor *){NULL}), CELLAR_INVALID,
                    "column language: PREFIX is for BYTES");
            scan.from_columns = 0;
            assert_int_equal(all_of(txn, &scan, 3, found), expected + below);
            scan.flags |= CELLAR_TO_EXCLUDED;
            assert_int_equal(all_of(txn, &scan, 3, found), below);
        }
    cellar_abort(txn);
    face_close(place.db);
}

/* -0 and 0 are equal, in an order, and NaN is above all: yet rows have what was put. */
static void floats_are_ordered(void **state)
{
    static const double scores[] = {-INFINITY, -1.5, -0.0, 0.0, 1e-300, 2, INFINITY, NAN};
    struct place place;
    struct person found[8];
    (void)state;
    place_open(&place);
    struct cellar_txn *txn = face_begun(place.db);
    for (uint64_t i = 0; i < 8; i++)
        ok(cellar_insert(txn, place.people, &(struct person){.id = 10 + i, .score = scores[i]}));
    committed(txn);
    txn = face_begun(place.db);
    assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_score), 8, found), 8);
    for (uint64_t i = 0; i < 8; i++) assert_true(found[i].id == 10 + i && !memcmp(&found[i].score, &scores[i], 8));
    const struct person zero = {.score = 0};
    assert_int_equal(all_of(txn,
                            CELLAR_SCAN(struct person, place.people, .index = place.by_score, CELLAR_EQUAL(1, &zero)),
                            8, found),
                     2);
    assert_true(signbit(found[0].score) && !signbit(found[1].score));
    cellar_abort(txn);
    face_close(place.db);
}

/* ---- what is read ---- */

static uint32_t base_records(const struct cellar_txn *txn, const struct place *place)
{
    uint32_t count = 0;
    draft_each(&txn->txn.session->draft, record) count += record->table == place->people->table;
    return count;
}

static void covered_columns_need_no_rows(void **state)
{
    struct place place;
    struct person found[32];
    (void)state;
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    uint64_t city = CELLAR_COL(CITY) | CELLAR_COL(AGE);
    assert_int_equal(
        all_of(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_city, .columns = city), 32, found), 20);
    assert_int_equal(base_records(txn, &place), 0);
    assert_int_equal(txn->txn.session->draft.blocks, 1); /* one attempt, and as few round trips as the tree takes */
    assert_true(text_is(found[0].city, "") && found[0].age == 1 && found[0].id == 2);
    assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people, .columns = CELLAR_COL(ID)), 32, found), 20);
    assert_int_equal(base_records(txn, &place), 0);
    memset(found, 0x5a, sizeof found);
    const struct person untouched = found[0];
    assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people, .columns = CELLAR_COL(AGE)), 32, found), 20);
    assert_int_equal(base_records(txn, &place), 20);
    assert_true(found[3].age == 0 && found[3].id == 4);
    assert_memory_equal(&found[3].city, &untouched.city, sizeof untouched.city);
    assert_memory_equal(&found[3].score, &untouched.score, sizeof untouched.score);
    cellar_abort(txn);
    face_close(place.db);
}

static void rows_are_found_by_an_index(void **state)
{
    struct place place;
    struct person rome = {.city = CELLAR_TEXT("Rome"), .age = 1}, oslo = {.city = CELLAR_TEXT("Oslo"), .id = 7};
    struct person seven = {.id = 7};
    (void)state;
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    struct cellar_read reads[] = {CELLAR_READ(place.people, &rome, .index = place.by_city),
                                  CELLAR_READ(place.people, &seven),
                                  CELLAR_READ(place.people, &oslo, .index = place.by_city)};
    ok(cellar_get_many(txn, reads, 3));
    assert_true(reads[0].code == 0 && rome.id == 8 && rome.score == 0.5);
    assert_true(reads[1].code == 0 && text_is(seven.city, ""));
    assert_true(reads[2].code == CELLAR_NOT_FOUND && oslo.id == 7);
    ok(cellar_put(txn, place.people, CELLAR_COL(CITY), &(struct person){.id = 3, .city = CELLAR_TEXT("Oslo")}));
    oslo.age = -1;
    ok(cellar_get_many(txn, &reads[2], 1));
    assert_true(reads[2].code == 0 && oslo.id == 3);
    reads[0].table = place.words;
    reads[0].row = &(struct word){.seen = 1};
    reads[0].row_bytes = sizeof(struct word);
    refused(cellar_get_many(txn, reads, 1), CELLAR_INVALID, "index by_city is of table people");
    cellar_abort(txn);
    face_close(place.db);
}

/* ---- its own changes ---- */

/* A cursor by the age, whose rows get older as it goes: each once. False: one came twice, or more than there are. */
static bool each_gets_older_once(void)
{
    struct place place;
    struct person found[1];
    struct cellar_cursor *cursor;
    uint64_t seen = 0;
    int count;
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    bool once = true;
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_score), &cursor));
    while ((count = cellar_cursor_next(cursor, 1, found)) == 1) {
        once = found->id < 64 && !(seen >> found->id & 1);
        if (!once) break;
        seen |= 1ull << found->id;
        found->score += 10;
        ok(cellar_put(txn, place.people, CELLAR_COL(SCORE), found));
        ok(cellar_insert(txn, place.people, &(struct person){.id = 100 + found->id, .score = 50}));
    }
    if (once) assert_int_equal(count, 0);
    once = once && seen == 0x1ffffe;
    /* One that is opened now sees all of it. */
    struct person all[64];
    if (once) {
        assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_score), 64, all), 40);
        assert_true(all[0].score == 9.5 && all[39].score == 50 && all[19].score == 10.5);
    }
    cellar_abort(txn);
    face_close(place.db);
    return once;
}

static void rows_may_change_under_a_cursor(void **state)
{
    (void)state;
    assert_true(each_gets_older_once());
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("draft_mark_unasked"));
    assert_false(each_gets_older_once());
    assert_true(plant_choose(NULL));
#endif
}

/* What a cursor has marked goes with what is rolled back before it; and deleted rows are shown as they were. */
static void savepoints_and_cursors(void **state)
{
    struct place place;
    struct person found[32];
    struct cellar_cursor *cursor;
    (void)state;
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    ok(cellar_delete(txn, place.people, &(struct person){.id = 1}));
    assert_int_equal(cellar_savepoint(txn), 0);
    ok(cellar_delete(txn, place.people, &(struct person){.id = 2}));
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct person, place.people), &cursor));
    ok(cellar_delete(txn, place.people, &(struct person){.id = 3}));
    assert_int_equal(cellar_cursor_next(cursor, 1, found), 1);
    assert_int_equal(found[0].id, 3); /* as it was when the cursor was opened */
    assert_int_equal(cellar_get(txn, place.people, 0, 0, &(struct person){.id = 3}), CELLAR_NOT_FOUND);
    ok(cellar_rollback_to(txn, 0));
    ok(cellar_delete(txn, place.people, &(struct person){.id = 4}));
    assert_int_equal(cellar_cursor_next(cursor, 32, found), 17);
    assert_int_equal(found[0].id, 4);
    committed(txn);
    txn = face_begun(place.db);
    assert_int_equal(all_of(txn, CELLAR_SCAN(struct person, place.people), 32, found), 18);
    assert_true(found[0].id == 2 && found[1].id == 3 && found[2].id == 5);
    cellar_abort(txn);
    face_close(place.db);
}

/* Rows of which a part is nothing but what the transaction has taken away: the next one begins right behind it. */
static void rows_are_deleted_under_a_page(void **state)
{
    struct place place;
    struct person found[32];
    (void)state;
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    for (uint64_t id = 3; id <= 5; id++) ok(cellar_delete(txn, place.people, &(struct person){.id = id}));
    for (uint32_t page = 1; page <= 5; page++)
        for (uint32_t backward = 0; backward < 2; backward++) {
            const struct cellar_scan scan =
                *CELLAR_SCAN(struct person, place.people, .flags = backward ? CELLAR_BACKWARD : 0);
            assert_int_equal(all_of(txn, &scan, page, found), 17);
            for (uint64_t i = 0; i < 17; i++) {
                uint64_t at = backward ? 16 - i : i;
                assert_int_equal(found[i].id, at < 2 ? at + 1 : at + 4);
            }
        }
    cellar_abort(txn);
    face_close(place.db);
}

struct going {
    const struct place *place;
    struct cellar_scan scan;
};

/* Inserted without a look, though it is there, and deleted: no scan shows what a get does not find. */
static int comes_and_goes(struct cellar_txn *txn, void *arg)
{
    const struct going *going = arg;
    const struct cellar_table *people = going->place->people;
    struct person found[32];
    struct cellar_cursor *cursor;
    int savepoint = cellar_savepoint(txn);
    ok(cellar_insert(txn, people, &(struct person){.id = 8, .city = CELLAR_TEXT("Oslo")}));
    ok(cellar_delete(txn, people, &(struct person){.id = 8}));
    assert_int_equal(cellar_get(txn, people, 0, 0, &(struct person){.id = 8}), CELLAR_NOT_FOUND);
    ok(cellar_cursor_open(txn, &going->scan, &cursor));
    int count = cellar_cursor_next(cursor, 32, found);
    if (count < 0) return count; /* a procedure's is tried again, perhaps */
    assert_int_equal(count, 19);
    for (int i = 0; i < count; i++) assert_int_not_equal(found[i].id, 8);
    ok(cellar_rollback_to(txn, savepoint));
    ok(cellar_cursor_open(txn, &going->scan, &cursor));
    count = cellar_cursor_next(cursor, 32, found);
    if (count < 0) return count;
    assert_int_equal(count, 20);
    return 0;
}

static void what_was_inserted_and_deleted_is_not_there(void **state)
{
    struct place place;
    struct person rome = {.city = CELLAR_TEXT("Rome"), .age = 1};
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {.name = "going", .fn = comes_and_goes, .records_max = 200, .writes_max = 8};
    (void)state;
    place_open(&place);
    people_insert(&place);
    ok(cellar_proc_register(place.db, &def, &proc));
    for (uint32_t way = 0; way < 4; way++) {
        struct going going = {.place = &place};
        going.scan = *CELLAR_SCAN(struct person, place.people, .columns = way & 1 ? CELLAR_COL(ID) : CELLAR_ALL,
                                  .index = way & 2 ? place.by_city : NULL);
        ok(cellar_run(place.db, comes_and_goes, &going, NULL, NULL));
        ok(cellar_proc_run(place.db, proc, &going, NULL, NULL));
    }
    struct cellar_txn *txn = face_begun(place.db);
    struct cellar_read read = CELLAR_READ(place.people, &rome, .index = place.by_city);
    ok(cellar_insert(txn, place.people, &(struct person){.id = 8}));
    ok(cellar_delete(txn, place.people, &(struct person){.id = 8}));
    ok(cellar_get_many(txn, &read, 1));
    assert_int_equal(read.code, CELLAR_NOT_FOUND);
    refused(cellar_commit(txn, NULL), CELLAR_EXISTS, "id 8");
    face_close(place.db);
}

/* More rows than an attempt reads, and more own changes than a scan used to see. */
static void scans_may_be_long(void **state)
{
    enum { ROWS = 3000 };
    static struct person found[2 * ROWS];
    struct place place;
    (void)state;
    place_open(&place);
    for (uint64_t id = 0; id < ROWS; id += 500) {
        struct cellar_txn *txn = face_begun(place.db);
        for (uint64_t i = id; i < id + 500; i++)
            ok(cellar_insert(txn, place.people, &(struct person){.id = 2 * i, .city = CELLAR_TEXT("Rome")}));
        committed(txn);
    }
    struct cellar_txn *txn = face_begun(place.db);
    for (uint64_t i = 0; i < ROWS; i++)
        ok(cellar_insert(txn, place.people, &(struct person){.id = 2 * (ROWS - i) - 1, .city = CELLAR_TEXT("Rome")}));
    for (uint32_t way = 0; way < 4; way++) {
        const struct cellar_scan scan =
            *CELLAR_SCAN(struct person, place.people, .flags = way & 1 ? CELLAR_BACKWARD : 0,
                         .index = way & 2 ? place.by_city : NULL);
        assert_int_equal(all_of(txn, &scan, 2 * ROWS, found), 2 * ROWS);
        for (uint64_t i = 0; i < 2 * ROWS; i++) assert_int_equal(found[i].id, way & 1 ? 2 * ROWS - 1 - i : i);
    }
    cellar_abort(txn);
    face_close(place.db);
}

/* Alone, a transaction whose commit splits what it has scanned begins again, twice at most, and finds the room. */
static void what_was_scanned_grows(void **state)
{
    static struct person found[4096];
    struct place place;
    uint64_t id = 1000;
    (void)state;
    place_open(&place);
    people_insert(&place);
    for (uint64_t count = 1; count <= 128; count += count < 32 ? 1 : 16)
        for (int behind = 0; behind < 2; behind++) {
            int code = CELLAR_RETRY;
            for (int tries = 0; code == CELLAR_RETRY; tries++) {
                struct cellar_txn *txn = face_begun(place.db);
                if (tries == 3) fail_msg("%d rows: %s", (int)count, cellar_last_error()->text);
                ok(all_of(txn, CELLAR_SCAN(struct person, place.people, .index = place.by_city), 32, found));
                for (uint64_t i = 0; i < count; i++) {
                    char city[16];
                    snprintf(city, sizeof city, "%c%06d", behind ? 'z' : 'A' + (int)(i * 7 % 26), (int)(id + i));
                    ok(cellar_insert(txn, place.people, &(struct person){.id = id + i, .city = CELLAR_TEXT(city)}));
                }
                code = cellar_commit(txn, NULL);
            }
            ok(code);
            id += count;
        }
    face_close(place.db);
}

/* ---- others ---- */

static void others_meet_the_range(void **state)
{
    static const struct {
        const char *city;
        int code;
    } cases[] = {{"Bonn", CELLAR_RETRY}, {"Bo", 0}, {"Bonna", 0}};
    struct place place;
    struct person found[32];
    (void)state;
    place_open(&place);
    people_insert(&place);
    for (uint32_t i = 0; i < 3; i++) {
        struct cellar_txn *txn = face_begun(place.db), *other = face_begun(place.db);
        const struct cellar_scan scan =
            *CELLAR_SCAN(struct person, place.people, .index = place.by_city, .columns = CELLAR_COL(CITY),
                         CELLAR_EQUAL(1, &(struct person){.city = CELLAR_TEXT("Bonn")}));
        int before = all_of(txn, &scan, 32, found);
        ok(cellar_insert(other, place.people, &(struct person){.id = 50 + i, .city = CELLAR_TEXT(cases[i].city)}));
        committed(other);
        ok(cellar_put(txn, place.people, CELLAR_COL(AGE), &(struct person){.id = 20, .age = before}));
        int rc = cellar_commit(txn, NULL); /* the last ones may share a data cell of the index with the range */
        assert_true(rc == cases[i].code || (i && rc == CELLAR_RETRY));
    }
    face_close(place.db);
}

struct locking {
    const struct place *place;
    bool held; /* by the run that has committed: a lock that was lost ends it with RETRY */
};

static int rows_lock(struct cellar_txn *txn, void *arg)
{
    struct locking *locking = arg;
    struct person found[4];
    struct cellar_cursor *cursor;
    const struct cellar_scan scan = *CELLAR_SCAN(struct person, locking->place->people, .lock = CELLAR_COL(AGE),
                                                 .to_columns = 1, .to = &(struct person){.id = 2});
    int rc = cellar_cursor_open(txn, &scan, &cursor);
    if (rc == 0) rc = cellar_cursor_next(cursor, 4, found);
    if (rc < 0) return rc;
    assert_int_equal(rc, 2);
    locking->held = atomic_load(&txn->txn.session->hold.state) == HOLD_ACTIVE;
    return 0;
}

static void a_scan_locks_its_rows(void **state)
{
    struct place place;
    struct locking locking = {.place = &place};
    (void)state;
    place_open(&place);
    people_insert(&place);
    ok(cellar_run(place.db, rows_lock, &locking, CELLAR_TXN(.lock_us = 1000000), NULL));
    assert_true(locking.held);
    int rc = cellar_run(place.db, rows_lock, &locking, CELLAR_TXN(.flags = CELLAR_READ_ONLY), NULL);
    refused(rc, CELLAR_INVALID, "read-only");
    face_close(place.db);
}

/* An end that leaves out what begins with the empty string leaves out all; one that has it leaves out nothing. */
static void the_empty_prefix_begins_all(void **state)
{
    struct place place;
    struct word found[20];
    const struct word end = {.text = CELLAR_TEXT("")};
    (void)state;
    place_open(&place);
    words_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    const struct cellar_scan all =
        *CELLAR_SCAN(struct word, place.words, .index = place.by_text, .flags = CELLAR_PREFIX, CELLAR_EQUAL(1, &end));
    struct cellar_scan scan = all;
    assert_int_equal(all_of(txn, &scan, 20, found), 15);
    scan.flags |= CELLAR_FROM_EXCLUDED;
    scan.to_columns = 0;
    assert_int_equal(all_of(txn, &scan, 20, found), 0);
    scan = all;
    scan.flags |= CELLAR_TO_EXCLUDED;
    scan.from_columns = 0;
    assert_int_equal(all_of(txn, &scan, 20, found), 0);
    cellar_abort(txn);
    face_close(place.db);
}

static void unique_indexes_refuse(void **state)
{
    struct place place;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &place.db));
    ok(cellar_table_open(place.db, words_def(3), 0, &place.words));
    place.one = cellar_index_find(place.words, "one");
    struct cellar_txn *txn = face_begun(place.db);
    ok(cellar_insert(txn, place.words, &(struct word){"en", CELLAR_TEXT("pear"), 3}));
    ok(cellar_insert(txn, place.words, &(struct word){"no", CELLAR_TEXT("pear"), 3}));
    committed(txn);
    txn = face_begun(place.db);
    ok(cellar_insert(txn, place.words, &(struct word){"en", CELLAR_TEXT("plum"), 3}));
    refused(cellar_commit(txn, NULL), CELLAR_EXISTS, "a unique index has another record");
    txn = face_begun(place.db);
    struct word found[4];
    assert_int_equal(all_of(txn, CELLAR_SCAN(struct word, place.words, .index = place.one), 1, found), 2);
    assert_true(text_is(found[0].text, "pear") && found[0].language[0] == 'e');
    struct cellar_cursor *cursor;
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct word, place.words, .index = place.one, .after = &found[0]), &cursor));
    assert_int_equal(cellar_cursor_next(cursor, 4, found), 1);
    assert_int_equal(found[0].language[0], 'n');
    cellar_abort(txn);
    face_close(place.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_order),
        cmocka_unit_test(prefixes_are_exact),
        cmocka_unit_test(floats_are_ordered),
        cmocka_unit_test(covered_columns_need_no_rows),
        cmocka_unit_test(rows_are_found_by_an_index),
        cmocka_unit_test(rows_may_change_under_a_cursor),
        cmocka_unit_test(savepoints_and_cursors),
        cmocka_unit_test(scans_may_be_long),
        cmocka_unit_test(what_was_scanned_grows),
        cmocka_unit_test(others_meet_the_range),
        cmocka_unit_test(a_scan_locks_its_rows),
        cmocka_unit_test(the_empty_prefix_begins_all),
        cmocka_unit_test(unique_indexes_refuse),
        cmocka_unit_test(rows_are_deleted_under_a_page),
        cmocka_unit_test(what_was_inserted_and_deleted_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
