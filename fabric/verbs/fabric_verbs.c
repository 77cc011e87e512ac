/*
 * fabric_verbs.c - opening, endpoints, threads, sleeping and waking. Operations: fabric_verbs_post.c; connections:
 * fabric_verbs_link.c.
 */
#include "fabric_verbs_internal.h"
#include "descriptor.h"
#include "fabric_word.h"
#include "must.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SPIN_NS 20000    /* idle spins so long before it sleeps */
#define APPLY_MIN_NS 500 /* to lock, apply and unlock a cell takes two round trips: a microsecond each at best */
#define APPLY_MIN_SOFTWARE_NS 4000
#define STALL_MAX_NS 2000000000ull /* a thread of a loaded machine is not run for a second, as has been seen */
#define MESSAGE_LINKS_MAX 1024
#define COMPLETIONS_MAX 60000

static const char by_device[] = "device", by_loop[] = "loop of plain CAS",
                  by_both[] = "device, or loop of plain CAS where it has none";

static struct fabric_verbs *verbs_of(struct fabric *fabric) { return (struct fabric_verbs *)fabric; }

static struct fabric_verbs_ep *vep_of(struct fabric_ep *ep) { return (struct fabric_verbs_ep *)ep; }

/* ---- threads ---- */

int fabric_verbs_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ? 0 : CELLAR_SYSTEM;
}

static void *worker_main(void *arg)
{
    struct fabric_verbs_ep *vep = arg;
    vep->worker_fn(vep->worker_arg);
    return NULL;
}

static int verbs_spawn(struct fabric *fabric, struct fabric_ep *ep, fabric_worker_fn fn, void *arg)
{
    struct fabric_verbs_ep *vep = vep_of(ep);
    char name[16];

    (void)fabric;
    if (vep->spawned) pthread_join(vep->thread, NULL);
    vep->spawned = false;
    vep->worker_fn = fn;
    vep->worker_arg = arg;
    if (fabric_verbs_thread(&vep->thread, worker_main, vep) != 0) return CELLAR_SYSTEM;
    vep->spawned = true;
    snprintf(name, sizeof name, "cn%u-worker%u", ep->cn & 0xff, ep->worker & 0xff);
    (void)pthread_setname_np(vep->thread, name);
    return 0;
}

static int verbs_wait(struct fabric *fabric, uint32_t *word, uint64_t timeout_ns)
{
    (void)fabric;
    return fabric_word_wait(word, timeout_ns);
}

void fabric_verbs_ring(struct fabric_verbs_ep *vep, bool links)
{
    uint64_t one = 1;

    if (links) __atomic_fetch_add(&vep->resolved, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&vep->rung, 1, __ATOMIC_SEQ_CST);
    (void)!write(vep->event_fd, &one, sizeof one); /* full: it is awake for that */
}

static void verbs_wake(struct fabric *fabric, struct fabric_ep *ep, uint32_t *word)
{
    (void)fabric;
    if (ep) fabric_verbs_ring(vep_of(ep), false);
    if (word) fabric_word_wake(word);
}

/* ---- idling ---- */

/* Is there a reason to return from idle? Forgets a ring once it was told. */
static bool take_event(struct fabric_verbs_ep *vep)
{
    uint32_t rung = __atomic_load_n(&vep->rung, __ATOMIC_SEQ_CST);

    fabric_verbs_reap(vep);
    bool event = vep->answered || vep->inbox.waiting_head != vep->inbox.waiting_tail || rung != vep->rung_seen;
    vep->rung_seen = rung;
    return event;
}

static void drain(struct fabric_verbs_ep *vep)
{
    struct ibv_cq *cq;
    void *context;
    uint64_t rings;

    (void)!read(vep->event_fd, &rings, sizeof rings);
    while (ibv_get_cq_event(vep->channel, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
}

/* Asks for an event, then looks once more: what came before the request makes none. */
static bool sleep_until_event(struct fabric_verbs_ep *vep, uint64_t timeout_ns)
{
    struct pollfd fds[2] = {{.fd = vep->channel->fd, .events = POLLIN}, {.fd = vep->event_fd, .events = POLLIN}};
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000), .tv_nsec = (long)(timeout_ns % 1000000000)};

    int code = ibv_req_notify_cq(vep->cq, 0);
    must(code == 0);
    if (take_event(vep)) return true;
    if (ppoll(fds, 2, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL) > 0) drain(vep);
    return take_event(vep);
}

