/*
 * history_read_json.c - the lines of a history's file as JSON objects: types and ranges of their fields.
 */
#include "history_line.h"
#include "history_reader.h"
#include "layout.h"

#include <inttypes.h>
#include <string.h>

#define FORMAT 2

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

static int field_number(struct history_reader *reader, const json_t *object, const char *name, uint64_t max,
                        uint64_t *number)
{
    if (number_of(json_object_get(object, name), max, number)) return 0;
    return history_reader_refuse(reader, "\"%s\" must be a whole number up to %" PRIu64, name, max);
}

/* Missing: false. */
static int flag_read(struct history_reader *reader, const json_t *object, const char *name, bool *flag)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_boolean(value)) return history_reader_refuse(reader, "\"%s\" must be true or false", name);
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

static int entry_part(struct history_reader *reader, const struct list *list, size_t index, char part,
                      const json_t *value, uint64_t *number)
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
    return history_reader_refuse(reader, "%s[%zu]: %s is missing", list->name, index, kinds[i].wanted);
}

/* One entry of a list into `access`. */
static int entry_read(struct history_reader *reader, const struct list *list, size_t index, const json_t *entry,
                      struct history_access *access)
{
    size_t parts = strlen(list->parts);
    uint64_t values[HISTORY_LINE_VALUES] = {0};

    if (!json_is_array(entry) || json_array_size(entry) != parts)
        return history_reader_refuse(reader, "%s[%zu] must be a list of %zu", list->name, index, parts);
    for (size_t i = 0; i < parts; i++) {
        int rc = entry_part(reader, list, index, list->parts[i], json_array_get(entry, i), &values[i]);
        if (rc) return rc;
    }
    history_line_access(list->kind, values, access);
    if (list->kind == HISTORY_WRITE && access->cell == HISTORY_PRESENCE)
        return history_reader_refuse(reader, "%s[%zu]: a cell's number is missing", list->name, index);
    return 0;
}

static int list_read(struct history_reader *reader, const json_t *object, const struct list *list, uint64_t ts)
{
    const json_t *entries = json_object_get(object, list->name), *entry;
    size_t index;

    if (!entries) return 0;
    if (!json_is_array(entries)) return history_reader_refuse(reader, "\"%s\" must be a list", list->name);
    json_array_foreach(entries, index, entry)
    {
        struct history_access access;
        int rc = entry_read(reader, list, index, entry, &access);
        if (rc) return rc;
        if (list->kind == HISTORY_INSERT || list->kind == HISTORY_DELETE) access.version = ts;
        rc = history_reader_room(reader, reader->access_count + 1);
        if (rc) return rc;
        reader->accesses[reader->access_count++] = access;
    }
    return 0;
}

/* ---- the kinds of lines ---- */

static int tables_read(struct history_reader *reader, json_t *tables)
{
    const char *number;
    json_t *name;

    if (tables && !json_is_object(tables))
        return history_reader_refuse(reader, "\"tables\" must be an object of names by number");
    json_object_foreach(tables, number, name)
    {
        json_t *text = json_string(number);
        uint64_t id;
        bool valid = text_number_of(text, 10, &id) && id <= UINT32_MAX;
        json_decref(text);
        if (!valid || !json_is_string(name))
            return history_reader_refuse(reader, "\"tables\" must be an object of names by number");
        if (history_table_add(reader->history, (uint32_t)id, 0, json_string_value(name)))
            return history_reader_no_memory(reader);
    }
    return 0;
}

/* After the tables. */
static int cells_read(struct history_reader *reader, const json_t *cells)
{
    struct history *history = reader->history;
    char number[16];
    uint64_t count;

    if (cells && !json_is_object(cells))
        return history_reader_refuse(reader, "\"cells\" must be an object of numbers by table");
    for (uint32_t i = 0; cells && i < history->table_count; i++) {
        snprintf(number, sizeof number, "%u", history->tables[i].table_id);
        const json_t *value = json_object_get(cells, number);
        if (!value) continue;
        if (!number_of(value, CELLAR_CELLS_MAX, &count) || !count)
            return history_reader_refuse(reader, "\"cells\" of table %s must be a whole number from 1 to %u", number,
                                         CELLAR_CELLS_MAX);
        history->tables[i].cells = (uint32_t)count;
    }
    return 0;
}

