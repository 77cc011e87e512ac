/* db_snapshot.h - the end of what snapshots of a database have made. */
#pragma once

struct cellar;

/* When no endpoint is used any more. */
void db_snapshot_free(struct cellar *db);
