/*
 * relation.h - a table as people see it: named fields of text. The first field is the key: a number, or the bytes of
 * the table's first column; the others are columns, in their order.
 */
#pragma once

#include "value.h"

struct relation {
    const struct cellar_table *table;
    struct cellar_schema schema;
    struct cellar_schema_column columns[CELLAR_COLUMNS_MAX];
    enum value_kind kinds[CELLAR_COLUMNS_MAX];
    uint32_t keyed;       /* 1: keys are byte strings, and column 0 has them */
    uint32_t field_count; /* with the key */
    void *row;            /* of the schema's row_bytes: what the functions below read and fill */
    uint64_t key;         /* of a table whose keys are integers; else the record's number */
};

/*
 * kinds: NULL, or "COLUMN:KIND,..." for columns that are not what they look like: numbers where a number has the
 * width, signed unless an index says else, and text. NOT_FOUND, INVALID, NOMEM.
 */
NODISCARD int relation_open(struct cellar *db, const char *name, const char *kinds, struct relation *relation,
                            struct cellar_error *error);
void relation_close(struct relation *relation);

const char *relation_field_name(const struct relation *relation, uint32_t field);
/* Its number, or NOT_FOUND with a message that lists what there is. */
NODISCARD int relation_field_find(const struct relation *relation, const char *name, struct cellar_error *error);
/* The column of a field; -1: the key of a table whose keys are integers. */
int relation_column(const struct relation *relation, uint32_t field);
/* How many of an index's columns it is sorted by: those behind them it covers. */
uint32_t relation_sorted(const struct cellar_schema_index *def);
/* Is its text a number in JSON? */
bool relation_field_numeric(const struct relation *relation, uint32_t field);

/* Of row and key; `text` has VALUE_TEXT_BYTES. Returns the length. */
uint32_t relation_field_print(const struct relation *relation, uint32_t field, bool one_line, char *text);
/* Into row and key. The message begins with the field's name. */
NODISCARD int relation_field_parse(struct relation *relation, uint32_t field, const char *text,
                                   struct cellar_error *error);

/* In a transaction, with the key in place. Each returns as the calls of cellar.h do. */
NODISCARD int relation_locate(struct relation *relation, struct cellar_txn *txn); /* key: of the record */
NODISCARD int relation_read(struct relation *relation, struct cellar_txn *txn);   /* all columns into row */
NODISCARD int relation_insert(struct relation *relation, struct cellar_txn *txn); /* row; key: the record's */
NODISCARD int relation_delete(struct relation *relation, struct cellar_txn *txn);
