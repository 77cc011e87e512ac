/* ycsb_core.c - the core workloads: mixes, opening, the procedures, and the client that draws operations. */
#include "ycsb_core.h"

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

/* For the estimate of the pool: a header line, two lines for each field, and the share of an index bucket. */
#define RECORD_BYTES (64 + 2 * 64 * YCSB_CORE_FIELDS)
#define INDEX_BYTES 24
#define ENTRY_BYTES 64 /* of the ordered index */

enum choice { POPULAR, LATEST };

_Static_assert(WORKLOAD_MODIFY - WORKLOAD_READ == (int)YCSB_CORE_MODIFY, "operations of a file are numbered alike");
_Static_assert(WORKLOAD_FIELDS == YCSB_CORE_FIELDS, "and have the fields of a record");

struct ycsb_core_mix {
    const char *name; /* of one letter */
    uint8_t percent[YCSB_CORE_TYPES];
    enum choice choice;
};

static const struct ycsb_core_mix mixes[] = {
    {"A", {[YCSB_CORE_READ] = 50, [YCSB_CORE_UPDATE] = 50}, POPULAR},
    {"B", {[YCSB_CORE_READ] = 95, [YCSB_CORE_UPDATE] = 5}, POPULAR},
    {"C", {[YCSB_CORE_READ] = 100}, POPULAR},
    {"D", {[YCSB_CORE_READ] = 95, [YCSB_CORE_INSERT] = 5}, LATEST},
    {"E", {[YCSB_CORE_SCAN] = 95, [YCSB_CORE_INSERT] = 5}, POPULAR},
    {"F", {[YCSB_CORE_READ] = 50, [YCSB_CORE_MODIFY] = 50}, POPULAR},
};

static const char *const type_names[YCSB_CORE_TYPES] = {[YCSB_CORE_READ] = "Read",
                                                        [YCSB_CORE_UPDATE] = "Update",
                                                        [YCSB_CORE_INSERT] = "Insert",
                                                        [YCSB_CORE_SCAN] = "Scan",
                                                        [YCSB_CORE_MODIFY] = "Read-modify-write"};

static const char *const table_names[] = {"coretable", NULL};

static const struct ycsb_core_mix *mix_of(const char *name)
{
    for (uint32_t i = 0; i < sizeof mixes / sizeof *mixes; i++)
        if (!strcmp(mixes[i].name, name)) return &mixes[i];
    return NULL;
}

double ycsb_core_share(const struct workload_run *run, enum ycsb_core_type type)
{
    return run->mix->percent[type] / 100.0;
}

/* ---- configuration ---- */

static void defaults(struct workload_config *base)
{
    struct ycsb_config *config = (struct ycsb_config *)base;
    ycsb_config_defaults(base);
    config->core = "A";
}

static int validate(const struct workload_config *base, struct cellar_error *error)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    if (!config->core || !mix_of(config->core))
        return err_set(error, CELLAR_INVALID, "YCSB has the core workloads A to F");
    if (config->records < 1 || config->records > RECORDS_MAX)
        return err_set(error, CELLAR_INVALID, "ycsb needs 1 to %llu records, not %" PRIu64, RECORDS_MAX,
                       config->records);
    if (config->scan_max < 1 || config->scan_max > YCSB_CORE_SCAN_MAX)
        return err_set(error, CELLAR_INVALID, "a scan takes 1 to %d records, not %u", YCSB_CORE_SCAN_MAX,
                       config->scan_max);
    if (!(config->theta >= 0 && config->theta < 2))
        return err_set(error, CELLAR_INVALID, "ycsb needs a theta of at least 0 and below 2, not %g", config->theta);
    return 0;
}

static bool has_scans(const struct ycsb_config *config) { return !strcmp(config->core, "E"); }

static uint64_t record_bytes(const struct ycsb_config *config)
{
    return RECORD_BYTES + INDEX_BYTES + (has_scans(config) ? ENTRY_BYTES : 0);
}

static uint64_t pool_bytes(const struct workload_config *base)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    return config->records * record_bytes(config);
}

