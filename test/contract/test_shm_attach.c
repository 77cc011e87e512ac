/* test_shm_attach.c - shm over processes: which may attach, and what garbage does. */
#include "contract_processes.h"
#include "fabric_shm_wire.h"

#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* ---- attaching ---- */

static void add_1000(struct fabric_ep *ep)
{
    uint64_t old;
    struct fabric_wait wait = {0};

    for (uint32_t i = 0; i < 1000; i++) {
        struct fabric_op ops[2] = {fabric_op_faa(fabric_addr_of(0, 64), &old, 1),
                                   fabric_op_faa(fabric_addr_of(1, 64), &old, 2)};
        fabric_post(ep, ops, 2, &wait);
        if (wait.failed) _exit(4);
    }
    uint32_t number = ep->cn;
    struct fabric_op hello = {
        .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(0, 0), .local = &number, .size_bytes = 4};
    fabric_post(ep, &hello, 1, &wait);
    if (wait.failed) _exit(5);
}

static void test_processes_share_memory(void **state)
{
    struct contract_memnodes memnodes;
    struct fabric_message message;
    pid_t pids[3];
    uint32_t met = 0;

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct fabric *fabric = attach(&memnodes, 0, 1);
    assert_true(fabric->fresh);
    assert_true(fabric->mn_count == 2 && fabric->cn_count == 4 && fabric->mn_bytes == 1 << 20);
    struct fabric_ep *ep = endpoint(fabric, 0);
    for (uint32_t i = 0; i < 3; i++) pids[i] = start_cn(&memnodes, i + 1, "add_1000");
    while (met != 0xe) { /* sleeps until messages of other processes come */
        fabric_poll(ep);
        if (fabric_recv(ep, &message))
            met |= 1u << message.from_cn;
        else
            fabric_idle(ep, UINT64_MAX);
    }
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(end_of(pids[i]), 0);
    assert_int_equal(word_at(ep, fabric_addr_of(0, 64)), 3000);
    assert_int_equal(word_at(ep, fabric_addr_of(1, 64)), 6000);
    fabric_endpoint_close(ep);
    fabric_close(fabric);

    /* What was written stays as long as the memory nodes live, and is fresh no more. */
    fabric = attach(&memnodes, 0, 4);
    assert_false(fabric->fresh);
    ep = endpoint(fabric, 3);
    assert_int_equal(word_at(ep, fabric_addr_of(1, 64)), 6000);
    fabric_close(fabric);
    contract_memnodes_stop(&memnodes);
}

static void test_claims(void **state)
{
    struct contract_memnodes memnodes;
    struct cellar_error error = {0};

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    struct fabric *fabric = attach(&memnodes, 1, 2);
    struct fabric_ep *ep;
    assert_int_equal(attach_once(memnodes.paths, 2, 1, &error), CELLAR_EXISTS);
    assert_non_null(strstr(error.text, "1..2"));
    assert_int_equal(attach_once(memnodes.paths, 1, 2, &error), CELLAR_EXISTS);
    assert_non_null(strstr(error.text, "1..2 are another database of this process"));
    assert_int_equal(attach_once(memnodes.paths, 0, 4, &error), CELLAR_EXISTS);
    assert_int_equal(attach_once(memnodes.paths, 3, 2, &error), CELLAR_INVALID);
    assert_int_equal(attach_once(memnodes.paths, 4, 1, &error), CELLAR_INVALID);
    assert_int_equal(attach_once(memnodes.paths, UINT32_MAX, 2, &error), CELLAR_INVALID);
    assert_int_equal(attach_once(memnodes.paths, 0, 0, &error), CELLAR_INVALID);
    assert_int_equal(attach_once(memnodes.paths, 0, 1, &error), 0);
    assert_int_equal(attach_once(memnodes.paths, 3, 1, &error), 0);
    assert_int_equal(fabric_endpoint_open(fabric, 0, 0, &ep, &error), CELLAR_INVALID);
    assert_int_equal(fabric_endpoint_open(fabric, 3, 0, &ep, &error), CELLAR_INVALID);
    fabric_close(fabric);
    fabric_close(attach(&memnodes, 0, 4));
    contract_memnodes_stop(&memnodes);
}

