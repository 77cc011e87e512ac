/*
 * drtm.c - DrTM's lock: readers by lease, in a clock that all nodes share, writers by owner.
 *
 *     word 0   0: free; bit 63: exclusive, [31:0] its holder's client id; else until when readers may read, in ns of
 *              the common time
 *
 * A reader that finds a lease with half of its length left joins without changing the word, and no reader ever
 * releases. A writer waits until the lease is over by every clock (config.common.error_ns). A writer has no lease:
 * that of a dead node is taken over.
 */
#include "lockmgr_algorithm.h"
#include "spin_plants.h"

#define EXCLUSIVE (1ull << 63)
#define LEASE_NS 1000000 /* as ShiftLock's evaluation of it has it */
#define BACKOFF_NS 1000  /* after a writer: at random, up to twice as long after each try */
#define DOUBLINGS 5
#define WAIT_MAX_NS 100000 /* for a lease to end, between two looks at the word */

/* Of lockmgr_hold.words. */
enum { LEASE_END_NS };

static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

/* A lease may be running, or over: it stops no client for ever. */
static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    return word & EXCLUSIVE ? err_set(error, CELLAR_CORRUPT, "held by client %u", (uint32_t)word) : 0;
}

static uint64_t lease_of(const struct lockmgr_config *config) { return config->lease_ns ? config->lease_ns : LEASE_NS; }

/* Half a lease must be enough to use it in, and for both margins. */
static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    if (lease_of(config) / 8 >= config->common.error_ns) return 0;
    return err_set(error, CELLAR_INVALID, "a lease of %llu ns is too short for clocks that differ by up to %llu ns",
                   (unsigned long long)lease_of(config), (unsigned long long)config->common.error_ns);
}

static uint64_t common_ns(const struct lockmgr_hold *hold)
{
    const struct lockmgr_common_time *common = &lockmgr_config_of(hold)->common;
    struct fabric_ep *ep = hold->client->worker->ep;
    return common->now_ns ? common->now_ns(common->arg, ep) : fabric_now_ns(ep);
}

static bool is_dead(const struct lockmgr_hold *hold, uint64_t word)
{
    uint32_t cn, worker, client;
    const struct lockmgr *lockmgr = hold->client->worker->lockmgr;
    return lockmgr_locate(&lockmgr->config, (uint32_t)word, &cn, &worker, &client) && lockmgr_dead(lockmgr, cn);
}

/* How long until the word may be replaced; 0: it may, now. */
static uint64_t taken_for_ns(const struct lockmgr_hold *hold, uint64_t word)
{
    if (word & EXCLUSIVE) return is_dead(hold, word) ? 0 : 1;
    uint64_t now_ns = common_ns(hold), end_ns = word + lockmgr_config_of(hold)->common.error_ns;
    if (PLANT(lockmgr_drtm_lease_ignored)) return 0;
    return word == 0 || now_ns > end_ns ? 0 : end_ns - now_ns + 1;
}

/* May a reader join that lease? Half of it must be left, by any clock. */
static bool joins(struct lockmgr_hold *hold, uint64_t word)
{
    const struct lockmgr_config *config = lockmgr_config_of(hold);
    if (hold->mode != LOCKMGR_SHARED || word == 0 || word & EXCLUSIVE) return false;
    hold->words[LEASE_END_NS] = word;
    uint64_t needed_ns = PLANT(lockmgr_drtm_joins_late) ? 0 : lease_of(config) / 2;
    return common_ns(hold) + needed_ns + config->common.error_ns < word;
}

static uint64_t new_word(struct lockmgr_hold *hold)
{
    if (hold->mode == LOCKMGR_EXCLUSIVE) return EXCLUSIVE | hold->client->id;
    return hold->words[LEASE_END_NS] = common_ns(hold) + lease_of(lockmgr_config_of(hold));
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    uint64_t expected = 0, old;
    for (uint64_t tries = 0;; tries++) {
        uint64_t mine = new_word(hold);
        int code = lockmgr_cas_word(co, hold, 0, expected, mine, &old);
        if (code) return code;
        if (old == expected) old = mine;
        if (old == (EXCLUSIVE | client->id) ||
            joins(hold, old)) { /* a lease of one's own may be old, too, when it is known */
            client->stats.immediate += tries == 0;
            return 0;
        }
        if (lockmgr_now_ns(client) >= deadline_ns) return CELLAR_DEADLINE;
        client->stats.retries++;
        uint64_t wait_ns = taken_for_ns(hold, old);
        expected = wait_ns ? 0 : old;
        if (wait_ns == 1)
            wait_ns = BACKOFF_NS + lockmgr_below(client, BACKOFF_NS << (tries < DOUBLINGS ? tries : DOUBLINGS));
        if (wait_ns) lockmgr_sleep(co, client, wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS);
    }
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t old, mine = EXCLUSIVE | hold->client->id;
    if (hold->mode == LOCKMGR_SHARED)
        return common_ns(hold) + lockmgr_config_of(hold)->common.error_ns < hold->words[LEASE_END_NS] ||
                       PLANT(lockmgr_drtm_overrun_unsaid)
                   ? 0
                   : CELLAR_FENCED;
    int code = lockmgr_cas_word(co, hold, 0, mine, 0, &old);
    return code ? code : old == mine ? 0 : CELLAR_FENCED;
}

const struct lockmgr_algorithm lockmgr_algorithm_drtm = {
    .name = "drtm",
    .about = "readers by lease and synchronized clocks, writers by CAS",
    .promises = LOCKMGR_SHARES | LOCKMGR_TIMEOUTS | LOCKMGR_RECOVERS | LOCKMGR_LEASES | LOCKMGR_CLOCKS,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .release = release,
    .audit = audit,
    .check = check};
