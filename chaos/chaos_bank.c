#include "chaos_bank.h"

#include "db_open.h"

#define RECEIPT_BYTES 512 /* of a memory node's memory for each receipt that there may be: what it takes, twice */

enum { NUMBER, CENTS, CHANGES };
#define MONEY (CELLAR_COL(CENTS) | CELLAR_COL(CHANGES))
static const struct cellar_column account_columns[] = {
    {CELLAR_FIELD(struct chaos_bank_account, number), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct chaos_bank_account, cents), .cell = 1},
    {CELLAR_FIELD(struct chaos_bank_account, changes), .cell = 1}};
static const struct cellar_column receipt_columns[] = {
    {CELLAR_FIELD(struct chaos_bank_receipt, number), .flags = CELLAR_KEY},
    {CELLAR_FIELD(struct chaos_bank_receipt, cents), .cell = 1},
    {CELLAR_FIELD(struct chaos_bank_receipt, from), .cell = 1},
    {CELLAR_FIELD(struct chaos_bank_receipt, to), .cell = 1}};

/* The first one to come does; for the others they are there. */
static int open_accounts(struct cellar_txn *txn, void *arg)
{
    const struct chaos_bank *bank = arg;
    struct chaos_bank_account row = {.number = 0, .cents = CHAOS_BANK_OPENING};
    int code = cellar_get(txn, bank->accounts, CELLAR_COL(NUMBER), 0, &row);
    if (code != CELLAR_NOT_FOUND) return code;
    for (code = 0; row.number < CHAOS_BANK_ACCOUNTS && code == 0; row.number++)
        code = cellar_insert(txn, bank->accounts, &row);
    return code;
}

static int change(struct cellar_txn *txn, const struct chaos_bank *bank, struct chaos_bank_account *row, int64_t cents)
{
    row->cents += cents;
    row->changes++;
    return cellar_put(txn, bank->accounts, MONEY, row); /* of all columns it would make one that is lost */
}

static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct chaos_bank_transfer *args = arg;
    const struct chaos_bank *bank = args->bank;
    struct chaos_bank_account from = {.number = args->receipt.from}, to = {.number = args->receipt.to};
    struct cellar_read both[] = {CELLAR_READ(bank->accounts, &from, .columns = MONEY, .lock = MONEY),
                                 CELLAR_READ(bank->accounts, &to, .columns = MONEY, .lock = MONEY)};
    int code = cellar_get_many(txn, both, 2);
    if (code == 0) code = change(txn, bank, &from, -args->receipt.cents);
    if (code == 0) code = change(txn, bank, &to, args->receipt.cents);
    if (code == 0) code = cellar_insert(txn, bank->receipts, &args->receipt);
    return code == 0 && args->aborted ? CHAOS_BANK_GIVEN_UP : code;
}

/* Ordered by its key, so that nodes of an index change along with its rows; but in modes where nothing has an order. */
static int table_open(struct cellar *db, struct cellar_table_def def, const struct cellar_table **table)
{
    def.flags = CELLAR_ORDERED;
    int code = cellar_table_open(db, &def, 0, table);
    def.flags = 0;
    return code == CELLAR_UNSUPPORTED ? cellar_table_open(db, &def, 0, table) : code;
}

static int set_up(struct chaos_bank *bank, uint64_t memnode_bytes, struct cellar_error *error)
{
    const struct cellar_table_def *accounts =
        CELLAR_TABLE(struct chaos_bank_account, account_columns, .name = "account", .rows = CHAOS_BANK_ACCOUNTS);
    const struct cellar_table_def *receipts = CELLAR_TABLE(struct chaos_bank_receipt, receipt_columns,
                                                           .name = "receipt", .rows = memnode_bytes / RECEIPT_BYTES);
    const struct cellar_proc_def def = {.name = "transfer", .fn = transfer, .records_max = 3, .writes_max = 3};
    int code = table_open(bank->db, *accounts, &bank->accounts);
    if (code == 0) code = table_open(bank->db, *receipts, &bank->receipts);
    if (code == 0) code = cellar_proc_register(bank->db, &def, &bank->transfer);
    if (code == 0) code = cellar_run(bank->db, open_accounts, bank, NULL, NULL);
    return err_last(error, code);
}

int chaos_bank_open(struct chaos_bank *bank, const struct engine_config *config, uint64_t memnode_bytes,
                    struct cellar_error *error)
{
    int code = db_open(config, &bank->db, error);
    if (code != 0) return code;
    code = set_up(bank, memnode_bytes, error);
    if (code != 0) cellar_close(bank->db);
    return code;
}
