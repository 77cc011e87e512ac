/* operations.c - reading and writing files of operations, one a line. */
#include "operations.h"

#include "err.h"
#include "partial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION 1
#define LINE_BYTES 256
#define COUNT_MAX 1000000000ull

static const char *const names[WORKLOAD_OPERATIONS] = {"none", "read", "update", "insert", "scan", "modify"};

#define WRONG(number, ...) wrong(error, path, number, __VA_ARGS__)

CELLAR_PRINTF(4, 5)
static int wrong(struct cellar_error *error, const char *path, uint64_t number, const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return err_set(error, CELLAR_INVALID, "%.120s:%" PRIu64 ": %s", path, number, what);
}

/* ---- reading ---- */

static int header_read(const char *line, const char *path, struct workload_operations *operations,
                       struct cellar_error *error)
{
    unsigned version;
    int used = 0;
    if (sscanf(line, "cellar-operations %u", &version) != 1)
        return WRONG(1, "no operations of cellar bench: 'cellar-operations %d ...' is missing", VERSION);
    if (version != VERSION) return WRONG(1, "version %u of operations; this program has version %d", version, VERSION);
    int got =
        sscanf(line, "cellar-operations %u core=%c records=%" SCNu64 " scan-max=%" SCNu32 " operations=%" SCNu64 "%n",
               &version, &operations->core, &operations->records, &operations->scan_max, &operations->count, &used);
    if (got != 5 || line[used]) return WRONG(1, "core, records, scan-max and operations are wanted here");
    if (operations->core < 'A' || operations->core > 'F' || operations->records < 1 || operations->count < 1 ||
        operations->count > COUNT_MAX)
        return WRONG(1, "core is A to F; there are 1 or more records, and 1 to %llu operations", COUNT_MAX);
    return 0;
}

/* The operands that each kind has: a record's number, and a field, or how many to scan. */
static int line_read(const char *line, const char *path, uint64_t number, const struct workload_operations *operations,
                     struct workload_operation *operation, struct cellar_error *error)
{
    char name[16];
    uint64_t record = 0;
    uint32_t more = 0;
    int used = 0, got = sscanf(line, "%15s%n %" SCNu64 "%n %" SCNu32 "%n", name, &used, &record, &used, &more, &used);
    int wanted = 0;
    for (uint32_t kind = WORKLOAD_READ; kind < WORKLOAD_OPERATIONS; kind++) {
        if (got < 1 || strcmp(name, names[kind]) != 0) continue;
        operation->kind = (uint8_t)kind;
        wanted = kind == WORKLOAD_INSERT ? 1 : kind == WORKLOAD_READ ? 2 : 3;
    }
    if (!wanted) return WRONG(number, "read, update, insert, scan or modify is wanted, not '%.40s'", line);
    if (got != wanted || line[used])
        return WRONG(number, "%s has %d numbers, not as in '%.40s'", name, wanted - 1, line);
    bool scans = operation->kind == WORKLOAD_SCAN;
    if (wanted == 3 && (scans ? more < 1 || more > operations->scan_max : more >= WORKLOAD_FIELDS))
        return WRONG(number, scans ? "a scan is of 1 to %u records" : "fields are 0 to %u",
                     scans ? operations->scan_max : WORKLOAD_FIELDS - 1);
    if (scans && operations->core != 'E') return WRONG(number, "scans are of core E, not %c", operations->core);
    operation->record = record;
    operation->more = more;
    return 0;
}

static int lines_read(FILE *file, const char *path, struct workload_operations *operations, struct cellar_error *error)
{
    char line[LINE_BYTES];
    uint64_t number = 0;
    int code = 0;
    for (; code == 0 && fgets(line, sizeof line, file);) {
        size_t length = strlen(line);
        number++;
        if (line[length - 1] != '\n') return WRONG(number, "the line has no end: the file was cut, or it is no text");
        line[length - 1] = 0;
        if (number == 1) {
            code = header_read(line, path, operations, error);
            if (code == 0 && !(operations->all = calloc(operations->count, sizeof *operations->all)))
                code = err_set(error, CELLAR_NOMEM, "no memory for %" PRIu64 " operations", operations->count);
            continue;
        }
        if (number - 2 == operations->count)
            return WRONG(number, "the first line says %" PRIu64 " operations", operations->count);
        code = line_read(line, path, number, operations, &operations->all[number - 2], error);
    }
    if (code) return code;
    if (number == 0) return WRONG(1, "the file is empty");
    if (number - 1 < operations->count)
        return WRONG(number, "the file ends here: %" PRIu64 " of %" PRIu64 " operations", number - 1,
                     operations->count);
    return 0;
}

int operations_read(const char *path, struct workload_operations *operations, struct cellar_error *error)
{
    *operations = (struct workload_operations){0};
    FILE *file = fopen(path, "r");
    if (!file) return err_set(error, CELLAR_SYSTEM, "%.120s cannot be read: %s", path, strerror(errno));
    int code = lines_read(file, path, operations, error);
    fclose(file);
    if (code) operations_free(operations);
    return code;
}

/* ---- writing ---- */

int operations_make(struct workload_operations *operations, struct cellar_error *error)
{
    uint64_t count = operations->count;
    operations->all = count <= COUNT_MAX ? calloc(count, sizeof *operations->all) : NULL;
    if (operations->all) return 0;
    return err_set(error, CELLAR_NOMEM, "no memory for %" PRIu64 " operations", count);
}

/* In rounds of all clients: the first round that is not whole ends it. */
static uint64_t whole_of(const struct workload_operations *operations, uint32_t clients)
{
    uint64_t count = 0;
    while (count < operations->count && operations->all[count].kind != WORKLOAD_NONE) count++;
    return count == operations->count ? count : count / clients * clients;
}

int operations_write(const struct workload_operations *operations, uint32_t clients, const char *path,
                     struct cellar_error *error)
{
    struct partial partial;
    uint64_t count = whole_of(operations, clients);
    int code = partial_open(&partial, path, error);
    if (code) return code;
    FILE *file = partial.file;
    fprintf(file, "cellar-operations %d core=%c records=%" PRIu64 " scan-max=%u operations=%" PRIu64 "\n", VERSION,
            operations->core, operations->records, operations->scan_max, count);
    for (uint64_t i = 0; i < count; i++) {
        const struct workload_operation *operation = &operations->all[i];
        fputs(names[operation->kind], file);
        if (operation->kind != WORKLOAD_INSERT) fprintf(file, " %" PRIu64, operation->record);
        if (operation->kind != WORKLOAD_INSERT && operation->kind != WORKLOAD_READ)
            fprintf(file, " %u", operation->more);
        fputc('\n', file);
    }
    return partial_end(&partial, path, error);
}

void operations_free(struct workload_operations *operations)
{
    free(operations->all);
    *operations = (struct workload_operations){0};
}
