/*
 * test_face_values.c - BYTES in rows: short ones, that lie in them, and long ones, that lie beside: what calls give and
 * take, how long it is lent, what is freed, what is refused.
 */
#include "cellar_lab.h"
#include "numbered.h"
#include "cellar_proc.h"
#include "face_calls.h"
#include "hash_bits.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES (64u << 20)

struct page {
    uint64_t id;
    struct cellar_bytes title, text, source;
    int64_t views;
};
enum { ID, TITLE, TEXT, SOURCE, VIEWS };
static const struct cellar_column columns[] = {
    {CELLAR_FIELD(struct page, id), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct page, title), .bytes_max = 100, .cell = 1},
    {CELLAR_FIELD(struct page, text)},
    {CELLAR_FIELD(struct page, source), .bytes_max = 5000},
    {CELLAR_FIELD(struct page, views), .cell = 1},
};

struct pages {
    struct cellar *db;
    const struct cellar_table *pages;
};

static void pages_open(struct pages *pages)
{
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &pages->db));
    ok(cellar_table_open(pages->db, CELLAR_TABLE(struct page, columns, .name = "pages", .rows = 1000), 0,
                         &pages->pages));
}

/* Long, and the same for the same seed. */
static struct cellar_bytes text_of(uint8_t seed, size_t bytes)
{
    static uint8_t all[256][CELLAR_VALUE_BYTES_MAX + 1];
    assert_true(bytes <= sizeof all[0]);
    if (!all[seed][0])
        for (size_t i = 0; i < sizeof all[0]; i++) all[seed][i] = (uint8_t)(seed + i * 7 + (i >> 8) + 1);
    return (struct cellar_bytes){all[seed], bytes};
}

static void bytes_are_equal(struct cellar_bytes a, struct cellar_bytes b)
{
    assert_int_equal(a.bytes, b.bytes);
    if (a.bytes) assert_memory_equal(a.data, b.data, a.bytes);
}

static struct page page_of(uint64_t id, size_t title, size_t text, size_t source)
{
    return (struct page){id, text_of((uint8_t)id, title), text_of((uint8_t)(id + 1), text),
                         text_of((uint8_t)(id + 2), source), (int64_t)id * 10};
}

static void pages_are_equal(const struct page *a, const struct page *b)
{
    bytes_are_equal(a->title, b->title);
    bytes_are_equal(a->text, b->text);
    bytes_are_equal(a->source, b->source);
    assert_int_equal(a->views, b->views);
}

/* A transaction of its own finds that, or nothing. */
static void page_is(struct pages *pages, uint64_t id, const struct page *expected)
{
    struct page page = {.id = id};
    struct cellar_txn *txn = face_begun(pages->db);
    int rc = cellar_get(txn, pages->pages, CELLAR_ALL, 0, &page);
    if (expected) {
        ok(rc);
        pages_are_equal(&page, expected);
    } else {
        assert_int_equal(rc, CELLAR_NOT_FOUND);
    }
    cellar_abort(txn);
}

static void committed(struct pages *pages,
                      int (*call)(struct cellar_txn *txn, const struct cellar_table *table, const void *row,
                                  size_t row_bytes),
                      const struct page *page)
{
    struct cellar_txn *txn = face_begun(pages->db);
    ok(call(txn, pages->pages, page, sizeof *page));
    ok(cellar_commit(txn, NULL));
}

static int put_all(struct cellar_txn *txn, const struct cellar_table *table, const void *row, size_t row_bytes)
{
    return (cellar_put)(txn, table, CELLAR_ALL, row, row_bytes);
}

/* ---- what is written is read ---- */

