/* test_fabric.c - the contract of fabric.h on operations, rule by rule, over every backend. */
#include "contract_backends.h"

/* ---- small shapes ---- */

/* Random bits: none, all, one, or any. */
static uint64_t random_mask(struct fabric_ep *ep)
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

/* What the word becomes, by the definitions of fabric.h alone. */
static uint64_t oracle(const struct fabric_op *op, uint64_t word)
{
    if (op->kind == FABRIC_FAA) return word + op->swap;
    uint64_t compare_mask = op->kind == FABRIC_CAS ? ~0ull : op->compare_mask;
    uint64_t swap_mask = op->kind == FABRIC_CAS ? ~0ull : op->swap_mask;
    if ((word ^ op->compare) & compare_mask) return word;
    return (word & ~swap_mask) | (op->swap & swap_mask);
}

/* ---- rule 1: order ---- */

static void order_in_a_batch(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;

    for (uint64_t round = 1; round <= 50; round++) {
        struct fabric_op ops[16];
        uint32_t count = 0;
        local[0] = round << 8 | 1;
        local[1] = round << 8 | 2;
        ops[count++] = fabric_op_write(AT(64), &local[0], 8);
        ops[count++] = fabric_op_read(AT(64), &local[2], 8); /* sees the first WRITE, not the second */
        ops[count] = fabric_op_write(AT(64), &local[1], 8);
        ops[count++].flags = FABRIC_FENCE;
        ops[count++] = fabric_op_read(AT(64), &local[3], 8);
        for (uint32_t i = 0; i < 8; i++) ops[count++] = fabric_op_faa(AT(128), &worker->olds[i], 1);
        ops[count++] = fabric_op_cas(AT(136), &worker->olds[8], round - 1, round + 100);
        ops[count++] = fabric_op_masked_cas(AT(136), &worker->olds[9], round + 100, ~0ull, round, ~0ull);
        CHECK(worker, contract_do(worker, ops, count) == 0);
        CHECK(worker, local[2] == (round << 8 | 1) && local[3] == (round << 8 | 2));
        for (uint32_t i = 0; i < 8; i++) CHECK(worker, worker->olds[i] == (round - 1) * 8 + i);
        CHECK(worker, worker->olds[8] == round - 1 && worker->olds[9] == round + 100);
    }
    CHECK(worker, contract_word(worker, AT(136)) == 50);
}

/* A READ that is not overtaken: with FABRIC_FENCE on the WRITE after it, it returns what was there before. */
static void fence_keeps_reads(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;

    for (uint64_t round = 0; round < 100; round++) {
        struct fabric_op ops[2] = {fabric_op_read(AT(256), &local[0], 8), fabric_op_write(AT(256), &local[1], 8)};
        local[1] = round + 1;
        ops[1].flags = FABRIC_FENCE;
        CHECK(worker, contract_do(worker, ops, 2) == 0);
        CHECK(worker, local[0] == round);
    }
}

/*
 * Two workers, each: WRITE its word, READ the other's. Both may not miss each other's WRITE: a READ does not pass an
 * earlier WRITE, so one of them comes last. Round numbers tell which WRITEs a READ has seen.
 */
#define STORE_BUFFER_ROUNDS 2000
static uint64_t store_buffer_seen[2][STORE_BUFFER_ROUNDS + 1];

static void store_buffer(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;

    for (uint64_t round = 1; round <= STORE_BUFFER_ROUNDS; round++) {
        struct fabric_op ops[2] = {fabric_op_write(AT(512 + 64 * worker->index), &local[0], 8),
                                   fabric_op_read(AT(512 + 64 * !worker->index), &local[1], 8)};
        local[0] = round;
        if (round % 2) {
            CHECK(worker, contract_do(worker, ops, 2) == 0);
        } else { /* the same over two batches */
            CHECK(worker, contract_one(worker, ops[0]) == 0);
            CHECK(worker, contract_one(worker, ops[1]) == 0);
        }
        store_buffer_seen[worker->index][round] = local[1];
    }
}

/* ---- rule 2: words ---- */

#define PATTERN_WORDS 32

/* Threads must meet: they wait for each other, and then go on for longer than it takes to start one. */
static uint32_t rounds_of(struct contract_worker *worker, uint32_t rounds)
{
    bool fast = worker->cluster->backend->threads && !worker->cluster->backend->delays;
    return fast ? 100 * rounds : rounds;
}

