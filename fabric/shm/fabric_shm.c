/*
 * fabric_shm.c - the embedded backend: opening, endpoints, threads, sleeping and waking. Operations: fabric_shm_exec.c.
 *
 * INV-FABRIC-6: a worker's thread never sleeps while there is something for it to do. It says that it sleeps, then
 *               looks once more; a thread with news brings it, then looks for the sleeper. And when it has slept with
 *               its helm lent it looks again, whatever woke it.
 */
#include "fabric_shm_internal.h"
#include "fabric_shm_plants.h"
#include "fabric_word.h"
#include "must.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLEEP_MIN_NS 60000 /* the kernel cannot wake a thread more precisely: shorter waits are spun */
#define APPLY_MIN_NS                                                                                                   \
    10 /* a cell is locked, applied and unlocked by at least two dependent locked instructions on one word */
#define STALL_MAX_NS 2000000000ull /* a thread of a loaded machine is not run for a second, as has been seen */
#define SWITCH_CONTROL_NS 10000    /* a turn of a switch's control plane; passes take what they take */
#define OFFSET_BYTES_MAX (1ull << 48)

static struct fabric_shm *shm_of(struct fabric *fabric) { return (struct fabric_shm *)fabric; }

static struct fabric_shm_ep *sep_of(struct fabric_ep *ep) { return (struct fabric_shm_ep *)ep; }

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* ---- endpoints ---- */

static int check_endpoint(const struct fabric_shm *shm, uint32_t cn, uint32_t worker, struct cellar_error *error)
{
    if (cn < shm->fabric.cn_first || cn - shm->fabric.cn_first >= shm->cns)
        return err_set(error, CELLAR_INVALID,
                       "compute node %u is not of this process, which has %u from %u"
                       " on",
                       cn, shm->cns, shm->fabric.cn_first);
    if (worker >= FABRIC_SHM_WORKERS_MAX)
        return err_set(error, CELLAR_INVALID, "worker %u: a compute node has at most %d workers on shm", worker,
                       FABRIC_SHM_WORKERS_MAX);
    for (const struct fabric_shm_ep *sep = shm->endpoints; sep; sep = sep->next)
        if (sep->ep.cn == cn && sep->ep.worker == worker)
            return err_set(error, CELLAR_EXISTS, "worker %u of compute node %u is open already", worker, cn);
    return 0;
}

static struct fabric_shm_ep *make_endpoint(struct fabric_shm *shm, uint32_t cn, uint32_t worker)
{
    struct fabric_shm_ep *sep = aligned_alloc(64, (sizeof *sep + 63) & ~(size_t)63);

    if (!sep) return NULL;
    memset(sep, 0, sizeof *sep);
    sep->ep.ops = shm->fabric.ops;
    sep->ep.fabric = &shm->fabric;
    sep->ep.cn = cn;
    sep->ep.worker = worker;
    prng_seed_stream(&sep->ep.prng, shm->fabric.seed, (uint64_t)cn << 32 | worker);
    if (shm->rtt_ns > 0) {
        sep->delayed = calloc(FABRIC_SHM_DELAYED_BATCHES, sizeof *sep->delayed);
        if (!sep->delayed) {
            free(sep);
            return NULL;
        }
    }
    return sep;
}

static int open_endpoint(struct fabric_shm *shm, struct fabric_control *control, struct cellar_error *error)
{
    struct fabric_shm_ep *sep = NULL;

    pthread_mutex_lock(&shm->lock);
    int code = check_endpoint(shm, control->cn, control->worker, error);
    if (code == 0 && !(sep = make_endpoint(shm, control->cn, control->worker)))
        code = err_set(error, CELLAR_NOMEM, "no memory for an endpoint");
    if (code == 0 && shm->fabric.joint) code = fabric_shm_roll_buffers(shm, control->cn, control->worker, error);
    if (code == 0) {
        sep->mailbox = fabric_shm_mailbox_open(&shm->mailboxes, control->cn, control->worker);
        sep->doorbell_seen = __atomic_load_n(&sep->mailbox->doorbell, __ATOMIC_RELAXED);
        sep->next = shm->endpoints;
        shm->endpoints = sep;
        control->ep = &sep->ep;
    } else if (sep) {
        free(sep->delayed);
        free(sep);
    }
    pthread_mutex_unlock(&shm->lock);
    return code;
}

