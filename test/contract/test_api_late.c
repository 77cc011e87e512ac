/*
 * test_api_late.c - transactions that end so long after their first read that epoch numbers may have come full circle
 * (docs/protocol.md): whole versions are compared then, of many cells and large records, too.
 */
#include "api.h"
#include "numbered.h"

#include <unistd.h>

#define CELLS 20
#define SLEEP_US 20000 /* epoch numbers of 16 bits come full circle in 7 ms at the earliest */

struct wide {
    struct api_call call;
    const struct cellar_table *table;
    uint64_t records;
    uint32_t sleep_us;
};

static int read_all(struct cellar_txn *txn, struct api_call *call)
{
    const struct wide *wide = (const struct wide *)call;
    for (uint64_t key = 0; key < wide->records; key++)
        TRY(cellar_proc_access(txn, wide->table, key, CELLAR_ALL_CELLS, 0, 0));
    TRY(cellar_proc_fetch(txn));
    usleep(wide->sleep_us);
    TRY(cellar_proc_access(txn, call->items, 1, CELL_A, 0, 0)); /* no snapshot of one moment */
    return cellar_proc_fetch(txn);
}

static int load_all(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    static const uint8_t row[CELLS * 490];
    const struct wide *wide = arg;
    int rc = 0;
    for (uint64_t key = 0; key < wide->records && rc == 0; key++) rc = db_load(client, wide->table, key, row, error);
    return rc;
}

/* Records of so many cells, each of so many bytes, read whole and late: at the first attempt, or never. */
static void read_late(struct api *api, const char *name, uint64_t records, uint32_t cells, uint32_t bytes)
{
    static const char *const names[CELLS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                             "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
    struct cellar_schema_column columns[CELLS];
    struct wide wide = {.records = records, .sleep_us = SLEEP_US};
    const struct cellar_proc *proc;
    for (uint32_t i = 0; i < cells; i++)
        columns[i] = (struct cellar_schema_column){names[i], bytes * i, bytes, CELLAR_OWN_CELL};
    const struct cellar_schema schema = {
        .name = name, .row_bytes = bytes * cells, .columns = columns, .column_count = cells, .records_max = records};
    const struct cellar_proc_def def = {.name = name, .fn = api_any, .records_max = (uint32_t)records + 1};
    MUST(&api->error, db_table_create(api->db, &schema, &wide.table, &api->error));
    MUST(&api->error, db_proc_register(api->db, &def, &proc, &api->error));
    MUST(&api->error, api_alone(api, load_all, &wide));
    wide.call = (struct api_call){.body = read_all, .items = api->items};
    struct cellar_call_options options = {.attempts_max = 3};
    assert_code(cellar_proc_run(api->db, proc, &wide, &options, &api->result), 0);
    assert_int_equal(api->result.attempts, 1);
}

static void a_late_reader_of_many_cells_commits(void **state)
{
    struct api api;
    const struct api_variant *variant = *state;
    const struct mode *mode = mode_of(variant->cc);
    if (mode->locks || mode->versions) skip(); /* they compare nothing: it is locked, or of one snapshot */
    api_open_with(&api, variant, (struct engine_config){.pool_bytes = 128 << 20});
    api_load(&api, 0, 10);
    read_late(&api, "many", 500, CELLS, 8); /* 10,000 cells */
    read_late(&api, "large", 1700, 8, 490); /* as many bytes as a coordinator has for copies, nearly */
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST_SHM(a_late_reader_of_many_cells_commits)};
    return api_main("api_late", tests, sizeof tests / sizeof *tests, argc, argv);
}
