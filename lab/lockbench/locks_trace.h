/*
 * locks_trace.h - which locks the transactions of a recorded history (docs/history.md) take by two-phase locking: one
 * for each record, exclusively where it was written or deleted, shared where it was read or found absent. Records
 * that a transaction inserted itself no other one sees before it commits: no lock. Records are numbered, in the order
 * of tables and keys.
 */
#pragma once

#include "lockmgr.h"

struct locks_trace_access {
    uint32_t lock;
    uint32_t mode; /* enum lockmgr_mode */
};

struct locks_trace {
    struct locks_trace_access *accesses; /* of each transaction in ascending order of locks, each once */
    uint64_t *first;                     /* of transaction i: accesses first[i] to first[i + 1] */
    uint64_t txns, locks;
    uint32_t most; /* locks of one transaction */
};

/* Of the committed transactions that take any. One line says what is wrong with the file. */
NODISCARD int locks_trace_read(const char *path, uint32_t most, struct locks_trace *trace, struct cellar_error *error);
void locks_trace_free(struct locks_trace *trace);
