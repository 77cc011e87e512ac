/*
 * contract_processes.h - compute nodes in processes of their own, and what tests of shm over processes do with one
 * operation.
 */
#pragma once

#include "contract_shm.h"

static const struct contract_shape shape = {.mn_count = 2, .cn_count = 4, .mn_bytes = 1 << 20};

struct contract_deed {
    const char *name;
    void (*fn)(struct fabric_ep *ep);
};

/* ---- small shapes ---- */

static inline void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static inline int run_op(struct fabric_ep *ep, struct fabric_op op)
{
    struct fabric_wait wait = {0};

    fabric_post(ep, &op, 1, &wait);
    assert_int_equal(wait.pending, 0);
    return op.status;
}

static inline uint64_t word_at(struct fabric_ep *ep, struct fabric_addr addr)
{
    uint64_t word = ~0ull;
    assert_int_equal(run_op(ep, fabric_op_read(addr, &word, 8)), 0);
    return word;
}

static inline struct fabric *attach(const struct contract_memnodes *memnodes, uint32_t cn, uint32_t cns)
{
    struct cellar_error error = {0};
    struct fabric *fabric;

    if (contract_attach(memnodes->paths, cn, cns, &fabric, &error) != 0) fail_msg("%s", error.text);
    return fabric;
}

static inline struct fabric_ep *endpoint(struct fabric *fabric, uint32_t cn)
{
    struct cellar_error error = {0};
    struct fabric_ep *ep;

    if (fabric_endpoint_open(fabric, cn, 0, &ep, &error) != 0) fail_msg("%s", error.text);
    return ep;
}

static inline int attach_once(const char *paths, uint32_t cn, uint32_t cns, struct cellar_error *error)
{
    struct fabric_shm_config config = {.memnode_paths = paths, .cn_index = cn, .cns = cns};
    struct fabric *fabric;
    int code = fabric_shm_open(&config, &fabric, error);

    assert_true((code == 0) == (fabric != NULL));
    fabric_close(fabric);
    return code;
}

/*
 * A compute node in a process and program of its own: this program with the name of what it shall do. It calls
 * contract_process_main.
 */
static inline pid_t start_cn(const struct contract_memnodes *memnodes, uint32_t cn, const char *deed)
{
    char number[16];

    snprintf(number, sizeof number, "%u", cn);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "compute-node", memnodes->paths, number, deed, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static inline int end_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/*
 * Does the one of `deeds` (up to one without a name) that start_cn named. What goes wrong shows as a status other
 * than 0. The death of the test itself ends it.
 */
static inline int contract_process_main(char **argv, const struct contract_deed *deeds)
{
    const char *paths = argv[1], *deed = argv[3];
    uint32_t cn = (uint32_t)strtoul(argv[2], NULL, 10);
    struct cellar_error error = {0};
    struct fabric *fabric;
    struct fabric_ep *ep;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (contract_attach(paths, cn, 1, &fabric, &error) != 0) return 2;
    if (fabric_endpoint_open(fabric, cn, 0, &ep, &error) != 0) return 3;
    for (; deeds->name; deeds++)
        if (strcmp(deeds->name, deed) == 0) deeds->fn(ep);
    fabric_endpoint_close(ep);
    fabric_close(fabric);
    return 0;
}
