/* fabric_sim_nic.c - service times of a memory node's NIC. */
#include "fabric_sim_nic.h"

#include "fabric_sim_memory.h"
#include "must.h"

#include <string.h>

void fabric_sim_nic_init(struct fabric_sim_nic *nic, const struct fabric_sim_profile *profile, const uint8_t *memory)
{
    must(profile->units <= FABRIC_SIM_NIC_UNITS_MAX && profile->waiting <= FABRIC_SIM_NIC_WAITING_MAX);
    *nic = (struct fabric_sim_nic){.profile = profile, .memory = memory, .read_ns = profile->read_ns};
}

/* ---- connections ---- */

/* log2 in 1/256, its fraction linear between powers of two: integers give the same on every machine. */
static uint64_t log2_256(uint32_t value)
{
    uint32_t whole = 31 - (uint32_t)__builtin_clz(value);
    return (uint64_t)whole << 8 | (((uint64_t)value << 8 >> whole) & 255);
}

static uint64_t read_percent(const struct fabric_sim_profile *profile, uint32_t connections)
{
    uint64_t percent = 100;
    for (uint32_t i = 0; i < FABRIC_SIM_QP_POINTS && profile->qp[i].connections; i++) {
        uint32_t next = profile->qp[i].connections;
        if (connections >= next) {
            percent = profile->qp[i].percent;
            continue;
        }
        if (i == 0) return profile->qp[0].percent;
        uint64_t low = log2_256(profile->qp[i - 1].connections), high = log2_256(next);
        return percent + (profile->qp[i].percent - percent) * (log2_256(connections) - low) / (high - low);
    }
    return percent;
}

static void count_connections(struct fabric_sim_nic *nic, uint32_t count)
{
    nic->connections = count;
    nic->read_ns = (uint32_t)(nic->profile->read_ns * read_percent(nic->profile, count) / 100);
}

void fabric_sim_nic_connect(struct fabric_sim_nic *nic) { count_connections(nic, nic->connections + 1); }
void fabric_sim_nic_disconnect(struct fabric_sim_nic *nic) { count_connections(nic, nic->connections - 1); }

/* ---- links ---- */

/* The headers' own time on an idle link is part of the round trip. */
static uint64_t pass(const struct fabric_sim_profile *profile, uint64_t *free_ps, uint64_t now_ns, uint32_t bytes)
{
    uint64_t now_ps = now_ns * 1000, header_ps = (uint64_t)profile->header_bytes * profile->link_ps;
    if (profile->link_ps == 0) return now_ns;
    *free_ps = (*free_ps > now_ps ? *free_ps : now_ps) + header_ps + (uint64_t)bytes * profile->link_ps;
    return (*free_ps - header_ps) / 1000;
}

uint64_t fabric_sim_nic_receive(struct fabric_sim_nic *nic, uint64_t now_ns, uint32_t payload_bytes)
{
    return pass(nic->profile, &nic->in_free_ps, now_ns, payload_bytes);
}

uint64_t fabric_sim_nic_reply(struct fabric_sim_nic *nic, uint64_t now_ns, uint32_t payload_bytes)
{
    return pass(nic->profile, &nic->out_free_ps, now_ns, payload_bytes);
}

/* ---- units and slots ---- */

/* The unit that is free first; NULL where their number is no limit. */
static uint64_t *first_free(struct fabric_sim_nic *nic)
{
    uint64_t *first = nic->unit_free_ns;
    if (nic->profile->units == 0) return NULL;
    for (uint32_t i = 1; i < nic->profile->units; i++) {
        if (nic->unit_free_ns[i] < *first) first = &nic->unit_free_ns[i];
    }
    return first;
}

static void hold(struct fabric_sim_nic *nic, uint64_t *unit_free_ns, uint64_t from_ns, uint64_t until_ns)
{
    if (!unit_free_ns) return;
    nic->busy_ns += until_ns - from_ns;
    *unit_free_ns = until_ns;
}

/* A place among those that wait for their slot without a unit, empty at now_ns. */
static uint64_t *waiting_place(struct fabric_sim_nic *nic, uint64_t now_ns)
{
    for (uint32_t i = 0; i < nic->profile->waiting; i++) {
        if (nic->waiting_until_ns[i] <= now_ns) return &nic->waiting_until_ns[i];
    }
    return NULL;
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns) { return a_ns > b_ns ? a_ns : b_ns; }

