#include "exp_report.h"

#include "must.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define ROUNDING 0.005 /* of a figure that is next to nothing */

void exp_report_add(struct exp_report *report, struct exp_report_row row)
{
    must(report->count < EXP_REPORT_ROWS);
    report->rows[report->count++] = row;
}

double exp_report_deviation(double sum, double squares, uint32_t count)
{
    double rest = squares - sum * sum / count;
    return count > 1 && rest > 0 ? sqrt(rest / (count - 1)) : 0;
}

double exp_report_ratio(const struct exp_report_row *row) { return row->model / row->published; }

static bool in_band(const struct exp_report_row *row)
{
    return exp_report_ratio(row) >= row->low && exp_report_ratio(row) <= row->high;
}

bool exp_report_moved(const struct exp_report_row *row)
{
    double by = row->model - row->expected, slack = row->slack * row->expected;
    if (slack < 0) slack = -slack;
    if (row->expects) return by > slack + ROUNDING || by < -slack - ROUNDING;
    return row->known && !in_band(row) &&
           (exp_report_ratio(row) < row->known_low || exp_report_ratio(row) > row->known_high);
}

enum exp_report_verdict exp_report_judge(const struct exp_report_row *row)
{
    if (row->target) return in_band(row) ? EXP_REPORT_REACHED : EXP_REPORT_MISSED;
    return in_band(row) ? EXP_REPORT_WITHIN : row->why ? EXP_REPORT_KNOWN : EXP_REPORT_OUTSIDE;
}

const char *exp_report_verdict_name(enum exp_report_verdict verdict)
{
    static const char *const names[EXP_REPORT_VERDICTS] = {[EXP_REPORT_WITHIN] = "within",
                                                           [EXP_REPORT_KNOWN] = "known",
                                                           [EXP_REPORT_OUTSIDE] = "outside",
                                                           [EXP_REPORT_REACHED] = "reached",
                                                           [EXP_REPORT_MISSED] = "missed"};
    return names[verdict];
}

void exp_report_count(const struct exp_report *report, struct exp_report_counts *counts)
{
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        counts->verdicts[exp_report_judge(row)]++;
        counts->moved += exp_report_moved(row);
        counts->held += (row->expects || row->known) && !exp_report_moved(row);
    }
}

uint32_t exp_report_published(const struct exp_report_counts *counts)
{
    return counts->verdicts[EXP_REPORT_WITHIN] + counts->verdicts[EXP_REPORT_KNOWN] +
           counts->verdicts[EXP_REPORT_OUTSIDE];
}

uint32_t exp_report_targets(const struct exp_report_counts *counts)
{
    return counts->verdicts[EXP_REPORT_REACHED] + counts->verdicts[EXP_REPORT_MISSED];
}

static bool has_note(const struct exp_report_row *row)
{
    enum exp_report_verdict verdict = exp_report_judge(row);
    return row->why && (verdict == EXP_REPORT_KNOWN || verdict == EXP_REPORT_MISSED);
}

