/* sqlite_define.c - tables of a pool as virtual tables. */
#include "sqlite_define.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

SQLITE_EXTENSION_INIT3

/* What the library says of the table, and which of its columns SQL's are. */
struct described {
    struct cellar_table_def def;
    uint32_t order[SQLITE_DEFINE_COLUMNS];
};

/* ---- columns ---- */

/* Is it a column that SQL has made? Then its name and its type. */
static bool is_marked(const struct cellar_column *stored, struct sqlite_column *column)
{
    size_t length = strlen(stored->name);
    const char *letter = length > 2 && stored->name[length - 2] == ':'
                             ? strchr(SQLITE_TYPE_LETTERS, tolower((unsigned char)stored->name[length - 1]))
                             : NULL;
    if (!letter || !*letter) return false;
    column->type = (enum sqlite_type)(letter - SQLITE_TYPE_LETTERS);
    bool number = column->type == SQLITE_TYPE_INTEGER || column->type == SQLITE_TYPE_REAL;
    column->not_null = isupper((unsigned char)stored->name[length - 1]);
    column->tagged = !column->not_null;
    if (number ? stored->type != CELLAR_FIXED || stored->bytes != 9 || !column->tagged : stored->type != CELLAR_BYTES)
        return false;
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

static enum sqlite_type type_of(const struct cellar_column *stored, const struct sqlite_args *args)
{
    bool number = stored->type != CELLAR_FIXED && stored->type != CELLAR_BYTES;
    if (!number) return is_listed(args->text, stored->name) ? SQLITE_TYPE_TEXT : SQLITE_TYPE_BLOB;
    if (is_listed(args->blob, stored->name)) return SQLITE_TYPE_BLOB;
    return stored->type == CELLAR_FLOAT ? SQLITE_TYPE_REAL : SQLITE_TYPE_INTEGER;
}

/* The i-th column of SQL's, as the pool has it. */
static void column_read(struct sqlite_define *define, const struct sqlite_args *args, const struct described *described,
                        uint32_t i)
{
    const struct cellar_column *stored = &described->def.columns[described->order[i]];
    struct sqlite_column *column = &define->columns[i];
    *column = (struct sqlite_column){.number = described->order[i], .offset = stored->offset, .bytes = stored->bytes};
    if (!is_marked(stored, column)) {
        snprintf(column->name, sizeof column->name, "%s", stored->name);
        column->type = type_of(stored, args);
        column->tagged = false;
        column->not_null = true;
    }
    column->kind = (enum cellar_type)stored->type;
    column->is_key = stored->flags & CELLAR_KEY;
    bool bytes = column->kind == CELLAR_BYTES;
    bool in_row = bytes && (column->is_key || stored->bytes_max <= CELLAR_SHORT_BYTES);
    column->room = !bytes ? stored->bytes : in_row ? stored->bytes_max - column->tagged : CELLAR_VALUE_BYTES_MAX;
    if (in_row) {
        column->spot = define->room_bytes;
        define->room_bytes += stored->bytes_max;
    }
    if (i >= args->column_count) return;
    column->checked = args->columns[i].checked;
    if (bytes) column->room = args->columns[i].room; /* the pool does not know it of values beside the row */
}

/* Those of one cell have one bit; the key's, which come with any others, have none. */
static void units_read(struct sqlite_define *define)
{
    uint32_t next = 0, of_cell[CELLAR_CELLS_MAX + 1] = {0};
    for (uint32_t i = 0; i < define->column_count; i++) {
        struct sqlite_column *column = &define->columns[i];
        uint32_t cell = define->shape.columns[column->number].cell;
        if (column->is_key) continue;
        column->units = cell ? of_cell[cell] : 0;
        if (!column->units) column->units = 1u << next++ % CELLAR_CELLS_MAX;
        of_cell[cell] = column->units;
    }
}

/* Is it the key's only column, and an integer? */
static bool is_rowid(const struct sqlite_define *define, uint32_t i)
{
    const struct sqlite_column *column = &define->columns[i];
    return define->key_count == 1 && column->type == SQLITE_TYPE_INTEGER;
}

static void columns_read(struct sqlite_define *define, const struct sqlite_args *args,
                         const struct described *described)
{
    const struct cellar_table_def *def = &described->def;
    define->shape.columns = def->columns;
    define->shape.column_count = def->column_count;
    define->room_bytes = define->shape.row_bytes = def->row_bytes;
    define->rows = def->rows < CELLAR_INTERACTIVE_RECORDS_MAX ? def->rows : CELLAR_INTERACTIVE_RECORDS_MAX;
    define->rowid = -1;
    for (uint32_t i = 0; i < def->column_count; i++) {
        column_read(define, args, described, i);
        if (strcmp(def->columns[described->order[i]].name, SQLITE_MAKE_ROWID) != 0) define->column_count++;
    }
    for (uint32_t k = 0; k < def->column_count; k++) /* the key's, in its order */
        for (uint32_t i = 0; i < def->column_count; i++)
            if (define->columns[i].number == k && define->columns[i].is_key) {
                define->keys[define->key_count++] = (int)i;
                define->shape.keys |= CELLAR_COL(k);
            }
    if (is_rowid(define, (uint32_t)define->keys[0])) define->rowid = define->keys[0];
    units_read(define);
}

/* ---- indexes ---- */

/* The columns of "a, -b", added to those that an index is ordered by. */
static void order_read(const struct sqlite_define *define, const char *list, struct sqlite_index *index)
{
    for (const char *at = list; *at; at += strspn(at, ", ")) {
        bool descending = *at == '-';
        size_t length = strcspn(at += descending, ",");
        for (uint32_t i = 0; i < define->shape.column_count; i++) {
            const char *name = define->shape.columns[define->columns[i].number].name;
            if (strlen(name) != length || memcmp(name, at, length) != 0) continue;
            index->descending[index->count] = descending;
            index->columns[index->count++] = (int)i;
        }
        at += length;
    }
}

/* What its entries give: floats they do not, but for those that are covered. */
static void entries_read(const struct sqlite_define *define, uint32_t covered, struct sqlite_index *index)
{
    index->has = define->shape.keys;
    for (uint32_t i = 0; i < index->count + covered; i++) {
        const struct sqlite_column *column = &define->columns[index->columns[i]];
        if (i < index->count) index->order |= CELLAR_COL(column->number);
        if (i >= index->count || column->kind != CELLAR_FLOAT) index->has |= CELLAR_COL(column->number);
    }
}

static void index_read(struct sqlite_define *define, const struct cellar_index_def *def)
{
    struct sqlite_index *index = &define->indexes[define->index_count++];
    bool tagged = false;
    *index = (struct sqlite_index){.name = def->name};
    index->index = cellar_index_find(define->shape.table, def->name);
    order_read(define, def->columns, index);
    uint32_t count = index->count;
    for (uint32_t i = 0; i < count; i++) tagged = tagged || define->columns[index->columns[i]].tagged;
    if (def->covers) order_read(define, def->covers, index);
    uint32_t covered = index->count - count;
    index->count = count;
    entries_read(define, covered, index);
    /* One that SQL has made, of columns that may be NULL: it sees to it itself. */
    index->unique = (def->flags & CELLAR_UNIQUE) || (tagged && strchr("pu", *def->name));
}

static void key_order_read(struct sqlite_define *define)
{
    struct sqlite_index *index = &define->indexes[define->index_count++];
    *index = (struct sqlite_index){.name = "k", .count = define->key_count, .unique = true};
    memcpy(index->columns, define->keys, sizeof define->keys);
    entries_read(define, 0, index);
}

/* ---- the whole ---- */

static int told(char **message) { return sqlite_args_refuse(message, "%s", cellar_last_error()->text); }

/* All of the table of that name, as the library lays its rows out. */
static int whole_open(const struct sqlite_args *args, struct cellar *db, uint32_t flags,
                      const struct cellar_table **table, struct cellar_table_def *def)
{
    *def = (struct cellar_table_def){.size = sizeof *def, .name = args->table, .flags = flags};
    int code = cellar_table_open(db, def, CELLAR_EXISTING | CELLAR_ADD, table);
    return code ? code : cellar_table_describe(db, *table, def);
}

static int whole_find(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db,
                      struct described *described, char **message)
{
    struct cellar_table_def *def = &described->def;
    int code = whole_open(args, db, 0, &define->shape.table, def);
    if (code == 0 && !def->index_count && !def->flags) /* it is to be read as a whole */
        code = whole_open(args, db, CELLAR_ORDERED, &define->shape.table, def);
    if (code == CELLAR_NOT_FOUND)
        return sqlite_args_refuse(message, "pool %s has no table %s", args->pool, args->table);
    if (code == CELLAR_MISMATCH)
        return sqlite_args_refuse(message, "%s; SQL knows those that cellar_table_open makes",
                                  cellar_last_error()->text);
    if (code) return told(message);
    uint32_t visible = 0;
    for (uint32_t i = 0; i < def->column_count; i++)
        described->order[strcmp(def->columns[i].name, SQLITE_MAKE_ROWID) ? visible++ : def->column_count - 1] = i;
    return SQLITE_OK;
}

/* By the arguments' columns. */
static int made_find(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db,
                     struct described *described, char **message)
{
    int rc = sqlite_make_table(args, db, &define->shape.table, described->order, message);
    described->def.size = sizeof described->def;
    if (rc == SQLITE_OK && cellar_table_describe(db, define->shape.table, &described->def)) return told(message);
    return rc;
}

int sqlite_define_read(struct sqlite_define *define, const struct sqlite_args *args, struct cellar *db, char **message)
{
    struct described described = {.order = {0}};
    *define = (struct sqlite_define){.rowid = -1};
    int rc = (args->column_count ? made_find : whole_find)(define, args, db, &described, message);
    if (rc) return rc;
    columns_read(define, args, &described);
    if (described.def.flags & CELLAR_ORDERED) key_order_read(define);
    for (uint32_t i = 0; i < described.def.index_count; i++) index_read(define, &described.def.indexes[i]);
    return SQLITE_OK;
}

char *sqlite_define_declare(const struct sqlite_define *define)
{
    char *text = sqlite3_mprintf("CREATE TABLE x(");
    for (uint32_t i = 0; i < define->column_count && text; i++) {
        const struct sqlite_column *column = &define->columns[i];
        text = sqlite3_mprintf("%z%s\"%w\" %s%s%s", text, i ? ", " : "", column->name, sqlite_type_name(column->type),
                               (int)i == define->rowid ? " PRIMARY KEY" : "", column->not_null ? " NOT NULL" : "");
    }
    /* One column is what SQLite takes for the key of rows that it is to change. */
    static const char packed[] = ", \"key:\" BLOB HIDDEN PRIMARY KEY) WITHOUT ROWID";
    return text ? sqlite3_mprintf("%z%s", text, define->rowid < 0 ? packed : ")") : NULL;
}
