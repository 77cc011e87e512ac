/* test_api_ordered.c - cellar.h: ordered indexes, against a plain array. */
#include "ordered.h"
#include "numbered.h"
#include "tree.h"

#include <unistd.h>

/* ---- what is in them ---- */

static void changes_are_in_the_index(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change;
    struct prng prng;
    if (!ordered_supported(*state)) return;
    ordered_open(&ordered, *state);
    prng_seed(&prng, 5);
    for (uint32_t round = 0; round < 400; round++) {
        ordered_draw(&prng, &change, 300, round % 2 ? 40 : 1000000);
        ordered_call(&ordered, &change);
        uint64_t low = prng_below(&prng, 60), high = low + prng_below(&prng, 60);
        if (round % 10 == 0) ordered_compare(&ordered, low, high, round % 20 ? CELLAR_BACKWARD : 0, 0, 0);
        if (round % 40 == 0) api_audit_clean(&ordered.api);
    }
    for (uint32_t backward = 0; backward <= CELLAR_BACKWARD; backward += CELLAR_BACKWARD) {
        ordered_compare(&ordered, 0, UINT64_MAX, backward, 0, 0);
        ordered_compare(&ordered, 0, UINT64_MAX, backward, 50, CELL_A);
        ordered_compare(&ordered, 10, 30, backward, 7, CELL_A);
        ordered_compare(&ordered, 10, 10, backward, 0, 0);
    }
    ordered_close(&ordered);
}

/* Up, down, and from the middle: leaves split at each place, and inner nodes. */
static void trees_grow_and_shrink(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change;
    if (!ordered_supported(*state)) return;
    for (uint32_t way = 0; way < 3; way++) {
        ordered_open(&ordered, *state);
        for (uint32_t i = 0; i < 1200; i += 8) {
            change.count = 8;
            for (uint32_t k = 0; k < 8; k++) {
                uint64_t a = way == 0 ? i + k : way == 1 ? 5000 - i - k : (i + k) * 7919ull % 1200;
                change.steps[k].key = i + k;
                change.steps[k].a = a;
                change.steps[k].kind = ORDERED_PUT;
            }
            ordered_call(&ordered, &change);
        }
        api_audit_clean(&ordered.api);
        ordered_compare(&ordered, 0, 10000, 0, 0, 0);
        ordered_compare(&ordered, 100, 900, CELLAR_BACKWARD, 0, 0);
        for (uint32_t i = 0; i < 1200; i += 8) {
            for (uint32_t k = 0; k < 8; k++) {
                change.steps[k].key = i + k;
                change.steps[k].kind = ORDERED_DELETE;
            }
            ordered_call(&ordered, &change);
            if (i % 400 == 0) api_audit_clean(&ordered.api);
        }
        ordered_compare(&ordered, 0, 10000, 0, 0, 0);
        ordered_close(&ordered);
    }
}

/* One transaction adds more to one place than a leaf has room for. */
static int many_at_once(struct cellar_txn *txn, struct api_call *call)
{
    for (uint64_t i = 0; i < 60; i++) {
        struct item item = ordered_item(1000 + i, 500);
        TRY(cellar_proc_insert(txn, call->items, 1000 + i, &item));
    }
    return cellar_proc_fetch(txn);
}

static void a_split_makes_room_for_all(void **state)
{
    static struct ordered ordered;
    struct api_call call;
    if (!ordered_supported(*state)) return;
    ordered_open(&ordered, *state);
    assert_code(api_run(&ordered.api, many_at_once, &call), 0);
    for (uint64_t i = 0; i < 60; i++) {
        ordered.there[1000 + i] = true;
        ordered.a[1000 + i] = 500;
    }
    assert_true(call.runs < 12);
    ordered_compare(&ordered, 0, 1000, 0, 0, 0);
    ordered_close(&ordered);
}

/* ---- a transaction's own changes ---- */

struct own {
    struct api_call call;
    const struct cellar_index *by_a;
    uint64_t seen[8];
    uint32_t counts[4];
};

static int count_all(struct cellar_txn *txn, const struct cellar_index *index, uint32_t *count, uint64_t *first)
{
    static const struct cellar_range all;
    uint64_t key;
    int cursor = cellar_proc_cursor_open(txn, index, &all, 0, 0, 0, 0), got;
    TRY(cursor);
    for (*count = 0; (got = cellar_proc_cursor_next(txn, cursor, &key, NULL)) == 1; ++*count)
        if (*count == 0) *first = key;
    TRY(got);
    return cellar_proc_cursor_close(txn, cursor);
}

