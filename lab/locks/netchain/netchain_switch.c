/*
 * netchain_switch.c - the program of NetChain's switches: one pass a packet, two registers in it, one of them the
 * lock's. Its ALU compares the holder with `from` and with `to`, or (a replica) the sequence number.
 */
#include "fabric_switch.h"
#include "must.h"
#include "netchain.h"
#include "netchain_plants.h"

#include <string.h>

enum { ROLE, LOCKS, ARRAYS };

static const struct fabric_switch_array arrays[ARRAYS] = {
    [ROLE] = {.name = "role", .stage = 0, .cells = 1, .cell_bytes = 8},
    [LOCKS] = {.name = "locks", .stage = 1, .cells = NETCHAIN_LOCKS, .cell_bytes = 8},
};
_Static_assert(NETCHAIN_LOCKS * 8 <= FABRIC_SWITCH_STAGE_BYTES, "all locks are in one stage");

static void answer(struct fabric_switch *self, struct lockmgr_message_wire *wire, enum netchain_kind kind)
{
    wire->kind = (uint16_t)kind;
    fabric_switch_send(self, netchain_route_cn(wire->words[0]), netchain_route_worker(wire->words[0]), wire,
                       sizeof *wire);
}

/* On to the next one; the tail answers. */
static void pass_on(struct fabric_switch *self, const struct lockmgr_config *config, uint64_t role,
                    struct lockmgr_message_wire *wire)
{
    if (netchain_next(role) == NETCHAIN_TAIL) {
        answer(self, wire, NETCHAIN_DONE);
        return;
    }
    struct lockmgr_message_wire early = *wire;
    if (role & NETCHAIN_HEAD && PLANT(netchain_granted_early)) answer(self, &early, NETCHAIN_DONE);
    wire->kind = NETCHAIN_CHAIN;
    fabric_switch_send(self, config->switch_cn + netchain_next(role), 0, wire, sizeof *wire);
}

static void swap(struct fabric_switch *self, const struct lockmgr_config *config, uint64_t role,
                 struct lockmgr_message_wire *wire, uint32_t index)
{
    uint32_t from = netchain_from(wire->words[1]), to = netchain_to(wire->words[1]);
    bool load = wire->kind == NETCHAIN_LOAD;
    if (!(role & NETCHAIN_HEAD) || load == !!(role & NETCHAIN_RUNS)) return;
    uint64_t *cell = fabric_switch_cell(self, LOCKS, index);
    uint32_t holder = netchain_holder(*cell), sequence = netchain_sequence(*cell);
    bool matches = holder == from || (to == 0 && PLANT(netchain_released_blindly));
    bool done = holder == to; /* by an earlier copy: the answer was lost, perhaps within the chain */
    if (load || (matches && !done)) *cell = netchain_cell(to, sequence + 1);
    wire->words[2] = *cell;
    if (load || matches || done)
        pass_on(self, config, role, wire);
    else
        answer(self, wire, NETCHAIN_BUSY);
}

static void replicate(struct fabric_switch *self, const struct lockmgr_config *config, uint64_t role,
                      struct lockmgr_message_wire *wire, uint32_t index)
{
    if (role & NETCHAIN_HEAD) return;
    uint64_t *cell = fabric_switch_cell(self, LOCKS, index);
    int32_t ahead = (int32_t)(netchain_sequence(wire->words[2]) - netchain_sequence(*cell));
    if (ahead > 0) *cell = wire->words[2];
    if (ahead >= 0) pass_on(self, config, role, wire);
}

