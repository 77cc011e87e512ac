/*
 * test_shm_helm.c - a helm that was lent on shm, taken back by a thread that the kernel has woken for no reason
 * (INV-FABRIC-6).
 *
 * A sleeping worker's thread may be woken while its helm is borrowed, by a ring that it has been told already. It then
 * waits for the helm, and the borrower, which sees that it waits, rings no bell for the work that is left: it hands
 * over. So whatever ended the sleep, idle returns, and the worker looks.
 */
#include "contract_shm.h"
#include "fabric_shm_internal.h"
#include "plant.h"

#include <sched.h>

#define ROUNDS 200

static const struct contract_backend shm = {.name = "shm", .open = contract_open_shm, .threads = true};
static const struct contract_shape shape = {.mn_count = 1, .cn_count = 1, .mn_bytes = 1 << 20};

/* What results[] of the worker say, atomically. */
enum { RETURNED, ROUNDS_MAX };

static void idle_with_helm_lent(struct contract_worker *worker)
{
    worker->ep->lends = true;
    for (uint64_t round = 1; round <= worker->results[ROUNDS_MAX]; round++) {
        fabric_idle(worker->ep, UINT64_MAX);
        __atomic_store_n(&worker->results[RETURNED], round, __ATOMIC_SEQ_CST);
    }
}

static uint32_t helm(const struct fabric_ep *ep) { return __atomic_load_n(&ep->helm, __ATOMIC_SEQ_CST); }

/*
 * Borrows the helm of the worker that sleeps, has its thread woken without a ring until that waits for the helm, and
 * gives it back with work left. False: the thread lends its helm again, thus sleeps again, without a look at that work.
 */
static bool returns_when_handed_over(struct contract_worker *worker, uint64_t round)
{
    struct fabric_ep *ep = worker->ep;
    struct fabric_shm_ep *sep = (struct fabric_shm_ep *)ep;

    while (!fabric_helm_borrow(ep)) sched_yield();
    while (helm(ep) != (FABRIC_HELM_BORROWED | FABRIC_WAITED)) {
        fabric_shm_futex_wake(&sep->mailbox->doorbell, 1);
        sched_yield();
    }
    fabric_helm_return(ep, true, __atomic_load_n(&ep->rung, __ATOMIC_SEQ_CST));
    for (;; sched_yield()) {
        bool lent = helm(ep) == FABRIC_HELM_FREE; /* in the next round it is lent again, but RETURNED comes first */
        if (__atomic_load_n(&worker->results[RETURNED], __ATOMIC_SEQ_CST) >= round) return true;
        if (lent) return false;
    }
}

/* In how many rounds was idle left? What sleeps on is woken properly, so that this ends. */
static uint64_t rounds_returned(uint64_t rounds)
{
    struct contract_cluster cluster;
    uint64_t good = 0;

    contract_open(&cluster, &shm, shape, 1);
    struct contract_worker *worker = &cluster.workers[0];
    worker->body = idle_with_helm_lent;
    worker->results[ROUNDS_MAX] = rounds;
    cluster.running = 1;
    assert_int_equal(cluster.fabric->ops->spawn(cluster.fabric, worker->ep, contract_worker_main, worker), 0);
    for (uint64_t round = 1; round <= rounds; round++) {
        if (returns_when_handed_over(worker, round)) {
            good++;
            continue;
        }
        fabric_wake(cluster.fabric, worker->ep);
        while (__atomic_load_n(&worker->results[RETURNED], __ATOMIC_SEQ_CST) < round) sched_yield();
    }
    assert_int_equal(cluster.fabric->ops->wait(cluster.fabric, &cluster.running, UINT64_MAX), 0);
    contract_close(&cluster);
    return good;
}

static void a_worker_handed_its_helm_looks(void **state)
{
    (void)state;
    assert_int_equal(rounds_returned(ROUNDS), ROUNDS);
}

#ifdef CELLAR_PLANTS
static void its_plant_is_met(void **state)
{
    (void)state;
    assert_true(plant_choose("shm_lent_sleeps_on"));
    uint64_t good = rounds_returned(ROUNDS);
    assert_true(plant_choose(NULL));
    assert_int_equal(good, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_handed_its_helm_looks),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plant_is_met),
#endif
    };

    return cmocka_run_group_tests_name("shm_helm", tests, NULL, NULL);
}
