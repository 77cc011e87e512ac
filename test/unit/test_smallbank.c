/* test_smallbank.c - what each procedure does to the balances, and that the check notices money that comes or goes. */
#include "db_open.h"
#include "numbered.h"
#include "db_schema.h"
#include "driver.h"
#include "engine_config.h"
#include "smallbank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ACCOUNTS 200
#define TXNS 20000

struct bank {
    struct cellar *db;
    struct workload_run *run;
    struct driver driver;
    uint32_t stop;
    struct workload_report report;
};

static void bank_open(struct bank *bank, bool two_tables)
{
    struct engine_config config = {.threads = 2, .coros = 2};
    struct smallbank_config workload = {0};
    struct cellar_error error = {0};
    memset(bank, 0, sizeof(*bank));
    smallbank_workload.defaults(&workload.base);
    workload.accounts = ACCOUNTS;
    workload.two_tables = two_tables;
    workload.theta = 0.9;
    if (db_open(&config, &bank->db, &error) < 0) fail_msg("%s", error.text);
    if (smallbank_workload.open(bank->db, &workload.base, TXNS, &bank->run, &error) < 0) fail_msg("%s", error.text);
    bank->driver = (struct driver){
        .workload = &smallbank_workload, .run = bank->run, .db = bank->db, .txns = TXNS, .stop = &bank->stop};
    if (driver_init(&bank->driver, 4, &error) < 0) fail_msg("%s", error.text);
    if (driver_load(&bank->driver, &error) < 0) fail_msg("%s", error.text);
}

static void bank_close(struct bank *bank)
{
    driver_free(&bank->driver);
    smallbank_workload.close(bank->run);
    cellar_close(bank->db);
}

static int check_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct bank *bank = arg;
    memset(&bank->report, 0, sizeof(bank->report));
    return smallbank_workload.check(bank->run, client, bank->driver.clients, bank->driver.session_count, &bank->report,
                                    error);
}

/* The verdict of the check of that name. */
static bool holds(struct bank *bank, const char *name)
{
    struct cellar_error error = {0};
    if (driver_alone(bank->db, check_job, bank, &error) < 0) fail_msg("%s", error.text);
    for (uint32_t i = 0; i < bank->report.check_count; i++)
        if (!strcmp(bank->report.checks[i].name, name)) return bank->report.checks[i].ok;
    fail_msg("no check is named %s", name);
    return false;
}

static int call(struct bank *bank, enum smallbank_type type, struct smallbank_args *args)
{
    args->run = bank->run;
    args->delta = 12345; /* whatever an earlier attempt left */
    return cellar_proc_run(bank->db, bank->run->procs[type], args, NULL, NULL);
}

static int64_t balance_of(struct bank *bank, uint64_t account)
{
    struct smallbank_args args = {.from = account};
    assert_int_equal(call(bank, SMALLBANK_BALANCE, &args), 0);
    assert_int_equal(args.delta, 0);
    return args.balance;
}

#define BOTH (2 * (int64_t)SMALLBANK_INITIAL_CENTS)

static void procedures_move_money(bool two_tables)
{
    struct bank bank;
    bank_open(&bank, two_tables);
    assert_int_equal(balance_of(&bank, 0), BOTH);

    struct smallbank_args deposit = {.from = 0, .cents = 50};
    assert_int_equal(call(&bank, SMALLBANK_DEPOSIT_CHECKING, &deposit), 0);
    assert_int_equal(deposit.delta, 50);
    assert_int_equal(balance_of(&bank, 0), BOTH + 50);

    struct smallbank_args pay = {.from = 0, .to = 1, .cents = SMALLBANK_INITIAL_CENTS + 50};
    assert_int_equal(call(&bank, SMALLBANK_SEND_PAYMENT, &pay), 0);
    assert_int_equal(pay.delta, 0);
    assert_int_equal(balance_of(&bank, 0), SMALLBANK_INITIAL_CENTS);
    assert_int_equal(balance_of(&bank, 1), BOTH + SMALLBANK_INITIAL_CENTS + 50);
    pay.cents = 1; /* the checking balance is empty now */
    assert_int_equal(call(&bank, SMALLBANK_SEND_PAYMENT, &pay), ERR_GIVEN_UP);
    assert_int_equal(balance_of(&bank, 0), SMALLBANK_INITIAL_CENTS);

    struct smallbank_args savings = {.from = 0, .cents = -SMALLBANK_INITIAL_CENTS};
    assert_int_equal(call(&bank, SMALLBANK_TRANSACT_SAVINGS, &savings), 0);
    assert_int_equal(savings.delta, -SMALLBANK_INITIAL_CENTS);
    savings.cents = -1;
    assert_int_equal(call(&bank, SMALLBANK_TRANSACT_SAVINGS, &savings), ERR_GIVEN_UP);
    assert_int_equal(balance_of(&bank, 0), 0);

    struct smallbank_args check = {.from = 2, .cents = BOTH};
    assert_int_equal(call(&bank, SMALLBANK_WRITE_CHECK, &check), 0);
    assert_int_equal(check.delta, -BOTH);
    check.cents = 1;
    assert_int_equal(call(&bank, SMALLBANK_WRITE_CHECK, &check), 0);
    assert_int_equal(check.delta, -1 - SMALLBANK_PENALTY_CENTS);
    assert_int_equal(balance_of(&bank, 2), -1 - SMALLBANK_PENALTY_CENTS);

    struct smallbank_args all = {.from = 3, .to = 4};
    assert_int_equal(call(&bank, SMALLBANK_AMALGAMATE, &all), 0);
    assert_int_equal(all.delta, 0);
    assert_int_equal(balance_of(&bank, 3), 0);
    assert_int_equal(balance_of(&bank, 4), 2 * BOTH);
    bank_close(&bank);
}

