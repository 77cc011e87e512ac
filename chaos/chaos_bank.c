#include "chaos_bank.h"

#include "db_open.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RECEIPT_BYTES 512 /* of a memory node's memory for each receipt that there may be: what it takes, twice */

static const struct cellar_schema_column account_columns[] = {CELLAR_COLUMN_IN(0, struct chaos_bank_account, cents),
                                                              CELLAR_COLUMN_IN(0, struct chaos_bank_account, changes)};
static const struct cellar_schema_column receipt_columns[] = {CELLAR_COLUMN_IN(0, struct chaos_bank_receipt, cents),
                                                              CELLAR_COLUMN_IN(0, struct chaos_bank_receipt, from),
                                                              CELLAR_COLUMN_IN(0, struct chaos_bank_receipt, to)};

static int open_accounts(struct cellar_txn *txn, void *arg)
{
    const struct chaos_bank *bank = arg;
    const struct chaos_bank_account row = {.cents = CHAOS_BANK_OPENING};
    for (uint64_t key = 0; key < CHAOS_BANK_ACCOUNTS; key++) {
        int ref = cellar_proc_insert(txn, bank->accounts, key, &row);
        if (ref < 0) return ref;
    }
    return cellar_proc_fetch(txn);
}

static int change(struct cellar_txn *txn, int ref, int64_t cents)
{
    struct chaos_bank_account row;
    int code = cellar_proc_get_row(txn, ref, &row);
    if (code < 0) return code;
    row.cents += cents;
    row.changes++;
    return cellar_proc_put_row(txn, ref, &row);
}

static int transfer(struct cellar_txn *txn, void *arg)
{
    const struct chaos_bank_transfer *args = arg;
    const struct chaos_bank *bank = args->bank;
    int from = cellar_proc_access(txn, bank->accounts, args->receipt.from, 0, CELLAR_ALL_CELLS, 0);
    if (from < 0) return from;
    int to = cellar_proc_access(txn, bank->accounts, args->receipt.to, 0, CELLAR_ALL_CELLS, 0);
    if (to < 0) return to;
    int receipt = cellar_proc_insert(txn, bank->receipts, args->number, &args->receipt);
    if (receipt < 0) return receipt;
    int code = cellar_proc_fetch(txn);
    if (code == 0) code = change(txn, from, -args->receipt.cents);
    if (code == 0) code = change(txn, to, args->receipt.cents);
    return code == 0 && args->aborted ? CELLAR_USER_ABORT : code;
}

static int set_up(struct chaos_bank *bank, uint64_t memnode_bytes, struct cellar_error *error)
{
    const struct cellar_schema accounts = {.name = "account",
                                           .row_bytes = sizeof(struct chaos_bank_account),
                                           .columns = account_columns,
                                           .column_count = COUNT(account_columns),
                                           .records_max = CHAOS_BANK_ACCOUNTS};
    const struct cellar_schema receipts = {.name = "receipt",
                                           .row_bytes = sizeof(struct chaos_bank_receipt),
                                           .columns = receipt_columns,
                                           .column_count = COUNT(receipt_columns),
                                           .records_max = memnode_bytes / RECEIPT_BYTES};
    const struct cellar_proc_def open_def = {
        .name = "open", .fn = open_accounts, .records_max = CHAOS_BANK_ACCOUNTS, .writes_max = CHAOS_BANK_ACCOUNTS};
    const struct cellar_proc_def transfer_def = {.name = "transfer", .fn = transfer, .records_max = 3, .writes_max = 3};
    int code = err_last(error, cellar_table_create(bank->db, &accounts, &bank->accounts));
    if (code == 0) code = err_last(error, cellar_table_create(bank->db, &receipts, &bank->receipts));
    if (code == 0) code = err_last(error, cellar_proc_register(bank->db, &open_def, &bank->open));
    if (code == 0) code = err_last(error, cellar_proc_register(bank->db, &transfer_def, &bank->transfer));
    if (code != 0) return code;
    struct cellar_result result;
    code = cellar_proc_run(bank->db, bank->open, bank, NULL, &result);
    if (code == 0 || code == CELLAR_EXISTS) return 0;
    cellar_proc_error(&result, error);
    return code;
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
