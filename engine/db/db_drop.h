/*
 * db_drop.h - a table goes, is emptied, or another one takes its place: decided by one CAS of its entry (reclaim.h), at
 * rest, with the pool for this process alone.
 */
#pragma once

#include "db.h"

struct db_drop {
    struct cellar *db;
    struct cellar_lab_client *client;  /* who asks, one of the first worker; NULL: from outside */
    const struct cellar_table *handle; /* what goes; of an index, that of its nodes */
    const struct table *table;         /* ... once that is known to be one */
    const struct cellar_index *index;  /* NULL: a table */
    uint64_t to;                       /* enum layout_table_state */
    struct cellar_error *error;
    /*
     * NULL; or makes what takes its place, before it is decided, with its indexes (catalog_typed_open, `twin`), and
     * sets `twin`, also when that fails half way.
     */
    int (*build)(struct coro *co, struct worker *worker, struct db_drop *drop);
    void *build_arg;
    struct table *twin; /* NULL: there is none */
};

NODISCARD int db_drop_run(struct db_drop *drop);

/* As cellar_table_drop, cellar_table_truncate, cellar_index_drop. */
NODISCARD int db_table_drop(struct cellar *db, const struct cellar_table *handle, struct cellar_error *error);
NODISCARD int db_table_truncate(struct cellar *db, const struct cellar_table *handle, struct cellar_error *error);
NODISCARD int db_index_drop(struct cellar *db, const struct cellar_index *index, struct cellar_error *error);
/* The same, by a client of the first worker, while none of its transactions is under way. */
NODISCARD int db_index_drop_inside(struct cellar_lab_client *client, const struct cellar_index *index,
                                   struct cellar_error *error);