static void procedures_move_money_in_one_table(void **state)
{
    (void)state;
    procedures_move_money(false);
}

static void procedures_move_money_in_two_tables(void **state)
{
    (void)state;
    procedures_move_money(true);
}

static void a_run_passes_its_checks(bool two_tables)
{
    struct bank bank;
    struct cellar_error error = {0};
    bank_open(&bank, two_tables);
    if (driver_run(&bank.driver, &error) < 0) fail_msg("%s", error.text);
    struct driver_totals *totals = malloc(sizeof(*totals));
    assert_non_null(totals);
    driver_totals(&bank.driver, totals);
    assert_int_equal(totals->committed, TXNS);
    for (uint32_t i = 0; i < SMALLBANK_TYPES; i++) assert_true(totals->types[i].committed > 0);
    free(totals);
    assert_true(holds(&bank, "accounts"));
    assert_true(holds(&bank, "total balance"));
    assert_true(holds(&bank, "no savings below zero"));
    for (uint32_t i = 0; i < bank.report.rate_count; i++)
        assert_true(bank.report.rates[i].value > bank.report.rates[i].low - 0.02 &&
                    bank.report.rates[i].value < bank.report.rates[i].high + 0.02);
    bank_close(&bank);
}

static void a_run_on_one_table_passes(void **state)
{
    (void)state;
    a_run_passes_its_checks(false);
}

static void a_run_on_two_tables_passes(void **state)
{
    (void)state;
    a_run_passes_its_checks(true);
}

/* A change that no client of the workload counts. */
static void money_from_nowhere_is_noticed(void **state)
{
    struct bank bank;
    struct smallbank_args args = {.from = 7, .cents = 1};
    (void)state;
    bank_open(&bank, false);
    assert_true(holds(&bank, "total balance"));
    assert_int_equal(call(&bank, SMALLBANK_DEPOSIT_CHECKING, &args), 0);
    assert_false(holds(&bank, "total balance"));
    ((struct smallbank_client *)bank.driver.clients[3])->delta += args.delta;
    assert_true(holds(&bank, "total balance"));
    bank_close(&bank);
}

/* Adds an account that was not loaded, and takes the savings of another below zero without changing the sum. */
static int forge(struct cellar_txn *txn, void *arg)
{
    const struct workload_run *run = arg;
    const struct smallbank_row row = {0, 0}, broken = {-1, SMALLBANK_INITIAL_CENTS * 2 + 1};
    int code = cellar_proc_insert(txn, run->savings, ACCOUNTS + 5, &row);
    if (code < 0) return code;
    int ref = cellar_proc_access(txn, run->savings, 9, 0, CELLAR_ALL_CELLS, 0);
    if (ref < 0) return ref;
    code = cellar_proc_fetch(txn);
    return code < 0 ? code : cellar_proc_put_row(txn, ref, &broken);
}

static void forged_accounts_are_noticed(void **state)
{
    struct bank bank;
    const struct cellar_proc_def def = {.name = "forge", .fn = forge, .records_max = 2, .writes_max = 2};
    const struct cellar_proc *proc;
    (void)state;
    bank_open(&bank, false);
    assert_int_equal(db_proc_register(bank.db, &def, &proc, NULL), 0);
    assert_true(holds(&bank, "accounts"));
    assert_true(holds(&bank, "no savings below zero"));
    assert_int_equal(cellar_proc_run(bank.db, proc, bank.run, NULL, NULL), 0);
    assert_false(holds(&bank, "accounts"));
    assert_false(holds(&bank, "no savings below zero"));
    assert_true(holds(&bank, "total balance"));
    bank_close(&bank);
}

static void a_stopped_run_still_adds_up(void **state)
{
    struct bank bank;
    struct cellar_error error = {0};
    (void)state;
    bank_open(&bank, false);
    bank.stop = 1; /* an interrupt that came before the first transaction */
    if (driver_run(&bank.driver, &error) < 0) fail_msg("%s", error.text);
    assert_true(holds(&bank, "total balance"));
    assert_int_equal(bank.report.rate_count, 0);
    bank_close(&bank);
}

static void absurd_sizes_are_refused(void **state)
{
    struct smallbank_config config = {0};
    struct cellar_error error = {0};
    (void)state;
    smallbank_workload.defaults(&config.base);
    assert_int_equal(smallbank_workload.validate(&config.base, &error), 0);
    config.accounts = 1;
    assert_int_equal(smallbank_workload.validate(&config.base, &error), CELLAR_INVALID);
    config.accounts = UINT64_MAX;
    assert_int_equal(smallbank_workload.validate(&config.base, &error), CELLAR_INVALID);
    config.accounts = 2;
    config.theta = 2;
    assert_int_equal(smallbank_workload.validate(&config.base, &error), CELLAR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(procedures_move_money_in_one_table), cmocka_unit_test(procedures_move_money_in_two_tables),
        cmocka_unit_test(a_run_on_one_table_passes),          cmocka_unit_test(a_run_on_two_tables_passes),
        cmocka_unit_test(money_from_nowhere_is_noticed),      cmocka_unit_test(forged_accounts_are_noticed),
        cmocka_unit_test(a_stopped_run_still_adds_up),        cmocka_unit_test(absurd_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
