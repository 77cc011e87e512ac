/*
 * history_read.c - a history out of a file. Its writer may have been mistaken, cut short, or another program: types
 * and ranges of all fields are checked, their meaning is history_check's business. Fields that are not known are
 * passed over, so that later versions of the format can add some.
 */
#include "history_file.h"
#include "history_journal.h"
#include "history_line.h"
#include "layout.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define FORMAT 2
#define LINE_BYTES_MAX (16u << 20)
#define SLICES_MAX 1024

/* Lines come in this order. */
enum stage { STAGE_HEADER, STAGE_LOADED, STAGE_TXNS, STAGE_FINALS, STAGE_END };

struct reader {
    const char *path;
    FILE *file;
    uint64_t *bytes_read;
    struct cellar_error *error;
    struct history *history;
    struct history_slices *slices; /* NULL: all goes into the history */
    bool ranges;                   /* which cannot be judged in slices: the file is to be read again */
    XXH3_state_t *checksum;
    enum stage stage;
    uint64_t line_number, txns_line; /* of the first transaction */
    /* bytes [start, end) of the buffer are read and not yet used */
    char *buffer;
    size_t start, end, capacity;
    bool at_end;     /* of the file */
    bool broken_off; /* the line did not end in a newline */
    /* of one transaction */
    struct history_access *accesses;
    uint32_t access_count;
    size_t access_capacity;
};

/* "FILE:LINE: what is wrong" */
__attribute__((format(printf, 2, 3))) static int refuse(struct reader *reader, const char *format, ...)
{
    char text[160];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return err_set(reader->error, CELLAR_ERR_CORRUPT, "%.100s:%" PRIu64 ": %s", reader->path, reader->line_number,
                   text);
}

static int no_memory(struct reader *reader)
{
    return err_set(reader->error, CELLAR_ERR_NOMEM, "%.100s:%" PRIu64 ": no memory for a history of this size",
                   reader->path, reader->line_number);
}

/* ---- lines ---- */

/* More of the file behind what is left of the buffer. */
static int refill(struct reader *reader)
{
    memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
    reader->end -= reader->start;
    reader->start = 0;
    if (reader->end == reader->capacity) {
        if (reader->capacity >= LINE_BYTES_MAX)
            return refuse(reader, "a line of more than %u MiB: not a history of Cellar", LINE_BYTES_MAX >> 20);
        char *larger = realloc(reader->buffer, reader->capacity * 2);
        if (!larger) return no_memory(reader);
        reader->buffer = larger;
        reader->capacity *= 2;
    }
    errno = 0;
    size_t bytes = fread(reader->buffer + reader->end, 1, reader->capacity - reader->end, reader->file);
    if (!bytes && ferror(reader->file))
        return err_set(reader->error, CELLAR_ERR_SYSTEM, "%.100s: %s", reader->path, strerror(errno));
    reader->end += bytes;
    reader->at_end = bytes == 0;
    __atomic_fetch_add(reader->bytes_read, bytes, __ATOMIC_RELAXED);
    return 0;
}

/* The next line without its newline: 1, 0 at the end of the file, or an error. It is valid until the next call. */
static int line_next(struct reader *reader, const char **line, size_t *bytes)
{
    size_t seen = 0;

    reader->line_number++;
    for (;;) {
        size_t left = reader->end - reader->start;
        const char *from = reader->buffer + reader->start;
        const char *newline = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;
        if (newline || (reader->at_end && left)) {
            *line = from;
            *bytes = newline ? (size_t)(newline - from) : left;
            reader->broken_off = !newline;
            reader->start += *bytes + (newline != NULL);
            return 1;
        }
        if (reader->at_end) return 0;
        seen = left;
        int rc = refill(reader);
        if (rc) return rc;
    }
}

/* ---- fields ---- */

static bool number_of(const json_t *value, uint64_t max, uint64_t *number)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *number = (uint64_t)json_integer_value(value);
    return *number <= max;
}

/* Digits of that base and nothing else. */
static bool text_number_of(const json_t *value, unsigned base, uint64_t *number)
{
    const char *text = json_string_value(value);
    if (!text || !*text) return false;
    for (*number = 0; *text; text++) {
        unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
                         : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a' + 10)
                                                        : base;
        if (digit >= base || __builtin_mul_overflow(*number, base, number) ||
            __builtin_add_overflow(*number, digit, number))
            return false;
    }
    return true;
}

