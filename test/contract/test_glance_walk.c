/*
 * test_glance_walk.c - ranges that are read without an attempt (engine/txn/glance.h, engine/tree/tree_cursor.c): the
 * index's nodes, then rows, then all headers; and what another transaction does between any two of these READs.
 */
#include "hoard.h"

enum { NEW = POTS + 1, PAGE = POTS / 2, ROOM = POTS + 4 };

/* ---- what is read: all coins there are ---- */

static int all_got_by(struct cellar_txn *txn, struct hoard *hoard, uint32_t flags)
{
    struct pot pots[ROOM];
    struct cellar_cursor *cursor;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct pot, hoard->pots, .flags = flags), &cursor);
    if (rc) return rc;
    rc = cellar_cursor_next(cursor, ROOM, pots);
    hoard->left = 0;
    for (int i = 0; i < rc; i++) hoard->left += pots[i].coins;
    cellar_cursor_close(cursor);
    return rc < 0 ? rc : 0;
}

static int all_got(struct cellar_txn *txn, struct hoard *hoard) { return all_got_by(txn, hoard, 0); }
static int all_got_backward(struct cellar_txn *txn, struct hoard *hoard)
{
    return all_got_by(txn, hoard, CELLAR_BACKWARD);
}

/* ---- changes that keep the sum ---- */

static int given(struct cellar_txn *txn, const struct hoard *hoard, uint64_t id, int64_t coins)
{
    struct pot pot = {.id = id};
    int rc = cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &pot);
    pot.coins += coins;
    return rc ? rc : cellar_put(txn, hoard->pots, CELLAR_COL(COINS), &pot);
}

/* From the first one to the last one. */
static int moved_far(struct cellar_txn *txn, void *hoard)
{
    int rc = given(txn, hoard, LEFT, -1);
    return rc ? rc : given(txn, hoard, POTS, 1);
}

static int moved_to_new(struct cellar_txn *txn, void *arg)
{
    const struct hoard *hoard = arg;
    int rc = given(txn, hoard, LEFT, -1);
    return rc ? rc : cellar_insert(txn, hoard->pots, &(struct pot){NEW, 1, 0});
}

static int moved_back(struct cellar_txn *txn, void *arg)
{
    const struct hoard *hoard = arg;
    int rc = given(txn, hoard, LEFT, 1);
    return rc ? rc : cellar_delete(txn, hoard->pots, &(struct pot){.id = NEW});
}

/* Pots of a table that is ordered by their numbers. */
static bool open_ordered(struct hoard *hoard, uint32_t mode, uint32_t mns)
{
    if (!hoard_open(hoard, mode, mns)) return false;
    ok(cellar_table_open(hoard->db, CELLAR_TABLE(struct pot, columns, .name = "shelf", .flags = CELLAR_ORDERED), 0,
                         &hoard->pots));
    ok(cellar_run(hoard->db, filled, hoard, NULL, NULL));
    hoard->got = all_got;
    hoard->changed = moved_far;
    hoard->sum = POTS * COINS_EACH;
    return true;
}

/* ---- what it takes ---- */

/* One round trip for the nodes, and one for the rows and all headers; no attempt, once the worker lends its helm. */
static void a_range_takes_no_attempt(struct hoard *hoard)
{
    uint32_t calls = 1;
    for (uint32_t tries = TRIES; calls && tries; tries--) {
        know(hoard);
        struct cellar_txn *txn = face_begun(hoard->db);
        uint64_t batches = session_of(txn)->worker->ep->counters.batches;
        calls = calls_of(txn);
        ok(hoard->got(txn, hoard));
        calls = calls_of(txn) - calls;
        if (!calls) assert_int_equal(session_of(txn)->worker->ep->counters.batches, batches + 2);
        assert_true(is_whole(hoard));
        ok(cellar_commit(txn, NULL));
        if (calls) usleep(100);
    }
    assert_int_equal(calls, 0);
}

