/* fabric_sim_nic.c - service times of a memory node's NIC. */
#include "fabric_sim_nic.h"

void fabric_sim_nic_init(struct fabric_sim_nic *nic, const struct fabric_sim_config *config)
{
    *nic = (struct fabric_sim_nic){.atomic_ns = config->profile.atomic_ns, .service_ns = config->profile.read_ns};
}

/* Uses a serial resource for duration_ns as soon as it is free; returns when that ends. */
static uint64_t use(uint64_t *free_ns, uint64_t now_ns, uint64_t duration_ns)
{
    *free_ns = (*free_ns > now_ns ? *free_ns : now_ns) + duration_ns;
    return *free_ns;
}

uint64_t fabric_sim_nic_serve(struct fabric_sim_nic *nic, uint64_t now_ns, const struct fabric_op *op)
{
    if (op->kind == FABRIC_READ || op->kind == FABRIC_WRITE) return use(&nic->free_ns, now_ns, nic->service_ns);
    uint64_t slot = (fabric_addr_offset(op->addr) >> 3) % FABRIC_SIM_NIC_SLOTS;
    return use(&nic->slot_free_ns[slot], now_ns, nic->atomic_ns);
}
