/* failover_steps.c - see failover_steps.h. */
#include "failover_steps.h"

#include "coordinator.h"
#include "db_open.h"
#include "worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STEPS_MAX 4000000

int failover_steps_open(struct failover_steps *steps, const struct engine_config *shape)
{
    struct engine_config config = *shape;
    config.fabric = "sim";
    config.cns = FAILOVER_STEPS_CNS;
    config.mns = FAILOVER_STEPS_MNS;
    config.threads = 1;
    config.coros = FAILOVER_STEPS_COROS;
    config.replicas = 1;
    return db_open_on(steps->fabric, &config, &steps->db, &steps->error);
}

void failover_steps_begin(struct failover_steps *steps, const struct engine_config *shape, fabric_sim_fault_fn fault)
{
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.mn_count = FAILOVER_STEPS_MNS;
    sim.cn_count = FAILOVER_STEPS_CNS;
    sim.mn_bytes = shape->pool_bytes;
    sim.steps_max = STEPS_MAX;
    sim.fault = fault;
    sim.fault_arg = steps;
    assert_int_equal(fabric_sim_open(&sim, &steps->fabric, &steps->error), 0);
    assert_int_equal(failover_steps_open(steps, shape), 0);
}

void failover_steps_end(struct failover_steps *steps)
{
    cellar_close(steps->db);
    fabric_close(steps->fabric);
}

void failover_steps_run(struct failover_steps *steps, db_fn fn)
{
    struct db_request requests[FAILOVER_STEPS_CNS];
    uint32_t pending = FAILOVER_STEPS_CNS;
    steps->armed = true;
    for (uint32_t i = 0; i < FAILOVER_STEPS_CNS; i++) {
        requests[i] = (struct db_request){.fn = fn, .arg = steps, .pending = &pending};
        requests[i].target = &steps->db->workers[i].coordinators[0];
        worker_submit(&steps->db->workers[i], &requests[i]);
    }
    assert_int_equal(steps->fabric->ops->wait(steps->fabric, &pending, UINT64_MAX), 0);
    steps->armed = false;
    if (steps->wrong) fail_msg("%s", steps->wrong);
}

void failover_steps_kill(struct failover_steps *steps, uint32_t node)
{
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = node};
    (void)!steps->fabric->ops->control(steps->fabric, &kill, NULL);
}

void failover_steps_sleep(struct coro *co, struct coordinator *coordinator, uint64_t ns)
{
    sched_sleep(co, &coordinator->worker->sched, &coordinator->task, ns);
}

bool failover_steps_await(struct coro *co, struct coordinator *coordinator, const atomic_bool *word)
{
    struct fabric_ep *ep = coordinator->worker->ep;
    uint64_t begin_ns = fabric_now_ns(ep);
    while (!atomic_load(word) && fabric_now_ns(ep) - begin_ns < FAILOVER_STEPS_WAIT_MAX_NS)
        failover_steps_sleep(co, coordinator, FAILOVER_STEPS_POLL_NS);
    return atomic_load(word);
}

bool failover_steps_await_state(struct coro *co, struct coordinator *coordinator, uint32_t cn,
                                enum configuration_state state)
{
    struct worker *worker = coordinator->worker;
    const struct halt *halt = &worker->db->nodes[cn].halt;
    uint64_t begin_ns = fabric_now_ns(worker->ep);
    while (halt->now.state != state && fabric_now_ns(worker->ep) - begin_ns < FAILOVER_STEPS_WAIT_MAX_NS)
        failover_steps_sleep(co, coordinator, FAILOVER_STEPS_POLL_NS);
    return halt->now.state == state;
}
