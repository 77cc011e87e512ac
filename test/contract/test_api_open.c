/* test_api_open.c - cellar.h: opening, tables, procedures; what is refused, by which code and in which words. */
#include "api.h"
#include "numbered.h"
#include "mode.h"
#include "rivals.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- opening ---- */

static int add_one(struct cellar_txn *txn, void *args)
{
    const struct cellar_table *table = args;
    uint64_t a = 0;
    int ref = cellar_proc_access(txn, table, 1, CELL_A, CELL_A, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get(txn, ref, ITEM_A, &a);
    a++;
    return rc ? rc : cellar_proc_put(txn, ref, ITEM_A, &a);
}

/* All zero but fabric and mode. */
static void a_zero_config_is_usable(void **state)
{
    const struct api_variant *variant = *state;
    struct engine_config config = {.fabric = variant->fabric, .cc = variant->cc};
    struct api api = {.variant = variant, .config = config};
    struct cellar_lab_pool_space space;

    assert_code(db_open(&config, &api.db, NULL), 0);
    MUST(&api.error, fabric_register_local(db_fabric(api.db), api.local, sizeof api.local));
    api.items = api_table(&api, "items", 10);
    api_load(&api, 1, 1);
    const struct cellar_proc *proc;
    struct cellar_proc_def def = {.name = "add_one", .fn = add_one, .records_max = 1, .writes_max = 1};
    assert_code(db_proc_register(api.db, &def, &proc, NULL), 0);
    assert_code(cellar_proc_run(api.db, proc, (void *)(uintptr_t)api.items, NULL, NULL), 0);
    assert_int_equal(api_totals(&api).sum_a, 4);
    cellar_lab_pool_space_read(api.db, &space);
    assert_int_equal(space.pool_bytes, 64u << 20);
    assert_true(space.fixed_bytes > 4 * (128u << 10) && space.fixed_bytes < space.used_bytes);
    assert_true(space.used_bytes < space.pool_bytes);
    api_close(&api);
    cellar_close(NULL);
}

static void the_default_is_mode_cellar_on_shm(void **state)
{
    struct cellar *db;
    (void)state;
    assert_code(db_open(&(struct engine_config){0}, &db, NULL), 0);
    assert_string_equal(mode_of(db->config.cc)->name, "cellar");
    assert_string_equal(db_fabric(db)->ops->name, "shm");
    assert_int_equal(db_fabric(db)->mn_count, 1);
    cellar_close(db);
}

#define CONFIG(...)                                                                                                    \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* It needs memory nodes that listen; a build without libibverbs says first that it has no such fabric. */
static void verbs_need_more(void **state)
{
    struct engine_config config = {.fabric = "verbs"};
    struct cellar *db = NULL;
    struct cellar_error error = {0};
    (void)state;
    assert_true(db_open(&config, &db, &error) < 0);
    assert_non_null(strstr(error.text, "verbs fabric"));
    assert_null(db);
}

static void configs_that_cannot_be_are_refused(void **state)
{
    static const struct {
        struct engine_config config;
        int code;
        const char *word;
    } bad[] = {
        {CONFIG(.fabric = ""), CELLAR_INVALID, "no fabric"},
        {CONFIG(.cc = (enum cellar_lab_cc)7), CELLAR_INVALID, "concurrency control"},
        {CONFIG(.cc = (enum cellar_lab_cc) - 1), CELLAR_INVALID, "concurrency control"},
        {CONFIG(.cns = 256), CELLAR_INVALID, "at most 255"},
        {CONFIG(.cns = UINT32_MAX), CELLAR_INVALID, "at most 255"},
        {CONFIG(.cn_index = 1), CELLAR_INVALID, "compute-node index"},
        {CONFIG(.cn_index = UINT32_MAX, .memnodes = "/nonexistent"), CELLAR_INVALID, "at most 255"},
        {CONFIG(.mns = 65), CELLAR_INVALID, "65 memory nodes: at most 64"},
        {CONFIG(.mns = UINT32_MAX), CELLAR_INVALID, "at most 64"},
        {CONFIG(.replicas = 1), CELLAR_INVALID, "1 backups need 2 memory nodes, there are 1"},
        {CONFIG(.replicas = 3, .mns = 3), CELLAR_INVALID, "need 4 memory nodes"},
        {CONFIG(.replicas = UINT32_MAX, .mns = 2), CELLAR_INVALID, "memory nodes, there are 2"},
        {CONFIG(.threads = 257), CELLAR_INVALID, "at most"},
        {CONFIG(.threads = UINT32_MAX), CELLAR_INVALID, "at most"},
        {CONFIG(.threads = 129), CELLAR_INVALID, "at most 128"},
        {CONFIG(.coros = 257), CELLAR_INVALID, "at most"},
        {CONFIG(.coros = UINT32_MAX), CELLAR_INVALID, "at most"},
        {CONFIG(.fabric = "sim", .cns = 200, .threads = 100, .coros = 4), CELLAR_INVALID, "too many"},
        {CONFIG(.cc = CELLAR_LAB_CC_TWOPL, .lock = "mutex"), CELLAR_INVALID, "no lock algorithm is called 'mutex'"},
        {CONFIG(.cc = CELLAR_LAB_CC_TWOPL, .lock = ""), CELLAR_INVALID, "no lock algorithm is called ''"},
        {CONFIG(.cc = CELLAR_LAB_CC_TWOPL, .lock_policy = "fairest"), CELLAR_INVALID, "has no policy 'fairest'"},
        {CONFIG(.cc = CELLAR_LAB_CC_TWOPL, .lock = "mcs", .lock_policy = "x"), CELLAR_INVALID, "mcs has no policies"},
        {CONFIG(.cc = CELLAR_LAB_CC_TWOPL, .lock = "netlock"), CELLAR_UNSUPPORTED, "locks in a switch"},
        {CONFIG(.cc = CELLAR_LAB_CC_TWOPL, .lock = "rpc"), CELLAR_UNSUPPORTED, "needs a lock server"},
        {CONFIG(.cc = CELLAR_LAB_CC_CELL, .lock = "mcs"), CELLAR_INVALID, "mode cell has locks of its own"},
        {CONFIG(.pool_bytes = 1), CELLAR_INVALID, "a pool of 1 bytes: at least 1048576"},
        {CONFIG(.pool_bytes = 1ull << 47), CELLAR_NOMEM, "make the pool smaller"},
        {CONFIG(.pool_bytes = UINT64_MAX), CELLAR_INVALID, "bytes"},
        {CONFIG(.fabric = "sim", .pool_bytes = UINT64_MAX), CELLAR_INVALID, "bytes"},
        {CONFIG(.rtt_ns = UINT64_MAX), CELLAR_INVALID, "a delay of 18446744073709551615 ns"},
        {CONFIG(.log_bytes = 1000), CELLAR_INVALID, "log segments of 1000 bytes"},
        {CONFIG(.log_bytes = UINT64_MAX), CELLAR_INVALID, "log segments"},
        {CONFIG(.pool_path = "/nonexistent/pool", .mns = 2), CELLAR_INVALID, "pool file"},
        {CONFIG(.pool_path = "/nonexistent/pool", .memnodes = "/x"), CELLAR_INVALID, "pool file"},
        {CONFIG(.pool_path = "/nonexistent/pool"), CELLAR_SYSTEM, "/nonexistent/pool"},
        {CONFIG(.pool_path = "/tmp"), CELLAR_INVALID, "/tmp: "},
        {CONFIG(.pool_path = ""), CELLAR_SYSTEM, "pool file"},
        {CONFIG(.memnodes = "/nonexistent/socket"), CELLAR_UNREACHABLE, "/nonexistent/socket"},
        {CONFIG(.fabric = "sim", .pool_path = "/nonexistent/pool"), CELLAR_INVALID, "sim"},
        {CONFIG(.fabric = "sim", .memnodes = "/nonexistent/pool"), CELLAR_INVALID, "sim"},
        {CONFIG(.fabric = "sim", .rtt_ns = 1), CELLAR_INVALID, "sim"},
        /* that the memory cannot hold */
        {CONFIG(.pool_bytes = 1 << 20, .coros = 200), CELLAR_FULL, "log segment"},
        {CONFIG(.fabric = "sim", .pool_bytes = 1 << 20, .coros = 200), CELLAR_FULL, "log segment"},
        {CONFIG(.pool_bytes = 1 << 20, .log_bytes = 16 << 20), CELLAR_FULL, "log segment"},
        {CONFIG(.pool_bytes = 2 << 20, .mns = 32, .replicas = 31), CELLAR_INVALID, "with 31 backups"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i].config.cc == CELLAR_LAB_CC_TWOPL && !mode_of(CELLAR_LAB_CC_TWOPL)) continue;
        struct cellar *db = (struct cellar *)state; /* must be set to NULL */
        struct cellar_error error = {0};
        int rc = db_open(&bad[i].config, &db, &error);
        if (rc != bad[i].code || error.code != bad[i].code || !strstr(error.text, bad[i].word) || db)
            fail_msg("config %zu: %d, \"%s\"; wanted %d with \"%s\"", i, rc, error.text, bad[i].code, bad[i].word);
        assert_int_equal(db_open(&bad[i].config, &db, NULL), rc);
        assert_null(db);
    }
}

