/* test_options.c - the option table: values, malformed values, and what `cellar bench` refuses in one line. */
#include "fabric_sim_profile.h"
#include "options.h"
#include "settings.h"
#include "shared_options.h"
#include "smallbank.h"
#include "ycsb_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct target {
    bool flag;
    uint32_t count;
    uint64_t number, size;
    double real;
    const char *text, *choice;
};

static const char *const choices[] = {"red", "green", NULL};
static const struct option_def defs[] = {
    {.name = "flag", .kind = OPTION_FLAG, .offset = offsetof(struct target, flag)},
    {.name = "count",
     .argument = "N",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct target, count),
     .min = 2,
     .max = 9},
    {.name = "number", .argument = "N", .kind = OPTION_NUMBER, .offset = offsetof(struct target, number)},
    {.name = "size", .argument = "SIZE", .kind = OPTION_SIZE, .offset = offsetof(struct target, size)},
    {.name = "real",
     .argument = "R",
     .kind = OPTION_REAL,
     .offset = offsetof(struct target, real),
     .min = -1,
     .max = 1},
    {.name = "text", .argument = "TEXT", .kind = OPTION_TEXT, .offset = offsetof(struct target, text)},
    {.name = "choice", .kind = OPTION_CHOICE, .offset = offsetof(struct target, choice), .choices = choices},
    {.name = "absent", .absent = true},
};
static const struct options options = {.program = "test", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

#define ARGUMENTS_MAX 24

/* Splits at blanks: enough for tests. */
static int split(const char *line, char *copy, char **arguments)
{
    int count = 0;
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        assert_true(count < ARGUMENTS_MAX);
        arguments[count++] = word;
    }
    return count;
}

static int parse(const char *line, struct target *target, uint64_t *given, struct cellar_error *error)
{
    static char copy[512];
    char *arguments[ARGUMENTS_MAX];
    int count = split(line, copy, arguments);
    memset(target, 0, sizeof(*target));
    memset(error, 0, sizeof(*error));
    return options_parse(&options, count, arguments, target, given, error);
}

static void values_reach_their_fields(void **state)
{
    struct target target;
    struct cellar_error error;
    uint64_t given;
    (void)state;
    assert_int_equal(
        parse("--flag --count 9 --number=18446744073709551615 --size 3G --real -0.5e0 --text x=y --choice green",
              &target, &given, &error),
        0);
    assert_true(target.flag);
    assert_int_equal(target.count, 9);
    assert_true(target.number == UINT64_MAX);
    assert_true(target.size == 3ull << 30);
    assert_true(target.real == -0.5);
    assert_string_equal(target.text, "x=y");
    assert_string_equal(target.choice, "green");
    assert_true(options_given(&options, given, "flag"));
    assert_false(options_given(&options, given, "absent"));
}

static void sizes_take_suffixes(void **state)
{
    static const struct {
        const char *line;
        uint64_t size;
    } cases[] = {{"--size 1", 1},
                 {"--size 7k", 7 << 10},
                 {"--size 7K", 7 << 10},
                 {"--size 2M", 2 << 20},
                 {"--size 16383G", 16383ull << 30}};
    struct target target;
    struct cellar_error error;
    uint64_t given;
    (void)state;
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(cases[i].line, &target, &given, &error), 0);
        assert_true(target.size == cases[i].size);
    }
}