/* Its worker's loop must be about to end, as nothing is pending. */
static void close_endpoint(struct fabric_shm *shm, struct fabric_shm_ep *sep)
{
    if (sep->spawned) {
        must(!pthread_equal(sep->thread, pthread_self()));
        pthread_join(sep->thread, NULL);
    }
    must(sep->delayed_head == sep->delayed_tail);

    pthread_mutex_lock(&shm->lock);
    struct fabric_shm_ep **link = &shm->endpoints;
    while (*link != sep) link = &(*link)->next;
    *link = sep->next;
    fabric_shm_drop_taken(sep);
    fabric_shm_mailbox_close(&shm->mailboxes, sep->ep.cn, sep->ep.worker);
    pthread_mutex_unlock(&shm->lock);
    free(sep->delayed);
    free(sep);
}

/* ---- nodes ---- */

/*
 * INV-FABRIC-4. A post reads a node's limit after it has made its sequence odd; membarrier makes sure that either it
 * sees the limit of 0 or we see the odd sequence, and wait for it to change.
 */
void fabric_shm_node_stop(struct fabric_shm *shm, uint32_t node)
{
    pthread_mutex_lock(&shm->lock);
    __atomic_store_n(&shm->nodes[node].limit, 0, __ATOMIC_SEQ_CST);
    long done = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    must(done == 0);
    for (const struct fabric_shm_ep *sep = shm->endpoints; sep; sep = sep->next) {
        uint32_t sequence = __atomic_load_n(&sep->post_sequence, __ATOMIC_ACQUIRE);
        while ((sequence & 1) && __atomic_load_n(&sep->post_sequence, __ATOMIC_ACQUIRE) == sequence) sched_yield();
    }
    pthread_mutex_unlock(&shm->lock);
}

/* Of a process of its own its memory is the node; with memory-node processes there is a new one to attach to. */
static int replace_node(struct fabric_shm *shm, uint32_t node, struct cellar_error *error)
{
    if (node >= shm->fabric.mn_count) return err_set(error, CELLAR_INVALID, "there is no memory node %u", node);
    /* Others may have noticed its end before this process's watcher has. */
    if (shm->attached && fabric_shm_hung_up(shm, node)) fabric_shm_node_stop(shm, node);
    if (__atomic_load_n(&shm->nodes[node].limit, __ATOMIC_SEQ_CST)) return 0;
    if (shm->attached) {
        int code = fabric_shm_reattach(shm, node, error);
        if (code) return code;
        shm->nodes[node].base = shm->regions[node].base;
    } else {
        memset(shm->regions[node].base, 0, shm->regions[node].bytes);
    }
    __atomic_store_n(&shm->nodes[node].limit, shm->fabric.mn_bytes, __ATOMIC_SEQ_CST);
    return 0;
}

static int sync_pool(struct fabric_shm *shm, struct cellar_error *error)
{
    if (!shm->pool.path || msync(shm->regions[0].base, shm->regions[0].bytes, MS_SYNC) == 0) return 0;
    return err_set(error, CELLAR_SYSTEM, "cannot flush the pool file: %s", strerror(errno));
}

/* Of the process's own indexes only a life before this one is surely over. */
static int fence_cn(struct fabric_shm *shm, const struct fabric_control *control, struct cellar_error *error)
{
    uint32_t cn = control->cn;

    if (cn >= shm->fabric.cn_count)
        return err_set(error, CELLAR_INVALID, "there is no compute node %u; there may be %u", cn, shm->fabric.cn_count);
    bool own = (!shm->attached && !shm->fabric.joint) || cn - shm->fabric.cn_first < shm->cns;
    if (own && !fabric_fence_concerns(control->life, __atomic_load_n(&shm->life, __ATOMIC_SEQ_CST))) return 0;
    if (own)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "compute node %u is threads of this very process and cannot be fenced "
                       "alone; give each compute node a process of its own",
                       cn);
    return shm->attached ? fabric_shm_fence(shm, control, error) : fabric_shm_roll_fence(shm, control, error);
}

