/*
 * test_manners.c - client functions without manners, in processes of their own over memory nodes, and a death beside
 * them: one that sleeps between its calls and never yields holds up no recovery; one that blocks is told of; one that
 * blocks for longer than a lease with a record in hand is declared dead, and its process killed, so that the others
 * go on.
 */
#include "bulk.h"
#include "numbered.h"
#include "contract_shm.h"
#include "db.h"
#include "db_open.h"
#include "plant.h"
#include "tsan.h"

#include <stdlib.h>

#define LEASE_NS 1000000000ull
#define SLEEP_US 80
#define COROS 3
#define INDEX_RECORDS 1000000 /* whose buckets a recovery looks at, one by one */
/*
 * Of the survivor while it recovers: some hundred; of a recovery that gives way for whole rounds of them tens of
 * thousands.
 */
#define CALLS_MAX 5000
#define HELD 7 /* the record that the blocked one has in hand */

static const struct contract_shape shape = {.mn_count = 1, .cn_count = 4, .mn_bytes = 128 << 20};

struct side {
    struct cellar *db;
    const struct cellar_table *table;
    const struct cellar_proc *add, *hold;
    struct cellar_error error;
    atomic_int recovered, silent, kept; /* lines of its log */
    atomic_uint calls, wrong;
};

static void heard(void *arg, enum cellar_log_level level, const char *text)
{
    struct side *side = arg;
    (void)level;
    if (strstr(text, "compute node 1 was recovered")) atomic_fetch_add(&side->recovered, 1);
    if (strstr(text, "compute node 1 gave no sign of life")) atomic_fetch_add(&side->silent, 1);
    if (strstr(text, "kept its first worker")) atomic_fetch_add(&side->kept, 1);
}

static int add_one(struct cellar_txn *txn, const struct side *side, uint64_t key, unsigned hold_s)
{
    uint64_t word = 0;
    int ref = cellar_proc_access(txn, side->table, key, 1, 1, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get(txn, ref, 0, &word);
    if (rc == 0 && hold_s) {
        printf("held\n");
        fflush(stdout);
        sleep(hold_s);
    }
    word++;
    return rc ? rc : cellar_proc_put(txn, ref, 0, &word);
}

struct call {
    const struct side *side;
    uint64_t key;
};
static int add_fn(struct cellar_txn *txn, void *arg)
{
    const struct call *call = arg;
    return add_one(txn, call->side, call->key, 0);
}
static int hold_fn(struct cellar_txn *txn, void *arg)
{
    const struct call *call = arg;
    return add_one(txn, call->side, call->key, 60);
}

static int side_open(struct side *side, const char *memnodes, uint32_t cn)
{
    const struct engine_config config = {.cc = CELLAR_LAB_CC_CELL,
                                         .memnodes = memnodes,
                                         .mns = 1,
                                         .cn_index = cn,
                                         .coros = COROS,
                                         .lease_ns = LEASE_NS,
                                         .log = heard,
                                         .log_arg = side};
    static const struct cellar_schema_column column = {"word", 0, 8, 0};
    static const struct cellar_schema schema = {"words", 8, &column, 1, INDEX_RECORDS, 0, 0, 0, 0, 0};
    const struct cellar_proc_def add = {.name = "add", .fn = add_fn, .records_max = 1, .writes_max = 1};
    const struct cellar_proc_def hold = {.name = "hold", .fn = hold_fn, .records_max = 1, .writes_max = 1};
    int rc = db_open(&config, &side->db, &side->error);
    if (rc == 0) rc = db_table_create(side->db, &schema, &side->table, &side->error);
    if (rc == 0) rc = db_proc_register(side->db, &add, &side->add, &side->error);
    return rc ? rc : db_proc_register(side->db, &hold, &side->hold, &side->error);
}

static int fill(struct cellar_lab_client *client, void *arg)
{
    struct side *side = arg;
    const uint64_t zero = 0;
    int rc = 0;
    for (uint64_t key = 0; key < 64 && rc == 0 && cellar_lab_index(client) == 0; key++)
        rc = db_load(client, side->table, key, &zero, &side->error);
    return rc;
}

static void begin(struct side *side, struct contract_memnodes *memnodes)
{
    contract_memnodes_start(memnodes, shape);
    int rc = side_open(side, memnodes->paths, 0);
    for (int i = 0; i < 1000 && rc == CELLAR_UNREACHABLE; i++) { /* they have just been started */
        usleep(10000);
        rc = side_open(side, memnodes->paths, 0);
    }
    if (rc) fail_msg("%s", side->error.text);
    assert_int_equal(cellar_lab_run(side->db, fill, side), 0);
}

/* Compute node 1, in a process of its own, which ends by being killed. Returns when it has a record in hand. */
static pid_t other_begin(const struct contract_memnodes *memnodes)
{
    int pipes[2];
    char line[8] = {0};
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct side side = {0};
        struct call call = {&side, HELD};
        struct cellar_result result;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipes[1], 1);
        if (side_open(&side, memnodes->paths, 1)) _exit(2);
        (void)!cellar_proc_run(side.db, side.hold, &call, NULL, &result);
        _exit(3);
    }
    close(pipes[1]);
    assert_true(read(pipes[0], line, sizeof line - 1) > 0);
    assert_int_equal(strncmp(line, "held", 4), 0);
    close(pipes[0]);
    return pid;
}

