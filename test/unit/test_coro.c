/* test_coro.c - the coroutine switch: nesting, many switches, deep stacks, floating point, death while suspended. */
#include "coro.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define STACK_BYTES (64u << 10)

static struct coro *coro_of(coro_fn fn, void *arg)
{
    struct coro *co = coro_new(STACK_BYTES, fn, arg);
    assert_non_null(co);
    return co;
}

static void count_up(struct coro *co, void *arg)
{
    int *count = arg;
    for (int i = 0; i < 3; i++) {
        ++*count;
        coro_yield(co);
    }
}

static void runs_between_resume_and_yield(void **state)
{
    (void)state;
    int count = 0;
    struct coro *co = coro_of(count_up, &count);
    assert_int_equal(count, 0);
    for (int i = 1; i <= 3; i++) {
        coro_resume(co);
        assert_int_equal(count, i);
        assert_false(coro_done(co));
    }
    coro_resume(co);
    assert_int_equal(count, 3);
    assert_true(coro_done(co));
    coro_free(co);
}

struct relay {
    int depth;
    uint64_t total;
};

/* Each level resumes the next one until it is done, and yields in between. */
static void nest(struct coro *co, void *arg)
{
    struct relay *relay = arg;
    struct relay inner = {relay->depth - 1, 0};
    relay->total = 1;
    if (relay->depth == 0) return;
    struct coro *child = coro_of(nest, &inner);
    while (!coro_done(child)) {
        coro_resume(child);
        coro_yield(co);
    }
    coro_free(child);
    relay->total += inner.total;
}

/* Three layers; the innermost one suspends any of those around it, and each time goes on where it was. */
struct onion {
    struct coro *layers[3];
    uint32_t depth;
    char trail[32];
    uint64_t sum;
};

/* By that coroutine, which the thread knows to be here. */
static void note(const struct coro *co, struct onion *onion, char what)
{
    size_t length = strlen(onion->trail);
    assert_true(coro_is_inside() && coro_is_here(co));
    assert_true(length + 1 < sizeof onion->trail);
    onion->trail[length] = what;
}

static void peel_core(struct coro *co, struct onion *onion)
{
    note(co, onion, '1');
    coro_yield_nested(onion->layers[0]);
    note(co, onion, '2');
    coro_yield(co);
    note(co, onion, '3');
    coro_yield_nested(onion->layers[1]);
    note(co, onion, '4');
    coro_yield_nested(onion->layers[0]);
    note(co, onion, '5');
    coro_yield_nested(co);
    note(co, onion, '6');
}

static void peel(struct coro *co, void *arg)
{
    struct onion *onion = arg;
    uint32_t depth = onion->depth++;
    volatile uint64_t locals[64];
    for (uint32_t i = 0; i < 64; i++) locals[i] = depth * 64 + i;
    onion->layers[depth] = co;
    if (depth == 2) {
        peel_core(co, onion);
    } else {
        struct coro *inner = coro_of(peel, onion);
        while (!coro_done(inner)) {
            coro_resume(inner);
            note(co, onion, (char)('a' + depth)); /* the inner one yielded, or has ended */
        }
        coro_free(inner);
    }
    for (uint32_t i = 0; i < 64; i++) onion->sum += locals[i];
}

static void outer_ones_yield_from_inner_ones(void **state)
{
    static const char *const trails[] = {"1", "12b3a4", "12b3a45b6ba"};
    (void)state;
    struct onion onion = {0};
    struct coro *co = coro_of(peel, &onion);
    for (uint32_t i = 0; i < 3; i++) {
        coro_resume(co);
        assert_string_equal(onion.trail, trails[i]);
        assert_int_equal(coro_done(co), i == 2);
        assert_false(coro_is_inside());
    }
    assert_int_equal(onion.sum, 192 * 191 / 2);
    coro_free(co);
}

static void resumes_nest(void **state)
{
    (void)state;
    struct relay relay = {20, 0};
    struct coro *co = coro_of(nest, &relay);
    while (!coro_done(co)) coro_resume(co);
    coro_free(co);
    assert_int_equal(relay.total, 21);
}

