/* test_report.c - numbers as people read them, the verdicts of both reports, and the memory estimate. */
#include "report.h"
#include "sizing.h"
#include "style.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void numbers_are_readable(void **state)
{
    char text[STYLE_BYTES];
    (void)state;
    assert_string_equal(style_count(text, 0), "0");
    assert_string_equal(style_count(text, 999), "999");
    assert_string_equal(style_count(text, 1000), "1,000");
    assert_string_equal(style_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(style_bytes(text, 512), "512 B");
    assert_string_equal(style_bytes(text, 1536), "1.5 KiB");
    assert_string_equal(style_bytes(text, 300.0 * (1 << 20)), "300 MiB");
    assert_string_equal(style_rate(text, 12), "12");
    assert_string_equal(style_rate(text, 12345), "12.3 k");
    assert_string_equal(style_rate(text, 2500000), "2.50 M");
    assert_string_equal(style_us(text, 1234), "1.23");
    assert_string_equal(style_us(text, 123456), "123.5");
    assert_string_equal(style_us(text, 12345678), "12346");
    assert_string_equal(style_percent(text, 0.0031), "0.31 %");
    assert_string_equal(style_percent(text, 1.234), "123.4 %");
}

struct fixture {
    struct settings settings;
    struct machine machine;
    struct outcome outcome;
};

static struct fixture *fixture_new(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    char *arguments[] = {"smallbank", "--seed", "9"};
    struct cellar_error error = {0};
    if (settings_parse(3, arguments, 2, &fixture->settings, &error) < 0) fail_msg("%s", error.text);
    fixture->machine = (struct machine){.cores = 2, .memory_bytes = 8ull << 30, .cpu = "a CPU"};
    struct outcome *outcome = &fixture->outcome;
    outcome->settings = &fixture->settings;
    outcome->machine = &fixture->machine;
    struct driver_totals *totals = &outcome->totals;
    totals->committed = totals->done = 1000;
    totals->aborted = 250;
    totals->elapsed_s = 0.5;
    totals->fairness = 1;
    totals->stats.ops[CELLAR_PHASE_LOG][CELLAR_VERB_WRITE] = 1500;
    totals->stats.ops[CELLAR_PHASE_APPLY][CELLAR_VERB_WRITE] = 500;
    totals->stats.round_trips = 3250;
    totals->stats.aborts[CELLAR_ABORT_VALIDATION] = 250;
    totals->stats.phase_samples = 4;
    totals->stats.phase_ns[CELLAR_PHASE_EXECUTE] = 8000;
    totals->types[0].committed = totals->all.committed = 1000;
    for (uint32_t i = 0; i < 1000; i++) {
        hist_add(&totals->types[0].latency_ns, 5000);
        hist_add(&totals->all.latency_ns, 5000);
    }
    workload_report_check(&outcome->report, "first", NULL);
    return fixture;
}

static char *printed(const struct outcome *outcome)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = tmpfile();
    assert_non_null(out);
    report_print(outcome, out);
    bytes = (size_t)ftell(out);
    text = calloc(1, bytes + 1);
    assert_non_null(text);
    rewind(out);
    assert_int_equal(fread(text, 1, bytes, out), bytes);
    fclose(out);
    return text;
}

static char *json_of(const struct outcome *outcome)
{
    char path[] = "/tmp/test_report_XXXXXX";
    struct cellar_error error = {0};
    int file = mkstemp(path);
    assert_true(file >= 0);
    if (report_json(outcome, path, &error) < 0) fail_msg("%s", error.text);
    char *text = calloc(1, 65536);
    assert_non_null(text);
    assert_true(read(file, text, 65535) > 0);
    close(file);
    unlink(path);
    return text;
}

static void assert_contains(const char *text, const char *wanted)
{
    if (!strstr(text, wanted)) fail_msg("no '%s' in:\n%s", wanted, text);
}

