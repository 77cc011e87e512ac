/* test_face_scans_misuse.c - what cursors over rows of typed columns are refused for, and when they end. */
#include "cellar_proc.h"
#include "numbered.h"
#include "face_calls.h"
#include "plant.h"
#include "session.h"
#include "typed_people.h"

/* The handle of a transaction that ended long ago is another one's by now: its cursor is closed all the same. */
static void a_cursor_ends_with_its_transaction(void **state)
{
    struct place place;
    struct person found[2];
    struct cellar_cursor *cursor;
    (void)state;
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *first = face_begun(place.db), *txn = NULL;
    ok(cellar_cursor_open(first, CELLAR_SCAN(struct person, place.people), &cursor));
    assert_int_equal(cellar_cursor_next(cursor, 2, found), 2);
    cellar_abort(first);
    for (int i = 0; i < SESSION_HANDLES && txn != first; i++) {
        if (txn) cellar_abort(txn);
        txn = face_begun(place.db);
    }
    assert_ptr_equal(txn, first);
    ok(cellar_put(txn, place.people, CELLAR_COL(AGE), &(struct person){.id = 1, .age = 3}));
    refused(cellar_cursor_next(cursor, 2, found), CELLAR_INVALID, "the cursor is closed");
    committed(txn);
    face_close(place.db);
}

struct id {
    uint64_t id;
};
static const struct cellar_column id_columns[] = {{CELLAR_FIELD(struct id, id), .flags = CELLAR_KEY}};

static void cursors_are_refused(void **state)
{
    struct place place;
    struct person found[4], row = person_of(3, "Rome", 0), low = person_of(1, "A", 0), high = person_of(1, "B", 0);
    struct cellar_cursor *cursor, *more[CELLAR_CURSORS_MAX];
    const struct cellar_table *ids;
    uint64_t keys[2];
    (void)state;
    place_open(&place);
    people_insert(&place);
    ok(cellar_table_open(place.db, CELLAR_TABLE(struct id, id_columns, .name = "people"), 0, &ids));
    struct cellar_txn *txn = face_begun(place.db);
    const struct cellar_scan good = *CELLAR_SCAN(struct person, place.people, .index = place.by_city);
    struct cellar_scan scan = good;
#define REFUSES(says) refused(cellar_cursor_open(txn, &scan, &cursor), CELLAR_INVALID, says), scan = good
    scan.size = 0;
    REFUSES("cellar_scan.size is 0");
    scan.flags = CELLAR_READ_ONLY;
    REFUSES("unknown flags");
    scan.reserved = 1;
    REFUSES("unknown flags");
    scan.table = NULL;
    REFUSES("the table is NULL");
    scan.row_bytes = 8;
    REFUSES("table people: rows of 56 bytes, this one has 8");
    scan.index = place.by_seen;
    REFUSES("table people: index by_seen is of table words");
    scan.columns = CELLAR_COL(5);
    REFUSES("does not have");
    scan.lock = CELLAR_COL(5);
    REFUSES("does not have");
    scan.from_columns = 1;
    REFUSES("is to be read from, or written to, is NULL");
    scan.to = &row;
    scan.to_columns = 3;
    REFUSES("table people: 3 columns of an order that has 2");
    scan.from = &high;
    scan.to = &low;
    scan.from_columns = scan.to_columns = 1;
    REFUSES("the ends of the range are reversed");
    scan.table = ids;
    scan.row_bytes = sizeof(struct id);
    scan.from = &(struct id){1};
    scan.from_columns = 1;
    REFUSES("column city is of the order, and not of this struct");
    scan.from = &(struct person){.city = {"a", 13}};
    scan.from_columns = 1;
    refused(cellar_cursor_open(txn, &scan, &cursor), CELLAR_TOO_LARGE, "column city: 13 bytes; it has room for 12");
    scan.from = &(struct person){.city = {NULL, 3}};
    REFUSES("column city: its data is NULL");
    assert_null(cursor);
    refused(cellar_cursor_open(txn, NULL, &cursor), CELLAR_INVALID, "NULL");
    refused(cellar_cursor_open(txn, &good, NULL), CELLAR_INVALID, "NULL");
    refused(cellar_cursor_open(NULL, &good, &cursor), CELLAR_INVALID, "");
    refused(cellar_cursor_next(NULL, 4, found), CELLAR_INVALID, "the cursor is NULL");
    refused(cellar_txn_scan(txn, place.by_city, &(struct cellar_range){.high_key = 9}, 0, 0, keys, 2), CELLAR_INVALID,
            "typed columns");

    for (int i = 0; i < CELLAR_CURSORS_MAX; i++) ok(cellar_cursor_open(txn, &good, &more[i]));
    refused(cellar_cursor_open(txn, &good, &cursor), CELLAR_TOO_LARGE, "more cursors than may be open at once");
    refused((cellar_cursor_next)(more[3], 4, NULL, sizeof *found), CELLAR_INVALID, "NULL");
    refused((cellar_cursor_next)(more[3], 4, found, 8), CELLAR_INVALID, "rows of 56 bytes, this one has 8");
    assert_int_equal(cellar_cursor_next(more[3], 0, found), 0);
    assert_int_equal(cellar_cursor_next(more[3], 4, found), 4);
    cellar_cursor_close(more[3]);
    cellar_cursor_close(more[3]);
    cellar_cursor_close(NULL);
    refused(cellar_cursor_next(more[3], 4, found), CELLAR_INVALID, "the cursor is closed");
    ok(cellar_cursor_open(txn, &good, &cursor));
    refused(cellar_cursor_next(more[3], 4, found), CELLAR_INVALID, "the cursor is closed");
    cellar_abort(txn);
    refused(cellar_cursor_next(cursor, 4, found), CELLAR_INVALID, "the transaction has ended");
    refused(cellar_cursor_next(NULL, 4, found), CELLAR_INVALID, "the cursor is NULL");
    cellar_cursor_close(cursor); /* says nothing */
    assert_non_null(strstr(cellar_last_error()->text, "the cursor is NULL"));
    txn = face_begun(place.db);
    refused(cellar_cursor_next(cursor, 4, found), CELLAR_INVALID, "the cursor is closed");
    cellar_abort(txn);
    ok(cellar_close(place.db));
    refused(cellar_cursor_next(cursor, 4, found), CELLAR_CLOSED, "");
}

