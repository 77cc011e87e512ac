/*
 * lockmgr_algorithm.h - what an algorithm of the table implements, and what it may use. A new one is one file,
 * `lockmgr_NAME.c`, with one `const struct lockmgr_algorithm lockmgr_algorithm_NAME`, and one line in a table.
 */
#pragma once

#include "err.h"
#include "lockmgr.h"
#include "lockmgr_plants.h"

#define LOCKMGR_CLIENT_BYTES 4096 /* of registered memory that READs and WRITEs of a client may use */

/* All messages of locks: 64 bytes, little-endian, as they are in memory. */
struct lockmgr_message_wire {
    uint64_t lock;     /* 0: fabric_addr.bits of the lock */
    uint32_t client;   /* 8: of the receiving worker; LOCKMGR_NO_CLIENT: for the worker itself */
    uint16_t kind;     /* 12: the algorithm's */
    uint16_t magic;    /* 14: LOCKMGR_MAGIC */
    uint64_t words[6]; /* 16: the algorithm's */
};
_Static_assert(sizeof(struct lockmgr_message_wire) == FABRIC_MESSAGE_BYTES, "fits a SEND");
#define LOCKMGR_MAGIC 0x4c4b
#define LOCKMGR_NO_CLIENT UINT32_MAX

struct lockmgr_algorithm {
    const char *name, *about;
    const char *const *policies; /* NULL, or names up to a NULL; the first is the default */
    uint32_t promises;           /* enum lockmgr_promise */
    uint32_t room_policies;      /* bits: of which policies (bit 0 without any) config.capacity bounds a queue */
    bool wide;                   /* it uses FABRIC_WIDE_*, which not every fabric has */
    bool numbered;               /* it must be told where its locks are: config.lock_count; so do those in switches */
    bool times_itself; /* it fills in lockmgr_stats.times_ns; else its first operations, and the rest, are timed */
    /* Mandatory */
    uint64_t (*lock_bytes)(const struct lockmgr_config *config);
    /*
     * deadline_ns by the endpoint's clock. hold->lock, mode and client are set, words are zero, and it is among its
     * client's.
     */
    int (*acquire)(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns);
    int (*release)(struct coro *co, struct lockmgr_hold *hold);
    /* 0 if `bytes` show a lock without holders and waiters */
    int (*audit)(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error);
    /* With LOCKMGR_UPDATES: hold->mode is UPDATE. DEADLINE: it still is */
    int (*upgrade)(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns);
    /* NULL where there is nothing to do */
    uint32_t (*policy_promises)(const struct lockmgr_config *config); /* what depends on it, besides `promises` */
    int (*check)(const struct lockmgr_config *config, struct cellar_error *error);
    int (*open)(struct lockmgr *lockmgr, struct cellar_error *error); /* lockmgr->shared: its state for the CN */
    void (*close)(struct lockmgr *lockmgr);
    int (*worker_open)(struct lockmgr_worker *worker, struct cellar_error *error); /* worker->own likewise */
    void (*worker_close)(struct lockmgr_worker *worker);
    bool (*followed)(struct coro *co, struct lockmgr_hold *hold); /* as lockmgr_followed */
    /* Runs in the worker's loop: must not suspend. What needs the fabric is left to tend, or to the waiter. */
    void (*deliver)(struct lockmgr_worker *worker, const struct fabric_message *message,
                    const struct lockmgr_message_wire *wire);
    uint64_t (*tend)(struct coro *co, struct lockmgr_worker *worker);
    bool (*quiet)(const struct lockmgr_worker *worker); /* see lockmgr_quiet */
    /*
     * All locks end, and no call is under way: what that worker, and then (from another thread) what the CN keeps of
     * them is to be as at first.
     */
    void (*worker_forget)(struct lockmgr_worker *worker);
    void (*forget)(struct lockmgr *lockmgr);
    /* Of the lock server's workers, in place of those above. Without server_deliver the algorithm has no server. */
    int (*server_open)(struct lockmgr_worker *worker, struct cellar_error *error);
    void (*server_close)(struct lockmgr_worker *worker);
    void (*server_deliver)(struct lockmgr_worker *worker, const struct fabric_message *message,
                           const struct lockmgr_message_wire *wire);
    uint64_t (*server_tend)(struct coro *co, struct lockmgr_worker *worker);
    uint32_t server_promises; /* only where a server runs */
    /* 0 if that worker, or one of the server, keeps nothing of a lock at rest; NULL where lock bytes show all */
    int (*worker_audit)(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);
    int (*server_audit)(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);
    /* No client holds a lock or waits there, so that no release is on its way to it. NULL: it need not be so */
    bool (*server_quiet)(const struct lockmgr_worker *worker);
    /* Of a switch's worker, in place of those above: all of them, but for the audit, where there are switches. */
    uint32_t switches_max; /* 0: it needs none */
    int (*switch_open)(struct lockmgr_worker *worker, struct cellar_error *error);
    void (*switch_close)(struct lockmgr_worker *worker);
    void (*switch_deliver)(struct lockmgr_worker *worker, const struct fabric_message *message);
    uint64_t (*switch_tend)(struct coro *co, struct lockmgr_worker *worker);
    bool (*switch_quiet)(const struct lockmgr_worker *worker);
    void (*switch_fail)(struct lockmgr_worker *worker, uint64_t down_ns); /* as lockmgr_switch_fail */
    int (*switch_audit)(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);
};