static double growth_bytes(const struct workload_config *base)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    return (double)record_bytes(config) * mix_of(config->core)->percent[YCSB_CORE_INSERT] / 100;
}

static void describe(const struct workload_config *base, char *line, size_t bytes)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    char count[DIGITS_BYTES];
    snprintf(line, bytes, "YCSB core %s: %s records of 10 x 100 bytes, theta %g", config->core,
             digits_grouped(count, config->records), config->theta);
}

static uint32_t details(const struct workload_config *base, struct workload_detail *details)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    details[0] = (struct workload_detail){"core", config->core};
    return 1;
}

/* Of a scan with records and leaves. */
static uint64_t accesses_max(const struct workload_config *base)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    return has_scans(config) ? 11 * (uint64_t)config->scan_max : 8;
}

static uint32_t indexes(const struct workload_config *base, const char **option)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    *option = "--core E";
    return has_scans(config) ? 1 : 0;
}

/* ---- keys and fields ---- */

uint64_t ycsb_core_key(uint64_t number) { return number * KEY_FACTOR & KEY_MASK; }

/* Newton's iteration doubles the bits of the inverse that are right: three of any odd number's own are. */
uint64_t ycsb_core_number(uint64_t key)
{
    uint64_t inverse = KEY_FACTOR;
    for (int i = 0; i < 5; i++) inverse *= 2 - KEY_FACTOR * inverse;
    return key * inverse & KEY_MASK;
}

static uint64_t checksum_of(const struct ycsb_core_field *field)
{
    const uint64_t words[4] = {field->key, (uint64_t)field->field << 32 | field->writer, field->counter,
                               field->modified};
    uint64_t sum = 0x8a5cd789635d2dffull;
    for (int i = 0; i < 4; i++) {
        sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ull;
        sum ^= sum >> 32;
    }
    return sum;
}

void ycsb_core_fill(struct ycsb_core_field *field, uint64_t key, uint32_t number, uint32_t writer, uint64_t counter,
                    uint64_t modified)
{
    *field = (struct ycsb_core_field){
        .key = key, .field = number, .writer = writer, .counter = counter, .modified = modified};
    field->checksum = checksum_of(field);
    memset(field->rest, (int)(field->checksum & 0xff), sizeof field->rest);
}

bool ycsb_core_intact(const struct ycsb_core_field *field, uint64_t key, uint32_t number)
{
    if (field->key != key || field->field != number || field->checksum != checksum_of(field)) return false;
    for (uint32_t i = 0; i < sizeof field->rest; i++)
        if (field->rest[i] != (field->checksum & 0xff)) return false;
    return true;
}

/* ---- procedures ---- */

/* Cheap, since an attempt may read what never was: where the fields belong is told by their keys. */
static uint32_t foreign_in(const struct ycsb_core_row *row, uint64_t key)
{
    uint32_t foreign = 0;
    for (uint32_t i = 0; i < YCSB_CORE_FIELDS; i++) foreign += row->fields[i].key != key || row->fields[i].field != i;
    return foreign;
}

/* The record's fields as declared; NOT_FOUND: it is not there, which is no record of this workload's numbers. */
static int read_row(struct cellar_txn *txn, struct ycsb_core_args *args, cellar_cells write, int *ref)
{
    *ref = cellar_proc_access(txn, args->run->table, args->key, CELLAR_ALL_CELLS, write, 0);
    int code = *ref < 0 ? *ref : cellar_proc_fetch(txn);
    if (code == 0) code = cellar_proc_get_row(txn, *ref, &args->row);
    args->foreign = code == 0 ? foreign_in(&args->row, args->key) : 0;
    return code;
}

static int read_proc(struct cellar_txn *txn, void *argument)
{
    int ref;
    return read_row(txn, argument, 0, &ref);
}

static int put_field(struct cellar_txn *txn, const struct ycsb_core_args *args, int ref, uint64_t modified)
{
    struct ycsb_core_field field;
    ycsb_core_fill(&field, args->key, args->field, args->writer, args->counter, modified);
    return cellar_proc_put(txn, ref, args->run->columns[args->field], &field);
}