/* One pass. INV-NETCHAIN-1. */
static void pass(struct fabric_switch *self, void *arg, struct fabric_switch_packet *packet)
{
    const struct lockmgr_worker *worker = arg;
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct lockmgr_message_wire wire;
    memcpy(&wire, packet->bytes, sizeof wire);
    uint64_t role = *fabric_switch_cell(self, ROLE, 0), index = lockmgr_index_of(config, wire.lock);
    if (wire.kind == NETCHAIN_PING) {
        wire.words[1] = role;
        answer(self, &wire, NETCHAIN_PONG);
        return;
    }
    if (wire.kind == NETCHAIN_CONFIGURE || wire.kind == NETCHAIN_RESTART) {
        fabric_switch_punt(self);
        return;
    }
    bool mine = (uint32_t)(wire.words[0] >> 32) == netchain_epoch(role) || PLANT(netchain_epoch_unchecked);
    if (!mine || netchain_epoch(role) == 0 || index == UINT64_MAX) return;
    if (wire.kind == NETCHAIN_SWAP || wire.kind == NETCHAIN_LOAD) swap(self, config, role, &wire, (uint32_t)index);
    if (wire.kind == NETCHAIN_CHAIN) replicate(self, config, role, &wire, (uint32_t)index);
}

/* Epochs only rise; within one, the only change is that it begins to run. */
static void configure(struct fabric_switch *self, uint64_t wanted)
{
    uint64_t role = fabric_switch_peek(self, ROLE, 0);
    bool later = netchain_epoch(wanted) > netchain_epoch(role);
    bool runs = netchain_epoch(wanted) == netchain_epoch(role) && wanted == (role | NETCHAIN_RUNS);
    if (later || runs) fabric_switch_poke(self, ROLE, 0, wanted);
}

/* INV-NETCHAIN-4 */
static uint64_t control(struct fabric_switch *self, void *arg, const struct fabric_switch_packet *punted)
{
    uint32_t incarnation = fabric_switch_incarnation(self) & 0xffff;
    struct lockmgr_message_wire wire;
    (void)arg;
    if (!punted) { /* it has come up */
        fabric_switch_poke(self, ROLE, 0, netchain_role(0, incarnation, NETCHAIN_TAIL, 0));
        return UINT64_MAX;
    }
    memcpy(&wire, punted->bytes, sizeof wire);
    if (netchain_incarnation(wire.words[1]) != incarnation && !PLANT(netchain_order_unnamed)) return UINT64_MAX;
    if (wire.kind == NETCHAIN_RESTART) {
        fabric_switch_fail(self, 0);
        return UINT64_MAX;
    }
    configure(self, wire.words[1]);
    wire.words[1] = fabric_switch_peek(self, ROLE, 0);
    answer(self, &wire, NETCHAIN_PONG);
    return UINT64_MAX;
}

static const struct fabric_switch_program program = {
    .name = "netchain", .arrays = arrays, .array_count = ARRAYS, .pass = pass, .control = control};

int netchain_switch_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    struct fabric_switch *pipeline;
    int code =
        fabric_switch_open(worker->ep, &program, worker, worker->lockmgr->config.switch_faults, &pipeline, error);
    worker->own = pipeline;
    return code;
}

void netchain_switch_close(struct lockmgr_worker *worker) { fabric_switch_close(worker->own); }

void netchain_switch_deliver(struct lockmgr_worker *worker, const struct fabric_message *message)
{
    fabric_switch_receive(worker->own, message);
}

uint64_t netchain_switch_tend(struct coro *co, struct lockmgr_worker *worker) { return fabric_switch_run(worker->own); }
bool netchain_switch_quiet(const struct lockmgr_worker *worker) { return fabric_switch_quiet(worker->own); }

void netchain_switch_fail(struct lockmgr_worker *worker, uint64_t down_ns) { fabric_switch_fail(worker->own, down_ns); }

/* The head's register is the lock; the others only follow it. */
int netchain_switch_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error)
{
    uint64_t role = fabric_switch_peek(worker->own, ROLE, 0);
    uint64_t index = lockmgr_index_of(&worker->lockmgr->config, lock.bits);
    if (!(role & NETCHAIN_RUNS) || !(role & NETCHAIN_HEAD) || index == UINT64_MAX) return 0;
    uint32_t holder = netchain_holder(fabric_switch_peek(worker->own, LOCKS, (uint32_t)index));
    if (holder == 0) return 0;
    return err_set(error, CELLAR_CORRUPT, "a switch has client %u holding it, ticket %u", netchain_client(holder),
                   holder & 0xffff);
}
