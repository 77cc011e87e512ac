/*
 * fabric_verbs_internal.h - what the files of the verbs backend share; no other file includes it.
 *
 *   fabric_verbs.c           open, control, spawn, wait, wake, idle, close
 *   fabric_verbs_post.c      post and reap: rings, doorbell batches, completions; the hot path
 *   fabric_verbs_link.c      a compute node's connections: made, broken, made again; the thread that does so
 *   fabric_verbs_inbox.c     messages received: the listener of a compute-node process, and the thread that serves it
 *   fabric_verbs_cm.c        one connection request, start to end; devices, queue pairs, addresses
 *   fabric_verbs_local.c     registered local memory
 *   fabric_verbs_memnode.c   the memory-node process
 *   fabric_verbs_mlx5.c      masked atomics by direct verbs
 *   fabric_verbs_wire.c, _masked.c   without verbs: requests and proofs; masked atomics
 */
#pragma once

#include "fabric_verbs.h"
#include "fabric_verbs_masked.h"
#include "fabric_verbs_wire.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#define FABRIC_VERBS_WORKERS_MAX 128 /* of each compute node */
#define FABRIC_VERBS_RING 4096  /* operations of one endpoint to one node that have not completed; a power of two */
#define FABRIC_VERBS_DEPTH 256  /* of these, how many the device is given at a time */
#define FABRIC_VERBS_CHAIN 32   /* work requests of one post */
#define FABRIC_VERBS_READS 16   /* READs and atomics outstanding on a queue pair */
#define FABRIC_VERBS_WINDOW 256 /* messages on their way from one worker to another */
#define FABRIC_VERBS_SENDERS 64 /* workers that send to one worker */
#define FABRIC_VERBS_PATIENCE_MS 6000         /* for an answer: processes of loaded machines stand still for seconds */
#define FABRIC_VERBS_SOFTWARE_VENDOR 0xffffff /* what soft-RoCE calls itself */

/* ---- connection requests (fabric_verbs_cm.c) ---- */

/* One end of a connection, or of an attempt at one. */
struct fabric_verbs_cm {
    struct rdma_event_channel *channel; /* of its own while it is made; NULL once moved to one that is watched */
    struct rdma_cm_id *id;
    struct ibv_qp *qp;
};

struct fabric_verbs_target {
    char text[80]; /* as it was named, for messages */
    struct sockaddr_storage address;
    const uint32_t *given_up; /* atomic; set: it is not waited for any more. Or NULL */
};

/* "ADDRESS[:PORT]"; IPv6 in brackets. */
NODISCARD int fabric_verbs_target_parse(struct fabric_verbs_target *target, const char *text,
                                        struct cellar_error *error);
/* IPv6, or IPv4 mapped into it: 16 bytes to compare and to send. */
void fabric_verbs_address_bytes(const struct sockaddr *address, uint8_t bytes[16]);
void fabric_verbs_target_of(struct fabric_verbs_target *target, const uint8_t bytes[16], uint16_t port);

/* Makes the queue pair of a connection on that device, once it is known. */
typedef struct ibv_qp *(*fabric_verbs_make_fn)(void *arg, struct ibv_context *device);

/*
 * HELLO, then the request with its proof. 0: accepted, established, the answer's proof checked; cm is the caller's
 * until fabric_verbs_cm_drop. Else the answer's own code (its text in *error), UNREACHABLE without an answer in time,
 * or SYSTEM. FENCE has no queue pair (make is NULL), and returns what the answer says.
 */
NODISCARD int fabric_verbs_ask(const struct fabric_verbs_target *target, const struct fabric_verbs_secret *secret,
                               struct fabric_verbs_request_wire *request, fabric_verbs_make_fn make, void *arg,
                               struct fabric_verbs_cm *cm, struct fabric_verbs_reply_wire *reply,
                               struct cellar_error *error);
/* Moves a connection's events to a channel that is watched, with `context` to know it by. */
NODISCARD int fabric_verbs_cm_move(struct fabric_verbs_cm *cm, struct rdma_event_channel *channel, void *context);
void fabric_verbs_cm_drop(struct fabric_verbs_cm *cm);
/* INIT, RTR, RTS: from what the connection manager has learned. */
NODISCARD int fabric_verbs_qp_ready(struct rdma_cm_id *id, struct ibv_qp *qp);
void fabric_verbs_qp_stop(struct ibv_qp *qp);
NODISCARD int fabric_verbs_accept(struct rdma_cm_id *id, struct ibv_qp *qp,
                                  const struct fabric_verbs_reply_wire *reply);
