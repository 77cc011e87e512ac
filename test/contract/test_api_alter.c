/*
 * test_api_alter.c - cellar_table_alter: tables that get other columns. Rows keep what both definitions have, with
 * keys of both kinds, long values and indexes, in every mode; what is refused changes nothing.
 */
#include "sessions.h"

#define ROWS 300
#define NOTE_BYTES_MAX 20000

static const struct engine_config roomy = {.log_bytes = 1 << 20, .pool_bytes = 64 << 20};

/* As the table is made ... */
struct one {
    uint64_t id;
    struct cellar_bytes city, note;
    int32_t age;
    uint64_t gone;
};
enum { ONE_ID, ONE_CITY, ONE_NOTE, ONE_AGE, ONE_GONE, ONE_COLUMNS };
#define ONE_COLUMNS_OF(id_flags)                                                                                       \
    {CELLAR_FIELD(struct one, id), .flags = CELLAR_KEY},                                                               \
        {CELLAR_FIELD(struct one, city), .bytes_max = 12, .flags = (id_flags)}, {CELLAR_FIELD(struct one, note)},      \
        {CELLAR_FIELD(struct one, age)},                                                                               \
    {                                                                                                                  \
        CELLAR_FIELD(struct one, gone)                                                                                 \
    }
static const struct cellar_column one_narrow[] = {ONE_COLUMNS_OF(0)}, one_wide[] = {ONE_COLUMNS_OF(CELLAR_KEY)};

/* ... and then: another order, a column less, three more, more room for cities that are no key. */
struct two {
    uint64_t id, score;
    struct cellar_bytes note, city, memo;
    char tag[5];
    int32_t age;
};
enum { TWO_ID, TWO_SCORE, TWO_NOTE, TWO_CITY, TWO_MEMO, TWO_TAG, TWO_AGE, TWO_COLUMNS };
#define TWO_COLUMNS_OF(city_max, city_flags)                                                                           \
    {CELLAR_FIELD(struct two, id), .flags = CELLAR_KEY}, {CELLAR_FIELD(struct two, score)},                            \
        {CELLAR_FIELD(struct two, note)},                                                                              \
        {CELLAR_FIELD(struct two, city), .bytes_max = (city_max), .flags = (city_flags)},                              \
        {CELLAR_FIELD(struct two, memo)}, {CELLAR_FIELD(struct two, tag)},                                             \
    {                                                                                                                  \
        CELLAR_FIELD(struct two, age)                                                                                  \
    }
static const struct cellar_column two_narrow[] = {TWO_COLUMNS_OF(40, 0)}, two_wide[] = {TWO_COLUMNS_OF(12, CELLAR_KEY)};
static const struct two defaults = {.score = 4711, .tag = {'n', 'e', 'w', 0, 0}};

static const struct cellar_index_def by_age[] = {{.name = "by_age", .columns = "-age", .covers = "city"}};
static const struct cellar_index_def by_age_and_id[] = {{.name = "by_age", .columns = "-age", .covers = "city"},
                                                        {.name = "by_score", .columns = "score, age"}};
static const struct cellar_index_def by_age_wide[] = {{.name = "by_age", .columns = "-age"}};

struct town {
    struct api api;
    bool wide, indexed;
    const struct cellar_table *table;
};

static const struct cellar_table_def *def_of_one(const struct town *town)
{
    static struct cellar_table_def def;
    def = *CELLAR_TABLE(struct one, one_narrow, .name = "people", .rows = 500);
    if (town->wide) def.columns = one_wide;
    if (!town->indexed) return &def;
    def.indexes = town->wide ? by_age_wide : by_age;
    def.index_count = 1;
    def.flags = CELLAR_ORDERED;
    return &def;
}

static const struct cellar_table_def *def_of_two(const struct town *town)
{
    static struct cellar_table_def def;
    def = *CELLAR_TABLE(struct two, two_narrow, .name = "people");
    if (town->wide) def.columns = two_wide;
    return &def;
}

/* ---- rows ---- */

static uint8_t bytes_of_note[NOTE_BYTES_MAX + 4 * ROWS];

static size_t note_bytes(uint64_t id) { return id % 4 == 0 ? id % 41 : id * 7919 % NOTE_BYTES_MAX; }

static struct cellar_bytes note_of(uint64_t id) { return (struct cellar_bytes){bytes_of_note + id, note_bytes(id)}; }

static struct cellar_bytes city_of(uint64_t id)
{
    static const char *const names[] = {"Ulm", "Bonn", "", "Regensburg"};
    return CELLAR_TEXT(names[id % 4]);
}

