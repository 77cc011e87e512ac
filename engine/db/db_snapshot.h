/* db_snapshot.h - the end of what snapshots of a database have made. */
#pragma once

#include "err.h"

struct cellar;

/* When no endpoint is used any more. */
void db_snapshot_free(struct cellar *db);

/* As cellar_backup. */
NODISCARD int db_backup(struct cellar *db, const char *path, struct cellar_error *error);
