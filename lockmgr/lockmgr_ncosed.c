/*
 * lockmgr_ncosed.c - N-CoSED (Narravula et al., CCGrid '07), with a home node: the word names the last writer and
 * counts readers. Writers queue after the last one, readers that come while it is there wait for it, and the home,
 * the lock's server, counts readers that have left.
 *
 *     word 0   readers that have joined since the word was last without any 32 | the last writer's client id 32
 *
 * What is published leaves two ways to grant a writer beside readers, both closed here: a writer that replaces s
 * readers in the word waits until the home has seen s of them leave; and a reader never takes its count back by FAA,
 * which would go off whatever has taken the word meanwhile, but waits for the writer it has met.
 */
#include "must.h"
#include "ncosed.h"
#include "plant.h"

#include <stdlib.h>

#define WRITER_SHIFT 32
#define RECORDS_MAX (1ull << 26) /* of a home */

/* In a hold. */
struct place {
    uint64_t ticket;
    uint64_t next, next_ticket; /* a writer's follower; 0: none known */
    uint64_t joined;            /* readers whose NCOSED_JOIN has come */
    bool granted;
};

/* A reader that waits for a writer of this worker. */
struct joiner {
    struct joiner *next;
    uint64_t lock, from, ticket;
    uint32_t client; /* the writer */
};

/* Of a worker. */
struct own {
    struct joiner *joiners, *free, *pool; /* as many as there are clients: each waits for one lock at a time */
    uint64_t *seen;                       /* by client and home: LEFTs that it has seen to */
};
/* Of lockmgr_client.words. */
enum { TICKETS, SENT, SEEN };

static struct place *place_of(struct lockmgr_hold *hold) { return (struct place *)(void *)hold->words; }
static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    if (!config->server_workers)
        return err_set(error, CELLAR_ERR_INVALID, "ncosed needs a lock server, the home of its locks");
    if (ncosed_records(config) <= RECORDS_MAX) return 0;
    return err_set(error, CELLAR_ERR_INVALID,
                   "%llu clients of up to %u locks each: homes of ncosed have room for %llu locks at once, not %llu",
                   (unsigned long long)ncosed_clients(config), ncosed_locks_per_client(config), RECORDS_MAX,
                   (unsigned long long)ncosed_records(config));
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    return word == 0 ? 0
                     : err_set(error, CELLAR_ERR_CORRUPT, "%u readers are counted, writer %u is the last",
                               (uint32_t)word, (uint32_t)(word >> WRITER_SHIFT));
}

/* ---- messages ---- */

static struct lockmgr_message_wire message(struct lockmgr_hold *hold, enum ncosed_kind kind)
{
    return (struct lockmgr_message_wire){.lock = hold->lock.bits,
                                         .client = LOCKMGR_NO_CLIENT,
                                         .kind = (uint16_t)kind,
                                         .words = {hold->client->id, place_of(hold)->ticket}};
}

/* Awaited: none of these may come twice. */
static int tell(struct coro *co, struct lockmgr_hold *hold, uint64_t id, enum ncosed_kind kind)
{
    struct lockmgr_message_wire wire = message(hold, kind);
    uint32_t cn, worker;
    if (!lockmgr_locate(lockmgr_config_of(hold), (uint32_t)id, &cn, &worker, &wire.client)) return -CELLAR_ERR_CORRUPT;
    return lockmgr_send(co, hold->client, cn, worker, &wire);
}

static int tell_home(struct coro *co, struct lockmgr_hold *hold, enum ncosed_kind kind, uint64_t count)
{
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    struct lockmgr_message_wire wire = message(hold, kind);
    wire.words[NCOSED_COUNT] = count;
    return lockmgr_send(co, hold->client, config->server_cn, lockmgr_server_of(config, hold->lock), &wire);
}

void ncosed_grant(struct lockmgr_worker *worker, struct fabric_addr lock, uint64_t id, uint64_t ticket)
{
    struct lockmgr_message_wire wire = {.lock = lock.bits, .kind = NCOSED_GRANT, .words = {0, ticket}};
    uint32_t cn, to;
    if (lockmgr_locate(&worker->lockmgr->config, (uint32_t)id, &cn, &to, &wire.client))
        lockmgr_queue(worker, cn, to, &wire);
}

static void await_grant(struct coro *co, struct lockmgr_hold *hold, enum lockmgr_time time)
{
    uint64_t begin_ns = lockmgr_now_ns(hold->client);
    while (!place_of(hold)->granted) lockmgr_wait(co, hold->client, UINT64_MAX);
    hold->client->stats.times_ns[time] += lockmgr_now_ns(hold->client) - begin_ns;
}

