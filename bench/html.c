#include "html.h"

#include "err.h"
#include "style.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A chart's plane, in units of its own: the page scales it. */
#define WIDTH 640
#define HEIGHT 240
#define LEFT 64
#define BOTTOM 34
#define TOP 14
#define BAR_ROW 26
#define BAR_LEFT 190
#define LATENCY_BARS 48
#define TEXT(number) ((unsigned long long)(number))

static const char style[] =
    "<style>\n"
    ":root { color-scheme: light dark; --ground: #fbfbfa; --card: #fff; --ink: #1d2329; --soft: #5c6670; --line: "
    "#dfe3e6; --mark: #2368a8; --good: #1c7a3d; --bad: #b3261e; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --card: #1c2228; --ink: #e6e9ec; --soft: "
    "#9aa5ae; --line: #333c44; --mark: #6bb1ee; --good: #6cc98a; --bad: #f28b82; } }\n"
    "body { font: 15px/1.45 system-ui, sans-serif; background: var(--ground); color: var(--ink); margin: 0 auto; "
    "padding: 1.5em; max-width: 1400px; }\n"
    "h1 { font-size: 1.5em; margin: 0; } h2 { font-size: 1em; margin: 0 0 .6em; }\n"
    "p { margin: .2em 0; color: var(--soft); } code { overflow-wrap: anywhere; }\n"
    ".tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 1em; margin: 1.2em 0; "
    "}\n"
    ".tiles div, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1em; "
    "min-width: 0; }\n"
    ".tiles b { display: block; font-size: 1.5em; font-weight: 600; } .tiles span { color: var(--soft); font-size: "
    ".85em; }\n"
    ".charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 1em; }\n"
    "svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 12px; }\n"
    "svg .grid { stroke: var(--line); } svg .bar { fill: var(--mark); } svg .area { fill: var(--mark); fill-opacity: "
    ".15; }\nsvg .curve { fill: none; stroke: var(--mark); stroke-width: 2; } svg .ruler { stroke: var(--ink); "
    "stroke-dasharray: 4 3; }\nsvg .value { fill: var(--ink); paint-order: stroke; stroke: var(--card); stroke-width: "
    "3px; }\n"
    ".wide { grid-column: 1 / -1; overflow-x: auto; }\n"
    "table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }\n"
    "th, td { text-align: right; padding: .25em .7em; border-bottom: 1px solid var(--line); white-space: nowrap; }\n"
    "th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child { text-align: left; }\n"
    "ul { columns: 26em; margin: 0; padding: 0; list-style: none; } .ok { color: var(--good); } .no { color: "
    "var(--bad); }\n</style>\n";

static void escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            putc(*text, out);
    }
}

static void section_begin(const char *title, bool wide, FILE *out)
{
    fprintf(out, "<section%s><h2>%s</h2>\n", wide ? " class=\"wide\"" : "", title);
}

static void section_end(FILE *out) { fputs("</section>\n", out); }

static void text_at(double x, double y, const char *anchor, const char *kind, const char *text, FILE *out)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, kind);
    escaped(text, out);
    fputs("</text>\n", out);
}

/* 1, 2 or 5 times a power of ten, at least `value`. */
static double round_up(double value)
{
    double step = 1;
    while (step < value) step *= 10;
    while (step / 10 >= value && step > 1) step /= 10;
    return step / 5 >= value ? step / 5 : step / 2 >= value ? step / 2 : step;
}

static void grid(double most, FILE *out)
{
    for (int i = 0; i <= 4; i++) {
        char text[STYLE_BYTES];
        double y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * i / 4.0;
        fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", LEFT, WIDTH - 8, y, y);
        text_at(LEFT - 8, y + 4, "end", "", style_rate(text, most * i / 4), out);
    }
}

/* ---- charts ---- */

