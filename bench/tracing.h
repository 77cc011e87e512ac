/* tracing.h - the trace of a run of `cellar bench` (--trace): from the end of the load to the end of the run. */
#pragma once

#include "settings.h"
#include "trace.h"

struct tracing {
    const struct settings *settings;
    struct trace *trace; /* NULL: there is none */
};

/* Before anything else is done: refuses a file that could not be written. */
NODISCARD int tracing_accept(const struct settings *settings, struct cellar_error *error);
/* With the database loaded and at rest, beside the recording. */
NODISCARD int tracing_begin(struct tracing *tracing, const struct settings *settings, struct cellar *db,
                            struct cellar_error *error);
/* The run is over, and the recording goes on or ends after this. */
void tracing_end(struct tracing *tracing);
/* When the database is closed. Writes the file, and says on `out` what is in it. */
NODISCARD int tracing_write(struct tracing *tracing, FILE *out, struct cellar_error *error);
void tracing_free(struct tracing *tracing);
