/* test_api_session_life.c - sessions come and go: how many, in which modes, and when their threads end. */
#include "sessions.h"
#include "numbered.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static void sessions_come_and_go(void **state)
{
    struct api api;
    struct session *sessions[3];
    if (!sessions_possible(*state)) skip();
    api_open_with(&api, *state, (struct engine_config){.sessions = 2, .cns = 2});
    api_load(&api, 0, 10);
    for (int turn = 0; turn < 3; turn++) {
        sessions[0] = sessions_opened(&api);
        sessions[1] = sessions_opened(&api);
        FAILS(&api.error, session_open(api.db, &sessions[2], &api.error), CELLAR_FULL, "2 transactions are open");
        assert_null(sessions[2]);
        for (uint64_t i = 0; i < 2; i++) {
            struct cellar_txn *txn = sessions_begun(sessions[i]);
            sessions_put(&api, txn, i, sessions_got(&api, txn, i) + 1);
            assert_code(session_commit(txn, NULL), 0);
            session_close(sessions[i]);
        }
    }
    session_close(NULL);
    assert_int_equal(sessions_sum_of(&api), 3 * 45 + 6);
    api_audit_clean(&api);
    api_close(&api);
}

static void bad_numbers_of_sessions_are_refused(void **state)
{
    struct cellar *db;
    struct cellar_error error;
    struct engine_config config = {.fabric = ((const struct api_variant *)*state)->fabric, .sessions = 128};
    FAILS(&error, db_open(&config, &db, &error), CELLAR_INVALID, "1 threads and txns_max 128: at most 128");
}

static void a_mode_without_sessions_says_why(void **state)
{
    struct api api;
    struct session *session;
    if (sessions_possible(*state)) skip();
    api_open(&api, *state);
    FAILS(&api.error, session_open(api.db, &session, &api.error), CELLAR_UNSUPPORTED, "mode 2pl");
    api_close(&api);
}

static void count_warnings(void *arg, enum cellar_log_level level, const char *text)
{
    if (level == CELLAR_LOG_WARNING && strstr(text, "its thread has ended, and left it open")) ++*(int *)arg;
}

static void *leave_open(void *arg)
{
    struct api *api = arg;
    struct session *session;
    struct cellar_txn *txn;
    uint64_t a;
    if (session_open(api->db, &session, NULL) || session_begin(session, NULL, &txn)) return arg;
    return cellar_txn_get(txn, api->items, 1, ITEM_A, &a) ? arg : NULL;
}

