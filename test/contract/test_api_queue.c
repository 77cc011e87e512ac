/*
 * test_api_queue.c - cellar.h: completion queues: one thread keeps many calls in flight, and every call is reaped
 * once.
 */
#include "api_items.h"
#include "api_keep.h"
#include "db_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM 16
#define CALLS 400

/* A queue, and the arguments of the calls that it may have in flight. */
struct desk {
    struct api *api;
    struct cellar_queue *queue;
    struct add args[ROOM];
    bool in_use[ROOM];
    uint64_t reaped, codes[64];
    uint32_t notified; /* atomically */
};

static void notify(void *arg) { __atomic_fetch_add(&((struct desk *)arg)->notified, 1, __ATOMIC_SEQ_CST); }

static void desk_open(struct desk *desk, struct api *api)
{
    *desk = (struct desk){.api = api};
    MUST(&api->error, db_queue_open(api->db, ROOM, notify, desk, &desk->queue, &api->error));
}

static int desk_submit(struct desk *desk, uint64_t key, const struct cellar_call_options *options)
{
    uint32_t at = 0;
    while (at < ROOM - 1 && desk->in_use[at]) at++;
    if (!desk->in_use[at]) desk->args[at] = add_args(desk->api, key, key);
    int code = cellar_proc_submit(desk->queue, desk->api->any, &desk->args[at], options, &desk->args[at]);
    if (code == 0) desk->in_use[at] = true;
    return code;
}

static int desk_reap(struct desk *desk, uint32_t max, uint64_t timeout_ns)
{
    struct cellar_completion done[ROOM];
    int count = cellar_proc_reap(desk->queue, done, max, timeout_ns);
    for (int i = 0; i < count; i++) {
        struct add *args = done[i].user;
        desk->in_use[args - desk->args] = false;
        desk->codes[-done[i].result.code]++;
        desk->reaped++;
    }
    return count;
}

static void one_thread_keeps_many_in_flight(void **state)
{
    struct api api;
    struct desk desk;
    uint64_t submitted = 0, refused = 0;
    api_open_with(&api, *state, (struct engine_config){.threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    desk_open(&desk, &api);
    assert_int_equal(desk_reap(&desk, 1, UINT64_MAX), 0); /* none is in flight */
    while (submitted < CALLS) {
        int code = desk_submit(&desk, submitted % 10, NULL);
        submitted += code == 0;
        if (code == 0) continue;
        assert_code(code, CELLAR_BUSY);
        assert_int_equal(submitted - desk.reaped, ROOM);
        refused++;
        assert_true(desk_reap(&desk, ROOM, UINT64_MAX) > 0);
    }
    while (desk.reaped < CALLS) assert_true(desk_reap(&desk, 3, UINT64_MAX) > 0);
    assert_true(refused > 0);
    assert_int_equal(desk.codes[0], CALLS);
    assert_true(desk.notified > 0 && desk.notified <= CALLS);
    assert_int_equal(desk_reap(&desk, 1, 0), 0);
    cellar_proc_queue_close(desk.queue);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + CALLS);
    api_audit_clean(&api);
    api_close(&api);
}

static void bad_queues_are_refused(void **state)
{
    struct api api;
    struct cellar_queue *queue;
    struct cellar_completion done;
    api_open(&api, *state);
    FAILS(&api.error, db_queue_open(api.db, 0, NULL, NULL, &queue, &api.error), CELLAR_INVALID, "1 to");
    FAILS(&api.error, db_queue_open(api.db, CELLAR_QUEUE_CALLS_MAX + 1, NULL, NULL, &queue, &api.error), CELLAR_INVALID,
          "1 to");
    assert_null(queue);
    cellar_proc_queue_close(NULL);
    MUST(&api.error, db_queue_open(api.db, 1, NULL, NULL, &queue, &api.error));
    assert_code(cellar_proc_reap(queue, &done, 0, 0), CELLAR_INVALID);
    api_close(&api); /* frees what is open still */
}

/* ---- coordinators that are kept ---- */

/* Of three calls in a queue that stands still one has a deadline, one is cancelled, and one goes on. */
static void calls_end_in_the_queue(void **state)
{
    struct api api;
    struct desk desk;
    struct keeping keeping;
    uint32_t cancel = 0;
    const struct cellar_call_options hurry = {.timeout_ns = 1000000}, unsure = {.cancel = &cancel};
    api_open(&api, *state);
    api_load(&api, 0, 10);
    desk_open(&desk, &api);
    keep_all(&api, &keeping);
    assert_code(desk_submit(&desk, 1, NULL), 0);
    assert_code(desk_submit(&desk, 2, &hurry), 0);
    assert_code(desk_submit(&desk, 3, &unsure), 0);
    assert_int_equal(desk_reap(&desk, ROOM, UINT64_MAX), 1);
    assert_int_equal(desk.codes[-CELLAR_DEADLINE], 1);
    assert_int_equal(desk_reap(&desk, ROOM, 1000000), 0);
    cancel = 1;
    assert_int_equal(desk_reap(&desk, ROOM, UINT64_MAX), 1);
    assert_int_equal(desk.codes[-CELLAR_CANCELLED], 1);
    keep_no_more(&api, &keeping);
    assert_int_equal(desk_reap(&desk, ROOM, UINT64_MAX), 1);
    assert_int_equal(desk.codes[0], 1);
    cellar_proc_queue_close(desk.queue);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 1);
    api_close(&api);
}

