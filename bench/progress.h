/* progress.h - the line shown while a phase lasts: how far it is, how fast, and how long it will still take. */
#pragma once

#include "driver.h"

/* What the lines are drawn from; drawn by another thread than those that work. */
struct progress {
    const struct driver *driver;
    uint64_t rows;  /* to load */
    double seconds; /* warm-up and window together; 0: bounded by count */
};

/* A list of measurements, each with a weight: about how long it takes. */
struct progress_points {
    const char *name;              /* of what is measured now */
    uint64_t done, current, all;   /* weights; read atomically, as is the clock */
    uint64_t clock_ns, current_ns; /* how far the current one is, of how long */
};
void progress_draw_points(void *arg, double elapsed_s, char *line, size_t bytes);

/* Draw functions for struct watch_phase; arg is a struct progress. */
void progress_draw_load(void *arg, double elapsed_s, char *line, size_t bytes);
void progress_draw_run(void *arg, double elapsed_s, char *line, size_t bytes);
