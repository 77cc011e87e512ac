/*
 * test_recover_log.c - which log entries count: whole, of that node and incarnation, with all they depend on; and
 * nothing that a ring of arbitrary bytes holds can make the reader leave it.
 */
#include "recover_log.h"
#include "plant.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RING_BYTES 8192
#define XXH_INLINE_ALL
#include <xxhash.h>

#define CN 3
#define INCARNATION 77

struct ring {
    _Alignas(64) uint8_t bytes[RING_BYTES];
    uint64_t used;
};

struct made {
    uint32_t cn, coordinator;
    uint64_t incarnation, sequence, ts, watermark;
    const struct log_dep_wire *deps;
    uint32_t dep_count;
};

/* One entry with one change, at the ring's end; returns where. */
static uint64_t put(struct ring *ring, struct made made)
{
    uint64_t at = ring->used;
    struct log_entry_wire *entry = (struct log_entry_wire *)(void *)(ring->bytes + at);
    uint32_t bytes = (uint32_t)(sizeof *entry + made.dep_count * sizeof(struct log_dep_wire) + logseg_write_bytes(8));
    assert_true(at + bytes <= RING_BYTES);
    memset(entry, 0, bytes);
    *entry = (struct log_entry_wire){.magic = LAYOUT_LOG_MAGIC,
                                     .bytes = bytes,
                                     .cn = made.cn,
                                     .coordinator = made.coordinator,
                                     .incarnation = made.incarnation,
                                     .sequence = made.sequence,
                                     .ts = made.ts,
                                     .watermark = made.watermark,
                                     .dep_count = made.dep_count,
                                     .write_count = 1};
    if (made.dep_count) memcpy(entry + 1, made.deps, made.dep_count * sizeof *made.deps);
    struct log_write_wire *write =
        (struct log_write_wire *)(void *)((uint8_t *)(entry + 1) + made.dep_count * sizeof *made.deps);
    *write = (struct log_write_wire){.addr = 64, .kind = LAYOUT_LOG_CELL, .value_bytes = 8};
    entry->checksum = XXH3_64bits(entry, bytes);
    ring->used = (at + bytes + LAYOUT_LINE - 1) / LAYOUT_LINE * LAYOUT_LINE;
    return at;
}

static struct made entry_of(uint32_t coordinator, uint64_t sequence, uint64_t watermark)
{
    return (struct made){CN, coordinator, INCARNATION, sequence, 100 * sequence + coordinator, watermark, NULL, 0};
}

static struct log_dep_wire dep_on(uint32_t coordinator, uint64_t sequence)
{
    return (struct log_dep_wire){CN, coordinator, INCARNATION, sequence};
}

static struct ring *ring_new(void)
{
    struct ring *ring = aligned_alloc(64, sizeof *ring);
    assert_non_null(ring);
    memset(ring, 0, sizeof *ring);
    return ring;
}

static void take(struct recover_log *log, const struct ring *ring, uint32_t coordinator, uint32_t replica)
{
    struct fabric_addr addr = fabric_addr_of(0, (uint64_t)(coordinator + 1) << 20);
    assert_int_equal(recover_log_add(log, ring->bytes, RING_BYTES, addr, coordinator, replica), 0);
}

static void decide(struct recover_log *log) { assert_int_equal(recover_log_decide(log, NULL), 0); }

static void only_the_last_of_a_plain_log_is_due(void **state)
{
    struct ring *ring = ring_new();
    struct recover_log log;
    (void)state;
    for (uint64_t sequence = 1; sequence <= 5; sequence++) put(ring, entry_of(0, sequence, sequence - 1));
    recover_log_init(&log, CN, INCARNATION);
    take(&log, ring, 0, 0);
    take(&log, ring, 0, 1);
    decide(&log);
    assert_int_equal(log.count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(log.entries[i].counts);
        assert_int_equal(log.entries[i].due, i == 4);
        assert_int_equal(log.entries[i].replicas, 3);
        assert_int_equal(log.entries[i].wire->sequence, i + 1);
    }
    assert_int_equal(recover_log_watermark(&log, 0), 4);
    assert_int_equal(recover_log_mark(&log, 0, 3), 0); /* the larger one holds */
    assert_int_equal(recover_log_watermark(&log, 0), 4);
    assert_int_equal(recover_log_mark(&log, 2, 7), 0); /* of a coordinator without entries, too */
    assert_int_equal(recover_log_watermark(&log, 2), 7);
    assert_int_equal(recover_log_watermark(&log, 1), 0);
    assert_null(recover_log_find(&log, 0, 6));
    assert_null(recover_log_find(&log, 1, 5));
    recover_log_free(&log);
    free(ring);
}

static void strangers_do_not_count(void **state)
{
    struct ring *ring = ring_new();
    struct recover_log log;
    struct made other_cn = entry_of(0, 1, 0), other_life = entry_of(0, 2, 0), other_ring = entry_of(1, 3, 0);
    (void)state;
    other_cn.cn = CN + 1;
    other_life.incarnation--;
    put(ring, other_cn);
    put(ring, other_life);
    put(ring, other_ring);
    put(ring, entry_of(0, 4, 0));
    recover_log_init(&log, CN, INCARNATION);
    take(&log, ring, 0, 0);
    decide(&log);
    assert_int_equal(log.whole, 4);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.entries[0].wire->sequence, 4);
    recover_log_free(&log);
    free(ring);
}

