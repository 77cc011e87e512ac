/*
 * exp_txn_rules.c - modes compared by rules that favour none: each with the cap of the back-off that is best for it,
 * the prototypes' ten tries, and without backups. The ratio that counts is the least of those with backups.
 */
#include "exp_txn.h"

#include <string.h>

#define USUAL_US 1024
#define SEEDS 5

static const struct exp_sweep_series compared[] = {{"crest", "--cc crest", NULL},
                                                   {"ford", "--cc ford", NULL},
                                                   {"motor", "--cc motor", NULL},
                                                   {"cellar", "--cc cellar", NULL},
                                                   {NULL, NULL, NULL}};

/* x: the cap in us. 1: no waits to speak of, and dropped after ten attempts, as the prototypes do. */
#define CAPS                                                                                                           \
    {                                                                                                                  \
        {1, "--backoff-cap-ns 1000 --attempts-max 10", EXP_STEP_QUICK | EXP_STEP_APART},                               \
            {64, "--backoff-cap-ns 64000", false}, {256, "--backoff-cap-ns 256000", true}, {USUAL_US, "", true},       \
            {4096, "--backoff-cap-ns 4096000", false}, {16384, "--backoff-cap-ns 16384000", false},                    \
    }
#define RULES(text, workload, what)                                                                                    \
    EXP_TXN_SWEEP(text, .first = workload, .arguments = what " " EXP_TXN_CLUSTER, .steps = CAPS, .series = compared,   \
                  .seeds = SEEDS)
static const struct exp_sweep tpcc = RULES("rules-tpcc", EXP_TXN_TPCC, "--warehouses 40");
static const struct exp_sweep smallbank = RULES("rules-smallbank", EXP_TXN_SMALLBANK, "--theta 0.99");
static const struct exp_sweep ycsb = RULES("rules-ycsb", EXP_TXN_YCSB, "--theta 0.99");

static const struct exp_sweep alone =
    EXP_TXN_SWEEP("rules-no-backups", .arguments = EXP_TXN_SINGLE " --cns 3 --threads 40",
                  .steps = {{1, EXP_TXN_TPCC " --warehouses 40", true},
                            {2, EXP_TXN_SMALLBANK " --theta 0.99", true},
                            {3, EXP_TXN_YCSB " --theta 0.99", true}},
                  .names = {"TPC-C", "SmallBank", "YCSB"}, .series = compared, .seeds = SEEDS);
static const struct exp_sweep *const sweeps[] = {&tpcc, &smallbank, &ycsb, &alone, NULL};

#define GRID(s, m, text, y)                                                                                            \
    {                                                                                                                  \
        .sweep = &s, .metric = EXP_TXN_##m, .title = text, .x_label = "cap of the back-off, us", .y_label = y,         \
        .log_x = true                                                                                                  \
    }
static const struct exp_sweep_chart charts[] = {GRID(tpcc, TPS, "TPC-C, 40 warehouses", "k txn/s"),
                                                GRID(tpcc, JAIN, "TPC-C: fairness", "Jain's index"),
                                                GRID(smallbank, TPS, "SmallBank, theta 0.99", "k txn/s"),
                                                GRID(smallbank, JAIN, "SmallBank: fairness", "Jain's index"),
                                                GRID(ycsb, TPS, "YCSB, theta 0.99", "k txn/s"),
                                                GRID(ycsb, JAIN, "YCSB: fairness", "Jain's index"),
                                                EXP_TXN_BARS(alone, TPS, "Without backups", "k txn/s"),
                                                {.title = NULL}};

/* ---- the tables ---- */

static const struct {
    const char *name;
    const struct exp_sweep *sweep;
    double x; /* in `alone` */
} workloads[] = {{"TPC-C", &tpcc, 1}, {"SmallBank", &smallbank, 2}, {"YCSB", &ycsb, 3}};
static const struct {
    const char *a, *b;
} pairs[] = {{"cellar", "ford"}, {"cellar", "motor"}, {"cellar", "crest"}, {"crest", "ford"}, {"crest", "motor"}};

/* How a table is written: in Markdown, or in the page. */
struct form {
    const char *begin, *head, *row, *cell, *row_end, *end, *bold, *bold_end;
};
static const struct form in_markdown = {"\n", "| ", "| ", " | ", " |\n", "\n", "**", "**"};
static const struct form in_page = {"<div class=\"table\"><table>\n",
                                    "<tr><th>",
                                    "<tr><td>",
                                    "<td class=\"n\">",
                                    "</tr>\n",
                                    "</table></div>\n",
                                    "<b>",
                                    "</b>"};

static void write_ratio(const struct exp_sweep_ratio *ratio, bool least, bool places, const struct form *form,
                        FILE *out)
{
    fputs(form->cell, out);
    if (ratio->a_x == 0 || ratio->b_x == 0) {
        fputs("none", out);
        return;
    }
    fprintf(out, "%s%.2f \xc2\xb1 %.2f%s", least ? form->bold : "", ratio->mean, ratio->deviation,
            least ? form->bold_end : "");
    if (places) fprintf(out, " (%g, %g us)", ratio->a_x, ratio->b_x);
}

