/*
 * test_versions.c - old versions of a record: what its writers displaced is found again, or known to be gone; what
 * cannot be is refused.
 */
#include "random_schema.h"
#include "versions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES 60
#define WRITERS 40 /* of one record */
#define FIRST_TS 10

/* A record, and what each of its writers left of each cell. Exactly sized, so that a sanitizer sees a byte too far. */
struct sample {
    struct random_schema from;
    struct schema schema, plain;
    struct prng prng;
    uint8_t *image;
    uint64_t seeds[WRITERS + 1][CELLAR_CELLS_MAX], versions[WRITERS + 1][CELLAR_CELLS_MAX];
    uint32_t wrote[WRITERS + 1];
};

static void value_make(const struct schema *schema, uint32_t cell, uint64_t seed, uint8_t *value)
{
    struct prng prng;
    prng_seed(&prng, seed);
    for (uint32_t i = 0; i < schema->cells[cell].padded_bytes; i++) value[i] = (uint8_t)prng_next(&prng);
}

static void cell_put(struct sample *sample, uint32_t writer, uint32_t cell, uint64_t version)
{
    uint8_t value[LAYOUT_RECORD_BYTES_MAX];
    sample->seeds[writer][cell] = prng_next(&sample->prng);
    sample->versions[writer][cell] = version;
    value_make(&sample->schema, cell, sample->seeds[writer][cell], value);
    record_value_put(&sample->schema, sample->image, cell, value);
    record_version_set(&sample->schema, sample->image, cell, version);
}

static void sample_make(struct sample *sample, uint64_t seed)
{
    memset(sample, 0, sizeof *sample);
    prng_seed(&sample->prng, seed);
    do {
        do random_schema_make(&sample->from, &sample->prng);
        while (schema_build(&sample->from.schema, 1, &sample->plain, NULL) != 0);
        sample->schema = sample->plain;
    } while (!versions_lay_out(&sample->schema));
    sample->image = aligned_alloc(LAYOUT_LINE, sample->schema.record_bytes);
    assert_non_null(sample->image);
    memset(sample->image, 0, sample->schema.record_bytes);
    for (uint32_t cell = 0; cell < sample->schema.cell_count; cell++)
        cell_put(sample, 0, cell, layout_version_of(7, FIRST_TS));
}

/* As a transaction of mode motor applies it: the writer's number is its TS, counted from the first one's. */
static void sample_write(struct sample *sample, uint32_t writer)
{
    const struct schema *schema = &sample->schema;
    uint32_t cells = (uint32_t)prng_next(&sample->prng) & (uint32_t)prng_next(&sample->prng) & schema->all_cells;
    if (!cells) cells = 1u << prng_below(&sample->prng, schema->cell_count);
    uint64_t ts = FIRST_TS + writer;
    uint32_t bytes = versions_bytes(schema, cells), at = versions_push(schema, versions_of(sample->image), ts, cells);
    assert_true(at >= schema->cells_end && at + bytes <= schema->record_bytes && at % 8 == 0);
    versions_pack(schema, sample->image, cells, sample->image + at);
    memcpy(sample->seeds[writer], sample->seeds[writer - 1], sizeof sample->seeds[0]);
    memcpy(sample->versions[writer], sample->versions[writer - 1], sizeof sample->versions[0]);
    sample->wrote[writer] = cells;
    for (; cells; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        uint16_t en = layout_version_en(record_version(schema, sample->image, cell));
        cell_put(sample, writer, cell, layout_version_of(layout_en_next(en), ts));
    }
}

/* Goes back, in a copy of the record, until the cell is as it was for that writer; false: that is gone. */
static bool cell_back(const struct sample *sample, uint8_t *copy, uint32_t cell, uint32_t writer)
{
    const struct schema *schema = &sample->schema;
    memcpy(copy, sample->image, schema->record_bytes);
    uint64_t ts;
    while ((ts = layout_version_ts(record_version(schema, copy, cell))) > FIRST_TS + writer) {
        const struct tuple_wire *tuple = versions_find(schema, versions_of(copy), ts);
        if (!tuple || !(tuple->cells >> cell & 1)) return false;
        versions_undo(schema, tuple, copy + schema->cells_end, copy, 1u << cell);
        assert_true(layout_version_ts(record_version(schema, copy, cell)) < ts);
    }
    return true;
}

