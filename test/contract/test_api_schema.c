/*
 * test_api_schema.c - cellar.h: tables and indexes that tell what they are, and pools that are only looked at
 * (engine_config.pool_private).
 */
#include "api.h"
#include "numbered.h"
#include "db_index.h"
#include "rivals.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL_BYTES (8u << 20)

/* ---- schemas ---- */

struct wide {
    int32_t rank;
    char name[12];
    uint64_t a, b, pair[2];
    uint8_t byte;
};

static const struct cellar_schema_column wide_columns[] = {
    CELLAR_COLUMN_IN(3, struct wide, rank), CELLAR_COLUMN_IN(7, struct wide, name), CELLAR_COLUMN_IN(3, struct wide, a),
    CELLAR_COLUMN(struct wide, b),          CELLAR_COLUMN(struct wide, pair),       CELLAR_COLUMN(struct wide, byte),
};
#define WIDE_COLUMNS (sizeof wide_columns / sizeof *wide_columns)

/* Both tables, in the order in which they were made, and no others. */
static void tables_are_listed(void **state)
{
    struct api api;
    const struct cellar_table *wide;
    const struct cellar_schema schema = {"wide", sizeof(struct wide), wide_columns, WIDE_COLUMNS, 700, 3, 0, 0, 0, 0};
    api_open(&api, *state);
    assert_ptr_equal(cellar_schema_next(api.db, NULL), api.items);
    assert_null(cellar_schema_next(api.db, api.items));
    MUST(&api.error, db_table_create(api.db, &schema, &wide, &api.error));
    assert_ptr_equal(cellar_schema_next(api.db, api.items), wide);
    assert_null(cellar_schema_next(api.db, wide));
    api_close(&api);
}

/* What a table says of itself makes it again: the same one here, and one like it under another name. */
static void a_table_tells_its_schema(void **state)
{
    struct api api;
    const struct cellar_table *wide, *again;
    const struct cellar_schema schema = {"wide", sizeof(struct wide), wide_columns, WIDE_COLUMNS, 700, 3, 0, 0, 0, 0};
    struct cellar_schema told;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    api_open(&api, *state);
    MUST(&api.error, db_table_create(api.db, &schema, &wide, &api.error));
    cellar_schema_describe(wide, &told, columns);
    assert_string_equal(told.name, "wide");
    assert_int_equal(told.row_bytes, sizeof(struct wide));
    assert_int_equal(told.column_count, WIDE_COLUMNS);
    assert_int_equal(told.records_max, 700);
    assert_int_equal(told.cluster_bits, 3);
    for (uint32_t i = 0; i < WIDE_COLUMNS; i++) {
        assert_string_equal(told.columns[i].name, wide_columns[i].name);
        assert_int_equal(told.columns[i].offset, wide_columns[i].offset);
        assert_int_equal(told.columns[i].bytes, wide_columns[i].bytes);
    }
    assert_int_equal(told.columns[0].cell, told.columns[2].cell); /* these share one */
    assert_int_not_equal(told.columns[0].cell, told.columns[1].cell);
    MUST(&api.error, db_table_create(api.db, &told, &again, &api.error));
    assert_ptr_equal(again, wide);
    told.name = "twin";
    MUST(&api.error, db_table_create(api.db, &told, &again, &api.error));
    assert_ptr_not_equal(again, wide);
    columns[0].bytes = 2;
    told.name = "wide";
    FAILS(&api.error, db_table_create(api.db, &told, &again, &api.error), CELLAR_MISMATCH, "wide");
    api_close(&api);
}

static void an_index_tells_its_definition(void **state)
{
    static const struct cellar_schema_index_column by[] = {{"b", CELLAR_SORT_SIGNED, true},
                                                           {"text", CELLAR_SORT_BYTES, false}};
    const struct cellar_schema_index_column one[] = {{"a", CELLAR_SORT_UNSIGNED, false}};
    struct api api;
    const struct cellar_index *first, *second, *again;
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    struct cellar_schema_index def = {.name = "by_b", .columns = by, .column_count = 1, .flags = 0}, told;
    const struct api_variant *variant = *state;
    if (variant->cc == CELLAR_LAB_CC_MOTOR) skip();
    api_open_with(&api, variant, (struct engine_config){.log_bytes = 1 << 20, .pool_bytes = 32 << 20});
    assert_null(cellar_index_next(api.items, NULL));
    MUST(&api.error, db_index_create(api.db, api.items, &def, &first, &api.error));
    def = (struct cellar_schema_index){.name = "by_a", .columns = one, .column_count = 1, .flags = CELLAR_UNIQUE};
    MUST(&api.error, db_index_create(api.db, api.items, &def, &second, &api.error));
    assert_ptr_equal(cellar_index_next(api.items, NULL), first);
    assert_ptr_equal(cellar_index_next(api.items, first), second);
    assert_null(cellar_index_next(api.items, second));
    assert_null(cellar_schema_next(api.db, api.items)); /* its nodes are no table of the user's */
    cellar_index_describe(second, &told, columns);
    assert_string_equal(told.name, "by_a");
    assert_int_equal(told.flags, CELLAR_UNIQUE);
    cellar_index_describe(first, &told, columns);
    assert_int_equal(told.column_count, 1);
    assert_string_equal(columns[0].column, "b");
    assert_int_equal(columns[0].sort, CELLAR_SORT_SIGNED);
    assert_true(columns[0].descending);
    MUST(&api.error, db_index_create(api.db, api.items, &told, &again, &api.error));
    assert_ptr_equal(again, first);
    columns[0].descending = false;
    FAILS(&api.error, db_index_create(api.db, api.items, &told, &again, &api.error), CELLAR_MISMATCH, "by_b");
    api_close(&api);
}

