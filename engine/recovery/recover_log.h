/*
 * recover_log.h - what a dead compute node's log holds, and which of it counts (docs/recovery.md). Pure: bytes in,
 * decisions out.
 *
 * INV-RECOVER-2: an entry counts if it is whole, of that node and incarnation, and each of its log-deps counts too or
 * is at or below its coordinator's watermark. It is due if it counts and is above its own coordinator's.
 */
#pragma once

#include "logseg.h"

struct recover_entry {
    const struct log_entry_wire *wire; /* in the caller's copy of a ring */
    struct fabric_addr at;             /* of its first byte, in the primary */
    uint64_t replicas;                 /* that have it: a bit each */
    bool counts, due;
};

struct recover_log {
    uint32_t cn;
    uint64_t incarnation;
    struct recover_entry *entries; /* once decided: one each, by coordinator and sequence */
    uint32_t count, capacity;
    uint64_t *marks; /* by coordinator: the watermark in its segment's header, 0 without one */
    uint32_t mark_count;
    uint32_t whole; /* entries met, those of other incarnations too */
    uint32_t alien; /* of these, such as this node cannot have written there */
};

void recover_log_init(struct recover_log *log, uint32_t cn, uint64_t incarnation);
void recover_log_free(struct recover_log *log);
/*
 * Takes what one replica has of a ring: `bytes` from `ring` (8-aligned; kept as long as the log), which begins at
 * `addr` in the primary. What is no whole entry of this node, incarnation and coordinator is passed over. NOMEM.
 */
NODISCARD int recover_log_add(struct recover_log *log, const uint8_t *ring, uint64_t bytes, struct fabric_addr addr,
                              uint32_t coordinator, uint32_t replica);
/* That coordinator's segment says so in its header (where space was short). NOMEM. */
NODISCARD int recover_log_mark(struct recover_log *log, uint32_t coordinator, uint64_t watermark);
/* All replicas were taken: sorts, joins what is the same, decides. CORRUPT when two entries of one name differ. */
NODISCARD int recover_log_decide(struct recover_log *log, struct cellar_error *error);
/* The entry of that name, or NULL; once decided. */
const struct recover_entry *recover_log_find(const struct recover_log *log, uint32_t coordinator, uint64_t sequence);
/* All entries of the coordinator up to this sequence have had their effect everywhere, or never will. */
uint64_t recover_log_watermark(const struct recover_log *log, uint32_t coordinator);
