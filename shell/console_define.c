/* console_define.c - tables and indexes: what there are, as the commands that would create them, and new ones. */
#include "console.h"

#include <stdlib.h>
#include <string.h>

static const char *const sorts[] = {"unsigned", "signed", "bytes"};

/* ---- what there is ---- */

int console_tables(struct console *console)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    for (const struct cellar_table *table = NULL; (table = cellar_schema_next(console->db, table));) {
        uint32_t indexes = 0;
        for (const struct cellar_index *index = NULL; (index = cellar_index_next(table, index));) indexes++;
        cellar_schema_describe(table, &schema, columns);
        printf("%-31s %u columns, keys are %s, %u indexes, room for about %llu records\n", schema.name,
               schema.column_count, schema.key_bytes ? "byte strings" : "numbers", indexes,
               (unsigned long long)schema.records_max);
    }
    return 0;
}

static void index_print(const struct cellar_schema *schema, const struct cellar_index *index)
{
    struct cellar_schema_index def;
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    cellar_index_describe(index, &def, columns);
    printf("create index %s %s%s", schema->name, def.name, def.flags & CELLAR_UNIQUE ? " unique" : "");
    bool covering = false;
    for (uint32_t i = 0; i < def.column_count; i++) {
        bool covered = columns[i].sort == CELLAR_COVERED;
        if (covered)
            printf("%s %s", covering ? "" : " covering", columns[i].column);
        else
            printf(" %s:%s%s", columns[i].column, sorts[columns[i].sort], columns[i].descending ? ":desc" : "");
        covering = covered;
    }
    putchar('\n');
}

static void table_print(const struct cellar_table *table)
{
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    cellar_schema_describe(table, &schema, columns);
    printf("create table %s records %llu", schema.name, (unsigned long long)schema.records_max);
    if (schema.key_bytes) printf(" key %s:%u", columns[0].name, schema.key_bytes);
    for (uint32_t i = schema.key_bytes > 0; i < schema.column_count; i++)
        printf(" %s:%u@%d", columns[i].name, columns[i].bytes, columns[i].cell);
    putchar('\n');
    for (const struct cellar_index *index = NULL; (index = cellar_index_next(table, index));)
        index_print(&schema, index);
}

int console_schema(struct console *console)
{
    if (console->word_count == 1) {
        for (const struct cellar_table *table = NULL; (table = cellar_schema_next(console->db, table));)
            table_print(table);
        return 0;
    }
    const struct cellar_table *table = cellar_table_find(console->db, console->words[1]);
    if (!table) return err_set(console->error, CELLAR_NOT_FOUND, "there is no table '%.40s'", console->words[1]);
    table_print(table);
    return 0;
}

/* ---- new tables ---- */

struct definition {
    struct console *console;
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
};

static int wrong(struct console *console, const char *word, const char *wanted)
{
    return err_set(console->error, CELLAR_INVALID, "'%.60s' is not %s", word, wanted);
}

/* Behind the columns there are, aligned as a compiler would. */
static void column_place(struct definition *definition, struct cellar_schema_column *column)
{
    uint32_t align = column->bytes % 8 == 0 ? 8 : column->bytes % 4 == 0 ? 4 : column->bytes % 2 == 0 ? 2 : 1;
    column->offset = (definition->schema.row_bytes + align - 1) / align * align;
    definition->schema.row_bytes = column->offset + column->bytes;
    definition->columns[definition->schema.column_count++] = *column;
}

/* NAME:BYTES[@CELL] */
static int column_parse(struct definition *definition, char *word, struct cellar_schema_column *column)
{
    struct console *console = definition->console;
    struct cellar_error ignored;
    char *bytes = strchr(word, ':'), *cell = bytes ? strchr(bytes, '@') : NULL;
    uint64_t number = 0, cell_number = 0;
    if (definition->schema.column_count == CELLAR_COLUMNS_MAX)
        return err_set(console->error, CELLAR_INVALID, "more than %d columns", CELLAR_COLUMNS_MAX);
    if (bytes) *bytes++ = 0;
    if (cell) *cell++ = 0;
    if (!bytes || value_parse_number(bytes, &number, &ignored) || number < 1 || number > CELLAR_COLUMN_BYTES_MAX ||
        (cell && (value_parse_number(cell, &cell_number, &ignored) || cell_number >= CELLAR_CELLS_MAX)))
        return wrong(console, word, "COLUMN:BYTES, or COLUMN:BYTES@CELL");
    *column = (struct cellar_schema_column){
        .name = word, .bytes = (uint32_t)number, .cell = cell ? (int32_t)cell_number : CELLAR_OWN_CELL};
    return 0;
}

static int column_add(struct definition *definition, uint32_t *at)
{
    struct console *console = definition->console;
    struct cellar_schema_column column;
    bool key = strcmp(console->words[*at], "key") == 0;
    if (key && ++*at == console->word_count) return wrong(console, "key", "followed by NAME:BYTES");
    if (key && (definition->schema.key_bytes || definition->schema.column_count))
        return wrong(console, "key", "before all columns, once");
    int code = column_parse(definition, console->words[*at], &column);
    if (code) return code;
    ++*at;
    if (key) {
        definition->schema.key_bytes = column.bytes;
        column.bytes = (column.bytes + 5) / 2 * 2; /* CELLAR_KEY: two numbers of 2 bytes before the text */
        column.cell = CELLAR_OWN_CELL;
    }
    column_place(definition, &column);
    return 0;
}

