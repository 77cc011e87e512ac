/* interactive.h - between interactive*.c: refusals of calls, and attempts that serve a transaction (session.h). */
#pragma once

#include "session.h"

/* ---- what a call is refused for ---- */

struct cellar_detail interactive_detail(enum cellar_why why, const struct cellar_table *table, uint64_t key);
/* The call ends so, and cellar_session_error tells it: the code. */
int interactive_failed(struct cellar_session *session, int code, struct cellar_detail detail);
int interactive_refused(struct cellar_session *session, int code, enum cellar_why why);
int interactive_too_large(struct cellar_session *session, enum cellar_why why, uint64_t limit,
                          const struct cellar_table *table, uint64_t key);
int interactive_many_records(struct cellar_session *session, const struct cellar_table *table, uint64_t key);
int interactive_no_copies(struct cellar_session *session, const struct cellar_table *table, uint64_t key);

/* NULL: none. */
struct cellar_session *interactive_session_of(const struct cellar_txn *txn);
/* Has the hold of the transaction ended? Then the transaction is over: the code; else 0. */
int interactive_hold_lost(struct cellar_session *session);
/* The session of a transaction that goes on; NULL, and the code in *rc. Of a call about a record; of one that writes */
struct cellar_session *interactive_going(const struct cellar_txn *txn, int *rc);
struct cellar_session *interactive_going_to(const struct cellar_txn *txn, const struct cellar_table *table, int *rc);
struct cellar_session *interactive_going_to_write(const struct cellar_txn *txn, const struct cellar_table *table,
                                                  int *rc);

/* Of a change that the draft has taken, or not: draft.h's code. */
int interactive_written(struct cellar_session *session, const struct draft_record *record, int code);

/* ---- attempts ---- */

struct interactive_service {
    struct cellar_session *session; /* set by interactive_serve */
    cellar_proc_fn fn;
    void *arg; /* NULL: the session */
    enum draft_service kind;
    uint32_t records, writes;
    uint64_t log_bytes;           /* 0: those of a transaction that writes nothing */
    struct cellar_result *result; /* NULL: not wanted */
};
/* These cells are noted, unless the record is not there: 0, or a code. */
int interactive_read(struct cellar_session *session, struct draft_record *record, uint32_t cells);
/* Runs it; what became of it is the session's last, if it failed. */
int interactive_serve(struct cellar_session *session, struct interactive_service service);
