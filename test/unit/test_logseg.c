/*
 * test_logseg.c - what is written to a log is what is read back; an entry that is not whole never counts; and entries
 * in the ring keep off the one before them.
 */
#include "logseg.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#define BUFFER_BYTES 4096
#define RING_BYTES 16384

struct log {
    struct logseg seg;
    struct logseg_entry entry;
    struct prng prng;
    uint8_t buffer[BUFFER_BYTES] __attribute__((aligned(8)));
};

static void log_init(struct log *log, uint64_t ring_bytes)
{
    logseg_init(&log->seg, fabric_addr_of(1, 1 << 20), ring_bytes, 3, 4, 77);
    prng_seed(&log->prng, 1);
}

/* An entry of random changes; their number. */
static uint32_t log_fill(struct log *log, uint32_t changes_max, uint32_t value_max)
{
    uint32_t count = (uint32_t)prng_below(&log->prng, changes_max + 1), done = 0;
    memset(log->buffer, 0xff, sizeof log->buffer);
    logseg_entry_begin(&log->entry, log->buffer, BUFFER_BYTES);
    for (; done < count; done++) {
        uint32_t bytes = (uint32_t)prng_below(&log->prng, value_max + 1);
        enum layout_log_kind kind =
            (enum layout_log_kind)prng_between(&log->prng, LAYOUT_LOG_CELL, LAYOUT_LOG_UNDO_BUCKET);
        uint8_t *value =
            logseg_entry_add(&log->entry, kind, fabric_addr_of(0, 64 * (done + 1)), 1000 + done, 9, done % 20, bytes);
        if (!value) break;
        memset(value, (int)(done + 1), bytes);
    }
    return done;
}

static const struct log_entry_wire *parse(const struct log *log) { return logseg_parse(log->buffer, log->entry.bytes); }

/* ---- round trip ---- */

static void check_changes(const struct log_entry_wire *entry, uint32_t count)
{
    const struct log_write_wire *write = NULL;
    uint32_t n = 0;
    while ((write = logseg_next_write(entry, write)) != NULL) {
        const uint8_t *value = (const uint8_t *)(write + 1);
        assert_int_equal(write->addr, fabric_addr_of(0, 64 * (n + 1)).bits);
        assert_int_equal(write->key, 1000 + n);
        assert_int_equal(write->table_id, 9);
        assert_int_equal(write->cell, n % 20);
        assert_int_equal(write->pad, 0);
        for (uint32_t i = 0; i < write->value_bytes; i++) assert_int_equal(value[i], (uint8_t)(n + 1));
        for (uint32_t i = write->value_bytes; i % 8; i++) assert_int_equal(value[i], 0);
        n++;
    }
    assert_int_equal(n, count);
    assert_int_equal(entry->write_count, count);
}

static void entries_come_back_as_written(void **state)
{
    (void)state;
    struct log log;
    log_init(&log, RING_BYTES);
    for (uint64_t i = 1; i <= 3000; i++) {
        struct fabric_addr at;
        uint32_t count = log_fill(&log, 30, 100);
        assert_int_equal(logseg_entry_finish(&log.seg, &log.entry, 5000 + i, i - 1, &at), 0);
        const struct log_entry_wire *entry = parse(&log);
        assert_non_null(entry);
        assert_int_equal(entry->cn, 3);
        assert_int_equal(entry->coordinator, 4);
        assert_int_equal(entry->incarnation, 77);
        assert_int_equal(entry->sequence, i);
        assert_int_equal(entry->ts, 5000 + i);
        assert_int_equal(entry->watermark, i - 1);
        assert_int_equal(entry->dep_count, 0);
        assert_int_equal(entry->bytes, log.entry.bytes);
        check_changes(entry, count);
    }
}

static void an_entry_never_exceeds_its_buffer(void **state)
{
    (void)state;
    for (uint32_t capacity = sizeof(struct log_entry_wire); capacity <= 256; capacity += 8) {
        uint8_t *buffer = aligned_alloc(8, capacity); /* exactly so much, for the sanitizer */
        struct logseg_entry entry;
        logseg_entry_begin(&entry, buffer, capacity);
        uint8_t *value = logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, 64), 1, 1, 0, 40);
        assert_int_equal(value != NULL, capacity >= 64 + 32 + 40);
        if (value) memset(value, 1, 40);
        assert_null(logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, 64), 1, 1, 0, UINT32_MAX));
        assert_null(logseg_entry_add(&entry, LAYOUT_LOG_CELL, fabric_addr_of(0, 64), 1, 1, 0, UINT32_MAX - 40));
        assert_true(entry.bytes <= capacity);
        free(buffer);
    }
}

/* ---- the ring ---- */

