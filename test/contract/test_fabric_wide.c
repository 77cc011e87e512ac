/* test_fabric_wide.c - the contract of fabric.h on 16-byte atomics and on those by fields, over every backend. */
#include "contract_backends.h"

/* ---- bit by bit, by the definitions of fabric.h alone ---- */

static bool bit(const uint64_t words[2], uint32_t i) { return words[i / 64] >> i % 64 & 1; }

/* Adds with a carry that ends at the top of each field. */
static void add_fields(uint64_t words[2], const uint64_t addend[2], const uint64_t tops[2], uint32_t bits)
{
    bool carry = false;
    for (uint32_t i = 0; i < bits; i++) {
        uint32_t sum = (uint32_t)bit(words, i) + bit(addend, i) + carry;
        words[i / 64] = (words[i / 64] & ~(1ull << i % 64)) | (uint64_t)(sum & 1) << i % 64;
        carry = sum >> 1 && !bit(tops, i);
    }
}

static void swap_masked(uint64_t words[2], const struct fabric_wide *wide)
{
    for (uint32_t i = 0; i < 128; i++)
        if (bit(wide->compare_mask, i) && bit(wide->compare, i) != bit(words, i)) return;
    for (uint32_t i = 0; i < 128; i++)
        if (bit(wide->swap_mask, i))
            words[i / 64] = (words[i / 64] & ~(1ull << i % 64)) | (uint64_t)bit(wide->swap, i) << i % 64;
}

/* Random bits: none, all, one, or any. */
static uint64_t random_bits(struct fabric_ep *ep)
{
    switch (fabric_random(ep) % 4) {
    case 0:
        return 0;
    case 1:
        return ~0ull;
    case 2:
        return 1ull << fabric_random(ep) % 64;
    default:
        return fabric_random(ep);
    }
}

static struct fabric_op random_wide(struct fabric_ep *ep, struct fabric_wide *wide, const uint64_t now[2])
{
    bool add = fabric_random(ep) % 2;
    for (int i = 0; i < 2; i++) {
        wide->compare[i] = now[i] ^ (fabric_random(ep) % 3 ? 0 : random_bits(ep));
        wide->compare_mask[i] = random_bits(ep);
        wide->swap[i] = random_bits(ep);
        wide->swap_mask[i] = random_bits(ep);
    }
    return fabric_op_wide(add ? FABRIC_WIDE_FAA : FABRIC_WIDE_CAS, AT(64), wide);
}

static void wide_by_oracle(struct contract_worker *worker)
{
    uint64_t now[2] = {0}, expected[8][2];
    struct fabric_wide wide[8];

    for (uint32_t round = 0; round < 200; round++) {
        struct fabric_op ops[8];
        for (uint32_t i = 0; i < 8; i++) {
            memcpy(expected[i], now, sizeof now);
            if (fabric_random(worker->ep) % 3) {
                ops[i] = random_wide(worker->ep, &wide[i], now);
                if (ops[i].kind == FABRIC_WIDE_FAA)
                    add_fields(now, wide[i].swap, wide[i].swap_mask, 128);
                else
                    swap_masked(now, &wide[i]);
            } else { /* on 8 bytes of the same pair */
                uint32_t half = fabric_random(worker->ep) % 2;
                uint64_t addend = random_bits(worker->ep), tops = random_bits(worker->ep);
                ops[i] = fabric_op_field_faa(AT(64 + 8 * half), &wide[i].old[half], addend, tops);
                add_fields(&now[half], (uint64_t[2]){addend}, (uint64_t[2]){tops}, 64);
                wide[i].old[1 - half] = expected[i][1 - half];
            }
        }
        CHECK(worker, contract_do(worker, ops, 8) == 0);
        for (uint32_t i = 0; i < 8; i++) CHECK(worker, memcmp(wide[i].old, expected[i], sizeof now) == 0);
        CHECK(worker, contract_word(worker, AT(64)) == now[0] && contract_word(worker, AT(72)) == now[1]);
    }
}

/*
 * Atomics of 8 and of 16 bytes on the same pair at once: each counts in a field of its own, so a lost one shows.
 * Worker 0 sees both words of one time: only it changes the top fields, and always both.
 */
