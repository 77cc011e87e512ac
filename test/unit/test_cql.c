/*
 * test_cql.c - the words of DecLock's queue: fields that never reach each other, who is next, versions that tell
 * rounds apart.
 */
#include "cql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "prng.h"

#define CAPACITY 8
#define PLACES 8

static struct cql shape(uint32_t capacity, uint32_t places, uint32_t version_bits)
{
    struct cql cql;
    assert_true(cql_shape(&cql, capacity, places, version_bits));
    return cql;
}

static void zero_bytes_are_a_free_lock(void **state)
{
    struct cql cql = shape(CAPACITY, PLACES, 0);
    struct cql_ticket ticket;
    assert_int_equal(cql_bytes(&cql), 8 * (2 + CAPACITY));
    assert_int_equal(cql_entered(&cql, 0, LOCKMGR_EXCLUSIVE, &ticket), CQL_GRANTED);
    assert_int_equal(ticket.index, 0);
    assert_int_equal(cql_free_word(0), 0);
    assert_int_not_equal(cql_version(&cql, 0), 0);
}

/* Random comings and goings, within what participants can do: each field is the sum of its own. */
static void fields_do_not_reach_each_other(void **state)
{
    struct prng prng;
    prng_seed_stream(&prng, 1, 1);
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t places = 1 + (uint32_t)prng_below(&prng, 500);
        struct cql cql = shape(places, places, 0);
        uint8_t generation = (uint8_t)prng_next(&prng), resetter = (uint8_t)prng_next(&prng);
        uint64_t word = cql_with_resetter(cql_free_word(generation), resetter), head = 0;
        uint32_t size = 0, writers = 0;
        for (uint32_t i = 0; i < 2000; i++) {
            bool enters = size == 0 || (size < 2 * places && prng_below(&prng, 2));
            bool writes = enters ? prng_below(&prng, 2) : prng_below(&prng, size) < writers;
            enum lockmgr_mode mode = writes ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED;
            word += enters ? cql_enter_addend(&cql, mode) : cql_leave_addend(&cql, mode);
            size += enters ? 1 : -1u;
            writers += writes ? (enters ? 1 : -1u) : 0;
            head += !enters;
            struct cql_header header = cql_header_of(&cql, word);
            assert_int_equal(header.head, head);
            assert_int_equal(header.size, size);
            assert_int_equal(header.writers, writers);
            assert_int_equal(header.generation, generation);
            assert_int_equal(header.resetter, resetter);
        }
    }
}

static void entries_keep_what_they_are_told(void **state)
{
    struct cql_entry entry = {.version = 65535, .client = CQL_CLIENTS_MAX - 1, .stamp = 65535, .exclusive = true};
    struct cql_entry read = cql_entry_of(cql_entry_word(&entry));
    assert_int_equal(read.version, entry.version);
    assert_int_equal(read.client, entry.client);
    assert_int_equal(read.stamp, entry.stamp);
    assert_true(read.exclusive);
    assert_true(cql_stamp_before(65535, 3));
    assert_false(cql_stamp_before(3, 65535));
    assert_true(cql_older(255, 0));
}

static void full_rings_and_late_versions_are_refused(void **state)
{
    struct cql cql = shape(CAPACITY, PLACES, 4);
    struct cql_ticket ticket;
    uint64_t word = 0;
    for (uint32_t i = 0; i < CAPACITY; i++) word += cql_enter_addend(&cql, LOCKMGR_SHARED);
    assert_int_equal(cql_entered(&cql, word, LOCKMGR_SHARED, &ticket), CQL_EXHAUSTED);
    word += cql_leave_addend(&cql, LOCKMGR_SHARED);
    assert_int_equal(cql_entered(&cql, word, LOCKMGR_SHARED, &ticket), CQL_GRANTED);
    assert_int_equal(cql_entered(&cql, word, LOCKMGR_EXCLUSIVE, &ticket), CQL_WAITS);
    uint64_t turns = 0;
    for (word = 0; cql_entered(&cql, word, LOCKMGR_EXCLUSIVE, &ticket) == CQL_GRANTED; turns++)
        word += cql_enter_addend(&cql, LOCKMGR_EXCLUSIVE) + cql_leave_addend(&cql, LOCKMGR_EXCLUSIVE);
    assert_int_equal(turns, (uint64_t)cql.version_last * CAPACITY);
    /* All may still come before the reset begins, and no version is met again. */
    assert_true(cql_version(&cql, turns + 2 * PLACES) > cql.version_last);
    assert_false(cql_shape(&cql, 1 << 16, 1 << 23, 0));
}

/* A queue by hand: `left` in that mode leaves; those behind it are 'x', 's' (written), '.' (not written). */
static struct cql_successors next_of(const char *behind, enum lockmgr_mode left, uint32_t writers_missing,
                                     uint64_t first)
{
    struct cql cql = shape(CAPACITY, PLACES, 0);
    uint64_t entries[CAPACITY] = {0}, word = 0;
    for (uint64_t i = 0; i < first; i++)
        word += cql_enter_addend(&cql, LOCKMGR_SHARED) + cql_leave_addend(&cql, LOCKMGR_SHARED);
    word += cql_enter_addend(&cql, left);
    for (uint32_t i = 0; behind[i]; i++) {
        struct cql_entry entry = {.version = cql_version(&cql, first + 1 + i),
                                  .client = 1 + i,
                                  .stamp = (uint16_t)(100 - i),
                                  .exclusive = behind[i] == 'x'};
        bool writer = behind[i] == 'x' || (behind[i] == '.' && writers_missing-- > 0);
        if (writers_missing == UINT32_MAX) writers_missing = 0;
        word += cql_enter_addend(&cql, writer ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED);
        if (behind[i] != '.') entries[cql_slot(&cql, first + 1 + i)] = cql_entry_word(&entry);
    }
    return cql_successors(&cql, word, left, entries);
}

