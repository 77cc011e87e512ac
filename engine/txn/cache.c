#include "cache.h"

#include "lazy.h"
#include "must.h"

#include <string.h>

_Static_assert(CACHE_SLOTS >= 2 * CACHE_OBJECTS_MAX, "the hash must stay half empty");
_Static_assert((CACHE_SLOTS & (CACHE_SLOTS - 1)) == 0, "a power of two");

_Static_assert((CACHE_OBJECT_BYTES - sizeof(struct cache_object)) / CACHE_ZERO_BYTES * CACHE_ZERO_BYTES >=
                   CACHE_OBJECT_ZEROED_MAX,
               "room to zero");

int cache_open(struct cache *cache, const struct mode *mode, struct fabric *fabric, uint64_t arena_bytes)
{
    must(mode->object_zeroed <= CACHE_OBJECT_ZEROED_MAX);
    *cache = (struct cache){.arena_bytes = arena_bytes, .generation = 1};
    cache_zeroes(cache, mode);
    cache->arena = lazy_map(arena_bytes);
    cache->objects = lazy_map(CACHE_OBJECTS_MAX * CACHE_OBJECT_BYTES);
    cache->objects_end = cache->objects;
    cache->buckets = lazy_map(CACHE_BUCKETS_MAX * CACHE_BUCKET_BYTES);
    cache->hash = lazy_map(CACHE_SLOTS * sizeof(struct cache_entry));
    if (!cache->arena || !cache->objects || !cache->buckets || !cache->hash) {
        cache_close(cache);
        return -CELLAR_ERR_NOMEM;
    }
    /* Replies of atomics land in objects and buckets, all else in the arena. */
    int rc = fabric_register_local(fabric, cache->arena, arena_bytes);
    if (rc == 0) rc = fabric_register_local(fabric, cache->objects, CACHE_OBJECTS_MAX * CACHE_OBJECT_BYTES);
    if (rc == 0) rc = fabric_register_local(fabric, cache->buckets, CACHE_BUCKETS_MAX * CACHE_BUCKET_BYTES);
    return rc;
}

void cache_close(struct cache *cache)
{
    lazy_unmap(cache->arena, cache->arena_bytes);
    lazy_unmap(cache->objects, CACHE_OBJECTS_MAX * CACHE_OBJECT_BYTES);
    lazy_unmap(cache->buckets, CACHE_BUCKETS_MAX * CACHE_BUCKET_BYTES);
    lazy_unmap(cache->hash, CACHE_SLOTS * sizeof(struct cache_entry));
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
        memset(cache->hash, 0, CACHE_SLOTS * sizeof(struct cache_entry));
        cache->generation = 1;
    }
}

void *cache_alloc(struct cache *cache, uint64_t bytes)
{
    uint64_t rounded = (bytes + 63) & ~63ull;
    if (rounded > cache->arena_bytes - cache->arena_used) return NULL;
    void *memory = cache->arena + cache->arena_used;
    cache->arena_used += rounded;
    return memory;
}

int32_t cache_pin(struct cache *cache, const struct cellar_table *table, uint64_t key, bool *made)
{
    uint64_t at =
        ((key + ((uint64_t)table->id << 56)) * 0x9e3779b97f4a7c15ull) >> 32; /* the upper half mixes all bits below */

    for (;; at++) {
        struct cache_entry *entry = &cache->hash[at & (CACHE_SLOTS - 1)];
        if (entry->generation == cache->generation) {
            const struct cache_object *object = cache_object_at(cache, (uint32_t)entry->object);
            if (object->key == key && object->table == table) {
                *made = false;
                return entry->object;
            }
            continue;
        }
        if (cache->object_count == CACHE_OBJECTS_MAX) return -1;
        *made = true;
        entry->generation = cache->generation;
        entry->object = (int32_t)cache->object_count++;
        struct cache_object *object = cache->objects_end;
        cache->objects_end = cache_object_next(object);
        object->table = table;
        object->key = key;
        object->bucket = object->absent_bucket = object->scan_bucket = -1;
        object->scan_entry = 0;
        memset(&object->addr, 0, offsetof(struct cache_object, fetching_cells) - offsetof(struct cache_object, addr));
        for (uint64_t byte = sizeof *object; byte < cache->zero_end; byte += CACHE_ZERO_BYTES)
            memset((uint8_t *)object + byte, 0, CACHE_ZERO_BYTES);
        return entry->object;
    }
}

int32_t cache_bucket_new(struct cache *cache, struct fabric_addr addr, bool head)
{
    if (cache->bucket_count == CACHE_BUCKETS_MAX) return -1;
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

void cache_bucket_locks(struct cache *cache)
{
    cache->locked_end = cache->bucket_count;
    cache->locked_filter |= filter_bit(cache_bucket_at(cache, cache->bucket_count - 1)->addr);
}

int32_t cache_bucket_held(const struct cache *cache, struct fabric_addr addr)
{
    if (!(cache->locked_filter & filter_bit(addr))) return -1;
    for (uint32_t i = 0; i < cache->locked_end; i++) {
        const struct cache_bucket *bucket = cache_bucket_at(cache, i);
        if (bucket->addr.bits == addr.bits && (bucket->held || bucket->locking)) return (int32_t)i;
    }
    return -1;
}
