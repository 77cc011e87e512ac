/*
 * contract_verbs.h - the verbs backend for the suite: memory nodes are threads of the test itself. It takes part
 * where a device is: the environment names the address of its interface (test/verbs/run.sh does so in a guest).
 */
#pragma once

#include "contract.h"
#include "fabric_verbs.h"

#include <pthread.h>
#include <time.h>

#define CONTRACT_VERBS_ADDRESS "CELLAR_VERBS_ADDRESS"

struct contract_verbs_node {
    struct fabric_verbs_memnode_config config;
    pthread_t thread;
    int stop, code;
    char address[64];
    struct cellar_error error;
};

static struct contract_verbs_node contract_verbs_nodes[8];
static uint32_t contract_verbs_count;

static inline void *contract_verbs_main(void *arg)
{
    struct contract_verbs_node *node = arg;
    node->code = fabric_verbs_memnode_run(&node->config, &node->stop, NULL, NULL, &node->error);
    if (node->code != 0) fprintf(stderr, "memory node at %s: %s\n", node->address, node->error.text);
    return NULL;
}

/* A port that no earlier test has used: connections of that one may be in their last states. */
static inline void contract_verbs_start(const struct contract_shape *shape, char *list, size_t bytes)
{
    static uint32_t port = 20000;

    *list = 0;
    contract_verbs_count = shape->mn_count;
    for (uint32_t i = 0; i < shape->mn_count; i++) {
        struct contract_verbs_node *node = &contract_verbs_nodes[i];
        memset(node, 0, sizeof *node);
        snprintf(node->address, sizeof node->address, "%.40s:%u", getenv(CONTRACT_VERBS_ADDRESS), port++);
        node->config = (struct fabric_verbs_memnode_config){.address = node->address,
                                                            .node = i,
                                                            .mn_count = shape->mn_count,
                                                            .cn_count = shape->cn_count,
                                                            .bytes = shape->mn_bytes,
                                                            .seed = 1};
        assert_int_equal(pthread_create(&node->thread, NULL, contract_verbs_main, node), 0);
        snprintf(list + strlen(list), bytes - strlen(list), "%s%s", i ? "," : "", node->address);
    }
}

/* Gives memory nodes that have just been started time to listen. */
static inline int contract_verbs_connect(const struct fabric_verbs_config *config, struct fabric **out,
                                         struct cellar_error *error)
{
    int code = CELLAR_UNREACHABLE;

    for (int tries = 0; tries < 100 && code == CELLAR_UNREACHABLE; tries++) {
        code = fabric_verbs_open(config, out, error);
        if (code == CELLAR_UNREACHABLE) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return code;
}

static inline int contract_open_verbs(const struct contract_backend *backend, const struct contract_shape *shape,
                                      struct fabric **out, struct cellar_error *error)
{
    char list[512];

    (void)backend;
    contract_verbs_start(shape, list, sizeof list);
    struct fabric_verbs_config config = {.memnodes = list, .cns = shape->cn_count};
    return contract_verbs_connect(&config, out, error);
}

/* Each must end in order. */
static inline void contract_after_verbs(void)
{
    for (uint32_t i = 0; i < contract_verbs_count; i++) {
        struct contract_verbs_node *node = &contract_verbs_nodes[i];
        __atomic_store_n(&node->stop, 1, __ATOMIC_RELEASE);
        pthread_join(node->thread, NULL);
        if (node->code != 0) fail_msg("memory node %u: %s", i, node->error.text);
    }
}
