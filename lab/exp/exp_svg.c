/*
 * exp_svg.c - a plot area with a light grid, lines or bars in it, their names beside it; colours that the
 * colour-blind can tell apart.
 */
#include "exp_svg.h"

#include "elementary.h"
#include "must.h"

#include <stdint.h>
#include <string.h>

#define WIDTH 760
#define HEIGHT 420
#define LEFT 76
#define RIGHT 560
#define TOP 52
#define BOTTOM 356
#define TICKS_MAX 16
#define ROOM_ABOVE 1.06 /* the highest value and a little more */

#define PRODUCT_COLOUR "#d55e00" /* no other series has it where there is a product */
static const char *const colours[EXP_SVG_SERIES] = {"#0072b2", PRODUCT_COLOUR, "#009e73", "#cc79a7", "#56b4e9",
                                                    "#e69f00", "#000000",      "#8c6d31", "#7a7a7a", "#5e3c99"};

static bool is_product(const char *product, const char *name) { return product && !strcmp(product, name); }

static const char *colour_of(const char *product, const char *name, uint32_t index)
{
    if (is_product(product, name)) return PRODUCT_COLOUR;
    if (product && !strcmp(colours[index], PRODUCT_COLOUR)) return "#b07aa1";
    return colours[index];
}

struct axis {
    bool log;
    double low, high; /* of values */
    double from, to;  /* of the picture */
    double ticks[TICKS_MAX];
    uint32_t tick_count;
};

/* ---- what a chart is made of ---- */

struct exp_svg_series *exp_svg_series(struct exp_svg_chart *chart, const char *name)
{
    uint32_t i = 0;
    while (i < chart->count && strcmp(chart->series[i].name, name) != 0) i++;
    must(i < EXP_SVG_SERIES);
    if (i == chart->count) chart->series[chart->count++].name = name;
    return &chart->series[i];
}

void exp_svg_add(struct exp_svg_series *series, double x, double y) { exp_svg_add_spread(series, x, y, y, y); }

void exp_svg_add_spread(struct exp_svg_series *series, double x, double y, double low, double high)
{
    must(series->count < EXP_SVG_POINTS);
    series->x[series->count] = x;
    series->y[series->count] = y;
    series->low[series->count] = low;
    series->high[series->count++] = high;
}

static double log10_of(double x) { return elementary_log(x) / 2.302585092994046; }

static double place(const struct axis *axis, double value)
{
    double low = axis->low, high = axis->high;
    if (axis->log) {
        value = log10_of(value);
        low = log10_of(low);
        high = log10_of(high);
    }
    return axis->from + (value - low) / (high - low) * (axis->to - axis->from);
}

/* ---- axes ---- */

static void add_tick(struct axis *axis, double value)
{
    if (value < axis->low * 0.999999 || value > axis->high * 1.000001 || axis->tick_count == TICKS_MAX) return;
    axis->ticks[axis->tick_count++] = value;
}

/* 1, 2 and 5 of each decade; where there are many decades, 1 alone. */
static void log_ticks(struct axis *axis)
{
    bool many = axis->high / axis->low > 2000;
    double decade = 1e-9;
    while (decade * 10 <= axis->low) decade *= 10;
    for (; decade <= axis->high; decade *= 10) {
        add_tick(axis, decade);
        if (many) continue;
        add_tick(axis, 2 * decade);
        add_tick(axis, 5 * decade);
    }
}

/* About six steps of 1, 2 or 5 times a power of ten. */
static void linear_ticks(struct axis *axis)
{
    double step = 1e-9, wanted = (axis->high - axis->low) / 6;
    while (step * 10 <= wanted) step *= 10;
    step *= wanted > 5 * step ? 10 : wanted > 2 * step ? 5 : wanted > step ? 2 : 1;
    for (double value = axis->low; value <= axis->high; value += step) add_tick(axis, value);
}

static void stretch(struct axis *axis, const double *values, uint32_t count, bool *any)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!*any || values[i] < axis->low) axis->low = values[i];
        if (!*any || values[i] > axis->high) axis->high = values[i];
        *any = true;
    }
}

static void make_axis(const struct exp_svg_chart *chart, bool vertical, struct axis *axis)
{
    bool any = false;
    for (uint32_t s = 0; s < chart->count; s++) {
        const struct exp_svg_series *series = &chart->series[s];
        stretch(axis, vertical ? series->low : series->x, series->count, &any);
        stretch(axis, vertical ? series->high : series->x, series->count, &any);
    }
    for (uint32_t i = 0; i < chart->mark_count; i++)
        stretch(axis, vertical ? &chart->marks[i].y : &chart->marks[i].x, 1, &any);
    if (!axis->log) axis->low = 0;
    if (vertical) axis->high *= ROOM_ABOVE;
    if (axis->high <= axis->low) axis->high = axis->low + 1;
    if (axis->log)
        log_ticks(axis);
    else
        linear_ticks(axis);
}