/* Blind: YCSB's update does not look at what it replaces. */
static int update_proc(struct cellar_txn *txn, void *argument)
{
    struct ycsb_core_args *args = argument;
    args->foreign = 0;
    int ref = cellar_proc_access(txn, args->run->table, args->key, 0, args->run->cells[args->field], 0);
    int code = ref < 0 ? ref : cellar_proc_fetch(txn);
    return code == 0 ? put_field(txn, args, ref, 0) : code;
}

static int modify_proc(struct cellar_txn *txn, void *argument)
{
    struct ycsb_core_args *args = argument;
    int ref, code = read_row(txn, args, args->run->cells[args->field], &ref);
    return code == 0 ? put_field(txn, args, ref, args->row.fields[args->field].modified + 1) : code;
}

static int insert_proc(struct cellar_txn *txn, void *argument)
{
    struct ycsb_core_args *args = argument;
    args->foreign = 0;
    for (uint32_t i = 0; i < YCSB_CORE_FIELDS; i++)
        ycsb_core_fill(&args->row.fields[i], args->key, i, args->writer, args->counter, 0);
    int code = cellar_proc_insert(txn, args->run->table, args->key, &args->row);
    return code < 0 ? code : cellar_proc_fetch(txn);
}

static int scan_proc(struct cellar_txn *txn, void *argument)
{
    struct ycsb_core_args *args = argument;
    const struct cellar_range range = {.low_key = args->key, .high_key = UINT64_MAX};
    uint64_t key, last = 0;
    int ref, got, cursor = cellar_proc_cursor_open(txn, args->run->by_key, &range, CELLAR_ALL_CELLS, 0, 0, args->scan);
    if (cursor < 0) return cursor;
    args->foreign = args->found = 0;
    while ((got = cellar_proc_cursor_next(txn, cursor, &key, &ref)) == 1) {
        int code = cellar_proc_get_row(txn, ref, &args->row);
        if (code < 0) return code;
        args->foreign += foreign_in(&args->row, key) + (key < args->key) + (args->found && key <= last);
        last = key;
        args->found++;
    }
    return got;
}

/* ---- opening ---- */

static int create(struct workload_run *run, uint64_t inserts, struct cellar_error *error)
{
    static const char *const names[YCSB_CORE_FIELDS] = {"field0", "field1", "field2", "field3", "field4",
                                                        "field5", "field6", "field7", "field8", "field9"};
    struct cellar_schema_column columns[YCSB_CORE_FIELDS];
    for (uint32_t i = 0; i < YCSB_CORE_FIELDS; i++)
        columns[i] =
            (struct cellar_schema_column){names[i], i * YCSB_CORE_FIELD_BYTES, YCSB_CORE_FIELD_BYTES, CELLAR_OWN_CELL};
    const struct cellar_schema schema = {.name = table_names[0],
                                         .row_bytes = sizeof(struct ycsb_core_row),
                                         .columns = columns,
                                         .column_count = YCSB_CORE_FIELDS,
                                         .records_max = run->records + inserts};
    int code = err_last(error, cellar_table_create(run->db, &schema, &run->table));
    if (code < 0) return code;
    for (uint32_t i = 0; i < YCSB_CORE_FIELDS; i++) {
        run->columns[i] = cellar_column_of(run->table, names[i]);
        run->cells[i] = cellar_cells_of(run->table, names[i]);
    }
    const struct cellar_proc_def defs[YCSB_CORE_TYPES] = {
        [YCSB_CORE_READ] = {.name = "ycsb.core.read", .fn = read_proc, .records_max = 1},
        [YCSB_CORE_UPDATE] = {.name = "ycsb.core.update", .fn = update_proc, .records_max = 1, .writes_max = 1},
        [YCSB_CORE_INSERT] = {.name = "ycsb.core.insert", .fn = insert_proc, .records_max = 1, .writes_max = 1},
        [YCSB_CORE_SCAN] = {.name = "ycsb.core.scan", .fn = scan_proc, .records_max = run->scan_max},
        [YCSB_CORE_MODIFY] = {.name = "ycsb.core.modify", .fn = modify_proc, .records_max = 1, .writes_max = 1},
    };
    for (uint32_t i = 0; code == 0 && i < YCSB_CORE_TYPES; i++)
        code = err_last(error, cellar_proc_register(run->db, &defs[i], &run->procs[i]));
    return code;
}

