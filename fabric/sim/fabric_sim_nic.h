/*
 * fabric_sim_nic.h - a memory node's NIC: when an operation that arrives now takes effect, and when its reply leaves.
 *
 *     in link -> FIFO -> one of `units` -> slot table -> (effect) -> out link
 *
 * Operations are handed over in the order of their arrival, so each one's times follow at once from when what it
 * needs becomes free: the FIFO gives its head to the first free unit, and nothing passes it. A READ or WRITE holds
 * its unit for its service. An atomic also needs the slot that its address selects, and holds the unit while it waits
 * for that slot: so one hot word takes all units, and then every operation waits (words 4 KiB apart share a slot, as
 * in hardware). READs and WRITEs do not look at slots, as they go past the atomics' table in hardware: a READ sees a
 * word as it was before an atomic that has not ended. A 16-byte atomic needs the slots of both its words, and so
 * excludes those of 8 bytes on either.
 */
#pragma once

#include "fabric_sim.h"

#define FABRIC_SIM_NIC_SLOTS 512
#define FABRIC_SIM_NIC_UNITS_MAX 64
#define FABRIC_SIM_NIC_WAITING_MAX 256

struct fabric_sim_nic_slot {
    uint64_t free_ns;
    uint64_t offset, word; /* the latest atomic's word, and what it will leave there: whether the next one will match */
    uint64_t written_ns;   /* with `torn`: when the latest atomic will have been written back */
};

struct fabric_sim_nic {
    const struct fabric_sim_profile *profile;
    const uint8_t *memory;
    uint32_t connections; /* in use */
    uint32_t read_ns;     /* service of a READ, given so many */
    uint64_t in_free_ps, out_free_ps;
    uint64_t dispatch_ns; /* when the FIFO's latest operation got, or will get, its unit */
    uint64_t busy_ns;     /* of all units together, up to now and as far as it is known already */
    uint64_t unit_free_ns[FABRIC_SIM_NIC_UNITS_MAX];
    uint64_t waiting_until_ns[FABRIC_SIM_NIC_WAITING_MAX]; /* atomics that wait for their slot without a unit */
    struct fabric_sim_nic_slot slots[FABRIC_SIM_NIC_SLOTS];
};

/* When it has what it needs, and when it takes effect. */
struct fabric_sim_nic_span {
    uint64_t begin_ns, end_ns;
};

/* The profile and the memory stay the caller's, for as long as the NIC is used. */
void fabric_sim_nic_init(struct fabric_sim_nic *nic, const struct fabric_sim_profile *profile, const uint8_t *memory);
/* Another connection is in use, or none so many any more. */
void fabric_sim_nic_connect(struct fabric_sim_nic *nic);
void fabric_sim_nic_disconnect(struct fabric_sim_nic *nic);

/*
 * A packet comes in, or goes out, at now_ns: never before an earlier one did. Returns when all of its payload is
 * through.
 */
uint64_t fabric_sim_nic_receive(struct fabric_sim_nic *nic, uint64_t now_ns, uint32_t payload_bytes);
uint64_t fabric_sim_nic_reply(struct fabric_sim_nic *nic, uint64_t now_ns, uint32_t payload_bytes);

/* A checked operation other than a SEND is there at now_ns, not before any that was served earlier. */
struct fabric_sim_nic_span fabric_sim_nic_serve(struct fabric_sim_nic *nic, uint64_t now_ns,
                                                const struct fabric_op *op);

/*
 * With `torn`: when the latest atomic of this one's slots will have been written back; and that this one now is the
 * latest.
 */
uint64_t fabric_sim_nic_written_ns(struct fabric_sim_nic *nic, const struct fabric_op *op);
void fabric_sim_nic_writes(struct fabric_sim_nic *nic, const struct fabric_op *op, uint64_t written_ns);
