/*
 * rmarw.c - RMA-RW (Schmid et al., HPDC '16) as ShiftLock's evaluation has it: writers queue as in MCS,
 * readers count themselves in and out; a flag keeps readers out while writers have the lock, which they hand over so
 * many times in a row. A reader that comes in vain counts itself out again.
 *
 *     word 0   the last writer in the queue, as a tail (chain.h)
 *     word 1   arrived 31 | flag 1 | departed 32
 *
 * Readers go first: as long as they overlap no writer gets in, until READERS_IN_A_ROW have come.
 */
#include "chain.h"
#include "chain_plants.h"

#define POLL_NS 1862
#define WRITERS_IN_A_ROW 16
#define READERS_IN_A_ROW 4000
#define ARRIVED ((1ull << 31) - 1)
#define FLAG (1ull << 31)
#define DEPARTED_SHIFT 32
#define TOPS (1ull << 30 | 1ull << 31 | 1ull << 63)

enum { TAIL, COUNTS };
/*
 * Payload of a grant: writers in a row before the receiver; BEGIN: it has the queue's head, but readers have the
 * lock.
 */
#define BEGIN UINT64_MAX

static uint64_t lock_bytes(const struct lockmgr_config *config) { return 2 * sizeof(uint64_t); }

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    const uint64_t *words = bytes, counts = words[COUNTS];
    if (words[TAIL] == 0 && (counts & ARRIVED) == counts >> DEPARTED_SHIFT && !(counts & FLAG)) return 0;
    return err_set(error, CELLAR_CORRUPT, "%llx is the last in its queue; %llu readers came, %llu left%s",
                   (unsigned long long)words[TAIL], (unsigned long long)(counts & ARRIVED),
                   (unsigned long long)(counts >> DEPARTED_SHIFT), counts & FLAG ? "; the flag is set" : "");
}

static int add(struct coro *co, struct lockmgr_hold *hold, uint64_t addend, uint64_t *old)
{
    struct lockmgr_client *client = hold->client;
    struct fabric_op op =
        fabric_op_field_faa(fabric_addr_plus(hold->lock, COUNTS * sizeof(uint64_t)), &client->old[0], addend, TOPS);
    int code = lockmgr_do(co, client, &op, 1);
    *old = client->old[0];
    return code;
}

static bool drained(uint64_t counts) { return (counts & ARRIVED) == counts >> DEPARTED_SHIFT; }

/* ---- writers ---- */

static int await_drained(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t counts;
        int code = lockmgr_read_words(co, hold, COUNTS, &counts, 1);
        if (code || drained(counts)) return code;
        if (lockmgr_now_ns(hold->client) >= deadline_ns) return CELLAR_DEADLINE;
        hold->client->stats.retries++;
        lockmgr_sleep(co, hold->client, POLL_NS);
    }
}

/* Lets readers in: takes the flag away, and those off both counts that have come and gone. */
static int let_readers_in(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t counts, old;
    int code = lockmgr_read_words(co, hold, COUNTS, &counts, 1);
    if (code) return code;
    uint64_t gone = counts >> DEPARTED_SHIFT;
    uint64_t addend = (-gone & ARRIVED) | FLAG | -gone << DEPARTED_SHIFT;
    return add(co, hold, addend, &old);
}

/* At the queue's head, where it waited for readers too long: its successor may. */
static int give_up_head(struct coro *co, struct lockmgr_hold *hold, bool flagged)
{
    struct chain_place *place = chain_place(hold);
    int code = flagged && !PLANT(rmarw_flag_stays) ? let_readers_in(co, hold) : 0;
    if (code) return code;
    place->granted = true;
    place->payload = BEGIN;
    return chain_leave_ghost(hold) ? CELLAR_DEADLINE : 0;
}

/*
 * At the queue's head: readers first; then the flag, and those that came meanwhile. 0 without *begun: there was no
 * memory to give up with.
 */
static int begin_once(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, bool *begun)
{
    uint64_t old;
    int code = await_drained(co, hold, deadline_ns);
    if (code == CELLAR_DEADLINE) return give_up_head(co, hold, false);
    if (code == 0) code = add(co, hold, FLAG, &old);
    if (code == 0 && !drained(old) && !PLANT(rmarw_drain_once)) code = await_drained(co, hold, deadline_ns);
    if (code == CELLAR_DEADLINE) return give_up_head(co, hold, true);
    *begun = code == 0;
    return code;
}

static int begin(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    uint64_t begin_ns = lockmgr_now_ns(hold->client);
    bool begun = false;
    int code = 0;
    for (; code == 0 && !begun; deadline_ns = UINT64_MAX) code = begin_once(co, hold, deadline_ns, &begun);
    if (code == 0) chain_place(hold)->payload = 0;
    hold->client->stats.times_ns[LOCKMGR_WAIT_READERS] += lockmgr_now_ns(hold->client) - begin_ns;
    return code;
}

static int acquire_exclusive(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    uint64_t old;
    int code = chain_enqueue(co, hold, TAIL, &old);
    if (code) return code;
    if (old == 0) return begin(co, hold, deadline_ns);
    code = chain_follow(co, hold, old, deadline_ns);
    return code == 0 && chain_place(hold)->payload == BEGIN ? begin(co, hold, deadline_ns) : code;
}

