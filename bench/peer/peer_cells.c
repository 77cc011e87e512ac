/* peer_cells.c - Cellar's database: one table, a cell for each balance or value. */
#include "peer_cells.h"

/* A record of four cells of 40 bytes as laid out, its share of the index and of what grows. */
#define RECORD_BYTES 512
#define FIXED_BYTES (64ull << 20)
#define CLIENTS_MOST 128          /* that have a worker, or a session, of their own */
#define CLIENT_BYTES (1ull << 20) /* a log, and slots that a worker keeps */

static int table_create(struct cells *cells, struct cellar_error *error)
{
    static const char *const names[] = {"cell0", "cell1", "cell2", "cell3"};
    const struct peer_work *work = cells->setup.work;
    struct cellar_column columns[4];
    for (uint32_t i = 0; i < work->columns; i++)
        columns[i] = (struct cellar_column){names[i], i * work->column_bytes, work->column_bytes, CELLAR_OWN_CELL};
    const struct cellar_schema schema = {.name = "records",
                                         .row_bytes = work->row_bytes,
                                         .columns = columns,
                                         .column_count = work->columns,
                                         .records_max = cells->setup.records};
    return cellar_table_create(cells->db, &schema, &cells->table, error);
}

uint64_t cells_pool_bytes(const struct peer_setup *setup)
{
    return FIXED_BYTES + setup->records * RECORD_BYTES +
           (setup->clients < CLIENTS_MOST ? setup->clients : CLIENTS_MOST) * CLIENT_BYTES;
}

int cells_open(struct cells *cells, const struct peer_setup *setup, struct cellar_config *config)
{
    struct cellar_error error = {0};
    cells->setup = *setup;
    config->pool_bytes = cells_pool_bytes(setup);
    config->way = setup->way;
    config->durable = setup->durable ? setup->folder : NULL;
    int code = cellar_open(config, &cells->db, &error);
    if (code == 0 && (code = table_create(cells, &error)) < 0) cells_close(cells);
    return code < 0 ? peer_fail("Cellar: %s", error.text) : 0;
}

void cells_close(struct cells *cells) { cellar_close(cells->db); }

struct loading {
    struct cells *cells;
    struct cellar_error error;
};

static int load_share(struct cellar_lab_client *self, void *arg)
{
    struct loading *loading = arg;
    uint64_t records = loading->cells->setup.records;
    uint32_t index = cellar_lab_index(self), count = cellar_lab_count(self);
    for (uint64_t key = records * index / count; key < records * (index + 1) / count; key++) {
        union peer_row row;
        struct cellar_error error;
        peer_work_load(loading->cells->setup.work, key, &row);
        int code = cellar_lab_load(self, loading->cells->table, key, &row, &error);
        if (code < 0) return peer_fail("Cellar: %s", error.text);
    }
    return 0;
}

int cells_load(void *arg)
{
    struct cells *cells = arg;
    struct loading loading = {.cells = cells};
    struct cellar_error error = {0};
    int code = cellar_lab_run(cells->db, load_share, &loading);
    if (code < 0) return code;
    if (cells->setup.durable && cellar_wait_durable(cells->db, NULL, &error))
        return peer_fail("Cellar: %s", error.text);
    return 0;
}

struct reading {
    struct cells *cells;
    void (*fn)(void *arg, uint64_t key, const union peer_row *row);
    void *arg;
};

static int read_row(void *arg, uint64_t key, const void *row)
{
    struct reading *reading = arg;
    union peer_row copy;
    peer_work_copy(reading->cells->setup.work, (uint8_t)((1u << reading->cells->setup.work->columns) - 1), &copy, row);
    reading->fn(reading->arg, key, &copy);
    return 0;
}

static int read_all(struct cellar_lab_client *self, void *arg)
{
    struct reading *reading = arg;
    struct cellar_error error = {0};
    if (cellar_lab_index(self)) return 0;
    int code = cellar_lab_scan(self, reading->cells->table, read_row, reading, &error);
    if (code == 0) code = cellar_cluster_audit(self, &error);
    return code < 0 ? peer_fail("Cellar: %s", error.text) : 0;
}

int cells_each(void *arg, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *fn_arg)
{
    struct cells *cells = arg;
    struct reading reading = {cells, fn, fn_arg};
    return cellar_lab_run(cells->db, read_all, &reading);
}

int cells_fail(const struct cellar_result *result)
{
    struct cellar_error error;
    cellar_proc_error(result, &error);
    return peer_fail("Cellar: %s", error.text);
}
