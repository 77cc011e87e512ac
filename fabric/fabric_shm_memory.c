/*
 * fabric_shm_memory.c - where the bytes of memory nodes come from: anonymous memory, a pool file, or descriptors
 * received from memory-node processes.
 *
 * Regions are asked to be of huge pages: transactions touch records all over hundreds of megabytes, and with small
 * pages every access would miss the TLB. The kernel grants that to anonymous memory by default, to memfds and files
 * where shmem_enabled or the file system allow it.
 */
#include "fabric_shm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES (2ull << 20)
#define MIB ((uint64_t)1 << 20)

int fabric_shm_memory_check(uint32_t nodes, uint64_t bytes, struct cellar_error *error)
{
    struct sysinfo info;

    if (sysinfo(&info) != 0) return 0;
    uint64_t host = ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
    if (bytes <= host / nodes) return 0;
    return err_set(error, CELLAR_ERR_NOMEM,
                   "%u memory node(s) of %" PRIu64 " MiB cannot fit into this host's %" PRIu64
                   " MiB of memory; make the pool smaller",
                   nodes, bytes / MIB, host / MIB);
}

static int map_failed(struct cellar_error *error, uint64_t bytes)
{
    return err_set(error, CELLAR_ERR_NOMEM, "cannot map %" PRIu64 " MiB of memory: %s", bytes / MIB, strerror(errno));
}

/* Mapped with room to spare and cut to a huge-page boundary. Untouched pages take no memory. */
int fabric_shm_map_anonymous(struct fabric_shm_mapping *mapping, uint64_t bytes, struct cellar_error *error)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) & ~(page - 1);
    char *whole =
        mmap(NULL, size + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (whole == MAP_FAILED) return map_failed(error, bytes);
    uint64_t skip = -(uintptr_t)whole & (HUGE_PAGE_BYTES - 1);
    if (skip > 0) munmap(whole, skip);
    if (skip < HUGE_PAGE_BYTES) munmap(whole + skip + size, HUGE_PAGE_BYTES - skip);
    *mapping = (struct fabric_shm_mapping){.base = whole + skip, .bytes = size};
    if (bytes >= HUGE_PAGE_BYTES) (void)madvise(mapping->base, size, MADV_HUGEPAGE);
    return 0;
}

static int map_file(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes, int flags, struct cellar_error *error)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (base == MAP_FAILED) return map_failed(error, bytes);
    *mapping = (struct fabric_shm_mapping){.base = base, .bytes = bytes};
    (void)madvise(base, bytes, MADV_HUGEPAGE);
    return 0;
}

void fabric_shm_unmap(struct fabric_shm_mapping *mapping)
{
    if (mapping->base) munmap(mapping->base, mapping->bytes);
    *mapping = (struct fabric_shm_mapping){0};
}

/* INV-FABRIC-8. Sealed against shrinking, so that no access to it can ever fail. */
int fabric_shm_map_fd(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes, struct cellar_error *error)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);

    if (fstat(fd, &status) != 0 || seals < 0 || !(seals & F_SEAL_SHRINK) || status.st_size < 0 ||
        (uint64_t)status.st_size != bytes)
        return err_set(error, CELLAR_ERR_CORRUPT,
                       "the memory node handed out a descriptor that is not a sealed memfd of %" PRIu64 " bytes",
                       bytes);
    return map_file(mapping, fd, bytes, MAP_SHARED, error);
}

/* ---- pool file ---- */

struct pool_file {
    const char *path;
    bool private; /* it is only read; several may do that at once */
    int fd;
    bool created, fresh;
    uint64_t bytes; /* its size; 0 until it has one */
};

static int file_failed(const struct pool_file *file, const char *what, struct cellar_error *error)
{
    return err_set(error, CELLAR_ERR_SYSTEM, "cannot %s pool file %.120s: %s", what, file->path, strerror(errno));
}

