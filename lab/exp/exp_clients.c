#include "exp_clients.h"

#include "must.h"

/* SMART's backoff: 4096 cycles of 2.2 GHz, doubled at most ten times; the bound follows the share of retries. */
#define BACKOFF_NS 1862
#define BACKOFF_DOUBLINGS 10
#define ADAPT_ROUNDS 64  /* between two looks at the share */
#define ADAPT_NS 1000000 /* and so long at least */
#define SHARE_HIGH_PERMILLE 500
#define SHARE_LOW_PERMILLE 100

/* The reader-writer word: who holds it exclusively (32 bits), how many share it (32 bits). */
#define EXCLUSIVE_SHIFT 32

static bool running(struct exp_load_client *client, uint64_t *now_ns)
{
    *now_ns = exp_load_now_ns(client);
    return *now_ns < client->end_ns;
}

/* The old word of one atomic. Counts it by the time it was posted. */
static uint64_t atomic(struct coro *co, struct exp_load_client *client, struct fabric_op op)
{
    if (exp_load_counts(client, exp_load_now_ns(client))) client->tally->atomics++;
    op.local = &client->words[0];
    op.size_bytes = 8;
    exp_load_do(co, client, &op, 1);
    return client->words[0];
}

static bool cas(struct coro *co, struct exp_load_client *client, struct fabric_addr addr, uint64_t compare,
                uint64_t swap)
{
    return atomic(co, client, fabric_op_cas(addr, NULL, compare, swap)) == compare;
}

static uint64_t faa(struct coro *co, struct exp_load_client *client, struct fabric_addr addr, uint64_t addend)
{
    return atomic(co, client, fabric_op_faa(addr, NULL, addend));
}

static void tally_time(struct exp_load_client *client, struct hist *hist, uint64_t begin_ns)
{
    uint64_t now_ns = exp_load_now_ns(client);
    if (exp_load_counts(client, now_ns)) hist_add(hist, now_ns - begin_ns);
}

static void tally_round(struct exp_load_client *client)
{
    if (exp_load_counts(client, exp_load_now_ns(client))) client->tally->rounds++;
}

static struct fabric_addr draw_lock(struct exp_load_client *client, uint64_t *lock)
{
    const struct exp_clients_locks *plan = client->plan;
    *lock = zipf_next(&plan->zipf, &client->prng);
    return fabric_addr_of(0, EXP_LOAD_BASE + *lock * plan->stride);
}

/* ---- the spin lock, with and without backoff ---- */

struct backoff {
    uint64_t max_ns;
    uint64_t looked_ns;                 /* when the bound was last looked at */
    uint32_t rounds, retries, unlooked; /* since then; rounds since the last try to look */
};

static uint64_t backoff_bound(uint32_t doublings)
{
    return (uint64_t)BACKOFF_NS << (doublings < BACKOFF_DOUBLINGS ? doublings : BACKOFF_DOUBLINGS);
}

static void backoff_wait(struct coro *co, struct exp_load_client *client, const struct backoff *backoff, uint32_t tries)
{
    uint64_t wait_ns = backoff_bound(tries);
    if (wait_ns > backoff->max_ns) wait_ns = backoff->max_ns;
    wait_ns += prng_below(&client->prng, BACKOFF_NS);
    exp_load_sleep(co, client, exp_load_now_ns(client) + wait_ns);
}

/* Doubles the bound where most attempts are retries, halves it where few are. */
static void backoff_adapt(struct exp_load_client *client, struct backoff *backoff)
{
    backoff->rounds++;
    if (++backoff->unlooked < ADAPT_ROUNDS) return;
    backoff->unlooked = 0;
    uint64_t now_ns = exp_load_now_ns(client);
    if (now_ns - backoff->looked_ns < ADAPT_NS) return;
    uint64_t attempts = backoff->retries + backoff->rounds, retries = 1000ull * backoff->retries;
    if (retries > attempts * SHARE_HIGH_PERMILLE && backoff->max_ns < backoff_bound(BACKOFF_DOUBLINGS))
        backoff->max_ns *= 2;
    if (retries < attempts * SHARE_LOW_PERMILLE && backoff->max_ns > BACKOFF_NS) backoff->max_ns /= 2;
    backoff->looked_ns = now_ns;
    backoff->rounds = backoff->retries = 0;
}

