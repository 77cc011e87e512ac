/* test_api_misuse.c - cellar.h: how each misuse of a transaction, and each wish not to commit, ends without effect. */
#include "api_items.h"
#include "numbered.h"

/* Each case changes key 1 first, and must leave no trace of it. */
struct misuse {
    struct api_call call;
    uint32_t number;
};

/* Locks key 1 and changes its a. */
static int change_first(struct cellar_txn *txn, const struct cellar_table *items)
{
    int ref = cellar_proc_access(txn, items, 1, CELL_A, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_put(txn, ref, ITEM_A, &ones));
    return ref;
}

/* Runs the cases 0 .. count-1: each ends with `code` in its one attempt, without effect. */
static void misuse_some(struct api *api, api_body body, uint32_t first, uint32_t count, int code)
{
    struct misuse args;
    struct item wanted = item_of(1);
    for (uint32_t i = first; i < count; i++) {
        args.number = i;
        args.call = (struct api_call){.body = body, .items = api->items};
        int rc = cellar_proc_run(api->db, api->any, &args, NULL, &api->result);
        if (rc != code || api->result.code != rc || api->result.attempts != 1)
            fail_msg("case %u: %d (%s) in %u attempts, not %d", i, rc, cellar_strerror(rc), api->result.attempts, code);
    }
    assert_item(api, 1, &wanted);
    struct api_range totals = api_totals(api);
    assert_int_equal(totals.seen, 10);
    assert_int_equal(totals.sum_a, 3 * 45);
    api_audit_clean(api);
}

static void misuse_all(struct api *api, api_body body, uint32_t count, int code)
{
    misuse_some(api, body, 0, count, code);
}