static uint32_t cells_known(const struct sample *sample, uint32_t writer)
{
    const struct schema *schema = &sample->schema;
    uint8_t *copy = aligned_alloc(LAYOUT_LINE, schema->record_bytes), expected[LAYOUT_RECORD_BYTES_MAX],
            found[LAYOUT_RECORD_BYTES_MAX];
    uint32_t known = 0;
    assert_non_null(copy);
    for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
        if (!cell_back(sample, copy, cell, writer)) continue;
        known |= 1u << cell;
        value_make(schema, cell, sample->seeds[writer][cell], expected);
        record_value_get(schema, copy, cell, found);
        assert_memory_equal(found, expected, schema->cells[cell].padded_bytes);
        assert_int_equal(record_version(schema, copy, cell), sample->versions[writer][cell]);
        for (uint32_t other = 0; other < schema->cell_count; other++)
            if (other != cell)
                assert_int_equal(record_version(schema, copy, other), record_version(schema, sample->image, other));
    }
    free(copy);
    return known;
}

/* ---- tests ---- */

static void a_line_of_tuples_and_a_bar_are_added(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SAMPLES; seed++) {
        struct sample sample;
        sample_make(&sample, seed);
        const struct schema *schema = &sample.schema, *plain = &sample.plain;
        assert_true(schema_keeps_versions(schema) && !schema_keeps_versions(plain));
        assert_int_equal(schema->cells_end, plain->record_bytes + LAYOUT_LINE);
        assert_int_equal(schema->record_bytes, schema->cells_end + schema->bar_bytes);
        assert_int_equal(schema->record_bytes % LAYOUT_LINE, 0);
        assert_true(schema->bar_bytes >= versions_bytes(schema, schema->all_cells));
        for (uint32_t cell = 0; cell < schema->cell_count; cell++) {
            assert_int_equal(schema->cells[cell].offset, plain->cells[cell].offset + LAYOUT_LINE);
            assert_int_equal(schema->cells[cell].end, plain->cells[cell].end + LAYOUT_LINE);
        }
        for (uint32_t column = 0; column < schema->column_count; column++)
            assert_int_equal(schema->columns[column].offset, plain->columns[column].offset + LAYOUT_LINE);
        assert_int_equal(schema->run_count, plain->run_count);
        for (uint32_t run = 0; run < schema->run_count; run++)
            assert_int_equal(schema->runs[run].offset, plain->runs[run].offset + LAYOUT_LINE);
        free(sample.image);
    }
    struct schema large = {.record_bytes = LAYOUT_RECORD_BYTES_MAX - LAYOUT_LINE, .cell_count = 1, .all_cells = 1};
    large.cells[0].padded_bytes = 64;
    assert_false(versions_lay_out(&large));
    assert_int_equal(large.record_bytes, LAYOUT_RECORD_BYTES_MAX - LAYOUT_LINE);
}

/* What the last writer displaced is there always, and whatever is found, of whichever writer, is what it was. */
static void old_values_are_found_or_gone(void **state)
{
    uint32_t older = 0, gone = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SAMPLES; seed++) {
        struct sample sample;
        struct schema_flaw flaw;
        sample_make(&sample, seed);
        assert_int_equal(versions_newest(versions_of(sample.image)), 0);
        for (uint32_t writer = 1; writer <= WRITERS; writer++) {
            sample_write(&sample, writer);
            assert_int_equal(versions_newest(versions_of(sample.image)), FIRST_TS + writer);
            if (!versions_sound(&sample.schema, sample.image, &flaw)) fail_msg("%s", flaw.what);
            assert_int_equal(cells_known(&sample, writer), sample.schema.all_cells);
            assert_int_equal(cells_known(&sample, writer - 1), sample.schema.all_cells);
        }
        for (uint32_t writer = 0; writer + 1 < WRITERS; writer++) {
            uint32_t known = cells_known(&sample, writer);
            older += known == sample.schema.all_cells;
            gone += known != sample.schema.all_cells;
        }
        free(sample.image);
    }
    assert_true(older > SAMPLES && gone > SAMPLES);
}

