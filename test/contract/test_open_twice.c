/*
 * test_open_twice.c - one pool opened twice by one process: refused in one line where the two would be the same compute
 * nodes; the first goes on.
 */
#include "cellar.h"
#include "schemadef.h"
#include "contract_shm.h"
#include "db_open.h"
#include "db_schema.h"
#include "engine_config.h"

#include <stdlib.h>

#define WORDS 64

static const struct contract_shape shape = {.mn_count = 2, .cn_count = 8, .mn_bytes = 8 << 20};

static struct cellar *opened(const struct engine_config *config)
{
    struct cellar *db;
    struct cellar_error error = {0};
    if (db_open(config, &db, &error) != 0) fail_msg("%s", error.text);
    return db;
}

static void is_refused(const struct engine_config *config, const char *word)
{
    struct cellar *db;
    struct cellar_error error = {0};
    assert_int_equal(db_open(config, &db, &error), CELLAR_EXISTS);
    assert_null(db);
    if (!strstr(error.text, word)) fail_msg("'%s' does not say '%s'", error.text, word);
}

/* Its workers, pulse and messages are still its own. */
static void works(struct cellar *db, const char *name)
{
    const struct cellar_schema_column column = {.name = "word", .bytes = 8};
    const struct cellar_schema schema = {name, 8, &column, 1, WORDS, 0, 0, 0, 0, 0};
    const struct cellar_table *table;
    struct cellar_error error = {0};
    if (db_table_create(db, &schema, &table, &error) != 0) fail_msg("%s", error.text);
}

static void a_process_is_a_compute_node_once(void **state)
{
    struct contract_memnodes memnodes;
    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct engine_config first = {.memnodes = memnodes.paths, .mns = 2, .replicas = 1, .cn_index = 2, .cns = 2};
    struct cellar *db = opened(&first), *beside;
    const struct {
        uint32_t cn_index, cns;
    } taken[] = {{2, 2}, {2, 1}, {3, 1}, {3, 2}, {1, 2}, {0, 8}};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct engine_config again = first;
        again.cn_index = taken[i].cn_index;
        again.cns = taken[i].cns;
        is_refused(&again, "compute nodes 2..3 are another database of this process");
    }
    works(db, "first");
    struct engine_config other = first;
    other.cn_index = 4;
    beside = opened(&other);
    works(beside, "beside");
    cellar_close(db);
    db = opened(&first); /* the index is free again at once */
    works(db, "again");
    cellar_close(beside);
    cellar_close(db);
    contract_memnodes_stop(&memnodes);
}

static void a_pool_file_is_open_once(void **state)
{
    char folder[] = "/tmp/cellar-twice-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pool", folder);
    struct engine_config config = {.pool_path = path, .pool_bytes = 8 << 20, .cns_max = 1};
    struct cellar *db = opened(&config);
    is_refused(&config, "in use by another database");
    works(db, "first");
    cellar_close(db);
    db = opened(&config);
    is_refused(&config, "in use by another database");
    cellar_close(db);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_a_compute_node_once),
        cmocka_unit_test(a_pool_file_is_open_once),
    };
    alarm(60); /* an open that waits for its own process never ends */
    return cmocka_run_group_tests_name("contract.open_twice", tests, NULL, NULL);
}
