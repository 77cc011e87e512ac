/* peer_cells.c - Cellar's database: one table, a cell for each balance or value. */
#include "peer_cells.h"

/* A record of four cells of 40 bytes as laid out, its share of the index and of what grows. */
#define RECORD_BYTES 512
#define FIXED_BYTES (64ull << 20)
#define CLIENTS_MOST 128          /* that have a worker, or an interactive transaction, of their own */
#define CLIENT_BYTES (1ull << 20) /* a log, and slots that a worker keeps */

static int table_open(struct cells *cells)
{
    static const char *const names[] = {"cell0", "cell1", "cell2", "cell3"};
    const struct peer_work *work = cells->setup.work;
    struct cellar_column columns[5] = {{CELLAR_FIELD(struct cells_row, key), .flags = CELLAR_KEY}};
    for (uint32_t i = 0; i < work->columns; i++)
        columns[1 + i] = (struct cellar_column){
            .name = names[i],
            .offset = (uint32_t)offsetof(struct cells_row, row) + i * work->column_bytes,
            .bytes = work->column_bytes,
            .type = CELLAR_FIXED,
        };
    const struct cellar_table_def def = {.size = sizeof def,
                                         .row_bytes = sizeof(struct cells_row),
                                         .name = "records",
                                         .columns = columns,
                                         .column_count = 1 + work->columns,
                                         .rows = cells->setup.records};
    return cellar_table_open(cells->db, &def, 0, &cells->table);
}

int cells_refused(void) { return peer_fail("Cellar: %s", cellar_last_error()->text); }

uint64_t cells_pool_bytes(const struct peer_setup *setup)
{
    return FIXED_BYTES + setup->records * RECORD_BYTES +
           (setup->clients < CLIENTS_MOST ? setup->clients : CLIENTS_MOST) * CLIENT_BYTES;
}

int cells_open(struct cells *cells, const struct peer_setup *setup, uint32_t threads, uint32_t txns)
{
    cells->setup = *setup;
    int code = cellar_open(setup->durable ? setup->folder : NULL,
                           CELLAR_OPTIONS(.bytes = cells_pool_bytes(setup), .threads = threads, .txns_max = txns,
                                          .lab = CELLAR_LAB(.coros = 1, .way = setup->way)),
                           &cells->db);
    if (code == 0 && (code = table_open(cells)) < 0) cells_close(cells);
    return code < 0 ? cells_refused() : 0;
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
        struct cells_row row = {.key = key};
        peer_work_load(loading->cells->setup.work, key, &row.row);
        int code = cellar_lab_load(self, loading->cells->table, 0, &row);
        if (code < 0) return cells_refused();
    }
    return 0;
}

int cells_load(void *arg)
{
    struct cells *cells = arg;
    struct loading loading = {.cells = cells};
    int code = cellar_lab_run(cells->db, load_share, &loading);
    if (code < 0) return code;
    return cells->setup.durable && cellar_sync(cells->db, 0) ? cells_refused() : 0;
}

struct reading {
    struct cells *cells;
    void (*fn)(void *arg, uint64_t key, const union peer_row *row);
    void *arg;
};

static int read_row(void *arg, uint64_t key, const void *row)
{
    struct reading *reading = arg;
    const struct cells_row *read = row;
    (void)key;
    reading->fn(reading->arg, read->key, &read->row);
    return 0;
}

static int read_all(struct cellar_lab_client *self, void *arg)
{
    struct reading *reading = arg;
    if (cellar_lab_index(self)) return 0;
    int code = cellar_lab_scan(self, reading->cells->table, read_row, reading);
    return code < 0 ? cells_refused() : 0;
}

int cells_each(void *arg, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *fn_arg)
{
    struct cells *cells = arg;
    struct reading reading = {cells, fn, fn_arg};
    int code = cellar_lab_run(cells->db, read_all, &reading);
    if (code < 0) return code;
    return cellar_cluster_audit(cells->db) ? cells_refused() : 0;
}

int cells_fail(const struct cellar_result *result)
{
    struct cellar_error error;
    cellar_proc_error(result, &error);
    return peer_fail("Cellar: %s", error.text);
}
