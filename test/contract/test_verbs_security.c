/*
 * test_verbs_security.c - what the verbs fabric lets no process do, on a device: wrong secrets and layouts, requests
 * made twice, access out of range or with another's key, access after the fence, requests that are never finished.
 * Skipped without a device (contract_verbs.h).
 */
#include "contract_verbs.h"

#ifdef CELLAR_HAS_VERBS
#include "fabric_verbs_internal.h"

#include <malloc.h>
#include <unistd.h>

#define MN_BYTES (1u << 20)
#define PRINT 0x1234
#define HALF_OPEN 200
#define HALF_OPEN_BYTES (HALF_OPEN * 64) /* a connection's identity alone takes more */

static char list[512], secret_path[] = "/tmp/cellar-secret-XXXXXX";
static uint64_t local[512] __attribute__((aligned(4096)));

/* ---- one memory node, compute nodes of this process ---- */

static void start(uint32_t cns)
{
    struct contract_shape shape = {.mn_count = 1, .cn_count = cns, .mn_bytes = MN_BYTES};
    contract_verbs_start(&shape, list, sizeof list);
}

static struct fabric *join(uint32_t cn, struct fabric_ep **ep)
{
    struct fabric_verbs_config config = {.memnodes = list, .cn_index = cn, .cns = 1};
    struct cellar_error error = {0};
    struct fabric *fabric;
    if (contract_verbs_connect(&config, &fabric, &error) != 0) fail_msg("%s", error.text);
    assert_int_equal(fabric_register_local(fabric, local, sizeof local), 0);
    if (fabric_endpoint_open(fabric, cn, 0, ep, &error) != 0) fail_msg("%s", error.text);
    return fabric;
}

static void leave(struct fabric *fabric, struct fabric_ep *ep)
{
    fabric_endpoint_close(ep);
    fabric_close(fabric);
}

static int run(struct fabric_ep *ep, struct fabric_op op)
{
    struct fabric_wait wait = {0};
    fabric_post(ep, &op, 1, &wait);
    while (wait.pending > 0)
        if (!fabric_poll(ep) && wait.pending > 0) fabric_idle(ep, UINT64_MAX);
    return op.status;
}

static int add(struct fabric_ep *ep, uint64_t *old) { return run(ep, fabric_op_faa(fabric_addr_of(0, 64), old, 1)); }

static struct fabric_verbs_link *link_of(struct fabric_ep *ep) { return ((struct fabric_verbs_ep *)ep)->links[0]; }

/* A request past all checks of the fabric: the device's answer is what counts. */
static enum ibv_wc_status raw_on(struct fabric_ep *ep, struct fabric_verbs_link *link, enum ibv_wr_opcode opcode,
                                 uint64_t remote, uint32_t rkey)
{
    struct ibv_sge sge = {.addr = (uintptr_t)link->slots, .length = 8, .lkey = link->slots_mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = ~0ull >> 1,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = opcode,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .wr.rdma = {remote, rkey}};
    struct ibv_wc wc = {.status = IBV_WC_SUCCESS};
    assert_int_equal(ibv_post_send(link->cm.qp, &wr, &bad), 0);
    for (int i = 0; i < 5000 && ibv_poll_cq(((struct fabric_verbs_ep *)ep)->cq, 1, &wc) == 0; i++) usleep(1000);
    return wc.status;
}

static enum ibv_wc_status raw(struct fabric_ep *ep, enum ibv_wr_opcode opcode, uint64_t remote, uint32_t rkey)
{
    return raw_on(ep, link_of(ep), opcode, remote, rkey);
}

/* ---- which processes are let in ---- */

static int try_open(const char *path, uint64_t fingerprint)
{
    struct fabric_verbs_config config = {.memnodes = list, .secret_path = path, .cns = 1, .fingerprint = fingerprint};
    struct cellar_error error = {0};
    struct fabric *fabric = NULL;
    int code = contract_verbs_connect(&config, &fabric, &error);
    assert_true((code == 0) == (fabric != NULL) && (code == 0) == (error.text[0] == 0));
    fabric_close(fabric);
    return code;
}

static void test_secret_and_layout(void **state)
{
    (void)state;
    int fd = mkstemp(secret_path);
    assert_true(fd >= 0 && write(fd, "0123456789abcdef", 16) == 16);
    close(fd);
    start(1);
    assert_int_equal(try_open(secret_path, 0), CELLAR_INVALID);
    assert_int_equal(try_open(NULL, PRINT), CELLAR_MISMATCH);
    assert_int_equal(try_open(NULL, 0), 0);
    contract_after_verbs();
    unlink(secret_path);
}

