/* test_api_txn.c - cellar.h: what a procedure may declare, read and write, and how each misuse ends without effect. */
#define API_MOTOR
#define API_TWOPL
#include "api.h"

#include <unistd.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_rc = (call);                                                                                           \
        if (try_rc < 0) return try_rc;                                                                                 \
    } while (0)

static const uint64_t ones = 0x1111111111111111ull;

/* ---- reading and writing ---- */

struct look {
    struct api_call call;
    uint64_t key;
    bool found;
    struct item item;
};

static int look(struct cellar_txn *txn, struct api_call *call)
{
    struct look *look = (struct look *)call;
    int ref = cellar_access(txn, call->items, look->key, CELLAR_ALL, 0, CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_fetch(txn));
    look->found = cellar_found(txn, ref);
    return look->found ? cellar_get_row(txn, ref, &look->item) : 0;
}

/* The record of that key as a transaction sees it. */
static struct look look_at(struct api *api, uint64_t key)
{
    struct look args = {.key = key};
    struct api_call *call = &args.call;
    call->body = look;
    call->items = api->items;
    assert_code(cellar_call(api->db, api->any, &args, NULL, &api->result), 0);
    return args;
}

static void assert_item(struct api *api, uint64_t key, const struct item *wanted)
{
    struct look seen = look_at(api, key);
    assert_true(seen.found);
    assert_int_equal(seen.item.a, wanted->a);
    assert_int_equal(seen.item.b, wanted->b);
    assert_memory_equal(seen.item.text, wanted->text, sizeof wanted->text);
    assert_int_equal(seen.item.n, wanted->n);
}

static int columns(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    int ref = cellar_access(txn, call->items, 3, CELL_A | CELL_TEXT, CELL_A | CELL_B | CELL_N, 0);
    uint32_t n = 99;
    TRY(ref);
    TRY(cellar_fetch(txn));
    TRY(cellar_get(txn, ref, ITEM_A, &args->item.a));
    TRY(cellar_get(txn, ref, ITEM_B, &args->item.b)); /* to write: can be read too */
    TRY(cellar_get(txn, ref, ITEM_TEXT, args->item.text));
    TRY(cellar_put(txn, ref, ITEM_A, &ones));
    TRY(cellar_put(txn, ref, ITEM_N, &n));
    TRY(cellar_get(txn, ref, ITEM_N, &args->item.n)); /* its own write */
    return 0;
}

static void columns_are_read_and_written(void **state)
{
    struct api api;
    struct look args;
    struct item wanted = item_of(3);
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(api_run(&api, columns, &args), 0);
    assert_int_equal(args.item.a, wanted.a);
    assert_int_equal(args.item.b, wanted.b);
    assert_memory_equal(args.item.text, wanted.text, sizeof wanted.text);
    assert_int_equal(args.item.n, 99);
    wanted.a = ones;
    wanted.n = 99; /* b was declared to be written, and was not put */
    assert_item(&api, 3, &wanted);
    wanted = item_of(4);
    assert_item(&api, 4, &wanted);
    api_audit_clean(&api);
    api_close(&api);
}

static int rows(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    struct item item;
    int ref = cellar_access(txn, call->items, 3, CELL_TEXT | CELL_N, CELL_A | CELL_N, 0);
    TRY(ref);
    TRY(cellar_fetch(txn));
    memset(&args->item, 0xee, sizeof args->item);
    TRY(cellar_get_row(txn, ref, &args->item));
    memset(&item, 0x22, sizeof item);
    return cellar_put_row(txn, ref, &item);
}

static void rows_are_of_declared_cells(void **state)
{
    struct api api;
    struct look args;
    struct item wanted = item_of(3);
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(api_run(&api, rows, &args), 0);
    assert_int_equal(args.item.a, wanted.a);
    assert_int_equal(args.item.b, 0xeeeeeeeeeeeeeeeeull); /* not declared: untouched */
    assert_memory_equal(args.item.text, wanted.text, sizeof wanted.text);
    assert_int_equal(args.item.n, wanted.n);
    wanted.a = 0x2222222222222222ull;
    wanted.n = 0x22222222;
    assert_item(&api, 3, &wanted);
    api_audit_clean(&api);
    api_close(&api);
}

