/* exp_svg.h - line charts as SVG files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EXP_SVG_SERIES 8
#define EXP_SVG_POINTS 32

struct exp_svg_series {
    const char *name;
    bool published; /* dots, no line: what others have measured */
    double x[EXP_SVG_POINTS], y[EXP_SVG_POINTS];
    uint32_t count;
};

struct exp_svg_chart {
    const char *title, *x_label, *y_label;
    bool log_x, log_y; /* all values there are above 0 */
    struct exp_svg_series series[EXP_SVG_SERIES];
    uint32_t count;
};

void exp_svg_write(const struct exp_svg_chart *chart, FILE *out);