static int page_got(struct cellar_cursor *cursor, struct hoard *hoard)
{
    struct pot pots[ROOM];
    int rc = cellar_cursor_next(cursor, PAGE, pots);
    for (int i = 0; i < rc; i++) hoard->left += pots[i].coins;
    return rc;
}

/* A transaction that has shown the first page. */
static struct cellar_txn *page_shown(struct hoard *hoard, struct cellar_cursor **cursor)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct pot, hoard->pots), cursor));
    hoard->left = 0;
    assert_int_equal(page_got(*cursor, hoard), PAGE);
    return txn;
}

/* Two pages, the second of which begins in a node that is noted. The calls that the coordinator has run for it. */
static uint32_t calls_of_second_page(struct hoard *hoard)
{
    struct cellar_cursor *cursor;
    struct cellar_txn *txn = page_shown(hoard, &cursor);
    uint32_t calls = calls_of(txn);
    assert_int_equal(page_got(cursor, hoard), PAGE);
    assert_int_equal(page_got(cursor, hoard), 0);
    calls = calls_of(txn) - calls;
    assert_true(is_whole(hoard));
    ok(cellar_commit(txn, NULL));
    return calls;
}

static void a_second_page_takes_none(struct hoard *hoard)
{
    uint32_t tries = TRIES;
    while (calls_of_second_page(hoard) && --tries) usleep(100);
    assert_true(tries);
}

/* ---- between any two READs ---- */

/* *cut_there: there are so many READs. */
static bool changed_behind(struct hoard *hoard, uint32_t reads, bool *cut_there)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, change, hoard);
    cut.behind = reads;
    int rc = hoard->got(txn, hoard);
    *cut_there = cut_end();
    if (rc == 0)
        rc = cellar_commit(txn, NULL);
    else
        cellar_abort(txn);
    if (*cut_there) undo(hoard);
    if (rc == CELLAR_RETRY) return true;
    ok(rc);
    return is_whole(hoard);
}

static bool changed_anywhere_is_seen(struct hoard *hoard)
{
    bool holds = true, there = true;
    uint32_t reads = 0;
    while (there) holds = changed_behind(hoard, ++reads, &there) && holds;
    assert_true(reads > PAGE);
    return holds;
}

/* The same test, of a change that inserts. */
static bool with_an_insert(struct hoard *hoard, bool (*test)(struct hoard *hoard))
{
    const struct hoard usual = *hoard;
    hoard->changed = moved_to_new;
    hoard->undone = moved_back;
    bool holds = test(hoard);
    *hoard = usual;
    return holds;
}

static bool inserted_anywhere_is_seen(struct hoard *hoard) { return with_an_insert(hoard, changed_anywhere_is_seen); }
static bool half_inserted_is_not_read(struct hoard *hoard) { return with_an_insert(hoard, half_applied_is_not_read); }

/* ---- a row whose lines are of two moments ---- */

enum { TEXT = 150 };
struct sheet {
    uint64_t id;
    struct cellar_bytes text; /* all letters are the same */
};
static const struct cellar_column sheet_columns[] = {{CELLAR_FIELD(struct sheet, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct sheet, text), .bytes_max = TEXT}};
static const struct cellar_table *sheets;
static char letter = 'a'; /* of the next text */
static bool is_torn;      /* the one that was read last */

static int sheet_written(struct cellar_txn *txn, void *arg)
{
    char letters[TEXT];
    (void)arg;
    memset(letters, letter, TEXT);
    return cellar_put(txn, sheets, CELLAR_ALL, &(struct sheet){1, {letters, TEXT}});
}

static int sheet_read(struct cellar_txn *txn, struct hoard *hoard)
{
    struct sheet sheet;
    struct cellar_cursor *cursor;
    int rc = cellar_cursor_open(txn, CELLAR_SCAN(struct sheet, sheets), &cursor);
    if (rc == 0) rc = cellar_cursor_next(cursor, 1, &sheet);
    if (rc != 1) return rc;
    const char *letters = sheet.text.data;
    assert_int_equal(sheet.text.bytes, TEXT);
    (void)hoard;
    is_torn = memcmp(letters, letters + 1, TEXT - 1) != 0;
    return 0;
}

