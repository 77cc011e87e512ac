/*
 * peer_work.h - the transactions that all stores run: SmallBank, the updates of YCSB-T, and its reads, as smallbank and
 * ycsb define them. All are drawn before the first one runs, and each store gets the same.
 *
 * A transaction is a plan, up to four records with the cells that it reads and writes, and a computation on their rows.
 * A cell is a balance of 8 bytes (two in an account), or a value of 40 bytes (four in a record).
 */
#pragma once

#include "prng.h"

#include <stdbool.h>
#include <stdint.h>

#define PEER_PER_TXN 4
#define PEER_INITIAL_CENTS 100000
#define PEER_LOADER UINT32_MAX

struct peer_value {
    uint64_t key;
    uint32_t cell, writer; /* the client's index */
    uint64_t at;           /* which of its draws */
    uint64_t writes;       /* of this cell, so far */
    uint64_t checksum;     /* of the above */
};

union peer_row {
    int64_t balances[2]; /* savings, checking */
    struct peer_value values[4];
    uint8_t bytes[160];
};

enum peer_kind { PEER_SMALLBANK, PEER_YCSB, PEER_READ };

struct peer_work {
    enum peer_kind kind;
    uint32_t columns, column_bytes, row_bytes;
    double theta;
    char name[32]; /* "ycsb-0.99" */
};

struct peer_draw {
    uint32_t keys[PEER_PER_TXN];
    int32_t cents;
    uint8_t cells[PEER_PER_TXN];
    uint8_t type;
};

struct peer_part {
    uint32_t key;
    uint8_t read, write; /* sets of cells; what is written is read as well */
};
struct peer_plan {
    uint32_t count;
    bool writes;
    struct peer_part parts[PEER_PER_TXN];
};

/* What one transaction, or all of a client, came to. */
struct peer_outcome {
    int64_t cents;    /* by which the sum of all balances has changed */
    uint64_t writes;  /* values written */
    uint64_t foreign; /* values read that belong to another place */
};

/* "smallbank", "ycsb", "read", with "-THETA" behind it if it is not the usual one (0, 0.1, 0.99). False: none such. */
bool peer_work_named(struct peer_work *work, const char *name);
/* False: no memory, or too few records. */
bool peer_work_draw(const struct peer_work *work, uint64_t records, uint64_t seed, struct peer_draw *draws,
                    uint64_t count);
void peer_work_load(const struct peer_work *work, uint64_t key, union peer_row *row);

void peer_work_plan(const struct peer_work *work, const struct peer_draw *draw, struct peer_plan *plan);
/*
 * Changes the rows, which have the cells that the plan reads. False: refused, without effect. `writer` and `at` mark
 * what is written.
 */
bool peer_work_compute(const struct peer_work *work, const struct peer_draw *draw, uint32_t writer, uint64_t at,
                       union peer_row *rows, struct peer_outcome *outcome);
/* Copies these cells of a row that a store keeps whole. */
void peer_work_copy(const struct peer_work *work, uint8_t cells, union peer_row *to, const void *from);

/* What is left of all records, added up one by one. */
struct peer_sum {
    const struct peer_work *work;
    uint64_t records, broken, writes; /* broken: values with a wrong checksum, or in a wrong place */
    int64_t cents;
};
void peer_work_add(void *sum, uint64_t key, const union peer_row *row);
/* NULL: what was loaded and what the clients have done is what is there. Else what is wrong. */
const char *peer_work_judge(const struct peer_sum *sum, uint64_t records, const struct peer_outcome *outcome);
