/*
 * lockmgr_dslr.c - DSLR: tickets, first come first served (Yoon, Chowdhury, Mozafari, SIGMOD 2018), and DSLR+, DecLock's variant of it.
 *
 *     word 0   [63:48] nX  exclusive tickets done     [47:32] nS  shared tickets done
 *              [31:16] mX  exclusive tickets taken    [15:0]  mS  shared tickets taken
 *
 * One FAA takes a ticket and shows (tX, tS) = (mX, mS) before it. An exclusive turn comes when nX = tX and nS = tS, a shared one when
 * nX = tX. Who waits READs the word; one FAA of nX or nS ends a turn. `dslr` waits in proportion to the tickets before it, `dslr+` backs off.
 *
 * Policies of full counters:
 *   field   the FAA is by fields: each counter wraps on its own and equality is all that is asked, so nothing ever has to be reset
 *   plain   one FAA on the word, as published: beyond `full` tickets (32,768) none counts; whoever has the last one clears the word, by CAS,
 *           when all that count are done. Tickets beyond are not taken back (an FAA of -1 behind somebody's reset would borrow from a
 *           neighbour): the CAS that clears the word clears them too
 *
 * Leases (`dslr`, field): who has seen nX and nS unchanged for two leases passes over those before it, by CAS on the whole word. A writer
 * sets nX = tX + 1, nS = tS and takes a new ticket: so readers see by nX that they were passed over, which nS could not tell them. A
 * reader sets nX = tX, and its turn is there. Who was passed over sees it: waiting, and takes a new ticket; holding, by the masked CAS
 * that its late release is, and is FENCED. An early release is an FAA: safe if an operation is executed within a lease (LOCKMGR_PROMPT).
 */
#include "lockmgr_algorithm.h"

#include "must.h"
#include "plant.h"

#include <stdlib.h>

#define TICKET_NS 5000 /* omega: how long one turn takes, about */
#define POLL_MAX_NS 5000000
#define FULL 32768u /* tickets, half of what 16 bits hold */
#define FULL_MIN 4u
#define LEASE_NS 10000000
#define STEPS 8 /* a poll counts as a step of an eighth of a lease at most: a clock that jumps ages nobody */
#define FORGOTTEN_LEASES 16
#define BACKOFF_NS 100
#define BACKOFF_MAX_NS 3200
#define BACKOFF_RANDOM_NS 2000
#define ADAPT_NS 100000
#define SHARE_HIGH_PERCENT 70
#define SHARE_LOW_PERCENT 50
#define LAST_WAIT_NS 10000 /* until the last tickets before a reset are done */

enum { SHARED_TAKEN = 0, EXCLUSIVE_TAKEN = 16, SHARED_DONE = 32, EXCLUSIVE_DONE = 48 }; /* shifts */
#define TOPS 0x8000800080008000ull
#define DONE 0xffffffff00000000ull
#define FIELD 0xffffull

enum policy { BY_FIELDS, PLAIN };
enum turn { COMES, IS_THERE, PASSED };
/* Of lockmgr_hold.words. KNOWN_NS: when the lock was last known not to be ours: the last READ that showed so, not the one that showed the turn. */
enum { T_X, T_S, KNOWN_NS, SEEN, STALLED_NS, POLLED_NS };
/* Of lockmgr_client.words, for dslr+. */
enum { BOUND_NS, LOOKED_NS, POLLS, ROUNDS };

/* A word to be cleared when all its tickets are done. */
struct last_ticket {
    struct fabric_addr lock;
    uint16_t exclusive, shared; /* that count */
};
/* Of a worker: what its clients were the last of, for tend. */
struct last_tickets {
    struct last_ticket *tickets;
    uint32_t count, capacity;
};

static uint16_t counter(uint64_t word, int shift) { return (uint16_t)(word >> shift); }
static uint64_t with(uint64_t word, int shift, uint16_t value)
{
    return (word & ~(FIELD << shift)) | (uint64_t)value << shift;
}

static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

