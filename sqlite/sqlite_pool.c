/* sqlite_pool.c - databases by their files, and their transactions. */
#include "sqlite_pool.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TXNS_MAX 120 /* with one worker below the 128 of a compute node */
/* Each thread that is at work has a segment: all that may be at work take half a pool. Large entries lie elsewhere. */
#define LOG_SHARE 256
#define LOG_LEAST (128ull << 10)
#define LOG_MOST (2ull << 20)
#define LOG_FOLDER (4ull << 20) /* where an entry has half of it: a value of the largest, and its row */

struct sqlite_pool {
    struct sqlite_pool *next;
    char path[PATH_MAX];
    struct cellar *db;
    pid_t process; /* an open database does not survive a fork */
    uint32_t users;
};

/*
 * All that is open: what is known of a pool has to be known to the whole process, since only one database may have it.
 */
static struct sqlite_pool *pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static int refuse(struct cellar_error *error, int code, const char *what, const char *path, const char *why)
{
    error->code = code;
    snprintf(error->text, sizeof error->text, "%s%s: %s", what, path, why);
    return code;
}

/* The file's name, whole, so that two ways to it are one; the file itself need not be there. */
static int path_of(const char *path, char whole[PATH_MAX], struct cellar_error *error)
{
    char folder[PATH_MAX], base[PATH_MAX];
    if (realpath(path, whole)) return 0;
    if (errno != ENOENT || strlen(path) >= PATH_MAX)
        return refuse(error, CELLAR_SYSTEM, "pool ", path, strerror(errno));
    strcpy(folder, path);
    strcpy(base, path);
    if (!realpath(dirname(folder), whole)) return refuse(error, CELLAR_SYSTEM, "pool ", path, strerror(errno));
    size_t used = strlen(whole);
    bool fits = (size_t)snprintf(whole + used, PATH_MAX - used, "/%s", basename(base)) < PATH_MAX - used;
    return fits ? 0 : refuse(error, CELLAR_SYSTEM, "pool ", path, strerror(ENAMETOOLONG));
}

/* Returns rc; *error is the last one's, if it is a code. */
static int failed(int rc, struct cellar_error *error)
{
    if (rc < 0) *error = *cellar_last_error();
    return rc;
}

static uint64_t log_bytes_of(uint64_t pool_bytes)
{
    uint64_t share = pool_bytes / LOG_SHARE & ~4095ull;
    return share > LOG_MOST ? LOG_MOST : share > LOG_LEAST ? share : LOG_LEAST;
}

static int open_db(struct sqlite_pool *pool, const struct sqlite_pool_shape *shape, struct cellar_error *error)
{
    struct stat status;
    bool there = stat(pool->path, &status) == 0 && status.st_size > 0;
    if (!there && !shape) return refuse(error, CELLAR_NOT_FOUND, "pool ", pool->path, "there is no such file");
    bool folder = there && S_ISDIR(status.st_mode);
    const struct cellar_lab *lab =
        CELLAR_LAB(.coros = 1, /* all that runs here is interactive */
                   .log_bytes = folder ? LOG_FOLDER : log_bytes_of(there ? (uint64_t)status.st_size : shape->bytes));
    int rc = cellar_open(pool->path,
                         CELLAR_OPTIONS(.flags = shape ? 0 : CELLAR_EXISTING, .bytes = there ? 0 : shape->bytes,
                                        .durability = there ? CELLAR_DEFAULT : CELLAR_MEMORY, .txns_max = TXNS_MAX,
                                        .processes_max = shape ? shape->processes : 0, .lab = lab),
                         &pool->db);
    return failed(rc, error);
}

static struct sqlite_pool *pool_make(const char *path, const struct sqlite_pool_shape *shape,
                                     struct cellar_error *error)
{
    struct sqlite_pool *pool = calloc(1, sizeof *pool);
    if (!pool) {
        (void)refuse(error, CELLAR_NOMEM, "", path, cellar_strerror(CELLAR_NOMEM));
        return NULL;
    }
    strcpy(pool->path, path);
    pool->process = getpid();
    if (open_db(pool, shape, error) == 0) return pool;
    free(pool);
    return NULL;
}

static struct sqlite_pool *known(const char *path)
{
    struct sqlite_pool *pool = pools;
    while (pool && strcmp(pool->path, path) != 0) pool = pool->next;
    return pool;
}

struct sqlite_pool *sqlite_pool_open(const char *path, const struct sqlite_pool_shape *shape,
                                     struct cellar_error *error)
{
    char whole[PATH_MAX];
    if (path_of(path, whole, error)) return NULL;
    pthread_mutex_lock(&pools_lock);
    struct sqlite_pool *pool = known(whole);
    if (pool && pool->process != getpid()) {
        (void)refuse(error, CELLAR_UNSUPPORTED, "pool ", whole,
                     "it was opened before this process was forked: open it here anew, before the fork close it");
        pool = NULL;
    } else if (pool) {
        pool->users++;
    } else if ((pool = pool_make(whole, shape, error))) {
        pool->users = 1;
        pool->next = pools;
        pools = pool;
    }
    pthread_mutex_unlock(&pools_lock);
    return pool;
}

void sqlite_pool_close(struct sqlite_pool *pool)
{
    pthread_mutex_lock(&pools_lock);
    if (--pool->users == 0 && pool->process == getpid()) {
        struct sqlite_pool **at = &pools;
        while (*at != pool) at = &(*at)->next;
        *at = pool->next;
        cellar_close(pool->db);
        free(pool);
    }
    pthread_mutex_unlock(&pools_lock);
}

struct cellar *sqlite_pool_db(struct sqlite_pool *pool) { return pool->db; }

/* ---- transactions ---- */

struct cellar_txn *sqlite_pool_begin(struct sqlite_pool *pool, struct cellar_error *error)
{
    struct cellar_txn *txn = NULL;
    if (pool->process != getpid())
        (void)refuse(error, CELLAR_UNSUPPORTED, "pool ", pool->path, "it was opened before this process was forked");
    else
        (void)failed(cellar_begin(pool->db, NULL, &txn), error);
    return txn;
}
