/*
 * numbered.h - records by number: the calls that rows (cellar.h) stand on. A table is a schema, a record a number and a
 * struct of columns in cells; a procedure declares what it reads and writes, block by block. Tests of the engine speak
 * it, and workloads that count its steps.
 */
#pragma once

#include "cellar_proc.h"
#include "err.h"
#include "schemadef.h"

/* ---- tables ---- */

/* `capacity`: sizeof the member. TOO_LARGE: there is no such room in the row. */
CELLAR_NODISCARD int cellar_value_set(void *value, size_t capacity, const void *data, size_t bytes);
/* `capacity`: sizeof the member. TOO_LARGE: it does not fit. INVALID: a key has a byte at least. */
CELLAR_NODISCARD int cellar_key_set(void *key, size_t capacity, const void *text, size_t bytes);

/* Creates a table, or returns the existing one of that name if its schema is the same (else MISMATCH). */
CELLAR_NODISCARD int cellar_table_create(struct cellar *db, const struct cellar_schema *schema,
                                         const struct cellar_table **out);
/* The table of that name, or NULL. */
const struct cellar_table *cellar_table_find(struct cellar *db, const char *name);

/*
 * The tables that this process knows, in the order in which they were made: the one after that one, or (NULL) the
 * first. NULL: there are no more.
 */
const struct cellar_table *cellar_schema_next(struct cellar *db, const struct cellar_table *after);
/*
 * As what it was created, to create another like it. `columns` has room for CELLAR_COLUMNS_MAX; names stay valid until
 * cellar_close.
 */
void cellar_schema_describe(const struct cellar_table *table, struct cellar_schema *schema,
                            struct cellar_schema_column *columns);

/*
 * The cells of comma-separated column names ("w_ytd, w_tax"); for set-up code. CELLAR_CELLS_UNKNOWN if a name
 * is unknown, or if there are none: cellar_proc_access refuses that value with INVALID, alone or joined with other
 * cells, CELLAR_ALL_CELLS included.
 */
cellar_cells cellar_cells_of(const struct cellar_table *table, const char *columns);
/* A column's number, for cellar_proc_get and cellar_proc_put; negative if there is none of that name. */
int cellar_column_of(const struct cellar_table *table, const char *column);

/*
 * Tuples as keys: typed parts, packed into bytes that compare as the parts do, one after the other. For keys of tables
 * and for anything else that is compared by its bytes.
 */
struct cellar_key_part {
    enum cellar_sort sort;
    bool descending;
    uint64_t number;  /* UNSIGNED, or SIGNED in two's complement */
    const void *data; /* BYTES */
    uint32_t bytes;
};
/* Returns how many bytes. TOO_LARGE: more than the capacity; INVALID. */
CELLAR_NODISCARD int cellar_key_pack(void *key, uint32_t capacity, const struct cellar_key_part *parts, uint32_t count);
/*
 * The reverse: each part's `sort` and `descending` say what it is; numbers are filled in, and strings copied to
 * `strings`, one after the other, where `data` leads. INVALID: these bytes are no such tuple, or the strings do not
 * fit.
 */
CELLAR_NODISCARD int cellar_key_unpack(const void *key, uint32_t bytes, struct cellar_key_part *parts, uint32_t count,
                                       void *strings, uint32_t capacity);
/*
 * For people: printable ASCII as it is, other bytes and backslashes as \\x1b. Cut, and terminated, at `capacity`;
 * returns the length of all of it, UINT32_MAX if it is longer.
 */
uint32_t cellar_key_print(char *text, uint32_t capacity, const void *key, uint32_t bytes);

/* ---- ordered indexes ---- */

/*
 * Creates an ordered index of a table, with entries for the records that it has, or returns the existing one of that
 * name if its definition is the same (else MISMATCH). At rest, and before other processes open the pool: BUSY when
 * transactions of this process are under way, or another process is a member. From then on each transaction that
 * changes a record changes the index with it. EXISTS: the index is unique, and two records are not. INVALID, FULL.
 */
CELLAR_NODISCARD int cellar_index_create(struct cellar *db, const struct cellar_table *table,
                                         const struct cellar_schema_index *def, const struct cellar_index **out);
/* The table's indexes, and what they were created as; `columns` has room for CELLAR_INDEX_COLUMNS_MAX. */
const struct cellar_index *cellar_index_next(const struct cellar_table *table, const struct cellar_index *after);
void cellar_index_describe(const struct cellar_index *index, struct cellar_schema_index *def,
                           struct cellar_schema_index_column *columns);

/* ---- in procedures ---- */

