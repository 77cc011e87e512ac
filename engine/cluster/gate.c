#include "gate.h"

#include "cluster_plants.h"

/* Between any two steps of this file another thread of the CN may run; each fabric_preempt stands for that. */
static void active_add(struct gate *gate, uint32_t worker, uint32_t n, struct sched *sched)
{
    atomic_uint *active = &gate->workers[worker].active;
    /* One writer: a plain sum, but the store must be seen before the gate is read again (Dekker). */
    unsigned now = atomic_load_explicit(active, memory_order_relaxed);
    fabric_preempt(sched->ep);
    atomic_store_explicit(active, now + n, memory_order_seq_cst);
    fabric_preempt(sched->ep);
}

/* Waits until it is worth another look. */
static void look_later(struct coro *co, struct sched *sched, struct sched_task *task, uint64_t *pause_ns)
{
    task->why = "gate";
    sched_sleep(co, sched, task, *pause_ns);
    if (*pause_ns < GATE_POLL_MAX_NS) *pause_ns *= 2;
}

static inline bool is_open(struct gate *gate)
{
    return !atomic_load(&gate->closed) && !atomic_load(&gate->halted) && !atomic_load(&gate->failed);
}

/* The attempt is counted, but the gate is not open: takes that back, and tries again until it is. */
static __attribute__((noinline)) bool wait_open(struct coro *co, struct gate *gate, uint32_t worker,
                                                struct sched *sched, struct sched_task *task)
{
    uint64_t pause_ns = GATE_POLL_NS;
    do {
        active_add(gate, worker, (uint32_t)-1, sched);
        if (atomic_load(&gate->failed)) return false; /* it may never be opened again */
        if (atomic_load(&gate->closed) & ~(GATE_SETTLING | GATE_TURNING | GATE_RESTING))
            return false; /* that may take long */
        look_later(co, sched, task, &pause_ns);
        active_add(gate, worker, 1, sched);
    } while (!is_open(gate));
    return true;
}

bool gate_enter(struct coro *co, struct gate *gate, uint32_t worker, struct sched *sched, struct sched_task *task)
{
    active_add(gate, worker, 1, sched);
    return is_open(gate) || wait_open(co, gate, worker, sched, task);
}

bool gate_try(struct gate *gate, uint32_t worker, struct sched *sched)
{
    active_add(gate, worker, 1, sched);
    if (is_open(gate)) return true;
    active_add(gate, worker, (uint32_t)-1, sched);
    return false;
}

void gate_leave(struct gate *gate, uint32_t worker, struct sched *sched)
{
    atomic_uint *active = &gate->workers[worker].active;
    unsigned now = atomic_load_explicit(active, memory_order_relaxed);
    fabric_preempt(sched->ep);
    atomic_store_explicit(active, now - 1, memory_order_release);
}

/* `sched` NULL: without a step between any two. */
static uint32_t active_sum(struct gate *gate, struct sched *sched)
{
    uint32_t sum = 0, count = atomic_load(&gate->worker_count);
    for (uint32_t i = 0; i < count; i++) {
        sum += atomic_load(&gate->workers[i].active);
        if (sched) fabric_preempt(sched->ep);
    }
    return sum;
}

void gate_close(struct coro *co, struct gate *gate, uint32_t worker, struct sched *sched, struct sched_task *task,
                bool *alone)
{
    /* While it waits for its turn it holds no other up, but what it has to settle is open all the while. */
    unsigned expected = 0;
    uint64_t pause_ns = GATE_POLL_NS;
    atomic_fetch_add(&gate->waiting, 1);
    active_add(gate, worker, (uint32_t)-1, sched);
    while (!atomic_compare_exchange_strong(&gate->closed, &expected, GATE_SETTLING)) {
        expected = 0;
        look_later(co, sched, task, &pause_ns);
    }
    pause_ns = GATE_POLL_NS;
    while (active_sum(gate, sched) > 0 && !PLANT(gate_open_early)) look_later(co, sched, task, &pause_ns);
    bool last = atomic_fetch_sub(&gate->waiting, 1) == 1;
    /* The transaction that stopped the CN has left tags that look like the caller's. */
    *alone = (last && !atomic_load(&gate->failed)) || PLANT(gate_two_settle);
    active_add(gate, worker, 1, sched);
}

/*
 * An attempt that settles is not counted while it waits for its turn, but then it is among the waiting or has closed
 * the gate, until it is counted again; so a settler that finds none counted, none waiting, the gate open, and again
 * none counted, has missed none.
 */
