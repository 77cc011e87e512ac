/*
 * procedure.h - procedures that speak rows (cellar.h, cellar_proc.h; docs/interactive.md): the transaction of a running
 * attempt, by the calls of an interactive one.
 *
 * Each coordinator has a session for the attempts that it runs, made when a procedure first speaks rows. What that
 * reads is a block of the running attempt, and its notes are the attempt's own copies: that validates them, and the
 * draft compares nothing. What it changes waits in the draft, and becomes the attempt's when the procedure returns; but
 * for a put of what is locked already, which is written to the attempt's own copy at once.
 *
 * INV-PROC-1: a procedure's changes are the attempt's before that commits, those that the draft has of a record in one
 *             declaration; what they take for granted was looked at by the attempt.
 * INV-PROC-2: a handle of an attempt is used by its procedure, while that runs, and by no other.
 * INV-PROC-3: a put is written to the attempt's own copy at once only where nothing will ask for what was there: no
 *             savepoint and no cursor is open, the draft has no change of the record, and the mode keeps nothing of a
 *             put.
 */
#pragma once

#include "session.h"

/*
 * The session of a running attempt, by which this call may speak rows: 0; INVALID: no procedure runs there, or the
 * caller is not in it; NOMEM.
 */
int procedure_begin(struct txn *txn, struct session **session);
/*
 * The procedure has returned `code`: with 0 the attempt gets what it has changed. 0, RETRY, or a code for which the
 * attempt fails. Nothing, of one that has not spoken rows.
 */
NODISCARD int procedure_end(struct coro *co, struct txn *txn, int code);
/* Reads, and locks, what is wanted: 0, or a code, with which the transaction is over. */
NODISCARD int procedure_read(struct session *session);
/* The same of one record: these cells are read, and those locked. Nothing else is wanted. */
NODISCARD int procedure_read_row(struct session *session, struct draft_record *record, uint32_t cells, uint32_t lock);
/* Part of a range, as tree_scan; records, of which cells are wanted, are noted. 0, or a code, as above. */
NODISCARD int procedure_scan(struct session *session, const struct cellar_index *index, const struct tree_range *range,
                             uint32_t read, bool backward, uint32_t limit, struct treenode_entry *entries,
                             uint32_t *count);
/*
 * The attempt's own copy of a record, these cells of which may be put there at once (INV-PROC-3). NULL: the draft takes
 * the put.
 */
struct cache_object *procedure_copy(const struct session *session, const struct draft_record *record, uint32_t cells);
/* With its coordinator. NULL: nothing. */
void procedure_close(struct session *session);
