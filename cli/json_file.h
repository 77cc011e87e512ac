/* json_file.h - a JSON value into a file, or to standard output. */
#pragma once

#include "err.h"

struct json_t;

/*
 * Can a report be written to that path? A command asks before a long run, whose report would be lost. INVALID if not;
 * NULL and "-" can be written to. Leaves no file there.
 */
NODISCARD int json_file_check(const char *path, struct cellar_error *error);
/* The same of another option's report, "--html". */
NODISCARD int json_file_check_as(const char *option, const char *path, struct cellar_error *error);
/* Writes it; "-" is standard output. SYSTEM when that fails. */
NODISCARD int json_file_write(const struct json_t *root, const char *path, struct cellar_error *error);
