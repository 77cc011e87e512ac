/*
 * fabric_shm_attach.c - a compute-node process and its memory-node processes: attaching to their segments, noticing
 * their death, and asking them to fence another process.
 */
#include "fabric_shm_internal.h"
#include "descriptor.h"
#include "fabric_shm_wire.h"
#include "must.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_SECONDS 15 /* a memory node waits up to 10 s for a process that it kills */

/* ---- one connection ---- */

static int connect_to(const char *path, int *out, struct cellar_error *error)
{
    struct sockaddr_un address;
    struct timeval patience = {.tv_sec = REPLY_SECONDS};
    int code = fabric_shm_wire_address(&address, path, error);

    if (code != 0) return code;
    int fd = descriptor_high(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd < 0) return err_set(error, CELLAR_SYSTEM, "cannot make a socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        code = errno == ENOENT || errno == ECONNREFUSED
                   ? err_set(error, CELLAR_UNREACHABLE,
                             "no memory node listens at %s; start one there first (cellar memnode)", path)
                   : err_set(error, CELLAR_UNREACHABLE, "cannot reach a memory node at %s: %s", path, strerror(errno));
        close(fd);
        return code;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    *out = fd;
    return 0;
}

/* Sends `message` and receives the answer over it; `fds` may be NULL. Anything but the `wanted` kind is an error. */
static int ask(int fd, const char *path, struct fabric_shm_message_wire *message, enum fabric_shm_wire_kind wanted,
               int *fds, struct cellar_error *error)
{
    if (fabric_shm_wire_send(fd, message, NULL, 0) != 0)
        return err_set(error, CELLAR_UNREACHABLE, "the memory node at %s hung up", path);
    switch (fabric_shm_wire_receive(fd, message, fds)) {
    case FABRIC_SHM_WIRE_NONE:
        return err_set(error, CELLAR_UNREACHABLE, "the memory node at %s did not answer within %d s", path,
                       REPLY_SECONDS);
    case FABRIC_SHM_WIRE_HUNG_UP:
        return err_set(error, CELLAR_UNREACHABLE, "the memory node at %s hung up", path);
    case FABRIC_SHM_WIRE_GARBAGE:
        if (message->magic != FABRIC_SHM_WIRE_MAGIC)
            return err_set(error, CELLAR_MISMATCH, "what listens at %s is not a memory node", path);
        return err_set(error, CELLAR_MISMATCH,
                       "the memory node at %s speaks version %u, this process %d; use one build for both", path,
                       message->version, FABRIC_SHM_WIRE_VERSION);
    case FABRIC_SHM_WIRE_GOT:
        break;
    }
    if (message->kind == FABRIC_SHM_REFUSED && message->code < 0)
        return err_set(error, message->code, "%s", message->text);
    if (message->kind != wanted)
        return err_set(error, CELLAR_MISMATCH, "the memory node at %s gave an answer of kind %u", path, message->kind);
    return 0;
}

/* ---- attaching ---- */

/* What is known on the way. */
struct attaching {
    uint32_t paths;
    uint64_t seed;
    bool adopted;              /* the mailbox segment is one that compute nodes use already */
    const char *missing;       /* the path at which no memory node listens; NULL: none */
    struct cellar_error error; /* of that one */
};

/* Without a reply: one that does not take it has it from the next. */
static void mailboxes_bring(const struct fabric_shm *shm, int socket_fd)
{
    struct fabric_shm_message_wire message = {.kind = FABRIC_SHM_MAILBOXES};
    (void)!fabric_shm_wire_send(socket_fd, &message, &shm->mailbox_fd, 1);
}

/* What the first memory node says holds for all. */
static int check_shape(struct fabric_shm *shm, const struct fabric_shm_message_wire *reply, uint32_t paths,
                       uint64_t *seed, const char *path, struct cellar_error *error)
{
    struct fabric *fabric = &shm->fabric;

    if (fabric->mn_count == 0) {
        if (reply->mn_count != paths)
            return err_set(error, CELLAR_INVALID,
                           "the memory node at %s is one of %u, but %u path(s) were given; "
                           "name all of them",
                           path, reply->mn_count, paths);
        if (reply->cn_count < 1 || reply->cn_count > FABRIC_CNS_MAX || reply->bytes == 0 || reply->bytes > 1ull << 48)
            return err_set(error, CELLAR_CORRUPT, "the memory node at %s describes itself with nonsense", path);
        fabric->mn_count = reply->mn_count;
        fabric->cn_count = reply->cn_count;
        fabric->mn_bytes = reply->bytes;
        *seed = reply->seed;
    }
    if (reply->mn_count != fabric->mn_count || reply->cn_count != fabric->cn_count ||
        reply->bytes != fabric->mn_bytes || reply->seed != *seed)
        return err_set(error, CELLAR_MISMATCH,
                       "the memory node at %s is of another pool than those before it: %u x %" PRIu64
                       " bytes, %u compute nodes, seed %" PRIu64,
                       path, reply->mn_count, reply->bytes, reply->cn_count, reply->seed);
    if (reply->node >= fabric->mn_count || shm->sockets[reply->node] >= 0)
        return err_set(error, CELLAR_MISMATCH,
                       "the memory node at %s is number %u, as is one before it; each needs its own", path,
                       reply->node);
    return 0;
}

static int map_segments(struct fabric_shm *shm, const struct fabric_shm_message_wire *reply, int *fds,
                        struct attaching *attaching, struct cellar_error *error)
{
    int code = fabric_shm_map_fd(&shm->regions[reply->node], fds[0], reply->bytes, error);

    if (code != 0) return code;
    if (reply->node == 0) shm->fabric.fresh = reply->fresh != 0;
    if (fds[1] < 0 || (shm->mailbox_fd >= 0 && (!reply->adopted || attaching->adopted))) return 0;
    if (shm->mailbox_fd >= 0) close(shm->mailbox_fd);
    shm->mailbox_fd = fds[1];
    fds[1] = -1;
    attaching->adopted = reply->adopted != 0;
    return 0;
}

static int attach_one(struct fabric_shm *shm, const struct fabric_shm_config *config, const char *path,
                      struct attaching *attaching, struct cellar_error *error)
{
    struct fabric_shm_message_wire message = {
        .kind = FABRIC_SHM_ATTACH, .cn = config->cn_index, .cns = config->cns, .opening = shm->opening};
    int socket_fd, fds[FABRIC_SHM_WIRE_FDS] = {-1, -1};
    int code = connect_to(path, &socket_fd, error);

    if (code == CELLAR_UNREACHABLE && config->one_may_miss && !attaching->missing) {
        attaching->missing = path;
        attaching->error = *error;
        return 0;
    }
    if (code != 0) return code;
    code = ask(socket_fd, path, &message, FABRIC_SHM_ATTACHED, fds, error);
    if (code == 0) code = check_shape(shm, &message, attaching->paths, &attaching->seed, path, error);
    if (code == 0) code = map_segments(shm, &message, fds, attaching, error);
    if (code == 0) {
        shm->sockets[message.node] = socket_fd;
        shm->socket_paths[message.node] = strdup(path);
        if (!shm->socket_paths[message.node]) code = err_set(error, CELLAR_NOMEM, "no memory for a path");
    } else {
        close(socket_fd);
    }
    for (uint32_t i = 0; i < FABRIC_SHM_WIRE_FDS; i++)
        if (fds[i] >= 0) close(fds[i]);
    return code;
}

/*
 * One memory node may be away (docs/failover.md): the process that opens the pool finds out whether its backups have
 * taken over. A pool that no process has formatted yet needs all of them.
 */
static int missing_place(struct fabric_shm *shm, const struct attaching *attaching, struct cellar_error *error)
{
    if (attaching->missing && (shm->fabric.fresh || shm->fabric.mn_count == 0)) {
        *error = attaching->error;
        return attaching->error.code;
    }
    for (uint32_t i = 0; i < shm->fabric.mn_count; i++) {
        if (shm->sockets[i] >= 0) continue;
        if (!attaching->missing) return err_set(error, CELLAR_INVALID, "no path was given for memory node %u", i);
        shm->socket_paths[i] = strdup(attaching->missing);
        if (!shm->socket_paths[i]) return err_set(error, CELLAR_NOMEM, "no memory for a path");
    }
    return 0;
}

/* Handed to each of them: a process that opens the pool when node 0 is lost has it from another one. */
static int mailboxes_share(struct fabric_shm *shm, const struct attaching *attaching, struct cellar_error *error)
{
    struct fabric_shm_mapping mailboxes;
    if (shm->mailbox_fd < 0 && attaching->missing) { /* node 0 is away, and no compute node has been at the others */
        *error = attaching->error;
        return attaching->error.code;
    }
    if (shm->mailbox_fd < 0)
        return err_set(error, CELLAR_UNREACHABLE, "no memory node knows the messages of this pool's compute nodes");
    uint64_t bytes = fabric_shm_mailbox_bytes(shm->fabric.cn_count);
    int code = fabric_shm_map_fd(&mailboxes, shm->mailbox_fd, bytes, error);
    if (code != 0) return code;
    fabric_shm_mailbox_bind(&shm->mailboxes, mailboxes, shm->fabric.cn_count);
    for (uint32_t i = 0; i < shm->fabric.mn_count; i++)
        if (shm->sockets[i] >= 0) mailboxes_bring(shm, shm->sockets[i]);
    return 0;
}

int fabric_shm_attach(struct fabric_shm *shm, const struct fabric_shm_config *config, struct cellar_error *error)
{
    char *list = strdup(config->memnode_paths), *rest = list, *path;
    struct attaching attaching = {.paths = 1};
    int code = 0;

    if (!list) return err_set(error, CELLAR_NOMEM, "no memory for a path");
    for (const char *p = list; *p; p++) attaching.paths += *p == ',';
    if (attaching.paths > FABRIC_NODES_MAX)
        code = err_set(error, CELLAR_INVALID, "more than %d memory nodes", FABRIC_NODES_MAX);
    if (config->cns == 0) code = err_set(error, CELLAR_INVALID, "a process must claim at least one compute node");
    while (code == 0 && (path = strsep(&rest, ","))) /* an empty path is one, and a wrong one */
        code = attach_one(shm, config, path, &attaching, error);
    shm->fabric.cn_first = config->cn_index;
    shm->cns = config->cns;
    if (code == 0) code = missing_place(shm, &attaching, error);
    if (code == 0) code = mailboxes_share(shm, &attaching, error);
    free(list);
    return code;
}

void fabric_shm_detach(struct fabric_shm *shm)
{
    for (uint32_t i = 0; i < FABRIC_NODES_MAX; i++) {
        free(shm->socket_paths[i]);
        if (shm->sockets[i] < 0) continue;
        struct fabric_shm_message_wire message = {.kind = FABRIC_SHM_DETACH};
        (void)!fabric_shm_wire_send(shm->sockets[i], &message, NULL, 0); /* a dead one needs no good-bye */
        close(shm->sockets[i]);
    }
}

/* ---- watching the memory nodes ---- */

/* Nothing is ever sent over an attached connection unasked, so whatever can be read there is its end. */
static void *watch_main(void *arg)
{
    struct fabric_shm *shm = arg;
    uint32_t count = shm->fabric.mn_count;
    struct pollfd fds[FABRIC_NODES_MAX + 1];

    for (uint32_t i = 0; i < count; i++) fds[i] = (struct pollfd){.fd = shm->sockets[i], .events = POLLIN};
    fds[count] = (struct pollfd){.fd = shm->watch_stop_fd, .events = POLLIN};
    for (;;) {
        if (poll(fds, count + 1, -1) < 0) continue;
        for (uint32_t i = 0; i < count; i++) {
            if (!fds[i].revents) continue;
            fabric_shm_node_stop(shm, i);
            fds[i].fd = -1;
        }
        if (fds[count].revents) return NULL;
    }
}

int fabric_shm_watch(struct fabric_shm *shm, struct cellar_error *error)
{
    shm->watch_stop_fd = descriptor_high(eventfd(0, EFD_CLOEXEC));
    if (shm->watch_stop_fd < 0) return err_set(error, CELLAR_SYSTEM, "cannot make an eventfd: %s", strerror(errno));
    if (fabric_shm_thread(&shm->watcher, watch_main, shm) == 0) return 0;
    close(shm->watch_stop_fd);
    shm->watch_stop_fd = -1;
    return err_set(error, CELLAR_SYSTEM, "cannot start a thread");
}

void fabric_shm_watch_end(struct fabric_shm *shm)
{
    uint64_t one = 1;

    if (shm->watch_stop_fd < 0) return;
    ssize_t written = write(shm->watch_stop_fd, &one, sizeof one);
    must(written == (ssize_t)sizeof one);
    pthread_join(shm->watcher, NULL);
    close(shm->watch_stop_fd);
    shm->watch_stop_fd = -1;
}

/* ---- a fresh memory node in the place of a lost one ---- */

bool fabric_shm_hung_up(const struct fabric_shm *shm, uint32_t node)
{
    struct pollfd poll_fd = {.fd = shm->sockets[node], .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static int reattach(struct fabric_shm *shm, uint32_t node, struct cellar_error *error)
{
    const char *path = shm->socket_paths[node];
    struct fabric_shm_message_wire message = {.kind = FABRIC_SHM_ATTACH,
                                              .cn = shm->fabric.cn_first,
                                              .cns = shm->cns,
                                              .opening = shm->opening,
                                              .life = __atomic_load_n(&shm->life, __ATOMIC_SEQ_CST)};
    struct fabric_shm_mapping region;
    int socket_fd, fds[FABRIC_SHM_WIRE_FDS] = {-1, -1};
    int code = connect_to(path, &socket_fd, error);
    if (code != 0) return code;
    code = ask(socket_fd, path, &message, FABRIC_SHM_ATTACHED, fds, error);
    if (code == 0 && (message.node != node || message.mn_count != shm->fabric.mn_count ||
                      message.bytes != shm->fabric.mn_bytes || message.cn_count != shm->fabric.cn_count))
        code = err_set(error, CELLAR_MISMATCH, "the memory node at %s cannot take the place of number %u", path, node);
    if (code == 0) code = fabric_shm_map_fd(&region, fds[0], message.bytes, error);
    for (uint32_t i = 0; i < FABRIC_SHM_WIRE_FDS; i++)
        if (fds[i] >= 0) close(fds[i]);
    if (code != 0) {
        close(socket_fd);
        return code;
    }
    fabric_shm_unmap(&shm->regions[node]);
    shm->regions[node] = region;
    if (shm->sockets[node] >= 0) close(shm->sockets[node]);
    shm->sockets[node] = socket_fd;
    mailboxes_bring(shm, socket_fd);
    return 0;
}

/*
 * The messages of compute nodes stay in the segment that the first node 0 made: it lives as long as they do, and the
 * fresh node gets it. The watcher looks at sockets by number, so it pauses; a node that dies meanwhile has hung up
 * when it looks again.
 */
int fabric_shm_reattach(struct fabric_shm *shm, uint32_t node, struct cellar_error *error)
{
    fabric_shm_watch_end(shm);
    int code = reattach(shm, node, error), watched = fabric_shm_watch(shm, error);
    return code ? code : watched;
}

/* ---- lives, and fencing ---- */

static int ask_apart(const char *path, struct fabric_shm_message_wire message, enum fabric_shm_wire_kind wanted,
                     bool *asked, struct cellar_error *error)
{
    int socket_fd = -1, code = connect_to(path, &socket_fd, error);

    *asked = code == 0;
    if (code != 0) return code;
    code = ask(socket_fd, path, &message, wanted, NULL, error);
    close(socket_fd);
    return code;
}

/*
 * A memory node that does not take it is not attached to: gone, or a fresh one in a lost one's place, which is told
 * when this process attaches to it.
 */
int fabric_shm_life(struct fabric_shm *shm, uint64_t life, struct cellar_error *error)
{
    const struct fabric_shm_message_wire message = {
        .kind = FABRIC_SHM_LIFE, .cn = shm->fabric.cn_first, .cns = shm->cns, .opening = shm->opening, .life = life};
    struct cellar_error why = {0};
    uint32_t told = 0;
    bool asked;

    for (uint32_t i = 0; i < shm->fabric.mn_count; i++)
        told += ask_apart(shm->socket_paths[i], message, FABRIC_SHM_LIVING, &asked, &why) == 0;
    __atomic_store_n(&shm->life, life, __ATOMIC_SEQ_CST); /* nodes of one process may join at once */
    return told > 0 ? 0 : err_set(error, why.code, "%s", why.text);
}

/* Every memory node is asked, as a process may be attached to some of them only; the first does the killing. */
int fabric_shm_fence(struct fabric_shm *shm, const struct fabric_control *control, struct cellar_error *error)
{
    const struct fabric_shm_message_wire message = {
        .kind = FABRIC_SHM_FENCE, .cn = control->cn, .cns = control->only_dead, .life = control->life};
    uint32_t fenced = 0;
    bool asked;

    for (uint32_t i = 0; i < shm->fabric.mn_count; i++) {
        int code = ask_apart(shm->socket_paths[i], message, FABRIC_SHM_FENCED, &asked, error);
        if (asked && code != 0) return code;
        fenced += asked; /* else it watches none any more */
    }
    if (fenced > 0) return 0;
    return err_set(error, CELLAR_UNREACHABLE, "no memory node is alive to fence compute node %u", control->cn);
}