/* ---- the picture ---- */

static void text_at(FILE *out, double x, double y, const char *style, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
    }
    fputs("</text>\n", out);
}

static void draw_frame(const char *title, const char *x_label, const char *y_label, const struct axis *y, FILE *out)
{
    char label[32];
    for (uint32_t i = 0; i < y->tick_count; i++) {
        double at = place(y, y->ticks[i]);
        fprintf(out, "<path d=\"M%d %.1fH%d\" stroke=\"#e4e4e4\"/>\n", LEFT, at, RIGHT);
        snprintf(label, sizeof label, "%g", y->ticks[i]);
        text_at(out, LEFT - 8, at + 4, "text-anchor=\"end\"", label);
    }
    fprintf(out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#444\"/>\n", LEFT, TOP, BOTTOM, RIGHT);
    text_at(out, LEFT, 28, "font-size=\"16\" font-weight=\"600\"", title);
    if (x_label) text_at(out, (LEFT + RIGHT) / 2.0, BOTTOM + 42, "text-anchor=\"middle\"", x_label);
    fprintf(out, "<g transform=\"translate(20 %d) rotate(-90)\">\n", (TOP + BOTTOM) / 2);
    text_at(out, 0, 0, "text-anchor=\"middle\"", y_label);
    fputs("</g>\n", out);
}

static void draw_axes(const struct exp_svg_chart *chart, const struct axis *x, const struct axis *y, FILE *out)
{
    char label[32];
    for (uint32_t i = 0; i < x->tick_count; i++) {
        double at = place(x, x->ticks[i]);
        fprintf(out, "<path d=\"M%.1f %dV%d\" stroke=\"#e4e4e4\"/>\n", at, TOP, BOTTOM);
        snprintf(label, sizeof label, "%g", x->ticks[i]);
        text_at(out, at, BOTTOM + 18, "text-anchor=\"middle\"", label);
    }
    draw_frame(chart->title, chart->x_label, chart->y_label, y, out);
}

static void draw_dot(FILE *out, double x, double y, const char *colour, bool published)
{
    if (published)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", x, y,
                colour);
    else
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.8\" fill=\"%s\"/>\n", x, y, colour);
}

/* From the least to the most of each point's runs. */
static void draw_band(const struct exp_svg_series *series, const char *colour, const struct axis *x,
                      const struct axis *y, FILE *out)
{
    bool spread = false;
    for (uint32_t i = 0; i < series->count; i++) spread |= series->low[i] < series->high[i];
    if (!spread) return;
    fprintf(out, "<path class=\"band\" fill=\"%s\" fill-opacity=\"0.18\" d=\"", colour);
    for (uint32_t i = 0; i < series->count; i++)
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', place(x, series->x[i]), place(y, series->high[i]));
    for (uint32_t i = series->count; i > 0; i--)
        fprintf(out, "L%.1f %.1f", place(x, series->x[i - 1]), place(y, series->low[i - 1]));
    fputs("Z\"/>\n", out);
}

static void draw_mark(FILE *out, double x, double y, const char *colour, const char *fill)
{
    fprintf(
        out,
        "<path class=\"published\" d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\" fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"/>\n",
        x, y - 6, fill, colour);
}

static void draw_mark_legend(uint32_t line, const struct exp_svg_mark *marks, uint32_t count, FILE *out)
{
    bool beside = false;
    for (uint32_t i = 0; i < count; i++) beside |= marks[i].beside != NULL;
    if (count == 0) return;
    draw_mark(out, RIGHT + 24, TOP + 14 + 22.0 * line, "#222", "#fff");
    text_at(out, RIGHT + 42, TOP + 18 + 22.0 * line, "", beside ? "as published;" : "as published");
    if (beside) text_at(out, RIGHT + 42, TOP + 34 + 22.0 * line, "", "fill: beside which");
}