static int release_exclusive(struct coro *co, struct lockmgr_hold *hold)
{
    struct chain_place *place = chain_place(hold);
    uint32_t most = lockmgr_config_of(hold)->writers_in_a_row;
    bool last = false;
    if (place->successor && place->payload + 1 < (most ? most : WRITERS_IN_A_ROW)) {
        chain_hand_over(hold, place->payload + 1);
        return 0;
    }
    uint64_t begin_ns = lockmgr_now_ns(hold->client);
    int code = let_readers_in(co, hold);
    hold->client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(hold->client) - begin_ns;
    if (code == 0 && !place->successor) code = chain_leave(co, hold, TAIL, &last);
    if (code || last) return code;
    chain_await_successor(co, hold);
    chain_hand_over(hold, PLANT(rmarw_hands_over_open) ? 0 : BEGIN);
    return 0;
}

/* For a waiter that gave up: it holds the lock now, as the last one did. */
static int open_for_ghost(struct coro *co, struct lockmgr_hold *ghost)
{
    struct chain_place *place = chain_place(ghost);
    if (place->payload == BEGIN || place->successor) return 0;
    place->payload = BEGIN;
    return let_readers_in(co, ghost);
}

static uint64_t tend(struct coro *co, struct lockmgr_worker *worker)
{
    static const struct chain_rules rules = {.open = open_for_ghost};
    return chain_tend(co, worker, TAIL, &rules);
}

/* ---- readers ---- */

/* So many have come that no further one may: with no writer there, the counts are taken down by a reader. */
static int take_down(struct coro *co, struct lockmgr_hold *hold, const uint64_t words[2])
{
    uint64_t gone = words[COUNTS] >> DEPARTED_SHIFT, old;
    if (words[TAIL] || (words[COUNTS] & FLAG) || (words[COUNTS] & ARRIVED) < READERS_IN_A_ROW) return 0;
    return lockmgr_cas_word(co, hold, COUNTS, words[COUNTS], (words[COUNTS] & ARRIVED) - gone, &old);
}

static int await_readers_turn(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t words[2];
        int code = lockmgr_read_words(co, hold, TAIL, words, 2);
        if (code) return code;
        hold->client->stats.retries++;
        if (!(words[COUNTS] & FLAG) && (words[COUNTS] & ARRIVED) < READERS_IN_A_ROW) return 0;
        code = take_down(co, hold, words);
        if (code) return code;
        if (lockmgr_now_ns(hold->client) >= deadline_ns) return CELLAR_DEADLINE;
        lockmgr_sleep(co, hold->client, POLL_NS);
    }
}

static int acquire_shared(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    struct lockmgr_stats *stats = &hold->client->stats;
    for (uint32_t tries = 0;; tries++) {
        uint64_t old, begin_ns = lockmgr_now_ns(hold->client);
        int code = add(co, hold, 1, &old);
        if (code) return code;
        if (tries == 0) stats->times_ns[LOCKMGR_FIRST_SHARED] += lockmgr_now_ns(hold->client) - begin_ns;
        bool barred = (old & FLAG && !PLANT(rmarw_flag_ignored)) || (old & ARRIVED) >= READERS_IN_A_ROW;
        if (!barred) {
            stats->immediate += tries == 0;
            return 0;
        }
        begin_ns = lockmgr_now_ns(hold->client);
        code = add(co, hold, ARRIVED, &old); /* -1 in its field */
        if (code == 0) code = await_readers_turn(co, hold, deadline_ns);
        stats->times_ns[LOCKMGR_WAIT_WRITERS] += lockmgr_now_ns(hold->client) - begin_ns;
        if (code) return code;
    }
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    return hold->mode == LOCKMGR_SHARED ? acquire_shared(co, hold, deadline_ns)
                                        : acquire_exclusive(co, hold, deadline_ns);
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t old, begin_ns = lockmgr_now_ns(hold->client);
    if (hold->mode == LOCKMGR_EXCLUSIVE) return release_exclusive(co, hold);
    int code = add(co, hold, 1ull << DEPARTED_SHIFT, &old);
    hold->client->stats.times_ns[LOCKMGR_FIRST_RELEASE] += lockmgr_now_ns(hold->client) - begin_ns;
    return code;
}

const struct lockmgr_algorithm lockmgr_algorithm_rmarw = {.name = "rmarw",
                                                          .about = "a queue of writers, readers counted in and out",
                                                          .promises = LOCKMGR_SHARES | LOCKMGR_TIMEOUTS,
                                                          .times_itself = true,
                                                          .lock_bytes = lock_bytes,
                                                          .acquire = acquire,
                                                          .release = release,
                                                          .audit = audit,
                                                          .worker_open = chain_worker_open,
                                                          .worker_close = chain_worker_close,
                                                          .deliver = chain_deliver,
                                                          .tend = tend,
                                                          .quiet = chain_quiet,
                                                          .worker_forget = chain_worker_close};