static void values_of_all_lengths(void **state)
{
    static const size_t lengths[] = {0, 1, 39, 40, 41, 56, 57, 448, 1000, 14224, 14225, 100000, CELLAR_VALUE_BYTES_MAX};
    struct pages pages;
    (void)state;
    pages_open(&pages);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct page page = page_of(i, lengths[i] % 101, lengths[i], lengths[i] % 5001);
        committed(&pages, (cellar_insert), &page);
        page_is(&pages, i, &page);
    }
    /* Each becomes another one, and goes. */
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t other = lengths[(i * 5 + 3) % (sizeof lengths / sizeof *lengths)];
        struct page page = page_of(i, other % 101, other, other % 5001);
        committed(&pages, put_all, &page);
        page_is(&pages, i, &page);
        if (i % 2) committed(&pages, (cellar_delete), &page);
        page_is(&pages, i, i % 2 ? NULL : &page);
    }
    face_close(pages.db);
}

static void a_put_touches_what_it_names(void **state)
{
    struct pages pages;
    struct page page = page_of(1, 10, 2000, 300), other = page_of(1, 20, 5000, 30), found = {.id = 1};
    (void)state;
    pages_open(&pages);
    committed(&pages, (cellar_insert), &page);
    struct cellar_txn *txn = face_begun(pages.db);
    other.views = 99;
    ok(cellar_put(txn, pages.pages, CELLAR_COL(TITLE) | CELLAR_COL(SOURCE), &other));
    ok(cellar_get(txn, pages.pages, CELLAR_ALL, 0, &found)); /* its own, and others */
    struct page expected = page;
    expected.title = other.title;
    expected.source = other.source;
    pages_are_equal(&found, &expected);
    int savepoint = cellar_savepoint(txn);
    ok(cellar_put(txn, pages.pages, CELLAR_COL(TEXT), &other));
    ok(cellar_get(txn, pages.pages, CELLAR_COL(TEXT), 0, &found));
    bytes_are_equal(found.text, other.text);
    ok(cellar_rollback_to(txn, savepoint));
    ok(cellar_get(txn, pages.pages, CELLAR_COL(TEXT), 0, &found));
    bytes_are_equal(found.text, page.text);
    /* What was not asked for stays as it was. */
    found.title = (struct cellar_bytes){"mine", 4};
    ok(cellar_get(txn, pages.pages, CELLAR_COL(VIEWS), 0, &found));
    bytes_are_equal(found.title, CELLAR_TEXT("mine"));
    ok(cellar_commit(txn, NULL));
    page_is(&pages, 1, &expected);
    refused(cellar_put(txn = face_begun(pages.db), pages.pages, CELLAR_COL(TEXT), &(struct page){.id = 2}),
            CELLAR_NOT_FOUND, "table pages, id 2");
    refused(cellar_insert(txn, pages.pages, &page), CELLAR_EXISTS, "table pages, id 1");
    cellar_abort(txn);
    face_close(pages.db);
}

/* Bytes that a get has lent stay until the end, whatever becomes of the row. */
static void what_is_lent_stays(void **state)
{
    struct pages pages;
    struct page page = page_of(1, 90, 3000, 20), other = page_of(1, 9, 30, 2000), first = {.id = 1}, again = {.id = 1};
    (void)state;
    pages_open(&pages);
    committed(&pages, (cellar_insert), &page);
    struct cellar_txn *txn = face_begun(pages.db);
    ok(cellar_get(txn, pages.pages, 0, 0, &first));
    committed(&pages, put_all, &other);
    ok(cellar_get(txn, pages.pages, 0, 0, &again)); /* as it has read it first */
    pages_are_equal(&again, &page);
    ok(cellar_put(txn, pages.pages, 0, &other));
    ok(cellar_get(txn, pages.pages, 0, 0, &again));
    pages_are_equal(&again, &other);
    ok(cellar_delete(txn, pages.pages, &other));
    pages_are_equal(&first, &page);
    pages_are_equal(&again, &other);
    assert_int_equal(cellar_commit(txn, NULL), CELLAR_RETRY); /* another one came between */
    face_close(pages.db);
}

