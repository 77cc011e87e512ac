/*
 * sqlite_plan.h - how a query reaches the rows that it wants (docs/sqlite.md): one record by its key, a range of an
 * ordered index, or all of one. SQLite asks for the cheapest plan (xBestIndex), and hands it back when it runs.
 */
#pragma once

#include "sqlite_define.h"

enum sqlite_way { SQLITE_WAY_POINT, SQLITE_WAY_INDEX };

struct sqlite_plan {
    enum sqlite_way way;
    uint32_t index;  /* of the definition's */
    uint32_t equals; /* its first so many columns equal the first values */
    bool low, high;  /* then one value each for the ends of the next column; after these, if told, LIMIT and OFFSET */
    bool backward;
    bool covered;   /* the index's entries have all columns that the query looks at: no rows are read */
    uint32_t units; /* of the columns that it looks at (struct sqlite_column) */
    bool promises;  /* SQLite counts on what it has equal to values: on one row, or on an order of those that follow */
};

/* xBestIndex. */
int sqlite_plan_best(const struct sqlite_define *define, sqlite3_index_info *info);
/* Has it at most one row, as its key or its unique index says? */
bool sqlite_plan_is_of_one(const struct sqlite_plan *plan, const struct sqlite_define *define);
/* What sqlite_plan_best has noted. */
void sqlite_plan_read(const struct sqlite_define *define, struct sqlite_plan *plan, int number);
