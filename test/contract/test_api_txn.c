/* test_api_txn.c - cellar.h: what a procedure may declare, read and write. */
#include "api_items.h"
#include "numbered.h"
#include "rivals.h"

#include <unistd.h>

/* ---- reading and writing ---- */

static int columns(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    int ref = cellar_proc_access(txn, call->items, 3, CELL_A | CELL_TEXT, CELL_A | CELL_B | CELL_N, 0);
    uint32_t n = 99;
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &args->item.a));
    TRY(cellar_proc_get(txn, ref, ITEM_B, &args->item.b)); /* to write: can be read too */
    TRY(cellar_proc_get(txn, ref, ITEM_TEXT, args->item.text));
    TRY(cellar_proc_put(txn, ref, ITEM_A, &ones));
    TRY(cellar_proc_put(txn, ref, ITEM_N, &n));
    TRY(cellar_proc_get(txn, ref, ITEM_N, &args->item.n)); /* its own write */
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
    int ref = cellar_proc_access(txn, call->items, 3, CELL_TEXT | CELL_N, CELL_A | CELL_N, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    memset(&args->item, 0xee, sizeof args->item);
    TRY(cellar_proc_get_row(txn, ref, &args->item));
    memset(&item, 0x22, sizeof item);
    return cellar_proc_put_row(txn, ref, &item);
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
    int ref = cellar_proc_access(txn, call->items, 2, CELL_A, 0, 0), other;
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &next));
    other = cellar_proc_access(txn, call->items, next, CELL_B, CELL_A, 0);
    TRY(other);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, other, ITEM_B, &args->item.b));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &args->item.a)); /* references last until the end */
    return cellar_proc_put(txn, other, ITEM_A, &ones);
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

/* The same record in disjoint cells, in one block and in a later one. */
static int disjoint(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    const struct cellar_table *items = call->items;
    uint32_t n = 77;
    int a = cellar_proc_access(txn, items, 1, CELL_A, CELL_A, 0), b = cellar_proc_access(txn, items, 1, CELL_B, 0, 0);
    TRY(a);
    TRY(b);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, b, ITEM_B, &args->item.b));
    TRY(cellar_proc_put(txn, a, ITEM_A, &ones));
    int text = cellar_proc_access(txn, items, 1, CELL_TEXT, 0, 0),
        last = cellar_proc_access(txn, items, 1, 0, CELL_N, 0);
    TRY(text);
    TRY(last);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, text, ITEM_TEXT, args->item.text));
    TRY(cellar_proc_get(txn, a, ITEM_A, &args->item.a)); /* its own write is not overwritten by the second fetch */
    return cellar_proc_put(txn, last, ITEM_N, &n);
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

/* Far more records than the table was sized for, so that chains grow; keys at both ends of their range. */
static void records_come_and_go(void **state)
{
    struct api api;
    bool found;
    api_open_bare(&api, *state, (struct engine_config){0});
    api.items = api_table(&api, "items", 8);
    api_procs(&api);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t key = i % 2 ? i : UINT64_MAX - i;
            assert_code(run_upsert(&api, insert_absent, key, &found), 0);
            assert_false(found);
            assert_code(run_upsert(&api, insert_absent, key, &found), 0);
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
    int ref = cellar_proc_insert(txn, call->items, 500, &item);
    memset(&item, 0, sizeof item); /* it was copied */
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_B, &args->item.b));
    return cellar_proc_put(txn, ref, ITEM_A, &ones);
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

struct stubborn {
    struct api_call call;
    uint32_t number;
    int fetched, got;
};

