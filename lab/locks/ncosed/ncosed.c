/*
 * ncosed.c - N-CoSED (Narravula et al., CCGrid '07), with a home node: the word names the last writer and
 * counts readers. Writers queue after the last one, readers that come while it is there wait for it, and the home,
 * the lock's server, counts readers that have left.
 *
 *     word 0   readers that have joined since the word was last without any 32 | the last writer's client id 32
 *
 * What is published leaves two ways to grant a writer beside readers, both closed here: a writer that replaces s
 * readers in the word waits until the home has seen s of them leave; and a reader never takes its count back by FAA,
 * which would go off whatever has taken the word meanwhile, but waits for the writer it has met.
 *
 * A waiter that gives up cannot take its place back either, since another client may have been told of it: it leaves a
 * *ghost* there, which the worker's tender releases when the grant has come. The word and messages name a place by its
 * client and lock alone, so a client comes to a lock again when its ghost there has gone (INV-NCOSED-2).
 */
#include "ncosed.h"

#include "must.h"
#include "ncosed_plants.h"

#include <stdlib.h>

#define WRITER_SHIFT 32
#define RECORDS_MAX (1ull << 26) /* of a home */

/* In a hold. */
struct place {
    uint64_t ticket;
    uint64_t next, next_ticket; /* a writer's follower; 0: none known */
    uint64_t joined;            /* readers whose NCOSED_JOIN has come */
    uint32_t client, id;        /* whose it is, also of a ghost: in its worker, and as the word names it */
    bool granted;
};

/* The place of a client that gave up. */
struct ghost {
    struct ghost *next;
    struct lockmgr_hold hold; /* its client is the tender */
    bool left, followed;      /* a writer's: the word names it no more; a writer follows */
    uint64_t readers;         /* ... or so many have joined */
};

/* A reader that waits for a writer of this worker. */
struct joiner {
    struct joiner *next;
    uint64_t lock, from, ticket;
    uint32_t client; /* the writer */
};

/* Of a worker. */
struct own {
    struct joiner *joiners, *free, *pool; /* as many as there are places: locks_per_client for each client */
    uint64_t *seen;                       /* by client and home: LEFTs that it has seen to */
    struct ghost *ghosts;
};
/* Of lockmgr_client.words. */
enum { TICKETS, SENT, SEEN };

static struct place *place_of(struct lockmgr_hold *hold) { return (struct place *)(void *)hold->words; }
static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    if (!config->server_workers)
        return err_set(error, CELLAR_INVALID, "ncosed needs a lock server, the home of its locks");
    if (ncosed_records(config) <= RECORDS_MAX) return 0;
    return err_set(error, CELLAR_INVALID,
                   "%llu clients of up to %u locks each: homes of ncosed have room for %llu locks at once, not %llu",
                   (unsigned long long)ncosed_clients(config), ncosed_locks_per_client(config), RECORDS_MAX,
                   (unsigned long long)ncosed_records(config));
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    return word == 0 ? 0
                     : err_set(error, CELLAR_CORRUPT, "%u readers are counted, writer %u is the last", (uint32_t)word,
                               (uint32_t)(word >> WRITER_SHIFT));
}

/* ---- messages ---- */

static struct lockmgr_message_wire message(struct lockmgr_hold *hold, enum ncosed_kind kind)
{
    return (struct lockmgr_message_wire){.lock = hold->lock.bits,
                                         .client = LOCKMGR_NO_CLIENT,
                                         .kind = (uint16_t)kind,
                                         .words = {place_of(hold)->id, place_of(hold)->ticket}};
}