static void meet_all(struct contract_worker *worker)
{
    CHECK(worker, contract_one(worker, fabric_op_faa(AT(2048), worker->olds, 1)) == 0);
    while (contract_word(worker, AT(2048)) < worker->cluster->worker_count) fabric_poll(worker->ep);
}

/* Each word of the block holds the same number in both halves, so that a torn word shows; numbers only grow. */
static void write_patterns(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;
    uint32_t rounds = rounds_of(worker, 3000);

    meet_all(worker);
    for (uint32_t round = 1; round <= rounds; round++) {
        for (uint32_t i = 0; i < PATTERN_WORDS; i++) local[i] = (uint64_t)round << 32 | round;
        CHECK(worker, contract_one(worker, fabric_op_write(AT(4096), local, PATTERN_WORDS * 8)) == 0);
    }
    CHECK(worker, contract_one(worker, fabric_op_faa(AT(64), worker->olds, 1)) == 0);
}

/*
 * Word i is stored before word j > i, and loaded before it: so the reader's word j is at most one round behind word
 * i.
 */
static void read_patterns(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;
    bool ascending = !worker->cluster->fabric->line_atomic;

    meet_all(worker);
    while (contract_word(worker, AT(64)) == 0) {
        CHECK(worker, contract_one(worker, fabric_op_read(AT(4096), local, PATTERN_WORDS * 8)) == 0);
        uint32_t most = 0;
        for (uint32_t i = 0; i < PATTERN_WORDS; i++) {
            uint32_t number = (uint32_t)local[i];
            CHECK(worker, local[i] >> 32 == number);
            CHECK(worker, !ascending || number + 1 >= most);
            CHECK(worker, ascending || i % 8 == 0 || number == (uint32_t)local[i - 1]);
            if (number > most) most = number;
        }
    }
}

/* ---- rule 3: atomics ---- */

static void atomics_by_oracle(struct contract_worker *worker)
{
    uint64_t words[4] = {0};

    for (uint32_t round = 0; round < 400; round++) {
        struct fabric_op ops[8];
        uint64_t expected[8];
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t word = (uint32_t)(fabric_random(worker->ep) % 4);
            uint64_t now = words[word], flip = fabric_random(worker->ep) % 2 ? 0 : random_mask(worker->ep);
            uint64_t *old = &worker->olds[i];
            ops[i] = fabric_op_faa(AT(64 + 8 * word), old, fabric_random(worker->ep));
            if (fabric_random(worker->ep) % 3 == 0)
                ops[i] = fabric_op_cas(AT(64 + 8 * word), old, now ^ flip, fabric_random(worker->ep));
            else if (fabric_random(worker->ep) % 2 == 0)
                ops[i] = fabric_op_masked_cas(AT(64 + 8 * word), old, now ^ flip, random_mask(worker->ep),
                                              fabric_random(worker->ep), random_mask(worker->ep));
            expected[i] = now;
            words[word] = oracle(&ops[i], now);
        }
        CHECK(worker, contract_do(worker, ops, 8) == 0);
        for (uint32_t i = 0; i < 8; i++) CHECK(worker, worker->olds[i] == expected[i]);
        for (uint32_t i = 0; i < 4; i++) CHECK(worker, contract_word(worker, AT(64 + 8 * i)) == words[i]);
    }
}

/* Each worker owns a byte of one word and counts it up by masked CAS, whatever the others do; and all count by FAA. */
static void atomics_of_all(struct contract_worker *worker)
{
    uint64_t shift = 8 * worker->index, mask = 0xffull << shift, rounds = rounds_of(worker, 500);

    meet_all(worker);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t mine = (round & 0xff) << shift, next = ((round + 1) & 0xff) << shift;
        struct fabric_op ops[2] = {fabric_op_masked_cas(AT(64), &worker->olds[0], mine, mask, next, mask),
                                   fabric_op_faa(AT(72), &worker->olds[1], 1)};
        CHECK(worker, contract_do(worker, ops, 2) == 0);
        CHECK(worker, (worker->olds[0] & mask) == mine);
    }
    while (contract_word(worker, AT(72)) < rounds * worker->cluster->worker_count) fabric_poll(worker->ep);
    CHECK(worker, contract_word(worker, AT(64)) >> 8 * worker->cluster->worker_count == 0);
    CHECK(worker, (contract_word(worker, AT(64)) >> shift & 0xff) == (rounds & 0xff));
}

