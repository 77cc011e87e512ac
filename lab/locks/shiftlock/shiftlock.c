/*
 * shiftlock.c - ShiftLock: writers queue up and hand the lock over by messages, readers are counted; after some
 * writers in a row, and after the last one, the epoch flips and lets all waiting readers in (ShiftLock, FAST '25,
 * sections 3.3 to 3.5). lab/docs/locks.md has the drawing, and where this differs from the paper: `released` counts
 * readers only, and `beat` the writers, so that a handover and its atomic travel side by side; the era stands beside
 * them and says which reset a word has seen.
 */
#include "shiftlock.h"

#include "must.h"
#include "shiftlock_plants.h"

#include <stdlib.h>
#include <string.h>

#define POLL_NS 1862 /* between two READs of the entry (its authors' code: 4096 cycles of 2.2 GHz) */
#define WRITERS_IN_A_ROW 16

enum { SHIFTLOCK_SIDE_BY_SIDE, SHIFTLOCK_BEAT_FIRST }; /* policies: how the hand-over and its atomic go */

_Static_assert(sizeof(struct shiftlock_place) <= sizeof(uint64_t[LOCKMGR_HOLD_WORDS]), "fits a hold");

static uint64_t tail_of(const struct lockmgr_client *client, uint16_t ticket)
{
    return client->id | (uint64_t)ticket << SHIFTLOCK_CLIENT_BITS;
}

struct shiftlock_place *shiftlock_place_of(struct lockmgr_worker *worker, uint32_t client, uint64_t lock,
                                           uint16_t ticket)
{
    struct lockmgr_hold *hold = lockmgr_find(worker, client, lock);
    bool writer = hold && hold->mode == LOCKMGR_EXCLUSIVE && shiftlock_place(hold)->ticket == ticket;
    return writer ? shiftlock_place(hold) : NULL;
}

static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(struct shiftlock_entry); }

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    uint64_t clients = (uint64_t)config->cn_count * config->workers_per_cn * config->clients_per_worker;
    if (clients < 1ull << (SHIFTLOCK_READER_BITS - 1)) return 0;
    return err_set(error, CELLAR_INVALID, "shiftlock counts readers in %u bits: too few for %llu clients",
                   SHIFTLOCK_READER_BITS, (unsigned long long)clients);
}

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    struct shiftlock_entry entry;
    memcpy(&entry, bytes, sizeof entry);
    if (shiftlock_tail(entry) == 0 && shiftlock_readers(entry) == 0) return 0;
    return err_set(error, CELLAR_CORRUPT, "a writer %llx is the last in its queue, %llu readers are counted",
                   (unsigned long long)shiftlock_tail(entry), (unsigned long long)shiftlock_readers(entry));
}

/* ---- operations ---- */

int shiftlock_wide(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, enum fabric_op_kind kind,
                   const struct fabric_wide *wide, struct shiftlock_entry *old)
{
    client->wide = *wide;
    struct fabric_op op = fabric_op_wide(kind, lock, &client->wide);
    int code = lockmgr_do(co, client, &op, 1);
    memcpy(old->word, client->wide.old, sizeof old->word);
    return code;
}

int shiftlock_read(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                   struct shiftlock_entry *entry)
{
    struct fabric_op op = fabric_op_read(lock, client->buffer, sizeof *entry);
    int code = lockmgr_do(co, client, &op, 1);
    memcpy(entry, client->buffer, sizeof *entry);
    return code;
}

int shiftlock_leave(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, uint64_t tail,
                    const struct shiftlock_place *place, struct shiftlock_entry *old)
{
    struct fabric_wide wide = {.compare = {tail << SHIFTLOCK_TAIL_SHIFT, (uint64_t)place->era << SHIFTLOCK_ERA_SHIFT},
                               .compare_mask = {SHIFTLOCK_TAIL, SHIFTLOCK_ERA},
                               .swap = {PLANT(shiftlock_leave_no_flip) ? place->epoch : !place->epoch, 0},
                               .swap_mask = {SHIFTLOCK_TAIL | SHIFTLOCK_EPOCH, 0}};
    return shiftlock_wide(co, client, lock, FABRIC_WIDE_CAS, &wide, old);
}

/* An FAA's operands: so many more readers, released readers, epochs, beats. */
static struct fabric_wide addends(uint64_t readers, uint64_t released, uint64_t epoch, uint64_t beat)
{
    struct fabric_wide wide = {.swap_mask = SHIFTLOCK_TOPS};
    wide.swap[0] = (readers << SHIFTLOCK_READER_SHIFT & SHIFTLOCK_READERS) | epoch;
    wide.swap[1] = released | beat * SHIFTLOCK_BEAT;
    return wide;
}

