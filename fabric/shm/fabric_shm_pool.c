/*
 * fabric_shm_pool.c - a pool file: one memory node that one process, or several, map by its path (docs/pool-files.md).
 *
 * Who has it is said by locks of open file descriptions on bytes far behind the data: one for each compute node's
 * index, and one that is the door. The kernel takes them back when a process ends, after its last thread gave its
 * memory up; so an index that is free has no late writer, and a door is never left shut.
 */
#include "fabric_shm_internal.h"
#include "descriptor.h"
#include "file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define HUGE_PAGE (2 * MIB)
#define DOOR_AT ((off_t)1 << 62) /* the door's byte; the indexes' follow */
#define DOOR_WAIT_NS 30000000000ull
#define DOOR_POLL_NS 200000
#define CLAIM_TRIES 500
#define REPLACED_TRIES 100 /* a file that was removed, and made anew, between its open and its lock */

static void pause_ns(uint64_t ns)
{
    struct timespec time = {.tv_nsec = (long)ns};
    (void)nanosleep(&time, NULL);
}

static int file_failed(const struct fabric_shm_pool *pool, const char *what, struct cellar_error *error)
{
    return err_set(error, CELLAR_SYSTEM, "cannot %s pool file %.120s: %s", what, pool->path, strerror(errno));
}

/* ---- locks ---- */

/* 0, or an errno: EAGAIN when another description has one of these bytes. */
static int lock_bytes(const struct fabric_shm_pool *pool, int command, short type, uint64_t first, uint64_t count,
                      struct flock *found)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = DOOR_AT + (off_t)first, .l_len = (off_t)count};
    if (fcntl(pool->fd, command, &lock) != 0) return errno == EACCES ? EAGAIN : errno;
    if (found) *found = lock;
    return 0;
}

bool fabric_shm_pool_taken(const struct fabric_shm_pool *pool, uint32_t cn, uint32_t cns)
{
    struct flock found = {.l_type = F_UNLCK};
    return lock_bytes(pool, F_OFD_GETLK, F_WRLCK, 1 + cn, cns, &found) != 0 || found.l_type != F_UNLCK;
}

bool fabric_shm_pool_claim(const struct fabric_shm_pool *pool, uint32_t cn, uint32_t cns)
{
    return lock_bytes(pool, F_OFD_SETLK, F_WRLCK, 1 + cn, cns, NULL) == 0;
}

void fabric_shm_pool_give(const struct fabric_shm_pool *pool, uint32_t cn, uint32_t cns)
{
    (void)lock_bytes(pool, F_OFD_SETLK, F_UNLCK, 1 + cn, cns, NULL);
}

static int in_use(const struct fabric_shm_pool *pool, struct cellar_error *error)
{
    return err_set(error, CELLAR_EXISTS, "pool file %.120s is in use by another database", pool->path);
}

/* INV-POOL-1: one process at a time comes or goes; one that looks on keeps all out. */
static int door_take(struct fabric_shm_pool *pool, struct cellar_error *error)
{
    uint64_t begin_ns = fabric_shm_clock_monotonic_ns();
    struct flock found = {.l_type = F_UNLCK};
    int code;

    while ((code = lock_bytes(pool, F_OFD_SETLK, F_WRLCK, 0, 1, NULL)) == EAGAIN) {
        if (lock_bytes(pool, F_OFD_GETLK, F_WRLCK, 0, 1, &found) == 0 && found.l_type == F_RDLCK)
            return err_set(error, CELLAR_EXISTS,
                           "pool file %.120s is in use by another database, which only looks at it; wait for its end",
                           pool->path);
        if (fabric_shm_clock_monotonic_ns() - begin_ns > DOOR_WAIT_NS)
            return err_set(error, CELLAR_DEADLINE,
                           "pool file %.120s: another process has been opening or closing it for %d s", pool->path,
                           (int)(DOOR_WAIT_NS / 1000000000));
        pause_ns(DOOR_POLL_NS);
    }
    errno = code;
    if (code != 0) return file_failed(pool, "lock", error);
    pool->door = true;
    return 0;
}

static bool alone(const struct fabric_shm_pool *pool) { return !fabric_shm_pool_taken(pool, 0, FABRIC_CNS_MAX); }

int fabric_shm_pool_door(struct fabric_shm *shm, bool take, struct cellar_error *error)
{
    struct fabric_shm_pool *pool = &shm->pool;

    if (take) {
        int code = pool->door ? 0 : door_take(pool, error);
        if (code == 0) shm->fabric.alone = alone(pool);
        return code;
    }
    fabric_shm_roll_made(pool);
    pool->door = false;
    (void)lock_bytes(pool, F_OFD_SETLK, F_UNLCK, 0, 1, NULL);
    return 0;
}

