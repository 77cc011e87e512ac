/*
 * test_api_session_hold.c - cellar.h: what interactive transactions read for update is locked, and for no longer than
 * its bound: whatever its client does, and whoever needs the compute node.
 */
#include "crest.h"
#include "numbered.h"
#include "plant.h"
#include "session.h"
#include "sessions.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_NS 1000000000ull /* the longest bound there is */
#define SOON_NS 200000000ull

static struct cellar_txn *begun(struct session *session, uint64_t lock_ns, uint64_t timeout_ns)
{
    struct cellar_txn *txn;
    struct session_options options = {.lock_ns = lock_ns, .timeout_ns = timeout_ns};
    assert_code(session_begin(session, &options, &txn), 0);
    return txn;
}

static uint64_t got_for_update(struct api *api, struct cellar_txn *txn, uint64_t key)
{
    uint64_t a = 0;
    assert_code(cellar_txn_get_for_update(txn, api->items, key, ITEM_A, &a), 0);
    return a;
}

/* Mode cellar has chosen its way: later on it does not stand still to turn. */
static bool opened(struct sessions_pair *pair, const struct api_variant *variant)
{
    struct cellar_lab_way way = {.wait_ns = 0};
    if (!sessions_pair_open(pair, variant)) return false;
    for (int i = 0; i < 2000 && variant->cc == CELLAR_LAB_CC_CELLAR && (!way.wait_ns || i % 100); i++) {
        (void)look_at(&pair->api, 1);
        cellar_lab_way_read(pair->api.db, &way);
    }
    return true;
}

static enum hold_state state_of(const struct session *session) { return atomic_load(&session->hold.state); }

/* ---- one client ---- */

static void what_is_locked_is_written_and_given_back(void **state)
{
    struct sessions_pair pair;
    uint64_t a;
    if (!opened(&pair, *state)) skip();
    struct api *api = &pair.api;
    for (uint64_t round = 0; round < 3; round++) {
        struct cellar_txn *txn = begun(pair.one, LONG_NS, 0);
        assert_int_equal(got_for_update(api, txn, 3), 9 + 2 * round);
        sessions_put(api, txn, 3, 10 + 2 * round);
        assert_int_equal(got_for_update(api, txn, 3), 10 + 2 * round); /* own, and locked already */
        assert_int_equal(got_for_update(api, txn, 4), 12 + round);
        sessions_put(api, txn, 4, 13 + round);
        assert_int_equal(sessions_got(api, txn, 5), 15 + round); /* not locked */
        sessions_put(api, txn, 5, 16 + round);
        assert_code(cellar_check(txn), 0);
        assert_code(cellar_txn_get_for_update(txn, api->items, 77, ITEM_A, &a), CELLAR_NOT_FOUND);
        assert_code(session_commit(txn, NULL), 0);
        txn = sessions_begun(pair.two); /* nothing is left */
        sessions_put(api, txn, 3, 11 + 2 * round);
        assert_code(session_commit(txn, NULL), 0);
    }
    sessions_pair_close(&pair);
}

static void all_columns_of_what_is_locked_can_be_read(void **state)
{
    struct sessions_pair pair;
    struct item item = item_of(3), read;
    char other[sizeof read.text] = "another text";
    if (!opened(&pair, *state)) skip();
    struct cellar_txn *txn = begun(pair.one, LONG_NS, 0);
    assert_int_equal(got_for_update(&pair.api, txn, 3), 9);
    assert_code(cellar_txn_get(txn, pair.api.items, 3, ITEM_TEXT, read.text), 0);
    assert_memory_equal(read.text, item.text, sizeof read.text);
    assert_code(cellar_txn_get(txn, pair.api.items, 3, ITEM_B, &read.b), 0);
    assert_int_equal(read.b, item.b);
    assert_code(cellar_txn_put(txn, pair.api.items, 3, ITEM_TEXT, other), 0);
    assert_code(session_commit(txn, NULL), 0);
    assert_memory_equal(look_at(&pair.api, 3).item.text, other, sizeof other);
    assert_int_equal(look_at(&pair.api, 3).item.a, 9);
    sessions_pair_close(&pair);
}

