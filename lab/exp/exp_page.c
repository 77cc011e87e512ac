#include "exp_page.h"

#include <cellar_commit.h> /* made by each build */
#include <errno.h>
#include <string.h>

static void escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
    }
}

static void element(const char *name, const char *content, FILE *out)
{
    fprintf(out, "<%s>", name);
    escaped(content, out);
    fprintf(out, "</%s>", name);
}

void exp_page_missed(const struct exp *exp, const char *study, const struct exp_report_row *row)
{
    char wanted[EXP_REPORT_VALUE_BYTES], model[EXP_REPORT_VALUE_BYTES];
    fprintf(exp->missed, "<li>%s: ", study);
    escaped(row->figure, exp->missed);
    fprintf(exp->missed, " %s, wanted at %s %s%s%s</li>\n", exp_report_model(model, row),
            row->low > 0 ? "least" : "most", exp_report_value(wanted, row->published, row->unit),
            row->rule ? "; rule: " : "", row->rule ? row->rule : "");
}

/* The misses first: a reason beside one does not make it a hit. */
static void summary(const struct exp_report_counts *counts, const char *missed, FILE *out)
{
    const uint32_t *verdicts = counts->verdicts;
    fprintf(out,
            "<p><b>%u of %u targets missed; %u of %u published figures outside their bands, %u of them without a "
            "cause; %u of %u recorded figures moved.</b></p>\n",
            verdicts[EXP_REPORT_MISSED], exp_report_targets(counts),
            verdicts[EXP_REPORT_KNOWN] + verdicts[EXP_REPORT_OUTSIDE], exp_report_published(counts),
            verdicts[EXP_REPORT_OUTSIDE], counts->moved, counts->moved + counts->held);
    if (missed[0]) fprintf(out, "<h2>Missed targets</h2>\n<ul>\n%s</ul>\n", missed);
}

void exp_page_begin(const char *command, bool quick, const char *rules, const struct exp_report_counts *counts,
                    const char *missed, FILE *out)
{
    fputs(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>cellar exp</title>\n"
        "<link rel=\"icon\" href=\"data:,\">\n<style>\n"
        "body { font: 15px/1.45 system-ui, sans-serif; max-width: 1560px; margin: 2em auto; padding: 0 1em; }\n"
        "p, ul, ol { max-width: 75em; }\n"
        ".charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); gap: 1em; }\n"
        "figure { margin: 0; min-width: 0; max-width: 760px; }\n"
        "figure svg { width: 100%; height: auto; border: 1px solid #e4e4e4; }\n"
        "figcaption { font-size: 12px; } figcaption code { display: block; overflow-wrap: anywhere; color: #555; }\n"
        "figcaption span { white-space: nowrap; }\n"
        ".table { overflow-x: auto; margin-top: 1em; }\n"
        "table { border-collapse: collapse; } th, td { padding: .25em .7em; border-bottom: 1px solid #e4e4e4; }\n"
        "th { text-align: left; vertical-align: bottom; } .n { text-align: right; } td.n { white-space: nowrap; }\n"
        "td:first-child { min-width: 11em; }\n"
        "@media (max-width: 900px) { table { font-size: 13px; } th, td { padding: .2em .4em; } }\n"
        ".known { background: #fdf3d8; } .outside, .missed { background: #f9d6d0; }\n</style>\n"
        "<h1>cellar exp</h1>\n",
        out);
    if (rules[0]) element("p", rules, out);
    summary(counts, missed, out);
    fputs("<p>", out);
    fprintf(out,
            "Commit %s. Simulated NICs and seeds are in the command under each figure; where they say nothing, "
            "<code>--nic cx5 --seed 1</code>. Deterministic: this commit gives these numbers on every machine. "
            "Made by <code>",
            CELLAR_COMMIT);
    escaped(command, out);
    fprintf(out, "</code>%s</p>\n", quick ? ": fewer points, shorter runs." : ".");
}

void exp_page_charts_begin(FILE *out) { fputs("<div class=\"charts\">\n", out); }
void exp_page_charts_end(FILE *out) { fputs("</div>\n", out); }

/* Of a table in a section. */
void exp_page_heading(const char *title, FILE *out)
{
    element("h3", title, out);
    fputc('\n', out);
}

void exp_page_section(const char *title, FILE *out)
{
    element("h2", title, out);
    fputc('\n', out);
}

