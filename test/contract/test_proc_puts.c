/*
 * test_proc_puts.c - rows that a procedure puts once it has read and locked them: when they are in the attempt's own
 * copy at once (INV-PROC-3), what its later calls see of them, and what is left of them when it has returned.
 */
#include "cellar_lab.h"
#include "cellar_proc.h"
#include "face_calls.h"
#include "plant.h"
#include "rivals.h"
#include "txn.h"

#include <stdbool.h>

struct good {
    uint64_t id;
    int64_t cents, rank;
    struct cellar_bytes name;
};
enum { ID, CENTS, RANK, NAME };
static const struct cellar_column columns[] = {{CELLAR_FIELD(struct good, id), .flags = CELLAR_KEY},
                                               {CELLAR_FIELD(struct good, cents)},
                                               {CELLAR_FIELD(struct good, rank)},
                                               {CELLAR_FIELD(struct good, name), .bytes_max = 8}};
static const struct cellar_index_def by_rank[] = {{.name = "by_rank", .columns = "rank"}};
enum { FIRST = 1, GOODS = 3, PRICE = 100 };
enum { REFUSED = 1 };

struct shop {
    struct cellar *db;
    const struct cellar_table *goods;
    const struct cellar_index *by_rank;
    int64_t seen[8]; /* by the procedure that has run last */
    bool at_once[8]; /* its puts */
};

static int fill(struct cellar_txn *txn, void *arg)
{
    const struct shop *shop = arg;
    int rc = 0;
    for (uint64_t id = FIRST; id <= GOODS && rc == 0; id++)
        rc = cellar_insert(txn, shop->goods, &(struct good){id, PRICE, (int64_t)id, CELLAR_TEXT("thing")});
    return rc;
}

static bool shop_open(struct shop *shop, uint32_t mode)
{
    *shop = (struct shop){0};
    const struct cellar_lab *lab = CELLAR_LAB(.cc = mode);
    int rc = cellar_open(NULL, CELLAR_OPTIONS(.bytes = 16u << 20, .threads = 1, .lab = lab), &shop->db);
    if (rc == CELLAR_UNSUPPORTED) return false; /* this build does not have it */
    ok(rc);
    ok(cellar_table_open(
        shop->db, CELLAR_TABLE(struct good, columns, .name = "goods", CELLAR_INDEXES(by_rank), .flags = CELLAR_ORDERED),
        0, &shop->goods));
    shop->by_rank = cellar_index_find(shop->goods, "by_rank");
    assert_non_null(shop->by_rank);
    ok(cellar_run(shop->db, fill, shop, NULL, NULL));
    return true;
}

static int ran(struct shop *shop, const char *name, cellar_txn_fn fn)
{
    const struct cellar_proc *proc;
    const struct cellar_proc_def def = {.name = name, .fn = fn, .records_max = 8, .writes_max = 8};
    ok(cellar_proc_register(shop->db, &def, &proc));
    return cellar_proc_run(shop->db, proc, shop, NULL, NULL);
}

static struct good good_of(const struct shop *shop, uint64_t id)
{
    struct good good = {.id = id, .cents = -1};
    struct cellar_txn *txn = face_begun(shop->db);
    int rc = cellar_get(txn, shop->goods, CELLAR_COL(CENTS) | CELLAR_COL(RANK), 0, &good);
    if (rc != CELLAR_NOT_FOUND) ok(rc);
    cellar_abort(txn);
    return good;
}

/* ---- steps of procedures, which keep in shop->seen what they see ---- */

static int locked(struct cellar_txn *txn, const struct shop *shop, struct good *good)
{
    return cellar_get(txn, shop->goods, CELLAR_ALL, CELLAR_ALL, good);
}

static uint32_t written(struct cellar_txn *txn, const struct shop *shop, uint64_t id)
{
    int32_t ref = cache_find(&txn->txn.cache, shop->goods->table, id);
    return ref < 0 ? 0 : txn_object(&txn->txn, ref)->written_cells;
}

static int priced(struct cellar_txn *txn, const struct shop *shop, int64_t cents)
{
    return cellar_put(txn, shop->goods, CELLAR_COL(CENTS), &(struct good){.id = FIRST, .cents = cents});
}

static int saw(struct cellar_txn *txn, struct shop *shop, int step)
{
    struct good good = {.id = FIRST};
    int rc = cellar_get(txn, shop->goods, CELLAR_COL(CENTS), 0, &good);
    shop->seen[step] = rc == CELLAR_NOT_FOUND ? -1 : good.cents;
    return rc == CELLAR_NOT_FOUND ? 0 : rc;
}

/* ---- what is read afterwards ---- */

