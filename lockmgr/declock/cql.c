/* cql.c - see cql.h. */
#include "cql.h"

#include "declock_plants.h"
#include "must.h"

#include <stddef.h>

#define GENERATION_SHIFT 8
#define WRITERS_SHIFT 16
#define VERSION_BITS_MAX 16
#define VERSION_BITS_MIN 4
#define CLIENT_SHIFT 16
#define STAMP_SHIFT 40
#define EXCLUSIVE_SHIFT 56

static uint32_t bits_of(uint64_t value)
{
    uint32_t bits = 0;
    while (value >> bits) bits++;
    return bits;
}

bool cql_shape(struct cql *cql, uint32_t capacity, uint32_t participants, uint32_t version_bits)
{
    uint32_t bits = bits_of(2ull * participants);
    if (WRITERS_SHIFT + 2 * bits + bits_of(capacity) + VERSION_BITS_MIN > 64) return false;
    uint32_t room = 64 - WRITERS_SHIFT - 2 * bits - bits_of(capacity);
    if (room > VERSION_BITS_MAX) room = VERSION_BITS_MAX;
    if (version_bits == 0 || version_bits > room) version_bits = room;
    /* So many may still enter between the first that must reset the lock and the instant at which it does. */
    uint32_t late = 1 + (2 * participants + capacity - 1) / capacity, versions = 1u << version_bits;
    *cql = (struct cql){.capacity = capacity, .bits = bits, .version_bits = version_bits};
    if (version_bits < VERSION_BITS_MIN || versions < late + 4) return false;
    cql->version_last = versions - 2 - late;
    return true;
}

static uint32_t size_shift(const struct cql *cql) { return WRITERS_SHIFT + cql->bits; }
static uint32_t head_shift(const struct cql *cql) { return WRITERS_SHIFT + 2 * cql->bits; }

struct cql_header cql_header_of(const struct cql *cql, uint64_t word)
{
    uint32_t mask = (1u << cql->bits) - 1;
    return (struct cql_header){.head = word >> head_shift(cql),
                               .size = (uint32_t)(word >> size_shift(cql)) & mask,
                               .writers = (uint32_t)(word >> WRITERS_SHIFT) & mask,
                               .generation = (uint8_t)(word >> GENERATION_SHIFT),
                               .resetter = (uint8_t)word};
}

uint64_t cql_free_word(uint8_t generation) { return (uint64_t)generation << GENERATION_SHIFT; }

static uint64_t writer_of(enum lockmgr_mode mode) { return (uint64_t)(mode == LOCKMGR_EXCLUSIVE) << WRITERS_SHIFT; }

uint64_t cql_enter_addend(const struct cql *cql, enum lockmgr_mode mode)
{
    return (1ull << size_shift(cql)) + writer_of(mode);
}

uint64_t cql_leave_addend(const struct cql *cql, enum lockmgr_mode mode)
{
    return (1ull << head_shift(cql)) - (1ull << size_shift(cql)) - writer_of(mode);
}

uint32_t cql_version(const struct cql *cql, uint64_t index)
{
    return (uint32_t)(index / cql->capacity + 1) & ((1u << cql->version_bits) - 1);
}

uint64_t cql_entry_word(const struct cql_entry *entry)
{
    return (uint64_t)entry->version | (uint64_t)entry->client << CLIENT_SHIFT | (uint64_t)entry->stamp << STAMP_SHIFT |
           (uint64_t)entry->exclusive << EXCLUSIVE_SHIFT;
}

struct cql_entry cql_entry_of(uint64_t word)
{
    return (struct cql_entry){.version = (uint16_t)word,
                              .client = (uint32_t)(word >> CLIENT_SHIFT) & (CQL_CLIENTS_MAX - 1),
                              .stamp = (uint16_t)(word >> STAMP_SHIFT),
                              .exclusive = word >> EXCLUSIVE_SHIFT & 1};
}

enum cql_entered cql_entered(const struct cql *cql, uint64_t word, enum lockmgr_mode mode, struct cql_ticket *ticket)
{
    struct cql_header header = cql_header_of(cql, word);
    if (header.resetter && !PLANT(cql_enter_in_reset)) return CQL_RESETTING;
    *ticket = (struct cql_ticket){.index = header.head + header.size, .generation = header.generation};
    if (header.size >= cql->capacity && !PLANT(cql_overflow_unseen)) return CQL_EXHAUSTED;
    if (ticket->index / cql->capacity + 1 > cql->version_last) return CQL_EXHAUSTED;
    bool granted = header.size == 0 || (mode == LOCKMGR_SHARED && header.writers == 0);
    return granted ? CQL_GRANTED : CQL_WAITS;
}