static void verbs_idle(struct fabric_ep *ep, uint64_t until_ns)
{
    struct fabric_verbs_ep *vep = vep_of(ep);
    uint64_t now_ns = fabric_verbs_now_ns(), spin_until_ns = now_ns + SPIN_NS;

    for (; now_ns < until_ns && !take_event(vep); now_ns = fabric_verbs_now_ns()) {
        if (now_ns < spin_until_ns) continue;
        if (sleep_until_event(vep, until_ns == UINT64_MAX ? UINT64_MAX : until_ns - now_ns)) return;
    }
}

static uint64_t verbs_now_ns(struct fabric_ep *ep)
{
    (void)ep;
    return fabric_verbs_now_ns();
}

/* ---- endpoints ---- */

static int check_endpoint(const struct fabric_verbs *verbs, uint32_t cn, uint32_t worker, struct cellar_error *error)
{
    if (cn < verbs->cn_first || cn - verbs->cn_first >= verbs->cns)
        return err_set(error, CELLAR_INVALID, "compute node %u is not of this process, which has %u from %u on", cn,
                       verbs->cns, verbs->cn_first);
    if (worker >= FABRIC_VERBS_WORKERS_MAX)
        return err_set(error, CELLAR_INVALID, "worker %u: a compute node has at most %d workers on verbs", worker,
                       FABRIC_VERBS_WORKERS_MAX);
    for (const struct fabric_verbs_ep *vep = verbs->endpoints; vep; vep = vep->next)
        if (vep->ep.cn == cn && vep->ep.worker == worker)
            return err_set(error, CELLAR_EXISTS, "worker %u of compute node %u is open already", worker, cn);
    return 0;
}

static void free_endpoint(struct fabric_verbs_ep *vep)
{
    for (uint32_t i = 0; i < vep->link_count; i++) fabric_verbs_link_free(vep->links[i]);
    fabric_verbs_inbox_close(vep);
    if (vep->cq) ibv_destroy_cq(vep->cq);
    if (vep->channel) ibv_destroy_comp_channel(vep->channel);
    if (vep->event_fd >= 0) close(vep->event_fd);
    free(vep->links);
    free(vep->pieces.pieces);
    free(vep);
}

static int make_queues(struct fabric_verbs *verbs, struct fabric_verbs_ep *vep, struct cellar_error *error)
{
    int room = COMPLETIONS_MAX < verbs->attr.max_cqe ? COMPLETIONS_MAX : verbs->attr.max_cqe;

    vep->event_fd = descriptor_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    vep->channel = ibv_create_comp_channel(verbs->device);
    if (vep->channel) vep->channel->fd = descriptor_high(vep->channel->fd);
    vep->links_max = verbs->fabric.mn_count + MESSAGE_LINKS_MAX;
    vep->links = calloc(vep->links_max, sizeof(struct fabric_verbs_link *));
    if (vep->event_fd < 0 || !vep->channel || !vep->links || fcntl(vep->channel->fd, F_SETFL, O_NONBLOCK) != 0)
        return err_set(error, CELLAR_SYSTEM, "cannot make a completion channel: %s", strerror(errno));
    vep->cq = ibv_create_cq(verbs->device, room, NULL, vep->channel, 0);
    if (!vep->cq) return err_set(error, CELLAR_SYSTEM, "the device refuses a completion queue: %s", strerror(errno));
    return fabric_verbs_inbox_open(vep, error);
}

static int connect_nodes(struct fabric_verbs *verbs, struct fabric_verbs_ep *vep, struct cellar_error *error)
{
    int code = 0;

    for (uint32_t i = 0; i < verbs->fabric.mn_count && code == 0; i++) {
        struct fabric_verbs_link *link;
        code = fabric_verbs_link_new(vep, i, 0, false, &link, error);
        if (code != 0) return code;
        if (fabric_verbs_presence(&verbs->nodes[i]) != FABRIC_VERBS_THERE)
            link->state = FABRIC_VERBS_DEAD;
        else
            code = fabric_verbs_link_open(link, error);
    }
    return code;
}