/* ---- messages ---- */

static struct lockmgr_message_wire message_to(const struct lockmgr_config *config, struct fabric_addr lock,
                                              uint64_t tail, uint16_t era, uint32_t *cn, uint32_t *worker, bool *there)
{
    struct lockmgr_message_wire wire = {.lock = lock.bits};
    uint32_t id = (uint32_t)(tail & ((1u << SHIFTLOCK_CLIENT_BITS) - 1));
    *there = lockmgr_locate(config, id, cn, worker, &wire.client);
    wire.words[SHIFTLOCK_TO] = tail >> SHIFTLOCK_CLIENT_BITS | (uint64_t)era << 16;
    return wire;
}

bool shiftlock_pass(const struct lockmgr_config *config, struct fabric_addr lock, const struct shiftlock_place *place,
                    uint32_t *cn, uint32_t *worker, struct lockmgr_message_wire *wire)
{
    bool there;
    *wire = message_to(config, lock, place->successor, place->era, cn, worker, &there);
    wire->kind = place->grant;
    wire->words[SHIFTLOCK_IN_A_ROW] = place->in_a_row;
    wire->words[SHIFTLOCK_EXPECTED] = place->expected;
    wire->words[SHIFTLOCK_THEN_EPOCH] = place->epoch;
    return there;
}

/* Tells the one before that we follow. Should that be lost for good, nothing moves: see shiftlock_watch. */
static int notify_predecessor(struct lockmgr_hold *hold, uint64_t tail)
{
    struct lockmgr_client *client = hold->client;
    const struct shiftlock_place *place = shiftlock_place(hold);
    uint32_t cn, worker;
    bool there;
    struct lockmgr_message_wire wire =
        message_to(lockmgr_config_of(hold), hold->lock, tail, place->era, &cn, &worker, &there);
    if (!there) return CELLAR_CORRUPT;
    wire.kind = SHIFTLOCK_SUCCESSOR;
    wire.words[SHIFTLOCK_FROM] = tail_of(client, place->ticket);
    lockmgr_queue(client->worker, cn, worker, &wire);
    return 0;
}

/* ---- waiting ---- */

enum outcome { HELD, AGAIN, WAIT };

/*
 * Until the lock is not frozen any more: by a message, or because the entry shows it. False: the deadline came first.
 */
static bool await_thaw(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, int *code)
{
    struct lockmgr_client *client = hold->client;
    uint64_t period_ns = shiftlock_lease_ns(lockmgr_config_of(hold)) / 4;
    struct shiftlock_entry entry;
    *code = 0;
    while (*code == 0 && shiftlock_frozen_of(client->worker, hold->lock)) {
        uint64_t now_ns = lockmgr_now_ns(client);
        if (now_ns >= deadline_ns) return false;
        uint64_t until_ns = deadline_ns - now_ns < period_ns ? deadline_ns : now_ns + period_ns;
        if (lockmgr_wait(co, client, until_ns)) continue;
        *code = shiftlock_read(co, client, hold->lock, &entry);
        if (*code == 0) shiftlock_seen_era(client->worker, hold->lock, shiftlock_era(entry));
    }
    return true;
}

/* Was the lock reset, or is it about to be, since `hold` came in that era? */
static bool is_void(struct lockmgr_hold *hold, uint16_t era)
{
    const struct shiftlock_place *place = shiftlock_place(hold);
    if (PLANT(shiftlock_takes_frozen)) return false;
    if (place->floored && !shiftlock_era_after(era, place->floor) && !PLANT(shiftlock_takes_thawed)) return true;
    return shiftlock_is_frozen(hold->client->worker, hold->lock, era);
}

/* What the entry's era says of one that came in `era`. */
static bool is_over(struct lockmgr_hold *hold, struct shiftlock_entry entry, uint16_t era)
{
    shiftlock_seen_era(hold->client->worker, hold->lock, shiftlock_era(entry));
    return shiftlock_era(entry) != era || is_void(hold, era);
}

static void pause(struct coro *co, struct lockmgr_client *client, uint64_t ns, uint64_t deadline_ns)
{
    uint64_t now_ns = lockmgr_now_ns(client);
    lockmgr_wait(co, client, deadline_ns > now_ns && deadline_ns - now_ns < ns ? deadline_ns : now_ns + ns);
}

