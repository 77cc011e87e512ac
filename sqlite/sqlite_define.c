/* sqlite_define.c - tables of a pool as virtual tables: found, or made by their columns. */
#include "sqlite_define.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

SQLITE_EXTENSION_INIT3

#define CELLS 8 /* of a table that SQL makes: enough to keep most columns apart, and 127 compute nodes */
#define KEY_INDEX "k"
#define FILLER ":" /* the column of a table whose rows are nothing but keys; SQL does not see it */

static int told(char **message) { return sqlite_args_refuse(message, "%s", cellar_last_error()->text); }

/* ---- columns ---- */

/* "name:t", "name:T" of one that is NOT NULL. */
static void stored_name(const struct sqlite_column *column, char name[CELLAR_NAME_BYTES])
{
    char letter = SQLITE_TYPE_LETTERS[column->type];
    snprintf(name, CELLAR_NAME_BYTES, "%s:%c", column->name, column->not_null ? toupper(letter) : letter);
}

/* Is it a column that SQL has made? Then its type. */
static bool is_tagged(const struct cellar_schema_column *stored, struct sqlite_column *column)
{
    size_t length = strlen(stored->name);
    const char *letter = length > 2 && stored->name[length - 2] == ':'
                             ? strchr(SQLITE_TYPE_LETTERS, tolower((unsigned char)stored->name[length - 1]))
                             : NULL;
    if (!letter || !*letter) return false;
    column->type = (enum sqlite_type)(letter - SQLITE_TYPE_LETTERS);
    bool number = column->type == SQLITE_TYPE_INTEGER || column->type == SQLITE_TYPE_REAL;
    if (number ? stored->bytes != 9 || column->variable : stored->bytes < 4) return false;
    column->not_null = isupper((unsigned char)stored->name[length - 1]);
    column->tagged = true;
    snprintf(column->name, sizeof column->name, "%.*s", (int)length - 2, stored->name);
    return true;
}

/* Is the name in the list "a, b, c"? */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        if (strncasecmp(at, name, length) == 0 && (!at[length] || strchr(", ", at[length]))) return true;
    }
    return false;
}

/* Behind the columns that count: what says whether there is such a record. */
static void filler_set(struct sqlite_define *define)
{
    define->columns[define->column_count] =
        (struct sqlite_column){.bytes = 1, .not_null = true, .cells = cellar_cells_of(define->table, FILLER)};
}

static void column_read(struct sqlite_define *define, const struct sqlite_args *args,
                        const struct cellar_schema_column *stored, int number, bool variable)
{
    struct sqlite_column *column = &define->columns[define->column_count++];
    *column = (struct sqlite_column){
        .number = number, .offset = stored->offset, .bytes = stored->bytes, .variable = variable};
    column->cells = cellar_cells_of(define->table, stored->name);
    if (is_tagged(stored, column)) return;
    snprintf(column->name, sizeof column->name, "%s", stored->name);
    column->not_null = true;
    column->is_key = define->keyed && number == 0;
    bool whole = !variable && (stored->bytes == 1 || stored->bytes == 2 || stored->bytes == 4 || stored->bytes == 8);
    column->type = is_listed(args->text, stored->name)                               ? SQLITE_TYPE_TEXT
                   : column->is_key || !whole || is_listed(args->blob, stored->name) ? SQLITE_TYPE_BLOB
                                                                                     : SQLITE_TYPE_INTEGER;
}

static int name_taken(const struct sqlite_define *define)
{
    for (uint32_t i = 1; i < define->column_count; i++)
        if (strcasecmp(define->columns[i].name, define->columns[0].name) == 0) return 1;
    return 0;
}

/* All columns of a table that is there, as its schema says; the record's key before them. */
static int describe(struct sqlite_define *define, const struct sqlite_args *args, char **message)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    cellar_schema_describe(define->table, &schema, columns);
    define->row_bytes = schema.row_bytes;
    define->rows = schema.records_max;
    define->keyed = schema.key_bytes > 0;
    define->key = 0;
    if (!define->keyed) {
        define->columns[0] = (struct sqlite_column){.type = SQLITE_TYPE_INTEGER, .not_null = true, .number = -1};
        snprintf(define->columns[0].name, sizeof define->columns[0].name, "%s", args->key ? args->key : "key");
        define->column_count = 1;
    }
    bool filled = schema.column_count == 1 && strcmp(columns[0].name, FILLER) == 0;
    if (filled) filler_set(define);
    for (uint32_t i = 0; i < schema.column_count && !filled; i++)
        column_read(define, args, &columns[i], (int)i, schema.variable >> i & 1);
    return !define->keyed && name_taken(define)
               ? sqlite_args_refuse(message,
                                    "table %s has a column %s: say key='...', another name for its records' keys",
                                    args->table, define->columns[0].name)
               : SQLITE_OK;
}

