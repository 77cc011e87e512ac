/* ycsb.c - the workload's table: configuration, opening, the two procedures, and the client that draws transactions. */
#include "ycsb.h"

#include "numbered.h"
#include "digits.h"
#include "err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX (1ull << 32)
#define REDRAWS_MAX 16 /* of a record that is already in the transaction, before a neighbour is taken */

/* For the estimate of the pool: a header line and a line for each cell, and the share of an index bucket. */
#define RECORD_BYTES 320
#define INDEX_BYTES 24

static const char *const type_names[YCSB_TYPES] = {[YCSB_READ] = "Read", [YCSB_UPDATE] = "Update"};

static const char *const table_names[] = {"usertable", NULL};

static int validate(const struct workload_config *base, struct cellar_error *error)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    if (config->per_txn < 1 || config->per_txn > YCSB_PER_TXN_MAX)
        return err_set(error, CELLAR_INVALID, "ycsb needs 1 to %d records per transaction, not %u", YCSB_PER_TXN_MAX,
                       config->per_txn);
    if (config->records < config->per_txn || config->records > RECORDS_MAX)
        return err_set(error, CELLAR_INVALID,
                       "ycsb needs %u (the records of a transaction) to %llu records, not %" PRIu64, config->per_txn,
                       RECORDS_MAX, config->records);
    if (!(config->write_ratio >= 0 && config->write_ratio <= 1))
        return err_set(error, CELLAR_INVALID, "ycsb needs a write ratio of 0 to 1, not %g", config->write_ratio);
    if (!(config->theta >= 0 && config->theta < 2))
        return err_set(error, CELLAR_INVALID, "ycsb needs a theta of at least 0 and below 2, not %g", config->theta);
    return 0;
}

static uint64_t pool_bytes(const struct workload_config *base)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    return config->records * (RECORD_BYTES + INDEX_BYTES);
}

static double growth_bytes(const struct workload_config *base)
{
    (void)base;
    return 0;
}

static void describe(const struct workload_config *base, char *line, size_t bytes)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    char count[DIGITS_BYTES];
    snprintf(line, bytes, "%s records, theta %g, %g %% updates, %u records a transaction",
             digits_grouped(count, config->records), config->theta, config->write_ratio * 100, config->per_txn);
}

static uint64_t accesses_max(const struct workload_config *base)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    return 8 * (uint64_t)config->per_txn;
}

/* Reads value i of the transaction; one from a wrong place is counted, not followed. */
static int value_get(struct cellar_txn *txn, struct ycsb_args *args, const int *refs, uint32_t i,
                     struct ycsb_value *value)
{
    int code = cellar_proc_get(txn, refs[i], args->run->columns[args->cells[i]], value);
    if (code < 0) return code;
    args->foreign += value->key != args->keys[i] || value->cell != args->cells[i];
    return 0;
}

static int declare(struct cellar_txn *txn, const struct ycsb_args *args, bool write, int *refs)
{
    const struct workload_run *run = args->run;
    for (uint32_t i = 0; i < run->per_txn; i++) {
        cellar_cells cells = run->cells[args->cells[i]];
        refs[i] = cellar_proc_access(txn, run->table, args->keys[i], cells, write ? cells : 0, 0);
        if (refs[i] < 0) return refs[i];
    }
    return cellar_proc_fetch(txn);
}

static int read_proc(struct cellar_txn *txn, void *argument)
{
    struct ycsb_args *args = argument;
    int refs[YCSB_PER_TXN_MAX];
    args->foreign = 0;
    int code = declare(txn, args, false, refs);
    for (uint32_t i = 0; code == 0 && i < args->run->per_txn; i++) {
        struct ycsb_value value;
        code = value_get(txn, args, refs, i, &value);
    }
    return code;
}

static int update_proc(struct cellar_txn *txn, void *argument)
{
    struct ycsb_args *args = argument;
    int refs[YCSB_PER_TXN_MAX];
    args->foreign = 0;
    int code = declare(txn, args, true, refs);
    for (uint32_t i = 0; code == 0 && i < args->run->per_txn; i++) {
        struct ycsb_value value;
        if ((code = value_get(txn, args, refs, i, &value)) < 0) break;
        value.key = args->keys[i];
        value.cell = args->cells[i];
        value.writer = args->writer;
        value.counter = args->counter;
        value.writes++;
        value.checksum = ycsb_checksum(&value);
        code = cellar_proc_put(txn, refs[i], args->run->columns[args->cells[i]], &value);
    }
    return code;
}

static int create(struct workload_run *run, struct cellar_error *error)
{
    static const char *const names[YCSB_CELLS] = {"cell0", "cell1", "cell2", "cell3"};
    struct cellar_schema_column columns[YCSB_CELLS];
    for (uint32_t i = 0; i < YCSB_CELLS; i++)
        columns[i] = (struct cellar_schema_column){names[i], (uint32_t)(i * sizeof(struct ycsb_value)),
                                                   sizeof(struct ycsb_value), CELLAR_OWN_CELL};
    const struct cellar_schema schema = {.name = "usertable",
                                         .row_bytes = sizeof(struct ycsb_row),
                                         .columns = columns,
                                         .column_count = YCSB_CELLS,
                                         .records_max = run->records};
    int code = err_last(error, cellar_table_create(run->db, &schema, &run->table));
    if (code < 0) return code;
    for (uint32_t i = 0; i < YCSB_CELLS; i++) {
        run->columns[i] = cellar_column_of(run->table, names[i]);
        run->cells[i] = cellar_cells_of(run->table, names[i]);
    }
    const struct cellar_proc_def defs[YCSB_TYPES] = {
        [YCSB_READ] = {.name = "ycsb.read", .fn = read_proc, .records_max = run->per_txn},
        [YCSB_UPDATE] = {.name = "ycsb.update",
                         .fn = update_proc,
                         .records_max = run->per_txn,
                         .writes_max = run->per_txn},
    };
    for (uint32_t i = 0; code == 0 && i < YCSB_TYPES; i++)
        code = err_last(error, cellar_proc_register(run->db, &defs[i], &run->procs[i]));
    return code;
}

