/*
 * index.h - the hash index of a table: one-line buckets in chains (layout.h). Pure functions on bucket images and the
 * arithmetic from key to bucket; reading and locking buckets is the engine's (or the loader's) affair.
 *
 * Keys that differ only in the low cluster_bits go to neighbouring buckets, so that rows inserted together meet few
 * buckets. A record lies on the node of its bucket. An entry is a hint: only the record itself tells whose key it
 * holds, but an absent entry in a chain whose head's tag and version stand still proves absence.
 */
#pragma once

#include "fabric.h"
#include "layout.h"

#include <stdbool.h>

struct index_geometry {
    uint64_t buckets_per_node;
    uint32_t mn_count, cluster_bits;
    uint64_t base[LAYOUT_NODES_MAX]; /* offset of bucket 0 on each node */
};

/* Buckets per node for so many records: about two thirds full, or half full when keys are clustered. */
uint64_t index_buckets_for(uint64_t records_max, uint32_t mn_count, uint32_t cluster_bits);

/* A strong 64-bit mix (MurmurHash3's finalizer): each bit of the key reaches each bit of the hash. */
static inline uint64_t index_hash(uint64_t key)
{
    key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
    return key ^ key >> 33;
}

__extension__ typedef unsigned __int128 index_product;

/*
 * The head of a key's chain. The hash taken as a fraction of 1 is scaled by mn_count: the whole part is the node; what
 * is left, scaled by the buckets of a node, is the bucket. Keys of a cluster fill the buckets behind it one after the
 * other.
 */
static inline struct fabric_addr index_bucket_addr(const struct index_geometry *geometry, uint64_t key)
{
    index_product node = (index_product)index_hash(key >> geometry->cluster_bits) * geometry->mn_count;
    uint64_t bucket = (uint64_t)((index_product)(uint64_t)node * geometry->buckets_per_node >> 64);
    bucket += (key & ((1ull << geometry->cluster_bits) - 1)) / LAYOUT_BUCKET_ENTRIES;
    if (bucket >= geometry->buckets_per_node) bucket -= geometry->buckets_per_node;
    uint32_t n = (uint32_t)(node >> 64);
    return fabric_addr_of(n, geometry->base[n] + bucket * LAYOUT_LINE);
}
/* 16 bits, never 0: low bits of the hash, which hardly matter to the choice of the bucket. */
static inline uint16_t index_fingerprint(uint64_t key)
{
    uint16_t fingerprint = (uint16_t)index_hash(key);
    return fingerprint ? fingerprint : 1;
}

/* Buckets of a chain: where it would grow longer, the table is full, being far beyond its records_max. */
#define INDEX_CHAIN_MAX 64

#define INDEX_ENTRY_LINK 1ull
#define INDEX_OFFSET_BITS 48
#define INDEX_OFFSET_MASK ((1ull << INDEX_OFFSET_BITS) - 1)

/*
 * Finds the next entry at or after *at with this fingerprint: true, its offset, and *at after it. Links never match.
 */
static inline bool index_find(const struct bucket_wire *bucket, uint16_t fingerprint, uint32_t *at, uint64_t *offset)
{
    for (uint32_t i = *at; i < LAYOUT_BUCKET_ENTRIES; i++) {
        if (bucket->entries[i] >> INDEX_OFFSET_BITS != fingerprint) continue;
        *offset = bucket->entries[i] & INDEX_OFFSET_MASK;
        *at = i + 1;
        return true;
    }
    *at = LAYOUT_BUCKET_ENTRIES;
    return false;
}
/* The offset of the chain's next bucket, or 0. */
static inline uint64_t index_next(const struct bucket_wire *bucket)
{
    uint64_t last = bucket->entries[LAYOUT_BUCKET_ENTRIES - 1];
    return last & INDEX_ENTRY_LINK ? last & INDEX_OFFSET_MASK & ~INDEX_ENTRY_LINK : 0;
}
/* Puts an entry in a free place; false when there is none. */
bool index_put(struct bucket_wire *bucket, uint16_t fingerprint, uint64_t offset);
/* Empties the entry of that offset; false when there is none. */
bool index_remove(struct bucket_wire *bucket, uint16_t fingerprint, uint64_t offset);
/* Links a full bucket to an empty one: its last entry moves to *next, its place takes the link. */
void index_link(struct bucket_wire *bucket, struct bucket_wire *next, uint64_t next_offset);
/*
 * Are all entries plausible: offsets aligned, in [LAYOUT_HEAP_OFFSET, area_bytes) with a line to spare, a link in the
 * last place only? For untrusted bytes.
 */
bool index_bucket_sane(const struct bucket_wire *bucket, uint64_t area_bytes);