static int follow(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    uint64_t next;
    int ref = cellar_access(txn, call->items, 2, CELL_A, 0, 0), other;
    TRY(ref);
    TRY(cellar_fetch(txn));
    TRY(cellar_get(txn, ref, ITEM_A, &next));
    other = cellar_access(txn, call->items, next, CELL_B, CELL_A, 0);
    TRY(other);
    TRY(cellar_fetch(txn));
    TRY(cellar_get(txn, other, ITEM_B, &args->item.b));
    TRY(cellar_get(txn, ref, ITEM_A, &args->item.a)); /* references last until the end */
    return cellar_put(txn, other, ITEM_A, &ones);
}

static void later_blocks_depend_on_earlier_ones(void **state)
{
    struct api api;
    struct look args;
    struct item wanted = item_of(6);
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(api_run(&api, follow, &args), 0);
    assert_int_equal(args.item.a, 6);
    assert_int_equal(args.item.b, wanted.b);
    wanted.a = ones;
    assert_item(&api, 6, &wanted);
    api_close(&api);
}

/* ---- misuse: each case changes key 1 first, and must leave no trace of it ---- */

struct misuse {
    struct api_call call;
    uint32_t number;
};

/* Locks key 1 and changes its a. */
static int change_first(struct cellar_txn *txn, const struct cellar_table *items)
{
    int ref = cellar_access(txn, items, 1, CELL_A, CELL_A, 0);
    TRY(ref);
    TRY(cellar_fetch(txn));
    TRY(cellar_put(txn, ref, ITEM_A, &ones));
    return ref;
}

/* Runs the cases 0 .. count-1: each ends with `code` in its one attempt, without effect. */
static void misuse_all(struct api *api, api_body body, uint32_t count, int code)
{
    struct misuse args;
    struct item wanted = item_of(1);
    for (uint32_t i = 0; i < count; i++) {
        args.number = i;
        args.call = (struct api_call){.body = body, .items = api->items};
        int rc = cellar_call(api->db, api->any, &args, NULL, &api->result);
        if (rc != -code || api->result.code != rc || api->result.attempts != 1)
            fail_msg("case %u: %d (%s) in %u attempts, not %d", i, rc, cellar_error_text(rc), api->result.attempts,
                     -code);
    }
    assert_item(api, 1, &wanted);
    struct api_range totals = api_totals(api);
    assert_int_equal(totals.seen, 10);
    assert_int_equal(totals.sum_a, 3 * 45);
    api_audit_clean(api);
}

static int undeclared(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = {0};
    uint32_t number = ((struct misuse *)call)->number;
    int first = change_first(txn, call->items), ref;
    TRY(first);
    ref = cellar_access(txn, call->items, 2, CELL_A | CELL_TEXT, CELL_N, 0);
    TRY(ref);
    switch (number) { /* before the fetch */
    case 0:
        return cellar_get(txn, ref, ITEM_A, &item.a);
    case 1:
        return cellar_put(txn, ref, ITEM_N, &item.n);
    case 2:
        return cellar_get_row(txn, ref, &item);
    case 3:
        return cellar_put_row(txn, ref, &item);
    case 4:
        return 0;
    default:
        TRY(cellar_fetch(txn));
    }
    switch (number) {
    case 5:
        return cellar_get(txn, ref, ITEM_B, &item.b);
    case 6:
        return cellar_put(txn, ref, ITEM_B, &item.b);
    case 7:
        return cellar_put(txn, ref, ITEM_A, &item.a); /* to read only */
    case 8:
        return cellar_put(txn, ref, ITEM_TEXT, item.text);
    case 9:
        return cellar_get(txn, ref, ITEM_B, &item.b) ? 0 : -1000; /* ignored: remembered all the same */
    case 10:
        return cellar_get(txn, ref, ITEM_B, &item.b) ? -CELLAR_ERR_USER_ABORT : 0;
    default:
        break;
    }
    ref = cellar_access(txn, call->items, 3, CELL_A, 0, 0);
    TRY(ref);
    TRY(cellar_fetch(txn));
    return cellar_put_row(txn, ref, &item); /* nothing to write */
}

