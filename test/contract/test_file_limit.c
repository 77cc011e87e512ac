/*
 * test_file_limit.c - files may not grow beyond `ulimit -f`: a process with default signals learns that by a code of
 * the library. The kernel's SIGXFSZ would end it.
 */
#include "cellar.h"
#include "db_open.h"
#include "db_snapshot.h"
#include "engine_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define POOL_BYTES (16u << 20)

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* What that open says under the limit; with `snapshot`: it is open before, and what a snapshot says. */
static int try(const struct engine_config *config, rlim_t limit, const char *snapshot)
{
    struct cellar *db = NULL;
    if (!snapshot) limit_files(limit);
    int code = db_open(config, &db, NULL);
    if (code || !snapshot) return code;
    limit_files(limit);
    return db_backup(db, snapshot, NULL);
}

/* In a child: it must end by itself. */
static void refused_as(int code, const struct engine_config *config, rlim_t limit, const char *snapshot)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(-try(config, limit, snapshot));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) fail_msg("ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), -code);
}

static void files_that_may_not_grow_are_refused(void **state)
{
    char folder[40] = "/tmp/cellar-limit-XXXXXX", path[64], copy[72], command[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pool", folder);
    snprintf(copy, sizeof copy, "%s-copy", path);
    struct engine_config config = {.pool_path = path, .pool_bytes = POOL_BYTES, .cns_max = 1};
    refused_as(CELLAR_FULL, &config, POOL_BYTES - 1, NULL);
    config.cns_max = 2;
    refused_as(CELLAR_FULL, &config, 0, NULL); /* its roll */
    refused_as(CELLAR_FULL, &config, POOL_BYTES - 1, NULL);
    refused_as(0, &config, RLIM_INFINITY, NULL);
    refused_as(CELLAR_SYSTEM, &config, POOL_BYTES - 1, copy);
    snprintf(path, sizeof path, "%s/durable", folder);
    refused_as(CELLAR_FULL, &(struct engine_config){.durable = path, .pool_bytes = POOL_BYTES}, 4096, NULL);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_that_may_not_grow_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