/* Twice it meets a lock that will not be freed, and does not do as it was told. */
static int ignore_retry(struct cellar_txn *txn, struct api_call *call)
{
    struct stubborn *args = (struct stubborn *)call;
    uint64_t a = ones;
    int ref = cellar_proc_access(txn, call->items, call->runs <= 2 ? 5 : 6, CELL_A, CELL_A, 0);
    TRY(ref);
    int fetched = cellar_proc_fetch(txn);
    int got = cellar_proc_get(txn, ref, ITEM_A, &a);
    if (call->runs <= 2) {
        args->fetched = fetched;
        args->got = got;
        if (args->number == 1) return ERR_GIVEN_UP;
        if (args->number == 2) return CELLAR_NOT_FOUND;
    }
    int put = cellar_proc_put(txn, ref, ITEM_A, &ones);
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
        assert_code(cellar_proc_run(api.db, api.any, &args, NULL, &api.result), 0);
        api_poke_word(&api, addr, 0, api_tag_mask(api.items));
        assert_int_equal(args.fetched, CELLAR_RETRY);
        assert_int_equal(args.got, CELLAR_RETRY);
        assert_int_equal(args.call.runs, 3);
        assert_int_equal(api.result.attempts, 3);
    }
    struct item wanted = item_of(5);
    assert_item(&api, 5, &wanted);
    wanted = item_of(6);
    wanted.a = ones;
    assert_item(&api, 6, &wanted);
    struct cellar_lab_stats stats;
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(stats.aborts[CELLAR_ABORT_LOCK_BUSY], 6);
    assert_int_equal(stats.aborted, 6);
    api_audit_clean(&api);
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
        TRY(refs[key] = cellar_proc_access(txn, call->items, key, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0));
    for (item.a = 1; item.a <= again->blocks; item.a++) {
        TRY(cellar_proc_fetch(txn));
        for (uint32_t i = 0; i < AGAIN_RECORDS; i++) TRY(cellar_proc_put_row(txn, refs[i], &item));
    }
    return 0;
}

static int look_after(struct cellar_txn *txn, struct api_call *call)
{
    struct again *again = (struct again *)(void *)call;
    int ref;
    TRY(ref = cellar_proc_access(txn, call->items, AGAIN_RECORDS - 1, CELL_A, 0, 0));
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_get(txn, ref, ITEM_A, &again->seen);
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
    api_open_with(&api, *state, (struct engine_config){.coros = 2});
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
    int ref = cellar_proc_access(txn, call->items, 5, CELL_A, 0, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, ITEM_A, &args->a));
    __atomic_store_n(&reuse->has_read, 1, __ATOMIC_SEQ_CST);
    for (uint64_t key = 100; key < 2000 && call->runs == 1; key++) {
        if (__atomic_load_n(&reuse->replaced, __ATOMIC_SEQ_CST)) break;
        TRY(cellar_proc_access(txn, call->items, key, CELL_A, 0, 0));
        TRY(cellar_proc_fetch(txn));
        if (reuse->api->variant->threads) usleep(1000);
    }
    return 0;
}

