#include "exp_page.h"

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

void exp_page_begin(bool quick, FILE *out)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>cellar exp</title>\n<style>\n"
          "body { font: 15px/1.45 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; }\n"
          "img { max-width: 100%; border: 1px solid #e4e4e4; margin: 0 1em 1em 0; }\n"
          ".table { overflow-x: auto; }\n"
          "table { border-collapse: collapse; } th, td { padding: .25em .7em; border-bottom: 1px solid #e4e4e4; }\n"
          "th { text-align: left; } .n { text-align: right; white-space: nowrap; }\n"
          ".known { background: #fdf3d8; } .outside { background: #f9d6d0; }\n</style>\n"
          "<h1>cellar exp</h1>\n",
          out);
    if (quick) fputs("<p>Made with <code>--quick</code>: fewer points, shorter runs.</p>\n", out);
}

void exp_page_section(const char *title, FILE *out)
{
    element("h2", title, out);
    fputc('\n', out);
}

void exp_page_chart(const char *file, const char *title, FILE *out)
{
    fprintf(out, "<img src=\"%s\" width=\"560\" alt=\"", file);
    escaped(title, out);
    fputs("\">\n", out);
}

static void number(const char *value, FILE *out) { fprintf(out, "<td class=\"n\">%s</td>", value); }

static void table_row(const struct exp_report *report, uint32_t index, FILE *out)
{
    const struct exp_report_row *row = &report->rows[index];
    enum exp_report_verdict verdict = exp_report_judge(row);
    char value[EXP_REPORT_VALUE_BYTES];
    fprintf(out, "<tr class=\"%s\">", exp_report_verdict_name(verdict));
    element("td", row->figure, out);
    element("td", row->source, out);
    number(exp_report_value(value, row->published, row->unit), out);
    number(exp_report_value(value, row->model, row->unit), out);
    snprintf(value, sizeof value, "%.2f", exp_report_ratio(row));
    number(value, out);
    snprintf(value, sizeof value, "%.3g\xe2\x80\x93%.3g", row->low, row->high);
    number(value, out);
    fprintf(out, "<td>%s</td><td>%s", row->fitted ? "fit" : "test", verdict == EXP_REPORT_WITHIN ? "yes" : "no");
    if (exp_report_note(report, index)) fprintf(out, " (%u)", exp_report_note(report, index));
    fputs("</td></tr>\n", out);
}

void exp_page_table(const struct exp_report *report, FILE *out)
{
    uint32_t last = 0;
    fputs("<div class=\"table\"><table>\n<tr><th>figure<th>source<th class=\"n\">published<th class=\"n\">model"
          "<th class=\"n\">ratio<th class=\"n\">band<th>is<th>within</tr>\n",
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
