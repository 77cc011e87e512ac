/* epochs.c - drawing epochs, and waiting for them. */
#include "epochs.h"

#include "cluster_plants.h"
#include "logseg.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define LATE_NS 10000000 /* with a planted bug */

void epochs_open(struct epochs *epochs, struct fabric *fabric, uint32_t node_count, uint64_t first)
{
    memset(epochs, 0, sizeof *epochs);
    epochs->fabric = fabric;
    epochs->first = first;
    epochs->node_count = node_count;
    for (uint32_t i = 0; i < node_count; i++) atomic_init(&epochs->nodes[i].published, first - 1);
    atomic_init(&epochs->word, first);
    atomic_init(&epochs->drawn, first - 1);
    atomic_init(&epochs->durable, first - 1);
}

void epochs_close(struct epochs *epochs)
{
    for (struct epochs_ring *ring = atomic_load(&epochs->rings), *next; ring; ring = next) {
        next = ring->next;
        free(ring);
    }
    atomic_store(&epochs->rings, NULL);
    for (struct epochs_watch *watch = atomic_load(&epochs->watches), *next; watch; watch = next) {
        next = watch->next;
        free(watch);
    }
    atomic_store(&epochs->watches, NULL);
}

struct epochs_ring *epochs_join(struct epochs *epochs, struct sched *sched, struct sched_task *task,
                                const struct logseg *log, const struct fabric_addr *copies, uint32_t copy_count)
{
    size_t bytes = sizeof(struct epochs_ring) + copy_count * sizeof(struct epochs_copy);
    struct epochs_ring *ring = aligned_alloc(64, bytes);
    if (!ring) return NULL;
    memset(ring, 0, bytes);
    ring->sleeper.sched = sched;
    ring->sleeper.task = task;
    ring->node = fabric_addr_node(log->addr);
    ring->copy_count = copy_count;
    for (uint32_t i = 0; i < copy_count; i++) ring->copies[i].addr = copies[i];
    ring->bytes = log->bytes;
    ring->cn = log->cn;
    ring->coordinator = log->coordinator;
    ring->incarnation = log->incarnation;
    ring->next = atomic_load(&epochs->rings);
    while (!atomic_compare_exchange_weak(&epochs->rings, &ring->next, ring)) continue;
    return ring;
}

/* ---- sleepers ---- */

static void call(struct epochs_sleeper *sleeper, struct sched *from)
{
    sched_signal(from, sleeper->sched, sleeper->task, &sleeper->called);
}

void epochs_call(_Atomic(struct epochs_sleeper *) *sleeper, struct sched *from)
{
    struct epochs_sleeper *there = atomic_load(sleeper);
    if (there) call(there, from);
}

void epochs_call_agents(struct epochs *epochs, uint32_t first, struct sched *from)
{
    for (uint32_t i = first; i < epochs->node_count; i++) epochs_call(&epochs->nodes[i].agent, from);
}

void epochs_rest(struct coro *co, struct epochs_sleeper *sleeper, uint64_t ns)
{
    uint64_t until_ns = fabric_now_ns(sleeper->sched->ep) + ns;
    (void)sched_wait(co, sleeper->sched, sleeper->task, &sleeper->called, until_ns);
}

/* ---- drawing ---- */

static bool raise(_Atomic uint64_t *word, uint64_t to)
{
    uint64_t now = atomic_load(word);
    while (now < to && !atomic_compare_exchange_weak(word, &now, to)) continue;
    return now < to;
}

/* The bound first, then the word: an agent moves the word on first, then looks at the bounds (Dekker). */
uint64_t epochs_draw(struct epochs *epochs, struct epochs_ring *ring)
{
    uint64_t bound = atomic_load(&epochs->word);
    atomic_store(&ring->flight, bound);
    uint64_t epoch = atomic_load(&epochs->word);
    if (PLANT(epochs_cached) && epoch - 1 > atomic_load(&epochs->durable)) epoch--;
    if (raise(&epochs->drawn, epoch)) ring->begun = true;
    return epoch;
}

void epochs_hurry(struct epochs *epochs, struct epochs_ring *ring)
{
    epochs_call_agents(epochs, 0, ring->sleeper.sched);
}

/* Its own first, then all: of two that publish at once one at least sees both. */
void epochs_publish(struct epochs *epochs, uint32_t node, uint64_t epoch)
{
    atomic_store(&epochs->nodes[node].published, epoch);
    uint64_t least = epoch;
    for (uint32_t i = 0; i < epochs->node_count && !PLANT(epochs_one_node); i++) {
        uint64_t published = atomic_load(&epochs->nodes[i].published);
        if (published < least) least = published;
    }
    (void)raise(&epochs->durable, least);
}

int epochs_reached(struct epochs *epochs, uint64_t epoch)
{
    if (atomic_load(&epochs->durable) >= epoch) return 1;
    return atomic_load(&epochs->refused);
}

void epochs_press(struct epochs *epochs, uint64_t epoch)
{
    (void)raise(&epochs->drawn, epoch);
    if (!PLANT(epochs_unurged)) (void)raise(&epochs->urged, epoch);
}

void epochs_want(struct epochs *epochs, uint64_t epoch, struct sched *from)
{
    epochs_press(epochs, epoch);
    epochs_call_agents(epochs, 0, from);
}

uint64_t epochs_ask(struct epochs *epochs)
{
    uint64_t number = atomic_fetch_add(&epochs->asked, 1) + 1;
    epochs_call(&epochs->keeper, NULL);
    return number;
}

