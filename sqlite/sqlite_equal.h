/*
 * sqlite_equal.h - does a row have `column = value` in each of several columns, as SQLite sees it?
 *
 * A number beside a TEXT column equals the text that SQLite makes of it; or, where the number comes from something
 * numeric (an INTEGER column, a CAST), every text that is that number ('5', '05'); or, from a column of no type, none.
 * SQLite does not tell a virtual table which of these it will look for. What any of them lets pass is equal here.
 */
#pragma once

#include "sqlite_define.h"

struct sqlite_equal {
    const struct sqlite_define *define;
    const int *columns; /* of the definition's, */
    uint32_t count;     /* so many */
    sqlite3_value **values;
    sqlite3_stmt *statement; /* opened for values of these types */
};

/* The caller has set all but the statement. SQLITE_NOMEM, or what SQLite says. Close it either way. */
int sqlite_equal_open(struct sqlite_equal *equal, sqlite3 *db);
void sqlite_equal_close(struct sqlite_equal *equal);
/* Is it so of the row, which has those columns? SQLITE_NOMEM, SQLITE_CORRUPT_VTAB, or what SQLite says. */
int sqlite_equal_is(const struct sqlite_equal *equal, const uint8_t *row, bool *is);
/* Have both rows, of which it is so, the same in all of the columns? */
bool sqlite_equal_same(const struct sqlite_equal *equal, const uint8_t *row, const uint8_t *other);