static void what_is_locked_is_deleted_or_left(void **state)
{
    struct sessions_pair pair;
    if (!opened(&pair, *state)) skip();
    struct api *api = &pair.api;
    struct item item = item_of(33);
    struct cellar_txn *txn = begun(pair.one, LONG_NS, 0);
    (void)got_for_update(api, txn, 3);
    assert_code(cellar_txn_delete(txn, api->items, 3), 0);
    assert_code(cellar_txn_insert(txn, api->items, 33, &item), 0);
    assert_int_equal(got_for_update(api, txn, 33), 99); /* its own: nothing to lock */
    assert_code(session_commit(txn, NULL), 0);
    assert_false(look_at(api, 3).found);
    assert_true(look_at(api, 33).found);
    txn = begun(pair.one, LONG_NS, 0);
    (void)got_for_update(api, txn, 4);
    assert_code(session_abort(txn), 0);
    txn = begun(pair.one, LONG_NS, 0);
    (void)got_for_update(api, txn, 4);
    assert_code(session_commit(txn, NULL), 0); /* nothing was written */
    txn = begun(pair.two, LONG_NS, SOON_NS);
    (void)got_for_update(api, txn, 4);
    session_close(pair.two); /* open */
    pair.two = sessions_opened(api);
    txn = begun(pair.two, LONG_NS, SOON_NS);
    (void)got_for_update(api, txn, 4);
    assert_code(session_commit(txn, NULL), 0);
    sessions_pair_close(&pair);
}

/* ---- two clients ---- */

/* Another one that would write waits, and goes on when the bound has passed; then the transaction is over. */
static bool others_wait_for_the_bound(struct sessions_pair *pair)
{
    struct api *api = &pair->api;
    struct cellar_txn *txn = begun(pair->one, 200000000, 0), *other = begun(pair->two, 0, 2 * LONG_NS);
    uint64_t a = got_for_update(api, txn, 3), b;
    sessions_put(api, other, 3, a + 1);
    int code = session_commit(other, NULL), after = cellar_txn_get(txn, api->items, 4, ITEM_A, &b);
    bool waited = code == 0 && after == CELLAR_RETRY;
    if (waited) sessions_assert_line(CELLAR_RETRY, "lock_us has passed", "200000");
    if (waited) assert_code(cellar_txn_put(txn, api->items, 3, ITEM_A, &a), CELLAR_RETRY);
    if (waited) assert_code(session_commit(txn, NULL), CELLAR_RETRY);
    if (!waited) assert_code(session_abort(txn), 0);
    if (code == 0) assert_int_equal(look_at(api, 3).item.a, a + 1);
    return waited;
}

static void a_lock_ends_with_its_bound(void **state)
{
    struct sessions_pair pair;
    if (!opened(&pair, *state)) skip();
    assert_true(others_wait_for_the_bound(&pair));
    assert_true(others_wait_for_the_bound(&pair));
    sessions_pair_close(&pair);
}

static void a_commit_within_the_bound_comes_first(void **state)
{
    struct sessions_pair pair;
    const struct api_variant *variant = *state;
    bool shared = variant->cc == CELLAR_LAB_CC_CREST || variant->cc == CELLAR_LAB_CC_CELLAR;
    if (!opened(&pair, *state)) skip();
    struct api *api = &pair.api;
    struct cellar_txn *txn = begun(pair.one, LONG_NS, 0), *other = begun(pair.two, 0, 1000000);
    uint64_t a = got_for_update(api, txn, 3);
    sessions_put(api, other, 3, 77);
    /* Its own bound; what is locked is not its. Where records are shared it would wait for the other one's end. */
    if (!shared) assert_code(session_commit(other, NULL), CELLAR_DEADLINE);
    sessions_put(api, txn, 3, a + 5);
    assert_code(session_commit(txn, NULL), 0);
    assert_int_equal(look_at(api, 3).item.a, a + 5);
    sessions_pair_close(&pair);
}

