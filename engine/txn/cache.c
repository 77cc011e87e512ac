#include "cache.h"

#include "lazy.h"
#include "must.h"

#include <string.h>

#define GROWTH_BYTES (16u << 20) /* of an arena, each time */

_Static_assert((CACHE_OBJECT_BYTES - sizeof(struct cache_object)) / CACHE_ZERO_BYTES * CACHE_ZERO_BYTES >=
                   CACHE_OBJECT_ZEROED_MAX,
               "room to zero");

static uint64_t objects_bytes(const struct cache *cache) { return (uint64_t)cache->objects_max * CACHE_OBJECT_BYTES; }
static uint64_t buckets_bytes(const struct cache *cache) { return (uint64_t)cache->buckets_max * CACHE_BUCKET_BYTES; }
static uint64_t hash_bytes(const struct cache *cache) { return (cache->slot_mask + 1ull) * sizeof(struct cache_entry); }

int cache_open(struct cache *cache, const struct mode *mode, struct fabric *fabric, struct cache_shape shape)
{
    must(mode->object_zeroed <= CACHE_OBJECT_ZEROED_MAX);
    must((shape.objects_max & (shape.objects_max - 1)) == 0);
    bool large = shape.objects_max > CACHE_OBJECTS_MAX;
    *cache = (struct cache){.arena_bytes = shape.arena_bytes,
                            .arena_most = shape.arena_most,
                            .objects_max = shape.objects_max,
                            .buckets_max = 2 * shape.objects_max,
                            .slot_mask = 2 * shape.objects_max - 1,
                            .fabric = fabric,
                            .generation = 1};
    cache_zeroes(cache, mode);
    cache->arena = lazy_map(cache->arena_most + RECORD_SPILL); /* what is moved out of the last image reads on */
    cache->objects = lazy_map(objects_bytes(cache));
    cache->objects_end = cache->objects;
    cache->buckets = lazy_map(buckets_bytes(cache));
    cache->hash = lazy_map(hash_bytes(cache));
    cache->locked = large ? lazy_map(hash_bytes(cache)) : NULL;
    bool all = cache->arena && cache->objects && cache->buckets && cache->hash && (cache->locked || !large);
    /* Replies of atomics land in objects and buckets, all else in the arena. */
    int rc = all ? fabric_register_local(fabric, cache->arena, cache->arena_bytes) : CELLAR_NOMEM;
    if (rc == 0) rc = fabric_register_local(fabric, cache->objects, objects_bytes(cache));
    if (rc == 0) rc = fabric_register_local(fabric, cache->buckets, buckets_bytes(cache));
    return rc;
}

void cache_forget(struct cache *cache)
{
    if (cache->arena) fabric_forget_local(cache->fabric, cache->arena, cache->arena_bytes);
    if (cache->objects) fabric_forget_local(cache->fabric, cache->objects, objects_bytes(cache));
    if (cache->buckets) fabric_forget_local(cache->fabric, cache->buckets, buckets_bytes(cache));
}

void cache_close(struct cache *cache)
{
    lazy_unmap(cache->arena, cache->arena_most + RECORD_SPILL);
    lazy_unmap(cache->objects, objects_bytes(cache));
    lazy_unmap(cache->buckets, buckets_bytes(cache));
    lazy_unmap(cache->hash, hash_bytes(cache));
    lazy_unmap(cache->locked, hash_bytes(cache));
    *cache = (struct cache){0};
}

void cache_reset(struct cache *cache)
{
    cache->object_count = 0;
    cache->objects_end = cache->objects;
    cache->bucket_count = 0;
    cache->locked_end = 0;
    cache->locked_filter = 0;
    cache->arena_used = 0;
    if (++cache->generation == 0) { /* after 2^32 transactions old entries would look new */
        memset(cache->hash, 0, hash_bytes(cache));
        if (cache->locked) memset(cache->locked, 0, hash_bytes(cache));
        cache->generation = 1;
    }
}

/*
 * Registers more of the arena. What is left of the piece before stays unused: one buffer is not to lie in two that were
 * registered apart.
 */
static __attribute__((cold, noinline)) bool grow(struct cache *cache, uint64_t bytes)
{
    uint64_t more = bytes > GROWTH_BYTES ? bytes : GROWTH_BYTES;
    if (more > cache->arena_most - cache->arena_bytes) return false;
    if (fabric_register_local(cache->fabric, cache->arena + cache->arena_bytes, more)) return false;
    cache->arena_used = cache->arena_bytes;
    cache->arena_bytes += more;
    return true;
}

void *cache_alloc(struct cache *cache, uint64_t bytes)
{
    uint64_t rounded = (bytes + 63) & ~63ull;
    if (rounded > cache->arena_bytes - cache->arena_used && !grow(cache, rounded)) return NULL;
    void *memory = cache->arena + cache->arena_used;
    cache->arena_used += rounded;
    return memory;
}

int32_t cache_bucket_new(struct cache *cache, struct fabric_addr addr, bool head)
{
    if (cache->bucket_count == cache->buckets_max) return -1;
    struct bucket_wire *image = cache_alloc(cache, sizeof *image);
    if (!image) return -1;
    struct cache_bucket *bucket = cache_bucket_at(cache, cache->bucket_count);
    bucket->addr = addr;
    bucket->image = image;
    bucket->lock_old = 0;
    bucket->next = -1;
    bucket->head = head;
    bucket->held = bucket->locking = bucket->unsettled = bucket->dirty = false;
    memset(bucket + 1, 0, CACHE_BUCKET_BYTES - sizeof *bucket);
    return (int32_t)cache->bucket_count++;
}

static uint64_t filter_bit(struct fabric_addr addr) { return 1ull << (addr.bits / sizeof(struct bucket_wire) % 64); }

/* The entry of `locked` where the search for that address begins. */
static uint64_t locked_at(struct fabric_addr addr)
{
    return addr.bits / sizeof(struct bucket_wire) * 0x9e3779b97f4a7c15ull >> 32;
}

void cache_bucket_locks(struct cache *cache)
{
    struct fabric_addr addr = cache_bucket_at(cache, cache->bucket_count - 1)->addr;
    cache->locked_end = cache->bucket_count;
    cache->locked_filter |= filter_bit(addr);
    if (!cache->locked) return;
    uint64_t at = locked_at(addr);
    while (cache->locked[at & cache->slot_mask].generation == cache->generation) at++;
    cache->locked[at & cache->slot_mask] = (struct cache_entry){cache->generation, (int32_t)cache->bucket_count - 1};
}

static bool is_held(const struct cache *cache, int32_t number, struct fabric_addr addr)
{
    const struct cache_bucket *bucket = cache_bucket_at(cache, (uint32_t)number);
    return bucket->addr.bits == addr.bits && (bucket->held || bucket->locking);
}

static __attribute__((noinline)) int32_t locked_find(const struct cache *cache, struct fabric_addr addr)
{
    for (uint64_t at = locked_at(addr);; at++) {
        const struct cache_entry *entry = &cache->locked[at & cache->slot_mask];
        if (entry->generation != cache->generation) return -1;
        if (is_held(cache, entry->object, addr)) return entry->object;
    }
}

int32_t cache_bucket_held(const struct cache *cache, struct fabric_addr addr)
{
    if (!(cache->locked_filter & filter_bit(addr))) return -1;
    if (cache->locked) return locked_find(cache, addr);
    for (uint32_t i = 0; i < cache->locked_end; i++)
        if (is_held(cache, (int32_t)i, addr)) return (int32_t)i;
    return -1;
}
