/*
 * cas.c - the spin lock: CAS the word from 0 to one's own number, again and again. `cas-backoff` waits
 * between tries, truncated exponentially, with a bound that follows the share of tries in vain (SMART's backoff, as
 * ShiftLock's evaluation has it).
 *
 *     word 0   0: free; else the holder's client id
 *
 * The id tells whose lock it is: a client that finds one of a compute node that is dead and fenced takes it over, by
 * a CAS from that id to its own.
 */
#include "lockmgr_algorithm.h"
#include "spin_plants.h"

#define BACKOFF_NS 1862      /* 4096 cycles of 2.2 GHz */
#define BACKOFF_DOUBLINGS 10 /* at most */
#define ADAPT_ROUNDS 64      /* acquires between two looks at the share of retries, */
#define ADAPT_NS 1000000     /* ... and so long at least */
#define SHARE_HIGH_PERCENT 50
#define SHARE_LOW_PERCENT 10

/* Of lockmgr_client.words. */
enum { BOUND_NS, LOOKED_NS, ROUNDS, RETRIES };

static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    return word == 0 ? 0 : err_set(error, CELLAR_CORRUPT, "held by client %llu", (unsigned long long)word);
}

/* What the word must hold for the next CAS: the id of a client that is dead now that the word was seen, or 0. */
static uint64_t free_word(struct coro *co, const struct lockmgr_hold *hold, uint64_t word)
{
    uint32_t cn, worker, client;
    bool known = word <= UINT32_MAX && lockmgr_locate(lockmgr_config_of(hold), (uint32_t)word, &cn, &worker, &client);
    if (!known) return 0;
    return lockmgr_surely_dead(co, hold->client, cn) || PLANT(lockmgr_cas_steals_living) ? word : 0;
}

typedef void (*wait_fn)(struct coro *co, struct lockmgr_client *client, uint32_t tries);

static int spin(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, wait_fn wait)
{
    struct lockmgr_client *client = hold->client;
    uint64_t expected = 0;
    for (uint32_t tries = 0;; tries++) {
        uint64_t old;
        int code = lockmgr_cas_word(co, hold, 0, expected, client->id, &old);
        if (code) return code;
        if (old == expected) {
            client->stats.immediate += tries == 0;
            return 0;
        }
        if (lockmgr_now_ns(client) >= deadline_ns) return CELLAR_DEADLINE;
        client->stats.retries++;
        expected = free_word(co, hold, old);
        if (wait && !expected) wait(co, client, tries);
    }
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    return spin(co, hold, deadline_ns, NULL);
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t old;
    if (PLANT(lockmgr_cas_handed_on)) return lockmgr_cas_word(co, hold, 0, hold->client->id, hold->client->id, &old);
    int code = lockmgr_cas_word(co, hold, 0, hold->client->id, 0, &old);
    return code ? code : old == hold->client->id ? 0 : CELLAR_FENCED;
}

const struct lockmgr_algorithm lockmgr_algorithm_cas = {.name = "cas",
                                                        .about = "spin lock: CAS until it succeeds",
                                                        .promises = LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS,
                                                        .lock_bytes = lock_bytes,
                                                        .acquire = acquire,
                                                        .release = release,
                                                        .audit = audit};

/* ---- with backoff ---- */

static uint64_t bound_of(uint32_t doublings)
{
    return (uint64_t)BACKOFF_NS << (doublings < BACKOFF_DOUBLINGS ? doublings : BACKOFF_DOUBLINGS);
}

static void back_off(struct coro *co, struct lockmgr_client *client, uint32_t tries)
{
    uint64_t bound_ns = client->words[BOUND_NS] ? client->words[BOUND_NS] : BACKOFF_NS;
    uint64_t wait_ns = bound_of(tries) < bound_ns ? bound_of(tries) : bound_ns;
    client->words[RETRIES]++;
    lockmgr_sleep(co, client, wait_ns + lockmgr_below(client, BACKOFF_NS));
}

/* After enough acquires: many of the CASes in vain double the bound, few halve it. */
static void adapt(struct lockmgr_client *client)
{
    uint64_t *words = client->words, now_ns = lockmgr_now_ns(client);
    if (++words[ROUNDS] % ADAPT_ROUNDS || now_ns < words[LOOKED_NS] + ADAPT_NS) return;
    uint64_t bound_ns = words[BOUND_NS] ? words[BOUND_NS] : BACKOFF_NS;
    uint64_t share_percent = words[RETRIES] * 100 / (words[RETRIES] + words[ROUNDS]);
    if (share_percent > SHARE_HIGH_PERCENT && bound_ns < bound_of(BACKOFF_DOUBLINGS)) bound_ns *= 2;
    if (share_percent < SHARE_LOW_PERCENT && bound_ns > BACKOFF_NS) bound_ns /= 2;
    words[BOUND_NS] = bound_ns;
    words[LOOKED_NS] = now_ns;
    words[ROUNDS] = words[RETRIES] = 0;
}

static int acquire_backoff(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    int code = spin(co, hold, deadline_ns, back_off);
    if (code == 0) adapt(hold->client);
    return code;
}

const struct lockmgr_algorithm lockmgr_algorithm_cas_backoff = {.name = "cas-backoff",
                                                                .about = "spin lock with adaptive exponential backoff",
                                                                .promises = LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS,
                                                                .lock_bytes = lock_bytes,
                                                                .acquire = acquire_backoff,
                                                                .release = release,
                                                                .audit = audit};
