/*
 * netlock_node.c - NetLock's program on a programmable switch: messages to packets and back, the control plane's
 * turns.
 */
#include "fabric_switch.h"
#include "must.h"
#include "netlock.h"

#include <stdlib.h>
#include <string.h>

#define CELLS_OF_A_TURN FABRIC_SWITCH_CONTROL_CELLS
#define POLLS_A_LEASE 8

struct node {
    struct lockmgr_worker *worker;
    struct fabric_switch *pipeline;
    struct netlock_switch *sw;
    struct fabric_switch_program program;
    struct fabric_switch_array arrays[NETLOCK_ARRAYS_MAX];
    uint32_t incarnation;
    bool heard[NETLOCK_SERVERS]; /* that server worker knows of this life */
    uint64_t round_ns;           /* when to look at leases again */
};

static const struct lockmgr_config *config_of(const struct node *node) { return &node->worker->lockmgr->config; }

/* ---- registers ---- */

static uint64_t *cell(void *arg, uint32_t array, uint32_t index)
{
    return fabric_switch_cell(((struct node *)arg)->pipeline, array, index);
}
static uint64_t peek(void *arg, uint32_t array, uint32_t index)
{
    return fabric_switch_peek(((struct node *)arg)->pipeline, array, index);
}
static void poke(void *arg, uint32_t array, uint32_t index, uint64_t value)
{
    fabric_switch_poke(((struct node *)arg)->pipeline, array, index, value);
}

/* Registers and table were lost with the switch's last life. */
static void notice_restart(struct node *node)
{
    if (fabric_switch_incarnation(node->pipeline) == node->incarnation) return;
    node->incarnation = fabric_switch_incarnation(node->pipeline);
    netlock_switch_restart(node->sw, node->incarnation);
    memset(node->heard, 0, sizeof node->heard);
    node->round_ns = 0;
}

/* ---- packets out ---- */

static void send(struct node *node, enum netlock_to to, const struct netlock_packet *packet)
{
    const struct lockmgr_config *config = config_of(node);
    struct lockmgr_message_wire wire;
    uint32_t cn = config->server_cn, worker = 0, client = LOCKMGR_NO_CLIENT;
    if (to == NETLOCK_TO_SERVER)
        worker = lockmgr_server_of(config, (struct fabric_addr){packet->lock});
    else if (!lockmgr_locate(config, packet->client, &cn, &worker, &client))
        return;
    netlock_encode(packet, client, &wire);
    fabric_switch_send(node->pipeline, cn, worker, &wire, sizeof wire);
}

static void emit(struct node *node, struct fabric_switch_packet *packet, const struct netlock_out *out)
{
    struct lockmgr_message_wire wire;
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->to[i] != NETLOCK_AGAIN) {
            send(node, out->to[i], &out->packets[i]);
            continue;
        }
        netlock_encode(&out->packets[i], LOCKMGR_NO_CLIENT, &wire);
        memcpy(packet->bytes, &wire, sizeof wire);
        fabric_switch_recirculate(node->pipeline);
    }
}

/* ---- packets in ---- */

/* Which node may send what: none outside makes packets that only the switch itself makes. */
static bool allowed(const struct node *node, const struct fabric_switch_packet *packet, enum netlock_op op)
{
    const struct lockmgr_config *config = config_of(node);
    if (packet->passes > 0) return op == NETLOCK_RETIRE || op == NETLOCK_TAKE;
    if (packet->from_cn == node->worker->lockmgr->cn) return op == NETLOCK_EXPIRE;
    if (packet->from_cn < config->cn_count) return op <= NETLOCK_ASK;
    if (packet->from_cn != config->server_cn || packet->from_worker >= config->server_workers) return false;
    return op == NETLOCK_PUSH || op == NETLOCK_PROBE || op == NETLOCK_PREPARE || op == NETLOCK_INSTALL ||
           op == NETLOCK_CLOSE || op == NETLOCK_HEARD;
}

static bool parse(const struct node *node, const struct fabric_switch_packet *in, struct netlock_packet *packet)
{
    struct lockmgr_message_wire wire;
    if (in->size_bytes != sizeof wire) return false;
    memcpy(&wire, in->bytes, sizeof wire);
    return netlock_decode(&wire, packet) && allowed(node, in, (enum netlock_op)packet->op);
}

static void pass(struct fabric_switch *self, void *arg, struct fabric_switch_packet *in)
{
    struct node *node = arg;
    struct netlock_packet packet;
    struct netlock_out out;
    notice_restart(node);
    if (!parse(node, in, &packet)) return;
    if (packet.op == NETLOCK_PREPARE || packet.op == NETLOCK_INSTALL || packet.op == NETLOCK_CLOSE ||
        packet.op == NETLOCK_HEARD) {
        fabric_switch_punt(self);
        return;
    }
    netlock_switch_pass(node->sw, &packet, fabric_switch_now_ns(self), &out);
    emit(node, in, &out);
}

/* ---- the control plane ---- */

static bool client_is_gone(void *arg, uint32_t client)
{
    const struct node *node = arg;
    uint32_t cn, worker, number;
    return lockmgr_locate(config_of(node), client, &cn, &worker, &number) && lockmgr_dead(node->worker->lockmgr, cn);
}