/* ---- the file ---- */

static int open_file(struct fabric_shm_pool *pool, struct cellar_error *error)
{
    int flags = (pool->private ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

    pool->created = false;
    pool->fd = descriptor_high(open(pool->path, flags));
    if (pool->fd >= 0) return 0;
    if (errno != ENOENT || pool->private) return file_failed(pool, "open", error);
    pool->fd = descriptor_high(open(pool->path, flags | O_CREAT | O_EXCL, 0600));
    pool->created = pool->fd >= 0;
    if (pool->created) return 0;
    if (errno != EEXIST) return file_failed(pool, "open", error);
    pool->fd = descriptor_high(open(pool->path, flags)); /* another process has made it just now */
    if (pool->fd >= 0) return 0;
    return err_set(error, CELLAR_INVALID, "pool file %.120s is a symbolic link to nothing", pool->path);
}

/* Is the file that was opened the one that the path leads to now? */
static bool still_there(const struct fabric_shm_pool *pool, const struct stat *opened)
{
    struct stat named;
    return stat(pool->path, &named) == 0 && named.st_ino == opened->st_ino && named.st_dev == opened->st_dev;
}

static int lock_file(struct fabric_shm_pool *pool, struct cellar_error *error)
{
    struct stat status;

    if (fstat(pool->fd, &status) != 0) return file_failed(pool, "look at", error);
    if (!S_ISREG(status.st_mode))
        return err_set(error, CELLAR_INVALID, "pool file %.120s is not a regular file", pool->path);
    if (!pool->private) return door_take(pool, error);
    int code = lock_bytes(pool, F_OFD_SETLK, F_RDLCK, 0, 1 + FABRIC_CNS_MAX, NULL);
    if (code == EAGAIN) return in_use(pool, error);
    errno = code;
    return code == 0 ? 0 : file_failed(pool, "lock", error);
}

/* Opened, and its door is held. */
static int open_locked(struct fabric_shm_pool *pool, struct cellar_error *error)
{
    for (uint32_t tries = 0; tries < REPLACED_TRIES; tries++) {
        struct stat status;
        int code = open_file(pool, error);
        if (code == 0) code = lock_file(pool, error);
        if (code != 0) return code;
        if (fstat(pool->fd, &status) != 0) return file_failed(pool, "look at", error);
        if (still_there(pool, &status)) {
            pool->bytes = (uint64_t)status.st_size; /* it may have changed until now */
            return 0;
        }
        close(pool->fd);
        pool->fd = -1;
        pool->door = false;
    }
    return err_set(error, CELLAR_SYSTEM, "pool file %.120s is removed again and again", pool->path);
}

static int choose_size(struct fabric_shm_pool *pool, uint64_t wanted, struct cellar_error *error)
{
    pool->fresh = pool->bytes == 0;
    if (pool->fresh && pool->private) return err_set(error, CELLAR_NOT_FOUND, "pool file %.120s is empty", pool->path);
    if (pool->fresh && wanted == 0)
        return err_set(error, CELLAR_INVALID, "pool file %.120s is new: its size must be given", pool->path);
    if (pool->fresh) pool->bytes = wanted;
    if (wanted == 0 || pool->bytes == wanted) return 0;
    return err_set(error, CELLAR_MISMATCH,
                   "pool file %.120s has %" PRIu64 " bytes, not the %" PRIu64 " asked for; ask for its "
                   "own size, or name another file",
                   pool->path, pool->bytes, wanted);
}

/*
 * On tmpfs, which counts pages that are there and nothing else, and writes zeros to all of them that are still empty
 * when they are asked for again.
 */
static bool has_all_blocks(const struct fabric_shm_pool *pool)
{
    struct stat status;
    struct statfs fs;
    if (pool->fresh || pool->bytes % HUGE_PAGE || fstat(pool->fd, &status) || fstatfs(pool->fd, &fs)) return false;
    return fs.f_type == TMPFS_MAGIC && (uint64_t)status.st_blocks * 512 >= pool->bytes;
}

/* INV-FABRIC-8. All blocks of the file must exist: a store into a hole of a full disk would kill the process. */
static int allocate_blocks(const struct fabric_shm_pool *pool, struct cellar_error *error)
{
    struct statvfs fs;

    if (has_all_blocks(pool)) return 0;
    errno = pool->fresh ? file_limit(pool->bytes) : 0;
    if (errno == 0 && fallocate(pool->fd, 0, 0, (off_t)pool->bytes) == 0) return 0;
    if (errno == EOPNOTSUPP) { /* such a file system promises nothing: what is free now must do */
        if (!pool->fresh) return 0;
        if (fstatvfs(pool->fd, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < pool->bytes)
            errno = ENOSPC;
        else if (ftruncate(pool->fd, (off_t)pool->bytes) == 0)
            return 0;
    }
    return err_set(error, errno == ENOSPC || errno == EFBIG ? CELLAR_FULL : CELLAR_SYSTEM,
                   "no room for a pool file of %" PRIu64 " MiB at %.120s: %s", pool->bytes / MIB, pool->path,
                   strerror(errno));
}

static int map_it(struct fabric_shm *shm, struct cellar_error *error)
{
    const struct fabric_shm_pool *pool = &shm->pool;
    if (pool->private) return fabric_shm_map_private(&shm->regions[0], pool->fd, pool->bytes, error);
    int code = allocate_blocks(pool, error);
    return code ? code : fabric_shm_map_file(&shm->regions[0], pool->fd, pool->bytes, error);
}

/* ---- indexes ---- */

/* INV-POOL-2. The lowest that are free; one that a fence looks at is so for a moment only. */
static int claim_some(struct fabric_shm *shm, struct cellar_error *error)
{
    uint32_t count = shm->fabric.cn_count;

    if (shm->cns > count)
        return err_set(error, CELLAR_MISMATCH, "pool file %.120s was made for %u compute nodes, not for %u",
                       shm->pool.path, count, shm->cns);
    for (uint32_t tries = 0; tries < CLAIM_TRIES; tries++) {
        for (uint32_t cn = 0; cn <= count - shm->cns; cn++) {
            if (!fabric_shm_pool_claim(&shm->pool, cn, shm->cns)) continue;
            shm->fabric.cn_first = cn;
            return 0;
        }
        if (count == shm->cns) break; /* one that has all of them */
        pause_ns(DOOR_POLL_NS);
    }
    return err_set(error, CELLAR_EXISTS,
                   "pool file %.120s is in use by another database, or several: of the %u compute nodes that it was "
                   "made for, %u are not free (cns_max)",
                   shm->pool.path, count, shm->cns);
}

/*
 * The door is held. When this process has all compute nodes there is none to be told of, and none comes beside it.
 */
static int enter(struct fabric_shm *shm, struct cellar_error *error)
{
    int code = shm->fabric.joint ? fabric_shm_roll_open(shm, shm->fabric.alone, error) : 0;

    if (code == 0) code = claim_some(shm, error);
    if (code == 0 && shm->fabric.joint) fabric_shm_roll_sign(shm, true);
    return code;
}

/* Leaves no trace of an attempt that failed. */
static void abandon_file(struct fabric_shm_pool *pool)
{
    if (pool->fd < 0 || !pool->door) return;
    if (pool->created)
        unlink(pool->path);
    else if (pool->fresh && ftruncate(pool->fd, 0) != 0)
        pool->fresh = false;
}

int fabric_shm_pool_open(struct fabric_shm *shm, const struct fabric_shm_config *config, struct cellar_error *error)
{
    struct fabric_shm_pool *pool = &shm->pool;

    pool->private = config->pool_private;
    pool->path = realpath(config->pool_path, NULL); /* of one file there is one roll */
    if (!pool->path) pool->path = strdup(config->pool_path);
    if (!pool->path) return err_set(error, CELLAR_NOMEM, "no memory for a path");
    shm->fabric.kept = true;
    shm->cns = config->cns ? config->cns : config->cn_count;
    int code = open_locked(pool, error);
    shm->fabric.joint = !pool->private && shm->cns < config->cn_count;
    shm->fabric.alone = code == 0 && (pool->private || alone(pool));
    if (code == 0 && shm->fabric.alone && shm->fabric.joint && fabric_shm_roll_unmade(pool)) {
        if (ftruncate(pool->fd, 0) != 0) code = file_failed(pool, "begin anew with", error);
        pool->bytes = 0;
    }
    if (code == 0) code = choose_size(pool, config->mn_bytes, error);
    if (code == 0 && !pool->private) code = enter(shm, error);
    if (code == 0) code = map_it(shm, error); /* a fresh file has no size before the roll says that it is being made */
    if (code != 0) {
        if (shm->fabric.alone) abandon_file(pool);
        return code;
    }
    shm->fabric.mn_bytes = pool->bytes;
    shm->fabric.fresh = pool->fresh;
    return shm->fabric.joint || pool->private ? 0 : fabric_shm_pool_door(shm, false, error);
}

/* INV-POOL-3: nothing of it is mapped any more, so the indexes are free from here on. */
void fabric_shm_pool_close(struct fabric_shm *shm)
{
    struct fabric_shm_pool *pool = &shm->pool;

    if (pool->entered) fabric_shm_roll_sign(shm, false);
    if (pool->roll_path) fabric_shm_roll_close(shm, pool->door && alone(pool));
    if (pool->fd >= 0) close(pool->fd);
    free(pool->path);
}
