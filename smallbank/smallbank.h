/*
 * smallbank.h - SmallBank: six short transactions on the savings and checking balances of bank customers.
 *
 * Both balances are cells of one record by default, or single cells of two tables (two_tables). An account's id is its
 * popularity rank: 0 is the hottest. Ids are not scrambled, since the hash index spreads neighbouring keys anyway.
 *
 * Money is in cents. Invariant, judged by smallbank_check: the sum of all balances is what was loaded plus the deltas
 * of all committed transactions, which each client adds up as their results come in.
 */
#pragma once

#include "cellar_lab.h"
#include "schemadef.h"
#include "workload.h"
#include "zipf.h"

#define SMALLBANK_INITIAL_CENTS 100000 /* of each balance at load */
#define SMALLBANK_DEPOSIT_CENTS 10000  /* deposits are 1 .. this, savings transactions up to this either way */
#define SMALLBANK_SPEND_CENTS                                                                                          \
    1000 /* payments and checks are 1 .. this: less, so that balances do not sink as a run goes on */
#define SMALLBANK_PENALTY_CENTS 100 /* for a check that overdraws the customer */

extern const struct workload smallbank_workload;

struct smallbank_config {
    struct workload_config base;
    uint64_t accounts;
    double theta;
    bool two_tables; /* savings and checking in two tables instead of two cells of one record */
};

/* The two that may be refused have a second type for that: the customer has not enough money. */
enum smallbank_type {
    SMALLBANK_AMALGAMATE,
    SMALLBANK_BALANCE,
    SMALLBANK_DEPOSIT_CHECKING,
    SMALLBANK_SEND_PAYMENT,
    SMALLBANK_TRANSACT_SAVINGS,
    SMALLBANK_WRITE_CHECK,
    SMALLBANK_PROCS,
    SMALLBANK_SEND_PAYMENT_REFUSED = SMALLBANK_PROCS,
    SMALLBANK_TRANSACT_SAVINGS_REFUSED,
    SMALLBANK_TYPES
};

enum smallbank_balances { SMALLBANK_SAVINGS = 1, SMALLBANK_CHECKING = 2, SMALLBANK_BOTH = 3 }; /* a set */

struct smallbank_row {
    int64_t savings, checking;
};
struct smallbank_half_row { /* of a table of one balance */
    int64_t cents;
};

struct workload_run {
    struct cellar *db;
    bool two_tables;
    uint64_t accounts;
    const struct cellar_table *savings, *checking; /* equal unless two_tables */
    int savings_column, checking_column;
    cellar_cells cells[4]; /* by set of balances; with two_tables only the sets of one */
    const struct cellar_proc *procs[SMALLBANK_PROCS];
    struct zipf zipf;
};

/* One call of any procedure. */
struct smallbank_args {
    const struct workload_run *run;
    uint64_t from, to; /* accounts; `to` of Amalgamate and SendPayment only */
    int64_t cents;     /* TransactSavings: negative withdraws */
    int64_t delta;     /* result: change of the sum of all balances */
    int64_t balance;   /* result of Balance */
};

struct smallbank_client {
    struct workload_client base;
    int64_t delta; /* of all its committed transactions */
    uint64_t committed[SMALLBANK_TYPES];
};

/* Registers the six procedures. (smallbank_procs.c) */
CELLAR_NODISCARD int smallbank_procs_register(struct workload_run *run, struct cellar_error *error);

int smallbank_load(struct workload_run *run, struct cellar_lab_client *client, uint64_t *progress,
                   struct cellar_error *error);
int smallbank_check(struct workload_run *run, struct cellar_lab_client *client, struct workload_client *const *clients,
                    uint32_t client_count, struct workload_report *report, struct cellar_error *error);