/* One connection request with these bytes: how it ends. */
static enum rdma_cm_event_type ask(const void *bytes, uint8_t count, struct fabric_verbs_reply_wire *reply)
{
    struct fabric_verbs_target target;
    static uint32_t number = 0xa00000; /* of a queue pair that there is not */
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_conn_param param = {.private_data = bytes, .private_data_len = count, .qp_num = ++number};
    struct rdma_cm_event *event;
    struct rdma_cm_id *id;
    assert_int_equal(fabric_verbs_target_parse(&target, list, NULL), 0);
    assert_non_null(channel);
    assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)(void *)&target.address, 2000), 0);
    assert_true(rdma_get_cm_event(channel, &event) == 0 && rdma_ack_cm_event(event) == 0);
    assert_int_equal(rdma_resolve_route(id, 2000), 0);
    assert_true(rdma_get_cm_event(channel, &event) == 0 && rdma_ack_cm_event(event) == 0);
    assert_int_equal(rdma_connect(id, &param), 0);
    assert_int_equal(rdma_get_cm_event(channel, &event), 0);
    enum rdma_cm_event_type type = event->event;
    memset(reply, 0, sizeof *reply);
    if (event->param.conn.private_data && event->param.conn.private_data_len >= sizeof *reply)
        memcpy(reply, event->param.conn.private_data, sizeof *reply);
    rdma_ack_cm_event(event);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
    return type;
}

/* What was overheard is of no use; neither is a cookie alone, nor noise. Keys are told after a proof only. */
static void test_replay(void **state)
{
    (void)state;
    struct fabric_verbs_request_wire request = {
        .magic = FABRIC_VERBS_WIRE_MAGIC, .kind = FABRIC_VERBS_HELLO, .incarnation = 77};
    struct fabric_verbs_secret none = {0};
    struct fabric_verbs_reply_wire reply;
    struct fabric_ep *ep;
    uint64_t old;
    start(2);
    struct fabric *fabric = join(0, &ep);
    assert_int_equal(ask(&request, sizeof request, &reply), RDMA_CM_EVENT_REJECTED);
    request.cookie = reply.cookie;
    request.cookie_ms = reply.cookie_ms;
    request.kind = FABRIC_VERBS_ATTACH;
    request.cn = request.other = 1;
    assert_int_equal(ask(&request, sizeof request, &reply), RDMA_CM_EVENT_REJECTED); /* without a proof */
    assert_true(reply.code == CELLAR_INVALID && reply.rkey == 0 && reply.base == 0);
    fabric_verbs_prove(&none, &request);
    request.kind = FABRIC_VERBS_CONNECT; /* the proof is of another request */
    assert_int_equal(ask(&request, sizeof request, &reply), RDMA_CM_EVENT_REJECTED);
    assert_true(reply.code == CELLAR_INVALID && reply.rkey == 0 && reply.base == 0);
    request.kind = FABRIC_VERBS_ATTACH;
    assert_int_equal(ask(&request, sizeof request, &reply), RDMA_CM_EVENT_CONNECT_RESPONSE);
    assert_int_equal(ask(&request, sizeof request, &reply), RDMA_CM_EVENT_REJECTED);
    assert_int_equal(reply.code, CELLAR_INVALID);
    for (uint8_t count = 0; count < 56; count = (uint8_t)(count + 11)) {
        uint8_t noise[56];
        memset(noise, 0x41 + count, sizeof noise);
        assert_int_equal(ask(noise, count, &reply), RDMA_CM_EVENT_REJECTED);
        assert_true(reply.code < 0 && reply.rkey == 0);
    }
    assert_int_equal(add(ep, &old), 0);
    leave(fabric, ep);
    contract_after_verbs();
}

/* A process that only begins costs the memory node nothing; others are served. */
static void test_half_open(void **state)
{
    (void)state;
    struct fabric_verbs_request_wire hello = {.magic = FABRIC_VERBS_WIRE_MAGIC, .kind = FABRIC_VERBS_HELLO};
    struct fabric_verbs_reply_wire reply;
    struct fabric_ep *ep;
    uint64_t old;
    start(1);
    struct fabric *fabric = join(0, &ep); /* it listens */
    leave(fabric, ep);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < HALF_OPEN; i++) assert_int_equal(ask(&hello, sizeof hello, &reply), RDMA_CM_EVENT_REJECTED);
    assert_true(mallinfo2().uordblks < before + HALF_OPEN_BYTES);
    fabric = join(0, &ep);
    assert_int_equal(add(ep, &old), 0);
    leave(fabric, ep);
    contract_after_verbs();
}