/* ---- a look at a pool ---- */

struct place {
    char folder[40], path[64];
    uint8_t *bytes; /* of the file, as they were */
};

static void bytes_read(const char *path, uint8_t *bytes)
{
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, POOL_BYTES, 0), POOL_BYTES);
    close(fd);
}

static void place_make(struct place *place)
{
    strcpy(place->folder, "/tmp/cellar-look-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/pool", place->folder);
    place->bytes = malloc(POOL_BYTES);
    assert_non_null(place->bytes);
}

static void place_keep(struct place *place) { bytes_read(place->path, place->bytes); }

/* The file is as it was when it was kept. */
static void place_is_unchanged(const struct place *place)
{
    uint8_t *now = malloc(POOL_BYTES);
    assert_non_null(now);
    bytes_read(place->path, now);
    assert_memory_equal(now, place->bytes, POOL_BYTES);
    free(now);
}

static void place_remove(struct place *place)
{
    free(place->bytes);
    unlink(place->path);
    assert_int_equal(rmdir(place->folder), 0);
}

static struct engine_config config_of(const struct place *place, const struct api_variant *variant, bool private)
{
    return (struct engine_config){.cc = variant->cc,
                                  .pool_path = place->path,
                                  .pool_private = private,
                                  .pool_bytes = POOL_BYTES,
                                  .threads = 1,
                                  .coros = 1};
}

struct row {
    struct api_call call;
    uint64_t key;
};

static int row_delete(struct cellar_txn *txn, struct api_call *call)
{
    TRY(cellar_proc_access(txn, call->items, ((struct row *)call)->key, 0, 0, CELLAR_DELETE));
    return cellar_proc_fetch(txn);
}

static void rows_delete(struct api *api, uint64_t first, uint64_t count)
{
    for (uint64_t key = first; key < first + count; key++) {
        struct row row = {.key = key};
        assert_code(api_run(api, row_delete, &row), 0);
    }
}

/* Changes of one that only looks are its own, and gone when it closes. */
static void a_private_pool_leaves_the_file(void **state)
{
    struct api api;
    struct place place;
    place_make(&place);
    api_open_with(&api, *state, config_of(&place, *state, false));
    api_load(&api, 0, 200);
    api_close(&api);
    place_keep(&place);
    assert_int_equal(chmod(place.path, 0400), 0);
    for (int round = 0; round < 2; round++) {
        api_open_with(&api, *state, config_of(&place, *state, true));
        assert_int_equal(api_totals(&api).seen, 200);
        rows_delete(&api, 0, 50);
        assert_int_equal(api_totals(&api).seen, 150);
        api_audit_clean(&api);
        api_close(&api);
        place_is_unchanged(&place);
    }
    place_remove(&place);
}

/* A process dies with it open: who only looks at it recovers its own copy. */
static void a_private_pool_is_recovered(void **state)
{
    struct api api;
    struct place place;
    place_make(&place);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        api_open_with(&api, *state, config_of(&place, *state, false));
        api_load(&api, 0, 200);
        rows_delete(&api, 100, 30);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    place_keep(&place);
    api_open_with(&api, *state, config_of(&place, *state, true));
    assert_int_equal(api_totals(&api).seen, 170);
    api_audit_clean(&api);
    api_close(&api);
    place_is_unchanged(&place);
    api_open_with(&api, *state, config_of(&place, *state, false)); /* nor is it recovered by that */
    assert_int_equal(api_totals(&api).seen, 170);
    api_close(&api);
    place_remove(&place);
}

/* Several may look at once; none while it is in use, and none may use it meanwhile. */
static void lookers_share_a_pool(void **state)
{
    struct api api, first, second;
    struct place place;
    struct cellar *none;
    place_make(&place);
    struct engine_config use = config_of(&place, *state, false), look = config_of(&place, *state, true);
    look.existing = true;
    FAILS(&api.error, db_open(&look, &none, &api.error), CELLAR_NOT_FOUND, "there is no pool");
    assert_int_equal(access(place.path, F_OK), -1); /* none is made */
    api_open_with(&api, *state, use);
    api_load(&api, 0, 10);
    FAILS(&api.error, db_open(&look, &none, &api.error), CELLAR_EXISTS, "in use");
    api_close(&api);
    api_open_with(&first, *state, look);
    api_open_with(&second, *state, look);
    FAILS(&api.error, db_open(&use, &none, &api.error), CELLAR_EXISTS, "in use");
    rows_delete(&first, 0, 5);
    assert_int_equal(api_totals(&second).seen, 10);
    api_close(&first);
    api_close(&second);
    look.pool_path = NULL;
    FAILS(&api.error, db_open(&look, &none, &api.error), CELLAR_INVALID, "pool_private");
    place_remove(&place);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(tables_are_listed),
        API_TEST(a_table_tells_its_schema),
        API_TEST(an_index_tells_its_definition),
        API_TEST_SHM(a_private_pool_leaves_the_file),
        API_TEST_SHM(a_private_pool_is_recovered),
        API_TEST_SHM(lookers_share_a_pool),
    };
    return api_main("api_schema", tests, sizeof tests / sizeof *tests, argc, argv);
}
