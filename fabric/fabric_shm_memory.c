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

int fabric_shm_map_file(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes, int flags,
                        struct cellar_error *error)
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
    return fabric_shm_map_file(mapping, fd, bytes, MAP_SHARED, error);
}
