/* loader_internal.h - what loader.c (loading, scanning, measuring) and loader_audit.c share. */
#pragma once

#include "batch.h"
#include "heap.h"
#include "loader.h"
#include "record.h"

#define LOADER_CHAIN_MAX INDEX_CHAIN_MAX          /* a longer chain would be a loop */
#define LOADER_OPS_MAX (LAYOUT_NODES_MAX * 4 + 2) /* of a load: per replica, and on the lock words */

/* Fabric-registered. */
struct loader_memory {
    struct heap_memory heap;
    struct bucket_wire chain[LOADER_CHAIN_MAX] __attribute__((aligned(LAYOUT_LINE)));
    struct record_wire headers[LAYOUT_BUCKET_ENTRIES];
    uint8_t image[LAYOUT_RECORD_BYTES_MAX];
    uint8_t other[HEAP_BUFFER_BYTES]; /* a slot that was used before; the audit: bytes of a replica, or buckets */
};

struct loader {
    struct fabric_ep *ep;
    const struct catalog *catalog;
    struct space *space;
    uint32_t cn, chain_count;
    struct loader_memory *memory;
    struct fabric_op ops[LOADER_OPS_MAX];
    uint8_t row[SCHEMA_ROW_BYTES_MAX] __attribute__((aligned(LAYOUT_LINE)));
};

/* memory->chain[0] is the head, at `head`: reads the other buckets of its chain. FULL or CORRUPT with *error. */
NODISCARD int loader_chain_read(struct coro *co, struct loader *loader, const struct table *table,
                                struct fabric_addr head, struct cellar_error *error);
/* Checks the image of a slot of that table at rest: 1 a live record, 0 a free slot, negative CORRUPT with *error. */
NODISCARD int loader_record_check(const struct table *table, struct fabric_addr addr, const uint8_t *image,
                                  struct cellar_error *error);