/* A cursor is another one's neither with its own transaction's next one, nor with the next transaction's. */
static bool is_its_own(void)
{
    struct place place;
    struct person found[2];
    struct cellar_cursor *old, *now[CELLAR_CURSORS_MAX];
    bool own = true;
    place_open(&place);
    people_insert(&place);
    const struct cellar_scan *all = CELLAR_SCAN(struct person, place.people, .columns = CELLAR_ALL);
    struct cellar_txn *txn = face_begun(place.db);
    ok(cellar_cursor_open(txn, all, &old));
    for (int round = 0; round < 2 && own; round++) {
        if (round == 0) cellar_cursor_close(old);
        if (round == 1) cellar_abort(txn);
        if (round == 1) txn = face_begun(place.db);
        for (int i = 0; i < CELLAR_CURSORS_MAX - 1; i++) ok(cellar_cursor_open(txn, all, &now[i]));
        own = cellar_cursor_next(old, 1, found) == CELLAR_INVALID;
        cellar_cursor_close(old);
        for (int i = 0; i < CELLAR_CURSORS_MAX - 1 && own; i++) own = cellar_cursor_next(now[i], 1, found) == 1;
        old = now[0];
    }
    cellar_abort(txn);
    face_close(place.db);
    return own;
}

static void handles_are_used_in_turn(void **state)
{
    struct place place;
    struct person found[2];
    struct cellar_cursor *kept, *cursor;
    (void)state;
    assert_true(is_its_own());
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("cursor_handle_reused"));
    assert_false(is_its_own());
    assert_true(plant_choose(NULL));
#endif
    /* One that stays open keeps its place, whatever comes and goes beside it. */
    place_open(&place);
    people_insert(&place);
    struct cellar_txn *txn = face_begun(place.db);
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct person, place.people, .columns = CELLAR_ALL), &kept));
    for (int i = 0; i < 3 * SESSION_CURSORS; i++) {
        ok(cellar_cursor_open(txn, CELLAR_SCAN(struct person, place.people, .columns = CELLAR_ALL), &cursor));
        assert_ptr_not_equal(cursor, kept);
        cellar_cursor_close(cursor);
    }
    assert_int_equal(cellar_cursor_next(kept, 2, found), 2);
    assert_int_equal(found[0].id, 1);
    cellar_abort(txn);
    face_close(place.db);
}

/* Procedures do not know rows of typed columns yet, nor ranges of them. */
static int range_open(struct cellar_txn *txn, void *arg)
{
    const struct place *place = arg;
    const struct cellar_range all = {.high_key = UINT64_MAX};
    int rc = cellar_proc_cursor_open(txn, place->by_city, &all, 0, 0, 0, 1);
    return rc < 0 ? rc : 0;
}

static int row_look_up(struct cellar_txn *txn, void *arg)
{
    const struct place *place = arg;
    uint64_t key;
    int rc = cellar_proc_lookup(txn, place->by_city, &(struct person){.id = 1}, &key);
    return rc < 0 ? rc : 0;
}

static void procedures_are_refused(void **state)
{
    const struct cellar_proc_def defs[] = {{.name = "open", .fn = range_open, .records_max = 10, .writes_max = 1},
                                           {.name = "look up", .fn = row_look_up, .records_max = 10, .writes_max = 1}};
    struct place place;
    const struct cellar_proc *proc;
    struct cellar_result result;
    (void)state;
    place_open(&place);
    for (int i = 0; i < 2; i++) {
        ok(cellar_proc_register(place.db, &defs[i], &proc));
        assert_int_equal(cellar_proc_run(place.db, proc, &place, NULL, &result), CELLAR_INVALID);
        assert_int_equal(result.detail.why, WHY_TYPED);
    }
    face_close(place.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursors_are_refused),
        cmocka_unit_test(procedures_are_refused),
        cmocka_unit_test(a_cursor_ends_with_its_transaction),
        cmocka_unit_test(handles_are_used_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
