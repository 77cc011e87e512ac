/* test_exp_report.c - figures beside published ones: the verdicts at the ends of the bands, the counts, and every form they are written in. */
#include "exp_page.h"
#include "exp_report.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WHY "it is \"said\" so"

/* Within, known, outside twice (behind the known band; without a reason), and known for the same reason. */
static const struct exp_report_row rows[] = {
    {"first", "paper <A>", "M/s", 2.0, 0.9, 1.1, .model = 2.1, .fitted = true},
    {"second", "paper & B", "us", 10, 0.9, 1.1, .model = 13, .why = WHY, .known_low = 1.2, .known_high = 1.4},
    {"third", "C", "x", 10, 0.9, 1.1, .model = 14.1, .why = WHY, .known_low = 1.2, .known_high = 1.4},
    {"fourth", "D", "", 1, 0.9, 1.1, .model = 0.89},
    {"fifth", "E", "", 1000, 0.9, 1.1, .model = 1250, .why = WHY, .known_low = 1.2, .known_high = 1.4},
};
#define ROWS (sizeof rows / sizeof *rows)

static struct exp_report *example(void)
{
    static struct exp_report report;
    report.count = 0;
    for (uint32_t i = 0; i < ROWS; i++) exp_report_add(&report, rows[i]);
    return &report;
}

static enum exp_report_verdict verdict_of(double ratio)
{
    struct exp_report_row row = {"f", "s", "", 4, 0.75, 1.25, .model = 4 * ratio};
    row.why = WHY;
    row.known_low = 1.5;
    row.known_high = 2;
    return exp_report_judge(&row);
}

static void the_ends_of_bands_belong_to_them(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(0.749), EXP_REPORT_OUTSIDE);
    assert_int_equal(verdict_of(0.75), EXP_REPORT_WITHIN);
    assert_int_equal(verdict_of(1.25), EXP_REPORT_WITHIN);
    assert_int_equal(verdict_of(1.251), EXP_REPORT_OUTSIDE);
    assert_int_equal(verdict_of(1.5), EXP_REPORT_KNOWN);
    assert_int_equal(verdict_of(2), EXP_REPORT_KNOWN);
    assert_int_equal(verdict_of(2.001), EXP_REPORT_OUTSIDE);
    assert_int_equal(exp_report_outside(example()), 2);
}

/* Of what a table expects: a tenth to either side, wherever bands are. */
static enum exp_report_verdict expected_verdict(double model, double expected, const char *why)
{
    struct exp_report_row row = {"f", "s", "", 4, 0.75, 1.25, .model = model, .why = why};
    row.expects = true;
    row.expected = expected;
    row.slack = 0.1;
    return exp_report_judge(&row);
}

static void what_has_moved_is_outside(void **state)
{
    (void)state;
    assert_int_equal(expected_verdict(4, 4, NULL), EXP_REPORT_WITHIN);
    assert_int_equal(expected_verdict(4.3, 4, NULL), EXP_REPORT_WITHIN);
    assert_int_equal(expected_verdict(4.5, 4, NULL), EXP_REPORT_OUTSIDE);
    assert_int_equal(expected_verdict(3.5, 4, WHY), EXP_REPORT_OUTSIDE);
    assert_int_equal(expected_verdict(8, 8, NULL), EXP_REPORT_OUTSIDE);
    assert_int_equal(expected_verdict(8.7, 8, WHY), EXP_REPORT_KNOWN);
    assert_int_equal(expected_verdict(8.9, 8, WHY), EXP_REPORT_OUTSIDE);
    assert_int_equal(expected_verdict(-3.7, -4, WHY), EXP_REPORT_KNOWN);
    assert_int_equal(expected_verdict(-3.5, -4, WHY), EXP_REPORT_OUTSIDE);
    assert_int_equal(expected_verdict(0.004, 0, WHY), EXP_REPORT_KNOWN);
    assert_int_equal(expected_verdict(0.1, 0, WHY), EXP_REPORT_OUTSIDE);
}

static void equal_reasons_share_a_note(void **state)
{
    static const uint32_t notes[ROWS] = {0, 1, 0, 0, 1};
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) assert_int_equal(exp_report_note(example(), i), notes[i]);
}