/* ---- readers ---- */

/* Takes a waiting reader's count back. A flip meanwhile has let it in: then it holds. `entry` is what was seen last. */
static int reader_gives_up(struct coro *co, struct lockmgr_hold *hold, struct shiftlock_entry first,
                           struct shiftlock_entry entry)
{
    for (;;) {
        if (is_over(hold, entry, shiftlock_era(first))) return CELLAR_DEADLINE;
        if ((entry.word[0] ^ first.word[0]) & SHIFTLOCK_EPOCH) return 0;
        struct fabric_wide wide = {
            .compare = {entry.word[0], entry.word[1]},
            .compare_mask = {SHIFTLOCK_EPOCH | SHIFTLOCK_READERS, SHIFTLOCK_ERA},
            .swap = {entry.word[0] - (1ull << SHIFTLOCK_READER_SHIFT), 0},
            .swap_mask = {SHIFTLOCK_READERS, 0},
        };
        struct shiftlock_entry old;
        int code = shiftlock_wide(co, hold->client, hold->lock, FABRIC_WIDE_CAS, &wide, &old);
        if (code) return code;
        if (((old.word[0] ^ entry.word[0]) & (SHIFTLOCK_EPOCH | SHIFTLOCK_READERS)) == 0 &&
            shiftlock_era(old) == shiftlock_era(entry))
            return CELLAR_DEADLINE;
        entry = old;
    }
}

/* A writer is there: waits until the epoch differs from that of the first look. */
static int await_flip(struct coro *co, struct lockmgr_hold *hold, struct shiftlock_entry first, uint64_t deadline_ns,
                      enum outcome *outcome)
{
    struct lockmgr_client *client = hold->client;
    struct shiftlock_entry entry = first;
    struct shiftlock_watch watch = {0};
    for (;;) {
        *outcome = HELD;
        if (lockmgr_now_ns(client) >= deadline_ns) return reader_gives_up(co, hold, first, entry);
        pause(co, client, POLL_NS, deadline_ns);
        int code = shiftlock_read(co, client, hold->lock, &entry);
        if (code) return code;
        client->stats.retries++;
        if (is_over(hold, entry, shiftlock_era(first))) {
            *outcome = AGAIN;
            return 0;
        }
        if ((entry.word[0] ^ first.word[0]) & SHIFTLOCK_EPOCH) return 0;
        shiftlock_watch(client, hold->lock, &watch, entry);
    }
}

static int try_shared(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, enum outcome *outcome)
{
    struct lockmgr_client *client = hold->client;
    struct fabric_wide wide = addends(1, 0, 0, 0);
    struct shiftlock_entry old;
    uint64_t begin_ns = lockmgr_now_ns(client), now_ns;
    int code = shiftlock_wide(co, client, hold->lock, FABRIC_WIDE_FAA, &wide, &old);
    if (code) return code;
    now_ns = lockmgr_now_ns(client);
    client->stats.times_ns[LOCKMGR_FIRST_SHARED] += now_ns - begin_ns;
    shiftlock_place(hold)->era = shiftlock_era(old);
    *outcome = AGAIN;
    if (is_over(hold, old, shiftlock_era(old))) return 0;
    *outcome = HELD;
    client->stats.immediate += shiftlock_tail(old) == 0;
    if (shiftlock_tail(old) == 0) return 0;
    code = await_flip(co, hold, old, deadline_ns, outcome);
    client->stats.times_ns[LOCKMGR_WAIT_WRITERS] += lockmgr_now_ns(client) - now_ns;
    return code;
}

static int release_shared(struct coro *co, struct lockmgr_hold *hold)
{
    struct fabric_wide wide = addends(UINT64_MAX, 1, 0, 0);
    struct shiftlock_entry old;
    int code = shiftlock_wide(co, hold->client, hold->lock, FABRIC_WIDE_FAA, &wide, &old);
    if (code) return code;
    return shiftlock_era(old) == shiftlock_place(hold)->era ? 0 : CELLAR_FENCED;
}

/* ---- writers ---- */