void fabric_verbs_reject(struct rdma_cm_id *id, const struct fabric_verbs_reply_wire *reply);
/*
 * INV-VERBS-10. A channel for a thread that polls for events: one that was there may be gone when it is fetched, with
 * its id, which another thread destroyed.
 */
struct rdma_event_channel *fabric_verbs_watched_channel(void);
/* A listener on its own channel; *error says what is wrong with the device behind the address. */
NODISCARD int fabric_verbs_listen(const struct fabric_verbs_target *at, struct rdma_event_channel **channel,
                                  struct rdma_cm_id **id, struct cellar_error *error);
/* Is there any device at all, and is the port of this one up? */
NODISCARD int fabric_verbs_devices_check(struct cellar_error *error);
NODISCARD int fabric_verbs_port_check(struct rdma_cm_id *id, struct cellar_error *error);
NODISCARD int fabric_verbs_random(void *bytes, size_t count, struct cellar_error *error);
void fabric_verbs_register_failed(struct cellar_error *error, const char *what, uint64_t bytes);
uint32_t fabric_verbs_now_ms(void);
uint64_t fabric_verbs_now_ns(void);

/* ---- registered local memory (fabric_verbs_local.c) ---- */

struct fabric_verbs_piece {
    uintptr_t first, end;
    uint32_t lkey;
};
/* By address, without overlaps. */
struct fabric_verbs_pieces {
    struct fabric_verbs_piece *pieces;
    uint32_t count, version;
};
struct fabric_verbs_local {
    pthread_mutex_t lock;
    struct fabric_verbs_pieces all;
    struct ibv_mr **mrs;
    uint32_t mr_count;
};

NODISCARD int fabric_verbs_local_add(struct fabric_verbs_local *local, struct ibv_pd *pd, void *base, uint64_t bytes,
                                     struct cellar_error *error);
NODISCARD int fabric_verbs_local_forget(struct fabric_verbs_local *local, void *base, uint64_t bytes);
void fabric_verbs_local_close(struct fabric_verbs_local *local);
/* The key of registered memory, or false. `copy` is the endpoint's own, brought up to date when it must be. */
bool fabric_verbs_local_key(struct fabric_verbs_local *local, struct fabric_verbs_pieces *copy, const void *base,
                            uint64_t bytes, uint32_t *lkey);

/* ---- links ---- */

enum fabric_verbs_state {
    FABRIC_VERBS_IDLE,   /* no connection: the first operation asks for one */
    FABRIC_VERBS_BROKEN, /* the linking thread's: to be made, or made again. All others are the worker's */
    FABRIC_VERBS_READY,
    FABRIC_VERBS_DEAD,  /* there is none: UNREACHABLE */
    FABRIC_VERBS_FENCED /* this compute node was declared dead */
};

struct fabric_verbs_entry {
    struct fabric_op *op;
    struct fabric_wait *wait;
};

/* One connection of an endpoint: to a memory node, or to another worker. */
struct fabric_verbs_link {
    struct fabric_verbs_ep *vep;
    uint32_t state;   /* enum fabric_verbs_state; atomic: it says whose the link is */
    uint32_t hung_up; /* atomic, set by the thread that learns that the other side is gone */
    uint32_t index;   /* in the endpoint's links */
    uint32_t node;    /* of a memory node; of a message link the receiver's cn */
    uint16_t worker;  /* the receiver's */
    bool messages;
    bool looping;  /* entry `sent` is a masked CAS by plain ones, or waits for room: nothing after it may go */
    bool asked;    /* what is in flight for it is a READ of the receiver's counter */
    uint16_t life; /* of the queue pair: completions of earlier ones are late */
    bool native;   /* masked atomics are posted as such, those on 16 bytes too, if there are any */
    int failure; /* of what was in flight when the link broke; 0: that has its status, and the link may be used again */
    uint32_t broke_tail;       /* what had been posted before it broke */
    uint64_t cut;              /* the batch of which nothing more may run over it */
    uint32_t head, sent, tail; /* free running: [head, sent) is the device's, [sent, tail) waits */
    uint32_t ring_size;        /* a power of two */
    struct fabric_verbs_loop loop;
    struct fabric_verbs_entry *ring;
    uint8_t *slots; /* one for each entry, registered: results of atomics, messages */
    uint32_t slot_bytes;
    struct ibv_mr *slots_mr;
    struct fabric_verbs_cm cm;
    uint32_t max_inline;
    uint64_t base; /* of the region, or of the receiver's counter */
    uint32_t rkey;
    uint32_t slot;           /* messages: what to sign them with */
    uint64_t told, consumed; /* messages: sent over this queue pair, and of these known to be taken */
    uint64_t again_ns;       /* not to be tried before */
    struct fabric_verbs_link *next_broken;
};

