/*
 * crest_fetch.h - the rules by which shared records are fetched (fetch.h), for mode `crest` and for modes that build
 * on it.
 */
#pragma once

#include "crest.h"
#include "fetch.h"

static inline uint32_t crest_fetch_lock_cells(const struct txn *txn, const struct cache_object *object)
{
    (void)txn;
    return crest_of(object)->want_lock;
}
static inline uint32_t crest_fetch_read_cells(const struct txn *txn, const struct cache_object *object)
{
    (void)txn;
    return crest_of(object)->want_read;
}
static inline uint32_t crest_fetch_tagged(const struct cache_object *object) { return crest_of(object)->behind_cells; }
/* What was read is checked at v, by what the compute node knows then. */
static inline bool crest_fetch_keeps(const struct txn *txn)
{
    (void)txn;
    return true;
}

#define CREST_FETCH_RULES_OF(...)                                                                                      \
    {                                                                                                                  \
        .lock_cells = crest_fetch_lock_cells, .read_cells = crest_fetch_read_cells, .tagged = crest_fetch_tagged,      \
        .keeps = crest_fetch_keeps, __VA_ARGS__                                                                        \
    }
#define CREST_FETCH_RULES CREST_FETCH_RULES_OF()
