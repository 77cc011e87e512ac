/* db_open.h - how a database opens. */
#pragma once

#include "engine_config.h"
#include "err.h"
#include "fabric.h"

struct durable;

/* Opens a database as it is said there. As cellar_open; *error, unless it is NULL, says what was wrong. */
NODISCARD int db_open(const struct engine_config *config, struct cellar **out, struct cellar_error *error);
/* Opens a database on a ready fabric (tests; bench in sim), which stays the caller's. Otherwise as cellar_open. */
NODISCARD int db_open_on(struct fabric *fabric, const struct engine_config *config, struct cellar **out,
                         struct cellar_error *error);
/* The same of one that is kept in a folder (durable_open_on), which is the database's from now on, if it opens. */
NODISCARD int db_open_durable(struct fabric *fabric, const struct engine_config *config, struct durable *durable,
                              struct cellar **out, struct cellar_error *error);
