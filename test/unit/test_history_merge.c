/*
 * test_history_merge.c - parts of a history put together: in the order of ends, finals once, and parts that do not
 * belong together.
 */
#include "history_merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * Part `part` of `parts`: transactions that end at part + 1, part + 11, ... and read that key; finals of keys 0 and
 * part.
 */
static struct history part_make(uint32_t part, uint32_t parts)
{
    struct history history = {.part = part, .parts = parts, .has_final = true, .clock_error_ns = part};
    const struct history_final common = {.table_id = 1, .version = 9, .digest = 5};
    const struct history_final own = {.table_id = 1, .key = part + 1, .version = part, .digest = 6};

    for (uint32_t i = 0; i < 3; i++) {
        const struct history_access access = {.kind = HISTORY_READ, .table_id = 1, .key = 10 * i + part};
        const struct history_txn txn = {.id = i, .cn = part, .end_ns = 10 * i + part + 1, .count = 1};
        assert_int_equal(history_txn_add(&history, &txn, &access), 0);
    }
    assert_int_equal(history_final_add(&history, &common), 0);
    assert_int_equal(history_final_add(&history, &own), 0);
    assert_int_equal(history_table_add(&history, 1, 0, "accounts"), 0);
    return history;
}

static void parts_become_one(void **state)
{
    struct history parts[3] = {part_make(2, 3), part_make(0, 3), part_make(1, 3)}, whole = {0};
    struct cellar_error error = {0};
    (void)state;
    if (history_merge(parts, 3, &whole, &error)) fail_msg("%s", error.text);
    assert_int_equal(whole.txn_count, 9);
    for (uint64_t i = 0; i < 9; i++) {
        const struct history_txn *txn = &whole.txns[i];
        assert_int_equal(txn->id, i);
        assert_int_equal(txn->cn, i % 3);
        assert_int_equal(txn->end_ns, i / 3 * 10 + i % 3 + 1);
        assert_int_equal(whole.accesses[txn->first].key, i / 3 * 10 + i % 3);
    }
    assert_int_equal(whole.final_count, 4); /* the common one, and one of each */
    for (uint64_t i = 0; i < 4; i++) assert_int_equal(whole.finals[i].key, i);
    assert_true(whole.has_final);
    assert_int_equal(whole.parts, 0);
    assert_int_equal(whole.clock_error_ns, 2);
    assert_string_equal(whole.tables[0].name, "accounts");
    assert_null(parts[0].txns);
    history_free(&whole);
}

static void unknown_finals_make_all_unknown(void **state)
{
    struct history parts[2] = {part_make(0, 2), part_make(1, 2)}, whole = {0};
    (void)state;
    parts[1].has_final = false;
    parts[1].nodes_lost = true;
    assert_int_equal(history_merge(parts, 2, &whole, NULL), 0);
    assert_false(whole.has_final);
    assert_true(whole.nodes_lost);
    history_free(&whole);
}

/* What a process that died has left has no finals; another one has looked after all that changed, or has not. */
static void the_dead_have_no_finals(void **state)
{
    struct history parts[2], whole = {0};
    (void)state;
    for (int cover = 0; cover < 2; cover++) {
        parts[0] = part_make(0, 2);
        parts[1] = part_make(1, 2);
        parts[1].has_final = false;
        parts[1].died = 1;
        parts[1].final_count = 0;
        parts[0].final_all = cover;
        assert_int_equal(history_merge(parts, 2, &whole, NULL), 0);
        assert_int_equal(whole.has_final, cover);
        assert_int_equal(whole.final_all, cover);
        assert_int_equal(whole.died, 1);
        assert_int_equal(whole.txn_count, 6);
        assert_int_equal(whole.final_count, cover ? 2 : 0);
        history_free(&whole);
    }
}

static void refused(struct history first, struct history second, int code, const char *text)
{
    struct history parts[2] = {first, second}, whole = {0};
    struct cellar_error error = {0};

    assert_int_equal(history_merge(parts, 2, &whole, &error), code);
    if (!strstr(error.text, text)) fail_msg("wanted '%s', got '%s'", text, error.text);
    assert_null(whole.txns);
    assert_null(parts[0].txns);
    assert_null(parts[1].txns);
}

static void what_does_not_belong_together(void **state)
{
    struct history other = part_make(1, 2), later = part_make(1, 2), changed = part_make(1, 2);
    struct history elsewhere = part_make(1, 2);
    (void)state;
    refused(part_make(0, 2), part_make(0, 2), CELLAR_INVALID, "part 0 of 2 is there twice");
    refused(part_make(0, 3), part_make(1, 3), CELLAR_INVALID, "a part of 3; 2 files were given");
    refused(part_make(0, 2), part_make(0, 0), CELLAR_INVALID, "no part of a run");
    other.tables[0].name[0] = 'A';
    refused(part_make(0, 2), other, CELLAR_INVALID, "their tables differ");
    elsewhere.run = 7;
    refused(part_make(0, 2), elsewhere, CELLAR_INVALID, "their run numbers differ");
    later.finals[0].version++;
    refused(part_make(0, 2), later, CELLAR_CORRUPT, "different final versions of accounts[0]");
    changed.finals[0].digest++;
    refused(part_make(0, 2), changed, CELLAR_CORRUPT, "different final versions of accounts[0]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_one),
        cmocka_unit_test(unknown_finals_make_all_unknown),
        cmocka_unit_test(the_dead_have_no_finals),
        cmocka_unit_test(what_does_not_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