/* ---- tables ---- */

static struct cellar_schema item_schema(const char *name)
{
    return (struct cellar_schema){name, sizeof(struct item), item_columns, ITEM_COLUMNS, 100, 0, 0, 0, 0, 0};
}

static void tables_are_made_once(void **state)
{
    struct api api;
    const struct cellar_table *again, *other;
    api_open_bare(&api, *state, (struct engine_config){0});
    assert_null(cellar_table_find(api.db, "items"));
    api.items = api_table(&api, "items", 100);
    struct cellar_schema schema = item_schema("items");
    MUST(&api.error, db_table_create(api.db, &schema, &again, &api.error));
    assert_ptr_equal(again, api.items);
    assert_ptr_equal(cellar_table_find(api.db, "items"), api.items);
    assert_null(cellar_table_find(api.db, "item"));
    assert_null(cellar_table_find(api.db, ""));
    other = api_table(&api, "others", 100);
    assert_ptr_not_equal(other, api.items);
    assert_int_equal(cellar_column_of(api.items, "a"), ITEM_A);
    assert_int_equal(cellar_column_of(api.items, "n"), ITEM_N);
    assert_true(cellar_column_of(api.items, "m") < 0);
    assert_int_equal(cellar_cells_of(api.items, "a"), CELL_A);
    assert_int_equal(cellar_cells_of(api.items, "n, b ,text"), CELL_N | CELL_B | CELL_TEXT);
    assert_int_equal(cellar_cells_of(api.items, "a,zzz"), CELLAR_CELLS_UNKNOWN);
    assert_int_equal(cellar_cells_of(api.items, ""), CELLAR_CELLS_UNKNOWN);
    assert_int_equal(cellar_cells_of(api.items, " , "), CELLAR_CELLS_UNKNOWN);
    api_audit_clean(&api);
    api_close(&api);
}

