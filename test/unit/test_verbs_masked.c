/*
 * test_verbs_masked.c - masked CAS and field FAA in both ways that the verbs fabric has: the loop of plain CASes
 * against an oracle, with others changing the word between its tries; and the bytes of the work-queue entry, read
 * back as the vendor's headers lay it out, and executed as the device is said to, against the same oracle.
 */
#include "fabric_verbs_masked.h"
#include "prng.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#if defined(__has_include)
#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>
#define WITH_HEADERS 1
#endif
#endif

static uint64_t random_mask(struct prng *prng)
{
    switch (prng_next(prng) % 4) {
    case 0:
        return 0;
    case 1:
        return ~0ull;
    case 2:
        return 1ull << prng_next(prng) % 64;
    default:
        return prng_next(prng);
    }
}

/* By the definitions of fabric.h, bit by bit. */
static uint64_t oracle(const struct fabric_op *op, uint64_t word)
{
    if (op->kind == FABRIC_MASKED_CAS) {
        for (int i = 0; i < 64; i++)
            if ((op->compare_mask >> i & 1) && ((op->compare ^ word) >> i & 1)) return word;
        for (int i = 0; i < 64; i++)
            if (op->swap_mask >> i & 1) word = (word & ~(1ull << i)) | (op->swap & 1ull << i);
        return word;
    }
    uint64_t sum = 0, carry = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t bits = (word >> i & 1) + (op->swap >> i & 1) + carry;
        sum |= (bits & 1) << i;
        carry = bits >> 1 && !(op->swap_mask >> i & 1);
    }
    return sum;
}

static struct fabric_op random_op(struct prng *prng, uint64_t word)
{
    struct fabric_addr addr = fabric_addr_of(0, 64);
    uint64_t flip = prng_next(prng) % 2 ? 0 : random_mask(prng), mask = random_mask(prng);
    if (prng_next(prng) % 2) return fabric_op_field_faa(addr, NULL, random_mask(prng), random_mask(prng));
    return fabric_op_masked_cas(addr, NULL, word ^ flip, mask, random_mask(prng), random_mask(prng));
}

/*
 * Runs the loop on *word; before each try, others may change any bit. Returns the old word; `at` is the word as its
 * last try met it.
 */
static uint64_t run_loop(struct prng *prng, const struct fabric_op *op, uint64_t *word, uint64_t *at, uint32_t *tries)
{
    struct fabric_verbs_loop loop;
    uint64_t old;
    fabric_verbs_loop_begin(&loop, op);
    do {
        if (prng_next(prng) % 3 == 0 && loop.tries < 20) *word ^= random_mask(prng);
        *at = old = *word;
        if (old == loop.expected) *word = loop.desired;
    } while (!fabric_verbs_loop_step(&loop, op, old));
    *tries = loop.tries;
    return old;
}

static void test_loop_by_oracle(void **state)
{
    struct prng prng;
    (void)state;
    prng_seed_stream(&prng, 1, 2);
    for (int round = 0; round < 200000; round++) {
        uint64_t word = random_mask(&prng), at;
        uint32_t tries;
        struct fabric_op op = random_op(&prng, word);
        uint64_t old = run_loop(&prng, &op, &word, &at, &tries);
        assert_true(old == at);
        assert_true(word == oracle(&op, old));
    }
}

/*
 * A lock that is free, and foreign bits that are zero: one try. Foreign bits: two. A wanted bit taken: it fails at
 * once.
 */
static void test_tries(void **state)
{
    struct fabric_op op = fabric_op_masked_cas(fabric_addr_of(0, 64), NULL, 0, 0xff, 7, 0xff);
    struct fabric_verbs_loop loop;
    (void)state;
    fabric_verbs_loop_begin(&loop, &op);
    assert_true(loop.expected == 0 && loop.desired == 7 && fabric_verbs_loop_step(&loop, &op, 0));
    fabric_verbs_loop_begin(&loop, &op);
    assert_false(fabric_verbs_loop_step(&loop, &op, 0xab00));
    assert_true(loop.expected == 0xab00 && loop.desired == 0xab07 && fabric_verbs_loop_step(&loop, &op, 0xab00));
    fabric_verbs_loop_begin(&loop, &op);
    assert_true(fabric_verbs_loop_step(&loop, &op, 0xab01) && loop.tries == 1);
}

