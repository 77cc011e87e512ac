/*
 * netlock_overflow.c - q2: requests that the switch has numbered and passed on while its queue, q1, was full, or
 * others waited here. They go back in the order of their numbers, as many as the switch says it has room for.
 *
 *     switch   ... returned | room for `free` more           NOTIFY: returned, sent, free; when q1 is empty, or asked
 *     server        over:   [ r+1 ] [ r+2 ] ... [ sent ]     PUSH each with its number and that of the one before
 *
 * The switch takes a push only if it has the one before: it may come twice or be lost, and then comes again from
 * `returned` on. Since what is free only grows while the server alone fills it, an old NOTIFY allows too little,
 * never too much. What was lost on its way here is passed over after a while; if it comes after that, it counts as
 * lost, and its client asks again.
 */
#include "must.h"
#include "netlock.h"
#include "netlock_plants.h"

#define GAP_ROUND_TRIPS 16  /* for one that is late */
#define AGAIN_ROUND_TRIPS 8 /* for a push that was lost */

static void insert(struct netlock_queue *queue, struct netlock_request *request)
{
    struct netlock_request **at = &queue->first;
    while (*at && (*at)->seq < request->seq) at = &(*at)->next;
    request->next = *at;
    *at = request;
    if (!request->next) queue->last = request;
}

/*
 * The same number twice, or the same request under another number: the switch hears of the latter's number, but of no
 * request.
 */
static bool known(const struct netlock_queue *queue, const struct netlock_packet *packet, bool *twice)
{
    *twice = false;
    for (const struct netlock_request *request = queue->first; request; request = request->next) {
        if (request->seq == packet->seq) return true;
        if (request->client == packet->client && request->txn == packet->txn) *twice = true;
    }
    return false;
}

void netlock_over_arrive(struct lockmgr_worker *worker, struct netlock_lock *lock, const struct netlock_packet *packet)
{
    uint32_t i = packet->priority;
    bool twice;
    if (packet->seq <= lock->high[i] || known(&lock->over[i], packet, &twice)) return;
    struct netlock_request *request = netlock_request_new(worker, packet);
    request->seq = packet->seq;
    lock->passed_on += lock->place == NETLOCK_AWAY;
    if (twice) request->client = 0;
    insert(&lock->over[i], request);
    /* The switch has told of it before it came: it will not tell again. */
    if (packet->seq <= lock->sent[i] && lock->place == NETLOCK_AWAY) netlock_over_probe(worker, lock, i);
    if (packet->seq > lock->sent[i]) lock->sent[i] = packet->seq;
}

static void push(struct lockmgr_worker *worker, const struct netlock_lock *lock, uint32_t priority, uint64_t prev,
                 struct netlock_request *request)
{
    struct netlock_packet packet = {.op = NETLOCK_PUSH,
                                    .lock = lock->lock,
                                    .client = request->client,
                                    .txn = request->txn,
                                    .mode = request->mode,
                                    .tenant = request->tenant & 15,
                                    .priority = (uint8_t)priority,
                                    .prev = prev,
                                    .seq = request->seq,
                                    .move = lock->move,
                                    .incarnation = netlock_server_of(worker)->incarnation};
    request->pushed_ns = fabric_now_ns(worker->ep);
    netlock_to_switch(worker, &packet);
}

/* What the switch says it has got back is its own. */
static void forget_returned(struct lockmgr_worker *worker, struct netlock_lock *lock, uint32_t priority)
{
    struct netlock_queue *queue = &lock->over[priority];
    while (queue->first && queue->first->seq <= lock->returned[priority])
        netlock_request_free(worker, netlock_queue_take(queue));
}

/* Behind the last of the queue: the switch has sent more, which must have been lost by now. */
static void pass_over_tail(struct lockmgr_worker *worker, struct netlock_lock *lock, uint32_t priority)
{
    struct netlock_queue *queue = &lock->over[priority];
    uint64_t sent = lock->sent[priority];
    if ((queue->last ? queue->last->seq : lock->returned[priority]) >= sent) return;
    struct netlock_packet placeholder = {.priority = (uint8_t)priority};
    struct netlock_request *request = netlock_request_new(worker, &placeholder);
    request->seq = sent;
    insert(queue, request);
}

/* What the switch had sent when it told of its room, and no more: since then it may have taken in others itself. */
static void push_some(struct lockmgr_worker *worker, struct netlock_lock *lock, uint32_t priority, uint32_t room,
                      uint64_t sent)
{
    uint64_t now_ns = fabric_now_ns(worker->ep), rtt_ns = netlock_rtt_ns(&worker->lockmgr->config);
    uint64_t prev = lock->returned[priority];
    for (struct netlock_request *request = lock->over[priority].first; request && request->seq <= sent;
         request = request->next) {
        bool gap = request->seq >> NETLOCK_SEQ_SHIFT > (prev >> NETLOCK_SEQ_SHIFT) + 1;
        if (gap && now_ns - request->since_ns < GAP_ROUND_TRIPS * rtt_ns) return;
        if (request->client && room-- == 0) return;
        bool again = request->pushed_ns && now_ns - request->pushed_ns > AGAIN_ROUND_TRIPS * rtt_ns;
        if (PLANT(netlock_push_lost)) again = false;
        if (!request->pushed_ns || again) push(worker, lock, priority, prev, request);
        if (request->seq > lock->high[priority]) lock->high[priority] = request->seq;
        prev = request->seq;
    }
}

void netlock_over_told(struct lockmgr_worker *worker, struct netlock_lock *lock, const struct netlock_packet *packet)
{
    uint32_t i = packet->priority;
    lock->requests += packet->requests;
    if (packet->peak > lock->peak) lock->peak = packet->peak;
    if (lock->place != NETLOCK_AWAY && lock->place != NETLOCK_SETTLING) return;
    if (packet->prev < lock->returned[i]) return; /* it is old */
    bool still = packet->prev == lock->returned[i] && packet->seq == lock->sent[i];
    lock->returned[i] = packet->prev;
    if (packet->seq > lock->sent[i]) lock->sent[i] = packet->seq;
    forget_returned(worker, lock, i);
    if (lock->place == NETLOCK_SETTLING) { /* nothing new any more */
        push_some(worker, lock, i, packet->slot, packet->seq < lock->high[i] ? packet->seq : lock->high[i]);
        if (netlock_over_settled(worker, lock)) netlock_move_step(worker, lock);
        return;
    }
    /* Nothing has come between two looks that were far apart. */
    if (still && packet->client == NETLOCK_LATE && !lock->over[i].first) pass_over_tail(worker, lock, i);
    push_some(worker, lock, i, packet->slot, packet->seq);
}

void netlock_over_probe(struct lockmgr_worker *worker, const struct netlock_lock *lock, uint32_t priority)
{
    struct netlock_packet packet = {.op = NETLOCK_PROBE,
                                    .lock = lock->lock,
                                    .priority = (uint8_t)priority,
                                    .client = NETLOCK_LATE,
                                    .move = lock->move,
                                    .incarnation = netlock_server_of(worker)->incarnation};
    netlock_to_switch(worker, &packet);
}

bool netlock_over_settled(const struct lockmgr_worker *worker, const struct netlock_lock *lock)
{
    for (uint32_t i = 0; i < netlock_switch_config_of(&worker->lockmgr->config).priorities; i++)
        if (lock->returned[i] < lock->high[i]) return false;
    return true;
}
