/*
 * test_own_workload.c - what docs/architecture.md says of adding a workload: a table with one that no other file knows
 * stands for the program's, and `cellar bench` and the simulator run it, with its options, its line in the report, its
 * fields of the JSON and its sizes.
 */
#include "bench.h"
#include "numbered.h"
#include "bulk.h"
#include "db_schema.h"
#include "processes.h"
#include "report.h"
#include "sim_run.h"
#include "watch.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a workload: transactions add to one of a few tallies ---- */

static const char *const flavours[] = {"plain", "double", NULL};

struct tally_config {
    struct workload_config base;
    uint64_t tallies;
    const char *flavour; /* "double": 2 is added, not 1 */
    const char *label;
};

struct workload_run {
    uint64_t tallies, step;
    const struct cellar_table *table;
    const struct cellar_proc *add;
};

struct tally_client {
    struct workload_client base;
    uint64_t added;
};

struct tally_args {
    const struct workload_run *run;
    uint64_t key;
};

static const char *const type_names[] = {"Add"};
static const char *const table_names[] = {"tally", NULL};

static const struct option_def own_options[] = {
    {.name = "tallies",
     .argument = "N",
     .help = "records that are added to",
     .fallback = "100",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct tally_config, tallies)},
    {.name = "flavour",
     .help = "how much is added",
     .fallback = "plain",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct tally_config, flavour),
     .choices = flavours},
    {.name = "label",
     .argument = "TEXT",
     .help = "what the run is called",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct tally_config, label)},
};
#define OWN_OPTIONS (sizeof own_options / sizeof *own_options)

static void defaults(struct workload_config *base)
{
    struct tally_config *config = (struct tally_config *)base;
    config->tallies = 100;
    config->flavour = flavours[0];
}

static int resolve(struct workload_config *base, uint64_t given, struct cellar_error *error)
{
    struct tally_config *config = (struct tally_config *)base;
    bool tallies = option_def_given(own_options, OWN_OPTIONS, given, "tallies");
    if (!strcmp(config->flavour, "double") && !tallies) config->tallies = 50;
    if (given == 3 && config->tallies == 7)
        return err_set(error, CELLAR_INVALID, "--tallies 7 and --flavour exclude each other");
    return 0;
}

static int validate(const struct workload_config *base, struct cellar_error *error)
{
    const struct tally_config *config = (const struct tally_config *)base;
    if (config->tallies > 0 && config->tallies <= 1000000) return 0;
    return err_set(error, CELLAR_INVALID, "tally needs 1 to 1000000 tallies");
}

static uint64_t pool_bytes(const struct workload_config *base)
{
    return ((const struct tally_config *)base)->tallies * 200;
}

static double growth_bytes(const struct workload_config *base)
{
    (void)base;
    return 0;
}

static void describe(const struct workload_config *base, char *line, size_t bytes)
{
    const struct tally_config *config = (const struct tally_config *)base;
    snprintf(line, bytes, "%llu tallies, %s", (unsigned long long)config->tallies, config->flavour);
}

static uint32_t details(const struct workload_config *base, struct workload_detail *details)
{
    details[0] = (struct workload_detail){"flavour", ((const struct tally_config *)base)->flavour};
    return 1;
}

static uint64_t accesses_max(const struct workload_config *base)
{
    (void)base;
    return 2;
}

static int add(struct cellar_txn *txn, void *argument)
{
    const struct tally_args *args = argument;
    uint64_t value = 0;
    int ref = cellar_proc_access(txn, args->run->table, args->key, CELLAR_ALL_CELLS, CELLAR_ALL_CELLS, 0);
    int code = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (code == 0) code = cellar_proc_get(txn, ref, 0, &value);
    value += args->run->step;
    return code < 0 ? code : cellar_proc_put(txn, ref, 0, &value);
}

static uint64_t opened; /* with so many tallies, last */

static int open_run(struct cellar *db, const struct workload_config *base, uint64_t expected_txns,
                    struct workload_run **out, struct cellar_error *error)
{
    static const struct cellar_schema_column columns[] = {{"value", 0, sizeof(uint64_t), 0}};
    static const struct cellar_proc_def def = {.name = "tally.add", .fn = add, .records_max = 1, .writes_max = 1};
    const struct tally_config *config = (const struct tally_config *)base;
    const struct cellar_schema schema = {.name = "tally",
                                         .row_bytes = sizeof(uint64_t),
                                         .columns = columns,
                                         .column_count = 1,
                                         .records_max = config->tallies};
    (void)expected_txns;
    struct workload_run *run = calloc(1, sizeof *run);
    if (!run) return err_set(error, CELLAR_NOMEM, "no memory");
    opened = run->tallies = config->tallies;
    run->step = strcmp(config->flavour, "double") ? 1 : 2;
    int code = db_table_create(db, &schema, &run->table, error);
    if (code == 0) code = db_proc_register(db, &def, &run->add, error);
    if (code == 0)
        *out = run;
    else
        free(run);
    return code;
}

static void close_run(struct workload_run *run) { free(run); }

