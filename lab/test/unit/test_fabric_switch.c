/*
 * test_fabric_switch.c - programmable switches: programs are held to what a pipeline can do, packets take the time
 * that they should, control planes are slow, and a switch that fails forgets.
 */
#include "fabric_sim.h"
#include "fabric_switch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE 700
#define CROSSING 100
#define PIPELINE 500
#define LOOP 7 /* of the port that recirculates, ns */
#define CONTROL 10000
#define WAY ((MESSAGE - CROSSING) / 2)

enum { EARLY, LATE, ARRAYS };
static const struct fabric_switch_array arrays[ARRAYS] = {{.name = "early", .stage = 0, .cells = 8, .cell_bytes = 8},
                                                          {.name = "late", .stage = 3, .cells = 4, .cell_bytes = 2}};

/* What the program does with a packet: its first byte. */
enum what {
    ECHO = 'e',
    COUNT = 'c',      /* cell 0 of `early` + 1, and tells it */
    AROUND = 'a',     /* twice more, then as ECHO */
    PUNT = 'p',       /* the control plane answers */
    TWICE = '2',      /* breaks a rule: the same array again */
    BACKWARDS = 'b',  /* an earlier stage behind a later one */
    LOOKS_BACK = 'l', /* what it leaves early depends on what it finds late */
    WIDE = 'w',       /* more than a cell holds */
    OUTSIDE = 'o',    /* no such cell */
    THREE = '3',      /* packets out of one pass */
};

static void answer(struct fabric_switch *self, struct fabric_switch_packet *packet)
{
    fabric_switch_send(self, packet->from_cn, packet->from_worker, packet->bytes, packet->size_bytes);
}

static void break_rule(struct fabric_switch *self, struct fabric_switch_packet *packet)
{
    uint64_t *early;
    switch (packet->bytes[0]) {
    case TWICE:
        (void)fabric_switch_cell(self, EARLY, 0);
        (void)fabric_switch_cell(self, EARLY, 1);
        break;
    case BACKWARDS:
        (void)fabric_switch_cell(self, LATE, 0);
        (void)fabric_switch_cell(self, EARLY, 0);
        break;
    case LOOKS_BACK:
        early = fabric_switch_cell(self, EARLY, 0);
        *early = *fabric_switch_cell(self, LATE, 0) + 1;
        break;
    case WIDE:
        *fabric_switch_cell(self, LATE, 0) = 0x10000;
        break;
    case OUTSIDE:
        (void)fabric_switch_cell(self, LATE, 4);
        break;
    case THREE:
        for (int i = 0; i < 3; i++) answer(self, packet);
        break;
    default:
        break;
    }
}

static void pass(struct fabric_switch *self, void *arg, struct fabric_switch_packet *packet)
{
    (void)arg;
    switch (packet->bytes[0]) {
    case ECHO:
        answer(self, packet);
        break;
    case COUNT:
        packet->bytes[1] = (uint8_t)++ * fabric_switch_cell(self, EARLY, 0);
        answer(self, packet);
        break;
    case AROUND:
        packet->carry[0]++;
        if (packet->passes < 2)
            fabric_switch_recirculate(self);
        else
            packet->bytes[1] = (uint8_t)packet->carry[0], answer(self, packet);
        break;
    case PUNT:
        fabric_switch_punt(self);
        break;
    default:
        break_rule(self, packet);
    }
}

static uint64_t control(struct fabric_switch *self, void *arg, const struct fabric_switch_packet *punted)
{
    uint32_t *turns = arg;
    ++*turns;
    if (!punted) {
        fabric_switch_poke(self, LATE, 1, fabric_switch_incarnation(self));
        return UINT64_MAX;
    }
    uint8_t bytes[2] = {PUNT, (uint8_t)fabric_switch_peek(self, LATE, 1)};
    fabric_switch_send(self, punted->from_cn, punted->from_worker, bytes, sizeof bytes);
    return UINT64_MAX;
}

static const struct fabric_switch_program program = {
    .name = "test", .arrays = arrays, .array_count = ARRAYS, .pass = pass, .control = control};

