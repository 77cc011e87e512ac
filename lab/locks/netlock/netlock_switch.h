/*
 * netlock_switch.h - NetLock's switch: a program over register arrays, packet in, packets out (sections 4.2 to 4.4 of
 * its paper). No fabric: a node of one runs it (netlock_node.c), and lab/test/unit/test_netlock_switch.c holds it to a
 * plain queue.
 *
 *     packet ─> match lock ─> bounds ─> head ─> room ─> exclusives ─> holders ─> tail ─> slot ─> grant, forward, room
 *                  ^                                                                      │
 *                  └───────────────────────── recirculated: one more pass ────────────────┘
 *
 * In one pass a packet touches each array once at most, in the order of the stages, and at one index: the
 * registers refuse all else (fabric_switch.h). Between two passes of one packet others go through. All slots are one
 * array; each lock owns a region of it for each priority, used as a ring:
 *
 *     slots   ... | left  done  head>held  held  waits  <tail  free  right | ...         q1; q2 is at the lock server
 *
 * INV-NETLOCK-1  holders counts the slots that are held, and those given back whose packet has not yet come round
 *                again: never fewer
 * INV-NETLOCK-2  no client holds and one waits: a packet of that lock is on its way that will look
 * INV-NETLOCK-3  a slot is given back once, by the client and transaction that it names
 * INV-NETLOCK-4  room's backlog is `sent` less `returned`: requests that the server has, or that were lost on their
 *                way there
 * INV-NETLOCK-5  while there is a backlog only the server's pushes enter the queue, each once, in their order
 */
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

#define NETLOCK_PRIORITIES 4
#define NETLOCK_TENANTS 16
#define NETLOCK_SERVERS 64 /* workers of the lock server, at most */
#define NETLOCK_OUT 2      /* packets that one pass sends at most */
#define NETLOCK_ARRAYS_MAX 48
#define NETLOCK_AT_SERVER (1u << 31) /* in a grant's slot: a number of the server's, which granted it */
#define NETLOCK_BASE_SEQ                                                                                               \
    (1ull << 20) /* what a lock's forwarded requests are numbered from: room below for those that came before */
#define NETLOCK_SEQ_SHIFT 32 /* of prev, seq: the number of a request; below it those that follow it without a number */

#define NETLOCK_LATE UINT32_MAX /* client of a PROBE, and so of its answer: a packet has looked a while ago */

enum netlock_op {
    /* clients to the switch; what is not in its table it hands to the server */
    NETLOCK_ACQUIRE, /* client, txn, mode, priority, tenant. To the server: seq of one that overflowed */
    NETLOCK_RELEASE, /* client, txn, slot */
    NETLOCK_RENEW,   /* the same: the lease begins anew; seq comes back in the answer */
    NETLOCK_ASK,     /* client, txn: is that request there, at the switch or the server? */
    /* switch or server to clients */
    NETLOCK_GRANT,   /* txn, slot */
    NETLOCK_REJECT,  /* txn: the tenant is beyond its quota */
    NETLOCK_RENEWED, /* txn, seq */
    NETLOCK_DENIED,  /* txn, seq: that slot is not yours */
    NETLOCK_HERE,    /* txn */
    /* server to switch: data plane */
    NETLOCK_PUSH,  /* prev -> seq; a request from q2, or client 0: those between were lost */
    NETLOCK_PROBE, /* tell me the room */
    /* switch to server: */
    NETLOCK_NOTIFY, /* prev: returned, seq: sent, slot: free, priority; requests and peak since the last time */
    /* server to the switch's control plane, and its answers; all name `move` */
    NETLOCK_PREPARE, /* slot, seq: left and slots of a region */
    NETLOCK_PREPARED,
    NETLOCK_INSTALL, /* prev, seq: requests that wait at the server already, by priority, 32 bits each */
    NETLOCK_INSTALLED,
    NETLOCK_CLOSE,
    NETLOCK_REMOVED,
    NETLOCK_HELLO, /* a new life of the switch has begun: its registers are empty */
    NETLOCK_HEARD,
    /* within the switch */
    NETLOCK_EXPIRE, /* its control plane: prev is the time of the lease that is over */
    NETLOCK_RETIRE, /* recirculated: a slot was given back */
    NETLOCK_TAKE,   /* recirculated: the next one */
    NETLOCK_OPS
};
enum netlock_tag {
    NETLOCK_SECONDARY = 1, /* ACQUIRE: the switch grants this lock, the server only keeps the request */
    NETLOCK_POP = 2,       /* RETIRE: the head is done, if it still is the one of `seq` */
    NETLOCK_LEAVE = 4,     /* RETIRE: a holder less */
    NETLOCK_CREDIT = 8,    /* TAKE: counted among the holders already */
};

