/* test_fabric_sim_nic.c - the NIC model by itself: units, slots, head-of-line blocking, links; to the nanosecond. */
#include "fabric_sim_link.h"
#include "fabric_sim_nic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define ATOMIC 270
#define MISS 100
#define READ 60
#define WRITE 50
#define LINE 64

/* ---- one NIC, by itself ---- */

static uint64_t memory[1024];

static struct fabric_sim_profile bare(uint32_t units)
{
    return (struct fabric_sim_profile){
        .units = units, .atomic_ns = ATOMIC, .miss_ns = ATOMIC, .read_ns = READ, .write_ns = WRITE};
}

static void setup(struct fabric_sim_nic *nic, const struct fabric_sim_profile *profile)
{
    memset(memory, 0, sizeof memory);
    fabric_sim_nic_init(nic, profile, (const uint8_t *)memory);
}

static uint64_t serve_read(struct fabric_sim_nic *nic, uint64_t now_ns)
{
    struct fabric_op op = fabric_op_read(fabric_addr_of(0, 0), NULL, LINE);
    return fabric_sim_nic_serve(nic, now_ns, &op).end_ns;
}

static uint64_t serve_faa(struct fabric_sim_nic *nic, uint64_t now_ns, uint64_t offset)
{
    struct fabric_op op = fabric_op_faa(fabric_addr_of(0, offset), NULL, 1);
    return fabric_sim_nic_serve(nic, now_ns, &op).end_ns;
}

static uint64_t serve_cas(struct fabric_sim_nic *nic, uint64_t now_ns, uint64_t compare, uint64_t swap)
{
    struct fabric_op op = fabric_op_cas(fabric_addr_of(0, 64), NULL, compare, swap);
    return fabric_sim_nic_serve(nic, now_ns, &op).end_ns;
}

static void test_units_serve_side_by_side(void **state)
{
    struct fabric_sim_nic nic;
    const struct fabric_sim_profile profile = bare(2);
    struct fabric_op write = fabric_op_write(fabric_addr_of(0, 0), NULL, LINE);
    setup(&nic, &profile);
    assert_int_equal(serve_read(&nic, 1000), 1000 + READ);
    assert_int_equal(fabric_sim_nic_serve(&nic, 1000, &write).end_ns, 1000 + WRITE);
    assert_int_equal(serve_read(&nic, 1000), 1000 + WRITE + READ);
    assert_int_equal(serve_read(&nic, 1000), 1000 + READ + READ);
    assert_int_equal(serve_read(&nic, 5000), 5000 + READ);
    assert_int_equal(nic.busy_ns, 4 * READ + WRITE);
}

static void test_without_limit_nothing_waits(void **state)
{
    struct fabric_sim_nic nic;
    const struct fabric_sim_profile profile = bare(0);
    setup(&nic, &profile);
    for (uint32_t i = 0; i < 100; i++) assert_int_equal(serve_read(&nic, 7), 7 + READ);
    for (uint32_t i = 0; i < 100; i++) assert_int_equal(serve_faa(&nic, 7, i * 8), 7 + ATOMIC);
    assert_int_equal(serve_faa(&nic, 7, 0), 7 + 2 * ATOMIC); /* but for its word */
    assert_int_equal(nic.busy_ns, 0);
}

static void test_atomics_of_one_slot_take_turns(void **state)
{
    struct fabric_sim_nic nic;
    const struct fabric_sim_profile profile = bare(8);
    setup(&nic, &profile);
    assert_int_equal(serve_faa(&nic, 0, 64), ATOMIC);
    assert_int_equal(serve_faa(&nic, 0, 72), ATOMIC);
    assert_int_equal(serve_faa(&nic, 0, 64), 2 * ATOMIC);
    assert_int_equal(serve_faa(&nic, 0, 64 + 4096), 3 * ATOMIC); /* another word, the same slot */
    assert_int_equal(serve_faa(&nic, 0, 64 + 2048), ATOMIC);
}

/* Atomics that wait for one word hold all units, and then a READ of something else waits too. */
static void test_blocked_atomics_block_the_head_of_the_line(void **state)
{
    struct fabric_sim_nic nic;
    const struct fabric_sim_profile profile = bare(2);
    setup(&nic, &profile);
    assert_int_equal(serve_faa(&nic, 0, 64), ATOMIC);
    assert_int_equal(serve_faa(&nic, 0, 64), 2 * ATOMIC); /* holds the second unit from 0 */
    assert_int_equal(nic.busy_ns, 3 * ATOMIC);
    assert_int_equal(serve_read(&nic, 1), ATOMIC + READ);
    assert_int_equal(serve_faa(&nic, 2, 128), ATOMIC + READ + ATOMIC); /* the first unit again, after the READ */
    assert_int_equal(serve_read(&nic, 3), 2 * ATOMIC + READ);
}

static void test_some_atomics_may_wait_without_a_unit(void **state)
{
    struct fabric_sim_nic nic;
    struct fabric_sim_profile profile = bare(2);
    profile.waiting = 1;
    setup(&nic, &profile);
    assert_int_equal(serve_faa(&nic, 0, 64), ATOMIC);
    assert_int_equal(serve_faa(&nic, 0, 64), 2 * ATOMIC); /* waits aside */
    assert_int_equal(serve_read(&nic, 1), 1 + READ);
    assert_int_equal(serve_faa(&nic, 100, 64), 3 * ATOMIC); /* no place is left: holds a unit */
    assert_int_equal(serve_read(&nic, 101), ATOMIC + READ);
    assert_int_equal(serve_faa(&nic, ATOMIC + READ, 64), 4 * ATOMIC); /* the place is free again */
    assert_int_equal(serve_read(&nic, ATOMIC + READ), ATOMIC + 2 * READ);
}

