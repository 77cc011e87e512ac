/*
 * chaos_bank.h - what compute nodes of a chaos run do: they move money between accounts, and each transfer leaves a
 * receipt, in the same transaction. So the balances follow from the receipts, whatever was lost on the way.
 */
#pragma once

#include "engine_config.h"
#include "err.h"

#define CHAOS_BANK_ACCOUNTS 64
#define CHAOS_BANK_OPENING 1000000 /* cents of each account at first */

/* Rows of the tables; the key is the number. */
struct chaos_bank_account {
    uint64_t number;
    int64_t cents;
    uint64_t changes; /* transfers from or to it */
};
struct chaos_bank_receipt {
    uint64_t number; /* of the transfer, which the witness has given */
    int64_t cents;
    uint32_t from, to;
};

struct chaos_bank {
    struct cellar *db;
    const struct cellar_table *accounts, *receipts;
    const struct cellar_proc *transfer;
};

struct chaos_bank_transfer {
    const struct chaos_bank *bank;
    struct chaos_bank_receipt receipt;
    bool aborted; /* the client changes its mind: CHAOS_BANK_GIVEN_UP, and no effect */
};
enum { CHAOS_BANK_GIVEN_UP = 1 };

/*
 * Opens the pool, its tables and the procedure; the first one to come opens the accounts. memnode_bytes, the memory of
 * each memory node, sizes the table of receipts. On failure nothing stays open.
 */
NODISCARD int chaos_bank_open(struct chaos_bank *bank, const struct engine_config *config, uint64_t memnode_bytes,
                              struct cellar_error *error);
