/*
 * shiftlock.h - what the files of ShiftLock share: the entry's fields, messages, a worker's state. lab/docs/locks.md
 * draws it.
 *
 *     word 0   epoch 1 | readers 23 | tail 40: client 24, ticket 16        word 1   released 40 | beat 8 | era 16
 */
#pragma once

#include "lockmgr_algorithm.h"

/* ---- the entry ---- */

#define SHIFTLOCK_EPOCH 1ull
#define SHIFTLOCK_READER_SHIFT 1
#define SHIFTLOCK_READER_BITS 23
#define SHIFTLOCK_READERS (((1ull << SHIFTLOCK_READER_BITS) - 1) << SHIFTLOCK_READER_SHIFT)
#define SHIFTLOCK_TAIL_SHIFT 24
#define SHIFTLOCK_TAIL (~0ull << SHIFTLOCK_TAIL_SHIFT)
#define SHIFTLOCK_CLIENT_BITS 24
#define SHIFTLOCK_RELEASED_BITS 40
#define SHIFTLOCK_RELEASED ((1ull << SHIFTLOCK_RELEASED_BITS) - 1)
#define SHIFTLOCK_BEAT (1ull << SHIFTLOCK_RELEASED_BITS)
#define SHIFTLOCK_ERA_SHIFT 48
#define SHIFTLOCK_ERA (~0ull << SHIFTLOCK_ERA_SHIFT)
/* The top bit of each field: epoch, readers, tail; released, beat, era. */
#define SHIFTLOCK_TOPS                                                                                                 \
    {                                                                                                                  \
        1ull | 1ull << 23 | 1ull << 63, 1ull << 39 | 1ull << 47 | 1ull << 63                                           \
    }

struct shiftlock_entry {
    uint64_t word[2];
};
static inline uint64_t shiftlock_readers(struct shiftlock_entry entry)
{
    return (entry.word[0] & SHIFTLOCK_READERS) >> SHIFTLOCK_READER_SHIFT;
}
static inline uint64_t shiftlock_tail(struct shiftlock_entry entry) { return entry.word[0] >> SHIFTLOCK_TAIL_SHIFT; }
static inline uint64_t shiftlock_released(struct shiftlock_entry entry) { return entry.word[1] & SHIFTLOCK_RELEASED; }
static inline uint16_t shiftlock_era(struct shiftlock_entry entry)
{
    return (uint16_t)(entry.word[1] >> SHIFTLOCK_ERA_SHIFT);
}
static inline bool shiftlock_era_after(uint16_t a, uint16_t b) { return (int16_t)(uint16_t)(a - b) > 0; }

/* ---- messages ---- */

enum shiftlock_kind {
    SHIFTLOCK_SUCCESSOR, /* to the one that the sender follows */
    SHIFTLOCK_HANDOVER,  /* the lock is yours */
    SHIFTLOCK_DRAIN,     /* the lock is yours once so many readers have released it */
    SHIFTLOCK_RECOVER,   /* to the server: nothing moves */
    /*
     * from the server: no client of yours takes this lock any more, in eras up to that one; tell me when none holds
     * it
     */
    SHIFTLOCK_FREEZE,
    SHIFTLOCK_FROZEN, /* to the server: so it is */
    SHIFTLOCK_THAW,   /* from the server: that is the era now, begin again */
};
/* Words of messages. Between clients: */
enum {
    SHIFTLOCK_TO,         /* the receiver's ticket, era above it */
    SHIFTLOCK_FROM,       /* SUCCESSOR: the sender as a tail */
    SHIFTLOCK_IN_A_ROW,   /* HANDOVER: writers in a row before the receiver */
    SHIFTLOCK_EXPECTED,   /* DRAIN: `released` to wait for */
    SHIFTLOCK_THEN_EPOCH, /* HANDOVER, DRAIN */
};
/* With the server: the era, or for RECOVER the words as they stood still. */

/* ---- a worker's state ---- */

/* A writer's place in the queue, from its swap on; in a hold, or in a ghost. */
struct shiftlock_place {
    uint64_t successor; /* as a tail; 0: none known */
    uint64_t expected;  /* grant is DRAIN: `released` to wait for */
    uint32_t in_a_row;  /* writers before this one since readers were let in */
    uint16_t era, ticket;
    /* with `floored`: eras up to this one are over, whatever an operation that was under way then brings back */
    uint16_t floor;
    bool floored;
    uint8_t epoch; /* as the entry has it, as long as this is the queue's head */
    uint8_t grant; /* 0, SHIFTLOCK_HANDOVER, SHIFTLOCK_DRAIN */
    bool era_known;
};

