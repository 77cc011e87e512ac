/*
 * fabric_verbs_mlx5.c - masked atomics that the device executes itself, posted by direct verbs as raw work-queue
 * entries.
 *
 * No such device was at hand when this was written, so nothing here is believed: before the first use masked CASes
 * and field FAAs of 8 bytes, then of 16, are executed over a queue pair of the device to itself, and memory and old
 * words must be right, byte order included. Else the loop of plain CASes is used, and there are no atomics on 16
 * bytes.
 */
#include "fabric_verbs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef CELLAR_MLX5
#include <infiniband/mlx5dv.h>

#define TRY_MS 1000
#define TRY_WORDS 512 /* a page: the words that atomics change, and behind them where old ones come back */

struct ibv_qp *fabric_verbs_native_qp(struct ibv_context *device, struct ibv_qp_init_attr *attr, struct ibv_pd *pd)
{
    struct ibv_qp_init_attr_ex extended = {
        .send_cq = attr->send_cq,
        .recv_cq = attr->recv_cq,
        .cap = attr->cap,
        .qp_type = attr->qp_type,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pd,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                          IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
    };
    struct mlx5dv_qp_init_attr direct = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
                                         .send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE};
    extended.cap.max_inline_data = 64;
    extended.cap.max_send_wr *= 2; /* a raw entry takes two of the queue's blocks, others one */
    struct ibv_qp *qp = mlx5dv_create_qp(device, &extended, &direct);
    if (qp) attr->cap = extended.cap;
    return qp;
}

int fabric_verbs_native_post(struct ibv_qp *qp, uint64_t wr_id, const struct fabric_op *op, uint64_t remote,
                             uint32_t rkey, void *local, uint32_t lkey)
{
    struct ibv_qp_ex *extended = ibv_qp_to_qp_ex(qp);
    const struct fabric_verbs_wqe wqe = {
        .qpn = qp->qp_num, .rkey = rkey, .lkey = lkey, .remote = remote, .local = (uintptr_t)local, .signal = true};
    uint8_t bytes[FABRIC_VERBS_WQE_BYTES] __attribute__((aligned(16)));

    if (!extended) return CELLAR_UNSUPPORTED;
    (void)fabric_verbs_wqe_encode(&wqe, op, bytes);
    ibv_wr_start(extended);
    extended->wr_id = wr_id;
    extended->wr_flags = IBV_SEND_SIGNALED;
    mlx5dv_wr_raw_wqe(mlx5dv_qp_ex_from_ibv_qp_ex(extended), bytes);
    return ibv_wr_complete(extended) == 0 ? 0 : CELLAR_SYSTEM;
}

/* ---- the trial ---- */

struct trial {
    struct ibv_context *device;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint64_t *words;
};

static void trial_end(struct trial *trial)
{
    if (trial->qp) ibv_destroy_qp(trial->qp);
    if (trial->cq) ibv_destroy_cq(trial->cq);
    if (trial->mr) ibv_dereg_mr(trial->mr);
    if (trial->pd) ibv_dealloc_pd(trial->pd);
    free(trial->words);
}

static bool trial_begin(struct trial *trial)
{
    static const int access =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

    trial->words = aligned_alloc(4096, TRY_WORDS * sizeof *trial->words);
    trial->pd = ibv_alloc_pd(trial->device);
    trial->cq = ibv_create_cq(trial->device, 16, NULL, NULL, 0);
    if (!trial->words || !trial->pd || !trial->cq) return false;
    memset(trial->words, 0, TRY_WORDS * sizeof *trial->words);
    trial->mr = ibv_reg_mr(trial->pd, trial->words, TRY_WORDS * sizeof *trial->words, access);
    attr.send_cq = attr.recv_cq = trial->cq;
    trial->qp = fabric_verbs_native_qp(trial->device, &attr, trial->pd);
    return trial->mr && trial->qp;
}

/* The first port that is up, and its first address. */
static bool find_port(struct ibv_context *device, uint8_t *number, struct ibv_port_attr *port, union ibv_gid *gid)
{
    struct ibv_device_attr attr;
    if (ibv_query_device(device, &attr) != 0) return false;
    for (*number = 1; *number <= attr.phys_port_cnt; ++*number)
        if (ibv_query_port(device, *number, port) == 0 && port->state == IBV_PORT_ACTIVE)
            return ibv_query_gid(device, *number, 0, gid) == 0;
    return false;
}

