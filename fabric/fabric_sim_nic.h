/*
 * fabric_sim_nic.h - how long a memory node's NIC takes: when an operation that arrives now takes effect.
 *
 * Operations are handed over in the order of their arrival, so each one's end follows at once from when the resources that it
 * needs become free. A NIC executes one READ or WRITE after the other. An atomic holds a slot of a table indexed by address:
 * atomics on one word wait for each other (and so do words 4 KiB apart, which share a slot, as in hardware).
 */
#pragma once

#include "fabric_sim.h"

#define FABRIC_SIM_NIC_SLOTS 512

struct fabric_sim_nic {
    uint64_t atomic_ns, service_ns;
    uint64_t free_ns; /* when the READ and WRITE unit has done what came before */
    uint64_t slot_free_ns[FABRIC_SIM_NIC_SLOTS];
};

void fabric_sim_nic_init(struct fabric_sim_nic *nic, const struct fabric_sim_config *config);
/* An operation arrives at now_ns, not before any that was served earlier; returns when it takes effect. */
uint64_t fabric_sim_nic_serve(struct fabric_sim_nic *nic, uint64_t now_ns, const struct fabric_op *op);
