/*
 * test_ordered_cost.c - round trips of what uses an ordered index while hints are warm: a leaf's shape and its data
 * cells come together, and so do the leaves of a scan.
 */
#include "ordered.h"
#include "numbered.h"
#include "plant.h"
#include "rivals.h"

#define ROWS 900

/*
 * In virtual time alone: by a real clock a transaction that is kept off its processor for some milliseconds has to
 * compare whole versions, which takes a round trip more. In mode 2pl each lock has round trips of its own
 * (test/interleave counts them).
 */
static bool counted(const struct api_variant *variant)
{
    return ordered_supported(variant) && variant->cc != CELLAR_LAB_CC_TWOPL && !variant->threads;
}

struct cost {
    struct ordered ordered;
    struct ordered_scan scan;
};

static void cost_open(struct cost *cost, const struct api_variant *variant)
{
    struct ordered_change change = {.count = 0};
    ordered_open(&cost->ordered, variant);
    for (uint64_t key = 0; key < ROWS; key++) {
        change.steps[change.count].key = key;
        change.steps[change.count].a = 10 * key;
        change.steps[change.count++].kind = ORDERED_PUT;
        if (change.count < 15) continue;
        ordered_call(&cost->ordered, &change);
        change.count = 0;
    }
}

#define ROUNDS 8

/*
 * The least of several equal calls: the first one warms the hints, and one that is kept off the processor between a
 * read and its check compares more (txn_en_may_wrap).
 */
static uint64_t round_trips(struct cost *cost, api_body body, void *args)
{
    struct cellar_lab_stats before, after;
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        cellar_lab_stats_read(cost->ordered.api.db, &before);
        assert_code(api_run(&cost->ordered.api, body, args), 0);
        cellar_lab_stats_read(cost->ordered.api.db, &after);
        uint64_t taken = after.round_trips - before.round_trips;
        if (taken < least) least = taken;
    }
    return least;
}

static uint64_t scan_round_trips(struct cost *cost, uint64_t first, uint64_t count, cellar_cells read, uint32_t flags,
                                 uint64_t limit)
{
    struct item low = {.a = 10 * first}, high = {.a = 10 * (first + count)};
    cost->scan = (struct ordered_scan){.index = cost->ordered.by_a,
                                       .range = {.low = {&low, 1, false}, .high = {&high, 1, true}},
                                       .read = read,
                                       .flags = flags,
                                       .limit = limit};
    uint64_t trips = round_trips(cost, ordered_scan, &cost->scan);
    assert_int_equal(cost->scan.count, limit && limit < count ? limit : count);
    return trips;
}

static void scans_read_leaves_at_once(void **state)
{
    static struct cost cost;
    if (!counted(*state)) skip();
    cost_open(&cost, *state);
    const uint32_t last = 1; /* validation */
    assert_int_equal(scan_round_trips(&cost, 100, 30, 0, 0, 0), 1 + last);
    assert_int_equal(scan_round_trips(&cost, 100, 30, CELL_A, 0, 0), 2 + last);
    assert_int_equal(scan_round_trips(&cost, 100, 600, 0, 0, 200), 1 + last); /* of some five leaves */
    assert_int_equal(scan_round_trips(&cost, 100, 600, 0, CELLAR_BACKWARD, 200), 1 + last);
    assert_int_equal(scan_round_trips(&cost, 100, 60, CELL_A, 0, 60), 2 + last);
    assert_int_equal(scan_round_trips(&cost, 100, 60, CELL_A, CELLAR_BACKWARD, 60), 2 + last);
    ordered_close(&cost.ordered);
}

struct point_read {
    struct api_call call;
    const struct cellar_index *index;
    uint64_t a;
};