/*
 * Calls work in blocks: declare records, fetch, compute; then the next block, when its keys depend on what was just
 * read. They are made by the procedure that was handed its struct cellar_txn, on its thread, and nowhere else. What is
 * used otherwise than it was declared is ERR_UNDECLARED, ERR_DUPLICATE or ERR_UNFETCHED (err.h); a procedure that gives
 * up of its own accord may return ERR_GIVEN_UP.
 */
enum cellar_access_flags {
    CELLAR_OPTIONAL = 1, /* the key may be absent: ask cellar_proc_found. Else absence ends the call with NOT_FOUND */
    CELLAR_DELETE = 2,   /* delete the record; its declared cells can still be read */
};

/*
 * Declares one record of the coming block: cells to read and cells to write (a cell to write may also be
 * read). A call that names no cells asks whether the record is there. It is as serializable as any read: it
 * reads the cell of the table's first column, so it conflicts with transactions that write that cell, and
 * with no others. It gives no values. Returns a reference (>= 0), valid until the procedure returns, or a
 * negative code.
 */
CELLAR_NODISCARD int cellar_proc_access(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                        cellar_cells read, cellar_cells write, uint32_t flags);
/* Declares the insert of a whole row (copied now); the call ends with EXISTS if the key is present. */
CELLAR_NODISCARD int cellar_proc_insert(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                        const void *row);
/* Fetches, and locks for writing, all that was declared since the last fetch. 0, or a code to return at once. */
CELLAR_NODISCARD int cellar_proc_fetch(struct cellar_txn *txn);

/* After the fetch: is there such a record? */
bool cellar_proc_found(struct cellar_txn *txn, int ref);
/*
 * Copies one column out of, or into, the transaction's own copy. ERR_UNDECLARED: its cell was not declared so.
 * ERR_UNFETCHED: before the fetch.
 */
CELLAR_NODISCARD int cellar_proc_get(struct cellar_txn *txn, int ref, int column, void *value);
CELLAR_NODISCARD int cellar_proc_put(struct cellar_txn *txn, int ref, int column, const void *value);
/* The same for all columns of the declared cells (get: to read or write; put: to write); other bytes of *row stay. */
CELLAR_NODISCARD int cellar_proc_get_row(struct cellar_txn *txn, int ref, void *row);
CELLAR_NODISCARD int cellar_proc_put_row(struct cellar_txn *txn, int ref, const void *row);

/*
 * Ordered indexes, in a procedure. What a cursor or a lookup says is as serializable as any read: an insert into the
 * range, too, that commits between is a conflict. The transaction's own changes so far are seen. Both fetch what was
 * declared before, as cellar_proc_fetch does.
 */
/*
 * Opens a cursor over a range, of `limit` records at most (0: all). `read` and `write` are cells of the records that
 * the procedure will read or write (none: only keys are wanted, and no record is read). Each record of which cells are
 * wanted counts to the procedure's records_max. Returns its number (>= 0), or a negative code: INVALID when the ends
 * are reversed or the columns are not the index's. Nothing is read before the first cellar_proc_cursor_next, which then
 * reads for all cursors that are open and have read nothing yet.
 *
 * It shows its range as it is for the transaction when it is opened. Of what the procedure changes from then on it
 * shows one thing: what is deleted does not come any more. So the records that a cursor gives may be moved, and others
 * inserted: none comes twice, and none is missed.
 */
CELLAR_NODISCARD int cellar_proc_cursor_open(struct cellar_txn *txn, const struct cellar_index *index,
                                             const struct cellar_range *range, cellar_cells read, cellar_cells write,
                                             uint32_t flags, uint64_t limit);
/*
 * The next record: 1, with its key, and in *ref (NULL if not wanted) its reference if cells were wanted. 0: there is
 * none. INVALID: no such cursor is open.
 */
CELLAR_NODISCARD int cellar_proc_cursor_next(struct cellar_txn *txn, int cursor, uint64_t *key, int *ref);
/*
 * Of the record that cellar_proc_cursor_next gave last: the index's columns, covered ones too, as its entry had them
 * when the cursor read it, into the table's row struct, whose other bytes stay. A string key that the index is sorted
 * by has its bytes there, but not its length.
 */
CELLAR_NODISCARD int cellar_proc_cursor_row(struct cellar_txn *txn, int cursor, void *row);
/* It may be opened again; all are closed when the procedure returns. */
int cellar_proc_cursor_close(struct cellar_txn *txn, int cursor);
/* The first record whose columns equal the row's, all of the index's: 1 with its key, or 0. */
CELLAR_NODISCARD int cellar_proc_lookup(struct cellar_txn *txn, const struct cellar_index *index, const void *row,
                                        uint64_t *key);

/* ---- in interactive transactions ---- */

/*
 * One column, as the transaction sees it: as it has put it, else as it has read it first, else as it is now, which
 * takes a round trip. NOT_FOUND: there is no such record. RETRY: a record that it has read is no longer there.
 */
