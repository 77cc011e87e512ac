/*
 * test_memory.c - without memory: a database is opened, gets a table, a procedure and an index, and runs transactions,
 * while its n-th allocation fails, for each n. What cannot be had is refused with NOMEM and a line; nothing crashes,
 * nothing is left to wait for, and nothing leaks (which ASan's build sees). Allocations are met where the linker
 * leads them (tests.cmake, --wrap): the engine's own, not those of the C library.
 */
#include "cellar.h"
#include "numbered.h"
#include "db_index.h"
#include "db_open.h"
#include "db_schema.h"
#include "mode.h"
#include "share.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define RECORDS 64

/* ---- allocations that fail ---- */

static uint32_t allocations, failing; /* the failing-th one does; 0: none. Atomically: workers allocate, too */
static const char *failed;            /* the function that it was */

static bool fails(const char *name)
{
    uint32_t at = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    if (at != __atomic_load_n(&failing, __ATOMIC_RELAXED)) return false;
    errno = ENOMEM;
    __atomic_store_n(&failed, name, __ATOMIC_RELAXED);
    return true;
}

#define WRAPPED(type, name, none, declared, passed)                                                                    \
    type __real_##name declared;                                                                                       \
    type __wrap_##name declared;                                                                                       \
    type __wrap_##name declared { return fails(#name) ? none : __real_##name passed; }

/* clang-format off */
WRAPPED(void *, malloc, NULL, (size_t bytes), (bytes))
WRAPPED(void *, calloc, NULL, (size_t count, size_t bytes), (count, bytes))
WRAPPED(void *, realloc, NULL, (void *old, size_t bytes), (old, bytes))
WRAPPED(void *, aligned_alloc, NULL, (size_t alignment, size_t bytes), (alignment, bytes))
WRAPPED(int, posix_memalign, ENOMEM, (void **out, size_t alignment, size_t bytes), (out, alignment, bytes))
WRAPPED(char *, strdup, NULL, (const char *text), (text))
WRAPPED(void *, mmap, MAP_FAILED, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
        (at, bytes, protection, flags, fd, offset))
WRAPPED(int, pthread_create, EAGAIN, (pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
        (out, attr, fn, arg))
/* clang-format on */

/* ---- a short life ---- */

struct account {
    uint64_t balance, count;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct account, balance),
                                                      CELLAR_COLUMN(struct account, count)};

static const struct cellar_schema_index_column balance[] = {{"balance", CELLAR_SORT_UNSIGNED, false}};
static const struct cellar_schema_index by_balance = {.name = "by_balance", .columns = balance, .column_count = 1};

struct life {
    struct engine_config config;
    struct cellar *db;
    const struct cellar_table *table;
    const struct cellar_proc *proc;
    struct cellar_error error;
    const char *step;
};

/* One more record, and one that two of its neighbours have in common. */
static int insert_and_add(struct cellar_txn *txn, void *arg)
{
    const struct life *life = *(const struct life **)arg;
    uint64_t key = ((uint64_t *)arg)[1], value;
    const struct account row = {.balance = key};
    int ref = cellar_proc_access(txn, life->table, key, 0, CELLAR_ALL_CELLS, CELLAR_OPTIONAL);
    if (ref < 0) return ref;
    int rc = cellar_proc_fetch(txn);
    if (rc) return rc;
    if (!cellar_proc_found(txn, ref)) {
        ref = cellar_proc_insert(txn, life->table, key, &row);
        return ref < 0 ? ref : cellar_proc_fetch(txn);
    }
    rc = cellar_proc_get(txn, ref, 1, &value);
    value++;
    return rc ? rc : cellar_proc_put(txn, ref, 1, &value);
}

static int client(struct cellar_lab_client *self, void *arg)
{
    struct cellar_result result;
    int rc = 0;
    for (uint64_t i = 0; i < RECORDS && rc == 0; i++) {
        uint64_t args[2] = {(uint64_t)(uintptr_t)arg, i % (RECORDS / 2)};
        rc = cellar_lab_exec(self, ((struct life *)arg)->proc, args, NULL, &result);
    }
    return rc;
}

