/* pool_file.h - what the subcommands that take a pool file have in common. */
#pragma once

#include "cellar.h"
#include "engine_config.h"
#include "err.h"

#include <stdint.h>

/*
 * How large the pool file is, of a folder 0: none is made here. INVALID when it is not there, neither regular file nor
 * folder, or empty; the message begins with `option`.
 */
NODISCARD int pool_file_look(const char *option, const char *path, uint64_t *bytes, struct cellar_error *error);
/*
 * Opens it for work that runs no transaction, in the mode with the least set-up: that of `config`, or, when the pool
 * has locks of records, the one that has them. As cellar_open.
 */
NODISCARD int pool_file_open(const struct engine_config *config, struct cellar **out, struct cellar_error *error);