/* The slots that an atomic needs: one for each of its words. */
static uint32_t slots_of(struct fabric_sim_nic *nic, const struct fabric_op *op, struct fabric_sim_nic_slot *slots[2])
{
    uint32_t words = fabric_sim_memory_words(op);
    uint64_t first = fabric_addr_offset(op->addr) >> 3;
    for (uint32_t i = 0; i < words; i++) slots[i] = &nic->slots[(first + i) % FABRIC_SIM_NIC_SLOTS];
    return words;
}

uint64_t fabric_sim_nic_written_ns(struct fabric_sim_nic *nic, const struct fabric_op *op)
{
    struct fabric_sim_nic_slot *slots[2];
    uint64_t written_ns = 0;
    for (uint32_t i = slots_of(nic, op, slots); i-- > 0;) written_ns = later(written_ns, slots[i]->written_ns);
    return written_ns;
}

void fabric_sim_nic_writes(struct fabric_sim_nic *nic, const struct fabric_op *op, uint64_t written_ns)
{
    struct fabric_sim_nic_slot *slots[2];
    for (uint32_t i = slots_of(nic, op, slots); i-- > 0;) slots[i]->written_ns = written_ns;
}

/*
 * How long the atomic will hold its slots. Whether a CAS matches is known only when it executes; but all that changes
 * its words until then are atomics of the same slot, which came before it, so what the latest of them leaves tells it
 * now.
 */
static uint64_t atomic_ns(struct fabric_sim_nic *nic, struct fabric_sim_nic_slot *const slots[2], uint64_t now_ns,
                          const struct fabric_op *op)
{
    uint32_t words = fabric_sim_memory_words(op);
    uint64_t offset = fabric_addr_offset(op->addr), old[2] = {0}, new[2];
    if (nic->profile->miss_ns == nic->profile->atomic_ns) return nic->profile->atomic_ns;
    memcpy(old, nic->memory + offset, words * sizeof *old);
    for (uint32_t i = 0; i < words; i++)
        if (slots[i]->offset == offset + i * sizeof *old && slots[i]->free_ns > now_ns) old[i] = slots[i]->word;
    fabric_sim_memory_atomic(op, old, new);
    for (uint32_t i = 0; i < words; i++) {
        slots[i]->offset = offset + i * sizeof *old;
        slots[i]->word = new[i];
    }
    return fabric_sim_memory_matches(op, old) ? nic->profile->atomic_ns : nic->profile->miss_ns;
}

struct fabric_sim_nic_span fabric_sim_nic_serve(struct fabric_sim_nic *nic, uint64_t now_ns, const struct fabric_op *op)
{
    uint64_t *unit_free_ns = first_free(nic);
    uint64_t dispatch_ns = now_ns > nic->dispatch_ns ? now_ns : nic->dispatch_ns;
    if (unit_free_ns && dispatch_ns < *unit_free_ns) dispatch_ns = *unit_free_ns;
    nic->dispatch_ns = dispatch_ns;
    if (op->kind == FABRIC_READ || op->kind == FABRIC_WRITE) {
        uint64_t end_ns = dispatch_ns + (op->kind == FABRIC_READ ? nic->read_ns : nic->profile->write_ns);
        hold(nic, unit_free_ns, dispatch_ns, end_ns);
        return (struct fabric_sim_nic_span){dispatch_ns, end_ns};
    }
    struct fabric_sim_nic_slot *slots[2];
    uint32_t words = slots_of(nic, op, slots);
    uint64_t begin_ns = dispatch_ns;
    for (uint32_t i = 0; i < words; i++) begin_ns = later(begin_ns, slots[i]->free_ns);
    uint64_t end_ns = begin_ns + atomic_ns(nic, slots, now_ns, op);
    uint64_t *place = begin_ns > dispatch_ns ? waiting_place(nic, dispatch_ns) : NULL;
    for (uint32_t i = 0; i < words; i++) slots[i]->free_ns = end_ns;
    if (place) {
        *place = begin_ns; /* executed out of the slot table, where it waited: no unit takes part */
    } else {
        hold(nic, unit_free_ns, dispatch_ns, end_ns);
    }
    return (struct fabric_sim_nic_span){begin_ns, end_ns};
}
