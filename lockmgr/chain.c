#include "chain.h"

#include "plant.h"

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
    client->stats.times_ns[LOCKMGR_FIRST_EXCLUSIVE] += lockmgr_now_ns(client) - begin_ns;
    *old = client->old[0];
    return code;
}

/* False: that tail names nobody. */
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

int chain_follow(struct coro *co, struct lockmgr_hold *hold, uint64_t old)
{
    struct lockmgr_client *client = hold->client;
    uint64_t begin_ns = lockmgr_now_ns(client);
    if (!tell(hold, old, SUCCESSOR, 0)) return -CELLAR_ERR_CORRUPT;
    while (!chain_place(hold)->granted && !PLANT(mcs_grant_unawaited)) lockmgr_wait(co, client, UINT64_MAX);
    client->stats.times_ns[LOCKMGR_WAIT_PREDECESSOR] += lockmgr_now_ns(client) - begin_ns;
    return 0;
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
    while (!chain_place(hold)->successor) lockmgr_wait(co, client, UINT64_MAX);
    client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
}

void chain_hand_over(struct lockmgr_hold *hold, uint64_t payload)
{
    (void)tell(hold, chain_place(hold)->successor, HANDOVER, payload);
}

/* What came too late, or twice, names an acquire that is over. */
void chain_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                   const struct lockmgr_message_wire *wire)
{
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    if (!hold || chain_place(hold)->tail != wire->words[TO]) return;
    if (wire->kind == SUCCESSOR) {
        chain_place(hold)->successor = wire->words[FROM];
    } else if (wire->kind == HANDOVER) {
        chain_place(hold)->granted = true;
        chain_place(hold)->payload = wire->words[PAYLOAD];
    }
    lockmgr_signal(worker, hold->client);
}