/* Readers that were passed over never count as done; and of a full word, tickets beyond do not count. */
static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    bool idle =
        counter(word, EXCLUSIVE_DONE) == counter(word, EXCLUSIVE_TAKEN) &&
        (counter(word, SHARED_DONE) == counter(word, SHARED_TAKEN) || lockmgr_promises(config) & LOCKMGR_LEASES);
    if (idle) return 0;
    return err_set(error, CELLAR_ERR_CORRUPT, "tickets done %u exclusive, %u shared; taken %u, %u",
                   counter(word, EXCLUSIVE_DONE), counter(word, SHARED_DONE), counter(word, EXCLUSIVE_TAKEN),
                   counter(word, SHARED_TAKEN));
}

static bool is_plain(const struct lockmgr_hold *hold) { return hold->client->worker->lockmgr->policy == PLAIN; }

static uint32_t full_of(const struct lockmgr_config *config) { return config->capacity ? config->capacity : FULL; }

/* 0: nobody is passed over. */
static uint64_t lease_of(const struct lockmgr_hold *hold)
{
    const struct lockmgr *lockmgr = hold->client->worker->lockmgr;
    if (!(lockmgr_promises(&lockmgr->config) & LOCKMGR_LEASES)) return 0;
    return lockmgr->config.lease_ns ? lockmgr->config.lease_ns : LEASE_NS;
}

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    if (full_of(config) <= FULL && full_of(config) >= FULL_MIN) return 0;
    return err_set(error, CELLAR_ERR_INVALID, "room for %u tickets: must be %u to %u", config->capacity, FULL_MIN,
                   FULL);
}

/* ---- tickets ---- */

static int add(struct coro *co, struct lockmgr_hold *hold, int shift, uint64_t *old)
{
    if (is_plain(hold)) return lockmgr_faa_word(co, hold, 0, 1ull << shift, old);
    struct fabric_op op = fabric_op_field_faa(hold->lock, &hold->client->old[0], 1ull << shift, TOPS);
    int code = lockmgr_do(co, hold->client, &op, 1);
    *old = hold->client->old[0];
    return code;
}

static bool is_full(const struct lockmgr_hold *hold, uint64_t word)
{
    uint32_t full = full_of(lockmgr_config_of(hold));
    if (!is_plain(hold) || PLANT(lockmgr_dslr_full_unseen)) return false;
    return counter(word, EXCLUSIVE_TAKEN) >= full || counter(word, SHARED_TAKEN) >= full;
}

static enum turn turn_of(const struct lockmgr_hold *hold, uint64_t word)
{
    int16_t exclusive = (int16_t)(counter(word, EXCLUSIVE_DONE) - (uint16_t)hold->words[T_X]);
    int16_t shared = (int16_t)(counter(word, SHARED_DONE) - (uint16_t)hold->words[T_S]);
    if (exclusive > 0 && !PLANT(lockmgr_dslr_skip_unseen)) return PASSED;
    if (exclusive != 0) return COMES;
    if (hold->mode == LOCKMGR_SHARED || shared == 0 || PLANT(lockmgr_dslr_readers_unasked)) return IS_THERE;
    return shared > 0 ? PASSED : COMES;
}

static uint32_t tickets_before(const struct lockmgr_hold *hold, uint64_t word)
{
    uint16_t exclusive = (uint16_t)(hold->words[T_X] - counter(word, EXCLUSIVE_DONE));
    uint16_t shared = (uint16_t)(hold->words[T_S] - counter(word, SHARED_DONE));
    return hold->mode == LOCKMGR_SHARED ? exclusive : exclusive + (shared + 1u) / 2;
}

/* ---- passing over ---- */

/* The word was seen again. True: neither turn has changed for two leases, by a clock that may have jumped. */
static bool is_stalled(struct lockmgr_hold *hold, uint64_t word, uint64_t lease_ns)
{
    uint64_t now_ns = lockmgr_now_ns(hold->client), step_ns = now_ns - hold->words[POLLED_NS];
    if ((word ^ hold->words[SEEN]) & DONE)
        hold->words[STALLED_NS] = 0;
    else
        hold->words[STALLED_NS] += step_ns < lease_ns / STEPS ? step_ns : lease_ns / STEPS;
    hold->words[POLLED_NS] = now_ns;
    hold->words[SEEN] = word;
    return lease_ns && hold->words[STALLED_NS] >= 2 * lease_ns && !PLANT(lockmgr_dslr_never_passed_over);
}

