/*
 * test_face_whole.c - whole tables of typed columns at rest: each row is shown once, as its handle shows rows, whatever
 * its columns are and wherever they lie; what is loaded at rest is there like what transactions insert; what cannot be
 * loaded, and rows whose bytes contradict each other, are told.
 */
#include "bulk.h"
#include "bytekey.h"
#include "cellar_lab.h"
#include "client.h"
#include "coordinator.h"
#include "numbered.h"
#include "face_calls.h"
#include "rowview.h"

#include <stdio.h>
#include <stdlib.h>

#define BYTES (64u << 20)
#define CITIES 300

struct city {
    int16_t zone;
    double height;
    struct cellar_bytes name, about, map, plan;
    uint8_t code[3];
    uint32_t people;
};
static const struct cellar_column wide[] = {
    {CELLAR_FIELD(struct city, zone), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct city, height)},
    {CELLAR_FIELD(struct city, name), .flags = CELLAR_KEY, .bytes_max = 30},
    {CELLAR_FIELD(struct city, about), .bytes_max = 90},
    {CELLAR_FIELD(struct city, map)},
    {CELLAR_FIELD(struct city, plan), .bytes_max = 1000},
    {CELLAR_FIELD(struct city, code)},
    {CELLAR_FIELD(struct city, people)},
};
static const struct cellar_column narrow[] = {
    {CELLAR_FIELD(struct city, people), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct city, zone), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct city, height)},
    {CELLAR_FIELD(struct city, about), .bytes_max = 90},
};

