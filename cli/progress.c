#include "progress.h"

#include "style.h"

#include <stdio.h>

void progress_bar(char *text, double fraction)
{
    uint32_t full = (uint32_t)(fraction * PROGRESS_BAR_CELLS + 0.5);
    text[0] = 0;
    for (uint32_t i = 0; i < PROGRESS_BAR_CELLS; i++)
        text += sprintf(text, "%s", i < full ? "\xe2\x96\x88" : "\xe2\x96\x91");
}

double progress_clamp(double fraction) { return fraction < 0 ? 0 : fraction > 1 ? 1 : fraction; }

void progress_left(char *text, double fraction, double elapsed_s)
{
    if (fraction < 0.005)
        snprintf(text, STYLE_BYTES, "-");
    else if (elapsed_s * (1 - fraction) / fraction < 100)
        snprintf(text, STYLE_BYTES, "%.0f s", elapsed_s * (1 - fraction) / fraction);
    else
        snprintf(text, STYLE_BYTES, "%.0f min", elapsed_s * (1 - fraction) / fraction / 60);
}

void progress_draw_points(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct progress_points *points = arg;
    uint64_t clock_ns = __atomic_load_n(&points->clock_ns, __ATOMIC_RELAXED);
    uint64_t current_ns = __atomic_load_n(&points->current_ns, __ATOMIC_RELAXED);
    double done = (double)__atomic_load_n(&points->done, __ATOMIC_RELAXED);
    double part = current_ns ? progress_clamp((double)clock_ns / (double)current_ns) : 0;
    done += part * (double)__atomic_load_n(&points->current, __ATOMIC_RELAXED);
    double fraction = points->all ? progress_clamp(done / (double)points->all) : 1;
    char cells[PROGRESS_BAR_BYTES], percent[STYLE_BYTES], eta[STYLE_BYTES];
    progress_bar(cells, fraction);
    progress_left(eta, fraction, elapsed_s);
    snprintf(line, bytes, "  measuring %s %s   %s   ETA %s", cells, style_percent(percent, fraction),
             __atomic_load_n(&points->name, __ATOMIC_RELAXED), eta);
}
