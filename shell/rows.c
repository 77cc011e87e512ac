#include "rows.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

const char *const rows_formats[] = {"csv", "json", NULL};

struct rows_reader {
    FILE *in;
    const char *name;
    enum rows_format format;
    struct relation *relation;
    uint64_t line, next_line;
    char *text; /* of one row: its fields, each terminated */
    size_t used, capacity, most;
    uint32_t starts[CELLAR_COLUMNS_MAX + 1], count; /* where its fields begin */
    uint32_t fields[CELLAR_COLUMNS_MAX];            /* CSV: which one the n-th is */
};

enum rows_format rows_format_of(const char *name, const char *path)
{
    if (name) return strcmp(name, "json") == 0 ? ROWS_JSON : ROWS_CSV;
    const char *end = path ? strrchr(path, '.') : NULL;
    return end && (!strcmp(end, ".json") || !strcmp(end, ".jsonl")) ? ROWS_JSON : ROWS_CSV;
}

/* ---- writing ---- */

static void csv_write(FILE *out, const char *text)
{
    if (*text && !strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"') putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void rows_write_head(const struct relation *relation, enum rows_format format, FILE *out)
{
    if (format != ROWS_CSV) return;
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        if (i) putc(',', out);
        csv_write(out, relation->def.columns[i].name);
    }
    putc('\n', out);
}

/* A number where JSON's readers have one that large; NULL: no memory. */
static json_t *json_of(const char *text, bool numeric)
{
    json_error_t ignored;
    json_t *number = numeric && strcmp(text, "-0") != 0 ? json_loads(text, JSON_DECODE_ANY, &ignored) : NULL;
    return json_is_integer(number) || (json_is_real(number) && strpbrk(text, ".e")) ? number : json_string(text);
}

static int json_write(const struct relation *relation, FILE *out, struct cellar_error *error)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        json_object_set_new(object, relation->def.columns[i].name,
                            json_of(relation_print(relation, i, false), relation_is_numeric(relation, i)));
    }
    bool whole = json_object_size(object) == relation->def.column_count && json_dumpf(object, out, JSON_COMPACT) == 0;
    json_decref(object);
    if (!whole && !ferror(out)) return err_set(error, CELLAR_NOMEM, "no memory for a row as JSON");
    putc('\n', out);
    return 0;
}

int rows_write(const struct relation *relation, enum rows_format format, FILE *out, struct cellar_error *error)
{
    if (format == ROWS_JSON) return json_write(relation, out, error);
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        if (i) putc(',', out);
        csv_write(out, relation_print(relation, i, false));
    }
    putc('\n', out);
    return 0;
}

/* ---- reading ---- */

static int refuse(const struct rows_reader *reader, struct cellar_error *error, const char *why)
{
    return err_set(error, CELLAR_INVALID, "%.100s:%" PRIu64 ": %s", reader->name, reader->line, why);
}

static int keep(struct rows_reader *reader, char c, struct cellar_error *error)
{
    if (reader->used == reader->most) return refuse(reader, error, "longer than any row; is a quote not closed?");
    if (reader->used == reader->capacity) {
        size_t capacity = reader->capacity ? 2 * reader->capacity : 1024;
        char *text = realloc(reader->text, capacity);
        if (!text) return err_set(error, CELLAR_NOMEM, "no memory for a row");
        reader->text = text;
        reader->capacity = capacity;
    }
    reader->text[reader->used++] = c;
    return 0;
}

static int next_character(struct rows_reader *reader)
{
    int c = getc_unlocked(reader->in);
    reader->next_line += c == '\n';
    return c;
}

/* One field, from `c` on; the character behind it in *after. */
static int field_read(struct rows_reader *reader, int c, int *after, struct cellar_error *error)
{
    bool quoted = c == '"';
    int code = 0;
    if (quoted) c = next_character(reader);
    for (; code == 0; c = next_character(reader)) {
        if (quoted && c == '"' && (c = next_character(reader)) != '"') break;
        if (!quoted && (c == ',' || c == '\n' || c == '\r' || c == EOF)) break;
        if (c == EOF) return refuse(reader, error, "a quote is not closed: is the file cut off?");
        if (c == 0) return refuse(reader, error, "a byte of zero: write \\x00");
        if (c == '"' && !quoted) return refuse(reader, error, "a quote within a field that has none at its beginning");
        code = keep(reader, (char)c, error);
    }
    if (code == 0 && c == '\r' && (c = next_character(reader)) != '\n')
        return refuse(reader, error, "a carriage return within a line");
    *after = c;
    return code ? code : keep(reader, 0, error);
}

/* The fields of the next row: 1, or 0 at the end. */
static int csv_row(struct rows_reader *reader, struct cellar_error *error)
{
    reader->line = reader->next_line;
    reader->used = reader->count = 0;
    int c = next_character(reader);
    if (c == EOF) return ferror(reader->in) ? refuse(reader, error, "it cannot be read") : 0;
    for (;;) {
        if (reader->count == CELLAR_COLUMNS_MAX) return refuse(reader, error, "more fields than a table has");
        reader->starts[reader->count++] = (uint32_t)reader->used;
        int code = field_read(reader, c, &c, error);
        if (code) return code;
        if (c == '\n') return 1;
        if (c == EOF) return refuse(reader, error, "its line has no end: is the file cut off?");
        if (c != ',') return refuse(reader, error, "more text behind a quote");
        c = next_character(reader);
    }
}

