/*
 * load.c - `cellar load POOL TABLE`: rows from CSV or JSON lines, by transactions of many rows each, beside others. A
 * file is read twice: nothing is loaded before all of it has been found right.
 */
#include "progress.h"
#include "rows.h"
#include "shell.h"
#include "source.h"
#include "style.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH_ROWS 500
#define BATCH_BYTES (128u << 10) /* of log entries: a fourth of what the segment that source.c asks for takes */
#define ROW_BYTES_BESIDE 160     /* of an entry for a row, beside its columns; ten times that for each index */

struct load {
    struct source source;
    const char *format_name, *file, *kinds;
    bool check_only;
    struct cellar *db;
    struct relation relation;
    FILE *in;
    struct rows_reader *reader;
    uint32_t batch_max, batch_count;
    uint8_t *batch; /* rows */
    uint64_t keys[BATCH_ROWS], lines[BATCH_ROWS];
    uint64_t rows, loaded; /* read in this pass, and committed */
    uint64_t at, bytes;    /* of the file; 0: not known */
    bool checking;
    struct cellar_error *error;
};

#define AT(field) offsetof(struct load, field)

static const struct option_def defs[] = {
    {.group = "What", ROWS_FORMAT(AT(format_name))},
    {.name = "in",
     .argument = "FILE",
     .help = "where from; a file is checked as a whole before its first row is loaded",
     .fallback = "standard input",
     .kind = OPTION_TEXT,
     .offset = AT(file)},
    {SOURCE_KINDS(AT(kinds))},
    {.name = "check",
     .help = "look whether the rows fit the table, and load none",
     .kind = OPTION_FLAG,
     .offset = AT(check_only)},
    SOURCE_OPTIONS(AT(source)),
};
static const struct options options = {.program = "cellar load", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

static void print_help(void)
{
    fputs("Usage: cellar load POOL TABLE [options]\n\n"
          "Inserts rows, as `cellar dump` writes them, into a table of a pool file, or of a durable folder. Up to 500 "
          "rows are one transaction; "
          "others may\ngo on meanwhile. A row whose key is there ends the load: the message has its line, and how many "
          "rows were loaded.\n",
          stdout);
    options_print(&options, stdout);
    fputs("\nExamples\n"
          "  cellar load bank.pool accounts --in accounts.csv\n"
          "  cellar dump old.pool accounts --format json | cellar load bank.pool accounts --format json\n",
          stdout);
}

/* ---- transactions ---- */

static void batch_row_use(struct load *load, uint32_t i)
{
    uint32_t bytes = load->relation.schema.row_bytes;
    memcpy(load->relation.row, load->batch + (size_t)i * bytes, bytes);
    load->relation.key = load->keys[i];
}

/* The line of the row that the engine's message is about; else of the batch's first. */
static uint64_t line_of(const struct load *load, uint64_t key)
{
    for (uint32_t i = 0; i < load->batch_count; i++)
        if (load->keys[i] == key) return load->lines[i];
    return load->batch_count ? load->lines[0] : 0;
}

static int refused(struct load *load, int code, uint64_t line)
{
    return err_set(load->error, code, "%.80s:%" PRIu64 ": %.100s; %" PRIu64 " rows before are loaded",
                   load->file ? load->file : "standard input", line, cellar_last_error()->text, load->loaded);
}

static int batch_insert(struct load *load, struct cellar_txn *txn, uint64_t *line)
{
    for (uint32_t i = 0; i < load->batch_count; i++) {
        batch_row_use(load, i);
        int code = relation_insert(&load->relation, txn);
        load->keys[i] = load->relation.key; /* of a keyed table: the record's number, which messages name */
        *line = load->lines[i];
        if (code) return code;
    }
    return 0;
}

static int batch_commit(struct load *load)
{
    struct cellar_result result = {0};
    uint64_t line = 0;
    int code;
    do {
        struct cellar_txn *txn;
        code = cellar_begin(load->db, NULL, &txn);
        if (code) return refused(load, code, load->lines[0]);
        code = batch_insert(load, txn, &line);
        if (code == 0) {
            code = cellar_commit(txn, &result);
            if (code < 0) line = line_of(load, result.detail.key);
        } else {
            cellar_abort(txn);
        }
    } while (code == CELLAR_RETRY);
    if (code) return refused(load, code, line);
    load->loaded += load->batch_count;
    load->batch_count = 0;
    return 0;
}

static int row_take(struct load *load)
{
    uint32_t bytes = load->relation.schema.row_bytes;
    memcpy(load->batch + (size_t)load->batch_count * bytes, load->relation.row, bytes);
    load->keys[load->batch_count] = load->relation.key;
    load->lines[load->batch_count++] = rows_line(load->reader);
    return load->batch_count == load->batch_max ? batch_commit(load) : 0;
}

/* ---- passes over the file ---- */

static int pass(struct load *load)
{
    int code =
        rows_reader_open(load->in, load->file ? load->file : "standard input",
                         rows_format_of(load->format_name, load->file), &load->relation, &load->reader, load->error);
    load->rows = 0;
    while (code == 0 && (code = rows_read(load->reader, load->error)) == 1) {
        __atomic_store_n(&load->rows, load->rows + 1, __ATOMIC_RELAXED);
        if (load->rows % 4096 == 0) __atomic_store_n(&load->at, (uint64_t)ftello(load->in), __ATOMIC_RELAXED);
        code = load->checking ? 0 : row_take(load);
    }
    if (code == 0 && load->batch_count) code = batch_commit(load);
    rows_reader_close(load->reader);
    load->reader = NULL;
    return code;
}

static int passes(struct load *load)
{
    load->checking = load->check_only || load->bytes > 0;
    int code = load->checking ? pass(load) : 0;
    if (code || load->check_only) return code;
    if (load->checking) rewind(load->in);
    __atomic_store_n(&load->checking, false, __ATOMIC_RELAXED);
    return pass(load);
}

static int in_open(struct load *load)
{
    struct stat status;
    load->in = load->file ? fopen(load->file, "r") : stdin;
    if (!load->in) return err_set(load->error, CELLAR_INVALID, "--in %.160s: %s", load->file, strerror(errno));
    if (fstat(fileno(load->in), &status) == 0 && S_ISREG(status.st_mode)) load->bytes = (uint64_t)status.st_size;
    return 0;
}

static uint32_t index_count(const struct cellar_table *table)
{
    uint32_t count = 0;
    for (const struct cellar_index *index = NULL; (index = cellar_index_next(table, index));) count++;
    return count;
}

static int batch_make(struct load *load)
{
    uint32_t row = load->relation.schema.row_bytes + ROW_BYTES_BESIDE * (1 + 10 * index_count(load->relation.table));
    load->batch_max = BATCH_BYTES / row < 1 ? 1 : BATCH_BYTES / row < BATCH_ROWS ? BATCH_BYTES / row : BATCH_ROWS;
    load->batch = malloc((size_t)load->batch_max * load->relation.schema.row_bytes);
    return load->batch ? 0 : err_set(load->error, CELLAR_NOMEM, "no memory for %u rows", load->batch_max);
}

static void draw(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct load *load = arg;
    char rows[STYLE_BYTES], left[STYLE_BYTES] = "", bar[PROGRESS_BAR_BYTES] = "";
    double fraction = load->bytes ? (double)__atomic_load_n(&load->at, __ATOMIC_RELAXED) / (double)load->bytes : 0;
    bool checking = __atomic_load_n(&load->checking, __ATOMIC_RELAXED);
    if (load->bytes) progress_bar(bar, progress_clamp(fraction));
    if (load->bytes && !checking) progress_left(left, progress_clamp(fraction), elapsed_s);
    snprintf(line, bytes, "%s %s  %s rows  %s", checking ? "checking" : "loading", bar,
             style_count(rows, __atomic_load_n(&load->rows, __ATOMIC_RELAXED)), left);
}

static int run(struct load *load, const char *table)
{
    int code = in_open(load);
    if (code == 0)
        code = source_open(&load->source, load->check_only ? SOURCE_LOOK : SOURCE_CHANGE, &load->db, load->error);
    if (code == 0) code = relation_open(load->db, table, load->kinds, &load->relation, load->error);
    if (code == 0) code = batch_make(load);
    return code ? code : passes(load);
}

int shell_load(int count, char *const *arguments, struct watch *watch)
{
    static const char *const names[] = {"TABLE", NULL};
    struct cellar_error error = {0};
    struct load load = {.error = &error};
    const char *table;
    int code = source_parse(&options, count, arguments, names, &table, &load, &load.source, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    watch->begin(watch, &(struct watch_phase){.draw = draw, .arg = &load});
    if (code == 0) code = run(&load, table);
    watch->end(watch);
    int status = source_end(&load.source, load.db, code, &error);
    relation_close(&load.relation);
    free(load.batch);
    if (load.file && load.in) fclose(load.in);
    if (status == COMMAND_OK)
        fprintf(stderr, "%" PRIu64 " rows %s\n", load.check_only ? load.rows : load.loaded,
                load.check_only ? "fit" : "loaded");
    return status;
}