static void throughput(const struct outcome *outcome, FILE *out)
{
    const struct driver_totals *totals = &outcome->totals;
    double tick_s = (double)totals->tick_ns * 1e-9, most = 0, width = (WIDTH - 8.0 - LEFT) / DRIVER_TICKS;
    char text[48];
    if (!totals->tick_ns) return;
    for (uint32_t i = 0; i < DRIVER_TICKS; i++)
        most = totals->ticks[i] / tick_s > most ? totals->ticks[i] / tick_s : most;
    most = round_up(most);
    section_begin("Throughput over time, transactions a second", false, out);
    fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"throughput over time\">\n", WIDTH, HEIGHT);
    grid(most, out);
    for (int pass = 0; pass < 2; pass++) {
        fprintf(out, "<path class=\"%s\" d=\"", pass ? "curve" : "area");
        if (!pass) fprintf(out, "M%.1f,%d ", LEFT + width / 2, HEIGHT - BOTTOM);
        for (uint32_t i = 0; i < DRIVER_TICKS; i++)
            fprintf(out, "%s%.1f,%.1f ", pass && i == 0 ? "M" : "L", LEFT + width * (i + 0.5),
                    HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * totals->ticks[i] / tick_s / most);
        if (!pass) fprintf(out, "L%.1f,%d Z", LEFT + width * (DRIVER_TICKS - 0.5), HEIGHT - BOTTOM);
        fputs("\"/>\n", out);
    }
    for (int i = 0; i <= 4; i++) {
        snprintf(text, sizeof text, "%.3g s", tick_s * DRIVER_TICKS * i / 4);
        text_at(LEFT + (WIDTH - 8.0 - LEFT) * i / 4, HEIGHT - 12,
                i == 4 ? "end"
                : i    ? "middle"
                       : "start",
                "", text, out);
    }
    fputs("</svg>\n", out);
    section_end(out);
}

/* Values by powers: LATENCY_BARS bars from the least to the longest, each as much longer than the one before. */
struct latency {
    uint64_t bars[LATENCY_BARS], most;
    uint32_t low, high; /* buckets of the histogram */
};

static void latency_count(const struct hist *hist, struct latency *latency)
{
    latency->low = HIST_BUCKETS;
    for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
        if (!hist->buckets[i]) continue;
        if (latency->low == HIST_BUCKETS) latency->low = i;
        latency->high = i + 1;
    }
    for (uint32_t i = latency->low; i < latency->high; i++) {
        uint64_t *bar = &latency->bars[(uint64_t)(i - latency->low) * LATENCY_BARS / (latency->high - latency->low)];
        *bar += hist->buckets[i];
        if (*bar > latency->most) latency->most = *bar;
    }
}

/* The least value of a bucket (hist.h). */
static uint64_t bucket_value(uint32_t bucket)
{
    uint32_t shift = bucket >> HIST_SUB_BITS;
    if (shift < 2) return bucket;
    return (uint64_t)((bucket & ((1u << HIST_SUB_BITS) - 1)) | 1u << HIST_SUB_BITS) << (shift - 1);
}

static double latency_x(const struct latency *latency, uint64_t value)
{
    double part = ((double)hist_bucket_of(value) - latency->low) / (latency->high - latency->low);
    return LEFT + (WIDTH - 8.0 - LEFT) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static void latencies(const struct outcome *outcome, FILE *out)
{
    static const struct {
        double fraction;
        const char *name;
    } marks[] = {{0.5, "p50"}, {0.99, "p99"}, {0.999, "p99.9"}};
    const struct hist *hist = &outcome->totals.all.latency_ns;
    struct latency latency = {0};
    double width = (WIDTH - 8.0 - LEFT) / LATENCY_BARS;
    char text[64], us[STYLE_BYTES];
    if (!hist->count) return;
    latency_count(hist, &latency);
    section_begin("Latency, of all transactions (us; the scale grows by powers)", false, out);
    fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"latencies\">\n", WIDTH, HEIGHT);
    grid((double)latency.most, out);
    for (uint32_t i = 0; i < LATENCY_BARS; i++) {
        double height = (HEIGHT - BOTTOM - TOP) * (double)latency.bars[i] / (double)latency.most;
        if (latency.bars[i])
            fprintf(out, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                    LEFT + width * i, HEIGHT - BOTTOM - height, width - 1, height);
    }
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t value = hist_quantile(hist, marks[i].fraction);
        double x = latency_x(&latency, value), y = TOP + 12.0 + 15 * i;
        fprintf(out, "<line class=\"ruler\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, TOP,
                HEIGHT - BOTTOM);
        snprintf(text, sizeof text, "%s %s", marks[i].name, style_us(us, (double)value));
        text_at(x > WIDTH - 120 ? x - 4 : x + 4, y, x > WIDTH - 120 ? "end" : "start", "value", text, out);
    }
    for (uint32_t i = 0; i <= 4; i++) {
        uint32_t bucket = latency.low + (latency.high - latency.low) * i / 4;
        text_at(LEFT + (WIDTH - 8.0 - LEFT) * i / 4, HEIGHT - 12,
                i == 4 ? "end"
                : i    ? "middle"
                       : "start",
                "", style_us(us, (double)bucket_value(bucket)), out);
    }
    fputs("</svg>\n", out);
    section_end(out);
}

