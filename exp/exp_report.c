#include "exp_report.h"

#include "must.h"

#include <jansson.h>
#include <string.h>

#define ROUNDING 0.005 /* of a figure that is next to nothing */

void exp_report_add(struct exp_report *report, struct exp_report_row row)
{
    must(report->count < EXP_REPORT_ROWS);
    report->rows[report->count++] = row;
}

double exp_report_ratio(const struct exp_report_row *row) { return row->model / row->published; }

bool exp_report_moved(const struct exp_report_row *row)
{
    double by = row->model - row->expected, slack = row->slack * row->expected;
    if (slack < 0) slack = -slack;
    return row->expects && (by > slack + ROUNDING || by < -slack - ROUNDING);
}

enum exp_report_verdict exp_report_judge(const struct exp_report_row *row)
{
    if (exp_report_moved(row)) return EXP_REPORT_OUTSIDE;
    if (exp_report_ratio(row) >= row->low && exp_report_ratio(row) <= row->high) return EXP_REPORT_WITHIN;
    if (row->why && row->expects) return EXP_REPORT_KNOWN;
    if (row->why && exp_report_ratio(row) >= row->known_low && exp_report_ratio(row) <= row->known_high)
        return EXP_REPORT_KNOWN;
    return EXP_REPORT_OUTSIDE;
}

const char *exp_report_verdict_name(enum exp_report_verdict verdict)
{
    static const char *const names[] = {
        [EXP_REPORT_WITHIN] = "within", [EXP_REPORT_KNOWN] = "known", [EXP_REPORT_OUTSIDE] = "outside"};
    return names[verdict];
}

static uint32_t count_of(const struct exp_report *report, enum exp_report_verdict verdict)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->count; i++) count += exp_report_judge(&report->rows[i]) == verdict;
    return count;
}

uint32_t exp_report_outside(const struct exp_report *report) { return count_of(report, EXP_REPORT_OUTSIDE); }

uint32_t exp_report_note(const struct exp_report *report, uint32_t index)
{
    const char *seen[EXP_REPORT_ROWS];
    uint32_t notes = 0;
    for (uint32_t i = 0; i <= index; i++) {
        if (exp_report_judge(&report->rows[i]) != EXP_REPORT_KNOWN) continue;
        uint32_t note = 0;
        while (note < notes && strcmp(seen[note], report->rows[i].why) != 0) note++;
        if (note == notes) seen[notes++] = report->rows[i].why;
        if (i == index) return note + 1;
    }
    return 0;
}

const char *exp_report_value(char *text, double value, const char *unit)
{
    double size = value < 0 ? -value : value;
    int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
    snprintf(text, EXP_REPORT_VALUE_BYTES, "%.*f%s%s", digits, value, unit[0] ? " " : "", unit);
    return text;
}

/* ---- for people ---- */

static void print_row(const struct exp_report_row *row, FILE *out, const struct style *style)
{
    char published[EXP_REPORT_VALUE_BYTES], model[EXP_REPORT_VALUE_BYTES], band[EXP_REPORT_VALUE_BYTES];
    snprintf(band, sizeof band, "%.3g-%.3g", row->low, row->high);
    enum exp_report_verdict verdict = exp_report_judge(row);
    const char *mark = verdict == EXP_REPORT_WITHIN  ? style->yes
                       : verdict == EXP_REPORT_KNOWN ? (style->fancy ? "~" : "~   ")
                                                     : style->no;
    const char *colour = verdict == EXP_REPORT_WITHIN  ? style->good
                         : verdict == EXP_REPORT_KNOWN ? style->dim
                                                       : style->bad;
    fprintf(out, "  %s%s%s %-58s %12s %12s  %5.2f  %s%-11s  %s%s", colour, mark, style->end, row->figure,
            exp_report_value(published, row->published, row->unit), exp_report_value(model, row->model, row->unit),
            exp_report_ratio(row), style->dim, band, row->fitted ? "fit" : "test", style->end);
    if (exp_report_moved(row)) fprintf(out, "  was %s", exp_report_value(model, row->expected, row->unit));
    fputc('\n', out);
}

void exp_report_print(const struct exp_report *report, FILE *out, const struct style *style)
{
    uint32_t known = count_of(report, EXP_REPORT_KNOWN), outside = exp_report_outside(report);
    fprintf(out, "  %s%-63s %12s %12s  %5s  %-11s  %s%s\n", style->bold, "figure", "published", "model", "ratio",
            "band", "is", style->end);
    for (uint32_t i = 0; i < report->count; i++) print_row(&report->rows[i], out, style);
    fprintf(out, "\n  %u figures: %u within their bands, %u known not to be, %s%u outside%s\n", report->count,
            report->count - known - outside, known, outside ? style->bad : "", outside, style->end);
}

/* ---- as CSV ---- */

static void csv_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void exp_report_csv(const struct exp_report *report, FILE *out)
{
    fputs("figure,source,unit,published,model,ratio,band_low,band_high,is,verdict,reason\n", out);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        csv_text(row->figure, out);
        fputc(',', out);
        csv_text(row->source, out);
        fputc(',', out);
        csv_text(row->unit, out);
        fprintf(out, ",%.6g,%.6g,%.4f,%.4g,%.4g,%s,%s,", row->published, row->model, exp_report_ratio(row), row->low,
                row->high, row->fitted ? "fit" : "test", exp_report_verdict_name(exp_report_judge(row)));
        csv_text(row->why ? row->why : "", out);
        fputc('\n', out);
    }
}

/* ---- as JSON ---- */

json_t *exp_report_json(const struct exp_report *report)
{
    json_t *figures = json_array();
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        json_array_append_new(figures, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:[f, f], s:b, s:s, s:s*}", "figure",
                                                 row->figure, "source", row->source, "unit", row->unit, "published",
                                                 row->published, "model", row->model, "ratio", exp_report_ratio(row),
                                                 "band", row->low, row->high, "fitted", row->fitted, "verdict",
                                                 exp_report_verdict_name(exp_report_judge(row)), "reason", row->why));
    }
    return json_pack("{s:o, s:i, s:i, s:i}", "figures", figures, "within", count_of(report, EXP_REPORT_WITHIN), "known",
                     count_of(report, EXP_REPORT_KNOWN), "outside", count_of(report, EXP_REPORT_OUTSIDE));
}

/* ---- as a table of a page ---- */

void exp_report_markdown(const struct exp_report *report, FILE *out)
{
    char published[EXP_REPORT_VALUE_BYTES], model[EXP_REPORT_VALUE_BYTES];
    uint32_t last = 0;
    fputs("| figure | source | published | model | ratio | band | is | within |\n|---|---|---|---|---|---|---|---|\n",
          out);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        fprintf(out, "| %s | %s | %s | %s | %.2f | %.3g\xe2\x80\x93%.3g | %s | ", row->figure, row->source,
                exp_report_value(published, row->published, row->unit), exp_report_value(model, row->model, row->unit),
                exp_report_ratio(row), row->low, row->high, row->fitted ? "fit" : "test");
        if (exp_report_note(report, i))
            fprintf(out, "no (%u) |\n", exp_report_note(report, i));
        else
            fprintf(out, "%s |\n", exp_report_judge(row) == EXP_REPORT_WITHIN ? "yes" : "**no**");
    }
    for (uint32_t i = 0; i < report->count; i++) {
        if (exp_report_note(report, i) <= last) continue;
        last = exp_report_note(report, i);
        fprintf(out, "%s%u. %s\n", last == 1 ? "\n" : "", last, report->rows[i].why);
    }
}
