#include "chain.h"

#include "chain_plants.h"

#include <stdlib.h>

#define CLIENT_BITS                                                                                                    \
    32 /* of a tail: the client's id, below a ticket that tells its acquires apart: messages may come twice */

enum { SUCCESSOR, HANDOVER };
enum { TO, FROM, PAYLOAD }; /* words of a message */

int chain_enqueue(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t *old)
{
    struct lockmgr_client *client = hold->client;
    struct chain_place *place = chain_place(hold);
    uint64_t begin_ns = lockmgr_now_ns(client);
    *place = (struct chain_place){.tail = client->id | ++client->words[0] << CLIENT_BITS};
    struct fabric_op op = fabric_op_masked_cas(fabric_addr_plus(hold->lock, word * sizeof(uint64_t)), &client->old[0],
                                               0, 0, place->tail, ~0ull);
    int code = lockmgr_do(co, client, &op, 1);
    client->stats.times_ns[hold->mode == LOCKMGR_SHARED ? LOCKMGR_FIRST_SHARED : LOCKMGR_FIRST_EXCLUSIVE] +=
        lockmgr_now_ns(client) - begin_ns;
    *old = client->old[0];
    return code;
}

/* False: that tail names no client. */
static bool tell(struct lockmgr_hold *hold, uint64_t tail, uint16_t kind, uint64_t payload)
{
    struct lockmgr_worker *worker = hold->client->worker;
    struct lockmgr_message_wire wire = {
        .lock = hold->lock.bits, .kind = kind, .words = {tail, chain_place(hold)->tail, payload}};
    uint32_t cn, to;
    if (!lockmgr_locate(lockmgr_config_of(hold), (uint32_t)tail, &cn, &to, &wire.client)) return false;
    lockmgr_queue(worker, cn, to, &wire);
    return true;
}

int chain_follow(struct coro *co, struct lockmgr_hold *hold, uint64_t old, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    uint64_t begin_ns = lockmgr_now_ns(client);
    bool gave_up = false;
    if (!tell(hold, old, SUCCESSOR, 0)) return CELLAR_CORRUPT;
    while (!gave_up && !chain_place(hold)->granted && !PLANT(mcs_grant_unawaited)) {
        if (lockmgr_now_ns(client) >= deadline_ns) {
            gave_up = chain_leave_ghost(hold) || lockmgr_ends(client->worker);
            deadline_ns = UINT64_MAX; /* without memory for a ghost it waits on */
        } else {
            lockmgr_wait(co, client, deadline_ns);
        }
    }
    client->stats.times_ns[hold->mode == LOCKMGR_SHARED ? LOCKMGR_WAIT_WRITERS : LOCKMGR_WAIT_PREDECESSOR] +=
        lockmgr_now_ns(client) - begin_ns;
    return gave_up ? CELLAR_DEADLINE : 0;
}

int chain_leave(struct coro *co, struct lockmgr_hold *hold, uint32_t word, bool *last)
{
    struct lockmgr_client *client = hold->client;
    uint64_t old, begin_ns = lockmgr_now_ns(client);
    int code = lockmgr_cas_word(co, hold, word, chain_place(hold)->tail, 0, &old);
    client->stats.times_ns[LOCKMGR_FIRST_RELEASE] += lockmgr_now_ns(client) - begin_ns;
    *last = old == chain_place(hold)->tail || PLANT(mcs_successor_forgotten);
    return code;
}

void chain_await_successor(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    uint64_t begin_ns = lockmgr_now_ns(client);
    while (!chain_place(hold)->successor && !lockmgr_ends(client->worker)) lockmgr_wait(co, client, UINT64_MAX);
    client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
}

void chain_hand_over(struct lockmgr_hold *hold, uint64_t payload)
{
    (void)tell(hold, chain_place(hold)->successor, HANDOVER, payload);
}

/* ---- places of waiters that gave up ---- */

struct ghost {
    struct ghost *next;
    struct lockmgr_hold hold; /* its client is the tender */
    bool opened, left;        /* see struct chain_rules; the word could not be set to 0: there is a successor */
};

int chain_worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    worker->own = NULL;
    return 0;
}

void chain_worker_close(struct lockmgr_worker *worker)
{
    for (struct ghost *ghost = worker->own, *next; ghost; ghost = next) {
        next = ghost->next;
        free(ghost);
    }
    worker->own = NULL;
}

bool chain_quiet(const struct lockmgr_worker *worker) { return worker->own == NULL; }

bool chain_leave_ghost(struct lockmgr_hold *hold)
{
    struct lockmgr_worker *worker = hold->client->worker;
    struct ghost *ghost = malloc(sizeof *ghost);
    if (!ghost) return false;
    *ghost = (struct ghost){.next = worker->own, .hold = *hold};
    ghost->hold.client = &worker->tender;
    ghost->hold.next = NULL;
    worker->own = ghost;
    lockmgr_stir(worker);
    return true;
}

/* True: its place is over. */
static bool haunt(struct coro *co, struct ghost *ghost, uint32_t word, const struct chain_rules *rules)
{
    struct lockmgr_hold *hold = &ghost->hold;
    struct chain_place *place = chain_place(hold);
    bool waits = !place->granted;
    if (PLANT(mcs_ghost_hurries)) waits = false;
    if (PLANT(mcs_ghost_forgotten)) waits = true;
    if (waits) return false;
    if (!ghost->opened && rules->open && rules->open(co, hold)) return true;
    ghost->opened = true;
    if (!place->successor && !ghost->left) {
        bool last;
        if (chain_leave(co, hold, word, &last) || last) return true;
        ghost->left = true;
    }
    if (!place->successor) return false;
    chain_hand_over(hold, place->payload);
    return !rules->passed_on || rules->passed_on(co, hold) <= 0;
}

static void forget(struct lockmgr_worker *worker, struct ghost *ghost)
{
    struct ghost **at = (struct ghost **)(void *)&worker->own;
    while (*at != ghost) at = &(*at)->next; /* others may have come meanwhile */
    *at = ghost->next;
    free(ghost);
}

uint64_t chain_tend(struct coro *co, struct lockmgr_worker *worker, uint32_t word, const struct chain_rules *rules)
{
    for (struct ghost *ghost = worker->own, *next; ghost; ghost = next) {
        bool over = haunt(co, ghost, word, rules);
        next = ghost->next;
        if (over) forget(worker, ghost);
    }
    return UINT64_MAX;
}

/* ---- messages ---- */

/* Whose place that tail is; NULL: it is over. */
static struct lockmgr_hold *hold_of(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    if (hold && chain_place(hold)->tail == wire->words[TO]) return hold;
    for (struct ghost *ghost = worker->own; ghost; ghost = ghost->next)
        if (chain_place(&ghost->hold)->tail == wire->words[TO] && ghost->hold.lock.bits == wire->lock)
            return &ghost->hold;
    return NULL;
}

/* A ghost's tender is woken by every message. */
void chain_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                   const struct lockmgr_message_wire *wire)
{
    struct lockmgr_hold *hold = hold_of(worker, wire);
    if (!hold) return;
    if (wire->kind == SUCCESSOR) {
        chain_place(hold)->successor = wire->words[FROM];
    } else if (wire->kind == HANDOVER) {
        chain_place(hold)->granted = true;
        chain_place(hold)->payload = wire->words[PAYLOAD];
    }
    if (hold->client != &worker->tender) lockmgr_signal(worker, hold->client);
}