static void bad_values_are_refused(void **state)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"--nothing", "unknown option '--nothing'"},
        {"--", "unexpected argument"},
        {"-x", "unexpected argument '-x'"},
        {"word", "unexpected argument 'word'"},
        {"--count", "--count needs a value: --count N"},
        {"--count --flag", "--count needs a value"},
        {"--count= --flag", "--count needs a whole number"},
        {"--count x", "--count needs a whole number, not 'x'"},
        {"--count 5x", "not '5x'"},
        {"--count -5", "not '-5'"},
        {"--count +5", "not '+5'"},
        {"--count 5.0", "not '5.0'"},
        {"--count 0x5", "not '0x5'"},
        {"--count 1", "--count must be from 2 to 9, not 1"},
        {"--count 10", "--count must be from 2 to 9"},
        {"--count 4294967298", "--count must be from 2 to 9"},
        {"--number 18446744073709551616", "fit in 64 bits"},
        {"--size 5T", "a size such as"},
        {"--size 5KK", "a size such as"},
        {"--size K", "a size such as"},
        {"--size 17179869184G", "fit in 64 bits"},
        {"--real x", "--real needs a number"},
        {"--real nan", "needs a number"},
        {"--real inf", "needs a number"},
        {"--real 0x1", "needs a number"},
        {"--real 1e999", "needs a number"},
        {"--real 0.5s", "needs a number"},
        {"--real 1.5", "--real must be from -1 to 1"},
        {"--text=", "not empty"},
        {"--flag=1", "takes no value"},
        {"--flag --flag", "given twice"},
        {"--choice pink", "knows no 'pink'; it takes one of: red, green"},
        {"--absent 5", "--absent is not built yet"},
    };
    struct target target;
    struct cellar_error error;
    uint64_t given;
    (void)state;
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(parse(cases[i].line, &target, &given, &error) < 0);
        if (!strstr(error.text, cases[i].says)) fail_msg("%s: said: %s", cases[i].line, error.text);
        assert_null(strchr(error.text, '\n'));
    }
}

static void help_wins(void **state)
{
    struct target target;
    struct cellar_error error;
    uint64_t given;
    (void)state;
    assert_int_equal(parse("--nonsense --help", &target, &given, &error), OPTIONS_HELP);
    assert_int_equal(parse("-h", &target, &given, &error), OPTIONS_HELP);
}

static void help_shows_what_is_built(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    (void)state;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    options_print(&options, out);
    fclose(out);
    assert_non_null(strstr(text, "--count N"));
    assert_non_null(strstr(text, "--choice red|green"));
    assert_null(strstr(text, "absent"));
    free(text);
}

/* ---- cellar bench ---- */

static int bench_parse(const char *line, struct settings *settings, struct cellar_error *error)
{
    static char copy[512];
    char *arguments[ARGUMENTS_MAX];
    int count = split(line, copy, arguments);
    memset(error, 0, sizeof(*error));
    return settings_parse(count, arguments, 3, settings, error);
}

static void bench_defaults(void **state)
{
    struct settings settings;
    struct cellar_error error;
    (void)state;
    assert_int_equal(bench_parse("smallbank", &settings, &error), 0);
    assert_string_equal(settings.db.fabric, "shm");
    assert_int_equal(settings.db.cc, CELLAR_LAB_CC_CELLAR);
    assert_int_equal(settings.db.threads, 3);
    assert_int_equal(settings.db.coros, 4);
    assert_int_equal(settings_coordinators(&settings), 12);
    assert_true(settings.seconds == 5 && settings.warmup_s == 1 && settings.txns == 0);
    const struct smallbank_config *bank = (struct smallbank_config *)&settings.room;
    assert_int_equal(bank->accounts, 100000);
    assert_true(bank->theta == 0);
    assert_int_equal(settings.room.config.seed, 1);
    assert_int_equal(bench_parse("ycsb --fabric sim --seed 7", &settings, &error), 0);
    assert_true(settings.sim && settings.seconds == 0.1 && settings.warmup_s == 0.01);
    const struct ycsb_config *ycsb = (struct ycsb_config *)&settings.room;
    assert_true(ycsb->theta == 0.99 && ycsb->records == 1000000);
    assert_int_equal(settings.room.config.seed, 7);
    assert_int_equal(bench_parse("ycsb --core E --scan-max 7", &settings, &error), 0);
    assert_true(settings.workload == &ycsb_core_workload && ycsb->records == 100000 && ycsb->scan_max == 7);
    assert_int_equal(bench_parse("ycsb --txns 10 --cc record", &settings, &error), 0);
    assert_true(settings.txns == 10 && settings.warmup_s == 0 && settings.db.cc == CELLAR_LAB_CC_RECORD);
    assert_int_equal(bench_parse("smallbank --memnodes a,b --replicas 1", &settings, &error), 0);
    assert_int_equal(settings.db.mns, 2);
}

