/* test_err.c - the tables of cellar.h and the filling of a struct cellar_error. */
#include "cellar_lab.h"
#include "err.h"

#include <ctype.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void fills_code_and_text(void **state)
{
    (void)state;
    struct cellar_error error;
    assert_int_equal(err_set(&error, CELLAR_INVALID, "%s: %d is not in 1..%d", "threads", 0, 64), -1);
    assert_int_equal(error.code, CELLAR_INVALID);
    assert_string_equal(error.text, "threads: 0 is not in 1..64");
}

static void null_error_still_returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, CELLAR_FULL, "%d", 1), CELLAR_FULL);
}

static void long_text_is_cut_and_ended(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    struct cellar_error error;
    assert_int_equal(err_set(&error, CELLAR_SYSTEM, "%s", text), CELLAR_SYSTEM);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
}

static void control_characters_are_shown_not_done(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"a\nb\tc", "a\\x0ab\\x09c"},
        {"\033[31mred\177", "\\x1b[31mred\\x7f"},
        {"\302\233m", "\\x9bm"},                              /* CSI, in UTF-8 */
        {"\303\244rger \302\265s", "\303\244rger \302\265s"}, /* letters are letters */
        {"\302", "\302"},
    };
    struct cellar_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)err_set(&error, CELLAR_INVALID, "%s", cases[i].text);
        assert_string_equal(error.text, cases[i].shown);
    }
    char text[1000];
    memset(text, '\n', sizeof text - 1);
    text[sizeof text - 1] = 0;
    (void)err_set(&error, CELLAR_INVALID, "%s", text);
    assert_in_range(strlen(error.text), sizeof error.text - 6, sizeof error.text - 1);
}

static void every_code_has_its_text(void **state)
{
    (void)state;
#define X(name, number, text)                                                                                          \
    assert_int_equal(CELLAR_##name, number);                                                                           \
    assert_string_equal(cellar_strerror(number), text);
    CELLAR_ERROR_MAP(X)
#undef X
#define X(name, number, text) assert_string_equal(cellar_strerror(ERR_##name), text);
    ERR_MAP(X)
#undef X
    assert_string_equal(cellar_strerror(0), "success");
}

static void unknown_codes_have_a_text(void **state)
{
    (void)state;
    const int codes[] = {INT_MIN, -9999, -100, -99, -20};
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        assert_string_equal(cellar_strerror(codes[i]), "unknown error code");
    assert_string_equal(cellar_strerror(9999), "a number of the function's own");
    assert_string_equal(cellar_strerror(INT_MAX), "a number of the function's own");
}

static void assert_lower_case_of(const char *name, const char *upper)
{
    char lower[64];
    size_t i = 0;
    for (; upper[i] && i < sizeof(lower) - 1; i++) lower[i] = (char)tolower((unsigned char)upper[i]);
    lower[i] = 0;
    assert_string_equal(name, lower);
}

static void abort_names_follow_the_map(void **state)
{
    (void)state;
#define X(name, text) assert_lower_case_of(cellar_lab_abort_name(CELLAR_ABORT_##name), #name);
    CELLAR_ABORT_MAP(X)
#undef X
    assert_string_equal(cellar_lab_abort_name(CELLAR_ABORT_REASONS), "unknown");
    assert_string_equal(cellar_lab_abort_name((enum cellar_abort_reason) - 1), "unknown");
}

static void version_is_that_of_the_header(void **state)
{
    (void)state;
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", CELLAR_VERSION_MAJOR, CELLAR_VERSION_MINOR, CELLAR_VERSION_PATCH);
    assert_string_equal(cellar_version(), version);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_code_and_text),           cmocka_unit_test(null_error_still_returns_the_code),
        cmocka_unit_test(long_text_is_cut_and_ended),    cmocka_unit_test(every_code_has_its_text),
        cmocka_unit_test(unknown_codes_have_a_text),     cmocka_unit_test(abort_names_follow_the_map),
        cmocka_unit_test(version_is_that_of_the_header), cmocka_unit_test(control_characters_are_shown_not_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