/* Each has what the other one wants: neither waits for ever. */
static void two_that_want_what_the_other_has_go_on(void **state)
{
    struct sessions_pair pair;
    uint64_t a;
    if (!opened(&pair, *state)) skip();
    struct api *api = &pair.api;
    struct cellar_txn *one = begun(pair.one, 200000000, 0), *two = begun(pair.two, 200000000, 0);
    (void)got_for_update(api, one, 3);
    (void)got_for_update(api, two, 4);
    int code = cellar_txn_get_for_update(one, api->items, 4, ITEM_A, &a);
    assert_true(code == 0 || code == CELLAR_RETRY);
    int other = cellar_txn_get_for_update(two, api->items, 3, ITEM_A, &a);
    assert_true(other == 0 || other == CELLAR_RETRY);
    (void)session_abort(one);
    (void)session_abort(two);
    one = begun(pair.one, LONG_NS, 0);
    assert_int_equal(got_for_update(api, one, 4), 12);
    assert_int_equal(got_for_update(api, one, 3), 9);
    assert_code(session_commit(one, NULL), 0);
    sessions_pair_close(&pair);
}

static void a_lock_stays_what_was_read(void **state)
{
    struct sessions_pair pair;
    uint64_t a;
    if (!opened(&pair, *state)) skip();
    struct api *api = &pair.api;
    struct cellar_txn *txn = begun(pair.one, LONG_NS, 0), *other = sessions_begun(pair.two);
    assert_int_equal(sessions_got(api, txn, 3), 9); /* its client knows this one */
    sessions_put(api, other, 3, 10);
    assert_code(session_commit(other, NULL), 0);
    assert_code(cellar_txn_get_for_update(txn, api->items, 3, ITEM_A, &a), CELLAR_RETRY);
    sessions_assert_line(CELLAR_RETRY, "key 3", "was changed");
    assert_code(session_commit(txn, NULL), CELLAR_RETRY);
    sessions_pair_close(&pair);
}

struct counting {
    struct api *api;
    int failed;
};

static int count_up(struct cellar_txn *txn, void *arg)
{
    struct counting *counting = arg;
    uint64_t a;
    int rc = cellar_txn_get_for_update(txn, counting->api->items, 0, ITEM_A, &a);
    a++;
    return rc ? rc : cellar_txn_put(txn, counting->api->items, 0, ITEM_A, &a);
}

static void *count_on(void *arg)
{
    struct counting *counting = arg;
    struct session *session;
    counting->failed = session_open(counting->api->db, &session, NULL);
    for (int i = 0; i < 100 && counting->failed == 0; i++) {
        counting->failed = session_transact(session, count_up, counting);
    }
    return NULL;
}

