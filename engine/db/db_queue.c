/*
 * db_queue.c - completion queues (cellar_proc.h): calls that one thread keeps in flight, and what became of them.
 *
 * A queue has a slot for each call it may have; a slot is free, in flight, or ended and waiting to be reaped. The
 * thread that uses the queue takes slots and gives them back, so only the list of ended ones is shared, with the
 * threads that serve the calls. Each call in flight counts among its database's calls: closing waits for it.
 */
#include "db_queue.h"

#include "coordinator.h"
#include "db.h"
#include "handle.h"
#include "must.h"
#include "worker.h"

#include <stdlib.h>

struct slot {
    struct db_request request; /* first: the thread that served it knows the slot */
    struct cellar_queue *queue;
    struct slot *next; /* free, or ended */
    bool in_flight;
    void *user;
    struct cellar_result result;
    struct cellar_call_options options;
    struct worker *worker; /* whose queue it went to */
    uint32_t *counted;
};

struct cellar_queue { /* a handle */
    struct cellar *db;
    struct cellar_queue *next; /* of its database */
    uint32_t calls_max, in_flight;
    uint32_t bounded; /* of these, by a time or a word that cancels them */
    struct slot *free;
    cellar_notify_fn notify;
    void *notify_arg;
    /* shared with threads that serve calls */
    uint32_t lock;
    uint32_t none; /* atomically. 1: its thread waits, or is about to, until one has ended */
    struct slot *ended, *ended_last;
    struct slot *slots; /* calls_max */
};

static bool is_bounded(const struct slot *slot) { return slot->options.timeout_ns || slot->options.cancel; }

/* ---- ending ---- */

/* After the unlock the queue may be gone: its thread has reaped the last call and closed it. */
static void slot_end(struct db_request *request)
{
    struct slot *slot = (struct slot *)request;
    struct cellar_queue *queue = slot->queue;
    struct cellar *db = queue->db;
    uint32_t *counted = slot->counted;

    fabric_lock(db->fabric, &queue->lock);
    bool alone = !queue->ended;
    slot->next = NULL;
    *(queue->ended ? &queue->ended_last->next : &queue->ended) = slot;
    queue->ended_last = slot;
    if (alone && queue->notify) queue->notify(queue->notify_arg);
    if (fabric_count_left(&queue->none)) fabric_done(db->fabric, &queue->none);
    fabric_unlock(db->fabric, &queue->lock);
    db_call_end(db, counted);
}

/* Ends what is still in its worker's queue and may not start any more; `all`: whatever may. */
static void withdraw(struct cellar_queue *queue, bool all)
{
    for (uint32_t i = 0; i < queue->calls_max; i++) {
        struct slot *slot = &queue->slots[i];
        if (!slot->in_flight) continue;
        uint64_t gone_ns = fabric_now_ns(slot->worker->ep) - slot->request.begin_ns;
        int code = all ? CELLAR_CANCELLED : coordinator_allows(queue->db, &slot->options, gone_ns);
        if (code == 0 || !worker_withdraw(slot->worker, &slot->request)) continue;
        slot->result = coordinator_refused(&slot->options, code, gone_ns);
        slot_end(&slot->request);
    }
}

/* Those for which time or cancel word, or the database, has come to its end. */
static void withdraw_ended(struct cellar_queue *queue)
{
    bool closing = atomic_load_explicit(&queue->db->closing, memory_order_relaxed);
    if (queue->bounded || closing) withdraw(queue, false);
}

/* When the next of them may be withdrawn, from now on. */
static uint64_t withdraw_ns(const struct cellar_queue *queue)
{
    uint64_t soonest_ns = UINT64_MAX;
    for (uint32_t i = 0; i < queue->calls_max && queue->bounded; i++) {
        const struct slot *slot = &queue->slots[i];
        if (!slot->in_flight || !is_bounded(slot)) continue;
        uint64_t gone_ns = fabric_now_ns(slot->worker->ep) - slot->request.begin_ns;
        uint64_t ns = db_look_again_ns(&slot->options, gone_ns);
        if (ns < soonest_ns) soonest_ns = ns;
    }
    return soonest_ns;
}

/* ---- reaping ---- */

/* Up to `max` that have ended; if none has, the word says so from now on. */
static uint32_t reap(struct cellar_queue *queue, struct cellar_completion *completions, uint32_t max)
{
    uint32_t count = 0;
    fabric_lock(queue->db->fabric, &queue->lock);
    while (queue->ended && count < max) {
        struct slot *slot = queue->ended;
        queue->ended = slot->next;
        completions[count++] = (struct cellar_completion){slot->user, slot->result};
        slot->in_flight = false;
        queue->bounded -= is_bounded(slot);
        slot->next = queue->free;
        queue->free = slot;
    }
    __atomic_store_n(&queue->none, count ? 0 : 1, __ATOMIC_SEQ_CST);
    fabric_unlock(queue->db->fabric, &queue->lock);
    queue->in_flight -= count;
    return count;
}

/* Looks, and waits, until some have ended, none is in flight, or the time is over. */
static uint32_t reap_within(struct cellar_queue *queue, struct cellar_completion *completions, uint32_t max,
                            uint64_t timeout_ns)
{
    struct cellar *db = queue->db;
    struct fabric_ep *clock = db->workers[0].ep;
    uint64_t begin_ns = fabric_now_ns(clock);
    for (;;) {
        withdraw_ended(queue);
        uint32_t count = reap(queue, completions, max);
        if (count || queue->in_flight == 0) return count;
        uint64_t gone_ns = fabric_now_ns(clock) - begin_ns;
        if (gone_ns >= timeout_ns) return 0;
        uint64_t step_ns = withdraw_ns(queue), left_ns = timeout_ns == UINT64_MAX ? UINT64_MAX : timeout_ns - gone_ns;
        int rc = db->fabric->ops->wait(db->fabric, &queue->none, step_ns < left_ns ? step_ns : left_ns);
        must(rc == 0 || rc == CELLAR_DEADLINE); /* else a wake-up was lost */
    }
}