static void a_thread_that_ends_leaves_its_session(void **state)
{
    struct api api;
    int warnings = 0;
    if (!sessions_possible(*state)) skip();
    api_open_with(&api, *state, (struct engine_config){.sessions = 1, .log = count_warnings, .log_arg = &warnings});
    api_load(&api, 0, 10);
    for (int turn = 0; turn < 3; turn++) {
        pthread_t thread;
        void *failed;
        assert_int_equal(pthread_create(&thread, NULL, leave_open, &api), 0);
        pthread_join(thread, &failed);
        assert_null(failed);
    }
    assert_int_equal(warnings, 2);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- whose session a transaction is lent: nothing is taken over from another thread's cache ---- */

#define TURN_THREADS 6
#define ROUNDS_MAX 100000 /* ten seconds at least */

/* Threads make transactions one after the other, never two at a time. */
struct turns {
    struct api *api;
    uint32_t threads, rounds;
    uint32_t now[TURN_THREADS], before[TURN_THREADS]; /* the places of their sessions */
    bool apart; /* until each has the session that it had before, and no two have one; else three rounds */
    atomic_bool settled;
    atomic_uint turn, failed;
};

struct turns_thread {
    struct turns *turns;
    uint32_t number;
};

static int turn_take(struct turns *turns, uint32_t number)
{
    struct session *session;
    struct cellar_txn *txn;
    uint64_t a = number;
    int rc = session_take(turns->api->db, &session, NULL);
    if (rc) return rc;
    turns->now[number] = session->number;
    rc = session_begin_taken(session, NULL, &txn);
    if (rc == 0) rc = cellar_txn_put(txn, turns->api->items, number, ITEM_A, &a);
    return rc ? rc : session_commit(txn, NULL);
}

static void round_end(struct turns *turns)
{
    bool settled = ++turns->rounds > 2;
    for (uint32_t i = 0; i < turns->threads && turns->apart; i++) {
        settled = settled && turns->now[i] == turns->before[i];
        for (uint32_t j = 0; j < i; j++) settled = settled && turns->now[i] != turns->now[j];
    }
    memcpy(turns->before, turns->now, sizeof turns->now);
    if (!settled) usleep(100); /* a worker lies down meanwhile */
    atomic_store(&turns->settled, settled || turns->rounds == ROUNDS_MAX);
}

static void *take_turns(void *arg)
{
    struct turns_thread *self = arg;
    struct turns *turns = self->turns;
    for (uint32_t round = 0;; round++) {
        while (atomic_load(&turns->turn) != round * turns->threads + self->number && !atomic_load(&turns->settled))
            sched_yield();
        if (atomic_load(&turns->settled)) return NULL;
        if (turn_take(turns, self->number)) atomic_fetch_add(&turns->failed, 1);
        if (self->number + 1 == turns->threads) round_end(turns);
        atomic_fetch_add(&turns->turn, 1);
    }
}

static void turns_run(struct turns *turns, struct api *api, uint32_t threads, bool apart)
{
    struct turns_thread selves[TURN_THREADS];
    pthread_t ids[TURN_THREADS];
    memset(turns, 0, sizeof *turns);
    turns->api = api;
    turns->threads = threads;
    turns->apart = apart;
    for (uint32_t i = 0; i < threads; i++) {
        selves[i] = (struct turns_thread){turns, i};
        assert_int_equal(pthread_create(&ids[i], NULL, take_turns, &selves[i]), 0);
    }
    for (uint32_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    assert_int_equal(atomic_load(&turns->failed), 0);
    assert_true(turns->rounds < ROUNDS_MAX);
}

static void threads_have_sessions_of_their_own(void **state)
{
    struct api api;
    struct turns turns;
    if (!sessions_possible(*state)) skip();
    for (uint32_t slots = TURN_THREADS; slots <= 64; slots = slots * 3 + 1) { /* their places may be the same in few */
        api_open_with(&api, *state, (struct engine_config){.sessions = slots});
        api_load(&api, 0, 10);
        bool own = api.db->sessions_spread;
        turns_run(&turns, &api, TURN_THREADS, own);
        assert_int_equal(atomic_load(&api.db->sessions_made), own ? TURN_THREADS : 1);
        api_audit_clean(&api);
        api_close(&api);
    }
}

/* One slot more than threads at work: that of a thread which has ended is found by the one that has none. */
static void a_session_of_a_thread_that_has_ended_is_found(void **state)
{
    struct api api;
    struct turns turns;
    if (!sessions_possible(*state)) skip();
    uint32_t place = 0;
    for (int tries = 0; tries < 100 && place == 0; tries++) { /* not the first one, which is found by all */
        api_open_with(&api, *state, (struct engine_config){.sessions = 3});
        api_load(&api, 0, 10);
        bool own = api.db->sessions_spread;
        turns_run(&turns, &api, 1, own);
        place = own ? turns.now[0] : 1;
        turns_run(&turns, &api, 3, own);
        api_close(&api);
    }
    assert_int_not_equal(place, 0);
}

struct engaged {
    struct api_call call;
    struct turns *turns;
};

/* What a thread begins while a procedure has the first worker, which is to help with a session of its own. */
static void *take_one_turn(void *arg)
{
    struct turns *turns = arg;
    if (turn_take(turns, 0)) atomic_fetch_add(&turns->failed, 1);
    return NULL;
}

static int beside_another(struct cellar_txn *txn, struct api_call *call)
{
    pthread_t id;
    (void)txn;
    if (pthread_create(&id, NULL, take_one_turn, ((struct engaged *)call)->turns)) return 1;
    pthread_join(id, NULL);
    return 0;
}

static void an_engaged_worker_is_not_waited_for(void **state)
{
    struct api api;
    struct turns turns;
    if (!sessions_possible(*state)) skip();
    api_open_with(&api, *state, (struct engine_config){.sessions = 8});
    api_load(&api, 0, 10);
    if (api.db->sessions_spread) {
        struct engaged args = {.turns = &turns};
        turns = (struct turns){.api = &api};
        assert_code(turn_take(&turns, 0), 0);
        assert_code(api_run(&api, beside_another, &args), 0);
        assert_int_equal(atomic_load(&turns.failed), 0);
        assert_code(turn_take(&turns, 0), 0); /* what the other one has borrowed is this thread's */
        assert_int_equal(atomic_load(&api.db->sessions_made), 1);
    }
    api_close(&api);
}

/* Their logs may take a part of the pool, and no more; and where there is no room for one, threads share the others. */
static void sessions_are_shared_where_there_is_no_room(void **state)
{
    struct api api;
    struct turns turns;
    if (!sessions_possible(*state)) skip();
    api_open_with(&api, *state, (struct engine_config){.sessions = 64, .coros = 1, .log_bytes = 3 << 20});
    api_load(&api, 0, 10);
    turns_run(&turns, &api, TURN_THREADS, false);
    assert_int_equal(atomic_load(&api.db->sessions_made), 1);
    if (api.db->sessions_spread) {
        atomic_store(&api.db->sessions_own, 64);
        for (uint32_t tries = ROUNDS_MAX; atomic_load(&api.db->sessions_own) && tries; tries--)
            turns_run(&turns, &api, TURN_THREADS, false);
        assert_int_equal(atomic_load(&api.db->sessions_own), 0);
    }
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(sessions_come_and_go),
        API_TEST(bad_numbers_of_sessions_are_refused),
        API_TEST(a_mode_without_sessions_says_why),
        API_TEST(a_thread_that_ends_leaves_its_session),
        API_TEST(threads_have_sessions_of_their_own),
        API_TEST(a_session_of_a_thread_that_has_ended_is_found),
        API_TEST(an_engaged_worker_is_not_waited_for),
        API_TEST(sessions_are_shared_where_there_is_no_room),
    };
    return api_main("api_session_life", tests, sizeof tests / sizeof *tests, argc, argv);
}