static void another_schema_of_the_same_name_is_a_mismatch(void **state)
{
    struct api api;
    const struct cellar_table *out;
    struct cellar_schema_column columns[ITEM_COLUMNS];
    api_open_bare(&api, *state, (struct engine_config){0});
    api_table(&api, "items", 100);
    for (int i = 0; i < 7; i++) {
        struct cellar_schema schema = item_schema("items");
        memcpy(columns, item_columns, sizeof columns);
        schema.columns = columns;
        if (i == 0) schema.records_max = 101;
        if (i == 1) schema.cluster_bits = 1;
        if (i == 2) schema.column_count = 3;
        if (i == 3) schema.row_bytes += 8;
        if (i == 4) columns[1].name = "bb";
        if (i == 5) columns[2].bytes = 100;
        if (i == 6) columns[0].cell = columns[1].cell = 0;
        FAILS(&api.error, db_table_create(api.db, &schema, &out, &api.error), CELLAR_MISMATCH, "table items");
        assert_null(out);
    }
    api_close(&api);
}

static void schemas_that_cannot_be_are_refused(void **state)
{
    struct api api;
    const struct cellar_table *out;
    static const char *const words[] = {"two columns named a",
                                        "columns a and b overlap",
                                        "outside the row",
                                        "column text has 4097",
                                        "column n has 0",
                                        "1 to 31",
                                        "1 to 31",
                                        "records_max is 0",
                                        "cluster_bits is 9",
                                        "a row of 0 bytes",
                                        "65 columns",
                                        "column number 3",
                                        "records_max is",
                                        "cell -2",
                                        "has 0 columns"};
    static struct cellar_schema_column columns[CELLAR_COLUMNS_MAX + 1];
    api_open_bare(&api, *state, (struct engine_config){0});
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct cellar_schema schema = item_schema("items");
        memcpy(columns, item_columns, sizeof item_columns);
        schema.columns = columns;
        if (i == 0) columns[1].name = "a"; /* twice */
        if (i == 1) columns[1].offset = 4; /* within a */
        if (i == 2) columns[2].offset = sizeof(struct item) - 10;
        if (i == 3) columns[2].bytes = CELLAR_COLUMN_BYTES_MAX + 1, schema.row_bytes = 8000;
        if (i == 4) columns[3].bytes = 0;
        if (i == 5) schema.name = "a_table_of_a_name_of_too_many_bytes";
        if (i == 6) schema.name = "";
        if (i == 7) schema.records_max = 0;
        if (i == 8) schema.cluster_bits = 9;
        if (i == 9) schema.row_bytes = 0;
        if (i == 10) {
            schema.column_count = CELLAR_COLUMNS_MAX + 1;
            schema.row_bytes = CELLAR_COLUMNS_MAX + 1;
            for (uint32_t c = 0; c < schema.column_count; c++) columns[c] = (struct cellar_schema_column){"x", c, 1, 0};
        }
        if (i == 11) columns[3].name = "a_column_of_a_name_of_too_many_bytes";
        if (i == 12) schema.records_max = UINT64_MAX;
        if (i == 13) columns[3].cell = -2;
        if (i == 14) schema.column_count = 0;
        FAILS(&api.error, db_table_create(api.db, &schema, &out, &api.error), CELLAR_INVALID, words[i]);
        assert_null(out);
    }
    assert_null(cellar_table_find(api.db, "items"));
    api_table(&api, "items", 100);
    api_audit_clean(&api);
    api_close(&api);
}

