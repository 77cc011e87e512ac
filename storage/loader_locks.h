/*
 * loader_locks.h - whose locks stand in a pool at rest: every tag that is set, of records and of index buckets.
 */
#pragma once

#include "loader.h"

struct loader_lock {
    const struct table *table;
    struct fabric_addr addr; /* of the record or bucket, in the primary */
    bool bucket;
    uint32_t cell; /* of a bucket: 0 */
    uint32_t cn;   /* as the tag says: index of the compute node that holds it */
};

/* A negative value ends it. */
typedef int (*loader_lock_fn)(void *arg, const struct loader_lock *lock);

/* Calls fn for each of them. Another code than 0, with *error: a memory node cannot be read, or what fn returned. */
NODISCARD int loader_locks(struct coro *co, struct loader *loader, loader_lock_fn fn, void *arg,
                           struct cellar_error *error);