/* Of the READ that comes after so many others of rows and nodes, so many lines are read behind the change. */
static uint32_t reads_before, lines_later;

static void post_torn(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    pthread_t thread;
    uint32_t at = 0;
    for (; at < count; at++)
        if (ops[at].kind == FABRIC_READ && ops[at].phase == CELLAR_PHASE_EXECUTE && reads_before-- == 0) break;
    if (at == count || ops[at].size_bytes <= lines_later * LAYOUT_LINE) {
        cut.real->post(ep, ops, count, wait);
        return;
    }
    struct fabric_op again = ops[at];
    again.size_bytes = lines_later * LAYOUT_LINE;
    cut.real->post(ep, ops, at + 1, wait);
    assert_int_equal(pthread_create(&thread, NULL, cut.between, cut.hoard), 0);
    pthread_join(thread, NULL);
    cut.between = NULL;
    cut.real->post(ep, &again, 1, wait);
    if (at + 1 < count) cut.real->post(ep, ops + at + 1, count - at - 1, wait);
}

static bool torn_at(struct hoard *hoard, uint32_t reads, uint32_t lines, bool *cut_there)
{
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    letter = letter == 'a' ? 'b' : 'a';
    reads_before = reads;
    lines_later = lines;
    cut_begin(txn, FABRIC_READ, CELLAR_PHASE_EXECUTE, change, hoard);
    cut.ops.post = post_torn;
    ok(sheet_read(txn, hoard));
    *cut_there = cut_end();
    ok(cellar_commit(txn, NULL));
    return !is_torn;
}

static bool torn_anywhere_is_not_read(struct hoard *hoard)
{
    const struct hoard usual = *hoard;
    bool holds = true;
    uint32_t cuts = 0;
    ok(cellar_table_open(
        hoard->db, CELLAR_TABLE(struct sheet, sheet_columns, .name = "sheets", .flags = CELLAR_ORDERED), 0, &sheets));
    hoard->got = sheet_read;
    hoard->changed = sheet_written;
    hoard->undone = NULL;
    (void)change(hoard);
    for (uint32_t reads = 0; reads < 3; reads++) {
        bool there = true;
        for (uint32_t lines = 1; there; lines++, cuts++) holds = torn_at(hoard, reads, lines, &there) && holds;
    }
    assert_true(cuts > TEXT / LAYOUT_LINE);
    *hoard = usual;
    return holds;
}

/* Pages are of one moment, or the transaction begins again: at the second page, or at its end. */
static bool pages_are_of_one_moment(struct hoard *hoard)
{
    struct cellar_cursor *cursor;
    struct cellar_txn *txn = page_shown(hoard, &cursor);
    ok(cellar_run(hoard->db, moved_to_new, hoard, NULL, NULL));
    int rc = 1;
    while (rc > 0) rc = page_got(cursor, hoard);
    if (rc == 0)
        rc = cellar_commit(txn, NULL);
    else
        cellar_abort(txn);
    ok(cellar_run(hoard->db, moved_back, hoard, NULL, NULL));
    if (rc == CELLAR_RETRY) return true;
    ok(rc);
    return is_whole(hoard);
}

/* ---- what is noted before ---- */

/* Of the node where the first page has ended, and the second one begins. */
static void a_change_between_pages_is_told_at_once(struct hoard *hoard)
{
    struct cellar_cursor *cursor;
    struct pot last = {.id = PAGE};
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db), *writer = face_begun(hoard->db);
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct pot, hoard->pots), &cursor));
    assert_int_equal(page_got(cursor, hoard), PAGE);
    ok(cellar_get(writer, hoard->pots, CELLAR_ALL, 0, &last));
    ok(cellar_delete(writer, hoard->pots, &last));
    ok(cellar_commit(writer, NULL));
    assert_int_equal(page_got(cursor, hoard), CELLAR_RETRY);
    cellar_abort(txn);
    writer = face_begun(hoard->db);
    ok(cellar_insert(writer, hoard->pots, &last));
    ok(cellar_commit(writer, NULL));
}