static void check_next(const char *behind, enum lockmgr_mode left, uint32_t writers_missing, enum cql_next next,
                       uint32_t count)
{
    for (uint64_t first = 0; first < 20; first++) {
        struct cql_successors got = next_of(behind, left, writers_missing, first);
        assert_int_equal(got.next, next);
        if (next == CQL_NOTIFY) {
            assert_int_equal(got.first, first + 1);
            assert_int_equal(got.count, count);
            uint32_t last = (uint32_t)strlen(behind); /* of those that are there the last is the earliest */
            while (last > count && behind[last - 1] == '.') last--;
            assert_int_equal(got.stamped, last > count);
            if (got.stamped) assert_int_equal(got.stamp, 100 - (last - 1));
        }
    }
}

static void who_is_next(void **state)
{
    check_next("", LOCKMGR_EXCLUSIVE, 0, CQL_NONE, 0);
    check_next("x", LOCKMGR_EXCLUSIVE, 0, CQL_NOTIFY, 1);
    check_next("xs", LOCKMGR_EXCLUSIVE, 0, CQL_NOTIFY, 1);
    check_next("ss", LOCKMGR_EXCLUSIVE, 0, CQL_NOTIFY, 2);
    check_next("ssx", LOCKMGR_EXCLUSIVE, 0, CQL_NOTIFY, 2);
    check_next(".", LOCKMGR_EXCLUSIVE, 0, CQL_REFETCH, 0);
    check_next("s.x", LOCKMGR_EXCLUSIVE, 0, CQL_REFETCH, 0);
    check_next("x.", LOCKMGR_EXCLUSIVE, 1, CQL_NOTIFY, 1);
    check_next("..", LOCKMGR_SHARED, 0, CQL_NONE, 0);
    check_next("x", LOCKMGR_SHARED, 0, CQL_NOTIFY, 1);
    check_next("sx", LOCKMGR_SHARED, 0, CQL_NONE, 0);
    check_next(".x", LOCKMGR_SHARED, 0, CQL_NONE, 0);
    check_next(".", LOCKMGR_SHARED, 1, CQL_REFETCH, 0);
    check_next("..x", LOCKMGR_SHARED, 1, CQL_REFETCH, 0);
    check_next("x..", LOCKMGR_SHARED, 1, CQL_NOTIFY, 1);
}

static void what_was_overwritten_is_noticed(void **state)
{
    struct cql cql = shape(CAPACITY, PLACES, 0);
    uint64_t entries[CAPACITY] = {0};
    struct cql_entry later = {.version = cql_version(&cql, 1 + CAPACITY), .client = 7, .exclusive = true};
    entries[1] = cql_entry_word(&later);
    uint64_t word = cql_enter_addend(&cql, LOCKMGR_EXCLUSIVE) * 2;
    assert_int_equal(cql_successors(&cql, word, LOCKMGR_EXCLUSIVE, entries).next, CQL_LOST);
    word = cql_enter_addend(&cql, LOCKMGR_SHARED) + cql_enter_addend(&cql, LOCKMGR_EXCLUSIVE);
    assert_int_equal(cql_successors(&cql, word, LOCKMGR_SHARED, entries).next, CQL_NONE);
}

static void the_earliest_waiter_is_no_holder(void **state)
{
    struct cql cql = shape(CAPACITY, PLACES, 0);
    uint64_t words[2 + CAPACITY] = {0};
    uint16_t stamp = 0;
    const char *modes = "ssxs"; /* with stamps 10, 11 ... */
    for (uint32_t i = 0; i < 4; i++) {
        struct cql_entry entry = {.version = cql_version(&cql, i),
                                  .client = 1 + i,
                                  .stamp = (uint16_t)(10 + i),
                                  .exclusive = modes[i] == 'x'};
        words[0] += cql_enter_addend(&cql, entry.exclusive ? LOCKMGR_EXCLUSIVE : LOCKMGR_SHARED);
        words[2 + i] = cql_entry_word(&entry);
    }
    assert_true(cql_earliest(&cql, words, LOCKMGR_SHARED, &stamp));
    assert_int_equal(stamp, 12);
    assert_true(cql_earliest(&cql, words, LOCKMGR_EXCLUSIVE, &stamp));
    assert_int_equal(stamp, 11);
    words[0] = cql_enter_addend(&cql, LOCKMGR_EXCLUSIVE);
    assert_false(cql_earliest(&cql, words, LOCKMGR_EXCLUSIVE, &stamp));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_bytes_are_a_free_lock),
        cmocka_unit_test(fields_do_not_reach_each_other),
        cmocka_unit_test(entries_keep_what_they_are_told),
        cmocka_unit_test(full_rings_and_late_versions_are_refused),
        cmocka_unit_test(who_is_next),
        cmocka_unit_test(what_was_overwritten_is_noticed),
        cmocka_unit_test(the_earliest_waiter_is_no_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
