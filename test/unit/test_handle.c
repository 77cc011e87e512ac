/* test_handle.c - memory of handles: zero once it was given back, another's only much later, and wiped by fork. */
#include "handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LATER 10000 /* handles that come before a place is used again, at least */

static bool is_filled(const uint8_t *bytes, size_t count, uint8_t with)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != with) return false;
    return true;
}

static void what_was_given_back_reads_as_zero(void **state)
{
    static uint8_t *gone[LATER];
    (void)state;
    uint8_t *kept = handle_new(5000);
    memset(kept, 7, 5000);
    for (uint32_t i = 0; i < LATER; i++) {
        size_t bytes = 1 + i % 9000;
        gone[i] = handle_new(bytes);
        assert_non_null(gone[i]);
        assert_int_equal((uintptr_t)gone[i] % 64, 0);
        assert_true(is_filled(gone[i], bytes, 0));
        memset(gone[i], 1, bytes);
        handle_drop(gone[i], bytes);
    }
    for (uint32_t i = 0; i < LATER; i++) assert_true(is_filled(gone[i], 1 + i % 9000, 0));
    for (uint32_t i = 1; i < LATER; i++) assert_true(gone[i] != gone[0]);
    assert_true(is_filled(kept, 5000, 7));
    handle_drop(kept, 5000);
    handle_drop(NULL, 10);
}

/* However many come and go: those that stay are not touched. */
static void places_are_used_again(void **state)
{
    uint8_t *kept[50];
    (void)state;
    for (uint32_t i = 0; i < 200000; i++) {
        uint8_t *handle = handle_new(3000);
        assert_non_null(handle);
        if (i % 4000 == 0) kept[i / 4000] = memset(handle, (int)(1 + i / 4000), 3000);
        if (i % 4000 != 0) handle_drop(handle, 3000);
    }
    for (uint32_t i = 0; i < 50; i++) {
        assert_true(is_filled(kept[i], 3000, (uint8_t)(1 + i)));
        handle_drop(kept[i], 3000);
    }
}

static void there_is_an_end(void **state)
{
    static uint8_t *taken[70000];
    uint32_t count = 0;
    (void)state;
    assert_null(handle_new(1ull << 30));
    while (count < 70000 && (taken[count] = handle_new(100)) != NULL) count++;
    assert_in_range(count, 60000, 65536);
    handle_drop(taken[count / 2], 100);
    assert_ptr_equal(handle_new(100), taken[count / 2]);
    while (count > 0) handle_drop(taken[--count], 100);
    assert_non_null(taken[0] = handle_new(1 << 20));
    handle_drop(taken[0], 1 << 20);
}

static void a_child_finds_nothing(void **state)
{
    int status;
    (void)state;
    uint8_t *handle = memset(handle_new(100), 5, 100);
    pid_t pid = fork();
    if (pid == 0) {
        uint8_t *own = handle_new(100);
        _exit(is_filled(handle, 100, 0) && own && is_filled(own, 100, 0) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(is_filled(handle, 100, 5));
    handle_drop(handle, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_back_reads_as_zero),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(there_is_an_end),
        cmocka_unit_test(a_child_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
