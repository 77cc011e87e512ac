/*
 * test_exp_report.c - figures beside published ones: the verdicts at the ends of the bands, the counts, and every
 * form they are written in.
 */
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

/* Within, outside for a cause (and moved), outside without one, a target reached, and one missed for the same cause. */
static const struct exp_report_row rows[] = {
    {"first", "paper <A>", "M/s", 2.0, 0.9, 1.1, .model = 2.1, .fitted = true},
    {"second", "paper & B", "us", 10, 0.9, 1.1, .model = 13, .why = WHY, .expects = true, .expected = 10, .slack = 0.1},
    {"third", "C", "", 1, 0.9, 1.1, .model = 0.89},
    {"fourth", "target", "x", 2, 1, 1e9, .model = 2.5, .target = true},
    {"fifth", "target", "", 1000, 1, 1e9, .model = 800, .target = true, .why = WHY},
};
#define ROWS (sizeof rows / sizeof *rows)

static struct exp_report *example(void)
{
    static struct exp_report report;
    report.count = 0;
    for (uint32_t i = 0; i < ROWS; i++) exp_report_add(&report, rows[i]);
    return &report;
}

static enum exp_report_verdict verdict_of(double ratio, bool target, const char *why)
{
    struct exp_report_row row = {"f", "s", "", 4, 0.75, 1.25, .model = 4 * ratio, .target = target, .why = why};
    if (target) row.low = 1, row.high = 1e9;
    return exp_report_judge(&row);
}

static void the_ends_of_bands_belong_to_them(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(0.749, false, NULL), EXP_REPORT_OUTSIDE);
    assert_int_equal(verdict_of(0.749, false, WHY), EXP_REPORT_KNOWN);
    assert_int_equal(verdict_of(0.75, false, NULL), EXP_REPORT_WITHIN);
    assert_int_equal(verdict_of(1.25, false, NULL), EXP_REPORT_WITHIN);
    assert_int_equal(verdict_of(1.251, false, NULL), EXP_REPORT_OUTSIDE);
}

static void a_cause_beside_a_miss_does_not_make_it_a_hit(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(1, true, NULL), EXP_REPORT_REACHED);
    assert_int_equal(verdict_of(0.999, true, NULL), EXP_REPORT_MISSED);
    assert_int_equal(verdict_of(0.999, true, WHY), EXP_REPORT_MISSED);
}

static void three_questions_are_counted_apart(void **state)
{
    struct exp_report_counts counts = {0};
    (void)state;
    exp_report_count(example(), &counts);
    for (int i = 0; i < EXP_REPORT_VERDICTS; i++) assert_int_equal(counts.verdicts[i], 1);
    assert_int_equal(exp_report_published(&counts), 3);
    assert_int_equal(exp_report_targets(&counts), 2);
    assert_int_equal(counts.moved, 1);
    assert_int_equal(counts.held, 0);
}

/* By more than a tenth of what was recorded, wherever the band is. */
static bool moved(double model, double expected)
{
    struct exp_report_row row = {"f", "s", "", 4, 0.75, 1.25, .model = model, .expects = true, .slack = 0.1};
    row.expected = expected;
    return exp_report_moved(&row);
}

static void what_was_recorded_is_held(void **state)
{
    struct exp_report_row row = {"f", "s", "", 4, 0.75, 1.25, .model = 8};
    (void)state;
    assert_false(moved(4, 4));
    assert_false(moved(4.3, 4));
    assert_true(moved(4.5, 4));
    assert_true(moved(3.5, 4));
    assert_false(moved(8, 8));
    assert_true(moved(8.9, 8));
    assert_false(moved(-3.7, -4));
    assert_true(moved(-3.5, -4));
    assert_false(moved(0.004, 0));
    assert_true(moved(0.1, 0));
    assert_false(exp_report_moved(&row)); /* nothing was recorded */
    row.known = true;
    row.known_low = 1.9, row.known_high = 2;
    assert_false(exp_report_moved(&row));
    row.known_high = 1.95;
    assert_true(exp_report_moved(&row));
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
    assert_non_null(strstr(text, "3 published figures: 1 within their bands, 1 known not to be, 1 outside\n"));
    assert_non_null(strstr(text, "1 of 2 targets missed\n"));
    assert_non_null(strstr(text, "1 of 1 recorded figures have moved\n"));
    assert_non_null(strstr(text, "was 10.00 us\n"));
    assert_non_null(strstr(text, "first"));
    free(text);
}

static void csv_quotes(void **state)
{
    char *text = text_of(exp_report_csv);
    (void)state;
    assert_non_null(strstr(text, "\n\"first\",\"paper <A>\",\"M/s\",2,2.1,1.0500,0.9,1.1,fit,within,,\"\"\n"));
    assert_non_null(strstr(text, "1.3000,0.9,1.1,test,known,moved,\"it is \"\"said\"\" so\"\n"));
    assert_non_null(strstr(text, "0.8900,0.9,1.1,test,outside,,\"\"\n"));
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
    assert_non_null(strstr(text, "| at least | wanted | **no** (1) |\n"));
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
    assert_non_null(strstr(text, "<tr class=\"outside\"><td>third</td>"));
    free(text);
}

static void json_holds_all(void **state)
{
    json_t *root = exp_report_json(example()), *figures = json_object_get(root, "figures");
    (void)state;
    assert_int_equal(json_array_size(figures), ROWS);
    assert_int_equal(json_integer_value(json_object_get(root, "within")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "known")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "outside")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "reached")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "missed")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "moved")), 1);
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
        cmocka_unit_test(a_cause_beside_a_miss_does_not_make_it_a_hit),
        cmocka_unit_test(three_questions_are_counted_apart),
        cmocka_unit_test(what_was_recorded_is_held),
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
