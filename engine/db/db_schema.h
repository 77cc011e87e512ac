/* db_schema.h - the procedures of an open database, and how much of the log they may need. */
#pragma once

#include "cellar_proc.h"
#include "schemadef.h"
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

/* As cellar_table_create and cellar_proc_register. */
NODISCARD int db_table_create(struct cellar *db, const struct cellar_schema *schema, const struct cellar_table **out,
                              struct cellar_error *error);
NODISCARD int db_proc_register(struct cellar *db, const struct cellar_proc_def *def, const struct cellar_proc **out,
                               struct cellar_error *error);
