/* exp.c - the subcommand `cellar exp`. */
#include "exp.h"

#include "exp_locks.h"
#include "exp_nic.h"
#include "exp_page.h"
#include "exp_sweep.h"
#include "exp_txn.h"
#include "machine.h"
#include "options.h"
#include "json_file.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct exp_kind *const exp_kinds[] = {&exp_txn, &exp_locks, &exp_nic, NULL};

#define AT(field) offsetof(struct exp, field)

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "out",
     .argument = "DIR",
     .help = "where the files go: index.html, CSV, SVG, Markdown; made if it is not there",
     .kind = OPTION_TEXT,
     .offset = AT(folder)},
    {.name = "quick", .help = "fewer points, shorter runs", .kind = OPTION_FLAG, .offset = AT(quick)},
    {.name = "only",
     .argument = "TEXT",
     .help = "of txn and locks: sweeps whose name begins so (skew-ycsb, declock-12)",
     .fallback = "all",
     .kind = OPTION_TEXT,
     .offset = AT(only)},
    {.name = "jobs",
     .argument = "N",
     .help = "of txn and locks: processes that measure side by side",
     .fallback = "cores",
     .kind = OPTION_COUNT,
     .offset = AT(jobs),
     .min = 1,
     .max = 64},
    {.name = "json",
     .argument = "FILE",
     .help = "also write all figures as one JSON object; - is stdout",
     .kind = OPTION_TEXT,
     .offset = AT(json_path)},
};
static const struct options options = {.program = "cellar exp", .defs = defs, .count = sizeof(defs) / sizeof(defs[0])};

/* ---- files ---- */

int exp_create(const struct exp *exp, const char *name, struct exp_file *file, struct cellar_error *error)
{
    int length = snprintf(file->path, sizeof(file->path), "%s/%s", exp->folder, name);
    file->out = NULL;
    if (length < 0 || (size_t)length >= sizeof(file->path))
        return err_set(error, CELLAR_ERR_INVALID, "--out names too long a path");
    file->out = fopen(file->path, "w");
    if (file->out) return 0;
    return err_set(error, CELLAR_ERR_INVALID, "%.200s cannot be written: %s", file->path, strerror(errno));
}

int exp_close(struct exp_file *file, struct cellar_error *error)
{
    bool failed = ferror(file->out) != 0;
    failed |= fclose(file->out) != 0;
    file->out = NULL;
    return failed ? err_set(error, CELLAR_ERR_INVALID, "%.200s cannot be written", file->path) : 0;
}

static int check_folder(const char *folder, struct cellar_error *error)
{
    struct stat status;
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return err_set(error, CELLAR_ERR_INVALID, "--out %.200s: %s", folder, strerror(errno));
    if (stat(folder, &status) < 0 || !S_ISDIR(status.st_mode))
        return err_set(error, CELLAR_ERR_INVALID, "--out %.200s is not a directory", folder);
    if (access(folder, W_OK | X_OK) < 0)
        return err_set(error, CELLAR_ERR_INVALID, "--out %.200s: %s", folder, strerror(errno));
    return 0;
}

/* ---- the subcommand ---- */

/* `quick_s`, `full_s`: processor time; negative when it is not told. */
static void print_experiment(uint32_t indent, const char *name, const char *title, double quick_s, double full_s)
{
    const double seconds[] = {quick_s, full_s};
    printf("%*s%-*s ", (int)indent, "", (int)(14 - indent), name);
    for (uint32_t i = 0; i < 2; i++) {
        bool minutes = seconds[i] >= 90;
        printf("%5.0f %-3s ", minutes ? seconds[i] / 60 : seconds[i] < 1 ? 1 : seconds[i], minutes ? "min" : "s");
    }
    printf(" %s\n", title);
}

static double cost_of(const struct exp_kind *kind, bool quick)
{
    return kind->family ? exp_sweep_cost(kind->family, NULL, quick) : quick ? kind->quick_s : kind->full_s;
}

static void print_experiments(void)
{
    double quick_s = 0, full_s = 0;
    for (uint32_t i = 0; exp_kinds[i]; i++) {
        const struct exp_sweep_family *family = exp_kinds[i]->family;
        double quick = cost_of(exp_kinds[i], true), full = cost_of(exp_kinds[i], false);
        print_experiment(2, exp_kinds[i]->name, exp_kinds[i]->summary, quick, full);
        for (const struct exp_sweep_study *const *study = family ? family->studies : NULL; study && *study; study++)
            print_experiment(4, (*study)->name, (*study)->title, exp_sweep_cost(family, (*study)->name, true),
                             exp_sweep_cost(family, (*study)->name, false));
        quick_s += quick;
        full_s += full;
    }
    print_experiment(2, "all", "each of them", quick_s, full_s);
}

