#include "relation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CELLAR_KEY(CELLAR_KEY_BYTES_MAX) key_column;

/* What an index says of a column's order says what it is. */
static void kinds_from_indexes(struct relation *relation)
{
    const struct cellar_index *index = NULL;
    while ((index = cellar_index_next(relation->table, index))) {
        struct cellar_schema_index def;
        struct cellar_schema_index_column columns[CELLAR_INDEX_COLUMNS_MAX];
        cellar_index_describe(index, &def, columns);
        for (uint32_t i = 0; i < def.column_count; i++) {
            int column = cellar_column_of(relation->table, columns[i].column);
            if (column < 0 || columns[i].sort == CELLAR_COVERED) continue;
            relation->kinds[column] = columns[i].sort == CELLAR_SORT_BYTES      ? VALUE_TEXT
                                      : columns[i].sort == CELLAR_SORT_UNSIGNED ? VALUE_UNSIGNED
                                                                                : VALUE_SIGNED;
        }
    }
}

static int kind_given(struct relation *relation, char *word, struct cellar_error *error)
{
    char *name = strchr(word, ':');
    if (!name) return err_set(error, CELLAR_INVALID, "'%.60s' is not COLUMN:KIND", word);
    *name++ = 0;
    int field = relation_field_find(relation, word, error);
    if (field < 0) return field;
    int column = relation_column(relation, (uint32_t)field);
    if (field == 0) return err_set(error, CELLAR_INVALID, "%.31s is the key: it has no other kind", word);
    for (int kind = 0; kind < VALUE_KINDS; kind++) {
        if (strcmp(name, value_kind_names[kind]) != 0) continue;
        if (!value_kind_fits(kind, relation->columns[column].bytes))
            return err_set(error, CELLAR_INVALID, "%.31s has %" PRIu32 " bytes, and is not %s", word,
                           relation->columns[column].bytes, name);
        relation->kinds[column] = kind;
        return 0;
    }
    return err_set(error, CELLAR_INVALID, "'%.40s' is none of signed, unsigned, real, text, hex", name);
}

static int kinds_given(struct relation *relation, const char *kinds, struct cellar_error *error)
{
    char *copy = strdup(kinds), *rest = NULL;
    int code = copy ? 0 : err_set(error, CELLAR_NOMEM, "no memory");
    for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word && !code; word = strtok_r(NULL, ",", &rest))
        code = kind_given(relation, word, error);
    free(copy);
    return code;
}

int relation_open(struct cellar *db, const char *name, const char *kinds, struct relation *relation,
                  struct cellar_error *error)
{
    *relation = (struct relation){.table = cellar_table_find(db, name)};
    if (!relation->table) return err_set(error, CELLAR_NOT_FOUND, "there is no table '%.40s'", name);
    cellar_schema_describe(relation->table, &relation->schema, relation->columns);
    if (relation->schema.variable)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "table '%.40s' has values of variable length, which have no fields here yet", name);
    if (relation->schema.typed)
        return err_set(error, CELLAR_UNSUPPORTED, "table '%.40s' has typed columns, which have no fields here yet",
                       name);
    relation->keyed = relation->schema.key_bytes > 0;
    relation->field_count = relation->schema.column_count + 1 - relation->keyed;
    for (uint32_t i = 0; i < relation->schema.column_count; i++)
        relation->kinds[i] = value_kind_fits(VALUE_SIGNED, relation->columns[i].bytes) ? VALUE_SIGNED : VALUE_TEXT;
    kinds_from_indexes(relation);
    relation->row = calloc(1, relation->schema.row_bytes);
    if (!relation->row) return err_set(error, CELLAR_NOMEM, "no memory for a row");
    int code = kinds ? kinds_given(relation, kinds, error) : 0;
    if (code) relation_close(relation);
    return code;
}

uint32_t relation_sorted(const struct cellar_schema_index *def)
{
    uint32_t count = 0;
    while (count < def->column_count && def->columns[count].sort != CELLAR_COVERED) count++;
    return count;
}

