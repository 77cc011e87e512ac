/* index.c - changes to bucket images, and the size of an index. */
#include "index.h"

#include "must.h"

#define LAST (LAYOUT_BUCKET_ENTRIES - 1)

uint64_t index_buckets_for(uint64_t records_max, uint32_t mn_count, uint32_t cluster_bits)
{
    /* A cluster fills buckets whole, so that two of them in one place overflow at once: leave more room. */
    uint64_t per_bucket = cluster_bits ? LAYOUT_BUCKET_ENTRIES / 2 : LAYOUT_BUCKET_ENTRIES * 2 / 3;
    uint64_t buckets = records_max / mn_count / per_bucket + 1;
    uint64_t cluster = (1ull << cluster_bits) / LAYOUT_BUCKET_ENTRIES + 1;
    return buckets > cluster ? buckets : cluster;
}

bool index_put(struct bucket_wire *bucket, uint16_t fingerprint, uint64_t offset)
{
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++) {
        if (bucket->entries[i]) continue;
        bucket->entries[i] = (uint64_t)fingerprint << INDEX_OFFSET_BITS | offset;
        return true;
    }
    return false;
}

bool index_remove(struct bucket_wire *bucket, uint16_t fingerprint, uint64_t offset)
{
    uint64_t entry = (uint64_t)fingerprint << INDEX_OFFSET_BITS | offset;
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++) {
        if (bucket->entries[i] != entry) continue;
        bucket->entries[i] = 0;
        return true;
    }
    return false;
}

void index_link(struct bucket_wire *bucket, struct bucket_wire *next, uint64_t next_offset)
{
    must(bucket->entries[LAST] != 0 && !(bucket->entries[LAST] & INDEX_ENTRY_LINK));
    must(next_offset % LAYOUT_LINE == 0 && next_offset <= INDEX_OFFSET_MASK);
    must(next->entries[0] == 0);
    next->entries[0] = bucket->entries[LAST];
    bucket->entries[LAST] = next_offset | INDEX_ENTRY_LINK;
}

bool index_bucket_sane(const struct bucket_wire *bucket, uint64_t area_bytes)
{
    for (uint32_t i = 0; i < LAYOUT_BUCKET_ENTRIES; i++) {
        uint64_t entry = bucket->entries[i], offset = entry & INDEX_OFFSET_MASK;
        if (entry == 0) continue;
        bool link = i == LAST && (entry & INDEX_ENTRY_LINK);
        if (link) offset &= ~INDEX_ENTRY_LINK;
        /* An entry has a fingerprint; a link has none. */
        if ((entry >> INDEX_OFFSET_BITS == 0) != link) return false;
        if (offset % LAYOUT_LINE || offset < LAYOUT_HEAP_OFFSET) return false;
        if (area_bytes < LAYOUT_LINE || offset > area_bytes - LAYOUT_LINE) return false;
    }
    return true;
}
