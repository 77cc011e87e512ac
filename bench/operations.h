/*
 * operations.h - operations of YCSB's core workloads as a text file (docs/ycsb.md, "Operations as a file"):
 * `--write-operations` writes what clients have done, `--replay` has clients do it.
 */
#pragma once

#include "workload.h"

/* Reads and checks a whole file. A line says what is wrong, with the file's line number. */
CELLAR_NODISCARD int operations_read(const char *path, struct workload_operations *operations,
                                     struct cellar_error *error);
/* Room for as many as they say there are. NOMEM. */
CELLAR_NODISCARD int operations_make(struct workload_operations *operations, struct cellar_error *error);
/* Those that were done; of a run that was interrupted the first ones, as many as all clients have. */
CELLAR_NODISCARD int operations_write(const struct workload_operations *operations, uint32_t clients, const char *path,
                                      struct cellar_error *error);
void operations_free(struct workload_operations *operations);