static struct cellar_schema_column byte_columns[CELLAR_COLUMNS_MAX];
static char byte_names[CELLAR_COLUMNS_MAX][8];

/* `count` columns of one byte, each in its own cell. */
static struct cellar_schema byte_schema(const char *name, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        snprintf(byte_names[i], sizeof byte_names[i], "c%u", i);
        byte_columns[i] = (struct cellar_schema_column){byte_names[i], i, 1, CELLAR_OWN_CELL};
    }
    return (struct cellar_schema){name, count, byte_columns, count, 10, 0, 0, 0, 0, 0};
}

static void more_cells_than_tags_are_refused(void **state)
{
    struct api api;
    const struct cellar_table *out;
    api_open_bare(&api, *state, (struct engine_config){.cns = 8, .coros = 1});
    struct cellar_schema schema = byte_schema("wide", CELLAR_CELLS_MAX + 1);
    FAILS(&api.error, db_table_create(api.db, &schema, &out, &api.error), CELLAR_INVALID, "21 cells");
    schema = byte_schema("wide", CELLAR_CELLS_MAX); /* tags of 3 bits name 7 */
    FAILS(&api.error, db_table_create(api.db, &schema, &out, &api.error), CELLAR_INVALID,
          "20 cells can name 7 compute nodes, but there may be 8");
    for (uint32_t i = 0; i < CELLAR_CELLS_MAX; i++) byte_columns[i].cell = (int32_t)(i / 2);
    MUST(&api.error, db_table_create(api.db, &schema, &out, &api.error));
    api_close(&api);

    api_open_bare(&api, *state, (struct engine_config){.cns = 7, .coros = 1});
    schema = byte_schema("wide", CELLAR_CELLS_MAX);
    MUST(&api.error, db_table_create(api.db, &schema, &out, &api.error));
    assert_int_equal(cellar_cells_of(out, "c0,c19"), 1u | 1u << 19);
    api_close(&api);
}