bool gate_still(struct gate *gate, struct sched *sched)
{
    return active_sum(gate, sched) == 0 && atomic_load(&gate->waiting) == 0 && !atomic_load(&gate->closed) &&
           active_sum(gate, sched) == 0;
}

static bool any_settles(struct gate *gate)
{
    bool any = atomic_load(&gate->waiting) > 0 || (atomic_load(&gate->closed) & GATE_SETTLING);
    return any && !PLANT(way_settler_passed);
}

/* As gate_still, by the one that has closed the gate. */
static bool turn_still(struct gate *gate, struct sched *sched)
{
    if (PLANT(way_ungated)) return true;
    return active_sum(gate, sched) == 0 && !any_settles(gate) && active_sum(gate, sched) == 0;
}

bool gate_turn(struct coro *co, struct gate *gate, struct sched *sched, struct sched_task *task)
{
    uint64_t pause_ns = GATE_POLL_NS;
    atomic_fetch_or(&gate->closed, GATE_TURNING);
    fabric_preempt(sched->ep);
    while (!turn_still(gate, sched) && !atomic_load(&gate->failed)) {
        /* One that is to settle has to close the gate, and cannot while it is closed: it goes first. */
        if (any_settles(gate)) atomic_fetch_and(&gate->closed, ~GATE_TURNING);
        look_later(co, sched, task, &pause_ns);
        atomic_fetch_or(&gate->closed, GATE_TURNING);
    }
    if (!atomic_load(&gate->failed)) return true;
    gate_turned(gate);
    return false;
}

void gate_turned(struct gate *gate) { atomic_fetch_and(&gate->closed, ~GATE_TURNING); }

#define WHOLE_TABLES (~(GATE_LOAD - 1))

static int rest_begin(struct gate *gate)
{
    unsigned was = atomic_fetch_or(&gate->closed, GATE_RESTING);
    if (was & GATE_RESTING) return CELLAR_RETRY;
    if (!(was & WHOLE_TABLES)) return 0;
    gate_rested(gate);
    return CELLAR_BUSY;
}

int gate_rest(struct coro *co, struct gate *gate, struct sched *sched, struct sched_task *task)
{
    uint64_t pause_ns = GATE_POLL_NS;
    int rc = rest_begin(gate);
    while (rc == 0 && !turn_still(gate, sched) && !atomic_load(&gate->failed)) {
        bool settles = any_settles(gate); /* it goes first, as in gate_turn */
        if (settles) gate_rested(gate);
        look_later(co, sched, task, &pause_ns);
        if (settles) rc = rest_begin(gate);
    }
    if (rc == 0 && atomic_load(&gate->failed)) {
        gate_rested(gate);
        rc = CELLAR_FENCED;
    }
    return rc;
}

void gate_rested(struct gate *gate) { atomic_fetch_and(&gate->closed, ~GATE_RESTING); }

void gate_rest_alone(struct gate *gate) { atomic_fetch_add(&gate->closed, GATE_ALONE - GATE_RESTING); }

void gate_open(struct gate *gate) { atomic_fetch_and(&gate->closed, ~GATE_SETTLING); }

int gate_bulk_enter(struct gate *gate, unsigned kind, struct sched *sched)
{
    unsigned loads = GATE_WALK - GATE_LOAD, walks = ~(GATE_WALK - 1);
    unsigned others = kind == GATE_WALK ? loads : walks;
    unsigned was =
        atomic_fetch_add(&gate->closed, kind); /* before it looks for attempts, which look here when they are counted */
    /* A load is of one row, and there may be a million: steps between them are steps enough. */
    if (kind == GATE_LOAD) sched = NULL;
    if (sched) fabric_preempt(sched->ep);
    bool attempts =
        active_sum(gate, sched) > 0 || atomic_load(&gate->waiting) > 0 || (was & (GATE_SETTLING | GATE_RESTING));
    if (!(was & others) && (!attempts || PLANT(walk_beside_attempts))) return 0;
    gate_bulk_leave(gate, kind);
    return was & GATE_RESTING ? CELLAR_RETRY : CELLAR_BUSY;
}

void gate_bulk_leave(struct gate *gate, unsigned kind) { atomic_fetch_sub(&gate->closed, kind); }

bool gate_bulk_waits(const struct gate *gate) { return atomic_load(&gate->halted) && !atomic_load(&gate->failed); }

bool gate_fail(struct gate *gate) { return !atomic_exchange(&gate->failed, true); }

void gate_stop(struct gate *gate, struct sched *from)
{
    if (gate_fail(gate) && gate->stopped) gate->stopped(gate->stopped_arg, from);
}