static bool spin_acquire(struct coro *co, struct exp_load_client *client, struct fabric_addr addr,
                         struct backoff *backoff)
{
    const struct exp_clients_locks *plan = client->plan;
    uint64_t now_ns, begin_ns = exp_load_now_ns(client);
    for (uint32_t tries = 0;; tries++) {
        bool held = cas(co, client, addr, 0, client->number + 1);
        if (tries == 0) tally_time(client, &client->tally->atomic, begin_ns);
        if (held) break;
        if (!running(client, &now_ns)) return false;
        client->tally->retries += exp_load_counts(client, now_ns);
        backoff->retries++;
        if (plan->backoff) backoff_wait(co, client, backoff, tries);
    }
    tally_time(client, &client->tally->acquire, begin_ns);
    return true;
}

void exp_clients_spin(struct coro *co, struct exp_load_client *client)
{
    const struct exp_clients_locks *plan = client->plan;
    struct backoff backoff = {.max_ns = backoff_bound(plan->adapted ? BACKOFF_DOUBLINGS : 0)};
    uint64_t now_ns, lock;
    while (running(client, &now_ns)) {
        struct fabric_addr addr = draw_lock(client, &lock);
        if (!spin_acquire(co, client, addr, &backoff)) return;
        must(cas(co, client, addr, client->number + 1, 0));
        tally_round(client);
        backoff_adapt(client, &backoff);
    }
}

/* ---- pairs ---- */

static void wide_faa(struct coro *co, struct exp_load_client *client, struct fabric_addr addr, uint64_t addend)
{
    struct fabric_wide wide = {.swap = {addend}, .swap_mask = {1ull << 63}};
    struct fabric_op op = fabric_op_wide(FABRIC_WIDE_FAA, addr, &wide);
    client->tally->atomics += exp_load_counts(client, exp_load_now_ns(client));
    exp_load_do(co, client, &op, 1);
}

void exp_clients_pairs(struct coro *co, struct exp_load_client *client)
{
    uint64_t now_ns, lock;
    while (running(client, &now_ns)) {
        struct fabric_addr addr = draw_lock(client, &lock);
        wide_faa(co, client, addr, 1);
        tally_time(client, &client->tally->atomic, now_ns);
        wide_faa(co, client, addr, UINT64_MAX);
        tally_round(client);
    }
}

/* ---- the reader-writer lock ---- */

/* Readers count themselves in and wait until no writer is left; so they overtake writers that have not got it yet. */
static bool acquire_shared(struct coro *co, struct exp_load_client *client, struct fabric_addr addr)
{
    uint64_t now_ns, word = faa(co, client, addr, 1);
    while (word >> EXCLUSIVE_SHIFT) {
        if (!running(client, &now_ns)) return false;
        client->tally->retries += exp_load_counts(client, now_ns);
        client->tally->reads += exp_load_counts(client, now_ns);
        struct fabric_op op = fabric_op_read(addr, client->buffer, 8);
        exp_load_do(co, client, &op, 1);
        word = *(uint64_t *)(void *)client->buffer;
    }
    return true;
}

static bool acquire_exclusive(struct coro *co, struct exp_load_client *client, struct fabric_addr addr)
{
    uint64_t now_ns;
    while (!cas(co, client, addr, 0, (uint64_t)(client->number + 1) << EXCLUSIVE_SHIFT)) {
        if (!running(client, &now_ns)) return false;
        client->tally->retries += exp_load_counts(client, now_ns);
    }
    return true;
}

/* Readers that wait move the word, so the release is tried again with what is there. */
static void release_exclusive(struct coro *co, struct exp_load_client *client, struct fabric_addr addr)
{
    uint64_t mine = (uint64_t)(client->number + 1) << EXCLUSIVE_SHIFT, shared = 0;
    for (;;) {
        uint64_t word = atomic(co, client, fabric_op_cas(addr, NULL, mine | shared, shared));
        if (word == (mine | shared)) return;
        must(word >> EXCLUSIVE_SHIFT == client->number + 1);
        client->tally->retries += exp_load_counts(client, exp_load_now_ns(client));
        shared = (uint32_t)word;
    }
}

