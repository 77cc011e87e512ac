#include "handle.h"

#include "lazy.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE 4096u
#define RING_PAGES (64u << 10)
/* They start at differing lines of a page, or the first lines of all of them would compete for the same cache sets. */
#define COLOURS 15
#define COLOUR_BYTES 64

/* How many pages a handle has that begins at this one; 0: none does, or the page is free. */
struct page {
    uint32_t pages;
    uint8_t rest[PAGE - sizeof(uint32_t)];
};

/*
 * One range of addresses for the whole process, given out from its front to its end, and again from its front where
 * pages are free: so that memory which was given back stays unused for as long as may be, and takes no mapping of its
 * own, of which a process may have 65,530. A child of fork finds all of it zero, the lock too.
 */
struct handle_ring {
    uint32_t lock, next;
    uint8_t rest[PAGE - 2 * sizeof(uint32_t)];
    struct page pages[RING_PAGES];
};
static struct handle_ring *handle_ring;

/* Where a program's leak checker looks for pointers, besides: else it takes for lost what a live handle points to. */
void __lsan_register_root_region(const void *base, size_t bytes) __attribute__((weak));
void __lsan_unregister_root_region(const void *base, size_t bytes) __attribute__((weak));

static struct handle_ring *ring_make(void)
{
    struct handle_ring *ring = lazy_map(sizeof *ring), *before = NULL;
    if (!ring) return NULL;
    bool wiped = madvise(ring, sizeof *ring, MADV_WIPEONFORK) == 0;
    (void)madvise(ring, sizeof *ring, MADV_NOHUGEPAGE);
    if (wiped && __atomic_compare_exchange_n(&handle_ring, &before, ring, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return ring;
    lazy_unmap(ring, sizeof *ring);
    return before;
}

static void lock(struct handle_ring *ring)
{
    while (__atomic_exchange_n(&ring->lock, 1, __ATOMIC_ACQUIRE)) continue;
}

static void unlock(struct handle_ring *ring) { __atomic_store_n(&ring->lock, 0, __ATOMIC_RELEASE); }

static uint32_t pages_of(size_t bytes) { return (uint32_t)((bytes + (COLOURS + 1) * COLOUR_BYTES + PAGE - 1) / PAGE); }

/* So many free pages, from the one that comes next; RING_PAGES: there are none. */
static uint32_t pages_find(const struct handle_ring *ring, uint32_t count)
{
    uint32_t at = ring->next;
    for (uint32_t seen = 0; seen < RING_PAGES;) {
        uint32_t free = 0;
        if (at + count > RING_PAGES) {
            seen += RING_PAGES - at;
            at = 0;
            continue;
        }
        while (free < count && !ring->pages[at + free].pages) free++;
        if (free == count) return at;
        free += ring->pages[at + free].pages;
        seen += free;
        at += free;
    }
    return RING_PAGES;
}

void *handle_new(size_t bytes)
{
    struct handle_ring *ring = __atomic_load_n(&handle_ring, __ATOMIC_ACQUIRE);
    if (!ring) ring = ring_make();
    if (!ring || bytes > RING_PAGES / 2 * PAGE) return NULL;
    lock(ring);
    uint32_t count = pages_of(bytes), at = pages_find(ring, count);
    if (at < RING_PAGES) {
        lazy_drop(&ring->pages[at], (uint64_t)count * PAGE); /* a call that was refused may have left a code there */
        ring->pages[at].pages = count;
        ring->next = at + count;
    }
    unlock(ring);
    if (at == RING_PAGES) return NULL;
    void *handle = (uint8_t *)&ring->pages[at] + (1 + at % COLOURS) * COLOUR_BYTES;
    if (__lsan_register_root_region) __lsan_register_root_region(handle, bytes);
    return handle;
}

void handle_drop(void *handle, size_t bytes)
{
    struct handle_ring *ring = __atomic_load_n(&handle_ring, __ATOMIC_ACQUIRE);
    if (!handle) return;
    if (__lsan_unregister_root_region) __lsan_unregister_root_region(handle, bytes);
    lock(ring);
    lazy_drop((void *)((uintptr_t)handle / PAGE * PAGE), (uint64_t)pages_of(bytes) * PAGE);
    unlock(ring);
}
