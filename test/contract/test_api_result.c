/*
 * test_api_result.c - cellar.h: how a call ended, in one line: which table, key, column or limit; and an upsert
 * counts as one record.
 */
#include "api_items.h"
#include "numbered.h"

#include <stdlib.h>

struct wrong {
    struct api_call call;
    uint32_t number;
    uint32_t cancel;
};

static const struct {
    int code;
    const char *text;
} wrongs[] = {
    {CELLAR_OK, "success"},
    {CELLAR_NOT_FOUND, "no record has this key: table items, key 1000"},
    {CELLAR_EXISTS, "a record or object of this key or name exists already: table items, key 4"},
    {ERR_UNDECLARED, "the procedure touched a cell it had not declared: table items, key 3, column b: "
                     "its cell was not declared"},
    {ERR_UNDECLARED, "the procedure touched a cell it had not declared: table items, key 3, column a: "
                     "its cell was not declared to be written"},
    {ERR_UNDECLARED, "the procedure touched a cell it had not declared: table items, key 3: "
                     "no cell was declared to be written"},
    {ERR_UNFETCHED, "the procedure used a record before it was fetched: table items, key 3"},
    {ERR_UNFETCHED, "the procedure used a record before it was fetched: table items, key 3, column b"},
    {ERR_UNFETCHED, "the procedure used a record before it was fetched: table items, key 3: "
                    "declared after the last fetch"},
    {ERR_DUPLICATE, "the procedure declared the same cell twice: table items, key 3"},
    {CELLAR_INVALID, "invalid argument: the table is NULL"},
    {CELLAR_INVALID, "invalid argument: table items, key 4: cells that the table does not have, or unknown flags"},
    {CELLAR_INVALID, "invalid argument: no declaration gave this reference: 77"},
    {CELLAR_INVALID, "invalid argument: table items, key 3, column 9: the table has no column of this number"},
    {5, "a number of the function's own"},
    {CELLAR_INVALID, "invalid argument: the procedure returned a code that none of its calls did: -17"},
    {ERR_GIVEN_UP, "the procedure gave the transaction up"},
    {CELLAR_TOO_LARGE, "larger than declared or than fits: table items, key 163: "
                       "more records, nodes of indexes included, than the procedure's records_max or an interactive "
                       "call allows, 64"},
    {CELLAR_CANCELLED, "the call was cancelled"},
    {CELLAR_DEADLINE, "the deadline passed before the transaction could commit: its timeout, in nanoseconds, 1"},
    {CELLAR_RETRY, "aborted: another transaction came between; a procedure returns it at once, and is tried again: "
                   "attempts_max, 3"},
};

static int go_wrong(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(3);
    uint32_t number = ((struct wrong *)call)->number;
    int ref = cellar_proc_access(txn, call->items, number == 1 ? 1000 : 3, CELL_A, 0, 0);
    TRY(ref);
    if (number == 6) return cellar_proc_get(txn, ref, ITEM_A, &item.a);
    if (number == 8) return 0;
    if (number == 2) TRY(cellar_proc_insert(txn, call->items, 4, &item)); /* present as well, but asked for after it */
    TRY(cellar_proc_fetch(txn));
    switch (number) {
    case 3:
        return cellar_proc_get(txn, ref, ITEM_B, &item.b);
    case 4:
        return cellar_proc_put(txn, ref, ITEM_A, &item.a);
    case 5:
        return cellar_proc_put_row(txn, ref, &item);
    case 7:
        TRY(cellar_proc_access(txn, call->items, 3, CELL_B, 0, 0));
        return cellar_proc_get(txn, ref, ITEM_B, &item.b);
    case 9:
        return cellar_proc_access(txn, call->items, 3, CELL_A, 0, 0);
    case 10:
        return cellar_proc_access(txn, NULL, 3, CELL_A, 0, 0);
    case 11:
        return cellar_proc_access(txn, call->items, 4, 1u << 10, 0, 0);
    case 12:
        return cellar_proc_get(txn, 77, ITEM_A, &item.a);
    case 13:
        return cellar_proc_get(txn, ref, 9, &item.a);
    case 14:
        return 5;
    case 15:
        return CELLAR_RETRY;
    case 16:
        return ERR_GIVEN_UP;
    case 17:
        for (uint64_t i = 0; i < 64; i++)
            TRY(cellar_proc_access(txn, call->items, 100 + i, CELL_A, 0, CELLAR_OPTIONAL));
        return 0;
    default:
        return 0;
    }
}

static void a_line_says_what_was_wrong(void **state)
{
    struct api api;
    struct cellar_error error;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    for (uint32_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct wrong args = {.number = i, .cancel = 1};
        struct cellar_call_options options = {
            .cancel = i == 18 ? &args.cancel : NULL, .timeout_ns = i == 19, .attempts_max = i == 20 ? 3 : 0};
        if (i >= 19) lock_five(&api, true);
        int code = i >= 19 ? add_one(&api, 5, &options) : api_run_with(&api, go_wrong, &args, &options);
        if (i >= 19) lock_five(&api, false);
        memset(&error, 0xff, sizeof error);
        cellar_proc_error(&api.result, &error);
        if (code != wrongs[i].code || error.code != wrongs[i].code || strcmp(error.text, wrongs[i].text) != 0)
            fail_msg("case %u: %d, %d: \"%s\", not %d: \"%s\"", i, code, error.code, error.text, wrongs[i].code,
                     wrongs[i].text);
    }
    api_close(&api);
}

/* ---- an upsert is one record ---- */

static int put_or_insert(struct cellar_txn *txn, void *args)
{
    struct upsert *upsert = args;
    struct item item = item_of(upsert->key);
    int ref = cellar_proc_access(txn, upsert->call.items, upsert->key, 0, CELL_A, CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    upsert->found = cellar_proc_found(txn, ref);
    if (upsert->found) return cellar_proc_put(txn, ref, ITEM_A, &item.a);
    TRY(cellar_proc_insert(txn, upsert->call.items, upsert->key, &item));
    return cellar_proc_fetch(txn);
}

static void an_upsert_is_one_record(void **state)
{
    struct api api;
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {.name = "upsert", .fn = put_or_insert, .records_max = 1, .writes_max = 1};
    api_open(&api, *state);
    MUST(&api.error, db_proc_register(api.db, &def, &proc, &api.error));
    for (uint32_t round = 0; round < 2; round++) {
        struct upsert args = {.call = {.items = api.items}, .key = 7};
        assert_code(cellar_proc_run(api.db, proc, &args, NULL, &api.result), 0);
        assert_int_equal(args.found, round == 1);
    }
    assert_int_equal(api_totals(&api).seen, 1);
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST(a_line_says_what_was_wrong), API_TEST(an_upsert_is_one_record)};
    return api_main("api_result", tests, sizeof tests / sizeof *tests, argc, argv);
}