struct bar {
    char name[64], shown[64];
    double value;
};

/* Bars side by side with their names; none: a line that says so. */
static void bars(const char *title, const char *none, const struct bar *list, uint32_t count, FILE *out)
{
    double most = 0;
    section_begin(title, false, out);
    for (uint32_t i = 0; i < count; i++) most = list[i].value > most ? list[i].value : most;
    if (count == 0) fprintf(out, "<p>%s</p>\n", none);
    if (count)
        fprintf(out, "<svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"%s\">\n", WIDTH, count * BAR_ROW + 4, title);
    for (uint32_t i = 0; i < count; i++) {
        double length = most > 0 ? (WIDTH - BAR_LEFT - 110.0) * list[i].value / most : 0, y = i * BAR_ROW + 4.0;
        text_at(BAR_LEFT - 8, y + 15, "end", "", list[i].name, out);
        fprintf(out, "<rect class=\"bar\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n", BAR_LEFT, y,
                length < 1 ? 1 : length, BAR_ROW - 8);
        text_at(BAR_LEFT + length + 8, y + 15, "start", "value", list[i].shown, out);
    }
    if (count) fputs("</svg>\n", out);
    section_end(out);
}

static void aborts(const struct outcome *outcome, FILE *out)
{
    const uint64_t *counts = outcome->totals.stats.aborts;
    struct bar list[CELLAR_ABORT_REASONS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < CELLAR_ABORT_REASONS; i++) {
        if (!counts[i]) continue;
        struct bar *bar = &list[count++];
        bar->value = (double)counts[i];
        snprintf(bar->name, sizeof bar->name, "%s", cellar_lab_abort_name((enum cellar_abort_reason)i));
        style_count(bar->shown, counts[i]);
    }
    bars("Aborted attempts, by reason", "No attempt was aborted.", list, count, out);
}

static void hottest(const struct outcome *outcome, FILE *out)
{
    struct bar list[OUTCOME_HOT_MAX];
    for (uint32_t i = 0; i < outcome->hot_count; i++) {
        snprintf(list[i].name, sizeof list[i].name, "%s %llu", outcome->hot[i].table, TEXT(outcome->hot[i].key));
        list[i].value = (double)outcome->hot[i].conflicts;
        style_count(list[i].shown, outcome->hot[i].conflicts);
    }
    bars("Records with most conflicts, warm-up included", "No attempt met another transaction.", list,
         outcome->hot_count, out);
}

static void nics(const struct outcome *outcome, FILE *out)
{
    struct bar list[FABRIC_NODES_MAX + CELLAR_VERBS];
    uint32_t count = 0;
    for (uint32_t i = 0; outcome->nics_limited && i < outcome->settings->db.mns; i++) {
        struct bar *bar = &list[count++];
        bar->value = outcome->nic_utilization[i];
        snprintf(bar->name, sizeof bar->name, "memory node %u", i);
        style_percent(bar->shown, bar->value);
    }
    if (count) bars("NIC use: how long its units were busy", "", list, count, out);
    count = 0;
    for (uint32_t verb = 0; verb < CELLAR_VERBS; verb++) {
        double sum = 0;
        for (uint32_t phase = 0; phase < CELLAR_PHASES; phase++)
            sum += outcome_ops(outcome, (enum cellar_phase)phase, (enum cellar_verb)verb);
        if (sum <= 0) continue;
        struct bar *bar = &list[count++];
        bar->value = sum;
        snprintf(bar->name, sizeof bar->name, "%s", outcome_verbs[verb]);
        snprintf(bar->shown, sizeof bar->shown, "%.2f", sum);
    }
    bars("NIC use: verbs of a transaction", "No verb was posted.", list, count, out);
}

/* ---- numbers ---- */

static void tile(const char *value, const char *name, FILE *out)
{
    fprintf(out, "<div><b>%s</b><span>%s</span></div>\n", value, name);
}