static int point_read(struct cellar_txn *txn, struct api_call *call)
{
    const struct point_read *args = (const struct point_read *)call;
    struct item item = {.a = args->a};
    uint64_t key;
    int found = cellar_proc_lookup(txn, args->index, &item, &key);
    TRY(found);
    int ref = cellar_proc_access(txn, call->items, key, CELL_A, 0, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_get(txn, ref, ITEM_A, &item.a);
}

static void a_point_read_takes_a_leaf_and_a_record(void **state)
{
    static struct cost cost;
    if (!counted(*state)) skip();
    cost_open(&cost, *state);
    struct point_read args = {.index = cost.ordered.by_a, .a = 4330};
    assert_int_equal(round_trips(&cost, point_read, &args), 2 + 1);
    ordered_close(&cost.ordered);
}

struct move {
    struct api_call call;
    uint64_t a;
};

static int move(struct cellar_txn *txn, struct api_call *call)
{
    struct move *args = (struct move *)call;
    int ref = cellar_proc_access(txn, call->items, 7, 0, CELL_A, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    args->a++;
    return cellar_proc_put(txn, ref, ITEM_A, &args->a);
}

/*
 * Another value of an indexed column: the record, the entries that go and come, log, unlock; and where not all of a
 * leaf is locked its shape is validated.
 */
static void a_change_of_an_entry_takes_one_more(void **state)
{
    static struct cost cost;
    const struct api_variant *variant = *state;
    bool whole = variant->cc == CELLAR_LAB_CC_RECORD || variant->cc == CELLAR_LAB_CC_FORD;
    if (!counted(*state)) skip();
    cost_open(&cost, *state);
    struct move args = {.a = 4321};
    assert_int_equal(round_trips(&cost, move, &args), whole ? 4 : 5);
    cost.ordered.a[7] = args.a;
    ordered_close(&cost.ordered);
}

/* ---- covered columns ---- */

struct covered_sum {
    struct api_call call;
    const struct cellar_index *index;
    uint32_t flags, count;
    uint64_t limit, sum;
};

static int covered_sum(struct cellar_txn *txn, struct api_call *call)
{
    struct covered_sum *args = (struct covered_sum *)call;
    struct item low = {.a = 1000}, high = {.a = 5000}, row;
    struct cellar_range range = {.low = {&low, 1, false}, .high = {&high, 1, true}};
    uint64_t key;
    int cursor = cellar_proc_cursor_open(txn, args->index, &range, 0, 0, args->flags, args->limit), got;
    TRY(cursor);
    args->sum = args->count = 0;
    while ((got = cellar_proc_cursor_next(txn, cursor, &key, NULL)) == 1) {
        TRY(cellar_proc_cursor_row(txn, cursor, &row));
        args->sum += row.b;
        args->count++;
    }
    return got;
}

static int put_covered(struct cellar_txn *txn, struct api_call *call)
{
    struct move *args = (struct move *)call;
    int ref = cellar_proc_access(txn, call->items, 7, 0, CELL_B, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    args->a++;
    return cellar_proc_put(txn, ref, ITEM_B, &args->a);
}

static void covered_columns_need_no_records(void **state)
{
    static struct cost cost;
    const struct api_variant *variant = *state;
    bool whole = variant->cc == CELLAR_LAB_CC_RECORD || variant->cc == CELLAR_LAB_CC_FORD;
    if (!counted(variant)) skip();
    cost_open(&cost, variant);
    static const struct cellar_schema_index_column columns[] = {{"a", CELLAR_SORT_UNSIGNED, false},
                                                                {"b", CELLAR_COVERED, false}};
    struct covered_sum sum = {.index = ordered_index(&cost.ordered.api, "covering", columns, 2, 0), .limit = 100};
    for (; sum.flags <= CELLAR_BACKWARD; sum.flags += CELLAR_BACKWARD) {
        uint64_t wanted = 0;
        for (uint64_t i = 0; i < 100; i++) wanted += item_of(sum.flags ? 499 - i : 100 + i).b;
        assert_int_equal(round_trips(&cost, covered_sum, &sum), 1 + 1); /* leaves, and validation */
        assert_int_equal(sum.count, 100);
        assert_int_equal(sum.sum, wanted);
    }
    /* the record, its entry in the one index that has b, log, unlock; and the shape's validation */
    struct move put = {.a = 5000};
    assert_int_equal(round_trips(&cost, put_covered, &put), whole ? 4 : 5);
    ordered_close(&cost.ordered);
}

/* ---- several cursors ---- */

struct firsts {
    struct api_call call;
    const struct cellar_index *index;
    uint64_t keys[5];
};

/* The first record of each of five ranges. */
static int firsts(struct cellar_txn *txn, struct api_call *call)
{
    struct firsts *args = (struct firsts *)call;
    int cursors[5];
    for (uint64_t i = 0; i < 5; i++) {
        struct item low = {.a = 1500 * i + 1}, high = {.a = 1500 * i + 1400};
        struct cellar_range range = {.low = {&low, 1, false}, .high = {&high, 1, false}};
        TRY(cursors[i] = cellar_proc_cursor_open(txn, args->index, &range, 0, 0, i % 2 ? CELLAR_BACKWARD : 0, 1));
    }
    for (uint64_t i = 0; i < 5; i++) TRY(cellar_proc_cursor_next(txn, cursors[i], &args->keys[i], NULL));
    return 0;
}

static void cursors_that_are_open_read_together(void **state)
{
    static struct cost cost;
    if (!counted(*state)) skip();
    cost_open(&cost, *state);
    struct firsts args = {.index = cost.ordered.by_a};
    (void)round_trips(&cost, firsts, &args);
    assert_int_equal(round_trips(&cost, firsts, &args), 1 + 1);
    for (uint64_t i = 0; i < 5; i++) assert_int_equal(args.keys[i], i % 2 ? 150 * i + 140 : 150 * i + 1);
    ordered_close(&cost.ordered);
}

/* ---- what was emptied ---- */

#define GONE_FIRST 100
#define GONE 160 /* entries of some four leaves */

static int erase_many(struct cellar_txn *txn, struct api_call *call)
{
    for (uint64_t key = GONE_FIRST; key < GONE_FIRST + GONE; key++)
        TRY(cellar_proc_access(txn, call->items, key, 0, 0, CELLAR_DELETE));
    return cellar_proc_fetch(txn);
}

/* The most that the first entry behind the gap takes, in two indexes. */
static uint64_t reads_over_the_gap(struct cost *cost)
{
    const struct cellar_index *indexes[] = {cost->ordered.by_a, cost->ordered.by_key};
    struct item low = {.a = 10 * GONE_FIRST};
    uint64_t most = 0;
    for (int i = 0; i < 2; i++) {
        struct cellar_lab_stats before, after;
        cost->scan = (struct ordered_scan){.index = indexes[i], .limit = 1};
        if (i == 0) cost->scan.range.low = (struct cellar_bound){&low, 1, false};
        if (i == 1) cost->scan.range = (struct cellar_range){.low_key = GONE_FIRST, .high_key = UINT64_MAX};
        for (int turn = 0; turn < 2; turn++) { /* the first one warms the hints */
            cellar_lab_stats_read(cost->ordered.api.db, &before);
            assert_code(api_run(&cost->ordered.api, ordered_scan, &cost->scan), 0);
            cellar_lab_stats_read(cost->ordered.api.db, &after);
        }
        assert_int_equal(cost->scan.keys[0], GONE_FIRST + GONE);
        uint64_t reads =
            after.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ] - before.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ];
        most = reads > most ? reads : most;
    }
    return most;
}

static uint64_t reads_after_erasing(const struct api_variant *variant)
{
    static struct cost cost;
    const struct cellar_proc_def def = {
        .name = "many", .fn = api_any, .records_max = GONE, .writes_max = GONE, .log_bytes_max = 20 << 10};
    const struct cellar_proc *many;
    cost_open(&cost, variant);
    struct api *api = &cost.ordered.api;
    MUST(&api->error, db_proc_register(api->db, &def, &many, &api->error));
    struct api_call call = {.body = erase_many, .items = api->items};
    assert_code(cellar_proc_run(api->db, many, &call, NULL, &api->result), 0);
    uint64_t reads = reads_over_the_gap(&cost);
    memset(cost.ordered.there + GONE_FIRST, 0, GONE * sizeof *cost.ordered.there);
    ordered_close(&cost.ordered);
    return reads;
}

static void leaves_that_one_transaction_empties_go(void **state)
{
    if (!counted(*state)) skip();
    uint64_t reads = reads_after_erasing(*state);
    assert_true(reads <= 3);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("tree_tidied_once"));
    assert_true(reads_after_erasing(*state) > reads);
    assert_true(plant_choose(NULL));
#endif
}