static int load(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress,
                struct cellar_error *error)
{
    const uint64_t zero = 0;
    int code = 0;
    for (uint64_t key = cellar_lab_index(self); code == 0 && key < run->tallies; key += cellar_lab_count(self)) {
        code = db_load(self, run->table, key, &zero, error);
        __atomic_fetch_add(progress, 1, __ATOMIC_RELAXED);
    }
    return code;
}

static uint64_t load_rows(const struct workload_run *run) { return run->tallies; }

static int client_init(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *client)
{
    (void)run, (void)self, (void)client;
    return 0;
}

static int next(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *base, uint32_t *type,
                const struct cellar_call_options *options, struct cellar_result *result)
{
    struct tally_args args = {.run = run, .key = prng_below(&base->prng, run->tallies)};
    *type = 0;
    int code = cellar_lab_exec(self, run->add, &args, options, result);
    if (code == 0) ((struct tally_client *)base)->added += run->step;
    return code;
}

static int sum_up(void *arg, uint64_t key, const void *row)
{
    uint64_t value;
    (void)key;
    memcpy(&value, row, sizeof value);
    *(uint64_t *)arg += value;
    return 0;
}

static int check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                 uint32_t client_count, struct workload_report *report, struct cellar_error *error)
{
    uint64_t sum = 0, added = 0;
    for (uint32_t i = 0; i < client_count; i++) added += ((const struct tally_client *)clients[i])->added;
    int code = db_scan(self, run->table, sum_up, &sum, error);
    workload_report_check(report, "sum of the tallies", sum == added ? NULL : "%llu, not %llu", (unsigned long long)sum,
                          (unsigned long long)added);
    return code;
}

static void sim_configure(struct workload_config *base, const struct workload_sim_load *load_of)
{
    ((struct tally_config *)base)->tallies = load_of->size;
}

static const uint32_t sim_sizes[] = {3, 5};
static const struct workload_sim sim = {
    .sizes = sim_sizes, .size_count = 2, .txns_max = 40, .configure = sim_configure};

static const struct workload tally_workload = {
    .name = "tally",
    .summary = "transactions add to one of a few tallies",
    .type_count = 1,
    .types = type_names,
    .tables = table_names,
    .client_bytes = sizeof(struct tally_client),
    .config_bytes = sizeof(struct tally_config),
    .options = own_options,
    .option_count = OWN_OPTIONS,
    .sim = &sim,
    .defaults = defaults,
    .resolve = resolve,
    .validate = validate,
    .pool_bytes = pool_bytes,
    .growth_bytes = growth_bytes,
    .describe = describe,
    .details = details,
    .accesses_max = accesses_max,
    .open = open_run,
    .load = load,
    .load_rows = load_rows,
    .client_init = client_init,
    .next = next,
    .check = check,
    .close = close_run,
};

/* Has an option of its own, and is not run. */
static const struct option_def other_options[] = {{.name = "colour", .help = "none", .kind = OPTION_FLAG, .offset = 8}};
static const struct workload other_workload = {.name = "other",
                                               .summary = "nothing",
                                               .config_bytes = 16,
                                               .options = other_options,
                                               .option_count = 1,
                                               .defaults = defaults};

const struct workload *const workload_table[] = {&tally_workload, &other_workload, NULL};

/* ---- what runs it ---- */

#define ARGUMENTS_MAX 24

static int split(char *line, char **arguments)
{
    int count = 0;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
        assert_true(count < ARGUMENTS_MAX);
        arguments[count++] = word;
    }
    return count;
}

static int parse(const char *line, struct settings *settings, struct cellar_error *error)
{
    static char copy[200];
    char *arguments[ARGUMENTS_MAX];
    snprintf(copy, sizeof copy, "%s", line);
    return settings_parse(split(copy, arguments), arguments, 2, settings, error);
}

static void options_reach_its_configuration(void **state)
{
    static const struct {
        const char *line, *says;
    } refused[] = {
        {"tally --tallies 0", "tally needs 1 to 1000000 tallies"},
        {"tally --flavour sour", "--flavour knows no 'sour'; it takes one of: plain, double"},
        {"tally --flavour plain --tallies 7", "exclude each other"},
        {"tally --colour", "--colour is no option of tally, but of other"},
        {"tally --replay f", "--replay is no option of tally"},
        {"tally --accounts 5", "unknown option '--accounts'"},
        {"smallbank", "unknown workload 'smallbank'; one of: tally, other"},
    };
    struct settings settings;
    struct cellar_error error = {0};
    (void)state;
    const struct tally_config *config = (const struct tally_config *)&settings.room;
    assert_int_equal(parse("tally --seed 5", &settings, &error), 0);
    assert_true(config->tallies == 100 && config->base.seed == 5);
    assert_int_equal(parse("tally --flavour double --mns 2", &settings, &error), 0);
    assert_true(config->tallies == 50 && !strcmp(config->flavour, "double") && settings.db.mns == 2);
    assert_int_equal(parse("tally --tallies 9 --flavour=double", &settings, &error), 0);
    assert_int_equal(config->tallies, 9);
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_true(parse(refused[i].line, &settings, &error) < 0);
        if (!strstr(error.text, refused[i].says)) fail_msg("%s: said: %s", refused[i].line, error.text);
    }
}

