/* logseg.c - building redo-log entries, placing them in their ring, and believing none that is not whole. */
#include "logseg.h"

#include "must.h"
#include "storage_plants.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define SHORT_BYTES 512 /* of an entry that is summed at one go */

static uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

void logseg_init(struct logseg *seg, struct fabric_addr addr, uint64_t bytes, uint32_t cn, uint32_t coordinator,
                 uint64_t incarnation)
{
    *seg =
        (struct logseg){.addr = addr, .bytes = bytes, .cn = cn, .coordinator = coordinator, .incarnation = incarnation};
}

void logseg_entry_begin(struct logseg_entry *entry, uint8_t *buffer, uint32_t capacity)
{
    must(capacity >= sizeof(struct log_entry_wire));
    *entry = (struct logseg_entry){.buffer = buffer, .bytes = sizeof(struct log_entry_wire), .capacity = capacity};
}

bool logseg_entry_depend(struct logseg_entry *entry, const struct log_dep_wire *dep)
{
    must(entry->write_count == 0);
    if (entry->capacity - entry->bytes < sizeof *dep) return false;
    memcpy(entry->buffer + entry->bytes, dep, sizeof *dep);
    entry->bytes += (uint32_t)sizeof *dep;
    entry->dep_count++;
    return true;
}

uint8_t *logseg_entry_add(struct logseg_entry *entry, enum layout_log_kind kind, struct fabric_addr addr, uint64_t key,
                          uint32_t table_id, uint32_t cell, uint32_t value_bytes)
{
    uint32_t left = entry->capacity - entry->bytes;
    if (value_bytes > left || logseg_write_bytes(value_bytes) > left) return NULL;
    uint8_t *at = entry->buffer + entry->bytes;
    *(struct log_write_wire *)(void *)at = (struct log_write_wire){.addr = addr.bits,
                                                                   .key = key,
                                                                   .table_id = table_id,
                                                                   .kind = (uint16_t)kind,
                                                                   .cell = (uint16_t)cell,
                                                                   .value_bytes = value_bytes};
    entry->bytes += logseg_write_bytes(value_bytes);
    entry->write_count++;
    if (value_bytes % 8) memset(entry->buffer + entry->bytes - 8, 0, 8);
    return at + sizeof(struct log_write_wire);
}

uint64_t logseg_half(uint64_t bytes) { return bytes / 2 / LAYOUT_LINE * LAYOUT_LINE; }

/*
 * An entry stays within one half of the ring: after the last one if it fits there, else at the start of the other
 * half. As the last entry lies in one half, the other one always has room, and the two never overlap.
 */
static uint64_t place(const struct logseg *seg, uint64_t half, uint64_t bytes)
{
    if (seg->tail + bytes <= half) return seg->tail;
    if (seg->tail < half) return half;
    return seg->tail + bytes <= 2 * half || (PLANT(log_past_end) && seg->tail < 2 * half) ? seg->tail : 0;
}

struct logseg_room logseg_room_of(const struct logseg *seg, uint64_t bytes)
{
    uint64_t half = seg->bytes / 2 / LAYOUT_LINE * LAYOUT_LINE, tail = seg->tail;
    if (tail >= 2 * half) return (struct logseg_room){0, bytes, 0, 0};
    uint64_t end = tail < half ? half : 2 * half, other = tail < half ? half : 0;
    bool fits = tail + bytes <= end;
    return (struct logseg_room){tail, fits ? tail + bytes : end, fits ? 0 : other, fits ? 0 : other + bytes};
}

static inline __attribute__((always_inline)) void stamp(struct logseg *seg, struct logseg_entry *entry, uint64_t ts,
                                                        uint64_t watermark)
{
    seg->sequence++;
    struct log_entry_wire *wire = (struct log_entry_wire *)(void *)entry->buffer;
    *wire = (struct log_entry_wire){.magic = LAYOUT_LOG_MAGIC,
                                    .bytes = entry->bytes,
                                    .cn = (uint16_t)seg->cn,
                                    .coordinator = (uint16_t)seg->coordinator,
                                    .incarnation = (uint32_t)seg->incarnation,
                                    .epoch = seg->epoch,
                                    .sequence = seg->sequence,
                                    .ts = ts,
                                    .watermark = watermark,
                                    .dep_count = entry->dep_count,
                                    .write_count = entry->write_count};
    wire->checksum = XXH3_64bits(entry->buffer, entry->bytes);
}

