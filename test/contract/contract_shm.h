/*
 * contract_shm.h - shm in the two shapes that tests run it in: within one process, and attached to memory-node
 * processes.
 */
#pragma once

#include "contract.h"
#include "fabric_shm.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct contract_memnodes {
    pid_t pids[FABRIC_NODES_MAX];
    uint32_t count;
    char folder[64];
    char paths[FABRIC_NODES_MAX * 80]; /* comma separated, as fabric_shm_config wants it */
};

static inline volatile int *contract_stop_flag(void)
{
    static volatile int stop;
    return &stop;
}

static inline void contract_stop(int signal_number)
{
    (void)signal_number;
    *contract_stop_flag() = 1;
}

static inline void contract_memnode_path(const struct contract_memnodes *memnodes, uint32_t node, char *path,
                                         size_t bytes)
{
    snprintf(path, bytes, "%.40s/mn%u", memnodes->folder, node);
}

/*
 * In a child: serves until it is told to end. The signal of the parent's death makes sure that no test leaves one
 * behind.
 */
static inline _Noreturn void contract_memnode_main(struct fabric_shm_memnode_config config)
{
    struct cellar_error error = {0};
    struct sigaction action = {.sa_handler = contract_stop};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaction(SIGTERM, &action, NULL);
    int code = fabric_shm_memnode_run(&config, contract_stop_flag(), NULL, NULL, &error);
    if (code != 0) fprintf(stderr, "memory node: %s\n", error.text);
    _exit(code == 0 ? 0 : 1);
}

static inline void contract_memnodes_spawn(struct contract_memnodes *memnodes, uint32_t node,
                                           struct contract_shape shape)
{
    char path[80];

    contract_memnode_path(memnodes, node, path, sizeof path);
    fflush(NULL);
    memnodes->pids[node] = fork();
    assert_true(memnodes->pids[node] >= 0);
    if (memnodes->pids[node] == 0)
        contract_memnode_main((struct fabric_shm_memnode_config){.socket_path = path,
                                                                 .node = node,
                                                                 .mn_count = shape.mn_count,
                                                                 .cn_count = shape.cn_count,
                                                                 .bytes = shape.mn_bytes});
}

/* A node that is not there yet would be taken for one that is away. */
static inline void contract_memnode_listens(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    for (int refused = -1; refused != 0;) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        refused = connect(fd, (struct sockaddr *)&address, sizeof address);
        close(fd);
        if (refused) usleep(1000);
    }
}

static inline void contract_memnodes_start(struct contract_memnodes *memnodes, struct contract_shape shape)
{
    memset(memnodes, 0, sizeof *memnodes);
    strcpy(memnodes->folder, "/tmp/cellar-contract-XXXXXX");
    assert_non_null(mkdtemp(memnodes->folder));
    memnodes->count = shape.mn_count;
    for (uint32_t i = 0; i < shape.mn_count; i++) {
        char path[80];
        contract_memnodes_spawn(memnodes, i, shape);
        contract_memnode_path(memnodes, i, path, sizeof path);
        if (i > 0) strcat(memnodes->paths, ",");
        strcat(memnodes->paths, path);
    }
    for (uint32_t i = 0; i < shape.mn_count; i++) {
        char path[80];
        contract_memnode_path(memnodes, i, path, sizeof path);
        contract_memnode_listens(path);
    }
}

/* Ends them in the orderly way; each must leave with 0 and take its socket with it, or the folder cannot be removed. */
static inline void contract_memnodes_stop(struct contract_memnodes *memnodes)
{
    for (uint32_t i = 0; i < memnodes->count; i++)
        if (memnodes->pids[i] > 0) kill(memnodes->pids[i], SIGTERM);
    for (uint32_t i = 0; i < memnodes->count; i++) {
        int status = 0;
        if (memnodes->pids[i] <= 0) continue;
        assert_int_equal(waitpid(memnodes->pids[i], &status, 0), memnodes->pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(rmdir(memnodes->folder), 0);
}

/*
 * Attaches as compute nodes [cn_index, cn_index + cns); gives processes that have just been started a minute to
 * listen.
 */
static inline int contract_attach(const char *paths, uint32_t cn_index, uint32_t cns, struct fabric **out,
                                  struct cellar_error *error)
{
    struct fabric_shm_config config = {.memnode_paths = paths, .cn_index = cn_index, .cns = cns, .seed = 1};
    int code = CELLAR_UNREACHABLE;

    for (int tries = 0; tries < 6000 && code == CELLAR_UNREACHABLE; tries++) {
        code = fabric_shm_open(&config, out, error);
        if (code == CELLAR_UNREACHABLE) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return code;
}

/* `variant` is the delay of completions. */
static inline int contract_open_shm(const struct contract_backend *backend, const struct contract_shape *shape,
                                    struct fabric **out, struct cellar_error *error)
{
    struct fabric_shm_config config = {.mn_count = shape->mn_count,
                                       .cn_count = shape->cn_count,
                                       .mn_bytes = shape->mn_bytes,
                                       .rtt_ns = backend->variant,
                                       .seed = 1};
    return fabric_shm_open(&config, out, error);
}