static int open_file(struct pool_file *file, struct cellar_error *error)
{
    int flags = (file->private ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

    file->fd = open(file->path, flags);
    if (file->fd < 0 && errno == ENOENT && !file->private) {
        file->fd = open(file->path, flags | O_CREAT | O_EXCL, 0600);
        file->created = file->fd >= 0;
    }
    if (file->fd >= 0) return 0;
    if (errno != EEXIST || file->private) return file_failed(file, "open", error);
    return err_set(error, CELLAR_ERR_INVALID, "pool file %.120s is a symbolic link to nothing, or was made just now",
                   file->path);
}

static int lock_file(struct pool_file *file, struct cellar_error *error)
{
    struct stat status;

    if (fstat(file->fd, &status) != 0) return file_failed(file, "look at", error);
    if (!S_ISREG(status.st_mode))
        return err_set(error, CELLAR_ERR_INVALID, "pool file %.120s is not a regular file", file->path);
    if (flock(file->fd, (file->private ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return file_failed(file, "lock", error);
        return err_set(error, CELLAR_ERR_EXISTS, "pool file %.120s is in use by another database; only one may open it",
                       file->path);
    }
    if (fstat(file->fd, &status) != 0)
        return file_failed(file, "look at", error); /* its size may have changed until now */
    file->bytes = (uint64_t)status.st_size;
    file->fresh = status.st_size == 0;
    return 0;
}

static int choose_size(struct pool_file *file, uint64_t wanted, struct cellar_error *error)
{
    if (file->fresh && file->private)
        return err_set(error, CELLAR_ERR_NOT_FOUND, "pool file %.120s is empty", file->path);
    if (file->fresh && wanted == 0)
        return err_set(error, CELLAR_ERR_INVALID, "pool file %.120s is new: its size must be given", file->path);
    if (file->fresh) file->bytes = wanted;
    if (wanted == 0 || file->bytes == wanted) return 0;
    return err_set(error, CELLAR_ERR_MISMATCH,
                   "pool file %.120s has %" PRIu64 " bytes, not the %" PRIu64 " asked for; ask for its "
                   "own size, or name another file",
                   file->path, file->bytes, wanted);
}

/* INV-FABRIC-8. All blocks of the file must exist: a store into a hole of a full disk would kill the process. */
static int allocate_blocks(struct pool_file *file, struct cellar_error *error)
{
    struct statvfs fs;

    if (file->private) return 0; /* its stores go to memory */
    if (fallocate(file->fd, 0, 0, (off_t)file->bytes) == 0) return 0;
    if (errno == EOPNOTSUPP) { /* such a file system promises nothing: what is free now must do */
        if (!file->fresh) return 0;
        if (fstatvfs(file->fd, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < file->bytes)
            errno = ENOSPC;
        else if (ftruncate(file->fd, (off_t)file->bytes) == 0)
            return 0;
    }
    return err_set(error, errno == ENOSPC || errno == EFBIG ? CELLAR_ERR_FULL : CELLAR_ERR_SYSTEM,
                   "no room for a pool file of %" PRIu64 " MiB at %.120s: %s", file->bytes / MIB, file->path,
                   strerror(errno));
}

/* Leaves no trace of an attempt that failed. */
static void abandon_file(struct pool_file *file)
{
    if (file->created)
        unlink(file->path);
    else if (file->fresh && !file->private && ftruncate(file->fd, 0) != 0)
        file->fresh = false;
    close(file->fd);
}

int fabric_shm_map_pool(struct fabric_shm_mapping *mapping, const struct fabric_shm_config *config, int *fd,
                        bool *fresh, struct cellar_error *error)
{
    struct pool_file file = {.path = config->pool_path, .private = config->pool_private};
    int code = open_file(&file, error);

    if (code != 0) return code;
    code = lock_file(&file, error);
    if (code == 0) code = choose_size(&file, config->mn_bytes, error);
    if (code == 0) code = allocate_blocks(&file, error);
    int flags = file.private ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
    if (code == 0) code = map_file(mapping, file.fd, file.bytes, flags, error);
    if (code != 0) {
        abandon_file(&file);
        return code;
    }
    *fd = file.fd;
    *fresh = file.fresh;
    return 0;
}