/* ---- after a release ---- */

enum entry_is { MISSING, VALID, LATER };

static enum entry_is look_up(const struct cql *cql, const uint64_t *entries, uint64_t index, struct cql_entry *entry)
{
    *entry = cql_entry_of(entries[cql_slot(cql, index)]);
    uint32_t version = cql_version(cql, index);
    if (PLANT(cql_version_unchecked)) return entry->version ? VALID : MISSING;
    return entry->version == version ? VALID : entry->version < version ? MISSING : LATER;
}

/*
 * Readers that stand together at the head, or one writer: after a writer that left, each of them waits and will write
 * its entry.
 */
static struct cql_successors behind_writer(const struct cql *cql, struct cql_successors next, uint32_t waiting,
                                           const uint64_t *entries)
{
    struct cql_entry entry;
    for (next.count = 0; next.count < waiting; next.count++) {
        enum entry_is is = look_up(cql, entries, next.first + next.count, &entry);
        if (is == MISSING && PLANT(cql_refetch_missing)) break;
        if (is != VALID) {
            next.next = is == MISSING ? CQL_REFETCH : CQL_LOST;
            return next;
        }
        if (entry.exclusive && next.count > 0) break;
        if (entry.exclusive || PLANT(cql_one_reader)) {
            next.count++;
            break;
        }
    }
    next.next = next.count ? CQL_NOTIFY : CQL_NONE;
    return next;
}

/*
 * A reader that leaves is the last one if a writer stands at the head. What is missing there is a reader that never
 * waited, or a writer whose entry is on its way: known once all writers have shown themselves.
 */
static struct cql_successors behind_reader(const struct cql *cql, struct cql_successors next, uint32_t waiting,
                                           uint32_t writers, const uint64_t *entries)
{
    struct cql_entry entry;
    if (writers == 0) return next;
    if (look_up(cql, entries, next.first, &entry) == VALID) {
        next.next = entry.exclusive ? CQL_NOTIFY : CQL_NONE;
        next.count = 1;
        return next;
    }
    if (PLANT(cql_refetch_missing)) return next;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < waiting; i++) {
        enum entry_is is = look_up(cql, entries, next.first + i, &entry);
        if (is == LATER) return next; /* the queue has moved on: another release has notified them */
        seen += is == VALID && entry.exclusive;
    }
    if (seen < writers) next.next = CQL_REFETCH;
    return next;
}

static void stamp_rest(const struct cql *cql, struct cql_successors *next, uint32_t waiting, const uint64_t *entries)
{
    for (uint32_t i = next->count; i < waiting; i++) {
        struct cql_entry entry;
        if (look_up(cql, entries, next->first + i, &entry) != VALID) continue;
        if (!next->stamped || cql_stamp_before(entry.stamp, next->stamp)) next->stamp = entry.stamp;
        next->stamped = true;
    }
}

struct cql_successors cql_successors(const struct cql *cql, uint64_t word, enum lockmgr_mode mode,
                                     const uint64_t *entries)
{
    struct cql_header header = cql_header_of(cql, word);
    struct cql_successors next = {.next = CQL_NONE, .first = header.head + 1};
    if (header.size <= 1) return next;
    uint32_t waiting = header.size - 1 < cql->capacity ? header.size - 1 : cql->capacity;
    next = mode == LOCKMGR_EXCLUSIVE ? behind_writer(cql, next, waiting, entries)
                                     : behind_reader(cql, next, waiting, header.writers, entries);
    if (next.next == CQL_NOTIFY) stamp_rest(cql, &next, waiting, entries);
    return next;
}

bool cql_earliest(const struct cql *cql, const uint64_t *words, enum lockmgr_mode mode, uint16_t *stamp)
{
    struct cql_header header = cql_header_of(cql, words[0]);
    const uint64_t *entries = words + CQL_ENTRIES_WORD;
    uint32_t count = header.size < cql->capacity ? header.size : cql->capacity, from = 1;
    struct cql_entry entry;
    if (mode == LOCKMGR_SHARED) /* the holders stand before the first writer, whether they have waited or not */
        for (from = 0; from < count; from++)
            if (look_up(cql, entries, header.head + from, &entry) == VALID && entry.exclusive) break;
    bool any = false;
    for (uint32_t i = from; i < count; i++) {
        if (look_up(cql, entries, header.head + i, &entry) != VALID) continue;
        if (!any || cql_stamp_before(entry.stamp, *stamp)) *stamp = entry.stamp;
        any = true;
    }
    return any;
}
