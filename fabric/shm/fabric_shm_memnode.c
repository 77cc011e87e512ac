/*
 * fabric_shm_memnode.c - the memory-node process: owns a segment, hands it out over a Unix socket, knows which
 * process is which compute node, and fences by killing.
 *
 * It touches no record and runs no transaction. Segments are memfds: they have no name, so a killed process leaves none
 * behind. A compute node's indexes are free again when its connection has hung up: the kernel closes descriptors of a
 * dying process after its last thread gave its memory up, and a living one unmaps before it hangs up.
 */
#include "fabric_shm_internal.h"
#include "descriptor.h"
#include "fabric_shm_wire.h"
#include "file_limit.h"
#include "must.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define CONNECTIONS_MAX 320       /* all compute nodes, and some that fence or have not said which they are */
#define SILENCE_MAX_NS 5000000000 /* a connection must say within this which node it is */
#define KILL_MAX_MS 10000
#define POLL_MS 200
#define STATUS_NS 1000000000

struct connection {
    int fd;    /* -1: closed, to be removed */
    int pidfd; /* -1 until attached */
    pid_t pid;
    uint32_t cn, cns; /* cns 0: not attached */
    uint64_t opening; /* of its process, which may have several */
    uint64_t life;    /* which one these are; 0: it has not said so yet */
    bool told_fresh;  /* it is the one to format the region */
    uint64_t since_ns;
};

struct memnode {
    const struct fabric_shm_memnode_config *config;
    int listen_fd, region_fd, mailbox_fd;
    struct stat socket_status;             /* to remove no socket but our own */
    struct fabric_shm_mailboxes mailboxes; /* node 0 */
    bool adopted;                          /* mailbox_fd came from a compute node */
    uint32_t count;
    struct connection connections[CONNECTIONS_MAX];
};

static void CELLAR_PRINTF(3, 4) say(const struct memnode *memnode, enum cellar_log_level level, const char *format, ...)
{
    char text[256];
    va_list args;

    if (!memnode->config->log) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memnode->config->log(memnode->config->log_arg, level, text);
}

/* ---- connections ---- */

static void drop(struct memnode *memnode, struct connection *connection)
{
    if (connection->cns > 0 && memnode->mailboxes.mapping.base)
        for (uint32_t cn = connection->cn; cn < connection->cn + connection->cns; cn++)
            for (uint32_t worker = 0; worker < FABRIC_SHM_WORKERS_MAX; worker++)
                fabric_shm_mailbox_close(&memnode->mailboxes, cn, worker);
    close(connection->fd);
    if (connection->pidfd >= 0) close(connection->pidfd);
    *connection = (struct connection){.fd = -1, .pidfd = -1};
}

static void lose(struct memnode *memnode, struct connection *connection)
{
    if (connection->cns > 0)
        say(memnode, CELLAR_LOG_WARNING, "compute nodes %u..%u (process %d) died", connection->cn,
            connection->cn + connection->cns - 1, (int)connection->pid);
    drop(memnode, connection);
}

static bool process_is_dead(int pidfd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
    return poll(&poll_fd, 1, timeout_ms) == 1;
}

static struct connection *find_cn(struct memnode *memnode, uint32_t cn, uint32_t cns)
{
    for (uint32_t i = 0; i < memnode->count; i++) {
        struct connection *other = &memnode->connections[i];
        if (other->fd >= 0 && other->cns > 0 && cn < other->cn + other->cns && other->cn < cn + cns) return other;
    }
    return NULL;
}

