#include "progress.h"

#include "style.h"

#include <stdio.h>

#define BAR_CELLS 20

static void bar(char *text, double fraction)
{
    uint32_t full = (uint32_t)(fraction * BAR_CELLS + 0.5);
    text[0] = 0;
    for (uint32_t i = 0; i < BAR_CELLS; i++) text += sprintf(text, "%s", i < full ? "\xe2\x96\x88" : "\xe2\x96\x91");
}

static double clamp(double fraction) { return fraction < 0 ? 0 : fraction > 1 ? 1 : fraction; }

/* How much longer, if the rest goes as what is done. */
static void left(char *text, double fraction, double elapsed_s)
{
    if (fraction < 0.005)
        snprintf(text, STYLE_BYTES, "-");
    else if (elapsed_s * (1 - fraction) / fraction < 100)
        snprintf(text, STYLE_BYTES, "%.0f s", elapsed_s * (1 - fraction) / fraction);
    else
        snprintf(text, STYLE_BYTES, "%.0f min", elapsed_s * (1 - fraction) / fraction / 60);
}

void progress_draw_load(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct progress *progress = arg;
    uint64_t rows = __atomic_load_n(&progress->driver->loaded_rows, __ATOMIC_RELAXED);
    double fraction = progress->rows ? clamp((double)rows / (double)progress->rows) : 1;
    char cells[BAR_CELLS * 3 + 1], done[STYLE_BYTES], all[STYLE_BYTES], rate[STYLE_BYTES], eta[STYLE_BYTES];
    bar(cells, fraction);
    left(eta, fraction, elapsed_s);
    snprintf(line, bytes, "  loading %s %s / %s rows   %s rows/s   ETA %s", cells, style_count(done, rows),
             style_count(all, progress->rows), style_rate(rate, elapsed_s > 0 ? (double)rows / elapsed_s : 0), eta);
}

void progress_draw_run(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct progress *progress = arg;
    const struct driver *driver = progress->driver;
    uint64_t committed = 0, aborted = 0, clock_ns = 0;
    for (uint32_t i = 0; i < driver->session_count; i++) {
        const struct driver_session *slot = &driver->sessions[i];
        committed += __atomic_load_n(&slot->committed, __ATOMIC_RELAXED);
        aborted += __atomic_load_n(&slot->aborted, __ATOMIC_RELAXED);
        uint64_t slot_ns = __atomic_load_n(&slot->clock_ns, __ATOMIC_RELAXED);
        if (slot_ns > clock_ns) clock_ns = slot_ns;
    }
    uint64_t start_ns = __atomic_load_n(&driver->start_ns, __ATOMIC_RELAXED);
    double run_s = clock_ns > start_ns ? (double)(clock_ns - start_ns) * 1e-9 : 0;
    double measured_s = run_s - (double)driver->warmup_ns * 1e-9;
    double fraction = driver->txns ? (double)committed / (double)driver->txns : run_s / progress->seconds;
    char cells[BAR_CELLS * 3 + 1], done[2 * STYLE_BYTES], count[STYLE_BYTES], all[STYLE_BYTES], rate[STYLE_BYTES],
        eta[STYLE_BYTES];
    char aborts[STYLE_BYTES];
    fraction = clamp(fraction);
    bar(cells, fraction);
    left(eta, fraction, elapsed_s);
    if (driver->txns)
        snprintf(done, sizeof(done), "%s / %s txn", style_count(count, committed), style_count(all, driver->txns));
    else
        snprintf(done, sizeof(done), "%.3g / %.3g s", run_s, progress->seconds);
    snprintf(line, bytes, "  %s %s %s   %s txn/s   aborts %s   ETA %s", measured_s > 0 ? "running" : "warming", cells,
             done, style_rate(rate, measured_s > 0 ? (double)committed / measured_s : 0),
             style_percent(aborts, committed ? (double)aborted / (double)committed : 0), eta);
}

void progress_draw_points(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct progress_points *points = arg;
    uint64_t clock_ns = __atomic_load_n(&points->clock_ns, __ATOMIC_RELAXED);
    uint64_t current_ns = __atomic_load_n(&points->current_ns, __ATOMIC_RELAXED);
    double done = (double)__atomic_load_n(&points->done, __ATOMIC_RELAXED);
    double part = current_ns ? clamp((double)clock_ns / (double)current_ns) : 0;
    done += part * (double)__atomic_load_n(&points->current, __ATOMIC_RELAXED);
    double fraction = points->all ? clamp(done / (double)points->all) : 1;
    char cells[BAR_CELLS * 3 + 1], percent[STYLE_BYTES], eta[STYLE_BYTES];
    bar(cells, fraction);
    left(eta, fraction, elapsed_s);
    snprintf(line, bytes, "  measuring %s %s   %s   ETA %s", cells, style_percent(percent, fraction),
             __atomic_load_n(&points->name, __ATOMIC_RELAXED), eta);
}
