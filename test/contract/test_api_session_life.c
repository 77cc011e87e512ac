/* test_api_session_life.c - sessions come and go: how many, in which modes, and when their threads end. */
#include "sessions.h"
#include "numbered.h"

#include <pthread.h>
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

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(sessions_come_and_go),
        API_TEST(bad_numbers_of_sessions_are_refused),
        API_TEST(a_mode_without_sessions_says_why),
        API_TEST(a_thread_that_ends_leaves_its_session),
    };
    return api_main("api_session_life", tests, sizeof tests / sizeof *tests, argc, argv);
}