struct cluster {
    struct fabric *fabric;
    struct fabric_ep *client, *ep;
    struct fabric_switch *pipeline;
    struct fabric_switch_faults faults;
    uint32_t turns;
    bool stop;
    uint8_t bytes[FABRIC_MESSAGE_BYTES];
};

static void switch_main(void *arg)
{
    struct cluster *cluster = arg;
    struct fabric_message message;
    while (!cluster->stop) {
        (void)fabric_poll(cluster->ep);
        while (fabric_recv(cluster->ep, &message)) fabric_switch_receive(cluster->pipeline, &message);
        fabric_idle(cluster->ep, fabric_switch_run(cluster->pipeline));
    }
}

static void setup(struct cluster *cluster)
{
    struct fabric_sim_config config;
    struct cellar_error error;
    memset(cluster, 0, sizeof *cluster);
    fabric_sim_config_default(&config);
    config.cn_count = 2;
    config.mn_bytes = 4096;
    config.switch_cn = config.switches = 1;
    config.profile = (struct fabric_sim_profile){.rtt_ns = 1000,
                                                 .message_ns = MESSAGE,
                                                 .crossing_ns = CROSSING,
                                                 .pipeline_ns = PIPELINE,
                                                 .recirculate_ps = LOOP * 1000,
                                                 .control_plane_ns = CONTROL};
    assert_int_equal(fabric_sim_open(&config, &cluster->fabric, &error), 0);
    assert_int_equal(fabric_endpoint_open(cluster->fabric, 0, 0, &cluster->client, &error), 0);
    assert_int_equal(fabric_endpoint_open(cluster->fabric, 1, 0, &cluster->ep, &error), 0);
    assert_int_equal(fabric_register_local(cluster->fabric, cluster->bytes, sizeof cluster->bytes), 0);
    assert_int_equal(
        fabric_switch_open(cluster->ep, &program, &cluster->turns, &cluster->faults, &cluster->pipeline, &error), 0);
    assert_int_equal(cluster->fabric->ops->spawn(cluster->fabric, cluster->ep, switch_main, cluster), 0);
    fabric_idle(cluster->client, fabric_now_ns(cluster->client) + 2 * CONTROL); /* its first turn */
}

static void teardown(struct cluster *cluster)
{
    fabric_close(cluster->fabric);
    fabric_switch_close(cluster->pipeline);
}

/* When an answer is there, after how long; 0: none is, for a while. */
static uint64_t send(struct cluster *cluster, enum what what, struct fabric_message *message)
{
    cluster->bytes[0] = (uint8_t)what;
    struct fabric_op op = {
        .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(1, 0), .local = cluster->bytes, .size_bytes = 2};
    struct fabric_wait wait = {0};
    uint64_t begin_ns = fabric_sim_true_ns(cluster->client), end_ns = begin_ns + 4 * CONTROL;
    fabric_post(cluster->client, &op, 1, &wait);
    while (fabric_sim_true_ns(cluster->client) < end_ns) {
        (void)fabric_poll(cluster->client);
        if (wait.pending == 0 && fabric_recv(cluster->client, message))
            return fabric_sim_now_ns(cluster->fabric) - begin_ns;
        fabric_idle(cluster->client, end_ns);
    }
    return 0;
}

static bool about(uint64_t ns, uint64_t wanted_ns) { return ns >= wanted_ns && ns <= wanted_ns + 150; }

static void packets_take_their_time(void **state)
{
    struct cluster cluster;
    struct fabric_message message;
    (void)state;
    setup(&cluster);
    assert_true(about(send(&cluster, ECHO, &message), 2 * WAY + PIPELINE));
    assert_true(about(send(&cluster, AROUND, &message), 2 * WAY + 3 * PIPELINE + 2 * LOOP));
    assert_int_equal(message.bytes[1], 3);
    assert_true(about(send(&cluster, PUNT, &message), 2 * WAY + PIPELINE + CONTROL));
    assert_int_equal(message.bytes[1], 1);
    const struct fabric_switch_stats *stats = fabric_switch_stats_of(cluster.pipeline);
    assert_int_equal(stats->packets, 3);
    assert_int_equal(stats->passes, 5);
    assert_int_equal(stats->recirculated, 2);
    assert_int_equal(stats->sent, 3);
    assert_int_equal(cluster.turns, 2);
    teardown(&cluster);
}

