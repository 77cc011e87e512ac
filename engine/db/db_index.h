/* db_index.h - ordered indexes of an open database: made, found again, and audited (docs/ordered.md). */
#pragma once

#include "db.h"

/* Those that the pool has, when its catalog is known. */
NODISCARD int db_index_open(struct cellar *db, struct cellar_error *error);
/* What a worker and its coordinators need as soon as there is an index. False: no memory. */
NODISCARD bool db_index_prepare(struct worker *worker);
void db_index_close(struct cellar *db);
/* At rest: each tree's shape, and its entries against the records, one to one. CORRUPT with the first violation. */
NODISCARD int db_index_audit(struct coro *co, struct worker *worker, struct cellar_error *error);