#ifdef WITH_HEADERS
static const struct fabric_verbs_wqe shape = {
    .qpn = 0x00abcd, .rkey = 0x11223344, .lkey = 0x55667788, .remote = 0x0102030405060708, .local = 0x1112131415161718};

static uint64_t big_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return be64toh(word);
}

/*
 * Control and remote address first, data last: public structs of the header; the operands between are the vendor's
 * own.
 */
static void check_frame(const uint8_t *bytes, uint32_t count, uint32_t opcode, uint8_t flags, uint32_t operand_bytes)
{
    struct mlx5_wqe_ctrl_seg ctrl;
    struct mlx5_wqe_raddr_seg raddr;
    struct mlx5_wqe_data_seg data;
    memcpy(&ctrl, bytes, sizeof ctrl);
    memcpy(&raddr, bytes + sizeof ctrl, sizeof raddr);
    memcpy(&data, bytes + count - sizeof data, sizeof data);
    assert_int_equal(be32toh(ctrl.opmod_idx_opcode), (operand_bytes == 8 ? 0x09u : 0x0au) << 24 | opcode);
    assert_int_equal(be32toh(ctrl.qpn_ds), shape.qpn << 8 | count / 16);
    assert_int_equal(ctrl.fm_ce_se, flags);
    assert_true(be64toh(raddr.raddr) == shape.remote);
    assert_int_equal(be32toh(raddr.rkey), shape.rkey);
    assert_int_equal(be32toh(data.byte_count), operand_bytes);
    assert_int_equal(be32toh(data.lkey), shape.lkey);
    assert_true(be64toh(data.addr) == shape.local);
}

static void test_entry_bytes(void **state)
{
    uint8_t bytes[FABRIC_VERBS_WQE_BYTES];
    struct fabric_verbs_wqe wqe = shape;
    struct fabric_op cas = fabric_op_masked_cas(fabric_addr_of(0, 64), NULL, 0xc1, 0xc2, 0xc3, 0xc4);
    struct fabric_op add = fabric_op_field_faa(fabric_addr_of(0, 64), NULL, 0xd1, 0xd2);
    (void)state;
    assert_int_equal(fabric_verbs_wqe_encode(&wqe, &cas, bytes), 80);
    check_frame(bytes, 80, MLX5_OPCODE_ATOMIC_MASKED_CS, 0, 8);
    assert_true(big_at(bytes + 32) == 0xc3 && big_at(bytes + 40) == 0xc1); /* swap, compare, and their masks */
    assert_true(big_at(bytes + 48) == 0xc4 && big_at(bytes + 56) == 0xc2);
    wqe.signal = true;
    assert_int_equal(fabric_verbs_wqe_encode(&wqe, &add, bytes), 64);
    check_frame(bytes, 64, MLX5_OPCODE_ATOMIC_MASKED_FA, MLX5_WQE_CTRL_CQ_UPDATE, 8);
    assert_true(big_at(bytes + 32) == 0xd1 && big_at(bytes + 40) == 0xd2);
    add.flags = FABRIC_FENCE;
    assert_int_equal(fabric_verbs_wqe_encode(&wqe, &add, bytes), 64);
    check_frame(bytes, 64, MLX5_OPCODE_ATOMIC_MASKED_FA, MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_FENCE, 8);
}

/* On 16 bytes each operand is two words, that of the lower address first. */
static void test_wide_entry_bytes(void **state)
{
    uint8_t bytes[FABRIC_VERBS_WQE_BYTES];
    struct fabric_verbs_wqe wqe = shape;
    struct fabric_wide wide = {
        .compare = {0xc1, 0xd1}, .compare_mask = {0xc2, 0xd2}, .swap = {0xc3, 0xd3}, .swap_mask = {0xc4, 0xd4}};
    struct fabric_op cas = fabric_op_wide(FABRIC_WIDE_CAS, fabric_addr_of(0, 64), &wide);
    struct fabric_op add = fabric_op_wide(FABRIC_WIDE_FAA, fabric_addr_of(0, 64), &wide);
    static const uint8_t order[] = {0xc3, 0xd3, 0xc1, 0xd1, 0xc4, 0xd4, 0xc2, 0xd2},
                         sum_order[] = {0xc3, 0xd3, 0xc4, 0xd4};
    (void)state;
    assert_int_equal(fabric_verbs_wqe_encode(&wqe, &cas, bytes), 112);
    check_frame(bytes, 112, MLX5_OPCODE_ATOMIC_MASKED_CS, 0, 16);
    for (size_t i = 0; i < sizeof order; i++) assert_true(big_at(bytes + 32 + 8 * i) == order[i]);
    wqe.signal = true;
    assert_int_equal(fabric_verbs_wqe_encode(&wqe, &add, bytes), 80);
    check_frame(bytes, 80, MLX5_OPCODE_ATOMIC_MASKED_FA, MLX5_WQE_CTRL_CQ_UPDATE, 16);
    for (size_t i = 0; i < sizeof sum_order; i++) assert_true(big_at(bytes + 32 + 8 * i) == sum_order[i]);
}