static int open_endpoint(struct fabric_verbs *verbs, struct fabric_control *control, struct cellar_error *error)
{
    pthread_mutex_lock(&verbs->lock);
    int code = check_endpoint(verbs, control->cn, control->worker, error);
    pthread_mutex_unlock(&verbs->lock);
    if (code != 0) return code;
    struct fabric_verbs_ep *vep = aligned_alloc(64, (sizeof *vep + 63) & ~(size_t)63);
    if (!vep) return err_set(error, CELLAR_NOMEM, "no memory for an endpoint");
    memset(vep, 0, sizeof *vep);
    vep->ep.ops = verbs->fabric.ops;
    vep->ep.fabric = &verbs->fabric;
    vep->ep.cn = control->cn;
    vep->ep.worker = control->worker;
    vep->answered_last = &vep->answered;
    prng_seed_stream(&vep->ep.prng, verbs->fabric.seed, (uint64_t)control->cn << 32 | control->worker);
    code = make_queues(verbs, vep, error);
    if (code == 0) code = connect_nodes(verbs, vep, error);
    if (code != 0) {
        free_endpoint(vep);
        return code;
    }
    pthread_mutex_lock(&verbs->lock);
    vep->next = verbs->endpoints;
    verbs->endpoints = vep;
    pthread_mutex_unlock(&verbs->lock);
    control->ep = &vep->ep;
    return 0;
}

/* One link may be with the linking thread, which gives it back soon. */
static void await_links(struct fabric_verbs_ep *vep)
{
    fabric_verbs_links_withdraw(vep);
    for (uint32_t i = 0; i < vep->link_count; i++)
        while (__atomic_load_n(&vep->links[i]->state, __ATOMIC_ACQUIRE) == FABRIC_VERBS_BROKEN) usleep(1000);
}

static void close_endpoint(struct fabric_verbs *verbs, struct fabric_verbs_ep *vep)
{
    if (vep->spawned) {
        must(!pthread_equal(vep->thread, pthread_self()));
        pthread_join(vep->thread, NULL);
    }
    await_links(vep);
    pthread_mutex_lock(&verbs->lock);
    struct fabric_verbs_ep **link = &verbs->endpoints;
    while (*link != vep) link = &(*link)->next;
    *link = vep->next;
    pthread_mutex_unlock(&verbs->lock);
    free_endpoint(vep);
}

/* ---- control ---- */

static int fence_cn(struct fabric_verbs *verbs, const struct fabric_control *control, struct cellar_error *error)
{
    uint32_t cn = control->cn;

    if (cn >= verbs->fabric.cn_count)
        return err_set(error, CELLAR_INVALID, "there is no compute node %u; there may be %u", cn,
                       verbs->fabric.cn_count);
    return fabric_verbs_fence(verbs, control, error);
}

static int node_check(const struct fabric_verbs *verbs, uint32_t node, struct cellar_error *error)
{
    if (node < verbs->fabric.mn_count) return 0;
    return err_set(error, CELLAR_INVALID, "there is no memory node %u", node);
}

static int kill_node(struct fabric_verbs *verbs, uint32_t node, struct cellar_error *error)
{
    int rc = node_check(verbs, node, error);
    if (rc == 0) fabric_verbs_node_stop(verbs, node, FABRIC_VERBS_GONE);
    return rc;
}

static int node_gone(const struct fabric_verbs *verbs, uint32_t node, struct cellar_error *error)
{
    int rc = node_check(verbs, node, error);
    if (rc || fabric_verbs_presence(&verbs->nodes[node]) != FABRIC_VERBS_THERE) return rc;
    return err_set(error, CELLAR_EXISTS, "memory node %u is there", node);
}

static int check_shape(struct fabric_verbs *verbs, uint32_t index, const struct fabric_verbs_reply_wire *reply,
                       struct cellar_error *error);

