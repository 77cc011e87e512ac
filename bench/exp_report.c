#include "exp_report.h"

#include "must.h"

#include <string.h>

#define VALUE_BYTES 48

void exp_report_add(struct exp_report *report, struct exp_report_row row)
{
    must(report->count < EXP_REPORT_ROWS);
    report->rows[report->count++] = row;
}

static double ratio(const struct exp_report_row *row) { return row->model / row->published; }

enum exp_report_verdict exp_report_judge(const struct exp_report_row *row)
{
    if (ratio(row) >= row->low && ratio(row) <= row->high) return EXP_REPORT_WITHIN;
    if (row->why && ratio(row) >= row->known_low && ratio(row) <= row->known_high) return EXP_REPORT_KNOWN;
    return EXP_REPORT_OUTSIDE;
}

uint32_t exp_report_outside(const struct exp_report *report)
{
    uint32_t outside = 0;
    for (uint32_t i = 0; i < report->count; i++) outside += exp_report_judge(&report->rows[i]) == EXP_REPORT_OUTSIDE;
    return outside;
}

/* Three or four significant digits. */
static const char *value_text(char *text, double value, const char *unit)
{
    int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    snprintf(text, VALUE_BYTES, "%.*f%s%s", digits, value, unit[0] ? " " : "", unit);
    return text;
}

/* ---- for people ---- */

static void print_row(const struct exp_report_row *row, FILE *out, const struct style *style)
{
    char published[VALUE_BYTES], model[VALUE_BYTES], band[VALUE_BYTES];
    snprintf(band, sizeof band, "%.3g-%.3g", row->low, row->high);
    enum exp_report_verdict verdict = exp_report_judge(row);
    const char *mark = verdict == EXP_REPORT_WITHIN  ? style->yes
                       : verdict == EXP_REPORT_KNOWN ? (style->fancy ? "~" : "~   ")
                                                     : style->no;
    const char *colour = verdict == EXP_REPORT_WITHIN  ? style->good
                         : verdict == EXP_REPORT_KNOWN ? style->dim
                                                       : style->bad;
    fprintf(out, "  %s%s%s %-58s %12s %12s  %5.2f  %s%-11s  %s%s\n", colour, mark, style->end, row->figure,
            value_text(published, row->published, row->unit), value_text(model, row->model, row->unit), ratio(row),
            style->dim, band, row->fitted ? "fit" : "test", style->end);
}

void exp_report_print(const struct exp_report *report, FILE *out, const struct style *style)
{
    uint32_t known = 0, outside = exp_report_outside(report);
    fprintf(out, "  %s%-63s %12s %12s  %5s  %-11s  %s%s\n", style->bold, "figure", "published", "model", "ratio",
            "band", "is", style->end);
    for (uint32_t i = 0; i < report->count; i++) {
        print_row(&report->rows[i], out, style);
        known += exp_report_judge(&report->rows[i]) == EXP_REPORT_KNOWN;
    }
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
    fputs("\",", out);
}

void exp_report_csv(const struct exp_report *report, FILE *out)
{
    static const char *const verdicts[] = {
        [EXP_REPORT_WITHIN] = "within", [EXP_REPORT_KNOWN] = "known", [EXP_REPORT_OUTSIDE] = "outside"};
    fputs("figure,source,unit,published,model,ratio,band_low,band_high,is,verdict,reason\n", out);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        csv_text(row->figure, out);
        csv_text(row->source, out);
        csv_text(row->unit, out);
        fprintf(out, "%.6g,%.6g,%.4f,%.4g,%.4g,%s,%s,", row->published, row->model, ratio(row), row->low, row->high,
                row->fitted ? "fit" : "test", verdicts[exp_report_judge(row)]);
        fputc('"', out);
        if (row->why) fputs(row->why, out);
        fputs("\"\n", out);
    }
}

/* ---- as a table of a page ---- */

/* The number of the note that a row's reason has: equal reasons share one. 0: it needs none. */
static uint32_t note_of(const struct exp_report *report, uint32_t index)
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

void exp_report_markdown(const struct exp_report *report, FILE *out)
{
    char published[VALUE_BYTES], model[VALUE_BYTES];
    uint32_t last = 0;
    fputs("| figure | source | published | model | ratio | band | is | within |\n|---|---|---|---|---|---|---|---|\n",
          out);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        fprintf(out, "| %s | %s | %s | %s | %.2f | %.3g\xe2\x80\x93%.3g | %s | ", row->figure, row->source,
                value_text(published, row->published, row->unit), value_text(model, row->model, row->unit), ratio(row),
                row->low, row->high, row->fitted ? "fit" : "test");
        if (note_of(report, i))
            fprintf(out, "no (%u) |\n", note_of(report, i));
        else
            fprintf(out, "%s |\n", exp_report_judge(row) == EXP_REPORT_WITHIN ? "yes" : "**no**");
    }
    for (uint32_t i = 0; i < report->count; i++) {
        if (note_of(report, i) <= last) continue;
        last = note_of(report, i);
        fprintf(out, "%s%u. %s\n", last == 1 ? "\n" : "", last, report->rows[i].why);
    }
}