void relation_close(struct relation *relation)
{
    free(relation->row);
    relation->row = NULL;
}

int relation_column(const struct relation *relation, uint32_t field) { return (int)field - 1 + (int)relation->keyed; }

const char *relation_field_name(const struct relation *relation, uint32_t field)
{
    int column = relation_column(relation, field);
    if (column >= 0) return relation->columns[column].name;
    return cellar_column_of(relation->table, "key") < 0 ? "key" : "_key";
}

int relation_field_find(const struct relation *relation, const char *name, struct cellar_error *error)
{
    char all[160] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < relation->field_count; i++) {
        const char *there = relation_field_name(relation, i);
        if (!strcmp(there, name)) return (int)i;
        if (used + strlen(there) + 3 < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", there);
    }
    return err_set(error, CELLAR_NOT_FOUND, "no column '%.31s': there is %s", name, all);
}

bool relation_field_numeric(const struct relation *relation, uint32_t field)
{
    if (field == 0) return !relation->keyed;
    return relation->kinds[relation_column(relation, field)] <= VALUE_REAL;
}

static void *at(const struct relation *relation, int column)
{
    return (uint8_t *)relation->row + relation->columns[column].offset;
}

uint32_t relation_field_print(const struct relation *relation, uint32_t field, bool one_line, char *text)
{
    int column = relation_column(relation, field);
    if (column < 0) return (uint32_t)sprintf(text, "%" PRIu64, relation->key);
    if (field > 0)
        return value_print(relation->kinds[column], at(relation, column), relation->columns[column].bytes, one_line,
                           text);
    const key_column *key = at(relation, column);
    uint32_t bytes = key->bytes < relation->schema.key_bytes ? key->bytes : relation->schema.key_bytes;
    return value_print_string(key->text, bytes, one_line, text);
}

static int key_parse(struct relation *relation, const char *text, struct cellar_error *error)
{
    uint8_t bytes[CELLAR_KEY_BYTES_MAX];
    uint32_t count;
    int code = value_parse_string(text, bytes, relation->schema.key_bytes, &count, error);
    if (code) return code;
    if (count == 0) return err_set(error, CELLAR_INVALID, "empty: a key has a byte at least");
    return cellar_key_set(at(relation, 0), relation->columns[0].bytes, bytes, count);
}

int relation_field_parse(struct relation *relation, uint32_t field, const char *text, struct cellar_error *error)
{
    struct cellar_error why;
    int column = relation_column(relation, field);
    int code = column < 0   ? value_parse_number(text, &relation->key, &why)
               : field == 0 ? key_parse(relation, text, &why)
                            : value_parse(relation->kinds[column], text, at(relation, column),
                                          relation->columns[column].bytes, &why);
    return code ? err_set(error, code, "%.31s: %.180s", relation_field_name(relation, field), why.text) : 0;
}

int relation_locate(struct relation *relation, struct cellar_txn *txn)
{
    if (!relation->keyed) return 0;
    const key_column *key = at(relation, 0);
    return cellar_txn_find(txn, relation->table, key->text, key->bytes, &relation->key);
}

int relation_read(struct relation *relation, struct cellar_txn *txn)
{
    struct cellar_txn_read all = {relation->table, relation->key, CELLAR_ALL_CELLS};
    int code = cellar_prefetch(txn, &all, 1);
    for (uint32_t i = 0; i < relation->schema.column_count && code == 0; i++)
        code = cellar_txn_get(txn, relation->table, relation->key, (int)i, at(relation, (int)i));
    return code;
}

int relation_insert(struct relation *relation, struct cellar_txn *txn)
{
    return relation->keyed ? cellar_txn_add(txn, relation->table, relation->row, &relation->key)
                           : cellar_txn_insert(txn, relation->table, relation->key, relation->row);
}

int relation_delete(struct relation *relation, struct cellar_txn *txn)
{
    return relation->keyed ? cellar_txn_remove(txn, relation->table, relation->key)
                           : cellar_txn_delete(txn, relation->table, relation->key);
}
