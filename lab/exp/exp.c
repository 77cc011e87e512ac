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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct exp_kind *const exp_kinds[] = {&exp_txn, &exp_locks, &exp_nic, NULL};

#define AT(field) offsetof(struct exp, field)

static const char *const gates[] = {"regression", "published", "targets", NULL};

static const struct option_def defs[] = {
    {.group = "Options",
     .name = "out",
     .argument = "DIR",
     .help = "where the files go: index.html, CSV, SVG, Markdown; made if it is not there",
     .kind = OPTION_TEXT,
     .offset = AT(folder)},
    {.name = "quick", .help = "fewer points, shorter runs", .kind = OPTION_FLAG, .offset = AT(quick)},
    {.name = "one",
     .help = "of txn and locks: one point of each sweep, to see that all can be run; no figures",
     .kind = OPTION_FLAG,
     .offset = AT(one)},
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
    {.name = "gate",
     .help = "what makes the exit status 1: a figure that moved; a published one missed; a target missed",
     .fallback = "regression",
     .kind = OPTION_CHOICE,
     .offset = AT(gate_name),
     .choices = gates},
    {.name = "record",
     .argument = "FILE",
     .help = "of one experiment: write what its figures came to into this file of lab/exp/data",
     .kind = OPTION_TEXT,
     .offset = AT(record)},
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
        return err_set(error, CELLAR_INVALID, "--out names too long a path");
    file->out = fopen(file->path, "w");
    if (file->out) return 0;
    return err_set(error, CELLAR_INVALID, "%.200s cannot be written: %s", file->path, strerror(errno));
}

int exp_close(struct exp_file *file, struct cellar_error *error)
{
    bool failed = ferror(file->out) != 0;
    failed |= fclose(file->out) != 0;
    file->out = NULL;
    return failed ? err_set(error, CELLAR_INVALID, "%.200s cannot be written", file->path) : 0;
}

static int check_folder(const char *folder, struct cellar_error *error)
{
    struct stat status;
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return err_set(error, CELLAR_INVALID, "--out %.200s: %s", folder, strerror(errno));
    if (stat(folder, &status) < 0 || !S_ISDIR(status.st_mode))
        return err_set(error, CELLAR_INVALID, "--out %.200s is not a directory", folder);
    if (access(folder, W_OK | X_OK) < 0)
        return err_set(error, CELLAR_INVALID, "--out %.200s: %s", folder, strerror(errno));
    return 0;
}

/* ---- figures ---- */

struct exp_report_row exp_row(const struct exp_data_figure *figure, bool quick, double model)
{
    return (struct exp_report_row){.figure = figure->figure,
                                   .source = figure->source,
                                   .unit = figure->unit,
                                   .published = figure->published,
                                   .low = figure->low,
                                   .high = figure->high,
                                   .model = model,
                                   .target = figure->target,
                                   .fitted = figure->fitted,
                                   .why = figure->reason,
                                   .expects = figure->was[quick],
                                   .expected = figure->recorded[quick],
                                   .slack = figure->slack,
                                   .known = figure->known,
                                   .known_low = figure->known_low,
                                   .known_high = figure->known_high};
}

static int record(const struct exp *exp, const char *study, const struct exp_report *report, struct cellar_error *error)
{
    struct exp_data_value *values = calloc(report->count + 1, sizeof *values);
    if (!values) return err_set(error, CELLAR_NOMEM, "no memory for the figures");
    for (uint32_t i = 0; i < report->count; i++)
        values[i] = (struct exp_data_value){study, report->rows[i].figure, report->rows[i].model};
    int code = exp_data_record(exp->record, exp->quick, values, report->count, error);
    free(values);
    return code;
}

int exp_conclude(struct exp *exp, const char *study, const struct exp_report *report, struct cellar_error *error)
{
    exp_report_count(report, &exp->counts);
    for (uint32_t i = 0; i < report->count; i++)
        if (exp_report_judge(&report->rows[i]) == EXP_REPORT_MISSED) exp_page_missed(exp, study, &report->rows[i]);
    return exp->record ? record(exp, study, report, error) : 0;
}

