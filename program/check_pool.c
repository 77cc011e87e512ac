/*
 * check_pool.c - `cellar check POOL|DIR`: judges a pool at rest, by the public headers. It is opened privately, so that
 * it stays as it is even where it has to be recovered first. Of a durable folder the files are judged before, each by
 * itself.
 */
#include "bulk.h"
#include "numbered.h"
#include "cellar.h"
#include "folder_look.h"
#include "json_file.h"
#include "options.h"
#include "pool_file.h"
#include "program.h"
#include "style.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_BYTES_LEAST (64u << 10) /* a full pool has room for that */
#define RECOVERED_MAX 8             /* lines kept of what was recovered */

struct judged_table {
    const struct cellar_table *table;
    const char *name;
    uint32_t columns, indexes;
    struct cellar_lab_space space;
};

struct pool_check {
    const char *path, *json;
    bool folder; /* path is a durable folder, not a pool file, */
    struct folder_look files;
    uint64_t bytes; /* of the pool file; of a folder 0 */
    struct cellar *db;
    struct judged_table *tables;
    uint32_t table_count;
    struct cellar_lab_pool_space space;
    char recovered[RECOVERED_MAX][160];
    uint32_t recovered_count;
    bool broken; /* verdict: by this, */
    struct cellar_error violation;
    const char *doing; /* for the status line */
};

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "json",
     .argument = "FILE",
     .help = "also write the verdict as JSON; - is standard output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct pool_check, json)},
};
static const struct options options = {
    .program = "cellar check", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

/* ---- judging ---- */

static void log_line(void *arg, enum cellar_log_level level, const char *text)
{
    struct pool_check *check = arg;
    if (level < CELLAR_LOG_WARNING) {
        if (strncmp(text, "restor", 6) == 0 && isatty(STDERR_FILENO)) fprintf(stderr, "cellar check: %s\n", text);
        return;
    }
    if (check->recovered_count < RECOVERED_MAX)
        snprintf(check->recovered[check->recovered_count], sizeof check->recovered[0], "%s", text);
    check->recovered_count++;
}

static int pool_open(struct pool_check *check, struct cellar_error *error)
{
    const struct engine_config config = {.cc = CELLAR_LAB_CC_RECORD, /* runs no transaction: the least set-up */
                                         .pool_path = check->folder ? NULL : check->path,
                                         .durable = check->folder ? check->path : NULL,
                                         .pool_bytes = check->bytes,
                                         .pool_private = true,
                                         .existing = true,
                                         .coros = 1,
                                         .log_bytes = LOG_BYTES_LEAST,
                                         .log = log_line,
                                         .log_arg = check};
    return pool_file_open(&config, &check->db, error);
}

static int tables_list(struct pool_check *check)
{
    for (const struct cellar_table *table = NULL; (table = cellar_schema_next(check->db, table));) {
        struct judged_table *tables = realloc(check->tables, (check->table_count + 1) * sizeof *tables);
        struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
        struct cellar_schema schema;
        if (!tables) return CELLAR_NOMEM;
        check->tables = tables;
        cellar_schema_describe(table, &schema, columns);
        tables += check->table_count++;
        *tables = (struct judged_table){.table = table, .name = schema.name, .columns = schema.column_count};
        for (const struct cellar_index *index = NULL; (index = cellar_index_next(table, index));) tables->indexes++;
    }
    return 0;
}

static int judge(struct cellar_lab_client *client, void *arg)
{
    struct pool_check *check = arg;
    int rc = 0;
    if (cellar_lab_index(client) != 0) return 0;
    for (uint32_t i = 0; i < check->table_count && rc == 0; i++) {
        __atomic_store_n(&check->doing, check->tables[i].name, __ATOMIC_RELAXED);
        rc = db_space_read(client, check->tables[i].table, &check->tables[i].space, &check->violation);
    }
    __atomic_store_n(&check->doing, NULL, __ATOMIC_RELAXED);
    return rc ? rc : db_audit(client, &check->violation);
}

static void draw(void *arg, double elapsed_s, char *line, size_t bytes)
{
    struct pool_check *check = arg;
    const char *table = __atomic_load_n(&check->doing, __ATOMIC_RELAXED);
    snprintf(line, bytes, "  %s %.80s: %.0f s", table ? "reading table" : "judging", table ? table : check->path,
             elapsed_s);
}

static int folder_judge(struct pool_check *check)
{
    struct durable *durable = NULL;
    int code = folder_look_open(check->path, &durable, &check->violation);
    if (code == 0) code = folder_look_read(durable, &check->files, &check->violation);
    durable_free(durable);
    return code;
}

/* 0: there is a verdict. */
static int run(struct pool_check *check, struct watch *watch, struct cellar_error *error)
{
    check->folder = disk_real_is_folder(check->path);
    int code = check->folder ? 0 : pool_file_look("", check->path, &check->bytes, error);
    if (code) return code;
    watch->begin(watch, &(struct watch_phase){.draw = draw, .arg = check});
    if (check->folder) code = folder_judge(check);
    if (code == 0) code = pool_open(check, &check->violation);
    if (code == 0) code = tables_list(check);
    if (code == 0) code = cellar_lab_run(check->db, judge, check);
    if (code == 0) cellar_lab_pool_space_read(check->db, &check->space);
    watch->end(watch);
    check->broken = code == CELLAR_CORRUPT;
    if (code == 0 || check->broken) return 0;
    *error = check->violation;
    return code;
}

/* ---- telling ---- */

static void table_print(const struct judged_table *table, FILE *out)
{
    char records[STYLE_BYTES], payload[STYLE_BYTES], slots[STYLE_BYTES], index[STYLE_BYTES];
    fprintf(out, "  %-31s %12s %8u %8u %11s %11s %11s\n", table->name, style_count(records, table->space.records),
            table->columns, table->indexes, style_bytes(payload, (double)table->space.payload_bytes),
            style_bytes(slots, (double)table->space.slot_bytes), style_bytes(index, (double)table->space.index_bytes));
}

static void print_text(const struct pool_check *check, FILE *out)
{
    struct style style = style_of(out);
    char used[STYLE_BYTES], all[STYLE_BYTES];

    fprintf(out, "%s%s%s\n", style.bold, check->path, style.end);
    folder_look_print(&check->files, out);
    for (uint32_t i = 0; i < check->recovered_count && i < RECOVERED_MAX; i++)
        fprintf(out, "  not closed: %s (in memory; the %s is as it was)\n", check->recovered[i],
                check->folder ? "folder" : "file");
    if (check->recovered_count && !check->folder)
        fprintf(out, "  a copy that was made while its pool was in use may lack changes, and nothing here shows it\n");
    if (!check->broken) {
        fprintf(out, "  %s of %s are in use\n", style_bytes(used, (double)check->space.used_bytes),
                style_bytes(all, (double)check->space.pool_bytes));
        fprintf(out, "  %-31s %12s %8s %8s %11s %11s %11s\n", "table", "records", "columns", "indexes", "payload",
                "slots", "buckets");
        for (uint32_t i = 0; i < check->table_count; i++) table_print(&check->tables[i], out);
    }
    if (check->broken)
        fprintf(out, "%s%s%s %s\n", style.bad, style.no, style.end, check->violation.text);
    else
        fprintf(out, "%s%s%s no lock is left, records are whole, and each is in its buckets and in its indexes, once\n",
                style.good, style.yes, style.end);
}

static json_t *verdict_json(const struct pool_check *check)
{
    json_t *tables = json_array(), *recovered = json_array(), *files = json_array();
    for (uint32_t i = 0; i < check->files.count; i++) {
        const struct folder_line *line = &check->files.lines[i];
        json_array_append_new(files, json_pack("{s:s, s:I, s:s}", "name", line->name, "bytes", (json_int_t)line->bytes,
                                               "says", line->says));
    }
    for (uint32_t i = 0; i < check->table_count && !check->broken; i++) {
        const struct judged_table *table = &check->tables[i];
        json_array_append_new(tables,
                              json_pack("{s:s, s:I, s:i, s:i, s:I, s:I, s:I}", "name", table->name, "records",
                                        (json_int_t)table->space.records, "columns", (int)table->columns, "indexes",
                                        (int)table->indexes, "payload_bytes", (json_int_t)table->space.payload_bytes,
                                        "slot_bytes", (json_int_t)table->space.slot_bytes, "index_bytes",
                                        (json_int_t)table->space.index_bytes));
    }
    for (uint32_t i = 0; i < check->recovered_count && i < RECOVERED_MAX; i++)
        json_array_append_new(recovered, json_string(check->recovered[i]));
    return json_pack("{s:s, s:b, s:s, s:o, s:o, s:o, s:I, s:I}", "pool", check->path, "ok", !check->broken, "text",
                     check->broken ? check->violation.text : "", "recovered", recovered, "files", files, "tables",
                     tables, "used_bytes", (json_int_t)check->space.used_bytes, "pool_bytes",
                     (json_int_t)(check->folder ? check->space.pool_bytes : check->bytes));
}

static int tell(const struct pool_check *check, struct cellar_error *error)
{
    print_text(check, check->json && !strcmp(check->json, "-") ? stderr : stdout);
    if (!check->json) return 0;
    json_t *root = verdict_json(check);
    int code = root ? json_file_write(root, check->json, error)
                    : err_set(error, CELLAR_SYSTEM, "--json %.80s: a name or text is no UTF-8", check->json);
    json_decref(root);
    return code;
}

int program_check_pool(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct pool_check check = {.path = arguments[0]};
    uint64_t given;
    int code = options_parse(&options, count - 1, arguments + 1, &check, &given, &error);

    if (code == OPTIONS_HELP) return program_check(1, (char *const[]){(char[]){"--help"}}, watch);
    if (code == 0) code = options_spare(&options, given, &check, check.path, &error);
    if (code == 0) code = json_file_check(check.json, &error);
    if (code == 0) code = run(&check, watch, &error);
    if (code == 0) code = tell(&check, &error);
    if (code) fprintf(stderr, "cellar check: %s\n", error.code ? error.text : cellar_strerror(code));
    cellar_close(check.db);
    folder_look_free(&check.files);
    free(check.tables);
    return code ? COMMAND_ERROR : check.broken ? COMMAND_CHECK_FAILED : COMMAND_OK;
}