#define COUNT_BITS 12
static void widths_together(struct contract_worker *worker)
{
    uint32_t shift = COUNT_BITS * worker->index, rounds = worker->cluster->backend->delays ? 150 : 3000;
    struct fabric_wide both = {.swap = {1ull << shift, 1ull << shift}}, swap = {.swap = {0}};
    uint64_t tops = 0;

    for (uint32_t i = 0; i < worker->cluster->worker_count; i++) tops |= 1ull << (COUNT_BITS * i + COUNT_BITS - 1);
    both.swap_mask[0] = both.swap_mask[1] = tops;
    swap.swap_mask[0] = swap.swap_mask[1] = 0xffull << 56;
    for (uint32_t round = 0; round < rounds; round++) {
        struct fabric_op ops[4] = {fabric_op_wide(FABRIC_WIDE_FAA, AT(64), &both),
                                   fabric_op_faa(AT(64), &worker->olds[0], 1ull << shift),
                                   fabric_op_field_faa(AT(72), &worker->olds[1], 1ull << shift, tops),
                                   fabric_op_wide(FABRIC_WIDE_CAS, AT(64), &swap)};
        swap.swap[0] = swap.swap[1] = (uint64_t)round << 56;
        CHECK(worker, contract_do(worker, ops, worker->index == 0 ? 4 : 3) == 0);
        CHECK(worker, worker->index != 0 || both.old[0] >> 56 == both.old[1] >> 56);
        CHECK(worker, (both.old[0] >> shift & 0x7ff) == (2 * round & 0x7ff));
        CHECK(worker, (both.old[1] >> shift & 0x7ff) == (2 * round & 0x7ff));
        if (2 * round % 2048 == 2046) { /* before the field overflows, which FAA on 8 bytes would not stop */
            uint64_t mask = 0xfffull << shift;
            struct fabric_op clear[2] = {fabric_op_masked_cas(AT(64), &worker->olds[0], 0, 0, 0, mask),
                                         fabric_op_masked_cas(AT(72), &worker->olds[1], 0, 0, 0, mask)};
            CHECK(worker, contract_do(worker, clear, 2) == 0);
            CHECK(worker, (worker->olds[0] & mask) >> shift == 2048 && (worker->olds[1] & mask) >> shift == 2048);
        }
    }
}

/*
 * A lock that one wide CAS takes, guarding plain memory of this process: its next holder sees what the last one did.
 */
static uint64_t guarded[2];

static void wide_lock(struct contract_worker *worker)
{
    struct fabric_wide take = {.compare_mask = {~0ull, 0}, .swap_mask = {~0ull, 0}}, leave;
    take.swap[0] = worker->index + 1;
    leave = (struct fabric_wide){.swap = {0, 1}, .swap_mask = {1ull << 63, 1ull << 63}};
    leave.swap[0] = -(uint64_t)(worker->index + 1);
    for (uint32_t round = 0; round < 200;) {
        CHECK(worker, contract_one(worker, fabric_op_wide(FABRIC_WIDE_CAS, AT(64), &take)) == 0);
        if (take.old[0] != 0) continue;
        CHECK(worker, guarded[0] == guarded[1] && guarded[0] == take.old[1]);
        guarded[0]++, guarded[1]++;
        CHECK(worker, contract_one(worker, fabric_op_wide(FABRIC_WIDE_FAA, AT(64), &leave)) == 0);
        CHECK(worker, leave.old[0] == worker->index + 1);
        round++;
    }
}

static void invalid_wide(struct contract_worker *worker)
{
    struct fabric_wide wide = {.old = {77, 78}, .swap = {1, 1}};
    uint64_t *old = worker->olds;
    struct fabric_op bad[] = {
        fabric_op_wide(FABRIC_WIDE_FAA, AT(72), &wide),
        fabric_op_wide(FABRIC_WIDE_CAS, AT(68), &wide),
        fabric_op_wide(FABRIC_WIDE_FAA, AT(MN_BYTES - 8), &wide),
        fabric_op_wide(FABRIC_WIDE_CAS, AT(MN_BYTES), &wide),
        fabric_op_wide(FABRIC_WIDE_CAS, AT((1ull << 48) - 16), &wide),
        fabric_op_wide(FABRIC_WIDE_FAA, fabric_addr_of(1, 64), &wide),
        fabric_op_wide(FABRIC_WIDE_FAA, fabric_addr_of(63, 64), &wide),
        fabric_op_wide(FABRIC_WIDE_FAA, fabric_addr_of(64, 64), &wide),
        {.kind = FABRIC_WIDE_FAA, .addr = AT(64), .local = &wide, .size_bytes = 8},
        {.kind = FABRIC_WIDE_CAS, .addr = AT(64), .local = &wide, .size_bytes = 0},
        {.kind = FABRIC_WIDE_CAS, .addr = AT(64), .local = &wide, .size_bytes = UINT32_MAX},
        {.kind = FABRIC_FIELD_FAA, .addr = AT(64), .local = old, .size_bytes = 16, .swap = 1},
        fabric_op_field_faa(AT(68), old, 1, 0),
        fabric_op_field_faa(AT(MN_BYTES), old, 1, 0),
    };

    old[0] = 77;
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(worker, contract_do(worker, &bad[i], 1) == 1);
        CHECK(worker, bad[i].status == CELLAR_INVALID);
    }
    CHECK(worker, wide.old[0] == 77 && wide.old[1] == 78 && old[0] == 77);
    CHECK(worker, contract_word(worker, AT(64)) == 0 && contract_word(worker, AT(72)) == 0);
    CHECK(worker, contract_one(worker, fabric_op_wide(FABRIC_WIDE_FAA, AT(MN_BYTES - 16), &wide)) == 0);
    CHECK(worker, contract_word(worker, AT(MN_BYTES - 8)) == 1);
}

