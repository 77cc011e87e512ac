/* smallbank_procs.c - the six stored procedures. Each is one block: its keys are known beforehand. */
#include "err.h"
#include "numbered.h"
#include "smallbank.h"

/* References to an account's balances; equal when they are cells of one record. */
struct account {
    int savings, checking;
};

/* Declares an account's balances to read and to write (sets of enum smallbank_balances). */
static int account_declare(struct cellar_txn *txn, const struct workload_run *run, uint64_t id, uint32_t read,
                           uint32_t write, struct account *account)
{
    if (!run->two_tables) {
        account->savings = account->checking =
            cellar_proc_access(txn, run->savings, id, run->cells[read], run->cells[write], 0);
        return account->savings < 0 ? account->savings : 0;
    }
    account->savings = account->checking = -1;
    if ((read | write) & SMALLBANK_SAVINGS) {
        account->savings = cellar_proc_access(txn, run->savings, id, run->cells[read & SMALLBANK_SAVINGS],
                                              run->cells[write & SMALLBANK_SAVINGS], 0);
        if (account->savings < 0) return account->savings;
    }
    if ((read | write) & SMALLBANK_CHECKING) {
        account->checking = cellar_proc_access(txn, run->checking, id, run->cells[read & SMALLBANK_CHECKING],
                                               run->cells[write & SMALLBANK_CHECKING], 0);
        if (account->checking < 0) return account->checking;
    }
    return 0;
}

static int savings_get(struct cellar_txn *txn, const struct workload_run *run, const struct account *account,
                       int64_t *cents)
{
    return cellar_proc_get(txn, account->savings, run->savings_column, cents);
}

static int savings_put(struct cellar_txn *txn, const struct workload_run *run, const struct account *account,
                       int64_t cents)
{
    return cellar_proc_put(txn, account->savings, run->savings_column, &cents);
}

static int checking_get(struct cellar_txn *txn, const struct workload_run *run, const struct account *account,
                        int64_t *cents)
{
    return cellar_proc_get(txn, account->checking, run->checking_column, cents);
}

static int checking_put(struct cellar_txn *txn, const struct workload_run *run, const struct account *account,
                        int64_t cents)
{
    return cellar_proc_put(txn, account->checking, run->checking_column, &cents);
}

/* All money of `from` goes to the checking balance of `to`. */
static int amalgamate(struct cellar_txn *txn, void *argument)
{
    struct smallbank_args *args = argument;
    const struct workload_run *run = args->run;
    struct account from, to;
    int64_t savings, checking, received;
    int code;
    args->delta = 0;
    if ((code = account_declare(txn, run, args->from, SMALLBANK_BOTH, SMALLBANK_BOTH, &from)) < 0) return code;
    if ((code = account_declare(txn, run, args->to, SMALLBANK_CHECKING, SMALLBANK_CHECKING, &to)) < 0) return code;
    if ((code = cellar_proc_fetch(txn)) < 0) return code;
    if ((code = savings_get(txn, run, &from, &savings)) < 0) return code;
    if ((code = checking_get(txn, run, &from, &checking)) < 0) return code;
    if ((code = checking_get(txn, run, &to, &received)) < 0) return code;
    if ((code = savings_put(txn, run, &from, 0)) < 0) return code;
    if ((code = checking_put(txn, run, &from, 0)) < 0) return code;
    return checking_put(txn, run, &to, received + savings + checking);
}

static int balance(struct cellar_txn *txn, void *argument)
{
    struct smallbank_args *args = argument;
    const struct workload_run *run = args->run;
    struct account account;
    int64_t savings, checking;
    int code;
    args->delta = 0;
    if ((code = account_declare(txn, run, args->from, SMALLBANK_BOTH, 0, &account)) < 0) return code;
    if ((code = cellar_proc_fetch(txn)) < 0) return code;
    if ((code = savings_get(txn, run, &account, &savings)) < 0) return code;
    if ((code = checking_get(txn, run, &account, &checking)) < 0) return code;
    args->balance = savings + checking;
    return 0;
}

static int deposit_checking(struct cellar_txn *txn, void *argument)
{
    struct smallbank_args *args = argument;
    const struct workload_run *run = args->run;
    struct account account;
    int64_t checking;
    int code;
    args->delta = args->cents;
    if ((code = account_declare(txn, run, args->from, SMALLBANK_CHECKING, SMALLBANK_CHECKING, &account)) < 0)
        return code;
    if ((code = cellar_proc_fetch(txn)) < 0) return code;
    if ((code = checking_get(txn, run, &account, &checking)) < 0) return code;
    return checking_put(txn, run, &account, checking + args->cents);
}