static void note_joiner(struct lockmgr_worker *worker, struct lockmgr_hold *hold,
                        const struct lockmgr_message_wire *wire)
{
    struct own *own = worker->own;
    struct joiner *joiner = own->free;
    must(joiner);
    own->free = joiner->next;
    *joiner = (struct joiner){.next = own->joiners,
                              .lock = wire->lock,
                              .from = wire->words[NCOSED_FROM],
                              .ticket = wire->words[NCOSED_TICKET],
                              .client = wire->client};
    own->joiners = joiner;
    place_of(hold)->joined++;
}

/* A home has seen to so many LEFTs of a client. It may say so late, or twice. */
static void note_seen(struct lockmgr_worker *worker, const struct lockmgr_message_wire *wire)
{
    uint64_t home = wire->words[NCOSED_FROM], homes = worker->lockmgr->config.server_workers;
    if (wire->client >= worker->client_count || home >= homes) return;
    uint64_t *seen = &((struct own *)worker->own)->seen[wire->client * homes + home];
    if (wire->words[NCOSED_COUNT] <= *seen) return;
    worker->clients[wire->client].words[SEEN] += wire->words[NCOSED_COUNT] - *seen;
    *seen = wire->words[NCOSED_COUNT];
    lockmgr_signal(worker, &worker->clients[wire->client]);
}

static void deliver(struct lockmgr_worker *worker, const struct fabric_message *from,
                    const struct lockmgr_message_wire *wire)
{
    if (wire->kind == NCOSED_SEEN) note_seen(worker, wire);
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    if (!hold || wire->kind == NCOSED_SEEN) return;
    struct place *place = place_of(hold);
    if (wire->kind == NCOSED_GRANT && wire->words[NCOSED_TICKET] != place->ticket) return;
    if (wire->kind == NCOSED_GRANT) place->granted = true;
    if (wire->kind == NCOSED_JOIN) note_joiner(worker, hold, wire);
    if (wire->kind == NCOSED_FOLLOW)
        place->next = wire->words[NCOSED_FROM], place->next_ticket = wire->words[NCOSED_TICKET];
    lockmgr_signal(worker, hold->client);
}

/* ---- acquire ---- */

static int acquire_shared(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    uint64_t old, begin_ns = lockmgr_now_ns(client);
    int code = lockmgr_faa_word(co, hold, 0, 1, &old);
    client->stats.times_ns[LOCKMGR_FIRST_SHARED] += lockmgr_now_ns(client) - begin_ns;
    if (code) return code;
    if (old >> WRITER_SHIFT == 0) {
        client->stats.immediate++;
        return 0;
    }
    code = tell(co, hold, old >> WRITER_SHIFT, NCOSED_JOIN);
    if (code == 0) await_grant(co, hold, LOCKMGR_WAIT_WRITERS);
    return code;
}

/* The word was `old`, and is this writer's now. */
static int follow(struct coro *co, struct lockmgr_hold *hold, uint64_t old)
{
    uint64_t readers = (uint32_t)old;
    if (old == 0) return 0;
    if (readers && PLANT(ncosed_replaces_readers)) return 0;
    int code =
        readers ? tell_home(co, hold, NCOSED_REPLACE, readers) : tell(co, hold, old >> WRITER_SHIFT, NCOSED_FOLLOW);
    if (code == 0) await_grant(co, hold, readers ? LOCKMGR_WAIT_READERS : LOCKMGR_WAIT_PREDECESSOR);
    return code;
}

static int acquire_exclusive(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    uint64_t expected = 0, old, begin_ns = lockmgr_now_ns(client);
    for (uint32_t tries = 0;; tries++) {
        int code = lockmgr_cas_word(co, hold, 0, expected, (uint64_t)client->id << WRITER_SHIFT, &old);
        if (code) return code;
        if (tries == 0) client->stats.times_ns[LOCKMGR_FIRST_EXCLUSIVE] += lockmgr_now_ns(client) - begin_ns;
        if (old == expected) break;
        client->stats.retries++;
        bool both = old >> WRITER_SHIFT && (uint32_t)old; /* readers wait for that writer: no other may come between */
        expected = both && !PLANT(ncosed_comes_between) ? 0 : old;
    }
    client->stats.immediate += expected == 0;
    return follow(co, hold, old);
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    uint32_t holds = 0;
    for (const struct lockmgr_hold *at = hold; at; at = at->next) holds++;
    if (holds > ncosed_locks_per_client(lockmgr_config_of(hold))) return -CELLAR_ERR_NOMEM;
    *place_of(hold) = (struct place){.ticket = ++hold->client->words[TICKETS]};
    return hold->mode == LOCKMGR_SHARED ? acquire_shared(co, hold) : acquire_exclusive(co, hold);
}