struct netlock_packet {
    uint64_t lock;
    uint32_t client, txn;
    uint32_t slot, incarnation; /* incarnation: the switch's life, in all that it sends */
    uint64_t prev, seq;
    uint32_t move; /* PUSH to REMOVED: which move has brought the lock here; the server worker's numbers */
    uint8_t op, mode, priority;
    uint8_t tag : 4, tenant : 4;
    uint32_t requests, peak;
};

enum netlock_to { NETLOCK_TO_CLIENT, NETLOCK_TO_SERVER, NETLOCK_AGAIN };
struct netlock_out {
    uint32_t count;
    enum netlock_to to[NETLOCK_OUT];
    struct netlock_packet packets[NETLOCK_OUT];
};

struct netlock_switch_config {
    uint32_t slots, locks; /* slots of the shared queue; locks in the table at once */
    uint32_t priorities, tenants;
    uint64_t quota_ns; /* of each tenant: a request each so many ns; 0: no limit */
    uint32_t burst;    /* requests that a tenant may be ahead of that */
};

/* Register arrays, numbered as netlock_switch_shape says, all zero at first. */
struct netlock_shape {
    const char *name;
    uint32_t stage, cells;
};
struct netlock_registers {
    uint64_t *(*cell)(void *arg, uint32_t array, uint32_t index);            /* within a pass */
    uint64_t (*peek)(void *arg, uint32_t array, uint32_t index);             /* the control plane's */
    void (*poke)(void *arg, uint32_t array, uint32_t index, uint64_t value); /* the same */
    void *arg;
};

struct netlock_switch;

/* The arrays that such a switch needs: their number; shapes has room for NETLOCK_ARRAYS_MAX. */
uint32_t netlock_switch_shape(const struct netlock_switch_config *config, struct netlock_shape *shapes);
/* NULL: no memory. */
struct netlock_switch *netlock_switch_new(const struct netlock_switch_config *config,
                                          const struct netlock_registers *registers);
void netlock_switch_free(struct netlock_switch *sw);
/* A new life begins: all registers are zero, and nothing is under way. Packets of other lives are void. */
void netlock_switch_restart(struct netlock_switch *sw, uint32_t incarnation);
/* One pass. *out is overwritten. */
void netlock_switch_pass(struct netlock_switch *sw, const struct netlock_packet *packet, uint64_t now_ns,
                         struct netlock_out *out);
/*
 * The control plane: PREPARE, INSTALL, CLOSE, each again as often as it comes; the answer, if any, is in *out.
 * client: the server's worker, which numbers its moves from 1. incarnation: the switch's, else the packet is void.
 */
void netlock_switch_control(struct netlock_switch *sw, const struct netlock_packet *packet, struct netlock_out *out);
/*
 * A turn of the control plane: looks at `cells` registers at most, where the last turn has stopped, and calls
 * expire() with a packet for each lease that has run out, or whose client is gone (NULL: none is). The caller lets
 * them through the data plane. True: once around.
 */
struct netlock_poll {
    uint64_t now_ns, lease_ns;
    uint32_t cells;
    bool (*gone)(void *arg, uint32_t client);
    void (*expire)(void *arg, const struct netlock_packet *packet);
    void *arg;
};
bool netlock_switch_poll(struct netlock_switch *sw, const struct netlock_poll *poll);

struct netlock_switch_stats {
    uint64_t passes, recirculated, granted, forwarded, rejected, expired, dropped;
    uint32_t locks, slots_used; /* now */
};
const struct netlock_switch_stats *netlock_switch_stats(const struct netlock_switch *sw);
/*
 * 0, or -CORRUPT: a client holds or waits, or the registers of that lock (0: of any) contradict each other, though
 * nothing is under way.
 */
NODISCARD int netlock_switch_audit(const struct netlock_switch *sw, uint64_t lock, struct cellar_error *error);