/* With every earlier reader gone it holds. Looks at once after a message, else after a while. */
static int await_drain(struct coro *co, struct lockmgr_hold *hold, struct shiftlock_watch *watch, bool at_once,
                       uint64_t deadline_ns, enum outcome *outcome)
{
    struct lockmgr_client *client = hold->client;
    const struct shiftlock_place *place = shiftlock_place(hold);
    struct shiftlock_entry entry;
    *outcome = WAIT;
    for (;;) {
        if (!at_once) pause(co, client, POLL_NS, deadline_ns);
        at_once = false;
        int code = shiftlock_read(co, client, hold->lock, &entry);
        if (code) return code;
        client->stats.retries++;
        *outcome = AGAIN;
        if (is_over(hold, entry, place->era)) return 0;
        *outcome = HELD;
        if (shiftlock_released(entry) == place->expected) return 0;
        *outcome = WAIT;
        if (lockmgr_now_ns(client) >= deadline_ns) return 0;
        shiftlock_watch(client, hold->lock, watch, entry);
    }
}

/* For a message, or until it is time to look whether anything moves. */
static int await_grant(struct coro *co, struct lockmgr_hold *hold, struct shiftlock_watch *watch, uint64_t deadline_ns,
                       enum outcome *outcome)
{
    struct lockmgr_client *client = hold->client;
    const struct shiftlock_place *place = shiftlock_place(hold);
    struct shiftlock_entry entry;
    for (;;) {
        *outcome = AGAIN;
        if (is_void(hold, place->era)) return 0;
        *outcome = WAIT;
        if (place->grant || lockmgr_now_ns(client) >= deadline_ns) return 0;
        uint64_t now_ns = lockmgr_now_ns(client), look_ns = now_ns + shiftlock_lease_ns(lockmgr_config_of(hold)) / 2;
        if (lockmgr_wait(co, client, look_ns < deadline_ns ? look_ns : deadline_ns)) continue;
        if (place->grant || lockmgr_now_ns(client) >= deadline_ns) continue;
        int code = shiftlock_read(co, client, hold->lock, &entry);
        if (code) return code;
        client->stats.retries++;
        *outcome = AGAIN;
        if (is_over(hold, entry, place->era)) return 0;
        shiftlock_watch(client, hold->lock, watch, entry);
    }
}

/* In the queue: until the lock is held, or the era is over, or the deadline (outcome WAIT). */
static int await_turn(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, enum outcome *outcome)
{
    struct lockmgr_client *client = hold->client;
    struct lockmgr_stats *stats = &client->stats;
    const struct shiftlock_place *place = shiftlock_place(hold);
    struct shiftlock_watch watch = {0};
    uint64_t begin_ns = lockmgr_now_ns(client), now_ns;
    bool by_message = !place->grant;
    int code = by_message ? await_grant(co, hold, &watch, deadline_ns, outcome) : 0;
    now_ns = lockmgr_now_ns(client);
    stats->times_ns[LOCKMGR_WAIT_PREDECESSOR] += now_ns - begin_ns;
    if (code || (by_message && (*outcome == AGAIN || !place->grant))) return code;
    *outcome = HELD;
    if (place->grant == SHIFTLOCK_HANDOVER) return 0;
    code = await_drain(co, hold, &watch, by_message, deadline_ns, outcome);
    stats->times_ns[LOCKMGR_WAIT_READERS] += lockmgr_now_ns(client) - now_ns;
    return code;
}

/* The swap: from here on the place is in the queue. */
static int enqueue(struct coro *co, struct lockmgr_hold *hold, struct shiftlock_entry *old)
{
    struct lockmgr_client *client = hold->client;
    struct shiftlock_place *place = shiftlock_place(hold);
    *place = (struct shiftlock_place){.ticket = (uint16_t)++client->words[0]};
    struct fabric_wide wide = {.swap = {tail_of(client, place->ticket) << SHIFTLOCK_TAIL_SHIFT, 0},
                               .swap_mask = {SHIFTLOCK_TAIL, 0}};
    uint64_t begin_ns = lockmgr_now_ns(client);
    int code = shiftlock_wide(co, client, hold->lock, FABRIC_WIDE_CAS, &wide, old);
    client->stats.times_ns[LOCKMGR_FIRST_EXCLUSIVE] += lockmgr_now_ns(client) - begin_ns;
    if (code) return code;
    place->era = shiftlock_era(*old);
    place->era_known = true;
    if (shiftlock_tail(*old)) return 0;
    place->epoch = old->word[0] & SHIFTLOCK_EPOCH;
    place->expected = (shiftlock_released(*old) + shiftlock_readers(*old)) & SHIFTLOCK_RELEASED;
    place->grant = shiftlock_readers(*old) ? SHIFTLOCK_DRAIN : SHIFTLOCK_HANDOVER;
    if (PLANT(shiftlock_ignores_readers)) place->grant = SHIFTLOCK_HANDOVER;
    return 0;
}