static void options_that_cannot_be_compared_are_refused(void **state)
{
    struct settings settings;
    struct cellar_error error = {0};
    char label[600];
    (void)state;
    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = 0;
    assert_int_equal(parse("tally --process 0/2 --memnodes /tmp/none", &settings, &error), 0);
    struct tally_config *config = (struct tally_config *)&settings.room;
    config->label = label + 300;
    assert_int_equal(processes_accept(&settings, &error), 0);
    config->label = label;
    assert_int_equal(processes_accept(&settings, &error), CELLAR_TOO_LARGE);
    assert_non_null(strstr(error.text, "the options of tally take more than"));
    settings.processes = 1;
    assert_int_equal(processes_accept(&settings, &error), 0);
}

static void assert_printed(FILE *out, const char *wanted)
{
    static char text[20000];
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = 0;
    if (!strstr(text, wanted)) fail_msg("no '%s' in:\n%s", wanted, text);
}

static void help_and_report_have_its_lines(void **state)
{
    struct outcome *outcome = calloc(1, sizeof *outcome);
    struct settings settings;
    struct machine machine = {.cores = 1, .cpu = "a CPU"};
    struct cellar_error error = {0};
    FILE *out = tmpfile();
    (void)state;
    assert_true(outcome && out);
    settings_print_help(out);
    assert_printed(out, "  tally                      transactions add to one of a few tallies\n");
    assert_printed(out, "\ntally\n  --tallies N                records that are added to [100]\n");
    assert_printed(out, "\nother\n  --colour");
    fclose(out);
    out = tmpfile();
    assert_non_null(out);
    assert_int_equal(parse("tally --tallies 12", &settings, &error), 0);
    outcome->settings = &settings;
    outcome->machine = &machine;
    outcome->masked_by = "processor";
    report_print(outcome, out);
    assert_printed(out, "  workload   12 tallies, plain\n");
    fclose(out);
    free(outcome);
}

/* A process that is alone in the world, and in no hurry: each look at its clock takes 1 ms. */
static uint64_t now_ns(void)
{
    static uint64_t now;
    return __atomic_add_fetch(&now, 1000000, __ATOMIC_RELAXED);
}
static void pause_ns(uint64_t ns) { (void)ns; }
static void begin(struct watch *watch, const struct watch_phase *phase) { (void)watch, (void)phase; }
static void end(struct watch *watch) { (void)watch; }

/* Defaults, options, load, run, check, report: all that `cellar bench` does. */
static void bench_runs_it(void **state)
{
    char path[] = "/tmp/own_workload_XXXXXX", line[200], *arguments[ARGUMENTS_MAX];
    struct watch watch = {.now_ns = now_ns, .cpu_ns = now_ns, .pause = pause_ns, .begin = begin, .end = end};
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    snprintf(line, sizeof line, "tally --flavour double --fabric sim --threads 2 --txns 300 --json %s", path);
    assert_int_equal(bench_main(split(line, arguments), arguments, &watch), COMMAND_OK);
    FILE *json = fopen(path, "r");
    assert_non_null(json);
    assert_printed(json, "\"workload\": \"tally\"");
    assert_printed(json, "\"flavour\": \"double\"");
    assert_printed(json, "\"committed\": 300");
    assert_printed(json, "\"sum of the tallies\"");
    assert_printed(json, "\"consistent\": true");
    fclose(json);
    unlink(path);
}

static void the_simulator_runs_it(void **state)
{
    struct sim_plan *plan = calloc(1, sizeof *plan);
    struct sim_report *report = calloc(1, sizeof *report);
    struct cellar_error error = {0};
    (void)state;
    assert_true(plan && report);
    assert_string_equal(sim_plan_workload(3), "tally");
    assert_null(sim_plan_workload(4));
    for (uint64_t seed = 1; seed <= 6; seed++) {
        memset(plan, 0, sizeof *plan);
        plan->workload = "tally";
        sim_plan_draw(plan, seed, SIM_FIXED_WORKLOAD);
        assert_true(plan->keys == 3 || plan->keys == 5);
        assert_int_equal(sim_plan_check(plan, &error), 0);
        if (sim_run(plan, report, &error) < 0)
            fail_msg("seed %llu: %s %s", (unsigned long long)seed, error.text, report->verdict);
        assert_true(report->committed > 0 && opened == plan->keys);
    }
    memset(plan, 0, sizeof *plan);
    plan->workload = "other";
    sim_plan_draw(plan, 1, 0);
    plan->workload = "other";
    assert_int_equal(sim_plan_check(plan, &error), CELLAR_INVALID);
    assert_non_null(strstr(error.text, "unknown workload 'other'"));
    free(plan);
    free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_cannot_be_compared_are_refused),
        cmocka_unit_test(options_reach_its_configuration),
        cmocka_unit_test(help_and_report_have_its_lines),
        cmocka_unit_test(bench_runs_it),
        cmocka_unit_test(the_simulator_runs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