static int field_number(struct reader *reader, const json_t *object, const char *name, uint64_t max, uint64_t *number)
{
    if (number_of(json_object_get(object, name), max, number)) return 0;
    return refuse(reader, "\"%s\" must be a whole number up to %" PRIu64, name, max);
}

/* Missing: false. */
static int flag_read(struct reader *reader, const json_t *object, const char *name, bool *flag)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_boolean(value)) return refuse(reader, "\"%s\" must be true or false", name);
    *flag = json_is_true(value);
    return 0;
}

/*
 * What the parts of one list's entries are: 't' table, 'k' key, 'c' cell, 'e' EN, 's' TS, 'd' digest; as in
 * history_line.c.
 */
struct list {
    const char *name, *parts;
    enum history_kind kind;
};

static const struct list lists[] = {
    {"read", "tkcesd", HISTORY_READ}, {"absent", "tks", HISTORY_ABSENT},    {"insert", "tk", HISTORY_INSERT},
    {"delete", "tk", HISTORY_DELETE}, {"write", "tkcesesd", HISTORY_WRITE}, {"range", "tkks", HISTORY_RANGE},
};
static const struct list final_list = {"final", "tkcesd", HISTORY_READ};
static const struct list loaded_list = {"loaded", "tkcesd", HISTORY_READ};

static int entry_part(struct reader *reader, const struct list *list, size_t index, char part, const json_t *value,
                      uint64_t *number)
{
    static const struct {
        char part;
        uint64_t max;
        const char *wanted;
    } kinds[] = {{'t', UINT32_MAX, "a table's number"},
                 {'c', HISTORY_PRESENCE, "a cell's number"},
                 {'e', UINT16_MAX, "an epoch number up to 65535"},
                 {'s', LAYOUT_TS_MAX, "a timestamp below 2^48"},
                 {'k', 10, "a key, decimal digits in quotes"},
                 {'d', 16, "a digest, up to 16 hexadecimal digits in quotes"}};
    uint32_t i = 0;

    while (kinds[i].part != part) i++;
    bool text = part == 'k' || part == 'd';
    if (text ? text_number_of(value, (unsigned)kinds[i].max, number) : number_of(value, kinds[i].max, number)) return 0;
    return refuse(reader, "%s[%zu]: %s is missing", list->name, index, kinds[i].wanted);
}

/* One entry of a list into `access`. */
static int entry_read(struct reader *reader, const struct list *list, size_t index, const json_t *entry,
                      struct history_access *access)
{
    size_t parts = strlen(list->parts);
    uint64_t values[HISTORY_LINE_VALUES] = {0};

    if (!json_is_array(entry) || json_array_size(entry) != parts)
        return refuse(reader, "%s[%zu] must be a list of %zu", list->name, index, parts);
    for (size_t i = 0; i < parts; i++) {
        int rc = entry_part(reader, list, index, list->parts[i], json_array_get(entry, i), &values[i]);
        if (rc) return rc;
    }
    history_line_access(list->kind, values, access);
    if (list->kind == HISTORY_WRITE && access->cell == HISTORY_PRESENCE)
        return refuse(reader, "%s[%zu]: a cell's number is missing", list->name, index);
    return 0;
}

/* Room for so many accesses of one line. */
static int accesses_room(struct reader *reader, size_t count)
{
    if (count <= reader->access_capacity) return 0;
    size_t room = reader->access_capacity * 2 > count ? reader->access_capacity * 2 : count;
    struct history_access *larger = realloc(reader->accesses, room * sizeof *larger);
    if (!larger) return no_memory(reader);
    reader->accesses = larger;
    reader->access_capacity = room;
    return 0;
}

static int list_read(struct reader *reader, const json_t *object, const struct list *list, uint64_t ts)
{
    const json_t *entries = json_object_get(object, list->name), *entry;
    size_t index;

    if (!entries) return 0;
    if (!json_is_array(entries)) return refuse(reader, "\"%s\" must be a list", list->name);
    json_array_foreach(entries, index, entry)
    {
        struct history_access access;
        int rc = entry_read(reader, list, index, entry, &access);
        if (rc) return rc;
        if (list->kind == HISTORY_INSERT || list->kind == HISTORY_DELETE) access.version = ts;
        rc = accesses_room(reader, reader->access_count + 1);
        if (rc) return rc;
        reader->accesses[reader->access_count++] = access;
    }
    return 0;
}