static int shm_control(struct fabric *fabric, struct fabric_control *control, struct cellar_error *error)
{
    struct fabric_shm *shm = shm_of(fabric);

    switch (control->kind) {
    case FABRIC_ENDPOINT_OPEN:
        return open_endpoint(shm, control, error);
    case FABRIC_ENDPOINT_CLOSE:
        close_endpoint(shm, sep_of(control->ep));
        return 0;
    case FABRIC_REGISTER_LOCAL: /* all local memory can be copied from and to */
    case FABRIC_FORGET_LOCAL:
        return 0;
    case FABRIC_CN_LIFE:
        if (shm->attached) return fabric_shm_life(shm, control->life, error);
        __atomic_store_n(&shm->life, control->life, __ATOMIC_SEQ_CST);
        if (fabric->joint) fabric_shm_roll_life(shm, control->life);
        return 0;
    case FABRIC_CN_EVICT:
        return fence_cn(shm, control, error);
    case FABRIC_NODE_KILL:
    case FABRIC_NODE_GONE:
        if (control->node >= fabric->mn_count)
            return err_set(error, CELLAR_INVALID, "there is no memory node %u", control->node);
        if (control->kind == FABRIC_NODE_GONE && __atomic_load_n(&shm->nodes[control->node].limit, __ATOMIC_SEQ_CST))
            return err_set(error, CELLAR_EXISTS, "memory node %u is there", control->node);
        fabric_shm_node_stop(shm, control->node);
        return 0;
    case FABRIC_NODE_LEAVE:
        if (control->node >= fabric->mn_count)
            return err_set(error, CELLAR_INVALID, "there is no memory node %u", control->node);
        fabric_shm_node_stop(shm, control->node);
        return 0;
    case FABRIC_NODE_REPLACE:
        return replace_node(shm, control->node, error);
    case FABRIC_SYNC:
        return sync_pool(shm, error);
    case FABRIC_DOOR_TAKE:
    case FABRIC_DOOR_GIVE:
        return fabric_shm_pool_door(shm, control->kind == FABRIC_DOOR_TAKE, error);
    }
    return err_set(error, CELLAR_INVALID, "unknown control %d", (int)control->kind);
}

/* ---- threads ---- */

int fabric_shm_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
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
    struct fabric_shm_ep *sep = arg;

    /* Timers as exact as the machine can; else delays of completions would be 50 us too long. */
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    sep->worker_fn(sep->worker_arg);
    return NULL;
}

/* Once more on the same endpoint: its fn must have returned, or be about to. */
static int shm_spawn(struct fabric *fabric, struct fabric_ep *ep, fabric_worker_fn fn, void *arg)
{
    struct fabric_shm_ep *sep = sep_of(ep);
    char name[16];

    (void)fabric;
    if (sep->spawned) pthread_join(sep->thread, NULL);
    sep->spawned = false;
    sep->worker_fn = fn;
    sep->worker_arg = arg;
    if (fabric_shm_thread(&sep->thread, worker_main, sep) != 0) return CELLAR_SYSTEM;
    sep->spawned = true;
    snprintf(name, sizeof name, "cn%u-worker%u", ep->cn & 0xff, ep->worker & 0xff);
    (void)pthread_setname_np(sep->thread, name);
    return 0;
}

/* ---- waiting from outside ---- */

static int shm_wait(struct fabric *fabric, uint32_t *word, uint64_t timeout_ns)
{
    (void)fabric;
    return fabric_word_wait(word, timeout_ns);
}

static void shm_wake(struct fabric *fabric, struct fabric_ep *ep, uint32_t *word)
{
    (void)fabric;
    if (ep) fabric_shm_ring(sep_of(ep)->mailbox);
    if (word) fabric_word_wake(word);
}

/* ---- polling and idling ---- */

static struct fabric_wait *complete_delayed(struct fabric_shm *shm, struct fabric_shm_ep *sep)
{
    struct fabric_wait *first = NULL, **last = &first;
    uint64_t now_ns = fabric_shm_clock_ns(&shm->clock);

    while (sep->delayed_head != sep->delayed_tail) {
        const struct fabric_shm_delayed *batch = &sep->delayed[sep->delayed_head % FABRIC_SHM_DELAYED_BATCHES];
        if (batch->due_ns > now_ns) break;
        fabric_shm_check_local(batch->ops, batch->count);
        must(batch->wait->pending >= batch->count);
        batch->wait->pending -= batch->count;
        batch->wait->failed += batch->failed;
        if (batch->wait->pending == 0) {
            *last = batch->wait;
            batch->wait->next = NULL;
            last = &batch->wait->next;
        }
        sep->delayed_head++;
    }
    sep->ep.in_flight = sep->delayed_tail - sep->delayed_head;
    return first;
}

static struct fabric_wait *shm_poll(struct fabric_ep *ep)
{
    struct fabric_shm_ep *sep = sep_of(ep);

    if (__builtin_expect(fabric_shm_has_messages(sep), 0)) fabric_shm_receive(sep);
    return sep->delayed_head == sep->delayed_tail ? NULL : complete_delayed(shm_of(ep->fabric), sep);
}

