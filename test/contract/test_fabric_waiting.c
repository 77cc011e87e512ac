/*
 * test_fabric_waiting.c - the contract of fabric.h around operations: messages, waiting, waking, counting; over every
 * backend.
 */
#include "contract_backends.h"

/* ---- messages ---- */

#define MESSAGES_EACH 1000

static struct fabric_op send_op(struct contract_worker *worker, uint32_t to, uint32_t size_bytes)
{
    return (struct fabric_op){
        .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(to, 0), .local = worker->local, .size_bytes = size_bytes};
}

/* Sends numbered messages of all sizes; a full inbox is met by trying again. */
static void send_messages(struct contract_worker *worker)
{
    for (uint32_t i = 0; i < MESSAGES_EACH; i++) {
        uint32_t size = 4 + i % (FABRIC_MESSAGE_BYTES - 3);
        int status;
        memset(worker->local, (int)(i & 0xff), FABRIC_MESSAGE_BYTES);
        memcpy(worker->local, &i, sizeof i);
        while ((status = contract_one(worker, send_op(worker, 0, size))) == CELLAR_FULL)
            fabric_idle(worker->ep, fabric_now_ns(worker->ep) + 10000);
        CHECK(worker, status == 0);
    }
}

static void receive_messages(struct contract_worker *worker)
{
    uint32_t next[CONTRACT_WORKERS_MAX] = {0}, got = 0;
    struct fabric_message message;

    while (got < MESSAGES_EACH * (worker->cluster->worker_count - 1)) {
        fabric_poll(worker->ep);
        if (!fabric_recv(worker->ep, &message)) {
            fabric_idle(worker->ep, UINT64_MAX);
            continue;
        }
        uint32_t from = message.from_cn, number;
        memcpy(&number, message.bytes, sizeof number);
        CHECK(worker, from >= 1 && from < worker->cluster->worker_count && message.from_worker == 0);
        CHECK(worker, number == next[from]);
        CHECK(worker, message.size_bytes == 4 + number % (FABRIC_MESSAGE_BYTES - 3));
        for (uint32_t i = 4; i < message.size_bytes; i++) CHECK(worker, message.bytes[i] == (number & 0xff));
        next[from]++;
        got++;
    }
}

/* To itself: an inbox takes at least as many messages as it promises, then says FULL, loses none, and goes on. */
static void full_inbox(struct contract_worker *worker)
{
    struct fabric_message message;

    for (uint32_t round = 0; round < 5; round++) {
        uint32_t sent = 0, got = 0;
        int status = 0;
        while (status == 0 && sent < 8 * FABRIC_INBOX_MESSAGES) {
            memcpy(worker->local, &sent, sizeof sent);
            status = contract_one(worker, send_op(worker, 0, 4));
            sent += status == 0;
        }
        CHECK(worker, status == CELLAR_FULL);
        CHECK(worker, sent >= FABRIC_INBOX_MESSAGES);
        while (got < sent) {
            uint32_t number;
            if (!fabric_recv(worker->ep, &message)) {
                fabric_poll(worker->ep);
                continue;
            }
            memcpy(&number, message.bytes, sizeof number);
            CHECK(worker, number == got && message.from_cn == 0 && message.size_bytes == 4);
            got++;
        }
        fabric_poll(worker->ep);
        CHECK(worker, !fabric_recv(worker->ep, &message));
    }
}

/* No endpoint is there: the message surely did not arrive. An empty message is a message. */
static void lone_messages(struct contract_worker *worker)
{
    struct fabric_message message;

    int status = contract_one(worker, send_op(worker, worker->cluster->fabric->cn_count - 1, 8));
    CHECK(worker, status == CELLAR_UNREACHABLE || status == CELLAR_INVALID);
    CHECK(worker, contract_one(worker, send_op(worker, worker->cluster->fabric->cn_count, 8)) != 0);
    CHECK(worker, contract_one(worker, send_op(worker, 0, 0)) == 0);
    while (!fabric_recv(worker->ep, &message)) fabric_poll(worker->ep);
    CHECK(worker, message.size_bytes == 0);
}

/* ---- counters, bulk mode, clock ---- */