static int writer_gives_up(struct lockmgr_hold *hold, int code)
{
    const struct shiftlock_place *place = shiftlock_place(hold);
    bool made = shiftlock_ghost_new(hold->client, hold->lock, tail_of(hold->client, place->ticket), place) != NULL;
    return made ? code : CELLAR_INDETERMINATE;
}

static int try_exclusive(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, enum outcome *outcome)
{
    struct lockmgr_client *client = hold->client;
    struct shiftlock_entry old;
    int code = enqueue(co, hold, &old);
    if (code) return code;
    *outcome = AGAIN;
    if (is_over(hold, old, shiftlock_era(old))) return 0;
    *outcome = HELD;
    if (shiftlock_place(hold)->grant == SHIFTLOCK_HANDOVER) {
        client->stats.immediate++;
        return 0;
    }
    uint64_t begin_ns = lockmgr_now_ns(client);
    if (shiftlock_tail(old)) code = notify_predecessor(hold, shiftlock_tail(old));
    client->stats.times_ns[LOCKMGR_NOTIFY] += lockmgr_now_ns(client) - begin_ns;
    if (code == 0) code = await_turn(co, hold, deadline_ns, outcome);
    if (code) return writer_gives_up(hold, code);
    return *outcome == WAIT ? writer_gives_up(hold, CELLAR_DEADLINE) : 0;
}

/* ---- acquire ---- */

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    enum outcome outcome = AGAIN;
    int code;
    for (;;) {
        if (!await_thaw(co, hold, deadline_ns, &code)) return CELLAR_DEADLINE;
        if (code) return code;
        code = hold->mode == LOCKMGR_SHARED ? try_shared(co, hold, deadline_ns, &outcome)
                                            : try_exclusive(co, hold, deadline_ns, &outcome);
        if (code || outcome == HELD) return code;
        hold->client->stats.retries++;
        memset(hold->words, 0, sizeof hold->words);
        if (lockmgr_now_ns(hold->client) >= deadline_ns) return CELLAR_DEADLINE;
    }
}

/* ---- a writer's release ---- */

/*
 * The successor has swapped the tail already; its message is on its way. False: not within a lease, or it does not
 * matter any more.
 */
static bool await_successor(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    const struct shiftlock_place *place = shiftlock_place(hold);
    uint64_t until_ns = lockmgr_now_ns(client) + shiftlock_lease_ns(lockmgr_config_of(hold));
    while (!place->successor) {
        if (shiftlock_is_frozen(client->worker, hold->lock, place->era)) return false;
        if (lockmgr_now_ns(client) >= until_ns) return false;
        lockmgr_wait(co, client, until_ns);
    }
    return true;
}

/* What the next one is told, after as many writers in a row as may be: waiting readers go first. */
static int let_readers_in(struct coro *co, struct lockmgr_hold *hold)
{
    struct shiftlock_place *place = shiftlock_place(hold);
    struct fabric_wide wide = addends(0, 0, 1, 1);
    struct shiftlock_entry old;
    int code = shiftlock_wide(co, hold->client, hold->lock, FABRIC_WIDE_FAA, &wide, &old);
    if (code) return code;
    uint64_t readers =
        PLANT(shiftlock_drain_too_few) && shiftlock_readers(old) ? shiftlock_readers(old) - 1 : shiftlock_readers(old);
    place->epoch = !place->epoch;
    place->in_a_row = 0;
    place->expected = (shiftlock_released(old) + readers) & SHIFTLOCK_RELEASED;
    place->grant = readers ? SHIFTLOCK_DRAIN : SHIFTLOCK_HANDOVER;
    return 0;
}

static int hand_over(struct lockmgr_hold *hold)
{
    struct lockmgr_worker *worker = hold->client->worker;
    struct lockmgr_message_wire wire;
    uint32_t cn, to;
    if (!shiftlock_pass(&worker->lockmgr->config, hold->lock, shiftlock_place(hold), &cn, &to, &wire))
        return CELLAR_CORRUPT;
    lockmgr_queue(worker, cn, to, &wire);
    return 0;
}

/* The beat, which only shows that the lock moves. */
static int beat(struct coro *co, struct lockmgr_hold *hold)
{
    struct fabric_wide wide = addends(0, 0, 0, 1);
    struct shiftlock_entry old;
    int code = shiftlock_wide(co, hold->client, hold->lock, FABRIC_WIDE_FAA, &wide, &old);
    return code == CELLAR_FENCED ? code : 0;
}