/* Awaited: none of these may come twice. */
static int tell(struct coro *co, struct lockmgr_hold *hold, uint64_t id, enum ncosed_kind kind)
{
    struct lockmgr_message_wire wire = message(hold, kind);
    uint32_t cn, worker;
    if (!lockmgr_locate(lockmgr_config_of(hold), (uint32_t)id, &cn, &worker, &wire.client)) return CELLAR_CORRUPT;
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

/* ---- places of clients that gave up ---- */

/* The hold's place is the tender's from now on. False: no memory for that. */
static bool leave_ghost(struct lockmgr_hold *hold)
{
    struct lockmgr_worker *worker = hold->client->worker;
    struct own *own = worker->own;
    struct ghost *ghost = malloc(sizeof *ghost);
    if (!ghost) return false;
    *ghost = (struct ghost){.next = own->ghosts, .hold = *hold};
    ghost->hold.client = &worker->tender;
    ghost->hold.next = NULL;
    own->ghosts = ghost;
    lockmgr_stir(worker);
    return true;
}

static struct lockmgr_hold *ghost_at(const struct own *own, uint32_t client, uint64_t lock)
{
    struct ghost *ghost = own->ghosts;
    while (ghost && (place_of(&ghost->hold)->client != client || ghost->hold.lock.bits != lock)) ghost = ghost->next;
    return ghost ? &ghost->hold : NULL;
}

static uint32_t ghosts_of(const struct own *own, uint32_t client)
{
    uint32_t count = 0;
    for (struct ghost *ghost = own->ghosts; ghost; ghost = ghost->next)
        count += place_of(&ghost->hold)->client == client;
    return count;
}

static int await_grant(struct coro *co, struct lockmgr_hold *hold, enum lockmgr_time time, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    uint64_t begin_ns = lockmgr_now_ns(client);
    bool gave_up = false;
    while (!gave_up && !place_of(hold)->granted) {
        if (lockmgr_ends(client->worker)) {
            gave_up = true;
        } else if (lockmgr_now_ns(client) >= deadline_ns) {
            gave_up = leave_ghost(hold);
            deadline_ns = UINT64_MAX; /* without memory for a ghost it waits on */
        } else {
            lockmgr_wait(co, client, deadline_ns);
        }
    }
    client->stats.times_ns[time] += lockmgr_now_ns(client) - begin_ns;
    return gave_up ? CELLAR_DEADLINE : 0;
}

/* ---- messages that come ---- */

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

/* A tender is woken by every message. */
static void deliver(struct lockmgr_worker *worker, const struct fabric_message *from,
                    const struct lockmgr_message_wire *wire)
{
    if (wire->kind == NCOSED_SEEN) note_seen(worker, wire);
    struct lockmgr_hold *hold = ghost_at(worker->own, wire->client, wire->lock);
    if (!hold) hold = lockmgr_find(worker, wire->client, wire->lock);
    if (!hold || wire->kind == NCOSED_SEEN) return;
    struct place *place = place_of(hold);
    if (wire->kind == NCOSED_GRANT && wire->words[NCOSED_TICKET] != place->ticket) return;
    if (wire->kind == NCOSED_GRANT) place->granted = true;
    if (wire->kind == NCOSED_JOIN) note_joiner(worker, hold, wire);
    if (wire->kind == NCOSED_FOLLOW)
        place->next = wire->words[NCOSED_FROM], place->next_ticket = wire->words[NCOSED_TICKET];
    if (hold->client != &worker->tender) lockmgr_signal(worker, hold->client);
}

/* ---- acquire ---- */

static int acquire_shared(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
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
    return code ? code : await_grant(co, hold, LOCKMGR_WAIT_WRITERS, deadline_ns);
}

/* The word was `old`, and is this writer's now. */
static int follow(struct coro *co, struct lockmgr_hold *hold, uint64_t old, uint64_t deadline_ns)
{
    uint64_t readers = (uint32_t)old;
    if (old == 0) return 0;
    if (readers && PLANT(ncosed_replaces_readers)) return 0;
    int code =
        readers ? tell_home(co, hold, NCOSED_REPLACE, readers) : tell(co, hold, old >> WRITER_SHIFT, NCOSED_FOLLOW);
    enum lockmgr_time time = readers ? LOCKMGR_WAIT_READERS : LOCKMGR_WAIT_PREDECESSOR;
    return code ? code : await_grant(co, hold, time, deadline_ns);
}

static int acquire_exclusive(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    uint64_t expected = 0, old, begin_ns = lockmgr_now_ns(client);
    for (uint32_t tries = 0;; tries++) {
        int code = lockmgr_cas_word(co, hold, 0, expected, (uint64_t)client->id << WRITER_SHIFT, &old);
        if (code) return code;
        if (tries == 0) client->stats.times_ns[LOCKMGR_FIRST_EXCLUSIVE] += lockmgr_now_ns(client) - begin_ns;
        if (old == expected) break;
        if (lockmgr_now_ns(client) >= deadline_ns) return CELLAR_DEADLINE;
        client->stats.retries++;
        bool both = old >> WRITER_SHIFT && (uint32_t)old; /* readers wait for that writer: no other may come between */
        expected = both && !PLANT(ncosed_comes_between) ? 0 : old;
    }
    client->stats.immediate += expected == 0;
    return follow(co, hold, old, deadline_ns);
}

/* Until the client's ghost at this lock has gone, and there is room for a further place. */
static int await_ghosts(struct coro *co, struct lockmgr_hold *hold, uint32_t room, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    const struct own *own = client->worker->own;
    while (ghosts_of(own, client->number) > room ||
           (ghost_at(own, client->number, hold->lock.bits) && !PLANT(ncosed_comes_twice))) {
        if (lockmgr_ends(client->worker) || lockmgr_now_ns(client) >= deadline_ns) return CELLAR_DEADLINE;
        lockmgr_wait(co, client, deadline_ns);
    }
    return 0;
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    uint32_t holds = 0, most = ncosed_locks_per_client(lockmgr_config_of(hold));
    for (const struct lockmgr_hold *at = hold; at; at = at->next) holds++;
    if (holds > most) return CELLAR_NOMEM;
    int code = await_ghosts(co, hold, most - holds, deadline_ns);
    if (code) return code;
    *place_of(hold) = (struct place){.ticket = ++client->words[TICKETS], .client = client->number, .id = client->id};
    return hold->mode == LOCKMGR_SHARED ? acquire_shared(co, hold, deadline_ns)
                                        : acquire_exclusive(co, hold, deadline_ns);
}

/* ---- release ---- */

/* All readers that have joined after this writer; their JOINs are there. */
static void let_readers_in(struct lockmgr_worker *worker, struct lockmgr_hold *hold)
{
    struct own *own = worker->own;
    struct joiner **at = &own->joiners, *joiner;
    while ((joiner = *at)) {
        if (joiner->client != place_of(hold)->client || joiner->lock != hold->lock.bits) {
            at = &joiner->next;
            continue;
        }
        ncosed_grant(worker, hold->lock, joiner->from, joiner->ticket);
        *at = joiner->next;
        joiner->next = own->free;
        own->free = joiner;
    }
}

/* The word names this writer no more: another one follows it, or `readers` have joined. */
static int leave_word(struct coro *co, struct lockmgr_hold *hold, uint64_t *readers, bool *followed)
{
    uint64_t id = place_of(hold)->id, mine = id << WRITER_SHIFT, old;
    *readers = 0;
    for (;;) {
        int code = lockmgr_cas_word(co, hold, 0, mine | *readers, *readers, &old);
        if (code) return code;
        *followed = old >> WRITER_SHIFT != id;
        if (*followed || old == (mine | *readers)) return 0;
        hold->client->stats.retries++;
        *readers = (uint32_t)old;
    }
}

/* Have those that come after it told so? */
static bool knows_next(struct lockmgr_hold *hold, uint64_t readers, bool followed)
{
    return followed ? place_of(hold)->next != 0 : place_of(hold)->joined >= readers;
}

static void pass_on(struct lockmgr_worker *worker, struct lockmgr_hold *hold, bool followed)
{
    const struct place *place = place_of(hold);
    if (followed)
        ncosed_grant(worker, hold->lock, place->next, place->next_ticket);
    else
        let_readers_in(worker, hold);
}

static int release_exclusive(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    uint64_t readers, begin_ns = lockmgr_now_ns(client);
    bool followed;
    int code = leave_word(co, hold, &readers, &followed);
    if (code) return code;
    client->stats.times_ns[LOCKMGR_FIRST_RELEASE] += lockmgr_now_ns(client) - begin_ns;
    begin_ns = lockmgr_now_ns(client);
    while (!knows_next(hold, readers, followed) && !lockmgr_ends(client->worker)) lockmgr_wait(co, client, UINT64_MAX);
    if (!lockmgr_ends(client->worker)) pass_on(client->worker, hold, followed);
    if (followed) client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
    return 0;
}

/* Homes have room for so many LEFTs of a client that it has not been told of, and no more. (INV-NCOSED-1) */
static bool has_window(const struct lockmgr_client *client)
{
    return client->words[SENT] - client->words[SEEN] < ncosed_window(&client->worker->lockmgr->config);
}

static int release_shared(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    uint64_t begin_ns = lockmgr_now_ns(client);
    while (!has_window(client) && !lockmgr_ends(client->worker)) lockmgr_wait(co, client, UINT64_MAX);
    client->words[SENT]++;
    int code = tell_home(co, hold, NCOSED_LEFT, 0);
    client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
    return code;
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    return hold->mode == LOCKMGR_SHARED ? release_shared(co, hold) : release_exclusive(co, hold);
}

/* ---- ghosts, by the tender ---- */

/* True: its place is over. */
static bool haunt_writer(struct coro *co, struct ghost *ghost)
{
    struct lockmgr_hold *hold = &ghost->hold;
    if (!ghost->left && leave_word(co, hold, &ghost->readers, &ghost->followed)) return true;
    ghost->left = true;
    if (!knows_next(hold, ghost->readers, ghost->followed)) return false;
    pass_on(hold->client->worker, hold, ghost->followed);
    return true;
}

static bool haunt_reader(struct coro *co, struct ghost *ghost)
{
    struct lockmgr_client *owner = &ghost->hold.client->worker->clients[place_of(&ghost->hold)->client];
    if (!has_window(owner)) return false; /* an answer of a home wakes the tender */
    owner->words[SENT]++;
    (void)tell_home(co, &ghost->hold, NCOSED_LEFT, 0);
    return true;
}

static bool haunt(struct coro *co, struct ghost *ghost)
{
    bool waits = !place_of(&ghost->hold)->granted;
    if (PLANT(ncosed_ghost_hurries)) waits = false;
    if (PLANT(ncosed_ghost_forgotten)) waits = true;
    if (waits) return false;
    return ghost->hold.mode == LOCKMGR_SHARED ? haunt_reader(co, ghost) : haunt_writer(co, ghost);
}

static void forget(struct lockmgr_worker *worker, struct ghost *ghost)
{
    struct ghost **at = &((struct own *)worker->own)->ghosts;
    while (*at != ghost) at = &(*at)->next; /* others may have come meanwhile */
    *at = ghost->next;
    lockmgr_signal(worker, &worker->clients[place_of(&ghost->hold)->client]);
    free(ghost);
}

static uint64_t tend(struct coro *co, struct lockmgr_worker *worker)
{
    for (struct ghost *ghost = ((struct own *)worker->own)->ghosts, *next; ghost; ghost = next) {
        bool over = haunt(co, ghost);
        next = ghost->next;
        if (over) forget(worker, ghost);
    }
    return UINT64_MAX;
}

static bool quiet(const struct lockmgr_worker *worker) { return ((const struct own *)worker->own)->ghosts == NULL; }

/* ---- a worker ---- */

static void free_ghosts(struct own *own)
{
    for (struct ghost *next; own->ghosts; own->ghosts = next) {
        next = own->ghosts->next;
        free(own->ghosts);
    }
}

static void worker_close(struct lockmgr_worker *worker)
{
    struct own *own = worker->own;
    if (!own) return;
    free_ghosts(own);
    free(own->pool);
    free(own->seen);
    free(own);
    worker->own = NULL;
}

static int worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    const struct lockmgr_config *config = &worker->lockmgr->config;
    uint64_t places = ncosed_clients(config) * ncosed_locks_per_client(config);
    uint64_t homes = (uint64_t)worker->client_count * config->server_workers;
    struct own *own = worker->own = calloc(1, sizeof *own);
    if (own) {
        own->pool = calloc(places, sizeof *own->pool);
        own->seen = calloc(homes, sizeof *own->seen);
    }
    if (!own || !own->pool || !own->seen) {
        worker_close(worker);
        return err_set(error, CELLAR_NOMEM, "no memory for readers that wait in %llu places",
                       (unsigned long long)places);
    }
    for (uint64_t i = places; i-- > 0;) {
        own->pool[i].next = own->free;
        own->free = &own->pool[i];
    }
    return 0;
}

const struct lockmgr_algorithm lockmgr_algorithm_ncosed = {.name = "ncosed",
                                                           .about =
                                                               "the word names the last writer, a home counts readers",
                                                           .promises = LOCKMGR_SHARES | LOCKMGR_TIMEOUTS,
                                                           .times_itself = true,
                                                           .lock_bytes = lock_bytes,
                                                           .check = check,
                                                           .acquire = acquire,
                                                           .release = release,
                                                           .audit = audit,
                                                           .worker_open = worker_open,
                                                           .worker_close = worker_close,
                                                           .deliver = deliver,
                                                           .tend = tend,
                                                           .quiet = quiet,
                                                           .server_open = ncosed_home_open,
                                                           .server_close = ncosed_home_close,
                                                           .server_deliver = ncosed_home_deliver,
                                                           .server_tend = ncosed_home_tend};