static void counters(struct contract_worker *worker)
{
    struct fabric_counters *now = &worker->ep->counters;
    uint64_t sum = 0;

    memset(now, 0, sizeof *now);
    struct fabric_op ops[] = {
        fabric_op_read(AT(64), worker->local, 8),
        fabric_op_read(fabric_addr_of(2, 64), worker->local, 8),
        fabric_op_write(AT(64), worker->local, 8),
        fabric_op_cas(AT(64), worker->olds, 0, 1),
        fabric_op_faa(AT(72), worker->olds, 1),
        fabric_op_masked_cas(AT(72), worker->olds, 0, 0, 0, 0),
        send_op(worker, 0, 4),
        fabric_op_read(fabric_addr_of(65535, 64), worker->local, 8),
    };
    for (uint32_t i = 0; i < 8; i++) ops[i].phase = CELLAR_PHASE_LOG;
    ops[0].phase = CELLAR_PHASE_VALIDATE;
    contract_do(worker, ops, 8);
    contract_do(worker, ops, 1);
    CHECK(worker, now->batches == 2);
    CHECK(worker, now->ops[0][CELLAR_PHASE_VALIDATE][FABRIC_READ] == 2);
    CHECK(worker, now->ops[2][CELLAR_PHASE_LOG][FABRIC_READ] == 1);
    for (uint32_t kind = FABRIC_WRITE; kind <= FABRIC_SEND; kind++) /* the others: test_fabric_wide.c */
        CHECK(worker, now->ops[0][CELLAR_PHASE_LOG][kind] == 1);
    for (uint32_t i = 0; i < sizeof now->ops / sizeof(uint64_t); i++) sum += (&now->ops[0][0][0])[i];
    CHECK(worker, sum == 8);
    fabric_post(worker->ep, ops, 0, NULL);
    CHECK(worker, now->batches == 2);
}

/* In bulk mode all is done on return; operations before and after keep their order. */
static void bulk_mode(struct contract_worker *worker)
{
    uint64_t *local = (uint64_t *)(void *)worker->local;
    struct fabric_wait wait = {0};

    for (uint64_t round = 1; round <= 20; round++) {
        worker->ep->bulk = true;
        local[0] = round;
        struct fabric_op ops[3] = {fabric_op_write(AT(64), &local[0], 8), fabric_op_read(AT(64), &local[1], 8),
                                   fabric_op_faa(AT(73), worker->olds, 1)};
        fabric_post(worker->ep, ops, 3, &wait);
        CHECK(worker, wait.pending == 0 && wait.failed == 1);
        CHECK(worker, local[1] == round && ops[2].status == CELLAR_INVALID);
        CHECK(worker, fabric_await(NULL, &wait) == 1 && wait.failed == 0);
        worker->ep->bulk = false;
        CHECK(worker, contract_word(worker, AT(64)) == round);
    }
}

static void clock_and_idle(struct contract_worker *worker)
{
    uint64_t last = fabric_now_ns(worker->ep);

    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t now = fabric_now_ns(worker->ep);
        CHECK(worker, now >= last);
        last = now;
    }
    uint64_t until = last + 300000, returns = 0;
    while (fabric_now_ns(worker->ep) < until) {
        fabric_idle(worker->ep, until);
        CHECK(worker, ++returns < 1000);
    }
    fabric_idle(worker->ep, until); /* long past: returns at once */
}

/* ---- waiting in coroutines ---- */

#define COROUTINES 6
#define COROUTINE_ROUNDS 100

struct awaiting {
    struct contract_worker *worker;
    struct coro *co;
    struct fabric_wait wait;
    uint32_t index, rounds;
    bool suspended;
};

static uint32_t suspended_most;

/* Several batches behind one wait, one operation of them failing; local memory of its own. */
static void await_rounds(struct coro *co, void *arg)
{
    struct awaiting *self = arg;
    struct contract_worker *worker = self->worker;
    uint64_t *olds = &worker->olds[8 * self->index];
    struct fabric_addr counter = AT(4096 + 64 * self->index), wrong = AT(4097);

    self->wait.co = co;
    for (; self->rounds < COROUTINE_ROUNDS; self->rounds++) {
        struct fabric_op ops[3] = {fabric_op_faa(counter, &olds[0], 1), fabric_op_faa(counter, &olds[1], 1),
                                   fabric_op_faa(wrong, &olds[2], 1)};
        fabric_post(worker->ep, ops, 1, &self->wait);
        fabric_post(worker->ep, ops + 1, 2, &self->wait);
        self->suspended = true;
        uint32_t failed = fabric_await(co, &self->wait);
        self->suspended = false;
        CHECK(worker, failed == 1 && self->wait.failed == 0 && self->wait.pending == 0);
        CHECK(worker, ops[0].status == 0 && ops[1].status == 0 && ops[2].status == CELLAR_INVALID);
        CHECK(worker, olds[0] == 2 * self->rounds && olds[1] == 2 * self->rounds + 1);
    }
}

static void resume(struct awaiting *all, struct awaiting *one)
{
    uint32_t suspended = 0;

    coro_resume(one->co);
    for (uint32_t i = 0; i < COROUTINES; i++) suspended += all[i].suspended && all[i].wait.pending > 0;
    if (suspended > suspended_most) suspended_most = suspended;
}