static void hash_forever(struct coro *co, void *arg)
{
    uint64_t *out = arg, a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7; /* more values than registers to keep */
    for (;;) {
        a += b, b ^= c, c += d * 3, d ^= e, e += f, f ^= g, g += a;
        *out = a ^ b ^ c ^ d ^ e ^ f ^ g;
        coro_yield(co);
    }
}

static void many_switches_keep_all_locals(void **state)
{
    (void)state;
    enum { COROS = 16, ROUNDS = 20000 };
    uint64_t out[COROS];
    struct coro *coros[COROS];
    for (int i = 0; i < COROS; i++) coros[i] = coro_of(hash_forever, &out[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COROS; i++) coro_resume(coros[i]);
        for (int i = 1; i < COROS; i++) assert_true(out[i] == out[0]);
    }
    for (int i = 0; i < COROS; i++) coro_free(coros[i]);
}

static uint64_t recurse(struct coro *co, unsigned depth)
{
    volatile unsigned char frame[512];
    for (unsigned i = 0; i < sizeof(frame); i++) frame[i] = (unsigned char)(depth + i);
    if (depth % 8 == 0) coro_yield(co);
    uint64_t sum = depth ? recurse(co, depth - 1) : 0;
    for (unsigned i = 0; i < sizeof(frame); i++) {
        if (frame[i] != (unsigned char)(depth + i)) return UINT64_MAX;
    }
    return sum == UINT64_MAX ? sum : sum + 1;
}

static void go_deep(struct coro *co, void *arg) { *(uint64_t *)arg = recurse(co, 500); }

static void stacks_hold_deep_frames(void **state)
{
    (void)state;
    uint64_t sums[2] = {0, 0};
    struct coro *coros[2];
    for (int i = 0; i < 2; i++) {
        coros[i] = coro_new(4u << 20, go_deep, &sums[i]);
        assert_non_null(coros[i]);
    }
    while (!coro_done(coros[0])) {
        coro_resume(coros[0]);
        coro_resume(coros[1]);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(coro_done(coros[i]));
        assert_int_equal(sums[i], 501);
        coro_free(coros[i]);
    }
}

static void integrate(struct coro *co, void *arg)
{
    double *out = arg, a = 0.1, b = 0.2, c = 0.3;
    long double d = 0.4L;
    for (int i = 0; i < 1000; i++) {
        a += b * c, b += c / 3, c += 1e-3 * a, d += (long double)a / 7;
        coro_yield(co);
    }
    *out = a + b + c + (double)d;
}

static void floating_point_is_preserved(void **state)
{
    (void)state;
    double out[3];
    struct coro *coros[3];
    for (int i = 0; i < 3; i++) coros[i] = coro_of(integrate, &out[i]);
    double mine = 1;
    for (int round = 0; round <= 1000; round++) {
        for (int i = 0; i < 3; i++) coro_resume(coros[i]);
        mine += mine / 1024;
    }
    for (int i = 0; i < 3; i++) {
        assert_true(coro_done(coros[i]));
        assert_true(out[i] == out[0]);
        coro_free(coros[i]);
    }
    double again = 1;
    for (int round = 0; round <= 1000; round++) again += again / 1024;
    assert_true(mine == again);
}

/* SSE code faults on a stack that is not aligned as the ABI has it. */
static void note_alignment(struct coro *co, void *arg)
{
    (void)co;
    _Alignas(16) volatile char aligned[16] = {0};
    *(uintptr_t *)arg = (uintptr_t)aligned % 16;
    char text[64];
    snprintf(text, sizeof(text), "%.3f", 1.5); /* variadic floating point saves vector registers */
    assert_string_equal(text, "1.500");
}

static void stack_is_aligned(void **state)
{
    (void)state;
    uintptr_t rest = 1;
    struct coro *co = coro_of(note_alignment, &rest);
    coro_resume(co);
    assert_true(coro_done(co));
    assert_int_equal(rest, 0);
    coro_free(co);
}

static void yield_with_arrays(struct coro *co, void *arg)
{
    char text[256];
    memset(text, 'x', sizeof(text));
    recurse(co, 20);
    *(char *)arg = text[255];
}