/* Whoever is before this ticket has lost its turn. Nothing happens if somebody was quicker, or has come. */
static int pass_over(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t word = hold->words[SEEN], next = with(word, EXCLUSIVE_DONE, (uint16_t)hold->words[T_X]), old;
    if (hold->mode == LOCKMGR_EXCLUSIVE) {
        bool leaves = !PLANT(lockmgr_dslr_skips_in_place);
        next = with(next, EXCLUSIVE_DONE, (uint16_t)(hold->words[T_X] + leaves));
        next = with(next, SHARED_DONE, (uint16_t)hold->words[T_S]);
    }
    int code = lockmgr_cas_word(co, hold, 0, word, next, &old);
    if (code) return code;
    if ((old ^ word) & DONE) hold->words[STALLED_NS] = 0;
    hold->words[SEEN] = old == word ? next : old;
    hold->client->stats.resets += old == word;
    return 0;
}

/* ---- giving up a turn ---- */

/* Half a lease is over since the lock was last known not to be ours: others may pass over us by and by. */
static bool is_late(const struct lockmgr_hold *hold)
{
    uint64_t lease_ns = lease_of(hold);
    return lease_ns && lockmgr_now_ns(hold->client) - hold->words[KNOWN_NS] > lease_ns / 2;
}

/* By masked CASes, which say whether the turn was still there; readers that leave together try again. */
static int release_late(struct coro *co, struct lockmgr_hold *hold)
{
    bool shared = hold->mode == LOCKMGR_SHARED;
    uint16_t done = counter(hold->words[SEEN], SHARED_DONE), t_x = (uint16_t)hold->words[T_X];
    uint64_t exclusive_mask = FIELD << EXCLUSIVE_DONE, mask = exclusive_mask | (shared ? FIELD << SHARED_DONE : 0);
    for (;;) {
        uint64_t compare = with(with(0, EXCLUSIVE_DONE, t_x), SHARED_DONE, shared ? done : 0);
        uint64_t swap = with(compare, shared ? SHARED_DONE : EXCLUSIVE_DONE, (uint16_t)((shared ? done : t_x) + 1));
        struct fabric_op op = fabric_op_masked_cas(hold->lock, &hold->client->old[0], compare, mask, swap, mask);
        int code = lockmgr_do(co, hold->client, &op, 1);
        uint64_t old = hold->client->old[0];
        if (code || ((old ^ compare) & mask) == 0) return code;
        if (counter(old, EXCLUSIVE_DONE) != t_x) return -CELLAR_ERR_FENCED;
        hold->client->stats.retries++;
        done = counter(old, SHARED_DONE);
    }
}

/* ---- waiting ---- */

typedef void (*wait_fn)(struct coro *co, struct lockmgr_hold *hold, uint64_t word, uint32_t polls);

/* READs until the turn is there, or passed; in *turn. */
static int await_turn(struct coro *co, struct lockmgr_hold *hold, wait_fn wait, enum turn *turn)
{
    struct lockmgr_client *client = hold->client;
    uint64_t lease_ns = lease_of(hold), word;
    for (uint32_t polls = 0; (*turn = turn_of(hold, hold->words[SEEN])) == COMES; polls++) {
        client->stats.retries++;
        wait(co, hold, hold->words[SEEN], polls);
        uint64_t posted_ns = lockmgr_now_ns(client);
        /* Who slept through a lease cannot know any more what a counter that comes round means. */
        if (lease_ns && posted_ns - hold->words[POLLED_NS] > FORGOTTEN_LEASES * lease_ns) {
            *turn = PASSED;
            return 0;
        }
        int code = lockmgr_read_words(co, hold, 0, &word, 1);
        if (code) return code;
        bool comes = turn_of(hold, word) == COMES || PLANT(lockmgr_dslr_known_late);
        if (comes) hold->words[KNOWN_NS] = posted_ns;
        if (is_stalled(hold, word, lease_ns)) code = pass_over(co, hold);
        if (code) return code;
    }
    return 0;
}

/* Waits until full counters are cleared. A new ticket now would be one too many each time. */
static int await_reset(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t word = hold->words[SEEN];
    while (is_full(hold, word)) {
        hold->client->stats.retries++;
        lockmgr_sleep(co, hold->client, LAST_WAIT_NS + lockmgr_below(hold->client, LAST_WAIT_NS));
        int code = lockmgr_read_words(co, hold, 0, &word, 1);
        if (code) return code;
    }
    return 0;
}

