/* sqlite_make.c - a definition of the pool's, from the columns of CREATE VIRTUAL TABLE. */
#include "sqlite_define.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

#define CELLS 8 /* of a table that SQL makes: enough to keep most columns apart, and 127 compute nodes */
#define ENTRY_BYTES_MAX 96
#define LIST_BYTES (CELLAR_INDEX_COLUMNS_MAX * (CELLAR_NAME_BYTES + 2))

/* A definition, and what it points to. */
struct making {
    const struct sqlite_args *args;
    const struct sqlite_args_index *primary; /* whose columns are the key; NULL: the key is one integer */
    struct cellar_table_def def;
    struct cellar_column columns[SQLITE_DEFINE_COLUMNS];
    char names[SQLITE_DEFINE_COLUMNS][CELLAR_NAME_BYTES];
    struct cellar_index_def indexes[CELLAR_INDEXES_MAX];
    char index_names[CELLAR_INDEXES_MAX][8], lists[CELLAR_INDEXES_MAX][2][LIST_BYTES];
};

/* ---- columns ---- */

static bool is_text(const struct sqlite_column *column)
{
    return column->type == SQLITE_TYPE_TEXT || column->type == SQLITE_TYPE_BLOB;
}

/* With the type behind it where the pool's type does not say it. */
static void stored_name(const struct sqlite_column *column, char name[CELLAR_NAME_BYTES])
{
    char letter = SQLITE_TYPE_LETTERS[column->type];
    bool plain = column->not_null && !is_text(column);
    snprintf(name, CELLAR_NAME_BYTES, plain ? "%s" : "%s:%c", column->name,
             column->not_null ? toupper(letter) : letter);
}

/* Of BYTES the most that they may be, with their tag. */
static uint32_t bytes_max_of(const struct sqlite_column *column) { return column->room + !column->not_null; }

static struct cellar_column column_of(const struct sqlite_column *column, char name[CELLAR_NAME_BYTES])
{
    bool real = column->type == SQLITE_TYPE_REAL;
    stored_name(column, name);
    if (!is_text(column))
        return (struct cellar_column){.name = name,
                                      .bytes = column->not_null ? 8 : 9,
                                      .type = !column->not_null ? CELLAR_FIXED
                                              : real            ? CELLAR_FLOAT
                                                                : CELLAR_INT};
    uint32_t most = bytes_max_of(column);
    return (struct cellar_column){.name = name,
                                  .bytes = sizeof(struct cellar_bytes),
                                  .type = CELLAR_BYTES,
                                  .bytes_max = most > CELLAR_SHORT_BYTES ? CELLAR_VALUE_BYTES_MAX : most};
}

static void column_add(struct making *making, const struct cellar_column *column)
{
    struct cellar_table_def *def = &making->def;
    uint32_t align = column->type == CELLAR_FIXED ? 1 : 8;
    making->columns[def->column_count] = *column;
    making->columns[def->column_count].offset = (def->row_bytes + align - 1) / align * align;
    def->row_bytes = making->columns[def->column_count].offset + column->bytes;
    def->column_count++;
}

static bool has_column(const struct sqlite_args_index *index, uint32_t number)
{
    for (uint32_t i = 0; i < index->count; i++)
        if (index->columns[i] == (int)number) return true;
    return false;
}

static bool is_key(const struct making *making, uint32_t number)
{
    return making->primary ? has_column(making->primary, number) : (int)number == making->args->key_column;
}

static void keys_add(struct making *making, uint32_t *order)
{
    const struct sqlite_args *args = making->args;
    struct cellar_column column = {.name = SQLITE_MAKE_ROWID, .bytes = 8, .type = CELLAR_INT, .flags = CELLAR_KEY};
    if (!making->primary && args->key_column < 0) column_add(making, &column);
    for (uint32_t i = 0; i < (making->primary ? making->primary->count : args->key_column >= 0); i++) {
        int number = making->primary ? making->primary->columns[i] : args->key_column;
        order[number] = making->def.column_count;
        column = column_of(&args->columns[number], making->names[number]);
        column.flags = CELLAR_KEY;
        column_add(making, &column);
    }
}

/* The key's columns first, in its order. Others share the cells that there are, but for those beside the row. */
static void columns_add(struct making *making, uint32_t *order)
{
    const struct sqlite_args *args = making->args;
    uint32_t apart = 0, fixed = 0, shared = 0;
    keys_add(making, order);
    for (uint32_t i = 0; i < args->column_count; i++) {
        bool lies_beside = bytes_max_of(&args->columns[i]) > CELLAR_SHORT_BYTES;
        apart += lies_beside;
        fixed += !lies_beside && !is_key(making, i);
    }
    uint32_t cells = apart < CELLS ? CELLS - apart : 1;
    for (uint32_t i = 0; i < args->column_count; i++) {
        if (is_key(making, i)) continue;
        struct cellar_column column = column_of(&args->columns[i], making->names[i]);
        if (fixed > cells && column.bytes_max <= CELLAR_SHORT_BYTES) column.cell = 1 + shared++ * cells / fixed;
        order[i] = making->def.column_count;
        column_add(making, &column);
    }
    making->def.row_bytes = (making->def.row_bytes + 7) / 8 * 8;
}

