/*
 * fabric_shm_internal.h - what the files of the shm backend share; no other file includes it.
 *
 *   fabric_shm.c          open, control, spawn, wait, wake, idle, poll, close
 *   fabric_shm_exec.c     post: the operations themselves; the hot path
 *   fabric_shm_mailbox.c  messages: stacks of buffers in memory shared by all compute nodes
 *   fabric_word.c     threads that wait for a count to be 0
 *   fabric_shm_memory.c   mapping: anonymous, files, received descriptors
 *   fabric_shm_pool.c     a pool file, its locks, and its door
 *   fabric_shm_roll.c     which process has which compute nodes of a pool file; their messages; fencing them
 *   fabric_shm_clock.c    nanoseconds, from the time-stamp counter where that can be trusted
 *   fabric_shm_attach.c   a compute-node process and its memory-node processes
 *   fabric_shm_memnode.c  the memory-node process
 */
#pragma once

#include "fabric_shm.h"

#include <pthread.h>

#define FABRIC_SHM_WORKERS_MAX 128      /* of each compute node: sizes the mailbox segment */
#define FABRIC_SHM_BUFFERS 512          /* messages of one endpoint that are not taken yet */
#define FABRIC_SHM_DELAYED_BATCHES 4096 /* in flight per endpoint, when completions are delayed */
#define FABRIC_SHM_SPIN_NS 20000        /* idle spins so long before it sleeps */

/* ---- memory ---- */

/*
 * One memory node, as the hot path sees it: `limit` is 0 once it is dead, so that one comparison covers bounds and
 * death.
 */
struct fabric_shm_node {
    unsigned char *base;
    uint64_t limit;
};

struct fabric_shm_mapping {
    void *base;
    uint64_t bytes;
};

NODISCARD int fabric_shm_map_anonymous(struct fabric_shm_mapping *mapping, uint64_t bytes, struct cellar_error *error);
NODISCARD int fabric_shm_map_file(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes,
                                  struct cellar_error *error);
/* A pool file that is only looked at may have holes. */
NODISCARD int fabric_shm_map_private(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes,
                                     struct cellar_error *error);
/* A sealed memfd of exactly that size. */
NODISCARD int fabric_shm_map_fd(struct fabric_shm_mapping *mapping, int fd, uint64_t bytes, struct cellar_error *error);
void fabric_shm_unmap(struct fabric_shm_mapping *mapping);
/* Refuses what this host can never hold. */
NODISCARD int fabric_shm_memory_check(uint32_t nodes, uint64_t bytes, struct cellar_error *error);

/* ---- clock ---- */

struct fabric_shm_clock {
    bool tsc;            /* else CLOCK_MONOTONIC */
    uint64_t base_ticks; /* the time-stamp counter at base_ns */
    uint64_t base_ns;
    uint64_t ns_per_tick; /* 32.32 fixed point */
};

__extension__ typedef unsigned __int128 fabric_shm_wide;

void fabric_shm_clock_open(struct fabric_shm_clock *clock);
uint64_t fabric_shm_clock_monotonic_ns(void);

static inline uint64_t fabric_shm_clock_ns(const struct fabric_shm_clock *clock)
{
#if defined(__x86_64__)
    if (clock->tsc) {
        uint64_t ticks = __builtin_ia32_rdtsc() - clock->base_ticks;
        return clock->base_ns + (uint64_t)(((fabric_shm_wide)ticks * clock->ns_per_tick) >> 32);
    }
#endif
    return fabric_shm_clock_monotonic_ns();
}

/* ---- mailboxes ---- */

/*
 * Of one endpoint: the stack of messages that its owner has not taken yet. A sender fills one of its own buffers and
 * pushes it by one CAS, so that a sender killed at any instruction leaves the stack whole (it loses at most that
 * buffer).
 */
struct fabric_shm_mailbox_wire {
    uint64_t stack;    /* OPEN (bit 63) | messages (bits 32..47) | 1 + index of the newest buffer, or 0 (bits 0..31) */
    uint32_t doorbell; /* futex; changed by threads that want the owner's attention */
    uint32_t sleeping; /* the owner is in, or about to enter, futex wait */
    uint8_t zero[48];
};
_Static_assert(sizeof(struct fabric_shm_mailbox_wire) == 64, "a line of its own");

struct fabric_shm_buffer_wire {
    uint32_t sent; /* 1 from the push until the receiver has copied it out */
    uint32_t next; /* 1 + index of the buffer below, 0 at the bottom */
    uint32_t from_cn, from_worker, size_bytes, zero;
    uint8_t bytes[FABRIC_MESSAGE_BYTES];
    uint8_t tail[40];
};
_Static_assert(sizeof(struct fabric_shm_buffer_wire) == 128, "two lines");

