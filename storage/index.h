/*
 * index.h - the hash index of a table: one-line buckets in chains (layout.h). Pure functions on bucket images and the
 * arithmetic from key to bucket; who reads and locks buckets is the engine's (or the loader's) affair.
 *
 * Keys that differ only in the low cluster_bits go to neighbouring buckets, so that rows inserted together meet few buckets.
 * A record lies on the node of its bucket. An entry is a hint: only the record itself tells whose key it holds, but an absent
 * entry in a chain whose head's tag and version stand still proves absence.
 */
#pragma once

#include "fabric.h"
#include "layout.h"

struct index_geometry {
    uint64_t buckets_per_node;
    uint32_t mn_count, cluster_bits;
    uint64_t base[LAYOUT_NODES_MAX]; /* offset of bucket 0 on each node */
};

/* Buckets per node for so many records: about two thirds full. */
uint64_t index_buckets_for(uint64_t records_max, uint32_t mn_count);
uint64_t index_hash(uint64_t key); /* a strong 64-bit mix */
struct fabric_addr index_bucket_addr(const struct index_geometry *geometry, uint64_t key);
/* 16 bits, never 0. */
uint16_t index_fingerprint(uint64_t key);

#define INDEX_ENTRY_LINK 1ull

/* Finds the next entry at or after *at with this fingerprint: true, its offset, and *at behind it. Links never match. */
bool index_find(const struct bucket_wire *bucket, uint16_t fingerprint, uint32_t *at, uint64_t *offset);
/* The offset of the chain's next bucket, or 0. */
uint64_t index_next(const struct bucket_wire *bucket);
/* Puts an entry in a free place; false when there is none. */
bool index_put(struct bucket_wire *bucket, uint16_t fingerprint, uint64_t offset);
/* Empties the entry of that offset; false when there is none. */
bool index_remove(struct bucket_wire *bucket, uint16_t fingerprint, uint64_t offset);
/* Links a full bucket to an empty one: its last entry moves to *next, its place takes the link. */
void index_link(struct bucket_wire *bucket, struct bucket_wire *next, uint64_t next_offset);
/* Are all entries plausible: offsets aligned and below area_bytes, at most one link and in the last place? For untrusted bytes. */
bool index_bucket_sane(const struct bucket_wire *bucket, uint64_t area_bytes);
