/*
 * dslr.c - DSLR: tickets, first come first served (dslr.h has the word and its rules), and DSLR+, DecLock's
 * variant of it. `dslr` waits in proportion to the tickets before it, `dslr+` backs off.
 */
#include "dslr.h"

#define POLL_MAX_NS 5000000
#define FULL_MIN 4u
#define FULL_MAX 32768u
#define FULL_WAIT_NS 10000     /* until a full word may have been cleared: at first, up to twice that; */
#define FULL_WAIT_MAX_NS 20000 /* ... later, unless the configuration has a bound of its own (appendix A.3) */
#define BACKOFF_NS 100
#define BACKOFF_MAX_NS 3200
#define BACKOFF_RANDOM_NS 2000
#define ADAPT_NS 100000
#define SHARE_HIGH_PERCENT 70
#define SHARE_LOW_PERCENT 50

/* Of lockmgr_client.words, for dslr+. */
enum { BOUND_NS, LOOKED_NS, POLLS, ROUNDS };

static const char *const policies[] = {[DSLR_FIELDS] = "field", [DSLR_PLAIN] = "plain", [DSLR_UPDATE] = "update", NULL};

static uint64_t lock_bytes(const struct lockmgr_config *config) { return sizeof(uint64_t); }

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t word = *(const uint64_t *)bytes;
    if (dslr_is_idle((enum dslr_policy)lockmgr_policy(config), word, lockmgr_promises(config) & LOCKMGR_LEASES))
        return 0;
    return err_set(error, CELLAR_CORRUPT, "word %016llx: tickets taken are not done", (unsigned long long)word);
}

static int check(const struct lockmgr_config *config, struct cellar_error *error)
{
    enum dslr_policy policy = (enum dslr_policy)lockmgr_policy(config);
    uint32_t bits = dslr_counter_bits(policy), slots = config->slots_max ? config->slots_max : 1;
    uint64_t clients = (uint64_t)config->cn_count * config->workers_per_cn * config->clients_per_worker;
    if (dslr_full_of(config) > FULL_MAX || dslr_full_of(config) < FULL_MIN)
        return err_set(error, CELLAR_INVALID, "room for %u tickets: must be %u to %u", config->capacity, FULL_MIN,
                       FULL_MAX);
    if (slots > DSLR_SLOTS_MAX)
        return err_set(error, CELLAR_INVALID, "leases of up to %u slots: at most %u", slots, DSLR_SLOTS_MAX);
    if (clients * slots < 1ull << (bits - 1)) return 0;
    return err_set(error, CELLAR_INVALID,
                   "%llu clients with %u slots each: more tickets than counters of %u bits tell apart; fewer than %u",
                   (unsigned long long)clients, slots, bits, 1u << (bits - 1));
}

/* ---- waiting ---- */

/* Until the next READ. 0: at once. */
typedef uint64_t (*wait_fn)(struct lockmgr_hold *hold, uint32_t polls);

static void sleep_until(struct coro *co, struct lockmgr_hold *hold, uint64_t wait_ns, uint64_t deadline_ns)
{
    uint64_t now_ns = lockmgr_now_ns(hold->client);
    if (deadline_ns <= now_ns) return;
    if (wait_ns > deadline_ns - now_ns) wait_ns = deadline_ns - now_ns;
    if (wait_ns) lockmgr_sleep(co, hold->client, wait_ns);
}

/*
 * DEADLINE: the ticket is taken back, or a ghost's. 0: the turn has come meanwhile, or the ghost could not be seen
 * to.
 */
static int give_up(struct coro *co, struct lockmgr_hold *hold)
{
    bool gone = false;
    int code = dslr_take_back(co, hold, &gone);
    if (code || gone) return code ? code : CELLAR_DEADLINE;
    if (dslr_turn_of(hold, dslr_place(hold)->seen) != DSLR_COMES) return 0;
    return dslr_leave_ghost(hold) ? CELLAR_DEADLINE : 0;
}

