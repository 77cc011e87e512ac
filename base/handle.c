#include "handle.h"

#include "lazy.h"

#include <stdint.h>
#include <sys/mman.h>

#define PAGE 4096u
/* They start at differing lines of a page, or the first lines of all of them would compete for the same cache sets. */
#define COLOURS 16
#define COLOUR_BYTES 64

static uint64_t mapped(size_t bytes) { return (bytes + COLOURS * COLOUR_BYTES + PAGE - 1) / PAGE * PAGE; }

void *handle_new(size_t bytes)
{
    char *map = lazy_map(mapped(bytes));
    if (!map) return NULL;
    if (madvise(map, mapped(bytes), MADV_WIPEONFORK)) {
        lazy_unmap(map, mapped(bytes));
        return NULL;
    }
    return map + (uintptr_t)map / PAGE % COLOURS * COLOUR_BYTES;
}

void handle_drop(void *handle, size_t bytes)
{
    if (handle) lazy_drop((void *)((uintptr_t)handle / PAGE * PAGE), mapped(bytes));
}