static void draw_series(const struct exp_svg_chart *chart, uint32_t index, const struct axis *x, const struct axis *y,
                        FILE *out)
{
    const struct exp_svg_series *series = &chart->series[index];
    const char *colour = series->published ? "#222" : colour_of(chart->product, series->name, index);
    bool product = is_product(chart->product, series->name);
    double width = product ? 4 : chart->product ? 1.6 : 2;
    double legend_y = TOP + 14 + 22.0 * index;
    if (!series->published) {
        const char *dashes = index % 2 && !product ? "7 3" : "none"; /* a line under another one shows through */
        draw_band(series, colour, x, y, out);
        fprintf(out, "<path fill=\"none\" stroke-width=\"%g\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"", width,
                colour, dashes);
        for (uint32_t i = 0; i < series->count; i++)
            fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', place(x, series->x[i]), place(y, series->y[i]));
        fputs("\"/>\n", out);
        fprintf(out, "<path d=\"M%d %.1fh20\" stroke=\"%s\" stroke-dasharray=\"%s\" stroke-width=\"%g\"/>\n",
                RIGHT + 14, legend_y, colour, dashes, width);
    }
    for (uint32_t i = 0; i < series->count; i++)
        draw_dot(out, place(x, series->x[i]), place(y, series->y[i]), colour, series->published);
    draw_dot(out, RIGHT + 24, legend_y, colour, series->published);
    text_at(out, RIGHT + 42, legend_y + 4, product ? "font-weight=\"700\"" : "", series->name);
}

static void open_picture(FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, HEIGHT);
}

/* NULL: there is no such series. */
static const char *line_colour(const struct exp_svg_chart *chart, const char *name)
{
    for (uint32_t i = 0; i < chart->count && name; i++)
        if (!strcmp(chart->series[i].name, name)) return colour_of(chart->product, name, i);
    return NULL;
}

void exp_svg_write(const struct exp_svg_chart *chart, FILE *out)
{
    struct axis x = {.log = chart->log_x, .from = LEFT, .to = RIGHT};
    struct axis y = {.log = chart->log_y, .from = BOTTOM, .to = TOP};
    make_axis(chart, false, &x);
    make_axis(chart, true, &y);
    open_picture(out);
    draw_axes(chart, &x, &y, out);
    for (uint32_t i = 0; i < chart->count; i++)
        if (!is_product(chart->product, chart->series[i].name)) draw_series(chart, i, &x, &y, out);
    for (uint32_t i = 0; i < chart->count; i++) /* over all others */
        if (is_product(chart->product, chart->series[i].name)) draw_series(chart, i, &x, &y, out);
    for (uint32_t i = 0; i < chart->mark_count; i++) {
        const struct exp_svg_mark *mark = &chart->marks[i];
        const char *colour = line_colour(chart, mark->series), *fill = line_colour(chart, mark->beside);
        if (colour) draw_mark(out, place(&x, mark->x), place(&y, mark->y), colour, fill ? fill : "#fff");
    }
    draw_mark_legend(chart->count, chart->marks, chart->mark_count, out);
    fputs("</svg>\n", out);
}

/* ---- bars ---- */

#define GROUP_GAP 0.25 /* of a group's room, empty */
#define CUTS 2
#define CUT_TIMES 3

static double height_of(const struct exp_svg_bars *bars, uint32_t group, uint32_t bar)
{
    double sum = 0;
    for (uint32_t part = 0; part < bars->part_count; part++) sum += bars->values[group][bar][part];
    return sum;
}

/* The highest bar that is not above `limit`. */
static double highest_below(const struct exp_svg_bars *bars, double limit)
{
    double highest = 0;
    for (uint32_t group = 0; group < bars->group_count; group++)
        for (uint32_t bar = 0; bar < bars->bar_count; bar++) {
            double height = height_of(bars, group, bar);
            if (height > highest && height < limit) highest = height;
        }
    return highest;
}

/*
 * Up to CUTS bars, each many times the next, would leave no room for all others: they are cut, and say how high they
 * are.
 */
static void make_height(const struct exp_svg_bars *bars, struct axis *y)
{
    y->high = highest_below(bars, 1e300);
    for (uint32_t i = 0; i < CUTS; i++) {
        double next = highest_below(bars, y->high);
        if (next > 0 && y->high > CUT_TIMES * next) y->high = next;
    }
    y->high = y->high > 0 ? y->high * ROOM_ABOVE : 1;
    linear_ticks(y);
}

static double opacity_of(uint32_t part) { return 1 - 0.2 * part; }

static double bar_width(const struct exp_svg_bars *bars)
{
    return (double)(RIGHT - LEFT) / bars->group_count * (1 - GROUP_GAP) / bars->bar_count;
}

