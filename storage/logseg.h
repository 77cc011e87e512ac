/*
 * logseg.h - the redo log: building one self-certifying entry, and reading entries back from untrusted bytes.
 * An entry is built in local memory and written whole by one WRITE to each replica of the coordinator's ring segment.
 */
#pragma once

#include "err.h"
#include "fabric.h"
#include "layout.h"

#include <stdbool.h>

/*
 * Where a coordinator's next entry goes. Entries start on lines and lie within one half of the ring, so that an entry
 * never overlaps the one before it, whatever their sizes.
 */
struct logseg {
    struct fabric_addr addr; /* first byte of the ring */
    uint64_t bytes;          /* of the ring; an entry takes at most half, rounded down to lines */
    uint64_t tail;           /* offset of the next entry */
    uint64_t last_start; /* offset and size of the last entry: its space is not reused before the next one is durable */
    uint64_t last_bytes;
    uint32_t cn, coordinator;
    uint64_t incarnation, sequence;
    uint64_t epoch; /* of the next entry; 0: it has none */
    /* for the entries that are too long for the ring, one at a time; bytes 0: there is none */
    struct fabric_addr extent;
    uint64_t extent_bytes;
};

void logseg_init(struct logseg *seg, struct fabric_addr addr, uint64_t bytes, uint32_t cn, uint32_t coordinator,
                 uint64_t incarnation);

/* Where the second half of a ring of so many bytes begins: an entry stays within one half. */
uint64_t logseg_half(uint64_t bytes);

/* One entry under construction; buffer (8-aligned, `capacity` bytes) is the caller's. */
struct logseg_entry {
    uint8_t *buffer;
    uint32_t bytes, capacity;
    uint32_t dep_count, write_count;
};
void logseg_entry_begin(struct logseg_entry *entry, uint8_t *buffer, uint32_t capacity);
/* Adds a transaction that this one rests on; before the first change. False when it does not fit. */
NODISCARD bool logseg_entry_depend(struct logseg_entry *entry, const struct log_dep_wire *dep);
/*
 * Adds a change and returns where its value (value_bytes, then zero padding to 8, set here) goes; NULL when it does not
 * fit.
 */
uint8_t *logseg_entry_add(struct logseg_entry *entry, enum layout_log_kind kind, struct fabric_addr addr, uint64_t key,
                          uint32_t table_id, uint32_t cell, uint32_t value_bytes);
/*
 * Numbers, stamps and checksums the entry; *at: where it is to be written. 0: in the ring; 1: it exceeds half of that,
 * and goes to the extent, whose last entry must not be needed any more (INV-LARGE-2); TOO_LARGE: it exceeds that, too.
 */
NODISCARD int logseg_entry_finish(struct logseg *seg, struct logseg_entry *entry, uint64_t ts, uint64_t watermark,
                                  struct fabric_addr *at);

/*
 * Where entries of up to `bytes` may come to lie next: [first, first_end) and, when that is too short, [other,
 * other_end).
 */
struct logseg_room {
    uint64_t first, first_end, other, other_end;
};
struct logseg_room logseg_room_of(const struct logseg *seg, uint64_t bytes);

/* Bytes of the half in use that entries have taken. */
static inline uint64_t logseg_used(const struct logseg *seg)
{
    uint64_t half = seg->bytes / 2 / LAYOUT_LINE * LAYOUT_LINE;
    return seg->tail < half ? seg->tail : seg->tail - half;
}
/* The next entry goes to the beginning of the other half: nothing there is needed any more. */
static inline void logseg_turn(struct logseg *seg)
{
    uint64_t half = seg->bytes / 2 / LAYOUT_LINE * LAYOUT_LINE;
    seg->tail = seg->tail < half ? half : 0;
}

/* Bytes that a change takes in an entry. */
static inline uint32_t logseg_write_bytes(uint32_t value_bytes)
{
    return (uint32_t)sizeof(struct log_write_wire) + ((value_bytes + 7) & ~7u);
}

/*
 * Does a whole valid entry start at bytes[0] (8-aligned)? Returns it, or NULL; every length is checked, and the
 * checksum.
 */
const struct log_entry_wire *logseg_parse(const uint8_t *bytes, uint64_t available);
/* The changes of a valid entry, one after the other: start with NULL; NULL at the end. */
const struct log_write_wire *logseg_next_write(const struct log_entry_wire *entry, const struct log_write_wire *after);