/* ---- the kinds of lines ---- */

static int tables_read(struct reader *reader, json_t *tables)
{
    const char *number;
    json_t *name;

    if (tables && !json_is_object(tables)) return refuse(reader, "\"tables\" must be an object of names by number");
    json_object_foreach(tables, number, name)
    {
        json_t *text = json_string(number);
        uint64_t id;
        bool valid = text_number_of(text, 10, &id) && id <= UINT32_MAX;
        json_decref(text);
        if (!valid || !json_is_string(name)) return refuse(reader, "\"tables\" must be an object of names by number");
        if (history_table_add(reader->history, (uint32_t)id, 0, json_string_value(name))) return no_memory(reader);
    }
    return 0;
}

/* Behind the tables. */
static int cells_read(struct reader *reader, const json_t *cells)
{
    struct history *history = reader->history;
    char number[16];
    uint64_t count;

    if (cells && !json_is_object(cells)) return refuse(reader, "\"cells\" must be an object of numbers by table");
    for (uint32_t i = 0; cells && i < history->table_count; i++) {
        snprintf(number, sizeof number, "%u", history->tables[i].table_id);
        const json_t *value = json_object_get(cells, number);
        if (!value) continue;
        if (!number_of(value, CELLAR_CELLS_MAX, &count) || !count)
            return refuse(reader, "\"cells\" of table %s must be a whole number from 1 to %u", number,
                          CELLAR_CELLS_MAX);
        history->tables[i].cells = (uint32_t)count;
    }
    return 0;
}

/* No cell lies beyond those that its table has, and no range ends before it begins. */
static int accesses_accept(struct reader *reader, uint32_t count)
{
    uint32_t table_id = 0, cells = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct history_access *access = &reader->accesses[i];
        if (access->kind == HISTORY_RANGE && access->over < access->key)
            return refuse(reader, "a range of table %u ends before it begins", access->table_id);
        if (access->cell == HISTORY_PRESENCE) continue;
        if (access->table_id != table_id) cells = history_table_cells(reader->history, access->table_id);
        table_id = access->table_id;
        if (cells && access->cell >= cells)
            return refuse(reader, "cell %u of table %u, which has %u", access->cell, table_id, cells);
    }
    return 0;
}

static int parts_read(struct reader *reader, const json_t *object)
{
    uint64_t part = 0, parts = 0;
    int rc = field_number(reader, object, "parts", HISTORY_PARTS_MAX, &parts);
    if (!rc) rc = field_number(reader, object, "part", HISTORY_PARTS_MAX, &part);
    if (rc) return rc;
    if (part >= parts) return refuse(reader, "\"part\" must be below \"parts\"");
    const json_t *run = json_object_get(object, "run");
    if (run && !text_number_of(run, 16, &reader->history->run))
        return refuse(reader, "\"run\" must be up to 16 hexadecimal digits in quotes");
    reader->history->part = (uint32_t)part;
    reader->history->parts = (uint32_t)parts;
    return 0;
}

static int header_read(struct reader *reader, const json_t *object)
{
    const json_t *format = json_object_get(object, "cellar_history");

    if (!json_is_integer(format) || json_integer_value(format) < 1)
        return refuse(reader, "not a history of Cellar: its first line must begin with {\"cellar_history\":2");
    if (json_integer_value(format) != FORMAT)
        return err_set(reader->error, CELLAR_ERR_UNSUPPORTED,
                       "%.100s: version %lld of the format; this program reads version %d", reader->path,
                       (long long)json_integer_value(format), FORMAT);
    int rc = flag_read(reader, object, "nodes_lost", &reader->history->nodes_lost);
    if (!rc) rc = flag_read(reader, object, "no_epochs", &reader->history->no_epochs);
    if (!rc) rc = flag_read(reader, object, "final_all", &reader->history->final_all);
    if (rc) return rc;
    if (json_object_get(object, "clock_error_ns")) {
        rc = field_number(reader, object, "clock_error_ns", INT64_MAX, &reader->history->clock_error_ns);
        if (rc) return rc;
    }
    if (json_object_get(object, "parts")) {
        rc = parts_read(reader, object);
        if (rc) return rc;
    }
    reader->stage = STAGE_LOADED;
    rc = tables_read(reader, json_object_get(object, "tables"));
    return rc ? rc : cells_read(reader, json_object_get(object, "cells"));
}