static void many_are_read_at_once(void **state)
{
    struct pages pages;
    struct page rows[4];
    struct cellar_read reads[4];
    (void)state;
    pages_open(&pages);
    for (uint64_t id = 0; id < 3; id++) {
        struct page page = page_of(id, id, id * 4000, 50);
        committed(&pages, (cellar_insert), &page);
    }
    struct cellar_txn *txn = face_begun(pages.db);
    for (uint64_t id = 0; id < 4; id++) {
        rows[id] = (struct page){.id = id};
        reads[id] = CELLAR_READ(pages.pages, &rows[id]);
    }
    ok(cellar_get_many(txn, reads, 4));
    assert_int_equal(txn->txn.session->draft.blocks, 2); /* rows, and what lies beside them */
    reads[1].lock = CELLAR_COL(TEXT);
    ok(cellar_get_many(txn, reads, 4));
    for (uint64_t id = 0; id < 4; id++) {
        struct page page = page_of(id, id, id * 4000, 50);
        assert_int_equal(reads[id].code, id < 3 ? 0 : CELLAR_NOT_FOUND);
        if (id < 3) pages_are_equal(&rows[id], &page);
    }
    ok(cellar_put(txn, pages.pages, CELLAR_COL(TEXT), &(struct page){.id = 1, .text = text_of(9, 77)}));
    ok(cellar_commit(txn, NULL));
    face_close(pages.db);
}

/* All columns of a put are put, or none. */
static void a_put_without_room_changes_nothing(void **state)
{
    struct pages pages;
    struct page page = page_of(0, 10, 100, 100), big = page_of(0, 20, CELLAR_VALUE_BYTES_MAX, 4000), found;
    int rc = 0;
    (void)state;
    pages_open(&pages);
    committed(&pages, (cellar_insert), &page);
    struct cellar_txn *txn = face_begun(pages.db);
    for (uint64_t id = 1; rc == 0 && id < 400; id++) {
        big.id = id;
        rc = cellar_put(txn, pages.pages, CELLAR_ALL, &big);
    }
    assert_int_equal(rc, CELLAR_TOO_LARGE);
    refused(cellar_get(txn, pages.pages, CELLAR_COL(VIEWS), 0, &big), CELLAR_NOT_FOUND, "");
    big.id = 0;
    assert_int_equal(cellar_put(txn, pages.pages, CELLAR_ALL, &big), CELLAR_TOO_LARGE);
    found = (struct page){.id = 0};
    ok(cellar_get(txn, pages.pages, CELLAR_COL(TITLE) | CELLAR_COL(VIEWS), 0, &found));
    bytes_are_equal(found.title, page.title);
    assert_int_equal(found.views, page.views);
    cellar_abort(txn);
    face_close(pages.db);
}

/* What follows a short one is zero, so that equal ones have equal bytes, whatever was there before. */
static void short_ones_are_filled_up(void **state)
{
    struct pages pages;
    struct page page = page_of(1, 100, 0, 0);
    uint8_t raw[102], zero[102] = {3, 0, 'a', 'b', 'c'}, bad[102] = {101};
    (void)state;
    pages_open(&pages);
    int title = cellar_column_of(pages.pages, "title");
    committed(&pages, (cellar_insert), &page);
    page.title = CELLAR_TEXT("abc");
    committed(&pages, put_all, &page);
    struct cellar_txn *txn = face_begun(pages.db);
    ok(cellar_txn_get(txn, pages.pages, 1, title, raw));
    assert_memory_equal(raw, zero, sizeof zero);
    ok(cellar_put(txn, pages.pages, CELLAR_COL(TITLE), &(struct page){1, .title = text_of(1, 90)}));
    ok(cellar_put(txn, pages.pages, CELLAR_COL(TITLE), &page));
    ok(cellar_txn_get(txn, pages.pages, 1, title, raw));
    assert_memory_equal(raw, zero, sizeof zero);
    /* A length that cannot be. */
    ok(cellar_txn_put(txn, pages.pages, 1, title, bad));
    refused(cellar_get(txn, pages.pages, CELLAR_COL(TITLE), 0, &page), CELLAR_CORRUPT, "table pages, id 1");
    cellar_abort(txn);
    face_close(pages.db);
}

