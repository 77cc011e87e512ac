/*
 * sim_people.h - rows with keys of two columns, one of them a string, and orders with equal rows, in interactive
 * transactions of simulated clients: gets, cursors in pages of every size, changes under a cursor, savepoints, locks
 * (docs/rows.md).
 *
 * The columns of a row beside its key follow from one of them, which says who wrote it: a row whose columns are of two
 * writers shows by itself. With what a client has changed, or has read by its key, each later call must agree, at once.
 * What a cursor has shown of others' rows, or has left out, is held against later calls if the transaction commits.
 */
#pragma once

#include "cellar_lab.h"
#include "err.h"
#include "prng.h"

#define SIM_PEOPLE_KEYS 12
#define SIM_PEOPLE_CURSORS 2
#define SIM_PEOPLE_LINE_BYTES 120

/* A row: its key's number, and what it has beside the key. */
struct person {
    uint32_t key, note; /* note: its number */
    int32_t rank;
    uint64_t stamp[2];
};

/* What a client knows of a row. */
struct person_known {
    enum { PERSON_UNKNOWN, PERSON_ABSENT, PERSON_PRESENT } state;
    bool own;    /* it has changed it, */
    bool made;   /* ... where it had found none: no other transaction can take it away, */
    bool noted;  /* ... or read it by its key; else a cursor told of it */
    bool valued; /* present, and it knows what it has */
    struct person person;
};

/* A scan, and how far it has come. */
struct people_cursor {
    struct cellar_cursor *cursor; /* NULL: it is closed */
    uint32_t order, low_count, high_count;
    bool backward, prefix, low_excluded, high_excluded;
    bool follows, begun; /* after `after`; it has shown a row, the last of which is `last` */
    struct person low, high, after, last;
    bool shown[SIM_PEOPLE_KEYS];
    struct person_known known[SIM_PEOPLE_KEYS]; /* when it was opened */
};

/* What a client does with these rows in one transaction; its own, while it waits. */
struct sim_people {
    const struct cellar_table *table;
    const struct cellar_index *by_rank, *by_note;
    struct cellar_txn *txn;
    struct prng *prng;
    uint32_t writer, changes;
    bool locks; /* some reads lock */
    struct person_known known[SIM_PEOPLE_KEYS];
    struct people_cursor cursors[SIM_PEOPLE_CURSORS];
    char complaint[SIM_PEOPLE_LINE_BYTES];     /* counts if the transaction commits */
    char contradiction[SIM_PEOPLE_LINE_BYTES]; /* what it was shown does not agree with itself */
};

/* The table with its indexes, found or made. From outside. */
NODISCARD int sim_people_make(struct cellar *db, const struct cellar_table **table, struct cellar_error *error);
/* As the last table that is made: the least number of what comes and goes, if indexes do, or the table itself. */
uint32_t sim_people_passing(const struct cellar_table *table, bool itself);
/* Beside all clients, by the first one, in none of its transactions. One more index comes, or goes. */
NODISCARD int sim_people_reindex(struct cellar_lab_client *self, const struct cellar_table *table,
                                 struct cellar_error *error);
/* One more column comes, or goes, with another hash index: a table in its place. */
NODISCARD int sim_people_alter(struct cellar_lab_client *self, const struct cellar_table **table,
                               struct cellar_error *error);
/* In that transaction, as that writer: how many steps it takes. `people` has the table. */
uint32_t sim_people_begin(struct sim_people *people, struct cellar_txn *txn, struct prng *prng, uint32_t writer);
/* The next one. A code of the transaction's. */
NODISCARD int sim_people_step(struct sim_people *people);
/* At rest: each row is there once, and as a client wrote it, or CORRUPT. */
NODISCARD int sim_people_check(struct cellar_lab_client *self, const struct cellar_table *table,
                               struct cellar_error *error);