static int own_changes(struct cellar_txn *txn, struct api_call *call)
{
    struct own *own = (struct own *)call;
    struct item item = ordered_item(7, 1);
    uint64_t largest = 99;
    TRY(count_all(txn, own->by_a, &own->counts[0], &own->seen[0]));
    TRY(cellar_proc_insert(txn, call->items, 7, &item));
    TRY(count_all(txn, own->by_a, &own->counts[1], &own->seen[1]));
    int gone = cellar_proc_access(txn, call->items, 3, 0, 0, CELLAR_DELETE);
    TRY(gone);
    TRY(count_all(txn, own->by_a, &own->counts[2], &own->seen[2]));
    int ref = cellar_proc_access(txn, call->items, 4, 0, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_put(txn, ref, ITEM_A, &largest));
    TRY(count_all(txn, own->by_a, &own->counts[3], &own->seen[3]));
    largest = 0;
    TRY(cellar_proc_put(txn, ref, ITEM_A, &largest)); /* and once more, into another place */
    return count_all(txn, own->by_a, &own->counts[3], &own->seen[4]);
}

static void own_changes_are_seen(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change;
    struct own own;
    if (!ordered_supported(*state)) return;
    ordered_open(&ordered, *state);
    change.count = 3;
    for (uint64_t i = 0; i < 3; i++) {
        change.steps[i].key = 3 + i;
        change.steps[i].a = 10 + i;
        change.steps[i].kind = ORDERED_PUT;
    }
    ordered_call(&ordered, &change);
    own.by_a = ordered.by_a;
    assert_code(api_run(&ordered.api, own_changes, &own), 0);
    static const uint32_t counts[] = {3, 4, 3, 3};
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(own.counts[i], counts[i]);
    static const uint64_t seen[] = {3, 7, 7, 7, 4};
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(own.seen[i], seen[i]);
    ordered.there[7] = true;
    ordered.a[7] = 1;
    ordered.there[3] = false;
    ordered.a[4] = 0;
    ordered_compare(&ordered, 0, 100, 0, 0, CELL_A);
    ordered_close(&ordered);
}

/* ---- unique ---- */

/* Another record with record 5's b. */
static int insert_same(struct cellar_txn *txn, struct api_call *args)
{
    struct item item = ordered_item(6, 1);
    item.b = item_of(5).b;
    TRY(cellar_proc_insert(txn, args->items, 6, &item));
    return cellar_proc_fetch(txn);
}