static void test_wrong_paths(void **state)
{
    struct contract_memnodes memnodes, others;
    struct cellar_error error = {0};
    char paths[600], first[80], second[80], other[80];

    (void)state;
    contract_memnodes_start(&memnodes, shape);
    contract_memnodes_start(&others, (struct contract_shape){.mn_count = 2, .cn_count = 4, .mn_bytes = 2 << 20});
    fabric_close(attach(&memnodes, 0, 1));
    fabric_close(attach(&others, 0, 1));
    contract_memnode_path(&memnodes, 0, first, sizeof first);
    contract_memnode_path(&memnodes, 1, second, sizeof second);
    contract_memnode_path(&others, 1, other, sizeof other);

    assert_int_equal(attach_once("/tmp/cellar-no-memnode", 0, 1, &error), CELLAR_UNREACHABLE);
    assert_non_null(strstr(error.text, "cellar memnode"));
    assert_int_equal(attach_once("", 0, 1, &error), CELLAR_INVALID);
    memset(paths, 'a', 300);
    paths[300] = 0;
    assert_int_equal(attach_once(paths, 0, 1, &error), CELLAR_INVALID);
    assert_int_equal(attach_once(first, 0, 1, &error), CELLAR_INVALID);
    snprintf(paths, sizeof paths, "%s,%s", first, first);
    assert_int_not_equal(attach_once(paths, 0, 1, &error), 0);
    snprintf(paths, sizeof paths, "%s,%s", first, other);
    assert_int_equal(attach_once(paths, 0, 1, &error), CELLAR_MISMATCH);
    snprintf(paths, sizeof paths, "%s,", first);
    assert_int_equal(attach_once(paths, 0, 1, &error), CELLAR_INVALID);
    snprintf(paths, sizeof paths, "%s,%s", second, first); /* the order of paths does not matter */
    assert_int_equal(attach_once(paths, 0, 1, &error), 0);
    contract_memnodes_stop(&memnodes);
    contract_memnodes_stop(&others);
}

/* ---- garbage ---- */

static int raw_connect(const char *path)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    assert_int_equal(fabric_shm_wire_address(&address, path, NULL), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Sends those bytes, with a descriptor that was not asked for; then the other side must refuse and hang up. */
static void send_garbage(const char *path, const void *bytes, size_t size)
{
    char answer[1024], control[CMSG_SPACE(sizeof(int))] = {0};
    int fd = raw_connect(path);
    struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);

    *cmsg = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(cmsg), &fd, sizeof fd);
    assert_int_equal(sendmsg(fd, &header, MSG_NOSIGNAL), (ssize_t)size);
    ssize_t got = recv(fd, answer, sizeof answer, 0);
    if (got > 0) {
        struct fabric_shm_message_wire reply;
        assert_int_equal(got, (ssize_t)sizeof reply);
        memcpy(&reply, answer, sizeof reply);
        assert_int_equal(reply.kind, FABRIC_SHM_REFUSED);
        got = recv(fd, answer, sizeof answer, 0);
    }
    assert_true(got == 0 || (got < 0 && errno == ECONNRESET));
    close(fd);
}