/* Many more than fit: a clear end, and those made before are whole. */
static void two_hundred_tables_end_in_full(void **state)
{
    struct api api;
    const struct cellar_table *out;
    char name[CELLAR_NAME_BYTES];
    uint32_t made = 0;
    api_open_bare(&api, *state, (struct engine_config){.coros = 1, .pool_bytes = 32u << 20});
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "a_table_of_quite_long_name_%u", i);
        struct cellar_schema schema = item_schema(name);
        int rc = db_table_create(api.db, &schema, &out, &api.error);
        if (rc == 0)
            made++;
        else
            FAILS(&api.error, db_table_create(api.db, &schema, &out, &api.error), CELLAR_FULL, name);
    }
    assert_int_equal(made, LAYOUT_CATALOG_TABLES_MAX);
    snprintf(name, sizeof name, "a_table_of_quite_long_name_%u", made - 1);
    api.items = cellar_table_find(api.db, name);
    assert_non_null(api.items);
    api_load(&api, 0, 50);
    assert_int_equal(api_totals(&api).seen, 50);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- procedures ---- */

static int nothing(struct cellar_txn *txn, void *args)
{
    (void)txn, (void)args;
    return 0;
}

static void procedures_beyond_the_limits_are_refused(void **state)
{
    struct api api;
    const struct cellar_proc *out;
    static const struct {
        struct cellar_proc_def def;
        int code;
        const char *word;
    } bad[] = {
        {{.name = "p", .records_max = 1}, CELLAR_INVALID, "function"},
        {{.fn = nothing, .records_max = 1}, CELLAR_INVALID, "name"},
        {{.name = "", .fn = nothing, .records_max = 1}, CELLAR_INVALID, "name"},
        {{.name = "a_procedure_of_a_name_of_32_bytes", .fn = nothing, .records_max = 1}, CELLAR_INVALID, "name"},
        {{.name = "p", .fn = nothing}, CELLAR_TOO_LARGE, "0 records"},
        {{.name = "p", .fn = nothing, .records_max = 1, .writes_max = 2}, CELLAR_INVALID, "writes 2 records of 1"},
        {{.name = "p", .fn = nothing, .records_max = 2049}, CELLAR_TOO_LARGE, "2049 records"},
        {{.name = "p", .fn = nothing, .records_max = UINT32_MAX}, CELLAR_TOO_LARGE, "records"},
        {{.name = "p", .fn = nothing, .records_max = 2048, .writes_max = 2048}, CELLAR_TOO_LARGE, "bytes of log"},
        {{.name = "p", .fn = nothing, .records_max = 9, .log_bytes_max = 66000}, CELLAR_TOO_LARGE, "66000 bytes"},
        {{.name = "p", .fn = nothing, .records_max = 9, .log_bytes_max = UINT64_MAX}, CELLAR_TOO_LARGE, "bytes"},
        {{.name = "any", .fn = nothing, .records_max = 1}, CELLAR_EXISTS, "any"},
    };
    api_open(&api, *state);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FAILS(&api.error, db_proc_register(api.db, &bad[i].def, &out, &api.error), bad[i].code, bad[i].word);
        assert_null(out);
    }
    /* What is read is not logged: the largest one is possible. */
    struct cellar_proc_def def = {.name = "p", .fn = nothing, .records_max = CELLAR_TXN_RECORDS_MAX};
    MUST(&api.error, db_proc_register(api.db, &def, &out, &api.error));
    assert_code(cellar_proc_run(api.db, out, NULL, NULL, &api.result), 0);
    assert_int_equal(api.result.attempts, 1);
    api_close(&api);
}

