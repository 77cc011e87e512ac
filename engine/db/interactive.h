/* interactive.h - between interactive*.c: refusals of calls, and attempts that serve a transaction (session.h). */
#pragma once

#include "bytekey.h"
#include "procedure.h"
#include "tree.h"

/* ---- what a call is refused for ---- */

struct cellar_detail interactive_detail(enum why why, const struct table *table, uint64_t key);
/* The call ends so, and the last error tells it: the code. */
__attribute__((cold, noinline)) int interactive_failed(struct session *session, int code, struct cellar_detail detail);
__attribute__((cold, noinline)) int interactive_refused(struct session *session, int code, enum why why);
/* A pointer that is NULL. */
static inline int interactive_nothing_given(struct session *session)
{
    return interactive_refused(session, CELLAR_INVALID, WHY_NO_MEMORY_GIVEN);
}
int interactive_too_large(struct session *session, enum why why, uint64_t limit, const struct table *table,
                          uint64_t key);
int interactive_many_records(struct session *session, const struct table *table, uint64_t key);
int interactive_no_copies(struct session *session, const struct table *table, uint64_t key);

/* May a call be about that table? 0, or its code. */
int interactive_table_check(struct session *session, const struct cellar_table *handle);

/* NULL: none. */
static inline struct session *interactive_session_of(const struct cellar_txn *txn)
{
    return txn ? txn->txn.session : NULL;
}

/* Of a transaction of which session_is_ours does not know: 0 after all, INVALID or CLOSED. */
__attribute__((noinline)) int interactive_unusable(const struct cellar_txn *txn, struct session *session);
/*
 * The session of a transaction, which this call may use, and in which no other call is under way: 0; or INVALID or
 * CLOSED. *session is NULL if there is none.
 */
static inline int interactive_usable(const struct cellar_txn *txn, struct session **session)
{
    *session = interactive_session_of(txn);
    if (session_is_ours(*session, txn) && !session_is_amid(*session)) return 0;
    if (txn && txn->txn.home) return procedure_begin((struct txn *)&txn->txn, session); /* it begins to speak rows */
    return interactive_unusable(txn, *session);
}

/* What a transaction is over for whose hold has ended: the code. */
__attribute__((cold, noinline)) int interactive_hold_lost(struct session *session);
/* Has it ended? Then the same; else 0. */
static inline int interactive_hold_check(struct session *session)
{
    bool ended = atomic_load_explicit(&session->hold.state, memory_order_relaxed) > HOLD_COMMITTING;
    return ended ? interactive_hold_lost(session) : 0;
}
/* The session of a transaction that goes on; NULL, and the code in *rc. Of a call about a record; of one that writes */
struct session *interactive_going(const struct cellar_txn *txn, int *rc);
struct session *interactive_going_to(const struct cellar_txn *txn, const struct cellar_table *handle, int *rc);
struct session *interactive_going_to_write(const struct cellar_txn *txn, const struct cellar_table *handle, int *rc);
/* The same, without a call where nothing is amiss, as it is nearly always. */
static inline struct session *interactive_going_on(const struct cellar_txn *txn, const struct cellar_table *handle,
                                                   bool writes, int *rc)
{
    struct session *session = interactive_session_of(txn);
    bool goes_on = session_is_ours(session, txn) && !session_is_amid(session) && !session->over && !session->flags &&
                   atomic_load_explicit(&session->hold.state, memory_order_relaxed) <= HOLD_COMMITTING && handle &&
                   handle->catalog == session->db->catalog && !handle->table->dropped;
    *rc = 0;
    if (__builtin_expect(goes_on, 1)) return session;
    return writes ? interactive_going_to_write(txn, handle, rc) : interactive_going_to(txn, handle, rc);
}

/* As cellar_txn_get; as cellar_txn_put, of any column and by the engine itself. */
int interactive_get(struct session *session, const struct table *table, uint64_t key, int column, void *value);
int interactive_put(struct session *session, const struct table *table, uint64_t key, uint32_t column,
                    const void *value);
/* Of a change that the draft has taken, or not: draft.h's code. */
int interactive_written(struct session *session, const struct draft_record *record, int code);

/* ---- attempts ---- */

/* glance.h */
typedef bool interactive_glance_fn(struct coro *co, struct txn *txn, struct draft *draft, void *arg);

