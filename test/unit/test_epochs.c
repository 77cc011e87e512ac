/*
 * test_epochs.c - what several memory nodes have in common: an epoch is durable when all have published it
 * (INV-DURABLE-8), and ring space is used again when each copy of the ring was taken (INV-DURABLE-15).
 */
#include "epochs.h"
#include "plant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct epochs *opened(uint32_t nodes)
{
    struct epochs *epochs = aligned_alloc(64, sizeof *epochs);
    assert_non_null(epochs);
    epochs_open(epochs, NULL, nodes, 5);
    return epochs;
}

static void closed(struct epochs *epochs)
{
    epochs_close(epochs);
    free(epochs);
}

static void all_have_published(void **state)
{
    struct epochs *epochs = opened(3);
    (void)state;
    assert_int_equal(epochs_reached(epochs, 4), 1);
    epochs_publish(epochs, 1, 5);
    epochs_publish(epochs, 0, 9);
    assert_int_equal(epochs_reached(epochs, 5), 0);
    epochs_publish(epochs, 2, 7);
    assert_int_equal(epochs_reached(epochs, 5), 1);
    assert_int_equal(epochs_reached(epochs, 6), 0);
    epochs_publish(epochs, 1, 8);
    assert_int_equal(epochs_reached(epochs, 7), 1);
    assert_int_equal(epochs_reached(epochs, 8), 0);
#ifdef CELLAR_PLANTS
    assert_true(plant_choose("epochs_one_node"));
    epochs_publish(epochs, 0, 10);
    assert_int_equal(epochs_reached(epochs, 10), 1);
    assert_true(plant_choose(NULL));
#endif
    closed(epochs);
}

static void each_copy_is_taken(void **state)
{
    struct epochs *epochs = opened(3);
    struct fabric_addr copies[] = {fabric_addr_of(2, 4096), fabric_addr_of(0, 8192)};
    struct logseg log;
    (void)state;
    logseg_init(&log, copies[0], 1u << 16, 0, 0, 1);
    struct epochs_ring *ring = epochs_join(epochs, NULL, NULL, &log, copies, 2);
    assert_non_null(ring);
    assert_int_equal(ring->node, 2);
    epochs_placed_at(ring, 4, true); /* entries 1 to 3 are in the first half */
    assert_false(epochs_room(ring));
    atomic_store(&ring->copies[0].taken, 4);
    assert_false(epochs_room(ring));
    atomic_store(&ring->copies[1].taken, 3);
    assert_true(epochs_room(ring));
    log.sequence = 4; /* of what the second half has, one copy has not been taken */
    log.tail = log.bytes / 2 + 2 * EPOCHS_TURN_BYTES / 2;
    assert_false(epochs_turn(ring, &log));
    atomic_store(&ring->copies[1].taken, 4);
    assert_true(epochs_turn(ring, &log));
    closed(epochs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_have_published), cmocka_unit_test(each_copy_is_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
