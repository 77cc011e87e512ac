/* smallbank_check.c - loading the accounts, and judging what is left of them. */
#include "err.h"
#include "smallbank.h"

#include <inttypes.h>

#define LOAD_STEP 256 /* rows between two updates of the shared progress word */

int smallbank_load(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress,
                   struct cellar_error *error)
{
    uint32_t index = cellar_lab_index(self), count = cellar_lab_count(self);
    uint64_t first = run->accounts * index / count, end = run->accounts * (index + 1) / count;
    const struct smallbank_row row = {SMALLBANK_INITIAL_CENTS, SMALLBANK_INITIAL_CENTS};
    const struct smallbank_half_row half = {SMALLBANK_INITIAL_CENTS};
    uint64_t reported = first;
    for (uint64_t id = first; id < end; id++) {
        int code =
            err_last(error, cellar_lab_load(self, run->savings, id, run->two_tables ? (const void *)&half : &row));
        if (code < 0) return code;
        if (run->two_tables && (code = err_last(error, cellar_lab_load(self, run->checking, id, &half))) < 0)
            return code;
        if (id + 1 - reported >= LOAD_STEP || id + 1 == end) {
            __atomic_fetch_add(progress, id + 1 - reported, __ATOMIC_RELAXED);
            reported = id + 1;
            cellar_lab_yield(self);
        }
    }
    return 0;
}

/* What a scan adds up. */
struct tally {
    uint64_t accounts;
    uint64_t records;
    uint64_t foreign; /* keys that are no account's */
    uint64_t in_debt; /* savings balances below zero */
    uint64_t debtor;  /* one of them */
    int64_t total;
};

static void tally_savings(struct tally *tally, uint64_t key, int64_t cents)
{
    if (cents < 0) {
        tally->in_debt++;
        tally->debtor = key;
    }
    tally->total += cents;
}

static void tally_record(struct tally *tally, uint64_t key)
{
    tally->records++;
    tally->foreign += key >= tally->accounts;
}

static int scan_both(void *arg, uint64_t key, const void *row)
{
    const struct smallbank_row *account = row;
    tally_record(arg, key);
    tally_savings(arg, key, account->savings);
    ((struct tally *)arg)->total += account->checking;
    return 0;
}

static int scan_savings(void *arg, uint64_t key, const void *row)
{
    tally_record(arg, key);
    tally_savings(arg, key, ((const struct smallbank_half_row *)row)->cents);
    return 0;
}

static int scan_checking(void *arg, uint64_t key, const void *row)
{
    tally_record(arg, key);
    ((struct tally *)arg)->total += ((const struct smallbank_half_row *)row)->cents;
    return 0;
}

static void judge(const struct workload_run *run, const struct tally *tally, int64_t delta, bool delta_known,
                  struct workload_report *report)
{
    uint64_t records = run->accounts * (run->two_tables ? 2 : 1);
    if (tally->records != records || tally->foreign)
        workload_report_check(report, "accounts",
                              "%" PRIu64 " records, %" PRIu64 " of them foreign; %" PRIu64 " were loaded",
                              tally->records, tally->foreign, records);
    else
        workload_report_check(report, "accounts", NULL);

    int64_t expected = (int64_t)run->accounts * 2 * SMALLBANK_INITIAL_CENTS + delta;
    if (delta_known && tally->total != expected)
        workload_report_check(report, "total balance",
                              "%" PRId64 " cents, but loaded + committed deltas = %" PRId64 " (%+" PRId64 ")",
                              tally->total, expected, tally->total - expected);
    else if (delta_known)
        workload_report_check(report, "total balance", NULL);

    if (tally->in_debt)
        workload_report_check(report, "no savings below zero", "%" PRIu64 " accounts, such as %" PRIu64, tally->in_debt,
                              tally->debtor);
    else
        workload_report_check(report, "no savings below zero", NULL);
}

static void report_shares(const uint64_t committed[SMALLBANK_TYPES], struct workload_report *report)
{
    static const struct {
        const char *name;
        uint32_t type, refused;
        double share;
    } shares[SMALLBANK_PROCS] = {
        {"share of Amalgamate", SMALLBANK_AMALGAMATE, SMALLBANK_AMALGAMATE, 0.15},
        {"share of Balance", SMALLBANK_BALANCE, SMALLBANK_BALANCE, 0.15},
        {"share of DepositChecking", SMALLBANK_DEPOSIT_CHECKING, SMALLBANK_DEPOSIT_CHECKING, 0.15},
        {"share of SendPayment", SMALLBANK_SEND_PAYMENT, SMALLBANK_SEND_PAYMENT_REFUSED, 0.25},
        {"share of TransactSavings", SMALLBANK_TRANSACT_SAVINGS, SMALLBANK_TRANSACT_SAVINGS_REFUSED, 0.15},
        {"share of WriteCheck", SMALLBANK_WRITE_CHECK, SMALLBANK_WRITE_CHECK, 0.15},
    };
    uint64_t all = 0;
    for (uint32_t i = 0; i < SMALLBANK_TYPES; i++) all += committed[i];
    if (!all) return;
    for (uint32_t i = 0; i < SMALLBANK_PROCS; i++) {
        uint64_t sum = committed[shares[i].type];
        if (shares[i].refused != shares[i].type) sum += committed[shares[i].refused];
        workload_report_rate(report, shares[i].name, (double)sum / (double)all, shares[i].share, shares[i].share);
    }
}

int smallbank_check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                    uint32_t client_count, struct workload_report *report, struct cellar_error *error)
{
    struct tally tally = {.accounts = run->accounts};
    int code = err_last(error, cellar_lab_scan(self, run->savings, run->two_tables ? scan_savings : scan_both, &tally));
    if (code < 0) return code;
    if (run->two_tables && (code = err_last(error, cellar_lab_scan(self, run->checking, scan_checking, &tally))) < 0)
        return code;

    int64_t delta = 0;
    bool delta_known = true; /* not when clients died with theirs */
    uint64_t committed[SMALLBANK_TYPES] = {0};
    for (uint32_t i = 0; i < client_count; i++) {
        const struct smallbank_client *client = (const struct smallbank_client *)clients[i];
        delta += client->delta;
        delta_known = delta_known && !clients[i]->lost;
        for (uint32_t t = 0; t < SMALLBANK_TYPES; t++) committed[t] += client->committed[t];
    }
    judge(run, &tally, delta, delta_known, report);
    report_shares(committed, report);
    return 0;
}