bool epochs_settled(struct epochs *epochs, uint64_t epoch)
{
    must(epoch < atomic_load(&epochs->word) || PLANT(epochs_closed_at_word));
    for (const struct epochs_ring *ring = atomic_load(&epochs->rings); ring; ring = ring->next) {
        uint64_t flight = atomic_load(&ring->flight);
        if (flight && flight <= epoch) return false;
    }
    return true;
}

/* ---- waiting ---- */

void epochs_urge(struct epochs *epochs, uint64_t epoch, struct sched *from)
{
    if (!PLANT(epochs_unurged) && raise(&epochs->urged, epoch)) epochs_call_agents(epochs, 0, from);
}

struct epochs_watch *epochs_watch(struct epochs *epochs, struct fabric_ep *ep)
{
    struct epochs_watch *watch = calloc(1, sizeof *watch);
    if (!watch) return NULL;
    watch->ep = ep;
    watch->next = atomic_load(&epochs->watches);
    while (!atomic_compare_exchange_weak(&epochs->watches, &watch->next, watch)) continue;
    return watch;
}

static void watches_tell(struct epochs *epochs)
{
    for (struct epochs_watch *watch = atomic_load(&epochs->watches); watch; watch = watch->next) {
        uint64_t awaited = atomic_load(&watch->awaited);
        if (awaited && epochs_reached(epochs, awaited)) fabric_wake(epochs->fabric, watch->ep);
    }
}

/* INV-DURABLE-22 (Dekker). */
int epochs_await(struct coro *co, struct epochs *epochs, struct epochs_ring *ring, uint64_t epoch)
{
    struct epochs_sleeper *sleeper = &ring->sleeper;
    int rc;
    if (!PLANT(epochs_waiter_late)) atomic_store(&ring->awaited, epoch);
    if (!PLANT(epochs_unurged)) (void)raise(&epochs->urged, epoch);
    epochs_hurry(epochs, ring);
    while (!(rc = epochs_reached(epochs, epoch))) {
        sleeper->task->why = "disk";
        if (PLANT(epochs_waiter_late)) sched_sleep(co, sleeper->sched, sleeper->task, LATE_NS);
        atomic_store(&ring->awaited, epoch);
        (void)sched_wait(co, sleeper->sched, sleeper->task, &sleeper->called, UINT64_MAX);
    }
    atomic_store(&ring->awaited, 0);
    return rc > 0 ? 0 : rc;
}

static void rings_tell(struct epochs *epochs, struct sched *agent)
{
    for (struct epochs_ring *ring = atomic_load(&epochs->rings); ring; ring = ring->next) {
        uint64_t awaited = atomic_load(&ring->awaited);
        if (awaited && epochs_reached(epochs, awaited)) call(&ring->sleeper, agent);
    }
}

static bool over(struct epochs *epochs, struct epochs_waiter *waiter)
{
    bool durable = atomic_load(&epochs->durable) >= waiter->epoch;
    bool counts = atomic_load(&epochs->checkpoints) >= waiter->checkpoint;
    if (durable && counts) return true;
    waiter->rc = atomic_load(&epochs->refused);
    if (!waiter->rc && !counts && atomic_load(&epochs->put_off) >= waiter->checkpoint) waiter->rc = CELLAR_FULL;
    return waiter->rc != 0;
}

int epochs_wait(struct epochs *epochs, uint64_t epoch, uint64_t checkpoint)
{
    struct epochs_waiter waiter = {.epoch = epoch, .checkpoint = checkpoint, .pending = 1};
    if (over(epochs, &waiter)) return waiter.rc;
    bool late = PLANT(epochs_waiter_late);
    if (late) (void)epochs->fabric->ops->wait(epochs->fabric, &waiter.pending, LATE_NS);
    fabric_lock(epochs->fabric, &epochs->lock);
    bool waits = late || !over(epochs, &waiter); /* an agent publishes, then looks here: INV-DURABLE-22 */
    waiter.next = epochs->waiters;
    if (waits) epochs->waiters = &waiter;
    fabric_unlock(epochs->fabric, &epochs->lock);
    if (!waits) return waiter.rc;
    int rc = epochs->fabric->ops->wait(epochs->fabric, &waiter.pending, UINT64_MAX);
    must(rc == 0); /* else a wake-up was lost */
    return waiter.rc;
}

/* Takes those whose wait is over off the list: another one. */
static struct epochs_waiter *waiters_take(struct epochs *epochs)
{
    struct epochs_waiter *taken = NULL;
    fabric_lock(epochs->fabric, &epochs->lock);
    for (struct epochs_waiter **at = &epochs->waiters; *at;) {
        struct epochs_waiter *waiter = *at;
        if (!over(epochs, waiter)) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        waiter->next = taken;
        taken = waiter;
    }
    fabric_unlock(epochs->fabric, &epochs->lock);
    return taken;
}

/* Waking takes its time: others come to wait meanwhile. */
static void waiters_tell(struct epochs *epochs)
{
    for (struct epochs_waiter *waiter = waiters_take(epochs), *next; waiter; waiter = next) {
        next = waiter->next; /* it is gone when its thread is told */
        fabric_done(epochs->fabric, &waiter->pending);
    }
}

void epochs_tell(struct epochs *epochs, struct sched *agent)
{
    rings_tell(epochs, agent);
    watches_tell(epochs);
    if (atomic_load(&epochs->asked) != atomic_load(&epochs->checkpoints)) epochs_call(&epochs->keeper, agent);
    waiters_tell(epochs);
}
