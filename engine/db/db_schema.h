/* db_schema.h - the procedures of an open database, and how much of the log they may need. */
#pragma once

#include "cellar.h"
#include "schema.h"

struct coro_annex;
struct tally;

struct cellar_proc { /* a handle */
    const struct cellar *db;
    struct cellar_proc_def def;
    uint32_t log_bytes; /* of a redo-log entry at most, */
    uint32_t own_bytes; /* but for what it changes of ordered indexes */
    char name[CELLAR_NAME_BYTES];
    struct coro_annex **annexes; /* one of each coordinator; NULL: it is content with their own stacks */
    struct tally
        *tallies; /* one of each worker, and of each session's; NULL: the engine's own, which are not counted */
    struct cellar_proc *next;
};

void db_proc_free(const struct cellar *db, struct cellar_proc *proc);

/* Bytes of a log entry without changes; and what a change of a record of that table can add to it at most. */
uint64_t db_log_bytes_least(void);
uint64_t db_log_bytes_of(const struct cellar *db, const struct schema *schema, bool index);