static void print_help(void)
{
    fputs(
        "Usage: cellar exp NAME|all --out DIR [--quick] [--json FILE]\n\n"
        "Repeats published measurements on the simulator, and writes figures and tables. Deterministic: every machine "
        "gets the\nsame numbers.\n\nExperiments       --quick      full   of processor time, about; --jobs share it\n",
        stdout);
    print_experiments();
    options_print(&options, stdout);
    fputs("\nExamples\n  cellar exp all --quick --out /tmp/figures      then open /tmp/figures/index.html\n"
          "  cellar exp skew --out /tmp/skew\n"
          "\nExit status: 0 every figure is within its band, 1 some are not, 2 wrong usage or an error.\n",
          stdout);
}

/* The kind of that name, or the one that has such a study, which is then the only one. */
static const struct exp_kind *find(const char *name, struct exp *exp)
{
    for (uint32_t i = 0; exp_kinds[i]; i++) {
        if (!strcmp(name, exp_kinds[i]->name)) return exp_kinds[i];
        if (!exp_kinds[i]->family || !exp_sweep_has(exp_kinds[i]->family, name)) continue;
        exp->study = name;
        return exp_kinds[i];
    }
    return NULL;
}

/* kind: NULL: all of them. */
static bool any_sweep(struct exp *exp, const struct exp_kind *kind)
{
    for (uint32_t i = 0; exp_kinds[i]; i++)
        if ((!kind || kind == exp_kinds[i]) && exp_kinds[i]->family && exp_sweep_any(exp_kinds[i]->family, exp))
            return true;
    return false;
}

static int parse(int count, char *const *arguments, struct exp *exp, const struct exp_kind **kind,
                 struct cellar_error *error)
{
    uint64_t given;
    bool named = count > 0 && strncmp(arguments[0], "--", 2) != 0;
    int code =
        options_parse(&options, named ? count - 1 : count, named ? arguments + 1 : arguments, exp, &given, error);
    if (code != 0) return code;
    if (!named) return err_set(error, CELLAR_ERR_INVALID, "the experiment comes first (see cellar exp --help)");
    exp->name = arguments[0];
    *kind = find(arguments[0], exp);
    if (!*kind && strcmp(arguments[0], "all") != 0)
        return err_set(error, CELLAR_ERR_INVALID, "unknown experiment '%.60s' (see cellar exp --help)", arguments[0]);
    if (exp->only && !any_sweep(exp, *kind))
        return err_set(error, CELLAR_ERR_INVALID, "--only %.60s: %s %.60s has no sweep whose name begins so", exp->only,
                       exp->quick ? "the quick form of" : "experiment", exp->name);
    if (!exp->folder) return err_set(error, CELLAR_ERR_INVALID, "--out DIR is missing");
    code = check_folder(exp->folder, error);
    return code < 0 ? code : json_file_check(exp->json_path, error);
}

/* One, or all for NULL. */
static int run_kinds(struct exp *exp, const struct exp_kind *kind, struct cellar_error *error)
{
    int worst = 0;
    for (uint32_t i = 0; exp_kinds[i]; i++) {
        if (kind && kind != exp_kinds[i]) continue;
        int code =
            exp_kinds[i]->family ? exp_sweep_run(exp_kinds[i]->family, exp, error) : exp_kinds[i]->run(exp, error);
        if (code < 0) return code;
        if (code > worst) worst = code;
    }
    return worst;
}

/* What they have written is complete, or this is an error. */
static int run(struct exp *exp, const struct exp_kind *kind, struct cellar_error *error)
{
    int code = exp_create(exp, "index.html", &exp->page, error);
    if (code < 0) return code;
    char command[256];
    snprintf(command, sizeof command, "cellar exp %s%s%s%.100s --out DIR", exp->name, exp->quick ? " --quick" : "",
             exp->only ? " --only " : "", exp->only ? exp->only : "");
    exp_page_begin(command, exp->quick, exp->page.out);
    int worst = run_kinds(exp, kind, error);
    exp_page_end(exp->page.out);
    code = exp_close(&exp->page, worst < 0 ? NULL : error);
    if (worst >= 0 && code == 0 && exp->json_path) code = json_file_write(exp->json, exp->json_path, error);
    return worst < 0 || code == 0 ? worst : code;
}

int exp_main(int count, char *const *arguments, struct watch *watch)
{
    struct cellar_error error = {0};
    struct machine machine;
    machine_read(&machine);
    struct exp exp = {.watch = watch, .out = stdout, .jobs = machine.cores < 64 ? machine.cores : 64};
    const struct exp_kind *kind = NULL;
    int code = parse(count, arguments, &exp, &kind, &error);
    if (code == OPTIONS_HELP) {
        print_help();
        return COMMAND_OK;
    }
    if (exp.json_path && !strcmp(exp.json_path, "-")) exp.out = stderr;
    exp.json = json_object();
    if (code == 0) code = run(&exp, kind, &error);
    json_decref(exp.json);
    if (code >= 0) return code ? COMMAND_CHECK_FAILED : COMMAND_OK;
    fprintf(stderr, "cellar exp: %s\n", error.code ? error.text : cellar_error_text(code));
    return COMMAND_ERROR;
}