/* ---- what one reaches ---- */

/* The device refuses, the fabric finds its connection broken and makes another; the process goes on. */
static void refused_by_device(struct fabric_ep *ep, enum ibv_wr_opcode opcode, uint64_t remote, uint32_t rkey)
{
    uint64_t old;
    assert_int_equal(raw(ep, opcode, remote, rkey), IBV_WC_REM_ACCESS_ERR);
    while (add(ep, &old) != 0) continue; /* the first one tells the fabric */
}

static void test_out_of_range(void **state)
{
    (void)state;
    struct fabric_ep *ep, *other;
    start(2);
    struct fabric *fabric = join(0, &ep), *second = join(1, &other);
    struct fabric_verbs_node *node = &((struct fabric_verbs *)fabric)->nodes[0];
    struct fabric_verbs_link *link = link_of(ep);
    refused_by_device(ep, IBV_WR_RDMA_READ, link->base + MN_BYTES - 4, link->rkey);
    refused_by_device(ep, IBV_WR_RDMA_WRITE, link->base + MN_BYTES, link->rkey);
    refused_by_device(ep, IBV_WR_RDMA_READ, link->base - 8, link->rkey);
    refused_by_device(ep, IBV_WR_RDMA_WRITE, node->directory, node->directory_rkey); /* for reading only */
    refused_by_device(ep, IBV_WR_RDMA_READ, link->base, link_of(other)->rkey); /* the key of another compute node */
    leave(fabric, ep);
    leave(second, other);
    contract_after_verbs();
}

/* The request itself, by a process that may not know yet that it was declared dead. */
static int ask_to_fence(const struct fabric_verbs *asker, uint32_t cn, uint32_t other)
{
    struct fabric_verbs_request_wire request = {.kind = FABRIC_VERBS_FENCE,
                                                .cn = (uint8_t)cn,
                                                .other = (uint8_t)other,
                                                .fingerprint = asker->fingerprint,
                                                .incarnation = asker->incarnation};
    struct fabric_verbs_reply_wire reply;
    struct fabric_verbs_cm cm;
    return fabric_verbs_ask(&asker->nodes[0].target, &asker->secret, &request, NULL, NULL, &cm, &reply, NULL);
}

/*
 * From the fence on nothing of it executes, under any key it ever had, and it is not let in again; its index is free
 * for a new process.
 */
static void test_after_fence(void **state)
{
    (void)state;
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 0, .only_dead = true};
    struct fabric_ep *victim_ep, *ep;
    struct cellar_error error = {0};
    uint64_t old;
    start(2);
    struct fabric *victim = join(0, &victim_ep), *fabric = join(1, &ep);
    struct fabric_verbs_link *link = link_of(victim_ep);
    uint64_t base = link->base;
    uint32_t rkey = link->rkey;
    assert_int_equal(add(victim_ep, &old), 0);
    assert_int_equal(fabric->ops->control(fabric, &fence, &error), CELLAR_EXISTS); /* it is alive */
    assert_int_equal(add(victim_ep, &old), 0);
    fence.only_dead = false;
    assert_int_equal(fabric->ops->control(fabric, &fence, &error), 0);
    for (int i = 0; i < 4; i++) {
        int status = add(victim_ep, &old);
        if (status != CELLAR_FENCED) print_message("after the fence, operation %d: %d\n", i, status);
        assert_true(status == CELLAR_FENCED || status == CELLAR_INDETERMINATE || status == CELLAR_UNREACHABLE);
    }
    assert_int_equal(run(ep, fabric_op_read(fabric_addr_of(0, 64), local, 8)), 0);
    assert_int_equal(local[0], 2);
    fence.cn = 1; /* a node that was thrown out throws none out, */
    assert_true(victim->ops->control(victim, &fence, &error) < 0);
    assert_int_equal(ask_to_fence((const struct fabric_verbs *)victim, 0, 1), CELLAR_FENCED); /* whatever it asks for */
    refused_by_device(ep, IBV_WR_RDMA_READ, base, rkey);
    assert_int_equal(run(ep, fabric_op_read(fabric_addr_of(0, 64), local, 8)), 0);
    uint64_t count = local[0];
    assert_true(add(ep, &old) == 0 && old == count);
    leave(victim, victim_ep);
    victim = join(0, &victim_ep);
    assert_int_equal(add(victim_ep, &old), 0);
    leave(victim, victim_ep);
    leave(fabric, ep);
    contract_after_verbs();
}

