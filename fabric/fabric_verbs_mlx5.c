/* fabric_verbs_mlx5.c - masked atomics that the device executes itself. None is used until fabric_verbs_native_device has seen one work. */
#include "fabric_verbs_internal.h"

#include <errno.h>

bool fabric_verbs_native_device(struct ibv_context *device)
{
    (void)device;
    return false;
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
    return -CELLAR_ERR_UNSUPPORTED;
}
