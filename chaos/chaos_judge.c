#include "chaos_judge.h"

#include "cellar_cluster.h"
#include "cellar_lab.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct judge {
    const struct chaos_bank *bank;
    struct chaos_witness_line *lines;
    uint64_t count;
    struct chaos_judgement *out;
    struct chaos_bank_account expected[CHAOS_BANK_ACCOUNTS];
    uint8_t *found; /* for each line that says TRIED: its receipt is there */
    uint64_t accounts;
    struct cellar_error *error;
};

#define CONTRADICTION(judge, ...) err_set((judge)->error, CELLAR_CORRUPT, __VA_ARGS__)

/* By number; what was tried comes before what was told of it. */
static int by_number(const void *a, const void *b)
{
    const struct chaos_witness_line *x = a, *y = b;
    if (x->receipt.number != y->receipt.number) return x->receipt.number < y->receipt.number ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/* The line that says that this transfer was tried, or NULL. */
static struct chaos_witness_line *tried(const struct judge *judge, uint64_t number)
{
    const struct chaos_witness_line key = {.kind = CHAOS_WITNESS_TRIED, .receipt = {.number = number}};
    return judge->count ? bsearch(&key, judge->lines, judge->count, sizeof(key), by_number) : NULL;
}

static int see_receipt(void *arg, uint64_t key, const void *row)
{
    struct judge *judge = arg;
    const struct chaos_bank_receipt *receipt = row;
    (void)key;
    const struct chaos_witness_line *line = tried(judge, receipt->number);
    if (!line)
        return CONTRADICTION(judge, "receipt %#" PRIx64 ": no compute node has tried this transfer", receipt->number);
    if (memcmp(&line->receipt, receipt, sizeof(*receipt)) != 0 || line->aborted ||
        receipt->from >= CHAOS_BANK_ACCOUNTS || receipt->to >= CHAOS_BANK_ACCOUNTS)
        return CONTRADICTION(judge, "receipt %#" PRIx64 " is not that of the transfer that was tried", receipt->number);
    judge->found[line - judge->lines] = 1;
    judge->out->receipts++;
    judge->expected[receipt->from].cents -= receipt->cents;
    judge->expected[receipt->to].cents += receipt->cents;
    judge->expected[receipt->from].changes++;
    judge->expected[receipt->to].changes++;
    return 0;
}

static int see_account(void *arg, uint64_t key, const void *row)
{
    struct judge *judge = arg;
    const struct chaos_bank_account *account = row;
    (void)key;
    if (account->number >= CHAOS_BANK_ACCOUNTS)
        return CONTRADICTION(judge, "there is an account %" PRIu64, account->number);
    const struct chaos_bank_account *expected = &judge->expected[account->number];
    if (account->cents != expected->cents || account->changes != expected->changes)
        return CONTRADICTION(judge,
                             "account %" PRIu64 " has %" PRId64 " cents after %" PRIu64
                             " changes; its receipts make %" PRId64 " after %" PRIu64,
                             account->number, account->cents, account->changes, expected->cents, expected->changes);
    judge->accounts++;
    return 0;
}

/* What a witness was told against what is there; `line` says TRIED. */
static int compare(struct judge *judge, const struct chaos_witness_line *line)
{
    const struct chaos_witness_line *told = line + 1;
    bool found = judge->found[line - judge->lines];
    judge->out->tried++;
    if (told == judge->lines + judge->count || told->receipt.number != line->receipt.number ||
        told->code == CELLAR_INDETERMINATE) {
        judge->out->unknown++; /* its process died first, or was told that this is not known */
        return 0;
    }
    if (told->code == 0 && !found)
        return CONTRADICTION(judge, "transfer %#" PRIx64 " was acknowledged, and its receipt is lost",
                             line->receipt.number);
    if (told->code != 0 && found)
        return CONTRADICTION(judge, "transfer %#" PRIx64 " was refused (%s), and its receipt is there",
                             line->receipt.number,
                             told->code == CHAOS_BANK_GIVEN_UP ? "given up" : cellar_strerror(told->code));
    if (told->code == 0)
        judge->out->committed++;
    else
        judge->out->refused++;
    return 0;
}

/* No transaction runs by now, so nothing waits for a lock; one that was never given back is an error. */
static int look(struct cellar_lab_client *client, void *arg)
{
    struct judge *judge = arg;
    if (cellar_lab_index(client) != 0) return 0;
    int code = cellar_lab_scan(client, judge->bank->receipts, see_receipt, judge);
    if (code == 0) code = cellar_lab_scan(client, judge->bank->accounts, see_account, judge);
    if (code != judge->error->code) (void)err_last(judge->error, code); /* or it was said as it was seen */
    if (code == 0 && judge->accounts != CHAOS_BANK_ACCOUNTS)
        code = CONTRADICTION(judge, "%" PRIu64 " accounts of %d are there", judge->accounts, CHAOS_BANK_ACCOUNTS);
    for (uint64_t i = 0; code == 0 && i < judge->count; i++)
        if (judge->lines[i].kind == CHAOS_WITNESS_TRIED) code = compare(judge, &judge->lines[i]);
    return code;
}

int chaos_judge(const struct chaos_bank *bank, struct chaos_witness_line *lines, uint64_t count,
                struct chaos_judgement *out, struct cellar_error *error)
{
    struct judge judge = {.bank = bank, .lines = lines, .count = count, .out = out, .error = error};
    *out = (struct chaos_judgement){0};
    judge.found = calloc(count + 1, 1);
    if (!judge.found) return err_set(error, CELLAR_NOMEM, "no memory to judge %" PRIu64 " lines", count);
    for (uint32_t i = 0; i < CHAOS_BANK_ACCOUNTS; i++) judge.expected[i].cents = CHAOS_BANK_OPENING;
    if (count) qsort(lines, count, sizeof(*lines), by_number);
    int code = cellar_lab_run(bank->db, look, &judge);
    if (code == 0) code = err_last(error, cellar_cluster_audit(bank->db));
    free(judge.found);
    return code;
}