/*
 * The segment that all compute nodes share beside the regions; with memory-node processes the one that the first node
 * 0 made.
 */
struct fabric_shm_mailboxes {
    struct fabric_shm_mapping mapping;
    struct fabric_shm_mailbox_wire *boxes;  /* [cn][worker] */
    struct fabric_shm_buffer_wire *buffers; /* [cn][worker][FABRIC_SHM_BUFFERS] */
    uint32_t endpoints;
};

uint64_t fabric_shm_mailbox_bytes(uint32_t cn_count);
/* Lays the segment out in a mapping of fabric_shm_mailbox_bytes(cn_count). */
void fabric_shm_mailbox_bind(struct fabric_shm_mailboxes *mailboxes, struct fabric_shm_mapping mapping,
                             uint32_t cn_count);
/*
 * Refuses further messages and gives the buffers of untaken ones back; of an endpoint that no worker runs (any more).
 */
void fabric_shm_mailbox_close(struct fabric_shm_mailboxes *mailboxes, uint32_t cn, uint32_t worker);
struct fabric_shm_mailbox_wire *fabric_shm_mailbox_open(struct fabric_shm_mailboxes *mailboxes, uint32_t cn,
                                                        uint32_t worker);

/* ---- pool files (docs/pool-files.md) ---- */

struct fabric_shm_roll_wire; /* fabric_shm_roll.c */

struct fabric_shm_pool {
    char *path;                        /* NULL: there is no pool file */
    int fd;                            /* its locks are this description's */
    bool private;                      /* it is only looked at */
    bool created, fresh;               /* by this open; it was empty */
    bool door;                         /* held: no other process comes or goes */
    bool entered;                      /* it is in the roll */
    uint64_t bytes;                    /* 0 until it has a size */
    char *roll_path;                   /* NULL: this process has the file for itself */
    struct fabric_shm_mapping roll;    /* the file beside it */
    struct fabric_shm_roll_wire *wire; /* its head */
    int roll_fd;
};

struct fabric_shm;

/* Region 0 is the file, opened or made; and what other processes have of it is found. */
NODISCARD int fabric_shm_pool_open(struct fabric_shm *shm, const struct fabric_shm_config *config,
                                   struct cellar_error *error);
void fabric_shm_pool_close(struct fabric_shm *shm);
/* FABRIC_DOOR_TAKE and FABRIC_DOOR_GIVE. */
NODISCARD int fabric_shm_pool_door(struct fabric_shm *shm, bool take, struct cellar_error *error);
/* Does any process have that compute node's index, but this one? */
bool fabric_shm_pool_taken(const struct fabric_shm_pool *pool, uint32_t cn, uint32_t cns);
/* Takes the indexes for this process, or gives them back. False: another one has them. */
bool fabric_shm_pool_claim(const struct fabric_shm_pool *pool, uint32_t cn, uint32_t cns);
void fabric_shm_pool_give(const struct fabric_shm_pool *pool, uint32_t cn, uint32_t cns);

/* Was the process killed that made the pool file, before it was whole? */
bool fabric_shm_roll_unmade(const struct fabric_shm_pool *pool);
/* The door is held: alone it is made anew, else joined; sets the fabric's cn_count, and the mailboxes. */
NODISCARD int fabric_shm_roll_open(struct fabric_shm *shm, bool alone, struct cellar_error *error);
/* The pool file is whole from now on. */
void fabric_shm_roll_made(struct fabric_shm_pool *pool);
/* This process is the owner of its indexes, or is no more. */
void fabric_shm_roll_sign(struct fabric_shm *shm, bool in);
void fabric_shm_roll_close(struct fabric_shm *shm, bool last);
/* The memory of messages that this endpoint sends. */
NODISCARD int fabric_shm_roll_buffers(struct fabric_shm *shm, uint32_t cn, uint32_t worker, struct cellar_error *error);
void fabric_shm_roll_life(struct fabric_shm *shm, uint64_t life);
NODISCARD int fabric_shm_roll_fence(struct fabric_shm *shm, const struct fabric_control *control,
                                    struct cellar_error *error);

/* ---- the fabric and its endpoints ---- */

/* A batch whose completion is delayed. */
struct fabric_shm_delayed {
    uint64_t due_ns;
    struct fabric_wait *wait;
    const struct fabric_op *ops;
    uint32_t count, failed;
};

struct fabric_shm_ep {
    struct fabric_ep ep;
    uint32_t post_sequence; /* odd while a post runs: lets a killer of a node wait for posts that began before */
    uint32_t doorbell_seen;
    struct fabric_shm_mailbox_wire *mailbox;
    uint32_t taken; /* messages taken off the stack that the inbox has no room for yet: 1 + index of the oldest, 0 */
    uint32_t next_buffer;               /* where to look for a free one */
    uint32_t order_word;                /* of fence_full */
    struct fabric_shm_delayed *delayed; /* ring, or NULL without delay */
    uint32_t delayed_head, delayed_tail;
    pthread_t thread;
    bool spawned;
    fabric_worker_fn worker_fn;
    void *worker_arg;
    struct fabric_shm_ep *next;
};