static int replace(struct cellar_lab_client *client, struct reuse *reuse)
{
    struct upsert args = {.key = 5};
    struct cellar_result result;
    struct look look_args = {.call = {.body = look, .items = reuse->api->items}, .key = 9};
    while (!__atomic_load_n(&reuse->has_read, __ATOMIC_SEQ_CST))
        TRY(cellar_lab_exec(client, reuse->api->any, &look_args, NULL, &result));
    args.call = (struct api_call){.body = erase, .items = reuse->api->items};
    TRY(cellar_lab_exec(client, reuse->api->any, &args, NULL, &result));
    args.call.body = insert_absent;
    TRY(cellar_lab_exec(client, reuse->api->any, &args, NULL, &result));
    __atomic_store_n(&reuse->replaced, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static int reuse_client(struct cellar_lab_client *client, void *arg)
{
    struct reuse *reuse = arg;
    if (cellar_lab_index(client) == 1) return replace(client, reuse);
    reuse->reader.call = (struct api_call){.body = read_and_wait, .items = reuse->api->items};
    return cellar_lab_exec(client, reuse->reader_proc, &reuse->reader, NULL, &reuse->result);
}

static void a_slot_used_again_is_another_version(void **state)
{
    const struct api_variant *variant = *state;
    if (variant->cc == CELLAR_LAB_CC_TWOPL) skip(); /* no transaction replaces what a reader has locked */
    struct api api;
    struct fabric_addr head;
    struct reuse reuse = {.api = &api};
    struct cellar_lab_stats stats;
    struct cellar_proc_def def = {.name = "reader", .fn = api_any, .records_max = CELLAR_TXN_RECORDS_MAX};
    api_open_with(&api, *state, (struct engine_config){.threads = 2, .coros = 1});
    api_load(&api, 0, 2000);
    MUST(&api.error, db_proc_register(api.db, &def, &reuse.reader_proc, &api.error));
    /* Once by hand, so that the slot belongs to the worker that will replace the record, wherever it is. */
    struct record_wire before = api_header(&api, 5);
    struct fabric_addr addr = api_find(&api, 5, &head);
    assert_code(cellar_lab_run(api.db, reuse_client, &reuse), 0);
    assert_true(reuse.replaced);
    bool snapshot = api.variant->cc == CELLAR_LAB_CC_MOTOR; /* older than the replacement: nothing has changed in it */
    assert_true(snapshot ? reuse.result.attempts == 1 : reuse.result.attempts >= 2);
    assert_int_equal(reuse.reader.a, 15);
    cellar_lab_stats_read(api.db, &stats);
    assert_true(snapshot || stats.aborts[CELLAR_ABORT_VALIDATION] >= 1);
    assert_true(api_find(&api, 5, &head).bits == addr.bits); /* the test would show nothing in another slot */
    struct record_wire after = api_header(&api, 5);
    for (uint32_t cell = 0; cell < ITEM_COLUMNS; cell++) assert_true(after.en[cell] > before.en[cell]);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- a snapshot that is gone ---- */

struct late {
    struct api *api;
    uint64_t absent, beside;    /* keys of one bucket; the second is inserted while the reader has its snapshot */
    uint32_t has_read, changed; /* atomically */
    const struct cellar_proc *reader_proc;
    struct api_call reader;
    int fetched[2]; /* what the fetch of the absent key said, first and last */
    bool found;
    struct cellar_result result;
};

static int read_absence_late(struct cellar_txn *txn, struct api_call *call)
{
    struct late *late = (struct late *)((char *)call - offsetof(struct late, reader));
    TRY(cellar_proc_access(txn, call->items, 5, CELL_A, 0, 0));
    TRY(cellar_proc_fetch(txn));
    __atomic_store_n(&late->has_read, 1, __ATOMIC_SEQ_CST);
    for (uint64_t key = 100; key < 2000 && !__atomic_load_n(&late->changed, __ATOMIC_SEQ_CST); key++) {
        TRY(cellar_proc_access(txn, call->items, key, CELL_A, 0, 0));
        TRY(cellar_proc_fetch(txn));
        if (late->api->variant->threads) usleep(1000);
    }
    int ref = cellar_proc_access(txn, call->items, late->absent, CELL_A, 0, CELLAR_OPTIONAL);
    TRY(ref);
    int rc = late->fetched[call->runs > 1] = cellar_proc_fetch(txn);
    late->found = rc == 0 && cellar_proc_found(txn, ref);
    return rc;
}

static int late_client(struct cellar_lab_client *client, void *arg)
{
    struct late *late = arg;
    if (cellar_lab_index(client) == 0) {
        late->reader = (struct api_call){.body = read_absence_late, .items = late->api->items};
        return cellar_lab_exec(client, late->reader_proc, &late->reader, NULL, &late->result);
    }
    struct cellar_result result;
    struct look look_args = {.call = {.body = look, .items = late->api->items}, .key = 9};
    struct upsert args = {.call = {.body = insert_absent, .items = late->api->items}, .key = late->beside};
    while (!__atomic_load_n(&late->has_read, __ATOMIC_SEQ_CST))
        TRY(cellar_lab_exec(client, late->api->any, &look_args, NULL, &result));
    TRY(cellar_lab_exec(client, late->api->any, &args, NULL, &result));
    __atomic_store_n(&late->changed, 1, __ATOMIC_SEQ_CST);
    return 0;
}

/*
 * The bucket is younger than the snapshot: whether the key was absent then cannot be told, and the fetch says so.
 */
static void a_fetch_says_that_its_snapshot_is_gone(void **state)
{
    const struct api_variant *variant = *state;
    if (variant->cc != CELLAR_LAB_CC_MOTOR) skip(); /* the other modes read what is there now */
    struct api api;
    struct late late = {.api = &api, .absent = 2500, .beside = 2501, .fetched = {1, 1}};
    struct cellar_lab_stats stats;
    struct cellar_proc_def def = {.name = "reader", .fn = api_any, .records_max = CELLAR_TXN_RECORDS_MAX};
    api_open_with(&api, *state, (struct engine_config){.threads = 2, .coros = 1});
    api_load(&api, 0, 2000);
    const struct index_geometry *index = &api.items->table->index;
    while (index_bucket_addr(index, late.beside).bits != index_bucket_addr(index, late.absent).bits) late.beside++;
    MUST(&api.error, db_proc_register(api.db, &def, &late.reader_proc, &api.error));
    assert_code(cellar_lab_run(api.db, late_client, &late), 0);
    assert_code(late.fetched[0], CELLAR_RETRY);
    assert_code(late.fetched[1], 0); /* with a younger snapshot */
    assert_false(late.found);
    assert_int_equal(late.result.attempts, 2);
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(stats.aborts[CELLAR_ABORT_SNAPSHOT_GONE], 1);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- whether a record is there ---- */

/* Asks for keys 3 and 20, then for cells of key 3, and changes it. */
static int ask(struct cellar_txn *txn, struct api_call *call)
{
    struct look *args = (struct look *)call;
    int there = cellar_proc_access(txn, call->items, 3, 0, 0, 0), absent;
    TRY(there);
    absent = cellar_proc_access(txn, call->items, 20, 0, 0, CELLAR_OPTIONAL);
    TRY(absent);
    TRY(cellar_proc_fetch(txn));
    args->found = cellar_proc_found(txn, there) && !cellar_proc_found(txn, absent);
    memset(&args->item, 0xee, sizeof args->item);
    TRY(cellar_proc_get_row(txn, there, &args->item)); /* no cell was declared: nothing */
    args->found = args->found && args->item.a == 0xeeeeeeeeeeeeeeeeull;
    TRY(cellar_proc_access(txn, call->items, 3, 0, 0, 0));
    there = cellar_proc_access(txn, call->items, 3, CELL_A, CELL_A | CELL_B, 0);
    TRY(there);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, there, ITEM_A, &args->item.a));
    return cellar_proc_put(txn, there, ITEM_A, &ones);
}

static void presence_is_asked_for_without_cells(void **state)
{
    struct api api;
    struct look args;
    struct item wanted = item_of(3);
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(api_run(&api, ask, &args), 0);
    assert_true(args.found);
    assert_int_equal(args.item.a, wanted.a);
    wanted.a = ones;
    assert_item(&api, 3, &wanted);
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(columns_are_read_and_written),
        API_TEST(rows_are_of_declared_cells),
        API_TEST(later_blocks_depend_on_earlier_ones),
        API_TEST(disjoint_cells_of_a_record_go_together),
        API_TEST(records_come_and_go),
        API_TEST(an_inserted_row_can_be_read_and_changed),
        API_TEST(retry_cannot_be_ignored),
        API_TEST(many_blocks_put_the_same_records),
        API_TEST(a_slot_used_again_is_another_version),
        API_TEST(a_fetch_says_that_its_snapshot_is_gone),
        API_TEST(presence_is_asked_for_without_cells),
    };
    return api_main("api_txn", tests, sizeof tests / sizeof *tests, argc, argv);
}