/*
 * The table: those that there are, and NULL. It is chosen when a program is linked: lockmgr_table.c has the library's,
 * lab/locks/lockmgr_table.c the laboratory's.
 */
extern const struct lockmgr_algorithm *const lockmgr_algorithms[];

struct lockmgr {
    struct lockmgr_config config;
    const struct lockmgr_algorithm *algorithm;
    uint32_t policy;   /* index among the algorithm's */
    uint32_t promises; /* of that policy */
    uint32_t cn;
    bool serves;   /* it is the lock server's: no clients */
    bool switches; /* it is a switch: no clients either */
    uint32_t worker_count;
    struct fabric *fabric;
    void *shared;                    /* the algorithm's, for all workers of this CN */
    _Atomic uint64_t era;            /* odd: all locks end (lockmgr_halt.c) */
    uint64_t forgotten;              /* the era in which all that was known of locks was last forgotten */
    struct lockmgr_worker **workers; /* NULL while not open */
};

struct lockmgr_client {
    struct lockmgr_worker *worker;
    uint32_t number; /* of its worker's */
    uint32_t id;     /* of all clients of all CNs, from 1: what lock words name */
    struct sched_task *task;
    struct fabric_wait wait;
    atomic_bool signal;         /* there is something for this client: see lockmgr_signal */
    bool releasing;             /* operations count as the release's */
    uint32_t at_once;           /* operations of this acquire that were done when they had been posted */
    uint64_t first_ns;          /* when the call's first operations were done; 0: not yet */
    uint32_t slots;             /* leases to ask for at once */
    struct lockmgr_hold *holds; /* held and waited for */
    uint64_t old[8];            /* local memory of atomics, */
    struct fabric_wide wide;    /* ... and of one on 16 bytes */
    uint8_t *buffer;            /* LOCKMGR_CLIENT_BYTES of registered memory */
    struct lockmgr_stats stats;
    struct cellar_error reason; /* of the last call, if it has one of its own */
    uint64_t words[8];          /* the algorithm's, all zero at first (adaptive backoff and the like) */
};

#define LOCKMGR_LETTERS 64 /* messages of a worker that are under way without a waiter */

struct lockmgr_outbox {
    struct lockmgr_letter *under_way; /* LOCKMGR_LETTERS, `used` of them in use */
    uint8_t *bytes;                   /* registered, a message for each of these */
    struct lockmgr_letter *waiting;   /* ring, when all are in use; it grows */
    uint32_t head, tail, capacity;    /* head and tail run freely; capacity is 0 or a power of two */
    uint32_t used;
};

struct lockmgr_worker {
    struct lockmgr *lockmgr;
    uint32_t number;
    struct fabric_ep *ep;
    struct sched *sched;
    struct lockmgr_client *clients; /* clients_per_worker of them */
    uint8_t *buffers;
    struct lockmgr_client tender; /* for operations of tend: no lock word names it, its id is 0 */
    struct sched_task tender_task;
    struct lockmgr_outbox outbox;
    uint32_t client_count;
    bool stirred;         /* a message has come since tend last looked */
    bool awaits;          /* what tend has in hand waits for other CNs; the algorithm says so */
    _Atomic uint64_t era; /* the lock manager's, which it follows in its own thread */
    void *own;            /* the algorithm's */
};

/* ---- for algorithms ---- */

static inline const struct lockmgr_config *lockmgr_config_of(const struct lockmgr_hold *hold)
{
    return &hold->client->worker->lockmgr->config;
}
#define LOCKMGR_ERA_FIRST 2         /* eras are counted from here */
#define LOCKMGR_ERA_LEFT UINT64_MAX /* of a worker: it follows no more */
/*
 * All locks end, or have ended and the worker has not begun again: nothing is posted any more, and nothing is waited
 * for. A loop that neither posts nor looks at the time asks for itself. (INV-LOCKMGR-5)
 */
static inline bool lockmgr_ends(const struct lockmgr_worker *worker)
{
    uint64_t era = atomic_load_explicit(&worker->lockmgr->era, memory_order_acquire);
    return era % 2 || atomic_load_explicit(&worker->era, memory_order_relaxed) != era;
}
/* The end of time, where all locks end. */
static inline uint64_t lockmgr_now_ns(const struct lockmgr_client *client)
{
    return lockmgr_ends(client->worker) ? UINT64_MAX : fabric_now_ns(client->worker->ep);
}
static inline uint64_t lockmgr_below(const struct lockmgr_client *client, uint64_t bound)
{
    return prng_below(&client->worker->ep->prng, bound);
}
/* One batch, counted and awaited; 0 or the first failed operation's status, the worst being INDETERMINATE. */
NODISCARD int lockmgr_do(struct coro *co, struct lockmgr_client *client, struct fabric_op *ops, uint32_t count);
/* One atomic at the lock's word `word`: the old word in *old. */
NODISCARD int lockmgr_cas_word(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t compare,
                               uint64_t swap, uint64_t *old);
