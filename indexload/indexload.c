/* indexload.c - mixes, opening, the procedures, and the client that draws operations. */
#include "indexload.h"

#include "numbered.h"
#include "digits.h"
#include "err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX (1ull << 32)
#define KEY_MASK ((1ull << 56) - 1)
#define KEY_FACTOR 0x9e3779b97f4a7c15ull /* odd */
#define RECORD_BYTES 256 /* for the estimate of the pool: with entry and shares of buckets, nodes and free places */

static const struct {
    const char *name;
    uint8_t percent[INDEXLOAD_TYPES];
} mixes[] = {
    {"mixed",
     {[INDEXLOAD_LOOKUP] = 40,
      [INDEXLOAD_INSERT] = 10,
      [INDEXLOAD_UPDATE] = 20,
      [INDEXLOAD_DELETE] = 10,
      [INDEXLOAD_SCAN] = 20}},
    {"lookup", {[INDEXLOAD_LOOKUP] = 100}},
    {"insert", {[INDEXLOAD_INSERT] = 100}},
    {"update", {[INDEXLOAD_UPDATE] = 100}},
    {"delete", {[INDEXLOAD_DELETE] = 100}},
    {"scan", {[INDEXLOAD_SCAN] = 100}},
    {"update-heavy", {[INDEXLOAD_LOOKUP] = 50, [INDEXLOAD_UPDATE] = 50}},
    {"search-mostly", {[INDEXLOAD_LOOKUP] = 95, [INDEXLOAD_UPDATE] = 5}},
};

static const char *const type_names[INDEXLOAD_TYPES] = {[INDEXLOAD_LOOKUP] = "Lookup",
                                                        [INDEXLOAD_INSERT] = "Insert",
                                                        [INDEXLOAD_UPDATE] = "Update",
                                                        [INDEXLOAD_DELETE] = "Delete",
                                                        [INDEXLOAD_SCAN] = "Scan"};

static const char *const table_names[] = {"entries", "entries/by_key", NULL};