static int outcome_read(struct reader *reader, const json_t *object, uint32_t *outcome)
{
    const char *text = json_string_value(json_object_get(object, "outcome"));

    if (text && !strcmp(text, "committed"))
        *outcome = HISTORY_COMMITTED;
    else if (text && !strcmp(text, "failed"))
        *outcome = HISTORY_FAILED;
    else if (text && !strcmp(text, "indeterminate"))
        *outcome = HISTORY_INDETERMINATE;
    else if (text && !strcmp(text, "aborted"))
        *outcome = HISTORY_ABORTED;
    else
        return refuse(reader, "\"outcome\" must be \"committed\", \"failed\", \"indeterminate\" or \"aborted\"");
    return 0;
}

static int slice_failed(struct reader *reader, int rc)
{
    if (rc == -CELLAR_ERR_NOMEM) return no_memory(reader);
    return rc ? err_set(reader->error, CELLAR_ERR_SYSTEM, "%.100s: its slices could not be written: %s", reader->path,
                        strerror(errno))
              : 0;
}

static int txn_slice(struct reader *reader, const struct history_txn *txn)
{
    struct history_txn bare = *txn;

    for (uint32_t i = 0; i < txn->count && !reader->ranges; i++)
        reader->ranges = reader->accesses[i].kind == HISTORY_RANGE;
    if (reader->ranges) return -CELLAR_ERR_UNSUPPORTED;
    bare.count = 0;
    if (history_txn_add(reader->history, &bare, NULL)) return no_memory(reader);
    return slice_failed(
        reader, history_slices_txn(reader->slices, reader->history->txn_count - 1, reader->accesses, txn->count));
}

/* Its accesses are those of the reader. */
static int txn_keep(struct reader *reader, const struct history_txn *txn)
{
    if (reader->stage == STAGE_LOADED) reader->txns_line = reader->line_number;
    reader->stage = STAGE_TXNS;
    int rc = accesses_accept(reader, txn->count);
    if (rc) return rc;
    if (reader->slices) return txn_slice(reader, txn);
    return history_txn_add(reader->history, txn, reader->accesses) ? no_memory(reader) : 0;
}

static int txn_read(struct reader *reader, const json_t *object)
{
    struct history_txn txn = {0};
    uint64_t cn = 0, coordinator = 0;

    int rc = field_number(reader, object, "txn", INT64_MAX, &txn.id);
    if (!rc) rc = field_number(reader, object, "cn", UINT32_MAX, &cn);
    if (!rc) rc = field_number(reader, object, "coordinator", UINT32_MAX, &coordinator);
    if (!rc) rc = field_number(reader, object, "begin", INT64_MAX, &txn.begin_ns);
    if (!rc) rc = field_number(reader, object, "end", INT64_MAX, &txn.end_ns);
    if (!rc) rc = field_number(reader, object, "ts", LAYOUT_TS_MAX, &txn.ts);
    if (!rc) rc = outcome_read(reader, object, &txn.outcome);
    if (!rc && txn.end_ns < txn.begin_ns) rc = refuse(reader, "\"end\" lies before \"begin\"");
    reader->access_count = 0;
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists && !rc; i++)
        rc = list_read(reader, object, &lists[i], txn.ts);
    if (rc) return rc;
    txn.cn = (uint32_t)cn;
    txn.coordinator = (uint32_t)coordinator;
    txn.count = reader->access_count;
    return txn_keep(reader, &txn);
}

/* The accesses of the line are versions of the pool at rest. */
static int states_keep(struct reader *reader, bool final)
{
    struct history *history = reader->history;

    if (final) reader->stage = STAGE_FINALS;
    *(final ? &history->has_final : &history->has_loaded) = true;
    int rc = accesses_accept(reader, reader->access_count);
    for (uint32_t i = 0; i < reader->access_count && !rc; i++) {
        const struct history_access *access = &reader->accesses[i];
        const struct history_final state = {access->table_id, access->cell, access->key, access->version,
                                            access->digest};
        rc = reader->slices ? slice_failed(reader, history_slices_state(reader->slices, final, &state))
             : final        ? history_final_add(history, &state)
                            : history_loaded_add(history, &state);
        if (rc == -CELLAR_ERR_NOMEM) rc = no_memory(reader);
    }
    return rc;
}

static int states_read(struct reader *reader, const json_t *object, bool final)
{
    reader->access_count = 0;
    int rc = list_read(reader, object, final ? &final_list : &loaded_list, 0);
    return rc ? rc : states_keep(reader, final);
}

