#include "relation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_EACH 8  /* of a byte, at most, wherever it is written: in JSON an escape of an escape */
#define TEXT_BYTES_MORE 64 /* of a number; of a name with quotes */

/* ---- opening ---- */

static const struct cellar_column *column_of(const struct relation *relation, uint32_t column)
{
    return &relation->def.columns[column];
}

/* So many bytes a value may have. */
static uint32_t bytes_of(const struct cellar_column *column)
{
    if (column->type != CELLAR_BYTES) return column->bytes;
    return column->bytes_max ? column->bytes_max : CELLAR_VALUE_BYTES_MAX;
}

static enum value_kind kind_of(const struct cellar_column *column)
{
    if (column->type == CELLAR_UINT) return VALUE_UNSIGNED;
    if (column->type == CELLAR_INT) return VALUE_SIGNED;
    return column->type == CELLAR_FLOAT ? VALUE_REAL : VALUE_TEXT;
}

static bool kind_fits(const struct cellar_column *column, enum value_kind kind)
{
    if (column->type == CELLAR_BYTES) return kind == VALUE_TEXT || kind == VALUE_HEX;
    return column->type == CELLAR_FIXED ? value_kind_fits(kind, column->bytes) : kind == kind_of(column);
}

static int kind_given(struct relation *relation, char *word, struct cellar_error *error)
{
    char *name = strrchr(word, ':');
    if (!name) return err_set(error, CELLAR_INVALID, "'%.60s' is not COLUMN:KIND", word);
    *name++ = 0;
    int column = relation_column_find(relation, word, error);
    if (column < 0) return column;
    for (int kind = 0; kind < VALUE_KINDS; kind++) {
        if (strcmp(name, value_kind_names[kind]) != 0) continue;
        if (!kind_fits(column_of(relation, (uint32_t)column), kind))
            return err_set(error, CELLAR_INVALID, "a value of %.31s is not %s", word, name);
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

static int memory_make(struct relation *relation, struct cellar_error *error)
{
    size_t most = 0;
    for (uint32_t i = 0; i < relation->def.column_count; i++)
        if (bytes_of(column_of(relation, i)) > most) most = bytes_of(column_of(relation, i));
    relation->row = calloc(1, relation->def.row_bytes);
    relation->text = malloc(most * 4 + TEXT_BYTES_MORE);
    return relation->row && relation->text ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a row");
}

/* As its definition says. */
static int described(struct cellar *db, struct relation *relation, struct cellar_error *error)
{
    relation->def.size = sizeof relation->def;
    int code = err_last(error, cellar_table_describe(db, relation->table, &relation->def));
    for (uint32_t i = 0; i < relation->def.column_count && code == 0; i++) {
        relation->kinds[i] = kind_of(column_of(relation, i));
        if (column_of(relation, i)->flags & CELLAR_KEY) relation->keys[relation->key_count++] = i;
    }
    return code ? code : memory_make(relation, error);
}

int relation_open(struct cellar *db, const char *name, const char *kinds, struct relation *relation,
                  struct cellar_error *error)
{
    const struct cellar_table_def whole = {.size = sizeof whole, .name = name};
    *relation = (struct relation){0};
    int code = cellar_table_open(db, &whole, CELLAR_EXISTING, &relation->table);
    if (code == CELLAR_NOT_FOUND) return err_set(error, code, "there is no table '%.40s'", name);
    code = err_last(error, code);
    if (code == 0) code = described(db, relation, error);
    if (code == 0 && kinds) code = kinds_given(relation, kinds, error);
    if (code) relation_close(relation);
    return code;
}

void relation_close(struct relation *relation)
{
    for (uint32_t i = 0; i < CELLAR_COLUMNS_MAX; i++) free(relation->values[i]);
    free(relation->row);
    free(relation->text);
    *relation = (struct relation){0};
}

/* ---- columns ---- */

int relation_column_find(const struct relation *relation, const char *name, struct cellar_error *error)
{
    char all[160] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        const char *there = column_of(relation, i)->name;
        if (!strcmp(there, name)) return (int)i;
        if (used + strlen(there) + 3 < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", there);
    }
    return err_set(error, CELLAR_NOT_FOUND, "no column '%.31s': there is %s", name, all);
}

bool relation_is_numeric(const struct relation *relation, uint32_t column)
{
    return relation->kinds[column] <= VALUE_REAL;
}

bool relation_is_key(const struct relation *relation, uint32_t column)
{
    return column_of(relation, column)->flags & CELLAR_KEY;
}

size_t relation_text_bytes(const struct relation *relation)
{
    size_t bytes = TEXT_BYTES_MORE;
    for (uint32_t i = 0; i < relation->def.column_count; i++)
        bytes += TEXT_BYTES_EACH * (bytes_of(column_of(relation, i)) + CELLAR_NAME_BYTES) + TEXT_BYTES_MORE;
    return bytes;
}

static struct cellar_bytes bytes_at(const struct cellar_column *column, const void *row)
{
    struct cellar_bytes bytes;
    memcpy(&bytes, (const uint8_t *)row + column->offset, sizeof bytes);
    return bytes;
}

const char *relation_print(const struct relation *relation, uint32_t column, bool one_line)
{
    const struct cellar_column *of = column_of(relation, column);
    enum value_kind kind = relation->kinds[column];
    const void *value = (const uint8_t *)relation->row + of->offset;
    struct cellar_bytes bytes = {value, of->bytes};
    if (of->type == CELLAR_BYTES) bytes = bytes_at(of, relation->row);
    if (of->type == CELLAR_BYTES && kind == VALUE_TEXT)
        value_print_string(bytes.data, (uint32_t)bytes.bytes, one_line, relation->text);
    else
        value_print(kind, bytes.data, (uint32_t)bytes.bytes, one_line, relation->text);
    return relation->text;
}

/* Of BYTES: as many as the text makes. */
static int bytes_parse(struct relation *relation, uint32_t column, const char *text, struct cellar_error *error)
{
    const struct cellar_column *of = column_of(relation, column);
    uint32_t length = (uint32_t)strlen(text), count = length / 2;
    int code;
    free(relation->values[column]);
    uint8_t *to = relation->values[column] = malloc(length + 1);
    if (!to) return err_set(error, CELLAR_NOMEM, "no memory for %u bytes", length);
    if (relation->kinds[column] == VALUE_TEXT)
        code = value_parse_string(text, to, bytes_of(of), &count, error);
    else
        code = value_parse(VALUE_HEX, text, to, count, error);
    if (code == 0 && count > bytes_of(of))
        code = err_set(error, CELLAR_TOO_LARGE, "longer than its %u bytes", bytes_of(of));
    const struct cellar_bytes value = {to, count};
    if (code == 0) memcpy((uint8_t *)relation->row + of->offset, &value, sizeof value);
    return code;
}

int relation_parse(struct relation *relation, uint32_t column, const char *text, struct cellar_error *error)
{
    struct cellar_error why;
    const struct cellar_column *of = column_of(relation, column);
    int code = of->type == CELLAR_BYTES
                   ? bytes_parse(relation, column, text, &why)
                   : value_parse(relation->kinds[column], text, (uint8_t *)relation->row + of->offset, of->bytes, &why);
    return code ? err_set(error, code, "%.31s: %.180s", of->name, why.text) : 0;
}

/* ---- rows ---- */

/* Of its BYTES. */
static size_t values_bytes(const struct relation *relation, const void *row)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < relation->def.column_count; i++)
        if (column_of(relation, i)->type == CELLAR_BYTES) bytes += bytes_at(column_of(relation, i), row).bytes;
    return bytes;
}