static const uint8_t *percent_of(const char *name)
{
    for (uint32_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        if (strcmp(mixes[i].name, name) == 0) return mixes[i].percent;
    return NULL;
}

/* ---- configuration ---- */

static const char *const operations[] = {"mixed", "lookup",       "insert",        "update", "delete",
                                         "scan",  "update-heavy", "search-mostly", NULL};

#define AT(field) offsetof(struct indexload_config, field)

static const struct option_def own_options[] = {
    {.name = "records",
     .argument = "N",
     .help = "records",
     .fallback = "100000",
     .kind = OPTION_NUMBER,
     .offset = AT(records)},
    {.name = "operation",
     .help = "what transactions do, one operation each",
     .fallback = "mixed",
     .kind = OPTION_CHOICE,
     .offset = AT(operation),
     .choices = operations},
    {.name = "scan-max",
     .argument = "N",
     .help = "records of a scan, at most",
     .fallback = "100",
     .kind = OPTION_COUNT,
     .offset = AT(scan_max),
     .min = 1,
     .max = INDEXLOAD_SCAN_MAX},
    {.name = "sorted",
     .help = "keys ascend, so that inserts are at the end; else they are spread",
     .kind = OPTION_FLAG,
     .offset = AT(sorted)},
    {.name = "rows",
     .help = "lookups and scans read the records, not the values that the index covers",
     .kind = OPTION_FLAG,
     .offset = AT(rows)},
    {.name = "theta",
     .argument = "T",
     .help = "skew of the Zipf distribution, 0 (uniform) to below 2",
     .fallback = "0.99",
     .kind = OPTION_REAL,
     .offset = AT(theta),
     .max = 1.999999},
};

static void defaults(struct workload_config *base)
{
    struct indexload_config *config = (struct indexload_config *)base;
    config->records = 100000;
    config->theta = 0.99;
    config->scan_max = 100;
    config->operation = mixes[0].name;
}

static int validate(const struct workload_config *base, struct cellar_error *error)
{
    const struct indexload_config *config = (const struct indexload_config *)base;
    if (!percent_of(config->operation))
        return err_set(error, CELLAR_INVALID, "there are no operations '%.40s'", config->operation);
    if (config->records < 1 || config->records > RECORDS_MAX)
        return err_set(error, CELLAR_INVALID, "index needs 1 to %llu records, not %" PRIu64, RECORDS_MAX,
                       config->records);
    if (config->scan_max < 1 || config->scan_max > INDEXLOAD_SCAN_MAX)
        return err_set(error, CELLAR_INVALID, "a scan takes 1 to %d records, not %u", INDEXLOAD_SCAN_MAX,
                       config->scan_max);
    if (!(config->theta >= 0 && config->theta < 2))
        return err_set(error, CELLAR_INVALID, "index needs a theta of at least 0 and below 2, not %g", config->theta);
    return 0;
}

static uint64_t pool_bytes(const struct workload_config *base)
{
    const struct indexload_config *config = (const struct indexload_config *)base;
    return config->records * RECORD_BYTES;
}

static double growth_bytes(const struct workload_config *base)
{
    const struct indexload_config *config = (const struct indexload_config *)base;
    return RECORD_BYTES * percent_of(config->operation)[INDEXLOAD_INSERT] / 100.0;
}

static void describe(const struct workload_config *base, char *line, size_t bytes)
{
    const struct indexload_config *config = (const struct indexload_config *)base;
    char count[DIGITS_BYTES];
    snprintf(line, bytes, "%s: %s entries of 16 bytes, theta %g%s%s", config->operation,
             digits_grouped(count, config->records), config->theta, config->sorted ? ", keys ascend" : "",
             config->rows ? ", with the records" : "");
}

static uint32_t details(const struct workload_config *base, struct workload_detail *details)
{
    const struct indexload_config *config = (const struct indexload_config *)base;
    details[0] = (struct workload_detail){"operation", config->operation};
    return 1;
}

/* A scan's entries and records, and the leaves that it reads. */
static uint64_t accesses_max(const struct workload_config *base)
{
    const struct indexload_config *config = (const struct indexload_config *)base;
    return 16 + 2 * (uint64_t)config->scan_max;
}

static uint32_t indexes(const struct workload_config *base, const char **option)
{
    (void)base;
    *option = "index";
    return 1;
}

/* ---- keys and values ---- */

static uint64_t key_of(const struct workload_run *run, uint64_t number)
{
    return run->sorted ? number : number * KEY_FACTOR & KEY_MASK;
}

uint64_t indexload_value(uint64_t key)
{
    uint64_t hash = (key ^ key >> 32) * 0xff51afd7ed558ccdull;
    return (hash ^ hash >> 29) & ~INDEXLOAD_UPDATES_MASK;
}

static bool is_foreign(uint64_t key, uint64_t value)
{
    return (value & ~INDEXLOAD_UPDATES_MASK) != indexload_value(key);
}

/* ---- procedures ---- */

/* A range from the key on, of so many records: by their entries alone, or with the records. */
static int range_proc(struct cellar_txn *txn, struct indexload_args *args, uint64_t high, uint32_t most)
{
    const struct cellar_range range = {.low_key = args->key, .high_key = high};
    const bool rows = args->run->rows;
    uint64_t key, last = 0, value = 0;
    int ref, got,
        cursor = cellar_proc_cursor_open(txn, args->run->by_key, &range, rows ? CELLAR_ALL_CELLS : 0, 0, 0, most);
    if (cursor < 0) return cursor;
    args->foreign = args->found = 0;
    while ((got = cellar_proc_cursor_next(txn, cursor, &key, &ref)) == 1) {
        int code = rows ? cellar_proc_get(txn, ref, 0, &value) : cellar_proc_cursor_row(txn, cursor, &value);
        if (code < 0) return code;
        args->foreign += is_foreign(key, value) + (key < args->key) + (args->found && key <= last);
        last = key;
        args->found++;
    }
    return got;
}

static int lookup_proc(struct cellar_txn *txn, void *argument)
{
    struct indexload_args *args = argument;
    return range_proc(txn, args, args->key, 1);
}

static int scan_proc(struct cellar_txn *txn, void *argument)
{
    struct indexload_args *args = argument;
    return range_proc(txn, args, UINT64_MAX, args->scan);
}

static int insert_proc(struct cellar_txn *txn, void *argument)
{
    struct indexload_args *args = argument;
    const uint64_t value = indexload_value(args->key);
    args->foreign = 0;
    args->found = 1;
    int ref = cellar_proc_insert(txn, args->run->table, args->key, &value);
    return ref < 0 ? ref : cellar_proc_fetch(txn);
}

/* Of a record that may have gone; *value: what it has. 1: it is there. */
static int record_read(struct cellar_txn *txn, struct indexload_args *args, cellar_cells write, uint32_t flags,
                       int *ref, uint64_t *value)
{
    args->foreign = args->found = 0;
    *ref = cellar_proc_access(txn, args->run->table, args->key, CELLAR_ALL_CELLS, write, CELLAR_OPTIONAL | flags);
    int code = *ref < 0 ? *ref : cellar_proc_fetch(txn);
    if (code < 0 || !cellar_proc_found(txn, *ref)) return code;
    code = cellar_proc_get(txn, *ref, 0, value);
    if (code < 0) return code;
    args->foreign = is_foreign(args->key, *value);
    args->found = 1;
    return 1;
}

static int update_proc(struct cellar_txn *txn, void *argument)
{
    uint64_t value;
    int ref, code = record_read(txn, argument, CELLAR_ALL_CELLS, 0, &ref, &value);
    if (code <= 0) return code;
    value++;
    return cellar_proc_put(txn, ref, 0, &value);
}

static int delete_proc(struct cellar_txn *txn, void *argument)
{
    struct indexload_args *args = argument;
    uint64_t value;
    int ref, code = record_read(txn, args, 0, CELLAR_DELETE, &ref, &value);
    args->dropped = code == 1 ? value & INDEXLOAD_UPDATES_MASK : 0;
    return code < 0 ? code : 0;
}

/* ---- opening ---- */

static int create(struct workload_run *run, uint64_t inserts, struct cellar_error *error)
{
    static const struct cellar_schema_column columns[] = {{"value", 0, sizeof(uint64_t), CELLAR_OWN_CELL}};
    const struct cellar_schema schema = {.name = table_names[0],
                                         .row_bytes = sizeof(uint64_t),
                                         .columns = columns,
                                         .column_count = 1,
                                         .records_max = run->records + inserts};
    const struct cellar_proc_def defs[INDEXLOAD_TYPES] = {
        [INDEXLOAD_LOOKUP] = {.name = "index.lookup", .fn = lookup_proc, .records_max = 1},
        [INDEXLOAD_INSERT] = {.name = "index.insert", .fn = insert_proc, .records_max = 1, .writes_max = 1},
        [INDEXLOAD_UPDATE] = {.name = "index.update", .fn = update_proc, .records_max = 1, .writes_max = 1},
        [INDEXLOAD_DELETE] = {.name = "index.delete", .fn = delete_proc, .records_max = 1, .writes_max = 1},
        [INDEXLOAD_SCAN] = {.name = "index.scan", .fn = scan_proc, .records_max = run->scan_max},
    };
    int code = err_last(error, cellar_table_create(run->db, &schema, &run->table));
    for (uint32_t i = 0; code == 0 && i < INDEXLOAD_TYPES; i++)
        code = err_last(error, cellar_proc_register(run->db, &defs[i], &run->procs[i]));
    return code;
}

static void close_run(struct workload_run *run) { free(run); }

static int open_run(struct cellar *db, const struct workload_config *base, uint64_t expected_txns,
                    struct workload_run **out, struct cellar_error *error)
{
    const struct indexload_config *config = (const struct indexload_config *)base;
    *out = NULL;
    int code = validate(base, error);
    if (code < 0) return code;
    struct workload_run *run = calloc(1, sizeof(*run));
    if (!run) return err_set(error, CELLAR_NOMEM, "no memory for the workload index");
    run->db = db;
    run->records = config->records;
    run->scan_max = config->scan_max;
    run->sorted = config->sorted;
    run->rows = config->rows;
    run->percent = percent_of(config->operation);
    code = zipf_init(&run->zipf, run->records, config->theta);
    if (code == 0) code = create(run, expected_txns / 100 * run->percent[INDEXLOAD_INSERT], error);
    if (code < 0) {
        close_run(run);
        return code;
    }
    *out = run;
    return 0;
}

static uint64_t load_rows(const struct workload_run *run) { return run->records; }

static int load(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress,
                struct cellar_error *error)
{
    uint64_t index = cellar_lab_index(self), count = cellar_lab_count(self);
    uint64_t end = run->records * (index + 1) / count;
    for (uint64_t number = run->records * index / count; number < end; number++) {
        const uint64_t key = key_of(run, number), value = indexload_value(key);
        int code = err_last(error, cellar_lab_load(self, run->table, key, &value));
        if (code < 0) return code;
        __atomic_fetch_add(progress, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

static int loaded(struct workload_run *run, struct cellar_error *error)
{
    static const struct cellar_schema_index_column columns[] = {{"value", CELLAR_COVERED, false}};
    static const struct cellar_schema_index by_key = {.name = "by_key", .columns = columns, .column_count = 1};
    return err_last(error, cellar_index_create(run->db, run->table, &by_key, &run->by_key));
}

/* ---- clients ---- */

static int client_init(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base)
{
    (void)self;
    ((struct indexload_client *)base)->args.run = run;
    return 0;
}

/* Where there are both inserts and deletes a client has them by turns, so that popular records stay. */
static enum indexload_type draw_type(const struct workload_run *run, struct indexload_client *client)
{
    uint64_t percent = prng_below(&client->base.prng, 100);
    enum indexload_type type = 0;
    while (percent >= run->percent[type]) percent -= run->percent[type++];
    bool both = run->percent[INDEXLOAD_INSERT] && run->percent[INDEXLOAD_DELETE];
    if (!both || (type != INDEXLOAD_INSERT && type != INDEXLOAD_DELETE)) return type;
    return client->taken < client->committed[INDEXLOAD_INSERT] ? INDEXLOAD_DELETE : INDEXLOAD_INSERT;
}

/* A client inserts its own numbers, and deletes them again; one that inserts none deletes by popularity. */
static uint64_t draw_number(const struct workload_run *run, enum indexload_type type, struct indexload_client *client)
{
    const uint64_t inserted = client->committed[INDEXLOAD_INSERT];
    uint64_t own = type == INDEXLOAD_INSERT ? inserted : client->taken;
    if (type == INDEXLOAD_INSERT || (type == INDEXLOAD_DELETE && client->taken < inserted))
        return run->records + own * client->base.count + client->base.index;
    return zipf_next(&run->zipf, &client->base.prng);
}

static int next(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base, uint32_t *type,
                const struct cellar_call_options *options, struct cellar_result *result)
{
    struct indexload_client *client = (struct indexload_client *)base;
    struct indexload_args *args = &client->args;
    enum indexload_type drawn = draw_type(run, client);
    bool own = drawn == INDEXLOAD_DELETE && client->taken < client->committed[INDEXLOAD_INSERT];
    args->key = key_of(run, draw_number(run, drawn, client));
    args->scan = drawn == INDEXLOAD_SCAN ? 1 + (uint32_t)prng_below(&base->prng, run->scan_max) : 0;
    *type = drawn;
    int code = cellar_lab_exec(self, run->procs[drawn], args, options, result);
    if (code < 0) return code;
    client->committed[drawn]++;
    client->found[drawn] += args->found;
    client->foreign += args->foreign;
    client->taken += own;
    if (drawn == INDEXLOAD_DELETE) client->dropped += args->dropped;
    return 0;
}

const struct workload indexload_workload = {
    .name = "index",
    .summary = "one operation on an ordered index a transaction",
    .type_count = INDEXLOAD_TYPES,
    .types = type_names,
    .tables = table_names,
    .client_bytes = sizeof(struct indexload_client),
    .config_bytes = sizeof(struct indexload_config),
    .options = own_options,
    .option_count = sizeof own_options / sizeof *own_options,
    .pace = 20,
    .defaults = defaults,
    .validate = validate,
    .pool_bytes = pool_bytes,
    .growth_bytes = growth_bytes,
    .describe = describe,
    .details = details,
    .accesses_max = accesses_max,
    .indexes = indexes,
    .open = open_run,
    .load = load,
    .load_rows = load_rows,
    .loaded = loaded,
    .client_init = client_init,
    .next = next,
    .check = indexload_check,
    .close = close_run,
};
