/*
 * cellar_proc.h - stored procedures: transaction functions that the engine runs by itself, on this thread or on a
 * worker's, one or many at a time. For what is short, what many want at once, and what one thread keeps in flight.
 *
 * A procedure is a cellar_txn_fn: the same function, with the same calls, that cellar_run takes. They mean the same;
 * what differs is what they cost, and three of them:
 *
 *                        cellar_begin, cellar_run                    procedure
 *     get, get_many,     a read of its own, compared by the          a block of the one attempt, which locks what is to
 *     cursor_next        commit                                      be locked along with what it reads (of a cursor
 *                                                                    by one more)
 *     lock               given back after lock_us                    held to the end
 *     put, insert,       kept until the commit                       kept until it returns, and locked then, unless it
 *     delete                                                         was locked before
 *     check                                                          0: what it has read is compared when it has
 *                                                                    returned, and what it says is told only then
 *     commit, abort                                                  INVALID, nothing: it returns 0, or another number
 *
 * So read what can be named at once by one cellar_get_many, and name in `lock` what will be put: all that is one round
 * trip. Rows that it names count to its records_max, as do the records of a key that is wide and shares its hash, and
 * the pieces of a long value; those that it changes to its writes_max. A row that has been read may be deleted.
 *
 * A procedure has at most CELLAR_TXN_RECORDS_MAX records, and its redo-log entry is within half a log segment
 * (cellar_lab.log_bytes); both are declared when it is registered. Its transaction is its own, on its thread, until it
 * returns.
 */
#pragma once

#include "cellar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- stored procedures ----------------------------------------------------------------------------- */

/*
 * A procedure may run several times for one call (each aborted attempt is retried), so it must have no effect
 * but through these calls and its `args`, must set all its results anew in each run, and must end on any input, even
 * inconsistent: what it has read is validated only afterwards. Returns 0 to commit, a positive number of its own to end
 * without effect, or the negative code a call gave it, at once.
 */
struct cellar_proc; /* a registered procedure; valid until cellar_close */
struct cellar_proc_def {
    const char *name;
    cellar_txn_fn fn;
    uint32_t records_max;   /* records it declares at most, inserts and deletes included */
    uint32_t writes_max;    /* of these, how many it writes, inserts or deletes at most */
    uint64_t log_bytes_max; /* redo-log bytes at most; 0: computed from writes_max and the widest table */
    uint64_t stack_bytes;   /* that it may use; 0: CELLAR_STACK_BYTES, less what the engine needs of it (16 KiB) */
};
#define CELLAR_STACK_BYTES (256u << 10)
#define CELLAR_STACK_BYTES_MAX (64u << 20)
/*
 * Refused with TOO_LARGE when such a transaction cannot fit the engine's limits. A procedure that asks for a larger
 * stack runs on one of its own, which each coordinator has, and which takes memory as far as it is used.
 *
 * A procedure returns. A C++ exception that leaves it ends the program (std::terminate, before anything is unwound); a
 * longjmp out of it is as undefined as one to a function that has returned. Within it both may be used, but for a
 * longjmp over a call of this header.
 */
CELLAR_NODISCARD int cellar_proc_register(struct cellar *db, const struct cellar_proc_def *def,
                                          const struct cellar_proc **out);

/* ---- calls -------------------------------------------------------------------------------------------- */

struct cellar_call_options {
    /*
     * 0: none. Counts from the call, the time in a queue included. After it no attempt starts, and the call
     * ends with DEADLINE. A call without a timeout ends, too (UNREACHABLE, INDETERMINATE or FENCED), when
     * more memory nodes are lost than backups stand in for: within 25 s on shm.
     */
    uint64_t timeout_ns;
    /*
     * NULL, or a word that another thread sets to non-zero: no attempt starts, and the call ends with
     * CANCELLED, in a queue within 1 ms.
     */
    const uint32_t *cancel;
    uint32_t attempts_max; /* 0: none. When so many attempts have been aborted, the call ends with RETRY */
    /*
     * DURABLE: the call returns when it is (its deadline does not count then). A disk that fails, or is full, meanwhile
     * ends it with INDETERMINATE, or, if it has written nothing, with SYSTEM or FULL. Without a folder it is MEMORY.
     */
    enum cellar_durability level;
};

/* How the call ended, as code and line: what the code means, and which table, key, column or limit it is about. */
void cellar_proc_error(const struct cellar_result *result, struct cellar_error *error);

/*
 * Runs a procedure from any thread, on this one or on a worker's, and waits for it. `args` must stay valid
 * until the return. Returns result->code; result may be NULL.
 */
CELLAR_NODISCARD int cellar_proc_run(struct cellar *db, const struct cellar_proc *proc, void *args,
                                     const struct cellar_call_options *options, struct cellar_result *result);

/*
 * A completion queue: calls that one thread keeps in flight without waiting for each. One thread at a time
 * uses a queue; a database may have many. cellar_close closes the queues that are still open.
 */
struct cellar_queue;
#define CELLAR_QUEUE_CALLS_MAX 65536
/*
 * Called when a call has ended and no ended call was waiting to be reaped, by the thread that served it, with
 * a lock of the queue held. It may write to an eventfd or call uv_async_send, but must not wait, nor call any
 * function of this header. Not called after cellar_proc_queue_close has returned.
 */
typedef void (*cellar_notify_fn)(void *arg);
/*
 * At most calls_max calls are in flight, counting ended ones that are not reaped. notify: NULL for none.
 * INVALID, NOMEM, CLOSED.
 */
CELLAR_NODISCARD int cellar_proc_queue_open(struct cellar *db, uint32_t calls_max, cellar_notify_fn notify,
                                            void *notify_arg, struct cellar_queue **out);
/*
 * Ends calls that have not begun, without effect; waits for those that have; drops what was not reaped. NULL
 * is allowed.
 */
void cellar_proc_queue_close(struct cellar_queue *queue);
/*
 * Hands a call to a worker and returns. `args`, and the word that options->cancel names, must stay valid
 * until the call is reaped; `options` is copied. 0: the call will be reaped, once, with `user`. BUSY: the queue has as
 * many calls as it may; reap first. CLOSED: the database is closing. With any code but 0 nothing was begun.
 */
CELLAR_NODISCARD int cellar_proc_submit(struct cellar_queue *queue, const struct cellar_proc *proc, void *args,
                                        const struct cellar_call_options *options, void *user);
struct cellar_completion {
    void *user;                  /* as submitted */
    struct cellar_result result; /* as of cellar_proc_run */
};
/*
 * Takes up to `max` calls that have ended, in the order in which they ended. Waits for the first of them for
 * timeout_ns (0: not at all, UINT64_MAX: without end), unless none is in flight. Returns how many; 0 is not
 * an error. CLOSED: the database is closing, and all calls that were not reaped before have ended. Also
 * checks deadlines and cancel words of calls that have not begun.
 */
CELLAR_NODISCARD int cellar_proc_reap(struct cellar_queue *queue, struct cellar_completion *completions, uint32_t max,
                                      uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif
