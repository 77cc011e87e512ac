/*
 * pending.h - calls of one worker that have ended in memory, and whose acknowledgement waits for the disk: its
 * coordinators go on to their next calls meanwhile. They share one list, of one thread, which is acknowledged in the
 * order in which the calls ended.
 */
#pragma once

#include "cellar.h"

#include <stdbool.h>
#include <stdint.h>

struct driver_session;

struct pending_call {
    struct driver_session *session; /* that measures it; NULL: none does */
    uint64_t epoch, begin_ns;
    uint32_t type;
    bool dropped;
};

struct pending {
    _Alignas(64) uint32_t capacity; /* calls in flight, those that its coordinators run now included */
    uint32_t running, first, count;
    struct pending_call *calls;
};

/* So many lists; NULL without memory. */
struct pending *pending_make(uint32_t lists, uint32_t capacity);
void pending_free(struct pending *pending, uint32_t lists);

static inline bool pending_has_room(const struct pending *pending)
{
    return pending->count + pending->running < pending->capacity;
}
/* The call that has waited longest, if there is one. */
static inline const struct pending_call *pending_first(const struct pending *pending)
{
    return pending->count ? &pending->calls[pending->first] : NULL;
}
static inline void pending_add(struct pending *pending, const struct pending_call *call)
{
    uint32_t at = pending->first + pending->count++;
    pending->calls[at < pending->capacity ? at : at - pending->capacity] = *call;
}
static inline void pending_drop_first(struct pending *pending)
{
    if (++pending->first == pending->capacity) pending->first = 0;
    pending->count--;
}
