/*
 * test_locale.c - what the library prints for programs and people does not depend on the locale of its process: here
 * one where bytes above 127 are letters, and numbers have a decimal comma.
 */
#include "cellar.h"
#include "numbered.h"
#include "db_open.h"
#include "engine_config.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int german(void **state)
{
    static char folder[] = "/tmp/cellar-locale-XXXXXX";
    char command[128];
    *state = NULL;
    if (!mkdtemp(folder)) return -1;
    snprintf(command, sizeof command, "localedef -f ISO-8859-1 -i de_DE %s/xx_XX >%s/said 2>&1", folder, folder);
    if (system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "xx_XX")) *state = folder;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void keys_are_printed_in_ascii(void **state)
{
    char text[32];
    if (!*state) skip(); /* no such locale can be had here */
    cellar_key_print(text, sizeof text, "a\xe4\xff\x80z", 5);
    assert_string_equal(text, "a\\xe4\\xff\\x80z");
}

static void metrics_have_decimal_points(void **state)
{
    static char page[1 << 18];
    struct cellar *db;
    if (!*state) skip();
    assert_int_equal(db_open(&(struct engine_config){.pool_bytes = 16 << 20}, &db, NULL), 0);
    int bytes = (int)cellar_metrics(db, page, sizeof page);
    cellar_close(db);
    assert_true(bytes > 0 && (size_t)bytes < sizeof page);
    unsigned values = 0;
    for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n")) {
        const char *value = strrchr(line, ' ');
        if (line[0] == '#') continue;
        assert_non_null(value);
        if (strchr(value, ',')) fail_msg("%s", line);
        values++;
    }
    assert_true(values > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_printed_in_ascii),
        cmocka_unit_test(metrics_have_decimal_points),
    };
    return cmocka_run_group_tests(tests, german, NULL);
}
