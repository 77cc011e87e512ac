#include "lock_watch.h"

#include "must.h"

#include <stdarg.h>
#include <stdio.h>

#define NONE LOCK_WATCH_LOCKS

void lock_watch_begin(struct lock_watch *watch)
{
    must(watch->client_count <= LOCK_WATCH_CLIENTS);
    watch->events = 1;
    for (uint32_t i = 0; i < watch->client_count; i++) {
        struct lock_watch_client *client = &watch->clients[i];
        client->wanted = NONE;
        client->slots = 1;
        for (uint32_t j = 0; j < LOCK_WATCH_HOLDS; j++) client->holds[j].lock = NONE;
    }
}

bool lock_watch_fail(struct lock_watch *watch, const char *format, ...)
{
    va_list arguments;
    if (watch->verdict[0]) return false;
    va_start(arguments, format);
    vsnprintf(watch->verdict, sizeof watch->verdict, format, arguments);
    va_end(arguments);
    return false;
}

static const char *name_of(enum lockmgr_mode mode)
{
    return mode == LOCKMGR_SHARED ? "shared" : mode == LOCKMGR_UPDATE ? "for update" : "exclusive";
}

static bool together(const struct lock_watch *watch, enum lockmgr_mode a, enum lockmgr_mode b)
{
    if (a == LOCKMGR_UPDATE || b == LOCKMGR_UPDATE)
        return (a == LOCKMGR_SHARED || b == LOCKMGR_SHARED) && (watch->promises & LOCKMGR_UPDATES);
    return a == LOCKMGR_SHARED && b == LOCKMGR_SHARED && (watch->promises & LOCKMGR_SHARES);
}

static struct lock_watch_hold *hold_of(struct lock_watch_client *client, uint32_t lock)
{
    for (uint32_t i = 0; i < LOCK_WATCH_HOLDS; i++)
        if (client->holds[i].lock == lock) return &client->holds[i];
    return NULL;
}

void lock_watch_call(struct lock_watch *watch, uint32_t number, uint32_t lock, enum lockmgr_mode mode, bool timed)
{
    struct lock_watch_client *client = &watch->clients[number];
    client->wanted = lock;
    client->mode = mode;
    client->timed = timed;
    client->began = client->left[lock] ? client->left[lock] : watch->events;
    client->arrived = 0;
    client->by_writers = client->by_readers = 0;
}

void lock_watch_op(struct lock_watch *watch, uint32_t number)
{
    struct lock_watch_client *client = &watch->clients[number];
    watch->events++;
    if (client->wanted != NONE && !client->arrived) client->arrived = watch->events;
}

bool lock_watch_is_late(const struct lock_watch *watch, uint32_t number, uint32_t lock, uint64_t now_ns)
{
    const struct lock_watch_hold *hold = hold_of((struct lock_watch_client *)&watch->clients[number], lock);
    /* Clocks run up to an eighth too fast; and a lease may count from before the grant was seen. */
    return hold && watch->promises & LOCKMGR_LEASES && now_ns - hold->since_ns > hold->slots * watch->lease_ns / 2;
}

/* INV-LOCKMGR-1: `number` has been granted the lock; no other may hold it that can still use it. */
static void exclude(struct lock_watch *watch, uint32_t number, uint32_t lock, enum lockmgr_mode mode, uint64_t now_ns)
{
    for (uint32_t i = 0; i < watch->client_count; i++) {
        struct lock_watch_hold *hold = i == number ? NULL : hold_of(&watch->clients[i], lock);
        if (!hold || together(watch, hold->mode, mode)) continue;
        if (watch->cn_lost(watch->arg, watch->clients[i].cn))
            watch->counts.lost++;
        else if (lock_watch_is_late(watch, i, lock, now_ns))
            watch->counts.expired++;
        else
            lock_watch_fail(watch, "mutual exclusion: client %u got lock %u %s while client %u holds it %s", number,
                            lock, name_of(mode), i, name_of(hold->mode));
        hold->lock = NONE;
    }
}

/* Which clients waited before this one so much as called? */
static void count_overtaken(struct lock_watch *watch, const struct lock_watch_client *granted, uint32_t lock)
{
    for (uint32_t i = 0; i < watch->client_count; i++) {
        struct lock_watch_client *client = &watch->clients[i];
        if (client == granted || client->wanted != lock || client->timed) continue;
        if (!client->arrived || client->arrived >= granted->began || together(watch, client->mode, granted->mode))
            continue;
        if (watch->cn_lost(watch->arg, client->cn)) continue;
        if (granted->mode == LOCKMGR_EXCLUSIVE)
            client->by_writers++;
        else
            client->by_readers++;
        struct lock_watch_counts *counts = &watch->counts;
        uint32_t sum = client->by_writers + client->by_readers;
        if (sum > counts->overtaken) counts->overtaken = sum;
        if (client->mode == LOCKMGR_SHARED && client->by_writers > counts->reader_by_writers)
            counts->reader_by_writers = client->by_writers;
    }
}

void lock_watch_return(struct lock_watch *watch, uint32_t number, int code, uint64_t now_ns)
{
    struct lock_watch_client *client = &watch->clients[number];
    uint32_t lock = client->wanted;
    client->wanted = NONE;
    client->left[lock] = code ? client->began : 0;
    if (code || watch->cn_lost(watch->arg, client->cn)) return;
    watch->counts.grants++;
    exclude(watch, number, lock, client->mode, now_ns);
    count_overtaken(watch, client, lock);
    struct lock_watch_hold *hold = hold_of(client, NONE);
    must(hold);
    *hold = (struct lock_watch_hold){.lock = lock, .mode = client->mode, .since_ns = now_ns, .slots = client->slots};
}

void lock_watch_slots(struct lock_watch *watch, uint32_t number, uint32_t slots)
{
    watch->clients[number].slots = slots;
}

void lock_watch_upgrade(struct lock_watch *watch, uint32_t number, uint32_t lock, uint64_t now_ns)
{
    struct lock_watch_hold *hold = hold_of(&watch->clients[number], lock);
    if (watch->cn_lost(watch->arg, watch->clients[number].cn) || !hold) return;
    hold->mode = LOCKMGR_EXCLUSIVE;
    exclude(watch, number, lock, LOCKMGR_EXCLUSIVE, now_ns);
}

bool lock_watch_release(struct lock_watch *watch, uint32_t number, uint32_t lock)
{
    struct lock_watch_hold *hold = hold_of(&watch->clients[number], lock);
    if (!hold) return false;
    hold->lock = NONE;
    return true;
}
