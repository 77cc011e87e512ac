/* console_define.c - tables and indexes: what there are, as the commands that would create them; new ones, and gone. */
#include "console.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 64
#define NAMES_BYTES 512 /* of an index's columns */

/* ---- types ---- */

/* Words for types, as "u32", "f64", "fixed16", "bytes200". */
static const struct type_word {
    const char *word;
    enum cellar_type type;
    bool bits; /* the number behind it counts bits */
} type_words[] = {{"u", CELLAR_UINT, true},
                  {"i", CELLAR_INT, true},
                  {"f", CELLAR_FLOAT, true},
                  {"fixed", CELLAR_FIXED, false},
                  {"bytes", CELLAR_BYTES, false}};
#define TYPE_WORDS (sizeof type_words / sizeof *type_words)

/* ":u32"; `text` has WORD_BYTES. */
static void type_text(const struct cellar_column *column, char *text)
{
    *text = 0;
    for (uint32_t i = 0; i < TYPE_WORDS; i++) {
        const struct type_word *word = &type_words[i];
        if (word->type != column->type) continue;
        uint32_t number = column->type == CELLAR_BYTES ? column->bytes_max
                          : word->bits                 ? column->bytes * 8
                                                       : column->bytes;
        int length = snprintf(text, WORD_BYTES, ":%s", word->word);
        if (column->type != CELLAR_BYTES || number < CELLAR_VALUE_BYTES_MAX)
            snprintf(text + length, WORD_BYTES - (size_t)length, "%u", number);
    }
}

/* False: it is no type. Which widths there are, the engine says. */
static bool type_parse(const char *text, struct cellar_column *column)
{
    struct cellar_error ignored;
    uint64_t number = 0;
    for (uint32_t i = 0; i < TYPE_WORDS; i++) {
        const struct type_word *word = &type_words[i];
        size_t length = strlen(word->word);
        if (strncmp(text, word->word, length) != 0) continue;
        bool given = text[length] != 0;
        if (given && (value_parse_number(text + length, &number, &ignored) || number > CELLAR_VALUE_BYTES_MAX))
            continue;
        if ((!given && word->type != CELLAR_BYTES) || (word->bits && number % 8)) continue;
        column->type = word->type;
        column->bytes = (uint32_t)(word->bits ? number / 8 : number);
        if (word->type == CELLAR_BYTES) {
            column->bytes_max = column->bytes;
            column->bytes = sizeof(struct cellar_bytes);
        }
        return true;
    }
    return false;
}

/* ---- what there is ---- */

static int each_table(struct console *console, void (*print)(const struct relation *relation))
{
    struct relation relation;
    for (const char *name = NULL; (name = cellar_table_next(console->db, name));) {
        int code = relation_open(console->db, name, NULL, &relation, console->error);
        if (code == CELLAR_MISMATCH)
            printf("%s has no typed columns: its program alone can read it\n", name);
        else if (code)
            return code;
        else
            print(&relation);
        relation_close(&relation);
    }
    return 0;
}

static void summary_print(const struct relation *relation)
{
    const struct cellar_table_def *def = &relation->def;
    printf("%-31s %u columns, key", def->name, def->column_count);
    for (uint32_t i = 0; i < relation->key_count; i++)
        printf("%s %s", i ? "," : "", def->columns[relation->keys[i]].name);
    printf("%s, %u indexes, for about %llu rows\n", def->flags & CELLAR_ORDERED ? ", ordered" : "", def->index_count,
           (unsigned long long)def->rows);
}

int console_tables(struct console *console) { return each_table(console, summary_print); }

static void more_print(const char *word)
{
    putchar(' ');
    console_word_print(word);
}

/* "city, -age": each name a word. */
static void names_print(const char *names)
{
    char name[WORD_BYTES];
    for (; names && *names; names += strspn(names, ", ")) {
        size_t bytes = strcspn(names, ",");
        snprintf(name, sizeof name, "%.*s", (int)bytes, names);
        more_print(name);
        names += bytes;
    }
}

