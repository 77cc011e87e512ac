/*
 * netlock_switch_internal.h - the switch's register arrays and its table of locks: what its data plane and its
 * control plane share.
 */
#pragma once

#include "must.h"
#include "netlock_switch.h"

/*
 * X(array, stage, of what): an array of that name for each priority (LOCKS), or one (LOCK: by lock; SLOT, TENANT). A
 * stage has four arrays at most; a later one may depend on an earlier one, never the other way.
 */
#define NETLOCK_ARRAYS(X)                                                                                              \
    X(METER, 0, TENANT)     /* ns at which it has used up what it has asked for */                                     \
    X(REQUESTS, 0, LOCK)    /* acquires since the server asked */                                                      \
    X(LEFT, 1, LOCKS)       /* of its region, first slot, */                                                           \
    X(RIGHT, 2, LOCKS)      /* ... and the one after the last */                                                       \
    X(RETURNED, 3, LOCKS)   /* prev, seq: the latest request that the server has pushed */                             \
    X(HEAD, 4, LOCKS)       /* number from 0 in the upper half, slot in the lower one */                               \
    X(ROOM, 5, LOCKS)       /* backlog in the upper half, slots in use in the lower one */                             \
    X(EXCLUSIVES, 6, LOCKS) /* of those in use, how many are exclusive */                                              \
    X(HOLDERS, 7, LOCK)     /* shared ones, or NETLOCK_EXCLUSIVE_HOLDER */                                             \
    X(PEAK, 7, LOCK)        /* slots in use and backlog, at most since the server asked */                             \
    X(SENT, 8, LOCKS)       /* number of the latest request forwarded */                                               \
    X(TAIL, 9, LOCKS)       /* like HEAD */                                                                            \
    X(WHO, 10, SLOT)        /* client in the upper half, transaction in the lower one */                               \
    X(WHAT, 11, SLOT)       /* time in the upper half; mode and state */

enum netlock_array {
#define X(name, stage, of) NETLOCK_##name,
    NETLOCK_ARRAYS(X)
#undef X
        NETLOCK_ARRAY_KINDS
};

#define NETLOCK_EXCLUSIVE_HOLDER (1ull << 31)

enum netlock_state { NETLOCK_FREE, NETLOCK_WAITS, NETLOCK_HELD, NETLOCK_DONE };
#define NETLOCK_STATE 3ull     /* of WHAT */
#define NETLOCK_EXCLUSIVE 4ull /* of WHAT */

/* An entry of the match table: the control plane's. */
struct netlock_entry {
    uint64_t lock; /* 0: free, 1: was used */
    uint32_t index, move;
    uint32_t left, slots; /* its region */
    bool open;            /* requests may enter the queue; closed: all are forwarded */
    bool installed;
};

struct netlock_switch {
    struct netlock_switch_config config;
    struct netlock_registers registers;
    uint32_t numbers[NETLOCK_ARRAY_KINDS]; /* of the first array of that name */
    struct netlock_entry *table;
    uint32_t table_size; /* a power of two */
    uint32_t *indexes;   /* free indexes of locks: a stack of free_indexes */
    uint32_t free_indexes;
    uint32_t *places;    /* by index: where in the table its lock is */
    uint32_t highest;    /* after the highest index that was ever used: the lowest free one is given out first */
    uint32_t *under_way; /* by index: packets that come round again */
    uint32_t moves[NETLOCK_SERVERS]; /* by server worker: the latest one prepared */
    uint32_t incarnation;
    uint32_t poll_at, poll_slot; /* where the next turn of polling goes on: index, slot of its region */
    struct netlock_switch_stats stats;
};

/* NULL: the lock is not the switch's. */
struct netlock_entry *netlock_switch_find(const struct netlock_switch *sw, uint64_t lock);
static inline uint32_t netlock_upper(uint64_t word) { return (uint32_t)(word >> 32); }
static inline uint32_t netlock_lower(uint64_t word) { return (uint32_t)word; }
static inline uint64_t netlock_pair(uint32_t upper, uint32_t lower) { return (uint64_t)upper << 32 | lower; }
/* Leases are measured in units of 1024 ns, modulo 2^32. */
static inline uint32_t netlock_time(uint64_t now_ns) { return (uint32_t)(now_ns >> 10); }