/* Is there a reason to return from idle? Forgets a ring of the doorbell once it was told. */
static bool take_event(struct fabric_shm_ep *sep)
{
    uint32_t doorbell = __atomic_load_n(&sep->mailbox->doorbell, __ATOMIC_SEQ_CST);

    if (doorbell != sep->doorbell_seen) {
        sep->doorbell_seen = doorbell;
        return true;
    }
    return fabric_shm_has_messages(sep);
}

/*
 * INV-FABRIC-6. Says that it sleeps, then looks once more: a thread that comes later sees `sleeping` and rings. Only
 * then is the helm lent: what a borrower leaves to be done it rings for, too, unless this thread waits for the helm.
 * So this thread, when it had lent it, tells its caller to look, whatever ended its sleep.
 */
static bool sleep_until_event(struct fabric_shm_ep *sep, uint64_t timeout_ns)
{
    __atomic_store_n(&sep->mailbox->sleeping, 1, __ATOMIC_SEQ_CST);
    bool event = take_event(sep);
    if (!event) {
        uint32_t seen = sep->doorbell_seen;
        bool lends = sep->ep.lends;
        if (lends) fabric_helm_lend(&sep->ep);
        fabric_shm_futex_wait(&sep->mailbox->doorbell, seen, timeout_ns);
        if (lends) fabric_helm_take(&sep->ep);
        event = lends && !PLANT(shm_lent_sleeps_on);
    }
    __atomic_store_n(&sep->mailbox->sleeping, 0, __ATOMIC_SEQ_CST);
    return event;
}

/* It spins a little before it sleeps, but not while callers might do the work themselves. */
static void shm_idle(struct fabric_ep *ep, uint64_t until_ns)
{
    struct fabric_shm_ep *sep = sep_of(ep);
    const struct fabric_shm_clock *clock = &shm_of(ep->fabric)->clock;

    if (sep->delayed_head != sep->delayed_tail) {
        uint64_t due_ns = sep->delayed[sep->delayed_head % FABRIC_SHM_DELAYED_BATCHES].due_ns;
        if (due_ns < until_ns) until_ns = due_ns;
    }
    uint64_t now_ns = fabric_shm_clock_ns(clock), sleep_least_ns = ep->patient ? 0 : SLEEP_MIN_NS;
    uint64_t spin_until_ns = ep->lends || ep->patient ? now_ns : now_ns + FABRIC_SHM_SPIN_NS;
    for (; now_ns < until_ns && !take_event(sep); now_ns = fabric_shm_clock_ns(clock)) {
        if (now_ns < spin_until_ns || until_ns - now_ns < sleep_least_ns) {
            relax();
            continue;
        }
        uint64_t timeout_ns = until_ns == UINT64_MAX ? UINT64_MAX : until_ns - now_ns - sleep_least_ns / 2;
        if (sleep_until_event(sep, timeout_ns)) return;
    }
}

static uint64_t shm_now_ns(struct fabric_ep *ep) { return fabric_shm_clock_ns(&shm_of(ep->fabric)->clock); }

/* ---- open and close ---- */

static void shm_close(struct fabric *fabric)
{
    struct fabric_shm *shm = shm_of(fabric);

    while (shm->endpoints) close_endpoint(shm, shm->endpoints);
    fabric_shm_watch_end(shm);
    for (uint32_t i = 0; i < FABRIC_NODES_MAX; i++) fabric_shm_unmap(&shm->regions[i]);
    fabric_shm_unmap(&shm->mailboxes.mapping);
    if (shm->attached) fabric_shm_detach(shm);
    if (shm->pool.path) fabric_shm_pool_close(shm);
    if (shm->mailbox_fd >= 0) close(shm->mailbox_fd);
    pthread_mutex_destroy(&shm->lock);
    free(shm);
}

static const struct fabric_ops shm_ops = {
    .name = "shm",
    .control = shm_control,
    .spawn = shm_spawn,
    .wait = shm_wait,
    .wake = shm_wake,
    .post = fabric_shm_post,
    .poll = shm_poll,
    .idle = shm_idle,
    .now_ns = shm_now_ns,
    .close = shm_close,
};