/* Long ones have cells of their own, however many columns share one. */
static void long_ones_are_alone(void **state)
{
    struct row {
        uint64_t id;
        uint8_t of[40];
        struct cellar_bytes a, b;
    } row = {.id = 1, .of = {1, 2, 3}, .a = text_of(1, 3000), .b = text_of(2, 20)}, found = {.id = 1};
    static char names[40][8];
    struct cellar_column many[43] = {{CELLAR_FIELD(struct row, id), .flags = CELLAR_KEY}};
    struct pages pages;
    const struct cellar_table *table;
    (void)state;
    pages_open(&pages);
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "c%u", i);
        many[i + 1] = (struct cellar_column){.name = names[i], .offset = 8 + i, .bytes = 1, .type = CELLAR_UINT};
    }
    many[41] = (struct cellar_column){CELLAR_FIELD(struct row, a)};
    many[42] = (struct cellar_column){CELLAR_FIELD(struct row, b)};
    ok(cellar_table_open(pages.db, CELLAR_TABLE(struct row, many, .name = "many", .rows = 100), 0, &table));
    struct cellar_txn *txn = face_begun(pages.db);
    ok(cellar_insert(txn, table, &row));
    ok(cellar_commit(txn, NULL));
    txn = face_begun(pages.db);
    ok(cellar_get(txn, table, 0, 0, &found));
    assert_memory_equal(found.of, row.of, sizeof row.of);
    bytes_are_equal(found.a, row.a);
    bytes_are_equal(found.b, row.b);
    cellar_abort(txn);
    face_close(pages.db);
}

/* ---- other handles, other lives ---- */

struct title {
    struct cellar_bytes title;
    uint64_t id;
};
static const struct cellar_column titles[] = {{CELLAR_FIELD(struct title, id), .flags = CELLAR_KEY},
                                              {CELLAR_FIELD(struct title, title), .bytes_max = 100}};

static void a_view_leaves_other_values_alone(void **state)
{
    struct pages pages;
    const struct cellar_table *table;
    struct page page = page_of(1, 10, 2000, 300), expected = {.id = 2, .title = CELLAR_TEXT("new")};
    (void)state;
    pages_open(&pages);
    ok(cellar_table_open(pages.db, CELLAR_TABLE(struct title, titles, .name = "pages"), CELLAR_EXISTING, &table));
    committed(&pages, (cellar_insert), &page);
    struct cellar_txn *txn = face_begun(pages.db);
    ok(cellar_put(txn, table, 0, &(struct title){CELLAR_TEXT("x"), 1}));
    ok(cellar_insert(txn, table, &(struct title){CELLAR_TEXT("new"), 2}));
    ok(cellar_commit(txn, NULL));
    page.title = CELLAR_TEXT("x");
    page_is(&pages, 1, &page);
    page_is(&pages, 2, &expected);
    txn = face_begun(pages.db);
    ok(cellar_delete(txn, table, &(struct title){.id = 1})); /* its long values go, too */
    ok(cellar_commit(txn, NULL));
    page_is(&pages, 1, NULL);
    face_close(pages.db);
}

static void values_are_there_for_the_next_process(void **state)
{
    char path[] = "/tmp/cellar-face-values-XXXXXX";
    const struct cellar_options *options = CELLAR_OPTIONS(.bytes = BYTES, .durability = CELLAR_MEMORY);
    struct cellar_table_def def = *CELLAR_TABLE(struct page, columns, .name = "pages", .rows = 1000);
    struct page page = page_of(1, 10, 30000, 300);
    struct pages pages;
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    for (int life = 0; life < 2; life++) {
        ok(cellar_open(path, options, &pages.db));
        ok(cellar_table_open(pages.db, &def, life ? CELLAR_EXISTING : 0, &pages.pages));
        if (life == 0) committed(&pages, (cellar_insert), &page);
        page_is(&pages, 1, &page);
        face_close(pages.db);
    }
    unlink(path);
}

