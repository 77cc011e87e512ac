/*
 * err.h - operating errors: codes are those of cellar.h (one X-macro), and a few of the engine's own; messages travel
 * in a struct cellar_error of the caller's. Protocol outcomes are not errors (enum cellar_abort_reason), and bugs hit
 * must().
 */
#pragma once

#include "cellar.h"

#define NODISCARD CELLAR_NODISCARD

/*
 * Codes that no call of the public headers returns: X(name, number, text). What is said by number
 * (engine/txn/numbered.h), and what parts of the engine tell each other. cellar_strerror knows them.
 */
#define ERR_MAP(X)                                                                                                     \
    X(UNDECLARED, -101, "the procedure touched a cell it had not declared")                                            \
    X(DUPLICATE, -102, "the procedure declared the same cell twice")                                                   \
    X(UNFETCHED, -103, "the procedure used a record before it was fetched")                                            \
    X(GIVEN_UP, -104, "the procedure gave the transaction up")                                                         \
    X(DIRTY, -105, "the pool was not closed cleanly")

enum err_code {
#define X(name, number, text) ERR_##name = number,
    ERR_MAP(X)
#undef X
};

/*
 * Fills *error (NULL is allowed), control characters escaped, and returns the code: `return err_set(error,
 * CELLAR_INVALID, "...", ...)`.
 */
int err_set(struct cellar_error *error, int code, const char *format, ...) CELLAR_PRINTF(3, 4);
/* The message begins with `what`, a file's name, unless it has that already. Returns rc; of 0 nothing is changed. */
int err_about(struct cellar_error *error, int rc, const char *what);

/* ---- cellar_last_error: each thread has its own ---- */

#define ERR_ABOUT_BYTES 544
/*
 * Returns rc, a call's. If it is a code, it becomes the thread's, with *error's line, or if that is of none, its own.
 */
int err_last_is(int rc, const struct cellar_error *error);
/*
 * As err_last_is, but `write` makes the line, when somebody asks for it, from a copy of these bytes, ERR_ABOUT_BYTES at
 * most. NULL: the code's own text.
 */
int err_last_about(int rc, void (*write)(const void *about, struct cellar_error *error), const void *about,
                   size_t bytes);
static inline int err_last_code(int rc) { return rc < 0 ? err_last_about(rc, NULL, NULL, 0) : rc; }
/*
 * Returns rc, which a call of the public headers has returned: if it is a code, *error (NULL is allowed) is the
 * thread's last.
 */
int err_last(struct cellar_error *error, int rc);