static void tiles(const struct outcome *outcome, FILE *out)
{
    const struct driver_totals *totals = &outcome->totals;
    char text[STYLE_BYTES], checks[64];
    uint32_t failed = outcome_checks_failed(outcome);
    fputs("<div class=\"tiles\">\n", out);
    tile(style_count(text, (uint64_t)outcome_tps(outcome)), "transactions a second", out);
    tile(style_percent(text, outcome_abort_rate(totals->aborted, totals->committed)), "of the attempts aborted", out);
    tile(style_us(text, (double)hist_quantile(&totals->all.latency_ns, 0.5)), "us, median", out);
    tile(style_us(text, (double)hist_quantile(&totals->all.latency_ns, 0.99)), "us, p99", out);
    snprintf(text, sizeof text, "%.2f", outcome_round_trips(outcome));
    tile(text, "round trips a transaction", out);
    snprintf(checks, sizeof checks, failed ? "%u of %u" : "%u", failed ? failed : outcome->report.check_count,
             outcome->report.check_count);
    tile(checks, failed ? "checks failed" : "checks, all hold", out);
    fputs("</div>\n", out);
}

static void type_row(const char *name, const struct driver_type *type, FILE *out)
{
    char text[STYLE_BYTES];
    static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
    fputs("<tr><td>", out);
    escaped(name, out);
    fprintf(out, "</td><td>%s</td>", style_count(text, type->committed));
    fprintf(out, "<td>%s</td>", style_percent(text, outcome_abort_rate(type->aborted, type->committed)));
    fprintf(out, "<td>%s</td>", style_us(text, hist_mean(&type->latency_ns)));
    for (uint32_t i = 0; i < 4; i++)
        fprintf(out, "<td>%s</td>", style_us(text, (double)hist_quantile(&type->latency_ns, quantiles[i])));
    fprintf(out, "<td>%s</td></tr>\n", style_us(text, (double)type->latency_ns.max));
}

static void types(const struct outcome *outcome, FILE *out)
{
    const struct workload *workload = outcome->settings->workload;
    section_begin("Transactions (us)", true, out);
    fputs("<table><tr><th>type</th><th>committed</th><th>aborts</th><th>mean</th><th>p50</th><th>p90</th><th>p99</th>"
          "<th>p99.9</th><th>max</th></tr>\n",
          out);
    for (uint32_t i = 0; i < workload->type_count; i++) type_row(workload->types[i], &outcome->totals.types[i], out);
    type_row("all", &outcome->totals.all, out);
    fputs("</table>\n", out);
    section_end(out);
}

static void checks(const struct outcome *outcome, FILE *out)
{
    section_begin("Checks", true, out);
    fputs("<ul>\n", out);
    for (uint32_t i = 0; i < outcome->report.check_count; i++) {
        bool ok = outcome->report.checks[i].ok;
        fprintf(out, "<li><span class=\"%s\">%s</span> ", ok ? "ok" : "no", ok ? "&#10003;" : "&#10007;");
        escaped(outcome->report.checks[i].name, out);
        if (!ok) fputs(": ", out);
        if (!ok) escaped(outcome->report.checks[i].text, out);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
    section_end(out);
}

static void head(const struct outcome *outcome, const char *command, FILE *out)
{
    const struct settings *settings = outcome->settings;
    fprintf(out,
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
            "content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n<title>cellar bench %s</title>\n",
            settings->workload->name);
    fputs(style, out);
    fprintf(out, "<h1>cellar bench %s</h1>\n", settings->workload->name);
    fprintf(out,
            "<p>mode %s on %s, %u compute nodes of %u threads and %u coordinators each, %u memory nodes, %u "
            "backups%s</p>\n<p><code>",
            settings->cc, settings->db.fabric ? settings->db.fabric : "shm", settings->db.cns, settings->db.threads,
            settings->db.coros, settings->db.mns, settings->db.replicas, outcome->interrupted ? "; interrupted" : "");
    escaped(command, out);
    fprintf(out, "</code>, by cellar %s</p>\n", cellar_version());
}

int html_write(const struct outcome *outcome, const char *command, const char *path, struct cellar_error *error)
{
    FILE *out = fopen(path, "w");
    if (!out) return err_set(error, CELLAR_SYSTEM, "--html %.160s: %s", path, strerror(errno));
    head(outcome, command, out);
    tiles(outcome, out);
    fputs("<div class=\"charts\">\n", out);
    throughput(outcome, out);
    latencies(outcome, out);
    aborts(outcome, out);
    hottest(outcome, out);
    nics(outcome, out);
    types(outcome, out);
    checks(outcome, out);
    fputs("</div>\n</html>\n", out);
    bool failed = fflush(out) || ferror(out);
    failed = fclose(out) || failed;
    return failed ? err_set(error, CELLAR_SYSTEM, "--html %.160s: %s", path, strerror(errno)) : 0;
}
