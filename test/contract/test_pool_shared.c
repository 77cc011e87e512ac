/*
 * test_pool_shared.c - several processes on one pool file, by its path: they come, go and are killed at any moment;
 * what was acknowledged is there, sums are kept, and the file outlives them all. Each process is a fork of one without
 * threads.
 */
#include "db_config.h"
#include "mode.h"
#include "numbered.h"
#include "pool_shared.h"

#include "plant.h"
#include "rivals.h"
#include "session.h"

#define PROCESSES 4
#define EVENTS 60

/* What processes tell of themselves, in memory that they share with the test. */
struct told {
    uint64_t committed, opened, failed;
    char text[200];
};

struct storm {
    struct place place;
    enum cellar_lab_cc cc;
    struct told *told; /* of each counter */
    pid_t pids[PROCESSES];
    uint64_t kills[PROCESSES];
    uint64_t seed;
};

/* Opens, works, closes, again; the process's end is the only other thing that happens to it. */
static _Noreturn void member_main(const struct storm *storm, uint32_t number, uint64_t calls_max)
{
    const struct engine_config config = {
        .pool_path = storm->place.path, .pool_bytes = POOL_BYTES, .cc = storm->cc, .threads = 1, .coros = 2};
    struct told *told = &storm->told[number];
    struct prng prng;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prng_seed(&prng, storm->seed + (uint64_t)getpid());
    for (;;) {
        struct bank bank = {0};
        int rc = bank_open(&bank, &config);
        told->opened += rc == 0;
        for (uint64_t calls = prng_below(&prng, calls_max); rc == 0 && calls > 0; calls--) {
            rc = bank_transfer(&bank, &prng, number);
            told->committed += rc == 0;
            if (rc) snprintf(bank.error.text, sizeof bank.error.text, "transfer: %s", cellar_strerror(rc));
        }
        if (rc) {
            snprintf(told->text, sizeof told->text, "%s", bank.error.text);
            told->failed++;
            _exit(1);
        }
        cellar_close(bank.db);
    }
}

static void member_start(struct storm *storm, uint32_t number, uint64_t calls_max)
{
    fflush(NULL);
    storm->pids[number] = fork();
    assert_true(storm->pids[number] >= 0);
    if (storm->pids[number] == 0) member_main(storm, number, calls_max);
}

static void member_kill(struct storm *storm, uint32_t number)
{
    int status;
    kill(storm->pids[number], SIGKILL);
    assert_int_equal(waitpid(storm->pids[number], &status, 0), storm->pids[number]);
    if (!WIFSIGNALED(status)) fail_msg("process %u: %s", number, storm->told[number].text);
    storm->kills[number]++;
}

