/*
 * test_fabric_thread.c - whether a thread lives: one that has ended, but that the kernel still knows, does not. The
 * first thread of a process stays known until the process ends.
 */
#include "fabric_thread.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void *others_look(void *first)
{
    while (fabric_thread_lives(*(struct fabric_thread *)first)) continue;
    _exit(0);
}

static void a_thread_that_has_ended_does_not_live(void **state)
{
    static struct fabric_thread first;
    pthread_t other;
    int status;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20); /* the other one would look for ever */
        first = fabric_thread_here();
        if (!fabric_thread_lives(first) || pthread_create(&other, NULL, others_look, &first)) _exit(1);
        pthread_exit(NULL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_thread_that_runs_lives_and_is_here(void **state)
{
    (void)state;
    struct fabric_thread here = fabric_thread_here();
    assert_true(fabric_thread_lives(here));
    assert_true(fabric_thread_is_here(here));
    here.number++;
    assert_false(fabric_thread_is_here(here));
}

static void *keep_number(void *number)
{
    *(struct fabric_thread *)number = fabric_thread_here();
    return NULL;
}

/* Threads that follow each other have the same stack, and are different ones; so is the one that goes on in a child. */
static void who_comes_after_is_another(void **state)
{
    struct fabric_thread before = fabric_thread_here(), after[2];
    int status;
    (void)state;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, keep_number, &after[i]), 0);
        pthread_join(thread, NULL);
    }
    assert_int_not_equal(after[0].number, after[1].number);
    pid_t pid = fork();
    if (pid == 0) _exit(fabric_thread_is_here(before) || !fabric_thread_lives(fabric_thread_here()));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_has_ended_does_not_live),
        cmocka_unit_test(a_thread_that_runs_lives_and_is_here),
        cmocka_unit_test(who_comes_after_is_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
