/*
 * cache.h - a transaction's copies of records: one object for each record that it uses (docs/record-cache.md;
 * docs/protocol.md section 2).
 *
 * An object knows, for each cell, what the transaction knows of the record: the base version that was fetched (in the
 * image), whether the cell's tag is held, whether the cell is read or written. These objects are never shared. What a
 * mode knows of an object or a bucket besides is in a struct of its own that begins with this one (docs/modes.md):
 * behind each there is room for it.
 *
 * INV-CACHE-1: a cell counts as held only when a READ posted after its successful masked CAS has returned.
 * INV-CACHE-2: an image's versions are those fetched until the transaction commits; values may change, for held cells
 *              only.
 *
 * Memory: a fixed arena for each cache, registered with the fabric; cache_reset drops all at once. No allocation
 * otherwise, but for the arena of a large transaction (large.h), which grows.
 */
#pragma once

#include "catalog.h"
#include "mode.h"
#include "record.h"

#include <stddef.h>
#include <string.h>

#define CACHE_OBJECTS_MAX CELLAR_TXN_RECORDS_MAX
#define CACHE_OBJECT_BYTES 320     /* of an object with what its mode has behind it, */
#define CACHE_OBJECT_ZEROED_MAX 64 /* so much of that can be zero at first */
#define CACHE_ZERO_BYTES 64u       /* ... by so much at a time */
#define CACHE_BUCKET_BYTES 88      /* ... and of a bucket */

enum cache_kind { CACHE_ACCESS, CACHE_INSERT, CACHE_DELETE };

enum cache_state {
    CACHE_DECLARED, /* nothing is known yet */
    CACHE_PRESENT,  /* the fetched cells are in the image */
    CACHE_ABSENT,   /* no such key when the bucket was read */
};

struct cache_object {
    /* set by cache_pin */
    const struct table *table;
    uint64_t key;
    int32_t bucket;        /* head of the chain that was searched; -1: none yet */
    int32_t absent_bucket; /* head of the chain that lacked the key, still to be validated; -1: none */
    int32_t scan_bucket;   /* chain part and entry from where the search for candidates goes on; -1: at its end */
    uint32_t scan_entry;
    /* zeroed by cache_pin, as is what the mode wants zeroed (mode.object_zeroed) */
    struct fabric_addr addr; /* bits 0: not known */
    uint8_t *image;          /* record_bytes, in the arena */
    /* an insert into a used slot: its old bytes, whose EN and TS go on; or what was put over (txn_keep_old) */
    uint8_t *slot_image;
    uint64_t held;                    /* bits of the lock word that are ours */
    uint64_t unlocking;               /* tags of ours whose unlock was posted last */
    uint64_t unsettled;               /* tags of ours that a lock or unlock without a reply may have left set, */
    uint64_t check_mask;              /* tags of check_cells in the lock word */
    uint32_t read_cells, write_cells; /* declared */
    uint32_t check_cells;             /* read and not locked: to be validated, as widely as this mode checks */
    uint32_t locked_cells;            /* cells whose tags are ours */
    uint32_t written_cells;           /* put by the procedure */
    uint32_t fetched_cells;           /* base versions in the image */
    uint32_t ordered_cells;           /* of read_cells, but not declared: an ordered index wants to know them */
    uint32_t upgraded_cells;          /* read in one block, and declared to be written in a later one */
    uint8_t kind;                     /* enum cache_kind */
    uint8_t state;                    /* enum cache_state */
    bool pending;                     /* takes part in this round of the fetch */
    bool optional;
    bool hinted;     /* addr comes from the address cache */
    bool misled;     /* an entry of its bucket led to another record, or to one that was deleted meanwhile */
    bool gone;       /* ... to the record itself, deleted: a part of an insert or delete was seen */
    bool slot_taken; /* an insert has its slot */
    bool slot_used_before;
    bool refused;          /* an insert that found its key present, with its bucket locked */
    uint8_t rounds;        /* fetch rounds taken, bounded */
    uint8_t implied_cells; /* of read_cells, but not declared: SCHEMA_WITNESS, or none (declare.c) */
    bool busy;             /* a mode's put need not hear of it: no other transaction looks at this copy */
    bool indexed;          /* it is among those of indexed.h */
    bool applier; /* where records are shared: this transaction applies what others have put, too; versions are set */
    /* set in each round before they are used */
    uint32_t fetching_cells;           /* what this round reads */
    uint32_t locking_cells;            /* what it locks; 0: no masked CAS is posted */
    uint8_t *fetching;                 /* where the READ goes: image, or a scratch copy when image has data already */
    uint64_t lock_mask, lock_tags;     /* what the masked CAS compares, but lock_clear, and swaps in */
    uint64_t lock_clear;               /* DELETED, and what else the mode wants clear */
    uint64_t lock_old;                 /* its reply, kept until it is judged */
    struct fabric_addr unsettled_addr; /* where `unsettled` is */
    const uint8_t *absence;            /* lock and version of absent_bucket, as read again */
    bool read_at_once;                 /* one READ fetched all: on a line-atomic fabric a snapshot of its own */
};