/* ---- tables by their columns ---- */

static int make(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db, char **message)
{
    char names[CELLAR_COLUMNS_MAX][CELLAR_NAME_BYTES];
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    struct cellar_schema schema = {.name = args->table, .columns = columns, .records_max = args->rows};
    uint32_t stored = args->column_count - (args->key_column >= 0), apart = 0, shared = 0;
    for (uint32_t i = 0; i < args->column_count; i++) apart += args->columns[i].variable;
    uint32_t fixed = stored - apart, cells = apart < CELLS ? CELLS - apart : 1;
    if (!stored) {
        columns[0] = (struct cellar_schema_column){FILLER, 0, 1, CELLAR_OWN_CELL};
        schema.row_bytes = schema.column_count = 1;
    }
    for (uint32_t i = 0; i < args->column_count; i++) {
        if ((int)i == args->key_column) continue;
        uint32_t number = schema.column_count++;
        stored_name(&args->columns[i], names[number]);
        int32_t cell = CELLAR_OWN_CELL;
        if (args->columns[i].variable)
            schema.variable |= CELLAR_BIT(number);
        else if (fixed > cells)
            cell = (int32_t)(shared++ * cells / fixed);
        columns[number] = (struct cellar_schema_column){names[number], schema.row_bytes, args->columns[i].bytes, cell};
        schema.row_bytes += args->columns[i].bytes;
    }
    if (apart) schema.long_bytes = args->long_bytes ? args->long_bytes : args->size;
    if (strlen(args->table) > CELLAR_NAME_BYTES - 5)
        return sqlite_args_refuse(message, "table %s: its name has more than %d bytes", args->table,
                                  CELLAR_NAME_BYTES - 5);
    return cellar_table_create(db, &schema, &define->table) ? told(message) : SQLITE_OK;
}

/* The columns of the arguments, where the table has them. */
static int match(struct sqlite_define *define, const struct sqlite_args *args, char **message)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    cellar_schema_describe(define->table, &schema, columns);
    define->row_bytes = schema.row_bytes;
    define->rows = schema.records_max;
    define->key = args->key_column;
    define->column_count = args->column_count;
    for (uint32_t i = 0; i < args->column_count; i++) {
        char name[CELLAR_NAME_BYTES];
        struct sqlite_column *column = &define->columns[i];
        *column = args->columns[i];
        column->number = -1;
        if ((int)i == args->key_column) continue;
        stored_name(column, name);
        int number = cellar_column_of(define->table, name);
        bool variable = number >= 0 && (schema.variable >> number & 1);
        if (number < 0 || columns[number].bytes != column->bytes || variable != column->variable)
            return sqlite_args_refuse(message,
                                      "table %s of the pool has no column %s %s of this size: it was made otherwise",
                                      args->table, column->name, sqlite_type_name(column->type));
        column->number = number;
        column->offset = columns[number].offset;
        column->cells = cellar_cells_of(define->table, name);
    }
    uint32_t stored = args->column_count - (args->key_column >= 0);
    if (!stored) filler_set(define);
    if (schema.key_bytes || schema.column_count != (stored ? stored : 1) ||
        (!stored && strcmp(columns[0].name, FILLER) != 0))
        return sqlite_args_refuse(message, "table %s of the pool has other columns than these", args->table);
    return SQLITE_OK;
}

/* ---- indexes ---- */

static int number_of(const struct sqlite_define *define, const char *stored)
{
    int number = cellar_column_of(define->table, stored);
    for (uint32_t i = 0; i < define->column_count; i++)
        if (define->columns[i].number == number) return (int)i;
    return -1;
}

static bool is_ordered(const struct sqlite_column *column, enum cellar_sort sort)
{
    if (column->type != SQLITE_TYPE_INTEGER || column->tagged) return sort == CELLAR_SORT_BYTES;
    if (sort == CELLAR_SORT_UNSIGNED) return column->is_unsigned && column->bytes < 8;
    return sort == CELLAR_SORT_SIGNED && !column->is_unsigned;
}

static void index_read(struct sqlite_define *define, const struct cellar_index *stored)
{
    struct cellar_schema_index def;
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    struct sqlite_index *index = &define->indexes[define->index_count++];
    cellar_index_describe(stored, &def, columns);
    *index = (struct sqlite_index){.index = stored};
    bool tagged = true;
    for (uint32_t i = 0; i < def.column_count; i++) {
        int number = index->columns[i] = number_of(define, columns[i].column);
        struct sqlite_column *column = &define->columns[number];
        bool covered = columns[i].sort == CELLAR_COVERED;
        index->has[number] = covered || !column->is_key; /* a key's length is not in what is sorted by it */
        if (covered) continue;
        index->count++;
        tagged = tagged && column->tagged;
        if (columns[i].sort == CELLAR_SORT_UNSIGNED) column->is_unsigned = true;
        index->descending[i] = columns[i].descending;
        index->ordered[i] = is_ordered(column, columns[i].sort);
    }
    index->unique = (def.flags & CELLAR_UNIQUE) || (tagged && index->count && strchr("pu", def.name[0]));
}