/* What has been seen of the entry, and since when it has not changed. */
struct shiftlock_watch {
    uint64_t word, epoch, since_ns, asked_ns;
};

/*
 * A writer's place whose client has given up, or has released and waits no longer for its successor: tend passes it
 * on.
 */
struct shiftlock_ghost {
    struct shiftlock_ghost *next;
    struct fabric_addr lock;
    uint32_t client;
    bool tried;       /* to leave as the last one: it has a successor */
    uint64_t tail;    /* its own, in the entry */
    uint64_t look_ns; /* when to look at the entry again */
    struct shiftlock_place place;
    struct shiftlock_watch watch;
};

/* A lock that the server resets, or has reset: nothing of eras up to `era` counts. */
struct shiftlock_frozen {
    struct fabric_addr lock;
    uint32_t server_worker;
    uint16_t era;
    bool told; /* the server that no client here holds it */
};

struct shiftlock_worker {
    struct shiftlock_frozen *frozen;
    uint32_t frozen_count, frozen_capacity;
    struct shiftlock_ghost *ghosts;
};

#define SHIFTLOCK_LEASE_NS 10000000
static inline uint64_t shiftlock_lease_ns(const struct lockmgr_config *config)
{
    return config->lease_ns ? config->lease_ns : SHIFTLOCK_LEASE_NS;
}

/* ---- shiftlock_recovery.c ---- */

/* Does nothing of that era count any more? */
bool shiftlock_is_frozen(const struct lockmgr_worker *worker, struct fabric_addr lock, uint16_t era);
/* The lock has been seen in that era: if it was frozen in an earlier one, that is over. */
void shiftlock_seen_era(struct lockmgr_worker *worker, struct fabric_addr lock, uint16_t era);
struct shiftlock_frozen *shiftlock_frozen_of(const struct lockmgr_worker *worker, struct fabric_addr lock);
/* Asks the server for recovery when the entry has stood still for too long; from a client's coroutine or from tend. */
void shiftlock_watch(struct lockmgr_client *client, struct fabric_addr lock, struct shiftlock_watch *watch,
                     struct shiftlock_entry entry);
/* NULL: no memory. */
struct shiftlock_ghost *shiftlock_ghost_new(struct lockmgr_client *client, struct fabric_addr lock, uint64_t tail,
                                            const struct shiftlock_place *place);
void shiftlock_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                       const struct lockmgr_message_wire *wire);
uint64_t shiftlock_tend(struct coro *co, struct lockmgr_worker *worker);

/* ---- shiftlock_server.c ---- */

int shiftlock_server_open(struct lockmgr_worker *worker, struct cellar_error *error);
void shiftlock_server_close(struct lockmgr_worker *worker);
void shiftlock_server_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                              const struct lockmgr_message_wire *wire);
uint64_t shiftlock_server_tend(struct coro *co, struct lockmgr_worker *worker);

/* ---- shiftlock.c ---- */

static inline struct shiftlock_place *shiftlock_place(struct lockmgr_hold *hold)
{
    return (struct shiftlock_place *)(void *)hold->words;
}
/* The place of `client`'s hold of that lock with that ticket; NULL: it has none. */
struct shiftlock_place *shiftlock_place_of(struct lockmgr_worker *worker, uint32_t client, uint64_t lock,
                                           uint16_t ticket);
/* One wide atomic on the entry, for a client or the tender. */
NODISCARD int shiftlock_wide(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                             enum fabric_op_kind kind, const struct fabric_wide *wide, struct shiftlock_entry *old);
NODISCARD int shiftlock_read(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                             struct shiftlock_entry *entry);
/* The queue's last writer leaves it and lets waiting readers in: true if it was the last one, of that era. */
NODISCARD int shiftlock_leave(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, uint64_t tail,
                              const struct shiftlock_place *place, struct shiftlock_entry *old);
/* The message that gives a place's grant to its successor; false: its tail names no client. */
bool shiftlock_pass(const struct lockmgr_config *config, struct fabric_addr lock, const struct shiftlock_place *place,
                    uint32_t *cn, uint32_t *worker, struct lockmgr_message_wire *wire);