/* INV-VERBS-11. A node that was cut off while its backups took over is alive, and holds what has changed since. */
static int check_blank(const struct fabric_verbs *verbs, uint32_t node, const struct fabric_verbs_reply_wire *reply,
                       struct cellar_error *error)
{
    if (reply->flags & FABRIC_VERBS_BLANK) return 0;
    return err_set(error, CELLAR_MISMATCH, "what is at %s was written to; end it and start it anew",
                   verbs->nodes[node].target.text);
}

/* Workers connect to it when they next have something for it. */
static int replace_node(struct fabric_verbs *verbs, uint32_t node, bool blank, struct cellar_error *error)
{
    struct fabric_verbs_reply_wire reply;

    if (node >= verbs->fabric.mn_count) return err_set(error, CELLAR_INVALID, "there is no memory node %u", node);
    if (fabric_verbs_presence(&verbs->nodes[node]) == FABRIC_VERBS_THERE && !blank) return 0;
    fabric_verbs_node_stop(verbs, node, FABRIC_VERBS_GONE); /* no other thread looks for it meanwhile */
    int code = fabric_verbs_attach(verbs, &verbs->nodes[node], &reply, error);
    if (code == 0) code = check_shape(verbs, node, &reply, error);
    if (code == 0 && blank) code = check_blank(verbs, node, &reply, error);
    if (code == 0) code = fabric_verbs_life_tell(verbs, &verbs->nodes[node], error);
    if (code != 0) return code;
    pthread_mutex_lock(&verbs->lock);
    memset(verbs->nodes[node].unfenced, 0, sizeof verbs->nodes[node].unfenced); /* it has admitted none of then */
    __atomic_store_n(&verbs->nodes[node].presence, FABRIC_VERBS_THERE, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&verbs->lock);
    return 0;
}

static int verbs_control(struct fabric *fabric, struct fabric_control *control, struct cellar_error *error)
{
    struct fabric_verbs *verbs = verbs_of(fabric);

    switch (control->kind) {
    case FABRIC_ENDPOINT_OPEN:
        return open_endpoint(verbs, control, error);
    case FABRIC_ENDPOINT_CLOSE:
        close_endpoint(verbs, vep_of(control->ep));
        return 0;
    case FABRIC_REGISTER_LOCAL:
        return fabric_verbs_local_add(&verbs->local, verbs->pd, control->base, control->bytes, error);
    case FABRIC_FORGET_LOCAL:
        return fabric_verbs_local_forget(&verbs->local, control->base, control->bytes);
    case FABRIC_CN_LIFE:
        return fabric_verbs_life_begin(verbs, control->life, error);
    case FABRIC_CN_EVICT:
        return fence_cn(verbs, control, error);
    case FABRIC_NODE_KILL:
        return kill_node(verbs, control->node, error);
    case FABRIC_NODE_GONE:
        return node_gone(verbs, control->node, error);
    case FABRIC_NODE_LEAVE: /* of a CN: all of this process leave it together */
        return kill_node(verbs, control->node, error);
    case FABRIC_NODE_REPLACE:
        return replace_node(verbs, control->node, control->blank, error);
    case FABRIC_SYNC:
    case FABRIC_DOOR_TAKE:
    case FABRIC_DOOR_GIVE:
        return 0;
    }
    return err_set(error, CELLAR_INVALID, "unknown control %d", (int)control->kind);
}

/* ---- open and close ---- */

static void verbs_close(struct fabric *fabric)
{
    struct fabric_verbs *verbs = verbs_of(fabric);

    while (verbs->endpoints) close_endpoint(verbs, verbs->endpoints);
    fabric_verbs_linker_end(verbs);
    fabric_verbs_listener_end(verbs);
    for (uint32_t i = 0; i < FABRIC_NODES_MAX; i++) fabric_verbs_cm_drop(&verbs->nodes[i].attach);
    if (verbs->events) rdma_destroy_event_channel(verbs->events);
    fabric_verbs_local_close(&verbs->local);
    if (verbs->scratch_mr) ibv_dereg_mr(verbs->scratch_mr);
    if (verbs->attach_cq) ibv_destroy_cq(verbs->attach_cq);
    if (verbs->pd) ibv_dealloc_pd(verbs->pd);
    free(verbs->scratch);
    pthread_mutex_destroy(&verbs->lock);
    pthread_mutex_destroy(&verbs->directory_lock);
    pthread_mutex_destroy(&verbs->local.lock);
    pthread_cond_destroy(&verbs->changed);
    free(verbs);
}

