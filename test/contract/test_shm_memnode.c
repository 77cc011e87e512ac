/* test_shm_memnode.c - shm over processes: what a death on either side leaves behind, and whose socket is whose. */
#include "contract_processes.h"

#include <sys/stat.h>

#define WAITS_MAX 6000 /* 10 ms each: what takes longer than a minute on a loaded machine does not come */

/* ---- death of a compute node ---- */

/* Takes its word, then writes without end. */
static void write_forever(struct fabric_ep *ep)
{
    uint64_t old;

    for (;;) {
        if (run_op(ep, fabric_op_faa(fabric_addr_of(0, 128), &old, 1)) != 0) _exit(4);
        if (run_op(ep, fabric_op_faa(fabric_addr_of(1, 128), &old, 1)) != 0) _exit(4);
    }
}

static void await_change(struct fabric_ep *ep, struct fabric_addr addr)
{
    uint64_t before = word_at(ep, addr);
    for (uint32_t i = 0; word_at(ep, addr) == before; i++) {
        assert_true(i < WAITS_MAX);
        pause_ms(10);
    }
}

/* From the return of the fence on, nothing of that compute node is executed; its index is free again. */
static void test_fence(void **state)
{
    struct contract_memnodes memnodes;
    struct cellar_error error = {0};

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct fabric *fabric = attach(&memnodes, 0, 1);
    struct fabric_ep *ep = endpoint(fabric, 0);
    for (uint32_t round = 0; round < 5; round++) {
        pid_t pid = start_cn(&memnodes, 2, "write_forever");
        struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 2};
        await_change(ep, fabric_addr_of(1, 128));
        assert_int_equal(fabric->ops->control(fabric, &fence, &error), 0);
        uint64_t counts[2] = {word_at(ep, fabric_addr_of(0, 128)), word_at(ep, fabric_addr_of(1, 128))};
        pause_ms(20);
        assert_true(word_at(ep, fabric_addr_of(0, 128)) == counts[0] &&
                    word_at(ep, fabric_addr_of(1, 128)) == counts[1]);
        int status = end_of(pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(fabric->ops->control(fabric, &fence, &error), 0); /* a second time: no process is left */
    }
    struct fabric_control own = {.kind = FABRIC_CN_EVICT, .cn = 0}, none = {.kind = FABRIC_CN_EVICT, .cn = 4};
    assert_int_equal(fabric->ops->control(fabric, &own, &error), CELLAR_UNSUPPORTED);
    assert_int_equal(fabric->ops->control(fabric, &none, &error), CELLAR_INVALID);
    fabric_close(fabric);
    contract_memnodes_stop(&memnodes);
}

/* Says which life it is, and stays. */
static void live_as_7(struct fabric_ep *ep)
{
    struct fabric_control life = {.kind = FABRIC_CN_LIFE, .cn = 2, .life = 7};
    uint64_t old;

    pause_ms(200); /* the node that fences meanwhile does not know of it */
    if (ep->fabric->ops->control(ep->fabric, &life, NULL) != 0) _exit(5);
    if (run_op(ep, fabric_op_faa(fabric_addr_of(1, 192), &old, 1)) != 0) _exit(4);
    pause_ms(60000);
}

/*
 * INV-FABRIC-12: the process that has that index now is not killed for an earlier life, whether it has said which one
 * it is or not.
 */