static void undeclared_cells_are_refused(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_all(&api, undeclared, 12, CELLAR_ERR_UNDECLARED);
    api_close(&api);
}

static int invalid(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a = 0;
    int ref = change_first(txn, call->items);
    TRY(ref);
    switch (((struct misuse *)call)->number) {
    case 0:
        return cellar_access(txn, call->items, 2, 1u << 10, 0, 0);
    case 1:
        return cellar_access(txn, call->items, 2, 0, 1u << ITEM_COLUMNS, 0);
    case 2:
        return cellar_access(txn, call->items, 2, CELL_A, 0, 64);
    case 3:
        return cellar_access(txn, NULL, 2, CELL_A, 0, 0);
    case 4:
        return cellar_insert(txn, NULL, 2, &a);
    case 5:
        return cellar_get(txn, -1, ITEM_A, &a);
    case 6:
        return cellar_get(txn, ref + 1, ITEM_A, &a);
    case 7:
        return cellar_get(txn, ref, -1, &a);
    case 8:
        return cellar_get(txn, ref, ITEM_COLUMNS, &a);
    case 9:
        return cellar_put(txn, ref, -CELLAR_ERR_NOT_FOUND, &a);
    case 10:
        return cellar_put(txn, INT32_MAX, ITEM_A, &a);
    case 11:
        return cellar_put_row(txn, INT32_MIN, &a);
    case 12:
        return cellar_found(txn, -1) || cellar_found(txn, ref + 1) ? 0 : -CELLAR_ERR_INVALID;
    case 13:
        return -CELLAR_ERR_RETRY; /* of its own accord: would never end */
    default:
        return 7; /* neither 0 nor negative */
    }
}

static void nonsense_is_refused(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_all(&api, invalid, 15, CELLAR_ERR_INVALID);
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
        return cellar_access(txn, items, 1, CELL_A, 0, 0); /* in a later block */
    case 1:
        return cellar_access(txn, items, 1, CELL_A | CELL_B, 0, 0);
    case 2:
        return cellar_access(txn, items, 1, 0, CELL_A, 0);
    case 3:
        return cellar_access(txn, items, 1, 0, 0, CELLAR_DELETE);
    case 4:
        return cellar_insert(txn, items, 1, &item);
    case 5:
    case 6:
    case 7:
        TRY(cellar_access(txn, items, 2, CELL_A, CELL_B, 0));
        break;
    case 8:
    case 9:
    case 10:
        TRY(cellar_access(txn, items, 2, 0, 0, CELLAR_DELETE));
        break;
    default:
        TRY(cellar_insert(txn, items, 1000, &item));
        break;
    }
    switch (number) {
    case 5:
        return cellar_access(txn, items, 2, CELL_A, 0, 0);
    case 6:
        return cellar_access(txn, items, 2, 0, CELL_B, CELLAR_OPTIONAL);
    case 7:
        return cellar_insert(txn, items, 2, &item); /* not looked at yet */
    case 8:
        return cellar_access(txn, items, 2, 0, 0, CELLAR_DELETE);
    case 9:
        return cellar_access(txn, items, 2, CELL_A, 0, 0);
    case 10:
        return cellar_insert(txn, items, 2, &item);
    case 11:
        return cellar_insert(txn, items, 1000, &item);
    case 12:
        return cellar_access(txn, items, 1000, CELL_A, 0, 0);
    default:
        return cellar_access(txn, items, 1000, 0, 0, CELLAR_DELETE);
    }
}

