/* sqlite_args.c - the arguments of CREATE VIRTUAL TABLE ... USING cellar(...): options, columns, constraints. */
#include "sqlite_define.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

SQLITE_EXTENSION_INIT3

#define SIZE_DEFAULT (64ull << 20)
#define ROWS_DEFAULT 100000
#define PROCESSES_DEFAULT 31
#define TEXT_DEFAULT 64 /* TEXT and BLOB that name no length */
#define ROOM_KEPT 4093  /* those that name a larger one take any value */

int sqlite_args_refuse(char **message, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sqlite3_free(*message);
    *message = sqlite3_vmprintf(format, args);
    va_end(args);
    return SQLITE_ERROR;
}

/* ---- tokens ---- */

struct token {
    char text[256];
    bool quoted;
};

static const char *skip(const char *at)
{
    while (isspace((unsigned char)*at)) at++;
    return at;
}

/* The next token, without its quotes; an empty one at the end. NULL: a quote is not closed, or it is too long. */
static const char *next(const char *at, struct token *token)
{
    size_t used = 0;
    at = skip(at);
    char close = *at == '[' ? ']' : *at;
    token->quoted = *at && strchr("'\"`[", *at);
    if (token->quoted) {
        for (at++; *at != close || (close != ']' && at[1] == close); at++) {
            if (!*at || used == sizeof token->text - 1) return NULL;
            token->text[used++] = *at;
            if (*at == close) at++;
        }
        at++;
    } else if (isalnum((unsigned char)*at) || *at == '_' || (unsigned char)*at >= 0x80) {
        for (; isalnum((unsigned char)*at) || *at == '_' || (unsigned char)*at >= 0x80; at++) {
            if (used == sizeof token->text - 1) return NULL;
            token->text[used++] = *at;
        }
    } else if (*at) {
        token->text[used++] = *at++;
    }
    token->text[used] = 0;
    return at;
}

static bool is_word(const struct token *token, const char *word)
{
    return !token->quoted && strcasecmp(token->text, word) == 0;
}

/* Goes past that word, if it is the next one. */
static bool take(const char **at, const char *word)
{
    struct token token;
    const char *after = next(*at, &token);
    if (!after || !is_word(&token, word)) return false;
    *at = after;
    return true;
}

/* ---- options ---- */

/* "NAME = VALUE": the name, and where the value begins; NULL: it is none. */
static const char *option_of(const char *arg, struct token *name)
{
    const char *at = next(arg, name);
    if (!at || name->quoted) return NULL;
    at = skip(at);
    return *at == '=' ? at + 1 : NULL;
}

/* "64M", "100000". False: no such number. */
static bool number_of(const char *text, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 10);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) *number <<= 10 * (unit - units + 1);
    return isdigit((unsigned char)*text) && !(unit ? end[1] : *end) && *number && *number < 1ull << 48;
}

static int option_read(struct sqlite_args *args, const char *name, const char *at, char **message)
{
    struct token value;
    char **texts[] = {&args->pool, &args->table, &args->text, &args->blob};
    static const char *const names[] = {"pool", "table", "text", "blob"};
    at = next(at, &value);
    if (!at || *skip(at) || !value.text[0]) return sqlite_args_refuse(message, "%s='...': one value, in quotes", name);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcasecmp(name, names[i]) == 0) {
            sqlite3_free(*texts[i]);
            *texts[i] = sqlite3_mprintf("%s", value.text);
            return *texts[i] ? SQLITE_OK : SQLITE_NOMEM;
        }
    static const char *const counts[] = {"size", "rows", "processes"};
    uint64_t *numbers[] = {&args->size, &args->rows, &args->processes};
    size_t i = 0;
    while (i < sizeof counts / sizeof *counts && strcasecmp(name, counts[i]) != 0) i++;
    if (i == sizeof counts / sizeof *counts)
        return sqlite_args_refuse(message,
                                  "unknown option %s: there are pool, table, text, blob, size, rows, processes", name);
    return number_of(value.text, numbers[i])
               ? SQLITE_OK
               : sqlite_args_refuse(message, "%s='%s': a number, perhaps with K, M or G", name, value.text);
}

/* ---- columns ---- */

static int column_of(const struct sqlite_args *args, const char *name)
{
    for (uint32_t i = 0; i < args->column_count; i++)
        if (strcasecmp(args->columns[i].name, name) == 0) return (int)i;
    return -1;
}