static void values_have_few_digits(void **state)
{
    char text[EXP_REPORT_VALUE_BYTES];
    (void)state;
    assert_string_equal(exp_report_value(text, 0.0567, "M/s"), "0.057 M/s");
    assert_string_equal(exp_report_value(text, 12.345, ""), "12.35");
    assert_string_equal(exp_report_value(text, 278.3, "K/s"), "278.3 K/s");
    assert_string_equal(exp_report_value(text, 12345, "x"), "12345 x");
    assert_string_equal(exp_report_value(text, -135.251, "%"), "-135.3 %");
}

/* ---- files ---- */

static char *text_of(void (*write)(const struct exp_report *report, FILE *out))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    write(example(), out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void print_plain(const struct exp_report *report, FILE *out)
{
    struct style style = style_of(out);
    exp_report_print(report, out, &style);
}

static void people_see_the_counts(void **state)
{
    char *text = text_of(print_plain);
    (void)state;
    assert_non_null(strstr(text, "5 figures: 1 within their bands, 2 known not to be, 2 outside\n"));
    assert_non_null(strstr(text, "first"));
    free(text);
}

static void csv_quotes(void **state)
{
    char *text = text_of(exp_report_csv);
    (void)state;
    assert_non_null(strstr(text, "\n\"first\",\"paper <A>\",\"M/s\",2,2.1,1.0500,0.9,1.1,fit,within,\"\"\n"));
    assert_non_null(strstr(text, "1.3000,0.9,1.1,test,known,\"it is \"\"said\"\" so\"\n"));
    assert_non_null(strstr(text, "0.8900,0.9,1.1,test,outside,\"\"\n"));
    free(text);
}

static void markdown_has_notes(void **state)
{
    char *text = text_of(exp_report_markdown);
    (void)state;
    assert_non_null(strstr(text, "| first | paper <A> | 2.000 M/s | 2.100 M/s | 1.05 | 0.9\xe2\x80\x93"
                                 "1.1 | fit | yes |\n"));
    assert_non_null(strstr(text, "| test | no (1) |\n"));
    assert_non_null(strstr(text, "| test | **no** |\n"));
    assert_non_null(strstr(text, "\n\n1. " WHY "\n"));
    assert_null(strstr(text, "\n2. "));
    free(text);
}

static void the_page_escapes(void **state)
{
    char *text = text_of(exp_page_table);
    (void)state;
    assert_non_null(strstr(text, "<td>paper &lt;A&gt;</td>"));
    assert_non_null(strstr(text, "<td>paper &amp; B</td>"));
    assert_non_null(strstr(text, "<tr class=\"known\"><td>second</td>"));
    assert_non_null(strstr(text, "<tr class=\"outside\"><td>fourth</td>"));
    free(text);
}

static void json_holds_all(void **state)
{
    json_t *root = exp_report_json(example()), *figures = json_object_get(root, "figures");
    (void)state;
    assert_int_equal(json_array_size(figures), ROWS);
    assert_int_equal(json_integer_value(json_object_get(root, "within")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "known")), 2);
    assert_int_equal(json_integer_value(json_object_get(root, "outside")), 2);
    assert_null(json_object_get(json_array_get(figures, 0), "reason"));
    assert_true(json_is_true(json_object_get(json_array_get(figures, 0), "fitted")));
    json_t *second = json_array_get(figures, 1);
    assert_string_equal(json_string_value(json_object_get(second, "verdict")), "known");
    assert_string_equal(json_string_value(json_object_get(second, "reason")), WHY);
    assert_true(json_real_value(json_object_get(second, "ratio")) == 1.3);
    assert_true(json_real_value(json_array_get(json_object_get(second, "band"), 1)) == 1.1);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ends_of_bands_belong_to_them),
        cmocka_unit_test(what_has_moved_is_outside),
        cmocka_unit_test(equal_reasons_share_a_note),
        cmocka_unit_test(values_have_few_digits),
        cmocka_unit_test(people_see_the_counts),
        cmocka_unit_test(csv_quotes),
        cmocka_unit_test(markdown_has_notes),
        cmocka_unit_test(the_page_escapes),
        cmocka_unit_test(json_holds_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
