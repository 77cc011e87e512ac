/* test_shm_pool.c - shm on a pool file, and what fabric_shm_open refuses: one clear error each, and no trace left. */
#include "contract_shm.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define POOL_BYTES (1u << 20)

static char folder[] = "/tmp/cellar-pool-XXXXXX", path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/pool", folder);
    return 0;
}

/* Fails if a test has left anything behind. */
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int open_pool(uint64_t bytes, struct fabric **out, struct cellar_error *error)
{
    struct fabric_shm_config config = {.mn_count = 1, .cn_count = 1, .mn_bytes = bytes, .pool_path = path};
    return fabric_shm_open(&config, out, error);
}

static struct fabric *pool(uint64_t bytes)
{
    struct cellar_error error = {0};
    struct fabric *fabric;

    if (open_pool(bytes, &fabric, &error) != 0) fail_msg("%s", error.text);
    return fabric;
}

/* Adds to one word by a WRITE, an atomic and a READ; returns what it was. */
static uint64_t add(struct fabric *fabric, uint64_t offset, uint64_t addend)
{
    struct cellar_error error = {0};
    struct fabric_wait wait = {0};
    struct fabric_ep *ep;
    uint64_t old;

    if (fabric_endpoint_open(fabric, 0, 0, &ep, &error) != 0) fail_msg("%s", error.text);
    struct fabric_op op = fabric_op_faa(fabric_addr_of(0, offset), &old, addend);
    fabric_post(ep, &op, 1, &wait);
    assert_true(wait.failed == 0 && op.status == 0);
    fabric_endpoint_close(ep);
    return old;
}

static void refuse(uint64_t bytes, int code, const char *says)
{
    struct cellar_error error = {0};
    struct fabric *fabric = (struct fabric *)folder;

    assert_int_equal(open_pool(bytes, &fabric, &error), code);
    assert_null(fabric);
    assert_int_equal(error.code, code);
    if (!strstr(error.text, says)) fail_msg("\"%s\" does not say \"%s\"", error.text, says);
}

static void write_file(const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static uint64_t size_of_file(void)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : UINT64_MAX;
}

static void test_survives(void **state)
{
    (void)state;
    struct fabric *fabric = pool(POOL_BYTES);
    struct fabric_control sync = {.kind = FABRIC_SYNC};
    assert_true(fabric->fresh && fabric->mn_bytes == POOL_BYTES);
    assert_int_equal(add(fabric, 64, 5), 0);
    assert_int_equal(add(fabric, POOL_BYTES - 8, 6), 0);
    assert_int_equal(fabric->ops->control(fabric, &sync, NULL), 0);
    fabric_close(fabric);
    assert_int_equal(size_of_file(), POOL_BYTES);

    fabric = pool(POOL_BYTES);
    assert_false(fabric->fresh);
    assert_int_equal(add(fabric, 64, 1), 5);
    fabric_close(fabric);

    fabric = pool(0); /* of whatever size it has */
    assert_true(!fabric->fresh && fabric->mn_bytes == POOL_BYTES);
    assert_int_equal(add(fabric, 64, 0), 6);
    assert_int_equal(add(fabric, POOL_BYTES - 8, 0), 6);
    fabric_close(fabric);
    unlink(path);
}

static void test_of_any_size(void **state)
{
    (void)state;
    struct fabric *fabric =
        pool(12345 * 8 + 1); /* no multiple of anything: its last whole word works, the rest is bytes */
    assert_int_equal(add(fabric, 12344 * 8, 1), 0);
    fabric_close(fabric);
    fabric = pool(12345 * 8 + 1);
    assert_int_equal(add(fabric, 12344 * 8, 1), 1);
    fabric_close(fabric);
    unlink(path);
}

/* A process that is killed holds no lock, and what it wrote is there. */
static void test_killed_owner(void **state)
{
    int status;

    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        add(pool(POOL_BYTES), 64, 9);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    struct fabric *fabric = pool(POOL_BYTES);
    assert_false(fabric->fresh);
    assert_int_equal(add(fabric, 64, 1), 9);
    fabric_close(fabric);
    unlink(path);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    struct fabric *fabric = pool(POOL_BYTES);
    refuse(POOL_BYTES, CELLAR_EXISTS, "in use");
    fabric_close(fabric);
    fabric_close(pool(POOL_BYTES));
    unlink(path);
}

