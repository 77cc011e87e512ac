/*
 * test_durable_kill.c - a process with a durable folder, killed at any time, and its memory gone with it; opened again
 * from the folder, life after life (durable_run.h). All that was acknowledged is there, each transaction whole or not
 * at all, and nothing of what was left out ever comes back (docs/durability.md).
 *
 * `test_durable_kill N` kills N times in each mode; without an argument 4 times. In builds with planted bugs some of
 * them are to be met.
 */
#include "durable.h"
#include "durable_run.h"
#include "mode.h"
#include "plant.h"
#include "prng.h"
#include "rivals.h"
#include "share.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LIVES_DEFAULT 4

static int lives = LIVES_DEFAULT;

struct cluster {
    enum cellar_lab_cc cc;
    uint32_t mns, replicas;
};

/* In a process that is to be killed. Half of the first loads wait, half leave it to the first commit. */
static void victim_main(const char *folder, const struct cluster *cluster, struct durable_run_witness *witness)
{
    struct durable_run run = {.witness = witness,
                              .every = 3,
                              .queued = witness->life % 3 == 1,
                              .mns = cluster->mns,
                              .replicas = cluster->replicas};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int rc = durable_run_open(&run, folder, cluster->cc);
    bool well = rc == 0 && durable_run_judge(&run);
    if (well) rc = durable_run_load(&run);
    if (well && rc == 0 && witness->life % 2) rc = db_sync(run.db, 0, &run.error);
    witness->ready = 1;
    if (well && rc == 0) rc = durable_run_work(&run);
    fprintf(stderr, "victim: %s (%s) %s\n", cellar_strerror(rc), run.error.text, run.wrong);
    _exit(1);
}

/* In a process of its own: 0, or it has said what is wrong. `closes`: cleanly, else it just ends. */
static int survivor_main(const char *folder, const struct cluster *cluster, struct durable_run_witness *witness,
                         bool closes)
{
    struct durable_run run = {.witness = witness}; /* the folder says of how many memory nodes it is */
    bool well = durable_run_open(&run, folder, cluster->cc) == 0 && durable_run_judge(&run);
    if (!well) fprintf(stderr, "what is left: %s %s\n", run.error.text, run.wrong);
    if (well && closes) cellar_close(run.db);
    return !well;
}

static bool has_acked(const struct durable_run_witness *witness)
{
    uint64_t acked = 0;
    for (int i = 0; i < DURABLE_RUN_CLIENTS; i++) acked += witness->acked[i];
    return acked > 0;
}

/* False: it did not come so far that it could be killed. `last`: not before it, or one before it, has acknowledged. */
static bool life_lead(const char *folder, const struct cluster *cluster, struct durable_run_witness *witness,
                      uint64_t work_us, bool last)
{
    int status = 0;
    pid_t pid, ended = 0;
    witness->ready = 0;
    pid = fork();
    if (pid == 0) victim_main(folder, cluster, witness);
    assert_true(pid > 0);
    for (int i = 0; i < 20000 && !ended && !(witness->ready && (!last || has_acked(witness))); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        ended = waitpid(pid, &status, WNOHANG);
    }
    nanosleep(&(struct timespec){.tv_nsec = (long)work_us * 1000}, NULL);
    if (!ended) kill(pid, SIGKILL);
    if (!ended) assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static bool life_judge(const char *folder, const struct cluster *cluster, struct durable_run_witness *witness,
                       bool closes)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(survivor_main(folder, cluster, witness, closes));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Lives in one folder, until something is wrong: then false. */
static bool killed(const struct cluster *cluster, int count)
{
    char folder[] = "/tmp/cellar-durable-XXXXXX", command[64];
    struct durable_run_witness *witness =
        mmap(NULL, sizeof *witness, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct prng prng;
    bool well = true;
    assert_true(witness != MAP_FAILED);
    assert_non_null(mkdtemp(folder));
    prng_seed(&prng, (uint64_t)getpid() + (uint64_t)cluster->cc);
    for (int life = 0; life < count && well; life++) {
        well = life_lead(folder, cluster, witness, prng_below(&prng, 400000), life + 1 == count);
        if (well && life % 2) well = life_judge(folder, cluster, witness, life % 4 == 1);
    }
    if (well) well = life_judge(folder, cluster, witness, false);
    bool acked = has_acked(witness);
    munmap(witness, sizeof *witness);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (well && !acked) fprintf(stderr, "nothing was acknowledged in %d lives\n", count);
    return well && acked;
}

/* One memory node; and several, half as often. */
static void in_mode(enum cellar_lab_cc cc, uint32_t mns, uint32_t replicas)
{
    if (!mode_of(cc)) skip();
    assert_true(killed(&(struct cluster){.cc = cc}, lives));
    assert_true(killed(&(struct cluster){cc, mns, replicas}, (lives + 1) / 2));
}

static void in_mode_record(void **state) { (void)state, in_mode(CELLAR_LAB_CC_RECORD, 3, 0); }
static void in_mode_cell(void **state) { (void)state, in_mode(CELLAR_LAB_CC_CELL, 3, 2); }
static void in_mode_crest(void **state) { (void)state, in_mode(CELLAR_LAB_CC_CREST, 2, 1); }
static void in_mode_cellar(void **state) { (void)state, in_mode(CELLAR_LAB_CC_CELLAR, 3, 1); }
static void in_mode_motor(void **state) { (void)state, in_mode(CELLAR_LAB_CC_MOTOR, 2, 0); }
static void in_mode_2pl(void **state) { (void)state, in_mode(CELLAR_LAB_CC_TWOPL, 2, 1); }

#ifdef CELLAR_PLANTS
#define HUNT_LIVES 12

/* Each is met by nearly every life. */
static void plants_are_met(void **state)
{
    static const char *const plants[] = {"durable_reads_unawaited", "durable_epoch_early", "durable_runs_unlogged",
                                         "replay_as_logged"};
    (void)state;
    if (!share_seeks()) skip();
    for (uint32_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        assert_true(plant_choose(plants[i]));
        share_tell(plants[i], killed(&(struct cluster){.cc = CELLAR_LAB_CC_CELL}, HUNT_LIVES) ? 0 : 1, 1);
        assert_true(plant_choose(NULL));
    }
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_mode_record), cmocka_unit_test(in_mode_cell),  cmocka_unit_test(in_mode_crest),
        cmocka_unit_test(in_mode_cellar), cmocka_unit_test(in_mode_motor), cmocka_unit_test(in_mode_2pl),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(plants_are_met),
#endif
    };
    if (argc > 1) lives = atoi(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