static int index_add(struct sqlite_args *args, int kind, const int *columns, uint32_t count, uint32_t included,
                     char **message)
{
    if (args->index_count == CELLAR_INDEXES_MAX - 1)
        return sqlite_args_refuse(message, "more indexes than a table may have (%d, one of them of its keys)",
                                  CELLAR_INDEXES_MAX);
    for (uint32_t i = 0; i < count + included; i++)
        if (args->columns[columns[i]].room > CELLAR_SHORT_BYTES - 1)
            return sqlite_args_refuse(message, "column %s has more than %d bytes: no index, UNIQUE or key has it",
                                      args->columns[columns[i]].name, CELLAR_SHORT_BYTES - 1);
    struct sqlite_args_index *index = &args->indexes[args->index_count++];
    index->kind = kind;
    index->count = count;
    index->included = included;
    memcpy(index->columns, columns, (count + included) * sizeof *columns);
    return SQLITE_OK;
}

static int type_read(struct sqlite_column *column, const char **at, char **message)
{
    static const struct {
        const char *word;
        enum sqlite_type type;
    } words[] = {{"INTEGER", SQLITE_TYPE_INTEGER}, {"INT", SQLITE_TYPE_INTEGER},  {"BIGINT", SQLITE_TYPE_INTEGER},
                 {"REAL", SQLITE_TYPE_REAL},       {"DOUBLE", SQLITE_TYPE_REAL},  {"FLOAT", SQLITE_TYPE_REAL},
                 {"TEXT", SQLITE_TYPE_TEXT},       {"VARCHAR", SQLITE_TYPE_TEXT}, {"CHAR", SQLITE_TYPE_TEXT},
                 {"BLOB", SQLITE_TYPE_BLOB}};
    size_t i = 0;
    while (i < sizeof words / sizeof *words && !take(at, words[i].word)) i++;
    if (i == sizeof words / sizeof *words)
        return sqlite_args_refuse(message, "column %s: a type is wanted: INTEGER, REAL, TEXT(n) or BLOB(n)",
                                  column->name);
    column->type = words[i].type;
    bool sized = column->type == SQLITE_TYPE_TEXT || column->type == SQLITE_TYPE_BLOB;
    uint64_t n = TEXT_DEFAULT;
    struct token token = {.text = ""};
    if (take(at, "(")) {
        const char *after = next(*at, &token);
        if (!sized || !after || !number_of(token.text, &n) || n > CELLAR_VALUE_BYTES_MAX || !take(&after, ")"))
            return sqlite_args_refuse(message, "column %s: %s(n) has n from 1 to %d", column->name,
                                      sized ? "TEXT" : "no type but TEXT", CELLAR_VALUE_BYTES_MAX);
        *at = after;
    }
    if (sized) column->room = n > ROOM_KEPT ? CELLAR_VALUE_BYTES_MAX : (uint32_t)n;
    return SQLITE_OK;
}

static int primary_key(struct sqlite_args *args, int number, char **message)
{
    struct sqlite_column *column = &args->columns[number];
    for (uint32_t i = 0; i < args->index_count; i++)
        if (args->indexes[i].kind == SQLITE_ARGS_PRIMARY)
            return sqlite_args_refuse(message, "a table has one PRIMARY KEY");
    if (args->key_column >= 0) return sqlite_args_refuse(message, "a table has one PRIMARY KEY");
    column->not_null = true;
    if (column->type != SQLITE_TYPE_INTEGER) return index_add(args, SQLITE_ARGS_PRIMARY, &number, 1, 0, message);
    args->key_column = number;
    return SQLITE_OK;
}

/* ---- DEFAULT and CHECK ---- */

/* Behind the ) that belongs to this (. NULL: there is none, or a text in it has no end, or is too long. */
static const char *closed(const char *at)
{
    struct token token;
    uint32_t depth = 0;
    do {
        at = next(at, &token);
        if (!at || (!token.text[0] && !token.quoted)) return NULL;
        if (is_word(&token, "(")) depth++;
        if (is_word(&token, ")")) depth--;
    } while (depth);
    return at;
}

/* Behind a literal, a word (CURRENT_DATE) or an expression in ( ). NULL: it has no end. */
static const char *literal_end(const char *at)
{
    struct token token;
    if (*at == '(') return closed(at);
    if (*at == '+' || *at == '-') at = skip(at + 1);
    if (isdigit((unsigned char)*at) || *at == '.') {
        for (; isalnum((unsigned char)*at) || *at == '.' || (strchr("+-", *at) && *at && tolower(at[-1]) == 'e'); at++)
            ;
        return at;
    }
    at = next(at, &token);
    return at && is_word(&token, "x") && *at == '\'' ? next(at, &token) : at;
}

