/*
 * test_sched_signal.c - sched_wait and sched_signal: no signal is lost, by whichever thread it is set, and when. In
 * virtual time, and between two threads of `shm`, where the handshake of signal and `waiting` is raced hundreds of
 * thousands of times (the build with TSan watches it).
 */
#include "fabric_shm.h"
#include "fabric_sim.h"
#include "sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#define STACK_BYTES (64u << 10)
#define ROUNDS_SHM 20000
#define ROUNDS_SIM 2000
#define SHORT_NS 300

struct player;
typedef void (*player_fn)(struct coro *co, struct player *player);

/* A worker with one task. */
struct player {
    struct player *other;
    struct fabric_ep *ep;
    struct sched sched;
    struct sched_task task;
    struct coro *co;
    atomic_bool signal;
    player_fn play;
    uint32_t rounds, timeouts, signals;
    uint32_t *running;
};

static void worker_main(void *arg)
{
    struct player *player = arg;
    sched_ready(&player->sched, &player->task);
    while (!coro_done(player->co))
        if (!sched_round(&player->sched)) fabric_idle(player->ep, sched_next_ns(&player->sched));
    fabric_done(player->ep->fabric, player->running);
}

static void player_main(struct coro *co, void *arg) { ((struct player *)arg)->play(co, arg); }

static void signal_other(struct player *player)
{
    sched_signal(&player->sched, &player->other->sched, &player->other->task, &player->other->signal);
}

static bool await(struct coro *co, struct player *player, uint64_t until_ns)
{
    return sched_wait(co, &player->sched, &player->task, &player->signal, until_ns);
}

/* Ping-pong: each signal is answered. One that got lost is the end of it. */
static void serve(struct coro *co, struct player *player)
{
    for (uint32_t i = 0; i < player->rounds; i++) {
        signal_other(player);
        if (await(co, player, UINT64_MAX)) player->signals++;
    }
}

static void give_back(struct coro *co, struct player *player)
{
    for (uint32_t i = 0; i < player->rounds; i++) {
        if (await(co, player, UINT64_MAX)) player->signals++;
        signal_other(player);
    }
}

/*
 * The same by one that gives up again and again, just when the answer comes; a signal after that is for the next
 * wait.
 */
static void serve_impatiently(struct coro *co, struct player *player)
{
    for (uint32_t i = 0; i < player->rounds; i++) {
        signal_other(player);
        while (!await(co, player, fabric_now_ns(player->ep) + SHORT_NS)) player->timeouts++;
        player->signals++;
    }
}

static void play(struct fabric *fabric, player_fn first, player_fn second, uint32_t rounds, struct player players[2])
{
    const player_fn plays[2] = {first, second};
    struct cellar_error error;
    uint32_t running = 2;
    for (uint32_t i = 0; i < 2; i++) {
        struct player *player = &players[i];
        *player = (struct player){.other = &players[1 - i], .play = plays[i], .rounds = rounds, .running = &running};
        assert_int_equal(fabric_endpoint_open(fabric, 0, i, &player->ep, &error), 0);
        sched_init(&player->sched, player->ep);
        player->co = player->task.co = coro_new(STACK_BYTES, player_main, player);
        assert_non_null(player->co);
    }
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(fabric->ops->spawn(fabric, players[i].ep, worker_main, &players[i]), 0);
    assert_int_equal(fabric->ops->wait(fabric, &running, UINT64_MAX), 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(players[i].signals, rounds);
        assert_false(players[i].signal);
        assert_null(players[i].sched.sleepers);
        fabric_endpoint_close(players[i].ep);
        coro_free(players[i].co);
    }
}

static void on_shm(player_fn first, player_fn second, struct player players[2])
{
    struct fabric_shm_config config = {.mn_count = 1, .cn_count = 1, .mn_bytes = 1 << 16, .seed = 1};
    struct cellar_error error;
    struct fabric *fabric;
    assert_int_equal(fabric_shm_open(&config, &fabric, &error), 0);
    play(fabric, first, second, ROUNDS_SHM, players);
    fabric_close(fabric);
}

static void in_sim(player_fn first, player_fn second, uint64_t seed, struct player players[2])
{
    struct fabric_sim_config config;
    struct cellar_error error;
    struct fabric *fabric;
    fabric_sim_config_default(&config);
    config.seed = seed;
    config.mn_bytes = 1 << 16;
    assert_int_equal(fabric_sim_open(&config, &fabric, &error), 0);
    play(fabric, first, second, ROUNDS_SIM, players);
    fabric_close(fabric);
}

static void no_signal_between_threads_is_lost(void **state)
{
    struct player players[2];
    on_shm(serve, give_back, players);
    in_sim(serve, give_back, 1, players);
}

static void no_signal_to_the_impatient_is_lost(void **state)
{
    struct player players[2];
    on_shm(serve_impatiently, give_back, players);
    for (uint64_t seed = 1; seed <= 5; seed++) in_sim(serve_impatiently, give_back, seed, players);
}

/* ---- one worker alone ---- */

static void signal_oneself(struct coro *co, struct player *player)
{
    sched_signal(&player->sched, &player->sched, &player->task, &player->signal);
    uint64_t now_ns = fabric_now_ns(player->ep);
    assert_true(await(co, player, 0));               /* set before: however late it is */
    assert_false(await(co, player, now_ns));         /* and taken: no second time */
    assert_false(await(co, player, now_ns + 10000)); /* no signal comes: not before it is time */
    assert_true(fabric_now_ns(player->ep) >= now_ns + 10000);
    player->signals = player->rounds;
}

static void nothing(struct coro *co, struct player *player) { player->signals = player->rounds; }

static void a_signal_is_taken_once_and_time_is_kept(void **state)
{
    struct player players[2];
    in_sim(signal_oneself, nothing, 1, players);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_is_taken_once_and_time_is_kept),
        cmocka_unit_test(no_signal_between_threads_is_lost),
        cmocka_unit_test(no_signal_to_the_impatient_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
