/*
 * netchain.h - exclusive locks in registers of a chain of switches (NetChain, NSDI '18, as NetLock's authors used it
 * for locks): what its clients, its switches and its controller tell each other.
 *
 *     client ── SWAP from -> to ──> head ── CHAIN ──> next ── CHAIN ──> tail ── DONE ──> client
 *                                     └── BUSY: another client's ─────────────────────────^   it tries again
 *
 * A lock is a register: its holder, as client and ticket, 0: none; and a sequence number by which a replica tells
 * older updates. Packets may be lost and come late or twice, so a SWAP that finds its work done is told so again, and
 * a grant without a waiter is taken back by the client that it was for.
 *
 * The controller (the lock server's first worker) numbers the configurations of the chain: epochs.
 *   INV-NETCHAIN-1  what a switch or a client does for a packet, it does only in the packet's own epoch
 *   INV-NETCHAIN-2  a grant has passed all switches of its epoch's chain; a chain that only lost members goes on with
 *                   all that was granted
 *   INV-NETCHAIN-3  an epoch whose chain has a switch without state (it was lost, or comes new) begins when every
 *                   worker that lives has come into it, refusing grants of older ones, and has told what it holds and
 *                   is not releasing
 *   INV-NETCHAIN-4  a switch takes orders only for the incarnation that it is: those for what it was before it failed
 *                   are void
 */
#pragma once

#include "lockmgr_algorithm.h"

#define NETCHAIN_LOCKS 131072 /* registers of 8 bytes in one stage */
#define NETCHAIN_SWITCHES 3
#define NETCHAIN_LEASE_NS                                                                                              \
    10000000ull /* without a lease to go by: a switch is given up when it was silent for so long */

/* The register of a lock: holder 32 | sequence 32; a holder: client 16 | ticket 16. */
static inline uint64_t netchain_cell(uint32_t holder, uint32_t sequence) { return (uint64_t)holder << 32 | sequence; }
static inline uint32_t netchain_holder(uint64_t cell) { return (uint32_t)(cell >> 32); }
static inline uint32_t netchain_sequence(uint64_t cell) { return (uint32_t)cell; }
static inline uint32_t netchain_holder_of(uint32_t id, uint64_t ticket) { return id << 16 | (ticket & 0xffff); }
static inline uint32_t netchain_client(uint32_t holder) { return holder >> 16; }

/*
 * A switch's own register: epoch 32 | incarnation 16 | next 8 | flags 8; next: which switch comes after it,
 * NETCHAIN_TAIL: none.
 */
#define NETCHAIN_TAIL 0xffu
enum netchain_flags { NETCHAIN_HEAD = 1, NETCHAIN_RUNS = 2 };
static inline uint64_t netchain_role(uint32_t epoch, uint32_t incarnation, uint32_t next, uint32_t flags)
{
    return (uint64_t)epoch << 32 | (uint64_t)(incarnation & 0xffff) << 16 | (uint64_t)next << 8 | flags;
}
static inline uint32_t netchain_epoch(uint64_t role) { return (uint32_t)(role >> 32); }
static inline uint32_t netchain_incarnation(uint64_t role) { return (uint32_t)(role >> 16) & 0xffff; }
static inline uint32_t netchain_next(uint64_t role) { return (uint32_t)(role >> 8) & 0xff; }

enum netchain_kind {
    /* to a switch */
    NETCHAIN_SWAP = 1,
    NETCHAIN_LOAD, /* the controller's: whatever is there becomes `to`, while the chain does not run */
    NETCHAIN_CHAIN,
    NETCHAIN_PING,
    NETCHAIN_CONFIGURE, /* words[1]: its role; to the control plane, as is */
    NETCHAIN_RESTART,   /* words[1]: with that incarnation's state */
    /* to a client, or to the controller that loads */
    NETCHAIN_DONE,
    NETCHAIN_BUSY,
    /* controller and workers; words[0]: epoch, and which switch is the head */
    NETCHAIN_PONG,   /* a switch's: words[1] is its role */
    NETCHAIN_WHICH,  /* a worker asks for */
    NETCHAIN_VIEW,   /* ... this */
    NETCHAIN_REPORT, /* the controller asks for the first hold after (words[1] client, lock): */
    /* ... words[1] client, words[2] holder, of that lock; words[3], words[4]: client and lock of the question */
    NETCHAIN_HOLD,
    NETCHAIN_END,  /* ... there is none after words[3], words[4] */
    NETCHAIN_QUERY /* does that worker still know of holder words[1]? else it takes it back */
};

/* Of packets that go through the chain: words[0]: epoch 32 | the one to answer: compute node 16, worker 16. */
static inline uint64_t netchain_route(uint32_t epoch, uint32_t cn, uint32_t worker)
{
    return (uint64_t)epoch << 32 | (uint64_t)(cn & 0xffff) << 16 | (worker & 0xffff);
}
static inline uint32_t netchain_route_cn(uint64_t route) { return (uint32_t)(route >> 16) & 0xffff; }
static inline uint32_t netchain_route_worker(uint64_t route) { return (uint32_t)route & 0xffff; }
/* words[1]: from 32 | to 32: holders. words[2]: netchain_cell as it is after the head, or as a BUSY found it. */
static inline uint64_t netchain_change(uint32_t from, uint32_t to) { return (uint64_t)from << 32 | to; }
static inline uint32_t netchain_from(uint64_t change) { return (uint32_t)(change >> 32); }
static inline uint32_t netchain_to(uint64_t change) { return (uint32_t)change; }

static inline uint64_t netchain_lease_ns(const struct lockmgr_config *config)
{
    return config->lease_ns ? config->lease_ns : NETCHAIN_LEASE_NS;
}

int netchain_switch_open(struct lockmgr_worker *worker, struct cellar_error *error);
void netchain_switch_close(struct lockmgr_worker *worker);
void netchain_switch_deliver(struct lockmgr_worker *worker, const struct fabric_message *message);
uint64_t netchain_switch_tend(struct coro *co, struct lockmgr_worker *worker);
bool netchain_switch_quiet(const struct lockmgr_worker *worker);
void netchain_switch_fail(struct lockmgr_worker *worker, uint64_t down_ns);
int netchain_switch_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);

int netchain_controller_open(struct lockmgr_worker *worker, struct cellar_error *error);
void netchain_controller_close(struct lockmgr_worker *worker);
void netchain_controller_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                                 const struct lockmgr_message_wire *wire);
uint64_t netchain_controller_tend(struct coro *co, struct lockmgr_worker *worker);