static void storm_run(enum cellar_lab_cc cc, uint64_t calls_max, uint64_t pause_max_us)
{
    struct storm storm = {.cc = cc, .seed = 7 * (uint64_t)cc + 1};
    struct sums sums;
    struct prng prng;
    uint32_t events = share_percent() < 100 ? EVENTS / 4 : EVENTS;
    place_make(&storm.place);
    storm.told = mmap(NULL, sizeof(struct told) * COUNTERS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(storm.told != MAP_FAILED);
    prng_seed(&prng, storm.seed);
    for (uint32_t i = 0; i < PROCESSES; i++) member_start(&storm, i, calls_max);
    for (uint32_t event = 0; event < events; event++) {
        uint32_t victim = (uint32_t)prng_below(&prng, PROCESSES);
        nap_us(prng_below(&prng, pause_max_us));
        member_kill(&storm, victim);
        member_start(&storm, victim, calls_max);
    }
    for (uint32_t i = 0; i < PROCESSES; i++) member_kill(&storm, i);
    pool_judge(&storm.place, cc, &sums);
    for (uint32_t i = 0; i < PROCESSES; i++) { /* a call may have committed, and its process not have said so */
        uint64_t counted = (uint64_t)sums.counters[i], told = storm.told[i].committed;
        if (storm.told[i].failed) fail_msg("process %u: %s", i, storm.told[i].text);
        if (counted < told || counted > told + storm.kills[i])
            fail_msg("process %u: %llu committed, %llu are there", i, (unsigned long long)told,
                     (unsigned long long)counted);
        printf("process %u: %llu times open, %llu commits, %llu kills\n", i, (unsigned long long)storm.told[i].opened,
               (unsigned long long)told, (unsigned long long)storm.kills[i]);
    }
    munmap(storm.told, sizeof(struct told) * COUNTERS);
    place_remove(&storm.place);
}

/* Killed amid work, mostly. */
static void processes_are_killed(void **state)
{
    (void)state;
    storm_run(CELLAR_LAB_CC_CELLAR, 20000, 60000);
}
static void processes_are_killed_crest(void **state)
{
    (void)state;
    storm_run(CELLAR_LAB_CC_CREST, 20000, 60000);
}
static void processes_are_killed_2pl(void **state)
{
    (void)state;
    if (mode_of(CELLAR_LAB_CC_TWOPL)) storm_run(CELLAR_LAB_CC_TWOPL, 20000, 60000);
}
/* Killed while they open and close, mostly: as the first and the last one, too. */
static void opens_and_closes_are_killed(void **state)
{
    (void)state;
    storm_run(CELLAR_LAB_CC_CELL, 3, 30000);
}

/* One that another process makes, and begins anew, is judged by the process that has the door, not by a look at it. */
static void one_that_is_being_made_is_left_to_its_opening(void **state)
{
    struct place place;
    (void)state;
    place_make(&place);
    int fd = open(place.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            if (ftruncate(fd, POOL_BYTES) || ftruncate(fd, 0)) _exit(1);
    }
    for (uint32_t looks = 0; looks < 50000; looks++) {
        struct cellar_error error = {0};
        uint32_t cn_count;
        if (db_pool_file_look(place.path, &cn_count, &error)) fail_msg("look %u: %s", looks, error.text);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fd);
    place_remove(&place);
}

/* None is killed: the last one closes while another one opens, many times; all of it succeeds. */
static void last_and_first_meet(void **state)
{
    struct place place;
    struct sums sums;
    pid_t pids[2];
    (void)state;
    place_make(&place);
    fflush(NULL);
    for (uint32_t i = 0; i < 2; i++)
        if ((pids[i] = fork()) == 0) {
            const struct engine_config config = {.pool_path = place.path, .pool_bytes = POOL_BYTES, .coros = 1};
            struct prng prng;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prng_seed(&prng, i);
            for (uint32_t round = 0; round < 60; round++) {
                struct bank bank = {0};
                int rc = bank_open(&bank, &config);
                if (rc == 0) rc = bank_transfer(&bank, &prng, i);
                if (rc) {
                    fprintf(stderr, "round %u: %s\n", round, bank.error.text);
                    _exit(1);
                }
                nap_us(prng_below(&prng, 300));
                cellar_close(bank.db);
            }
            _exit(0);
        }
    for (uint32_t i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    pool_judge(&place, CELLAR_LAB_CC_CELLAR, &sums);
    assert_int_equal(sums.counters[0] + sums.counters[1], 120);
    place_remove(&place);
}

/* ---- the one that makes it is killed ---- */

static void maker_is_killed(void **state)
{
    (void)state;
    for (uint64_t us = 0; us < 12000; us += share_percent() < 100 ? 1500 : 300) {
        struct place place;
        struct sums sums;
        place_make(&place);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            const struct engine_config config = {.pool_path = place.path, .pool_bytes = POOL_BYTES};
            struct bank bank = {0};
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)bank_open(&bank, &config);
            for (;;) pause();
        }
        nap_us(us);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        pool_judge(&place, CELLAR_LAB_CC_CELLAR, &sums);
        place_remove(&place);
    }
}

/* ---- one that stands still ---- */