static void threads_count_to_the_sum(void **state)
{
    struct api api;
    pthread_t threads[4];
    struct counting countings[4];
    if (!sessions_possible(*state)) skip();
    api_open(&api, *state);
    api_load(&api, 0, 10);
    for (int i = 0; i < 4; i++) {
        countings[i] = (struct counting){.api = &api};
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, &countings[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) assert_code(countings[i].failed, 0);
    assert_int_equal(look_at(&api, 0).item.a, 400);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- a commit that begins again ---- */

static void *overtake(void *arg)
{
    struct api *api = arg;
    int rc = add_one(api, 1, NULL);
    lock_five(api, false);
    return rc ? arg : NULL;
}

/*
 * Record 1 is locked for update, and 2 read beside it. The commit meets a tag at record 5: its attempt lets go of
 * record 1, which a procedure changes. So the commit is to say RETRY: true.
 */
static bool is_overtaken(struct sessions_pair *pair, bool deletes)
{
    struct api *api = &pair->api;
    pthread_t thread;
    void *failed;
    struct cellar_txn *txn = begun(pair->one, LONG_NS, 0);
    uint64_t before = look_at(api, 1).item.a;
    assert_int_equal(got_for_update(api, txn, 1), before);
    (void)sessions_got(api, txn, 2);
    if (deletes) assert_code(cellar_txn_delete(txn, api->items, 1), 0);
    if (!deletes) sessions_put(api, txn, 1, before + 1);
    sessions_put(api, txn, 5, before);
    lock_five(api, true);
    assert_int_equal(pthread_create(&thread, NULL, overtake, api), 0);
    int code = session_commit(txn, NULL);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_true(code == 0 || code == CELLAR_RETRY);
    return code == CELLAR_RETRY && look_at(api, 1).item.a == before + 1;
}

static bool puts_are_overtaken(struct sessions_pair *pair) { return is_overtaken(pair, false); }
static bool deletes_are_overtaken(struct sessions_pair *pair) { return is_overtaken(pair, true); }

static void what_was_locked_is_compared_again(void **state)
{
    struct sessions_pair pair;
    if (!opened(&pair, *state)) skip();
    assert_true(puts_are_overtaken(&pair));
    assert_true(deletes_are_overtaken(&pair));
    sessions_pair_close(&pair);
}

/*
 * Record 1 is locked, and record 5, which was read, is to be, where another's tag is: the attempt begins again, and
 * finds record 1 changed by a procedure, and record 5 as it was. The transaction is over: its record 1 is old.
 */
static bool a_second_lock_is_overtaken(struct sessions_pair *pair)
{
    struct api *api = &pair->api;
    pthread_t thread;
    void *failed;
    uint64_t before = look_at(api, 1).item.a, a;
    char text[sizeof(struct item)];
    struct cellar_txn *txn = begun(pair->one, LONG_NS, 0);
    assert_int_equal(got_for_update(api, txn, 1), before);
    for (int column = 0; column < ITEM_COLUMNS; column++)
        assert_code(cellar_txn_get(txn, api->items, 5, column, text), 0);
    lock_five(api, true);
    assert_int_equal(pthread_create(&thread, NULL, overtake, api), 0);
    int code = cellar_txn_get_for_update(txn, api->items, 5, ITEM_A, &a);
    if (code == 0) sessions_put(api, txn, 1, before + 1); /* an update of the procedure's is lost */
    int end = session_commit(txn, NULL);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(look_at(api, 1).item.a, before + 1);
    return code == CELLAR_RETRY && end == CELLAR_RETRY;
}

static void what_was_locked_before_is_compared_too(void **state)
{
    struct sessions_pair pair;
    if (!opened(&pair, *state)) skip();
    assert_true(a_second_lock_is_overtaken(&pair));
    sessions_pair_close(&pair);
}

/* ---- others of the compute node ---- */

struct lingering {
    struct api_call call; /* first */
    struct api *api;
    sem_t there, go;
};

/* A procedure that has read record 3, and takes its time. */
static int linger(struct cellar_txn *txn, struct api_call *call)
{
    struct lingering *lingering = (struct lingering *)call;
    for (uint64_t key = 3; key <= 4; key++) { /* the first block ends with the second */
        TRY(cellar_proc_access(txn, call->items, key, CELL_A, 0, 0));
        TRY(cellar_proc_fetch(txn));
    }
    if (call->runs > 1) return 0; /* record 3 was changed meanwhile */
    sem_post(&lingering->there);
    sem_wait(&lingering->go);
    return 0;
}

static void *linger_main(void *arg)
{
    struct lingering *lingering = arg;
    struct api *api = lingering->api;
    struct cellar_result result;
    lingering->call = (struct api_call){.body = linger, .items = api->items};
    return cellar_proc_run(api->db, api->any, lingering, NULL, &result) ? arg : NULL;
}

static bool no_slot_is_locked(const struct local *local)
{
    bool locked = false;
    for (uint32_t slot = 0; slot < LOCAL_SLOTS; slot++) locked = locked || local->slots[slot].lock;
    return !locked;
}

/* What a procedure has, too, is locked for update: in mode crest they share it, and its slot has a spin lock. */
static bool spin_locks_are_free(struct sessions_pair *pair)
{
    struct lingering lingering = {.api = &pair->api};
    pthread_t thread;
    void *failed;
    sem_init(&lingering.there, 0, 0);
    sem_init(&lingering.go, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, linger_main, &lingering), 0);
    sem_wait(&lingering.there);
    struct cellar_txn *txn = begun(pair->one, LONG_NS, 0);
    (void)got_for_update(&pair->api, txn, 3);
    bool free = no_slot_is_locked(crest_local_of(pair->one->worker->node));
    sem_post(&lingering.go);
    if (free) sessions_put(&pair->api, txn, 3, 5);
    assert_code(free ? session_commit(txn, NULL) : session_abort(txn), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    return free;
}

static void a_lock_keeps_no_spin_lock(void **state)
{
    struct sessions_pair pair;
    const struct api_variant *variant = *state;
    if (variant->cc != CELLAR_LAB_CC_CREST || !opened(&pair, variant)) skip();
    assert_true(spin_locks_are_free(&pair));
    sessions_pair_close(&pair);
}

/* A settlement or a failover needs the gate: the hold is out of it soon, and not at its bound. */
static bool makes_way(struct sessions_pair *pair)
{
    struct api *api = &pair->api;
    struct cellar_txn *txn = begun(pair->one, LONG_NS, 0);
    (void)got_for_update(api, txn, 3);
    struct gate *gate = &pair->one->worker->node->gate;
    atomic_fetch_add(&gate->waiting, 1); /* as a coordinator that has something to settle */
    while (state_of(pair->one) == HOLD_ACTIVE) usleep(100);
    bool soon = state_of(pair->one) == HOLD_DISTURBED;
    atomic_fetch_sub(&gate->waiting, 1);
    int code = session_commit(txn, NULL);
    assert_code(code, CELLAR_RETRY);
    if (soon) sessions_assert_line(CELLAR_RETRY, "stand still", "given back");
    return soon;
}

static void *leave_locked(void *arg)
{
    struct api *api = arg;
    struct session *session;
    uint64_t a;
    if (session_open(api->db, &session, NULL)) return arg;
    return cellar_txn_get_for_update(begun(session, 200000000, 0), api->items, 3, ITEM_A, &a) ? arg : NULL;
}

static void a_lock_is_in_no_ones_way(void **state)
{
    struct sessions_pair pair;
    pthread_t thread;
    void *failed;
    if (!opened(&pair, *state)) skip();
    assert_true(makes_way(&pair));
    /* A database that closes does not wait for what a thread has left. */
    assert_int_equal(pthread_create(&thread, NULL, leave_locked, &pair.api), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    api_close(&pair.api);
}

static void a_thread_that_ends_blocks_for_the_bound(void **state)
{
    struct api api;
    pthread_t thread;
    void *failed;
    if (!sessions_possible(*state)) skip();
    api_open_with(&api, *state, (struct engine_config){.sessions = 1});
    api_load(&api, 0, 10);
    for (uint64_t turn = 0; turn < 2; turn++) {
        assert_int_equal(pthread_create(&thread, NULL, leave_locked, &api), 0);
        pthread_join(thread, &failed);
        assert_null(failed);
        struct session *session; /* in its place: the system may say a moment later that the thread has ended */
        while (session_open(api.db, &session, &api.error) == CELLAR_FULL) usleep(100);
        assert_non_null(session);
        struct cellar_txn *txn = sessions_begun(session);
        sessions_put(&api, txn, 3, 50 + turn);
        assert_code(session_commit(txn, NULL), 0);
        session_close(session);
    }
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- a process that dies ---- */

static struct cellar *pool_opened(const char *path, const struct api_variant *variant, struct cellar_error *error)
{
    struct cellar *db;
    struct engine_config config = {.cc = variant->cc, .pool_path = path, .pool_bytes = 16u << 20};
    return db_open(&config, &db, error) ? NULL : db;
}

static const struct cellar_table *table_of(struct cellar *db)
{
    static const struct cellar_schema_column columns[] = {{"a", 0, 8, CELLAR_OWN_CELL}};
    const struct cellar_schema schema = {"numbers", 8, columns, 1, 100, 0, 0, 0, 0, 0};
    const struct cellar_table *table;
    return db_table_create(db, &schema, &table, NULL) ? NULL : table;
}

/* Locks, says so, and waits for its end. */
static void hold_until_killed(const char *path, const struct api_variant *variant, int pipe_end)
{
    struct cellar_error error;
    struct cellar *db = pool_opened(path, variant, &error);
    const struct cellar_table *table = db ? table_of(db) : NULL;
    struct session *session;
    struct cellar_txn *txn;
    struct session_options options = {.lock_ns = LONG_NS};
    uint64_t a = 7;
    if (!table || session_open(db, &session, NULL) || session_begin(session, NULL, &txn) ||
        cellar_txn_insert(txn, table, 1, &a) || session_commit(txn, NULL) || session_begin(session, &options, &txn) ||
        cellar_txn_get_for_update(txn, table, 1, 0, &a) || write(pipe_end, "x", 1) != 1)
        _exit(1);
    for (;;) pause();
}

static void the_lock_of_a_dead_process_goes(void **state)
{
    char path[] = "/dev/shm/cellar-hold-XXXXXX", byte;
    const struct api_variant *variant = *state;
    struct cellar_error error = {0};
    struct session *session;
    struct cellar_txn *txn;
    uint64_t a = 0;
    int ends[2];
    if (!sessions_possible(variant)) skip();
    int file = mkstemp(path);
    assert_true(file >= 0 && pipe(ends) == 0);
    close(file);
    pid_t child = fork();
    if (child == 0) hold_until_killed(path, variant, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct cellar *db = pool_opened(path, variant, &error);
    if (!db) fail_msg("%s", error.text);
    const struct cellar_table *table = table_of(db);
    MUST(&error, session_open(db, &session, &error));
    txn = begun(session, LONG_NS, SOON_NS);
    assert_code(cellar_txn_get_for_update(txn, table, 1, 0, &a), 0);
    assert_int_equal(a, 7);
    a = 8;
    assert_code(cellar_txn_put(txn, table, 1, 0, &a), 0);
    assert_code(session_commit(txn, NULL), 0);
    cellar_close(db);
    close(ends[0]);
    unlink(path);
}

/* ---- bad input ---- */

static void bad_locks_are_refused(void **state)
{
    struct sessions_pair pair;
    struct cellar_txn *txn;
    uint64_t a;
    if (!opened(&pair, *state)) skip();
    const struct cellar_table *items = pair.api.items;
    struct session_options options = {.lock_ns = LONG_NS + 1};
    assert_code(session_begin(pair.one, &options, &txn), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "lock_us is more than a second", "");
    options = (struct session_options){.flags = CELLAR_READ_ONLY};
    assert_code(session_begin(pair.one, &options, &txn), 0);
    assert_code(cellar_txn_get_for_update(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "begun read-only", "");
    assert_code(session_commit(txn, NULL), 0);
    assert_code(cellar_txn_get_for_update(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "has ended", "");
    txn = sessions_begun(pair.one);
    assert_code(cellar_txn_get_for_update(txn, NULL, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "the table is NULL", "");
    for (int column = -1; column <= ITEM_COLUMNS; column += ITEM_COLUMNS + 1) {
        assert_code(cellar_txn_get_for_update(txn, items, 1, column, &a), CELLAR_INVALID);
        sessions_assert_line(CELLAR_INVALID, "table items, key 1, column", "no column of this number");
    }
    assert_code(session_abort(txn), 0);
    sessions_pair_close(&pair);
}

#ifdef CELLAR_PLANTS
static void its_plants_are_met(void **state)
{
    struct sessions_pair pair;
    const struct api_variant *variant = *state;
    /* In mode crest others wait within their attempt, without end. */
    bool waits = variant->cc == CELLAR_LAB_CC_CREST;
    if (!opened(&pair, variant)) skip();
    assert_true(sessions_show(&pair, "hold_in_the_way", makes_way));
    if (waits) assert_true(sessions_show(&pair, "hold_block_open", spin_locks_are_free));
    if (waits) assert_true(sessions_show(&pair, "crest_hold_shared", others_wait_for_the_bound));
    assert_true(sessions_show(&pair, "hold_uncompared", puts_are_overtaken));
    assert_true(sessions_show(&pair, "hold_uncompared", deletes_are_overtaken));
    assert_true(sessions_show(&pair, "hold_unlocked", others_wait_for_the_bound));
    if (!waits) assert_true(sessions_show(&pair, "hold_unbounded", others_wait_for_the_bound));
    sessions_pair_close(&pair);
}
#endif

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(what_is_locked_is_written_and_given_back),
        API_TEST(all_columns_of_what_is_locked_can_be_read),
        API_TEST(what_is_locked_is_deleted_or_left),
        API_TEST(a_lock_ends_with_its_bound),
        API_TEST(a_commit_within_the_bound_comes_first),
        API_TEST(two_that_want_what_the_other_has_go_on),
        API_TEST(a_lock_stays_what_was_read),
        API_TEST_SHM(threads_count_to_the_sum),
        API_TEST_SHM(what_was_locked_is_compared_again),
        API_TEST_SHM(what_was_locked_before_is_compared_too),
        API_TEST_SHM(a_lock_keeps_no_spin_lock),
        API_TEST_SHM(a_lock_is_in_no_ones_way),
        API_TEST_SHM(a_thread_that_ends_blocks_for_the_bound),
        API_TEST_SHM(the_lock_of_a_dead_process_goes),
        API_TEST(bad_locks_are_refused),
#ifdef CELLAR_PLANTS
        API_TEST_SHM(its_plants_are_met),
#endif
    };
    return api_main("api_session_hold", tests, sizeof tests / sizeof *tests, argc, argv);
}