/* ---- indexes ---- */

static bool never_null(const struct sqlite_args *args, const struct sqlite_args_index *index)
{
    for (uint32_t i = 0; i < index->count; i++)
        if (!args->columns[index->columns[i]].not_null) return false;
    return true;
}

static bool is_unique(const struct sqlite_args *args, const struct sqlite_args_index *index)
{
    return index->kind != SQLITE_ARGS_INDEX && never_null(args, index); /* NULLs are never equal */
}

/* In an entry of an index. */
static uint32_t entry_bytes(const struct sqlite_column *column)
{
    return is_text(column) ? bytes_max_of(column) + 2 : column->not_null ? 8 : 9;
}

/* The bytes of an entry, behind whose columns stand those of the key that are not among them. */
static uint32_t index_bytes(const struct sqlite_args *args, const struct sqlite_args_index *index,
                            const struct sqlite_args_index *primary)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < index->count + index->included; i++)
        if (i < index->count || !has_column(primary, (uint32_t)index->columns[i]))
            bytes += entry_bytes(&args->columns[index->columns[i]]);
    for (uint32_t i = 0; i < primary->count; i++)
        if (!has_column(index, (uint32_t)primary->columns[i]))
            bytes += entry_bytes(&args->columns[primary->columns[i]]);
    return bytes;
}

/* Have all entries room for the columns of such a key? Else the key is one integer, and these an index. */
static bool key_fits(const struct sqlite_args *args, const struct sqlite_args_index *primary)
{
    bool fits = !primary->included;
    for (uint32_t i = 0; i < args->index_count && fits; i++)
        fits = index_bytes(args, &args->indexes[i], primary) <= ENTRY_BYTES_MAX;
    return fits;
}

/* "a, b:t" */
static const char *list_of(const struct making *making, const int *columns, uint32_t count, bool covered, char *list)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!covered || !is_key(making, (uint32_t)columns[i])) /* entries have the key without a word */
            used +=
                (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s", used ? ", " : "", making->names[columns[i]]);
    return used ? list : NULL;
}

/* "p0", "u1", "i2": what it is for, and where it stands among the arguments. */
static void index_add(struct making *making, uint32_t number)
{
    const struct sqlite_args_index *wanted = &making->args->indexes[number];
    struct cellar_index_def *index = &making->indexes[making->def.index_count++];
    snprintf(making->index_names[number], sizeof *making->index_names, "%c%u", "pui"[wanted->kind], number % 10);
    *index = (struct cellar_index_def){
        .name = making->index_names[number],
        .columns = list_of(making, wanted->columns, wanted->count, false, making->lists[number][0]),
        .covers = list_of(making, wanted->columns + wanted->count, wanted->included, true, making->lists[number][1]),
        .flags = is_unique(making->args, wanted) ? CELLAR_UNIQUE : 0};
}

/* ---- the whole ---- */

static int told(char **message, int code)
{
    const char *text = cellar_last_error()->text;
    if (code != CELLAR_MISMATCH) return sqlite_args_refuse(message, "%s", text);
    return sqlite_args_refuse(message, "%s; name the table as it was made, or without columns", text);
}

/* A table that is there has no columns but these. */
static int others_refuse(const struct making *making, struct cellar *db, char **message)
{
    const struct cellar_table *table;
    struct cellar_table_def whole = {.size = sizeof whole, .name = making->def.name};
    int code = cellar_table_open(db, &whole, CELLAR_EXISTING, &table);
    if (code == CELLAR_NOT_FOUND) return SQLITE_OK;
    if (code == 0) code = cellar_table_describe(db, table, &whole);
    if (code) return told(message, code);
    if (whole.column_count <= making->def.column_count) return SQLITE_OK;
    return sqlite_args_refuse(message, "table %s of the pool has other columns than these", making->def.name);
}

static void definition_make(struct making *making, const struct sqlite_args *args, uint32_t *order)
{
    *making = (struct making){.args = args};
    making->def = (struct cellar_table_def){.size = sizeof making->def,
                                            .name = args->table,
                                            .columns = making->columns,
                                            .rows = args->rows,
                                            .flags = CELLAR_ORDERED};
    for (uint32_t i = 0; i < args->index_count; i++)
        if (args->indexes[i].kind == SQLITE_ARGS_PRIMARY && key_fits(args, &args->indexes[i]))
            making->primary = &args->indexes[i];
    columns_add(making, order);
    for (uint32_t i = 0; i < args->index_count; i++)
        if (&args->indexes[i] != making->primary) index_add(making, i);
    if (making->def.index_count) making->def.indexes = making->indexes;
}

int sqlite_make_table(const struct sqlite_args *args, struct cellar *db, const struct cellar_table **table,
                      uint32_t order[SQLITE_DEFINE_COLUMNS], char **message)
{
    struct making *making = sqlite3_malloc(sizeof *making);
    if (!making) return SQLITE_NOMEM;
    definition_make(making, args, order);
    int rc = others_refuse(making, db, message);
    int code = rc ? 0 : cellar_table_open(db, &making->def, CELLAR_ADD, table);
    sqlite3_free(making);
    return code ? told(message, code) : rc;
}
