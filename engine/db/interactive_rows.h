/*
 * interactive_rows.h - what calls about rows of typed columns share (docs/rows.md): what they are refused for, and a
 * row's columns as the transaction sees them; and cursors over such rows.
 */
#pragma once

#include "rowview.h"
#include "tree.h"

struct draft_record;
struct session;

/* The call ends so, and the last error tells that line. */
int interactive_rows_refused(struct session *session, int code, const struct cellar_error *error);
/* That handle does not show such rows: the code. */
__attribute__((cold, noinline)) int interactive_view_refused(struct session *session, const struct cellar_table *handle,
                                                             const void *row, size_t row_bytes);
/* How that handle, which is of a table of the database, shows rows; NULL, and the code in *rc. */
static inline const struct rowview *interactive_view_of(struct session *session, const struct cellar_table *handle,
                                                        const void *row, size_t row_bytes, int *rc)
{
    const struct rowview *view = handle->view;
    *rc = view && row && row_bytes == view->row_bytes ? 0 : interactive_view_refused(session, handle, row, row_bytes);
    return *rc ? NULL : view;
}
/* A set of columns has others than the definition: the code. */
__attribute__((cold, noinline)) int interactive_columns_refused(struct session *session, const struct rowview *view);
/* A set of the definition's columns: all of them for 0 and ALL. INVALID: it has others. */
static inline int interactive_columns_know(struct session *session, const struct rowview *view, uint64_t *set)
{
    if (*set == 0 || *set == CELLAR_ALL) *set = view->all;
    return *set & ~view->all ? interactive_columns_refused(session, view) : 0;
}

/* A column's bytes as the transaction sees them, of a record that is noted as far as it has to be. */
void interactive_column_get(const struct draft_record *record, uint32_t stored, void *to);
/* The same of these columns of a view, which are BYTES, to a program's row: they are lent. 0, or a code. */
int interactive_texts_copy(struct cellar_txn *txn, const struct rowview *view, const struct draft_record *record,
                           uint64_t columns, void *row);
/* ... of any columns, but for those of the key. */
static inline int interactive_columns_copy(struct cellar_txn *txn, const struct rowview *view,
                                           const struct draft_record *record, uint64_t set, void *row)
{
    uint64_t texts = set & view->texts;
    for (set &= ~(view->keys | texts); set; set &= set - 1) {
        const struct rowview_column *column = &view->columns[__builtin_ctzll(set)];
        interactive_column_get(record, column->stored, (uint8_t *)row + column->offset);
    }
    return texts ? interactive_texts_copy(txn, view, record, texts, row) : 0;
}
/* Locks what these columns of the view lie in (interactive_lock). */
int interactive_columns_lock(struct session *session, const struct rowview *view, struct draft_record *record,
                             uint64_t columns);

/* ---- interactive_cursor.c ---- */

/*
 * Rows of a range, and how far it has come. Each has a mark of the draft's: what is read for it is read, and shown, as
 * the draft was then (INV-DRAFT-7). Handles are used in turn: one that is closed, or whose transaction has ended, is
 * told from the one that is open, as long as no more than SESSION_CURSORS were opened since.
 */
struct cellar_cursor {
    struct cellar_txn *txn; /* NULL: it is closed */
    int mark;               /* -1: none */
    const struct rowview *view;
    const struct cellar_index *index;
    struct tree_range rest;
    bool backward, ended;
    uint64_t lock;
    uint64_t columns;                 /* of the view, all that is filled: */
    uint64_t records;                 /* ... out of the records; others out of the entries, or a narrow key's number */
    uint32_t read;                    /* the records' cells of those */
    bool packed;                      /* a wide key is taken out of the record, too */
    uint8_t from[CELLAR_COLUMNS_MAX]; /* of a column that is taken out of entries: of the index, which */
};

/* As cellar_cursor_open, of a struct that the library knows all of. */
NODISCARD int interactive_cursor_open(struct cellar_txn *txn, const struct cellar_scan *scan,
                                      struct cellar_cursor **cursor);
/* The transaction has ended, and its cursors with it. */
void interactive_cursors_end(struct session *session);
/* Of many reads, one by an index: its row, if there is one, and the code to the read. 0, or another code. */
NODISCARD int interactive_index_read(struct cellar_txn *txn, struct session *session, struct cellar_read *read);