static void await_in_coroutines(struct contract_worker *worker)
{
    struct awaiting all[COROUTINES] = {0};
    uint32_t done = 0;

    suspended_most = 0;
    for (uint32_t i = 0; i < COROUTINES; i++) {
        all[i] = (struct awaiting){.worker = worker, .index = i, .co = coro_new(64 << 10, await_rounds, &all[i])};
        CHECK(worker, all[i].co);
        resume(all, &all[i]);
        done += coro_done(all[i].co);
    }
    while (done < COROUTINES) {
        struct fabric_wait *wait = fabric_poll(worker->ep), *next;
        if (!wait) fabric_idle(worker->ep, UINT64_MAX);
        for (; wait; wait = next) {
            struct awaiting *one = (struct awaiting *)(void *)((char *)wait - offsetof(struct awaiting, wait));
            next = wait->next;
            CHECK(worker, wait->pending == 0 && one->suspended && one->co == wait->co);
            resume(all, one);
            done += coro_done(one->co);
        }
    }
    for (uint32_t i = 0; i < COROUTINES; i++) {
        CHECK(worker, worker->failure[0] || all[i].rounds == COROUTINE_ROUNDS);
        coro_free(all[i].co);
    }
    CHECK(worker, worker->cluster->backend->delays ? suspended_most == COROUTINES : suspended_most == 0);
}

/* ---- tests ---- */

CONTRACT_TEST(full_inbox, 1, 1, 1)
CONTRACT_TEST(lone_messages, 1, 2, 1)
CONTRACT_TEST(counters, 3, 1, 1)
CONTRACT_TEST(bulk_mode, 1, 1, 1)
CONTRACT_TEST(clock_and_idle, 1, 1, 1)
CONTRACT_TEST(await_in_coroutines, 1, 1, 1)

static void test_messages(void **state)
{
    contract_bodies(
        *state, 4,
        (void (*const[])(struct contract_worker *)){receive_messages, send_messages, send_messages, send_messages},
        NULL);
}

static void test_endpoints(void **state)
{
    struct contract_cluster cluster;
    struct fabric_ep *ep, *again;
    struct cellar_error error = {0};

    contract_open(&cluster, *state, SHAPE(1, 2), 1);
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 0, 0, &ep, &error), CELLAR_EXISTS);
    assert_null(ep);
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 2, 0, &ep, &error), CELLAR_INVALID);
    assert_true(error.text[0] != 0);
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 0, 1, &ep, &error), 0);
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 1, 0, &again, &error), 0);
    assert_true(ep->cn == 0 && ep->worker == 1 && ep->fabric == cluster.fabric && !ep->bulk);
    uint64_t first = fabric_random(ep);
    assert_true(first != fabric_random(again));
    fabric_endpoint_close(ep);
    fabric_endpoint_close(again);
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 0, 1, &ep, &error), 0);
    assert_true(fabric_random(ep) == first);
    assert_true(ep->counters.batches == 0 && ep->inbox_head == ep->inbox_tail);
    fabric_endpoint_close(ep);
    contract_close(&cluster);
}

/* A worker that idles without limit returns when it is woken from outside, also when that came before it slept. */
static void idle_until_told(struct contract_worker *worker)
{
    while (__atomic_load_n(&worker->results[0], __ATOMIC_ACQUIRE) == 0) fabric_idle(worker->ep, UINT64_MAX);
    worker->results[1]++;
}

static void test_wake_from_outside(void **state)
{
    struct contract_cluster cluster;

    contract_open(&cluster, *state, SHAPE(1, 1), 1);
    struct contract_worker *worker = &cluster.workers[0];
    const struct fabric_ops *ops = cluster.fabric->ops;
    for (uint32_t round = 0; round < 50; round++) {
        worker->results[0] = 0;
        worker->body = idle_until_told;
        cluster.running = 1;
        assert_int_equal(ops->spawn(cluster.fabric, worker->ep, contract_worker_main, worker), 0);
        if (round % 2 && cluster.backend->threads) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        __atomic_store_n(&worker->results[0], 1, __ATOMIC_RELEASE);
        ops->wake(cluster.fabric, worker->ep, NULL);
        assert_int_equal(ops->wait(cluster.fabric, &cluster.running, UINT64_MAX), 0);
        assert_true(worker->results[1] == round + 1);
    }
    contract_close(&cluster);
}

#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, test_##name                                                                                             \
    }
static const struct contract_entry tests[] = {
    ENTRY(messages),       ENTRY(full_inbox),          ENTRY(lone_messages), ENTRY(counters),          ENTRY(bulk_mode),
    ENTRY(clock_and_idle), ENTRY(await_in_coroutines), ENTRY(endpoints),     ENTRY(wake_from_outside),
};

int main(int argc, char **argv)
{
    return contract_main("fabric_waiting", tests, sizeof tests / sizeof *tests, argc, argv);
}
