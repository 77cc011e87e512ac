/*
 * test_shm_stress.c - threads on shm, all at once: the last word on atomics, order, messages and sleeping under load,
 * and the program to run under ThreadSanitizer. "scale=N" as an argument multiplies the work.
 */
#include "contract_shm.h"
#include "fabric_shm_internal.h"

#define WORKERS 4
#define ACCOUNTS 64
#define ROUNDS 4000

static uint32_t scale = 1;

static const struct contract_backend shm = {.name = "shm", .open = contract_open_shm, .threads = true};
static const struct contract_backend shm_delayed = {
    .name = "shm_delayed", .open = contract_open_shm, .threads = true, .delays = true, .variant = 5000};
static const struct contract_shape shape = {.mn_count = 2, .cn_count = WORKERS, .mn_bytes = 1 << 20};

/* An account: a line with a lock word (one byte per worker, as cell tags have), and a balance kept twice. */
static struct fabric_addr account(uint64_t index)
{
    return fabric_addr_of((uint32_t)(index % 2), 4096 + 64 * (index / 2));
}

static bool lock(struct contract_worker *worker, struct fabric_addr addr, uint64_t *balance)
{
    struct fabric_op ops[2] = {fabric_op_masked_cas(addr, &worker->olds[0], 0, 0xff, worker->index + 1, 0xff),
                               fabric_op_read(fabric_addr_plus(addr, 8), balance, 16)};

    return contract_do(worker, ops, 2) == 0 && (worker->olds[0] & 0xff) == 0;
}

static void unlock(struct contract_worker *worker, struct fabric_addr addr, const uint64_t *balance)
{
    struct fabric_op ops[2] = {fabric_op_write(fabric_addr_plus(addr, 8), balance, 16),
                               fabric_op_masked_cas(addr, &worker->olds[0], worker->index + 1, 0xff, 0, 0xff)};

    CHECK(worker, contract_do(worker, ops, balance ? 2 : 1) == 0);
    CHECK(worker, (worker->olds[0] & 0xff) == worker->index + 1);
}

/* Bits of the lock word that are not compared change all the time: masked CAS must not mind. */
static void stir(struct contract_worker *worker, struct fabric_addr addr)
{
    CHECK(worker, contract_one(worker, fabric_op_faa(addr, &worker->olds[1], 0x100)) == 0);
}

/* Moves money between two accounts under both locks, in the order of their addresses. */
static void transfer(struct contract_worker *worker)
{
    uint64_t *from = (uint64_t *)(void *)worker->local, *to = from + 2;

    for (uint32_t round = 0; round < ROUNDS * scale; round++) {
        if (worker->failure[0]) return;
        uint64_t a = fabric_random(worker->ep) % (ACCOUNTS - 1),
                 b = a + 1 + fabric_random(worker->ep) % (ACCOUNTS - 1 - a);
        while (!lock(worker, account(a), from)) stir(worker, account(a));
        while (!lock(worker, account(b), to)) stir(worker, account(b));
        CHECK(worker, from[0] == from[1] && to[0] == to[1]);
        uint64_t amount = fabric_random(worker->ep) % 100;
        from[0] -= amount, from[1] -= amount;
        to[0] += amount, to[1] += amount;
        unlock(worker, account(b), to);
        unlock(worker, account(a), from);
    }
}

static void sum_is_zero(struct contract_worker *worker)
{
    uint64_t sum = 0, *balance = (uint64_t *)(void *)worker->local;

    for (uint64_t i = 0; i < ACCOUNTS; i++) {
        CHECK(worker, lock(worker, account(i), balance));
        CHECK(worker, balance[0] == balance[1]);
        sum += balance[0];
    }
    CHECK(worker, sum == 0);
}

static void nothing(struct contract_worker *worker) { (void)worker; }

static void run_transfers(const struct contract_backend *backend)
{
    struct contract_cluster cluster;

    contract_open(&cluster, backend, shape, WORKERS);
    contract_run(&cluster, (void (*const[])(struct contract_worker *)){transfer, transfer, transfer, transfer});
    contract_run(&cluster, (void (*const[])(struct contract_worker *)){sum_is_zero, nothing, nothing, nothing});
    contract_close(&cluster);
}

static void test_transfers(void **state)
{
    (void)state;
    run_transfers(&shm);
}

static void test_transfers_delayed(void **state)
{
    (void)state;
    run_transfers(&shm_delayed);
}

/*
 * A token in a ring of workers that sleep while they wait for it: each lost wake-up hangs the test. Ahead of it come
 * other messages, sometimes more than an inbox holds.
 */
static void await_token(struct contract_worker *worker, uint32_t lap)
{
    struct fabric_message message;
    uint32_t in[2] = {0, 0};

    while (in[0] == 0) {
        fabric_poll(worker->ep);
        if (!fabric_recv(worker->ep, &message)) {
            fabric_idle(worker->ep, UINT64_MAX);
            continue;
        }
        memcpy(in, message.bytes, sizeof in);
        CHECK(worker, in[1] == lap && message.from_cn == (worker->index + WORKERS - 1) % WORKERS);
    }
}

