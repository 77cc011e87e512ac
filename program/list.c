/* list.c - `cellar list`: what this build has, and what it does not have yet. */
#include "program.h"
#include "addition.h"
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

static json_t *names_json(const char *const *names)
{
    json_t *array = json_array();
    for (uint32_t i = 0; names[i]; i++) json_array_append_new(array, json_string(names[i]));
    return array;
}

static int print_json(void)
{
    json_t *workloads = json_array();
    for (uint32_t i = 0; workload_table[i]; i++) json_array_append_new(workloads, json_string(workload_table[i]->name));
    json_t *root =
        json_pack("{s:o, s:o, s:o, s:o}", "fabrics", names_json(shared_options_fabrics), "nics",
                  names_json(shared_options_nics), "modes", names_json(mode_table_names), "workloads", workloads);
    if (root && addition.list_json) addition.list_json(root);
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

static void print_text(void)
{
    print_names("fabrics", shared_options_fabrics);
    print_names("NICs of sim (--nic)", shared_options_nics);
    print_names("modes (--cc)", mode_table_names);
    printf("workloads\n");
    for (uint32_t i = 0; workload_table[i]; i++)
        printf("  %-16s %s\n", workload_table[i]->name, workload_table[i]->summary);
    if (addition.list) addition.list();
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
        fputs("Usage: cellar list [options]\n\nPrints the fabrics, NICs, modes and workloads of this build, and what "
              "else it can run.\n",
              stdout);
        options_print(&options, stdout);
        return COMMAND_OK;
    }
    if (list.json) return print_json();
    print_text();
    return COMMAND_OK;
}
