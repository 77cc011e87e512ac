/* progress.h - the line shown while a phase lasts: how far it is, and how long it will still take. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PROGRESS_BAR_CELLS 20
#define PROGRESS_BAR_BYTES (PROGRESS_BAR_CELLS * 3 + 1)

/* `text`: PROGRESS_BAR_BYTES. */
void progress_bar(char *text, double fraction);
/* How much longer, if the rest goes as fast as what is done. `text`: STYLE_BYTES. */
void progress_left(char *text, double fraction, double elapsed_s);
double progress_clamp(double fraction); /* to 0 .. 1 */

/* A list of measurements, each with a weight: about how long it takes. Drawn by another thread than those that work. */
struct progress_points {
    const char *name;              /* of what is measured now */
    uint64_t done, current, all;   /* weights; read atomically, as is the clock */
    uint64_t clock_ns, current_ns; /* how far the current one is, of how long */
};
/* A draw function for struct watch_phase; arg is a struct progress_points. */
void progress_draw_points(void *arg, double elapsed_s, char *line, size_t bytes);