struct interactive_service {
    struct session *session; /* set by interactive_serve */
    cellar_txn_fn fn;
    void *arg; /* NULL: the session; a glance's, too */
    enum draft_service kind;
    interactive_glance_fn *glance;   /* may do instead; NULL: nothing may */
    bool glanced;                    /* it has */
    uint32_t records, writes, nodes; /* the last: of ordered indexes, at most */
    uint64_t log_bytes;              /* 0: those of a transaction that writes nothing */
    struct cellar_result *result;    /* NULL: not wanted */
};
/* These cells are noted, unless the record is not there: 0, or a code. */
int interactive_read(struct session *session, struct draft_record *record, uint32_t cells);
/* Reads and notes what is wanted: 0, or a code. */
int interactive_wanted_read(struct session *session);
/*
 * Locks these cells of a record, and notes them (interactive_update.c): 0, or a code. In a procedure they are only
 * wanted (interactive_wanted_read).
 */
int interactive_lock(struct session *session, struct draft_record *record, uint32_t cells);
/*
 * A glance on this thread, without the coordinator. False: it has not done; *tried: it was refused. Else the
 * coordinator may try one: where operations take time, the worker does not lend its helm, or the transaction has a time
 * limit.
 */
bool interactive_glance(struct session *session, interactive_glance_fn *by, void *arg, bool *tried);
/* Runs it; what became of it is the session's last, if it failed. */
int interactive_serve(struct session *session, struct interactive_service *service);

/*
 * Commits what it has changed, after comparing what it has read (interactive_commit.c). 0, or a code; *result tells the
 * same.
 */
int interactive_commit(struct session *session, struct cellar_result *result);
/* The changes of a procedure become those of its attempt, all but the commit: 0, or a code. */
int interactive_changes_make(struct cellar_txn *txn, struct draft *draft);

/* ---- ranges of ordered indexes (interactive_scan.c) ---- */

/* May a call be about that index? 0, or its code. */
int interactive_index_check(struct session *session, const struct cellar_index *index);
struct interactive_range {
    const struct cellar_index *index;
    struct tree_range range;
    uint32_t read; /* cells of the records that are to be noted */
    bool backward;
    uint32_t limit; /* 1 .. DRAFT_SCANNED_MAX */
};
/*
 * The entries of a range as the transaction sees it, in its order or backward, into the draft's: at most `limit`; fewer
 * of them: there are no more. 0, or a code.
 */
int interactive_scan(struct session *session, const struct interactive_range *of, uint32_t *count);

/* ---- keys that are byte strings (interactive_keys.c): reads and changes of the same transaction ---- */

/* Where the record of a key is, or would be. */
struct interactive_place {
    const struct table *table;
    uint64_t number;             /* the record's; or, with none, where one would go */
    struct draft_record *record; /* NULL: there is none */
    struct bytekey first;        /* of number 0, if there is one */
    bool twins;                  /* there is */
};
/*
 * Finds it. What the record is known by is noted, and so are these columns of it, a bit each, unless the transaction
 * has put them itself. 0, also with none; or a code. Of a key of 0 to table->key_bytes bytes.
 */
int interactive_key_find(struct cellar_txn *txn, const struct table *table, const void *key, uint32_t bytes,
                         uint64_t columns, struct interactive_place *place);
/* Inserts a record there, where none is: with that key, and else all zero. The caller writes place->record->row. */
int interactive_key_add(struct session *session, struct interactive_place *place, const void *key, uint32_t bytes);
/* Deletes the record of that number. */
int interactive_key_remove(struct cellar_txn *txn, const struct table *table, uint64_t number);

/* ---- values of variable length (interactive_values.c) ---- */

/* The value of such a column, of a record that is noted as being there: lent, until the transaction ends. */
int interactive_value_lend(struct cellar_txn *txn, const struct draft_record *record, uint32_t column,
                           struct cellar_bytes *value);
/* What that will read is wanted (interactive_wanted_read). */
int interactive_value_want(struct cellar_txn *txn, const struct draft_record *record, uint32_t column);
/* As cellar_txn_put_bytes. */
int interactive_value_put(struct cellar_txn *txn, const struct draft_record *record, uint32_t column,
                          const struct cellar_bytes *value);
/* Has each such column of a row room for its value? 0, or TOO_LARGE. */
int interactive_values_check(struct session *session, const struct table *table, uint64_t key, const void *row);
/* Of a row that is inserted, and was checked: as the engine keeps such values. */
void interactive_values_settle(const struct table *table, uint8_t *row);
/* Frees what the values of a record that goes have beside its row. 0, NOT_FOUND, or another code: nothing is changed */
int interactive_values_drop(struct cellar_txn *txn, const struct table *table, uint64_t key);
/* The code of a commit, as far as it is about extents: none of the client's affair. */
int interactive_values_outcome(struct session *session, struct cellar_result *result);
