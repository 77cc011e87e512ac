/*
 * test_hot_hint.c - which records a compute node takes for hot: found when learnt, not when forgotten, counted once,
 * and evicted when there is no place.
 */
#include "catalog.h"
#include "hot_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct hot *hot_new(void)
{
    struct hot *hot = calloc(1, sizeof *hot);
    assert_non_null(hot);
    hot->records = calloc(HOT_RECORDS, sizeof *hot->records);
    assert_non_null(hot->records);
    return hot;
}

static void hot_free(struct hot *hot)
{
    free(hot->records);
    free(hot);
}

static struct table *tables_new(void)
{
    struct table *tables = calloc(2, sizeof *tables);
    assert_non_null(tables);
    tables[0].id = 1;
    tables[1].id = 2;
    return tables;
}

static uint64_t ways_of(const struct hot *hot, const struct hot_record *record)
{
    return (uint64_t)(record - hot->records) / HOT_WAYS;
}

static void what_is_learnt_is_found_until_it_is_forgotten(void **state)
{
    struct hot *hot = hot_new();
    struct table *tables = tables_new();
    (void)state;
    for (uint64_t key = 0; key < 100; key++) {
        assert_null(hot_find(hot, &tables[0], key));
        hot_learn(hot, &tables[0], key);
        hot_learn(hot, &tables[0], key); /* as of another coordinator, which met it, too */
        assert_non_null(hot_find(hot, &tables[0], key));
        assert_null(hot_find(hot, &tables[1], key));
        assert_int_equal(hot->hot_count, key + 1);
    }
    for (uint64_t key = 0; key < 100; key++) {
        struct hot_record *record = hot_find(hot, &tables[0], key);
        record->losses = record->read_cells = 7;
        record->rare = true;
        hot_forget(hot, &tables[1], key); /* that one is not known */
        assert_ptr_equal(hot_find(hot, &tables[0], key), record);
        hot_forget(hot, &tables[0], key);
        hot_forget(hot, &tables[0], key);
        assert_null(hot_find(hot, &tables[0], key));
        assert_int_equal(hot->hot_count, 99 - key);
        assert_int_equal(record->losses, 0);
        assert_int_equal(record->read_cells, 0);
        hot_learn(hot, &tables[0], key); /* in the place that still has its name, and as young */
        assert_ptr_equal(hot_find(hot, &tables[0], key), record);
        assert_false(record->rare);
        hot_forget(hot, &tables[0], key);
    }
    hot_free(hot);
    free(tables);
}

/* Keys whose places are the same few: one more than there are places. */
static void one_too_many_takes_the_place_of_another(void **state)
{
    struct hot *hot = hot_new();
    struct table *tables = tables_new();
    uint64_t keys[HOT_WAYS + 1], ways = 0;
    uint32_t count = 0, left = 0;
    (void)state;
    for (uint64_t key = 0; count <= HOT_WAYS; key++) {
        hot_learn(hot, &tables[0], key);
        struct hot_record *record = hot_find(hot, &tables[0], key);
        assert_non_null(record);
        if (count == 0) ways = ways_of(hot, record);
        if (ways_of(hot, record) == ways) {
            keys[count++] = key;
            record->losses = record->read_cells = 7;
            record->since_ns = record->entered_since_ns = 7;
            record->rare = true;
        } else {
            hot_forget(hot, &tables[0], key);
        }
        assert_int_equal(hot->hot_count, count < HOT_WAYS ? count : HOT_WAYS);
    }
    for (uint32_t i = 0; i <= HOT_WAYS; i++) left += hot_find(hot, &tables[0], keys[i]) != NULL;
    assert_int_equal(left, HOT_WAYS);
    hot_forget(hot, &tables[0], keys[HOT_WAYS]); /* the last one had a place */
    assert_int_equal(hot->hot_count, HOT_WAYS - 1);

    /* What is in a new one's place is not what its predecessor left. */
    hot_learn(hot, &tables[1], keys[0]);
    struct hot_record *record = hot_find(hot, &tables[1], keys[0]);
    assert_true(record->losses == 0 && record->read_cells == 0 && record->entered_since_ns == 0 && !record->rare);
    hot_free(hot);
    free(tables);
}

/* The names spread: of many keys no place has more than a few. */
static void places_are_shared_out(void **state)
{
    struct hot *hot = hot_new();
    struct table *tables = tables_new();
    uint32_t found = 0;
    (void)state;
    for (uint64_t key = 0; key < HOT_RECORDS / 8; key++) hot_learn(hot, &tables[key % 2], key);
    for (uint64_t key = 0; key < HOT_RECORDS / 8; key++) found += hot_find(hot, &tables[key % 2], key) != NULL;
    assert_true(found >= HOT_RECORDS / 8 * 99 / 100);
    assert_int_equal(hot->hot_count, found);
    hot_free(hot);
    free(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_learnt_is_found_until_it_is_forgotten),
                                       cmocka_unit_test(one_too_many_takes_the_place_of_another),
                                       cmocka_unit_test(places_are_shared_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
