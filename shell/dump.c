/*
 * dump.c - `cellar dump POOL TABLE`: all rows of a table as CSV or JSON lines. At rest the whole table, of one moment;
 * with --index NAME in batches, beside transactions: then each batch is of a moment of its own.
 */
#include "cellar_lab.h"
#include "partial.h"
#include "rows.h"
#include "shell.h"
#include "source.h"
#include "style.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_ROWS 512
#define BATCH_ATTEMPTS 1000
#define TORN_ATTEMPTS 5

struct dump {
    struct source source;
    const char *format_name, *file, *kinds, *index_name;
    enum rows_format format;
    struct cellar *db;
    struct relation relation;
    const struct cellar_index *index; /* NULL: the whole table, at rest */
    struct cellar_range range;        /* what is left of it */
    void *last;                       /* row of the last record, if the index has columns */
    FILE *out;
    struct partial part; /* becomes `file` when it is whole; without `file` `out` is a temporary one */
    uint64_t rows;
    struct cellar_error *error;
};

#define AT(field) offsetof(struct dump, field)

static const struct option_def defs[] = {
    {.group = "What", ROWS_FORMAT(AT(format_name))},
    {.name = "out",
     .argument = "FILE",
     .help = "where to, whole or not at all",
     .fallback = "standard output",
     .kind = OPTION_TEXT,
     .offset = AT(file)},
    {SOURCE_KINDS(AT(kinds))},
    {.name = "index",
     .argument = "NAME",
     .help = "in its order, in batches, beside transactions of others; keys alone, or unique",
     .kind = OPTION_TEXT,
     .offset = AT(index_name)},
    SOURCE_OPTIONS(AT(source)),
};
static const struct options options = {.program = "cellar dump", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar dump POOL TABLE [options]\n\n"
          "Writes all rows of a table as text that `cellar load` reads back to the same bytes. The pool file, "
          "or durable\nfolder, is not changed. Without --index the rows are those of one moment.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar dump bank.pool accounts --out accounts.csv\n"
          "  cellar dump bank.pool accounts --format json | jq .cents\n"
          "  cellar dump accounts --memnodes /tmp/mn0 --cn 3 --index by_key --out accounts.jsonl\n",
          stdout);
}

/* ---- where to ---- */

static int out_open(struct dump *dump)
{
    int code = dump->file ? partial_open(&dump->part, dump->file, dump->error) : 0;
    if (code) return code;
    dump->out = dump->file ? dump->part.file : tmpfile();
    return dump->out ? 0 : err_set(dump->error, CELLAR_SYSTEM, "a temporary file: %s", strerror(errno));
}

static int out_failed(const struct dump *dump)
{
    return err_set(dump->error, CELLAR_SYSTEM, "%.160s: %s", dump->file ? dump->file : "standard output",
                   strerror(errno));
}

static int copy_to_stdout(struct dump *dump)
{
    char piece[1 << 16];
    size_t bytes;
    rewind(dump->out);
    while ((bytes = fread(piece, 1, sizeof piece, dump->out)))
        if (fwrite(piece, 1, bytes, stdout) != bytes) return out_failed(dump);
    return ferror(dump->out) ? out_failed(dump) : 0;
}

/* What was written becomes the file if all went well, else nothing of it stays. */
static int out_close(struct dump *dump, int code)
{
    if (!dump->out) return code;
    if (code == 0 && (fflush(dump->out) || ferror(dump->out))) code = out_failed(dump);
    if (dump->file && code == 0) return partial_end(&dump->part, dump->file, dump->error);
    if (dump->file) {
        partial_drop(&dump->part);
        return code;
    }
    if (code == 0) code = copy_to_stdout(dump);
    fclose(dump->out);
    return code;
}

static int begin_anew(struct dump *dump)
{
    rewind(dump->out);
    if (fflush(dump->out) || ftruncate(fileno(dump->out), 0)) return out_failed(dump);
    __atomic_store_n(&dump->rows, 0, __ATOMIC_RELAXED);
    rows_write_head(&dump->relation, dump->format, dump->out);
    return 0;
}

static int row_write(struct dump *dump)
{
    __atomic_store_n(&dump->rows, dump->rows + 1, __ATOMIC_RELAXED);
    int code = rows_write(&dump->relation, dump->format, dump->out, dump->error);
    return code == 0 && ferror(dump->out) ? out_failed(dump) : code;
}

/* ---- the whole table, at rest ---- */

static int scanned(void *arg, uint64_t key, const void *row)
{
    struct dump *dump = arg;
    memcpy(dump->relation.row, row, dump->relation.schema.row_bytes);
    dump->relation.key = key;
    return row_write(dump);
}

static int whole_client(struct cellar_lab_client *client, void *arg)
{
    struct dump *dump = arg;
    int code = CELLAR_TORN;
    for (int i = 0; i < TORN_ATTEMPTS && code == CELLAR_TORN; i++) {
        code = begin_anew(dump);
        if (code == 0) code = cellar_lab_scan(client, dump->relation.table, scanned, dump);
    }
    if (code == CELLAR_TORN)
        return err_set(dump->error, CELLAR_TORN,
                       "transactions change the pool: name an index with --index, to read in batches beside them");
    return code == dump->error->code ? code : err_last(dump->error, code); /* or a row's has said it */
}

/* ---- in batches, beside transactions ---- */