static double bar_left(const struct exp_svg_bars *bars, uint32_t group, uint32_t bar)
{
    return LEFT + (double)(RIGHT - LEFT) / bars->group_count * (group + GROUP_GAP / 2) + bar_width(bars) * bar;
}

/* From the least to the most of its runs. */
static void draw_spread(const struct exp_svg_bars *bars, const struct axis *y, uint32_t group, uint32_t bar, FILE *out)
{
    double low = bars->low[group][bar], high = bars->high[group][bar];
    if (low >= high || high > y->high) return;
    fprintf(out, "<path class=\"band\" d=\"M%.1f %.1fV%.1f\" stroke=\"#222\" stroke-width=\"1.5\"/>\n",
            bar_left(bars, group, bar) + bar_width(bars) * 0.45, place(y, low), place(y, high));
}

static void draw_bar(const struct exp_svg_bars *bars, const struct axis *y, uint32_t group, uint32_t bar, FILE *out)
{
    double width = bar_width(bars), left = bar_left(bars, group, bar), base = 0;
    const char *colour = colour_of(bars->product, bars->bars[bar], bar);
    bool cut = height_of(bars, group, bar) > y->high;
    for (uint32_t part = 0; part < bars->part_count; part++) {
        double value = bars->values[group][bar][part];
        if (base + value > y->high) value = y->high - base;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n",
                left, place(y, base + value), width * 0.9, place(y, base) - place(y, base + value), colour,
                opacity_of(part));
        base += value;
    }
    char label[32];
    snprintf(label, sizeof label, "%.4g", height_of(bars, group, bar));
    draw_spread(bars, y, group, bar, out);
    if (cut) text_at(out, left + width * 0.45, TOP - 5, "text-anchor=\"middle\" font-size=\"11\"", label);
}

static void draw_legend(const struct exp_svg_bars *bars, FILE *out)
{
    uint32_t line = 0;
    for (uint32_t bar = 0; bar < bars->bar_count; bar++, line++) {
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"10\" fill=\"%s\"/>\n", RIGHT + 16,
                (int)(TOP + 9 + 22 * line), colour_of(bars->product, bars->bars[bar], bar));
        text_at(out, RIGHT + 42, TOP + 18 + 22.0 * line,
                is_product(bars->product, bars->bars[bar]) ? "font-weight=\"700\"" : "", bars->bars[bar]);
    }
    for (uint32_t part = bars->part_count; bars->part_count > 1 && part > 0; part--, line++) {
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"10\" fill=\"#222\" fill-opacity=\"%.2f\"/>\n",
                RIGHT + 16, (int)(TOP + 9 + 22 * line), opacity_of(part - 1));
        text_at(out, RIGHT + 42, TOP + 18 + 22.0 * line, "", bars->parts[part - 1]);
    }
    draw_mark_legend(line, bars->marks, bars->mark_count, out);
}

static const char *bar_colour(const struct exp_svg_bars *bars, const char *name)
{
    for (uint32_t bar = 0; bar < bars->bar_count && name; bar++)
        if (!strcmp(bars->bars[bar], name)) return colour_of(bars->product, name, bar);
    return NULL;
}

static void draw_marks(const struct exp_svg_bars *bars, const struct axis *y, FILE *out)
{
    for (uint32_t i = 0; i < bars->mark_count; i++) {
        const struct exp_svg_mark *mark = &bars->marks[i];
        const char *fill = bar_colour(bars, mark->beside);
        for (uint32_t bar = 0; bar < bars->bar_count; bar++)
            if (!strcmp(bars->bars[bar], mark->series) && mark->y <= y->high)
                draw_mark(out, bar_left(bars, (uint32_t)mark->x, bar) + bar_width(bars) * 0.45, place(y, mark->y),
                          bar_colour(bars, mark->series), fill ? fill : "#fff");
    }
}

void exp_svg_write_bars(const struct exp_svg_bars *bars, FILE *out)
{
    struct axis y = {.from = BOTTOM, .to = TOP};
    make_height(bars, &y);
    open_picture(out);
    draw_frame(bars->title, NULL, bars->y_label, &y, out);
    for (uint32_t group = 0; group < bars->group_count; group++) {
        double middle = LEFT + (double)(RIGHT - LEFT) / bars->group_count * (group + 0.5);
        for (uint32_t bar = 0; bar < bars->bar_count; bar++) draw_bar(bars, &y, group, bar, out);
        text_at(out, middle, BOTTOM + 18, "text-anchor=\"middle\"", bars->groups[group]);
    }
    draw_marks(bars, &y, out);
    draw_legend(bars, out);
    fputs("</svg>\n", out);
}