static int undeclared(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = {0};
    uint32_t number = ((struct misuse *)call)->number;
    int first = change_first(txn, call->items), ref;
    TRY(first);
    ref = cellar_proc_access(txn, call->items, 2, CELL_A | CELL_TEXT, CELL_N, 0);
    TRY(ref);
    switch (number) { /* before the fetch */
    case 0:
        return cellar_proc_get(txn, ref, ITEM_A, &item.a);
    case 1:
        return cellar_proc_put(txn, ref, ITEM_N, &item.n);
    case 2:
        return cellar_proc_get_row(txn, ref, &item);
    case 3:
        return cellar_proc_put_row(txn, ref, &item);
    case 4:
        return 0;
    default:
        TRY(cellar_proc_fetch(txn));
    }
    switch (number) {
    case 5:
        return cellar_proc_get(txn, ref, ITEM_B, &item.b);
    case 6:
        return cellar_proc_put(txn, ref, ITEM_B, &item.b);
    case 7:
        return cellar_proc_put(txn, ref, ITEM_A, &item.a); /* to read only */
    case 8:
        return cellar_proc_put(txn, ref, ITEM_TEXT, item.text);
    case 9:
        return cellar_proc_get(txn, ref, ITEM_B, &item.b) ? 0 : -1000; /* ignored: remembered all the same */
    case 10:
        return cellar_proc_get(txn, ref, ITEM_B, &item.b) ? ERR_GIVEN_UP : 0;
    default:
        break;
    }
    ref = cellar_proc_access(txn, call->items, 3, CELL_A, 0, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    if (number == 11) return cellar_proc_put_row(txn, ref, &item); /* nothing to write */
    ref = cellar_proc_access(txn, call->items, 4, 0, 0,
                             CELLAR_OPTIONAL); /* asks whether it is there, and reads nothing */
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    if (!cellar_proc_found(txn, ref)) return 0;
    return number == 12 ? cellar_proc_get(txn, ref, ITEM_A, &item.a) : cellar_proc_put(txn, ref, ITEM_A, &item.a);
}

static void undeclared_cells_are_refused(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_some(&api, undeclared, 0, 5, ERR_UNFETCHED);
    misuse_some(&api, undeclared, 5, 14, ERR_UNDECLARED);
    api_close(&api);
}

static int invalid(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a = 0;
    int ref = change_first(txn, call->items);
    TRY(ref);
    switch (((struct misuse *)call)->number) {
    case 0:
        return cellar_proc_access(txn, call->items, 2, 1u << 10, 0, 0);
    case 1:
        return cellar_proc_access(txn, call->items, 2, 0, 1u << ITEM_COLUMNS, 0);
    case 2:
        return cellar_proc_access(txn, call->items, 2, CELL_A, 0, 64);
    case 3:
        return cellar_proc_access(txn, NULL, 2, CELL_A, 0, 0);
    case 4:
        return cellar_proc_insert(txn, NULL, 2, &a);
    case 5:
        return cellar_proc_get(txn, -1, ITEM_A, &a);
    case 6:
        return cellar_proc_get(txn, ref + 1, ITEM_A, &a);
    case 7:
        return cellar_proc_get(txn, ref, -1, &a);
    case 8:
        return cellar_proc_get(txn, ref, ITEM_COLUMNS, &a);
    case 9:
        return cellar_proc_put(txn, ref, CELLAR_NOT_FOUND, &a);
    case 10:
        return cellar_proc_put(txn, INT32_MAX, ITEM_A, &a);
    case 11:
        return cellar_proc_put_row(txn, INT32_MIN, &a);
    case 12:
        return cellar_proc_found(txn, -1) || cellar_proc_found(txn, ref + 1) ? 0 : CELLAR_INVALID;
    case 13:
        return CELLAR_RETRY; /* of its own accord: would never end */
    case 14:                 /* misspelt */
        return cellar_proc_access(txn, call->items, 2, cellar_cells_of(call->items, "aa"), 0, CELLAR_OPTIONAL);
    case 15:
        return cellar_proc_access(txn, call->items, 2, CELL_A | cellar_cells_of(call->items, "bb"), 0, 0);
    case 16:
        return cellar_proc_access(txn, call->items, 2, CELLAR_ALL_CELLS | cellar_cells_of(call->items, "bb"), 0, 0);
    default:
        return cellar_proc_access(txn, call->items, 2, 0, CELLAR_ALL_CELLS | cellar_cells_of(call->items, ""), 0);
    }
}

static void nonsense_is_refused(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_all(&api, invalid, 18, CELLAR_INVALID);
    api_close(&api);
}

static int duplicate(struct cellar_txn *txn, struct api_call *call)
{
    const struct cellar_table *items = call->items;
    const struct item item = item_of(2);
    uint32_t number = ((struct misuse *)call)->number;
    int first = change_first(txn, items);
    TRY(first);
    switch (number) {
    case 0:
        return cellar_proc_access(txn, items, 1, CELL_A, 0, 0); /* in a later block */
    case 1:
        return cellar_proc_access(txn, items, 1, CELL_A | CELL_B, 0, 0);
    case 2:
        return cellar_proc_access(txn, items, 1, 0, CELL_A, 0);
    case 3:
        return cellar_proc_access(txn, items, 1, 0, 0, CELLAR_DELETE);
    case 4:
        return cellar_proc_insert(txn, items, 1, &item);
    case 5:
    case 6:
    case 7:
        TRY(cellar_proc_access(txn, items, 2, CELL_A, CELL_B, 0));
        break;
    case 8:
    case 9:
    case 10:
        TRY(cellar_proc_access(txn, items, 2, 0, 0, CELLAR_DELETE));
        break;
    default:
        TRY(cellar_proc_insert(txn, items, 1000, &item));
        break;
    }
    switch (number) {
    case 5:
        return cellar_proc_access(txn, items, 2, CELL_A, 0, 0);
    case 6:
        return cellar_proc_access(txn, items, 2, 0, CELL_B, CELLAR_OPTIONAL);
    case 7:
        return cellar_proc_insert(txn, items, 2, &item); /* not looked at yet */
    case 8:
        return cellar_proc_access(txn, items, 2, 0, 0, CELLAR_DELETE);
    case 9:
        return cellar_proc_access(txn, items, 2, CELL_A, 0, 0);
    case 10:
        return cellar_proc_insert(txn, items, 2, &item);
    case 11:
        return cellar_proc_insert(txn, items, 1000, &item);
    case 12:
        return cellar_proc_access(txn, items, 1000, CELL_A, 0, 0);
    default:
        return cellar_proc_access(txn, items, 1000, 0, 0, CELLAR_DELETE);
    }
}

static void the_same_cell_twice_is_refused(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_all(&api, duplicate, 14, ERR_DUPLICATE);
    api_close(&api);
}

static int absent(struct cellar_txn *txn, struct api_call *call)
{
    struct item item;
    uint32_t number = ((struct misuse *)call)->number;
    int first = change_first(txn, call->items), ref;
    TRY(first);
    switch (number) {
    case 0:
        ref = cellar_proc_access(txn, call->items, 1000, CELL_A, 0, 0);
        break;
    case 1:
        ref = cellar_proc_access(txn, call->items, 1000, 0, CELL_A, 0);
        break;
    case 2:
        ref = cellar_proc_access(txn, call->items, 1000, 0, 0, CELLAR_DELETE);
        break;
    default:
        ref = cellar_proc_access(txn, call->items, 1000, CELL_A, CELL_A, CELLAR_OPTIONAL);
        break;
    }
    TRY(ref);
    int rc = cellar_proc_fetch(txn);
    switch (number) {
    case 3:
        return rc ? -1000 : cellar_proc_get(txn, ref, ITEM_A, &item.a); /* it did not ask cellar_proc_found */
    case 4:
        return rc ? -1000 : cellar_proc_put(txn, ref, ITEM_A, &item.a);
    case 5:
        return rc ? -1000 : cellar_proc_get_row(txn, ref, &item);
    case 6:
        return rc ? -1000 : cellar_proc_put_row(txn, ref, &item);
    default:
        return rc;
    }
}

static int present(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(2);
    TRY(change_first(txn, call->items));
    TRY(cellar_proc_insert(txn, call->items, 1000, &item));
    TRY(cellar_proc_insert(txn, call->items, 2, &item));
    return cellar_proc_fetch(txn);
}

static void absence_and_presence_end_the_call(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_all(&api, absent, 7, CELLAR_NOT_FOUND);
    misuse_all(&api, present, 1, CELLAR_EXISTS);
    api_close(&api);
}

static int ends_so(struct cellar_txn *txn, struct api_call *call, int code)
{
    struct item item = item_of(1000);
    uint32_t number = ((struct misuse *)call)->number;
    if (number == 0) return code;
    TRY(change_first(txn, call->items));
    if (number == 1) return code;
    TRY(cellar_proc_insert(txn, call->items, 1000, &item));
    TRY(cellar_proc_access(txn, call->items, 2, 0, 0, CELLAR_DELETE));
    if (number == 2) return code; /* declared, not fetched */
    TRY(cellar_proc_fetch(txn));
    return code;
}

static int user_abort(struct cellar_txn *txn, struct api_call *call) { return ends_so(txn, call, ERR_GIVEN_UP); }
static int own_number(struct cellar_txn *txn, struct api_call *call) { return ends_so(txn, call, 7); }

static void a_user_abort_leaves_nothing(void **state)
{
    struct api api;
    bool found;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    for (int i = 0; i < 3; i++) misuse_all(&api, user_abort, 4, ERR_GIVEN_UP);
    misuse_all(&api, own_number, 4, 7);
    struct cellar_lab_stats stats;
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(stats.aborted, 0); /* not an abort of the engine's */
    assert_code(run_upsert(&api, insert_absent, 1000, &found), 0);
    assert_false(found);
    api_close(&api);
}

static int three_records(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(1000);
    uint32_t number = ((struct misuse *)call)->number;
    TRY(change_first(txn, call->items));
    switch (number) {
    case 0:
        return cellar_proc_access(txn, call->items, 2, 0, CELL_A, 0); /* a second write */
    case 1:
        return cellar_proc_insert(txn, call->items, 1000, &item);
    case 2:
        return cellar_proc_access(txn, call->items, 2, 0, 0, CELLAR_DELETE);
    default:
        TRY(cellar_proc_access(txn, call->items, 2, CELL_A, 0, 0));
    }
    return cellar_proc_access(txn, call->items, 3, CELL_A, 0, 0); /* a third record */
}

static int thirty_rows(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = {.a = ones};
    TRY(change_first(txn, call->items));
    for (uint64_t key = 2000; key < 2300; key++) TRY(cellar_proc_insert(txn, call->items, key, &item));
    return cellar_proc_fetch(txn);
}

static void more_than_declared_is_too_large(void **state)
{
    struct api api;
    const struct cellar_proc *any;
    struct cellar_proc_def def = {.name = "small", .fn = api_any, .records_max = 2, .writes_max = 1};
    api_open_with(&api, *state, (struct engine_config){.log_bytes = 64 << 10});
    api_load(&api, 0, 10);
    any = api.any;
    MUST(&api.error, db_proc_register(api.db, &def, &api.any, &api.error));
    misuse_all(&api, three_records, 4, CELLAR_TOO_LARGE);
    /* The entry does not fit half of the log, though the procedure said that it would. */
    def = (struct cellar_proc_def){
        .name = "liar", .fn = api_any, .records_max = 400, .writes_max = 400, .log_bytes_max = 1000};
    MUST(&api.error, db_proc_register(api.db, &def, &api.any, &api.error));
    misuse_all(&api, thirty_rows, 1, CELLAR_TOO_LARGE);
    api.any = any;
    bool found;
    assert_code(run_upsert(&api, insert_absent, 2000, &found), 0);
    assert_false(found);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(undeclared_cells_are_refused),   API_TEST(nonsense_is_refused),
        API_TEST(the_same_cell_twice_is_refused), API_TEST(absence_and_presence_end_the_call),
        API_TEST(a_user_abort_leaves_nothing),    API_TEST(more_than_declared_is_too_large),
    };
    return api_main("api_misuse", tests, sizeof tests / sizeof *tests, argc, argv);
}