/* The ring is free then: a mark says that all before it have ended. */
static __attribute__((cold, noinline)) int finish_outside(struct logseg *seg, struct logseg_entry *entry, uint64_t ts,
                                                          uint64_t watermark, struct fabric_addr *at)
{
    if (entry->bytes > seg->extent_bytes) return CELLAR_TOO_LARGE;
    stamp(seg, entry, ts, watermark);
    seg->last_start = UINT64_MAX; /* nowhere in the ring */
    seg->last_bytes = 0;
    *at = seg->extent;
    return 1;
}

int logseg_entry_finish(struct logseg *seg, struct logseg_entry *entry, uint64_t ts, uint64_t watermark,
                        struct fabric_addr *at)
{
    uint64_t half = logseg_half(seg->bytes);
    if (entry->bytes > half) return finish_outside(seg, entry, ts, watermark, at);
    uint64_t start = place(seg, half, entry->bytes);
    must(seg->last_bytes == 0 || start >= seg->last_start + seg->last_bytes || start + entry->bytes <= seg->last_start);
    stamp(seg, entry, ts, watermark);
    seg->last_start = start;
    seg->last_bytes = entry->bytes;
    /* Entries start on lines: a reader of the ring looks for them there. */
    seg->tail = round_up(start + entry->bytes, LAYOUT_LINE);
    *at = fabric_addr_plus(seg->addr, start);
    return 0;
}

/* Do the changes of an entry, whose header is plausible, fill it exactly? */
static bool writes_fit(const struct log_entry_wire *entry)
{
    const uint8_t *at = (const uint8_t *)(entry + 1) + (uint64_t)entry->dep_count * sizeof(struct log_dep_wire);
    uint64_t left = entry->bytes - sizeof(*entry) - (uint64_t)entry->dep_count * sizeof(struct log_dep_wire);
    for (uint32_t i = 0; i < entry->write_count; i++) {
        const struct log_write_wire *write = (const struct log_write_wire *)(const void *)at;
        if (left < sizeof(*write) || write->kind < LAYOUT_LOG_CELL || write->kind > LAYOUT_LOG_UNDO_BUCKET)
            return false;
        uint64_t bytes = sizeof(*write) + round_up(write->value_bytes, 8);
        if (bytes > left) return false;
        at += bytes;
        left -= bytes;
    }
    return left == 0;
}

static bool checksum_holds(const struct log_entry_wire *entry)
{
    if (entry->bytes <= SHORT_BYTES) { /* a copy takes less time than a sum in parts */
        union {
            struct log_entry_wire header;
            uint8_t bytes[SHORT_BYTES];
        } copy;
        memcpy(copy.bytes, entry, entry->bytes);
        copy.header.checksum = 0;
        return XXH3_64bits(copy.bytes, entry->bytes) == entry->checksum;
    }
    struct log_entry_wire header = *entry;
    header.checksum = 0;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &header, sizeof(header));
    XXH3_64bits_update(&state, entry + 1, entry->bytes - sizeof(header));
    return XXH3_64bits_digest(&state) == entry->checksum;
}

const struct log_entry_wire *logseg_parse(const uint8_t *bytes, uint64_t available)
{
    const struct log_entry_wire *entry = (const struct log_entry_wire *)(const void *)bytes;
    if (available < sizeof(*entry) || entry->magic != LAYOUT_LOG_MAGIC) return NULL;
    if (entry->bytes < sizeof(*entry) || entry->bytes % 8 || entry->bytes > available) return NULL;
    if (entry->dep_count > (entry->bytes - sizeof(*entry)) / sizeof(struct log_dep_wire)) return NULL;
    return (checksum_holds(entry) || PLANT(log_checksum_ignored)) && writes_fit(entry) ? entry : NULL;
}

const struct log_write_wire *logseg_next_write(const struct log_entry_wire *entry, const struct log_write_wire *after)
{
    const uint8_t *end = (const uint8_t *)entry + entry->bytes;
    const uint8_t *next = after
                              ? (const uint8_t *)after + logseg_write_bytes(after->value_bytes)
                              : (const uint8_t *)(entry + 1) + (uint64_t)entry->dep_count * sizeof(struct log_dep_wire);
    return next < end ? (const struct log_write_wire *)(const void *)next : NULL;
}