static int key_index(struct sqlite_define *define, struct cellar *db, char **message)
{
    const struct cellar_index *index;
    const struct cellar_schema_index def = {.name = KEY_INDEX};
    return cellar_index_create(db, define->table, &def, &index) ? told(message) : SQLITE_OK;
}

/* "p0", "u1", "i2": what it is for, and where it stands among the arguments. */
static int index_make(struct sqlite_define *define, const struct sqlite_args *args, uint32_t number, struct cellar *db,
                      char **message)
{
    const struct sqlite_args_index *wanted = &args->indexes[number];
    char name[8], names[CELLAR_INDEX_COLUMNS_MAX][CELLAR_NAME_BYTES];
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    struct cellar_schema_index def = {
        .name = name, .columns = columns, .column_count = wanted->count + wanted->included};
    const struct cellar_index *index;
    snprintf(name, sizeof name, "%c%u", "pui"[wanted->kind], number);
    bool never_null = true;
    for (uint32_t i = 0; i < def.column_count; i++) {
        bool included = i >= wanted->count;
        stored_name(&args->columns[wanted->columns[i]], names[i]);
        columns[i] =
            (struct cellar_schema_index_column){names[i], included ? CELLAR_COVERED : CELLAR_SORT_BYTES, false};
        if (included) continue;
        never_null = never_null && args->columns[wanted->columns[i]].not_null;
    }
    if (wanted->kind != SQLITE_ARGS_INDEX && never_null) def.flags = CELLAR_UNIQUE; /* NULLs are never equal */
    return cellar_index_create(db, define->table, &def, &index) ? told(message) : SQLITE_OK;
}

static int indexes_read(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db, char **message)
{
    int rc = SQLITE_OK;
    for (uint32_t i = 0; i < args->index_count && rc == SQLITE_OK; i++) rc = index_make(define, args, i, db, message);
    if (rc == SQLITE_OK && (args->column_count || !cellar_index_next(define->table, NULL)))
        rc = key_index(define, db, message);
    if (rc) return rc;
    const struct cellar_index *index = NULL;
    /* Twice: only then is known of all columns whether they are unsigned. */
    for (int i = 0; i < 2; i++)
        for (define->index_count = 0; (index = cellar_index_next(define->table, index));) index_read(define, index);
    return SQLITE_OK;
}

/* ---- the whole ---- */

static bool is_typed(const struct cellar_table *table)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    cellar_schema_describe(table, &schema, columns);
    return schema.typed;
}

int sqlite_define_read(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db, char **message)
{
    *define = (struct sqlite_define){.table = cellar_table_find(db, args->table), .key = -1};
    int rc = SQLITE_OK;
    if (!define->table && !args->column_count)
        return sqlite_args_refuse(message, "pool %s has no table %s", args->pool, args->table);
    if (define->table && is_typed(define->table))
        return sqlite_args_refuse(message, "table %s of pool %s has typed columns, which SQL does not know yet",
                                  args->table, args->pool);
    bool made = !define->table;
    if (made) rc = make(define, args, db, message);
    if (rc == SQLITE_OK) rc = args->column_count ? match(define, args, message) : describe(define, args, message);
    if (rc == SQLITE_OK) rc = indexes_read(define, args, db, message);
    if (rc && made && define->table && cellar_table_drop(db, define->table))
        *message = sqlite3_mprintf("%z; the table stays in the pool, without its indexes", *message);
    if (define->rows > CELLAR_INTERACTIVE_RECORDS_MAX)
        define->rows = CELLAR_INTERACTIVE_RECORDS_MAX; /* that one may read */
    return rc;
}

const struct sqlite_column *sqlite_define_stored(const struct sqlite_define *define, cellar_cells cells)
{
    uint32_t i = 0;
    while (!(cells ? define->columns[i].cells & cells : define->columns[i].number == 0)) i++;
    return &define->columns[i];
}

char *sqlite_define_declare(const struct sqlite_define *define)
{
    char *text = sqlite3_mprintf("CREATE TABLE x(");
    for (uint32_t i = 0; i < define->column_count && text; i++) {
        const struct sqlite_column *column = &define->columns[i];
        const char *constraint = (int)i == define->key ? " PRIMARY KEY" : "";
        text = sqlite3_mprintf("%z%s\"%w\" %s%s%s", text, i ? ", " : "", column->name, sqlite_type_name(column->type),
                               constraint, column->not_null ? " NOT NULL" : "");
    }
    return text ? sqlite3_mprintf("%z)%s", text, define->keyed ? " WITHOUT ROWID" : "") : NULL;
}
