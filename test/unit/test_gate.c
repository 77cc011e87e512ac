/* test_gate.c - a settler learns whether a tag of its compute node can be another attempt's. */
#include "gate.h"

#include "coro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STACK_BYTES (64u << 10)

/* One worker; its coordinators are coroutines of the test. None of them has to wait, so that no clock is asked. */
struct node {
    struct gate gate;
    struct fabric_ep ep;
    struct sched sched;
};

struct settler {
    struct node *node;
    struct sched_task task;
    bool alone;
};

static void node_init(struct node *node)
{
    *node = (struct node){.gate = {.worker_count = 1}};
    sched_init(&node->sched, &node->ep);
}

static void settle(struct coro *co, void *arg)
{
    struct settler *settler = arg;
    struct node *node = settler->node;
    settler->task.co = co;
    assert_true(gate_enter(co, &node->gate, 0, &node->sched, &settler->task));
    gate_close(co, &node->gate, 0, &node->sched, &settler->task, &settler->alone);
    gate_open(&node->gate);
    gate_leave(&node->gate, 0, &node->sched);
}

/* The same, but another coordinator stops the compute node after this one's attempt has begun, and ends. */
static void settle_after_stop(struct coro *co, void *arg)
{
    struct settler *settler = arg;
    struct node *node = settler->node;
    settler->task.co = co;
    assert_true(gate_enter(co, &node->gate, 0, &node->sched, &settler->task));
    gate_fail(&node->gate);
    gate_close(co, &node->gate, 0, &node->sched, &settler->task, &settler->alone);
    gate_open(&node->gate);
    gate_leave(&node->gate, 0, &node->sched);
    assert_false(gate_enter(co, &node->gate, 0, &node->sched, &settler->task));
}

static bool settles_alone(void (*body)(struct coro *co, void *arg), bool before)
{
    struct node node;
    node_init(&node);
    struct settler settler = {.node = &node, .alone = before};
    struct coro *co = coro_new(STACK_BYTES, body, &settler);
    assert_non_null(co);
    coro_resume(co);
    assert_true(coro_done(co));
    coro_free(co);
    return settler.alone;
}

static void a_single_settler_is_alone(void **state)
{
    (void)state;
    assert_true(settles_alone(settle, false));
}

/* The attempt that stopped the compute node left its locks: one of them must not be taken for the settler's own. */
static void none_is_alone_on_a_stopped_node(void **state)
{
    (void)state;
    assert_false(settles_alone(settle_after_stop, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_settler_is_alone),
        cmocka_unit_test(none_is_alone_on_a_stopped_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
