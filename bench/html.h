/* html.h - the outcome of a run as one page: a file that needs no network, with charts, light and dark. */
#pragma once

#include "outcome.h"

/* `command`: how the run was asked for. SYSTEM when the file cannot be written. */
CELLAR_NODISCARD int html_write(const struct outcome *outcome, const char *command, const char *path,
                                struct cellar_error *error);
