/* report.h - the outcome of a run, for people and for programs. */
#pragma once

#include "outcome.h"

#include <stdio.h>

/* Prints it, at most 100 columns wide. (report.c) */
void report_print(const struct outcome *outcome, FILE *out);
/* Writes it as one JSON object to a file, or to stdout for "-". SYSTEM when that fails. (json.c) */
CELLAR_NODISCARD int report_json(const struct outcome *outcome, const char *path, struct cellar_error *error);
