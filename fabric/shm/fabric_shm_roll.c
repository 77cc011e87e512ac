/*
 * fabric_shm_roll.c - the roll: a file beside a pool file that several processes have open. It says which process has
 * which compute nodes, and holds their messages.
 *
 *     head (magic, version, shape) | an entry for each compute node | mailboxes | buffers of messages
 *
 * It means nothing without the locks on the pool file: who comes when no other is there makes it anew, and who goes
 * last removes it. An entry is believed as long as its index is locked and its process is the one that it names. What
 * is written to has blocks: the head, entries and mailboxes from the start, buffers when an endpoint is opened.
 */
#include "descriptor.h"
#include "fabric_shm_internal.h"
#include "fabric_shm_plants.h"
#include "file_limit.h"
#include "must.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROLL_MAGIC 0x6c6c6f72726c6c43ull /* "Cllrroll" */
#define ROLL_VERSION 1                   /* changes with what is below and with the mailboxes' layout */
#define PAGE_BYTES 4096
#define KILL_MAX_MS 10000

/* One line for each compute node. */
struct entry_wire {
    uint64_t life;    /* which one it is; 0: it has not said so yet */
    uint64_t started; /* when its process began, by the kernel's ticks: a number alone may be used again */
    uint32_t pid;     /* 0: none */
    uint32_t zero[11];
};
_Static_assert(sizeof(struct entry_wire) == 64, "a line of its own");

struct fabric_shm_roll_wire {
    uint64_t magic;
    uint32_t version, cn_count;
    uint64_t mn_bytes;
    uint64_t device, inode; /* of the pool file */
    uint64_t pid_space;     /* in which the numbers of processes mean something */
    uint32_t unmade;        /* 1: the pool file is being made */
    uint32_t zero[3];
    struct entry_wire entries[];
};
_Static_assert(sizeof(struct fabric_shm_roll_wire) == 64, "a line of its own");