/* The text of that many bytes, which depends on the city. */
static struct cellar_bytes text_of(uint32_t city, size_t bytes)
{
    static uint8_t all[CELLAR_VALUE_BYTES_MAX + 256];
    if (!all[0])
        for (size_t i = 0; i < sizeof all; i++) all[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    return (struct cellar_bytes){all + city % 256, bytes};
}

/* Of each length that a value may lie in a place of its own for: none, in the row, in one extent, in many. */
static size_t map_bytes(uint32_t city)
{
    static const size_t bytes[] = {0, 1, 40, 41, 300, 5000, 20000, 0, 17};
    return city == 5 ? CELLAR_VALUE_BYTES_MAX : bytes[city % 9];
}

static struct city city_of(uint32_t i)
{
    return (struct city){.zone = (int16_t)((int32_t)i - 100),
                         .height = i % 2 ? -0.5 * i : 1e300 * i,
                         .name = text_of(i, i % 31),
                         .about = text_of(i + 1, i % 91),
                         .map = text_of(i + 2, map_bytes(i)),
                         .plan = text_of(i + 3, i * 37 % 1001),
                         .code = {(uint8_t)i, 0, (uint8_t)(i >> 8)},
                         .people = i * 1000003u};
}

static bool bytes_are_same(struct cellar_bytes a, struct cellar_bytes b)
{
    return a.bytes == b.bytes && (!a.bytes || memcmp(a.data, b.data, a.bytes) == 0);
}

/* ---- showing ---- */

struct shown {
    const struct cellar_table *table;
    uint32_t count, times[CITIES];
    bool all; /* all columns are shown, not only those of the narrow definition */
    int ends; /* what each call returns */
    char why[160];
};

static int city_shown(void *arg, uint64_t key, const void *row)
{
    struct shown *shown = arg;
    const struct city *city = row;
    uint32_t i = (uint32_t)(city->zone + 100);
    assert_int_equal(key, 0);
    assert_true(i < CITIES);
    const struct city wanted = city_of(i);
    assert_true(city->height == wanted.height && bytes_are_same(city->about, wanted.about));
    assert_int_equal(city->people, wanted.people);
    if (shown->all) assert_true(bytes_are_same(city->name, wanted.name) && bytes_are_same(city->map, wanted.map));
    if (shown->all) assert_true(bytes_are_same(city->plan, wanted.plan));
    if (shown->all) assert_memory_equal(city->code, wanted.code, sizeof wanted.code);
    shown->times[i]++;
    shown->count++;
    return shown->ends;
}

static int show(struct cellar_lab_client *client, void *arg)
{
    struct shown *shown = arg;
    int code = cellar_lab_index(client) ? 0 : cellar_lab_scan(client, shown->table, city_shown, shown);
    if (code < 0) snprintf(shown->why, sizeof shown->why, "%.150s", cellar_last_error()->text);
    return code;
}

static void each_is_shown_once(struct cellar *db, const struct cellar_table *table, uint32_t count, bool all)
{
    struct shown shown = {.table = table, .all = all};
    ok(cellar_lab_run(db, show, &shown));
    assert_int_equal(shown.count, count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(shown.times[i], 1);
}

static const struct cellar_table *opened(struct cellar *db, const char *name, const struct cellar_column *columns,
                                         uint32_t count)
{
    const struct cellar_table *table;
    const struct cellar_table_def def = {.size = sizeof def,
                                         .row_bytes = sizeof(struct city),
                                         .name = name,
                                         .columns = columns,
                                         .column_count = count,
                                         .rows = 1000};
    ok(cellar_table_open(db, &def, 0, &table));
    return table;
}
#define OPENED(db, name, columns) opened(db, name, columns, sizeof(columns) / sizeof *(columns))

static void cities_insert(struct cellar *db, const struct cellar_table *table, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct city city = city_of(i);
        struct cellar_txn *txn = face_begun(db);
        ok(cellar_insert(txn, table, &city));
        ok(cellar_commit(txn, NULL));
    }
}

static void rows_of_all_columns_are_shown(void **state)
{
    struct cellar *db;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    const struct cellar_table *table = OPENED(db, "wide", wide);
    each_is_shown_once(db, table, 0, true);
    cities_insert(db, table, CITIES);
    each_is_shown_once(db, table, CITIES, true);
    struct cellar_txn *txn = face_begun(db);
    const struct city last = city_of(CITIES - 1);
    ok(cellar_delete(txn, table, &last));
    ok(cellar_commit(txn, NULL));
    each_is_shown_once(db, table, CITIES - 1, true);
    struct shown stopped = {.table = table, .all = true, .ends = -777};
    assert_int_equal(cellar_lab_run(db, show, &stopped), -777);
    assert_int_equal(stopped.count, 1);
    ok(cellar_close(db));
}

static int names_shown(void *arg, uint64_t key, const void *row)
{
    struct shown *shown = arg;
    const struct city *city = row;
    (void)key;
    assert_true(bytes_are_same(city->name, city_of((uint32_t)(city->zone + 100)).name));
    assert_int_equal(city->map.bytes, 0);
    assert_int_equal(city->people, 0);
    shown->count++;
    return 0;
}

static int show_names(struct cellar_lab_client *client, void *arg)
{
    struct shown *shown = arg;
    return cellar_lab_index(client) ? 0 : cellar_lab_scan(client, shown->table, names_shown, shown);
}

/* A handle that leaves columns out shows none of them, and reads none of their long values. */
static void a_view_shows_what_it_has(void **state)
{
    static const struct cellar_column keys[] = {
        {CELLAR_FIELD(struct city, zone), .flags = CELLAR_KEY},
        {CELLAR_FIELD(struct city, name), .flags = CELLAR_KEY, .bytes_max = 30},
    };
    struct cellar *db;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    cities_insert(db, OPENED(db, "wide", wide), 20);
    struct shown shown = {.table = OPENED(db, "wide", keys)};
    ok(cellar_lab_run(db, show_names, &shown));
    assert_int_equal(shown.count, 20);
    ok(cellar_close(db));
}

/* ---- loading ---- */

struct loaded {
    const struct cellar_table *table;
    uint32_t first, count;
};

static int load(struct cellar_lab_client *client, void *arg)
{
    const struct loaded *loaded = arg;
    int code = 0;
    for (uint32_t i = loaded->first; i < loaded->first + loaded->count && code == 0 && !cellar_lab_index(client); i++) {
        const struct city city = city_of(i);
        code = cellar_lab_load(client, loaded->table, 0, &city);
    }
    return code;
}

static void loaded_rows_are_there(void **state)
{
    struct cellar *db;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    const struct cellar_table *table = OPENED(db, "narrow", narrow);
    struct loaded loaded = {table, 0, CITIES};
    ok(cellar_lab_run(db, load, &loaded));
    each_is_shown_once(db, table, CITIES, false);
    loaded.first = CITIES - 1;
    loaded.count = 1;
    assert_int_equal(cellar_lab_run(db, load, &loaded), CELLAR_EXISTS);
    struct city city = {.people = 7 * 1000003u, .zone = 7 - 100};
    struct cellar_txn *txn = face_begun(db);
    ok(cellar_get(txn, table, CELLAR_ALL, 0, &city));
    assert_true(city.height == city_of(7).height && bytes_are_same(city.about, city_of(7).about));
    ok(cellar_delete(txn, table, &city));
    ok(cellar_commit(txn, NULL));
    loaded.first = 7;
    ok(cellar_lab_run(db, load, &loaded));
    each_is_shown_once(db, table, CITIES, false);
    ok(cellar_close(db));
}

static int load_too_much(struct cellar_lab_client *client, void *arg)
{
    const struct loaded *loaded = arg;
    struct city city = city_of(0);
    city.about = text_of(0, 91);
    return cellar_lab_index(client) ? 0 : cellar_lab_load(client, loaded->table, 0, &city);
}

static void what_cannot_be_loaded_is_told(void **state)
{
    static const struct cellar_column with_map[] = {{CELLAR_FIELD(struct city, people), .flags = CELLAR_KEY},
                                                    {CELLAR_FIELD(struct city, map)}};
    struct cellar *db;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    struct loaded of_wide = {OPENED(db, "wide", wide), 0, 1}, of_map = {OPENED(db, "map", with_map), 0, 1};
    struct loaded of_narrow = {OPENED(db, "narrow", narrow), 0, 1};
    assert_int_equal(cellar_lab_run(db, load, &of_wide), CELLAR_UNSUPPORTED);
    assert_int_equal(cellar_lab_run(db, load, &of_map), CELLAR_UNSUPPORTED);
    assert_int_equal(cellar_lab_run(db, load_too_much, &of_narrow), CELLAR_TOO_LARGE);
    each_is_shown_once(db, of_narrow.table, 0, false);
    ok(cellar_close(db));
}

/* ---- damage ---- */

struct extents {
    const struct cellar_table *table;
    uint64_t last;
    uint32_t count;
};

static int extent_met(void *arg, uint64_t number, const void *row)
{
    struct extents *extents = arg;
    (void)row;
    extents->last = number;
    extents->count++;
    return 0;
}

static int extents_find(struct cellar_lab_client *client, void *arg)
{
    struct extents *extents = arg;
    return cellar_lab_index(client) ? 0 : cellar_lab_scan(client, extents->table, extent_met, extents);
}

static void contradicts(struct cellar *db, const struct cellar_table *table)
{
    struct shown shown = {.table = table, .all = true};
    assert_int_equal(cellar_lab_run(db, show, &shown), CELLAR_CORRUPT);
    if (!strstr(shown.why, "a long value contradicts its extents")) fail_msg("%s", shown.why);
}

/* Another value's bytes are in an extent, and then it is gone, by calls that no program can make. */
static void a_value_without_its_extents_is_told(void **state)
{
    struct cellar *db;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    const struct cellar_table *table = OPENED(db, "wide", wide);
    cities_insert(db, table, 20);
    struct extents extents = {0};
    for (uint32_t size = 0; size < EXTENT_SIZES && !extents.count; size++) {
        extents.table = &table->table->extents[size]->handle;
        ok(cellar_lab_run(db, extents_find, &extents));
    }
    assert_true(extents.count > 0);
    struct cellar_txn *txn = face_begun(db);
    ok(cellar_txn_put(txn, extents.table, extents.last, 0, text_of(77, CELLAR_COLUMN_BYTES_MAX).data));
    ok(cellar_commit(txn, NULL));
    contradicts(db, table);
    txn = face_begun(db);
    ok(cellar_txn_delete(txn, extents.table, extents.last));
    ok(cellar_commit(txn, NULL));
    contradicts(db, table);
    ok(cellar_close(db));
}

/* ---- what is no row ---- */

static void key_made(const struct cellar_table *handle, const struct city *city, struct rowview_key *key,
                     uint8_t *record)
{
    struct cellar_error error;
    ok(rowview_key(handle->view, city, key, &error));
    const uint16_t head[] = {(uint16_t)key->bytes, 0};
    memcpy(record + handle->table->schema.columns[0].row_offset, head, sizeof head);
    memcpy(record + handle->table->schema.columns[0].row_offset + sizeof head, key->packed, key->bytes);
}

/* Of a wide key: another number than its hash, a length that it cannot have, bytes that no key is packed to. */
static void a_key_that_is_none_is_told(void **state)
{
    static const struct cellar_column keys[] = {
        {CELLAR_FIELD(struct city, name), .flags = CELLAR_KEY, .bytes_max = 30},
        {CELLAR_FIELD(struct city, zone), .flags = CELLAR_KEY},
    };
    struct cellar *db;
    struct rowview_key key;
    struct city city = city_of(7), shown;
    uint8_t record[256] = {0};
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    const struct cellar_table *table = OPENED(db, "keys", keys);
    assert_true(table->table->schema.row_bytes <= sizeof record);
    uint8_t *packed = record + table->table->schema.columns[0].row_offset + BYTEKEY_HEAD_BYTES;
    key_made(table, &city, &key, record);
    uint64_t number = bytekey_number(key.packed, key.bytes);
    assert_true(rowview_show(table->view, number, record, &shown));
    assert_true(shown.zone == city.zone && bytes_are_same(shown.name, city.name));
    assert_false(rowview_show(table->view, number + (BYTEKEY_TWIN_MASK + 1), record, &shown));
    packed[city.name.bytes] = 1; /* behind a string is nothing but zeros */
    number = bytekey_number(packed, key.bytes);
    assert_false(rowview_show(table->view, number, record, &shown));
    packed[city.name.bytes] = 0;
    record[table->table->schema.columns[0].row_offset] = (uint8_t)(key.bytes - 1);
    assert_false(rowview_show(table->view, bytekey_number(packed, key.bytes - 1), record, &shown));
    ok(cellar_close(db));
}

static void a_text_without_room_is_told(void **state)
{
    struct cellar *db;
    struct city shown;
    uint8_t record[256] = {0};
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    const struct cellar_table *table = OPENED(db, "narrow", narrow);
    const struct schema *schema = &table->table->schema;
    assert_true(schema->row_bytes <= sizeof record);
    uint8_t *about = record + schema->columns[schema_column_find(schema, "about", 5)].row_offset;
    about[0] = 90;
    assert_true(rowview_show(table->view, 7, record, &shown));
    assert_int_equal(shown.about.bytes, 90);
    about[0] = 91;
    assert_false(rowview_show(table->view, 7, record, &shown));
    about[0] = 0;
    assert_true(rowview_show(table->view, (1ull << 48) - 1, record, &shown)); /* its keys have six bytes */
    assert_false(rowview_show(table->view, 1ull << 48, record, &shown));
    ok(cellar_close(db));
}

struct finding {
    const struct cellar_table *table;
    uint64_t numbers[2];
    int found[2];
};

static int find_both(struct cellar_lab_client *client, void *arg)
{
    struct finding *finding = arg;
    struct bulk bulk = {.kind = GATE_WALK, .table = finding->table};
    struct cellar_error error;
    uint64_t row[8];
    if (cellar_lab_index(client)) return 0;
    ok(bulk_begin(&bulk, client, &error));
    for (int i = 0; i < 2; i++)
        finding->found[i] = loader_find(bulk.co, client->coordinator->worker->loader, finding->table->table,
                                        finding->numbers[i], row, &error);
    return bulk_end(&bulk, 0, &error);
}

/* Two numbers share bucket and fingerprint, and one of them has a record. */
static void a_record_is_found_by_its_own_number(void **state)
{
    static const struct cellar_column columns[] = {{CELLAR_FIELD(struct city, plan.bytes), .flags = CELLAR_KEY}};
    struct cellar *db;
    (void)state;
    ok(cellar_open(NULL, CELLAR_OPTIONS(.bytes = BYTES), &db));
    struct finding finding = {.table = OPENED(db, "numbers", columns), .numbers = {1, 2}};
    const struct index_geometry *index = &finding.table->table->index;
    while (index_fingerprint(finding.numbers[1]) != index_fingerprint(1) ||
           index_bucket_addr(index, finding.numbers[1]).bits != index_bucket_addr(index, 1).bits)
        finding.numbers[1]++;
    struct cellar_txn *txn = face_begun(db);
    ok(cellar_insert(txn, finding.table, &(struct city){.plan.bytes = 1}));
    ok(cellar_commit(txn, NULL));
    ok(cellar_lab_run(db, find_both, &finding));
    assert_int_equal(finding.found[0], 1);
    assert_int_equal(finding.found[1], 0);
    ok(cellar_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_columns_are_shown),
        cmocka_unit_test(a_view_shows_what_it_has),
        cmocka_unit_test(loaded_rows_are_there),
        cmocka_unit_test(what_cannot_be_loaded_is_told),
        cmocka_unit_test(a_value_without_its_extents_is_told),
        cmocka_unit_test(a_key_that_is_none_is_told),
        cmocka_unit_test(a_text_without_room_is_told),
        cmocka_unit_test(a_record_is_found_by_its_own_number),
    };
    return cmocka_run_group_tests_name("face_whole", tests, NULL, NULL);
}