/*
 * A lock by CAS that guards a plain counter: mutual exclusion, and a WRITE that completed is seen by the next holder.
 */
static void lock_guards_writes(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;

    for (uint32_t round = 0; round < 300;) {
        CHECK(worker, contract_one(worker, fabric_op_cas(AT(64), worker->olds, 0, worker->index + 1)) == 0);
        if (worker->olds[0] != 0) continue;
        CHECK(worker, contract_one(worker, fabric_op_read(AT(4096), local, 16)) == 0);
        CHECK(worker, local[0] == local[1]);
        local[0]++, local[1]++;
        CHECK(worker, contract_one(worker, fabric_op_write(AT(4096), local, 16)) == 0);
        CHECK(worker, contract_one(worker, fabric_op_cas(AT(64), worker->olds, worker->index + 1, 0)) == 0);
        CHECK(worker, worker->olds[0] == worker->index + 1);
        round++;
    }
}

static void lock_guards_check(struct contract_worker *worker)
{
    CHECK(worker, contract_word(worker, AT(4096)) == 300ull * worker->cluster->worker_count);
}

/* ---- rule 4: exactly the named bytes ---- */

static void write_exact_bytes(struct contract_worker *worker)
{
    uint8_t *source = worker->local, *found = worker->local + 1024, shadow[256];

    for (uint32_t i = 0; i < sizeof shadow; i++) shadow[i] = 0;
    for (uint32_t size = 1; size <= 200; size++) {
        for (uint32_t offset = 0; offset < 9; offset++) {
            uint32_t skew = (size + offset) % 8; /* the source is aligned in any way, too */
            for (uint32_t i = 0; i < size; i++) source[skew + i] = (uint8_t)(fabric_random(worker->ep) | 1);
            struct fabric_op ops[2] = {fabric_op_write(AT(4096 + offset), source + skew, size),
                                       fabric_op_read(AT(4096), found, 256)};
            CHECK(worker, contract_do(worker, ops, 2) == 0);
            memcpy(shadow + offset, source + skew, size);
            CHECK(worker, memcmp(found, shadow, sizeof shadow) == 0);
        }
    }
}

static void read_exact_bytes(struct contract_worker *worker)
{
    uint8_t *source = worker->local, *found = worker->local + 1024;

    for (uint32_t i = 0; i < 256; i++) source[i] = (uint8_t)(i * 7 + 1);
    CHECK(worker, contract_one(worker, fabric_op_write(AT(4096), source, 256)) == 0);
    for (uint32_t size = 1; size <= 200; size++) {
        for (uint32_t offset = 0; offset < 9; offset++) {
            uint32_t skew = (size * 3 + offset) % 8;
            memset(found, 0xee, 256);
            CHECK(worker, contract_one(worker, fabric_op_read(AT(4096 + offset), found + skew, size)) == 0);
            CHECK(worker, memcmp(found + skew, source + offset, size) == 0);
            for (uint32_t i = 0; i < skew; i++) CHECK(worker, found[i] == 0xee);
            for (uint32_t i = skew + size; i < 256; i++) CHECK(worker, found[i] == 0xee);
        }
    }
}

static void memory_is_zero(struct contract_worker *worker)
{
    CHECK(worker, worker->cluster->fabric->fresh);
    for (uint32_t node = 0; node < worker->cluster->fabric->mn_count; node++) {
        for (uint64_t offset = 0; offset < MN_BYTES; offset += 32768) {
            CHECK(worker,
                  contract_one(worker, fabric_op_read(fabric_addr_of(node, offset), worker->local, 32768)) == 0);
            for (uint32_t i = 0; i < 32768; i++) CHECK(worker, worker->local[i] == 0);
        }
    }
}

