#include "logring.h"

#include "crest_plants.h"
#include "must.h"
#include "txn_plants.h"

static struct logring_entry *at(const struct logring *ring, uint64_t sequence)
{
    return (struct logring_entry *)&ring->entries[sequence % LOGRING_ENTRIES];
}

uint64_t logring_reclaim(struct logring *ring)
{
    for (uint64_t sequence = ring->first; sequence < ring->end && PLANT(crest_watermark_gap); sequence++)
        if (atomic_load(&at(ring, sequence)->entry.versions) == 0) ring->first = sequence;
    while (ring->first < ring->end &&
           atomic_load_explicit(&at(ring, ring->first)->entry.versions, memory_order_acquire) == 0)
        ring->first++;
    return ring->first - 1;
}

static bool overlap(const struct logring_entry *entry, uint64_t start, uint64_t end)
{
    return entry->start < end && start < entry->start + entry->bytes;
}

bool logring_fits(struct logring *ring, const struct logseg *seg, uint64_t bytes)
{
    struct logseg_room room = logseg_room_of(seg, bytes);
    uint64_t half = logseg_half(seg->bytes), clear_end = seg->tail < half ? half : 2 * half;

    if (ring->end - ring->released > LOGRING_ENTRIES - 1) return false;
    if (bytes > half && ring->released + 1 != ring->end) return PLANT(large_unmarked);
    for (uint64_t sequence = ring->released + 1; sequence < ring->end; sequence++) {
        const struct logring_entry *entry = at(ring, sequence);
        if (overlap(entry, room.first, room.first_end) || overlap(entry, room.other, room.other_end)) return false;
        if (entry->start >= seg->tail && entry->start < clear_end) clear_end = entry->start;
    }
    ring->clear_end = clear_end;
    return true;
}

struct local_entry *logring_next(struct logring *ring, uint64_t sequence)
{
    must(sequence == ring->end);
    must(atomic_load_explicit(&at(ring, sequence)->entry.versions, memory_order_relaxed) == 0);
    return &at(ring, sequence)->entry;
}

void logring_placed(struct logring *ring, const struct logseg *seg)
{
    must(seg->sequence == ring->end);
    at(ring, seg->sequence)->start = seg->last_start;
    at(ring, seg->sequence)->bytes = seg->last_bytes;
    ring->end++;
    if (seg->last_start == 0) ring->clear_end = 0; /* from the end to the beginning */
}
