/* driver_progress.h - the line shown while a workload is loaded and run. */
#pragma once

#include "driver.h"

/* What the lines are drawn from; drawn by another thread than those that work. */
struct driver_progress {
    const struct driver *driver;
    uint64_t rows;  /* to load */
    double seconds; /* warm-up and window together; 0: bounded by count */
};

/* Draw functions for struct watch_phase; arg is a struct driver_progress. */
void driver_progress_load(void *arg, double elapsed_s, char *line, size_t bytes);
void driver_progress_run(void *arg, double elapsed_s, char *line, size_t bytes);