/* ---- release ---- */

/* All readers that have joined after this writer: their JOINs come, if they are not there yet. */
static void let_readers_in(struct coro *co, struct lockmgr_hold *hold, uint64_t readers)
{
    struct lockmgr_worker *worker = hold->client->worker;
    while (place_of(hold)->joined < readers) lockmgr_wait(co, hold->client, UINT64_MAX);
    struct own *own = worker->own;
    struct joiner **at = &own->joiners, *joiner;
    while ((joiner = *at)) {
        if (joiner->client != hold->client->number || joiner->lock != hold->lock.bits) {
            at = &joiner->next;
            continue;
        }
        ncosed_grant(worker, hold->lock, joiner->from, joiner->ticket);
        *at = joiner->next;
        joiner->next = own->free;
        own->free = joiner;
    }
}

static int release_exclusive(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    struct place *place = place_of(hold);
    uint64_t mine = (uint64_t)client->id << WRITER_SHIFT, readers = 0, old, begin_ns = lockmgr_now_ns(client);
    for (;;) {
        int code = lockmgr_cas_word(co, hold, 0, mine | readers, readers, &old);
        if (code) return code;
        if (old == (mine | readers) || old >> WRITER_SHIFT != client->id) break;
        client->stats.retries++;
        readers = (uint32_t)old;
    }
    client->stats.times_ns[LOCKMGR_FIRST_RELEASE] += lockmgr_now_ns(client) - begin_ns;
    if (old >> WRITER_SHIFT == client->id) {
        let_readers_in(co, hold, readers);
        return 0;
    }
    begin_ns = lockmgr_now_ns(client);
    while (!place->next) lockmgr_wait(co, client, UINT64_MAX);
    ncosed_grant(client->worker, hold->lock, place->next, place->next_ticket);
    client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
    return 0;
}

/* Homes have room for so many that left, and no more. */
static int release_shared(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    uint64_t begin_ns = lockmgr_now_ns(client);
    while (client->words[SENT] - client->words[SEEN] >= ncosed_window(lockmgr_config_of(hold)))
        lockmgr_wait(co, client, UINT64_MAX);
    client->words[SENT]++;
    int code = tell_home(co, hold, NCOSED_LEFT, 0);
    client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
    return code;
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    return hold->mode == LOCKMGR_SHARED ? release_shared(co, hold) : release_exclusive(co, hold);
}

/* ---- a worker ---- */

static void worker_close(struct lockmgr_worker *worker)
{
    struct own *own = worker->own;
    if (!own) return;
    free(own->pool);
    free(own->seen);
    free(own);
    worker->own = NULL;
}

static int worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint64_t clients = ncosed_clients(config), homes = (uint64_t)worker->client_count * config->server_workers;
    struct own *own = worker->own = calloc(1, sizeof *own);
    if (own) {
        own->pool = calloc(clients, sizeof *own->pool);
        own->seen = calloc(homes, sizeof *own->seen);
    }
    if (!own || !own->pool || !own->seen) {
        worker_close(worker);
        return err_set(error, CELLAR_ERR_NOMEM, "no memory for readers that wait, of %llu clients",
                       (unsigned long long)clients);
    }
    for (uint64_t i = clients; i-- > 0;) {
        own->pool[i].next = own->free;
        own->free = &own->pool[i];
    }
    return 0;
}

const struct lockmgr_algorithm lockmgr_algorithm_ncosed = {.name = "ncosed",
                                                           .about =
                                                               "the word names the last writer, a home counts readers",
                                                           .promises = LOCKMGR_SHARES,
                                                           .times_itself = true,
                                                           .lock_bytes = lock_bytes,
                                                           .check = check,
                                                           .acquire = acquire,
                                                           .release = release,
                                                           .audit = audit,
                                                           .worker_open = worker_open,
                                                           .worker_close = worker_close,
                                                           .deliver = deliver,
                                                           .server_open = ncosed_home_open,
                                                           .server_close = ncosed_home_close,
                                                           .server_deliver = ncosed_home_deliver,
                                                           .server_tend = ncosed_home_tend};