static int take_turn(struct coro *co, struct lockmgr_hold *hold, wait_fn wait)
{
    for (bool first = true;; first = false) {
        uint64_t word;
        hold->words[KNOWN_NS] = lockmgr_now_ns(hold->client);
        int code = add(co, hold, hold->mode == LOCKMGR_SHARED ? SHARED_TAKEN : EXCLUSIVE_TAKEN, &word);
        if (code) return code;
        hold->words[T_X] = counter(word, EXCLUSIVE_TAKEN);
        hold->words[T_S] = counter(word, SHARED_TAKEN);
        hold->words[SEEN] = word;
        hold->words[POLLED_NS] = lockmgr_now_ns(hold->client);
        hold->words[STALLED_NS] = 0;
        if (is_full(hold, word)) {
            code = await_reset(co, hold);
            if (code) return code;
            continue;
        }
        enum turn turn = turn_of(hold, word);
        hold->client->stats.immediate += first && turn == IS_THERE;
        code = await_turn(co, hold, wait, &turn);
        if (code || (turn == IS_THERE && !is_late(hold))) return code;
        hold->client->stats.resets += turn == IS_THERE; /* it comes too late: others may be about to pass over it */
        if (turn == IS_THERE) code = release_late(co, hold);
        if (code && code != -CELLAR_ERR_FENCED) return code;
    }
}

/* ---- leaving ---- */

/* Whoever had the last ticket that counts clears the word when all are done: later, as a client must not wait here for others. */
static void leave_last(struct lockmgr_hold *hold)
{
    struct lockmgr_worker *worker = hold->client->worker;
    struct last_tickets *last = worker->own;
    uint32_t full = full_of(&worker->lockmgr->config);
    bool shared = hold->mode == LOCKMGR_SHARED;
    if (hold->words[shared ? T_S : T_X] != full - 1) return;
    if (last->count == last->capacity) {
        last->capacity = last->capacity ? 2 * last->capacity : 8;
        last->tickets = realloc(last->tickets, last->capacity * sizeof *last->tickets);
        must(last->tickets);
    }
    last->tickets[last->count++] = (struct last_ticket){.lock = hold->lock,
                                                        .exclusive = (uint16_t)(hold->words[T_X] + !shared),
                                                        .shared = (uint16_t)(hold->words[T_S] + shared)};
    lockmgr_stir(worker);
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t old, lease_ns = lease_of(hold), held_ns = lockmgr_now_ns(hold->client) - hold->words[KNOWN_NS];
    if (lease_ns && held_ns > FORGOTTEN_LEASES * lease_ns) return -CELLAR_ERR_FENCED; /* somebody has, or will */
    if (is_late(hold) && !PLANT(lockmgr_dslr_undone_blindly)) return release_late(co, hold);
    int code = add(co, hold, hold->mode == LOCKMGR_SHARED ? SHARED_DONE : EXCLUSIVE_DONE, &old);
    if (code == 0 && is_plain(hold)) leave_last(hold);
    return code;
}

/* ---- the reset ---- */

/* True: cleared. */
static bool clear(struct coro *co, struct lockmgr_worker *worker, const struct last_ticket *last)
{
    struct lockmgr_client *tender = &worker->tender;
    uint64_t *word = (uint64_t *)(void *)tender->buffer;
    struct fabric_op op = fabric_op_read(last->lock, word, sizeof *word);
    if (lockmgr_do(co, tender, &op, 1)) return true; /* the node is gone, or this one is */
    bool done = counter(*word, EXCLUSIVE_DONE) == last->exclusive && counter(*word, SHARED_DONE) == last->shared;
    if (!done && !PLANT(lockmgr_dslr_early_reset)) return false;
    uint64_t seen = *word;
    op = fabric_op_cas(last->lock, &tender->old[0], seen, 0);
    if (lockmgr_do(co, tender, &op, 1)) return true;
    tender->stats.resets += tender->old[0] == seen;
    return tender->old[0] == seen;
}

static uint64_t tend(struct coro *co, struct lockmgr_worker *worker)
{
    struct last_tickets *last = worker->own;
    uint32_t i = 0;
    while (i < last->count) {
        struct last_ticket ticket = last->tickets[i]; /* clients may add others meanwhile */
        if (clear(co, worker, &ticket))
            last->tickets[i] = last->tickets[--last->count];
        else
            i++;
    }
    return last->count ? fabric_now_ns(worker->ep) + LAST_WAIT_NS : UINT64_MAX;
}