static void close_run(struct workload_run *run) { free(run); }

static int open_run(struct cellar *db, const struct workload_config *base, uint64_t expected_txns,
                    struct workload_run **out, struct cellar_error *error)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    (void)expected_txns; /* the table does not grow */
    *out = NULL;
    int code = validate(base, error);
    if (code < 0) return code;
    struct workload_run *run = calloc(1, sizeof(*run));
    if (!run) return err_set(error, CELLAR_NOMEM, "no memory for the ycsb workload");
    run->db = db;
    run->records = config->records;
    run->per_txn = config->per_txn;
    run->update_always = config->write_ratio >= 1;
    if (!run->update_always) run->update_below = (uint64_t)(config->write_ratio * 0x1p64);
    code = zipf_init(&run->zipf, run->records, config->theta);
    if (code == 0) code = create(run, error);
    if (code < 0) {
        close_run(run);
        return code;
    }
    *out = run;
    return 0;
}

static uint64_t load_rows(const struct workload_run *run) { return run->records; }

static int client_init(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base)
{
    struct ycsb_client *client = (struct ycsb_client *)base;
    (void)self;
    client->args.run = run;
    client->args.writer = base->index;
    return 0;
}

/* The place of a key among the first `count`, which are sorted; true when it is there already. */
static bool key_place(const struct ycsb_args *args, uint32_t count, uint64_t key, uint32_t *place)
{
    uint32_t i = count;
    while (i > 0 && args->keys[i - 1] > key) i--;
    *place = i;
    return i > 0 && args->keys[i - 1] == key;
}

/* Draws the records, distinct and sorted, and a cell of each. */
static void draw(const struct workload_run *run, struct prng *prng, struct ycsb_args *args)
{
    for (uint32_t count = 0; count < run->per_txn; count++) {
        uint32_t place, redraws = 0;
        uint64_t key = zipf_next(&run->zipf, prng);
        while (key_place(args, count, key, &place)) {
            if (++redraws <= REDRAWS_MAX)
                key = zipf_next(&run->zipf, prng);
            else
                key = key + 1 < run->records ? key + 1 : 0; /* so that it ends when few records carry all the weight */
        }
        memmove(&args->keys[place + 1], &args->keys[place], (count - place) * sizeof(args->keys[0]));
        args->keys[place] = key;
    }
    for (uint32_t i = 0; i < run->per_txn; i += 32) {
        uint64_t bits = prng_next(prng);
        for (uint32_t j = i; j < run->per_txn && j < i + 32; j++, bits >>= 2) args->cells[j] = bits & (YCSB_CELLS - 1);
    }
}

static int next(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base, uint32_t *type,
                const struct cellar_call_options *options, struct cellar_result *result)
{
    struct ycsb_client *client = (struct ycsb_client *)base;
    uint32_t drawn = run->update_always || prng_next(&base->prng) < run->update_below ? YCSB_UPDATE : YCSB_READ;
    draw(run, &base->prng, &client->args);
    client->args.counter = client->committed[YCSB_UPDATE] + 1;
    *type = drawn;
    int code = cellar_lab_exec(self, run->procs[drawn], &client->args, options, result);
    if (code < 0) return code;
    client->committed[drawn]++;
    client->foreign += client->args.foreign;
    return 0;
}

static void sim_configure(struct workload_config *base, const struct workload_sim_load *load)
{
    struct ycsb_config *config = (struct ycsb_config *)base;
    config->records = load->size;
    config->write_ratio = load->accesses_max > 4 ? 1 : 0.5;
    config->per_txn = load->accesses_max < load->size ? load->accesses_max : load->size;
    config->theta = load->theta;
}

static const uint32_t sim_sizes[] = {4, 6, 10, 40, 300};
static const struct workload_sim sim = {.place = 2,
                                        .weight = 3,
                                        .sizes = sim_sizes,
                                        .size_count = sizeof sim_sizes / sizeof *sim_sizes,
                                        .configure = sim_configure};

const struct workload ycsb_workload = {
    .name = "ycsb",
    .summary = "YCSB-T: transactions on a few random cells of one table",
    .type_count = YCSB_TYPES,
    .types = type_names,
    .tables = table_names,
    .client_bytes = sizeof(struct ycsb_client),
    .config_bytes = sizeof(struct ycsb_config),
    .options = ycsb_config_options,
    .option_count = YCSB_CONFIG_OPTIONS,
    .published = {.padded = 0.4545, .metadata = 0.2727}, /* CREST, Table 1 */
    .sim = &sim,
    .defaults = ycsb_config_defaults,
    .resolve = ycsb_config_resolve,
    .operate = ycsb_config_operate,
    .validate = validate,
    .pool_bytes = pool_bytes,
    .growth_bytes = growth_bytes,
    .variant = ycsb_config_variant,
    .describe = describe,
    .accesses_max = accesses_max,
    .open = open_run,
    .load = ycsb_load,
    .load_rows = load_rows,
    .client_init = client_init,
    .next = next,
    .check = ycsb_check,
    .close = close_run,
};