static struct one one_of(uint64_t id)
{
    return (struct one){
        .id = id, .city = city_of(id), .note = note_of(id), .age = (int32_t)(id % 90) - 10, .gone = id * 3};
}

static bool same(struct cellar_bytes a, struct cellar_bytes b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int ok_rc = (call);                                                                                            \
        if (ok_rc < 0) fail_msg("%s:%d: %s: %d (%s)", __FILE__, __LINE__, #call, ok_rc, cellar_last_error()->text);    \
    } while (0)

static struct cellar_txn *begun(struct town *town)
{
    struct cellar_txn *txn;
    OK(cellar_begin(town->api.db, NULL, &txn));
    return txn;
}

static void fill(struct town *town, uint64_t from, uint64_t to)
{
    for (uint64_t id = from; id < to;) {
        struct cellar_txn *txn = begun(town);
        for (uint64_t end = id + 4; id < end && id < to; id++) {
            struct one row = one_of(id);
            OK(cellar_insert(txn, town->table, &row));
        }
        OK(cellar_commit(txn, NULL));
    }
}

/* False: there are no such transactions in this mode. */
static bool town_open(struct town *town, const struct api_variant *variant, bool wide, struct engine_config config)
{
    for (size_t i = 0; i < sizeof bytes_of_note; i++) bytes_of_note[i] = (uint8_t)(i * 31 ^ i >> 7);
    *town = (struct town){.wide = wide, .indexed = variant->cc != CELLAR_LAB_CC_MOTOR};
    if (!sessions_possible(variant) || variant->cc == CELLAR_LAB_CC_MOTOR) return false;
    api_open_bare(&town->api, variant, config);
    OK(cellar_table_open(town->api.db, def_of_one(town), 0, &town->table));
    return true;
}

static void town_close(struct town *town)
{
    api_audit_clean(&town->api);
    api_close(&town->api);
}

/* Rows that had `one_of`, as they are now; those from `fresh` on were inserted as struct two. */
static void assert_altered(struct town *town, uint64_t count)
{
    struct cellar_txn *txn = begun(town);
    for (uint64_t id = 0; id < count; id++) {
        struct two got = {.id = id, .city = city_of(id)};
        struct one was = one_of(id);
        OK(cellar_get(txn, town->table, CELLAR_ALL, 0, &got));
        assert_true(got.age == was.age && same(got.city, was.city) && same(got.note, was.note));
        assert_true(got.score == defaults.score && got.memo.bytes == 0);
        assert_memory_equal(got.tag, defaults.tag, sizeof got.tag);
    }
    OK(cellar_commit(txn, NULL));
}

/* All rows, once, in the order that is asked for. */
static void assert_order(struct town *town, const char *index, uint64_t count)
{
    struct cellar_txn *txn = begun(town);
    struct cellar_cursor *cursor;
    struct two page[32], last = {.age = INT32_MAX};
    const struct cellar_index *by = index ? cellar_index_find(town->table, index) : NULL;
    uint64_t seen = 0;
    int got;
    assert_true(!index || by);
    OK(cellar_cursor_open(txn, CELLAR_SCAN(struct two, town->table, .index = by), &cursor));
    while ((got = cellar_cursor_next(cursor, 32, page)) > 0)
        for (int i = 0; i < got; i++, seen++) {
            assert_true(index ? page[i].age <= last.age : seen == 0 || page[i].id > last.id);
            assert_true(same(page[i].city, city_of(page[i].id)));
            last = page[i];
        }
    OK(got);
    assert_int_equal(seen, count);
    OK(cellar_commit(txn, NULL));
}

static void goes_on(struct town *town)
{
    struct two row = {.id = ROWS, .city = city_of(ROWS), .memo = note_of(7), .score = 1, .age = 5}, got = row;
    struct cellar_txn *txn = begun(town);
    OK(cellar_insert(txn, town->table, &row));
    row.id = 3, row.city = city_of(3), row.memo = note_of(11);
    OK(cellar_put(txn, town->table, CELLAR_COL(TWO_MEMO), &row));
    OK(cellar_commit(txn, NULL));
    txn = begun(town);
    OK(cellar_get(txn, town->table, CELLAR_ALL, 0, &got));
    assert_true(same(got.memo, note_of(7)));
    got = row;
    OK(cellar_get(txn, town->table, CELLAR_ALL, 0, &got));
    assert_true(same(got.memo, note_of(11)) && same(got.note, note_of(3)));
    row.memo.bytes = 0;
    OK(cellar_put(txn, town->table, CELLAR_COL(TWO_MEMO), &row));
    row.id = ROWS, row.city = city_of(ROWS);
    OK(cellar_delete(txn, town->table, &row));
    OK(cellar_commit(txn, NULL));
}

static void columns_come_and_go(const struct api_variant *variant, bool wide)
{
    struct town town;
    const struct cellar_table *old;
    if (!town_open(&town, variant, wide, roomy)) skip();
    fill(&town, 0, ROWS);
    old = town.table;
    OK(cellar_table_alter(town.api.db, old, def_of_two(&town), &defaults, &town.table));
    assert_true(old->table->dropped && town.table != old);
    assert_string_equal(cellar_table_next(town.api.db, NULL), "people");
    assert_null(cellar_table_next(town.api.db, "people"));
    assert_altered(&town, ROWS);
    assert_order(&town, NULL, ROWS);
    assert_order(&town, "by_age", ROWS);
    api_audit_clean(&town.api);
    goes_on(&town);
    assert_altered(&town, ROWS);
    api_audit_clean(&town.api);
    OK(cellar_table_alter(town.api.db, town.table, def_of_one(&town), NULL, &town.table)); /* and back */
    struct cellar_txn *txn = begun(&town);
    for (uint64_t id = 0; id < ROWS; id++) {
        struct one was = one_of(id), got = {.id = id, .city = city_of(id)};
        OK(cellar_get(txn, town.table, CELLAR_ALL, 0, &got));
        assert_true(got.age == was.age && same(got.city, was.city) && same(got.note, was.note) && got.gone == 0);
    }
    OK(cellar_commit(txn, NULL));
    town_close(&town);
}

static void of_a_narrow_key(void **state) { columns_come_and_go(*state, false); }
static void of_a_wide_key(void **state) { columns_come_and_go(*state, true); }

/* Also where there are neither indexes nor long values: the modes of the laboratory, by whole-table work. */
struct plain {
    uint64_t id, a;
    char text[150];
};
struct plainer {
    uint32_t n;
    uint64_t a, id;
};
static const struct cellar_column plain_columns[] = {{CELLAR_FIELD(struct plain, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct plain, a)},
                                                     {CELLAR_FIELD(struct plain, text)}};
static const struct cellar_column plainer_columns[] = {{CELLAR_FIELD(struct plainer, n), .cell = 1},
                                                       {CELLAR_FIELD(struct plainer, a), .cell = 1},
                                                       {CELLAR_FIELD(struct plainer, id), .flags = CELLAR_KEY}};

struct walk {
    const struct cellar_table *table;
    uint64_t seen, right;
};

static int plains_load(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    const struct walk *walk = arg;
    int rc = 0;
    for (uint64_t id = 0; id < 500 && rc == 0; id++)
        rc = db_load_row(client, walk->table, &(struct plain){.id = id, .a = id * 5, .text = "x"}, error);
    return rc;
}

static int plainer_see(void *arg, uint64_t unused, const void *row)
{
    struct walk *walk = arg;
    const struct plainer *plainer = row;
    (void)unused;
    walk->seen++;
    walk->right += plainer->n == 9 && plainer->a == plainer->id * 5;
    return 0;
}

static int plainers_see(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    return db_scan_rows(client, ((struct walk *)arg)->table, plainer_see, arg, error);
}

static void in_every_mode(void **state)
{
    struct api api;
    struct walk walk = {0};
    const struct cellar_table *old;
    api_open_bare(&api, *state, roomy);
    OK(cellar_table_open(api.db, CELLAR_TABLE(struct plain, plain_columns, .name = "plain", .rows = 100), 0,
                         &walk.table));
    MUST(&api.error, api_alone(&api, plains_load, &walk));
    old = walk.table;
    OK(cellar_table_alter(
        api.db, old, CELLAR_TABLE(struct plainer, plainer_columns, .name = "plain", .rows = 20000, .cluster_bits = 2),
        &(struct plainer){.n = 9}, &walk.table));
    assert_true(walk.table->table->records_max == 20000 && walk.table->table->index.cluster_bits == 2);
    assert_int_equal(walk.table->table->schema.cell_count, 1);
    MUST(&api.error, api_alone(&api, plainers_see, &walk));
    assert_true(walk.seen == 500 && walk.right == 500);
    OK(cellar_table_alter(api.db, walk.table, CELLAR_TABLE(struct plainer, plainer_columns, .name = "plain", .rows = 0),
                          NULL, &walk.table));
    assert_int_equal(walk.table->table->records_max, 20000); /* as it was */
    api_audit_clean(&api);
    api_close(&api);
}

/* A definition that a program opens the table with will do: what it wants besides is made. */
static void a_definition_as_a_whole(void **state)
{
    struct town town;
    struct cellar_table_def def;
    const struct cellar_table *again;
    if (!town_open(&town, *state, false, roomy)) skip();
    fill(&town, 0, 50);
    def = *def_of_two(&town);
    def.indexes = by_age_and_id;
    def.index_count = 2;
    def.flags = CELLAR_ORDERED;
    OK(cellar_table_alter(town.api.db, town.table, &def, &defaults, &town.table));
    OK(cellar_table_open(town.api.db, &def, CELLAR_EXISTING, &again));
    assert_ptr_equal(again, town.table);
    assert_int_equal(town.table->table->ordered_count, 3);
    assert_non_null(cellar_index_find(town.table, "by_score"));
    assert_order(&town, "by_age", 50);
    town_close(&town);
}

/* The old rows' space is used again: many times. */
static void space_is_used_again(void **state)
{
    struct town town;
    struct cellar_lab_pool_space space;
    uint64_t used = 0;
    if (!town_open(&town, *state, false, (struct engine_config){.pool_bytes = 48 << 20, .coros = 1})) skip();
    fill(&town, 0, 100);
    for (int round = 0; round < 8; round++) {
        OK(cellar_table_alter(town.api.db, town.table, def_of_two(&town), &defaults, &town.table));
        assert_altered(&town, 100);
        OK(cellar_table_alter(town.api.db, town.table, def_of_one(&town), NULL, &town.table));
        cellar_lab_pool_space_read(town.api.db, &space);
        if (round == 1) used = space.used_bytes;
        if (round > 1) assert_int_equal(space.used_bytes, used);
    }
    town_close(&town);
}

/* What has no room for both stays as it is, and what was taken is given back. */
static void a_full_pool_keeps_what_it_has(void **state)
{
    struct large {
        uint64_t id;
        char more[4][4000];
    };
    static const struct cellar_column columns[] = {{CELLAR_FIELD(struct large, id), .flags = CELLAR_KEY},
                                                   {CELLAR_FIELD(struct large, more[0])},
                                                   {CELLAR_FIELD(struct large, more[1])},
                                                   {CELLAR_FIELD(struct large, more[2])}};
    struct town town;
    struct cellar_lab_pool_space before, after;
    const struct cellar_table *altered, *old;
    if (!town_open(&town, *state, false, (struct engine_config){.pool_bytes = 14 << 20, .coros = 1})) skip();
    fill(&town, 0, 3 * ROWS);
    OK(cellar_index_drop(town.api.db, cellar_index_find(town.table, "by_age")));
    cellar_lab_pool_space_read(town.api.db, &before);
    for (int round = 0; round < 3; round++) {
        assert_code(cellar_table_alter(town.api.db, town.table,
                                       CELLAR_TABLE(struct large, columns, .name = "people", .rows = 500), NULL,
                                       &altered),
                    CELLAR_FULL);
        assert_null(altered);
        cellar_lab_pool_space_read(town.api.db, &after);
        assert_int_equal(after.used_bytes, before.used_bytes);
    }
    old = town.table;
    OK(cellar_table_open(town.api.db, CELLAR_TABLE(struct one, one_narrow, .name = "people"), CELLAR_EXISTING,
                         &altered));
    assert_ptr_equal(old, altered);
    fill(&town, 3 * ROWS, 3 * ROWS + 1);
    struct cellar_txn *txn = begun(&town);
    for (uint64_t id = 0; id <= 3 * ROWS; id++) {
        struct one got = {.id = id};
        OK(cellar_get(txn, town.table, CELLAR_ALL, 0, &got));
        assert_true(same(got.note, note_of(id)));
    }
    OK(cellar_commit(txn, NULL));
    town_close(&town);
}

static void what_cannot_be_is_refused(void **state)
{
    struct town town;
    struct cellar_table_def def;
    struct cellar_column columns[TWO_COLUMNS];
    const struct cellar_table *out, *old;
    struct two filled = defaults;
    if (!town_open(&town, *state, false, roomy)) skip();
    fill(&town, 0, 10);
    struct cellar *db = town.api.db;
    memcpy(columns, two_narrow, sizeof columns);
    def = *def_of_two(&town);
    def.columns = columns;
#define REFUSES(call, code, word)                                                                                      \
    assert_code(call, code);                                                                                           \
    sessions_assert_line(code, word, "");                                                                              \
    assert_null(out)
    REFUSES(cellar_table_alter(db, NULL, &def, NULL, &out), CELLAR_INVALID, "NULL");
    REFUSES(cellar_table_alter(db, town.table, NULL, NULL, &out), CELLAR_INVALID, "NULL");
    assert_code(cellar_table_alter(db, town.table, &def, NULL, NULL), CELLAR_INVALID);
    REFUSES(cellar_table_alter(db, town.table, &(struct cellar_table_def){.size = sizeof def, .name = "people"}, NULL,
                               &out),
            CELLAR_INVALID, "which columns");
    REFUSES(cellar_table_alter(NULL, town.table, &def, NULL, &out), CELLAR_INVALID, "");
    def.name = "others";
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_INVALID, "its name stays");
    def.name = "people";
    columns[TWO_SCORE].name = "city";
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_INVALID, "two columns named city");
    columns[TWO_SCORE].name = "age", columns[TWO_AGE].name = "score";
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_MISMATCH, "column age");
    columns[TWO_SCORE].name = "score", columns[TWO_AGE].name = "age";
    columns[TWO_CITY].bytes_max = 9;
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_TOO_LARGE, "column city: a row has 10 bytes");
    columns[TWO_CITY].bytes_max = 0; /* beside the row */
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_MISMATCH, "column city");
    columns[TWO_CITY].bytes_max = 40;
    columns[TWO_ID].name = "number";
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_MISMATCH, "its key stays");
    columns[TWO_ID].name = "id";
    columns[TWO_SCORE].flags = CELLAR_KEY;
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_MISMATCH, "its key stays");
    columns[TWO_SCORE].flags = 0;
    def.column_count = TWO_AGE; /* an index has it */
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_INVALID, "index by_age");
    def.column_count = TWO_COLUMNS;
    def.indexes = by_age_wide; /* it covers nothing */
    def.index_count = 1;
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_MISMATCH, "by_age");
    def.indexes = NULL, def.index_count = 0;
    filled.memo = note_of(3);
    REFUSES(cellar_table_alter(db, town.table, &def, &filled, &out), CELLAR_UNSUPPORTED, "column memo");
    def.rows = 1ull << 50;
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_INVALID, "records_max");
    def.rows = 0;
    api_audit_clean(&town.api);
    old = town.table;
    OK(cellar_table_alter(db, old, &def, &defaults, &town.table));
    REFUSES(cellar_table_alter(db, old, &def, NULL, &out), CELLAR_DROPPED, "people");
    assert_altered(&town, 10);
    town_close(&town);
    REFUSES(cellar_table_alter(db, town.table, &def, NULL, &out), CELLAR_CLOSED, "");
}

