/*
 * err.h - operating errors: codes are those of cellar.h (one X-macro); messages travel in a
 * struct cellar_error of the caller's. Protocol outcomes are not errors (enum cellar_abort_reason), and bugs hit
 * must().
 */
#pragma once

#include "cellar.h"

#define NODISCARD CELLAR_NODISCARD

/*
 * Fills *error (NULL is allowed), control characters escaped, and returns the code: `return err_set(error,
 * CELLAR_INVALID, "...", ...)`.
 */
int err_set(struct cellar_error *error, int code, const char *format, ...) CELLAR_PRINTF(3, 4);
/* The message begins with `what`, a file's name, unless it has that already. Returns rc; of 0 nothing is changed. */
int err_about(struct cellar_error *error, int rc, const char *what);