static int end_read(struct reader *reader, const json_t *object, uint64_t checksum)
{
    const json_t *written = json_object_get(object, "checksum");
    uint64_t txns = 0, number = 0;

    reader->stage = STAGE_END;
    if (!json_is_true(json_object_get(object, "end"))) return refuse(reader, "\"end\" must be true");
    int rc = field_number(reader, object, "txns", INT64_MAX, &txns);
    if (rc) return rc;
    if (txns != reader->history->txn_count)
        return refuse(reader, "there are %" PRIu64 " transactions, but the end says %" PRIu64,
                      reader->history->txn_count, txns);
    if (!written) return 0;
    if (!text_number_of(written, 16, &number))
        return refuse(reader, "\"checksum\" must be hexadecimal digits in quotes");
    if (number != checksum)
        return refuse(reader, "the checksum is wrong: the file was damaged (or edited: then leave \"checksum\" out)");
    return 0;
}

static int object_read(struct reader *reader, const json_t *object, uint64_t checksum)
{
    if (reader->stage == STAGE_HEADER) return header_read(reader, object);
    if (reader->stage == STAGE_END) return refuse(reader, "something follows the end");
    if (json_object_get(object, "txn")) {
        if (reader->stage <= STAGE_TXNS) return txn_read(reader, object);
        return refuse(reader, "a transaction after \"final\"");
    }
    if (json_object_get(object, "loaded")) {
        if (reader->stage == STAGE_LOADED) return states_read(reader, object, false);
        return refuse(reader, "\"loaded\" after a transaction");
    }
    if (json_object_get(object, "final")) return states_read(reader, object, true);
    if (json_object_get(object, "end")) return end_read(reader, object, checksum);
    return refuse(reader, "none of \"loaded\", \"txn\", \"final\" and \"end\"");
}

/* A line in the form that history_write gives it: 1; 0: it is another; or an error. */
static int line_read_quickly(struct reader *reader, const char *line, size_t bytes)
{
    struct history_txn txn;
    if (reader->stage == STAGE_HEADER || reader->stage == STAGE_END) return 0;
    int rc = accesses_room(reader, bytes / HISTORY_LINE_ACCESS_BYTES + 1);
    if (rc) return rc;
    if (reader->stage <= STAGE_TXNS && history_line_txn(line, bytes, &txn, reader->accesses))
        rc = txn_keep(reader, &txn);
    else if (history_line_states(line, bytes, HISTORY_LINE_FINALS, reader->accesses, &reader->access_count))
        rc = states_keep(reader, true);
    else if (reader->stage == STAGE_LOADED &&
             history_line_states(line, bytes, HISTORY_LINE_LOADED, reader->accesses, &reader->access_count))
        rc = states_keep(reader, false);
    else
        return 0;
    return rc ? rc : 1;
}

static int line_parse(struct reader *reader, const char *line, size_t bytes)
{
    json_error_t where;
    uint64_t checksum =
        XXH3_64bits_digest(reader->checksum); /* of the lines before: the last line says what it must be */
    json_t *object = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &where);
    int rc = 0;

    if (json_is_object(object))
        rc = object_read(reader, object, checksum);
    else if (reader->stage == STAGE_HEADER)
        rc = refuse(reader, "not a history of Cellar: its first line must begin with {\"cellar_history\":2");
    else if (reader->broken_off && reader->stage != STAGE_END)
        reader->history->torn = true;
    else
        rc = refuse(reader, "not a JSON object (byte %d of the line)", where.position);
    json_decref(object);
    return rc;
}

static int line_read(struct reader *reader, const char *line, size_t bytes)
{
    int rc = line_read_quickly(reader, line, bytes);
    rc = rc == 0 ? line_parse(reader, line, bytes) : rc < 0 ? rc : 0;
    XXH3_64bits_update(reader->checksum, line, bytes);
    XXH3_64bits_update(reader->checksum, "\n", 1);
    return rc;
}

/* ---- the file ---- */

struct numbered {
    uint64_t id, line;
};