NODISCARD int lockmgr_faa_word(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t addend,
                               uint64_t *old);
/* READs `count` words of the lock from its word `word` into out. */
NODISCARD int lockmgr_read_words(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t *out,
                                 uint32_t count);
void lockmgr_sleep(struct coro *co, struct lockmgr_client *client, uint64_t ns);
/*
 * To worker `worker` of CN `cn`: wire->magic is set. Tries again while the inbox is full; UNREACHABLE: it stays so,
 * or that node is dead.
 */
NODISCARD int lockmgr_send(struct coro *co, struct lockmgr_client *client, uint32_t cn, uint32_t worker,
                           struct lockmgr_message_wire *wire);
/*
 * The same, without suspending, from anywhere in the worker's thread. Sent again while it may have been lost, unless
 * the receiver is dead: it may come twice, and two may come in another order.
 */
void lockmgr_queue(struct lockmgr_worker *worker, uint32_t to_cn, uint32_t to_worker,
                   const struct lockmgr_message_wire *wire);
/* Lets tend run soon: there is work for it that no message tells of. */
void lockmgr_stir(struct lockmgr_worker *worker);
/* lockmgr.c opens and closes the outbox; bytes: LOCKMGR_LETTERS messages' registered memory. */
NODISCARD int lockmgr_outbox_open(struct lockmgr_worker *worker, uint8_t *bytes);
/* Forgets all messages that are to be sent; false: some are still under way. */
bool lockmgr_outbox_forget(struct lockmgr_worker *worker);
/* The tender of a worker whose locks end: as lockmgr_tend. */
uint64_t lockmgr_rest(struct lockmgr_worker *worker);
void lockmgr_outbox_close(struct lockmgr_worker *worker);
/* Which of the server's workers looks after that lock. */
uint32_t lockmgr_server_of(const struct lockmgr_config *config, struct fabric_addr lock);
/* Which of config's locks it is, from 0: see lock_count. UINT64_MAX: none of them. */
uint64_t lockmgr_index_of(const struct lockmgr_config *config, uint64_t lock);
/* Where client `id` (see struct lockmgr_client) is. False: there is no such client. */
bool lockmgr_locate(const struct lockmgr_config *config, uint32_t id, uint32_t *cn, uint32_t *worker, uint32_t *client);
/* The hold of that lock of client number `client`; NULL: it has none. Check it: a message may be late, old or wrong. */
struct lockmgr_hold *lockmgr_find(struct lockmgr_worker *worker, uint32_t client, uint64_t lock);
/*
 * Suspends until the client is signalled, or until_ns; false: it was not. Signals may be for another hold, or old:
 * look again.
 */
bool lockmgr_wait(struct coro *co, struct lockmgr_client *client, uint64_t until_ns);
/* The server or switch that should answer is asked so often again, or more often: see lockmgr_unanswered. */
static inline uint64_t lockmgr_ask_again_ns(const struct lockmgr_config *config)
{
    return (config->silence_ns ? config->silence_ns : LOCKMGR_SILENCE_NS) / 8;
}
/*
 * A question of asked_ns to `who` is still without an answer. 0: ask again; -UNREACHABLE: that is lost. *silent_ns is
 * 0 at first, and again whenever it has said anything. Time in which the client itself stood still does not count: a
 * quarter of config.silence_ns a question at most.
 */
NODISCARD int lockmgr_unanswered(struct lockmgr_client *client, const char *who, uint64_t asked_ns,
                                 uint64_t *silent_ns);
/* -UNREACHABLE if the view says that `who`, which is on that compute node, is dead; else 0. */
NODISCARD int lockmgr_declared(struct lockmgr_client *client, const char *who, uint32_t cn);
/* The index of config->policy among the algorithm's policies; config was checked. */
uint32_t lockmgr_policy(const struct lockmgr_config *config);
/* From worker `from` of the same CN (any thread). */
void lockmgr_signal(struct lockmgr_worker *from, struct lockmgr_client *client);
/* As far as is known. */
static inline bool lockmgr_dead(const struct lockmgr *lockmgr, uint32_t cn)
{
    return lockmgr->config.view.dead && lockmgr->config.view.dead(lockmgr->config.view.arg, cn) &&
           !PLANT(lockmgr_dead_unseen);
}
/*
 * Was it dead when this was called? Looks again where it may have come meanwhile (INV-VIEW-1): by a client that is
 * about to do what a living one must not meet. False: it is not, or that is not known.
 */
bool lockmgr_surely_dead(struct coro *co, struct lockmgr_client *client, uint32_t cn);
/* What this compute node still owes to others is left to its recoverer. */
static inline bool lockmgr_stopped(const struct lockmgr *lockmgr)
{
    return lockmgr->config.view.stopped && lockmgr->config.view.stopped(lockmgr->config.view.arg);
}
