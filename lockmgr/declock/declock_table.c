/* declock_table.c - which locks a compute node has to do with: a hash table of fixed size, made at open. */
#include "declock.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define SPINS_MAX 64
#define SPIN_IDLE_NS 500

/* ---- spin locks: short sections, in which no coroutine suspends ---- */

static void lock_word(atomic_uint *word, struct fabric_ep *ep)
{
    for (uint32_t spins = 0;; spins++) {
        if (atomic_load_explicit(word, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(word, 1, memory_order_acquire) == 0)
            return;
        if (spins < SPINS_MAX && !ep->preempt) continue;
        fabric_preempt(ep);
        fabric_idle(ep, fabric_now_ns(ep) + SPIN_IDLE_NS);
    }
}

static void unlock_word(atomic_uint *word) { atomic_store_explicit(word, 0, memory_order_release); }

static struct declock_slot *slot_of(struct declock *declock, uint64_t lock)
{
    return &declock->slots[(uint32_t)(lock * 0x9e3779b97f4a7c15ull >> 32) & declock->slot_mask];
}

void declock_lock(struct declock *declock, uint64_t lock, struct fabric_ep *ep)
{
    lock_word(&slot_of(declock, lock)->word, ep);
    fabric_preempt(ep);
}

void declock_unlock(struct declock *declock, uint64_t lock) { unlock_word(&slot_of(declock, lock)->word); }

/* ---- birth and death ---- */

int declock_table_open(struct declock *declock, uint32_t seats)
{
    uint32_t slots = 16;
    while (slots < seats) slots *= 2;
    declock->slot_mask = slots - 1;
    declock->slots = calloc(slots, sizeof *declock->slots);
    declock->records = calloc(seats, sizeof *declock->records);
    declock->seats = calloc(seats, sizeof *declock->seats);
    if (!declock->slots || !declock->records || !declock->seats) return CELLAR_NOMEM;
    declock->seat_count = seats;
    declock_table_clear(declock);
    return 0;
}

void declock_table_clear(struct declock *declock)
{
    uint32_t seats = declock->seat_count;
    memset(declock->slots, 0, (declock->slot_mask + 1ull) * sizeof *declock->slots);
    memset(declock->records, 0, seats * sizeof *declock->records);
    memset(declock->seats, 0, seats * sizeof *declock->seats);
    declock->free_records = NULL;
    declock->free_seats = NULL;
    atomic_store(&declock->used, 0);
    for (uint32_t i = seats; i-- > 0;) {
        declock->records[i].next = declock->free_records;
        declock->free_records = &declock->records[i];
        declock->seats[i].next = declock->free_seats;
        declock->free_seats = &declock->seats[i];
    }
}

void declock_table_close(struct declock *declock)
{
    free(declock->slots);
    free(declock->records);
    free(declock->seats);
}

/* ---- records and seats ---- */

struct declock_record *declock_record_find(struct declock *declock, uint64_t lock)
{
    struct declock_record *record = slot_of(declock, lock)->first;
    while (record && record->lock != lock) record = record->next;
    return record;
}

struct declock_record *declock_record_make(struct declock *declock, uint64_t lock, struct fabric_ep *ep)
{
    struct declock_record *record = declock_record_find(declock, lock);
    if (record) return record;
    lock_word(&declock->pool_word, ep);
    record = declock->free_records;
    if (record) declock->free_records = record->next;
    unlock_word(&declock->pool_word);
    if (!record) return NULL;
    atomic_fetch_add_explicit(&declock->used, 1, memory_order_relaxed);
    struct declock_slot *slot = slot_of(declock, lock);
    *record = (struct declock_record){.next = slot->first, .lock = lock};
    return slot->first = record;
}

void declock_record_drop(struct declock *declock, struct declock_record *record, struct fabric_ep *ep)
{
    if (record->seats || record->lead.by || record->pins) return;
    must(!record->ack.due);
    struct declock_record **at = &slot_of(declock, record->lock)->first;
    while (*at != record) at = &(*at)->next;
    *at = record->next;
    atomic_fetch_sub_explicit(&declock->used, 1, memory_order_relaxed);
    lock_word(&declock->pool_word, ep);
    record->next = declock->free_records;
    declock->free_records = record;
    unlock_word(&declock->pool_word);
}

static struct declock_seat *find_in(struct declock_record *record, uint32_t owner)
{
    struct declock_seat *seat = record ? record->seats : NULL;
    while (seat && seat->owner != owner) seat = seat->next;
    return seat;
}

struct declock_seat *declock_seat_find(struct declock *declock, uint64_t lock, uint32_t owner)
{
    return find_in(declock_record_find(declock, lock), owner);
}

struct declock_seat *declock_seat_make(struct declock *declock, uint64_t lock, uint32_t owner, struct fabric_ep *ep)
{
    struct declock_record *record = declock_record_make(declock, lock, ep);
    if (!record) return NULL;
    struct declock_seat *seat = find_in(record, owner);
    if (seat) return seat;
    lock_word(&declock->pool_word, ep);
    seat = declock->free_seats;
    if (seat) declock->free_seats = seat->next;
    unlock_word(&declock->pool_word);
    if (!seat) {
        declock_record_drop(declock, record, ep);
        return NULL;
    }
    *seat = (struct declock_seat){.next = record->seats, .record = record, .owner = owner};
    return record->seats = seat;
}

void declock_seat_drop(struct declock *declock, struct declock_seat *seat, struct fabric_ep *ep)
{
    if (seat->state != DECLOCK_IDLE || seat->agent || seat->first || seat->prefetching || seat->passing) return;
    must(seat->holders == 0);
    struct declock_record *record = seat->record;
    struct declock_seat **at = &record->seats;
    while (*at != seat) at = &(*at)->next;
    *at = seat->next;
    lock_word(&declock->pool_word, ep);
    seat->next = declock->free_seats;
    declock->free_seats = seat;
    unlock_word(&declock->pool_word);
    declock_record_drop(declock, record, ep);
}