static int end_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Calls, and sleeps between them, and never yields; one of them wants the record that the other node had. */
static int without_manners(struct cellar_lab_client *client, void *arg)
{
    struct side *side = arg;
    struct cellar_result result;
    struct call call = {side, cellar_lab_index(client) == 0 ? HELD : cellar_lab_index(client)};
    while (!atomic_load(&side->recovered) && atomic_load(&side->calls) < CALLS_MAX) {
        if (cellar_lab_exec(client, side->add, &call, NULL, &result)) atomic_fetch_add(&side->wrong, 1);
        atomic_fetch_add(&side->calls, 1);
        usleep(SLEEP_US);
    }
    return 0;
}

static uint32_t calls_beside_a_recovery(void)
{
    struct contract_memnodes memnodes;
    struct side side = {0};
    begin(&side, &memnodes);
    pid_t other = other_begin(&memnodes);
    assert_int_equal(kill(other, SIGKILL), 0);
    assert_int_equal(WTERMSIG(end_of(other)), SIGKILL);
    assert_int_equal(cellar_lab_run(side.db, without_manners, &side), 0);
    assert_int_equal(side.wrong, 0);
    for (int i = 0; i < 3000 && !atomic_load(&side.recovered); i++) usleep(10000);
    assert_int_equal(side.recovered, 1);
    cellar_close(side.db);
    contract_memnodes_stop(&memnodes);
    return side.calls;
}

static void who_never_yields_holds_up_no_recovery(void **state)
{
    (void)state;
    assert_true(calls_beside_a_recovery() < CALLS_MAX);
}

#ifdef CELLAR_PLANTS
static void its_plant_is_met(void **state)
{
    (void)state;
    assert_true(plant_choose("sched_share_ignored"));
    assert_true(calls_beside_a_recovery() >= CALLS_MAX);
    assert_true(plant_choose(NULL));
}
#endif

#define TURN_SECONDS 60 /* a turn lasts as long as the others' last round did, which a busy machine makes longer */

/* The first to run calls what is refused at once, until another one of its worker has had its turn. */
static int refused_for_ever(struct cellar_lab_client *client, void *arg)
{
    static const uint32_t cancelled = 1;
    const struct cellar_call_options options = {.cancel = &cancelled};
    struct side *side = arg;
    struct cellar_result result;
    struct call call = {side, 1};
    if (cellar_lab_index(client) != 0) atomic_store(&side->recovered, 1);
    for (time_t end = time(NULL) + TURN_SECONDS; !atomic_load(&side->recovered) && time(NULL) < end;)
        if (cellar_lab_exec(client, side->add, &call, &options, &result) != CELLAR_CANCELLED) return -1;
    return atomic_load(&side->recovered) ? 0 : -1;
}

static void who_calls_in_vain_keeps_no_worker(void **state)
{
    struct contract_memnodes memnodes;
    struct side side = {0};
    (void)state;
    begin(&side, &memnodes);
    assert_int_equal(cellar_lab_run(side.db, refused_for_ever, &side), 0);
    cellar_close(side.db);
    contract_memnodes_stop(&memnodes);
}

static void who_blocks_with_a_record_in_hand_is_declared_dead(void **state)
{
    struct contract_memnodes memnodes;
    struct side side = {0};
    struct cellar_result result;
    (void)state;
    begin(&side, &memnodes);
    pid_t other = other_begin(&memnodes);
    struct call call = {&side, HELD};
    assert_int_equal(cellar_proc_run(side.db, side.add, &call, NULL, &result), 0);
    assert_int_equal(WTERMSIG(end_of(other)), SIGKILL);
    assert_true(side.silent >= 1);
    for (int i = 0; i < 1000 && !atomic_load(&side.recovered); i++) usleep(10000); /* its tag is taken over earlier */
    assert_int_equal(side.recovered, 1);
    cellar_close(side.db);
    contract_memnodes_stop(&memnodes);
}

static int block(struct cellar_lab_client *client, void *arg)
{
    (void)arg;
    if (cellar_lab_index(client) == 0) usleep(LEASE_NS / 2000);
    cellar_lab_yield(client);
    return 0;
}

static void who_blocks_is_told_of(void **state)
{
    struct contract_memnodes memnodes;
    struct side side = {0};
    (void)state;
    begin(&side, &memnodes);
    assert_int_equal(cellar_lab_run(side.db, block, &side), 0);
    for (int i = 0; i < 1000 && !atomic_load(&side.kept); i++) usleep(10000);
    assert_true(side.kept >= 1);
    assert_int_equal(side.silent, 0);
    cellar_close(side.db);
    contract_memnodes_stop(&memnodes);
}

int main(void)
{
#if defined(WITH_TSAN)
    return 77; /* it forks beside threads, and the child starts others: ThreadSanitizer has none of that */
#endif
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_yields_holds_up_no_recovery),
        cmocka_unit_test(who_calls_in_vain_keeps_no_worker),
        cmocka_unit_test(who_blocks_with_a_record_in_hand_is_declared_dead),
        cmocka_unit_test(who_blocks_is_told_of),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plant_is_met),
#endif
    };
    alarm(300);
    return cmocka_run_group_tests_name("contract.manners", tests, NULL, NULL);
}