/* Memory that is registered, forgotten and freed over and over holds no more of the device than once. */
static void test_registrations(void **state)
{
    (void)state;
    struct fabric_ep *ep;
    start(1);
    struct fabric *fabric = join(0, &ep);
    const struct fabric_verbs_local *own = &((struct fabric_verbs *)fabric)->local;
    uint32_t before = own->mr_count;
    uint64_t *words = aligned_alloc(4096, 2 * 4096);
    assert_non_null(words);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fabric_register_local(fabric, words, 2 * 4096), 0);
        assert_int_equal(run(ep, fabric_op_read(fabric_addr_of(0, 64), words + 512, 8)), 0);
        if (i % 2) fabric_forget_local(fabric, words, 2 * 4096); /* else it is only registered again */
        assert_true(own->mr_count <= before + 1);
    }
    assert_int_equal(own->mr_count, before);
    assert_int_equal(run(ep, fabric_op_read(fabric_addr_of(0, 64), words + 512, 8)), CELLAR_INVALID);
    assert_int_equal(run(ep, fabric_op_read(fabric_addr_of(0, 64), local, 8)), 0);
    free(words);
    leave(fabric, ep);
    contract_after_verbs();
}

/* ---- memory nodes that are away for a while ---- */

static void lose_node(struct fabric *fabric, uint32_t node)
{
    fabric_verbs_node_stop((struct fabric_verbs *)fabric, node, FABRIC_VERBS_AWAY);
}

/* Does the memory node execute anything on the queue pair that this endpoint has to it? */
static bool executes(struct fabric_ep *ep, uint32_t node)
{
    struct fabric_verbs_link *link = ((struct fabric_verbs_ep *)ep)->links[node];
    return link->cm.qp && raw_on(ep, link, IBV_WR_RDMA_READ, link->base, link->rkey) == IBV_WC_SUCCESS;
}

/* An operation on that node, until it is not UNREACHABLE. */
static int insist(struct fabric_ep *ep, uint32_t node, uint64_t *old)
{
    int status = CELLAR_UNREACHABLE;
    for (int i = 0; i < 300 && status == CELLAR_UNREACHABLE; i++) {
        status = run(ep, fabric_op_faa(fabric_addr_of(node, 64), old, 1));
        if (status == CELLAR_UNREACHABLE) usleep(100000);
    }
    return status;
}

/* It was cut off, and is the same one: it is used again, with what it holds. A node told to leave it stays away. */
static void test_comes_back(void **state)
{
    (void)state;
    struct fabric_control leave_it = {.kind = FABRIC_NODE_LEAVE, .node = 0};
    struct fabric_ep *ep;
    uint64_t old = 0;
    start(1);
    struct fabric *fabric = join(0, &ep);
    assert_int_equal(add(ep, &old), 0);
    lose_node(fabric, 0);
    assert_int_equal(add(ep, &old), CELLAR_UNREACHABLE);
    assert_int_equal(insist(ep, 0, &old), 0);
    assert_int_equal(old, 1);
    assert_int_equal(fabric->ops->control(fabric, &leave_it, NULL), 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(add(ep, &old), CELLAR_UNREACHABLE);
        usleep(100000);
    }
    leave(fabric, ep);
    contract_after_verbs();
}

/* INV-VERBS-8: a node fenced while a memory node was away is fenced there before that one is used again. */
static void test_fence_while_away(void **state)
{
    (void)state;
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 0};
    struct contract_shape shape = {.mn_count = 2, .cn_count = 2, .mn_bytes = MN_BYTES};
    struct fabric_ep *victim_ep, *ep;
    struct cellar_error error = {0};
    uint64_t old = 0;
    contract_verbs_start(&shape, list, sizeof list);
    struct fabric *victim = join(0, &victim_ep), *fabric = join(1, &ep);
    lose_node(fabric, 1);
    assert_int_equal(fabric->ops->control(fabric, &fence, &error), 0);
    assert_false(executes(victim_ep, 0));
    assert_true(executes(victim_ep, 1)); /* it could not be told */
    assert_int_equal(insist(ep, 1, &old), 0);
    assert_false(executes(victim_ep, 1));
    leave(victim, victim_ep);
    leave(fabric, ep);
    contract_after_verbs();
}