static uint32_t open_fds_of(pid_t pid)
{
    char path[64];
    uint32_t count = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static void test_garbage(void **state)
{
    struct contract_memnodes memnodes;
    struct prng prng;
    uint8_t bytes[2048];
    char path[80];

    (void)state;
    prng_seed(&prng, 7);
    contract_memnodes_start(&memnodes, shape);
    fabric_close(attach(&memnodes, 0, 1));
    contract_memnode_path(&memnodes, 0, path, sizeof path);
    uint32_t fds = open_fds_of(memnodes.pids[0]);
    for (uint32_t round = 0; round < 400; round++) {
        struct fabric_shm_message_wire message = {.magic = FABRIC_SHM_WIRE_MAGIC, .version = FABRIC_SHM_WIRE_VERSION};
        size_t size = 1 + prng_below(&prng, sizeof bytes);
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)prng_next(&prng);
        switch (round % 5) {
        case 0: /* noise of any length */
            break;
        case 1: /* noise of the right length */
            size = sizeof message;
            break;
        case 2: /* the right start, the wrong length */
            message.kind = FABRIC_SHM_ATTACH;
            memcpy(bytes, &message, sizeof message);
            size += size == sizeof message;
            break;
        case 3: /* another version */
            message.version++;
            memcpy(bytes, &message, size = sizeof message);
            break;
        case 4: /* well-formed nonsense */
            memcpy(bytes + 8, bytes + 16, 8);
            message.kind = (uint16_t)(FABRIC_SHM_DETACH + prng_below(&prng, 60000));
            if (round % 2) message.kind = FABRIC_SHM_ATTACH, message.cn = 4 + (uint32_t)prng_below(&prng, 1u << 31);
            message.cns = (uint32_t)prng_next(&prng);
            memcpy(bytes, &message, size = sizeof message);
            break;
        }
        send_garbage(path, bytes, size);
    }
    for (uint32_t i = 0; i < 50; i++) close(raw_connect(path)); /* and a process that says nothing at all */
    fabric_close(attach(&memnodes, 0, 4));
    for (uint32_t tries = 0; open_fds_of(memnodes.pids[0]) > fds && tries < 100; tries++) pause_ms(20);
    assert_true(open_fds_of(memnodes.pids[0]) <= fds);
    contract_memnodes_stop(&memnodes);
}

/* What listens there is no memory node: answers with nonsense, or with a segment that could shrink under our feet. */
static void serve_nonsense(const char *path, bool shrinkable)
{
    struct sockaddr_un address;
    struct fabric_shm_message_wire message;
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fabric_shm_wire_address(&address, path, NULL) != 0) _exit(2);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4) != 0) _exit(3);
    int fd = accept(listener, NULL, NULL);
    if (fabric_shm_wire_receive(fd, &message, NULL) != FABRIC_SHM_WIRE_GOT) _exit(4);
    if (shrinkable) {
        int memory = memfd_create("shrinkable", MFD_CLOEXEC);
        int fds[2] = {memory, memory};
        if (ftruncate(memory, 1 << 20) != 0) _exit(5);
        message = (struct fabric_shm_message_wire){
            .kind = FABRIC_SHM_ATTACHED, .mn_count = 1, .cn_count = 1, .bytes = 1 << 20};
        if (fabric_shm_wire_send(fd, &message, fds, 2) != 0) _exit(6);
    } else if (send(fd, "hello", 5, 0) != 5) {
        _exit(7);
    }
    char byte;
    (void)!recv(fd, &byte, 1, 0);
    unlink(path);
    _exit(0);
}

static void test_impostors(void **state)
{
    (void)state;
    for (uint32_t shrinkable = 0; shrinkable < 2; shrinkable++) {
        char folder[] = "/tmp/cellar-contract-XXXXXX", path[80];
        struct cellar_error error = {0};
        struct fabric *fabric;
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/it", folder);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) serve_nonsense(path, shrinkable);
        int code = contract_attach(path, 0, 1, &fabric, &error);
        assert_int_equal(code, shrinkable ? CELLAR_CORRUPT : CELLAR_MISMATCH);
        assert_non_null(strstr(error.text, shrinkable ? "sealed memfd of 1048576 bytes" : "not a memory node"));
        assert_int_equal(end_of(pid), 0);
        assert_int_equal(rmdir(folder), 0);
    }
}

/* ---- compute nodes of their own ---- */

static const struct contract_deed deeds[] = {{"add_1000", add_1000}, {NULL, NULL}};

int main(int argc, char **argv)
{
    if (argc == 4) return contract_process_main(argv, deeds);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_share_memory),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_wrong_paths),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_impostors),
    };

    return cmocka_run_group_tests_name("shm_attach", tests, NULL, NULL);
}