/* Those ahead of it in the same slot decide whether a CAS will match, though memory does not show it yet. */
static void test_a_cas_that_fails_is_a_miss(void **state)
{
    struct fabric_sim_nic nic;
    struct fabric_sim_profile profile = bare(8);
    profile.miss_ns = MISS;
    setup(&nic, &profile);
    assert_int_equal(serve_cas(&nic, 0, 1, 2), MISS);
    assert_int_equal(serve_cas(&nic, 0, 0, 1), MISS + ATOMIC);
    assert_int_equal(serve_cas(&nic, 0, 0, 1), 2 * MISS + ATOMIC);
    assert_int_equal(serve_cas(&nic, 0, 1, 2), 2 * MISS + 2 * ATOMIC);
    struct fabric_op masked = fabric_op_masked_cas(fabric_addr_of(0, 64), NULL, 1, 1, 1, 1);
    assert_int_equal(fabric_sim_nic_serve(&nic, 0, &masked).end_ns, 3 * MISS + 2 * ATOMIC);
    masked.compare_mask = 0;
    assert_int_equal(fabric_sim_nic_serve(&nic, 0, &masked).end_ns, 3 * MISS + 3 * ATOMIC);
    memory[8] = 50; /* all of them have executed: memory counts */
    assert_int_equal(serve_cas(&nic, 100000, 50, 1), 100000 + ATOMIC);
    assert_int_equal(serve_cas(&nic, 200000, 1, 0), 200000 + MISS);
    assert_int_equal(serve_faa(&nic, 300000, 64), 300000 + ATOMIC);
}

static void test_connections_slow_down_reads(void **state)
{
    const struct {
        uint32_t connections, read_ns;
    } expected[] = {{1, 100}, {32, 100}, {48, 125}, {64, 150}, {128, 166}, {512, 200}, {4096, 400}, {5000, 400}};
    struct fabric_sim_nic nic;
    struct fabric_sim_profile profile = *fabric_sim_profile_find("cx5");
    profile.read_ns = 100;
    setup(&nic, &profile);
    for (uint32_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        while (nic.connections < expected[i].connections) fabric_sim_nic_connect(&nic);
        assert_int_equal(nic.read_ns, expected[i].read_ns);
    }
    while (nic.connections > 64) fabric_sim_nic_disconnect(&nic);
    assert_int_equal(serve_read(&nic, 10), 160);
    profile.qp[0].connections = 0;
    fabric_sim_nic_connect(&nic);
    assert_int_equal(nic.read_ns, 100);
}

/* ---- links ---- */

static void test_memory_node_links(void **state)
{
    struct fabric_sim_nic nic;
    struct fabric_sim_profile profile = bare(8);
    profile.link_ps = 100;
    profile.header_bytes = 30;
    setup(&nic, &profile);
    assert_int_equal(fabric_sim_nic_receive(&nic, 10, 1000), 110); /* the header's time is in the round trip */
    assert_int_equal(fabric_sim_nic_receive(&nic, 10, 0), 113);
    assert_int_equal(fabric_sim_nic_reply(&nic, 10, 1000), 110); /* the other direction is another link */
    assert_int_equal(fabric_sim_nic_receive(&nic, 5000, 15), 5001);
    profile.link_ps = 0;
    assert_int_equal(fabric_sim_nic_receive(&nic, 5000, 1000000), 5000);
}

static void test_link_alone_takes_its_time(void **state)
{
    static struct fabric_sim_link link;
    memset(&link, 0, sizeof link);
    assert_int_equal(fabric_sim_link_use(&link, 100, 5000), 105000);
    assert_int_equal(fabric_sim_link_use(&link, 500, 40000), 540000);       /* across a window's end */
    assert_int_equal(fabric_sim_link_use(&link, 10000, 3000000), 13000000); /* and many */
    assert_int_equal(fabric_sim_link_use(&link, 10240, 1000), 13001000);
}

/* A transfer that is late in coming but early in time finds room there; the link never carries more than it can. */
static void test_link_is_used_in_any_order(void **state)
{
    static struct fabric_sim_link link;
    memset(&link, 0, sizeof link);
    assert_int_equal(fabric_sim_link_use(&link, 50000, 1000), 50001000);
    assert_int_equal(fabric_sim_link_use(&link, 2000, 1000), 2001000);
    uint64_t last_ps = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t end_ps = fabric_sim_link_use(&link, 60000 + i % 7 * 100, 64000);
        last_ps = end_ps > last_ps ? end_ps : last_ps;
    }
    assert_in_range(last_ps, 59900000 + 1000 * 64000, 60600000 + 1000 * 64000);
    assert_int_equal(fabric_sim_link_use(&link, 1, 9000), 10000); /* it is forgotten */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_serve_side_by_side),
        cmocka_unit_test(test_without_limit_nothing_waits),
        cmocka_unit_test(test_atomics_of_one_slot_take_turns),
        cmocka_unit_test(test_blocked_atomics_block_the_head_of_the_line),
        cmocka_unit_test(test_some_atomics_may_wait_without_a_unit),
        cmocka_unit_test(test_a_cas_that_fails_is_a_miss),
        cmocka_unit_test(test_connections_slow_down_reads),
        cmocka_unit_test(test_memory_node_links),
        cmocka_unit_test(test_link_alone_takes_its_time),
        cmocka_unit_test(test_link_is_used_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