static void accept_one(struct memnode *memnode)
{
    int fd = descriptor_high(accept4(memnode->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (fd < 0) return;
    if (memnode->count == CONNECTIONS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        say(memnode, CELLAR_LOG_WARNING, "a connection was refused: there are %u already", memnode->count);
        close(fd);
        return;
    }
    memnode->connections[memnode->count++] =
        (struct connection){.fd = fd, .pidfd = -1, .pid = peer.pid, .since_ns = fabric_shm_clock_monotonic_ns()};
}

/* ---- requests ---- */

static void CELLAR_PRINTF(4, 5)
    refuse(struct memnode *memnode, struct connection *connection, int code, const char *format, ...)
{
    struct fabric_shm_message_wire reply = {.kind = FABRIC_SHM_REFUSED, .code = code};
    va_list args;

    va_start(args, format);
    vsnprintf(reply.text, sizeof reply.text, format, args);
    va_end(args);
    say(memnode, CELLAR_LOG_WARNING, "refused process %d: %s", (int)connection->pid, reply.text);
    (void)!fabric_shm_wire_send(connection->fd, &reply, NULL,
                                0); /* a process that does not take it learns from the hang-up */
    drop(memnode, connection);
}

/* A descriptor of the very process that connected; older kernels know only its number. */
static int open_pidfd(const struct connection *connection)
{
    int pidfd = -1;
    socklen_t size = sizeof pidfd;

    if (getsockopt(connection->fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) {
        (void)fcntl(pidfd, F_SETFD, FD_CLOEXEC);
        return descriptor_high(pidfd);
    }
    return descriptor_high((int)syscall(SYS_pidfd_open, connection->pid, 0));
}

/*
 * Fresh: never written to, and no process attached has been told so. A process that was told and left without a trace
 * (another node of its pool was not there, or it died) leaves the region to be formatted by the next.
 */
static bool region_is_fresh(const struct memnode *memnode)
{
    static const uint8_t zero[4096]; /* formatting a region begins here */
    uint8_t page[sizeof zero];

    for (uint32_t i = 0; i < memnode->count; i++)
        if (memnode->connections[i].fd >= 0 && memnode->connections[i].told_fresh) return false;
    return pread(memnode->region_fd, page, sizeof page, 0) == (ssize_t)sizeof page &&
           memcmp(page, zero, sizeof page) == 0;
}

static void hand_out(struct memnode *memnode, struct connection *connection)
{
    const struct fabric_shm_memnode_config *config = memnode->config;
    int fds[FABRIC_SHM_WIRE_FDS] = {memnode->region_fd, memnode->mailbox_fd};
    struct fabric_shm_message_wire reply = {
        .kind = FABRIC_SHM_ATTACHED,
        .node = config->node,
        .mn_count = config->mn_count,
        .cn_count = config->cn_count,
        .fresh = region_is_fresh(memnode),
        .adopted = memnode->adopted,
        .bytes = config->bytes,
        .seed = config->seed,
    };

    if (fabric_shm_wire_send(connection->fd, &reply, fds, memnode->mailbox_fd >= 0 ? 2 : 1) != 0) {
        lose(memnode, connection);
        return;
    }
    connection->told_fresh = reply.fresh;
    say(memnode, CELLAR_LOG_INFO, "compute nodes %u..%u attached (process %d)", connection->cn,
        connection->cn + connection->cns - 1, (int)connection->pid);
}

/* By another process, or by another opening of this one: two of one index would wait for each other. */
static void refuse_taken(struct memnode *memnode, struct connection *connection, const struct connection *owner)
{
    bool own = owner->pid == connection->pid;
    refuse(memnode, connection, CELLAR_EXISTS, "compute nodes %u..%u are %s %d already; choose other indexes, or %s",
           owner->cn, owner->cn + owner->cns - 1, own ? "another database of this process," : "process",
           (int)owner->pid, own ? "close that database" : "end that process");
}

/* It has left this node, which others had lost, and comes back. */
static bool comes_back(const struct connection *owner, const struct connection *connection,
                       const struct fabric_shm_message_wire *request)
{
    return owner->pid == connection->pid && owner->opening == request->opening && owner->cn == request->cn &&
           owner->cns == request->cns;
}

static void attach(struct memnode *memnode, struct connection *connection,
                   const struct fabric_shm_message_wire *request)
{
    uint32_t cn_count = memnode->config->cn_count;

    if (connection->cns > 0) {
        refuse(memnode, connection, CELLAR_INVALID, "this connection is attached already");
        return;
    }
    if (request->cns == 0 || request->cn >= cn_count || request->cns > cn_count - request->cn) {
        refuse(memnode, connection, CELLAR_INVALID,
               "compute nodes %u and up, %u of them, were asked for; memory "
               "node %u was started for %u, numbered from 0",
               request->cn, request->cns, memnode->config->node, cn_count);
        return;
    }
    struct connection *owner = find_cn(memnode, request->cn, request->cns);
    if (owner && comes_back(owner, connection, request)) {
        owner->cns = 0; /* its mailboxes stay */
        drop(memnode, owner);
        owner = NULL;
    }
    if (owner && process_is_dead(owner->pidfd, 0)) {
        lose(memnode, owner);
        owner = find_cn(memnode, request->cn, request->cns);
    }
    if (owner) {
        refuse_taken(memnode, connection, owner);
        return;
    }
    connection->pidfd = open_pidfd(connection);
    if (connection->pidfd < 0) {
        refuse(memnode, connection, CELLAR_SYSTEM, "process %d cannot be watched: %s", (int)connection->pid,
               strerror(errno));
        return;
    }
    connection->cn = request->cn;
    connection->cns = request->cns;
    connection->opening = request->opening;
    connection->life = request->life;
    hand_out(memnode, connection);
}

/* Before any process can read of that life in the pool. */
static void begin_life(struct memnode *memnode, struct connection *connection,
                       const struct fabric_shm_message_wire *request)
{
    struct fabric_shm_message_wire reply = {.kind = FABRIC_SHM_LIVING};
    struct connection *owner = find_cn(memnode, request->cn, request->cns);

    if (!owner || owner->pid != connection->pid || owner->opening != request->opening || owner->cn != request->cn ||
        owner->cns != request->cns) {
        refuse(memnode, connection, CELLAR_INVALID, "compute nodes %u and up, %u of them, are not that process",
               request->cn, request->cns);
        return;
    }
    owner->life = request->life;
    (void)!fabric_shm_wire_send(connection->fd, &reply, NULL, 0); /* a process that does not take it says it again */
    drop(memnode, connection);
}

/*
 * INV-FABRIC-7. To fence is to kill and to wait: from then on the process executes nothing, and its memory mappings
 * are gone. INV-FABRIC-12: an index is given away only when the process that had it is gone, so a later life's owner
 * need not be killed for an earlier one.
 */
static void fence(struct memnode *memnode, struct connection *connection, const struct fabric_shm_message_wire *request)
{
    struct fabric_shm_message_wire reply = {.kind = FABRIC_SHM_FENCED};
    struct connection *victim = find_cn(memnode, request->cn, 1);

    if (victim && !fabric_fence_concerns(request->life, victim->life)) victim = NULL;
    if (victim && victim->pid == connection->pid) {
        refuse(memnode, connection, CELLAR_UNSUPPORTED, "compute node %u belongs to the process that asks",
               request->cn);
        return;
    }
    if (victim && request->cns && !process_is_dead(victim->pidfd, 0)) { /* only asked: watchers do so all the time */
        reply.kind = FABRIC_SHM_REFUSED;
        reply.code = CELLAR_EXISTS;
        snprintf(reply.text, sizeof reply.text, "compute node %u is process %d, and alive; end that one first",
                 request->cn, (int)victim->pid);
        (void)!fabric_shm_wire_send(connection->fd, &reply, NULL, 0);
        drop(memnode, connection);
        return;
    }
    if (victim) {
        long killed = syscall(SYS_pidfd_send_signal, victim->pidfd, SIGKILL, NULL, 0);
        if ((killed != 0 && errno != ESRCH) || !process_is_dead(victim->pidfd, KILL_MAX_MS)) {
            refuse(memnode, connection, CELLAR_SYSTEM, "compute node %u (process %d) could not be killed", request->cn,
                   (int)victim->pid);
            return;
        }
        say(memnode, CELLAR_LOG_WARNING, "compute node %u was fenced at the request of process %d", request->cn,
            (int)connection->pid);
        lose(memnode, victim);
    }
    (void)!fabric_shm_wire_send(connection->fd, &reply, NULL, 0); /* a process that does not take it asks again */
    drop(memnode, connection);
}

/*
 * Messages of compute nodes outlive node 0, whose segment they lie in, so each memory node hands the segment out that
 * is in use. A process that attaches to a fresh node brings it. Only node 0 closes mailboxes: of several, one could
 * be late, and close the next owner's.
 */
static void adopt(struct memnode *memnode, int fd)
{
    struct fabric_shm_mapping mapping;
    struct stat ours, theirs;
    if (memnode->mailbox_fd >= 0 && fstat(memnode->mailbox_fd, &ours) == 0 && fstat(fd, &theirs) == 0 &&
        ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev) {
        memnode->adopted = true;
        close(fd);
        return;
    }
    if (fabric_shm_map_fd(&mapping, fd, fabric_shm_mailbox_bytes(memnode->config->cn_count), NULL) != 0) {
        say(memnode, CELLAR_LOG_WARNING, "a segment that is no mailbox segment of this pool was not taken");
        close(fd);
        return;
    }
    if (memnode->mailbox_fd >= 0) close(memnode->mailbox_fd);
    memnode->mailbox_fd = fd;
    memnode->adopted = true;
    fabric_shm_unmap(memnode->config->node == 0 ? &memnode->mailboxes.mapping : &mapping);
    if (memnode->config->node == 0) fabric_shm_mailbox_bind(&memnode->mailboxes, mapping, memnode->config->cn_count);
}

/* One message. False: there was none. */
static bool serve(struct memnode *memnode, struct connection *connection)
{
    struct fabric_shm_message_wire request;
    int fds[FABRIC_SHM_WIRE_FDS];
    enum fabric_shm_wire_result result = fabric_shm_wire_receive(connection->fd, &request, fds);
    bool brought = result == FABRIC_SHM_WIRE_GOT && request.kind == FABRIC_SHM_MAILBOXES && connection->cns > 0;

    for (uint32_t i = 0; i < FABRIC_SHM_WIRE_FDS; i++)
        if (fds[i] >= 0 && (i > 0 || !brought)) close(fds[i]);
    switch (result) {
    case FABRIC_SHM_WIRE_NONE:
        return false;
    case FABRIC_SHM_WIRE_HUNG_UP:
        lose(memnode, connection);
        return true;
    case FABRIC_SHM_WIRE_GARBAGE:
        refuse(memnode, connection, CELLAR_MISMATCH, "what was received is not a message of version %d",
               FABRIC_SHM_WIRE_VERSION);
        return true;
    case FABRIC_SHM_WIRE_GOT:
        break;
    }
    if (request.kind == FABRIC_SHM_ATTACH) {
        attach(memnode, connection, &request);
    } else if (request.kind == FABRIC_SHM_FENCE) {
        fence(memnode, connection, &request);
    } else if (request.kind == FABRIC_SHM_LIFE) {
        begin_life(memnode, connection, &request);
    } else if (brought && fds[0] >= 0) {
        adopt(memnode, fds[0]);
    } else if (request.kind == FABRIC_SHM_DETACH && connection->cns > 0) {
        say(memnode, CELLAR_LOG_INFO, "compute nodes %u..%u left (process %d)", connection->cn,
            connection->cn + connection->cns - 1, (int)connection->pid);
        drop(memnode, connection);
    } else {
        refuse(memnode, connection, CELLAR_INVALID, "a message of kind %u is not expected here", request.kind);
    }
    return true;
}

/* ---- the loop ---- */

static uint32_t fill_poll(const struct memnode *memnode, struct pollfd *fds)
{
    uint32_t count = 0;

    fds[count++] = (struct pollfd){.fd = memnode->listen_fd, .events = POLLIN};
    for (uint32_t i = 0; i < memnode->count; i++) {
        fds[count++] = (struct pollfd){.fd = memnode->connections[i].fd, .events = POLLIN};
        fds[count++] = (struct pollfd){.fd = memnode->connections[i].pidfd, .events = POLLIN};
    }
    return count;
}

/* A fence, or a claim of a dead process's index, may close connections other than the one being served. */
static void serve_ready(struct memnode *memnode, const struct pollfd *fds)
{
    uint32_t count = memnode->count;

    for (uint32_t i = 0; i < count; i++) {
        struct connection *connection = &memnode->connections[i];
        if (connection->fd >= 0 && fds[1 + 2 * i].revents) (void)serve(memnode, connection);
        if (connection->fd < 0 || !fds[2 + 2 * i].revents) continue;
        while (connection->fd >= 0 && serve(memnode, connection))
            continue; /* a process that has ended may have said good-bye */
        if (connection->fd >= 0) lose(memnode, connection);
    }
}

static void sweep(struct memnode *memnode)
{
    uint64_t now_ns = fabric_shm_clock_monotonic_ns();
    uint32_t kept = 0;

    for (uint32_t i = 0; i < memnode->count; i++) {
        struct connection *connection = &memnode->connections[i];
        if (connection->fd >= 0 && connection->cns == 0 && now_ns - connection->since_ns > SILENCE_MAX_NS) {
            say(memnode, CELLAR_LOG_WARNING, "process %d connected and said nothing", (int)connection->pid);
            drop(memnode, connection);
        }
        if (connection->fd >= 0) memnode->connections[kept++] = *connection;
    }
    memnode->count = kept;
}

static void report(const struct memnode *memnode,
                   void (*status)(void *arg, const struct fabric_shm_memnode_status *status), void *arg)
{
    struct fabric_shm_memnode_status now = {.bytes = memnode->config->bytes};

    for (uint32_t i = 0; i < memnode->count; i++) now.cns_attached += memnode->connections[i].cns;
    status(arg, &now);
}

static int serve_until(struct memnode *memnode, const volatile int *stop,
                       void (*status)(void *arg, const struct fabric_shm_memnode_status *status), void *arg,
                       struct cellar_error *error)
{
    struct pollfd fds[1 + 2 * CONNECTIONS_MAX];
    uint64_t reported_ns = 0;

    while (!*stop) {
        uint32_t count = fill_poll(memnode, fds);
        int ready = poll(fds, count, POLL_MS);
        if (ready < 0 && errno != EINTR) return err_set(error, CELLAR_SYSTEM, "poll: %s", strerror(errno));
        if (ready > 0) serve_ready(memnode, fds);
        if (ready > 0 && fds[0].revents) accept_one(memnode);
        sweep(memnode);
        uint64_t now_ns = fabric_shm_clock_monotonic_ns();
        if (status && now_ns - reported_ns >= STATUS_NS) {
            report(memnode, status, arg);
            reported_ns = now_ns;
        }
    }
    return 0;
}

/* ---- start and end ---- */

static int make_segment(const char *name, uint64_t bytes, int *out, struct cellar_error *error)
{
    int fd = descriptor_high(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));

    if (fd < 0) return err_set(error, CELLAR_SYSTEM, "cannot make a memfd: %s", strerror(errno));
    *out = fd;
    if ((errno = file_limit(bytes)) != 0 || ftruncate(fd, (off_t)bytes) != 0)
        return err_set(error, CELLAR_NOMEM, "cannot make a segment of %" PRIu64 " bytes: %s", bytes, strerror(errno));
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return err_set(error, CELLAR_SYSTEM, "cannot seal a memfd: %s", strerror(errno));
    return 0;
}

static int make_segments(struct memnode *memnode, struct cellar_error *error)
{
    const struct fabric_shm_memnode_config *config = memnode->config;
    uint64_t mailbox_bytes = fabric_shm_mailbox_bytes(config->cn_count);
    struct fabric_shm_mapping mapping;
    int code = make_segment("cellar-region", config->bytes, &memnode->region_fd, error);

    if (code != 0 || config->node != 0) return code;
    code = make_segment("cellar-mailboxes", mailbox_bytes, &memnode->mailbox_fd, error);
    if (code == 0) code = fabric_shm_map_fd(&mapping, memnode->mailbox_fd, mailbox_bytes, error);
    if (code == 0) fabric_shm_mailbox_bind(&memnode->mailboxes, mapping, config->cn_count);
    return code;
}

/* Does a process listen at that socket? If not it is a leftover of a killed process, and goes. */
static int remove_dead_socket(const struct sockaddr_un *address, struct cellar_error *error)
{
    struct stat status;
    const char *path = address->sun_path;

    if (lstat(path, &status) != 0) return 0;
    if (!S_ISSOCK(status.st_mode))
        return err_set(error, CELLAR_EXISTS, "%s exists and is not a socket; remove it, or choose another path", path);
    int fd = descriptor_high(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return err_set(error, CELLAR_SYSTEM, "cannot make a socket: %s", strerror(errno));
    bool dead = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (!dead) return err_set(error, CELLAR_EXISTS, "another memory node listens at %s already", path);
    if (unlink(path) != 0 && errno != ENOENT)
        return err_set(error, CELLAR_SYSTEM, "cannot remove the dead socket %s: %s", path, strerror(errno));
    return 0;
}

static int listen_at(struct memnode *memnode, struct cellar_error *error)
{
    struct sockaddr_un address;
    const char *path = address.sun_path;
    int code = fabric_shm_wire_address(&address, memnode->config->socket_path, error);

    if (code == 0) code = remove_dead_socket(&address, error);
    if (code != 0) return code;
    int fd = descriptor_high(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return err_set(error, CELLAR_SYSTEM, "cannot make a socket: %s", strerror(errno));
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        code = err_set(error, CELLAR_SYSTEM, "cannot make a socket at %s: %s", path, strerror(errno));
    } else if (chmod(path, 0600) != 0 || lstat(path, &memnode->socket_status) != 0 || listen(fd, 64) != 0) {
        code = err_set(error, CELLAR_SYSTEM, "cannot listen at %s: %s", path, strerror(errno));
        unlink(path);
    }
    if (code == 0)
        memnode->listen_fd = fd;
    else
        close(fd);
    return code;
}

static void end(struct memnode *memnode)
{
    struct stat status;
    const char *path = memnode->config->socket_path;

    if (memnode->listen_fd >= 0) {
        if (lstat(path, &status) == 0 && status.st_ino == memnode->socket_status.st_ino &&
            status.st_dev == memnode->socket_status.st_dev)
            unlink(path);
        close(memnode->listen_fd);
    }
    for (uint32_t i = 0; i < memnode->count; i++) drop(memnode, &memnode->connections[i]);
    fabric_shm_unmap(&memnode->mailboxes.mapping);
    if (memnode->region_fd >= 0) close(memnode->region_fd);
    if (memnode->mailbox_fd >= 0) close(memnode->mailbox_fd);
}

static int check_config(const struct fabric_shm_memnode_config *config, struct cellar_error *error)
{
    if (config->mn_count < 1 || config->mn_count > FABRIC_NODES_MAX || config->node >= config->mn_count)
        return err_set(error, CELLAR_INVALID, "memory node %u of %u: there must be 1 to %d, numbered from 0",
                       config->node, config->mn_count, FABRIC_NODES_MAX);
    if (config->cn_count < 1 || config->cn_count > FABRIC_CNS_MAX)
        return err_set(error, CELLAR_INVALID, "%u compute nodes: there must be 1 to %d", config->cn_count,
                       FABRIC_CNS_MAX);
    if (config->bytes == 0 || config->bytes > 1ull << 48)
        return err_set(error, CELLAR_INVALID, "a memory node of %" PRIu64 " bytes: there must be 1 to 2^48",
                       config->bytes);
    return fabric_shm_memory_check(1, config->bytes, error);
}

int fabric_shm_memnode_run(const struct fabric_shm_memnode_config *config, const volatile int *stop,
                           void (*status)(void *arg, const struct fabric_shm_memnode_status *status), void *arg,
                           struct cellar_error *error)
{
    struct memnode memnode = {.config = config, .listen_fd = -1, .region_fd = -1, .mailbox_fd = -1};
    int code = check_config(config, error);

    if (code == 0) code = make_segments(&memnode, error);
    if (code == 0) code = listen_at(&memnode, error);
    if (code == 0) {
        say(&memnode, CELLAR_LOG_INFO, "memory node %u of %u listens at %s", config->node, config->mn_count,
            config->socket_path);
        code = serve_until(&memnode, stop, status, arg, error);
    }
    end(&memnode);
    return code;
}
