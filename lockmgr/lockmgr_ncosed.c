/*
 * lockmgr_ncosed.c - N-CoSED (Narravula et al., CCGrid '07), with a home node: the word names the last writer and counts readers. Writers
 * queue behind the last one, readers that come while it is there wait for it, and the home, the lock's server, counts readers that have left.
 *
 *     word 0   readers that have joined since the word was last without any 32 | the last writer's client id 32
 *
 * What is published leaves two ways to grant a writer beside readers, both closed here: a writer that replaces s readers in the word waits
 * until the home has seen s of them leave; and a reader never takes its count back by FAA, which would go off whatever has taken
 * the word meanwhile, but waits for the writer it has met.
 */
#include "lockmgr_algorithm.h"
#include "must.h"
#include "plant.h"

#include <stdlib.h>

#define WRITER_SHIFT 32

enum kind {
    FOLLOW,  /* writer to writer: I am next */
    JOIN,    /* reader to writer: I come in behind you */
    GRANT,   /* to either */
    REPLACE, /* writer to home: I have replaced so many readers */
    LEFT,    /* reader to home */
};
enum { FROM, TICKET, COUNT }; /* words of a message: the sender, its acquire, readers replaced */

/* In a hold. */
struct place {
    uint64_t ticket;
    uint64_t next, next_ticket; /* a writer's follower; 0: none known */
    uint64_t joined;            /* readers whose JOIN has come */
    bool granted;
};

/* A reader that waits for a writer of this worker. */
struct joiner {
    struct joiner *next;
    uint64_t lock, from, ticket;
    uint32_t client; /* the writer */
};

/* At home: of one lock, while readers have left that are still in the word, or a writer waits for some. */
struct home_lock {
    struct home_lock *next;
    struct fabric_addr lock;
    uint64_t left;
    uint64_t replaced, writer, ticket; /* writer 0: none waits */
    bool look;                         /* perhaps the word can be cleared */
    bool clearing;                     /* a CAS is under way: whether `left` still counts is not known */
};
#define HOME_BUCKETS 1024
struct home {
    struct home_lock *buckets[HOME_BUCKETS];
    uint64_t looks; /* how many have `look` */
};

static struct place *place_of(struct lockmgr_hold *hold) { return (struct place *)(void *)hold->words; }
static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    if (config->server_workers) return 0;
    return err_set(error, CELLAR_ERR_INVALID, "ncosed needs a lock server, the home of its locks");
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    return word == 0 ? 0
                     : err_set(error, CELLAR_ERR_CORRUPT, "%u readers are counted, writer %u is the last",
                               (uint32_t)word, (uint32_t)(word >> WRITER_SHIFT));
}

/* ---- messages ---- */

static struct lockmgr_message_wire message(struct lockmgr_hold *hold, enum kind kind)
{
    return (struct lockmgr_message_wire){.lock = hold->lock.bits,
                                         .client = LOCKMGR_NO_CLIENT,
                                         .kind = (uint16_t)kind,
                                         .words = {hold->client->id, place_of(hold)->ticket}};
}

/* Awaited: none of these may come twice. */
static int tell(struct coro *co, struct lockmgr_hold *hold, uint64_t id, enum kind kind)
{
    struct lockmgr_message_wire wire = message(hold, kind);
    uint32_t cn, worker;
    if (!lockmgr_locate(lockmgr_config_of(hold), (uint32_t)id, &cn, &worker, &wire.client)) return -CELLAR_ERR_CORRUPT;
    return lockmgr_send(co, hold->client, cn, worker, &wire);
}

static int tell_home(struct coro *co, struct lockmgr_hold *hold, enum kind kind, uint64_t count)
{
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    struct lockmgr_message_wire wire = message(hold, kind);
    wire.words[COUNT] = count;
    return lockmgr_send(co, hold->client, config->server_cn, lockmgr_server_of(config, hold->lock), &wire);
}

static void grant(struct lockmgr_worker *worker, struct fabric_addr lock, uint64_t id, uint64_t ticket)
{
    struct lockmgr_message_wire wire = {.lock = lock.bits, .kind = GRANT, .words = {0, ticket}};
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
    struct joiner *joiner = malloc(sizeof *joiner);
    must(joiner);
    *joiner = (struct joiner){.next = worker->own,
                              .lock = wire->lock,
                              .from = wire->words[FROM],
                              .ticket = wire->words[TICKET],
                              .client = wire->client};
    worker->own = joiner;
    place_of(hold)->joined++;
}

static void deliver(struct lockmgr_worker *worker, const struct fabric_message *from,
                    const struct lockmgr_message_wire *wire)
{
    struct lockmgr_hold *hold = lockmgr_find(worker, wire->client, wire->lock);
    if (!hold) return;
    struct place *place = place_of(hold);
    if (wire->kind == GRANT && wire->words[TICKET] != place->ticket) return;
    if (wire->kind == GRANT) place->granted = true;
    if (wire->kind == JOIN) note_joiner(worker, hold, wire);
    if (wire->kind == FOLLOW) place->next = wire->words[FROM], place->next_ticket = wire->words[TICKET];
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
    code = tell(co, hold, old >> WRITER_SHIFT, JOIN);
    if (code == 0) await_grant(co, hold, LOCKMGR_WAIT_WRITERS);
    return code;
}