static void freed_while_suspended_or_never_run(void **state)
{
    (void)state;
    char out;
    for (int i = 0; i < 500; i++) {
        struct coro *never = coro_of(yield_with_arrays, &out);
        struct coro *suspended = coro_of(yield_with_arrays, &out);
        coro_resume(suspended);
        coro_resume(suspended);
        coro_free(suspended);
        coro_free(never);
        /* A new stack where the old one was: no red zone of the dropped frames may be left. */
        struct coro *next = coro_of(yield_with_arrays, &out);
        while (!coro_done(next)) coro_resume(next);
        coro_free(next);
    }
    coro_free(NULL);
}

struct migrant {
    struct coro *co;
    int count;
};

static void *resume_once(void *arg)
{
    struct migrant *migrant = arg;
    coro_resume(migrant->co);
    return NULL;
}

/* A coroutine runs on whichever thread resumes it; here another one each time. */
static void runs_on_the_thread_that_resumes(void **state)
{
    (void)state;
    struct migrant migrant = {NULL, 0};
    migrant.co = coro_of(count_up, &migrant.count);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, resume_once, &migrant), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_true(coro_done(migrant.co));
    assert_int_equal(migrant.count, 3);
    coro_free(migrant.co);
}

/* Bytes below the frame that can be read: the kernel copies them, or refuses. */
static void measure_room_below(struct coro *co, void *arg)
{
    enum { PROBE_BYTES = 4096 };
    (void)co;
    const char *frame = __builtin_frame_address(0);
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    size_t room = 0;
    char sink;
    /* Not by write(): sanitizers would look at the bytes. */
    while (syscall(SYS_write, pipe_ends[1], frame - room - PROBE_BYTES, 1) == 1 && room < (64u << 20)) {
        assert_int_equal(read(pipe_ends[0], &sink, 1), 1);
        room += PROBE_BYTES;
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    *(size_t *)arg = room;
}

/* Neighbouring stacks do not run into each other. */
static void every_stack_ends_at_a_guard_page(void **state)
{
    (void)state;
    enum { COROS = 8 };
    struct coro *coros[COROS];
    size_t rooms[COROS];
    for (int i = 0; i < COROS; i++) coros[i] = coro_of(measure_room_below, &rooms[i]);
    for (int i = 0; i < COROS; i++) {
        coro_resume(coros[i]);
        assert_in_range(rooms[i], STACK_BYTES - 8192, STACK_BYTES + 4096);
    }
    for (int i = 0; i < COROS; i++) coro_free(coros[i]);
}

/* Runs fn in a child process that must die of a signal. */
static void assert_dies(void (*fn)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(3);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0));
}

static void resume_a_done_one(void)
{
    int count = 0;
    struct coro *co = coro_of(count_up, &count);
    for (int i = 0; i < 5; i++) coro_resume(co);
}

static void yield_for_another(struct coro *co, void *arg)
{
    (void)co;
    coro_yield(arg);
}

static void resume_the_confused_one(struct coro *co, void *arg)
{
    (void)arg;
    struct coro *inner = coro_of(yield_for_another, co);
    coro_resume(inner);
}

static void yield_in_the_name_of_another(void)
{
    struct coro *co = coro_of(resume_the_confused_one, NULL);
    coro_resume(co);
}

static void overflow(struct coro *co, void *arg) { *(uint64_t *)arg = recurse(co, 1000000); }

static void run_into_the_guard_page(void)
{
    uint64_t sum;
    struct coro *co = coro_of(overflow, &sum);
    while (!coro_done(co)) coro_resume(co);
}

static void misuse_dies_at_once(void **state)
{
    (void)state;
    assert_dies(resume_a_done_one);
    assert_dies(yield_in_the_name_of_another);
    assert_dies(run_into_the_guard_page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_between_resume_and_yield),
        cmocka_unit_test(resumes_nest),
        cmocka_unit_test(outer_ones_yield_from_inner_ones),
        cmocka_unit_test(many_switches_keep_all_locals),
        cmocka_unit_test(stacks_hold_deep_frames),
        cmocka_unit_test(floating_point_is_preserved),
        cmocka_unit_test(stack_is_aligned),
        cmocka_unit_test(freed_while_suspended_or_never_run),
        cmocka_unit_test(runs_on_the_thread_that_resumes),
        cmocka_unit_test(every_stack_ends_at_a_guard_page),
        cmocka_unit_test(misuse_dies_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