/* As after a failover. */
static void notes_of_before_are_left_to_an_attempt(struct hoard *hoard)
{
    struct cellar_cursor *cursor;
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct pot, hoard->pots), &cursor));
    assert_int_equal(page_got(cursor, hoard), PAGE);
    session_of(txn)->draft.configuration += 2;
    uint32_t calls = calls_of(txn);
    assert_int_equal(page_got(cursor, hoard), PAGE);
    assert_int_equal(calls_of(txn), calls + 1);
    ok(cellar_commit(txn, NULL));
}

/* A cell of a row is noted, and changes; the range wants all of it. */
static void a_noted_cell_stands(struct hoard *hoard)
{
    struct pot left = {.id = LEFT};
    know(hoard);
    struct cellar_txn *txn = face_begun(hoard->db);
    ok(cellar_get(txn, hoard->pots, CELLAR_COL(COINS), 0, &left));
    change(hoard);
    assert_int_equal(hoard->got(txn, hoard), CELLAR_RETRY);
    cellar_abort(txn);
}

/* A key was noted absent, and the range has it. */
static void what_was_absent_is_told(struct hoard *hoard)
{
    struct pot pot = {.id = NEW};
    ok(cellar_run(hoard->db, moved_to_new, hoard, NULL, NULL));
    know(hoard); /* where it will be, perhaps */
    ok(cellar_run(hoard->db, moved_back, hoard, NULL, NULL));
    struct cellar_txn *txn = face_begun(hoard->db);
    assert_int_equal(cellar_get(txn, hoard->pots, CELLAR_ALL, 0, &pot), CELLAR_NOT_FOUND);
    ok(cellar_run(hoard->db, moved_to_new, hoard, NULL, NULL));
    assert_int_equal(hoard->got(txn, hoard), CELLAR_RETRY);
    cellar_abort(txn);
    ok(cellar_run(hoard->db, moved_back, hoard, NULL, NULL));
}

/* ---- hints that are out of date ---- */

enum { MANY_FIRST = 1000, MANY = 600 };

static int many_made(struct cellar_txn *txn, const struct hoard *hoard, uint64_t first)
{
    int rc = 0;
    for (uint64_t id = first; id < MANY_FIRST + MANY && rc == 0; id += 2)
        rc = cellar_insert(txn, hoard->pots, &(struct pot){id, 0, 0});
    return rc;
}

static int even_made(struct cellar_txn *txn, void *hoard) { return many_made(txn, hoard, MANY_FIRST); }
static int odd_made(struct cellar_txn *txn, void *hoard) { return many_made(txn, hoard, MANY_FIRST + 1); }

static int many_gone(struct cellar_txn *txn, void *arg)
{
    const struct hoard *hoard = arg;
    int rc = 0;
    for (uint64_t id = MANY_FIRST; id < MANY_FIRST + MANY && rc == 0; id++)
        rc = cellar_delete(txn, hoard->pots, &(struct pot){.id = id});
    return rc;
}

/* The row of that number is found first. The calls that the coordinator has run. */
static uint32_t first_from(struct cellar_txn *txn, struct hoard *hoard, uint64_t id)
{
    struct cellar_cursor *cursor;
    struct pot pot = {.id = id};
    uint32_t calls = calls_of(txn);
    ok(cellar_cursor_open(txn, CELLAR_SCAN(struct pot, hoard->pots, .from = &pot, .from_columns = 1), &cursor));
    assert_int_equal(cellar_cursor_next(cursor, 1, &pot), 1);
    assert_int_equal(pot.id, id);
    cellar_cursor_close(cursor);
    return calls_of(txn) - calls;
}

