/* etcd_absent.c - built without libcurl: the room says what is missing. */
#include "etcd.h"

int etcd_open(const char *servers, const char *prefix, struct etcd **out, struct cellar_error *error)
{
    (void)servers, (void)prefix;
    *out = NULL;
    return err_set(error, CELLAR_UNSUPPORTED,
                   "this build cannot speak to etcd: libcurl was missing (Debian: libcurl4-openssl-dev)");
}

void etcd_close(struct etcd *etcd) { (void)etcd; }

const struct cellar_decider *etcd_decider(const struct etcd *etcd)
{
    (void)etcd;
    return NULL;
}