static const struct fabric_ops verbs_ops = {
    .name = "verbs",
    .control = verbs_control,
    .spawn = verbs_spawn,
    .wait = verbs_wait,
    .wake = verbs_wake,
    .post = fabric_verbs_post,
    .poll = fabric_verbs_poll,
    .idle = verbs_idle,
    .now_ns = verbs_now_ns,
    .close = verbs_close,
};

/* What the first memory node says holds for all. */
static int take_shape(struct fabric_verbs *verbs, const struct fabric_verbs_reply_wire *reply, uint32_t targets,
                      struct cellar_error *error)
{
    struct fabric *fabric = &verbs->fabric;
    const char *text = verbs->nodes[0].target.text;

    if (reply->mn_count != targets)
        return err_set(error, CELLAR_INVALID, "the memory node at %s is one of %u, but %u were named; name all of them",
                       text, reply->mn_count, targets);
    if (reply->cn_count < 1 || reply->cn_count > FABRIC_CNS_MAX || reply->bytes == 0 || reply->bytes > 1ull << 48)
        return err_set(error, CELLAR_CORRUPT, "the memory node at %s describes itself with nonsense", text);
    fabric->mn_count = reply->mn_count;
    fabric->cn_count = reply->cn_count;
    fabric->mn_bytes = reply->bytes;
    fabric->seed = reply->seed;
    fabric->line_atomic = fabric->wide_atomics = true;
    fabric->apply_min_ns = APPLY_MIN_NS;
    fabric->masked_by = reply->flags & FABRIC_VERBS_NATIVE ? by_device : by_loop;
    return 0;
}

/*
 * What executes masked atomics at that memory node; it decides for all that use it, so that the two ways never meet
 * on one device.
 */
static int take_masked(struct fabric_verbs *verbs, const struct fabric_verbs_reply_wire *reply, const char *text,
                       struct cellar_error *error)
{
    struct fabric *fabric = &verbs->fabric;
    bool native = (reply->flags & FABRIC_VERBS_NATIVE) != 0;
    uint32_t own = native ? fabric_verbs_native_device(verbs->device) : 0;

    if (native && !own)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "the memory node at %s has masked atomics, this machine's device has not; start it with "
                       "--masked-cas loop",
                       text);
    if (!(reply->flags & own & FABRIC_VERBS_WIDE)) fabric->wide_atomics = false;
    if (fabric->masked_by != (native ? by_device : by_loop)) fabric->masked_by = by_both;
    return 0;
}

static int check_shape(struct fabric_verbs *verbs, uint32_t index, const struct fabric_verbs_reply_wire *reply,
                       struct cellar_error *error)
{
    struct fabric *fabric = &verbs->fabric;
    const char *text = verbs->nodes[index].target.text;

    if (reply->mn_count != fabric->mn_count || reply->cn_count != fabric->cn_count ||
        reply->bytes != fabric->mn_bytes || reply->seed != fabric->seed)
        return err_set(error, CELLAR_MISMATCH,
                       "the memory node at %s is of another pool than the first: %u x %" PRIu64
                       " bytes, %u compute nodes",
                       text, reply->mn_count, reply->bytes, reply->cn_count);
    if (reply->node != index)
        return err_set(error, CELLAR_MISMATCH,
                       "the memory node at %s is number %u and was named as number %u; name them in order", text,
                       reply->node, index);
    int code = take_masked(verbs, reply, text, error);
    if (code != 0) return code;
    if (!(reply->flags & FABRIC_VERBS_LINE_ATOMIC)) fabric->line_atomic = false;
    if (reply->flags & FABRIC_VERBS_SOFTWARE) fabric->apply_min_ns = APPLY_MIN_SOFTWARE_NS;
    if (index == 0) fabric->fresh = (reply->flags & FABRIC_VERBS_FRESH) != 0;
    return 0;
}