/* To itself: the queue pair is its own other end. */
static bool connect_to_itself(struct trial *trial)
{
    struct ibv_port_attr port;
    union ibv_gid gid;
    uint8_t number;

    if (!find_port(trial->device, &number, &port, &gid)) return false;
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .port_num = number,
                               .qp_access_flags =
                                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = trial->qp->qp_num,
                              .max_dest_rd_atomic = 1,
                              .min_rnr_timer = 12,
                              .ah_attr = {.is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET,
                                          .grh = {.dgid = gid, .hop_limit = 1},
                                          .dlid = port.lid,
                                          .port_num = number}};
    struct ibv_qp_attr rts = {
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 3, .rnr_retry = 3, .max_rd_atomic = 1};
    return ibv_modify_qp(trial->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0 &&
           ibv_modify_qp(trial->qp, &rtr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0 &&
           ibv_modify_qp(trial->qp, &rts,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/* The words must become `wanted`, and those returned be what they were. */
static bool executes(struct trial *trial, const struct fabric_op *op, const uint64_t wanted[2])
{
    volatile uint64_t *words = &trial->words[0], *old = &trial->words[2];
    uint64_t before[2] = {words[0], words[1]}, end_ns = fabric_verbs_now_ns() + TRY_MS * 1000000ull;
    struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
    bool wide = fabric_is_wide(op);
    int count = 0;

    old[0] = ~before[0];
    old[1] = ~before[1];
    if (fabric_verbs_native_post(trial->qp, 1, op, (uintptr_t)words, trial->mr->rkey, (void *)(uintptr_t)old,
                                 trial->mr->lkey) != 0)
        return false;
    while (count == 0 && fabric_verbs_now_ns() < end_ns) count = ibv_poll_cq(trial->cq, 1, &wc);
    return count == 1 && wc.status == IBV_WC_SUCCESS && words[0] == wanted[0] && words[1] == wanted[1] &&
           old[0] == before[0] && old[1] == (wide ? before[1] : ~before[1]);
}

static bool words_pass(struct trial *trial)
{
    struct fabric_addr at = fabric_addr_of(0, 0);
    const struct fabric_op take =
        fabric_op_masked_cas(at, NULL, 0x00a5, 0x00ff, 0x1234000000000001, 0xffff0000000000ff);
    const struct fabric_op taken = fabric_op_masked_cas(at, NULL, 0x00a5, 0x00ff, 0, ~0ull);
    const struct fabric_op add = fabric_op_field_faa(at, NULL, 0x00ff00000000000full, 0x8080808080808080);
    const uint64_t locked[2] = {0x1234776655443301, 0};
    const uint64_t sum[2] = {fabric_field_add(locked[0], add.swap, add.swap_mask), 0};

    trial->words[0] = 0x99887766554433a5;
    trial->words[1] = 0;
    return executes(trial, &take, locked) && executes(trial, &taken, locked) && executes(trial, &add, sum);
}

/*
 * Compared bits in both words, fields that end in each, and one that spans them: the order of words must be right,
 * too.
 */
static bool pairs_pass(struct trial *trial)
{
    struct fabric_wide cas = {.compare = {0xa5, 0x5a00},
                              .compare_mask = {0xff, 0xff00},
                              .swap = {0x1234000000000001, 0x77},
                              .swap_mask = {0xffff0000000000ff, 0xff}};
    struct fabric_wide add = {.swap = {0xffffffff00000001, 3}, .swap_mask = {0x80000000, 1ull << 63 | 1ull << 31}};
    const struct fabric_op take = fabric_op_wide(FABRIC_WIDE_CAS, fabric_addr_of(0, 0), &cas);
    const struct fabric_op sum = fabric_op_wide(FABRIC_WIDE_FAA, fabric_addr_of(0, 0), &add);
    const uint64_t before[2] = {0x99887766554433a5, 0x1122334455665a88};
    uint64_t locked[2], summed[2];

    fabric_wide_apply(&take, before, locked);
    fabric_wide_apply(&sum, locked, summed);
    memcpy(trial->words, before, sizeof before);
    return executes(trial, &take, locked) && executes(trial, &take, locked) && executes(trial, &sum, summed);
}

uint32_t fabric_verbs_native_device(struct ibv_context *device)
{
    struct trial trial = {.device = device};
    uint32_t native = 0;

    if (!mlx5dv_is_supported(device->device)) return 0;
    if (trial_begin(&trial) && connect_to_itself(&trial) && words_pass(&trial)) native = FABRIC_VERBS_NATIVE;
    if (native && pairs_pass(&trial)) native |= FABRIC_VERBS_WIDE;
    trial_end(&trial);
    return native;
}
#else
uint32_t fabric_verbs_native_device(struct ibv_context *device)
{
    (void)device;
    return 0;
}

struct ibv_qp *fabric_verbs_native_qp(struct ibv_context *device, struct ibv_qp_init_attr *attr, struct ibv_pd *pd)
{
    (void)device, (void)attr, (void)pd;
    errno = EOPNOTSUPP;
    return NULL;
}

int fabric_verbs_native_post(struct ibv_qp *qp, uint64_t wr_id, const struct fabric_op *op, uint64_t remote,
                             uint32_t rkey, void *local, uint32_t lkey)
{
    (void)qp, (void)wr_id, (void)op, (void)remote, (void)rkey, (void)local, (void)lkey;
    return CELLAR_UNSUPPORTED;
}
#endif