static int default_read(struct sqlite_args *args, int number, const char **at, char **message)
{
    const char *begin = skip(*at), *end = literal_end(begin);
    if (!end || end == begin || args->defaults[number])
        return sqlite_args_refuse(message, "column %s: one DEFAULT, a literal or an expression in ( )",
                                  args->columns[number].name);
    args->defaults[number] = sqlite3_mprintf("%.*s", (int)(end - begin), begin);
    *at = end;
    return args->defaults[number] ? SQLITE_OK : SQLITE_NOMEM;
}

static int check_read(struct sqlite_args *args, const char **at, char **message)
{
    const char *begin = skip(*at), *end = *begin == '(' ? closed(begin) : NULL;
    if (!end) return sqlite_args_refuse(message, "CHECK has an expression in ( )");
    int bytes = (int)(end - begin) - 2;
    char *text = sqlite3_mprintf("%.*s", bytes, begin + 1);
    args->checks = sqlite3_mprintf("%z%s(%s) AS \"%w\"", args->checks, args->checks ? ", " : "", text, text);
    sqlite3_free(text);
    *at = end;
    return args->checks ? SQLITE_OK : SQLITE_NOMEM;
}

/* Which columns CHECKs name: at least those, since a text in them may read like one. */
static void checked_find(struct sqlite_args *args)
{
    struct token token;
    for (const char *at = args->checks; at && *(at = skip(at));) {
        at = next(at, &token);
        int number = at ? column_of(args, token.text) : -1;
        if (number >= 0) args->columns[number].checked = true;
    }
}

/* SQLite hands NULL to a virtual table for what an INSERT leaves out: where NULL is a value it cannot be told apart. */
static int defaults_check(const struct sqlite_args *args, char **message)
{
    for (uint32_t i = 0; i < args->column_count; i++) {
        if (!args->defaults[i]) continue;
        if ((int)i == args->key_column)
            return sqlite_args_refuse(message, "column %s: an INTEGER PRIMARY KEY has no DEFAULT",
                                      args->columns[i].name);
        if (!args->columns[i].not_null)
            return sqlite_args_refuse(message, "column %s: only a column that is NOT NULL has a DEFAULT here",
                                      args->columns[i].name);
    }
    return SQLITE_OK;
}

/* ---- columns with their constraints ---- */

static int column_read(struct sqlite_args *args, const char *name, const char *at, char **message)
{
    if (args->column_count == CELLAR_COLUMNS_MAX)
        return sqlite_args_refuse(message, "a table has at most %d columns", CELLAR_COLUMNS_MAX);
    if (strlen(name) > CELLAR_NAME_BYTES - 3)
        return sqlite_args_refuse(message, "column %s: its name has more than %d bytes", name, CELLAR_NAME_BYTES - 3);
    bool is_name = !strpbrk(name, ":,") && *name != '-' && *name != ' ';
    if (!is_name || column_of(args, name) >= 0)
        return sqlite_args_refuse(message, "column %s: %s", name,
                                  is_name ? "it is there twice" : "a name has no : and no , and begins with no -");
    int number = (int)args->column_count;
    struct sqlite_column *column = &args->columns[args->column_count++];
    *column = (struct sqlite_column){.type = SQLITE_TYPE_INTEGER};
    strcpy(column->name, name);
    int rc = type_read(column, &at, message);
    while (rc == SQLITE_OK && *(at = skip(at))) {
        if (take(&at, "PRIMARY") && take(&at, "KEY"))
            rc = primary_key(args, number, message);
        else if (take(&at, "NOT") && take(&at, "NULL"))
            column->not_null = true;
        else if (take(&at, "UNIQUE"))
            rc = index_add(args, SQLITE_ARGS_UNIQUE, &number, 1, 0, message);
        else if (take(&at, "DEFAULT"))
            rc = default_read(args, number, &at, message);
        else if (take(&at, "CHECK"))
            rc = check_read(args, &at, message);
        else
            return sqlite_args_refuse(
                message, "column %s: after its type come PRIMARY KEY, NOT NULL, UNIQUE, DEFAULT or CHECK, not %s", name,
                at);
    }
    return rc;
}