static uint64_t head_bytes(uint32_t cn_count)
{
    uint64_t bytes = sizeof(struct fabric_shm_roll_wire) + cn_count * sizeof(struct entry_wire);
    return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

static uint64_t pid_space(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/* The 22nd field of its line; the second one, its name, may hold anything. */
static uint64_t process_started(uint32_t pid)
{
    char path[32], line[512];
    unsigned long long started = 0;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = descriptor_high(open(path, O_RDONLY | O_CLOEXEC));
    if (fd < 0) return 0;
    ssize_t size = read(fd, line, sizeof line - 1);
    close(fd);
    line[size > 0 ? size : 0] = 0;
    const char *at = strrchr(line, ')');
    for (uint32_t field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &started) != 1) return 0;
    return started;
}

static int roll_failed(const struct fabric_shm_pool *pool, const char *what, struct cellar_error *error)
{
    int code = errno == ENOSPC || errno == EFBIG ? CELLAR_FULL : CELLAR_SYSTEM;
    return err_set(error, code, "cannot %s %.120s, where processes that share the pool file meet: %s", what,
                   pool->roll_path, strerror(errno));
}

/* ---- made, joined, and left ---- */

static char *path_beside(const struct fabric_shm_pool *pool)
{
    char *path = NULL;
    return asprintf(&path, "%s-roll", pool->path) < 0 ? NULL : path;
}

static bool is_of(const struct fabric_shm_roll_wire *head, const struct stat *status)
{
    return head->magic == ROLL_MAGIC && head->version == ROLL_VERSION && head->device == status->st_dev &&
           head->inode == status->st_ino;
}

bool fabric_shm_roll_unmade(const struct fabric_shm_pool *pool)
{
    struct fabric_shm_roll_wire head;
    struct stat status;
    char *path = path_beside(pool);
    int fd = path ? descriptor_high(open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) : -1;
    bool whole = fd >= 0 && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head;
    bool unmade = whole && fstat(pool->fd, &status) == 0 && is_of(&head, &status) && head.unmade;
    if (fd >= 0) close(fd);
    free(path);
    return unmade;
}

static int blocks_make(const struct fabric_shm_pool *pool, uint64_t at, uint64_t bytes, struct cellar_error *error)
{
    if (fallocate(pool->roll_fd, 0, (off_t)at, (off_t)bytes) == 0 || errno == EOPNOTSUPP) return 0;
    return roll_failed(pool, "get room in", error);
}

/* INV-POOL-4: an earlier one is of processes that are gone; the pool file's mode and owner are this one's. */
static int make_file(struct fabric_shm *shm, const struct stat *status, uint64_t bytes, struct cellar_error *error)
{
    struct fabric_shm_pool *pool = &shm->pool;
    uint32_t cn_count = shm->fabric.cn_count;

    if (unlink(pool->roll_path) != 0 && errno != ENOENT) return roll_failed(pool, "remove", error);
    pool->roll_fd = descriptor_high(open(pool->roll_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (pool->roll_fd < 0) return roll_failed(pool, "make", error);
    (void)!fchown(pool->roll_fd, status->st_uid, status->st_gid);
    if (fchmod(pool->roll_fd, status->st_mode & 0666) != 0 || (errno = file_limit(bytes)) != 0 ||
        ftruncate(pool->roll_fd, (off_t)bytes) != 0)
        return roll_failed(pool, "make", error);
    return blocks_make(pool, 0, head_bytes(cn_count) + fabric_shm_mailbox_boxes_bytes(cn_count), error);
}

static void head_write(struct fabric_shm *shm, const struct stat *status)
{
    struct fabric_shm_roll_wire *wire = shm->pool.wire;
    *wire = (struct fabric_shm_roll_wire){.version = ROLL_VERSION,
                                          .cn_count = shm->fabric.cn_count,
                                          .mn_bytes = shm->pool.bytes,
                                          .device = status->st_dev,
                                          .inode = status->st_ino,
                                          .pid_space = pid_space(),
                                          .unmade = shm->pool.fresh};
    __atomic_store_n(&wire->magic, ROLL_MAGIC, __ATOMIC_RELEASE);
}

/* INV-FABRIC-9. Others are there: it must be theirs, and one that this build and this process can use. */
static int check_file(struct fabric_shm *shm, const struct stat *status, struct cellar_error *error)
{
    struct fabric_shm_pool *pool = &shm->pool;
    struct fabric_shm_roll_wire head;
    struct stat roll;

    pool->roll_fd = descriptor_high(open(pool->roll_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (pool->roll_fd < 0 && errno != ENOENT) return roll_failed(pool, "open", error);
    if (pool->roll_fd < 0 || pread(pool->roll_fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        head.magic != ROLL_MAGIC || head.device != status->st_dev || head.inode != status->st_ino)
        return err_set(error, CELLAR_EXISTS,
                       "pool file %.120s is in use by another database, under another name or for itself alone: there "
                       "is no %.20s-roll of it",
                       pool->path, strrchr(pool->path, '/') ? strrchr(pool->path, '/') + 1 : pool->path);
    if (head.version != ROLL_VERSION || head.mn_bytes != pool->bytes || head.cn_count == 0 ||
        head.cn_count > FABRIC_CNS_MAX || fstat(pool->roll_fd, &roll) != 0 ||
        (uint64_t)roll.st_size < head_bytes(head.cn_count) + fabric_shm_mailbox_bytes(head.cn_count))
        return err_set(error, CELLAR_MISMATCH,
                       "pool file %.120s is in use by processes of another build; use one build for all", pool->path);
    if (head.pid_space != pid_space())
        return err_set(error, CELLAR_UNSUPPORTED,
                       "pool file %.120s is in use by processes of another PID namespace, which cannot be watched from "
                       "here",
                       pool->path);
    shm->fabric.cn_count = head.cn_count;
    return 0;
}

int fabric_shm_roll_open(struct fabric_shm *shm, bool alone, struct cellar_error *error)
{
    struct fabric_shm_pool *pool = &shm->pool;
    struct fabric_shm_mapping mailboxes;
    struct stat status;

    if (!(pool->roll_path = path_beside(pool))) return err_set(error, CELLAR_NOMEM, "no memory for a path");
    if (fstat(pool->fd, &status) != 0) return roll_failed(pool, "find the pool file of", error);
    int code = alone ? 0 : check_file(shm, &status, error);
    uint64_t head = head_bytes(shm->fabric.cn_count);
    uint64_t bytes = head + fabric_shm_mailbox_bytes(shm->fabric.cn_count);
    if (code == 0 && alone) code = make_file(shm, &status, bytes, error);
    if (code == 0) code = fabric_shm_map_file(&pool->roll, pool->roll_fd, bytes, error);
    if (code != 0) return code;
    pool->wire = pool->roll.base;
    if (alone) head_write(shm, &status);
    mailboxes = (struct fabric_shm_mapping){.base = (char *)pool->roll.base + head, .bytes = bytes - head};
    fabric_shm_mailbox_bind(&shm->mailboxes, mailboxes, shm->fabric.cn_count);
    shm->mailboxes.mapping = (struct fabric_shm_mapping){0}; /* it goes with the roll */
    return 0;
}

void fabric_shm_roll_made(struct fabric_shm_pool *pool)
{
    if (pool->wire) __atomic_store_n(&pool->wire->unmade, 0, __ATOMIC_RELEASE);
}

void fabric_shm_roll_close(struct fabric_shm *shm, bool last)
{
    struct fabric_shm_pool *pool = &shm->pool;

    if (last && pool->roll_fd >= 0) unlink(pool->roll_path);
    fabric_shm_unmap(&pool->roll);
    if (pool->roll_fd >= 0) close(pool->roll_fd);
    free(pool->roll_path);
}

int fabric_shm_roll_buffers(struct fabric_shm *shm, uint32_t cn, uint32_t worker, struct cellar_error *error)
{
    uint32_t cn_count = shm->fabric.cn_count;
    uint64_t at = head_bytes(cn_count) + fabric_shm_mailbox_buffers_at(cn_count, cn, worker);
    return blocks_make(&shm->pool, at, FABRIC_SHM_BUFFERS * sizeof(struct fabric_shm_buffer_wire), error);
}

/* ---- entries ---- */

static void mailboxes_close(struct fabric_shm *shm, uint32_t cn)
{
    for (uint32_t worker = 0; worker < FABRIC_SHM_WORKERS_MAX; worker++)
        fabric_shm_mailbox_close(&shm->mailboxes, cn, worker);
}

/* Its indexes are locked, and an earlier owner's messages go. */
void fabric_shm_roll_sign(struct fabric_shm *shm, bool in)
{
    uint64_t started = in ? process_started((uint32_t)getpid()) : 0;

    for (uint32_t cn = shm->fabric.cn_first; cn < shm->fabric.cn_first + shm->cns; cn++) {
        struct entry_wire *entry = &shm->pool.wire->entries[cn];
        __atomic_store_n(&entry->pid, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&entry->life, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&entry->started, started, __ATOMIC_SEQ_CST);
        mailboxes_close(shm, cn);
        if (in) __atomic_store_n(&entry->pid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
    }
    shm->pool.entered = in;
}

void fabric_shm_roll_life(struct fabric_shm *shm, uint64_t life)
{
    for (uint32_t cn = shm->fabric.cn_first; cn < shm->fabric.cn_first + shm->cns; cn++)
        __atomic_store_n(&shm->pool.wire->entries[cn].life, life, __ATOMIC_SEQ_CST);
}

/* ---- fencing ---- */

/* Of the process that has that index: its descriptor, or -1 when it is gone. */
static int owner_open(struct fabric_shm *shm, uint32_t cn, uint32_t *pid, uint64_t *life)
{
    const struct entry_wire *entry = &shm->pool.wire->entries[cn];

    *pid = __atomic_load_n(&entry->pid, __ATOMIC_SEQ_CST);
    *life = __atomic_load_n(&entry->life, __ATOMIC_SEQ_CST);
    uint64_t started = __atomic_load_n(&entry->started, __ATOMIC_SEQ_CST);
    if (*pid == 0 || !fabric_shm_pool_taken(&shm->pool, cn, 1)) return -1;
    int pidfd = descriptor_high((int)syscall(SYS_pidfd_open, (pid_t)*pid, 0));
    if (pidfd < 0) return -1;
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    bool same = __atomic_load_n(&entry->pid, __ATOMIC_SEQ_CST) == *pid &&
                __atomic_load_n(&entry->life, __ATOMIC_SEQ_CST) == *life;
    if (same && process_started(*pid) == started && poll(&ended, 1, 0) == 0) return pidfd;
    close(pidfd);
    return -1;
}

/*
 * What was sent to a compute node that is gone goes back to its senders; unless its index has a next owner, who has
 * done that. It is this process's meanwhile.
 */
static void mailboxes_drop(struct fabric_shm *shm, uint32_t cn)
{
    pthread_mutex_lock(&shm->lock);
    if (fabric_shm_pool_claim(&shm->pool, cn, 1)) {
        mailboxes_close(shm, cn);
        fabric_shm_pool_give(&shm->pool, cn, 1);
    }
    pthread_mutex_unlock(&shm->lock);
}

/* To fence is to kill and to wait, as memory-node processes do it (INV-FABRIC-7). */
static int owner_kill(struct fabric_shm *shm, uint32_t cn, uint32_t pid, int pidfd, struct cellar_error *error)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    long killed = syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    if ((killed != 0 && errno != ESRCH) || poll(&ended, 1, KILL_MAX_MS) != 1)
        return err_set(error, CELLAR_SYSTEM, "compute node %u (process %u) could not be killed", cn, pid);
    mailboxes_drop(shm, cn);
    return 0;
}

int fabric_shm_roll_fence(struct fabric_shm *shm, const struct fabric_control *control, struct cellar_error *error)
{
    uint32_t cn = control->cn, pid;
    uint64_t life;
    int pidfd = owner_open(shm, cn, &pid, &life), code = 0;

    if (pidfd < 0) {
        mailboxes_drop(shm, cn);
        return 0;
    }
    if (!fabric_fence_concerns(control->life, life) || PLANT(pool_fence_blind))
        code = 0;
    else if (control->only_dead)
        code = err_set(error, CELLAR_EXISTS, "compute node %u is process %u, and alive; end that one first", cn, pid);
    else if (pid == (uint32_t)getpid())
        code =
            err_set(error, CELLAR_UNSUPPORTED, "compute node %u belongs to another database of this very process", cn);
    else
        code = owner_kill(shm, cn, pid, pidfd, error);
    close(pidfd);
    return code;
}
