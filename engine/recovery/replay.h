/*
 * replay.h - what the logs of memory nodes say, done again in memory that no transaction uses: pages as they come,
 * redo entries in the order of their TS, whatever tags there are (docs/durability.md, "Recovery"). In order, since the
 * INSERT of a slot comes before the CELLs of its record, and overflow buckets carry no version.
 */
#pragma once

#include "catalog.h"
#include "logseg.h"

#define REPLAY_PAGE_MAGIC 0x45474150u /* "PAGE" read as a little-endian word: no entry begins so */

/* Bytes of the pool that no redo entry names: a run's header, a table's entry in the catalog. The bytes follow. */
struct replay_page {
    uint32_t magic, bytes;
    uint64_t offset;
    uint64_t loads; /* loads that were over in this life when they were read (INV-DURABLE-26) */
};

/* Of the pool whose pages these are. */
struct replay_shape {
    uint32_t nodes, replicas;
    uint64_t mn_bytes, area_bytes; /* of a memory node, and of each area on it */
    int32_t filled;                /* the memory node that gets its bytes from copies; -1: none */
};

/*
 * Where bytes of that memory node are needed on the one that is filled, which gets each of its bytes from one copy: its
 * own from the first backup, what it backs up from the primaries. False: nowhere.
 */
bool replay_fills(const struct replay_shape *shape, uint32_t node, uint64_t offset, struct fabric_addr *at);

struct replay {
    struct replay_item {
        uint8_t *bytes;
        uint32_t count;
        uint32_t node; /* on which it was logged; a page is of that one's memory */
        bool page;
        uint64_t epoch, ts;
    } * items;
    uint64_t count, capacity;
    bool copies; /* several memory nodes log each entry: one copy is kept, which these places lead to, 1 + its item */
    uint64_t *places, place_count;
    uint64_t incarnation_last, ts_last; /* the largest of all entries */
    /* Told of each entry that is done again, how many were before it; NULL: nothing is. */
    void (*progress)(void *arg, uint64_t done);
    void *progress_arg;
};

/* Are these a page with its bytes? Else they are an entry, or damaged. */
bool replay_is_page(const uint8_t *bytes, uint32_t count);
/* Keeps a copy of what that memory node's log has; of an entry of several logs one. CORRUPT: it is neither; NOMEM. */
NODISCARD int replay_add(struct replay *replay, uint32_t node, uint64_t epoch, const uint8_t *bytes, uint32_t count);
void replay_free(struct replay *replay);
/* Pages, in the order in which they were added; and space is handed out behind all runs that they name. */
NODISCARD int replay_pages(struct coro *co, struct fabric_ep *ep, const struct replay *replay,
                           const struct replay_shape *shape, struct cellar_error *error);
/* Entries, on all replicas. CORRUPT: one that changes what cannot be. */
NODISCARD int replay_entries(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog,
                             struct replay *replay, struct cellar_error *error);
