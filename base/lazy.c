#include "lazy.h"

#include <stddef.h>
#include <sys/mman.h>

void *lazy_map(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void lazy_unmap(void *memory, uint64_t bytes)
{
    if (memory) munmap(memory, bytes);
}

void *lazy_grow(void *memory, uint64_t bytes, uint64_t more_bytes)
{
    void *more = mremap(memory, bytes, more_bytes, MREMAP_MAYMOVE);
    return more == MAP_FAILED ? NULL : more;
}

void lazy_drop(void *memory, uint64_t bytes) { (void)madvise(memory, bytes, MADV_DONTNEED); }