int cellar_proc_reap(struct cellar_queue *queue, struct cellar_completion *completions, uint32_t max,
                     uint64_t timeout_ns)
{
    uint32_t *counted;
    if (!queue || max == 0 || !completions) return err_last_code(CELLAR_INVALID);
    struct cellar *db = queue->db;
    int rc = db ? db_call_begin(db, &counted, NULL) : CELLAR_CLOSED;
    if (rc) return err_last_code(rc);
    uint32_t count = reap_within(queue, completions, max < INT32_MAX ? max : INT32_MAX, timeout_ns);
    db_call_end(db, counted);
    return (int)count;
}

/* ---- submitting ---- */

/* The one with the least to do; to wake one that sleeps counts as much as a call for each of its coordinators. */
static struct worker *choose(struct cellar *db)
{
    struct worker *least = NULL, *first = db_first_worker(db);
    uint32_t least_load = UINT32_MAX;
    for (uint32_t i = 0; i < db->worker_count; i++) {
        struct worker *worker = &db->workers[((uint32_t)(first - db->workers) + i) % db->worker_count];
        uint32_t load = worker_load(worker) + (fabric_helm_is_free(worker->ep) ? worker->coordinator_count : 0);
        if (load >= least_load) continue;
        least = worker;
        least_load = load;
    }
    return least;
}

static int submit(struct cellar_queue *queue, const struct cellar_proc *proc, void *args,
                  const struct cellar_call_options *options, void *user, struct cellar_error *error)
{
    uint32_t *counted;
    if (!queue) return CELLAR_INVALID;
    struct cellar *db = queue->db;
    int rc = db ? db_proc_call_begin(db, proc, &counted) : CELLAR_CLOSED;
    if (rc) return rc;
    struct slot *slot = queue->free;
    if (!slot) {
        db_call_end(db, counted);
        return err_set(error, CELLAR_BUSY, "the completion queue has as many calls as it may, %u: reap first",
                       queue->calls_max);
    }
    queue->free = slot->next;
    queue->in_flight++;
    *slot = (struct slot){.queue = queue, .in_flight = true, .user = user, .counted = counted, .worker = choose(db)};
    if (options) slot->options = *options;
    queue->bounded += is_bounded(slot);
    slot->request = (struct db_request){
        .arg = args, .proc = proc, .options = &slot->options, .result = &slot->result, .ended = slot_end};
    slot->request.begin_ns = fabric_now_ns(slot->worker->ep);
    worker_submit(slot->worker, &slot->request);
    return 0;
}

int cellar_proc_submit(struct cellar_queue *queue, const struct cellar_proc *proc, void *args,
                       const struct cellar_call_options *options, void *user)
{
    struct cellar_error error = {0};
    return err_last_is(submit(queue, proc, args, options, user, &error), &error);
}

/* ---- opening and closing ---- */

static void queue_free(struct cellar_queue *queue)
{
    free(queue->slots);
    handle_drop(queue, sizeof *queue);
}

static struct cellar_queue *queue_make(struct cellar *db, uint32_t calls_max)
{
    struct cellar_queue *queue = handle_new(sizeof *queue);
    if (!queue) return NULL;
    queue->slots = calloc(calls_max, sizeof *queue->slots);
    if (!queue->slots) {
        queue_free(queue);
        return NULL;
    }
    queue->db = db;
    queue->calls_max = calls_max;
    for (uint32_t i = calls_max; i-- > 0; queue->free = &queue->slots[i]) queue->slots[i].next = queue->free;
    return queue;
}

int db_queue_open(struct cellar *db, uint32_t calls_max, cellar_notify_fn notify, void *notify_arg,
                  struct cellar_queue **out, struct cellar_error *error)
{
    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the queue's handle");
    *out = NULL;
    if (calls_max == 0 || calls_max > CELLAR_QUEUE_CALLS_MAX)
        return err_set(error, CELLAR_INVALID, "a completion queue of %u calls: 1 to %d", calls_max,
                       CELLAR_QUEUE_CALLS_MAX);
    uint32_t *counted;
    int rc = db_call_begin(db, &counted, error);
    if (rc) return rc;
    struct cellar_queue *queue = queue_make(db, calls_max);
    if (queue) {
        queue->notify = notify;
        queue->notify_arg = notify_arg;
        fabric_lock(db->fabric, &db->queues_lock);
        queue->next = db->queues;
        db->queues = queue;
        fabric_unlock(db->fabric, &db->queues_lock);
    }
    db_call_end(db, counted);
    *out = queue;
    return queue ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a completion queue of %u calls", calls_max);
}

void cellar_proc_queue_close(struct cellar_queue *queue)
{
    struct cellar_completion unread;
    uint32_t *counted;
    struct cellar *db = queue ? queue->db : NULL;
    if (!db || db_call_begin(db, &counted, NULL)) return; /* or the database frees it, which is being closed */
    withdraw(queue, true);
    while (queue->in_flight) (void)reap_within(queue, &unread, 1, UINT64_MAX);
    fabric_lock(db->fabric, &db->queues_lock);
    struct cellar_queue **at = &db->queues;
    while (*at != queue) at = &(*at)->next;
    *at = queue->next;
    fabric_unlock(db->fabric, &db->queues_lock);
    queue_free(queue);
    db_call_end(db, counted);
}

void db_queues_free(struct cellar *db)
{
    while (db->queues) {
        struct cellar_queue *queue = db->queues;
        db->queues = queue->next;
        queue_free(queue);
    }
}
