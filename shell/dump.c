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
#define BUSY_ATTEMPTS 5

struct dump {
    struct source source;
    const char *format_name, *file, *kinds, *index_name;
    enum rows_format format;
    struct cellar *db;
    struct relation relation;
    struct relation_order order; /* with --index */
    void *last;                  /* the row that was written last, with its BYTES; NULL: none */
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
     .help = "in its order, in batches, beside transactions of others; key: that of an ordered table's key",
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
          "  cellar dump accounts --memnodes /tmp/mn0 --cn 3 --index key --out accounts.jsonl\n",
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
    (void)key;
    relation_use(&dump->relation, row);
    return row_write(dump);
}

static int whole_client(struct cellar_lab_client *client, void *arg)
{
    struct dump *dump = arg;
    int code = CELLAR_BUSY;
    for (int i = 0; i < BUSY_ATTEMPTS && code == CELLAR_BUSY; i++) {
        code = begin_anew(dump);
        if (code == 0) code = cellar_lab_scan(client, dump->relation.table, scanned, dump);
    }
    if (code == CELLAR_BUSY)
        return err_set(dump->error, CELLAR_BUSY,
                       "transactions change the pool: name an index with --index, to read in batches beside them");
    return code == dump->error->code ? code : err_last(dump->error, code); /* or a row's has said it */
}

/* ---- in batches, beside transactions ---- */

struct batch {
    struct dump *dump;
    uint8_t *rows; /* as the cursor gives them */
    void *kept[BATCH_ROWS];
    int count;
};

static void batch_drop(struct batch *batch)
{
    for (int i = 0; i < batch->count; i++) free(batch->kept[i]);
    batch->count = 0;
}

static int batch_keep(struct batch *batch, int count)
{
    const struct relation *relation = &batch->dump->relation;
    for (batch->count = 0; batch->count < count; batch->count++) {
        void *copy = relation_copy(relation, batch->rows + (size_t)batch->count * relation->def.row_bytes);
        if (!copy) return CELLAR_NOMEM;
        batch->kept[batch->count] = copy;
    }
    return 0;
}

/* The rows behind the last one of the batch before. */
static int batch_read(struct cellar_txn *txn, void *arg)
{
    struct batch *batch = arg;
    const struct dump *dump = batch->dump;
    struct cellar_scan scan = relation_scan(&dump->relation, &dump->order);
    struct cellar_cursor *cursor;
    batch_drop(batch);
    scan.after = dump->last;
    int code = cellar_cursor_open(txn, &scan, &cursor);
    if (code) return code;
    int count = (cellar_cursor_next)(cursor, BATCH_ROWS, batch->rows, dump->relation.def.row_bytes);
    return count < 0 ? count : batch_keep(batch, count);
}

/* Until it commits, or others come between again and again. */
static int batch_run(struct batch *batch)
{
    static const struct cellar_txn_options reading = {
        .size = sizeof reading, .flags = CELLAR_READ_ONLY, .attempts_max = BATCH_ATTEMPTS};
    struct dump *dump = batch->dump;
    return err_last(dump->error, cellar_run(dump->db, batch_read, batch, &reading, NULL));
}

/* Writes the batch; false in *more: it was the last one. */
static int batch_write(struct batch *batch, bool *more)
{
    struct dump *dump = batch->dump;
    int code = 0;
    for (int i = 0; i < batch->count && code == 0; i++) code = scanned(dump, 0, batch->kept[i]);
    *more = batch->count == BATCH_ROWS;
    if (code || !*more) return code;
    free(dump->last);
    dump->last = batch->kept[--batch->count];
    return 0;
}

static int in_batches(struct dump *dump)
{
    struct batch batch = {.dump = dump, .rows = malloc((size_t)BATCH_ROWS * dump->relation.def.row_bytes)};
    if (!batch.rows) return err_set(dump->error, CELLAR_NOMEM, "no memory for %d rows", BATCH_ROWS);
    int code = begin_anew(dump);
    for (bool more = true; code == 0 && more;) {
        code = batch_run(&batch);
        if (code == 0) code = batch_write(&batch, &more);
    }
    batch_drop(&batch);
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
    if (code == 0 && dump->index_name)
        code = relation_order_find(&dump->relation, dump->index_name, &dump->order, dump->error);
    if (code == 0) code = out_open(dump);
    if (code == 0) code = dump->index_name ? in_batches(dump) : cellar_lab_run(dump->db, whole_client, dump);
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