/* Into the data plane from its own port. */
static void expire(void *arg, const struct netlock_packet *packet)
{
    struct node *node = arg;
    struct lockmgr_message_wire wire;
    netlock_encode(packet, LOCKMGR_NO_CLIENT, &wire);
    fabric_switch_send(node->pipeline, node->worker->lockmgr->cn, node->worker->number, &wire, sizeof wire);
}

static void say_hello(struct node *node)
{
    const struct lockmgr_config *config = config_of(node);
    struct netlock_packet packet = {.op = NETLOCK_HELLO, .incarnation = node->incarnation};
    struct lockmgr_message_wire wire;
    netlock_encode(&packet, LOCKMGR_NO_CLIENT, &wire);
    for (uint32_t i = 0; i < config->server_workers; i++)
        if (!node->heard[i]) fabric_switch_send(node->pipeline, config->server_cn, i, &wire, sizeof wire);
}

static void answer(struct node *node, const struct fabric_switch_packet *punted)
{
    struct netlock_packet packet;
    struct netlock_out out;
    if (!parse(node, punted, &packet)) return;
    if (packet.op == NETLOCK_HEARD) {
        node->heard[punted->from_worker] = packet.incarnation == node->incarnation;
        return;
    }
    packet.client = punted->from_worker;
    netlock_switch_control(node->sw, &packet, &out);
    if (out.count) send(node, NETLOCK_TO_SERVER, &out.packets[0]);
}

static uint64_t control(struct fabric_switch *self, void *arg, const struct fabric_switch_packet *punted)
{
    struct node *node = arg;
    uint64_t now_ns = fabric_switch_now_ns(self), lease_ns = netlock_lease_ns(config_of(node));
    notice_restart(node);
    if (punted) {
        answer(node, punted);
        return node->round_ns;
    }
    if (now_ns < node->round_ns) return node->round_ns;
    say_hello(node);
    struct netlock_poll poll = {.now_ns = now_ns,
                                .lease_ns = lease_ns,
                                .cells = CELLS_OF_A_TURN,
                                .gone = client_is_gone,
                                .expire = expire,
                                .arg = node};
    bool around = netlock_switch_poll(node->sw, &poll);
    /* From its end on: where a round takes longer than that, packets would never pass. */
    node->round_ns = around ? fabric_switch_now_ns(self) + lease_ns / POLLS_A_LEASE : now_ns;
    return node->round_ns;
}

/* ---- birth and death ---- */

int netlock_node_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    struct netlock_switch_config switch_config = netlock_switch_config_of(config);
    struct netlock_shape shapes[NETLOCK_ARRAYS_MAX];
    struct node *node = calloc(1, sizeof *node);
    if (!node) return err_set(error, CELLAR_NOMEM, "no memory for netlock's switch");
    worker->own = node;
    node->worker = worker;
    struct netlock_registers registers = {.cell = cell, .peek = peek, .poke = poke, .arg = node};
    uint32_t count = netlock_switch_shape(&switch_config, shapes);
    for (uint32_t i = 0; i < count; i++)
        node->arrays[i] = (struct fabric_switch_array){
            .name = shapes[i].name, .stage = shapes[i].stage, .cells = shapes[i].cells, .cell_bytes = 8};
    node->program = (struct fabric_switch_program){
        .name = "netlock", .arrays = node->arrays, .array_count = count, .pass = pass, .control = control};
    node->sw = netlock_switch_new(&switch_config, &registers);
    int code = node->sw
                   ? fabric_switch_open(worker->ep, &node->program, node, config->switch_faults, &node->pipeline, error)
                   : err_set(error, CELLAR_NOMEM, "no memory for netlock's switch");
    if (code) netlock_node_close(worker);
    return code;
}

void netlock_node_close(struct lockmgr_worker *worker)
{
    struct node *node = worker->own;
    if (!node) return;
    fabric_switch_close(node->pipeline); /* it needs its program until then */
    netlock_switch_free(node->sw);
    free(node);
    worker->own = NULL;
}

/* ---- the worker's loop ---- */

static struct fabric_switch *pipeline_of(const struct lockmgr_worker *worker)
{
    return ((const struct node *)worker->own)->pipeline;
}

void netlock_node_deliver(struct lockmgr_worker *worker, const struct fabric_message *message)
{
    fabric_switch_receive(pipeline_of(worker), message);
}

uint64_t netlock_node_tend(struct coro *co, struct lockmgr_worker *worker)
{
    return fabric_switch_run(pipeline_of(worker));
}

/* No client holds a lock or waits in its registers, and no packet is within. */
bool netlock_node_quiet(const struct lockmgr_worker *worker)
{
    struct cellar_error error;
    return netlock_node_audit(worker, (struct fabric_addr){0}, &error) == 0 && fabric_switch_quiet(pipeline_of(worker));
}

void netlock_node_fail(struct lockmgr_worker *worker, uint64_t down_ns)
{
    fabric_switch_fail(pipeline_of(worker), down_ns);
}

int netlock_node_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error)
{
    const struct node *node = worker->own;
    return netlock_switch_audit(node->sw, lock.bits, error);
}
