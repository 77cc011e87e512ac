/* db_stats.h - what the workers of a database have counted. */
#pragma once

#include "cellar_lab.h"

/* Sums over all workers since the opening; of those of sessions, too. */
void db_stats(struct cellar *db, struct cellar_lab_stats *stats);