static void pass_token(struct contract_worker *worker)
{
    struct fabric_op op = {.kind = FABRIC_SEND,
                           .addr = fabric_endpoint_addr((worker->index + 1) % WORKERS, 0),
                           .local = worker->local,
                           .size_bytes = 8};
    uint32_t *out = (uint32_t *)(void *)worker->local;

    for (uint32_t lap = 0; lap < ROUNDS / 4 * scale; lap++) {
        uint32_t ahead = lap % 32 == 0 ? 2 * FABRIC_INBOX_MESSAGES : lap % 8;
        if (worker->index > 0) await_token(worker, lap);
        out[1] = lap;
        for (uint32_t i = 0; i <= ahead && !worker->failure[0]; i++) {
            int status;
            out[0] = i == ahead;
            while ((status = contract_one(worker, op)) == CELLAR_FULL) fabric_poll(worker->ep);
            CHECK(worker, status == 0);
        }
        if (worker->index == 0) await_token(worker, lap);
        if (worker->failure[0]) return;
    }
}

static void test_token(void **state)
{
    (void)state;
    contract_test(&shm, shape, WORKERS, pass_token);
}

/*
 * Messages that arrive just when their receiver has spun long enough and goes to sleep: between its last look and its
 * sleep there must be no gap.
 */
static void answer_each(struct contract_worker *worker)
{
    struct fabric_op op = {
        .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(!worker->index, 0), .local = worker->local, .size_bytes = 4};
    struct fabric_message message;

    for (uint32_t round = 0; round < 4 * ROUNDS * scale; round++) {
        if (worker->index == 0) {
            uint64_t until_ns =
                fabric_now_ns(worker->ep) + FABRIC_SHM_SPIN_NS - 3000 + fabric_random(worker->ep) % 6000;
            while (fabric_now_ns(worker->ep) < until_ns) continue;
            CHECK(worker, contract_one(worker, op) == 0);
        }
        while (!fabric_recv(worker->ep, &message)) {
            fabric_idle(worker->ep, UINT64_MAX);
            fabric_poll(worker->ep);
        }
        if (worker->index == 1) CHECK(worker, contract_one(worker, op) == 0);
    }
}

static void test_no_gap_before_sleep(void **state)
{
    (void)state;
    contract_test(&shm, shape, 2, answer_each);
}

/*
 * Races need workers that really run at once, which a loaded machine gives now and then: so they go on until they
 * have met often enough, or for a few seconds.
 */
#define MEETINGS 50000
#define PATIENCE_NS 3000000000ull

static bool go_on(struct contract_worker *worker, uint32_t round, uint32_t meetings, uint64_t *since_ns)
{
    if (*since_ns == 0) *since_ns = fabric_now_ns(worker->ep);
    return meetings < MEETINGS * scale &&
           (round % 256 != 0 || fabric_now_ns(worker->ep) - *since_ns < PATIENCE_NS * scale);
}

/*
 * Two workers, each: WRITE its word, READ the other's, as fast as they can: in one batch or in two, and in every
 * other round with a masked CAS between them that is refused, and so need not be an atomic for the processor. A WRITE
 * that lingers in a store buffer while the READ after it goes ahead lets both miss each other.
 */
#define STORE_BUFFER_ROUNDS (1u << 22)
static uint32_t seen[2][STORE_BUFFER_ROUNDS + 1], last_round[2];

static void write_and_look(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local, since_ns = 0;
    const struct fabric_op write = fabric_op_write(fabric_addr_of(0, 512 + 64 * worker->index), &local[0], 8),
                           refused = fabric_op_masked_cas(fabric_addr_of(0, 1024 + 64 * worker->index), &local[2], 1, 1,
                                                          0, 0),
                           read = fabric_op_read(fabric_addr_of(0, 512 + 64 * !worker->index), &local[1], 8);
    uint32_t round = 0, meetings = 0, *mine = seen[worker->index];

    while (round < STORE_BUFFER_ROUNDS && go_on(worker, round, meetings, &since_ns)) {
        local[0] = ++round;
        struct fabric_op ops[] = {write, round & 1 ? refused : read, read};
        uint32_t last = round & 1 ? 2 : 1;
        bool apart = round & 2;
        CHECK(worker, contract_do(worker, ops, apart ? last : last + 1) == 0);
        if (apart) CHECK(worker, contract_do(worker, &ops[last], 1) == 0);
        mine[round] = (uint32_t)local[1];
        meetings += mine[round] != mine[round - 1];
    }
    last_round[worker->index] = round;
}

/*
 * Worker 0 in round i missed the other's WRITE number j = seen + 1; that WRITE's round must not have missed i as
 * well.
 */
static void test_store_buffers(void **state)
{
    struct contract_cluster cluster;

    (void)state;
    contract_open(&cluster, &shm, shape, 2);
    contract_run(&cluster, (void (*const[])(struct contract_worker *)){write_and_look, write_and_look});
    contract_close(&cluster);
    for (uint32_t i = 1; i <= last_round[0]; i++) {
        uint32_t j = seen[0][i] + 1;
        if (j <= last_round[1]) assert_true(seen[1][j] >= i);
    }
}