/* ---- what is refused ---- */

static int writes_text(struct cellar_txn *txn, void *args)
{
    const struct cellar_table *table = args;
    int ref = cellar_proc_access(txn, table, 1, 0, cellar_cells_of(table, "text"), 0);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}

static void what_calls_refuse(void **state)
{
    struct pages pages;
    const struct cellar_proc *proc;
    struct page page = page_of(1, 101, 0, 0);
    (void)state;
    pages_open(&pages);
    struct cellar_txn *txn = face_begun(pages.db);
    const char *line = "table pages, column title: 101 bytes; it has room for 100";
    refused(cellar_insert(txn, pages.pages, &page), CELLAR_TOO_LARGE, line);
    refused(cellar_put(txn, pages.pages, 0, &page), CELLAR_TOO_LARGE, line);
    refused(cellar_put(txn, pages.pages, CELLAR_COL(TITLE), &page), CELLAR_TOO_LARGE, line);
    ok(cellar_delete(txn, pages.pages, &page)); /* which needs no title */
    page = page_of(1, 100, CELLAR_VALUE_BYTES_MAX + 1, 0);
    refused(cellar_insert(txn, pages.pages, &page), CELLAR_TOO_LARGE, "column text: 1048577 bytes");
    page = page_of(1, 100, 0, 5001);
    refused(cellar_insert(txn, pages.pages, &page), CELLAR_TOO_LARGE, "column source: 5001 bytes");
    page = page_of(1, 100, 0, 0);
    page.text = (struct cellar_bytes){NULL, 1};
    refused(cellar_insert(txn, pages.pages, &page), CELLAR_INVALID, "column text: its data is NULL");
    page.text = (struct cellar_bytes){NULL, 0};
    ok(cellar_insert(txn, pages.pages, &page));
    ok(cellar_commit(txn, NULL));
    const struct cellar_proc_def def = {.name = "writes", .fn = writes_text, .records_max = 1};
    ok(cellar_proc_register(pages.db, &def, &proc));
    refused(cellar_proc_run(pages.db, proc, (void *)(uintptr_t)pages.pages, NULL, NULL), CELLAR_INVALID,
            "variable length");
    face_close(pages.db);
}