static void close_run(struct workload_run *run)
{
    free(atomic_load(&run->inserted));
    free(run);
}

static int open_run(struct cellar *db, const struct workload_config *base, uint64_t expected_txns,
                    struct workload_run **out, struct cellar_error *error)
{
    const struct ycsb_config *config = (const struct ycsb_config *)base;
    *out = NULL;
    int code = validate(base, error);
    if (code < 0) return code;
    struct workload_run *run = calloc(1, sizeof(*run));
    if (!run) return err_set(error, CELLAR_NOMEM, "no memory for the ycsb workload");
    run->db = db;
    run->records = config->records;
    run->scan_max = config->scan_max;
    run->operations = config->operations;
    run->mix = mix_of(config->core);
    uint64_t inserts = expected_txns / 100 * run->mix->percent[YCSB_CORE_INSERT];
    code = zipf_init(&run->zipf, run->records, config->theta);
    if (code == 0) code = create(run, inserts, error);
    if (code < 0) {
        close_run(run);
        return code;
    }
    *out = run;
    return 0;
}

static uint64_t load_rows(const struct workload_run *run) { return run->records; }

/* At rest, and before other processes take part: the index of what has been loaded. */
static int loaded(struct workload_run *run, struct cellar_error *error)
{
    static const struct cellar_schema_index by_key = {.name = "by_key"};
    if (!run->mix->percent[YCSB_CORE_SCAN]) return 0;
    return err_last(error, cellar_index_create(run->db, run->table, &by_key, &run->by_key));
}

/* ---- clients ---- */

/* Whichever client comes first makes it. */
static _Atomic uint64_t *inserted_of(struct workload_run *run, uint32_t clients)
{
    _Atomic uint64_t *known = atomic_load(&run->inserted);
    if (known) return known;
    _Atomic uint64_t *made = calloc(clients, sizeof *made);
    if (made && !atomic_compare_exchange_strong(&run->inserted, &known, made)) free(made);
    return atomic_load(&run->inserted);
}

static int client_init(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base)
{
    struct ycsb_core_client *client = (struct ycsb_core_client *)base;
    (void)self;
    if (!inserted_of(run, base->count)) return CELLAR_NOMEM;
    client->args.run = run;
    client->args.writer = base->index;
    return 0;
}

static enum ycsb_core_type draw_type(const struct workload_run *run, struct prng *prng)
{
    uint64_t percent = prng_below(prng, 100);
    enum ycsb_core_type type = 0;
    while (percent >= run->mix->percent[type]) percent -= run->mix->percent[type++];
    return type;
}

/* A record that one client has inserted not long ago; before its first one those that were loaded last. */
static uint64_t draw_latest(const struct workload_run *run, struct workload_client *base)
{
    uint64_t age = zipf_next(&run->zipf, &base->prng), client = prng_below(&base->prng, base->count);
    uint64_t inserted = atomic_load_explicit(&atomic_load(&run->inserted)[client], memory_order_acquire);
    uint64_t own_age = age / base->count;
    if (own_age < inserted) return run->records + (inserted - 1 - own_age) * base->count + client;
    return run->records - 1 - (age - inserted) % run->records;
}

static uint64_t draw_number(const struct workload_run *run, enum ycsb_core_type type, struct ycsb_core_client *client)
{
    struct workload_client *base = &client->base;
    if (type == YCSB_CORE_INSERT) return run->records + client->committed[type] * base->count + base->index;
    return run->mix->choice == LATEST ? draw_latest(run, base) : zipf_next(&run->zipf, &base->prng);
}