/* One bucket of a chain as read; `next` is the chain's next part. */
struct cache_bucket {
    struct fabric_addr addr;
    struct bucket_wire *image;
    uint64_t lock_old;
    int32_t next;   /* index, or -1 */
    bool head;      /* else a further part: neither lock nor version of its own */
    bool held;      /* its tag is ours */
    bool locking;   /* a masked CAS is in this round */
    bool unsettled; /* its tag may be ours: a reply was lost */
    bool dirty;     /* entries changed, to be logged and applied */
};

/* How much a cache has room for; powers of two, but for the bytes. */
struct cache_shape {
    uint32_t objects_max;
    uint64_t arena_bytes, arena_most; /* at first, and when it has grown */
};

struct cache {
    uint32_t object_count, bucket_count;
    uint32_t locked_end;    /* no bucket from here on was ever to be locked */
    uint64_t locked_filter; /* a bit for each of those to lock, by its address; clear: none has it */
    uint32_t generation;    /* of the hash entries; a new one empties the hash */
    uint64_t arena_used, arena_bytes;
    uint8_t *arena;
    uint64_t zero_end; /* of each object's bytes, up to which the mode wants its own zeroed */
    uint32_t objects_max, buckets_max, slot_mask;
    struct cache_object *objects;     /* objects_max of CACHE_OBJECT_BYTES */
    struct cache_object *objects_end; /* behind the last one in use: loops over all of them are many */
    struct cache_bucket *buckets;     /* buckets_max of CACHE_BUCKET_BYTES */
    struct cache_entry {
        uint32_t generation;
        int32_t object;
    } * hash; /* slot_mask + 1, half of them empty */
    /* of a large one: buckets that are to be locked, by address, as many; NULL: there are few enough to look at all */
    struct cache_entry *locked;
    struct fabric *fabric;
    uint64_t arena_most;
};

/* Maps and registers all memory; NOMEM: cache_close is still to be called. */
NODISCARD int cache_open(struct cache *cache, const struct mode *mode, struct fabric *fabric, struct cache_shape shape);
/* Before it is closed while its fabric is at work: none of its memory is registered any more. */
void cache_forget(struct cache *cache);
/* Also of one that was not opened, all zero. */
void cache_close(struct cache *cache);
/* What pins zero from now on is what that mode wants. */
static inline void cache_zeroes(struct cache *cache, const struct mode *mode)
{
    uint64_t pieces = (mode->object_zeroed + CACHE_ZERO_BYTES - 1) / CACHE_ZERO_BYTES;
    cache->zero_end = sizeof(struct cache_object) + pieces * CACHE_ZERO_BYTES;
}
/* Drops all objects and buckets. */
void cache_reset(struct cache *cache);
static inline struct cache_object *cache_object_at(const struct cache *cache, uint32_t number)
{
    return (void *)((uint8_t *)cache->objects + (uint64_t)number * CACHE_OBJECT_BYTES);
}
static inline struct cache_bucket *cache_bucket_at(const struct cache *cache, uint32_t number)
{
    return (void *)((uint8_t *)cache->buckets + (uint64_t)number * CACHE_BUCKET_BYTES);
}
static inline struct cache_object *cache_object_next(struct cache_object *object)
{
    return (void *)((uint8_t *)object + CACHE_OBJECT_BYTES);
}
/* The hash entry of (table, key), or the one that it would have. */
static inline struct cache_entry *cache_entry_of(const struct cache *cache, const struct table *table, uint64_t key)
{
    uint64_t at =
        ((key + ((uint64_t)table->id << 56)) * 0x9e3779b97f4a7c15ull) >> 32; /* the upper half mixes all bits below */

    for (;; at++) {
        struct cache_entry *entry = &cache->hash[at & cache->slot_mask];
        if (entry->generation != cache->generation) return entry;
        const struct cache_object *object = cache_object_at(cache, (uint32_t)entry->object);
        if (object->key == key && object->table == table) return entry;
    }
}
/* -1: it has not been pinned. */
static inline int32_t cache_find(const struct cache *cache, const struct table *table, uint64_t key)
{
    const struct cache_entry *entry = cache_entry_of(cache, table, key);
    return entry->generation == cache->generation ? entry->object : -1;
}
/*
 * The object of (table, key): the existing one (*made false), or a new one; -1 when there are objects_max. Part of each
 * declaration: a call of it would be a tenth of that.
 */
static inline __attribute__((always_inline)) int32_t cache_pin(struct cache *cache, const struct table *table,
                                                               uint64_t key, bool *made)
{
    struct cache_entry *entry = cache_entry_of(cache, table, key);
    *made = entry->generation != cache->generation;
    if (!*made) return entry->object;
    if (cache->object_count == cache->objects_max) return -1;
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
/* Over all objects. */
#define cache_each_object(cache, object)                                                                               \
    for (struct cache_object *object = (cache)->objects, *object##_end = (cache)->objects_end; object < object##_end;  \
         object = cache_object_next(object))
/* `bytes` of the arena, 64-byte aligned, not zeroed; NULL when it is full. */
void *cache_alloc(struct cache *cache, uint64_t bytes);
/* A new bucket part, its image allocated; -1 when there is no room. */
int32_t cache_bucket_new(struct cache *cache, struct fabric_addr addr, bool head);
/* The newest bucket is to be locked. */
void cache_bucket_locks(struct cache *cache);
/* The head bucket at addr that is held or about to be; -1: none. */
int32_t cache_bucket_held(const struct cache *cache, struct fabric_addr addr);
