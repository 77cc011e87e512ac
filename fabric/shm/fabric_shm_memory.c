/*
 * fabric_shm_memory.c - where the bytes of memory nodes come from: anonymous memory, files, or descriptors received
 * from memory-node processes.
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
#include <sys/mman.h>
#include <sys/stat.h>
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
    return err_set(error, CELLAR_NOMEM,
                   "%u memory node(s) of %" PRIu64 " MiB cannot fit into this host's %" PRIu64
                   " MiB of memory; make the pool smaller",
                   nodes, bytes / MIB, host / MIB);
}

static int map_failed(struct cellar_error *error, uint64_t bytes)
{
    return err_set(error, CELLAR_NOMEM, "cannot map %" PRIu64 " MiB of memory: %s", bytes / MIB, strerror(errno));
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

int fabric_shm_map_file(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes, struct cellar_error *error)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED) return map_failed(error, bytes);
    *mapping = (struct fabric_shm_mapping){.base = base, .bytes = bytes};
    (void)madvise(base, bytes, MADV_HUGEPAGE);
    return 0;
}

/* The next bytes from `*at` on that the file has, in whole pages; false: none. */
static bool extent_next(int fd, uint64_t bytes, uint64_t *at, uint64_t *end)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    off_t data = lseek(fd, (off_t)*at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return false;
    off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    if (data >= 0) *at = (uint64_t)data & ~(page - 1);
    *end = hole < 0 || (uint64_t)hole > bytes ? bytes : ((uint64_t)hole + page - 1) & ~(page - 1);
    return *at < bytes;
}

static bool extent_read(int fd, char *to, uint64_t bytes, uint64_t offset)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, to + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) break; /* of the last page the file has a part */
        done += (uint64_t)got;
    }
    return true;
}

/* Holes stay memory. Of long extents the file is mapped, short ones are read: a process may have some 65,000 areas. */
static bool extents_lay(const struct fabric_shm_mapping *mapping, int fd, uint64_t bytes)
{
    uint64_t least = bytes / 1024 > MIB ? bytes / 1024 : MIB, end;

    for (uint64_t at = 0; at < bytes && extent_next(fd, bytes, &at, &end); at = end) {
        char *to = (char *)mapping->base + at;
        bool laid = end - at < least ? extent_read(fd, to, end - at, at)
                                     : mmap(to, end - at, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd, (off_t)at) != MAP_FAILED;
        if (!laid) return false;
    }
    return true;
}

/*
 * INV-FABRIC-8. Stores stay in memory. A hole of the file is not mapped: on tmpfs even a load from there takes a block,
 * and where none is free it kills the process.
 */
int fabric_shm_map_private(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes, struct cellar_error *error)
{
    int code = fabric_shm_map_anonymous(mapping, bytes, error);
    if (code || extents_lay(mapping, fd, bytes)) return code;
    code = err_set(error, CELLAR_SYSTEM, "cannot read the pool file: %s", strerror(errno));
    fabric_shm_unmap(mapping);
    return code;
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
        return err_set(error, CELLAR_CORRUPT,
                       "the memory node handed out a descriptor that is not a sealed memfd of %" PRIu64 " bytes",
                       bytes);
    return fabric_shm_map_file(mapping, fd, bytes, error);
}