void exp_page_text(const char *text, FILE *out)
{
    element("p", text, out);
    fputc('\n', out);
}

static int copy_file(const struct exp *exp, const char *file, struct cellar_error *error)
{
    char path[512], bytes[4096];
    int length = snprintf(path, sizeof path, "%s/%s", exp->folder, file);
    FILE *in = length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;
    if (!in) return err_set(error, CELLAR_SYSTEM, "%.200s cannot be read back: %s", path, strerror(errno));
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;) (void)fwrite(bytes, 1, got, exp->page);
    bool failed = ferror(in) != 0;
    fclose(in);
    return failed ? err_set(error, CELLAR_SYSTEM, "%.200s cannot be read back", path) : 0;
}

/* An option of a command is not broken at its dashes. */
static void caption(const char *made, FILE *out)
{
    bool option = false;
    for (; *made; made++) {
        char letter[2] = {*made, 0};
        if (option && (*made == ' ' || *made == '\n')) fputs("</span>", out);
        option = option && *made != ' ' && *made != '\n';
        if (!strncmp(made, " --", 3)) {
            fputs(" <span>", out);
            option = true;
        } else if (*made == '\n')
            fputs("</code><code>", out);
        else
            escaped(letter, out);
    }
    if (option) fputs("</span>", out);
}

int exp_page_chart(const struct exp *exp, const char *file, const char *title, const char *made,
                   struct cellar_error *error)
{
    FILE *out = exp->page;
    fputs("<figure role=\"img\" aria-label=\"", out);
    escaped(title, out);
    fputs("\">\n", out);
    int code = copy_file(exp, file, error);
    fputs("<figcaption><code>", out);
    caption(made, out);
    fprintf(out, "; commit %s</code></figcaption>\n</figure>\n", CELLAR_COMMIT);
    return code;
}

static void number(const char *value, FILE *out) { fprintf(out, "<td class=\"n\">%s</td>", value); }

static void table_row(const struct exp_report *report, uint32_t index, FILE *out)
{
    const struct exp_report_row *row = &report->rows[index];
    enum exp_report_verdict verdict = exp_report_judge(row);
    char value[EXP_REPORT_VALUE_BYTES];
    fprintf(out, "<tr class=\"%s\">", exp_report_verdict_name(verdict));
    fputs("<td>", out);
    escaped(row->figure, out);
    if (row->rule) fprintf(out, " (rule: %s)", row->rule);
    fputs("</td>", out);
    element("td", row->source, out);
    number(exp_report_value(value, row->published, row->unit), out);
    number(exp_report_model(value, row), out);
    snprintf(value, sizeof value, "%.2f", exp_report_ratio(row));
    number(value, out);
    if (row->target)
        snprintf(value, sizeof value, "at %s", row->low > 0 ? "least" : "most");
    else
        snprintf(value, sizeof value, "%.3g\xe2\x80\x93%.3g", row->low, row->high);
    number(value, out);
    fprintf(out, "<td>%s</td><td>%s",
            row->target   ? "wanted"
            : row->fitted ? "fit"
                          : "test",
            exp_report_verdict_name(verdict));
    if (exp_report_note(report, index)) fprintf(out, " (%u)", exp_report_note(report, index));
    if (exp_report_moved(row) && row->expects)
        fprintf(out, ", was %s", exp_report_value(value, row->expected, row->unit));
    fputs("</td></tr>\n", out);
}

void exp_page_table(const struct exp_report *report, FILE *out)
{
    uint32_t last = 0;
    fputs("<div class=\"table\"><table>\n<tr><th>figure<th>source<th class=\"n\">published, or wanted<th "
          "class=\"n\">model"
          "<th class=\"n\">ratio<th class=\"n\">band<th>is<th>verdict</tr>\n",
          out);
    for (uint32_t i = 0; i < report->count; i++) table_row(report, i, out);
    fputs("</table></div>\n<p>fit: a parameter of the profile comes from this figure. test: none does.</p>\n<ol>\n",
          out);
    for (uint32_t i = 0; i < report->count; i++) {
        if (exp_report_note(report, i) <= last) continue;
        last = exp_report_note(report, i);
        element("li", report->rows[i].why, out);
        fputc('\n', out);
    }
    fputs("</ol>\n", out);
}

void exp_page_end(FILE *out) { fputs("</html>\n", out); }