static void the_same_cell_twice_is_refused(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_all(&api, duplicate, 14, CELLAR_ERR_DUPLICATE);
    api_close(&api);
}

/* The same record in disjoint cells, in one block and in a later one. */
static int disjoint(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    const struct cellar_table *items = call->items;
    uint32_t n = 77;
    int a = cellar_access(txn, items, 1, CELL_A, CELL_A, 0), b = cellar_access(txn, items, 1, CELL_B, 0, 0);
    TRY(a);
    TRY(b);
    TRY(cellar_fetch(txn));
    TRY(cellar_get(txn, b, ITEM_B, &args->item.b));
    TRY(cellar_put(txn, a, ITEM_A, &ones));
    int text = cellar_access(txn, items, 1, CELL_TEXT, 0, 0), last = cellar_access(txn, items, 1, 0, CELL_N, 0);
    TRY(text);
    TRY(last);
    TRY(cellar_fetch(txn));
    TRY(cellar_get(txn, text, ITEM_TEXT, args->item.text));
    TRY(cellar_get(txn, a, ITEM_A, &args->item.a)); /* its own write is not overwritten by the second fetch */
    return cellar_put(txn, last, ITEM_N, &n);
}

static void disjoint_cells_of_a_record_go_together(void **state)
{
    struct api api;
    struct look args;
    struct item wanted = item_of(1);
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(api_run(&api, disjoint, &args), 0);
    assert_int_equal(api.result.attempts, 1);
    assert_int_equal(args.item.a, ones);
    assert_int_equal(args.item.b, wanted.b);
    assert_memory_equal(args.item.text, wanted.text, sizeof wanted.text);
    wanted.a = ones;
    wanted.n = 77;
    assert_item(&api, 1, &wanted);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- absent and present ---- */

static int absent(struct cellar_txn *txn, struct api_call *call)
{
    struct item item;
    uint32_t number = ((struct misuse *)call)->number;
    int first = change_first(txn, call->items), ref;
    TRY(first);
    switch (number) {
    case 0:
        ref = cellar_access(txn, call->items, 1000, CELL_A, 0, 0);
        break;
    case 1:
        ref = cellar_access(txn, call->items, 1000, 0, CELL_A, 0);
        break;
    case 2:
        ref = cellar_access(txn, call->items, 1000, 0, 0, CELLAR_DELETE);
        break;
    default:
        ref = cellar_access(txn, call->items, 1000, CELL_A, CELL_A, CELLAR_OPTIONAL);
        break;
    }
    TRY(ref);
    int rc = cellar_fetch(txn);
    switch (number) {
    case 3:
        return rc ? -1000 : cellar_get(txn, ref, ITEM_A, &item.a); /* it did not ask cellar_found */
    case 4:
        return rc ? -1000 : cellar_put(txn, ref, ITEM_A, &item.a);
    case 5:
        return rc ? -1000 : cellar_get_row(txn, ref, &item);
    case 6:
        return rc ? -1000 : cellar_put_row(txn, ref, &item);
    default:
        return rc;
    }
}

static int present(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(2);
    TRY(change_first(txn, call->items));
    TRY(cellar_insert(txn, call->items, 1000, &item));
    TRY(cellar_insert(txn, call->items, 2, &item));
    return cellar_fetch(txn);
}

static void absence_and_presence_end_the_call(void **state)
{
    struct api api;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    misuse_all(&api, absent, 7, CELLAR_ERR_NOT_FOUND);
    misuse_all(&api, present, 1, CELLAR_ERR_EXISTS);
    api_close(&api);
}

struct upsert {
    struct api_call call;
    uint64_t key;
    bool found;
};

/* Looks, and inserts what is absent; else deletes what is there. */
static int toggle(struct cellar_txn *txn, struct api_call *call)
{
    struct upsert *args = (struct upsert *)call;
    struct item item = item_of(args->key);
    int ref = cellar_access(txn, call->items, args->key, CELL_A, 0, CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_fetch(txn));
    args->found = cellar_found(txn, ref);
    if (args->found) return 0;
    ref = cellar_insert(txn, call->items, args->key, &item);
    TRY(ref);
    TRY(cellar_fetch(txn));
    return cellar_found(txn, ref) ? 0 : -1000;
}

static int erase(struct cellar_txn *txn, struct api_call *call)
{
    struct upsert *args = (struct upsert *)call;
    uint64_t a;
    int ref = cellar_access(txn, call->items, args->key, CELL_A, 0, CELLAR_DELETE | CELLAR_OPTIONAL);
    TRY(ref);
    TRY(cellar_fetch(txn));
    args->found = cellar_found(txn, ref);
    if (!args->found) return 0;
    TRY(cellar_get(txn, ref, ITEM_A, &a)); /* what is deleted can still be read */
    return a == args->key * 3 ? 0 : -1000;
}

static int run_upsert(struct api *api, api_body body, uint64_t key, bool *found)
{
    struct upsert args = {.key = key};
    args.call = (struct api_call){.body = body, .items = api->items};
    int rc = cellar_call(api->db, api->any, &args, NULL, &api->result);
    *found = args.found;
    return rc;
}

/* Far more records than the table was sized for, so that chains grow; keys at both ends of their range. */
static void records_come_and_go(void **state)
{
    struct api api;
    bool found;
    api_open_bare(&api, *state, (struct cellar_config){0});
    api.items = api_table(&api, "items", 8);
    api_procs(&api);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t key = i % 2 ? i : UINT64_MAX - i;
            assert_code(run_upsert(&api, toggle, key, &found), 0);
            assert_false(found);
            assert_code(run_upsert(&api, toggle, key, &found), 0);
            assert_true(found);
        }
        assert_int_equal(api_totals(&api).seen, 200);
        struct item wanted = item_of(UINT64_MAX);
        assert_item(&api, UINT64_MAX, &wanted);
        api_audit_clean(&api);
        for (uint64_t i = 0; i < 200; i++) {
            assert_code(run_upsert(&api, erase, i % 2 ? i : UINT64_MAX - i, &found), 0);
            assert_true(found);
            assert_code(run_upsert(&api, erase, i % 2 ? i : UINT64_MAX - i, &found), 0);
            assert_false(found);
        }
        assert_int_equal(api_totals(&api).seen, 0);
        api_audit_clean(&api);
    }
    api_close(&api);
}