/* Record 5 gets another one. */
static int move_there(struct cellar_txn *txn, struct api_call *args)
{
    uint64_t b = 12345;
    int ref = cellar_proc_access(txn, args->items, 5, 0, CELL_B, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_put(txn, ref, ITEM_B, &b);
}

static void unique_columns_stay_unique(void **state)
{
    static const struct cellar_schema_index_column b[] = {{"b", CELLAR_SORT_UNSIGNED, false}};
    struct api api;
    struct api_call call;
    static struct ordered_change change;
    if (!ordered_supported(*state)) return;
    api_open(&api, *state);
    const struct cellar_index *index = ordered_index(&api, "by_b", b, 1, CELLAR_UNIQUE);
    assert_non_null(index);
    change.count = 1;
    change.steps[0].key = 5;
    assert_code(api_run(&api, ordered_change, &change), 0);
    assert_code(api_run(&api, insert_same, &call), CELLAR_EXISTS);
    assert_int_equal(api.result.detail.why, WHY_UNIQUE);
    assert_code(api_run(&api, move_there, &call), 0);
    assert_code(api_run(&api, insert_same, &call), 0);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- a queue ---- */

struct queue {
    struct api_call call;
    const struct cellar_index *by_key;
    uint64_t last, first;
    bool took;
};

static int queue_step(struct cellar_txn *txn, struct api_call *call)
{
    struct queue *queue = (struct queue *)call;
    const struct cellar_range all = {.high_key = UINT64_MAX};
    struct item item = item_of(queue->last);
    TRY(cellar_proc_insert(txn, call->items, queue->last, &item));
    TRY(cellar_proc_fetch(txn));
    queue->took = false;
    if (queue->last < 200) return 0;
    int cursor = cellar_proc_cursor_open(txn, queue->by_key, &all, 0, 0, 0, 1);
    TRY(cursor);
    int got = cellar_proc_cursor_next(txn, cursor, &queue->first, NULL);
    TRY(got);
    queue->took = got == 1;
    int ref = cellar_proc_access(txn, call->items, queue->first, 0, 0, CELLAR_DELETE);
    TRY(ref);
    return cellar_proc_fetch(txn);
}

/* Inserts at the end and deletes at the front: no tail of empty leaves is left. */
static void a_queue_leaves_no_tail(void **state)
{
    static struct ordered ordered;
    static struct queue queue;
    struct cellar_lab_stats before, after;
    if (!ordered_supported(*state)) return;
    ordered_open(&ordered, *state);
    queue.by_key = ordered.by_key;
    for (queue.last = 0; queue.last < 2500; queue.last++) {
        assert_code(api_run(&ordered.api, queue_step, &queue), 0);
        if (queue.last >= 200) assert_int_equal(queue.first, queue.last - 200);
        if (queue.last == 400) cellar_lab_stats_reset(ordered.api.db);
        if (queue.last == 900) cellar_lab_stats_read(ordered.api.db, &before);
        if (queue.last == 1999) cellar_lab_stats_reset(ordered.api.db);
    }
    cellar_lab_stats_read(ordered.api.db, &after);
    /* The same work, 1,600 records later, takes as many round trips, but for a few. */
    assert_true(after.round_trips < before.round_trips + before.round_trips / 5);
    ordered_close(&ordered);
}

/* ---- many at once ---- */

struct crowd {
    struct ordered *ordered;
    uint64_t sums;
};

struct crowd_scan {
    struct api_call call;
    const struct cellar_index *by_a;
    uint64_t sum;
    uint32_t count;
};

/* All of a, by the index: their sum never changes (crowd_shift). */
static int crowd_sum(struct cellar_txn *txn, struct api_call *call)
{
    struct crowd_scan *scan = (struct crowd_scan *)call;
    static const struct cellar_range all;
    uint64_t key, a;
    int cursor = cellar_proc_cursor_open(txn, scan->by_a, &all, CELL_A, 0, 0, 0), got, ref;
    TRY(cursor);
    scan->sum = scan->count = 0;
    while ((got = cellar_proc_cursor_next(txn, cursor, &key, &ref)) == 1) {
        TRY(cellar_proc_get(txn, ref, ITEM_A, &a));
        scan->sum += a;
        scan->count++;
    }
    return got;
}

struct crowd_step {
    struct api_call call;
    uint64_t from, to;
};

/* All that `from` has goes to `to`: one is deleted, the other inserted or changed. */
static int crowd_shift(struct cellar_txn *txn, struct api_call *call)
{
    const struct crowd_step *step = (const struct crowd_step *)call;
    uint64_t from_a, to_a;
    int from = cellar_proc_access(txn, call->items, step->from, CELL_A, 0, CELLAR_OPTIONAL | CELLAR_DELETE);
    int to = cellar_proc_access(txn, call->items, step->to, 0, CELL_A, CELLAR_OPTIONAL);
    TRY(from);
    TRY(to);
    TRY(cellar_proc_fetch(txn));
    if (!cellar_proc_found(txn, from)) return 0;
    TRY(cellar_proc_get(txn, from, ITEM_A, &from_a));
    if (cellar_proc_found(txn, to)) {
        TRY(cellar_proc_get(txn, to, ITEM_A, &to_a));
        to_a += from_a;
        return cellar_proc_put(txn, to, ITEM_A, &to_a);
    }
    struct item item = item_of(step->to);
    item.a = from_a;
    TRY(cellar_proc_insert(txn, call->items, step->to, &item));
    return cellar_proc_fetch(txn);
}

static int crowd_client(struct cellar_lab_client *client, void *arg)
{
    struct crowd *crowd = arg;
    struct ordered *ordered = crowd->ordered;
    struct prng prng;
    uint32_t index = cellar_lab_index(client);
    prng_seed(&prng, 100 + index);
    for (uint32_t i = 0; i < 60; i++) {
        struct cellar_result result;
        if (index % 4 == 0) {
            struct crowd_scan scan = {.call = {.body = crowd_sum, .items = ordered->api.items}, .by_a = ordered->by_a};
            int rc = cellar_lab_exec(client, ordered->api.any, &scan, NULL, &result);
            if (rc) return rc;
            if (scan.sum != crowd->sums) return CELLAR_CORRUPT;
            continue;
        }
        struct crowd_step step = {.call = {.body = crowd_shift, .items = ordered->api.items},
                                  .from = prng_below(&prng, 50),
                                  .to = prng_below(&prng, 50)};
        if (step.from == step.to) continue;
        int rc = cellar_lab_exec(client, ordered->api.any, &step, NULL, &result);
        if (rc) return rc;
    }
    return 0;
}

/* Scans see all or nothing of what others move about. */
static void scans_meet_no_phantoms(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change;
    const struct api_variant *variant = *state;
    if (!ordered_supported(variant)) return;
    memset(&ordered, 0, sizeof ordered);
    api_open_with(&ordered.api, variant,
                  (struct engine_config){.threads = 2, .coros = 4, .cns = 2, .log_bytes = ORDERED_LOG_BYTES});
    ordered_indexes(&ordered);
    struct crowd crowd = {.ordered = &ordered};
    for (uint64_t key = 0; key < 40; key++) {
        change.count = 1;
        change.steps[0].key = key;
        change.steps[0].a = 1ull << (key % 30);
        crowd.sums += change.steps[0].a;
        ordered_call(&ordered, &change);
    }
    assert_code(cellar_lab_run(ordered.api.db, crowd_client, &crowd), 0);
    ordered_close(&ordered);
}

/* ---- built from records that are there ---- */

static void an_index_is_built_over_records(void **state)
{
    static struct ordered ordered;
    const struct api_variant *variant = *state;
    if (!ordered_supported(variant)) return;
    for (uint32_t count = 0; count <= 2400; count = count * 6 + (count == 0) * 11) {
        memset(&ordered, 0, sizeof ordered);
        api_open_with(&ordered.api, variant, (struct engine_config){.log_bytes = ORDERED_LOG_BYTES});
        api_load(&ordered.api, 0, count);
        for (uint64_t key = 0; key < count; key++) {
            ordered.there[key] = true;
            ordered.a[key] = key * 3;
        }
        ordered_indexes(&ordered);
        api_audit_clean(&ordered.api);
        ordered_compare(&ordered, 0, 100000, 0, 0, count < 60 ? CELL_A : 0);
        ordered_compare(&ordered, 50, 900, CELLAR_BACKWARD, 0, 0);
        static struct ordered_change change;
        struct prng prng;
        prng_seed(&prng, count);
        for (uint32_t i = 0; i < 40; i++) {
            ordered_draw(&prng, &change, 500, 4000);
            ordered_call(&ordered, &change);
        }
        ordered_compare(&ordered, 0, 100000, 0, 0, 0);
        FAILS(&ordered.api.error,
              api_alone(&ordered.api, api_load_job, &(struct api_range){ordered.api.items, 2900, 1, 0, 0}),
              CELLAR_UNSUPPORTED, "has an ordered index");
        ordered_close(&ordered);
    }
}

static void indexes_are_there_again(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change;
    const struct api_variant *variant = *state;
    char path[] = "/tmp/cellar_ordered_XXXXXX";
    if (!ordered_supported(variant) || !variant->threads) return;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    memset(&ordered, 0, sizeof ordered);
    struct prng prng;
    prng_seed(&prng, 9);
    for (uint32_t life = 0; life < 3; life++) {
        api_open_with(&ordered.api, variant, (struct engine_config){.pool_path = path, .log_bytes = ORDERED_LOG_BYTES});
        if (life)
            ordered.by_a = cellar_index_find(ordered.api.items, "by_a");
        else
            ordered_indexes(&ordered);
        assert_non_null(ordered.by_a);
        ordered_compare(&ordered, 0, UINT64_MAX, 0, 0, 0);
        for (uint32_t i = 0; i < 60; i++) {
            ordered_draw(&prng, &change, 300, 1000);
            ordered_call(&ordered, &change);
        }
        if (life == 1) ordered_indexes(&ordered); /* the same definitions: the same indexes */
        ordered_compare(&ordered, 0, UINT64_MAX, CELLAR_BACKWARD, 0, CELL_A & (life == 5));
        ordered_close(&ordered);
    }
    unlink(path);
}

/* ---- what is refused ---- */

static void bad_definitions_are_refused(void **state)
{
    struct api api;
    const struct cellar_index *index;
    const struct api_variant *variant = *state;
    api_open(&api, variant);
    struct cellar_schema_index_column columns[] = {{"a", CELLAR_SORT_UNSIGNED, false},
                                                   {"b", CELLAR_SORT_UNSIGNED, false}};
    struct cellar_schema_index def = {"x", columns, 1, 0};
#define CREATE db_index_create(api.db, api.items, &def, &index, &api.error)
    if (!ordered_supported(variant)) {
        FAILS(&api.error, CREATE, CELLAR_UNSUPPORTED, "mode motor");
        api_close(&api);
        return;
    }
    columns[0].column = "nowhere";
    FAILS(&api.error, CREATE, CELLAR_INVALID, "no column nowhere");
    columns[0].column = NULL;
    FAILS(&api.error, CREATE, CELLAR_INVALID, "no column");
    columns[0] = (struct cellar_schema_index_column){"text", CELLAR_SORT_UNSIGNED, false};
    FAILS(&api.error, CREATE, CELLAR_INVALID, "1, 2, 4 or 8 bytes");
    columns[0].sort = CELLAR_SORT_BYTES;
    FAILS(&api.error, CREATE, CELLAR_INVALID, "at most 96 are possible");
    columns[0] = (struct cellar_schema_index_column){"a", (enum cellar_sort)9, false};
    FAILS(&api.error, CREATE, CELLAR_INVALID, "no such sort");
    columns[0].sort = CELLAR_SORT_UNSIGNED;
    def.column_count = 2;
    columns[1].column = "a";
    FAILS(&api.error, CREATE, CELLAR_INVALID, "twice");
    def.column_count = 9;
    FAILS(&api.error, CREATE, CELLAR_INVALID, "9 columns");
    def.column_count = 1;
    def.flags = 4;
    FAILS(&api.error, CREATE, CELLAR_INVALID, "unknown flags");
    def.flags = 0;
    def.name = "a/b";
    FAILS(&api.error, CREATE, CELLAR_INVALID, "no slash");
    def.name = "a_name_of_twenty_eight_bytes";
    FAILS(&api.error, CREATE, CELLAR_INVALID, "at most 30 bytes");
    def.name = "";
    FAILS(&api.error, CREATE, CELLAR_INVALID, "needs a name");
    def.name = "x";
    MUST(&api.error, CREATE);
    columns[0].descending = true;
    FAILS(&api.error, CREATE, CELLAR_MISMATCH, "items/x");
    assert_null(cellar_table_find(api.db, "items/x"));
    assert_null(cellar_index_find(api.items, "y"));
    api_load(&api, 0, 0);
    api_close(&api);
#undef CREATE
}

static int load_twins(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    int rc = 0;
    for (uint64_t key = 0; key < 2 && rc == 0; key++) {
        struct item item = item_of(1);
        rc = db_load(client, arg, key, &item, error);
    }
    return rc;
}

static void equal_records_are_no_unique_index(void **state)
{
    struct api api;
    const struct cellar_index *index;
    static const struct cellar_schema schema = {
        "twins", sizeof(struct item), item_columns, ITEM_COLUMNS, 100, 0, 0, 0, 0, 0};
    struct cellar_schema_index_column n[] = {{"n", CELLAR_SORT_UNSIGNED, false}};
    struct cellar_schema_index def = {"n", n, 1, CELLAR_UNIQUE};
    if (!ordered_supported(*state)) return;
    api_open(&api, *state);
    MUST(&api.error, db_table_create(api.db, &schema, &api.items, &api.error));
    MUST(&api.error, api_alone(&api, load_twins, (void *)api.items));
    FAILS(&api.error, db_index_create(api.db, api.items, &def, &index, &api.error), CELLAR_EXISTS, "are equal");
    assert_null(index);
    def.name = "m";
    def.flags = 0;
    MUST(&api.error, db_index_create(api.db, api.items, &def, &index, &api.error));
    api_audit_clean(&api);
    api_close(&api);
}

struct misuse {
    struct api_call call;
    const struct cellar_index *by_a, *by_key;
    uint32_t how;
};

static int misuse(struct cellar_txn *txn, struct api_call *call)
{
    struct misuse *args = (struct misuse *)call;
    struct item low = {.a = 9}, high = {.a = 3};
    struct cellar_range range = {.low = {&low, 1, false}, .high = {&high, 1, false}}, all = {0};
    uint64_t key;
    switch (args->how) {
    case 0:
        return cellar_proc_cursor_open(txn, args->by_a, &range, 0, 0, 0, 0); /* reversed */
    case 1:
        return cellar_proc_cursor_open(txn, NULL, &all, 0, 0, 0, 0);
    case 2:
        return cellar_proc_cursor_open(txn, args->by_a, NULL, 0, 0, 0, 0);
    case 3:
        all.low = (struct cellar_bound){&low, 2, false};
        return cellar_proc_cursor_open(txn, args->by_a, &all, 0, 0, 0, 0);
    case 4:
        all.low = (struct cellar_bound){NULL, 1, false};
        return cellar_proc_cursor_open(txn, args->by_a, &all, 0, 0, 0, 0);
    case 5:
        return cellar_proc_cursor_open(txn, args->by_a, &all, 1u << 9, 0, 0, 0);
    case 6:
        return cellar_proc_cursor_open(txn, args->by_a, &all, 0, 0, 8, 0);
    case 7:
        return cellar_proc_cursor_next(txn, 0, &key, NULL);
    case 8:
        return cellar_proc_cursor_close(txn, -1);
    case 9:
        return cellar_proc_lookup(txn, args->by_key, &low, &key);
    case 10:
        all.low_key = 4;
        all.high_key = 3;
        return cellar_proc_cursor_open(txn, args->by_key, &all, 0, 0, 0, 0);
    default:
        break;
    }
    for (int i = 0; i <= CELLAR_CURSORS_MAX; i++) TRY(cellar_proc_cursor_open(txn, args->by_a, &all, 0, 0, 0, 0));
    return 0;
}

static void misuse_has_a_code(void **state)
{
    static const uint32_t whys[] = {WHY_RANGE, WHY_NO_INDEX, WHY_RANGE,  WHY_RANGE, WHY_RANGE, WHY_CELLS,
                                    WHY_CELLS, WHY_CURSOR,   WHY_CURSOR, WHY_RANGE, WHY_RANGE};
    static struct ordered ordered;
    struct misuse args;
    if (!ordered_supported(*state)) return;
    ordered_open(&ordered, *state);
    args.by_a = ordered.by_a;
    args.by_key = ordered.by_key;
    for (args.how = 0; args.how < 11; args.how++) {
        assert_code(api_run(&ordered.api, misuse, &args), CELLAR_INVALID);
        assert_int_equal(ordered.api.result.detail.why, whys[args.how]);
    }
    assert_code(api_run(&ordered.api, misuse, &args), CELLAR_TOO_LARGE);
    assert_int_equal(ordered.api.result.detail.why, WHY_CURSORS);
    ordered_close(&ordered);
}

/* ---- damage ---- */

struct forgery {
    struct api_call call;
    const struct cellar_table *nodes;
};

/* The next number that a node gets is the root's again. */
static int number_again(struct cellar_txn *txn, struct api_call *call)
{
    const struct forgery *forgery = (const struct forgery *)call;
    uint64_t shape[CELLAR_COLUMN_BYTES_MAX / sizeof(uint64_t)];
    int ref = cellar_proc_access(txn, forgery->nodes, TREENODE_META, 0, TREENODE_SHAPE, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    TRY(cellar_proc_get(txn, ref, 0, shape));
    shape[0] = TREENODE_ROOT;
    return cellar_proc_put(txn, ref, 0, shape);
}

static void a_number_that_is_drawn_again_is_told(void **state)
{
    static struct ordered ordered;
    static struct ordered_change change = {.count = 1};
    if (!ordered_supported(*state)) return;
    ordered_open(&ordered, *state);
    struct forgery forgery = {.nodes = &ordered.by_a->nodes->handle};
    int code = 0;
    for (uint64_t key = 0; key < ORDERED_KEYS && code == 0; key++) {
        change.steps[0].key = change.steps[0].a = key;
        code = key == 500 ? api_run(&ordered.api, number_again, &forgery) : 0; /* the root is no leaf any more */
        if (code == 0) code = api_run(&ordered.api, ordered_change, &change);
    }
    assert_code(code, CELLAR_CORRUPT);
    assert_int_equal(ordered.api.result.detail.why, WHY_TREE);
    api_close(&ordered.api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(changes_are_in_the_index),
        API_TEST(trees_grow_and_shrink),
        API_TEST(a_split_makes_room_for_all),
        API_TEST(own_changes_are_seen),
        API_TEST(unique_columns_stay_unique),
        API_TEST(a_queue_leaves_no_tail),
        API_TEST(scans_meet_no_phantoms),
        API_TEST(an_index_is_built_over_records),
        API_TEST(indexes_are_there_again),
        API_TEST(bad_definitions_are_refused),
        API_TEST(equal_records_are_no_unique_index),
        API_TEST(misuse_has_a_code),
        API_TEST(a_number_that_is_drawn_again_is_told),
    };
    return api_main("api_ordered", tests, sizeof tests / sizeof *tests, argc, argv);
}
