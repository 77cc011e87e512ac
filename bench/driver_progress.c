#include "driver_progress.h"

#include "progress.h"
#include "style.h"

#include <stdio.h>

void driver_progress_load(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct driver_progress *progress = arg;
    uint64_t rows = __atomic_load_n(&progress->driver->loaded_rows, __ATOMIC_RELAXED);
    double fraction = progress->rows ? progress_clamp((double)rows / (double)progress->rows) : 1;
    char cells[PROGRESS_BAR_BYTES], done[STYLE_BYTES], all[STYLE_BYTES], rate[STYLE_BYTES], eta[STYLE_BYTES];
    progress_bar(cells, fraction);
    progress_left(eta, fraction, elapsed_s);
    snprintf(line, bytes, "  loading %s %s / %s rows   %s rows/s   ETA %s", cells, style_count(done, rows),
             style_count(all, progress->rows), style_rate(rate, elapsed_s > 0 ? (double)rows / elapsed_s : 0), eta);
}

void driver_progress_run(void *arg, double elapsed_s, char *line, size_t bytes)
{
    const struct driver_progress *progress = arg;
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
    char cells[PROGRESS_BAR_BYTES], done[2 * STYLE_BYTES], count[STYLE_BYTES], all[STYLE_BYTES], rate[STYLE_BYTES],
        eta[STYLE_BYTES];
    char aborts[STYLE_BYTES];
    fraction = progress_clamp(fraction);
    progress_bar(cells, fraction);
    progress_left(eta, fraction, elapsed_s);
    if (driver->txns)
        snprintf(done, sizeof(done), "%s / %s txn", style_count(count, committed), style_count(all, driver->txns));
    else
        snprintf(done, sizeof(done), "%.3g / %.3g s", run_s, progress->seconds);
    snprintf(line, bytes, "  %s %s %s   %s txn/s   aborts %s   ETA %s", measured_s > 0 ? "running" : "warming", cells,
             done, style_rate(rate, measured_s > 0 ? (double)committed / measured_s : 0),
             style_percent(aborts, committed ? (double)aborted / (double)committed : 0), eta);
}