uint32_t relation_row_bytes(const struct relation *relation)
{
    return relation->def.row_bytes + (uint32_t)values_bytes(relation, relation->row);
}

void *relation_copy(const struct relation *relation, const void *row)
{
    size_t bytes = relation->def.row_bytes + values_bytes(relation, row);
    uint8_t *copy = malloc(bytes), *to = copy + relation->def.row_bytes;
    if (!copy) return NULL;
    memcpy(copy, row, relation->def.row_bytes);
    for (uint32_t i = 0; i < relation->def.column_count; i++) {
        const struct cellar_column *of = column_of(relation, i);
        if (of->type != CELLAR_BYTES) continue;
        struct cellar_bytes from = bytes_at(of, row), kept = {to, from.bytes};
        if (from.bytes) memcpy(to, from.data, from.bytes);
        memcpy(copy + of->offset, &kept, sizeof kept);
        to += from.bytes;
    }
    return copy;
}

void relation_use(struct relation *relation, const void *row) { memcpy(relation->row, row, relation->def.row_bytes); }

/* ---- orders ---- */

/* "city, -age": which columns these are. */
static int order_read(const struct relation *relation, const char *columns, struct relation_order *order,
                      struct cellar_error *error)
{
    char name[CELLAR_NAME_BYTES];
    for (const char *at = columns; at && *at; at += strspn(at, ", ")) {
        at += *at == '-';
        size_t bytes = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)bytes, at);
        int column = relation_column_find(relation, name, error);
        if (column < 0) return column;
        order->columns[order->count++] = (uint32_t)column;
        at += bytes;
    }
    return 0;
}

static int order_by_key(const struct relation *relation, struct relation_order *order)
{
    *order = (struct relation_order){.name = RELATION_BY_KEY, .count = relation->key_count};
    memcpy(order->columns, relation->keys, sizeof order->columns);
    return 0;
}

int relation_order_find(const struct relation *relation, const char *name, struct relation_order *order,
                        struct cellar_error *error)
{
    const struct cellar_table_def *def = &relation->def;
    bool ordered = def->flags & CELLAR_ORDERED;
    if (!name && ordered) return order_by_key(relation, order);
    for (uint32_t i = 0; i < def->index_count; i++) {
        if (name && strcmp(def->indexes[i].name, name) != 0) continue;
        *order = (struct relation_order){.name = def->indexes[i].name,
                                         .index = cellar_index_find(relation->table, def->indexes[i].name)};
        return order_read(relation, def->indexes[i].columns, order, error);
    }
    if (name && ordered && strcmp(name, RELATION_BY_KEY) == 0) return order_by_key(relation, order);
    if (!name) return err_set(error, CELLAR_NOT_FOUND, "the table has no index, and no order of its key");
    return err_set(error, CELLAR_NOT_FOUND, "the table has no index '%.31s'", name);
}

struct cellar_scan relation_scan(const struct relation *relation, const struct relation_order *order)
{
    return (struct cellar_scan){.size = sizeof(struct cellar_scan),
                                .table = relation->table,
                                .index = order ? order->index : NULL,
                                .columns = CELLAR_ALL,
                                .row_bytes = relation->def.row_bytes};
}