static void test_fence_of_a_life(void **state)
{
    struct contract_memnodes memnodes;
    struct cellar_error error = {0};

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct fabric *fabric = attach(&memnodes, 0, 1);
    struct fabric_ep *ep = endpoint(fabric, 0);
    pid_t pid = start_cn(&memnodes, 2, "live_as_7");
    for (uint64_t lives = 0; lives == 0; pause_ms(1)) {
        struct fabric_control earlier = {.kind = FABRIC_CN_EVICT, .cn = 2, .life = 6};
        assert_int_equal(fabric->ops->control(fabric, &earlier, &error), 0);
        earlier.only_dead = true;
        assert_int_equal(fabric->ops->control(fabric, &earlier, &error), 0);
        lives = word_at(ep, fabric_addr_of(1, 192));
    }
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 2, .life = 7, .only_dead = true};
    assert_int_equal(fabric->ops->control(fabric, &fence, &error), CELLAR_EXISTS);
    fence.only_dead = false;
    assert_int_equal(fabric->ops->control(fabric, &fence, &error), 0);
    int status = end_of(pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    pid = start_cn(&memnodes, 2, "write_forever"); /* it says nothing: a fence of any life reaches it */
    await_change(ep, fabric_addr_of(1, 128));
    fence.life = 0;
    assert_int_equal(fabric->ops->control(fabric, &fence, &error), 0);
    status = end_of(pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    struct fabric_control own = {.kind = FABRIC_CN_LIFE, .cn = 0, .life = 9},
                          before = {.kind = FABRIC_CN_EVICT, .cn = 0, .life = 8};
    assert_int_equal(fabric->ops->control(fabric, &own, &error), 0);
    assert_int_equal(fabric->ops->control(fabric, &before, &error), 0);
    before.life = 9;
    assert_int_equal(fabric->ops->control(fabric, &before, &error), CELLAR_UNSUPPORTED);
    fabric_close(fabric);
    contract_memnodes_stop(&memnodes);
}

/* Sends until it is killed; whatever it was doing then must not block the receiver, nor those who come after it. */
static void send_forever(struct fabric_ep *ep)
{
    uint64_t number = 0;

    for (;;) {
        struct fabric_op op = {
            .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(0, 0), .local = &number, .size_bytes = 8};
        int status = run_op(ep, op);
        if (status == 0)
            number++;
        else if (status != CELLAR_FULL)
            _exit(4);
    }
}

static void receive_some(struct fabric_ep *ep, uint32_t count)
{
    struct fabric_message message;
    uint64_t next = 0;

    for (uint32_t got = 0; got < count;) {
        uint64_t number;
        fabric_poll(ep);
        if (!fabric_recv(ep, &message)) {
            fabric_idle(ep, UINT64_MAX);
            continue;
        }
        memcpy(&number, message.bytes, sizeof number);
        assert_true(message.from_cn == 1 && message.size_bytes == 8);
        assert_int_equal(number, next);
        next++, got++;
    }
}

static void drain(struct fabric_ep *ep)
{
    struct fabric_message message;

    for (uint32_t polls = 0; polls < 4; polls++) {
        fabric_poll(ep);
        while (fabric_recv(ep, &message)) continue;
    }
}

static void test_killed_sender(void **state)
{
    struct contract_memnodes memnodes;

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct fabric *fabric = attach(&memnodes, 0, 1);
    struct fabric_ep *ep = endpoint(fabric, 0);
    for (uint32_t round = 0; round < 20; round++) {
        pid_t pid = start_cn(&memnodes, 1, "send_forever");
        receive_some(ep, 500 + 37 * round);
        kill(pid, SIGKILL);
        assert_true(WIFSIGNALED(end_of(pid)));
        drain(ep);
    }
    fabric_close(fabric);
    contract_memnodes_stop(&memnodes);
}

/* A dead receiver's mailbox closes: messages to it fail, and the buffers in it come back. */
static void sleep_forever(struct fabric_ep *ep)
{
    (void)ep;
    for (;;) pause();
}

static void test_killed_receiver(void **state)
{
    struct contract_memnodes memnodes;
    uint64_t number = 0;

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct fabric *fabric = attach(&memnodes, 0, 1);
    struct fabric_ep *ep = endpoint(fabric, 0);
    struct fabric_op op = {.kind = FABRIC_SEND, .addr = fabric_endpoint_addr(1, 0), .local = &number, .size_bytes = 8};
    assert_int_equal(run_op(ep, op), CELLAR_UNREACHABLE);
    for (uint32_t round = 0; round < 6; round++) { /* more than all buffers of a sender */
        pid_t pid = start_cn(&memnodes, 1, "sleep_forever");
        int status;
        while ((status = run_op(ep, op)) == CELLAR_UNREACHABLE) pause_ms(1);
        for (uint32_t i = 1; status == 0; i++, status = run_op(ep, op)) assert_true(i <= FABRIC_INBOX_MESSAGES);
        assert_int_equal(status, CELLAR_FULL);
        kill(pid, SIGKILL);
        assert_true(WIFSIGNALED(end_of(pid)));
        for (uint32_t i = 0; (status = run_op(ep, op)) != CELLAR_UNREACHABLE; i++) {
            assert_true(i < WAITS_MAX);
            pause_ms(10);
        }
    }
    fabric_close(fabric);
    contract_memnodes_stop(&memnodes);
}

/* ---- death of a memory node ---- */

/*
 * Killed without warning: its operations fail, nothing hangs or faults; the other node goes on. A new one takes the
 * path.
 */
static void test_killed_memnode(void **state)
{
    struct contract_memnodes memnodes;
    struct cellar_error error = {0};
    uint64_t old;

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct fabric *fabric = attach(&memnodes, 0, 1);
    struct fabric_ep *ep = endpoint(fabric, 0);
    assert_int_equal(run_op(ep, fabric_op_faa(fabric_addr_of(1, 64), &old, 1)), 0);
    kill(memnodes.pids[1], SIGKILL);
    assert_true(WIFSIGNALED(end_of(memnodes.pids[1])));
    for (uint32_t i = 0; run_op(ep, fabric_op_faa(fabric_addr_of(1, 64), &old, 1)) != CELLAR_UNREACHABLE; i++) {
        assert_true(i < WAITS_MAX);
        pause_ms(10);
    }
    assert_int_equal(run_op(ep, fabric_op_faa(fabric_addr_of(0, 64), &old, 1)), 0);
    assert_int_equal(attach_once(memnodes.paths, 1, 1, &error), CELLAR_UNREACHABLE);
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 3};
    assert_int_equal(fabric->ops->control(fabric, &fence, &error), 0); /* the living one answers */
    fabric_close(fabric);

    contract_memnodes_spawn(&memnodes, 1, shape); /* in place of the dead socket */
    fabric_close(attach(&memnodes, 0, 1));
    contract_memnodes_stop(&memnodes);
}

