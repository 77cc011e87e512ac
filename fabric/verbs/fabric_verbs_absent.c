/* fabric_verbs_absent.c - in place of the verbs backend where the libraries were not there when this was built. */
#include "fabric_verbs.h"

static int absent(struct cellar_error *error)
{
    return err_set(
        error, CELLAR_UNSUPPORTED,
        "no RDMA device can be used: this build has no verbs fabric; install libibverbs-dev and librdmacm-dev, "
        "and build anew");
}

int fabric_verbs_open(const struct fabric_verbs_config *config, struct fabric **out, struct cellar_error *error)
{
    (void)config;
    *out = NULL;
    return absent(error);
}

int fabric_verbs_memnode_run(const struct fabric_verbs_memnode_config *config, const volatile int *stop,
                             void (*status)(void *arg, const struct fabric_verbs_memnode_status *status), void *arg,
                             struct cellar_error *error)
{
    (void)config, (void)stop, (void)status, (void)arg;
    return absent(error);
}