struct fabric_shm {
    struct fabric fabric;
    struct fabric_shm_node nodes[FABRIC_NODES_MAX];
    struct fabric_shm_clock clock;
    struct fabric_shm_mailboxes mailboxes;
    uint64_t rtt_ns;
    uint32_t cns;     /* compute nodes that this process may open endpoints of, from fabric.cn_first on */
    uint64_t life;    /* which one they are; 0: it was not said yet */
    bool attached;    /* the regions belong to memory-node processes */
    uint64_t opening; /* random: tells memory nodes one that comes back from another one of the same process */
    struct fabric_shm_mapping regions[FABRIC_NODES_MAX];
    struct fabric_shm_pool pool;
    int sockets
        [FABRIC_NODES_MAX]; /* attached: the connection to each memory-node process; -1: it was not there at open */
    int mailbox_fd;         /* attached: the segment that all compute nodes of the pool use, for fresh memory nodes */
    char *socket_paths[FABRIC_NODES_MAX];
    int watch_stop_fd; /* eventfd that ends the watching thread; -1 when there is none */
    pthread_t watcher;
    pthread_mutex_t lock; /* guards endpoints, and node deaths against each other */
    struct fabric_shm_ep *endpoints;
};

void fabric_shm_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait);
/* FIELD_FAA and wide atomics; remote is mapped as far as size_bytes. */
NODISCARD int fabric_shm_execute_wide(const struct fabric_op *op, void *remote);
/*
 * Rule 6: the operations and their local memory still exist when they complete. Checked in AddressSanitizer builds
 * only.
 */
void fabric_shm_check_local(const struct fabric_op *ops, uint32_t count);

NODISCARD int fabric_shm_send(struct fabric_shm_ep *sep, const struct fabric_op *op);
/* Moves messages to the inbox as long as it has room. */
void fabric_shm_receive(struct fabric_shm_ep *sep);
/* Gives the buffers of messages back that the inbox had no room for. */
void fabric_shm_drop_taken(struct fabric_shm_ep *sep);
static inline bool fabric_shm_has_messages(const struct fabric_shm_ep *sep)
{
    return sep->taken != 0 || (uint32_t)__atomic_load_n(&sep->mailbox->stack, __ATOMIC_SEQ_CST) != 0;
}
/* Rings the doorbell, and wakes the owner if it sleeps. */
void fabric_shm_ring(struct fabric_shm_mailbox_wire *mailbox);

/* The bytes of the mailboxes, and where the buffers of that endpoint lie among them. */
uint64_t fabric_shm_mailbox_boxes_bytes(uint32_t cn_count);
uint64_t fabric_shm_mailbox_buffers_at(uint32_t cn_count, uint32_t cn, uint32_t worker);

/* pthread_create with all signals blocked: they are the program's own threads' affair. */
NODISCARD int fabric_shm_thread(pthread_t *thread, void *(*fn)(void *), void *arg);
/* From its return on no operation of this process reaches the node. */
void fabric_shm_node_stop(struct fabric_shm *shm, uint32_t node);

/* Connects to all memory-node processes and maps what they hand out. */
NODISCARD int fabric_shm_attach(struct fabric_shm *shm, const struct fabric_shm_config *config,
                                struct cellar_error *error);
/* Has the memory-node process ended to which this one is attached? */
bool fabric_shm_hung_up(const struct fabric_shm *shm, uint32_t node);
/* Attaches to the memory node that listens in the place of a lost one, and maps its region where that one's was. */
NODISCARD int fabric_shm_reattach(struct fabric_shm *shm, uint32_t node, struct cellar_error *error);
/* Starts the thread that stops a node when its process dies. */
NODISCARD int fabric_shm_watch(struct fabric_shm *shm, struct cellar_error *error);
void fabric_shm_watch_end(struct fabric_shm *shm);
/* Says good-bye and hangs up; nothing may be mapped any more, since our compute-node indexes are free from then on. */
void fabric_shm_detach(struct fabric_shm *shm);
NODISCARD int fabric_shm_fence(struct fabric_shm *shm, const struct fabric_control *control,
                               struct cellar_error *error);
/* All compute nodes of this process are that life from now on. */
NODISCARD int fabric_shm_life(struct fabric_shm *shm, uint64_t life, struct cellar_error *error);

void fabric_shm_futex_wake(uint32_t *word, uint32_t count);
/* Returns when woken, when *word != seen, after timeout_ns (UINT64_MAX: never), or for no reason. */
void fabric_shm_futex_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns);
