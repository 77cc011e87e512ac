/* db_config.h - what a configuration may say, and the fabric of one. */
#pragma once

#include "engine_config.h"
#include "fabric.h"

#define CONFIG_POOL_BYTES_DEFAULT (64ull << 20)
#define CONFIG_LOG_BYTES_MAX (64ull << 20)

/*
 * How many compute nodes a pool file was made for; 0: it says nothing that can be believed, or is not there. CORRUPT:
 * its size is not its pool's. INVALID: it is shorter than any pool.
 */
NODISCARD int db_pool_file_look(const char *path, uint32_t *cn_count, struct cellar_error *error);
/* Puts defaults where nothing is said. INVALID: it cannot be. As db_pool_file_look, too. */
NODISCARD int db_config_check(struct engine_config *config, struct cellar_error *error);
/* The fabric of a checked configuration; the caller closes it. As cellar_open. */
NODISCARD int db_fabric_open(const struct engine_config *config, struct fabric **out, struct cellar_error *error);
