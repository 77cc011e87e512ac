#include "gate.h"

#include "plant.h"

static void active_add(struct gate *gate, uint32_t worker, uint32_t n)
{
    atomic_uint *active = &gate->workers[worker].active;
    /* One writer: a plain sum, but the store must be seen before the gate is read again (Dekker). */
    atomic_store_explicit(active, atomic_load_explicit(active, memory_order_relaxed) + n, memory_order_seq_cst);
}

bool gate_enter(struct coro *co, struct gate *gate, uint32_t worker, struct sched *sched, struct sched_task *task)
{
    for (;;) {
        active_add(gate, worker, 1);
        if (!atomic_load(&gate->closed)) break;
        active_add(gate, worker, (uint32_t)-1);
        sched_sleep(co, sched, task, GATE_POLL_NS);
    }
    if (!atomic_load_explicit(&gate->failed, memory_order_relaxed)) return true;
    active_add(gate, worker, (uint32_t)-1);
    return false;
}

void gate_leave(struct gate *gate, uint32_t worker)
{
    atomic_uint *active = &gate->workers[worker].active;
    atomic_store_explicit(active, atomic_load_explicit(active, memory_order_relaxed) - 1, memory_order_release);
}

static uint32_t active_sum(struct gate *gate)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < gate->worker_count; i++) sum += atomic_load(&gate->workers[i].active);
    return sum;
}

void gate_close(struct coro *co, struct gate *gate, uint32_t worker, struct sched *sched, struct sched_task *task,
                bool *alone)
{
    /* While it waits for its turn it holds nobody up, but what it has to settle is open all the while. */
    unsigned expected = 0;
    atomic_fetch_add(&gate->waiting, 1);
    active_add(gate, worker, (uint32_t)-1);
    while (!atomic_compare_exchange_strong(&gate->closed, &expected, 1)) {
        expected = 0;
        sched_sleep(co, sched, task, GATE_POLL_NS);
    }
    while (active_sum(gate) > 0 && !PLANT(gate_open_early)) sched_sleep(co, sched, task, GATE_POLL_NS);
    *alone = atomic_fetch_sub(&gate->waiting, 1) == 1 || PLANT(gate_two_settle);
    active_add(gate, worker, 1);
}

void gate_open(struct gate *gate) { atomic_store(&gate->closed, 0); }

void gate_fail(struct gate *gate) { atomic_store(&gate->failed, true); }