static int parts_read(struct history_reader *reader, const json_t *object)
{
    uint64_t part = 0, parts = 0;
    int rc = field_number(reader, object, "parts", HISTORY_PARTS_MAX, &parts);
    if (!rc) rc = field_number(reader, object, "part", HISTORY_PARTS_MAX, &part);
    if (rc) return rc;
    if (part >= parts) return history_reader_refuse(reader, "\"part\" must be below \"parts\"");
    const json_t *run = json_object_get(object, "run");
    if (run && !text_number_of(run, 16, &reader->history->run))
        return history_reader_refuse(reader, "\"run\" must be up to 16 hexadecimal digits in quotes");
    reader->history->part = (uint32_t)part;
    reader->history->parts = (uint32_t)parts;
    return 0;
}

static int header_read(struct history_reader *reader, const json_t *object)
{
    const json_t *format = json_object_get(object, "cellar_history");

    if (!json_is_integer(format) || json_integer_value(format) < 1)
        return history_reader_refuse(reader,
                                     "not a history of Cellar: its first line must begin with {\"cellar_history\":2");
    if (json_integer_value(format) != FORMAT)
        return err_set(reader->error, CELLAR_UNSUPPORTED,
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
    reader->stage = HISTORY_STAGE_LOADED;
    rc = tables_read(reader, json_object_get(object, "tables"));
    return rc ? rc : cells_read(reader, json_object_get(object, "cells"));
}

static int outcome_read(struct history_reader *reader, const json_t *object, uint32_t *outcome)
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
        return history_reader_refuse(reader,
                                     "\"outcome\" must be \"committed\", \"failed\", \"indeterminate\" or \"aborted\"");
    return 0;
}

static int txn_read(struct history_reader *reader, const json_t *object)
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
    if (!rc && txn.end_ns < txn.begin_ns) rc = history_reader_refuse(reader, "\"end\" lies before \"begin\"");
    reader->access_count = 0;
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists && !rc; i++)
        rc = list_read(reader, object, &lists[i], txn.ts);
    if (rc) return rc;
    txn.cn = (uint32_t)cn;
    txn.coordinator = (uint32_t)coordinator;
    txn.count = reader->access_count;
    return history_reader_txn(reader, &txn);
}

static int states_read(struct history_reader *reader, const json_t *object, bool final)
{
    reader->access_count = 0;
    int rc = list_read(reader, object, final ? &final_list : &loaded_list, 0);
    return rc ? rc : history_reader_states(reader, final);
}

static int end_read(struct history_reader *reader, const json_t *object, uint64_t checksum)
{
    const json_t *written = json_object_get(object, "checksum");
    uint64_t txns = 0, number = 0;

    reader->stage = HISTORY_STAGE_END;
    if (!json_is_true(json_object_get(object, "end"))) return history_reader_refuse(reader, "\"end\" must be true");
    int rc = field_number(reader, object, "txns", INT64_MAX, &txns);
    if (rc) return rc;
    if (txns != reader->history->txn_count)
        return history_reader_refuse(reader, "there are %" PRIu64 " transactions, but the end says %" PRIu64,
                                     reader->history->txn_count, txns);
    if (!written) return 0;
    if (!text_number_of(written, 16, &number))
        return history_reader_refuse(reader, "\"checksum\" must be hexadecimal digits in quotes");
    if (number != checksum)
        return history_reader_refuse(
            reader, "the checksum is wrong: the file was damaged (or edited: then leave \"checksum\" out)");
    return 0;
}

int history_reader_object(struct history_reader *reader, const json_t *object, uint64_t checksum)
{
    if (reader->stage == HISTORY_STAGE_HEADER) return header_read(reader, object);
    if (reader->stage == HISTORY_STAGE_END) return history_reader_refuse(reader, "something follows the end");
    if (json_object_get(object, "txn")) {
        if (reader->stage <= HISTORY_STAGE_TXNS) return txn_read(reader, object);
        return history_reader_refuse(reader, "a transaction after \"final\"");
    }
    if (json_object_get(object, "loaded")) {
        if (reader->stage == HISTORY_STAGE_LOADED) return states_read(reader, object, false);
        return history_reader_refuse(reader, "\"loaded\" after a transaction");
    }
    if (json_object_get(object, "final")) return states_read(reader, object, true);
    if (json_object_get(object, "end")) return end_read(reader, object, checksum);
    return history_reader_refuse(reader, "none of \"loaded\", \"txn\", \"final\" and \"end\"");
}
