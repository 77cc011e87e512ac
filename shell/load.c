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
    uint32_t batch_count, batch_bytes;
    void *batch[BATCH_ROWS]; /* rows of the relation's, and the lines where they begin */
    uint64_t lines[BATCH_ROWS];
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

/* About so much of a log entry the row takes. */
static uint32_t row_log_bytes(const struct load *load)
{
    const struct cellar_table_def *def = &load->relation.def;
    uint32_t indexes = def->index_count + (def->flags & CELLAR_ORDERED ? 1 : 0);
    return relation_row_bytes(&load->relation) + ROW_BYTES_BESIDE * (1 + 10 * indexes);
}

/* ---- transactions ---- */

static int refused(struct load *load, int code, uint64_t line)
{
    return err_set(load->error, code, "%.80s:%" PRIu64 ": %.100s; %" PRIu64 " rows before are loaded",
                   load->file ? load->file : "standard input", line, cellar_last_error()->text, load->loaded);
}

struct part {
    struct load *load;
    uint32_t first, count; /* of the batch */
};

static int part_insert(struct cellar_txn *txn, void *arg)
{
    const struct part *part = arg;
    const struct relation *relation = &part->load->relation;
    int code = 0;
    for (uint32_t i = part->first; i < part->first + part->count && code == 0; i++)
        code = (cellar_insert)(txn, relation->table, part->load->batch[i], relation->def.row_bytes);
    return code;
}

static void batch_drop(struct load *load)
{
    for (uint32_t i = 0; i < load->batch_count; i++) free(load->batch[i]);
    load->batch_count = 0;
    load->batch_bytes = 0;
}

/* One row after the other: those before the one that is refused are in. */
static int batch_commit_singly(struct load *load)
{
    for (uint32_t i = 0; i < load->batch_count; i++) {
        struct part one = {load, i, 1};
        int code = cellar_run(load->db, part_insert, &one, NULL, NULL);
        if (code) return refused(load, code, load->lines[i]);
        load->loaded++;
    }
    return 0;
}

/* A commit that is refused does not say for which row; one that may have been made is not repeated. */
static int batch_commit(struct load *load)
{
    struct part all = {load, 0, load->batch_count};
    int code = cellar_run(load->db, part_insert, &all, NULL, NULL);
    if (code == 0)
        load->loaded += load->batch_count;
    else if (code == CELLAR_INDETERMINATE)
        code = refused(load, code, load->lines[0]);
    else
        code = batch_commit_singly(load);
    batch_drop(load);
    return code;
}

static int row_take(struct load *load)
{
    void *row = relation_copy(&load->relation, load->relation.row);
    if (!row) return err_set(load->error, CELLAR_NOMEM, "no memory for a row");
    load->batch_bytes += row_log_bytes(load);
    load->lines[load->batch_count] = rows_line(load->reader);
    load->batch[load->batch_count++] = row;
    return load->batch_count == BATCH_ROWS || load->batch_bytes >= BATCH_BYTES ? batch_commit(load) : 0;
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
    batch_drop(&load);
    if (load.file && load.in) fclose(load.in);
    if (status == COMMAND_OK)
        fprintf(stderr, "%" PRIu64 " rows %s\n", load.check_only ? load.rows : load.loaded,
                load.check_only ? "fit" : "loaded");
    return status;
}
