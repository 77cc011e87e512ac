/*
 * partial.h - a file that is there when it is whole: it is written beside its name, as NAME.partial, and gets the name
 * at the end. What had the name before stays until then, and stays if anything fails.
 */
#pragma once

#include "err.h"

#include <stdio.h>

#define PARTIAL_PATH_BYTES 4096

struct partial {
    FILE *file;
    char name[PARTIAL_PATH_BYTES];
};

/* INVALID: the name is too long, or something is there that is no regular file. SYSTEM: it cannot be written. */
NODISCARD int partial_open(struct partial *partial, const char *path, struct cellar_error *error);

/* Could it be written? Nothing is left of the try. As partial_open. */
NODISCARD int partial_accept(const char *path, struct cellar_error *error);

/* All was written: the file gets its name. SYSTEM: it did not; it is gone then, as after partial_drop. */
NODISCARD int partial_end(struct partial *partial, const char *path, struct cellar_error *error);
void partial_drop(struct partial *partial);