static void people_read_the_verdict(void **state)
{
    struct fixture *fixture = fixture_new();
    (void)state;
    char *text = printed(&fixture->outcome);
    assert_contains(text, "2,000 txn/s");
    assert_contains(text, "aborts 25.0 %");
    assert_contains(text, "3.25 round trips per transaction");
    assert_contains(text, "execute 2.00");
    assert_contains(text, "\nall 1 checks hold\n");
    free(text);
    workload_report_check(&fixture->outcome.report, "second", "%d cents are missing", 7);
    workload_report_check(&fixture->outcome.report, "third", "gone");
    fixture->outcome.interrupted = true;
    text = printed(&fixture->outcome);
    assert_contains(text, "7 cents are missing");
    assert_contains(text, "\nCHECK FAILED: second, third\n");
    assert_contains(text, "interrupted");
    assert_null(strstr(text, "checks hold"));
    free(text);
    free(fixture);
}

/* Even the largest numbers keep the report within its width. */
static void the_page_is_100_columns_wide(void **state)
{
    struct fixture *fixture = fixture_new();
    (void)state;
    struct outcome *outcome = &fixture->outcome;
    outcome->tables[0] = (struct outcome_table){"a_table_of_a_long_name",
                                                {UINT32_MAX, 1ull << 40, 1ull << 42, 1ull << 42, 1ull << 39},
                                                {9999999999, 999999999, 99999999, 99999999, {9999999}}};
    outcome->procs[0] = (struct outcome_proc){"a_procedure_of_a_name", {.calls = 9999999999, .attempts = 99999999}};
    outcome->proc_count = 1;
    outcome->table_count = 1;
    outcome->totals.committed = outcome->totals.all.committed = 9999999999;
    outcome->totals.stats.aborts[0] = 9999999999;
    outcome->totals.all.latency_ns.max = 100000000000;
    for (uint32_t p = 0; p < CELLAR_PHASES; p++) outcome->totals.stats.phase_ns[p] = 4 * 1000000000ull;
    outcome->totals.stats.round_trips = 1ull << 40;
    workload_report_rate(&outcome->report, "a rate", 0.5, 0.45, 0.55);
    char *text = printed(outcome);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strlen(line) > 100) fail_msg("%zu columns: %s", strlen(line), line);
    free(text);
    free(fixture);
}

static void programs_read_the_verdict(void **state)
{
    struct fixture *fixture = fixture_new();
    (void)state;
    char *text = json_of(&fixture->outcome);
    assert_contains(text, "\"tps\": 2000.0");
    assert_contains(text, "\"abort_rate\": 0.25");
    assert_contains(text, "\"seed\": 9");
    assert_contains(text, "\"lock\": \"declock\""); /* of the queues of mode cellar */
    assert_contains(text, "\"write\": 2.0");
    assert_contains(text, "\"rtts_per_txn\": 3.25");
    assert_contains(text, "\"validation\": 250");
    assert_contains(text, "\"first\": \"ok\"");
    assert_contains(text, "\"consistent\": true");
    assert_null(strstr(text, "trace_hash"));
    free(text);
    workload_report_check(&fixture->outcome.report, "second", "%d \"cents\" are missing", 7);
    fixture->settings.sim = true;
    fixture->outcome.trace_hash = 0xabc;
    text = json_of(&fixture->outcome);
    assert_contains(text, "\"second\": \"7 \\\"cents\\\" are missing\"");
    assert_contains(text, "\"consistent\": false");
    assert_contains(text, "\"trace_hash\": \"0000000000000abc\"");
    free(text);
    free(fixture);
}

static void unwritable_files_are_errors(void **state)
{
    struct fixture *fixture = fixture_new();
    struct cellar_error error = {0};
    (void)state;
    assert_int_equal(report_json(&fixture->outcome, "/no/such/folder/x", &error), CELLAR_SYSTEM);
    assert_contains(error.text, "/no/such/folder/x");
    assert_int_equal(report_json(&fixture->outcome, "/dev/full", &error), CELLAR_SYSTEM);
    free(fixture);
}