/* It holds what it has read for update, and is stopped. Returns whether another one's transfers ended it. */
static bool stopped_one_is_ended(void)
{
    struct place place;
    struct sums sums;
    int ready[2], status = 0;
    char byte;
    place_make(&place);
    const struct engine_config config = {.pool_path = place.path, .pool_bytes = POOL_BYTES, .lease_ns = 50000000};
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct bank bank = {0};
        struct session *session;
        struct cellar_txn *txn;
        struct session_options options = {.lock_ns = 1000000000};
        int64_t cents;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (bank_open(&bank, &config) || session_open(bank.db, &session, &bank.error)) {
            fprintf(stderr, "%s\n", bank.error.text);
            _exit(1);
        }
        int rc = session_begin(session, &options, &txn);
        if (rc == 0) rc = cellar_txn_get_for_update(txn, bank.rows, 1, 0, &cents);
        if (rc) {
            fprintf(stderr, "for update: %s\n", cellar_strerror(rc));
            _exit(1);
        }
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(pid, SIGSTOP);
    pid_t other = fork();
    if (other == 0) {
        struct bank bank = {0};
        struct prng prng;
        prng_seed(&prng, 1);
        if (bank_open(&bank, &config)) _exit(1);
        struct transfer args = {&bank, 1, 2, 0};
        int rc = cellar_proc_run(bank.db, bank.transfer, &args,
                                 &(struct cellar_call_options){.timeout_ns = 20000000000}, NULL);
        cellar_close(bank.db);
        _exit(rc ? 2 : 0);
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    bool ended = waitpid(pid, &status, WNOHANG) == pid;
    if (!ended) {
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    close(ready[0]);
    pool_judge(&place, CELLAR_LAB_CC_CELLAR, &sums);
    assert_int_equal(sums.counters[0], 1);
    place_remove(&place);
    return ended;
}

/* On a loaded machine what it holds may be given back before it is stopped. */
static bool stopped_one_is_ever_ended(void)
{
    bool ended = false;
    for (uint32_t tries = 0; tries < 5 && !ended; tries++) ended = stopped_one_is_ended();
    return ended;
}

static void what_stands_still_is_fenced(void **state)
{
    (void)state;
    assert_true(stopped_one_is_ever_ended());
}

/* ---- bad input; databases of one process stand for those of several ---- */

static void refused(const struct engine_config *config, int code, const char *word)
{
    struct cellar *db;
    struct cellar_error error = {0};
    assert_int_equal(db_open(config, &db, &error), code);
    assert_null(db);
    if (!strstr(error.text, word) || strchr(error.text, '\n')) fail_msg("'%s' does not say '%s'", error.text, word);
}

static struct cellar *opened(const struct engine_config *config)
{
    struct cellar *db;
    struct cellar_error error = {0};
    if (db_open(config, &db, &error)) fail_msg("%s", error.text);
    return db;
}

static void too_many_are_refused(void **state)
{
    struct place place;
    struct cellar *dbs[3];
    (void)state;
    place_make(&place);
    const struct engine_config config = {.pool_path = place.path, .pool_bytes = POOL_BYTES, .cns_max = 3};
    for (uint32_t i = 0; i < 3; i++) dbs[i] = opened(&config);
    refused(&config, CELLAR_EXISTS, "of the 3 compute nodes");
    cellar_close(dbs[1]);
    dbs[1] = opened(&config);
    struct engine_config two = config;
    two.cns = 2;
    cellar_close(dbs[0]);
    refused(&two, CELLAR_EXISTS, "2 are not free");
    struct engine_config many = config;
    many.cns_max = 256;
    refused(&many, CELLAR_INVALID, "cns_max 256");
    many.cns_max = many.cns = 2;
    many.cns_max = 1;
    refused(&many, CELLAR_INVALID, "cns_max 1");
    cellar_close(dbs[1]);
    cellar_close(dbs[2]);
    place_remove(&place);
}

static void files_that_cannot_be_shared(void **state)
{
    struct place place;
    char other[80];
    uint32_t version = 99;
    (void)state;
    place_make(&place);
    const struct engine_config config = {.pool_path = place.path, .pool_bytes = POOL_BYTES};
    struct cellar *db = opened(&config);
    struct engine_config look = config;
    look.pool_private = true;
    refused(&look, CELLAR_EXISTS, "in use by another database");

    snprintf(other, sizeof other, "%s/other", place.folder);
    assert_int_equal(link(place.path, other), 0);
    struct engine_config named = config;
    named.pool_path = other;
    refused(&named, CELLAR_EXISTS, "under another name");
    unlink(other);
    assert_int_equal(symlink(place.path, other), 0); /* a symbolic link is the same name */
    cellar_close(opened(&named));
    unlink(other);

    int fd = open(place.roll, O_RDWR);
    assert_int_equal(pwrite(fd, &version, sizeof version, 8), sizeof version);
    refused(&config, CELLAR_MISMATCH, "another build");
    close(fd);
    cellar_close(db);
    cellar_close(opened(&config));

    struct cellar *looks = opened(&look);
    refused(&config, CELLAR_EXISTS, "only looks at it");
    cellar_close(opened(&look)); /* several may look */
    cellar_close(looks);
    place_remove(&place);
}

/* A user who may read it only. */
static void read_only_file(void **state)
{
    struct place place;
    int status;
    (void)state;
    place_make(&place);
    const struct engine_config config = {.pool_path = place.path, .pool_bytes = POOL_BYTES};
    fflush(NULL);
    pid_t maker = fork();
    if (maker == 0) {
        cellar_close(opened(&config));
        _exit(0);
    }
    assert_int_equal(waitpid(maker, NULL, 0), maker);
    chmod(place.path, 0444);
    chmod(place.folder, 0755);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(0);
        struct cellar *db;
        struct cellar_error error = {0};
        int rc = db_open(&config, &db, &error);
        bool told = rc == CELLAR_SYSTEM && strstr(error.text, "Permission denied");
        if (!told) fprintf(stderr, "%d %s\n", rc, error.text);
        _exit(told ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    place_remove(&place);
}

/* ---- planted bugs ---- */

#ifdef CELLAR_PLANTS
/* One of two closes, the other one goes on and is killed: the file must not say that it is closed. */
static int after_the_first_close(void)
{
    struct place place;
    struct cellar *db = NULL;
    struct cellar_error error = {0};
    place_make(&place);
    const struct engine_config config = {.pool_path = place.path, .pool_bytes = POOL_BYTES};
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct bank bank = {0}, beside = {0};
        struct prng prng;
        prng_seed(&prng, 1);
        if (bank_open(&bank, &config) || bank_open(&beside, &config)) _exit(1);
        cellar_close(beside.db);
        for (uint32_t i = 0; i < 100; i++)
            if (bank_transfer(&bank, &prng, 0)) _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    pid = fork(); /* the test stays without threads */
    if (pid == 0) _exit(-db_open(&config, &db, &error));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(place.roll);
    place_remove(&place);
    return WEXITSTATUS(status);
}

static void planted_bugs_are_met(void **state)
{
    (void)state;
    assert_int_equal(after_the_first_close(), 0);
    assert_true(plant_choose("pool_last_blind"));
    assert_int_equal(after_the_first_close(), -CELLAR_CORRUPT);
    assert_true(plant_choose("pool_fence_blind"));
    assert_false(stopped_one_is_ever_ended());
    assert_true(plant_choose(NULL));
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_are_killed),
        cmocka_unit_test(processes_are_killed_crest),
        cmocka_unit_test(processes_are_killed_2pl),
        cmocka_unit_test(opens_and_closes_are_killed),
        cmocka_unit_test(one_that_is_being_made_is_left_to_its_opening),
        cmocka_unit_test(last_and_first_meet),
        cmocka_unit_test(maker_is_killed),
        cmocka_unit_test(what_stands_still_is_fenced),
        cmocka_unit_test(read_only_file),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(planted_bugs_are_met),
#endif
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(files_that_cannot_be_shared),
    };
    return cmocka_run_group_tests_name("contract.pool_shared", tests, NULL, NULL);
}