/* One in `turn_every` entries is followed by a turn. */
static void check_ring(uint64_t ring_bytes, uint32_t value_max, uint64_t turn_every)
{
    struct log log;
    uint64_t wraps = 0, last_start = 0, last_end = 0;
    log_init(&log, ring_bytes);
    for (int i = 0; i < 20000; i++) {
        struct fabric_addr at;
        log_fill(&log, 12, value_max);
        int rc = logseg_entry_finish(&log.seg, &log.entry, 1, 0, &at);
        if (rc) {
            assert_int_equal(rc, CELLAR_TOO_LARGE);
            assert_true(log.entry.bytes > ring_bytes / 2 - LAYOUT_LINE);
            continue;
        }
        assert_true(log.entry.bytes <= ring_bytes / 2);
        uint64_t start = fabric_addr_offset(at) - (1 << 20), end = start + log.entry.bytes;
        assert_int_equal(fabric_addr_node(at), 1);
        assert_int_equal(start % LAYOUT_LINE, 0);
        assert_true(end <= ring_bytes);
        assert_true(end <= last_start || start >= last_end);
        if (logseg_used(&log.seg) && prng_below(&log.prng, turn_every) == 0) logseg_turn(&log.seg);
        wraps += start < last_start;
        last_start = start;
        last_end = end;
    }
    assert_true(wraps > 100);
}

static void ring_entries_keep_off_the_last_one(void **state)
{
    (void)state;
    static const uint64_t turns[] = {UINT64_MAX, 5, 1};
    for (int i = 0; i < 3; i++) {
        check_ring(RING_BYTES, 50, turns[i]);
        check_ring(RING_BYTES, 400, turns[i]);
        check_ring(4096, 300, turns[i]);
        check_ring(4096 - 64, 300, turns[i]); /* a segment behind its chunk's header */
        check_ring(1000, 60, turns[i]);
    }
}

/* The largest entries follow each other for ever. */
static void half_a_ring_always_fits(void **state)
{
    (void)state;
    struct log log;
    log_init(&log, 4096);
    for (int i = 0; i < 10; i++) {
        struct fabric_addr at;
        logseg_entry_begin(&log.entry, log.buffer, BUFFER_BYTES);
        assert_non_null(logseg_entry_add(&log.entry, LAYOUT_LOG_CELL, fabric_addr_of(0, 64), 1, 1, 0, 2048 - 64 - 32));
        assert_int_equal(logseg_entry_finish(&log.seg, &log.entry, 1, 0, &at), 0);
        assert_int_equal(fabric_addr_offset(at) - (1 << 20), i % 2 ? 2048 : 0);
        assert_non_null(logseg_entry_add(&log.entry, LAYOUT_LOG_DELETE, fabric_addr_of(0, 64), 1, 1, 0, 0));
        assert_int_equal(logseg_entry_finish(&log.seg, &log.entry, 1, 0, &at), CELLAR_TOO_LARGE);
        assert_int_equal(log.seg.sequence, i + 1);
    }
}

/* ---- what must not count ---- */