/* Nodes are different memory, and the first and last bytes of each can be used. */
static void nodes_are_apart(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;

    for (uint32_t node = 0; node < 3; node++) {
        local[node] = node + 1;
        CHECK(worker, contract_one(worker, fabric_op_write(fabric_addr_of(node, MN_BYTES - 8), &local[node], 8)) == 0);
        CHECK(worker, contract_one(worker, fabric_op_faa(fabric_addr_of(node, 0), worker->olds, 10 * (node + 1))) == 0);
    }
    for (uint32_t node = 0; node < 3; node++) {
        CHECK(worker, contract_word(worker, fabric_addr_of(node, MN_BYTES - 8)) == node + 1);
        CHECK(worker, contract_word(worker, fabric_addr_of(node, 0)) == 10 * (node + 1));
    }
}

/* ---- rule 5: failures ---- */

static void invalid_operations(struct contract_worker *worker)
{
    uint8_t *local = worker->local;
    uint64_t *old = worker->olds;
    struct fabric_op bad[] = {
        fabric_op_write(fabric_addr_of(worker->cluster->fabric->mn_count, 64), local, 8),
        fabric_op_write(fabric_addr_of(63, 64), local, 8),
        fabric_op_write(fabric_addr_of(64, 64), local, 8),
        fabric_op_read(fabric_addr_of(65535, 64), local, 8),
        fabric_op_faa(fabric_addr_of(64, 64), old, 1),
        fabric_op_write(AT(MN_BYTES), local, 1),
        fabric_op_write(AT(MN_BYTES - 7), local, 8),
        fabric_op_read(AT(MN_BYTES - 7), local, 8),
        fabric_op_write(AT((1ull << 48) - 8), local, 8),
        fabric_op_write(AT((1ull << 48) - 8), local, 16),
        fabric_op_read(AT(0), local, MN_BYTES + 1),
        fabric_op_read(AT(64), local, UINT32_MAX),
        fabric_op_write(AT(64), local, UINT32_MAX),
        fabric_op_write(AT(64), local, 0),
        fabric_op_faa(AT(MN_BYTES), old, 1),
        fabric_op_faa(AT(MN_BYTES - 4), old, 1),
        fabric_op_faa(AT(65), old, 1),
        fabric_op_faa(AT(68), old, 1),
        fabric_op_cas(AT(66), old, 0, 1),
        fabric_op_masked_cas(AT(71), old, 0, 0, 1, ~0ull),
        {.kind = FABRIC_FAA, .addr = AT(64), .local = old, .size_bytes = 4, .swap = 1},
        {.kind = FABRIC_KINDS, .addr = AT(64), .local = old, .size_bytes = 8, .swap = 1},
        {.kind = 255, .addr = AT(64), .local = old, .size_bytes = 8, .swap = 1},
        {.kind = FABRIC_SEND,
         .addr = fabric_endpoint_addr(0, 0),
         .local = local,
         .size_bytes = FABRIC_MESSAGE_BYTES + 1},
    };
    uint32_t count = sizeof bad / sizeof *bad;

    memset(local, 0xff, 64);
    old[0] = 77;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(worker, contract_do(worker, &bad[i], 1) == 1);
        CHECK(worker, bad[i].status == CELLAR_INVALID);
    }
    CHECK(worker, contract_do(worker, bad, count) == count);
    CHECK(worker, old[0] == 77 && local[0] == 0xff);
    CHECK(worker, contract_word(worker, AT(64)) == 0 && contract_word(worker, AT(MN_BYTES - 8)) == 0);

    struct fabric_op mixed[3] = {fabric_op_faa(AT(64), &old[1], 5), fabric_op_faa(AT(65), &old[2], 5),
                                 fabric_op_read(AT(64), local, 8)};
    CHECK(worker, contract_do(worker, mixed, 3) == 1);
    CHECK(worker, mixed[0].status == 0 && mixed[1].status == CELLAR_INVALID && mixed[2].status == 0);
}