/* What an interactive transaction has read is of a table that is no more. */
static void open_transactions_begin_again(void **state)
{
    struct town town;
    struct two got = {.id = 3};
    if (!town_open(&town, *state, false, roomy)) skip();
    fill(&town, 0, 10);
    struct cellar_txn *txn = begun(&town);
    struct one row = {.id = 3};
    OK(cellar_get(txn, town.table, CELLAR_ALL, 0, &row));
    row.gone++;
    OK(cellar_put(txn, town.table, CELLAR_COL(ONE_GONE), &row));
    const struct cellar_table *old = town.table;
    OK(cellar_table_alter(town.api.db, old, def_of_two(&town), &defaults, &town.table));
    int rc = cellar_get(txn, old, CELLAR_ALL, 0, &row);
    assert_true(rc == CELLAR_RETRY || rc == CELLAR_DROPPED);
    rc = cellar_commit(txn, NULL);
    assert_true(rc == CELLAR_RETRY || rc == CELLAR_DROPPED);
    txn = begun(&town);
    OK(cellar_get(txn, town.table, CELLAR_ALL, 0, &got));
    assert_int_equal(got.score, defaults.score);
    OK(cellar_commit(txn, NULL));
    town_close(&town);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(of_a_narrow_key),
        API_TEST(of_a_wide_key),
        API_TEST(in_every_mode),
        API_TEST(a_definition_as_a_whole),
        API_TEST(space_is_used_again),
        API_TEST(a_full_pool_keeps_what_it_has),
        API_TEST(what_cannot_be_is_refused),
        API_TEST(open_transactions_begin_again),
    };
    return api_main("api_alter", tests, sizeof tests / sizeof *tests, argc, argv);
}