CELLAR_NODISCARD int cellar_txn_get(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key, int column,
                                    void *value);
/*
 * The same, and from now on no other transaction writes the column's cell: one that would waits. For lock_us at most:
 * then it is given back, whatever the client does, and the transaction is over (RETRY); likewise when its compute
 * node has to stand still for a moment. The next call says so. Modes that lock or share whole records (all but
 * cell) lock the record. In a read-only transaction INVALID. Whole-table work is BUSY meanwhile.
 */
CELLAR_NODISCARD int cellar_txn_get_for_update(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                               int column, void *value);
/* A record to read: those of its cells that a later cellar_txn_get is to find here. */
struct cellar_txn_read {
    const struct cellar_table *table;
    uint64_t key;
    cellar_cells cells;
};
/* Reads all that in one go: two round trips at most for most tables. A record that is not there is no error. */
CELLAR_NODISCARD int cellar_prefetch(struct cellar_txn *txn, const struct cellar_txn_read *reads, uint32_t count);
/*
 * The records of a range, in the index's order or backward: their keys, `limit` of them at most (1 ..
 * CELLAR_TXN_RECORDS_MAX), and how many they are; fewer than the limit: there are no more. The transaction's own
 * changes are seen. Of `cells` (0: none) a later cellar_txn_get of these records finds what was read here. A scan is
 * true at one moment; a record that another transaction brings into the range, or takes out of it, before the commit
 * ends this one with RETRY. INVALID, when the ends are reversed or the columns are not the index's, too; TOO_LARGE.
 */
CELLAR_NODISCARD int cellar_txn_scan(struct cellar_txn *txn, const struct cellar_index *index,
                                     const struct cellar_range *range, cellar_cells cells, uint32_t flags,
                                     uint64_t *keys, uint64_t limit);
/*
 * The same with cells 0, and into `rows`, one behind the other, the index's columns of these records, covered ones too
 * (cellar_proc_cursor_row): no record is read.
 */
CELLAR_NODISCARD int cellar_txn_scan_rows(struct cellar_txn *txn, const struct cellar_index *index,
                                          const struct cellar_range *range, uint32_t flags, uint64_t *keys, void *rows,
                                          uint64_t limit);
/*
 * These are kept here until the commit. Where the transaction knows already whether there is such a record, NOT_FOUND
 * and EXISTS come at once, else from cellar_commit. A put changes one column; columns that share a cell and were not
 * put keep what they have at the commit. An insert takes a whole row.
 */
CELLAR_NODISCARD int cellar_txn_put(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key, int column,
                                    const void *value);
CELLAR_NODISCARD int cellar_txn_insert(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                       const void *row);
CELLAR_NODISCARD int cellar_txn_delete(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key);

/*
 * Columns of variable length (cellar_schema.variable), as the transaction sees them. Of a value in such a column
 * cellar_txn_get gives the CELLAR_VALUE: its length, and the first bytes; cellar_txn_put refuses it (INVALID). An
 * insert takes a row whose values have room in it (cellar_value_set); a longer one is put then. A delete frees what
 * lies beside the row.
 *
 * cellar_txn_get_bytes: the whole value, and its length in *bytes (NULL: not wanted). TOO_LARGE: it has more bytes than
 * the capacity; nothing is copied, and *bytes says how many. cellar_txn_put_bytes replaces the value; it reads how long
 * the old one is. TOO_LARGE, beyond CELLAR_VALUE_BYTES_MAX, too.
 */
CELLAR_NODISCARD int cellar_txn_get_bytes(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                          int column, void *value, size_t capacity, size_t *bytes);
CELLAR_NODISCARD int cellar_txn_put_bytes(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                          int column, const void *value, size_t bytes);

/*
 * Tables whose keys are byte strings (cellar_schema.key_bytes). Their records have numbers, which stand for the key in
 * the calls above; a number holds within its transaction, until that removes a record of the table. What these calls
 * say is as serializable as any read.
 *
 * cellar_txn_find: the number of the record with this key, or NOT_FOUND. cellar_txn_add: inserts a row, by the key in
 * its first column; EXISTS, TOO_LARGE. cellar_txn_remove: deletes the record of that number. The key's column is not to
 * be put. INVALID: the table's keys are integers.
 */
CELLAR_NODISCARD int cellar_txn_find(struct cellar_txn *txn, const struct cellar_table *table, const void *key,
                                     uint32_t bytes, uint64_t *record);
CELLAR_NODISCARD int cellar_txn_add(struct cellar_txn *txn, const struct cellar_table *table, const void *row,
                                    uint64_t *record);
CELLAR_NODISCARD int cellar_txn_remove(struct cellar_txn *txn, const struct cellar_table *table, uint64_t record);