static void rates_allow_for_sampling(void **state)
{
    struct fixture *fixture = fixture_new();
    (void)state;
    struct outcome *outcome = &fixture->outcome;
    outcome->totals.done = 1000000;
    workload_report_rate(&outcome->report, "inside", 0.5, 0.45, 0.55);
    workload_report_rate(&outcome->report, "near", 0.553, 0.45, 0.55);
    workload_report_rate(&outcome->report, "far", 0.57, 0.45, 0.55);
    workload_report_rate(&outcome->report, "exact", 1, 1, 1);
    workload_report_rate(&outcome->report, "not exact", 0.999, 1, 1);
    assert_true(outcome_rate_ok(outcome, 0));
    assert_true(outcome_rate_ok(outcome, 1));
    assert_false(outcome_rate_ok(outcome, 2));
    assert_true(outcome_rate_ok(outcome, 3));
    assert_false(outcome_rate_ok(outcome, 4));
    free(fixture);
}

/* ---- the memory estimate ---- */

static int apply(char *const *arguments, int count, uint64_t memory_bytes, struct settings *settings,
                 struct sizing *sizing)
{
    const struct machine machine = {.cores = 2, .memory_bytes = memory_bytes};
    struct cellar_error error = {0};
    if (settings_parse(count, arguments, 2, settings, &error) < 0) fail_msg("%s", error.text);
    return sizing_apply(settings, &machine, sizing, &error);
}

static void memory_is_estimated(void **state)
{
    struct settings settings;
    struct sizing sizing;
    char *ycsb[] = {"ycsb", "--mns", "3", "--replicas", "1"};
    (void)state;
    assert_int_equal(apply(ycsb, 5, 16ull << 30, &settings, &sizing), 0);
    assert_true(settings.db.pool_bytes >= 2 * 1000000ull * 320 / 3);
    assert_int_equal(apply(ycsb, 5, 512ull << 20, &settings, &sizing), CELLAR_TOO_LARGE);

    char *small[] = {"ycsb", "--pool-bytes", "100M"};
    assert_int_equal(apply(small, 3, 16ull << 30, &settings, &sizing), CELLAR_TOO_LARGE);
    char *given[] = {"ycsb", "--pool-bytes", "500M"};
    assert_int_equal(apply(given, 3, 16ull << 30, &settings, &sizing), 0);
    assert_int_equal(settings.db.pool_bytes, 500u << 20);
    assert_int_equal(apply(given, 3, 400ull << 20, &settings, &sizing), CELLAR_TOO_LARGE);
}

/* A long run that cannot be held expects fewer transactions, rather than more memory than there is. */
static void growth_is_cut_to_what_fits(void **state)
{
    struct settings settings;
    struct sizing brief, lengthy;
    char *second[] = {"tpcc", "--warehouses", "1", "--seconds", "1"},
         *hour[] = {"tpcc", "--warehouses", "1", "--seconds", "3600"};
    (void)state;
    assert_int_equal(apply(second, 5, 16ull << 30, &settings, &brief), 0);
    assert_true(settings.db.pool_bytes < 4ull << 30);
    assert_int_equal(apply(hour, 5, 16ull << 30, &settings, &lengthy), 0);
    assert_true(settings.db.pool_bytes <= (12ull << 30) + (1 << 20));
    assert_true(lengthy.expected_txns > brief.expected_txns);
    assert_true(lengthy.expected_txns < 3600ull * 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_readable),         cmocka_unit_test(people_read_the_verdict),
        cmocka_unit_test(the_page_is_100_columns_wide), cmocka_unit_test(programs_read_the_verdict),
        cmocka_unit_test(unwritable_files_are_errors),  cmocka_unit_test(rates_allow_for_sampling),
        cmocka_unit_test(memory_is_estimated),          cmocka_unit_test(growth_is_cut_to_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
