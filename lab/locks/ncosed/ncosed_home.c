/*
 * ncosed_home.c - the home of N-CoSED's locks: counts readers that have left, grants writers that have replaced them,
 * clears words.
 */
#include "must.h"
#include "ncosed.h"
#include "ncosed_plants.h"

#include <stdlib.h>

#define CLEARED_AT_ONCE 8 /* words: a client has memory for so many atomics */

/* Of one lock, while readers have left that are still in the word, or a writer waits for some. */
struct record {
    struct record *next;      /* of its bucket, or free */
    struct record *next_look; /* to be seen to after it */
    struct fabric_addr lock;
    uint64_t left;
    uint64_t replaced, writer, ticket; /* writer 0: none waits */
    bool look;                         /* perhaps the word can be cleared */
    bool clearing;                     /* a CAS is under way: whether `left` still counts is not known */
};

/* What one client is owed. */
struct account {
    uint64_t seen; /* of its LEFTs */
    uint64_t told; /* ... as it knows */
};

struct home {
    struct record **buckets, *records, *free;
    uint64_t mask;
    struct record *look_first, *look_last; /* records that have `look`, in the order in which they got it */
    struct account *accounts;
    /* LEFTs that the tender has not seen to yet: whose they are, in the order in which they came. Both run freely. */
    uint32_t *senders;
    uint64_t first, last, ring_mask;
};

static uint64_t power_above(uint64_t count)
{
    uint64_t power = 16;
    while (power < count) power *= 2;
    return power;
}

void ncosed_home_close(struct lockmgr_worker *worker)
{
    struct home *home = worker->own;
    if (!home) return;
    free(home->buckets);
    free(home->records);
    free(home->accounts);
    free(home->senders);
    free(home);
    worker->own = NULL;
}

int ncosed_home_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint64_t clients = ncosed_clients(config), records = ncosed_records(config), buckets = power_above(records / 4);
    uint64_t ring = power_above(clients * ncosed_window(config));
    struct home *home = worker->own = calloc(1, sizeof *home);
    if (home) {
        home->buckets = calloc(buckets, sizeof(struct record *));
        home->records = calloc(records, sizeof *home->records);
        home->accounts = calloc(clients, sizeof *home->accounts);
        home->senders = calloc(ring, sizeof *home->senders);
    }
    if (!home || !home->buckets || !home->records || !home->accounts || !home->senders) {
        ncosed_home_close(worker);
        return err_set(error, CELLAR_NOMEM, "no memory for a home of %llu locks at once", (unsigned long long)records);
    }
    home->mask = buckets - 1;
    home->ring_mask = ring - 1;
    for (uint64_t i = records; i-- > 0;) {
        home->records[i].next = home->free;
        home->free = &home->records[i];
    }
    return 0;
}

static struct record **record_at(struct home *home, uint64_t lock)
{
    struct record **at = &home->buckets[lock * 0x9e3779b97f4a7c15ull >> 32 & home->mask];
    while (*at && (*at)->lock.bits != lock) at = &(*at)->next;
    return at;
}

/* There is always a free one: see ncosed.h. */
static struct record *record_of(struct home *home, uint64_t lock)
{
    struct record **at = record_at(home, lock);
    if (*at) return *at;
    struct record *record = home->free;
    must(record);
    home->free = record->next;
    *record = (struct record){.lock.bits = lock};
    return *at = record;
}

/* ---- readers that left, writers that wait ---- */

/* All readers that it has replaced have left. */
static void grant_writer(struct lockmgr_worker *worker, struct record *record)
{
    if (!record->writer || (record->left < record->replaced && !PLANT(ncosed_home_hurries))) return;
    record->left -= record->left < record->replaced ? record->left : record->replaced;
    ncosed_grant(worker, record->lock, record->writer, record->ticket);
    record->writer = 0;
}

/* To be answered when the tender has seen to it. */
static void owe_answer(struct home *home, uint64_t client)
{
    must(home->last - home->first <= home->ring_mask);
    home->senders[home->last++ & home->ring_mask] = (uint32_t)client;
}