/* What has not begun has no effect; what was not reaped is dropped. */
static void a_queue_closes_with_calls_in_it(void **state)
{
    struct api api;
    struct desk desk;
    struct keeping keeping;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    desk_open(&desk, &api);
    keep_all(&api, &keeping);
    for (uint32_t i = 0; i < ROOM; i++) assert_code(desk_submit(&desk, i % 10, NULL), 0);
    cellar_proc_queue_close(desk.queue);
    keep_no_more(&api, &keeping);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45);
    desk_open(&desk, &api);
    for (uint32_t i = 0; i < ROOM; i++) assert_code(desk_submit(&desk, i % 10, NULL), 0);
    cellar_proc_queue_close(desk.queue);
    assert_true(api_totals(&api).sum_a <= 3 * 45 + ROOM);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- closing the database meanwhile ---- */

static void *close_main(void *arg)
{
    cellar_close(((struct api *)arg)->db);
    return NULL;
}

static void closing_ends_what_is_queued(void **state)
{
    struct api api;
    struct desk desk;
    struct keeping keeping;
    pthread_t closer;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    desk_open(&desk, &api);
    keep_all(&api, &keeping);
    for (uint32_t i = 0; i < ROOM; i++) assert_code(desk_submit(&desk, i % 10, NULL), 0);
    assert_int_equal(pthread_create(&closer, NULL, close_main, &api), 0);
    while (!atomic_load(&api.db->closing)) usleep(100);
    uint32_t notified = __atomic_load_n(&desk.notified, __ATOMIC_SEQ_CST);
    assert_int_equal(notified, 0);
    assert_code(desk_submit(&desk, 1, NULL), CELLAR_CLOSED);
    assert_int_equal(desk_reap(&desk, 1, UINT64_MAX), CELLAR_CLOSED);
    keep_no_more(&api, &keeping);
    pthread_join(closer, NULL);
    assert_int_equal(desk.notified, 1); /* they ended, and were not reaped */
}

/* ---- many queues at once ---- */

#define THREADS 4

static void *desk_main(void *arg)
{
    struct desk *desk = arg;
    uint64_t submitted = 0;
    while (desk->reaped < CALLS) {
        bool full = submitted == CALLS || desk_submit(desk, submitted % 10, NULL) != 0;
        if (!full) submitted++;
        if (desk_reap(desk, ROOM, full ? UINT64_MAX : 0) < 0) break;
    }
    return NULL;
}

static void threads_have_queues_of_their_own(void **state)
{
    struct api api;
    static struct desk desks[THREADS];
    pthread_t threads[THREADS];
    api_open_with(&api, *state, (struct engine_config){.threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    for (uint32_t i = 0; i < THREADS; i++) {
        desk_open(&desks[i], &api);
        assert_int_equal(pthread_create(&threads[i], NULL, desk_main, &desks[i]), 0);
    }
    for (uint64_t i = 0; i < CALLS; i++) assert_code(add_one(&api, i % 10, NULL), 0); /* beside them */
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(desks[i].codes[0], CALLS);
        cellar_proc_queue_close(desks[i].queue);
    }
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + (THREADS + 1) * CALLS);
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(one_thread_keeps_many_in_flight), API_TEST(bad_queues_are_refused),
        API_TEST(calls_end_in_the_queue),          API_TEST(a_queue_closes_with_calls_in_it),
        API_TEST_SHM(closing_ends_what_is_queued), API_TEST_SHM(threads_have_queues_of_their_own),
    };
    return api_main("api_queue", tests, sizeof tests / sizeof *tests, argc, argv);
}