/* Refused when the sender's checking balance is too small. */
static int send_payment(struct cellar_txn *txn, void *argument)
{
    struct smallbank_args *args = argument;
    const struct workload_run *run = args->run;
    struct account from, to;
    int64_t paid, received;
    int code;
    args->delta = 0;
    if ((code = account_declare(txn, run, args->from, SMALLBANK_CHECKING, SMALLBANK_CHECKING, &from)) < 0) return code;
    if ((code = account_declare(txn, run, args->to, SMALLBANK_CHECKING, SMALLBANK_CHECKING, &to)) < 0) return code;
    if ((code = cellar_proc_fetch(txn)) < 0) return code;
    if ((code = checking_get(txn, run, &from, &paid)) < 0) return code;
    if (paid < args->cents) return ERR_GIVEN_UP;
    if ((code = checking_get(txn, run, &to, &received)) < 0) return code;
    if ((code = checking_put(txn, run, &from, paid - args->cents)) < 0) return code;
    return checking_put(txn, run, &to, received + args->cents);
}

/* Deposits or withdraws; refused when the savings balance would fall below zero. */
static int transact_savings(struct cellar_txn *txn, void *argument)
{
    struct smallbank_args *args = argument;
    const struct workload_run *run = args->run;
    struct account account;
    int64_t savings;
    int code;
    args->delta = args->cents;
    if ((code = account_declare(txn, run, args->from, SMALLBANK_SAVINGS, SMALLBANK_SAVINGS, &account)) < 0) return code;
    if ((code = cellar_proc_fetch(txn)) < 0) return code;
    if ((code = savings_get(txn, run, &account, &savings)) < 0) return code;
    if (savings + args->cents < 0) return ERR_GIVEN_UP;
    return savings_put(txn, run, &account, savings + args->cents);
}

/* Cashes a check; one larger than both balances together costs a penalty. */
static int write_check(struct cellar_txn *txn, void *argument)
{
    struct smallbank_args *args = argument;
    const struct workload_run *run = args->run;
    struct account account;
    int64_t savings, checking;
    int code;
    if ((code = account_declare(txn, run, args->from, SMALLBANK_BOTH, SMALLBANK_CHECKING, &account)) < 0) return code;
    if ((code = cellar_proc_fetch(txn)) < 0) return code;
    if ((code = savings_get(txn, run, &account, &savings)) < 0) return code;
    if ((code = checking_get(txn, run, &account, &checking)) < 0) return code;
    args->delta = -args->cents;
    if (savings + checking < args->cents) args->delta -= SMALLBANK_PENALTY_CENTS;
    return checking_put(txn, run, &account, checking + args->delta);
}

int smallbank_procs_register(struct workload_run *run, struct cellar_error *error)
{
    /* records and writes of the one-record layout, then of two tables */
    static const struct {
        const char *name;
        cellar_txn_fn fn;
        uint32_t records[2], writes[2];
    } defs[SMALLBANK_PROCS] = {
        [SMALLBANK_AMALGAMATE] = {"smallbank.amalgamate", amalgamate, {2, 3}, {2, 3}},
        [SMALLBANK_BALANCE] = {"smallbank.balance", balance, {1, 2}, {0, 0}},
        [SMALLBANK_DEPOSIT_CHECKING] = {"smallbank.deposit_checking", deposit_checking, {1, 1}, {1, 1}},
        [SMALLBANK_SEND_PAYMENT] = {"smallbank.send_payment", send_payment, {2, 2}, {2, 2}},
        [SMALLBANK_TRANSACT_SAVINGS] = {"smallbank.transact_savings", transact_savings, {1, 1}, {1, 1}},
        [SMALLBANK_WRITE_CHECK] = {"smallbank.write_check", write_check, {1, 2}, {1, 1}},
    };
    for (uint32_t i = 0; i < SMALLBANK_PROCS; i++) {
        struct cellar_proc_def def = {.name = defs[i].name,
                                      .fn = defs[i].fn,
                                      .records_max = defs[i].records[run->two_tables],
                                      .writes_max = defs[i].writes[run->two_tables]};
        int code = err_last(error, cellar_proc_register(run->db, &def, &run->procs[i]));
        if (code < 0) return code;
    }
    return 0;
}