static int reads_it(struct cellar_txn *txn, void *arg)
{
    struct shop *shop = arg;
    struct good good = {.id = FIRST}, again = {.id = FIRST}, shown[GOODS];
    struct cellar_read read = CELLAR_READ(shop->goods, &again);
    struct cellar_cursor *cursor;
    int rc = locked(txn, shop, &good);
    good.cents = 1;
    good.name = CELLAR_TEXT("other");
    if (rc == 0) rc = cellar_put(txn, shop->goods, CELLAR_COL(CENTS) | CELLAR_COL(NAME), &good);
    shop->at_once[0] = written(txn, shop, FIRST);
    if (rc == 0) rc = saw(txn, shop, 0);
    if (rc == 0) rc = cellar_get_many(txn, &read, 1);
    shop->seen[1] = again.cents + (again.name.bytes == 5 && !memcmp(again.name.data, "other", 5) ? 0 : 1000);
    if (rc == 0) rc = cellar_cursor_open(txn, CELLAR_SCAN(struct good, shop->goods), &cursor);
    if (rc == 0) rc = priced(txn, shop, 2); /* the cursor shows what was there before */
    if (rc == 0) rc = saw(txn, shop, 2);
    int count = rc ? rc : cellar_cursor_next(cursor, GOODS, shown);
    if (count < 0) return count;
    shop->seen[3] = shown[0].cents;
    shop->seen[4] = count;
    cellar_cursor_close(cursor);
    return 0;
}

static void what_was_put_is_read(struct shop *shop)
{
    const int64_t seen[] = {1, 1, 2, 1, GOODS};
    ok(ran(shop, "reads_it", reads_it));
    assert_memory_equal(shop->seen, seen, sizeof seen);
    assert_int_equal(good_of(shop, FIRST).cents, 2);
}

/* ---- savepoints ---- */

static int rolls_back(struct cellar_txn *txn, void *arg)
{
    struct shop *shop = arg;
    int rc = locked(txn, shop, &(struct good){.id = FIRST});
    if (rc == 0) rc = priced(txn, shop, 1);
    int savepoint = rc ? rc : cellar_savepoint(txn);
    if (savepoint < 0) return savepoint;
    rc = priced(txn, shop, 2);
    if (rc == 0) rc = saw(txn, shop, 0);
    if (rc == 0) rc = cellar_rollback_to(txn, savepoint);
    if (rc == 0) rc = saw(txn, shop, 1);
    return rc;
}

static int keeps(struct cellar_txn *txn, void *arg)
{
    struct shop *shop = arg;
    int rc = locked(txn, shop, &(struct good){.id = FIRST});
    if (rc == 0) rc = priced(txn, shop, 3);
    int savepoint = rc ? rc : cellar_savepoint(txn);
    if (savepoint < 0) return savepoint;
    rc = priced(txn, shop, 4);
    if (rc == 0) rc = cellar_release(txn, savepoint);
    if (rc == 0) rc = priced(txn, shop, 5); /* behind the savepoint's */
    return rc ? rc : saw(txn, shop, 0);
}

static void a_savepoint_has_what_was_put_behind_it(struct shop *shop)
{
    ok(ran(shop, "rolls_back", rolls_back));
    assert_int_equal(shop->seen[0], 2);
    assert_int_equal(shop->seen[1], 1);
    assert_int_equal(good_of(shop, FIRST).cents, 1);
    ok(ran(shop, "keeps", keeps));
    assert_int_equal(shop->seen[0], 5);
    assert_int_equal(good_of(shop, FIRST).cents, 5);
}

/* ---- indexes ---- */

static int moves(struct cellar_txn *txn, void *arg)
{
    struct shop *shop = arg;
    struct good good = {.id = FIRST}, shown[GOODS];
    struct cellar_cursor *cursor;
    int rc = locked(txn, shop, &good);
    if (rc == 0) rc = priced(txn, shop, 6);
    good.rank = 9;
    if (rc == 0) rc = cellar_put(txn, shop->goods, CELLAR_COL(RANK), &good);
    if (rc == 0) rc = cellar_cursor_open(txn, CELLAR_SCAN(struct good, shop->goods, .index = shop->by_rank), &cursor);
    int count = rc ? rc : cellar_cursor_next(cursor, GOODS, shown);
    for (int i = 0; i < count; i++) shop->seen[i] = (int64_t)shown[i].id;
    return count < 0 ? count : 0;
}

