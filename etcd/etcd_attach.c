/* etcd_attach.c - the register that a command was asked to decide by. */
#include "etcd.h"

int etcd_attach(const char *servers, const char *prefix, struct etcd **out, const struct cellar_decider **decider,
                struct cellar_error *error)
{
    *out = NULL;
    *decider = NULL;
    if (!servers && prefix)
        return err_set(error, CELLAR_INVALID, "--etcd-prefix %.80s is of no use without --etcd", prefix);
    if (!servers) return 0;
    int code = etcd_open(servers, prefix ? prefix : ETCD_PREFIX, out, error);
    if (code == 0) *decider = etcd_decider(*out);
    return code;
}
