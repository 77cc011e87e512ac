/*
 * retry.c - Retry-on-Fail: the reader-writer spin lock that DSLR's and DecLock's papers compare with (after
 * Chung and Zamanian).
 *
 *     word 0   [63:32] the exclusive holder's client id; 0: none    [31:0] readers that hold or wait
 *
 * A reader counts itself in at once and then READs until no writer is left; a writer CASes from 0. So waiting readers
 * are ahead of waiting writers, which may starve. A writer's release is a CAS in a loop: readers that come meanwhile
 * move the word.
 */
#include "lockmgr_algorithm.h"
#include "spin_plants.h"

#define EXCLUSIVE_SHIFT 32

static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    return word == 0 ? 0
                     : err_set(error, CELLAR_CORRUPT, "held by client %llu, or by %u readers",
                               (unsigned long long)(word >> EXCLUSIVE_SHIFT), (uint32_t)word);
}

/* Its increment is taken back: no other client has counted on it, since no grant names readers. */
static int leave(struct coro *co, struct lockmgr_hold *hold, int code)
{
    uint64_t old;
    if (code == CELLAR_INDETERMINATE || PLANT(lockmgr_retry_reader_stays)) return code;
    int undone = lockmgr_faa_word(co, hold, 0, UINT64_MAX, &old);
    return undone ? CELLAR_INDETERMINATE : code;
}

static int acquire_shared(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    uint64_t word;
    int code = lockmgr_faa_word(co, hold, 0, 1, &word);
    if (code) return code;
    if (PLANT(lockmgr_retry_reader_unasked)) return 0;
    client->stats.immediate += word >> EXCLUSIVE_SHIFT == 0;
    while (word >> EXCLUSIVE_SHIFT) {
        if (lockmgr_now_ns(client) >= deadline_ns) return leave(co, hold, CELLAR_DEADLINE);
        client->stats.retries++;
        code = lockmgr_read_words(co, hold, 0, &word, 1);
        if (code) return leave(co, hold, code);
    }
    return 0;
}

static int acquire_exclusive(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_client *client = hold->client;
    for (uint64_t tries = 0;; tries++) {
        uint64_t old;
        int code = lockmgr_cas_word(co, hold, 0, 0, (uint64_t)client->id << EXCLUSIVE_SHIFT, &old);
        if (code) return code;
        if (old == 0) {
            client->stats.immediate += tries == 0;
            return 0;
        }
        if (lockmgr_now_ns(client) >= deadline_ns) return CELLAR_DEADLINE;
        client->stats.retries++;
    }
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    return hold->mode == LOCKMGR_SHARED ? acquire_shared(co, hold, deadline_ns)
                                        : acquire_exclusive(co, hold, deadline_ns);
}

static int release_exclusive(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t mine = (uint64_t)hold->client->id << EXCLUSIVE_SHIFT, readers = 0;
    for (;;) {
        uint64_t old;
        int code =
            lockmgr_cas_word(co, hold, 0, mine | readers, PLANT(lockmgr_retry_readers_dropped) ? 0 : readers, &old);
        if (code || old == (mine | readers)) return code;
        if (old >> EXCLUSIVE_SHIFT != hold->client->id) return CELLAR_FENCED;
        hold->client->stats.retries++;
        readers = (uint32_t)old;
    }
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t old;
    if (hold->mode == LOCKMGR_EXCLUSIVE) return release_exclusive(co, hold);
    return lockmgr_faa_word(co, hold, 0, UINT64_MAX, &old);
}

const struct lockmgr_algorithm lockmgr_algorithm_retry = {
    .name = "retry",
    .about = "reader-writer spin lock: writers CAS, readers count themselves in",
    .promises = LOCKMGR_SHARES | LOCKMGR_TIMEOUTS,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .release = release,
    .audit = audit};