/* 0:1 <- 1:1 <- 2:1, and 3:1 that depends on what is below a watermark. */
static void dependencies_hold_or_fall_together(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct ring *rings[4];
        struct recover_log log;
        struct log_dep_wire on_first = dep_on(0, 9), on_second = dep_on(1, 1), on_old = dep_on(0, 7);
        struct made second = entry_of(1, 1, 0), third = entry_of(2, 1, 0), fourth = entry_of(3, 1, 0);
        for (int i = 0; i < 4; i++) rings[i] = ring_new();
        put(rings[0], entry_of(0, 8, 7));
        if (!lost) put(rings[0], entry_of(0, 9, 7));
        second.deps = &on_first, third.deps = &on_second, fourth.deps = &on_old;
        second.dep_count = third.dep_count = fourth.dep_count = 1;
        put(rings[1], second);
        put(rings[2], third);
        put(rings[3], fourth);
        recover_log_init(&log, CN, INCARNATION);
        for (uint32_t i = 0; i < 4; i++) take(&log, rings[i], i, 0);
        decide(&log);
        assert_true(recover_log_find(&log, 0, 8)->due);
        assert_int_equal(recover_log_find(&log, 1, 1)->counts, !lost);
        assert_int_equal(recover_log_find(&log, 2, 1)->counts, !lost);
        assert_int_equal(recover_log_find(&log, 2, 1)->due, !lost);
        assert_true(recover_log_find(&log, 3, 1)->due);
        recover_log_free(&log);
        for (int i = 0; i < 4; i++) free(rings[i]);
    }
}

static void dependencies_on_strangers_never_hold(void **state)
{
    struct ring *ring = ring_new();
    struct recover_log log;
    struct log_dep_wire other_cn = dep_on(0, 1), other_life = dep_on(0, 1);
    struct made a = entry_of(0, 2, 0), b = entry_of(0, 3, 0);
    (void)state;
    other_cn.cn++;
    other_life.incarnation++;
    a.deps = &other_cn, b.deps = &other_life;
    a.dep_count = b.dep_count = 1;
    put(ring, entry_of(0, 1, 0));
    put(ring, a);
    put(ring, b);
    recover_log_init(&log, CN, INCARNATION);
    take(&log, ring, 0, 0);
    decide(&log);
    assert_true(recover_log_find(&log, 0, 1)->counts);
    assert_false(recover_log_find(&log, 0, 2)->counts);
    assert_false(recover_log_find(&log, 0, 3)->counts);
    recover_log_free(&log);
    free(ring);
}

/* A ring whose newest entry is torn at every line and every length: it counts whole or not at all. */
static void torn_entries_do_not_count(void **state)
{
    (void)state;
    for (uint32_t cut = 0; cut < 104; cut += 8) {
        struct ring *ring = ring_new();
        struct recover_log log;
        put(ring, entry_of(0, 1, 0));
        uint64_t at = put(ring, entry_of(0, 2, 1));
        memset(ring->bytes + at + cut, 0xee, 104 - cut);
        recover_log_init(&log, CN, INCARNATION);
        take(&log, ring, 0, 0);
        decide(&log);
        assert_int_equal(log.count, 1);
        assert_true(log.entries[0].due);
        recover_log_free(&log);
        free(ring);
    }
}

/* Sizes and counts that lead outside, with a right checksum: one line of an entry at the very end of the ring. */
static void oversized_entries_do_not_count(void **state)
{
    struct prng prng;
    (void)state;
    prng_seed(&prng, 5);
    for (int round = 0; round < 20000; round++) {
        struct ring *ring = ring_new();
        struct recover_log log;
        uint64_t at = put(ring, entry_of(0, 1, 0));
        struct log_entry_wire *entry = (struct log_entry_wire *)(void *)(ring->bytes + at);
        uint32_t *fields[] = {&entry->bytes, &entry->dep_count, &entry->write_count};
        *fields[prng_below(&prng, 3)] = (uint32_t)(prng_below(&prng, 2) ? prng_next(&prng) : prng_below(&prng, 400));
        entry->checksum = 0;
        uint32_t bytes = entry->bytes <= RING_BYTES && entry->bytes >= sizeof *entry ? entry->bytes : 104;
        entry->checksum = XXH3_64bits(entry, bytes);
        recover_log_init(&log, CN, INCARNATION);
        take(&log, ring, 0, 0);
        decide(&log);
        for (uint32_t i = 0; i < log.count; i++) assert_true(log.entries[i].wire->bytes <= RING_BYTES);
        recover_log_free(&log);
        free(ring);
    }
}

static void entries_of_one_name_that_differ_are_refused(void **state)
{
    struct ring *one = ring_new(), *other = ring_new();
    struct recover_log log;
    struct cellar_error error = {0};
    struct made changed = entry_of(0, 1, 0);
    (void)state;
    changed.ts++;
    put(one, entry_of(0, 1, 0));
    put(other, changed);
    recover_log_init(&log, CN, INCARNATION);
    take(&log, one, 0, 0);
    take(&log, other, 0, 1);
    assert_int_equal(recover_log_decide(&log, &error), CELLAR_CORRUPT);
    assert_non_null(strstr(error.text, "two entries of sequence 1"));
    recover_log_free(&log);
    free(one);
    free(other);
}

static void an_empty_log_is_decided(void **state)
{
    struct recover_log log;
    (void)state;
    recover_log_init(&log, CN, INCARNATION);
    decide(&log);
    assert_int_equal(log.count, 0);
    assert_int_equal(recover_log_watermark(&log, 0), 0);
    recover_log_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_last_of_a_plain_log_is_due),
        cmocka_unit_test(strangers_do_not_count),
        cmocka_unit_test(dependencies_hold_or_fall_together),
        cmocka_unit_test(dependencies_on_strangers_never_hold),
        cmocka_unit_test(torn_entries_do_not_count),
        cmocka_unit_test(oversized_entries_do_not_count),
        cmocka_unit_test(entries_of_one_name_that_differ_are_refused),
        cmocka_unit_test(an_empty_log_is_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