static void a_switch_that_fails_forgets(void **state)
{
    struct cluster cluster;
    struct fabric_message message;
    (void)state;
    setup(&cluster);
    for (uint8_t i = 1; i <= 3; i++) {
        assert_true(send(&cluster, COUNT, &message) > 0);
        assert_int_equal(message.bytes[1], i);
    }
    fabric_switch_fail(cluster.pipeline, 20000000);
    assert_false(fabric_switch_quiet(cluster.pipeline));
    assert_int_equal(send(&cluster, COUNT, &message), 0);
    fabric_idle(cluster.client, fabric_now_ns(cluster.client) + 30000000);
    assert_true(send(&cluster, COUNT, &message) > 0);
    assert_int_equal(message.bytes[1], 1);
    assert_int_equal(fabric_switch_incarnation(cluster.pipeline), 2);
    assert_true(send(&cluster, PUNT, &message) > 0);
    assert_int_equal(message.bytes[1], 2);
    teardown(&cluster);
}

static void packets_are_lost_and_come_twice(void **state)
{
    struct cluster cluster;
    struct fabric_message message;
    (void)state;
    setup(&cluster);
    cluster.faults.stray_ns = 5000;
    atomic_store(&cluster.faults.twice_ppm, 1000000);
    assert_true(send(&cluster, COUNT, &message) > 0);
    atomic_store(&cluster.faults.twice_ppm, 0);
    fabric_idle(cluster.client, fabric_now_ns(cluster.client) + 20000);
    (void)fabric_poll(cluster.client);
    assert_true(fabric_recv(cluster.client, &message));
    assert_int_equal(message.bytes[1], 2);
    atomic_store(&cluster.faults.loss_ppm, 1000000);
    assert_int_equal(send(&cluster, COUNT, &message), 0);
    teardown(&cluster);
}

/* In a child, which the broken rule ends. */
static bool aborts(enum what what)
{
    pid_t child = fork();
    int status;
    if (child == 0) {
        struct cluster cluster;
        struct fabric_message message = {.size_bytes = 2, .bytes = {(uint8_t)what}};
        (void)signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(2);
        setup(&cluster);
        fabric_switch_receive(cluster.pipeline, &message);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void programs_keep_to_the_pipeline(void **state)
{
    (void)state;
    assert_false(aborts(COUNT));
    assert_true(aborts(TWICE));
    assert_true(aborts(BACKWARDS));
    assert_true(aborts(LOOKS_BACK));
    assert_true(aborts(WIDE));
    assert_true(aborts(OUTSIDE));
    assert_true(aborts(THREE));
}

static void is_refused(struct cluster *cluster, struct fabric_switch_array array, const char *text)
{
    struct fabric_switch_program refused = program;
    struct fabric_switch *pipeline;
    struct cellar_error error = {0};
    refused.arrays = &array;
    refused.array_count = 1;
    assert_int_equal(fabric_switch_open(cluster->ep, &refused, NULL, NULL, &pipeline, &error), CELLAR_INVALID);
    assert_null(pipeline);
    assert_non_null(strstr(error.text, text));
}

static void registers_have_bounds(void **state)
{
    struct cluster cluster;
    (void)state;
    setup(&cluster);
    is_refused(&cluster, (struct fabric_switch_array){.name = "a", .stage = 12, .cells = 1, .cell_bytes = 4},
               "no such stage");
    is_refused(&cluster, (struct fabric_switch_array){.name = "a", .cells = 1, .cell_bytes = 3}, "no such cells");
    is_refused(&cluster, (struct fabric_switch_array){.name = "a", .cells = 1310721, .cell_bytes = 1}, "has no room");
    teardown(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_take_their_time),         cmocka_unit_test(a_switch_that_fails_forgets),
        cmocka_unit_test(packets_are_lost_and_come_twice), cmocka_unit_test(programs_keep_to_the_pipeline),
        cmocka_unit_test(registers_have_bounds),
    };
    return cmocka_run_group_tests_name("switch", tests, NULL, NULL);
}
