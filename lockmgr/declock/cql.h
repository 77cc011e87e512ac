/*
 * cql.h - the words of a cooperative queue lock (DecLock, section 4): a header that FAA changes, and a ring of
 * entries in which waiters leave their names. Pure functions; declock.h says when they are called.
 *
 *     word 0       header    63 ........ qhead | qsize | wcnt | generation 8 | resetter 8 ...... 0
 *     word 1       reset     deaths that the last reset knew of (lockmgr_view); written by resetters only
 *     word 2 ...   entries   63 . unused 7 | exclusive 1 | stamp 16 | client 24 | version 16 ... 0
 *                            one for each of `capacity` slots
 *
 *   qhead       index of the first in the queue; counts on for ever, on top, so that nothing it carries out reaches
 *               another field
 *   qsize       holders and waiters; wcnt: writers among them. Both wide enough for every participant twice
 *   generation  how often the lock was reset, modulo 256
 *   resetter    1 + the compute node (CN) that resets the lock now; 0: none
 *   version     1 + index / capacity; 0 is what was never written. So a lock of zero bytes is a free lock
 *   stamp       when its CN began to wait, us modulo 2^16
 */
#pragma once

#include "lockmgr.h"

#include <stdbool.h>
#include <stdint.h>

#define CQL_ENTRIES_WORD 2
#define CQL_CLIENTS_MAX (1u << 24)
#define CQL_CNS_MAX 255

struct cql {
    uint32_t capacity;     /* slots of the ring */
    uint32_t bits;         /* of qsize and of wcnt */
    uint32_t version_bits; /* at most 16 */
    uint32_t version_last; /* a client that gets a later one must reset the lock first */
};

struct cql_header {
    uint64_t head;
    uint32_t size, writers;
    uint8_t generation, resetter;
};

/* A place in the queue. */
struct cql_ticket {
    uint64_t index;
    uint8_t generation;
};

struct cql_entry {
    uint32_t version, client;
    uint16_t stamp;
    bool exclusive;
};

/*
 * capacity slots for that many participants, which have one place each; version_bits 0: 16, or what there is room
 * for. False: no room for versions of 4 bits.
 */
bool cql_shape(struct cql *cql, uint32_t capacity, uint32_t participants, uint32_t version_bits);
static inline uint64_t cql_bytes(const struct cql *cql)
{
    return (CQL_ENTRIES_WORD + (uint64_t)cql->capacity) * sizeof(uint64_t);
}

struct cql_header cql_header_of(const struct cql *cql, uint64_t word);
/* The word of a free lock of that generation. */
uint64_t cql_free_word(uint8_t generation);
/* The same word with another resetter. */
static inline uint64_t cql_with_resetter(uint64_t word, uint8_t resetter) { return (word & ~0xffull) | resetter; }
/* What FAA adds. */
uint64_t cql_enter_addend(const struct cql *cql, enum lockmgr_mode mode);
uint64_t cql_leave_addend(const struct cql *cql, enum lockmgr_mode mode);
/* a is of an earlier generation than b: both count modulo 256 */
static inline bool cql_older(uint8_t a, uint8_t b) { return (int8_t)(uint8_t)(a - b) < 0; }
/* a was before b: both count modulo 2^16 */
static inline bool cql_stamp_before(uint16_t a, uint16_t b) { return (int16_t)(uint16_t)(a - b) < 0; }

uint32_t cql_version(const struct cql *cql, uint64_t index);
static inline uint32_t cql_slot(const struct cql *cql, uint64_t index) { return (uint32_t)(index % cql->capacity); }
uint64_t cql_entry_word(const struct cql_entry *entry);
struct cql_entry cql_entry_of(uint64_t word);

enum cql_entered {
    CQL_GRANTED,
    CQL_WAITS,     /* writes its entry, then waits for a message */
    CQL_RESETTING, /* no place: the lock is being reset */
    CQL_EXHAUSTED, /* no place: the ring is full, or versions come to their end. Reset the lock */
};
/* What it means that FAA found `word`. The ticket is set unless RESETTING. */
enum cql_entered cql_entered(const struct cql *cql, uint64_t word, enum lockmgr_mode mode, struct cql_ticket *ticket);

enum cql_next {
    CQL_NONE,    /* there is none to notify, or others will */
    CQL_NOTIFY,  /* those of [first, first + count) */
    CQL_REFETCH, /* entries are missing: READ them again */
    CQL_LOST     /* an entry was overwritten that was needed */
};
struct cql_successors {
    enum cql_next next;
    uint64_t first;
    uint32_t count;
    bool stamped; /* others wait after them, since this at the earliest: */
    uint16_t stamp;
};
/*
 * The next one, now that FAA has found `word` and taken one holder in `mode` off the queue; entries: of all slots,
 * READ after that FAA.
 */
struct cql_successors cql_successors(const struct cql *cql, uint64_t word, enum lockmgr_mode mode,
                                     const uint64_t *entries);
/*
 * True, and the earliest stamp: a client waits while the lock is held in `mode`. words: the whole lock, as one READ
 * found it, in which lines may be of different times: a hint.
 */
bool cql_earliest(const struct cql *cql, const uint64_t *words, enum lockmgr_mode mode, uint16_t *stamp);
