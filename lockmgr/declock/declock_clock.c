/*
 * declock_clock.c - the compute nodes' common time: all take the end of a barrier for its zero.
 *
 *     word   63 ... round | 16 bits: those that entered this round ... 0
 *
 * Each node adds 1; the one that makes the number that of the living nodes begins the next round by CAS; the others
 * poll until it has. A node that does not see the end in time keeps its old zero and looks again later: a wrong time
 * costs fairness, nothing else. DecLock, section 5.3.
 */
#include "declock.h"

#define ENTERED_BITS 16
#define ENTERED_MASK ((1u << ENTERED_BITS) - 1)
#define AGAIN_NS 1000000000ull /* the time from one barrier to the next */
#define LATE_NS 20000000ull    /* ... when the last one was not seen to its end */
#define POLLS_MAX 256

static uint64_t round_of(uint64_t word) { return word >> ENTERED_BITS; }

static uint32_t living(const struct lockmgr *lockmgr) { return lockmgr->config.cn_count - declock_dead_count(lockmgr); }

static int read_word(struct coro *co, struct lockmgr_client *tender, uint64_t *word)
{
    struct fabric_op op = fabric_op_read(tender->worker->lockmgr->config.clock, tender->buffer, sizeof *word);
    int code = lockmgr_do(co, tender, &op, 1);
    *word = *(const uint64_t *)tender->buffer;
    return code;
}

/* Polls until the round has ended; the node that finds that all living ones are there ends it. */
static int await_round(struct coro *co, struct lockmgr_client *tender, uint64_t word)
{
    struct declock_worker *own = tender->worker->own;
    struct fabric_addr addr = tender->worker->lockmgr->config.clock;
    for (uint32_t polls = 0; polls < POLLS_MAX; polls++) {
        if (round_of(word) != own->clock_round) return 0;
        int code;
        if ((word & ENTERED_MASK) >= living(tender->worker->lockmgr)) {
            struct fabric_op op = fabric_op_cas(addr, &tender->old[0], word, (round_of(word) + 1) << ENTERED_BITS);
            code = lockmgr_do(co, tender, &op, 1);
            if (code == 0 && tender->old[0] == word) return 0;
        }
        declock_reset_answer_all(co, tender);
        if ((code = read_word(co, tender, &word))) return code;
    }
    return CELLAR_DEADLINE;
}

static int enter_round(struct coro *co, struct lockmgr_client *tender, uint64_t *word)
{
    struct declock_worker *own = tender->worker->own;
    if (own->clock_entered) return read_word(co, tender, word);
    struct fabric_op op = fabric_op_faa(tender->worker->lockmgr->config.clock, &tender->old[0], 1);
    int code = lockmgr_do(co, tender, &op, 1);
    if (code) return code;
    own->clock_entered = true;
    own->clock_round = round_of(tender->old[0]);
    *word = tender->old[0] + 1;
    return 0;
}

uint64_t declock_clock_tend(struct coro *co, struct lockmgr_client *tender)
{
    struct lockmgr_worker *worker = tender->worker;
    struct declock_worker *own = worker->own;
    if (worker->number != 0 || worker->lockmgr->config.clock.bits == 0 || declock_of(worker)->flat) return UINT64_MAX;
    if (lockmgr_now_ns(tender) < own->clock_due_ns) return own->clock_due_ns;
    uint64_t word;
    int code = enter_round(co, tender, &word);
    if (code == 0) code = await_round(co, tender, word);
    uint64_t now_ns = lockmgr_now_ns(tender);
    if (code == 0) {
        own->clock_entered = false;
        atomic_store_explicit(&declock_of(worker)->zero_ns, now_ns, memory_order_relaxed);
    }
    return own->clock_due_ns = now_ns + (code ? LATE_NS : AGAIN_NS);
}