static int live(struct life *life)
{
    const struct cellar_schema schema = {.name = "account",
                                         .row_bytes = sizeof(struct account),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = 1000};
    const struct cellar_proc_def def = {.name = "add", .fn = insert_and_add, .records_max = 2, .writes_max = 2};
    uint64_t args[2] = {(uint64_t)(uintptr_t)life, 1};
    life->step = "opening";
    int rc = db_open(&life->config, &life->db, &life->error);
    if (rc) return rc;
    life->step = "a table";
    rc = db_table_create(life->db, &schema, &life->table, &life->error);
    if (rc) return rc;
    life->step = "a procedure";
    rc = db_proc_register(life->db, &def, &life->proc, &life->error);
    if (rc) return rc;
    const struct cellar_index *index;
    life->step = "an index";
    rc = mode_of(life->config.cc)->versions ? 0
                                            : db_index_create(life->db, life->table, &by_balance, &index, &life->error);
    if (rc) return rc;
    life->step = "a run";
    rc = cellar_lab_run(life->db, client, life);
    if (rc) return rc;
    life->step = "a call";
    return cellar_proc_run(life->db, life->proc, args, NULL, NULL);
}

/* With the n-th allocation failing: done, or refused for want of memory, in words where there is room for them. */
static void one_fails(const struct engine_config *config, const char *name, uint32_t n, bool *reached)
{
    struct life life = {.config = *config};
    __atomic_store_n(&allocations, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&failing, n, __ATOMIC_RELAXED);
    int rc = live(&life);
    bool worded =
        life.db ? rc == 0 || life.error.code == 0 || life.error.text[0] : life.error.code == rc && life.error.text[0];
    *reached = __atomic_load_n(&allocations, __ATOMIC_RELAXED) >= n;
    bool thread =
        *reached && failed && !strcmp(failed, "pthread_create"); /* threads are the operating system's to refuse */
    if ((rc != 0 && rc != (thread ? CELLAR_SYSTEM : CELLAR_NOMEM)) || !worded || strchr(life.error.text, '\n'))
        fail_msg("%s, mode %d, allocation %u (%s) fails: %s ends with %d (%s), \"%s\"", name, (int)config->cc, n,
                 failed, life.step, rc, cellar_strerror(rc), life.error.text);
    cellar_close(life.db);
    __atomic_store_n(&failing, 0, __ATOMIC_RELAXED);
    if (config->pool_path) unlink(config->pool_path);
}

static void each_fails(const char *name, struct engine_config config)
{
    bool reached = true;
    uint32_t n = 0;
    config.pool_bytes = 4 << 20;
    config.log_bytes = 64 << 10;
    while (reached && n < 5000) one_fails(&config, name, ++n, &reached);
    assert_false(reached);
    assert_in_range(n, 20, 5000); /* else nothing was met */
}

static void opening_on_shm(void **state)
{
    (void)state;
    for (enum cellar_lab_cc cc = CELLAR_LAB_CC_CELLAR; mode_of(cc); cc++)
        each_fails("shm", (struct engine_config){.cc = cc, .threads = 2, .coros = 2});
}

static void opening_a_pool_file(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/cellar-test-memory.%d", (int)getpid());
    each_fails("a pool file", (struct engine_config){.pool_path = path, .coros = 1});
}

static void opening_with_backups(void **state)
{
    (void)state;
    for (enum cellar_lab_cc cc = CELLAR_LAB_CC_CELLAR; mode_of(cc); cc++)
        each_fails("backups", (struct engine_config){.cc = cc, .cns = 2, .mns = 2, .replicas = 1, .coros = 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_on_shm),
        cmocka_unit_test(opening_a_pool_file),
        cmocka_unit_test(opening_with_backups),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