static void killed_node(struct contract_worker *worker)
{
    struct fabric *fabric = worker->cluster->fabric;
    struct fabric_control kill_1 = {.kind = FABRIC_NODE_KILL, .node = 1},
                          kill_9 = {.kind = FABRIC_NODE_KILL, .node = 9};
    struct fabric_addr dead = fabric_addr_of(1, 64);

    CHECK(worker, contract_one(worker, fabric_op_faa(dead, worker->olds, 1)) == 0);
    CHECK(worker, fabric->ops->control(fabric, &kill_9, NULL) == CELLAR_INVALID);
    CHECK(worker, fabric->ops->control(fabric, &kill_1, NULL) == 0);
    worker->olds[0] = 77;
    struct fabric_op ops[] = {fabric_op_faa(dead, worker->olds, 1), fabric_op_read(dead, worker->local, 8),
                              fabric_op_write(dead, worker->local, 8), fabric_op_cas(dead, worker->olds, 1, 2),
                              fabric_op_faa(AT(64), &worker->olds[1], 1)};
    CHECK(worker, contract_do(worker, ops, 5) == 4);
    for (uint32_t i = 0; i < 4; i++) CHECK(worker, ops[i].status == CELLAR_UNREACHABLE);
    CHECK(worker, ops[4].status == 0 && worker->olds[0] == 77);
    CHECK(worker, contract_one(worker, fabric_op_faa(fabric_addr_of(2, 64), worker->olds, 1)) == 0);
}

/*
 * A backend either fences - then nothing of that compute node runs - or says that it cannot, and nothing has changed.
 */
static void fenced_cn(struct contract_worker *worker)
{
    struct fabric *fabric = worker->cluster->fabric;
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 0}, unknown = {.kind = FABRIC_CN_EVICT, .cn = 200};
    struct cellar_error error = {0};

    CHECK(worker, fabric->ops->control(fabric, &unknown, &error) == CELLAR_INVALID);
    int code = fabric->ops->control(fabric, &fence, &error);
    int status = contract_one(worker, fabric_op_faa(AT(64), worker->olds, 1));
    if (code == 0) {
        CHECK(worker, status == CELLAR_FENCED);
    } else {
        CHECK(worker, code == CELLAR_UNSUPPORTED && error.code == CELLAR_UNSUPPORTED && error.text[0]);
        CHECK(worker, status == 0);
    }
}

/* ---- tests ---- */

CONTRACT_TEST(order_in_a_batch, 1, 1, 1)
CONTRACT_TEST(fence_keeps_reads, 1, 1, 1)
CONTRACT_TEST(atomics_by_oracle, 1, 1, 1)
CONTRACT_TEST(atomics_of_all, 1, 3, 3)
CONTRACT_TEST(write_exact_bytes, 1, 1, 1)
CONTRACT_TEST(read_exact_bytes, 1, 1, 1)
CONTRACT_TEST(memory_is_zero, 2, 1, 1)
CONTRACT_TEST(nodes_are_apart, 3, 1, 1)
CONTRACT_TEST(invalid_operations, 2, 1, 1)
CONTRACT_TEST(killed_node, 3, 1, 1)
CONTRACT_TEST(fenced_cn, 1, 2, 1)

static void test_words_are_untorn(void **state)
{
    contract_bodies(*state, 2, (void (*const[])(struct contract_worker *)){write_patterns, read_patterns}, NULL);
}

static void test_lock_guards_writes(void **state)
{
    contract_bodies(*state, 2, (void (*const[])(struct contract_worker *)){lock_guards_writes, lock_guards_writes},
                    (void (*const[])(struct contract_worker *)){lock_guards_check, lock_guards_check});
}

/*
 * Worker 0 in round i missed the other's WRITE number j = seen + 1 and all later ones; that WRITE's round must not
 * have missed i.
 */
static void test_store_buffer(void **state)
{
    contract_bodies(*state, 2, (void (*const[])(struct contract_worker *)){store_buffer, store_buffer}, NULL);
    for (uint64_t i = 1; i <= STORE_BUFFER_ROUNDS; i++) {
        uint64_t j = store_buffer_seen[0][i] + 1;
        if (j <= STORE_BUFFER_ROUNDS) assert_true(store_buffer_seen[1][j] >= i);
    }
}

#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, test_##name                                                                                             \
    }
static const struct contract_entry tests[] = {
    ENTRY(order_in_a_batch),  ENTRY(fence_keeps_reads), ENTRY(store_buffer),       ENTRY(words_are_untorn),
    ENTRY(atomics_by_oracle), ENTRY(atomics_of_all),    ENTRY(lock_guards_writes), ENTRY(write_exact_bytes),
    ENTRY(read_exact_bytes),  ENTRY(memory_is_zero),    ENTRY(nodes_are_apart),    ENTRY(invalid_operations),
    ENTRY(killed_node),       ENTRY(fenced_cn),
};

int main(int argc, char **argv) { return contract_main("fabric", tests, sizeof tests / sizeof *tests, argc, argv); }