void ncosed_home_deliver(struct lockmgr_worker *worker, const struct fabric_message *from,
                         const struct lockmgr_message_wire *wire)
{
    struct home *home = worker->own;
    uint64_t client = wire->words[NCOSED_FROM];
    if (client == 0 || client > ncosed_clients(&worker->lockmgr->config)) return;
    struct record *record = record_of(home, wire->lock);
    if (wire->kind == NCOSED_LEFT) {
        record->left++;
        owe_answer(home, client);
    }
    if (wire->kind == NCOSED_REPLACE) {
        record->replaced = wire->words[NCOSED_COUNT];
        record->writer = client;
        record->ticket = wire->words[NCOSED_TICKET];
    }
    if (!record->clearing || PLANT(ncosed_left_twice)) grant_writer(worker, record);
    if (record->look) return;
    record->look = true;
    record->next_look = NULL;
    if (home->look_first)
        home->look_last->next_look = record;
    else
        home->look_first = record;
    home->look_last = record;
}

/* ---- the tender ---- */

/* All readers in the word have left, if it has as many; then it is free. */
static void clear_words(struct coro *co, struct lockmgr_worker *worker, struct record **records, uint32_t count)
{
    struct lockmgr_client *tender = &worker->tender;
    struct fabric_op ops[CLEARED_AT_ONCE];
    uint64_t left[CLEARED_AT_ONCE];
    if (count == 0) return;
    for (uint32_t i = 0; i < count; i++) {
        left[i] = records[i]->left;
        ops[i] = fabric_op_cas(records[i]->lock, &tender->old[i], left[i], 0);
        records[i]->clearing = true;
    }
    int code = lockmgr_do(co, tender, ops, count);
    for (uint32_t i = 0; i < count; i++) {
        if ((code == 0 || ops[i].status == 0) && tender->old[i] == left[i]) records[i]->left -= left[i];
        records[i]->clearing = false;
        grant_writer(worker, records[i]);
    }
}

static void drop_if_empty(struct home *home, struct record *record)
{
    if (record->left || record->writer || record->look) return;
    *record_at(home, record->lock.bits) = record->next;
    record->next = home->free;
    home->free = record;
}

/* Sees to the next few records; *end: to that one, too, if it meets it. False: that was the last one. */
static bool look_at_some(struct coro *co, struct lockmgr_worker *worker, const struct record *end)
{
    struct home *home = worker->own;
    struct record *records[CLEARED_AT_ONCE], *record = NULL;
    uint32_t count = 0;
    while (count < CLEARED_AT_ONCE && record != end && home->look_first) {
        record = home->look_first;
        home->look_first = record->next_look;
        record->look = false;
        if (record->left && !record->writer)
            records[count++] = record;
        else
            drop_if_empty(home, record);
    }
    clear_words(co, worker, records, count);
    for (uint32_t i = 0; i < count; i++) drop_if_empty(home, records[i]);
    return record != end;
}

/* How many it has seen to, of all: a client that hears that twice, or late, learns nothing wrong. */
static void answer(struct lockmgr_worker *worker, uint32_t id)
{
    struct account *account = &((struct home *)worker->own)->accounts[id - 1];
    struct lockmgr_message_wire wire = {.kind = NCOSED_SEEN};
    uint32_t cn, to;
    if (++account->seen - account->told < NCOSED_SEEN_EVERY) return;
    account->told = account->seen;
    wire.words[NCOSED_FROM] = worker->number;
    wire.words[NCOSED_COUNT] = account->seen;
    if (lockmgr_locate(&worker->lockmgr->config, id, &cn, &to, &wire.client)) lockmgr_queue(worker, cn, to, &wire);
}

uint64_t ncosed_home_tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct home *home = worker->own;
    uint64_t came = home->last;
    const struct record *end = home->look_last;
    if (!home->look_first) return UINT64_MAX;
    while (look_at_some(co, worker, end))
        ;
    while (home->first != came) answer(worker, home->senders[home->first++ & home->ring_mask]);
    return home->look_first ? fabric_now_ns(worker->ep) : UINT64_MAX;
}
