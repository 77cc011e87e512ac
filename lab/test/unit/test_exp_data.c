/*
 * test_exp_data.c - published figures as data: what is built in can be read, each mistake gets one line, and recording
 * changes one line.
 */
#include "exp_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD "{\"about\": \"\", \"reasons\": {\"why\": \"so it is\"}, \"figures\": ["
#define FIGURE                                                                                                         \
    "{\"study\": \"s\", \"figure\": \"f\", \"source\": \"p\", \"unit\": \"x\", \"published\": 2, \"band\": [0.5, 2]"
#define TARGET "{\"study\": \"s\", \"figure\": \"t\", \"unit\": \"x\", \"at_least\": 1.5"

static int parse(const char *text, struct exp_data *data, struct cellar_error *error)
{
    *error = (struct cellar_error){0};
    return exp_data_parse(text, strlen(text), "test", data, error);
}

static void what_is_built_in_can_be_read(void **state)
{
    uint32_t files = 0;
    (void)state;
    for (const struct exp_data_text *text = exp_data_texts; text->name; text++, files++) {
        struct exp_data data;
        struct cellar_error error = {0};
        if (exp_data_open(text->name, &data, &error)) fail_msg("%s", error.text);
        assert_true(data.figure_count > 10);
        exp_data_close(&data);
    }
    assert_int_equal(files, 3);
}

static void a_figure_is_what_it_says(void **state)
{
    struct exp_data data;
    struct cellar_error error;
    (void)state;
    assert_int_equal(parse(HEAD FIGURE ", \"reason\": \"why\", \"was\": {\"quick\": 3, \"slack\": 0.2}}, " TARGET
                                       "}, {\"study\": \"s\", \"figure\": \"m\", \"unit\": \"\", \"at_most\": 4}]}",
                           &data, &error),
                     0);
    const struct exp_data_figure *figure = exp_data_find(&data, "s", "f"), *target = exp_data_find(&data, "s", "t");
    assert_non_null(figure);
    assert_false(figure->target);
    assert_string_equal(figure->reason, "so it is");
    assert_true(figure->was[1] && !figure->was[0] && figure->recorded[1] == 3 && figure->slack == 0.2);
    assert_true(target->target && target->published == 1.5 && target->low == 1 && target->high > 1e6);
    assert_true(exp_data_find(&data, "s", "m")->low == 0 && exp_data_find(&data, "s", "m")->high == 1);
    assert_null(exp_data_find(&data, "other", "f"));
    exp_data_close(&data);
}

static void each_mistake_gets_one_line(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"{", "line 1"},
        {"[]", "\"figures\" must be a list"},
        {HEAD "]}", "\"figures\" must be a list"},
        {HEAD "{}]}", "\"figure\" must be a text"},
        {HEAD "{\"figure\": 3}]}", "\"figure\" must be a text"},
        {HEAD "{\"figure\": \"f\", \"unit\": \"\"}]}", "figure f: \"study\" must be a text"},
        {HEAD FIGURE ", \"colour\": 1}]}", "unknown field \"colour\""},
        {HEAD FIGURE ", \"at_least\": 1}]}", "needs one of"},
        {HEAD "{\"study\": \"s\", \"figure\": \"f\", \"unit\": \"\"}]}", "needs one of"},
        {HEAD "{\"study\": \"s\", \"figure\": \"f\", \"unit\": \"\", \"published\": 1}]}", "go together"},
        {HEAD "{\"study\": \"s\", \"figure\": \"f\", \"unit\": \"\", \"published\": 1, \"band\": [2, 1]}]}",
         "[low, high]"},
        {HEAD "{\"study\": \"s\", \"figure\": \"f\", \"unit\": \"\", \"published\": \"1\", \"band\": [1, 2]}]}",
         "\"published\" must be a number"},
        {HEAD "{\"study\": \"s\", \"figure\": \"f\", \"unit\": \"\", \"published\": 1, \"band\": [1, 2]}]}",
         "\"source\" is missing"},
        {HEAD FIGURE ", \"reason\": \"because\"}]}", "names none of \"reasons\""},
        {HEAD FIGURE ", \"was\": {\"quick\": 3}}]}", "needs \"slack\""},
        {HEAD TARGET ", \"x\": \"two\"}]}", "\"x\" must be a number"},
        {HEAD "{\"study\": \"s\", \"figure\": \"f\", \"unit\": \"\", \"at_least\": 0}]}", "above 0"},
        {HEAD TARGET "}, " TARGET "}]}", "stands there twice"},
        {HEAD TARGET "}], \"charts\": {\"c\": {\"source\": \"p\", \"points\": [[1]]}}}", "chart \"c\""},
        {HEAD TARGET "}], \"charts\": {\"c\": {\"points\": [[1, 2]]}}}", "\"source\" must be a text"},
    };
    struct exp_data data;
    struct cellar_error error;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(parse(wrong[i].text, &data, &error), CELLAR_CORRUPT);
        if (!strstr(error.text, wrong[i].says)) fail_msg("'%s' instead of '%s'", error.text, wrong[i].says);
        assert_null(strchr(error.text, '\n'));
        assert_null(data.root);
    }
    assert_int_equal(exp_data_open("nothing", &data, &error), CELLAR_CORRUPT);
}

static void recording_changes_one_line(void **state)
{
    char path[] = "/tmp/test_exp_data.XXXXXX", line[256], third[256] = "";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    struct cellar_error error = {0};
    const struct exp_data_value value = {"s", "t", 1.23456}, other = {"s", "none", 1};
    (void)state;
    fputs(HEAD "\n  " FIGURE "},\n  " TARGET "}\n]}\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(exp_data_record(path, true, &value, 1, &error), 0);
    assert_int_equal(exp_data_record(path, false, &other, 1, &error), CELLAR_INVALID);
    file = fopen(path, "r");
    uint32_t lines = 0;
    while (fgets(line, sizeof line, file)) {
        if (strstr(line, "\"t\"")) snprintf(third, sizeof third, "%s", line);
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, 10);
    assert_non_null(strstr(third, "\"was\": {"));
    assert_non_null(strstr(third, "\"quick\": 1.235"));
    assert_int_equal(exp_data_record("/no/such/file", true, &value, 1, &error), CELLAR_INVALID);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_in_can_be_read),
        cmocka_unit_test(a_figure_is_what_it_says),
        cmocka_unit_test(each_mistake_gets_one_line),
        cmocka_unit_test(recording_changes_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