/* Small pages: of most leaves a part is noted when another part is read. */
static void many_paged(struct hoard *hoard)
{
    enum { FEW = 5 };
    uint32_t calls = 1;
    for (uint32_t tries = TRIES; calls && tries; tries--) { /* at first places are not known */
        struct cellar_cursor *cursor;
        struct pot pots[FEW], from = {.id = MANY_FIRST};
        struct cellar_txn *txn = face_begun(hoard->db);
        calls = calls_of(txn);
        ok(cellar_cursor_open(txn, CELLAR_SCAN(struct pot, hoard->pots, .from = &from, .from_columns = 1), &cursor));
        for (uint64_t id = MANY_FIRST; id < MANY_FIRST + MANY; id += FEW) {
            assert_int_equal(cellar_cursor_next(cursor, FEW, pots), FEW);
            for (uint64_t i = 0; i < FEW; i++) assert_int_equal(pots[i].id, id + i);
        }
        calls = calls_of(txn) - calls;
        ok(cellar_commit(txn, NULL));
    }
    assert_int_equal(calls, 0);
}

/*
 * The other slot splits leaves that this one knows. Its hints lead to the left of what it seeks: an attempt goes to the
 * right, and once it has met the nodes there, a walk does.
 */
static void a_leaf_that_was_split_misses_nothing(struct hoard *hoard)
{
    ok(cellar_run(hoard->db, even_made, hoard, NULL, NULL));
    struct cellar_txn *txn = face_begun(hoard->db);
    for (uint64_t id = MANY_FIRST; id < MANY_FIRST + MANY; id += 2) (void)first_from(txn, hoard, id);
    ok(cellar_commit(txn, NULL));
    txn = face_begun(hoard->db);
    ok(cellar_run(hoard->db, odd_made, hoard, NULL, NULL));
    uint32_t calls = 1;
    for (uint32_t tries = TRIES; calls && tries; tries--) {
        calls = 0;
        for (uint64_t id = MANY_FIRST; id < MANY_FIRST + MANY; id += 7) calls += first_from(txn, hoard, id);
        ok(cellar_commit(txn, NULL));
        txn = face_begun(hoard->db);
    }
    assert_int_equal(calls, 0);
    ok(cellar_commit(txn, NULL));
    many_paged(hoard);
    ok(cellar_run(hoard->db, many_gone, hoard, NULL, NULL));
}

/* ---- modes ---- */

static void ranges_in_each_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOARD_MODES; i++) {
        struct hoard hoard;
        if (!open_ordered(&hoard, hoard_modes[i], 1)) continue;
        for (int turn = 0; turn < 2; turn++) {
            hoard.got = turn ? all_got_backward : all_got;
            a_range_takes_no_attempt(&hoard);
            assert_true(changed_anywhere_is_seen(&hoard));
            assert_true(inserted_anywhere_is_seen(&hoard));
            assert_true(half_applied_is_not_read(&hoard));
            assert_true(half_inserted_is_not_read(&hoard));
        }
        hoard.got = all_got;
        a_second_page_takes_none(&hoard);
        a_change_between_pages_is_told_at_once(&hoard);
        notes_of_before_are_left_to_an_attempt(&hoard);
        a_noted_cell_stands(&hoard);
        what_was_absent_is_told(&hoard);
        a_leaf_that_was_split_misses_nothing(&hoard);
        assert_true(torn_anywhere_is_not_read(&hoard));
        assert_true(pages_are_of_one_moment(&hoard));
        face_close(hoard.db);
    }
}

static void ranges_at_several_nodes(void **state)
{
    struct hoard hoard;
    (void)state;
    assert_true(open_ordered(&hoard, CELLAR_LAB_CC_CELL, 2));
    assert_true(changed_apart_is_seen(&hoard));
    assert_true(changed_anywhere_is_seen(&hoard));
    assert_true(inserted_anywhere_is_seen(&hoard));
    assert_true(half_inserted_is_not_read(&hoard));
    assert_true(pages_are_of_one_moment(&hoard));
    face_close(hoard.db);
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    static const struct hoard_plant met[] = {{"glance_unchecked", changed_anywhere_is_seen},
                                             {"glance_gap_unchecked", inserted_anywhere_is_seen},
                                             {"glance_tags_ignored", half_inserted_is_not_read}};
    (void)state;
    hoard_plants_met(met, sizeof met / sizeof *met, open_ordered);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_in_each_mode),
        cmocka_unit_test(ranges_at_several_nodes),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