/* READs until the turn is there, or passed; in *turn. */
static int await_turn(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, wait_fn wait,
                      enum dslr_turn *turn)
{
    *turn = dslr_turn_of(hold, dslr_place(hold)->seen);
    for (uint32_t polls = 0; *turn == DSLR_COMES; polls++) {
        hold->client->stats.retries++;
        sleep_until(co, hold, wait(hold, polls), deadline_ns);
        int code = lockmgr_now_ns(hold->client) >= deadline_ns ? give_up(co, hold) : 0;
        if (code == 0) code = dslr_look(co, hold, turn);
        if (code) return code;
    }
    return 0;
}

/* At random, up to twice as long each time. */
static uint64_t full_wait(const struct lockmgr_hold *hold, uint32_t looks)
{
    uint64_t most = lockmgr_config_of(hold)->full_wait_ns, wait_ns = FULL_WAIT_NS << (looks < 16 ? looks : 16);
    if (most == 0) return FULL_WAIT_NS + lockmgr_below(hold->client, FULL_WAIT_MAX_NS - FULL_WAIT_NS);
    return lockmgr_below(hold->client, wait_ns < most ? wait_ns : most) + 1;
}

/*
 * Waits until full counters are cleared, and the ticket with them: it does not count. A new one now would be one too
 * many each time.
 */
static int await_reset(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    uint64_t word = dslr_place(hold)->seen;
    for (uint32_t looks = 0; dslr_is_full(hold, word); looks++) {
        if (lockmgr_now_ns(hold->client) >= deadline_ns) return CELLAR_DEADLINE;
        hold->client->stats.retries++;
        sleep_until(co, hold, full_wait(hold, looks), deadline_ns);
        int code = lockmgr_read_words(co, hold, 0, &word, 1);
        if (code) return code;
    }
    return 0;
}

static void prepare(struct lockmgr_hold *hold)
{
    struct dslr_place *place = dslr_place(hold);
    uint32_t most = lockmgr_config_of(hold)->slots_max, slots = hold->client->slots;
    place->kind = hold->mode == LOCKMGR_SHARED ? DSLR_S : hold->mode == LOCKMGR_UPDATE ? DSLR_U : DSLR_X;
    place->slots = slots > most ? most : slots;
    if (place->slots == 0 || !dslr_lease_ns(hold)) place->slots = 1;
}

static int take_turn(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, wait_fn wait)
{
    prepare(hold);
    for (bool first = true;; first = false) {
        if (!first && lockmgr_now_ns(hold->client) >= deadline_ns) return CELLAR_DEADLINE;
        int code = dslr_take_ticket(co, hold);
        if (code) return code;
        uint64_t word = dslr_place(hold)->seen;
        if (dslr_is_full(hold, word)) {
            code = await_reset(co, hold, deadline_ns);
            if (code) return code;
            continue;
        }
        enum dslr_turn turn;
        hold->client->stats.immediate += first && dslr_turn_of(hold, word) == DSLR_IS_THERE;
        code = await_turn(co, hold, deadline_ns, wait, &turn);
        if (code || (turn == DSLR_IS_THERE && !dslr_is_late(hold))) return code;
        hold->client->stats.resets += turn == DSLR_IS_THERE; /* too late: others may be about to pass over it */
        if (turn == DSLR_IS_THERE) code = dslr_leave(co, hold);
        if (code && code != CELLAR_FENCED) return code;
    }
}

static int release(struct coro *co, struct lockmgr_hold *hold) { return dslr_leave(co, hold); }

/* Often there is nothing to wait for: the word that showed the turn has shown that no earlier reader was left. */
static int upgrade_by(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns, wait_fn wait)
{
    struct dslr_place *place = dslr_place(hold);
    place->upgraded = true;
    enum dslr_turn turn = dslr_turn_of(hold, place->seen);
    int code = 0;
    for (uint32_t polls = 0; code == 0 && turn == DSLR_COMES; polls++) {
        if (lockmgr_now_ns(hold->client) >= deadline_ns) code = CELLAR_DEADLINE;
        if (code == 0) sleep_until(co, hold, wait(hold, polls), deadline_ns);
        if (code == 0) code = dslr_look(co, hold, &turn);
        hold->client->stats.retries++;
    }
    place->upgraded = code == 0;
    return code;
}

