/*
 * mcs.c - MCS over the network, as ShiftLock's evaluation has it: one swap enters the queue, one CAS leaves
 * it, and between clients the lock goes from hand to hand. Exclusive only.
 *
 *     word 0   the last client in the queue, as a tail (chain.h); 0: free
 *     word 1   releases that handed over: written by holders, for clients that ask whether anything moves
 */
#include "chain.h"

static uint64_t lock_bytes(const struct lockmgr_config *config) { return 2 * sizeof(uint64_t); }

static int audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error)
{
    uint64_t tail = *(const uint64_t *)bytes;
    return tail == 0 ? 0 : err_set(error, CELLAR_CORRUPT, "%llx is the last in its queue", (unsigned long long)tail);
}

static int acquire(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns)
{
    uint64_t old;
    int code = chain_enqueue(co, hold, 0, &old);
    if (code || old) return code ? code : chain_follow(co, hold, old, deadline_ns);
    hold->client->stats.immediate++;
    return 0;
}

static int count_handover(struct coro *co, struct lockmgr_hold *hold)
{
    uint64_t old, begin_ns = lockmgr_now_ns(hold->client);
    int code = lockmgr_faa_word(co, hold, 1, 1, &old);
    hold->client->stats.times_ns[LOCKMGR_HAND_OVER] += lockmgr_now_ns(hold->client) - begin_ns;
    return code;
}

static int release(struct coro *co, struct lockmgr_hold *hold)
{
    bool last = false;
    if (!chain_place(hold)->successor) {
        int code = chain_leave(co, hold, 0, &last);
        if (code || last) return code;
        hold->client->stats.retries++;
        chain_await_successor(co, hold);
    }
    chain_hand_over(hold, 0);
    return count_handover(co, hold);
}

static uint64_t tend(struct coro *co, struct lockmgr_worker *worker)
{
    static const struct chain_rules rules = {.passed_on = count_handover};
    return chain_tend(co, worker, 0, &rules);
}

const struct lockmgr_algorithm lockmgr_algorithm_mcs = {.name = "mcs",
                                                        .about = "a queue that hands over by messages (MCS)",
                                                        .promises =
                                                            LOCKMGR_TASK_FAIR | LOCKMGR_BOUNDED | LOCKMGR_TIMEOUTS,
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