static void counted_by_kind(struct contract_worker *worker)
{
    struct fabric_wide wide = {.swap = {1, 1}};
    const struct fabric_counters *counters = &worker->ep->counters;

    CHECK(worker, contract_one(worker, fabric_op_wide(FABRIC_WIDE_FAA, AT(64), &wide)) == 0);
    CHECK(worker, contract_one(worker, fabric_op_wide(FABRIC_WIDE_CAS, AT(64), &wide)) == 0);
    CHECK(worker, contract_one(worker, fabric_op_field_faa(AT(64), worker->olds, 1, 0)) == 0);
    CHECK(worker, counters->ops[0][0][FABRIC_WIDE_FAA] == 1 && counters->ops[0][0][FABRIC_WIDE_CAS] == 1);
    CHECK(worker, counters->ops[0][0][FABRIC_FIELD_FAA] == 1 && counters->ops[0][0][FABRIC_FAA] == 0);
}

static void killed_node(struct contract_worker *worker)
{
    struct fabric *fabric = worker->cluster->fabric;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 1};
    struct fabric_wide wide = {.old = {77, 78}, .swap = {1, 1}};
    struct fabric_op op = fabric_op_wide(FABRIC_WIDE_FAA, fabric_addr_of(1, 64), &wide);

    CHECK(worker, fabric->ops->control(fabric, &kill, NULL) == 0);
    CHECK(worker, contract_one(worker, op) == CELLAR_UNREACHABLE);
    CHECK(worker, wide.old[0] == 77 && wide.old[1] == 78);
}

/*
 * Fields of 8 bytes alone, which every backend has, whatever its device can: with a plain FAA in between that changes
 * the word.
 */
static void fields_by_oracle(struct contract_worker *worker)
{
    uint64_t now[2] = {0}, expected[8];

    for (uint32_t round = 0; round < 100; round++) {
        struct fabric_op ops[8];
        for (uint32_t i = 0; i < 8; i++) {
            uint64_t addend[2] = {random_bits(worker->ep)}, tops[2] = {random_bits(worker->ep)};
            expected[i] = now[0];
            ops[i] = fabric_op_field_faa(AT(64), &worker->olds[i], addend[0], tops[0]);
            if (fabric_random(worker->ep) % 4 == 0) {
                ops[i] = fabric_op_faa(AT(64), &worker->olds[i], addend[0]);
                tops[0] = 0;
            }
            add_fields(now, addend, tops, 64);
        }
        CHECK(worker, contract_do(worker, ops, 8) == 0);
        CHECK(worker, memcmp(worker->olds, expected, sizeof expected) == 0);
        CHECK(worker, contract_word(worker, AT(64)) == now[0]);
    }
}

/* A backend without them says so, executes nothing, and goes on. */
static void wide_refused(struct contract_worker *worker)
{
    struct fabric_wide wide = {.old = {77, 78}, .swap = {1, 1}};

    CHECK(worker, !worker->cluster->fabric->wide_atomics);
    CHECK(worker, contract_one(worker, fabric_op_wide(FABRIC_WIDE_FAA, AT(64), &wide)) == CELLAR_UNSUPPORTED);
    CHECK(worker, contract_one(worker, fabric_op_wide(FABRIC_WIDE_FAA, AT(72), &wide)) == CELLAR_INVALID);
    CHECK(worker, wide.old[0] == 77 && wide.old[1] == 78);
    CHECK(worker, contract_word(worker, AT(64)) == 0 && contract_word(worker, AT(72)) == 0);
}

/* ---- tests ---- */

/* Skipped on a backend without wide atomics, or with them. */
#define WIDE_TEST(name, nodes, workers, without)                                                                       \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        if (((const struct contract_backend *)*state)->no_wide != (without)) skip();                                   \
        contract_test(*state, SHAPE(nodes, workers), workers, name);                                                   \
    }

CONTRACT_TEST(fields_by_oracle, 1, 1, 1)
WIDE_TEST(wide_by_oracle, 1, 1, false)
WIDE_TEST(widths_together, 1, 4, false)
WIDE_TEST(invalid_wide, 1, 1, false)
WIDE_TEST(counted_by_kind, 1, 1, false)
WIDE_TEST(killed_node, 2, 1, false)
WIDE_TEST(wide_refused, 1, 1, true)

static void test_wide_lock(void **state)
{
    if (((const struct contract_backend *)*state)->no_wide) skip();
    memset(guarded, 0, sizeof guarded);
    contract_test(*state, SHAPE(1, 3), 3, wide_lock);
    assert_int_equal(guarded[0], 600);
}

#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, test_##name                                                                                             \
    }
static const struct contract_entry tests[] = {
    ENTRY(fields_by_oracle), ENTRY(wide_by_oracle),  ENTRY(widths_together), ENTRY(wide_lock),
    ENTRY(invalid_wide),     ENTRY(counted_by_kind), ENTRY(killed_node),     ENTRY(wide_refused),
};

int main(int argc, char **argv)
{
    return contract_main("fabric_wide", tests, sizeof tests / sizeof *tests, argc, argv);
}