/* ---- what splits leave ---- */

#define SCATTER 7 /* of no divisor of ROWS */

/* The most round trips of a scan, anywhere, once rows have come in no order. */
static uint64_t trips_after_splits(const struct api_variant *variant)
{
    static struct cost cost;
    struct ordered_change change = {.count = 0};
    uint64_t most = 0;
    ordered_open(&cost.ordered, variant);
    for (uint64_t i = 0; i < ROWS; i++) {
        const uint64_t key = i * SCATTER * SCATTER * SCATTER % ROWS;
        change.steps[0].key = key;
        change.steps[0].a = 10 * key;
        change.steps[0].kind = ORDERED_PUT;
        change.count = 1;
        ordered_call(&cost.ordered, &change);
    }
    for (uint64_t first = 0; first + 60 <= ROWS; first += 20) {
        uint64_t trips = scan_round_trips(&cost, first, 60, 0, 0, 60);
        most = trips > most ? trips : most;
    }
    ordered_close(&cost.ordered);
    return most;
}

static void scans_go_to_no_sibling_that_its_parent_does_not_know(void **state)
{
    if (!counted(*state)) skip();
    const uint64_t most = 2 + 1; /* leaves of two parents, and validation */
    assert_true(trips_after_splits(*state) <= most);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("tree_split_untold"));
    assert_true(trips_after_splits(*state) > most);
    assert_true(plant_choose(NULL));
#endif
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {API_TEST(scans_read_leaves_at_once),
                                      API_TEST(a_point_read_takes_a_leaf_and_a_record),
                                      API_TEST(covered_columns_need_no_records),
                                      API_TEST(cursors_that_are_open_read_together),
                                      API_TEST(a_change_of_an_entry_takes_one_more),
                                      API_TEST(leaves_that_one_transaction_empties_go),
                                      API_TEST(scans_go_to_no_sibling_that_its_parent_does_not_know)};
    return api_main("ordered_cost", tests, sizeof tests / sizeof *tests, argc, argv);
}