static struct workload_operation draw(const struct workload_run *run, struct ycsb_core_client *client)
{
    struct prng *prng = &client->base.prng;
    enum ycsb_core_type type = draw_type(run, prng);
    struct workload_operation operation = {.kind = (uint8_t)(WORKLOAD_READ + type),
                                           .record = draw_number(run, type, client)};
    operation.more = (uint32_t)prng_below(prng, YCSB_CORE_FIELDS);
    if (type == YCSB_CORE_SCAN) operation.more = 1 + (uint32_t)prng_below(prng, run->scan_max);
    return operation;
}

/* The place of the client's next operation in the list; one behind the last: there is none. */
static uint64_t place_of(const struct workload_run *run, const struct ycsb_core_client *client)
{
    uint64_t at = client->operations * client->base.count + client->base.index;
    return at < run->operations->count ? at : run->operations->count;
}

/* A record that is not inserted yet stands for one of those that were loaded last. */
static uint64_t record_there(const struct workload_run *run, const struct workload_client *base, uint64_t number)
{
    if (number < run->records) return number;
    uint64_t place = number - run->records;
    uint64_t inserted = atomic_load_explicit(&atomic_load(&run->inserted)[place % base->count], memory_order_acquire);
    return place / base->count < inserted ? number : run->records - 1 - place % run->records;
}

static struct workload_operation operation_of(struct workload_run *run, struct ycsb_core_client *client)
{
    const struct workload_operations *operations = run->operations;
    if (!operations) return draw(run, client);
    uint64_t at = place_of(run, client);
    client->operations++;
    struct workload_operation operation =
        operations->fills || at == operations->count ? draw(run, client) : operations->all[at];
    if (operations->fills && at < operations->count) operations->all[at] = operation;
    if (operation.kind == WORKLOAD_INSERT)
        operation.record = draw_number(run, YCSB_CORE_INSERT, client);
    else
        operation.record = record_there(run, &client->base, operation.record);
    return operation;
}

static int next(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base, uint32_t *type,
                const struct cellar_call_options *options, struct cellar_result *result)
{
    struct ycsb_core_client *client = (struct ycsb_core_client *)base;
    struct ycsb_core_args *args = &client->args;
    struct workload_operation operation = operation_of(run, client);
    enum ycsb_core_type drawn = (enum ycsb_core_type)(operation.kind - WORKLOAD_READ);
    bool writes = drawn != YCSB_CORE_READ && drawn != YCSB_CORE_SCAN;
    args->key = ycsb_core_key(operation.record);
    args->field = drawn == YCSB_CORE_SCAN ? 0 : operation.more;
    args->scan = drawn == YCSB_CORE_SCAN ? operation.more : 0;
    args->counter = client->writes + 1;
    *type = drawn;
    int code = cellar_lab_exec(self, run->procs[drawn], args, options, result);
    if (code < 0) return code;
    client->committed[drawn]++;
    client->writes += writes;
    client->foreign += args->foreign;
    if (drawn == YCSB_CORE_SCAN) client->scanned += args->found;
    if (drawn == YCSB_CORE_INSERT)
        atomic_store_explicit(&atomic_load(&run->inserted)[base->index], client->committed[drawn],
                              memory_order_release);
    return 0;
}

const struct workload ycsb_core_workload = {
    .name = "ycsb",
    .summary = "YCSB's core workloads A to F",
    .type_count = YCSB_CORE_TYPES,
    .types = type_names,
    .tables = table_names,
    .client_bytes = sizeof(struct ycsb_core_client),
    .config_bytes = sizeof(struct ycsb_config),
    .options = ycsb_config_options,
    .option_count = YCSB_CONFIG_OPTIONS,
    .pace = 20,
    .defaults = defaults,
    .resolve = ycsb_config_resolve,
    .operate = ycsb_config_operate,
    .validate = validate,
    .pool_bytes = pool_bytes,
    .growth_bytes = growth_bytes,
    .describe = describe,
    .details = details,
    .accesses_max = accesses_max,
    .indexes = indexes,
    .open = open_run,
    .load = ycsb_core_load,
    .load_rows = load_rows,
    .loaded = loaded,
    .client_init = client_init,
    .next = next,
    .check = ycsb_core_check,
    .close = close_run,
};
