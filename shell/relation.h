/*
 * relation.h - a table as people see it: columns with names, and values as text. Those of the key say which row is
 * meant; they are `keys`, in their order.
 */
#pragma once

#include "value.h"

#define RELATION_KEYS_MAX 16

struct relation {
    const struct cellar_table *table;
    struct cellar_table_def def; /* all its columns, in rows that the library lays out, and its indexes */
    enum value_kind kinds[CELLAR_COLUMNS_MAX];
    uint32_t key_count, keys[RELATION_KEYS_MAX];
    void *row;                        /* of def.row_bytes: what the functions below read and fill */
    void *values[CELLAR_COLUMNS_MAX]; /* BYTES that were parsed, where the row leads to */
    char *text;                       /* room for any column's */
};

/*
 * kinds: NULL, or "COLUMN:KIND,..." for columns of bytes, which are text else. NOT_FOUND, INVALID, NOMEM; MISMATCH: the
 * table has no typed columns.
 */
NODISCARD int relation_open(struct cellar *db, const char *name, const char *kinds, struct relation *relation,
                            struct cellar_error *error);
void relation_close(struct relation *relation);

/* A column's number, or NOT_FOUND with a message that lists what there is. */
NODISCARD int relation_column_find(const struct relation *relation, const char *name, struct cellar_error *error);
/* Is its text a number in JSON? */
bool relation_is_numeric(const struct relation *relation, uint32_t column);
bool relation_is_key(const struct relation *relation, uint32_t column);
/* The longest text that a row may have, names and quotes included. */
size_t relation_text_bytes(const struct relation *relation);

/* Out of the row: its text, until the next call. */
const char *relation_print(const struct relation *relation, uint32_t column, bool one_line);
/* Into the row. The message begins with the column's name. */
NODISCARD int relation_parse(struct relation *relation, uint32_t column, const char *text, struct cellar_error *error);
/* So many bytes its values have. */
uint32_t relation_row_bytes(const struct relation *relation);
/* A row with its BYTES, to be kept, and freed; NULL: no memory. */
void *relation_copy(const struct relation *relation, const void *row);
/* The row is that one from now on, as long as it is kept. */
void relation_use(struct relation *relation, const void *row);

/* The order of an index, or of the key. */
#define RELATION_BY_KEY "key"
struct relation_order {
    const char *name;
    const struct cellar_index *index; /* NULL: by the key */
    uint32_t count, columns[RELATION_KEYS_MAX];
};
/*
 * By the index's name, or RELATION_BY_KEY where the table is ordered by its key. NULL: the one that there is; the
 * key's, if there are several. NOT_FOUND.
 */
NODISCARD int relation_order_find(const struct relation *relation, const char *name, struct relation_order *order,
                                  struct cellar_error *error);
/* The scan's rows as this relation has them: by that order (NULL: by the key). */
struct cellar_scan relation_scan(const struct relation *relation, const struct relation_order *order);
