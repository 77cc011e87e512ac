/*
 * test_lockword.c - the algebra of tags, for every number of cells and every compute node; and INV-LOCK-1 against a
 * model that keeps one owner per cell.
 */
#include "lockword.h"
#include "prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CELLS_MAX 20

static void tags_lie_side_by_side_below_the_flags(void **state)
{
    (void)state;
    for (uint32_t cells = 1; cells <= CELLS_MAX; cells++) {
        uint32_t bits = lockword_tag_bits(cells);
        uint64_t seen = 0;
        assert_true(bits >= 3 && bits <= 8 && bits * cells <= 60);
        assert_true(bits == 8 || (bits + 1) * cells > 60);
        for (uint32_t cell = 0; cell < cells; cell++) {
            uint64_t mask = lockword_mask(bits, lockword_ones(bits, 1u << cell));
            assert_int_equal(__builtin_popcountll(mask), bits);
            assert_int_equal(seen & mask, 0);
            seen |= mask;
        }
        assert_int_equal(seen & (LOCKWORD_DELETED | LOCKWORD_HOT), 0);
        assert_int_equal(seen, lockword_mask(bits, lockword_ones(bits, (1u << cells) - 1)));
    }
}

static void every_owner_of_every_cell_is_named(void **state)
{
    (void)state;
    for (uint32_t cells = 1; cells <= CELLS_MAX; cells++) {
        uint32_t bits = lockword_tag_bits(cells);
        assert_int_equal(lockword_cns_max(cells), (1u << bits) - 1);
        for (uint32_t cn = 0; cn < lockword_cns_max(cells); cn++) {
            for (uint32_t cell = 0; cell < cells; cell++) {
                uint64_t ones = lockword_ones(bits, 1u << cell);
                uint64_t word = lockword_tags(ones, cn) | LOCKWORD_DELETED | LOCKWORD_HOT;
                assert_int_equal(word & ~lockword_mask(bits, ones), LOCKWORD_DELETED | LOCKWORD_HOT);
                for (uint32_t other = 0; other < cells; other++)
                    assert_int_equal(lockword_owner(word, bits, other), other == cell ? (int)cn : -1);
            }
        }
    }
}

/* All sets of cells: the tags of a set are the tags of its cells, joined. */
static void sets_are_the_sum_of_their_cells(void **state)
{
    (void)state;
    for (uint32_t cells = 1; cells <= CELLS_MAX; cells++) {
        uint32_t bits = lockword_tag_bits(cells), cn = lockword_cns_max(cells) - 1;
        for (uint32_t set = 0; set<1u << cells; set += cells> 16 ? 7 : 1) {
            uint64_t ones = lockword_ones(bits, set), tags = 0, mask = 0;
            for (uint32_t cell = 0; cell < cells; cell++) {
                if (!(set >> cell & 1)) continue;
                tags |= (uint64_t)(cn + 1) << (cell * bits);
                mask |= ((1ull << bits) - 1) << (cell * bits);
            }
            assert_int_equal(lockword_tags(ones, cn), tags);
            assert_int_equal(lockword_mask(bits, ones), mask);
        }
    }
}

/* What the fabric does with a masked CAS; true when it swapped. */
static int masked_cas(uint64_t *word, uint64_t compare, uint64_t compare_mask, uint64_t swap, uint64_t swap_mask)
{
    if ((*word ^ compare) & compare_mask) return 0;
    *word = (*word & ~swap_mask) | (swap & swap_mask);
    return 1;
}

/* INV-LOCK-1: a tag is only set where it was 0, only cleared by its owner, and a swap changes no other cell. */
static void random_locking_agrees_with_a_model(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 7);
    for (uint32_t cells = 1; cells <= CELLS_MAX; cells++) {
        uint32_t bits = lockword_tag_bits(cells), got = 0, refused = 0;
        int owners[CELLS_MAX];
        uint64_t word = 0;
        for (uint32_t cell = 0; cell < cells; cell++) owners[cell] = -1;
        for (int step = 0; step < 5000; step++) {
            uint32_t cn = (uint32_t)prng_below(&prng, lockword_cns_max(cells));
            uint32_t set = (uint32_t)prng_below(&prng, (1u << cells) - 1) + 1, is_free = 1, mine = 0;
            for (uint32_t cell = 0; cell < cells; cell++) {
                if ((set >> cell & 1) && owners[cell] >= 0) is_free = 0;
                if (owners[cell] == (int)cn) mine |= 1u << cell;
            }
            uint64_t ones = lockword_ones(bits, set), mask = lockword_mask(bits, ones);
            int done = masked_cas(&word, 0, mask | LOCKWORD_DELETED, lockword_tags(ones, cn), mask);
            assert_int_equal(done, is_free);
            got += done != 0;
            refused += !done;
            for (uint32_t cell = 0; done && cell < cells; cell++)
                if (set >> cell & 1) owners[cell] = (int)cn;
            if (!done && mine) {
                uint64_t my_ones = lockword_ones(bits, mine), my_mask = lockword_mask(bits, my_ones);
                assert_true(masked_cas(&word, lockword_tags(my_ones, cn), my_mask, 0, my_mask));
                for (uint32_t cell = 0; cell < cells; cell++)
                    if (mine >> cell & 1) owners[cell] = -1;
            }
            for (uint32_t cell = 0; cell < cells; cell++)
                assert_int_equal(lockword_owner(word, bits, cell), owners[cell]);
        }
        assert_true(got > 10 && refused > 10);
    }
}

static void deleted_refuses_every_lock(void **state)
{
    (void)state;
    for (uint32_t cells = 1; cells <= CELLS_MAX; cells++) {
        uint32_t bits = lockword_tag_bits(cells);
        uint64_t word = LOCKWORD_DELETED, ones = lockword_ones(bits, 1), mask = lockword_mask(bits, ones);
        assert_false(masked_cas(&word, 0, mask | LOCKWORD_DELETED, lockword_tags(ones, 0), mask));
        assert_int_equal(word, LOCKWORD_DELETED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_lie_side_by_side_below_the_flags),
        cmocka_unit_test(every_owner_of_every_cell_is_named),
        cmocka_unit_test(sets_are_the_sum_of_their_cells),
        cmocka_unit_test(random_locking_agrees_with_a_model),
        cmocka_unit_test(deleted_refuses_every_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