/* The handover and the beat go side by side, unless the policy is the paper's order: the beat first. */
static int release_to_successor(struct coro *co, struct lockmgr_hold *hold)
{
    struct shiftlock_place *place = shiftlock_place(hold);
    uint32_t in_a_row = lockmgr_config_of(hold)->writers_in_a_row;
    bool beat_first = hold->client->worker->lockmgr->policy == SHIFTLOCK_BEAT_FIRST;
    int code = 0;
    if (!in_a_row) in_a_row = WRITERS_IN_A_ROW;
    place->grant = SHIFTLOCK_HANDOVER;
    bool enough = ++place->in_a_row >= in_a_row && !PLANT(shiftlock_no_limit);
    if (enough)
        code = let_readers_in(co, hold);
    else if (beat_first)
        code = beat(co, hold);
    if (code == 0) code = hand_over(hold);
    return code || enough || beat_first ? code : beat(co, hold);
}

static int release_exclusive(struct coro *co, struct lockmgr_hold *hold)
{
    struct lockmgr_client *client = hold->client;
    struct shiftlock_place *place = shiftlock_place(hold);
    uint64_t tail = tail_of(client, place->ticket), begin_ns = lockmgr_now_ns(client);
    struct shiftlock_entry old;
    if (!place->successor) {
        int code = shiftlock_leave(co, client, hold->lock, tail, place, &old);
        client->stats.times_ns[LOCKMGR_FIRST_RELEASE] += lockmgr_now_ns(client) - begin_ns;
        begin_ns = lockmgr_now_ns(client);
        if (code) return code;
        if (shiftlock_era(old) != place->era) return CELLAR_FENCED;
        if (shiftlock_tail(old) == tail) return 0;
        client->stats.retries++;
        place->grant = SHIFTLOCK_HANDOVER;
        if (!await_successor(co, hold)) {
            bool frozen = shiftlock_is_frozen(client->worker, hold->lock, place->era);
            return frozen ? 0 : writer_gives_up(hold, 0);
        }
    }
    int code = release_to_successor(co, hold);
    client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(client) - begin_ns;
    return code;
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    if (hold->mode == LOCKMGR_EXCLUSIVE) return release_exclusive(co, hold);
    uint64_t begin_ns = lockmgr_now_ns(hold->client);
    int code = release_shared(co, hold);
    hold->client->stats.times_ns[LOCKMGR_FIRST_RELEASE] += lockmgr_now_ns(hold->client) - begin_ns;
    return code;
}

/* ---- a worker ---- */

static int worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    worker->own = calloc(1, sizeof(struct shiftlock_worker));
    return worker->own ? 0 : err_set(error, CELLAR_NOMEM, "no memory for a worker of shiftlock");
}

static void worker_forget(struct lockmgr_worker *worker)
{
    struct shiftlock_worker *own = worker->own;
    while (own->ghosts) {
        struct shiftlock_ghost *ghost = own->ghosts;
        own->ghosts = ghost->next;
        free(ghost);
    }
    own->frozen_count = 0;
}

static void worker_close(struct lockmgr_worker *worker)
{
    struct shiftlock_worker *own = worker->own;
    worker_forget(worker);
    free(own->frozen);
    free(own);
}

static bool quiet(const struct lockmgr_worker *worker)
{
    const struct shiftlock_worker *own = worker->own;
    return !own->ghosts;
}

static const char *const policies[] = {"side-by-side", "beat-first", NULL};

const struct lockmgr_algorithm lockmgr_algorithm_shiftlock = {
    .name = "shiftlock",
    .about = "writers hand over by messages, readers are counted (ShiftLock)",
    .wide = true,
    .times_itself = true,
    .policies = policies,
    .promises = LOCKMGR_SHARES | LOCKMGR_PHASE_FAIR | LOCKMGR_BOUNDED | LOCKMGR_TIMEOUTS,
    .server_promises = LOCKMGR_RECOVERS | LOCKMGR_ABANDONS,
    .lock_bytes = lock_bytes,
    .check = check,
    .acquire = acquire,
    .release = release,
    .audit = audit,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .deliver = shiftlock_deliver,
    .tend = shiftlock_tend,
    .quiet = quiet,
    .worker_forget = worker_forget,
    .server_open = shiftlock_server_open,
    .server_close = shiftlock_server_close,
    .server_deliver = shiftlock_server_deliver,
    .server_tend = shiftlock_server_tend,
};