static void names_are_copied(void **state)
{
    struct api api;
    char name[CELLAR_NAME_BYTES] = "first";
    const struct cellar_table *table;
    const struct cellar_proc *proc;
    api_open_bare(&api, *state, (struct engine_config){0});
    struct cellar_schema schema = item_schema(name);
    struct cellar_proc_def def = {.name = name, .fn = nothing, .records_max = 1};
    MUST(&api.error, db_table_create(api.db, &schema, &table, &api.error));
    MUST(&api.error, db_proc_register(api.db, &def, &proc, &api.error));
    strcpy(name, "second");
    assert_ptr_equal(cellar_table_find(api.db, "first"), table);
    assert_null(cellar_table_find(api.db, "second"));
    MUST(&api.error, db_proc_register(api.db, &def, &proc, &api.error));
    api_close(&api);
}

/* ---- texts ---- */

static void codes_have_texts(void **state)
{
    char version[32];
    (void)state;
#define X(name, number, text) assert_string_equal(cellar_strerror(CELLAR_##name), text);
    CELLAR_ERROR_MAP(X)
#undef X
    assert_non_null(cellar_strerror(12345));
    assert_non_null(cellar_strerror(INT32_MIN));
    assert_int_equal(CELLAR_DROPPED, -19);
    assert_string_equal(cellar_lab_abort_name(CELLAR_ABORT_LOCK_BUSY), "lock_busy");
    assert_non_null(cellar_lab_abort_name(CELLAR_ABORT_REASONS));
    snprintf(version, sizeof version, "%d.%d.%d", CELLAR_VERSION_MAJOR, CELLAR_VERSION_MINOR, CELLAR_VERSION_PATCH);
    assert_string_equal(cellar_version(), version);
}

struct lines {
    uint32_t count;
    char last[200];
};

static void take_line(void *arg, enum cellar_log_level level, const char *text)
{
    struct lines *lines = arg;
    lines->count += level >= CELLAR_LOG_DEBUG && level <= CELLAR_LOG_ERROR;
    snprintf(lines->last, sizeof lines->last, "%s", text);
}

static void an_open_is_logged(void **state)
{
    struct api api;
    struct lines lines = {0};
    api_open_bare(&api, *state, (struct engine_config){.log = take_line, .log_arg = &lines});
    assert_true(lines.count > 0 && lines.last[0]);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(a_zero_config_is_usable),
        API_TEST_ONCE(the_default_is_mode_cellar_on_shm),
        API_TEST_ONCE(verbs_need_more),
        API_TEST_ONCE(configs_that_cannot_be_are_refused),
        API_TEST(tables_are_made_once),
        API_TEST(another_schema_of_the_same_name_is_a_mismatch),
        API_TEST(schemas_that_cannot_be_are_refused),
        API_TEST(more_cells_than_tags_are_refused),
        API_TEST(two_hundred_tables_end_in_full),
        API_TEST(procedures_beyond_the_limits_are_refused),
        API_TEST(names_are_copied),
        API_TEST_ONCE(codes_have_texts),
        API_TEST(an_open_is_logged),
    };
    return api_main("api_open", tests, sizeof tests / sizeof *tests, argc, argv);
}