static void test_socket_paths(void **state)
{
    struct contract_memnodes memnodes;
    struct cellar_error error = {0};
    struct stat status;
    char path[80];
    int stop = 1;

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    fabric_close(attach(&memnodes, 0, 1));
    contract_memnode_path(&memnodes, 0, path, sizeof path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    struct fabric_shm_memnode_config config = {.socket_path = path, .mn_count = 2, .cn_count = 4, .bytes = 1 << 20};
    assert_int_equal(fabric_shm_memnode_run(&config, &stop, NULL, NULL, &error), CELLAR_EXISTS);
    fabric_close(attach(&memnodes, 0, 1)); /* the living one was not disturbed */
    contract_memnodes_stop(&memnodes);

    char file[] = "/tmp/cellar-contract-XXXXXX";
    int fd = mkstemp(file);
    config.socket_path = file;
    assert_int_equal(fabric_shm_memnode_run(&config, &stop, NULL, NULL, &error), CELLAR_EXISTS);
    assert_int_equal(stat(file, &status), 0); /* no file of the user's was removed */
    close(fd);
    unlink(file);
    config.socket_path = "/nonexistent/socket";
    assert_int_equal(fabric_shm_memnode_run(&config, &stop, NULL, NULL, &error), CELLAR_SYSTEM);
    config.node = 2;
    assert_int_equal(fabric_shm_memnode_run(&config, &stop, NULL, NULL, &error), CELLAR_INVALID);
    config.node = 0;
    config.bytes = 1ull << 47;
    assert_int_equal(fabric_shm_memnode_run(&config, &stop, NULL, NULL, &error), CELLAR_NOMEM);
    config.bytes = 1 << 20;
    config.socket_path = file;
    assert_int_equal(fabric_shm_memnode_run(&config, &stop, NULL, NULL, &error), 0);
    assert_int_equal(stat(file, &status), -1); /* and it took its own away */
}

/* ---- compute nodes of their own ---- */

static const struct contract_deed deeds[] = {{"write_forever", write_forever},
                                             {"live_as_7", live_as_7},
                                             {"send_forever", send_forever},
                                             {"sleep_forever", sleep_forever},
                                             {NULL, NULL}};

int main(int argc, char **argv)
{
    if (argc == 4) return contract_process_main(argv, deeds);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fence),          cmocka_unit_test(test_fence_of_a_life),
        cmocka_unit_test(test_killed_sender),  cmocka_unit_test(test_killed_receiver),
        cmocka_unit_test(test_killed_memnode), cmocka_unit_test(test_socket_paths),
    };

    return cmocka_run_group_tests_name("shm_memnode", tests, NULL, NULL);
}