static int insert_and_put(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    struct item item = item_of(500);
    int ref = cellar_insert(txn, call->items, 500, &item);
    memset(&item, 0, sizeof item); /* it was copied */
    TRY(ref);
    TRY(cellar_fetch(txn));
    TRY(cellar_get(txn, ref, ITEM_B, &args->item.b));
    return cellar_put(txn, ref, ITEM_A, &ones);
}

static void an_inserted_row_can_be_read_and_changed(void **state)
{
    struct api api;
    struct look args;
    struct item wanted = item_of(500);
    api_open(&api, *state);
    assert_code(api_run(&api, insert_and_put, &args), 0);
    assert_int_equal(args.item.b, wanted.b);
    wanted.a = ones;
    assert_item(&api, 500, &wanted);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- aborts ---- */

static int user_abort(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(1000);
    uint32_t number = ((struct misuse *)call)->number;
    if (number == 0) return CELLAR_USER_ABORT;
    TRY(change_first(txn, call->items));
    if (number == 1) return CELLAR_USER_ABORT;
    TRY(cellar_insert(txn, call->items, 1000, &item));
    TRY(cellar_access(txn, call->items, 2, 0, 0, CELLAR_DELETE));
    if (number == 2) return CELLAR_USER_ABORT; /* declared, not fetched */
    TRY(cellar_fetch(txn));
    return CELLAR_USER_ABORT;
}

static void a_user_abort_leaves_nothing(void **state)
{
    struct api api;
    bool found;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    for (int i = 0; i < 3; i++) misuse_all(&api, user_abort, 4, CELLAR_ERR_USER_ABORT);
    struct cellar_stats stats;
    cellar_stats_read(api.db, &stats);
    assert_int_equal(stats.aborted, 0); /* not an abort of the engine's */
    assert_code(run_upsert(&api, toggle, 1000, &found), 0);
    assert_false(found);
    api_close(&api);
}

struct stubborn {
    struct api_call call;
    uint32_t number;
    int fetched, got;
};

/* Twice it meets a lock that nobody will free, and does not do as it was told. */
static int ignore_retry(struct cellar_txn *txn, struct api_call *call)
{
    struct stubborn *args = (struct stubborn *)call;
    uint64_t a = ones;
    int ref = cellar_access(txn, call->items, call->runs <= 2 ? 5 : 6, CELL_A, CELL_A, 0);
    TRY(ref);
    int fetched = cellar_fetch(txn);
    int got = cellar_get(txn, ref, ITEM_A, &a);
    if (call->runs <= 2) {
        args->fetched = fetched;
        args->got = got;
        if (args->number == 1) return CELLAR_USER_ABORT;
        if (args->number == 2) return -CELLAR_ERR_NOT_FOUND;
    }
    int put = cellar_put(txn, ref, ITEM_A, &ones);
    return call->runs <= 2 ? 0 : put;
}

static void retry_cannot_be_ignored(void **state)
{
    struct api api;
    struct fabric_addr head;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    for (uint32_t i = 0; i < 3; i++) {
        struct stubborn args = {.call = {.body = ignore_retry, .items = api.items}, .number = i};
        struct fabric_addr addr = api_find(&api, 5, &head);
        api_poke_word(&api, addr, api_foreign_tags(api.items), api_tag_mask(api.items));
        assert_code(cellar_call(api.db, api.any, &args, NULL, &api.result), 0);
        api_poke_word(&api, addr, 0, api_tag_mask(api.items));
        assert_int_equal(args.fetched, -CELLAR_ERR_RETRY);
        assert_int_equal(args.got, -CELLAR_ERR_RETRY);
        assert_int_equal(args.call.runs, 3);
        assert_int_equal(api.result.attempts, 3);
    }
    struct item wanted = item_of(5);
    assert_item(&api, 5, &wanted);
    wanted = item_of(6);
    wanted.a = ones;
    assert_item(&api, 6, &wanted);
    struct cellar_stats stats;
    cellar_stats_read(api.db, &stats);
    assert_int_equal(stats.aborts[CELLAR_ABORT_LOCK_BUSY], 6);
    assert_int_equal(stats.aborted, 6);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- limits ---- */

static int three_records(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = item_of(1000);
    uint32_t number = ((struct misuse *)call)->number;
    TRY(change_first(txn, call->items));
    switch (number) {
    case 0:
        return cellar_access(txn, call->items, 2, 0, CELL_A, 0); /* a second write */
    case 1:
        return cellar_insert(txn, call->items, 1000, &item);
    case 2:
        return cellar_access(txn, call->items, 2, 0, 0, CELLAR_DELETE);
    default:
        TRY(cellar_access(txn, call->items, 2, CELL_A, 0, 0));
    }
    return cellar_access(txn, call->items, 3, CELL_A, 0, 0); /* a third record */
}

static int thirty_rows(struct cellar_txn *txn, struct api_call *call)
{
    struct item item = {.a = ones};
    TRY(change_first(txn, call->items));
    for (uint64_t key = 2000; key < 2300; key++) TRY(cellar_insert(txn, call->items, key, &item));
    return cellar_fetch(txn);
}

static void more_than_declared_is_too_large(void **state)
{
    struct api api;
    const struct cellar_proc *any;
    struct cellar_proc_def def = {.name = "small", .fn = api_any, .records_max = 2, .writes_max = 1};
    api_open_with(&api, *state, (struct cellar_config){.log_bytes = 64 << 10});
    api_load(&api, 0, 10);
    any = api.any;
    MUST(&api.error, cellar_proc_register(api.db, &def, &api.any, &api.error));
    misuse_all(&api, three_records, 4, CELLAR_ERR_TOO_LARGE);
    /* The entry does not fit half of the log, though the procedure said that it would. */
    def = (struct cellar_proc_def){
        .name = "liar", .fn = api_any, .records_max = 400, .writes_max = 400, .log_bytes_max = 1000};
    MUST(&api.error, cellar_proc_register(api.db, &def, &api.any, &api.error));
    misuse_all(&api, thirty_rows, 1, CELLAR_ERR_TOO_LARGE);
    api.any = any;
    bool found;
    assert_code(run_upsert(&api, toggle, 2000, &found), 0);
    assert_false(found);
    api_close(&api);
}

/* ---- many blocks ---- */

#define AGAIN_RECORDS 3u

struct again {
    struct api_call call;
    uint32_t blocks;
    uint64_t seen; /* of the last record */
};

/* Each block writes every cell once more: in mode crest versions that others may have seen. */
static int put_again(struct cellar_txn *txn, struct api_call *call)
{
    const struct again *again = (const struct again *)(const void *)call;
    struct item item = {0};
    int refs[AGAIN_RECORDS];
    for (uint64_t key = 0; key < AGAIN_RECORDS; key++)
        TRY(refs[key] = cellar_access(txn, call->items, key, CELLAR_ALL, CELLAR_ALL, 0));
    for (item.a = 1; item.a <= again->blocks; item.a++) {
        TRY(cellar_fetch(txn));
        for (uint32_t i = 0; i < AGAIN_RECORDS; i++) TRY(cellar_put_row(txn, refs[i], &item));
    }
    return 0;
}

static int look_after(struct cellar_txn *txn, struct api_call *call)
{
    struct again *again = (struct again *)(void *)call;
    int ref;
    TRY(ref = cellar_access(txn, call->items, AGAIN_RECORDS - 1, CELL_A, 0, 0));
    TRY(cellar_fetch(txn));
    return cellar_get(txn, ref, ITEM_A, &again->seen);
}

static uint64_t last_a(struct api *api)
{
    struct again again = {0};
    assert_code(api_run(api, look_after, &again), 0);
    return again.seen;
}

static void many_blocks_put_the_same_records(void **state)
{
    struct api api;
    struct again many = {.blocks = 20000};
    api_open_with(&api, *state, (struct cellar_config){.coros = 2});
    api_load(&api, 0, 10);
    assert_code(api_run(&api, put_again, &many), 0);
    assert_int_equal(last_a(&api), 20000);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- slots used again ---- */

struct reader {
    struct api_call call;
    uint64_t a;
};

struct reuse {
    struct api *api;
    const struct cellar_proc *reader_proc;
    uint32_t has_read, replaced; /* atomically */
    struct reader reader;
    struct cellar_result result;
};

/* Reads key 5; in its first run then waits, by reading on, until the record has been replaced by its equal. */
static int read_and_wait(struct cellar_txn *txn, struct api_call *call)
{
    struct reader *args = (struct reader *)call;
    struct reuse *reuse = (struct reuse *)((char *)args - offsetof(struct reuse, reader));
    int ref = cellar_access(txn, call->items, 5, CELL_A, 0, 0);
    TRY(ref);
    TRY(cellar_fetch(txn));
    TRY(cellar_get(txn, ref, ITEM_A, &args->a));
    __atomic_store_n(&reuse->has_read, 1, __ATOMIC_SEQ_CST);
    for (uint64_t key = 100; key < 2000 && call->runs == 1; key++) {
        if (__atomic_load_n(&reuse->replaced, __ATOMIC_SEQ_CST)) break;
        TRY(cellar_access(txn, call->items, key, CELL_A, 0, 0));
        TRY(cellar_fetch(txn));
        if (reuse->api->variant->threads) usleep(1000);
    }
    return 0;
}

static int replace(struct cellar_session *session, struct reuse *reuse)
{
    struct upsert args = {.key = 5};
    struct cellar_result result;
    struct look look_args = {.call = {.body = look, .items = reuse->api->items}, .key = 9};
    while (!__atomic_load_n(&reuse->has_read, __ATOMIC_SEQ_CST))
        TRY(cellar_exec(session, reuse->api->any, &look_args, NULL, &result));
    args.call = (struct api_call){.body = erase, .items = reuse->api->items};
    TRY(cellar_exec(session, reuse->api->any, &args, NULL, &result));
    args.call.body = toggle;
    TRY(cellar_exec(session, reuse->api->any, &args, NULL, &result));
    __atomic_store_n(&reuse->replaced, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static int reuse_client(struct cellar_session *session, void *arg)
{
    struct reuse *reuse = arg;
    if (cellar_session_index(session) == 1) return replace(session, reuse);
    reuse->reader.call = (struct api_call){.body = read_and_wait, .items = reuse->api->items};
    return cellar_exec(session, reuse->reader_proc, &reuse->reader, NULL, &reuse->result);
}

static void a_slot_used_again_is_another_version(void **state)
{
    const struct api_variant *variant = *state;
    if (variant->cc == CELLAR_CC_TWOPL) skip(); /* nobody replaces what a reader has locked */
    struct api api;
    struct fabric_addr head;
    struct reuse reuse = {.api = &api};
    struct cellar_stats stats;
    struct cellar_proc_def def = {.name = "reader", .fn = api_any, .records_max = CELLAR_TXN_RECORDS_MAX};
    api_open_with(&api, *state, (struct cellar_config){.threads = 2, .coros = 1});
    api_load(&api, 0, 2000);
    MUST(&api.error, cellar_proc_register(api.db, &def, &reuse.reader_proc, &api.error));
    /* Once by hand, so that the slot belongs to the worker that will replace the record, wherever it is. */
    struct record_wire before = api_header(&api, 5);
    struct fabric_addr addr = api_find(&api, 5, &head);
    assert_code(cellar_run(api.db, reuse_client, &reuse), 0);
    assert_true(reuse.replaced);
    bool snapshot = api.variant->cc == CELLAR_CC_MOTOR; /* older than the replacement: nothing has changed in it */
    assert_true(snapshot ? reuse.result.attempts == 1 : reuse.result.attempts >= 2);
    assert_int_equal(reuse.reader.a, 15);
    cellar_stats_read(api.db, &stats);
    assert_true(snapshot || stats.aborts[CELLAR_ABORT_VALIDATION] >= 1);
    assert_true(api_find(&api, 5, &head).bits == addr.bits); /* the test would show nothing in another slot */
    struct record_wire after = api_header(&api, 5);
    for (uint32_t cell = 0; cell < ITEM_COLUMNS; cell++) assert_true(after.en[cell] > before.en[cell]);
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(columns_are_read_and_written),
        API_TEST(rows_are_of_declared_cells),
        API_TEST(later_blocks_depend_on_earlier_ones),
        API_TEST(undeclared_cells_are_refused),
        API_TEST(nonsense_is_refused),
        API_TEST(the_same_cell_twice_is_refused),
        API_TEST(disjoint_cells_of_a_record_go_together),
        API_TEST(absence_and_presence_end_the_call),
        API_TEST(records_come_and_go),
        API_TEST(an_inserted_row_can_be_read_and_changed),
        API_TEST(a_user_abort_leaves_nothing),
        API_TEST(retry_cannot_be_ignored),
        API_TEST(more_than_declared_is_too_large),
        API_TEST(many_blocks_put_the_same_records),
        API_TEST(a_slot_used_again_is_another_version),
    };
    return api_main("api_txn", tests, sizeof tests / sizeof *tests, argc, argv);
}