static uint32_t missed_of(const struct exp_report_counts *counts, enum exp_gate gate)
{
    const uint32_t *verdicts = counts->verdicts;
    switch (gate) {
    case EXP_TARGETS:
        return verdicts[EXP_REPORT_MISSED];
    case EXP_PUBLISHED:
        return verdicts[EXP_REPORT_KNOWN] + verdicts[EXP_REPORT_OUTSIDE];
    default:
        return counts->moved + verdicts[EXP_REPORT_OUTSIDE];
    }
}

/* What all studies came to; the last line counts missed targets, whatever the gate. */
static void print_counts(const struct exp *exp)
{
    const struct exp_report_counts *counts = &exp->counts;
    const uint32_t *verdicts = counts->verdicts;
    fprintf(exp->out, "  regression  %u recorded figures, %u moved\n", counts->held + counts->moved, counts->moved);
    fprintf(exp->out, "  published   %u figures: %u within their bands, %u missed with the cause, %u without\n",
            exp_report_published(counts), verdicts[EXP_REPORT_WITHIN], verdicts[EXP_REPORT_KNOWN],
            verdicts[EXP_REPORT_OUTSIDE]);
    if (counts->failed) fprintf(exp->out, "  %u runs failed a check\n", counts->failed);
    fprintf(exp->out, "  gate        %s: %s\n", gates[exp->gate],
            counts->failed || missed_of(counts, exp->gate) ? "does not hold" : "holds");
    fprintf(exp->out, "%u of %u targets missed\n", verdicts[EXP_REPORT_MISSED], exp_report_targets(counts));
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

/* Of all figures as they were last recorded: from full runs, or from --quick where no full one of these runs was. */
static void print_recorded(void)
{
    uint32_t published = 0, near = 0, targets = 0, reached = 0;
    for (const struct exp_data_text *text = exp_data_texts; text->name; text++) {
        struct exp_data data;
        if (exp_data_open(text->name, &data, NULL)) continue;
        for (uint32_t i = 0; i < data.figure_count; i++) {
            const struct exp_data_figure *figure = &data.figures[i];
            bool quick = !figure->was[0];
            double ratio = figure->recorded[quick] / figure->published;
            if (!figure->was[quick]) continue;
            published += !figure->target;
            near += !figure->target && ratio >= 0.75 && ratio <= 1 / 0.75;
            targets += figure->target;
            reached += figure->target && ratio >= figure->low && ratio <= figure->high;
        }
        exp_data_close(&data);
    }
    printf("%u of %u published figures within a quarter, %u of %u targets reached: as last recorded, of full runs or, "
           "where there "
           "is none, of --quick.\n\n",
           near, published, reached, targets);
}

static void print_help(void)
{
    print_recorded();
    fputs(
        "Usage: cellar exp NAME|all --out DIR [--quick|--one] [--gate GATE] [--json FILE]\n\n"
        "Repeats published measurements on the simulator, and writes figures and tables. Deterministic: every machine "
        "gets the\nsame numbers.\n\nExperiments       --quick      full   of processor time, about; --jobs share it\n",
        stdout);
    print_experiments();
    options_print(&options, stdout);
    fputs("\nExamples\n  cellar exp all --quick --out /tmp/figures      then open /tmp/figures/index.html\n"
          "  cellar exp skew --out /tmp/skew\n"
          "  cellar exp fairness --quick --gate targets --out /tmp/fair\n"
          "\nExit status: 0 the gate holds, 1 it does not, or a check failed, 2 wrong usage or an error.\n",
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
    if (!named) return err_set(error, CELLAR_INVALID, "the experiment comes first (see cellar exp --help)");
    exp->name = arguments[0];
    *kind = find(arguments[0], exp);
    if (!*kind && strcmp(arguments[0], "all") != 0)
        return err_set(error, CELLAR_INVALID, "unknown experiment '%.60s' (see cellar exp --help)", arguments[0]);
    if (exp->only && !any_sweep(exp, *kind))
        return err_set(error, CELLAR_INVALID, "--only %.60s: %s %.60s has no sweep whose name begins so", exp->only,
                       exp->quick ? "the quick form of" : "experiment", exp->name);
    if (options_given(&options, given, "jobs") && *kind && !(*kind)->family)
        return err_set(error, CELLAR_INVALID, "--jobs: experiment %.60s has nothing to share out", exp->name);
    if (!exp->folder) return err_set(error, CELLAR_INVALID, "--out DIR is missing");
    if (exp->record && (!*kind || exp->only || exp->one))
        return err_set(error, CELLAR_INVALID, "--record FILE takes all figures of one experiment: %s",
                       !*kind      ? "not of all"
                       : exp->only ? "not with --only"
                                   : "not with --one");
    if (exp->one && (!*kind || !(*kind)->family))
        return err_set(error, CELLAR_INVALID, "--one: experiment %.60s is more than sweeps", exp->name);
    exp->quick |= exp->one;
    while (exp->gate_name && strcmp(gates[exp->gate], exp->gate_name) != 0) exp->gate++;
    code = check_folder(exp->folder, error);
    return code < 0 ? code : json_file_check(exp->json_path, error);
}

/* One, or all for NULL. */
static int run_kinds(struct exp *exp, const struct exp_kind *kind, struct cellar_error *error)
{
    int code = 0;
    for (uint32_t i = 0; exp_kinds[i] && code == 0; i++) {
        if (kind && kind != exp_kinds[i]) continue;
        code = exp_kinds[i]->family ? exp_sweep_run(exp_kinds[i]->family, exp, error) : exp_kinds[i]->run(exp, error);
    }
    return code;
}

/* The page's head tells what its sections came to, so they are kept until all are there. */
static int write_page(struct exp *exp, const struct exp_kind *kind, const char *sections, const char *missed,
                      struct cellar_error *error)
{
    struct exp_file file;
    char command[256];
    const char *rules = "";
    for (uint32_t i = 0; exp_kinds[i]; i++)
        if ((!kind || kind == exp_kinds[i]) && exp_kinds[i]->family && exp_kinds[i]->family->rules)
            rules = exp_kinds[i]->family->rules;
    int code = exp_create(exp, "index.html", &file, error);
    if (code < 0) return code;
    snprintf(command, sizeof command, "cellar exp %s%s%s%.100s --out DIR", exp->name,
             exp->one     ? " --one"
             : exp->quick ? " --quick"
                          : "",
             exp->only ? " --only " : "", exp->only ? exp->only : "");
    exp_page_begin(command, exp->quick, rules, &exp->counts, missed, file.out);
    fputs(sections, file.out);
    exp_page_end(file.out);
    return exp_close(&file, error);
}

static json_t *counts_json(const struct exp *exp)
{
    const struct exp_report_counts *counts = &exp->counts;
    const uint32_t *verdicts = counts->verdicts;
    return json_pack("{s:s, s:{s:i, s:i}, s:{s:i, s:i, s:i}, s:{s:i, s:i}, s:i}", "gate", gates[exp->gate],
                     "regression", "recorded", counts->held + counts->moved, "moved", counts->moved, "published",
                     "figures", exp_report_published(counts), "known", verdicts[EXP_REPORT_KNOWN], "outside",
                     verdicts[EXP_REPORT_OUTSIDE], "targets", "wanted", exp_report_targets(counts), "missed",
                     verdicts[EXP_REPORT_MISSED], "failed_runs", counts->failed);
}

/* What they have written is complete, or this is an error. */
static int run(struct exp *exp, const struct exp_kind *kind, struct cellar_error *error)
{
    char *sections = NULL, *missed = NULL;
    size_t bytes[2];
    exp->page = open_memstream(&sections, &bytes[0]);
    exp->missed = open_memstream(&missed, &bytes[1]);
    int code =
        exp->page && exp->missed ? run_kinds(exp, kind, error) : err_set(error, CELLAR_NOMEM, "no memory for the page");
    bool page_failed = exp->page && fclose(exp->page), missed_failed = exp->missed && fclose(exp->missed);
    if (code == 0 && (page_failed || missed_failed)) code = err_set(error, CELLAR_NOMEM, "no memory for the page");
    if (code == 0) code = write_page(exp, kind, sections, missed, error);
    if (code == 0) json_object_set_new(exp->json, "counts", counts_json(exp));
    if (code == 0 && exp->json_path) code = json_file_write(exp->json, exp->json_path, error);
    if (code == 0) print_counts(exp);
    free(sections);
    free(missed);
    return code;
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
    if (code == 0) return exp.counts.failed || missed_of(&exp.counts, exp.gate) ? COMMAND_CHECK_FAILED : COMMAND_OK;
    fprintf(stderr, "cellar exp: %s\n", error.code ? error.text : cellar_strerror(code));
    return COMMAND_ERROR;
}