static int numbered_compare(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Transactions are lines one after the other. */
static int ids_check(struct reader *reader)
{
    const struct history *history = reader->history;
    int rc = 0;

    struct numbered *ids = malloc((history->txn_count + 1) * sizeof *ids);
    if (!ids) return no_memory(reader);
    for (uint64_t i = 0; i < history->txn_count; i++)
        ids[i] = (struct numbered){history->txns[i].id, i + reader->txns_line};
    qsort(ids, history->txn_count, sizeof *ids, numbered_compare);
    for (uint64_t i = 1; i < history->txn_count && !rc; i++) {
        if (ids[i].id != ids[i - 1].id) continue;
        reader->line_number = ids[i].line;
        rc = refuse(reader, "transaction %" PRIu64 " was in line %" PRIu64 " already", ids[i].id, ids[i - 1].line);
    }
    free(ids);
    return rc;
}

static int lines_read(struct reader *reader)
{
    const char *line = NULL;
    size_t bytes = 0;
    int rc;

    while ((rc = line_next(reader, &line, &bytes)) > 0) {
        rc = line_read(reader, line, bytes);
        if (rc) return rc;
    }
    if (rc) return rc;
    reader->line_number--;
    if (reader->line_number == 0)
        return err_set(reader->error, CELLAR_ERR_CORRUPT, "%.100s: the file is empty", reader->path);
    if (reader->stage != STAGE_END) {
        reader->history->torn = true;
        reader->history->torn_line = reader->line_number;
        reader->history->has_final = false;
    }
    return ids_check(reader);
}

/* A user who asks for the history of a run that has died may not know where to look. */
static int not_opened(const char *path, int code, struct cellar_error *error)
{
    char journal[HISTORY_JOURNAL_PATH_BYTES];
    bool recording = code == ENOENT && history_journal_name(path, journal, NULL) == 0 && history_journal_is(journal);
    return err_set(error, CELLAR_ERR_SYSTEM,
                   recording ? "%.100s: %s; but its process left %.80s" HISTORY_JOURNAL_SUFFIX : "%.100s: %s", path,
                   strerror(code), path);
}

static int file_read(struct reader *reader)
{
    int rc;

    reader->file = fopen(reader->path, "r");
    if (!reader->file) return not_opened(reader->path, errno, reader->error);
    reader->capacity = 1 << 16;
    reader->buffer = malloc(reader->capacity);
    reader->checksum = XXH3_createState();
    if (reader->buffer && reader->checksum) {
        XXH3_64bits_reset(reader->checksum);
        rc = lines_read(reader);
    } else {
        rc = no_memory(reader);
    }
    if (rc) history_free(reader->history);
    XXH3_freeState(reader->checksum);
    free(reader->buffer);
    free(reader->accesses);
    fclose(reader->file);
    return rc;
}

int history_read_watched(struct history *history, const char *path, uint64_t *bytes_read, struct cellar_error *error)
{
    struct reader reader = {.path = path, .bytes_read = bytes_read, .error = error, .history = history};

    if (history_journal_is(path)) return history_journal_read(history, path, error);
    return file_read(&reader);
}

/* Into how many slices, each of a quarter of the memory: the rest is for transactions and their graph. 1: none. */
static uint32_t slices_needed(const char *path, uint64_t memory_bytes)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || history_journal_is(path)) return 1;
    uint64_t bytes = (uint64_t)status.st_size + (uint64_t)status.st_size / 4;
    if (bytes <= memory_bytes) return 1;
    uint64_t count = bytes / (memory_bytes / 4 + 1) + 1;
    return count < SLICES_MAX ? (uint32_t)count : SLICES_MAX;
}

int history_read_slices(struct history *history, const char *path, uint64_t memory_bytes,
                        struct history_slices **slices, uint64_t *bytes_read, struct cellar_error *error)
{
    uint64_t before = __atomic_load_n(bytes_read, __ATOMIC_RELAXED);
    uint32_t count = slices_needed(path, memory_bytes);

    *slices = NULL;
    if (count == 1) return history_read_watched(history, path, bytes_read, error);
    int rc = history_slices_open(count, slices, error);
    if (rc) return rc;
    struct reader reader = {
        .path = path, .bytes_read = bytes_read, .error = error, .history = history, .slices = *slices};
    rc = file_read(&reader);
    if (rc == 0) return 0;
    history_slices_close(*slices);
    *slices = NULL;
    if (!reader.ranges) return rc;
    __atomic_store_n(bytes_read, before, __ATOMIC_RELAXED);
    return history_read_watched(history, path, bytes_read, error);
}

int history_read(struct history *history, const char *path, struct cellar_error *error)
{
    uint64_t bytes_read = 0;
    return history_read_watched(history, path, &bytes_read, error);
}