/* A cursor has gone through the index when the row whose entry has moved is deleted. */
static int moves_and_deletes(struct cellar_txn *txn, void *arg)
{
    struct shop *shop = arg;
    struct good good = {.id = GOODS}, shown[GOODS];
    struct cellar_cursor *cursor;
    int rc = locked(txn, shop, &good);
    good.rank = 20;
    if (rc == 0) rc = cellar_put(txn, shop->goods, CELLAR_COL(RANK), &good);
    shop->at_once[0] = written(txn, shop, GOODS);
    if (rc == 0) rc = cellar_cursor_open(txn, CELLAR_SCAN(struct good, shop->goods, .index = shop->by_rank), &cursor);
    int count = rc ? rc : cellar_cursor_next(cursor, GOODS, shown);
    if (count < 0) return count;
    cellar_cursor_close(cursor);
    if (shown[GOODS - 1].id != GOODS) return REFUSED;
    return cellar_delete(txn, shop->goods, &good);
}

static void an_entry_goes_with_its_row(struct shop *shop)
{
    ok(ran(shop, "moves_and_deletes", moves_and_deletes));
    assert_int_equal(good_of(shop, GOODS).cents, -1);
    ok(cellar_cluster_audit(shop->db)); /* of indexes, too */
}

static void an_entry_moves_with_its_column(struct shop *shop)
{
    const int64_t seen[] = {FIRST + 1, FIRST + 2, FIRST};
    ok(ran(shop, "moves", moves));
    assert_memory_equal(shop->seen, seen, sizeof seen);
    assert_int_equal(good_of(shop, FIRST).rank, 9);
    assert_int_equal(good_of(shop, FIRST).cents, 6);
}

/* ---- ends ---- */

static int refuses(struct cellar_txn *txn, void *arg)
{
    const struct shop *shop = arg;
    int rc = locked(txn, shop, &(struct good){.id = FIRST});
    if (rc == 0) rc = priced(txn, shop, 7);
    return rc ? rc : REFUSED;
}

static int deletes(struct cellar_txn *txn, void *arg)
{
    struct shop *shop = arg;
    struct good good = {.id = FIRST};
    int rc = locked(txn, shop, &good);
    if (rc == 0) rc = priced(txn, shop, 8);
    if (rc == 0) rc = cellar_delete(txn, shop->goods, &good);
    return rc ? rc : saw(txn, shop, 0);
}

static int deletes_and_inserts(struct cellar_txn *txn, void *arg)
{
    struct shop *shop = arg;
    struct good good = {.id = FIRST + 1};
    int rc = locked(txn, shop, &good);
    good.cents = 9;
    if (rc == 0) rc = cellar_put(txn, shop->goods, CELLAR_COL(CENTS), &good);
    if (rc == 0) rc = cellar_delete(txn, shop->goods, &good);
    good.cents = 10;
    return rc ? rc : cellar_insert(txn, shop->goods, &good);
}

static void a_put_ends_with_its_row_or_attempt(struct shop *shop)
{
    int64_t before = good_of(shop, FIRST).cents;
    assert_int_equal(ran(shop, "refuses", refuses), REFUSED);
    assert_int_equal(good_of(shop, FIRST).cents, before);
    ok(ran(shop, "deletes", deletes));
    assert_int_equal(shop->seen[0], -1);
    assert_int_equal(good_of(shop, FIRST).cents, -1);
    ok(ran(shop, "deletes_and_inserts", deletes_and_inserts));
    assert_int_equal(good_of(shop, FIRST + 1).cents, 10);
}

static void puts_in_each_mode(void **state)
{
    static const uint32_t modes[] = {CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_RECORD,
                                     CELLAR_LAB_CC_CREST, CELLAR_LAB_CC_FORD};
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct shop shop;
        if (!shop_open(&shop, modes[i])) continue;
        what_was_put_is_read(&shop);
        if (modes[i] == CELLAR_LAB_CC_CELL) assert_true(shop.at_once[0]);
        a_savepoint_has_what_was_put_behind_it(&shop);
        an_entry_moves_with_its_column(&shop);
        an_entry_goes_with_its_row(&shop);
        if (modes[i] == CELLAR_LAB_CC_CELL) assert_true(shop.at_once[0]);
        a_put_ends_with_its_row_or_attempt(&shop);
        face_close(shop.db);
    }
}

#ifdef CELLAR_PLANTS
static void plants_are_met(void **state)
{
    struct shop shop;
    (void)state;
    assert_true(plant_choose("procedure_put_kept"));
    assert_true(shop_open(&shop, CELLAR_LAB_CC_CELL));
    ok(ran(&shop, "rolls_back", rolls_back));
    assert_int_equal(good_of(&shop, FIRST).cents, 2); /* which was rolled back */
    ok(ran(&shop, "reads_it", reads_it));
    assert_int_equal(shop.seen[3], 2); /* put since the cursor was opened */
    face_close(shop.db);
    assert_true(plant_choose(NULL));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_in_each_mode),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