static int check_config(const struct fabric_shm_config *config, struct cellar_error *error)
{
    if (config->mn_count < 1 || config->mn_count > FABRIC_NODES_MAX)
        return err_set(error, CELLAR_INVALID, "%u memory nodes: there must be 1 to %d", config->mn_count,
                       FABRIC_NODES_MAX);
    if (config->cn_count < 1 || config->cn_count > FABRIC_CNS_MAX)
        return err_set(error, CELLAR_INVALID, "%u compute nodes: there must be 1 to %d", config->cn_count,
                       FABRIC_CNS_MAX);
    if (config->mn_bytes > OFFSET_BYTES_MAX || (config->mn_bytes == 0 && !config->pool_path))
        return err_set(error, CELLAR_INVALID, "memory nodes of %" PRIu64 " bytes: there must be 1 to 2^48",
                       config->mn_bytes);
    if (config->pool_path && config->mn_count != 1)
        return err_set(error, CELLAR_INVALID, "a pool file holds one memory node, not %u", config->mn_count);
    return 0;
}

/* All of it in this process; or a pool file, which others may have, too. */
static int open_own_memory(struct fabric_shm *shm, const struct fabric_shm_config *config, struct cellar_error *error)
{
    struct fabric_shm_mapping mailboxes;
    int code = check_config(config, error);

    if (code == 0 && !config->pool_path) code = fabric_shm_memory_check(config->mn_count, config->mn_bytes, error);
    if (code != 0) return code;
    shm->fabric.mn_count = config->mn_count;
    shm->fabric.cn_count = shm->cns = config->cn_count;
    shm->fabric.fresh = true;
    if (config->pool_path) {
        code = fabric_shm_pool_open(shm, config, error);
    } else {
        shm->fabric.mn_bytes = config->mn_bytes;
        for (uint32_t i = 0; i < config->mn_count && code == 0; i++)
            code = fabric_shm_map_anonymous(&shm->regions[i], config->mn_bytes, error);
    }
    if (code != 0 || shm->fabric.joint) return code;
    code = fabric_shm_map_anonymous(&mailboxes, fabric_shm_mailbox_bytes(config->cn_count), error);
    if (code == 0) fabric_shm_mailbox_bind(&shm->mailboxes, mailboxes, config->cn_count);
    return code;
}

static struct fabric_shm *make_fabric(const struct fabric_shm_config *config)
{
    struct fabric_shm *shm = calloc(1, sizeof *shm);

    if (!shm) return NULL;
    shm->fabric = (struct fabric){.ops = &shm_ops,
                                  .line_atomic = false,
                                  .masked_by = "processor",
                                  .apply_min_ns = APPLY_MIN_NS,
                                  .stall_max_ns = STALL_MAX_NS,
                                  .seed = config->seed,
                                  .switch_times = {.control_ns = SWITCH_CONTROL_NS}};
#if defined(__x86_64__) || defined(__aarch64__)
    shm->fabric.wide_atomics = true;
#endif
    shm->fabric.lends = shm->fabric.any_local = true;
    shm->rtt_ns = config->rtt_ns;
    shm->fabric.immediate = config->rtt_ns == 0;
    shm->attached = config->memnode_paths != NULL;
    if (getrandom(&shm->opening, sizeof shm->opening, 0) != sizeof shm->opening) {
        free(shm);
        return NULL;
    }
    shm->pool.fd = shm->pool.roll_fd = shm->watch_stop_fd = shm->mailbox_fd = -1;
    for (uint32_t i = 0; i < FABRIC_NODES_MAX; i++) shm->sockets[i] = -1;
    pthread_mutex_init(&shm->lock, NULL);
    fabric_shm_clock_open(&shm->clock);
    return shm;
}

int fabric_shm_open(const struct fabric_shm_config *config, struct fabric **out, struct cellar_error *error)
{
    *out = NULL;
    if (config->pool_path && config->memnode_paths)
        return err_set(error, CELLAR_INVALID, "a pool file and memory-node processes exclude each other");
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
        return err_set(error, CELLAR_SYSTEM, "membarrier: %s; Linux 4.14 or later is needed", strerror(errno));
    struct fabric_shm *shm = make_fabric(config);
    if (!shm) return err_set(error, CELLAR_NOMEM, "no memory for a fabric");

    int code = shm->attached ? fabric_shm_attach(shm, config, error) : open_own_memory(shm, config, error);
    for (uint32_t i = 0; i < shm->fabric.mn_count && code == 0; i++)
        shm->nodes[i] = (struct fabric_shm_node){.base = shm->regions[i].base,
                                                 .limit = shm->regions[i].base ? shm->fabric.mn_bytes : 0};
    if (code == 0 && shm->attached) code = fabric_shm_watch(shm, error);
    if (code != 0) {
        shm_close(&shm->fabric);
        return code;
    }
    *out = &shm->fabric;
    return 0;
}