static void use_object(struct coro *co, struct exp_load_client *client, struct fabric_addr object, bool read)
{
    struct fabric_op op = read ? fabric_op_read(object, client->buffer, 8) : fabric_op_write(object, client->buffer, 8);
    uint64_t *count = read ? &client->tally->reads : &client->tally->writes;
    *count += exp_load_counts(client, exp_load_now_ns(client));
    exp_load_do(co, client, &op, 1);
}

void exp_clients_read_write(struct coro *co, struct exp_load_client *client)
{
    const struct exp_clients_locks *plan = client->plan;
    uint64_t begin_ns, lock;
    while (running(client, &begin_ns)) {
        struct fabric_addr addr = draw_lock(client, &lock);
        bool read = prng_below(&client->prng, 100) < plan->read_percent;
        if (!(read ? acquire_shared(co, client, addr) : acquire_exclusive(co, client, addr))) return;
        tally_time(client, &client->tally->acquire, begin_ns);
        use_object(co, client, fabric_addr_of(0, plan->objects + lock * 8), read);
        if (read)
            faa(co, client, addr, UINT64_MAX);
        else
            release_exclusive(co, client, addr);
        tally_round(client);
    }
}

/* ---- streams ---- */

static struct fabric_op stream_op(struct exp_load_client *client, const struct exp_clients_stream *plan, uint32_t i)
{
    uint64_t place = (uint64_t)client->number * plan->batch + i;
    struct fabric_addr addr = fabric_addr_of(0, EXP_LOAD_BASE + place * plan->stride_bytes);
    uint64_t *word = &client->words[i];
    switch (plan->kind) {
    case FABRIC_READ:
        return fabric_op_read(addr, client->buffer, plan->size_bytes);
    case FABRIC_WRITE:
        return fabric_op_write(addr, client->buffer, plan->size_bytes);
    case FABRIC_CAS: /* compares with what the one before found: matches every other time, where no client interferes */
        return fabric_op_cas(addr, word, *word, *word + 1);
    default:
        return fabric_op_faa(addr, word, 1);
    }
}

void exp_clients_stream(struct coro *co, struct exp_load_client *client)
{
    const struct exp_clients_stream *plan = client->plan;
    struct fabric_op ops[EXP_LOAD_OPS];
    uint64_t begin_ns, now_ns;
    must(plan->batch >= 1 && plan->batch <= EXP_LOAD_OPS && plan->size_bytes <= EXP_LOAD_BYTES);
    while (running(client, &begin_ns)) {
        for (uint32_t i = 0; i < plan->batch; i++) ops[i] = stream_op(client, plan, i);
        exp_load_do(co, client, ops, plan->batch);
        now_ns = exp_load_now_ns(client);
        if (!exp_load_counts(client, now_ns)) continue;
        client->tally->rounds += plan->batch;
        hist_add(&client->tally->atomic, now_ns - begin_ns);
    }
}

/* ---- messages ---- */

/* Sends without waiting for the completion, as unsignalled operations are: it is there when the answer is. */
static bool exchange(struct coro *co, struct exp_load_client *client, uint32_t receiver)
{
    const struct exp_clients_ping *plan = client->plan;
    struct fabric_message message;
    struct fabric_wait wait = {.co = NULL};
    struct fabric_op op = {.kind = FABRIC_SEND,
                           .addr = exp_load_inbox(client->load, receiver),
                           .local = client->buffer,
                           .size_bytes = plan->size_bytes};
    fabric_post(client->ep, &op, 1, &wait);
    bool received = exp_load_receive(co, client, &message);
    while (wait.pending > 0) exp_load_sleep(co, client, exp_load_now_ns(client) + BACKOFF_NS);
    return received;
}

void exp_clients_ping(struct coro *co, struct exp_load_client *client)
{
    const struct exp_clients_ping *plan = client->plan;
    struct fabric_message message;
    uint64_t begin_ns;
    if (client->number > 0) {
        if (!exp_load_receive(co, client, &message)) return;
        while (exchange(co, client, 0)) {
        }
        return;
    }
    for (uint32_t turn = 0; running(client, &begin_ns); turn = (turn + 1) % plan->receivers) {
        if (!exchange(co, client, 1 + turn)) return;
        tally_time(client, &client->tally->acquire, begin_ns);
        tally_round(client);
    }
}