/* What a device does with an entry, bit by bit, on `words` words, the first one being the lowest. */
static void execute(const uint8_t *bytes, uint64_t *memory)
{
    struct mlx5_wqe_ctrl_seg ctrl;
    uint64_t operands[4][2] = {{0}};
    memcpy(&ctrl, bytes, sizeof ctrl);
    uint32_t head = be32toh(ctrl.opmod_idx_opcode), words = head >> 24 == 0x0a ? 2 : 1;
    bool adds = (head & 0xff) == MLX5_OPCODE_ATOMIC_MASKED_FA, matches = true, carry = false;
    for (uint32_t i = 0; i < words * (adds ? 2 : 4); i++) operands[i / words][i % words] = big_at(bytes + 32 + 8 * i);
    const uint64_t *swap = operands[0], *compare = operands[1], *masks = operands[adds ? 1 : 2];
    for (uint32_t bit = 0; bit < 64 * words; bit++) {
        uint64_t one = 1ull << bit % 64, *word = &memory[bit / 64];
        uint32_t sum = !!(*word & one) + !!(swap[bit / 64] & one) + carry;
        if (adds) *word = sum & 1 ? *word | one : *word & ~one;
        carry = adds && sum > 1 && !(masks[bit / 64] & one);
        if (operands[3][bit / 64] & one && (compare[bit / 64] ^ *word) & one) matches = false;
    }
    for (uint32_t i = 0; i < words && matches && !adds; i++) memory[i] = (memory[i] & ~masks[i]) | (swap[i] & masks[i]);
}

static void test_entries_by_oracle(void **state)
{
    uint8_t bytes[FABRIC_VERBS_WQE_BYTES];
    struct prng prng;
    (void)state;
    prng_seed_stream(&prng, 3, 4);
    for (int round = 0; round < 20000; round++) {
        uint64_t words[2] = {random_mask(&prng), random_mask(&prng)}, wanted[2];
        struct fabric_op narrow = random_op(&prng, words[0]);
        struct fabric_wide wide;
        struct fabric_op op =
            fabric_op_wide(round % 2 ? FABRIC_WIDE_CAS : FABRIC_WIDE_FAA, fabric_addr_of(0, 64), &wide);
        for (int i = 0; i < 2; i++) {
            wide.compare[i] = words[i] ^ (prng_next(&prng) % 4 ? 0 : random_mask(&prng));
            wide.compare_mask[i] = random_mask(&prng);
            wide.swap[i] = random_mask(&prng);
            wide.swap_mask[i] = random_mask(&prng);
        }
        fabric_wide_apply(&op, words, wanted);
        (void)fabric_verbs_wqe_encode(&shape, &op, bytes);
        uint64_t memory[2] = {words[0], words[1]};
        execute(bytes, memory);
        assert_true(memory[0] == wanted[0] && memory[1] == wanted[1]);
        memory[0] = words[0];
        (void)fabric_verbs_wqe_encode(&shape, &narrow, bytes);
        execute(bytes, memory);
        assert_true(memory[0] == oracle(&narrow, words[0]) && memory[1] == wanted[1]);
    }
}
#else
static void test_entry_bytes(void **state)
{
    (void)state;
    skip(); /* the vendor's headers are not here */
}
static void test_wide_entry_bytes(void **state) { test_entry_bytes(state); }
static void test_entries_by_oracle(void **state) { test_entry_bytes(state); }
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop_by_oracle),    cmocka_unit_test(test_tries),
        cmocka_unit_test(test_entry_bytes),       cmocka_unit_test(test_wide_entry_bytes),
        cmocka_unit_test(test_entries_by_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
