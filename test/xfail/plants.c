#include "plant.h"
#include "plants_methods.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEARCH_SECONDS 300 /* of processor time, of a search that goes round in circles: not caught */

static const struct {
    plants_method_fn run;
    const char *text; /* in the table of docs/testing.md */
} methods[] = {
    [PLANTS_PREEMPT] = {plants_run_template, "preempted"},
    [PLANTS_PCT] = {plants_run_template, "PCT"},
    [PLANTS_EXHAUST] = {plants_run_template, "all schedules"},
    [PLANTS_FAULTY] = {plants_run_faulty, "preempted, with faults"},
    [PLANTS_CLUSTER] = {plants_run_cluster, "whole clusters"},
    [PLANTS_CRASH] = {plants_run_crash, "recovered"},
    [PLANTS_BOTH_LOST] = {plants_run_both_lost, "a memory node too"},
    [PLANTS_TEMPLATE_CRASH] = {plants_run_template_crash, "a node dies"},
    [PLANTS_STANDING] = {plants_run_standing, "some stand still"},
    [PLANTS_STANDING_CRASH] = {plants_run_standing_crash, "some stand still, a node dies"},
    [PLANTS_MUTED] = {plants_run_muted, "log WRITEs without replies"},
    [PLANTS_OVERTAKEN] = {plants_run_overtaken, "its recoverer overtaken"},
    [PLANTS_REFUSED] = {plants_run_refused, "a log not shown for a while"},
    [PLANTS_MET_AGAIN] = {plants_run_met_again, "an old address in use, replies lost"},
    [PLANTS_PASSING] = {plants_run_passing, "its WRITEs ahead of its tag"},
    [PLANTS_HALF_SEEN] = {plants_run_half_seen, "an insert seen by halves"},
    [PLANTS_SUPPLANTED] = {plants_run_supplanted, "its recovery taken over"},
    [PLANTS_OUTLASTED] = {plants_run_outlasted, "one stands still, a node dies"},
    [PLANTS_LAGGING] = {plants_run_lagging, "a clock's backup misses additions"},
    [PLANTS_REUSED] = {plants_run_reused, "log space used again"},
    [PLANTS_SUSPECTED] = {plants_run_suspected, "taken for dead"},
    [PLANTS_RING] = {plants_run_ring, "two incarnations"},
    [PLANTS_ENTRY] = {plants_run_entry, "cut short"},
    [PLANTS_LOCKS] = {plants_run_locks, "lock clients"},
};

void plants_find(struct plants_found *found, const char *checker, const char *verdict)
{
    found->caught = true;
    snprintf(found->checker, sizeof found->checker, "%s", checker);
    snprintf(found->verdict, sizeof found->verdict, "%s", verdict);
}

/* ---- many, in a process of their own ---- */

static void run_seeds(const struct plants_search *search, uint64_t last, struct plants_found *found)
{
    bool one_by_one = search->method > PLANTS_EXHAUST;
    if (search->en_bits) plant_choice.en_bits = search->en_bits;
    plant_choice.ring_bytes = search->ring_bytes;
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SEARCH_SECONDS}, NULL);
    found->seed = last;
    if (!one_by_one) methods[search->method].run(search, last, found);
    for (uint64_t seed = 1; one_by_one && seed <= last && !found->caught; seed++) {
        found->seed = seed;
        methods[search->method].run(search, seed, found);
        if (search->checker && strcmp(found->checker, search->checker) != 0) found->caught = false;
    }
}

/* A bug may crash: that ends this process, and cmocka is not asked. */
static void signals_reset(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (uint32_t i = 0; i < sizeof signals / sizeof *signals; i++) (void)signal(signals[i], SIG_DFL);
}

/* Seeds 1 to `last`, with that bug or (NULL) none. */
static struct plants_found search_seeds(const struct plants_search *search, const char *plant, uint64_t last)
{
    int status;
    struct plants_found *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    assert_true(plant_choose(plant));
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signals_reset();
        run_seeds(search, last, shared);
        _exit(0);
    }
    assert_true(plant_choose(NULL));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPROF && !shared->caught) {
        char text[64];
        snprintf(text, sizeof text, "the process ended with signal %d", WTERMSIG(status));
        plants_find(shared, "crash", text);
    } else {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct plants_found found = *shared;
    munmap(shared, sizeof *shared);
    return found;
}

/* ---- tests ---- */

static const char *where(const struct plants_search *search)
{
    bool any = search->method == PLANTS_CRASH || search->method == PLANTS_BOTH_LOST;
    if (any && !search->template) return "crashes";
    if (search->method == PLANTS_LOCKS) return search->lock;
    if (search->method == PLANTS_CLUSTER && search->shape.workload) return search->shape.workload;
    return search->method == PLANTS_CLUSTER ? "cells"
           : search->method == PLANTS_ENTRY ? "entry"
           : search->method == PLANTS_RING  ? "ring"
                                            : search->template;
}

/* By rule, so that it does not matter what seeds meet. */
static bool directed(const struct plants_search *search) { return search->method == PLANTS_EXHAUST; }

static void plant_is_caught(void **state)
{
    const struct plants_search *search = *state;
    if (!directed(search) && !share_seeks()) skip();
    struct plants_found found = search_seeds(search, search->plant, PLANTS_SEEDS_MAX);
    printf("plant %-26s %s seed %llu, %s, %s: %s: %s\n", search->plant, found.caught ? "met by" : "not met up to",
           (unsigned long long)found.seed, where(search), methods[search->method].text, found.checker, found.verdict);
    assert_true(found.caught || !directed(search));
    found = search_seeds(search, NULL, found.seed);
    if (found.caught)
        fail_msg("%s, seed %llu, without a bug: %s: %s", where(search), (unsigned long long)found.seed, found.checker,
                 found.verdict);
}

static const char *text_of(const char *plant)
{
    const char *text = plant_choose(plant) ? plant_choice.plant->text : "";
    plant_choice.plant = NULL;
    return text;
}

static int print_table(const struct plants_search *searches, uint32_t count)
{
    int code = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct plants_search *search = &searches[i];
        struct plants_found found = search_seeds(search, search->plant, PLANTS_SEEDS_MAX);
        printf("| %s | %s | %s, %s | %s |\n", search->plant, text_of(search->plant), where(search),
               methods[search->method].text, found.caught ? found.checker : "not caught");
        code |= !found.caught;
    }
    return code;
}

int plants_main(int argc, char **argv, const struct plants_search *searches, uint32_t count)
{
    if (argc > 1 && strcmp(argv[1], "--table") == 0) return print_table(searches, count);
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (!tests) return 1;
    for (uint32_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){searches[i].plant, plant_is_caught, NULL, NULL, (void *)&searches[i]};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = _cmocka_run_group_tests("plants", tests, count, NULL, NULL);
    free(tests);
    return failed;
}