static void test_wrong_files(void **state)
{
    (void)state;
    write_file("short", 5);
    refuse(POOL_BYTES, CELLAR_MISMATCH, "5 bytes");
    assert_int_equal(size_of_file(), 5); /* left as it was */
    unlink(path);

    assert_int_equal(mkdir(path, 0700), 0);
    refuse(POOL_BYTES, CELLAR_SYSTEM, "directory");
    rmdir(path);

    assert_int_equal(mkfifo(path, 0600), 0);
    refuse(POOL_BYTES, CELLAR_INVALID, "not a regular file");
    unlink(path);

    assert_int_equal(symlink("/nonexistent/pool", path), 0);
    refuse(POOL_BYTES, CELLAR_INVALID, "link to nothing");
    unlink(path);

    refuse(0, CELLAR_INVALID, "size must be given");
    assert_int_equal(size_of_file(), UINT64_MAX); /* and was not made */
}

/* An empty file is a fresh pool; one that cannot be filled stays empty, one that was made for it goes. */
static void test_no_room(void **state)
{
    struct rlimit before, small;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){.rlim_cur = POOL_BYTES / 2, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    refuse(POOL_BYTES, CELLAR_FULL, "no room");
    uint64_t absent = size_of_file();
    write_file("", 0);
    refuse(POOL_BYTES, CELLAR_FULL, "no room");
    uint64_t empty = size_of_file();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(absent == UINT64_MAX && empty == 0);

    struct fabric *fabric = pool(POOL_BYTES);
    assert_true(fabric->fresh);
    fabric_close(fabric);
    unlink(path);
}

static void test_wrong_configs(void **state)
{
    const struct fabric_shm_config good = {.mn_count = 1, .cn_count = 1, .mn_bytes = POOL_BYTES};
    struct fabric_shm_config configs[9];
    int codes[9];
    uint32_t count = 0;

    (void)state;
#define BAD(field, value, code) (configs[count] = good, configs[count].field = value, codes[count++] = CELLAR_##code)
    BAD(mn_count, 0, INVALID);
    BAD(mn_count, FABRIC_NODES_MAX + 1, INVALID);
    BAD(cn_count, 0, INVALID);
    BAD(cn_count, FABRIC_CNS_MAX + 1, INVALID);
    BAD(mn_bytes, 0, INVALID);
    BAD(mn_bytes, (1ull << 48) + 1, INVALID);
    BAD(mn_bytes, 1ull << 47, NOMEM);
    BAD(pool_path, path, INVALID);
    configs[count - 1].mn_count = 2;
    BAD(pool_path, path, INVALID);
    configs[count - 1].memnode_paths = "/tmp/no-memnode";
#undef BAD
    for (uint32_t i = 0; i < count; i++) {
        struct cellar_error error = {0};
        struct fabric *fabric;
        assert_int_equal(fabric_shm_open(&configs[i], &fabric, &error), codes[i]);
        assert_true(!fabric && error.code == codes[i] && error.text[0]);
    }
    assert_int_equal(size_of_file(), UINT64_MAX);
}

static void test_largest_shapes(void **state)
{
    struct fabric_shm_config config = {
        .mn_count = FABRIC_NODES_MAX, .cn_count = FABRIC_CNS_MAX, .mn_bytes = POOL_BYTES};
    struct cellar_error error = {0};
    struct fabric_ep *ep;
    struct fabric *fabric;

    (void)state;
    if (fabric_shm_open(&config, &fabric, &error) != 0) fail_msg("%s", error.text);
    assert_int_equal(fabric_endpoint_open(fabric, FABRIC_CNS_MAX - 1, 127, &ep, &error), 0);
    struct fabric_op op = {
        .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(FABRIC_CNS_MAX - 1, 127), .local = folder, .size_bytes = 8};
    struct fabric_wait wait = {0};
    fabric_post(ep, &op, 1, &wait);
    assert_int_equal(op.status, 0);
    assert_int_equal(fabric_endpoint_open(fabric, 0, 128, &ep, &error), CELLAR_INVALID);
    fabric_close(fabric); /* closes what is still open */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_survives),      cmocka_unit_test(test_of_any_size),
        cmocka_unit_test(test_killed_owner),  cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_wrong_files),   cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_wrong_configs), cmocka_unit_test(test_largest_shapes),
    };

    return cmocka_run_group_tests_name("shm_pool", tests, make_folder, remove_folder);
}