/* A worker of another compute node that sends to this one. */
struct fabric_verbs_sender {
    struct rdma_cm_id *id; /* NULL: none */
    struct ibv_qp *qp;
    uint32_t life; /* its messages are signed with that, so that earlier ones of another life do not count */
    uint32_t cn, worker;
};

#define FABRIC_VERBS_RECEIVES (FABRIC_VERBS_WINDOW * FABRIC_VERBS_SENDERS)

struct fabric_verbs_inbox {
    struct ibv_srq *srq;
    struct fabric_verbs_message_wire *buffers; /* FABRIC_VERBS_RECEIVES, and behind them the counters */
    uint64_t *counters;                        /* one for each sender: messages taken; read by it */
    struct ibv_mr *mr;
    uint32_t posted;   /* how many buffers the device has been given at least once */
    uint16_t *waiting; /* ring of buffers received for which the inbox has no room */
    uint32_t waiting_head, waiting_tail;
    struct fabric_verbs_sender senders[FABRIC_VERBS_SENDERS];
};

struct fabric_verbs_ep {
    struct fabric_ep ep;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    int event_fd; /* written by the thread that wakes it */
    uint32_t rung, rung_seen;
    uint32_t resolved, resolved_seen; /* changed when the linking thread gives a link back */
    struct fabric_verbs_link **links; /* memory nodes first, then those for messages, as they come */
    uint32_t link_count, links_max;
    struct fabric_verbs_pieces pieces;
    uint32_t closing;                              /* atomic: its links are not needed any more */
    struct fabric_wait *answered, **answered_last; /* waits with answers that poll has not told yet */
    struct fabric_wait bulk;                       /* of a post in bulk mode */
    struct fabric_verbs_inbox inbox;
    bool posting;
    uint64_t batch;                             /* counts the batches posted, from 1 on */
    struct ibv_send_wr wrs[FABRIC_VERBS_CHAIN]; /* of the post under way */
    struct ibv_sge sges[FABRIC_VERBS_CHAIN];
    pthread_t thread;
    bool spawned;
    fabric_worker_fn worker_fn;
    void *worker_arg;
    struct fabric_verbs_ep *next;
};

/* Of a memory node, for this process. */
enum fabric_verbs_presence {
    FABRIC_VERBS_THERE,
    FABRIC_VERBS_AWAY, /* it does not answer; the same one may come back */
    FABRIC_VERBS_GONE  /* it was left, or another one is in its place: FABRIC_NODE_REPLACE */
};

struct fabric_verbs_node {
    struct fabric_verbs_target target;
    uint64_t instance;
    uint32_t presence; /* enum fabric_verbs_presence; atomic, written under the lock of struct fabric_verbs */
    uint32_t suspect;  /* atomic: its connection hung up, or it is to be tried again */
    uint64_t again_ns; /* atomic: while AWAY not to be tried before */
    /* compute nodes fenced while it was AWAY: it must do so before it is THERE. Under the lock */
    uint32_t unfenced[256 / 32];
    uint64_t unfenced_life[FABRIC_CNS_MAX]; /* which lives of these; likewise */
    struct fabric_verbs_cm attach;
    uint64_t directory;
    uint32_t directory_rkey;
    uint32_t flags;
};

struct fabric_verbs {
    struct fabric fabric;
    struct fabric_verbs_secret secret;
    struct fabric_verbs_judge judge; /* of those that send messages to this process */
    uint32_t fingerprint;
    uint64_t incarnation;
    uint64_t life; /* atomic: as the pool counts them; 0: not said yet */
    uint32_t cn_first, cns;
    uint32_t fenced[256 / 32]; /* atomic: bits of own compute nodes that were declared dead */
    struct fabric_verbs_node nodes[FABRIC_NODES_MAX];
    struct ibv_context *device;
    struct ibv_device_attr attr;
    struct ibv_pd *pd;
    struct ibv_cq *attach_cq;
    uint64_t *scratch; /* a page, registered: what the linking thread reads into */
    struct ibv_mr *scratch_mr;
    pthread_mutex_t directory_lock; /* guards attach connections, as they are used */
    struct fabric_verbs_local local;
    pthread_mutex_t lock; /* endpoints, senders, and queue pairs against threads that stop them */
    pthread_cond_t changed;
    struct fabric_verbs_ep *endpoints;
    /* the linking thread: makes connections, one at a time */
    pthread_t linker;
    bool linking;
    uint32_t ending; /* atomic, written under the lock */
    struct fabric_verbs_link *broken, **broken_last;
    bool suspects;
    /* the listening thread: events of all connections, requests of senders */
    pthread_t listener;
    bool listening;
    int stop_fd;
    struct rdma_event_channel *events;
    struct rdma_cm_id *listen_id;
    uint16_t port;
};

