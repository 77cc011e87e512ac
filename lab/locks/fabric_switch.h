/*
 * fabric_switch.h - a programmable switch between the nodes: packets run through a match-action pipeline whose
 * registers a program reads and changes. It knows no lock; it holds programs to what such hardware can do.
 *
 *     SEND to the switch's endpoint ──> pass: stage 0 .. 11, register arrays ──┬──> SENDs, at most two (packet, mirror)
 *                                         ^                                    ├──> recirculated: one more pass, later
 *                                         └────────────────────────────────────┤
 *     control plane (slow): peek, poke, send <─────────────────────────────────┴──── punted
 *
 * A switch is one endpoint and the loop of one worker: in `sim` of a compute node that is declared to be a switch
 * (fabric_sim_config), so that it is half way between all others and spends no CPU; in `shm` an ordinary thread.
 * Packets are datagrams: a SEND to it that completed may be lost all the same, and what it sends is not acknowledged.
 *
 * What a program must keep to, or the switch aborts (must), since hardware could not run it:
 *   1. Each array is accessed at most once in a pass, at one index.
 *   2. Arrays are accessed in the order of their stages, and what is left in a cell does not depend on arrays
 *      accessed after it.
 *   3. A pass emits at most two packets, a recirculated or punted one included.
 *   4. Arrays fit their stages: FABRIC_SWITCH_STAGES of FABRIC_SWITCH_STAGE_BYTES, cells of 1, 2, 4 or 8 bytes.
 * Not held to: which arithmetic an access may do (a register's ALU has two comparisons and one of four results), and
 * tables that are only looked up. Programs say so where they come near to it.
 */
#pragma once

#include "fabric.h"

#define FABRIC_SWITCH_STAGES 12           /* of Tofino's pipeline */
#define FABRIC_SWITCH_STAGE_BYTES 1310720 /* 80 blocks of 16 KiB */
#define FABRIC_SWITCH_ARRAYS_MAX 48       /* four a stage: its stateful ALUs */
#define FABRIC_SWITCH_COPIES_MAX 2        /* packets out of one pass */
#define FABRIC_SWITCH_CONTROL_CELLS 64    /* that one turn of the control plane may read and write, together */
#define FABRIC_SWITCH_LOOPING_MAX 4096    /* packets that recirculate at once; more are lost */
#define FABRIC_SWITCH_PUNTED_MAX 256      /* packets that wait for the control plane; more are lost */

struct fabric_switch;

/* One packet, as a program sees it; the switch's, for the duration of a pass. */
struct fabric_switch_packet {
    uint32_t from_cn, from_worker, size_bytes;
    uint32_t passes;   /* that it has made before this one */
    uint64_t carry[4]; /* what the program takes along from pass to pass; 0 in the first */
    uint8_t bytes[FABRIC_MESSAGE_BYTES];
};

/* A register array; all its cells are 0 when the switch comes up. */
struct fabric_switch_array {
    const char *name;
    uint32_t stage;
    uint32_t cells;
    uint32_t cell_bytes; /* 1, 2, 4 or 8: a value that does not fit at the end of a pass is a bug */
};

struct fabric_switch_program {
    const char *name;
    const struct fabric_switch_array *arrays; /* named below by their index here */
    uint32_t array_count;
    /* One pass of one packet. */
    void (*pass)(struct fabric_switch *self, void *arg, struct fabric_switch_packet *packet);
    /*
     * A turn of the control plane: because a packet was punted, or (punted NULL) because its time has come, or the
     * switch has just come up. Returns when to come again, by the endpoint's clock, UINT64_MAX: only for packets.
     * NULL: there is none.
     */
    uint64_t (*control)(struct fabric_switch *self, void *arg, const struct fabric_switch_packet *punted);
};

struct fabric_switch_stats {
    uint64_t packets;      /* that came in */
    uint64_t passes;       /* first ones and others */
    uint64_t recirculated; /* passes after the first */
    uint64_t sent, punted;
    uint64_t lost; /* by faults, or for want of room */
    uint64_t failures;
};

/*
 * The switch of that endpoint. program, arg and faults (NULL: none) live on. INVALID where the arrays do not fit;
 * error has a line. The fabric gives it its times (fabric->switch_times).
 */
NODISCARD int fabric_switch_open(struct fabric_ep *ep, const struct fabric_switch_program *program, void *arg,
                                 const struct fabric_switch_faults *faults, struct fabric_switch **out,
                                 struct cellar_error *error);
/* Nothing of it is under way (fabric_switch_quiet). NULL is allowed. */
void fabric_switch_close(struct fabric_switch *self);

/* ---- the worker's loop ---- */

/* A message of the endpoint's inbox: its first pass, now. */
void fabric_switch_receive(struct fabric_switch *self, const struct fabric_message *message);
/* What is due: recirculated packets, the control plane's turn. Returns when to come again if no packet comes before. */
uint64_t fabric_switch_run(struct fabric_switch *self);
/* No packet recirculates or waits for the control plane or for the fabric. */
bool fabric_switch_quiet(const struct fabric_switch *self);
/*
 * All register state is lost, and so is every packet within; down for that long. For tests and experiments, from the
 * worker's thread.
 */
void fabric_switch_fail(struct fabric_switch *self, uint64_t down_ns);
const struct fabric_switch_stats *fabric_switch_stats_of(const struct fabric_switch *self);

/* ---- for a program, within a pass ---- */

/* The cell, to be read and changed before the next one is asked for. */
uint64_t *fabric_switch_cell(struct fabric_switch *self, uint32_t array, uint32_t index);
/* Out to a worker. Also for the control plane, which is not limited to two. */
void fabric_switch_send(struct fabric_switch *self, uint32_t cn, uint32_t worker, const void *bytes,
                        uint32_t size_bytes);
/* This packet, as the program leaves it, passes once more. */
void fabric_switch_recirculate(struct fabric_switch *self);
/* A copy of it, as it is now, goes to the control plane. */
void fabric_switch_punt(struct fabric_switch *self);
uint64_t fabric_switch_now_ns(const struct fabric_switch *self);
/* How often the switch has come up, from 1; no packet and no register knows it unless the control plane tells. */
uint32_t fabric_switch_incarnation(const struct fabric_switch *self);

/* ---- for a control plane, within its turn; and for audits, while the switch is quiet ---- */

uint64_t fabric_switch_peek(struct fabric_switch *self, uint32_t array, uint32_t index);
void fabric_switch_poke(struct fabric_switch *self, uint32_t array, uint32_t index, uint64_t value);