static uint32_t policy_promises_plus(const struct lockmgr_config *config)
{
    return lockmgr_policy(config) == DSLR_UPDATE ? LOCKMGR_UPDATES : 0;
}

static uint32_t policy_promises(const struct lockmgr_config *config)
{
    uint32_t leases = LOCKMGR_RECOVERS | LOCKMGR_LEASES | LOCKMGR_PROMPT | LOCKMGR_SLOTS | LOCKMGR_ABANDONS;
    return lockmgr_policy(config) == DSLR_FIELDS ? leases : policy_promises_plus(config);
}

/* ---- dslr ---- */

/* The next in turn READs again at once. */
static uint64_t wait_in_proportion(struct lockmgr_hold *hold, uint32_t polls)
{
    uint64_t lease_ns = dslr_lease_ns(hold), max_ns = lease_ns ? lease_ns / DSLR_STEPS : POLL_MAX_NS;
    uint64_t wait_ns = (uint64_t)(dslr_before(hold, dslr_place(hold)->seen) - 1) * DSLR_TICKET_NS;
    (void)polls;
    return wait_ns > max_ns ? max_ns : wait_ns;
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    return take_turn(co, hold, deadline_ns, wait_in_proportion);
}

static int upgrade(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    return upgrade_by(co, hold, deadline_ns, wait_in_proportion);
}

const struct lockmgr_algorithm lockmgr_algorithm_dslr = {
    .name = "dslr",
    .about = "tickets, first come first served; waits in proportion to the queue; leases",
    .policies = policies,
    .room_policies = 1u << DSLR_PLAIN,
    .promises = LOCKMGR_SHARES | LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED | LOCKMGR_TIMEOUTS,
    .policy_promises = policy_promises,
    .lock_bytes = lock_bytes,
    .acquire = acquire,
    .upgrade = upgrade,
    .release = release,
    .audit = audit,
    .check = check,
    .worker_open = dslr_worker_open,
    .worker_close = dslr_worker_close,
    .tend = dslr_tend,
    .quiet = dslr_quiet,
    .worker_forget = dslr_worker_forget};

/* ---- dslr+ ---- */

/*
 * Once in a while: many polls in vain double the bound, few halve it. The counts are never cleared (as in DecLock's).
 */
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

static uint64_t back_off(struct lockmgr_hold *hold, uint32_t polls)
{
    struct lockmgr_client *client = hold->client;
    uint64_t wait_ns = (uint64_t)BACKOFF_NS << (polls < 10 ? polls : 10);
    adapt(client);
    client->words[POLLS]++;
    if (wait_ns > client->words[BOUND_NS]) wait_ns = client->words[BOUND_NS];
    return wait_ns + lockmgr_below(client, BACKOFF_RANDOM_NS);
}

static int acquire_plus(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    hold->client->words[ROUNDS]++;
    return take_turn(co, hold, deadline_ns, back_off);
}

static int upgrade_plus(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    return upgrade_by(co, hold, deadline_ns, back_off);
}

const struct lockmgr_algorithm lockmgr_algorithm_dslr_plus = {
    .name = "dslr+",
    .about = "tickets, first come first served; exponential backoff; no leases",
    .policies = policies,
    .room_policies = 1u << DSLR_PLAIN,
    .promises = LOCKMGR_SHARES | LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED | LOCKMGR_TIMEOUTS,
    .policy_promises = policy_promises_plus,
    .lock_bytes = lock_bytes,
    .acquire = acquire_plus,
    .upgrade = upgrade_plus,
    .release = release,
    .audit = audit,
    .check = check,
    .worker_open = dslr_worker_open,
    .worker_close = dslr_worker_close,
    .tend = dslr_tend,
    .quiet = dslr_quiet,
    .worker_forget = dslr_worker_forget};
