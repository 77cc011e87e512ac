/* list.c - `cellar list`: what this build has, and what it does not have yet. */
#include "program.h"
#include "exp.h"
#include "exp_sweep.h"
#include "lockmgr.h"
#include "locks_report.h"
#include "mode.h"
#include "options.h"
#include "settings.h"
#include "shared_options.h"

#include <jansson.h>
#include <stdlib.h>

struct list {
    bool json;
};

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "json",
     .help = "as one JSON object",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct list, json)},
};
static const struct options options = {.program = "cellar list", .defs = defs, .count = 1};

/* [{"name", "about", "promises", "policies": [..]}] */
static json_t *locks_json(void)
{
    json_t *array = json_array();
    const char *about, *name;
    for (uint32_t i = 0; (name = lockmgr_name(i, &about)); i++) {
        json_t *policies = json_array();
        for (uint32_t j = 0; lockmgr_policy_name(name, j); j++)
            json_array_append_new(policies, json_string(lockmgr_policy_name(name, j)));
        json_array_append_new(array, json_pack("{s:s, s:s, s:o}", "name", name, "about", about, "policies", policies));
    }
    return array;
}

/* What an algorithm promises depends on the policy: that of each. */
static void print_lock(const char *name, const char *about)
{
    char promises[160];
    const char *policy = lockmgr_policy_name(name, 0);
    printf("  %-16s %s\n", name, about);
    for (uint32_t j = 0; j == 0 || (policy = lockmgr_policy_name(name, j)); j++) {
        struct lockmgr_config config = {.algorithm = name, .policy = policy};
        printf("  %-16s   %s%s%s\n", "", policy ? policy : "", policy ? ": " : "",
               locks_report_promises(lockmgr_promises(&config), promises, sizeof promises));
    }
}

static void print_locks(void)
{
    const char *about, *name;
    printf("lock algorithms\n");
    for (uint32_t i = 0; (name = lockmgr_name(i, &about)); i++) print_lock(name, about);
}

static json_t *names_json(const char *const *names)
{
    json_t *array = json_array();
    for (uint32_t i = 0; names[i]; i++) json_array_append_new(array, json_string(names[i]));
    return array;
}

/* Names of experiments, those of their parts among them. */
static json_t *experiments_json(void)
{
    json_t *array = json_array();
    for (uint32_t i = 0; exp_kinds[i]; i++) {
        json_array_append_new(array, json_string(exp_kinds[i]->name));
        const struct exp_sweep_study *const *study = exp_kinds[i]->family ? exp_kinds[i]->family->studies : NULL;
        for (; study && *study; study++) json_array_append_new(array, json_string((*study)->name));
    }
    return array;
}

static int print_json(void)
{
    json_t *workloads = json_array();
    for (uint32_t i = 0; settings_workloads[i]; i++)
        json_array_append_new(workloads, json_string(settings_workloads[i]->name));
    json_t *root = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "fabrics", names_json(shared_options_fabrics), "nics",
                             names_json(shared_options_nics), "modes", names_json(mode_names), "locks", locks_json(),
                             "workloads", workloads, "experiments", experiments_json());
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    bool failed = !text || printf("%s\n", text) < 0;
    free(text);
    json_decref(root);
    return failed ? COMMAND_ERROR : COMMAND_OK;
}

static void print_names(const char *title, const char *const *names)
{
    printf("%-20s", title);
    for (uint32_t i = 0; names[i]; i++) printf(" %s", names[i]);
    if (!names[0]) printf(" none yet");
    printf("\n");
}

static void print_experiment(const struct exp_kind *kind)
{
    printf("  %-16s %s\n", kind->name, kind->summary);
    const struct exp_sweep_study *const *study = kind->family ? kind->family->studies : NULL;
    for (; study && *study; study++) printf("    %-14s %s\n", (*study)->name, (*study)->title);
}

static void print_text(void)
{
    print_names("fabrics", shared_options_fabrics);
    print_names("NICs of sim (--nic)", shared_options_nics);
    print_names("modes (--cc)", mode_names);
    print_locks();
    printf("workloads\n");
    for (uint32_t i = 0; settings_workloads[i]; i++)
        printf("  %-16s %s\n", settings_workloads[i]->name, settings_workloads[i]->summary);
    printf("experiments\n");
    for (uint32_t i = 0; exp_kinds[i]; i++) print_experiment(exp_kinds[i]);
}

int program_list(int count, char *const *arguments, struct watch *watch)
{
    (void)watch;
    struct list list = {0};
    struct cellar_error error = {0};
    uint64_t given;
    int code = options_parse(&options, count, arguments, &list, &given, &error);
    if (code < 0) {
        fprintf(stderr, "cellar list: %s\n", error.text);
        return COMMAND_ERROR;
    }
    if (code == OPTIONS_HELP) {
        fputs("Usage: cellar list [options]\n\nPrints the fabrics, NICs, modes, lock algorithms, workloads and "
              "experiments "
              "of this build.\n",
              stdout);
        options_print(&options, stdout);
        return COMMAND_OK;
    }
    if (list.json) return print_json();
    print_text();
    return COMMAND_OK;
}