static void bench_refusals(void **state)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"", "the workload comes first"},
        {"--seconds 5", "the workload comes first"},
        {"tpcd", "unknown workload 'tpcd'"},
        {"smallbank --fabric verbs", "--fabric verbs needs --memnodes ADDRESS,ADDRESS"},
        {"smallbank --nic cx5", "--nic is for --fabric sim, not shm"},
        {"smallbank --fabric sim --nic cx9", "it takes one of: cx3, cx4, cx5, cx6, ideal"},
        {"smallbank --faults x", "--faults is not built yet"},
        {"smallbank --plant x", "planted bug"},
        {"smallbank --history -", "--history needs a file of its own"},
        {"smallbank --history-max 5", "--history-max needs --history FILE"},
        {"smallbank --seconds 5 --txns 5", "exclude each other"},
        {"smallbank --seconds 0", "--seconds must be from"},
        {"smallbank --warehouses 5", "--warehouses is no option of smallbank, but of tpcc"},
        {"tpcc --theta 0.5", "--theta is no option of tpcc, but of smallbank, ycsb, index"},
        {"ycsb --accounts 5", "--accounts is no option of ycsb"},
        {"ycsb --two-tables", "--two-tables is no option of ycsb"},
        {"smallbank --theta 2", "--theta must be from 0"},
        {"smallbank --accounts 1", "smallbank needs 2 to"},
        {"ycsb --records 3", "ycsb needs 4"},
        {"ycsb --records 0", "ycsb needs 4"},
        {"ycsb --per-txn 65", "--per-txn must be from 1 to 64"},
        {"ycsb --write-ratio 1.1", "--write-ratio must be from 0 to 1"},
        {"ycsb --replicas 1", "--replicas 1 needs at least 2 memory nodes"},
        {"ycsb --pool f --mns 2", "--pool holds one memory node"},
        {"ycsb --pool f --memnodes a", "exclude each other"},
        {"ycsb --memnodes a,b --mns 3", "--memnodes names 2"},
        {"ycsb --memnodes a --pool-bytes 1G", "--pool-bytes is set by the memory nodes"},
        {"ycsb --fabric sim --rtt-ns 5", "--rtt-ns is for --fabric shm"},
        {"ycsb --fabric sim --pool f", "--pool is for --fabric shm"},
        {"ycsb --fabric sim --memnodes f", "--memnodes is for --fabric shm"},
        {"ycsb --cns 256", "--cns must be from 1 to 255"},
        {"ycsb --mns 65", "--mns must be from 1 to 64"},
        {"ycsb --cns 255 --threads 100 --coros 100", "too many"},
        {"ycsb --pool-bytes 5", "--pool-bytes must be from"},
        {"ycsb --seed 0", "--seed must be at least 1"},
    };
    struct settings settings;
    struct cellar_error error;
    (void)state;
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(bench_parse(cases[i].line, &settings, &error) < 0);
        if (!strstr(error.text, cases[i].says)) fail_msg("%s: said: %s", cases[i].line, error.text);
        assert_null(strchr(error.text, '\n'));
    }
}

/* Each of the simulator's profiles can be named, and nothing else. */
static void nics_are_the_profiles(void **state)
{
    uint32_t names = 0, profiles = 0;
    (void)state;
    while (fabric_sim_profile_at(profiles)) profiles++;
    for (; shared_options_nics[names]; names++) assert_non_null(fabric_sim_profile_find(shared_options_nics[names]));
    assert_int_equal(names, profiles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_reach_their_fields),
        cmocka_unit_test(sizes_take_suffixes),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(help_wins),
        cmocka_unit_test(help_shows_what_is_built),
        cmocka_unit_test(bench_defaults),
        cmocka_unit_test(bench_refusals),
        cmocka_unit_test(nics_are_the_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