/* Four more are kept where they fit into the bar: writers of one cell of many. */
static void four_small_writers_are_kept(void **state)
{
    struct schema schema = {.record_bytes = 5 * LAYOUT_LINE, .cell_count = 8, .all_cells = 0xff};
    uint8_t image[16 * LAYOUT_LINE] __attribute__((aligned(LAYOUT_LINE))) = {0};
    (void)state;
    for (uint32_t cell = 0; cell < 8; cell++)
        schema.cells[cell] = (struct schema_cell){
            .offset = (uint16_t)(64 + 16 * cell), .end = (uint16_t)(80 + 16 * cell), .padded_bytes = 8};
    assert_true(versions_lay_out(&schema) && schema.record_bytes <= sizeof image);
    for (uint32_t writer = 1; writer <= 5; writer++) {
        uint32_t at = versions_push(&schema, versions_of(image), writer, 1u << writer);
        assert_int_equal(at, schema.cells_end + 16 * (writer - 1));
    }
    assert_null(versions_find(&schema, versions_of(image), 1));
    for (uint32_t writer = 2; writer <= 5; writer++)
        assert_int_equal(versions_find(&schema, versions_of(image), writer)->cells, 1u << writer);
    /* One that needs all the room: the others' is taken. */
    assert_int_equal(versions_push(&schema, versions_of(image), 6, 0xff), schema.cells_end);
    for (uint32_t writer = 2; writer <= 5; writer++) assert_null(versions_find(&schema, versions_of(image), writer));
    assert_int_equal(versions_find(&schema, versions_of(image), 6)->cells, 0xff);
}

static void damage_sample(struct sample *sample, uint32_t *found)
{
    struct versions_wire *versions = versions_of(sample->image);
    struct schema_flaw flaw;
    uint64_t words[sizeof *versions / 8];
    memcpy(words, versions, sizeof words);
    uint32_t word = (uint32_t)prng_below(&sample->prng, sizeof words / 8);
    uint64_t value = prng_below(&sample->prng, 2) ? prng_next(&sample->prng) >> prng_below(&sample->prng, 64)
                                                  : words[word] ^ 1ull << prng_below(&sample->prng, 64);
    record_word_set((uint8_t *)versions, 8 * word, value);
    *found += !versions_sound(&sample->schema, sample->image, &flaw);
    /* Whatever is there, what is read and written stays inside the record. */
    for (uint32_t i = 0; i < LAYOUT_TUPLES; i++) {
        const struct tuple_wire *tuple =
            versions_find(&sample->schema, versions, layout_version_ts(versions->tuples[i].writer));
        uint8_t *copy = aligned_alloc(LAYOUT_LINE, sample->schema.record_bytes);
        assert_non_null(copy);
        memcpy(copy, sample->image, sample->schema.record_bytes);
        if (tuple) versions_undo(&sample->schema, tuple, copy + sample->schema.cells_end, copy, UINT32_MAX);
        free(copy);
    }
    uint32_t at = versions_push(&sample->schema, versions, LAYOUT_TS_MAX, sample->schema.all_cells);
    assert_true(at + versions_bytes(&sample->schema, sample->schema.all_cells) <= sample->schema.record_bytes);
    memcpy(versions, words, sizeof words);
}

static void damaged_tuples_are_told_and_harmless(void **state)
{
    uint32_t found = 0, tries = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SAMPLES; seed++) {
        struct sample sample;
        sample_make(&sample, seed);
        for (uint32_t writer = 1; writer <= WRITERS; writer++) {
            sample_write(&sample, writer);
            damage_sample(&sample, &found);
            tries++;
        }
        free(sample.image);
    }
    assert_true(found > tries / 2); /* another order of writers, or another set of cells of one size, is none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_tuples_and_a_bar_are_added),
        cmocka_unit_test(old_values_are_found_or_gone),
        cmocka_unit_test(four_small_writers_are_kept),
        cmocka_unit_test(damaged_tuples_are_told_and_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