static int index_find(struct dump *dump)
{
    struct cellar_schema_index def;
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    if (!dump->index_name) return 0;
    dump->index = cellar_index_find(dump->relation.table, dump->index_name);
    if (!dump->index) return err_set(dump->error, CELLAR_NOT_FOUND, "the table has no index '%.31s'", dump->index_name);
    cellar_index_describe(dump->index, &def, columns);
    uint32_t sorted = relation_sorted(&def);
    if (sorted && !(def.flags & CELLAR_UNIQUE))
        return err_set(dump->error, CELLAR_INVALID,
                       "records may be equal in index %.31s: --index wants a unique one, or one of keys alone",
                       dump->index_name);
    if (sorted == 0 && dump->relation.keyed)
        return err_set(dump->error, CELLAR_INVALID,
                       "keys are byte strings, which index %.31s has no order of: --index wants a unique one",
                       dump->index_name);
    dump->range.high_key = UINT64_MAX;
    dump->range.low.columns = 0;
    dump->last = malloc(dump->relation.schema.row_bytes);
    return dump->last ? 0 : err_set(dump->error, CELLAR_NOMEM, "no memory for a row");
}

struct batch {
    uint64_t keys[BATCH_ROWS];
    uint8_t *rows;
    int count;
};

static int batch_read(struct dump *dump, struct cellar_txn *txn, struct batch *batch)
{
    struct relation *relation = &dump->relation;
    batch->count = cellar_txn_scan(txn, dump->index, &dump->range, CELLAR_ALL_CELLS, 0, batch->keys, BATCH_ROWS);
    int code = batch->count < 0 ? batch->count : 0;
    for (int i = 0; i < batch->count && code == 0; i++) {
        relation->key = batch->keys[i];
        code = relation_read(relation, txn);
        memcpy(batch->rows + (size_t)i * relation->schema.row_bytes, relation->row, relation->schema.row_bytes);
    }
    return code;
}

static int batch_run(struct dump *dump, struct batch *batch)
{
    int code = CELLAR_RETRY;
    for (int i = 0; i < BATCH_ATTEMPTS && code == CELLAR_RETRY; i++) {
        struct cellar_txn *txn;
        code = cellar_begin(dump->db, CELLAR_TXN(.flags = CELLAR_READ_ONLY), &txn);
        if (code) break;
        code = batch_read(dump, txn, batch);
        if (code == 0)
            code = cellar_commit(txn, NULL);
        else
            cellar_abort(txn);
    }
    return err_last(dump->error, code);
}

/* From behind the batch's last record on: false, there is nothing. */
static bool range_go_on(struct dump *dump, const struct batch *batch)
{
    struct cellar_schema_index def;
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    size_t bytes = dump->relation.schema.row_bytes;
    if (batch->count < BATCH_ROWS) return false;
    cellar_index_describe(dump->index, &def, columns);
    memcpy(dump->last, batch->rows + (size_t)(batch->count - 1) * bytes, bytes);
    uint32_t sorted = relation_sorted(&def);
    dump->range.low =
        (struct cellar_bound){.row = sorted ? dump->last : NULL, .columns = sorted, .excluded = sorted > 0};
    dump->range.low_key = batch->keys[batch->count - 1] + 1;
    return dump->range.low_key != 0 || sorted > 0;
}

static int in_batches(struct dump *dump)
{
    struct batch batch = {.rows = malloc((size_t)BATCH_ROWS * dump->relation.schema.row_bytes)};
    if (!batch.rows) return err_set(dump->error, CELLAR_NOMEM, "no memory for %d rows", BATCH_ROWS);
    int code = begin_anew(dump);
    bool more = true;
    while (code == 0 && more) {
        code = batch_run(dump, &batch);
        for (int i = 0; i < batch.count && code == 0; i++)
            code = scanned(dump, batch.keys[i], batch.rows + (size_t)i * dump->relation.schema.row_bytes);
        more = code == 0 && range_go_on(dump, &batch);
    }
    free(batch.rows);
    return code;
}

/* ---- the command ---- */

static void draw(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct dump *dump = arg;
    char rows[STYLE_BYTES];
    (void)elapsed_s;
    snprintf(line, bytes, "%s rows", style_count(rows, __atomic_load_n(&dump->rows, __ATOMIC_RELAXED)));
}

static int run(struct dump *dump, const char *table)
{
    int code = source_open(&dump->source, SOURCE_LOOK, &dump->db, dump->error);
    if (code == 0) code = relation_open(dump->db, table, dump->kinds, &dump->relation, dump->error);
    if (code == 0) code = index_find(dump);
    if (code == 0) code = out_open(dump);
    if (code == 0) code = dump->index ? in_batches(dump) : cellar_lab_run(dump->db, whole_client, dump);
    return out_close(dump, code);
}

int shell_dump(int count, char *const *arguments, struct watch *watch)
{
    static const char *const names[] = {"TABLE", NULL};
    struct cellar_error error = {0};
    struct dump dump = {.error = &error};
    const char *table;
    int code = source_parse(&options, count, arguments, names, &table, &dump, &dump.source, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    dump.format = rows_format_of(dump.format_name, dump.file);
    watch->begin(watch, &(struct watch_phase){.draw = draw, .arg = &dump});
    if (code == 0) code = run(&dump, table);
    watch->end(watch);
    int status = source_end(&dump.source, dump.db, code, &error);
    relation_close(&dump.relation);
    free(dump.last);
    if (status == COMMAND_OK && dump.file) fprintf(stderr, "%llu rows\n", (unsigned long long)dump.rows);
    return status;
}