/* Each counts a field of one word up, by masked CAS: another's change of its own field never fails it. */
static void count_own_field(struct contract_worker *worker)
{
    uint64_t shift = 16 * worker->index, mask = 0xffffull << shift, foreign = 0, since_ns = 0;
    uint32_t meetings = 0;

    for (uint64_t round = 0; go_on(worker, (uint32_t)round, meetings, &since_ns); round++) {
        uint64_t mine = (round & 0xffff) << shift, next = ((round + 1) & 0xffff) << shift;
        CHECK(worker, contract_one(worker, fabric_op_masked_cas(fabric_addr_of(0, 64), worker->olds, mine, mask, next,
                                                                mask)) == 0);
        CHECK(worker, (worker->olds[0] & mask) == mine);
        meetings += (worker->olds[0] & ~mask) != foreign;
        foreign = worker->olds[0] & ~mask;
    }
}

static void test_masked_cas(void **state)
{
    (void)state;
    contract_test(&shm, shape, 2, count_own_field);
}

/*
 * All workers post long WRITEs without pause while the node is killed: from the return of the kill on, its bytes rest.
 */
#define LONG_BYTES 65536

static void hammer(struct contract_worker *worker)
{
    struct fabric_op op = fabric_op_write(fabric_addr_of(1, worker->index * LONG_BYTES), worker->local, LONG_BYTES);

    while (contract_do(worker, &op, 1) == 0) memset(worker->local, (int)++worker->results[0], LONG_BYTES);
    CHECK(worker, op.status == CELLAR_UNREACHABLE);
}

static void kill_soon(struct contract_worker *worker)
{
    struct fabric *fabric = worker->cluster->fabric;
    struct fabric_control kill_1 = {.kind = FABRIC_NODE_KILL, .node = 1};
    const unsigned char *region = ((struct fabric_shm *)fabric)->regions[1].base;
    unsigned char last[WORKERS];

    fabric_idle(worker->ep, fabric_now_ns(worker->ep) + 300000 + fabric_random(worker->ep) % 100000);
    CHECK(worker, fabric->ops->control(fabric, &kill_1, NULL) == 0);
    for (uint32_t i = 1; i < WORKERS; i++)
        last[i] = __atomic_load_n(&region[(i + 1) * LONG_BYTES - 1], __ATOMIC_ACQUIRE);
    fabric_idle(worker->ep, fabric_now_ns(worker->ep) + 10000000);
    for (uint32_t i = 1; i < WORKERS; i++)
        CHECK(worker, last[i] == __atomic_load_n(&region[(i + 1) * LONG_BYTES - 1], __ATOMIC_ACQUIRE));
}

static void test_kill_under_load(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 40 * scale; round++) {
        struct contract_cluster cluster;
        contract_open(&cluster, &shm, shape, WORKERS);
        contract_run(&cluster, (void (*const[])(struct contract_worker *)){kill_soon, hammer, hammer, hammer});
        contract_close(&cluster);
    }
}

/* wait() and wake() against each other, without a pause between them. */
static void answer(struct contract_worker *worker)
{
    struct contract_cluster *cluster = worker->cluster;

    for (uint64_t round = 1; round <= ROUNDS * scale; round++) {
        while (__atomic_load_n(&worker->results[0], __ATOMIC_ACQUIRE) < round) fabric_idle(worker->ep, UINT64_MAX);
        fabric_done(cluster->fabric, (uint32_t *)(void *)worker->local);
    }
}

static void test_wait_and_wake(void **state)
{
    struct contract_cluster cluster;

    (void)state;
    contract_open(&cluster, &shm, shape, 1);
    struct contract_worker *worker = &cluster.workers[0];
    const struct fabric_ops *ops = cluster.fabric->ops;
    uint32_t *word = (uint32_t *)(void *)worker->local;
    worker->body = answer;
    cluster.running = 1;
    assert_int_equal(ops->spawn(cluster.fabric, worker->ep, contract_worker_main, worker), 0);
    for (uint64_t round = 1; round <= ROUNDS * scale; round++) {
        __atomic_store_n(word, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&worker->results[0], round, __ATOMIC_RELEASE);
        ops->wake(cluster.fabric, worker->ep, NULL);
        assert_int_equal(ops->wait(cluster.fabric, word, UINT64_MAX), 0);
    }
    assert_int_equal(ops->wait(cluster.fabric, &cluster.running, UINT64_MAX), 0);
    contract_close(&cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers),       cmocka_unit_test(test_transfers_delayed),
        cmocka_unit_test(test_token),           cmocka_unit_test(test_no_gap_before_sleep),
        cmocka_unit_test(test_store_buffers),   cmocka_unit_test(test_masked_cas),
        cmocka_unit_test(test_kill_under_load), cmocka_unit_test(test_wait_and_wake),
    };

    if (argc > 1 && sscanf(argv[1], "scale=%u", &scale) != 1) return 2;
    return cmocka_run_group_tests_name("shm_stress", tests, NULL, NULL);
}
