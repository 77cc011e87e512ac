/* exp_svg.h - line charts and bars as SVG. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EXP_SVG_SERIES 10
#define EXP_SVG_POINTS 64
#define EXP_SVG_MARKS 32

struct exp_svg_series {
    const char *name;
    bool published; /* dots, no line: what others have measured */
    double x[EXP_SVG_POINTS], y[EXP_SVG_POINTS];
    double low[EXP_SVG_POINTS], high[EXP_SVG_POINTS]; /* of the same point, made again; both y: it was not */
    uint32_t count;
};

/* Where a series would be, had it kept to what is published: of itself, or beside another one. */
struct exp_svg_mark {
    const char *series, *beside; /* NULL: of itself */
    double x, y;                 /* of bars: x is the group's index */
};

struct exp_svg_chart {
    const char *title, *x_label, *y_label;
    bool log_x, log_y; /* all values there are above 0 */
    struct exp_svg_series series[EXP_SVG_SERIES];
    uint32_t count;
    const char *product; /* NULL, or the series that the eye is to find */
    struct exp_svg_mark marks[EXP_SVG_MARKS];
    uint32_t mark_count;
};

/* The chart's series of that name, new or not; and one more point of it. Bugs: too many of either. */
struct exp_svg_series *exp_svg_series(struct exp_svg_chart *chart, const char *name);
void exp_svg_add(struct exp_svg_series *series, double x, double y);
/* The same of a point of which there are several: their mean, the least and the most. */
void exp_svg_add_spread(struct exp_svg_series *series, double x, double y, double low, double high);

#define EXP_SVG_GROUPS 6
#define EXP_SVG_PARTS 5
#define EXP_SVG_NAME_BYTES 24

struct exp_svg_bars {
    const char *title, *y_label;
    char groups[EXP_SVG_GROUPS][EXP_SVG_NAME_BYTES]; /* under them; a dozen letters each, or they run into each other */
    const char *bars[EXP_SVG_SERIES];                /* of each group, in as many colours */
    const char *parts[EXP_SVG_PARTS];                /* of each bar, from below, ever lighter; one needs no name */
    uint32_t group_count, bar_count, part_count;
    double values[EXP_SVG_GROUPS][EXP_SVG_SERIES][EXP_SVG_PARTS];
    double low[EXP_SVG_GROUPS][EXP_SVG_SERIES], high[EXP_SVG_GROUPS][EXP_SVG_SERIES]; /* both 0: not known */
    const char *product;
    struct exp_svg_mark marks[EXP_SVG_MARKS];
    uint32_t mark_count;
};

void exp_svg_write_bars(const struct exp_svg_bars *bars, FILE *out);
void exp_svg_write(const struct exp_svg_chart *chart, FILE *out);
