/* db_index.h - ordered indexes of an open database: made, found again, and audited (docs/ordered.md). */
#pragma once

#include "db.h"
#include "schemadef.h"

/* Those that the pool has, when its catalog is known. */
NODISCARD int db_index_open(struct cellar *db, struct cellar_error *error);
/* What a worker and its coordinators need as soon as there is an index. False: no memory. */
NODISCARD bool db_index_prepare(struct worker *worker);
void db_index_close(struct cellar *db);
/* Handles of that index say that it was dropped; its table has it no more. While nothing else runs. */
void db_index_bury(struct cellar *db, const struct cellar_index *index);
/* The tree of an index whose nodes are all gone, anew. At rest. */
NODISCARD int db_index_rebuild(struct coro *co, struct loader *loader, const struct catalog *catalog,
                               const struct table *nodes, struct cellar_error *error);

/* ---- db_drop.c ---- */

/* Of a process that has joined: what others have begun to drop or to empty is seen; alone, it is brought to its end. */
NODISCARD int db_drops_settle(struct coro *co, struct coordinator *coordinator, struct cellar_error *error);
/*
 * A table whose entry says BUILDING goes again, and what it has taken, with its indexes. With the pool for itself, at
 * rest.
 */
NODISCARD int db_table_undo(struct coro *co, struct worker *worker, const struct table *table,
                            struct cellar_error *error);

/* At rest: each tree's shape, and its entries against the records, one to one. CORRUPT with the first violation. */
NODISCARD int db_index_audit(struct coro *co, struct worker *worker, struct cellar_error *error);

/*
 * An index of a table that is being made, with process and pool for itself; what fails leaves nothing of it. One that
 * is there is compared.
 */
NODISCARD int db_index_make(struct coro *co, struct worker *worker, const struct table *table,
                            const struct cellar_index_def *def, struct cellar_error *error);
/* One that a definition wants the table to have: compared; where it lacks it, made, or (not `adds`) MISMATCH. */
NODISCARD int db_index_open_def(struct coro *co, struct coordinator *coordinator, const struct table *table,
                                const struct cellar_index_def *def, bool adds, struct cellar_error *error);

/* As cellar_index_create. */
NODISCARD int db_index_create(struct cellar *db, const struct cellar_table *handle,
                              const struct cellar_schema_index *def, const struct cellar_index **out,
                              struct cellar_error *error);