static void index_print(const char *table, const struct cellar_index_def *index)
{
    printf("create index");
    more_print(table);
    more_print(index->name);
    if (index->flags & CELLAR_UNIQUE) printf(" unique");
    names_print(index->columns);
    if (index->covers) printf(" covering");
    names_print(index->covers);
    putchar('\n');
}

static void column_print(const struct cellar_column *column)
{
    char type[WORD_BYTES], cell[WORD_BYTES] = "", word[CELLAR_NAME_BYTES + 3 * WORD_BYTES];
    type_text(column, type);
    if (column->cell) snprintf(cell, sizeof cell, "@%u", column->cell);
    snprintf(word, sizeof word, "%s%s%s%s", column->name, type, column->flags & CELLAR_KEY ? ":key" : "", cell);
    more_print(word);
}

static void table_print(const struct relation *relation)
{
    const struct cellar_table_def *def = &relation->def;
    printf("create table");
    more_print(def->name);
    printf(" rows %llu%s", (unsigned long long)def->rows, def->flags & CELLAR_ORDERED ? " ordered" : "");
    for (uint32_t i = 0; i < def->column_count; i++) column_print(&def->columns[i]);
    putchar('\n');
    for (uint32_t i = 0; i < def->index_count; i++) index_print(def->name, &def->indexes[i]);
}

int console_schema(struct console *console)
{
    struct relation relation;
    if (console->word_count == 1) return each_table(console, table_print);
    int code = relation_open(console->db, console->words[1], NULL, &relation, console->error);
    if (code == 0) table_print(&relation);
    relation_close(&relation);
    return code;
}

/* ---- new tables ---- */

static int wrong(struct console *console, const char *word, const char *wanted)
{
    return err_set(console->error, CELLAR_INVALID, "'%.60s' is not %s", word, wanted);
}

struct definition {
    struct cellar_table_def def;
    struct cellar_column columns[CELLAR_COLUMNS_MAX];
};

/* Behind the columns there are, aligned for any type. */
static void column_place(struct definition *definition, struct cellar_column column)
{
    column.offset = (definition->def.row_bytes + 7) / 8 * 8;
    definition->def.row_bytes = column.offset + column.bytes;
    definition->columns[definition->def.column_count++] = column;
}

/* COLUMN:TYPE[:key][@CELL], from behind: a name may have colons. */
static int column_parse(struct console *console, char *word, struct definition *definition)
{
    static const char wanted[] = "COLUMN:TYPE, COLUMN:TYPE:key or COLUMN:TYPE@CELL; types: u8 to u64, i8 to i64, f32, "
                                 "f64, fixedN, bytesN, bytes";
    struct cellar_column column = {.name = word};
    struct cellar_error ignored;
    uint64_t cell = 0;
    char whole[WORD_BYTES], *at = strrchr(word, '@'), *colon;
    snprintf(whole, sizeof whole, "%s", word);
    if (definition->def.column_count == CELLAR_COLUMNS_MAX)
        return err_set(console->error, CELLAR_INVALID, "more than %d columns", CELLAR_COLUMNS_MAX);
    if (at && value_parse_number(at + 1, &cell, &ignored) == 0) *at = 0;
    colon = strrchr(word, ':');
    if (colon && strcmp(colon, ":key") == 0) {
        *colon = 0;
        column.flags = CELLAR_KEY;
        colon = strrchr(word, ':');
    }
    if (!colon || !type_parse(colon + 1, &column) || cell > CELLAR_CELLS_MAX) return wrong(console, whole, wanted);
    *colon = 0;
    column.cell = (uint32_t)cell;
    column_place(definition, column);
    return 0;
}

