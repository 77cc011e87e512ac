/*
 * loader.h - whole-table work at rest, through the fabric's bulk mode: loading rows without transactions, scanning,
 * measuring, auditing. Loads of several workers may run side by side (buckets are locked by their tags); nothing else
 * may.
 */
#pragma once

#include "space.h"

/* Buffers of one worker's loader: fabric-registered memory. */
struct loader;

NODISCARD int loader_open(struct fabric_ep *ep, const struct catalog *catalog, struct space *space, uint32_t cn,
                          struct loader **out);
void loader_free(struct loader *loader);

/* As cellar_lab_load. Record TS starts at 1, EN at 1. All replicas are written. */
NODISCARD int loader_load(struct coro *co, struct loader *loader, const struct table *table, uint64_t key,
                          const void *row, struct cellar_error *error);
/* As db_scan: every live record of the table's chunks. CORRUPT when a record fails its checks. */
NODISCARD int loader_scan(struct coro *co, struct loader *loader, const struct table *table, cellar_lab_row_fn fn,
                          void *arg, struct cellar_error *error);
/* The record of that number, into a row of the schema's: 1; 0: there is none. CORRUPT. Also from within loader_scan. */
NODISCARD int loader_find(struct coro *co, struct loader *loader, const struct table *table, uint64_t key, void *row,
                          struct cellar_error *error);
/* Room for a row of any schema, up to the next call of this loader; loader_load may be given it. */
uint8_t *loader_row(struct loader *loader);
NODISCARD int loader_space(struct coro *co, struct loader *loader, const struct table *table,
                           struct cellar_lab_space *space, struct cellar_error *error);
/*
 * Calls fn for each slot of all tables that was ever used, live or not, as the primary replica has it: nothing about
 * its bytes is checked. A negative value from fn ends it.
 */
typedef int (*loader_slot_fn)(void *arg, const struct table *table, struct fabric_addr addr, const uint8_t *image);
NODISCARD int loader_slots(struct coro *co, struct loader *loader, loader_slot_fn fn, void *arg,
                           struct cellar_error *error);
/* As db_audit: INV-STORE-n of docs/storage.md; the first violation names table, key, address. */
NODISCARD int loader_audit(struct coro *co, struct loader *loader, struct cellar_error *error);
/* Fixed regions and chunks in use of node 0..mns-1, summed. */
NODISCARD int loader_pool_space(struct coro *co, struct loader *loader, struct cellar_lab_pool_space *space);