uint32_t exp_report_note(const struct exp_report *report, uint32_t index)
{
    const char *seen[EXP_REPORT_ROWS];
    uint32_t notes = 0;
    for (uint32_t i = 0; i <= index; i++) {
        if (!has_note(&report->rows[i])) continue;
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

const char *exp_report_model(char *text, const struct exp_report_row *row)
{
    char deviation[EXP_REPORT_VALUE_BYTES / 2];
    exp_report_value(text, row->model, row->unit);
    if (row->seeds < 2) return text;
    snprintf(deviation, sizeof deviation, " \xc2\xb1 %.2g", row->deviation);
    return strncat(text, deviation, EXP_REPORT_VALUE_BYTES - strlen(text) - 1);
}

/* ---- for people ---- */

static void print_row(const struct exp_report_row *row, FILE *out, const struct style *style)
{
    char published[EXP_REPORT_VALUE_BYTES], model[EXP_REPORT_VALUE_BYTES], band[EXP_REPORT_VALUE_BYTES];
    enum exp_report_verdict verdict = exp_report_judge(row);
    bool good = verdict == EXP_REPORT_WITHIN || verdict == EXP_REPORT_REACHED, known = verdict == EXP_REPORT_KNOWN;
    const char *mark = good ? style->yes : known ? (style->fancy ? "~" : "~   ") : style->no;
    const char *colour = good ? style->good : known ? style->dim : style->bad;
    if (row->target)
        snprintf(band, sizeof band, "at %s", row->low > 0 ? "least" : "most");
    else
        snprintf(band, sizeof band, "%.3g-%.3g", row->low, row->high);
    fprintf(out, "  %s%s%s %-58s %12s %12s  %5.2f  %s%-11s  %-7s%s", colour, mark, style->end, row->figure,
            exp_report_value(published, row->published, row->unit), exp_report_value(model, row->model, row->unit),
            exp_report_ratio(row), style->dim, band,
            row->target   ? "wanted"
            : row->fitted ? "fit"
                          : "test",
            style->end);
    if (exp_report_moved(row) && row->expects)
        fprintf(out, "  was %s", exp_report_value(model, row->expected, row->unit));
    if (row->rule) fprintf(out, "  rule: %s", row->rule);
    fputc('\n', out);
}

void exp_report_print(const struct exp_report *report, FILE *out, const struct style *style)
{
    struct exp_report_counts counts = {0};
    exp_report_count(report, &counts);
    fprintf(out, "  %s%-63s %12s %12s  %5s  %-11s  %s%s\n", style->bold, "figure", "published", "model", "ratio",
            "band", "is", style->end);
    for (uint32_t i = 0; i < report->count; i++) print_row(&report->rows[i], out, style);
    fputc('\n', out);
    if (exp_report_published(&counts))
        fprintf(out, "  %u published figures: %u within their bands, %u known not to be, %s%u outside%s\n",
                exp_report_published(&counts), counts.verdicts[EXP_REPORT_WITHIN], counts.verdicts[EXP_REPORT_KNOWN],
                counts.verdicts[EXP_REPORT_OUTSIDE] ? style->bad : "", counts.verdicts[EXP_REPORT_OUTSIDE], style->end);
    if (exp_report_targets(&counts))
        fprintf(out, "  %s%u of %u targets missed%s\n", counts.verdicts[EXP_REPORT_MISSED] ? style->bad : "",
                counts.verdicts[EXP_REPORT_MISSED], exp_report_targets(&counts), style->end);
    if (counts.moved)
        fprintf(out, "  %s%u of %u recorded figures have moved%s\n", style->bad, counts.moved,
                counts.moved + counts.held, style->end);
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
    fputs("figure,source,unit,published,model,ratio,band_low,band_high,is,verdict,moved,reason\n", out);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        csv_text(row->figure, out);
        fputc(',', out);
        csv_text(row->source, out);
        fputc(',', out);
        csv_text(row->unit, out);
        fprintf(out, ",%.6g,%.6g,%.4f,%.4g,%.4g,%s,%s,%s,", row->published, row->model, exp_report_ratio(row), row->low,
                row->high,
                row->target   ? "wanted"
                : row->fitted ? "fit"
                              : "test",
                exp_report_verdict_name(exp_report_judge(row)), exp_report_moved(row) ? "moved" : "");
        csv_text(row->why ? row->why : "", out);
        fputc('\n', out);
    }
}

/* ---- as JSON ---- */

json_t *exp_report_json(const struct exp_report *report)
{
    json_t *figures = json_array();
    struct exp_report_counts counts = {0};
    exp_report_count(report, &counts);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        json_t *one = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:[f, f], s:b, s:b, s:b, s:s, s:s*}", "figure",
                                row->figure, "source", row->source, "unit", row->unit, "published", row->published,
                                "model", row->model, "ratio", exp_report_ratio(row), "band", row->low, row->high,
                                "target", row->target, "fitted", row->fitted, "moved", exp_report_moved(row), "verdict",
                                exp_report_verdict_name(exp_report_judge(row)), "reason", row->why);
        if (row->expects) json_object_set_new(one, "was", json_real(row->expected));
        if (row->seeds > 1) json_object_set_new(one, "deviation", json_real(row->deviation));
        if (row->rule) json_object_set_new(one, "rule", json_string(row->rule));
        json_array_append_new(figures, one);
    }
    json_t *root = json_pack("{s:o, s:i}", "figures", figures, "moved", counts.moved);
    for (int i = 0; i < EXP_REPORT_VERDICTS; i++)
        json_object_set_new(root, exp_report_verdict_name((enum exp_report_verdict)i),
                            json_integer(counts.verdicts[i]));
    return root;
}

/* ---- as a table of a page ---- */

static bool is_good(const struct exp_report_row *row)
{
    return exp_report_judge(row) == EXP_REPORT_WITHIN || exp_report_judge(row) == EXP_REPORT_REACHED;
}

void exp_report_markdown(const struct exp_report *report, FILE *out)
{
    char published[EXP_REPORT_VALUE_BYTES], model[EXP_REPORT_VALUE_BYTES];
    uint32_t last = 0;
    fputs("| figure | source | published | model | ratio | band | is | within |\n|---|---|---|---|---|---|---|---|\n",
          out);
    for (uint32_t i = 0; i < report->count; i++) {
        const struct exp_report_row *row = &report->rows[i];
        fprintf(out, "| %s%s%s | %s | %s | %s | %.2f | ", row->figure, row->rule ? "; rule: " : "",
                row->rule ? row->rule : "", row->source, exp_report_value(published, row->published, row->unit),
                exp_report_model(model, row), exp_report_ratio(row));
        if (row->target)
            fprintf(out, "at %s | wanted | ", row->low > 0 ? "least" : "most");
        else
            fprintf(out, "%.3g\xe2\x80\x93%.3g | %s | ", row->low, row->high, row->fitted ? "fit" : "test");
        fputs(is_good(row) ? "yes" : exp_report_judge(row) == EXP_REPORT_KNOWN ? "no" : "**no**", out);
        if (exp_report_note(report, i)) fprintf(out, " (%u)", exp_report_note(report, i));
        fputs(" |\n", out);
    }
    for (uint32_t i = 0; i < report->count; i++) {
        if (exp_report_note(report, i) <= last) continue;
        last = exp_report_note(report, i);
        fprintf(out, "%s%u. %s\n", last == 1 ? "\n" : "", last, report->rows[i].why);
    }
}