static bool quiet(const struct lockmgr_worker *worker)
{
    return ((const struct last_tickets *)worker->own)->count == 0;
}

static int worker_open(struct lockmgr_worker *worker, struct cellar_error *error)
{
    worker->own = calloc(1, sizeof(struct last_tickets));
    return worker->own ? 0 : err_set(error, CELLAR_ERR_NOMEM, "no memory for tickets");
}

static void worker_close(struct lockmgr_worker *worker)
{
    struct last_tickets *last = worker->own;
    free(last->tickets);
    free(last);
}

/* ---- dslr ---- */

/* The next in turn READs again at once. */
static void wait_in_proportion(struct coro *co, struct lockmgr_hold *hold, uint64_t word, uint32_t polls)
{
    uint64_t lease_ns = lease_of(hold), max_ns = lease_ns ? lease_ns / STEPS : POLL_MAX_NS;
    uint64_t wait_ns = (uint64_t)(tickets_before(hold, word) - 1) * TICKET_NS;
    (void)polls;
    if (wait_ns > max_ns) wait_ns = max_ns;
    if (wait_ns) lockmgr_sleep(co, hold->client, wait_ns);
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    (void)deadline_ns; /* a ticket cannot be handed back */
    return take_turn(co, hold, wait_in_proportion);
}

static const char *const policies[] = {[BY_FIELDS] = "field", [PLAIN] = "plain", NULL};

static uint32_t policy_promises(const struct lockmgr_config *config)
{
    return lockmgr_policy(config) == PLAIN ? 0 : LOCKMGR_RECOVERS | LOCKMGR_LEASES | LOCKMGR_PROMPT;
}

const struct lockmgr_algorithm lockmgr_algorithm_dslr = {
    .name = "dslr",
    .about = "tickets, first come first served; waits in proportion to the queue; leases",
    .policies = policies,
    .promises = LOCKMGR_SHARES | LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED,
    .policy_promises = policy_promises,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .release = release,
    .audit = audit,
    .check = check,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .tend = tend,
    .quiet = quiet};

/* ---- dslr+ ---- */

/* Once in a while: many polls in vain double the bound, few halve it. The counts are never cleared (as in DecLock's). */
static void adapt(struct lockmgr_client *client)
{
    uint64_t *words = client->words, now_ns = lockmgr_now_ns(client);
    if (words[BOUND_NS] == 0) words[BOUND_NS] = BACKOFF_NS;
    if (now_ns < words[LOOKED_NS] + ADAPT_NS) return;
    words[LOOKED_NS] = now_ns;
    uint64_t share_percent = words[POLLS] * 100 / (words[POLLS] + words[ROUNDS] + 1);
    if (share_percent > SHARE_HIGH_PERCENT && words[BOUND_NS] < BACKOFF_MAX_NS) words[BOUND_NS] *= 2;
    if (share_percent < SHARE_LOW_PERCENT && words[BOUND_NS] > BACKOFF_NS) words[BOUND_NS] /= 2;
}

static void back_off(struct coro *co, struct lockmgr_hold *hold, uint64_t word, uint32_t polls)
{
    struct lockmgr_client *client = hold->client;
    uint64_t wait_ns = (uint64_t)BACKOFF_NS << (polls < 10 ? polls : 10);
    (void)word;
    adapt(client);
    client->words[POLLS]++;
    if (wait_ns > client->words[BOUND_NS]) wait_ns = client->words[BOUND_NS];
    lockmgr_sleep(co, client, wait_ns + lockmgr_below(client, BACKOFF_RANDOM_NS));
}

static int acquire_plus(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    (void)deadline_ns;
    hold->client->words[ROUNDS]++;
    return take_turn(co, hold, back_off);
}

const struct lockmgr_algorithm lockmgr_algorithm_dslr_plus = {
    .name = "dslr+",
    .about = "tickets, first come first served; exponential backoff; no leases",
    .policies = policies,
    .promises = LOCKMGR_SHARES | LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED,
    .lock_bytes = lock_bytes,
    .acquire = acquire_plus,
    .release = release,
    .audit = audit,
    .check = check,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .tend = tend,
    .quiet = quiet};
