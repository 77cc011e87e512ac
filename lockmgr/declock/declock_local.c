/*
 * declock_local.c - the queue within a compute node: which goes next, one of this node or a remote one. All under the
 * lock of the slot.
 *
 *     policy          granted with a reader                       next, when the last holder leaves
 *     ts-tf           readers right behind it, not later than     the first, unless a remote one waits for longer
 *                     the earliest remote waiter
 *     ts-pf           all readers of the node                     the same; a reader, if a writer gave up the place
 *     remote-prefer   all readers                                 a remote one, if any is known of
 *     local-prefer    all readers                                 one of this node
 *     local-bound     all readers                                 one of this node, LOCAL_BOUND times in a row
 *
 * In any case a place in the remote queue is kept for its mode only: to change it, the place is given up.
 */
#include "declock.h"
#include "must.h"

#include <stddef.h>

#define LOCAL_BOUND 4
#define JOINS_MAX 32 /* readers that join those who hold; then remote writers must have had their turn */

static struct lockmgr_hold *next_of(const struct lockmgr_hold *hold)
{
    return (struct lockmgr_hold *)(uintptr_t)hold->words[DECLOCK_NEXT];
}

void declock_local_append(struct declock_seat *seat, struct lockmgr_hold *hold)
{
    hold->words[DECLOCK_ROLE] = DECLOCK_QUEUED;
    hold->words[DECLOCK_NEXT] = 0;
    if (seat->last)
        seat->last->words[DECLOCK_NEXT] = (uintptr_t)hold;
    else
        seat->first = hold;
    seat->last = hold;
}

void declock_local_remove(struct declock_seat *seat, struct lockmgr_hold *hold)
{
    struct lockmgr_hold *before = NULL, *at = seat->first;
    for (; at != hold; at = next_of(at)) before = at;
    if (before)
        before->words[DECLOCK_NEXT] = hold->words[DECLOCK_NEXT];
    else
        seat->first = next_of(hold);
    if (seat->last == hold) seat->last = before;
}

static void give(struct declock_seat *seat, struct lockmgr_hold *hold, enum declock_role role,
                 struct lockmgr_worker *from)
{
    declock_local_remove(seat, hold);
    hold->words[DECLOCK_ROLE] = role;
    lockmgr_signal(from, hold->client);
}

bool declock_void(const struct declock_seat *seat)
{
    return seat->record->reset_known && cql_older(seat->ticket.generation, seat->record->reset_to);
}

/* A remote one is known to have waited for longer than this one of the node. */
static bool remote_before(const struct declock_seat *seat, const struct lockmgr_hold *hold)
{
    return seat->remote_known && cql_stamp_before(seat->remote_stamp, (uint16_t)hold->words[DECLOCK_STAMP]);
}

bool declock_local_joins(const struct declock *declock, const struct declock_seat *seat,
                         const struct lockmgr_hold *hold)
{
    if (seat->state != DECLOCK_HELD || seat->holders == 0 || seat->first) return false;
    if (seat->mode != LOCKMGR_SHARED || hold->mode != LOCKMGR_SHARED) return false;
    if (declock_void(seat)) return false;
    if (declock->policy == DECLOCK_TS_TF && remote_before(seat, hold)) return false;
    return seat->joins < JOINS_MAX || declock->policy == DECLOCK_LOCAL_PREFER;
}

/* Readers of the queue hold together with the one that was just granted. */
static void grant_readers(const struct declock *declock, struct declock_seat *seat, struct lockmgr_worker *from)
{
    for (struct lockmgr_hold *hold = seat->first, *next; hold; hold = next) {
        next = next_of(hold);
        bool reader = hold->mode == LOCKMGR_SHARED;
        if (declock->policy == DECLOCK_TS_TF && (!reader || remote_before(seat, hold))) return;
        if (!reader) continue;
        seat->holders++;
        give(seat, hold, DECLOCK_GRANTED, from);
    }
}

void declock_local_take(const struct declock *declock, struct declock_seat *seat, struct lockmgr_hold *hold)
{
    seat->agent = NULL;
    seat->holders = 1;
    seat->mode = hold->mode;
    seat->joins = seat->transfers = 0;
    if (hold->mode == LOCKMGR_SHARED) grant_readers(declock, seat, hold->client->worker);
}

static bool remote_first(const struct declock *declock, const struct declock_seat *seat,
                         const struct lockmgr_hold *next)
{
    switch (declock->policy) {
    case DECLOCK_TS_TF:
    case DECLOCK_TS_PF:
        return remote_before(seat, next);
    case DECLOCK_REMOTE_PREFER:
        return seat->remote_known;
    case DECLOCK_LOCAL_BOUND:
        return seat->transfers >= LOCAL_BOUND;
    case DECLOCK_LOCAL_PREFER:
        break;
    }
    return false;
}

bool declock_local_hand_over(const struct declock *declock, struct declock_seat *seat, struct lockmgr_worker *from)
{
    struct lockmgr_hold *next = seat->first;
    if (!next || next->mode != seat->place_mode) return false;
    if (next->mode == LOCKMGR_SHARED && seat->joins >= JOINS_MAX) return false;
    if (remote_first(declock, seat, next)) return false;
    seat->transfers++;
    seat->joins += next->mode == LOCKMGR_SHARED;
    seat->holders = 1;
    seat->mode = next->mode;
    give(seat, next, DECLOCK_GRANTED, from);
    if (next->mode == LOCKMGR_SHARED) grant_readers(declock, seat, from);
    return true;
}

static struct lockmgr_hold *first_reader(const struct declock_seat *seat)
{
    for (struct lockmgr_hold *hold = seat->first; hold; hold = next_of(hold))
        if (hold->mode == LOCKMGR_SHARED) return hold;
    return seat->first;
}

/* Where a writer gave up the place, phase-fair policies let readers have their turn. */
static struct lockmgr_hold *agent_of(const struct declock *declock, const struct declock_seat *seat)
{
    bool placed = seat->state == DECLOCK_WAITING || seat->state == DECLOCK_HELD;
    if (placed) return seat->place_mode == LOCKMGR_SHARED ? first_reader(seat) : seat->first;
    if (declock->policy == DECLOCK_TS_TF || seat->mode == LOCKMGR_SHARED) return seat->first;
    return first_reader(seat);
}

struct declock_waiter declock_local_next(const struct declock *declock, const struct declock_seat *seat)
{
    if (!seat->first || declock->policy != DECLOCK_TS_TF) return (struct declock_waiter){0};
    return declock_waiter_of(agent_of(declock, seat));
}

void declock_local_appoint(const struct declock *declock, struct declock_seat *seat, struct lockmgr_worker *from)
{
    if (seat->agent || !seat->first) return;
    seat->agent = agent_of(declock, seat);
    give(seat, seat->agent, DECLOCK_AGENT, from);
}