static int parse_targets(struct fabric_verbs *verbs, const char *memnodes, uint32_t *count, struct cellar_error *error)
{
    char *list = strdup(memnodes), *rest = list, *text;
    int code = list ? 0 : err_set(error, CELLAR_NOMEM, "no memory for addresses");

    *count = 0;
    while (code == 0 && (text = strsep(&rest, ","))) {
        if (*count == FABRIC_NODES_MAX)
            code = err_set(error, CELLAR_INVALID, "more than %d memory nodes", FABRIC_NODES_MAX);
        else
            code = fabric_verbs_target_parse(&verbs->nodes[(*count)++].target, text, error);
    }
    free(list);
    return code;
}

static int attach_all(struct fabric_verbs *verbs, uint32_t count, struct cellar_error *error)
{
    struct fabric_verbs_reply_wire reply;
    int code = 0;

    for (uint32_t i = 0; i < count && code == 0; i++) {
        code = fabric_verbs_attach(verbs, &verbs->nodes[i], &reply, error);
        if (code == 0 && i == 0) code = take_shape(verbs, &reply, count, error);
        if (code == 0) code = check_shape(verbs, i, &reply, error);
    }
    return code;
}

static struct fabric_verbs *make_fabric(const struct fabric_verbs_config *config)
{
    struct fabric_verbs *verbs = calloc(1, sizeof *verbs);

    if (!verbs) return NULL;
    verbs->fabric = (struct fabric){.ops = &verbs_ops, .stall_max_ns = STALL_MAX_NS};
    verbs->fingerprint = fabric_verbs_fold(config->fingerprint);
    verbs->cn_first = config->cn_index;
    verbs->cns = config->cns;
    verbs->stop_fd = -1;
    verbs->broken_last = &verbs->broken;
    pthread_mutex_init(&verbs->lock, NULL);
    pthread_mutex_init(&verbs->directory_lock, NULL);
    pthread_mutex_init(&verbs->local.lock, NULL);
    pthread_cond_init(&verbs->changed, NULL);
    return verbs;
}

static int make_identity(struct fabric_verbs *verbs, struct cellar_error *error)
{
    int code = fabric_verbs_random(&verbs->incarnation, sizeof verbs->incarnation, error);
    if (code == 0) code = fabric_verbs_random(verbs->judge.key, sizeof verbs->judge.key, error);
    verbs->judge.secret = verbs->secret;
    verbs->judge.fingerprint = verbs->fingerprint;
    verbs->judge.instance = verbs->incarnation;
    return code;
}

int fabric_verbs_open(const struct fabric_verbs_config *config, struct fabric **out, struct cellar_error *error)
{
    uint32_t count = 0;

    *out = NULL;
    if (config->cns == 0 || config->cn_index + (uint64_t)config->cns > FABRIC_CNS_MAX)
        return err_set(error, CELLAR_INVALID, "a process has at least one compute node, of %d", FABRIC_CNS_MAX);
    if (!config->memnodes)
        return err_set(error, CELLAR_INVALID, "the verbs fabric needs memory nodes: --memnodes ADDRESS,ADDRESS");
    struct fabric_verbs *verbs = make_fabric(config);
    if (!verbs) return err_set(error, CELLAR_NOMEM, "no memory for a fabric");
    int code = fabric_verbs_devices_check(error);
    if (code == 0) code = parse_targets(verbs, config->memnodes, &count, error);
    if (code == 0) code = fabric_verbs_secret_read(&verbs->secret, config->secret_path, error);
    if (code == 0) code = make_identity(verbs, error);
    if (code == 0) code = fabric_verbs_listener_start(verbs, error);
    if (code == 0) code = attach_all(verbs, count, error);
    if (code == 0) code = fabric_verbs_linker_start(verbs, error);
    if (code != 0) {
        verbs_close(&verbs->fabric);
        return code;
    }
    *out = &verbs->fabric;
    return 0;
}