static int table_create(struct console *console)
{
    struct definition definition = {.console = console};
    const struct cellar_table *table;
    uint32_t at = 3;
    int code = 0;
    definition.schema.name = console->words[2];
    definition.schema.columns = definition.columns;
    definition.schema.records_max = 1000;
    if (at + 1 < console->word_count && strcmp(console->words[at], "records") == 0) {
        code = value_parse_number(console->words[at + 1], &definition.schema.records_max, console->error);
        at += 2;
    }
    while (at < console->word_count && code == 0) code = column_add(&definition, &at);
    definition.schema.row_bytes = (definition.schema.row_bytes + 7) / 8 * 8;
    return code ? code : err_last(console->error, cellar_table_create(console->db, &definition.schema, &table));
}

/* ---- new indexes ---- */

static int column_covered(struct console *console, const struct relation *relation, char *name,
                          struct cellar_schema_index_column *column)
{
    int field = relation_field_find(relation, name, console->error);
    if (field < 0) return field;
    if (relation_column(relation, (uint32_t)field) < 0)
        return wrong(console, name, "a column: entries have keys anyway");
    *column = (struct cellar_schema_index_column){.column = name, .sort = CELLAR_COVERED};
    return 0;
}

/* COLUMN[:SORT][:desc]; the sort of a number is signed, of all else bytes. */
static int index_column_parse(struct console *console, const struct relation *relation, char *word,
                              struct cellar_schema_index_column *column)
{
    char *rest = NULL, *name = strtok_r(word, ":", &rest), *part;
    int field = relation_field_find(relation, name ? name : "", console->error);
    if (field < 0) return field;
    int number = relation_column(relation, (uint32_t)field);
    if (number < 0) return wrong(console, word, "a column: without any the index is one of keys");
    *column = (struct cellar_schema_index_column){
        .column = name, .sort = relation->kinds[number] == VALUE_SIGNED ? CELLAR_SORT_SIGNED : CELLAR_SORT_BYTES};
    while ((part = strtok_r(NULL, ":", &rest))) {
        uint32_t sort = 0;
        while (sort < 3 && strcmp(part, sorts[sort]) != 0) sort++;
        if (sort < 3)
            column->sort = sort;
        else if (!strcmp(part, "desc"))
            column->descending = true;
        else
            return wrong(console, part, "signed, unsigned, bytes or desc");
    }
    return 0;
}

static int index_create(struct console *console)
{
    struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
    struct cellar_schema_index def = {.columns = columns};
    const struct cellar_index *index;
    struct relation relation;
    uint32_t at = 4;
    if (console->word_count < 4) return wrong(console, "create index", "followed by TABLE NAME");
    int code = relation_open(console->db, console->words[2], NULL, &relation, console->error);
    if (code) return code;
    def.name = console->words[3];
    if (at < console->word_count && strcmp(console->words[at], "unique") == 0) {
        def.flags = CELLAR_UNIQUE;
        at++;
    }
    bool covering = false;
    for (; at < console->word_count && code == 0; at++) {
        if (!covering && strcmp(console->words[at], "covering") == 0) {
            covering = true;
            continue;
        }
        if (def.column_count == CELLAR_INDEX_COLUMNS_MAX)
            code = err_set(console->error, CELLAR_INVALID, "more than %d columns", CELLAR_INDEX_COLUMNS_MAX);
        else
            code = (covering ? column_covered : index_column_parse)(console, &relation, console->words[at],
                                                                    &columns[def.column_count++]);
    }
    if (code == 0) code = err_last(console->error, cellar_index_create(console->db, relation.table, &def, &index));
    relation_close(&relation);
    return code;
}

int console_create(struct console *console)
{
    if (!strcmp(console->words[1], "table")) return table_create(console);
    if (!strcmp(console->words[1], "index")) return index_create(console);
    return wrong(console, console->words[1], "table or index");
}

/* ---- other columns ---- */

/* The sort of its text is as for a column of that width. */
static int column_more(struct console *console, const struct cellar_table *table, char *word, const char *text)
{
    struct definition definition = {.console = console};
    struct cellar_schema_column column;
    const struct cellar_table *altered;
    uint8_t value[CELLAR_COLUMN_BYTES_MAX] = {0};
    int code = column_parse(&definition, word, &column);
    if (code) return code;
    if (column.cell != CELLAR_OWN_CELL) return wrong(console, word, "COLUMN:BYTES: a new column has a cell of its own");
    enum value_kind kind = value_kind_fits(VALUE_SIGNED, column.bytes) ? VALUE_SIGNED : VALUE_TEXT;
    if (text) code = value_parse(kind, text, value, column.bytes, console->error);
    return code ? code
                : err_last(console->error,
                           cellar_column_add(console->db, table, column.name, column.bytes, value, &altered));
}

int console_alter(struct console *console)
{
    char **words = console->words;
    const struct cellar_table *table = cellar_table_find(console->db, words[2]), *altered;
    bool add = strcmp(words[3], "add") == 0;
    if (console->txn)
        return err_set(console->error, CELLAR_BUSY, "this writes the table anew, at rest: commit or abort first");
    if (strcmp(words[1], "table") != 0) return wrong(console, words[1], "table");
    if (!table) return err_set(console->error, CELLAR_NOT_FOUND, "there is no table '%.40s'", words[2]);
    if (!add && strcmp(words[3], "drop") != 0) return wrong(console, words[3], "add or drop");
    if (strcmp(words[4], "column") != 0) return wrong(console, words[4], "column");
    if (add) return column_more(console, table, words[5], console->word_count == 7 ? words[6] : NULL);
    if (console->word_count == 7) return wrong(console, words[6], "wanted here");
    return err_last(console->error, cellar_column_drop(console->db, table, words[5], &altered));
}