static void what_is_no_definition(void **state)
{
    struct pages pages;
    const struct cellar_table *table;
    struct cellar_column others[5];
    (void)state;
    pages_open(&pages);
    const struct {
        const char *says;
        int code;
        uint32_t column;
        uint32_t bytes_max, cell;
    } cases[] = {{"column text: bytes_max 1048577: at most 1048576", CELLAR_INVALID, TEXT, (1u << 20) + 1, 0},
                 {"column text: cell 2: BYTES of more than 256", CELLAR_INVALID, TEXT, 0, 2},
                 {"column views: bytes_max 9", CELLAR_INVALID, VIEWS, 9, 0},
                 {"column title: bytes of 101 bytes here, bytes of 100 there", CELLAR_MISMATCH, TITLE, 101, 0},
                 {"column title: bytes of 257 bytes here, bytes of 100 there", CELLAR_MISMATCH, TITLE, 257, 0},
                 {"column title: bytes of 1048576 bytes here, bytes of 100 there", CELLAR_MISMATCH, TITLE, 0, 0},
                 {"column text: bytes of 100 bytes here, bytes of 1048576 there", CELLAR_MISMATCH, TEXT, 100, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(others, columns, sizeof others);
        others[cases[i].column].bytes_max = cases[i].bytes_max;
        others[cases[i].column].cell = cases[i].cell;
        refused(cellar_table_open(pages.db, CELLAR_TABLE(struct page, others, .name = "pages"), 0, &table),
                cases[i].code, cases[i].says);
    }
    /* How long a long one may be is the handle's affair. */
    memcpy(others, columns, sizeof others);
    others[TEXT].bytes_max = 300;
    ok(cellar_table_open(pages.db, CELLAR_TABLE(struct page, others, .name = "pages"), 0, &table));
    struct page page = page_of(1, 0, 301, 0);
    struct cellar_txn *txn = face_begun(pages.db);
    refused(cellar_insert(txn, table, &page), CELLAR_TOO_LARGE, "column text: 301 bytes; it has room for 300");
    ok(cellar_insert(txn, pages.pages, &page));
    cellar_abort(txn);
    refused(cellar_table_open(pages.db, CELLAR_TABLE(struct page, columns, .name = "a name of thirty-one characters"),
                              0, &table),
            CELLAR_INVALID, "has at most 28 bytes");
    face_close(pages.db);
}

/* Seven places of 64 each; nothing is left of one for which there is no room. */
static void tables_of_long_values_take_seven_places(void **state)
{
    struct pages pages;
    const struct cellar_table *table;
    int rc = 0, count = 0;
    (void)state;
    pages_open(&pages);
    for (; rc == 0 && count < 20; count++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", count);
        rc = cellar_table_open(pages.db, CELLAR_TABLE(struct page, columns, .name = name, .rows = 100), 0, &table);
    }
    refused(rc, CELLAR_FULL, "64 tables");
    assert_int_equal(count, 9); /* eight beside `pages` */
    ok(cellar_table_open(pages.db, CELLAR_TABLE(struct title, titles, .name = "last", .rows = 100), 0, &table));
    face_close(pages.db);
}

#ifdef CELLAR_PLANTS
/* A value that goes had the place of one that was written before it in the same transaction: that is no damage. */
static void places_that_meet_are_no_damage(void **state)
{
    struct pages pages;
    uint32_t met = 0;
    (void)state;
    pages_open(&pages);
    hash_bits(3);
    for (uint32_t i = 0; i < 200; i++) {
        struct page old = page_of(1, 0, 3000, 0), young = page_of(2, 0, 3000, 0), found = {.id = 2};
        struct cellar_txn *txn = face_begun(pages.db);
        ok(cellar_put(txn, pages.pages, CELLAR_ALL, &old));
        ok(cellar_delete(txn, pages.pages, &young));
        if (cellar_commit(txn, NULL)) continue;
        txn = face_begun(pages.db);
        ok(cellar_insert(txn, pages.pages, &young));
        int rc = i % 2
                     ? cellar_delete(txn, pages.pages, &old)
                     : cellar_put(txn, pages.pages, CELLAR_COL(TEXT), &(struct page){.id = 1, .text = text_of(9, 90)});
        bool reads = i / 2 % 2;
        if (rc == 0 && reads) rc = cellar_get(txn, pages.pages, CELLAR_COL(TEXT), 0, &found);
        if (rc == 0 && reads) bytes_are_equal(found.text, young.text);
        if (rc == 0) rc = cellar_delete(txn, pages.pages, &young);
        assert_true(rc == 0 || rc == CELLAR_RETRY);
        met += rc != 0;
        cellar_abort(txn);
    }
    hash_bits(0);
    assert_true(met > 0);
    face_close(pages.db);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_all_lengths),
        cmocka_unit_test(a_put_touches_what_it_names),
        cmocka_unit_test(what_is_lent_stays),
        cmocka_unit_test(many_are_read_at_once),
        cmocka_unit_test(a_put_without_room_changes_nothing),
        cmocka_unit_test(short_ones_are_filled_up),
        cmocka_unit_test(long_ones_are_alone),
        cmocka_unit_test(a_view_leaves_other_values_alone),
        cmocka_unit_test(values_are_there_for_the_next_process),
        cmocka_unit_test(what_calls_refuse),
        cmocka_unit_test(what_is_no_definition),
        cmocka_unit_test(tables_of_long_values_take_seven_places),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(places_that_meet_are_no_damage),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
