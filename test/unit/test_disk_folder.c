/*
 * test_disk_folder.c - a durable folder's own name is on the disk when it was opened: another process that made
 * it may have been killed before it had synced the parent.
 */
#include "disk_real.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The linker leads calls of fsync here (test/tests.cmake). */
int __real_fsync(int file);
int __wrap_fsync(int file);

static ino_t last_synced;

int __wrap_fsync(int file)
{
    struct stat about;
    if (fstat(file, &about) == 0) last_synced = about.st_ino;
    return __real_fsync(file);
}

static void the_parent_is_synced(void **state)
{
    char parent[] = "/tmp/cellar-folder-XXXXXX", folder[64];
    struct cellar_error error;
    struct stat about;
    (void)state;
    assert_non_null(mkdtemp(parent));
    assert_int_equal(stat(parent, &about), 0);
    snprintf(folder, sizeof folder, "%s/bank", parent);
    for (int opening = 0; opening < 3; opening++) { /* it is made; it is there; it is to be there */
        last_synced = 0;
        assert_int_equal(disk_real_make(folder, opening == 2, &error), 0);
        assert_true(last_synced == about.st_ino);
    }
    char dotted[80], link[80];
    snprintf(dotted, sizeof dotted, "%s/.", folder);
    snprintf(link, sizeof link, "%s-link", parent);
    assert_int_equal(symlink(folder, link), 0);
    for (int opening = 0; opening < 2; opening++) {
        last_synced = 0;
        assert_int_equal(disk_real_make(opening ? link : dotted, true, &error), 0);
        assert_true(last_synced == about.st_ino);
    }
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(disk_real_make(folder, true, &error), 0); /* the opening says that it is not there */
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(disk_real_make(folder, false, &error), CELLAR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_parent_is_synced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