static int table_create(struct console *console)
{
    struct definition definition = {.def = {.size = sizeof definition.def, .name = console->words[2]}};
    const struct cellar_table *table;
    uint32_t at = 3;
    int code = 0;
    if (at + 1 < console->word_count && strcmp(console->words[at], "rows") == 0) {
        code = value_parse_number(console->words[at + 1], &definition.def.rows, console->error);
        at += 2;
    }
    if (at < console->word_count && strcmp(console->words[at], "ordered") == 0) {
        definition.def.flags = CELLAR_ORDERED;
        at++;
    }
    for (; at < console->word_count && code == 0; at++) code = column_parse(console, console->words[at], &definition);
    definition.def.columns = definition.columns;
    definition.def.row_bytes = (definition.def.row_bytes + 7) / 8 * 8;
    return code ? code : err_last(console->error, cellar_table_open(console->db, &definition.def, 0, &table));
}

/* ---- new indexes ---- */

/* One more of a list of names. */
static int name_add(struct console *console, char *names, const char *name)
{
    size_t used = strlen(names);
    if (used + strlen(name) + 3 > NAMES_BYTES)
        return err_set(console->error, CELLAR_INVALID, "more columns than an index may have");
    snprintf(names + used, NAMES_BYTES - used, "%s%s", used ? ", " : "", name);
    return 0;
}

/* The table is as it was, but for what is added to it. */
static int table_add(struct console *console, const struct cellar_index_def *index, uint32_t flags)
{
    const struct cellar_table_def def = {
        .size = sizeof def, .name = console->words[2], .indexes = index, .index_count = index ? 1 : 0, .flags = flags};
    const struct cellar_table *table;
    return err_last(console->error, cellar_table_open(console->db, &def, CELLAR_EXISTING | CELLAR_ADD, &table));
}

static int index_create(struct console *console)
{
    char columns[NAMES_BYTES] = "", covers[NAMES_BYTES] = "", *names = columns;
    struct cellar_index_def def = {.name = console->words[3]};
    uint32_t at = 4;
    int code = 0;
    if (console->word_count < 5) return wrong(console, "create index", "followed by TABLE NAME COLUMN ...");
    if (strcmp(console->words[at], "unique") == 0) {
        def.flags = CELLAR_UNIQUE;
        at++;
    }
    for (; at < console->word_count && code == 0; at++) {
        if (names == columns && strcmp(console->words[at], "covering") == 0)
            names = covers;
        else
            code = name_add(console, names, console->words[at]);
    }
    def.columns = columns;
    def.covers = *covers ? covers : NULL;
    return code ? code : table_add(console, &def, 0);
}

int console_create(struct console *console)
{
    const char *what = console->words[1];
    if (!strcmp(what, "table")) return table_create(console);
    if (!strcmp(what, "index")) return index_create(console);
    if (!strcmp(what, "order")) return table_add(console, NULL, CELLAR_ORDERED);
    return wrong(console, what, "table, index or order");
}

/* ---- gone ---- */

static int index_drop(struct console *console, const struct cellar_table *table, const char *name)
{
    const struct cellar_index *index = cellar_index_find(table, name);
    if (!index) return err_set(console->error, CELLAR_NOT_FOUND, "the table has no index '%.31s'", name);
    return err_last(console->error, cellar_index_drop(console->db, index));
}

int console_drop(struct console *console)
{
    struct relation relation;
    bool is_table = strcmp(console->words[1], "table") == 0;
    if (console->txn) return err_set(console->error, CELLAR_BUSY, "this wants the pool at rest: commit or abort first");
    if (!is_table && strcmp(console->words[1], "index") != 0)
        return wrong(console, console->words[1], "table or index");
    if (console->word_count != (is_table ? 3 : 4))
        return wrong(console, "drop", "drop table NAME, or drop index TABLE NAME");
    int code = relation_open(console->db, console->words[2], NULL, &relation, console->error);
    if (code == 0)
        code = is_table ? err_last(console->error, cellar_table_drop(console->db, relation.table))
                        : index_drop(console, relation.table, console->words[3]);
    relation_close(&relation);
    return code;
}