/* (a, b, ...), after the columns that there are. */
static int names_read(struct sqlite_args *args, const char **from, int *columns, uint32_t *count, char **message)
{
    const char *at = *from;
    struct token name;
    if (!take(&at, "(")) return sqlite_args_refuse(message, "PRIMARY KEY, UNIQUE and INDEX name their columns in ( )");
    do {
        at = next(at, &name);
        int number = at ? column_of(args, name.text) : -1;
        if (number < 0)
            return sqlite_args_refuse(message, "PRIMARY KEY, UNIQUE or INDEX: no column %s before it",
                                      at ? name.text : "");
        for (uint32_t i = 0; i < *count; i++)
            if (columns[i] == number) return sqlite_args_refuse(message, "an index has column %s twice", name.text);
        if (*count == CELLAR_INDEX_COLUMNS_MAX || number == args->key_column)
            return sqlite_args_refuse(message,
                                      "an index has at most %d columns, the INTEGER PRIMARY KEY not among them",
                                      CELLAR_INDEX_COLUMNS_MAX);
        columns[(*count)++] = number;
    } while (take(&at, ","));
    if (!take(&at, ")")) return sqlite_args_refuse(message, "PRIMARY KEY, UNIQUE or INDEX: ) is wanted, not %s", at);
    *from = at;
    return SQLITE_OK;
}

/* PRIMARY KEY, UNIQUE or INDEX over (a, b, ...), which may INCLUDE (c, d, ...). */
static int constraint_read(struct sqlite_args *args, int kind, const char *at, char **message)
{
    int columns[CELLAR_INDEX_COLUMNS_MAX];
    uint32_t count = 0, all;
    int rc = names_read(args, &at, columns, &count, message);
    all = count;
    if (rc == SQLITE_OK && take(&at, "INCLUDE")) rc = names_read(args, &at, columns, &all, message);
    if (rc) return rc;
    if (*skip(at))
        return sqlite_args_refuse(message, "PRIMARY KEY, UNIQUE or INDEX: INCLUDE or nothing is wanted, not %s",
                                  skip(at));
    for (uint32_t i = 0; kind == SQLITE_ARGS_PRIMARY && i < count; i++) args->columns[columns[i]].not_null = true;
    if (kind == SQLITE_ARGS_PRIMARY && all == 1) return primary_key(args, columns[0], message);
    if (kind == SQLITE_ARGS_PRIMARY && args->key_column >= 0)
        return sqlite_args_refuse(message, "a table has one PRIMARY KEY");
    return index_add(args, kind, columns, count, all - count, message);
}

static int arg_read(struct sqlite_args *args, const char *arg, char **message)
{
    struct token name;
    const char *at = option_of(arg, &name);
    if (at) return option_read(args, name.text, at, message);
    at = arg;
    if (take(&at, "PRIMARY") && take(&at, "KEY")) return constraint_read(args, SQLITE_ARGS_PRIMARY, at, message);
    if (take(&at, "UNIQUE")) return constraint_read(args, SQLITE_ARGS_UNIQUE, at, message);
    if (take(&at, "INDEX")) return constraint_read(args, SQLITE_ARGS_INDEX, at, message);
    if (take(&at, "CHECK")) {
        int rc = check_read(args, &at, message);
        return rc || !*skip(at) ? rc
                                : sqlite_args_refuse(message, "CHECK: nothing is wanted behind ), not %s", skip(at));
    }
    at = next(arg, &name);
    if (!at || !name.text[0]) return sqlite_args_refuse(message, "an option or a column is wanted, not \"%s\"", arg);
    return column_read(args, name.text, at, message);
}

int sqlite_args_read(struct sqlite_args *args, int argc, const char *const *argv, char **message)
{
    *args = (struct sqlite_args){
        .key_column = -1, .size = SIZE_DEFAULT, .rows = ROWS_DEFAULT, .processes = PROCESSES_DEFAULT};
    for (int i = 3; i < argc; i++) {
        int rc = arg_read(args, argv[i], message);
        if (rc) return rc;
    }
    if (args->processes > 255) return sqlite_args_refuse(message, "processes: at most 255");
    if (!args->pool) return sqlite_args_refuse(message, "pool='FILE' is wanted");
    args->named = args->table != NULL;
    if (!args->named) args->table = sqlite3_mprintf("%s", argv[2]);
    if (args->column_count && (args->text || args->blob))
        return sqlite_args_refuse(message, "text and blob are for tables that are there, named without columns");
    if (args->checks && !args->column_count) return sqlite_args_refuse(message, "CHECK is for tables with columns");
    checked_find(args);
    int rc = defaults_check(args, message);
    return rc ? rc : args->table ? SQLITE_OK : SQLITE_NOMEM;
}

void sqlite_args_free(struct sqlite_args *args)
{
    sqlite3_free(args->pool);
    sqlite3_free(args->table);
    sqlite3_free(args->text);
    sqlite3_free(args->blob);
    sqlite3_free(args->checks);
    for (uint32_t i = 0; i < SQLITE_DEFINE_COLUMNS; i++) sqlite3_free(args->defaults[i]);
}