/* The word was `old`, and is this writer's now. */
static int follow(struct coro *co, struct lockmgr_hold *hold, uint64_t old)
{
    uint64_t readers = (uint32_t)old;
    if (old == 0) return 0;
    if (readers && PLANT(ncosed_replaces_readers)) return 0;
    int code = readers ? tell_home(co, hold, REPLACE, readers) : tell(co, hold, old >> WRITER_SHIFT, FOLLOW);
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
        bool both = old >> WRITER_SHIFT && (uint32_t)old; /* readers wait for that writer: nobody may come between */
        expected = both && !PLANT(ncosed_comes_between) ? 0 : old;
    }
    client->stats.immediate += expected == 0;
    return follow(co, hold, old);
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    *place_of(hold) = (struct place){.ticket = ++hold->client->words[0]};
    return hold->mode == LOCKMGR_SHARED ? acquire_shared(co, hold) : acquire_exclusive(co, hold);
}

/* ---- release ---- */

/* All readers that have joined behind this writer: their JOINs come, if they are not there yet. */
static void let_readers_in(struct coro *co, struct lockmgr_hold *hold, uint64_t readers)
{
    struct lockmgr_worker *worker = hold->client->worker;
    while (place_of(hold)->joined < readers) lockmgr_wait(co, hold->client, UINT64_MAX);
    struct joiner **at = (struct joiner **)(void *)&worker->own, *joiner;
    while ((joiner = *at)) {
        if (joiner->client != hold->client->number || joiner->lock != hold->lock.bits) {
            at = &joiner->next;
            continue;
        }
        grant(worker, hold->lock, joiner->from, joiner->ticket);
        *at = joiner->next;
        free(joiner);
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
    grant(client->worker, hold->lock, place->next, place->next_ticket);
    client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
    return 0;
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    return hold->mode == LOCKMGR_SHARED ? tell_home(co, hold, LEFT, 0) : release_exclusive(co, hold);
}

static void worker_close(struct lockmgr_worker *worker)
{
    for (struct joiner *joiner = worker->own, *next; joiner; joiner = next) {
        next = joiner->next;
        free(joiner);
    }
}

/* ---- home ---- */

static int home_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    worker->own = calloc(1, sizeof(struct home));
    return worker->own ? 0 : err_set(error, CELLAR_ERR_NOMEM, "no memory for a home of locks");
}

static void home_close(struct lockmgr_worker *worker)
{
    struct home *home = worker->own;
    for (uint32_t i = 0; i < HOME_BUCKETS; i++)
        for (struct home_lock *lock = home->buckets[i], *next; lock; lock = next) {
            next = lock->next;
            free(lock);
        }
    free(home);
}

static struct home_lock **home_at(struct home *home, uint64_t lock)
{
    struct home_lock **at = &home->buckets[lock * 0x9e3779b97f4a7c15ull >> 54];
    while (*at && (*at)->lock.bits != lock) at = &(*at)->next;
    return at;
}

/* All readers that it has replaced have left. */
static void grant_writer(struct lockmgr_worker *worker, struct home_lock *lock)
{
    if (!lock->writer || (lock->left < lock->replaced && !PLANT(ncosed_home_hurries))) return;
    lock->left -= lock->left < lock->replaced ? lock->left : lock->replaced;
    grant(worker, lock->lock, lock->writer, lock->ticket);
    lock->writer = 0;
}

static void home_deliver(struct lockmgr_worker *worker, const struct fabric_message *from,
                         const struct lockmgr_message_wire *wire)
{
    struct home *home = worker->own;
    struct home_lock **at = home_at(home, wire->lock);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        must(*at);
        (*at)->lock.bits = wire->lock;
    }
    struct home_lock *lock = *at;
    if (wire->kind == LEFT) lock->left++;
    if (wire->kind == REPLACE) {
        lock->replaced = wire->words[COUNT];
        lock->writer = wire->words[FROM];
        lock->ticket = wire->words[TICKET];
    }
    if (!lock->clearing || PLANT(ncosed_left_twice)) grant_writer(worker, lock);
    home->looks += !lock->look;
    lock->look = true;
}

/* All readers in the word have left, if it has as many; then it is free. */
static void clear_word(struct coro *co, struct lockmgr_worker *worker, struct home_lock *lock)
{
    struct lockmgr_client *tender = &worker->tender;
    uint64_t left = lock->left;
    struct fabric_op op = fabric_op_cas(lock->lock, &tender->old[0], left, 0);
    if (left == 0 || lock->writer) return;
    lock->clearing = true;
    if (lockmgr_do(co, tender, &op, 1) == 0 && tender->old[0] == left) lock->left -= left;
    lock->clearing = false;
    grant_writer(worker, lock);
}

static uint64_t home_tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct home *home = worker->own;
    for (uint32_t i = 0; i < HOME_BUCKETS && home->looks; i++) {
        for (struct home_lock *lock = home->buckets[i], *next; lock; lock = next) {
            if (lock->look) {
                lock->look = false;
                home->looks--;
                clear_word(co, worker, lock);
            }
            next = lock->next;
            if (lock->left || lock->writer || lock->look) continue;
            *home_at(home, lock->lock.bits) = next;
            free(lock);
        }
    }
    return UINT64_MAX;
}

const struct lockmgr_algorithm lockmgr_algorithm_ncosed = {.name = "ncosed",
                                                           .about =
                                                               "the word names the last writer, a home counts readers",
                                                           .promises = LOCKMGR_SHARES,
                                                           .lock_bytes = lock_bytes,
                                                           .check = check,
                                                           .acquire = acquire,
                                                           .release = release,
                                                           .audit = audit,
                                                           .worker_close = worker_close,
                                                           .deliver = deliver,
                                                           .server_open = home_open,
                                                           .server_close = home_close,
                                                           .server_deliver = home_deliver,
                                                           .server_tend = home_tend};