/* INV-VERBS-11: a node that was cut off is not taken for the fresh one that is to be filled in its place. */
static void test_replaced_unblank(void **state)
{
    (void)state;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 0};
    struct fabric_control replace = {.kind = FABRIC_NODE_REPLACE, .node = 0, .blank = true};
    struct cellar_error error = {0};
    struct fabric_ep *ep;
    uint64_t old = 0;
    start(1);
    struct fabric *fabric = join(0, &ep);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(fabric->ops->control(fabric, &kill, &error), 0);
        assert_int_equal(fabric->ops->control(fabric, &replace, &error), round ? CELLAR_MISMATCH : 0);
        assert_int_equal(round ? add(ep, &old) : insist(ep, 0, &old), round ? CELLAR_UNREACHABLE : 0);
    }
    replace.blank = false; /* as for nodes that did not begin to fill it */
    assert_int_equal(fabric->ops->control(fabric, &replace, &error), 0);
    assert_true(insist(ep, 0, &old) == 0 && old == 1);
    leave(fabric, ep);
    contract_after_verbs();
}

/* ---- the linking thread and the worker ---- */

/* Holds up look-ups of local memory, until the linking thread has given a link back. */
static void *hold_lookups(void *arg)
{
    struct fabric_verbs_ep *vep = arg;
    struct fabric_verbs_local *own = &((struct fabric_verbs *)vep->ep.fabric)->local;
    pthread_mutex_lock(&own->lock);
    __atomic_fetch_add(&own->all.version, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 10000 && __atomic_load_n(&vep->resolved, __ATOMIC_ACQUIRE) == 0; i++) usleep(1000);
    pthread_mutex_unlock(&own->lock);
    return NULL;
}

/* INV-VERBS-9: the connection that a batch asks for is there before the batch is posted whole. */
static void test_given_back_early(void **state)
{
    (void)state;
    struct fabric_op ops[] = {{.kind = FABRIC_SEND, .addr = fabric_endpoint_addr(0, 0)},
                              fabric_op_read(fabric_addr_of(0, 64), local, 8)};
    struct fabric_message message;
    struct fabric_wait wait = {0};
    struct fabric_ep *ep;
    pthread_t holder;
    start(1);
    struct fabric *fabric = join(0, &ep);
    const struct fabric_verbs_local *own = &((struct fabric_verbs *)fabric)->local;
    uint32_t version = own->all.version;
    assert_int_equal(pthread_create(&holder, NULL, hold_lookups, ep), 0);
    while (__atomic_load_n(&own->all.version, __ATOMIC_ACQUIRE) == version) usleep(1000);
    fabric_post(ep, ops, 2, &wait);
    assert_int_equal(pthread_join(holder, NULL), 0);
    while (wait.pending > 0) fabric_poll(ep);
    assert_true(ops[0].status == 0 && ops[1].status == 0);
    while (!fabric_recv(ep, &message)) fabric_poll(ep);
    assert_int_equal(run(ep, ops[0]), 0);
    leave(fabric, ep);
    contract_after_verbs();
}

/*
 * How long it takes to close a worker while the linking thread is busy: with its own link, and with a memory node
 * that does not answer.
 */
static uint64_t closing_amid_linking_ns(void)
{
    struct fabric_op op = {.kind = FABRIC_SEND, .addr = fabric_endpoint_addr(0, 0)};
    struct fabric_wait wait = {0};
    struct fabric_ep *ep;
    start(1);
    struct fabric *fabric = join(0, &ep);
    struct fabric_verbs *verbs = (struct fabric_verbs *)fabric;
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&verbs->nodes[0].target.address;
    address->sin_addr.s_addr = htonl(ntohl(address->sin_addr.s_addr) + 77); /* no machine has it */
    lose_node(fabric, 0);
    usleep(100000);
    uint64_t begin_ns = fabric_verbs_now_ns();
    verbs->nodes[0].again_ns = 0;
    fabric_verbs_node_recall(verbs, &verbs->nodes[0]);
    usleep(100000);
    fabric_post(ep, &op, 1, &wait);
    leave(fabric, ep);
    uint64_t took_ns = fabric_verbs_now_ns() - begin_ns;
    contract_after_verbs();
    return took_ns;
}

/*
 * It is closed at once: an address that no machine has is given up after 2 s. A loaded machine may stop us as long, but
 * not each time.
 */
static void test_closed_amid_linking(void **state)
{
    (void)state;
    for (int tries = 0; tries < 5; tries++)
        if (closing_amid_linking_ns() < 1500000000) return;
    fail_msg("closing waits for the linking thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secret_and_layout),   cmocka_unit_test(test_replay),
        cmocka_unit_test(test_half_open),           cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_after_fence),         cmocka_unit_test(test_registrations),
        cmocka_unit_test(test_comes_back),          cmocka_unit_test(test_fence_while_away),
        cmocka_unit_test(test_replaced_unblank),    cmocka_unit_test(test_given_back_early),
        cmocka_unit_test(test_closed_amid_linking),
    };
    if (!getenv(CONTRACT_VERBS_ADDRESS)) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
