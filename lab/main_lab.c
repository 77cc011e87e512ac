/* main_lab.c - what the laboratory adds to the program: `bench lock`, `exp`, and its lines of `cellar list`. */
#include "addition.h"
#include "exp.h"
#include "exp_sweep.h"
#include "lockbench.h"
#include "lockmgr.h"
#include "locks_report.h"

#include <jansson.h>
#include <stdio.h>

/* ---- lock algorithms ---- */

/* [{"name", "about", "policies": [..]}] */
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

/* ---- experiments ---- */

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

static void print_experiment(const struct exp_kind *kind)
{
    printf("  %-16s %s\n", kind->name, kind->summary);
    const struct exp_sweep_study *const *study = kind->family ? kind->family->studies : NULL;
    for (; study && *study; study++) printf("    %-14s %s\n", (*study)->name, (*study)->title);
}

/* ---- the addition ---- */

static void list(void)
{
    const char *about, *name;
    printf("lock algorithms\n");
    for (uint32_t i = 0; (name = lockmgr_name(i, &about)); i++) print_lock(name, about);
    printf("experiments\n");
    for (uint32_t i = 0; exp_kinds[i]; i++) print_experiment(exp_kinds[i]);
}

static void list_json(struct json_t *object)
{
    json_object_set_new(object, "locks", locks_json());
    json_object_set_new(object, "experiments", experiments_json());
}

static const struct command commands[] = {
    {"exp", "cellar exp", "repeat published measurements on the simulator", exp_main},
    {.name = NULL},
};
static const struct command bench_lock = {"lock", "cellar bench lock", "measure clients of one lock algorithm",
                                          lockbench_main};

const struct addition addition = {.commands = commands, .of_bench = &bench_lock, .list = list, .list_json = list_json};
