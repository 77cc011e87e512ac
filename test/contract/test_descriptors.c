/*
 * test_descriptors.c - a process that has closed standard input, output and error uses databases of each kind: nothing
 * that the library opens gets one of these numbers, where what the process prints would go into it.
 */
#include "cellar.h"
#include "contract_shm.h"
#include "db_open.h"
#include "db_snapshot.h"
#include "engine_config.h"
#include "partial.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define STANDARD 3
#define POOL_BYTES (16u << 20)

struct closed {
    int copies[STANDARD];
    char folder[40], path[64], other[72];
};

static void standard_close(struct closed *closed)
{
    strcpy(closed->folder, "/tmp/cellar-closed-XXXXXX");
    assert_non_null(mkdtemp(closed->folder));
    snprintf(closed->path, sizeof closed->path, "%s/pool", closed->folder);
    snprintf(closed->other, sizeof closed->other, "%s-2", closed->path);
    fflush(NULL);
    for (int fd = 0; fd < STANDARD; fd++) {
        closed->copies[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
}

static void standard_back(struct closed *closed)
{
    for (int fd = 0; fd < STANDARD; fd++) {
        dup2(closed->copies[fd], fd);
        close(closed->copies[fd]);
    }
}

/* Bits: those that a process has open, itself: 0. */
static int standard_open_in(pid_t pid)
{
    int open_ones = 0;
    for (int fd = 0; fd < STANDARD; fd++) {
        char name[48], target[8];
        snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)(pid ? pid : getpid()), fd);
        if (readlink(name, target, sizeof target) >= 0) open_ones |= 1 << fd;
    }
    return open_ones;
}

/* Opens and closes a database, makes a snapshot of it; the standard descriptors that are open meanwhile. */
static int database(const struct engine_config *config, const char *snapshot, struct cellar_error *error)
{
    struct cellar *db;
    int code = db_open(config, &db, error);
    if (code) return code;
    int seen = standard_open_in(0);
    if (snapshot) code = db_backup(db, snapshot, error);
    cellar_close(db);
    return code ? code : seen;
}

static void judge(int found, const struct cellar_error *error)
{
    if (found < 0) fail_msg("%s", error->text);
    if (found > 0) fail_msg("standard descriptors are the library's: %#x", (unsigned)found);
}

static void pool_files(void **state)
{
    struct closed closed;
    struct cellar_error error = {0};
    (void)state;
    for (uint32_t cns_max = 1; cns_max <= 2; cns_max++) { /* with a roll, too */
        standard_close(&closed);
        struct engine_config config = {.pool_path = closed.path, .pool_bytes = POOL_BYTES, .cns_max = cns_max};
        int made = database(&config, NULL, &error);
        int again = made < 0 ? made : database(&config, closed.other, &error);
        config.pool_private = true;
        int looked = again < 0 ? again : database(&config, NULL, &error);
        standard_back(&closed);
        unlink(closed.path);
        unlink(closed.other);
        assert_int_equal(rmdir(closed.folder), 0);
        judge(made, &error);
        judge(again, &error);
        judge(looked, &error);
    }
}

static void durable_folder(void **state)
{
    struct closed closed;
    struct cellar_error error = {0};
    (void)state;
    standard_close(&closed);
    struct engine_config config = {.durable = closed.path, .pool_bytes = POOL_BYTES};
    int made = database(&config, NULL, &error);
    int again = made < 0 ? made : database(&config, NULL, &error);
    standard_back(&closed);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", closed.folder);
    assert_int_equal(system(command), 0);
    judge(made, &error);
    judge(again, &error);
}

/* Sockets, segments, descriptors of processes: of those who attach, and of the memory node. */
static void memory_nodes(void **state)
{
    struct contract_memnodes memnodes;
    struct closed closed;
    struct cellar_error error = {0};
    struct cellar *db = NULL;
    (void)state;
    standard_close(&closed);
    contract_memnodes_start(&memnodes, (struct contract_shape){.mn_count = 1, .cn_count = 2, .mn_bytes = POOL_BYTES});
    struct engine_config config = {.memnodes = memnodes.paths};
    int code = db_open(&config, &db, &error);
    int own = code ? code : standard_open_in(0), theirs = standard_open_in(memnodes.pids[0]);
    cellar_close(db);
    contract_memnodes_stop(&memnodes);
    standard_back(&closed);
    assert_int_equal(rmdir(closed.folder), 0);
    judge(own, &error);
    judge(theirs, &error);
}

static void files_that_appear_whole(void **state)
{
    struct closed closed;
    struct cellar_error error = {0};
    struct partial partial;
    (void)state;
    standard_close(&closed);
    int found = partial_open(&partial, closed.path, &error);
    if (found == 0) {
        found = standard_open_in(0);
        partial_drop(&partial);
    }
    standard_back(&closed);
    assert_int_equal(rmdir(closed.folder), 0);
    judge(found, &error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_files),
        cmocka_unit_test(durable_folder),
        cmocka_unit_test(memory_nodes),
        cmocka_unit_test(files_that_appear_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