/* Every single flipped bit, and every truncation, of entries of several sizes. */
static void no_flipped_or_missing_bit_is_accepted(void **state)
{
    (void)state;
    struct log log;
    log_init(&log, RING_BYTES);
    for (uint32_t changes = 0; changes < 6; changes++) {
        struct fabric_addr at;
        log_fill(&log, changes, 60);
        assert_int_equal(logseg_entry_finish(&log.seg, &log.entry, 9, 1, &at), 0);
        assert_non_null(parse(&log));
        assert_non_null(logseg_parse(log.buffer, BUFFER_BYTES)); /* what follows does not matter */
        for (uint32_t bit = 0; bit < log.entry.bytes * 8; bit++) {
            log.buffer[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_null(logseg_parse(log.buffer, BUFFER_BYTES));
            log.buffer[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (uint32_t bytes = 0; bytes < log.entry.bytes; bytes++) {
            uint8_t *cut = aligned_alloc(8, (bytes + 8) / 8 * 8);
            memcpy(cut, log.buffer, bytes);
            assert_null(logseg_parse(cut, bytes));
            free(cut);
        }
        assert_non_null(parse(&log));
    }
}

/* An entry of which only the first lines, or only the last ones, reached memory that held an older entry. */
static void half_written_entries_are_rejected(void **state)
{
    (void)state;
    struct log log;
    static uint8_t ring[BUFFER_BYTES] __attribute__((aligned(8)));
    uint32_t rejected = 0;
    log_init(&log, RING_BYTES);
    for (int i = 0; i < 500; i++) {
        struct fabric_addr at;
        log_fill(&log, 20, 60);
        assert_int_equal(logseg_entry_finish(&log.seg, &log.entry, 9, 1, &at), 0);
        uint32_t lines = (log.entry.bytes + 63) / 64;
        for (uint32_t line = 0; line < lines; line++) {
            uint32_t left = log.entry.bytes - line * 64, size = left < 64 ? left : 64;
            if (memcmp(ring + line * 64, log.buffer + line * 64, size) == 0) continue;
            uint8_t old[64];
            uint8_t whole[BUFFER_BYTES] __attribute__((aligned(8)));
            memcpy(whole, log.buffer, log.entry.bytes);
            memcpy(old, ring + line * 64, size);
            memcpy(whole + line * 64, old, size); /* this line is still the old one */
            /* An old header alone may be an old entry, whole: one without changes. */
            const struct log_entry_wire *entry = logseg_parse(whole, log.entry.bytes);
            assert_true(entry == NULL || (line == 0 && entry->sequence < log.seg.sequence));
            rejected += entry == NULL;
        }
        memcpy(ring, log.buffer, log.entry.bytes);
    }
    assert_true(rejected > 1000);
}

static void restamp(uint8_t *bytes, uint64_t available)
{
    struct log_entry_wire *entry = (struct log_entry_wire *)(void *)bytes;
    entry->checksum = 0;
    if (entry->bytes <= available) entry->checksum = XXH3_64bits(bytes, entry->bytes);
}

/* Damage that carries a right checksum: lengths must hold by themselves. Exact buffers, for the sanitizer. */
static void lengths_are_checked_even_under_a_right_checksum(void **state)
{
    (void)state;
    struct log log;
    uint32_t accepted = 0, rejected = 0;
    log_init(&log, RING_BYTES);
    for (int i = 0; i < 100000; i++) {
        struct fabric_addr at;
        log_fill(&log, 6, 40);
        assert_int_equal(logseg_entry_finish(&log.seg, &log.entry, 9, 1, &at), 0);
        uint32_t size = log.entry.bytes;
        uint8_t *bytes = aligned_alloc(8, size);
        memcpy(bytes, log.buffer, size);
        for (uint64_t n = prng_below(&log.prng, 4); n > 0; n--) {
            /* A field of a header somewhere: a small number, a large one, or a flipped bit. */
            uint32_t *word = (uint32_t *)(void *)bytes + prng_below(&log.prng, size / 4);
            uint64_t how = prng_below(&log.prng, 3);
            *word = how == 0   ? (uint32_t)prng_below(&log.prng, 200)
                    : how == 1 ? (uint32_t)prng_next(&log.prng)
                               : *word ^ 1u << prng_below(&log.prng, 32);
        }
        restamp(bytes, size);
        const struct log_entry_wire *entry = logseg_parse(bytes, size);
        accepted += entry != NULL;
        rejected += entry == NULL;
        if (entry) {
            const struct log_write_wire *write = NULL;
            uint32_t count = 0;
            while ((write = logseg_next_write(entry, write)) != NULL) {
                const uint8_t *value = (const uint8_t *)(write + 1);
                assert_true(value + write->value_bytes <= bytes + size);
                assert_true(write->kind >= LAYOUT_LOG_CELL && write->kind <= LAYOUT_LOG_UNDO_BUCKET);
                count++;
            }
            assert_int_equal(count, entry->write_count);
        }
        free(bytes);
    }
    assert_true(accepted > 10000 && rejected > 10000);
}

/* Random bytes, and random bytes behind a right magic number. */
static void noise_is_rejected(void **state)
{
    (void)state;
    struct prng prng;
    uint64_t words[64];
    prng_seed(&prng, 2);
    for (int i = 0; i < 100000; i++) {
        for (int k = 0; k < 64; k++) words[k] = prng_next(&prng) >> prng_below(&prng, 64);
        if (i % 2) words[0] = LAYOUT_LOG_MAGIC | prng_between(&prng, 8, 64) * 8 << 32;
        assert_null(logseg_parse((const uint8_t *)words, sizeof words));
    }
    memset(words, 0, sizeof words);
    assert_null(logseg_parse((const uint8_t *)words, sizeof words));
    assert_null(logseg_parse((const uint8_t *)words, 0));
}

/* Log-deps lie between header and changes. */
static void changes_are_found_behind_log_deps(void **state)
{
    (void)state;
    struct {
        struct log_entry_wire entry;
        struct log_dep_wire deps[2];
        struct log_write_wire write;
        uint64_t value;
    } whole = {.entry = {.magic = LAYOUT_LOG_MAGIC, .bytes = sizeof whole, .dep_count = 2, .write_count = 1},
               .write = {.kind = LAYOUT_LOG_CELL, .key = 42, .value_bytes = 5},
               .value = 7};
    restamp((uint8_t *)&whole, sizeof whole);
    const struct log_entry_wire *entry = logseg_parse((const uint8_t *)&whole, sizeof whole);
    assert_non_null(entry);
    const struct log_write_wire *write = logseg_next_write(entry, NULL);
    assert_ptr_equal(write, &whole.write);
    assert_null(logseg_next_write(entry, write));
    whole.entry.dep_count = 7; /* as many as fill the entry, and one more than do */
    restamp((uint8_t *)&whole, sizeof whole);
    assert_null(logseg_parse((const uint8_t *)&whole, sizeof whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_back_as_written),
        cmocka_unit_test(an_entry_never_exceeds_its_buffer),
        cmocka_unit_test(ring_entries_keep_off_the_last_one),
        cmocka_unit_test(half_a_ring_always_fits),
        cmocka_unit_test(no_flipped_or_missing_bit_is_accepted),
        cmocka_unit_test(half_written_entries_are_rejected),
        cmocka_unit_test(lengths_are_checked_even_under_a_right_checksum),
        cmocka_unit_test(noise_is_rejected),
        cmocka_unit_test(changes_are_found_behind_log_deps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