static void write_pair(const struct exp_sweep_plan *plan, uint32_t workload, uint32_t pair, const struct form *form,
                       FILE *out)
{
    struct exp_sweep_claim claim = {.sweep = workloads[workload].sweep,
                                    .metric = EXP_TXN_TPS,
                                    .a = pairs[pair].a,
                                    .b = pairs[pair].b,
                                    .x = USUAL_US};
    enum exp_sweep_rule least = exp_sweep_least_rule(plan, &claim);
    fprintf(out, "%s%s: %s / %s", form->row, workloads[workload].name, claim.a, claim.b);
    for (uint32_t rule = 0; rule < EXP_SWEEP_RULES; rule++) {
        struct exp_sweep_ratio ratio = exp_sweep_ratio_by(plan, &claim, (enum exp_sweep_rule)rule);
        write_ratio(&ratio, rule == least, rule == EXP_SWEEP_BEST_OF_GRID || rule == EXP_SWEEP_FAIR_BEST, form, out);
    }
    claim.sweep = &alone;
    claim.x = workloads[workload].x;
    struct exp_sweep_ratio bare = exp_sweep_ratio_by(plan, &claim, EXP_SWEEP_USUAL);
    write_ratio(&bare, false, false, form, out);
    fputs(form->row_end, out);
}

static void write_grid(const struct exp_sweep_plan *plan, uint32_t workload, const struct exp_sweep_series *series,
                       const struct form *form, FILE *out)
{
    const struct exp_sweep *sweep = workloads[workload].sweep;
    struct exp_sweep_claim claim = {.sweep = sweep, .metric = EXP_TXN_TPS, .a = series->name, .x = USUAL_US};
    double best = exp_sweep_best_x(plan, &claim, series->name, EXP_SWEEP_BEST_OF_GRID);
    fprintf(out, "%s%s: %s", form->row, workloads[workload].name, series->name);
    for (const struct exp_sweep_step *step = sweep->steps; step->arguments; step++) {
        if (plan->exp->quick && !(step->flags & EXP_STEP_QUICK)) continue;
        fprintf(out, "%s%s%.0f%s (%.2f)", form->cell, step->x == best ? form->bold : "",
                exp_sweep_mean(plan, sweep, series->name, step->x, EXP_TXN_TPS, NULL, NULL),
                step->x == best ? form->bold_end : "",
                exp_sweep_mean(plan, sweep, series->name, step->x, EXP_TXN_JAIN, NULL, NULL));
    }
    fputs(form->row_end, out);
}

static void write_head(const char *first, const char *const *names, uint32_t count, bool markdown, FILE *out)
{
    const struct form *form = markdown ? &in_markdown : &in_page;
    fprintf(out, "%s%s%s", form->begin, form->head, first);
    for (uint32_t i = 0; i < count; i++) fprintf(out, "%s%s", markdown ? " | " : "<th class=\"n\">", names[i]);
    fputs(markdown ? " |\n|---" : "</tr>\n", out);
    for (uint32_t i = 0; markdown && i < count; i++) fputs("|---:", out);
    if (markdown) fputs("|\n", out);
}

static void add(const struct exp_sweep_plan *plan, bool markdown, FILE *out)
{
    const struct form *form = markdown ? &in_markdown : &in_page;
    const char *names[EXP_SWEEP_STEPS];
    char texts[EXP_SWEEP_STEPS][24];
    uint32_t count = 0;
    for (uint32_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (plan->exp->one || !exp_sweep_wants(plan, workloads[i].sweep) || !exp_sweep_wants(plan, &alone)) return;
    for (; count < EXP_SWEEP_RULES; count++) names[count] = exp_sweep_rule_names[count];
    names[count++] = "usual, no backups";
    write_head("throughput, mean of seeds \xc2\xb1 deviation", names, count, markdown, out);
    for (uint32_t workload = 0; workload < sizeof workloads / sizeof *workloads; workload++)
        for (uint32_t pair = 0; pair < sizeof pairs / sizeof *pairs; pair++)
            write_pair(plan, workload, pair, form, out);
    fputs(form->end, out);
    count = 0;
    for (const struct exp_sweep_step *step = tpcc.steps; step->arguments; step++) {
        if (plan->exp->quick && !(step->flags & EXP_STEP_QUICK)) continue;
        snprintf(texts[count], sizeof texts[count], (step->flags & EXP_STEP_APART) ? "ten tries" : "%g us", step->x);
        names[count] = texts[count];
        count++;
    }
    write_head("k txn/s (Jain's index) by cap", names, count, markdown, out);
    for (uint32_t workload = 0; workload < sizeof workloads / sizeof *workloads; workload++)
        for (const struct exp_sweep_series *series = compared; series->name; series++)
            write_grid(plan, workload, series, form, out);
    fputs(form->end, out);
}

const struct exp_sweep_study exp_txn_rules = {
    .name = "rules",
    .title = "Ratios between modes, and the rules they hold under",
    .sweeps = sweeps,
    .charts = charts,
    .about = "Usual: back-off up to 1.024 ms in each mode. Each at its best: with the cap of the grid that gives that "
             "mode the highest throughput of this "
             "workload (in brackets); and the same among caps where Jain's index over compute nodes is 0.9 at least, "
             "which a mode may not have. Ten tries: no "
             "waits to speak of, and a transaction is dropped after ten attempts, as the prototypes do. Bold: the "
             "least favourable of these four, which the "
             "targets are held against. The last column is no such rule: the usual one without backups.",
    .add = add};