/* fabric_verbs_post.c */
void fabric_verbs_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait);
struct fabric_wait *fabric_verbs_poll(struct fabric_ep *ep);
/* Takes completions; what they complete is in vep->answered. */
void fabric_verbs_reap(struct fabric_verbs_ep *vep);

/* fabric_verbs_mlx5.c */
/* Which masked atomics can be posted to this device as such: FABRIC_VERBS_NATIVE, with it FABRIC_VERBS_WIDE, or 0. */
uint32_t fabric_verbs_native_device(struct ibv_context *device);
/* A queue pair that takes them, or NULL. */
struct ibv_qp *fabric_verbs_native_qp(struct ibv_context *device, struct ibv_qp_init_attr *attr, struct ibv_pd *pd);
/* One masked CAS or field FAA, of 8 or 16 bytes, signalled. */
NODISCARD int fabric_verbs_native_post(struct ibv_qp *qp, uint64_t wr_id, const struct fabric_op *op, uint64_t remote,
                                       uint32_t rkey, void *local, uint32_t lkey);

/* fabric_verbs_link.c */
NODISCARD int fabric_verbs_link_new(struct fabric_verbs_ep *vep, uint32_t node, uint16_t worker, bool messages,
                                    struct fabric_verbs_link **out, struct cellar_error *error);
/* Connects for the first time, in the caller's thread. */
NODISCARD int fabric_verbs_link_open(struct fabric_verbs_link *link, struct cellar_error *error);
void fabric_verbs_link_free(struct fabric_verbs_link *link);
/* Gives a link to the linking thread. */
void fabric_verbs_link_break(struct fabric_verbs_link *link);
/* Takes all links of an endpoint back that wait for the linking thread; the one that it is at comes back soon. */
void fabric_verbs_links_withdraw(struct fabric_verbs_ep *vep);
NODISCARD int fabric_verbs_attach(struct fabric_verbs *verbs, struct fabric_verbs_node *node,
                                  struct fabric_verbs_reply_wire *reply, struct cellar_error *error);
NODISCARD int fabric_verbs_fence(struct fabric_verbs *verbs, const struct fabric_control *control,
                                 struct cellar_error *error);
/* All compute nodes of this process are that life from now on. */
NODISCARD int fabric_verbs_life_begin(struct fabric_verbs *verbs, uint64_t life, struct cellar_error *error);
/* Tells a memory node that it has just attached to. */
NODISCARD int fabric_verbs_life_tell(struct fabric_verbs *verbs, const struct fabric_verbs_node *node,
                                     struct cellar_error *error);
NODISCARD int fabric_verbs_linker_start(struct fabric_verbs *verbs, struct cellar_error *error);
void fabric_verbs_linker_end(struct fabric_verbs *verbs);
bool fabric_verbs_is_fenced(const struct fabric_verbs *verbs, uint32_t cn);
void fabric_verbs_set_fenced(struct fabric_verbs *verbs, uint32_t cn);
static inline enum fabric_verbs_presence fabric_verbs_presence(const struct fabric_verbs_node *node)
{
    return (enum fabric_verbs_presence)__atomic_load_n(&node->presence, __ATOMIC_ACQUIRE);
}
/*
 * It is AWAY or GONE from now on: it is not reached any more; returns when no operation of this process is under way
 * to it.
 */
void fabric_verbs_node_stop(struct fabric_verbs *verbs, uint32_t node, enum fabric_verbs_presence presence);
/* It is AWAY, and wanted: now and then the linking thread looks whether it has come back. */
void fabric_verbs_node_recall(struct fabric_verbs *verbs, struct fabric_verbs_node *node);

/* fabric_verbs_inbox.c */
NODISCARD int fabric_verbs_inbox_open(struct fabric_verbs_ep *vep, struct cellar_error *error);
void fabric_verbs_inbox_close(struct fabric_verbs_ep *vep);
/* A message has come into that buffer. */
void fabric_verbs_inbox_take(struct fabric_verbs_ep *vep, uint32_t buffer);
/* Moves messages to the inbox as long as it has room. */
void fabric_verbs_inbox_move(struct fabric_verbs_ep *vep);
NODISCARD int fabric_verbs_listener_start(struct fabric_verbs *verbs, struct cellar_error *error);
void fabric_verbs_listener_end(struct fabric_verbs *verbs);

/* fabric_verbs.c */
/* Makes an endpoint look: at its links, if `links` are what has changed. */
void fabric_verbs_ring(struct fabric_verbs_ep *vep, bool links);
NODISCARD int fabric_verbs_thread(pthread_t *thread, void *(*fn)(void *), void *arg);