static const char *csv_field(const struct rows_reader *reader, uint32_t i) { return reader->text + reader->starts[i]; }

/* Some programs begin UTF-8 with a mark that says so. */
static uint32_t mark_bytes(const char *text) { return strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; }

static int with_place(const struct rows_reader *reader, int code, struct cellar_error *error)
{
    struct cellar_error why = *error;
    return err_set(error, code, "%.100s:%" PRIu64 ": %.120s", reader->name, reader->line, why.text);
}

/* Each field of the table once, in any order. */
static int csv_head(struct rows_reader *reader, struct cellar_error *error)
{
    bool there[CELLAR_COLUMNS_MAX] = {0};
    int got = csv_row(reader, error);
    if (got < 0) return got;
    if (got == 0) return refuse(reader, error, "empty: the first line has the columns' names");
    reader->starts[0] += mark_bytes(csv_field(reader, 0));
    for (uint32_t i = 0; i < reader->count; i++) {
        int field = relation_column_find(reader->relation, csv_field(reader, i), error);
        if (field < 0) return with_place(reader, field, error);
        if (there[field]) return refuse(reader, error, "the same column twice");
        there[field] = true;
        reader->fields[i] = (uint32_t)field;
    }
    for (uint32_t i = 0; i < reader->relation->def.column_count; i++)
        if (!there[i])
            return err_set(error, CELLAR_INVALID, "%.100s:%" PRIu64 ": the column '%s' is missing", reader->name,
                           reader->line, reader->relation->def.columns[i].name);
    return 0;
}

static int csv_read(struct rows_reader *reader, struct cellar_error *error)
{
    int code = csv_row(reader, error);
    if (code <= 0) return code;
    if (reader->count != reader->relation->def.column_count)
        return err_set(error, CELLAR_INVALID, "%.100s:%" PRIu64 ": %" PRIu32 " fields for %" PRIu32 " columns",
                       reader->name, reader->line, reader->count, reader->relation->def.column_count);
    code = 0;
    for (uint32_t i = 0; i < reader->count && code == 0; i++)
        code = relation_parse(reader->relation, reader->fields[i], csv_field(reader, i), error);
    return code ? with_place(reader, code, error) : 1;
}

/* The text of a line without its end; 0: there is none. */
static int line_read(struct rows_reader *reader, struct cellar_error *error)
{
    int c, code = 0;
    reader->line = reader->next_line;
    reader->used = 0;
    while ((c = next_character(reader)) != EOF && c != '\n' && code == 0) code = keep(reader, (char)c, error);
    if (code) return code;
    if (c == EOF && reader->used) return refuse(reader, error, "its line has no end: is the file cut off?");
    if (c == EOF) return ferror(reader->in) ? refuse(reader, error, "it cannot be read") : 0;
    return 1;
}

static int json_field(struct rows_reader *reader, uint32_t field, const json_t *value, struct cellar_error *error)
{
    char number[40];
    const char *text = number;
    if (json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value))
        text = json_string_value(value);
    else if (json_is_integer(value) && relation_is_numeric(reader->relation, field))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value) && relation_is_numeric(reader->relation, field))
        snprintf(number, sizeof number, "%.17g", json_real_value(value));
    else
        return err_set(error, CELLAR_INVALID, "%s: %s", reader->relation->def.columns[field].name,
                       json_is_null(value) ? "null: columns always have a value"
                                           : "neither a string nor the number that is wanted");
    return relation_parse(reader->relation, field, text, error);
}

static int json_fields(struct rows_reader *reader, json_t *object, struct cellar_error *error)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) return err_set(error, CELLAR_INVALID, "no JSON object");
    json_object_foreach(object, name, value)
    {
        int field = relation_column_find(reader->relation, name, error);
        int code = field < 0 ? field : json_field(reader, (uint32_t)field, value, error);
        if (code) return code;
    }
    for (uint32_t i = 0; i < reader->relation->def.column_count; i++)
        if (!json_object_get(object, reader->relation->def.columns[i].name))
            return err_set(error, CELLAR_INVALID, "the column '%s' is missing", reader->relation->def.columns[i].name);
    return 0;
}

static int json_read(struct rows_reader *reader, struct cellar_error *error)
{
    json_error_t why;
    int got = line_read(reader, error);
    if (got <= 0) return got;
    json_t *object = json_loadb(reader->text, reader->used, JSON_REJECT_DUPLICATES, &why);
    int code = object ? json_fields(reader, object, error) : err_set(error, CELLAR_INVALID, "%.80s", why.text);
    json_decref(object);
    return code ? with_place(reader, code, error) : 1;
}

int rows_reader_open(FILE *in, const char *name, enum rows_format format, struct relation *relation,
                     struct rows_reader **out, struct cellar_error *error)
{
    struct rows_reader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return err_set(error, CELLAR_NOMEM, "no memory");
    *reader = (struct rows_reader){.in = in,
                                   .name = name,
                                   .format = format,
                                   .relation = relation,
                                   .line = 1,
                                   .next_line = 1,
                                   .most = relation_text_bytes(relation)};
    return format == ROWS_CSV ? csv_head(reader, error) : 0;
}

void rows_reader_close(struct rows_reader *reader)
{
    if (!reader) return;
    free(reader->text);
    free(reader);
}

int rows_read(struct rows_reader *reader, struct cellar_error *error)
{
    return reader->format == ROWS_CSV ? csv_read(reader, error) : json_read(reader, error);
}

uint64_t rows_line(const struct rows_reader *reader) { return reader->line; }
