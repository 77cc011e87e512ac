/*
 * fabric_sim_profile.h - what the simulated hardware costs: one NIC and CPU model, and the profiles cx4, cx5, cx6,
 * ideal.
 *
 * Each number stands once, in fabric_sim_profile.c, with its source; none is tuned for an experiment. Times are net
 * of CPU, which is charged to the posting thread once. lab/docs/nic-model.md has the drawing and the comparison with
 * published figures.
 *
 *     memory node: arrive -> rx FIFO -> one of `units` -> slot table -> tx -> wire
 *                  (512 slots, slot = (address >> 3) % 512)
 *
 * A unit is held while its atomic waits for a busy slot: that head-of-line blocking is what lets one hot word slow
 * down all others.
 */
#pragma once

#include "fabric.h"

#define FABRIC_SIM_QP_POINTS 4

struct fabric_sim_profile {
    const char *name;
    /* network */
    uint32_t rtt_ns;       /* round trip without service, header bytes included */
    uint32_t message_ns;   /* one-way time of a SEND until the receiver may reap it */
    uint32_t retarget_ns;  /* of a SEND to another receiver than the one before (dynamically connected transport) */
    uint32_t wide_ns;      /* more for a 16-byte atomic: on its way, not in its slots */
    uint32_t link_ps;      /* per byte on a link, each direction of each node; 0: infinitely fast */
    uint32_t header_bytes; /* of a packet, besides payload */
    /* a memory node's NIC */
    uint32_t units;     /* processing units, at most 64; 0: no limit */
    uint32_t waiting;   /* atomics that may wait for a slot without holding a unit, at most 256 */
    uint32_t atomic_ns; /* slot and unit hold of an atomic */
    uint32_t miss_ns;   /* the same, of a CAS that does not match */
    uint32_t read_ns;   /* unit hold of a READ */
    uint32_t write_ns;  /* and of a WRITE */
    /* READs and atomics of one connection in flight; further ones wait at the sender. 0: no limit */
    uint32_t outstanding;
    struct {
        uint32_t connections,
            percent; /* READ service by open connections to the node, interpolated in log2; 0 ends the list */
    } qp[FABRIC_SIM_QP_POINTS];
    /* a programmable switch */
    uint32_t crossing_ns;      /* of message_ns: through the ordinary switch that it takes the place of */
    uint32_t pipeline_ns;      /* one pass, port to port */
    uint32_t packet_ps;        /* between two packets, at the earliest */
    uint32_t recirculate_ps;   /* between two that recirculate */
    uint32_t control_plane_ns; /* a turn of its control plane */
    /* the posting thread's CPU */
    uint32_t post_ns;       /* a doorbell: each batch and memory node */
    uint32_t op_ns;         /* each operation in it */
    uint32_t completion_ns; /* each completion reaped */
    uint32_t switch_ns;     /* each coroutine resumed */
    uint32_t access_ns;     /* each unit of fabric_work */
    uint32_t byte_ps;       /* each payload byte copied */
};

/* NULL when there is no such profile. */
const struct fabric_sim_profile *fabric_sim_profile_find(const char *name);
/* The i-th profile, NULL after the last one. */
const struct fabric_sim_profile *fabric_sim_profile_at(uint32_t i);
/* The same hardware, with a CPU that costs nothing. */
void fabric_sim_profile_take_cpu(struct fabric_sim_profile *out, const struct fabric_sim_profile *profile);
