/* peer_client.c - one client: its share of the draws, each a transaction that is tried until it has ended. */
#include "peer_phase.h"
#include "peer_run.h"

#include <sched.h>

#define SAMPLE 8 /* one in so many transactions is timed, where they take less than reading the clock several times */
#define TURN 64  /* transactions between two turns */

/* Reads in the order of keys: locks are taken so. Writes in any. */
static int attempt(const struct peer_ops *ops, void *session, const struct peer_plan *plan, union peer_row *rows,
                   const struct peer_client *client, const struct peer_draw *draw, uint64_t at,
                   struct peer_outcome *outcome)
{
    const struct peer_work *work = client->order->setup.work;
    bool swap = plan->count == 2 && plan->parts[0].key > plan->parts[1].key;
    int rc = ops->begin(session, plan->writes);
    if (rc) return rc;
    if (ops->prefetch) rc = ops->prefetch(session, plan);
    for (uint32_t i = 0; rc == 0 && i < plan->count; i++)
        rc = ops->get(session, &plan->parts[i ^ swap], &rows[i ^ swap]);
    if (rc == 0 && !peer_work_compute(work, draw, client->index, at, rows, outcome))
        return ops->end(session, PEER_REFUSED);
    for (uint32_t i = 0; rc == 0 && i < plan->count; i++)
        if (plan->parts[i].write) rc = ops->put(session, &plan->parts[i], &rows[i]);
    if (rc == 0) return ops->end(session, PEER_COMMIT);
    int ended = ops->end(session, PEER_AGAIN);
    return ended < 0 ? ended : rc;
}

static int by_steps(struct peer_client *client, void *session, const struct peer_draw *draw, uint64_t at,
                    struct peer_outcome *outcome)
{
    const struct peer_ops *ops = client->order->peer->ops;
    const struct peer_work *work = client->order->setup.work;
    union peer_row rows[PEER_PER_TXN];
    struct peer_plan plan;
    int rc;

    peer_work_plan(work, draw, &plan);
    for (uint32_t i = 0; ops->whole && plan.writes && i < plan.count; i++)
        if (plan.parts[i].write) plan.parts[i].read = (uint8_t)((1u << work->columns) - 1);
    while ((rc = attempt(ops, session, &plan, rows, client, draw, at, outcome)) == PEER_RETRY) {
        client->retries++;
        sched_yield(); /* let the other one finish */
    }
    return rc;
}

static int run_one(struct peer_client *client, void *session, uint64_t at)
{
    const struct peer_ops *ops = client->order->peer->ops;
    const struct peer_draw *draw = &client->order->draws[at];
    struct peer_outcome outcome = {0};
    int rc = ops->call ? ops->call(session, draw, &outcome, &client->retries)
                       : by_steps(client, session, draw, at, &outcome);
    if (rc && rc != PEER_PENDING) return rc;
    client->outcome.cents += outcome.cents;
    client->outcome.writes += outcome.writes;
    client->outcome.foreign += outcome.foreign;
    return rc;
}

void peer_client_acknowledge(struct peer_client *client, uint64_t begin_ns)
{
    if (begin_ns) hist_add(&client->latency, peer_now_ns() - begin_ns);
    __atomic_store_n(&client->ended, client->ended + 1, __ATOMIC_RELAXED);
}

int peer_client_run(struct peer_client *client, void *session)
{
    const struct peer_order *order = client->order;
    uint64_t first = order->draw_count * client->index / order->loops;
    uint64_t end = order->draw_count * (client->index + 1) / order->loops;
    uint64_t sample = order->setup.durable || order->once ? 1 : SAMPLE;

    for (uint64_t at = first, turn = 1; at < end; turn++) {
        uint32_t phase = __atomic_load_n(client->phase, __ATOMIC_RELAXED);
        if (phase == PEER_STOP) break;
        bool timed = phase == PEER_MEASURE && turn % sample == 0;
        client->begin_ns = timed ? peer_now_ns() : 0;
        client->rc = run_one(client, session, at);
        if (client->rc == 0) peer_client_acknowledge(client, client->begin_ns);
        if (client->rc && client->rc != PEER_PENDING) break;
        client->rc = 0;
        if (++at == end && !order->once) at = first;
        if (turn % TURN == 0 && order->peer->ops->turn) order->peer->ops->turn(session);
    }
    if (client->rc == 0 && order->peer->ops->settle) client->rc = order->peer->ops->settle(session);
    return client->rc;
}
